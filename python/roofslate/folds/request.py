"""A grid, the axes of it that are folded, and positions in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.messages import shown, unknown
from roofslate._base.threads import reading_by
from roofslate.errors import AxisError, InputTypeError
from roofslate.grid.draws import SAMPLE, Draws, read_draws
from roofslate.grid.fit import memory_conditions
from roofslate.grid.grid import Grid, Input, Positions
from roofslate.grid.read import read_grid
from roofslate.registry.conditions import parse_conditions
from roofslate.registry.values import Values, wanted_names

if TYPE_CHECKING:
    import numpy.typing as npt

    from roofslate.registry.conditions import Condition

__all__ = ["FoldRequest", "Names", "only_value", "quantities_of", "values_where"]


def quantities_of(names: Names) -> list[str]:
    """Names of quantities, checked; there may be none."""
    return [] if isinstance(names, (list, tuple)) and not names else wanted_names(names)


def only_value(output: str) -> str:
    """The name of one quantity, checked."""
    if not isinstance(output, str):
        raise InputTypeError(f"expected the name of one quantity, got {shown(output)}")
    return wanted_names(output)[0]


Names = str | Sequence[str]


class FoldRequest:
    """A grid, the axes of it that are folded, and positions in both."""

    draws: Draws | None = None
    grid: Grid

    def __init__(
        self,
        inputs: Mapping[str, Any],
        wanted: Sequence[str],
        conditions: Sequence[Condition],
        over: Names | None,
        drawn: tuple[Any, Any, Any] = (None, None, None),
        threads: int | None = 1,
    ) -> None:
        self._ask(wanted, conditions)
        if any(x is not None for x in drawn):  # n, seed, correlation
            self.draws, others = read_draws(inputs, *drawn)
            self.grid = self.draws.grid(others, self.needed)
        else:
            with reading_by(threads):
                self.grid = read_grid(inputs, self.needed, chunks=True)
        self._fold(over)

    @classmethod
    def of_grid(
        cls, grid: Grid, wanted: Sequence[str], conditions: Sequence[Condition], over: Names | None
    ) -> FoldRequest:
        """A request over a grid that has been read and checked."""
        request = cls.__new__(cls)
        request.grid = grid
        request._ask(wanted, conditions)
        request._fold(over)
        return request

    def _ask(self, wanted: Sequence[str], conditions: Sequence[Condition]) -> None:
        self.conditions = [(list(c.left.steps), c.relation, list(c.right.steps)) for c in conditions]
        self.needed = list(
            dict.fromkeys([*wanted, *(n for c in conditions for s in (c.left, c.right) for n in s.quantities)])
        )

    def require_memory(self, conditions: Sequence[Condition]) -> dict[str, str]:
        """Leave out what does not fit into memory where an estimate is searched; attributes that say so."""
        checks = memory_conditions(self.grid, self.needed)
        if not checks:
            return {}
        self._ask(self.needed, [*conditions, *parse_conditions(checks)])
        return {"where": " and ".join([*(c.text for c in conditions), *checks])}

    def _fold(self, over: Names | None) -> None:
        self.axes = list(self.grid.sizes)
        self.folded = self.axes if over is None else self._named(over)
        self.kept = [dim for dim in self.axes if dim not in self.folded]

    def _named(self, over: Names) -> list[str]:
        names = [over] if isinstance(over, str) else over
        if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            raise InputTypeError(f"over: expected the name of an axis or a list of names, got {shown(over)}")
        for name in names:
            if name not in self.axes:
                if not self.axes:
                    raise AxisError(f"over={name!r}: no input makes an axis; give a list of values for {name}")
                raise AxisError(f"over: {unknown('axis', name, self.axes)}")
        if len(set(names)) < len(names):
            raise AxisError(f"over names an axis twice: {', '.join(names)}")
        if self.draws is not None and SAMPLE not in names:
            raise AxisError(f"over must name {SAMPLE!r} too: the draws are not kept; rs.sample keeps them")
        return [dim for dim in self.axes if dim in names]

    def refuse(self, *names: str) -> None:
        """These are names of the result: no axis that is kept may have one."""
        for dim in self.kept:
            if dim in names:
                raise AxisError(f"an axis and a part of the result are both called {dim!r}: give the axis another name")

    def dims(self, axes: Sequence[int]) -> list[str]:
        return [self.axes[k] for k in axes]

    def shape(self, dims: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.grid.sizes[dim] for dim in dims)

    def coords(self, dims: Sequence[str]) -> dict[str, Any]:
        return {dim: self.grid.coords[dim][0] for dim in dims if dim in self.grid.coords}

    def places(self, where: Positions) -> dict[str, Positions]:
        """Positions along the folded axes of flat indices."""
        shape = self.shape(self.folded)
        at = np.maximum(where, 0) if np.any(where < 0) else where
        along = np.unravel_index(at, shape) if len(shape) > 1 else [at][: len(shape)]
        return dict(zip(self.folded, along, strict=True))

    def coordinate(self, dim: str, at: Positions, found: Any = None) -> npt.NDArray[Any]:
        """What stands on an axis at these positions; NaN or an empty text where nothing was found."""
        coord = self.grid.coords.get(dim)
        values = np.arange(self.grid.sizes[dim]) if coord is None else np.asarray(coord[0])
        if values.dtype.kind in "biuf":
            values = values.astype(float)
        there = values[at, ...]  # an array for a single point too, whatever its type
        if there.dtype.kind in "OUST":
            return there.astype(object) if found is None else np.where(found, there.astype(object), "")
        if there.dtype.kind in "mM":
            return there if found is None else np.where(found, there, np.array("NaT", dtype=there.dtype))
        return there if found is None else values_where(found, there)

    def at_places(self, at: Mapping[str, Positions], dims: Sequence[str]) -> Grid:
        """The grid of the kept axes, each folded one at the positions that were found, which vary along `dims`."""
        axes = [*self.kept, *(dim for dim in dims if dim not in self.kept)]
        sizes = {dim: self.grid.sizes.get(dim, 0) for dim in axes}
        if at:
            sizes |= dict(zip(dims, next(iter(at.values())).shape, strict=True))
        grid = Grid(sizes=sizes, presets=self.grid.presets, gaps=self.grid.gaps)
        grid.coords = {dim: self.grid.coords[dim] for dim in self.kept if dim in self.grid.coords}
        for name, i in self.grid.inputs.items():
            moved = any(dim in at for dim in i.dims)
            if not moved and name not in self.grid.chunked:
                grid.inputs[name] = i
                continue
            own = [dim for dim in axes if dim in i.dims or (moved and dim in dims)]
            if moved:

                def along(dim: str, own: list[str] = own) -> Positions:
                    if dim in at:
                        shape = [sizes[d] if d in dims else 1 for d in own]
                        order = [dims.index(d) for d in own if d in dims]
                        return np.transpose(at[dim], order).reshape(shape)
                    return np.arange(sizes[dim]).reshape([-1 if d == dim else 1 for d in own])

                index = tuple(along(dim) for dim in i.dims)
                values = self.grid.chunked[name].at(index) if name in self.grid.chunked else i.values[index]
            else:
                values = self.grid.chunked[name].at()
            grid.inputs[name] = Input(i.quantity, values, tuple(own if moved else i.dims), i.origin)
        return grid


def values_where(found: Any, values: Any) -> Values:
    """Values as numbers, NaN where nothing was found; shapes are broadcast. What need not be copied is written into."""
    shape = np.broadcast_shapes(values.shape, found.shape)
    numbers: Values = (
        np.broadcast_to(values, shape).astype(float) if values.shape != shape else np.asarray(values, float)
    )
    np.copyto(numbers, np.nan, where=~found)
    return numbers
