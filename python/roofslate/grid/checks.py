"""Checks of a grid: bounds, inputs without effect, missing inputs."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

import numpy as np

from roofslate import _core
from roofslate._base.messages import warn
from roofslate.errors import IneffectiveInput, MissingInput, UnusedInput, ValueRangeError
from roofslate.grid.basis import check_scope
from roofslate.grid.grid import Grid, spread
from roofslate.grid.unused import Given, listed, reasons
from roofslate.presets.calibration_files import shipped
from roofslate.registry.registry import ancestors, lookup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence

    from roofslate.grid.unused import Reason


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
    """Refuse axes and inputs without effect, or warn of them; return the inputs that the outputs take.

    An axis that no output depends on is an error, and so is a keyword if a preset supplies what would follow from it.
    Any other keyword without effect is a warning. Members of a scenario are silent, but where a preset, a default or a
    choice blocks them.
    """
    check_scope(grid, wanted)
    try:
        used = set(grid.core.used(list(wanted)))
    except MissingInput as error:
        raise explain_missing(error, grid) from None
    if len(used) == len(grid.inputs):
        return used
    unused = [
        name
        for name, i in grid.inputs.items()
        if i.origin is None and name not in used and i.quantity.bound not in used
    ]
    if unused:
        bounds = {grid.inputs[name].quantity.bound for name in used}
        unused = [name for name in unused if name not in bounds]
    messages = {}
    for name in unused:
        blocked = _blocked_by_preset(name, used, grid)
        if blocked and name not in grid.members:
            raise IneffectiveInput(blocked)
        if blocked:
            messages[name] = blocked
    if grid.quiet:
        return used
    if grid.sizes:
        _check_axes(grid, wanted, unused, used)
    unused = [name for name in unused if name not in grid.exempt and not _is_fitted(name, grid)]
    silent = []
    for reason in _reasons(grid, wanted, unused) if unused else ():
        member = reason.name in grid.members
        if member and reason.kind != "value":
            silent.append(reason.name)
        if reason.kind == "implicit" or (reason.kind != "value" and not member):
            messages.setdefault(reason.name, reason.message)
    grid.unused = tuple(silent)
    if messages:
        others = f"; and {len(messages) - _MESSAGES} more inputs" if len(messages) > _MESSAGES else ""
        warn("; ".join(list(messages.values())[:_MESSAGES]) + others, UnusedInput)
    return used


_MESSAGES = 5  # of one warning


def _blocked_by_preset(name: str, used: Iterable[str], grid: Grid) -> str:
    """Message about a preset that supplies something downstream of an input; empty where none does."""
    for other in used:
        origin = grid.inputs[other].origin
        if origin is not None and name in ancestors(other) and _would_tell(name, other, grid):
            preset = grid.presets[origin][0].name
            return (
                f"{name!r} has no effect: {origin}={preset!r} supplies {other!r}, which would follow from it; "
                f"give {other!r} itself, or a {origin} that leaves it open"
            )
    return ""


def _check_axes(grid: Grid, wanted: Sequence[str], unused: Sequence[str], used: Collection[str]) -> None:
    """Refuse an axis that no output depends on."""
    taken = {
        dim
        for name, i in grid.inputs.items()
        if name in used or (i.origin is None and name not in unused)
        for dim in i.dims
    }
    for dim in grid.sizes:
        if dim in taken or dim in grid.exempt:
            continue
        owners = [name for name, i in grid.inputs.items() if dim in i.dims and i.origin is None]
        if set(owners) & grid.exempt:
            continue
        if not owners:
            keywords = [keyword for keyword, along in grid.preset_axes.items() if along == dim]
            if set(keywords) & grid.exempt:
                continue
            raise IneffectiveInput(
                f"{listed(wanted)} does not depend on the axis {dim!r} of {listed(keywords or [dim])}=; "
                "give one preset, or leave it out"
            )
        raise IneffectiveInput(f"no output depends on the axis {dim!r}: {why_unused(grid, wanted, owners[0])}")


def why_unused(grid: Grid, wanted: Sequence[str], name: str) -> str:
    """Reason why the outputs do not take an input, as a sentence."""
    (reason,) = _reasons(grid, wanted, [name])
    return reason.message or f"{name!r} has no effect on {listed(wanted)} with these numbers"


def _reasons(grid: Grid, wanted: Sequence[str], unused: Iterable[str]) -> tuple[Reason, ...]:
    return reasons(grid.registry, tuple(wanted), tuple(unused), tuple(_given(grid)))


def _given(grid: Grid) -> Iterator[Given]:
    for name, i in grid.inputs.items():
        q = i.quantity
        decides = not i.dims and (i.origin is not None or q.choices or i.number in (q.ideal, q.default))
        origin = None
        if i.origin is not None:
            presets = grid.presets.get(i.origin, [])
            origin = f"{i.origin}={presets[0].name!r}" if len(presets) == 1 else i.origin
        yield Given(name, origin, i.number if decides else None, bool(i.dims))


def _is_fitted(name: str, grid: Grid) -> bool:
    """Whether an input is a constant of a calibration of the package, which goes to every call as a whole."""
    i = grid.inputs[name]
    if i.dims:
        return False
    written = i.quantity.choices[int(i.number)] if i.quantity.choices else i.number
    return any(shipped(calibration).get(name) == written for calibration in ("serving", "training"))


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
