"""Declared inputs of charts: exactly those that move the picture, at the lecture's values."""

from __future__ import annotations

import inspect
from collections.abc import Mapping
from typing import Any

import pytest
from roofslate import charts
from roofslate.errors import MissingInput, RoofslateError
from roofslate.plotting import chart as chart_module
from roofslate.plotting.chart import Chart
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries


def evaluations(chart: Chart) -> list[Mapping[str, Any]]:
    """Inputs of all evaluations behind the lecture's table, and the defaults of the call."""
    keywords = inspect.signature(chart._data).parameters.values()
    defaults = {p.name: p.default for p in keywords if p.kind is inspect.Parameter.KEYWORD_ONLY}
    return [defaults, *(inputs for _, inputs in chart.evaluations())]


def gives(chart: Chart, inputs: Mapping[str, Any], table: Any) -> bool | None:
    """Compare a table with the one that inputs give, None if they give none."""
    try:
        other = chart.data(**inputs)
    except RoofslateError:
        return None
    return bool(other.equals(table)) and repr(other.attrs) == repr(table.attrs)


def neighbors(name: str, x: Any) -> list[Any]:
    """Other values of an input, one of which should change the picture."""
    if isinstance(x, bool):
        return [not x]
    if isinstance(x, str):
        return [word for word in (PRESETS.get(name) or entries()[name].choices) if word != x]
    return [x + 1, x - 1] if isinstance(x, int) else [1.25 * x, 0.8 * x]


def effective_inputs(chart: Chart) -> dict[str, Any]:
    """Find the inputs of which only another value changes the lecture's table.

    The evaluated value keeps the table. Presets are given together: with one of them nothing completes a call.
    """
    table, recorded = chart.data(), evaluations(chart)
    start: dict[str, Any] = {}
    names = dict.fromkeys(name for inputs in recorded for name in inputs)
    singles = {name: [chart_module._single(name, i[name]) for i in recorded if name in i] for name in names}
    presets = {name: x for name in names if name in PRESETS for x in singles[name][:1]}
    for name in names:
        if name in presets and len(presets) > 1:
            if name not in start and None not in presets.values() and gives(chart, {**start, **presets}, table):
                start |= presets
            continue
        for x in dict.fromkeys(singles[name]):
            if x is not None and gives(chart, {**start, name: x}, table):
                start[name] = x
                break
    return {
        name: x
        for name, x in start.items()
        if any(gives(chart, {**start, name: other}, table) is False for other in neighbors(name, x))
    }


@pytest.mark.filterwarnings("ignore::roofslate.errors.UnusedInput")  # inputs that do not move it are tried
@pytest.mark.slow
@pytest.mark.parametrize("chart", charts.all(), ids=lambda chart: str(chart.name))
def test_declared_inputs_are_those_that_move_the_picture(chart: Chart) -> None:
    declared, effective = chart.inputs, effective_inputs(chart)
    assert list(declared.items()) == list(effective.items())
    assert [type(x) for x in declared.values()] == [type(x) for x in effective.values()]
    assert chart.input_names == tuple(declared)


def test_declared_input_that_no_evaluation_takes_is_named() -> None:
    chart = charts.latency_vs_batch
    wrong = Chart(
        chart._draw,
        chart._data,
        number="C99",
        title="",
        subject="",
        chapter=1,
        paragraph="",
        inputs=("context_length", "price_factor"),
        size=(1, 1),
    )
    with pytest.raises(MissingInput, match="'price_factor'"):
        wrong.inputs  # noqa: B018
