"""The words, numbers and signs of a condition, and how far the unit of a number reaches."""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn

from roofslate import units
from roofslate._base.messages import shown
from roofslate.errors import ConditionError, RoofslateError
from roofslate.registry.registry import entries

__all__ = ["Token", "TokenReader"]


MOST_CHARACTERS = 10_000


class Token(NamedTuple):
    """A word, number or sign of a text, and its place."""

    kind: str  # number, word, sign, string or end
    text: str
    start: int
    end: int


# Each alternative decides by its next character, so that no text is read twice.
_TOKEN = re.compile(
    r"(?P<number>(?:[0-9]{1,3}(?:,[0-9]{3})+(?![0-9])|[0-9]+(?:_[0-9]+)*)(?:\.[0-9]*)?(?:[eE][+-]?[0-9]+)?"
    r"|\.[0-9]+(?:[eE][+-]?[0-9]+)?)"
    r"|(?P<word>[^\W\d]\w*)|(?P<sign><=|>=|==|!=|\*\*|[-+*/()<>,^%$·⋅\N{MINUS SIGN}])"
    r"|(?P<string>'[^']*'|\"[^\"]*\")"
)


_HINTS = {
    "=": "write '==', '<=' or '>='",
    "≤": "write '<='",
    "≥": "write '>='",
    "≠": "write '!='",
    "×": "write '*'",
    "÷": "write '/'",
    "&": "write 'and'",
    "!": "write '!='",
    "|": "'or' is not allowed: conditions are joined by 'and'",
    "[": "use round brackets",
    "{": "use round brackets",
    "'": "the quoted word does not end",
    '"': "the quoted word does not end",
    **dict.fromkeys("“”‘’", "use straight quotes"),
}


class TokenReader:
    """A text as tokens, read one after the other.

    Parameters
    ----------
    text : str
        Conditions or a formula.
    kind : str
        Its name in messages: ``"condition"`` or ``"formula"``.

    Raises
    ------
    ConditionError
        If the text has a character of no token, or too many of them.
    """

    def __init__(self, text: str, kind: str) -> None:
        self.text = str(text)
        self.kind = kind
        self.tokens: list[Token] = []
        self.at = 0
        if len(text) > MOST_CHARACTERS:
            raise ConditionError(f"{kind} {shown(text)}: more than {MOST_CHARACTERS} characters are not read")
        self.split()

    def fail(self, problem: object, token: Token | None = None, error: type[RoofslateError] | None = None) -> NoReturn:
        """Raise an error with the position of this token, or of the next one."""
        faulty = token or self.peek()
        where = "at the end" if faulty.kind == "end" else f"at {shown(faulty.text)}, character {faulty.start + 1}"
        raise (error or ConditionError)(f"{self.kind} {shown(self.text)}, {where}: {problem}") from None

    def split(self) -> None:
        at = 0
        while True:
            while at < len(self.text) and self.text[at].isspace():
                at += 1
            if at == len(self.text):
                self.tokens.append(Token("end", "", at, at))
                return
            match = _TOKEN.match(self.text, at)
            if match is None:
                sign = self.text[at]
                hint = _HINTS.get(sign, "this is not part of the grammar")
                self.fail(hint, Token("sign", sign, at, at + 1))
            word = match[0].replace("\N{MINUS SIGN}", "-")
            self.tokens.append(Token(str(match.lastgroup), word, at, match.end()))
            at = match.end()

    def peek(self, ahead: int = 0) -> Token:
        return self.tokens[min(self.at + ahead, len(self.tokens) - 1)]

    def take(self) -> Token:
        token = self.peek()
        self.at += 1
        return token

    def takes(self, *texts: str) -> Token | None:
        """The next token if it is one of these signs or words."""
        return self.take() if self.peek().text in texts else None

    # --------------------------------------------------------------------------------------- how far a unit reaches

    def unit_end(self) -> int:
        """Position of the token after the unit of a number that has just been taken."""
        at = self.first_factor(self.at)
        while True:
            sign, begun = self.tokens[at], at > self.at
            hyphen = (
                sign.text == "-" and self.tokens[at - 1].end == sign.start and sign.end == self.tokens[at + 1].start
            )
            if sign.text in ("/", "per") or (begun and (sign.text in ("*", "·", "⋅") or hyphen)):
                after = self.unit_factor(at + 1)
            else:
                after = self.unit_word(at, quantities=True) if begun else 0
            if not after:
                return at
            at = after

    def first_factor(self, at: int) -> int:
        """Return the end of a unit directly after a number, as in 128k, 30% or 72 chips."""
        if self.tokens[at].text in ("%", "$"):
            return at + 1
        after = self.unit_word(at, quantities=True)
        return after or at + (self.tokens[at].text in units.PREFIXES_OF_COUNTS)

    def unit_word(self, at: int, *, quantities: bool) -> int:
        """Return the end of a unit's name with its power, or 0 without one."""
        token, after = self.tokens[at], self.tokens[min(at + 1, len(self.tokens) - 1)]
        if token.kind != "word" or after.text == "(" or (token.text in entries() and not quantities):
            return 0
        if after.text == "$" and token.end == after.start and token.text + "$" in units.UNIT_NAMES:
            return at + 2
        return self.power_end(at + 1) if token.text in units.UNIT_NAMES else 0

    def unit_factor(self, at: int) -> int:
        """Return the end of a unit's factor, maybe in brackets as in USD/(chip h), or 0."""
        if self.tokens[at].text != "(":
            return self.unit_word(at, quantities=False)
        depth = 0
        while True:
            token = self.tokens[at]
            depth += (token.text == "(") - (token.text == ")")
            inside = self.unit_word(at, quantities=False)
            if not (inside or token.text in ("(", ")", "*", "/", "·", "⋅", "-", "per")):
                return 0
            at = inside or at + 1
            if depth == 0:
                return self.power_end(at)

    def power_end(self, at: int) -> int:
        """Return the end of a power such as s^2 or byte**0.5, or `at` without one."""
        if self.tokens[at].text not in ("^", "**"):
            return at
        after = at + 1 + (self.tokens[at + 1].text in ("-", "+"))
        return after + 1 if self.tokens[after].kind == "number" else at
