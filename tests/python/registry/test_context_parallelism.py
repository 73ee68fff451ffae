"""Context parallelism in prefill: the published run, hidden transfers, and effects."""

from __future__ import annotations

from typing import Any

import pytest
import roofslate as rs
from roofslate.presets.layouts import check_layout

# Llama 3 405B on 16 servers of 8 H100; 800 TFLOP/s a chip, of which 63% were reached (arXiv 2411.01783).
LONG: dict[str, Any] = {
    "model": "Llama-3.1-405B", "weight_format": "bf16", "kv_format": "bf16", "hardware": "H100", "chips": 128,
    "tensor_parallel": 8, "attention_data_parallel": 16, "input_tokens": 1_000_000, "arithmetic": "full",
    "peak_flops_bf16": 800e12, "compute_efficiency": 0.63,
}  # fmt: skip
RING = {"prefill_context_parallel": 16}


def test_a_million_tokens_on_128_chips() -> None:
    """Published: 77 s, 93% scaling efficiency, 63% of the peak. By hand 76 s."""
    time = rs.value("prefill_latency", LONG, **RING)
    assert time == pytest.approx((8.1e17 + 4.1e18) / (128 * 800e12 * 0.63), rel=0.01)
    assert time == pytest.approx(77, rel=0.01)
    assert rs.value("exposed_ring_time", LONG, **RING, communication="exposed") == 0  # 1e6 against 10,080
    alone = rs.value("prompt_work_time", LONG)
    assert alone / rs.value("prompt_work_time", LONG, **RING) == pytest.approx(16, rel=1e-9)
    assert rs.value("prefill_time", LONG, **RING) == rs.value("prefill_time", LONG)  # throughput is the same


def test_one_group_changes_no_bit() -> None:
    for outcome in ("prefill_latency", "prefill_time", "prompt_work_time"):
        assert rs.value(outcome, LONG, prefill_context_parallel=1) == rs.value(outcome, LONG)


def test_attention_hides_the_ring_from_the_published_bound_on() -> None:
    """(T/G) (heads/kv heads) 2/bytes >= peak/bandwidth: 630 tokens a group here."""
    bound = 800e12 * 0.63 / 50e9 / (128 / 8)
    given = {**LONG, **RING, "communication": "exposed"}
    below, above = (rs.value("exposed_ring_time", {**given, "input_tokens": 16 * bound * x}) for x in (0.999, 1.001))
    assert below > 0
    assert above == 0
    short = {**given, "input_tokens": 16 * bound / 2}
    hop = bound / 2 * rs.value("kv_bytes_per_token", LONG) / (8 * 50e9)
    assert rs.value("exposed_ring_time", short) == pytest.approx(15 * hop / 2, rel=1e-9)
    assert rs.value("exposed_ring_time", {**short, "communication": "free"}) == 0


def test_queries_go_around_where_few_tokens_are_new() -> None:
    """New tokens below 2 kv heads/heads of all: an eighth here."""
    given = {**LONG, **RING, "communication": "exposed", "input_tokens": 32_000, "scale_out_bandwidth": "1 GB/s"}
    for share, payload in ((0.2, "caches"), (0.126, "caches"), (0.124, "queries"), (0.01, "queries")):
        times = {
            word: rs.value("exposed_ring_time", given, prefix_hit_rate=1 - share, ring_payload=word)
            for word in ("fewest_bytes", "caches", "queries")
        }
        assert times["fewest_bytes"] == times[payload] > 0
        assert times["caches"] != times["queries"]


def test_shared_prompts_act_on_first_tokens_and_throughput() -> None:
    given = {
        **LONG, "weight_format": "fp8", "input_tokens": 32_000, "output_tokens": 100, "communication": "exposed",
    }  # fmt: skip
    for outcome, load in (
        ("time_to_first_token", {"concurrency": 16}),
        ("time_to_first_token_p99", {"arrival_rate": 0.1}),
        ("time_to_first_token_p50", {"arrival_rate": 0.1}),
    ):
        assert rs.value(outcome, given, **load, **RING) < rs.value(outcome, given, **load), outcome
    part = {"prefill_context_parallel": 2}
    slow = {**given, "scale_out_bandwidth": "0.1 GB/s"}
    exposed = rs.value("exposed_ring_time", slow, **part)
    added = rs.value("prefill_time", slow, **part) - rs.value("prefill_time", slow)
    assert added == pytest.approx(exposed * 2 / 16, rel=1e-6)
    assert exposed > 0


def test_memory_says_that_it_does_not_depend_on_it() -> None:
    load = {**LONG, "output_tokens": 100, "concurrency": 1}
    with pytest.warns(rs.errors.UnusedInput, match="'prefill_context_parallel' does not enter hbm_used"):
        assert rs.value("hbm_used", load, **RING) == rs.value("hbm_used", load)


def test_groups_divide() -> None:
    with pytest.raises(rs.errors.ValueRangeError, match="attention_data_parallel"):
        rs.value("prefill_latency", LONG, prefill_context_parallel=32)
    layout = {"chips": 128, "tensor_parallel": 8, "attention_data_parallel": 16}
    check_layout({**layout, "prefill_context_parallel": 4}, {"attention_heads": 128})
    with pytest.raises(rs.errors.ValueRangeError, match="does not divide attention_data_parallel 16"):
        check_layout({**layout, "prefill_context_parallel": 3}, {"attention_heads": 128})


def test_deploy_searches_the_groups_that_are_given() -> None:
    plan = rs.deploy(
        objective="time_to_first_token", model="Llama-3.1-70B", weight_format="fp8", kv_format="bf16", hardware="H100",
        chips=16, tensor_parallel=8, attention_data_parallel=2, prefill_context_parallel=[1, 2], concurrency=2,
        input_tokens=100_000, output_tokens=100,
    )  # fmt: skip
    assert plan.best["prefill_context_parallel"] == 2
