"""`roofslate validate`: predictions against measured runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click

from roofslate._base.files import write as write_file
from roofslate._base.messages import shown
from roofslate.cli.answers import Answer, of_frame, write
from roofslate.cli.calls import with_calibration
from roofslate.cli.formats import format_of
from roofslate.cli.rows import text_stream
from roofslate.cli.words import read_inputs, reported_warnings, texts_of
from roofslate.display.html import columns
from roofslate.errors import MissingInput, RoofslateError
from roofslate.measured.benchmark_files import read_benchmarks
from roofslate.measured.runs import read_csv
from roofslate.measured.validate import validate
from roofslate.presets.lookup import find_preset
from roofslate.units import format as written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    import pandas as pd

    from roofslate.measured.validate import Validation

__all__ = ["run_validate"]


_MOST_ROWS = 100  # that are printed
_PRINTED = {
    "time_per_output_token_s": ("TPOT", "s"),
    "time_to_first_token_s": ("TTFT", "s"),
    "request_latency_s": ("request latency", "s"),
    "tokens_per_second_per_chip": ("tokens per chip", "token/s"),
}


def run_validate(
    table: Path | None,
    words: Sequence[str],
    calibration: str | None,
    form: str | None,
    output: Path | None,
    rows_file: Path | None,
    ignore: tuple[str, ...],
) -> None:
    """Print the errors of predictions. If a bound is broken, leave with 1."""
    form = form or format_of(output)
    if table is not None and "=" in table.name and not table.exists():  # NAME=VALUE without a table
        table, words = None, [str(table), *words]
    stray, texts = texts_of(words)
    if stray:
        raise click.UsageError(f"{stray[0]!r}: write NAME=VALUE, a column for all rows")
    bands = {"bands": _level(texts.pop("bands"))} if "bands" in texts else {}
    options = {"calibration": _constants(texts.pop("calibration", None), calibration), **bands}
    runs = None
    with reported_warnings() as messages:
        if table is None:
            if ignore or texts:
                raise click.UsageError(f"{'--ignore' if ignore else next(iter(texts))} goes with a table")
            outcome = validate(**options)
        else:
            given = {name: _value(text) for name, text in texts.items()}
            is_benchmark = table.is_dir() or table.suffix in (".json", ".jsonl")
            runs = read_benchmarks(table, **given) if is_benchmark else _with_columns(read_csv(table), given)
            try:
                outcome = validate(runs, ignore=ignore, **options)
            except MissingInput as error:
                raise MissingInput(f"{table}: {error}; give it as NAME=VALUE") from None
            except RoofslateError as error:
                raise type(error)(f"{table}: {error}") from None
    if rows_file is not None:
        write_file(rows_file, outcome.rows.to_csv(index=False))
    if form == "table":
        with text_stream(output) as stream:
            stream.writelines(f"{line}\n" for line in [*_printed(runs, outcome), str(outcome)])
            stream.flush()
    else:
        answer = _errors(outcome) if runs is None else _measured(outcome)
        write(answer.noted([*_notes(runs), *messages, *str(outcome).splitlines()]), form, output)
    if not outcome.holds:
        sys.exit(1)


def _level(text: str) -> float:
    try:
        return float(text)
    except ValueError:
        raise click.UsageError(f"bands: expected a number, got {shown(text)}") from None


def _constants(named: str | None, option: str | None) -> Any:
    """Give the constants of a name or a file, None without either."""
    texts = with_calibration({} if named is None else {"calibration": named}, option)
    if not texts:
        return None
    preset: Any = find_preset("calibration", read_inputs(texts, None)["calibration"])
    if preset.constants is None:
        raise click.UsageError("calibration: validate scores an estimate, and the floor is none; name a calibration")
    return preset.constants


def _value(text: str) -> float | str:
    try:
        return float(text)
    except ValueError:
        return text


def _with_columns(table: pd.DataFrame, given: dict[str, Any]) -> pd.DataFrame:
    for name in given:
        if name in table.columns:
            raise click.UsageError(f"{name!r} is a column of the table already")
    return table.assign(**given)


def _printed(runs: pd.DataFrame | None, scored: Validation) -> Iterator[str]:
    """Write measured values of benchmark files next to floor and estimate."""
    if runs is None or "skipped" not in runs.attrs:
        return
    head = ("file", "measured", "", "floor", "estimate", "band", "share", "binds")
    yield from (line.rstrip() for line in columns([head, *_lines(scored.rows)]))
    if len(scored.rows) > _MOST_ROWS:
        yield f"... {len(scored.rows) - _MOST_ROWS:,} more results; --rows writes all"
    yield from _notes(runs)
    yield ""


def _notes(runs: pd.DataFrame | None) -> Iterator[str]:
    """Lines of the reader of benchmark files: unknown fields, assumptions, skipped files."""
    attrs = {} if runs is None else runs.attrs
    for form, fields in attrs.get("unknown_fields", {}).items():
        yield f"{form}: unknown fields {', '.join(fields)}"
    for assumption in attrs.get("assumptions", ()):
        yield f"assumed: {assumption}"
    for name, reason in attrs.get("skipped", {}).items():
        yield f"skipped: {name}: {reason}"


def _errors(outcome: Validation) -> Answer:
    """Give the columns of the errors by table and measured column."""
    return of_frame(outcome.summary.reset_index(), {})


def _measured(outcome: Validation) -> Answer:
    """Give the columns of the measured values, a row each."""
    rows, scored = outcome.rows, outcome.scored[0]
    named = [name for name in ("file", "model", "hardware", "chips", "concurrency") if name in rows.columns]
    parts = []
    for column, (_, unit) in _PRINTED.items():
        if column in rows.columns:
            selected = rows[rows[column].notna()]
            output = scored.runs.targets[column]
            fit = scored.calibration.fits.get(output)
            kinds = {kind: scored.runs.kinds(kind) for kind in (fit.kinds if fit else ())}
            keys = [dict(zip(kinds, key, strict=True)) for key in zip(*kinds.values(), strict=True)]
            support = [scored.calibration.support(output, **key) for key in keys] or [""] * len(rows)
            predicted = selected[f"predicted_{column}"]
            parts.append(
                selected[named].assign(
                    measured=column,
                    value=selected[column],
                    unit=unit,
                    floor=selected[f"floor_{column}"],
                    estimate=predicted,
                    lower=selected[f"predicted_{column}_lower"],
                    upper=selected[f"predicted_{column}_upper"],
                    support=[word for word, has in zip(support, rows[column].notna(), strict=True) if has],
                    share_of_floor=selected[f"share_of_floor_{column}"],
                    bottleneck=selected["bottleneck"],
                )
            )
    import pandas as pd

    return of_frame(pd.concat(parts, ignore_index=True), {})


def _lines(rows: pd.DataFrame) -> Iterator[tuple[str, ...]]:
    for _, row in rows.head(_MOST_ROWS).iterrows():
        for column, (name, unit) in _PRINTED.items():
            if column in rows.columns and row[column] == row[column]:
                values = (row[column], row[f"floor_{column}"], row[f"predicted_{column}"])
                ends = [row[f"predicted_{column}_{end}"] for end in ("lower", "upper")]
                band = " to ".join(written(x, unit, 3) for x in ends if x == x)
                measured, floor, estimate = (written(x, unit, 3) if x == x else "" for x in values)
                share = row[f"share_of_floor_{column}"]
                yield (
                    *(str(row["file"]), name, measured, floor, estimate, band),
                    *(f"{100 * share:.0f}%" if share == share else "", str(row["bottleneck"])),
                )
