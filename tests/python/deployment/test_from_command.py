"""Launch commands as people write them, read into scenarios or refused."""

from __future__ import annotations

import copy
import math
import random
import re
import shlex
import time
import warnings
from typing import Any

import pytest
import roofslate as rs
from roofslate.deployment.repositories import catalog_model, published_id
from roofslate.deployment.shell_words import read_script
from roofslate.errors import InputTypeError, MissingInput, RoofslateError, UnknownName, ValueRangeError

SGLANG = "python -m sglang.launch_server"
_NO_PREFIXES = "--disable-radix-cache"
# Commands as documentation and scripts have them: text, inputs, ignored flags.
COMMANDS: dict[str, tuple[str, dict[str, Any], set[str]]] = {
    "short flags": (
        "vllm serve deepseek-ai/DeepSeek-R1 -tp 8 -pp=2 -ep",
        {"model": "DeepSeek-V3", "chips": 16, "tensor_parallel": 8, "pipeline_stages": 2, "expert_parallel": 8},
        set(),
    ),
    "underscores and sizes": (
        "vllm serve Qwen/Qwen3-32B --max_num_seqs=256 --max-num-batched-tokens 8K --max-model-len 32k",
        {"max_running_sequences": 256, "step_token_budget": 8192, "prefill_chunk": 8192, "chips": 1},
        {"--max-model-len"},
    ),
    "lines, variables and a log": (
        "export HF_HOME=/data\nVLLM_USE_V1=1 CUDA_VISIBLE_DEVICES=0,1 nohup \\\n  vllm serve Qwen/Qwen3-32B \\\n"
        "  --tensor-parallel-size 2 \\\n  --trust-remote-code > server.log 2>&1 &  # in the background\n",
        {"tensor_parallel": 2, "chips": 2},
        {"export", "VLLM_USE_V1", "CUDA_VISIBLE_DEVICES", "nohup", "--trust-remote-code"},
    ),
    "a module": (
        "python3 -m vllm.entrypoints.openai.api_server --model meta-llama/Llama-3.1-8B-Instruct --quantization fp8",
        {"model": "Llama-3.1-8B", "weight_format": "fp8"},
        set(),
    ),
    "a container": (
        "docker run --gpus all -p 8000:8000 vllm/vllm-openai:v0.29.0 --model Qwen/Qwen3-32B --no-enable-prefix-caching",
        {"model": "Qwen3-32B", "prefix_hit_rate": 0.0},
        {"docker"},
    ),
    "dotted keys": (
        "vllm serve deepseek-ai/DeepSeek-V3 -tp 8 --speculative-config.method mtp "
        "--speculative-config.num_speculative_tokens 2",
        {"draft_length": 2, "expert_parallel": 1},
        set(),
    ),
    "groups without expert parallelism": (
        "vllm serve deepseek-ai/DeepSeek-V3 --data-parallel-size 8",
        {"attention_data_parallel": 8, "expert_parallel": 8, "chips": 8},
        set(),
    ),
    "no chunks": ("vllm serve Qwen/Qwen3-8B --no-enable-chunked-prefill", {"prefill_chunk": math.inf}, set()),
    "a format in the name": (
        "vllm serve nvidia/Qwen3-32B-FP4 --kv_cache_dtype fp8_e4m3",
        {"model": "Qwen3-32B", "weight_format": "nvfp4", "kv_format": "fp8"},
        set(),
    ),
    "abbreviations": (
        "python -m sglang.launch_server --model deepseek-ai/DeepSeek-V3-0324 --tp 8 --dp 8 --enable-dp-attention "
        "--moe-a2a-backend deepep --chunked-prefill-size 65536",
        {"attention_data_parallel": 8, "tensor_parallel": 1, "expert_parallel": 8, "prefill_chunk": 8192},
        set(),
    ),
    "replicas in one command": (
        f"sglang serve --model-path Qwen/Qwen3-32B --tp-size 2 --dp-size 4 {_NO_PREFIXES}",
        {"replicas": 4, "chips": 2, "attention_data_parallel": 1, "prefix_hit_rate": 0.0},
        set(),
    ),
    "drafts of sglang": (
        "python -m sglang.launch_server --model-path deepseek-ai/DeepSeek-V3 --tp 8 --speculative-algorithm EAGLE "
        "--speculative-num-steps 3 --speculative-eagle-topk 1 --speculative-num-draft-tokens 4",
        {"draft_length": 3, "expert_parallel": 1},
        set(),
    ),
    "no chunks of sglang": (
        "python -m sglang.launch_server --model-path Qwen/Qwen3-8B --chunked-prefill-size -1",
        {"prefill_chunk": math.inf},
        set(),
    ),
    "a file in the script": (
        "cat > ./extra.yml <<EOF\nenable_attention_dp: true\nkv_cache_config:\n  dtype: fp8\n"
        "  enable_block_reuse: false\n"
        "  free_gpu_memory_fraction: 0.8\nstream_interval: 10\nspeculative_config:\n  decoding_type: MTP\n"
        "  num_nextn_predict_layers: 3\nEOF\nmpirun -n 1 trtllm-serve nvidia/DeepSeek-R1-FP4 --tp_size 8 --ep_size 8 "
        "--max_batch_size 64 --max_num_tokens 2048 --extra_llm_api_options ./extra.yml",
        {
            "model": "DeepSeek-V3",
            "weight_format": "nvfp4",
            "attention_data_parallel": 8,
            "kv_format": "fp8",
            "kv_cache_memory_share": 0.8,
            "prefix_hit_rate": 0.0,
            "draft_length": 3,
            "max_running_sequences": 512,
            "step_token_budget": 16384,
        },
        {"mpirun", "config: stream_interval"},
    ),
    "chunks of trtllm": (
        "trtllm-serve serve meta-llama/Llama-3.1-70B --tensor_parallel_size 4 --enable_chunked_prefill",
        {"prefill_chunk": 8192, "chips": 4},
        set(),
    ),
    "prefill and decode": (
        "python -m dynamo.frontend --http-port 8000 &\n"
        "python -m dynamo.vllm --model Qwen/Qwen3-32B --tensor-parallel-size 2 --disaggregation-mode prefill &\n"
        "python -m dynamo.vllm --model Qwen/Qwen3-32B --tensor-parallel-size 2 --disaggregation-mode prefill &\n"
        "python -m dynamo.vllm --model Qwen/Qwen3-32B --tensor-parallel-size 4 --disaggregation-mode decode",
        {"serving_mode": "disaggregated", "prefill_replicas": 2, "tensor_parallel": 4},
        {"--http-port"},
    ),
    "connectors": (
        "vllm serve Qwen/Qwen3-32B -tp 2 --kv-transfer-config '{\"kv_connector\": \"NixlConnector\", \"kv_role\": "
        "\"kv_producer\"}' & vllm serve Qwen/Qwen3-32B -tp 4 --kv-transfer-config "
        "'{\"kv_connector\": \"NixlConnector\", \"kv_role\": \"kv_consumer\"}'",
        {"serving_mode": "disaggregated", "tensor_parallel": 4},
        set(),
    ),
    "a connector of another tier": (
        "vllm serve Qwen/Qwen3-32B --kv-transfer-config "
        "'{\"kv_connector\": \"OffloadingConnector\", \"kv_role\": \"kv_both\"}'",
        {"chips": 1},
        {"--kv-transfer-config"},
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", COMMANDS)
def test_commands(name):
    text, inputs, ignored = COMMANDS[name]
    read = rs.from_command(text)
    assert {key: read.get(key) for key in inputs} == inputs
    assert {*read.ignored} == ignored


@pytest.mark.parametrize("name", COMMANDS)
def test_commands_can_be_asked_about(name):
    """The scenario is complete but for the chip and the load."""
    load = {"hardware": "B200", "concurrency": 8, "input_tokens": 2000, "output_tokens": 500}
    read = rs.from_command(COMMANDS[name][0], **load)
    drafts = {"acceptance_rate": 0.7, "draft_cost": 0.04} if "draft_length" in read else {}
    assert 0 < rs.value("time_per_output_token", read, calibration="serving", **drafts) < 1


def test_inputs_of_the_caller_win():
    read = rs.from_command("vllm serve org/unknown -tp 4", model="Llama-3.1-70B", max_running_sequences=8)
    assert (read["model"], read["chips"], read["max_running_sequences"]) == ("Llama-3.1-70B", 4, 8)


def test_scenario_of_a_model_of_a_config():
    """A model that the caller read needs no entry of the catalog."""
    model = rs.Model.from_config(
        {
            "model_type": "mixtral",
            "hidden_size": 1024,
            "num_hidden_layers": 8,
            "num_attention_heads": 16,
            "num_key_value_heads": 8,
            "intermediate_size": 3584,
            "num_local_experts": 8,
            "num_experts_per_tok": 2,
            "vocab_size": 32000,
        }
    )
    read = rs.from_command("vllm serve org/mine -tp 2 -ep", model=model, hardware="H100", concurrency=8)
    assert read["expert_parallel"] == 2
    assert rs.value("time_per_output_token", read, input_tokens=100, output_tokens=10) > 0
    copied = copy.deepcopy(read)
    assert (copied, copied.ignored, copied.engine) == (read, read.ignored, read.engine)


def test_engine_reserves_pages():
    text = "python -m sglang.launch_server --model-path {} --page-size 16"
    assert rs.from_command(text.format("deepseek-ai/DeepSeek-V3"))["engine"] == "SGLang FlashMLA"
    read = rs.from_command(text.format("Qwen/Qwen3-32B"), context_length=100)
    assert read["engine"] == "SGLang"
    assert rs.value("allocated_kv_bytes", read) == rs.value("allocated_kv_bytes", read, context_length=112)


BATCH_LIMITS = ("max_running_sequences", "step_token_budget", "prefill_chunk")


@pytest.mark.parametrize(
    ("command", "chip", "limits"),
    [
        ("vllm serve Qwen/Qwen3-32B -tp 4", "H100", (1024, 8192, 8192)),
        ("vllm serve Qwen/Qwen3-32B -tp 4", "HGX B200", (1024, 16384, 16384)),
        ("vllm serve Qwen/Qwen3-32B -tp 4", "A100-80", (256, 2048, 2048)),
        ("vllm serve Qwen/Qwen3-32B -tp 4", "MI300X", (1024, 16384, 16384)),
        ("vllm serve Qwen/Qwen3-32B -tp 4", "TPU v6e", (None, None, None)),
        ("vllm serve Qwen/Qwen3-32B -tp 4", None, (None, None, None)),
        ("vllm serve Qwen/Qwen3-32B -tp 4 --max-num-batched-tokens 4096", "H100", (1024, 4096, 4096)),
        ("vllm serve Qwen/Qwen3-32B --no-enable-chunked-prefill", "H100", (1024, None, math.inf)),
        ("vllm serve Qwen/Qwen3-32B --performance-mode throughput", "H100", (2048, 16384, 16384)),
        ("vllm serve deepseek-ai/DeepSeek-V3 -dp 8 -ep", "H200", (8192, 65536, 8192)),
        ("python -m dynamo.vllm --model Qwen/Qwen3-32B", "H100", (1024, 8192, 8192)),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B", "L40S", (None, 4096, 4096)),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B", "H200", (None, 8192, 8192)),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B", "B200", (None, 16384, 16384)),
        (
            f"{SGLANG} --model-path deepseek-ai/DeepSeek-V3 --tp 8 --dp 8 --enable-dp-attention",
            "H200",
            (None, 8192, 1024),
        ),
        ("trtllm-serve Qwen/Qwen3-32B", None, (2048, 8192, None)),
        ("trtllm-serve Qwen/Qwen3-32B --max_batch_size 64 --enable_chunked_prefill", "H100", (64, 8192, 8192)),
    ],
)
def test_batch_limits_that_the_engine_chooses(command, chip, limits):
    """As the code of vLLM 0.29.0 and of SGLang 0.5.23 chooses by the memory of a chip."""
    read = rs.from_command(command, **({} if chip is None else {"hardware": chip}))
    assert tuple(read.get(name) for name in BATCH_LIMITS) == limits
    assert all(f"{flag} " not in f"{command} " for flag in read.defaults)
    numbers = [flag for flag, value in read.defaults.items() if value is not False]
    assert bool(numbers) == any(limit is not None for limit in limits)
    assert not read.ignored.keys() & read.defaults.keys()


VLLM = "vllm serve Qwen/Qwen3-32B"


@pytest.mark.parametrize(
    ("command", "chip", "most", "default"),
    [
        (VLLM, "H100", 512, True),
        (VLLM, "HGX B200", 1024, True),
        (VLLM, "MI300X", 512, True),
        (VLLM, None, None, False),
        (f"{VLLM} --max-num-seqs 64", "H100", 128, True),
        (f"{VLLM} --max-num-batched-tokens 256", "H100", 256, True),
        (f"{VLLM} --max-cudagraph-capture-size 64", "H100", 64, False),
        (f"{VLLM} --cudagraph-capture-sizes 1 2 4 96", None, 96, False),
        (f"{VLLM} --enforce-eager", "H100", 0, False),
        (f"{VLLM} --enforce-eager", None, 0, False),
        (f"{VLLM} -O0", "H100", 0, False),
        (f"{VLLM} -O3", "H100", 512, True),
        (f"{VLLM} -cc.cudagraph_mode=NONE", "H100", 0, False),
        (f"{VLLM} -O0 -cc.cudagraph_mode=FULL --max-cudagraph-capture-size 8", "H100", 8, False),
        (VLLM + """ --compilation-config '{"max_cudagraph_capture_size": 2048}'""", "H100", 2048, False),
        (VLLM + """ --speculative-config '{"method": "eagle3", "num_speculative_tokens": 3}'""", "H100", 128, True),
        ("python -m dynamo.vllm --model Qwen/Qwen3-32B", "H100", 512, True),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B", "H100", 256, True),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B --tp 4", "H100", 512, True),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B", "L40S", 32, True),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B", "B200", 512, True),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B --max-running-requests 48", "B200", 48, True),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B --cuda-graph-max-bs-decode 100", "B200", 100, False),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B --cuda-graph-bs-decode 1 8 24", "B200", 24, False),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B --disable-cuda-graph", "B200", 0, False),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B --cuda-graph-backend-decode disabled", None, 0, False),
        (SGLANG + """ --model-path Qwen/Qwen3-32B --cuda-graph-config '{"decode": {"max_bs": 7}}'""", "B200", 7, False),
        ("trtllm-serve Qwen/Qwen3-32B", None, 128, True),
    ],
)
def test_largest_batch_from_a_graph(command, chip, most, default):
    """As vLLM 0.29.0, SGLang 0.5.23 and TensorRT-LLM choose, by group of chips."""
    read = rs.from_command(command, **({} if chip is None else {"hardware": chip}))
    assert read.get("max_graph_batch_size") == most
    assert any("graph" in flag and value is not False for flag, value in read.defaults.items()) == default
    acts = any(word in command for word in ("eager", "graph", "-O0")) and " -cc.cudagraph_mode=FULL" not in command
    assert not (acts and any(re.search("graph|eager|compil|optim", flag) for flag in read.ignored))


@pytest.mark.parametrize(
    ("table", "most"), [(None, 0), ({"max_batch_size": 32}, 32), ({"batch_sizes": [1, 8]}, 8), ({}, 128)]
)
def test_graphs_of_a_configuration_file(table, most):
    read = rs.from_command("trtllm-serve Qwen/Qwen3-32B --config c.yaml", config={"cuda_graph_config": table})
    assert read["max_graph_batch_size"] == most


def test_the_callers_limit_of_graphs_counts():
    read = rs.from_command(f"{VLLM} --enforce-eager", hardware="H100", max_graph_batch_size=8)
    assert read["max_graph_batch_size"] == 8
    assert not any("graph" in flag for flag in rs.from_command(VLLM, hardware="H100", max_graph_batch_size=8).defaults)


@pytest.mark.parametrize(
    ("command", "config"),
    [
        (f"{SGLANG} --model-path Qwen/Qwen3-32B --cuda-graph-config oops", None),
        (f"{SGLANG} --model-path Qwen/Qwen3-32B --cuda-graph-bs-decode 1 x", None),
        ("trtllm-serve Qwen/Qwen3-32B --config c.yaml", {"cuda_graph_config": 3}),
        ("trtllm-serve Qwen/Qwen3-32B --config c.yaml", {"cuda_graph_config": {"batch_sizes": "many"}}),
    ],
)
def test_unreadable_graphs(command, config):
    with pytest.raises(rs.errors.ValueRangeError, match="graph"):
        rs.from_command(command, config=config)


SERVE = f"{SGLANG} --model-path Qwen/Qwen3-32B"
LATENT = f"{SGLANG} --model-path deepseek-ai/DeepSeek-V3 --tp 8"
OFF = """--cuda-graph-config '{"prefill": {"backend": "disabled"}}'"""
SPLIT = "--disaggregation-mode decode"
TRT = "trtllm-serve Qwen/Qwen3-32B --config c.yaml"


@pytest.mark.parametrize(
    ("command", "policy", "graphs", "absent"),
    [
        (VLLM, None, "piecewise", {"--enforce-eager"}),
        (f"{VLLM} --enforce-eager", None, "none", set()),
        (f"{VLLM} -O0", None, "none", set()),
        (f"{VLLM} -cc.cudagraph_mode=NONE", None, "piecewise", {"--enforce-eager"}),
        ("python -m dynamo.vllm --model Qwen/Qwen3-32B", None, "piecewise", {"--enforce-eager"}),
        (SERVE, "first", "piecewise", {"--enable-mixed-chunk", "--disable-prefill-cuda-graph"}),
        (f"{SERVE} --enable-mixed-chunk", "chunked", "piecewise", {"--disable-prefill-cuda-graph"}),
        (f"{SERVE} --disable-prefill-cuda-graph", "first", "none", {"--enable-mixed-chunk"}),
        (f"{SERVE} --disable-cuda-graph", "first", "none", {"--enable-mixed-chunk"}),
        (f"{SERVE} --cuda-graph-backend-prefill disabled", "first", "none", {"--enable-mixed-chunk"}),
        (f"{SERVE} {OFF}", "first", "none", {"--enable-mixed-chunk"}),
        (f"{SERVE} {SPLIT}", None, "piecewise", {"--enable-mixed-chunk", "--disable-prefill-cuda-graph"}),
        (LATENT, "first", "none", {"--enable-mixed-chunk", "--disable-prefill-cuda-graph"}),
        (f"{LATENT} --cuda-graph-backend-prefill breakable", "first", "piecewise", {"--enable-mixed-chunk"}),
        (TRT, None, "none", {"config: torch_compile_config.enable_piecewise_cuda_graph"}),
    ],
)  # fmt: skip
def test_prefill_as_the_engine_schedules_it(command, policy, graphs, absent):
    read = rs.from_command(command, **({"config": {}} if command == TRT else {}))
    assert (read.get("prompt_policy"), read.get("prefill_graphs")) == (policy, graphs)
    assert {flag for flag, value in read.defaults.items() if value is False} == absent
    assert not any("graph" in flag or "mixed" in flag for flag in read.ignored)
    given = rs.from_command(command, prompt_policy="chunked", prefill_graphs="none", config={})
    assert (given["prompt_policy"], given["prefill_graphs"]) == ("chunked", "none")
    assert not any(value is False for value in given.defaults.values())


def test_prefill_graphs_of_a_configuration_file():
    read = rs.from_command(TRT, config={"torch_compile_config": {"enable_piecewise_cuda_graph": True}})
    assert read["prefill_graphs"] == "piecewise"


def test_a_schedule_by_default_may_be_without_effect():
    read = rs.from_command(SERVE, hardware="H100")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert rs.value("kv_cache_capacity", read) > 0


def test_prompts_in_steps_of_their_own_delay_decode():
    load = {"concurrency": 64, "input_tokens": 1000, "output_tokens": 200, "hardware": "H100", "calibration": "serving"}
    first, mixed = (
        rs.value("time_per_output_token", rs.from_command(text, **load))
        for text in (SERVE, f"{SERVE} --enable-mixed-chunk")
    )
    assert mixed < first < 2 * mixed


def test_a_key_of_the_configuration_file_is_no_default():
    read = rs.from_command("trtllm-serve Qwen/Qwen3-32B --config c.yaml", config={"max_batch_size": 16})
    assert read["max_running_sequences"] == 16
    recorded = {"config: torch_compile_config.enable_piecewise_cuda_graph": False}
    assert read.defaults == {"--max_num_tokens": 8192, "config: cuda_graph_config.max_batch_size": 128, **recorded}


def test_notes_say_what_is_missing():
    drafts = "--speculative-config.num_speculative_tokens 1"
    read = rs.from_command(f"vllm serve deepseek-ai/DeepSeek-V3 -dp 8 --gpu-memory-utilization 0.9 {drafts}")
    notes = " ".join(read.notes)
    assert "acceptance_rate=" in notes
    assert "give hardware=" in notes
    assert "by width" in notes
    assert read.engine == "vLLM 0.29.0"


# -------------------------------------------------------------------------------------------------------------- models


def test_published_names_find_their_models():
    """Each published repository leads back to its model, or to one of the same values."""
    for name, preset in rs.models.items():
        published = published_id(preset)
        if "/" in published:
            back, stored = catalog_model(published)
            unlike = {key for key in preset.values if preset.values[key] != rs.models[back].values.get(key)}
            assert unlike <= {"kv_format"} or name == "DeepSeek-V3 (lecture)", name
            assert stored is None


@pytest.mark.parametrize(
    ("checkpoint", "model", "stored"),
    [
        ("meta-llama/Llama-3.1-70B-Instruct", "Llama-3.1-70B", None),
        ("/data/models/Qwen3-32B/", "Qwen3-32B", None),
        ("RedHatAI/Qwen3-32B-FP8-dynamic", "Qwen3-32B", "fp8"),
        ("Qwen/Qwen3-32B-AWQ", "Qwen3-32B", "int4"),
        ("DEEPSEEK-AI/deepseek-v3", "DeepSeek-V3", None),
        ("deepseek-ai/DeepSeek-V3-FP8", "DeepSeek-V3", None),
        ("mistralai/Mixtral-8x7B-Instruct-v0.1", "Mixtral-8x7B", None),
    ],
)
def test_checkpoints(checkpoint, model, stored):
    assert catalog_model(checkpoint) == (model, stored)


def test_unknown_model():
    with pytest.raises(UnknownName, match=r"no model for 'org/Qwen3-33B' \(give model=.*; did you mean.*Qwen3-32B"):
        rs.from_command("vllm serve org/Qwen3-33B")


# ------------------------------------------------------------------------------------------------------------ refusals

_V, _S, _T = "vllm serve Qwen/Qwen3-32B ", "sglang serve --model-path Qwen/Qwen3-32B ", "trtllm-serve Qwen/Qwen3-32B "


@pytest.mark.parametrize(
    ("text", "error", "words"),
    [
        (_V + "--tensor-paralel-size 4", UnknownName,
         "vLLM 0.29.0 has no flag '--tensor-paralel-size'; did you mean '--tensor-parallel-size'"),
        (_S + "--chunked-prefilll 4", UnknownName, "SGLang 0.5.23 has no flag.*--chunked-prefill-size"),
        (_S + "--speculative-num 4", UnknownName, "begins several flags of SGLang 0.5.23: --speculative-num-d"),
        (_T + "--tp 4", UnknownName, "TensorRT-LLM.*no flag '--tp'; did you mean"),
        ("python -m dynamo.vllm --model Qwen/Qwen3-32B --router-mode kv", UnknownName,
         "Dynamo 1.6.1 has no flag '--router-mode'"),
        (_V + "--tensor-parallel-size four", ValueRangeError,
         "--tensor-parallel-size: expected a whole number, got 'four'"),
        (_V + "-tp 0", ValueRangeError, "--tensor-parallel-size: expected a whole number of at least 1, got 0"),
        (_V + "-tp $GPUS", ValueRangeError, "expected a whole number, got '\\$GPUS'"),
        (_V + "-tp", MissingInput, "-tp: a value must follow"),
        (_V + "--kv-cache-dtype fp9", UnknownName, "unknown value 'fp9'; did you mean 'fp8'"),
        (_V + "--kv-cache-dtype turboquant_4bit_nc", ValueRangeError,
         "turboquant_4bit_nc: the model has no such format"),
        (_V + "--decode-context-parallel-size 2", ValueRangeError, "the model has no input for it"),
        (_V + "--speculative-config x", ValueRangeError, "expected an object in JSON"),
        (_V + "--speculative-config '{\"num_speculative_tokens\": \"3\"}'", ValueRangeError, "whole number of drafts"),
        (_V + "--enable-expert-parallel=yes", ValueRangeError, "takes no value"),
        (_V + "extra", ValueRangeError, "'extra' belongs to no flag"),
        (_V + "--config x.yaml", ValueRangeError, "give its options as flags"),
        (_V + "'open", ValueRangeError, "a quote is open"),
        (_V + "$(id)", ValueRangeError, "is not carried out"),
        (_V + "`id`", ValueRangeError, "is not carried out"),
        (_V + "& vllm serve Qwen/Qwen3-8B", ValueRangeError, "one model at a time"),
        (_V + "& " + _V + "-tp 2", ValueRangeError, "2 different commands"),
        (_V + "& " + _S, ValueRangeError, "one engine at a time"),
        (_S + "--tp 4 --attn-dp-size 3", ValueRangeError, "3 groups do not divide the 4 chips"),
        (_S + "--tp 4 --moe-dp-size 2", ValueRangeError, "--moe-dp-size 2: the model has no input for it"),
        (_T + "--config x.yml", MissingInput, "give its content by config="),
        ("python -m dynamo.frontend", ValueRangeError, "a frontend serves no model"),
        ("vllm serve", MissingInput, "names no model"),
        ("vlm serve x", UnknownName, "starts no engine.*vllm serve"),
        ("", ValueRangeError, "no command"),
        ("x" * 100_001, ValueRangeError, "at most 100,000 characters"),
        (3, InputTypeError, "expected a text"),
    ],
)  # fmt: skip
def test_refusals(text, error, words):
    with pytest.raises(error, match=words):
        rs.from_command(text)


@pytest.mark.parametrize(
    ("config", "error", "words"),
    [
        ({"kv_cache_confg": {}}, UnknownName, "no key 'kv_cache_confg'; did you mean 'kv_cache_config'"),
        ("- 1", InputTypeError, "expected a mapping"),
        ("a: &x [1]\nb: *x", ValueRangeError, "anchors"),
        ("{", ValueRangeError, "not readable as YAML"),
        ("!!python/object/apply:os.system ['id']", ValueRangeError, "not readable as YAML"),
        ({"tensor_parallel_size": "8"}, ValueRangeError, "must be a whole number"),
        ("x" * 100_001, ValueRangeError, "at most 100,000"),
    ],
)
def test_bad_configuration(config, error, words):
    with pytest.raises(error, match=words):
        rs.from_command("trtllm-serve Qwen/Qwen3-32B --config x.yaml", config=config)


@pytest.mark.parametrize(
    "text",
    [
        "vllm serve Qwen/Qwen3-8B --speculative-config '" + "[" * 90_000 + "'",
        "vllm serve Qwen/Qwen3-8B --speculative-config" + ".a" * 40_000 + " 1",
        "vllm serve Qwen/Qwen3-8B " + "--a " * 20_000,
        "vllm serve Qwen/Qwen3-8B " + "-" * 90_000,
        "cat > x <<" + "E" * 50_000 + "\n" * 40_000,
        ("cat > x <<EOF\n" * 7_000)[:100_000],
        "trtllm-serve Qwen/Qwen3-8B --tensor_parallel_size " + "9" * 90_000,
        "\\\n" * 50_000,
    ],
    ids=["nested", "dotted", "many", "dashes", "open document", "documents", "digits", "continuations"],
)
def test_hostile_texts_end_soon(text):
    start = time.perf_counter()
    with pytest.raises(RoofslateError):
        rs.from_command(text)
    assert time.perf_counter() - start < 5


def test_words_are_those_of_a_shell():
    """Words that `shlex` quotes come back, whatever they are."""
    draw = random.Random(7)
    for _ in range(2_000):
        words = ["".join(draw.choices("ab'\"\\ $#;&|\n{}()<>`=-é", k=draw.randint(0, 6))) for _ in range(4)]
        assert read_script("x " + " ".join(map(shlex.quote, words))).commands == [["x", *words]]
    assert read_script("a b > c 2>&1 && d; e | f # g").commands == [["a", "b"], ["d"], ["e"], ["f"]]
    assert read_script('a "$((X * 8))" "b\\"c"').commands == [["a", "$((X * 8))", 'b"c']]
