"""Charts of the lecture as views, from the evaluations behind their tables."""

from __future__ import annotations

import math
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate.errors import MissingInput, RoofslateError, RoofslateWarning
from roofslate.evaluation.value import value
from roofslate.grid.read import Settled
from roofslate.plotting.pages.view import View, view_of
from roofslate.plotting.spacing import FEW
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import ancestors, entries, lookup

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from roofslate.plotting.chart import Chart

__all__ = ["chart_view"]

_MOST_OUTPUTS = 10
_MOST_LINES = 6
_CONDITIONS = ("memory_fits", "training_memory_fits")  # drawn as regions by the chart, no numbers
_Point = dict[str, Any]


def chart_view(
    chart: Chart, inputs: Mapping[str, Any] | None = None, *, starts: Mapping[str, Any] | None = None
) -> View:
    """Make the view of a chart: its quantities along its axes, with its controls.

    Parameters
    ----------
    chart : Chart
    inputs : mapping, optional
        As for `explore`. By default the inputs of the lecture's picture.
    starts : mapping, optional
        Start values of controls whose inputs are ranges.

    Raises
    ------
    MissingInput
        If the engine computes none of the chart's numbers, as for simulated schedules.
    """
    given = {**(inputs or {}), **(starts or {})}
    plain = {name: x for name, x in given.items() if not isinstance(x, tuple)}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoofslateWarning)
        evaluations = chart.evaluations(**plain)
        table = chart.data(**plain)
        columns = [str(name) for name in table.columns]
        index = [str(name) for name in table.index.names]
        axes, point, outputs = _along(evaluations, index, columns) or _at(evaluations, given or chart.input_names)
    if not outputs:
        raise MissingInput(f"the chart {chart.name} has no number of a formula, so a page cannot compute it")
    controls, fixed = _parted(point, inputs or dict.fromkeys(chart.input_names), outputs)
    controls = {**controls, **axes}
    across, up = [*axes, None, None][:2]
    return view_of(
        outputs,
        {**controls, **{name: x for name, x in (inputs or {}).items() if name in controls}},
        name=chart.name,
        title=chart.headline(plain),
        brief=chart.brief,
        starts=starts,
        fixed=fixed,
        groups=_by_unit(outputs) if across and not up else None,
        axis=across,
        up=up,
        estimate="model" in plain and "hardware" in plain,
    )


def _single(point: Mapping[str, Any]) -> bool:
    return not any(np.ndim(getattr(x, "shape", x)) or hasattr(x, "dims") or isinstance(x, list) for x in point.values())


def _along(
    evaluations: Iterable[tuple[Sequence[str], Mapping[str, Any]]], index: Sequence[str], columns: Sequence[str]
) -> tuple[dict[str, Any], _Point, list[str]] | None:
    """Return the axis of a table, or both of a map, with points, inputs and quantities."""
    longest: tuple[dict[str, Any], _Point, list[str]] | None = None
    for outputs, inputs in evaluations:
        arrays = [name for name, x in inputs.items() if np.ndim(x) and not hasattr(x, "dims")]
        if not 1 <= len(arrays) <= 2 or any(name not in index or name not in entries() for name in arrays):
            continue
        if len(arrays) == 2 and any(np.size(inputs[name]) <= FEW for name in arrays):
            continue
        point = {other: x for other, x in inputs.items() if other not in arrays}
        drawn = [column for column in columns if column in outputs and column not in _CONDITIONS]
        if not _single(point) or not drawn or any(lookup(name).choices for name in arrays):
            continue
        size = len(arrays), len(drawn)
        if longest is None or size > (len(longest[0]), len(longest[2])):
            arrays.sort(key=index.index, reverse=True)  # the last level of a table is across
            longest = {name: np.asarray(inputs[name], dtype=float) for name in arrays}, point, drawn
    return longest


def _at(
    evaluations: Sequence[tuple[Sequence[str], Mapping[str, Any]]], controls: Iterable[str]
) -> tuple[dict[str, Any], _Point, list[str]]:
    """Return the point at which most numbers of a chart can be computed, and these numbers."""
    calls = [(outputs, dict(inputs)) for outputs, inputs in evaluations if _single(inputs)]
    names = list(dict.fromkeys(name for outputs, _ in calls for name in outputs if name not in _CONDITIONS))
    names = [name for name in names if name in entries()]
    best: tuple[int, _Point, list[str]] = (-1, {}, [])
    for point in {repr(sorted(inputs.items(), key=lambda item: item[0])): inputs for _, inputs in calls}.values():
        computed = [name for name in names if _computes(name, point) and name not in point]
        moved = sum(name in point for name in controls)
        moved *= bool(computed)
        if len(computed) + 2 * moved > best[0]:
            best = len(computed) + 2 * moved, point, computed
    return {}, best[1], best[2][:_MOST_OUTPUTS]


def _computes(name: str, point: Mapping[str, Any]) -> bool:
    try:
        x = value(name, Settled(point))
    except (RoofslateError, OverflowError):
        return False
    return isinstance(x, str) or not math.isnan(x)


def _parted(
    point: Mapping[str, Any], names: Mapping[str, Any], outputs: Sequence[str]
) -> tuple[dict[str, Any], dict[str, Any]]:
    """Split the inputs of a point upstream of the outputs by whether they have a control."""
    upstream = set(outputs).union(*map(ancestors, outputs))
    used = {name: x for name, x in point.items() if name in PRESETS or name in upstream}
    controls = {name: used[name] for name in names if name in used}
    return controls, {name: x for name, x in used.items() if name not in controls}


def _by_unit(outputs: Sequence[str]) -> list[list[str]]:
    """Draw quantities of one unit together."""
    groups: dict[str, list[str]] = {}
    for name in outputs:
        q = lookup(name)
        if not q.choices:
            groups.setdefault(q.unit, []).append(name)
    return [group[:_MOST_LINES] for group in groups.values()]
