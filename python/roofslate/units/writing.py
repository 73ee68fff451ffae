"""Formatting of numbers: a suitable unit, and few digits."""

from __future__ import annotations

import math
from decimal import Decimal
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from roofslate._core import COUNTED_UNITS
from roofslate.units.algebra import dimension_of
from roofslate.units.table import LARGE, SYMBOLS, YEAR


class Scale(NamedTuple):
    """A common scale for several values: its divisor and its unit.

    Attributes
    ----------
    factor : float
        Base units in one unit of the scale.
    label : str
        The unit for an axis label: ``"ms"``, ``"$/Mtok"``, ``"k"``. Empty for plain counts.
    """

    factor: float
    label: str

    def text(self, value: float, digits: int = 4) -> str:
        """Format a value with its unit, as in a sentence: ``"12.3 ms"``, ``"$0.42 / Mtok"``."""
        return self._write(value, digits, " / ")

    def tick(self, value: float, digits: int = 4) -> str:
        """Format a value with its unit for an axis tick: ``"20 ms"``, ``"$2/Mtok"``, ``"200k"``."""
        return self._write(value, digits, "/")

    def _write(self, value: float, digits: int, slash: str) -> str:
        if not math.isfinite(value):
            return f"{value}"
        if not math.isfinite(value / self.factor):
            return f"{value:g}"
        number = _digits(value / self.factor, digits)
        if "$" in self.label:
            prefix, below = self.label.split("$")
            minus = "-" if number.startswith("-") else ""
            return f"{minus}${number.removeprefix('-')}{prefix}{below.replace('/', slash)}"
        if not self.label or self.label in LARGE:
            return number + self.label
        return (
            f"{number}{slash if slash == '/' else ' / '}{self.label[1:]}"
            if self.label[0] == "/"
            else f"{number} {self.label}"
        )


class _Rung(NamedTuple):
    factor: float
    label: str
    least: float  # smallest magnitude of the rung


def _power(symbol: str, exponent: float) -> str:
    return symbol if exponent == 1 else f"{symbol}^{exponent:g}"


# Displayed denominators of prices.
_PRICED = {
    "token": (1e6, "Mtok"),
    "s": (3600.0, "h"),
    "byte": (1e9, "GB"),
    "J": (3.6e6, "kWh"),
    "FLOP": (1e18, "EFLOP"),
}

# Times and rates of one user: ms per token, tokens per second, seconds per request.
_OF_ONE_SEQUENCE = (
    {"s": 1, "sequence": 1, "token": -1},
    {"token": 1, "s": -1, "sequence": -1},
    {"s": 1, "sequence": -1},
)


@lru_cache(maxsize=1024)
def ladder(unit: str) -> tuple[tuple[_Rung, ...], int]:
    """Return the scales of a unit in ascending order, and the index of the one for exponents."""
    exponents = dimension_of(unit).exponents
    if exponents in _OF_ONE_SEQUENCE:
        del exponents["sequence"]
    if not set(exponents) - set(COUNTED_UNITS):
        # "2,400" reads better than "2.4k".
        return (
            _Rung(1.0, "", 0.0),
            _Rung(1e3, "k", 1e4),
            *(_Rung(float(LARGE[p]), p, float(LARGE[p])) for p in "MGT"),
        ), 0
    if exponents == {"s": 1}:
        times = [(1e-9, "ns", 0.0), (1e-6, "µs", 1e-6), (1e-3, "ms", 1e-3), (1.0, "s", 1.0), (60.0, "min", 120.0)]
        long = [(3600.0, "h", 7200.0), (86400.0, "days", 172800.0), (float(YEAR), "years", 2.0 * YEAR)]
        return tuple(_Rung(*rung) for rung in times + long), 3
    if exponents == {"s": -1}:
        return (_Rung(1 / YEAR, "/yr", 0.0), _Rung(1.0, "/s", 1e-6)), 1
    if exponents == {"gCO2": 1, "J": -1}:
        return (_Rung(1 / 3.6e6, "gCO2/kWh", 0.0),), 0
    if exponents.get("chip", 0) < 0:
        del exponents["chip"]  # "192 GB" per chip is displayed as "192 GB"
    if exponents.get("USD") == 1:
        del exponents["USD"]
        factor, label = 1.0, ""
        for name, exponent in exponents.items():
            if exponent == -1 and name in _PRICED:
                factor, label = factor / _PRICED[name][0], f"{label}/{_PRICED[name][1]}"
            else:
                label += ("/" if exponent < 0 else "*") + _power(SYMBOLS[name], abs(exponent))
        steps = [(1.0, "", 0.0), (1e6, "M", 1e6), (1e9, "bn", 1e9), (1e12, "tn", 1e12)]
        return tuple(_Rung(step * factor, f"{p}${label}", least * factor) for step, p, least in steps), 0
    symbols = dict(SYMBOLS)
    if exponents.get("J") == 1 and exponents.get("s") == -1:
        symbols["J"] = "W"
        del exponents["s"]
    lead = next((name for name in ("FLOP", "byte", "J", "gCO2", "s", *COUNTED_UNITS) if exponents.get(name) == 1), None)
    other_factors = "".join("*" + _power(symbols[name], x) for name, x in exponents.items() if x > 0 and name != lead)
    below = "".join("/" + _power(symbols[name], -x) for name, x in exponents.items() if x < 0)
    if lead is None or (lead == "FLOP" and exponents.get("byte", 0) < 0):
        return (
            _Rung(1.0, (symbols[lead] if lead else "") + (other_factors if lead else other_factors[1:]) + below, 0.0),
        ), 0
    steps = [(1.0, "", 0.0), *((float(factor), prefix, float(factor)) for prefix, factor in LARGE.items())]
    if lead == "s":
        steps = steps[:1]
    if lead in ("s", "J", "gCO2"):
        steps = [(1e-9, "n", 0.0), (1e-6, "µ", 1e-6), (1e-3, "m", 1e-3), (1.0, "", 1.0), *steps[1:]]
    if lead in COUNTED_UNITS:
        steps[1] = (1e3, "k", 1e4)
    rungs = tuple(_Rung(step, prefix + symbols[lead] + other_factors + below, least) for step, prefix, least in steps)
    return rungs, [step for step, _, _ in steps].index(1.0)


def _digits(value: float, digits: int) -> str:
    """Format significant digits with commas: "2,400", "0.0123", "1.2e26"."""
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"
    return f"{Decimal(f'{value:.{digits}g}'):,f}"


def _choose(magnitude: float, unit: str) -> Scale:
    rungs, plain = ladder(unit)
    if magnitude == 0 or not math.isfinite(magnitude):
        return Scale(rungs[plain].factor, rungs[plain].label)
    rounded = float(f"{magnitude:.3e}")
    rung = next((r for r in reversed(rungs) if r.least <= rounded), rungs[0])
    if not 1e-3 <= rounded / rung.factor < 1e6:
        rung = rungs[plain]
    return Scale(rung.factor, rung.label)


def scale(values: npt.ArrayLike, unit: str) -> Scale:
    """Choose one scale for all `values`, for an axis or a table column.

    Parameters
    ----------
    values : array_like
        In base units.
    unit : str
        The unit of the values, made of base units.

    Returns
    -------
    Scale
        ``(factor, label)``. Show ``values / factor`` under `label`, or format ticks by ``Scale.tick``.
    """
    magnitudes = np.abs(np.asarray(values, dtype=float)).ravel()
    magnitudes = magnitudes[np.isfinite(magnitudes) & (magnitudes > 0)]
    if magnitudes.size == 0:
        return _choose(0.0, unit)
    return _choose(math.sqrt(float(magnitudes.min())) * math.sqrt(float(magnitudes.max())), unit)


def format(value: float, unit: str, digits: int = 4) -> str:  # noqa: A001
    """Format a value for display: ``"12.3 ms"``, ``"$0.42 / Mtok"``, ``"192 GB"``, ``"128k"``.

    Parameters
    ----------
    value : float
        In base units.
    unit : str
        The unit of the value, made of base units. "Per chip" and plain counts are not displayed.
    digits : int
        Significant digits.

    Returns
    -------
    str
        `parse` reads it back to this precision.
    """
    number = float(value)
    return _choose(abs(number), unit).text(number, digits)
