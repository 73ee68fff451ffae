"""`rs.answers`: the lecture's numbers and the computed ones."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from roofslate.lecture_report.claims import inconsistencies_shown
from roofslate.lecture_report.entries import entries_of
from roofslate.lecture_report.flashcards import cards_that_hold
from roofslate.measured.stored import TOLERANCE, compute

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["answers"]

# Counts of this package, by quantity of an answer.
_COUNTS = {"cards.cards_that_hold": cards_that_hold, "register.inconsistencies_shown": inconsistencies_shown}


def answers(chapter: int | None = None) -> pd.DataFrame:
    """List every number of the lecture's systems with the computed one.

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
        count = _COUNTS.get(row["quantity"])
        ours = compute(row) if count is None else count()
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
