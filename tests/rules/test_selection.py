"""Tests of the samples of ``make test`` and of the slice of the gate."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from support.selection import first_of_each, sampled


def item(nodeid: str, **marks: Any) -> Any:
    of_name = {name: SimpleNamespace(args=args) for name, args in marks.items()}
    return SimpleNamespace(nodeid=nodeid, get_closest_marker=of_name.get)


def names(items: Any) -> list[str]:
    return [one.nodeid for one in items]


MANY = [item(f"a.py::test_many[{k}]", sampled=(4,)) for k in range(10)]
FEW = [item(f"a.py::test_few[{k}]", sampled=(4,)) for k in range(3)]
PLAIN = [item("b.py::test_plain"), item("b.py::test_each[x]"), item("b.py::test_each[y]")]
WHOLE = [item("c.py::test_wheels", whole=())]


def test_a_sample_is_spread_evenly_and_takes_all_of_few() -> None:
    chosen = sampled([*MANY, *PLAIN, *FEW, *WHOLE])
    assert names(chosen) == [f"a.py::test_many[{k}]" for k in (0, 2, 5, 7)] + names([*PLAIN, *FEW, *WHOLE])


def test_the_first_of_each_leaves_out_samples_and_the_longest() -> None:
    assert names(first_of_each([*MANY, *PLAIN, *FEW, *WHOLE])) == ["b.py::test_plain", "b.py::test_each[x]"]
