"""`rs.count`: number of points that meet conditions."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate import _core
from roofslate.errors import InputTypeError
from roofslate.folds.chunks import reduce
from roofslate.folds.fold import Comparison, Fold
from roofslate.folds.request import FoldRequest, Names
from roofslate.grid.basis import basis
from roofslate.grid.label import said_of
from roofslate.grid.read import with_scenario
from roofslate.registry.conditions import parse_conditions

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray as xr

    from roofslate._base.progress import ProgressWish

__all__ = ["Count", "count"]


@dataclass(frozen=True)
class Count(Fold):
    """The number of points that meet conditions."""

    conditions: list[Comparison]

    def core(self) -> _core.Count:
        return _core.Count(self.conditions)


def count(
    where: Names,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> int | xr.DataArray:
    """Count the points of a grid that meet conditions (1).

    Parameters
    ----------
    where : str or list of str
        Conditions: ``"pass_time <= 50 ms"``. NaN meets none.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    over : str or list of str, optional
        Axes whose points are counted. By default all.
    threads, progress, prune
        As for `best`.
    n, seed, correlation
        As for `sample`, if inputs are ranges or distributions. The draws form the reduced axis ``sample``.
    **inputs
        As for `evaluate`, and ranges or distributions as for `sample`.

    Returns
    -------
    int or xarray.DataArray
        A number if all axes are counted, otherwise an array on the other axes along which the conditions vary.

    Raises
    ------
    ConditionError, AxisError, MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.count("pass_tokens >= 5 tok", batch_size=range(1, 9))
    4
    """
    inputs = with_scenario(scenario, inputs)
    import xarray as xr

    conditions = parse_conditions(where)
    if not conditions:
        raise InputTypeError("count() expects a condition, got none. Pass one, e.g. 'pass_time <= 50 ms'.")
    request = FoldRequest(inputs, [], conditions, over, (n, seed, correlation), threads=threads)
    _, counts, axes = reduce(request, Count(request.conditions), threads=threads, progress=progress, prune=prune)
    dims = request.dims(axes)
    if not dims:
        return int(counts[0])
    attrs = {"units": "1", "long_name": " and ".join(c.text for c in conditions)}
    attrs |= {**basis(request.needed, request.grid), **said_of(request.grid)}
    return xr.DataArray(
        counts.reshape(request.shape(dims)), dims=dims, coords=request.coords(dims), name="count", attrs=attrs
    )
