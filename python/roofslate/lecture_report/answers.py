"""`rs.answers`: numbers of the lecture beside those computed."""

from __future__ import annotations

import functools
import math
import sys
from pathlib import Path
from typing import Any

from roofslate.errors import ValueRangeError
from roofslate.measured.stored import TOLERANCE, compute

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["answers"]


def answers(chapter: int | None = None) -> pd.DataFrame:
    """Every number that the lecture's systems must give, beside ours.

    Parameters
    ----------
    chapter : int, optional
        Only the systems of this chapter of the lecture.

    Returns
    -------
    pandas.DataFrame
        Columns `system` (its number), `question`, `lecture` and `ours` (in `unit`; inf: never), `unit`, `tolerance`
        (relative), `verdict` ("holds" or "fails"), `quantity` and `inputs` (the call that gave ours).

    Examples
    --------
    >>> import roofslate as rs
    >>> set(rs.answers()["verdict"])
    {'holds'}
    """
    import pandas as pd

    rows = []
    for row in entries_of("answers", chapter):
        ours = compute(row)
        tolerance = row.get("tolerance", TOLERANCE)
        holds = math.isclose(ours, row["lecture"], rel_tol=tolerance)
        rows.append(
            {
                "system": row["system"],
                "question": row["question"],
                "lecture": float(row["lecture"]),
                "ours": ours,
                "unit": row["unit"],
                "tolerance": tolerance,
                "verdict": "holds" if holds else "fails",
                "quantity": row["quantity"],
                "inputs": dict(row["inputs"]),
            }
        )
    return pd.DataFrame(rows)


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
