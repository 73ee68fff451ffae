"""Thirty scenarios for each engine, of which a launch command carries all but the load."""

from __future__ import annotations

import math
from typing import Any

LOAD = {"concurrency": 64, "input_tokens": 2000, "output_tokens": 500, "expert_reads": "expected"}
DRAFTS = {"acceptance_rate": 0.7, "draft_cost": 0.04}
# Inputs of a scenario that no command carries.
NOT_CARRIED = {*LOAD, *DRAFTS, "calibration", "hardware", "speculator"}


def one(model: str, hardware: str, tensor: int = 1, **more: Any) -> dict[str, Any]:
    """A replica of one stage, in which all chips share each matrix unless given otherwise."""
    layout = {"pipeline_stages": 1, "attention_data_parallel": 1, **more}
    chips = tensor * layout["pipeline_stages"] * layout["attention_data_parallel"]
    drafts = DRAFTS if "draft_length" in more else {}
    return {"model": model, "hardware": hardware, "chips": chips, "tensor_parallel": tensor, **layout, **drafts, **LOAD}


def split(model: str, hardware: str, groups: int, **more: Any) -> dict[str, Any]:
    """A replica in which each chip runs separate sequences, and all share the experts out."""
    return one(model, hardware, 1, attention_data_parallel=groups, expert_parallel=groups, **more)


COMMON = {
    "dense on one chip": one("Llama-3.1-8B", "H100"),
    "dense on two": one("Llama-3.1-8B", "L40S", 2),
    "dense on eight": one("Llama-3.1-70B", "H100", 8),
    "dense in stages": one("Llama-3.1-70B", "H100", 4, pipeline_stages=2),
    "dense on two nodes": one("Llama-3.1-405B", "H200", 8, pipeline_stages=2),
    "dense in copies": one("Qwen3-8B", "H100", 1, attention_data_parallel=4),
    "fp8 cache": one("Qwen3-32B", "H200", 4, kv_format="fp8"),
    "nvfp4 cache": one("Qwen3-32B", "B200", 2, kv_format="nvfp4"),
    "blocks": one("Llama-3.1-70B", "H100", 8, kv_block_size=32),
    "limits": one("Llama-3.1-70B", "H200", 4, max_running_sequences=128, step_token_budget=4096, prefill_chunk=4096),
    "no prefixes": one("Qwen3-32B", "A100-80", 4, prefix_hit_rate=0),
    "experts on all": one("DeepSeek-V3", "H200", 8, expert_parallel=8),
    "experts in slices": one("DeepSeek-V3", "H200", 8, expert_parallel=1),
    "groups": split("DeepSeek-V3", "H200", 8),
    "groups on two nodes": split("DeepSeek-V3", "H200", 16),
    "groups in a rack": split("DeepSeek-V3", "GB200", 16, kv_format="fp8"),
    "groups with limits": split(
        "DeepSeek-V3", "B200", 8, max_running_sequences=512, step_token_budget=65536, prefill_chunk=8192
    ),
    "groups with drafts": split("DeepSeek-V3", "B200", 8, draft_length=3),
    "apart": split("DeepSeek-V3", "H200", 8, serving_mode="disaggregated"),
    "drafts": one("DeepSeek-V3", "H200", 8, expert_parallel=8, draft_length=1),
    "drafts of a hybrid": one("Qwen3.5-397B-A17B", "B200", 8, expert_parallel=8, draft_length=2),
    "mxfp4": one("gpt-oss-120b", "H100", 4, expert_parallel=4),
    "mxfp4 on one chip": one("gpt-oss-20b", "H100", 1, expert_parallel=1),
    "many experts": one("Kimi-K2", "H200", 16, expert_parallel=16),
    "recorded graphs": one("Qwen3-32B", "H100", 4, max_graph_batch_size=96),
    "eager": one("Llama-3.1-8B", "H100", 1, max_graph_batch_size=0),
    "few experts": one("Mixtral-8x7B", "A100-80", 2, pipeline_stages=2, expert_parallel=1),
}
_FP8 = {"weight_format": "fp8"}
_DRAFT_MODEL = {"speculator": "Kimi-K2.5 EAGLE-3", "draft_length": 3}
_VLLM = {
    "fp8 weights": one("Llama-3.1-70B", "H100", 4, **_FP8),
    "int8 cache": one("Qwen3-32B", "H100", 4, kv_format="int8", prefill_chunk=math.inf),
    "cap of a prompt": one("Qwen3-32B", "H100", 4, step_token_budget=8192, prefill_chunk=1024),
    "groups of four": one("DeepSeek-V3", "H200", 4, attention_data_parallel=2, expert_parallel=8),
    "draft model": one("Kimi-K2.5", "B200", 8, expert_parallel=8, **_DRAFT_MODEL),
}
ENGINES: dict[str, dict[str, dict[str, Any]]] = {
    "vllm": {**COMMON, **_VLLM},
    "dynamo": {**COMMON, **_VLLM},
    "sglang": {
        **COMMON,
        "fp8 weights": one("Llama-3.1-70B", "H100", 4, **_FP8),
        "rare looks": one("DeepSeek-V3", "B200", 8, expert_parallel=8, receive_interval=30, prefill_chunk=math.inf),
        "groups of four": one("DeepSeek-V3", "H200", 4, attention_data_parallel=2, expert_parallel=4),
        "groups of two": one("DeepSeek-V3", "H200", 2, attention_data_parallel=8, expert_parallel=8),
        "draft model": one("Kimi-K2.5", "B200", 8, expert_parallel=8, **_DRAFT_MODEL),
    },
    "trtllm": {
        **COMMON,
        "experts on four": one("DeepSeek-V3", "H200", 8, expert_parallel=4),
        "share of memory": one("Llama-3.1-70B", "H100", 8, kv_cache_memory_share=0.85),
        "prefixes and blocks": one("Qwen3-32B", "H200", 4, prefix_hit_rate=0, kv_block_size=64),
        "stages in fp8": one("Llama-3.1-405B", "B200", 4, pipeline_stages=2, kv_format="fp8"),
        "draft model": one("Kimi-K2.5", "B200", 8, expert_parallel=8, **_DRAFT_MODEL),
    },
}
DRAFT_CHECKPOINT = "owner/draft of Kimi's $K2"  # a name that a shell would take apart
