"""`roofslate validate`: predictions against measured runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from roofslate._base.files import write
from roofslate.cli.words import reported_warnings, texts_of
from roofslate.display.html import columns
from roofslate.errors import MissingInput, RoofslateError
from roofslate.measured.benchmark_files import read_benchmarks
from roofslate.measured.runs import read_csv
from roofslate.measured.validate import validate
from roofslate.units import format as written

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path
    from typing import Any

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


def run_validate(table: Path | None, words: Sequence[str], rows_file: Path | None, ignore: tuple[str, ...]) -> None:
    """Print the errors of predictions; leave with 1 where a bound is broken."""
    if table is None:
        if ignore:
            raise click.UsageError("--ignore goes with a table")
        found = validate()
    else:
        stray, texts = texts_of(words)
        if stray:
            raise click.UsageError(f"{stray[0]!r}: write NAME=VALUE, a column for all rows")
        given = {name: _value(text) for name, text in texts.items()}
        is_benchmark = table.is_dir() or table.suffix in (".json", ".jsonl")
        with reported_warnings():
            runs = read_benchmarks(table, **given) if is_benchmark else _with_columns(read_csv(table), given)
            try:
                found = validate(runs, ignore=ignore)
            except MissingInput as error:
                raise MissingInput(f"{table}: {error}; give it as NAME=VALUE") from None
            except RoofslateError as error:
                raise type(error)(f"{table}: {error}") from None
        if is_benchmark:
            _print_benchmarks(runs, found)
    if rows_file is not None:
        write(rows_file, found.rows.to_csv(index=False))
    click.echo(str(found))
    if not found.holds:
        sys.exit(1)


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


def _print_benchmarks(runs: pd.DataFrame, scored: Validation) -> None:
    """Print each measured value with its floor and estimate, and the notes of the reader."""
    for line in columns(
        [("file", "measured", "", "floor", "estimate", "band", "share", "binds"), *_lines(scored.rows)]
    ):
        click.echo(line.rstrip())
    if len(scored.rows) > _MOST_ROWS:
        click.echo(f"... {len(scored.rows) - _MOST_ROWS:,} more results; --rows writes all")
    for form, fields in runs.attrs["unknown_fields"].items():
        click.echo(f"{form}: unknown fields {', '.join(fields)}")
    for assumption in runs.attrs["assumptions"]:
        click.echo(f"assumed: {assumption}")
    for name, reason in runs.attrs["skipped"].items():
        click.echo(f"skipped: {name}: {reason}")
    click.echo()


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
