"""`rs.sample`: outputs at random draws of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.draws import SAMPLE, read_draws
from roofslate.grid.label import conversions
from roofslate.grid.read import Settled, with_scenario
from roofslate.registry.registry import lookup
from roofslate.registry.values import wanted_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray as xr

    from roofslate._base.progress import ProgressWish

__all__ = ["sample"]


def sample(
    outputs: str | Sequence[str],
    n: int,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    seed: int,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    units: Mapping[str, str] | None = None,
    **inputs: Any,
) -> xr.DataArray | xr.Dataset:
    """Quantities for draws of uncertain inputs, in base units unless `units` says otherwise.

    The draws are points of a scrambled Sobol sequence, mapped by the inverse of each distribution function: they fill
    the space of the inputs evenly, so that means and quantiles are found with far fewer of them than independent draws
    would need, best with a power of 2.

    Parameters
    ----------
    outputs : str or list of str
        Names of quantities.
    n : int
        How many draws.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    seed : int
        Of the scrambling. The same seed gives the same draws, whatever the number of threads; more of them begin with
        those of fewer.
    correlation : pandas.DataFrame, dict of dicts or array, optional
        Correlations of inputs that are drawn, by their names; an array has them in the order in which they are given.
        They are those of the normal scores (a Gaussian copula); what is not named is independent.
    threads, progress, units
        As for `evaluate`.
    **inputs
        As for `evaluate`; at least one of them is a frozen distribution of `scipy.stats`, whose values are in base
        units: ``scipy.stats.norm(loc=8e12, scale=5e11)``.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As `evaluate` gives it, with a dim ``sample`` last; the inputs that were drawn are its coordinates.

    Raises
    ------
    ValueRangeError
        Also where a distribution reaches beyond the range of its input, or `correlation` is not positive definite.
    InputTypeError, MissingInput, UnknownName, UnitError, AxisError, IneffectiveInput, OutOfMemory
        Before any work is done.

    See Also
    --------
    quantiles, histogram, count : Stream over a sample with ``n=`` and ``seed=``, without keeping it.

    Examples
    --------
    >>> from scipy import stats
    >>> import roofslate as rs
    >>> t = rs.sample(
    ...     "hbm_drain_time", 1024, seed=1, hbm_capacity="192 GB", hbm_bandwidth=stats.uniform(loc=6e12, scale=4e12)
    ... )
    >>> t.dims, bool(0.0192 <= t.min() <= t.max() <= 0.032)
    (('sample',), True)
    """
    inputs = with_scenario(scenario, inputs)
    wanted = wanted_names(outputs)
    conversions(wanted, units)
    draws, others = read_draws(inputs, n, seed, correlation)
    draws.grid(others, wanted)
    (columns,) = draws.values(threads, progress)
    import xarray as xr

    drawn: dict[str, Any] = {name: xr.DataArray(values, dims=SAMPLE) for name, values in columns.items()}
    found = evaluate(outputs, Settled({**others, **drawn}), threads=threads, progress=progress, units=units)
    coords = {}
    for name, array in drawn.items():
        q = lookup(name)
        coords[name] = (SAMPLE, array.to_numpy(), {"units": q.unit, "long_name": q.brief})
    found = found.assign_coords(coords)
    if isinstance(found, xr.Dataset):
        found.attrs |= {**draws.described, "seed": str(seed)}
    return found
