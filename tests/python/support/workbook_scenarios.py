"""Twenty scenarios of workbooks, over serving, training and prices: outputs, and inputs."""

from __future__ import annotations

from typing import Any

import roofslate as rs

CELL = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "batch_size": 1024, "context_length": "8k"}
RUN = {"input_tokens": 4000, "output_tokens": 1000, "concurrency": 64}
NODE = {"hardware": "H200", "chips": 8, "tensor_parallel": 8, "chip_price": "3 USD/h"}
LATENCIES = ["time_per_output_token", "time_to_first_token", "cost_per_output_token"]
TENANTS = {"lora_adapters": 1000, "lora_rank": 16, "lora_zipf_exponent": 1, "resident_adapters": 64}
OWNED = {"hardware": "H200", "prices": "H200 owned", "site": "US colocation"}
TRAINED = {
    "model": "Llama-3.1-70B",
    "hardware": "H100",
    "chips": 512,
    "sequence_length": 8192,
    "global_batch_size": 512,
    "tensor_parallel": 8,
    "pretraining_tokens": "2T",
    "activation_policy": "selective",
    "chip_price": "2 USD/h",
}
LIFE = {"active_parameters": 100e9, "pretraining_tokens": "200T", "rl_tokens": "133T", "inference_tokens": "200T"}
WORK = {"decode_inefficiency": 3, "rl_flops_per_parameter": 3, "training_utilization": 0.4, "chips": 1e5}
GOAL = {"loss_law": "Hoffmann by Sardana", "inference_tokens": "2T", "decode_inefficiency": 1}

SCENARIOS: dict[str, tuple[list[str], dict[str, Any]]] = {
    "decode": (["pass_time", "bottleneck", "cost_per_token", "hbm_used"], CELL | {"prices": "lecture"}),
    "dense": (LATENCIES, {"model": "Llama-3.1-70B", **NODE, **RUN}),
    "calibrated": (LATENCIES, {"model": "DeepSeek-V3", **NODE, **RUN, "calibration": "serving"}),
    "fp8": (LATENCIES, {"model": "Qwen3-235B-A22B", "weight_format": "fp8", **NODE, **RUN, "concurrency": 256}),
    "adapters": (LATENCIES, {"model": "Llama-3.1-70B", **NODE, **RUN, **TENANTS, "host_bandwidth": "50 GB/s"}),
    "paged": (["memory_limited_sequences", *LATENCIES], {"model": "gpt-oss-120b", **NODE, **RUN, "engine": "SGLang"}),
    "speculation": (
        ["acceptance_length", *LATENCIES],
        {"model": "Kimi-K2.5", **NODE, **RUN, "speculator": "Kimi-K2.5 EAGLE-3", "draft_length": 3, "draft_cost": 0.1},
    ),
    "arrivals": (
        ["service_load", "running_sequences", "time_to_first_token_p99", "time_per_output_token_p99"],
        {"model": "DeepSeek-V3", **NODE, "input_tokens": "2k", "output_tokens": 500, "arrival_rate": "4/s"}
        | {"input_cv": 1, "output_cv": 0.8, **rs.calibration()},
    ),
    "sessions": (
        ["cost_per_session", "time_to_first_token", "cost_per_request"],
        {"model": "DeepSeek-V3", **NODE, "concurrency": 16, "workload": "TraceLab coding agent"},
    ),
    "energy": (
        ["energy_per_request", "carbon_per_request", "throughput_per_power"],
        {"model": "DeepSeek-V3", **NODE, **RUN, "site": "Norway"},
    ),
    "training": (["training_step_time", "training_utilization", "pretraining_cost"], TRAINED),
    "pipeline": (
        ["training_step_time", "pretraining_time"],
        TRAINED | {"tensor_parallel": 4, "pipeline_stages": 4, "microbatches": 16},
    ),
    "recipe": (
        ["trained_tokens_per_second_per_chip", "training_memory"],
        TRAINED | {"model": "Llama-3.1-8B", "chips": 64, "tensor_parallel": 1, "calibration": "training"},
    ),
    "lifetime": (
        ["pretraining_cost", "rl_cost", "inference_cost", "lifetime_cost"],
        {**LIFE, **WORK, "peak_flops": "4.5 PFLOP/s", "prices": "lecture"},
    ),
    "optimum": (
        ["optimal_pretraining_tokens", "optimal_lifetime_saving"],
        GOAL | {"active_parameters": 24e9},
    ),
    "budget": (
        ["budget_optimal_parameters", "budget_optimal_tokens"],
        {"compute_budget": 5.76e23, "loss_law": "Besiroglu"},
    ),
    "chip-hour": (["chip_price", "chip_capital_cost_rate", "chip_electricity_cost_rate"], OWNED),
    "own-or-rent": (["rent_break_even_utilization"], OWNED | {"chip_rent": "$3.5/hour"}),
    "own-or-call": (
        ["blended_price", "blended_cost_per_token", "api_break_even_utilization", "break_even_demand"],
        {**OWNED, "model": "DeepSeek-V3", "chips": 8, "tensor_parallel": 8, **RUN, "api_prices": "DeepSeek-V3"},
    ),
    "rack": (["rack_power", "scale_up_limit", "mean_hops"], {"hardware": "GB200 NVL72"}),
}
# Of some: an input that a reader changes in the workbook, and its new number.
CHANGES = {
    "decode": {"batch_size": 64.0, "context_length": 32000.0},
    "dense": {"concurrency": 8.0},
    "calibrated": {"concurrency": 16.0, "chip_price": 5 / 3600},
    "fp8": {"output_tokens": 200.0},
    "energy": {"power_usage_effectiveness": 1.5},
    "training": {"global_batch_size": 1024.0},
    "lifetime": {"inference_tokens": 1e15},
    "chip-hour": {"interest_rate": 0.2 / 31_557_600},
    "own-or-call": {"output_price": 2e-6},
}
