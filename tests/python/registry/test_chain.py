"""Laws of the serving chain: the bound lies below the estimate, loads agree, and what is off changes nothing."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate.grid.read import Settled

DEPLOYMENTS = 10_000
MODELS = [
    "DeepSeek-V3",
    "Llama-3.1-70B",
    "Llama-3.1-8B",
    "Qwen3-235B-A22B",
    "gpt-oss-120b",
    "Mixtral-8x7B",
    "Qwen3-32B",
]
HARDWARE = ["A100", "H100", "H200", "B200", "GB200 NVL72", "MI300X"]
TIMES = ["pass_time", "time_per_output_token", "time_to_first_token", "request_latency", "prefill_time"]
COSTS = ["cost_per_token", "cost_per_output_token", "cost_per_input_token", "energy_per_token"]


def deployments() -> pd.DataFrame:
    """Of any size that is run, and some beyond."""
    rng = np.random.default_rng(20261123)
    tensor = 2.0 ** rng.integers(0, 4, DEPLOYMENTS)
    groups = 2.0 ** rng.integers(0, 5, DEPLOYMENTS)
    return pd.DataFrame(
        {
            "model": rng.choice(MODELS, DEPLOYMENTS),
            "hardware": rng.choice(HARDWARE, DEPLOYMENTS),
            "weight_format": rng.choice(["bf16", "fp8"], DEPLOYMENTS),
            "chips": tensor * groups,
            "tensor_parallel": tensor,
            "attention_data_parallel": groups,
            "concurrency": np.ceil(np.exp(rng.uniform(0, 8, DEPLOYMENTS))),
            "input_tokens": np.ceil(np.exp(rng.uniform(2, 11, DEPLOYMENTS))),
            "output_tokens": np.ceil(np.exp(rng.uniform(1, 9, DEPLOYMENTS))),
            "serving_mode": rng.choice(["aggregated", "disaggregated"], DEPLOYMENTS),
            "chip_price": 2 / 3600,
            "chip_power": 700.0,
        }
    )


@pytest.mark.heavy
def test_the_floor_lies_below_the_estimate() -> None:
    rows = deployments()
    outputs = [*TIMES, *COSTS]
    estimate = rs.frame(rows, [*outputs, "memory_limited_sequences"], calibration="serving")
    fits = (estimate["memory_limited_sequences"] >= rows["concurrency"]).to_numpy()  # a smaller batch is quicker
    assert fits.mean() > 0.3
    of_layout = rs.frame(rows, outputs)
    of_pool = rs.frame(rows.drop(columns=["tensor_parallel", "attention_data_parallel"]), outputs)
    for floor in (of_layout, of_pool):
        for name in outputs:
            above = fits & (floor[name] > estimate[name] * (1 + 1e-12)).to_numpy()
            assert not above.any(), (name, rows[above].iloc[0].to_dict())
    assert (of_pool["pass_time"] <= of_layout["pass_time"] * (1 + 1e-12))[fits].all()


SCENARIO: dict[str, Any] = {
    "hardware": "H200", "chips": 16, "input_tokens": 4000, "output_tokens": 1000, "chip_price": "2 USD/h",
}  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("calibration", ["floor", "serving"])
def test_clients_that_fit_are_a_batch(model: str, calibration: str) -> None:
    asked = {**SCENARIO, "model": model, "calibration": calibration, "weight_format": "fp8"}
    for n in (1, 7, 32):
        by_clients = rs.value("pass_time", asked, concurrency=n)
        assert by_clients == rs.value("pass_time", asked, batch_size=n)


OFF: dict[str, dict[str, Any]] = {
    "drafts": {"draft_length": 0},
    "windows": {"windowed_attention_layers": 0},
    "selection": {"selected_tokens": math.inf},
    "compression": {"kv_compression": 1},
    "prefix hits": {"prefix_hit_rate": 0},
    "chunks": {"prefill_chunk": math.inf},
    "imbalance": {"expert_imbalance": 1},
    "redundancy": {"redundant_experts": 0},
    "hops": {"mean_hops": 1},
    "experts over all chips": {"expert_parallel": 16},
    "load": {"load_factor": 1},
}


@pytest.mark.parametrize("technique", OFF)
@pytest.mark.parametrize("calibration", ["floor", "serving"])
def test_what_is_off_changes_no_bit(technique: str, calibration: str) -> None:
    asked = {**SCENARIO, "model": "DeepSeek-V3", "weight_format": "fp8", "calibration": calibration, "concurrency": 64}
    layout = {"tensor_parallel": 1, "attention_data_parallel": 16}
    for name in ("pass_time", "time_per_output_token", "request_latency", "cost_per_output_token", "hbm_used"):
        for base in (asked, {**asked, **layout}):
            assert rs.value(name, Settled({**base, **OFF[technique]})) == rs.value(name, base), name


def test_clients_and_a_batch_that_disagree_are_refused() -> None:
    asked = {"model": "DeepSeek-V3", "hardware": "H200", "chips": 16, "context_length": 8000}
    with pytest.raises(rs.errors.ValueRangeError, match="128 clients, and 64 sequences in the batches"):
        rs.value("pass_time", asked, batch_size=64, concurrency=128)
    with pytest.raises(rs.errors.ValueRangeError, match="64 clients, and 32 sequences"):
        rs.evaluate("pass_time", asked, batch_size=[64, 32], concurrency=64)
    with pytest.raises(rs.errors.ValueRangeError, match="disagree"):
        rs.value("running_sequences", batch_size=64.0, concurrency=128.0)
    assert rs.value("running_sequences", Settled({"batch_size": 64, "concurrency": 256, "pipeline_stages": 4})) == 256
