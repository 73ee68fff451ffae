"""Calculators: pages of one question each, with their own inputs and outputs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from roofslate._base.messages import unknown
from roofslate._base.toml import read_data
from roofslate.plotting.pages.page import Page
from roofslate.plotting.pages.view import View, view_of

__all__ = ["calculator", "calculator_names", "calculator_view"]


def calculator_names() -> dict[str, str]:
    """Return the titles of all calculators by name."""
    return {name: entry["title"] for name, entry in _entries().items()}


def calculator_view(name: str, **inputs: Any) -> View:
    """Make the view of a calculator.

    Parameters
    ----------
    name : str
        Such as ``"size-a-service"``.
    **inputs
        Start values, as for `explore`. They replace values of the calculator.

    Raises
    ------
    UnknownName
        If there is no such calculator.
    """
    known = _entries()
    if name not in known:
        raise unknown("calculator", name, known)
    entry = known[name]
    return view_of(
        entry["outputs"],
        {**entry["inputs"], **inputs},
        name=name.replace("-", "_"),
        title=entry["title"],
        brief=entry["brief"],
        axis=entry["axis"],
    )


def calculator(name: str, **inputs: Any) -> Page:
    """Make a calculator as a page.

    Parameters
    ----------
    name : str
        Such as ``"size-a-service"``.
    **inputs
        Start values, as for `explore`.
    """
    return Page([calculator_view(name, **inputs)])


def _entries() -> dict[str, Any]:
    return read_data(Path(__file__).with_name("calculators.toml"))
