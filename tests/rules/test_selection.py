"""Tests of the parts of the tests, and of the record of their durations."""

from __future__ import annotations

import re
from types import SimpleNamespace
from typing import TYPE_CHECKING, Any

from durations import read_report, record
from support import ROOT
from support.selection import first_of_each, longest_first, of_part, read_durations

if TYPE_CHECKING:
    from pathlib import Path


def item(nodeid: str, *marks: str) -> Any:
    return SimpleNamespace(nodeid=nodeid, get_closest_marker=lambda name: name if name in marks else None)


def names(items: Any) -> list[str]:
    return [one.nodeid for one in items]


QUICK = [item(f"a.py::quick[{k}]") for k in range(3)]
MANY = [item(f"a.py::many[{k}]") for k in range(10)]
LONG = [item("b.py::long[x]"), item("b.py::long[y]")]
MARKED = [item("c.py::recipe[x]", "long"), item("c.py::recipe[y]", "long"), item("c.py::recipe[z]")]
EACH = [item(f"d.py::page[{k}]", "each") for k in range(4)]
WHOLE = [item("c.py::wheels", "long", "whole")]
ALL = [*QUICK, *MANY, *LONG, *MARKED, *WHOLE]
DURATIONS = {"a.py::many": 0.15, "b.py::long": 40.0, "c.py::wheels": 3000.0}


def test_the_usual_part_takes_part_of_each_function_evenly_spread() -> None:
    without_long = [one for one in ALL if one.get_closest_marker("long") is None]
    usual = of_part(without_long, "usual", DURATIONS)
    assert names(usual) == names(QUICK) + [f"a.py::many[{k}]" for k in (0, 2, 5, 7)] + ["c.py::recipe[z]"]
    assert names(of_part(without_long, "quick", DURATIONS)) == [*names(QUICK), "c.py::recipe[z]"]
    assert names(of_part(MANY, "quick", {"a.py::many": 0.04})) == [f"a.py::many[{k}]" for k in (0, 3, 6)]


def test_the_rest_has_all_of_what_the_usual_part_takes_in_part() -> None:
    left_out = of_part(ALL, "rest", DURATIONS)
    assert names(left_out) == names([*MANY, *LONG, *MARKED[:2], *WHOLE])
    assert names(first_of_each(left_out, DURATIONS)) == ["b.py::long[x]", "c.py::recipe[x]"]
    assert names(first_of_each(EACH, {"d.py::page": 1.1})) == names(EACH)
    assert names(first_of_each(EACH, {"d.py::page": 0.4})) == names(EACH)
    assert first_of_each(EACH, {"d.py::page": 0.1}) == []


def test_the_longest_are_begun_first() -> None:
    items = list(ALL)
    longest_first(items, DURATIONS)
    assert names(items) == names([*MARKED[:2], *WHOLE, *LONG, *MANY, *QUICK, MARKED[2]])


def test_durations_are_means_of_the_last_report(tmp_path: Path) -> None:
    report = tmp_path / "report.xml"
    report.write_text(
        """<testsuites><testsuite>
        <testcase classname="tests.python.test_a" name="test_each[x]" time="1.0"/>
        <testcase classname="tests.python.test_a" name="test_each[y]" time="2.04"/>
        <testcase classname="tests.python.test_a" name="test_quick" time="0.001"/>
        <testcase classname="tests.python.test_a" name="test_skipped" time="0"><skipped/></testcase>
        </testsuite></testsuites>"""
    )
    before = {f"tests/python/test_a.py::{name}": 7.0 for name in ("test_each", "test_quick", "test_skipped", "test_b")}
    assert record(before, [read_report(report)]) == {
        "tests/python/test_a.py::test_b": 7.0,
        "tests/python/test_a.py::test_each": 1.5,
        "tests/python/test_a.py::test_skipped": 7.0,
    }


def test_each_record_is_of_a_test() -> None:
    missing = []
    for function in read_durations():
        path, _, name = function.partition("::")
        file = ROOT / path
        text = file.read_text(encoding="utf-8") if file.is_file() else ""
        if not re.search(rf"^(async )?def {name}\(", text, re.MULTILINE):
            missing.append(function)
    assert missing == [], "take these out of tests/python/support/durations.json"
