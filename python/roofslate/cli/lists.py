"""`roofslate quantities`, `presets`, `models`, `hardware`, `catalog`: names and presets."""

from __future__ import annotations

import math
import sys
from typing import TYPE_CHECKING, Any

import click

from roofslate._base.messages import unknown
from roofslate.cli.answers import Answer, number_column, text_column, write
from roofslate.cli.formats import format_of
from roofslate.cli.words import read_inputs
from roofslate.display.html import columns
from roofslate.presets.catalog import Catalog, measured_as
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.presets.synonyms import ranked
from roofslate.registry.quantity_table import quantities
from roofslate.registry.registry import lookup, matching, unknown_quantity

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from pathlib import Path

    from roofslate.presets.calibration import FittedConstants
    from roofslate.presets.preset import Preset

__all__ = ["found_presets", "run_catalog", "run_hardware", "run_models", "run_presets", "run_quantities"]


def run_quantities(search: str | None, form: str) -> None:
    """Print the quantities that hold a text."""
    matches = matching(search)
    if not matches:
        raise unknown_quantity(search)
    if form == "csv":
        click.echo(quantities(search).to_csv(), nl=False)
    elif form == "json":
        click.echo(quantities(search).reset_index().to_json(orient="records", indent=2, force_ascii=False))
    else:
        exact = [str(q) for q in matches if q.name == search]
        rows = [(q.name, q.unit, q.brief) for q in matches if q.name != search]
        listed = [_aligned([("quantity", "unit", "meaning"), *rows])] if rows else []
        click.echo("\n\n".join([*exact, *listed]))


def run_presets(name: str | None) -> None:
    """Print the presets, or all presets of one name in full."""
    if name is None or name in PRESETS:
        rows = [
            (f"{kind}=", preset.name, preset.note)
            for kind in ([name] if name else PRESETS)
            for preset in PRESETS[kind].values()
        ]
        click.echo(_aligned(rows))
        return
    presets = [catalog[name] for catalog in PRESETS.values() if name in catalog]
    if not presets:
        raise unknown("preset", name, [*PRESETS, *(known for catalog in PRESETS.values() for known in catalog)])
    click.echo("\n\n".join(map(repr, presets)))


def run_models(search: str | None, calibration: str | None, form: str | None, output: Path | None) -> None:
    """Print the models that a text means, or the one of a name in full."""
    _print_catalog("model", search, calibration, form, output)


def run_hardware(search: str | None, calibration: str | None, form: str | None, output: Path | None) -> None:
    """Print the chips and systems that a text means, or the one of a name in full."""
    _print_catalog("hardware", search, calibration, form, output)


# Numbers of a list for reading.
_SHOWN = {
    "model": ("total_parameters", "active_parameters", "layers", "weight_format"),
    "hardware": ("chips", "hbm_capacity", "hbm_bandwidth", "peak_flops_bf16", "scale_up_domain"),
}


def _print_catalog(
    keyword: str, search: str | None, calibration: str | None, form: str | None, output: Path | None
) -> None:
    form = form or format_of(output)
    catalog = PRESETS[keyword]
    texts = read_inputs({"calibration": calibration or "serving"}, None)
    constants = getattr(find_preset("calibration", texts["calibration"]), "constants", None)
    text = (search or "").strip()
    exact = next((p for p in catalog.values() if text.casefold() in map(str.casefold, p.names)), None)
    if exact is not None:
        answer = _of_preset(exact, constants)
    else:
        answer = _of_presets(keyword, found_presets(text, [keyword]), constants)
    write(answer, form, output)


def found_presets(search: str, keywords: Iterable[str]) -> list[Preset]:
    """List the presets that a text means, best first: by names, note and main numbers.

    Parameters
    ----------
    search : str
        Words, in any order and case; all presets for an empty one.
    keywords : iterable of str
        Kinds of presets, such as ``"model"``.

    Returns
    -------
    list of Preset

    Raises
    ------
    UnknownName
        If there is none; it names the nearest.
    """
    presets = [preset for keyword in keywords for preset in PRESETS[keyword].values()]
    if not search.strip():
        return presets
    matches = ranked(search, presets)
    if not matches:
        raise unknown("preset", search, [name for preset in presets for name in preset.names])
    return matches


def _is_measured(preset: Preset, constants: FittedConstants | None) -> str:
    """Say whether a calibration was fitted to runs of a preset."""
    known = {name for fit in constants.fits.values() for name in fit.kinds.get(preset.kind, ())} if constants else set()
    return "measured" if measured_as(preset) in known else "not measured"


def _of_presets(keyword: str, presets: Sequence[Preset], constants: FittedConstants | None) -> Answer:
    columns = [text_column(keyword, [preset.name for preset in presets])]
    for name in _SHOWN[keyword]:
        q = lookup(name)
        values: list[Any] = [preset.values.get(name, "" if q.choices else math.nan) for preset in presets]
        columns.append(text_column(name, values) if q.choices else number_column(name, values, q.unit))
    if constants is not None:
        columns.append(text_column("support", [_is_measured(preset, constants) for preset in presets]))
    columns.append(text_column("note", [preset.note for preset in presets]))
    return Answer(columns, _said_of(constants))


def _of_preset(preset: Preset, constants: FittedConstants | None) -> Answer:
    facts = preset.facts
    rows: dict[str, list[Any]] = {
        "quantity": list(facts),
        "value": [fact.value for fact in facts.values()],
        "unit": [fact.unit for fact in facts.values()],
        "written": [fact.written for fact in facts.values()],
        "source": [fact.source for fact in facts.values()],
        "date": [fact.date for fact in facts.values()],
        "status": [fact.status for fact in facts.values()],
    }
    columns = [text_column(name, values) for name, values in rows.items()]
    notes = [preset.note] if preset.note else []
    cells = ("quantity", "value", "source"), [(name, str(fact), fact.origin) for name, fact in facts.items()]
    text = repr(preset)
    if constants is not None:
        support = f"support: {_is_measured(preset, constants)} in the runs of calibration {constants.name!r}"
        notes.append(support)
        text = f"{text}\n  {support}"
    return Answer(columns, _said_of(constants), {preset.kind: preset.name}, notes, text, cells)


def _said_of(constants: FittedConstants | None) -> dict[str, dict[str, str]]:
    """The calibration whose runs the column ``support`` speaks of."""
    if constants is None:
        return {}
    return {
        "support": {"meaning": "whether its runs were fitted", "calibration": f"{constants.name} ({constants.date})"}
    }


def run_catalog(action: str, date: str | None, finding: str | None) -> None:  # noqa: ARG001
    """Print the findings of a check of all catalogs. A contradiction ends with exit code 1."""
    findings = [
        (f"{name}: {quantity}", *row)
        for catalog in PRESETS.values()
        if isinstance(catalog, Catalog)
        for name, quantity, *row in catalog.check(date).itertuples(index=False)
    ]
    listed = [row for row in findings if finding in (None, row[1])]
    click.echo(_aligned([("preset", "finding", "value", "reason"), *listed]))
    counted = ((name, sum(row[1] == name for row in findings)) for name in ("contradicted", "stale", "unverified"))
    click.echo("\n" + ", ".join(f"{count:,} {name}" for name, count in counted))
    if any(row[1] == "contradicted" for row in findings):
        sys.exit(1)


def _aligned(rows: Iterable[Sequence[str]]) -> str:
    return "\n".join(columns(rows, indent=""))
