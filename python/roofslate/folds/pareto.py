"""`rs.pareto`: points that no other point dominates."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from roofslate import _core
from roofslate.errors import InputTypeError
from roofslate.folds.chunks import reduce
from roofslate.folds.fold import Chunk, Comparison, Fold
from roofslate.folds.request import FoldRequest, Names, quantities_of
from roofslate.grid.basis import basis
from roofslate.grid.by_position import by_keyword
from roofslate.grid.label import UnitsOfOutputs, conversions, said_of
from roofslate.grid.read import with_scenario
from roofslate.grid.run import run
from roofslate.registry.conditions import parse_conditions
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from roofslate._base.progress import ProgressWish
    from roofslate.registry.values import Values

__all__ = ["Pareto", "pareto"]


@dataclass
class _Front:
    """Nondominated points: values to minimize, and flat positions in the full grid."""

    values: Values
    where: Any


@dataclass(frozen=True)
class Pareto(Fold):
    """The points that no other point dominates."""

    objectives: list[str]
    maximize: list[bool]
    conditions: list[Comparison]

    dtype: ClassVar[np.dtype[Any]] = np.dtype(object)

    def core(self) -> _core.Pareto:
        return _core.Pareto([[("quantity", n)] for n in self.objectives], self.maximize, self.conditions)

    def of_chunk(self, chunk: Chunk) -> Any:
        where = chunk.run(self)[1]
        values = np.empty((where.size, len(self.objectives)))
        if where.size:
            grid = chunk.request.at_places(chunk.request.places(where), ["point"])
            for k, (objective, large) in enumerate(zip(self.objectives, self.maximize, strict=True)):
                column = chunk.values(grid, objective, ["point"])
                values[:, k] = -column if large else column  # the fold minimizes
        front = np.empty(1, object)
        front[0] = _Front(values, chunk.places(where))
        return front

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:  # noqa: ARG004
        fronts = x.reshape(-1).tolist()
        values = np.concatenate([front.values for front in fronts])
        where = np.concatenate([front.where for front in fronts])
        merged = np.empty((1,) * x.ndim, object)
        merged.reshape(-1)[0] = _Front(*_core.front(values, where))
        return merged

    def as_engine(self, merged: Any) -> tuple[Any, Any]:
        return np.empty(0), merged.reshape(-1)[0].where


@by_keyword("minimize")
def pareto(
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    minimize: Names = (),
    maximize: Names = (),
    where: Names = (),
    also: Names = (),
    units: UnitsOfOutputs | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> pd.DataFrame:
    """Find the Pareto frontier of a grid, in base units.

    Parameters
    ----------
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    minimize, maximize : str or list of str
        Quantities to minimize and to maximize, at most four together.
    where : str or list of str
        Conditions on the points: ``"hbm_used <= hbm_capacity"``.
    also : str or list of str
        Further quantities to report at these points.
    units : str or dict of str, optional
        Unit of the results, or units by quantity: ``{"cost_per_token": "USD/Mtoken"}``.
    threads, progress, prune
        As for `best`.
    **inputs
        As for `evaluate`. All axes are searched.

    Returns
    -------
    pandas.DataFrame
        A row per nondominated point, sorted by the first objective, best first. Columns: the axes, the objectives,
        `also`. Of points equal in all objectives, the first one remains. ``attrs`` hold the ``basis`` and the
        ``calibration`` of each column. With a calibration other than the floor, ``memory_fits`` joins the conditions,
        and ``attrs["where"]`` lists it.

    Raises
    ------
    ConditionError, AxisError, MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> front = rs.pareto(
    ...     minimize=["cost_per_token", "pass_time"], batch_size=rs.geomspace(1, 8192, 100), context_length="8k",
    ...     model="DeepSeek-V3", hardware="GB200 NVL72", chip_price="$3/hour",
    ... )
    >>> bool(front["cost_per_token"].is_monotonic_increasing and front["pass_time"].is_monotonic_decreasing)
    True
    """
    inputs = with_scenario(scenario, inputs)
    import pandas as pd

    small, large = quantities_of(minimize), quantities_of(maximize)
    objectives = [*small, *large]
    if not objectives:
        raise InputTypeError("pareto() expects objectives, got none. Pass minimize=['cost_per_token', 'pass_time'].")
    if len(set(objectives)) < len(objectives):
        raise InputTypeError(f"pareto() expects distinct objectives, got {', '.join(objectives)}. Drop the duplicate.")
    also_names = [n for n in quantities_of(also) if n not in objectives]
    converted = conversions([*objectives, *also_names], units)
    conditions = parse_conditions(where)
    request = FoldRequest(inputs, [*objectives, *also_names], conditions, None, threads=threads)
    required = request.require_memory(conditions)
    fold = Pareto(objectives, [n in large for n in objectives], request.conditions)
    _, where_found, _ = reduce(request, fold, threads=threads, progress=progress, prune=prune)
    at = request.places(where_found)
    columns: dict[str, Any] = {dim: request.coordinate(dim, at[dim]) for dim in request.axes}
    if where_found.size:
        results, _ = run(request.at_places(at, ["point"]), [*objectives, *also_names], threads=threads, progress=False)
    else:
        results = [(np.empty(0), ("point",)) for _ in [*objectives, *also_names]]
    for name, (values, _) in zip([*objectives, *also_names], results, strict=True):
        factor = converted[name][0] if name in converted else 1.0
        column = np.broadcast_to(values / factor, where_found.shape)
        choices = lookup(name).choices
        columns[name] = (
            pd.Categorical.from_codes(column.astype(np.int8), categories=pd.Index(choices)) if choices else column
        )
    table = pd.DataFrame(columns)
    bases = {name: basis([name], request.grid) for name in [*objectives, *also_names]}
    for key in ("basis", "calibration"):
        table.attrs[key] = {name: said[key] for name, said in bases.items() if key in said}
    table.attrs.update({**said_of(request.grid), **required})
    return table
