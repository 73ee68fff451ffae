"""Direction in which each outcome moves with each lever, by physics.

An entry of influence.csv is the sign of the change of an outcome when a lever goes from one value to another in a base
scenario: "+", "-", "0" (equal within 1e-9) or "any": either sign, the call must answer.
"""

from __future__ import annotations

import csv
import warnings
from pathlib import Path
from typing import Any

import pytest
import roofslate as rs
from roofslate.registry.registry import renamed

ROWS = list(csv.DictReader(Path(__file__).with_name("influence.csv").read_text(encoding="utf-8").splitlines()))
OUTCOMES = {heading: renamed().get(heading, heading) for heading in list(ROWS[0])[5:]}  # older names are translated

DENSE: dict[str, Any] = {
    "model": "Llama-3.1-70B", "weight_format": "fp8", "kv_format": "bf16", "hardware": "H100", "chips": 8,
    "tensor_parallel": 8, "concurrency": 64, "input_tokens": 8000, "output_tokens": 1000, "chip_price": "2 USD/h",
    "chip_power": "700 W", "calibration": "serving", "serving_mode": "aggregated",
}  # fmt: skip
EXPERTS: dict[str, Any] = {
    **DENSE, "model": "DeepSeek-V3", "hardware": "H200", "chips": 16, "tensor_parallel": 1,
    "attention_data_parallel": 16, "expert_parallel": 16, "concurrency": 512,
}  # fmt: skip
SPARSE = {"selected_tokens": 2048, "index_bytes_per_token": 7808, "index_flops_per_context_token": 999_424}
TRAINING: dict[str, Any] = {
    "model": "Llama-3.1-405B", "hardware": "H100", "weight_format": "bf16", "chips": 14_336, "tensor_parallel": 8,
    "pipeline_stages": 14, "microbatches": 16, "global_batch_size": 2048, "sequence_length": 8192,
    "pretraining_tokens": 15.6e12, "pipeline_schedule": "1f1b", "sharded_state": "optimizer",
    "activation_policy": "selective", "sequence_parallel": "on", "decode_inefficiency": 3, "inference_tokens": 1e14,
    "rl_tokens": 0, "rl_flops_per_parameter": 3, "chip_price": "2 USD/h", "calibration": "training",
}  # fmt: skip
BASES = {
    "D": DENSE,
    "D2": {**DENSE, "concurrency": 256},
    "DB": {**DENSE, "weight_format": "bf16"},
    "D3": {**DENSE, "draft_length": 2, "acceptance_rate": 0.7, "draft_cost": 0.05},
    "DW": {**DENSE, "arithmetic": "weights"},
    "M": EXPERTS,
    "MT": {**EXPERTS, "tensor_parallel": 16, "attention_data_parallel": 1, "concurrency": 128},
    "MS": {**EXPERTS, **SPARSE},
    "MC": {**EXPERTS, "concurrency": 32, "expert_reads": "all"},
    "MX": EXPERTS,
    "T": TRAINING,
    "TU": {**TRAINING, "training_utilization": 0.3},
    "TW": {**TRAINING, "arithmetic": "weights"},
}


def more(name: str, base: dict[str, Any]) -> dict[str, float]:
    """Raise a number of the base hardware by a fifth."""
    return {name: 1.2 * float(rs.value(name, hardware=base["hardware"]))}


def lever(row: dict[str, str]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the inputs set before and after."""
    base = BASES[row["base"]]
    dense = {"model": "DeepSeek-V3"}
    grown = rs.value("total_parameters", dense) * 1.25 - rs.value("dense_parameters", dense) / 4
    levers: dict[str, Any] = {
        "S1": {**more("peak_flops_bf16", base), **more("peak_flops_fp8", base)},
        "S2": more("hbm_bandwidth", base),
        "S3": more("hbm_capacity", base),
        "S4": more("hbm_capacity", base),
        "S5": more("scale_up_bandwidth", base),
        "S6": more("scale_out_bandwidth", base),
        "S7": {"chip_price": "2.4 USD/h"},
        "S8": {"chip_power": "840 W"},
        "S9": ({"compute_efficiency": 0.7}, {"compute_efficiency": 0.77}),
        "S10": ({"bandwidth_efficiency": 0.847}, {"bandwidth_efficiency": 0.93}),
        "S11": {"link_efficiency": 0.8},
        "S12": {"reference_kernel_time": 6.3e-6},
        "S13": {"activation_transfers": 39},
        "S14": ({"sequence_time": 0}, {"sequence_time": 10e-6}),
        "S15": {"request_overhead": 0.05},
        "S16": {"concurrency": 80},
        "S17": {"concurrency": 320},
        "S18": {"input_tokens": 9600},
        "S19": {"output_tokens": 1200},
        "S20": {"experts": 320, "total_parameters": grown},
        "S21": {"prefix_hit_rate": 0.5},
        "S22": {"load_factor": 0.5},
        "S23": {"weight_format": "fp8"},
        "S24": {"kv_format": "fp8"},
        "S25": {"kv_compression": 0.5},
        "S26": {"stored_layer_share": 0.5, "shared_layer_reads": "each"},
        "S27": {"kept_token_share": 0.5},
        "S28": {"windowed_attention_layers": 40, "attention_window": 1024},
        "S29": {"draft_length": 1, "acceptance_rate": 0.85, "draft_cost": 0.05},
        "S30": {"acceptance_rate": 0.85},
        "S31": {"draft_cost": 0.1},
        "S32": {"prefill_chunk": 2048},
        "S33": {"serving_mode": "disaggregated"},
        "S34": ({"communication": "exposed"}, {"communication": "overlapped"}),
        "S35": {"arithmetic": "full"},
        "S36": {"expert_reads": "expected"},
        "S37": SPARSE,
        "S38": {"index_flops_per_context_token": 2 * 999_424},
        "S39": {"expert_imbalance": 1.3},
        "S40": {"redundant_experts": 32},
        "S41": {"expert_parallel": 8},
        "S42": (
            {"tensor_parallel": 16, "attention_data_parallel": 1},
            {"tensor_parallel": 1, "attention_data_parallel": 16},
        ),
        "S43": {"context_parallel": 4},
        "S44": {"mean_hops": 3},
        "T1": {"training_utilization": 0.4},
        "T2": {"pretraining_tokens": 18.7e12},
        "T3": more("peak_flops_bf16", base),
        "T4": more("scale_out_bandwidth", base),
        "T5": more("scale_up_bandwidth", base),
        "T6": {"training_goodput": 0.9},
        "T7": {"chip_price": "2.4 USD/h"},
        "T8": {"pipeline_stages": 16, "chips": 16_384},
        "T9": {"pipeline_schedule": "interleaved", "model_chunks": 3},
        "T10": {"sharded_state": "weights"},
        "T11": {"activation_policy": "block"},
        "T12": {"global_batch_size": 4096, "microbatches": 32},
        "T13": ({"link_overlap": 0}, {"link_overlap": 0.5}),
        "T14": {"arithmetic": "full"},
        "T15": {"decode_inefficiency": 5},
        "T16": {"inference_tokens": 2e14},
    }
    result = levers[row["lever"]]
    before, after = result if isinstance(result, tuple) else ({}, result)
    return {**base, **before}, {**base, **before, **after}


def sign(before: float, after: float) -> str:
    if before == after or abs(after / before - 1) < 1e-9:
        return "0"
    return "+" if after > before else "-"


@pytest.mark.parametrize("row", ROWS, ids=[row["lever"] for row in ROWS])
@pytest.mark.each
def test_outcomes_move_as_physics_demands(row: dict[str, str]) -> None:
    before, after = lever(row)
    wrong = []
    for heading, outcome in OUTCOMES.items():
        if not row[heading]:
            continue
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rs.errors.UnusedInput)  # a scenario of all outcomes
            x, y = (float(rs.value(outcome, inputs)) for inputs in (before, after))
        if row[heading] not in ("any", sign(x, y)):
            wrong.append(f"{outcome}: {row[heading]} is demanded, from {x:g} to {y:g}")
    assert not wrong, "; ".join(wrong)


def test_no_cell_is_left_out() -> None:
    assert sum(bool(row[outcome]) for row in ROWS for outcome in OUTCOMES) == 992
