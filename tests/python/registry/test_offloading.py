"""Weights and KV cache in host memory: waits of a pass, free capacity, and swaps."""

from __future__ import annotations

from typing import Any

import pytest
import roofslate as rs

SERVED: dict[str, Any] = {
    "model": "Llama-3.1-70B", "weight_format": "bf16", "kv_format": "bf16", "hardware": "H100", "chips": 8,
    "tensor_parallel": 8, "input_tokens": 2000, "output_tokens": 300, "chip_price": "2 USD/h",
    "calibration": "serving",
}  # fmt: skip
LINK = {"host_bandwidth": "50 GB/s"}
OUTCOMES = ["pass_time", "time_per_output_token", "time_to_first_token", "cost_per_output_token"]
PERCENTILES = ["time_to_first_token_p99", "time_per_output_token_p99", "inter_token_latency_p50"]


def test_nothing_off_loaded_changes_no_bit() -> None:
    for outcome in [*OUTCOMES, "memory_limited_sequences", "hbm_used"]:
        load = {**SERVED, "concurrency": 64}
        none = {"offloaded_weight_fraction": 0, "offloaded_kv_fraction": 0}
        assert rs.value(outcome, {**load, **none}) == rs.value(outcome, load)


@pytest.mark.parametrize("name", ["offloaded_weight_fraction", "offloaded_kv_fraction"])
def test_what_is_off_loaded_makes_room_and_takes_time(name: str) -> None:
    bare, off = (
        rs.evaluate([*OUTCOMES, "memory_limited_sequences", "hbm_used"], SERVED, concurrency=64, **given)
        for given in ({}, {name: 0.5, **LINK})
    )
    for outcome in OUTCOMES:
        assert bare[outcome] < off[outcome], outcome
    assert bare["memory_limited_sequences"] < off["memory_limited_sequences"]
    assert bare["hbm_used"] > off["hbm_used"]
    for outcome in PERCENTILES:
        assert rs.value(outcome, SERVED, arrival_rate=2) < rs.value(
            outcome, SERVED, arrival_rate=2, **{name: 0.9}, **LINK
        )


def test_a_pass_takes_at_least_its_off_loaded_bytes_over_the_link() -> None:
    floor = {**SERVED, "calibration": "floor", "batch_size": 1}
    time = rs.value("pass_time", floor, offloaded_weight_fraction=0.5, **LINK)
    assert time == pytest.approx(0.5 * rs.value("fetched_weight_bytes", floor) / 400e9, rel=1e-12)
    caches = {**floor, "batch_size": 256}
    time = rs.value("pass_time", caches, offloaded_kv_fraction=1, **LINK)
    assert time == pytest.approx(256 * rs.value("kv_read_bytes", SERVED) / 400e9, rel=1e-12)
    quick = {"offloaded_weight_fraction": 0.5, "host_bandwidth": "20 TB/s"}  # copies overlap with all else
    assert rs.value("pass_time", floor, **quick) == rs.value("pass_time", floor)


def test_a_model_too_large_for_memory_runs_off_loaded() -> None:
    large = {**SERVED, "chips": 1, "tensor_parallel": 1, "concurrency": 4}
    with pytest.warns(rs.errors.DoesNotFit):
        assert rs.value("time_per_output_token", large) == float("inf")
    assert rs.value("memory_fits", large, offloaded_weight_fraction=0.7) == "yes"
    slow = rs.value("time_per_output_token", large, offloaded_weight_fraction=0.7, **LINK)
    fetched = rs.value("fetched_weight_bytes", SERVED)
    assert 1 < slow / (0.7 * fetched / 50e9) < 1.1


def test_prompts_hide_the_streamed_weights() -> None:
    """A prompt takes the longer of work and stream, on prefill chips also in throughput."""
    off = {"offloaded_weight_fraction": 0.5, **LINK}
    stream = rs.value("offloaded_weight_time", SERVED, **off)
    short, long = (rs.value("prefill_latency", {**SERVED, "input_tokens": n}, **off) for n in (200, 20_000))
    assert short == pytest.approx(stream, rel=1e-12)
    assert long == rs.value("prefill_latency", {**SERVED, "input_tokens": 20_000})
    disaggregated = {**SERVED, "input_tokens": 200, "serving_mode": "disaggregated"}
    assert rs.value("prefill_time", disaggregated, **off) == pytest.approx(stream, rel=1e-12)


def test_a_swap_beats_recomputing_above_the_break_even_bandwidth() -> None:
    even = rs.value("break_even_host_bandwidth", SERVED)
    swap = 2 * rs.value("kv_stored_bytes", SERVED) / (8 * even)
    assert swap == pytest.approx(rs.value("recompute_time", SERVED), rel=1e-12)
    recompute = rs.value("prefill_latency", {**SERVED, "input_tokens": 2150})  # prompt and half of the answer
    assert rs.value("recompute_time", SERVED) == pytest.approx(recompute, rel=1e-12)
    slow, quick = (rs.value("preemption_time", SERVED, host_bandwidth=even * x) for x in (0.5, 2))
    assert slow == pytest.approx(swap, rel=1e-12)
    assert quick == pytest.approx(swap / 2, rel=1e-12)


def test_prefixes_come_over_the_same_link() -> None:
    session = {"dram_prefix_cache": "1 TB", "turns": 4, "turn_input_tokens": 500, "session_rate": 1, "pause_time": 20}
    base = {**{k: x for k, x in SERVED.items() if k != "input_tokens"}, **session}
    link, given = (rs.value("prefix_load_time", base, **one) for one in (LINK, {"dram_cache_bandwidth": "400 GB/s"}))
    assert link == given


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"offloaded_weight_fraction": 0.5}, rs.errors.MissingInput, "host_bandwidth"),
        (LINK, rs.errors.IneffectiveInput, "host_bandwidth"),
        ({"offloaded_weight_fraction": 1.5, **LINK}, rs.errors.ValueRangeError, "offloaded_weight_fraction must be"),
    ],
)
def test_mistakes(given: dict[str, Any], error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        rs.value("pass_time", SERVED, concurrency=64, **given)
