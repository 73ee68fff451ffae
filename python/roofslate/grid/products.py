"""Formats of products that a chip lacks, refused or noted."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roofslate.errors import PresetError
from roofslate.registry.formats import formats

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping
    from collections.abc import Set as AbstractSet

    from roofslate.grid.grid import Grid, Input

__all__ = ["check_products", "dequantized", "may_be_dequantized"]

_PRODUCTS = "compute_format"
_STORED = ("weight_format", "dense_format")
_NEAREST = {
    "fp4": ("fp8", "bf16", "int8"),
    "fp8": ("bf16", "int8", "fp4"),
    "int8": ("bf16", "fp8", "fp4"),
    "bf16": ("fp8", "int8", "fp4"),
}


def check_products(grid: Grid) -> None:
    """Refuse an explicit format of products that a chip of the call does not multiply."""
    given = grid.inputs.get(_PRODUCTS)
    if given is None or given.origin is not None or _PRODUCTS in grid.chunked:
        return
    for word in _words(given):
        peak = formats()[word].peak
        for chip, peaks in _chips(grid):
            if peak in peaks or not peaks:
                continue
            nearest = next(other for other in _NEAREST[peak] if other in peaks)
            raise PresetError(
                f"{_PRODUCTS}: hardware={chip!r} does not multiply {word!r}; the nearest is {nearest!r} "
                f"(it has {', '.join(peaks)})"
            )


def dequantized(grid: Grid, used: AbstractSet[str]) -> str:
    """Name the formats that a chip turns into bf16 before it multiplies them."""
    if "peak_flops_bf16" not in used or "hardware" not in grid.presets:
        return ""
    notes: dict[str, None] = {}
    for name in _STORED:
        given = grid.inputs.get(name)
        if given is None or name not in used or name in grid.chunked or (name == _STORED[0] and _PRODUCTS in used):
            continue
        for word in _words(given):
            if word in ("same", "bf16"):
                continue
            for chip, peaks in _chips(grid):
                if formats()[word].peak == "bf16" or formats()[word].peak not in peaks:
                    notes.setdefault(f"{word} is dequantized to bf16 on {chip}")
    return "; ".join(notes)


def may_be_dequantized(grid: Grid) -> bool:
    """Return True if there are formats to name for some outputs."""
    return bool(dequantized(grid, {"peak_flops_bf16", *_STORED}))


def _words(given: Input) -> Iterable[str]:
    if not given.dims:
        return (given.quantity.choices[int(given.number)],)
    return (given.quantity.choices[int(x)] for x in np.unique(given.values))


def _chips(grid: Grid) -> Iterable[tuple[str, list[str]]]:
    """Chips of a call with the formats of their peaks, if they have several."""
    for preset in grid.presets.get("hardware", ()):
        if "peak_flops" in preset.values:
            continue
        yield preset.name, [peak for peak in _NEAREST if _has(grid.inputs, preset.values, f"peak_flops_{peak}")]


def _has(inputs: Mapping[str, Input], values: Mapping[str, object], name: str) -> bool:
    return name in values or (name in inputs and inputs[name].origin is None)
