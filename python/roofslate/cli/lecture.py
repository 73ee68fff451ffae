"""`roofslate lecture`: the lecture as a report."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING

import click

from roofslate.lecture_report.report import lecture

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["run_lecture"]


def run_lecture(out: Path, chapter: int | None) -> None:
    """Write the report and print where it is."""
    start = time.monotonic()
    page = lecture(out, chapter=chapter)
    seconds = time.monotonic() - start
    click.echo(f"Report written to {page} in {seconds:.0f} s; open it in a browser: {page.resolve().as_uri()}")
