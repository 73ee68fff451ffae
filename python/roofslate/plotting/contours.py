"""Round levels of contours, and the places of names in regions."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["heart", "levels_of"]


def levels_of(values: Any, *, log: bool) -> list[float]:
    """Round values between least and most for contours, at most a dozen."""
    import numpy as np
    from matplotlib.ticker import LogLocator, MaxNLocator

    if not values.count() or values.min() == values.max():
        return []
    low, high = float(values.min()), float(values.max())
    locator = LogLocator(subs=(1, 2, 5) if high < 1000 * low else (1,), numticks=12) if log else MaxNLocator(7)
    return [float(level) for level in np.asarray(locator.tick_values(low, high)) if low < level < high]


def heart(inside: npt.NDArray[Any]) -> tuple[int, int]:
    """Point of a region that is deep inside of it."""
    import numpy as np

    depth = np.zeros(inside.shape, dtype=int)
    left = np.pad(inside, 1)
    while left.any():
        depth += left[1:-1, 1:-1]
        left[1:-1, 1:-1] &= left[:-2, 1:-1] & left[2:, 1:-1] & left[1:-1, :-2] & left[1:-1, 2:]
    deepest = np.argwhere(depth == depth.max())
    row, column = deepest[np.abs(deepest - deepest.mean(axis=0)).sum(axis=1).argmin()]
    return int(row), int(column)
