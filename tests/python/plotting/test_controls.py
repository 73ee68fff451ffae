"""Controls of explorers: their kinds, labels, and effects."""

from __future__ import annotations

import io
import math
import re
import time
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given
from hypothesis import strategies as st
from roofslate import charts, units
from roofslate.errors import InputTypeError, MissingInput, UnitError, UnknownName, ValueRangeError
from roofslate.plotting import explorer as explorer_module
from roofslate.registry.registry import entries
from support.explorers import CELL, moved, run
from support.lazy import Lazy

ipywidgets = Lazy("ipywidgets")
pyplot = Lazy("matplotlib.pyplot")

# ---------------------------------------------------------------------------------------------------------- controls


LOG = "<class 'ipywidgets.widgets.widget_float.FloatLogSlider'>"
FLOAT = "<class 'ipywidgets.widgets.widget_float.FloatSlider'>"
INT = "<class 'ipywidgets.widgets.widget_int.IntSlider'>"


@pytest.mark.parametrize(
    ("inputs", "kind", "ends"),
    [
        ({"context_length": "8k"}, LOG, (300, 200e3)),
        ({"chip_price": "3 USD/h"}, LOG, (0.1 / 3600, 90 / 3600)),
        ({"switch_latency": "2 us"}, LOG, (70e-9, 60e-6)),
        ({"chips": 72}, LOG, (2, 2000)),
        ({"chips": 16.5}, LOG, (1, 500)),
        ({"batch_size": (1, 4096)}, LOG, (1, 4096)),
        ({"hop_latency": ("1 ms", "1.5 ms")}, LOG, (1e-3, 1.5e-3)),
        ({"pipeline_stages": 4}, INT, (1, 100)),
        ({"chips": (8, 72)}, INT, (8, 72)),
        ({"held_share": 0.1}, FLOAT, (0, 1)),
        ({"rl_flops_per_parameter": 3}, FLOAT, (2, 6)),
        ({"compute_efficiency": "60 %"}, FLOAT, (1 / 240, 1)),
        ({"held_share": (0.2, 0.4)}, FLOAT, (0.2, 0.4)),
        ({"hop_latency": (0, "1 ms")}, FLOAT, (0, 1e-3)),
        ({"routing_size_exponent": -0.082}, FLOAT, (-0.164, 0)),
    ],
    ids=str,
)
def test_a_number_has_a_slider_of_its_kind(inputs: dict[str, Any], kind: str, ends: tuple[float, float]) -> None:
    (name,) = inputs
    control = rs.explore(name, **inputs).controls[name]
    assert str(type(control.slider)) == kind
    low, high = control.slider.min, control.slider.max
    if kind == LOG:
        low, high = 10**low, 10**high
    assert (low, high) == pytest.approx(ends)
    q = entries()[name]
    assert q.low <= low < high <= q.high
    assert not control.slider.readout  # the field says it, exactly


@pytest.mark.parametrize(
    ("inputs", "start"),
    [
        ({"batch_size": (1, 10_000)}, 100),
        ({"context_length": ("1k", "100k")}, 10_000),
        ({"held_share": (0.2, 0.4)}, 0.3),
        ({"chips": (8, 72)}, 40),
        ({"hop_latency": (0, "1 ms")}, 0.5e-3),
        ({"hop_latency": ("100 us", "10 ms")}, 1e-3),
    ],
    ids=str,
)
def test_a_range_starts_in_its_middle_and_is_reached_to_its_ends(inputs: dict[str, Any], start: float) -> None:
    (name,) = inputs
    explorer = rs.explore(name, **inputs)
    slider = explorer.controls[name].slider
    assert explorer.values == {name: pytest.approx(start, rel=1e-3)}
    for end, expected in zip((slider.min, slider.max), inputs[name], strict=True):
        slider.value = 10**end if isinstance(slider, ipywidgets.FloatLogSlider) else end
        assert explorer.values[name] == units.to_base(expected, entries()[name].unit)


def test_presets_and_choices_are_drop_downs() -> None:
    explorer = rs.explore("pass_time", batch_size=64, context_length="8k", overlap="serial_kv", **CELL)
    menus = {name: control.menu for name, control in explorer.controls.items() if hasattr(control, "menu")}
    assert menus["model"].options == tuple(rs.models)
    assert menus["hardware"].options == tuple(rs.hardware)
    assert menus["overlap"].options == ("board", "serial_kv", "none")
    assert {name: menu.value for name, menu in menus.items()} == {**CELL, "overlap": "serial_kv"}
    before = run(explorer.to_code())
    menus["model"].value = "Kimi-K2"
    after = rs.value(
        "pass_time", batch_size=64, context_length="8k", overlap="serial_kv", **{**CELL, "model": "Kimi-K2"}
    )
    assert run(explorer.to_code()) == after != before


def test_an_alias_and_a_preset_select_the_name_of_the_catalog() -> None:
    alias = rs.hardware["B200"].aliases[0]
    for given_one in (alias, rs.hardware["B200"]):
        assert rs.explore("hbm_drain_time", hardware=given_one).values == {"hardware": "B200"}


def test_a_switch_is_a_check_box() -> None:
    explorer = rs.explore("tier_cost")
    control = explorer.controls["free_hbm_reads"]
    assert isinstance(control.check, ipywidgets.Checkbox)
    control.check.value = False
    assert "free_hbm_reads=False" in explorer.to_code()
    explorer.set(free_hbm_reads=True)
    assert control.check.value is True


@pytest.mark.parametrize(
    ("what", "given", "error", "message"),
    [
        ("tier_cost", {"free_hbm_reads": "no"}, InputTypeError, "free_hbm_reads: expected True or False, got 'no'"),
        ("train_schedule", {"trains": 2.5}, ValueRangeError, "trains must be a whole number, got 2.5"),
        ("pass_time", {"overlap": "bord"}, UnknownName, "unknown overlap 'bord'; did you mean 'board'"),
        ("pass_time", {"overlap": 3}, UnknownName, "unknown overlap 3; known are 'board', 'serial_kv', 'none'"),
    ],
)
def test_a_control_refuses_what_its_input_is_not(
    what: str, given: dict[str, Any], error: type[Exception], message: str
) -> None:
    inputs = {"batch_size": 64, "context_length": "8k", "overlap": "board", **CELL} if what == "pass_time" else {}
    explorer = rs.explore(what, **inputs)
    before = explorer.values, explorer.to_code()
    with pytest.raises(error, match=message):
        explorer.set(**given)
    assert (explorer.values, explorer.to_code()) == before


def test_names_bear_their_units() -> None:
    explorer = rs.explore(
        "cost_per_token",
        batch_size=64,
        context_length="8k",
        chip_price="3 USD/h",
        compute_efficiency=0.5,
        peak_flops="1 PFLOP/s",
        chips=8,
        **CELL,
    )
    said = {name: control.box.children[0] for name, control in explorer.controls.items()}
    labels = {name: re.sub("<.*?>", "", getattr(head, "children", [head])[0].value) for name, head in said.items()}
    assert labels == {
        "batch_size": "batch size (sequences)",
        "context_length": "context length (tokens)",
        "chip_price": "chip price (USD/s/chip)",
        "compute_efficiency": "compute efficiency",
        "peak_flops": "peak FLOPS (FLOP/s/chip)",
        "chips": "chips",
        "model": "model",
        "hardware": "hardware",
    }


@pytest.mark.parametrize(
    ("inputs", "text"),
    [
        ({"pass_time": 0.02}, "20 ms"),
        ({"context_length": 128_000}, "128k"),
        ({"chip_price": 3 / 3600}, "$3 / h"),
        ({"hbm_capacity": "80 GiB"}, "≈ 85.9 GB"),
        ({"kv_bytes_per_token": 5000 / 3}, "≈ 1.667 kB/tok"),
        ({"attention_window": math.inf}, "inf"),
        ({"context_length": 0}, "0"),
    ],
    ids=str,
)
def test_a_field_says_the_number_with_its_unit(inputs: dict[str, Any], text: str) -> None:
    (name,) = inputs
    control = rs.explore(name, **inputs).controls[name]
    assert control.field.value == control.text == text
    if not text.startswith("≈"):
        assert units.parse(text, entries()[name].unit) == control.value


@given(st.floats(0, 1))
def test_what_a_slider_gives_is_what_the_field_says(share: float) -> None:
    explorer = rs.explore("hbm_drain_time", hbm_capacity=("1 GB", "3 TB"), hbm_bandwidth="8 TB/s")
    control = explorer.controls["hbm_capacity"]
    control.slider.value = 1e9 * 3000**share
    assert units.parse(control.field.value, "byte/chip") == explorer.values["hbm_capacity"]
    assert explorer.values["hbm_capacity"] == pytest.approx(1e9 * 3000**share, rel=0.02)


def test_a_slider_that_a_browser_moves_to_its_nearest_step_moves_nothing() -> None:
    explorer = rs.explore("hbm_drain_time", hbm_capacity="192.123456789 GB", hbm_bandwidth="8 TB/s")
    slider = explorer.controls["hbm_capacity"].slider
    code = explorer.to_code()
    slider.value *= 1 + 1e-9
    assert explorer.to_code() == code
    assert explorer.values["hbm_capacity"] == 192.123456789e9


def test_where_nothing_says_how_far_a_slider_goes_there_is_a_field_alone() -> None:
    explorer = rs.explore("kv_bytes", batch_size=1, context_length=0, kv_bytes_per_token=1667)
    control = explorer.controls["context_length"]
    assert control.slider is None
    control.field.value = "2k"
    assert explorer.values["context_length"] == 2000


def test_what_is_typed_is_read_with_its_unit_beyond_the_slider_too() -> None:
    explorer = rs.explore("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth=("4 TB/s", "8 TB/s"))
    control = explorer.controls["hbm_bandwidth"]
    control.field.value = "16000 GB/s"
    assert explorer.values["hbm_bandwidth"] == 16e12
    assert control.field.value == "16 TB/s"
    assert control.slider.value == pytest.approx(8e12)  # at its end
    assert run(explorer.to_code()) == 0.012


def test_lists_and_arrays_stay_axes() -> None:
    batch = np.array([1.0, 3.0, 10.0])
    explorer = rs.explore("pass_time", batch_size=batch, context_length=rs.geomspace("1k", "32k", 9), **CELL)
    assert set(explorer.controls) == {"model", "hardware"}
    assert explorer.values["batch_size"] is batch
    explorer = rs.explore(
        "pass_time", batch_size=[1, 10, 100], context_length="8k", **{**CELL, "model": list(rs.models)[:2]}
    )
    assert set(explorer.controls) == {"context_length", "hardware"}


# ------------------------------------------------------------------------------------------------------------- moving


@pytest.fixture
def draws(monkeypatch: pytest.MonkeyPatch) -> list[dict[str, Any]]:
    """Inputs of every picture that is drawn."""
    drawn: list[dict[str, Any]] = []
    original = explorer_module.Surface.draw

    def draw(self: Any, inputs: dict[str, Any]) -> Any:
        drawn.append(dict(inputs))
        return original(self, inputs)

    monkeypatch.setattr(explorer_module.Surface, "draw", draw)
    return drawn


def test_one_move_is_one_picture(draws: list[dict[str, Any]]) -> None:
    explorer = rs.explore("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    slider = explorer.controls["hbm_capacity"].slider
    assert len(draws) == 1
    slider.value = 100e9
    assert len(draws) == 2
    slider.value = 100.0001e9  # the same step
    assert len(draws) == 2
    explorer.controls["hbm_bandwidth"].field.value = "4000 GB/s"
    assert len(draws) == 3
    explorer.controls["hbm_bandwidth"].field.value = "4000000 MB/s"  # the same number
    assert draws[2:] == draws[2:3] * len(draws[2:])
    explorer.set(hbm_capacity="80 GB", hbm_bandwidth="3 TB/s")
    assert draws[-1] == {"hbm_capacity": 80e9, "hbm_bandwidth": 3e12}
    count = len(draws)
    explorer.reset()
    assert len(draws) == count + 1
    assert draws[-1] == draws[0] == explorer.values


def test_a_move_is_followed_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A move computes the chart once and draws it once, in the time of one picture.

    That time is some 80 ms. Each move is timed next to the same chart drawn without controls, so that a busy machine
    slows both.
    """
    computed = []
    chart = charts.latency_vs_batch
    original = chart._data
    explorer = rs.explore(chart)
    monkeypatch.setattr(chart, "_data", lambda **inputs: (computed.append(1), original(**inputs))[1])
    slider = explorer.controls["context_length"].slider
    seconds, alone = [], []
    for _ in range(9):
        start = time.perf_counter()
        slider.value *= 1.05
        seconds.append(time.perf_counter() - start)
        count = len(computed)
        start = time.perf_counter()
        figure = chart(context_length=slider.value).figure
        figure.savefig(io.BytesIO(), format="svg")
        alone.append(time.perf_counter() - start)
        pyplot.close(figure)
        del computed[count:]
    assert len(computed) == len(seconds)
    assert min(seconds) < 3 * min(alone)


def test_reset_moves_everything_back() -> None:
    explorer = rs.explore("latency_vs_batch", context_length="8k", overlap="board", **CELL)
    code, markup = explorer.to_code(), explorer._canvas.value
    for control in explorer.controls.values():
        moved(control)
    explorer._reset.click()
    assert explorer.to_code() == code
    assert explorer._canvas.value == markup
    assert explorer.controls["context_length"].field.value == "8,000"
    assert explorer.controls["model"].menu.value == "DeepSeek-V3"


@pytest.mark.parametrize(
    ("name", "text", "said"),
    [
        ("context_length", "a lot", "cannot read"),
        ("context_length", "8 GB", "it is in byte"),
        ("context_length", "-1", "context_length must be"),
        ("chips", "0.5", "chips must be"),
    ],
)
def test_a_mistake_is_told_and_the_picture_stays(name: str, text: str, said: str) -> None:
    explorer = rs.explore("latency_vs_batch", context_length="8k", chips=72, **CELL)
    markup, code = explorer._canvas.value, explorer.to_code()
    assert explorer._trouble.value == ""
    explorer.controls[name].field.value = text
    assert said in explorer._trouble.value
    assert "\n" not in explorer._trouble.value
    assert explorer._canvas.value == markup
    assert explorer.to_code() == code
    moved(explorer.controls["context_length"])
    assert explorer._trouble.value == ""
    assert explorer.to_code() != code
    assert explorer.controls["chips"].field.value in ("72", text)


def test_inputs_that_do_not_go_together_are_told_and_the_picture_stays() -> None:
    explorer = rs.explore("latency_vs_batch", context_length="8k", **CELL)
    markup, values = explorer._canvas.value, explorer.values
    explorer.controls["hardware"].menu.value = "H100"
    assert "give chips=, or a whole system" in explorer._trouble.value
    assert explorer._canvas.value == markup
    assert explorer.values == values
    explorer.controls["hardware"].menu.value = "GB200 NVL72"
    assert explorer._trouble.value == ""


def test_set_moves_all_or_nothing() -> None:
    explorer = rs.explore("latency_vs_batch", context_length="8k", **CELL)
    values = explorer.values
    for wrong, error in [
        ({"context_length": "16k", "hardware": "H100"}, MissingInput),
        ({"context_length": "16k", "hardware": "H1000"}, UnknownName),
        ({"context_length": "16k", "chips": 8}, UnknownName),
        ({"context_length": "16 GB"}, UnitError),
        ({"context_length": -1}, ValueRangeError),
    ]:
        with pytest.raises(error):
            explorer.set(**wrong)
        assert explorer.values == values
        assert explorer.controls["context_length"].field.value == "8,000"
        assert explorer.controls["hardware"].menu.value == "GB200 NVL72"
    explorer.set(context_length="16k")
    assert explorer.values == {**values, "context_length": 16_000}
