"""The ratio of a value in two scenarios, explained factor by factor."""

from __future__ import annotations

import contextlib
import itertools
import math
import operator
import textwrap
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import units
from roofslate._base.messages import shown
from roofslate.display import style
from roofslate.display.html import columns
from roofslate.display.result import DrawnResult, Table
from roofslate.errors import AxisError, InputTypeError, RoofslateError, ValueRangeError
from roofslate.evaluation.value import value
from roofslate.grid.plausible import warn_of_other_chip
from roofslate.grid.read import Settled, read_grid
from roofslate.presets.lookup import PRESETS, PRICED, dated
from roofslate.presets.preset import Preset
from roofslate.registry.registry import Quantity, ancestors, lookup
from roofslate.registry.values import wanted_names
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["Comparison", "Factor", "compare"]

_MOST_INPUTS = 12  # that differ: two scenarios then have 2**12 mixtures
_BAR = 24  # characters
_LABEL = 40
Values = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Factor:
    """The contribution of one input to a ratio, or of inputs that can only change together.

    Attributes
    ----------
    inputs : tuple of str
    before, after : str
        Their values in the two scenarios, formatted.
    factor : float
    """

    inputs: tuple[str, ...]
    before: str
    after: str
    factor: float

    @property
    def name(self) -> str:
        """The names of the inputs."""
        return ", ".join(self.inputs)

    @property
    def change(self) -> str:
        """The old and the new value."""
        return f"{self.before} → {self.after}"


@dataclass(frozen=True, repr=False)
class Comparison(DrawnResult):
    """The ratio of a value in two scenarios, and its factors.

    `str()` returns a waterfall as text, `plot` draws it on a logarithmic axis, and Jupyter shows it as a table.

    Attributes
    ----------
    quantity : Quantity
        The compared quantity.
    before, after : float
        Its value in the two scenarios, in base units.
    rows : tuple of Factor
        The largest factor first.
    """

    quantity: Quantity
    before: float
    after: float
    rows: tuple[Factor, ...]

    @property
    def ratio(self) -> float:
        """The ratio of the second value to the first."""
        return self.after / self.before

    @property
    def factors(self) -> pd.DataFrame:
        """The factors as a table. Their product is the ratio.

        Returns
        -------
        pandas.DataFrame
            Indexed by input, with columns from, to, factor.
        """
        import pandas as pd

        columns = {
            "from": [row.before for row in self.rows],
            "to": [row.after for row in self.rows],
            "factor": np.array([row.factor for row in self.rows], dtype=float),
        }
        return pd.DataFrame(columns, index=pd.Index([row.name for row in self.rows], name="input"))

    @property
    def _levels(self) -> list[float]:
        """The value before the first factor, and after each factor."""
        return list(itertools.accumulate((row.factor for row in self.rows), operator.mul, initial=self.before))

    def _lines(self) -> list[tuple[str, str, str, str]]:
        """Format the lines of the waterfall: input, change, factor, and the value after it."""
        first, *reached = (units.format(x, self.quantity.unit) for x in self._levels)
        lines = [
            (row.name, row.change, f"× {row.factor:.4g}", text) for row, text in zip(self.rows, reached, strict=True)
        ]
        last = units.format(self.after, self.quantity.unit)
        return [("a", "", "", first), *lines, ("b", "", f"× {self.ratio:.4g}", last)]

    def __str__(self) -> str:
        at = np.log(self._levels)
        columns_of_bars = np.rint((at - at.min()) * (_BAR / (np.ptp(at) or 1.0))).astype(int).tolist()
        ends = [sorted(pair) for pair in itertools.pairwise(columns_of_bars)]
        bars = ["", *(" " * low + "█" * (high - low) for low, high in ends), ""]
        text = columns((*line, bar) for line, bar in zip(self._lines(), bars, strict=True))
        return "\n".join([f"{self.quantity.name}: {self.quantity.brief}", *text])

    def _tables(self) -> list[Table]:
        caption = f"{self.quantity.name}: {self.quantity.brief}"
        return [(caption, ("input", "change", "factor", self.quantity.name), self._lines())]

    @property
    def _labels(self) -> list[str]:
        return ["a", *map(_label, self.rows), "b"]

    def _size(self) -> tuple[float, float]:
        return 6.4, 0.9 + len(self._labels) * (0.3 + 0.16 * max(label.count("\n") for label in self._labels))

    def _draw(self, ax: Axes) -> None:
        name, unit, levels, labels = self.quantity.name, self.quantity.unit, self._levels, self._labels
        ax.set_xscale("log")
        low, high = min(levels), max(levels)
        spread = max(high / low, 1.2)
        ax.set(xlim=(low / spread**0.08, high * spread**0.4), ylim=(len(labels) - 0.4, -0.6))
        for y, level in enumerate(levels):
            ax.plot([level, level], [y, y + 1], color=style.NOTE, linestyle="-", linewidth=0.8, zorder=1)
        for y, (row, start, end) in enumerate(zip(self.rows, levels, levels[1:], strict=False), start=1):
            look = {"color": "#F0B27A", "hatch": "///"} if end > start else {"color": style.COMPUTE["color"]}
            start_x, end_x = sorted((start, end))
            ax.barh(y, end_x - start_x, left=start_x, height=0.6, edgecolor=style.INK, label=row.name, **look)
            _annotate(ax, end_x, y, f"{style.TIMES} {row.factor:.3g}")
        for y, end in ((0, self.before), (len(labels) - 1, self.after)):
            ax.plot([end], [y], marker="o", color=style.INK, linestyle="none")
            _annotate(ax, end, y, units.format(end, unit))
        ax.set_yticks(range(len(labels)), labels)
        ax.tick_params(axis="y", length=0)
        ax.set_xlabel(style.words(name, unit))
        style.scale_ticks(ax.xaxis, unit)
        style.title(ax, f"{style.words(name)} by changed input, a to b", below=f"b / a = {self.ratio:.3g}")


def _label(row: Factor) -> str:
    """Format an input and its change, in lines short enough for an axis label.

    The names of a group are part of the values.
    """
    short = len(row.change) <= _LABEL
    lines = [row.name] * (len(row.inputs) == 1) + ([row.change] if short else [f"{row.before} →", row.after])
    return "\n".join(textwrap.fill(line, _LABEL) for line in lines)


def _annotate(ax: Axes, x: float, y: float, text: str) -> None:
    ax.annotate(text, (x, y), xytext=(7, 0), textcoords="offset points", va="center", fontsize=9)


def compare(
    a: Mapping[str, Any] | str, b: Mapping[str, Any], output: Mapping[str, Any] | str, /, **shared: Any
) -> Comparison:
    """Explain the ratio of an output in two scenarios, factor by factor.

    The factor of each differing input is the mean effect of its change, over all orders in which inputs could change:
    the Shapley value of the logarithm. So the factors multiply to the ratio, and no order is preferred. A preset counts
    as one input. An input of only one scenario gets, in the other one, its value from a preset, a default or a
    formula. Inputs share a factor if they can only change together, because mixtures of the scenarios are invalid: they
    lack an input, or have more active experts than experts.

    Parameters
    ----------
    a, b : dict
        Inputs of the two scenarios, as for `value`.
    output : str
        Name of a numeric quantity. It may also come first, as in other calls: ``rs.compare(output, a, b)``.
    **shared
        Inputs of both scenarios.

    Returns
    -------
    Comparison
        Its `ratio`, and its `factors` as a table. Their product equals the ratio, to a relative 1e-14 for ratios
        between 1e-20 and 1e20.

    Raises
    ------
    MissingInput, UnknownName, UnitError, AxisError, InputTypeError, IneffectiveInput
        As for `value`. The message names the scenario.
    ValueRangeError
        Also if the output is zero, negative, infinite or undefined in a scenario, and if more than twelve relevant
        inputs differ.

    Examples
    --------
    >>> import roofslate as rs
    >>> now, then = dict(hardware="H100"), dict(hardware="H100", hbm_bandwidth="4.8 TB/s", hbm_capacity="120 GB")
    >>> print(rs.compare(now, then, "hbm_drain_time"))
    hbm_drain_time: HBM drain time, capacity / bandwidth
      a                                              23.88 ms
      hbm_capacity   80 GB → 120 GB        × 1.5     35.82 ms  ████████████████████████
      hbm_bandwidth  3.35 TB/s → 4.8 TB/s  × 0.6979  25 ms        █████████████████████
      b                                    × 1.047   25 ms
    """
    first, second, requested = _output_last(a, b, output)
    (name,) = wanted_names([requested])
    q = lookup(name)
    if q.choices:
        raise InputTypeError(f"{name} is one of {q.range_text}. Only numbers have a ratio.")
    for side, given in (("a", first), ("b", second)):
        _check_side(side, given, shared)
    first, second, shared = _of_their_days(first, second, shared)
    sides = [_settings(side, given, name, shared) for side, given in (("a", first), ("b", second))]
    before, after = (_end(side, q, {**shared, **settings}) for side, settings in zip("ab", sides, strict=True))
    if not 0 < after / before < math.inf:
        raise ValueRangeError(f"the ratio of {name} is out of range: {before!r} in scenario a, {after!r} in scenario b")
    keys = list(sides[0] | sides[1])
    sides = [_completed(settings, keys, q.name, shared) for settings in sides]
    differing = sorted(key for key in keys if sides[0].get(key) != sides[1].get(key))
    players = [key for key in differing if key in PRESETS or key == name or key in ancestors(name)]
    if len(players) > _MOST_INPUTS:
        raise ValueRangeError(
            f"{len(players)} inputs of {name} differ, expected at most {_MOST_INPUTS}: {', '.join(players)}. "
            "Compare both with an intermediate scenario."
        )
    same = {key: setting for key, setting in sides[0].items() if key not in differing}
    with np.errstate(all="ignore"):
        logs = np.asarray(np.log(_mixtures(name, players, sides, {**shared, **same}) / before))
    logs[(0,) * len(players)], logs[(1,) * len(players)] = 0.0, math.log(after / before)
    logs, groups = _grouped(logs, [(key,) for key in players])
    factors = {group: math.exp(share) for group, share in zip(groups, _shapley(logs), strict=True)}
    factors |= {(key,): 1.0 for key in differing if key not in players}
    rows = [Factor(group, _said(group, sides[0]), _said(group, sides[1]), x) for group, x in factors.items()]
    rows.sort(key=lambda row: (-abs(math.log(row.factor)), row.name))
    return Comparison(q, before, after, tuple(rows))


def _output_last(a: Any, b: Any, output: Any) -> tuple[Any, Any, Any]:
    return (b, output, a) if isinstance(a, str) else (a, b, output)


def _check_side(side: str, given: Any, shared: Mapping[str, Any]) -> None:
    """Raise an error for a side that is no scenario, or repeats a shared input."""
    if not isinstance(given, Mapping) or not all(isinstance(key, str) for key in given):
        raise InputTypeError(f"scenario {side}: expected a dict of inputs by name, got {shown(given)}")
    twice = [key for key in given if key in shared]
    if twice:
        raise InputTypeError(f"scenario {side}: {twice[0]!r} is also a shared input. Leave one out.")


def _of_their_days(
    a: Mapping[str, Any], b: Mapping[str, Any], shared: dict[str, Any]
) -> tuple[Mapping[str, Any], Mapping[str, Any], dict[str, Any]]:
    """Return the scenarios with the prices of their days.

    A shared price goes into both of them, as their days may differ.
    """
    if not any(DAY in inputs for inputs in (a, b, shared)):
        return a, b, shared
    moved = {keyword: shared[keyword] for keyword in (*PRICED, DAY) if keyword in shared}
    priced = []
    for side, given in (("a", a), ("b", b)):
        with _named(side):
            inputs = {**moved, **given}
            priced.append(dated(inputs) if DAY in inputs else inputs)
    return priced[0], priced[1], {keyword: x for keyword, x in shared.items() if keyword not in moved}


def _settings(side: str, given: Mapping[str, Any], output: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Return the inputs of one scenario: presets, words, and numbers in base units."""
    with _named(side):
        grid = read_grid(Settled({**shared, **given}), [output])
        warn_of_other_chip(grid, f"scenario {side}: ")
        if grid.sizes:
            raise AxisError(
                f"{next(iter(grid.sizes))!r} is an axis, but rs.compare() explains one ratio. Give one value."
            )
    settings: dict[str, Any] = {}
    for key in given:
        if key in PRESETS:
            settings[key] = grid.presets[key][0]
        else:
            x, words = float(grid.inputs[key].values), lookup(key).choices
            settings[key] = words[int(x)] if words else x
    return settings


@contextlib.contextmanager
def _named(side: str) -> Any:
    try:
        yield
    except RoofslateError as error:
        raise type(error)(f"scenario {side}: {error}") from None


def _end(side: str, q: Quantity, inputs: Mapping[str, Any]) -> float:
    with _named(side):
        x = float(value(q.name, Settled(inputs)))
        if not 0 < x < math.inf:
            raise ValueRangeError(f"{q.name} is {units.format(x, q.unit)}. A ratio needs a positive, finite value.")
    return x


def _completed(settings: dict[str, Any], keys: Sequence[str], output: str, shared: Mapping[str, Any]) -> dict[str, Any]:
    """Complete a scenario by values that only the other scenario states."""
    end = value(output, Settled({**shared, **settings}))
    for key in keys:
        if key not in settings and key not in PRESETS:
            with contextlib.suppress(RoofslateError):
                more = {**settings, key: value(key, Settled({**shared, **settings}))}
                if value(output, Settled({**shared, **more})) == end:
                    settings = more
    return settings


def _mixtures(
    name: str, players: Sequence[str], sides: Sequence[Mapping[str, Any]], shared: Mapping[str, Any]
) -> Values:
    """Evaluate the output at all mixtures of two scenarios, with an axis per input.

    Invalid mixtures are NaN. Mixtures need different inputs and branches, so each is evaluated as a point.
    """
    values = np.full((2,) * len(players), np.nan)
    for chosen in itertools.product((0, 1), repeat=len(players)):
        inputs = {key: sides[side][key] for key, side in zip(players, chosen, strict=True) if key in sides[side]}
        with contextlib.suppress(RoofslateError):
            values[chosen] = value(name, Settled({**shared, **inputs}))
    return values


def _grouped(logs: Values, groups: list[tuple[str, ...]]) -> tuple[Values, list[tuple[str, ...]]]:
    """Join inputs until all mixtures are valid, each time the two that leave fewest invalid."""
    while not np.isfinite(logs).all():
        pairs = itertools.combinations(range(logs.ndim), 2)

        def missing_mixtures(pair: tuple[int, int], logs: Values = logs) -> int:
            return int((~np.isfinite(np.diagonal(logs, axis1=pair[0], axis2=pair[1]))).sum())

        i, j = min(pairs, key=missing_mixtures)
        logs = np.moveaxis(np.diagonal(logs, axis1=i, axis2=j), -1, i)
        groups = [(*groups[i], *groups[j]) if k == i else group for k, group in enumerate(groups) if k != j]
    return logs, groups


def _shapley(logs: Values) -> list[float]:
    """Compute the mean change along each axis between opposite corners, over all orders."""
    n = logs.ndim
    moved = np.indices((2,) * max(n - 1, 0)).sum(axis=0)  # how many other inputs have changed before
    weight = np.array([1 / (n * math.comb(n - 1, k)) for k in range(n)])
    return [math.fsum((weight[moved] * (logs.take(1, k) - logs.take(0, k))).ravel()) for k in range(n)]


def _said(group: Sequence[str], settings: Mapping[str, Any]) -> str:
    """Format the settings of some inputs, with names if there are several."""
    texts = []
    for key in group:
        if key in settings:
            setting = settings[key]
            if isinstance(setting, float):
                setting = units.format(setting, lookup(key).unit)
            text = setting.name if isinstance(setting, Preset) else setting
            texts.append(text if len(group) == 1 else f"{key} {text}")
    return ", ".join(texts) or "none"
