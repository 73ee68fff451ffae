"""`rs.best`: the optimum over a grid."""

from __future__ import annotations

import contextlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from roofslate import _core
from roofslate.errors import AxisError, MissingInput
from roofslate.folds.chunks import reduce
from roofslate.folds.fold import Chunk, Comparison, Fold
from roofslate.folds.request import FoldRequest, Names, only_value, quantities_of, values_where
from roofslate.grid.basis import basis
from roofslate.grid.by_position import by_keyword
from roofslate.grid.fit import Misfit, checks_of, misfits_at, misfits_of, warn_of_misfits
from roofslate.grid.grid import spread
from roofslate.grid.label import UnitsOfOutputs, conversions, dataset, labelled, variable
from roofslate.grid.read import with_scenario
from roofslate.grid.run import run
from roofslate.registry.conditions import parse_conditions
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import numpy.typing as npt
    import xarray as xr

    from roofslate._base.progress import ProgressWish
    from roofslate.grid.grid import Positions

__all__ = ["Best", "BestPoints", "best", "best_points"]


_NOWHERE = -1


@dataclass(frozen=True)
class Best(Fold):
    """The smallest or largest value and its position."""

    objective: str
    maximize: bool
    conditions: list[Comparison]

    dtype: ClassVar[np.dtype[Any]] = np.dtype([("value", np.float64), ("where", np.int64)])

    def core(self) -> _core.Best:
        return _core.Best([("quantity", self.objective)], self.maximize, self.conditions)

    def of_chunk(self, chunk: Chunk) -> Any:
        values, where, _ = chunk.run(self)
        answer = np.empty(where.shape, self.dtype)
        answer["value"] = -values if self.maximize else values  # the fold minimizes
        answer["where"] = chunk.places(where)
        return answer

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:  # noqa: ARG004
        remaining = [k for k in range(x.ndim) if k not in axis]
        groups = x.transpose([*remaining, *axis]).reshape((*(x.shape[k] for k in remaining), -1))
        order = np.lexsort((groups["where"], groups["value"], groups["where"] < 0), axis=-1)
        first = np.take_along_axis(groups, order[..., :1], axis=-1)
        return first.reshape([1 if k in axis else n for k, n in enumerate(x.shape)])

    def as_engine(self, merged: Any) -> tuple[Any, Any]:
        flat = merged.reshape(-1)
        return -flat["value"] if self.maximize else flat["value"], flat["where"]


@by_keyword("over")
def best(
    objective: str,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    over: Names,
    where: Names = (),
    maximize: bool = False,
    also: Names = (),
    units: UnitsOfOutputs | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> xr.Dataset:
    """Find the best value of a quantity over some axes, and its position, in base units.

    The result has a value for each point of the remaining axes.

    Parameters
    ----------
    objective : str
        Name of the quantity to minimize.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    over : str or list of str
        Axes to search.
    where : str or list of str
        Conditions on the points: ``"pass_time <= 50 ms"``.
    maximize : bool
        Whether to maximize the quantity instead.
    also : str or list of str
        Further quantities to report at the best points.
    units : str or dict of str, optional
        Unit of the results, or units by quantity: ``{"cost_per_token": "USD/Mtoken"}``.
    threads, progress
        As for `evaluate`.
    prune : bool
        Whether to skip subgrids that cannot contain the optimum. The result is the same.
    **inputs
        As for `evaluate`.

    Returns
    -------
    xarray.Dataset
        On the axes that are not searched: the objective, the coordinates of the best point on the searched axes, and
        the quantities of `also`. NaN (or an empty text) if no point meets the conditions. Points with an objective of
        NaN are skipped. Of equal points the first one wins, in the order of the axes as given. With a calibration other
        than the floor, ``memory_fits`` joins the conditions, and the attribute ``where`` lists it.

    Raises
    ------
    ConditionError, AxisError, MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> found = rs.best(
    ...     "cost_per_token", over="batch_size", where="pass_time <= 20 ms", batch_size=rs.geomspace(1, 8192, 500),
    ...     model="DeepSeek-V3", hardware="GB200 NVL72", chip_price="$3/hour", context_length=["8k", "64k"],
    ... )
    >>> found.sizes["context_length"]
    2
    """
    inputs = with_scenario(scenario, inputs)
    name = only_value(objective)
    also_names = [n for n in quantities_of(also) if n != name]
    converted = conversions([name, *also_names], units)
    conditions = parse_conditions(where)
    request = FoldRequest(inputs, [name, *also_names], conditions, over, threads=threads)
    required = request.require_memory(conditions)
    for dim in request.folded:
        if dim == name or dim in also_names:
            raise AxisError(f"also: {dim!r} is a searched axis, and the result has it already. Drop it.")
    points = best_points(
        request, name, also_names, maximize=bool(maximize), threads=threads, progress=progress, prune=prune
    )
    variables = {}
    for output, (values, value_dims) in points.results.items():
        factor, unit = converted.get(output, (1.0, lookup(output).unit))
        values = values / factor if factor != 1.0 else values
        keep = output not in request.kept and not points.everywhere
        variables[output] = variable(output, values, value_dims, unit, basis([output], request.grid), keep=keep)
    for dim in request.folded:
        owner = request.grid.coords[dim][1] if dim in request.grid.coords else None
        attrs = {} if owner is None else {"units": lookup(owner).unit, "long_name": lookup(owner).brief}
        variables[dim] = labelled(points.dims, points.coordinate(dim), attrs)
    if not required:
        warn_of_misfits(points.misfits(request.needed))
    optimum = dataset(variables, request.grid)
    optimum.attrs.update(required)
    return optimum


@dataclass
class BestPoints:
    """The best points of a request, as arrays along the kept axes.

    Attributes
    ----------
    request : FoldRequest
    dims : list of str
        Axes that the best points vary along.
    feasible : numpy.ndarray of bool
        Whether a point meets the conditions.
    everywhere : bool
        Whether there is one for each point of the remaining axes.
    at : dict of numpy.ndarray
        By folded axis: the positions.
    results : dict of tuple
        By output: values and their axes. NaN if there is no point.
    """

    request: FoldRequest
    dims: list[str]
    feasible: npt.NDArray[np.bool_]
    everywhere: bool
    at: dict[str, Positions]
    results: dict[str, tuple[Any, Sequence[str]]]

    def misfits(self, outputs: Sequence[str]) -> list[Misfit]:
        """Collect the points that do not fit in memory."""
        checks = checks_of(self.request.grid, outputs)
        if not checks or not (self.everywhere or self.feasible.any()):
            return []
        with contextlib.suppress(MissingInput):
            if not self.request.kept and not self.dims:
                return misfits_at(self.request.grid, checks, {dim: int(at) for dim, at in self.at.items()})
            best_grid = self.request.at_places(self.at, self.dims)
            if not self.everywhere:  # infeasible points are not reported
                check_values, _ = run(best_grid, checks, progress=False)
                fits = [spread(values, value_dims, self.dims) != 0 for values, value_dims in check_values]
                checks = [
                    check for check, of_check in zip(checks, fits, strict=True) if (self.feasible & ~of_check).any()
                ]
            return misfits_of(best_grid, checks)
        return []

    def coordinate(self, dim: str) -> npt.NDArray[Any]:
        """Return the coordinate of a searched axis at the best points.

        NaN or an empty text marks a missing point.
        """
        return self.request.coordinate(dim, self.at[dim], None if self.everywhere else self.feasible)


def best_points(
    request: FoldRequest,
    name: str,
    also_names: Sequence[str],
    *,
    maximize: bool,
    threads: int | None,
    progress: ProgressWish,
    prune: bool = True,
) -> BestPoints:
    """Find the best points of a request, and evaluate further outputs at them."""
    fold = Best(name, maximize, request.conditions)
    optima, where_found, axes = reduce(request, fold, threads=threads, progress=progress, prune=prune)
    dims = request.dims(axes)
    where_found = where_found.reshape(request.shape(dims))
    feasible = where_found != _NOWHERE
    at = request.places(where_found)
    values_of: dict[str, tuple[Any, Sequence[str]]] = {name: (optima.reshape(where_found.shape), dims)}
    if name in request.kept:  # a coordinate, never NaN
        also_names = [name, *also_names]
    if also_names:
        also_values, _ = run(request.at_places(at, dims), also_names, threads=threads, progress=False)
        values_of |= dict(zip(also_names, also_values, strict=True))
    results = {}
    for output, (values, value_dims) in values_of.items():
        if output not in request.kept:
            full = [dim for dim in request.kept if dim in {*value_dims, *dims}]
            if output != name:
                values = values_where(spread(feasible, dims, full), spread(values, value_dims, full))
            value_dims = full
        results[output] = values, value_dims
    everywhere = bool(feasible.all() if feasible.ndim else feasible)
    return BestPoints(request, dims, feasible, everywhere, at, results)
