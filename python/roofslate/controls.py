"""Controls of an explorer: an input as something to drag, to choose or to type, under its name and unit."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from roofslate import units
from roofslate.charts import _draw
from roofslate.errors import InputTypeError, PresetError, RoofslateError, ValueRangeError, shown, unknown
from roofslate.inputs import PRESETS, find_preset, number
from roofslate.registry import Quantity, entries

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
    return Choice(name, _draw.words(name), list(PRESETS[name]), start.name, tell)


def label_of(q: Quantity) -> str:
    """Name of an input and the unit in which plain numbers are read."""
    name, known = _draw.words(q.name), _draw.words(q.name, q.unit)
    if q.unit == "1" or known == f"{name} ({name})":
        return name
    return known if known != name else f"{name} ({q.unit})"


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


class Control:
    """What all controls have: a name, a present value, and a box to be shown."""

    name: str
    value: Any
    box: Any

    def __init__(self, name: str, tell: Tell) -> None:
        self.name, self._tell = name, tell
        self._quiet = False

    def read(self, given: Any) -> Any:
        """A value as the control has it, or the error that says what is wrong with it."""
        raise NotImplementedError

    def put(self, value: Any) -> None:
        """Take and show a value that was read, without telling."""
        self._quiet = True
        try:
            self.value = value
            self._show()
        finally:
            self._quiet = False

    @property
    def text(self) -> str:
        """The present value as a person reads it."""
        return str(self.value)

    def _show(self) -> None:
        raise NotImplementedError

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
        self.check = ipywidgets.Checkbox(start, description=_draw.words(name), indent=False, layout=layout)
        self.check.observe(lambda change: self._moved(change["new"]), "value")
        self.box = _card(self.check)

    def read(self, given: Any) -> bool:
        if not isinstance(given, bool):
            raise InputTypeError(f"{self.name}: expected True or False, got {shown(given)}")
        return given

    @property
    def text(self) -> str:
        return "yes" if self.value else "no"

    def _show(self) -> None:
        self.check.value = self.value


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
        Logarithmic where numbers are positive, linear for a share or signed numbers, of whole numbers for a count; None
        where nothing says how far it should go: at zero and at infinity.
    field : ipywidgets.Text
    """

    def __init__(self, q: Quantity, given: Any, tell: Tell) -> None:
        import ipywidgets

        super().__init__(q.name, tell)
        self._q = q
        ends = _range(q, given) if isinstance(given, tuple) else None
        start = number(given, q) if ends is None else math.nan
        of = given if ends is None else given[0]
        self._integer = isinstance(of, int)
        # a plain number counts something where it is an integer and can't be a share
        counts = q.unit in _COUNTED or (self._integer and q.unit == "1" and (q.low >= 1 or not q.theme))
        self._whole = counts and all(x.is_integer() for x in ends or [start])
        self._low, self._high = ends or _around(q, start, whole=self._whole) or (math.nan, math.nan)
        wide = self._high - self._low
        if _is_share(q):
            self._spacing = "linear"
        elif self._whole and wide <= _MOST_WHOLE:
            self._spacing = "whole"
        else:
            self._spacing = "log" if self._low > 0 else "linear"
        self._step = 1.0
        if self._spacing == "log":
            self._step = math.log10(self._high / self._low) / _STEPS
        elif self._spacing == "linear":
            self._step = wide / _STEPS
        if self._spacing == "linear" and q.above_low and self._low == q.low:
            self._low += self._step
        if ends is not None:
            middle = math.sqrt(self._low) * math.sqrt(self._high) if self._low > 0 else (self._low + self._high) / 2
            start = self._rounded((self._low + self._high) / 2 if self._spacing != "log" else middle)
        self.value = int(start) if self._integer and start.is_integer() else start
        told, narrow = f"{label_of(q)}: {q.range_text}", ipywidgets.Layout(width="9.5em", margin="0")
        self.field = ipywidgets.Text(continuous_update=False, tooltip=told, layout=narrow)
        self.slider = self._slider() if wide > 0 else None
        head = ipywidgets.HBox(
            [_label(label_of(q), q.brief), self.field],
            layout=ipywidgets.Layout(justify_content="space-between", align_items="center", width="100%"),
        )
        self.box = _card(head, *([self.slider] if self.slider else []))
        self.put(self.value)
        self.field.observe(lambda change: self._typed(change["new"]), "value")
        if self.slider:
            self.slider.observe(lambda change: self._slid(change["new"]), "value")

    def _slider(self) -> Any:
        import ipywidgets

        look = {"readout": False, "layout": ipywidgets.Layout(width="100%", margin="0"), "tooltip": label_of(self._q)}
        if self._spacing == "log":
            low, high = math.log10(self._low), math.log10(self._high)
            return ipywidgets.FloatLogSlider(self._on_slider(), min=low, max=high, step=self._step, **look)
        if self._spacing == "whole":
            return ipywidgets.IntSlider(self._on_slider(), min=int(self._low), max=int(self._high), **look)
        return ipywidgets.FloatSlider(self._on_slider(), min=self._low, max=self._high, step=self._step, **look)

    def _on_slider(self) -> float:
        """The point of the slider that is nearest to the present value."""
        x = min(max(self.value, self._low), self._high)
        return round(x) if self._spacing == "whole" else x

    def _place(self, x: float) -> int:
        """Steps of the slider up to a point of it."""
        return round((math.log10(x / self._low) if self._spacing == "log" else x - self._low) / self._step)

    def _rounded(self, x: float) -> float:
        """A number with no more digits than the slider tells apart, so that its text is exact."""
        if self._whole:
            x = round(x)
        finest = 10**self._step - 1 if self._spacing == "log" else self._step / max(abs(self._low), abs(self._high))
        digits = max(3, 1 + math.ceil(-math.log10(finest)))
        x = units.parse(units.format(x, self._q.unit, digits), self._q.unit)
        return min(max(float(round(x)) if self._whole else x, self._low), self._high)

    def _slid(self, x: float) -> None:
        # a slider that is shown moves its start to the nearest of its steps by itself
        if not self._quiet and self._place(x) != self._place(self._on_slider()):
            rounded = self._rounded(x)
            self._moved(int(rounded) if self._integer and self._whole else rounded)

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
        return int(x) if self._integer and x.is_integer() else x

    @property
    def text(self) -> str:
        return exact_text(self.value, self._q.unit) or f"≈ {units.format(self.value, self._q.unit)}"

    def _show(self) -> None:
        self.field.value = self.text
        if self.slider:
            self.slider.value = self._on_slider()


def _range(q: Quantity, given: tuple[Any, ...]) -> tuple[float, float]:
    if len(given) != 2:
        raise ValueRangeError(f"{q.name}: a range has two ends, (low, high); got {shown(given)}")
    low, high = (number(end, q) for end in given)
    if not low < high < math.inf:
        raise ValueRangeError(f"{q.name}: a range is (low, high) with low below a finite high; got {shown(given)}")
    return low, high


def _is_share(q: Quantity) -> bool:
    """Whether a quantity has two ends; the core writes its largest number where it has none."""
    return q.low > -_NO_END and q.high < _NO_END


def _around(q: Quantity, x: float, *, whole: bool) -> tuple[float, float] | None:
    """Where a slider that starts at a number goes: all that is valid, or some decades."""
    if _is_share(q):
        return q.low, q.high
    if x == 0 or not math.isfinite(x):
        return None
    if x < 0:
        return max(2 * x, q.low), 0.0
    low, high = (units.parse(units.format(end, q.unit, 1), q.unit) for end in (x / _AROUND, x * _AROUND))
    low = max(low, q.low, 1.0 if whole else 0.0)
    return low, min(high, q.high)


def _label(text: str, told: str = "") -> Any:
    import ipywidgets

    return ipywidgets.Label(text, tooltip=told or text, layout=ipywidgets.Layout(margin="0", flex="1 1 auto"))


def _card(*parts: Any) -> Any:
    import ipywidgets

    return ipywidgets.VBox(list(parts), layout=ipywidgets.Layout(width="100%", padding="0 0 6px", overflow="visible"))
