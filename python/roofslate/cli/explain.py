"""`roofslate explain`, `compare` and `summary`: results in words."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING

import click

from roofslate.analysis.compare import compare
from roofslate.analysis.explain import explain
from roofslate.analysis.summary import summary
from roofslate.cli.answers import of_summary, write
from roofslate.cli.calls import read_call, with_calibration
from roofslate.cli.formats import format_of
from roofslate.cli.rows import text_stream
from roofslate.cli.words import check_outputs, read_inputs, reported_warnings, scenario_inputs, texts_of
from roofslate.display.card import page

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run_compare", "run_explain", "run_summary"]


def run_explain(
    words: Sequence[str], scenario: Path | None, calibration: str | None, form: str, depth: int | None
) -> None:
    """Print the derivation of one value."""
    outputs, texts = texts_of(words)
    if len(outputs) != 1:
        raise click.UsageError(f"explain takes one quantity and inputs as NAME=VALUE, got {len(outputs)} quantities")
    check_outputs(outputs)
    inputs = read_inputs(with_calibration(texts, calibration), scenario)

    with reported_warnings():
        derivation = explain(outputs[0], inputs, depth=depth)
    if form == "html":
        click.echo(f'<!doctype html><meta charset="utf-8"><title>{outputs[0]}</title>\n{derivation.html}')
    elif form in ("text", "dot"):
        click.echo(str(derivation if form == "text" else derivation.graph()))
    else:
        click.echo(getattr(derivation, form))


def run_compare(words: Sequence[str]) -> None:
    """Print the factors between two scenarios."""
    given, texts = texts_of(words)
    if len(given) != 3:
        raise click.UsageError(f"compare takes a quantity and two scenario files, got {len(given)} words")
    output, *files = given
    check_outputs([output])
    a, b = (scenario_inputs(Path(file), texts) for file in files)

    click.echo(str(compare(a, b, output, **read_inputs(texts, None))))


def run_summary(
    words: Sequence[str], scenarios: Sequence[Path], calibration: str | None, form: str | None, output: Path | None
) -> None:
    """Print all outcomes of one or more scenarios. If one does not fit in memory, exit with 1."""
    each = []
    for scenario in scenarios or (None,):
        stray, keywords, inputs = read_call("summary", words, scenario, calibration)
        if stray:
            raise click.UsageError(f"summary takes inputs as NAME=VALUE, got {stray[0]!r}")
        each.append(inputs)
    form = form or format_of(output)

    with reported_warnings() as messages:
        outcome = summary(each if len(each) > 1 else each[0], **keywords)
    if form == "html":
        with text_stream(output) as stream:
            stream.write(page(outcome.title, outcome._repr_html_()))
    else:
        write(of_summary(outcome).noted(messages), form, output)
    if outcome.fits is False:
        sys.exit(1)
