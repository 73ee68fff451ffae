"""Labels results: units, attributes and coordinates as xarray objects."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units as _units
from roofslate._base.messages import shown
from roofslate._base.version import __version__
from roofslate.errors import InputTypeError, UnitError, UnknownName
from roofslate.grid.layout import LAYOUT
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    import xarray as xr

    from roofslate.grid.grid import Grid

__all__ = ["UnitsOfOutputs", "conversions", "data_array", "dataset", "labelled", "provenance", "said_of", "variable"]


UnitsOfOutputs = str | Mapping[str, str]  # one unit for all outputs, or units by output


def conversions(outputs: Sequence[str], units: UnitsOfOutputs | None) -> dict[str, tuple[float, str]]:
    """Factor and unit text of each output that is converted."""
    if isinstance(units, str):
        return _common_unit(outputs, units)
    if units is not None and not isinstance(units, Mapping):
        raise InputTypeError(f"units: expected a unit such as 'ms', or a dict of units by output, got {shown(units)}")
    factors = {}
    for name, text in (units or {}).items():
        if name not in outputs:
            raise UnknownName(f"units names {name!r}, which is not among the outputs {', '.join(outputs)}")
        if not isinstance(text, str):
            raise InputTypeError(f"units[{name!r}]: expected a text such as {lookup(name).unit!r}, got {shown(text)}")
        try:
            factors[name] = _units.convert_factor(text, lookup(name).unit), text
        except UnitError as error:
            raise UnitError(f"units[{name!r}]: {error}") from None
    return factors


def _common_unit(outputs: Sequence[str], unit: str) -> dict[str, tuple[float, str]]:
    """Factor and text of one unit for all outputs."""
    try:
        return {name: (_units.convert_factor(unit, lookup(name).unit), unit) for name in outputs}
    except UnitError as error:
        if len(outputs) == 1:
            raise UnitError(f"units[{outputs[0]!r}]: {error}") from None
        units = {name: lookup(name).unit for name in outputs}
        raise UnitError(f"units={unit!r} is not a unit of all outputs: {error}. Give a dict, such as {units}") from None


def variable(
    name: str, values: Any, dims: Sequence[str], unit: str, basis: Mapping[str, str], *, keep: bool = False
) -> xr.Variable:
    """Values with the unit, meaning and basis of their quantity.

    Flags of a choice are small numbers unless they are kept.
    """
    q = lookup(name)
    attrs: dict[str, Any] = {"units": unit, "long_name": q.brief, **basis}
    if q.choices:
        attrs |= {"flag_values": np.arange(len(q.choices), dtype=np.int8), "flag_meanings": " ".join(q.choices)}
        if not keep:
            values = values.astype(np.int8)
    return labelled(dims, values, attrs)


def labelled(dims: Sequence[str], values: Any, attrs: Mapping[str, Any]) -> xr.Variable:
    """Build a variable without xarray's inspection of values, which would import dask."""
    if isinstance(values, np.floating):
        values = np.asarray(values)
    if type(values) is np.ndarray:
        return _assembly().variable(tuple(dims), values, dict(attrs))
    import xarray as xr

    return xr.Variable(dims, values, attrs)


def data_array(
    name: str,
    values: xr.Variable,
    grid: Grid,
    *,
    more_coords: Mapping[str, xr.Variable] | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> xr.DataArray:
    """A variable by itself with the axes of its grid, and with further coordinates along them."""
    if attrs:
        values.attrs = {**attrs, **values.attrs}
    coords, indexes = _axes(values.dims, {name: values}, grid)
    return _assembly().data_array(name, values, {**more_coords, **coords} if more_coords else coords, indexes)


def dataset(variables: Mapping[str, xr.Variable], grid: Grid, attrs: Mapping[str, str] | None = None) -> xr.Dataset:
    """Build a dataset with the axes of a grid, and its provenance or other attributes."""
    varying = list(dict.fromkeys(str(dim) for v in variables.values() for dim in v.dims))
    coords, indexes = _axes(varying, variables, grid)
    return _assembly().dataset(variables, coords, indexes, provenance(grid) if attrs is None else attrs)


Coords = dict[Any, "xr.Variable"]
Indexes = dict[Any, "xr.Index"]


def _axes(dims: Iterable[Any], variables: Mapping[str, xr.Variable], grid: Grid) -> tuple[Coords, Indexes]:
    """Return coordinates and indexes of axes, for axes with a coordinate."""
    coords: Coords = {}
    indexes: Indexes = {}
    for dim in dims:
        if dim in variables:
            from xarray.indexes import PandasIndex

            index = PandasIndex.from_variables({dim: variables[dim]}, options={})
            coords.update(index.create_variables({dim: variables[dim]}))
            indexes[dim] = index
        elif dim in grid.coords:
            coord, owner = grid.coords[dim]
            q = lookup(owner) if owner is not None else None
            attrs = {"units": q.unit, "long_name": q.brief} if q is not None and not q.choices else {}
            coords[dim], indexes[dim] = _assembly().axis(dim, coord, attrs)
    return coords, indexes


class _Public:
    """Puts results together through xarray's public constructors, which search for conflicts."""

    @staticmethod
    def axis(dim: str, coord: Any, attrs: dict[str, Any]) -> tuple[xr.Variable, xr.Index]:
        import pandas as pd
        import xarray as xr
        from xarray.indexes import PandasIndex

        labels = pd.Index(coord, copy=False, name=dim)
        index = PandasIndex(labels, dim)
        return index.create_variables({dim: xr.Variable((dim,), labels, attrs, fastpath=True)})[dim], index

    @staticmethod
    def variable(dims: tuple[str, ...], values: Any, attrs: dict[str, Any]) -> xr.Variable:
        import xarray as xr

        return xr.Variable(dims, values, attrs, fastpath=True)

    @staticmethod
    def data_array(name: str, values: xr.Variable, coords: Coords, indexes: Indexes) -> xr.DataArray:
        import xarray as xr

        return xr.DataArray(values, xr.Coordinates(coords, indexes=indexes), name=name)

    @staticmethod
    def dataset(
        variables: Mapping[str, xr.Variable], coords: Coords, indexes: Indexes, attrs: Mapping[str, Any]
    ) -> xr.Dataset:
        import xarray as xr

        data = {name: v for name, v in variables.items() if name not in coords}
        return xr.Dataset(data, xr.Coordinates(coords, indexes=indexes), dict(attrs))


class _Direct:
    """Puts results together by filling xarray's objects.

    Its constructors convert without need and search for conflicts: longer than evaluating a million points.
    """

    def __init__(self) -> None:
        import pandas as pd
        import xarray as xr
        from xarray.core.indexing import PandasIndexingAdapter
        from xarray.indexes import PandasIndex

        labels: Any = pd.Index
        self._labels, self._index, self._adapter = labels._simple_new, PandasIndex, PandasIndexingAdapter
        self._variable, self._index_variable = xr.Variable, xr.IndexVariable
        self._data_array, self._construct = xr.DataArray, xr.Dataset._construct_direct
        # of xarray's own assignment of attributes, which looks for other ones, nothing is needed
        parts = ("_variable", "_coords", "_name", "_indexes", "_close")
        self._set: Any = [getattr(xr.DataArray, part).__set__ for part in parts]
        self._float64 = np.dtype(np.float64)

    def axis(self, dim: str, coord: Any, attrs: dict[str, Any]) -> tuple[xr.Variable, xr.Index]:
        if type(coord) is not np.ndarray or coord.dtype is not self._float64:
            return _Public.axis(dim, coord, attrs)
        index: Any = object.__new__(self._index)
        adapter: Any = object.__new__(self._adapter)
        labels: Any = self._labels(coord, name=dim)
        index.index, index.dim, index.coord_dtype = labels, dim, self._float64
        adapter.array, adapter._dtype = labels, self._float64
        return self._filled(self._index_variable, (dim,), adapter, attrs), index

    def variable(self, dims: tuple[str, ...], values: Any, attrs: dict[str, Any]) -> xr.Variable:
        return self._filled(self._variable, dims, values, attrs)

    @staticmethod
    def _filled(kind: type[xr.Variable], dims: tuple[str, ...], values: Any, attrs: dict[str, Any]) -> xr.Variable:
        filled: Any = object.__new__(kind)
        filled._dims, filled._data, filled._attrs, filled._encoding = dims, values, attrs or None, None
        return filled  # type: ignore[no-any-return]

    def data_array(self, name: str, values: xr.Variable, coords: Coords, indexes: Indexes) -> xr.DataArray:
        array = object.__new__(self._data_array)
        for fill, part in zip(self._set, (values, coords, name, indexes, None), strict=True):
            fill(array, part)
        return array

    def dataset(
        self, variables: Mapping[str, xr.Variable], coords: Coords, indexes: Indexes, attrs: Mapping[str, Any]
    ) -> xr.Dataset:
        sizes = {dim: size for v in variables.values() for dim, size in zip(v.dims, v.shape, strict=True)}
        parts: dict[Any, xr.Variable] = {**variables, **coords}
        return self._construct(parts, set(coords), sizes, dict(attrs), indexes)


@functools.cache
def _assembly() -> _Public | _Direct:
    """Choose direct assembly if this xarray supports it, else the public constructors.

    Supported means that small results are equal both ways.
    """
    try:
        direct = _Direct()
        if all(_small_results(direct, attrs) == _small_results(_Public(), attrs) for attrs in ({}, {"units": "s"})):
            return direct
    except (ImportError, AttributeError, TypeError, AssertionError, ValueError):
        pass
    return _Public()


def _small_results(assembly: _Public | _Direct, attrs: dict[str, Any]) -> list[dict[str, Any]]:
    coord, index = assembly.axis("x", np.array([1.0, 2.0]), dict(attrs))
    values = assembly.variable(("x",), np.array([3.0, 4.0]), dict(attrs))
    coords: Coords = {"x": coord}
    indexes: Indexes = {"x": index}
    array = assembly.data_array("y", values, dict(coords), dict(indexes))
    return [_content(array), _content(assembly.dataset({"y": values}, coords, indexes, {}))]


def _content(result: xr.DataArray | xr.Dataset) -> dict[str, Any]:
    """Collect the content of a small result, without xarray's comparison, which imports dask."""
    variables = getattr(result, "variables", None) or {"": result.variable, **result.coords.variables}
    return {
        **result.to_dict(data=False),
        "kinds": [type(result), *map(type, variables.values())],
        "slots": [_slots(x) for v in variables.values() for x in (v, v._data)],
        "values": {name: variable.values.tolist() for name, variable in variables.items()},
        "indexes": {name: _slots(index) for name, index in result.xindexes.items()},
    }


def _slots(x: Any) -> list[tuple[str, str]]:
    """Describe an xarray object as text. Missing attributes equal an empty dict."""
    names = sorted({name for kind in type(x).__mro__ for name in getattr(kind, "__slots__", ())} - {"__weakref__"})
    parts = {name: getattr(x, name, None) for name in names}
    return [
        (name, "" if part is None or (isinstance(part, dict) and not part) else repr(part))
        for name, part in parts.items()
    ]


@functools.lru_cache(maxsize=1024)
def _written(number: float, unit: str) -> str:
    return _units.format(number, unit, 12)


def provenance(grid: Grid, numbers: Mapping[str, float] | None = None) -> dict[str, str]:
    """Write the scenario of a result: version, presets, and explicit inputs.

    Of the inputs those that are one number, or `numbers` of them. A choice is its word.
    """
    if numbers is None:
        numbers = {name: i.number for name, i in grid.inputs.items() if i.origin is None and not i.dims}
    attrs = {"roofslate_version": __version__}
    for keyword, presets in grid.presets.items():
        attrs[keyword] = ", ".join(f"{p.name} ({p.date})" if p.date else p.name for p in presets)
    known = grid.registry.entries
    for name, x in numbers.items():
        q = known[name]
        attrs[name] = q.choices[int(x)] if q.choices else _written(x, q.unit)
    attrs.update(said_of(grid))
    return attrs


def said_of(grid: Grid) -> dict[str, str]:
    """Attributes of any result: layout by a rule, dequantized formats, unused members."""
    attrs = {LAYOUT: grid.layout} if grid.layout else {}
    if grid.dequantized:
        attrs["dequantized"] = grid.dequantized
    if grid.unused:
        attrs["unused"] = ", ".join(grid.unused)
    return attrs
