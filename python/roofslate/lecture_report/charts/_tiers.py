"""Devices, looks and time labels shared by the charts of memory tiers."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping
from typing import Any

from roofslate.display import style
from roofslate.errors import InputTypeError, ValueRangeError
from roofslate.plotting.chart import filled, number
from roofslate.presets.catalog import storage
from roofslate.presets.preset import Preset

__all__ = ["RECOMPUTE", "TIERS", "cheapest_ways", "device_of", "find_tier", "looks_of", "named_tiers", "scenario"]

TIERS = {"HBM": "HBM", "DDR": "DDR", "flash": "NVMe", "disk": "HDD"}
RECOMPUTE = "recompute"

_LOOKS: dict[str, dict[str, Any]] = {
    "HBM": {"color": "#0072B2", "linestyle": "-", "marker": "o"},
    "DDR": {"color": "#A84A00", "linestyle": "--", "marker": "s"},
    "flash": {"color": "#00795A", "linestyle": "-.", "marker": "^"},
    "disk": {"color": "#A0467E", "linestyle": (0, (7, 2)), "marker": "D"},
    RECOMPUTE: {"color": "#555555", "linestyle": ":", "marker": "X"},
}


def find_tier(tier: str | Preset) -> Preset:
    if isinstance(tier, str):
        return storage[tier]
    if not isinstance(tier, Preset) or tier.kind != "storage":
        raise InputTypeError(f"tiers: a tier is the name of a storage preset or the preset itself, got {tier!r}")
    return tier


def named_tiers(tiers: Any) -> dict[str, Preset]:
    """Presets of tiers by label, the keys of a mapping or the preset names."""
    if isinstance(tiers, Mapping):
        presets = {str(label): find_tier(tier) for label, tier in tiers.items()}
    elif isinstance(tiers, (str, Preset)) or not isinstance(tiers, Iterable):
        presets = {find_tier(tiers).name: find_tier(tiers)}
    else:
        presets = {preset.name: preset for preset in map(find_tier, tiers)}
    if not presets:
        raise ValueRangeError("tiers: a chart of tiers needs one at least, got none")
    return presets


def scenario(inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Complete inputs by the lecture's model on its chip, rented at its price."""
    lecture = {"model": "lecture", "hardware": "B200 (lecture)", "prices": "lecture"}
    return filled(inputs, {keyword: {keyword: name} for keyword, name in lecture.items()})


_CHIP = {"tier_capacity": "hbm_capacity", "tier_bandwidth": "hbm_bandwidth", "tier_price": "chip_price"}


def device_of(preset: Preset, inputs: Mapping[str, Any], names: Collection[str] = tuple(_CHIP)) -> dict[str, Any]:
    """Capacity, bandwidth and price of a device, for HBM of the chip."""
    if preset.name != "HBM":
        return dict(preset.values)
    return {name: number(source, **inputs) for name, source in _CHIP.items() if name in names}


def cheapest_ways(
    devices: Mapping[str, Mapping[str, Any]], inputs: Mapping[str, Any]
) -> dict[str, tuple[float, float]]:
    """List the cheapest ways by hold time, each with its start and cost."""

    def cost(option: str, hold_time: float) -> float:
        if option == RECOMPUTE:
            return number("recompute_cost", **inputs)
        return number("tier_cost", **{**inputs, **devices[option], "hold_time": hold_time})

    # of equal costs at zero, the one that is cheaper a little later
    cheapest = min([*devices, RECOMPUTE], key=lambda label: (cost(label, 0), cost(label, 1)))
    order = {cheapest: (0.0, cost(cheapest, 0))}
    while cheapest != RECOMPUTE:
        current = {**inputs, **devices[cheapest]}
        later = {RECOMPUTE: number("tier_recompute_hold_time", **current)}
        for label in devices.keys() - order.keys():
            slower = {f"slower_{name}": x for name, x in devices[label].items()}
            later[label] = number("tier_switch_time", **{**current, **slower})
        later = {label: t for label, t in later.items() if t < math.inf}
        if not later:
            break
        cheapest = min(later, key=lambda label: later[label])
        order[cheapest] = (later[cheapest], cost(cheapest, later[cheapest]))
    return order


def looks_of(labels: Iterable[str]) -> dict[str, dict[str, Any]]:
    """Look of each way to have a KV cache, fixed or the next free one."""
    labels = list(labels)
    spare = iter(style.styles(len(labels) + 1)[1:])
    return {label: _LOOKS[label] if label in _LOOKS else next(spare) for label in labels}
