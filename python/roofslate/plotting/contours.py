"""Round contour levels, and label positions in regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["heart", "levels_of"]


def levels_of(values: Any, *, log: bool) -> list[float]:
    """Return at most a dozen round values between minimum and maximum, for contours."""
    import numpy as np
    from matplotlib.ticker import LogLocator, MaxNLocator

    if not values.count() or values.min() == values.max():
        return []
    low, high = float(values.min()), float(values.max())
    locator = LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=12) if log else MaxNLocator(7)
    return [float(level) for level in np.asarray(locator.tick_values(low, high)) if low < level < high]


def heart(inside: npt.NDArray[Any]) -> tuple[int, int]:
    """Return a point deep inside a region."""
    import numpy as np

    depth = np.zeros(inside.shape, dtype=int)
    remaining = np.pad(inside, 1)
    while remaining.any():
        depth += remaining[1:-1, 1:-1]
        remaining[1:-1, 1:-1] &= remaining[:-2, 1:-1] & remaining[2:, 1:-1] & remaining[1:-1, :-2] & remaining[1:-1, 2:]
    deepest = np.argwhere(depth == depth.max())
    row, column = deepest[np.abs(deepest - deepest.mean(axis=0)).sum(axis=1).argmin()]
    return int(row), int(column)
