"""A warning before a reduction that takes days."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import warn
from roofslate.errors import RoofslateWarning

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["announced", "takes_days"]

_RATE = 2e9  # points per second and thread, an upper limit
_DAY = 86400.0
_YEAR = 365.25 * _DAY
_PATIENCE = 10.0  # seconds before the warning, as pruning may end a search early


def takes_days(points: int, threads: int) -> bool:
    """Return True if a scan of so many points takes more than a day."""
    return points > _DAY * _RATE * threads


def announced(
    name: str,
    points: int,
    passes: int,
    threads: int,
    callback: Callable[[int, Any], Any] | None,
    *,
    may_end: bool,
) -> Callable[[int, Any], Any] | None:
    """Wrap the engine's progress callback with a warning about reductions of more than a day.

    The warning comes at once if every point is scanned, and after some seconds if pruning may end the search early.
    """
    if not takes_days(passes * points, threads):
        return callback
    least = f"at least {_time(passes * points / (_RATE * threads))} on {threads} thread{'s' * (threads > 1)}"
    if not may_end:
        text = f"{name} scans all {float(points):.2g} points: {least}."
        warn(f"{text} Reduce the axes, or press Ctrl-C to stop.", RoofslateWarning)
        return callback
    start = time.monotonic()
    said = False

    def call(done: int, total: Any) -> Any:
        nonlocal said
        if not said and time.monotonic() - start > _PATIENCE:
            said = True
            text = f"{name} is still searching {float(points):.2g} points. Without pruning it takes {least}."
            warn(f"{text} Reduce the axes, or press Ctrl-C to stop.", RoofslateWarning)
        return None if callback is None else callback(done, total)

    return call


def _time(seconds: float) -> str:
    return f"{seconds / _YEAR:,.0f} years" if seconds > 2 * _YEAR else f"{seconds / _DAY:,.0f} days"
