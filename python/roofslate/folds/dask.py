"""Folds over grids in chunks of dask: each chunk is folded where it lies, and the answers are merged.

The answers to a fold are small arrays, which dask merges as a tree; no task takes more than a chunk of each input.
"""

from __future__ import annotations

import abc
import copy
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from roofslate import _core
from roofslate._base.threads import thread_count
from roofslate.grid.dask import Chunks, Part, Task, single
from roofslate.grid.grid import Grid, Input, spread
from roofslate.grid.run import run
from roofslate.registry.scopes import within

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roofslate.folds.request import Question
    from roofslate.registry.values import Values

__all__ = ["fold"]


@dataclass(eq=False)
class _Fold(Task, abc.ABC):
    """Folds one chunk of the grid.

    The result has an axis for each one that the answer to the question varies along, of one where it is folded, and a
    last axis for the numbers of the answer.
    """

    question: Any  # without its grid
    part: Part
    what: tuple[Any, ...]
    own: tuple[str, ...]
    split: tuple[str, ...]  # those in chunks
    sizes: dict[str, int]  # of the whole grid
    threads: int
    prune: bool

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.int64)

    def __call__(self, *blocks: Any) -> Any:
        arrays, rest = blocks[: len(self.part.arrays)], blocks[len(self.part.arrays) :]
        question = copy.copy(self.question)
        starts = {dim: int(positions[0]) for dim, positions in zip(self.split, rest, strict=False)}
        with within(self.part.definitions):
            question.grid = self.part.grid(arrays)
            shape = [1 if dim in question.folded else question.grid.sizes[dim] for dim in self.own]
            return self.folded(question, starts, *rest[len(self.split) :]).reshape((*shape, -1))

    @abc.abstractmethod
    def folded(self, question: Question, starts: Mapping[str, int]) -> Any:
        """The answer for one chunk, which starts at these positions."""

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:
        """Answers of neighbours as one; the axes stay, of length one."""
        return x.sum(axis=axis, keepdims=keepdims)

    def ask(self, question: Question, call: Any, *what: Any) -> Any:
        return question.run(call, *what, threads=self.threads, progress=False, prune=self.prune)

    def places(self, question: Question, where: Any, starts: Mapping[str, int]) -> Any:
        """Positions in the chunk as positions in the whole grid; what is nowhere stays so."""
        if not question.folded:
            return where
        at = question.places(where)
        moved = [at[dim].astype(np.int64) + starts.get(dim, 0) for dim in question.folded]
        whole = np.ravel_multi_index(moved, tuple(self.sizes[dim] for dim in question.folded))
        return np.where(where < 0, where, whole)

    def values(self, grid: Grid, formula: Any, dims: Sequence[str], maximize: bool) -> Values:
        """A quantity on all of some axes; what is to be large has its sign turned."""
        ((_, name),) = formula
        ((values, own),), _ = run(grid, [name], threads=self.threads, progress=False)
        values = np.broadcast_to(spread(values, own, dims), [grid.sizes[dim] for dim in dims])
        return -values if maximize else values


class _Count(_Fold):
    """How many points meet conditions."""

    def folded(self, question: Question, starts: Mapping[str, int]) -> Any:  # noqa: ARG002
        return self.ask(question, _core.count, *self.what)[0]


class _Histogram(_Fold):
    """How many values lie between edges."""

    def folded(self, question: Question, starts: Mapping[str, int]) -> Any:  # noqa: ARG002
        return self.ask(question, _core.histogram, *self.what)[0]


class _Extent(_Fold):
    """The smallest finite value, and the largest one with its sign turned: both are to be small."""

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float64)

    def folded(self, question: Question, starts: Mapping[str, int]) -> Any:  # noqa: ARG002
        low, high = self.ask(question, _core.finite_extent, *self.what)
        return np.array([low, -high])

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:
        return x.min(axis=axis, keepdims=keepdims)


class _Best(_Fold):
    """The best value and its place."""

    dtype: ClassVar[np.dtype[Any]] = np.dtype([("value", np.float64), ("where", np.int64)])

    def folded(self, question: Question, starts: Mapping[str, int]) -> Any:
        _, maximize, _ = self.what
        values, where, axes = self.ask(question, _core.best, *self.what)
        found = np.empty(where.shape, self.dtype)
        found["value"] = -values if maximize else values
        found["where"] = self.places(question, where, starts)
        return found.reshape(question.shape(question.dims(axes)))

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:  # noqa: ARG004
        kept = [k for k in range(x.ndim) if k not in axis]
        groups = x.transpose([*kept, *axis]).reshape((*(x.shape[k] for k in kept), -1))
        order = np.lexsort((groups["where"], groups["value"], groups["where"] < 0), axis=-1)
        first = np.take_along_axis(groups, order[..., :1], axis=-1)
        return first.reshape([1 if k in axis else n for k, n in enumerate(x.shape)])


@dataclass
class _Front:
    """Points of which none beats another: values that are to be small, and places in the whole grid."""

    values: Values
    where: Any


class _Pareto(_Fold):
    """The points that no other point beats."""

    dtype: ClassVar[np.dtype[Any]] = np.dtype(object)

    def folded(self, question: Question, starts: Mapping[str, int]) -> Any:
        objectives, maximize, _ = self.what
        where = self.ask(question, _core.pareto, *self.what)
        values = np.empty((where.size, len(objectives)))
        if where.size:
            grid = question.at_places(question.places(where), ["point"])
            for k, objective in enumerate(objectives):
                values[:, k] = self.values(grid, objective, ["point"], maximize[k])
        front = np.empty(1, object)
        front[0] = _Front(values, self.places(question, where, starts))
        return front

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:  # noqa: ARG004
        fronts = x.reshape(-1).tolist()
        values = np.concatenate([front.values for front in fronts])
        where = np.concatenate([front.where for front in fronts])
        order = np.lexsort((where, *values.T[::-1]))  # sorted so, a point is beaten by one before it or by none
        stays = order[_unbeaten(values[order])]
        merged = np.empty((1,) * x.ndim, object)
        merged.reshape(-1)[0] = _Front(values[stays], where[stays])
        return merged


def _unbeaten(values: Values) -> Any:
    """Which of the sorted points no point before them beats."""
    if values.shape[1] == 2:
        least_before = np.minimum.accumulate(np.concatenate([[np.inf], values[:, 1]]))[:-1]
        stays = values[:, 1] < least_before
        stays[:1] = True
        return stays
    stays = np.zeros(len(values), dtype=bool)
    members, n = np.empty_like(values), 0
    for k, value in enumerate(values):
        stays[k] = not (members[:n] <= value).all(axis=1).any()
        if stays[k]:
            members[n], n = value, n + 1
    return stays


class _Quantiles(_Fold):
    """Order statistics of kept points whose values all lie in one chunk."""

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float64)

    def folded(self, question: Question, starts: Mapping[str, int]) -> Any:  # noqa: ARG002
        return self.ask(question, _core.quantiles, *self.what)[0]


class _RowsOfCounts(_Fold):
    """How many values lie between edges that differ from one kept point to the next; rows of edges end in NaN."""

    def folded(self, question: Question, starts: Mapping[str, int], *more: Values) -> Any:  # noqa: ARG002
        (edges,) = more
        (formula,) = self.what
        rows = [row[~np.isnan(row)] for row in edges.reshape((-1, edges.shape[-1]))]
        counts = np.zeros((len(rows), edges.shape[-1] + 1), np.int64)
        alike = all(np.array_equal(row, rows[0]) for row in rows)
        for k, row in enumerate(rows[:1] if alike else rows):
            if len(row):
                at = {} if alike else dict(zip(self.own, np.unravel_index(k, edges.shape[:-1]), strict=False))
                found, _ = self.ask(_at_point(question, at), _core.histogram, formula, row.tolist())
                filled = slice(None) if alike else slice(k, k + 1)
                counts[filled, : len(row) + 1] = found.reshape((-1, len(row) + 2))[:, :-1]  # NaN is left out
        return counts


def _at_point(question: Question, at: Mapping[str, Any]) -> Question:
    """The question at one point of some axes."""
    one = copy.copy(question)
    one.grid = Grid(sizes={dim: 1 if dim in at else n for dim, n in question.grid.sizes.items()})
    for name, i in question.grid.inputs.items():
        index = tuple(slice(at[dim], at[dim] + 1) if dim in at else slice(None) for dim in i.dims)
        one.grid.inputs[name] = Input(i.quantity, i.values[index], i.dims)
    return one


class _Folding:
    """A question about a grid in chunks."""

    def __init__(self, question: Question, axes: Sequence[str], chunks: Chunks, threads: int | None, prune: bool):
        self.question, self.chunks, self.prune = question, chunks, prune
        self.threads = 1 if threads is None else threads
        self.kept = [dim for dim in axes if dim not in question.folded]
        self.own = (*self.kept, *(dim for dim in axes if dim in question.folded))

    def ask(self, kind: type[_Fold], *what: Any, numbers: int = 1, edges: Values | None = None) -> Any:
        """What is merged from all chunks, on the kept axes and an axis of so many numbers."""
        import dask.array as da

        grid, of_axis = self.chunks.grid, self.chunks.of_axis
        part, arrays = self.chunks.part(self.own, grid.sizes)
        stripped = copy.copy(self.question)
        stripped.grid = Grid()
        split = tuple(dim for dim in self.own if dim in of_axis)
        task = kind(stripped, part, what, self.own, split, dict(grid.sizes), self.threads, self.prune)
        axis = {dim: k for k, dim in enumerate(self.own)}
        last = len(self.own)
        arguments = [arg if k % 2 == 0 else tuple(axis[dim] for dim in arg) for k, arg in enumerate(arrays)]
        for dim in split:
            arguments += [da.arange(grid.sizes[dim], chunks=(of_axis[dim],)), (axis[dim],)]
        lengths = {axis[dim]: 1 for dim in self.own if dim in self.question.folded}
        added = {last: numbers}
        if edges is not None:
            pieces = [of_axis.get(dim, (grid.sizes[dim],)) for dim in self.kept]
            arguments += [da.from_array(edges, chunks=(*pieces, edges.shape[-1])), (*range(len(self.kept)), last)]
            lengths |= added
            added = {}
        meta = np.empty((0,) * (last + 1), kind.dtype)
        answers = da.blockwise(
            task, tuple(range(last + 1)), *arguments, new_axes=added, adjust_chunks=lengths, align_arrays=False,
            meta=meta, token=f"roofslate-{kind.__name__[1:].lower()}",
        )  # fmt: skip
        folded = tuple(range(len(self.kept), len(self.own)))
        if any(answers.numblocks[k] > 1 for k in folded):
            answers = da.reduction(
                answers, kind.merge, kind.merge, axis=folded, keepdims=True, dtype=kind.dtype, meta=meta
            )
        return answers.compute().reshape((*(grid.sizes[dim] for dim in self.kept), numbers))


def fold(question: Question, call: Any, what: Sequence[Any], threads: int | None, prune: bool) -> Any:
    """What the engine's call would answer for the whole grid, folded over chunks.

    Parameters
    ----------
    question : Question
        A grid with at least one array in chunks, and the axes of it that are folded.
    call : function
        Of the engine: `best`, `pareto`, `count`, `histogram`, `finite_extent` or `quantiles`.
    what : sequence
        Its arguments.
    threads : int, optional
        Of the engine, in each task; by default 1, as dask runs many tasks at once.
    prune : bool
        Whether the engine skips parts of a chunk that can't matter.
    """
    everywhere = thread_count(threads)
    chunks = Chunks(question.grid, question.needed)
    name = call.__name__
    axes = _own_axes(question, name, what)
    if not set(axes) & set(chunks.of_axis):
        here = copy.copy(question)
        part, _ = chunks.part([dim for dim in question.axes if dim not in chunks.of_axis], question.grid.sizes)
        here.grid = part.grid([question.grid.inputs[array].values for array, _, _ in part.arrays])
        return here.run(call, *what, threads=everywhere, progress=False, prune=prune)
    if name == "finite_extent":
        question = copy.copy(question)
        question.folded, question.kept = question.axes, []
    folding = _Folding(question, axes, chunks, threads, prune)
    if name == "finite_extent":
        low, high = folding.ask(_Extent, *what, numbers=2)
        return float(low), float(-high)
    if name == "pareto":
        return folding.ask(_Pareto, *what)[0].where
    if name == "best":
        found = folding.ask(_Best, *what).reshape(-1)
        values = -found["value"] if what[1] else found["value"]
        return values, found["where"], [question.axes.index(dim) for dim in folding.kept]
    if name == "count":
        found = folding.ask(_Count, *what)
    elif name == "histogram":
        found = folding.ask(_Histogram, *what, numbers=len(what[1]) + 2)
    else:
        found = _quantiles(folding, *what)
    return found.reshape(-1), [question.axes.index(dim) for dim in folding.kept]


def _own_axes(question: Question, name: str, what: Sequence[Any]) -> list[str]:
    """Axes that the answer would vary along if none were folded."""
    point = copy.copy(question)
    point.grid, point.folded, point.kept = single(question.grid), [], question.axes
    formulas = [] if name == "count" else what[0] if name == "pareto" else [what[0]]
    conditions = what[0] if name == "count" else what[2] if name in ("best", "pareto") else []
    found = [point.run(_core.histogram, f, [0.0, 1.0], threads=1, progress=False)[1] for f in formulas]
    if conditions:
        found.append(point.run(_core.count, conditions, threads=1, progress=False)[1])
    return [dim for k, dim in enumerate(question.axes) if any(k in axes for axes in found)]


_INFINITY = 0x7FF << 52  # its ordinal


_MOST_EDGES = 1 << 14  # of a kept point


_MOST_COUNTS = 1 << 19  # of all kept points together


_FEWEST_EDGES = 32


def _turned(numbers: Any) -> Any:
    """Doubles, as the integers that they are stored as, in the order of their values; and back. Both zeros are 0."""
    return np.where(numbers < 0, np.iinfo(np.int64).min - numbers, numbers)


def _quantiles(folding: _Folding, formula: Any, q: Sequence[float]) -> Any:
    """Order statistics, as the engine gives them: in one pass where a chunk has room for all values of a kept point."""
    sizes, of_axis = folding.chunks.grid.sizes, folding.chunks.of_axis
    folded = [dim for dim in folding.own if dim not in folding.kept]
    room = math.prod(max(of_axis.get(dim, (sizes[dim],))) for dim in folding.own)
    room //= math.prod(sizes[dim] for dim in folded)
    if not room:
        return _narrowed(folding, formula, q)
    cuts: dict[str, tuple[int, ...]] = {dim: (sizes[dim],) for dim in folded}
    for dim in reversed(folding.kept):
        length = min(sizes[dim], max(room, 1))
        room //= length
        full, rest = divmod(sizes[dim], length)
        cuts[dim] = (length,) * full + (rest,) * (rest > 0)
    other = copy.copy(folding)
    other.chunks = folding.chunks.recut(cuts)
    return other.ask(_Quantiles, formula, q, numbers=3 * len(q))


def _narrowed(folding: _Folding, formula: Any, q: Sequence[float]) -> Any:
    """The same in many passes: stretches of doubles that hold them are narrowed until each is one double."""
    grid = folding.chunks.grid
    shape = tuple(grid.sizes[dim] for dim in folding.kept)
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
        for row, own in zip(padded, edges, strict=True):
            row[: len(own)] = _turned(own).view(np.float64)
        asked = padded.reshape((*shape, -1))
        counts = folding.ask(_RowsOfCounts, formula, numbers=padded.shape[1] + 1, edges=asked).reshape((rows, -1))
        for k, own in enumerate(edges):
            if not len(own):
                continue
            below = np.cumsum(counts[k, : len(own)])  # each edge
            if first:
                ranks[k], shares[k] = _ranks(q, int(below[-1] + counts[k, len(own)]))
            at = np.searchsorted(below, ranks[k], side="right") - 1
            open_ = low[k] + 1 < high[k]
            low[k] = np.where(open_, own[at], low[k])
            high[k] = np.where(open_, np.append(own, _INFINITY + 1)[at + 1], high[k])
        first = False
    found = _turned(low).view(np.float64).reshape((rows, len(q), 2))
    found[np.isnan(shares)] = np.nan
    return np.concatenate([found, shares[..., np.newaxis]], axis=-1)


def _ranks(q: Sequence[float], n: int) -> tuple[Any, Any]:
    """Places among n sorted values, two for each of `q`, and how far between the two."""
    if n == 0:
        return 0, np.nan
    place = np.array(q) * float(n - 1)
    before = np.minimum(np.floor(place).astype(np.int64), n - 1)
    return np.stack([before, np.minimum(before + 1, n - 1)], axis=-1).reshape(-1), place - np.floor(place)


def _edges_between(low: Any, high: Any, budget: int) -> Any:
    """Ordinals that cut the stretches from `low` to before `high` into equal slots; the last one is infinity."""
    stretches = {(int(a), int(b)) for a, b in zip(low, high, strict=True) if a + 1 < b}
    pieces = []
    for a, b in stretches:
        step = -((a - b) // max(budget // len(stretches), 2))
        slots = np.arange(-((a - b) // step), dtype=np.uint64) * np.uint64(step)
        pieces += [(slots + np.uint64(a % 2**64)).view(np.int64), [b]]
    return np.unique(np.concatenate([*pieces, [_INFINITY]]).astype(np.int64)) if pieces else np.empty(0, np.int64)
