"""Units as people write them: from ``USD/(GPU h)`` to a factor and a dimension."""

from __future__ import annotations

import difflib
import re
from fractions import Fraction
from functools import lru_cache

from roofslate._base.messages import shown
from roofslate._core import GREATEST_EXPONENT
from roofslate.errors import UnitError
from roofslate.units.table import TABLE, Unit, base_unit

# Beyond all units in use. These limits bound the work.
_MOST_CHARACTERS = 1000


_MOST_BRACKETS = 4


_MOST_DENOMINATOR = 1000  # of an exponent. Only plain numbers have any but 1 and 2.


_WITH_DIGITS = "".join(f"{re.escape(name)}|" for name in sorted(TABLE, key=len) if re.search(r"\d", name[1:]))
_TOKEN = re.compile(
    r"\s*(?:(?P<power>(?:\^|\*\*)\s*(?:\(\s*[+-]?\d+(?:\.\d+|/\d+)?\s*\)|[+-]?\d+(?:\.\d+)?))"
    rf"|(?P<name>{_WITH_DIGITS}[^\W\d_]*[$%]|[^\W\d_]+)|(?P<sign>[*·⋅/()-])|(?P<one>1(?![\d.])))"
)


class _UnitReader:
    """Recursive descent on a unit such as ``USD/(GPU h)``. Messages of UnitError are clauses."""

    def __init__(self, text: str) -> None:
        self.tokens: list[tuple[str, str]] = []
        end = len(text.rstrip())
        position = 0
        while position < end:
            match = _TOKEN.match(text, position)
            if match is None:
                raise UnitError(f"{shown(text[position:].strip())} is not a unit")
            kind = str(match.lastgroup)
            word = match[kind]
            self.tokens.append(("sign", "/") if word == "per" else (kind, word))
            position = match.end()
        self.position = 0
        self.brackets = 0

    def peek(self) -> tuple[str, str]:
        return self.tokens[self.position] if self.position < len(self.tokens) else ("end", "")

    def take(self) -> tuple[str, str]:
        token = self.peek()
        self.position += 1
        return token

    def product(self) -> Unit:
        # A unit may begin with a slash: "64 / s".
        unit = base_unit() if self.peek()[1] == "/" else self.compound()
        divided = False
        while True:
            kind, word = self.peek()
            if word == "/":
                self.take()
                unit = self.combine(unit, self.compound(), -1)
                divided = True
            elif word in ("*", "·", "⋅"):
                self.take()
                unit = self.combine(unit, self.compound(), 1)
            elif kind in ("name", "one") or word == "(":
                if divided:
                    raise UnitError(f"it is unclear whether {word!r} is divided by: use brackets or another '/'")
                unit = self.combine(unit, self.compound(), 1)
            else:
                return unit

    def compound(self) -> Unit:
        """Read units joined by hyphens, which bind tighter than a slash: ``USD/GPU-hour``."""
        unit = self.powered()
        while self.peek()[1] == "-":
            self.take()
            unit = self.combine(unit, self.powered(), 1)
        return unit

    def powered(self) -> Unit:
        kind, word = self.take()
        if word == "(":
            self.brackets += 1
            if self.brackets > _MOST_BRACKETS:
                raise UnitError(f"more than {_MOST_BRACKETS} brackets in one another are not supported")
            unit = self.product()
            if self.take()[1] != ")":
                raise UnitError("a bracket is not closed")
            self.brackets -= 1
        elif kind in ("name", "one"):
            unit = self.named(word)
        else:
            raise UnitError(f"a unit is missing before {word!r}" if word else "it ends where a unit should follow")
        if self.peek()[0] == "power":
            exponent = Fraction(self.take()[1].lstrip("^* ").strip("() "))
            small = abs(exponent) <= GREATEST_EXPONENT and exponent.denominator <= _MOST_DENOMINATOR
            dimension = unit.dimension.power(*exponent.as_integer_ratio()) if small else None
            if dimension is None:
                raise UnitError(f"an exponent of {exponent} is not supported")
            unit = Unit(Fraction(unit.factor**exponent), dimension)
        return unit

    @staticmethod
    def named(word: str) -> Unit:
        unit = TABLE.get(word)
        if word == "K":
            raise UnitError("'K' is not clear: write k for 1,000 or Ki for 1,024")
        if unit is None:
            same = [name for name in TABLE if name.casefold() == word.casefold()]
            rate = f"{word[:-2]}/s" if word.endswith("ps") and word[:-2] in TABLE else ""
            near = [rate] if rate else same[:2] or difflib.get_close_matches(word, TABLE, 1, 0.6)
            hint = f"; did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
            raise UnitError(f"unknown unit {word!r}{hint}")
        return unit

    @staticmethod
    def combine(a: Unit, b: Unit, sign: int) -> Unit:
        if sign > 0:
            return Unit(a.factor * b.factor, a.dimension * b.dimension)
        return Unit(a.factor / b.factor, a.dimension / b.dimension)


def check_length(text: str) -> None:
    """Raise an error for a text longer than any unit or number."""
    if len(text) > _MOST_CHARACTERS:
        raise UnitError(f"it is longer than {_MOST_CHARACTERS} characters")


@lru_cache(maxsize=4096)
def read_unit(text: str) -> Unit:
    """Read a unit. The message of a UnitError is a clause."""
    check_length(text)
    reader = _UnitReader(text)
    unit = reader.product()
    if reader.position < len(reader.tokens):
        raise UnitError(f"{reader.peek()[1]!r} is out of place")
    return unit
