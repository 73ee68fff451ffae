"""Anchors a calibration to rows of one stack, and reads the columns that fits take."""

from __future__ import annotations

import dataclasses
import math
import warnings
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from roofslate._base.messages import unknown
from roofslate.errors import InputTypeError, MissingInput, RoofslateWarning, ValueRangeError
from roofslate.grid.columns import refuse_twice
from roofslate.measured.fit import Predictor
from roofslate.measured.runs import INPUTS, TARGETS, read
from roofslate.presets.fits import Constant, Values
from roofslate.presets.frameworks import framework_name
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping, Sequence

    import pandas as pd

    from roofslate.measured.runs import Runs
    from roofslate.presets.calibration import FittedConstants

__all__ = [
    "anchored",
    "inputs_of_runs",
    "is_input",
    "kinds_of",
    "labels_of",
    "measured_values",
    "refuse_repeated",
    "usable_rows",
]

Fitted = TypeVar("Fitted", bound="FittedConstants")


def anchored(known: Fitted, rows: pd.DataFrame, ignore: Sequence[str], inputs: Mapping[str, Any]) -> Fitted:
    """Shift a calibration by measured rows of one stack, see `Calibration.anchored`."""
    import pandas as pd

    if not isinstance(rows, pd.DataFrame):
        raise InputTypeError(f"rows: expected a pandas.DataFrame, got {type(rows).__name__}")
    fits = {name: fit for name, fit in known.fits.items() if fit.measured in rows.columns}
    if not fits:
        measured_columns = ", ".join(repr(fit.measured) for fit in known.fits.values())
        raise MissingInput(f"rows: an anchor needs a measured column, {measured_columns}")
    kinds = [column for column in rows.columns if column in kinds_of(known)]
    fits_of_outputs = dict(known.fits)
    factors = []
    for name, fit in fits.items():
        if fit.anchor is None:
            raise MissingInput(f"{name} was calibrated without an anchor: name the input that it is proportional to")
        table, given = rows, dict(inputs)
        if fit.measured in TARGETS:
            table, given = inputs_of_runs(rows, fit.measured, kinds, set(ignore), known.settings, inputs)
        measured_names = known.of_rows({column: labels_of(table, column) for column in kinds})
        non_inputs = {*ignore, *(f.measured for f in fits.values()), *(k for k in kinds if not is_input(k))}
        same = {**known, **given, fit.anchor: 1.0}
        same = {column: x for column, x in same.items() if column not in measured_names and column not in table}
        predicted = Predictor(table.assign(**measured_names), name, [], non_inputs, same)(np.empty(0))
        measured = measured_values(table, fit.measured)
        usable = usable_rows(predicted, measured)
        if not len(usable):
            raise ValueRangeError(f"rows: none has a positive {fit.measured}")
        mean = float(np.mean(np.log(measured[usable] / predicted[usable])))
        among, inside = fit.between**2, fit.within**2 / len(usable)
        share = among / (among + inside) if among else 0.0
        remaining = math.sqrt(among * (1 - share) + fit.within**2)
        scale = remaining / math.hypot(fit.between, fit.within)
        factors.append(Constant(fit.anchor, math.exp(share * mean), 0.1, 10.0, math.sqrt(among * (1 - share)), name))
        spread = tuple(scale * x for x in fit.spread["measured"])
        fits_of_outputs[name] = dataclasses.replace(
            fit, spread={"measured": spread}, kinds={}, within=remaining, between=0.0
        )
    constants = tuple(constant for constant in known.constants if constant.name not in {f.name for f in factors})
    data = f"{known.data}; anchored by {len(rows)} rows"
    return type(known)((*constants, *factors), fits_of_outputs, known.settings, data, known.date)


def kinds_of(known: FittedConstants) -> set[str]:
    """Columns that identify rows."""
    return {column for fit in known.fits.values() for column in fit.kinds} | {c.by for c in known.constants if c.by}


def refuse_repeated(runs: Runs, ignored: Collection[str], inputs: Mapping[str, Any]) -> None:
    """Refuse columns of measured runs that a keyword gives as well."""
    refuse_twice((INPUTS.get(column, column) for column in runs.rows if column not in ignored), inputs)


def inputs_of_runs(
    table: pd.DataFrame,
    measured: str,
    columns: Iterable[str],
    ignore: set[str],
    settings: Mapping[str, Any],
    inputs: Mapping[str, Any],
) -> tuple[pd.DataFrame, dict[str, Any]]:
    """Read measured runs to inputs of the registry, with the columns that identify rows."""
    runs = read(table, ignore=ignore, fixed={**settings, **inputs})
    refuse_repeated(runs, ignore, inputs)
    added = {column: table[column] for column in (*columns, measured) if column in table and column not in runs.inputs}
    remaining = {name: x for name, x in inputs.items() if name not in PRESETS}
    if drafts := int(runs.drafts.sum()):
        warnings.warn(
            f"{drafts:,} of {len(table):,} rows are left out: they ran with drafts; draft_length= says how long",
            RoofslateWarning,
            stacklevel=3,
        )
    return runs.inputs.assign(**added)[~runs.drafts], remaining


def is_input(name: str) -> bool:
    """Return True if a column could be an input."""
    return name in PRESETS or name in entries()


def labels_of(table: pd.DataFrame, column: str) -> Any:
    """Return each row's label in a column, or None. Presets and frameworks have full names."""
    import pandas as pd

    _check_column(table, column, "hold_out")
    try:
        codes, words = pd.factorize(table[column])
    except TypeError:
        raise InputTypeError(f"{column}: expected texts or numbers, got a column of other objects") from None
    if column in PRESETS:
        names = [find_preset(column, word).name for word in words]
    else:
        names = [framework_name(str(word)) if column == "framework" else str(word) for word in words]
    return np.array([*names, ""], dtype=object)[codes]


def _check_column(table: pd.DataFrame, column: Any, word: str) -> None:
    if column not in table.columns:
        raise unknown(f"column of {word}=", column, map(str, table.columns))


def measured_values(table: pd.DataFrame, column: str) -> Values:
    import pandas as pd

    _check_column(table, column, "measured")
    dtype = table[column].dtype
    if not pd.api.types.is_numeric_dtype(dtype) or pd.api.types.is_bool_dtype(dtype):
        raise InputTypeError(f"{column}: expected measured numbers in base units, got a column of {dtype}")
    values: Values = table[column].to_numpy(dtype=np.float64, na_value=np.nan)
    return values


def usable_rows(predicted: Values, measured: Values) -> Any:
    """Select rows with positive numbers on both sides. One warning counts the others."""
    with np.errstate(invalid="ignore"):
        usable = np.isfinite(predicted) & (predicted > 0) & np.isfinite(measured) & (measured > 0)
    unusable = int((~usable).sum())
    if unusable:
        warnings.warn(
            f"{unusable} of {len(measured)} rows are left out: the measured or predicted value is no positive number",
            RoofslateWarning,
            stacklevel=3,
        )
    return np.flatnonzero(usable)
