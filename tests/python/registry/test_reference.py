"""Every formula against values worked out by hand."""

from __future__ import annotations

import math
from collections import Counter
from typing import Any

import pytest
import roofslate as rs
from roofslate.registry.registry import entries
from support.reference import rows


def read_rows() -> list[Any]:
    number: Counter[str] = Counter()
    params = []
    for row in rows():
        params.append(pytest.param(*row, id=f"{row.quantity}-{number[row.quantity]}"))
        number[row.quantity] += 1
    return params


ROWS = read_rows()


@pytest.mark.parametrize(("theme", "quantity", "case"), ROWS)
def test_value_by_hand(theme: str, quantity: str, case: dict[str, Any]) -> None:
    assert set(case) <= {"inputs", "expected", "how", "note", "rtol"}
    assert case["how"]
    assert entries()[quantity].theme == theme
    computed = rs.value(quantity, **case["inputs"])
    expected = case["expected"]
    if isinstance(expected, str) or not math.isfinite(expected):
        assert computed == expected
    else:
        assert computed == pytest.approx(expected, rel=case.get("rtol", 1e-12), abs=0)


def test_every_formula_has_a_value_by_hand() -> None:
    known = {row.values[1] for row in ROWS}
    computed = {name for name, entry in entries().items() if entry.computed}
    assert known - set(entries()) == set()
    assert sorted(computed - known) == [], "add a row to tests/reference/<theme>.toml"


@pytest.mark.parametrize("name", list(entries()))
def test_spec_is_complete(name: str) -> None:
    entry = entries()[name]
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
    ("there", "of", "value", "back", "into", "inputs"),
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
def test_there_and_back(there: str, of: str, value: float, back: str, into: str, inputs: dict[str, float]) -> None:
    found = rs.value(there, **{of: value}, **inputs)
    assert rs.value(back, **{into: found}, **inputs) == pytest.approx(value, rel=1e-9)
