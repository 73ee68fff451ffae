"""Scenarios of explorers, moves of their controls, and the value of their code."""

from __future__ import annotations

import ast
from typing import Any

import roofslate as rs

from support.lazy import Lazy

ipywidgets = Lazy("ipywidgets")

CELL: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72"}


def run(code: str) -> Any:
    """Value of the last line of code, after only ``import roofslate as rs``."""
    tree = ast.parse(code)
    last = tree.body.pop()
    names: dict[str, Any] = {"rs": rs}
    exec(compile(tree, "<code>", "exec"), names)
    assert isinstance(last, ast.Expr)
    return eval(compile(ast.Expression(last.value), "<code>", "eval"), names)


def moved(control: Any) -> Any:
    """Move a control by its widget, to somewhere else."""
    if hasattr(control, "menu"):
        index = control.menu.options.index(control.menu.value)
        control.menu.value = control.menu.options[index - 1]
    elif hasattr(control, "check"):
        control.check.value = not control.check.value
    elif control.slider is None:
        control.field.value = "0.25"
    elif isinstance(control.slider, ipywidgets.IntSlider):
        control.slider.value += 1 if control.slider.value < control.slider.max else -1
    else:
        control.slider.value *= 1.07
    return control.value
