"""`roofslate evaluate`: from words to a table, without the libraries that label results."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import click
import numpy as np

from roofslate.cli.answers import of_result, write_answer
from roofslate.cli.calls import Question
from roofslate.cli.rows import (
    json_head,
    long_form,
    text_stream,
    write_csv,
    write_json,
    write_markdown,
    write_parquet,
    write_table,
)
from roofslate.cli.words import check_outputs, reported_warnings
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.basis import basis
from roofslate.grid.label import conversions, provenance
from roofslate.grid.read import read_grid
from roofslate.grid.run import compute

__all__ = ["run_evaluate"]


def run_evaluate(**given: Any) -> None:
    """Write quantities over a grid, a row for each point."""
    question = Question(**given)
    output, threads = question.output, question.threads
    outputs, keywords, inputs = question.read("evaluate")
    if not outputs:
        raise click.UsageError("no quantity was asked for; `roofslate quantities` lists them")
    check_outputs(outputs)
    form = question.written_as
    if form == "parquet" and output is None:
        raise click.UsageError("--format parquet needs a file: --output FILE")
    in_units = question.in_units

    names = list(dict.fromkeys(outputs))
    if "bands" in keywords and form != "parquet":
        with reported_warnings() as messages:
            outcome = evaluate(names, inputs, bands=keywords["bands"], units=in_units, threads=threads)
        with text_stream(output) as stream:
            write_answer(of_result(outcome).noted(messages), form, stream, in_units)
        return
    if "bands" in keywords:
        raise click.UsageError("bands are not written as parquet; choose --format csv, json or markdown")
    converted = conversions(names, in_units)
    with reported_warnings() as messages:
        grid = read_grid(inputs, names)
    factors = {name: factor for name, (factor, _) in converted.items()}
    results = compute(grid, names, factors, np.dtype("float64"), threads=threads)
    columns = long_form(grid, dict(zip(names, results, strict=True)), in_units)
    if form == "parquet":
        write_parquet(columns, Path(str(output)))
        return
    with text_stream(output) as stream:
        if form == "table":
            write_table(columns, stream, in_units)
        elif form == "csv":
            write_csv(columns, stream)
        elif form == "markdown":
            write_markdown(columns, stream, in_units)
        else:
            said = {name: dict(basis([name], grid)) for name in names}
            write_json(columns, stream, json_head(columns, provenance(grid), said, messages))
        stream.flush()
