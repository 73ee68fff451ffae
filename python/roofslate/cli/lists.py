"""`roofslate quantities` and `roofslate presets`: what can be asked for and given."""

from __future__ import annotations

from typing import TYPE_CHECKING

import click

from roofslate._base.messages import unknown
from roofslate.display.html import columns
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import matching, quantities, unknown_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["run_presets", "run_quantities"]


def run_quantities(search: str | None, form: str) -> None:
    """Print the quantities that hold a text."""
    found = matching(search)
    if not found:
        raise unknown_quantity(search)
    if form == "csv":
        click.echo(quantities(search).to_csv(), nl=False)
    elif form == "json":
        click.echo(quantities(search).reset_index().to_json(orient="records", indent=2, force_ascii=False))
    else:
        exact = [str(q) for q in found if q.name == search]
        rows = [(q.name, q.unit, q.brief) for q in found if q.name != search]
        listed = [_aligned([("quantity", "unit", "meaning"), *rows])] if rows else []
        click.echo("\n\n".join([*exact, *listed]))


def run_presets(name: str | None) -> None:
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
