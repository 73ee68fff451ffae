"""Flags of an engine for a deployment, each with the number behind it."""

from __future__ import annotations

import json
import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofslate.deployment.launch_options import engine_options
from roofslate.errors import ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable

    from roofslate.deployment.launch_options import EngineOptions
    from roofslate.deployment.served import Served

__all__ = ["HEAD", "RANK", "Flag", "Process", "processes_of"]

HEAD, RANK = "HEAD_ADDRESS", "NODE_RANK"  # variables of the shell on nodes of one replica
_PORT = 29500
_TRANSFER_ROLES = {"prefill": "kv_producer", "decode": "kv_consumer"}


@dataclass(frozen=True)
class Flag:
    """One flag of a launch command.

    Attributes
    ----------
    name : str
        Flag, or the dotted key of a configuration file.
    value : str or None
        Value; None for a flag without one.
    quantity : str
        Input of the model behind it, or empty.
    number : str
        That input's number, with its unit.
    why : str
        Meaning.
    is_shell : bool
        Whether the value has a variable of the shell.
    """

    name: str
    value: str | None
    quantity: str
    number: str
    why: str
    is_shell: bool = False


@dataclass
class Process:
    """One program of a deployment: its role, command, and the nodes that run it.

    Attributes
    ----------
    role : str
        ``serve``, ``frontend``, ``prefill`` or ``decode``.
    words : list of str
        Program and positional arguments.
    flags : list of Flag
    config : dict
        Content of a configuration file.
    replicas, nodes, chips : int
        Copies; nodes of each; chips of each node.
    worker_flags : list of Flag
        Flags of the nodes behind the first, if they differ; None if they do not.
    """

    role: str
    words: list[str]
    flags: list[Flag] = field(default_factory=list)
    config: dict[str, Any] = field(default_factory=dict)
    replicas: int = 1
    nodes: int = 1
    chips: int = 1
    worker_flags: list[Flag] | None = None


class _Writer:
    """Collect the flags of one process."""

    def __init__(self, options: EngineOptions, served: Served, process: Process) -> None:
        self.options, self.served, self.process = options, served, process

    def add(
        self, flag: str, value: object = None, *, quantity: str | None = None, why: str = "", shell: bool = False
    ) -> None:
        """Add a flag, with its meaning from the list of options unless given."""
        setting = self.options.settings.get(flag)
        name = quantity if quantity is not None else setting.quantity if setting else ""
        text = why or (setting.why if setting else "")
        written = None if value is None else f"{value:.6g}" if isinstance(value, float) else str(value)
        number = self.served.number_text(name) if name else ""
        self.process.flags.append(Flag(flag, written, name, number, text, shell))

    def configure(self, key: str, value: Any) -> None:
        """Add a key of the configuration file."""
        *parents, last = key.split(".")
        table = self.process.config
        for parent in parents:
            table = table.setdefault(parent, {})
        table[last] = value
        setting = self.options.settings[key]
        number = self.served.number_text(setting.quantity)
        self.process.flags.append(Flag(f"config: {key}", json.dumps(value), setting.quantity, number, setting.why))

    def note(self, text: str) -> None:
        """Note an input that no flag carries, once."""
        if text not in self.served.notes:
            self.served.notes.append(text)

    def refuse(self, quantity: str, reason: str) -> None:
        """Refuse a layout or technique that the engine lacks."""
        given = self.served.number_text(quantity) or "default"
        raise ValueRangeError(f"{quantity}={given}: {self.options.title} {reason}")

    # ------------------------------------------------------------------------------------------- shared by engines

    def word(self, flag: str, quantity: str) -> None:
        """Add a flag for a format, or refuse one that the engine has no word for."""
        word, words = self.served.word(quantity), self.options.settings[flag].words
        if word not in words:
            self.refuse(quantity, f"has no word for it; {flag} knows {', '.join(words)}")
        self.add(flag, words[word])

    def kv_format(self, flag: str) -> None:
        """Add the format of the KV cache, unless it is bf16, the default of engines."""
        if self.served.word("kv_format") not in ("", "bf16"):
            self.word(flag, "kv_format")

    def weight_format(self, flag: str) -> None:
        """Add the format of weights where the checkpoint is stored in another one."""
        served = self.served
        word = served.word("weight_format")
        stored = "" if served.model is None else str(served.model.values.get("weight_format", ""))
        if served.explicit("weight_format") is None or word == stored:
            return
        if not flag:
            self.note(
                f"weight_format={word}: follows from the checkpoint; {served.checkpoint} is {stored or 'unknown'}"
            )
        elif word == "bf16":
            self.note(f"weight_format=bf16: needs a checkpoint in bf16; {served.checkpoint} is {stored or 'unknown'}")
        else:
            self.word(flag, "weight_format")
            if word not in ("fp8", "fp8-block", "int8") or stored != "bf16":
                self.note(f"weight_format={word}: {flag} loads a checkpoint that is stored so; give checkpoint=")

    def sequences(self, flag: str, *, per_group: bool) -> None:
        """Add the most sequences that run at a time, as many as there are clients unless given."""
        name = "concurrency" if self.served.explicit("max_running_sequences") is None else "max_running_sequences"
        most = self.served.explicit(name)
        if most is None or not math.isfinite(most) or (name == "concurrency" and self.process.role == "prefill"):
            return
        groups = self.served.groups if per_group else 1
        each = math.ceil(most / groups)
        if each * groups != most and name != "concurrency":
            self.note(f"{name}={most:g}: {flag} {each} is for each of {groups} groups, {each * groups} in all")
        self.add(flag, each, quantity=name)

    def tokens(self, flag: str, *, per_group: bool) -> float | None:
        """Add the tokens of a step, and return the tokens of a prompt that a step can read."""
        served = self.served
        budget, chunk = served.explicit("step_token_budget"), served.explicit("prefill_chunk")
        chunk = None if chunk is None or not math.isfinite(chunk) else float(served.whole("prefill_chunk"))
        if budget is None or not math.isfinite(budget):
            if chunk is not None:
                self.add(flag, int(chunk if per_group else chunk * served.groups), quantity="prefill_chunk")
            return chunk
        each = int(budget // served.groups)
        if each * served.groups != budget:
            self.note(f"step_token_budget={budget:g}: each of {served.groups} groups takes {each} tokens")
        self.add(flag, each if per_group else each * served.groups)
        if served.explicit("prefill_chunk") != math.inf and (chunk is None or chunk > each):
            self.note(f"prompts are read in parts of at most {each} tokens; prefill_chunk={each} predicts so")
        return float(each)

    def nodes(self) -> None:
        """Set the size of the process."""
        served, process = self.served, self.process
        if served.whole("prefill_context_parallel") > 1:
            self.refuse("prefill_context_parallel", "has no flag for it that agrees with the model; nearest: 1")
        process.nodes = served.nodes
        process.chips = min(served.layout["chips"], served.chips_per_node)
        if served.layout["chips"] % process.nodes:
            self.refuse("chips", f"takes as many chips on each of {process.nodes} nodes; give chips_per_node=")
        process.chips = served.layout["chips"] // process.nodes

    def graphs(self) -> int | None:
        """Return the largest batch from recorded graphs, None where the engine chooses."""
        most = self.served.explicit("max_graph_batch_size")
        return None if most is None or not math.isfinite(most) else self.served.whole("max_graph_batch_size")

    def no_flag(self, *quantities: str) -> None:
        """Note inputs that this engine has no flag for."""
        for name in quantities:
            x = self.served.explicit(name)
            if x is not None and x != 1:
                self.note(f"{name}={self.served.number_text(name)}: {self.options.title} has no flag for it")

    def memory_share(self, flag: str) -> None:
        """Add the share of a chip's memory for weights and KV cache."""
        share = self.served.explicit("kv_cache_memory_share")
        if share is None:
            return
        free = self.served.free_memory_share
        if free is None:
            self.note(f"kv_cache_memory_share={share:g}: {flag} needs the memory of a chip; give hardware=")
        else:
            self.add(flag, 1 - free * (1 - share))


# ------------------------------------------------------------------------------------------------------------- engines


def _vllm_flags(writer: _Writer, role: str) -> None:
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
    writer.no_flag("receive_interval")
    _vllm_nodes(writer)


def _vllm_nodes(writer: _Writer) -> None:
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
        _vllm_flags(_Writer(options, each, process), role)
        processes.append(process)
    if served.is_split:
        served.notes.append(f"{options.title} needs a proxy that sends prompts to one replica and answers from another")
    return processes


def _dynamo(options: EngineOptions, served: Served) -> list[Process]:
    frontend = Process("frontend", ["python", "-m", "dynamo.frontend"], chips=0)
    if served.keeps_prefixes:
        _Writer(options, served, frontend).add("--router-mode", "kv")
    processes = [frontend]
    for role, each, replicas in _roles(served):
        process = Process(role, ["python", "-m", "dynamo.vllm"], replicas=replicas)
        writer = _Writer(options, each, process)
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
    writer, layout = _Writer(options, served, process), served.layout
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
    writer, layout = _Writer(options, served, process), served.layout
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


def _note_smaller_chunk(writer: _Writer, step: float | None) -> None:
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
