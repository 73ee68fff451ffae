"""Parts of the tests: one or some parameters of each function."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    import pytest

__all__ = ["first_of_each", "sampled"]

_LEFT_OUT = ("whole", "sampled")  # of the first of each: too long, or run in part elsewhere


def first_of_each(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Keep the first item of each function."""
    return [
        first for first, *_ in _functions(item for item in items if not any(map(item.get_closest_marker, _LEFT_OUT)))
    ]


def sampled(items: Iterable[pytest.Item]) -> list[pytest.Item]:
    """Keep as many items of each function as its mark ``sampled(n)`` says, evenly spread."""
    chosen = []
    for of_function in _functions(items):
        mark = of_function[0].get_closest_marker("sampled")
        n = len(of_function) if mark is None else min(mark.args[0], len(of_function))
        chosen += [of_function[k * len(of_function) // n] for k in range(n)]
    return chosen


def _functions(items: Iterable[pytest.Item]) -> list[list[pytest.Item]]:
    """Group items by their function."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(item.nodeid.partition("[")[0], []).append(item)
    return list(functions.values())
