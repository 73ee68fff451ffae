"""Controls of an explorer: sliders, menus and fields of inputs, under their names and units."""

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

__all__ = ["Choice", "Control", "Number", "Switch", "control", "exact_text"]

Notify = Callable[[RoofslateError | None], None]  # of a moved input (None), or of a mistake that was typed
_AROUND = 30.0  # a slider without a range goes from this part of its start to so many times it
_STEPS = 240  # of a slider that is not of whole numbers
_MOST_WHOLE = 128  # whole numbers side by side on a slider; more are on a logarithmic one
_COUNTED = ("sequence", "token", "token/sequence", "parameter", "chip")
_NO_END = 1e300
_LARGEST_INTEGER = 2**53  # beyond, a browser has no exact integers
_DIGITS = 6  # that a text has at most to be called exact


def exact_text(x: float, unit: str) -> str | None:
    """Write a number as the shortest text with a unit that is read as the same bits; None beyond six digits."""
    for digits in range(1, _DIGITS + 1):
        text = units.format(x, unit, digits)
        if units.parse(text, unit) == x:
            return text
    return None


def control(name: str, given: Any, notify: Notify) -> Control | None:
    """Make the control of an input; None for what can't be moved, such as an axis.

    Parameters
    ----------
    name : str
        A quantity, ``model``, ``hardware``, ``prices``, or a chart's own parameter.
    given : object
        Where it starts; a tuple is the range of a slider, which starts in its middle.
    notify : callable
        Called when a person has moved it, with None, or with the error of what was typed.

    Raises
    ------
    RoofslateError
        If what is given is not a value or a range of the input.
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
            raise InputTypeError(f"{name} is one of {q.range_text}: it has no range, got {shown(given)}")
        return Choice(name, label_of(q), q.choices, given, notify) if isinstance(given, str) else None
    if isinstance(given, (int, float, np.number, str, tuple)) or hasattr(given, "to_base_units"):
        return Number(q, given, notify)
    return None


def _preset_menu(name: str, given: Any, notify: Notify) -> Choice | None:
    if isinstance(given, list) or hasattr(given, "__array__"):
        return None
    start = find_preset(name, given)
    if start != PRESETS[name][start.name]:
        raise PresetError(f"{name}: the catalog has another {start.name!r} than the one that was given")
    return Choice(name, style.words(name), list(PRESETS[name]), start.name, notify)


def label_of(q: Quantity) -> str:
    """Name of an input and the unit in which plain numbers are read."""
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
        formula="",
        latex="",
    )


class Control(ABC):
    """Control of an input: its name, its present value, and the box to show."""

    name: str
    value: Any
    box: Any

    def __init__(self, name: str, notify: Notify) -> None:
        self.name, self._notify = name, notify
        self._quiet = False

    @abstractmethod
    def read(self, given: Any) -> Any:
        """Read a value as the control holds it, or raise the error that names the mistake."""

    def put(self, value: Any) -> None:
        """Take and show a value that was read, without a notice."""
        self._quiet = True
        try:
            self.value = value
            self._show()
        finally:
            self._quiet = False

    @abstractmethod
    def _show(self) -> None:
        """Move the widgets to the present value."""

    def _moved(self, value: Any) -> None:
        if not self._quiet and value != self.value:
            self.put(value)
            self._notify(None)


class Choice(Control):
    """A drop-down of words: of presets, or of a choice."""

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
    """A box to be checked."""

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
class _Track:
    """Range of a slider and its spacing, in base units."""

    low: float
    high: float
    spacing: str  # "log"; "linear" for a share and for signed numbers; "whole" for a few whole numbers, each a step
    whole: bool  # whether only whole numbers count

    @property
    def step(self) -> float:
        """Distance between neighboring places of the slider, in decades if the spacing is logarithmic."""
        if self.spacing == "log":
            return math.log10(self.high / self.low) / _STEPS
        return 1.0 if self.spacing == "whole" else (self.high - self.low) / _STEPS

    @property
    def middle(self) -> float:
        """Start of a slider that is given as a range."""
        if self.spacing == "log":
            return math.sqrt(self.low) * math.sqrt(self.high)
        return (self.low + self.high) / 2

    def clipped(self, x: float) -> float:
        """Clip a number to the range."""
        return min(max(x, self.low), self.high)

    def place(self, x: float) -> int:
        """Count the steps up to a number."""
        x = self.clipped(x)
        return round((math.log10(x / self.low) if self.spacing == "log" else x - self.low) / self.step)

    def rounded(self, x: float, unit: str) -> float:
        """Round a number to the digits that steps tell apart, so that its text is exact."""
        finest = 10**self.step - 1 if self.spacing == "log" else self.step / max(abs(self.low), abs(self.high))
        digits = max(3, 1 + math.ceil(-math.log10(finest)))
        x = units.parse(units.format(float(round(x)) if self.whole else x, unit, digits), unit)
        return self.clipped(float(round(x)) if self.whole else x)

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


def _track(q: Quantity, low: float, high: float, *, whole: bool) -> _Track:
    """Choose the spacing between two ends that suits a quantity."""
    if _is_share(q):
        track = _Track(low, high, "linear", whole)
        return replace(track, low=low + track.step) if q.above_low and low == q.low else track
    if whole and high - low <= _MOST_WHOLE:
        return _Track(low, high, "whole", whole)
    return _Track(low, high, "log" if low > 0 else "linear", whole)


def _is_share(q: Quantity) -> bool:
    """Return True if a quantity is bounded on both sides; the core writes its largest number for no bound."""
    return q.low > -_NO_END and q.high < _NO_END


def _around(q: Quantity, x: float, *, whole: bool) -> tuple[float, float] | None:
    """Find the ends of a slider that starts at a number: all valid values, or some decades; None at 0 and infinity."""
    if _is_share(q):
        return q.low, q.high
    if x == 0 or not math.isfinite(x):
        return None
    if x < 0:
        return max(2 * x, q.low), 0.0
    low, high = (units.parse(units.format(end, q.unit, 1), q.unit) for end in (x / _AROUND, x * _AROUND))
    return max(low, q.low, 1.0 if whole else 0.0), min(high, q.high)


def _range(q: Quantity, given: tuple[Any, ...]) -> tuple[float, float]:
    if len(given) != 2:
        raise ValueRangeError(f"{q.name}: a range has two ends, (low, high); got {shown(given)}")
    low, high = (number(end, q) for end in given)
    if not low < high < math.inf:
        raise ValueRangeError(f"{q.name}: a range is (low, high) with low below a finite high; got {shown(given)}")
    return low, high


class Number(Control):
    """Slider, with a field for the number and its unit next to its name.

    Parameters
    ----------
    q : Quantity
    given : float, str or tuple
        Where it starts, or the two ends of the slider.
    notify : callable
        As for `control`.

    Attributes
    ----------
    slider : ipywidgets.Widget or None
        None at zero and at infinity, which give no range.
    field : ipywidgets.Text
    label, brief : str
    """

    def __init__(self, q: Quantity, given: Any, notify: Notify) -> None:
        import ipywidgets

        super().__init__(q.name, notify)
        self._q = q
        self.label, self.brief = label_of(q), q.brief
        ranged = isinstance(given, tuple)
        known = _range(q, given) if ranged else (number(given, q),)
        self._integer = isinstance(given[0] if ranged else given, int)
        # a plain number counts something where it is an integer and can't be a share
        counts = q.unit in _COUNTED or (self._integer and q.unit == "1" and (q.low >= 1 or not q.theme))
        whole = counts and all(x.is_integer() for x in known)
        ends = known if ranged else _around(q, known[0], whole=whole)
        self._track = _track(q, *ends, whole=whole) if ends else None
        start = self._track.rounded(self._track.middle, q.unit) if ranged and self._track else known[0]
        self.value = self._typed_as_given(start)
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
        # a slider that is shown moves its start to the nearest of its steps by itself
        if self._track and self._track.place(x) != self._track.place(self.value):
            self._moved(self._typed_as_given(self._track.rounded(x, self._q.unit)))

    def _typed(self, text: str) -> None:
        if self._quiet or text == self.text:
            return
        try:
            value = self.read(text.removeprefix("≈").strip())
        except RoofslateError as error:
            self._notify(error)
        else:
            self.put(value)  # also where the same number was typed in other words
            self._notify(None)

    def read(self, given: Any) -> float:
        x = number(given, self._q)
        if self._integer and not self._q.theme and not x.is_integer():
            raise ValueRangeError(f"{self.name} must be a whole number, got {shown(given)}")
        return self._typed_as_given(x)

    @property
    def text(self) -> str:
        """Present value as a text."""
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
