"""The register of inconsistencies: its numbers are computed, not told."""

from __future__ import annotations

from typing import Any

import pytest
import roofslate as rs
from roofslate.lecture_report.entries import entries_of
from roofslate.measured.stored import compute
from support.checks import cases

ENTRIES: list[dict[str, Any]] = entries_of("inconsistencies", None)


@pytest.mark.parametrize("entry", ENTRIES, ids=lambda entry: entry["id"])
def test_numbers_are_as_written(entry: dict[str, Any]) -> None:
    with cases() as case:
        for number, call in enumerate(entry["computed"]):
            with case(f"{number}"):
                assert set(call) <= {"label", "quantity", "statistic", "inputs", "unit", "expected"}
                assert compute(call) == pytest.approx(call["expected"], rel=5e-3)


@pytest.mark.heavy
def test_register_names_both_sides() -> None:
    table = rs.inconsistencies()
    assert list(table.columns) == ["chapter", "topic", "claims", "computed", "values", "why"]
    assert table.index.is_unique
    assert set(table.index) == {f"I{number}" for number in range(1, 46)}
    for entry in table.itertuples():
        assert len(entry.computed) == len(entry.values)
        assert max(len(entry.claims), len(entry.computed)) >= 2
        assert all(": " in claim for claim in entry.claims)
        assert entry.why.endswith(".")


@pytest.mark.heavy
def test_register_says_what_it_computed() -> None:
    table = rs.inconsistencies(chapter=1)
    assert table.loc["I4", "computed"] == ("a byte: 562.5 MAC/B", "an FP4 weight: 281.25 tok")
    assert table.loc["I2", "computed"][-1] == "256 over 8: 9,600 seq"
    with pytest.raises(rs.errors.ValueRangeError, match="chapter"):
        rs.inconsistencies(chapter=99)
