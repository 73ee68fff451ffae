"""Evaluates a grid in the compiled engine."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.progress import Progress, ProgressWish, is_unwatched
from roofslate._base.threads import thread_count
from roofslate.errors import AxisError, InputTypeError, MissingInput
from roofslate.grid.checks import explain_missing

if TYPE_CHECKING:
    from roofslate.grid.grid import Grid
    from roofslate.registry.values import Values

__all__ = ["ROW", "compute", "given_memory", "keep_apart", "run"]


ROW = "row"  # the axis of a table


_FLOAT64 = np.dtype(np.float64)
_NO_BAR = contextlib.nullcontext()


_log = logging.getLogger(__name__)


logging.getLogger("roofslate").addHandler(logging.NullHandler())  # silent unless asked for


def given_memory(
    out: Any, output_names: Sequence[str], outputs: str | Sequence[str], stored: np.dtype[Any]
) -> list[Any]:
    """Return the arrays for results, checked except for shape, or none if not given."""
    if out is None:
        return []
    if isinstance(out, Mapping):
        if set(out) != set(output_names):
            raise InputTypeError(
                f"out must hold one array for each output {', '.join(output_names)}, got {', '.join(map(str, out))}"
            )
        arrays = [out[name] for name in output_names]
    elif isinstance(outputs, str):
        arrays = [out]
    else:
        raise InputTypeError("out for a list of outputs is a dict of arrays by name")
    for name, array in zip(output_names, arrays, strict=True):
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
    """Copy inputs that share memory with results."""
    if not given:
        return
    for i in grid.inputs.values():
        if i.dims and any(np.may_share_memory(i.values, array) for array in given):
            i.values = np.array(i.values)
            grid.release()


def run(
    grid: Grid,
    outputs: Sequence[str],
    *,
    out: Sequence[Any] = (),
    threads: int | None = None,
    progress: ProgressWish = None,
    columns: Sequence[str] | None = None,
    storage: str = "float64",
) -> tuple[list[tuple[Values, tuple[str, ...]]], int]:
    """Run the engine: values and axes of each output, and counts of `columns` out of range."""
    count = thread_count(threads)
    if _log.isEnabledFor(logging.DEBUG):
        _log.debug("%s over %s, %d threads", ", ".join(outputs), grid.sizes or "a point", count)
    outside = 0
    with _NO_BAR if is_unwatched(progress) else Progress(progress) as bar:
        seen = bar and bar.callback
        try:
            if columns is None:
                results = grid.core.evaluate(outputs, list(out), count, seen, storage)
            else:
                results, outside = grid.core.evaluate_table(outputs, count, seen, columns)
        except MissingInput as error:
            raise explain_missing(error, grid) from None
    axes = tuple(grid.sizes)
    return [
        (array, axes if len(dims) == len(axes) else tuple(axes[k] for k in dims)) for array, dims in results
    ], outside


def compute(
    grid: Grid,
    outputs: Sequence[str],
    factors: Mapping[str, float],
    stored: np.dtype[Any],
    *,
    out: Sequence[Any] = (),
    threads: int | None = None,
    progress: ProgressWish = None,
) -> list[tuple[Values, tuple[str, ...]]]:
    """Return the outputs in their requested units and type, with the names of their axes."""
    if stored is _FLOAT64 and not factors:
        return run(grid, outputs, out=out, threads=threads, progress=progress)[0]
    storage = "float64" if stored is _FLOAT64 else stored.name
    rounded_later = storage != "float64" and any(factor != 1.0 for factor in factors.values())  # after it was divided
    given: Sequence[Any] = out
    if rounded_later:
        given, storage = (), "float64"
    results, _ = run(grid, outputs, out=given, threads=threads, progress=progress, storage=storage)
    stored_results = []
    for k, (name, (values, dims)) in enumerate(zip(outputs, results, strict=True)):
        factor = factors.get(name, 1.0)
        if factor != 1.0:
            np.divide(values, factor, out=values)
        if rounded_later and len(out):
            if out[k].shape != values.shape:
                raise AxisError(f"out for {name!r} must be a writable {stored.name} array of shape {values.shape}")
            out[k][...] = values
            values = out[k]
        stored_results.append((values if values.dtype is stored else values.astype(stored, copy=False), dims))
    return stored_results
