"""Reference values worked out by hand, a row for each quantity and case of a theme.

A row has the inputs and the expected value.
"""

from __future__ import annotations

import functools
import itertools
import re
from typing import TYPE_CHECKING, Any, NamedTuple

from roofslate._base.toml import read_data
from roofslate.grid.read import Settled

from support import REFERENCE

if TYPE_CHECKING:
    from pathlib import Path

_HEADING = re.compile(r"^\[\[(\w+)\]\]$", re.MULTILINE)


class Row(NamedTuple):
    theme: str
    quantity: str
    case: dict[str, Any]


@functools.cache
def rows() -> tuple[Row, ...]:
    """All rows, themes and quantities in the order of the files."""
    return tuple(
        Row(path.stem, quantity, {**case, "inputs": Settled(case["inputs"])})
        for path in _files()
        for quantity, cases in read_data(path).items()
        for case in cases
    )


@functools.cache
def by_quantity() -> dict[str, list[Row]]:
    return {quantity: list(group) for quantity, group in itertools.groupby(rows(), lambda row: row.quantity)}


def quantities() -> list[str]:
    """The keys of `by_quantity`, from the headings of the files.

    All rows take 0.2 s to read, too long to collect tests.
    """
    return [name for path in _files() for name in dict.fromkeys(_HEADING.findall(path.read_text(encoding="utf-8")))]


def _files() -> list[Path]:
    return [path for path in sorted(REFERENCE.glob("*.toml")) if path.stem != "ranges"]
