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
from roofslate.grid.fit import Misfit, checks_of, misfits_of, misfits_of_point, warn_of_misfits
from roofslate.grid.grid import spread
from roofslate.grid.label import conversions, dataset, labelled, variable
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
        answer["value"] = -values if self.maximize else values  # to be small
        answer["where"] = chunk.places(where)
        return answer

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:  # noqa: ARG004
        kept = [k for k in range(x.ndim) if k not in axis]
        groups = x.transpose([*kept, *axis]).reshape((*(x.shape[k] for k in kept), -1))
        order = np.lexsort((groups["where"], groups["value"], groups["where"] < 0), axis=-1)
        first = np.take_along_axis(groups, order[..., :1], axis=-1)
        return first.reshape([1 if k in axis else n for k, n in enumerate(x.shape)])

    def as_engine(self, merged: Any) -> tuple[Any, Any]:
        flat = merged.reshape(-1)
        return -flat["value"] if self.maximize else flat["value"], flat["where"]


def best(
    objective: str,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    over: Names,
    where: Names = (),
    maximize: bool = False,
    also: Names = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> xr.Dataset:
    """The best value of a quantity over some axes, and where it is, for each point of the others, in base units.

    Parameters
    ----------
    objective : str
        Name of the quantity that is to be small.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    over : str or list of str
        Axes that are searched.
    where : str or list of str
        Conditions that must hold: ``"pass_time <= 50 ms"``.
    maximize : bool
        Whether the quantity is to be large instead.
    also : str or list of str
        Quantities that are wanted at the best points too.
    units : dict of str, optional
        Units of results: ``{"cost_per_token": "USD/Mtoken"}``.
    threads, progress
        As for `evaluate`.
    prune : bool
        Whether parts of the grid that can't hold the best are skipped. The answer is the same.
    **inputs
        As for `evaluate`.

    Returns
    -------
    xarray.Dataset
        On the axes that are not searched: the objective, for each searched axis what stands there at the best point,
        and the quantities of `also`. NaN (an empty text) where no point meets the conditions. Points at which the
        objective is NaN are skipped; of equal points the first one is taken, in the order in which the axes are given.
        By a calibration other than the floor, ``memory_fits`` is among the conditions: the attribute ``where`` says so.

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
    others = [n for n in quantities_of(also) if n != name]
    converted = conversions([name, *others], units)
    conditions = parse_conditions(where)
    request = FoldRequest(inputs, [name, *others], conditions, over, threads=threads)
    required = request.require_memory(conditions)
    for dim in request.folded:
        if dim == name or dim in others:
            raise AxisError(f"{dim!r} is an axis that is searched: it is among the results anyway")
    points = best_points(
        request, name, others, maximize=bool(maximize), threads=threads, progress=progress, prune=prune
    )
    variables = {}
    for output, (values, own) in points.results.items():
        factor, unit = converted.get(output, (1.0, lookup(output).unit))
        values = values / factor if factor != 1.0 else values
        keep = output not in request.kept and not points.everywhere
        variables[output] = variable(output, values, own, unit, basis([output], request.grid), keep=keep)
    for dim in request.folded:
        owner = request.grid.coords[dim][1] if dim in request.grid.coords else None
        attrs = {} if owner is None else {"units": lookup(owner).unit, "long_name": lookup(owner).brief}
        variables[dim] = labelled(points.dims, points.coordinate(dim), attrs)
    if not required:
        warn_of_misfits(points.misfits(request.needed))
    found = dataset(variables, request.grid)
    found.attrs.update(required)
    return found


@dataclass
class BestPoints:
    """The best points of a request, as arrays along the kept axes.

    Attributes
    ----------
    request : FoldRequest
    dims : list of str
        Axes that the best points vary along.
    found : numpy.ndarray of bool
        Whether a point meets the conditions.
    at : dict of numpy.ndarray
        By folded axis: the positions.
    results : dict of tuple
        By output: values and their axes; NaN where there is no point.
    """

    request: FoldRequest
    dims: list[str]
    found: npt.NDArray[np.bool_]
    at: dict[str, Positions]
    results: dict[str, tuple[Any, Sequence[str]]]

    def misfits(self, wanted: Sequence[str]) -> list[Misfit]:
        """Which of the points do not fit into memory."""
        checks = checks_of(self.request.grid, wanted)
        if not checks or not self.found.any():
            return []
        there = self.request.at_places(self.at, self.dims)
        with contextlib.suppress(MissingInput):
            if not there.sizes:
                numbers = there.numbers()
                return misfits_of_point(checks, _core.numbers(checks, numbers), numbers)
            if not self.found.all():  # what meets no condition is no result
                held, _ = run(there, checks, progress=False)
                fits = [spread(values, own, self.dims) != 0 for values, own in held]
                checks = [check for check, of_check in zip(checks, fits, strict=True) if (self.found & ~of_check).any()]
            return misfits_of(there, checks)
        return []

    @property
    def everywhere(self) -> bool:
        """Whether each kept point has a best point."""
        return bool(self.found.all())

    def coordinate(self, dim: str) -> npt.NDArray[Any]:
        """The value of a folded axis at the best points; NaN or an empty text where there is none."""
        return self.request.coordinate(dim, self.at[dim], None if self.everywhere else self.found)


def best_points(
    request: FoldRequest,
    name: str,
    others: Sequence[str],
    *,
    maximize: bool,
    threads: int | None,
    progress: ProgressWish,
    prune: bool = True,
) -> BestPoints:
    """Find the best points of a request, and evaluate other outputs there."""
    fold = Best(name, maximize, request.conditions)
    optima, where_found, axes = reduce(request, fold, threads=threads, progress=progress, prune=prune)
    dims = request.dims(axes)
    where_found = where_found.reshape(request.shape(dims))
    found = where_found != _NOWHERE
    at = request.places(where_found)
    values_of: dict[str, tuple[Any, Sequence[str]]] = {name: (optima.reshape(where_found.shape), dims)}
    if name in request.kept:  # a coordinate, which has no gaps
        others = [name, *others]
    if others:
        there, _ = run(request.at_places(at, dims), others, threads=threads, progress=False)
        values_of |= dict(zip(others, there, strict=True))
    results = {}
    for output, (values, own) in values_of.items():
        if output not in request.kept:
            full = [dim for dim in request.kept if dim in {*own, *dims}]
            if output != name:
                values = values_where(spread(found, dims, full), spread(values, own, full))
            own = full
        results[output] = values, own
    return BestPoints(request, dims, found, at, results)
