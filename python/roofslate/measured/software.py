"""Software of measured runs: its age, and launch options of published scripts."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.toml import read_data
from roofslate.presets.frameworks import LAUNCH_OPTIONS, PREFILL, framework_name, prefill_choices

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import pandas as pd

    from roofslate.presets.fits import Values
    from roofslate.presets.preset import Preset

__all__ = ["LIKELY", "RELEASE", "SUGGESTED", "drafts", "receive_intervals", "release_ages", "schedules"]

RELEASE = "2026-03-01"  # ages of software count from here: the newest that the shipped tables measured
_DAYS_OF_A_MONTH = 30.4
# Drafts of runs without details. After prompts of random tokens, as benchmarks send them, half of the draft tokens are
# accepted, by 210 runs of InferenceX, after texts 0.8 to 0.9. A draft is one layer of 61 and the head.
_ACCEPTED, _DRAFT_COST = 0.5, 0.04
# Sequences of equal length that began together end together if prompts are read first, and their clients send again.
# No label says whether lengths were equal. Of the 130 measured rows with whole numbers of tokens on these engines, 84
# wait in proportion to the number of clients, as in lockstep, and 46 as after random arrivals.
_IN_LOCKSTEP = 84 / 130
# Inputs by labels, unless a caller gives them. Lower bounds take none of the first.
LIKELY = {"lockstep_share", *PREFILL}
SUGGESTED = {*LIKELY, "receive_interval", "release_age"}


@functools.cache
def _entries() -> tuple[Mapping[str, Any], ...]:
    return tuple(read_data(LAUNCH_OPTIONS)["option"])


def _launch_options(name: str, rows: Mapping[str, Sequence[Any]], concurrency: Values, default: float) -> Values:
    """Return an option's values in published scripts by row, with a default.

    Parameters
    ----------
    name : str
        The input for the option: ``"receive_interval"``.
    rows : mapping of str to sequence
        Framework, model, hardware, weight_format, and attention_data_parallel of each row. A missing name matches any.
    concurrency : numpy.ndarray
        Clients of each row.
    default : float

    Returns
    -------
    numpy.ndarray
    """
    values = np.full(len(concurrency), default)
    for entry in _entries():
        if entry["name"] != name:
            continue
        fits = np.ones(len(concurrency), dtype=bool)
        for column, cells in rows.items():
            if column in entry:
                allowed = entry[column] if isinstance(entry[column], list) else [entry[column]]
                fits &= np.array([cell in allowed for cell in cells])
        for step in entry["values"]:
            values[fits & (concurrency >= step["from"])] = step["value"]
    return values


def release_ages(days: pd.Series) -> Values:
    """Return months from each run to the reference date of ages, 0 if unknown.

    A date after the reference counts as at most a month, as no row shows further speed-ups.
    """
    import pandas as pd

    days_before = (pd.Timestamp(RELEASE) - pd.to_datetime(days, errors="coerce")).dt.days
    return np.asarray((days_before / _DAYS_OF_A_MONTH).fillna(0.0).clip(lower=-1.0), dtype=np.float64)


def receive_intervals(frameworks: pd.Series, inputs: Mapping[str, Any], formats: Sequence[str]) -> Values:
    """Return each row's interval between receptions of requests, by published scripts."""
    return _launch_options("receive_interval", *_labels(frameworks, inputs, formats), default=1.0)


def schedules(table: pd.DataFrame, inputs: Mapping[str, Any], policy: str | None) -> dict[str, Any]:
    """Return inputs that follow from the engine: how prompts are scheduled and started.

    An input is missing if no row differs from the usual choice. `policy` is the same for all rows.
    """
    choices = _choices(table, inputs["model"])
    return choices | _lockstep(table, {**choices, **inputs}, policy)


def _choices(table: pd.DataFrame, models: Sequence[Preset]) -> dict[str, list[str]]:
    if "framework" not in table.columns:
        return {}
    versions = table["framework_version"] if "framework_version" in table.columns else [None] * len(table)
    engines = [framework_name(x) if isinstance(x, str) else "" for x in table["framework"]]
    texts = [x if isinstance(x, str) else None for x in versions]
    latent = [float(model.values.get("kv_latent_size", 0)) > 0 for model in models]
    rows = [prefill_choices(*row[:2], latent=row[2]) for row in zip(engines, texts, latent, strict=True)]
    every = {name: [row[name] for row in rows] for name in PREFILL}
    return {name: words for name, words in every.items() if {*words} != {PREFILL[name]}}


def _lockstep(table: pd.DataFrame, inputs: Mapping[str, Any], policy: str | None) -> dict[str, Values]:
    """Return the likely share of clients in lockstep by row, if it is not 0 in all.

    Whole numbers of tokens may be equal lengths, drawn lengths have a broken mean.
    """
    if "framework" not in table.columns or not {"concurrency", "input_tokens", "output_tokens"} <= {*inputs}:
        return {}
    policies = [policy] * len(table) if policy else inputs.get("prompt_policy", ["chunked"] * len(table))
    first = np.array([policy == "first" for policy in policies], dtype=bool)
    lengths = np.array([inputs["input_tokens"], inputs["output_tokens"]], dtype=float)
    equal = (lengths == np.floor(lengths)).all(axis=0)
    aggregated = np.array([mode == "aggregated" for mode in inputs.get("serving_mode", ["aggregated"] * len(equal))])
    shares = np.where(first & equal & aggregated, _IN_LOCKSTEP, 0.0)
    return {"lockstep_share": shares} if shares.any() else {}


def drafts(
    frameworks: pd.Series, inputs: Mapping[str, Any], formats: Sequence[str], drafting: Any
) -> dict[str, Values]:
    """Return draft inputs for rows that ran with drafts, by published scripts."""
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
    """Return the labels that launch options depend on."""
    rows = {
        "framework": [framework_name(x) if isinstance(x, str) else "" for x in frameworks],
        "model": [preset.name for preset in inputs["model"]],
        "hardware": [preset.name for preset in inputs["hardware"]],
        "weight_format": formats,
        "attention_data_parallel": inputs.get("attention_data_parallel", [1] * len(frameworks)),
    }
    return rows, np.asarray(inputs["concurrency"], dtype=float)
