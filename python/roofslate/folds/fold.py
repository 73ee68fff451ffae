"""The base of all folds: the object of the engine, and how the answers of chunks merge."""

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
Answer = tuple[Any, Any, list[int]]  # numbers, counts or positions, and the axes that they vary along


class Fold(abc.ABC):
    """A reduction of a grid.

    Of a grid in chunks each chunk has an answer: an array with an axis for each one that the whole answer varies along
    (of one where it is folded) and a last axis for the numbers of the answer.
    """

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.int64)
    everywhere: ClassVar[bool] = False  # folds all axes, whichever are named
    passes: ClassVar[int] = 1  # over all points, where none is skipped
    prunes: ClassVar[bool] = True  # skips parts that cannot matter, where it may
    called: ClassVar[str] = ""  # in messages; by default its class

    @abc.abstractmethod
    def core(self) -> _core.Fold:
        """The fold of the engine."""

    @property
    def length(self) -> int:
        """How many numbers the answer has for each kept point."""
        return 1

    def of_chunk(self, chunk: Chunk) -> Any:
        """The answer for one chunk."""
        return chunk.run(self)[1]

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:
        """Answers of neighbours as one; the axes stay, of length one."""
        return x.sum(axis=axis, keepdims=keepdims)

    def of_chunks(self, folding: Any) -> Any:
        """The merged answer, on the kept axes and an axis of numbers; a fold that needs several passes asks in turn."""
        return folding.ask(self)

    def as_engine(self, merged: Any) -> tuple[Any, Any]:
        """A merged answer as the engine gives it: numbers, and counts or positions."""
        return np.empty(0), merged.reshape(-1)


@dataclass
class Chunk:
    """One chunk of a grid, as a fold sees it."""

    request: FoldRequest
    starts: Mapping[str, int]  # its first position along each axis in chunks
    sizes: Mapping[str, int]  # of the whole grid
    threads: int
    prune: bool
    own: tuple[str, ...] = ()  # axes that the answer varies along if none is folded
    more: tuple[Any, ...] = ()  # arrays of the fold, along the kept axes

    def run(self, fold: Fold) -> Answer:
        return in_engine(self.request, fold, threads=self.threads, progress=False, prune=self.prune)

    def places(self, where: Any) -> Any:
        """Positions in the chunk as positions in the whole grid; what is nowhere stays so."""
        folded = self.request.folded
        if not folded:
            return where
        at = self.request.places(where)
        moved = [at[dim].astype(np.int64) + self.starts.get(dim, 0) for dim in folded]
        whole = np.ravel_multi_index(moved, tuple(self.sizes[dim] for dim in folded))
        return np.where(where < 0, where, whole)

    def values(self, grid: Grid, name: str, dims: Sequence[str]) -> Values:
        """A quantity on all of some axes."""
        ((values, own),), _ = run(grid, [name], threads=self.threads, progress=False)
        spread_values: Values = np.broadcast_to(spread(values, own, dims), [grid.sizes[dim] for dim in dims])
        return spread_values


def in_engine(
    request: FoldRequest, fold: Fold, *, threads: int | None, progress: ProgressWish, prune: bool = True
) -> Answer:
    """The answer of the engine over a grid that is in memory."""
    axes = request.axes
    with Progress(progress) as bar:
        drawn = None
        if request.draws is not None:
            drawn = _core.Drawn(request.draws.sampler, request.draws.names, axes.index(SAMPLE))
        folded = [axes.index(dim) for dim in request.folded]
        count = thread_count(threads)
        try:
            core, callback = fold.core(), bar.callback
            sizes = list(request.grid.sizes.values())
            if takes_days(fold.passes * math.prod(sizes), count):  # a look at the graph tells along which of them
                points = math.prod(sizes[axis] for axis in request.grid.core.axes_of(core))
                name = fold.called or type(fold).__name__.lower()
                may_end = prune and fold.prunes and drawn is None
                callback = announced(name, points, fold.passes, count, callback, may_end=may_end)
            answer: Answer = request.grid.core.fold(core, folded, count, callback, bool(prune), drawn)
        except MissingInput as error:
            raise explain_missing(error, request.grid) from None
    return answer
