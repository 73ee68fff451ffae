"""A grid, its reduced axes, and positions in both."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.messages import shown, unknown
from roofslate._base.threads import reading_by
from roofslate.errors import AxisError, InputTypeError
from roofslate.grid.draws import DRAWS, SAMPLE, SEED, Draws, is_drawn, read_draws
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
    """Check names of quantities. There may be none."""
    return [] if isinstance(names, (list, tuple)) and not names else wanted_names(names)


def only_value(output: str) -> str:
    """Check that `output` names one quantity, and return it."""
    if not isinstance(output, str):
        raise InputTypeError(f"expected the name of one quantity, got {shown(output)}")
    return wanted_names(output)[0]


Names = str | Sequence[str]


class FoldRequest:
    """A grid, its reduced axes, and positions in both."""

    draws: Draws | None = None
    grid: Grid
    available: int | None = None  # threads, if the call left their number open

    def __init__(
        self,
        inputs: Mapping[str, Any],
        outputs: Sequence[str],
        conditions: Sequence[Condition],
        over: Names | None,
        drawn: tuple[Any, Any, Any] | None = None,
        threads: int | None = 1,
    ) -> None:
        self._ask(outputs, conditions)
        if drawn is not None and (any(x is not None for x in drawn) or any(map(is_drawn, inputs.values()))):
            n, seed, correlation = drawn
            n, seed = (DRAWS if n is None else n), (SEED if seed is None else seed)
            self.draws, constants = read_draws(inputs, n, seed, correlation)
            self.grid = self.draws.grid(constants, self.needed)
        else:
            with reading_by(threads) as count:
                self.grid = read_grid(inputs, self.needed, chunks=True)
            if threads is None:
                self.available = count
        self._fold(over)

    @classmethod
    def of_grid(
        cls, grid: Grid, outputs: Sequence[str], conditions: Sequence[Condition], over: Names | None
    ) -> FoldRequest:
        """Build a request over a grid that has been read and checked."""
        request = cls.__new__(cls)
        request.grid = grid
        request._ask(outputs, conditions)
        request._fold(over)
        return request

    def _ask(self, outputs: Sequence[str], conditions: Sequence[Condition]) -> None:
        self.conditions = [(list(c.lhs.steps), c.relation, list(c.rhs.steps)) for c in conditions]
        self.needed = list(
            dict.fromkeys([*outputs, *(n for c in conditions for s in (c.lhs, c.rhs) for n in s.quantities)])
        )

    def require_memory(self, conditions: Sequence[Condition]) -> dict[str, str]:
        """Restrict the search of an estimate to points that fit in memory, and say so.

        Returns attributes of the result with the conditions.
        """
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
        if isinstance(over, str) and over in self.axes and self.draws is None:  # as most calls give
            return [over]
        names = [over] if isinstance(over, str) else over
        if not isinstance(names, Sequence) or not all(isinstance(name, str) for name in names):
            raise InputTypeError(f"over: expected the name of an axis or a list of names, got {shown(over)}")
        for name in names:
            if name not in self.axes:
                if not self.axes:
                    raise AxisError(f"over={name!r}: no input has an axis. Give a list of values for {name}.")
                raise AxisError(f"over: {unknown('axis', name, self.axes)}")
        if len(set(names)) < len(names):
            raise AxisError(f"over: expected distinct axes, got {', '.join(names)}. Drop the duplicate.")
        if self.draws is not None and SAMPLE not in names:
            raise AxisError(f"over: the draws are always reduced. Add {SAMPLE!r}, or keep the draws with rs.sample().")
        return [dim for dim in self.axes if dim in names]

    def refuse(self, *names: str) -> None:
        """Raise an error if a remaining axis has one of these names, which the result uses."""
        for dim in self.kept:
            if dim in names:
                raise AxisError(f"The axis {dim!r} has the name of a variable of the result. Rename the axis.")

    def dims(self, axes: Sequence[int]) -> list[str]:
        return [self.axes[k] for k in axes]

    def shape(self, dims: Sequence[str]) -> tuple[int, ...]:
        return tuple(self.grid.sizes[dim] for dim in dims)

    def coords(self, dims: Sequence[str]) -> dict[str, Any]:
        return {dim: self.grid.coords[dim][0] for dim in dims if dim in self.grid.coords}

    def places(self, where: Positions) -> dict[str, Positions]:
        """Convert flat indices to positions along the reduced axes."""
        shape = self.shape(self.folded)
        at = np.maximum(where, 0)
        positions = np.unravel_index(at, shape) if len(shape) > 1 else [at][: len(shape)]
        return dict(zip(self.folded, positions, strict=True))

    def coordinate(self, dim: str, at: Positions, is_found: Any = None) -> npt.NDArray[Any]:
        """Return the coordinate of an axis at positions, NaN or an empty text if not found."""
        coord = self.grid.coords.get(dim)
        values = np.arange(self.grid.sizes[dim]) if coord is None else np.asarray(coord[0])
        coordinates = values[at, ...]  # an array for a single point too, of any type
        if coordinates.dtype.kind in "biuf":
            coordinates = coordinates.astype(float)
        if coordinates.dtype.kind in "OUST":
            return (
                coordinates.astype(object) if is_found is None else np.where(is_found, coordinates.astype(object), "")
            )
        if coordinates.dtype.kind in "mM":
            return (
                coordinates
                if is_found is None
                else np.where(is_found, coordinates, np.array("NaT", dtype=coordinates.dtype))
            )
        return coordinates if is_found is None else values_where(is_found, coordinates)

    def at_places(self, at: Mapping[str, Positions], dims: Sequence[str]) -> Grid:
        """Return the grid of the remaining axes, at positions of the reduced axes.

        The positions vary along `dims`.
        """
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
            input_dims = [dim for dim in axes if dim in i.dims or (moved and dim in dims)]
            if moved:

                def index_of(dim: str, input_dims: list[str] = input_dims) -> Positions:
                    if dim in at:
                        shape = [sizes[d] if d in dims else 1 for d in input_dims]
                        order = [dims.index(d) for d in input_dims if d in dims]
                        return np.transpose(at[dim], order).reshape(shape)
                    return np.arange(sizes[dim]).reshape([-1 if d == dim else 1 for d in input_dims])

                index = tuple(index_of(dim) for dim in i.dims)
                values = self.grid.chunked[name].at(index) if name in self.grid.chunked else i.values[index]
            else:
                values = self.grid.chunked[name].at()
            grid.inputs[name] = Input(i.quantity, values, tuple(input_dims if moved else i.dims), i.origin)
        return grid


def values_where(is_found: Any, values: Any) -> Values:
    """Return values as numbers, NaN where `is_found` is False.

    Shapes are broadcast. An array of floats is overwritten.
    """
    shape = np.broadcast_shapes(values.shape, is_found.shape)
    numbers: Values = (
        np.broadcast_to(values, shape).astype(float) if values.shape != shape else np.asarray(values, float)
    )
    np.copyto(numbers, np.nan, where=~is_found)
    return numbers
