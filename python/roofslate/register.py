"""The register of inconsistencies: where the lecture, its retellings and fact differ, the numbers computed anew."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.checklist import compute, entries_of

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["inconsistencies"]


def inconsistencies(chapter: int | None = None) -> pd.DataFrame:
    """Where the lecture, those who retell it and published fact differ, and what follows from each.

    Parameters
    ----------
    chapter : int, optional
        Only what this chapter of the lecture meets.

    Returns
    -------
    pandas.DataFrame
        Index `entry`; columns `chapter`, `topic`, `claims` (who says what), `computed` (what follows, as texts),
        `values` (the same as numbers), `why` (how the package takes it). Three of them are tuples.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.inconsistencies().loc["I4", "computed"]
    ('a byte: 562.5 MAC/B', 'an FP4 weight: 281.25 tok')
    """
    import pandas as pd

    entries = entries_of("inconsistencies", chapter)
    rows = []
    for entry in entries:
        values = tuple(compute(call) for call in entry["computed"])
        texts = tuple(_text(call, value) for call, value in zip(entry["computed"], values, strict=True))
        row = (entry["chapter"], entry["topic"], tuple(entry["claims"]), texts, values, entry["why"])
        rows.append(row)
    index = pd.Index([entry["id"] for entry in entries], name="entry")
    return pd.DataFrame(rows, index=index, columns=["chapter", "topic", "claims", "computed", "values", "why"])


def _text(call: dict[str, Any], value: float) -> str:
    number = f"{value:,.0f}" if math.isfinite(value) and 1e4 <= abs(value) < 1e9 else f"{value:,.5g}"
    unit = "" if call["unit"] == "1" else " " + call["unit"]
    return f"{call['label']}: {number}{unit}"
