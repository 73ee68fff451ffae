"""Controls of an explorer: sliders, menus and fields, with names and units of inputs."""

from __future__ import annotations

import html
import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from roofslate import units
from roofslate._base.messages import shown, unknown
from roofslate.display import style
from roofslate.errors import InputTypeError, PresetError, RoofslateError, ValueRangeError
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.registry.registry import Quantity, entries
from roofslate.registry.values import number

__all__ = ["Choice", "Control", "Number", "Sliding", "Switch", "Track", "control", "exact_text", "label_of", "sliding"]

Notify = Callable[[RoofslateError | None], None]  # called with None for a moved input, or with the error of typed text
_AROUND = 30.0  # a slider without a range spans its start divided and multiplied by this
_STEPS = 240  # of a slider of real numbers
_MOST_WHOLE = 128  # integers on a linear slider, more need a logarithmic one
_COUNTED = ("sequence", "token", "token/sequence", "parameter", "chip")
_NO_END = 1e300
_LARGEST_INTEGER = 2**53  # above it, browsers have no exact integers
_DIGITS = 6  # of an exact text, at most


def exact_text(x: float, unit: str) -> str | None:
    """Write a number as the shortest text with the same bits, None beyond six digits."""
    for digits in range(1, _DIGITS + 1):
        text = units.format(x, unit, digits)
        if units.parse(text, unit) == x:
            return text
    return None


def control(name: str, given: Any, notify: Notify) -> Control | None:
    """Make the control of an input, or None if it cannot move, such as an axis.

    Parameters
    ----------
    name : str
        A quantity, ``model``, ``hardware``, ``prices``, or a parameter of a chart.
    given : object
        Start value. A tuple is the range of a slider, which starts at its middle.
    notify : callable
        Called after a user moved it, with None, or with the error of the typed text.

    Raises
    ------
    RoofslateError
        If `given` is no value or range of the input.
    """
    if name in PRESETS:
        return _preset_menu(name, given, notify)
    q = entries().get(name)
    if q is None:
        if isinstance(given, bool):
            return Switch(name, given, notify)
        ends = given if isinstance(given, tuple) else (given, given)
        if len(ends) != 2 or not all(isinstance(x, (int, float)) and abs(x) <= _LARGEST_INTEGER for x in ends):
            return None
        q = _parameter(name)
    if q.choices:
        if isinstance(given, tuple):
            raise InputTypeError(f"{name} is one of {q.range_text}: expected one of them, got {shown(given)}")
        return Choice(name, label_of(q), q.choices, given, notify) if isinstance(given, str) else None
    if isinstance(given, (int, float, np.number, str, tuple)) or hasattr(given, "to_base_units"):
        return Number(q, given, notify)
    return None


def _preset_menu(name: str, given: Any, notify: Notify) -> Choice | None:
    if isinstance(given, list) or hasattr(given, "__array__"):
        return None
    start = find_preset(name, given)
    if start.name not in PRESETS[name]:  # a model of a file
        return None
    if start != PRESETS[name][start.name]:
        raise PresetError(f"{name}: the catalog has a different {start.name!r}. Give it another name.")
    return Choice(name, style.words(name), list(PRESETS[name]), start.name, notify)


def label_of(q: Quantity) -> str:
    """Return the name of an input and the unit of its plain numbers."""
    name, counted = style.words(q.name), style.words(q.name, q.unit)
    if q.unit == "1" or counted == f"{name} ({name})":
        return name
    return counted if counted.endswith(")") else f"{counted} ({q.unit})"


def _parameter(name: str) -> Quantity:
    """Describe a parameter of a chart as a quantity without bounds."""
    return Quantity(
        name=name,
        theme="",
        symbol=name,
        unit="1",
        brief="parameter of the chart",
        source="",
        computed=False,
        low=-math.inf,
        high=math.inf,
        above_low=False,
        default=None,
        choices=(),
        needs=(),
        fallback=None,
        bound=None,
    )


class Control(ABC):
    """The control of an input: its name, its current value, and its widgets."""

    name: str
    value: Any
    box: Any

    def __init__(self, name: str, notify: Notify) -> None:
        self.name, self._notify = name, notify
        self._quiet = False

    @abstractmethod
    def read(self, given: Any) -> Any:
        """Convert a value to the control's form, or raise an error."""

    def put(self, value: Any) -> None:
        """Set and show a converted value, without a notification."""
        self._quiet = True
        try:
            self.value = value
            self._show()
        finally:
            self._quiet = False

    @abstractmethod
    def _show(self) -> None:
        """Move the widgets to the current value."""

    def _moved(self, value: Any) -> None:
        if not self._quiet and value != self.value:
            self.put(value)
            self._notify(None)


class Choice(Control):
    """A drop-down of words: presets, or a choice."""

    def __init__(self, name: str, label: str, words: Sequence[str], start: str, notify: Notify) -> None:
        import ipywidgets

        super().__init__(name, notify)
        self._words = tuple(words)
        self.value = self.read(start)
        layout = ipywidgets.Layout(width="100%", margin="0")
        self.menu = ipywidgets.Dropdown(options=self._words, value=self.value, tooltip=label, layout=layout)
        self.menu.observe(lambda change: self._moved(change["new"]), "value")
        self.box = _card(_label(label), self.menu)

    def read(self, given: Any) -> str:
        if self.name in PRESETS:
            given = find_preset(self.name, given).name
        if given not in self._words:
            raise unknown(self.name, given, self._words)
        return str(given)

    def _show(self) -> None:
        self.menu.value = self.value


class Switch(Control):
    """A check box."""

    def __init__(self, name: str, start: bool, notify: Notify) -> None:
        import ipywidgets

        super().__init__(name, notify)
        self.value = start
        layout = ipywidgets.Layout(width="100%", margin="0")
        self.check = ipywidgets.Checkbox(start, description=style.words(name), indent=False, layout=layout)
        self.check.observe(lambda change: self._moved(change["new"]), "value")
        self.box = _card(self.check)

    def read(self, given: Any) -> bool:
        if not isinstance(given, bool):
            raise InputTypeError(f"{self.name}: expected True or False, got {shown(given)}")
        return given

    def _show(self) -> None:
        self.check.value = self.value


@dataclass(frozen=True)
class Track:
    """The range of a slider and its spacing, in base units."""

    low: float
    high: float
    spacing: str  # "log", "linear" for fractions and signed numbers, "whole" for a few integers, one per step
    integral: bool  # True if only integers are valid

    @property
    def step(self) -> float:
        """The step of the slider, in decades if the spacing is logarithmic."""
        if self.spacing == "log":
            return math.log10(self.high / self.low) / _STEPS
        return 1.0 if self.spacing == "whole" else (self.high - self.low) / _STEPS

    @property
    def middle(self) -> float:
        """The start of a slider given as a range."""
        if self.spacing == "log":
            return math.sqrt(self.low) * math.sqrt(self.high)
        return (self.low + self.high) / 2

    def clipped(self, x: float) -> float:
        """Clip a number to the range."""
        return min(max(x, self.low), self.high)

    def step_of(self, x: float) -> int:
        """Count the steps up to a number."""
        x = self.clipped(x)
        return round((math.log10(x / self.low) if self.spacing == "log" else x - self.low) / self.step)

    @property
    def digits(self) -> int:
        """The significant digits that steps resolve."""
        finest = 10**self.step - 1 if self.spacing == "log" else self.step / max(abs(self.low), abs(self.high))
        return max(3, 1 + math.ceil(-math.log10(finest)))

    def rounded(self, x: float, unit: str) -> float:
        """Round a number to the digits that steps resolve, so that its text is exact."""
        x = units.parse(units.format(float(round(x)) if self.integral else x, unit, self.digits), unit)
        return self.clipped(float(round(x)) if self.integral else x)

    def slider(self, x: float, tooltip: str) -> Any:
        """Make the widget, at a number."""
        import ipywidgets

        at = self.clipped(x)
        look = {"readout": False, "layout": ipywidgets.Layout(width="100%", margin="0"), "tooltip": tooltip}
        if self.spacing == "log":
            low, high = math.log10(self.low), math.log10(self.high)
            return ipywidgets.FloatLogSlider(at, min=low, max=high, step=self.step, **look)
        if self.spacing == "whole":
            return ipywidgets.IntSlider(round(at), min=int(self.low), max=int(self.high), **look)
        return ipywidgets.FloatSlider(at, min=self.low, max=self.high, step=self.step, **look)


def _track(q: Quantity, low: float, high: float, *, integral: bool) -> Track:
    """Choose a spacing between two ends that suits a quantity."""
    if _is_share(q):
        track = Track(low, high, "linear", integral)
        return replace(track, low=low + track.step) if q.above_low and low == q.low else track
    if integral and high - low <= _MOST_WHOLE:
        return Track(low, high, "whole", integral)
    return Track(low, high, "log" if low > 0 else "linear", integral)


def _is_share(q: Quantity) -> bool:
    """Return True if a quantity is bounded on both sides.

    The core marks a missing bound by its largest number.
    """
    return q.low > -_NO_END and q.high < _NO_END


def _around(q: Quantity, x: float, *, integral: bool) -> tuple[float, float] | None:
    """Return the ends of a slider around a start value, or None at 0 and infinity.

    They span all valid values, or some decades.
    """
    if _is_share(q):
        return q.low, q.high
    if x == 0 or not math.isfinite(x):
        return None
    if x < 0:
        return max(2 * x, q.low), 0.0
    low, high = (units.parse(units.format(end, q.unit, 1), q.unit) for end in (x / _AROUND, x * _AROUND))
    return max(low, q.low, 1.0 if integral else 0.0), min(high, q.high)


def _range(q: Quantity, given: tuple[Any, ...]) -> tuple[float, float]:
    if len(given) != 2:
        raise ValueRangeError(f"{q.name}: expected a range of two ends (low, high), got {shown(given)}")
    low, high = (number(end, q) for end in given)
    if not low < high < math.inf:
        raise ValueRangeError(
            f"{q.name}: expected a range (low, high) with low below a finite high, got {shown(given)}"
        )
    return low, high


@dataclass(frozen=True)
class Sliding:
    """Start value in base units, and range of a slider, None at zero and infinity."""

    value: float
    track: Track | None
    integer: bool  # given as an integer


def sliding(q: Quantity, given: Any) -> Sliding:
    """Read the start value of an input, or the two ends of its slider."""
    ranged = isinstance(given, tuple)
    known = _range(q, given) if ranged else (number(given, q),)
    integer = isinstance(given[0] if ranged else given, int)
    # A plain number is a count if it is an integer and cannot be a fraction.
    counts = q.unit in _COUNTED or (integer and q.unit == "1" and (q.low >= 1 or not q.theme))
    integral = counts and all(x.is_integer() for x in known)
    ends = known if ranged else _around(q, known[0], integral=integral)
    track = _track(q, *ends, integral=integral) if ends else None
    return Sliding(track.rounded(track.middle, q.unit) if ranged and track else known[0], track, integer)


class Number(Control):
    """A slider, with a field for the number and its unit next to its name.

    Parameters
    ----------
    q : Quantity
    given : float, str or tuple
        Start value, or the two ends of the slider.
    notify : callable
        As for `control`.

    Attributes
    ----------
    slider : ipywidgets.Widget or None
        None at zero and infinity, which have no range.
    field : ipywidgets.Text
    label, brief : str
    """

    def __init__(self, q: Quantity, given: Any, notify: Notify) -> None:
        import ipywidgets

        super().__init__(q.name, notify)
        self._q = q
        self.label, self.brief = label_of(q), q.brief
        start = sliding(q, given)
        self._integer, self._track = start.integer, start.track
        self.value = self._typed_as_given(start.value)
        valid, narrow = f"{label_of(q)}: {q.range_text}", ipywidgets.Layout(flex="0 0 9.5em", width="9.5em", margin="0")
        self.field = ipywidgets.Text(self.text, continuous_update=False, tooltip=valid, layout=narrow)
        self.slider = self._track.slider(self.value, label_of(q)) if self._track else None
        line = ipywidgets.Layout(justify_content="space-between", align_items="center", width="100%")
        head = ipywidgets.HBox([_label(label_of(q), q.brief), self.field], layout=line)
        self.box = _card(head, *([self.slider] if self.slider else []))
        self.field.observe(lambda change: self._typed(change["new"]), "value")
        if self.slider:
            self.slider.observe(lambda change: self._slid(change["new"]), "value")

    def _typed_as_given(self, x: float) -> float:
        return int(x) if self._integer and x.is_integer() else x

    def _slid(self, x: float) -> None:
        # A displayed slider snaps its start to the nearest step.
        if self._track and self._track.step_of(x) != self._track.step_of(self.value):
            self._moved(self._typed_as_given(self._track.rounded(x, self._q.unit)))

    def _typed(self, text: str) -> None:
        if self._quiet or text == self.text:
            return
        try:
            value = self.read(text.removeprefix("≈").strip())
        except RoofslateError as error:
            self._notify(error)
        else:
            self.put(value)  # also if the text changed and the number did not
            self._notify(None)

    def read(self, given: Any) -> float:
        x = number(given, self._q)
        if self._integer and not self._q.theme and not x.is_integer():
            raise ValueRangeError(f"{self.name} must be a whole number, got {shown(given)}")
        return self._typed_as_given(x)

    @property
    def text(self) -> str:
        """The current value as a text."""
        return exact_text(self.value, self._q.unit) or f"≈ {units.format(self.value, self._q.unit)}"

    def _show(self) -> None:
        self.field.value = self.text
        if self.slider and self._track:
            at = self._track.clipped(self.value)
            self.slider.value = round(at) if self._track.spacing == "whole" else at


def _label(text: str, tooltip: str = "") -> Any:
    import ipywidgets

    words = f'<div title="{html.escape(tooltip)}" style="line-height:1.3;padding:5px 0">{html.escape(text)}</div>'
    return ipywidgets.HTML(words, layout=ipywidgets.Layout(margin="0 8px 0 0", flex="1 1 0", min_width="0"))


def _card(*parts: Any) -> Any:
    import ipywidgets

    return ipywidgets.VBox(list(parts), layout=ipywidgets.Layout(width="100%", padding="0 0 8px", overflow="visible"))
