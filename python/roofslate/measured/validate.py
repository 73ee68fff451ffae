"""Predictions compared with measurements: rows, errors, and the promised bounds."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.messages import shown, unknown
from roofslate.analysis.explain import Explanation, explain
from roofslate.display import style
from roofslate.display.result import Result
from roofslate.display.result import Table as Listing
from roofslate.errors import AxisError, InputTypeError, PresetError, UnknownName
from roofslate.evaluation.frame import frame, results_of_columns
from roofslate.grid.columns import Column
from roofslate.grid.read import Settled
from roofslate.grid.tables import Coded, Table, read_table
from roofslate.measured import runs as measurements
from roofslate.measured import software
from roofslate.measured.anchor import refuse_repeated
from roofslate.measured.calibration import Calibration
from roofslate.measured.calibration import calibration as shipped_calibration
from roofslate.presets.fits import ERRORS, check_level, error_measures
from roofslate.registry.registry import spellings

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from roofslate.measured.runs import Runs

__all__ = ["Validation", "bound_inputs", "validate"]

_KINDS = ("model", "hardware", "framework")
_TIMES = {column for column in measurements.TARGETS if column.endswith("_s")}  # smaller is better


@dataclass(frozen=True)
class _Scored:
    """Runs, and the calibration that predicts them."""

    name: str
    runs: Runs
    calibration: Calibration


@dataclass(frozen=True, repr=False, eq=False)
class Validation(Result):
    """Predictions compared with measurements.

    Attributes
    ----------
    rows : pandas.DataFrame or another kind
        The table as it was given, with columns ``predicted_<column>``, ``predicted_<column>_lower`` and ``..._upper``
        for each measured one, and its support as ``..._support``; the ends are NaN where the calibration has no
        band. Of a table of the caller's also
        ``floor_<column>``, the bound of the ideal machine, ``share_of_floor_<column>``, the share of the roofline that
        was reached, and `bottleneck`, the resource that binds at the floor. Of the package's own tables: all of them,
        one below the other, with a column `table`.
    summary : pandas.DataFrame
        Indexed by table, measured column, the property that the rows share and its value; columns as `error_measures`
        names them.
    published : pandas.DataFrame
        Numbers that follow from others in closed form: `table`, `question`, `published`, `ours`, `unit`, `error`,
        `tolerance`, `verdict`, `source`. Empty for a table of the caller's.
    bounds : pandas.DataFrame
        The errors that the package promises, what they are, and the `verdict`: "holds" or "fails".
    """

    rows: Any
    summary: pd.DataFrame
    published: pd.DataFrame
    bounds: pd.DataFrame
    scored: tuple[_Scored, ...]
    _rows: pd.DataFrame = field(repr=False)  # the same as a DataFrame

    @property
    def holds(self) -> bool:
        """Return True if every check passes."""
        return not ({"fails"} & {*self.bounds["verdict"], *self.published["verdict"]})

    def explain(self, row: Any, measured: str | None = None) -> Explanation:
        """Explain the prediction for one row.

        Parameters
        ----------
        row : label
            Of `rows`. Without labels, the number of the row, counted from 0.
        measured : str, optional
            The measured column; by default the first of the row's table.

        Returns
        -------
        Explanation
        """
        index = self._rows.index
        if row not in index:
            raise UnknownName(f"there is no row {shown(row)}; rows are {index[0]!r} to {index[-1]!r}")
        position = index.get_loc(row)
        if not isinstance(position, int):
            raise AxisError(f"several rows are called {shown(row)}: give the table a unique index")
        for scored in self.scored:
            size = len(scored.runs.rows)
            if position < size:
                break
            position -= size
        targets = scored.runs.targets
        if measured is not None and measured not in targets:
            raise unknown("measured column", measured, targets)
        output = targets[measured or next(iter(targets))]
        kinds = {column: scored.runs.kinds(column)[position : position + 1] for column in _KINDS}
        inputs: dict[str, Any] = {**dict(scored.calibration), **scored.runs.fixed}
        inputs |= {name: float(x[0]) for name, x in scored.calibration.of_rows(kinds).items()}
        for name in scored.runs.inputs.columns:
            inputs[name] = scored.runs.inputs[name].iloc[position]
        return explain(output, Settled(inputs))

    def plot(self, measured: str | None = None, ax: Axes | None = None) -> Axes:
        """Draw predicted against measured, on logarithmic axes.

        Parameters
        ----------
        measured : str, optional
            The measured column; by default the first.
        ax : matplotlib.axes.Axes, optional
            Target of the drawing, by default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        columns = list(dict.fromkeys(column for scored in self.scored for column in scored.runs.targets))
        if not columns:
            raise AxisError("nothing was measured in these rows")
        if measured is not None and measured not in columns:
            raise unknown("measured column", measured, columns)
        column = measured or columns[0]
        rows = self._rows.dropna(subset=[column, f"predicted_{column}"])
        labels = rows["hardware"].map(str)
        kinds = list(dict.fromkeys(labels))
        with style.drawing(ax, (5.2, 5.0)) as ax:
            for look, kind, marker in zip(style.styles(len(kinds)), kinds, _cycled(style.MARKERS), strict=False):
                subset = rows[labels == kind]
                ax.plot(
                    subset[column],
                    subset[f"predicted_{column}"],
                    linestyle="none",
                    marker=marker,
                    markersize=3.5,
                    alpha=0.6,
                    color=look["color"],
                    label=kind,
                )
            ends = np.array([rows[[column, f"predicted_{column}"]].min().min() / 1.3, rows[column].max() * 1.3])
            ax.set(xscale="log", yscale="log", xlim=ends, ylim=ends)
            ax.plot(ends, ends, color=style.INK, linewidth=1.0)
            for factor in (0.5, 2.0):
                ax.plot(ends, ends * factor, color=style.NOTE, linewidth=0.8, linestyle="--")
            unit = "s" if column.endswith("_s") else "token/s/chip"
            name = column.removesuffix("_s")
            for axis, word in ((ax.xaxis, "measured"), (ax.yaxis, "predicted")):
                style.scale_ticks(axis, unit)
                axis.set_label_text(f"{word} {style.words(name, unit)}")
            ax.legend(loc="upper left")
            share = float(np.mean(np.abs(np.log(rows[f"predicted_{column}"] / rows[column])) <= math.log(2)))
            style.title(ax, f"{100 * share:.0f}% of {len(rows):,} rows within a factor of 2")
        return ax

    def __str__(self) -> str:
        lines = []
        every = self.summary.xs("all", level="by")
        for key, row in every.iterrows():
            table, column = key[:2]  # type: ignore[index]
            coverage = "" if math.isnan(row["coverage"]) else f", the band holds {100 * row['coverage']:.0f}%"
            lines.append(
                f"{table}, {column}: mean {100 * row['mape']:.1f}%, median {100 * row['median']:.1f}%, "
                f"bias {100 * row['bias']:+.1f}% of {row['rows']:,.0f} rows{coverage}"
            )
            lines += self._left_out(table, column) + self._apart(table, column)
        for table in self.published["table"].unique():
            part = self.published[self.published["table"] == table]
            met = int((part["verdict"] == "holds").sum())
            lines.append(f"{table}: {met} of {len(part)} published numbers met")
        broken = self.bounds[self.bounds["verdict"] == "fails"]
        lines += [f"broken: {row['bound']}, is {row['is']:.4g}" for _, row in broken.iterrows()]
        failing = self.published[self.published["verdict"] == "fails"]
        lines += [
            f"not met: {row['question']}: {row['published']:g}, ours {row['ours']:.6g}" for _, row in failing.iterrows()
        ]
        return "\n".join(lines)

    def _apart(self, table: str, column: str) -> list[str]:
        """Describe the errors of a separate kind of rows, and whether the score includes them."""
        lines = []
        for kind in ("split", "drafts", "doubtful label"):
            if (table, column, kind, "") in self.summary.index:
                row = self.summary.loc[[(table, column, kind, "")]].iloc[0]
                errors = f"{100 * row['mape']:.1f} / {100 * row['median']:.1f}%"
                part = "among them" if kind == "split" and column != measurements.FIRST_TOKEN else "apart"
                lines.append(f"  {kind}, {part}: {errors} of {row['rows']:,.0f} rows")
        return lines

    def _left_out(self, table: str, column: str) -> list[str]:
        """Describe the errors on rows not used in the fit, if the others are in sample."""
        for scored in self.scored:
            fit = scored.calibration.fits.get(scored.runs.targets.get(column, ""))
            if table and fit is not None and scored.name == table == scored.calibration.name:
                parts = [
                    f"{out} {100 * row['mape']:.1f} / {100 * row['median']:.1f}%"
                    for out, row in fit.errors.items()
                    if out != "nothing" and "," not in out
                ]
                return [f"  left out by {', by '.join(parts)} (mean / median)"] if parts else []
        return []

    def _tables(self) -> list[Listing]:
        header = ("table", "measured", "by", "", "rows", "mean", "median", "bias", "band holds")
        cells = []
        for key, row in zip(self.summary.index.tolist(), self.summary.to_dict("records"), strict=True):
            shares = (f"{100 * row[name]:.1f}%" for name in ("mape", "median", "bias", "coverage"))
            cells.append((*map(str, key), f"{row['rows']:,.0f}", *shares))
        return [("Errors of predictions", header, cells)]


def _cycled(marks: Sequence[str]) -> Iterable[str]:
    while True:
        yield from marks


def validate(
    table: Any = None,
    /,
    *,
    models: Mapping[str, Any] | None = None,
    hardware: Mapping[str, Any] | None = None,
    calibration: Calibration | None = None,
    bands: float = 0.8,
    ignore: Iterable[str] = (),
    **inputs: Any,
) -> Validation:
    """Score predictions against measured runs.

    Parameters
    ----------
    table : pandas.DataFrame or another kind, optional
        Of any kind that `frame` takes. One row a run: `model`, `hardware`, `weight_format`, `chips`, `concurrency`,
        `input_tokens`, `output_tokens`; if not 1 `tensor_parallel`, `attention_data_parallel`,
        `pipeline_parallel`; `mode`, `framework`; and the measured columns: `time_per_output_token_s`,
        `time_to_first_token_s`, `request_latency_s`, `tokens_per_second_per_chip`. Any input of the registry may be a
        column too. `framework` and `framework_version` set `prompt_policy` and `prefill_graphs`. Columns and inputs of
        these names win. Rows with 1 as `doubtful_label`, or "yes" as `speculation` (drafts)
        without a `draft_length`, are scored separately. Without a table, every published measurement that the package
        carries.
    models, hardware : dict, optional
        Presets by names of the table that the catalogs do not have.
    calibration : Calibration, optional
        The constants, by default the package's.
    bands : float
        Share of measured values inside the bands.
    ignore : iterable of str
        Further columns that are no inputs.
    **inputs
        Inputs that are the same for all rows of the table.

    Returns
    -------
    Validation

    Raises
    ------
    UnknownName, MissingInput, InputTypeError
        Before any work, naming the column or the name and the nearest that exist.
    PresetError
        For a model whose config.json was not fully read, naming the keys.

    Examples
    --------
    >>> import roofslate as rs
    >>> found = rs.validate()
    >>> found.holds
    True
    """
    import pandas as pd

    level = check_level(bands)
    source = None
    if calibration is not None and not isinstance(calibration, Calibration):
        raise InputTypeError(f"calibration: expected a Calibration, got {shown(calibration)}")
    if table is None:
        given = [name for name, x in (("models", models), ("hardware", hardware), ("calibration", calibration)) if x]
        if given or inputs:
            raise InputTypeError(f"{[*given, *inputs][0]} goes with a table of measured runs, and none was given")
        tables = measurements.shipped()
        scored = tuple(_Scored(t.name, t.runs, shipped_calibration(t.calibration)) for t in tables)
        published = measurements.published()
    else:
        tables = ()
        chosen = calibration or shipped_calibration()
        source = read_table(table)
        read_rows = source.pandas()
        ignored = {ignore} if isinstance(ignore, str) else set(ignore)
        if not len(read_rows):
            raise InputTypeError("the table has no rows")
        runs = measurements.read(
            read_rows, models=models, hardware=hardware, ignore=ignored, fixed={**chosen.settings, **inputs}
        )
        refuse_repeated(runs, ignored, inputs)
        _refuse_unread(runs)
        scored = (_Scored("", runs, chosen),)
        published = measurements.none_published()
    parts, summaries = [], []
    for each in scored:
        part, errors = _score(each, level)
        if table is not None:
            part = part.assign(**_floors(each.runs, inputs))
        parts.append(part.assign(table=each.name) if each.name else part)
        summaries += errors
    rows = parts[0] if len(parts) == 1 else pd.concat(parts, ignore_index=True)
    index = pd.MultiIndex.from_tuples([key for key, _ in summaries], names=["table", "measured", "by", "value"])
    summary = pd.DataFrame([row for _, row in summaries], index=index, columns=list(ERRORS)).sort_index()
    bounds = _bounds(tables, scored if tables else (), dict(summaries))
    native = rows if source is None else _in_kind(source, rows, runs)
    return Validation(native, summary, published, bounds, scored, rows)


def _in_kind(source: Table, rows: pd.DataFrame, runs: Runs) -> Any:
    """The table as it was given, with the columns that were added."""
    import pandas as pd

    if isinstance(source.native, pd.DataFrame):
        return rows
    added = [name for name in rows.columns if name not in runs.rows.columns]
    columns: dict[str, Any] = {}
    for name in added:
        values = rows[name]
        if pd.api.types.is_numeric_dtype(values.dtype):
            columns[name] = values.to_numpy(dtype=float)
        else:
            codes, words = pd.factorize(values)
            columns[name] = Coded(codes, [str(word) for word in words])
    return source.beside(columns, {}, spellings())


def bound_inputs(runs: Runs) -> pd.DataFrame:
    """Return the inputs of lower bounds, without those that labels only suggest."""
    suggested = [name for name in software.LIKELY if name in runs.inputs and name not in runs.rows]
    return runs.inputs.drop(columns=suggested)


def _floors(runs: Runs, given: Mapping[str, Any]) -> dict[str, Any]:
    """Columns of the ideal machine: floors, shares reached, and the bottleneck."""
    if not runs.targets:
        return {}
    binds = ["bottleneck"] if "concurrency" in runs.inputs else []
    same = {name: x for name, x in given.items() if name in runs.fixed and name not in runs.inputs}
    ideal = frame(bound_inputs(runs), [*dict.fromkeys(runs.targets.values()), *binds], Settled(same))
    columns = {}
    for column, output in runs.targets.items():
        floor = ideal[output].to_numpy()
        measured = runs.rows[column].to_numpy(dtype=float, na_value=np.nan)
        with np.errstate(divide="ignore", invalid="ignore"):
            columns[f"floor_{column}"] = floor
            columns[f"share_of_floor_{column}"] = floor / measured if column in _TIMES else measured / floor
    return columns | {name: ideal[name].astype(object).to_numpy() for name in binds}


def _refuse_unread(runs: Runs) -> None:
    """Refuse models whose config.json was not fully read, which would distort the errors."""
    for model in dict.fromkeys(runs.inputs["model"]):
        said = model.attributes.get("not_read")
        if said:
            raise PresetError(
                f"model: {model.name!r} was not fully read ({said}), so its parameters may be wrong. "
                f"Define a model with those of its card: rs.models.define(name, **{{**model, 'total_parameters': ...}})"
            )


_Group = tuple[str, str, str, str]  # table, measured column, the property that rows share, its value


def _score(scored: _Scored, level: float) -> tuple[pd.DataFrame, list[tuple[_Group, dict[str, float]]]]:
    """Compute rows with predictions and bands, and errors grouped by labels."""
    import pandas as pd

    runs, chosen = scored.runs, scored.calibration
    rows, added = runs.rows, dict[str, Any]()
    columns = dict.fromkeys([*_KINDS, *(column for fit in chosen.fits.values() for column in fit.kinds)])
    kinds = {column: np.array(runs.kinds(column), dtype=object) for column in columns}
    errors = []
    outputs = list(dict.fromkeys(runs.targets.values()))
    inputs = {**runs.columns, **{name: Column(x) for name, x in chosen.of_rows(kinds).items()}}
    same = {name: x for name, x in {**chosen, **runs.fixed}.items() if name not in inputs}
    predictions, _ = results_of_columns(inputs, len(rows), outputs, Settled(same)) if outputs else ({}, {})
    for column, output in runs.targets.items():
        predicted = predictions[output]
        has_band = output in chosen.fits
        low, high = chosen.band_of_rows(level, output, kinds) if has_band else (np.nan, np.nan)
        added[f"predicted_{column}"] = predicted
        added[f"predicted_{column}_lower"] = lower = predicted * low
        added[f"predicted_{column}_upper"] = upper = predicted * high
        if has_band:
            codes, words = chosen.support_of_rows(output, kinds)
            added[f"predicted_{column}_support"] = support_words = np.array(words, dtype=object)[codes]
        observed = rows[column].to_numpy(dtype=float, na_value=np.nan)
        with np.errstate(invalid="ignore"):
            counted = (observed > 0) & (predicted > 0) & np.isfinite(observed) & np.isfinite(predicted)
        inside = (observed >= lower) & (observed <= upper)
        support = [word.partition(":")[0] for word in support_words] if has_band else [""] * len(observed)
        plain = counted & runs.counted(column)
        groups = {("all", ""): plain}
        for kind, names in kinds.items():
            groups |= {(kind, str(n)): plain & (names == n) for n in dict.fromkeys(names) if n}
        supports = np.array(support)
        for word in dict.fromkeys(support):
            groups |= {("support", word): plain & (supports == word)} if word else {}
        groups[("split", "")] = counted & runs.plain & runs.split
        groups[("doubtful label", "")] = counted & runs.doubtful
        groups[("drafts", "")] = counted & runs.drafts & ~runs.doubtful
        for key, members in groups.items():
            if members.any() or key[0] == "all":
                measures = error_measures(predicted[members], observed[members], inside[members] if has_band else None)
                errors.append(((scored.name, column, *key), measures))
    carried = rows.drop(columns=[name for name in added if name in rows])
    predicted_rows = pd.concat([carried, pd.DataFrame(added, index=rows.index)], axis=1)
    predicted_rows.attrs = dict(rows.attrs)
    return predicted_rows, errors


def _bounds(
    tables: Iterable[measurements.Table], scored: Sequence[_Scored], errors: Mapping[_Group, Mapping[str, float]]
) -> pd.DataFrame:
    """List the package's promises about its tables, and whether each is met."""
    import pandas as pd

    lines = []
    for table, each in zip(tables, scored, strict=True):
        for promise in table.bounds:
            column, out, measure = promise["measured"], promise["left_out"], promise["measure"]
            if out == "nothing":
                is_now = errors[table.name, column, "all", ""][measure]
            else:
                is_now = each.calibration.fits[each.runs.targets[column]].errors[out][measure]
            low, high = promise.get("at_least", -math.inf), promise.get("at_most", math.inf)
            limit = " and ".join([f">= {low:g}"] * (low > -math.inf) + [f"<= {high:g}"] * (high < math.inf))
            text = f"{table.name}, {column}, {measure} with {out} left out {limit}"
            lines.append({"bound": text, "is": is_now, "verdict": "holds" if low <= is_now <= high else "fails"})
    return pd.DataFrame(lines, columns=["bound", "is", "verdict"])
