"""Relations of `infer` against their formulas in NumPy, at all corners of known ranges."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import roofslate as rs
from support.evaluator import Evaluator, MissingError, agree
from support.slices import every_third

VENDORS = [
    name for name, tariff in rs.api_prices.items() if name != "lecture" and "api_prices_2026" not in tariff.origin
]
PRICED = ("USD/token", "USD/token/s")
ROUNDING = 0.03
# inputs given by other relations of the list
INSTEAD = {"cache_storage_price": "implied_storage_price", "long_context_threshold": "kink_from_threshold"}
Ends = dict[str, tuple[float, float]]


def known(vendor: str, assumptions: object) -> Ends:
    """Return the interval of each price and each number of the scenario."""
    table = assumptions.drop(index="rounding")  # type: ignore[attr-defined]
    ends = {name: (row["low"], row["high"]) for name, row in table.iterrows() if not isinstance(row["low"], str)}
    for name, x in rs.api_prices[vendor].values.items():
        factor = 1 + ROUNDING if rs.quantity(name).unit in PRICED else 1
        ends[name] = (x / factor, x * factor)
    return ends


def extremes(quantity: str, ends: Ends) -> tuple[float, float]:
    """The least and the greatest value at corners of the ranges."""
    middle = Evaluator.of_numbers({name: low for name, (low, _) in ends.items()})
    varied = [name for name, (low, high) in ends.items() if low < high and name in middle.taken(quantity)]
    values = []
    for corner in itertools.product((0, 1), repeat=len(varied)):
        numbers = {name: low for name, (low, _) in ends.items()}
        numbers |= {name: ends[name][side] for name, side in zip(varied, corner, strict=True)}
        values.append(Evaluator.of_numbers(numbers).number(quantity))
    return float(np.nanmin(values)), float(np.nanmax(values))


@pytest.mark.parametrize("vendor", every_third(VENDORS))
def test_relations(vendor: str) -> None:
    """Each interval is as wide as its formula at the corners.

    The corners include intervals of other relations.
    """
    given = {"compute_efficiency": (0.4, 0.7), "active_parameters": (50e9, 200e9), "weight_fetch_ratio": (0.25, 0.75)}
    result = rs.infer(vendor, rounding=ROUNDING, **given)
    checked = 0
    for quantity, row in result.relations.iterrows():
        ends = known(vendor, result.assumptions)
        for name, source in INSTEAD.items():
            if source in result.relations.index and (name not in ends or quantity == "kv_bytes_from_kink"):
                ends[name] = tuple(result.relations.loc[source, ["low", "high"]])
        try:
            expected = extremes(quantity, ends)
        except MissingError:
            continue  # of means weighted by traffic
        assert agree(row[["low", "high"]], expected, exact=False), (quantity, expected)
        assert row["low"] <= row["nominal"] <= row["high"]
        checked += 1
    assert checked >= 2
