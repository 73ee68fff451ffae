"""The lecture's numbers beside ours: each system's answers, computed when they are asked for."""

from __future__ import annotations

import functools
import importlib
import math
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate import schedules, units
from roofslate.errors import ValueRangeError
from roofslate.evaluation import value
from roofslate.registry import lookup

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["answers", "compute"]

_TOLERANCE = 0.005


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
        tolerance = row.get("tolerance", _TOLERANCE)
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


def compute(call: Mapping[str, Any]) -> float:
    """Result of a stored call, in its unit.

    Parameters
    ----------
    call : mapping
        `quantity`, or ``module.function`` of the package; `inputs`; `unit`; of a function that returns a table the
        `statistic`, such as ``"last flipped"``: first, last, min, max, mean or sum, and the column.

    Returns
    -------
    float
    """
    quantity, inputs = call["quantity"], call["inputs"]
    if quantity in _SIMULATED:
        result, unit = _SIMULATED[quantity](call.get("statistic", ""), inputs)
    elif "." in quantity:
        result, unit = _from_function(quantity, call.get("statistic", ""), inputs)
    else:
        result, unit = float(value(quantity, **inputs)), lookup(quantity).unit
    return result / units.convert_factor(call["unit"], unit)


def _from_function(name: str, statistic: str, inputs: Mapping[str, Any]) -> tuple[float, str]:
    module, function = name.split(".")
    found = getattr(importlib.import_module(f"roofslate.{module}"), function)(**inputs)
    if not statistic:
        return float(found), "1"
    how, column = statistic.split()
    values = found[column]
    result = values.iloc[0 if how == "first" else -1] if how in ("first", "last") else getattr(values, how)()
    return float(result), found.attrs.get("units", {}).get(column, "1")


def _train(statistic: str, inputs: Mapping[str, Any]) -> tuple[float, str]:
    table = schedules.train(**inputs)
    if statistic == "worst_time":
        return float(table["worst_time"].max()), "s"
    if statistic == "worst_time_quantile":  # what 999 of 1,000 trains stay below
        return float(table["worst_time"].quantile(0.999)), "s"
    return float((table[statistic] * table["boarded"]).sum() / table["boarded"].sum()), "s"


_SIMULATED: dict[str, Callable[[str, Mapping[str, Any]], tuple[float, str]]] = {
    "schedules.train": _train,
    "schedules.left_behind": lambda _, inputs: (schedules.left_behind(**inputs), "sequence"),
}


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
