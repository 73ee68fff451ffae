"""Validity periods of prices, and stale, unverified, or contradicted preset numbers."""

from __future__ import annotations

import datetime
import itertools
from typing import TYPE_CHECKING

from roofslate._base.messages import shown
from roofslate.errors import PresetError
from roofslate.presets.preset import is_date

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from roofslate.presets.preset import Preset

__all__ = ["FINDINGS", "age_of", "day_of", "days_outside", "findings_of", "series_of", "validity_of"]

FINDINGS = ("preset", "quantity", "finding", "value", "reason")  # columns
_PRICES = ("prices", "api_prices")  # kinds
_LONGEST = 366  # days that a price in force may be old


def day_of(date: object) -> str:
    """A day as text, ``"2026-03-01"``."""
    day = date.isoformat()[:10] if isinstance(date, datetime.date) else date
    if not isinstance(day, str) or len(day) != 10 or not is_date(day):
        raise PresetError(f"expected a day such as '2026-03-01', got {shown(date)}")
    return day


def series_of(preset: Preset) -> str:
    """Name that entries share which follow each other."""
    return str(preset.attributes.get("series", preset.name))


def validity_of(preset: Preset) -> tuple[str, str]:
    """Return first and last date of a price, empty without an end. The source dates the first."""
    return str(preset.attributes.get("valid_from", preset.date)), str(preset.attributes.get("valid_until", ""))


def age_of(preset: Preset, day: str) -> tuple[str, int]:
    """Return the date a price was last seen in a source, and its age on a day.

    The age is 0 unless the date is earlier than the day.
    """
    seen = max(preset.date, str(preset.attributes.get("last_seen", "")))
    date = seen + "0000-12-28"[len(seen) :]
    return seen, _days_between(date, day) if seen and date < day else 0


def days_outside(preset: Preset, day: str) -> int:
    """Return the days between a day and a preset's validity period.

    A month or a year counts in full.
    """
    start, end = validity_of(preset)
    if day[: len(start)] >= start and (not end or day[: len(end)] <= end):
        return 0
    limit = start + "0000-01-01"[len(start) :] if day < start else end + "0000-12-28"[len(end) :]
    return max(1, _days_between(limit, day))


def findings_of(presets: Sequence[Preset], day: str) -> list[tuple[str, str, str, str, str]]:
    """Rows of `FINDINGS`, contradictions first."""
    findings = [*_contradicted(presets), *_stale(presets, day), *_unverified(presets)]
    return [
        (preset.name, quantity, finding, str(preset.facts[quantity]), why)
        for preset, quantity, finding, why in findings
    ]


def _contradicted(presets: Sequence[Preset]) -> Iterator[tuple[Preset, str, str, str]]:
    """Yield contradicted figures without a decision, and entries of a series with common days."""
    for preset in presets:
        for conflict in preset.conflicts:
            if not conflict.decision:
                yield preset, conflict.quantity, "contradicted", f"{conflict.fact}: {conflict.fact.origin}"
    for entries in _by_series(presets).values():
        ordered = sorted(entries, key=validity_of)
        for earlier, later in itertools.pairwise(ordered):
            start, end = validity_of(later)[0], validity_of(earlier)[1]
            if not end or end[: len(start)] > start[: len(end)] or (end == start and len(end) == len("2026-03-01")):
                yield earlier, next(iter(earlier.facts)), "contradicted", f"{later.name} is valid from {start}"


def _stale(presets: Sequence[Preset], day: str) -> Iterator[tuple[Preset, str, str, str]]:
    """Yield prices whose series ended before the day, or whose date is over a year earlier."""
    for entries in _by_series(presets).values():
        holding = [preset for preset in entries if not days_outside(preset, day)]
        newest = max(holding or entries, key=validity_of)
        start, end = validity_of(newest)
        seen, days = age_of(newest, day)
        if not holding and start <= day:
            yield newest, next(iter(newest.facts)), "stale", f"ended on {end}, and no entry follows"
        elif holding and days > _LONGEST:
            yield newest, next(iter(newest.facts)), "stale", f"its source is of {seen}"


def _unverified(presets: Sequence[Preset]) -> Iterator[tuple[Preset, str, str, str]]:
    """Numbers of a preset's own that were not checked in their source."""
    facts = {preset.name: preset.facts for preset in presets}
    for preset in presets:
        inherited = facts.get(preset.bases[0], {}) if preset.bases else {}
        for quantity in preset.unverified:
            if preset.facts[quantity] != inherited.get(quantity):
                yield preset, quantity, "unverified", preset.facts[quantity].source


def _by_series(presets: Sequence[Preset]) -> dict[str, list[Preset]]:
    """Prices by series."""
    series: dict[str, list[Preset]] = {}
    for preset in presets:
        if preset.kind in _PRICES:
            series.setdefault(series_of(preset), []).append(preset)
    return series


def _days_between(first: str, second: str) -> int:
    return abs((datetime.date.fromisoformat(first) - datetime.date.fromisoformat(second)).days)
