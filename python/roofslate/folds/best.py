"""`rs.best`: the optimum over a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate import _core
from roofslate.errors import AxisError
from roofslate.folds.request import Names, Question, only_value, quantities_of, values_where
from roofslate.grid.grid import spread
from roofslate.grid.label import conversions, dataset, variable
from roofslate.grid.run import run
from roofslate.registry.conditions import parse_conditions
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray as xr

    from roofslate._base.progress import ProgressWish

__all__ = ["best"]


_NOWHERE = -1


def best(
    objective: str,
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
    import xarray as xr

    name = only_value(objective)
    others = [n for n in quantities_of(also) if n != name]
    converted = conversions([name, *others], units)
    question = Question(inputs, [name, *others], parse_conditions(where), over)
    for dim in question.folded:
        if dim == name or dim in others:
            raise AxisError(f"{dim!r} is an axis that is searched: it is among the results anyway")
    optima, where_found, axes = question.run(
        _core.best, [("quantity", name)], bool(maximize), question.conditions,
        threads=threads, progress=progress, prune=prune,
    )  # fmt: skip
    dims = question.dims(axes)
    where_found = where_found.reshape(question.shape(dims))
    found = where_found != _NOWHERE
    everywhere = bool(found.all())
    at = question.places(where_found)
    results = {name: (optima.reshape(where_found.shape), tuple(dims))}
    if name in question.kept:  # a coordinate, which has no gaps
        others = [name, *others]
    if others:
        there, _ = run(question.at_places(at, dims), others, threads=threads, progress=False)
        results |= dict(zip(others, there, strict=True))
    variables = {}
    for output, (values, own) in results.items():
        factor, unit = converted.get(output, (1.0, lookup(output).unit))
        values = values / factor if factor != 1.0 else values
        if output in question.kept:
            variables[output] = variable(output, values, own, unit)
        else:
            full = [dim for dim in question.kept if dim in {*own, *dims}]
            if output != name:
                values = values_where(spread(found, dims, full), spread(values, own, full))
            variables[output] = variable(output, values, full, unit, keep=not everywhere)
    for dim in question.folded:
        owner = question.grid.coords[dim][1] if dim in question.grid.coords else None
        attrs = {} if owner is None else {"units": lookup(owner).unit, "long_name": lookup(owner).brief}
        variables[dim] = xr.Variable(dims, question.coordinate(dim, at[dim], None if everywhere else found), attrs)
    return dataset(variables, question.grid)
