"""Spacing of points: factors or steps, range, and edges."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import numpy.typing as npt

__all__ = ["FEW", "edges_of", "grows_by_factors", "is_wide"]

FEW = 8  # an axis of at most so many values becomes lines


def grows_by_factors(points: npt.NDArray[Any]) -> bool:
    """Return True if points are closer to a constant ratio than to a constant step."""
    import numpy as np

    if points.size < 3 or points.min() <= 0 or points.max() < 8 * points.min():
        return False
    steps = np.abs(np.diff(points.astype(float)))
    ratios = np.abs(np.diff(np.log(points.astype(float))))
    return bool(ratios.std() / ratios.mean() < steps.std() / steps.mean())


def is_wide(values: npt.NDArray[Any]) -> bool:
    """Return True if values need a logarithmic scale."""
    import numpy as np

    finite = values[np.isfinite(values)]
    return bool(finite.size and finite.min() > 0 and finite.max() / finite.min() > 50)


def edges_of(points: npt.NDArray[Any], *, log: bool) -> npt.NDArray[Any]:
    """Return the edges of the intervals around points."""
    import numpy as np

    at = np.log(points) if log else points.astype(float)
    inner = (at[1:] + at[:-1]) / 2
    edges = np.concatenate([[2 * at[0] - inner[0]], inner, [2 * at[-1] - inner[-1]]])
    return np.exp(edges) if log else edges
