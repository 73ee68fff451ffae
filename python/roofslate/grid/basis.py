"""Bound or estimate: basis of each output, and outputs outside of a calibration's scope."""

from __future__ import annotations

import itertools
from typing import TYPE_CHECKING

import numpy as np

from roofslate.errors import IneffectiveInput
from roofslate.presets.catalog import measured_as
from roofslate.presets.lookup import preset_numbers
from roofslate.registry.registry import kept_by_registry

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roofslate.grid.grid import Grid, Input
    from roofslate.presets.preset import Preset
    from roofslate.registry.registry import Registry

__all__ = [
    "FLOOR_BASIS",
    "basis",
    "carriers_of",
    "carries_constants",
    "chains_of",
    "check_scope",
    "default_estimate",
    "is_floor",
    "joined",
    "supports_of_rows",
]

# Outcomes of each chain. The chain consists of them and of all upstream or downstream of one.
_CHAINS = {
    "serving": ("time_per_output_token", "time_to_first_token", "cost_per_output_token", "pass_time", "cost_per_token"),
    "training": ("trained_tokens_per_second_per_chip", "pretraining_cost"),
}
# Tokens that balance the three buckets depend on both chains, a run of given tokens only on one.
_TOKENS = frozenset({"pretraining_tokens", "rl_tokens"})
_BUCKETS = _TOKENS | {"decode_inefficiency"}  # weights of the buckets without a calibration: a number of the lecture


@kept_by_registry
def chains_of(registry: Registry, name: str) -> frozenset[str]:
    """Return the chains of a quantity."""
    upstream = _upstream(registry, (name,), _TOKENS - {name})
    return frozenset(
        chain
        for chain, outcomes in _CHAINS.items()
        if any(x in upstream or name in _upstream(registry, (x,), _TOKENS) for x in outcomes if x in registry.entries)
    )


def check_scope(grid: Grid, outputs: Sequence[str]) -> None:
    """Refuse a calibration of another chain than the outputs' common one."""
    for preset in grid.presets.get("calibration", ()):
        fits = getattr(getattr(preset, "constants", None), "fits", {})
        reached = _union(chains_of(grid.registry, output) for output in fits if output in grid.registry.entries)
        chains = [chains_of(grid.registry, name) for name in outputs]
        if reached and all(chains) and reached.isdisjoint(_union(chains)):
            right = " or ".join(f"calibration={chain!r}" for chain in _CHAINS if chain in _union(chains))
            raise IneffectiveInput(
                f"calibration={preset.name!r} is an estimate of {', '.join(fits)} and has no effect on "
                f"{', '.join(outputs)}: give {right}"
            )


def basis(outputs: Sequence[str], grid: Grid) -> Mapping[str, str]:
    """Return attributes with the basis of outputs: lower bound, or estimate by a calibration.

    ``floor``: each constant with an ideal value has it. ``estimate``: each is the calibration's, and the outputs are in
    its scope. ``mixed``, with names: anything else. ``given``: quantities that are supplied and would follow from
    constants.
    """
    registry = grid.registry
    if is_floor(outputs, grid):
        return FLOOR_BASIS
    given = frozenset(grid.inputs)
    reached = _upstream(registry, tuple(outputs), given) & given
    used = [grid.inputs[name] for name in grid.core.used(list(outputs)) if name in reached]  # of all outputs so far
    presets = grid.presets.get("calibration", [])
    calibrations: list[Preset | None] = [*presets] or [None]
    words = [_basis(outputs, used, preset, registry) for preset in calibrations]
    carriers = carriers_of(registry) - (_TOKENS if presets else _BUCKETS)
    cuts = [i.quantity.name for i in used if i.quantity.name in carriers and i.origin != "calibration"]
    attributes = {"basis": " | ".join(dict.fromkeys(words)) + (f"; given: {', '.join(cuts)}" if cuts else "")}
    if any(i.origin == "calibration" for i in used):
        attributes["calibration"] = ", ".join(f"{p.name} ({p.date})" if p.date else p.name for p in presets)
        if support := _support(outputs, grid):
            attributes["support"] = support
    return attributes


def _support(outputs: Sequence[str], grid: Grid) -> str:
    """Return the support of the estimates for the given presets."""
    kinds = (_names(grid, keyword) for keyword in ("calibration", "model", "hardware"))
    words = dict.fromkeys(_support_of(outputs, grid, *names) for names in itertools.product(*kinds))
    return " | ".join(filter(None, words))


def _support_of(
    outputs: Sequence[str], grid: Grid, calibration: str | None, model: str | None, chip: str | None
) -> str:
    """Support of an estimate by a calibration of a grid, empty without one."""
    for preset in grid.presets.get("calibration", ()):
        constants = getattr(preset, "constants", None)
        if constants is not None and constants.fits and measured_as(preset) == calibration:
            fit = next((x for x in outputs if x in constants.fits), next(iter(constants.fits)))
            support: str = constants.support(fit, model=model, hardware=chip)
            return support
    return ""


def supports_of_rows(output: str, grid: Grid, columns: Mapping[str, Sequence[str]], rows: int) -> list[str]:
    """Support of an estimate in each row of a table.

    Parameters
    ----------
    output : str
    grid : Grid
        With the presets of all rows.
    columns : mapping
        By keyword: the name of each row's preset.
    rows : int

    Returns
    -------
    list of str
        Empty where a row has no calibration.
    """
    kinds: list[Sequence[str | None]] = []
    for keyword in ("calibration", "model", "hardware"):
        measured = {p.name: measured_as(p) for p in grid.presets.get(keyword, ())}
        only = next(iter(measured.values()), None)
        kinds.append([measured.get(name) for name in columns[keyword]] if keyword in columns else [only] * rows)
    keys = list(zip(*kinds, strict=True))
    each = {key: _support_of([output], grid, *key) for key in dict.fromkeys(keys)}
    return [each[key] for key in keys]


def _names(grid: Grid, keyword: str) -> list[str | None]:
    """Names under which presets were measured."""
    return [measured_as(p) for p in grid.presets.get(keyword, ())] or [None]


FLOOR_BASIS: Mapping[str, str] = {"basis": "floor"}


def is_floor(outputs: Sequence[str], grid: Grid, more_inputs: Iterable[str] = ()) -> bool:
    """Return True if a grid with `more_inputs` has only lower bounds, by a quick check."""
    if "calibration" in grid.presets:
        return False
    for name in outputs:
        sensitive = _sensitive(grid.registry, name)
        if not (grid.inputs.keys().isdisjoint(sensitive) and sensitive.isdisjoint(more_inputs)):
            return False
    return True


def carries_constants(output: str, registry: Registry) -> bool:
    """Return True if an output depends on an ideal constant.

    A dependency only through training tokens does not count.
    """
    if output not in registry.entries:
        return False
    upstream = _upstream(registry, (output,), _BUCKETS - {output})
    return any(registry.entries[name].ideal is not None for name in upstream)


def joined(parts: Sequence[Mapping[str, str]]) -> dict[str, str]:
    """The attributes of `basis` of several results as one."""
    keys = {"basis": " | ", "calibration": ", ", "support": " | "}
    each = {key: list(dict.fromkeys(part[key] for part in parts if key in part)) for key in keys}
    return {key: separator.join(each[key]) for key, separator in keys.items() if each[key]}


@kept_by_registry
def _upstream(registry: Registry, names: tuple[str, ...], given: frozenset[str]) -> frozenset[str]:
    """Return these quantities and their ancestors, without the ancestors of given inputs."""
    seen: set[str] = set()
    waiting = list(names)
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            if name not in given:
                q = registry.entries[name]
                waiting += [*q.needs, *filter(None, [q.fallback])]
    return frozenset(seen)


def _basis(outputs: Sequence[str], used: Sequence[Input], preset: Preset | None, registry: Registry) -> str:
    """The basis of outputs under one calibration, or without any."""
    fitted = {} if preset is None else preset_numbers(preset)
    real, foreign = [], []
    for i in used:
        name, ideal = i.quantity.name, i.quantity.ideal
        if ideal is None:
            continue
        expected = fitted.get(name, ideal)
        if i.origin != "calibration" and not (np.all(i.values == expected) if i.dims else i.number == expected):
            foreign.append(name)
        elif expected != ideal:
            real.append(name)
    if foreign:
        return f"mixed: {', '.join(foreign)}"
    if not real:
        return "floor"
    fits = tuple(getattr(getattr(preset, "constants", None), "fits", ()))
    given = carriers_of(registry).intersection(i.quantity.name for i in used)
    if _scope(registry, fits, given).issuperset(outputs):
        return "estimate"
    return f"mixed: {', '.join(real)}"


@kept_by_registry
def carriers_of(registry: Registry) -> frozenset[str]:
    """Quantities that follow from constants with an ideal value."""
    return registry.descendants_of(name for name, q in registry.entries.items() if q.ideal is not None)


@kept_by_registry
def _sensitive(registry: Registry, output: str) -> frozenset[str]:
    """Return the inputs that turn an output from a lower bound into something else."""
    carriers = carriers_of(registry) - _BUCKETS
    upstream = (output, *registry.ancestors(output))
    return frozenset(name for name in upstream if name in carriers or registry.entries[name].ideal is not None)


@kept_by_registry
def _scope(registry: Registry, fits: tuple[str, ...], given: frozenset[str]) -> frozenset[str]:
    """Return ancestors of fitted outputs, and those that constants reach only through them."""
    carriers = carriers_of(registry)
    known = [name for name in fits if name in registry.entries]
    upstream = _union(registry.ancestors(name) for name in known).union(known)
    in_scope: dict[str, bool] = {}

    def inside(name: str) -> bool:
        if name not in in_scope:
            in_scope[name] = True  # in a circle, the other ways decide
            q = registry.entries[name]
            carrying = carriers.intersection([*q.needs, *filter(None, [q.fallback])])
            in_scope[name] = name in upstream or (bool(carrying) and all(map(inside, carrying - given)))
        return in_scope[name]

    return frozenset(name for name in carriers if inside(name)) | upstream


def default_estimate(objective: str, *, training: bool, registry: Registry) -> str:
    """Return the default calibration of a decision, by its objective's chain."""
    return "training" if training or chains_of(registry, objective) == {"training"} else "serving"


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
