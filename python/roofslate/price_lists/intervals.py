"""Ranges of numbers with a nominal value, and quantities over them."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from roofslate.evaluation.value import value
from roofslate.folds.bounds import bounds
from roofslate.grid.read import Settled

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["Interval", "above", "bounded", "exact", "hull", "ranged"]

_ROUNDED = 1e-9  # relative tolerance: the rounding of some hundred operations


class Interval(NamedTuple):
    """Range of a number, and its value with every assumption at the middle of its range."""

    low: float
    nominal: float
    high: float

    def within(self, low: float, high: float) -> Interval | None:
        """Intersect with a range, within rounding. None if the intersection is empty."""
        low, high = max(self.low, low), min(self.high, high)
        if low > high and low <= high * (1 + _ROUNDED):
            low, high = high, low
        return Interval(low, min(max(self.nominal, low), high), high) if low <= high else None


def exact(x: float) -> Interval:
    return Interval(x, x, x)


def ranged(low: float, high: float) -> Interval:
    """Make an interval around its geometric mean, or around its lower end if unbounded."""
    if math.isinf(high):
        return Interval(low, low, high)
    return Interval(low, math.sqrt(low * high) if low > 0 else (low + high) / 2, high)


def above(x: Interval, least: float) -> Interval:
    """Cut an interval off just above a number below its upper end, as rounding requires."""
    start = least + 1e-9 * (x.high - least)
    return Interval(max(x.low, start), max(x.nominal, start), x.high)


def hull(parts: Iterable[Interval]) -> Interval:
    """Enclose one or more intervals, with the nominal value of the first one."""
    first, *further = parts
    return Interval(
        min([first.low, *(p.low for p in further)]), first.nominal, max([first.high, *(p.high for p in further)])
    )


def bounded(quantity: str, given: Mapping[str, Interval], **words: str) -> Interval:
    """Bound a quantity over ranges by the engine, and evaluate it at their nominal values."""
    ends: Any = {name: x.low if x.low == x.high else (x.low, x.high) for name, x in given.items()}
    middles: Any = {name: x.nominal for name, x in given.items()}
    low, high = bounds(quantity, Settled({**ends, **words}))
    return Interval(low, float(value(quantity, Settled({**middles, **words}))), high)
