"""Warnings of a summary: queues, inputs without effect, stale prices, assumptions."""

from __future__ import annotations

import contextlib
import datetime
import warnings
from typing import TYPE_CHECKING, Any

from roofslate.errors import RoofslateError, RoofslateWarning
from roofslate.evaluation.value import value
from roofslate.grid.read import Settled
from roofslate.presets.lookup import PRICED, find_preset
from roofslate.presets.validity import age_of, day_of, validity_of

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["assumed", "queueing", "stale", "without_effect"]

_PRESETS_WITH_PRICES = (*PRICED, "site")


def queueing(fits: bool | None, inputs: Mapping[str, Any]) -> list[str]:
    """Warn of requests for which there is no memory."""
    if not fits or not {"concurrency", "workload"}.intersection(inputs):
        return []
    with warnings.catch_warnings(), contextlib.suppress(RoofslateError):
        warnings.simplefilter("ignore", RoofslateWarning)
        running, requests = (float(value(name, Settled(inputs))) for name in ("running_sequences", "concurrency"))
        if running < requests:
            return [f"Memory holds {running:,.4g} of {requests:,.4g} concurrent requests. The others queue."]
    return []


def without_effect(attrs: Mapping[str, str]) -> list[str]:
    """Warn of members of the scenario that no outcome depends on."""
    return [f"Without effect: {attrs['unused']}."] if attrs.get("unused") else []


def stale(inputs: Mapping[str, Any], day: Any, limit: float) -> list[str]:
    """Warn of prices that ended before the day, or were last seen too long before it."""
    moment = day_of(day) if day is not None else _today()
    lines = []
    for keyword in _PRESETS_WITH_PRICES:
        if keyword not in inputs or isinstance(inputs[keyword], (list, tuple)):
            continue
        preset = find_preset(keyword, inputs[keyword])
        end = validity_of(preset)[1]
        seen, days = age_of(preset, moment)
        if end and end < moment[: len(end)]:
            lines.append(f"Stale price: {keyword}={preset.name!r} ended on {end}, before {moment}.")
        elif days * 86400 > limit:
            lines.append(
                f"Stale price: {keyword}={preset.name!r} was last seen on {seen}, {days} days before {moment}, more "
                f"than {limit / 86400:g} days."
            )
    return lines


def _today() -> str:
    return datetime.date.today().isoformat()


def assumed(inputs: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the open points of a model from config.json."""
    model = inputs.get("model")
    attributes = find_preset("model", model).attributes if model is not None else {}
    lines = (("model not fully read", "not_read"), ("model, assumed", "assumed"))
    return tuple(f"{words}: {attributes[name]}" for words, name in lines if name in attributes)
