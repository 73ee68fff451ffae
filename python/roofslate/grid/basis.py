"""Bound or estimate: the basis of each output, and outputs that a calibration does not reach."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from roofslate.errors import IneffectiveInput

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from roofslate.grid.grid import Grid
    from roofslate.registry.registry import Registry

__all__ = ["check_scope"]

# Outcomes of each chain: a quantity lies on it that is one of them, or upstream or downstream of one.
_CHAINS = {
    "serving": ("time_per_output_token", "time_to_first_token", "cost_per_output_token", "pass_time", "cost_per_token"),
    "training": ("trained_tokens_per_second_per_chip", "pretraining_cost", "run_cost"),
}


@functools.lru_cache(maxsize=1024)
def _chains_of(registry: Registry, name: str) -> frozenset[str]:
    """The chains that a quantity lies on."""
    upstream = registry.ancestors(name)
    return frozenset(
        chain
        for chain, outcomes in _CHAINS.items()
        if any(name == x or x in upstream or name in registry.ancestors(x) for x in outcomes if x in registry.entries)
    )


def check_scope(grid: Grid, wanted: Sequence[str]) -> None:
    """Refuse a calibration of another chain than that of every output."""
    for preset in grid.presets.get("calibration", ()):
        fits = getattr(getattr(preset, "constants", None), "fits", {})
        reached = _union(_chains_of(grid.registry, output) for output in fits if output in grid.registry.entries)
        chains = [_chains_of(grid.registry, name) for name in wanted]
        if reached and all(chains) and reached.isdisjoint(_union(chains)):
            right = " or ".join(f"calibration={chain!r}" for chain in _CHAINS if chain in _union(chains))
            raise IneffectiveInput(
                f"calibration={preset.name!r} is an estimate of {', '.join(fits)} and has no effect on "
                f"{', '.join(wanted)}: give {right}"
            )


def _union(sets: Iterable[frozenset[str]]) -> frozenset[str]:
    return frozenset().union(*sets)
