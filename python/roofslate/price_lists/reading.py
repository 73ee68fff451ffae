"""Price lists as inputs of `infer`: a preset, its name, or prices by name, checked first."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from roofslate._base.messages import shown, unknown
from roofslate.errors import InputTypeError, MissingInput, PresetError, ValueRangeError
from roofslate.presets.catalog import api_prices
from roofslate.presets.preset import Preset
from roofslate.registry.registry import lookup
from roofslate.registry.values import number

__all__ = ["PRICES", "Tariff", "read_tariff"]

PRICES = (
    "input_price",
    "output_price",
    "long_context_threshold",
    "long_input_price",
    "long_output_price",
    "cache_read_price",
    "long_cache_read_price",
    "cache_write_price",
    "cache_write_time",
    "long_cache_write_price",
    "long_cache_write_time",
    "cache_storage_price",
    "price_factor",
    "speed_factor",
)

_NEEDED = ("input_price", "output_price")

# A price and the entries it needs.
_TOGETHER = {
    "long_input_price": "long_context_threshold",
    "long_output_price": "long_context_threshold",
    "long_cache_read_price": "long_context_threshold",
    "cache_write_price": "cache_write_time",
    "long_cache_write_price": "long_cache_write_time",
}

# Common short names. Those of writes include the hold time.
_SHORT = {name.removesuffix("_price"): name for name in PRICES if name.endswith("_price")}

_WRITES = {
    "cache_write_5m": ("cache_write_price", "cache_write_time", 300.0),
    "cache_write_1h": ("long_cache_write_price", "long_cache_write_time", 3600.0),
}

_DEAREST = 0.1  # dollars per token: a hundred thousand per million tokens


@dataclass(frozen=True)
class Tariff:
    """A price list in base units.

    Attributes
    ----------
    name : str
    values : Mapping[str, float]
        By quantity name, among `PRICES`.
    origin : str
        Source of the prices.
    """

    name: str
    values: Mapping[str, float]
    origin: str


def read_tariff(prices: Any, day: Any = None) -> Tariff:
    """Read a price list.

    Parameters
    ----------
    prices : str, Preset, dict or pandas.Series
        A preset of `rs.api_prices`, its name, or prices by name: ``input``, ``output``, ``cache_read``,
        ``cache_write_5m``, ``cache_write_1h``, ``cache_storage``, ``long_context_threshold``, ``long_input``,
        ``long_output``, ``long_cache_read``, or quantity names. Numbers are in dollars per token.
    day : str or datetime.date, optional
        For a preset: use the list in force on this day.

    Returns
    -------
    Tariff

    Raises
    ------
    UnknownName, UnitError, ValueRangeError, InputTypeError, MissingInput, PresetError
        If an entry is no price, or if entries are missing or inconsistent.
    """
    if isinstance(prices, str):
        prices = api_prices[prices]
    if isinstance(prices, Preset) and prices.kind == "api_prices" and day is not None:
        prices = api_prices.as_of(prices, day)
    if isinstance(prices, Preset):
        if prices.kind != "api_prices":
            raise PresetError(f"prices: {prices.name!r} is a {prices.kind} preset, expected one of rs.api_prices")
        name, origin = prices.name, next(iter(prices.facts.values())).origin
        # A price is dropped without the entries it needs, such as the hold time of a write.
        given: Mapping[Any, Any] = {
            key: x for key, x in prices.values.items() if _TOGETHER.get(key, key) in prices.values
        }
    elif isinstance(prices, Mapping) or (hasattr(prices, "to_dict") and getattr(prices, "ndim", 0) == 1):
        name, origin = str(getattr(prices, "name", None) or "prices"), "given"
        given = prices if isinstance(prices, Mapping) else prices.to_dict()
    else:
        raise InputTypeError(
            f"prices: expected the name of a preset of rs.api_prices, a preset or a dict of prices, got {shown(prices)}"
        )
    values = _numbers(given)
    _check(values)
    return Tariff(name, values, origin)


def _numbers(given: Mapping[Any, Any]) -> dict[str, float]:
    values: dict[str, float] = {}
    for key, written in given.items():
        name = _WRITES[key][0] if key in _WRITES else _SHORT.get(key, key)
        if name not in PRICES:
            raise unknown("price", key, [*_SHORT, *_WRITES, *PRICES])
        if name in values:
            raise InputTypeError(f"{name} is given twice, the second time as {key!r}. Drop one.")
        if isinstance(written, bool) or written is None or isinstance(written, (tuple, list)):
            raise InputTypeError(f"{key}: expected one number or a text with a unit, got {shown(written)}")
        if isinstance(written, float) and math.isnan(written):
            raise ValueRangeError(f"{key}: expected a price, got NaN. Drop missing prices (Series.dropna).")
        x = number(written, lookup(name))
        if lookup(name).unit == "USD/token" and x > _DEAREST:
            raise ValueRangeError(
                f"{key}: {shown(written)} is {x:,.4g} dollars per token. Plain numbers are in dollars per token. "
                "Write for example '$5/Mtok'."
            )
        values[name] = x
        if key in _WRITES:
            values.setdefault(_WRITES[key][1], _WRITES[key][2])
    return values


def _check(values: Mapping[str, float]) -> None:
    """Raise an error for a list with missing or inconsistent entries."""
    for name in _NEEDED:
        if name not in values:
            known = ", ".join(values) or "nothing"
            raise MissingInput(f"prices: expected {name!r} ({lookup(name).brief}), got {known}")
    for name, other in _TOGETHER.items():
        if name in values and other not in values:
            raise MissingInput(f"{name!r} needs {other!r} ({lookup(other).brief}). Give both, or drop it.")
    short, long = (values.get(name) for name in ("cache_write_time", "long_cache_write_time"))
    if short is not None and long is not None and long <= short:
        raise ValueRangeError(
            f"long_cache_write_time must be longer than cache_write_time, got {long:g} s and {short:g} s. Swap them?"
        )
