"""Presets by keyword: the catalog of each, a preset as numbers, and the prices of a day."""

from __future__ import annotations

import functools
import os
from collections.abc import Container, Iterator, Mapping
from typing import Any, NoReturn

import numpy as np

from roofslate._base.messages import shown
from roofslate.errors import AxisError, IneffectiveInput, InputTypeError, PresetError
from roofslate.presets.calibration_presets import calibration_names, calibration_preset
from roofslate.presets.catalog import (
    AS_OF,
    api_prices,
    engines,
    hardware,
    loss_laws,
    models,
    prices,
    sites,
    speculators,
    storage,
    workloads,
)
from roofslate.presets.local_models import model_named
from roofslate.presets.preset import Preset
from roofslate.presets.validity import day_of
from roofslate.registry.registry import lookup
from roofslate.registry.words import DAY


class _Calibrations(Mapping[str, Preset]):
    """Calibrations by name. Their files are read on request."""

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
    "site": sites,
    "engine": engines,
}

_CATALOGS = {"prices": prices, "api_prices": api_prices}  # whose entries follow each other
PRICED = tuple(_CATALOGS)


@functools.lru_cache(maxsize=256)
def preset_numbers(preset: Preset) -> dict[str, float]:
    """Return the values of a preset as the engine takes them, choices by position."""
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
    if keyword == "model" and isinstance(given, (str, os.PathLike)):
        return model_named(given)
    if isinstance(given, str):
        return PRESETS[keyword][given]
    raise InputTypeError(f"{keyword}: expected the name of a preset, a preset or a list of them, got {shown(given)}")


def is_of_file(keyword: str, given: str) -> bool:
    """Return True for a model outside of the catalog, whose file may be read with a warning."""
    return keyword == "model" and models.named(given) is None


def on_day(keyword: str, given: Any, day: Any) -> Any:
    """Return the price entries in force on a day, in the form of the given names.

    A list of days makes an axis ``as_of`` of the entries of one price.
    """
    if isinstance(day, (list, tuple, np.ndarray)):
        import pandas as pd

        if not isinstance(given, (str, Preset)):
            raise AxisError(f"{DAY}: a list of days goes with one price, got {shown(given)} for {keyword}=")
        days = [_checked_day(one) for one in day]
        if not days:
            raise AxisError(f"{DAY}: an empty list; give one or more days, such as '2026-03-01'")
        return pd.Series([on_day(keyword, given, one) for one in days], index=pd.Index(days, name=DAY))
    day = _checked_day(day)
    if isinstance(given, (list, np.ndarray)) and np.ndim(given):
        return [on_day(keyword, one, day) for one in given]
    if hasattr(given, "map") and getattr(given, "ndim", 0) == 1:
        return given.map(lambda one: on_day(keyword, one, day))
    if hasattr(given, "dims") and getattr(given, "ndim", 0) == 1:
        return given.copy(data=np.array([on_day(keyword, one, day).name for one in given.to_numpy()], dtype=object))
    if isinstance(given, str) and AS_OF in given and not given.endswith(AS_OF + day):
        raise PresetError(f"{keyword}: {given!r} names a day, and {DAY}={day!r} another one: give one of them")
    return _CATALOGS[keyword].as_of(find_preset(keyword, given), day)


def dated(inputs: dict[str, Any], *, acts: bool = False) -> dict[str, Any]:
    """Replace the prices of a scenario by the entries of its day, and take the day out.

    Parameters
    ----------
    inputs : dict
        Inputs of a call with ``as_of``; changed in place.
    acts : bool
        Whether the day acts on more than the inputs: it then stays, and may find no price among them.

    Raises
    ------
    IneffectiveInput
        For a day without prices.
    PresetError
        For a day outside of the validity of a price, naming the nearest entry, and for an invalid day.
    """
    named = [keyword for keyword in PRICED if keyword in inputs]
    if not named and not acts:
        refuse_day()
    for keyword in named:
        inputs[keyword] = on_day(keyword, inputs[keyword], inputs[DAY])
    if not acts:
        del inputs[DAY]
    return inputs


def refuse_day() -> NoReturn:
    """Refuse a day in a call without prices."""
    given = " or ".join(f"{keyword}=" for keyword in PRICED)
    raise IneffectiveInput(f"{DAY} has no effect: it selects the entry of a price, give {given}")


def _checked_day(day: Any) -> str:
    """Return a day as text, or raise an error with the keyword."""
    try:
        return day_of(day)
    except PresetError as error:
        raise PresetError(f"{DAY}: {error}") from None
