"""`rs.evaluate`: quantities over a grid."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.messages import shown
from roofslate._base.threads import reading_by
from roofslate.errors import InputTypeError, MissingInput, RoofslateError
from roofslate.evaluation.bands import band_variables, bands_apply, calibrated_of, requested_bands
from roofslate.evaluation.calibrations import side_by_side, varies_alone
from roofslate.grid import dask as chunked
from roofslate.grid.basis import FLOOR_BASIS, basis
from roofslate.grid.by_position import by_keyword
from roofslate.grid.fit import Misfit, checks_of, is_small, misfits_of, warn_of_misfits
from roofslate.grid.label import UnitsOfOutputs, conversions, data_array, dataset, provenance, variable
from roofslate.grid.plans import read_by_plan
from roofslate.grid.plausible import HIGHEST_PRICE
from roofslate.grid.read import changed, read_grid, with_scenario
from roofslate.grid.run import compute, given_memory, keep_apart
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import lookup
from roofslate.registry.values import wanted_names
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray as xr

    from roofslate._base.progress import ProgressWish
    from roofslate.grid.grid import Grid
    from roofslate.presets.calibration import Bands, FittedConstants
    from roofslate.registry.values import Values

__all__ = ["evaluate"]

_STORAGES = ("float64", "float32")  # dtypes of results, as cpp/roofslate/simd/storage.hpp lists them
_DTYPES: dict[str, np.dtype[Any]] = {name: np.dtype(name) for name in _STORAGES}


@by_keyword()
def evaluate(
    outputs: str | Sequence[str],
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    out: Any = None,
    dtype: Any = "float64",
    threads: int | None = None,
    progress: ProgressWish = None,
    units: UnitsOfOutputs | None = None,
    bands: float | Bands | FittedConstants | None = None,
    **inputs: Any,
) -> xr.DataArray | xr.Dataset:
    """Compute quantities on the grid of all inputs' axes, in base units by default.

    Parameters
    ----------
    outputs : str or list of str
        Names of quantities; `rs.quantities()` lists them.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    out : numpy.ndarray or dict of them, optional
        Memory for the results, of `dtype`, in the shape of the result; a dict by name for several outputs.
    dtype : {"float64", "float32"}
        How results are stored; everything is computed in float64.
    threads : int, optional
        By default as many as the process may use, or ``ROOFSLATE_THREADS``. Results do not depend on it.
    progress : bool or callable, optional
        A bar after one second in a terminal or notebook. False: none. Or a function of (done, total).
    units : str or dict of str, optional
        Unit of the results, or units by output: ``"ms"``, ``{"cost_per_token": "USD/Mtoken"}``.
    bands : float, Bands or Calibration, optional
        For calibrated outputs also ``<name>_lower`` and ``<name>_upper``, the interval for this share of measured
        values: 0.8. They belong to an estimate, ``calibration="serving"``, and are NaN where a list has the lower
        bound.
    **inputs
        By the quantity's name: a number in base units, a text with a unit (``"50 ms"``), a list, 1-D array,
        `rs.linspace` or `rs.geomspace` (an axis of that name), a `pandas.Series` (its index) or an `xarray.DataArray`
        (its dims; from one that dask holds in chunks the results follow in chunks, computed when they are asked for);
        ``model=``, ``hardware=``, ``prices=``, ``loss_law=``, ``storage=``, ``api_prices=``, ``workload=``: the
        name of a preset, a preset, or a list of them (an axis). ``as_of=``: the day whose prices count, such as
        ``"2026-06-01"``, or a list of days (an axis); otherwise the prices in force. ``calibration=``: ``"floor"``,
        ``"serving"``, ``"training"``, a `Calibration`, or a list; an input that is given beats its members.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        A DataArray for a name, a Dataset for a list or with `bands`. Attributes hold the scenario. Each array has only
        the dims that it depends on, with ``units``, ``long_name`` and ``basis``: ``floor`` (a lower bound),
        ``estimate`` (of ``calibration``), ``mixed`` with the names of other constants, and ``given`` quantities that
        cut the chain. A quantity that is a choice carries ``flag_values`` and ``flag_meanings``. One point has no axis,
        and so no ``to_dataframe``: as a Dataset it is a Series by ``to_pandas()``, a row by
        ``expand_dims("point").to_dataframe()``.

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
    >>> t = rs.evaluate("pass_time", batch_size=[1, 1024], units="ms", **cell)
    >>> t.dims, t.attrs["units"]
    (('batch_size',), 'ms')
    """
    if scenario is not None or DAY in inputs:
        inputs = with_scenario(scenario, inputs)
    if out is None and bands is None and "calibration" not in inputs:
        planned = _by_plan(outputs, inputs, dtype, threads, progress, units)
        if planned is not None:
            return planned
    options: dict[str, Any] = {"dtype": dtype, "threads": threads, "progress": progress, "units": units}
    result, misfits = _evaluated(outputs, inputs, out, bands, options)
    if misfits:
        warn_of_misfits(misfits)
    return result


def _evaluated(
    outputs: str | Sequence[str], inputs: Mapping[str, Any], out: Any, bands: Any, options: Mapping[str, Any]
) -> tuple[xr.DataArray | xr.Dataset, list[Misfit]]:
    """The result of a call, and the points of its grid that do not fit into memory."""
    dtype, threads, progress, units = options["dtype"], options["threads"], options["progress"], options["units"]
    names = wanted_names(outputs)
    stored = _storage(dtype)
    converted = conversions(names, units) if units is not None else {}
    factors = {name: factor for name, (factor, _) in converted.items()}
    if bands is not None:  # which depend on the names of presets
        inputs = changed(inputs, {name: x for name, x in inputs.items() if name in PRESETS}, exempt=True)
    with reading_by(threads) as count:
        grid = read_grid(inputs, names, chunks=True)
    if out is None and "calibration" in grid.preset_axes and varies_alone("calibration", grid):
        presets = grid.presets["calibration"]
        with_bands = [preset for preset in presets if bands_apply(bands, preset)] or presets  # none: an error names why
        each: list[Any] = []
        misfits: list[Misfit] = []
        for preset in presets:
            bands_of_preset = bands if preset in with_bands else None
            part, unfit = _evaluated(names, changed(inputs, {"calibration": preset}), None, bands_of_preset, options)
            each.append(part)
            misfits += unfit
        grid.layout = "; ".join(dict.fromkeys(part.attrs["layout"] for part in each if "layout" in part.attrs))
        joined = side_by_side(each, "calibration", list(grid.sizes))
        if not isinstance(outputs, str) or bands is not None:
            return dataset(joined, grid), misfits
        return data_array(names[0], joined[names[0]], grid, attrs=provenance(grid)), misfits
    wide = None
    if bands is not None:
        wide = requested_bands(bands, names, grid.inputs, grid.presets.get("calibration", ()))
    given = given_memory(out, names, outputs, stored)
    keep_apart(grid, given)
    if grid.chunked:
        if given:
            raise InputTypeError(f"out: {next(iter(grid.chunked))} is in chunks, and so are the results")
        results, misfits = chunked.evaluate(grid, names, factors, stored, threads), []
    else:
        results, misfits = _computed(grid, names, factors, stored, given, count, progress)
    variables = {}
    for name, (values, dims) in zip(names, results, strict=True):
        unit = converted[name][1] if name in converted else lookup(name).unit
        variables[name] = variable(name, values, dims, unit, basis([name], grid), keep=bool(given))
        if wide is not None and calibrated_of(wide, name, grid.inputs):
            variables |= band_variables(wide, name, variables[name], grid)
    if not isinstance(outputs, str) or wide is not None:
        return dataset(variables, grid), misfits
    ((name, only),) = variables.items()
    return data_array(name, only, grid, attrs=provenance(grid)), misfits


def _by_plan(
    outputs: str | Sequence[str],
    inputs: Mapping[str, Any],
    dtype: Any,
    threads: int | None,
    progress: ProgressWish,
    units: UnitsOfOutputs | None,
) -> xr.DataArray | xr.Dataset | None:
    """The result of a call that its plan reads, None of other calls.

    Those are: without a plan, with a warning, with an axis on which nothing depends, or with points that do not fit.
    """
    names = wanted_names(outputs)
    stored = _storage(dtype)
    converted = conversions(names, units) if units is not None else {}
    with reading_by(threads) as count:
        try:
            reading = read_by_plan(tuple(names), inputs, axes=True)
        except RoofslateError:  # the full reading names the first trouble
            return None
    if reading is None or reading.price > HIGHEST_PRICE:
        return None
    checks = reading.plan.checks
    grid = reading.grid()
    factors = {name: factor for name, (factor, _) in converted.items()} if converted else {}
    try:
        results = compute(grid, [*names, *checks], factors, stored, threads=count, progress=progress)
    except MissingInput:
        return None
    if checks and not all(values.all() for values, _ in results[len(names) :]):
        return None
    if len({dim for _, dims in results for dim in dims}) < len(grid.sizes):
        return None
    variables = {}
    for name, (values, dims) in zip(names, results, strict=False):
        unit = converted[name][1] if name in converted else lookup(name).unit
        variables[name] = variable(name, values, dims, unit, FLOOR_BASIS)
    numbers = reading.numbers
    attrs = provenance(grid, {name: numbers[name] for name in inputs if name in numbers})
    if not isinstance(outputs, str):
        return dataset(variables, grid, attrs=attrs)
    return data_array(outputs, variables[outputs], grid, attrs=attrs)


def _computed(
    grid: Grid,
    names: Sequence[str],
    factors: Mapping[str, float],
    stored: np.dtype[Any],
    given: Sequence[Any],
    threads: int,
    progress: ProgressWish,
) -> tuple[list[tuple[Values, tuple[str, ...]]], list[Misfit]]:
    """Compute a grid in memory with its memory checks, in one plan if it is small."""
    checks = checks_of(grid, names)
    if checks and not given:
        try:
            if is_small(grid, checks):
                results = compute(grid, [*names, *checks], factors, stored, threads=threads, progress=progress)
                n = len(names)
                return results[:n], misfits_of(grid, checks, [values for values, _ in results[n:]])
        except MissingInput:  # of a check, as outputs were checked before
            checks = []
    results = compute(grid, names, factors, stored, out=given, threads=threads, progress=progress)
    try:
        return results, misfits_of(grid, checks)
    except MissingInput:
        return results, []


def _storage(dtype: Any) -> np.dtype[Any]:
    if isinstance(dtype, str) and dtype in _DTYPES:
        return _DTYPES[dtype]
    with contextlib.suppress(TypeError, ValueError, SyntaxError, RecursionError):
        stored: np.dtype[Any] = np.dtype(dtype)
        if stored in _DTYPES.values():
            return stored
    raise InputTypeError(f"dtype must be {' or '.join(map(repr, _STORAGES))}, got {shown(dtype)}")
