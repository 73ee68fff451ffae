"""Printed formulas as Python reads them."""

from __future__ import annotations

import ast

__all__ = ["tree_of"]


def tree_of(formula: str) -> ast.expr:
    """Parse the right side of a formula, with intermediate values in place of their names."""
    right, _, definitions = formula.partition(" = ")[2].replace("^", "**").partition(" where ")
    known: dict[str, ast.expr] = {}
    for definition in definitions.split("; ") if definitions else ():
        name, _, text = definition.partition(" = ")
        assert name not in known, f"{name} is named twice: {formula}"
        known[name] = _parsed(text, known)
    return _parsed(right, known)


def _parsed(text: str, known: dict[str, ast.expr]) -> ast.expr:
    tree: ast.expr = _Written(known).visit(ast.parse(text, mode="eval").body)
    return tree


class _Written(ast.NodeTransformer):
    def __init__(self, known: dict[str, ast.expr]) -> None:
        self.known = known

    def visit_Name(self, node: ast.Name) -> ast.expr:
        return self.known.get(node.id, node)
