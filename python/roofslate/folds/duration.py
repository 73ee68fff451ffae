"""A word before a fold that would take days."""

from __future__ import annotations

import math
import time
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import warn
from roofslate.errors import RoofslateWarning

if TYPE_CHECKING:
    from collections.abc import Callable

    from roofslate.folds.fold import Fold
    from roofslate.folds.request import FoldRequest

__all__ = ["announced"]

_RATE = 2e9  # points a second that a thread looks at, or fewer
_DAY = 86400.0
_YEAR = 365.25 * _DAY
_PATIENCE = 10.0  # seconds of a search that might have ended by its bounds


def announced(
    fold: Fold, request: FoldRequest, callback: Callable[[int, Any], Any] | None, threads: int, prune: bool
) -> Callable[[int, Any], Any] | None:
    """What the engine is to call; warns where all points would take more than a day.

    Of a fold that looks at all points at once, of one that bounds may end soon once it has run for a while.
    """
    sizes = list(request.grid.sizes.values())
    if math.prod(sizes) < _RATE * _DAY / fold.passes:  # asks no graph
        return callback
    varied = request.grid.core.axes_of(fold.core())
    points = math.prod(sizes[axis] for axis in varied)
    seconds = fold.passes * points / (_RATE * threads)
    if seconds < _DAY:
        return callback
    on = f"{threads} thread{'s' * (threads > 1)}"
    name = fold.called or type(fold).__name__.lower()
    least = f"at least {_time(seconds)} on {on}"
    if not (prune and fold.prunes):
        warn(f"{name} looks at all {float(points):.2g} points: {least}. Ctrl-C stops it", RoofslateWarning)
        return callback
    start = time.monotonic()
    said = False

    def call(done: int, total: Any) -> Any:
        nonlocal said
        if not said and time.monotonic() - start > _PATIENCE:
            said = True
            warn(
                f"{name} still searches {float(points):.2g} points: if bounds spare none of them, {least}. "
                "Ctrl-C stops it",
                RoofslateWarning,
            )
        return None if callback is None else callback(done, total)

    return call


def _time(seconds: float) -> str:
    return f"{seconds / _YEAR:,.0f} years" if seconds > 2 * _YEAR else f"{seconds / _DAY:,.0f} days"
