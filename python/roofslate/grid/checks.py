"""Checks of a grid: bounds, inputs without effect, missing inputs."""

from __future__ import annotations

import functools
import re
from typing import TYPE_CHECKING, Any, NamedTuple, NoReturn
from weakref import WeakKeyDictionary

import numpy as np

from roofslate import _core
from roofslate._base.messages import warn
from roofslate.errors import IneffectiveInput, MissingInput, UnusedInput, ValueRangeError
from roofslate.grid.basis import check_scope
from roofslate.grid.grid import Grid, Input, spread
from roofslate.grid.unused import Given, listed, reasons
from roofslate.presets.calibration_files import shipped, shipped_names
from roofslate.presets.layouts import DIMENSIONS
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import ancestors, lookup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from roofslate.grid.grid import Positions
    from roofslate.grid.unused import Reason
    from roofslate.registry.registry import Registry


def check_bounds(grid: Grid, sought: str | None = None) -> None:
    """Refuse an input above its bound. Chunks are checked during computation."""
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


LOADS = ("concurrency", "batch_size")  # one follows from the other


def check_load(grid: Grid, sought: str | None = None, rows: Positions | None = None) -> None:
    """Refuse a concurrency that contradicts the batch size.

    `rows` are the row numbers of the points of a table.
    """
    if not all(name in grid.inputs and name not in grid.chunked and name != sought for name in LOADS):
        return
    of_batches = {"batch_size", "microbatches", *ancestors("microbatches")}
    part = Grid({name: i for name, i in grid.inputs.items() if name in of_batches}, grid.sizes)
    ((in_flight, axes),) = part.core.evaluate(["sequences_in_flight"], [], 1, None, "float64")
    names = list(grid.sizes)
    concurrency = grid.inputs["concurrency"]
    implied = Input(concurrency.quantity, in_flight, tuple(names[k] for k in axes))
    dims = tuple(dict.fromkeys((*concurrency.dims, *implied.dims)))
    given, implied_values = (spread(x.values, x.dims, dims) for x in (concurrency, implied))
    differ = ~(np.isclose(given, implied_values, rtol=1e-9, atol=0) | np.isnan(given) | np.isnan(implied_values))
    if differ.any():
        first, second = (float(np.broadcast_to(x, differ.shape)[differ][0]) for x in (given, implied_values))
        where = "" if rows is None else f"row {rows[np.broadcast_to(differ, rows.shape)][0]}: "
        raise ValueRangeError(
            f"{where}concurrency and batch_size disagree: {first:g} requests, and {second:g} sequences in the batches "
            "in flight (microbatches x batch_size); give one of the two"
        )


class Effects(NamedTuple):
    """Messages about inputs that no output takes."""

    errors: Sequence[str] = ()
    warnings: Sequence[str] = ()
    unrelated: tuple[str, ...] = ()  # members of a scenario


def check_effect(grid: Grid, outputs: Sequence[str]) -> set[str]:
    """Refuse or warn of axes and inputs without effect, and return the inputs with effect."""
    used, unused_effects = effects(grid, outputs)
    if unused_effects.errors:
        raise IneffectiveInput(_some(unused_effects.errors))
    if unused_effects.warnings:
        warn(_some(unused_effects.warnings), UnusedInput)
    grid.unused = unused_effects.unrelated
    return used


def effects(grid: Grid, outputs: Sequence[str]) -> tuple[set[str], Effects]:
    """Find the inputs that outputs take, with errors and warnings for the others.

    An axis that no output depends on is an error, and so is a keyword that a preset, a default or a choice blocks. Any
    other keyword without effect is a warning. Of the members of a scenario only those are reported that a preset, a
    default or a choice blocks, as a warning, unless they act elsewhere in the scenario.
    """
    check_scope(grid, outputs)
    try:
        used = set(grid.core.used(list(outputs)))
    except MissingInput as error:
        raise MissingInput(f"{explain_missing(error, grid)}{_also_missing(error, grid, outputs)}") from None
    explicit = grid.explicit
    if explicit is None:
        explicit = {name for name, i in grid.inputs.items() if i.origin is None}
    if not explicit.isdisjoint(WINDOWED) and any(WINDOW in ancestors(name) for name in outputs):
        _check_window(grid, used)
    if explicit <= used and not grid.preset_axes:
        return used, _NO_EFFECTS
    key = _key(grid, outputs, explicit)
    verdicts = _verdicts.setdefault(grid.registry, {})
    verdict = verdicts.get(key)
    if verdict is None:
        if len(verdicts) >= _MOST_VERDICTS:
            verdicts.clear()
        verdict = verdicts[key] = _verdict(grid, outputs, explicit, used)
    return used, verdict


# Only the window has a default: none.
WINDOWED, WINDOW = ("windowed_attention_layers", "windowed_kv_share"), "attention_window"


def _check_window(grid: Grid, used: AbstractSet[str]) -> None:
    """Refuse layers with a window of which nothing says how wide it is."""
    for name in WINDOWED:
        if name in used and WINDOW not in grid.inputs and np.max(grid.inputs[name].values) > 0:
            refuse_window(name)


def refuse_window(name: str) -> NoReturn:
    """Refuse an input that says that there are windows, without one."""
    q = lookup(WINDOW)
    raise MissingInput(f"missing input {WINDOW!r} ({q.brief}, in {q.unit}): {name} is given without it")


_NO_EFFECTS = Effects()
_MOST_VERDICTS = 1024
_verdicts: WeakKeyDictionary[Registry, dict[Any, Effects]] = WeakKeyDictionary()


def _key(grid: Grid, outputs: Sequence[str], explicit: AbstractSet[str]) -> Any:
    """All that a verdict depends on: names, choices and ideal values, axes."""
    decided = tuple(
        (name, i.dims, None if i.dims else _decided(i), not i.dims and _is_fitted(name, grid))
        for name, i in grid.inputs.items()
        if name in explicit
    )
    presets = tuple((keyword, tuple(presets)) for keyword, presets in grid.presets.items())
    axes = tuple(grid.sizes), tuple(grid.preset_axes.items())
    return tuple(outputs), decided, presets, axes, grid.members, grid.exempt, grid.quiet


def _decided(i: Input) -> float | None:
    """A number that decides which branches formulas take."""
    q = i.quantity
    return i.number if i.origin is not None or q.choices or i.number in (q.ideal, q.default) else None


def _verdict(grid: Grid, outputs: Sequence[str], explicit: AbstractSet[str], used: AbstractSet[str]) -> Effects:
    """Messages about the inputs that no output takes."""
    unused = [
        n
        for n, i in grid.inputs.items()
        if n in explicit and n not in used and (i.quantity.bound not in used or n in DIMENSIONS)
    ]
    if unused:
        bounds = {grid.inputs[name].quantity.bound for name in used}
        unused = [name for name in unused if name not in bounds]
    blocked = {name: message for name in unused if (message := _blocked_by_preset(name, used, grid))}
    errors = [message for name, message in blocked.items() if name not in grid.members]
    if grid.quiet or errors:
        return Effects(errors)
    if grid.sizes and (message := _unused_axis(grid, outputs, unused, used)):
        return Effects([message])
    warnings = [message for name, message in blocked.items() if name in grid.members]
    unused = [n for n in unused if n not in blocked and n not in grid.exempt and not _is_fitted(n, grid)]
    unrelated = []
    for reason in _reasons(grid, outputs, unused) if unused else ():
        member = reason.name in grid.members
        if reason.kind == "implicit" or (reason.kind == "elsewhere" and not member):
            (warnings if member else errors).append(reason.message)
        elif reason.kind in ("elsewhere", "unrelated") and member:
            unrelated.append(reason.name)
        elif reason.kind != "value" and not member:
            warnings.append(reason.message)
    return Effects(errors, warnings, tuple(unrelated))


def report_unrelated(grid: Grid, outputs: Sequence[str], names: Iterable[str]) -> tuple[str, ...]:
    """Warn of inputs without effect. Members of a scenario are returned without warning."""
    unused = [name for name in names if name not in grid.exempt and not _is_fitted(name, grid)]
    if not unused:
        return ()
    messages = [reason.message for reason in _reasons(grid, outputs, unused) if reason.name not in grid.members]
    if messages:
        warn(_some(messages), UnusedInput)
    return tuple(name for name in unused if name in grid.members)


_MESSAGES = 5  # of one error or warning


def _some(messages: Sequence[str]) -> str:
    more = f"; and {len(messages) - _MESSAGES} more inputs" if len(messages) > _MESSAGES else ""
    return "; ".join(messages[:_MESSAGES]) + more


def _blocked_by_preset(name: str, used: Iterable[str], grid: Grid) -> str:
    """Write a message about a preset that overrides an input's dependents, if there is one."""
    for other in used:
        origin = grid.inputs[other].origin
        if origin in grid.presets and name in ancestors(other) and _would_tell(name, other, grid):
            preset = grid.presets[origin][0].name
            return (
                f"{name!r} has no effect: {origin}={preset!r} supplies {other!r}, which would follow from it; "
                f"give {other!r} itself, or a {origin} that leaves it open"
            )
    return ""


def _unused_axis(grid: Grid, outputs: Sequence[str], unused: Sequence[str], used: Collection[str]) -> str:
    """Write a message about an axis without effect, if there is one."""
    used_dims = {
        dim
        for name, i in grid.inputs.items()
        if name in used or (i.origin is None and name not in unused)
        for dim in i.dims
    }
    for dim in grid.sizes:
        if dim in used_dims or dim in grid.exempt:
            continue
        owners = [name for name, i in grid.inputs.items() if dim in i.dims and i.origin is None]
        if set(owners) & grid.exempt:
            continue
        if not owners:
            keywords = [keyword for keyword, axis in grid.preset_axes.items() if axis == dim]
            if set(keywords) & grid.exempt:
                continue
            return (
                f"{listed(outputs)} does not depend on the axis {dim!r} of {listed(keywords or [dim])}=; "
                "give one preset, or leave it out"
            )
        return f"no output depends on the axis {dim!r}: {why_unused(grid, outputs, owners[0])}"
    return ""


def why_unused(grid: Grid, outputs: Sequence[str], name: str) -> str:
    """Reason why the outputs do not take an input, as a sentence."""
    (reason,) = _reasons(grid, outputs, [name])
    return reason.message or f"{name!r} has no effect on {listed(outputs)} with these numbers"


def _reasons(grid: Grid, outputs: Sequence[str], unused: Iterable[str]) -> tuple[Reason, ...]:
    return reasons(grid.registry, tuple(outputs), tuple(unused), tuple(_given(grid)))


def _given(grid: Grid) -> Iterator[Given]:
    for name, i in grid.inputs.items():
        origin = None
        if i.origin is not None:
            presets = grid.presets.get(i.origin, [])
            origin = f"{i.origin}={presets[0].name!r}" if len(presets) == 1 else i.origin
        yield Given(name, origin, None if i.dims else _decided(i), bool(i.dims))


def _is_fitted(name: str, grid: Grid) -> bool:
    """Return True for a constant of the package's calibrations, which are applied as a whole."""
    i = grid.inputs[name]
    if i.dims:
        return False
    written = i.quantity.choices[int(i.number)] if i.quantity.choices else i.number
    return (name, written) in _fitted()


@functools.cache
def _fitted() -> frozenset[tuple[str, Any]]:
    """Names and values of all constants of the package's calibrations."""
    return frozenset(item for name in shipped_names() for item in shipped(name).items())


def _would_tell(name: str, other: str, grid: Grid) -> bool:
    """Return True if a quantity would follow from an input without other preset values.

    Quantities between them that could be given must follow from given inputs: `chips` determine no
    `decode_inefficiency` if the rate is missing that would, together with them, give a utilization.
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
    """Return which inputs outputs take, in order of names. Arrays count whatever their values."""
    stand_in = {name: (_ANY_VALUES, [0]) for name in arrays}
    return sorted(_core.Grid([len(_ANY_VALUES)], {**numbers, **stand_in}).used(list(outputs)))


_ANY, _ANY_VALUES = "any", np.array([0.0, 1.0])  # an input of which only the name matters


_MOST_MISSING = 20  # inputs that are looked for


def _also_missing(error: MissingInput, grid: Grid, outputs: Sequence[str]) -> str:
    """Name the other missing inputs, so that one further call can give all of them."""
    inputs, sizes = dict(grid.inputs), {**grid.sizes, _ANY: len(_ANY_VALUES)}
    missing: list[list[str]] = []  # each with its alternatives
    text = "" if "; give " in str(error) else str(error)  # advice of a quantity names all that it takes
    while text and len(missing) < _MOST_MISSING:
        names = re.findall(r"(?:missing input|\) or) '(\w+)'", text.partition("; needed by")[0])
        if not names or names[0] in inputs:
            break
        missing.append(names)
        inputs[names[0]] = Input(lookup(names[0]), _ANY_VALUES, (_ANY,))
        try:
            Grid(inputs, sizes).core.used(list(outputs))
            text = ""
        except MissingInput as next_error:
            text = str(next_error)
    keywords = [keyword for keyword in ("model", "hardware") if keyword not in grid.presets]
    listed = []
    for k, names in enumerate(missing[1:], start=1):
        if any({*names} > {*later} for later in missing[k + 1 :]):  # one input serves both
            continue
        keyword = next((keyword for keyword in keywords if names[0] in _supplied_by(keyword)), None)
        listed.append(f"{keyword}=" if keyword else " or ".join(map(repr, names)))
    return f". Also missing: {', '.join(dict.fromkeys(listed))}" if listed else ""


@functools.cache
def _supplied_by(keyword: str) -> frozenset[str]:
    """Names of the inputs that shipped presets of a kind supply."""
    return frozenset(name for preset in PRESETS[keyword].values() for name in preset.values)


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
