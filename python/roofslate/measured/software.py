"""Software of measured runs: how old it is, and launch options of published scripts for rows that do not say theirs."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.toml import read_data
from roofslate.presets.frameworks import framework_name

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from roofslate.presets.fits import Values

__all__ = ["RELEASE", "drafts", "receive_intervals", "release_ages"]

RELEASE = "2026-03-01"  # ages of software count from here: the newest that the shipped tables measured
_DAYS_OF_A_MONTH = 30.4
# Drafts of runs that say no more than that they had some. After prompts of random tokens, as benchmarks send them, half
# of what is drafted is accepted, by 210 runs of InferenceX; after texts 0.8 to 0.9. A draft is one layer of 61 and the
# head.
_ACCEPTED, _DRAFT_COST = 0.5, 0.04
_FILE = Path(__file__).parent.parent / "presets" / "data" / "launch_options.toml"


@functools.cache
def _entries() -> tuple[Mapping[str, Any], ...]:
    return tuple(read_data(_FILE)["option"])


def _launch_options(name: str, rows: Mapping[str, Sequence[Any]], concurrency: Values, default: float) -> Values:
    """What published scripts set for rows, or the default where none is known.

    Parameters
    ----------
    name : str
        The input that stands for the option: ``"receive_interval"``.
    rows : mapping of str to sequence
        What each row has as framework, model, hardware, weight_format and attention_data_parallel; a name that is not
        here is taken to fit.
    concurrency : numpy.ndarray
        Clients of each row.
    default : float

    Returns
    -------
    numpy.ndarray
    """
    found = np.full(len(concurrency), default)
    for entry in _entries():
        if entry["name"] != name:
            continue
        fits = np.ones(len(concurrency), dtype=bool)
        for column, cells in rows.items():
            if column in entry:
                allowed = entry[column] if isinstance(entry[column], list) else [entry[column]]
                fits &= np.array([cell in allowed for cell in cells])
        for step in entry["values"]:
            found[fits & (concurrency >= step["from"])] = step["value"]
    return found


def release_ages(days: pd.Series) -> Values:
    """Months from the day of each run to the date that ages count from; 0 where it is not said.

    What is newer than a month counts as a month newer: no row shows how much quicker software still becomes.
    """
    import pandas as pd

    apart = (pd.Timestamp(RELEASE) - pd.to_datetime(days, errors="coerce")).dt.days
    return np.asarray((apart / _DAYS_OF_A_MONTH).fillna(0.0).clip(lower=-1.0), dtype=np.float64)


def receive_intervals(frameworks: pd.Series, inputs: Mapping[str, Any], formats: Sequence[str]) -> Values:
    """How often the scheduler of each row looks for new requests, as far as published scripts say it."""
    return _launch_options("receive_interval", *_labels(frameworks, inputs, formats), default=1.0)


def drafts(
    frameworks: pd.Series, inputs: Mapping[str, Any], formats: Sequence[str], drafting: Any
) -> dict[str, Values]:
    """Inputs of drafts for the rows that ran with some, as far as published scripts say how long they are."""
    lengths = _launch_options("draft_length", *_labels(frameworks, inputs, formats), default=0.0)
    lengths = np.where(drafting, lengths, 0.0)
    some = lengths > 0
    return {
        "draft_length": lengths,
        "acceptance_rate": np.where(some, _ACCEPTED, 1.0),
        "draft_cost": np.where(some, _DRAFT_COST, 0.0),
    }


def _labels(
    frameworks: pd.Series, inputs: Mapping[str, Any], formats: Sequence[str]
) -> tuple[dict[str, Sequence[Any]], Values]:
    """What launch options depend on."""
    rows = {
        "framework": [framework_name(x) if isinstance(x, str) else "" for x in frameworks],
        "model": [preset.name for preset in inputs["model"]],
        "hardware": [preset.name for preset in inputs["hardware"]],
        "weight_format": formats,
        "attention_data_parallel": inputs.get("attention_data_parallel", [1] * len(frameworks)),
    }
    return rows, np.asarray(inputs["concurrency"], dtype=float)
