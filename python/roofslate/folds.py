"""Calls that fold a grid without keeping it: `best`, `pareto`, `count`, `histogram`, `quantiles`; and `bounds`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate.conditions import parse_conditions
from roofslate.engine import ProgressWish, conversions, dataset, provenance, run, variable
from roofslate.errors import AxisError, InputTypeError, MissingInput, ValueRangeError, shown
from roofslate.inputs import (
    PRESETS,
    Values,
    explain_missing,
    input_quantity,
    is_whole,
    parsed,
    read_grid,
    spread,
    wanted_names,
)
from roofslate.question import Names, Question, values_where
from roofslate.registry import lookup
from roofslate.units import Axis

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["best", "bounds", "count", "histogram", "pareto", "quantiles"]

_NOWHERE = -1


def _quantities(names: Names) -> list[str]:
    """Names of quantities, checked; there may be none."""
    return [] if isinstance(names, (list, tuple)) and not names else wanted_names(names)


def _one(output: str) -> str:
    """The name of one quantity, checked."""
    if not isinstance(output, str):
        raise InputTypeError(f"expected the name of one quantity, got {shown(output)}")
    return wanted_names(output)[0]


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

    name = _one(objective)
    others = [n for n in _quantities(also) if n != name]
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

    small, large = _quantities(minimize), _quantities(maximize)
    objectives = [*small, *large]
    if not objectives:
        raise InputTypeError("pareto needs objectives: minimize=['cost_per_token', 'pass_time']")
    if len(set(objectives)) < len(objectives):
        raise InputTypeError(f"an objective is named twice: {', '.join(objectives)}")
    others = [n for n in _quantities(also) if n not in objectives]
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


def count(
    where: Names,
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
    """How many points of a grid meet conditions (1).

    Parameters
    ----------
    where : str or list of str
        Conditions: ``"pass_time <= 50 ms"``. NaN meets none.
    over : str or list of str, optional
        Axes whose points are counted; by default all.
    threads, progress, prune
        As for `best`.
    n, seed, correlation
        As for `sample`, where inputs are distributions: the draws are an axis ``sample``, which is folded and not kept.
    **inputs
        As for `evaluate`; distributions too, with `n` and `seed`.

    Returns
    -------
    int or xarray.DataArray
        A number if all axes are counted, otherwise an array on the others that the conditions vary along.

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
    import xarray as xr

    conditions = parse_conditions(where)
    if not conditions:
        raise InputTypeError("count needs a condition: rs.count('pass_time <= 50 ms', ...)")
    question = Question(inputs, [], conditions, over, (n, seed, correlation))
    counts, axes = question.run(_core.count, question.conditions, threads=threads, progress=progress, prune=prune)
    dims = question.dims(axes)
    if not dims:
        return int(counts[0])
    attrs = {"units": "1", "long_name": " and ".join(c.text for c in conditions)}
    return xr.DataArray(
        counts.reshape(question.shape(dims)), dims=dims, coords=question.coords(dims), name="count", attrs=attrs
    )


def histogram(
    output: str,
    /,
    *,
    bins: int | Sequence[Any] | Axis = 50,
    range: tuple[Any, Any] | None = None,  # noqa: A002
    log: bool = False,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> xr.Dataset:
    """How often the values of a quantity fall into bins (1), as NumPy counts them.

    Parameters
    ----------
    output : str
        Name of a quantity.
    bins : int or sequence
        How many bins of equal width, or their rising edges: numbers in base units, texts with units, `rs.linspace` or
        `rs.geomspace`.
    range : tuple, optional
        Lower and upper end of the bins, where `bins` is a number; by default the smallest and the largest finite value.
    log : bool
        Whether the bins have equal ratios instead of equal widths, where `bins` is a number.
    over : str or list of str, optional
        Axes whose points are counted; by default all.
    threads, progress, prune
        As for `best`.
    n, seed, correlation
        As for `sample`, where inputs are distributions: the draws are an axis ``sample``, which is folded and not kept.
    **inputs
        As for `evaluate`; distributions too, with `n` and `seed`.

    Returns
    -------
    xarray.Dataset
        ``count`` in each bin, with the coordinates ``lower`` and ``upper`` of its edges; how many values are ``below``
        the first edge and ``above`` the last one, infinite ones among them, and how many are ``nan``. A bin holds its
        lower edge, the last one its upper edge too.

    Raises
    ------
    AxisError, MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.histogram("pass_tokens", bins=[1, 3, 9], batch_size=range(1, 9))["count"].values.tolist()
    [2, 6]
    """
    import xarray as xr

    name = _one(output)
    question = Question(inputs, [name], (), over, (n, seed, correlation))
    question.refuse("bin", "count", "below", "above", "nan", "lower", "upper")
    formula = [("quantity", name)]
    edges = _edges(name, bins, range, log)
    if edges is None:
        low, high = question.run(_core.finite_extent, formula, threads=threads, progress=progress)
        if low > high:
            raise ValueRangeError(f"{name} has no finite value on this grid: give range=")
        edges = _spaced(name, low, high, int(bins), log)  # type: ignore[arg-type]
    counts, axes = question.run(
        _core.histogram, formula, edges.tolist(), threads=threads, progress=progress, prune=prune
    )
    dims = question.dims(axes)
    counts = counts.reshape((*question.shape(dims), -1))
    q = lookup(name)
    of = {"units": q.unit, "long_name": q.brief}
    return xr.Dataset(
        {
            "count": ([*dims, "bin"], counts[..., 1:-2], {"units": "1", "long_name": f"values of {name} in each bin"}),
            "below": (dims, counts[..., 0], {"units": "1", "long_name": f"values of {name} below the first bin"}),
            "above": (dims, counts[..., -2], {"units": "1", "long_name": f"values of {name} above the last bin"}),
            "nan": (dims, counts[..., -1], {"units": "1", "long_name": f"values of {name} that are undefined"}),
        },
        coords={**question.coords(dims), "lower": ("bin", edges[:-1], of), "upper": ("bin", edges[1:], of)},
        attrs=provenance(question.grid),
    )


def _edges(name: str, bins: Any, ends: Any, log: bool) -> Values | None:
    """Edges of bins; None where the values must be looked at first."""
    q = lookup(name)
    if is_whole(bins):
        if not 1 <= bins <= 10_000_000:
            raise ValueRangeError(f"bins must be 1 to 10,000,000, got {shown(bins)}")
        if ends is None:
            return None
        if not isinstance(ends, (tuple, list)) or len(ends) != 2:
            raise InputTypeError(f"range: expected the lower and the upper end, got {shown(ends)}")
        return _spaced(name, parsed(ends[0], q), parsed(ends[1], q), int(bins), log)
    listed = isinstance(bins, (Sequence, Axis)) or (isinstance(bins, np.ndarray) and bins.ndim > 0)
    if isinstance(bins, (str, bytes)) or not listed:
        raise InputTypeError(f"bins: expected a number of bins or their edges, got {shown(bins)}")
    if ends is not None or log:
        raise InputTypeError("bins gives the edges: range= and log= say where a number of bins lies")
    if len(bins) > 10_000_001:
        raise ValueRangeError(f"bins: at most 10,000,001 edges are taken, got {len(bins)}")
    edges = bins.resolve(q.unit) if isinstance(bins, Axis) else np.array([parsed(x, q) for x in bins], dtype=float)
    if edges.size < 2 or not np.all(np.diff(edges) > 0) or not np.all(np.isfinite(edges)):
        raise ValueRangeError(f"bins: edges must be finite and rise, got {shown(bins)}")
    return edges


def _spaced(name: str, low: float, high: float, bins: int, log: bool) -> Values:
    """Edges of so many bins."""
    if not (np.isfinite(low) and np.isfinite(high)) or low > high:
        raise ValueRangeError(f"range: the ends must be finite and rise, got {low:g} and {high:g}")
    if log and low <= 0:
        raise ValueRangeError(
            f"log=True needs positive values, but the bins of {name} would begin at {low:g}: give range="
        )
    if low == high:  # as NumPy has it, or as it would have it
        low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
    edges = np.geomspace(low, high, bins + 1) if log else np.linspace(low, high, bins + 1)
    if not np.all(np.diff(edges) > 0):
        raise ValueRangeError(f"{bins:,} bins don't fit between {low!r} and {high!r}: ask for fewer, or give range=")
    return edges


def quantiles(
    output: str,
    q: float | Sequence[float],
    /,
    *,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    units: str | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> float | xr.DataArray:
    """Exact quantiles of the values of a quantity on a grid, in base units unless `units` says otherwise.

    Parameters
    ----------
    output : str
        Name of a quantity.
    q : float or sequence of float
        From 0 to 1; 0.5 is the median. Between two values as NumPy does it (``"linear"``).
    over : str or list of str, optional
        Axes whose points are taken together; by default all.
    units : str, optional
        Unit of the result.
    threads, progress
        As for `evaluate`.
    n, seed, correlation
        As for `sample`, where inputs are distributions: the draws are an axis ``sample``, which is folded and not kept.
    **inputs
        As for `evaluate`; distributions too, with `n` and `seed`.

    Returns
    -------
    float or xarray.DataArray
        With the axis ``quantile`` first if `q` is a sequence, then the axes that are kept. NaN values are left out.

    Raises
    ------
    AxisError, MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.quantiles("pass_tokens", 0.5, batch_size=range(1, 9))
    4.5
    """
    import xarray as xr

    name = _one(output)
    try:
        wanted = np.array(q, dtype=float)
    except (TypeError, ValueError, OverflowError, MemoryError):
        raise InputTypeError(f"q: expected numbers from 0 to 1, got {shown(q)}") from None
    if wanted.ndim > 1 or wanted.size == 0 or q is None:
        raise InputTypeError(f"q: expected a number from 0 to 1 or a list of them, got {shown(q)}")
    if not np.all((wanted >= 0) & (wanted <= 1)):
        raise ValueRangeError(f"q must be from 0 to 1, got {shown(q)}")
    factor, unit = conversions([name], {name: units} if units is not None else None).get(name, (1.0, lookup(name).unit))
    question = Question(inputs, [name], (), over, (n, seed, correlation))
    question.refuse("quantile")
    found, axes = question.run(
        _core.quantiles, [("quantity", name)], np.atleast_1d(wanted).tolist(), threads=threads, progress=progress
    )
    dims = question.dims(axes)
    before, after, share = np.moveaxis(found.reshape((*question.shape(dims), -1, 3)), -1, 0)
    with np.errstate(invalid="ignore"):
        step = after - before
        between = np.where(share < 0.5, before + step * share, after - step * (1 - share))
    values = np.where((before == after) | (share == 0), before, between)
    values = np.moveaxis(values, -1, 0) / factor
    coords = question.coords(dims)
    if wanted.ndim == 0:
        if not dims:
            return float(values[0])
        values = values[0]
    else:
        dims, coords = ["quantile", *dims], {"quantile": wanted, **coords}
    attrs = {"units": unit, "long_name": lookup(name).brief}
    return xr.DataArray(values, dims=dims, coords=coords, name=name, attrs=attrs)


def bounds(output: str, /, *, units: str | None = None, **inputs: Any) -> tuple[float, float]:
    """Bounds that no value of a quantity leaves while its inputs stay in ranges, in base units.

    They hold for what the engine computes, rounding included. They may be wider than need be where an input enters a
    formula more than once.

    Parameters
    ----------
    output : str
        Name of a quantity.
    units : str, optional
        Unit of the result.
    **inputs
        As for `evaluate`; a tuple of two is a range, all of it.

    Returns
    -------
    tuple of float
        The lower and the upper bound; NaN where nothing can be said.

    Raises
    ------
    MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError
        As for `evaluate`.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.bounds("hbm_drain_time", hbm_capacity=("80 GB", "288 GB"), hbm_bandwidth="8 TB/s")
    (0.01, 0.036)
    """
    name = _one(output)
    factor, _ = conversions([name], {name: units} if units is not None else None).get(name, (1.0, ""))
    ends = {}
    for key, given in inputs.items():
        if isinstance(given, tuple):
            if len(given) != 2:
                raise InputTypeError(f"{key}: a range is a tuple of two, got {shown(given)}")
            if key in PRESETS or input_quantity(key).choices:
                raise InputTypeError(f"{key}: words have no range, give a list of them; got {shown(given)}")
            ends[key] = list(given)
        else:
            ends[key] = given
    grid = read_grid(ends, [name])
    for key, given in inputs.items():
        if isinstance(given, tuple) and key in grid.inputs and grid.inputs[key].values[0] > grid.inputs[key].values[1]:
            raise ValueRangeError(f"{key}: the range is reversed, {shown(given)}")
    try:
        low, high = _core.bounds([("quantity", name)], list(grid.sizes.values()), grid.core_inputs())
    except MissingInput as error:
        raise explain_missing(error, grid) from None
    return low / factor, high / factor
