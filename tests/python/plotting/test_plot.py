"""Plots of evaluated results: lines, heat maps, regions, ticks, and errors."""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from roofslate.errors import AxisError, InputTypeError, UnknownName
from support.lazy import Lazy
from support.pictures import ticks

mpl = Lazy("matplotlib")
collections = Lazy("matplotlib.collections")
pyplot = Lazy("matplotlib.pyplot")

# Pictures show points beyond memory, too.
pytestmark = pytest.mark.filterwarnings("ignore::roofslate.errors.DoesNotFit")
SCENE: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "expert_reads": "all"}
BATCH = rs.geomspace(1, 8192, 40)
CONTEXT = rs.geomspace("1k", "1M", 30)


def words(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts if text.get_gid() != "under title"]


def meshes(ax: Any) -> list[Any]:
    return [mesh for mesh in ax.collections if isinstance(mesh, collections.QuadMesh)]


def test_one_axis_is_a_line() -> None:
    result = rs.evaluate("pass_time", batch_size=BATCH, context_length="8k", **SCENE)
    ax = rs.plot(result.to_dataset())
    (line,) = ax.get_lines()
    assert line.get_xdata() == pytest.approx(result["batch_size"].to_numpy())
    assert line.get_ydata() == pytest.approx(result.to_numpy())
    assert ax.get_xscale() == "log"
    assert ax.get_xlabel() == "batch size (sequences)"
    assert ax.get_ylabel() == "pass time"
    assert "4 ms" in ticks(ax.yaxis)
    assert "1,000" in ticks(ax.xaxis)


def test_even_steps_are_a_linear_axis() -> None:
    ax = rs.plot(rs.evaluate("pass_time", batch_size=8, context_length=rs.linspace(0, "400k", 21), **SCENE))
    assert ax.get_xscale() == "linear"
    assert "200k" in ticks(ax.xaxis)


def test_several_variables_of_one_unit_are_lines_of_one_picture() -> None:
    names = ["compute_time", "memory_time", "pass_time"]
    result = rs.evaluate([*names, "bottleneck"], batch_size=BATCH, context_length="8k", **SCENE)
    ax = rs.plot(result)
    lines = ax.get_lines()
    assert [line.get_label() for line in lines] == ["compute time", "memory time", "pass time"]
    for name, line in zip(names, lines, strict=True):
        assert line.get_ydata() == pytest.approx(result[name].to_numpy())
    ends = {text.get_text(): text.get_color() for text in ax.texts}
    assert [ends[line.get_label()] for line in lines] == [line.get_color() for line in lines]
    assert "KV fetch" in words(ax)  # the regions of the bottleneck
    assert ax.get_ylabel() == "time"
    with pytest.raises(UnknownName, match=r"several numbers of one unit, got pass_time \(s\), batch_size"):
        rs.plot(result[["pass_time"]].assign(batch_size_used=result["pass_time"].assign_attrs(units="sequence")))


def test_presets_are_lines_with_names_at_their_ends() -> None:
    names = ["DeepSeek-V3", "Kimi-K2"]
    result = rs.evaluate(
        "cost_per_token", batch_size=BATCH, context_length="8k", model=names, hardware="GB200 NVL72", chip_price="$3/h"
    )
    ax = rs.plot(result)
    assert [line.get_label() for line in ax.get_lines()] == names
    assert set(names) <= set(words(ax))
    assert ax.get_yscale() == "log"
    assert "$1/Mtok" in ticks(ax.yaxis)
    for line, name in zip(ax.get_lines(), names, strict=True):
        assert line.get_ydata() == pytest.approx(result.sel(model=name).to_numpy())
    styles = {line.get_linestyle() for line in ax.get_lines()}
    assert len(styles) == 2


def test_a_short_axis_is_lines_with_values_at_their_ends() -> None:
    result = rs.evaluate("pass_time", batch_size=BATCH, context_length=["1k", "8k", "128k"], **SCENE)
    ax = rs.plot(result)
    assert {"1,000", "8,000", "128k"} <= set(words(ax))
    assert "lines: context length (tokens)" in [text.get_text() for text in ax.texts]
    across = rs.plot(result, x="context_length", hue="batch_size")
    assert len(across.get_lines()) == 40
    assert len(words(across)) < 15


def test_two_long_axes_are_a_heat_map_with_contours() -> None:
    result = rs.evaluate("pass_time", batch_size=BATCH, context_length=CONTEXT, **SCENE)
    ax = rs.plot(result)
    (mesh,) = meshes(ax)
    assert np.array_equal(mesh.get_array().reshape(30, 40), result.to_numpy().T)
    assert ax.get_xlabel() == "batch size (sequences)"
    assert ax.get_ylabel() == "context length (tokens)"
    assert "10 ms" in words(ax)
    bar = ax.figure.axes[-1]
    assert bar.get_ylabel() == "pass time"
    assert "100 ms" in ticks(bar.yaxis)
    turned = rs.plot(result, x="context_length", y="batch_size")
    assert np.array_equal(meshes(turned)[0].get_array().reshape(40, 30), result.to_numpy())
    assert turned.get_ylabel() == "batch size (sequences)"


def test_binding_terms_are_outlined() -> None:
    result = rs.evaluate(["pass_time", "bottleneck"], batch_size=BATCH, context_length=CONTEXT, **SCENE)
    ax = rs.plot(result)
    assert len(meshes(ax)) == 1
    assert {"weight fetch", "KV fetch"} <= set(words(ax))
    dark = [mesh for mesh in ax.collections if "#111111" in [mpl.colors.to_hex(c) for c in mesh.get_edgecolor()]]
    assert len(dark) == 2


def test_binding_terms_alone_are_regions() -> None:
    ax = rs.plot(rs.evaluate("bottleneck", batch_size=BATCH, context_length=CONTEXT, **SCENE))
    assert {mesh.get_label() for mesh in meshes(ax)} == {"weight fetch", "KV fetch"}
    assert {"weight fetch", "KV fetch"} <= set(words(ax))
    spans = rs.plot(rs.evaluate(["pass_time", "bottleneck"], batch_size=BATCH, context_length="32k", **SCENE))
    assert words(spans) == ["weight fetch", "KV fetch"]
    assert {span.get_label() for span in spans.patches} == {"weight fetch", "KV fetch"}


def test_names_alone_are_bars() -> None:
    chips = ["A100-80", "H100", "B200"]
    ax = rs.plot(rs.evaluate("hbm_drain_time", hardware=chips))
    assert [bar.get_width() for bar in ax.patches] == pytest.approx(
        [rs.value("hbm_drain_time", hardware=chip) for chip in chips]
    )
    assert [label.get_text() for label in ax.get_yticklabels()] == chips
    assert "23.9 ms" in words(ax)
    terms = rs.plot(
        rs.evaluate(
            "bottleneck", hardware=["HGX H200", "GB200 NVL72"], model="DeepSeek-V3", batch_size=1, context_length=10
        )
    )
    assert words(terms) == ["weight fetch", "weight fetch"]


def test_choices_along_an_axis_are_named_stretches() -> None:
    result = rs.evaluate("bottleneck", batch_size=BATCH, context_length="32k", **SCENE)
    for one in (result, result.to_dataset()):
        ax = rs.plot(one)
        assert words(ax) == ["weight fetch", "KV fetch"]
        assert not ax.yaxis.get_visible()
        assert not ax.get_lines()
        begin, end = (span.get_x() for span in ax.patches)
        codes = result.to_numpy()
        change = int(np.flatnonzero(codes[1:] != codes[:-1])[0])
        points = result["batch_size"].to_numpy()
        assert begin == points[0]
        assert points[change] < end < points[change + 1]


def test_binding_terms_need_not_vary_as_the_quantity_does() -> None:
    chips = ["HGX H200", "GB200 NVL72"]
    inputs: dict[str, Any] = {"model": "DeepSeek-V3", "expert_reads": "all", "context_length": 10}
    ax = rs.plot(rs.evaluate(["pass_time", "bottleneck"], hardware=chips, batch_size=[1], **inputs))
    times = [f"{1e3 * rs.value('pass_time', hardware=chip, batch_size=1, **inputs):.3g} ms" for chip in chips]
    assert words(ax) == [f"{time}, weight fetch" for time in times]
    level = rs.plot(rs.evaluate(["hbm_drain_time", "bottleneck"], batch_size=BATCH, context_length="32k", **SCENE))
    assert words(level) == ["weight fetch", "KV fetch"]
    (line,) = level.get_lines()
    assert np.unique(line.get_ydata()) == [rs.value("hbm_drain_time", hardware=SCENE["hardware"])]


def test_what_is_infinite_or_undefined_is_told_in_words_alone() -> None:
    names = {"model": ["a", "b", "c"]}
    array = xr.DataArray([np.inf, 2.0, np.nan], dims="model", coords=names, name="pass_time", attrs={"units": "s"})
    ax = rs.plot(array)
    ax.figure.canvas.draw()
    assert words(ax) == ["inf", "2 s", "nan"]
    assert [bar.get_width() for bar in ax.patches] == [0, 2, 0]
    line = rs.evaluate("pass_time", batch_size=BATCH, context_length=["1k", "8k"], **SCENE) * np.nan
    ax = rs.plot(line)
    ax.figure.canvas.draw()
    assert not words(ax)  # no end to be labelled


def test_names_across_are_marked_points() -> None:
    result = rs.evaluate("balance_tokens", hardware=["A100-80", "H100"], weight_format=["bf16", "fp8", "fp4"])
    ax = rs.plot(result, x="weight_format")
    assert [line.get_label() for line in ax.get_lines()] == ["A100-80", "H100"]
    assert all(line.get_marker() not in ("", "None") for line in ax.get_lines())
    assert [label.get_text() for label in ax.get_xticklabels()] == ["bf16", "fp8", "fp4"]
    with pytest.raises(AxisError, match="weight_format has names, not numbers"):
        rs.plot(result, x="weight_format", y="hardware")


def test_converted_results_keep_their_units() -> None:
    unit = {"cost_per_token": "USD/Mtoken"}
    inputs: dict[str, Any] = {"batch_size": rs.linspace(1000, 4000, 30), "context_length": "1k", "chip_price": "$3/h"}
    ax = rs.plot(rs.evaluate("cost_per_token", **inputs, units=unit, **SCENE))
    assert all(text.startswith("$") and text.endswith("/Mtok") for text in ticks(ax.yaxis) if text != "0")
    inputs.pop("chip_price")
    share = rs.plot(rs.evaluate("compute_utilization", **inputs, units={"compute_utilization": "%"}, **SCENE))
    assert "40 %" in ticks(share.yaxis)


def test_settings_stay_and_given_axes_come_back() -> None:
    result = rs.evaluate("pass_time", batch_size=BATCH, context_length=CONTEXT, **SCENE)
    before = dict(mpl.rcParams)
    _, ax = pyplot.subplots()
    assert rs.plot(result, ax=ax) is ax
    assert dict(mpl.rcParams) == before


def test_axes_of_one_value_are_left_out() -> None:
    array = xr.DataArray(np.arange(6.0).reshape(1, 6), dims=("a", "b"), name="pass_time", attrs={"units": "s"})
    assert len(rs.plot(array).get_lines()) == 1


def test_arrays_of_others_are_drawn_too() -> None:
    rng = np.random.default_rng(1)
    array = xr.DataArray(rng.normal(size=(20, 30)), dims=("row", "column"))
    assert len(meshes(rs.plot(array))) == 1
    holes = array.where(array > -1).rename("depth").assign_attrs(units="furlong")
    assert rs.plot(holes).figure.axes[-1].get_ylabel() == "depth"
    constant = xr.DataArray(np.ones((20, 30)), dims=("row", "column"), name="one")
    assert len(meshes(rs.plot(constant))) == 1


def test_what_cannot_be_drawn_is_said() -> None:
    cube = rs.evaluate(
        "pass_time", batch_size=BATCH, context_length=CONTEXT, model=["DeepSeek-V3", "Kimi-K2"], hardware="GB200 NVL72"
    )
    with pytest.raises(AxisError, match=r"3 axes .*isel"):
        rs.plot(cube)
    assert len(rs.plot(cube.isel(context_length=0)).get_lines()) == 2
    point = rs.evaluate("pass_time", batch_size=1, context_length=1, **SCENE)
    with pytest.raises(AxisError, match="single number"):
        rs.plot(point)
    with pytest.raises(UnknownName, match="batch_size"):
        rs.plot(cube.isel(model=0), x="batch_sise")
    with pytest.raises(AxisError, match="different axes"):
        rs.plot(cube.isel(model=0), x="batch_size", y="batch_size")
    with pytest.raises(AxisError, match="either y or hue"):
        rs.plot(cube.isel(model=0), y="batch_size", hue="context_length")
    with pytest.raises(InputTypeError, match="xarray"):
        rs.plot([1, 2, 3])  # type: ignore[arg-type]
    with pytest.raises(UnknownName, match="one variable"):
        rs.plot(rs.evaluate(["pass_time", "balance_batch"], batch_size=BATCH, context_length="1k", **SCENE))
    draws = xr.DataArray([np.inf, np.nan], dims="sample", name="pass_time")
    with pytest.raises(AxisError, match="pass_time is infinite or undefined for all draws"):
        rs.plot(draws)
    with pytest.raises(InputTypeError, match="matplotlib Axes"):
        rs.plot(cube.isel(model=0), ax=1)  # type: ignore[arg-type]


def test_arithmetic_is_counted_and_its_speed_is_not() -> None:
    served: dict[str, Any] = {"active_parameters": 1e11, "inference_tokens": rs.geomspace(1e12, 1e15, 9)}
    ax = rs.plot(rs.evaluate("inference_flops", decode_inefficiency=3, **served))
    assert ax.get_ylabel() == "inference FLOPs"
    assert {text for text in ticks(ax.yaxis) if text} <= {f"1e{k} FLOP" for k in range(22, 28)}
    ax = rs.plot(rs.evaluate("stage_flops", hardware="H100", weight_format="fp8", chips=range(1, 9)))
    assert ax.get_ylabel() == "stage FLOPS"


@pytest.mark.parametrize(
    ("lifetimes", "tick"),
    [
        (86400 * np.arange(1, 181.0), "50 days"),
        (np.linspace(1, 7200, 50), "1 h"),
        (np.linspace(1, 300, 50), "2 min"),
        (rs.geomspace(1, 86400 * 400, 50), "10 min"),
    ],
)
def test_times_have_ticks_as_people_count_them(lifetimes: Any, tick: str) -> None:
    served = rs.evaluate("lifetime_tokens", model_token_rate=1e6, model_lifetime=lifetimes)
    written = [text for text in ticks(rs.plot(served).xaxis) if text]
    assert tick in written
    assert 3 <= len(written) <= 12
    assert all((4 * float(text.split()[0])).is_integer() for text in written)  # whole numbers, halves, quarters


def test_ticks_have_room_for_their_words() -> None:
    figure, ax = pyplot.subplots(figsize=(3, 2), layout="constrained")
    rs.plot(rs.evaluate("peak_flops_in_format", hardware=["H100", "B200"], compute_format="fp8"), ax=ax)
    figure.canvas.draw()
    boxes = [label.get_window_extent() for label in ax.get_xticklabels() if label.get_text()]
    assert len(boxes) >= 2
    assert all(before.x1 < after.x0 for before, after in itertools.pairwise(boxes))


def hatched(ax: Any) -> list[Any]:
    return [region for region in ax.collections if region.get_hatch() or any(getattr(region, "hatches", ["", ""])[:1])]


def test_what_does_not_fit_is_hatched() -> None:
    across = rs.evaluate(["pass_time", "memory_fits"], batch_size=BATCH, context_length="128k", **SCENE)
    (region,) = hatched(rs.plot(across))
    assert region.get_label() == "does not fit"
    start = region.get_paths()[0].vertices[:, 0].min()
    limit = rs.value("memory_limited_batch", context_length="128k", model=SCENE["model"], hardware=SCENE["hardware"])
    assert limit / 1.3 < start < limit * 1.3
    surface = rs.evaluate(["pass_time", "memory_fits"], batch_size=BATCH, context_length=CONTEXT, **SCENE)
    ax = rs.plot(surface)
    assert "does not fit" in words(ax)
    assert hatched(ax)
    small = rs.evaluate(["pass_time", "memory_fits"], batch_size=[1.0, 2, 3, 4], context_length="8k", **SCENE)
    assert not hatched(rs.plot(small))
    cell = {name: SCENE[name] for name in ("model", "hardware")}
    assert not hatched(rs.plot(rs.evaluate("memory_fits", batch_size=BATCH, context_length="128k", **cell)))
