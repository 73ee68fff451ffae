"""Bars of a tornado: the result at both ends of each input's range."""

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
    """Draw a bar for each row, with input and result at its ends, on a log axis if possible.

    Parameters
    ----------
    ax : Axes
    table : pandas.DataFrame
        Indexed by input: ``low`` and ``high`` in ``unit``, the result ``at_low`` and ``at_high``.
    base : float
        Result at the base values.
    unit : str
        Unit of the result.
    label : str
        Label of the axis.
    said : function
        Formats a result.
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
        (start, at_start), (end, at_end) = sorted([(row["at_low"], row["low"]), (row["at_high"], row["high"])])
        spans = ((start, min(end, base)), (max(start, base), end))
        for (side, color, hatch), (a, b) in zip(sides, spans, strict=True):
            if a < b:
                look = {"facecolor": "white" if hatch else color, "edgecolor": color, "hatch": hatch}
                ax.barh(k, b - a, 0.52, left=a, gid=side, label=f"{side} {k}", **look)
        for x, value, align, shift in ((start, at_start, "right", -5), (end, at_end, "left", 5)):
            if x != base:
                text = f"{style.counted(value, row['unit'])}\n{said(x)}"
                look = {"textcoords": "offset points", "va": "center", "fontsize": 8.5, "annotation_clip": False}
                words.append(ax.annotate(text, (x, k), xytext=(shift, 0), ha=align, **look))
    ax.set_yticks(range(len(table)), [textwrap.fill(style.words(str(name)), 20) for name in table.index])
    # margins for the texts next to the bars, in an axis that the layout narrows for its names
    widest = max((word.get_window_extent().width for word in words), default=0)
    names = max(text.get_window_extent().width for text in ax.get_yticklabels())
    share = min(1.25 * widest / max(1.25 * ax.get_window_extent().width - names, widest), 0.36)
    if log:
        margin = (high / low) ** (share / (1 - 2 * share))
        start, end = low / margin, high * margin
        decades = 10 ** math.floor(math.log10(low)), 10 ** math.ceil(math.log10(high))
        ax.spines["bottom"].set_bounds(max(start, decades[0]), min(end, decades[1]))
    else:
        margin = (high - low) * share / (1 - 2 * share)
        start, end = low - margin, high + margin
    ax.set_xlim(start, end)
    ax.plot([base, base], [len(table) - 0.45, -0.5], color=style.INK, linewidth=1.1, label="base", zorder=3)
    ax.text(base, -0.55, f"base {said(base)}", ha="center", va="bottom", fontsize=9)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_visible(False)
    style.scale_ticks(ax.xaxis, unit)
