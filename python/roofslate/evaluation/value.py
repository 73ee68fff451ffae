"""`rs.value`: a quantity at one point."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate import _core
from roofslate._base.messages import shown
from roofslate.errors import AxisError, InputTypeError, MissingInput
from roofslate.grid.checks import LOADS, WINDOWED
from roofslate.grid.fit import CAPACITY, LIMITED_OUTCOMES, misfits_of_point, warn_of_misfits
from roofslate.grid.label import UnitsOfOutputs, conversions
from roofslate.grid.layout import PARTS, layout_of_point
from roofslate.grid.plans import NO_PRESETS, Presets, exceeds_bound, memory_checks, read_by_plan
from roofslate.grid.plausible import HIGHEST_PRICE, PRICE, warn_of_price
from roofslate.grid.read import read_grid, with_scenario
from roofslate.registry.registry import current, entries, lookup
from roofslate.registry.values import wanted_names
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["value"]


def value(
    output: str, scenario: Mapping[str, Any] | None = None, /, *, units: UnitsOfOutputs | None = None, **inputs: Any
) -> float | str:
    """Compute one value in base units by default, or the word of a choice.

    The fast way for a single point: no array is made.

    Parameters
    ----------
    output : str
        Name of a quantity.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    units : str or dict of str, optional
        Unit of the result, or units by output: ``"USD/Mtoken"``.
    **inputs
        As for `evaluate`, but none of them may be an axis.

    Returns
    -------
    float or str

    Raises
    ------
    MissingInput, UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError, IneffectiveInput
        As for `evaluate`.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.value("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    0.024
    """
    if scenario is not None or DAY in inputs:
        inputs = with_scenario(scenario, inputs)
    if units is None and type(output) is str:
        try:
            plain = _core.value(output, inputs)
            if plain is not NotImplemented:
                return plain  # type: ignore[no-any-return]
        except (MissingInput, TypeError):
            pass  # the full reading names all that is missing, and other names
    q = entries().get(output) if isinstance(output, str) else None
    if q is None:
        q = lookup(_only_name(output))
    name = q.name
    explicit, preset, checks = _read_point(name, inputs)
    x, *fits = _core.numbers([name, *checks], explicit, preset.supply)
    if x is None:
        x = _core.number(name, preset.numbers | explicit)  # names the missing input
    if 0 in fits:
        warn_of_misfits(misfits_of_point(checks, fits, preset.numbers | explicit))
    if q.choices:
        return q.choices[int(x)]
    return x if units is None else x / conversions([name], units).get(name, (1.0, ""))[0]


def _only_name(output: object) -> str:
    """Check that an output is the name of one quantity."""
    if isinstance(output, (list, tuple, set)):
        names = shown(list(output))
        raise InputTypeError(f"rs.value computes one quantity, got {names}; use rs.evaluate({names}, ...)")
    (name,) = wanted_names([output])  # type: ignore[list-item]
    return name


_Point = tuple[dict[str, float], Presets, "Sequence[str]"]  # numbers, numbers of presets, and memory conditions


def _read_point(output: str, inputs: Mapping[str, Any]) -> _Point:
    """Read a point: checked numbers, values of its presets, and memory conditions."""
    reading = read_by_plan((output,), inputs, axes=False)
    if reading is None:
        return _point_of_grid(output, inputs)
    plan, explicit = reading.plan, reading.numbers
    if reading.price > HIGHEST_PRICE:
        warn_of_price(inputs, reading.price)
    if plan.completes:
        combined = plan.presets.numbers | explicit
        registry = current()
        chosen = layout_of_point(registry, output, combined)
        if chosen and exceeds_bound(combined, {}, registry.bounded_pairs):
            return _point_of_grid(output, inputs)
        if chosen or not plan.trains:
            return _combined(output, combined, inputs)
    return explicit, plan.presets, plan.checks


def _combined(output: str, numbers: dict[str, float], inputs: Mapping[str, Any]) -> _Point:
    """A point of which all inputs are its own numbers."""
    quiet = getattr(inputs, "quiet", False)
    return numbers, NO_PRESETS, () if quiet else memory_checks(current(), (output,), frozenset(numbers))


def _point_of_grid(output: str, inputs: Mapping[str, Any]) -> _Point:
    grid = read_grid(inputs, [output])
    for name, i in grid.inputs.items():
        if i.dims:
            raise AxisError(f"rs.value computes one point, but {i.origin or name} is an axis; use rs.evaluate")
    return _combined(output, {name: float(i.values) for name, i in grid.inputs.items()}, inputs)


# Inputs that may lack a part, lack a layout, disagree, be in another unit, or not fit need the full reading.
_core.read_fully([*WINDOWED, *sorted(PARTS)], LOADS, (PRICE, HIGHEST_PRICE), (CAPACITY, LIMITED_OUTCOMES))
