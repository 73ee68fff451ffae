"""`rs.value`: a quantity at one point."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from roofslate import _core
from roofslate._base.messages import shown
from roofslate.errors import AxisError, InputTypeError, MissingInput, RoofslateError
from roofslate.grid.checks import LOADS, WINDOWED, effects
from roofslate.grid.fit import CAPACITY, LIMITED_OUTCOMES, conditions_of_point, misfits_of_point, warn_of_misfits
from roofslate.grid.grid import Grid, Input
from roofslate.grid.label import UnitsOfOutputs, conversions
from roofslate.grid.layout import PARTS, is_parallel, layout_of_point
from roofslate.grid.layout_rules import may_train, takes_layout
from roofslate.grid.plausible import HIGHEST_PRICE, PRICE, priced_chip_trouble, warn_of_price
from roofslate.grid.products import check_products
from roofslate.grid.read import WithScenario, read_grid, with_scenario
from roofslate.presets.lookup import PRESETS, find_preset, preset_numbers, replaced_by
from roofslate.presets.preset import Preset
from roofslate.registry.registry import current, entries, kept_by_registry, lookup
from roofslate.registry.values import input_quantity, number, wanted_names
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roofslate.registry.registry import Registry

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


class _Presets(NamedTuple):
    """Values that the presets of a point supply together."""

    numbers: dict[str, float]
    supply: _core.Supply | None
    overlap: bool  # several presets supply the same
    parallel: bool  # they ask for a layout


_NOTHING = _Presets({}, None, overlap=False, parallel=False)


@functools.lru_cache(maxsize=1024)
def _together(presets: tuple[Preset, ...], replaced: frozenset[str] = frozenset()) -> _Presets:
    """Return the joint values of presets, cached for the next point with the same."""
    each = [preset_numbers(preset) for preset in presets]
    if replaced:
        each = [{name: x for name, x in numbers.items() if name not in replaced} for numbers in each]
    numbers = {name: x for supplied in each for name, x in supplied.items()}
    overlap = len(numbers) < sum(map(len, each))
    return _Presets(numbers, _core.Supply(numbers), overlap, is_parallel(numbers))


@kept_by_registry
def _memory_checks(registry: Registry, output: str, given: frozenset[str]) -> Sequence[str]:
    """Return the memory conditions of an output, by the names of its inputs."""
    return conditions_of_point(registry, output, given) if CAPACITY in given else ()


_Point = tuple[dict[str, float], _Presets, "Sequence[str]"]  # numbers, numbers of presets, and memory conditions


def _read_point(output: str, inputs: Mapping[str, Any]) -> _Point:
    """Read a point: checked numbers, values of its presets, and memory conditions."""
    explicit: dict[str, float] = {}
    presets = []
    choices = []
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
            presets.append(find_preset(name, given))
        elif isinstance(given, (str, float, int)) and not isinstance(given, bool):
            q = input_quantity(name)
            explicit[name] = x = number(given, q)
            if q.choices or x == q.ideal or x == q.default:
                choices.append((name, x))
        else:
            return _point_of_grid(output, inputs)
    origin = None
    if type(inputs) is not dict and isinstance(inputs, WithScenario):
        origin = inputs.members, inputs.exempt, inputs.quiet
    plan = _plan(registry, output, tuple(explicit), tuple(presets), tuple(choices), origin)
    if plan is None:
        return _point_of_grid(output, inputs)
    supplied = plan.preset.numbers
    if plan.bounds and _exceeds_bound(explicit, supplied, plan.bounds):
        return _point_of_grid(output, inputs)
    price = explicit.get(PRICE)
    if price is None:
        price = supplied.get(PRICE, 0.0)
    if price > HIGHEST_PRICE:
        warn_of_price(inputs, price)
    if plan.completes:
        combined = supplied | explicit
        chosen = layout_of_point(registry, output, combined)
        if chosen and _exceeds_bound(combined, {}, registry.bounded_pairs):
            return _point_of_grid(output, inputs)
        if chosen or not plan.trains:
            return _combined(output, combined, inputs)
    return explicit, plan.preset, plan.checks


def _combined(output: str, numbers: dict[str, float], inputs: Mapping[str, Any]) -> _Point:
    """A point of which all inputs are its own numbers."""
    quiet = getattr(inputs, "quiet", False)
    return numbers, _NOTHING, () if quiet else _memory_checks(current(), output, frozenset(numbers))


def _point_of_grid(output: str, inputs: Mapping[str, Any]) -> _Point:
    grid = read_grid(inputs, [output])
    for name, i in grid.inputs.items():
        if i.dims:
            raise AxisError(f"rs.value computes one point, but {i.origin or name} is an axis; use rs.evaluate")
    return _combined(output, {name: float(i.values) for name, i in grid.inputs.items()}, inputs)


class _Plan(NamedTuple):
    """All that the names, choices and presets of a point decide."""

    preset: _Presets
    bounds: tuple[tuple[str, str], ...]  # inputs that may not exceed another one, with that one
    checks: Sequence[str]  # memory conditions
    trains: bool
    completes: bool  # a rule may complete the layout


@kept_by_registry
def _plan(
    registry: Registry,
    output: str,
    explicit: tuple[str, ...],
    presets: tuple[Preset, ...],
    choices: tuple[tuple[str, float], ...],
    origin: tuple[frozenset[str], frozenset[str], bool] | None,
) -> _Plan | None:
    """Plan points that differ in numbers only. None: they need the full reading."""
    replaced = frozenset[str]().union(*(replaced_by(explicit, preset) for preset in presets))
    preset = _together(presets, replaced) if presets else _NOTHING
    given = preset.numbers.keys() | explicit
    if preset.overlap or given >= {*LOADS} or not _has_effect(output, explicit, presets, choices, origin):
        return None
    # presets are in bounds by themselves
    bounds = () if _bounded(registry).isdisjoint(explicit) else registry.bounded_pairs
    quiet = origin is not None and origin[2]
    trains = "chips" in given and may_train(registry, output)
    parallel = preset.parallel or is_parallel({**dict.fromkeys(explicit, 0.0), **dict(choices)})
    completes = trains or ("chips" in given and parallel and takes_layout(registry, output))
    checks = () if quiet else _memory_checks(registry, output, frozenset(given))
    return _Plan(preset, tuple(pair for pair in bounds if given >= {*pair}), checks, trains, completes)


@kept_by_registry
def _bounded(registry: Registry) -> frozenset[str]:
    """Quantities that may not exceed another one, and those others."""
    return frozenset(name for pair in registry.bounded_pairs for name in pair)


def _exceeds_bound(
    explicit: Mapping[str, float], supplied: Mapping[str, float], pairs: Iterable[tuple[str, str]]
) -> bool:
    for name, bound in pairs:
        x = explicit[name] if name in explicit else supplied.get(name)
        most = explicit[bound] if bound in explicit else supplied.get(bound)
        if x is not None and most is not None and x > most:
            return True
    return False


# Inputs that may lack a part, lack a layout, disagree, be in another unit, or not fit need the full reading.
_core.read_fully([*WINDOWED, *sorted(PARTS)], LOADS, (PRICE, HIGHEST_PRICE), (CAPACITY, LIMITED_OUTCOMES))
_ANY = "any"  # an axis of inputs of which only the name matters


def _has_effect(
    output: str,
    explicit: tuple[str, ...],
    presets: tuple[Preset, ...],
    choices: tuple[tuple[str, float], ...],
    origin: tuple[frozenset[str], frozenset[str], bool] | None,
) -> bool:
    """Check explicit inputs for effect, which depends only on names, choices and ideal values."""
    grid = Grid(sizes={_ANY: 1}, explicit=frozenset(explicit))
    if origin is not None:
        grid.members, grid.exempt, grid.quiet = origin
    grid.exempt |= {_ANY}
    for preset in presets:
        grid.presets[preset.kind] = [preset]
        replaced = replaced_by(explicit, preset)
        for name, x in preset_numbers(preset).items():
            if name not in replaced:
                grid.inputs[name] = Input(lookup(name), x, (), preset.kind)
    decided = dict(choices)
    for name in explicit:
        q = lookup(name)
        stand_in = decided.get(name)
        grid.inputs[name] = Input(q, np.array([0.5]), (_ANY,)) if stand_in is None else Input(q, stand_in)
    try:
        if not grid.quiet and priced_chip_trouble(grid):  # the full reading warns of it
            return False
        check_products(grid)
        _, unused = effects(grid, [output])
    except RoofslateError:  # whatever it is, the full reading names it
        return False
    return not unused.errors and not unused.warnings
