"""Parts of the tests by their durations: `make quick`, `make test`, and the rest.

``durations.json`` has the seconds of a test of each function, recorded by ``python/tools/durations.py``. A function
without a record counts as quick.
"""

from __future__ import annotations

import functools
import json
import math
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

    import pytest

__all__ = ["PARTS", "first_of_each", "longest_first", "of_part", "read_durations"]

PARTS = ("quick", "usual", "rest")
_RECORD = Path(__file__).with_name("durations.json")
_LONGEST = {"quick": 0.05, "usual": 0.8}  # seconds of a test, at most
_OF_FUNCTION = {"quick": 0.15, "usual": 0.6}  # of all tests of a function


@functools.cache
def read_durations() -> Mapping[str, float]:
    """Read the seconds of a test by function: ``"tests/python/test_bits.py::test_name"``."""
    durations: dict[str, float] = json.loads(_RECORD.read_text(encoding="utf-8"))
    return durations


def of_part(items: Iterable[pytest.Item], part: str, durations: Mapping[str, float]) -> list[pytest.Item]:
    """Keep the items of a part.

    Parameters
    ----------
    items : iterable of pytest.Item
    part : str
        ``"usual"``: as many tests of each function as fit in 0.6 s, evenly spread, none above 0.8 s.
        ``"quick"``: as many as fit in 0.15 s, none above 0.05 s. ``"rest"``: all tests of functions that the usual
        part does not take whole.
    durations : mapping
        Seconds of a test by function.

    Returns
    -------
    list of pytest.Item
    """
    chosen = []
    for function, tests in _functions(items).items():
        seconds = durations.get(function, 0.0)
        if part != "rest":
            chosen += _that_fit(tests, seconds, part)
        elif len(_that_fit(tests, seconds, "usual")) < len(tests):
            chosen += tests
        else:
            chosen += [test for test in tests if test.get_closest_marker("long")]
    return chosen


def first_of_each(items: Iterable[pytest.Item], durations: Mapping[str, float]) -> list[pytest.Item]:
    """Keep the first item of each function that the usual part leaves out, unless it is whole.

    Of functions marked each, keep all that the usual part takes only in part.
    """
    chosen = []
    for function, tests in _functions(items).items():
        seconds = durations.get(function, 0.0)
        if tests[0].get_closest_marker("each") and len(_that_fit(tests, seconds, "usual")) < len(tests):
            chosen += tests
            continue
        long = [test for test in tests if test.get_closest_marker("long")]
        left_out = tests if seconds > _LONGEST["usual"] else long
        chosen += [test for test in left_out if not test.get_closest_marker("whole")][:1]
    return chosen


def longest_first(items: list[pytest.Item], durations: Mapping[str, float]) -> None:
    """Sort items, so that no process works on a long one at the end."""

    def seconds(item: pytest.Item) -> float:
        return durations.get(_function(item), math.inf if item.get_closest_marker("long") else 0.0)

    items.sort(key=lambda item: -seconds(item))


def _that_fit(tests: list[pytest.Item], seconds: float, part: str) -> list[pytest.Item]:
    """Choose tests of a function for a part, each of which takes some seconds."""
    if seconds > _LONGEST[part]:
        return []
    most = _OF_FUNCTION[part]
    n = len(tests) if seconds * len(tests) <= most else max(1, int(most / seconds))
    return [tests[k * len(tests) // n] for k in range(n)]


def _function(item: pytest.Item) -> str:
    return item.nodeid.partition("[")[0]


def _functions(items: Iterable[pytest.Item]) -> dict[str, list[pytest.Item]]:
    """Group items by their function."""
    functions: dict[str, list[pytest.Item]] = {}
    for item in items:
        functions.setdefault(_function(item), []).append(item)
    return functions
