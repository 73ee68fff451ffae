"""Charts of chapter 5: equal cost, the three buckets, over-training and what moves it."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts
from roofslate.errors import AxisError, RoofslateError, UnknownName, ValueRangeError
from support.lazy import Lazy
from support.pictures import patches, point, points, ticks, words

pyplot = Lazy("matplotlib.pyplot")

LECTURE: dict[str, Any] = {"model": "lecture training"}


def has(ax: Any, label: str) -> bool:
    return any(line.get_label() == label for line in ax.get_lines())


# ---------------------------------------------------------------------------------------------------- C17, equal cost


@pytest.mark.parametrize(("a", "b"), [(1, 1), (3, 12)])
def test_equal_powers_and_exponentials_are_least_where_they_cross(a: float, b: float) -> None:
    ax = charts.equal_cost(rising_coefficient=a, falling_coefficient=b)
    powers, exponentials, _ = ax.child_axes
    x, rising = points(powers, "rising_cost")
    assert rising == pytest.approx(a * x, rel=1e-12)
    assert points(powers, "falling_cost")[1] == pytest.approx(b / x, rel=1e-12)
    u, rising = points(exponentials, "rising_cost")
    assert rising == pytest.approx(a * np.exp(u), rel=1e-12)
    assert points(exponentials, "falling_cost")[1] == pytest.approx(b * np.exp(-u), rel=1e-12)
    for panel in (powers, exponentials):
        x, total = points(panel, "effort_cost")
        parts = points(panel, "rising_cost")[1], points(panel, "falling_cost")[1]
        assert total == pytest.approx(parts[0] + parts[1], rel=1e-12)
        at, least = point(panel, "least")
        crossing, part = point(panel, "crossing")
        assert at == pytest.approx(crossing)
        assert least == pytest.approx(2 * part)
        assert least == pytest.approx(total.min(), rel=1e-3)
        assert x[np.argmin(total)] == pytest.approx(at, abs=0.03)
        assert panel.get_title(loc="left") == "least where they cross"
    assert point(powers, "least") == pytest.approx((math.sqrt(b / a), 2 * math.sqrt(a * b)))
    assert point(exponentials, "least")[0] == pytest.approx(math.log(b / a) / 2)


@pytest.mark.parametrize(("p", "n"), [(0.5, 2), (2, 1), (4, 0.3)])
def test_unequal_powers_are_least_beside_the_crossing(p: float, n: float) -> None:
    panel = charts.equal_cost(rising_exponent=p, falling_exponent=n).child_axes[2]
    x, total = points(panel, "effort_cost")
    assert total == pytest.approx(x**p + x**-n, rel=1e-12)
    at, least = point(panel, "least")
    assert point(panel, "crossing") == pytest.approx((1, 1))
    assert at == pytest.approx((n / p) ** (1 / (p + n)))
    assert abs(at - 1) > 0.2
    assert least == pytest.approx(total.min(), rel=1e-3)
    assert least < 2
    assert at**p / at**-n == pytest.approx(n / p)
    assert f"is {n / p:.3g} ×" in panel.get_title(loc="left")
    # the minimum and the crossing have their lines down to the axis, and both are in sight
    assert points(panel, "least_line") == (pytest.approx([at, at]), pytest.approx([0, least]))
    assert points(panel, "crossing_line") == (pytest.approx([1, 1]), pytest.approx([0, 1]))
    assert x[-1] > 1
    assert panel.get_ylim()[0] == 0
    assert panel.get_ylim()[1] > least


def test_equal_cost_names_its_curves() -> None:
    panels = charts.equal_cost().child_axes
    assert [[text.get_text() for text in panel.texts] for panel in panels] == [
        ["$1/x$", "$\\,x$", "sum"],
        ["$\\,e^{-x}$", "$\\,e^{x}$", "sum"],
        ["$1/x^{2}$", "$\\,x^{0.5}$", "sum"],
    ]
    assert panels[0].get_xlabel() == "effort"
    assert "logarithm" in panels[1].get_xlabel()
    looks = {line.get_linestyle() for line in panels[0].get_lines() if line.get_label().endswith("_cost")}
    assert len(looks) == 2  # dashed and not; the sum is bold


def test_equal_cost_of_an_effort() -> None:
    table = charts.equal_cost.data(effort=[1, 2, 4], rising_coefficient=3)
    assert table.loc["equal", "rising_cost"].tolist() == [3, 6, 12]
    assert table.loc["exponential", "x"].tolist() == pytest.approx(np.log([1, 2, 4]).tolist())
    assert table.loc["unequal", "falling_cost"].tolist() == [1, 0.25, 0.0625]
    with pytest.raises(RoofslateError, match="rising_exponent"):
        charts.equal_cost(rising_exponent=-1)
    with pytest.raises(AxisError, match="rising_coefficient"):
        charts.equal_cost(rising_coefficient=[1, 2])


# ------------------------------------------------------------------------------------------------ C18, three buckets


def test_three_buckets_are_equal() -> None:
    ax = charts.compute_buckets()
    total, done = patches(ax, "flops"), patches(ax, "done")
    assert len(total) == len(done) == 3
    assert [bar.get_height() for bar in total] == pytest.approx([1.2e26] * 3, rel=1e-12)
    assert [bar.get_height() for bar in done] == pytest.approx([1.2e26, 4e25, 4e25], rel=1e-12)
    assert all(bar.get_hatch() for bar in total)
    assert not any(bar.get_hatch() for bar in done)
    assert ticks(ax.xaxis) == [
        "pretraining\n200T tokens",
        "reinforcement learning\n133T tokens",
        "serving\n200T tokens",
    ]
    said = words(ax)
    assert said.count("1.2 × 10²⁶ FLOP") == 3
    for formula in ("6 × 100B × 200T", "3 × 100B × 133T × 3", "2 × 100B × 200T × 3"):
        assert formula in said
    assert said.count("waits for") == 2


def test_buckets_follow_a_model_and_its_tokens() -> None:
    given: dict[str, Any] = {"model": "DeepSeek-V3", "pretraining_tokens": 14.8e12, "inference_tokens": "20T"}
    given["rl_flops_per_parameter"] = 3
    ax = charts.compute_buckets(**given, decode_inefficiency=5)
    case = {**given, "decode_inefficiency": 5}
    expected = [rs.value(name, case) for name in ("pretraining_flops", "rl_flops", "inference_flops")]
    assert [bar.get_height() for bar in patches(ax, "flops")] == pytest.approx(expected, rel=1e-12)
    assert patches(ax, "flops")[2].get_height() > patches(ax, "flops")[0].get_height()
    # the FLOPs done do not depend on the inefficiency
    assert patches(ax, "done")[2].get_height() == pytest.approx(expected[2] / 5)
    assert "36.6B × 14.8T" in words(ax)


def test_buckets_without_a_loss_and_with_given_traffic() -> None:
    ax = charts.compute_buckets(decode_inefficiency=1)
    assert "waits" not in words(ax)
    for bar, done in zip(patches(ax, "flops"), patches(ax, "done"), strict=True):
        assert bar.get_height() == pytest.approx(done.get_height())
    marks = charts.compute_buckets.data(model_lifetime="60 d").attrs["marks"]
    assert marks["inference_tokens"] == pytest.approx(259.2e12)
    measured = charts.compute_buckets.data(training_utilization=0.4, decode_utilization=0.1).attrs["marks"]
    assert measured["decode_inefficiency"] == pytest.approx(4)
    assert measured["inference_flops_share"] == pytest.approx(1 / 3)


def test_buckets_refuse_what_they_cannot_draw() -> None:
    with pytest.raises(ValueRangeError, match="decode_inefficiency"):
        charts.compute_buckets(decode_inefficiency=0.3)
    with pytest.raises(AxisError, match=r"one scenario.*active_parameters"):
        charts.compute_buckets(active_parameters=[1e9, 2e9])
    with pytest.raises(UnknownName, match="rl_tokens"):
        charts.compute_buckets(rl_token=1e12)


# -------------------------------------------------------------------------------------------------- C19, over-training


def test_overtraining_has_the_lectures_marks() -> None:
    ax = charts.overtraining()
    assert ax.get_xscale() == "log"
    assert points(ax, "chinchilla")[0] == pytest.approx([2e12, 2e12])
    marked = {name: point(ax, name)[0] for name in charts.overtraining.data().index}
    assert marked == pytest.approx(
        {"the rumor": 150e12, "the estimate, rounded": 200e12, "the estimate, not rounded": 259.2e12}
    )
    for k, tokens in enumerate(marked.values()):
        assert points(ax, f"span {k}")[0] == pytest.approx([2e12, tokens])
    said = words(ax)
    for text in ("75 ×", "100 ×", "130 ×", "150T", "200T", "259T", "20 tokens a weight, 2T"):
        assert text in said
    assert ticks(ax.yaxis) == list(marked)


def test_overtraining_of_real_models_has_a_start_for_each() -> None:
    names = ["Llama-3.1-405B", "Llama-3.1-8B", "DeepSeek-V3"]
    tokens = [15.6e12, 15e12, 14.8e12]
    ax = charts.overtraining(model=names, pretraining_tokens=tokens)
    assert not has(ax, "chinchilla")
    for k, (name, seen) in enumerate(zip(names, tokens, strict=True)):
        start = 20 * float(rs.models[name]["active_parameters"])
        assert point(ax, f"chinchilla {k}") == pytest.approx((start, k))
        assert point(ax, name) == pytest.approx((seen, k))
    assert "hollow: Chinchilla's 20" in words(ax)
    one = charts.overtraining(
        model="Llama-3.1-405B", pretraining_tokens=["1T", "15.6T"], optimal_tokens_per_parameter=10
    )
    assert points(one, "chinchilla")[0][0] == pytest.approx(
        10 * float(rs.models["Llama-3.1-405B"]["active_parameters"])
    )
    assert point(one, "trained on 1T") == (1e12, 0)
    served = {"inference_tokens": "100T", "decode_inefficiency": 3}
    alone = charts.overtraining.data(model="Qwen3-8B")
    assert alone.index.tolist() == ["Qwen3-8B"]
    assert alone["pretraining_tokens"].tolist() == [36e12]  # published; T4: not what the lecture's traffic makes of it
    balanced = charts.overtraining.data(model="gpt-oss-120b", **served)  # nothing is published
    assert balanced["pretraining_tokens"].tolist() == pytest.approx([rs.value("pretraining_tokens", served)])


def test_overtraining_beside_loss_laws() -> None:
    ax = charts.overtraining(loss_law=["Hoffmann", "Besiroglu"])
    assert point(ax, "loss law, Hoffmann") == pytest.approx((176.6e12, 3), rel=1e-3)
    assert point(ax, "loss law, Besiroglu") == pytest.approx((70.8e12, 4), rel=1e-3)
    best = rs.scaling.optimum("Besiroglu", **LECTURE, inference_tokens=200e12).iloc[0]
    marks = charts.overtraining.data(loss_law="Besiroglu").attrs["marks"]
    assert marks["optimal_lifetime_saving"] == best["optimal_lifetime_saving"]
    busy = charts.overtraining.data(loss_law="Besiroglu", model_token_rate="500 Mtok/s").attrs["marks"]
    assert busy["optimal_pretraining_tokens"] > 3 * best["optimal_pretraining_tokens"]


def test_overtraining_refuses_what_it_cannot_draw() -> None:
    with pytest.raises(AxisError, match="2 values for 3 models"):
        charts.overtraining(model=["Qwen3-8B", "Qwen3-32B", "DeepSeek-V3"], pretraining_tokens=[1e12, 2e12])
    with pytest.raises(AxisError, match=r"Qwen3-8B.*twice"):
        charts.overtraining(model=["Qwen3-8B", "Qwen3-8B"], pretraining_tokens=[1e12, 2e12])
    with pytest.raises(AxisError, match="one model, got 2"):
        charts.overtraining(model=["Qwen3-8B", "Qwen3-32B"], loss_law="Besiroglu")
    with pytest.raises(UnknownName, match="Hoffmann"):
        charts.overtraining(loss_law="Hofmann")
    with pytest.raises(RoofslateError, match="pretraining_tokens"):
        charts.overtraining(pretraining_tokens="15 GB")


# --------------------------------------------------------------------------------------- C34, what moves the hundred


def test_tornado_has_the_table_of_the_open_question() -> None:
    table = charts.overtraining_tornado.data()
    expected = {
        "model_token_rate": (10e6, 500e6, 25.92, 1296),
        "model_lifetime": (30 * 86400, 365 * 86400, 64.8, 788.4),
        "optimal_tokens_per_parameter": (10, 118, 259.2, 21.97),
        "active_parameters": (30e9, 300e9, 432, 43.2),
        "decode_inefficiency": (1, 5, 43.2, 216),
        "deployment_probability": (0.5, 1, 64.8, 129.6),
    }
    assert table.index.tolist() == list(expected)  # the widest first
    for name, numbers in expected.items():
        row = table.loc[name, ["low", "high", "ratio_at_low", "ratio_at_high"]].tolist()
        assert row == pytest.approx(numbers, rel=1e-3), name
    assert table.attrs["marks"]["overtraining_ratio"] == pytest.approx(129.6)


def test_tornado_draws_its_table() -> None:
    ax = charts.overtraining_tornado()
    table = charts.overtraining_tornado.data()
    base = points(ax, "base")[0][0]
    assert base == pytest.approx(129.6)
    assert ax.get_xscale() == "log"
    less, more = patches(ax, "less"), patches(ax, "more")
    assert (len(less), len(more)) == (6, 5)  # a chance of 1 is the base itself
    assert all(bar.get_hatch() for bar in less)
    assert not any(bar.get_hatch() for bar in more)
    for bar in less:
        row = table.iloc[round(bar.get_y() + bar.get_height() / 2)]
        assert bar.get_x() == pytest.approx(min(row["ratio_at_low"], row["ratio_at_high"]))
        assert bar.get_x() + bar.get_width() == pytest.approx(base)
    for bar in more:
        row = table.iloc[round(bar.get_y() + bar.get_height() / 2)]
        assert bar.get_x() == pytest.approx(base)
        assert bar.get_x() + bar.get_width() == pytest.approx(max(row["ratio_at_low"], row["ratio_at_high"]))
    said = [text.get_text() for text in ax.texts]
    for text in (
        "10 Mtok/s\n25.9 ×",
        "500 Mtok/s\n1,296 ×",
        "365 days\n788 ×",
        "300B\n43.2 ×",
        "118\n22 ×",
        "base 130 ×",
    ):
        assert text in said
    assert len(said) == 13


def test_tornado_follows_ranges_and_fixed_inputs() -> None:
    given: dict[str, Any] = {"model": "gpt-oss-120b", "model_token_rate": "2 Mtok/s", "decode_inefficiency": 3}
    given["model_lifetime"] = "1 d", "100 d"
    given["optimal_tokens_per_parameter"] = 10, 118
    table = charts.overtraining_tornado.data(**given)
    assert "active_parameters" not in table.index
    assert "model_token_rate" not in table.index
    assert table.index[0] == "model_lifetime"
    case = {"model": "gpt-oss-120b", "model_token_rate": "2 Mtok/s", "decode_inefficiency": 3}
    for end, days in {"ratio_at_low": "1 d", "ratio_at_high": "100 d"}.items():
        expected = rs.value("overtraining_ratio", case, model_lifetime=days)
        assert table.loc["model_lifetime", end] == pytest.approx(expected, rel=1e-12)
    # a range away from the base has one bar, on its side
    ax = charts.overtraining_tornado(model_lifetime=("1 yr", "2 yr"))
    rows = charts.overtraining_tornado.data(model_lifetime=("1 yr", "2 yr"))
    k = rows.index.get_loc("model_lifetime")
    assert not [bar for bar in patches(ax, "less") if bar.get_label() == f"less {k}"]
    (bar,) = [bar for bar in patches(ax, "more") if round(bar.get_y() + bar.get_height() / 2) == k]
    assert bar.get_x() == pytest.approx(rows.loc["model_lifetime", "ratio_at_low"])
    # served tokens that are given leave the traffic without effect
    served = charts.overtraining_tornado.data(inference_tokens="200T")
    assert not {"model_token_rate", "model_lifetime", "deployment_probability"} & set(served.index)


def test_tornado_refuses_bad_ranges() -> None:
    with pytest.raises(ValueRangeError, match=r"model_lifetime.*low below high"):
        charts.overtraining_tornado(model_lifetime=("100 d", "10 d"))
    with pytest.raises(ValueRangeError, match=r"decode_inefficiency.*two ends"):
        charts.overtraining_tornado(decode_inefficiency=(1, 3, 5))
    with pytest.raises(ValueRangeError, match="decode_inefficiency"):
        charts.overtraining_tornado(decode_inefficiency=(0.3, 3))
    with pytest.raises(UnknownName, match="model_lifetime"):
        charts.overtraining_tornado(model_life=("10 d", "20 d"))
    with pytest.raises(AxisError, match="model_lifetime"):
        charts.overtraining_tornado(model_lifetime=["10 d", "20 d"])
    fixed = dict.fromkeys(charts.overtraining_tornado.data().index, 1)
    with pytest.raises(ValueRangeError, match="no input is left to vary"):
        charts.overtraining_tornado(**fixed)


@pytest.mark.parametrize("name", ["equal_cost", "compute_buckets", "overtraining", "overtraining_tornado"])
def test_small_axes(name: str) -> None:
    figure, grid = pyplot.subplots(2, 2, figsize=(9, 6.5), layout="constrained")
    charts.find(name)(ax=grid[0, 0])
    figure.canvas.draw()
    labels = [ax.texts for ax in (grid[0, 0], *grid[0, 0].child_axes)]
    for texts in labels:
        boxes = [text.get_window_extent() for text in texts]
        for k, box in enumerate(boxes):
            for other in boxes[k + 1 :]:
                width = min(box.x1, other.x1) - max(box.x0, other.x0)
                height = min(box.y1, other.y1) - max(box.y0, other.y0)
                assert width < 2 or height < 3
