"""`roofslate lecture`: the lecture as a report."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import roofslate as rs

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["lecture"]


def lecture(out: Path, chapter: int | None) -> None:
    """Write the report and print where it is."""
    click.echo(rs.lecture(out, chapter=chapter))
