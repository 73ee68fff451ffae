"""`rs.sobol`: variance shares by input."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate.analysis.ranking import InputRanking, basis_attrs, number_output
from roofslate.display import style
from roofslate.errors import AxisError, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.basis import basis
from roofslate.grid.draws import DRAWS, SAMPLE, SEED, draws_and_scenario, read_draws, whole
from roofslate.grid.read import Settled, with_scenario

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

    from roofslate.registry.registry import Quantity
    from roofslate.registry.values import Values

__all__ = ["VarianceShares", "sobol"]

_DEVIATIONS = 1.96  # standard deviations, which enclose 95% of a normal distribution
_RESAMPLES = 199
_ROUNDING = 2.0**-46  # relative variation from rounding of some hundred operations


@dataclass(frozen=True, repr=False)
class VarianceShares(InputRanking):
    """Sobol indices: the shares of an output's variance by input.

    `plot` draws two bars per input, first order and total, with confidence intervals. `str()` and Jupyter show a table.

    Attributes
    ----------
    quantity : Quantity
        The output.
    mean, variance : float
        Of the output, in base units.
    table : pandas.DataFrame
        Indexed by input, the largest total first: ``first_order``, the share of an input by itself, and ``total``,
        which includes interactions with other inputs. ``_low`` and ``_high`` of each are the ends of a 95% confidence
        interval.
    """

    quantity: Quantity
    mean: float
    variance: float
    table: pd.DataFrame
    _head = ("input", "first order", "total")

    def _summary(self) -> str:
        return "variance shares"

    def _lines(self) -> list[tuple[str, ...]]:
        return [
            (
                str(name),
                *(f"{row[k]:.3f} ({row[f'{k}_low']:.3f} to {row[f'{k}_high']:.3f})" for k in ("first_order", "total")),
            )
            for name, row in self.table.iterrows()
        ]

    def _size(self) -> tuple[float, float]:
        return 6.4, 1.2 + 0.5 * len(self.table)

    def _draw(self, ax: Axes) -> None:
        at = np.arange(len(self.table))
        looks = (
            ("first_order", "first order", -0.2, {"color": style.COMPUTE["color"]}),
            ("total", "total", 0.2, {"facecolor": "white", "edgecolor": "#E69F00", "hatch": "////"}),
        )
        for column, label, shift, look in looks:
            values = self.table[column].to_numpy()
            ends = self.table[[f"{column}_low", f"{column}_high"]].to_numpy().T
            off = np.clip([values - ends[0], ends[1] - values], 0, None)
            ax.barh(at + shift, values, 0.36, xerr=off, label=label, ecolor=style.INK, capsize=2, **look)
        ax.set_yticks(at, [style.words(str(name)) for name in self.table.index])
        ax.set_ylim(len(self.table) - 0.4, -0.6)
        ax.set_xlim(left=0)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(f"variance share of {style.words(self.quantity.name)}")
        ax.legend(loc="lower right", frameon=False)


def sobol(
    output: str,
    n: int | Mapping[str, Any] = DRAWS,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    seed: int = SEED,
    threads: int | None = None,
    **inputs: Any,
) -> VarianceShares:
    """Compute the variance shares of uncertain inputs, by themselves and in total (Sobol).

    The estimate uses n (inputs + 2) points (Saltelli 2010). Confidence intervals come from a bootstrap, which treats
    the draws as independent. For Sobol points they are wider than necessary.

    Parameters
    ----------
    output : str
        Name of a quantity.
    n : int
        A power of 2, also as a keyword.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    seed : int
        The same seed gives the same shares.
    threads : int, optional
        As for `evaluate`.
    **inputs
        As for `evaluate`, but without axes. At least one input is a range, drawn uniformly, or a frozen distribution of
        `scipy.stats`, in base units. They are drawn independently, because correlated inputs have no unique shares.

    Returns
    -------
    VarianceShares
        With a ``table`` and ``plot()``.

    Raises
    ------
    ValueRangeError
        Also if the output does not vary, or is infinite or undefined for some draws.
    InputTypeError, MissingInput, UnknownName, UnitError, AxisError, IneffectiveInput
        Before any work is done.

    Examples
    --------
    >>> from scipy import stats
    >>> import roofslate as rs
    >>> shares = rs.sobol(
    ...     "overtraining_ratio", 1024, seed=1, model="lecture training", decode_inefficiency=stats.uniform(1, 4),
    ...     model_token_rate=stats.loguniform(10e6, 500e6),
    ... )
    >>> shares.table["total"].round(1)
    input
    model_token_rate       0.9
    decode_inefficiency    0.2
    Name: total, dtype: float64
    """
    count, scenario = draws_and_scenario(n, scenario, inputs)
    inputs = with_scenario(scenario, inputs)
    import pandas as pd
    import xarray as xr

    q = number_output(output)
    if whole(count, "n", 2, 1 << 30) & (count - 1):
        near = 1 << (count.bit_length() - 1)
        raise ValueRangeError(f"n must be a power of 2, such as {near:,} or {2 * near:,}, got {count:,}")
    draws, constants = read_draws(inputs, count, seed, times=2)
    grid = draws.grid(constants, [output])
    if len(grid.sizes) > 1:
        axis = next(dim for dim in grid.sizes if dim != SAMPLE)
        raise AxisError(f"{axis} is an axis, but sobol() expects one value per fixed input. Give one value.")
    a, b = draws.values(threads, False)

    def values(columns: Mapping[str, Any]) -> Values:
        arrays: dict[str, Any] = {name: xr.DataArray(x, dims=SAMPLE) for name, x in columns.items()}
        results = evaluate(output, Settled({**constants, **arrays}), threads=threads, progress=False)
        if not np.all(np.isfinite(results)):
            raise ValueRangeError(
                f"{output} is infinite or undefined for some draws, so its variance has no shares. Narrow the "
                "distributions."
            )
        return np.broadcast_to(results.to_numpy(), count)

    at_a, at_b = values(a), values(b)
    if np.ptp([at_a, at_b]) <= _ROUNDING * np.max(np.abs([at_a, at_b])):
        raise ValueRangeError(
            f"{output} does not vary with {', '.join(draws.names)} beyond rounding, so it has no variance shares. "
            "Widen the distributions."
        )
    mixed = [values({**a, name: b[name]}) for name in draws.names]
    first, total, spread = _shares(at_a, at_b, mixed, seed)
    columns: dict[str, Values] = {}
    for k, (name, at) in enumerate((("first_order", first), ("total", total))):
        columns |= {name: at, f"{name}_low": at - spread[k], f"{name}_high": at + spread[k]}
    table = pd.DataFrame(columns, index=pd.Index(draws.names, name="input"))
    both = np.concatenate([at_a, at_b])
    table = table.sort_values("total", ascending=False, kind="stable")
    table.attrs |= basis_attrs(q.name, basis([q.name], grid))
    return VarianceShares(q, float(both.mean()), float(both.var()), table)


def _shares(a: Values, b: Values, mixed: Sequence[Values], seed: int) -> tuple[Values, Values, Values]:
    """Compute first-order and total shares (Saltelli 2010), and half-widths of intervals.

    All statistics are means over draws. A bootstrap reweights them: each draw counts as often as it is redrawn.
    """
    # scipy.stats.sobol_indices gives other bits (by up to 552 units in the last place at n = 2**20), and its
    # bootstrap needs memory quadratic in n, 32 GiB at n = 2**16.
    middle = (a.mean() + b.mean()) / 2
    a, b = a - middle, b - middle
    mixed = [x - middle for x in mixed]
    terms = np.column_stack([a, b, a * a, b * b, *(b * (x - a) for x in mixed), *((x - a) ** 2 / 2 for x in mixed)])

    def of_means(means: Values) -> Values:
        shares: Values = means[4:] / variance_of(means)
        return shares

    def variance_of(means: Values) -> float:
        return float((means[2] + means[3]) / 2 - ((means[0] + means[1]) / 2) ** 2)

    n = a.size
    rng = np.random.default_rng(seed)
    again = (np.bincount(rng.integers(n, size=n), minlength=n) @ terms / n for _ in range(_RESAMPLES))
    spread = _DEVIATIONS * np.std([of_means(means) for means in again if variance_of(means) > 0], axis=0, ddof=1)
    first, total = np.split(of_means(terms.mean(axis=0)), 2)
    return first, total, spread.reshape(2, -1)
