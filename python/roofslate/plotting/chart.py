"""Charts of the lecture: numbers, drawing, inputs and report paragraph, with evaluation."""

from __future__ import annotations

import inspect
import itertools
import math
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, overload

from roofslate._base.locks import cached_property
from roofslate._base.messages import warn
from roofslate.display import style
from roofslate.errors import AxisError, MissingInput, UnusedInput, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.evaluation.value import value
from roofslate.grid.basis import carriers_of
from roofslate.grid.read import Settled
from roofslate.plotting.findings import written
from roofslate.presets.catalog import api_prices, storage
from roofslate.presets.lookup import PRESETS
from roofslate.presets.preset import Preset
from roofslate.registry.registry import ancestors, current, entries
from roofslate.registry.values import parsed

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr
    from matplotlib.axes import Axes
    from typing_extensions import Unpack

    from roofslate.typing import Keywords

__all__ = [
    "Chart",
    "chart",
    "completed",
    "dataset",
    "datasets",
    "filled",
    "first_reach",
    "note",
    "number",
    "numbers",
    "record",
    "source",
    "tabulated",
]

Data = Callable[..., "pd.DataFrame"]
Draw = Callable[["Axes", "pd.DataFrame"], None]

# Outputs and inputs of the evaluations behind a table, in order, while they are collected.
Evaluations = list[tuple[tuple[str, ...], Mapping[str, Any]]]
_recorded: ContextVar[Evaluations | None] = ContextVar("recorded", default=None)

_BOARD = "the lecture's board"
_OWN = ("model", "hardware", "calibration")  # with one of them the lecture completes no call


@dataclass
class _Call:
    """A call of a chart: its inputs, those its evaluations use, and the line below the title.

    Attributes
    ----------
    inputs : mapping
        As given.
    taken : set of str
        Quantities that the evaluations behind the table depend on.
    scenario : str
        Source of the inputs that complete the call. Empty if there are none.
    bases : list of str
        "lower bound" or "estimate", for each evaluation that depends on constants of a real machine.
    """

    inputs: Mapping[str, Any]
    used_inputs: set[str] = field(default_factory=set)
    scenario: str = ""
    bases: list[str] = field(default_factory=list)

    @property
    def conditions(self) -> str:
        """The line below the title: the source of the inputs."""
        if self.scenario:
            given = [style.words(name) for name in self.inputs]
            count = f"{len(given)} inputs" if len(given) > 2 else " and ".join(given)
            return f"{self.scenario}, {count} given" if given else self.scenario
        presets = [self.inputs[keyword] for keyword in PRESETS if keyword in self.inputs]
        return ", ".join(str(getattr(x, "name", x)) for x in presets if isinstance(x, (str, Preset)))

    @property
    def basis(self) -> str:
        """The corner text of the plot: lower bound or estimate."""
        return " | ".join(dict.fromkeys(self.bases))


_call: ContextVar[_Call | None] = ContextVar("call", default=None)


class Chart:
    """A chart of the lecture: call it to draw, call `data` for its numbers.

    Attributes
    ----------
    name : str
        As in ``rs.charts.<name>``.
    number : str
        Number in the list of charts, such as ``"C2"``.
    title : str
        Headline of the lecture's picture, the subject with its conditions.
    subject : str
        Title with other inputs: y by x.
    chapter : int
        Chapter of the lecture.
    brief : str
        Description in one line.
    size : tuple of float
        Width and height of a new figure, in inches.
    input_names : tuple of str
        Names of `inputs`, known without an evaluation.
    inputs : dict
        Inputs of the chart, at the lecture's values in base units.
    """

    def __init__(
        self,
        draw: Draw,
        data: Data,
        *,
        number: str,
        title: str,
        subject: str,
        chapter: int,
        paragraph: str,
        inputs: tuple[str, ...],
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
        self.number, self.chapter, self.size, self.input_names = number, chapter, size, inputs
        self.title, self.subject = title, subject
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
        """Draw the chart into `ax`, or into a new figure in the house style."""
        table, call = self._table(inputs)
        words = [str(getattr(x, "name", x)) for x in inputs.values() if isinstance(x, (str, Preset))]
        with style.drawing(ax, self.size, formulas="$" not in "".join(words)) as ax:
            style.title(ax, self.headline(inputs), below=call.conditions, corner=call.basis)
            self._draw(ax, table)
        return ax

    @overload
    def data(self, **inputs: Unpack[Keywords]) -> pd.DataFrame: ...
    @overload
    def data(self, **inputs: Any) -> pd.DataFrame: ...
    def data(self, **inputs: Any) -> pd.DataFrame:
        """Compute the numbers behind the chart, in base units.

        Parameters
        ----------
        **inputs
            As for the chart itself.

        Returns
        -------
        pandas.DataFrame
            ``attrs["units"]`` holds the units of its columns, ``attrs["marks"]`` the numbers marked in the picture.
        """
        return self._table(inputs)[0]

    def headline(self, inputs: Mapping[str, Any]) -> str:
        """Return the title with these inputs, with the lecture's conditions if there are none."""
        return self.subject if inputs else self.title

    def takes(self, name: str, inputs: Mapping[str, Any]) -> bool:
        """Return True if any number of the chart depends on one of its inputs."""
        return name in self._computed(inputs)[1].used_inputs

    def _computed(self, inputs: Mapping[str, Any]) -> tuple[pd.DataFrame, _Call]:
        """Compute the numbers, and the inputs they depend on."""
        call = _Call(inputs)
        token = _call.set(call)
        try:
            return self._data(**inputs), call
        finally:
            _call.reset(token)

    def _table(self, inputs: Mapping[str, Any]) -> tuple[pd.DataFrame, _Call]:
        """Compute the numbers, and warn about inputs without effect."""
        enclosing = _call.get()
        table, call = self._computed(inputs)
        if enclosing is not None:
            enclosing.used_inputs |= call.used_inputs
            return table, call
        parameters = {p.name for p in _keywords(self._data)}
        unused = [
            name
            for name, x in inputs.items()
            if name in entries()
            and name not in parameters
            and name not in call.used_inputs
            and not _is_of_tariff(name, x)
        ]
        if unused and call.used_inputs:
            warn("; ".join(f"{name!r} has no effect on the chart {self.name}" for name in unused), UnusedInput)
        return table, call

    @cached_property
    def inputs(self) -> dict[str, Any]:
        """Inputs of the chart, at the lecture's values in base units.

        The chart declares the names. Each value comes from the first evaluation with that input, when the lecture's
        table is computed, so no scenario is written twice.
        """
        if not self.input_names:
            return {}
        defaults = {p.name: p.default for p in _keywords(self._data) if p.kind is inspect.Parameter.KEYWORD_ONLY}
        evaluations = [defaults, *(inputs for _, inputs in self.evaluations())]
        return {name: _start_value(self.name, name, evaluations) for name in self.input_names}

    def evaluations(self, **inputs: Any) -> Evaluations:
        """Collect outputs and inputs of each evaluation behind the table."""
        token = _recorded.set([])
        try:
            self._computed(inputs)
            return _recorded.get() or []
        finally:
            _recorded.reset(token)

    @property
    def paragraph(self) -> str:
        """Fill the report's paragraph about the chart with computed numbers."""
        return written(self._paragraph, self._computed({})[0].attrs)


def _is_of_tariff(name: str, x: Any) -> bool:
    """Return True for a value of a price list or memory tier, which charts accept as presets."""
    presets = itertools.chain(api_prices.values(), storage.values())
    return isinstance(x, (str, int, float)) and any(preset.values.get(name) == x for preset in presets)


def _start_value(chart: str, name: str, evaluations: list[Mapping[str, Any]]) -> Any:
    """Return the first single value of an input in evaluations."""
    for inputs in evaluations:
        value = _single(name, inputs[name]) if name in inputs else None
        if value is not None:
            return value
    raise MissingInput(
        f"the chart {chart} declares the input {name!r}, but no evaluation of its table has a single value of it"
    )


def _single(name: str, x: Any) -> Any:
    """Return one number in base units or one word, None for an axis, a range or a preset."""
    quantity = entries().get(name)
    if name in PRESETS or isinstance(x, bool) or (quantity and quantity.choices):
        return x if isinstance(x, (str, bool)) else None
    if quantity is None:
        return x if isinstance(x, (int, float)) else None
    if isinstance(x, str):
        x = parsed(x, quantity)
    if isinstance(x, int):
        return x
    return float(x) if isinstance(x, float) and math.isfinite(x) else None


def _keywords(data: Data) -> list[inspect.Parameter]:
    parameters = inspect.signature(data).parameters.values()
    return [p for p in parameters if p.kind in (inspect.Parameter.KEYWORD_ONLY, inspect.Parameter.VAR_KEYWORD)]


def chart(
    number: str,
    data: Data,
    *,
    title: str,
    subject: str,
    paragraph: str,
    inputs: tuple[str, ...] = (),
    chapter: int = 1,
    size: tuple[float, float] = (6.4, 4.0),
) -> Callable[[Draw], Chart]:
    """Make a chart from a drawing function, whose docstring becomes the chart's docstring.

    Parameters
    ----------
    number : str
        Number in the list of charts.
    data : callable
        Maps the inputs of a call to the table to draw.
    title : str
        Headline of the lecture's picture, the subject with its conditions.
    subject : str
        Title with other inputs: y by x.
    paragraph : str
        Text for the report. ``{name}`` or ``{name:digits}`` is replaced by the mark of that name.
    inputs : tuple of str
        Names of the scalar inputs of the chart, in the order of their controls.
    chapter : int
        Chapter of the lecture.
    size : tuple of float
        Width and height of a new figure, in inches.
    """

    def decorate(draw: Draw) -> Chart:
        return Chart(
            draw,
            data,
            number=number,
            title=title,
            subject=subject,
            chapter=chapter,
            paragraph=paragraph,
            inputs=inputs,
            size=size,
        )

    return decorate


def completed(inputs: Mapping[str, Any]) -> bool:
    """Return True for a call without model, hardware and calibration, which is completed."""
    call = _call.get()
    return not any(name in (inputs if call is None else call.inputs) for name in _OWN)


def filled(
    inputs: Mapping[str, Any], defaults: Mapping[str, Mapping[str, Any]], *, scenario: str = _BOARD
) -> dict[str, Any]:
    """Complete a call by the lecture's inputs, unless it has a model or a machine.

    Parameters
    ----------
    inputs : mapping
        Of the call. They take precedence.
    defaults : mapping
        Inputs by the preset keyword that would supply them. Those of a given keyword are skipped.
    scenario : str
        Source of the defaults, for the line below the title.
    """
    if not completed(inputs):
        return dict(inputs)
    lecture = {name: x for keyword, group in defaults.items() if keyword not in inputs for name, x in group.items()}
    call = _call.get()
    if call is not None and not inputs.keys() >= lecture.keys():
        call.scenario = scenario
    return {**lecture, **inputs}


def source(scenario: str) -> None:
    """Name the source of the completed inputs, below the title."""
    call = _call.get()
    if call is not None:
        call.scenario = scenario


def record(inputs: Mapping[str, Any], outputs: Sequence[str] = ()) -> None:
    """Record an evaluation, for `Chart.inputs`, and the quantities that the table depends on."""
    recorded = _recorded.get()
    if recorded is not None:
        recorded.append((tuple(outputs), inputs))
    note(outputs)


def note(outputs: Iterable[str]) -> None:
    """Record that the table of a chart depends on the inputs of these outputs."""
    call = _call.get()
    if call is not None:
        for output in outputs:
            call.used_inputs |= {output, *(ancestors(output) if output in entries() else ())}


def _note_basis(arrays: Iterable[xr.DataArray]) -> None:
    """Record "lower bound" or "estimate", if constants of a real machine matter."""
    call = _call.get()
    if call is not None:
        carriers = carriers_of(current())
        known = entries()
        bases = [style.basis_of(x.attrs, known[str(x.name)].unit) for x in arrays if x.name in carriers]
        call.bases += [basis for basis in bases if basis]


def dataset(outputs: list[str], **inputs: Any) -> xr.Dataset:
    """Evaluate several quantities."""
    record(inputs, outputs)
    result: Any = evaluate(outputs, Settled(inputs))
    _note_basis(result.data_vars.values())
    return result  # type: ignore[no-any-return]


def number(output: str, **inputs: Any) -> float:
    """Evaluate one quantity at a point."""
    record(inputs, [output])
    try:
        return float(value(output, Settled(inputs)))
    except AxisError as error:
        name = next((name for name in inputs if re.search(rf"\b{name}\b", str(error))), "an input")
        raise AxisError(
            f"a chart draws one scenario, but {name} is an axis. Give one value, or draw rs.evaluate(...) with rs.plot."
        ) from None


def numbers(outputs: list[str], **inputs: Any) -> dict[str, float]:
    """Evaluate several quantities at a point."""
    point = dataset(outputs, **inputs)
    if point.dims:
        raise AxisError(f"a chart draws one scenario, but {next(iter(point.dims))} is an axis. Give one value.")
    return {name: float(point[name]) for name in outputs}


def datasets(outputs: list[str], dim: str, cases: Mapping[Any, Mapping[str, Any]]) -> xr.Dataset:
    """Evaluate several quantities in several cases, along an axis of case names."""
    import pandas as pd
    import xarray as xr

    if not cases:
        raise AxisError(f"{dim}: expected at least one name")
    results = [dataset(outputs, **inputs) for inputs in cases.values()]
    joined = xr.concat(results, pd.Index(list(cases), name=dim), combine_attrs="drop_conflicts")
    if dim in entries():
        joined[dim].attrs["units"] = entries()[dim].unit
    return joined


def tabulated(data: xr.Dataset, dims: str | list[str], name: str, **marks: float) -> pd.DataFrame:
    """Make a table from a dataset, indexed by `dims`. `marks` are numbers without these axes.

    Raises
    ------
    AxisError
        If an input created another axis.
    """
    index = [dims] if isinstance(dims, str) else dims
    further = [str(dim) for dim in data.dims if dim not in index]
    if further:
        raise AxisError(
            f"the chart {name} draws one scenario, but {further[0]} is an axis. Give one value, "
            f"or draw rs.evaluate(...) with rs.plot."
        )
    for dim in index:
        if dim not in data.dims:
            raise AxisError(f"{dim} is an axis of the chart {name}. Give a list of several values.")
    table = data.to_dataframe(dim_order=index)
    table.attrs["marks"] = marks
    table.attrs["units"] = {str(name): array.attrs.get("units", "1") for name, array in data.variables.items()}
    table.attrs["units"] |= {mark: entries()[mark].unit for mark in marks if mark in entries()}
    return table


def first_reach(rising: str, level: str, input_name: str, low: float, high: float, **inputs: Any) -> float:
    """Find the smallest input with `rising` at or above `level`, or inf, by refined grids."""
    import numpy as np

    if not 0 < low < high < math.inf:
        raise ValueRangeError(
            f"{rising} would reach {level} at a {input_name} of {low:g} to {high:g}. Expected positive, finite ends"
        )
    for _ in range(7):
        points = np.geomspace(low, high, 257)
        both = dataset([rising, level], **{**inputs, input_name: points})
        reached = np.broadcast_to((both[rising] >= both[level]).to_numpy(), points.shape)
        if not reached.any():
            return math.inf
        first = int(reached.argmax())
        if first == 0:
            return float(points[0])
        low, high = float(points[first - 1]), float(points[first])
    return high
