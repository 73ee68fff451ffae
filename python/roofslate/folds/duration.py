"""A word before a fold that would take days."""

from __future__ import annotations

import time
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import warn
from roofslate.errors import RoofslateWarning

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["announced", "takes_days"]

_RATE = 2e9  # points a second that a thread looks at, or fewer
_DAY = 86400.0
_YEAR = 365.25 * _DAY
_PATIENCE = 10.0  # seconds of a search that might have ended by its bounds


def takes_days(points: int, threads: int) -> bool:
    """Whether to look at so many points takes more than a day."""
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
    """What the engine is to call for progress; warns where a fold takes more than a day.

    At once where it looks at all points, after a while where bounds may end it soon.
    """
    if not takes_days(passes * points, threads):
        return callback
    least = f"at least {_time(passes * points / (_RATE * threads))} on {threads} thread{'s' * (threads > 1)}"
    if not may_end:
        warn(f"{name} looks at all {float(points):.2g} points: {least}. Ctrl-C stops it", RoofslateWarning)
        return callback
    start = time.monotonic()
    said = False

    def call(done: int, total: Any) -> Any:
        nonlocal said
        if not said and time.monotonic() - start > _PATIENCE:
            said = True
            text = f"{name} still searches {float(points):.2g} points: if bounds spare none of them, {least}."
            warn(f"{text} Ctrl-C stops it", RoofslateWarning)
        return None if callback is None else callback(done, total)

    return call


def _time(seconds: float) -> str:
    return f"{seconds / _YEAR:,.0f} years" if seconds > 2 * _YEAR else f"{seconds / _DAY:,.0f} days"
