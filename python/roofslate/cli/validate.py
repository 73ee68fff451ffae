"""`roofslate validate`: predictions against measured runs."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from roofslate._base.files import write
from roofslate.errors import RoofslateError
from roofslate.measured.runs import read_csv
from roofslate.measured.validate import validate

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run_validate"]


def run_validate(table: Path | None, rows_file: Path | None, ignore: tuple[str, ...]) -> None:
    """Print the errors of predictions; leave with 1 where a bound is broken."""
    if table is None:
        if ignore:
            raise click.UsageError("--ignore goes with a table")
        found = validate()
    else:
        runs = read_csv(table)
        try:
            found = validate(runs, ignore=ignore)
        except RoofslateError as error:
            raise type(error)(f"{table}: {error}") from None
    if rows_file is not None:
        write(rows_file, found.rows.to_csv(index=False))
    click.echo(str(found))
    if not found.holds:
        sys.exit(1)
