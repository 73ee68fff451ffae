"""LoRA adapters: bytes in a pass and in memory, and affected quantities."""

from __future__ import annotations

from collections import OrderedDict
from typing import Any

import numpy as np
import pytest
import roofslate as rs

SERVED: dict[str, Any] = {
    "model": "Llama-3.1-70B", "weight_format": "bf16", "kv_format": "bf16", "hardware": "H100", "chips": 8,
    "tensor_parallel": 8, "input_tokens": 2000, "output_tokens": 300, "chip_price": "2 USD/h",
    "calibration": "serving",
}  # fmt: skip
TENANTS: dict[str, Any] = {"lora_adapters": 500, "lora_rank": 16, "lora_zipf_exponent": 1}
FEW: dict[str, Any] = {**TENANTS, "resident_adapters": 50, "host_bandwidth": "50 GB/s"}


def test_an_adapter_of_rank_16_is_131_megabytes() -> None:
    """Llama 3 70B, only attention, bf16 (Punica, arXiv 2310.18547, uses rank 16)."""
    assert rs.value("adapter_bytes", model="Llama-3.1-70B", lora_rank=16) == 131_072_000
    heads = {"model": "DeepSeek-V3", "lora_rank": 8}
    attention, every = (rs.value("adapter_bytes", heads, lora_targets=word) for word in ("attention", "all"))
    assert attention < every < 3 * attention  # no routed expert has an adapter


@pytest.mark.parametrize(("adapters", "exponent"), [(20, 0), (200, 1), (3000, 0.6), (1000, 1.5)])
def test_distinct_adapters_and_hits_are_those_of_draws(adapters: int, exponent: float) -> None:
    """Exact distinct adapters in a batch. Hits of an LRU adapter pool within 0.01."""
    shares = np.arange(1, adapters + 1) ** -float(exponent)
    shares /= shares.sum()
    given = {"lora_adapters": adapters, "lora_zipf_exponent": exponent}
    for batch in (1, 7, 64, 500):
        expected = (1 - (1 - shares) ** batch).sum()
        assert rs.value("pass_adapters", given, batch_size=batch) == pytest.approx(expected, rel=1e-9)
    draws = np.random.default_rng(7).choice(adapters, 60_000, p=shares).tolist()
    for slots in (adapters // 10, adapters // 3):
        resident: OrderedDict[int, None] = OrderedDict()
        hits = 0
        for number, adapter in enumerate(draws):
            if adapter in resident:
                hits += number >= 10_000
                resident.move_to_end(adapter)
            else:
                resident[adapter] = None
                if len(resident) > slots:
                    resident.popitem(last=False)
        result = rs.value("adapter_hit_rate", given, resident_adapters=slots)
        assert result == pytest.approx(hits / 50_000, abs=0.01)


def test_derivatives_by_batch_popularity_and_room() -> None:
    given = {"lora_adapters": 400, "lora_zipf_exponent": 0.8}
    for output, more in (("pass_adapters", {"batch_size": 30.0}), ("adapter_hit_rate", {"resident_adapters": 60.0})):
        point = {**given, **more}
        names = ["lora_zipf_exponent", *more]
        slopes = rs.gradient(output, point, to=names)
        for name in names:
            step = 1e-5 * point[name]
            low, high = (rs.value(output, {**point, name: point[name] + x}) for x in (-step, step))
            assert float(slopes[name]) == pytest.approx((high - low) / (2 * step), rel=1e-6)


@pytest.mark.parametrize("load", [{"concurrency": 64}, {"arrival_rate": 2}])
def test_no_adapters_change_no_bit(load: dict[str, Any]) -> None:
    for outcome in ("time_per_output_token", "cost_per_output_token", "time_to_first_token", "hbm_used"):
        assert rs.value(outcome, SERVED, **load, lora_adapters=0) == rs.value(outcome, SERVED, **load)


def test_adapters_act_on_every_outcome() -> None:
    """Reads, capacity, compute and cost of a closed loop, percentiles of an open one."""
    more = [
        "fetched_weight_bytes", "flops_per_token", "pass_time", "time_per_output_token", "time_to_first_token",
        "cost_per_output_token", "hbm_used", "prefill_time",
    ]  # fmt: skip
    without, with_all, with_few = (
        rs.evaluate([*more, "memory_limited_sequences"], SERVED, concurrency=64, **given)
        for given in ({}, TENANTS, FEW)
    )
    for outcome in more:
        assert without[outcome] < with_all[outcome], outcome
    assert with_all["memory_limited_sequences"] < with_few["memory_limited_sequences"]
    assert with_few["memory_limited_sequences"] < without["memory_limited_sequences"]
    assert with_few["time_to_first_token"] > with_all["time_to_first_token"]  # misses
    for outcome in ("time_to_first_token_p99", "time_per_output_token_p99", "inter_token_latency_p99"):
        bare, every = (rs.value(outcome, SERVED, arrival_rate=2, **given) for given in ({}, TENANTS))
        assert bare < every, outcome
    every, few = (rs.value("time_to_first_token_p99", SERVED, arrival_rate=2, **given) for given in (TENANTS, FEW))
    missed = rs.value("adapter_load_time", SERVED, **FEW)
    assert few - every > 0.5 * missed > 0


def test_a_pass_streams_the_adapters_that_memory_lacks() -> None:
    given = {**SERVED, **TENANTS, "lora_zipf_exponent": 0, "batch_size": 100, "host_bandwidth": "10 GB/s"}
    bare = rs.value("pass_time", {k: x for k, x in given.items() if k != "host_bandwidth"})
    short = rs.evaluate(["pass_time", "host_fetch_time", "pass_adapters", "bottleneck"], given, resident_adapters=10)
    assert short["host_fetch_time"] == pytest.approx((float(short["pass_adapters"]) - 10) * 131_072_000 / 8e10)
    assert short["bottleneck"].item() == 3
    assert short["pass_time"] > bare


def test_a_loaded_adapter_takes_its_bytes_over_the_link() -> None:
    result = rs.value("adapter_load_time", SERVED, **{**FEW, "lora_zipf_exponent": 0})
    assert result == pytest.approx(0.9 * 131_072_000 / (8 * 50e9), rel=1e-9)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"lora_adapters": 10}, rs.errors.MissingInput, "lora_rank"),
        ({"lora_rank": 16}, rs.errors.IneffectiveInput, "give lora_adapters="),
        ({"lora_adapters": -1, "lora_rank": 16}, rs.errors.ValueRangeError, "lora_adapters must be"),
        ({**TENANTS, "lora_targets": "mlp"}, rs.errors.RoofslateError, "attention"),
        ({**TENANTS, "resident_adapters": 5}, rs.errors.MissingInput, "host_bandwidth"),
    ],
)
def test_mistakes(given: dict[str, Any], error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        rs.value("time_to_first_token", SERVED, concurrency=64, **given)
