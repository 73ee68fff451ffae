"""The house style of charts: scaled ticks, labels at lines, panels and brackets."""

from __future__ import annotations

import contextlib
import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units
from roofslate.display import dark, placing
from roofslate.errors import InputTypeError, UnitError

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from matplotlib.axes import Axes
    from matplotlib.axis import Axis
    from matplotlib.text import Annotation, Text

__all__ = [
    "BATCH",
    "BOLD",
    "COMPUTE",
    "ELLIPSIS",
    "HALO",
    "INK",
    "KV",
    "LEAST",
    "MEMORY",
    "MINUS",
    "NOTE",
    "PALETTE",
    "RED",
    "TIMES",
    "UNFIT",
    "WEIGHTS",
    "axes",
    "basis_of",
    "bracket",
    "callout",
    "corner",
    "counted",
    "drawing",
    "end_ticks",
    "house_style",
    "label_ends",
    "moment",
    "panels",
    "pixels",
    "scale_of",
    "scale_ticks",
    "styles",
    "text_of",
    "time_ticks",
    "title",
    "words",
]

# At least 4.5 of contrast on white, and 22 apart in CIELAB for every two, also as seen by colour-blind readers.
PALETTE = ("#0072B2", "#C90E72", "#044D46", "#89720D", "#7C3D23", "#8D0DEC", "#111111")
DASHES: tuple[Any, ...] = ("-", "--", "-.", ":", (0, (7, 2)), (0, (5, 1, 1, 1, 1, 1)), (0, (1, 1)))
MARKERS = ("o", "s", "^", "D", "v", "P", "X")
INK = "#222222"
HALO: dict[str, Any] = {"facecolor": "white", "edgecolor": "none", "pad": 1.2}  # behind text on lines
NOTE = "#555555"
RED = "#B24700"  # of important marks
ELLIPSIS, MINUS, TIMES = "\N{HORIZONTAL ELLIPSIS}", "\N{MINUS SIGN}", "\N{MULTIPLICATION SIGN}"

# One look for each term of a pass in all charts.
COMPUTE: dict[str, Any] = {"color": "#0072B2", "linestyle": "-", "linewidth": 1.6}
KV: dict[str, Any] = {"color": "#946000", "linestyle": "-.", "linewidth": 1.6}
WEIGHTS: dict[str, Any] = {"color": "#7A4A12", "linestyle": "-", "linewidth": 1.6}
MEMORY: dict[str, Any] = {"color": "#6B6B6B", "linestyle": "--", "linewidth": 1.1}
BOLD: dict[str, Any] = {"color": "#111111", "linestyle": "-", "linewidth": 3.4, "zorder": 2.5}
UNFIT: dict[str, Any] = {"facecolor": "none", "edgecolor": NOTE, "hatch": "////", "linewidth": 0}  # memory is full
BATCH = "batch size (sequences)"
LEAST = 8.0  # font size in print, in points
_SMALL, _LINE = LEAST, 10.5  # font size and height of the line below a title, in points
_UNDER = "under title"  # `placing.UNDER`, without an import of matplotlib
_FINDING = "finding"

# Ticks of a logarithmic axis of times.
_MOMENTS = {
    **{10.0**k: f"{10 ** (k + 6)} µs" for k in range(-6, -3)},
    **{10.0**k: f"{10 ** (k + 3)} ms" for k in range(-3, 0)},
    1.0: "1 s",
    10.0: "10 s",
    60.0: "1 min",
    600.0: "10 min",
    3600.0: "1 h",
    21600.0: "6 h",
    **{86400.0 * 10**k: f"{10**k:,} d" for k in range(5)},
}

_SPELLED = {"kv": "KV", "hbm": "HBM", "flops": "FLOPs"}

_COUNTED = {
    "sequence": "sequences",
    "token": "tokens",
    "token/sequence": "tokens",
    "parameter": "parameters",
    "chip": "chips",
}


@contextlib.contextmanager
def house_style() -> Iterator[None]:
    """Draw in the house style within the block, and restore the user's settings after it."""
    from matplotlib import pyplot, style

    # Load the backend of a notebook now. Inside the context its settings would be undone.
    pyplot.draw_if_interactive()  # type: ignore[no-untyped-call]
    with style.context(Path(__file__).with_name("house.mplstyle")):
        yield


def axes(ax: Any, size: tuple[float, float]) -> Axes:
    """Return the given axes in the house style, or the axes of a new figure."""
    from matplotlib import pyplot
    from matplotlib.axes import Axes

    if ax is None:
        return pyplot.subplots(figsize=size)[1]
    if not isinstance(ax, Axes):
        raise InputTypeError(f"ax must be a matplotlib Axes, got {type(ax).__name__}")
    for side in ("top", "right"):
        ax.spines[side].set_visible(False)
    return ax


@contextlib.contextmanager
def drawing(ax: Any, size: tuple[float, float], *, formulas: bool = False) -> Iterator[Axes]:
    """Draw in the house style within the block, on given axes or on a new figure.

    The picture is dark if the axes are, or if the settings ask for a dark figure. Texts are moved apart whenever the
    figure is drawn. Without `formulas`, text of the block keeps its dollar signs.
    """
    from matplotlib import rc_context, rcParams

    ground = rcParams["figure.facecolor"] if ax is None or not hasattr(ax, "get_facecolor") else ax.get_facecolor()
    is_dark = dark.is_dark(ground)
    with house_style():
        given = ax is not None
        ax = axes(ax, size)
        earlier = set(ax.figure.findobj()) if given and is_dark else set()
        before = {} if formulas else dict(_said(ax))
        with rc_context({"text.parse_math": formulas}):
            yield ax
        for text, said in () if formulas else _said(ax):
            if said.count("$") > 1 and before.get(text) != said:  # of texts in every figure, such as titles and ticks
                text.set_parse_math(False)
        placing.attach(ax)
        if is_dark:
            dark.darken(ax, earlier, INK)


def _said(ax: Axes) -> Iterator[tuple[Text, str]]:
    """Yield the texts of a figure."""
    from matplotlib.text import Text as AnyText

    for text in ax.figure.findobj(AnyText):
        yield text, text.get_text()


def title(ax: Axes, text: str, *, below: str = "", corner: str = "") -> None:
    """Set the title, on several lines if the axes are narrow.

    Parameters
    ----------
    ax : Axes
        Axes of the chart.
    text : str
        The title.
    below : str
        Conditions, in a small font under the title. By default the previous ones stay.
    corner : str
        Text at the right end of that line, or on the next line if it does not fit.
    """
    import textwrap

    rows = _under_title(ax, below, corner) if below or corner else _rows_under(ax)
    said = ax.set_title(text, pad=6 + _LINE * rows) if rows else ax.set_title(text)
    share = said.get_window_extent().width / pixels(ax)[0]
    if share > 1.1:
        said.set_text(textwrap.fill(text, max(16, int(len(text) / share))))


def corner(ax: Axes, text: str, *, below: str = "") -> None:
    """Write small text above the right and left ends of axes without a title."""
    if text or below:
        _under_title(ax, below, text)


def _under_title(ax: Axes, below: str, corner: str) -> float:
    """Write conditions between title and axes, and return their height in lines."""
    import textwrap

    width = pixels(ax)[0]
    look: dict[str, Any] = {"fontsize": _SMALL, "color": NOTE, "va": "bottom", "annotation_clip": False, "gid": _UNDER}
    look |= {"xycoords": "axes fraction", "textcoords": "offset points"}
    notes = {part: ax.annotate(part, (0, 1), (0, 4), ha="left", **look) for part in (corner, below) if part}
    widths = {part: note.get_window_extent().width for part, note in notes.items()}
    if sum(widths.values()) < 0.96 * width or (len(notes) == 1 and max(widths.values()) < width):
        if corner:
            notes[corner].xy = (1, 1)
            notes[corner].set_horizontalalignment("right")
        return 1 + 4 / _LINE
    rows = 0
    for part, note in notes.items():
        note.xyann = (0, 4 + _LINE * rows)
        lines = textwrap.wrap(part, max(16, int(0.98 * len(part) * width / widths[part])))
        note.set_text("\n".join(lines))
        rows += len(lines)
    return rows + 4 / _LINE


def _rows_under(ax: Axes) -> float:
    """Return the height of the text between title and axes, in lines."""
    notes = [note for note in ax.texts if note.get_gid() == _UNDER]
    return max((note.xyann[1] / _LINE + note.get_text().count("\n") + 1 for note in notes), default=0.0)  # type: ignore[attr-defined]


def basis_of(attrs: Mapping[Any, Any], unit: str) -> str:
    """Format the basis of a result: ``"estimate (serving, 2026-09-14), interpolated"``.

    A floor bounds times and costs from below and rates from above. Other quantities, such as ratios, have no bound.
    """
    basis = str(attrs.get("basis", ""))
    fitted = [name for name in str(attrs.get("calibration", "")).split(", ") if name != "floor"]
    dated = ", ".join(fitted).replace(" (", ", ").replace(")", "")
    bound = (
        "lower bound" if unit == "s" or unit.startswith(("USD", "s*", "s/")) else "upper bound" if "/s" in unit else ""
    )
    words = basis.replace("floor", bound).replace("estimate", f"estimate ({dated})" if dated else "estimate")
    support = dict.fromkeys(part.partition(":")[0] for part in str(attrs.get("support", "")).split(" | ") if part)
    words += f", {' or '.join(support)}" if support else ""
    return words.removeprefix(" | ").removesuffix(" | ").removeprefix("; ").replace("; given: ", ", given ")


def styles(count: int) -> list[dict[str, Any]]:
    """Return colors, each with its line style and marker."""
    n = len(PALETTE)
    return [
        {"color": PALETTE[k % n], "linestyle": DASHES[(k + k // n) % n], "marker": MARKERS[k % n]} for k in range(count)
    ]


def words(name: str, unit: str | None = None) -> str:
    """Format the name of a quantity for an axis: ``"batch size (sequences)"``."""
    text = " ".join(_SPELLED.get(word, word) for word in name.split("_"))
    if str(unit).startswith("FLOP/s"):
        text = text.replace("FLOPs", "FLOPS")  # a speed
    return f"{text} ({_COUNTED[unit]})" if unit in _COUNTED else text


def text_of(value: float, unit: str, digits: int = 3) -> str:
    """Format a number with its unit briefly: ``"87.4k"``, ``"$2/Mtok"``."""
    return scale_of([value], unit).tick(value, digits)


def counted(value: float, unit: str) -> str:
    """Format a number of tokens or parameters, parameters in billions."""
    text = text_of(value, unit)
    return text.replace("G", "B") if unit == "parameter" else text


def scale_of(values: Any, unit: str) -> units.Scale:
    """Return the scale of values in base units, and for other units their own."""
    try:
        return units.scale(values, unit)
    except UnitError:
        return units.Scale(1.0, unit.replace("USD", "$").replace("token", "tok"))


def scale_ticks(axis: Axis, unit: str) -> None:
    """Write the ticks of an axis with its unit, scaled: ``200k``, ``20 ms``, ``$2/Mtok``."""
    from matplotlib.ticker import AutoLocator, FuncFormatter, LogLocator, NullFormatter

    log = axis.get_scale() == "log"
    low, high = sorted(axis.get_view_interval())
    huge = unit == "FLOP" and high >= 1e21  # beyond the prefixes

    def write(x: float, _: int | None = None) -> str:
        if x == 0:
            return "0"
        if huge and log:
            return f"{x:.0e} FLOP".replace("e+", "e")
        span = [x] if log else np.abs(axis.get_view_interval()).max(keepdims=True)
        return scale_of(span, unit).tick(x).replace("-", MINUS, 1 if x < 0 else 0)

    if log and unit == "s" and high > 60 and high / low > 30:
        time_ticks(axis)
        return
    if log:
        axis.set_major_locator(LogLocator(subs=(1.0,) if high / low > 30 else (1.0, 2.0, 5.0), numticks=9))
        axis.set_minor_formatter(NullFormatter())
    elif isinstance(axis.get_major_locator(), AutoLocator):
        _fit_ticks(axis, unit, write)
    axis.set_major_formatter(FuncFormatter(write))
    end_ticks(axis)


def _fit_ticks(axis: Axis, unit: str, write: Callable[[float], str]) -> None:
    """Put ticks at round numbers of the displayed unit, as many as fit."""
    from matplotlib.ticker import MaxNLocator

    class WholeSteps(MaxNLocator):
        def tick_values(self, vmin: float, vmax: float) -> Any:
            factor = scale_of([max(abs(vmin), abs(vmax))], unit).factor
            return np.multiply(factor, super().tick_values(vmin / factor, vmax / factor))

    ticks = axis.get_ticklocs()
    if axis.axis_name == "x":  # type: ignore[attr-defined]
        letters = max(len(write(x)) for x in ticks)
        most = int(pixels(axis.axes)[0] / axis.axes.figure.dpi / (0.06 * letters + 0.08))
    else:
        most = len(ticks)
    if unit == "s" or len(ticks) > most + 1:
        axis.set_major_locator(WholeSteps(max(2, min(most, 9)), steps=[1, 2, 2.5, 5, 10]))


def moment(seconds: float) -> str:
    """Format a time for a logarithmic axis: ``"10 min"``."""
    return _MOMENTS.get(seconds) or text_of(seconds, "s")


def time_ticks(axis: Axis) -> None:
    """Write the ticks of a logarithmic axis of times in seconds, minutes, hours and days."""
    from matplotlib.ticker import FixedLocator, FuncFormatter, NullFormatter, NullLocator

    across = axis.axis_name == "x"  # type: ignore[attr-defined]
    bounds = axis.axes.spines["bottom" if across else "left"].get_bounds()
    low, high = sorted(axis.get_view_interval()) if bounds is None else bounds
    shown = [time for time in _MOMENTS if low * (1 - 1e-9) <= time <= high * (1 + 1e-9)]
    inches = pixels(axis.axes)[0 if across else 1] / axis.axes.figure.dpi
    shown = shown[:: max(1, math.ceil((0.55 if across else 0.3) * len(shown) / inches))]
    axis.set_major_locator(FixedLocator(shown))
    axis.set_major_formatter(FuncFormatter(lambda x, _: moment(min(_MOMENTS, key=lambda time: abs(time - x)))))
    axis.set_minor_formatter(NullFormatter())
    axis.set_minor_locator(NullLocator())


def end_ticks(axis: Axis) -> None:
    """Remove ticks beyond the end of the axis line, next to labels."""
    from matplotlib.ticker import FixedLocator

    bounds = axis.axes.spines["bottom" if axis.axis_name == "x" else "left"].get_bounds()  # type: ignore[attr-defined]
    if bounds is None or axis.axis_name != "x":  # type: ignore[attr-defined]
        return
    for minor in (False, True):
        shown = [t for t in axis.get_ticklocs(minor=minor) if bounds[0] * (1 - 1e-9) <= t <= bounds[1] * (1 + 1e-9)]
        (axis.set_minor_locator if minor else axis.set_major_locator)(FixedLocator(shown))


def pixels(ax: Axes) -> tuple[float, float]:
    box = ax.get_window_extent()
    return max(box.width, 1.0), max(box.height, 1.0)


def label_ends(
    ax: Axes, ends: Sequence[tuple[float, float, str, str]], *, size: float = 9, share: float | None = None
) -> None:
    """Label lines at their right ends, in widened axes, without overlap.

    Parameters
    ----------
    ax : Axes
        Axes with final limits.
    ends : sequence of tuple
        ``(x, y, text, color)`` of each end.
    size : float
        Font size in points.
    share : float, optional
        Share of the width for labels. Measured by default.
    """
    if not ends:
        return
    width, height = pixels(ax)
    point = ax.figure.dpi / 72
    if share is None:
        measured = [ax.text(0, 0, text, fontsize=size) for *_, text, _ in ends]
        widest = max(m.get_window_extent().width for m in measured)
        for m in measured:
            m.remove()
        share = min((widest + 14 * point) / (0.86 * width), 0.5)  # the layout narrows the axes for the ticks
    right = max(x for x, *_ in ends)
    _widen(ax, right, share)
    gap = size * 1.22 * point
    order = sorted(range(len(ends)), key=lambda k: ends[k][1])
    positions = [float(ax.transData.transform((ends[k][0], ends[k][1]))[1]) for k in order]
    bottom = float(ax.transAxes.transform((0, 0))[1])
    # The layout shrinks the axes later, so the gap is a little wider.
    placed = _apart(positions, gap * 1.12, bottom, bottom + height)
    for k, before, after in zip(order, positions, placed, strict=True):
        x, y, text, color = ends[k]
        shift = (after - before) / point
        ax.annotate(
            text,
            (x, y),
            xytext=(7, shift),
            textcoords="offset points",
            va="center",
            ha="left",
            fontsize=size,
            color=color,
            annotation_clip=False,
        )


def _widen(ax: Axes, right: float, share: float) -> None:
    low = ax.get_xlim()[0]
    if ax.get_xscale() == "log":
        ax.set_xlim(low, low * (right / low) ** (1 / (1 - share)))
    else:
        ax.set_xlim(low, low + (right - low) / (1 - share))
    ax.spines["bottom"].set_bounds(low, right)
    ax.xaxis.label.set_x((1 - share) / 2)


def _apart(positions: Sequence[float], gap: float, low: float, high: float) -> list[float]:
    """Move ascending positions at least `gap` apart, by least squares."""
    groups: list[list[float]] = []  # mean of the positions relative to their rank in the group, count
    for y in positions:
        groups.append([y, 1.0])
        while len(groups) > 1:
            (a, n), (b, m) = groups[-2:]
            if a + gap * (n - 1) / 2 + gap <= b - gap * (m - 1) / 2:
                break
            groups[-2:] = [[(a * n + b * m) / (n + m), n + m]]
    placed = [middle + gap * (i - (n - 1) / 2) for middle, n in groups for i in range(int(n))]
    down = max(0.0, placed[-1] - high)
    up = max(0.0, low - placed[0])
    return [y - down + up for y in placed]


def callout(
    ax: Axes,
    text: str,
    at: tuple[float, float] | None,
    to: tuple[float, float],
    *,
    color: str = INK,
    **more: Any,
) -> Annotation:
    """Write a note near `to`, with a thin arrow to the data point `at` if given.

    `to` is in fractions of the axes. When the figure is drawn, the text moves to the nearest place clear of lines
    and of other texts.
    """
    arrow = {"arrowstyle": "-|>", "color": color, "linewidth": 0.8, "shrinkA": 2, "shrinkB": 4, "mutation_scale": 8}
    return ax.annotate(
        text,
        to if at is None else at,
        xytext=to,
        xycoords="axes fraction" if at is None else "data",
        textcoords="axes fraction",
        fontsize=9,
        color=color,
        arrowprops=None if at is None else arrow,
        **{"ha": "left", "va": "center", "gid": _FINDING, **more},
    )


def bracket(ax: Axes, start: float, end: float, y: float, text: str, *, color: str = INK, below: bool = True) -> None:
    """Mark and label an interval of the horizontal axis with two arrowheads."""
    arrow = {"arrowstyle": "<|-|>", "color": color, "linewidth": 1.0, "shrinkA": 0, "shrinkB": 0, "mutation_scale": 8}
    ax.annotate("", (end, y), xytext=(start, y), arrowprops=arrow)
    look: dict[str, Any] = {"fontsize": 9, "color": color, "ha": "center", "va": "top" if below else "bottom"}
    ax.annotate(text, ((start + end) / 2, y), xytext=(0, -4 if below else 4), textcoords="offset points", **look)


def panels(
    ax: Axes, columns: int, *, rows: int = 1, start: float = 0, gap: float = 0.06, bottom: float = 0, top: float = 0
) -> list[Axes]:
    """Divide axes into panels, row by row, and keep the title.

    Parameters
    ----------
    ax : Axes
    columns, rows : int
    start, bottom, top : float
        Margin for labels, in shares of the axes.
    gap : float
        Gap between panels, in shares of the axes.
    """
    ax.set_axis_off()
    width, height = (1 - start - gap * (columns - 1)) / columns, (1 - bottom - top - gap * (rows - 1)) / rows
    corners = [
        (start + k * (width + gap), bottom + j * (height + gap)) for j in reversed(range(rows)) for k in range(columns)
    ]
    parts = [ax.inset_axes((*corner, width, height)) for corner in corners]
    for panel in parts:
        for side in ("top", "right"):
            panel.spines[side].set_visible(False)
    return parts
