"""Grids in chunks of dask, and results that come in chunks.

Calls are checked at once. Numbers in chunks are checked when they are computed. A task takes one chunk of each
array and calls the engine, which computes the same bits for it as for the whole grid.
"""

from __future__ import annotations

import copy
import pickle
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.threads import thread_count
from roofslate.grid.checks import check_bounds, check_effect
from roofslate.grid.grid import Grid, Input
from roofslate.grid.run import compute, run
from roofslate.registry.registry import Definition, current, lookup
from roofslate.registry.scopes import within
from roofslate.registry.values import encoded_numbers

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["Chunks", "Part", "Task", "evaluate", "single"]


Results = list[tuple[Any, tuple[str, ...]]]


@dataclass(frozen=True)
class Part:
    """Description of a grid for a task, without its chunks.

    Every task carries one, so it is small.
    """

    sizes: dict[str, int]
    constants: dict[str, float]
    arrays: tuple[tuple[str, tuple[str, ...], dict[str, Any] | None], ...]  # name, axes, attributes of unread numbers
    idle: tuple[tuple[str, tuple[str, ...]], ...]  # arrays that the formulas name, but that change nothing
    definitions: tuple[Definition, ...]  # that the quantities rest on

    def grid(self, chunks: Sequence[Any]) -> Grid:
        """The grid of one task, from a chunk of each array."""
        grid = Grid(sizes=dict(self.sizes))
        for name, x in self.constants.items():
            grid.inputs[name] = Input(lookup(name), x)
        for (name, dims, attrs), chunk in zip(self.arrays, chunks, strict=True):
            grid.sizes.update(zip(dims, chunk.shape, strict=True))
            values = chunk if attrs is None else encoded_numbers(chunk, attrs, lookup(name))
            grid.inputs[name] = Input(lookup(name), values, dims)
        check_bounds(grid)
        for name, dims in self.idle:
            shape = [grid.sizes[dim] for dim in dims]
            grid.inputs[name] = Input(lookup(name), np.broadcast_to(1.0, shape), dims)
        return grid


class Task:
    """A function of chunks that dask can name and send."""

    def __dask_tokenize__(self) -> tuple[str, bytes]:
        return type(self).__name__, pickle.dumps(self)


class Chunks:
    """All arrays of a grid in common chunks."""

    def __init__(self, grid: Grid, outputs: Sequence[str]) -> None:
        import dask.array as da

        self.grid = grid
        self.definitions = current().definitions_of([*outputs, *grid.inputs])
        used = check_effect(grid, outputs)
        bounds = {q.bound for q in map(lookup, used)}
        self.used = {n: i for n, i in grid.inputs.items() if n in used or n in bounds or i.quantity.bound in used}
        names = [name for name in grid.chunked if name in self.used]
        given = [x for name in names for x in (grid.chunked[name].data, grid.inputs[name].dims)]
        self.of_axis, aligned = da.core.unify_chunks(*given)  # by axis
        self.arrays = dict(zip(names, aligned, strict=True))
        for name, i in self.used.items():
            if i.dims and name not in self.arrays:
                self.arrays[name] = da.from_array(i.values, chunks=self._along(i.dims))

    def _along(self, dims: Sequence[str]) -> tuple[Any, ...]:
        return tuple(self.of_axis.get(dim, (self.grid.sizes[dim],)) for dim in dims)

    def recut(self, of_axis: dict[str, tuple[int, ...]]) -> Chunks:
        """The same arrays in other chunks."""
        other = copy.copy(self)
        other.of_axis = of_axis
        other.arrays = {n: a.rechunk(other._along(self.used[n].dims)) for n, a in self.arrays.items()}
        return other

    def part(self, dims: Sequence[str], other_sizes: Mapping[str, int]) -> tuple[Part, list[Any]]:
        """Return the part of a task and its chunked arrays, each followed by its axes.

        The task varies along `dims`. Its other axes have `other_sizes`.
        """
        full_sizes = {dim: n for dim, n in self.grid.sizes.items() if dim not in self.of_axis}
        sizes = {dim: (full_sizes.get(dim, 1) if dim in dims else other_sizes[dim]) for dim in self.grid.sizes}
        constants, arrays, idle, chunks = {}, [], [], []
        for name, i in self.used.items():
            if not i.dims:
                constants[name] = i.number
            elif set(i.dims) <= set(dims):
                attrs = self.grid.chunked[name].attrs if name in self.grid.chunked else None
                arrays.append((name, i.dims, attrs))
                chunks += [self.arrays[name], i.dims]
            else:
                idle.append((name, i.dims))
        return Part(sizes, constants, tuple(arrays), tuple(idle), self.definitions), chunks


def single(grid: Grid) -> Grid:
    """A grid with one point on each axis, which varies along the same axes."""
    inputs = {
        name: Input(i.quantity, i.values[(slice(0, 1),) * i.values.ndim] if i.dims else i.number, i.dims, i.origin)
        for name, i in grid.inputs.items()
    }
    return Grid(inputs, dict.fromkeys(grid.sizes, 1), {}, grid.presets, grid.gaps)


@dataclass(eq=False)
class _Evaluate(Task):
    part: Part
    outputs: list[str]
    factors: dict[str, float]
    stored: str
    threads: int

    def __call__(self, *chunks: Any) -> Any:
        with within(self.part.definitions):
            return self.all(chunks)[0][0]

    def all(self, chunks: Sequence[Any] = ()) -> Results:
        results = compute(
            self.part.grid(chunks), self.outputs, self.factors, np.dtype(self.stored),
            threads=self.threads, progress=False,
        )  # fmt: skip
        kinds = [np.dtype("int8") if lookup(name).choices else np.dtype(self.stored) for name in self.outputs]
        return [(values.astype(kind, copy=False), axes) for (values, axes), kind in zip(results, kinds, strict=True)]


def evaluate(
    grid: Grid, outputs: Sequence[str], factors: Mapping[str, float], stored: np.dtype[Any], threads: int | None
) -> Results:
    """Return each output in chunks with its axes. Outputs without chunked axes are computed.

    Parameters
    ----------
    grid : Grid
        With at least one array in chunks.
    outputs : sequence of str
        Names of quantities.
    factors : dict of float
        By output: the divisor of its values.
    stored : numpy.dtype
        How results are stored.
    threads : int, optional
        Of the engine, in each task; by default 1, as dask runs many tasks at once.
    """
    import dask.array as da

    thread_count(threads)
    chunks = Chunks(grid, outputs)
    axes, _ = run(single(grid), outputs, threads=1, progress=False)
    results: dict[str, Any] = {}
    computed = []
    for name, (_, dims) in zip(outputs, axes, strict=True):
        if not set(dims) & set(chunks.of_axis):
            computed.append(name)
            continue
        part, arrays = chunks.part(dims, dict.fromkeys(grid.sizes, 1))
        divided = {name: factors[name]} if name in factors else {}
        task = _Evaluate(part, [name], divided, stored.name, 1 if threads is None else threads)
        kind = np.int8 if lookup(name).choices else stored
        meta = np.empty((0,) * len(dims), kind)
        array = da.blockwise(task, dims, *arrays, meta=meta, align_arrays=False, name=None, token=f"roofslate-{name}")
        results[name] = array, dims
    if computed:
        fixed = [dim for dim in grid.sizes if dim not in chunks.of_axis]
        part, _ = chunks.part(fixed, dict.fromkeys(grid.sizes, 1))
        task = _Evaluate(part, computed, dict(factors), stored.name, thread_count(threads))
        values = [grid.inputs[name].values for name, _, _ in part.arrays]
        results.update(zip(computed, task.all(values), strict=True))
    return [results[name] for name in outputs]
