"""Checks of a grid: bounds, inputs without effect, missing inputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from roofslate import _core
from roofslate.errors import IneffectiveInput, MissingInput, ValueRangeError
from roofslate.grid.basis import check_scope
from roofslate.grid.grid import Grid, spread
from roofslate.registry.registry import ancestors, lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence


def check_bounds(grid: Grid, sought: str | None = None) -> None:
    """Refuse an input that exceeds the one that bounds it. Chunks are checked when they are computed."""
    inputs = grid.inputs
    pairs = [
        (inputs[name], inputs[bound])
        for name, bound in grid.registry.bounded_pairs
        if name in inputs and bound in inputs
    ]
    if all(not (i.dims or bound.dims) and i.number <= bound.number for i, bound in pairs):
        return
    unchecked = {*grid.chunked, sought}
    for name, i in grid.inputs.items():
        bound = grid.inputs.get(i.quantity.bound or "")
        if bound is None or name in unchecked or bound.quantity.name in unchecked:
            continue
        if np.max(i.values) <= np.min(bound.values):
            continue
        dims = tuple(dict.fromkeys((*i.dims, *bound.dims)))
        value, most = (spread(x.values, x.dims, dims) for x in (i, bound))
        exceeds = value > most
        if exceeds.any():
            first, limit = (float(np.broadcast_to(x, exceeds.shape)[exceeds][0]) for x in (value, most))
            raise ValueRangeError(f"{name} must not exceed {bound.quantity.name}, got {first:g} and {limit:g}")


def check_effect(grid: Grid, wanted: Sequence[str]) -> set[str]:
    """Refuse an explicit input that changes nothing because a preset supplies something downstream of it.

    Returns the inputs that the outputs take.
    """
    check_scope(grid, wanted)
    try:
        used = set(grid.core.used(list(wanted)))
    except MissingInput as error:
        raise explain_missing(error, grid) from None
    unused = [name for name, i in grid.inputs.items() if i.origin is None and name not in used]
    by_presets = {other for other in used if grid.inputs[other].origin} if unused else set()
    for name in unused:
        for other in sorted(by_presets & grid.registry.descendants(name)):
            origin = grid.inputs[other].origin
            if origin is not None and _would_tell(name, other, grid):
                preset = grid.presets[origin][0].name
                raise IneffectiveInput(
                    f"{name!r} has no effect: {origin}={preset!r} supplies {other!r}, which would follow from it; "
                    f"give {other!r} itself, or a {origin} that leaves it open"
                )
    return used


def _would_tell(name: str, other: str, grid: Grid) -> bool:
    """Whether a quantity would follow from an input, were it and what else presets supply left open.

    What lies between them and could be given itself must follow from what is there: `chips` tell nothing of
    `decode_inefficiency` where the rate is missing from which, and from them, a utilization would follow.
    """
    q = lookup(other)
    for need in (*q.needs, *filter(None, [q.fallback])):
        if need == name:
            return True
        given = grid.inputs.get(need)
        if name not in ancestors(need) or (given is not None and given.origin is None):
            continue
        if given is None and lookup(need).may_be_given:
            try:
                Grid(grid.inputs, grid.sizes).core.used([need])
            except MissingInput:
                continue
        if _would_tell(name, need, grid):
            return True
    return False


def used(outputs: Iterable[str], numbers: Mapping[str, float], arrays: Iterable[str] = ()) -> list[str]:
    """Which of these inputs outputs take, in the order of their names; arrays count as such whatever they hold."""
    stand_in = {name: (_ANY_VALUES, [0]) for name in arrays}
    return sorted(_core.Grid([len(_ANY_VALUES)], {**numbers, **stand_in}).used(list(outputs)))


_ANY_VALUES = np.array([0.0, 1.0])


def explain_missing(error: MissingInput, grid: Grid) -> MissingInput:
    """Add why a list of presets does not supply the input, if that is the cause."""
    hardware = grid.presets.get("hardware")
    if hardware and "input 'chips'" in str(error):
        return MissingInput(f"{error}; {hardware[0].name!r} is one chip: give chips=, or a whole system as hardware=")
    words = set(re.findall(r"\w+", str(error)))
    for name, why in grid.gaps.items():
        if name in words:
            return MissingInput(f"{error}; {why}")
    return error
