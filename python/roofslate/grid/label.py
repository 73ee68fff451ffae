"""Labels results: units, attributes and coordinates as xarray objects."""

from __future__ import annotations

import functools
from collections.abc import Mapping, Sequence
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

__all__ = ["conversions", "data_array", "dataset", "labelled", "provenance", "variable"]


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
    q = lookup(name)
    attrs: dict[str, Any] = {"units": unit, "long_name": q.brief}
    if q.choices:
        attrs |= {"flag_values": np.arange(len(q.choices), dtype=np.int8), "flag_meanings": " ".join(q.choices)}
        if not keep:
            values = values.astype(np.int8)
    return labelled(dims, values, attrs)


def labelled(dims: Sequence[str], values: Any, attrs: Mapping[str, Any]) -> xr.Variable:
    """A variable; xarray looks into anything but a plain array or number, and imports dask for it."""
    import xarray as xr

    if isinstance(values, np.floating):
        values = np.asarray(values)
    return xr.Variable(dims, values, attrs, fastpath=type(values) is np.ndarray)


def data_array(
    name: str,
    values: xr.Variable,
    grid: Grid,
    *,
    beside: Mapping[str, xr.Variable] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> xr.DataArray:
    """A variable by itself with the axes of its grid, and with further coordinates along them."""
    coords, indexes = _axes([str(dim) for dim in values.dims], {name: values}, grid)
    array = _assembly().data_array(name, values, {**(beside or {}), **coords}, indexes)
    if attrs:
        array.attrs.update(attrs)
    return array


def dataset(variables: Mapping[str, xr.Variable], grid: Grid, asked: Grid | None = None) -> xr.Dataset:
    """Variables with the axes of their grid; their provenance is that of the grid that was asked about."""
    varying = list(dict.fromkeys(str(dim) for v in variables.values() for dim in v.dims))
    coords, indexes = _axes(varying, variables, grid)
    return _assembly().dataset(variables, coords, indexes, provenance(asked or grid))


Coords = dict[Any, "xr.Variable"]
Indexes = dict[Any, "xr.Index"]


def _axes(dims: Sequence[str], variables: Mapping[str, xr.Variable], grid: Grid) -> tuple[Coords, Indexes]:
    """Coordinates and indexes of axes; those without a coordinate have neither."""
    if not dims:
        return {}, {}
    import pandas as pd
    import xarray as xr
    from xarray.indexes import PandasIndex

    coords: Coords = {}
    indexes: Indexes = {}
    for dim in dims:
        if dim in variables:
            values = variables[dim]
            index = PandasIndex.from_variables({dim: values}, options={})
        elif dim in grid.coords:
            coord, owner = grid.coords[dim]
            q = lookup(owner) if owner is not None else None
            described = {"units": q.unit, "long_name": q.brief} if q is not None and not q.choices else {}
            labels = pd.Index(coord, copy=False, name=dim)
            index = PandasIndex(labels, dim)
            values = xr.Variable((dim,), labels, described, fastpath=True)
        else:
            continue
        indexes[dim] = index
        coords.update(index.create_variables({dim: values}))
    return coords, indexes


class _Public:
    """Puts results together through xarray's public constructors, which search for conflicts."""

    @staticmethod
    def data_array(name: str, values: xr.Variable, coords: Coords, indexes: Indexes) -> xr.DataArray:
        import xarray as xr

        return xr.DataArray(values, xr.Coordinates(coords, indexes=indexes), name=name)

    @staticmethod
    def dataset(
        variables: Mapping[str, xr.Variable], coords: Coords, indexes: Indexes, attrs: Mapping[str, Any]
    ) -> xr.Dataset:
        import xarray as xr

        apart = {name: v for name, v in variables.items() if name not in coords}
        return xr.Dataset(apart, xr.Coordinates(coords, indexes=indexes), dict(attrs))


class _Direct:
    """Puts results together without a search for conflicts, which takes longer than evaluating a million points."""

    @staticmethod
    def data_array(name: str, values: xr.Variable, coords: Coords, indexes: Indexes) -> xr.DataArray:
        import xarray as xr

        return xr.DataArray(values, coords, name=name, indexes=indexes, fastpath=True)

    @staticmethod
    def dataset(
        variables: Mapping[str, xr.Variable], coords: Coords, indexes: Indexes, attrs: Mapping[str, Any]
    ) -> xr.Dataset:
        import xarray as xr

        sizes = {dim: size for v in variables.values() for dim, size in v.sizes.items()}
        parts: dict[Any, xr.Variable] = {**variables, **coords}
        return xr.Dataset._construct_direct(parts, set(coords), sizes, dict(attrs), indexes)


@functools.cache
def _assembly() -> type[_Public | _Direct]:
    """The direct way if this xarray has it and both ways agree on a small result; otherwise the public one."""
    import pandas as pd
    import xarray as xr
    from xarray.indexes import PandasIndex

    index = PandasIndex(pd.Index([1.0, 2.0], name="x"), "x")
    coords: Coords = dict(index.create_variables())
    values = xr.Variable(("x",), np.array([3.0, 4.0]), {"units": "s"}, fastpath=True)
    try:
        public, direct = (
            [
                _content(way.data_array("y", values, dict(coords), {"x": index})),
                _content(way.dataset({"y": values}, coords, {"x": index}, {})),
            ]
            for way in (_Public, _Direct)
        )
    except (AttributeError, TypeError, AssertionError, ValueError):
        return _Public
    return _Direct if public == direct else _Public


def _content(result: xr.DataArray | xr.Dataset) -> dict[str, Any]:
    """All that a small result holds, without xarray's own comparison, which imports dask."""
    variables = getattr(result, "variables", None) or {"": result.variable, **result.coords.variables}
    return {
        **result.to_dict(data=False),
        "kinds": [type(result), *map(type, variables.values())],
        "values": {name: variable.values.tolist() for name, variable in variables.items()},
        "indexes": {name: (type(index), index.to_pandas_index().tolist()) for name, index in result.xindexes.items()},
    }


@functools.lru_cache(maxsize=1024)
def _written(number: float, unit: str) -> str:
    return _units.format(number, unit, 12)


def provenance(grid: Grid) -> dict[str, str]:

    attrs = {"roofslate_version": __version__}
    for keyword, presets in grid.presets.items():
        attrs[keyword] = ", ".join(f"{p.name} ({p.date})" if p.date else p.name for p in presets)
    for name, i in grid.inputs.items():
        if not i.dims and i.origin is None:
            attrs[name] = (
                i.quantity.choices[int(i.number)] if i.quantity.choices else _written(i.number, i.quantity.unit)
            )
    return attrs
