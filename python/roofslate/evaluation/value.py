"""`rs.value`: a quantity at one point."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate.errors import AxisError, RoofslateError
from roofslate.grid.checks import LOADS, WINDOWED, effects
from roofslate.grid.fit import CAPACITY, memory_ways, misfit_of_point, warn_of_misfits
from roofslate.grid.grid import Grid, Input
from roofslate.grid.label import conversions
from roofslate.grid.layout import is_parallel, layout_of_point, takes_layout
from roofslate.grid.plausible import HIGHEST_PRICE, PRICE, check_priced_chip, warn_of_price
from roofslate.grid.read import WithScenario, read_grid, with_scenario
from roofslate.presets.lookup import PRESETS, find_preset, preset_numbers
from roofslate.presets.preset import Preset
from roofslate.registry.registry import Definition, current, entries, lookup
from roofslate.registry.values import input_quantity, number, wanted_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["value"]


def value(
    output: str, scenario: Mapping[str, Any] | None = None, /, *, units: str | None = None, **inputs: Any
) -> float | str:
    """One value of a quantity, in base units unless `units` says otherwise; of a choice, its word.

    The fast way for a single point: no array is made.

    Parameters
    ----------
    output : str
        Name of a quantity.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    units : str, optional
        Unit of the result: ``"USD/Mtoken"``.
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
    if scenario is not None:
        inputs = with_scenario(scenario, inputs)
    known = isinstance(output, str) and output in entries()
    # what may disagree, lack its other half, not fit or lack a layout is for the full reading
    if (
        known
        and units is None
        and WINDOWED not in inputs
        and not (CLIENTS in inputs and BATCH in inputs)
        and not (CAPACITY in inputs and memory_ways(current(), output))
        and not ("chips" in inputs and is_parallel(inputs))
    ):
        plain = _core.value(output, inputs)
        if plain is not NotImplemented:
            if PRICE in inputs and inputs[PRICE] > HIGHEST_PRICE:
                warn_of_price(inputs, inputs[PRICE])
            return plain  # type: ignore[no-any-return]
    (name,) = [output] if known else wanted_names([output])
    q = lookup(name)
    checked = _point_numbers(name, inputs)
    x = None
    if CAPACITY in checked and memory_ways(registry := current(), name) and not getattr(inputs, "quiet", False):
        x, misfits = misfit_of_point(name, checked, registry)
        if misfits:
            warn_of_misfits(misfits)
    if x is None:
        x = _core.number(name, checked)
    if q.choices:
        return q.choices[int(x)]
    return x if units is None else x / conversions([name], {name: units})[name][0]


def _point_numbers(output: str, inputs: Mapping[str, Any]) -> dict[str, float]:
    """All inputs of a point as checked numbers, those of presets among them."""
    found: dict[str, float] = {}
    explicit: dict[str, float] = {}
    presets = []
    choices = []
    supplied = 0
    registry = current()
    known = registry.entries
    for name, given in inputs.items():
        q = known.get(name)
        kind = type(given)
        if (kind is float or kind is int) and q is not None and not q.choices and q.low < given < q.high:
            explicit[name] = float(given)  # as most are, the cheapest way
            if given == q.ideal or given == q.default:
                choices.append((name, explicit[name]))
        elif kind is str and q is not None and given in q.choices:
            explicit[name] = x = float(q.choices.index(given))
            choices.append((name, x))
        elif name in PRESETS:
            if not isinstance(given, (str, Preset)):
                return _point_of_grid(output, inputs)
            preset = find_preset(name, given)
            presets.append(preset)
            numbers = preset_numbers(preset)
            supplied += len(numbers)
            found |= numbers
        elif isinstance(given, (str, float, int)) and not isinstance(given, bool):
            q = input_quantity(name)
            explicit[name] = x = number(given, q)
            if q.choices or x == q.ideal or x == q.default:
                choices.append((name, x))
        else:
            return _point_of_grid(output, inputs)
    definitions = registry.definitions_of((output, *explicit)) if registry.definitions else ()
    origin = None
    if type(inputs) is not dict and isinstance(inputs, WithScenario):
        origin = inputs.members, inputs.exempt, inputs.quiet
    overlap_of_presets = len(found) < supplied
    found |= explicit
    if (
        overlap_of_presets
        or (CLIENTS in found and BATCH in found)
        or _exceeds_bound(found, registry.bounded_pairs)
        or not _has_effect(output, tuple(explicit), tuple(presets), tuple(choices), definitions, origin)
    ):
        return _point_of_grid(output, inputs)
    if PRICE in found and found[PRICE] > HIGHEST_PRICE:
        warn_of_price(inputs, found[PRICE])
    if "chips" in found and is_parallel(found) and takes_layout(registry, output):
        layout_of_point(found)
    return found


def _point_of_grid(output: str, inputs: Mapping[str, Any]) -> dict[str, float]:
    grid = read_grid(inputs, [output])
    for name, i in grid.inputs.items():
        if i.dims:
            raise AxisError(f"rs.value computes one point, but {i.origin or name} is an axis; use rs.evaluate")
    return {name: float(i.values) for name, i in grid.inputs.items()}


def _exceeds_bound(found: Mapping[str, float], pairs: Iterable[tuple[str, str]]) -> bool:
    for name, bound in pairs:  # noqa: SIM110 - a generator takes twice as long
        if name in found and bound in found and found[name] > found[bound]:
            return True
    return False


CLIENTS, BATCH = LOADS
_ANY = "any"  # an axis of inputs of which only the name matters


@functools.lru_cache(maxsize=1024)
def _has_effect(
    output: str,
    explicit: tuple[str, ...],
    presets: tuple[Any, ...],
    choices: tuple[tuple[str, float], ...],
    definitions: tuple[Definition, ...],  # noqa: ARG001 of these names
    origin: tuple[frozenset[str], frozenset[str], bool] | None,
) -> bool:
    """Whether there is nothing to say of the explicit inputs. Depends on names, choices and ideal values alone."""
    grid = Grid(sizes={_ANY: 1}, explicit=frozenset(explicit))
    if origin is not None:
        grid.members, grid.exempt, grid.quiet = origin
    grid.exempt |= {_ANY}
    for preset in presets:
        grid.presets[preset.kind] = [preset]
        for name, x in preset_numbers(preset).items():
            grid.inputs[name] = Input(lookup(name), x, (), preset.kind)
    decided = dict(choices)
    for name in explicit:
        q = lookup(name)
        stand_in = decided.get(name)
        grid.inputs[name] = Input(q, np.array([0.5]), (_ANY,)) if stand_in is None else Input(q, stand_in)
    try:
        if not grid.quiet:
            check_priced_chip(grid)
        _, found = effects(grid, [output])
    except RoofslateError:  # whatever it is, the full reading names it
        return False
    return not found.errors and not found.warnings
