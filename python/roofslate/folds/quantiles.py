"""`rs.quantiles`: exact quantiles over a grid."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.folds.request import Names, Question, only_value
from roofslate.grid.label import conversions
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    from roofslate._base.progress import ProgressWish

__all__ = ["quantiles"]


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

    name = only_value(output)
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
