"""`rs.quantiles`: exact quantiles over a grid."""

from __future__ import annotations

import copy
import dataclasses
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from roofslate import _core
from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.folds.chunks import Folding, reduce
from roofslate.folds.fold import Chunk, Fold
from roofslate.folds.histogram import Histogram
from roofslate.folds.request import FoldRequest, Names, only_value
from roofslate.grid.basis import basis
from roofslate.grid.grid import Grid, Input
from roofslate.grid.label import UnitsOfOutputs, conversions, said_of
from roofslate.grid.read import with_scenario
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray as xr

    from roofslate._base.progress import ProgressWish

__all__ = ["Quantiles", "quantiles"]


@dataclass(frozen=True)
class Quantiles(Fold):
    """Order statistics: the sorted values around each quantile, and its fraction between."""

    value: str
    q: list[float]

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float64)
    passes: ClassVar[int] = 2
    prunes: ClassVar[bool] = False

    @property
    def length(self) -> int:
        return 3 * len(self.q)

    def core(self) -> _core.Quantiles:
        return _core.Quantiles([("quantity", self.value)], self.q)

    def of_chunk(self, chunk: Chunk) -> Any:
        return chunk.run(self)[0]

    def of_chunks(self, folding: Folding) -> Any:
        return _in_chunks(folding, self.value, self.q)

    def as_engine(self, merged: Any) -> tuple[Any, Any]:
        return merged.reshape(-1), np.empty(0, np.int64)


def quantiles(
    output: str,
    q: float | Sequence[float],
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    units: UnitsOfOutputs | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> float | xr.DataArray:
    """Compute exact quantiles of a quantity over a grid, in base units or in `units`.

    Parameters
    ----------
    output : str
        Name of a quantity.
    q : float or sequence of float
        From 0 to 1. 0.5 is the median. Interpolates between two values as NumPy does (``"linear"``).
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    over : str or list of str, optional
        Axes whose points form one sample. By default all.
    units : str or dict of str, optional
        Unit of the result.
    threads, progress
        As for `evaluate`.
    n, seed, correlation
        As for `sample`, if inputs are ranges or distributions. The draws form the reduced axis ``sample``.
    **inputs
        As for `evaluate`, and ranges or distributions as for `sample`.

    Returns
    -------
    float or xarray.DataArray
        With the axis ``quantile`` first if `q` is a sequence, then the remaining axes. NaN values are skipped.

    Raises
    ------
    AxisError, MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.quantiles("pass_tokens", 0.5, batch_size=range(1, 9))
    4.5
    """
    inputs = with_scenario(scenario, inputs)
    import xarray as xr

    name = only_value(output)
    try:
        probabilities = np.array(q, dtype=float)
    except (TypeError, ValueError, OverflowError, MemoryError):
        raise InputTypeError(f"q: expected numbers from 0 to 1, got {shown(q)}") from None
    if probabilities.ndim > 1 or probabilities.size == 0 or q is None:
        raise InputTypeError(f"q: expected a number from 0 to 1 or a list of them, got {shown(q)}")
    if not np.all((probabilities >= 0) & (probabilities <= 1)):
        raise ValueRangeError(f"q: expected numbers from 0 to 1, got {shown(q)}")
    factor, unit = conversions([name], units).get(name, (1.0, lookup(name).unit))
    request = FoldRequest(inputs, [name], (), over, (n, seed, correlation), threads=threads)
    request.refuse("quantile")
    fold = Quantiles(name, np.atleast_1d(probabilities).tolist())
    statistics, _, axes = reduce(request, fold, threads=threads, progress=progress)
    dims = request.dims(axes)
    before, after, share = np.moveaxis(statistics.reshape((*request.shape(dims), -1, 3)), -1, 0)
    with np.errstate(invalid="ignore"):
        step = after - before
        between = np.where(share < 0.5, before + step * share, after - step * (1 - share))
    values = np.where((before == after) | (share == 0), before, between)
    values = np.moveaxis(values, -1, 0) / factor
    coords = request.coords(dims)
    if probabilities.ndim == 0:
        if not dims:
            return float(values[0])
        values = values[0]
    else:
        dims, coords = ["quantile", *dims], {"quantile": probabilities, **coords}
    attrs = {"units": unit, "long_name": lookup(name).brief, **basis([name], request.grid)}
    attrs |= said_of(request.grid)
    return xr.DataArray(values, dims=dims, coords=coords, name=name, attrs=attrs)


@dataclass(frozen=True)
class _RowsOfCounts(Fold):
    """Counts of values between edges, with a row of edges per remaining point.

    Rows of edges are padded with NaN.
    """

    value: str
    edges: int  # of the longest row

    @property
    def length(self) -> int:
        return self.edges + 1

    def core(self) -> _core.Histogram:
        return _core.Histogram([("quantity", self.value)], [0.0, 1.0])

    def of_chunk(self, chunk: Chunk) -> Any:
        (edges,) = chunk.more
        rows = [row[~np.isnan(row)] for row in edges.reshape((-1, edges.shape[-1]))]
        counts = np.zeros((len(rows), edges.shape[-1] + 1), np.int64)
        alike = all(np.array_equal(row, rows[0]) for row in rows)
        for k, row in enumerate(rows[:1] if alike else rows):
            if len(row):
                at = {} if alike else dict(zip(chunk.dims, np.unravel_index(k, edges.shape[:-1]), strict=False))
                point = dataclasses.replace(chunk, request=_at_point(chunk.request, at))
                of_row = point.run(Histogram(self.value, row.tolist()))[1]
                filled = slice(None) if alike else slice(k, k + 1)
                counts[filled, : len(row) + 1] = of_row.reshape((-1, len(row) + 2))[:, :-1]  # without the count of NaN
        return counts


def _at_point(request: FoldRequest, at: Mapping[str, Any]) -> FoldRequest:
    """Restrict a request to one point of some axes."""
    one = copy.copy(request)
    one.grid = Grid(sizes={dim: 1 if dim in at else n for dim, n in request.grid.sizes.items()})
    for name, i in request.grid.inputs.items():
        index = tuple(slice(at[dim], at[dim] + 1) if dim in at else slice(None) for dim in i.dims)
        one.grid.inputs[name] = Input(i.quantity, i.values[index] if i.dims else i.number, i.dims)
    return one


_INFINITY = 0x7FF << 52  # as an ordinal


_MOST_EDGES = 1 << 14  # per remaining point


_MOST_COUNTS = 1 << 19  # of all remaining points together


_FEWEST_EDGES = 32


def _turned(numbers: Any) -> Any:
    """Map doubles to integers in the same order, or back. Both zeros map to 0."""
    return np.where(numbers < 0, np.iinfo(np.int64).min - numbers, numbers)


def _in_chunks(folding: Folding, value: str, q: Sequence[float]) -> Any:
    """Compute order statistics, in one pass if each remaining point fits into a chunk."""
    sizes, of_axis = folding.chunks.grid.sizes, folding.chunks.of_axis
    folded = [dim for dim in folding.dims if dim not in folding.remaining]
    capacity = math.prod(max(of_axis.get(dim, (sizes[dim],))) for dim in folding.dims)
    capacity //= math.prod(sizes[dim] for dim in folded)
    if not capacity:
        return _narrowed(folding, value, q)
    cuts: dict[str, tuple[int, ...]] = {dim: (sizes[dim],) for dim in folded}
    for dim in reversed(folding.remaining):
        length = min(sizes[dim], max(capacity, 1))
        capacity //= length
        full, remainder = divmod(sizes[dim], length)
        cuts[dim] = (length,) * full + (remainder,) * (remainder > 0)
    return folding.over(folding.chunks.recut(cuts)).ask(Quantiles(value, list(q)))


def _narrowed(folding: Folding, value: str, q: Sequence[float]) -> Any:
    """Compute order statistics in many passes, each narrowing intervals of doubles."""
    grid = folding.chunks.grid
    shape = tuple(grid.sizes[dim] for dim in folding.remaining)
    rows = math.prod(shape)
    low = np.full((rows, 2 * len(q)), -_INFINITY)
    high = np.full_like(low, _INFINITY)
    ranks = np.zeros_like(low)
    shares = np.empty((rows, len(q)))
    budget = min(max(_MOST_COUNTS // rows, _FEWEST_EDGES), _MOST_EDGES)
    first = True
    while first or (low + 1 < high).any():
        edges = [_edges_between(*ends, budget) for ends in zip(low, high, strict=True)]
        padded = np.full((rows, max(map(len, edges))), np.nan)
        for row, row_edges in zip(padded, edges, strict=True):
            row[: len(row_edges)] = _turned(row_edges).view(np.float64)
        edge_rows = padded.reshape((*shape, -1))
        counts = folding.ask(_RowsOfCounts(value, padded.shape[1]), edges=edge_rows).reshape((rows, -1))
        for k, row_edges in enumerate(edges):
            if not len(row_edges):
                continue
            below = np.cumsum(counts[k, : len(row_edges)])  # each edge
            if first:
                ranks[k], shares[k] = _ranks(q, int(below[-1] + counts[k, len(row_edges)]))
            at = np.searchsorted(below, ranks[k], side="right") - 1
            open_ = low[k] + 1 < high[k]
            low[k] = np.where(open_, row_edges[at], low[k])
            high[k] = np.where(open_, np.append(row_edges, _INFINITY + 1)[at + 1], high[k])
        first = False
    statistics = _turned(low).view(np.float64).reshape((rows, len(q), 2))
    statistics[np.isnan(shares)] = np.nan
    return np.concatenate([statistics, shares[..., np.newaxis]], axis=-1)


def _ranks(q: Sequence[float], n: int) -> tuple[Any, Any]:
    """Return two ranks among n sorted values for each of `q`, and the fraction between."""
    if n == 0:
        return 0, np.nan
    rank = np.array(q) * float(n - 1)
    before = np.minimum(np.floor(rank).astype(np.int64), n - 1)
    return np.stack([before, np.minimum(before + 1, n - 1)], axis=-1).reshape(-1), rank - np.floor(rank)


def _edges_between(low: Any, high: Any, budget: int) -> Any:
    """Divide the intervals [low, high) into equal slots, as ordinals, ending in infinity."""
    stretches = {(int(a), int(b)) for a, b in zip(low, high, strict=True) if a + 1 < b}
    pieces = []
    for a, b in stretches:
        step = -((a - b) // max(budget // len(stretches), 2))
        slots = np.arange(-((a - b) // step), dtype=np.uint64) * np.uint64(step)
        pieces += [(slots + np.uint64(a % 2**64)).view(np.int64), [b]]
    return np.unique(np.concatenate([*pieces, [_INFINITY]]).astype(np.int64)) if pieces else np.empty(0, np.int64)
