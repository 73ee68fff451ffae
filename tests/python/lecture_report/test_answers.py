"""The checklist: every number that the lecture's systems must give."""

from __future__ import annotations

import contextlib
import math
import re
from typing import TYPE_CHECKING, Any

import pytest
import roofslate as rs
from roofslate import units
from roofslate.lecture_report.entries import entries_of
from roofslate.measured.stored import compute
from roofslate.registry.registry import lookup
from support.checks import cases

if TYPE_CHECKING:
    from collections.abc import Iterator

ROWS: list[dict[str, Any]] = entries_of("answers", None)
SYSTEMS = sorted({row["system"] for row in ROWS})
REGISTERS = {77, 78}  # they count entries: nothing is put in
CATALOGS = {"model": rs.models, "hardware": rs.hardware, "prices": rs.prices}


@pytest.fixture(scope="module")
def table() -> Any:
    return rs.answers()


def test_answers_hold(table: Any) -> None:
    assert len(table) == len(ROWS)
    with cases() as case:
        for row in table.itertuples():
            with case(f"{row.Index}: system {row.system}, {row.quantity}"):
                assert row.tolerance <= 0.005
                if math.isinf(row.lecture):
                    assert row.ours == row.lecture
                else:
                    assert abs(row.ours - row.lecture) <= row.tolerance * abs(row.lecture)
                assert row.verdict == "holds"


def scaled(value: Any, factor: float) -> Any:
    """A little more or less of an input, be it a number or a text with a unit."""
    if isinstance(value, str):
        match = re.match(r"[\d.,]+", value)
        return f"{float(match[0].replace(',', '')) * factor!r}{value[match.end() :]}" if match else None
    return type(value)(math.ceil(value * factor)) if isinstance(value, int) and value > 20 else value * factor


def neighbours(inputs: dict[str, Any]) -> Iterator[dict[str, Any]]:
    """The same call with one input changed, its own or a preset's."""
    numbers = {name: value for name, value in inputs.items() if name not in CATALOGS}
    for name, catalog in CATALOGS.items():
        if name in inputs:
            numbers = {**catalog[inputs[name]].values, **numbers}
    for name, value in numbers.items():
        for factor in (0.9, 1.1):
            other = scaled(value, factor)
            if other is not None and other != value:
                yield {**inputs, name: other}


def moves(row: dict[str, Any]) -> bool:
    """Return True if another input gives another answer."""
    ours = compute(row)
    for inputs in neighbours(row["inputs"]):
        with contextlib.suppress(rs.RoofslateError):  # a neighbour may be out of range or without effect
            if compute({**row, "inputs": inputs}) != ours:
                return True
    return False


@pytest.mark.parametrize("system", [system for system in SYSTEMS if system not in REGISTERS])
def test_answers_are_computed_from_their_inputs(system: int) -> None:
    with cases() as case:
        for number, row in enumerate(ROWS):
            if row["system"] == system:
                with case(f"{number}: {row['quantity']}"):
                    assert moves(row)


def test_table_is_what_the_interface_says(table: Any) -> None:
    columns = ["system", "question", "lecture", "ours", "unit", "tolerance", "verdict", "quantity", "inputs"]
    assert list(table.columns) == columns
    assert set(table["system"]) == set(range(1, 79))
    assert not table.duplicated(["system", "question", "lecture"]).any()


def test_a_row_can_be_asked_again(table: Any) -> None:
    for row in table.itertuples():
        if "." in row.quantity:  # a function, not a quantity
            continue
        again = rs.value(row.quantity, row.inputs) / units.convert_factor(row.unit, lookup(row.quantity).unit)
        assert again == row.ours


def test_a_wrong_answer_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    wrong = [{**ROWS[2], "lecture": ROWS[2]["lecture"] * 1.01}, {**ROWS[2], "lecture": math.inf}]
    monkeypatch.setattr("roofslate.lecture_report.answers.entries_of", lambda *_: wrong)
    assert list(rs.answers()["verdict"]) == ["fails", "fails"]


def test_chapters() -> None:
    assert len(rs.answers(chapter=1)) == sum(row["chapter"] == 1 for row in ROWS)
    assert rs.answers(chapter=7)["system"].is_monotonic_increasing
    with pytest.raises(rs.errors.ValueRangeError, match="chapter"):
        rs.answers(chapter=99)
