"""Reference values worked out by hand, a row for each quantity and case of a theme.

A row has the inputs and the expected value.
"""

from __future__ import annotations

import functools
from typing import Any, NamedTuple

from roofslate._base.toml import read_data
from roofslate.grid.read import Settled

from support import REFERENCE


class Row(NamedTuple):
    theme: str
    quantity: str
    case: dict[str, Any]


@functools.cache
def rows() -> tuple[Row, ...]:
    """All rows, themes and quantities in the order of the files."""
    return tuple(
        Row(path.stem, quantity, {**case, "inputs": Settled(case["inputs"])})
        for path in sorted(REFERENCE.glob("*.toml"))
        if path.stem != "ranges"
        for quantity, cases in read_data(path).items()
        for case in cases
    )
