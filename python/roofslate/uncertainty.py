"""Which guess matters: one input at a time through its range, and shares of the variance."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

from roofslate import units
from roofslate.errors import AxisError, InputTypeError, MissingInput, ValueRangeError, shown, unknown
from roofslate.evaluation import evaluate
from roofslate.inputs import PRESETS, Grid, Values, check_effect, input_quantity, number, read_grid, wanted_names
from roofslate.registry import Quantity, lookup
from roofslate.sampling import SAMPLE, read_draws, whole
from roofslate.typesetting import columns, html_table

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Tornado", "VarianceShares", "sobol", "tornado"]

_CASE = "case"  # the axis of the points that a tornado takes
_DEVIATIONS = 1.96  # standard deviations that 95 % of a normal distribution reach
_RESAMPLES = 199


class _ByInput(ABC):
    """What is told of a quantity, a line for each input: as text and in Jupyter."""

    quantity: Quantity
    _head: ClassVar[tuple[str, ...]]

    @abstractmethod
    def _told(self) -> str:
        """What the lines tell, or what they start from."""

    @abstractmethod
    def _lines(self) -> list[tuple[str, ...]]:
        """Words of each line."""

    @property
    def _caption(self) -> str:
        return f"{self.quantity.name}: {self.quantity.brief}, {self._told()}"

    def __str__(self) -> str:
        return "\n".join([self._caption, *columns([self._head, *self._lines()])])

    __repr__ = __str__

    def _repr_html_(self) -> str:
        return html_table(self._caption, self._head, self._lines())


@dataclass(frozen=True, repr=False)
class Tornado(_ByInput):
    """An output as one input at a time goes through its range.

    `plot` draws it, `str()` and Jupyter show it as a table.

    Attributes
    ----------
    quantity : Quantity
        The output.
    base : float
        Its value while all inputs are at their bases, in base units.
    table : pandas.DataFrame
        Indexed by input, the widest bar first: ``low``, ``base``, ``high`` of the input and their ``unit``, the output
        ``at_low`` and ``at_high``, and the ``swing``: the larger of these two over the smaller one, or their difference
        where the output is not positive throughout; ``attrs["units"]`` tells which.
    """

    quantity: Quantity
    base: float
    table: pd.DataFrame
    _head = ("input", "low", "high", "at low", "at high", "swing")

    def _told(self) -> str:
        return units.format(self.base, self.quantity.unit)

    def _lines(self) -> list[tuple[str, ...]]:
        lines = []
        for name, row in self.table.iterrows():
            ends = [units.format(row[end], row["unit"]) for end in ("low", "high")]
            outputs = [units.format(row[at], self.quantity.unit) for at in ("at_low", "at_high")]
            lines.append((str(name), *ends, *outputs, f"{row['swing']:.4g}"))
        return lines

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw a bar for each input, the widest on top.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a figure of its own otherwise.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from roofslate.charts import _draw, _tornado

        with _draw.house_style():
            ax = _draw.axes(ax, (7.2, 1.2 + 0.45 * len(self.table)))
            unit = self.quantity.unit
            _tornado.draw(
                ax, self.table, self.base, unit, _draw.words(self.quantity.name, unit), lambda x: _draw.text_of(x, unit)
            )
        return ax


def tornado(output: str, /, *, base: Mapping[str, Any] | None = None, **inputs: Any) -> Tornado:
    """How far an output moves as one input at a time goes through its range, the others at their bases.

    Parameters
    ----------
    output : str
        Name of a quantity.
    base : dict, optional
        By input: where it stays while another one moves. Otherwise that is what a preset gives, or the input's default,
        if it lies in the range; otherwise the middle of the range: the geometric one, at equal ratios from both ends,
        where both are positive.
    **inputs
        As for `evaluate`, but no axes; a tuple ``(low, high)`` is a range. The output is looked at where an input is at
        an end of its range, not between.

    Returns
    -------
    Tornado
        With a ``table`` and ``plot()``.

    Raises
    ------
    ValueRangeError
        Also where a range is reversed.
    InputTypeError, MissingInput, UnknownName, UnitError, AxisError, IneffectiveInput
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> found = rs.tornado(
    ...     "overtraining_ratio", model="lecture training",
    ...     decode_inefficiency=(1, 5), model_token_rate=("10 Mtok/s", "500 Mtok/s"),
    ... )
    >>> found.table[["at_low", "at_high"]].round(1)
                       at_low  at_high
    input
    model_token_rate     25.9   1296.0
    decode_inefficiency  43.2    216.0
    """
    import pandas as pd
    import xarray as xr

    q = _number_output(output)
    ranges = {name: _range(name, given) for name, given in inputs.items() if isinstance(given, tuple)}
    if not ranges:
        raise MissingInput("no input is varied: give at least one as a range, a tuple (low, high)")
    others = {name: given for name, given in inputs.items() if name not in ranges}
    if base is not None and not isinstance(base, Mapping):
        raise InputTypeError(f"base: expected a dict of numbers by input, got {shown(base)}")
    for name in base or {}:
        if name not in ranges:
            raise unknown("input with a range in base", name, ranges)
    fixed = read_grid(others)
    if fixed.sizes:
        raise AxisError(
            f"{next(iter(fixed.sizes))} is an axis: a tornado has one value of each input beside the ranges"
        )
    middle = {name: _base(lookup(name), ends, base or {}, fixed) for name, ends in ranges.items()}
    cases = {name: np.full(1 + 2 * len(ranges), x) for name, x in middle.items()}
    for k, (name, ends) in enumerate(ranges.items()):
        cases[name][1 + 2 * k : 3 + 2 * k] = ends
    arrays: dict[str, Any] = {name: xr.DataArray(values, dims=_CASE) for name, values in cases.items()}
    found = evaluate(output, progress=False, **others, **arrays).broadcast_like(arrays[next(iter(ranges))]).to_numpy()
    at_low, at_high = found[1::2], found[2::2]
    factor = bool(np.all(found > 0))
    table = pd.DataFrame(
        {
            "low": [low for low, _ in ranges.values()],
            "base": list(middle.values()),
            "high": [high for _, high in ranges.values()],
            "unit": [lookup(name).unit for name in ranges],
            "at_low": at_low,
            "at_high": at_high,
            "swing": np.maximum(at_low, at_high) / np.minimum(at_low, at_high) if factor else np.abs(at_high - at_low),
        },
        index=pd.Index(list(ranges), name="input"),
    ).sort_values("swing", ascending=False, kind="stable")
    table.attrs["units"] = dict.fromkeys(("low", "base", "high"), "as in unit") | {
        "at_low": q.unit,
        "at_high": q.unit,
        "swing": "1" if factor else q.unit,
    }
    return Tornado(q, float(found[0]), table)


def _number_output(output: Any) -> Quantity:
    """An output that is a number, checked."""
    if not isinstance(output, str):
        raise InputTypeError(f"expected the name of one quantity, got {shown(output)}")
    q = lookup(wanted_names(output)[0])
    if q.choices:
        raise InputTypeError(f"{q.name} is one of {q.range_text}: only numbers can be compared")
    return q


def _range(name: str, given: tuple[Any, ...]) -> tuple[float, float]:
    """Both ends of a range, checked."""
    if name in PRESETS or input_quantity(name).choices:
        raise InputTypeError(f"{name}: words have no range, give one of them; got {shown(given)}")
    if len(given) != 2:
        raise ValueRangeError(f"{name}: a range has two ends, (low, high); got {shown(given)}")
    low, high = (number(end, lookup(name)) for end in given)
    if not low < high:
        raise ValueRangeError(f"{name}: a range is (low, high) with low below high; got {shown(given)}")
    return low, high


def _base(q: Quantity, ends: tuple[float, float], stated: Mapping[str, Any], fixed: Grid) -> float:
    if q.name in stated:
        return number(stated[q.name], q)
    low, high = ends
    supplied = fixed.inputs.get(q.name)
    known = float(supplied.values) if supplied is not None else q.default
    if known is not None and low <= known <= high:
        return float(known)
    return float(np.sqrt(low) * np.sqrt(high)) if low > 0 else (low + high) / 2


# ---------------------------------------------------------------------------------------------------- variance shares


@dataclass(frozen=True, repr=False)
class VarianceShares(_ByInput):
    """Sobol's indices: the shares of an output's variance that its inputs account for.

    `plot` draws them, `str()` and Jupyter show them as a table.

    Attributes
    ----------
    quantity : Quantity
        The output.
    mean, variance : float
        Of the output, in base units.
    table : pandas.DataFrame
        Indexed by input, the largest total first: ``first_order``, the share that an input accounts for alone, and
        ``total``, with what it does together with others; of each the ends ``_low`` and ``_high`` of an interval that
        is to hold with 95 % confidence.
    """

    quantity: Quantity
    mean: float
    variance: float
    table: pd.DataFrame
    _head = ("input", "first order", "total")

    def _told(self) -> str:
        return "shares of its variance"

    def _lines(self) -> list[tuple[str, ...]]:
        return [
            (
                str(name),
                *(f"{row[k]:.3f} ({row[f'{k}_low']:.3f} to {row[f'{k}_high']:.3f})" for k in ("first_order", "total")),
            )
            for name, row in self.table.iterrows()
        ]

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw two bars for each input, alone and in total, with their intervals of confidence.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a figure of its own otherwise.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from roofslate.charts import _draw

        with _draw.house_style():
            ax = _draw.axes(ax, (6.4, 1.2 + 0.5 * len(self.table)))
            at = np.arange(len(self.table))
            looks = (
                ("first_order", "alone", -0.2, {"color": _draw.COMPUTE["color"]}),
                ("total", "with others", 0.2, {"facecolor": "white", "edgecolor": "#E69F00", "hatch": "////"}),
            )
            for column, label, shift, look in looks:
                values = self.table[column].to_numpy()
                ends = self.table[[f"{column}_low", f"{column}_high"]].to_numpy().T
                off = np.clip([values - ends[0], ends[1] - values], 0, None)
                ax.barh(at + shift, values, 0.36, xerr=off, label=label, ecolor=_draw.INK, capsize=2, **look)
            ax.set_yticks(at, [_draw.words(str(name)) for name in self.table.index])
            ax.set_ylim(len(self.table) - 0.4, -0.6)
            ax.set_xlim(left=0)
            ax.tick_params(axis="y", length=0)
            ax.set_xlabel(f"share of the variance of {_draw.words(self.quantity.name)}")
            ax.legend(loc="lower right", frameon=False)
        return ax


def sobol(output: str, /, n: int, seed: int, *, threads: int | None = None, **inputs: Any) -> VarianceShares:
    """The shares of an output's variance that its uncertain inputs account for, alone and together: Sobol's indices.

    They are estimated from n (inputs + 2) points (Saltelli 2010). The intervals of confidence come of a bootstrap,
    which takes the draws as independent: for Sobol points they are wider than need be.

    Parameters
    ----------
    output : str
        Name of a quantity.
    n : int
        A power of 2.
    seed : int
        The same seed gives the same shares.
    threads : int, optional
        As for `evaluate`.
    **inputs
        As for `evaluate`, but no axes; at least one of them is a frozen distribution of `scipy.stats`, with values in
        base units. They are drawn independently: with correlations the variance has no unique shares.

    Returns
    -------
    VarianceShares
        With a ``table`` and ``plot()``.

    Raises
    ------
    ValueRangeError
        Also where the output does not vary, or is infinite or undefined for some of the draws.
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
    import pandas as pd
    import xarray as xr

    q = _number_output(output)
    if whole(n, "n", 2, 1 << 30) & (n - 1):
        near = 1 << (n.bit_length() - 1)
        raise ValueRangeError(f"n must be a power of 2, such as {near:,} or {2 * near:,}; got {n:,}")
    draws, others = read_draws(inputs, n, seed, times=2)
    grid = draws.grid(others, [output])
    if len(grid.sizes) > 1:
        axis = next(dim for dim in grid.sizes if dim != SAMPLE)
        raise AxisError(f"{axis} is an axis: the shares are those of one value of each input that is not drawn")
    check_effect(grid, [output])
    a, b = draws.values(threads, False)

    def values(columns: Mapping[str, Any]) -> Values:
        arrays: dict[str, Any] = {name: xr.DataArray(x, dims=SAMPLE) for name, x in columns.items()}
        found = evaluate(output, threads=threads, progress=False, **others, **arrays)
        if not np.all(np.isfinite(found)):
            raise ValueRangeError(
                f"{output} is infinite or undefined for some of the draws: its variance has no shares"
            )
        return np.broadcast_to(found.to_numpy(), n)

    at_a, at_b = values(a), values(b)
    if np.ptp(at_a) == 0 and np.ptp(at_b) == 0:
        raise ValueRangeError(
            f"{output} does not vary with {', '.join(draws.names)}: there is no variance to share out"
        )
    mixed = [values({**a, name: b[name]}) for name in draws.names]
    first, total, spread = _shares(at_a, at_b, mixed, seed)
    columns: dict[str, Values] = {}
    for k, (name, at) in enumerate((("first_order", first), ("total", total))):
        columns |= {name: at, f"{name}_low": at - spread[k], f"{name}_high": at + spread[k]}
    table = pd.DataFrame(columns, index=pd.Index(draws.names, name="input"))
    both = np.concatenate([at_a, at_b])
    return VarianceShares(
        q, float(both.mean()), float(both.var()), table.sort_values("total", ascending=False, kind="stable")
    )


def _shares(a: Values, b: Values, mixed: Sequence[Values], seed: int) -> tuple[Values, Values, Values]:
    """First-order and total shares after Saltelli (2010), and how far their intervals of confidence reach.

    All of it is made of means over the draws. A bootstrap weighs them anew: each draw counts as often as it is redrawn.
    """
    middle = (a.mean() + b.mean()) / 2
    a, b = a - middle, b - middle
    mixed = [x - middle for x in mixed]
    terms = np.column_stack([a, b, a * a, b * b, *(b * (x - a) for x in mixed), *((x - a) ** 2 / 2 for x in mixed)])

    def of_means(means: Values) -> Values:
        variance = (means[2] + means[3]) / 2 - ((means[0] + means[1]) / 2) ** 2
        shares: Values = means[4:] / variance
        return shares

    n = a.size
    rng = np.random.default_rng(seed)
    again = [of_means(np.bincount(rng.integers(n, size=n), minlength=n) @ terms / n) for _ in range(_RESAMPLES)]
    spread = _DEVIATIONS * np.std(again, axis=0, ddof=1)
    first, total = np.split(of_means(terms.mean(axis=0)), 2)
    return first, total, spread.reshape(2, -1)
