"""Origins of inputs in words."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roofslate.grid.grid import Grid
    from roofslate.registry.registry import Quantity

__all__ = ["IMPLIED", "origin"]

IMPLIED = "implied by other inputs"


def origin(q: Quantity, grid: Grid, values: Mapping[str, float], level: int = 0) -> str:
    """Return the origin of a quantity at which a derivation ends.

    Parameters
    ----------
    q : Quantity
    grid : Grid
        The scenario.
    values : mapping
        The numbers of the derivation.
    level : int
        The depth to derive it.

    Returns
    -------
    str
        "given", the preset and its source, "default" with its source, or the depth.
    """
    i = grid.inputs.get(q.name)
    if i is None:
        if q.computed or q.fallback in values:
            return f"computed; depth={level} derives it"
        return f"default [{q.source}]" if values[q.name] == q.default else IMPLIED
    if i.origin is None:
        return "given"
    if i.origin not in grid.presets:
        return f"{i.origin} {grid.layout}"
    preset = grid.presets[i.origin][0]
    fact = preset.facts.get(q.name)
    return f"{i.origin} {preset.name}{f': {fact.origin}' if fact else ''}"
