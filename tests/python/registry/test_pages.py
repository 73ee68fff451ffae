"""Pages of the KV cache: documented reservations, and outcomes that obey them."""

from __future__ import annotations

from typing import Any

import pytest
import roofslate as rs

GIB = 2**30
OSS: dict[str, Any] = {"model": "gpt-oss-20b", "context_length": 8192, "kv_format": "bf16"}


def reserved(**inputs: Any) -> float:
    return float(rs.value("allocated_kv_bytes", **{**OSS, **inputs}))


def test_gpt_oss_reserves_what_vllm_does() -> None:
    assert 32 * reserved() / GIB == pytest.approx(6.09, rel=1e-3)
    assert 32 * reserved(cache_allocation="paged") / GIB == pytest.approx(12.00, rel=1e-6)
    assert 32 * reserved(engine="vLLM") / GIB == pytest.approx(12.00, rel=1e-6)


def test_a_page_of_gpt_oss_120b_holds_the_tokens_of_a_log() -> None:
    """vLLM: 78,384 tokens in 5.38 GiB, a log that counts whole sequences (hf-mem, issue 60)."""
    one = rs.value("allocated_kv_bytes", model="gpt-oss-120b", kv_format="bf16", context_length=78_384, engine="vLLM")
    assert one / GIB == pytest.approx(5.38, rel=1e-3)


def test_blocks_of_the_design_document() -> None:
    """20 layers with a window of 32, 10 without, 112 tokens: 7 + 2 + 2 blocks."""
    inputs = {
        "cache_allocation": "paged", "layers": 30, "windowed_attention_layers": 20, "attention_window": 32,
        "kv_bytes_per_token": 30, "context_length": 112, "in_flight_tokens": 0,
    }  # fmt: skip
    assert rs.value("allocated_kv_bytes", **inputs) == pytest.approx(11 * 10 * 16, rel=1e-12)


def test_groups_of_gemma_are_padded() -> None:
    """62 layers, 10 without a window: seven groups of 10, the last padded by 8."""
    inputs = {
        "cache_allocation": "paged", "layers": 62, "windowed_attention_layers": 52, "attention_window": 1024,
        "kv_bytes_per_token": 62, "context_length": 4096,
    }  # fmt: skip
    assert rs.value("allocated_kv_bytes", **inputs) == pytest.approx(7 * 10 * 4096, rel=1e-12)
    assert rs.value("allocated_kv_bytes", **inputs, kv_page_groups="separate") == pytest.approx(62 * 4096, rel=1e-12)


def test_recurrent_states_raise_the_block() -> None:
    model = {
        "cache_allocation": "paged", "layers": 64, "recurrent_layers": 48, "kv_bytes_per_token": 65_536,
        "layer_state_bytes": 3.2e6, "context_length": 10_000,
    }  # fmt: skip
    block = rs.value("padded_block_size", model)
    assert block == 784
    assert block * 4096 >= 3.2e6 > (block - 16) * 4096
    page = 16 * 4096 * block
    assert rs.value("allocated_kv_bytes", **model) == page * (13 + 3)
    assert rs.value("allocated_kv_bytes", **model, kv_page_groups="separate") == 65_536 * 10_000 + 48 * 3.2e6


def test_exact_is_the_default_and_pages_change_no_read() -> None:
    scenario = {**OSS, "hardware": "H100", "batch_size": 32, "chips": 1}
    for name in ("kv_read_bytes", "kv_stored_bytes", "kv_fetch_time", "pass_time"):
        assert rs.value(name, scenario, engine="vLLM") == rs.value(name, scenario)
    assert reserved() == rs.value("kv_stored_bytes", OSS)


@pytest.mark.parametrize(
    "name", ["memory_limited_sequences", "memory_limited_batch", "running_sequences", "sequence_slots"]
)
def test_fewer_sequences_run(name: str) -> None:
    scenario = {**OSS, "hardware": "H100", "chips": 1, "concurrency": 10_000, "output_tokens": 100}
    exact, paged = (rs.value(name, {**scenario, **more}) for more in ({}, {"engine": "vLLM"}))
    assert exact / paged == pytest.approx(reserved(engine="vLLM") / reserved())
    chunked = rs.value(name, scenario, engine="vLLM", prefill_chunk=2048)
    assert paged < chunked < exact


def test_what_fits_obeys_pages() -> None:
    scenario = {**OSS, "hardware": "L4", "chips": 1, "batch_size": 16} if "L4" in rs.hardware else {
        **OSS, "hardware": "H100", "chips": 1, "batch_size": 250,
    }  # fmt: skip
    used, paged = (rs.value("hbm_used", {**scenario, **more}) for more in ({}, {"cache_allocation": "paged"}))
    assert paged > used
    capacity = (used + paged) / 2
    fits = [
        rs.value("memory_fits", {**scenario, "hbm_capacity": capacity, "cache_allocation": how})
        for how in ("exact", "paged")
    ]
    assert fits == ["yes", "no"]


def test_a_deployment_holds_fewer_sequences_in_pages() -> None:
    scenario = {
        "model": "gpt-oss-120b", "hardware": "H100", "chips": 1, "input_tokens": 8000, "output_tokens": 1000,
        "concurrency": 64, "chip_price": "2 USD/h",
    }  # fmt: skip
    plans = [rs.deploy(scenario, objective="cost_per_output_token", **more) for more in ({}, {"engine": "vLLM"})]
    costs = [plan.table["cost_per_output_token"].min() for plan in plans]
    assert costs[0] < costs[1]


def test_the_context_that_fills_memory_is_whole_blocks() -> None:
    scenario = {"model": "gpt-oss-20b", "kv_format": "bf16", "hardware": "H100", "chips": 1, "batch_size": 8}
    paged = {**scenario, "engine": "vLLM", "in_flight_tokens": 2048}
    longest = rs.value("full_memory_context", paged)
    assert longest % 16 == 0
    capacity = rs.value("kv_cache_capacity", paged)
    bytes_at = [rs.value("kv_bytes", {**paged, "context_length": longest + more}) for more in (0, 1)]
    assert bytes_at[0] <= capacity < bytes_at[1]
    assert longest < rs.value("full_memory_context", scenario)


@pytest.mark.parametrize("name", list(rs.engines))
def test_an_engine_pages(name: str) -> None:
    preset = rs.engines[name]
    assert preset["cache_allocation"] == "paged"
    assert all(fact.source and fact.date for fact in preset.facts.values())
    assert reserved(engine=name) >= reserved()
    assert rs.value("padded_block_size", engine=name) == preset["kv_block_size"]


def test_sglang_has_its_documented_defaults() -> None:
    preset = rs.engines["SGLang"]
    assert preset["kv_block_size"] == 1
    assert "checked in source" in repr(preset)
    assert "(unverified)" not in repr(preset)
    assert preset.attributes["windowed_pool"].startswith("0.8 tokens")
    assert preset.attributes["state_pool"].startswith("0.9 bytes")
