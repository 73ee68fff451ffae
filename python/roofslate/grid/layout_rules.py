"""The default layout of one point: of a serving replica or of a training run."""

from __future__ import annotations

import functools
import math
from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate import _core, units
from roofslate.errors import ValueRangeError
from roofslate.presets.layouts import DIMENSIONS, SIZES, check_layout, layouts_by_rule, training_layouts_by_rule
from roofslate.registry.registry import BUILT_IN, kept_by_registry

if TYPE_CHECKING:
    from roofslate.registry.registry import Registry

__all__ = [
    "LAYOUT",
    "PARTS",
    "SERVING",
    "TRAINING",
    "Rule",
    "is_parallel",
    "may_train",
    "refuse_both",
    "rule_of",
    "takes_layout",
]

LAYOUT = "layout"  # the choice, and the origin of values by a rule
PARTS = frozenset({"tensor_parallel", "attention_data_parallel", "context_parallel", "expert_tensor_parallel"})
_DOMAIN = "scale_up_domain"
_CAPACITY = "hbm_capacity"
_SHARDED = "sharded_state"
_ROOM = 0.9  # share of the memory that a training run by the rule fills at most
_WORDS = {
    "tensor_parallel": "TP {}",
    "pipeline_stages": "PP {}",
    "attention_data_parallel": "DP {}",
    "data_parallel": "DP {}",
    "expert_parallel": "EP {}",
    "microbatches": "{} micro-batches",
    _SHARDED: "sharded optimizer",
}
_FIXED_IN_TRAINING = tuple(
    name for name in ("context_parallel", *_WORDS) if name in DIMENSIONS and name != "attention_data_parallel"
)
# Quantities that depend on the layout of a training run.
_TRAINED = (
    "dense_weight_copies", "dense_parameters_per_chip", "layer_activation_bytes", "stage_busy_time",
    "training_bubble_overhead", "training_bubble",
)  # fmt: skip
_SERVES = ("kv_cache_copies", "link_time_per_token")  # quantities that depend on the layout of a replica
_LOADS = frozenset({"global_batch_size", "tokens_per_step"})  # of a training run
_OF_TRAINING = ("training", "training_run")  # themes

Numbers = Mapping[str, float]


@dataclass(frozen=True)
class Rule:
    """A rule for the layout of chips.

    Attributes
    ----------
    supplied : tuple of str
        Parts that it adds if they are not given; the others follow.
    fixed : tuple of str
        Parts that stay if they are given.
    chosen : callable
        The whole layout of a point; None if the rule does not apply.
    by : tuple of str
        Inputs whose values decide.
    known : tuple of str
        Others that may matter, of which the largest value is taken.
    """

    supplied: tuple[str, ...]
    fixed: tuple[str, ...]
    chosen: Callable[[Numbers], Mapping[str, float] | None]
    by: tuple[str, ...]
    known: tuple[str, ...]

    @property
    def reads(self) -> tuple[str, ...]:
        """All inputs that decide."""
        return (*self.by, *self.known)

    def applies(self, inputs: Mapping[str, Any]) -> bool:
        """Return True if chips are known and the layout is incomplete."""
        if "chips" not in inputs:
            return False
        return is_parallel(inputs) or (self is TRAINING and LAYOUT not in inputs and "data_parallel" in inputs)

    def is_whole(self, inputs: Collection[str]) -> bool:
        """Return True if the layout is complete."""
        return {"tensor_parallel", *(_SERVED if self is SERVING else ())} <= set(inputs)

    def complete(self, numbers: dict[str, float]) -> str:
        """Complete the layout of one point and return its text, empty without a completion."""
        added, text = _added(self, tuple(map(numbers.get, self.reads)))
        numbers.update(added)
        return text


def rule_of(registry: Registry, outputs: Collection[str], given: Collection[str]) -> Rule | None:
    """Choose the rule for outputs by the names of all inputs: training, if an output trains."""
    if any(may_train(registry, name) for name in outputs):
        cut = frozenset(given)
        if any(_asks(registry, name, cut, _TRAINED) for name in outputs):
            return TRAINING
    if not _LOADS.isdisjoint(given) and not set(outputs).isdisjoint(TRAINING.supplied):  # the layout itself
        return TRAINING
    return SERVING if any(takes_layout(registry, name) for name in outputs) else None


def refuse_both(registry: Registry, outputs: Collection[str], given: Collection[str]) -> None:
    """Refuse outputs of a replica together with outputs of a training run: layouts differ."""
    cut = frozenset(given)
    trains = [name for name in outputs if _asks(registry, name, cut, _TRAINED)]
    serves = [name for name in outputs if name not in trains and _asks(registry, name, cut, _SERVES)]
    if trains and serves:
        raise ValueRangeError(
            f"{serves[0]} and {trains[0]} ask for different layouts, of a replica and of a training run: give "
            "tensor_parallel and pipeline_stages, or ask for them apart"
        )


def is_parallel(inputs: Mapping[str, Any]) -> bool:
    """Return True if chips share work in parallel and the layout is incomplete."""
    layout = inputs.get(LAYOUT)
    if layout is None:
        return not PARTS.isdisjoint(inputs)
    if isinstance(layout, (float, str)):
        return layout in (1, "parallel")
    return not layout.dims and layout.number == 1


@kept_by_registry
def takes_layout(registry: Registry, output: str) -> bool:
    """Return True if an output may depend on the partition of serving work."""
    upstream = registry.ancestors(output) | {output}
    trains = registry.entries[output].theme in _OF_TRAINING or "tokens_per_step" in upstream
    return not (trains or upstream.isdisjoint(SERVING.fixed))


@kept_by_registry
def may_train(registry: Registry, output: str) -> bool:
    """Return True if an output may depend on the partition of a training run."""
    upstream = registry.ancestors(output) | {output}
    return not upstream.isdisjoint(_TRAINED)


@kept_by_registry
def _asks(registry: Registry, output: str, given: frozenset[str], of: tuple[str, ...]) -> bool:
    """Return True if an output depends on quantities without ancestors of given inputs."""
    seen: set[str] = set()
    waiting = [output]
    while waiting:
        name = waiting.pop()
        if name not in seen and name not in given:
            seen.add(name)
            q = registry.entries[name]
            waiting += [*q.needs, *filter(None, [q.fallback])]
    return not seen.isdisjoint(of)


@functools.lru_cache(maxsize=4096)
def _added(rule: Rule, values: tuple[float | None, ...]) -> tuple[Numbers, str]:
    """Return a rule's checked additions to a point with their text, both empty if it has none."""
    numbers = {name: x for name, x in zip(rule.reads, values, strict=True) if x is not None}
    chosen = rule.chosen(numbers)
    if chosen is None:
        return {}, ""
    added = {name: float(chosen[name]) for name in rule.supplied if name in chosen and name not in numbers}
    return added, _text(rule, chosen, numbers)


def _text(rule: Rule, layout: Mapping[str, float], given: Numbers) -> str:
    """A layout in words, empty where it was given."""
    if rule is SERVING:
        parts = [given.get(name, 1) for name in _SERVED]
        if "tensor_parallel" in given and math.prod(parts) == given["chips"]:
            return ""
    said = {name: x for name, x in layout.items() if x > 1 or name in ("tensor_parallel", _SHARDED)}
    if _SHARDED in said and _SHARDED in given:
        del said[_SHARDED]
    words = [text.format(f"{said[name]:g}") for name, text in _WORDS.items() if name in said]
    return f"{', '.join(words)} (rule)"


def _whole(numbers: Numbers, rule: Rule) -> tuple[int, int, dict[str, int], dict[str, int]] | None:
    """Return chips, domain, sizes and parts as integers, None without a model or such parts."""
    names = [name for name in ("chips", *rule.fixed) if name in numbers]
    if "attention_heads" not in numbers or not all(float(numbers[name]).is_integer() for name in names):
        return None
    integers = {name: int(x) for name, x in numbers.items() if math.isfinite(x) and float(x).is_integer()}
    domain = int(min(numbers.get(_DOMAIN, numbers["chips"]), numbers["chips"]))
    sizes = {name: integers[name] for name in SIZES if name in integers}
    return integers["chips"], domain, sizes, {name: integers[name] for name in rule.fixed if name in integers}


def _served(numbers: Numbers) -> Mapping[str, float] | None:
    """Return the first default serving layout whose weight copies fit."""
    read = tuple((name, numbers[name]) for name in SERVING.by if name in numbers)
    candidates = _candidates(read)
    if len(candidates) < 2:
        return _beyond_one(candidates[0]) if candidates else None
    for layout in candidates:
        (capacity,) = _core.numbers(
            ["kv_cache_capacity"], {**numbers, **{name: float(layout[name]) for name in SERVING.supplied}}
        )
        if capacity is None:
            break
        if capacity > 0:
            return _beyond_one(layout)
    return _beyond_one(candidates[0])


def _beyond_one(layout: Mapping[str, int]) -> Mapping[str, float]:
    """A layout without parts of one, which are the default."""
    return {name: float(x) for name, x in layout.items() if x != 1 or name not in SERVING.supplied}


@functools.lru_cache(maxsize=4096)
def _candidates(read: tuple[tuple[str, float], ...]) -> tuple[dict[str, int], ...]:
    """Return layouts by the rule of serving, none without a model or integer parts."""
    integers = _whole(dict(read), SERVING)
    return tuple(layouts_by_rule(*integers)) if integers else ()


def _trained(numbers: Numbers) -> Mapping[str, float] | None:
    """Return the training layout with the fewest chips per model copy that fits in memory.

    One whose matrices are shared as given has stages by default and copies on all other chips: it is only checked.
    """
    integers = _whole(numbers, TRAINING)
    if integers is None:
        return None
    chips, domain, sizes, given = integers
    if "tensor_parallel" in given and ("pipeline_stages" in given or "data_parallel" not in given):
        shared = math.prod(given.get(name, 1) for name in ("tensor_parallel", "pipeline_stages", "context_parallel"))
        given.pop("microbatches", None)  # micro-batches need not be whole
        copies = {} if chips % shared else {"data_parallel": chips // shared}
        check_layout(
            {"chips": chips, **copies, **given},
            {name: n for name, n in sizes.items() if name not in ("model_chunks", *_STEP)},
        )
        return None
    if _CAPACITY not in numbers:
        return None
    limit = _ROOM * numbers[_CAPACITY]
    least, at = math.inf, ""
    if "tokens_per_step" in numbers and "sequence_length" in sizes and "global_batch_size" not in sizes:
        sizes["global_batch_size"] = max(int(numbers["tokens_per_step"] / sizes["sequence_length"]), 1)
    for layout in training_layouts_by_rule(chips, domain, sizes, given):
        numbers_by_name = {
            _SHARDED: float(_code(_SHARDED, "optimizer")),
            **{name: float(x) for name, x in layout.items()},
        }
        parts = {name: numbers_by_name[name] for name in TRAINING.supplied if name in numbers_by_name}
        (used,) = _core.numbers(["training_memory"], {**parts, **numbers})
        if used is None:  # the evaluation names the missing input
            return None
        if used <= limit:
            return numbers_by_name
        if used < least:
            least, at = used, ", ".join(_WORDS[n].format(layout[n]) for n in ("tensor_parallel", "pipeline_stages"))
    needed, limit_text = (units.format(x, "byte", 3) for x in (least, limit))
    ways = [f"{name}={word!r}" for name, word in _SPARING if numbers.get(name) != _code(name, word)]
    raise ValueRangeError(
        f"no layout of {chips} chips has room for this training run: it takes at least {needed} a chip ({at}) of "
        f"{limit_text}, nine tenths of the memory; give {', '.join(['more chips', *ways])}, or a layout by "
        "tensor_parallel and pipeline_stages"
    )


def _code(choice: str, word: str) -> int:
    return BUILT_IN.entries[choice].choices.index(word)


# Techniques that save memory.
_SPARING = (("pipeline_schedule", "1f1b"), ("sequence_parallel", "on"), ("activation_policy", "block"))
_SERVED = ("tensor_parallel", "pipeline_stages", "attention_data_parallel")
_OF_SERVING = (*_SERVED, "expert_parallel")


def _inputs_of(output: str, excluded: Collection[str]) -> tuple[str, ...]:
    """Inputs that an output may take, without others."""
    return tuple(sorted(BUILT_IN.ancestors(output).difference(excluded)))


_STEP = ("sequence_length", "global_batch_size")  # only of a training run
_BY = (*(name for name in SIZES if name not in _STEP), *_OF_SERVING, "chips", _DOMAIN)
SERVING = Rule(
    supplied=_SERVED[1:], fixed=_OF_SERVING, chosen=_served, by=_BY, known=_inputs_of("kv_cache_capacity", _BY)
)
_TRAINING_BY = (*SIZES, *_FIXED_IN_TRAINING, "chips", _DOMAIN, _CAPACITY)
TRAINING = Rule(
    supplied=("tensor_parallel", "pipeline_stages", "microbatches", "expert_parallel", _SHARDED),
    fixed=_FIXED_IN_TRAINING,
    chosen=_trained,
    by=(*_TRAINING_BY, *_inputs_of("training_memory", _TRAINING_BY)),
    known=(),
)
