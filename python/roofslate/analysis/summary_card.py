"""Summaries as cards: numbers with their units, sentences, and bars."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING

from roofslate import units
from roofslate.analysis.summary_kinds import CHIP, TRAINING
from roofslate.display.card import Bar, Block, Card, Entry, Part, Row
from roofslate.display.conditions import listed
from roofslate.grid.basis import carriers_of
from roofslate.registry.registry import current

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roofslate.analysis.summary_facts import Facts
    from roofslate.analysis.summary_kinds import Outcome
    from roofslate.analysis.summary_parts import Split

__all__ = ["BOUND_NOTE", "bound_of", "card_of", "cards_of", "differing_inputs", "number_text", "verdict_of"]

BOUND_NOTE = "bound: ideal machine (roofline), \N{GREATER-THAN OR EQUAL TO} at least, \N{LESS-THAN OR EQUAL TO} at most"
_SETUP = "Setup"
_TITLES = {"memory": "memory per chip", "power": "power", "time": "time"}
_SHORT = {
    "time_per_output_token": "TPOT",
    "pass_time": "pass time",
    "pretraining_time": "training time",
    "training_step_time": "time per step",
}


def number_text(x: float, unit: str) -> str:
    """Format a number for reading, empty if it is undefined."""
    if math.isnan(x):
        return ""
    if math.isinf(x):
        return "never" if unit in ("s", "chip*s") else "\N{INFINITY}"
    if unit == "%":
        return f"{x:.1%}"
    return f"{units.format(x / 3600, '1', 3)} chip-hours" if unit == "chip*s" else units.format(x, unit, 3)


def bound_of(quantity: str, unit: str) -> str:
    """Return ``"lower"`` or ``"upper"`` for the bound of an ideal machine, empty for none."""
    if quantity not in carriers_of(current()):
        return ""
    if unit.endswith("/s") and not unit.startswith("USD"):
        return "upper"
    return "lower" if unit in ("s", "chip*s", "J", "J/token") or unit.startswith("USD") else ""


def differing_inputs(summaries: Sequence[Facts]) -> list[str]:
    """Return the names of inputs that differ between scenarios."""
    names = dict.fromkeys(name for summary in summaries for name in summary.scenario)
    return [name for name in names if len({summary.scenario.get(name) for summary in summaries}) > 1]


def card_of(summary: Facts) -> Card:
    """Make the card of one scenario: bound, estimate and band in columns."""
    estimated = bool(summary.calibration)
    bound = "value" if summary.kind == CHIP else "bound"
    heads = (bound, f"estimate ({100 * summary.level:g}% band)") if estimated else (bound,)
    rows = tuple(_row(summary, outcome, estimated) for outcome in summary.shown)
    notes = [BOUND_NOTE] if summary.shown and summary.kind != CHIP else []
    if estimated:
        support = f", {summary.support}" if summary.support else ""
        notes.append(f"estimate: calibration {summary.calibration}{support}. Without a band, none is known.")
    notes += [f"{key}: {text}" for key, text in _setup(summary) if key in ("layout", "formats")]
    return Card(
        title=_title(summary.kind, summary.scenario),
        inputs=tuple((name, x) for name, x in summary.scenario.items() if name not in ("model", "hardware")),
        head=(("outcome", heads),),
        verdicts=(_verdict(summary),),
        rows=rows,
        blocks=(Block("", _bars(summary), _findings(summary)),),
        warnings=summary.warnings,
        notes=(*notes, *summary.assumed, *summary.basis_notes, *summary.missing_notes),
    )


def cards_of(summaries: Sequence[Facts], labels: Sequence[str]) -> Card:
    """Make the card of several scenarios: a column for each."""
    first = summaries[0]
    differing = differing_inputs(summaries)
    head = [(name, tuple(each.scenario.get(name, "") for each in summaries)) for name in differing]
    setups = [dict(_setup(each)) for each in summaries]
    rows = [
        Row(_SETUP, key, "", tuple(Entry(setup.get(key, "")) for setup in setups))
        for key in dict.fromkeys(key for setup in setups for key in setup)
    ]
    rows = [row for row in rows if any(entry.text for entry in row.entries)]
    outcomes = {outcome.key: outcome for each in summaries for outcome in each.shown}
    rows += [
        Row(outcome.section, outcome.words, outcome.quantity, tuple(_best(each, outcome) for each in summaries))
        for outcome in outcomes.values()
    ]
    by_warning: dict[str, list[str]] = {}
    for label, each in zip(labels, summaries, strict=True):
        for warning in each.warnings:
            by_warning.setdefault(warning, []).append(label)
    every = len(summaries)
    notes = [
        f"{text} ({listed(members)})" * (len(members) < every) or text for text, members in _noted(summaries, labels)
    ]
    shared = {name: x for name, x in first.scenario.items() if name not in differing}
    return Card(
        title=_title(first.kind, shared, every),
        inputs=tuple((name, x) for name, x in shared.items() if name not in ("model", "hardware")),
        head=tuple(head) or (("scenario", tuple(labels)),),
        rows=tuple(rows),
        blocks=tuple(Block(label, _bars(each), _findings(each)) for label, each in zip(labels, summaries, strict=True)),
        warnings=tuple(
            warning if len(members) == every else f"{listed(members)}: {warning}"
            for warning, members in by_warning.items()
        ),
        notes=tuple(notes),
    )


def _noted(summaries: Sequence[Facts], labels: Sequence[str]) -> list[tuple[str, list[str]]]:
    """Return notes of several scenarios, each with the scenarios it is about."""
    notes: dict[str, list[str]] = {}
    for label, each in zip(labels, summaries, strict=True):
        estimate = (
            f"estimate: calibration {each.calibration}, {100 * each.level:g}% band" if each.calibration else BOUND_NOTE
        )
        for note in (estimate, *each.assumed, *each.basis_notes, *each.missing_notes):
            notes.setdefault(note, []).append(label)
    return list(notes.items())


def _title(kind: str, scenario: dict[str, str], count: int = 1) -> str:
    names = " on ".join(scenario[name] for name in ("model", "hardware") if name in scenario)
    if count > 1:
        kind = f"{count} {kind}s"
    return f"{kind[0].upper()}{kind[1:]}{' of' * (kind != CHIP)} {names}" if names else f"{kind[0].upper()}{kind[1:]}"


def _row(summary: Facts, outcome: Outcome, estimated: bool) -> Row:
    """Make the row of an outcome.

    A number that no constant changes has no bound besides its value.
    """
    numbers = summary.numbers(outcome)
    side = _side(summary, outcome)
    bound = _signed(numbers["floor"], outcome.unit, side)
    if not estimated:
        return Row(outcome.section, outcome.words, outcome.quantity, (Entry(bound),))
    estimate = Entry() if math.isnan(numbers["estimate"]) else _best(summary, outcome)
    if estimate.text and outcome.quantity not in carriers_of(current()):
        bound = ""
    return Row(outcome.section, outcome.words, outcome.quantity, (Entry(bound), estimate))


def _side(summary: Facts, outcome: Outcome) -> str:
    return "" if summary.kind == CHIP else bound_of(outcome.quantity, outcome.unit)


def _best(summary: Facts, outcome: Outcome) -> Entry:
    """Return the estimate with its band, or else the bound."""
    numbers = summary.numbers(outcome)
    if math.isnan(numbers["estimate"]):
        return Entry(_signed(numbers["floor"], outcome.unit, _side(summary, outcome)))
    ends = [number_text(numbers[end], outcome.unit) for end in ("lower", "upper")]
    finite = numbers["lower"] > 0 and numbers["upper"] < math.inf
    return Entry(number_text(numbers["estimate"], outcome.unit), _range(*ends) if finite else "")


def _range(low: str, high: str) -> str:
    """Join the ends of a range, the unit once if it is the same: ``"27.7 to 45.3 ms"``."""
    unit = re.search(r"\D*$", high)
    if unit and unit[0] and low.endswith(unit[0]) and low[0].isdigit():
        low = low.removesuffix(unit[0])
    return f"{low} to {high}"


def _signed(x: float, unit: str, side: str) -> str:
    text = number_text(x, unit)
    sign = {"lower": "\N{GREATER-THAN OR EQUAL TO} ", "upper": "\N{LESS-THAN OR EQUAL TO} "}.get(side, "")
    return f"{sign}{text}" if 0 < x < math.inf else text


def _verdict(summary: Facts) -> tuple[str, str]:
    """Return the fit as a sentence, and its tone."""
    memory = summary.memory
    if summary.fits is None or memory is None:
        return "", ""
    used, capacity = (units.format(x, "byte", 3) for x in memory)
    gap = units.format(abs(memory[1] - memory[0]), "byte", 3)
    if summary.fits:
        return f"Fits: {used} of {capacity} per chip, {gap} free.", "good"
    remedy = f" It fits on {summary.fitting_chips} chips." if summary.fitting_chips else ""
    if memory[0] > memory[1]:
        return f"Does not fit: {used} of {capacity} per chip, {gap} too much.{remedy}", "bad"
    return f"Does not fit: no memory for a sequence, {used} of {capacity} per chip are in use.{remedy}", "bad"


def verdict_of(summary: Facts) -> str:
    """Return the fit in words, empty if unknown."""
    if summary.fits is None or summary.memory is None:
        return ""
    used, capacity = summary.memory
    gap = units.format(abs(capacity - used), "byte", 3)
    if summary.fits:
        return f"fits, {gap} free"
    return f"does not fit, {gap} too much" if used > capacity else "does not fit, no memory for a sequence"


def _setup(summary: Facts) -> list[tuple[str, str]]:
    """Return verdict, layout and support in words."""
    pairs = [
        ("memory", verdict_of(summary)),
        ("layout", summary.layout),
        ("formats", summary.dequantized),
        ("support", summary.support.partition(":")[0]),
    ]
    return [(key, text) for key, text in pairs if text]


def _findings(summary: Facts) -> tuple[tuple[str, str], ...]:
    """Return the bottleneck and the changes that help most, as sentences."""
    findings = []
    time = next((split for split in summary.splits if split.name == "time"), None)
    if time is not None:
        shares = sorted(time.parts.items(), key=lambda part: -part[1])[:3]
        parts = listed(f"{part} {x / time.total:.0%}" for part, x in shares)
        findings.append(("Bottleneck", f"{parts} of {_SHORT[time.quantity]}"))
    if summary.changes:
        texts = [
            f"{change.words} {number_text(change.value, 's')} ({change.relative:+.1%})".replace("-", "\N{MINUS SIGN}")
            for change in summary.changes
        ]
        findings.append((f"Lower {_SHORT[summary.changes[0].quantity]}", ", ".join(texts)))
    return tuple(findings)


def _bars(summary: Facts) -> tuple[Bar, ...]:
    return tuple(_bar(split, summary.kind) for split in summary.splits)


def _bar(split: Split, kind: str) -> Bar:
    total = number_text(split.total, split.unit)
    share = "" if len(split.parts) == 1 else " ({:.0%})"
    parts = [
        Part(name, number_text(x, split.unit) + share.format(x / split.total), x) for name, x in split.parts.items()
    ]
    title = _TITLES[split.name] if split.name != "time" else _SHORT[split.quantity]
    if math.isfinite(split.limit):
        total += f" of {number_text(split.limit, split.unit)}"
        parts = [Part(part.label, number_text(part.size, split.unit), part.size) for part in parts]
        if split.total < split.limit:
            free = split.limit - split.total
            parts.append(Part("free", number_text(free, split.unit), free, is_free=True))
    if split.name == "power":
        total += " per chip" if kind == CHIP else " of the run" if kind == TRAINING else " of a replica"
    return Bar(title, total, tuple(parts), split.limit)
