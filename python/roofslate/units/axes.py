"""Axes between two ends that are texts or numbers."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt

from roofslate import _core
from roofslate._base.messages import shown
from roofslate.errors import AxisError, InputTypeError, OutOfMemory, ValueRangeError
from roofslate.units.numbers import convert_factor, is_number, to_base

MOST_POINTS = 2**32 - 1  # of an axis in the engine
_MANY = 10**7  # points above which free memory is checked


@dataclass(frozen=True)
class Axis:
    """Points between two ends, converted once the unit of the input is known.

    Attributes
    ----------
    start, stop : float, str or pint.Quantity
        Both ends are points of the axis.
    num : int
        Number of points.
    spacing : str
        ``"linear"`` or ``"geometric"``.
    unit : str or None
        Unit of ends given as plain numbers. None means base units.
    """

    start: Any
    stop: Any
    num: int
    spacing: str
    unit: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.num, (int, np.integer)) or isinstance(self.num, (bool, np.timedelta64)):
            raise InputTypeError(f"num: expected a whole number of points, got {shown(self.num)}")
        if self.num < 1:
            raise AxisError(f"num: expected at least one point, got {shown(self.num)}")
        if self.num > MOST_POINTS:
            raise AxisError(f"num: expected at most {MOST_POINTS:,} points, got {shown(self.num)}")
        if self.spacing not in ("linear", "geometric"):
            raise AxisError(f"spacing: expected 'linear' or 'geometric', got {self.spacing!r}")

    def __len__(self) -> int:
        return int(self.num)

    def resolve(self, unit: str) -> npt.NDArray[np.float64]:
        """Return the points in the base units of `unit`.

        Parameters
        ----------
        unit : str
            The input's unit, made of base units.

        Returns
        -------
        numpy.ndarray
            One-dimensional, `num` points.
        """
        start, stop = (self._end(end, unit) for end in (self.start, self.stop))
        if not (math.isfinite(start) and math.isfinite(stop)):
            raise ValueRangeError(f"the ends of an axis must be finite, got {self.start!r} and {self.stop!r}")
        if self.num > _MANY and self.num * 16 > _core.available_memory():  # including a copy
            raise OutOfMemory(f"an axis of {self.num:,} points exceeds the available memory. Use fewer points.")
        try:
            return self._between(start, stop)
        except MemoryError:
            raise OutOfMemory(
                f"an axis of {self.num:,} points exceeds the available memory. Use fewer points."
            ) from None

    def _between(self, start: float, stop: float) -> npt.NDArray[np.float64]:
        if self.spacing == "linear":
            return np.linspace(start, stop, self.num)
        if not (start > 0 and stop > 0):
            raise ValueRangeError(
                f"the ends of a geometric axis must be positive, got {self.start!r} and {self.stop!r}"
            )
        return np.geomspace(start, stop, self.num)

    def _end(self, end: Any, unit: str) -> float:
        if self.unit is not None and is_number(end):
            return to_base(end, unit) * convert_factor(self.unit, unit)
        return to_base(end, unit)


def linspace(start: Any, stop: Any, num: int, unit: str | None = None) -> Axis:
    """Make an axis of evenly spaced points, ends included.

    Parameters
    ----------
    start, stop : float, str or pint.Quantity
        Texts carry their unit: ``linspace("1 ms", "50 ms", 50)``.
    num : int
        Number of points.
    unit : str, optional
        Unit of plain numbers: ``linspace(1, 50, 50, "ms")``.

    Returns
    -------
    Axis
        An input of any function that accepts axes.
    """
    return Axis(start, stop, num, "linear", unit)


def geomspace(start: Any, stop: Any, num: int, unit: str | None = None) -> Axis:
    """Make an axis of points in equal ratios, ends included.

    Parameters
    ----------
    start, stop : float, str or pint.Quantity
        Positive. Texts carry their unit: ``geomspace("1 ms", "1 s", 100)``.
    num : int
        Number of points.
    unit : str, optional
        Unit of plain numbers: ``geomspace(1, 1000, 100, "ms")``.

    Returns
    -------
    Axis
        An input of any function that accepts axes.
    """
    return Axis(start, stop, num, "geometric", unit)
