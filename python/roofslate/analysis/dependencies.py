"""Which quantities of a derivation take which: as Graphviz's text, or drawn from the inputs to the answer."""

from __future__ import annotations

import io
import itertools
import statistics
import textwrap
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate.display import diagram, style

if TYPE_CHECKING:
    from collections.abc import Mapping

    from matplotlib.axes import Axes

__all__ = ["Dependencies"]

_SWEEPS = 7  # odd: the last goes from the answer to the inputs, which leaves fewest lines crossed
_WIDEST = 16  # letters of a line in a box
_LETTER, _LINE = 0.078, 0.16  # inches of a letter and of a line
_ACROSS, _BETWEEN = 0.45, 0.14  # inches from column to column, and from box to box
_GIVEN = "#EDEDED"
Place = str | tuple[str, int]  # a box, or where the lines from a quantity to its users cross a column


@dataclass(frozen=True)
class Dependencies:
    """The quantities of a derivation and which takes which.

    `str()` is Graphviz's text, `draw` draws by matplotlib, and Jupyter shows that picture. `edges` is what
    `networkx.DiGraph` takes.

    Attributes
    ----------
    values : dict of str
        Each quantity's value as a person reads it: the answer first, each one before those that it needs.
    edges : tuple of (str, str)
        A quantity and one that takes it.
    given : frozenset of str
        Where the derivation ends.
    binding : frozenset of (str, str)
        Edges that the max or min of a formula chose.
    """

    values: Mapping[str, str]
    edges: tuple[tuple[str, str], ...]
    given: frozenset[str]
    binding: frozenset[tuple[str, str]]

    def __str__(self) -> str:
        lines = ["digraph {", "    rankdir=LR;", '    node [shape=box, fontname="sans-serif", fontsize=10];']
        for name, value in self.values.items():
            look = f', style=filled, fillcolor="{_GIVEN}"' if name in self.given else ""
            words = value.replace("\\", "\\\\").replace('"', '\\"')
            lines.append(f'    "{name}" [label="{name}\\n{words}"{look}];')
        for need, user in self.edges:
            look = " [penwidth=2.5]" if (need, user) in self.binding else ""
            lines.append(f'    "{need}" -> "{user}"{look};')
        return "\n".join([*lines, "}"])

    def _repr_svg_(self) -> str | None:
        try:
            from matplotlib.figure import Figure
        except ImportError:  # Jupyter shows the text
            return None
        picture = io.StringIO()
        figure = Figure(figsize=_Layout(self).size)
        self.draw(figure.add_axes((0, 0, 1, 1)))
        figure.savefig(picture, format="svg")
        return picture.getvalue()

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw the graph, inputs on the left and the answer on the right; what binds is bold.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Where to draw; a figure of its own otherwise.

        Returns
        -------
        matplotlib.axes.Axes
        """
        from matplotlib import pyplot

        layout = _Layout(self)
        with style.house_style():
            if ax is None:
                ax = pyplot.figure(figsize=layout.size, layout="none").add_axes((0, 0, 1, 1))
            ax = style.axes(ax, layout.size)
            ax.set_axis_off()
            ax.set(xlim=(0, layout.size[0]), ylim=(0, layout.size[1]))
            for start, end, need in layout.lines:
                bold = (need, end) in self.binding
                look = {"color": style.INK if bold else style.NOTE, "linewidth": 2.2 if bold else 0.8, "zorder": 1}
                _curve(ax, layout.at[start], layout.at[end], look, gid=f"{need} to {end}")
                if isinstance(end, str):
                    left, y, *_ = layout.at[end]
                    diagram.arrow(ax, (left - 0.02, y), (left, y), f"{need} into {end}", **look)
            for name, lines in layout.words.items():
                x, y, width, height = layout.at[name]
                fill = _GIVEN if name in self.given else "white"
                diagram.round_box(ax, (x + width / 2, y), (width, height), name, facecolor=fill, edgecolor=style.INK)
                diagram.inside(ax, (x, y - height / 2, width, height), "\n".join(lines), 8, zorder=4)
        return ax


class _Layout:
    """Where boxes stand, in inches: in columns from the answer on the right, in an order in which few lines cross."""

    def __init__(self, graph: Dependencies) -> None:
        self.words = {
            # a line ends after an underscore
            name: [*textwrap.fill(name.replace("_", "_ "), _WIDEST).replace("_ ", "_").split("\n"), value]
            for name, value in graph.values.items()
        }
        depth = dict.fromkeys(graph.values, 0)
        for name in graph.values:  # users first: each quantity stands left of all its users
            for need, user in graph.edges:
                if user == name:
                    depth[need] = max(depth[need], depth[name] + 1)
        found: dict[tuple[Place, Place], str] = {}
        for need, user in graph.edges:
            between: list[Place] = [(need, column) for column in range(depth[need] - 1, depth[user], -1)]
            found |= dict.fromkeys(itertools.pairwise([need, *between, user]), need)
        self.lines = [(start, end, need) for (start, end), need in found.items()]
        columns: list[list[Place]] = [[] for _ in range(max(depth.values()) + 1)]
        for place in dict.fromkeys([*graph.values, *(end for _, end, _ in self.lines)]):
            columns[depth[place] if isinstance(place, str) else place[1]].append(place)
        self._untangle(columns)
        self._place(columns)

    def _untangle(self, columns: list[list[Place]]) -> None:
        """Order each column by the middle of what its places are tied to, in turns from either side."""
        tied: dict[Place, list[Place]] = {}
        for start, end, _ in self.lines:
            tied.setdefault(start, []).append(end)
            tied.setdefault(end, []).append(start)
        for sweep in range(_SWEEPS):
            pairs = list(itertools.pairwise(columns))
            for fixed, column in ((b, a) for a, b in reversed(pairs)) if sweep % 2 else pairs:
                rank = {place: k for k, place in enumerate(fixed)}
                middle = {
                    place: statistics.fmean([rank[other] for other in tied[place] if other in rank] or [k])
                    for k, place in enumerate(column)
                }
                column.sort(key=middle.__getitem__)

    def _place(self, columns: list[list[Place]]) -> None:
        heights = [[self._height(place) for place in column] for column in columns]
        widths = [
            0.15 + _LETTER * max(len(line) for place in column if isinstance(place, str) for line in self.words[place])
            for column in columns
        ]
        self.size = (sum(widths) + _ACROSS * len(widths), max(map(sum, heights)) + _BETWEEN)
        self.at: dict[Place, tuple[float, float, float, float]] = {}  # left, middle, width, height
        x = self.size[0] - _ACROSS / 2
        for column, width, high in zip(columns, widths, heights, strict=True):
            x -= width
            y = (self.size[1] + sum(high)) / 2
            for place, height in zip(column, high, strict=True):
                self.at[place] = (x, y - height / 2, width, height - _BETWEEN)
                y -= height
            x -= _ACROSS

    def _height(self, place: Place) -> float:
        return _BETWEEN + (_LINE * len(self.words[place]) + 0.1 if isinstance(place, str) else 0.0)


def _curve(ax: Axes, start: Any, end: Any, look: dict[str, Any], gid: str) -> None:
    """Draw a line from the right of one place to the left of another, and across it where that is no box."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (left, y0, width, _), (x1, y1, across, height) = start, end
    x0 = left + width
    bend = (x0 + x1) / 2
    points = [(x0, y0), (bend, y0), (bend, y1), (x1, y1), (x1 if height else x1 + across, y1)]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    ax.add_patch(PathPatch(Path(points, codes), fill=False, gid=gid, **look))
