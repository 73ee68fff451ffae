"""Conditions in words: each clause, negations, and the conditions of all formulas."""

from __future__ import annotations

import math
import operator
import re

import numpy as np
import pytest
from roofslate import _core
from roofslate.display.conditions import clauses_of, listed, reason_of
from roofslate.registry.registry import entries

OPERATORS = {
    "is not": operator.ne, "is below": operator.lt, "is at least": operator.ge, "is at most": operator.le,
    "is above": operator.gt, "is": operator.eq,
}  # fmt: skip
ROUNDS = 4  # random values of each formula


@pytest.mark.parametrize(
    ("condition", "clauses"),
    [
        ("pass_overhead == 0", ["pass_overhead is 0"]),
        ("not pass_overhead == 0", ["pass_overhead is not 0"]),
        ("layout == 'pool'", ["layout is pool"]),
        ("(a == 'x' and b == 1) and c < 2", ["a is x", "b is 1", "c is below 2"]),
        ("a < 1 or b <= 2 * c", ["a is below 1 or b is at most 2 * c"]),
        ("not (a < 1 or b <= 2)", ["a is at least 1", "b is above 2"]),
        ("not (a < 1 and b == 2)", ["a is at least 1 or b is not 2"]),
        ("max(a, b) < c ^ 2", ["max(a, b) is below c ^ 2"]),
        ("a == 1 or (b == 2 and c == 3)", ["a is 1 or b is 2 and c is 3"]),
        ("a ! b", ["a ! b"]),
    ],
)
def test_clauses(condition, clauses):
    assert clauses_of(condition) == clauses


def test_choices_that_are_stated_elsewhere_are_left_out():
    condition = "(layout == 'pool' and experts == 0) and chips < 2"
    assert clauses_of(condition, {"layout"}) == ["experts is 0", "chips is below 2"]
    assert reason_of([condition, "experts == 0"], {"layout"}) == "since experts is 0 and chips is below 2"
    assert reason_of(["layout == 'pool'"], {"layout"}) == ""
    assert clauses_of("layout == 'pool' or chips < 2", {"layout"}) == ["layout is pool or chips is below 2"]


def test_parts_of_a_sentence():
    assert listed(["a"]) == "a"
    assert listed(["a", "b"]) == "a and b"
    assert listed(["a", "b", "c"]) == "a, b, and c"


def truth(clause, values):
    """Evaluate a clause in words, alternatives included."""
    alternatives = []
    for alternative in clause.split(" or "):
        name, words, bound = re.fullmatch(rf"(.+?) ({'|'.join(OPERATORS)}) (.+)", alternative).groups()
        bound = repr(bound) if bound in values["words"] else bound
        with np.errstate(all="ignore"):
            sides = [eval(side.replace("^", "**"), {**FUNCTIONS, **values}) for side in (name, bound)]
        undefined = any(side != side for side in sides)  # a comparison with NaN is false, and so is its opposite
        alternatives.append(undefined or OPERATORS[words](*sides))
    return any(alternatives)


FUNCTIONS = {"max": max, "min": min, "exp": math.exp, "ln": math.log, "sqrt": math.sqrt, "inf": math.inf}
FUNCTIONS |= {"ceil": math.ceil, "floor": math.floor}


def test_conditions_of_all_formulas_are_readable_and_true():
    rng = np.random.default_rng(5)
    count = 0
    for name, q in entries().items():
        needs = [entries()[need] for need in q.needs]
        for _ in range(ROUNDS if needs else 0):
            numbers = [
                float(rng.integers(len(n.choices))) if n.choices else float(rng.choice([0, 1, 3])) for n in needs
            ]
            named = [need.name for need in needs]
            conditions = _core.apply_formula(name, numbers, named, False)[2]
            values = {
                n.name: n.choices[int(x)] if n.choices else np.float64(x) for n, x in zip(needs, numbers, strict=True)
            }
            values["words"] = {word for n in needs for word in n.choices}
            for condition in conditions:
                for clause in clauses_of(condition):
                    assert not re.search(r"==|<|>|'|\bnot \(", clause), (name, condition, clause)
                    if " and " not in clause and not re.search(r"[a-z]\w*\((?!\()", clause):
                        assert truth(clause, values), (name, condition, clause)
                        count += 1
    assert count > 500
