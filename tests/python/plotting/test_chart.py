"""Charts: inputs that they do not take."""

import pytest
from roofslate.errors import AxisError, UnusedInput
from roofslate.lecture_report import charts
from roofslate.presets.catalog import api_prices


def test_inputs_that_a_chart_does_not_take_are_reported():
    with pytest.warns(UnusedInput, match="^'batch_slots' has no effect on the chart latency_vs_batch$") as caught:
        table = charts.latency_vs_batch.data(batch_slots=3)
    assert caught[0].filename == __file__
    assert table.equals(charts.latency_vs_batch.data())
    with pytest.raises(AxisError, match="a chart draws one scenario, but batch_slots is an axis"):
        charts.latency_vs_batch.data(batch_slots=[3, 4])
    charts.cost_vs_context.data(**api_prices["lecture"].values)
