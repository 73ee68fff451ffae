"""The graph of an explanation: nodes, text for Graphviz, and drawing."""

from __future__ import annotations

import re
from typing import Any
from xml.etree import ElementTree

import pytest
import roofslate as rs
from roofslate.analysis.dependencies import Dependencies
from support.explanations import BOARD, CELL
from support.lazy import Lazy

mpl = Lazy("matplotlib")
pyplot = Lazy("matplotlib.pyplot")


def test_the_graph_has_what_the_derivation_has() -> None:
    explanation = rs.explain("cost_per_token", BOARD)
    graph = explanation.graph()
    assert list(graph.values) == [part.quantity.name for part in explanation._parts]
    assert set(graph.edges) == {(need, step.quantity.name) for step in explanation.steps for need in step.needs}
    assert len(set(graph.edges)) == len(graph.edges)
    assert graph.given == {given.quantity.name for given in explanation.inputs}
    assert graph.binding == {("memory_time", "roofline_time")}
    shallow = rs.explain("cost_per_token", BOARD, depth=2).graph()
    assert "roofline_time" in shallow.given
    assert set(shallow.edges) < set(graph.edges)


def test_graphviz_can_read_it() -> None:
    """Statements of the language, one a line: names in quotes, attributes in brackets."""
    graph = rs.explain("cost_per_token", BOARD).graph()
    head, *body, end = str(graph).splitlines()
    assert (head, end) == ("digraph {", "}")
    quoted = r'"(?:\\.|[^"\\])*"'
    attributes = rf"(?: \[\w+=(?:{quoted}|[\w.]+)(?:, \w+=(?:{quoted}|[\w.]+))*\])?"
    statement = re.compile(
        rf" +(?:\w+=\w+|node{attributes}|({quoted}){attributes}|({quoted}) -> ({quoted}){attributes});"
    )
    result = [statement.fullmatch(line) for line in body]
    assert all(result)
    nodes = [match[1].strip('"') for match in result if match and match[1]]
    edges = [(match[2].strip('"'), match[3].strip('"')) for match in result if match and match[2]]
    assert nodes == list(graph.values)
    assert tuple(edges) == graph.edges
    assert str(graph).count("penwidth") == len(graph.binding)
    hostile = Dependencies({"a": 'x" -> b; \\'}, (), frozenset(), frozenset())
    assert r'[label="a\nx\" -> b; \\"]' in str(hostile)


@pytest.mark.parametrize("name", ["cost_per_token", "pass_time", "hbm_drain_time", "hbm_used", "batch_size"])
def test_the_drawing_has_every_box_and_no_two_meet(name: str) -> None:
    graph = rs.explain(name, CELL).graph()
    ax = graph.draw()
    ax.figure.canvas.draw()
    boxes = {patch.get_gid(): patch.get_window_extent() for patch in ax.patches if patch.get_gid() in graph.values}
    assert set(boxes) == set(graph.values)
    frame = ax.get_window_extent()
    for k, (one, box) in enumerate(boxes.items()):
        assert frame.x0 <= box.x0 <= box.x1 <= frame.x1
        assert frame.y0 <= box.y0 <= box.y1 <= frame.y1
        for other in list(boxes)[k + 1 :]:
            assert not box.overlaps(boxes[other]), f"{one} and {other} overlap"
    words = {text.get_text().replace("\n", ""): text.get_window_extent() for text in ax.texts}
    for one, value in graph.values.items():
        inside, box = words[one + value], boxes[one]
        assert box.x0 <= inside.x0 <= inside.x1 <= box.x1
        assert box.y0 <= inside.y0 <= inside.y1 <= box.y1
    for need, user in graph.edges:
        (head,) = [patch for patch in ax.patches if patch.get_gid() == f"{need} into {user}"]
        assert (head.get_linewidth() > 2) == ((need, user) in graph.binding)
        assert boxes[need].x1 < boxes[user].x0
        assert head.get_window_extent().x1 == pytest.approx(boxes[user].x0, abs=4)
    assert len([patch for patch in ax.patches if " into " in str(patch.get_gid())]) == len(graph.edges)


def test_lines_lead_from_box_to_box() -> None:
    """Stretches of lines follow one another from each quantity to each of its users."""
    ax = (graph := rs.explain("cost_per_token", BOARD).graph()).draw()
    stretches = [patch.get_path().vertices for patch in ax.patches if " to " in str(patch.get_gid())]
    ahead: dict[tuple[float, float], set[tuple[float, float]]] = {}
    for points in stretches:
        # across the gap, then across the column clear of boxes, up to the next gap
        ahead.setdefault(tuple(points[0].round(6)), set()).add(tuple(points[-1].round(6)))
    box = {patch.get_gid(): patch.get_bbox() for patch in ax.patches if patch.get_gid() in graph.values}
    ends = {(round(b.x0, 6), round((b.y0 + b.y1) / 2, 6)): name for name, b in box.items()}
    result = set()
    for name, b in box.items():
        reached = [(round(b.x1, 6), round((b.y0 + b.y1) / 2, 6))]
        for point in reached:
            for after in ahead.get(point, ()):
                if after in ends:
                    result.add((name, ends[after]))
                else:
                    reached.append(after)
    assert result == set(graph.edges)


def test_jupyter_shows_the_drawing() -> None:
    graph = rs.explain("pass_time", BOARD).graph()
    before = pyplot.get_fignums()
    picture = graph._repr_svg_()
    assert pyplot.get_fignums() == before
    root = ElementTree.fromstring(str(picture))
    assert {f"{need} into {user}" for need, user in graph.edges} <= {e.get("id") for e in root.iter()}


def test_a_drawing_goes_into_axes_of_ones_own() -> None:
    figure, ax = pyplot.subplots(figsize=(4, 3))
    assert rs.explain("pass_time", BOARD).graph().draw(ax) is ax
    figure.canvas.draw()
    with pytest.raises(rs.errors.InputTypeError, match="matplotlib Axes"):
        rs.explain("pass_time", BOARD).graph().draw("here")  # type: ignore[arg-type]
    with mpl.rc_context({"lines.linewidth": 7.0}):
        before = dict(mpl.rcParams)
        rs.explain("pass_time", BOARD).graph().draw()
        assert dict(mpl.rcParams) == before


def test_without_matplotlib_the_graph_is_text(run_python: Any) -> None:
    code = """
import sys
sys.modules["matplotlib"] = sys.modules["matplotlib.figure"] = None
import roofslate as rs
graph = rs.explain("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s").graph()
print(graph._repr_svg_(), str(graph).splitlines()[0])
"""
    assert run_python(code) == "None digraph {"
