"""Data on the lecture: entries by chapter, and the calls stored in them."""

from __future__ import annotations

import functools
import math
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from roofslate._base.messages import unknown
from roofslate._base.toml import read_data
from roofslate.errors import IneffectiveInput, MissingInput, ValueRangeError
from roofslate.measured.stored import compute
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.registry.registry import ancestors, entries

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = [
    "Recomputed",
    "chapter_files",
    "chapters_of",
    "check_inputs",
    "computed",
    "entries_of",
    "listed",
    "recomputed",
]

_DATA = Path(__file__).with_name("data")


@functools.cache
def chapter_files(folder: str) -> dict[int, dict[str, Any]]:
    """Read the files of a folder of data, by chapter."""
    contents = map(read_data, sorted((_DATA / folder).glob("chapter_*.toml")))
    return {content["chapter"]: content for content in contents}


def chapters_of(folder: str, chapter: int | None) -> list[dict[str, Any]]:
    """List the files of a folder of data, of all chapters or of one.

    Parameters
    ----------
    folder : str
        ``"answers"``, ``"inconsistencies"`` or ``"report"``.
    chapter : int or None

    Returns
    -------
    list of dict

    Raises
    ------
    ValueRangeError
        If the folder has no file of that chapter.
    """
    known = chapter_files(folder)
    if chapter is None:
        return list(known.values())
    if chapter not in known:
        raise ValueRangeError(f"chapter must be one of {', '.join(map(str, known))}, got {chapter!r}")
    return [known[chapter]]


def entries_of(folder: str, chapter: int | None) -> list[dict[str, Any]]:
    """List the entries of a folder of data, of all chapters or of one.

    Parameters
    ----------
    folder : str
        ``"answers"`` or ``"inconsistencies"``.
    chapter : int or None

    Returns
    -------
    list of dict
        With the `chapter` of each.

    Raises
    ------
    ValueRangeError
        If the folder has no file of that chapter.
    """
    contents = chapters_of(folder, chapter)
    return [{"chapter": content["chapter"], **entry} for content in contents for entry in content["entry"]]


@functools.cache
def listed(file: str, key: str) -> list[dict[str, Any]]:
    """Read the entries of a file, under a key of TOML."""
    entries: list[dict[str, Any]] = read_data(_DATA / file)[key]
    return entries


def computed(calls: Iterable[Mapping[str, Any]]) -> tuple[tuple[str, ...], tuple[float, ...]]:
    """Compute stored calls, and return their results as texts and as numbers.

    A text is for example ``"a byte: 562.5 MAC/B"``.

    Parameters
    ----------
    calls : iterable of mapping
        With a `label` each.

    Returns
    -------
    texts : tuple of str
    values : tuple of float
        In the unit of each call.
    """
    values = [(call, compute(call)) for call in calls]
    return tuple(_text(call, x) for call, x in values), tuple(x for _, x in values)


class Recomputed(NamedTuple):
    """Stored calls with given inputs: texts, numbers, and effective inputs."""

    texts: tuple[str, ...]
    values: tuple[float, ...]
    changing: frozenset[str]


def check_inputs(inputs: Mapping[str, Any]) -> None:
    """Refuse names that are neither quantities nor keywords of presets."""
    for name in inputs:
        if name not in entries() and name not in PRESETS:
            raise unknown("input", name, [*PRESETS, *entries()])


def recomputed(calls: Iterable[Mapping[str, Any]], inputs: Mapping[str, Any]) -> Recomputed:
    """Compute stored calls with a caller's inputs in the place of theirs.

    Parameters
    ----------
    calls : iterable of mapping
        With a `label` each.
    inputs : mapping
        Of the registry. A preset also replaces the stored numbers that it supplies.

    Returns
    -------
    Recomputed
    """
    texts, values, changing = [], [], set()
    for call in calls:
        before, given = compute(call), _taken_by(call, inputs)
        value, text = before, _text(call, before)
        if given:
            try:
                value = _computed_with(call, given)
                text = _text(call, value)
            except (IneffectiveInput, MissingInput) as error:
                reason = re.split(r" \(|; ", str(error))[0]
                value, text = math.nan, f"{call['label']}: no value ({reason})"
        if value != before:
            changing |= _acting(call, given, value)
        texts.append(text)
        values.append(value)
    return Recomputed(tuple(texts), tuple(values), frozenset(changing))


def _taken_by(call: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Any]:
    """Inputs that the quantity of a stored call may take."""
    quantity = call["quantity"]
    if quantity not in entries():
        return {}
    takes = {quantity, *ancestors(quantity)}
    return {
        name: x
        for name, x in inputs.items()
        if name in takes or (name in PRESETS and takes & find_preset(name, x).values.keys())
    }


def _computed_with(call: Mapping[str, Any], inputs: Mapping[str, Any]) -> float:
    """Compute a stored call with given inputs, and drop blocked stored inputs."""
    presets = [find_preset(keyword, x) for keyword, x in inputs.items() if keyword in PRESETS]
    supplied = {name for preset in presets for name in preset.values} | inputs.keys()
    stored = {name: x for name, x in call["inputs"].items() if name not in supplied}
    try:
        return compute({**call, "inputs": {**stored, **inputs}})
    except IneffectiveInput as error:
        blocked = re.match(r"'(\w+)' has no effect", str(error))
        if blocked is None or blocked[1] not in stored:
            raise
    del stored[blocked[1]]
    return _computed_with({**call, "inputs": stored}, inputs)


def _acting(call: Mapping[str, Any], inputs: Mapping[str, Any], value: float) -> set[str]:
    """Select inputs without which a call gives another number."""
    if len(inputs) == 1:
        return set(inputs)
    acting = set()
    for name in inputs:
        remaining = {other: x for other, x in inputs.items() if other != name}
        try:
            if _computed_with(call, remaining) != value:
                acting.add(name)
        except (IneffectiveInput, MissingInput):
            acting.add(name)
    return acting


def _text(call: Mapping[str, Any], x: float) -> str:
    number = f"{x:,.0f}" if math.isfinite(x) and 1e4 <= abs(x) < 1e9 else f"{x:,.5g}"
    unit = "" if call["unit"] == "1" else " " + call["unit"]
    return f"{call['label']}: {number}{unit}"
