"""Fitted constants, their errors and prediction intervals."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import units
from roofslate._base.locks import cached_property
from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["ERRORS", "KNOWN", "PERCENTILES", "Constant", "Fit", "check_level", "error_measures", "joint"]

Values = npt.NDArray[np.float64]
PERCENTILES = np.linspace(0.0, 1.0, 81)  # at which the spread of residuals is kept
ERRORS = ("rows", "mape", "median", "rms_log", "bias", "within_2x", "coverage")
MEASURED, INTERPOLATED, EXTRAPOLATED = "measured", "interpolated", "extrapolated"
_JOINT = " | "
KNOWN = "measured"  # the spread of rows whose kinds were all measured, each in other combinations


def joint(columns: Sequence[Sequence[str]]) -> tuple[str, ...]:
    """Combinations of kinds as a fit keeps them."""
    return tuple(sorted({_JOINT.join(names) for names in zip(*columns, strict=True)}))


def error_measures(
    predicted: Values, measured: Values, inside: npt.NDArray[np.bool_] | None = None
) -> dict[str, float]:
    """Measure the errors of predictions relative to measurements.

    Parameters
    ----------
    predicted, measured : numpy.ndarray
    inside : numpy.ndarray of bool, optional
        Whether each measured value is inside its band.

    Returns
    -------
    dict
        `rows`; mean (`mape`) and median (`median`) of abs(predicted / measured - 1); of the logarithm of that ratio the
        root of the mean square (`rms_log`) and, as a factor less 1, the mean (`bias`); the share of rows within a
        factor of 2 (`within_2x`) and within their bands (`coverage`). NaN if undefined.
    """
    ratio = predicted / measured
    rows, log = len(ratio), np.log(ratio)
    if not rows:
        return {"rows": 0.0, **dict.fromkeys(ERRORS[1:], math.nan)}
    relative = np.abs(ratio - 1)
    return {
        "rows": float(rows),
        "mape": float(relative.mean()),
        "median": float(np.median(relative)),
        "rms_log": math.sqrt((log**2).mean()),
        "bias": float(np.expm1(log.mean())),
        "within_2x": np.count_nonzero(np.abs(log) <= math.log(2)) / rows,
        "coverage": math.nan if inside is None else np.count_nonzero(inside) / rows,
    }


@dataclass(frozen=True)
class Constant:
    """One fitted input.

    Attributes
    ----------
    name : str
        The input.
    value : float
        In base units.
    low, high : float
        The plausible range that it was sought in.
    deviation : float
        Standard error of its logarithm.
    output : str
        The output whose measurements fixed it.
    by : str
        Column by whose values it differs, if any. `value` is then the geometric mean of `values`.
    values : dict of float
        By value of that column.
    """

    name: str
    value: float
    low: float
    high: float
    deviation: float
    output: str
    by: str = ""
    values: Mapping[str, float] = field(default_factory=dict)

    @property
    def text(self) -> str:
        """The value with its standard error, as a person reads it."""
        return f"{units.format(self.value, lookup(self.name).unit)} ± {100 * self.deviation:.2g}%"

    @property
    def remark(self) -> str:
        """Describe the column it differs by, and the end of its range that it reached."""
        if self.values:
            unit = lookup(self.name).unit
            return ", ".join(f"{value} {units.format(x, unit, 2)}" for value, x in self.values.items())
        for end, name in ((self.low, "low"), (self.high, "high")):
            if math.isclose(self.value, end, rel_tol=1e-4):
                return f"at the {name} end of its range"
        return ""


@dataclass(frozen=True)
class Fit:
    """Fit of one output.

    Attributes
    ----------
    output, measured : str
        The output, and the column that it was fitted to.
    constants : tuple of str
        The inputs that were sought.
    covariance : tuple of tuple of float
        Of their logarithms.
    errors : dict of dict
        By held-out column: `ERRORS`, see `error_measures`.
    spread : dict of tuple
        Percentiles of ln(measured / predicted) of held-out rows: ``"measured"``, if each of their kinds
        was in other rows, or the name of a column whose kind was in no other row.
    kinds : dict of tuple
        By column: what was measured.
    between, within : float
        Standard deviation of that logarithm among stacks, and among the rows of a stack.
    anchor : str or None
        The input that the output is proportional to.
    together : tuple of str
        Combinations of `kinds` that were measured, in their order, joined by " | ".
    """

    output: str
    measured: str
    constants: tuple[str, ...]
    covariance: tuple[tuple[float, ...], ...]
    errors: Mapping[str, Mapping[str, float]]
    spread: Mapping[str, tuple[float, ...]]
    kinds: Mapping[str, tuple[str, ...]]
    between: float
    within: float
    anchor: str | None = None
    together: tuple[str, ...] = ()

    def support(self, kinds: Mapping[str, str | None]) -> str:
        """Classify a prediction as ``measured``, ``interpolated``, or ``extrapolated: cause``.

        Measured: rows of the same kinds were fitted. Interpolated: each kind was, in other combinations. A kind that is
        not given matches any.
        """
        given = {column: kinds[column] for column in self.kinds if kinds.get(column) is not None}
        outside = [f"{column}={name}" for column, name in given.items() if name not in self.kinds[column]]
        if outside:
            return f"{EXTRAPOLATED}: {', '.join(outside)}"
        return MEASURED if any(given.items() <= row for row in self._combinations) else INTERPOLATED

    @cached_property
    def _combinations(self) -> list[frozenset[tuple[str, str]]]:
        """Columns and kinds of each combination that was measured."""
        return [frozenset(zip(self.kinds, names.split(_JOINT), strict=False)) for names in self.together]

    def band(self, level: float, kinds: Mapping[str, str | None]) -> tuple[float, float]:
        """Return factors from a prediction to its band. A missing kind counts as unmeasured."""
        ends = ((1 - level) / 2, (1 + level) / 2)
        low, high = np.interp(ends, PERCENTILES, self.spread[KNOWN])
        for column, measured in self.kinds.items():
            if kinds.get(column) not in measured:
                wide = np.interp(ends, PERCENTILES, self.spread[column])
                low, high = min(low, wide[0]), max(high, wide[1])
        return math.exp(low), math.exp(high)


def check_level(level: Any) -> float:
    """The level of a band, checked."""
    if isinstance(level, (bool, np.bool_)) or not isinstance(level, (int, float, np.integer, np.floating)):
        raise InputTypeError(f"the level of a band is a number between 0 and 1, got {shown(level)}")
    if not 0 < level < 1:
        raise ValueRangeError(f"the level of a band is between 0 and 1, got {shown(level)}")
    return float(level)


def errors_text(row: Mapping[str, float]) -> str:
    coverage = row["coverage"]
    inside = "" if math.isnan(coverage) else f", {100 * coverage:.0f}% inside the 80% band"
    return f"{100 * row['mape']:.1f}% / {100 * row['median']:.1f}% of {row['rows']:,.0f} rows{inside}"
