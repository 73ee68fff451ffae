"""`roofslate lecture`: the lecture as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roofslate.lecture_report.report import lecture

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run_lecture"]


def run_lecture(out: Path, chapter: int | None) -> None:
    """Write the report and print where it is."""
    click.echo(lecture(out, chapter=chapter))
