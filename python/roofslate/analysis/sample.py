"""`rs.sample`: outputs at random draws of the inputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.draws import DRAWS, SAMPLE, SEED, draws_and_scenario, read_draws
from roofslate.grid.label import UnitsOfOutputs, conversions
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
    n: int | Mapping[str, Any] = DRAWS,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    seed: int = SEED,
    correlation: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    units: UnitsOfOutputs | None = None,
    **inputs: Any,
) -> xr.DataArray | xr.Dataset:
    """Evaluate quantities for draws of uncertain inputs, in base units or in `units`.

    The draws are points of a scrambled Sobol sequence, mapped by the inverse of each distribution function. They fill
    the input space evenly, so means and quantiles need far fewer of them than independent draws. Best use a power of 2.

    Parameters
    ----------
    outputs : str or list of str
        Names of quantities.
    n : int
        Number of draws, also as a keyword.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    seed : int
        Of the scrambling. The same seed gives the same draws on any number of threads. A larger sample begins with the
        smaller one.
    correlation : pandas.DataFrame, dict of dicts or array, optional
        Correlations of the drawn inputs, by name. An array has them in the order of the inputs. They are correlations
        of the normal scores (a Gaussian copula). Pairs that are not named are independent.
    threads, progress, units
        As for `evaluate`.
    **inputs
        As for `evaluate`. At least one input is a range, drawn uniformly, ``chip_price=("1.5 USD/h", "3 USD/h")``, or
        a frozen distribution of `scipy.stats`, in base units: ``scipy.stats.norm(loc=8e12, scale=5e11)``.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        As for `evaluate`, with a last dim ``sample``. The drawn inputs are its coordinates.

    Raises
    ------
    ValueRangeError
        Also if a distribution exceeds the range of its input, or if `correlation` is not positive definite.
    InputTypeError, MissingInput, UnknownName, UnitError, AxisError, IneffectiveInput, OutOfMemory
        Before any work is done.

    See Also
    --------
    quantiles, histogram, count : Reduce a sample with ``n=`` and ``seed=``, without storing it.

    Examples
    --------
    >>> import roofslate as rs
    >>> t = rs.sample("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth=("6 TB/s", "10 TB/s"))
    >>> t.sizes["sample"], bool(0.0192 <= t.min() <= t.max() <= 0.032)
    (1024, True)
    """
    count, scenario = draws_and_scenario(n, scenario, inputs)
    inputs = with_scenario(scenario, inputs)
    names = wanted_names(outputs)
    conversions(names, units)
    draws, constants = read_draws(inputs, count, seed, correlation)
    draws.grid(constants, names)
    (columns,) = draws.values(threads, progress)
    import xarray as xr

    drawn: dict[str, Any] = {name: xr.DataArray(values, dims=SAMPLE) for name, values in columns.items()}
    result = evaluate(outputs, Settled({**constants, **drawn}), threads=threads, progress=progress, units=units)
    coords = {}
    for name, array in drawn.items():
        q = lookup(name)
        coords[name] = (SAMPLE, array.to_numpy(), {"units": q.unit, "long_name": q.brief})
    if SAMPLE not in result.dims:  # the drawn numbers decide a choice whose sides are equal
        result = result.expand_dims({SAMPLE: count}, axis=-1)
    result = result.assign_coords(coords)
    result.attrs |= {**draws.described, "seed": str(seed)}
    return result
