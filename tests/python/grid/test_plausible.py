"""A chip price above $1,000 an hour raises a warning with the probable unit."""

import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from roofslate.errors import RoofslateWarning
from roofslate.grid.read import Settled
from roofslate.presets.preset import Fact, Preset
from support.lazy import Later, made


@pytest.mark.parametrize(
    "price",
    [3, 3.0, [1e-3, 3], pd.Series([3.0, 1e-3]).rename_axis("case"), Later(lambda: xr.DataArray([3.0], dims="case"))],
)
def test_a_plain_number_that_was_meant_by_the_hour(price):
    words = r'^chip_price is 10,800 USD/h for one chip: a plain number is in USD/s\. .* give chip_price="3 USD/h"$'
    with pytest.warns(RoofslateWarning, match=words) as caught:
        rs.evaluate("replica_price", chips=8, chip_price=made(price))
    assert [w.filename for w in caught] == [__file__]
    if isinstance(price, (int, float)):
        for inputs in ({"chips": 8}, {"hardware": "HGX H200"}):
            for call in (rs.value, rs.explain, rs.sensitivity):
                with pytest.warns(RoofslateWarning, match=words):
                    call("replica_price", chip_price=price, **inputs)
                with pytest.warns(RoofslateWarning, match=words):
                    call("replica_price", {"chip_price": price, **inputs})


@pytest.mark.parametrize(
    "price", ["5000 USD/h", ["2 USD/h", "5000 USD/h"], Later(lambda: xr.DataArray(5.0, attrs={"units": "kUSD/h"}))]
)
def test_a_price_with_a_unit(price):
    with pytest.warns(RoofslateWarning, match=r"^chip_price is 5,000 USD/h for one chip: check its unit, and divide"):
        rs.evaluate("replica_price", chips=8, chip_price=made(price))


def test_a_preset_with_such_a_price():
    dear = Preset(
        "dear", "prices", {"chip_price": Fact(3.0, "USD/s/chip", "3 USD/s/chip", "test", "2026-01-01", read=True)}
    )
    for call in (rs.value, rs.evaluate):
        with pytest.warns(RoofslateWarning, match="10,800 USD/h for one chip: check the preset"):
            call("replica_price", chips=8, prices=dear)


def test_a_column_of_such_prices():
    for prices, words in (([3.0, float("nan")], "a plain number is in USD/s"), (["3 USD/h", "4 kUSD/h"], "check its")):
        with pytest.warns(RoofslateWarning, match=words) as caught:
            rs.frame(pd.DataFrame({"chip_price": prices}).dropna(), "replica_price", chips=8)
        assert len(caught) == 1


def test_prices_up_to_a_thousand_an_hour_and_evaluations_within_a_call_are_silent():
    for price in ("1000 USD/h", 1e-3, 0):
        rs.value("replica_price", chips=8, chip_price=price)
        rs.evaluate("replica_price", chips=8, chip_price=[price])
    rs.value("replica_price", Settled(chips=8, chip_price=3.0))
    rs.evaluate("replica_price", Settled(chips=8, chip_price=3.0))
    rs.frame(pd.DataFrame({"chip_price": [0.1, 0.2]}), "replica_price", chips=8)
