"""Plans of calls, by the names, choices and presets of their inputs."""

from __future__ import annotations

import functools
import math
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from roofslate import _core, units
from roofslate.errors import RoofslateError
from roofslate.grid.basis import is_floor
from roofslate.grid.checks import LOADS, effects
from roofslate.grid.fit import CAPACITY, MOST, conditions_of
from roofslate.grid.grid import Grid, Input
from roofslate.grid.layout import is_parallel
from roofslate.grid.layout_rules import may_train, takes_layout
from roofslate.grid.plausible import PRICE, priced_chip_trouble
from roofslate.grid.products import check_products, may_be_dequantized
from roofslate.grid.read import WithScenario, axis_of, is_axis
from roofslate.presets.lookup import PRESETS, find_preset, is_of_file, preset_numbers, replaced_by
from roofslate.presets.preset import Preset
from roofslate.registry.registry import current, kept_by_registry, lookup
from roofslate.registry.values import input_quantity, number

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roofslate.registry.registry import Registry
    from roofslate.registry.values import Values

__all__ = ["NO_PRESETS", "Plan", "Presets", "Reading", "exceeds_bound", "memory_checks", "read_by_plan"]

_AXES = (np.ndarray, list, units.Axis)  # of one input: the axis has its name


class Presets(NamedTuple):
    """Values that the presets of a call supply together."""

    numbers: dict[str, float]
    supply: _core.Supply | None
    overlap: bool  # several presets supply the same
    parallel: bool  # they ask for a layout


NO_PRESETS = Presets({}, None, overlap=False, parallel=False)


class Plan(NamedTuple):
    """All that names, choices and presets of inputs decide."""

    presets: Presets
    bounds: tuple[tuple[str, str], ...]  # inputs that may not exceed another one, with that one
    checks: Sequence[str]  # memory conditions
    trains: bool
    completes: bool  # a rule may complete the layout
    is_plain: bool  # lower bounds, without notes


class Reading(NamedTuple):
    """The checked inputs of a call, and their plan."""

    numbers: dict[str, float]
    axes: dict[str, Values]
    presets: tuple[Preset, ...]
    plan: Plan

    @property
    def price(self) -> float:
        """The highest price of a chip, 0 without one."""
        if PRICE in self.axes:
            return float(np.max(self.axes[PRICE]))
        return self.numbers[PRICE] if PRICE in self.numbers else self.plan.presets.numbers.get(PRICE, 0.0)

    def grid(self) -> Grid:
        """Build the axes and the engine's grid of a call whose plan is complete."""
        axes = self.axes
        sizes = {name: len(values) for name, values in axes.items()}
        coords = {name: (values, name) for name, values in axes.items()}
        grid = Grid({}, sizes, coords, {preset.kind: [preset] for preset in self.presets})
        arrays = {name: (values, [k]) for k, (name, values) in enumerate(axes.items())}
        grid.build({**self.numbers, **arrays}, self.plan.presets.supply)
        return grid


def read_by_plan(outputs: tuple[str, ...], inputs: Mapping[str, Any], *, axes: bool) -> Reading | None:
    """Read numbers, texts with units, presets, and axes of one input each.

    None where the full reading has more to say: inputs are of other kinds, lack a part, contradict each other, or have
    no effect. With `axes` also for models of files, for results that are no plain lower bounds, and for layouts that a
    rule may complete.

    Raises
    ------
    RoofslateError
        About a single input.
    """
    numbers, decided, remaining = _core.read_numbers(inputs)
    axes_given: dict[str, Any] = {}
    presets = []
    known = (registry := current()).entries
    for name in remaining:
        given, q = inputs[name], known.get(name)
        if name in PRESETS:
            if not isinstance(given, (str, Preset)) or (axes and type(given) is str and is_of_file(name, given)):
                return None
            presets.append(find_preset(name, given))
        elif isinstance(given, (str, float, int)) and not isinstance(given, bool):
            q = input_quantity(name)
            numbers[name] = x = number(given, q)
            if q.choices or x == q.ideal or x == q.default:
                decided.append((name, x))
        elif axes and q is not None and type(given) in _AXES and is_axis(given, q):
            axes_given[name] = given
        else:
            return None
    origin = None
    if type(inputs) is not dict and isinstance(inputs, WithScenario):
        origin = inputs.members, inputs.exempt, inputs.quiet
    plan = _plan(registry, outputs, tuple(numbers), tuple(axes_given), tuple(presets), tuple(decided), origin)
    if plan is None:
        return None
    if axes and (
        not plan.is_plain or plan.completes or (plan.checks and math.prod(map(len, axes_given.values())) > MOST)
    ):
        return None
    values = {name: axis_of(given, known[name]) for name, given in axes_given.items()}
    if plan.bounds and exceeds_bound({**numbers, **values}, plan.presets.numbers, plan.bounds):
        return None
    return Reading(numbers, values, tuple(presets), plan)


def exceeds_bound(given: Mapping[str, Any], supplied: Mapping[str, float], pairs: Iterable[tuple[str, str]]) -> bool:
    """Return True if some input exceeds its bound, of arrays any value any other one."""
    for name, bound in pairs:
        x = given[name] if name in given else supplied.get(name)
        most = given[bound] if bound in given else supplied.get(bound)
        if x is None or most is None:
            continue
        if (x.max() if type(x) is np.ndarray else x) > (most.min() if type(most) is np.ndarray else most):
            return True
    return False


@functools.lru_cache(maxsize=1024)
def _together(presets: tuple[Preset, ...], replaced: frozenset[str] = frozenset()) -> Presets:
    """Return the joint values of presets."""
    each = [preset_numbers(preset) for preset in presets]
    if replaced:
        each = [{name: x for name, x in numbers.items() if name not in replaced} for numbers in each]
    numbers = {name: x for supplied in each for name, x in supplied.items()}
    overlap = len(numbers) < sum(map(len, each))
    return Presets(numbers, _core.Supply(numbers), overlap, is_parallel(numbers))


@kept_by_registry
def memory_checks(registry: Registry, outputs: tuple[str, ...], given: frozenset[str]) -> Sequence[str]:
    """Return the memory conditions of outputs, by the names of their inputs."""
    return conditions_of(registry, outputs, given) if CAPACITY in given else ()


@kept_by_registry
def _plan(
    registry: Registry,
    outputs: tuple[str, ...],
    numbers: tuple[str, ...],
    axes: tuple[str, ...],
    presets: tuple[Preset, ...],
    choices: tuple[tuple[str, float], ...],
    origin: tuple[frozenset[str], frozenset[str], bool] | None,
) -> Plan | None:
    """Plan calls that differ in numbers only. None: they need the full reading."""
    explicit = (*numbers, *axes)
    replaced = frozenset[str]().union(*(replaced_by(explicit, preset) for preset in presets))
    joint = _together(presets, replaced) if presets else NO_PRESETS
    given = joint.numbers.keys() | explicit
    if joint.overlap or given >= {*LOADS}:
        return None
    grid = _stand_in(explicit, presets, dict(choices), origin)
    notes = _notes(grid, outputs)
    if notes is None:
        return None
    # presets are in bounds by themselves
    bounds = () if _bounded(registry).isdisjoint(explicit) else registry.bounded_pairs
    quiet = origin is not None and origin[2]
    trains = "chips" in given and any(may_train(registry, output) for output in outputs)
    parallel = joint.parallel or is_parallel({**dict.fromkeys(explicit, 0.0), **dict(choices)})
    serves = "chips" in given and parallel and any(takes_layout(registry, output) for output in outputs)
    checks = () if quiet else memory_checks(registry, outputs, frozenset(given))
    is_plain = not notes and is_floor(outputs, grid) and not may_be_dequantized(grid)
    pairs = tuple(pair for pair in bounds if given >= {*pair})
    return Plan(joint, pairs, checks, trains, trains or serves, is_plain)


@kept_by_registry
def _bounded(registry: Registry) -> frozenset[str]:
    """Quantities that may not exceed another one, and those others."""
    return frozenset(name for pair in registry.bounded_pairs for name in pair)


_ANY = "any"  # an axis of inputs of which only the name matters


def _stand_in(
    explicit: tuple[str, ...],
    presets: tuple[Preset, ...],
    decided: Mapping[str, float],
    origin: tuple[frozenset[str], frozenset[str], bool] | None,
) -> Grid:
    """Build a grid of the same names, choices, ideal values and presets."""
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
    for name in explicit:
        q, number_of = lookup(name), decided.get(name)
        grid.inputs[name] = Input(q, np.array([0.5]), (_ANY,)) if number_of is None else Input(q, number_of)
    return grid


def _notes(grid: Grid, outputs: Sequence[str]) -> tuple[str, ...] | None:
    """Members of a scenario that a result would note as unused.

    None where the full reading has more to say.
    """
    try:
        if not grid.quiet and priced_chip_trouble(grid):
            return None
        check_products(grid)
        _, unused = effects(grid, outputs)
    except RoofslateError:  # whatever it is, the full reading names it
        return None
    return None if unused.errors or unused.warnings else unused.unrelated
