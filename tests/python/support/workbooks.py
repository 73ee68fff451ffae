"""Workbooks of Excel, computed anew: by a small reader of formulas, or by LibreOffice."""

from __future__ import annotations

import math
import operator
import re
import shutil
import statistics
import subprocess
from pathlib import Path
from typing import Any

from support.lazy import Lazy

openpyxl = Lazy("openpyxl")

NORMAL = statistics.NormalDist()
TOKEN = re.compile(
    r'\s*(?:(?P<number>\d+(?:\.\d+)?(?:E[+-]?\d+)?)|(?P<text>"(?:[^"]|"")*")|(?P<name>[A-Za-z_][\w.]*)'
    r"|(?P<sign><=|>=|<>|[-+*/^<>=(),{}]))"
)

# LibreOffice recalculates files of other programs only on request.
SETTINGS = """<?xml version="1.0" encoding="UTF-8"?>
<oor:items xmlns:oor="http://openoffice.org/2001/registry" xmlns:xs="http://www.w3.org/2001/XMLSchema"
 xmlns:xsi="http://www.w3.org/2001/XMLSchema-instance">
<item oor:path="/org.openoffice.Office.Calc/Formula/Load"><prop oor:name="OOXMLRecalcMode" oor:op="fuse">
<value>0</value></prop></item></oor:items>
"""


class CellError(ArithmeticError):
    """Error instead of a value: ``#N/A``, ``#DIV/0!``, ``#NUM!``, ``#NAME?``."""


def opened(path: Path, *, values: bool = False) -> Any:
    return openpyxl.load_workbook(path, data_only=values)


def named(book: Any) -> dict[str, Any]:
    """The defined names of a workbook and their places."""
    outcome = {}
    for name, defined in book.defined_names.items():
        ((sheet, position),) = defined.destinations
        outcome[name] = book[sheet][position.replace("$", "")]
    return outcome


class Sheet:
    """Values of a workbook by name, computed on request. Case does not matter."""

    def __init__(self, path: Path, changes: dict[str, Any] | None = None) -> None:
        self.book = opened(path)
        self.cells = {name.upper(): cell.value for name, cell in named(self.book).items()}
        self.cells |= {name.upper(): x for name, x in (changes or {}).items()}
        self._known: dict[str, Any] = {}

    def __getitem__(self, name: str) -> Any:
        key = name.upper()
        if key not in self._known:
            if key not in self.cells:
                raise CellError(f"#NAME? {name}")
            content = self.cells[key]
            is_formula = isinstance(content, str) and content.startswith("=")
            self._known[key] = _Formula(self, content[1:]).value() if is_formula else content
        return self._known[key]

    def results(self) -> dict[str, Any]:
        """The column of values on the first sheet, by quantity."""
        rows = self.book["Results"].iter_rows(min_row=2, max_col=2, values_only=True)
        return {name: _Formula(self, str(formula)[1:]).value() for name, formula in rows if formula is not None}


class _Formula:
    """One formula, read from left to right. IF evaluates one side."""

    def __init__(self, sheet: Sheet, text: str) -> None:
        self.sheet, self.text = sheet, text
        self.tokens = []
        position = 0
        while position < len(text):
            outcome = TOKEN.match(text, position)
            assert outcome, text[position:]
            self.tokens.append((outcome.lastgroup, outcome[outcome.lastgroup]))
            position = outcome.end()
        self.tokens.append(("end", ""))
        self.place = 0

    def value(self) -> Any:
        built = self.comparison()
        assert self.tokens[self.place][0] == "end", self.text
        return built()

    def take(self, *signs: str) -> str:
        kind, text = self.tokens[self.place]
        if kind == "sign" and text in signs:
            self.place += 1
            return text
        return ""

    def need(self, sign: str) -> None:
        assert self.take(sign), f"{sign} is missing in {self.text}"

    def comparison(self) -> Any:
        first = self.sum()
        while sign := self.take("<=", ">=", "<>", "<", ">", "="):
            first = _compared(sign, first, self.sum())
        return first

    def sum(self) -> Any:
        first = self.product()
        while sign := self.take("+", "-"):
            first = _computed(operator.add if sign == "+" else operator.sub, first, self.product())
        return first

    def product(self) -> Any:
        first = self.power()
        while sign := self.take("*", "/"):
            first = _computed(operator.mul if sign == "*" else operator.truediv, first, self.power())
        return first

    def power(self) -> Any:
        first = self.atom()
        while self.take("^"):  # Excel goes from left to right
            first = _computed(_raised, first, self.atom())
        return first

    def atom(self) -> Any:
        if self.take("-"):  # which binds more tightly than a power
            return _computed(operator.neg, self.atom())
        if self.take("("):
            inside = self.comparison()
            self.need(")")
            return inside
        if self.take("{"):
            items = self.arguments("}")
            return lambda: [item() for item in items]
        kind, text = self.tokens[self.place]
        self.place += 1
        if kind == "number":
            return lambda: float(text)
        if kind == "text":
            return lambda: text[1:-1].replace('""', '"')
        assert kind == "name", self.text
        if self.take("("):
            return _call(text.upper(), self.arguments(")"))
        return lambda: self.sheet[text]

    def arguments(self, end: str) -> list[Any]:
        outcome: list[Any] = []
        while not self.take(end):
            if outcome:
                self.need(",")
            outcome.append(self.comparison())
        return outcome


def _number(x: Any) -> float:
    if isinstance(x, str):
        raise CellError("#VALUE!")
    return float(x)


def _computed(function: Any, *operands: Any) -> Any:
    def compute() -> float:
        numbers = [_number(operand()) for operand in operands]
        try:
            outcome = function(*numbers)
        except (ValueError, ZeroDivisionError, OverflowError) as error:
            raise CellError(f"#NUM! {error}") from None
        if isinstance(outcome, complex) or not math.isfinite(outcome):
            raise CellError("#NUM!")
        return float(outcome)

    return compute


def _raised(a: float, b: float) -> Any:
    if a == 0 == b:
        raise ValueError("0 ^ 0")
    return a**b


def _compared(sign: str, first: Any, right: Any) -> Any:
    holds = {
        "<": operator.lt,
        "<=": operator.le,
        ">": operator.gt,
        ">=": operator.ge,
        "=": operator.eq,
        "<>": operator.ne,
    }[sign]

    def compare() -> bool:
        a, b = first(), right()
        assert isinstance(a, str) == isinstance(b, str), (a, sign, b)
        return bool(holds(a, b))

    return compare


NUMBERS = {
    "MIN": min,
    "MAX": max,
    "ABS": abs,
    "EXP": math.exp,
    "LN": math.log,
    "SQRT": math.sqrt,
    "INT": math.floor,
    "SIGN": lambda x: (x > 0) - (x < 0),
    "NORMSINV": NORMAL.inv_cdf,
    "NORMSDIST": lambda x: math.erfc(-x / math.sqrt(2)) / 2,
}


def _call(name: str, arguments: list[Any]) -> Any:
    if name in NUMBERS:
        return _computed(NUMBERS[name], *arguments)
    return lambda: _special(name, arguments)


def _special(name: str, arguments: list[Any]) -> Any:
    if name == "IF":
        return arguments[1 if arguments[0]() else 2]()
    if name == "AND":
        values = [bool(x()) for x in arguments]  # an error in any of them is one of all
        return all(values)
    if name == "OR":
        values = [bool(x()) for x in arguments]
        return any(values)
    if name == "NOT":
        return not arguments[0]()
    if name == "MATCH":
        return float(arguments[1]().index(arguments[0]()) + 1)
    if name == "CHOOSE":
        return arguments[int(arguments[0]())]()
    if name == "NA":
        raise CellError("#N/A")
    raise CellError(f"#NAME? {name}")


def office() -> str | None:
    """LibreOffice, if it is installed."""
    return shutil.which("soffice") or shutil.which("libreoffice")


def recalculated(paths: list[Path], folder: Path) -> list[dict[str, Any]]:
    """Values by name, recalculated by LibreOffice."""
    program = office()
    assert program is not None
    profile, out = folder / "profile", folder / "out"
    (profile / "user").mkdir(parents=True)
    (profile / "user" / "registrymodifications.xcu").write_text(SETTINGS)
    command = [program, "--headless", "--norestore", f"-env:UserInstallation={profile.as_uri()}"]
    command += ["--convert-to", "xlsx:Calc MS Excel 2007 XML", "--outdir", str(out), *map(str, paths)]
    subprocess.run(command, check=True, capture_output=True, timeout=600)
    outcome = []
    for path in paths:
        book = opened(out / path.name, values=True)
        cells = {name: cell.value for name, cell in named(book).items()}
        rows = book["Results"].iter_rows(min_row=2, max_col=2, values_only=True)
        outcome.append(cells | {f"result:{name}": x for name, x in rows if x is not None})
    return outcome
