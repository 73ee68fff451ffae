"""Open questions of the lecture: limits and laws of their models."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given
from hypothesis import strategies as st

RACK: dict[str, Any] = {"model": "DeepSeek-V3 (lecture)", "hardware": "BW72 (lecture)", "prices": "lecture"}
CACHE: dict[str, Any] = {"hidden_kv_bytes": 1e8, "kv_bytes_per_token": 1e3}
LONG = {"batch_size": 256, "context_length": "100k"}


def test_speculation_without_a_draft_is_decoding() -> None:
    """Question 2."""
    inputs = {**RACK, **LONG}
    none = {**inputs, "draft_length": 0, "acceptance_rate": 0.7, "draft_cost": 0.2}
    assert rs.value("acceptance_length", none) == 1
    for name in ("pass_time", "round_time", "cost_per_token", "replica_throughput"):
        assert rs.value(name, none) == rs.value(name, inputs)


@pytest.mark.parametrize(("rate", "length", "cost"), [(0.85, 2, 0.03), (0.8, 5, 0.1)])
def test_speculation_between_its_two_limits(rate: float, length: int, cost: float) -> None:
    given = {**RACK, "context_length": "10k", "acceptance_rate": rate, "draft_cost": cost, "expert_reads": "all"}
    alone, drafted = {"draft_length": 0}, {"draft_length": length - 1}
    few, one = (rs.value("cost_per_token", {**drafts, **given}, batch_size=1) for drafts in (drafted, alone))
    assert one / few == pytest.approx(rs.value("speculation_speedup", {**drafted, **given}), rel=1e-3)
    many = {"batch_size": 20_000, **given, "draft_cost": 0, "context_length": 0}
    dearer = rs.value("cost_per_token", {**drafted, **many}) / rs.value("cost_per_token", {**alone, **many})
    assert dearer == pytest.approx(rs.value("speculation_compute_factor", {**drafted, **given}), rel=1e-9)


def test_speculation_reads_less_of_the_cache_and_needs_smaller_batches() -> None:
    given = {**RACK, "context_length": "10k", "acceptance_rate": 0.8, "draft_length": 4}
    tokens = rs.evaluate("emitted_length", {**given, "draft_length": [0, 4]})
    assert float(tokens[1] / tokens[0]) == pytest.approx(3.3616)  # of one read of the KV cache
    batches = rs.evaluate("balance_batch", {**given, "draft_length": [0, 4]})
    assert float(batches[0] / batches[1]) == pytest.approx(5)
    touched = rs.evaluate("expert_coverage", {**given, "draft_length": [0, 1], "batch_size": 32})
    assert touched.values == pytest.approx([1 - (31 / 32) ** 32, 1 - (31 / 32) ** 64])


@given(
    g=st.floats(0, 1),
    window=st.floats(1, 1e6),
    selected=st.floats(1, 1e6),
    index=st.one_of(st.just(0.0), st.floats(1, 1e3)),
    factor=st.floats(0.01, 1),
)
def test_at_the_balance_context_what_is_read_is_what_compute_hides(
    g: float, window: float, selected: float, index: float, factor: float
) -> None:
    """Question 4."""
    inputs = {
        **CACHE,
        "kv_read_factor": factor,
        "windowed_kv_share": 1 - g,
        "attention_window": window,
        "selected_tokens": selected,
        "index_bytes_per_token": index,
    }
    context = rs.value("balance_context", inputs)
    if context == np.inf:
        assert rs.value("kv_read_bytes", inputs, context_length=1e15) <= 1e8 * (1 + 1e-9)
    else:
        assert rs.value("kv_read_bytes", inputs, context_length=context) == pytest.approx(1e8, rel=1e-9)


def test_a_technique_that_is_off_changes_no_bit() -> None:
    inputs = {**RACK, **LONG}
    off = {
        "kv_compression": 1,
        "kept_token_share": 1,
        "windowed_kv_share": [0],
        "attention_window": 1000,
        "selected_tokens": [np.inf],
        "index_bytes_per_token": [0],
        "recurrent_state_bytes": [0],
    }
    outputs = ["pass_time", "cost_per_token", "balance_context", "balance_batch_at_context", "kv_fetch_time"]
    for overlap in ("board", "serial_kv", "none"):
        plain, without = (rs.evaluate(outputs, {**inputs, **more}, overlap=overlap) for more in ({}, off))
        for name in outputs:
            assert float(without[name].squeeze()) == float(plain[name]), name


def test_a_technique_is_a_model_that_can_be_compared() -> None:
    names = ["KIVI", "CLA2", "MQA", "H2O", "NSA", "Character.AI", "FP8 cache"]
    models = ["Llama-3.1-70B", *(f"Llama-3.1-70B {name}" for name in names)]
    expected = ["kv_read_bytes", "kv_stored_bytes", "balance_context", "cost_per_token", "memory_limited_batch"]
    table = rs.evaluate(
        expected, model=models, hardware="B200", prices="lecture", chips=8, batch_size=24, context_length=["8k", "128k"]
    )
    plain = table.isel(model=0)
    assert (table["kv_read_bytes"] <= plain["kv_read_bytes"]).all()
    assert (table["cost_per_token"] <= plain["cost_per_token"]).all()
    unselected = table.drop_sel(
        model="Llama-3.1-70B NSA"
    )  # an index costs more than it saves where the context is short
    assert (unselected["balance_context"] >= plain["balance_context"]).all()
    sparse = table.sel(model="Llama-3.1-70B NSA", context_length=128e3)
    assert sparse["kv_read_bytes"] < 0.1 * plain["kv_read_bytes"].sel(context_length=128e3)
    assert sparse["kv_stored_bytes"] > plain["kv_stored_bytes"].sel(context_length=128e3)
    shared = table.sel(model="Llama-3.1-70B CLA2", context_length=128e3)
    assert shared["kv_read_bytes"] == plain["kv_read_bytes"].sel(context_length=128e3)
    assert shared["memory_limited_batch"] == pytest.approx(
        2 * float(plain["memory_limited_batch"].sel(context_length=128e3))
    )


def test_block_length_is_the_best_one() -> None:
    inputs = {"context_length": 1e8, "selected_blocks": 64}
    best = rs.value("best_block_length", inputs)
    read = rs.evaluate("block_attended_tokens", inputs, block_length=best * np.array([0.5, 0.99, 1, 1.01, 2]))
    assert int(np.argmin(read.values)) == 2


def test_attention_balances_where_its_arithmetic_is_that_of_the_weights() -> None:
    for model in ("Llama-3.1-70B", "DeepSeek-V3", "gpt-oss-120b"):
        context = rs.value("attention_balance_context", model=model)
        assert rs.value("attention_to_weight_flops", model=model, context_length=context) == pytest.approx(1)


def test_policies_trade_memory_for_arithmetic() -> None:
    """Question 7."""
    inputs = {"tokens_per_step": 4e6, "layers": 64, "hidden_size": 8192}
    policies = ["all", "selective", "block", "reversible"]
    memory = [rs.value("activation_bytes", inputs, activation_policy=policy) for policy in policies]
    work = [rs.value("executed_training_flops", activation_policy=policy, active_parameters=1) for policy in policies]
    assert memory == sorted(memory, reverse=True)
    assert work == pytest.approx([6, 6, 8, 8])
    deeper = rs.evaluate("activation_bytes", {**inputs, "layers": [1, 64, 1000]}, activation_policy="reversible")
    assert deeper.values == pytest.approx([memory[3]] * 3)


def test_the_best_sparsity_is_what_users_and_memory_give_for_nothing() -> None:
    """Question 8."""
    given = {"balance_tokens": 300, "batch_size": 9600, "active_parameters": 37e9, "bytes_per_weight": 0.5}
    free = rs.value("free_sparsity", given, hardware="BW72 (lecture)")
    assert free == 32
    experts = np.array([1, 2, 4, 8, 16, 32, 64, 128, 256])
    values = [rs.value("gain_per_cost", given, experts=int(x), sparsity=float(x)) for x in experts]
    assert experts[int(np.argmax(values))] == free
    assert rs.value("free_sparsity", {**given, "bytes_per_weight": 20}, hardware="BW72 (lecture)") == pytest.approx(
        13.824e12 / (20 * 37e9)
    )


def test_energy_and_its_price_scale_with_the_site() -> None:
    """Question 9."""
    rack = {"hardware": "GB200 NVL72", "replica_throughput": 128e3, "electricity_price": "0.08 USD/kWh"}
    plain, site = (rs.value("energy_per_token", rack, power_usage_effectiveness=pue) for pue in (1, 1.2))
    assert site == pytest.approx(1.2 * plain)
    assert plain == pytest.approx(72 * 1200 / 128e3)
    assert rs.value("energy_per_request", rack, request_throughput=128e3 / 500) == pytest.approx(500 * plain)
    assert rs.value("energy_per_request", rack, request_throughput=256, prefill_load=0.5) == pytest.approx(750 * plain)


def test_share_of_memory_follows_from_its_price() -> None:
    """Question 10."""
    given = {"hbm_capacity": "192 GB", "hbm_price": 2900 / 192e9, "chip_capital": 35000}
    assert rs.value("hbm_share", given) == pytest.approx(0.0829, rel=1e-3)
    assert rs.value("hbm_share", given, hbm_markup=3.62) == pytest.approx(0.3, rel=1e-2)


def test_efficiencies_move_the_balance_batch() -> None:
    """Question 12: two to three balance batches if memory is less efficient than compute.

    Efficient means the achieved fraction of peak.
    """
    ideal = rs.value("balance_batch", RACK)
    real = rs.value("balance_batch", RACK, compute_efficiency=0.75, bandwidth_efficiency=0.3)
    assert real / ideal == pytest.approx(2.5)
    times = [rs.value("pass_time", {**RACK, **LONG}, overlap=overlap) for overlap in ("board", "serial_kv", "none")]
    assert times[0] <= times[1] <= times[2] <= 2 * times[0]
