"""Checks of tables: prices that were hardly meant, inputs and columns of presets without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, NoReturn

import numpy as np

from roofslate.errors import IneffectiveInput
from roofslate.grid.checks import report_unrelated, why_unused
from roofslate.grid.plausible import HIGHEST_PRICE, PRICE, warn_of_price

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence
    from collections.abc import Set as AbstractSet

    from roofslate.grid.grid import Grid
    from roofslate.registry.values import Values

__all__ = ["check_preset_columns", "check_prices", "refuse_column", "unrelated_inputs"]


def check_prices(prices: Values, *, texts: bool) -> bool:
    """Warn of a column of prices that were hardly meant, and return whether one was."""
    highest = float(np.fmax.reduce(prices, initial=0))
    warn_of_price({PRICE: "" if texts else highest}, highest)
    return highest > HIGHEST_PRICE


def check_preset_columns(columns: Sequence[str], effective: Collection[str | None], outputs: Sequence[str]) -> None:
    """Refuse a column of presets of which no output takes anything in any row."""
    for column in columns:
        if column not in effective and column != "calibration":
            raise IneffectiveInput(
                f"column {column!r}: {', '.join(outputs)} takes nothing that its presets supply; leave it out, "
                "or name it in ignore="
            )


def refuse_column(grid: Grid, outputs: Sequence[str], name: str) -> NoReturn:
    """Refuse a column of numbers that no output takes."""
    raise IneffectiveInput(f"column {why_unused(grid, outputs, name)}; leave it out, or name it in ignore=")


def unrelated_inputs(
    common: Grid, explicit: AbstractSet[str], related: AbstractSet[str], outputs: Sequence[str]
) -> tuple[str, ...]:
    """Warn of inputs of all rows that do not enter the outputs; return members of a scenario that do not."""
    if explicit <= related:
        return ()
    used = explicit & related
    bounds = {common.registry.entries[name].bound for name in used}
    return report_unrelated(
        common,
        outputs,
        [
            name
            for name, i in common.inputs.items()
            if name in explicit and name not in related and name not in bounds and i.quantity.bound not in used
        ],
    )
