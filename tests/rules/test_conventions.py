"""Conventions of any package: copies, logs, versions, completion, and packaged files."""

import copy
import importlib.metadata
import io
import logging
import pickle
import re
import sys

import pytest
import roofslate as rs
from roofslate import _core
from roofslate._base import versions
from roofslate._base.toml import read_data
from roofslate.cli import completion
from support import ROOT

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

CELL = {"model": "DeepSeek-V3", "hardware": "B200", "chips": 8, "context_length": "4k"}
GUESS = {"decode_inefficiency": (1, 5), "model_token_rate": ("10 Mtok/s", "500 Mtok/s")}
LENGTHS = {"input_tokens": 1, "output_tokens": 4}
THINGS = {
    "preset": lambda: rs.models["DeepSeek-V3"],
    "catalog": lambda: rs.hardware,
    "quantity": lambda: rs.quantity("pass_time"),
    "list of quantities": lambda: rs.quantities("kv"),
    "grid": lambda: rs.evaluate(["pass_time", "bottleneck"], batch_size=[1, 64], **CELL),
    "explanation": lambda: rs.explain("pass_time", batch_size=64, **CELL),
    "comparison": lambda: rs.compare({"batch_size": 1}, {"batch_size": 64}, "pass_time", **CELL),
    "calibration": rs.calibration,
    "bands": lambda: rs.calibration().bands(0.9),
    "tornado": lambda: rs.tornado("overtraining_ratio", model="lecture training", **GUESS),
    "readings of prices": lambda: rs.infer("Gemini 2.5 Pro"),
    "simulation": lambda: rs.simulate(steps=rs.StepTimes(1, 1), arrival_rate=0.1, requests=100, seed=1, **LENGTHS),
    "validation": rs.validate,
}


@pytest.mark.parametrize("name", THINGS)
@pytest.mark.parametrize("copied", [copy.copy, copy.deepcopy, lambda x: pickle.loads(pickle.dumps(x))])
def test_what_calls_return_can_be_copied_and_pickled(name, copied):
    thing = THINGS[name]()
    again = copied(thing)
    assert type(again) is type(thing)
    assert str(again) == str(thing)


@pytest.mark.parametrize("name", [name for name in THINGS if name != "bands"])
def test_what_calls_return_shows_itself_in_a_notebook(name):
    assert "<" in THINGS[name]()._repr_html_()


def test_an_error_can_be_pickled():
    with pytest.raises(rs.RoofslateError) as caught:
        rs.value("pas_time")
    again = pickle.loads(pickle.dumps(caught.value))
    assert (type(again), str(again)) == (type(caught.value), str(caught.value))


def test_logs_tell_what_is_computed_and_are_silent_unless_asked(caplog, capfd):
    rs.evaluate("pass_time", batch_size=[1, 2], **CELL)
    assert capfd.readouterr() == ("", "")
    logger = logging.getLogger("roofslate")
    assert any(isinstance(h, logging.NullHandler) for h in logger.handlers)
    with caplog.at_level(logging.DEBUG, "roofslate"):
        rs.evaluate("pass_time", batch_size=[1, 2], threads=1, **CELL)
    (record,) = caplog.records
    assert (record.levelname, record.message) == ("DEBUG", "pass_time, memory_fits over {'batch_size': 2}, 1 threads")


def test_versions_are_told():
    out = io.StringIO()
    rs.show_versions(out)
    facts = dict(re.split(r"\s{2,}|(?<=^instruction set) ", line, maxsplit=1) for line in out.getvalue().splitlines())
    assert facts["roofslate"] == rs.__version__
    assert facts["numpy"] == importlib.metadata.version("numpy")
    assert facts["instruction set"] in _core.instruction_sets()
    assert int(facts["threads"]) >= 1


def test_a_missing_package_is_told(monkeypatch, capsys):
    monkeypatch.setattr(versions, "_OPTIONAL", ("no-such-package",))
    rs.show_versions()
    assert re.search(r"^no-such-package +not installed$", capsys.readouterr().out, re.MULTILINE)


def test_versions_are_those_of_what_the_package_asks_for():
    project = read_data(ROOT / "pyproject.toml")["project"]
    needed = {re.match(r"[\w-]+", line)[0] for line in project["dependencies"]} - {"tomli"}
    assert needed == set(versions._NEEDED)
    known = ("charts", "jupyter", "analysis", "units", "dask", "io", "excel", "files", "serve", "marimo")
    extras = {name for extra in known
              for line in project["optional-dependencies"][extra] for name in re.findall(r"^[\w-]+", line)}  # fmt: skip
    assert extras <= set(versions._OPTIONAL)


@pytest.mark.parametrize(
    ("begun", "offered"),
    [
        ("hbm_d", ["hbm_drain_time"]),
        ("hardw", ["hardware=", "hardware_flops_utilization"]),
        ("hardware=b200", ["hardware=B200", "hardware=B200 (lecture)"]),
        ("overlap=", ["overlap=board", "overlap=serial_kv", "overlap=none"]),
        ("no_such=", []),
        ("batch_size=", []),
        ("calibration=fl", ["calibration=floor"]),
    ],
)
def test_a_shell_completes_questions(begun, offered):
    result = completion.words(begun)
    assert [word for word in result if word in offered] == offered
    assert len(result) == len(offered) or begun.startswith("hardware=")  # other tests add chips


@pytest.mark.parametrize(
    ("command", "begun", "offered"),
    [
        ("deploy", "obj", ["objective="]),
        ("deploy", "objective=hbm_d", ["objective=hbm_drain_time"]),
        ("best", "also=pass_time,hbm_d", ["also=pass_time,hbm_drain_time"]),
        ("solve", "at=l", ["at=largest"]),
        ("best", "prune=n", ["prune=no"]),
        ("summary", "bands=", []),
        ("evaluate", "objective=hbm_d", []),
    ],
)
def test_a_shell_completes_keywords(command, begun, offered):
    assert completion.words(begun, command) == offered


def test_a_shell_completes_commands(run_python):
    code = """
import os
os.environ |= {"COMP_WORDS": LINE, "COMP_CWORD": "2", "_ROOFSLATE_COMPLETE": "bash_complete"}
from roofslate.cli import main
main(prog_name="roofslate")
"""
    lines = {"evaluate hbm_d": "hbm_drain_time", "quantities hbm_d": "hbm_drain_time", "presets prices": "prices"}
    lines |= {"deploy maximi": "maximize=", "hardware L40": "L40S", "models gpt-oss-1": "gpt-oss-120b"}
    for line, offered in lines.items():
        assert run_python(code.replace("LINE", repr(f"roofslate {line}"))).split() == [f"plain,{offered}"]


def test_the_version_is_told_once():
    cited = re.search(r"^version: (.+)$", (ROOT / "CITATION.cff").read_text(), re.MULTILINE)[1]
    assert cited == rs.__version__
    assert f"## {rs.__version__}" in (ROOT / "CHANGELOG.md").read_text()
    assert re.fullmatch(r"\d+\.\d+\.\d+([ab]\d+|rc\d+)?", rs.__version__)


def test_every_file_of_tests_is_collected():
    """Pytest leaves out some folders by their names, such as build, unless they are named."""
    settings = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"]["pytest"]["ini_options"]
    named = [ROOT / path for path in settings["testpaths"]]
    files = [path for path in (ROOT / "tests").rglob("test_*.py") if not any(path.is_relative_to(n) for n in named)]
    assert files == []
