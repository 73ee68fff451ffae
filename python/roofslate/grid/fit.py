"""Points that exceed memory: which, how many, and by how much."""

from __future__ import annotations

import contextlib
import math
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from roofslate import _core, units
from roofslate._base.messages import warn
from roofslate.errors import DoesNotFit, MissingInput
from roofslate.grid.checks import used
from roofslate.registry.registry import kept_by_registry

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from roofslate.grid.grid import Grid
    from roofslate.registry.registry import Registry
    from roofslate.registry.values import Values

__all__ = [
    "CAPACITY",
    "LIMITED_OUTCOMES",
    "MOST",
    "Misfit",
    "checks_of",
    "conditions_of",
    "is_small",
    "memory_conditions",
    "memory_ways",
    "misfit_of_row",
    "misfits_at",
    "misfits_of",
    "misfits_of_point",
    "warn_of_misfits",
]

CAPACITY = "hbm_capacity"
MOST = 1 << 16  # points at which a check is computed in addition to the outputs, otherwise bounds
_NO = 0.0
FLOOR = "floor"  # the calibration that is a bound


class _Check(NamedTuple):
    """Memory condition of `outcome` and its dependents, with `used` limited by capacity."""

    outcome: str
    used: str
    what: str


_CHECKS = {
    "memory_fits": _Check("pass_time", "hbm_used", "weights and KV cache"),
    "training_memory_fits": _Check("training_step_time", "training_memory", "training states and activations"),
}
LIMITED_OUTCOMES = [check.outcome for check in _CHECKS.values()]


@dataclass(frozen=True)
class Misfit:
    """Points that do not fit, and the one of them that takes most."""

    check: str
    unfit: int
    points: int
    used: float  # a chip
    capacity: float
    chips: float
    never: bool  # it has no finite time
    sequences: float  # that fit
    first: bool = False  # `used` is of the first point, not the maximum

    def text(self, noun: str) -> str:
        """The message."""
        if self.used > self.capacity:
            used, capacity = (units.format(x, "byte", 3) for x in (self.used, self.capacity))
            most = "up to " if self.unfit > 1 and not self.first else ""
            why = f"{_CHECKS[self.check].what} take {most}{used} of {capacity} a chip (chips={self.chips:g})"
        else:
            why = f"memory holds {self.sequences:.3g} of 1 sequence (chips={self.chips:g})"
        end = "their times are inf" if self.never else f"computed as requested; where='{self.check}' leaves them out"
        why += " in the first" if self.unfit > 1 and self.first else ""
        return f"{self.unfit:,} of {self.points:,} {noun} do not fit: {why}; {end}"


def checks_of(grid: Grid, outputs: Sequence[str]) -> list[str]:
    """Return memory conditions of outputs that a grid determines and outputs do not include."""
    if CAPACITY not in grid.inputs or grid.quiet or grid.chunked:
        return []
    return _asked(grid.registry, outputs, grid.inputs)


def memory_conditions(grid: Grid, outputs: Sequence[str]) -> list[str]:
    """Return memory conditions of a search by estimate, so that the best point can run."""
    if CAPACITY not in grid.inputs or all(p.name == FLOOR for p in grid.presets.get("calibration", ())):
        return []
    conditions = []
    for check in _asked(grid.registry, outputs, grid.inputs):
        with contextlib.suppress(MissingInput):
            used([check], grid.numbers(), [name for name, i in grid.inputs.items() if i.dims])
            conditions.append(check)
    return conditions


def is_small(grid: Grid, checks: Sequence[str]) -> bool:
    """Return True if checks may be computed like outputs, which at many points need memory."""
    return math.prod(grid.sizes.values()) <= MOST or all(_points(grid, check) <= MOST for check in checks)


def misfits_of(grid: Grid, checks: Sequence[str], values: Sequence[Values] = ()) -> list[Misfit]:
    """Find the points that exceed memory. `values` are computed checks, if any.

    For many points, bounds are computed first, and points only if the bounds are undecided.
    """
    misfits: list[Misfit] = []
    for k, check in enumerate(checks):
        if values and values[k].all():
            continue
        condition = ([("quantity", check)], "==", [("constant", _NO)])
        axes = list(range(len(grid.sizes)))
        _, counts, _ = grid.core.fold(_core.Count([condition]), axes, 1, None, True, None)
        unfit = int(counts[0])
        if unfit:
            used: list[tuple[str, str]] = [("quantity", _CHECKS[check].used)]
            _, where, _ = grid.core.fold(_core.Best(used, True, [condition]), axes, 1, None, True, None)
            shape = tuple(grid.sizes.values())
            at = map(int, np.unravel_index(int(where[0]), shape)) if shape else ()
            position = dict(zip(grid.sizes, at, strict=True))
            misfits.append(_misfit(check, grid.numbers_at(position), unfit, math.prod(shape)))
    return misfits


def misfit_of_row(check: str, numbers: Mapping[str, float], unfit: int) -> Misfit:
    """The first of the rows of a table that do not fit, for all of them."""
    return replace(_misfit(check, numbers, unfit, unfit), first=True)


def conditions_of(registry: Registry, outputs: Sequence[str], given: Collection[str]) -> list[str]:
    """Return the memory conditions of outputs, by the names of given inputs."""
    return _asked(registry, outputs, dict.fromkeys(given))


def misfits_at(grid: Grid, checks: Sequence[str], position: Mapping[str, int]) -> list[Misfit]:
    """Return the exceeded conditions of one point of a grid."""
    fits = grid.core.at(checks, [position[dim] for dim in grid.sizes])
    return misfits_of_point(checks, fits, grid.numbers_at(position)) if _NO in fits else []


def misfits_of_point(checks: Sequence[str], fits: Sequence[float | None], numbers: Mapping[str, float]) -> list[Misfit]:
    """Return the exceeded conditions of a point, by their values."""
    return [_misfit(check, numbers, 1, 1) for check, x in zip(checks, fits, strict=True) if x == _NO]


def warn_of_misfits(misfits: Sequence[Misfit], *, rows: int | None = None) -> None:
    """Warn once of all points that do not fit, of several evaluations too, or of so many rows."""
    if not misfits:
        return
    worst = max(misfits, key=lambda misfit: misfit.used / misfit.capacity)
    alike = [misfit for misfit in misfits if misfit.check == worst.check]
    unfit = sum(misfit.unfit for misfit in alike)
    points = sum(misfit.points for misfit in alike) if rows is None else rows
    warn(replace(worst, unfit=unfit, points=points).text("points" if rows is None else "rows"), DoesNotFit)


def _asked(registry: Registry, outputs: Sequence[str], given: Mapping[str, Any]) -> list[str]:
    """Return memory conditions of outputs, unless given inputs cut the chain above them."""
    names = given.keys()
    checks: list[str] = []
    for output in outputs:
        for check, path in memory_ways(registry, output):
            if check in checks or check in outputs:
                continue
            if names.isdisjoint(path) or _reaches(registry, output, frozenset(given), _CHECKS[check].outcome):
                checks.append(check)
    return checks


@kept_by_registry
def memory_ways(registry: Registry, output: str) -> tuple[tuple[str, frozenset[str]], ...]:
    """Return memory conditions that may affect an output, each with the quantities between."""
    paths = []
    for check, (outcome, _, _) in _CHECKS.items():
        after = registry.descendants(outcome) | {outcome}
        if output in after:
            paths.append((check, after & (registry.ancestors(output) | {output})))
    return tuple(paths)


@kept_by_registry
def _reaches(registry: Registry, output: str, given: frozenset[str], outcome: str) -> bool:
    """Return True if an output may depend on an outcome without ancestors of given inputs."""
    seen: set[str] = set()
    waiting = [output]
    while waiting:
        name = waiting.pop()
        if name not in seen and name not in given:
            seen.add(name)
            q = registry.entries[name]
            waiting += [*q.needs, *filter(None, [q.fallback])]
    return outcome in seen


def _points(grid: Grid, check: str) -> int:
    """At how many points a check may differ."""
    axes = grid.core.axes_of(_core.Count([([("quantity", check)], "==", [("constant", _NO)])]))
    sizes = list(grid.sizes.values())
    return math.prod(sizes[k] for k in axes)


def _misfit(check: str, numbers: Mapping[str, float], unfit: int, points: int) -> Misfit:
    """Describe the misfit of one point, of one sequence if clients wait for capacity."""
    known = dict(numbers)
    serving = check == "memory_fits"
    admission, batches = _core.numbers(["admission", "microbatches"], known)
    never = serving and admission == 0
    sequences = _core.number("memory_limited_sequences", known) if serving else math.nan
    if never:
        known.pop("concurrency", None)
        known["batch_size"] = 1 / (batches or 1)
    names = [_CHECKS[check].used, CAPACITY, "chips"]
    used, capacity, chips = (x if x is not None else math.nan for x in _core.numbers(names, known))
    return Misfit(check, unfit, points, used, capacity, chips, never, sequences)
