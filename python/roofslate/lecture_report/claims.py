"""Registers of the lecture: inconsistencies between sources, and claims; their numbers computed."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate._base.messages import unknown
from roofslate.lecture_report.entries import computed, entries_of, listed

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["claims", "inconsistencies", "inconsistencies_shown"]

_KINDS = ("mental model", "prediction", "claim")


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
        sides = tuple(entry["claims"])
        rows.append((entry["chapter"], entry["topic"], sides, *computed(entry["computed"]), entry["why"]))
    index = pd.Index([entry["id"] for entry in entries], name="entry")
    return pd.DataFrame(rows, index=index, columns=["chapter", "topic", "claims", "computed", "values", "why"])


def inconsistencies_shown() -> float:
    """Count the entries that show at least two sides, computed or quoted.

    Returns
    -------
    float
    """
    return float(
        sum(max(len(entry["claims"]), len(entry["computed"])) >= 2 for entry in entries_of("inconsistencies", None))
    )


def claims(kind: str | None = None) -> pd.DataFrame:
    """The lecture's mental models, predictions and dated claims, each with its present standing.

    Parameters
    ----------
    kind : {"mental model", "prediction", "claim"}, optional
        Only these.

    Returns
    -------
    pandas.DataFrame
        Columns `kind`, `claim`, `who`, `date` (when it was said), `standing` (what is to be said of it), `checked`
        (when), `computed` (what bears on it, as texts) and `values` (the same as numbers). Two of them are tuples.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.claims("prediction")["claim"].iloc[0]
    'sparse attention spreads'
    """
    import pandas as pd

    if kind is not None and kind not in _KINDS:
        raise unknown("kind of claim", kind, _KINDS)
    said = ["kind", "claim", "who", "date", "standing", "checked"]
    rows = [
        (*(entry[name] for name in said), *computed(entry["computed"]))
        for entry in _claims()
        if kind in (None, entry["kind"])
    ]
    return pd.DataFrame(rows, columns=[*said, "computed", "values"])


def _claims() -> list[dict[str, Any]]:
    return listed("claims.toml", "claim")
