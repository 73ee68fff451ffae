"""Published training layouts with inputs, measurements and sources."""

from __future__ import annotations

import functools
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofslate._base.messages import unknown
from roofslate._base.toml import read_data
from roofslate.errors import UnknownName
from roofslate.presets.preset import Preset, fact_of

__all__ = ["TrainingRun", "left_out_runs", "training_runs"]

_FILE = Path(__file__).with_name("data") / "training_runs.toml"


@dataclass(frozen=True)
class TrainingRun:
    """A published training layout.

    Attributes
    ----------
    name : str
    inputs : mapping
        Model or its shape, hardware, layout and recipe, as inputs of any call.
    published : mapping
        Measured values by quantity, in base units. Empty if only the layout is known.
    assumed : tuple of str
        Inputs that no source states.
    note, source, date : str
    read : bool
        Whether the numbers were checked in their source.
    """

    name: str
    inputs: Mapping[str, Any]
    published: Mapping[str, float]
    assumed: tuple[str, ...]
    note: str
    source: str
    date: str
    read: bool


def training_runs(names: Iterable[str] | None = None) -> tuple[TrainingRun, ...]:
    """Return published training layouts, by default all of them.

    Parameters
    ----------
    names : iterable of str, optional

    Returns
    -------
    tuple of TrainingRun

    Raises
    ------
    UnknownName
        With the nearest names.
    """
    runs = _every_run()
    if names is None:
        return tuple(runs.values())
    chosen = [names] if isinstance(names, str) else list(names)
    for name in chosen:
        if name not in runs:
            raise (
                unknown("training run", name, runs)
                if name not in left_out_runs()
                else UnknownName(f"{name!r} has no layout to compare: {left_out_runs()[name]}")
            )
    return tuple(runs[name] for name in chosen)


def left_out_runs() -> Mapping[str, str]:
    """Return published runs without a layout to compare, and why.

    Returns
    -------
    mapping of str
    """
    return dict(_content()["left_out"])


@functools.cache
def _content() -> Mapping[str, Any]:
    return read_data(_FILE)


@functools.cache
def _every_run() -> Mapping[str, TrainingRun]:
    return {
        entry["name"]: TrainingRun(
            entry["name"],
            entry["inputs"] | ({"model": _model(entry)} if "shape" in entry else {}),
            entry["published"],
            tuple(entry["assumed"]),
            entry.get("note", ""),
            entry["source"],
            entry["date"],
            entry["read"],
        )
        for entry in _content()["run"]
    }


def _model(entry: Mapping[str, Any]) -> Preset:
    """The shape of a run's model as a preset."""
    facts = {
        name: fact_of(name, x, entry["source"], entry["date"], read=entry["read"]) for name, x in entry["shape"].items()
    }
    return Preset(entry["name"], "model", facts, origin=str(_FILE))
