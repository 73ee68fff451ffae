"""Files: reads have limits and errors name lines, writes are atomic."""

import ast
import errno
import inspect
import os
import stat
import sys
from pathlib import Path
from types import SimpleNamespace

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from benchmarks import chart
from click.testing import CliRunner
from roofslate import errors
from roofslate._base import files
from roofslate._base.toml import TomlFile
from roofslate.cli import main
from support.lazy import Later, made

PACKAGE = Path(rs.__file__).parent


def names(folder):
    return sorted(path.name for path in folder.iterdir())


def run(*arguments):
    return CliRunner().invoke(main, [str(a) for a in arguments], prog_name="roofslate")


# ------------------------------------------------------------------------------------------------------------ writing


def save_growth(path):
    growth = {"roofslate": {10: 1e-3, 100: 1e-2}, "brute force": {10: 1e-2, 100: 1e-1}}
    chart.save(SimpleNamespace(sections=[SimpleNamespace(growth=growth)]), path)


def evaluate(path):
    words = ["evaluate", "pass_tokens", "batch_size=1,2", "-o", str(path)]
    done = CliRunner().invoke(main, words, prog_name="roofslate")
    if done.exit_code:
        raise OSError(done.stderr)


def sweep(path):
    table = path.parent.parent / "rows.csv"
    table.write_text("batch_size\n1\n2\n")
    rs.sweep(table, "pass_tokens", path, overwrite=True)


WRITERS = {
    "a text": ("page.txt", lambda path: files.write(path, "new")),
    "evaluate, CSV": ("out.csv", evaluate),
    "evaluate, JSON": ("out.json", evaluate),
    "evaluate, Parquet": ("out.parquet", evaluate),
    "sweep, CSV": ("out.csv", sweep),
    "sweep, Parquet": ("out.parquet", sweep),
    "calibration": ("mine.toml", lambda path: rs.calibration("FasterTransformer").to_toml(path)),
    "chart of bench": ("growth.svg", save_growth),
}


@pytest.fixture(params=WRITERS)
def writer(request, tmp_path):
    """A file in a new folder, and the call that writes it."""
    name, write = WRITERS[request.param]
    folder = tmp_path / "folder"
    folder.mkdir()
    return folder / name, write


@pytest.mark.parametrize("when", ["fsync", "replace"])
def test_a_write_that_fails_leaves_the_old_file_and_nothing_else(writer, monkeypatch, when):
    path, write = writer
    path.write_text("old")

    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    with monkeypatch.context() as patched:
        patched.setattr(*((os, "fsync") if when == "fsync" else (Path, "replace")), full)
        with pytest.raises(OSError, match="No space"):
            write(path)
    assert path.read_text() == "old"
    assert names(path.parent) == [path.name]
    write(path)
    assert path.read_bytes() != b"old"
    assert names(path.parent) == [path.name]


@pytest.mark.parametrize("mask", [0o022, 0o077])
def test_permissions_follow_the_mask_and_those_of_the_old_file_stay(writer, mask):
    path, write = writer
    before = os.umask(mask)
    try:
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o666 & ~mask
        path.chmod(0o640)
        write(path)
        assert stat.S_IMODE(path.stat().st_mode) == 0o640
    finally:
        os.umask(before)


def test_a_link_stays_a_link(writer):
    path, write = writer
    real = path.with_name(f"real{path.suffix}")
    real.write_text("old")
    path.symlink_to(real.name)
    write(path)
    assert path.is_symlink()
    assert real.read_bytes() != b"old"
    assert names(path.parent) == sorted([path.name, real.name])


def test_half_a_file_is_never_seen(tmp_path):
    path = tmp_path / "page"
    path.write_text("old")
    written = files.whole_file(path)
    stream = written.__enter__()
    stream.write(b"new, half of it")
    stream.flush()
    assert path.read_text() == "old"
    (unfinished,) = set(names(tmp_path)) - {"page"}
    assert unfinished.startswith(".page.")
    assert unfinished.endswith(".partial")
    assert not written.__exit__(KeyboardInterrupt, KeyboardInterrupt(), None)  # it goes on its way
    assert path.read_text() == "old"
    assert names(tmp_path) == ["page"]


def test_what_is_no_file_is_not_replaced(tmp_path):
    with pytest.raises(IsADirectoryError):
        files.write(tmp_path, "x")
    with pytest.raises(FileNotFoundError, match="no such folder"):
        files.write(tmp_path / "none" / "x", "x")
    files.write("/dev/null", "x")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_the_report_is_written_whole(tmp_path, monkeypatch):
    written = []
    monkeypatch.setattr("roofslate.lecture_report.chapters.write", lambda path, _: written.append(path))
    monkeypatch.setattr("roofslate.lecture_report.report.write", lambda path, _: written.append(path))
    rs.lecture(tmp_path / "report", chapter=2, progress=False)
    assert {path.suffix for path in written} == {".svg", ".png", ".csv", ".html"}
    assert [path for path in (tmp_path / "report").rglob("*") if path.is_file()] == []


# ------------------------------------------------------------------------------------------------------------ reading


def reads_presets(path):
    rs.load_presets(path)


def reads_calibration(path):
    rs.Calibration.from_toml(path)


def reads_scenario(path):
    done = run("evaluate", "pass_tokens", "--scenario", path)
    if done.exit_code:
        raise errors.PresetError(done.stderr)


TOML_READERS = {"presets": reads_presets, "calibration": reads_calibration, "scenario": reads_scenario}
HOSTILE = {
    "more bytes": ("#" * 4_000_001, "at most 4,000,000 bytes"),
    "keys": (Later(lambda: "".join(f"k{k} = 1\n" for k in range(200_001))), "at most 200,000 keys"),
    "lists in lists": ("\na = " + "[" * 100_000, "line 2: lists or tables are nested too deeply"),
    "tables in tables": ("\n\na = " + "{a=" * 40 + "1" + "}" * 40, "line 3: lists or tables are nested too deeply"),
    "a long key": ("\n" + "a" * 201 + " = 1", "line 2: a number or key of more than 200 characters"),
    "no text": (b"x = 1\ny = '\xff'", "line 2: cannot read the"),
    "no TOML": ("x = 1\n\ny = = 2", "line 3: "),
}


@pytest.mark.parametrize("reads", TOML_READERS.values(), ids=TOML_READERS)
@pytest.mark.parametrize(("content", "message"), HOSTILE.values(), ids=HOSTILE)
def test_every_reader_of_toml_has_limits_and_names_the_line(tmp_path, reads, content, message):
    path = tmp_path / "any.toml"
    content = made(content)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(errors.PresetError) as caught:
        reads(path)
    assert "any.toml" in str(caught.value)
    assert message in str(caught.value)


def test_a_caller_that_is_deep_itself_is_told_of_the_depth(tmp_path):
    """Thirty nested lists are valid, except in the last fifty frames of the interpreter."""
    path = tmp_path / "any.toml"
    path.write_text("a = " + "[" * 30 + "]" * 30)

    def read(frames):
        return TomlFile.read(path, "scenario") if frames == 0 else read(frames - 1)

    remaining = sys.getrecursionlimit() - len(inspect.stack(0))
    assert read(remaining - 200).content.keys() == {"a"}
    with pytest.raises(errors.PresetError, match=r"any\.toml: lists or tables are nested too deeply"):
        read(remaining - 50)


@pytest.mark.parametrize("reads", TOML_READERS.values(), ids=TOML_READERS)
def test_a_pipe_is_not_waited_for(tmp_path, reads):
    pipe = tmp_path / "any.toml"
    os.mkfifo(pipe)
    with pytest.raises(errors.PresetError, match="not a file"):
        reads(pipe)


def test_a_mark_at_the_beginning_is_no_text(tmp_path):
    path = tmp_path / "any.toml"
    path.write_bytes(b"\xef\xbb\xbfx = 1\r\n")
    assert TomlFile.read(path, "scenario").content == {"x": 1}


@pytest.mark.parametrize(
    ("change", "line", "message"),
    [
        (("unit = ", "unit = 3 #"), "unit = 3", "unit: expected a text"),
        (("[settings]", "[settings]\noverlap = 'bord'"), "overlap", "settings.overlap: "),
        (("between = ", "between = -1 #"), "between = -1", "between: expected a number of at least 0"),
        (("data = ", "data = 3 #"), "data = 3", "data: expected a text"),
    ],
)
def test_a_calibration_names_the_line(tmp_path, change, line, message):
    path = tmp_path / "mine.toml"
    rs.calibration("FasterTransformer").to_toml(path)
    path.write_text(path.read_text().replace(*change, 1))
    number = next(k for k, text in enumerate(path.read_text().splitlines(), 1) if text.startswith(line))
    with pytest.raises(errors.PresetError) as caught:
        rs.Calibration.from_toml(path)
    assert f"mine.toml, line {number}: " in str(caught.value)
    assert message in str(caught.value)


def test_a_scenario_names_the_line(tmp_path):
    path = tmp_path / "replica.toml"
    path.write_text("# a replica\nbatch_size = 1\n\ncontxt_length = 3\n")
    done = run("evaluate", "pass_tokens", "--scenario", path)
    assert done.exit_code == 2
    assert "replica.toml, line 4: " in done.stderr
    assert "context_length" in done.stderr


RUNS = (
    "model,hardware,weight_format,chips,concurrency,input_tokens,output_tokens,time_per_output_token_s,note\n"
    'Qwen3-32B,H100,fp8,2,16,1024,1024,0.02,"two\nlines"\n'
    "Qwen3-32B,H100,fp8,2,32,1024,1024,0.03,x\n"
)


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        (",32,", ",many,", "concurrency: expected numbers, got a column of"),
        ("Qwen3-32B,H100,fp8,2,32", "Qwen3-33B,H100,fp8,2,32", "line 4: unknown model preset 'Qwen3-33B'"),
        ("fp8,2,32", "fp9,2,32", "line 4: unknown weight_format 'fp9'"),
        (",32,", ",many,", "'many' in line 4"),
        (",x\n", ",x,y\n", "Expected 9 fields in line"),
    ],
)
def test_a_table_of_runs_names_the_line(tmp_path, old, new, message):
    path = tmp_path / "runs.csv"
    path.write_text(RUNS.replace(old, new))
    done = run("validate", path, "--ignore", "note")
    assert done.exit_code == 2
    assert "runs.csv: " in done.stderr
    assert message in done.stderr


def test_a_table_of_runs_in_which_nothing_is_wrong(tmp_path):
    path = tmp_path / "runs.csv"
    path.write_text(RUNS)
    out = tmp_path / "rows.csv"
    done = run("validate", path, "--ignore", "note", "--rows", out)
    assert "2 rows" in done.stdout
    assert len(pd.read_csv(out)) == 2


def test_a_cell_longer_than_any_table_has_is_named(tmp_path):
    path = tmp_path / "in.csv"
    path.write_text('batch_size,"' + "x" * 200_000 + '"\n1,2\n')
    with pytest.raises(errors.InputTypeError, match=r"in\.csv, line 1: field larger"):
        rs.sweep(path, "pass_tokens", tmp_path / "out.csv")


@pytest.mark.parametrize("key", [b"PANDAS_ATTRS", b"pandas"])
@pytest.mark.parametrize("metadata", [b"{", b"[1]", b"\xff", b"[" * 100_000, b'{"units": 3, "index_columns": 3}'])
def test_what_a_parquet_file_says_of_itself_may_be_nonsense(tmp_path, key, metadata):
    pa = pytest.importorskip("pyarrow")
    pq = pytest.importorskip("pyarrow.parquet")
    table = pa.table({"batch_size": np.array([1.0, 2.0])}).replace_schema_metadata({key: metadata})
    pq.write_table(table, tmp_path / "in.parquet")
    assert rs.sweep(tmp_path / "in.parquet", "pass_tokens", tmp_path / "out.csv") == 2
    assert (tmp_path / "out.csv").read_text() == "batch_size,pass_tokens\n1,1\n2,2\n"


# ----------------------------------------------------------------------------------------------------------- the rule

# Calls that could run the content of a file, or open a connection, with their place and the reason.
FORBIDDEN = {
    *("pickle", "marshal", "shelve", "dill", "cloudpickle", "joblib"),
    *("urllib", "socket", "http", "ftplib", "requests", "ssl", "smtplib", "asyncio", "webbrowser"),
    *("subprocess", "multiprocessing", "ctypes", "runpy", "code", "pty"),
}
REASONS = {
    ("cli/serve.py", "multiprocessing"): "a process for each call, which may be stopped; it gets words and gives JSON",
    ("cli/worker.py", "multiprocessing"): "the other end",
    ("grid/dask.py", "pickle"): "a token that names a task for dask; nothing is loaded",
}
CALLS = {"eval", "exec", "compile", "__import__", "os.system", "os.popen", "os.execv"}
CALLS |= {"pickle.load", "pickle.loads", "pd.read_pickle", "pd.eval", "np.load", "yaml.load"}
# Calls that open a file to write it, or write it at once.
WRITES = {"write_text", "write_bytes", "to_csv", "to_parquet", "to_json", "to_netcdf", "savefig", "NamedTemporaryFile"}


def modules():
    for path in sorted(PACKAGE.rglob("*.py")):
        yield path.relative_to(PACKAGE).as_posix(), ast.parse(path.read_text(encoding="utf-8"))


def imported(tree):
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name.partition(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            yield node.module.partition(".")[0]
        elif isinstance(node, ast.Call) and ast.unparse(node.func).endswith("import_module"):
            yield from (str(x.value).partition(".")[0] for x in node.args if isinstance(x, ast.Constant))


def faults(tree):
    """Calls that run code of files, or load objects from them."""
    called = [ast.unparse(node.func) for node in ast.walk(tree) if isinstance(node, ast.Call)]
    return [name for name in called if name in CALLS]


def test_no_module_runs_or_fetches_what_a_file_says():
    result = {(name, module) for name, tree in modules() for module in imported(tree) if module in FORBIDDEN}
    assert result == set(REASONS)
    assert [(name, fault) for name, tree in modules() for fault in faults(tree)] == []


@pytest.mark.parametrize(
    "program",
    ["eval('1')", "exec(text)", "__import__(name)", "os.system('ls')", "pickle.loads(x)", "pd.read_pickle(path)"],
)
def test_a_fault_would_be_seen(program):
    assert faults(ast.parse(program))


def writes(tree):
    """Calls that may write a file: by name of a method with a path, or `open` for writing."""
    for node in ast.walk(tree):
        if not isinstance(node, ast.Call):
            continue
        name = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        first = node.args[0] if node.args else None
        if name in {"to_csv", "to_json"} and first is None:  # a text
            continue
        if name in {"savefig", "to_parquet"} and isinstance(first, ast.Name) and first.id in STREAMS:
            continue
        modes = [*node.args, *(keyword.value for keyword in node.keywords if keyword.arg == "mode")]
        opened = any(isinstance(x, ast.Constant) and str(x.value)[:1] in set("wax") for x in modes)
        if name in WRITES or (name in {"open", "open_file"} and opened):
            yield f"{name}, line {node.lineno}"


STREAMS = {"stream", "vector", "raster", "picture"}  # of `whole_file`, or in memory


def test_files_are_written_by_one_module_alone():
    result = {(name, written.partition(",")[0]) for name, tree in modules() for written in writes(tree)}
    assert result == {
        ("_base/files.py", "open"),  # a device or a pipe
        ("cli/plot.py", "savefig"),  # into a file that files.py has opened
        ("cli/rows.py", "open_file"),  # the terminal
        ("evaluation/result_files.py", "to_netcdf"),  # into a temporary folder, to be copied
    }
    assert list(writes(ast.parse("Path(p).write_text('x'); open(p, 'wb'); table.to_csv(p); figure.savefig(p)")))
