"""Fits of constants to measured runs: robust, cross-validated, the same whenever they are made."""

from __future__ import annotations

import dataclasses
import math
import warnings
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import tables
from roofslate.calibrations import PERCENTILES, Calibration, Constant, Fit, Values, error_measures
from roofslate.catalogs import Preset
from roofslate.errors import (
    AxisError,
    IneffectiveInput,
    InputTypeError,
    MissingInput,
    RoofslateWarning,
    ValueRangeError,
    shown,
    unknown,
)
from roofslate.inputs import PRESETS, find_preset, input_quantity, number, wanted_names
from roofslate.registry import entries, lookup

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["anchored", "calibrate"]

_SOFT = 0.3  # residuals larger than this, of the logarithm, count less than by their square
_STEP = 1e-5  # of a logarithm, in derivatives: far above rounding, far below any scale of the formulas
_DIGITS = 6  # of a constant: fewer than differ from machine to machine, more than a fit can tell
_LEVEL = 0.8  # of the bands whose coverage is told

Term = tuple[Any, Any]
Column = str | Sequence[str]


def calibrate(
    table: pd.DataFrame,
    terms: Mapping[str, Term] | Sequence[str],
    *,
    output: str,
    measured: str,
    hold_out: Column | Sequence[Column] = (),
    start: Mapping[str, Any] | None = None,
    anchor: str | None = None,
    settings: Mapping[str, Any] | None = None,
    ignore: Iterable[str] = (),
    data: str = "",
    date: str = "",
    **inputs: Any,
) -> Calibration:
    """Fit constants so that an output meets what was measured.

    The sum over rows of a loss of ln(predicted / measured) is least, each constant within its plausible range. The loss
    is the square for small residuals and grows in proportion for large ones. Rows that are alike in all `hold_out`
    columns make a group, which counts by the square root of its rows. The same table gives the same constants, which
    are rounded to six digits.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns are inputs, presets, the measured column and those of `hold_out`.
    terms : mapping of str to tuple, or sequence of str
        Inputs to fit, with their plausible range: ``{"bandwidth_efficiency": (0.3, 1)}``, texts with units too. Names
        alone take the range of the quantity, which must be finite and positive.
    output : str
        Quantity that is compared.
    measured : str
        Column of its measured values, in the output's base unit.
    hold_out : str, or sequence of str or of sequences of str
        Columns by whose values the fit is cross-validated: all rows of a value are predicted by constants that were
        fitted without them. Several columns in one item stand for their combinations. Bands come of these predictions.
    start : mapping, optional
        Where the search starts; by default the geometric middle of each range.
    anchor : str, optional
        Input that the output is proportional to, for `Calibration.anchored`.
    settings : mapping, optional
        Inputs that are the same for all rows and belong to the calibration: it passes them on with the constants.
    ignore : iterable of str
        Columns that are no inputs.
    data, date : str
        What the measurements are and when they were fitted, for a reader.
    **inputs
        Inputs that are the same for all rows; another calibration too, ``**calibration``.

    Returns
    -------
    Calibration

    Raises
    ------
    UnknownName, InputTypeError, ValueRangeError, MissingInput, IneffectiveInput, AxisError
        Before any fit, naming the column or the input. A term on which the output does not depend is ineffective.

    Examples
    --------
    >>> import pandas as pd, roofslate as rs
    >>> runs = pd.DataFrame({"batch_size": [1, 8, 64, 256], "seconds": [0.0121, 0.0127, 0.0181, 0.0372]})
    >>> machine = dict(model="Llama-3.1-8B", hardware="H100", chips=1, weight_bytes=2, kv_bytes_per_token="128 kB")
    >>> terms = {"bandwidth_efficiency": (0.2, 1)}
    >>> fitted = rs.calibrate(runs, terms, output="pass_time", measured="seconds", context_length="1k", **machine)
    >>> round(fitted["bandwidth_efficiency"], 2)
    0.5
    """
    import pandas as pd

    if not isinstance(table, pd.DataFrame):
        raise InputTypeError(f"table: expected a pandas.DataFrame, got {type(table).__name__}")
    (name,) = wanted_names([output])
    ranges = _ranges(terms, inputs)
    begin = _start(start or {}, ranges)
    splits = _splits(hold_out)
    kinds = list(dict.fromkeys(column for split in splits for column in split))
    labels = {column: _labels(table, column) for column in kinds}
    told = _measured(table, measured)
    others = {measured, *([ignore] if isinstance(ignore, str) else ignore), *(k for k in kinds if not is_input(k))}
    if anchor is not None:
        input_quantity(anchor)
    fixed = dict(settings or {})
    for given in fixed:
        if given in inputs:
            raise InputTypeError(f"settings: {given!r} is also given as an input: leave one out")
    model = Predictor(table, name, list(ranges), others, {**fixed, **inputs})

    rows = _usable(model(begin), told)
    if len(rows) < len(ranges):
        raise AxisError(f"{len(ranges)} constants can't be fitted to {len(rows)} rows")
    groups = _codes([labels[column][rows] for column in kinds], len(rows))
    problem = _Problem(model, np.log(told[rows]), rows, _weights(groups), begin, np.log(list(ranges.values())))
    problem.check_effects(list(ranges))
    fitted = problem.solve(np.arange(len(rows)))
    covariance = problem.covariance(fitted, groups)

    misses = {"nothing": problem.misses(fitted, np.arange(len(rows)))}  # ln(measured / predicted)
    inside: dict[str, Any] = {"nothing": None}
    for split in dict.fromkeys([*splits, tuple(kinds)] if kinds else []):
        key = ", ".join(split)
        folds = _codes([labels[column][rows] for column in split], len(rows))
        if folds.max() == 0:
            raise AxisError(f"hold_out: all rows have the same {key}, so none can be left out")
        misses[key] = problem.cross_validate(folds)
        inside[key] = _inside_band_of_others(misses[key], folds)
    deepest = misses[", ".join(kinds)] if kinds else misses["nothing"]
    between, within = _deviations(deepest, groups)
    deviations = np.sqrt(np.diag(covariance))
    return Calibration(
        tuple(
            Constant(each, float(np.exp(fitted[k])), *ends, float(deviations[k]), name)
            for k, (each, ends) in enumerate(ranges.items())
        ),
        {
            name: Fit(
                name,
                measured,
                tuple(ranges),
                tuple(tuple(row.tolist()) for row in covariance),
                {key: error_measures(np.exp(-miss), np.ones(len(rows)), inside[key]) for key, miss in misses.items()},
                {"measured": _percentiles(deepest)} | {k: _percentiles(misses[k]) for k in kinds if k in misses},
                {k: tuple(sorted({*labels[k][rows]} - {""})) for k in kinds if k in misses},
                between,
                within,
                anchor,
            )
        },
        fixed,
        data,
        date,
    )


# --------------------------------------------------------------------------------------------------------- reading


def is_input(name: str) -> bool:
    """Whether a column could be an input."""
    return name in PRESETS or name in entries()


def _ranges(terms: Any, inputs: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The plausible range of each constant, in base units."""
    if isinstance(terms, str) or not isinstance(terms, (Mapping, Sequence)) or not terms:
        raise InputTypeError(f"terms: expected inputs with their ranges, got {shown(terms)}")
    found = {}
    for name in terms:
        q = input_quantity(name)
        if q.choices or name in inputs:
            why = "is a choice, which no fit finds" if q.choices else "is both fitted and given"
            raise InputTypeError(f"terms: {name!r} {why}")
        given = terms[name] if isinstance(terms, Mapping) else (q.low, q.high)
        if not isinstance(given, (tuple, list)) or len(given) != 2:
            raise InputTypeError(f"terms: {name!r} takes a range (low, high), got {shown(given)}")
        low, high = (number(end, q) for end in given)
        if not 0 < low < high < math.inf:
            raise ValueRangeError(
                f"terms: the range of {name!r} must be finite and rise from above 0, got {shown(given)}"
            )
        found[name] = (low, high)
    return found


def _start(given: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]) -> Values:
    """Logarithms of the constants from which the search goes out."""
    for name in given:
        if name not in ranges:
            raise unknown("term to start from", name, ranges)
    begin = []
    for name, (low, high) in ranges.items():
        x = number(given[name], lookup(name)) if name in given else math.sqrt(low * high)
        if not low <= x <= high:
            raise ValueRangeError(f"start: {name!r} must lie within its range {low:g} to {high:g}, got {x:g}")
        begin.append(math.log(x))
    return np.array(begin)


def _splits(hold_out: Any) -> list[tuple[str, ...]]:
    if isinstance(hold_out, str):
        return [(hold_out,)]
    if not isinstance(hold_out, Sequence):
        raise InputTypeError(f"hold_out: expected names of columns, got {shown(hold_out)}")
    return [(item,) if isinstance(item, str) else tuple(item) for item in hold_out]


def _labels(table: pd.DataFrame, column: str) -> Any:
    """What each row has in a column, presets by their own names; nothing where it has none."""
    _check_column(table, column, "hold_out")
    names = {}
    for x in table[column].unique():
        if column in PRESETS and isinstance(x, (str, Preset)):
            names[x] = find_preset(column, x).name
        else:
            names[x] = "" if x is None or x != x else str(x)
    return np.array([names[x] for x in table[column]], dtype=object)


def _check_column(table: pd.DataFrame, column: Any, word: str) -> None:
    if column not in table.columns:
        raise unknown(f"column of {word}=", column, map(str, table.columns))


def _measured(table: pd.DataFrame, column: str) -> Values:
    import pandas as pd

    _check_column(table, column, "measured")
    dtype = table[column].dtype
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        raise InputTypeError(f"{column}: expected measured numbers in base units, got a column of {dtype}")
    found: Values = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return found


def _usable(predicted: Values, told: Values) -> Any:
    """Rows with a positive number on both sides; one warning counts the others."""
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(predicted) & (predicted > 0) & np.isfinite(told) & (told > 0)
    left = int((~usable).sum())
    if left:
        warnings.warn(
            f"{left} of {len(told)} rows are left out: the measured or the predicted value is no positive number",
            RoofslateWarning,
            stacklevel=3,
        )
    return np.flatnonzero(usable)


def _codes(columns: Sequence[Any], rows: int) -> Any:
    """The number of each row's combination, in the order of first appearance; 0 where there are no columns."""
    found: dict[tuple[Any, ...], int] = {}
    if not columns:
        return np.zeros(rows, dtype=np.intp)
    return np.array([found.setdefault(key, len(found)) for key in zip(*columns, strict=True)], dtype=np.intp)


# -------------------------------------------------------------------------------------------------------- the model


class Predictor:
    """An output for each row of a table, at constants that change from call to call.

    Parameters
    ----------
    table : pandas.DataFrame
    output : str
    constants : sequence of str
        Inputs that every call gives.
    ignore : collection of str
        Columns that are no inputs.
    inputs : mapping
        What is the same for all rows.
    """

    def __init__(
        self,
        table: pd.DataFrame,
        output: str,
        constants: Sequence[str],
        ignore: Collection[str],
        inputs: Mapping[str, Any],
    ) -> None:
        given = dict(inputs)
        for name in constants:
            if name in table.columns:
                raise InputTypeError(f"terms: {name!r} is also a column of the table")
        self._columns = tables.read_columns(table, ignore, given)
        self._constants = list(constants)
        self._scenarios = tables.Scenarios([*self._columns, *constants], [output], given, "rs.calibrate")
        self._rows = np.arange(len(table))

    def __call__(self, logs: Values, rows: Any = None) -> Values:
        """Values of the output at the constants whose logarithms are given, one set of them or several."""
        rows = self._rows if rows is None else rows
        sets = np.exp(np.atleast_2d(logs))
        picked = np.tile(rows, len(sets))
        columns: dict[str, tables.Column | tables.Names] = {}
        for name, column in self._columns.items():
            if isinstance(column, tables.Names):
                columns[name] = tables.Names(column.codes[picked], column.presets)
            else:
                columns[name] = tables.Column(column.data[picked], column.values)
        for k, name in enumerate(self._constants):
            columns[name] = tables.Column(np.repeat(sets[:, k], len(rows)))
        (found,), _ = self._scenarios.compute(columns, len(picked), progress=False)
        values: Values = found
        return values if np.ndim(logs) == 1 else values.reshape(len(sets), len(rows))


@dataclass(frozen=True)
class _Problem:
    """Rows, what was measured in them, and the constants that are sought; all in logarithms."""

    model: Predictor
    told: Values
    rows: Any
    weights: Values
    begin: Values
    ranges: Values

    def misses(self, logs: Values, members: Any) -> Values:
        """The logarithm of measured over predicted."""
        found: Values = self.told[members] - np.log(self.model(logs, self.rows[members]))
        return found

    def slopes(self, logs: Values, members: Any) -> Values:
        """Derivatives of the misses by the constants, by central differences in one call."""
        ends = np.array([logs - _STEP, logs + _STEP]).clip(*self.ranges.T)  # beyond which there may be no value
        sets = np.tile(logs, (2, len(logs), 1))
        for k in range(len(logs)):
            sets[:, k, k] = ends[:, k]
        found = np.log(self.model(sets.reshape(-1, len(logs)), self.rows[members]))
        low, high = np.split(found, 2)
        slopes: Values = (low - high).T / (ends[1] - ends[0])
        return slopes

    def check_effects(self, names: Sequence[str]) -> None:
        """Refuse a constant that changes nothing, from one end of its range to the other."""
        for k, name in enumerate(names):
            ends = np.tile(self.begin, (2, 1))
            ends[:, k] = self.ranges[k]
            low, high = self.model(ends, self.rows)
            if (low == high).all():
                raise IneffectiveInput(f"terms: {name!r} changes the output in no row of the table")

    def solve(self, members: Any) -> Values:
        """The constants that these rows ask for."""
        from scipy.optimize import least_squares

        weights = self.weights[members]

        def loss(z: Values) -> Values:  # soft_l1, each row with its weight
            root = np.sqrt(1 + z)
            return weights * np.array([2 * (root - 1), 1 / root, -0.5 / root**3])

        found = least_squares(
            self.misses,
            self.begin,
            self.slopes,
            bounds=tuple(self.ranges.T),
            loss=loss,
            f_scale=_SOFT,
            xtol=1e-9,
            ftol=1e-11,
            gtol=1e-9,
            max_nfev=200,
            args=(members,),
        )
        rounded: Values = np.log([float(f"{x:.{_DIGITS}g}") for x in np.exp(found.x)])
        return rounded

    def cross_validate(self, folds: Any) -> Values:
        """The misses of each fold at constants that were fitted without it."""
        found = np.empty(len(self.rows))
        for fold in range(folds.max() + 1):
            own = np.flatnonzero(folds == fold)
            found[own] = self.misses(self.solve(np.flatnonzero(folds != fold)), own)
        return found

    def covariance(self, logs: Values, groups: Any) -> Values:
        """Of the constants' logarithms, with the rows of a group taken to err together (a sandwich by groups)."""
        members = np.arange(len(self.rows))
        slopes, misses = self.slopes(logs, members), self.misses(logs, members)
        root = np.sqrt(1 + (misses / _SOFT) ** 2)
        bread = np.linalg.pinv(slopes.T @ (slopes * (self.weights / root)[:, None]))
        pulls = slopes * (self.weights * misses / root)[:, None]
        if (count := groups.max() + 1) > len(logs):
            pulls = np.array([pulls[groups == g].sum(axis=0) for g in range(count)])
        found: Values = bread @ (pulls.T @ pulls) @ bread
        return found


def _weights(groups: Any) -> Values:
    """Weights of rows whose sum in a group is in proportion to the square root of its rows; 1 in the mean."""
    weights = 1 / np.sqrt(np.bincount(groups)[groups])
    found: Values = weights / weights.mean()
    return found


# ------------------------------------------------------------------------------------------------------ what is left


def _percentiles(misses: Values) -> tuple[float, ...]:
    return tuple(float(f"{x:.{_DIGITS}g}") for x in np.quantile(misses, PERCENTILES))


def _inside_band_of_others(misses: Values, folds: Any) -> Any:
    """Which rows lie in the band that the rows of the other folds tell."""
    found = np.empty(len(misses), dtype=bool)
    for fold in range(folds.max() + 1):
        own = folds == fold
        low, high = np.quantile(misses[~own], [(1 - _LEVEL) / 2, (1 + _LEVEL) / 2])
        found[own] = (misses[own] >= low) & (misses[own] <= high)
    return found


def _deviations(misses: Values, groups: Any) -> tuple[float, float]:
    """Standard deviations among groups and within them, by the moments of a model of random effects."""
    count = np.bincount(groups)
    means = np.bincount(groups, misses) / count
    rows, number_of_groups = len(misses), len(count)
    if number_of_groups in (1, rows):
        return 0.0, float(np.std(misses))
    within = float(np.sum((misses - means[groups]) ** 2)) / (rows - number_of_groups)
    scatter = float(np.sum(count * (means - misses.mean()) ** 2)) / (number_of_groups - 1)
    typical = (rows - float(np.sum(count**2)) / rows) / (number_of_groups - 1)
    return math.sqrt(max(scatter - within, 0.0) / typical), math.sqrt(within)


def anchored(known: Calibration, rows: pd.DataFrame, ignore: Sequence[str], inputs: Mapping[str, Any]) -> Calibration:
    """Shift the estimates of a calibration by measured rows of one stack; see `Calibration.anchored`."""
    import pandas as pd

    if not isinstance(rows, pd.DataFrame):
        raise InputTypeError(f"rows: expected a pandas.DataFrame, got {type(rows).__name__}")
    fits = {name: fit for name, fit in known.fits.items() if fit.measured in rows.columns}
    if not fits:
        wanted = ", ".join(repr(fit.measured) for fit in known.fits.values())
        raise MissingInput(f"rows: an anchor needs a measured column, {wanted}")
    found = dict(known.fits)
    factors = []
    apart = {*ignore, *(fit.measured for fit in fits.values()), *(c for c in rows.columns if c in _kinds(fits))}
    apart -= {name for name in apart if is_input(name)} - {*ignore}
    for name, fit in fits.items():
        if fit.anchor is None:
            raise MissingInput(f"{name} was calibrated without an anchor: name the input that it is proportional to")
        told = _measured(rows, fit.measured)
        predicted = Predictor(rows, name, [], apart, {**known, **inputs, fit.anchor: 1.0})(np.empty(0))
        usable = _usable(predicted, told)
        if not len(usable):
            raise ValueRangeError(f"rows: none has a positive {fit.measured}")
        mean = float(np.mean(np.log(told[usable] / predicted[usable])))
        among, inside = fit.between**2, fit.within**2 / len(usable)
        share = among / (among + inside) if among else 0.0
        left = math.sqrt(among * (1 - share) + fit.within**2)
        scale = left / math.hypot(fit.between, fit.within)
        factors.append(Constant(fit.anchor, math.exp(share * mean), 0.1, 10.0, math.sqrt(among * (1 - share)), name))
        spread = tuple(scale * x for x in fit.spread["measured"])
        found[name] = dataclasses.replace(fit, spread={"measured": spread}, kinds={}, within=left, between=0.0)
    kept = tuple(constant for constant in known.constants if constant.name not in {f.name for f in factors})
    data = f"{known.data}; anchored by {len(rows)} rows"
    return Calibration((*kept, *factors), found, known.settings, data, known.date)


def _kinds(fits: Mapping[str, Fit]) -> set[str]:
    return {column for fit in fits.values() for column in fit.kinds}
