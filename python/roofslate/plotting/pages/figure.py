"""The chart of a page, as a document of Bokeh, filled in the browser."""

from __future__ import annotations

import functools
from pathlib import Path
from typing import Any

from roofslate._base.messages import pip_install

__all__ = ["LINES", "figure_item", "library_script"]

LINES = 14  # at most so many in one chart


def library_script() -> str:
    """Return Bokeh's script.

    Raises
    ------
    ModuleNotFoundError
        Without Bokeh.
    """
    return _script_file().read_text(encoding="utf-8")


def _script_file() -> Path:
    _bokeh()
    import bokeh

    return Path(bokeh.__file__).parent / "server" / "static" / "js" / "bokeh.min.js"


def _bokeh() -> None:
    try:
        import bokeh  # noqa: F401
    except ModuleNotFoundError as error:
        message = f"a page with a chart needs bokeh, which is not installed: {pip_install('pages')}"
        raise ModuleNotFoundError(message, name=error.name) from None


@functools.cache
def figure_item() -> dict[str, Any]:
    """Return an empty figure as Bokeh's JSON, whose parts have names."""
    _bokeh()
    from bokeh.embed import json_item
    from bokeh.models import (
        ColumnDataSource,
        FixedTicker,
        Grid,
        LinearAxis,
        LinearColorMapper,
        Plot,
        Quad,
        Range1d,
        Scatter,
        VArea,
        VStrip,
    )
    from bokeh.models.annotations import ColorBar, Span
    from bokeh.models.glyphs import Line
    from bokeh.palettes import Viridis256

    plot = Plot(
        x_range=Range1d(start=0, end=1),
        y_range=Range1d(start=0, end=1),
        sizing_mode="stretch_width",
        height=370,
        min_border_left=10,
        toolbar_location=None,
        name="plot",
    )
    mapper = LinearColorMapper(palette=list(Viridis256), low=0, high=1, name="colors")
    rectangles = ColumnDataSource({"x0": [], "x1": [], "y0": [], "y1": [], "value": []}, name="source-map")
    color: Any = {"field": "value", "transform": mapper}
    colored = Quad(left="x0", right="x1", bottom="y0", top="y1", fill_color=color, line_color=color)
    plot.add_glyph(rectangles, colored, name="map")
    bar = ColorBar(
        color_mapper=mapper,
        ticker=FixedTicker(ticks=[]),
        orientation="horizontal",
        height=14,
        title_text_font_style="normal",
        title_text_font_size="13px",
        major_label_text_font_size="13px",
        visible=False,
        name="bar",
    )
    plot.add_layout(bar, "above")
    regions = ColumnDataSource({"x0": [], "x1": [], "color": []}, name="source-regions")
    plot.add_glyph(regions, VStrip(x0="x0", x1="x1", fill_color="color", line_color=None), name="regions")
    band = ColumnDataSource({"x": [], "low": [], "high": []}, name="source-band")
    plot.add_glyph(band, VArea(x="x", y1="low", y2="high", fill_alpha=0.22), name="band")
    for k in range(LINES):
        source = ColumnDataSource({"x": [], "y": []}, name=f"source-{k}")
        plot.add_glyph(source, Line(x="x", y="y"), name=f"line-{k}")
    plot.add_layout(Span(location=0, dimension="height", line_width=1.5, name="cursor"))
    plot.add_layout(Span(location=0, dimension="width", line_width=1.5, visible=False, name="cursor-up"))
    marks = ColumnDataSource({"x": [], "y": [], "color": [], "edge": []}, name="source-mark")
    plot.add_glyph(
        marks, Scatter(x="x", y="y", size=9, fill_color="color", line_color="edge", line_width=2), name="mark"
    )
    sides: tuple[tuple[Any, str], ...] = (("below", "across"), ("left", "up"))
    for side, name in sides:
        ticker: Any = FixedTicker(ticks=[])
        axis = LinearAxis(ticker=ticker, name=name, minor_tick_line_color=None)
        axis.axis_label_text_font_style = "normal"
        axis.major_label_text_font_size = axis.axis_label_text_font_size = "13px"
        plot.add_layout(axis, side)
        plot.add_layout(Grid(dimension=0 if side == "below" else 1, ticker=ticker, name=f"grid-{name}"))
    return dict(json_item(plot))
