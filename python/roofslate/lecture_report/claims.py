"""Registers: where the lecture, its retellings and fact differ, and what it claims; the numbers computed anew."""

from __future__ import annotations

import functools
import math
import sys
from pathlib import Path
from typing import Any

from roofslate._base.messages import unknown
from roofslate.lecture_report.entries import entries_of
from roofslate.measured.stored import compute

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd

__all__ = ["claims", "inconsistencies", "inconsistencies_shown", "text_of"]

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
        values = tuple(compute(call) for call in entry["computed"])
        texts = tuple(text_of(call, value) for call, value in zip(entry["computed"], values, strict=True))
        row = (entry["chapter"], entry["topic"], tuple(entry["claims"]), texts, values, entry["why"])
        rows.append(row)
    index = pd.Index([entry["id"] for entry in entries], name="entry")
    return pd.DataFrame(rows, index=index, columns=["chapter", "topic", "claims", "computed", "values", "why"])


def inconsistencies_shown() -> float:
    """Entries of the register that show at least two sides, computed or quoted, a number.

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
    rows = []
    for entry in _claims():
        if kind is not None and entry["kind"] != kind:
            continue
        values = tuple(compute(call) for call in entry["computed"])
        texts = tuple(text_of(call, value) for call, value in zip(entry["computed"], values, strict=True))
        rows.append((*(entry[name] for name in ("kind", "claim", "who", "date", "standing", "checked")), texts, values))
    columns = ["kind", "claim", "who", "date", "standing", "checked", "computed", "values"]
    return pd.DataFrame(rows, columns=columns)


def text_of(call: Mapping[str, Any], value: float) -> str:
    """Text of a stored call and what it gave, such as ``"a byte: 562.5 MAC/B"``.

    Parameters
    ----------
    call : mapping
        `label` and `unit`.
    value : float
        In that unit.

    Returns
    -------
    str
    """
    number = f"{value:,.0f}" if math.isfinite(value) and 1e4 <= abs(value) < 1e9 else f"{value:,.5g}"
    unit = "" if call["unit"] == "1" else " " + call["unit"]
    return f"{call['label']}: {number}{unit}"


@functools.cache
def _claims() -> list[dict[str, Any]]:
    path = Path(__file__).with_name("data") / "claims.toml"
    found: list[dict[str, Any]] = tomllib.loads(path.read_text(encoding="utf-8"))["claim"]
    return found
