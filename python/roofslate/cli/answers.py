"""Results of calls as columns, with unit, basis, band and support."""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np

from roofslate._base.version import __version__
from roofslate.analysis.summary import Summaries
from roofslate.cli.rows import (
    Column,
    json_head,
    json_rows,
    text_stream,
    write_csv,
    write_json,
    write_markdown,
    write_table,
)
from roofslate.deployment.candidates import MARGIN
from roofslate.display.markdown import escaped, markdown_table
from roofslate.evaluation.bands import band_factors, calibrated_of
from roofslate.presets.calibration import Bands
from roofslate.presets.catalog import measured_as
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.registry.registry import entries
from roofslate.units import format as format_value

if TYPE_CHECKING:
    from collections.abc import Container, Iterable, Mapping, Sequence
    from pathlib import Path

    import pandas as pd
    import xarray as xr

    from roofslate.analysis.summary import Summary
    from roofslate.deployment.result import Deployments
    from roofslate.presets.calibration import FittedConstants
    from roofslate.presets.preset import Preset

__all__ = [
    "LEVEL",
    "Answer",
    "is_banded",
    "number_column",
    "of_frame",
    "of_plan",
    "of_result",
    "of_summary",
    "sources_of",
    "text_column",
    "write",
    "write_answer",
]

LEVEL = 0.8  # of a band, if a call does not ask for one
_SAID = ("basis", "calibration", "support")  # attributes of a result that speak of one quantity
_NOTES = {
    "layout": "layout: {}",
    "dequantized": "formats: {}",
    "unused": "inputs without effect: {}",
    "condition": "condition: {}",
    "where": "conditions: {}",
}
_NO_INPUTS = {"units", "long_name", "flag_values", "flag_meanings", "roofslate_version", *_SAID[:1], _SAID[2], *_NOTES}


@dataclass(frozen=True)
class Answer:
    """A result as columns.

    Attributes
    ----------
    columns : list of Column
    said : dict of dict
        By column: ``meaning``, ``basis`` ("floor" is a lower bound), ``calibration``, ``support``.
    inputs : dict of str
    notes : list of str
        Assumptions and warnings.
    text : str
        The result as Python prints it; empty if its columns are the better table.
    readable : tuple
        Head and rows of the table in Markdown; None if these are the columns.
    more : dict
        Further members in JSON.
    """

    columns: list[Column]
    said: dict[str, dict[str, str]] = field(default_factory=dict)
    inputs: dict[str, str] = field(default_factory=dict)
    notes: list[str] = field(default_factory=list)
    text: str = ""
    readable: tuple[Sequence[str], Iterable[Sequence[str]]] | None = None
    more: Mapping[str, Any] = field(default_factory=dict)

    def noted(self, messages: Iterable[str]) -> Answer:
        """The same with further notes."""
        return replace(self, notes=list(dict.fromkeys([*self.notes, *messages])))

    @property
    def head(self) -> dict[str, Any]:
        """All that JSON holds above the rows."""
        attrs = {"roofslate_version": __version__, **self.inputs}
        return {**json_head(self.columns, attrs, self.said, self.notes), **self.more}

    def document(self) -> dict[str, Any]:
        """The whole as JSON."""
        return {**self.head, "rows": list(json_rows(self.columns))}


def write_answer(answer: Answer, form: str, stream: IO[str], as_asked: Container[str] = ()) -> None:
    """Write a result in one of the formats.

    Parameters
    ----------
    answer : Answer
    form : {"table", "json", "csv", "markdown"}
    stream : text file
    as_asked : container of str
        Columns whose unit was asked for.
    """
    if form == "csv":
        write_csv(answer.columns, stream)
    elif form == "json":
        write_json(answer.columns, stream, answer.head)
    elif form == "markdown":
        if answer.readable is None:
            write_markdown(answer.columns, stream, as_asked)
        else:
            head, rows = answer.readable
            stream.write(markdown_table(head, rows))
        if answer.notes:
            stream.write("\n" + "".join(f"- {escaped(note)}\n" for note in answer.notes))
    elif answer.text:
        stream.write(f"{answer.text}\n")
    else:
        write_table(answer.columns, stream, as_asked)
        stream.writelines(f"{note}\n" for note in answer.notes)
    stream.flush()


def write(answer: Answer, form: str, output: Path | None, as_asked: Container[str] = ()) -> None:
    """Write a result to a file or to the terminal.

    Parameters
    ----------
    answer : Answer
    form : str
    output : Path or None
    as_asked : container of str
        Columns whose unit was asked for.
    """
    if form == "parquet":
        raise click.UsageError("parquet is a format of `roofslate evaluate`; choose --format csv, json or markdown")
    with text_stream(output) as stream:
        write_answer(answer, form, stream, as_asked)


def text_column(name: str, values: Sequence[Any]) -> Column:
    """A column of words, among which numbers may be."""
    cells = np.array([x if isinstance(x, float) else str(x) for x in values], dtype=object)
    return Column(name, cells, ("row",), {"row": len(values)})


def number_column(name: str, values: Any, unit: str) -> Column:
    """Make a column of numbers, NaN blank."""
    return Column(name, np.asarray(values, dtype=float), ("row",), {"row": len(values)}, unit, undefined="")


def _meaning(name: str) -> dict[str, str]:
    """Give the brief of a column that is a quantity."""
    q = entries().get(name)
    return {"meaning": q.brief} if q is not None else {}


# ------------------------------------------------------------------------------------------------------- arrays


def of_result(result: xr.DataArray | xr.Dataset) -> Answer:
    """Give the columns of results of `evaluate`, `solve` and `best`: a row for each point."""
    variables: dict[str, Any] = {}
    if hasattr(result, "data_vars"):
        variables = {str(name): v.variable for name, v in result.data_vars.items()}
    else:
        variables = {str(result.name): result.variable}
    sizes = {str(dim): n for dim, n in result.sizes.items()}
    axes = {dim: result.coords[dim].variable if dim in result.coords else None for dim in sizes}
    if "reason" in result.coords and result.coords["reason"].to_numpy().any():
        variables["reason"] = result.coords["reason"].variable
    columns, said = [], {}
    for name, v in {**axes, **variables}.items():
        attrs = v.attrs if v is not None else {}
        dims = [name] if name in axes else [str(dim) for dim in v.dims]
        values = np.arange(sizes[name], dtype=float) if v is None else _words_of(v)
        unit = str(attrs.get("units", ""))
        columns.append(Column(name, values, dims, sizes, unit))
        meaning = {"meaning": str(attrs["long_name"])} if "long_name" in attrs else _meaning(name)
        said[name] = meaning | {key: str(attrs[key]) for key in _SAID if key in attrs}
    known_constants = {str(name): str(x) for name, x in result.attrs.items()}
    inputs = {name: x for name, x in known_constants.items() if name not in _NO_INPUTS}
    notes = [text.format(known_constants[key]) for key, text in _NOTES.items() if key in known_constants]
    return Answer(columns, said, inputs, notes)


def _words_of(v: xr.Variable) -> Any:
    """Give the values of a variable, flags of a choice as words."""
    values = v.to_numpy()
    if "flag_meanings" in v.attrs and values.dtype.kind in "iu":
        return np.array(str(v.attrs["flag_meanings"]).split(), dtype=object)[values]
    return values.astype(object) if values.dtype.kind in "US" else np.asarray(values, dtype=float)


def of_frame(table: pd.DataFrame, units: Mapping[str, str]) -> Answer:
    """Columns of a table of pandas."""
    columns = []
    for name in map(str, table.columns):
        values = table[name]
        if values.dtype.kind in "biuf":
            columns.append(number_column(name, values.to_numpy(dtype=float), units.get(name, "")))
        else:
            columns.append(text_column(name, ["" if x is None or x != x else x for x in values]))
    return Answer(columns, {str(name): _meaning(str(name)) for name in table.columns})


# ------------------------------------------------------------------------------------------------------ summaries


def of_summary(outcome: Summary | Summaries) -> Answer:
    """Give the columns of summaries: a row for each outcome, in base units."""
    table = outcome.to_dataframe().reset_index()
    texts = [name for name in ("scenario", "quantity", "section", "meaning", "unit") if name in table.columns]
    columns = [text_column(name, list(table[name])) for name in texts]
    columns += [number_column(name, table[name], "") for name in ("floor", "estimate", "lower", "upper")]
    columns += [text_column(name, list(table[name])) for name in ("basis", "support", "missing")]
    each = outcome.summaries if isinstance(outcome, Summaries) else (outcome,)
    calibrations = ", ".join(dict.fromkeys(one.calibration for one in each if one.calibration))
    said = {
        "floor": {"meaning": "bound by an ideal machine: of times and costs from below, of rates from above"},
        "estimate": {"meaning": "estimate by the calibration, in the unit of the row", "calibration": calibrations},
        "lower": {"meaning": "lower end of the band of the estimate"},
        "upper": {"meaning": "upper end of the band of the estimate"},
    }
    notes: list[str] = []
    for one in each:
        pairs = [("layout", one.layout), ("formats", one.dequantized), ("memory", one.verdict)]
        notes += [f"{key}: {text}" for key, text in pairs if text] + [*one.warnings, *one.assumed]
    shared = [dict(one.scenario) for one in each]
    given = {name: x for name, x in shared[0].items() if all(one.get(name) == x for one in shared)}
    given |= {"calibration": calibrations} if calibrations else {}
    facts = outcome.to_dict()
    more = {key: x for key, x in facts.items() if key not in ("roofslate_version", "inputs", "outcomes", "notes")}
    return Answer(columns, said, given, list(dict.fromkeys(notes)), str(outcome), outcome.cells, more)


def _constants(calibration: Any) -> FittedConstants | None:
    """Give the fitted constants of a calibration, None of the floor."""
    preset: Any = None if calibration is None else find_preset("calibration", calibration)
    outcome: FittedConstants | None = getattr(preset, "constants", None)
    return outcome if outcome is not None and outcome.fits else None


def _kinds(inputs: Mapping[str, Any]) -> dict[str, str | None]:
    """Names under which the model and the chip of a scenario were measured."""
    given = {keyword: inputs[keyword] for keyword in ("model", "hardware") if keyword in inputs}
    return {keyword: measured_as(find_preset(keyword, x)) for keyword, x in given.items()}


def _support(constants: FittedConstants, output: str, kinds: Mapping[str, str | None]) -> str:
    fit = output if output in constants.fits else next(iter(constants.fits))
    return constants.support(fit, **kinds)


# ---------------------------------------------------------------------------------------------------- deployments


def of_plan(plan: Deployments, most: int | None = None) -> Answer:
    """Give the columns of deployments, best first, with bands and support.

    Parameters
    ----------
    plan : Deployments
    most : int, optional
        Rows; by default all.

    Returns
    -------
    Answer
        If no layout is feasible, the rejected ones, with the condition that each misses.
    """
    table = plan.table if len(plan.table) else plan.rejected
    table = table.head(len(table) if most is None else most)
    ranked = bool(len(plan.table))
    attrs = table.attrs
    units = {name: q.unit for name, q in entries().items() if name in table.columns and not q.choices}
    answer = of_frame(table, {**units, **plan.units})
    columns = answer.columns
    if ranked:
        columns = [number_column("rank", table.index.to_numpy(), ""), *columns, *_banded(plan, table)]
    said = {column.name: answer.said.get(column.name, {}) for column in columns}
    for name, words in said.items():
        source = re.sub(r"_(lower|upper)$", "", name)
        words |= {key: attrs[key][source] for key in ("basis", "calibration") if source in attrs.get(key, {})}
        if name == MARGIN or any(name == c.text for c in plan.conditions) or name in plan.always:
            words["meaning"] = "room below the limit, as a share of it"
        if source != name and source in table.columns:
            end = name.rpartition("_")[2]
            words["meaning"] = f"{entries()[source].brief}, {end} end of the {100 * LEVEL:g}% band"
    inputs = {name: _plain(name, x) for name, x in plan.given.items()}
    notes = [f"conditions: {' and '.join([*(c.text for c in plan.conditions), *plan.always])}"]
    if not ranked:
        notes.append("no deployment meets the conditions; the rows are the rejected layouts, nearest first")
    return Answer(columns, said, inputs, notes, str(plan), plan.cells if ranked else None)


def _plain(name: str, x: Any) -> str:
    """An input as a person reads it."""
    value = x.item() if isinstance(x, (np.generic, np.ndarray)) and np.ndim(x) == 0 else x
    if isinstance(value, float) and name in entries():
        return format_value(value, entries()[name].unit, 12)
    return str(getattr(value, "name", value))


def _banded(plan: Deployments, table: pd.DataFrame) -> list[Column]:
    """Give the ends of the bands of calibrated columns, and the support of each row."""
    rows = [plan.at(int(rank)) for rank in table.index]
    constants = [_constants(row.get("calibration")) for row in rows]
    if not any(constants) or not rows:
        return []
    columns = []
    kinds = [_kinds(row) for row in rows]
    for name in map(str, table.columns):
        ends = np.full((len(rows), 2), np.nan)
        for k, (known_constants, row) in enumerate(zip(constants, rows, strict=True)):
            outcome = (
                calibrated_of(Bands(known_constants, LEVEL), name, row)
                if known_constants is not None and name in entries()
                else None
            )
            if outcome is not None and known_constants is not None:
                source, inverted = outcome
                factors = band_factors(*known_constants.fit(source).band(LEVEL, kinds[k]), inverted=inverted)
                ends[k] = [factor * float(table[name].iloc[k]) for factor in factors]
        if not np.isnan(ends).all():
            unit = plan.units.get(name, entries()[name].unit)
            columns += [number_column(f"{name}_{end}", ends[:, k], unit) for k, end in enumerate(("lower", "upper"))]
    fit = plan.objective.name
    each = [
        _support(known_constants, fit, kind) if known_constants is not None else ""
        for known_constants, kind in zip(constants, kinds, strict=True)
    ]
    return [*columns, text_column("support", each)]


# -------------------------------------------------------------------------------------------------------- presets


def sources_of(inputs: Mapping[str, Any]) -> dict[str, list[str]]:
    """List the sources of the named presets, with their dates."""
    outcome: dict[str, list[str]] = {}
    for keyword in PRESETS:
        given = inputs.get(keyword, [])
        for name in given if isinstance(given, list) else [given]:
            preset: Preset = find_preset(keyword, name)
            outcome[f"{keyword}={preset.name}"] = list(dict.fromkeys(fact.origin for fact in preset.facts.values()))
    return outcome


def is_banded(outputs: Iterable[str], inputs: Mapping[str, Any]) -> bool:
    """Return True if some outputs have a band by the calibration of a scenario."""
    given = inputs.get("calibration")
    constants = None if given is None or isinstance(given, list) else _constants(given)
    return constants is not None and any(
        calibrated_of(Bands(constants, LEVEL), name, inputs) for name in outputs if name in entries()
    )
