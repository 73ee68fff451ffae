"""What a chart is: its numbers, how they are drawn, and what the report says about it."""

from __future__ import annotations

import functools
import inspect
import math
import re
from collections.abc import Callable, Iterator, Mapping
from contextvars import ContextVar
from typing import TYPE_CHECKING, Any, overload

from roofslate import units
from roofslate.display import style
from roofslate.errors import AxisError, RoofslateError, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.evaluation.value import value
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries
from roofslate.registry.values import parsed

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from typing_extensions import Unpack

    from roofslate.typing import Keywords

__all__ = ["Chart", "chart", "dataset", "datasets", "filled", "first_reach", "number", "numbers", "tabulated", "watch"]

Data = Callable[..., "pd.DataFrame"]
Draw = Callable[["Axes", "pd.DataFrame"], None]

# Where one looks on: the inputs of every evaluation of the table that is made.
_watched: ContextVar[list[Mapping[str, Any]] | None] = ContextVar("watched", default=None)


class Chart:
    """One chart of the lecture: call it to draw, ask `data` for the numbers behind it.

    Attributes
    ----------
    name : str
        As in ``rs.charts.<name>``.
    number : str
        Its number in the list of charts, such as ``"C2"``.
    title : str
        The point that it makes, a short sentence.
    chapter : int
        Chapter of the lecture.
    brief : str
        What it shows, in a line.
    size : tuple of float
        Width and height of a figure of its own, in inches.
    inputs : dict
        What moves the picture, with the lecture's values in base units.
    """

    def __init__(
        self,
        draw: Draw,
        data: Data,
        *,
        number: str,
        title: str,
        chapter: int,
        paragraph: str,
        size: tuple[float, float],
    ) -> None:
        self.name = self.__name__ = draw.__name__
        self.__module__ = draw.__module__
        self.__doc__ = inspect.getdoc(draw)
        self.__signature__ = inspect.Signature(
            [
                inspect.Parameter("ax", inspect.Parameter.POSITIONAL_OR_KEYWORD, default=None),
                *_keywords(data),
            ]
        )
        self.number, self.title, self.chapter, self.size = number, title, chapter, size
        self.brief = (self.__doc__ or "").partition("\n")[0]
        self._draw, self._data, self._paragraph = draw, data, paragraph

    def __repr__(self) -> str:
        return f"<chart {self.number} {self.name}: {self.brief}>"

    def __reduce__(self) -> str:
        return self.name

    @overload
    def __call__(self, ax: Axes | None = None, **inputs: Unpack[Keywords]) -> Axes: ...
    @overload
    def __call__(self, ax: Axes | None = None, **inputs: Any) -> Axes: ...
    def __call__(self, ax: Axes | None = None, **inputs: Any) -> Axes:
        """Draw the chart: into `ax`, or into a new figure in the house style."""
        table = self._data(**inputs)
        with style.house_style():
            ax = style.axes(ax, self.size)
            style.title(ax, self.title)
            self._draw(ax, table)
        return ax

    @overload
    def data(self, **inputs: Unpack[Keywords]) -> pd.DataFrame: ...
    @overload
    def data(self, **inputs: Any) -> pd.DataFrame: ...
    def data(self, **inputs: Any) -> pd.DataFrame:
        """Give the numbers behind the chart, in base units.

        Parameters
        ----------
        **inputs
            As for the chart itself.

        Returns
        -------
        pandas.DataFrame
            ``attrs["units"]`` holds the units of its columns, ``attrs["marks"]`` those that are marked in it.
        """
        return self._data(**inputs)

    @functools.cached_property
    def inputs(self) -> dict[str, Any]:
        """The single numbers and words that move the picture, as the lecture's has them, in base units.

        No chart lists what it takes. These are what its evaluations were given that, when it is given to the chart,
        leaves the lecture's table as it is, and that changes it when it is another.
        """
        token = _watched.set([])
        try:
            lecture = self._data()
            seen = [dict(_defaults(self._data)), *(_watched.get() or [])]
        finally:
            _watched.reset(token)
        found: dict[str, Any] = {}
        for name in dict.fromkeys(name for inputs in seen for name in inputs):
            for x in dict.fromkeys(_plain(name, inputs[name]) for inputs in seen if name in inputs):
                if x is not None and self._gives({**found, name: x}, lecture):
                    found[name] = x
                    break
        # what is left has a say beside all the others
        return {
            name: x
            for name, x in found.items()
            if any(self._gives({**found, name: other}, lecture) is False for other in _neighbours(name, x))
        }

    def _gives(self, inputs: Mapping[str, Any], table: pd.DataFrame) -> bool | None:
        """Whether inputs give just this table; None where they give none."""
        try:
            made = self._data(**inputs)
        except RoofslateError:
            return None
        return made.equals(table) and repr(made.attrs) == repr(table.attrs)

    @property
    def paragraph(self) -> str:
        """What the report says about the chart, with its numbers computed."""
        told = self._data().attrs

        def written(match: re.Match[str]) -> str:
            name, digits = match[1], int(match[2] or 3)
            value = told["marks"][name]
            text = units.format(value, told["units"][name], digits)
            if told["units"][name] == "parameter":
                text = text.replace("M", " million").replace("G", " billion")
            return text

        return re.sub(r"\{(\w+)(?::(\d))?\}", written, self._paragraph)


def _defaults(data: Data) -> Iterator[tuple[str, Any]]:
    return ((p.name, p.default) for p in _keywords(data) if p.kind is inspect.Parameter.KEYWORD_ONLY)


def _plain(name: str, x: Any) -> Any:
    """One number in base units, or one word; None for anything else."""
    known = entries().get(name)
    if name in PRESETS or isinstance(x, bool) or (known and known.choices):
        return x if isinstance(x, (str, bool)) else None
    if known is None:
        return x if isinstance(x, (int, float)) else None
    if isinstance(x, str):
        x = parsed(x, known)
    if isinstance(x, int):
        return x
    return float(x) if isinstance(x, float) and math.isfinite(x) else None


def _neighbours(name: str, x: Any) -> list[Any]:
    """Other values of an input, one of which should make a difference."""
    if isinstance(x, bool):
        return [not x]
    if isinstance(x, str):
        return [word for word in (PRESETS.get(name) or entries()[name].choices) if word != x]
    return [x + 1, x - 1] if isinstance(x, int) else [1.25 * x, 0.8 * x]


def _keywords(data: Data) -> list[inspect.Parameter]:
    parameters = inspect.signature(data).parameters.values()
    return [p for p in parameters if p.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)]


def chart(
    number: str,
    data: Data,
    *,
    title: str,
    paragraph: str,
    chapter: int = 1,
    size: tuple[float, float] = (6.4, 4.0),
) -> Callable[[Draw], Chart]:
    """Make a chart of a function that draws; its docstring is the chart's.

    Parameters
    ----------
    number : str
        Its number in the list of charts.
    data : callable
        Takes the inputs of a call, gives the table that is drawn.
    title : str
        The point that it makes, a short sentence.
    paragraph : str
        Words for the report; ``{name}`` or ``{name:digits}`` is the mark of that name.
    chapter : int
        Chapter of the lecture.
    size : tuple of float
        Width and height of a figure of its own, in inches.
    """

    def made(draw: Draw) -> Chart:
        return Chart(draw, data, number=number, title=title, chapter=chapter, paragraph=paragraph, size=size)

    return made


def filled(inputs: Mapping[str, Any], defaults: Mapping[str, Mapping[str, Any]]) -> dict[str, Any]:
    """Complete the inputs of a call by the lecture's; those under a preset's keyword only where no preset is given."""
    lecture = {name: x for keyword, group in defaults.items() if keyword not in inputs for name, x in group.items()}
    return {**lecture, **inputs}


def watch(inputs: Mapping[str, Any]) -> None:
    """Tell who looks on what is evaluated."""
    watched = _watched.get()
    if watched is not None:
        watched.append(inputs)


def dataset(outputs: list[str], **inputs: Any) -> xr.Dataset:
    """Evaluate several quantities."""
    watch(inputs)
    found: Any = evaluate(outputs, **inputs)
    return found  # type: ignore[no-any-return]


def number(output: str, **inputs: Any) -> float:
    """Evaluate one quantity at a point."""
    watch(inputs)
    try:
        return float(value(output, **inputs))
    except AxisError as error:
        listed = [name for name in inputs if re.search(rf"\b{name}\b", str(error))]
        raise AxisError(
            f"a chart draws one scenario, but {listed[0] if listed else 'an input'} is an axis: give one value, "
            f"or draw rs.evaluate(...) with rs.plot"
        ) from None


def numbers(outputs: list[str], **inputs: Any) -> dict[str, float]:
    """Evaluate several quantities at a point."""
    found = dataset(outputs, **inputs)
    if found.dims:
        raise AxisError(f"a chart draws one scenario, but {next(iter(found.dims))} is an axis: give one value")
    return {name: float(found[name]) for name in outputs}


def datasets(outputs: list[str], along: str, cases: Mapping[Any, Mapping[str, Any]]) -> xr.Dataset:
    """Evaluate several quantities for each of some cases, whose names make an axis."""
    import pandas as pd
    import xarray as xr

    if not cases:
        raise AxisError(f"{along}: expected at least one name")
    found = [dataset(outputs, **inputs) for inputs in cases.values()]
    joined = xr.concat(found, pd.Index(list(cases), name=along), combine_attrs="drop_conflicts")
    if along in entries():
        joined[along].attrs["units"] = entries()[along].unit
    return joined


def tabulated(data: xr.Dataset, dims: str | list[str], name: str, **marks: float) -> pd.DataFrame:
    """Table of a dataset with `dims` as its index, its numbers without these axes given as marks.

    Raises
    ------
    AxisError
        If an input made another axis.
    """
    wanted = [dims] if isinstance(dims, str) else dims
    others = [str(dim) for dim in data.dims if dim not in wanted]
    if others:
        raise AxisError(
            f"the chart {name} draws one scenario, but {others[0]} is an axis: give one value, "
            f"or draw rs.evaluate(...) with rs.plot"
        )
    for dim in wanted:
        if dim not in data.dims:
            raise AxisError(f"{dim} is an axis of the chart {name}: give a list of several values")
    table = data.to_dataframe(dim_order=wanted)
    table.attrs["marks"] = marks
    table.attrs["units"] = {str(name): array.attrs.get("units", "1") for name, array in data.variables.items()}
    table.attrs["units"] |= {mark: entries()[mark].unit for mark in marks if mark in entries()}
    return table


def first_reach(rising: str, level: str, along: str, low: float, high: float, **inputs: Any) -> float:
    """Find the input from which on one quantity is at least another, by closer and closer looks; inf: never."""
    import numpy as np

    if not 0 < low < high < math.inf:
        raise ValueRangeError(
            f"{rising} would reach {level} at a {along} of {low:g} to {high:g}, where no range can be searched"
        )
    for _ in range(7):
        points = np.geomspace(low, high, 257)
        found = dataset([rising, level], **{**inputs, along: points})
        reached = np.broadcast_to((found[rising] >= found[level]).to_numpy(), points.shape)
        if not reached.any():
            return math.inf
        first = int(reached.argmax())
        if first == 0:
            return float(points[0])
        low, high = float(points[first - 1]), float(points[first])
    return high
