"""Values worked out by hand: a row is a theme, a quantity and a case with its inputs and the expected value."""

from __future__ import annotations

import functools
import sys
from typing import Any, NamedTuple

from support import REFERENCE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib


class Row(NamedTuple):
    theme: str
    quantity: str
    case: dict[str, Any]


@functools.cache
def rows() -> tuple[Row, ...]:
    """All rows, themes and quantities in the order of the files."""
    return tuple(
        Row(path.stem, quantity, case)
        for path in sorted(REFERENCE.glob("*.toml"))
        if path.stem != "ranges"
        for quantity, cases in tomllib.loads(path.read_text(encoding="utf-8")).items()
        for case in cases
    )
