"""Labels results: units, attributes and coordinates as xarray objects."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units as _units
from roofslate._base.messages import shown
from roofslate._base.version import __version__
from roofslate.errors import InputTypeError, UnitError, UnknownName
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    import xarray as xr

    from roofslate.grid.grid import Grid

__all__ = ["conversions", "data_array", "dataset", "provenance", "variable"]


def conversions(wanted: Sequence[str], units: Mapping[str, str] | None) -> dict[str, tuple[float, str]]:
    """Factor and unit text of each output that is wanted in another unit."""
    if units is not None and not isinstance(units, Mapping):
        raise InputTypeError(f"units: expected a dict of units by output, got {shown(units)}")
    found = {}
    for name, text in (units or {}).items():
        if name not in wanted:
            raise UnknownName(f"units names {name!r}, which is not among the outputs {', '.join(wanted)}")
        if not isinstance(text, str):
            raise InputTypeError(f"units[{name!r}]: expected a text such as {lookup(name).unit!r}, got {shown(text)}")
        try:
            found[name] = _units.convert_factor(text, lookup(name).unit), text
        except UnitError as error:
            raise UnitError(f"units[{name!r}]: {error}") from None
    return found


def variable(name: str, values: Any, dims: Sequence[str], unit: str, *, keep: bool = False) -> xr.Variable:
    """Values with the unit and meaning of their quantity; flags of a choice as small numbers unless they are kept."""
    import xarray as xr

    q = lookup(name)
    attrs: dict[str, Any] = {"units": unit, "long_name": q.brief}
    if q.choices:
        attrs |= {"flag_values": np.arange(len(q.choices), dtype=np.int8), "flag_meanings": " ".join(q.choices)}
        if not keep:
            values = values.astype(np.int8)
    plain = type(values) is np.ndarray  # any other is looked at, for which xarray imports dask
    return xr.Variable(dims, values, attrs, fastpath=plain)


def data_array(
    name: str,
    values: xr.Variable,
    grid: Grid,
    *,
    beside: Mapping[str, xr.Variable] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> xr.DataArray:
    """A variable by itself with the axes of its grid, and with what stands beside its values."""
    array = _assembled({name: values}, [str(dim) for dim in values.dims], grid, beside or {}, {})[name]
    array.attrs.update(attrs or {})
    return array


def dataset(variables: Mapping[str, xr.Variable], grid: Grid, asked: Grid | None = None) -> xr.Dataset:
    """Variables with the axes of their grid; their provenance is that of the grid that was asked about."""
    varying = list(dict.fromkeys(str(dim) for v in variables.values() for dim in v.dims))
    return _assembled(variables, varying, grid, {}, provenance(asked or grid))


def _assembled(
    variables: Mapping[str, xr.Variable],
    dims: Sequence[str],
    grid: Grid,
    beside: Mapping[str, xr.Variable],
    attrs: Mapping[str, Any],
) -> xr.Dataset:
    """A Dataset without the search for conflicts, which takes longer than evaluating a million points."""
    import pandas as pd
    import xarray as xr
    from xarray.indexes import PandasIndex

    axes: dict[Hashable, xr.Variable] = {}
    indexes: dict[Hashable, xr.Index] = {}
    for dim in dims:
        if dim in grid.coords or dim in variables:
            coord, owner = grid.coords.get(dim, (None, None))
            q = lookup(owner) if owner is not None else None
            described = {"units": q.unit, "long_name": q.brief} if q is not None and not q.choices else {}
            values = variables[dim] if dim in variables else xr.Variable(dim, pd.Index(coord, copy=False), described)
            indexes[dim] = index = PandasIndex.from_variables({dim: values}, options={})
            axes |= index.create_variables({dim: values})
    coords: dict[Any, xr.Variable] = {**beside, **axes}
    sizes = {dim: size for v in variables.values() for dim, size in v.sizes.items()}
    parts: dict[Any, xr.Variable] = {**variables, **coords}
    return xr.Dataset._construct_direct(parts, set(coords), sizes, dict(attrs), indexes)


def provenance(grid: Grid) -> dict[str, str]:

    attrs = {"roofslate_version": __version__}
    for keyword, presets in grid.presets.items():
        attrs[keyword] = ", ".join(f"{p.name} ({p.date})" if p.date else p.name for p in presets)
    for name, i in grid.inputs.items():
        if not i.dims and i.origin is None:
            attrs[name] = (
                i.quantity.choices[int(i.values)]
                if i.quantity.choices
                else _units.format(float(i.values), i.quantity.unit, 12)
            )
    return attrs
