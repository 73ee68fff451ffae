"""`roofslate sweep`: quantities for each row of a file."""

from __future__ import annotations

import warnings
from typing import TYPE_CHECKING

import click

from roofslate.cli.calls import with_calibration
from roofslate.cli.words import check_outputs, read_inputs, texts_of, units_of
from roofslate.evaluation.sweep import sweep

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["run_sweep"]


def run_sweep(
    source: Path,
    words: Sequence[str],
    outputs: str,
    target: Path,
    overwrite: bool,
    ignore: Sequence[str],
    scenario: Path | None,
    calibration: str | None,
    units: Sequence[str],
    threads: int | None,
) -> None:
    """Write the columns of a file with the results."""
    names, ignored = (
        [name.strip() for text in texts for name in text.split(",") if name.strip()] for texts in ([outputs], ignore)
    )
    stray, texts = texts_of(words)
    if stray:
        raise click.UsageError(f"{stray[0]!r}: an input is written NAME=VALUE, a quantity goes to --outputs")
    check_outputs(names)
    inputs = read_inputs(with_calibration(texts, calibration), scenario)
    in_units = units_of(units)
    with warnings.catch_warnings(record=True) as recorded:
        warnings.simplefilter("always")
        sweep(source, names, target, inputs, ignore=ignored, units=in_units, overwrite=overwrite, threads=threads)
    for warning in recorded:
        click.echo(f"roofslate: {warning.message}", err=True)
