"""Numbers with units: texts to base units and back.

Inside the package every number is in the base units FLOP, byte, token, sequence, parameter, chip, s, USD, J.
"""

from __future__ import annotations

import difflib
import math
import re
from dataclasses import dataclass
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import numpy.typing as npt

from roofslate.errors import AxisError, InputTypeError, UnitError, ValueRangeError, shown

__all__ = [
    "Axis",
    "Scale",
    "convert_factor",
    "divide",
    "fits",
    "format",
    "from_pint",
    "geomspace",
    "linspace",
    "multiply",
    "parse",
    "read",
    "root",
    "scale",
    "spell",
    "to_base",
]

BASE_UNITS = ("FLOP", "byte", "token", "sequence", "parameter", "chip", "s", "USD", "J")
# The order in which they are divided by: FLOP/parameter/token, USD/token/s, byte/s/chip.
_BELOW = ("FLOP", "byte", "parameter", "token", "sequence", "s", "chip", "USD", "J")
_COUNTS = ("token", "sequence", "parameter", "chip")
_COUNT_POSITIONS = tuple(BASE_UNITS.index(name) for name in _COUNTS)

# Exponents times two, in the order of BASE_UNITS, so that a square root has a unit.
_Dimension = tuple[int, ...]
_NUMBER: _Dimension = (0,) * len(BASE_UNITS)


class _Unit(NamedTuple):
    factor: Fraction
    dimension: _Dimension


def _base(factor: int | Fraction = 1, **exponents: int) -> _Unit:
    return _Unit(Fraction(factor), tuple(2 * exponents.get(name, 0) for name in BASE_UNITS))


_LARGE = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}
_HUGE = {"Z": 10**21, "Y": 10**24}
_SMALL = {
    "m": Fraction(1, 10**3),
    **{micro: Fraction(1, 10**6) for micro in "uµμ"},
    "n": Fraction(1, 10**9),
    "p": Fraction(1, 10**12),
}
_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}
_BARE = {**{name: _LARGE[name] for name in "kMGT"}, **_BINARY, "bn": 10**9, "tn": 10**12}
_HOUR = 3600
_YEAR = 365 * 24 * _HOUR

# Names of one unit, what they are, and the prefixes that they take.
_NAMED: tuple[tuple[str, _Unit, dict[str, Any]], ...] = (
    ("FLOP FLOPs OP OPs", _base(FLOP=1), {**_LARGE, **_HUGE}),
    ("MAC MACs", _base(2, FLOP=1), {**_LARGE, **_HUGE}),
    ("FLOPS OPS", _base(FLOP=1, s=-1), {**_LARGE, **_HUGE}),
    ("B byte bytes", _base(byte=1), {**_LARGE, **_BINARY}),
    ("b bit bits", _base(Fraction(1, 8), byte=1), {**_LARGE, **_BINARY}),
    ("bps", _base(Fraction(1, 8), byte=1, s=-1), _LARGE),
    ("tok toks token tokens", _base(token=1), _LARGE),
    ("seq seqs sequence sequences", _base(sequence=1), _LARGE),
    ("param params parameter parameters", _base(parameter=1), _LARGE),
    ("chip chips GPU GPUs TPU TPUs", _base(chip=1), _LARGE),
    ("s", _base(s=1), _SMALL),
    ("sec second seconds", _base(s=1), {}),
    ("min minute minutes", _base(60, s=1), {}),
    ("h hr hour hours", _base(_HOUR, s=1), {}),
    ("d day days", _base(24 * _HOUR, s=1), {}),
    ("week weeks", _base(7 * 24 * _HOUR, s=1), {}),
    ("yr year years", _base(_YEAR, s=1), {}),
    ("USD $", _base(USD=1), {"m": _SMALL["m"], **_LARGE, "bn": 10**9, "tn": 10**12}),
    ("dollar dollars", _base(USD=1), {}),
    ("J", _base(J=1), {**_SMALL, **_LARGE}),
    ("W", _base(J=1, s=-1), {**_SMALL, **_LARGE}),
    ("Wh", _base(_HOUR, J=1), {**_SMALL, **_LARGE}),
    ("%", _base(Fraction(1, 100)), {}),
    ("1", _base(), {}),
)


def _unit_table() -> dict[str, _Unit]:
    table: dict[str, _Unit] = {}
    for names, unit, prefixes in _NAMED:
        for name in names.split():
            for prefix, factor in {"": 1, **prefixes}.items():
                if table.setdefault(prefix + name, scaled := _Unit(unit.factor * factor, unit.dimension)) != scaled:
                    raise AssertionError(f"two units are written {prefix + name}")
    return table


_TABLE = _unit_table()
_PERCENT = _TABLE["%"]
UNIT_NAMES = frozenset(_TABLE) - {"1"}
PREFIXES_OF_COUNTS = frozenset(_BARE)

# What no unit that a person writes comes near; beyond, the work would grow without bounds.
_MOST_CHARACTERS = 1000
_MOST_BRACKETS = 4
_GREATEST_EXPONENT = 4

# How a right spelling looks, for the messages.
_EXAMPLES = {
    "1": "30 %",
    "s": "50 ms",
    "chip": "72",
    "token": "128k",
    "sequence": "2400",
    "parameter": "671G",
    "token/sequence": "128k",
    "token/s": "128 ktok/s",
    "FLOP/s": "4.5 PFLOP/s",
    "FLOP/s/chip": "4.5 PFLOP/s",
    "byte": "192 GB",
    "byte/chip": "192 GB",
    "byte/s": "8 TB/s",
    "byte/s/chip": "8 TB/s",
    "byte/token": "70 kB/tok",
    "byte/parameter": "0.5 B/param",
    "USD": "$2",
    "USD/token": "$0.5/Mtok",
    "USD/s": "$144/h",
    "USD/s/chip": "$2/h",
    "J/s": "700 W",
    "J/s/chip": "700 W",
}


# --------------------------------------------------------------------------------------------------- reading units


def _spell(dimension: _Dimension) -> str:
    """Spell a dimension in base units, such as ``FLOP/s/chip``."""

    def power(name: str, halves: int) -> str:
        return name if halves == 2 else f"{name}^{halves / 2:g}"

    exponents = dict(zip(BASE_UNITS, dimension, strict=True))
    above = [power(name, halves) for name, halves in exponents.items() if halves > 0]
    below = [power(name, -exponents[name]) for name in _BELOW if exponents[name] < 0]
    return "/".join(["*".join(above) or "1", *below])


def _example(unit: str) -> str:
    return f"Write for example {_EXAMPLES.get(unit) or format(1.0, unit)!r}"


_TOKEN = re.compile(
    r"\s*(?:(?P<power>(?:\^|\*\*)\s*(?:\(\s*[+-]?\d+(?:\.\d+|/\d+)?\s*\)|[+-]?\d+(?:\.\d+)?))"
    r"|(?P<name>[^\W\d_]*[$%]|[^\W\d_]+)|(?P<sign>[*·⋅/()-])|(?P<one>1(?![\d.])))"
)


class _UnitReader:
    """Recursive descent over a unit such as ``USD/(GPU h)``; the message of its UnitError tells only what is wrong."""

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

    def product(self) -> _Unit:
        # A unit may begin with a slash: "64 / s".
        unit = _base() if self.peek()[1] == "/" else self.compound()
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

    def compound(self) -> _Unit:
        """Read units joined by hyphens, which bind closer than a slash: ``USD/GPU-hour``."""
        unit = self.powered()
        while self.peek()[1] == "-":
            self.take()
            unit = self.combine(unit, self.powered(), 1)
        return unit

    def powered(self) -> _Unit:
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
            halves = [exponent * h for h in unit.dimension]
            if abs(exponent) > _GREATEST_EXPONENT or any(h.denominator != 1 for h in halves):
                raise UnitError(f"an exponent of {exponent} is not supported")
            unit = _Unit(Fraction(unit.factor**exponent), tuple(int(h) for h in halves))
        return unit

    @staticmethod
    def named(word: str) -> _Unit:
        unit = _TABLE.get(word)
        if unit is None:
            same = [name for name in _TABLE if name.casefold() == word.casefold()]
            near = same[:2] or difflib.get_close_matches(word, _TABLE, 1, 0.6)
            hint = f"; did you mean {' or '.join(repr(name) for name in near)}?" if near else ""
            raise UnitError(f"unknown unit {word!r}{hint}")
        return unit

    @staticmethod
    def combine(a: _Unit, b: _Unit, sign: int) -> _Unit:
        return _Unit(
            a.factor * b.factor**sign, tuple(x + sign * y for x, y in zip(a.dimension, b.dimension, strict=True))
        )


def _check_length(text: str) -> None:
    if len(text) > _MOST_CHARACTERS:
        raise UnitError(f"it has more than {_MOST_CHARACTERS} characters")


@lru_cache(maxsize=4096)
def _read_unit(text: str) -> _Unit:
    _check_length(text)
    reader = _UnitReader(text)
    unit = reader.product()
    if reader.position < len(reader.tokens):
        raise UnitError(f"{reader.peek()[1]!r} is out of place")
    return unit


@lru_cache(maxsize=1024)
def _dimension_of(unit: str) -> _Dimension:
    """Dimension of a quantity's own unit, which is made of base units alone."""
    factor, dimension = _read_unit(unit)
    if factor != 1:
        raise UnitError(f"{unit!r} is not made of base units; these are {', '.join(BASE_UNITS)}")
    return dimension


def _fits(given: _Dimension, expected: _Dimension) -> bool:
    """Whether units agree; what is counted (tokens, sequences, parameters, chips) may be left out."""
    return all(
        have == want or (have == 0 and position in _COUNT_POSITIONS)
        for position, (have, want) in enumerate(zip(given, expected, strict=True))
    )


def fits(given: str, expected: str) -> bool:
    """Whether a number in one unit may stand for one in the other: what is counted may be left out.

    Parameters
    ----------
    given, expected : str
        Made of base units: ``"byte"`` fits ``"byte/chip"``, but not the other way round.

    Returns
    -------
    bool
    """
    return _fits(_dimension_of(given), _dimension_of(expected))


# -------------------------------------------------------------------------------------------------- algebra of units


def spell(unit: str) -> str:
    """Spell a unit made of base units in the one way that all its spellings share.

    Parameters
    ----------
    unit : str
        Such as ``"FLOP/chip/s"``.

    Returns
    -------
    str
        Such as ``"FLOP/s/chip"``. Two units are the same where this is.
    """
    return _spell(_dimension_of(unit))


@lru_cache(maxsize=1024)
def multiply(a: str, b: str) -> str:
    """Unit of a product.

    Parameters
    ----------
    a, b : str
        Units of the factors, made of base units.

    Returns
    -------
    str
        As `spell` writes it.

    Raises
    ------
    UnitError
        Where an exponent becomes larger than a unit can be written with.
    """
    return _spelled(tuple(x + y for x, y in zip(_dimension_of(a), _dimension_of(b), strict=True)))


@lru_cache(maxsize=1024)
def divide(a: str, b: str) -> str:
    """Unit of a ratio.

    Parameters
    ----------
    a, b : str
        Units of what is divided and of what it is divided by, made of base units.

    Returns
    -------
    str
        As `spell` writes it.

    Raises
    ------
    UnitError
        Where an exponent becomes larger than a unit can be written with.
    """
    return _spelled(tuple(x - y for x, y in zip(_dimension_of(a), _dimension_of(b), strict=True)))


@lru_cache(maxsize=1024)
def root(unit: str) -> str:
    """Unit of a square root.

    Parameters
    ----------
    unit : str
        Made of base units.

    Returns
    -------
    str
        As `spell` writes it, such as ``"byte^0.5"``.

    Raises
    ------
    UnitError
        Where the root is not made of whole and half exponents.
    """
    dimension = _dimension_of(unit)
    if any(halves % 2 for halves in dimension):
        raise UnitError(f"the square root of {_spell(dimension)} has no unit: exponents are multiples of 1/2")
    return _spelled(tuple(halves // 2 for halves in dimension))


def _spelled(dimension: _Dimension) -> str:
    """Spell a unit that came of others, if it can be read again."""
    greatest = max(map(abs, dimension)) / 2
    if greatest > _GREATEST_EXPONENT:
        raise UnitError(f"an exponent of {greatest:g}, in {_spell(dimension)}, is not supported")
    return _spell(dimension)


# -------------------------------------------------------------------------------------------------- reading numbers

_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<dollar>\$?)\s*"
    r"(?P<number>(?:(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+(?:_\d+)*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)"
    r"(?![\d.,_])\s*(?P<rest>.*)",
    re.DOTALL,
)
_BARE_PREFIX = re.compile(r"(?P<prefix>[KMGTPE]i|bn|tn|[kMGT])(?![^\W_]|\$)\s*(?P<rest>.*)", re.DOTALL)


def parse(text: str, unit: str) -> float:
    """Value of a text such as ``"192 GB"`` or ``"$2/h"``, in the base units of `unit`.

    Parameters
    ----------
    text : str
        A number, with or without a unit: ``"50 ms"``, ``"400 Gbit/s"``, ``"128k"``, ``"$0.42 / Mtok"``, ``"1,667"``.
        Without a unit it is in base units. Tokens, sequences, parameters and chips may be left out of the unit.
        A year has 365 days.
    unit : str
        The unit expected, made of base units, such as ``"FLOP/s/chip"``; ``"1"`` is a number.

    Returns
    -------
    float
        The number nearest to what is written.

    Raises
    ------
    UnitError
        Where the text cannot be read or its unit does not fit.
    """
    if not isinstance(text, str):
        raise InputTypeError(f"expected a text such as {_EXAMPLES.get(unit, '50 ms')!r}, got {shown(text)}")
    return _parse(text, unit)


@lru_cache(maxsize=65536)
def _parse(text: str, unit: str) -> float:
    expected = _dimension_of(unit)
    try:
        return _value(text, expected)[0]
    except UnitError as error:
        reason = str(error) + ("" if str(error).endswith("?") else ".")
        raise UnitError(f"cannot read {shown(text)} as {unit}: {reason} {_example(unit)}") from None


def read(text: str) -> tuple[float, str]:
    """Value of a text such as ``"192 GB"`` whose unit speaks for itself.

    Parameters
    ----------
    text : str
        As `parse` takes it; without a unit it is a number.

    Returns
    -------
    value : float
        In base units.
    unit : str
        Made of base units, as `spell` writes it.

    Raises
    ------
    UnitError
        Where the text cannot be read.
    """
    try:
        value, dimension = _value(text, None)
        return value, _spelled(dimension)
    except UnitError as error:
        raise UnitError(f"cannot read {shown(text)}: {error}") from None


def _value(text: str, expected: _Dimension | None) -> tuple[float, _Dimension]:
    """Value of `text` and its dimension as written; the message of its UnitError tells only what is wrong."""
    _check_length(text)
    match = _QUANTITY.fullmatch(text.strip().replace("\N{MINUS SIGN}", "-"))
    if match is None:
        if text.strip().lstrip("+-$ ")[:1].isdigit():
            raise UnitError("the number is not clear; commas group thousands, a point marks decimals")
        raise UnitError("it does not begin with a number")
    digits, rest, in_dollars = match["number"], match["rest"], bool(match["dollar"])
    factor = Fraction(1)
    bare = _BARE_PREFIX.fullmatch(rest)
    if bare is not None:
        prefix, rest = bare["prefix"], bare["rest"]
        factor = Fraction(_BARE[prefix])
    if in_dollars:
        if rest and not re.match(r"[/*]|per\b", rest):
            raise UnitError(f"{rest!r} after an amount in dollars is not clear")
        written = _read_unit("USD " + rest)
    else:
        written = _read_unit(rest) if rest else _Unit(Fraction(1), expected or _NUMBER)
    if expected is None:
        expected = written.dimension
    if bare is not None and not in_dollars and (prefix in ("bn", "tn") or not _counts(rest, expected)):
        raise UnitError(f"{prefix!r} by itself is for counts only" if not rest else f"{prefix!r} belongs to the unit")
    if written == _PERCENT and any(expected):
        raise UnitError("it is in percent")
    if not _fits(written.dimension, expected):
        billions = rest[:1] == "B" and any(expected[i] > 0 for i in _COUNT_POSITIONS)
        raise UnitError(f"it is in {_spell(written.dimension)}" + ("; B is byte, a billion is G" if billions else ""))
    value = _exact(digits, factor * written.factor)
    if math.isinf(value) and digits[0] != "i":
        raise UnitError("the number is too large")
    return -value if match["sign"] == "-" else value, written.dimension


def _counts(rest: str, expected: _Dimension) -> bool:
    """Whether a "k" before this unit counts something: "128k", "128k tokens", "128k tok/s", "64k / s"."""
    uncounted = [halves for position, halves in enumerate(expected) if position not in _COUNT_POSITIONS]
    if not rest:
        return not any(uncounted)
    if re.match(r"/|per\b", rest):
        return max(uncounted) <= 0
    first = re.match(r"[^\W\d_]+", rest)
    unit = _TABLE.get(first[0]) if first else None
    return unit is not None and unit.factor == 1 and any(unit.dimension[i] for i in _COUNT_POSITIONS)


def _exact(digits: str, factor: Fraction) -> float:
    """Multiply and round once: "12.3 ms" is 0.0123."""
    plain = digits.replace(",", "").replace("_", "")
    value = float(plain)
    if value == 0 or not math.isfinite(value):
        return value
    try:
        return float(Fraction(Decimal(plain)) * factor)
    except OverflowError:
        return math.inf


def convert_factor(unit_text: str, unit: str) -> float:
    """Tell how many base units one unit as written has: divide by it to convert a base value.

    Parameters
    ----------
    unit_text : str
        The unit that is wanted, such as ``"USD/Mtoken"``, ``"ms"`` or ``"%"``.
    unit : str
        The quantity's own unit, made of base units.

    Returns
    -------
    float
        ``value_in_unit_text = base_value / factor``.

    Raises
    ------
    UnitError
        Where the two do not fit.
    """
    return _convert_factor(unit_text, unit)


@lru_cache(maxsize=1024)
def _convert_factor(unit_text: str, unit: str) -> float:
    expected = _dimension_of(unit)
    try:
        factor, dimension = _read_unit(unit_text)
    except UnitError as error:
        raise UnitError(f"cannot read {shown(unit_text)} as a unit of {unit}: {error}") from None
    if not _fits(dimension, expected) or ((factor, dimension) == _PERCENT and any(expected)):
        raise UnitError(f"cannot convert {unit} to {shown(unit_text)}, which is {_spell(dimension)}")
    return float(factor)


def from_pint(quantity: Any, unit: str) -> Any:
    """Magnitude of a ``pint.Quantity`` in the base units of `unit`.

    Parameters
    ----------
    quantity : pint.Quantity
        Units that pint does not define (token, chip, USD, FLOP) are read by their names in the user's registry.
    unit : str
        The unit expected, made of base units.

    Returns
    -------
    float or numpy.ndarray
        In base units.

    Raises
    ------
    UnitError
        Where the unit does not fit.
    """
    expected = _dimension_of(unit)
    reduced = quantity.to_base_units()
    powers: dict[str, Fraction] = {name: Fraction(power).limit_denominator(2) for name, power in reduced.unit_items()}
    # In pint an energy is kg m^2 / s^2.
    mass, length = powers.pop("kilogram", Fraction(0)), powers.pop("meter", Fraction(0))
    factor, halves = Fraction(1), {"J": 2 * mass, "s": 4 * mass}
    fits = length == 2 * mass
    for name, power in powers.items():
        if name == "count":
            continue
        atom = _TABLE.get(name) or _TABLE.get(name.upper())
        if atom is None:
            fits = False
            break
        factor *= Fraction(atom.factor**power)
        for base, half in zip(BASE_UNITS, atom.dimension, strict=True):
            halves[base] = halves.get(base, Fraction(0)) + half * power
    dimension = tuple(int(halves.get(name, 0)) for name in BASE_UNITS)
    if not fits or not _fits(dimension, expected):
        raise UnitError(f"a quantity in {quantity.units} was given, but {unit} was expected. {_example(unit)}")
    magnitude = reduced.magnitude * float(factor)
    return float(magnitude) if np.ndim(magnitude) == 0 else np.asarray(magnitude, dtype=float)


def _is_number(value: object) -> TypeGuard[float]:
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.timedelta64))


def to_base(value: object, unit: str) -> float:
    """One number, text or ``pint.Quantity`` in the base units of `unit`.

    Parameters
    ----------
    value : float, str or pint.Quantity
        Plain numbers are in base units already.
    unit : str
        The unit expected, made of base units.

    Returns
    -------
    float
        In base units.
    """
    if isinstance(value, str):
        return parse(value, unit)
    if _is_number(value):
        try:
            return float(value)
        except OverflowError:
            raise ValueRangeError("an integer is too large for a 64-bit floating-point number") from None
    if hasattr(value, "to_base_units") and hasattr(value, "magnitude") and np.ndim(value.magnitude) == 0:
        return float(from_pint(value, unit))
    example = _EXAMPLES.get(unit, "50 ms")
    raise InputTypeError(
        f"expected a number or a text such as {example!r}, got {shown(value)} ({type(value).__name__})"
    )


# ---------------------------------------------------------------------------------------------------------- writing


class Scale(NamedTuple):
    """One scale for several values: what to divide by, and the unit that is then meant.

    Attributes
    ----------
    factor : float
        Base units in one unit of the scale.
    label : str
        The unit for an axis label: ``"ms"``, ``"$/Mtok"``, ``"k"``; empty for plain counts.
    """

    factor: float
    label: str

    def text(self, value: float, digits: int = 4) -> str:
        """Value with its unit, as in a sentence: ``"12.3 ms"``, ``"$0.42 / Mtok"``."""
        return self._write(value, digits, " / ")

    def tick(self, value: float, digits: int = 4) -> str:
        """Value with its unit, as short as an axis wants it: ``"20 ms"``, ``"$2/Mtok"``, ``"200k"``."""
        return self._write(value, digits, "/")

    def _write(self, value: float, digits: int, slash: str) -> str:
        if not math.isfinite(value):
            return f"{value}"
        number = _digits(value / self.factor, digits)
        if "$" in self.label:
            prefix, below = self.label.split("$")
            minus = "-" if number.startswith("-") else ""
            return f"{minus}${number.removeprefix('-')}{prefix}{below.replace('/', slash)}"
        if not self.label or self.label in _LARGE:
            return number + self.label
        return (
            f"{number}{slash if slash == '/' else ' / '}{self.label[1:]}"
            if self.label[0] == "/"
            else f"{number} {self.label}"
        )


class _Rung(NamedTuple):
    factor: float
    label: str
    least: float  # the rung is used from this magnitude on


_SYMBOLS = {
    "FLOP": "FLOP",
    "byte": "B",
    "token": "tok",
    "sequence": "seq",
    "parameter": "param",
    "chip": "chip",
    "s": "s",
    "USD": "USD",
    "J": "J",
}
# Prices are told per these.
_PRICED = {
    "token": (1e6, "Mtok"),
    "s": (3600.0, "h"),
    "byte": (1e9, "GB"),
    "J": (3.6e6, "kWh"),
    "FLOP": (1e18, "EFLOP"),
}


@lru_cache(maxsize=1024)
def _ladder(unit: str) -> tuple[tuple[_Rung, ...], int]:
    """Scales of a unit in ascending order, and the position of the one that exponents are written in."""
    exponents = {name: halves for name, halves in zip(BASE_UNITS, _dimension_of(unit), strict=True) if halves}
    if not set(exponents) - set(_COUNTS):
        # "2,400" reads better than "2.4k".
        return (
            _Rung(1.0, "", 0.0),
            _Rung(1e3, "k", 1e4),
            *(_Rung(float(_LARGE[p]), p, float(_LARGE[p])) for p in "MGT"),
        ), 0
    if exponents == {"s": 2}:
        times = [(1e-9, "ns", 0.0), (1e-6, "µs", 1e-6), (1e-3, "ms", 1e-3), (1.0, "s", 1.0), (60.0, "min", 120.0)]
        long = [(3600.0, "h", 7200.0), (86400.0, "days", 172800.0), (float(_YEAR), "years", 2.0 * _YEAR)]
        return tuple(_Rung(*rung) for rung in times + long), 3
    if exponents.get("chip", 0) < 0:
        del exponents["chip"]  # "192 GB" of one chip
    if exponents.get("USD") == 2:
        del exponents["USD"]
        factor, label = 1.0, ""
        for name, halves in exponents.items():
            if halves < 0 and name in _PRICED and halves == -2:
                factor, label = factor / _PRICED[name][0], f"{label}/{_PRICED[name][1]}"
            else:
                label += ("/" if halves < 0 else "*") + _power(_SYMBOLS[name], abs(halves))
        steps = [(1.0, "", 0.0), (1e6, "M", 1e6), (1e9, "bn", 1e9), (1e12, "tn", 1e12)]
        return tuple(_Rung(step * factor, f"{p}${label}", least * factor) for step, p, least in steps), 0
    symbols = dict(_SYMBOLS)
    if exponents.get("J") == 2 and exponents.get("s") == -2:
        symbols["J"] = "W"
        del exponents["s"]
    lead = next((name for name in ("FLOP", "byte", "J", "s", *_COUNTS) if exponents.get(name) == 2), None)
    others = "".join("*" + _power(symbols[name], h) for name, h in exponents.items() if h > 0 and name != lead)
    below = "".join("/" + _power(symbols[name], -h) for name, h in exponents.items() if h < 0)
    if lead is None or (lead == "FLOP" and exponents.get("byte", 0) < 0):
        return (_Rung(1.0, (symbols[lead] if lead else "") + (others if lead else others[1:]) + below, 0.0),), 0
    steps = [(1.0, "", 0.0), *((float(factor), prefix, float(factor)) for prefix, factor in _LARGE.items())]
    if lead == "s":
        steps = steps[:1]
    if lead in ("s", "J"):
        steps = [(1e-9, "n", 0.0), (1e-6, "µ", 1e-6), (1e-3, "m", 1e-3), (1.0, "", 1.0), *steps[1:]]
    if lead in _COUNTS:
        steps[1] = (1e3, "k", 1e4)
    rungs = tuple(_Rung(step, prefix + symbols[lead] + others + below, least) for step, prefix, least in steps)
    return rungs, [step for step, _, _ in steps].index(1.0)


def _power(symbol: str, halves: int) -> str:
    return symbol if halves == 2 else f"{symbol}^{halves / 2:g}"


def _digits(value: float, digits: int) -> str:
    """Significant digits with commas: "2,400", "0.0123", "1.2e26"."""
    if value == 0:
        return "0"
    if not 1e-3 <= abs(value) < 1e6:
        mantissa, exponent = f"{value:.{digits - 1}e}".split("e")
        return f"{mantissa.rstrip('0').rstrip('.') if '.' in mantissa else mantissa}e{int(exponent)}"
    return f"{Decimal(f'{value:.{digits}g}'):,f}"


def _choose(magnitude: float, unit: str) -> Scale:
    rungs, plain = _ladder(unit)
    if magnitude == 0 or not math.isfinite(magnitude):
        return Scale(rungs[plain].factor, rungs[plain].label)
    rounded = float(f"{magnitude:.3e}")
    rung = next((r for r in reversed(rungs) if r.least <= rounded), rungs[0])
    if not 1e-3 <= rounded / rung.factor < 1e6:
        rung = rungs[plain]
    return Scale(rung.factor, rung.label)


def scale(values: npt.ArrayLike, unit: str) -> Scale:
    """One scale that suits all `values`, for an axis or a table column.

    Parameters
    ----------
    values : array_like
        In base units.
    unit : str
        The unit of the values, made of base units.

    Returns
    -------
    Scale
        ``(factor, label)``: show ``values / factor`` under `label`, or write ticks by ``Scale.tick``.
    """
    magnitudes = np.abs(np.asarray(values, dtype=float)).ravel()
    magnitudes = magnitudes[np.isfinite(magnitudes) & (magnitudes > 0)]
    if magnitudes.size == 0:
        return _choose(0.0, unit)
    return _choose(math.sqrt(float(magnitudes.min())) * math.sqrt(float(magnitudes.max())), unit)


def format(value: float, unit: str, digits: int = 4) -> str:  # noqa: A001
    """Value scaled for a person: ``"12.3 ms"``, ``"$0.42 / Mtok"``, ``"192 GB"``, ``"128k"``.

    Parameters
    ----------
    value : float
        In base units.
    unit : str
        The unit of the value, made of base units. "Per chip" is left out, and what a plain count counts.
    digits : int
        Significant digits.

    Returns
    -------
    str
        `parse` reads it back, to these digits.
    """
    number = float(value)
    return _choose(abs(number), unit).text(number, digits)


# ------------------------------------------------------------------------------------------------------------- axes


@dataclass(frozen=True)
class Axis:
    """Points between two ends that may be texts; they become numbers when the input's unit is known.

    Attributes
    ----------
    start, stop : float, str or pint.Quantity
        Both ends are points of the axis.
    num : int
        Number of points.
    spacing : str
        ``"linear"`` or ``"geometric"``.
    unit : str or None
        Unit of ends given as plain numbers; None means base units.
    """

    start: Any
    stop: Any
    num: int
    spacing: str
    unit: str | None = None

    def __post_init__(self) -> None:
        if not isinstance(self.num, (int, np.integer)) or isinstance(self.num, (bool, np.timedelta64)):
            raise InputTypeError(f"the number of points of an axis is an integer, got {shown(self.num)}")
        if self.num < 1:
            raise AxisError(f"an axis needs at least one point, got num={self.num}")
        if self.spacing not in ("linear", "geometric"):
            raise AxisError(f"an axis is spaced 'linear' or 'geometric', got {self.spacing!r}")

    def __len__(self) -> int:
        return int(self.num)

    def resolve(self, unit: str) -> npt.NDArray[np.float64]:
        """Points in the base units of `unit`.

        Parameters
        ----------
        unit : str
            The input's unit, made of base units.

        Returns
        -------
        numpy.ndarray
            One-dimensional, `num` points.
        """
        start, stop = (self._end(end, unit) for end in (self.start, self.stop))
        if not (math.isfinite(start) and math.isfinite(stop)):
            raise ValueRangeError(f"the ends of an axis must be finite, got {self.start!r} and {self.stop!r}")
        if self.spacing == "linear":
            return np.linspace(start, stop, self.num)
        if not (start > 0 and stop > 0):
            raise ValueRangeError(
                f"the ends of a geometric axis must be positive, got {self.start!r} and {self.stop!r}"
            )
        return np.geomspace(start, stop, self.num)

    def _end(self, end: Any, unit: str) -> float:
        if self.unit is not None and _is_number(end):
            return to_base(end, unit) * convert_factor(self.unit, unit)
        return to_base(end, unit)


def linspace(start: Any, stop: Any, num: int, unit: str | None = None) -> Axis:
    """Axis of evenly spaced points, ends included.

    Parameters
    ----------
    start, stop : float, str or pint.Quantity
        Texts carry their unit: ``linspace("1 ms", "50 ms", 50)``.
    num : int
        Number of points.
    unit : str, optional
        Unit of plain numbers: ``linspace(1, 50, 50, "ms")``.

    Returns
    -------
    Axis
        To be given as an input.
    """
    return Axis(start, stop, num, "linear", unit)


def geomspace(start: Any, stop: Any, num: int, unit: str | None = None) -> Axis:
    """Axis of points in equal ratios, ends included.

    Parameters
    ----------
    start, stop : float, str or pint.Quantity
        Positive. Texts carry their unit: ``geomspace("1 ms", "1 s", 100)``.
    num : int
        Number of points.
    unit : str, optional
        Unit of plain numbers: ``geomspace(1, 1000, 100, "ms")``.

    Returns
    -------
    Axis
        To be given as an input.
    """
    return Axis(start, stop, num, "geometric", unit)
