"""Evaluated results as views: their axes and inputs from the attributes of a Dataset."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import unknown
from roofslate.errors import AxisError, InputTypeError
from roofslate.plotting.pages.page import Page
from roofslate.plotting.pages.view import View, view_of
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    import xarray as xr

__all__ = ["result_page", "result_view"]

_BINDING = "bottleneck"
_ENDS = ("_lower", "_upper")


def result_page(result: Any, x: str | None, *, unused: tuple[Any, ...] = ()) -> Page:
    """Make a page of an evaluated result, along `x`, without the unused options."""
    if any(one is not None for one in unused):
        raise InputTypeError("y, hue and ax: an interactive plot takes x only")
    return Page([result_view(result, x)])


def result_view(result: xr.DataArray | xr.Dataset, x: str | None = None) -> View:
    """Make a view of an evaluated result.

    Parameters
    ----------
    result : xarray.Dataset
        From `evaluate` with a list of names, whose attributes hold the scalar inputs.
    x : str, optional
        The axis along which the chart is drawn. By default the first.

    Raises
    ------
    InputTypeError
        If the result does not hold its inputs, such as a DataArray.
    UnknownName
        If `x` is no axis of the result.
    AxisError
        If an axis is no input, such as draws.
    """
    import xarray as xr

    if not isinstance(result, xr.Dataset) or "roofslate_version" not in result.attrs:
        kind = type(result).__name__
        raise InputTypeError(
            f"an interactive plot expects an xarray.Dataset from rs.evaluate([...], ...), which holds its inputs, got "
            f"{kind}. Give evaluate() a list of names"
        )
    names = [str(name) for name in result.data_vars]
    outputs = [name for name in names if name in entries() and name != _BINDING]
    outputs = [name for name in outputs if not name.endswith(_ENDS)] or [name for name in names if name == _BINDING]
    dims = [str(dim) for dim in result.dims]
    if x is not None and x not in dims:
        raise unknown("axis of the result", x, dims)
    inputs: dict[str, Any] = {}
    for dim in sorted(dims, key=lambda dim: dim != x):
        if dim not in PRESETS and dim not in entries():
            raise AxisError(f"{dim}: an interactive plot has axes of inputs and presets, not of {dim}")
        values = result.coords[dim].to_numpy()
        inputs[dim] = values.tolist() if values.dtype.kind not in "iuf" else values
    for name, text in result.attrs.items():
        if name in PRESETS and name not in inputs:
            inputs[name] = re.sub(r" \([^()]*\)$", "", text)
        elif name in entries():
            inputs[name] = text
    return view_of(outputs, inputs)
