"""Checks of tables: implausible prices, inputs and columns of presets without effect."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from roofslate import _core
from roofslate.errors import IneffectiveInput
from roofslate.grid.checks import WINDOW, WINDOWED, refuse_window, report_unrelated, why_unused
from roofslate.grid.plausible import HIGHEST_PRICE, PRICE, warn_of_price
from roofslate.registry.registry import bounded_pairs

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping, Sequence
    from collections.abc import Set as AbstractSet

    from roofslate._base.progress import ProgressWish
    from roofslate.grid.grid import Grid, Positions
    from roofslate.registry.values import Values

__all__ = [
    "bad_rows",
    "check_preset_columns",
    "check_prices",
    "check_windows",
    "refuse_column",
    "told_of_part",
    "unrelated_inputs",
]

_CHECKED = 1 << 14  # rows that are searched for values out of range at a time


def check_windows(columns: Mapping[str, Any], known: Collection[str]) -> None:
    """Refuse rows with windows whose width is not given."""
    for name in WINDOWED:
        column = columns.get(name)
        if column is not None and WINDOW not in known:
            values = column.data if column.values is None else column.values
            if np.fmax.reduce(values, initial=0) > 0:
                refuse_window(name)


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
    """Warn of inputs common to all rows without effect, return such members of a scenario."""
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


def told_of_part(tell: Callable[[int, int], None] | None, done: int, part: int, rows: int) -> ProgressWish:
    """Translate the engine's progress on a part to rows of the table."""
    if tell is None:
        return False
    return lambda points, total: tell(done + points * part // max(total, 1), rows)


def bad_rows(
    grid: Grid, rows: int, given: Collection[str], outside: int, ruled: Collection[str] = (), chosen: Any = None
) -> Positions:
    """Find rows with a value missing, out of range among those `given`, or above its bound.

    Of those given, `outside` values are out of their range or above one another, as the engine counted. A rule adds
    the `ruled`: each binds only in rows for which it is `chosen`, as elsewhere a default binds nothing.
    """
    bounds = []
    for name, bound in bounded_pairs():
        one, most = grid.inputs.get(name), grid.inputs.get(bound)
        if one is None or most is None or not (one.dims or most.dims):
            continue
        if outside or name not in given or bound not in given:
            bounds.append((one.values, most.values, [k for k, added in enumerate(ruled) if added in (name, bound)]))
    if not outside and not bounds:
        return np.empty(0, dtype=np.intp)
    bad = np.zeros(rows, dtype=bool)
    for start in range(0, rows if outside else 0, _CHECKED):
        at = slice(start, start + _CHECKED)
        for i in map(grid.inputs.__getitem__, given):
            values, q = i.values[at], i.quantity
            if _core.count_outside(values, q.low, q.high, q.above_low):
                bad[at] |= ~((values >= q.low) & (values <= q.high)) | (q.above_low & (values == q.low))
    for low, high, by_rule in bounds:
        bad |= (low > high) & chosen[by_rule].all(axis=0) if by_rule and chosen is not None else low > high
    return np.flatnonzero(bad)
