"""The dependency graph of a derivation: as Graphviz text, or drawn from inputs to output."""

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

_SWEEPS = 7  # odd, so the last one goes from the output to the inputs, which leaves fewest crossings
_WIDEST = 16  # characters per line of a box
_LETTER, _LINE = 0.078, 0.16  # inches per character and per line
_ACROSS, _BETWEEN = 0.45, 0.14  # inches between columns, and between boxes
_GIVEN = "#EDEDED"
Node = str | tuple[str, int]  # a box, or the point where lines from a quantity cross a column


@dataclass(frozen=True)
class Dependencies:
    """The dependency graph of a derivation.

    `str()` returns Graphviz text, `draw` draws by matplotlib, and Jupyter shows that drawing. `edges` is an input of
    `networkx.DiGraph`.

    Attributes
    ----------
    values : dict of str
        Formatted values by quantity: the output first, each quantity before its inputs.
    edges : tuple of (str, str)
        A quantity and one that depends on it.
    given : frozenset of str
        Quantities at which the derivation ends.
    binding : frozenset of (str, str)
        Edges selected by the max or min of a formula.
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
        except ImportError:  # Jupyter falls back to the text
            return None
        picture = io.StringIO()
        figure = Figure(figsize=_Layout(self).size)
        self.draw(figure.add_axes((0, 0, 1, 1)))
        figure.savefig(picture, format="svg")
        return picture.getvalue()

    def draw(self, ax: Axes | None = None) -> Axes:
        """Draw the graph, inputs on the left and the output on the right, binding edges bold.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on. By default a new figure.

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
                    box_left, y, *_ = layout.at[end]
                    diagram.arrow(ax, (box_left - 0.02, y), (box_left, y), f"{need} into {end}", **look)
            for name, lines in layout.words.items():
                x, y, width, height = layout.at[name]
                fill = _GIVEN if name in self.given else "white"
                diagram.round_box(ax, (x + width / 2, y), (width, height), name, facecolor=fill, edgecolor=style.INK)
                diagram.inside(ax, (x, y - height / 2, width, height), "\n".join(lines), 8, zorder=4)
        return ax


class _Layout:
    """The layout of the boxes in inches: columns toward the output, with few crossings."""

    def __init__(self, graph: Dependencies) -> None:
        self.words = {
            # Lines break after an underscore.
            name: [*textwrap.fill(name.replace("_", "_ "), _WIDEST).replace("_ ", "_").split("\n"), value]
            for name, value in graph.values.items()
        }
        depth = dict.fromkeys(graph.values, 0)
        for name in graph.values:  # users first: each quantity is left of all its users
            for need, user in graph.edges:
                if user == name:
                    depth[need] = max(depth[need], depth[name] + 1)
        segments: dict[tuple[Node, Node], str] = {}
        for need, user in graph.edges:
            between: list[Node] = [(need, column) for column in range(depth[need] - 1, depth[user], -1)]
            segments |= dict.fromkeys(itertools.pairwise([need, *between, user]), need)
        self.lines = [(start, end, need) for (start, end), need in segments.items()]
        columns: list[list[Node]] = [[] for _ in range(max(depth.values()) + 1)]
        for node in dict.fromkeys([*graph.values, *(end for _, end, _ in self.lines)]):
            columns[depth[node] if isinstance(node, str) else node[1]].append(node)
        self._untangle(columns)
        self._place(columns)

    def _untangle(self, columns: list[list[Node]]) -> None:
        """Order each column by the mean position of neighbors, in sweeps from either side."""
        tied: dict[Node, list[Node]] = {}
        for start, end, _ in self.lines:
            tied.setdefault(start, []).append(end)
            tied.setdefault(end, []).append(start)
        for sweep in range(_SWEEPS):
            pairs = list(itertools.pairwise(columns))
            for fixed, column in ((b, a) for a, b in reversed(pairs)) if sweep % 2 else pairs:
                rank = {node: k for k, node in enumerate(fixed)}
                middle = {
                    node: statistics.fmean([rank[other] for other in tied[node] if other in rank] or [k])
                    for k, node in enumerate(column)
                }
                column.sort(key=middle.__getitem__)

    def _place(self, columns: list[list[Node]]) -> None:
        heights = [[self._height(node) for node in column] for column in columns]
        widths = [
            0.15 + _LETTER * max(len(line) for node in column if isinstance(node, str) for line in self.words[node])
            for column in columns
        ]
        self.size = (sum(widths) + _ACROSS * len(widths), max(map(sum, heights)) + _BETWEEN)
        self.at: dict[Node, tuple[float, float, float, float]] = {}  # left, middle, width, height
        x = self.size[0] - _ACROSS / 2
        for column, width, high in zip(columns, widths, heights, strict=True):
            x -= width
            y = (self.size[1] + sum(high)) / 2
            for node, height in zip(column, high, strict=True):
                self.at[node] = (x, y - height / 2, width, height - _BETWEEN)
                y -= height
            x -= _ACROSS

    def _height(self, node: Node) -> float:
        return _BETWEEN + (_LINE * len(self.words[node]) + 0.1 if isinstance(node, str) else 0.0)


def _curve(ax: Axes, start: Any, end: Any, look: dict[str, Any], gid: str) -> None:
    """Draw a line between two nodes, and across a node that is no box."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    (box_left, y0, width, _), (x1, y1, box_width, height) = start, end
    x0 = box_left + width
    bend = (x0 + x1) / 2
    points = [(x0, y0), (bend, y0), (bend, y1), (x1, y1), (x1 if height else x1 + box_width, y1)]
    codes = [Path.MOVETO, Path.CURVE4, Path.CURVE4, Path.CURVE4, Path.LINETO]
    ax.add_patch(PathPatch(Path(points, codes), fill=False, gid=gid, **look))
