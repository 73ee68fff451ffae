"""Bars of a tornado: what a result is at both ends of each input's range."""

from __future__ import annotations

import math
import textwrap
from typing import TYPE_CHECKING

from roofslate.display import style

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["draw_bars"]


def draw_bars(ax: Axes, table: pd.DataFrame, base: float, unit: str, label: str, said: Callable[[float], str]) -> None:
    """Draw a bar for each row, with what the input and the result are at its ends; on a logarithmic axis if it can be.

    Parameters
    ----------
    ax : Axes
    table : pandas.DataFrame
        Indexed by input: ``low`` and ``high`` in ``unit``, the result ``at_low`` and ``at_high``.
    base : float
        The result at the base.
    unit : str
        Of the result.
    label : str
        Of its axis.
    said : function
        The text of a result.
    """
    ends = table[["at_low", "at_high"]]
    low, high = min(ends.min().min(), base), max(ends.max().max(), base)
    log = low > 0
    if log:
        ax.set_xscale("log")
    ax.set(xlim=(low, high), ylim=(len(table) - 0.45, -1.1))
    ax.set_xlabel(label)
    sides = (("less", "#E69F00", "////"), ("more", style.COMPUTE["color"], ""))
    words = []
    for k, (_, row) in enumerate(table.iterrows()):
        (left, at_left), (right, at_right) = sorted([(row["at_low"], row["low"]), (row["at_high"], row["high"])])
        spans = ((left, min(right, base)), (max(left, base), right))
        for (side, color, hatch), (a, b) in zip(sides, spans, strict=True):
            if a < b:
                look = {"facecolor": "white" if hatch else color, "edgecolor": color, "hatch": hatch}
                ax.barh(k, b - a, 0.52, left=a, gid=side, label=f"{side} {k}", **look)
        for x, value, align, shift in ((left, at_left, "right", -5), (right, at_right, "left", 5)):
            if x != base:
                text = f"{style.counted(value, row['unit'])}\n{said(x)}"
                look = {"textcoords": "offset points", "va": "center", "fontsize": 8.5, "annotation_clip": False}
                words.append(ax.annotate(text, (x, k), xytext=(shift, 0), ha=align, **look))
    ax.set_yticks(range(len(table)), [textwrap.fill(style.words(str(name)), 20) for name in table.index])
    # room for the words beside the bars, in an axis that the layout narrows for its names
    widest = max((word.get_window_extent().width for word in words), default=0)
    names = max(text.get_window_extent().width for text in ax.get_yticklabels())
    share = min(1.25 * widest / max(1.25 * ax.get_window_extent().width - names, widest), 0.36)
    if log:
        room = (high / low) ** (share / (1 - 2 * share))
        left, right = low / room, high * room
        decades = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
        ax.spines["bottom"].set_bounds(max(left, decades[0]), min(right, decades[1]))
    else:
        room = (high - low) * share / (1 - 2 * share)
        left, right = low - room, high + room
    ax.set_xlim(left, right)
    ax.plot([base, base], [len(table) - 0.45, -0.5], color=style.INK, linewidth=1.1, label="base", zorder=3)
    ax.text(base, -0.55, f"base {said(base)}", ha="center", va="bottom", fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    style.scale_ticks(ax.xaxis, unit)
