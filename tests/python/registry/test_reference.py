"""Every formula against values worked out by hand."""

from __future__ import annotations

import math

import pytest
import roofslate as rs
from roofslate.registry.registry import Quantity, entries
from support.checks import cases
from support.reference import Row, by_quantity, quantities, rows


@pytest.mark.parametrize("quantity", quantities())
def test_values_by_hand(quantity: str) -> None:
    with cases() as case:
        for number, row in enumerate(by_quantity()[quantity]):
            with case(f"row {number}"):
                check_row(row)


def check_row(row: Row) -> None:
    assert set(row.case) <= {"inputs", "expected", "how", "note", "rtol"}
    assert row.case["how"]
    assert entries()[row.quantity].theme == row.theme
    computed = rs.value(row.quantity, row.case["inputs"])
    expected = row.case["expected"]
    if isinstance(expected, str) or not math.isfinite(expected):
        assert computed == expected
    else:
        assert computed == pytest.approx(expected, rel=row.case.get("rtol", 1e-12), abs=0)


def test_every_formula_has_a_value_by_hand() -> None:
    assert quantities() == list(by_quantity())
    assert sum(map(len, by_quantity().values())) == len(rows())
    known = set(by_quantity())
    computed = {name for name, entry in entries().items() if entry.computed}
    assert known - set(entries()) == set()
    assert sorted(computed - known) == [], "add a row to tests/reference/<theme>.toml"


def test_specs_are_complete() -> None:
    with cases() as case:
        for name, entry in entries().items():
            with case(name):
                check_spec(entry)


def check_spec(entry: Quantity) -> None:
    for text in (entry.symbol, entry.unit, entry.brief, entry.source):
        assert text
        assert text == text.strip()
    assert not entry.brief.endswith(".")
    assert entry.low <= entry.high
    assert entry.computed == bool(entry.formula)
    assert entry.computed == bool(entry.latex)
    if entry.default is not None:
        assert entry.low <= entry.default <= entry.high


@pytest.mark.parametrize(
    ("quantity", "of", "value", "back", "into", "inputs"),
    [
        (
            "effective_dense_parameters",
            "experts",
            20,
            "matching_experts",
            "matched_dense_parameters",
            {"active_parameters": 1e9},
        ),
        (
            "price_factor_at_speed",
            "asked_speed_factor",
            1.7,
            "speed_factor_at_price",
            "paid_price_factor",
            {"batch_time_ratio": 1.8},
        ),
        (
            "speed_factor_at_price",
            "paid_price_factor",
            0.8,
            "price_factor_at_speed",
            "asked_speed_factor",
            {"batch_time_ratio": 3},
        ),
    ],
)
def test_there_and_back(quantity: str, of: str, value: float, back: str, into: str, inputs: dict[str, float]) -> None:
    result = rs.value(quantity, {of: value, **inputs})
    assert rs.value(back, {into: result, **inputs}) == pytest.approx(value, rel=1e-9)
