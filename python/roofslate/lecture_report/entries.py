"""Entries of the data on the lecture, a file for each chapter."""

from __future__ import annotations

import functools
import sys
from pathlib import Path
from typing import Any

from roofslate.errors import ValueRangeError

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["entries_of"]


def entries_of(folder: str, chapter: int | None) -> list[dict[str, Any]]:
    """Entries of a folder of data, of all chapters or of one.

    Parameters
    ----------
    folder : str
        ``"answers"`` or ``"inconsistencies"``.
    chapter : int or None

    Returns
    -------
    list of dict

    Raises
    ------
    ValueRangeError
        If there is nothing of that chapter.
    """
    by_chapter = _read(folder)
    if chapter is None:
        return [entry for entries in by_chapter.values() for entry in entries]
    if chapter not in by_chapter:
        raise ValueRangeError(f"chapter must be one of {', '.join(map(str, by_chapter))}, got {chapter!r}")
    return by_chapter[chapter]


@functools.cache
def _read(folder: str) -> dict[int, list[dict[str, Any]]]:
    """Entries by chapter: each file of the folder holds those of one."""
    found = {}
    for path in sorted((Path(__file__).with_name("data") / folder).glob("chapter_*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        found[content["chapter"]] = [{"chapter": content["chapter"], **entry} for entry in content["entry"]]
    return found
