"""The search for constants at which an output meets measurements, and the residuals."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate.errors import IneffectiveInput, InputTypeError
from roofslate.grid.columns import Column, Names, read_columns
from roofslate.grid.read import Settled
from roofslate.grid.scenarios import Scenarios
from roofslate.presets.fits import PERCENTILES, Values

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    import pandas as pd

__all__ = [
    "_LEVEL",
    "Predictor",
    "Problem",
    "Slot",
    "combinations",
    "deviations",
    "inside_band_of_others",
    "percentiles",
]

_LEVEL = 0.8  # of the bands whose coverage is reported
_ENDS = np.array([(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
_FOLDS, _WIDEST = 3, 1.75  # least number from which a factor is estimated, and its limit
_MOST_FOLDS = 0.75  # need no larger factor
_STEP = 1e-5  # of a logarithm, in derivatives: far above rounding, far below any scale of the formulas
_DIGITS = 6  # of a constant: fewer than differ among machines, more than a fit can determine


@dataclass(frozen=True)
class Slot:
    """A constant among those that are sought: one number, or one for each value of a column.

    Attributes
    ----------
    name : str
        The input.
    first : int
        Position of its first number.
    values : tuple of str
        The values of the column; empty where all rows share one number.
    codes : numpy.ndarray
        By row: which of them; -1 where the row has none.
    """

    name: str
    first: int
    values: tuple[str, ...]
    codes: Any

    @property
    def places(self) -> slice:
        """Return the positions of its numbers."""
        return slice(self.first, self.first + max(len(self.values), 1))

    def of_rows(self, logs: Values, rows: Any) -> Values:
        """Return the logarithm of each row's number, by default the mean."""
        columns = logs[:, self.places]
        if not self.values:
            return np.repeat(columns, len(rows), axis=1)
        return np.concatenate([columns, columns.mean(axis=1, keepdims=True)], axis=1)[:, self.codes[rows]]


class Predictor:
    """An output for each row of a table, at constants that change from call to call.

    Parameters
    ----------
    table : pandas.DataFrame
    output : str
    slots : sequence of Slot
        Inputs of every call.
    ignore : collection of str
        Columns that are no inputs.
    inputs : mapping
        Inputs common to all rows.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        output: str,
        slots: Sequence[Slot],
        ignore: Collection[str],
        inputs: Mapping[str, Any],
    ) -> None:
        names = [slot.name for slot in slots]
        for name in names:
            if name in table.columns:
                raise InputTypeError(f"terms: {name!r} is also a column of the table")
        self._columns = read_columns(table, ignore, inputs)
        self._slots = slots
        self._scenarios = Scenarios([*self._columns, *names], [output], Settled(inputs), "rs.calibrate")
        self._rows = np.arange(len(table))

    def __call__(self, logs: Values, rows: Any = None) -> Values:
        """Evaluate the output at one or several sets of logarithmic constants."""
        rows = self._rows if rows is None else rows
        sets = np.atleast_2d(logs)
        picked = np.tile(rows, len(sets))
        columns: dict[str, Column | Names] = {}
        for name, column in self._columns.items():
            if isinstance(column, Names):
                columns[name] = Names(column.codes[picked], column.presets)
            else:
                columns[name] = Column(column.data[picked], column.values)
        for slot in self._slots:
            columns[slot.name] = Column(np.exp(slot.of_rows(sets, rows)).reshape(-1))
        (predicted,), _ = self._scenarios.compute(columns, len(picked), progress=False)
        values: Values = predicted
        return values if np.ndim(logs) == 1 else values.reshape(len(sets), len(rows))


@dataclass(frozen=True)
class Problem:
    """Rows, their measured values and the unknown constants, all in logarithms.

    Attributes
    ----------
    model : Predictor
    slots : sequence of Slot
    measured : numpy.ndarray
        Measured value of each row.
    rows : numpy.ndarray
        Their positions in the table.
    groups : numpy.ndarray
        Group of each row with common errors. A group counts by the square root of its rows.
    begin, ranges : numpy.ndarray
        Start of the search, and its limits.
    soft : float
        Residuals beyond this count in proportion, not by their square.
    relative : bool
        Whether the residual is predicted / measured - 1, not the logarithm of the ratio.
    """

    model: Predictor
    slots: Sequence[Slot]
    measured: Values
    rows: Any
    groups: Any
    begin: Values
    ranges: Values
    soft: float
    relative: bool

    @property
    def weights(self) -> Values:
        """Weights of the rows, with mean 1."""
        weights = 1 / np.sqrt(np.bincount(self.groups)[self.groups])
        mean_one: Values = weights / weights.mean()
        return mean_one

    def misses(self, logs: Values, members: Any) -> Values:
        """The logarithm of measured over predicted."""
        differences: Values = self.measured[members] - np.log(self.model(logs, self.rows[members]))
        return differences

    def residuals(self, logs: Values, members: Any) -> Values:
        """Return the residuals in the loss."""
        misses = self.misses(logs, members)
        losses: Values = np.expm1(-misses) if self.relative else -misses
        return losses

    def slopes(self, logs: Values, members: Any) -> Values:
        """Derivatives of the residuals by the constants, by central differences in one call."""
        ends = np.array([logs - _STEP, logs + _STEP]).clip(*self.ranges.T)  # beyond which there may be no value
        sets = np.tile(logs, (2, len(logs), 1))
        for k in range(len(logs)):
            sets[:, k, k] = ends[:, k]
        predictions = self.model(np.concatenate([sets.reshape(-1, len(logs)), logs[None]]), self.rows[members])
        low, high = np.split(np.log(predictions[:-1]), 2)
        slopes = (high - low).T / (ends[1] - ends[0])
        if self.relative:
            slopes *= (predictions[-1] / np.exp(self.measured[members]))[:, None]
        result: Values = slopes
        return result

    def check_effects(self) -> None:
        """Refuse a constant that changes nothing, from one end of its range to the other."""
        for slot in self.slots:
            ends = np.tile(self.begin, (2, 1))
            ends[:, slot.places] = self.ranges[slot.places].T
            low, high = self.model(ends, self.rows)
            if (low == high).all():
                raise IneffectiveInput(f"terms: {slot.name!r} changes the output in no row of the table")

    def solve(self, members: Any) -> Values:
        """Fit the constants to these rows. A column's value without rows gets the others' mean."""
        from scipy.optimize import least_squares

        weights = self.weights[members]

        def loss(z: Values) -> Values:  # soft_l1, each row with its weight
            root = np.sqrt(1 + z)
            rho: Values = weights * np.array([2 * (root - 1), 1 / root, -0.5 / root**3])
            return rho

        solution = least_squares(
            self.residuals,
            self.begin,
            self.slopes,
            bounds=tuple(self.ranges.T),
            loss=loss,
            f_scale=self.soft,
            xtol=1e-9,
            ftol=1e-11,
            gtol=1e-9,
            max_nfev=200,
            args=(members,),
        ).x
        for slot in self.slots:
            occurring = np.unique(slot.codes[self.rows[members]])
            occurring = occurring[occurring >= 0]
            if slot.values and 0 < len(occurring) < len(slot.values):
                logs_of_values = solution[slot.places]
                logs_of_values[np.setdiff1d(np.arange(len(logs_of_values)), occurring)] = logs_of_values[
                    occurring
                ].mean()
        logs: Values = np.log([rounded(x) for x in np.exp(solution)]).clip(*self.ranges.T)
        return logs

    def cross_validate(self, folds: Any) -> Values:
        """The misses of each fold at constants that were fitted without it."""
        out_of_sample = np.empty(len(self.rows))
        for fold in range(folds.max() + 1):
            members = np.flatnonzero(folds == fold)
            out_of_sample[members] = self.misses(self.solve(np.flatnonzero(folds != fold)), members)
        return out_of_sample

    def covariance(self, logs: Values) -> Values:
        """Return the covariance of logarithmic constants, as a sandwich estimate by groups."""
        members = np.arange(len(self.rows))
        slopes, residuals = self.slopes(logs, members), self.residuals(logs, members)
        root = np.sqrt(1 + (residuals / self.soft) ** 2)
        bread = np.linalg.pinv(slopes.T @ (slopes * (self.weights / root)[:, None]))
        pulls = slopes * (self.weights * residuals / root)[:, None]
        if (count := self.groups.max() + 1) > len(logs):
            pulls = np.array([pulls[self.groups == g].sum(axis=0) for g in range(count)])
        moves = pulls @ bread
        sandwich: Values = moves.T @ moves
        return sandwich


def combinations(columns: Sequence[Any], rows: int) -> Any:
    """Number each row's combination by first appearance, 0 without columns."""
    numbers: dict[tuple[Any, ...], int] = {}
    if not columns:
        return np.zeros(rows, dtype=np.intp)
    return np.array([numbers.setdefault(key, len(numbers)) for key in zip(*columns, strict=True)], dtype=np.intp)


def rounded(x: float) -> float:
    """A number without the digits that differ from machine to machine."""
    return float(f"{x:.{_DIGITS}g}")


def percentiles(misses: Values, folds: Any = None) -> tuple[float, ...]:
    """Return percentiles of misses, with `folds` wider, for a further fold."""
    spread = np.quantile(misses, PERCENTILES) if folds is None else _of_further_fold(misses, folds, PERCENTILES)
    return tuple(rounded(x) for x in spread)


def inside_band_of_others(misses: Values, folds: Any, deepest: Values) -> Any:
    """Return True for rows inside the band estimated from the other folds."""
    inside = np.empty(len(misses), dtype=bool)
    for fold in range(folds.max() + 1):
        in_fold = folds == fold
        wide = _of_further_fold(misses[~in_fold], folds[~in_fold], _ENDS)
        known = np.quantile(deepest[~in_fold], _ENDS)
        low, high = min(wide[0], known[0]), max(wide[1], known[1])
        inside[in_fold] = (misses[in_fold] >= low) & (misses[in_fold] <= high)
    return inside


def _of_further_fold(misses: Values, folds: Any, levels: Values) -> Values:
    """Return quantiles of the misses of a further fold.

    Of one or two folds nobody knows to which side a further one misses: the farther end counts for both. Of more, each
    fold says how far its own ends are from the band of the others. A factor that is enough for three of four folds
    widens the band, each end by its own, at least as for a mean of so few folds.
    """
    numbers = np.unique(folds)
    spread = np.quantile(misses, levels)
    if len(numbers) < _FOLDS:
        farther: Values = np.maximum(np.abs(spread), np.abs(np.quantile(misses, 1 - levels)))
        return np.sign(levels - 0.5) * farther
    needed = np.ones((2, len(numbers)))
    for k, number in enumerate(numbers):
        members = folds == number
        ends, ends_of_others = (np.quantile(misses[rows], _ENDS) for rows in (members, ~members))
        for end, side in enumerate((-1, 1)):
            if side * ends[end] > 0:
                is_known = side * ends_of_others[end] > 0
                needed[end, k] = ends[end] / ends_of_others[end] if is_known else _WIDEST
    least = math.sqrt(1 + 1 / len(numbers))
    low, high = np.clip(np.quantile(needed, _MOST_FOLDS, axis=1), least, _WIDEST)
    widened: Values = np.where(spread < 0, low, high) * spread
    return widened


def deviations(misses: Values, groups: Any) -> tuple[float, float]:
    """Return standard deviations among and within groups, by a random-effects model."""
    count = np.bincount(groups)
    means = np.bincount(groups, misses) / count
    rows, number_of_groups = len(misses), len(count)
    if number_of_groups in (1, rows):
        return 0.0, float(np.std(misses))
    within = float(np.sum((misses - means[groups]) ** 2)) / (rows - number_of_groups)
    scatter = float(np.sum(count * (means - misses.mean()) ** 2)) / (number_of_groups - 1)
    typical = (rows - float(np.sum(count**2)) / rows) / (number_of_groups - 1)
    return math.sqrt(max(scatter - within, 0.0) / typical), math.sqrt(within)
