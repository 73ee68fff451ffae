"""Data on the lecture: entries by chapter, and the calls stored in them."""

from __future__ import annotations

import functools
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate._base.toml import read_data
from roofslate.errors import ValueRangeError
from roofslate.measured.stored import compute

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["chapter_files", "chapters_of", "computed", "entries_of", "listed"]

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
    """Compute stored calls: their results as texts, such as ``"a byte: 562.5 MAC/B"``, and as numbers.

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


def _text(call: Mapping[str, Any], x: float) -> str:
    number = f"{x:,.0f}" if math.isfinite(x) and 1e4 <= abs(x) < 1e9 else f"{x:,.5g}"
    unit = "" if call["unit"] == "1" else " " + call["unit"]
    return f"{call['label']}: {number}{unit}"
