"""Inference from price lists: the lecture's reading, known deployments, and all vendors.

Also the requests that it refuses.
"""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate.errors import (
    AxisError,
    InputTypeError,
    MissingInput,
    PresetError,
    UnitError,
    UnknownName,
    ValueRangeError,
)

if TYPE_CHECKING:
    from pathlib import Path

OPUS = "Claude Opus 4.6 until 2026-03-12"  # has all that the lecture reads: a threshold, 5x, and two prices of a write
VENDORS = [
    name for name, tariff in rs.api_prices.items() if name != "lecture" and "api_prices_2026" not in tariff.origin
]
LIST = {"input": "$5/Mtok", "output": "$25/Mtok"}
HOUR = 1e6 * 3600  # dollars a token and second in those a million tokens and hour

# ------------------------------------------------------------------------------------------- lists of known deployments

# Ranges that infer states for unknown inputs. The generator draws from them, and shares only the storage tiers' data
# with it.
MARKUP = (2 / 3, 3 / 2)
ALIGNMENT = (0.8, 1.25)
EXPONENT = (0.0, 2.0)
LISTED = 1.014  # a price may be off by 2%; three digits take up to half a percent of it
EFFICIENCY = (0.55, 0.65)  # of compute in prefill
TIERS: dict[str, Any] = {name: tier for name, tier in rs.storage.items() if "tier_price" in tier.values}


def mean_cost(weights: float, slope: float, exponent: float, low: float, high: float) -> float:
    """Mean of max(1, w + L / L_0) over calls, on a fine grid of the logarithm.

    Contexts of the calls follow a power law.
    """
    edges = np.geomspace(low, high, 4001)
    contexts = np.sqrt(edges[1:] * edges[:-1])
    shares = contexts**-exponent * np.diff(edges)
    return float(np.average(np.maximum(1, weights + slope * contexts), weights=shares))


class Deployment:
    """A model on a machine whose cost is known, and the list that its provider publishes."""

    def __init__(self, seed: int) -> None:
        chance = np.random.default_rng(seed)

        def between(low: float, high: float) -> float:
            return float(np.exp(chance.uniform(math.log(low), math.log(high))))

        self.efficiency = chance.uniform(*EFFICIENCY)
        self.active, self.bytes_per_weight = between(5e9, 500e9), chance.choice([0.5, 1.0, 2.0])
        self.peak, self.bandwidth, self.capacity = between(1e15, 2e16), between(2e12, 2e13), between(8e10, 3e11)
        self.chip_price = between(1, 6) / 3600
        hidden = 2 * self.active / (self.peak * self.efficiency / self.bandwidth)  # bytes fetched during compute
        prompt = 2 * self.active / (self.peak * self.efficiency) * self.chip_price
        # below one the cost has a kink, and the threshold is near it, otherwise anywhere
        self.weights = between(0.1, 6)
        threshold = between(32e3, 400e3)
        if self.weights < 1:
            kink = threshold / chance.uniform(*ALIGNMENT)
            balance = kink / (1 - self.weights)
        else:
            balance = threshold * between(0.1, 2)
        self.kv_bytes, self.threshold = hidden / balance, threshold
        self.shortest, self.longest = between(200, 4e3), threshold * chance.uniform(2, 8)
        exponent = chance.uniform(*EXPONENT)
        self.ratio = mean_cost(self.weights, 1 / balance, exponent, self.shortest, threshold)
        beyond = mean_cost(self.weights, 1 / balance, exponent, threshold, self.longest)
        markup = between(1.2, 300)
        answer, cached, read = (between(*MARKUP) for _ in range(3))
        exact = {"input": prompt, "output": prompt * answer * self.ratio, "long_output": prompt * answer * beyond}
        # the tier that the provider takes is one in which an hour costs neither next to nothing nor ten prompts
        rents = {
            name: (self.chip_price / self.capacity if name == "HBM" else x["tier_price"] / x["tier_capacity"])
            for name, x in TIERS.items()
        }
        premium = {name: 3600 * cached * self.kv_bytes * rent / prompt for name, rent in rents.items()}
        fair = [name for name, x in premium.items() if 0.2 < x < 10]
        self.tier = str(chance.choice(fair or [min(premium, key=lambda name: abs(math.log(premium[name])))]))
        self.hold = markup * cached * self.kv_bytes * rents[self.tier]
        bandwidth = self.bandwidth if self.tier == "HBM" else TIERS[self.tier]["tier_bandwidth"]
        device = self.chip_price if self.tier == "HBM" else TIERS[self.tier]["tier_price"]
        exact["cache_read"] = read * (self.kv_bytes * device / bandwidth + prompt * between(0.01, 0.2))
        prices = {name: markup * x for name, x in exact.items()}
        if chance.uniform() < 0.5:
            prices["cache_storage"] = self.hold
        else:
            fixed = prices["input"] * chance.uniform(1, 1.2)
            prices |= {
                f"cache_write_{name}": fixed + seconds * self.hold for name, seconds in (("5m", 300), ("1h", 3600))
            }
        rounded = {name: x * chance.uniform(1 / LISTED, LISTED) for name, x in prices.items()}
        self.prices = {name: float(f"{x:.2e}") for name, x in rounded.items()}  # three digits, as lists have them
        self.prices["long_context_threshold"] = threshold

    @property
    def known(self) -> dict[str, Any]:
        """Return the known inputs: model, machine, and a rough compute utilization."""
        return {
            "active_parameters": self.active,
            "bytes_per_weight": self.bytes_per_weight,
            "peak_flops": self.peak,
            "hbm_bandwidth": self.bandwidth,
            "hbm_capacity": self.capacity,
            "chip_price": self.chip_price,
            "compute_efficiency": EFFICIENCY,
            "shortest_context": (200, 4e3),
            "longest_context": self.longest,
        }


def width(verdict: Any) -> float:
    if verdict.verdict != "interval" or verdict.low <= 0:
        return math.inf
    return float(verdict.high / verdict.low)


def test_intervals_hold_the_truth_of_1000_known_deployments() -> None:
    widths: dict[str, list[float]] = {"kv_bytes_per_token": [], "decode_cost_ratio": [], "hold_price": []}
    kinds = {"kinked": 0, "bound": 0}
    for seed in range(1000):
        truth = Deployment(seed)
        result = rs.infer(truth.prices, **truth.known)
        kinds["kinked" if truth.weights < 1 else "bound"] += 1
        known = (truth.kv_bytes, truth.ratio, truth.hold)
        for (what, seen), x in zip(widths.items(), known, strict=True):
            verdict = result[what]
            assert verdict.verdict == "interval", (seed, what, verdict.why)
            assert verdict.low <= x <= verdict.high, (seed, what, x, verdict)
            seen.append(width(verdict))
        tiers = result["tier_drain_time"]
        assert re.search(rf"\b{re.escape(truth.tier)}\b", tiers.why), (seed, truth.tier, tiers.why)
    assert min(kinds.values()) > 200  # both ways in which cost can run
    medians = {what: float(np.median(seen)) for what, seen in widths.items()}
    assert max(medians.values()) <= 3, medians
    assert min(medians.values()) > 1.02, "unknown inputs must widen the intervals"


# ------------------------------------------------------------------------------------------------ the lecture's reading


def test_the_lectures_reading_follows_from_its_inputs() -> None:
    result = rs.infer(OPUS, relative_markup=1, rounding=0.0)
    kink = result.relations.loc["kv_bytes_from_kink"]
    assert kink["nominal"] == pytest.approx(100e9 / 300 / 200e3, rel=1e-12)  # 1,667 bytes
    assert result["decode_cost_ratio"].low == result["decode_cost_ratio"].high == 5
    assert result["decode_prefill_utilization"].nominal == pytest.approx(0.2)
    assert result["hold_price"].low * HOUR == pytest.approx(3.75 / 3300 * 3600, rel=1e-12)  # $4.09
    assert result["hold_price"].high * HOUR == pytest.approx(3.75 / 3300 * 3600, rel=1e-12)
    assert result["implied_write_price"].nominal * 1e6 == pytest.approx(1.25 - 300 * 3.75 / 3300, rel=1e-12)  # $0.91
    assert result["batch_over_balance_batch"].low == pytest.approx(0.2, rel=0.1)  # a fifth of the balance batch


def test_the_reading_lies_in_the_intervals_of_what_is_not_known() -> None:
    result = rs.infer(OPUS)
    assert result["kv_bytes_per_token"].low < 1667 < result["kv_bytes_per_token"].high
    assert result["decode_cost_ratio"].low < 5 < result["decode_cost_ratio"].high
    assert result["hold_price"].low * HOUR < 4.09 < result["hold_price"].high * HOUR
    assert result["hold_price"].high * HOUR < 4.5  # Gemini's, listed
    assert result["batch_size"].low < 480 < result["batch_size"].high


def test_the_lectures_own_list() -> None:
    result = rs.infer("lecture")
    assert result.relations.loc["kv_bytes_from_kink", "nominal"] == pytest.approx(1666.67, rel=1e-5)
    assert result["decode_cost_ratio"].nominal == 5
    assert result["hold_price"].verdict == "not determined"  # one price of a write
    assert "write price with another hold time" in result["hold_price"].why


@pytest.mark.parametrize("long_input", [2e-6, 3e-6])
def test_long_prompts_that_are_not_dearer_tell_no_width(long_input: float) -> None:
    prices = {"input": 3e-6, "output": 15e-6, "long_input": long_input, "long_output": 15e-6}
    width = rs.infer(prices | {"long_context_threshold": 200e3})["hidden_size"]
    assert width.verdict == "not determined"
    assert width.why == "long prompts cost no more per token"


def test_a_threshold_below_the_kink_has_cheap_contexts_beyond_it() -> None:
    """Some calls of the second tier are compute-bound.

    The tier starts at 200k tokens, and the kink is at 250k.
    """
    slope, weights = (1 - 0.3) / 250e3, 0.3
    beyond = mean_cost(weights, slope, 1, 200e3, 1e6)
    prices = {"input": 5e-6, "output": 5e-6, "long_output": 5e-6 * beyond, "long_context_threshold": 200e3}
    exact = {"relative_markup": 1, "rounding": 0.0, "traffic_exponent": 1, "threshold_alignment": 0.8}
    kv = rs.infer(prices, **exact)["kv_bytes_per_token"]
    assert kv.low < 100e9 / 300 * slope * 0.999
    assert kv.high > 100e9 / 300 * slope * 1.001
    assert kv.high / kv.low < 1.5


def test_a_batch_without_end_leaves_the_kink_alone() -> None:
    """With the weights neglected, as in the lecture, the kink of a list decides."""
    prices = {"input": 5e-6, "output": 5e-6, "long_output": 7.5e-6, "long_context_threshold": 200e3}
    # a mean context of 300k beyond the threshold makes half as much again fair
    known = {"weight_fetch_ratio": 0, "longest_context": 400e3, "traffic_exponent": 0}
    result = rs.infer(prices, relative_markup=1, threshold_alignment=1, rounding=0.0, **known)
    kv = result["kv_bytes_per_token"]
    assert kv.verdict == "interval"
    assert (kv.low, kv.high) == pytest.approx((100e9 / 300 / 200e3,) * 2, rel=1e-6)  # a slice of the exponent
    assert result["kink_context"].low == result["kink_context"].high == 200e3
    assert "I11" not in result.contradictions.index


# ------------------------------------------------------------------------------------------------------- contradictions


def test_compute_bound_contexts_and_dear_answers_exclude_each_other() -> None:
    result = rs.infer(OPUS)
    row = result.contradictions.loc["I11"]
    assert (row["one"], row["other"]) == ("output_price", "long_context_threshold")
    assert row["factor"] == pytest.approx(5 / 1.5 / 1.02**2 / 1.25, rel=1e-9)
    assert "B_0/5" in row["why"]
    assert "5 L_0" in row["why"]
    assert result["kink_context"].high == 0
    near = rs.infer({"input": 5e-6, "output": 6e-6, "long_output": 9e-6, "long_context_threshold": "200k"})
    assert "I11" not in near.contradictions.index


def test_levels_of_prices_are_far_from_costs() -> None:
    row = rs.infer(OPUS, peak_flops="9 PFLOP/s").contradictions.loc["I38"]
    assert row["factor"] == pytest.approx(405 / 1.02, rel=1e-9)
    dear = rs.infer(LIST, chip_price="$900/h")
    assert "below cost" in dear.contradictions.index
    fair = rs.infer(LIST, chip_price="$200/h")
    assert not {"I38", "below cost"} & set(fair.contradictions.index)


def test_keeping_is_priced_as_hbm_where_flash_would_do() -> None:
    result = rs.infer(OPUS)
    assert result.tiers.loc["HBM", "fits"]
    assert result.tiers["fits"].sum() == 1
    assert "tier" in result.contradictions.index
    assert result.contradictions.loc["tier", "factor"].min() > 1000
    drain = result["tier_drain_time"]
    assert drain.low == drain.high == pytest.approx(0.024)


def test_a_longer_hold_for_less_is_a_contradiction() -> None:
    result = rs.infer({**LIST, "cache_write_5m": "$10/Mtok", "cache_write_1h": "$6/Mtok"})
    assert result["hold_price"].verdict == "contradiction"
    assert result.contradictions.loc["hold price", "factor"] == math.inf


def test_an_answer_below_its_arithmetic_is_a_contradiction() -> None:
    result = rs.infer({"input": 5e-6, "output": 1e-6})
    assert result["decode_cost_ratio"].verdict == result["kv_bytes_per_token"].verdict == "contradiction"
    assert result.contradictions.loc["answers below cost", "factor"] == pytest.approx(5 / 1.5 / 1.02**2, rel=1e-9)
    assert {result[what].verdict for what in CAUSES} == {"contradiction"}
    assert "output tokens cost less than their compute" in result["batch_size"].why


CAUSES = ["decode_cost_ratio", "decode_prefill_utilization", "balance_context", "kink_context"]
CAUSES += ["batch_over_balance_batch", "batch_size"]
LONG = {**LIST, "long_context_threshold": "200k"}


@pytest.mark.parametrize(
    ("prices", "known", "factors", "why"),
    [
        # three answers' worth of the prompt: no kink, and only memory would make long answers more expensive
        (
            {**LONG, "output": "$15/Mtok", "long_output": "$10/Mtok"},
            {},
            {"I11": 3 / 1.5 / 1.02**2 / 1.25, "long answers": 1.5 / 1.02**2},
            "below the kink an output token costs as much as an input token; and output tokens do not cost more "
            "above the threshold",
        ),
        (
            {**LONG, "output": "$6/Mtok", "long_output": "$3/Mtok"},
            {},
            {"long answers": 2 / 1.02**2},
            "output tokens do not cost more above the threshold",
        ),
        # memory that is faster than compute leaves only the kink, and five times the prompt none
        (
            {**LONG, "long_output": "$40/Mtok"},
            {"weight_fetch_ratio": 0.5},
            {"I11": 5 / 1.5 / 1.02**2 / 1.25},
            "below the kink an output token costs as much as an input token; and weight reads take less time "
            "than compute",
        ),
    ],
)
def test_prices_that_no_course_of_the_cost_explains(
    prices: dict[str, Any], known: dict[str, Any], factors: dict[str, float], why: str
) -> None:
    result = rs.infer(prices, **known)
    for what in (*CAUSES, "kv_bytes_per_token"):
        assert (result[what].verdict, result[what].why) == ("contradiction", why)
    contradictions = result.contradictions["factor"].drop("I38")
    assert dict(contradictions) == pytest.approx(factors, rel=1e-9)  # rounding and markups at their most favourable


def test_a_threshold_alone_tells_of_the_cache_where_there_must_be_a_kink() -> None:
    near = {**LONG, "output": "$6/Mtok"}
    known = {"weight_fetch_ratio": 0.5, "relative_markup": 1, "rounding": 0.0}
    result = rs.infer(near, **known)
    kv = result["kv_bytes_per_token"]
    # half of compute time is left to the KV cache, of 100e9 parameters at 300 operations a byte
    assert kv.nominal == pytest.approx(100e9 / 300 / 2 / 200e3)
    assert (kv.low, kv.high) == pytest.approx((kv.nominal / 1.25, kv.nominal / 0.8))  # the threshold's alignment
    assert kv.why == "the threshold, above which KV-cache and weight reads take longer than compute"
    assert (result["kink_context"].low, result["kink_context"].why) == (pytest.approx(160e3), "the threshold")
    with_storage = rs.infer({**near, "cache_storage": "$40/Mtok/h"}, tiers="HBM", **known)
    row = with_storage.contradictions.loc["KV cache per token"]
    assert (row["one"], row["other"]) == ("long_context_threshold", "hold_price")


def test_weights_that_outlast_the_arithmetic_leave_no_kink() -> None:
    result = rs.infer({**LONG, "output": "$15/Mtok", "long_output": "$30/Mtok"}, weight_fetch_ratio=(2, 3))
    assert (result["kink_context"].low, result["kink_context"].high) == (0, 0)
    assert result["kink_context"].why.endswith("weight reads take more time than compute")
    # weights take two to three times the compute time: the batch is a half to a third of the balance batch
    assert result["batch_over_balance_batch"].low == pytest.approx(1 / 3)
    assert result["batch_over_balance_batch"].high == pytest.approx(1 / 2)


def test_long_contexts_and_keeping_that_disagree_are_a_contradiction() -> None:
    prices = {**dict(rs.api_prices["Gemini 3.1 Pro"].values), "cache_storage_price": "$300/Mtok/h"}
    result = rs.infer(prices, tiers="HBM")
    assert result["kv_bytes_per_token"].verdict == "contradiction"
    assert math.isnan(result["kv_bytes_per_token"].low)
    assert result.contradictions.loc["KV cache per token", "factor"] > 10
    assert rs.infer("Gemini 3.1 Pro", tiers="HBM")["kv_bytes_per_token"].verdict == "interval"


def test_what_is_lacking_is_said() -> None:
    result = rs.infer(LIST)
    kv = result["kv_bytes_per_token"]
    assert kv.verdict == "not determined"
    assert "lacks a price above a context threshold" in kv.why
    assert result["hold_price"].verdict == result["storage_price_per_byte"].verdict == "not determined"
    assert result["decode_cost_ratio"].verdict == "interval"
    with pytest.raises(UnknownName, match="unknown verdict 'batch_siz'; did you mean 'batch_size'"):
        result["batch_siz"]
    near = rs.infer({**LONG, "output": "$6/Mtok"})  # near a prompt's price: there may be a kink, at the threshold
    assert near["kv_bytes_per_token"].why == "lacks a price above a context threshold"
    assert (near["kink_context"].low, near["kink_context"].nominal) == (0, 200e3)
    assert near["kink_context"].why == "the threshold, or none at all"
    stored = rs.infer({**LIST, "cache_storage": "$4/Mtok/h"})
    assert (stored["hold_price"].why, stored["paying_hold_time"].verdict) == ("listed", "not determined")
    assert stored["paying_hold_time"].why == "lacks a cached-input price"
    with_cache = rs.infer("Claude Opus 4.5")
    assert with_cache["kv_bytes_per_token"].verdict == "not determined"
    assert "HBM" in with_cache["kv_bytes_per_token"].why  # by tier, from the price of storage
    assert rs.infer("Claude Opus 4.5", tiers="HBM")["kv_bytes_per_token"].verdict == "interval"


# ----------------------------------------------------------------------------------------------------- every vendor row


@pytest.mark.parametrize("name", VENDORS)
def test_every_list_gives_verdicts(name: str) -> None:
    result = rs.infer(name)
    table = result.verdicts
    assert set(table["verdict"]) <= {"interval", "contradiction", "not determined"}
    assert {
        "kv_bytes_per_token",
        "decode_cost_ratio",
        "batch_over_balance_batch",
        "hold_price",
        "tier_drain_time",
    } <= set(table.index)
    intervals = table[table["verdict"] == "interval"]
    assert (intervals["low"] <= intervals["nominal"]).all()
    assert (intervals["nominal"] <= intervals["high"]).all()
    assert table["why"].str.len().gt(5).all()
    assert table.loc["decode_cost_ratio", "verdict"] == "interval"
    long = "long_output_price" in rs.api_prices[name].values
    assert (table.loc["kv_bytes_per_token", "verdict"] != "not determined") == long, result["kv_bytes_per_token"].why
    assert result.tariff.name in str(result)
    assert result._repr_html_().count("<table") >= 2


def test_every_list_of_2026_is_read() -> None:
    """Leave out prices that need another figure, such as a write without a time."""
    for name in sorted({*rs.api_prices} - {*VENDORS, "lecture"})[::50]:
        result = rs.infer(name)
        assert result["decode_cost_ratio"].verdict == "interval"
        assert "cache_write_price" not in result.tariff.values or "cache_write_time" in result.tariff.values
    assert "cache_write_price" in rs.api_prices["GPT-6 Sol"].values
    with pytest.raises(MissingInput, match="'cache_write_price' needs 'cache_write_time'"):
        rs.infer(dict(rs.api_prices["GPT-6 Sol"].values))


def test_the_catalog_holds_the_collected_lists() -> None:
    """Prices in USD per million tokens, as read from the vendors' pages.

    Columns: input, output, read, then long input, output, read.
    """
    collected = {
        "Claude Opus 4.1": (15, 75, 1.5),
        "Claude Opus 4.5": (5, 25, 0.5),
        OPUS: (5, 25, 0.5, 10, 37.5, 1),
        "Claude Opus 4.6 until 2026-08-05": (5, 25, 0.5),
        "Claude Opus 4.6": (5, 25, 0.5),
        "Claude Opus 4.7 until 2026-08-05": (5, 25, 0.5),
        "Claude Opus 4.7": (5, 25, 0.5),
        "Claude Opus 4.8": (5, 25, 0.5),
        "Claude Opus 5": (5, 25, 0.5),
        "Claude Opus 5.5": (4, 20, 0.2),
        "Claude Sonnet 4.5": (3, 15, 0.3, 6, 22.5, 0.6),
        "Claude Sonnet 4.6 until 2026-03-12": (3, 15, 0.3, 6, 22.5, 0.6),
        "Claude Sonnet 4.6": (3, 15, 0.3),
        "Claude Haiku 4.5": (1, 5, 0.1),
        "Gemini 2.5 Pro": (1.25, 10, 0.125, 2.5, 15, 0.25),
        "Gemini 3 Pro": (2, 12, 0.2, 4, 18, 0.4),
        "Gemini 3.1 Pro": (2, 12, 0.2, 4, 18, 0.4),
        "Gemini 2.5 Flash": (0.3, 2.5, 0.03),
        "Gemini 3.5 Flash": (1.5, 9, 0.15),
        "GPT-5": (1.25, 10, 0.125),
        "GPT-5.1": (1.25, 10, 0.125),
        "GPT-5.2": (1.75, 14, 0.175),
        "GPT-5.4": (2.5, 15, 0.25, 5, 22.5, 0.5),
        "GPT-5.5": (5, 30, 0.5, 10, 45, 1),
        "GPT-5.6 Sol until 2026-08-20": (5, 30, 0.5, 10, 45, 1),
        "GPT-5.6 Sol": (4, 20, 0.4, 8, 30, 0.8),
        "DeepSeek-V3": (0.27, 1.1, 0.07),
        "DeepSeek-R1": (0.55, 2.19, 0.14),
        "DeepSeek-V4 Flash until 2026-05-24": (0.14, 0.28, 0.028),
        "DeepSeek-V4 Flash until 2026-08-16": (0.14, 0.28, 0.0028),
        "DeepSeek-V4 Flash until 2026-09-09": (0.22, 0.66, 0.007),
        "DeepSeek-V4 Flash": (0.15, 0.6, 0.003),
        "DeepSeek-V4 Pro until 2026-05-24": (1.74, 3.48, 0.145),
        "DeepSeek-V4 Pro until 2026-08-16": (0.435, 0.87, 0.003625),
        "DeepSeek-V4 Pro": (0.66, 1.98, 0.022),
        "Claude Haiku 5.5": (0.1, 0.5, 0.01, 0.5, 2.5, 0.05),
    }
    names = ["input", "output", "cache_read", "long_input", "long_output", "long_cache_read"]
    assert set(collected) == set(VENDORS)
    for name, prices in collected.items():
        values = rs.api_prices[name].values
        for key, price in zip(names, prices, strict=False):
            assert values[f"{key}_price"] == pytest.approx(price / 1e6, rel=1e-12), (name, key)
        assert len(prices) == sum(f"{key}_price" in values for key in names), name


# -------------------------------------------------------------------------------------------------------------- results


def test_forms_of_a_list_are_the_same() -> None:
    preset = rs.api_prices[OPUS]
    base = rs.infer(OPUS).verdicts.drop(columns=["why", "prices"])
    short = {
        "input": "$5/Mtok",
        "output": "$25/Mtok",
        "cache_read": "$0.5/Mtok",
        "cache_write_5m": "$6.25/Mtok",
        "cache_write_1h": "$10/Mtok",
        "long_context_threshold": "200k",
        "long_input": "$10/Mtok",
        "long_output": "$37.5/Mtok",
        "long_cache_read": "$1/Mtok",
        "price_factor": 6,
        "speed_factor": 2.5,
    }
    for form in (preset, dict(preset.values), pd.Series(dict(preset.values)), short, pd.Series(short, dtype=object)):
        pd.testing.assert_frame_equal(rs.infer(form).verdicts.drop(columns=["why", "prices"]), base, rtol=1e-12)


def test_everything_that_is_assumed_is_listed_with_its_source() -> None:
    result = rs.infer(OPUS)
    table = result.assumptions
    assert (table["source"].str.len() > 5).all()
    assert not table["given"].any()
    assert {
        "active_parameters",
        "relative_markup",
        "traffic_exponent",
        "threshold_alignment",
        "chip_price",
        "rounding",
    } <= set(table.index)
    given = rs.infer(OPUS, active_parameters=(50e9, 200e9), hardware="H100").assumptions
    assert given.loc["active_parameters", ["low", "high", "given"]].tolist() == [50e9, 200e9, True]
    assert "H100" in given.loc["hbm_bandwidth", "source"]
    assert "total_parameters" not in given.index  # the lecture's total goes with its active ones
    assert rs.infer(OPUS, active_parameters=50e9)["batch_size"].verdict == "not determined"


def test_what_is_known_narrows_and_what_is_not_widens() -> None:
    base, wide = rs.infer(OPUS), rs.infer(OPUS, relative_markup=(0.4, 2.5), rounding=0.05)
    known = rs.infer(OPUS, relative_markup=(0.9, 1.1), traffic_exponent=(0.5, 1.5), rounding=0.01)
    for what in ("kv_bytes_per_token", "decode_cost_ratio", "hold_price"):
        assert wide[what].low <= base[what].low <= known[what].low
        assert known[what].high <= base[what].high <= wide[what].high


def test_the_cache_goes_with_the_size_of_the_model() -> None:
    one, ten = rs.infer(OPUS, active_parameters=20e9), rs.infer(OPUS, active_parameters=200e9)
    for end in ("low", "nominal", "high"):
        assert getattr(ten["kv_bytes_per_token"], end) == pytest.approx(10 * getattr(one["kv_bytes_per_token"], end))
    assert ten["decode_cost_ratio"] == one["decode_cost_ratio"]


def test_what_a_model_states_of_its_own_machine_is_left_out() -> None:
    """The lecture's model states the balance of its chips and a KV cache.

    The first is given by the H100, and the second is inferred.
    """
    parameters = {"active_parameters": 100e9, "total_parameters": 800e9, "bytes_per_weight": 1}
    result, plain = (rs.infer(OPUS, hardware="H100", **model) for model in ({"model": "lecture"}, parameters))
    pd.testing.assert_frame_equal(result.verdicts, plain.verdicts)
    known = {"peak_flops": 300 * 8e12, "hbm_bandwidth": 8e12}
    assert result["batch_size"].low > 1.5 * rs.infer(OPUS, **known)["batch_size"].low  # 1979 / 3.35 operations a byte


@pytest.mark.usefixtures("fresh_catalogs")
def test_a_model_whose_cache_is_not_known_is_not_compared(tmp_path: Path) -> None:
    path = tmp_path / "mine.toml"
    model = '[models.{0}]\nsources = [{{ source = "paper", date = "2026", read = true }}]\n[models.{0}.values]\n{1}\n'
    path.write_text(
        model.format("Whole", 'layers = 4\nkv_heads = 2\nhead_size = 64\nkv_format = "fp8"')
        + model.format("Half", "layers = 4")
    )
    rs.load_presets(path)
    names = set(rs.infer(OPUS).architectures["name"])
    assert "Whole" in names
    assert "Half" not in names


def test_architectures_have_the_cache_that_was_inferred() -> None:
    result = rs.infer(OPUS)
    table = result.architectures
    kv = result["kv_bytes_per_token"]
    shapes = table[table["kind"] == "shape"]
    assert len(shapes) > 20
    assert shapes["kv_bytes_per_token"].between(kv.low, kv.high).all()
    cached = shapes["layers"] / shapes["sharing"]
    size = {"bf16": 2, "fp8": 1, "fp4": 0.5}
    elements = shapes["kv_latent_size"].fillna(2 * shapes["kv_heads"] * shapes["head_size"])
    assert (cached * elements * shapes["kv_format"].map(size)).to_numpy() == pytest.approx(shapes["kv_bytes_per_token"])
    # the lecture's: one KV cache for all layers, eight heads of 128, a byte each
    lecture = {"kv_heads": 8, "head_size": 128, "kv_format": "fp8"}
    shared = shapes[shapes["layers"] == shapes["sharing"]]
    assert (shared[list(lecture)] == pd.Series(lecture)).all(axis=1).any()
    published = table[table["kind"] == "published"].set_index("name")
    assert published.loc["DeepSeek-V3", "kv_bytes_per_token"] == 70_272
    assert not published.loc["DeepSeek-V3", "fits"]
    assert published.loc["DeepSeek-V3", "ratio"] > 20
    assert (rs.infer(LIST).architectures["kind"] == "published").all()


def test_the_picture_shows_the_intervals() -> None:
    result = rs.infer(OPUS)
    ax = result.plot()
    kv = result["kv_bytes_per_token"]
    (band,) = [patch for patch in ax.patches if patch.get_label() == "verdict"]
    assert (band.get_x(), band.get_x() + band.get_width()) == pytest.approx((kv.low, kv.high))
    lines = {str(line.get_label()): line for line in ax.get_lines()}
    hbm = result.tiers.loc["HBM"]
    assert lines["hold price, HBM"].get_xdata() == pytest.approx((hbm["low"], hbm["high"]))
    assert ax.get_xscale() == "log"
    rs.infer(LIST).plot()


# ------------------------------------------------------------------------------------------------------------ bad input

BAD: list[tuple[Any, dict[str, Any], type[Exception], str]] = [
    ({"input": "$5/Mtok"}, {}, MissingInput, "expected 'output_price'.*got input_price"),
    ({}, {}, MissingInput, "expected 'input_price'.*got nothing"),
    ({**LIST, "input": "-$5/Mtok"}, {}, ValueRangeError, "input_price must be > 0"),
    ({**LIST, "output": 0}, {}, ValueRangeError, "output_price must be > 0"),
    ({**LIST, "input": math.nan}, {}, ValueRangeError, "input: expected a price, got NaN"),
    ({**LIST, "cache_read": math.inf}, {}, ValueRangeError, "cache_read_price must be"),
    ({**LIST, "input": 5}, {}, ValueRangeError, r"dollars per token.*\$5/Mtok"),
    ({**LIST, "input": "5 s"}, {}, UnitError, "input_price"),
    ({**LIST, "input": True}, {}, InputTypeError, "input: expected one number"),
    ({**LIST, "imput": "$5/Mtok"}, {}, UnknownName, "did you mean 'input'"),
    ({**LIST, "input_price": "$5/Mtok"}, {}, InputTypeError, "input_price is given twice"),
    ({**LIST, "long_output": "$30/Mtok"}, {}, MissingInput, "needs 'long_context_threshold'"),
    ({**LIST, "cache_write": "$6/Mtok"}, {}, MissingInput, "needs 'cache_write_time'"),
    ({**LIST, "long_context_threshold": "2M"}, {}, ValueRangeError, "below longest_context.*Swap"),
    ({**LIST, "long_context_threshold": 500}, {}, ValueRangeError, "above shortest_context.*Swap"),
    (
        {
            **LIST,
            "cache_write_price": 6e-6,
            "cache_write_time": "1 h",
            "long_cache_write_price": 9e-6,
            "long_cache_write_time": "5 min",
        },
        {},
        ValueRangeError,
        "longer than cache_write_time.*Swap",
    ),
    ("Claude Opus 4.55", {}, UnknownName, r"did you mean.*Claude Opus 4\.5"),
    (rs.models["DeepSeek-V3"], {}, PresetError, "model preset, expected one of rs.api_prices"),
    (17, {}, InputTypeError, "expected the name of a preset"),
    (LIST, {"rounding": -0.1}, ValueRangeError, "rounding must be a fraction"),
    (LIST, {"rounding": math.nan}, ValueRangeError, "rounding must be a fraction"),
    (LIST, {"tiers": "HBN"}, UnknownName, "did you mean 'HBM'"),
    (LIST, {"tiers": []}, AxisError, "tiers: expected names of rs.storage, got an empty list"),
    (LIST, {"tiers": [3]}, InputTypeError, "tiers: expected names"),
    (
        LIST,
        {"relative_markup": (2, 1)},
        ValueRangeError,
        "relative_markup: got the range .* expected the lower end first",
    ),
    (LIST, {"relative_markup": (1, 2, 3)}, InputTypeError, "expected a range of two ends"),
    (LIST, {"active_parameters": [1e9, 2e9]}, AxisError, "one list in one scenario.*active_parameters"),
    (LIST, {"active_parameter": 1e9}, UnknownName, "active_parameters"),
    (LIST, {"active_parameters": -1}, ValueRangeError, "active_parameters must be > 0"),
    (LIST, {"kv_bytes_per_token": 70e3}, InputTypeError, "kv_bytes_per_token is inferred from the prices"),
    (LIST, {"output_price": 1e-6}, InputTypeError, "output_price is a price of the list"),
    (LIST, {"overlap": "none"}, ValueRangeError, "overlap='board'"),
    (LIST, {"hardware": "H1000"}, UnknownName, "H100"),
    (LIST, {"hardware": "TPU 8i"}, MissingInput, "'peak_flops' .* or 'peak_flops_bf16' "),
    (LIST, {"weight_format": ("fp8", "fp4")}, InputTypeError, "choices have no order"),
]


@pytest.mark.parametrize(("prices", "inputs", "error", "said"), BAD, ids=range(len(BAD)))
def test_what_is_wrong_is_named_before_any_work(
    prices: Any, inputs: dict[str, Any], error: type[Exception], said: str
) -> None:
    with pytest.raises(error, match=said):
        rs.infer(prices, **inputs)
