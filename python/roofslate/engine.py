"""What all calls share: threads, units of results, the compiled engine on a grid, labelled results."""

from __future__ import annotations

import logging
import os
import sys
from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate import units as _units
from roofslate.errors import AxisError, InputTypeError, MissingInput, UnitError, UnknownName, shown
from roofslate.inputs import Grid, Values, explain_missing
from roofslate.progress import Progress
from roofslate.registry import lookup

if TYPE_CHECKING:
    import xarray as xr

__all__ = [
    "ROW",
    "ProgressWish",
    "compute",
    "conversions",
    "data_array",
    "dataset",
    "given_memory",
    "keep_apart",
    "provenance",
    "run",
    "thread_count",
    "variable",
]

ROW = "row"  # the axis of a table

_MOST_THREADS = 4096

_log = logging.getLogger(__name__)

ProgressWish = bool | Callable[[int, int], None] | None


def thread_count(wanted: int | None) -> int:
    """Threads of a call: what was asked for, the environment's word, or the processors that the process may use."""
    name = "threads"
    given: object = wanted
    if wanted is None:
        name = "ROOFSLATE_THREADS"
        given = os.environ.get(name)
        if not given:
            if "distributed" in sys.modules and _in_dask_worker():
                return 1
            affinity = getattr(os, "sched_getaffinity", None)
            return len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        count = int(given)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        count = 0
    if not 1 <= count <= _MOST_THREADS or isinstance(given, (bool, float)):
        raise InputTypeError(f"{name} must be a whole number of at least 1, got {shown(given)}")
    return int(count)


def _in_dask_worker() -> bool:
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


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


def given_memory(out: Any, wanted: Sequence[str], outputs: str | Sequence[str], stored: np.dtype[Any]) -> list[Any]:
    """Arrays that results are to be written into, checked but for their shape; none where none were given."""
    if out is None:
        return []
    if isinstance(out, Mapping):
        if set(out) != set(wanted):
            raise InputTypeError(
                f"out must hold one array for each output {', '.join(wanted)}, got {', '.join(map(str, out))}"
            )
        arrays = [out[name] for name in wanted]
    elif isinstance(outputs, str):
        arrays = [out]
    else:
        raise InputTypeError("out for a list of outputs is a dict of arrays by name")
    for name, array in zip(wanted, arrays, strict=True):
        if (
            not isinstance(array, np.ndarray)
            or array.dtype != stored
            or not array.dtype.isnative
            or not array.flags.writeable
        ):
            raise InputTypeError(f"out for {name!r} must be a writable {stored} array, got {_kind(array)}")
        if not array.flags.aligned or any(stride % array.itemsize for stride in array.strides):
            raise InputTypeError(
                f"out for {name!r} must hold whole aligned numbers: its strides {array.strides} do not"
            )
    return arrays


def _kind(value: Any) -> str:
    return f"{type(value).__name__} of {value.dtype}" if isinstance(value, np.ndarray) else type(value).__name__


def keep_apart(grid: Grid, given: Sequence[Any]) -> None:
    """Copy inputs that share memory with what is written."""
    for i in grid.inputs.values():
        if any(np.may_share_memory(i.values, array) for array in given):
            i.values = np.array(i.values)


def run(
    grid: Grid,
    wanted: Sequence[str],
    *,
    out: Sequence[Any] = (),
    threads: int | None = None,
    progress: ProgressWish = None,
    columns: Sequence[str] | None = None,
    single: bool = False,
) -> tuple[list[tuple[Values, tuple[str, ...]]], int]:
    """The values of the outputs and the names of their axes; how many values of `columns` are out of range."""
    axes = list(grid.sizes)
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("%s over %s, %d threads", ", ".join(wanted), grid.sizes or "a point", thread_count(threads))
    with Progress(progress) as bar:
        try:
            if columns is None:
                results = _core.evaluate(
                    list(wanted),
                    list(grid.sizes.values()),
                    grid.core_inputs(),
                    list(out),
                    thread_count(threads),
                    bar.callback,
                    single,
                )
                outside = 0
            else:
                results, outside = _core.evaluate_table(
                    list(wanted),
                    grid.sizes[ROW],
                    grid.core_inputs(),
                    thread_count(threads),
                    bar.callback,
                    list(columns),
                )
        except MissingInput as error:
            raise explain_missing(error, grid) from None
    return [(array, tuple(axes[k] for k in own)) for array, own in results], outside


def compute(
    grid: Grid,
    wanted: Sequence[str],
    factors: Mapping[str, float],
    stored: np.dtype[Any],
    *,
    out: Sequence[Any] = (),
    threads: int | None = None,
    progress: ProgressWish = None,
) -> list[tuple[Values, tuple[str, ...]]]:
    """The values of the outputs in the units and the type in which they are wanted, and the names of their axes."""
    single = stored == np.float32
    rounded_later = single and any(factor != 1.0 for factor in factors.values())  # after it was divided
    given, native = ((), False) if rounded_later else (out, single)
    results, _ = run(grid, wanted, out=given, threads=threads, progress=progress, single=native)
    stored_results = []
    for k, (name, (values, dims)) in enumerate(zip(wanted, results, strict=True)):
        factor = factors.get(name, 1.0)
        if factor != 1.0:
            np.divide(values, factor, out=values)
        if rounded_later and len(out):
            if out[k].shape != values.shape:
                raise AxisError(f"out for {name!r} must be a writable float32 array of shape {values.shape}")
            out[k][...] = values
            values = out[k]
        stored_results.append((values if values.dtype == stored else values.astype(stored), dims))
    return stored_results


def variable(name: str, values: Any, dims: Sequence[str], unit: str, *, keep: bool = False) -> xr.Variable:
    """Values with the unit and meaning of their quantity; flags of a choice as small numbers unless they are kept."""
    import xarray as xr

    q = lookup(name)
    attrs: dict[str, Any] = {"units": unit, "long_name": q.brief}
    if q.choices:
        attrs |= {"flag_values": np.arange(len(q.choices), dtype=np.int8), "flag_meanings": " ".join(q.choices)}
        if not keep:
            values = values.astype(np.int8)
    return xr.Variable(dims, values, attrs)


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
    from roofslate import __version__

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
