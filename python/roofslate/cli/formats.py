"""Formats of results, by name and by the end of a file's name."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["CARD_FORMS", "FORMATS", "FORMS", "format_of"]


FORMS = ("table", "json", "csv", "markdown")
FORMATS = (*FORMS, "parquet")
CARD_FORMS = (*FORMS, "html")
_SUFFIXES = {"csv": "csv", "html": "html", "json": "json", "md": "markdown", "parquet": "parquet", "txt": "table"}


def format_of(output: Path | None) -> str:
    """Return the format for the suffix of the output's name."""
    if output is None:
        return "table"
    suffix = output.suffix.removeprefix(".").lower()
    if suffix not in _SUFFIXES:
        raise click.UsageError(f"{output}: which format? Use --format, or a name that ends in .csv, .json or .parquet")
    return _SUFFIXES[suffix]
