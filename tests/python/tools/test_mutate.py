"""Every changed formula, default, and limit fails a test: see `mutate`."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import pytest
import roofslate as rs
from mutate import Mutant, Question, in_place, main, mutants, read_equivalent, read_limits, read_questions, survives
from roofslate import _core
from roofslate.grid.read import Settled
from roofslate.registry.registry import BUILT_IN, current

if TYPE_CHECKING:
    from collections.abc import Iterator

pytestmark = pytest.mark.slow  # all mutants are made once

LIMITS = read_limits()
EQUIVALENT = read_equivalent()
KINDS = {
    *("operator", "extreme", "function", "condition", "boundary", "branch", "argument", "constant", "need"),
    *("default", "fallback", "limit", "bound"),
}


@pytest.fixture(scope="module")
def questions() -> dict[str, list[Question]]:
    return read_questions()


@pytest.fixture(scope="module")
def all_mutants() -> list[Mutant]:
    return [mutant for q in BUILT_IN.entries.values() for mutant in mutants(q)]


# ------------------------------------------------------------------------------------------------------------ judges


def test_inputs_are_taken_up_to_their_limits() -> None:
    assert [name for name, questions in LIMITS.items() if not all(question.holds() for question in questions)] == []


def test_every_number_has_its_limits_written_down() -> None:
    numbers = {name for name, q in BUILT_IN.entries.items() if not q.choices and (q.may_be_given or not q.computed)}
    assert sorted(numbers - set(LIMITS)) == [], "add it to tests/reference/ranges.toml"
    assert sorted(set(LIMITS) - numbers) == [], "tests/reference/ranges.toml has names that are no inputs"


def test_the_originals_answer_all_questions(questions: dict[str, list[Question]]) -> None:
    assert all(question.holds() for requested in questions.values() for question in requested)
    assert all(questions[name] for name, q in BUILT_IN.entries.items() if q.computed)


# ----------------------------------------------------------------------------------------------------------- mutants


def test_mutants_die(capsys: pytest.CaptureFixture[str]) -> None:
    status = main([])
    assert status == 0, capsys.readouterr().out


def test_every_kind_of_change_is_made(all_mutants: list[Mutant]) -> None:
    assert {mutant.kind for mutant in all_mutants} == KINDS


def test_equivalent_mutants_are_still_made_and_still_survive(
    all_mutants: list[Mutant], questions: dict[str, list[Question]]
) -> None:
    known = {(mutant.quantity, mutant.change): mutant for mutant in all_mutants}
    assert set(EQUIVALENT) <= set(known), "python/tools/mutants.toml has changes that are no mutants any more"
    for key, why in EQUIVALENT.items():
        assert survives(known[key], questions[key[0]]), key
        assert why


def test_no_two_mutants_are_told_alike(all_mutants: list[Mutant]) -> None:
    assert len({(mutant.quantity, mutant.change) for mutant in all_mutants}) == len(all_mutants)


# ------------------------------------------------------------------------------------------------------------- a place


@pytest.fixture
def pass_inputs() -> Iterator[dict[str, float]]:
    inputs = {"batch_size": 64, "active_parameters": 1e9, "chips": 8, "peak_flops": 1e15}
    before = rs.value("compute_time", inputs)
    yield inputs
    assert rs.value("compute_time", inputs) == before
    assert current() is BUILT_IN


def test_bounds_of_a_mutant_end_with_it() -> None:
    beyond = {"prefix_length": 200.0, "input_tokens": 100.0}
    with in_place(Mutant("prefix_length", "bound", "", facts={"bound": ""})):
        assert rs.value("prefix_length", beyond) == 200
    with pytest.raises(rs.errors.ValueRangeError, match="prefix_length must not exceed input_tokens"):
        rs.value("prefix_length", beyond)


def test_what_rests_on_a_mutant_sees_it(pass_inputs: dict[str, float]) -> None:
    steps = (("quantity", "active_parameters"), ("constant", 3.0), ("mul", 0, 1))
    with in_place(Mutant("flops_per_token", "constant", "", steps=steps)):
        assert rs.value("flops_per_token", active_parameters=1e9) == 3e9
        assert rs.value("compute_time", pass_inputs) == pytest.approx(64 * 3e9 / 8e15, rel=1e-12)
        assert rs.evaluate("compute_time", {**pass_inputs, "batch_size": [64, 128]}).values[1] == pytest.approx(
            128 * 3e9 / 8e15, rel=1e-12
        )


@pytest.mark.usefixtures("pass_inputs")
def test_facts_take_their_place() -> None:
    with in_place(Mutant("sampled_length", "default", "", facts={"default": 3.0})):
        assert rs.value("sampled_length") == 3
        assert rs.value("pass_tokens", batch_size=2) == 6
        assert rs.quantity("sampled_length").default == 3
    with in_place(Mutant("chips", "limit", "", facts={"low": 4.0, "high": 8.0})):
        assert rs.value("chips", chips=4) == 4
        for outside in (3, 9):
            with pytest.raises(rs.errors.ValueRangeError, match="chips"):
                rs.value("chips", chips=outside)
    alone = Mutant("microbatches", "fallback", "", facts={"fallback": None})
    with in_place(alone), pytest.raises(rs.errors.MissingInput, match="missing input 'microbatches'"):
        rs.value("microbatches")
    with in_place(Mutant("experts_per_token", "bound", "", facts={"bound": None})):
        assert rs.value("experts_per_token", Settled(experts_per_token=5, experts=4)) == 5


def test_the_core_refuses_what_is_no_mutant() -> None:
    with pytest.raises(rs.errors.UnknownName):
        _core.mutated(BUILT_IN, "pas_time", (), {})
    with pytest.raises(rs.errors.UnknownName):
        _core.mutated(BUILT_IN, "pass_time", (("quantity", "pas_length"),), {})
    with pytest.raises(ValueError, match="no fact 'unit'"):
        _core.mutated(BUILT_IN, "pass_time", (), {"unit": "s"})


# -------------------------------------------------------------------------------------------------------- the verdict


def test_a_survivor_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("mutate.read_questions", lambda: dict.fromkeys(BUILT_IN.entries, ()))
    assert main(["--quantity", "stage_flops"]) == 1
    shown = capsys.readouterr().out
    assert "#0: quantity(" in shown
    assert "survives: stage_flops: operator: " in shown
    assert "hardware: none of its mutants of kind operator dies" in shown
    assert main(["--theme", "hardware"]) == 1
    assert "0 of " in capsys.readouterr().out


def test_a_question_is_wrong_by_more_than_its_tolerance(questions: dict[str, list[Question]]) -> None:
    assert not Question(lambda: math.nan, lambda x: x == 1, frozenset()).holds()
    assert not Question(lambda: rs.value("chips", chips=-1), lambda _: True, frozenset()).holds()
    assert any(len(requested) > 20 for requested in questions.values())
