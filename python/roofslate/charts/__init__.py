"""The charts of the lecture: ``rs.charts.<name>(ax=None, **inputs)`` draws, ``.data(**inputs)`` gives the numbers.

Without inputs a chart is the lecture's picture. Every number in it is evaluated by the core.
"""

from __future__ import annotations

from typing import NoReturn

from roofslate.charts._chart import Chart
from roofslate.charts.economics import cost_vs_batch, fast_mode
from roofslate.charts.hardware import machine_balance, roofline
from roofslate.charts.routing import routed_scaling
from roofslate.charts.scheduling import train_schedule
from roofslate.charts.serving import decode_tensor, latency_vs_batch
from roofslate.errors import UnknownName, unknown

__all__ = [
    "Chart",
    "all",
    "cost_vs_batch",
    "decode_tensor",
    "fast_mode",
    "find",
    "latency_vs_batch",
    "machine_balance",
    "roofline",
    "routed_scaling",
    "train_schedule",
]


class UnknownChart(UnknownName, AttributeError):  # noqa: N818
    """A chart that does not exist."""


def all() -> tuple[Chart, ...]:  # noqa: A001
    """All charts in the order of their numbers."""
    found = [x for x in globals().values() if isinstance(x, Chart)]
    return tuple(sorted(found, key=lambda made: int(made.number[1:])))


def find(name: str) -> Chart:
    """Find a chart by its name or number.

    Parameters
    ----------
    name : str
        Such as ``"latency_vs_batch"`` or ``"C2"``.

    Returns
    -------
    Chart

    Raises
    ------
    UnknownName
        With the nearest names.
    """
    for made in all():
        if name in (made.name, made.number):
            return made
    raise unknown("chart", name, [made.name for made in all()])


def __getattr__(name: str) -> NoReturn:
    if name.startswith("_"):
        raise AttributeError(f"module 'roofslate.charts' has no attribute {name!r}")
    raise UnknownChart(str(unknown("chart", name, [made.name for made in all()])))
