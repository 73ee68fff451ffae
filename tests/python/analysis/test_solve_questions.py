"""solve: random questions against a scan of the same condition, and what once was answered wrongly."""

import math

import pytest
import roofslate as rs
from support.solve_questions import REFUSED, complaints, draw
from support.solving import CLOSE, near, solve

SLICE, MORE = 60, 600  # seeds; every other one has usual sizes
MOST_UNDECIDED = 0.05  # of questions, any of the three views
MOST_WRONG = 0.005  # where terms of 19 digits cancel, and where a value holds on both sides of 0


def asked(seeds):
    """How many questions were asked, what is wrong with the answers, and how many were left undecided."""
    count = undecided = 0
    wrong = {}
    for seed in seeds:
        question = draw(seed, absurd=seed % 2 == 1)
        if question is None:
            continue
        try:
            said, gave_up = complaints(question)
        except REFUSED:
            continue
        count += 1
        undecided += gave_up
        if said:
            wrong[seed] = (question.unknown, question.condition, *said)
    return count, wrong, undecided


@pytest.mark.heavy
@pytest.mark.parametrize("part", range(4))
def test_answers_agree_with_a_scan(part):
    count, wrong, undecided = asked(range(part * SLICE, part * SLICE + SLICE))
    assert count > SLICE / 3
    assert not wrong
    assert undecided <= 0.1 * count


@pytest.mark.long
def test_more_answers_agree_with_a_scan():
    count, wrong, undecided = asked(range(1000, 1000 + MORE))
    assert count >= MORE / 2
    assert len(wrong) <= MOST_WRONG * count, wrong
    assert undecided <= MOST_UNDECIDED * count


def views(unknown, condition, **given):
    answers = [solve(unknown, condition, at=at, **given) for at in ("smallest", "largest", "all")]
    values = [x for x in answers[2].to_numpy().tolist() if not math.isnan(x)]
    return answers[0].item(), answers[1].item(), values, [a["reason"].item().partition(":")[0] for a in answers]


BASE = {"loss_size_coefficient": 406.4, "loss_data_coefficient": 410.7}
STEEP = {
    "loss_size_coefficient": 0.08723402850486346,
    "loss_unit_size": 1495644385.197403,
    "loss_data_exponent": 37.09028580324921,
    "loss_size_exponent": 15.0,
    "loss_data_coefficient": 2.0653026647839536,
}
FLAT = {
    "loss_size_exponent": 1.0,
    "loss_data_coefficient": 0.8213090179667684,
    "loss_unit_size": 27091617731.517296,
    "loss_size_coefficient": 43.335825959235976,
    "loss_data_exponent": 15.07182861162626,
}


def test_what_is_not_proved_is_undecided():
    smallest, largest, values, reasons = views("experts", "leftover_experts >= 5", expert_parallel=16)
    assert smallest == near(5)
    assert math.isnan(largest)
    assert values[:4] == [near(5), near(16), near(21), near(32)]
    assert reasons == ["", "undecided", "undecided"]
    answer = solve("experts", "leftover_experts >= 5", at="largest", expert_parallel=16)
    assert answer["reason"].item() == "undecided: the search gave up between 1e-75 and 1e+75"


def test_a_root_among_absurd_values_is_found_or_admitted():
    value = rs.value("budget_optimal_tokens", compute_budget=89823.0, **FLAT)
    smallest, largest, _, reasons = views("compute_budget", f"budget_optimal_tokens == {value!r}", **FLAT)
    assert largest == near(89823)
    assert smallest == near(89823) or reasons[0] == "undecided"
    given = {"rising_coefficient": 3.554024825383971, "falling_coefficient": 1.3029940791464063}
    smallest, _, values, reasons = views("falling_exponent", "least_falling_cost == 0.11527475557461574", **given)
    assert smallest == near(33.169473784332574)
    assert values == [smallest]
    assert reasons[1] in ("", "undecided")


@pytest.mark.parametrize(
    ("unknown", "start", "other"),
    [
        ("loss_data_exponent", 0.28, {"loss_size_exponent": 0.34}),
        ("loss_size_exponent", 0.34, {"loss_data_exponent": 0.28}),
    ],
)
def test_the_ends_are_those_of_all(unknown, start, other):
    given = {**BASE, **other, "compute_budget": 5.76e23}
    value = rs.value("budget_optimal_parameters", {**given, unknown: start})
    smallest, largest, values, reasons = views(unknown, f"budget_optimal_parameters == {value!r}", **given)
    assert values == [smallest, largest]
    assert largest == near(start)
    assert reasons == ["", "", ""]


def test_underflow_and_overflow_are_no_roots():
    condition = "compute_optimal_tokens_per_parameter == 1.8108101821421834e-10"
    smallest, _, values, reasons = views("active_parameters", condition, **STEEP)
    assert smallest == near(16119509343.0)
    assert values == [smallest]
    assert reasons[1] in ("", "undecided")


def test_where_a_stepwise_value_has_a_closed_end():
    smallest, _, values, _ = views("experts", "leftover_experts <= 0", expert_parallel=8)
    assert smallest == 0
    assert values[:4] == [0, 8, 16, 24]


def test_a_constant_but_for_rounding():
    for relation, reason in (("<=", "always"), (">=", "always"), ("<", "never"), ("==", "always")):
        *_, reasons = views("batch_size", f"0.3 seq * batch_size / batch_size {relation} 0.3 seq")
        assert reasons == [reason] * 3


def test_a_difference_that_saturates():
    """max(x + a, m) - max(x, m): rounding alone makes the sign of what is far beyond m."""
    condition = "max(compute_time + 0.02 s, 0.013 s) - max(compute_time, 0.008 s) == 0.013 s"
    smallest, largest, values, reasons = views("compute_time", condition)
    assert smallest == near(0.001)
    assert largest == smallest
    assert values == [smallest]
    assert reasons == ["", "", ""]


@pytest.mark.parametrize(
    ("condition", "given", "values"),
    [
        ("experts_per_chip <= 3.5", {"expert_parallel": 2.0}, [7]),
        ("experts_per_chip < 3", {"expert_parallel": 2.0}, [5]),
        ("experts_per_chip == 3.5", {"expert_parallel": 2.0}, [7]),
        ("experts_per_chip == 3.25", {"expert_parallel": 2.0}, []),
        ("min(experts, 100 / experts) >= 3.5", {}, [4, 28]),
        ("min(experts, 100 / experts) >= 9.95", {}, [10]),
        ("min(experts, 100 / experts) >= 11", {}, []),
    ],
)
def test_whole_numbers(condition, given, values):
    answers = {at: solve("experts", condition, at=at, integer=True, **given) for at in ("smallest", "largest", "all")}
    assert answers["all"].to_numpy().tolist() == values
    ends = [values[0], values[-1]] if values else [math.nan] * 2
    assert [answers[at].item() for at in ("smallest", "largest")] == pytest.approx(ends, rel=CLOSE, nan_ok=True)
    assert {answer["reason"].item() for answer in answers.values()} == {"" if values else "never"}
