"""Flags of an engine for a deployment, each with the number behind it."""

from __future__ import annotations

import json
import math
from typing import TYPE_CHECKING

from roofslate.deployment.launch_options import engine_options
from roofslate.deployment.launch_writer import Process, Writer
from roofslate.errors import ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from roofslate.deployment.launch_options import EngineOptions
    from roofslate.deployment.served import Served

__all__ = ["HEAD", "RANK", "processes_of"]

HEAD, RANK = "HEAD_ADDRESS", "NODE_RANK"  # variables of the shell on nodes of one replica
_PORT = 29500
_TRANSFER_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}


# ------------------------------------------------------------------------------------------------------------- engines


def _vllm_flags(writer: Writer, role: str) -> None:
    """Flags that vLLM's engine takes, in its own server and in Dynamo's worker."""
    served, layout = writer.served, writer.served.layout
    writer.add("--tensor-parallel-size", layout["tensor_parallel"])
    if layout["pipeline_stages"] > 1:
        writer.add("--pipeline-parallel-size", layout["pipeline_stages"])
    if served.groups > 1:
        writer.add("--data-parallel-size", served.groups)
    if served.routed:
        if layout["expert_parallel"] == served.stage > 1:
            writer.add("--enable-expert-parallel")
        elif layout["expert_parallel"] > 1 or served.groups > 1:
            one = "" if served.groups > 1 else "1 or "
            writer.refuse("expert_parallel", f"spreads experts over all chips of a stage; nearest: {one}{served.stage}")
    writer.weight_format("--quantization")
    writer.kv_format("--kv-cache-dtype")
    writer.sequences("--max-num-seqs", per_group=True)
    step = writer.tokens("--max-num-batched-tokens", per_group=True)
    chunk = served.explicit("prefill_chunk")
    if step is not None and chunk is not None and chunk < step:
        writer.add("--long-prefill-token-threshold", served.whole("prefill_chunk"))
    if chunk == math.inf:
        writer.add("--no-enable-chunked-prefill")
    if served.explicit("kv_block_size") is not None:
        writer.add("--block-size", served.whole("kv_block_size"))
    writer.memory_share("--gpu-memory-utilization")
    if served.keeps_prefixes is not None:
        writer.add("--enable-prefix-caching" if served.keeps_prefixes else "--no-enable-prefix-caching")
    if served.draft is not None:
        drafts = {"method": served.draft.method, "num_speculative_tokens": served.draft.length}
        if served.draft.model:
            drafts["model"] = served.draft.model
        writer.add("--speculative-config", json.dumps(drafts))
    if role in _TRANSFER_ROLES:
        transfer = {"kv_connector": "NixlConnector", "kv_role": _TRANSFER_ROLES[role]}
        writer.add("--kv-transfer-config", json.dumps(transfer))
    if (most := writer.graphs()) == 0:
        writer.add("--enforce-eager")
    elif most is not None:
        tokens = 1 + (served.draft.length if served.draft is not None else 0)
        writer.add("--max-cudagraph-capture-size", most * tokens)
    if served.explicit_word("prefill_graphs") == "none" and most != 0:
        writer.note("prefill_graphs=none: --enforce-eager is for decode too; max_graph_batch_size=0 writes it")
    writer.mixed_steps()
    writer.no_flag("receive_interval")
    _vllm_nodes(writer)


def _vllm_nodes(writer: Writer) -> None:
    """Add flags of a replica on several nodes."""
    served, process = writer.served, writer.process
    writer.nodes()
    if process.nodes == 1:
        return
    common = list(process.flags)
    if served.groups == 1:
        nodes = [("--nnodes", str(process.nodes)), ("--node-rank", f"${RANK}"), ("--master-addr", f"${HEAD}")]
        first: list[tuple[str, str | None]] = [*nodes]
        behind: list[tuple[str, str | None]] = [*nodes, ("--headless", None)]
    else:
        if served.groups % process.nodes:
            writer.refuse(
                "attention_data_parallel", f"puts whole groups on each of {process.nodes} nodes; give chips_per_node="
            )
        local = served.groups // process.nodes
        nodes = [("--data-parallel-size-local", str(local)), ("--data-parallel-address", f"${HEAD}")]
        first = [*nodes]
        behind = [*nodes, ("--data-parallel-start-rank", f"$(({RANK} * {local}))"), ("--headless", None)]
    why = f"{process.nodes} nodes of {process.chips} chips"
    for flag, value in first:
        writer.add(flag, value, quantity="chips", why=why, shell=value is not None and value.startswith("$"))
    head = process.flags
    process.flags = common
    for flag, value in behind:
        writer.add(flag, value, quantity="chips", why=why, shell=value is not None and value.startswith("$"))
    process.flags, process.worker_flags = head, process.flags


def _vllm(options: EngineOptions, served: Served) -> list[Process]:
    processes = []
    for role, each, replicas in _roles(served):
        process = Process(role, ["vllm", "serve", each.checkpoint], replicas=replicas)
        _vllm_flags(Writer(options, each, process), role)
        processes.append(process)
    if served.is_split:
        served.notes.append(f"{options.title} needs a proxy that sends prompts to one replica and answers from another")
    return processes


def _dynamo(options: EngineOptions, served: Served) -> list[Process]:
    frontend = Process("frontend", ["python", "-m", "dynamo.frontend"], chips=0)
    if served.keeps_prefixes:
        Writer(options, served, frontend).add("--router-mode", "kv")
    processes = [frontend]
    for role, each, replicas in _roles(served):
        process = Process(role, ["python", "-m", "dynamo.vllm"], replicas=replicas)
        writer = Writer(options, each, process)
        writer.add("--model", each.checkpoint, why="checkpoint")
        if role != "serve":
            writer.add("--disaggregation-mode", role)
        _vllm_flags(writer, role)
        processes.append(process)
    return processes


def _sglang(options: EngineOptions, served: Served) -> list[Process]:
    return [_sglang_process(options, each, role, replicas) for role, each, replicas in _roles(served)]


def _sglang_process(options: EngineOptions, served: Served, role: str, replicas: int) -> Process:
    process = Process(role, ["python", "-m", "sglang.launch_server"], replicas=replicas)
    writer, layout = Writer(options, served, process), served.layout
    writer.add("--model-path", served.checkpoint, why="checkpoint")
    writer.add("--tp-size", served.stage)
    if layout["pipeline_stages"] > 1:
        writer.add("--pp-size", layout["pipeline_stages"])
    if served.groups > 1:
        writer.add("--attn-dp-size", served.groups)
    if served.routed:
        writer.add("--ep-size", layout["expert_parallel"])
        if served.stage // layout["expert_parallel"] > layout["tensor_parallel"]:
            writer.refuse("expert_parallel", f"shares each expert, and the model copies it; nearest: {served.groups}")
    elif served.groups > 1:
        writer.note("SGLang shares dense matrices among all chips of a stage; the model counts a copy for each group")
    writer.weight_format("--quantization")
    writer.kv_format("--kv-cache-dtype")
    writer.sequences("--max-running-requests", per_group=False)
    step = writer.tokens("--chunked-prefill-size", per_group=False)
    if step is None and served.explicit("prefill_chunk") == math.inf:
        writer.add("--chunked-prefill-size", -1, quantity="prefill_chunk", why="prompts are read at once")
    _note_smaller_chunk(writer, step)
    if served.explicit("kv_block_size") is not None:
        writer.add("--page-size", served.whole("kv_block_size"))
    writer.memory_share("--mem-fraction-static")
    if served.keeps_prefixes is False:
        writer.add("--disable-radix-cache")
    if served.explicit("receive_interval") is not None:
        writer.add("--scheduler-recv-interval", served.whole("receive_interval"))
    if (most := writer.graphs()) == 0:
        writer.add("--cuda-graph-backend-decode", "disabled")
    elif most is not None:
        writer.add("--cuda-graph-max-bs-decode", most)
    graphs = served.explicit_word("prefill_graphs")
    if graphs == "none":
        writer.add("--disable-prefill-cuda-graph")
    elif graphs and served.is_latent:
        writer.add("--cuda-graph-backend-prefill", "breakable")
    if served.explicit_word("prompt_policy") == "chunked" and role == "serve":
        writer.add("--enable-mixed-chunk")
    if served.draft is not None:
        drafts = served.draft
        writer.add("--speculative-algorithm", {"mtp": "EAGLE", "eagle3": "EAGLE3", "dspark": "DSPARK"}[drafts.method])
        if drafts.model:
            writer.add("--speculative-draft-model-path", drafts.model)
        writer.add("--speculative-num-steps", drafts.length)
        writer.add("--speculative-eagle-topk", 1)
        writer.add("--speculative-num-draft-tokens", drafts.length + 1)
    if role in ("prefill", "decode"):
        writer.add("--disaggregation-mode", role)
        writer.note(f"{options.title} needs a router that joins prefill and decode: sglang_router")
    writer.nodes()
    if process.nodes > 1:
        why = f"{process.nodes} nodes of {process.chips} chips"
        writer.add("--nnodes", process.nodes, quantity="chips", why=why)
        writer.add("--node-rank", f"${RANK}", quantity="chips", why=why, shell=True)
        writer.add("--dist-init-addr", f"${HEAD}:{_PORT}", quantity="chips", why=why, shell=True)
    return process


def _trtllm(options: EngineOptions, served: Served) -> list[Process]:
    return [_trtllm_process(options, each, role, replicas) for role, each, replicas in _roles(served)]


def _trtllm_process(options: EngineOptions, served: Served, role: str, replicas: int) -> Process:
    process = Process(role, ["trtllm-serve", served.checkpoint], replicas=replicas)
    writer, layout = Writer(options, served, process), served.layout
    writer.add("--tensor_parallel_size", served.stage)
    if layout["pipeline_stages"] > 1:
        writer.add("--pipeline_parallel_size", layout["pipeline_stages"])
    if served.groups == served.stage > 1:
        writer.add("--enable_attention_dp")
    elif served.groups > 1:
        reason = f"gives separate sequences to each chip of a stage or to none; nearest: 1 or {served.stage}"
        writer.refuse("attention_data_parallel", reason)
    if served.routed:
        if served.groups > 1 and layout["expert_parallel"] != served.stage:
            reason = f"shares each expert among chips, and the model copies it; nearest: {served.stage}"
            writer.refuse("expert_parallel", reason)
        writer.add("--moe_expert_parallel_size", layout["expert_parallel"])
    writer.weight_format("")
    writer.kv_format("--kv_cache_dtype")
    writer.sequences("--max_batch_size", per_group=True)
    step = writer.tokens("--max_num_tokens", per_group=True)
    _note_smaller_chunk(writer, step)
    if math.isfinite(served.explicit("prefill_chunk") or math.inf):
        writer.add("--enable_chunked_prefill")
    if served.explicit("kv_cache_memory_share") is not None:
        writer.add("--free_gpu_memory_fraction", served.explicit("kv_cache_memory_share"))
    if served.explicit("kv_block_size") is not None:
        writer.configure("kv_cache_config.tokens_per_block", served.whole("kv_block_size"))
    if served.keeps_prefixes is not None:
        writer.configure("kv_cache_config.enable_block_reuse", served.keeps_prefixes)
    if (most := writer.graphs()) == 0:
        writer.configure("cuda_graph_config", None)
    elif most is not None:
        writer.configure("cuda_graph_config.max_batch_size", most)
    if served.explicit_word("prefill_graphs") == "piecewise":
        writer.configure("torch_compile_config.enable_piecewise_cuda_graph", True)
    writer.mixed_steps()
    if served.draft is not None:
        if served.draft.method == "dspark":
            writer.refuse("draft_length", "does not draft by DSpark")
        if served.draft.method == "mtp":
            writer.configure("speculative_config.decoding_type", "MTP")
            writer.configure("speculative_config.num_nextn_predict_layers", served.draft.length)
        else:
            writer.configure("speculative_config.decoding_type", "Eagle3")
            writer.configure("speculative_config.max_draft_len", served.draft.length)
            writer.configure("speculative_config.speculative_model", served.draft.model)
    if role in ("prefill", "decode"):
        writer.configure("cache_transceiver_config.backend", "DEFAULT")
        writer.note(f"{options.title} needs a server that joins prefill and decode: trtllm-serve disaggregated")
    writer.no_flag("receive_interval")
    if process.config:
        writer.add("--config", f"{role}.yaml")
    writer.nodes()
    if process.nodes > 1:
        process.words[:0] = ["mpirun", "-n", str(layout["chips"]), "trtllm-llmapi-launch"]
    return process


def _note_smaller_chunk(writer: Writer, step: float | None) -> None:
    chunk = writer.served.explicit("prefill_chunk")
    if step is not None and chunk is not None and chunk < step:
        writer.note(
            f"prefill_chunk={chunk:g}: {writer.options.title} reads up to {step:g} tokens of a prompt in a step"
        )


def _roles(served: Served) -> list[tuple[str, Served, int]]:
    """Roles of a deployment, each with its layout and replicas."""
    if not served.is_split:
        return [("serve", served, served.whole("replicas"))]
    prefill = served.prefill or served
    return [("prefill", prefill, served.whole("prefill_replicas")), ("decode", served, served.whole("replicas"))]


_PROCESSES: dict[str, Callable[[EngineOptions, Served], list[Process]]] = {
    "vllm": _vllm,
    "sglang": _sglang,
    "trtllm": _trtllm,
    "dynamo": _dynamo,
}


def processes_of(engine: str, served: Served) -> list[Process]:
    """Programs that serve a deployment.

    Parameters
    ----------
    engine : str
        Key of the engine.
    served : Served
        Its `notes` grow by inputs that no flag carries.

    Returns
    -------
    list of Process

    Raises
    ------
    ValueRangeError
        For a layout or technique that the engine lacks, with the nearest one.
    """
    options = engine_options(engine)
    for each in (served, served.prefill):
        _check_vendor(options, each)
    return _PROCESSES[engine](options, served)


def _check_vendor(options: EngineOptions, served: Served | None) -> None:
    """Refuse chips that an engine does not run on, and note those that need a plugin."""
    if served is None or not served.vendor or served.vendor in options.vendors:
        return
    words = f"{options.title} is built for chips of {' and '.join(options.vendors)}, got {served.vendor}"
    if not options.plugins:
        raise ValueRangeError(f"hardware: {words}")
    note = f"{words}: a plugin or another build is needed, whose flags may differ"
    if note not in served.notes:
        served.notes.append(note)
