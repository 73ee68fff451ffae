"""`rs.tornado`: one input varied at a time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units
from roofslate._base.messages import shown, unknown
from roofslate.analysis.ranking import InputRanking, basis_attrs, number_output
from roofslate.display import style
from roofslate.display.tornado import draw_bars
from roofslate.errors import AxisError, InputTypeError, MissingInput, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import changed, read_grid, with_scenario
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import Quantity, lookup
from roofslate.registry.values import input_quantity, number

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from roofslate.grid.grid import Grid

__all__ = ["Tornado", "tornado"]

_CASE = "case"  # the axis of the points that a tornado takes


@dataclass(frozen=True, repr=False)
class Tornado(InputRanking):
    """An output as one input at a time goes through its range.

    `plot` draws a bar for each input, the widest on top. `str()` and Jupyter show it as a table.

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

    def _summary(self) -> str:
        return units.format(self.base, self.quantity.unit)

    def _lines(self) -> list[tuple[str, ...]]:
        lines = []
        for name, row in self.table.iterrows():
            ends = [units.format(row[end], row["unit"]) for end in ("low", "high")]
            outputs = [units.format(row[at], self.quantity.unit) for at in ("at_low", "at_high")]
            lines.append((str(name), *ends, *outputs, f"{row['swing']:.4g}"))
        return lines

    def _size(self) -> tuple[float, float]:
        return 7.2, 1.2 + 0.45 * len(self.table)

    def _draw(self, ax: Axes) -> None:
        unit = self.quantity.unit
        draw_bars(
            ax, self.table, self.base, unit, style.words(self.quantity.name, unit), lambda x: style.text_of(x, unit)
        )


def tornado(
    output: str,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    base: Mapping[str, Any] | None = None,
    **inputs: Any,
) -> Tornado:
    """How far an output moves as one input at a time goes through its range, the others at their bases.

    Parameters
    ----------
    output : str
        Name of a quantity.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
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
    inputs = with_scenario(scenario, inputs)
    import pandas as pd
    import xarray as xr

    q = number_output(output)
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
    result = evaluate(output, changed(inputs, arrays), progress=False)
    found = result.broadcast_like(arrays[next(iter(ranges))]).to_numpy()
    at_low, at_high = found[1::2], found[2::2]
    factor = bool(np.all(found > 0))
    with np.errstate(invalid="ignore"):  # NaN where both ends are infinite
        swing = np.maximum(at_low, at_high) / np.minimum(at_low, at_high) if factor else np.abs(at_high - at_low)
    table = pd.DataFrame(
        {
            "low": [low for low, _ in ranges.values()],
            "base": list(middle.values()),
            "high": [high for _, high in ranges.values()],
            "unit": [lookup(name).unit for name in ranges],
            "at_low": at_low,
            "at_high": at_high,
            "swing": swing,
        },
        index=pd.Index(list(ranges), name="input"),
    ).sort_values("swing", ascending=False, kind="stable")
    table.attrs["units"] = dict.fromkeys(("low", "base", "high"), "as in unit") | {
        "at_low": q.unit,
        "at_high": q.unit,
        "swing": "1" if factor else q.unit,
    }
    table.attrs |= basis_attrs(q.name, result.attrs)
    return Tornado(q, float(found[0]), table)


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
