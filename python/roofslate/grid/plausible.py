"""Prices of chips that are valid and hardly meant: a warning a thousandfold off, an error beside other chips."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.messages import warn
from roofslate.errors import PresetError, RoofslateWarning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roofslate.grid.grid import Grid

__all__ = ["HIGHEST_PRICE", "PRICE", "check_priced_chip", "warn_of_price"]

PRICE = "chip_price"
HIGHEST_PRICE = 1000 / 3600  # USD/s: no chip is rented for more

_HOUR = 3600
_LONG = 1e6  # numbers that are written by an exponent


def warn_of_price(inputs: Mapping[str, Any], largest: float) -> None:
    """Warn of a price of a chip above the highest, unless the call is one within another that warned before."""
    if not largest > HIGHEST_PRICE or getattr(inputs, "quiet", False):
        return
    given = inputs.get(PRICE)
    hourly = f"{f'{largest * _HOUR:,.0f}' if largest < _LONG else f'{largest * _HOUR:.3g}'} USD/h for one chip"
    if given is None:
        message = f"{PRICE} is {hourly}: check the preset that supplies it"
    elif _is_plain(given):
        message = (
            f"{PRICE} is {hourly}: a plain number is in USD/s. If {largest:g} USD/h is meant, give "
            f'{PRICE}="{largest:g} USD/h"'
        )
    else:
        message = f"{PRICE} is {hourly}: check its unit, and divide the price of a system by its chips"
    warn(message, RoofslateWarning)


def check_priced_chip(grid: Grid) -> None:
    """Refuse a preset of a price that names its chip beside hardware with another one.

    Calls within a call do not: what they mix, such as two scenarios that are compared, no caller asked for.
    """
    price = grid.inputs.get(PRICE)
    if price is None or price.origin != "prices":
        return
    for preset in grid.presets["prices"]:
        chip = preset.attributes.get("hardware")
        for hardware in grid.presets.get("hardware", ()):
            if chip is not None and chip not in (hardware.name, *hardware.bases):
                raise PresetError(
                    f"prices={preset.name!r} is a price of {chip} and not of hardware={hardware.name!r}: give "
                    f"{PRICE}=, for a list of hardware as a Series by its names"
                )


def _is_plain(given: Any) -> bool:
    """Whether all values are numbers without a unit."""
    if isinstance(given, (int, float)):
        return True
    if isinstance(given, str) or hasattr(given, "to_base_units") or "units" in getattr(given, "attrs", {}):
        return False
    return np.asarray(given).dtype.kind in "biuf" if isinstance(given, list) or hasattr(given, "__array__") else False
