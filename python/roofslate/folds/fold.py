"""The base of all reductions: the fold of the engine, and the merge of results by chunk."""

from __future__ import annotations

import abc
import math
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from roofslate import _core
from roofslate._base.progress import Progress, ProgressWish
from roofslate._base.threads import thread_count
from roofslate.errors import MissingInput
from roofslate.folds.duration import announced, takes_days
from roofslate.grid.checks import explain_missing
from roofslate.grid.draws import SAMPLE
from roofslate.grid.grid import spread
from roofslate.grid.run import run

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roofslate.folds.request import FoldRequest
    from roofslate.grid.grid import Grid
    from roofslate.registry.values import Values

__all__ = ["Answer", "Chunk", "Fold", "Steps", "in_engine"]

Steps = list[tuple[Any, ...]]
Comparison = tuple[Steps, str, Steps]
Answer = tuple[Any, Any, list[int]]  # numbers, counts or positions, and the axes they vary along


class Fold(abc.ABC):
    """A reduction of a grid.

    On a chunked grid each chunk has a result: an array with an axis for each axis of the merged result (of length one
    if reduced), and a last axis for the numbers of the result.
    """

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.int64)
    everywhere: ClassVar[bool] = False  # reduces all axes, whichever `over` names
    passes: ClassVar[int] = 1  # full scans of the grid without pruning
    prunes: ClassVar[bool] = True  # skips subgrids by their bounds
    called: ClassVar[str] = ""  # its name in messages, by default the class name

    @abc.abstractmethod
    def core(self) -> _core.Fold:
        """Return the fold of the engine."""

    @property
    def length(self) -> int:
        """The number of values per remaining point."""
        return 1

    def of_chunk(self, chunk: Chunk) -> Any:
        """Compute the result of one chunk."""
        return chunk.run(self)[1]

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:
        """Merge the results of neighboring chunks, keeping the axes at length one."""
        return x.sum(axis=axis, keepdims=keepdims)

    def of_chunks(self, folding: Any) -> Any:
        """Merge the results of all chunks, on the remaining axes and an axis of numbers.

        A fold with several passes asks `folding` once per pass.
        """
        return folding.ask(self)

    def as_engine(self, merged: Any) -> tuple[Any, Any]:
        """Convert a merged result to the form of the engine: numbers, and counts or positions."""
        return np.empty(0), merged.reshape(-1)


@dataclass
class Chunk:
    """One chunk of a grid, as the input of a fold."""

    request: FoldRequest
    starts: Mapping[str, int]  # its first position along each chunked axis
    sizes: Mapping[str, int]  # of the full grid
    threads: int
    prune: bool
    dims: tuple[str, ...] = ()  # axes of the result before any is reduced
    more: tuple[Any, ...] = ()  # arrays of the fold, along the remaining axes

    def run(self, fold: Fold) -> Answer:
        return in_engine(self.request, fold, threads=self.threads, progress=False, prune=self.prune)

    def places(self, where: Any) -> Any:
        """Convert positions in the chunk to positions in the full grid, keeping negative ones."""
        folded = self.request.folded
        if not folded:
            return where
        at = self.request.places(where)
        moved = [at[dim].astype(np.int64) + self.starts.get(dim, 0) for dim in folded]
        full_grid = np.ravel_multi_index(moved, tuple(self.sizes[dim] for dim in folded))
        return np.where(where < 0, where, full_grid)

    def values(self, grid: Grid, name: str, dims: Sequence[str]) -> Values:
        """Evaluate a quantity, broadcast to the given axes."""
        ((values, value_dims),), _ = run(grid, [name], threads=self.threads, progress=False)
        spread_values: Values = np.broadcast_to(spread(values, value_dims, dims), [grid.sizes[dim] for dim in dims])
        return spread_values


def in_engine(
    request: FoldRequest, fold: Fold, *, threads: int | None, progress: ProgressWish, prune: bool = True
) -> Answer:
    """Reduce a grid in memory with the engine."""
    axes = request.axes
    with Progress(progress) as bar:
        drawn = None
        if request.draws is not None:
            drawn = _core.Drawn(request.draws.sampler, request.draws.names, axes.index(SAMPLE))
        folded = [axes.index(dim) for dim in request.folded]
        count = (threads is None and request.available) or thread_count(threads)
        try:
            core, callback = fold.core(), bar.callback
            sizes = list(request.grid.sizes.values())
            if takes_days(fold.passes * math.prod(sizes), count):  # axes of the result are counted only if needed
                points = math.prod(sizes[axis] for axis in request.grid.core.axes_of(core))
                name = fold.called or type(fold).__name__.lower()
                may_end = prune and fold.prunes and drawn is None
                callback = announced(name, points, fold.passes, count, callback, may_end=may_end)
            answer: Answer = request.grid.core.fold(core, folded, count, callback, bool(prune), drawn)
        except MissingInput as error:
            raise explain_missing(error, request.grid) from None
    return answer
