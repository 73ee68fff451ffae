"""Reductions of grids in chunks of dask: one task per chunk, and a merge.

Results of a reduction are small arrays, which dask merges as a tree. No task reads more than a chunk of each input.
"""

from __future__ import annotations

import copy
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.threads import thread_count
from roofslate.folds.fold import Answer, Chunk, Fold, in_engine
from roofslate.grid.dask import Chunks, Part, Task, single
from roofslate.grid.grid import Grid
from roofslate.registry.scopes import within

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roofslate._base.progress import ProgressWish
    from roofslate.folds.request import FoldRequest
    from roofslate.registry.values import Values

__all__ = ["Folding", "reduce"]


@dataclass(eq=False)
class _FoldChunk(Task):
    """Reduces one chunk of the grid."""

    fold: Fold
    request: FoldRequest  # without its grid
    part: Part
    dims: tuple[str, ...]
    split: tuple[str, ...]  # chunked axes
    sizes: dict[str, int]  # of the full grid
    threads: int
    prune: bool

    def __call__(self, *blocks: Any) -> Any:
        arrays, positions_and_more = blocks[: len(self.part.arrays)], blocks[len(self.part.arrays) :]
        request = copy.copy(self.request)
        starts = {dim: int(positions[0]) for dim, positions in zip(self.split, positions_and_more, strict=False)}
        with within(self.part.definitions):
            request.grid = self.part.grid(arrays)
            shape = [1 if dim in request.folded else request.grid.sizes[dim] for dim in self.dims]
            more = positions_and_more[len(self.split) :]
            chunk = Chunk(request, starts, self.sizes, self.threads, self.prune, self.dims, more)
            return self.fold.of_chunk(chunk).reshape((*shape, -1))


class Folding:
    """A reduction of a chunked grid."""

    def __init__(
        self, request: FoldRequest, axes: Sequence[str], chunks: Chunks, threads: int | None, prune: bool
    ) -> None:
        self.request, self.chunks, self.prune = request, chunks, prune
        self.threads = 1 if threads is None else threads
        self.remaining = [dim for dim in axes if dim not in request.folded]
        self.dims = (*self.remaining, *(dim for dim in axes if dim in request.folded))

    def over(self, chunks: Chunks) -> Folding:
        """Return the same reduction with other chunks."""
        other = copy.copy(self)
        other.chunks = chunks
        return other

    def ask(self, fold: Fold, edges: Values | None = None) -> Any:
        """Merge the results of all chunks, on the remaining axes and an axis of numbers.

        Parameters
        ----------
        fold : Fold
        edges : numpy.ndarray, optional
            Array of the fold, along the remaining axes and an edge axis, which the result has too.
        """
        import dask.array as da

        grid, of_axis = self.chunks.grid, self.chunks.of_axis
        part, arrays = self.chunks.part(self.dims, grid.sizes)
        stripped = copy.copy(self.request)
        stripped.grid = Grid()
        split = tuple(dim for dim in self.dims if dim in of_axis)
        task = _FoldChunk(fold, stripped, part, self.dims, split, dict(grid.sizes), self.threads, self.prune)
        axis = {dim: k for k, dim in enumerate(self.dims)}
        last = len(self.dims)
        arguments = [arg if k % 2 == 0 else tuple(axis[dim] for dim in arg) for k, arg in enumerate(arrays)]
        for dim in split:
            arguments += [da.arange(grid.sizes[dim], chunks=(of_axis[dim],)), (axis[dim],)]
        lengths = {axis[dim]: 1 for dim in self.dims if dim in self.request.folded}
        added = {last: fold.length}
        if edges is not None:
            pieces = [of_axis.get(dim, (grid.sizes[dim],)) for dim in self.remaining]
            arguments += [da.from_array(edges, chunks=(*pieces, edges.shape[-1])), (*range(len(self.remaining)), last)]
            lengths |= added
            added = {}
        meta = np.empty((0,) * (last + 1), fold.dtype)
        answers = da.blockwise(
            task, tuple(range(last + 1)), *arguments, new_axes=added, adjust_chunks=lengths, align_arrays=False,
            meta=meta, token=f"roofslate-{type(fold).__name__.lower()}",
        )  # fmt: skip
        folded = tuple(range(len(self.remaining), len(self.dims)))
        if any(answers.numblocks[k] > 1 for k in folded):
            answers = da.reduction(
                answers, fold.merge, fold.merge, axis=folded, keepdims=True, dtype=fold.dtype, meta=meta
            )
        return answers.compute().reshape((*(grid.sizes[dim] for dim in self.remaining), fold.length))


def reduce(
    request: FoldRequest, fold: Fold, *, threads: int | None, progress: ProgressWish, prune: bool = True
) -> Answer:
    """Reduce a grid, in the engine or chunk by chunk.

    Parameters
    ----------
    request : FoldRequest
    fold : Fold
    threads : int, optional
        Threads of the engine. On a chunked grid: threads per task, by default 1, as dask runs many tasks at once.
    progress : bool or callable, optional
    prune : bool
        Whether the engine skips subgrids that cannot change the result.

    Returns
    -------
    tuple
        Numbers, counts or positions, and the indices of the axes they vary along.
    """
    if not request.grid.chunked:
        return in_engine(request, fold, threads=threads, progress=progress, prune=prune)
    everywhere = thread_count(threads)
    if fold.everywhere:
        request = copy.copy(request)
        request.folded, request.kept = request.axes, []
    chunks = Chunks(request.grid, request.needed)
    axes = [request.axes[k] for k in single(request.grid).core.axes_of(fold.core())]
    if not set(axes) & set(chunks.of_axis):
        in_memory = copy.copy(request)
        part, _ = chunks.part([dim for dim in request.axes if dim not in chunks.of_axis], request.grid.sizes)
        in_memory.grid = part.grid([request.grid.inputs[array].values for array, _, _ in part.arrays])
        return in_engine(in_memory, fold, threads=everywhere, progress=False, prune=prune)
    folding = Folding(request, axes, chunks, threads, prune)
    merged = fold.of_chunks(folding)
    return *fold.as_engine(merged), [request.axes.index(dim) for dim in folding.remaining]
