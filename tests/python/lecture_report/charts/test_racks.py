"""Charts of chapter 2: boxes and arrows of the drawings, and the numbers in them."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts
from roofslate.errors import AxisError, MissingInput, UnknownName, ValueRangeError
from support.lazy import Lazy
from support.pictures import line, words

pyplot = Lazy("matplotlib.pyplot")

NAMES = ["moe_layer", "rack", "two_racks", "cable_density", "scale_up_domains", "moe_stack"]
ELLIPSIS = "\N{HORIZONTAL ELLIPSIS}"
DEEPSEEK: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "BW64 (lecture)"}


def count(ax: Any) -> Counter[str]:
    """Count boxes, arrows and lines by meaning."""
    return Counter(str(artist.get_gid()) for artist in [*ax.patches, *ax.get_lines()] if artist.get_gid())


def arrows(ax: Any, gid: str) -> list[Any]:
    """Starts and ends of arrows."""
    return [np.array(patch._posA_posB) for patch in ax.patches if patch.get_gid() == gid]


def boxes(ax: Any, gid: str) -> list[Any]:
    return [patch.get_bbox() for patch in ax.patches if patch.get_gid() == gid]


def test_they_are_the_charts_of_chapter_two() -> None:
    assert [charts.find(name).number for name in NAMES] == ["C6", "C7", "C8", "C9", "C10", "C11"]
    assert {charts.find(name).chapter for name in NAMES} == {2}


def below(text: Any) -> bool:
    """Return True for the line between title and picture, which has one size."""
    return bool(text.get_gid() == "under title")


@pytest.mark.parametrize("name", NAMES)
def test_small_axes_take_smaller_letters(name: str) -> None:
    figure, axes = pyplot.subplots(2, 2, figsize=(6.4, 4.0))
    charts.find(name)(axes[0, 0])
    figure.canvas.draw()
    drawn = [text for ax in (axes[0, 0], *axes[0, 0].child_axes) for text in ax.texts if not below(text)]
    full_size = charts.find(name)()
    alone = [text for ax in (full_size, *full_size.child_axes) for text in ax.texts if not below(text)]
    assert max(t.get_fontsize() for t in drawn) < max(t.get_fontsize() for t in alone)


@pytest.mark.parametrize("name", ["moe_layer", "rack", "two_racks", "moe_stack"])
def test_wrong_inputs_are_named(name: str) -> None:
    chart = charts.find(name)
    with pytest.raises(UnknownName, match="hardware"):
        chart(hardwear="H100")
    with pytest.raises(UnknownName, match="H100"):
        chart(hardware="H10")


# ------------------------------------------------------------------------------------------------------ C6, MoE layer


@pytest.mark.parametrize(("experts", "chosen", "chips"), [(8, 3, 4), (12, 5, 6), (4, 1, 2)])
def test_moe_layer_follows_its_parameters(experts: int, chosen: int, chips: int) -> None:
    ax = charts.moe_layer(experts=experts, experts_per_token=chosen, expert_parallel=chips)
    drawn = count(ax)
    assert drawn["chip"] == chips
    assert drawn["active"] == drawn["active up"] == drawn["active down"] == chosen
    assert drawn["active"] + drawn["idle"] == experts
    assert drawn["dispatch"] == drawn["combine"] == chosen  # the exchange on both sides
    assert drawn["router"] == drawn["sum"] == drawn["add"] == 1
    assert drawn["residual"] == 2  # the line past the experts, and its end
    assert f"picks {chosen} of {experts}," in words(ax)
    # each arrow ends at an expert that is used
    used = boxes(ax, "active")
    for (_, end), box in zip(arrows(ax, "dispatch"), used, strict=True):
        assert box.x0 < end[0] < box.x1


def test_moe_layer_without_inputs_is_the_lectures() -> None:
    """Two experts in a box, three of them in use, the same volume on both sides."""
    table = charts.moe_layer.data()
    assert table.groupby("chip").size().tolist() == [2, 2, 2, 2]
    assert table.index[table["active"]].tolist() == [1, 4, 6]  # spread over the row
    ax = charts.moe_layer()
    volumes = [text.get_text() for text in ax.texts if text.get_gid() == "volume"]
    assert volumes == ["all-to-all out:\n3 copies, 21.5 kB", "all-to-all back:\n3 results, the same, 21.5 kB"]
    assert {"up-projection", "nonlinearity", "down-projection", "residual", "router"} <= set(words(ax).split("\n"))


def test_moe_layer_of_deepseek_is_drawn_in_part() -> None:
    ax = charts.moe_layer(**DEEPSEEK)
    drawn = count(ax)
    assert (drawn["chip"], drawn["active"] + drawn["idle"], drawn["dispatch"]) == (5, 20, 3)
    assert ELLIPSIS in words(ax)
    assert "picks 8 of 256 (3 drawn)" in words(ax)
    assert {"chip 0", "chip 63"} <= {text.get_text() for text in ax.texts}
    assert "8 copies, 57.3 kB" in words(ax)
    assert "8 results, 115 kB" in words(ax)
    table = charts.moe_layer.data(**DEEPSEEK)
    assert table.index[-1] == 255
    assert table.loc[252:255, "chip"].tolist() == [63] * 4
    assert table.attrs["marks"]["all_to_all_bytes_per_layer"] == 172_032
    assert table.attrs["marks"]["chips_contacted"] == pytest.approx(7.58, rel=5e-3)


def test_moe_layer_draws_many_experts_of_a_chip_in_part() -> None:
    """32 experts on each of eight chips: the first ones, an ellipsis, the last one."""
    ax = charts.moe_layer(experts=256, experts_per_token=8, expert_parallel=8)
    table = charts.moe_layer.data(experts=256, experts_per_token=8, expert_parallel=8)
    shown = table.index[table["chip"] == 0].tolist()
    assert shown == [*range(len(shown) - 1), 31]
    inner = [box for box in boxes(ax, "idle") + boxes(ax, "active") if box.x1 < boxes(ax, "chip")[0].x1]
    right_to_left = sorted((box.x0 for box in inner), reverse=True)
    (ellipsis, *_) = sorted(text.get_position()[0] for text in ax.texts if text.get_text() == ELLIPSIS)
    assert right_to_left[1] < ellipsis < right_to_left[0]


def test_moe_layer_where_chips_do_not_divide_the_experts() -> None:
    """256 on 72: 40 chips have four, the others three. Ten on four: two have three."""
    table = charts.moe_layer.data(model="DeepSeek-V3", hardware="GB200 NVL72")
    sizes = table.groupby("chip").size()
    assert sizes.to_dict() == {0: 4, 1: 4, 2: 4, 70: 3, 71: 3}
    assert table.index[-1] == 255
    small = charts.moe_layer.data(experts=10, expert_parallel=4)
    assert small.groupby("chip").size().tolist() == [3, 3, 2, 2]
    assert small.index.tolist() == list(range(10))
    ax = charts.moe_layer(experts=2, experts_per_token=1, expert_parallel=4)
    assert (count(ax)["chip"], count(ax)["active"] + count(ax)["idle"]) == (4, 2)


def test_moe_layer_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(ValueRangeError, match=r"experts.*whole number.*2\.5"):
        charts.moe_layer(experts=2.5, experts_per_token=1)
    with pytest.raises(ValueRangeError, match="experts_per_token must not exceed experts"):
        charts.moe_layer(experts_per_token=9)
    with pytest.raises(AxisError, match=r"one scenario.*experts"):
        charts.moe_layer(experts=[8, 16])
    with pytest.raises(MissingInput, match="expert_parallel"):
        charts.moe_layer(model="DeepSeek-V3", hardware="B200 (lecture)")


# ------------------------------------------------------------------------------------------------------------ C7, rack


@pytest.mark.parametrize(("chips", "switches"), [(8, 4), (5, 2), (12, 6), (2, 1)])
def test_rack_has_a_cable_from_each_chip_to_each_switch(chips: int, switches: int) -> None:
    ax = charts.rack(scale_up_domain=chips, cables_per_chip=switches)
    drawn = count(ax)
    assert drawn["chip"] == drawn["card"] == drawn["out"] == chips
    assert drawn["switch"] == switches
    assert drawn["cable"] + drawn["hop"] == chips * switches
    assert drawn["hop"] == 2
    assert drawn["data-center switch"] == 1
    assert f"{chips * switches} cables" in words(ax)
    ends = {tuple(map(tuple, artist.get_xydata())) for artist in ax.get_lines() if artist.get_gid() in ("cable", "hop")}
    assert len(ends) == chips * switches  # no cable twice
    at = {box.x0 + box.width / 2 for box in boxes(ax, "switch")}
    assert {round(end[1][0], 9) for end in ends} == {round(x, 9) for x in at}


def test_rack_shows_two_hops_and_the_slower_network() -> None:
    ax = charts.rack()
    first, second = (artist.get_xydata() for artist in ax.get_lines() if artist.get_gid() == "hop")
    assert first[1][0] == second[1][0]  # over one switch
    assert first[0][1] > first[1][1] > second[1][1] > second[0][1]  # from one side to the other
    assert {"hop 1", "hop 2"} <= {text.get_text() for text in ax.texts}
    assert "8 \N{MULTIPLICATION SIGN} slower" in words(ax)
    colours = {gid: {m.get_color() for m in ax.get_lines() if m.get_gid() == gid} for gid in ("cable", "out")}
    assert not colours["cable"] & colours["out"]
    dashes = [m.is_dashed() for m in ax.get_lines() if m.get_gid() in ("out", "trunk")]
    assert dashes
    assert all(dashes)
    assert charts.rack.data().attrs["marks"]["hops"] == 2


def test_rack_of_blackwell_is_drawn_in_part() -> None:
    inputs: dict[str, Any] = {"hardware": "GB200 NVL72"}
    ax = charts.rack(**inputs)
    assert (count(ax)["chip"], count(ax)["switch"]) == (12, 6)
    assert words(ax).count(ELLIPSIS) == 3
    assert "1,296 cables" in words(ax)
    assert "18 \N{MULTIPLICATION SIGN} slower" in words(ax)
    assert charts.rack.data(**inputs).attrs["marks"]["rack_cables"] == 1296
    with pytest.raises(MissingInput, match="cables_per_chip"):
        charts.rack(hardware="HGX B200")
    with pytest.raises(ValueRangeError, match="scale_up_domain: the drawing needs at least 2"):
        charts.rack(scale_up_domain=1)


# ------------------------------------------------------------------------------------------------------- C8, two racks


@pytest.mark.parametrize(
    ("racks", "copies", "ratio", "direct", "hierarchical"),
    [(2, 8, 8, 4.0, 1.0), (3, 6, 9, 6.0, 2.736625514403292), (2, 4, 8, 4.0, 1.875)],
)
def test_two_racks_follow_their_parameters(
    racks: int, copies: int, ratio: float, direct: float, hierarchical: float
) -> None:
    ax = charts.two_racks(expert_racks=racks, experts_per_token=copies, link_bandwidth_ratio=ratio)
    drawing, bars = ax.child_axes
    drawn = count(drawing)
    assert drawn["rack"] == racks
    assert drawn["chip"] == 4 * racks
    assert drawn["crossing"] == round(rs.value("leaving_copies", expert_racks=racks, experts_per_token=copies))
    assert drawn["crossing"] + drawn["staying"] == copies
    heights = [patch.get_height() for patch in bars.patches if patch.get_gid() == "slowdown"]
    assert heights == pytest.approx([1, direct, hierarchical], rel=1e-9)


def test_two_racks_half_of_the_arrows_cross_the_boundary() -> None:
    ax = charts.two_racks()
    drawing = ax.child_axes[0]
    first, second = boxes(drawing, "rack")
    for gid, box in (("staying", first), ("crossing", second)):
        result = arrows(drawing, gid)
        assert len(result) == 4
        assert all(first.x0 < start[0] < first.x1 for start, _ in result)
        assert all(box.x0 < end[0] < box.x1 for _, end in result)
        assert len({round(end[0], 6) for _, end in result}) == 4  # each to another chip
    assert "900 GB/s a chip" in words(drawing)
    assert "4 of 8\ncopies leave,\n8 \N{MULTIPLICATION SIGN} slower" in words(drawing)
    assert "4 \N{MULTIPLICATION SIGN}" in words(ax.child_axes[1])
    marks = charts.two_racks.data().attrs["marks"]
    assert marks["hierarchical_leaving_copies"] == pytest.approx(0.996, rel=1e-3)


def test_two_racks_of_deepseeks_own_nodes() -> None:
    inputs: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "H800", "expert_parallel": 144, "racks_per_token": 4}
    ax = charts.two_racks(**inputs)
    drawing = ax.child_axes[0]
    assert count(drawing)["rack"] == 3
    assert "rack 17, 8 chips" in words(drawing)
    assert ELLIPSIS in words(drawing)
    assert "7.56 of 8" in words(drawing)
    assert count(drawing)["crossing"] == 2  # one to each other rack that is drawn
    table = charts.two_racks.data(**inputs)
    assert len(table) == 8
    assert table["leaves"].sum() == 7
    assert table.attrs["marks"]["direct_all_to_all_slowdown"] == pytest.approx(3.778, rel=1e-3)
    assert table.attrs["marks"]["hierarchical_all_to_all_slowdown"] == pytest.approx(2)
    with pytest.raises(MissingInput, match="scale_out_bandwidth"):
        charts.two_racks(hardware="TPU v5e", experts_per_token=8, expert_racks=2)


# --------------------------------------------------------------------------------------------------- C9, cable density


@pytest.mark.parametrize("trays", [2, 3])
def test_cable_density_doubles_trays_and_cables(trays: int) -> None:
    drawing = charts.cable_density(trays_per_side=trays).child_axes[0]
    drawn = count(drawing)
    assert (drawn["rack"], drawn["switch"]) == (2, 2)
    assert drawn["tray"] == 2 * trays + 4 * trays
    first, second = boxes(drawing, "rack")
    lines = [artist.get_xydata() for artist in drawing.get_lines() if artist.get_gid() == "cable"]
    assert all(ends[0][0] == ends[1][0] for ends in lines)  # they are vertical
    inside = [sum(box.x0 < ends[0][0] < box.x1 for ends in lines) for box in (first, second)]
    assert inside[1] == 2 * inside[0] == 2 * drawn["cable"] / 3
    assert first.width == pytest.approx(second.width)
    assert first.height == pytest.approx(second.height)


def test_rack_limits_reach_one_at_the_chips_that_each_allows() -> None:
    table = charts.rack_limits.data(scale_up_domain=100, cable_limit=1800)
    marks = table.attrs["marks"]
    assert marks["largest_scale_up_domain"] == min(
        marks[name]
        for name in (
            "cable_limited_domain", "power_limited_domain", "cooling_limited_domain", "weight_limited_domain",
        )
    )  # fmt: skip
    for use, domain in (
        ("cable_density", "cable_limited_domain"),
        ("rack_power_utilization", "power_limited_domain"),
        ("rack_cooling_utilization", "cooling_limited_domain"),
        ("rack_weight_utilization", "weight_limited_domain"),
    ):
        allowed = table.loc[table.index <= marks[domain], use]
        refused = table.loc[table.index >= marks[domain] + 4, use]  # a tray more
        assert allowed.max() <= 1
        assert refused.min() > 1
    ax = charts.rack_limits(scale_up_domain=100, cable_limit=1800)
    assert line(ax, "largest_scale_up_domain").get_xydata().tolist() == [[marks["largest_scale_up_domain"], 1]]
    assert line(ax, "rack").get_xdata()[0] == 100


def test_rack_limits_leave_out_what_has_no_limit() -> None:
    ax = charts.rack_limits(hardware="GB300 NVL72")
    drawn = {x.get_label() for x in ax.get_lines()}
    assert "rack_weight_utilization" not in drawn
    assert {"cable_density", "rack_power_utilization", "rack_cooling_utilization"} <= drawn
    assert "power binds" in words(ax)
    cold = charts.rack_limits(hardware="GB300 NVL72", air_cooling=0)
    assert "cooling binds at once" in words(cold)


def test_cable_density_is_linear_up_to_the_limit() -> None:
    ax = charts.cable_density().child_axes[1]
    x, y = (np.asarray(v) for v in line(ax, "rack_cables").get_data())
    assert y == pytest.approx(18 * x)
    assert line(ax, "cable_limit").get_ydata()[0] == 1296
    assert line(ax, "rack").get_xydata().tolist() == [[72, 1296]]
    assert line(ax, "doubled_rack").get_xydata().tolist() == [[144, 2592]]
    (shaded,) = [patch for patch in ax.patches if patch.get_gid() == "no room"]
    assert shaded.get_x() == 72
    assert "2 \N{MULTIPLICATION SIGN} the room" in words(ax)
    marks = charts.cable_density.data().attrs["marks"]
    assert marks["doubled_cable_density"] == 2
    assert marks["largest_scale_up_domain"] == 72


def test_cable_density_knows_other_limits_and_none() -> None:
    ax = charts.cable_density(cooling_limited_domain=60, power_limited_domain=100).child_axes[1]
    assert line(ax, "cooling_limited_domain").get_xdata()[0] == 60
    assert line(ax, "power_limited_domain").get_xdata()[0] == 100
    (shaded,) = [patch for patch in ax.patches if patch.get_gid() == "no room"]
    assert shaded.get_x() == 60
    roomy = charts.cable_density(hardware="HGX H100", cables_per_chip=18, cable_limit=math.inf).child_axes[1]
    assert not [patch for patch in roomy.patches if patch.get_gid() == "no room"]
    assert "room" not in words(roomy)
    assert line(roomy, "rack").get_xydata()[0][0] == 8
    many = charts.cable_density(trays_per_side=50).child_axes[0]
    assert count(many)["tray"] == 32
    assert "100 trays a side" in words(many)
    with pytest.raises(ValueRangeError, match=r"trays_per_side.*whole number"):
        charts.cable_density(trays_per_side=2.5)
    with pytest.raises(ValueRangeError, match=r"trays_per_side.*at least 1"):
        charts.cable_density(trays_per_side=0)


# ---------------------------------------------------------------------------------------------- C10, scale-up domains


def test_scale_up_domains_compares_the_vendors() -> None:
    table = charts.scale_up_domains.data()
    assert table.loc[["HGX H100", "GB200 NVL72", "Rubin Ultra NVL576"], "scale_up_domain"].tolist() == [8, 72, 144]
    assert table["network"].unique().tolist() == ["NVLink, NVSwitch", "Infinity Fabric", "NeuronLink", "ICI, a torus"]
    assert table.loc["GB200 NVL72", "scale_up_domain_growth"] == 9
    assert table.loc["Rubin Ultra NVL576", "scale_up_dies"] == 576
    assert table.loc["Rubin Ultra NVL576", "scale_up_die_growth"] == 4
    assert table.loc["Rubin Ultra NVL576", "scale_up_domain_growth"] == 2
    assert table.loc["HGX H100", "domain_capacity"] == pytest.approx(640e9)
    assert table.loc["GB200 NVL72", "link_bandwidth_ratio"] == pytest.approx(18)
    assert math.isnan(table.loc["MI300X", "scale_up_domain_growth"])  # the vendor's first system
    assert table.loc["Rubin Ultra NVL576", "scale_up_bandwidth"] == 5.2e12
    assert table.loc["Rubin Ultra NVL576", "domain_capacity"] == pytest.approx(144 * 1024e9)


def test_scale_up_domains_draws_chips_and_dies() -> None:
    table = charts.scale_up_domains.data()
    plot, links, memory = charts.scale_up_domains().child_axes
    assert line(plot, "scale_up_domain").get_xdata().tolist() == table["scale_up_domain"].tolist()
    assert line(plot, "scale_up_dies").get_xdata().tolist() == [144, 144, 576]
    assert {panel.get_xscale() for panel in (plot, links, memory)} == {"log"}
    rows = [tick.get_text().split("\n") for tick in plot.get_yticklabels()]
    assert [row[0] for row in rows] == table.index.tolist()
    assert [row[1] for row in rows] == table["network"].tolist()
    assert line(links, "scale_up_bandwidth").get_xdata().tolist() == table["scale_up_bandwidth"].tolist()
    assert line(links, "scale_out_bandwidth").get_xdata().tolist() == table["scale_out_bandwidth"].tolist()
    assert line(memory, "domain_capacity").get_xdata().tolist() == table["domain_capacity"].tolist()
    blackwell = [[t.get_text() for t in p.texts if t.get_gid() == "cell 1"] for p in (plot, links, memory)]
    times = "\N{MULTIPLICATION SIGN}"
    assert blackwell == [[f"144 dies, 18 {times}"], [f"18 {times}"], ["13.4 TB"]]
    assert f"72 chips, 9 {times}" in words(plot)


def test_scale_up_domains_of_other_systems() -> None:
    table = charts.scale_up_domains.data(hardware=["H100", "MI300X"], hbm_capacity="1 TB")
    assert table["domain_capacity"].tolist() == [8e12, 8e12]
    one = charts.scale_up_domains.data(scale_up_domain=500, earlier_scale_up_domain=72)
    assert one["scale_up_domain_growth"].tolist() == pytest.approx([6.944], rel=1e-3)
    assert len(charts.scale_up_domains(hardware="GB300 NVL72").child_axes[0].get_yticklabels()) == 1
    with pytest.raises(AxisError, match="hardware: expected at least one"):
        charts.scale_up_domains(hardware=[])
    with pytest.raises(UnknownName, match="H100"):
        charts.scale_up_domains(hardware=["H10"])


# ------------------------------------------------------------------------------------------------------ C11, MoE stack


@pytest.mark.parametrize(
    ("chosen", "layers", "racks", "ratio"), [(8, 2, 2, 4.0), (3, 3, 3, 2.25), (1, 1, 1, 0.25), (2, 2, 2, 1.0)]
)
def test_moe_stack_follows_its_parameters(chosen: int, layers: int, racks: int, ratio: float) -> None:
    ax = charts.moe_stack(experts_per_token=chosen, layers_per_stage=layers, pipeline_stages=racks)
    drawn = count(ax)
    assert drawn["rack"] == racks
    assert drawn["out"] == drawn["back"] == drawn["expert"] == chosen * layers * racks
    assert drawn["residual"] == racks - 1  # one arrow from rack to rack
    assert drawn["node"] == (layers + 1) * racks
    (formula,) = [text.get_text() for text in ax.texts if text.get_gid() == "formula"]
    assert formula.endswith(rf"\dfrac{{1}}{{8}} \cdot {chosen} \cdot {layers} \cdot 2 = {ratio:g}$")
    frames = boxes(ax, "rack")
    for k, (start, end) in enumerate(arrows(ax, "residual")):
        assert frames[k].x0 < start[0] < frames[k].x1
        assert frames[k + 1].x0 < end[0] < frames[k + 1].x1
    for gid in ("out", "back"):
        assert all(any(f.x0 < s[0] and e[0] < f.x1 for f in frames) for s, e in arrows(ax, gid))  # inside of a rack


def test_moe_stack_draws_large_numbers_in_part() -> None:
    inputs: dict[str, Any] = {**DEEPSEEK, "pipeline_stages": 4, "all_to_all_hop_ratio": 2}
    ax = charts.moe_stack(**inputs)
    drawn = count(ax)
    assert (drawn["rack"], drawn["residual"]) == (3, 3)  # two full arrows, and those around the ellipsis
    assert drawn["expert"] == 3 * 3 * 8
    assert "layer 15" in words(ax)
    assert "= 30.5$" in words(ax)
    wide = charts.moe_stack(experts_per_token=32, layers_per_stage=1)
    assert count(wide)["expert"] == 2 * 8
    assert "\N{VERTICAL ELLIPSIS}" in words(wide)
    assert "32 out and 32 back" in words(wide)


def test_moe_stack_data_is_the_ratio_over_layers() -> None:
    table = charts.moe_stack.data()
    assert table.loc[2, "pipeline_traffic_ratio"] == 4
    assert np.diff(table["pipeline_traffic_ratio"]) == pytest.approx(2)
    assert table.attrs["marks"]["pipeline_traffic_threshold"] == 4
    bytes_told = charts.moe_stack.data(**DEEPSEEK, pipeline_stages=2, activation_bytes_per_element=2)
    assert bytes_told.attrs["marks"]["pipeline_traffic_threshold"] == pytest.approx(5.333, rel=1e-3)
    with pytest.raises(ValueRangeError, match=r"pipeline_stages.*whole number"):
        charts.moe_stack(pipeline_stages=1.5)
