"""Controls of an explorer: an input as something to drag, to choose or to type, under its name and unit."""

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

Tell = Callable[[RoofslateError | None], None]  # that an input was moved, or what is wrong with what was typed
_AROUND = 30.0  # a slider without a range goes from this part of its start to so many times it
_STEPS = 240  # of a slider that is not of whole numbers
_MOST_WHOLE = 128  # whole numbers side by side on a slider; more are on a logarithmic one
_COUNTED = ("sequence", "token", "token/sequence", "parameter", "chip")
_NO_END = 1e300
_LARGEST_INTEGER = 2**53  # beyond, a browser has no exact integers
_DIGITS = 6  # that a text has at most to be called exact


def exact_text(x: float, unit: str) -> str | None:
    """The shortest text with a unit that is read as just this number; None where that takes more than six digits."""
    for digits in range(1, _DIGITS + 1):
        text = units.format(x, unit, digits)
        if units.parse(text, unit) == x:
            return text
    return None


def control(name: str, given: Any, tell: Tell) -> Control | None:
    """Make the control of an input; None for what can't be moved, such as an axis.

    Parameters
    ----------
    name : str
        A quantity, ``model``, ``hardware``, ``prices``, or a chart's own parameter.
    given : object
        Where it starts; a tuple is the range of a slider, which starts in its middle.
    tell : callable
        Called when a person has moved it, with None, or with the error of what was typed.

    Raises
    ------
    RoofslateError
        If what is given is not a value or a range of the input.
    """
    if name in PRESETS:
        return _preset_menu(name, given, tell)
    q = entries().get(name)
    if q is None:
        if isinstance(given, bool):
            return Switch(name, given, tell)
        ends = given if isinstance(given, tuple) else (given, given)
        if len(ends) != 2 or not all(isinstance(x, (int, float)) and abs(x) <= _LARGEST_INTEGER for x in ends):
            return None
        q = _parameter(name)
    if q.choices:
        if isinstance(given, tuple):
            raise InputTypeError(f"{name} is one of {q.range_text}: it has no range, got {shown(given)}")
        return Choice(name, label_of(q), q.choices, given, tell) if isinstance(given, str) else None
    if isinstance(given, (int, float, np.number, str, tuple)) or hasattr(given, "to_base_units"):
        return Number(q, given, tell)
    return None


def _preset_menu(name: str, given: Any, tell: Tell) -> Choice | None:
    if isinstance(given, list) or hasattr(given, "__array__"):
        return None
    start = find_preset(name, given)
    if start != PRESETS[name][start.name]:
        raise PresetError(f"{name}: the catalog has another {start.name!r} than the one that was given")
    return Choice(name, style.words(name), list(PRESETS[name]), start.name, tell)


def label_of(q: Quantity) -> str:
    """Name of an input and the unit in which plain numbers are read."""
    name, counted = style.words(q.name), style.words(q.name, q.unit)
    if q.unit == "1" or counted == f"{name} ({name})":
        return name
    return counted if counted.endswith(")") else f"{counted} ({q.unit})"


def _parameter(name: str) -> Quantity:
    """A chart's own parameter, as a quantity that may be any number."""
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
    """What all controls have: a name, a present value, and a box to be shown."""

    name: str
    value: Any
    box: Any

    def __init__(self, name: str, tell: Tell) -> None:
        self.name, self._tell = name, tell
        self._quiet = False

    @abstractmethod
    def read(self, given: Any) -> Any:
        """A value as the control has it, or the error that says what is wrong with it."""

    def put(self, value: Any) -> None:
        """Take and show a value that was read, without telling."""
        self._quiet = True
        try:
            self.value = value
            self._show()
        finally:
            self._quiet = False

    @abstractmethod
    def _show(self) -> None:
        """Move what is seen to the present value."""

    def _moved(self, value: Any) -> None:
        if not self._quiet and value != self.value:
            self.put(value)
            self._tell(None)


class Choice(Control):
    """A drop-down of words: of presets, or of a choice."""

    def __init__(self, name: str, label: str, words: Sequence[str], start: str, tell: Tell) -> None:
        import ipywidgets

        super().__init__(name, tell)
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

    def __init__(self, name: str, start: bool, tell: Tell) -> None:
        import ipywidgets

        super().__init__(name, tell)
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
    """What a slider goes along, in base units."""

    low: float
    high: float
    spacing: str  # "log"; "linear" for a share and for signed numbers; "whole" for a few whole numbers, each a step
    whole: bool  # whether only whole numbers count

    @property
    def step(self) -> float:
        """From one place of the slider to the next: decades where the spacing is logarithmic."""
        if self.spacing == "log":
            return math.log10(self.high / self.low) / _STEPS
        return 1.0 if self.spacing == "whole" else (self.high - self.low) / _STEPS

    @property
    def middle(self) -> float:
        """Where a range starts."""
        if self.spacing == "log":
            return math.sqrt(self.low) * math.sqrt(self.high)
        return (self.low + self.high) / 2

    def clipped(self, x: float) -> float:
        """The point of the track that is nearest to a number."""
        return min(max(x, self.low), self.high)

    def place(self, x: float) -> int:
        """Steps up to a number."""
        x = self.clipped(x)
        return round((math.log10(x / self.low) if self.spacing == "log" else x - self.low) / self.step)

    def rounded(self, x: float, unit: str) -> float:
        """A number on the track with no more digits than its steps tell apart, so that its text is exact."""
        finest = 10**self.step - 1 if self.spacing == "log" else self.step / max(abs(self.low), abs(self.high))
        digits = max(3, 1 + math.ceil(-math.log10(finest)))
        x = units.parse(units.format(float(round(x)) if self.whole else x, unit, digits), unit)
        return self.clipped(float(round(x)) if self.whole else x)

    def slider(self, x: float, told: str) -> Any:
        """The widget, at a number."""
        import ipywidgets

        at = self.clipped(x)
        look = {"readout": False, "layout": ipywidgets.Layout(width="100%", margin="0"), "tooltip": told}
        if self.spacing == "log":
            low, high = math.log10(self.low), math.log10(self.high)
            return ipywidgets.FloatLogSlider(at, min=low, max=high, step=self.step, **look)
        if self.spacing == "whole":
            return ipywidgets.IntSlider(round(at), min=int(self.low), max=int(self.high), **look)
        return ipywidgets.FloatSlider(at, min=self.low, max=self.high, step=self.step, **look)


def _track(q: Quantity, low: float, high: float, *, whole: bool) -> _Track:
    """The track between two ends that suits a quantity."""
    if _is_share(q):
        track = _Track(low, high, "linear", whole)
        return replace(track, low=low + track.step) if q.above_low and low == q.low else track
    if whole and high - low <= _MOST_WHOLE:
        return _Track(low, high, "whole", whole)
    return _Track(low, high, "log" if low > 0 else "linear", whole)


def _is_share(q: Quantity) -> bool:
    """Whether a quantity has two ends; the core writes its largest number where it has none."""
    return q.low > -_NO_END and q.high < _NO_END


def _around(q: Quantity, x: float, *, whole: bool) -> tuple[float, float] | None:
    """Ends of a slider that starts at a number: all that is valid, or some decades; None at zero and at infinity."""
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
    """A slider, and beside its name a field that has the number with its unit and takes another one.

    Parameters
    ----------
    q : Quantity
    given : float, str or tuple
        Where it starts, or the two ends of the slider.
    tell : callable
        As for `control`.

    Attributes
    ----------
    slider : ipywidgets.Widget or None
        None where nothing says how far it should go: at zero and at infinity.
    field : ipywidgets.Text
    """

    def __init__(self, q: Quantity, given: Any, tell: Tell) -> None:
        import ipywidgets

        super().__init__(q.name, tell)
        self._q = q
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
        told, narrow = f"{label_of(q)}: {q.range_text}", ipywidgets.Layout(flex="0 0 9.5em", width="9.5em", margin="0")
        self.field = ipywidgets.Text(self.text, continuous_update=False, tooltip=told, layout=narrow)
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
            self._tell(error)
        else:
            self.put(value)  # also where the same number was typed in other words
            self._tell(None)

    def read(self, given: Any) -> float:
        x = number(given, self._q)
        if self._integer and not self._q.theme and not x.is_integer():
            raise ValueRangeError(f"{self.name} must be a whole number, got {shown(given)}")
        return self._typed_as_given(x)

    @property
    def text(self) -> str:
        """The present value as a person reads it."""
        return exact_text(self.value, self._q.unit) or f"≈ {units.format(self.value, self._q.unit)}"

    def _show(self) -> None:
        self.field.value = self.text
        if self.slider and self._track:
            at = self._track.clipped(self.value)
            self.slider.value = round(at) if self._track.spacing == "whole" else at


def _label(text: str, told: str = "") -> Any:
    import ipywidgets

    words = f'<div title="{html.escape(told)}" style="line-height:1.3;padding:5px 0">{html.escape(text)}</div>'
    return ipywidgets.HTML(words, layout=ipywidgets.Layout(margin="0 8px 0 0", flex="1 1 0", min_width="0"))


def _card(*parts: Any) -> Any:
    import ipywidgets

    return ipywidgets.VBox(list(parts), layout=ipywidgets.Layout(width="100%", padding="0 0 8px", overflow="visible"))
