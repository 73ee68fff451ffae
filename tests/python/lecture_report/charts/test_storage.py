"""Charts of the second half of chapter 6.

Ways to keep a token, tiers of memory, and the FLOPs of attention.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts
from roofslate.errors import AxisError, InputTypeError, UnknownName, ValueRangeError
from roofslate.presets import catalog as catalogs
from roofslate.presets.library import Library
from support.pictures import point, points

BOARD: dict[str, Any] = {"model": "lecture", "hardware": "B200 (lecture)", "prices": "lecture"}
DEEPSEEK: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "H100", "prices": "H100 InferenceX TCO"}
SWITCHES = {"DDR": 0.047, "flash": 5.55, "disk": 2.85 * 3600}


def labels(ax: Any) -> set[str]:
    return {str(line.get_label()) for line in ax.get_lines()}


def words(ax: Any) -> str:
    return "\n".join(text.get_text() for part in (ax, *ax.child_axes) for text in part.texts)


def bar(ax: Any, gid: str) -> Any:
    (result,) = [patch for patch in ax.patches if patch.get_gid() == gid]
    return result


def bars(ax: Any) -> set[str]:
    return {patch.get_gid() for patch in ax.patches}


def test_they_are_of_chapter_six() -> None:
    selected = [charts.find(f"C{k}") for k in range(23, 28)]
    names = ["attention_flops", "retrieve_or_hold", "drain_times", "device_occupancy", "tier_cost"]
    assert [chart.name for chart in selected] == names
    assert all(chart.chapter == 6 for chart in selected)


# ---------------------------------------------------------------------------------------------- C23, attention flops


def test_attention_is_a_line_that_crosses_the_flat_weights_at_8_d() -> None:
    ax = charts.attention_flops()
    context, weights = points(ax, "flops_per_token")
    attention = points(ax, "attention_flops_per_token")[1]
    assert np.ptp(weights) == 0
    assert weights[0] == 2 * 16 * 8192**2 * 64  # two FLOP for each of 16 d^2 weights in 64 layers
    assert attention[0] == 0
    assert attention[1:] / context[1:] == pytest.approx(4 * 8192 * 64, rel=1e-12)
    at, level = point(ax, "crossing")
    assert at == 65536 == 8 * 8192
    assert level == weights[0]
    assert np.interp(at, context, attention) == pytest.approx(level, rel=1e-12)
    assert points(ax, "drop")[0].tolist() == [at, at]
    assert ax.get_xlim()[0] == 0 < at < ax.get_xlim()[1]
    assert "equal at 65,536 tokens\n= 8 × 8,192" in words(ax)
    assert {"weights", "attention"} <= set(words(ax).split("\n"))
    assert "tokens" in ax.get_xlabel()


def test_the_first_tokens_are_the_boards_picture() -> None:
    (inset,) = charts.attention_flops().child_axes
    assert inset.get_xlim() == (0, 8000)
    flat, slope = inset.get_lines()
    assert np.ptp(flat.get_ydata()) == 0
    share = np.interp(8000, slope.get_xdata(), slope.get_ydata()) / flat.get_ydata()[0]
    assert share == pytest.approx(8000 / 65536, rel=1e-6)
    assert "12%" in [text.get_text() for text in inset.texts]


@pytest.mark.parametrize(
    ("model", "tokens"), [("Llama-3.1-70B", 53.03e3), ("Llama-3.1-405B", 97.8e3), ("DeepSeek-V3", 4311)]
)
def test_attention_in_published_models(model: str, tokens: float) -> None:
    ax = charts.attention_flops(model=model)
    assert point(ax, "crossing")[0] == pytest.approx(tokens, rel=1e-3)
    assert "(8 × " in words(ax)  # what the rule would give
    table = charts.attention_flops.data(model=model)
    assert table["attention_to_weight_flops"].to_numpy() == pytest.approx(
        (table["attention_flops_per_token"] / table["flops_per_token"]).to_numpy(), rel=1e-12
    )


def test_attention_without_a_crossing() -> None:
    beyond = charts.attention_flops(context_length=[0, 1000, 20_000])
    assert not {"crossing", "drop"} & labels(beyond)
    assert not beyond.child_axes
    shape: dict[str, Any] = {"active_parameters": 1e9, "layers": 16, "attention_heads": 16, "head_size": 64}
    none = charts.attention_flops(model=rs.models["lecture"], **shape, global_attention_layers=0, hidden_size=1024)
    assert not {"crossing", "drop"} & labels(none)
    assert not points(none, "attention_flops_per_token")[1].any()


# ------------------------------------------------------------------------------------------- C24, to hold or retrieve


def test_retrieve_or_hold_is_the_table_of_three_ways() -> None:
    ax = charts.retrieve_or_hold()
    retrieve, hold = ax.child_axes
    assert [tick.get_text() for tick in retrieve.get_yticklabels()] == ["recompute", "HBM", "DDR", "flash", "disk"]
    assert [retrieve.get_title(loc="left"), hold.get_title(loc="left")] == ["retrieve, once", "hold for 1 h"]
    # computing needs no holding, HBM no retrieving
    ways = {"DDR", "flash", "disk"}
    assert dots(retrieve) == {f"retrieve_cost {tier}" for tier in {"recompute", *ways}}
    assert dots(hold) == {f"hold_cost {tier}" for tier in {"HBM", *ways}}
    assert words(retrieve).count("nothing") == words(hold).count("nothing") == 1
    drawn = {
        (retrieve, "retrieve_cost recompute"): 0.01235e6,
        (retrieve, "retrieve_cost DDR"): 2.2025e-07 * 1e6,
        (retrieve, "retrieve_cost flash"): 9.4393e-07 * 1e6,
        (hold, "hold_cost HBM"): 0.01736e6,
        (hold, "hold_cost DDR"): 0.0004757e6,
        (hold, "hold_cost flash"): 6.1946e-06 * 1e6,
    }
    for (panel, label), dollars in drawn.items():  # for a trillion tokens
        assert point(panel, label)[0] == pytest.approx(dollars, rel=1e-3)
    assert "$12,300" in words(retrieve)
    assert "held 1 h and read once, flash costs least: $7.14" in words(ax)
    assert "trillion tokens" in retrieve.get_xlabel()
    assert retrieve.get_xlim() == hold.get_xlim()
    assert retrieve.get_xscale() == "log"


def dots(panel: Any) -> set[str]:
    """Labels of the markers of a panel."""
    return {str(marker.get_label()) for marker in panel.get_lines()}


def test_retrieve_or_hold_follows_its_inputs() -> None:
    table = charts.retrieve_or_hold.data(**DEEPSEEK, tiers=["HBM", "LPDDR"], hold_time="5 min")
    assert table.index.tolist() == ["recompute", "HBM", "LPDDR"]
    assert table.loc["recompute", "retrieve_cost"] == rs.value("recompute_cost", DEEPSEEK)
    assert table.loc["HBM", "hold_cost"] == rs.value("hbm_hold_cost", DEEPSEEK, hold_time=300)
    lpddr = rs.storage["LPDDR"].values
    assert table.loc["LPDDR", "hold_cost"] == rs.value("tier_hold_cost", {**DEEPSEEK, **lpddr}, hold_time=300)
    assert table.loc["LPDDR", "retrieve_cost"] == rs.value("tier_retrieve_cost", {**DEEPSEEK, **lpddr})
    ax = charts.retrieve_or_hold(**DEEPSEEK, tiers={"mine": rs.storage["QLC"]}, hold_time="5 min")
    assert dots(ax.child_axes[1]) == {"hold_cost mine"}
    assert ax.child_axes[1].get_title(loc="left") == "hold for 5 min"


# --------------------------------------------------------------------------------------------------- C25, drain times


@pytest.mark.parametrize(
    ("kind", "least", "most", "devices", "claimed"),
    [
        ("HBM", 0.024, 0.024, 1, [0.02]),
        ("DDR", 0.94, 1.67, 2, [1, 10]),
        ("flash", 1.19 * 60, 2.44 * 3600, 4, [60]),
        ("disk", 18.5 * 3600, 23.4 * 3600, 3, [3600]),
    ],
)
def test_drain_times(kind: str, least: float, most: float, devices: int, claimed: list[float]) -> None:
    ax = charts.drain_times()
    assert ax.get_xscale() == "log"
    reach, across = bar(ax, f"reach {kind}"), bar(ax, f"range {kind}")
    assert reach.get_x() == pytest.approx(ax.get_xlim()[0])
    assert reach.get_x() + reach.get_width() == pytest.approx(least, rel=5e-3)
    assert across.get_x() + across.get_width() == pytest.approx(most, rel=5e-3)
    assert points(ax, f"devices {kind}")[0].size == devices
    # a hollow marker next to it has the lecture's value, from the catalog
    at, _ = points(ax, f"claimed {kind}")
    assert at.tolist() == claimed
    (marker,) = [line for line in ax.get_lines() if line.get_label() == f"claimed {kind}"]
    assert marker.get_markerfacecolor() == "white"
    assert sum("lecture:" in text.get_text() for text in ax.texts) == 4


def test_claims_of_the_lecture_have_a_source() -> None:
    claims = [tier for tier in rs.storage.values() if "claimed_drain_time" in tier.attributes]
    assert [tier.name for tier in claims] == ["HBM", "DDR", "NVMe", "HDD"]
    assert {tier.claimed_by for tier in claims} == {"R. Pope, lecture with D. Patel, chapter 6, 2026-04-29"}


def test_drain_times_say_range_and_capacity() -> None:
    ax = charts.drain_times()
    said = words(ax).split("\n")
    assert {"24 ms", "71.4 s to 2.44 h", "18.5 h to 23.4 h", "lecture: 1 s to 10 s", "lecture: 1 h"} <= set(said)
    named = [tick.get_text() for tick in ax.get_yticklabels()]
    assert named == ["HBM\n192 GB", "DDR\n480 GB to 768 GB", "flash\n1 TB to 123 TB", "disk\n18 TB to 24 TB"]
    ax.figure.canvas.draw()
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert {"10 ms", "1 s", "1 min", "1 h", "1 d"} <= set(ticks)


def test_drain_times_of_other_devices() -> None:
    ax = charts.drain_times(tiers={"chip": "HBM", "drives": ["QLC", rs.storage["HDD"]]}, hardware="H100")
    assert point(ax, "devices chip")[0] == pytest.approx(rs.value("hbm_drain_time", hardware="H100"), rel=1e-12)
    assert points(ax, "devices drives")[0].size == 2
    one = charts.drain_times.data(tiers=["LPDDR"])
    assert one["tier_drain_time"].tolist() == [rs.value("tier_drain_time", rs.storage["LPDDR"].values)]
    assert "claimed_LPDDR" not in one.attrs["marks"]


# ----------------------------------------------------------------------------------------------- C26, device occupancy


@pytest.mark.parametrize(("tier", "share"), [("NVMe", 0.1), ("HBM", 0.25), ("HDD", 1)])
def test_at_the_drain_time_both_areas_are_equal(tier: str, share: float) -> None:
    ax = charts.device_occupancy(tier=tier, held_share=share)
    hold, retrieve = bar(ax, "hold"), bar(ax, "retrieve")
    drain = rs.value("tier_drain_time", rs.storage[tier].values)
    assert hold.get_width() == pytest.approx(drain)
    assert hold.get_height() == share
    assert retrieve.get_height() == 1
    assert retrieve.get_width() == pytest.approx(drain * share)
    assert retrieve.get_x() == pytest.approx(hold.get_x() + hold.get_width())
    area = [drawn.get_width() * drawn.get_height() for drawn in (hold, retrieve)]
    assert area[0] == pytest.approx(area[1], rel=1e-12)
    assert len(ax.patches) == 2
    assert retrieve.get_hatch()
    assert not hold.get_hatch()


def test_device_occupancy_of_another_wait() -> None:
    ax = charts.device_occupancy(tier="HBM", held_share=0.2, hold_time="1 s", hardware="H100")
    hold, retrieve = bar(ax, "hold"), bar(ax, "retrieve")
    assert hold.get_width() == 1
    assert retrieve.get_width() == pytest.approx(0.2 * rs.value("hbm_drain_time", hardware="H100"))
    assert "20% of the capacity for 1 s\n= 200 ms of the whole" in words(ax)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["0", "1 s"]


# ------------------------------------------------------------------------------------------------------- C27, tier cost


def test_tier_cost_is_a_lower_envelope_that_switches() -> None:
    ax = charts.tier_cost()
    assert ax.get_xscale() == ax.get_yscale() == "log"
    ways = ["HBM", "DDR", "flash", "disk", "recompute"]
    waits, least = points(ax, "least")
    lines = {option: points(ax, option)[1] for option in ways}
    assert least == pytest.approx(np.min(list(lines.values()), axis=0), rel=1e-12)
    for (before, after), seconds in zip(itertools.pairwise(ways[:4]), SWITCHES.values(), strict=True):
        at, cost = point(ax, f"switch to {after}")
        assert at == pytest.approx(seconds, rel=5e-3)
        k = int(np.argmin(abs(waits / at - 1)))
        assert waits[k] == at
        assert lines[before][k] == pytest.approx(cost, rel=1e-9)
        assert lines[after][k] == pytest.approx(cost, rel=1e-9)
        assert least[k] == pytest.approx(cost, rel=1e-9)
    named = [text.get_text() for text in ax.texts if str(text.get_gid()).startswith("cheapest")]
    assert named == ways[:4]
    assert {"46.9 ms", "5.55 s", "2.85 h"} <= set(words(ax).split("\n"))


def test_recomputing_is_level_and_both_times_of_the_price_list_are_on_flash() -> None:
    ax = charts.tier_cost()
    level = points(ax, "recompute")[1]
    assert np.ptp(level) == 0
    assert level[0] == pytest.approx(0.01235e-6, rel=1e-3)
    waits, least = points(ax, "least")
    flash = points(ax, "flash")[1]
    for name, seconds in (("cache_write_time", 300), ("long_cache_write_time", 3600)):
        assert points(ax, name)[0].tolist() == [seconds, seconds]
        k = int(np.argmin(abs(waits / seconds - 1)))
        assert least[k] == flash[k]
    assert {"5 min", "1 h"} <= set(words(ax).split("\n"))


def test_tier_cost_is_the_engines() -> None:
    inputs = {**DEEPSEEK, "hold_time": [0.01, 10, 5000]}
    table = charts.tier_cost.data(**inputs, tiers=["HBM", "QLC"], free_hbm_reads=False)
    assert table.loc["recompute", "cost"].tolist() == [rs.value("recompute_cost", DEEPSEEK)] * 3
    expected = rs.evaluate("tier_cost", {**inputs, **rs.storage["QLC"].values})
    assert table.loc["QLC", "cost"].tolist() == expected.to_numpy().tolist()
    # HBM is the chip's own, so holding in it costs hbm_hold_cost
    free = charts.tier_cost.data(**inputs, tiers=["HBM", "QLC"])
    hold_costs = rs.evaluate("hbm_hold_cost", inputs).to_numpy()
    assert free.loc["HBM", "cost"].to_numpy() == pytest.approx(hold_costs, rel=1e-12)
    assert (table.loc["HBM", "cost"] > free.loc["HBM", "cost"]).all()


def test_reading_hbm_may_be_paid() -> None:
    marks = charts.tier_cost.data(free_hbm_reads=False).attrs["marks"]
    assert marks["switch_to_DDR"] == pytest.approx(0.0223, rel=5e-3)
    assert marks["switch_to_flash"] == pytest.approx(5.55, rel=5e-3)


def test_tier_cost_takes_the_price_of_the_chip() -> None:
    """At twice the price HBM and recomputing cost double, so DDR takes over in half the time."""
    price = rs.value("chip_price", prices="lecture")
    lecture, dear = (charts.tier_cost.data(**inputs).attrs["marks"] for inputs in ({}, {"chip_price": 2 * price}))
    assert dear["recompute_cost"] == pytest.approx(2 * lecture["recompute_cost"], rel=1e-12)
    assert dear["switch_to_DDR"] < 0.51 * lecture["switch_to_DDR"]


def test_what_is_free_is_never_left_and_has_no_place_on_a_logarithmic_axis() -> None:
    given: dict[str, Any] = {"tiers": ["HBM"], "chip_price": 0}
    assert charts.tier_cost.data(**given).attrs["switches"] == {"HBM": (0, 0)}
    with pytest.raises(ValueRangeError, match="tier_cost has logarithmic axes, and HBM costs nothing"):
        charts.tier_cost(**given)


def test_the_name_of_a_short_stretch_stands_upright() -> None:
    ax = charts.tier_cost(hold_time=rs.geomspace("1 ps", "1e15 s", 50))  # DDR for 2 of 27 decades
    turned = {text.get_text(): text.get_rotation() for text in ax.texts if text.get_gid() not in (None, "under title")}
    assert turned == {"HBM": 0, "DDR": 90, "flash": 0, "disk": 0, "recompute": 0}


def test_recomputing_takes_over_and_tiers_that_never_pay_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    ax = charts.tier_cost(**DEEPSEEK, tiers=["HBM", "QLC", "NVMe"])
    at, cost = point(ax, "switch to recompute")
    assert cost == rs.value("recompute_cost", DEEPSEEK)
    # in the order of the waits, not of the call
    switches = charts.tier_cost.data(**DEEPSEEK, tiers=["HBM", "QLC", "NVMe"]).attrs["switches"]
    assert list(switches) == ["HBM", "NVMe", "QLC", "recompute"]
    times = [t for t, _ in switches.values()]
    assert times == sorted(times)
    assert at == times[-1]
    waits, least = points(ax, "least")
    assert least[waits >= at] == pytest.approx(cost, rel=1e-12)
    # a device that is dearer in both ways is never the cheapest
    monkeypatch.setattr(catalogs, "_library", Library())
    worse = rs.storage.define("worse", base="NVMe", tier_price="$2500/yr")
    dominated = charts.tier_cost.data(tiers={"HBM": "HBM", "flash": "NVMe", "worse": worse})
    assert "worse" not in dominated.attrs["switches"]
    assert math.isfinite(dominated.attrs["marks"]["switch_to_flash"])


def test_one_tier_alone() -> None:
    ax = charts.tier_cost(tiers="HDD", hold_time=[1, 10, 100])
    assert labels(ax) >= {"HDD", "recompute", "least"}
    assert not [label for label in labels(ax) if label.startswith("switch")]


# ------------------------------------------------------------------------------------------------------------- errors


def test_bad_inputs() -> None:
    with pytest.raises(UnknownName, match="storage preset 'HDDs'; did you mean 'HDD'"):
        charts.tier_cost(tiers=["HDDs"])
    with pytest.raises(InputTypeError, match=r"tiers: a tier is the name of a storage preset.*3"):
        charts.drain_times(tiers=[3])
    with pytest.raises(InputTypeError, match="tiers: a tier is the name of a storage preset"):
        charts.retrieve_or_hold(tiers=[rs.hardware["H100"]])
    with pytest.raises(ValueRangeError, match="one at least, got none"):
        charts.retrieve_or_hold(tiers=[])
    with pytest.raises(ValueRangeError, match="one at least, got none"):
        charts.drain_times(tiers={})
    with pytest.raises(AxisError, match=r"hold_time is an axis of the chart tier_cost"):
        charts.tier_cost(hold_time="1 h")
    with pytest.raises(AxisError, match=r"context_length is an axis of the chart attention_flops"):
        charts.attention_flops(context_length="8k")
    with pytest.raises(AxisError, match=r"one scenario, but hold_time is an axis"):
        charts.retrieve_or_hold(hold_time=["5 min", "1 h"])
    with pytest.raises(ValueRangeError, match="held_share"):
        charts.device_occupancy(held_share=0)
    with pytest.raises(ValueRangeError, match="held_share"):
        charts.device_occupancy(held_share=1.5)
    with pytest.raises(UnknownName, match="hold_time"):
        charts.device_occupancy(hold_tim=3)
