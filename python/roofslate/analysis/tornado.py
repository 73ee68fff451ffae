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

_CASE = "case"  # axis of the evaluated points


@dataclass(frozen=True, repr=False)
class Tornado(InputRanking):
    """An output as one input at a time changes within its range.

    `plot` draws a bar for each input, the widest on top. `str()` and Jupyter show a table.

    Attributes
    ----------
    quantity : Quantity
        The output.
    base : float
        Its value with all inputs at their bases, in base units.
    table : pandas.DataFrame
        Indexed by input, the widest bar first: ``low``, ``base``, ``high`` of the input and their ``unit``, the output
        ``at_low`` and ``at_high``, and the ``swing``: the ratio of the larger to the smaller of these two, or their
        difference if the output is not always positive. ``attrs["units"]`` distinguishes the two.
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
    """Vary one input at a time in its range, and fix the others at base values.

    Parameters
    ----------
    output : str
        Name of a quantity.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    base : dict, optional
        By input: the fixed value. By default the value of a preset, or the input's default, if the range contains it,
        otherwise the middle of the range. That is the geometric mean if both ends are positive.
    **inputs
        As for `evaluate`, but without axes. A tuple ``(low, high)`` is a range. The output is evaluated at the ends of
        each range, not between them.

    Returns
    -------
    Tornado
        With a ``table`` and ``plot()``.

    Raises
    ------
    ValueRangeError
        Also if a range is reversed.
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
        raise MissingInput("tornado() expects at least one range, got none. Give an input as a tuple (low, high).")
    fixed_inputs = {name: given for name, given in inputs.items() if name not in ranges}
    if base is not None and not isinstance(base, Mapping):
        raise InputTypeError(f"base: expected a dict of numbers by input, got {shown(base)}")
    for name in base or {}:
        if name not in ranges:
            raise unknown("input with a range in base", name, ranges)
    fixed = read_grid(fixed_inputs)
    if fixed.sizes:
        raise AxisError(
            f"{next(iter(fixed.sizes))} is an axis, but tornado() expects one value per fixed input. Give one value."
        )
    middle = {name: _base(lookup(name), ends, base or {}, fixed) for name, ends in ranges.items()}
    cases = {name: np.full(1 + 2 * len(ranges), x) for name, x in middle.items()}
    for k, (name, ends) in enumerate(ranges.items()):
        cases[name][1 + 2 * k : 3 + 2 * k] = ends
    arrays: dict[str, Any] = {name: xr.DataArray(values, dims=_CASE) for name, values in cases.items()}
    result = evaluate(output, changed(inputs, arrays), progress=False)
    results = result.broadcast_like(arrays[next(iter(ranges))]).to_numpy()
    at_low, at_high = results[1::2], results[2::2]
    factor = bool(np.all(results > 0))
    with np.errstate(invalid="ignore"):  # NaN if both ends are infinite
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
    return Tornado(q, float(results[0]), table)


def _range(name: str, given: tuple[Any, ...]) -> tuple[float, float]:
    """Check both ends of a range, and return them."""
    if name in PRESETS or input_quantity(name).choices:
        raise InputTypeError(f"{name}: got the range {shown(given)}, but choices have no order. Give one of them.")
    if len(given) != 2:
        raise ValueRangeError(f"{name}: expected a range of two ends (low, high), got {shown(given)}")
    low, high = (number(end, lookup(name)) for end in given)
    if not low < high:
        raise ValueRangeError(f"{name}: expected a range (low, high) with low below high, got {shown(given)}")
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
