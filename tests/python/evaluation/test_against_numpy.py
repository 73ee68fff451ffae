"""`evaluate`, `frame`, `value` and printed formulas against formulas in NumPy."""

from __future__ import annotations

import ast
import math
import operator
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate import _core
from roofslate.grid.read import Settled
from roofslate.registry.registry import entries
from support.evaluator import EXACT, NEARLY, ROUTINES, Evaluator, agree
from support.printed import tree_of
from support.random_questions import asked, slices
from support.slices import first_alone

if TYPE_CHECKING:
    from collections.abc import Mapping

COMPUTED = [name for name, q in entries().items() if q.computed]


def at_all_points(array: Any, sizes: dict[str, int]) -> np.ndarray:
    missing = {dim: n for dim, n in sizes.items() if dim not in array.dims}
    return array.expand_dims(missing).transpose(*sizes).to_numpy()


def fewer_chips_than_groups(inputs: Mapping[str, Any], name: str) -> bool:
    """Return True if a group would have less than a chip, which rows refuse as a layout."""
    numbers = {key: float(x.reshape(-1)[0]) for key, x in Evaluator(inputs, [name]).given.items()}  # texts too
    groups = numbers.get("attention_data_parallel", 1.0) * numbers.get("pipeline_stages", 1.0)
    return numbers.get("chips", math.inf) < groups


@pytest.mark.filterwarnings("ignore::roofslate.errors.RoofslateWarning")
@pytest.mark.parametrize("numbers", first_alone(slices(400)), ids=str)
def test_grids(numbers: range) -> None:
    answered = exact = 0
    for question in asked("grids", numbers, most_outputs=3, axes=(0, 1, 2, 3), choices=True):
        try:
            result = rs.evaluate(question.outputs, Settled(question.inputs))
        except rs.RoofslateError:
            continue
        expected = Evaluator(question.inputs, question.outputs)
        for name in question.outputs:
            assert expected.agrees(name, at_all_points(result[name], expected.sizes)), (question.number, name)
            exact += expected.is_exact(name)
        answered += 1
    assert answered > 0.5 * len(numbers)
    assert exact > answered / 2


@pytest.mark.filterwarnings("ignore::roofslate.errors.RoofslateWarning")
@pytest.mark.parametrize("numbers", first_alone(slices(60)), ids=str)
def test_rows_and_values(numbers: range) -> None:
    """Return the rows of a table of a question's numbers, stretched, and one row as a value."""
    answered = 0
    for question in asked("rows", numbers):
        (name,) = question.outputs
        factors = [1.0, 0.75, 0.5, 0.25]
        try:
            value = rs.value(name, Settled(question.inputs))
            names = Evaluator(question.inputs, [name]).taken(name)
        except rs.RoofslateError:
            continue
        used = {key: x for key, x in question.numbers.items() if key in names}
        columns = {key: [x * factor for factor in factors] for key, x in used.items()}
        table = pd.DataFrame(columns, index=range(4))
        common = {key: x for key, x in question.inputs.items() if key not in table}
        try:
            result = rs.frame(table, name, Settled(common))[name].to_numpy()
        except rs.RoofslateError:
            continue
        for k, factor in enumerate(factors):
            row = {**common, **{key: x * factor for key, x in used.items()}}
            if math.isnan(result[k]) and (factor != 1 or fewer_chips_than_groups(question.inputs, name)):
                continue  # a number outside of its range has no result
            expected = Evaluator(row, [name])
            assert expected.agrees(name, result[k]), (question.number, name, k)
            assert k or expected.agrees(name, value), (question.number, name)
        answered += 1
    assert answered > 0.5 * len(numbers)


# ------------------------------------------------------------------------------------------------- printed formulas

OPERATIONS: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.Pow: "pow", ast.USub: "neg",
}  # fmt: skip
RELATIONS: dict[type, Any] = {
    ast.Lt: operator.lt, ast.LtE: operator.le, ast.Gt: operator.gt, ast.GtE: operator.ge, ast.Eq: operator.eq,
    ast.NotEq: operator.ne,
}  # fmt: skip
FUNCTIONS = {"ln": "log", "C": "erlang_c", "X": "overtraining_optimum"}


class Printed(ast.NodeVisitor):
    """A printed formula at numbers of its needs, as Python reads it."""

    def __init__(self, name: str, needs: dict[str, float]) -> None:
        self.q, self.needs = entries()[name], needs

    def value(self) -> float:
        with np.errstate(all="ignore"):
            return float(self.visit(tree_of(self.q.formula)))

    def visit_Name(self, node: ast.Name) -> Any:
        return math.inf if node.id == "inf" else self.needs[node.id]

    def visit_Constant(self, node: ast.Constant) -> Any:
        return node.value if isinstance(node.value, str) else float(node.value)  # type: ignore[arg-type]

    def visit_BinOp(self, node: ast.BinOp) -> Any:
        return self._apply(OPERATIONS[type(node.op)], node.left, node.right)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> Any:
        return not self.visit(node.operand) if isinstance(node.op, ast.Not) else -self.visit(node.operand)

    def visit_Call(self, node: ast.Call) -> Any:
        assert isinstance(node.func, ast.Name)
        return self._apply(FUNCTIONS.get(node.func.id, node.func.id), *node.args)

    def visit_IfExp(self, node: ast.IfExp) -> Any:
        chosen = self.visit(node.body if self.visit(node.test) else node.orelse)
        return self.q.choices.index(chosen) if isinstance(chosen, str) else chosen

    def visit_BoolOp(self, node: ast.BoolOp) -> Any:
        return (all if isinstance(node.op, ast.And) else any)(self.visit(part) for part in node.values)

    def visit_Compare(self, node: ast.Compare) -> Any:
        lhs, (relation,), (rhs,) = node.left, node.ops, node.comparators
        a, b = self.visit(lhs), self.visit(rhs)
        if isinstance(b, str):
            assert isinstance(lhs, ast.Name)
            b = entries()[lhs.id].choices.index(b)
        return RELATIONS[type(relation)](a, b)

    def _apply(self, operation: str, *operands: ast.expr) -> Any:
        function = EXACT.get(operation) or NEARLY.get(operation) or ROUTINES[operation]
        return function(*(np.float64(self.visit(operand)) for operand in operands))


@pytest.mark.parametrize("name", [name for name in COMPUTED if not entries()[name].changed])
def test_printed_formulas_are_those_that_are_computed(name: str) -> None:
    """A formula's text, evaluated in Python, equals its steps, without brackets in sums."""
    rng = np.random.default_rng(sum(name.encode()))
    for _ in range(12):
        needs = {}
        for need in entries()[name].needs:
            q = entries()[need]
            x = float(rng.integers(len(q.choices)) if q.choices else rng.choice([0.0, 0.25, 1, 3, 9e9]))
            most = 3000.0 if need == "decoding_slots" else q.high  # the evaluator sums over them
            needs[need] = x if q.choices else min(max(x, q.low), most)
        expected = Evaluator.of_numbers(needs)
        assert agree(Printed(name, needs).value(), expected[name], exact=False, near=1e-14), needs


def test_every_operation_of_a_formula_is_known() -> None:
    operations = {step[0] for name in COMPUTED for step in _core.steps(name)}
    assert operations - {"quantity", "constant", "select"} <= {*EXACT, *NEARLY, *ROUTINES}
