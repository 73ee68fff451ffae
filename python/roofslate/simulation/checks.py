"""Durations and counts of a timetable, checked."""

from __future__ import annotations

import math

import numpy as np

from roofslate import units
from roofslate.errors import InputTypeError, ValueRangeError

__all__ = ["duration", "natural"]


def duration(value: float | str, name: str, unit: str = "s", least: float | None = None) -> float:
    """Read a finite time that is positive, or at least `least`."""
    number = units.to_base(value, unit)
    if not (math.isfinite(number) and (number > 0 if least is None else number >= least)):
        raise ValueRangeError(
            f"{name} must be finite and {'positive' if least is None else 'not negative'}, got {value!r}"
        )
    return number


def natural(value: float, name: str, least: int = 1) -> int:
    """Check a whole number, given as an integer or as a float."""
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputTypeError(f"{name}: expected a whole number, got {value!r}")
    if not (least <= value < 2**53) or value != int(value):
        raise ValueRangeError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)
