"""Front of an explorer as one anywidget, for marimo and other notebooks with anywidget."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import pip_install
from roofslate.plotting.controls import Choice, Number, Switch

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from roofslate.plotting.controls import Control

__all__ = ["front_of"]

_STYLE = """
.roofslate-explorer { display: flex; flex-flow: row wrap; gap: 4px 20px; }
.roofslate-explorer .cards { flex: 1 1 270px; max-width: 420px; padding: 4px; }
.roofslate-explorer .picture { flex: 3 1 420px; min-width: 0; padding: 4px; }
.roofslate-explorer .card { padding-bottom: 8px; }
.roofslate-explorer .head { display: flex; justify-content: space-between; align-items: center; gap: 8px; }
.roofslate-explorer input[type="text"] { width: 9.5em; flex: none; }
.roofslate-explorer input[type="range"], .roofslate-explorer select { width: 100%; }
.roofslate-explorer .trouble { min-height: 28px; }
"""


def front_of(controls: Mapping[str, Control], pages: Mapping[str, Any], reset: Callable[[], None]) -> Any:
    """Make an anywidget that shows controls and pages, and moves the controls.

    Parameters
    ----------
    controls : dict of Control
        By input.
    pages : dict of ipywidgets.HTML
        ``markup``, ``trouble`` and ``code``, whose values are shown.
    reset : callable
        Moves all controls back.

    Returns
    -------
    anywidget.AnyWidget

    Raises
    ------
    ModuleNotFoundError
        Without anywidget, which ``pip install 'roofslate[marimo]'`` brings.
    """
    try:
        import anywidget
    except ModuleNotFoundError as error:
        message = f"rs.explore needs {error.name}, which is not installed: {pip_install('marimo')}"
        raise ModuleNotFoundError(message, name=error.name) from None
    import traitlets

    class Front(anywidget.AnyWidget):
        _esm = Path(__file__).with_name("explorer.js")
        _css = _STYLE
        controls: Any = traitlets.List().tag(sync=True)
        markup = traitlets.Unicode().tag(sync=True)
        trouble = traitlets.Unicode().tag(sync=True)
        code = traitlets.Unicode().tag(sync=True)
        move = traitlets.Dict().tag(sync=True)
        done = traitlets.Int().tag(sync=True)

    def state() -> list[dict[str, Any]]:
        return [_state_of(control) for control in controls.values()]

    front = Front(controls=state(), **{name: page.value for name, page in pages.items()})

    def moved(change: Mapping[str, Any]) -> None:
        move = change["new"]
        try:
            if move.get("part") == "reset":
                reset()
            elif move.get("name") in controls:
                _apply(controls[move["name"]], move.get("part"), move.get("value"))
        finally:
            front.controls = state()
            front.done = int(move.get("number", 0))

    front.observe(moved, "move")
    for name, page in pages.items():
        page.observe(lambda change, name=name: front.set_trait(name, change["new"]), "value")
    for control in controls.values():  # moved in code
        for part in _parts_of(control).values():
            part.observe(lambda _: front.set_trait("controls", state()), "value")
    return front


def _parts_of(control: Control) -> dict[str, Any]:
    """Widgets of a control by name."""
    parts = {name: getattr(control, name, None) for name in ("slider", "field", "menu", "check")}
    return {name: part for name, part in parts.items() if part is not None}


def _is_logarithmic(slider: Any) -> bool:
    return hasattr(slider, "base")


def _state_of(control: Control) -> dict[str, Any]:
    """Everything that the front shows of a control."""
    if isinstance(control, Choice):
        menu = control.menu
        state: dict[str, Any] = {
            "kind": "menu",
            "label": menu.tooltip,
            "options": list(menu.options),
            "value": menu.value,
        }
        return {"name": control.name, "brief": "", **state}
    if isinstance(control, Switch):
        check = control.check
        return {"name": control.name, "kind": "check", "label": check.description, "brief": "", "value": check.value}
    assert isinstance(control, Number)
    number: dict[str, Any] = {"name": control.name, "kind": "number", "label": control.label, "brief": control.brief}
    number |= {"range": control.field.tooltip, "value": control.field.value, "slider": None}
    if control.slider is not None:
        slider = control.slider
        at = math.log10(slider.value) if _is_logarithmic(slider) else slider.value
        number["slider"] = {"low": slider.min, "high": slider.max, "step": slider.step, "value": at}
    return number


def _apply(control: Control, part: Any, value: Any) -> None:
    """Set a widget of a control to the value sent by the front.

    A value of another kind than the widget's changes nothing.
    """
    widget = _parts_of(control).get(part)
    if widget is None:
        return
    if part == "slider":
        if isinstance(value, (int, float)) and not isinstance(value, bool) and math.isfinite(value):
            at = min(max(float(value), float(widget.min)), float(widget.max))
            widget.value = 10.0**at if _is_logarithmic(widget) else type(widget.value)(at)
        return
    kinds = {"check": isinstance(value, bool), "field": isinstance(value, str)}
    if kinds.get(part) or (part == "menu" and value in widget.options):
        widget.value = value
