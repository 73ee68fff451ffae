"""Explorers: accepted charts, their pictures, the reproducing code, and JupyterLab."""

from __future__ import annotations

import ast
import io
import json
import re
import sys
from typing import Any

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from roofslate import charts, units
from roofslate._base.messages import pip_install
from roofslate.errors import InputTypeError, MissingInput, RoofslateError, UnitError, UnknownName, ValueRangeError
from roofslate.plotting import explorer as explorer_module
from roofslate.presets import catalog as catalogs
from roofslate.registry.registry import entries
from support.explorers import CELL, moved, run
from support.lazy import Later, Lazy, made
from support.slices import every_third

mpl = Lazy("matplotlib")
layout_engine = Lazy("matplotlib.layout_engine")
pyplot = Lazy("matplotlib.pyplot")

LECTURE = [chart.name for chart in charts.all() if chart.input_names]
# charts with only lists, and their accepted inputs
OTHERS: dict[str, dict[str, Any]] = {
    "scale_up_domains": {"hardware": "GB200 NVL72"},
    "machine_balance": {"hardware": "B200", "weight_format": "bf16"},
    "overtraining_tornado": {"model_lifetime": "60 d"},
    "waiting_vs_load": {"batch_slots": 100},
}


@pytest.fixture
def undrawn(monkeypatch: pytest.MonkeyPatch) -> None:
    """Figures are made, in the size of a screen, and no image of them."""
    monkeypatch.setattr(explorer_module._Easel, "image", lambda *_: "")
    monkeypatch.setattr(explorer_module, "_DOTS_PER_INCH", 100)


def keywords(code: str) -> dict[str, Any]:
    """Inputs that code gives to its one call that takes any."""
    (call,) = [node for node in ast.walk(ast.parse(code)) if isinstance(node, ast.Call) and node.keywords]
    return {str(k.arg): eval(ast.unparse(k.value), {"rs": rs}) for k in call.keywords}


def pixels(figure: Any) -> np.ndarray:
    file = io.BytesIO()
    figure.savefig(file, format="rgba", dpi=60)
    return np.frombuffer(file.getvalue(), np.uint8)


# ----------------------------------------------------------------------------------------------------inputs of charts


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("name", LECTURE)
def test_a_chart_starts_as_the_lectures_picture(name: str) -> None:
    chart = charts.find(name)
    explorer = rs.explore(name)
    table = chart.data()
    same = chart.data(**explorer.values)
    assert same.equals(table)
    assert repr(same.attrs) == repr(table.attrs)
    assert explorer.controls


def test_charts_know_what_moves_them() -> None:
    board = charts.latency_vs_batch.inputs
    assert board["context_length"] == 87_400
    assert board["hbm_bandwidth"] == 8e12
    assert board["chips"] == 72
    assert "batch_size" not in board  # the axis
    assert charts.retrieve_or_hold.inputs["hardware"] == "B200 (lecture)"
    assert charts.pipeline_inference.inputs == {"hop_latency": 2.5e-3, "pipeline_stages": 4, "stage_time": 5e-3}
    assert "practical_margin" not in charts.cost_vs_context.inputs  # without effect if the batch is given
    assert set(OTHERS) == {chart.name for chart in charts.all() if not chart.input_names}


@pytest.mark.parametrize("name", sorted(OTHERS))
def test_a_chart_without_numbers_of_its_own_takes_given_ones(name: str) -> None:
    with pytest.raises(MissingInput, match=f"{name} has no scalar"):
        rs.explore(name)
    explorer = rs.explore(name, **OTHERS[name])
    assert list(explorer.controls) == list(OTHERS[name])


# ------------------------------------------------------------------------------------------------------------- code


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize("chart", [*every_third(LECTURE), *OTHERS])
def test_code_gives_the_picture_of_a_chart_again(chart: str) -> None:
    """Whatever is moved: the same inputs, and the same picture to the last pixel."""
    explorer = rs.explore(chart, **OTHERS.get(chart, {}))
    for name, control in explorer.controls.items():
        before = explorer.values
        value = moved(control)
        if explorer._trouble.value:  # no picture can be drawn with it, and the last one stays
            assert explorer.values == before
            explorer.reset()
        else:
            assert explorer.values == {**before, name: value}
    named = keywords(explorer.to_code())
    assert set(named) == set(explorer.values)
    for name, x in explorer.values.items():
        q = entries().get(name)
        assert (named[name] if q is None or q.choices else units.to_base(named[name], q.unit)) == x
    again = run(explorer.to_code())
    assert explorer.figure is not None
    assert (pixels(again.figure) == pixels(explorer.figure)).all()


@pytest.mark.usefixtures("undrawn")
@pytest.mark.parametrize(
    ("outputs", "inputs"),
    [
        ("pass_time", {"batch_size": 64, "context_length": "8k"}),
        ("bottleneck", {"batch_size": 64, "context_length": "8k"}),
        (["pass_time", "kv_bytes"], {"batch_size": 64, "context_length": 1234.5678901234567}),
        ("pass_time", {"batch_size": rs.geomspace(1, 4096, 30), "context_length": ("1k", "128k")}),
        ("pass_time", {"batch_size": np.geomspace(1, 4096, 30), "context_length": "8k"}),
        ("pass_time", {"batch_size": [1, 2.5, 1e3], "context_length": ["1k", "8k"]}),
        ("pass_time", {"batch_size": range(1, 64, 3), "context_length": rs.linspace("1k", "8k", 12)}),
        (["pass_time", "bottleneck"], {"batch_size": rs.geomspace(1, 4096, 20), "context_length": "8k"}),
        (
            ["pass_time", "compute_utilization", "hbm_drain_time"],
            {"batch_size": np.linspace(1, 9, 5), "context_length": 8000},
        ),
    ],
    ids=str,
)
def test_code_gives_the_picture_of_outputs_again(outputs: Any, inputs: dict[str, Any], bits: Any) -> None:
    explorer = rs.explore(outputs, **inputs, **CELL)
    if "context_length" in explorer.controls and explorer.controls["context_length"].slider:
        moved(explorer.controls["context_length"])
    expected = rs.evaluate(outputs, explorer.values)
    given_back = rs.evaluate(outputs, keywords(explorer.to_code()))
    names = [outputs] if isinstance(outputs, str) else outputs
    for name in names:
        a, b = (result if isinstance(outputs, str) else result[name] for result in (expected, given_back))
        assert np.array_equal(bits(a.to_numpy()), bits(b.to_numpy()))
    shown = run(explorer.to_code())
    if explorer.figure is None:
        assert not expected.dims
    elif len(explorer.figure.axes) == len(shown.figure.axes):
        assert (pixels(shown.figure) == pixels(explorer.figure)).all()


@given(st.sampled_from([q.name for q in entries().values() if not q.choices]), st.floats(1e-30, 1e30))
def test_a_number_in_code_is_read_as_the_same_bits(name: str, x: float) -> None:
    written = explorer_module._written(name, x)
    assert units.to_base(ast.literal_eval(written), entries()[name].unit) == x


def test_code_is_plain() -> None:
    explorer = rs.explore("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth=8e12)
    assert (
        repr(explorer)
        == explorer.to_code()
        == 'rs.value("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")'
    )
    explorer = rs.explore("latency_vs_batch", context_length="8k", chips=72, **CELL)
    assert explorer.to_code() == (
        "rs.charts.latency_vs_batch(\n"
        '    context_length=8000,\n    chips=72,\n    model="DeepSeek-V3",\n    hardware="GB200 NVL72",\n)'
    )


def test_the_code_is_shown_and_follows() -> None:
    explorer = rs.explore("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    assert "&quot;8 TB/s&quot;" in explorer._code.value
    assert "readonly" in explorer._code.value
    explorer.set(hbm_bandwidth="4 TB/s")
    assert "&quot;4 TB/s&quot;" in explorer._code.value


# ----------------------------------------------------------------------------------------------------------- pictures


def test_numbers_are_written_large_with_their_units() -> None:
    explorer = rs.explore(["hbm_drain_time", "bottleneck"], batch_size=64, context_length="8k", **CELL)
    assert explorer.figure is None
    for text in ("23.25 ms", "HBM drain time, capacity / bandwidth", "weight fetch"):
        assert text in explorer._canvas.value


def test_a_picture_is_told_in_words_and_keeps_its_size() -> None:
    explorer = rs.explore("latency_vs_batch")
    chart = charts.latency_vs_batch
    assert f'alt="{chart.subject}. {chart.brief}"' in explorer._canvas.value
    width, height = (round(96 * inches) for inches in chart.size)
    assert f'width="{width}" height="{height}"' in explorer._canvas.value
    assert "max-width:100%" in explorer._canvas.value
    explorer = rs.explore("pass_time", batch_size=rs.geomspace(1, 4096, 20), context_length="8k", **CELL)
    assert 'alt="pass_time against batch_size"' in explorer._canvas.value


def test_the_layout_is_held_while_the_words_around_the_axes_stay_as_long(monkeypatch: pytest.MonkeyPatch) -> None:
    explorer = rs.explore("latency_vs_batch", context_length="8k", chips=72, **CELL)
    layouts = []
    engine = layout_engine.ConstrainedLayoutEngine
    execute = engine.execute
    monkeypatch.setattr(engine, "execute", lambda *given: (layouts.append(1), execute(*given)))
    explorer.controls["context_length"].slider.value = 8200
    assert not layouts
    (ax,) = explorer.figure.axes
    bounds = ax.get_position().bounds
    explorer.figure.savefig(io.BytesIO())  # which makes the layout
    assert layouts
    assert bounds == pytest.approx(ax.get_position().bounds, abs=0.005)  # less than two pixels
    layouts.clear()
    explorer.controls["chips"].slider.value = 1000  # other ticks
    assert layouts


def test_pictures_leave_no_figure_open() -> None:
    explorer = rs.explore("latency_vs_batch")
    moved(explorer.controls["context_length"])
    assert not pyplot.get_fignums()
    with mpl.rc_context({"lines.linewidth": 7.0}):
        before = dict(mpl.rcParams)
        moved(explorer.controls["context_length"])
        assert dict(mpl.rcParams) == before


def test_a_figure_that_was_taken_stays_as_it_was() -> None:
    explorer = rs.explore("latency_vs_batch", context_length="8k", **CELL)
    figure = explorer.figure
    before = pixels(figure)
    explorer.set(context_length="64k")
    assert (pixels(figure) == before).all()
    assert (pixels(explorer.figure) != before).any()


def test_it_shows_itself() -> None:
    explorer = rs.explore("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    bundle = explorer._repr_mimebundle_()
    assert bundle["application/vnd.jupyter.widget-view+json"]["model_id"] == explorer.widget.model_id
    assert bundle["text/plain"] == explorer.to_code()


def test_definitions_that_were_local_stay_known() -> None:
    with rs.definitions():
        rs.define("double_batch", "sequence", "2 * batch_size", brief="twice the batch")
        explorer = rs.explore("double_batch", batch_size=4)
    explorer.set(batch_size=8)
    assert "twice the batch" in explorer._canvas.value
    assert ">16<" in explorer._canvas.value


# ------------------------------------------------------------------------------------------------------------- mistakes


@pytest.mark.parametrize(
    ("what", "inputs", "error", "said"),
    [
        ("latency_vs_bach", {}, UnknownName, "latency_vs_batch"),
        ("pass_tim", {}, UnknownName, "pass_time"),
        (["pass_tim"], {}, UnknownName, "pass_time"),
        (3, {}, InputTypeError, "outputs"),
        ("pass_time", {}, MissingInput, "needed by"),
        ("pass_time", {"batch_siz": 3}, UnknownName, "batch_size"),
        ("latency_vs_batch", {"batch_siz": 3}, UnknownName, "batch_size"),
        ("pass_tokens", {"batch_size": (8, 1)}, ValueRangeError, "low below a finite high"),
        ("pass_tokens", {"batch_size": (8, 8)}, ValueRangeError, "low below a finite high"),
        ("pass_tokens", {"batch_size": (1, 2, 3)}, ValueRangeError, "two ends"),
        ("pass_tokens", {"batch_size": (-1, 8)}, ValueRangeError, "batch_size must be"),
        ("pass_tokens", {"batch_size": (1, "8 GB")}, UnitError, "batch_size"),
        ("pass_tokens", {"batch_size": None}, InputTypeError, "batch_size"),
        ("pass_tokens", {"batch_size": True}, InputTypeError, "batch_size"),
        pytest.param(
            "pass_tokens",
            {"batch_size": Later(lambda: xr.DataArray([1.0, 2.0], dims="case"))},
            InputTypeError,
            "a list or an array",
            id="pass_tokens-{'batch_size': <xarray.DataArray (case: 2)> Size: 16B\narray([1., 2.])\n"
            "Dimensions without coordinates: case}-<class 'roofslate.errors.InputTypeError'>-a list or an array",
        ),
        ("pass_time", {"overlap": ("board", "none"), "batch_size": 1}, InputTypeError, "expected one of them"),
        ("pass_time", {"model": ("DeepSeek-V3", "Kimi-K2"), "batch_size": 1}, InputTypeError, "model"),
        ("pass_time", {"model": "DeepSeek-V30", "batch_size": 1}, UnknownName, "DeepSeek-V3"),
    ],
    ids=str,
)
def test_bad_inputs_are_refused_at_once(what: Any, inputs: dict[str, Any], error: type, said: str) -> None:
    with pytest.raises(error, match=said) as caught:
        rs.explore(what, **made(inputs))
    assert isinstance(caught.value, RoofslateError)


def test_a_preset_that_no_code_can_name_is_refused() -> None:
    for name in ("lost", "H100"):
        lost = catalogs.Preset(name, "hardware", rs.hardware["B200"].facts)
        for chips in (lost, [rs.hardware["B200"], lost]):
            with pytest.raises(RoofslateError, match=name):
                rs.explore("hbm_drain_time", hardware=chips)


def test_presets_in_a_list_are_named_in_the_code() -> None:
    chips = [rs.hardware[name] for name in ("H100", "B200")]
    code = rs.explore("hbm_drain_time", hardware=chips).to_code()
    assert code == 'rs.plot(rs.evaluate("hbm_drain_time", hardware=["H100", "B200"]))'
    assert rs.explore("tier_cost", tiers=[rs.storage["HDD"]]).to_code() == 'rs.charts.tier_cost(tiers=["HDD"])'


def test_without_ipywidgets_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ipywidgets", None)
    with pytest.raises(ModuleNotFoundError, match=re.escape(pip_install("jupyter"))):
        rs.explore("latency_vs_batch")


def test_ipywidgets_is_loaded_when_it_is_needed(run_python: Any) -> None:
    code = "import sys, roofslate as rs; rs.explore; print({'ipywidgets', 'matplotlib'} & set(sys.modules))"
    assert run_python(code) == "set()"


# -------------------------------------------------------------------------------------------------------- in JupyterLab

RUN = """async () => {
    const notebook = jupyterapp.shell.currentWidget;
    await notebook.context.ready;
    await notebook.sessionContext.ready;
    await jupyterapp.commands.execute('notebook:run-all-cells');
}"""
WATCH = """() => {
    window.pictures = new Set();
    const place = document.querySelector('.jp-OutputArea');
    const note = () => window.pictures.add(place.querySelector('img')?.src);
    new MutationObserver(note).observe(place, {subtree: true, childList: true});
}"""
PATIENCE = 90  # seconds for moves of two or three on an idle machine
NOTEBOOK = """\
import roofslate as rs
rs.explore("latency_vs_batch", context_length=("1k", "100k"), chips=72, model="DeepSeek-V3", hardware="GB200 NVL72")"""


@pytest.mark.slow
def test_in_jupyterlab(laboratory: Any, browser: Any) -> None:
    """The picture follows keys, mouse moves, and typed text, and the last of many moves wins."""
    address, folder = laboratory
    cell = {"cell_type": "code", "id": "explorer", "metadata": {}, "execution_count": None, "outputs": []}
    kernel = {"name": "python3", "display_name": "Python 3", "language": "python"}
    notebook = {"cells": [{**cell, "source": NOTEBOOK}], "metadata": {"kernelspec": kernel}}
    text = json.dumps({**notebook, "nbformat": 4, "nbformat_minor": 5})
    (folder / "explore.ipynb").write_text(text, encoding="utf-8")
    page = browser.new_page(viewport={"width": 1200, "height": 900})
    page.set_default_timeout(1000 * PATIENCE)
    trouble: list[str] = []
    page.on("console", lambda message: trouble.extend([message.text] * (message.type == "error")))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    near = (address, address.replace("http:", "ws:"), "data:", "blob:")
    page.on("request", lambda request: trouble.extend([request.url] * (not request.url.startswith(near))))
    page.goto(f"{address}doc/tree/explore.ipynb")
    page.locator(".jp-CodeCell").wait_for()
    page.evaluate(RUN)
    picture = page.locator(f'.jp-OutputArea img[alt^="{charts.latency_vs_batch.subject}"]')
    picture.wait_for()
    assert picture.evaluate("image => image.decode().then(() => image.naturalWidth)") > 600
    field = page.locator('input[title^="context length (tokens)"]')
    code = page.locator('textarea[aria-label="Code of this plot"]')
    assert field.input_value() == "10k"
    assert 'context_length="10k"' in code.input_value()

    name = "context length (tokens)"
    settled = f"""() => {{
        const field = document.querySelector('input[title^="{name}"]'), code = document.querySelector('textarea');
        return code.value.includes(field.value.replace(',', ''));
    }}"""
    reads = f"""text => document.querySelector('input[title^="{name}"]').value === text"""

    def follows(change: Any) -> str:
        """The code of another picture, once it has the number of the field."""
        before = picture.get_attribute("src")
        change()
        page.wait_for_function("before => document.querySelector('.jp-OutputArea img').src !== before", arg=before)
        page.wait_for_function(settled)
        return str(code.input_value())

    handle = page.locator(".noUi-handle").first
    handle.focus()
    assert run(follows(lambda: page.keyboard.press("ArrowRight"))).figure is not None
    # keys: a step and back, the ends, ten steps, and a key that stays pressed
    follows(lambda: page.keyboard.press("ArrowLeft"))
    page.wait_for_function(reads, arg="10k")
    for key, text in {"End": "100k", "Home": "1,000"}.items():
        follows(lambda key=key: page.keyboard.press(key))
        page.wait_for_function(reads, arg=text)
        page.wait_for_function(settled)
    follows(lambda: page.keyboard.press("PageUp"))
    page.wait_for_function(settled)
    assert field.input_value() != "1,000"

    def hold() -> None:
        for _ in range(60):
            page.keyboard.down("ArrowRight")  # again without a release: a repeat
        page.keyboard.up("ArrowRight")

    assert run(follows(hold)).figure is not None
    page.wait_for_function(settled)
    assert handle.evaluate("handle => handle === document.activeElement")  # and JupyterLab took no key
    follows(lambda: page.keyboard.press("Home"))
    page.wait_for_function(settled)
    # through the whole slider in many small steps
    page.evaluate(WATCH)
    box = handle.bounding_box()
    moves = 150

    def drag() -> None:
        page.mouse.move(box["x"] + box["width"] / 2, box["y"] + box["height"] / 2)
        page.mouse.down()
        page.mouse.move(box["x"] + 500, box["y"], steps=moves)
        page.mouse.up()

    follows(drag)
    page.wait_for_function(reads, arg="100k")
    page.wait_for_function(settled)
    assert 'context_length="100k"' in code.input_value()
    assert 1 <= page.evaluate("window.pictures.size") < moves / 2
    # a mistake shows a message, and the picture stays
    before = picture.get_attribute("src")
    field.fill("8 GB")
    field.press("Enter")
    alert = page.locator('.jp-OutputArea [role="alert"]')
    alert.wait_for()
    assert "it is in byte" in alert.inner_text()
    assert picture.get_attribute("src") == before
    field.fill("32k tokens")
    assert 'context_length="32k"' in follows(lambda: field.press("Enter"))
    assert alert.count() == 0
    page.get_by_role("button", name="Reset").click()
    page.wait_for_function(reads, arg="10k")
    page.close()
    assert not trouble
