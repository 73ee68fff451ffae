"""The register of inconsistencies: its numbers are computed, not quoted."""

from __future__ import annotations

import math
from typing import Any

import pytest
import roofslate as rs
from roofslate.lecture_report.entries import entries_of, listed
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


def test_register_says_what_it_computed() -> None:
    table = rs.inconsistencies(chapter=1)
    assert table.loc["I4", "computed"] == ("a byte: 562.5 MAC/B", "an FP4 weight: 281.25 tok")
    assert table.loc["I2", "computed"][-1] == "256 / 8: 9,600 seq"
    with pytest.raises(rs.errors.ValueRangeError, match="chapter"):
        rs.inconsistencies(chapter=99)


# ----------------------------------------------------------------------------------------------- inputs of a user's own


def test_register_is_computed_again_with_inputs() -> None:
    table = rs.inconsistencies(1, hbm_capacity="96 GB")
    assert list(table.columns) == ["chapter", "topic", "claims", "computed", "values", "why", "lecture_values"]
    assert table.loc["I39", "computed"][0] == "drain time at 20 TB/s: 4.8 ms"
    assert table.loc["I39", "values"][0] == pytest.approx(4.8)
    assert table.loc["I39", "lecture_values"][0] == pytest.approx(14.4)
    assert "I4" not in table.index  # no capacity in it
    plain = rs.inconsistencies(1)
    for name, row in table.iterrows():
        assert row["lecture_values"] == plain.loc[name, "values"]
        assert row["values"] != row["lecture_values"]


def test_a_preset_replaces_the_numbers_that_it_supplies() -> None:
    table = rs.inconsistencies(1, hardware="B200 (lecture)")
    assert table.loc["I44", "values"] == pytest.approx([24] * 5)  # in the place of five chips
    gone = rs.inconsistencies(1, hardware="HGX H200")
    assert math.isnan(gone.loc["I4", "values"][0])
    assert gone.loc["I4", "computed"][0] == "a byte: no value (missing input 'peak_flops')"


def test_inputs_that_change_nothing_are_named() -> None:
    with pytest.warns(rs.errors.UnusedInput, match="no number of the register changes with 'output_cv'"):
        assert rs.inconsistencies(7, output_cv=2).empty
    with pytest.warns(rs.errors.UnusedInput, match="with 'output_cv'"):
        rs.conclusions(output_cv=2)
    with pytest.raises(rs.errors.UnknownName, match="hbm_bandwidth"):
        rs.inconsistencies(7, hbm_bandwith=1)
    with pytest.raises(rs.errors.ValueRangeError, match="hbm_bandwidth"):
        rs.inconsistencies(1, hbm_bandwidth=-1)


@pytest.mark.parametrize("row", listed("conclusions.toml", "row"), ids=lambda row: str(row["id"]))
def test_conclusions_have_the_lectures_numbers(row: dict[str, Any]) -> None:
    for call in row["computed"]:
        assert set(call) == {"label", "quantity", "inputs", "unit", "expected"}
        assert compute(call) == pytest.approx(call["expected"], rel=5e-3)


def test_conclusions_take_a_model_and_a_chip() -> None:
    plain = rs.conclusions()
    assert list(plain.columns) == ["chapter", "topic", "lecture", "computed", "values"]
    assert plain.index.tolist() == ["batch", "floor", "rack", "training", "cache", "output", "memory-wall", "tiers"]
    system = {"model": "DeepSeek-V3", "hardware": "HGX H200"}
    mine = rs.conclusions(**system)
    assert mine.index.tolist() == plain.index.tolist()
    assert mine["lecture_values"].tolist() == plain["values"].tolist()
    for name, quantity, factor in (("batch", "balance_batch", 1), ("floor", "latency_floor", 1e3)):
        assert mine.loc[name, "values"][0] == pytest.approx(factor * rs.value(quantity, system))
    tokens = rs.models["DeepSeek-V3"].pretraining_tokens / (20 * rs.models["DeepSeek-V3"].active_parameters)
    assert mine.loc["training", "values"][0] == pytest.approx(tokens)
    assert mine.loc["output", "values"] == plain.loc["output", "values"]
