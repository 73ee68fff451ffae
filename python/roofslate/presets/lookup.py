"""Presets by keyword: the catalog of each, and a preset as numbers."""

from __future__ import annotations

import functools
from typing import Any

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, PresetError
from roofslate.presets.catalog import hardware, loss_laws, models, prices
from roofslate.presets.preset import Preset
from roofslate.registry.registry import lookup

PRESETS = {
    "model": models,
    "hardware": hardware,
    "prices": prices,
    "loss_law": loss_laws,
}


@functools.lru_cache(maxsize=256)
def preset_numbers(preset: Preset) -> dict[str, float]:
    """What a preset supplies, as the engine takes it: choices by their position."""
    return {
        name: float(lookup(name).choices.index(value)) if isinstance(value, str) else value
        for name, value in preset.values.items()
    }


def find_preset(keyword: str, given: Any) -> Preset:
    """The preset that a word names, or the preset itself."""
    if isinstance(given, Preset):
        if given.kind != keyword:
            raise PresetError(f"{keyword}: {given.name!r} is a preset for {given.kind}=")
        return given
    if isinstance(given, str):
        return PRESETS[keyword][given]
    raise InputTypeError(f"{keyword}: expected the name of a preset, a preset or a list of them, got {shown(given)}")
