"""Chapters 5 and 6: overtraining, loss laws, contexts, memory tiers, and price lists.

Also the questions that the lecture leaves open.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs

TRAINED = {"model": "lecture training"}

# -------------------------------------------------------------------------------------- question 5: levers of the 100


@pytest.mark.parametrize(
    ("changed", "value", "ratio"),
    [
        ("model_token_rate", "10 Mtok/s", 25.92),
        ("model_token_rate", "500 Mtok/s", 1296),
        ("model_lifetime", "30 d", 64.8),
        ("model_lifetime", "365 d", 788.4),
        ("decode_inefficiency", 1, 43.2),
        ("decode_inefficiency", 5, 216),
        ("active_parameters", 30e9, 432),
        ("active_parameters", 300e9, 43.2),
        ("optimal_tokens_per_parameter", 10, 259.2),
        ("optimal_tokens_per_parameter", 118, 21.97),
        ("deployment_probability", 0.5, 64.8),
    ],
)
def test_sensitivity_of_overtraining(changed: str, value: Any, ratio: float) -> None:
    assert rs.value("overtraining_ratio", {**TRAINED, changed: value}) == pytest.approx(ratio, rel=1e-3)


def test_balanced_buckets_cost_the_same() -> None:
    buckets = rs.evaluate(["pretraining_flops", "rl_flops", "inference_flops", "inference_flops_share"], TRAINED)
    assert float(buckets["rl_flops"]) == pytest.approx(float(buckets["pretraining_flops"]), rel=1e-12)
    assert float(buckets["inference_flops"]) == pytest.approx(float(buckets["pretraining_flops"]), rel=1e-12)
    assert float(buckets["inference_flops_share"]) == pytest.approx(1 / 3, rel=1e-12)


def test_decode_inefficiency_is_not_a_utilization() -> None:
    with pytest.raises(rs.RoofslateError, match="decode_inefficiency"):
        rs.value("pretraining_rl_token_ratio", rl_flops_per_parameter=3, decode_inefficiency=1 / 3)


def test_least_cost_is_the_least() -> None:
    powers = {"rising_coefficient": 0.7, "falling_coefficient": 11, "rising_exponent": 1.6, "falling_exponent": 0.4}
    best, cost = (rs.value(name, powers) for name in ("least_cost_effort", "least_cost"))
    x = best * np.linspace(0.5, 2, 2001)
    assert cost <= (0.7 * x**1.6 + 11 * x**-0.4).min()
    assert rs.value("least_cost_ratio", powers) == pytest.approx(0.4 / 1.6, rel=1e-12)


# ---------------------------------------------------------------------------------------------------------- loss laws


def test_table_of_optima() -> None:
    table = rs.scaling.optimum(**TRAINED, inference_tokens=200e12)
    hoffmann, besiroglu = table.loc["Hoffmann"], table.loc["Besiroglu"]
    assert hoffmann["optimal_pretraining_tokens"] == pytest.approx(176.6e12, rel=5e-4)
    assert hoffmann["overtraining_ratio"] == pytest.approx(88.3, rel=5e-4)
    assert hoffmann["compute_optimal_tokens_per_parameter"] == pytest.approx(118.1, rel=5e-4)
    assert hoffmann["optimal_overtraining"] == pytest.approx(15, rel=5e-3)
    assert hoffmann["equal_cost_overtraining"] == pytest.approx(11.9, rel=5e-3)
    assert hoffmann["optimal_inference_training_ratio"] == pytest.approx(1.13, rel=5e-3)
    assert hoffmann["training_optimal_parameters"] == pytest.approx(275e9, rel=5e-3)
    assert hoffmann["optimal_lifetime_saving"] == pytest.approx(0.43, rel=5e-3)
    assert besiroglu["optimal_pretraining_tokens"] == pytest.approx(70.8e12, rel=5e-4)
    assert besiroglu["compute_optimal_tokens_per_parameter"] == pytest.approx(18.1, rel=5e-4)
    assert besiroglu["equal_cost_overtraining"] == pytest.approx(6.65, rel=5e-3)
    assert besiroglu["optimal_inference_training_ratio"] == pytest.approx(2.82, rel=5e-3)
    assert table.attrs["units"]["optimal_pretraining_tokens"] == "token"


def test_one_law_or_several() -> None:
    requested: dict[str, Any] = {"active_parameters": 1e9, "inference_tokens": 1e12, "decode_inefficiency": 1}
    assert list(rs.scaling.optimum("Besiroglu", **requested).index) == ["Besiroglu"]
    assert list(rs.scaling.optimum(["Besiroglu", "Hoffmann"], **requested).index) == ["Besiroglu", "Hoffmann"]
    with pytest.raises(rs.errors.UnknownName, match="Hoffmann"):
        rs.scaling.optimum("Hofmann", **requested)


@pytest.mark.parametrize("name", ["Hoffmann", "Hoffmann unrounded", "Hoffmann by Sardana", "Besiroglu"])
def test_no_other_size_is_cheaper_for_the_loss(name: str) -> None:
    law: dict[str, Any] = dict(rs.loss_laws[name].values)
    served, inefficiency = 200e12, 3.0
    best = rs.scaling.optimum(
        name, active_parameters=100e9, inference_tokens=served, decode_inefficiency=inefficiency
    ).iloc[0]
    size = 100e9 * np.exp(np.linspace(-0.2, 2, 4001))
    remaining_loss = (
        best["pretraining_loss"]
        - law["irreducible_loss"]
        - law["loss_size_coefficient"] * size ** -law["loss_size_exponent"]
    )
    tokens = (law["loss_data_coefficient"] / remaining_loss) ** (1 / law["loss_data_exponent"])
    cost = 6 * size * tokens + 2 * inefficiency * size * served
    ours = 6 * 100e9 * best["optimal_pretraining_tokens"] + 2 * inefficiency * 100e9 * served
    assert size[np.argmin(cost)] == pytest.approx(100e9, rel=1e-3)
    assert ours == pytest.approx(cost.min(), rel=1e-6)
    least_training = np.argmin(size * tokens)
    assert size[least_training] == pytest.approx(best["training_optimal_parameters"], rel=1e-3)
    assert 1 - ours / cost[least_training] == pytest.approx(best["optimal_lifetime_saving"], rel=1e-3)


def test_the_example_of_sardana() -> None:
    """Sardana et al. 2024: serving 2T tokens, a 7B model saves 17% relative to a 13B model.

    The 13B model is Chinchilla's.
    """
    best = rs.scaling.optimum(
        "Hoffmann by Sardana", active_parameters=7e9, inference_tokens=2e12, decode_inefficiency=1
    ).iloc[0]
    assert best["training_optimal_parameters"] == pytest.approx(13e9, rel=0.01)
    assert best["optimal_lifetime_saving"] == pytest.approx(0.17, abs=0.005)


@pytest.mark.parametrize("beta", [0.05, 0.28, 0.3658, 1, 4])
@pytest.mark.parametrize("k", [1e-12, 0.3, 1, 15.2, 1e6, 1e200])
def test_overtraining_optimum_solves_its_equation(beta: float, k: float) -> None:
    x = rs.value(
        "optimal_overtraining", loss_data_exponent=beta, balanced_pretraining_tokens=k, compute_optimal_tokens=1
    )
    assert x >= 1
    assert beta * math.log(x) == pytest.approx(math.log1p(k / x), rel=1e-9, abs=1e-12)


def test_equality_is_twice_the_marginal_gain() -> None:
    """The optimum spends as much on serving as on training where it over-trains by 2^(1/beta)."""
    factor = rs.value("equal_cost_overtraining", loss_data_exponent=0.28)
    x = rs.value(
        "optimal_overtraining", loss_data_exponent=0.28, balanced_pretraining_tokens=factor, compute_optimal_tokens=1
    )
    assert x == pytest.approx(factor, rel=1e-12)


# ------------------------------------------------------------------------------------------------ contexts and prices


def test_cost_against_context_is_the_pass_over_its_arithmetic() -> None:
    base = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "batch_size": 3000, "context_length": [0, 2e3, 1e4, 5e4]}
    for overlap in ("board", "serial_kv", "none"):
        got = rs.evaluate(["compute_floor_ratio", "pass_time", "compute_time"], base, overlap=overlap)
        expected = got["pass_time"] / got["compute_time"]
        np.testing.assert_allclose(got["compute_floor_ratio"], expected, rtol=1e-12)


def test_memory_takes_as_long_as_compute_at_the_kink() -> None:
    base: dict[str, Any] = {"model": "lecture", "batch_size": 7200}
    kink = rs.value("kink_context", base)
    assert kink == pytest.approx(133333.3, rel=1e-6)
    assert rs.value("memory_compute_ratio", base, context_length=kink) == pytest.approx(1, rel=1e-12)
    assert rs.value("balance_batch_at_context", base, context_length=kink) == pytest.approx(7200, rel=1e-12)


def test_bytes_from_the_kink_give_the_kink_back() -> None:
    base = {"active_parameters": 100e9, "hardware": "H100", "weight_format": "fp8", "weight_fetch_ratio": 0.25}
    q = rs.value("kv_bytes_from_kink", base, long_context_threshold="200k")
    assert rs.value("kink_context", base, kv_bytes_per_token=q) == pytest.approx(200e3, rel=1e-12)


def test_figure_of_cost_and_price() -> None:
    """The flashcards' figure: memory overtakes the second tier at 2.85 times the kink."""
    base: dict[str, Any] = {"model": "lecture", "weight_fetch_ratio": 0.5}
    end = rs.value("break_even_context", base, long_context_premium=1.54, price_margin=0.25)
    assert end / rs.value("kink_context", base) == pytest.approx(2.85, rel=1e-3)


@pytest.mark.parametrize("distribution", ["uniform", "log_uniform"])
def test_fair_premium_is_the_mean_cost(distribution: str) -> None:
    u = (np.arange(200_000) + 0.5) / 200_000
    contexts = 200e3 + 400e3 * u if distribution == "uniform" else 200e3 * 3**u
    premium = rs.value(
        "fair_long_context_premium",
        model="lecture",
        context_distribution=distribution,
        long_context_threshold="200k",
        longest_context="600k",
    )
    assert premium == pytest.approx((contexts / 200e3).mean(), rel=1e-6)


def test_attention_explains_the_doubled_input_price() -> None:
    prices = rs.api_prices["Gemini 3.1 Pro"].values
    width = rs.value("hidden_size_from_premium", prices)
    assert width == 12_500
    balance = rs.value("attention_balance_context_from_width", hidden_size=width)
    factor = rs.value("prefill_attention_factor", context_length="200k", attention_balance_context=balance)
    assert factor == rs.value("long_input_premium", prices) == 2
    assert rs.value("long_context_premium", prices) == 1.5


def test_prices_and_batch_there_and_back() -> None:
    base: dict[str, Any] = {"model": "lecture", "context_length": "60k"}
    batch = rs.value("batch_from_prices", base, output_price="12 USD/Mtok", input_price="2 USD/Mtok")
    assert rs.value("compute_floor_ratio", base, batch_size=batch) == pytest.approx(6, rel=1e-12)


# ------------------------------------------------------------------------------------------ question 13: mixed passes


def test_prefill_fills_what_decoding_leaves_idle() -> None:
    base: dict[str, Any] = {"model": "lecture", "batch_size": 480, "context_length": 0}
    assert rs.value("free_prefill_tokens", base) == pytest.approx(1920, rel=1e-12)
    share = rs.value("balancing_prefill_share", base)
    assert share == pytest.approx(1920 / 2400, rel=1e-12)
    cost = rs.evaluate("mixed_floor_ratio", base, prefill_share=[0, share / 2, share, 0.95])
    np.testing.assert_allclose(cost, [5, 3, 1, 1], rtol=1e-12)


def test_prompts_fill_the_arithmetic_that_memory_leaves_idle() -> None:
    base = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "batch_size": 500, "context_length": "8k"}
    free = rs.value("balancing_prefill_share", base)
    compute, memory = (rs.value(name, base) for name in ("compute_time", "memory_time"))
    assert compute / (1 - free) == pytest.approx(memory, rel=1e-12)


def test_replicas_for_prefill() -> None:
    """The scaling book: three prefill replicas per decode replica.

    A prompt takes 0.91 s, a step of 32 sequences 19 ms, an answer 512 tokens.
    """
    ratio = rs.value(
        "prefill_load",
        serving_mode="disaggregated",
        prefill_time="0.91 s",
        running_sequences=32,
        service_time=512 * 19e-3,
    )
    assert round(ratio) == 3


# -------------------------------------------------------------------------------------------------------------- tiers


def test_tiers_as_a_table() -> None:
    tiers = rs.storage.to_frame()[["tier_capacity", "tier_bandwidth", "tier_price"]].dropna()  # no links, no services
    table = rs.frame(
        tiers,
        ["tier_drain_time", "tier_cost", "tier_hold_cost", "tier_retrieve_cost"],
        model="lecture",
        hold_time="1 h",
    )
    assert table.loc["HDD", "tier_drain_time"] == pytest.approx(19.5 * 3600, rel=5e-3)
    assert table.loc["NVMe", "tier_drain_time"] == pytest.approx(549, rel=5e-3)
    assert table["tier_cost"].idxmin() == "NVMe"
    np.testing.assert_allclose(table["tier_cost"], table["tier_hold_cost"] + table["tier_retrieve_cost"], rtol=1e-15)
    drained = rs.frame(
        tiers.assign(hold_time=table["tier_drain_time"]), ["tier_hold_cost", "tier_retrieve_cost"], model="lecture"
    )
    np.testing.assert_allclose(drained["tier_hold_cost"], drained["tier_retrieve_cost"], rtol=1e-12)


@pytest.mark.parametrize(
    ("faster", "slower", "seconds"), [("HBM", "DDR", 0.0223), ("DDR", "NVMe", 5.55), ("NVMe", "HDD", 2.85 * 3600)]
)
def test_neighbours_cost_the_same_when_they_switch(faster: str, slower: str, seconds: float) -> None:
    faster_tier = rs.storage[faster].values
    slower_tier = {f"slower_{name}": value for name, value in rs.storage[slower].values.items()}
    moment = rs.value("tier_switch_time", {**faster_tier, **slower_tier})
    assert moment == pytest.approx(seconds, rel=5e-3)
    costs = [
        rs.value("tier_cost", rs.storage[name].values, hold_time=moment, model="lecture") for name in (faster, slower)
    ]
    assert costs[0] == pytest.approx(costs[1], rel=1e-9)


def test_computing_again_against_a_tier() -> None:
    base: dict[str, Any] = {"model": "lecture", "hardware": "B200 (lecture)", "prices": "lecture"}
    flash = rs.storage["flash"].values
    hold = rs.value("tier_recompute_hold_time", {**base, **flash})
    assert rs.value("tier_cost", {**base, **flash}, hold_time=hold) == pytest.approx(rs.value("recompute_cost", base))
    hbm = rs.value("recompute_hold_time", base)
    assert rs.value("hbm_hold_cost", base, hold_time=hbm) == pytest.approx(rs.value("recompute_cost", base))


def test_recomputation_counts_attention_where_arithmetic_is_full() -> None:
    chip: dict[str, Any] = {"hardware": "HGX H200", "prices": "lecture", "weight_format": "bf16"}
    dense = {**chip, "model": "Llama-3.1-70B"}
    board = rs.value("recompute_cost", dense)
    full = {
        length: rs.value("recompute_cost", dense, arithmetic="full", context_length=length) for length in (0, 1e3, 1e5)
    }
    assert full[0] == board
    # A token of the prompt attends to half of it on average, as one decoded at half of the context.
    for length in (1e3, 1e5):
        share = rs.value("attention_to_weight_flops", dense, context_length=length / 2)
        assert full[length] == pytest.approx(board * (1 + share), rel=1e-12)
    holds = {
        length: rs.value("recompute_hold_time", dense, arithmetic="full", context_length=length)
        for length in (1e3, 1e5)
    }
    assert holds[1e5] / holds[1e3] == pytest.approx(full[1e5] / full[1e3])
    with pytest.warns(rs.errors.UnusedInput, match="leaves it out"):
        assert rs.value("recompute_cost", dense, context_length=1e5, arithmetic="weights") == board


def test_recomputation_with_selection_or_windows_costs_less() -> None:
    system: dict[str, Any] = {"hardware": "HGX H200", "prices": "lecture", "arithmetic": "full", "context_length": 1e5}
    costs = [rs.value("recompute_cost", system, model=name) for name in ("DeepSeek-V3", "DeepSeek-V3.2")]
    assert costs[1] < 0.3 * costs[0]
    windows = {"windowed_attention_layers": 40, "attention_window": 1000}
    wide, narrow = (
        rs.value("recompute_attention_flops", system, model="Llama-3.1-70B", **more) for more in ({}, windows)
    )
    assert narrow == pytest.approx(wide * (1 + 0.02) / 2, rel=1e-3)


# ------------------------------------------------------------------------------------------------------------ tariffs


def test_tariffs_have_dates() -> None:
    for tariff in rs.api_prices.values():
        assert {"input_price", "output_price"} <= set(tariff.values)
        if tariff.name != "lecture":
            announced = str(tariff.valid_from) > "2026-11-22"
            assert tariff.facts["input_price"].date == ("2026-11" if announced else tariff.valid_from)
            assert getattr(tariff, "valid_until", "9999") >= tariff.valid_from
    assert rs.api_prices["Claude Opus 4.6 until 2026-03-12"].valid_until == "2026-03-12"
    assert rs.api_prices["Claude Opus 4.6 until 2026-08-05"].valid_from == "2026-03-13"
    assert rs.api_prices["Claude Opus 4.6"].valid_from == "2026-08-06"


@pytest.mark.parametrize(
    ("name", "quantity", "expected"),
    [
        ("Claude Opus 4.6", "output_input_ratio", 5),
        ("Claude Opus 4.6", "cache_write_factor", 1.25),
        ("Claude Opus 4.6", "long_cache_write_factor", 2),
        ("Claude Opus 4.6", "cache_read_factor", 0.1),
        ("Claude Opus 4.6", "cache_write_read_ratio", 12.5),
        ("Claude Opus 4.6", "implied_storage_price", 3.75e-6 / 3300),
        ("Claude Opus 4.6 until 2026-08-05", "lowest_price_factor", 1.8 / 2.8),
        ("Claude Opus 5.5", "lowest_price_factor", 0.75),
        ("Gemini 3.1 Pro", "output_input_ratio", 6),
        ("lecture", "long_context_premium", 1.5),
        ("lecture", "cache_read_factor", 0.1),
    ],
)
def test_ratios_of_published_prices(name: str, quantity: str, expected: float) -> None:
    assert rs.value(quantity, rs.api_prices[name].values) == pytest.approx(expected, rel=1e-12)


def test_two_tariffs_agree_on_storage() -> None:
    claude = rs.value("implied_storage_price", rs.api_prices["Claude Opus 4.6"].values)
    gemini = rs.api_prices["Gemini 3.1 Pro"]["cache_storage_price"]
    assert isinstance(gemini, float)
    assert abs(claude / gemini - 1) < 0.1


def test_tariffs_as_a_table() -> None:
    charted = {name for name, tariff in rs.api_prices.items() if "api_prices_2026" not in tariff.origin}
    tariffs = (
        rs.api_prices.to_frame()
        .loc[lambda table: [name in charted for name in table.index]][
            ["input_price", "output_price", "long_input_price", "long_output_price"]
        ]
        .dropna()
    )
    table = rs.frame(tariffs, ["output_input_ratio", "long_context_premium", "long_input_premium"])
    assert set(table["long_context_premium"].round(9)) == {1.5, 5.0}
    assert (table["long_input_premium"] >= 2).all()
    assert table.loc["Gemini 2.5 Pro", "output_input_ratio"] == 8
