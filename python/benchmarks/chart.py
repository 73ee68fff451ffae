"""The chart of time by points."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roofslate._base.files import whole_file
from roofslate.errors import InputTypeError

if TYPE_CHECKING:
    from pathlib import Path

    from matplotlib.axes import Axes

    from benchmarks.report import Report

__all__ = ["draw", "save"]


def draw(growth: dict[str, dict[int, float]]) -> Axes:
    """Draw seconds by points for each method, in a new figure."""
    from roofslate.display import style

    with style.house_style():
        ax = style.axes(None, (7.2, 4.4))
        ax.set_xscale("log")
        ax.set_yscale("log")
        ends = []
        for (name, seconds), look in zip(growth.items(), style.styles(len(growth)), strict=True):
            ax.plot(list(seconds), list(seconds.values()), label=name, **{"markersize": 4, **look})
            ends.append((float(max(seconds)), seconds[max(seconds)], name, look["color"]))
        ax.set_xlabel("grid points")
        ax.set_ylabel("time per call")
        ax.grid(axis="y")
        style.scale_ticks(ax.yaxis, "s")
        style.label_ends(ax, ends)
        style.end_ticks(ax.xaxis)
        style.title(ax, "Search time by grid points, five axes, two conditions")
    return ax


def save(report: Report, path: Path) -> None:
    """Write the chart of a report with growth, in the format of the file's ending."""
    from matplotlib import pyplot

    growth = next((section.growth for section in report.sections if section.growth), None)
    if growth is None:
        raise InputTypeError("the chart needs the part 'growth', but it was not measured. Add it to only=.")
    figure = draw(growth).get_figure(root=True)
    assert figure is not None
    try:
        with whole_file(path) as stream:
            figure.savefig(stream, format=path.suffix[1:])
    finally:
        pyplot.close(figure)
