"""Charts of chapter 6 on contexts and prices.

Cost against context, chat sessions, pass lengths, and price lists.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts
from roofslate.display import style
from roofslate.errors import AxisError, InputTypeError, RoofslateError, UnknownName, ValueRangeError
from support.lazy import Lazy
from support.pictures import line, patches, point, points, ticks, words

pyplot = Lazy("matplotlib.pyplot")

DEEPSEEK: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72"}
MARKUP: dict[str, Any] = {"price_margin": 0.25, "long_context_premium": 1.54}


def labels(ax: Any) -> set[str]:
    return {str(artist.get_label()) for artist in ax.get_lines()}


# ------------------------------------------------------------------------------------------------ C20, cost vs context


def test_cost_vs_context_has_the_proportions_of_the_lectures_figure() -> None:
    ax = charts.cost_vs_context()
    context, compute = points(ax, "compute_cost")
    floor = compute[0]
    assert np.ptp(compute) == pytest.approx(0, abs=1e-12 * floor)  # flat
    memory = points(ax, "memory_cost")[1]
    assert memory[0] / floor == pytest.approx(0.5)
    assert np.diff(memory) / np.diff(context) == pytest.approx((memory[-1] - memory[0]) / context[-1])
    assert point(ax, "intercept") == pytest.approx((0, memory[0]))
    across, price = points(ax, "price")
    assert price[:2] / floor == pytest.approx(1.25)
    assert price[2:] / price[0] == pytest.approx(1.54)
    at, height = point(ax, "crossover")
    assert at == pytest.approx(200e3)
    assert height == pytest.approx(floor)
    assert across.tolist() == pytest.approx([0, at, at, context[-1]])  # the step is at the crossover
    end, level = point(ax, "break_even")
    assert end / at == pytest.approx(2.85)
    assert end == pytest.approx(570e3)
    assert level == pytest.approx(price[-1])
    assert end < context[-1]  # the crossing is in the picture
    assert np.interp(end, context, memory) == pytest.approx(price[-1])


def test_cost_vs_context_has_a_bold_envelope_and_a_dashed_drop() -> None:
    ax = charts.cost_vs_context()
    bold = points(ax, "cost_per_token")[1]
    compute, memory = points(ax, "compute_cost")[1], points(ax, "memory_cost")[1]
    assert bold == pytest.approx(np.maximum(compute, memory), rel=1e-12)
    thick, thin = (line(ax, name) for name in ("cost_per_token", "memory_cost"))
    assert thick.get_linewidth() > 2 * thin.get_linewidth()
    assert thick.get_zorder() > thin.get_zorder()  # grey below the crossover, bold above it
    assert thin.get_color() == style.MEMORY["color"]
    drop = line(ax, "drop")
    assert drop.is_dashed()
    assert drop.get_xdata() == pytest.approx([200e3, 200e3])
    assert drop.get_ydata() == pytest.approx([0, compute[0]])
    assert line(ax, "price").is_dashed()
    assert "crossover 200k" in words(ax)
    assert "at a loss beyond 570k,\n2.85 × the crossover" in words(ax)
    assert "1.25 ×" in words(ax)
    assert "1.54 × the first tier" in words(ax)
    assert "0.5 × compute" in words(ax)
    assert ax.get_xlim()[0] == ax.get_ylim()[0] == 0
    assert "200k" in ticks(ax.xaxis)
    assert "$0.02/Mtok" in ticks(ax.yaxis)
    (loss,) = [collection for collection in ax.collections if collection.get_label() == "loss"]
    assert loss.get_paths()[0].vertices[:, 0].min() == pytest.approx(570e3)


def test_cost_vs_context_is_the_engines_and_told_by_its_marks() -> None:
    table = charts.cost_vs_context.data()
    marks = table.attrs["marks"]
    assert marks["kv_bytes_per_token"] == pytest.approx(1666.67 / 2, rel=1e-5)  # at twice the balance batch
    assert marks["batch_size"] == pytest.approx(4800)
    base: dict[str, Any] = {"active_parameters": 100e9, "total_parameters": 800e9, "balance_tokens": 300}
    q = rs.value("kv_bytes_from_kink", base, long_context_threshold="200k", batch_size=4800, bytes_per_weight=1)
    assert marks["kv_bytes_per_token"] == pytest.approx(q)
    end = rs.value(
        "break_even_context",
        balance_context="400k",
        long_context_premium=1.54,
        price_margin=0.25,
        weight_fetch_ratio=0.5,
    )
    assert marks["break_even"] == pytest.approx(end, rel=1e-9)
    assert (table["price"] / marks["compute_cost"]).unique() == pytest.approx([1.25, 1.25 * 1.54])


def test_cost_vs_context_of_a_published_model() -> None:
    ax = charts.cost_vs_context(**DEEPSEEK, chip_price="$3/h", **MARKUP)
    requested: dict[str, Any] = {
        **DEEPSEEK,
        "chip_price": "$3/h",
        "batch_size": 2 * rs.value("balance_batch", DEEPSEEK),
    }
    kink = rs.value("kink_context", requested)
    assert point(ax, "crossover")[0] == pytest.approx(kink, rel=1e-9)
    context, cost = points(ax, "cost_per_token")
    expected = rs.evaluate("cost_per_token", requested, context_length=context)
    assert cost == pytest.approx(expected.to_numpy(), rel=1e-12)
    assert points(ax, "price")[0][1] == pytest.approx(kink)


def test_the_step_of_the_price_need_not_stand_at_the_crossover() -> None:
    listed = rs.api_prices["GPT-5.5"].values
    ax = charts.cost_vs_context(**listed)
    assert points(ax, "price")[0][1] == 272e3
    assert point(ax, "crossover")[0] == pytest.approx(200e3)
    _, price = points(ax, "price")
    assert price[-1] / price[0] == pytest.approx(1.5)
    rack: dict[str, Any] = {"model": "lecture", "peak_flops": "4.8 PFLOP/s", "hbm_bandwidth": "8 TB/s", "chips": 72}
    rack["prices"] = "lecture"
    rack |= {"batch_size": 1e15, "long_context_premium": 1.5}
    lecture = charts.cost_vs_context.data(**rack, long_context_threshold="200k", price_margin=0)
    marks = lecture.attrs["marks"]
    assert marks["break_even"] == pytest.approx(300e3, rel=1e-3)
    assert marks["crossover_context"] == pytest.approx(200e3, rel=1e-3)
    margin = charts.cost_vs_context.data(**rack, price_margin=0.25)
    assert margin.attrs["marks"]["break_even"] == pytest.approx(375e3, rel=1e-3)


def test_cost_vs_context_without_a_crossover() -> None:
    memory_bound = charts.cost_vs_context(**DEEPSEEK, batch_size=300, chip_price="$2/h", **MARKUP)
    assert not {"crossover", "drop", "break_even"} & labels(memory_bound)
    assert np.ptp(points(memory_bound, "price")[1]) == 0  # one tier: nothing says where a second begins
    marks = charts.cost_vs_context.data(**DEEPSEEK, batch_size=300, chip_price="$2/h", **MARKUP).attrs["marks"]
    assert marks["crossover_context"] == marks["break_even"] == 0
    free = charts.cost_vs_context.data(kv_bytes_per_token=0).attrs["marks"]
    assert free["crossover_context"] == free["break_even"] == math.inf
    assert not {"crossover", "break_even"} & labels(charts.cost_vs_context(kv_bytes_per_token=0))
    near = charts.cost_vs_context(context_length=[0, 50e3, 100e3])  # crossings outside of the axis
    assert not {"crossover", "drop", "break_even"} & labels(near)
    assert points(near, "price")[0].tolist() == [0, 100e3]


def test_cost_vs_context_follows_the_overlap() -> None:
    serial = charts.cost_vs_context(overlap="none")
    bold, compute, memory = (points(serial, name)[1] for name in ("cost_per_token", "compute_cost", "memory_cost"))
    assert bold == pytest.approx(compute + memory, rel=1e-12)
    marks = charts.cost_vs_context.data(overlap="serial_kv", price_margin=2).attrs["marks"]
    assert marks["break_even"] / 400e3 == pytest.approx(3 * 1.54 - 1, rel=1e-6)


# --------------------------------------------------------------------------------------------------- C21, chat session


def widths(boxes: list[Any]) -> list[float]:
    return [float(box.get_width()) for box in boxes]


@pytest.mark.parametrize(
    ("turns", "prompts", "answers"), [(2, [5, 3], [4, 2]), (4, [7], [1, 3]), (1, [2], [3]), (5, [6, 1, 9], [5])]
)
def test_chat_session_counts_boxes_and_arrows(turns: int, prompts: list[int], answers: list[int]) -> None:
    ax = charts.chat_session(turns=turns, prompt_length=prompts, output_tokens=answers)
    requested = [prompts[k % len(prompts)] for k in range(turns)]
    given = [answers[k % len(answers)] for k in range(turns)]
    assert widths(patches(ax, "prefill")) == pytest.approx(requested)  # a chunk is one box: one pass
    assert widths(patches(ax, "decode")) == pytest.approx([1] * sum(given))  # a box a pass
    assert widths(patches(ax, "strip prefill")) == pytest.approx(requested)
    assert widths(patches(ax, "strip decode")) == pytest.approx(given)
    assert len(patches(ax, "strip")) == 1
    # every segment but the first has a shaded prefix, from the beginning to where it starts, and an arrow over it
    tokens = [x for pair in zip(requested, given, strict=True) for x in pair]
    starts = list(itertools.accumulate(tokens))[:-1]
    prefixes = patches(ax, "prefix")
    assert [box.get_x() for box in prefixes] == [0] * (2 * turns - 1)
    assert widths(prefixes) == pytest.approx(starts)
    assert all(box.get_hatch() for box in prefixes)
    ends = [[x for x, _ in arrow._posA_posB] for arrow in patches(ax, "read")]
    assert ends == [[start, 0] for start in starts]
    assert "\N{HORIZONTAL ELLIPSIS}" not in words(ax)
    passes = [text.get_text() for text in ax.texts if text.get_gid() == "passes"]
    assert passes == [str(x) for pair in zip([1] * turns, given, strict=True) for x in pair]


def test_chat_session_of_the_lecture() -> None:
    ax = charts.chat_session()
    table = charts.chat_session.data()
    assert table["kind"].tolist() == ["prefill", "decode"] * 3
    assert [tick.get_text() for tick in ax.get_yticklabels()][:4] == [
        "session",
        "prompt, 3,000",
        "answer, 1,200",
        "tool result, 2,000",
    ]
    for start, read in zip(table["start"], table["prefix_bytes"], strict=True):
        assert read == rs.value("prefix_bytes", model="lecture", prefix_length=start)
    cache_texts = [text.get_text() for text in ax.texts if text.get_gid() == "cache"]
    assert cache_texts[:3] == ["0 B", "5 to 7 MB", "7 MB"]
    assert len(patches(ax, "decode")) == 3 * 4  # 1,200 passes are drawn in part, which dots say
    assert len([text for text in ax.texts if text.get_gid() == "hidden passes"]) == 3
    before = charts.chat_session.data(prompt_length=["100k", 10], turns=2, model="lecture")
    assert before["prefix_bytes"].iloc[1] == pytest.approx(166.7e6)


def test_chat_session_abbreviates_long_sessions() -> None:
    ax = charts.chat_session(turns=1000, model="DeepSeek-V3", output_tokens="2k")
    assert len(patches(ax, "prefill")) == 4
    assert len(patches(ax, "read")) == 7
    assert "996 more turns" in words(ax)
    assert len(charts.chat_session.data(turns=1000)) == 2000
    assert "1 more turn" not in words(charts.chat_session(turns=5))


def test_chat_session_names_what_is_wrong() -> None:
    with pytest.raises(InputTypeError, match="turns"):
        charts.chat_session(turns=2.5)
    with pytest.raises(ValueRangeError, match=r"turns.*got 0"):
        charts.chat_session(turns=0)
    with pytest.raises(ValueRangeError, match=r"prompt_length.*whole number.*0\.5"):
        charts.chat_session(prompt_length=[10, 0.5])
    with pytest.raises(ValueRangeError, match=r"output_tokens.*empty list"):
        charts.chat_session(output_tokens=[])
    with pytest.raises(RoofslateError, match="prompt_length"):
        charts.chat_session(prompt_length="3 s")
    with pytest.raises(AxisError, match="context_length grows along the session"):
        charts.chat_session(context_length=10)
    with pytest.raises(InputTypeError, match="prompt_names"):
        charts.chat_session(prompt_names="prompt")


# -------------------------------------------------------------------------------------------- C22, cost vs pass length


def test_cost_vs_pass_length_falls_from_five_to_one() -> None:
    ax = charts.cost_vs_pass_length()
    length, compute = points(ax, "compute")
    assert compute.tolist() == [1.0] * len(length)
    memory = points(ax, "memory_compute_ratio")[1]
    assert length[0] == 1
    assert memory * length == pytest.approx(5)  # a hyperbola from 5
    bold = points(ax, "compute_floor_ratio")[1]
    assert bold == pytest.approx(np.maximum(memory, 1))
    assert line(ax, "compute_floor_ratio").get_linewidth() > 3
    assert point(ax, "decode") == (1, 5)
    assert point(ax, "crossing") == pytest.approx((5, 1))
    assert length[-1] > 10  # it still crosses, well inside of the picture
    assert ticks(ax.yaxis) == ["1 ×", "5 ×"]
    assert {"1", "5", "10"} <= set(ticks(ax.xaxis))
    (gap,) = [text for text in ax.texts if text.get_gid() == "gap"]
    assert (gap.xy, gap.xyann) == ((1, 5), (1, 1))
    assert "compute-bound above 5 tokens" in words(ax)
    assert "at a batch of 480" in words(ax)


@pytest.mark.parametrize(
    ("listed", "ratio", "batch"), [("Gemini 3.1 Pro", 6, 400), ("DeepSeek-V4 Pro until 2026-05-24", 2, 1200)]
)
def test_cost_vs_pass_length_reads_price_lists(listed: str, ratio: float, batch: float) -> None:
    ax = charts.cost_vs_pass_length(**rs.api_prices[listed].values)
    assert point(ax, "decode")[1] == pytest.approx(ratio)
    assert point(ax, "crossing")[0] == pytest.approx(ratio)
    marks = charts.cost_vs_pass_length.data(**rs.api_prices[listed].values).attrs["marks"]
    assert marks["batch_size"] == pytest.approx(batch)


def test_cost_vs_pass_length_of_a_published_model() -> None:
    requested: dict[str, Any] = {**DEEPSEEK, "batch_size": 2048, "context_length": "5k"}
    ax = charts.cost_vs_pass_length(**requested, pass_length=[1, 2, 4, 8])
    cost = points(ax, "compute_floor_ratio")[1]
    passes = rs.evaluate(["pass_time", "compute_time"], requested, pass_length=[1, 2, 4, 8])
    assert cost == pytest.approx((passes["pass_time"] / passes["compute_time"]).to_numpy(), rel=1e-12)
    context = charts.cost_vs_pass_length.data(context_length="100k")
    assert context.attrs["marks"]["decode_cost"] == pytest.approx(5)  # the KV cache costs a part of it
    assert context["memory_compute_ratio"].to_numpy() * context.index.to_numpy() == pytest.approx(5)


def test_cost_vs_pass_length_where_nothing_crosses() -> None:
    ax = charts.cost_vs_pass_length(batch_size=10_000)
    assert "crossing" not in labels(ax)
    assert not [text for text in ax.texts if text.get_gid() == "gap"]
    assert point(ax, "decode") == (1, 1)
    near = charts.cost_vs_pass_length(pass_length=[1, 2, 3])
    assert "crossing" not in labels(near)
    long = charts.cost_vs_pass_length.data(**DEEPSEEK, context_length="64k", output_input_ratio=5).attrs["marks"]
    assert "batch_size" not in long  # no batch explains the prices: the KV cache by itself costs more
    assert long["decode_cost"] == pytest.approx(64e3 / rs.value("balance_context", DEEPSEEK))


# ------------------------------------------------------------------------------------------------------ C35, price map


def row_names(ax: Any) -> list[str]:
    return [tick.get_text() for tick in ax.child_axes[0].get_yticklabels()]


def test_price_map_reads_the_lists() -> None:
    table = charts.price_map.data()
    lists = table.loc["prices"]
    lecture, gemini = lists.loc["lecture"], lists.loc["Gemini 3.1 Pro"]
    assert lecture["kv_bytes_from_kink"] == pytest.approx(1667, rel=5e-3)
    assert lecture["middle_decode_cost_ratio"] == pytest.approx(5)
    assert math.isnan(lecture["middle_hold_price"])
    assert gemini["middle_decode_cost_ratio"] == pytest.approx(6)
    hour = 1e6 * 3600
    assert gemini["middle_hold_price"] * hour == pytest.approx(4.5)
    claude = lists.loc["Claude Opus 5"]
    assert claude["middle_hold_price"] * hour == pytest.approx(4.09, rel=1e-3)
    assert math.isnan(claude["kv_bytes_from_kink"])  # it has no second tier
    assert claude["verdict"] == "not determined"
    # kept in HBM and marked up like a prompt: 393 kB of HBM's rent, divided by price per cost of a prompt, 216
    assert claude["middle_kept_kv_bytes"] == pytest.approx(393e3 / 216, rel=2e-3)
    for name, row in lists.iterrows():
        result = rs.infer(name)
        assert row["verdict"] == result["kv_bytes_per_token"].verdict
        assert row["least_kv_bytes"] == pytest.approx(result["kv_bytes_per_token"].low, nan_ok=True)
        assert row["most_decode_cost_ratio"] == result["decode_cost_ratio"].high
    assert table.loc[("published", "DeepSeek-V3"), "kv_bytes_per_token"] == 70_272
    assert table.loc[("published", "Llama-3.1-70B"), "kv_bytes_per_token"] == 327_680
    assert table.loc[("supposed", "one KV cache, 8 heads"), "kv_bytes_per_token"] == 2048


def test_price_map_shows_every_list_once() -> None:
    table = charts.price_map.data()
    lists = table.loc["prices"]
    assert len(lists) + lists["alike"].sum() == 30
    assert lists.loc["Claude Opus 5", "alike"] == 2
    rounded = lists.drop(columns="alike").round(12)
    assert not rounded.duplicated().any()
    names = row_names(charts.price_map())
    assert "Claude Opus 5 +2 alike" in names
    assert "Claude Opus 4.6 to 2026-03" in names
    named = charts.price_map.data(lists=["Claude Opus 4.5", "Claude Opus 4.6"])
    assert named.loc["prices"].index.tolist() == ["Claude Opus 4.5", "Claude Opus 4.6"]


def stretches(ax: Any, label: str) -> np.ndarray:
    (drawn,) = [collection for collection in ax.collections if collection.get_label() == label]
    return np.array([segment[:, 0] for segment in drawn.get_segments() if np.ndim(segment) == 2])


def test_price_map_draws_its_data() -> None:
    ax = charts.price_map()
    table = charts.price_map.data()
    lists = table.loc["prices"]
    kv_size, ratio, hold = ax.child_axes
    assert points(kv_size, "kv_bytes_from_kink")[0] == pytest.approx(
        lists["kv_bytes_from_kink"].to_numpy(), nan_ok=True
    )
    for name in ("step_kv_bytes", "kept_kv_bytes"):
        ends = lists[[f"least_{name}", f"most_{name}"]].dropna().to_numpy()
        assert len(ends) > 5
        assert stretches(kv_size, name) == pytest.approx(ends)
    middles = lists["middle_decode_cost_ratio"].to_numpy()
    assert points(ratio, "decode_cost_ratio")[0] == pytest.approx(middles)
    hold_prices = lists["middle_hold_price"].to_numpy()
    assert points(hold, "hold_price")[0] == pytest.approx(hold_prices, nan_ok=True)
    published = table.loc["published", "kv_bytes_per_token"].to_numpy()
    assert points(kv_size, "kv_bytes_per_token")[0] == pytest.approx(published)
    assert point(kv_size, "supposed")[0] == 2048
    (band,) = [patch for patch in kv_size.patches if patch.get_label() == "published"]
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((published.min(), published.max()))
    assert kv_size.get_xscale() == "log"
    assert {"1.1 kB to 3 kB", "70.3 kB", "2.05 kB"} <= set(words(kv_size).splitlines())
    assert "5 ×" in words(ratio)
    assert "$4.09" in words(hold)
    assert "$20" in ticks(hold.xaxis)


def test_price_map_follows_chips_and_models() -> None:
    requested: dict[str, Any] = {"lists": "Gemini 3.1 Pro", "architectures": "Kimi-K2"}
    at = ("prices", "Gemini 3.1 Pro")
    row = charts.price_map.data(hardware="H100", **requested).loc[at]
    assert row["kv_bytes_from_kink"] == pytest.approx(1693, rel=1e-3)
    base = charts.price_map.data(**requested).loc[at]
    small = charts.price_map.data(active_parameters=10e9, **requested).loc[at]
    for name in ("kv_bytes_from_kink", "middle_step_kv_bytes", "middle_kept_kv_bytes"):
        assert small[name] == pytest.approx(base[name] / 10, rel=1e-9)
    board: dict[str, Any] = {"peak_flops": "4.5 PMAC/s", "hbm_bandwidth": "8 TB/s", "weight_format": "fp4"}
    one = charts.price_map.data(**board, **requested).loc[at]
    assert one["kv_bytes_from_kink"] == pytest.approx(889, rel=1e-3)
    sure = charts.price_map.data(relative_markup=1, rounding=0.0, **requested).loc[at]
    assert (
        sure["verdict"] == "contradiction"
    )  # keeping costs more than the step of answers implies, if both are marked up alike
    assert "contradiction" in words(charts.price_map(relative_markup=1, rounding=0.0, **requested).child_axes[0])
    dense = charts.price_map(lists=["DeepSeek-V3"], chip_price="$3/h")
    assert not dense.child_axes[2].axison  # this list says nothing about keeping
    assert row_names(dense)[0] == "DeepSeek-V3"
    mine = rs.Preset("mine", "api_prices", rs.api_prices["GPT-5"].facts)
    custom = charts.price_map.data(lists=[mine])
    assert custom.loc[("prices", "mine"), "middle_decode_cost_ratio"] == pytest.approx(8)


def test_price_map_names_what_is_wrong() -> None:
    with pytest.raises(UnknownName, match=r"Gemini 3\.1 Pro"):
        charts.price_map(lists="Gemini 3.1 Po")
    with pytest.raises(UnknownName, match="DeepSeek-V3"):
        charts.price_map(architectures=["DeepSeek-V"])
    with pytest.raises(AxisError, match="lists: an empty list"):
        charts.price_map(lists=[])
    with pytest.raises(InputTypeError, match="architectures: expected names"):
        charts.price_map(architectures=[3])
    with pytest.raises(AxisError, match=r"one scenario.*active_parameters"):
        charts.price_map(active_parameters=[1e9, 2e9])


@pytest.mark.parametrize("name", ["cost_vs_context", "chat_session", "cost_vs_pass_length", "price_map"])
def test_the_charts_belong_to_chapter_six(name: str) -> None:
    result = charts.find(name)
    assert result.chapter == 6
    assert result.number in {"C20", "C21", "C22", "C35"}
    assert len(result.title) < 70
    figure, grid = pyplot.subplots(2, 2)
    assert result(grid[0, 0]) is grid[0, 0]
    figure.canvas.draw()


@pytest.mark.parametrize("name", ["cost_vs_context", "cost_vs_pass_length", "price_map"])
def test_unknown_inputs_are_named(name: str) -> None:
    with pytest.raises(UnknownName, match="active_parameters"):
        charts.find(name)(active_parameter=1e9)
