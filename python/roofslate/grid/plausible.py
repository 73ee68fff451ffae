"""Prices of chips that are valid and hardly meant: a thousandfold off, or of another chip."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.messages import warn
from roofslate.errors import RoofslateWarning

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roofslate.grid.grid import Grid

__all__ = ["HIGHEST_PRICE", "PRICE", "priced_chip_trouble", "warn_of_other_chip", "warn_of_price", "warn_of_price_grid"]

PRICE = "chip_price"
HIGHEST_PRICE = 1000 / 3600  # USD/s: no chip is rented for more

_HOUR = 3600
_LONG = 1e6  # numbers that are written by an exponent


def warn_of_price(inputs: Mapping[str, Any], largest: float) -> None:
    """Warn of a chip price above the highest known one, once for nested calls."""
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


def priced_chip_trouble(grid: Grid) -> str:
    """Name the preset whose price belongs to another chip, or return an empty text."""
    price = grid.inputs.get(PRICE)
    if price is not None and price.origin != "prices":
        return ""
    for preset in grid.presets.get("prices", ()):
        chip = preset.attributes.get("hardware")
        for hardware in grid.presets.get("hardware", ()):
            if chip is not None and chip not in (hardware.name, *hardware.bases):
                return (
                    f"prices={preset.name!r} is a price of {chip} and not of hardware={hardware.name!r}; it counts as "
                    f"given. State a price by {PRICE}=, for a list of hardware as a Series by its names"
                )
    return ""


def warn_of_other_chip(grid: Grid, where: str = "") -> None:
    """Warn of a preset of a price that names its chip next to hardware with another one.

    Calls within a call do not: no caller asked for their mixtures, such as two scenarios that are compared.
    """
    trouble = priced_chip_trouble(grid)
    if trouble:
        warn(f"{where}{trouble}", RoofslateWarning)


def warn_of_price_grid(grid: Grid) -> None:
    """Warn that a list of prices and an equally long list of hardware make a grid."""
    count = grid.sizes.get("hardware", 1)
    if count == 1 or grid.preset_axes.get("hardware") != "hardware":
        return
    for name in (PRICE, "prices"):
        if grid.sizes.get(name) == count:
            warn(
                f"hardware and {name} are lists of {count} and make a grid of {count} x {count}: each price counts "
                f"for each chip. For one price per chip give {name}=pd.Series(the list, index=pd.Index(the chips, "
                "name='hardware'))",
                RoofslateWarning,
            )


def _is_plain(given: Any) -> bool:
    """Return True if all values are numbers without a unit."""
    if isinstance(given, (int, float)):
        return True
    if isinstance(given, str) or hasattr(given, "to_base_units") or "units" in getattr(given, "attrs", {}):
        return False
    return np.asarray(given).dtype.kind in "biuf" if isinstance(given, list) or hasattr(given, "__array__") else False
