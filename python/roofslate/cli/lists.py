"""`roofslate quantities` and `roofslate presets`: what can be asked for and given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

import roofslate as rs
from roofslate._base.messages import unknown
from roofslate.display.html import columns
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["presets", "quantities"]


def quantities(search: str | None, form: str) -> None:
    """Print the quantities that hold a text."""
    found = rs.quantities(search)
    if found.empty:
        raise unknown("quantity", search, entries())
    if form == "csv":
        click.echo(found.to_csv(), nl=False)
        return
    if form == "json":
        click.echo(found.reset_index().to_json(orient="records", indent=2, force_ascii=False))
        return
    exact = entries().get(search or "")
    if exact is not None:
        found = found.drop(index=exact.name)
        click.echo(f"{exact}{chr(10) if len(found) else ''}")
    if len(found):
        click.echo(
            _aligned([("quantity", "unit", "meaning"), *zip(found.index, found["unit"], found["brief"], strict=True)])
        )


def presets(name: str | None) -> None:
    """Print the presets, or those of a name in full."""
    if name is None or name in PRESETS:
        rows = [
            (f"{kind}=", preset.name, preset.note)
            for kind in ([name] if name else PRESETS)
            for preset in PRESETS[kind].values()
        ]
        click.echo(_aligned(rows))
        return
    found = [catalog[name] for catalog in PRESETS.values() if name in catalog]
    if not found:
        raise unknown("preset", name, [*PRESETS, *(known for catalog in PRESETS.values() for known in catalog)])
    click.echo("\n\n".join(map(repr, found)))


def _aligned(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(columns(rows, indent=""))
