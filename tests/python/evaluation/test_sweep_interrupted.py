"""Result files of `sweep` are complete or absent, after interrupts and concurrent writes."""

import errno
import io
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate import errors
from roofslate.evaluation import table_files
from support.processes import INTERRUPTIBLE
from support.slices import first_alone
from support.sweeps import doubles, files_of, read, scenarios, written

pa = pytest.importorskip("pyarrow", reason="rs.sweep needs pyarrow")


# -------------------------------------------------------------------------------------------------------- the target


def test_a_target_is_on_the_disk_before_it_has_its_name(tmp_path, monkeypatch):
    path = written(pd.DataFrame({"batch_size": [1]}), tmp_path / "in.csv")
    synced = []
    monkeypatch.setattr("os.fsync", lambda _: synced.append(files_of(tmp_path)))
    rs.sweep(path, "pass_tokens", tmp_path / "out.csv")
    first, last = synced
    assert any(name.endswith(".partial") for name in first)
    assert "out.csv" not in first
    assert last == ["in.csv", "out.csv"]  # the folder


def test_an_existing_target_stays_until_the_end(tmp_path):
    table = written(scenarios(5)[["batch_size"]], tmp_path / "in.parquet")
    out = tmp_path / "out.csv"
    out.write_text("precious")
    out.chmod(0o640)
    with pytest.raises(FileExistsError, match="overwrite"):
        rs.sweep(table, "pass_tokens", out)
    assert out.read_text() == "precious"
    with pytest.raises(errors.MissingInput):
        rs.sweep(table, "pass_time", out, overwrite=True)
    assert out.read_text() == "precious"
    rs.sweep(table, "pass_tokens", out, overwrite=True)
    assert out.read_text().startswith("batch_size,pass_tokens\n")
    assert out.stat().st_mode & 0o777 == 0o640
    link = tmp_path / "link.csv"
    link.symlink_to(out)
    rs.sweep(table, ["pass_tokens", "pass_length"], link, overwrite=True)
    assert link.is_symlink()
    assert out.read_text().startswith("batch_size,pass_tokens,pass_length\n")
    assert files_of(tmp_path) == ["in.parquet", "link.csv", "out.csv"]


def test_a_file_may_be_replaced_by_its_own_results(tmp_path):
    path = written(pd.DataFrame({"batch_size": [1, 2]}), tmp_path / "in.csv")
    rs.sweep(path, "pass_tokens", path, overwrite=True)
    assert path.read_text() == "batch_size,pass_tokens\n1,1\n2,2\n"


def test_a_target_that_appears_meanwhile_is_not_replaced(tmp_path):
    path = written(pd.DataFrame({"batch_size": [1, 2]}), tmp_path / "in.csv")

    def meddle(done, total):
        assert total is None
        if done == 2:
            (tmp_path / "out.csv").write_text("of another")

    with pytest.raises(FileExistsError):
        rs.sweep(path, "pass_tokens", tmp_path / "out.csv", progress=meddle)
    assert (tmp_path / "out.csv").read_text() == "of another"
    assert files_of(tmp_path) == ["in.csv", "out.csv"]


def test_progress_and_what_it_raises(tmp_path, monkeypatch):
    monkeypatch.setattr(table_files, "_ROWS", 10)
    path = written(scenarios(25)[["batch_size"]], tmp_path / "in.parquet")
    reports = []
    rs.sweep(path, "pass_tokens", tmp_path / "out.csv", progress=lambda *rows: reports.append(rows))
    assert reports == [(0, 25), (10, 25), (20, 25), (25, 25)]

    def stop(done, _):
        if done:
            raise ZeroDivisionError("stop here")

    with pytest.raises(ZeroDivisionError, match="stop here"):
        rs.sweep(path, "pass_tokens", tmp_path / "other.csv", progress=stop)
    assert files_of(tmp_path) == ["in.parquet", "out.csv"]


class Full(io.BytesIO):
    """A disk that becomes full at some moment."""

    full = False

    def write(self, content):
        if self.full:
            raise OSError(errno.ENOSPC, "no space left")
        return super().write(content)


def close(before):
    """Write a table onto a disk that is full when its last words are to be written."""
    stream = Full()
    with table_files.ParquetWriter(stream, pa.schema([("x", pa.float64())])) as writer:
        writer.write([pa.array([1.0])])
        stream.full = True
        before()


def test_a_table_whose_last_words_find_no_room_is_an_error():
    with pytest.raises(OSError, match="no space left"):
        close(lambda: None)
    with pytest.raises(ZeroDivisionError):  # the earlier error
        close(lambda: 1 / 0)


# --------------------------------------------------------------------------------------------------------- the source


def is_open(path):
    """Return True if this process holds a file open."""
    return any(os.path.realpath(link) == str(path) for link in Path("/proc/self/fd").iterdir())


@pytest.mark.skipif(not Path("/proc/self/fd").exists(), reason="open files are read from /proc")
@pytest.mark.parametrize(
    ("suffix", "ends"),
    [
        ("csv", "whole"),
        ("csv", "wrong word"),
        ("csv", "broken row"),
        ("csv", "stopped"),
        ("parquet", "whole"),
        ("parquet", "wrong word"),
        ("parquet", "stopped"),
    ],
)
def test_the_source_is_closed_on_every_way_out(tmp_path, monkeypatch, suffix, ends):
    monkeypatch.setattr(table_files, "_ROWS", 100)
    monkeypatch.setattr(table_files, "_BYTES", 1000)  # far more blocks than are read ahead
    table = pd.DataFrame({"batch_size": np.arange(1.0, 20_001), "expert_reads": "all"})
    if ends == "wrong word":
        table.loc[500, "expert_reads"] = "al"
    source = written(table, tmp_path / f"in.{suffix}")
    if ends == "broken row":
        lines = source.read_text().splitlines()
        source.write_text("\n".join([*lines[:500], "1,2,3", *lines[500:]]))
    seen = []

    def progress(rows, _):
        seen.append(is_open(source))
        if ends == "stopped" and rows > 500:
            raise KeyboardInterrupt

    failure = None  # a traceback holds the frames of the sweep
    try:
        cell = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72"}
        rs.sweep(source, "weight_fetch_time", tmp_path / "out.csv", cell, progress=progress)
    except (errors.RoofslateError, KeyboardInterrupt) as error:
        failure = error
    assert (failure is None) == (ends == "whole")
    assert any(seen)
    assert not is_open(source)


# --------------------------------------------------------------------------------------------------- killed, stopped

SLOWLY = f"""{INTERRUPTIBLE}
import sys
import roofslate as rs
from roofslate.evaluation import table_files
import pandas, pyarrow.parquet, pyarrow.csv
from roofslate.__main__ import start
table_files._ROWS, table_files._BYTES = 1000, 50_000
sys.argv[1:] = ["sweep", sys.argv[1], "--outputs", "pass_tokens", "-o", sys.argv[2], "--overwrite"]
print("ready", flush=True)
start()
"""


def started(source, target):
    process = subprocess.Popen(
        [sys.executable, "-c", SLOWLY, str(source), str(target)],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout.readline() == "ready\n"
    return process


def ended(process, number, after):
    """Wait, send a signal, and return the state of the process."""
    time.sleep(after)
    process.send_signal(number)
    with process:
        _, said = process.communicate(timeout=60)
    return process.returncode, said


@pytest.fixture(name="long_source", scope="module")
def source_that_takes_a_while(tmp_path_factory):
    rows = 200_000
    return written(
        pd.DataFrame({"batch_size": np.arange(1.0, rows + 1)}), tmp_path_factory.mktemp("sweep") / "in.parquet"
    )


def is_whole(target):
    result = doubles(read(target)["pass_tokens"])
    return np.array_equal(result, np.arange(1.0, 200_001))


@pytest.mark.slow
@pytest.mark.parametrize("suffix", first_alone(["csv", "parquet"]))
def test_killed_at_any_moment_nothing_partial_is_left(tmp_path, long_source, suffix):
    target = tmp_path / f"out.{suffix}"
    with started(long_source, target) as process:
        begin = time.monotonic()
        assert process.wait(60) == 0
    takes = time.monotonic() - begin
    assert is_whole(target)
    chance = random.Random(suffix)
    partial = 0
    for attempt in range(40):
        before = b"precious" if attempt % 2 else None
        target.unlink(missing_ok=True)
        if before:
            target.write_bytes(before)
        code, _ = ended(started(long_source, target), signal.SIGKILL, takes * chance.uniform(0, 1.1))
        result = target.read_bytes() if target.exists() else None
        if result == before:
            assert code == -signal.SIGKILL
        else:
            assert is_whole(target)
            takes *= 0.8  # the first run was slow
        strays = [name for name in files_of(tmp_path) if name != target.name]
        assert strays in ([], [f".out.{suffix}.0.partial"])  # the next run removes it
        partial += len(strays)
        if attempt >= 5 and partial >= 3:
            break
    assert partial >= 3  # killed while they wrote


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_ctrl_c_leaves_nothing(tmp_path, long_source, suffix):
    target = tmp_path / f"out.{suffix}"
    stopped = 0
    for after in (0.02, 0.05, 0.1, 0.2):
        code, said = ended(started(long_source, target), signal.SIGINT, after)
        if target.exists():  # it was too late
            assert is_whole(target)
            target.unlink()
        else:
            assert code == 130
            assert said.strip() == ""  # click ends the line that shows ^C
            stopped += 1
        assert files_of(tmp_path) == []
    assert stopped


FULL = """
import resource, signal, sys
from roofslate.cli import main
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
main(["sweep", {source!r}, "--outputs", "pass_tokens", "-o", {target!r}])
"""


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_file_that_cannot_be_finished_is_an_error_and_leaves_nothing(tmp_path, long_source, run_python, suffix):
    code = FULL.format(source=str(long_source), target=str(tmp_path / f"out.{suffix}"))
    done = run_python(code, check=False)
    assert done.returncode == 2, done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert f"out.{suffix}: File too large" in done.stderr
    assert files_of(tmp_path) == []
