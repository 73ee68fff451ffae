"""From what a caller writes to a grid of named axes: units parsed, presets resolved, mistakes named first."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import numpy.typing as npt

from roofslate import _core, catalogs, units
from roofslate.catalogs import Preset
from roofslate.errors import (
    AxisError,
    IneffectiveInput,
    InputTypeError,
    MissingInput,
    OutOfMemory,
    PresetError,
    UnitError,
    UnknownName,
    ValueRangeError,
    shown,
    unknown,
)
from roofslate.registry import Quantity, ancestors, entries, lookup

__all__ = ["Grid", "Input", "read_grid"]

PRESETS = {
    "model": catalogs.models,
    "hardware": catalogs.hardware,
    "prices": catalogs.prices,
    "loss_law": catalogs.loss_laws,
}

Values = npt.NDArray[np.float64]
Positions = npt.NDArray[np.integer[Any]]


@dataclass
class Input:
    """One quantity as the engine takes it: values in base units, and the names of their axes."""

    quantity: Quantity
    values: Values
    dims: tuple[str, ...] = ()
    origin: str | None = None  # the keyword of the preset that supplies it


@dataclass
class Chunked:
    """A dask array as it was given, and what its attributes say of its numbers; `Grid.inputs` has a stand-in for it."""

    quantity: Quantity
    data: Any
    attrs: dict[str, Any]

    def at(self, index: tuple[Any, ...] | None = None) -> Values:
        """Its numbers at some places, or all of them, loaded."""
        chosen = self.data if index is None else self.data.vindex[index]
        return encoded_numbers(chosen.compute(), self.attrs, self.quantity)


@dataclass
class Grid:
    """All inputs of a call, and the axes that they make, in the order in which they came."""

    inputs: dict[str, Input] = field(default_factory=dict)
    sizes: dict[str, int] = field(default_factory=dict)
    coords: dict[str, Any] = field(default_factory=dict)  # by axis: array, or (array, name of its quantity)
    presets: dict[str, list[Preset]] = field(default_factory=dict)
    gaps: dict[str, str] = field(default_factory=dict)  # quantity: why the presets of a list do not supply it
    chunked: dict[str, Chunked] = field(default_factory=dict)
    preset_axes: dict[str, str] = field(default_factory=dict)  # along which the presets of a kind vary, if they do

    def add_axis(self, dim: str, size: int, coord: Any, owner: str) -> None:
        """Join an axis; one that exists must have the same length and the same coordinate."""
        if size == 0:
            raise AxisError(f"{owner}: the axis {dim!r} is empty")
        if dim in _core.RESERVED_WORDS and dim not in PRESETS:
            raise AxisError(f"{owner}: {dim!r} is a word that calls use as an argument; give the axis another name")
        known = self.sizes.setdefault(dim, size)
        if known != size:
            raise AxisError(f"{owner}: the axis {dim!r} has {size} values here and {known} in another input")
        if coord is None:
            return
        before = self.coords.setdefault(dim, coord)
        if before is coord:
            return
        if not _same(before[0], coord[0]):
            raise AxisError(f"{owner}: the axis {dim!r} has other coordinates here than in another input")
        if before[1] is None:
            self.coords[dim] = before[0], coord[1]

    def core_inputs(self) -> list[tuple[str, Values, list[int]]]:
        """What the compiled engine takes."""
        at = {dim: k for k, dim in enumerate(self.sizes)}
        return [(name, i.values, [at[dim] for dim in i.dims]) for name, i in self.inputs.items()]


def _same(a: Any, b: Any) -> bool:
    a, b = np.asarray(a), np.asarray(b)
    return a.shape == b.shape and bool(np.all((a == b) | ((a != a) & (b != b))))


# --------------------------------------------------------------------------------------------------------- numbers


def number(value: Any, q: Quantity) -> float:
    """One number in base units, checked against the quantity's range; of a choice, its position."""
    x = parsed(value, q)
    if not (q.low <= x <= q.high) or (q.above_low and x == q.low):
        raise ValueRangeError(f"{q.name} must be {expected_of(q)}, got {shown(value)}")
    return x


def parsed(value: Any, q: Quantity) -> float:
    """One number in base units, whatever its size; of a choice, its position."""
    if q.choices:
        return _position(value, q)
    try:
        return units.to_base(value, q.unit)
    except (UnitError, InputTypeError, ValueRangeError) as error:
        raise type(error)(f"{q.name}: {error}") from None


def _position(value: Any, q: Quantity) -> float:
    if not isinstance(value, str):
        raise InputTypeError(f"{q.name} is one of {q.range_text}, got {shown(value)}")
    if value not in q.choices:
        raise unknown(f"{q.name}", value, q.choices)
    return float(q.choices.index(value))


def expected_of(q: Quantity) -> str:
    """The range and the unit of a quantity, as an error tells them."""
    unit = "" if q.unit == "1" else f", in {q.unit}"
    finite = "" if q.takes_infinity or "<=" in q.range_text else " and finite"
    return f"{q.range_text}{finite}{unit}"


def _check_range(values: Values, q: Quantity) -> None:
    size = values.size
    values = values[tuple(slice(None if stride else 1) for stride in values.strides)]  # what is repeated, once
    if size and not _within(values, q):
        with np.errstate(invalid="ignore"):
            wrong = ~((values >= q.low) & (values <= q.high)) | (q.above_low & (values == q.low))
        first = float(values[wrong].flat[0])
        raise ValueRangeError(f"{q.name} must be {expected_of(q)}, got {first!r} among its {size} values")


def _within(values: Values, q: Quantity) -> bool:
    """Whether all values lie in the quantity's range; no copy is made."""
    if values.flags.c_contiguous:
        return not _core.count_outside(values.reshape(-1), q.low, q.high, q.above_low)
    least, most = values.min(), values.max()  # NaN where one is
    return bool(least >= q.low and most <= q.high and not (q.above_low and least == q.low))


def numbers(values: Any, q: Quantity) -> Values:
    """Many numbers in base units, in their shape; texts are parsed once each."""
    if np.ma.isMaskedArray(values):
        raise InputTypeError(f"{q.name}: a masked array has values missing: fill it, or leave them out")
    try:
        array = values if isinstance(values, np.ndarray) else _array_of(values)
    except TypeError:
        raise InputTypeError(f"{q.name}: expected numbers, got {type(values).__name__}") from None
    if array.dtype.kind in "OUST":
        read = functools.lru_cache(maxsize=None)(lambda text: number(text, q))  # each text once
        flat = [read(item) if isinstance(item, str) else number(item, q) for item in array.reshape(-1).tolist()]
        return np.array(flat, dtype=float).reshape(array.shape)
    if not array.size:
        return np.empty(array.shape)
    _check_type(array.dtype, q)
    result: Values = array.astype(np.float64, copy=False)
    if (result.ndim and any(stride % result.itemsize for stride in result.strides)) or not result.flags.aligned:
        result = result.copy()
    _check_range(result, q)
    return result


def _check_type(dtype: Any, q: Quantity) -> None:
    if q.choices or dtype.kind not in "iuf":
        expected = f"words of {q.range_text}" if q.choices else "numbers"
        raise InputTypeError(f"{q.name}: expected {expected}, got an array of {dtype}")


def _array_of(values: Any) -> npt.NDArray[Any]:
    """A list as an array; one that holds other things than numbers keeps them, for their error to name them."""
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError, RecursionError):
        array = np.empty(len(values), dtype=object)
        array[:] = values
    plain = array.dtype.kind in "iuf" and not (isinstance(values, list) and any(map(is_bool, values)))
    return array if plain or array.ndim != 1 or not isinstance(values, list) else np.array(values, dtype=object)


def is_bool(value: Any) -> bool:
    """Whether a value is True or False, which Python also counts as a number."""
    return isinstance(value, (bool, np.bool_))


def is_whole(value: Any) -> bool:
    """Whether a value is an integer; to NumPy a span of time is one too."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


# ---------------------------------------------------------------------------------------------------------- inputs


def read_grid(
    keywords: Mapping[str, Any], wanted: Sequence[str] = (), *, chunks: bool = False, sought: str | None = None
) -> Grid:
    """Everything that a call was given, as a grid; `wanted` are its outputs, for the check of inputs without effect.

    Arrays of dask are loaded, or stay as they are with `chunks`. The value of `sought` stands for all that it may have:
    it exceeds nothing, and nothing exceeds it.
    """
    grid = Grid()
    explicit = [name for name in keywords if name not in PRESETS]
    for name, value in keywords.items():
        if name in PRESETS:
            _add_presets(grid, name, value, explicit)
        else:
            _add_input(grid, input_quantity(name), value, chunks)
    check_bounds(grid, sought)
    for dim in grid.sizes:
        if dim in wanted and grid.inputs.get(dim, None) is None:
            raise AxisError(f"an axis and an output are both called {dim!r}: give the axis another name")
    if grid.gaps and wanted:
        _fill_gaps(grid, wanted)
    if grid.presets and wanted:
        check_effect(grid, wanted)
    return grid


def input_quantity(name: str) -> Quantity:
    """The quantity of an input, or an error that names the nearest inputs."""
    entry = entries().get(name)
    if entry is None:
        raise unknown("input", name, [*entries(), *PRESETS])
    return entry


def _add_input(grid: Grid, q: Quantity, value: Any, chunks: bool) -> None:
    name = q.name
    if isinstance(value, tuple):
        raise InputTypeError(f"{name}: a tuple means a range, which this call does not take; a list makes an axis")
    if value is None or is_bool(value) or isinstance(value, (bytes, bytearray, memoryview, np.timedelta64)):
        raise InputTypeError(f"{name}: expected {'' if q.choices else 'a number '}{expected_of(q)}, got {shown(value)}")
    if isinstance(value, units.Axis):
        _add_axis(grid, q, _resolve_axis(value, q))
    elif _is("pandas", "DataFrame", value):
        raise InputTypeError(f"{name}: a DataFrame of scenario rows goes to rs.frame(table, outputs)")
    elif _is("pandas", "Series", value):
        _add_series(grid, q, value)
    elif _is("xarray", "DataArray", value):
        _add_data_array(grid, q, value, chunks)
    elif _is("xarray", "Dataset", value):
        raise InputTypeError(f"{name}: expected one array, got a Dataset; take one of its variables")
    elif hasattr(value, "to_base_units"):
        array = np.asarray(_of_pint(value, q))
        if array.ndim:
            _add_axis(grid, q, numbers(array, q))
        else:
            grid.inputs[name] = Input(q, np.array(number(float(array), q)))
    elif isinstance(value, (list, range, np.ndarray)) or (hasattr(value, "__array__") and not np.isscalar(value)):
        array = numbers(_points_of(value, q) if isinstance(value, range) else value, q)
        if array.ndim > 1:
            raise AxisError(f"{name}: an array with {array.ndim} axes needs their names: give an xarray.DataArray")
        if array.ndim == 0:
            grid.inputs[name] = Input(q, np.array(float(array)))
        else:
            _add_axis(grid, q, array)
    elif is_distribution(value):
        raise InputTypeError(
            f"{name}: this call takes no distribution; rs.sample draws from it, rs.sobol shares the variance out, and "
            "rs.quantiles, rs.histogram and rs.count take it together with n= and seed="
        )
    else:
        grid.inputs[name] = Input(q, np.array(number(value, q)))


def _points_of(value: range, q: Quantity) -> Values:
    try:
        return np.arange(value.start, value.stop, value.step, dtype=np.float64)
    except (MemoryError, OverflowError, ValueError):
        raise OutOfMemory(f"{q.name}: {shown(value)} has more points than fit into memory") from None


_DISTRIBUTIONS = ("rv_frozen", "rv_generic", "multi_rv_frozen", "multi_rv_generic", "UnivariateDistribution")


def is_scipy(value: Any, cls: str) -> bool:
    """Whether a value is of a class of SciPy, which may not be loaded."""
    return _is("scipy", cls, value)


def is_distribution(value: Any) -> bool:
    """Whether a value is a distribution of `scipy.stats`, frozen or not."""
    return any(is_scipy(value, cls) for cls in _DISTRIBUTIONS)


def _is(module: str, cls: str, value: Any) -> bool:
    """Whether a value is of a class of a library that may not be loaded."""
    return any(base.__name__ == cls and base.__module__.split(".")[0] == module for base in type(value).__mro__)


def _of_pint(value: Any, q: Quantity) -> Any:
    try:
        return units.from_pint(value, q.unit)
    except UnitError as error:
        raise UnitError(f"{q.name}: {error}") from None


def _resolve_axis(axis: units.Axis, q: Quantity) -> Values:
    if q.choices:
        raise InputTypeError(f"{q.name} is one of {q.range_text}: give a list of words")
    try:
        values = axis.resolve(q.unit)
    except (UnitError, ValueRangeError, InputTypeError) as error:
        raise type(error)(f"{q.name}: {error}") from None
    _check_range(values, q)
    return values


def _add_axis(grid: Grid, q: Quantity, values: Values) -> None:
    coord = np.array([q.choices[int(v)] for v in values]) if q.choices else values
    grid.add_axis(q.name, len(values), (coord, q.name), q.name)
    grid.inputs[q.name] = Input(q, values, (q.name,))


def _add_series(grid: Grid, q: Quantity, series: Any) -> None:
    if series.index.nlevels > 1:
        raise InputTypeError(f"{q.name}: a Series with a MultiIndex has no single axis; use .to_xarray()")
    dim = str(series.index.name) if series.index.name is not None else "index"
    values = series.to_numpy()
    if values.dtype.kind not in "iufOUST":
        values = series.to_numpy(dtype=object)
    grid.add_axis(dim, len(series), (series.index.to_numpy(), None), q.name)
    grid.inputs[q.name] = Input(q, numbers(values, q), (dim,))


def _coordinate(array: Any, dim: Any) -> Any:
    """An axis's own coordinate, and the quantity that it says it is; None where it has only positions."""
    if dim not in array.coords:
        return None
    coord = array.coords[dim]
    q = entries().get(dim)
    return coord.to_numpy(), dim if q is not None and coord.attrs.get("units") == q.unit else None


def _words_of_flags(attrs: Mapping[str, Any], values: Any, q: Quantity) -> Any:
    meanings = attrs["flag_meanings"].split()
    flags = np.asarray(attrs.get("flag_values", range(len(meanings)))).tolist()
    word_of = dict(zip(flags, meanings, strict=False))
    try:
        return np.array([word_of[v] for v in values.reshape(-1).tolist()]).reshape(values.shape)
    except KeyError as error:
        raise ValueRangeError(f"{q.name}: {error.args[0]} is none of the flag_values {flags}") from None


def _add_data_array(grid: Grid, q: Quantity, array: Any, chunks: bool) -> None:
    if len(set(array.dims)) != array.ndim:
        raise AxisError(f"{q.name}: the array names an axis twice: {array.dims}")
    if any(size != size for size in array.shape):
        raise AxisError(f"{q.name}: the sizes of its chunks are not known yet; dask's compute_chunk_sizes() finds them")
    for dim in array.dims:
        grid.add_axis(str(dim), array.sizes[dim], _coordinate(array, dim), q.name)
    given = array.attrs.get("units")
    if given is not None and not isinstance(given, str):
        raise InputTypeError(f"{q.name}: the attribute units of the array is no text, but {shown(given)}")
    dims = tuple(str(dim) for dim in array.dims)
    if chunks and dims and array.chunks is not None:
        attrs = {key: array.attrs[key] for key in ("units", "flag_meanings", "flag_values") if key in array.attrs}
        encoded_numbers(np.empty(0, array.dtype), attrs, q)  # the unit is checked now, and the type; the numbers later
        if array.dtype.kind not in "OUST" and "flag_meanings" not in attrs:
            _check_type(array.dtype, q)
        grid.chunked[q.name] = Chunked(q, array.data, attrs)
        grid.inputs[q.name] = Input(q, np.ones((1,) * len(dims)), dims)
    else:
        grid.inputs[q.name] = Input(q, encoded_numbers(array.to_numpy(), array.attrs, q), dims)


def encoded_numbers(values: Any, attrs: Mapping[str, Any], q: Quantity) -> Values:
    """Numbers of an array whose attributes say in which unit they are, or which words they stand for."""
    given = attrs.get("units")
    if given is not None and not q.choices and given != q.unit and values.dtype.kind in "iuf":
        try:
            values = values * units.convert_factor(given, q.unit)
        except UnitError as error:
            raise UnitError(f"{q.name}: {error}") from None
    if q.choices and isinstance(attrs.get("flag_meanings"), str) and values.dtype.kind in "iuf":
        values = _words_of_flags(attrs, values, q)
    return numbers(values, q)


# --------------------------------------------------------------------------------------------------------- presets


@functools.lru_cache(maxsize=256)
def preset_numbers(preset: Preset) -> dict[str, float]:
    """What a preset supplies, as the engine takes it: choices by their position."""
    return {
        name: float(lookup(name).choices.index(value)) if isinstance(value, str) else value
        for name, value in preset.values.items()
    }


def find_preset(keyword: str, given: Any) -> Preset:
    """The preset that a word names, or the preset itself."""
    if isinstance(given, Preset):
        if given.kind != keyword:
            raise PresetError(f"{keyword}: {given.name!r} is a preset for {given.kind}=")
        return given
    if isinstance(given, str):
        return PRESETS[keyword][given]
    raise InputTypeError(f"{keyword}: expected the name of a preset, a preset or a list of them, got {shown(given)}")


def _add_presets(grid: Grid, keyword: str, given: Any, explicit: Sequence[str]) -> None:
    dims: tuple[str, ...] = ()
    if getattr(given, "size", 0) and getattr(getattr(given, "dtype", None), "kind", "O") in "biufcmM":
        find_preset(keyword, np.asarray(given).flat[0])  # numbers, however many: refused by the first
    if isinstance(given, (str, Preset)):
        names = [given]
    elif _is("pandas", "Series", given):
        names = list(given)
        dims = (str(given.index.name) if given.index.name is not None else "index",)
        grid.add_axis(dims[0], len(names), (given.index.to_numpy(), None), keyword)
    elif _is("xarray", "DataArray", given):
        if given.ndim != 1:
            raise AxisError(f"{keyword}: expected an array of names along one axis, got {given.ndim} axes")
        names, dims = given.to_numpy().tolist(), (str(given.dims[0]),)
        grid.add_axis(dims[0], len(names), _coordinate(given, given.dims[0]), keyword)
    elif isinstance(given, list) or (isinstance(given, np.ndarray) and given.ndim):
        names, dims = list(given), (keyword,)
        if not names:
            raise AxisError(f"{keyword}: the axis {keyword!r} is empty")
    else:
        names = [given]
    presets = [find_preset(keyword, name) for name in names]
    if dims == (keyword,):
        grid.add_axis(keyword, len(presets), (np.array([p.name for p in presets]), None), keyword)
    grid.presets[keyword] = presets
    if dims:
        grid.preset_axes[keyword] = dims[0]
    supplied = dict.fromkeys(name for p in presets for name in preset_numbers(p))
    for name in supplied:
        if name in explicit:
            continue
        if name in grid.inputs:
            raise supplied_twice(name, grid)
        values = []
        for preset in presets:
            value = _supplied_by(preset, name)
            if value is None:
                grid.gaps[name] = f"{keyword}={preset.name!r} supplies no {name}, others of the list do"
                break
            values.append(value)
        else:
            data = np.array(values) if dims else np.array(values[0])
            grid.inputs[name] = Input(lookup(name), data, dims, keyword)


def supplied_twice(name: str, grid: Grid) -> PresetError:
    """Error that names a preset of each kind that supplies an input."""
    given = [p for presets in grid.presets.values() for p in presets]
    told = {p.kind: f"{p.kind}={p.name!r}" for p in given if name in p.values}
    return PresetError(f"{' and '.join(told.values())} both supply {name!r}: give {name}= itself")


def _fill_gaps(grid: Grid, wanted: Sequence[str]) -> None:
    """Compute what some presets of a list supply themselves and others leave to the formulas, for those others."""
    matter = frozenset(wanted).union(*(ancestors(name) for name in wanted if name in entries()))
    constants = {name: float(i.values) for name, i in grid.inputs.items() if not i.dims}
    for name, why in list(grid.gaps.items()):
        q = lookup(name)
        if name not in matter or not (q.computed or q.fallback) or name in grid.inputs:
            continue
        keyword = next(key for key, presets in grid.presets.items() if any(name in preset_numbers(p) for p in presets))
        presets = grid.presets[keyword]
        values = [_supplied_by(p, name, constants) for p in presets]
        if None in values:
            own = next(p.name for p in presets if name in preset_numbers(p))
            raise PresetError(f"{why}, and it can't be computed for them alone: evaluate {own!r} apart from the others")
        dims = next(i.dims for i in grid.inputs.values() if i.origin == keyword and i.dims)
        grid.inputs[name] = Input(lookup(name), np.array(values), dims, keyword)
        del grid.gaps[name]


def _supplied_by(preset: Preset, name: str, others: Mapping[str, float] | None = None) -> float | None:
    """A quantity of a preset: supplied, or derived from what it supplies, where its neighbours in a list supply it."""
    own = preset_numbers(preset)
    if name in own:
        return own[name]
    try:
        return float(_core.number(name, {**(others or {}), **own}))
    except MissingInput:
        return None


# ---------------------------------------------------------------------------------------------------------- checks


def check_bounds(grid: Grid, sought: str | None = None) -> None:
    """Refuse an input that exceeds the one that bounds it. Chunks are checked when they are computed."""
    unchecked = {*grid.chunked, sought}
    for name, i in grid.inputs.items():
        bound = grid.inputs.get(i.quantity.bound or "")
        if bound is None or name in unchecked or bound.quantity.name in unchecked:
            continue
        if np.max(i.values) <= np.min(bound.values):
            continue
        dims = tuple(dict.fromkeys((*i.dims, *bound.dims)))
        value, most = (spread(x.values, x.dims, dims) for x in (i, bound))
        exceeds = value > most
        if exceeds.any():
            first, limit = (float(np.broadcast_to(x, exceeds.shape)[exceeds][0]) for x in (value, most))
            raise ValueRangeError(f"{name} must not exceed {bound.quantity.name}, got {first:g} and {limit:g}")


def spread(values: Any, own: Sequence[str], dims: Sequence[str]) -> Any:
    """Values along their own dims with one axis for each of `dims`, of length one where they do not vary."""
    there = [dim for dim in dims if dim in own]
    turned = np.transpose(values, [own.index(dim) for dim in there])
    return turned[tuple(slice(None) if dim in there else np.newaxis for dim in dims)]


def check_effect(grid: Grid, wanted: Sequence[str]) -> set[str]:
    """Refuse an explicit input that changes nothing because a preset supplies something downstream of it.

    Returns the inputs that the outputs take.
    """
    try:
        used = set(_core.used(list(wanted), *_told(grid)))
    except MissingInput as error:
        raise explain_missing(error, grid) from None
    for name, i in grid.inputs.items():
        if i.origin is not None or name in used:
            continue
        for other in used:
            origin = grid.inputs[other].origin
            if origin is not None and name in ancestors(other) and _would_tell(name, other, grid):
                preset = grid.presets[origin][0].name
                raise IneffectiveInput(
                    f"{name!r} has no effect: {origin}={preset!r} supplies {other!r}, which would follow from it; "
                    f"give {other!r} itself, or a {origin} that leaves it open"
                )
    return used


def _would_tell(name: str, other: str, grid: Grid) -> bool:
    """Whether a quantity would follow from an input, were it and what else presets supply left open.

    What lies between them and could be given itself must follow from what is there: `chips` tell nothing of
    `decode_inefficiency` where the rate is missing from which, and from them, a utilization would follow.
    """
    q = lookup(other)
    for need in (*q.needs, *filter(None, [q.fallback])):
        if need == name:
            return True
        given = grid.inputs.get(need)
        if name not in ancestors(need) or (given is not None and given.origin is None):
            continue
        if given is None and lookup(need).fallback:
            try:
                _core.used([need], *_told(grid))
            except MissingInput:
                continue
        if _would_tell(name, need, grid):
            return True
    return False


def _told(grid: Grid) -> tuple[dict[str, float], list[str]]:
    """What is given as one number, and what as an array."""
    single = {name: float(i.values) for name, i in grid.inputs.items() if not i.dims}
    return single, [name for name, i in grid.inputs.items() if i.dims]


def explain_missing(error: MissingInput, grid: Grid) -> MissingInput:
    """Add why a list of presets does not supply the input, if that is the cause."""
    hardware = grid.presets.get("hardware")
    if hardware and "input 'chips'" in str(error):
        return MissingInput(f"{error}; {hardware[0].name!r} is one chip: give chips=, or a whole system as hardware=")
    words = set(re.findall(r"\w+", str(error)))
    for name, why in grid.gaps.items():
        if name in words:
            return MissingInput(f"{error}; {why}")
    return error


def wanted_names(outputs: str | Sequence[str]) -> list[str]:
    """Names of outputs, checked."""
    try:
        names = [outputs] if isinstance(outputs, str) else list(outputs)
    except (TypeError, MemoryError):
        given = shown(outputs)
        raise InputTypeError(f"outputs: expected the name of a quantity or a list of names, got {given}") from None
    for name in names:
        if isinstance(name, str) and name in PRESETS:
            raise UnknownName(f"{name!r} is an input that names a preset, not a quantity")
        lookup(name)
    if not names:
        raise InputTypeError("no output was asked for: give a quantity's name or a list of names")
    return names
