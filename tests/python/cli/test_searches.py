"""Commands that search, draw and list give the results of the calls in Python."""

import csv
import io
import json
import os
import re
import shlex
import signal
import subprocess
import sys

import numpy as np
import pytest
import roofslate as rs
from click.testing import CliRunner
from roofslate.cli import main
from roofslate.cli.calls import split_outside
from support.processes import INTERRUPTIBLE

LLAMA = "model=Llama-3.1-70B weight_format=fp8 input_tokens=8k output_tokens=1k"
GIVEN = {"model": "Llama-3.1-70B", "weight_format": "fp8", "input_tokens": "8k", "output_tokens": "1k"}
PRICED = {**GIVEN, "chip_price": "2 USD/h"}
DEPLOY = f"deploy cost_per_output_token {LLAMA} chip_price='2 USD/h'"
QUICK = "chips=4,8 pipeline_stages=1 attention_data_parallel=1"
CELL = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72"}
WORDS = "model=DeepSeek-V3 hardware='GB200 NVL72'"


def run(line):
    return CliRunner().invoke(main, shlex.split(line))


def output(line, code=0):
    done = run(line)
    assert done.exit_code == code, done.output
    assert done.stderr == ""
    return done.stdout


def document(line, code=0):
    """JSON of a command, which is strict."""

    def refuse(token):
        raise AssertionError(token)

    return json.loads(output(f"{line} --format json", code), parse_constant=refuse)


def table_of(text):
    return list(csv.DictReader(io.StringIO(text)))


# ------------------------------------------------------------------------------------------------------- deploy


@pytest.fixture(scope="module", name="plan")
def plan_in_python():
    return rs.deploy(
        objective="cost_per_output_token",
        where=["tpot <= 60 ms", "ttft <= 4 s"],
        hardware=["H100", "H200"],
        chips=[4, 8],
        pipeline_stages=1,
        attention_data_parallel=1,
        **PRICED,
    )


@pytest.mark.parametrize(
    "where",
    [
        "tpot <= 60 ms' where='ttft <= 4 s",
        "tpot <= 60 ms, ttft <= 4 s",
        "tpot <= 60 ms and ttft <= 4 s",
    ],
)
def test_deploy_is_that_of_python(plan, where):
    text = output(f"{DEPLOY} where='{where}' hardware=H100,H200 {QUICK}")
    assert text == f"{plan}\n"


def test_rows_of_deploy_have_bands_and_support(plan):
    result = document(f"{DEPLOY} where='tpot <= 60 ms, ttft <= 4 s' hardware=H100,H200 {QUICK}")
    assert len(result["rows"]) == len(plan.table) > 1
    for rank, row in enumerate(result["rows"], 1):
        assert row["cost_per_output_token"] == plan.table["cost_per_output_token"].loc[rank]
        assert row["hardware"] == plan.table["hardware"].loc[rank]
        again = rs.evaluate(["time_per_output_token", "cost_per_output_token"], bands=0.8, **plan.at(rank))
        for end in ("lower", "upper"):
            name = f"time_per_output_token_{end}"
            assert row[name] == pytest.approx(again[name].item(), rel=1e-12)
        support = rs.calibration().support("time_per_output_token", model="Llama-3.1-70B", hardware=row["hardware"])
        assert row["support"] == support
    column = result["columns"]["time_per_output_token"]
    assert column["basis"] == "estimate"
    assert column["unit"] == rs.quantity("time_per_output_token").unit
    assert column["calibration"].startswith("serving")
    assert result["inputs"]["chip_price"] == "$2 / h"
    assert any("hbm" in note for note in result["notes"])


def test_deploy_by_the_floor_has_no_band():
    result = document(f"{DEPLOY} where='tpot <= 60 ms' hardware=H100 {QUICK} --calibration floor")
    assert result["columns"]["cost_per_output_token"]["basis"] == "floor"
    assert not [name for name in result["columns"] if name.endswith(("_lower", "_upper")) or name == "support"]


def test_a_deployment_that_nothing_meets_leaves_with_1():
    line = f"{DEPLOY} where='tpot <= 1 us' hardware=H100 {QUICK}"
    assert ": 0 layouts" in output(line, code=1)
    result = document(line, code=1)
    assert any("no deployment meets" in note for note in result["notes"])
    assert result["rows"][0]["condition"] == "tpot <= 1 us"
    assert result["rows"][0]["margin"] < 0


def test_keywords_of_deploy():
    base = f"deploy objective=tokens_per_second_per_chip {LLAMA} hardware=H100 {QUICK}"
    result = document(f"{base} maximize=yes also=time_to_first_token,pass_time")
    ranked = [row["tokens_per_second_per_chip"] for row in result["rows"]]
    assert ranked == sorted(ranked, reverse=True)
    rows = table_of(output(f"{base} maximize=true also=pass_time,time_to_first_token --format csv"))
    assert {"pass_time", "time_to_first_token"} <= set(rows[0])
    assert [float(row["tokens_per_second_per_chip"]) for row in rows] == ranked
    in_units = document(f"{base} maximize=yes also=pass_time --units pass_time=ms")
    assert in_units["units"]["pass_time"] == "ms"
    assert in_units["rows"][0]["pass_time"] == pytest.approx(1e3 * float(rows[0]["pass_time"]), rel=1e-12)


def test_prefill_pools_apart():
    line = f"{DEPLOY} hardware=H100 chips=8 pipeline_stages=1 attention_data_parallel=1 arrival_rate=2/s replicas=4"
    plan = rs.deploy(
        objective="cost_per_output_token",
        prefill={"chips": [4, 8]},
        hardware="H100",
        chips=8,
        pipeline_stages=1,
        attention_data_parallel=1,
        arrival_rate="2/s",
        replicas=4,
        **PRICED,
    )
    assert output(f"{line} prefill.chips=4,8") == f"{plan}\n"
    assert "apart" in output(f"{line} prefill={{}}")


def test_markdown_has_the_rows_of_the_table(plan):
    lines = output(f"{DEPLOY} where='tpot <= 60 ms, ttft <= 4 s' hardware=H100,H200 {QUICK} -f markdown").splitlines()
    head, rows = plan.cells
    assert lines[0] == f"| {' | '.join(head)} |"
    assert lines[2 : 2 + len(rows)] == [f"| {' | '.join(row)} |".replace("$", r"\$") for row in rows]


# ---------------------------------------------------------------------------------------------------------- best


def test_best_is_that_of_python():
    line = f"best cost_per_token over=batch_size where='pass_time <= 20 ms' {WORDS} chip_price='3 USD/h'"
    line += " batch_size=1:8192:100:log context_length=8k,64k also=bottleneck"
    result = rs.best(
        "cost_per_token",
        over="batch_size",
        where="pass_time <= 20 ms",
        also=["bottleneck"],
        chip_price="3 USD/h",
        batch_size=rs.geomspace(1, 8192, 100),
        context_length=["8k", "64k"],
        **CELL,
    )
    rows = document(line)["rows"]
    assert [row["cost_per_token"] for row in rows] == result["cost_per_token"].to_numpy().tolist()
    assert [row["batch_size"] for row in rows] == result["batch_size"].to_numpy().tolist()
    words = result["bottleneck"].attrs["flag_meanings"].split()
    assert [row["bottleneck"] for row in rows] == [words[k] for k in result["bottleneck"].to_numpy()]
    assert [row["context_length"] for row in rows] == [8000.0, 64000.0]
    assert output(f"{line} prune=no --format csv") == output(f"{line} --format csv")


def test_a_grid_without_a_point_leaves_with_1():
    line = f"best cost_per_token over=batch_size where='pass_time <= 1 ns' {WORDS} chip_price='3 USD/h' batch_size=1,2"
    assert document(f"{line} context_length=8k", code=1)["rows"] == [{"cost_per_token": None, "batch_size": None}]


# --------------------------------------------------------------------------------------------------------- solve


def test_solve_is_that_of_python():
    line = f"solve context_length 'pass_time <= 20 ms' batch_size=1,1000,1M {WORDS}"
    result = rs.solve("context_length", "pass_time <= 20 ms", batch_size=[1, 1000, 10**6], **CELL)
    rows = document(line)["rows"]
    expected = [None if x != x else x for x in result.to_numpy().tolist()]
    assert [row["context_length"] for row in rows] == expected
    assert [row["reason"] for row in rows] == ["", "", "never"]
    named = output(f"solve unknown=context_length condition='pass_time <= 20 ms' batch_size=1,1000,1M {WORDS} -f csv")
    assert named == output(f"{line} --format csv")
    for units in ("ktoken/sequence", "context_length=ktoken/sequence"):
        scaled = document(f"{line} --units {units}")
        assert scaled["rows"][0]["context_length"] == pytest.approx(expected[0] / 1e3, rel=1e-12)
        assert scaled["units"]["context_length"] == "ktoken/sequence"


def test_an_equality_is_no_input():
    line = f"solve batch_size 'weight_fetch_time == compute_time' expert_reads=all {WORDS} --format csv"
    result = rs.solve("batch_size", "weight_fetch_time == compute_time", expert_reads="all", **CELL)
    assert float(table_of(output(line))[0]["batch_size"]) == result.item()


def test_several_solutions():
    line = f"solve batch_size 'pass_time <= 20 ms' at=all integer=yes context_length=8k {WORDS} -f json"
    result = rs.solve("batch_size", "pass_time <= 20 ms", at="all", integer=True, context_length="8k", **CELL)
    assert [row["batch_size"] for row in json.loads(output(line))["rows"]] == result.to_numpy().tolist()


def test_a_condition_without_a_solution_leaves_with_1():
    text = output(f"solve batch_size 'pass_time <= 1 ns' context_length=8k {WORDS}", code=1)
    assert "never" in text


# ---------------------------------------------------------------------------------------------------------- plot


CURVE = f"plot time_per_output_token {LLAMA} hardware='HGX H100' concurrency=1:64:9:log -c serving"


@pytest.mark.parametrize(("name", "begins"), [("a.png", b"\x89PNG"), ("a.svg", b"<?xml"), ("a.PDF", b"%PDF")])
def test_pictures(tmp_path, name, begins):
    file = tmp_path / name
    assert output(f"{CURVE} bands=0.8 -o '{file}'") == f"{file}\n"
    assert file.read_bytes().startswith(begins)


def test_numbers_of_a_picture(tmp_path):
    file = tmp_path / "a.svg"
    rows = table_of(output(f"{CURVE} bands=0.8 --output '{file}' --format csv"))
    result = rs.evaluate(
        "time_per_output_token",
        hardware="HGX H100",
        concurrency=rs.geomspace(1, 64, 9),
        calibration="serving",
        bands=0.8,
        **GIVEN,
    )
    for name in ("time_per_output_token", "time_per_output_token_upper"):
        assert [float(row[name]) for row in rows] == result[name].to_numpy().tolist()
    assert file.stat().st_size > 10_000
    assert table_of(output(f"{CURVE} bands=0.8 --format csv")) == rows


def test_axes_of_a_picture(tmp_path):
    line = f"plot pass_time {WORDS} batch_size=1:64:5:log context_length=1k:8k:5"
    output(f"{line} x=context_length y=batch_size -o '{tmp_path / 'a.png'}'")
    done = run(f"{line} x=contxt -o '{tmp_path / 'b.png'}'")
    assert (done.exit_code, done.stdout) == (2, "")
    assert "axis of pass_time 'contxt'; did you mean 'context_length'?" in done.stderr
    assert not (tmp_path / "b.png").exists()


# ------------------------------------------------------------------------------------------------------- catalogs


@pytest.mark.parametrize(("command", "catalog"), [("models", rs.models), ("hardware", rs.hardware)])
def test_catalogs(command, catalog):
    rows = document(command)["rows"]
    keyword = "model" if command == "models" else command
    assert [row[keyword] for row in rows] == list(catalog)
    name = next(iter(catalog))
    facts = catalog[name].facts
    one = document(f"{command} '{name}'")
    assert {row["quantity"]: row["value"] for row in one["rows"]} == {key: fact.value for key, fact in facts.items()}
    assert [row["source"] for row in one["rows"]] == [fact.source for fact in facts.values()]
    assert output(f"{command} '{name.lower()}'").startswith(repr(catalog[name]))


def test_a_search_has_the_best_first():
    names = [row["hardware"] for row in table_of(output("hardware 'sxm h100' -f csv"))]
    assert names[0] == "H100"
    names = [row["hardware"] for row in table_of(output("hardware nvlink -f csv"))]
    assert len(names) > 3
    assert names == list(rs.hardware.search("nvlink").index)
    words = [row["hardware"] for row in table_of(output("hardware 'nvl72 gb200' -f csv"))]
    assert words[0] == "GB200 NVL72"


def test_support_of_a_catalog():
    rows = {row["hardware"]: row["support"] for row in document("hardware")["rows"]}
    measured = rs.calibration().fit("time_per_output_token").kinds["hardware"]
    assert rows["H200"] == "measured"
    assert {name for name, support in rows.items() if support == "measured"} <= {
        name for name in rs.hardware if any(entry in (name, *rs.hardware[name].bases) for entry in measured)
    }
    assert "support" not in document("hardware --calibration floor")["rows"][0]


# ------------------------------------------------------------------------------------------- calibrations, summaries


@pytest.fixture(scope="module", name="file")
def file_of_constants(tmp_path_factory):
    """A calibration with one constant changed, as a file."""
    path = tmp_path_factory.mktemp("calibration") / "ours.toml"
    rs.calibration().to_toml(path)
    text = path.read_text()
    path.write_text(re.sub(r"(\[constant\.kernel_time_factor\]\nvalue = )\S+", r"\g<1>2.5", text))
    return path


def test_a_calibration_of_a_file(file):
    words = f"{LLAMA} hardware='HGX H100' concurrency=8"
    line = f"evaluate time_per_output_token {words} --format json"
    named, entry = (json.loads(output(f"{line} {given}")) for given in ("-c serving", f"--calibration '{file}'"))
    again = rs.value(
        "time_per_output_token", hardware="HGX H100", concurrency=8, calibration=rs.Calibration.from_toml(file), **GIVEN
    )
    assert entry["rows"][0]["time_per_output_token"] == again
    assert entry["rows"] != named["rows"]
    assert entry["columns"]["time_per_output_token"]["calibration"].startswith("ours")
    assert json.loads(output(f"{line} calibration='{file}'"))["rows"] == entry["rows"]
    assert output(f"explain time_per_output_token {words} -c '{file}'").startswith("time_per_output_token")
    assert document(f"summary {words} -c '{file}'")["inputs"]["calibration"].startswith("ours")
    assert (
        "ours"
        in document(f"solve concurrency 'tpot <= 40 ms' {LLAMA} hardware='HGX H100' -c '{file}'")["inputs"][
            "calibration"
        ]
    )


def test_bands_of_evaluate():
    words = f"{LLAMA} hardware='HGX H100' concurrency=1,8 -c serving bands=0.9"
    rows = document(f"evaluate time_per_output_token {words}")["rows"]
    result = rs.evaluate(
        ["time_per_output_token"], hardware="HGX H100", concurrency=[1, 8], calibration="serving", bands=0.9, **GIVEN
    )
    upper = [row["time_per_output_token_upper"] for row in rows]
    assert upper == result["time_per_output_token_upper"].to_numpy().tolist()


def test_a_summary_in_json():
    result = rs.summary(hardware="HGX H100", concurrency=64, **GIVEN)
    data = document(f"summary {LLAMA} hardware='HGX H100' concurrency=64")
    table = result.to_dataframe()
    for row in data["rows"]:
        for name in ("floor", "estimate", "lower", "upper"):
            x = table.loc[row["quantity"], name]
            assert row[name] == (None if np.isnan(x) else x)
        assert row["unit"] == rs.quantity(row["quantity"]).unit
    by_name = {row["quantity"]: row for row in data["rows"]}
    assert by_name["time_per_output_token"]["support"] == "extrapolated: model=Llama-3.1-70B"
    assert by_name["cost_per_token"]["missing"]
    assert f"memory: {result.verdict}" in data["notes"]
    assert {name: data[name] for name in ("kind", "fits", "splits", "changes", "warnings")} == {
        name: result.to_dict()[name] for name in ("kind", "fits", "splits", "changes", "warnings")
    }


def test_summaries_of_two_files_are_side_by_side(tmp_path):
    each = [{"model": "Llama-3.1-8B", "hardware": name, "chips": 1} for name in ("H100", "H200")]
    files = [tmp_path / f"{scenario['hardware']}.toml" for scenario in each]
    for file, scenario in zip(files, each, strict=True):
        file.write_text("".join(f"{name} = {x!r}\n" for name, x in scenario.items()), encoding="utf-8")
    words = f"-s '{files[0]}' -s '{files[1]}' concurrency=8 input_tokens=1k output_tokens=100"
    result = rs.summary(each, concurrency=8, input_tokens="1k", output_tokens=100)
    assert output(f"summary {words}") == f"{result}\n"
    data = document(f"summary {words}")
    assert data["differing_inputs"] == ["hardware"]
    assert [row["scenario"] for row in data["rows"]] == [label for label, _ in result.to_dataframe().index]
    assert "hardware" not in data["inputs"]
    assert data["inputs"]["model"] == "Llama-3.1-8B"


def test_a_summary_as_a_page(tmp_path):
    file = tmp_path / "b200.html"
    output(f"summary hardware=B200 -o '{file}'")
    page = file.read_text(encoding="utf-8")
    assert page.startswith("<!doctype html>")
    assert rs.summary(hardware="B200")._repr_html_() in page
    assert output("summary hardware=B200 -f html") == page


def test_a_summary_that_does_not_fit_leaves_with_1():
    words = "model=Llama-3.1-70B hardware=H100 chips=1 concurrency=8 input_tokens=1k output_tokens=1k"
    assert "Does not fit" in output(f"summary {words}", code=1)
    assert "memory: does not fit, 61.1 GB too much" in document(f"summary {words}", code=1)["notes"]


def test_validate_in_every_format():
    result = rs.validate()
    data = document("validate")
    assert len(data["rows"]) == len(result.summary)
    assert data["rows"][0]["mape"] == result.summary["mape"].iloc[0]
    lines = output("validate -f markdown").splitlines()
    assert lines[0].startswith("| table | ")


# ------------------------------------------------------------------------------------------------------- mistakes


MISTAKES = {
    "no objective": (
        "deploy model=Llama-3.1-8B",
        "deploy needs the objective, such as objective=cost_per_output_token",
    ),
    "unknown objective": ("deploy cost_per_tokn model=Llama-3.1-8B hardware=H100", "did you mean 'cost_per_token'"),
    "two objectives": ("deploy cost_per_token pass_time", "'pass_time': an input is written NAME=VALUE; deploy also"),
    "a flag of no word": ("deploy cost_per_token maximize=maybe", "maximize: expected yes or no, got 'maybe'"),
    "an empty condition": (
        "deploy cost_per_token where='tpot <= 1 s,,'",
        "the list 'tpot <= 1 s,,' has an empty place",
    ),
    "a condition of no unit": ("deploy cost_per_token where='tpot <= 1 GB' model=Llama-3.1-8B hardware=H100", "tpot"),
    "prefill of words": ("deploy cost_per_token prefill=H100", "write prefill.NAME=VALUE"),
    "no axes": ("best cost_per_token", "best needs the axes to search, such as over=batch_size"),
    "no axis of a name": (f"best pass_time over=batch {WORDS} context_length=8k batch_size=1,2", "batch"),
    "no condition": ("solve batch_size", "solve needs the condition, such as"),
    "no such folder": ("solve batch_size 'pass_tokens <= 2' at=first", "at must be 'smallest', 'largest' or 'all'"),
    "two units": ("solve batch_size 'pass_tokens <= 2' -u a -u b", "solve has one result, batch_size, got 2 units"),
    "unit of another": ("solve batch_size 'pass_tokens <= 2' -u pass_time=ms", "the result of solve is 'batch_size'"),
    "nothing to plot": ("plot batch_size=1,2", "no quantity was asked for"),
    "a picture nowhere": ("plot pass_tokens batch_size=1,2", "--output pass_tokens.png"),
    "a picture of a table": ("plot pass_tokens batch_size=1,2 -o a.xlsx", "ends in .png, .svg or .pdf"),
    "a picture of a point": ("plot pass_tokens batch_size=1 -o a.png", "pass_tokens is a single number"),
    "bands of no number": ("summary bands=wide", "bands: expected a number, got 'wide'"),
    "bands beyond 1": ("summary model=Llama-3.1-8B hardware=H100 bands=2", "the level of a band"),
    "two calibrations": ("summary calibration=floor -c serving", "calibration is given twice"),
    "no such calibration": ("summary model=Llama-3.1-8B -c servng", "did you mean 'serving'"),
    "no such file": ("summary model=Llama-3.1-8B -c none.toml", "none.toml"),
    "validate the floor": ("validate -c floor", "validate scores an estimate"),
    "a column without a table": ("validate hardware=H100", "hardware goes with a table"),
    "no such model": ("models Llma-3.1-8B", "did you mean 'Llama-3.1-8B'"),
    "no such chip": ("hardware zzzz", "unknown preset 'zzzz'"),
    "parquet of a plan": (
        f"{DEPLOY} hardware=H100 {QUICK} -o a.parquet",
        "parquet is a format of `roofslate evaluate`",
    ),
    "bands as parquet": (
        "evaluate pass_tokens batch_size=1 bands=0.8 -o a.parquet",
        "bands are not written as parquet",
    ),
    "no door": ("serve", "--stdio"),
}


@pytest.mark.parametrize(("line", "message"), MISTAKES.values(), ids=MISTAKES)
def test_a_mistake_is_one_line_and_code_2(line, message, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    done = run(line)
    assert (done.exit_code, done.stdout) == (2, "")
    assert re.fullmatch(r"roofslate: [^\n]+\n", done.stderr)
    assert message in done.stderr
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ("a <= 1 s, b", ["a <= 1 s", "b"]),
        ("max(a, b) <= 1 s,c", ["max(a, b) <= 1 s", "c"]),
        ("a", ["a"]),
        ("a,,b", ["a", "", "b"]),
        ("),a", [")", "a"]),
    ],
)
def test_commas_in_brackets_separate_nothing(text, items):
    assert split_outside(text) == items


# ------------------------------------------------------------------------------------------------------ processes


def process(line, **options):
    command = [sys.executable, "-m", "roofslate", *shlex.split(line)]
    return subprocess.run(command, capture_output=True, text=True, check=False, **options)


@pytest.mark.slow
def test_no_colors_and_no_bars_without_a_terminal():
    for extra in ({"NO_COLOR": "1"}, {"FORCE_COLOR": "1", "COLUMNS": "400"}, {"COLUMNS": "20", "TERM": "dumb"}):
        done = process(f"{DEPLOY} hardware=H100 {QUICK}", env={**os.environ, **extra}, stdin=subprocess.DEVNULL)
        assert (done.returncode, done.stderr) == (0, "")
        assert "\x1b" not in done.stdout
        assert done.stdout == output(f"{DEPLOY} hardware=H100 {QUICK}")


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_a_broken_pipe_is_quiet():
    line = "best pass_tokens over=batch_size batch_size=1,2 pass_length=1:300:200000 -f csv"
    command = [sys.executable, "-m", "roofslate", *shlex.split(line)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline() == b"pass_length,pass_tokens,batch_size\n"
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode in (0, 1)


@pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")
def test_ctrl_c_leaves_with_130():
    program = f"{INTERRUPTIBLE}\nfrom roofslate.cli import main\nmain()"
    line = "best pass_tokens over=batch_size batch_size=1,2 pass_length=1:300:20000000 -f csv"
    command = [sys.executable, "-c", program, *shlex.split(line)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as running:
        assert running.stdout.readline()  # it is in the middle of its work
        running.send_signal(signal.SIGINT)
        _, said = running.communicate(timeout=60)
    assert (running.returncode, said.strip()) == (130, b"")
