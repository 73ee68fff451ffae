"""Calibrations as presets: the lower bound, the package's, and a user's."""

from __future__ import annotations

import functools
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown, unknown
from roofslate.errors import InputTypeError
from roofslate.presets.calibration import FittedConstants
from roofslate.presets.calibration_files import shipped, shipped_names
from roofslate.presets.preset import Fact, Preset
from roofslate.registry.registry import BUILT_IN, lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["FLOOR", "CalibrationPreset", "calibration_names", "calibration_preset"]

FLOOR = "floor"  # every constant of a real machine at its ideal value


@dataclass(frozen=True, repr=False, eq=False)
class CalibrationPreset(Preset):
    """A calibration as calls take it, with its fits. The lower bound has none."""

    constants: FittedConstants | None = field(default=None, compare=False)

    def __reduce__(self) -> tuple[Any, ...]:
        _, arguments = super().__reduce__()
        return CalibrationPreset, (*arguments, self.constants)


def calibration_names() -> list[str]:
    """Names that ``calibration=`` takes."""
    return [FLOOR, *shipped_names()]


def calibration_preset(given: Any) -> CalibrationPreset:
    """The preset of a name or of fitted constants."""
    if isinstance(given, CalibrationPreset):
        return given
    if isinstance(given, FittedConstants):
        return _of_constants(given)
    if isinstance(given, str):
        return _named(given)
    raise InputTypeError(
        f"calibration: expected the name of a calibration, a Calibration or a list of them, got {shown(given)}"
    )


@functools.cache
def _named(name: str) -> CalibrationPreset:
    if name == FLOOR:
        values: dict[str, float | str] = {
            q.name: q.choices[int(q.ideal)] if q.choices else q.ideal
            for q in BUILT_IN.entries.values()
            if q.ideal is not None
        }
        return CalibrationPreset(
            FLOOR, "calibration", _facts(values, "ideal values", ""), note="lower bound", origin=""
        )
    if name not in calibration_names():
        raise unknown("calibration", name, calibration_names())
    return _of_constants(shipped(name))


def _of_constants(given: FittedConstants) -> CalibrationPreset:
    facts = _facts(dict(given), given.data, given.date)
    note = f"estimate of {', '.join(given.fits)}"
    return CalibrationPreset(given.name or "fitted", "calibration", facts, note=note, origin="", constants=given)


def _facts(values: Mapping[str, float | str], source: str, date: str) -> dict[str, Fact]:
    return {name: Fact(x, lookup(name).unit, str(x), source, date, read=True) for name, x in values.items()}
