"""`rs.pareto`: points that no other point dominates."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate.errors import InputTypeError
from roofslate.folds.request import Names, Question, quantities_of
from roofslate.grid.label import conversions
from roofslate.grid.run import run
from roofslate.registry.conditions import parse_conditions
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

    from roofslate._base.progress import ProgressWish

__all__ = ["pareto"]


def pareto(
    *,
    minimize: Names = (),
    maximize: Names = (),
    where: Names = (),
    also: Names = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> pd.DataFrame:
    """The points of a grid that no other point beats in all objectives, in base units.

    Parameters
    ----------
    minimize, maximize : str or list of str
        Quantities that are to be small and large, up to four.
    where : str or list of str
        Conditions that must hold: ``"hbm_used <= hbm_capacity"``.
    also : str or list of str
        Quantities that are wanted at these points too.
    units : dict of str, optional
        Units of results: ``{"cost_per_token": "USD/Mtoken"}``.
    threads, progress, prune
        As for `best`.
    **inputs
        As for `evaluate`; all axes are searched.

    Returns
    -------
    pandas.DataFrame
        A row for each point, best value of the first objective first: what stands on each axis, the objectives, `also`.
        Of points that are equal in all objectives the first one is kept.

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
    import pandas as pd

    small, large = quantities_of(minimize), quantities_of(maximize)
    objectives = [*small, *large]
    if not objectives:
        raise InputTypeError("pareto needs objectives: minimize=['cost_per_token', 'pass_time']")
    if len(set(objectives)) < len(objectives):
        raise InputTypeError(f"an objective is named twice: {', '.join(objectives)}")
    others = [n for n in quantities_of(also) if n not in objectives]
    converted = conversions([*objectives, *others], units)
    question = Question(inputs, [*objectives, *others], parse_conditions(where), None)
    where_found = question.run(
        _core.pareto, [[("quantity", n)] for n in objectives], [n in large for n in objectives],
        question.conditions, threads=threads, progress=progress, prune=prune,
    )  # fmt: skip
    at = question.places(where_found)
    columns: dict[str, Any] = {dim: question.coordinate(dim, at[dim]) for dim in question.axes}
    if where_found.size:
        results, _ = run(question.at_places(at, ["point"]), [*objectives, *others], threads=threads, progress=False)
    else:
        results = [(np.empty(0), ("point",)) for _ in [*objectives, *others]]
    for name, (values, _) in zip([*objectives, *others], results, strict=True):
        factor = converted[name][0] if name in converted else 1.0
        column = np.broadcast_to(values / factor, where_found.shape)
        choices = lookup(name).choices
        columns[name] = (
            pd.Categorical.from_codes(column.astype(np.int8), categories=pd.Index(choices)) if choices else column
        )
    return pd.DataFrame(columns)
