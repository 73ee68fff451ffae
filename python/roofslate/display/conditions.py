"""Conditions of formulas in words: "layout is pool" for ``layout == 'pool'``."""

from __future__ import annotations

import ast
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Container, Iterable

__all__ = ["clauses_of", "listed", "reason_of"]

# By operator, the words of a comparison and of its negation.
_WORDS: dict[type[ast.cmpop], tuple[str, str]] = {
    ast.Eq: ("is", "is not"),
    ast.NotEq: ("is not", "is"),
    ast.Lt: ("is below", "is at least"),
    ast.LtE: ("is at most", "is above"),
    ast.Gt: ("is above", "is at most"),
    ast.GtE: ("is at least", "is below"),
}


def listed(parts: Iterable[str], joint: str = "and") -> str:
    """Join parts of a sentence: "a", "a and b", "a, b, and c"."""
    *first, last = parts
    return f"{', '.join(first)}{',' * (len(first) > 1)} {joint} {last}" if first else last


def reason_of(conditions: Iterable[str], decided: Container[str] = ()) -> str:
    """Return the reason for a branch of a formula, empty without a condition.

    Parameters
    ----------
    conditions : iterable of str
        True conditions, in the notation of the engine.
    decided : container of str
        Choices that are stated elsewhere. Their clauses are left out.

    Returns
    -------
    str

    Examples
    --------
    >>> reason_of(["(layout == 'pool' and experts == 0) and batch_size > 1"], {"layout"})
    'since experts is 0 and batch_size is above 1'
    """
    clauses = dict.fromkeys(clause for condition in conditions for clause in clauses_of(condition, decided))
    return f"since {listed(clauses)}" if clauses else ""


def clauses_of(condition: str, decided: Container[str] = ()) -> list[str]:
    """Split a condition into clauses in words.

    Parameters
    ----------
    condition : str
        In the notation of the engine: comparisons, ``and``, ``or``, ``not``.
    decided : container of str
        Choices that are stated elsewhere. Their clauses are left out.

    Returns
    -------
    list of str
        Their conjunction is the condition.

    Examples
    --------
    >>> clauses_of("not (admission == 'static' or 2 * chips <= pipeline_stages)")
    ['admission is not static', '2 * chips is above pipeline_stages']
    """
    try:
        tree = ast.parse(condition, mode="eval")
    except SyntaxError:  # a formula of a user may print signs that Python lacks
        return [condition]
    return _Reader(condition, decided).conjuncts(tree.body, negated=False)


class _Reader:
    """Recursive descent over a condition, with negations moved to the comparisons."""

    def __init__(self, source: str, decided: Container[str]) -> None:
        self._source = source
        self._decided = decided

    def conjuncts(self, node: ast.expr, *, negated: bool) -> list[str]:
        """Return clauses whose conjunction is the node."""
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            return self.conjuncts(node.operand, negated=not negated)
        if not isinstance(node, ast.BoolOp):
            return self._comparison(node, negated)
        if isinstance(node.op, ast.And) is not negated:
            return [clause for part in node.values for clause in self.conjuncts(part, negated=negated)]
        # A decided choice in an alternative is its reason, so it stays.
        complete = _Reader(self._source, ())
        alternatives = (listed(complete.conjuncts(part, negated=negated)) for part in node.values)
        return [" or ".join(alternatives)]

    def _comparison(self, node: ast.expr, negated: bool) -> list[str]:
        if not isinstance(node, ast.Compare) or len(node.ops) > 1:
            return [f"not {self._text(node)}" if negated else self._text(node)]
        name, bound = self._text(node.left), self._text(node.comparators[0])
        if name in self._decided and isinstance(node.comparators[0], ast.Constant):
            return []
        return [f"{name} {_WORDS[type(node.ops[0])][negated]} {bound}"]

    def _text(self, node: ast.expr) -> str:
        if isinstance(node, ast.Constant) and isinstance(node.value, str):
            return node.value
        return ast.get_source_segment(self._source, node) or ast.unparse(node)
