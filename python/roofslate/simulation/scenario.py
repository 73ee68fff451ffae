"""Inputs of the closed forms as the simulator takes them: presets, sessions, pools."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown
from roofslate.errors import IneffectiveInput, InputTypeError, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.evaluation.value import value
from roofslate.grid.read import Settled, WithScenario, changed, read_grid
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries
from roofslate.simulation.steps import CHOICES, NUMBERS, PrefillPool, Sessions
from roofslate.units.numbers import is_number

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["check_sessions", "read_policy", "read_pool", "read_sessions", "with_presets"]

_OF_SESSIONS = {  # input of the graph: its counterpart in a simulated session
    "turns": "turns",
    "pause_time": "pause",
    "pause_cv": "pause_cv",
    "first_prompt_tokens": "first_prompt",
}
_TIERS = {
    "hbm_prefix_cache": None,
    "dram_prefix_cache": "dram_cache_bandwidth",
    "ssd_prefix_cache": "ssd_cache_bandwidth",
}
_DESCRIBED = {
    *_OF_SESSIONS,
    *_TIERS,
    "turn_input_tokens",
    "turns_distribution",
    "session_rate",
    "prefix_cache_capacity",
}
_DESCRIBED |= {bandwidth for bandwidth in _TIERS.values() if bandwidth}
_NOT_SIMULATED = ("kept_output_share", "prefix_break_rate", "shared_prompt_tokens", "session_affinity", "turn_hit_rate")


def with_presets(inputs: Mapping[str, Any]) -> WithScenario:
    """Return the inputs with load inputs from presets, such as the lengths of a workload."""
    if not any(name in PRESETS for name in inputs):
        return changed(inputs, {})
    graph = {name: x for name, x in _of_graph(inputs).items() if name not in NUMBERS}
    graph_inputs = read_grid(Settled(graph)).inputs
    names = [*NUMBERS, *_DESCRIBED, "prefix_hit_rate"]
    supplied = {
        name: graph_inputs[name].number
        for name in names
        if name in graph_inputs and graph_inputs[name].origin and not graph_inputs[name].dims
    }
    return changed(inputs, {name: x for name, x in supplied.items() if inputs.get(name) is None})


def read_policy(inputs: Mapping[str, Any]) -> WithScenario:
    """Return the inputs with ``serving_mode`` as a policy, ``"apart"`` for separate prefill."""
    read = changed(inputs, {})
    mode = read.get("serving_mode")
    if mode is None or mode == "aggregated":
        return read
    policy = read.setdefault("prompt_policy", "apart")
    if policy != "apart":
        raise IneffectiveInput(
            f"prompt_policy={policy!r} is of replicas that read their own prompts; with serving_mode={mode!r} they are "
            "read elsewhere. Leave out one of the two"
        )
    return read


def read_pool(inputs: Mapping[str, Any], prefill: PrefillPool | None) -> tuple[WithScenario, PrefillPool | None]:
    """Split ``prefill_replicas`` from the inputs, and return the pool of that size."""
    simulated = changed(inputs, {})
    given = simulated.pop("prefill_replicas", None)
    if given is None:
        return simulated, prefill
    if prefill is not None:
        raise IneffectiveInput(
            f"prefill_replicas={given!r}: prefill= gives the replicas already. Leave out one of the two."
        )
    if simulated.get("prompt_policy") != "apart":
        raise IneffectiveInput(
            f"prefill_replicas={given!r}: the replicas read their own prompts. Give "
            'serving_mode="disaggregated", or leave out prefill_replicas.'
        )
    replicas = float(evaluate("prefill_replicas", {"prefill_replicas": given}))
    if replicas != int(replicas):
        raise ValueRangeError(f"prefill_replicas must be a whole number, got {given!r}")
    return simulated, PrefillPool(int(replicas))


def read_sessions(inputs: Mapping[str, Any]) -> tuple[WithScenario, Sessions | None]:
    """Split sessions from the inputs, as described by ``turns``."""
    given = {name for name in _DESCRIBED if inputs.get(name) is not None}
    if "turns" not in given or float(evaluate("turns", {"turns": inputs["turns"]})) == 1:
        return changed(inputs, {}), None
    for name in _NOT_SIMULATED:
        if inputs.get(name) is not None:
            raise IneffectiveInput(f"{name} is not simulated: hits follow from the prefix caches. Leave it out.")
    simulated = changed(inputs, {})
    for name in _DESCRIBED:
        simulated.pop(name, None)
    graph = _of_graph(inputs)
    outputs = [*_OF_SESSIONS, "turn_input_tokens", "turn_rate"]
    values = evaluate(outputs, Settled(graph))
    tiers = [name for name in _TIERS if inputs.get(name) is not None]
    capacities, fetch = _cache(graph, tiers, inputs.get("prefix_cache_capacity"))
    sessions = Sessions(
        **{field: float(values[name]) for name, field in _OF_SESSIONS.items()},
        fixed_turns=value("turns_distribution", Settled(graph)) == "fixed",
        cache_tokens=capacities,
        fetch_token_time=fetch,
    )
    if "hbm_prefix_cache" in tiers:
        simulated = changed(
            simulated, {"hbm_prefix_cache": inputs["hbm_prefix_cache"]}, exempt=True
        )  # reduces the KV-cache capacity of sequences
    load = {"input_tokens": float(values["turn_input_tokens"]), "arrival_rate": float(values["turn_rate"])}
    return changed(simulated, load), sessions


def check_sessions(sessions: Sessions, is_traced: bool) -> None:
    """Raise an error for inconsistent sessions."""
    for name, least in (("turns", 1), ("pause", 0), ("pause_cv", 0), ("first_prompt", 0)):
        x = getattr(sessions, name)
        if not is_number(x) or not least <= x < math.inf:
            raise ValueRangeError(f"sessions.{name} must be a number of at least {least}, got {shown(x)}")
    if sessions.fixed_turns and sessions.turns != int(sessions.turns):
        raise ValueRangeError(f"sessions.turns must be a whole number with fixed_turns, got {shown(sessions.turns)}")
    for name in ("cache_tokens", "fetch_token_time"):
        values = getattr(sessions, name)
        if not isinstance(values, (tuple, list)) or not all(is_number(x) and x >= 0 for x in values):
            raise InputTypeError(f"sessions.{name} must be a tuple of numbers, one per tier, got {shown(values)}")
    if sessions.fetch_token_time and len(sessions.fetch_token_time) != len(sessions.cache_tokens):
        raise ValueRangeError(
            f"sessions.fetch_token_time has {len(sessions.fetch_token_time)} tiers and cache_tokens "
            f"{len(sessions.cache_tokens)}: give one number per tier"
        )
    if is_traced and sessions.turns != 1:
        raise InputTypeError(f"sessions.turns={shown(sessions.turns)}: a trace has its own turns. Give turns=1.")


def _of_graph(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs the closed forms accept under the same names."""
    known = entries()
    return {name: x for name, x in inputs.items() if name in PRESETS or (name in known and name not in CHOICES)}


def _cache(graph: Mapping[str, Any], tiers: list[str], capacity: Any) -> tuple[tuple[float, ...], tuple[float, ...]]:
    """Return the tokens of each KV-cache tier of a replica, and seconds to fetch one."""
    names = tiers or (["prefix_cache_capacity"] if capacity is not None else [])
    if not names:
        return (), ()
    links = [_TIERS.get(name) for name in names]
    values = evaluate([*names, *filter(None, links), "kv_bytes_per_token"], Settled(graph))
    size = float(values["kv_bytes_per_token"])
    capacities = tuple(float(values[name]) / size for name in names)
    fetch = tuple(size / float(values[link]) if link else 0.0 for link in links)
    return capacities, tuple(0.0 if math.isnan(x) else x for x in fetch)
