"""The first page: a measured deployment, both numbers with the interval, existing targets."""

import re
import sys

import pandas as pd
import pytest
import roofslate as rs
from page_code import BLOCK, reader, run_python
from support import ROOT
from support.lazy import Lazy, needs

first_picture = Lazy("first_picture")
pytestmark = needs("matplotlib", reason="the picture needs matplotlib: pip install '.[charts]'")

PAGES = ("README.md", "docs/index.md")
MEASURED = {"time_per_output_token": "time_per_output_token_s", "time_to_first_token": "time_to_first_token_s"}


@pytest.fixture(scope="module", params=PAGES)
def page(request):
    return (ROOT / request.param).read_text(encoding="utf-8")


@pytest.fixture
def first(page, tmp_path):
    """Names and output of the page's first block of code, and the output that the page shows."""
    code, shown = next((code, shown) for kind, code, shown in BLOCK.findall(page) if kind == "python")
    names = {"__name__": "__docs__"}
    with reader(tmp_path):
        came = run_python(code, names)
    return names, came, shown


def measured_run(deployment):
    """The one measured run of the stack that the pages name."""
    table = pd.read_csv(ROOT / "python/roofslate/measured/data/serving.csv")
    stack = {name: given for name, given in deployment.items() if name in table}
    assert set(stack) >= {"model", "hardware", "weight_format", "chips", "tensor_parallel", "concurrency"}
    for name, given in (stack | first_picture.FRAMEWORK).items():
        table = table[table[name] == given]
    assert len(table) == 1
    return table.iloc[0]


def test_the_output_is_exact(first):
    """Nothing of the first output is left out, and all of it is current."""
    _, came, shown = first
    assert "..." not in shown
    assert came == shown


def test_the_measured_run_is_within_the_interval(first):
    names, _, _ = first
    run = measured_run(names["deployment"])
    outcomes = rs.summary(names["deployment"]).to_dataframe()
    for quantity, column in MEASURED.items():
        row = outcomes.loc[quantity]
        assert row["floor"] < row["lower"] < run[column] < row["upper"], quantity
        assert row["lower"] < row["estimate"] < row["upper"], quantity


def test_the_page_says_what_was_measured(first, page):
    """The numbers of the run in the words of the page, and the release that served it."""
    run = measured_run(first[0]["deployment"])
    assert f"vLLM {run['framework_version']}" in page
    token, prompt = (run[column] for column in MEASURED.values())
    assert re.search(rf"{1e3 * token:.1f} ms|{token:.4f} s", page)
    assert f"{prompt:.2f} s" in page


def test_both_numbers_and_the_binding_term_are_shown(first, page):
    _, _, shown = first
    assert "bound" in shown or "floor" in shown
    assert "estimate" in shown
    assert "80% band" in shown or "lower   upper" in shown
    assert 'rs.value("bottleneck", deployment' in page


def test_installing_is_three_lines(page):
    """Each is enough: a target of the Makefile, or pip."""
    (block,) = re.findall(r"## Install\n.*?```sh\n(.*?)```", page, flags=re.DOTALL)
    commands = [line.partition("#")[0].strip() for line in block.splitlines()]
    assert len(commands) == 3
    makefile = (ROOT / "Makefile").read_text(encoding="utf-8")
    for command in commands:
        program, target = command.split(maxsplit=1)
        assert program == "pip" or re.search(rf"^{target}:", makefile, flags=re.MULTILINE)


def test_the_picture_is_current(tmp_path):
    """Drawn anew it is the same, by the version of matplotlib that drew it."""
    import matplotlib as mpl

    checked_in = first_picture.PICTURE.read_text(encoding="utf-8")
    if f"Matplotlib v{mpl.__version__}," not in checked_in:
        return
    first_picture.draw(tmp_path / "again.svg")
    assert (tmp_path / "again.svg").read_text(encoding="utf-8") == checked_in


def test_the_picture_shows_runs_within_the_interval():
    runs = first_picture.measured_runs()
    assert len(runs) == 5
    result = rs.evaluate(
        first_picture.OUTPUT, first_picture.STACK, concurrency=runs.index.tolist(), calibration="serving", bands=0.8
    )
    times = runs[f"{first_picture.OUTPUT}_s"].to_numpy()
    assert (result[f"{first_picture.OUTPUT}_lower"] < times).all()
    assert (times < result[f"{first_picture.OUTPUT}_upper"]).all()


def test_the_gallery_names_charts():
    sys.path.append(str(ROOT / "docs"))
    import conf

    assert len(conf.GALLERY) >= 9
    assert {rs.charts.find(name).name for name in conf.GALLERY} == set(conf.GALLERY)
