"""`roofslate quantities`, `roofslate presets` and `roofslate catalog`: what can be asked for and given."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

import click

from roofslate._base.messages import unknown
from roofslate.display.html import columns
from roofslate.presets.catalog import Catalog
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import matching, quantities, unknown_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["run_catalog", "run_presets", "run_quantities"]


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


def run_catalog(action: str, date: str | None, finding: str | None) -> None:  # noqa: ARG001
    """Print what a check of all catalogs finds; end with 1 for a contradiction."""
    found = [
        (f"{name}: {quantity}", *row)
        for catalog in PRESETS.values()
        if isinstance(catalog, Catalog)
        for name, quantity, *row in catalog.check(date).itertuples(index=False)
    ]
    listed = [row for row in found if finding in (None, row[1])]
    click.echo(_aligned([("preset", "finding", "value", "reason"), *listed]))
    counted = ((name, sum(row[1] == name for row in found)) for name in ("contradicted", "stale", "unverified"))
    click.echo("\n" + ", ".join(f"{count:,} {name}" for name, count in counted))
    if any(row[1] == "contradicted" for row in found):
        sys.exit(1)


def _aligned(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(columns(rows, indent=""))
