"""Comparisons: factors multiply to the ratio, independent of the order of changes."""

from __future__ import annotations

import itertools
import math
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import units
from support.lazy import Lazy

if TYPE_CHECKING:
    from roofslate.analysis.compare import Comparison

mpl = Lazy("matplotlib")
pyplot = Lazy("matplotlib.pyplot")

NODE: dict[str, Any] = {
    "hardware": "H200",
    "chips": 16,
    "prices": "H200 NVIDIA TCO",
    "batch_size": 256,
    "context_length": "8k",
    "overlap": "none",
}
RACK: dict[str, Any] = {
    "hardware": "GB200 NVL72",
    "prices": "GB200 NVL72 InferenceX TCO",
    "batch_size": 8192,
    "context_length": "1k",
}
MODEL: dict[str, Any] = {"model": "DeepSeek-V3"}

# Both binding terms, a maximum, sums: the effect of an input depends on the others.
NUMBERS = {
    "total_parameters": (2e11, 2e12),
    "active_parameters": (1e10, 1e11),
    "bytes_per_weight": (0.5, 2.0),
    "kv_bytes_per_token": (1e3, 1e5),
    "batch_size": (1.0, 1e4),
    "context_length": (0.0, 1e6),
    "chips": (1.0, 1e3),
    "peak_flops": (1e14, 1e16),
    "hbm_bandwidth": (1e12, 2e13),
    "chip_price": (1e-4, 3e-3),
    "compute_efficiency": (0.2, 1.0),
    "bandwidth_efficiency": (0.2, 1.0),
}


def factors(result: Comparison) -> dict[str, float]:
    return {row.name: row.factor for row in result.rows}


def scenarios(names: Any = tuple(NUMBERS)) -> Any:
    return st.fixed_dictionaries({name: st.floats(*NUMBERS[name]) for name in names})


def product_is_exact(result: Comparison) -> None:
    # n factors, each an exponential of a rounded mean of logarithms
    assert math.prod(row.factor for row in result.rows) == pytest.approx(result.ratio, rel=1e-14, abs=0)


# -------------------------------------------------------------------------------------------------------------- laws


@given(scenarios(), scenarios(), st.sampled_from(["cost_per_token", "pass_time", "compute_utilization", "hbm_used"]))
@settings(max_examples=25)
def test_factors_multiply_to_the_ratio(a: dict[str, float], b: dict[str, float], output: str) -> None:
    result = rs.compare(a, b, output)
    product_is_exact(result)
    assert result.before == rs.value(output, a)
    assert result.after == rs.value(output, b)
    assert result.ratio == result.after / result.before
    assert sorted(factors(result)) == sorted(name for name in NUMBERS if a[name] != b[name])
    strengths = [abs(math.log(row.factor)) for row in result.rows]
    assert strengths == sorted(strengths, reverse=True)


SOME = ("batch_size", "context_length", "hbm_bandwidth", "peak_flops", "kv_bytes_per_token")


@given(scenarios(SOME), scenarios(SOME), scenarios())
@settings(max_examples=25)
def test_a_factor_is_the_mean_over_all_orders(a: dict[str, float], b: dict[str, float], same: dict[str, float]) -> None:
    shared = {name: x for name, x in same.items() if name not in SOME}
    logs: dict[str, list[float]] = {name: [] for name in SOME}
    for order in itertools.permutations(SOME):
        now = dict(a)
        for name in order:
            before = rs.value("cost_per_token", {**now, **shared})
            now[name] = b[name]
            logs[name].append(math.log(float(rs.value("cost_per_token", {**now, **shared})) / float(before)))
    result = factors(rs.compare(a, b, "cost_per_token", **shared))
    for name, steps in logs.items():
        # logarithms of ratios of up to 1e9 are rounded to 2e-15
        assert math.log(result.get(name, 1.0)) == pytest.approx(math.fsum(steps) / len(steps), rel=1e-12, abs=1e-14)


@given(scenarios(SOME), scenarios(SOME), scenarios(), st.permutations(SOME))
@settings(max_examples=25)
def test_no_order_and_no_direction_is_preferred(
    a: dict[str, float], b: dict[str, float], same: dict[str, float], order: list[str]
) -> None:
    shared = {name: x for name, x in same.items() if name not in SOME}
    result = rs.compare(a, b, "cost_per_token", **shared)
    again = rs.compare({n: a[n] for n in order}, {n: b[n] for n in reversed(order)}, "cost_per_token", **shared)
    assert again == result
    back = factors(rs.compare(b, a, "cost_per_token", **shared))
    for name, factor in factors(result).items():
        assert back[name] == pytest.approx(1 / factor, rel=1e-13)
    assert rs.compare({**a, **shared}, {**b, **shared}, "cost_per_token") == result


@given(st.floats(1e3, 1e13), st.floats(1e3, 1e13), st.floats(1e3, 1e13), st.floats(1e3, 1e13))
def test_a_quotient_falls_apart_into_its_terms(c: float, d: float, v: float, w: float) -> None:
    result = factors(
        rs.compare({"hbm_capacity": c, "hbm_bandwidth": v}, {"hbm_capacity": d, "hbm_bandwidth": w}, "hbm_drain_time")
    )
    assert result.get("hbm_capacity", 1.0) == pytest.approx(d / c, rel=1e-14)
    assert result.get("hbm_bandwidth", 1.0) == pytest.approx(v / w, rel=1e-14)
    assert math.prod(result.values()) == pytest.approx(d / c * (v / w), rel=1e-14, abs=0)


def test_twelve_inputs_that_all_matter() -> None:
    a = {name: low * 1.7 + 1e-3 for name, (low, _) in NUMBERS.items()}
    b = {name: high * 0.6 for name, (_, high) in NUMBERS.items()}
    result = rs.compare(a, b, "cost_per_token", overlap="none")
    assert len(result.rows) == len(NUMBERS) == 12
    assert [name for name, factor in factors(result).items() if abs(factor - 1) < 1e-12] == ["chips"]  # it cancels
    product_is_exact(result)


# ------------------------------------------------------------------------------------------------------- differences


def test_a_preset_is_one_input_and_choices_are_inputs() -> None:
    result = rs.compare(NODE, RACK, "cost_per_token", **MODEL)
    assert set(factors(result)) == {"hardware", "chips", "prices", "batch_size", "context_length", "overlap"}
    product_is_exact(result)
    rows = {row.name: row for row in result.rows}
    assert (rows["hardware"].before, rows["hardware"].after) == ("H200", "GB200 NVL72")
    assert (rows["overlap"].before, rows["overlap"].after) == ("none", "board")
    assert (rows["chips"].before, rows["chips"].after) == ("16", "72")


def test_the_same_written_otherwise_is_no_difference() -> None:
    same = rs.compare(
        {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "context_length": "8k", "batch_size": 64},
        {
            "model": rs.models["deepseek v3"],
            "hardware": "gb200-nvl72",
            "context_length": 8000.0,
            "batch_size": "64 seq",
        },
        "pass_time",
    )
    assert same.rows == ()
    assert same.ratio == 1
    assert same.before == same.after
    assert len(same.factors) == 0
    assert len(str(same).splitlines()) == 3
    same.plot()


def test_what_one_scenario_leaves_open_is_what_it_is_there() -> None:
    shared = {"model": "Llama-3.1-70B", "chips": 8, "batch_size": 64, "context_length": "32k"}
    result = rs.compare({"hardware": "H100"}, {"hardware": "H100", "hbm_bandwidth": "8 TB/s"}, "pass_time", **shared)
    (row,) = result.rows
    assert (row.name, row.before, row.after) == ("hbm_bandwidth", "3.35 TB/s", "8 TB/s")
    assert row.factor == pytest.approx(result.ratio, rel=1e-15)
    stated = rs.compare({"hardware": "H100"}, {"hardware": "H100", "hbm_bandwidth": "3.35 TB/s"}, "pass_time", **shared)
    assert stated.rows == ()
    default = rs.compare({}, {"bandwidth_efficiency": 0.5}, "pass_time", hardware="H100", **shared)
    assert factors(default) == {"bandwidth_efficiency": pytest.approx(2, rel=1e-15)}


def test_a_preset_against_its_numbers() -> None:
    numbers = {"peak_flops": "2 PFLOP/s", "hbm_bandwidth": "8 TB/s"}
    shared = {"model": "Llama-3.1-70B", "chips": 8, "batch_size": 64, "context_length": "32k"}
    for a, b in (({"hardware": "H100"}, numbers), (numbers, {"hardware": "H100"})):
        result = rs.compare(a, b, "pass_time", **shared)
        assert set(factors(result)) == {"hardware", "peak_flops", "hbm_bandwidth"}
        assert factors(result)["hardware"] == 1
        product_is_exact(result)
    forward = factors(rs.compare({"hardware": "H100"}, numbers, "pass_time", **shared))
    backward = factors(rs.compare(numbers, {"hardware": "H100"}, "pass_time", **shared))
    assert forward["hbm_bandwidth"] == pytest.approx(1 / backward["hbm_bandwidth"], rel=1e-14)


def test_what_a_preset_overrules_is_not_said_for_it() -> None:
    """One model gives bytes per token, the other layers: they change together, not the batch."""
    stated = {"model": "DeepSeek-V3 (lecture)", "batch_size": 4}
    layered = {"layers": 80, "kv_heads": 8, "head_size": 128, "kv_format": "bf16", "batch_size": 8}
    result = rs.compare(stated, layered, "kv_bytes", context_length=100)
    assert factors(result)["batch_size"] == pytest.approx(2, rel=1e-14)
    product_is_exact(result)
    (group,) = [row for row in result.rows if len(row.inputs) > 1]
    assert group.before == "model DeepSeek-V3 (lecture)"
    assert group.after == "head_size 128, kv_format bf16, kv_heads 8, layers 80"
    assert result.after == rs.value("kv_bytes", layered, context_length=100)


def test_what_can_only_change_together_shares_a_factor() -> None:
    """Mixtures have either the measured pass of one scenario or the model of the other."""
    complete = {"model": "DeepSeek-V3 (lecture)", "hardware": "BW72 (lecture)", "context_length": "10k"}
    measured = {"flops_per_token": 74e9, "stage_flops": 648e15}
    a, b = {"pass_tokens": 100.0, **measured}, {"batch_size": 300, **complete}
    result = rs.compare(a, b, "compute_time")
    product_is_exact(result)
    assert result.ratio == pytest.approx(3, rel=1e-15)
    back = rs.compare(b, a, "compute_time")
    assert {frozenset(row.inputs) for row in back.rows} == {frozenset(row.inputs) for row in result.rows}


def test_a_mixture_out_of_range_is_none() -> None:
    """More experts at once than there are: 16 of 8 in one of the mixtures."""
    a, b = {"experts": 8, "experts_per_token": 2}, {"experts": 256, "experts_per_token": 16}
    result = rs.compare(a, b, "expert_coverage", batch_size=4)
    (row,) = result.rows
    assert row.inputs == ("experts", "experts_per_token")
    assert row.before == "experts 8, experts_per_token 2"
    assert row.after == "experts 256, experts_per_token 16"
    assert row.factor == pytest.approx(result.ratio, rel=1e-15)
    with pytest.raises(rs.errors.ValueRangeError, match="must not exceed experts"):
        rs.value("expert_coverage", batch_size=4, experts=8, experts_per_token=16)
    free = rs.compare({**a, "batch_size": 4}, {**b, "batch_size": 9}, "expert_coverage")
    assert {row.inputs for row in free.rows} == {("experts", "experts_per_token"), ("batch_size",)}
    product_is_exact(free)


def test_groups_are_as_small_as_can_be() -> None:
    """Two pairs that are bound, each within itself, and two inputs that are free."""
    a = {"experts": 8, "experts_per_token": 2, "batch_size": 4, "total_parameters": 4e10, "dense_parameters": 1e10}
    b = {"experts": 256, "experts_per_token": 16, "batch_size": 9, "total_parameters": 7e11, "dense_parameters": 6e10}
    more = {"active_parameters": 3.9e10, "bytes_per_weight": 1}
    result = rs.compare(a, b, "fetched_weight_bytes", **more)
    assert ("experts", "experts_per_token") in {row.inputs for row in result.rows}
    assert ("batch_size",) in {row.inputs for row in result.rows}
    assert max(len(row.inputs) for row in result.rows) == 2
    product_is_exact(result)
    turned = rs.compare(dict(reversed(a.items())), dict(reversed(b.items())), "fetched_weight_bytes", **more)
    assert turned == result
    back = rs.compare(b, a, "fetched_weight_bytes", **more)
    assert {row.inputs for row in back.rows} == {row.inputs for row in result.rows}


def test_what_does_not_matter_has_the_factor_one() -> None:
    result = factors(
        rs.compare({"hbm_capacity": 8e10}, {"hbm_capacity": 9e10}, "ridge_point", peak_flops=1e15, hbm_bandwidth=1e12)
    )
    assert result == {"hbm_capacity": 1.0}
    more = {name: 3.0 for name in NUMBERS if name not in ("compute_efficiency", "bandwidth_efficiency")}
    less = dict.fromkeys(more, 2.0)
    # of these one matters, and twelve more would be too many
    result = factors(rs.compare({**more, "experts": 9}, {**less, "experts": 8}, "pass_tokens"))
    assert result.pop("batch_size") == pytest.approx(2 / 3, rel=1e-15)
    assert set(result.values()) == {1.0}


def test_a_supplied_output_explains_itself() -> None:
    result = rs.compare({"pass_time": "20 ms"}, {"pass_time": "30 ms"}, "pass_time")
    assert factors(result) == {"pass_time": pytest.approx(1.5, rel=1e-15)}


def test_a_preset_of_ones_own_with_the_same_name_is_another_one() -> None:
    one = rs.hardware.define("compared", peak_flops=1e15, hbm_bandwidth=1e12)
    two = rs.hardware.define("compared", peak_flops=2e15, hbm_bandwidth=1e12)
    result = rs.compare({"hardware": one}, {"hardware": two}, "ridge_point")
    assert factors(result) == {"hardware": pytest.approx(2, rel=1e-15)}


# ----------------------------------------------------------------------------------------------------------- display


def test_the_waterfall_as_text() -> None:
    result = rs.compare(NODE, RACK, "cost_per_token", **MODEL)
    head, *lines = str(result).splitlines()
    assert head == "cost_per_token: decode cost per generated token"
    assert [line.split()[0] for line in lines] == ["a", *(row.name for row in result.rows), "b"]
    level = result.before
    for line, row in zip(lines[1:-1], result.rows, strict=True):
        level *= row.factor
        change, factor, reached = re.fullmatch(rf"  {row.name} +(.+?)  +× (\S+) +(\S+ / \S+) *█* *", line).groups()  # type: ignore[union-attr]
        assert change == f"{row.before} → {row.after}"
        assert float(factor) == pytest.approx(row.factor, rel=5e-4)
        assert units.parse(reached, result.quantity.unit) == pytest.approx(level, rel=5.1e-4)
    assert units.parse(lines[0].split(maxsplit=1)[1], "USD/token") == pytest.approx(result.before, rel=5.1e-4)
    assert f"× {result.ratio:.4g}" in lines[-1]
    assert lines[-1].endswith(units.format(result.after, "USD/token"))
    bars = [line for line in lines if "█" in line]
    assert max(len(line.rstrip()) for line in bars) - min(line.index("█") for line in bars) == 24


def test_factors_as_a_table() -> None:
    result = rs.compare(NODE, RACK, "cost_per_token", **MODEL)
    table = result.factors
    assert list(table.columns) == ["from", "to", "factor"]
    assert table.index.name == "input"
    assert table["factor"].dtype == np.float64
    assert table["factor"].prod() == pytest.approx(result.ratio, rel=1e-14)
    assert list(table.loc["batch_size"]) == ["256", "8,192", dict(factors(result))["batch_size"]]


class Headers(HTMLParser):
    def __init__(self) -> None:
        super().__init__()
        self.scopes: list[Any] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        if tag == "th":
            self.scopes.append(dict(attrs).get("scope"))


def test_jupyter_shows_a_table() -> None:
    chip = rs.hardware.define("<i>&", base="H200")
    result = rs.compare({**NODE, "hardware": chip}, RACK, "cost_per_token", **MODEL)
    page = result._repr_html_()
    table = ElementTree.fromstring(page)
    assert len(table.findall("tbody/tr")) == len(result.rows) + 2
    assert any("<i>&" in "".join(cell.itertext()) for cell in table.iter("td"))
    headers = Headers()
    headers.feed(page)
    assert headers.scopes == ["col"] * 4 + ["row"] * (len(result.rows) + 2)
    assert "mathjax_ignore" in table.get("class", "")


CASES = {
    "presets and choices": (NODE, RACK, "cost_per_token", MODEL),
    "the other way": (RACK, NODE, "cost_per_token", MODEL),
    "rising alone": ({"hbm_capacity": 8e10}, {"hbm_capacity": 9e10}, "hbm_drain_time", {"hbm_bandwidth": 1e12}),
    "a hundred thousand": ({"batch_size": 1}, {"batch_size": 1e5}, "pass_tokens", {}),
    "nothing": ({"batch_size": 7}, {"batch_size": 7}, "pass_tokens", {}),
    "one group": (
        {"experts": 8, "experts_per_token": 2},
        {"experts": 256, "experts_per_token": 16},
        "expert_coverage",
        {"batch_size": 4},
    ),
    "a long group": (
        {"model": "DeepSeek-V3 (lecture)", "batch_size": 4},
        {"layers": 80, "kv_heads": 8, "head_size": 128, "kv_format": "bf16", "batch_size": 8},
        "kv_bytes",
        {"context_length": 100},
    ),
    "long names": (
        {"hardware": "H100", "prices": "H100 Google Cloud list"},
        {"hardware": "H100", "chip_price": "$2/h"},
        "cost_per_token",
        {"model": "DeepSeek-V3 (lecture)", "chips": 8, "batch_size": 8, "context_length": "8k"},
    ),
}


@pytest.mark.parametrize("case", CASES.values(), ids=CASES)
def test_the_picture_has_every_factor_and_no_two_words_meet(case: Any) -> None:
    a, b, output, shared = case
    result = rs.compare(a, b, output, **shared)
    ax = result.plot()
    figure = ax.figure
    figure.canvas.draw()
    level = result.before
    bars = list(ax.patches)
    assert len(bars) == len(result.rows)
    for bar, row in zip(bars, result.rows, strict=True):
        ends = (bar.get_x(), bar.get_x() + bar.get_width())
        assert ends == (pytest.approx(min(level, level * row.factor)), pytest.approx(max(level, level * row.factor)))
        assert bool(bar.get_hatch()) == (row.factor > 1)
        level *= row.factor
    points = [float(line.get_xdata()[0]) for line in ax.lines if line.get_marker() == "o"]
    assert points == [result.before, result.after]
    labels = [label.get_text().replace(r"\$", "$") for label in ax.get_yticklabels()]
    expected = [f"{row.name} " * (len(row.inputs) == 1) + row.change for row in result.rows]
    assert [label.replace("\n", " ") for label in labels] == ["a", *expected, "b"]
    assert ax.get_xscale() == "log"
    low, high = ax.get_xlim()
    ticks = [tick.label1 for tick in ax.xaxis.get_major_ticks() if low <= tick.get_loc() <= high]
    shown = [*ax.texts, *ax.get_yticklabels(), *ticks, ax.xaxis.label, ax._left_title]
    boxes = [(text.get_text(), text.get_window_extent()) for text in shown if text.get_text().strip()]
    frame = figure.bbox
    for k, (text, box) in enumerate(boxes):
        assert frame.x0 - 1 <= box.x0 <= box.x1 <= frame.x1 + 1, text
        for other, later in boxes[k + 1 :]:
            width = min(box.x1, later.x1) - max(box.x0, later.x0)
            height = min(box.y1, later.y1) - max(box.y0, later.y0)
            assert width < 2 or height < 3, f"{text!r} and {other!r} overlap"


def test_prices_are_no_formulas_in_the_picture() -> None:
    ax = rs.compare({"chip_price": "$2/h"}, {"chip_price": "$3/h"}, "replica_price", chips=72).plot()
    label = ax.get_yticklabels()[1]
    assert "$2 / h → $3 / h" in label.get_text().replace(r"\$", "$")
    assert label._preprocess_math(label.get_text())[1] != True  # noqa: E712  # or dollars would vanish


def test_rising_and_falling_differ_without_colour() -> None:
    ax = rs.compare(NODE, RACK, "cost_per_token", **MODEL).plot()
    looks = {(bool(bar.get_hatch()), mpl.colors.to_hex(bar.get_facecolor())) for bar in ax.patches}
    assert {hatched for hatched, _ in looks} == {True, False}
    assert len(looks) == 2
    shades = [float(np.dot(mpl.colors.to_rgb(colour), (0.299, 0.587, 0.114))) for _, colour in looks]
    assert abs(shades[0] - shades[1]) > 0.3


def test_the_picture_goes_into_axes_of_ones_own_and_leaves_settings_alone() -> None:
    result = rs.compare(NODE, RACK, "cost_per_token", **MODEL)
    figure, ax = pyplot.subplots(figsize=(6, 4), layout="constrained")
    assert result.plot(ax) is ax
    figure.canvas.draw()
    with mpl.rc_context({"lines.linewidth": 7.0}):
        before = dict(mpl.rcParams)
        result.plot()
        assert dict(mpl.rcParams) == before
    with pytest.raises(rs.errors.InputTypeError, match="matplotlib Axes"):
        result.plot("here")  # type: ignore[arg-type]


# ------------------------------------------------------------------------------------------------------------ errors


@pytest.mark.parametrize(
    ("a", "b", "output", "shared", "error", "message"),
    [
        ({}, {"chips": 1}, "pass_time", {}, rs.errors.MissingInput, r"scenario a: missing input"),
        ({"batch_size": 1}, {}, "pass_tokens", {}, rs.errors.MissingInput, r"scenario b: missing input 'batch_size'"),
        ({"batchsize": 1}, {}, "pass_tokens", {}, rs.errors.UnknownName, r"scenario a: .*did you mean 'batch_size'"),
        ({"batch_size": "1 GB"}, {}, "pass_tokens", {}, rs.errors.UnitError, r"scenario a: batch_size"),
        (
            {"batch_size": 1},
            {"batch_size": -1},
            "pass_tokens",
            {},
            rs.errors.ValueRangeError,
            r"scenario b: batch_size",
        ),
        ({"batch_size": [1, 2]}, {}, "pass_tokens", {}, rs.errors.AxisError, r"scenario a: 'batch_size' is an axis"),
        ({}, {}, "pass_tokens", {"batch_size": [1, 2]}, rs.errors.AxisError, r"'batch_size' is an axis"),
        ({"batch_size": (1, 2)}, {}, "pass_tokens", {}, rs.errors.InputTypeError, r"scenario a: .*tuple"),
        ({"model": ["DeepSeek-V3"]}, {}, "sparsity", {}, rs.errors.AxisError, r"scenario a: 'model' is an axis"),
        ({"model": "DeepSeek-V9"}, {}, "sparsity", {}, rs.errors.UnknownName, r"scenario a: unknown model preset"),
        (
            [1],
            {},
            "pass_tokens",
            {},
            rs.errors.InputTypeError,
            r"scenario a: expected a dict of inputs by name, got \[1\]",
        ),
        ({}, None, "pass_tokens", {"batch_size": 1}, rs.errors.InputTypeError, r"scenario b: expected a dict"),
        ({1: 2}, {}, "pass_tokens", {}, rs.errors.InputTypeError, r"scenario a: expected a dict of inputs by name"),
        (
            {"batch_size": 1},
            {},
            "pass_tokens",
            {"batch_size": 2},
            rs.errors.InputTypeError,
            r"'batch_size' is also a shared input",
        ),
        ({}, {}, "pass_tokenz", {}, rs.errors.UnknownName, r"did you mean 'pass_tokens'"),
        ({}, {}, '__import__("os")', {}, rs.errors.UnknownName, r"unknown quantity"),
        ({}, {}, "(" * 1_000_000, {}, rs.errors.UnknownName, r"1000002 characters"),
        ({}, {}, None, {}, rs.RoofslateError, r"None"),
        ({}, {}, "bottleneck", {}, rs.errors.InputTypeError, r"bottleneck is one of .*. Only numbers have a ratio"),
    ],
)
def test_mistakes_are_named(
    a: Any, b: Any, output: Any, shared: dict[str, Any], error: type[Exception], message: str
) -> None:
    with pytest.raises(error, match=message) as caught:
        rs.compare(a, b, output, **shared)
    assert len(str(caught.value)) < 600


def test_a_preset_that_takes_the_effect_of_an_input() -> None:
    with pytest.raises(rs.errors.IneffectiveInput, match=r"scenario b: 'kv_heads' has no effect"):
        rs.compare(NODE, {**RACK, "kv_heads": 2}, "cost_per_token", model="DeepSeek-V3 (lecture)")


@pytest.mark.parametrize(
    ("a", "b", "message"),
    [
        ({"context_length": 0}, {"context_length": 1}, r"scenario a: kv_bytes is 0 B. A ratio needs"),
        ({"context_length": 1}, {"context_length": 0}, r"scenario b: kv_bytes is 0 B"),
        ({"context_length": 1e-300}, {"context_length": 1e300}, r"the ratio of kv_bytes is out of range"),
    ],
)
def test_a_ratio_of_nothing_is_none(a: Any, b: Any, message: str) -> None:
    with pytest.raises(rs.errors.ValueRangeError, match=message):
        rs.compare(a, b, "kv_bytes", kv_bytes_per_token=1.0, batch_size=1)


def test_infinite_and_negative_values_have_no_ratio() -> None:
    with pytest.raises(rs.errors.ValueRangeError, match=r"scenario b: mean_queue_wait is inf"):
        rs.compare({"slot_utilization": 0.5}, {"slot_utilization": 1}, "mean_queue_wait", batch_slots=10, slot_time=10)


def test_too_many_inputs_are_counted_and_named() -> None:
    more = {"pass_length": 2, "microbatches": 2, "pipeline_stages": 2}
    a = {name: low * 1.7 + 1e-3 for name, (low, _) in NUMBERS.items()}
    b = {name: high * 0.6 for name, (_, high) in NUMBERS.items()} | more
    with pytest.raises(
        rs.errors.ValueRangeError, match=r"15 inputs of cost_per_token differ, expected at most 12"
    ) as caught:
        rs.compare(a, b, "cost_per_token")
    assert all(name in str(caught.value) for name in (*NUMBERS, *more))
