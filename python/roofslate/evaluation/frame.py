"""`rs.frame`: quantities for each row of a table."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.messages import shown, warn
from roofslate._base.threads import reading_by
from roofslate.errors import InputTypeError, RoofslateWarning
from roofslate.evaluation.bands import band_factors, bands_apply, calibrated_of, requested_bands
from roofslate.grid.columns import Columns, Names, preset_names
from roofslate.grid.fit import warn_of_misfits
from roofslate.grid.label import UnitsOfOutputs, conversions
from roofslate.grid.layout import LAYOUT
from roofslate.grid.read import changed, with_scenario
from roofslate.grid.scenarios import Scenarios, choice_codes
from roofslate.grid.tables import Coded, Table, read_table
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.registry.registry import lookup
from roofslate.registry.values import expected_of, wanted_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import numpy.typing as npt

    from roofslate._base.progress import ProgressWish
    from roofslate.presets.calibration import Bands, FittedConstants
    from roofslate.presets.preset import Preset

__all__ = ["frame", "results_of_columns", "results_of_rows"]


_UNCONVERTED: Mapping[str, tuple[float, str]] = {}  # outputs in base units


def frame(
    table: Any,
    outputs: str | Sequence[str],
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    ignore: Iterable[str] = (),
    units: UnitsOfOutputs | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    bands: float | Bands | FittedConstants | None = None,
    **inputs: Any,
) -> Any:
    """Compute quantities for each row of a table of scenarios, in base units by default.

    Parameters
    ----------
    table : pandas.DataFrame, polars.DataFrame, polars.LazyFrame, pyarrow.Table, DuckDB relation, list or dict
        A list has a dict for each row, a dict a list or an array for each column. A null, None or NaN is a missing
        value. A LazyFrame or a relation is computed once.
        Columns are inputs: numbers, texts with units, words of choices; in ``model``, ``hardware``, ``prices``,
        ``loss_law``, ``calibration``, ``storage``, ``api_prices``, ``speculator``, ``workload``, ``engine`` and
        ``site`` names of presets, in ``as_of`` the day whose prices count.
    outputs : str or list of str
        Names of quantities.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    ignore : iterable of str
        Columns that are no inputs.
    units : str or dict of str, optional
        Unit of the results, or units by output: ``"ms"``, ``{"cost_per_token": "USD/Mtoken"}``.
    threads, progress, bands
        As for `evaluate`.
    **inputs
        Inputs that are the same for all rows.

    Returns
    -------
    pandas.DataFrame, or the kind of `table`
        One column an output, in the order of the rows, with the index of `table`; a quantity that is a choice is
        categorical. A row with a missing value or a number outside of its range holds NaN (null where the kind has
        it), and one warning counts such rows. With `bands`, a calibrated output has columns ``<name>_lower``,
        ``<name>_upper`` and ``<name>_support``: ``measured``, ``interpolated`` or ``extrapolated`` with a
        reason. In ``attrs`` of pandas and in the metadata of pyarrow, by column, the ``basis`` (see `evaluate`), the
        ``calibration`` with its date and its ``support``; in ``layout`` those that a rule chose; in ``unused`` members
        of the scenario that no output takes.

    Raises
    ------
    UnknownName, UnitError, InputTypeError, IneffectiveInput, MissingInput
        For columns, texts and names that can't be read, before any work is done.
    ValueRangeError
        For a row whose clients and batch disagree.
    ModuleNotFoundError
        For a table of another library without narwhals and pyarrow, which ``pip install 'roofslate[io]'`` brings.

    Examples
    --------
    >>> import pandas as pd, roofslate as rs
    >>> table = pd.DataFrame({"batch_size": [1, 64]}, index=["one", "many"])
    >>> rs.frame(table, "pass_tokens")
          pass_tokens
    one           1.0
    many         64.0
    """
    inputs = with_scenario(scenario, inputs, day_acts=True)
    ignored = _names(ignore)
    source = read_table(table, unused=ignored)
    options: dict[str, Any] = {"ignore": ignored, "units": units, "threads": threads, "progress": progress}
    results, attrs = results_of_rows(source, outputs, inputs, bands=bands, **options)
    return source.results(results, attrs)


def results_of_rows(
    source: Table,
    outputs: str | Sequence[str],
    inputs: dict[str, Any],
    *,
    ignore: Iterable[str] = (),
    units: UnitsOfOutputs | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    bands: float | Bands | FittedConstants | None = None,
    call: str = "rs.frame",
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The results of `frame` by column, and its attributes.

    Parameters
    ----------
    source : Table
    inputs : dict
        Those of `with_scenario`.
    call : str
        The caller, for messages.
    outputs, ignore, units, threads, progress, bands
        As for `frame`.

    Returns
    -------
    dict, dict
    """
    names = wanted_names(outputs)
    converted = conversions(names, units)
    if bands is not None:  # which depend on the names of presets
        inputs = changed(inputs, {})
        inputs.exempt |= PRESETS.keys()
    with reading_by(threads):
        columns = source.columns(_names(ignore), inputs)
    options: dict[str, Any] = {"threads": threads, "progress": progress, "bands": bands, "call": call}
    return results_of_columns(columns, source.rows, names, inputs, converted=converted, **options)


def results_of_columns(
    columns: Columns,
    rows: int,
    names: Sequence[str],
    inputs: dict[str, Any],
    *,
    converted: Mapping[str, tuple[float, str]] = _UNCONVERTED,
    threads: int | None = None,
    progress: ProgressWish = None,
    bands: float | Bands | FittedConstants | None = None,
    call: str = "rs.frame",
) -> tuple[dict[str, Any], dict[str, Any]]:
    """The results of `frame` by column, and its attributes, from columns that were read.

    Parameters
    ----------
    columns : mapping
        By input.
    rows : int
    names : sequence of str
        The outputs.
    inputs : dict
        Common to all rows.
    converted : mapping
        Factor and unit by output, as of `conversions`.
    threads, progress, bands, call
        As for `results_of_rows`.

    Returns
    -------
    dict, dict
    """
    scenarios = Scenarios(columns, names, inputs, call)
    wide, calibrations, given = None, [], set[str]()
    if bands is not None:
        calibrations = _calibrations(columns, inputs)
        given = {*columns, *inputs, *_supplied(columns, inputs)}
        wide = requested_bands(bands, names, given, calibrations)
    results, bad = scenarios.compute(columns, rows, threads=threads, progress=progress)
    columns_of_results: dict[str, Any] = {}
    for name, values in zip(names, results, strict=True):
        q = lookup(name)
        if name in converted:
            np.divide(values, converted[name][0], out=values)
        columns_of_results[name] = Coded(choice_codes(values), q.choices) if q.choices else values
        if wide is not None and (banded := calibrated_of(wide, name, given)):
            kinds = preset_names(columns, inputs, rows)
            low, high = wide.calibration.band_of_rows(wide.level, banded[0], kinds)
            factors = band_factors(low, high, inverted=banded[1])
            support = wide.calibration.support_of_rows(banded[0], kinds)
            if isinstance(names_of := columns.get("calibration"), Names):
                applies = np.array([*(bands_apply(wide, preset) for preset in calibrations), False])[names_of.codes]
                factors = (np.where(applies, factors[0], np.nan), np.where(applies, factors[1], np.nan))
                support[0][~applies] = -1
            columns_of_results |= {
                f"{name}_{end}": values * factor for end, factor in zip(("lower", "upper"), factors, strict=True)
            }
            columns_of_results[f"{name}_support"] = Coded(*support)
    warn_of_misfits(scenarios.misfits, rows=rows)
    if len(bad):
        warn(f"{len(bad)} of {rows} rows hold NaN: {_reasons(columns, bad)}", RoofslateWarning)
    said = scenarios.basis
    attrs: dict[str, Any] = {}
    for key in ("basis", "calibration", "support"):
        if texts := {name: said[name][key] for name in names if key in said.get(name, ())}:
            attrs[key] = texts
    if scenarios.layouts:
        attrs[LAYOUT] = "; ".join(scenarios.layouts)
    if scenarios.unused:
        attrs["unused"] = ", ".join(scenarios.unused)
    return columns_of_results, attrs


_MOST_ROWS = 5  # that a warning lists of each column


def _reasons(columns: Columns, bad: npt.NDArray[Any]) -> str:
    """Name columns with missing or out-of-range values, and the rows, counted from 0."""
    rows = np.unique(bad)
    reasons = []
    for name, column in columns.items():
        if isinstance(column, Names):
            reasons += _of_rows(f"{name} is missing", rows[column.codes[rows] < 0])
            continue
        values, q = column.part(rows, np.empty(len(rows))), lookup(name)
        is_missing = np.isnan(values)
        is_outside = ~is_missing & (~((values >= q.low) & (values <= q.high)) | (q.above_low & (values == q.low)))
        reasons += _of_rows(f"{name} is missing", rows[is_missing])
        reasons += _of_rows(f"{name} is out of range ({expected_of(q)})", rows[is_outside])
    return ", ".join(reasons) or "an input is missing or outside of its range"


def _of_rows(reason: str, rows: npt.NDArray[Any]) -> list[str]:
    """Return the reason with its rows, or nothing without rows."""
    if not len(rows):
        return []
    listed = ", ".join(map(str, rows[:_MOST_ROWS].tolist()))
    more = f" and {len(rows) - _MOST_ROWS} more" if len(rows) > _MOST_ROWS else ""
    return [f"{reason} in {'row' if len(rows) == 1 else 'rows'} {listed}{more}"]


def _names(ignore: Iterable[str]) -> set[str]:
    """Columns that are no inputs."""
    try:
        return set([ignore] if isinstance(ignore, str) else list(ignore))  # a list refuses an endless iterator
    except (TypeError, MemoryError):
        raise InputTypeError(f"ignore: expected names of columns, got {shown(ignore)}") from None


def _supplied(columns: Columns, inputs: Mapping[str, Any]) -> set[str]:
    """Return the quantities that presets of a table supply, each in at least one row."""
    names: set[str] = set()
    for keyword in PRESETS:
        column = columns.get(keyword)
        common = [find_preset(keyword, inputs[keyword])] if keyword in inputs else []
        for preset in column.presets if isinstance(column, Names) else common:
            names |= getattr(preset, "values", {}).keys()
    return names


def _calibrations(columns: Columns, inputs: Mapping[str, Any]) -> list[Preset]:
    """Return a table's calibrations in the order of the column's codes, or the common one."""
    column = columns.get("calibration")
    if isinstance(column, Names):
        return column.presets
    return [find_preset("calibration", inputs["calibration"])] if "calibration" in inputs else []
