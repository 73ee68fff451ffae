"""Fits of constants to measured runs: robust, cross-validated, reproducible."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Literal

import numpy as np

from roofslate._base.messages import shown, unknown
from roofslate.errors import AxisError, InputTypeError, ValueRangeError
from roofslate.grid.tables import read_table
from roofslate.measured.anchor import inputs_of_runs, is_input, labels_of, measured_values, usable_rows
from roofslate.measured.calibration import Calibration
from roofslate.measured.fit import (
    Predictor,
    Problem,
    Slot,
    combinations,
    deviations,
    inside_band_of_others,
    percentiles,
    rounded,
)
from roofslate.measured.runs import TARGETS
from roofslate.presets.fits import Constant, Fit, Values, error_measures, joint
from roofslate.registry.registry import lookup
from roofslate.registry.values import input_quantity, number, wanted_names

__all__ = ["calibrate"]

_RESIDUALS = ("logarithm", "relative")
Term = tuple[Any, Any]
Column = str | Sequence[str]


def calibrate(
    table: Any,
    /,
    terms: Mapping[str, Term] | Sequence[str],
    *,
    measured: str,
    output: str | None = None,
    hold_out: Column | Sequence[Column] = (),
    start: Mapping[str, Any] | None = None,
    by: Mapping[str, str] | None = None,
    residual: Literal["logarithm", "relative"] = "logarithm",
    soft: float = 0.3,
    anchor: str | None = None,
    stack: Sequence[str] = (),
    settings: Mapping[str, Any] | None = None,
    ignore: Iterable[str] = (),
    **inputs: Any,
) -> Calibration:
    """Fit constants so that an output meets measured values.

    The sum over rows of a loss is least, each constant within its plausible range. The loss is the square of small
    residuals and grows in proportion to large ones. Rows that are alike in all `hold_out` columns make a group, which
    counts by the square root of its rows. The same table gives the same constants, rounded to six digits.

    Parameters
    ----------
    table : pandas.DataFrame or another kind that `frame` takes
        Columns are inputs, presets, the measured column, and `hold_out`. A table of measured runs has the
        columns of `validate`, if `measured` is one of them.
    terms : mapping of str to tuple, or sequence of str
        Inputs to fit, with their plausible range: ``{"bandwidth_efficiency": (0.3, 1)}``, texts with units too. Names
        without a range take the quantity's, which must be finite and positive.
    measured : str
        Column of measured values, in the output's base unit.
    output : str, optional
        Compared quantity, by default the one that `validate` predicts the measured column with.
    hold_out : str, or sequence of str or of sequences of str
        Columns by whose values the fit is cross-validated: all rows of a value are predicted by constants that were
        fitted without them. Several columns in one item mean their combinations. Bands derive from these predictions.
    start : mapping, optional
        Where the search starts; by default the geometric middle of each range.
    by : mapping of str to str, optional
        Constants that differ by the values of a column: ``{"request_overhead": "framework"}``. A value that is unknown,
        or left out, takes the geometric mean of the others.
    residual : {"logarithm", "relative"}
        Residual of the loss: ln(predicted / measured), or predicted / measured - 1.
    soft : float
        Residuals larger than this grow in proportion.
    anchor : str, optional
        Input that the output is proportional to, for `Calibration.anchored`.
    stack : sequence of str
        Columns in which the rows of one stack are alike, by default the ones of `hold_out`. The variation among stacks,
        relative to the variation within one, determines how much an anchor is shrunk.
    settings : mapping, optional
        Inputs that are the same for all rows and belong to the calibration: it passes them on with the constants.
    ignore : iterable of str
        Columns that are no inputs.
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
    >>> machine = dict(model="Llama-3.1-8B", hardware="H100", chips=1, bytes_per_weight=2, kv_bytes_per_token="128 kB")
    >>> terms = {"bandwidth_efficiency": (0.2, 1)}
    >>> fitted = rs.calibrate(runs, terms, output="pass_time", measured="seconds", context_length="1k", **machine)
    >>> round(fitted["bandwidth_efficiency"], 1)
    0.4
    """
    table = read_table(table).pandas()
    if output is None and measured not in TARGETS:
        raise unknown("measured column", measured, TARGETS)
    (name,) = wanted_names([output or TARGETS[measured]])
    ranges = _ranges(terms, inputs)
    begin = _start(start or {}, ranges)
    splits = _splits(hold_out)
    kinds = list(dict.fromkeys(column for split in splits for column in split))
    apart_by = _by(by or {}, ranges)
    told_apart = list(dict.fromkeys([*kinds, *apart_by.values(), *stack]))
    ignored = {ignore} if isinstance(ignore, str) else set(ignore)
    if measured in TARGETS:
        table, inputs = inputs_of_runs(table, measured, told_apart, ignored, settings or {}, inputs)
    labels = {column: labels_of(table, column) for column in told_apart}
    measured_column = measured_values(table, measured)
    non_inputs = {measured, *ignored, *(k for k in labels if not is_input(k))}
    if anchor is not None:
        input_quantity(anchor)
    if residual not in _RESIDUALS:
        raise unknown("residual", residual, _RESIDUALS)
    if not isinstance(soft, (int, float)) or not 0 < soft < math.inf:
        raise ValueRangeError(f"soft must be a number above 0, got {shown(soft)}")
    fixed = dict(settings or {})
    for given in fixed:
        if given in inputs:
            raise InputTypeError(f"settings: {given!r} is also given as an input: leave one out")
    slots = _slots(ranges, apart_by, labels, len(table))
    wide = np.concatenate([np.full(len(slot.values) or 1, k) for k, slot in enumerate(slots)])
    model = Predictor(table, name, slots, non_inputs, {**fixed, **inputs})

    rows = usable_rows(model(begin[wide]), measured_column)
    if len(rows) < len(wide):
        raise AxisError(f"{len(wide)} constants can't be fitted to {len(rows)} rows")
    labels = {column: names[rows] for column, names in labels.items()}
    groups = combinations([labels[column] for column in kinds], len(rows))
    ends = np.log(list(ranges.values()))[wide]
    relative = residual == "relative"
    problem = Problem(model, slots, np.log(measured_column[rows]), rows, groups, begin[wide], ends, soft, relative)
    problem.check_effects()
    every = np.arange(len(rows))
    fitted = problem.solve(every)
    covariance = problem.covariance(fitted)

    misses = {"nothing": problem.misses(fitted, every)}
    folds = {}
    for split in dict.fromkeys([*splits, tuple(kinds)] if kinds else []):
        key = ", ".join(split)
        folds[key] = combinations([labels[column] for column in split], len(rows))
        if folds[key].max() == 0:
            raise AxisError(f"hold_out: all rows have the same {key}, so none can be left out")
        misses[key] = problem.cross_validate(folds[key])
    deepest = misses[", ".join(kinds)] if kinds else misses["nothing"]
    inside = {key: inside_band_of_others(misses[key], members, deepest) for key, members in folds.items()}
    stacks = combinations([labels[column] for column in stack], len(rows)) if stack else groups
    between, within = deviations(deepest, stacks)
    fit = Fit(
        name,
        measured,
        tuple(label for slot in slots for label in _numbers_of(slot)),
        tuple(tuple(row.tolist()) for row in covariance),
        {key: error_measures(np.exp(-miss), np.ones(len(rows)), inside.get(key)) for key, miss in misses.items()},
        {"measured": percentiles(deepest)} | {k: percentiles(misses[k], folds[k]) for k in kinds if k in misses},
        {k: tuple(sorted({*labels[k]} - {""})) for k in kinds if k in misses},
        between,
        within,
        anchor,
        joint([labels[k] for k in kinds if k in misses]),
    )
    constants = [_constant(slot, ranges[slot.name], fitted, covariance, apart_by, name) for slot in slots]
    return Calibration(tuple(constants), {name: fit}, fixed)


def _ranges(terms: Any, inputs: Mapping[str, Any]) -> dict[str, tuple[float, float]]:
    """The plausible range of each constant, in base units."""
    if isinstance(terms, str) or not isinstance(terms, (Mapping, Sequence)) or not terms:
        raise InputTypeError(f"terms: expected inputs with their ranges, got {shown(terms)}")
    limits = {}
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
        limits[name] = (low, high)
    return limits


def _start(given: Mapping[str, Any], ranges: Mapping[str, tuple[float, float]]) -> Values:
    """Logarithms of the constants from which the search goes out."""
    for name in given:
        if name not in ranges:
            raise unknown("term to start from", name, ranges)
    begin = []
    for name, (low, high) in ranges.items():
        x = number(given[name], lookup(name)) if name in given else math.sqrt(low * high)
        if not low <= x <= high:
            raise ValueRangeError(f"start: {name!r} must be in its range {low:g} to {high:g}, got {x:g}")
        begin.append(math.log(x))
    return np.array(begin)


def _splits(hold_out: Any) -> list[tuple[str, ...]]:
    if isinstance(hold_out, str):
        return [(hold_out,)]
    if not isinstance(hold_out, Sequence):
        raise InputTypeError(f"hold_out: expected names of columns, got {shown(hold_out)}")
    return [(item,) if isinstance(item, str) else tuple(item) for item in hold_out]


def _by(given: Any, ranges: Mapping[str, Any]) -> dict[str, str]:
    """The column by whose values a constant differs."""
    if not isinstance(given, Mapping):
        raise InputTypeError(f"by: expected a column for a term, got {shown(given)}")
    for name in given:
        if name not in ranges:
            raise unknown("term", name, ranges)
    return dict(given)


def _slots(ranges: Mapping[str, Any], by: Mapping[str, str], labels: Mapping[str, Any], rows: int) -> list[Slot]:
    """The constants, one after the other."""
    slots: list[Slot] = []
    first = 0
    for name in ranges:
        if name in by:
            names = labels[by[name]]
            values = tuple(sorted({*names} - {""}))
            codes = np.array([values.index(x) if x else -1 for x in names], dtype=np.intp)
        else:
            values, codes = (), np.zeros(rows, dtype=np.intp)
        slots.append(Slot(name, first, values, codes))
        first = slots[-1].places.stop
    return slots


def _numbers_of(slot: Slot) -> list[str]:
    """Names of a constant's numbers."""
    return [f"{slot.name}[{value}]" for value in slot.values] or [slot.name]


def _constant(
    slot: Slot, ends: tuple[float, float], logs: Values, covariance: Values, by: Mapping[str, str], output: str
) -> Constant:
    places = slot.places
    deviation = math.sqrt(max(float(np.mean(covariance[places, places])), 0.0))  # of the mean of the logarithms
    values = dict(zip(slot.values, map(rounded, np.exp(logs[places])), strict=False))
    return Constant(
        slot.name, rounded(np.exp(logs[places].mean())), *ends, deviation, output, by.get(slot.name, ""), values
    )
