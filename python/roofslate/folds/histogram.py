"""`rs.histogram`: counts of values between edges."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from roofslate import _core
from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.folds.chunks import reduce
from roofslate.folds.fold import Chunk, Fold
from roofslate.folds.request import FoldRequest, Names, only_value
from roofslate.grid.basis import basis
from roofslate.grid.label import provenance
from roofslate.grid.read import with_scenario
from roofslate.registry.registry import lookup
from roofslate.registry.values import Values, is_whole, parsed
from roofslate.units import Axis

if TYPE_CHECKING:
    from collections.abc import Mapping

    import xarray as xr

    from roofslate._base.progress import ProgressWish

__all__ = ["Extent", "Histogram", "histogram"]


@dataclass(frozen=True)
class Histogram(Fold):
    """The number of values between edges, below, above, and NaN."""

    value: str
    edges: list[float]

    @property
    def length(self) -> int:
        return len(self.edges) + 2

    def core(self) -> _core.Histogram:
        return _core.Histogram([("quantity", self.value)], self.edges)


@dataclass(frozen=True)
class Extent(Fold):
    """The smallest and the largest finite value.

    In results by chunk the largest value is negated, so that both are minimized.
    """

    value: str

    dtype: ClassVar[np.dtype[Any]] = np.dtype(np.float64)
    everywhere: ClassVar[bool] = True
    prunes: ClassVar[bool] = False
    called: ClassVar[str] = "histogram(), for its range,"

    @property
    def length(self) -> int:
        return 2

    def core(self) -> _core.Extent:
        return _core.Extent([("quantity", self.value)])

    def of_chunk(self, chunk: Chunk) -> Any:
        low, high = chunk.run(self)[0]
        return np.array([low, -high])

    @staticmethod
    def merge(x: Any, axis: tuple[int, ...], keepdims: bool = True) -> Any:
        return x.min(axis=axis, keepdims=keepdims)

    def as_engine(self, merged: Any) -> tuple[Any, Any]:
        low, high = merged.reshape(-1)
        return np.array([low, -high]), np.empty(0, np.int64)


def histogram(
    output: str,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    bins: int | Sequence[Any] | Axis = 50,
    range: tuple[Any, Any] | None = None,  # noqa: A002
    log: bool = False,
    over: Names | None = None,
    n: int | None = None,
    seed: int | None = None,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    prune: bool = True,
    **inputs: Any,
) -> xr.Dataset:
    """Count the values of a quantity per bin (1), as `numpy.histogram` counts them.

    Parameters
    ----------
    output : str
        Name of a quantity.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    bins : int or sequence
        Number of bins of equal width, or their increasing edges: numbers in base units, texts with units,
        `rs.linspace` or `rs.geomspace`.
    range : tuple, optional
        Lower and upper end of the bins, if `bins` is a number. By default the smallest and the largest finite value.
    log : bool
        Whether the bins have equal ratios instead of equal widths, if `bins` is a number.
    over : str or list of str, optional
        Axes whose points are counted. By default all.
    threads, progress, prune
        As for `best`.
    n, seed, correlation
        As for `sample`, if inputs are ranges or distributions. The draws form the reduced axis ``sample``.
    **inputs
        As for `evaluate`, and ranges or distributions as for `sample`.

    Returns
    -------
    xarray.Dataset
        ``count`` in each bin, with the coordinates ``lower`` and ``upper`` of its edges. ``below`` and ``above`` count
        values outside the edges, infinite ones included, and ``nan`` undefined ones. A bin includes its lower edge, and
        the last one its upper edge too.

    Raises
    ------
    AxisError, MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.histogram("pass_tokens", bins=[1, 3, 9], batch_size=range(1, 9))["count"].values.tolist()
    [2, 6]
    """
    inputs = with_scenario(scenario, inputs)
    import xarray as xr

    name = only_value(output)
    request = FoldRequest(inputs, [name], (), over, (n, seed, correlation), threads=threads)
    request.refuse("bin", "count", "below", "above", "nan", "lower", "upper")
    edges = _edges(name, bins, range, log)
    if edges is None:
        low, high = reduce(request, Extent(name), threads=threads, progress=progress)[0].tolist()
        if low > high:
            raise ValueRangeError(f"{name} has no finite value on this grid. Give the ends of the bins by range=.")
        edges = _spaced(name, low, high, int(bins), log)  # type: ignore[arg-type]
    fold = Histogram(name, edges.tolist())
    _, counts, axes = reduce(request, fold, threads=threads, progress=progress, prune=prune)
    dims = request.dims(axes)
    counts = counts.reshape((*request.shape(dims), -1))
    q = lookup(name)
    said = basis([name], request.grid)
    of = {"units": q.unit, "long_name": q.brief, **said}
    return xr.Dataset(
        {
            "count": ([*dims, "bin"], counts[..., 1:-2], {"units": "1", "long_name": f"values of {name} in each bin"}),
            "below": (dims, counts[..., 0], {"units": "1", "long_name": f"values of {name} below the first bin"}),
            "above": (dims, counts[..., -2], {"units": "1", "long_name": f"values of {name} above the last bin"}),
            "nan": (dims, counts[..., -1], {"units": "1", "long_name": f"values of {name} that are undefined"}),
        },
        coords={**request.coords(dims), "lower": ("bin", edges[:-1], of), "upper": ("bin", edges[1:], of)},
        attrs={**provenance(request.grid), **said},
    )


def _edges(name: str, bins: Any, ends: Any, log: bool) -> Values | None:
    """Return the edges of bins, or None if they depend on the values."""
    q = lookup(name)
    if is_whole(bins):
        if not 1 <= bins <= 10_000_000:
            raise ValueRangeError(f"bins must be 1 to 10,000,000, got {shown(bins)}")
        if ends is None:
            return None
        if not isinstance(ends, (tuple, list)) or len(ends) != 2:
            raise InputTypeError(f"range: expected a lower and an upper end, got {shown(ends)}")
        return _spaced(name, parsed(ends[0], q), parsed(ends[1], q), int(bins), log)
    listed = isinstance(bins, (Sequence, Axis)) or (isinstance(bins, np.ndarray) and bins.ndim > 0)
    if isinstance(bins, (str, bytes)) or not listed:
        raise InputTypeError(f"bins: expected a number of bins or their edges, got {shown(bins)}")
    if ends is not None or log:
        raise InputTypeError("bins already gives the edges. Drop range= and log=, or give a number of bins.")
    if len(bins) > 10_000_001:
        raise ValueRangeError(f"bins: expected at most 10,000,001 edges, got {len(bins)}")
    edges = bins.resolve(q.unit) if isinstance(bins, Axis) else np.array([parsed(x, q) for x in bins], dtype=float)
    if edges.size < 2 or not np.all(np.diff(edges) > 0) or not np.all(np.isfinite(edges)):
        raise ValueRangeError(f"bins: expected finite, increasing edges, got {shown(bins)}")
    return edges


def _spaced(name: str, low: float, high: float, bins: int, log: bool) -> Values:
    """Return the edges of so many bins of equal width or ratio."""
    if not (np.isfinite(low) and np.isfinite(high)) or low > high:
        raise ValueRangeError(f"range: expected finite, increasing ends, got {low:g} and {high:g}")
    if log and low <= 0:
        raise ValueRangeError(
            f"log=True expects positive values, but the bins of {name} would begin at {low:g}. Give a positive range=."
        )
    if low == high:  # NumPy's widening, and its analogue for ratios
        low, high = (low / 2, high * 2) if log else (low - 0.5, high + 0.5)
    edges = np.geomspace(low, high, bins + 1) if log else np.linspace(low, high, bins + 1)
    if not np.all(np.diff(edges) > 0):
        raise ValueRangeError(f"{bins:,} bins do not fit between {low!r} and {high!r}. Ask for fewer, or widen range=.")
    return edges
