"""Formulas as MathML, which browsers render without scripts or pictures."""

from __future__ import annotations

import html
import re
import unicodedata
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from markupsafe import Markup

__all__ = ["mathml"]

_LETTERS = """
    alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu
    nu xi omicron pi rho sigma tau upsilon phi chi psi omega
"""

_GREEK = dict(zip(_LETTERS.split(), "αβγδεζηθικλμνξοπρστυφχψω", strict=True))

_IDENTIFIERS = {
    **_GREEK,
    **{name.capitalize(): letter.upper() for name, letter in _GREEK.items()},
    **{name: name for name in ("exp", "ln", "log", "max", "min")},
    "ell": "ℓ",
    "infty": "∞",
    "varrho": "ϱ",
}

_SIGNS = {
    "-": "\N{MINUS SIGN}",
    "*": "∗",
    "cdot": "·",
    "downarrow": "↓",
    "geq": "≥",
    "lceil": "⌈",
    "leq": "≤",
    "lfloor": "⌊",
    "rceil": "⌉",
    "rfloor": "⌋",
    "times": "×",
    "uparrow": "↑",
    "vee": "∨",
    "wedge": "∧",
}

_OPERATORS = {sign: sign for sign in "+=<>/()[],.:|!"} | _SIGNS
_ACCENTS = {"bar": "¯", "hat": "^", "tilde": "~"}
_SPACES = {",": "0.17em", ";": "0.28em"}

_TOKEN = re.compile(
    r"(?P<text>\\text\{(?:\\.|[^\\{}])*\})"
    r"|\\(?P<table>begin|end)\{(?P<kind>aligned|cases)\}"
    r"|\\(?P<command>[A-Za-z]+|.)"
    r"|(?P<number>\d+(?:\.\d+)?(?:e[-+]?\d+)?)"
    r"|(?P<sign>\S)"
)


def mathml(latex: str) -> Markup:
    """Convert LaTeX to MathML, or embed it as text if it is not understood."""
    from markupsafe import Markup

    try:
        inside = _Reader(latex).row("")
    except (ValueError, KeyError, RecursionError):
        inside = f"<mtext>{html.escape(latex)}</mtext>"
    return Markup(f"<math>{inside}</math>")


class _Reader:
    """Recursive descent over LaTeX. Other text raises a ValueError."""

    def __init__(self, latex: str) -> None:
        self.tokens = list(_TOKEN.finditer(latex))
        self.position = 0

    def peek(self) -> str:
        return self.tokens[self.position][0] if self.position < len(self.tokens) else ""

    def take(self) -> re.Match[str]:
        if self.position == len(self.tokens):
            raise ValueError("the formula ends too early")
        self.position += 1
        return self.tokens[self.position - 1]

    def row(self, *ends: str) -> str:
        """Read until one of these tokens, and leave it to the caller."""
        items = []
        while self.peek() not in ends:
            items.append(self.scripted())
        return f"<mrow>{''.join(items)}</mrow>"

    def scripted(self) -> str:
        base = self.atom()
        scripts = {"_": "", "^": ""}
        while self.peek() in ("_", "^", "'"):
            sign = self.take()[0]
            scripts["^" if sign == "'" else sign] += "<mo>′</mo>" if sign == "'" else self.atom()
        below, above = (f"<mrow>{script}</mrow>" if script else "" for script in scripts.values())
        tag = {(True, True): "msubsup", (True, False): "msub", (False, True): "msup"}.get((bool(below), bool(above)))
        return f"<{tag}>{base}{below}{above}</{tag}>" if tag else base

    def atom(self) -> str:
        token = self.take()
        if token["text"]:
            words = re.sub(r"\\(.)", r"\1", token["text"].removeprefix("\\text{").removesuffix("}"))
            return _upright(words)  # next to mtext an operator has no space around it
        if token["number"]:
            return f"<mn>{token['number']}</mn>"
        if token["table"] == "begin":
            return self.table(token["kind"])
        if token["command"]:
            return self.command(token["command"])
        if token[0] == "{":
            inside = self.row("}")
            self.take()
            return inside
        return f"<mi>{token[0]}</mi>" if token[0].isalpha() else _operator(token[0])

    def command(self, name: str) -> str:
        match name:
            case "frac":
                return f"<mfrac>{self.atom()}{self.atom()}</mfrac>"
            case "sqrt":
                return f"<msqrt>{self.atom()}</msqrt>"
            case "mathrm":
                return _upright(self.letters())
            case "mathcal":
                return f"<mi>{''.join(map(_script, self.letters()))}</mi>"
            case "left":
                opening, inside = self.fence(), self.row(r"\right")
                self.take()
                return f"<mrow>{opening}{inside}{self.fence()}</mrow>"
        if name in _ACCENTS:
            return f'<mover accent="true">{self.atom()}<mo>{_ACCENTS[name]}</mo></mover>'
        if name in _SPACES:
            return f'<mspace width="{_SPACES[name]}"/>'
        return f"<mi>{_IDENTIFIERS[name]}</mi>" if name in _IDENTIFIERS else _operator(name)

    def fence(self) -> str:
        token = self.take()
        return _operator(token["command"] or token[0], ' stretchy="true"')

    def letters(self) -> str:
        """Read a letter, or a group in braces."""
        text = self.take()[0]
        if text == "{":
            text = ""
            while self.peek() != "}":
                text += self.take()[0]
            self.take()
        return text

    def table(self, kind: str) -> str:
        rows: list[list[str]] = [[]]
        end = f"\\end{{{kind}}}"
        while True:
            rows[-1].append(self.row("&", "\\\\", end))
            separator = self.take()[0]
            if separator == end:
                break
            if separator != "&":
                rows.append([])
        sides = ("right", "left") if kind == "aligned" else ("left", "left")
        cells = [
            "".join(
                f'<mtd style="text-align: {side}; padding: 0.25em 0.2em">{cell}</mtd>'
                for side, cell in zip(sides, row, strict=False)
            )
            for row in rows
        ]
        table = f'<mtable displaystyle="true">{"".join(f"<mtr>{row}</mtr>" for row in cells)}</mtable>'
        return table if kind == "aligned" else f'<mrow><mo stretchy="true">{{</mo>{table}</mrow>'


def _upright(words: str) -> str:
    return f'<mi mathvariant="normal">{html.escape(words)}</mi>'


def _operator(name: str, look: str = "") -> str:
    if name not in _OPERATORS:
        raise ValueError(f"{name!r} is not known")
    return f"<mo{look}>{html.escape(_OPERATORS[name])}</mo>"


def _script(letter: str) -> str:
    try:
        return unicodedata.lookup(f"MATHEMATICAL SCRIPT CAPITAL {letter}")
    except KeyError:
        return unicodedata.lookup(f"SCRIPT CAPITAL {letter}")
