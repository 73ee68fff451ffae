"""Reads keywords into a grid: units, presets, arrays and their axes."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core, units
from roofslate._base.messages import shown
from roofslate._base.threads import reading_threads
from roofslate.errors import (
    AxisError,
    InputTypeError,
    MissingInput,
    OutOfMemory,
    PresetError,
    UnitError,
    ValueRangeError,
)
from roofslate.grid.align import align_array, align_series
from roofslate.grid.by_position import keyword_hint
from roofslate.grid.checks import check_bounds, check_effect, check_load
from roofslate.grid.grid import Chunked, Grid, Input
from roofslate.grid.layout import complete_layout
from roofslate.grid.plausible import HIGHEST_PRICE, PRICE, warn_of_other_chip, warn_of_price, warn_of_price_grid
from roofslate.grid.products import check_products, dequantized
from roofslate.presets.lookup import PRESETS, dated, find_preset, preset_numbers, replaced_by
from roofslate.presets.preset import Preset
from roofslate.registry.registry import BUILT_IN, Quantity, ancestors, entries, lookup
from roofslate.registry.values import (
    Values,
    check_range,
    check_type,
    encoded_numbers,
    expected_of,
    input_quantity,
    is_bool,
    is_distribution,
    is_of,
    number,
    numbers,
)
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    from collections.abc import Sequence
    from collections.abc import Set as AbstractSet

_FLOAT64 = np.dtype(np.float64)

__all__ = ["Settled", "WithScenario", "axis_of", "changed", "is_axis", "read_grid", "with_scenario"]


class WithScenario(dict[str, Any]):
    """Inputs of a call, some of them `members` of a scenario instead of keywords."""

    members: frozenset[str] = frozenset()
    exempt: frozenset[str] = frozenset()  # added by the call itself
    quiet: bool = False


class Settled(WithScenario):
    """Inputs of an inner evaluation, whose inputs without effect were reported by the call."""

    quiet = True


def with_scenario(
    scenario: Mapping[str, Any] | None, keywords: dict[str, Any], *, day_acts: bool = False
) -> dict[str, Any]:
    """Complete a call's keywords by a positional scenario. A keyword wins over a member.

    Prices are entries of the day in ``as_of``. With `day_acts` the day stays, for prices outside of the inputs.
    """
    inputs = _completed(scenario, keywords)
    return dated(inputs, acts=day_acts) if DAY in inputs else inputs


def _completed(scenario: Mapping[str, Any] | None, keywords: dict[str, Any]) -> dict[str, Any]:
    """The keywords of a call, and the members of its scenario that they do not give."""
    if scenario is None:
        return keywords
    if not isinstance(scenario, Mapping):
        raise InputTypeError(
            f"scenario: expected a mapping of inputs by name, got {shown(scenario)}{keyword_hint(scenario)}"
        )
    for name in scenario:
        if not isinstance(name, str):
            raise InputTypeError(f"scenario: expected names of inputs as keys, got {shown(name)}")
    inputs = WithScenario(scenario)
    inputs.update(keywords)
    if isinstance(scenario, WithScenario):
        inputs.members, inputs.exempt, inputs.quiet = scenario.members, scenario.exempt, scenario.quiet
    else:
        inputs.members = frozenset(scenario.keys() - keywords.keys())
    return inputs


def changed(inputs: Mapping[str, Any], new: Mapping[str, Any], *, exempt: bool = False) -> WithScenario:
    """Replace or add inputs. Added ones may be without effect if they are exempt."""
    result = WithScenario(inputs)
    result.update(new)
    if isinstance(inputs, WithScenario):
        result.members, result.exempt, result.quiet = inputs.members, inputs.exempt, inputs.quiet
    if exempt:
        result.exempt |= frozenset(new)
    return result


def read_grid(
    keywords: Mapping[str, Any], outputs: Sequence[str] = (), *, chunks: bool = False, sought: str | None = None
) -> Grid:
    """Read all inputs of a call to a grid, and check their effect on its `outputs`.

    Arrays of dask are loaded, or stay lazy with `chunks`. The value of `sought` represents all its values, so bounds on
    it and by it are not checked.
    """
    grid = Grid()
    if DAY in keywords:
        keywords = dated(changed(keywords, {}))
    if isinstance(keywords, WithScenario):
        grid.members, grid.exempt, grid.quiet = keywords.members, keywords.exempt, keywords.quiet
    if sought is not None:
        grid.exempt |= {sought}
    known = grid.registry.entries
    grid.explicit = explicit = keywords.keys() - PRESETS.keys()
    for name, value in keywords.items():
        q = known.get(name)
        kind = type(value)
        if name in PRESETS:
            _add_presets(grid, name, value, explicit, keywords)
        elif q is None:
            input_quantity(name)
        elif (kind is float or kind is int) and not q.choices and q.low < value < q.high:  # most inputs, the short way
            grid.inputs[name] = Input(q, value)
        elif kind is str:
            grid.inputs[name] = Input(q, number(value, q))
        elif kind is np.ndarray and value.ndim == 1 and value.dtype.kind == "f":
            _add_axis(grid, q, numbers(value, q))
        elif kind is range:
            _add_axis(grid, q, numbers(_points_of(value, q), q))
        else:
            _add_input(grid, q, value, chunks, keywords)
    check_bounds(grid, sought)
    check_load(grid, sought)
    if not grid.quiet:
        warn_of_other_chip(grid)
        warn_of_price_grid(grid)
    check_products(grid)
    price = grid.inputs.get(PRICE)
    if price is not None and (price.dims or price.number > HIGHEST_PRICE) and PRICE not in grid.chunked:
        warn_of_price(keywords, float(np.max(price.values)))
    for dim in grid.sizes:
        if dim in outputs and grid.inputs.get(dim, None) is None:
            raise AxisError(f"an axis and an output are both called {dim!r}: give the axis another name")
    if grid.gaps and outputs:
        _fill_gaps(grid, outputs)
    if outputs:
        if "chips" in grid.inputs:
            complete_layout(grid, outputs, sought)
        grid.dequantized = dequantized(grid, check_effect(grid, outputs))
    return grid


def _add_input(grid: Grid, q: Quantity, value: Any, chunks: bool, keywords: Mapping[str, Any]) -> None:
    name = q.name
    if isinstance(value, tuple):
        raise InputTypeError(
            f"{name}: a tuple means a range, which this call does not take, got {shown(value)}; a list makes an axis, "
            "rs.bounds takes ranges, and rs.sample draws from them"
        )
    if value is None or is_bool(value) or isinstance(value, (bytes, bytearray, memoryview, np.timedelta64)):
        raise InputTypeError(f"{name}: expected {'' if q.choices else 'a number '}{expected_of(q)}, got {shown(value)}")
    if isinstance(value, units.Axis):
        _add_axis(grid, q, _resolve_axis(value, q))
    elif is_of("pandas", "DataFrame", value):
        raise InputTypeError(f"{name}: a DataFrame of scenario rows goes to rs.frame(table, outputs)")
    elif is_of("pandas", "Series", value):
        _add_series(grid, q, value, keywords)
    elif is_of("xarray", "DataArray", value):
        _add_data_array(grid, q, align_array(keywords, name, value), chunks)
    elif is_of("xarray", "Dataset", value):
        raise InputTypeError(f"{name}: expected one array, got a Dataset; take one of its variables")
    elif hasattr(value, "to_base_units"):
        array = np.asarray(_of_pint(value, q))
        if array.ndim:
            _add_axis(grid, q, numbers(array, q))
        else:
            grid.inputs[name] = Input(q, number(float(array), q))
    elif isinstance(value, (list, np.ndarray)) or (hasattr(value, "__array__") and not np.isscalar(value)):
        array = numbers(value, q)
        if array.ndim > 1:
            raise AxisError(f"{name}: an array with {array.ndim} axes needs their names: give an xarray.DataArray")
        if array.ndim == 0:
            grid.inputs[name] = Input(q, float(array))
        else:
            _add_axis(grid, q, array)
    elif is_distribution(value):
        raise InputTypeError(
            f"{name}: this call takes no distribution; rs.sample draws from it, rs.sobol shares the variance out, and "
            "rs.quantiles, rs.histogram and rs.count take it too"
        )
    else:
        grid.inputs[name] = Input(q, number(value, q))


def _points_of(value: range, q: Quantity) -> Values:
    try:
        return np.arange(value.start, value.stop, value.step, dtype=np.float64)
    except (MemoryError, OverflowError, ValueError):
        raise OutOfMemory(f"{q.name}: {shown(value)} has more points than fit into memory") from None


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
    check_range(values, q)
    return values


def is_axis(given: Any, q: Quantity) -> bool:
    """Return True for an array, a list or an `Axis` of numbers of one input."""
    if q.choices:
        return False
    if isinstance(given, np.ndarray):
        return given.ndim == 1 and given.dtype.kind in "iuf" and given.size > 0
    return len(given) > 0 and not (isinstance(given, list) and isinstance(given[0], (list, tuple, np.ndarray)))


def axis_of(given: Any, q: Quantity) -> Values:
    """Return the checked values of an axis."""
    plain = type(given) is np.ndarray and given.dtype is _FLOAT64 and given.flags.carray
    if plain and not _core.count_outside(given, q.low, q.high, q.above_low, reading_threads()):
        return given  # type: ignore[no-any-return]
    return _resolve_axis(given, q) if isinstance(given, units.Axis) else numbers(given, q)


def _add_axis(grid: Grid, q: Quantity, values: Values) -> None:
    coord = np.array([q.choices[int(v)] for v in values]) if q.choices else values
    grid.add_axis(q.name, len(values), (coord, q.name), q.name)
    grid.inputs[q.name] = Input(q, values, (q.name,))


def _add_series(grid: Grid, q: Quantity, series: Any, keywords: Mapping[str, Any]) -> None:
    if series.index.nlevels > 1:
        raise InputTypeError(f"{q.name}: a Series with a MultiIndex has no single axis; use .to_xarray()")
    dim, labels, series = align_series(keywords, q.name, series)
    values = series.to_numpy()
    if values.dtype.kind not in "iufOUST":
        values = series.to_numpy(dtype=object)
    grid.add_axis(dim, len(series), (labels, None), q.name)
    grid.inputs[q.name] = Input(q, numbers(values, q), (dim,))


def _coordinate(array: Any, dim: Any) -> Any:
    """Return an axis's coordinate and the quantity that it names, None for positions only."""
    if dim not in array.coords:
        return None
    coord = array.coords[dim]
    q = entries().get(dim)
    return coord.to_numpy(), dim if q is not None and coord.attrs.get("units") == q.unit else None


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
            check_type(array.dtype, q)
        grid.chunked[q.name] = Chunked(q, array.data, attrs)
        grid.inputs[q.name] = Input(q, np.ones((1,) * len(dims)), dims)
    else:
        grid.inputs[q.name] = Input(q, encoded_numbers(array.to_numpy(), array.attrs, q), dims)


@functools.lru_cache(maxsize=256)
def _inputs_of(preset: Preset) -> dict[str, Input] | None:
    """Return the inputs of a preset, None if one is a definition, which depends on the scope."""
    known = BUILT_IN.entries
    numbers = preset_numbers(preset)
    if not numbers.keys() <= known.keys():
        return None
    return {name: Input(known[name], x, (), preset.kind) for name, x in numbers.items()}


def add_preset(grid: Grid, preset: Preset, explicit: AbstractSet[str]) -> None:
    """Join the inputs that one preset supplies, except those given explicitly."""
    inputs = _inputs_of(preset)
    if inputs is None:
        inputs = {name: Input(lookup(name), x, (), preset.kind) for name, x in preset_numbers(preset).items()}
    grid.presets[preset.kind] = [preset]
    explicit = explicit | replaced_by(explicit, preset)
    if not grid.inputs.keys().isdisjoint(inputs.keys()):  # views, of which the smaller one is searched
        for name in inputs:
            if name in grid.inputs and name not in explicit:
                raise supplied_twice(name, grid)
    if inputs.keys().isdisjoint(explicit):
        grid.inputs.update(inputs)
    else:
        grid.inputs.update((name, i) for name, i in inputs.items() if name not in explicit)


def _add_presets(grid: Grid, keyword: str, given: Any, explicit: AbstractSet[str], keywords: Mapping[str, Any]) -> None:
    if isinstance(given, (str, Preset)):
        add_preset(grid, find_preset(keyword, given), explicit)
        return
    dims: tuple[str, ...] = ()
    if getattr(given, "size", 0) and getattr(getattr(given, "dtype", None), "kind", "O") in "biufcmM":
        find_preset(keyword, np.asarray(given).flat[0])  # numbers, however many: refused by the first
    if is_of("pandas", "Series", given):
        dim, labels, given = align_series(keywords, keyword, given)
        names, dims = list(given), (dim,)
        grid.add_axis(dim, len(names), (labels, None), keyword)
    elif is_of("xarray", "DataArray", given):
        if given.ndim != 1:
            raise AxisError(f"{keyword}: expected an array of names along one axis, got {given.ndim} axes")
        given = align_array(keywords, keyword, given)
        names, dims = given.to_numpy().tolist(), (str(given.dims[0]),)
        grid.add_axis(dims[0], len(names), _coordinate(given, given.dims[0]), keyword)
    elif isinstance(given, list) or (isinstance(given, np.ndarray) and given.ndim):
        names, dims = list(given), (keyword,)
        if not names:
            raise AxisError(f"{keyword}: the axis {keyword!r} is empty")
    else:
        names = [given]
    presets = [find_preset(keyword, name) for name in names]
    explicit = frozenset(explicit).union(*(replaced_by(explicit, preset) for preset in presets))
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
    suppliers = {p.kind: f"{p.kind}={p.name!r}" for p in given if name in p.values}
    return PresetError(f"{' and '.join(suppliers.values())} both supply {name!r}: give {name}= itself")


def _fill_gaps(grid: Grid, outputs: Sequence[str]) -> None:
    """Compute values that some presets of a list supply, for presets that leave them out."""
    constants = {name: float(i.values) for name, i in grid.inputs.items() if not i.dims}
    while gaps := [name for name in grid.gaps if _follows(name) and name in _needed(grid, outputs)]:
        name = next((gap for gap in gaps if not any(gap in ancestors(other) for other in gaps)), gaps[0])
        keyword = next(key for key, presets in grid.presets.items() if any(name in preset_numbers(p) for p in presets))
        presets = grid.presets[keyword]
        values = [_supplied_by(p, name, constants) for p in presets]
        if None in values:
            supplier = next(p.name for p in presets if name in preset_numbers(p))
            why = f"{grid.gaps[name]}, and a computation only for them failed"
            raise PresetError(f"{why}: evaluate {supplier!r} apart from the others")
        grid.inputs[name] = Input(lookup(name), np.array(values), (grid.preset_axes[keyword],), keyword)
        del grid.gaps[name]


def _follows(name: str) -> bool:
    """Decide whether a quantity may follow from others."""
    q = lookup(name)
    return q.computed or bool(q.fallback) or q.default is not None


def _needed(grid: Grid, outputs: Sequence[str]) -> set[str]:
    """Quantities that outputs may rest on, down to those that are given."""
    known = entries()
    reached: set[str] = set()
    pending = {name for name in outputs if name in known}
    while pending:
        reached |= pending
        below = {need for name in pending for need in (*known[name].needs, known[name].fallback) if need}
        pending = below - reached - grid.inputs.keys()
    return reached


def _supplied_by(preset: Preset, name: str, more_inputs: Mapping[str, float] | None = None) -> float | None:
    """Return a preset's quantity, supplied or derived from its values, to complete a list."""
    supplied = preset_numbers(preset)
    if name in supplied:
        return supplied[name]
    try:
        return float(_core.number(name, {**(more_inputs or {}), **supplied}))
    except MissingInput:
        return None
