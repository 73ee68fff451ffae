"""Parts of diagrams: boxes, arrows, gaps in long rows, and text that fits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate.display import style
from roofslate.errors import ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis

COLUMN = 4.4  # inches between the margins of a figure as wide as a column of text

__all__ = ["COLUMN", "arrow", "box", "decade_ticks", "inside", "left_out", "letters", "round_box", "whole"]


def whole(name: str, value: float) -> int:
    """Give the number of boxes or arrows to draw.

    Raises
    ------
    ValueRangeError
        If it is no whole number.
    """
    if not math.isfinite(value) or value != int(value):
        raise ValueRangeError(f"{name}: a drawing has a whole number of them, got {value:g}")
    return int(value)


def left_out(count: int, most: int, shown: int | None = None, tail: int | None = None) -> list[int | None]:
    """Return the indices to draw, with None for a gap before the last.

    Parameters
    ----------
    count : int
        All boxes.
    most : int
        Boxes drawn without a gap.
    shown, tail : int, optional
        Boxes drawn with a gap, and boxes behind the gap.
    """
    if count <= most:
        return list(range(count))
    shown = most if shown is None else shown
    tail = (1 if shown < 5 else 2) if tail is None else tail
    return [*range(shown - tail), None, *range(count - tail, count)]


def letters(ax: Axes, size: float, figure: tuple[float, float]) -> float:
    """Return a font size in points, smaller in axes below this figure size in inches.

    In a figure as wide as a column of text it is at least the smallest size of print.
    """
    across, up = (side / ax.figure.dpi for side in style.pixels(ax))
    return max(_least(ax), size * min(1.0, 1.1 * across / figure[0], 1.1 * up / figure[1]))


def _least(ax: Axes) -> float:
    """Least points of letters, fewer in a part of a figure."""
    return style.LEAST if style.pixels(ax)[0] / ax.figure.dpi > COLUMN else 3.5


def box(ax: Axes, corner: tuple[float, float], size: tuple[float, float], gid: str, **look: Any) -> None:
    """Draw a rectangle."""
    from matplotlib.patches import Rectangle

    ax.add_patch(Rectangle(corner, *size, gid=gid, **{"linewidth": 0.9, "zorder": 2, **look}))


def round_box(ax: Axes, middle: tuple[float, float], size: tuple[float, float], gid: str, **look: Any) -> None:
    """Draw a rectangle with round corners around a center."""
    from matplotlib.patches import FancyBboxPatch

    corner = (middle[0] - size[0] / 2, middle[1] - size[1] / 2)
    shape = f"round,pad=0,rounding_size={0.15 * min(size)}"
    ax.add_patch(FancyBboxPatch(corner, *size, boxstyle=shape, gid=gid, **{"linewidth": 1.0, "zorder": 2, **look}))


def arrow(ax: Axes, start: tuple[float, float], end: tuple[float, float], gid: str, **look: Any) -> None:
    """Draw an arrow from point to point."""
    from matplotlib.patches import FancyArrowPatch

    look = {"arrowstyle": "-|>", "mutation_scale": 7, "linewidth": 1.1, "color": style.INK, "zorder": 3, **look}
    ax.add_patch(FancyArrowPatch(start, end, shrinkA=0, shrinkB=0, gid=gid, **look))


def inside(ax: Axes, frame: Sequence[float], text: str, size: float, **look: Any) -> None:
    """Write into a box (x, y, width, height), smaller or not at all if it is narrow."""
    x, y, width, height = frame
    across, up = (side * 72 / ax.figure.dpi for side in style.pixels(ax))
    (first, last), (low, high) = ax.get_xlim(), ax.get_ylim()
    lines = text.split("\n")
    points = (width / (last - first) * across - 2) / (0.65 * max(map(len, lines)))
    points = min(points, height / (high - low) * up / (1.3 * len(lines)))
    least = style.LEAST if size >= style.LEAST else 4
    if points >= 0.87 * least:  # the estimated width of letters is on the safe side
        look = {"ha": "center", "va": "center", "fontsize": max(min(size, points), least), **look}
        ax.text(x + width / 2, y + height / 2, text, **look)


def decade_ticks(axis: Axis, unit: str, count: int, write: Callable[[float], str] | None = None) -> None:
    """Put at most `count` ticks at powers of ten on a logarithmic axis."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullLocator

    low, high = np.log10(sorted(axis.get_view_interval()))
    decades = np.arange(math.ceil(low), math.floor(high) + 1)
    step = max(1, -(-len(decades) // count))
    axis.set_major_locator(FixedLocator([float(10.0**k) for k in decades[::step]]))
    axis.set_minor_locator(NullLocator())
    axis.set_major_formatter(FuncFormatter(lambda x, _: write(x) if write else style.scale_of([x], unit).tick(x)))
