"""Steps from recorded (CUDA) graphs, and prompts in steps of decode, by launch options."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown
from roofslate.errors import ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["GRAPH_DEFAULTS", "graph_limit", "read_graph_limit", "read_prefill"]

GRAPH_DEFAULTS = {  # of commands that do not say it
    "vllm": "--max-cudagraph-capture-size",  # by chip
    "sglang": "--cuda-graph-max-bs-decode",  # by chip
    "trtllm": "cuda_graph_config.max_batch_size",
}
_FLAGS = frozenset(
    {
        *("--max-cudagraph-capture-size", "--cudagraph-capture-sizes", "--enforce-eager"),
        *("--cuda-graph-max-bs-decode", "--cuda-graph-bs-decode", "--cuda-graph-backend-decode"),
        *("--disable-decode-cuda-graph", "--disable-cuda-graph"),
    }
)
_FURTHER = ("--compilation-config", "--optimization-level", "--cuda-graph-config")  # say more than that


def graph_limit(engine: str, flags: Mapping[str, Any], key: Callable[[str, Any], Any], drafts: int) -> int | None:
    """Return the largest batch of a group from a recorded graph, or None if unknown.

    Parameters
    ----------
    engine : str
        ``vllm``, ``sglang`` or ``trtllm``.
    flags : mapping of str to object
        Of the command.
    key : callable
        Value of a key of the configuration file, or the given default.
    drafts : int
        Draft tokens of a sequence in a step.
    """
    if engine == "sglang":
        return _sglang(flags)
    if engine == "trtllm":
        table = key("cuda_graph_config", {})
        if table is None:
            return 0
        if not isinstance(table, dict):
            raise ValueRangeError(f"config: cuda_graph_config must be a table or null, got {shown(table)}")
        return _largest(table.get("batch_sizes"), table.get("max_batch_size"))
    tokens = _vllm_tokens(flags)
    return None if tokens is None else tokens // (1 + drafts)


def read_graph_limit(
    engine: str, flags: Mapping[str, Any], key: Callable[[str, Any], Any], drafts: int, of_chip: int | None
) -> tuple[int | None, dict[str, int], set[str]]:
    """Return the limit of a command or an engine, its default, and the flags that it used.

    Parameters
    ----------
    engine, flags, key, drafts
        As for `graph_limit`, `flags` with other defaults.
    of_chip : int or None
        The engine's number where no flag says it; None if unknown.
    """
    most = graph_limit(engine, flags, key, drafts)
    if most is not None or of_chip is None:
        acting = {flag for flag in _FURTHER if graph_limit(engine, _without(flags, flag), key, drafts) != most}
        return most, {}, {*_FLAGS, *acting}
    flag, default = GRAPH_DEFAULTS[engine], of_chip
    if engine == "trtllm":
        return default, {f"config: {flag}": default}, set()
    sequences = flags.get("--max-num-seqs" if engine == "vllm" else "--max-running-requests")
    if sequences is not None:
        default = min(of_chip, sequences * 2 * (1 + drafts) if engine == "vllm" else sequences)
    return graph_limit(engine, {**flags, flag: default}, key, drafts), {flag: default}, {*_FLAGS}


def read_prefill(
    engine: str, flags: Mapping[str, Any], key: Callable[[str, Any], Any], by_default: Mapping[str, str]
) -> tuple[dict[str, str], dict[str, bool], set[str]]:
    """Return choices for prefill, absent flags that would set others, and used flags.

    Parameters
    ----------
    engine, flags, key
        As for `graph_limit`.
    by_default : mapping of str to str
        `prompt_policy` and `prefill_graphs` of a command without flags.
    """
    choices, absent, used = dict(by_default), dict[str, bool](), set[str]()
    if engine == "sglang":
        mixed, off, backend = "--enable-mixed-chunk", "--disable-prefill-cuda-graph", "--cuda-graph-backend-prefill"
        phase = _phase(flags, "prefill").get("backend")
        written = phase or flags.get(backend)
        if flags.get(mixed):
            choices["prompt_policy"] = "chunked"
        if written is not None:
            choices["prefill_graphs"] = "none" if written == "disabled" else "piecewise"
        elif flags.get(off) or flags.get("--disable-cuda-graph"):
            choices["prefill_graphs"] = "none"
        else:
            absent[off] = False
        absent |= {} if flags.get(mixed) else {mixed: False}
        used = {mixed, off, backend, *(["--cuda-graph-config"] if phase else [])}
    elif engine == "trtllm":
        recorded = "torch_compile_config.enable_piecewise_cuda_graph"
        if key(recorded, None) is True:
            choices["prefill_graphs"] = "piecewise"
        else:
            absent = {f"config: {recorded}": False}
    elif flags.get("--enforce-eager") or flags.get("--optimization-level") == 0:
        choices["prefill_graphs"] = "none"
    else:
        absent = {"--enforce-eager": False}
    return choices, absent, used


def _without(flags: Mapping[str, Any], flag: str) -> dict[str, Any]:
    return {name: value for name, value in flags.items() if name != flag}


def _vllm_tokens(flags: Mapping[str, Any]) -> int | None:
    """Return the tokens of the largest graph, no more than the scheduler batches."""
    compiled = flags.get("--compilation-config")
    compiled = compiled if isinstance(compiled, dict) else {}
    mode = str(compiled.get("cudagraph_mode", "none" if flags.get("--optimization-level") == 0 else "")).lower()
    if flags.get("--enforce-eager") or mode == "none":
        return 0
    most = _largest(
        flags.get("--cudagraph-capture-sizes") or compiled.get("cudagraph_capture_sizes"),
        compiled.get("max_cudagraph_capture_size"),
        flags.get("--max-cudagraph-capture-size"),
    )
    batched = flags.get("--max-num-batched-tokens")
    return most if most is None or batched is None else min(most, batched)


def _phase(flags: Mapping[str, Any], phase: str) -> dict[str, Any]:
    """Return the settings of a phase, as SGLang's JSON has them."""
    phases = flags.get("--cuda-graph-config")
    try:
        phases = json.loads(phases) if isinstance(phases, str) else phases or {}
        return {**phases.get(phase, {})}
    except (ValueError, AttributeError, TypeError):
        raise ValueRangeError(f"--cuda-graph-config: expected JSON of phases, got {shown(phases)}") from None


def _sglang(flags: Mapping[str, Any]) -> int | None:
    chosen = _phase(flags, "decode")
    disabled = flags.get("--disable-cuda-graph") or flags.get("--disable-decode-cuda-graph")
    backend = flags.get("--cuda-graph-backend-decode", "disabled" if disabled else "full")
    if chosen.get("backend", backend) == "disabled":
        return 0
    sizes = chosen.get("bs", flags.get("--cuda-graph-bs-decode"))
    return _largest(sizes, chosen.get("max_bs"), flags.get("--cuda-graph-max-bs-decode"))


def _largest(sizes: Any, *limits: Any) -> int | None:
    """Return the largest of the sizes, else the first limit that is there."""
    try:
        numbers = [int(x) for x in sizes or ()]
        numbers = [max(numbers)] if numbers else [int(x) for x in limits if x is not None]
    except (TypeError, ValueError):
        raise ValueRangeError(f"sizes of recorded graphs: expected whole numbers, got {shown(sizes)}") from None
    return numbers[0] if numbers else None
