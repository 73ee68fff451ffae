"""The command line: results, files, mistakes, and the examples of its help."""

from __future__ import annotations

import csv
import dataclasses
import importlib
import inspect
import json
import os
import re
import shlex
import signal
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import roofslate as rs
from click.testing import CliRunner
from roofslate._base.messages import pip_install
from roofslate.cli import calls, lists, main, program
from support.processes import INTERRUPTIBLE

COMMANDS = list(program.HOMES)
CELL = ["model=DeepSeek-V3", "hardware=GB200 NVL72"]


def run(*words):
    return CliRunner().invoke(main, list(words))


def output(*words):
    result = run(*words)
    assert result.exit_code == 0, result.output
    assert result.stderr == ""
    return result.stdout


def process(*words, **options):
    command = [sys.executable, "-m", "roofslate", *words]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


def rows_of(text):
    return list(csv.DictReader(text.splitlines()))


# --------------------------------------------------------------------------------------------------------- help


def test_without_arguments_help_is_shown():
    assert output() == output("--help")
    assert rs.__version__ in output("--version")


@pytest.mark.parametrize("command", COMMANDS)
def test_every_command_has_help(command):
    assert command in output("--help")
    assert output(command, "--help").startswith(f"Usage: main {command}") or "Usage:" in output(command, "-h")


@pytest.mark.parametrize("command", program.HOMES)
def test_what_a_command_does_takes_its_options(command):
    module = importlib.import_module(f"roofslate.cli.{program.HOMES[command]}")
    takes = list(inspect.signature(getattr(module, f"run_{command}")).parameters)
    if takes == ["given"]:  # the words and options of a question
        takes = [field.name for field in dataclasses.fields(calls.Question)]
    assert takes == [parameter.name for parameter in main.commands[command].params]
    assert set(main.commands) == set(program.HOMES)


def examples():
    for command in [None, *(name for name in program.HOMES if name not in ("serve", "sweep", "compare", "validate"))]:
        text = output(*([command] if command else []), "--help").replace("\\\n", " ")
        for line in text.splitlines():
            example = re.match(r" +roofslate (\w+.*)", line)
            # a table of commands has its remarks after two spaces
            if example and "lecture" not in line and "[" not in line:
                yield pytest.param(
                    re.split(r"\s{3,}", example[1])[0] if command is None else example[1], id=f"{command}"
                )


@pytest.mark.parametrize("line", list(examples()))
@pytest.mark.each
def test_examples_of_the_help_run(line, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    assert output(*shlex.split(line)).strip()


def test_the_help_has_examples():
    assert len(list(examples())) >= 10


# ----------------------------------------------------------------------------------------------------- evaluate


def test_csv_holds_what_evaluate_gives():
    text = output(
        "evaluate",
        "pass_time",
        "compute_utilization",
        *CELL,
        "batch_size=1,64,1000",
        "context_length=1k:128k:4",
        "-f",
        "csv",
    )
    rows = rows_of(text)
    expected = rs.evaluate(
        ["pass_time", "compute_utilization"],
        model="DeepSeek-V3",
        hardware="GB200 NVL72",
        batch_size=[1, 64, 1000],
        context_length=rs.linspace("1k", "128k", 4),
    )
    assert len(rows) == 12
    assert list(rows[0]) == ["batch_size", "context_length", "pass_time", "compute_utilization"]
    for name in rows[0]:
        direct, _ = (
            a.to_numpy() for a in (expected[name].broadcast_like(expected["pass_time"]), expected["pass_time"])
        )
        assert [float(row[name]) for row in rows] == direct.reshape(-1).tolist()


def test_rows_are_those_of_the_dataset():
    """Axes in the order of the outputs' needs, with words, presets, and a requested unit."""
    outputs = ["weight_fetch_time", "overlap", "context_length", "pass_time", "bottleneck"]
    axes = {"overlap": ["board", "none"], "context_length": [1e3, 1e6], "batch_size": [1, 64]}
    axes["model"] = ["DeepSeek-V3", "Kimi-K2"]
    words = [f"{name}={','.join(map(str, values))}" for name, values in axes.items()]
    result = rs.evaluate(outputs, hardware="GB200 NVL72", units={"context_length": "ktoken/sequence"}, **axes)
    text = output(
        "evaluate", *outputs, "hardware=GB200 NVL72", *words, "-u", "context_length=ktoken/sequence", "-f", "json"
    )
    data = json.loads(text)
    assert data["axes"] == [str(dim) for dim in result.sizes]
    assert data["units"] == {str(name): x.attrs["units"] for name, x in result.variables.items() if "units" in x.attrs}
    assert data["inputs"] == {key: x for key, x in result.attrs.items() if key != "roofslate_version"}
    table = result.reset_coords().to_dataframe(dim_order=list(result.sizes)).reset_index()
    for name in ("overlap", "bottleneck"):
        table[name] = np.array(result[name].attrs["flag_meanings"].split())[table[name].astype(int)]
    assert data["rows"] == table[list(data["rows"][0])].to_dict("records")


def test_the_grid_of_the_interface():
    words = [
        "batch_size=1:1024:50:log",
        "context_length=128k",
        "chip_price=2 USD/h",
        "--units",
        "cost_per_token=USD/Mtoken",
    ]
    rows = rows_of(output("evaluate", "pass_time", "cost_per_token", *CELL, *words, "-f", "csv"))
    assert len(rows) == 50
    cell = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "context_length": "128k", "chip_price": "2 USD/h"}
    last = rs.value("cost_per_token", batch_size=1024, units="USD/Mtoken", **cell)
    assert float(rows[-1]["cost_per_token"]) == pytest.approx(last, rel=1e-14)


def test_table_is_scaled_with_units_in_the_header():
    lines = output("evaluate", "pass_time", "bottleneck", *CELL, "batch_size=1,20000", "context_length=8k").splitlines()
    assert lines[0].split() == ["batch_size", "pass_time", "[ms]", "bottleneck"] or "pass_time [ms]" in lines[0]
    assert len(lines) == 3
    assert lines[1].split()[-1] == "weight_fetch"
    assert lines[1].rstrip() == lines[1]


def test_table_keeps_the_units_asked_for():
    text = output("evaluate", "hbm_drain_time", "hardware=H100,H200", "-u", "hbm_drain_time=µs")
    assert "hbm_drain_time [µs]" in text


def test_a_point_is_one_row():
    assert output("evaluate", "pass_tokens", "batch_size=64", "-f", "csv") == "pass_tokens\n64.0\n"
    assert output("evaluate", "pass_tokens", "pass_tokens", "batch_size=64", "-f", "csv") == "pass_tokens\n64.0\n"


def test_an_axis_that_is_asked_for_is_one_column():
    assert (
        output("evaluate", "batch_size", "pass_tokens", "batch_size=1,2", "-f", "csv").splitlines()[0]
        == "batch_size,pass_tokens"
    )


def test_lists_of_presets_and_words():
    rows = rows_of(
        output(
            "evaluate", "pass_time", *CELL, "overlap=board,none", "batch_size=2400", "context_length=8k", "-f", "csv"
        )
    )
    assert [row["overlap"] for row in rows] == ["board", "none"]
    rows = rows_of(output("evaluate", "balance_batch", "model=DeepSeek-V3,Kimi-K2", "hardware=H200", "-f", "csv"))
    assert [row["model"] for row in rows] == ["DeepSeek-V3", "Kimi-K2"]


def test_json_is_strict_and_names_units():
    def refuse(token):
        raise AssertionError(token)

    words = [
        "balance_batch_at_context",
        "bottleneck",
        "model=DeepSeek-V3",
        "hardware=H200",
        "chips=8",
        "batch_size=8",
        "context_length=1k,1M",
    ]
    data = json.loads(output("evaluate", *words, "-f", "json"), parse_constant=refuse)
    assert data["axes"] == ["context_length"]
    assert data["units"]["balance_batch_at_context"] == "sequence"
    assert data["rows"][1]["balance_batch_at_context"] == "inf"
    assert data["rows"][0]["context_length"] == 1000.0
    assert data["rows"][0]["bottleneck"] == "weight_fetch"
    assert data["inputs"]["chips"] == "8"
    assert data["roofslate_version"] == rs.__version__


def test_undefined_is_null_and_an_empty_field():
    # no context and no batch to speak of: 0 / 0
    words = ["large_batch_utilization", "balance_context=1k", "context_length=0,1k"]
    text = output("evaluate", *words, "-f", "csv")
    assert text.splitlines()[1:] == ["0.0,1.0", "1000.0,1.0"]
    from roofslate.cli.rows import Column, write_csv, write_json

    columns = [Column("x", np.array([np.nan, np.nan]), ["batch_size"], {"batch_size": 2})]
    import io

    as_csv, as_json = io.StringIO(), io.StringIO()
    write_csv(columns, as_csv)
    write_json(columns, as_json, {"roofslate_version": "0"})
    assert as_csv.getvalue() == 'x\n""\n""\n'
    assert json.loads(as_json.getvalue())["rows"] == [{"x": None}, {"x": None}]


def test_files(tmp_path):
    words = ["evaluate", "pass_tokens", "batch_size=1,2"]
    for name in ("a.csv", "a.json"):
        assert output(*words, "-o", str(tmp_path / name)) == ""
        assert (tmp_path / name).read_text() == output(*words, "-f", name[2:])
    assert output(*words, "-f", "csv", "-o", str(tmp_path / "b.txt")) == ""
    assert rows_of((tmp_path / "b.txt").read_text())[1] == {"batch_size": "2.0", "pass_tokens": "2.0"}


def test_parquet(tmp_path):
    pytest.importorskip("pyarrow", reason="parquet files need pyarrow")
    import pandas as pd

    file = tmp_path / "a.parquet"
    assert (
        output(
            "evaluate", "pass_time", *CELL, "batch_size=1,2", "context_length=8k", "-u", "pass_time=ms", "-o", str(file)
        )
        == ""
    )
    frame = pd.read_parquet(file)
    assert list(frame.columns) == ["batch_size", "pass_time"]
    assert frame.attrs["units"] == {"batch_size": "sequence", "pass_time": "ms"}


def test_results_longer_than_a_block():
    rows = output("evaluate", "pass_tokens", "batch_size=1:500:500", "pass_length=1:300:300", "-f", "csv").splitlines()
    assert len(rows) == 150_001
    assert rows[-1] == "500.0,300.0,150000.0"


def test_threads_change_nothing():
    words = ["evaluate", "pass_time", *CELL, "batch_size=1:900:300", "context_length=1:1M:10", "-f", "csv"]
    assert output(*words, "--threads", "1") == output(*words, "--threads", "3")


# ---------------------------------------------------------------------------------------------------- scenarios


def test_scenario_file_and_what_beats_it(tmp_path):
    file = tmp_path / "replica.toml"
    file.write_text(
        'model = "DeepSeek-V3"\nhardware = "H200"\nchips = 8\nbatch_size = [1, 2, "3"]\ncontext_length = "1k:2k:2"\n'
    )
    rows = rows_of(output("evaluate", "pass_time", "--scenario", str(file), "batch_size=7", "-f", "csv"))
    assert [row["context_length"] for row in rows] == ["1000.0", "2000.0"]
    expected = rs.value("pass_time", model="DeepSeek-V3", hardware="H200", chips=8, batch_size=7, context_length=2000)
    assert float(rows[1]["pass_time"]) == expected
    assert len(rows_of(output("evaluate", "pass_time", "-s", str(file), "-f", "csv"))) == 6
    assert "pass_time" in output("explain", "pass_time", "-s", str(file), "batch_size=7", "context_length=1k")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('contxt_length = "8k"', "did you mean 'context_length'"),
        ("batch_size = 1\nbatch_size =", "Invalid value"),
        ("batch_size = true", "batch_size"),
        ('batch_size = "3 GB"', "it is in byte"),
        ('batch_size = "1:2"', "start:stop:points"),
        ('hardware = "H1000"', "did you mean 'H100'"),
        ("[replica]\nbatch_size = 1", "unknown input 'replica'"),
        ("[batch_size]\nx = 1", "flat table"),
        ("batch_size = 2026-01-01", "batch_size"),
        ("batch_size = []", "empty"),
        ("threads = 2", "threads"),
        (b"batch_size = '\xff'", "utf-8"),
    ],
)
def test_a_mistake_in_a_scenario_names_the_file(tmp_path, text, message):
    file = tmp_path / "replica.toml"
    file.write_bytes(text if isinstance(text, bytes) else text.encode())
    result = run("evaluate", "pass_tokens", "--scenario", str(file))
    one_line(result)
    assert str(file) in result.stderr
    assert message in result.stderr


# ----------------------------------------------------------------------------------------------------- mistakes


def one_line(result):
    assert result.exit_code == 2
    assert result.stdout == ""
    assert re.fullmatch(r"roofslate: [^\n]+\n", result.stderr)


MISTAKES = {
    "unknown command": ("evaluat pass_time", "did you mean 'evaluate'"),
    "unknown option": ("evaluate pass_time --colour", "--colour"),
    "an input as an option": ("evaluate pass_time --batch-size 8", "write it as batch_size=VALUE"),
    "a preset as an option": ("deploy --model=DeepSeek-V3", "write it as model=VALUE"),
    "a keyword as an option": ("best --over batch_size", "write it as over=VALUE"),
    "an option before the command": ("--model DeepSeek-V3", "No such option '--model'"),
    "unknown quantity": ("evaluate pass_tme", "did you mean 'pass_time'"),
    "an input without =": ("evaluate pass_tokens batch_size 64", "NAME=VALUE"),
    "no quantity": ("evaluate batch_size=64", "no quantity"),
    "nothing": ("evaluate", "no quantity"),
    "a preset asked for": ("evaluate model", "names a preset"),
    "unknown input": ("evaluate pass_tokens batchsize=1", "did you mean 'batch_size'"),
    "unknown preset": ("evaluate hbm_drain_time hardware=H1000", "did you mean 'H100'"),
    "unknown word": ("evaluate pass_time overlap=bord", "did you mean 'board'"),
    "missing input": ("evaluate pass_tokens", "missing input 'batch_size'"),
    "wrong unit": ("evaluate pass_tokens batch_size=3GB", "it is in byte"),
    "unparsable": ("evaluate pass_tokens batch_size=many", "cannot read 'many'"),
    "negative": ("evaluate pass_tokens batch_size=-1", "must be > 0"),
    "nan": ("evaluate pass_tokens batch_size=nan", "batch_size"),
    "infinite": ("evaluate pass_tokens batch_size=inf", "finite"),
    "zero chips": ("evaluate replica_price chips=0 chip_price=1", "chips must be"),
    "ineffective": ("evaluate kv_bytes model=lecture batch_size=1 context_length=1 kv_heads=1", "no effect"),
    "above its bound": ("evaluate sparsity total_parameters=1G active_parameters=2G", "must not exceed"),
    "twice": ("evaluate pass_tokens batch_size=1 batch_size=2", "twice"),
    "empty value": ("evaluate pass_tokens batch_size=", "NAME=VALUE"),
    "no name": ("evaluate pass_tokens =1", "NAME=VALUE"),
    "empty place": ("evaluate pass_tokens batch_size=1,,2", "empty place"),
    "range of two": ("evaluate pass_tokens batch_size=1:2", "start:stop:points"),
    "range with a word": ("evaluate pass_tokens batch_size=1:2:3:lin", "start:stop:points:log"),
    "range in a list": ("evaluate pass_tokens batch_size=1:2:3,4", "start:stop:points"),
    "range of half a point": ("evaluate pass_tokens batch_size=1:2:1.5", "whole number"),
    "range of no points": ("evaluate pass_tokens batch_size=1:2:0", "at least one point"),
    "range from zero in ratios": ("evaluate pass_tokens batch_size=0:2:3:log", "must be positive"),
    "range with one unit": ("evaluate hbm_drain_time hbm_capacity=1:80GB:3 hbm_bandwidth=1TB/s", "both ends"),
    "range of presets": ("evaluate hbm_drain_time hardware=A:B:3", "takes words"),
    "range of words": ("evaluate pass_time overlap=a:b:3", "takes words"),
    "an option as input": ("evaluate pass_tokens threads=2", "--threads"),
    "reserved": ("evaluate pass_tokens progress=1", "unknown input 'progress'"),
    "units of no output": ("evaluate pass_tokens batch_size=1 -u pass_time=ms", "pass_time"),
    "units without =": ("evaluate pass_tokens batch_size=1 -u ms", "NAME=UNIT"),
    "units that do not fit": ("evaluate pass_tokens batch_size=1 -u pass_tokens=ms", "cannot convert"),
    "no threads": ("evaluate pass_tokens batch_size=1 --threads 0", "--threads"),
    "unknown format": ("evaluate pass_tokens batch_size=1 -f xml", "xml"),
    "format of a name": ("evaluate pass_tokens batch_size=1 -o a.xml", "which format"),
    "parquet to the terminal": ("evaluate pass_tokens batch_size=1 -f parquet", "--output"),
    "no such folder": ("evaluate pass_tokens batch_size=1 -o no/such/folder/a.csv", "no/such/folder/a.csv"),
    "no such scenario": ("evaluate pass_tokens -s no-such-file.toml", "no-such-file.toml"),
    "a folder as scenario": ("evaluate pass_tokens -s /", "directory"),
    "too long a table": ("evaluate pass_tokens batch_size=1:9:1000000", "not for reading"),
    "more than memory": ("evaluate pass_tokens batch_size=1:2:9000000 pass_length=1:2:9000000", "bytes"),
    "explain nothing": ("explain", "one quantity"),
    "explain two": ("explain pass_time memory_time", "one quantity"),
    "explain an axis": ("explain pass_tokens batch_size=1,2", "axis"),
    "explain to no depth": ("explain pass_tokens batch_size=1 --depth -1", "--depth"),
    "compare one file": ("compare pass_tokens a.toml", "two scenario files"),
    "compare no file": ("compare pass_tokens no-such.toml none.toml", "no-such.toml"),
    "compare nothing known": ("compare pass_tokenz a.toml b.toml", "did you mean 'pass_tokens'"),
    "no such quantities": ("quantities zzzz", "unknown quantity 'zzzz'"),
    "no such day": ("catalog check --date May", "expected a day such as '2026-03-01', got 'May'"),
    "no such preset": ("presets H1000", "did you mean 'H100'"),
    "no chapter": ("lecture --chapter 0", "--chapter"),
    "too many words": ("quantities a b", "argument"),
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_code_2(line, message):
    result = run(*shlex.split(line))
    one_line(result)
    assert message in result.stderr


# ------------------------------------------------------------------------------------------------ other commands


def test_explain_in_every_notation():
    words = ["explain", "hbm_drain_time", "hbm_capacity=192 GB", "hbm_bandwidth=8 TB/s"]
    derivation = rs.explain("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    assert output(*words) == f"{derivation}\n"
    assert output(*words, "-f", "markdown") == f"{derivation.markdown}\n"
    assert output(*words, "-f", "latex") == f"{derivation.latex}\n"
    assert output(*words, "-f", "dot") == f"{derivation.graph()}\n"
    page = output(*words, "-f", "html")
    assert page.startswith('<!doctype html><meta charset="utf-8"><title>hbm_drain_time</title>')
    assert page.endswith(f"{derivation.html}\n")


def test_explain_to_a_depth():
    words = ["pass_time", "batch_size=64", "context_length=8k", *CELL]
    cell = {"batch_size": 64, "context_length": "8k", "model": "DeepSeek-V3", "hardware": "GB200 NVL72"}
    for depth in (0, 2):
        assert output("explain", *words, "--depth", str(depth)) == f"{rs.explain('pass_time', depth=depth, **cell)}\n"


def test_summary_is_that_of_python(tmp_path):
    file = tmp_path / "server.toml"
    file.write_text('model = "Llama-3.1-8B"\nhardware = "H100"\nweight_format = "fp8"\nchips = 1\n')
    words = ["concurrency=8", "input_tokens=1k", "output_tokens=100", "chip_price=2 USD/h"]
    scenario = {"model": "Llama-3.1-8B", "hardware": "H100", "weight_format": "fp8", "chips": 1}
    scenario |= {"concurrency": 8, "input_tokens": "1k", "output_tokens": 100, "chip_price": "2 USD/h"}
    assert output("summary", *words, "--scenario", str(file)) == f"{rs.summary(scenario)}\n"
    result = run("summary", "pass_time", *words)
    one_line(result)
    assert "summary takes inputs as NAME=VALUE, got 'pass_time'" in result.stderr


def test_compare_takes_two_scenario_files(tmp_path):
    files = []
    for name, batch in (("today", 64), ("tomorrow", 4096)):
        files.append(tmp_path / f"{name}.toml")
        files[-1].write_text(f'batch_size = {batch}\nhardware = "GB200 NVL72"\ncontext_length = "8k"\n')
    printed = output("compare", "pass_time", *map(str, files), "model=DeepSeek-V3", "context_length=1k")
    sides = [{"batch_size": batch, "hardware": "GB200 NVL72"} for batch in (64, 4096)]
    assert printed == f"{rs.compare(*sides, 'pass_time', model='DeepSeek-V3', context_length='1k')}\n"
    files[1].write_text("batch_size = [1, 2]")
    result = run("compare", "pass_tokens", *map(str, files))
    one_line(result)
    assert "scenario b: 'batch_size' is an axis" in result.stderr


@pytest.mark.parametrize(
    ("error", "message"),
    [
        (MemoryError(), "there is not enough memory for this; take fewer points"),
        (
            ModuleNotFoundError(name="scipy.stats"),
            f"this needs scipy.stats, which is not installed: {pip_install('analysis')}",
        ),
        (PermissionError(13, "Permission denied", "runs.csv"), "runs.csv: Permission denied"),
    ],
    ids=["memory", "module", "file"],
)
def test_what_the_machine_lacks_is_one_line(error, message, monkeypatch):
    def fails(*_, **__):
        raise error

    monkeypatch.setattr(lists, "matching", fails)
    result = run("quantities")
    assert (result.exit_code, result.stdout, result.stderr) == (2, "", f"roofslate: {message}\n")


def test_a_module_that_no_extra_brings_is_no_mistake_of_the_caller(monkeypatch):
    def fails(*_, **__):
        raise ModuleNotFoundError("No module named 'nonesuch'", name="nonesuch")

    monkeypatch.setattr(lists, "matching", fails)
    assert isinstance(run("quantities").exception, ModuleNotFoundError)


def test_validate_ignores_columns_of_a_table_alone():
    result = run("validate", "--ignore", "note")
    assert (result.exit_code, result.stderr) == (2, "roofslate: --ignore goes with a table\n")


def test_quantities_lists_searches_and_shows():
    everything = output("quantities").splitlines()
    assert len(everything) == len(rs.quantities()) + 1
    assert [line.split()[0] for line in output("quantities", "kv").splitlines()[1:]] == list(rs.quantities("kv").index)
    shown = output("quantities", "pass_time")
    assert shown.startswith(str(rs.quantity("pass_time")))
    assert "\npass_time_per_sequence " in shown


def test_quantities_as_csv_and_json():
    assert [row["quantity"] for row in rows_of(output("quantities", "-f", "csv"))] == list(rs.quantities().index)
    data = json.loads(output("quantities", "kv", "-f", "json"))
    assert [entry["quantity"] for entry in data] == list(rs.quantities("kv").index)


@pytest.mark.usefixtures("fresh_catalogs")
def test_catalog_check_lists_and_ends_with_1_for_a_contradiction(tmp_path):
    text = output("catalog", "check", "--date", "2026-11-22", "--finding", "stale")
    assert re.search(
        r"^H100 Google Cloud list: chip_price +stale +\$10.8 / h +its source is of 2025-02$", text, re.MULTILINE
    )
    assert re.search(r"^0 contradicted, \d+ stale, \d+ unverified$", text, re.MULTILINE)
    assert "unverified   " not in text
    (tmp_path / "ours.toml").write_text(
        '[hardware.Ours]\nsources = [{ source = "a", date = "2026", read = true }]\n'
        'conflicts = [{ of = "chips", value = 16, source = "theirs", date = "2026", read = true }]\n'
        "[hardware.Ours.values]\nchips = 8\n"
    )
    rs.load_presets(tmp_path / "ours.toml")
    result = run("catalog", "check", "--finding", "contradicted")
    assert result.exit_code == 1
    assert re.search(
        r"^Ours: chips +contradicted +8 +16: theirs, 2026 \(checked in source\)$", result.output, re.MULTILINE
    )


def test_presets_lists_and_shows():
    text = output("presets")
    for catalog in (rs.models, rs.hardware, rs.prices):
        assert all(name in text for name in catalog)
    assert "DeepSeek-V3" not in output("presets", "hardware")
    assert output("presets", "H200") == f"{rs.hardware['H200']!r}\n"
    assert output("presets", "lecture").count("(") >= 2  # a model and a price


def test_lecture_passes_its_options_on(monkeypatch, tmp_path):
    calls = []

    def lecture(*given, **options):
        calls.append((given, options))
        return Path("there/index.html")

    monkeypatch.setattr("roofslate.cli.lecture.lecture", lecture)
    address = (Path.cwd() / "there/index.html").as_uri()
    assert re.fullmatch(
        rf"Report written to there/index\.html in \d+ s; open it in a browser: {re.escape(address)}\n",
        output("lecture", "--out", str(tmp_path)),
    )
    output("lecture", "--out", str(tmp_path), "--chapter", "1")
    assert calls == [((tmp_path,), {"chapter": None}), ((tmp_path,), {"chapter": 1})]


# ---------------------------------------------------------------------------------------------------- processes


def test_a_process_prints_and_leaves_with_its_code():
    done = process("evaluate", "pass_tokens", "batch_size=64")
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout == "pass_tokens\n         64\n"
    done = process("evaluate", "pass_tme")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "roofslate: unknown quantity 'pass_tme'; did you mean 'pass_time'?\n"


@pytest.mark.parametrize(
    "words",
    [
        ["--help"],
        ["evaluate", "--help"],
        ["deploy", "--help"],
        ["serve", "--help"],
        ["evaluate", "pass_tme"],
        ["evaluate", "pass_tokens"],
    ],
)
def test_help_and_mistakes_load_no_heavy_library(words):
    program = "import sys, roofslate.cli as c\ntry: c.main(sys.argv[1:])\nfinally: print(*sys.modules, file=sys.stderr)"
    done = subprocess.run([sys.executable, "-c", program, *words], capture_output=True, text=True, check=False)
    loaded = set(done.stderr.splitlines()[-1].split())
    assert "click" in loaded
    assert not loaded & {"pandas", "xarray", "matplotlib", "scipy", "dask", "numba", "jax"}
    if words[-1] == "--help":
        assert "numpy" not in loaded


def test_a_terminal_without_the_letter():
    done = process(
        "evaluate",
        "hbm_drain_time",
        "hbm_capacity=1MB",
        "hbm_bandwidth=1TB/s",
        env={**os.environ, "PYTHONIOENCODING": "ascii"},
    )
    assert (done.returncode, done.stderr) == (0, "")
    assert done.stdout.startswith("hbm_drain_time [")


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_a_broken_pipe_is_quiet():
    command = [sys.executable, "-m", "roofslate", "evaluate", "pass_tokens", "batch_size=1:9:200000", "-f", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"batch_size,pass_tokens\n"
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode in (0, 1)


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_ctrl_c_leaves_with_130():
    program = f"{INTERRUPTIBLE}\nfrom roofslate.cli import main\nmain()"
    command = [sys.executable, "-c", program, "evaluate", "pass_tokens", "batch_size=1:9:20000000", "-f", "csv"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"batch_size,pass_tokens\n"  # it is in the middle of its work
        running.send_signal(signal.SIGINT)
        running.stdout.read()
        assert running.stderr.read().strip() == b""
    assert running.returncode == 130


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_ctrl_c_in_an_import_leaves_with_130(run_python):
    code = f"""{INTERRUPTIBLE}
import os, time
import roofslate.cli.lists
from roofslate.cli import main

def broken_off(**given):
    try:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(60)
    except KeyboardInterrupt as interrupt:
        raise ImportError("partially initialized") from interrupt

roofslate.cli.lists.run_presets = broken_off
try:
    main(["presets"])
except SystemExit as end:
    print(end.code)
"""
    assert run_python(code) == "130"
