"""The calls that compute: `evaluate` on grids, `value` at a point, `frame` on tables."""

from __future__ import annotations

import contextlib
import functools
import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate import bands as _bands
from roofslate import units as _units
from roofslate.catalogs import Preset
from roofslate.engine import (
    ProgressWish,
    compute,
    conversions,
    data_array,
    dataset,
    given_memory,
    keep_apart,
    variable,
)
from roofslate.errors import (
    AxisError,
    InputTypeError,
    RoofslateError,
    RoofslateWarning,
    UnknownName,
    shown,
)
from roofslate.inputs import (
    PRESETS,
    Grid,
    Input,
    check_effect,
    find_preset,
    input_quantity,
    number,
    preset_numbers,
    read_grid,
    wanted_names,
)
from roofslate.registry import Definition, current, entries, lookup

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

    from roofslate.calibrations import Bands, Calibration

__all__ = ["clear_pool", "evaluate", "frame", "to_units", "value"]


def evaluate(
    outputs: str | Sequence[str],
    /,
    *,
    out: Any = None,
    dtype: Any = "float64",
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    bands: float | Bands | Calibration | None = None,
    **inputs: Any,
) -> xr.DataArray | xr.Dataset:
    """Quantities over the grid of all axes that the inputs have, in base units unless `units` says otherwise.

    Parameters
    ----------
    outputs : str or list of str
        Names of quantities; `rs.quantities()` lists them.
    out : numpy.ndarray or dict of them, optional
        Memory for the results, of `dtype`, in the shape of the result; a dict by name for several outputs.
    dtype : {"float64", "float32"}
        How results are stored; everything is computed in float64.
    threads : int, optional
        By default as many as the process may use, or ``ROOFSLATE_THREADS``. Results do not depend on it.
    progress : bool or callable, optional
        A bar from one second on where a person looks on; False for none; or a function of (done, total).
    units : dict of str, optional
        Units of outputs: ``{"cost_per_token": "USD/Mtoken"}``.
    bands : float, Bands or Calibration, optional
        For calibrated outputs also ``<name>_lower`` and ``<name>_upper``, between which this share of measured values
        lies: 0.8. The constants must be given, ``**rs.calibration()``; `Calibration.bands` makes those of another one.
    **inputs
        By the quantity's name: a number in base units, a text with a unit (``"50 ms"``), a list, 1-D array,
        `rs.linspace` or `rs.geomspace` (an axis of that name), a `pandas.Series` (its index) or an `xarray.DataArray`
        (its dims; from one that dask holds in chunks the results follow in chunks, computed when they are asked for);
        ``model=``, ``hardware=``, ``prices=``, ``loss_law=``: the name of a preset, a preset, or a list of them (an
        axis).

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        A DataArray for a name, a Dataset for a list or with `bands`. Each carries only the dims that it depends on,
        with ``units`` and ``long_name``; a quantity that is a choice carries ``flag_values`` and ``flag_meanings``.

    Raises
    ------
    MissingInput
        Names the input and the chain of quantities that needs it.
    UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError, IneffectiveInput, OutOfMemory
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> cell = dict(model="DeepSeek-V3", hardware="GB200 NVL72", context_length="8k")
    >>> t = rs.evaluate("pass_time", batch_size=[1, 1024], **cell)
    >>> t.dims
    ('batch_size',)
    """
    wanted = wanted_names(outputs)
    stored = _storage(dtype)
    converted = conversions(wanted, units)
    factors = {name: factor for name, (factor, _) in converted.items()}
    grid = read_grid(inputs, wanted, chunks=True)
    wide = _bands.asked(bands, wanted, grid.inputs) if bands is not None else None
    given = given_memory(out, wanted, outputs, stored)
    keep_apart(grid, given)
    if grid.chunked:
        from roofslate import chunked

        if given:
            raise InputTypeError(f"out: {next(iter(grid.chunked))} is in chunks, and so is what comes of it")
        results = chunked.evaluate(grid, wanted, factors, stored, threads)
    else:
        results = compute(grid, wanted, factors, stored, out=given, threads=threads, progress=progress)
    variables = {}
    for name, (values, dims) in zip(wanted, results, strict=True):
        unit = converted[name][1] if name in converted else lookup(name).unit
        variables[name] = variable(name, values, dims, unit, keep=bool(given))
        if wide is not None and name in wide.calibration.fits:
            variables |= _bands.beside(wide, name, variables[name], grid)
    if not isinstance(outputs, str) or wide is not None:
        return dataset(variables, grid)
    ((name, only),) = variables.items()
    return data_array(name, only, grid)


def _storage(dtype: Any) -> np.dtype[Any]:
    with contextlib.suppress(TypeError, ValueError, SyntaxError, RecursionError):
        found: np.dtype[Any] = np.dtype(dtype)
        if found in (np.dtype("float64"), np.dtype("float32")):
            return found
    raise InputTypeError(f"dtype must be 'float64' or 'float32', got {shown(dtype)}")


# ----------------------------------------------------------------------------------------------------------- a point


def value(output: str, /, *, units: str | None = None, **inputs: Any) -> float | str:
    """One value of a quantity, in base units unless `units` says otherwise; of a choice, its word.

    The fast way for a single point: no array is made.

    Parameters
    ----------
    output : str
        Name of a quantity.
    units : str, optional
        Unit of the result: ``"USD/Mtoken"``.
    **inputs
        As for `evaluate`, but none of them may be an axis.

    Returns
    -------
    float or str

    Raises
    ------
    MissingInput, UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError, IneffectiveInput
        As for `evaluate`.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.value("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    0.024
    """
    known = isinstance(output, str) and output in entries()
    if known and units is None:
        plain = _core.value(output, inputs)
        if plain is not NotImplemented:
            return plain  # type: ignore[no-any-return]
    (name,) = [output] if known else wanted_names([output])
    q = lookup(name)
    checked = _point_numbers(name, inputs)
    x = _core.number(name, checked)
    if q.choices:
        return q.choices[int(x)]
    return x if units is None else x / conversions([name], {name: units})[name][0]


def _point_numbers(output: str, inputs: Mapping[str, Any]) -> dict[str, float]:
    """All inputs of a point as checked numbers, those of presets among them."""
    found: dict[str, float] = {}
    explicit: dict[str, float] = {}
    presets = []
    choices = []
    supplied = 0
    registry = current()
    known = registry.entries
    for name, given in inputs.items():
        q = known.get(name)
        kind = type(given)
        if (kind is float or kind is int) and q is not None and not q.choices and q.low < given < q.high:
            explicit[name] = float(given)  # as most are, the cheapest way
        elif kind is str and q is not None and given in q.choices:
            explicit[name] = x = float(q.choices.index(given))
            choices.append((name, x))
        elif name in PRESETS:
            if not isinstance(given, (str, Preset)):
                return _point_of_grid(output, inputs)
            preset = find_preset(name, given)
            presets.append(preset)
            numbers = preset_numbers(preset)
            supplied += len(numbers)
            found |= numbers
        elif isinstance(given, (str, float, int)) and not isinstance(given, bool):
            q = input_quantity(name)
            explicit[name] = x = number(given, q)
            if q.choices:
                choices.append((name, x))
        else:
            return _point_of_grid(output, inputs)
    definitions = registry.definitions_of((output, *explicit)) if registry.definitions else ()
    overlap_of_presets = len(found) < supplied
    found |= explicit
    if (
        overlap_of_presets
        or _exceeds_bound(found, registry.bounded_pairs)
        or not _has_effect(output, tuple(explicit), tuple(presets), tuple(choices), definitions)
    ):
        return _point_of_grid(output, inputs)
    return found


def _point_of_grid(output: str, inputs: Mapping[str, Any]) -> dict[str, float]:
    grid = read_grid(inputs, [output])
    for name, i in grid.inputs.items():
        if i.dims:
            raise AxisError(f"rs.value computes one point, but {i.origin or name} is an axis; use rs.evaluate")
    return {name: float(i.values) for name, i in grid.inputs.items()}


def _exceeds_bound(found: Mapping[str, float], pairs: Iterable[tuple[str, str]]) -> bool:
    for name, bound in pairs:  # noqa: SIM110 - a generator takes twice as long
        if name in found and bound in found and found[name] > found[bound]:
            return True
    return False


@functools.lru_cache(maxsize=1024)
def _has_effect(
    output: str,
    explicit: tuple[str, ...],
    presets: tuple[Any, ...],
    choices: tuple[tuple[str, float], ...],
    definitions: tuple[Definition, ...],  # noqa: ARG001 of these names
) -> bool:
    """Whether no explicit input is made ineffective by a preset. Depends on names and choices alone."""
    if not presets:
        return True
    grid = Grid()
    for preset in presets:
        grid.presets[preset.kind] = [preset]
        for name, x in preset_numbers(preset).items():
            grid.inputs[name] = Input(lookup(name), np.array(x), (), preset.kind)
    decided = dict(choices)
    for name in explicit:
        q = lookup(name)
        stand_in = decided.get(name)
        grid.inputs[name] = Input(
            q, np.array(0.5 if stand_in is None else stand_in), () if stand_in is not None else ("any",)
        )
    try:
        check_effect(grid, [output])
    except RoofslateError:  # whatever it is, the full reading names it
        return False
    return True


# ------------------------------------------------------------------------------------------------------------ tables


def frame(
    table: pd.DataFrame,
    outputs: str | Sequence[str],
    /,
    *,
    ignore: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    bands: float | Bands | Calibration | None = None,
    **inputs: Any,
) -> pd.DataFrame:
    """Quantities for each row of a table of scenarios, in base units unless `units` says otherwise.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns are inputs: numbers, texts with units, words of choices; in ``model``, ``hardware``, ``prices`` and
        ``loss_law`` names of presets.
    outputs : str or list of str
        Names of quantities.
    ignore : iterable of str
        Columns that are no inputs.
    units : dict of str, optional
        Units of outputs: ``{"cost_per_token": "USD/Mtoken"}``.
    threads, progress, bands
        As for `evaluate`.
    **inputs
        Inputs that are the same for all rows.

    Returns
    -------
    pandas.DataFrame
        One column an output, with the index of `table`; a quantity that is a choice is categorical. A row with a
        missing value or a number outside of its range holds NaN, and one warning counts such rows.

    Raises
    ------
    UnknownName, UnitError, InputTypeError, IneffectiveInput, MissingInput
        For columns, texts and names that can't be read, before any work is done.

    Examples
    --------
    >>> import pandas as pd, roofslate as rs
    >>> table = pd.DataFrame({"batch_size": [1, 64]}, index=["alone", "together"])
    >>> rs.frame(table, "pass_tokens")
              pass_tokens
    alone             1.0
    together         64.0
    """
    import pandas as pd

    from roofslate import tables

    wanted = wanted_names(outputs)
    converted = conversions(wanted, units)
    if not isinstance(table, pd.DataFrame):
        raise InputTypeError(f"table: expected a pandas.DataFrame, got {type(table).__name__}")
    try:
        names = (
            [ignore] if isinstance(ignore, str) else list(ignore)
        )  # a list is refused where a set would go on and on
        ignored = set(names)
    except (TypeError, MemoryError):
        raise InputTypeError(f"ignore: expected names of columns, got {shown(ignore)}") from None
    columns = tables.read_columns(table, ignored, inputs)
    scenarios = tables.Scenarios(columns, wanted, inputs, "rs.frame")
    wide = _bands.asked(bands, wanted, {*columns, *inputs}) if bands is not None else None
    results, bad = scenarios.compute(columns, len(table), threads=threads, progress=progress)
    found: dict[str, Any] = {}
    for name, values in zip(wanted, results, strict=True):
        q = lookup(name)
        if name in converted:
            np.divide(values, converted[name][0], out=values)
        if q.choices:
            found[name] = pd.Categorical.from_codes(tables.choice_codes(values), categories=pd.Index(q.choices))
        else:
            found[name] = values
        if wide is not None and name in wide.calibration.fits:
            factors = wide.calibration.band_of_rows(wide.level, name, tables.preset_names(columns, inputs, len(table)))
            found |= {f"{name}_{end}": values * factor for end, factor in zip(("lower", "upper"), factors, strict=True)}
    if len(bad):
        warnings.warn(
            f"{len(bad)} of {len(table)} rows hold NaN: an input is missing or outside of its range",
            RoofslateWarning,
            stacklevel=2,
        )
    return pd.DataFrame(found, index=table.index, copy=False)


def clear_pool() -> None:
    """Give the memory that is kept for the next results back to the system."""
    _core.clear_pool()


def to_units(result: Any, units: str | Mapping[str, str]) -> Any:
    """A result in other units.

    Parameters
    ----------
    result : xarray.DataArray or xarray.Dataset
        From `evaluate`, with ``units`` among its attributes.
    units : str or dict of str
        The unit of an array; by name for a Dataset: ``{"cost_per_token": "USD/Mtoken"}``.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        A new one.

    Raises
    ------
    UnitError
        If a unit measures something else.

    Examples
    --------
    >>> import roofslate as rs
    >>> t = rs.evaluate("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    >>> float(rs.to_units(t, "ms"))
    24.0
    """
    if isinstance(units, Mapping):
        if not hasattr(result, "data_vars"):
            raise InputTypeError("units: a dict of texts is for a Dataset; of one array the unit is a text")
        missing = [name for name in units if name not in result.data_vars]
        if missing:
            raise UnknownName(
                f"the dataset has no variable {missing[0]!r}; it holds {', '.join(map(str, result.data_vars))}"
            )
        return result.assign({name: to_units(result[name], text) for name, text in units.items()})
    if not isinstance(units, str):
        raise InputTypeError(f"units: expected a text or a dict of texts by variable, got {shown(units)}")
    base = entries()[result.name].unit if result.name in entries() else result.attrs["units"]
    factor = _units.convert_factor(units, base) / _units.convert_factor(result.attrs["units"], base)
    return (result / factor).rename(result.name).assign_attrs({**result.attrs, "units": units})
