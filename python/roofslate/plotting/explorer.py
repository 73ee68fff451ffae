"""The explorer: a plot with a control for each input."""

from __future__ import annotations

import base64
import contextlib
import contextvars
import html
import io
import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Protocol, overload

import numpy as np

from roofslate import units
from roofslate._base.locks import Lock, cached_property
from roofslate._base.messages import shown, unknown
from roofslate.display import style
from roofslate.errors import InputTypeError, MissingInput, PresetError, RoofslateError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled
from roofslate.plotting.controls import control, exact_text
from roofslate.plotting.front import front_of
from roofslate.plotting.pages.page import Page
from roofslate.plotting.pages.traced import chart_view
from roofslate.plotting.pages.view import view_of
from roofslate.plotting.plot import plot
from roofslate.presets.lookup import PRESETS
from roofslate.presets.preset import Preset
from roofslate.registry.registry import entries, lookup

if TYPE_CHECKING:
    import os
    from collections.abc import Iterator, Mapping, Sequence
    from pathlib import Path

    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from typing_extensions import Unpack

    from roofslate.plotting.chart import Chart
    from roofslate.plotting.pages.view import View
    from roofslate.typing import Keywords

__all__ = ["ChartPicture", "Explorer", "Picture", "Surface"]

_DOTS_PER_INCH = 144  # of an image displayed at 96, for high-resolution screens
_SHOWN_AT = 96
_BINDING = "bottleneck"
_SIZE = (6.4, 4.0)  # of a surface, in inches
_LONGEST = 88  # characters of a line of code


@dataclass(frozen=True)
class _Drawn:
    """A drawn plot: the figure, its markup and its code."""

    figure: Figure | None
    markup: str
    code: str


class Picture(Protocol):
    """A plot of an explorer, redrawn after each change."""

    @property
    def inputs(self) -> dict[str, Any]: ...  # start values by default

    def draw(self, inputs: Mapping[str, Any]) -> _Drawn: ...

    def view(self, inputs: Mapping[str, Any], starts: Mapping[str, Any]) -> View: ...


class ChartPicture:
    """The plot of a chart of the lecture."""

    def __init__(self, chart: Chart) -> None:
        self._chart = chart
        self._easel = _Easel()

    @property
    def inputs(self) -> dict[str, Any]:
        inputs = self._chart.inputs
        if not inputs:
            raise MissingInput(f"the chart {self._chart.name} has no scalar input. Give explore() an input.")
        return inputs

    def draw(self, inputs: Mapping[str, Any]) -> _Drawn:
        figure, (ax,) = self._easel.figure(self._chart.size)
        self._chart(ax, **inputs)
        alt = f"{self._chart.headline(inputs)}. {self._chart.brief}"
        return _Drawn(figure, self._easel.image(figure, alt), _call(f"rs.charts.{self._chart.name}(", inputs))

    def view(self, inputs: Mapping[str, Any], starts: Mapping[str, Any]) -> View:
        return chart_view(self._chart, inputs, starts=starts)


class Surface:
    """The plots of one or several quantities with axes, with scalars as large text."""

    def __init__(self, outputs: str | list[str]) -> None:
        self._outputs = outputs
        self._easel = _Easel()
        self.inputs: dict[str, Any] = {}

    def draw(self, inputs: Mapping[str, Any]) -> _Drawn:
        result: Any = evaluate(self._outputs, Settled(inputs))
        single = isinstance(self._outputs, str)
        arrays = {self._outputs: result} if isinstance(self._outputs, str) else dict(result.data_vars)
        plotted = [name for name in arrays if arrays[name].dims]
        if _BINDING in plotted and len(plotted) > 1:
            plotted.remove(_BINDING)
        with_regions = _BINDING in arrays and arrays[_BINDING].dims and _BINDING not in plotted
        numbers = [(str(name), arrays[name].item()) for name in arrays if not arrays[name].dims]
        outputs = json.dumps(self._outputs)
        if not plotted:
            head = f"rs.value({outputs}, " if single else f"rs.evaluate({outputs}, "
            return _Drawn(None, _large(numbers), _call(head, inputs))
        figure, axes = self._easel.figure(_SIZE, len(plotted))
        for name, ax in zip(plotted, axes, strict=True):
            plot(result[[name, _BINDING]] if with_regions else arrays[name], ax=ax)
        alt = f"{' and '.join(plotted)} against {' and '.join(map(str, result.dims))}"
        markup = self._easel.image(figure, alt) + _large(numbers)
        if single:
            return _Drawn(figure, markup, _call(f"rs.plot(rs.evaluate({outputs}, ", inputs, "))"))
        subsets = [json.dumps([name, _BINDING] if with_regions else name) for name in plotted]
        lines = [_call(f"surface = rs.evaluate({outputs}, ", inputs), *(f"rs.plot(surface[{s}])" for s in subsets)]
        return _Drawn(figure, markup, "\n".join(lines))

    def view(self, inputs: Mapping[str, Any], starts: Mapping[str, Any]) -> View:
        return view_of(self._outputs, inputs, starts=starts)


class _Easel:
    """A canvas and layout shared by successive plots, as measuring text dominates their time."""

    def __init__(self) -> None:
        self._canvas: Any = None  # its renderer keeps text measurements
        self._positions: list[Any] = []
        self._words: Any = None

    def figure(self, size: tuple[float, float], rows: int = 1) -> tuple[Figure, list[Axes]]:
        """Make a figure in the house style, outside pyplot, replaced by the next one."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg
        from matplotlib.figure import Figure

        with style.house_style():
            figure = Figure(figsize=(size[0], size[1] * rows), dpi=_DOTS_PER_INCH)
            self._canvas = self._canvas or FigureCanvasAgg(figure)
            self._canvas.figure = figure
            figure.set_canvas(self._canvas)
            return figure, [figure.add_subplot(rows, 1, k + 1) for k in range(rows)]

    def image(self, figure: Figure, alt: str) -> str:
        """Render the last figure as an image, and give it a new canvas."""
        from matplotlib.backends.backend_agg import FigureCanvasAgg

        file = io.BytesIO()
        with self._layout_kept(figure):
            self._canvas.print_png(file, pil_kwargs={"compress_level": 1})
        FigureCanvasAgg(figure)
        width, height = (round(inches * _SHOWN_AT) for inches in figure.get_size_inches())
        source = f"data:image/png;base64,{base64.b64encode(file.getvalue()).decode()}"
        return (
            f'<img src="{source}" alt="{html.escape(alt)}" width="{width}" height="{height}" decoding="sync" '
            f'style="display:block;max-width:100%;height:auto">'
        )

    @contextlib.contextmanager
    def _layout_kept(self, figure: Figure) -> Iterator[None]:
        """Draw inside the block, reusing axes positions if text lengths are unchanged."""
        engine = figure.get_layout_engine()
        if len(figure.axes) == len(self._positions):
            figure.set_layout_engine("none")
            for ax, position in zip(figure.axes, self._positions, strict=True):
                ax.set_position(position)
            if _words_around(figure) != self._words:
                figure.set_layout_engine(engine)
        yield
        if figure.get_layout_engine() is engine:
            self._positions = [ax.get_position() for ax in figure.axes]
            self._words = _words_around(figure)
        figure.set_layout_engine(engine)


def _words_around(figure: Figure) -> Any:
    """Return the lengths of the texts around axes."""
    lengths: list[Any] = []
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis) if ax.axison else ():
            ticks = [len(tick.get_text()) for tick in axis.get_ticklabels()] if axis.get_visible() else []
            lengths.append((max(ticks, default=0), ticks[-1:], axis.label.get_text()))
        lengths.append(([len(text.get_text()) for text in ax.texts], ax.get_title(loc="left")))
    return lengths


def _large(numbers: Sequence[tuple[str, Any]]) -> str:
    """Format numbers as large text, each above its name."""
    blocks = []
    for name, x in numbers:
        q = lookup(name)
        text = style.words(q.choices[int(x)]) if q.choices else units.format(x, q.unit)
        blocks.append(
            f'<div style="font-size:32px;line-height:1.3;font-weight:600">{html.escape(text)}</div>'
            f'<div style="line-height:1.4;margin-bottom:12px">{html.escape(_named(style.words(name), q.brief))}</div>'
        )
    return f'<div role="status">{"".join(blocks)}</div>' if blocks else ""


def _named(words: str, brief: str) -> str:
    """Put the words of a name before its brief, unless the brief begins with them."""
    plain = brief.replace("-", " ").casefold()
    return brief if plain.startswith(words.replace("-", " ").casefold()) else f"{words}: {brief}"


def _call(head: str, inputs: Mapping[str, Any], tail: str = ")") -> str:
    """Write a call in Python, on one line or with one argument per line."""
    arguments = [f"{name}={_written(name, x)}" for name, x in inputs.items()]
    line = f"{head}{', '.join(arguments)}{tail}"
    if len(line) <= _LONGEST:
        return line
    first, last = head.rstrip().rpartition("(")[0], head.rstrip().rpartition("(")[2].rstrip(",")
    rows = "".join(f"    {argument},\n" for argument in ([last] if last else []) + arguments)
    return f"{first}(\n{rows}{tail}"


def _written(name: str, x: Any) -> str:
    """Write an input as Python code with the same bits, as a text with a unit if exact."""
    if isinstance(x, Preset):
        if all(x != catalog.get(x.name) for catalog in PRESETS.values()):
            raise PresetError(
                f"{name}: the preset {x.name!r} is in no catalog, so code cannot name it. Add it to the catalog."
            )
        x = x.name
    if isinstance(x, str):
        return json.dumps(x, ensure_ascii=False)
    if x is None or isinstance(x, (bool, range)):
        return repr(x)
    if isinstance(x, (int, float, np.integer, np.floating)):
        return _written_number(name, x)
    if isinstance(x, (list, tuple)):
        row = ", ".join(_written(name, item) for item in x)
        return f"[{row}]" if isinstance(x, list) else f"({row},)"
    if isinstance(x, units.Axis):
        word = "linspace" if x.spacing == "linear" else "geomspace"
        unit = "" if x.unit is None else f", {_written(name, x.unit)}"
        if all(isinstance(end, (str, int, float)) for end in (x.start, x.stop)):
            return f"rs.{word}({_written('', x.start)}, {_written('', x.stop)}, {x.num}{unit})"
    if isinstance(x, np.ndarray) and x.ndim == 1:
        return _written_array(x)
    raise InputTypeError(f"{name}: expected a number, a text, a range, a list or an array, got {shown(x)}")


def _written_number(name: str, x: Any) -> str:
    q = entries().get(name)
    if isinstance(x, (int, np.integer)) or q is None:
        return repr(x.item() if isinstance(x, np.generic) else x)
    text = exact_text(float(x), q.unit) or repr(float(x))
    plain = text.replace(",", "")
    return plain if plain.replace(".", "").lstrip("-").isdigit() else json.dumps(text, ensure_ascii=False)


def _written_array(x: np.ndarray[Any, Any]) -> str:
    for space in (np.geomspace, np.linspace):
        if x.dtype == np.float64 and x.size > 2 and (x > 0).all() and np.array_equal(space(x[0], x[-1], x.size), x):
            return f"rs.{space.__name__}({float(x[0])!r}, {float(x[-1])!r}, {x.size})"
    return f"[{', '.join(_written('', item) for item in x.tolist())}]"


class Explorer:
    """A plot with controls for its inputs, made by `explore`.

    Attributes
    ----------
    widget : ipywidgets.Widget
        Controls, plot, an error line, and the code of the plot.
    controls : dict
        By input: its control. Its widgets are ``slider``, ``field``, ``menu`` or ``check``.
    """

    def __init__(self, picture: Picture, inputs: Mapping[str, Any]) -> None:
        import ipywidgets

        self._picture = picture
        self._given = dict(inputs)
        self._lock = Lock()  # front ends move controls in their own threads
        self._context = contextvars.copy_context()  # keeps the caller's local definitions
        controls = {name: control(name, start, self._changed) for name, start in inputs.items()}
        self.controls = {name: one for name, one in controls.items() if one is not None}
        self._inputs = {name: self.controls[name].value if name in self.controls else x for name, x in inputs.items()}
        self._start = dict(self._inputs)
        self._shown = self._inputs
        layout = ipywidgets.Layout
        self._canvas = ipywidgets.HTML(layout=layout(width="100%", margin="0"))
        self._trouble = ipywidgets.HTML(layout=layout(width="100%", min_height="28px", margin="0"))
        self._code = ipywidgets.HTML(layout=layout(width="100%", margin="0"))
        self._reset = ipywidgets.Button(description="Reset", tooltip="All inputs as they were at first")
        self._reset.on_click(lambda _: self.reset())
        self._drawn = self._draw(self._inputs)
        cards = ipywidgets.VBox(
            [*(one.box for one in self.controls.values()), self._reset],
            layout=layout(flex="1 1 270px", max_width="420px", padding="4px"),
        )
        right = ipywidgets.VBox(
            [self._canvas, self._trouble, self._code], layout=layout(flex="3 1 420px", min_width="0", padding="4px")
        )
        self.widget = ipywidgets.Box(
            [cards, right], layout=layout(display="flex", flex_flow="row wrap", width="100%", grid_gap="4px 20px")
        )

    @property
    def values(self) -> dict[str, Any]:
        """The inputs of the plot: numbers in base units, names, axes as given."""
        return dict(self._shown)

    @property
    def figure(self) -> Figure | None:
        """The displayed figure, None for scalars."""
        return self._drawn.figure

    @overload
    def set(self, **inputs: Unpack[Keywords]) -> None: ...
    @overload
    def set(self, **inputs: Any) -> None: ...
    def set(self, **inputs: Any) -> None:
        """Move controls, and draw once with all of them.

        Parameters
        ----------
        **inputs
            Inputs with a control, as for `explore`.

        Raises
        ------
        RoofslateError
            If a value is invalid, or the plot cannot be drawn with it. Then no control moves.
        """
        with self._lock:
            read = {}
            for name, given in inputs.items():
                if name not in self.controls:
                    raise unknown("control", name, self.controls)
                read[name] = self.controls[name].read(given)
            moved = {**self._inputs, **read}
            self._drawn = self._draw(moved)
            self._inputs = moved
            for name, value in read.items():
                self.controls[name].put(value)

    def reset(self) -> None:
        """Move all controls back to their start values."""
        self.set(**{name: self._start[name] for name in self.controls})

    def to_code(self) -> str:
        """Return the call that draws the current plot, after ``import roofslate as rs``.

        Returns
        -------
        str
            Its numbers are parsed to the same bits as drawn.
        """
        return self._drawn.code

    def page(self) -> Page:
        """Return the explorer as a page, which starts at the current inputs.

        Returns
        -------
        Page
            Shows itself in Jupyter, and has ``save``.
        """
        starts = {name: self._shown[name] for name in self.controls}
        return Page([self._context.run(self._picture.view, self._given, starts)])

    def save(self, path: str | os.PathLike[str]) -> Path:
        """Write the explorer as one HTML file that computes in any browser, without a network.

        Parameters
        ----------
        path : path-like
            Such as ``"page.html"``.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        RoofslateError
            If this build has no engine for browsers, or a page cannot have the inputs.
        ModuleNotFoundError
            Without Bokeh. Run ``pip install 'roofslate[pages]'``.
        """
        return self.page().save(path)

    def __repr__(self) -> str:
        return self.to_code()

    def _repr_mimebundle_(self, **options: Any) -> dict[str, Any]:
        return {**self.widget._repr_mimebundle_(**options), "text/plain": repr(self)}

    @cached_property
    def anywidget(self) -> Any:
        """The explorer as one anywidget, which marimo shows: ``pip install 'roofslate[marimo]'``."""
        pages = {"markup": self._canvas, "trouble": self._trouble, "code": self._code}
        return front_of(self.controls, pages, self.reset)

    def _display_(self) -> Any:
        """Show itself in marimo, which shows an anywidget and no ipywidgets."""
        return self.anywidget

    def _changed(self, mistake: RoofslateError | None) -> None:
        """Handle a moved control. During a draw, a front end queues only the latest move."""
        with self._lock:
            if mistake is None:
                self._inputs = {**self._inputs, **{name: one.value for name, one in self.controls.items()}}
                try:
                    self._drawn = self._draw(self._inputs)
                except RoofslateError as error:
                    mistake = error
            if mistake is not None:
                look = f"color:var(--jp-error-color1, {style.RED});line-height:1.4;padding:4px 0"
                self._trouble.value = f'<div role="alert" style="{look}">{html.escape(str(mistake))}</div>'

    def _draw(self, inputs: Mapping[str, Any]) -> _Drawn:
        drawn: _Drawn = self._context.run(self._picture.draw, inputs)
        self._shown = dict(inputs)
        self._canvas.value = drawn.markup
        self._trouble.value = ""
        self._code.value = _code_field(drawn.code)
        return drawn


def _code_field(code: str) -> str:
    rows = code.count("\n") + 1
    return (
        f'<textarea readonly rows="{rows}" aria-label="Code of this plot" title="Code of this plot" '
        'spellcheck="false" onclick="this.select()" style="width:100%;box-sizing:border-box;resize:vertical;'
        "white-space:pre;font-family:var(--jp-code-font-family, monospace);"
        "font-size:var(--jp-code-font-size, 13px);line-height:1.4;"
        "padding:6px 8px;border:1px solid var(--jp-border-color2, #bbb);background:var(--jp-layout-color2, #f5f5f5);"
        f'color:var(--jp-content-font-color1, #222)">{html.escape(code)}</textarea>'
    )
