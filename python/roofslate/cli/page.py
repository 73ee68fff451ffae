"""`roofslate page`: charts, calculators and the lecture as pages."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from roofslate._base.messages import unknown
from roofslate.cli.calls import read_call
from roofslate.lecture_report import charts
from roofslate.lecture_report.live import live_lecture
from roofslate.plotting.pages.calculators import calculator
from roofslate.plotting.pages.page import Page
from roofslate.plotting.pages.traced import chart_view
from roofslate.plotting.pages.view import view_of
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run_page"]


def run_page(kind: str, words: Sequence[str], scenario: Path | None, calibration: str | None, out: Path | None) -> None:
    """Write a page, or the pages of the lecture, and print where."""
    names, _, inputs = read_call("page", words, scenario, calibration)
    if kind == "lecture":
        if names or inputs:
            raise click.UsageError(f"page lecture takes no {(names or list(inputs))[0]!r}. Give only --out DIR")
        click.echo(str(live_lecture(out or Path("lecture-live"))))
        return
    if not names:
        raise click.UsageError(f"give the name of a {kind}, such as roofslate page {kind} {_EXAMPLES[kind]}")
    if kind == "calculator":
        if len(names) > 1:
            raise click.UsageError(f"page calculator takes one name, got {' '.join(names)}")
        page = calculator(names[0], **inputs)
    else:
        page = _chart(names, inputs)
    click.echo(str(page.save(out or Path(f"{names[0]}.html"))))


_EXAMPLES = {"chart": "latency_vs_batch", "calculator": "size-a-service"}


def _chart(names: Sequence[str], inputs: dict[str, Any]) -> Page:
    """Make the page of a chart of the lecture, or of quantities."""
    known = {chart.name: chart for chart in charts.all()} | {chart.number: chart for chart in charts.all()}
    if len(names) == 1 and names[0] in known:
        return Page([chart_view(known[names[0]], inputs or None)])
    for name in names:
        if name not in entries():
            raise unknown("chart or quantity", name, [*known, *entries()])
    return Page([view_of(list(names), inputs)])
