"""Type checkers and editors: mypy on calls, stubtest on the stubs, and completion."""

import importlib.util
import os
import subprocess
import sys
import typing
from pathlib import Path

import pytest
import roofslate as rs
from roofslate.cli.completion import begun_words
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries
from roofslate.registry.words import DAY
from support import ROOT

PACKAGE = ROOT / "python/roofslate"

needs_mypy = pytest.mark.skipif(
    importlib.util.find_spec("mypy") is None, reason="mypy not installed: pip install 'roofslate[dev]'"
)

# ------------------------------------------------------------------------------------------------------------- mypy

GIVEN = """
from typing import Any
import pandas as pd
import roofslate as rs

plain: dict[str, Any] = {"model": "DeepSeek-V3"}
checked: rs.typing.Inputs = {"model": "DeepSeek-V3", "overlap": "none", "batch_size": [1, 2], "context_length": "8k"}
table = pd.DataFrame({"batch_size": [1, 2]})
word: str = "board"
"""

RESULTS = {
    'rs.value("pass_time", batch_size=256, **plain)': "float",
    'rs.value("bottleneck", **checked)': "str",
    'rs.value("defined_by_a_program", and_so_is_this="3 s")': "float",
    'rs.evaluate("pass_time", batch_size=[1, 2])': "xarray.core.dataarray.DataArray",
    'rs.evaluate("pass_time", **checked, chips=8)': "xarray.core.dataarray.DataArray",
    'rs.evaluate("pass_time", bands=0.8, batch_size=[1, 2])': "xarray.core.dataset.Dataset",
    'rs.evaluate(["pass_time", "defined_by_a_program"], **plain)': "xarray.core.dataset.Dataset",
    'rs.frame(table, "pass_time", overlap=word)': "pandas.core.frame.DataFrame",
    'rs.sample("pass_time", 64, seed=1, batch_size=(1, 2))': "xarray.core.dataarray.DataArray",
    'rs.compare({"model": "gpt2"}, checked, "pass_time").ratio': "float",
    'rs.best("pass_time", over="batch_size", also=["bottleneck"])': "xarray.core.dataset.Dataset",
    'rs.solve("batch_size", "pass_time == 50 ms", at="largest", **plain)': "xarray.core.dataarray.DataArray",
    "rs.charts.latency_vs_batch(batch_size=rs.linspace(1, 2, 3))": "matplotlib.axes._axes.Axes",
    'rs.hardware["B200"]': "roofslate.presets.preset.Preset",
}
MISTAKES = {
    "rs.value(3)": 'No overload variant of "value" matches argument type "int"',
    'rs.evaluate("pass_time", units=1)': 'No overload variant of "evaluate"',
    'rs.evaluate("pass_time", threads="two")': 'No overload variant of "evaluate"',
    'rs.sensitivity("pass_time", side="left")': 'No overload variant of "sensitivity"',
    'rs.solve("batch_size", "pass_time == 50 ms", at="middle")': 'No overload variant of "solve"',
    'rs.best("pass_time")': 'No overload variant of "best"',
    'rs.evalute("pass_time")': 'Module has no attribute "evalute"; maybe "evaluate"?',
    'unknown_choice: rs.typing.Inputs = {"overlap": "bord"}': "Literal['bord']",
    'misspelt: rs.typing.Inputs = {"batchsize": 3}': 'Extra key "batchsize"',
    'no_number: rs.typing.Inputs = {"batch_size": object()}': 'expression has type "object"',
    'no_word: rs.typing.Inputs = {"overlap": 3}': 'TypedDict item "overlap" has type',
    'name: rs.typing.QuantityName = "pas_time"': "Literal['pas_time']",
}
RIGHT = [
    'x: rs.typing.Inputs = {"hardware": ["B200", rs.hardware["H100"], "of a program"], "weight_format": ["fp8"]}',
    'y: rs.typing.Inputs = {"batch_size": rs.geomspace(1, 8, 4), "context_length": pd.Series([1, 2])}',
    'z: rs.typing.QuantityName = "pass_time"',
]


@pytest.fixture(scope="module")
def messages(tmp_path_factory):
    """Return mypy's message for each line, from one run."""
    lines = [*(f"reveal_type({call})" for call in RESULTS), *MISTAKES, *RIGHT]
    page = tmp_path_factory.mktemp("types") / "page.py"
    page.write_text(GIVEN + "\n".join(lines) + "\n", encoding="utf-8")
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy", "--strict", "--config-file=", "--follow-imports", "silent"),
            *("--cache-dir", str(ROOT / "build/mypy"), "--no-error-summary", page.name),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=page.parent,
        env={**os.environ, "MYPYPATH": str(ROOT / "python")},
    )
    result = dict.fromkeys((*GIVEN.split("\n"), *lines), "")
    written = page.read_text(encoding="utf-8").split("\n")
    for message in (done.stdout + done.stderr).splitlines():
        assert message.startswith(f"{page.name}:"), message
        _, number, text = message.split(":", 2)
        result[written[int(number) - 1]] += text + "\n"
    return result


@needs_mypy
@pytest.mark.slow
@pytest.mark.parametrize("call", RESULTS)
def test_mypy_knows_what_a_call_gives(messages, call):
    assert messages[f"reveal_type({call})"].strip() == f'note: Revealed type is "{RESULTS[call]}"'


@needs_mypy
@pytest.mark.slow
@pytest.mark.parametrize("line", MISTAKES)
def test_mypy_finds_a_mistake(messages, line):
    assert " error: " in messages[line]
    assert MISTAKES[line] in messages[line]
    if line.startswith("rs."):
        assert len(messages[line]) < 5000, "an error of a call spells out names or inputs"


@needs_mypy
@pytest.mark.slow
@pytest.mark.parametrize("line", [*RIGHT, *GIVEN.strip().split("\n")])
def test_mypy_finds_nothing_else(messages, line):
    assert messages[line] == ""


@needs_mypy
@pytest.mark.long
def test_the_stubs_agree_with_the_package(tmp_path):
    """Stubtest of mypy, which imports the modules and compares."""
    allowed = tmp_path / "allowed"
    allowed.write_text(
        "roofslate\\._core\\.[A-Z]\\w+  # made by the metaclass of pybind11\n"
        "roofslate\\._core\\.Fold\\.__init__  # refuses to make one\n"
        "roofslate\\.(?!_core\\b)\\w+\\..*  # a module without a stub is its own\n",
        encoding="utf-8",
    )
    quick = tmp_path / "mypy.ini"  # the sources are checked by mypy itself
    quick.write_text(
        "[mypy]\nignore_errors = true\n"
        "[mypy-numpy.*,pandas.*,xarray.*,matplotlib.*,mpl_toolkits.*,IPython.*,ipywidgets.*,traitlets.*,scipy.*,dask.*,"
        "distributed.*,pyarrow.*,click.*,tqdm.*,pint.*,jax.*,numba.*]\nfollow_imports = skip\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest", "roofslate"),
            *("--allowlist", str(allowed), "--mypy-config-file", str(quick)),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "python",
    )
    assert done.returncode == 0, done.stdout + done.stderr


# ------------------------------------------------------------------------------------------------------------ names


def test_types_list_what_there_is():
    assert set(typing.get_args(rs.typing.QuantityName)) == set(entries())
    assert set(rs.typing.Inputs.__annotations__) == {*entries(), *PRESETS, DAY}
    choices = {name: q.choices for name, q in entries().items() if q.choices}
    assert set(typing.get_args(rs.typing.ChoiceName)) == set(choices)
    for name, words in choices.items():
        alias = name.title().replace("_", "")
        assert typing.get_args(getattr(rs.typing, alias)) == words
        assert rs.typing.Inputs.__annotations__[name].__forward_arg__ == f"Many[{alias}]"


def test_types_cost_no_time_at_run_time(run_python):
    code = (
        "import roofslate as rs, sys; rs.value('pass_tokens', batch_size=3); print('roofslate.typing' in sys.modules)"
    )
    assert run_python(code) == "False"


def test_types_list_the_presets_of_the_package():
    for kind, catalog in PRESETS.items():
        alias = f"{kind.title().replace('_', '')}Name"
        shipped = [name for name, preset in catalog.items() if Path(preset.origin).parent.name == "data"]
        if kind == "calibration":
            shipped = list(catalog)
        assert list(typing.get_args(getattr(rs.typing, alias))) == shipped


# ----------------------------------------------------------------------------------------------------------- editors


@pytest.fixture
def script(monkeypatch):
    """Return jedi's view of some code, as of an installed package.

    It can't follow the finder of an editable install.
    """
    jedi = pytest.importorskip("jedi")
    finders = [finder for finder in sys.meta_path if "scikit" not in f"{type(finder)}".casefold()]
    monkeypatch.setattr(sys, "meta_path", finders)
    project = jedi.Project(ROOT / "python", sys_path=[str(ROOT / "python"), *sys.path])
    return lambda code: jedi.Script(code, project=project, environment=jedi.InterpreterEnvironment())


def test_jedi_knows_the_package(script):
    code = 'import roofslate as rs\nt = rs.evaluate("pass_time", batch_size=3)\n'
    assert "evaluate" in [word.name for word in script(f"{code}rs.eval").complete()]
    assert "to_pandas" in [word.name for word in script(f"{code}t.to_pan").complete()]
    (result,) = script(f"{code}rs.evaluate").infer()
    assert "Names of quantities" in result.docstring()


CODE = {
    'rs.evaluate("pass_ti': ["pass_time", "pass_time_per_sequence"],
    "rs.value(\n    'hbm_dr": ["hbm_drain_time"],
    'rs.evaluate(["pass_time", "kv_fetch_time_': ["kv_fetch_time_per_sequence"],
    'rs.value("pass_time", overl': ["overlap="],
    'rs.value("pass_time", loss_l': ["loss_law="],
    'rs.value("pass_time", overlap="': ["board", "serial_kv", "none"],
    'rs.value("pass_time", overlap=["board", "se': ["serial_kv"],
    'rs.value("pass_time", hardware="gb200 nv': ["GB200 NVL72"],
    'replica = dict(model="Mixtral-8x7': ["Mixtral-8x7B"],
    'rs.best("pass_time", where=["hbm_us': ["hbm_used"],
    'rs.evaluate("pass_time", units={"hbm_dr': ["hbm_drain_time"],
    'rs.charts.latency_vs_batch(hardware=["B200", "MI3': [
        "MI300X",
        "MI300X x8",
        "MI325X",
        "MI325X x8",
        "MI350X",
        "MI350X x8",
        "MI355X",
        "MI355X x8",
    ],
    'rs.value("pass_time", batch_size=max(1, 2), # don\'t\n  overl': ["overlap="],
    'rs.value("pass_time", batch_size="4': [],
    'print("pass_ti': [],
    'rs.value("pass_time").hex("pass_ti': [],
    'rs.evaluate("pass_time")["pass_ti': [],
    "pass_ti": [],
}


@pytest.mark.parametrize("code", CODE)
def test_what_is_begun_is_completed(code):
    result, begun = begun_words(code, {"rs": rs})
    assert sorted(result) == sorted(CODE[code])
    assert code.endswith(begun)


@pytest.fixture(params=["import roofslate", "%load_ext roofslate"])
def shell(request, monkeypatch):
    """Completions of a shell in which the package was imported, or loaded too."""
    completer = pytest.importorskip("IPython.core.completer")
    from IPython.core.interactiveshell import InteractiveShell

    shell = InteractiveShell()
    with monkeypatch.context() as context:
        context.setattr(sys.modules["IPython"], "get_ipython", lambda: shell)
        vars(rs)["_complete_in_ipython"]()
    if request.param.startswith("%"):
        shell.run_line_magic("load_ext", "roofslate")
    shell.user_ns["rs"] = rs

    def complete(code):
        with completer.provisionalcompleter():
            return [code[: word.start] + word.text for word in shell.Completer.completions(code, len(code))]

    yield complete
    shell.history_manager.end_session()


@pytest.mark.filterwarnings("ignore")  # of IPython, as a shell is made without a terminal
def test_ipython_completes_in_texts_and_calls(shell):
    assert shell('rs.evaluate("hbm_dr') == ['rs.evaluate("hbm_drain_time']
    assert shell('rs.value("x", hardware="GB200 NV') == ['rs.value("x", hardware="GB200 NVL72']
    assert 'rs.value("x", overlap=' in shell('rs.value("x", overl')
    assert shell('rs.value("x",\n overlap="se') == ['rs.value("x",\n overlap="serial_kv']
    assert shell('print("hbm_dr') == []
