"""Presets by keyword: the catalog of each, and a preset as numbers."""

from __future__ import annotations

import functools
from collections.abc import Iterator, Mapping
from typing import Any

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, PresetError
from roofslate.presets.calibration_presets import calibration_names, calibration_preset
from roofslate.presets.catalog import api_prices, hardware, loss_laws, models, prices, speculators, storage, workloads
from roofslate.presets.preset import Preset
from roofslate.registry.registry import lookup


class _Calibrations(Mapping[str, Preset]):
    """Calibrations by name; their files are read when one is asked for."""

    def __getitem__(self, name: str) -> Preset:
        return find_preset("calibration", name)

    def __contains__(self, name: object) -> bool:
        return name in list(self)

    def __iter__(self) -> Iterator[str]:
        return iter(calibration_names())

    def __len__(self) -> int:
        return len(list(iter(self)))


PRESETS: dict[str, Mapping[str, Preset]] = {
    "model": models,
    "hardware": hardware,
    "prices": prices,
    "loss_law": loss_laws,
    "calibration": _Calibrations(),
    "storage": storage,
    "api_prices": api_prices,
    "speculator": speculators,
    "workload": workloads,
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
    if keyword == "calibration" and not (isinstance(given, Preset) and given.kind != keyword):
        return calibration_preset(given)
    if isinstance(given, Preset):
        if given.kind != keyword:
            raise PresetError(f"{keyword}: {given.name!r} is a preset for {given.kind}=")
        return given
    if isinstance(given, str):
        return PRESETS[keyword][given]
    raise InputTypeError(f"{keyword}: expected the name of a preset, a preset or a list of them, got {shown(given)}")
