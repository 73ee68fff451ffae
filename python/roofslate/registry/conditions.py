"""Conditions such as ``pass_time <= 50 ms``, parsed to steps with checked units.

The grammar, from the whole to its parts; nothing of it is handed to Python::

    condition   comparison { "and" comparison }
    comparison  sum relation sum [ relation sum ]          relation is one of < <= > >= == !=
                quantity                                   one that is no or yes: it must be yes
    sum         product { ("+" | "-") product }
    product     factor { ("*" | "/") factor }
    factor      { "-" } ( number | quantity | "(" sum ")" | function "(" sum { "," sum } ")" )

A number includes its unit: ``0.5 USD/Mtoken * output_tokens`` is a price times a length. After ``*`` or ``/`` a word
that names a quantity is that quantity, so ``8 TB/s * chips`` multiplies by the quantity ``chips``.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import cast

from roofslate import units
from roofslate._base.messages import shown, unknown
from roofslate.errors import InputTypeError, UnitError, UnknownName
from roofslate.registry.formats import same_words
from roofslate.registry.recorder import Formula, Recorder, Term
from roofslate.registry.registry import Registry, current, entries, kept_by_registry, unknown_quantity
from roofslate.registry.tokens import Token, TokenReader
from roofslate.registry.words import PRESET_KEYWORDS

__all__ = ["WORDS", "Condition", "Formula", "parse_conditions", "parse_formula"]


MOST_BRACKETS = 40


@dataclass(frozen=True)
class Condition:
    """A comparison of two formulas in the same unit.

    Attributes
    ----------
    text : str
        The comparison as it was given.
    lhs, rhs : Formula
        The two sides. A choice is the number of its word.
    relation : str
        ``"<"``, ``"<="``, ``"=="`` or ``"!="``: of ``a > b`` the left side is ``b``.
    """

    text: str
    lhs: Formula
    rhs: Formula
    relation: str


# Conditions take the trade's short names, with or without a percentile: "ttft_p99 <= 2 s".
_SHORT = {
    "ttft": "time_to_first_token",
    "tpot": "time_per_output_token",
    "itl": "inter_token_latency",
    "e2el": "request_latency",
}


def _in_full(name: str) -> str:
    short, mark, percentile = name.partition("_p")
    return f"{_SHORT[short]}{mark}{percentile}" if short in _SHORT else name


def parse_conditions(where: str | Sequence[str], *, allow_equality: bool = False) -> tuple[Condition, ...]:
    """Read a condition, or several to be met together.

    Parameters
    ----------
    where : str or sequence of str
        Comparisons such as ``"pass_time <= 50 ms"``, ``"1 ms < pass_time <= 50 ms"``,
        ``"hbm_used <= 0.9 * hbm_capacity and overlap == 'board'"``. Numbers carry a unit, of which tokens, sequences,
        parameters and chips may be left out. A number without a unit is in base units if it is the whole other side
        of the comparison, as in ``"pass_time <= 0.05"``; anywhere else it is a plain number. Zero and infinity fit
        every unit.
    allow_equality : bool
        Whether ``==`` and ``!=`` may compare numbers; they always compare choices.

    Returns
    -------
    tuple of Condition
        In the order given; ``a <= b < c`` gives two.

    Raises
    ------
    ConditionError
        If the text does not follow the grammar. The message gives the position.
    UnitError
        If units do not fit.
    UnknownName
        If a quantity, function or word of a choice does not exist.
    """
    if isinstance(where, str):
        return _conditions(current(), where, allow_equality)
    if type(where) in (tuple, list) and not where:  # as most calls give
        return ()
    if isinstance(where, (bytes, bytearray, memoryview)) or not isinstance(where, Sequence):
        raise InputTypeError(f"expected a condition such as 'pass_time <= 50 ms' or a list of them, got {shown(where)}")
    for item in where:
        if not isinstance(item, str):
            raise InputTypeError(f"expected a condition such as 'pass_time <= 50 ms', got {shown(item)}")
    return tuple(c for item in where for c in _conditions(current(), item, allow_equality))


@kept_by_registry  # loops ask the same question again and again
def _conditions(_: Registry, text: str, allow_equality: bool) -> tuple[Condition, ...]:
    """Parse a text for a caller that sees this registry."""
    return _Parser(text, "condition").conditions(allow_equality)


def parse_formula(text: str, unit: str | None = None) -> Formula:
    """Read one expression such as ``"cost_per_token * 2"``.

    Parameters
    ----------
    text : str
        Quantities, numbers with units, ``+ - * / ( )``, ``min max sqrt exp log``.
    unit : str, optional
        The unit that it must have, made of base units. An expression that is a number without a unit is then in it.

    Returns
    -------
    Formula

    Raises
    ------
    ConditionError, UnitError, UnknownName
        As `parse_conditions`.
    """
    if not isinstance(text, str):
        raise InputTypeError(f"expected a formula such as 'cost_per_token * 2', got {shown(text)}")
    return _Parser(text, "formula").formula(unit)


_POWERS = ("^", "**", "²", "³")


_NO_OR_YES = ("no", "yes")  # a choice that may be a whole condition


_RELATIONS = ("<", "<=", ">", ">=", "==", "!=")


_ONE_ARGUMENT = ("sqrt", "exp", "log")


_FUNCTIONS = ("min", "max", *_ONE_ARGUMENT)


_INFINITY = ("inf", "infinity")


_MISPLACED = ("and", "or", "not", "if", "else", "in", "is")


WORDS = frozenset({*_FUNCTIONS, *_INFINITY, *_MISPLACED, "nan", "per"})  # reserved in the grammar


@dataclass(frozen=True)
class _Value(Term):
    """A part of an expression, and its place in the text."""

    start: int = 0
    end: int = 0
    literal: str = ""  # the text, if the value is one number
    plain: bool = False  # such a number without a unit
    quoted: str = ""  # a quoted word, with its quotes


class _Wording(Recorder):
    """Recorder of one formula. Messages quote the text of the formula."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text

    def told(self, term: Term) -> str:
        value = cast("_Value", term)
        text = self.text[value.start : value.end]
        return repr(text if len(text) <= 40 else text[:37] + "...")

    def hint(self, a: Term, b: Term) -> str:
        one, other = cast("_Value", a), cast("_Value", b)
        return "" if one.literal and other.literal else _unit_hint(one, str(b.unit)) + _unit_hint(other, str(a.unit))


def _unit_hint(value: _Value, unit: str) -> str:
    """Explain the failure to read this number in this unit, in the words of inputs."""
    if not value.literal:
        return ""
    try:
        units.parse(value.literal, unit)
    except UnitError as error:
        return f"; {error}"
    return f"; a number without a unit is read in {unit} only as a whole side of a comparison"


class _Parser(TokenReader):
    """Recursive-descent parser of the grammar in the module docstring."""

    def __init__(self, text: str, kind: str) -> None:
        super().__init__(text, kind)
        self.steps = _Wording(self.text)
        self.brackets = 0
        self.calls = 0
        self.after_unit: int | None = None  # position of the token after the last number with a unit

    def compute(self, operation: str, values: Sequence[_Value], token: Token) -> _Value:
        """Record an operation at this position and return its value."""
        try:
            term = self.steps.operation(operation, *map(self.number, values))
        except UnitError as error:
            self.fail(error, token, UnitError)
        start, end = values[0].start, values[-1].end
        return _Value(term.position, term.unit, start=start, end=end)

    # ------------------------------------------------------------------------------------------------------ wholes

    def conditions(self, allow_equality: bool) -> tuple[Condition, ...]:
        result = self.comparison(allow_equality)
        while self.takes("and"):
            result += self.comparison(allow_equality)
        self.finish()
        return tuple(result)

    def formula(self, unit: str | None) -> Formula:
        value, formula = self.side()
        if value.choices or value.quoted:
            self.number(value)
        if self.peek().text in _RELATIONS:
            self.fail("a formula holds no comparison")
        self.finish()
        if unit is None:
            return formula
        expected = units.dimension_of(unit)
        if not (value.plain or value.unit == expected or (value.unit.written and value.unit.fits(expected))):
            problem = f"{self.steps.told(value)} is in {value.unit}, but {unit} was expected{_unit_hint(value, unit)}"
            self.fail(problem, self.tokens[0], UnitError)
        return replace(formula, unit=str(expected))

    def finish(self) -> None:
        """Refuse tokens after a whole expression."""
        token = self.peek()
        if token.kind == "end":
            return
        lowered = token.text.casefold()
        if lowered == "or":
            self.fail("'or' is not allowed: conditions are joined by 'and'. Evaluate each case separately")
        if lowered == "and":
            self.fail("write 'and' in lower case" if token.text != "and" else "'and' joins comparisons")
        if token.text in _POWERS:
            self.fail("powers are not allowed: multiply, or use sqrt, exp and log")
        if token.text in _RELATIONS:
            self.fail("a comparison has at most three sides; join others by 'and'")
        if token.text == ",":
            self.fail(
                "a comma separates arguments of a function, or thousands in a number; conditions are joined by 'and'"
            )
        if token.text == ")":
            self.fail("this bracket was not opened")
        if token.text == "(" and self.peek(-1).kind == "word":
            self.fail(f"{self.peek(-1).text!r} is no function; write '*' to multiply")
        self.fail("an operation is missing before this")

    def comparison(self, allow_equality: bool) -> list[Condition]:
        sides = [self.side()]
        relations: list[Token] = []
        while len(relations) < 2 and (token := self.takes(*_RELATIONS)):
            relations.append(token)
            sides.append(self.side())
        if not relations:
            value, formula = sides[0]
            if value.choices == _NO_OR_YES and (self.peek().kind == "end" or self.peek().text == "and"):
                steps = _Wording(self.text)
                yes = steps.formula(steps.word(self.text[value.start : value.end], "yes", value.choices))
                return [Condition(self.text[value.start : value.end], formula, yes, "==")]
            if self.peek().kind != "end" and self.peek().text != "and":
                self.finish()
            self.fail("a comparison is missing: < <= > >=")
        result = []
        for k, token in enumerate(relations):
            (a, lhs), (b, rhs) = sides[k], sides[k + 1]
            text = self.text[a.start : b.end]
            if a.choices or b.choices or a.quoted or b.quoted:
                lhs, rhs = self.compare_choices(sides[k], sides[k + 1], token)
            else:
                unit = self.compare_numbers(a, b, token, allow_equality)
                lhs, rhs = replace(lhs, unit=unit), replace(rhs, unit=unit)
            if token.text[0] == ">":
                lhs, rhs = rhs, lhs
            result.append(Condition(text, lhs, rhs, token.text.replace(">", "<")))
        return result

    def compare_numbers(self, a: _Value, b: _Value, token: Token, allow_equality: bool) -> str:
        """The unit in which both sides are."""
        if token.text in ("==", "!=") and not allow_equality:
            self.fail(f"{token.text!r} compares choices; numbers compare by < <= > >=", token)
        if a.plain or b.plain:
            return str(a.unit.shared(b.unit) or (a.unit if b.plain else b.unit))
        try:
            return str(self.steps.common(a, b))
        except UnitError as error:
            self.fail(error, token, UnitError)

    def compare_choices(
        self, one: tuple[_Value, Formula], other: tuple[_Value, Formula], token: Token
    ) -> tuple[Formula, Formula]:
        """Both sides as numbers of words."""
        (a, lhs), (b, rhs) = one, other
        for value, against in ((a, b), (b, a)):
            if value.choices and not (against.choices or against.quoted):
                listed = " | ".join(map(repr, value.choices))
                self.fail(f"{self.steps.told(value)} is one of {listed}: compare it with a quoted word", token)
            if value.quoted and not against.choices:
                self.fail(f"{self.steps.told(against)} is no choice: a quoted word compares with a choice", token)
        if token.text not in ("==", "!="):
            self.fail("the words of a choice have no order: compare by == or !=", token)
        if a.choices and b.choices and not same_words(a.choices, b.choices):
            self.fail(f"{self.steps.told(a)} and {self.steps.told(b)} are choices of other words", token)
        return self.number_of_word(a, lhs, b), self.number_of_word(b, rhs, a)

    def number_of_word(self, value: _Value, formula: Formula, choice: _Value) -> Formula:
        if not value.quoted:
            return formula
        steps = _Wording(self.text)
        name = self.text[choice.start : choice.end].strip("() \t\n")
        try:
            return steps.formula(steps.word(name, value.quoted[1:-1], choice.choices))
        except UnknownName as error:
            word_token = next(token for token in self.tokens if token.start == value.start)
            self.fail(error, word_token, UnknownName)

    # ----------------------------------------------------------------------------------------------------- numbers

    def side(self) -> tuple[_Value, Formula]:
        """Parse one side of a comparison into separate steps."""
        self.steps = _Wording(self.text)
        value = self.sum()
        return value, self.steps.formula(value)

    def sum(self) -> _Value:
        value = self.product()
        while token := self.takes("+", "-"):
            value = self.compute("add" if token.text == "+" else "sub", [value, self.product()], token)
        return value

    def product(self) -> _Value:
        value = self.factor()
        while token := self.takes("*", "/"):
            value = self.compute("mul" if token.text == "*" else "div", [value, self.factor()], token)
        return value

    def number(self, value: _Value) -> _Value:
        if value.choices or value.quoted:
            first_token = next(token for token in self.tokens if token.start >= value.start and token.text != "(")
            self.fail("a choice is no number: it compares by == or !=, with a quoted word", first_token)
        return value

    def factor(self) -> _Value:
        start, signs = self.peek().start, 0
        while self.takes("-"):
            signs += 1
        value = self.atom()
        if signs:
            position = self.number(value).position
            negative = self.steps.operation("neg", value).position if signs % 2 else position
            value = replace(value, position=negative, start=start)
        if self.peek().text in _POWERS:
            self.finish()
        return value

    def atom(self) -> _Value:
        token = self.peek()
        if token.kind == "number" or token.text in _INFINITY or (token.text == "$" and self.peek(1).kind == "number"):
            return self.literal()
        if token.kind == "word":
            return self.named()
        if token.kind == "string":
            self.take()
            return _Value(self.steps.constant(0.0).position, start=token.start, end=token.end, quoted=token.text)
        if token.text == "(":
            start = self.open()
            value = replace(self.sum(), start=start.start)
            return replace(value, end=self.close(start))
        if token.kind == "end" and len(self.tokens) == 1:
            self.fail(f"the {self.kind} is empty")
        return self.fail("a number, a quantity or an opening bracket is missing here")

    def open(self) -> Token:
        self.brackets += 1
        if self.brackets > MOST_BRACKETS:
            self.fail(f"more than {MOST_BRACKETS} brackets in one another are not read")
        return self.take()

    def close(self, start: Token) -> int:
        """Close the bracket that began at `start` and return its end."""
        token = self.peek()
        if token.text in _RELATIONS or token.text in ("and", "or"):
            self.fail("a comparison takes no brackets; 'and' joins comparisons without them")
        if token.kind == "end":
            self.fail("this bracket is not closed", start)
        if token.text != ")":
            self.finish()
        self.brackets -= 1
        return self.take().end

    # ------------------------------------------------------------------------------------------------------- names

    def named(self) -> _Value:
        token = self.take()
        name = token.text
        q = entries().get(_in_full(name))
        if q is not None:
            term = self.steps.quantity(q)
            return _Value(term.position, term.unit, choices=q.choices, start=token.start, end=token.end)
        called = self.peek().text == "("
        if name in _FUNCTIONS and called:
            return self.call(token)
        if name in _FUNCTIONS:
            self.fail(f"{name!r} is a function: brackets must follow", token)
        if called:
            self.fail(unknown("function", name, _FUNCTIONS), token, UnknownName)
        if name.casefold() in _MISPLACED:
            self.fail(f"{name!r} is out of place: a number, a quantity or an opening bracket is missing here", token)
        if name == "nan":
            self.fail("nothing compares with NaN", token)
        if name in PRESET_KEYWORDS:
            self.fail(f"{name!r} is an input that names a preset, not a quantity", token, UnknownName)
        if self.at - 2 == self.after_unit:
            error = unknown("quantity or unit", name, [*entries(), *units.UNIT_NAMES])
        elif name in units.UNIT_NAMES:
            error = UnknownName(f"unknown quantity {name!r}: a unit follows a number")
        elif any(name in q.choices for q in entries().values()):
            error = UnknownName(f"unknown quantity {name!r}; a word of a choice needs quotes")
        else:
            error = unknown_quantity(name)
        return self.fail(error, token, UnknownName)

    def call(self, function: Token) -> _Value:
        start = self.open()
        self.calls += 1
        arguments = [self.sum()]
        while self.takes(","):
            arguments.append(self.sum())
        self.calls -= 1
        end = self.close(start)
        value = self.number(arguments[0])
        name = function.text
        if name in _ONE_ARGUMENT:
            if len(arguments) > 1:
                self.fail(f"{name} takes one argument, got {len(arguments)}", function)
            value = self.compute(name, arguments, function)
        elif len(arguments) == 1:
            self.fail(f"{name} takes two arguments or more", function)
        for other in arguments[1:]:
            value = self.compute(name, [value, other], function)
        return replace(value, start=function.start, end=end)

    # -------------------------------------------------------------------------------------- numbers and their units

    def literal(self) -> _Value:
        before = self.peek(-1).text if self.at else ""
        start = self.peek()
        self.takes("$")
        number = self.take()
        if self.calls and "," in number.text:
            self.fail(
                "it is unclear whether this is one number or two: leave out the comma, or put a space after it", number
            )
        unit_begins = self.at
        self.at = self.unit_end()
        if self.at > unit_begins:
            if before == "/" and self.tokens[unit_begins].text in ("/", "per"):
                self.fail("the dividend of this unit is ambiguous: use brackets", self.tokens[unit_begins])
            self.after_unit = self.at
        elif self.peek().kind == "word" and self.peek().text.casefold() not in ("and", "or"):
            self.at += 1
            if self.peek(-1).text in entries() or self.peek().text == "(":
                self.fail("an operation is missing before this", self.peek(-1))
        text = self.text[start.start : self.peek(-1).end]
        try:
            value, unit = units.read(text)
        except UnitError as error:
            self.fail(error, start, UnitError)
        plain = self.at == unit_begins and start.text != "$"
        everywhere = plain and (value == 0 or math.isinf(value))
        term = self.steps.constant(value, unit, written=not text.endswith("%"), everywhere=everywhere)
        return _Value(term.position, term.unit, start=start.start, end=self.peek(-1).end, literal=text, plain=plain)
