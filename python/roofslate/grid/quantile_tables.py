"""Inverse distribution functions as polynomial tables, 100 times as fast as SciPy's."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import _core
from roofslate.errors import ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["BITS", "tabulate"]


Values = npt.NDArray[np.float64]


Places = npt.NDArray[np.int64]


BITS = 32  # of a draw: the probability (x + 1/2) / 2**32 for a whole x


_BINS = 16  # of an octave


_TERMS = 6  # of a polynomial


_TOLERANCE = 1e-10  # relative to a value, or to the range of a piece's values


_MOST_PIECES = 1 << 16


# Chebyshev's points, stretched to the ends; between them a polynomial through them is checked.
_NODES = (1 - np.cos((2 * np.arange(_TERMS) + 1) * np.pi / (2 * _TERMS)) / np.cos(np.pi / (2 * _TERMS))) / 2


_BETWEEN = (_NODES[1:] + _NODES[:-1]) / 2


def tabulate(
    below: Callable[[Values], Any], above: Callable[[Values], Any], *, steps: bool = False
) -> tuple[_core.InverseDistribution, float, float]:
    """Tabulate a distribution's inverse for the engine, with its least and largest value.

    The lower half of probabilities is tabulated by the distance to 0, the upper half by the distance to 1. Draws use a
    lattice of 2**32 probabilities. A piece with few of them is checked at all, a larger one at points between, and
    halved until the error is below 1e-10 of the value or of the range of the piece's values.

    Parameters
    ----------
    below : function
        The value at a probability.
    above : function
        The value that is exceeded with a probability.
    steps : bool
        Whether the distribution is discrete: pieces are constant then, and exact.

    Raises
    ------
    ValueRangeError
        Where a value is not finite, or so many pieces would be needed that no table can be made.
    """
    first, last = _bins()
    bin_index = np.arange(first.size)
    upper = bin_index >= bin_index.size // 2
    done: list[tuple[Any, ...]] = []
    pieces = 0
    while first.size:
        ends, coefficients, right = _fitted(first, last, upper, below, above, steps)
        done.append((bin_index[right], first[right], ends[right], coefficients[right]))
        pieces += int(right.sum()) + 2 * int((~right).sum())
        if pieces > _MOST_PIECES:
            raise ValueRangeError("its inverse distribution function has too many steps, or is too rough, for a table")
        again = np.repeat(np.flatnonzero(~right), 2)
        bin_index, upper, first, last = bin_index[again], upper[again], first[again], last[again]
        middle = (first[::2] + last[::2]) // 2
        first[1::2], last[::2] = middle, middle
    bins, starts, ends, coefficients = (np.concatenate(column) for column in zip(*done, strict=True))
    order = np.lexsort((starts, bins))
    bins, ends, coefficients = bins[order], ends[order], coefficients[order]
    same = (bins[1:] == bins[:-1]) & (coefficients[1:, 2] == coefficients[:-1, 2]) & _constant(coefficients)[1:]
    is_last = ~np.append(
        same & _constant(coefficients)[:-1], False
    )  # of equal neighbours the last one reaches over all
    bins, ends, coefficients = bins[is_last], ends[is_last], coefficients[is_last]
    starts = np.searchsorted(bins, np.arange(2 * BITS * _BINS + 1)).astype(np.uint32)
    low, high = (float(f(np.array([2.0 ** -(BITS + 1)]))[0]) for f in (below, above))
    return _core.InverseDistribution(starts, ends, coefficients, low, high), low, high


def _bins() -> tuple[Places, Places]:
    """Return the first lattice point of each bin and the end, one point for empty ones."""
    octave, part = np.divmod(np.arange(BITS * _BINS), _BINS)
    # v = (y + 1/2) / 2**32 is in [1 + part/16, 1 + (part + 1)/16) 2**(octave - 33)
    edges = [np.ceil((2.0**octave * (1 + (part + k) / _BINS) - 1) / 2).astype(np.int64) for k in (0, 1)]
    first = np.minimum(edges[0], (1 << (BITS - 1)) - 1)
    return np.tile(first, 2), np.tile(np.maximum(edges[1], first + 1), 2)


def _distance(y: Any) -> Any:
    return (y + 0.5) * 2.0**-BITS


def _constant(coefficients: Values) -> npt.NDArray[np.bool_]:
    flat: npt.NDArray[np.bool_] = np.all(coefficients[:, 3:] == 0, axis=1)
    return flat


def _fitted(
    first: Places, last: Places, upper: Any, below: Any, above: Any, steps: bool
) -> tuple[Values, Values, npt.NDArray[np.bool_]]:
    """For each piece its end, its middle, scale and coefficients, and whether it is right."""

    def values(y: Places, of: Any) -> Values:
        result = np.empty(y.shape)
        side = upper[of]
        result[~side] = below(_distance(y[~side]))
        result[side] = above(_distance(y[side]))
        if not np.all(np.isfinite(result)):
            raise ValueRangeError("its inverse distribution function is not finite everywhere")
        return result

    ends = _distance(last - 0.5)
    count = last - first
    middle, half = _distance((first + last - 1) / 2), (count - 1) / 2 * 2.0**-BITS
    scale = np.where(half > 0, 1 / np.where(half > 0, half, 1), 0)
    coefficients = np.zeros((first.size, 2 + _TERMS))
    coefficients[:, 0], coefficients[:, 1] = middle, scale
    right = count <= _TERMS
    for points in range(1, _TERMS + 1):
        (of,) = np.nonzero(np.minimum(count, _TERMS) == points)
        if not of.size:
            continue
        share = _NODES if points == _TERMS else np.arange(points) / max(points - 1, 1)
        y = first[of, None] + np.rint(share * (count[of, None] - 1)).astype(np.int64)
        at_nodes = values(y, of)
        nodes = (_distance(y) - middle[of, None]) * scale[of, None]
        powers = nodes[..., None] ** np.arange(points)
        coefficients[of, 2 : 2 + points] = np.linalg.solve(powers, at_nodes[..., None])[..., 0]
        flat = np.all(at_nodes == at_nodes[:, :1], axis=1)
        coefficients[of[flat], 2:] = 0
        coefficients[of[flat], 2] = at_nodes[flat, 0]
        if steps:
            right[of] = flat
        elif points == _TERMS:
            y = first[of, None] + np.rint(_BETWEEN * (count[of, None] - 1)).astype(np.int64)
            exact = values(y, of)
            t = (_distance(y) - middle[of, None]) * scale[of, None]
            fitted = np.einsum("pnk,pk->pn", t[..., None] ** np.arange(_TERMS), coefficients[of, 2:])
            spread = np.ptp(at_nodes, axis=1)[:, None]
            off = np.abs(fitted - exact) > _TOLERANCE * np.maximum(np.abs(exact), spread)
            right[of] |= ~off.any(axis=1)
    return ends, coefficients, right
