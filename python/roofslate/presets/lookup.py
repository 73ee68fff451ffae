"""Presets by keyword: the catalog of each, and a preset as numbers."""

from __future__ import annotations

import functools
from collections.abc import Container, Iterator, Mapping
from typing import Any

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, PresetError
from roofslate.presets.calibration_presets import calibration_names, calibration_preset
from roofslate.presets.catalog import (
    api_prices,
    engines,
    hardware,
    loss_laws,
    models,
    prices,
    speculators,
    storage,
    workloads,
)
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
    "engine": engines,
}


@functools.lru_cache(maxsize=256)
def preset_numbers(preset: Preset) -> dict[str, float]:
    """What a preset supplies, as the engine takes it: choices by their position."""
    numbers = {
        name: float(lookup(name).choices.index(value)) if isinstance(value, str) else value
        for name, value in preset.values.items()
    }
    if preset.kind == "hardware" and "peak_flops" in numbers:  # one peak for every format
        numbers.setdefault("peak_flops_bf16", numbers["peak_flops"])
    return numbers


# Parts of a checkpoint's format: they are nothing without its main one, and leave with it.
_FORMAT_PARTS = {
    "weight_format": ("bits_per_weight", "dense_format", "dense_bytes_per_weight"),
    "bits_per_weight": ("dense_format", "dense_bytes_per_weight"),
    "bytes_per_weight": ("bits_per_weight", "dense_format", "dense_bytes_per_weight"),
    "dense_format": ("dense_bytes_per_weight",),
}


def replaced_by(explicit: Container[str], preset: Preset) -> frozenset[str]:
    """Parts of a preset's formats that explicit inputs replace together with their own."""
    if "dense_format" not in preset.values and "bits_per_weight" not in preset.values:
        return frozenset()
    return frozenset(part for name, parts in _FORMAT_PARTS.items() if name in explicit for part in parts)


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
