"""Explanations: every number in them is that of `value`, and they read from the answer down to what was given."""

from __future__ import annotations

import re

import pytest
import roofslate as rs
from roofslate import units
from roofslate.registry import entries, lookup

CELL = {
    "model": "DeepSeek-V3",
    "hardware": "GB200 NVL72",
    "batch_size": 2400,
    "context_length": "10k",
    "chip_price": "2 USD/h",
}
BOARD = {
    "model": "DeepSeek-V3 (lecture)",
    "hardware": "BW72 (lecture)",
    "prices": "lecture",
    "batch_size": 2400,
    "context_length": "10k",
}


def test_the_derivation_of_a_cost_as_text() -> None:
    text = str(rs.explain("cost_per_token", **BOARD))
    first, *_, last = text.split("\n\n")
    assert first.splitlines() == [
        "cost_per_token: price of the cell over the tokens that it makes  [R1.5]",
        "  = pass_time * (cell_price * round_passes / round_tokens)",
        "  = 677.1 µs * (($144 / h) * 1 / 2,400)",
        "  = $0.01128 / Mtok",
    ]
    assert "memory_time binds, compute_time is 2.47 times smaller; overlap = 'board'" in text
    assert re.search(r"^  batch_size +2,400 +given$", last, re.MULTILINE)
    assert re.search(r"^  overlap +'board' +default \[R1.1\]$", last, re.MULTILINE)
    assert re.search(r"^  hbm_bandwidth +8 TB/s +hardware BW72 \(lecture\): .+2026", last, re.MULTILINE)


def determined(name: str) -> bool:
    """Whether the cell determines a quantity; the others need inputs of their own."""
    try:
        rs.value(name, **CELL)
    except rs.errors.MissingInput:
        return False
    return True


@pytest.mark.parametrize("name", [name for name, entry in entries().items() if entry.computed and determined(name)])
def test_every_number_is_that_of_value(name: str) -> None:
    expected = rs.value(name, **CELL)
    explanation = rs.explain(name, **CELL)
    assert explanation.value == expected
    for step in explanation.steps:
        alone = rs.value(step.quantity.name, **CELL)
        assert alone == (step.quantity.choices[int(step.value)] if step.quantity.choices else step.value)
        shown = repr(alone) if isinstance(alone, str) else units.format(alone, step.quantity.unit)
        assert f"= {shown}" in str(explanation)
    for given in explanation.inputs:
        assert given.origin


def test_quantities_stand_before_what_they_need() -> None:
    explanation = rs.explain("cost_per_token", **CELL)
    order = [step.quantity.name for step in explanation.steps]
    assert order[0] == "cost_per_token"
    assert len(set(order)) == len(order)
    for position, name in enumerate(order):
        for need in lookup(name).needs:
            assert need not in order[:position]


def test_only_what_the_choices_leave_is_shown() -> None:
    board = rs.explain("pass_time", **CELL)
    serial = rs.explain("pass_time", overlap="serial_kv", **CELL)
    assert board.steps[0].formula == "max(memory_time, compute_time)"
    assert serial.steps[0].formula == "kv_fetch_time + max(weight_fetch_time, compute_time)"
    assert "experts" not in {given.quantity.name for given in board.inputs}
    expected = rs.explain("pass_time", expert_reads="expected", **CELL)
    assert {"experts", "experts_per_token"} <= {given.quantity.name for given in expected.inputs}


def test_a_supplied_quantity_ends_the_derivation() -> None:
    explanation = rs.explain("cell_throughput", pass_time="20 ms", batch_size=2000)
    assert {given.quantity.name for given in explanation.inputs} >= {"pass_time", "batch_size"}
    assert "pass_time" not in {step.quantity.name for step in explanation.steps}


def test_an_input_explains_itself() -> None:
    explanation = rs.explain("batch_size", batch_size=64)
    assert explanation.steps == ()
    assert explanation.value == 64
    assert str(explanation) == "Inputs\n  batch_size  64  given"


def test_markdown_and_latex_hold_the_formulas() -> None:
    explanation = rs.explain("pass_time", **BOARD)
    for text in (explanation.markdown, explanation.latex):
        assert r"t &= \max\left(t_\mathrm{mem}, t_\mathrm{comp}\right)" in text
        assert text.count(r"\begin{aligned}") == text.count(r"\end{aligned}") == len(explanation.steps)
        assert text.count("{") == text.count("}")
        assert text.count(r"\left") == text.count(r"\right")
    assert "| batch_size | $B$ | 2,400 | given |" in explanation.markdown
    assert explanation._repr_markdown_() == explanation.markdown


def test_prices_do_not_open_formulas_in_markdown() -> None:
    markdown = rs.explain("cost_per_token", **BOARD).markdown
    assert r"\$2 / h" in markdown


def test_an_axis_is_refused() -> None:
    with pytest.raises(rs.errors.AxisError, match=r"batch_size is an axis"):
        rs.explain("pass_time", **{**CELL, "batch_size": [1, 2]})


def test_a_missing_input_is_named_with_its_chain() -> None:
    with pytest.raises(rs.errors.MissingInput, match=r"'chip_price' .* needed by cell_price <- cost_per_token"):
        rs.explain("cost_per_token", model="DeepSeek-V3", hardware="GB200 NVL72", batch_size=1, context_length=0)
