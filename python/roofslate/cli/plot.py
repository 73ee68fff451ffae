"""`roofslate plot`: a picture of quantities over a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import click

from roofslate._base.files import whole_file
from roofslate.cli.answers import of_result, write
from roofslate.cli.calls import Question
from roofslate.cli.words import check_outputs, reported_warnings
from roofslate.evaluation.evaluate import evaluate
from roofslate.plotting.plot import plot

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run_plot"]

_KINDS = ("png", "svg", "pdf")
_DPI = 200


def run_plot(**given: Any) -> None:
    """Draw quantities over a grid into a file, and with a format write the numbers drawn."""
    question = Question(**given)
    form, output = question.form, question.output
    outputs, keywords, inputs = question.read("plot")
    if not outputs:
        raise click.UsageError("no quantity was asked for; `roofslate quantities` lists them")
    check_outputs(outputs)
    kind = "" if output is None else output.suffix.removeprefix(".").lower()
    if output is None and form is None:
        raise click.UsageError(f"give the picture a file, --output {outputs[0]}.png, or ask for its numbers: --format")
    if output is not None and kind not in _KINDS:
        raise click.UsageError(f"{output}: a picture has a name that ends in .png, .svg or .pdf")
    names = list(dict.fromkeys(outputs))
    in_units = question.in_units
    with reported_warnings() as messages:
        bands = {"bands": keywords.pop("bands")} if "bands" in keywords else {}
        result = evaluate(names, inputs, units=in_units, threads=question.threads, **bands)
        if output is not None:
            _draw(result, keywords, output, kind)
    if form is not None:
        write(of_result(result).noted(messages), form, None, in_units)
    else:
        click.echo(str(output))


def _draw(result: object, keywords: dict[str, str], output: Path, kind: str) -> None:
    """Draw a result into a file, without a screen."""
    import matplotlib as mpl
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    mpl.use("agg")
    figure = Figure(figsize=(6.4, 4.0), layout="constrained")
    FigureCanvasAgg(figure)
    plot(result, **keywords, ax=figure.add_subplot())  # type: ignore[call-overload]
    undated = {"svg": {"Date": None}, "pdf": {"CreationDate": None}}
    with whole_file(output) as file:
        figure.savefig(file, format=kind, dpi=_DPI, metadata=undated.get(kind))
