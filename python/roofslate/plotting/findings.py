"""Findings: sentences in a picture, written from the marks of its table."""

from __future__ import annotations

import math
import re
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate.display import style

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["finding", "written"]

_MARK = re.compile(r"\{(\w+)(?::(\d))?\}")


def written(template: str, attrs: Mapping[Any, Any]) -> str:
    """Fill ``{name}`` or ``{name:digits}`` with marks of a table, in their units."""

    def mark(match: re.Match[str]) -> str:
        name, digits = match[1], int(match[2] or 3)
        unit = attrs["units"][name]
        text = units.format(attrs["marks"][name], unit, digits)
        return text.replace("M", " million").replace("G", " billion") if unit == "parameter" else text

    return _MARK.sub(mark, template)


def finding(
    ax: Axes,
    table: pd.DataFrame,
    template: str,
    *,
    at: tuple[float, float] | None = None,
    to: tuple[float, float] = (0.5, 0.9),
    color: str = style.INK,
    **more: Any,
) -> bool:
    """Write a sentence about the plotted data, if all its marks are finite.

    Parameters
    ----------
    ax : Axes
        To draw into.
    table : DataFrame
        Of the chart, with ``attrs["marks"]`` and ``attrs["units"]``.
    template : str
        Sentence with the names of marks, ``"memory-bound below {crossing_batch:4} sequences"``.
    at : tuple of float, optional
        Point of the data that the sentence is about, which gets an arrow.
    to : tuple of float
        Preferred place, in shares of the axes. The text moves to the nearest place clear of lines and texts.
    color : str
        Of text and arrow.
    **more
        Of the annotation, such as ``ha`` and ``va``.

    Returns
    -------
    bool
        True if the sentence is drawn.
    """
    marks = table.attrs["marks"]
    if not all(math.isfinite(marks[match[1]]) for match in _MARK.finditer(template)):
        return False
    style.callout(ax, written(template, table.attrs), at, to, color=color, **more)
    return True
