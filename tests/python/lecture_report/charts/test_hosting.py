"""The chart of renting, owning and calling: its marks are where the bills agree."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts
from roofslate.errors import AxisError
from support.pictures import point, points

SERVICE: dict[str, Any] = {
    "model": "DeepSeek-V3", "hardware": "HGX H200", "calibration": "serving", "chips": 8, "tensor_parallel": 8,
    "concurrency": 160, "input_tokens": 4000, "prefix_hit_rate": 0.5, "output_tokens": 500,
    "api_prices": "DeepSeek-V3", "site": "US colocation",
}  # fmt: skip
PRICES = {"rent": "H200 SemiAnalysis retail rent", "own": "H200 owned"}


@pytest.mark.parametrize("case", ["rent", "own"])
def test_lines_cross_the_list_where_the_bills_agree(case: str) -> None:
    ax = charts.rent_own_or_call()
    demand, price = point(ax, f"{case} even")
    bills = [
        rs.value(name, SERVICE, prices=PRICES[case], monthly_demand=demand)
        for name in ("hosted_monthly_cost", "api_monthly_cost")
    ]
    assert bills[0] == pytest.approx(bills[1], rel=1e-9)
    assert price == pytest.approx(rs.value("blended_price", SERVICE), rel=1e-9)
    x, y = points(ax, case)
    tokens = float(x[-1])
    assert y[-1] == pytest.approx(
        rs.value("hosted_cost_per_token", SERVICE, prices=PRICES[case], monthly_demand=tokens), rel=1e-9
    )


def test_full_replicas_cost_least_and_one_more_is_empty_at_first() -> None:
    table = charts.rent_own_or_call.data()
    marks = table.attrs["marks"]
    capacity = marks["replica_monthly_tokens"]
    full = table["own"][table.index <= capacity]
    assert (np.diff(full) < 0).all()
    assert full.iloc[-1] >= marks["own_blended_cost_per_token"]
    assert table["own"][table.index > capacity].iloc[0] > full.iloc[-1]


def test_an_api_that_is_always_cheaper_has_no_mark() -> None:
    ax = charts.rent_own_or_call(input_price="$0.01/Mtok", cache_read_price="$0.001/Mtok", output_price="$0.02/Mtok")
    assert not [line for line in ax.lines if str(line.get_label()).endswith("even")]


@pytest.mark.parametrize("name", ["monthly_demand", "chip_price"])
def test_its_axes_and_prices_are_not_inputs(name: str) -> None:
    with pytest.raises(AxisError, match=f"'{name}' is"):
        charts.rent_own_or_call(**{name: 1})
