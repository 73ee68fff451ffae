"""Numbers with units: conversion of texts and pint quantities to base units."""

from __future__ import annotations

import math
import re
from decimal import Decimal
from fractions import Fraction
from functools import lru_cache
from typing import Any, TypeGuard

import numpy as np

from roofslate._base.messages import shown
from roofslate._core import COUNTED_UNITS, Dimension
from roofslate.errors import InputTypeError, UnitError, ValueRangeError
from roofslate.units import writing
from roofslate.units.algebra import dimension_of
from roofslate.units.reading import check_length, read_unit
from roofslate.units.table import BARE, NUMBER, PERCENT, TABLE, Unit

# Correct spellings, for the messages.
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


def _example(unit: str) -> str:
    return f"Write for example {_EXAMPLES.get(unit) or writing.format(1.0, unit)!r}"


_QUANTITY = re.compile(
    r"(?P<sign>[+-]?)\s*(?P<dollar>\$?)\s*"
    r"(?P<number>(?:(?:\d{1,3}(?:,\d{3})+(?![\d,])|\d+(?:_\d+)*)(?:\.\d*)?|\.\d+)(?:[eE][+-]?\d+)?|inf(?:inity)?|nan)"
    r"(?![\d.,_])\s*(?P<rest>.*)",
    re.DOTALL,
)


_MOST_POWER = 1000  # of a unit of pint, above any that fits


_BARE_PREFIX = re.compile(r"(?P<prefix>[KMGTPE]i|bn|tn|[kMGT])(?![^\W_]|\$)\s*(?P<rest>.*)", re.DOTALL)


def parse(text: str, unit: str) -> float:
    """Parse a text such as ``"192 GB"`` or ``"$2/h"`` into the base units of `unit`.

    Parameters
    ----------
    text : str
        A number, with or without a unit: ``"50 ms"``, ``"400 Gbit/s"``, ``"128k"``, ``"$0.42 / Mtok"``, ``"1,667"``.
        Without a unit it is in base units. Tokens, sequences, parameters and chips may be left out of the unit.
        A year has 365 days.
    unit : str
        The expected unit, made of base units, such as ``"FLOP/s/chip"``. ``"1"`` is a number.

    Returns
    -------
    float
        The nearest floating-point number.

    Raises
    ------
    UnitError
        If the text cannot be read, or its unit does not fit.
    """
    if not isinstance(text, str):
        raise InputTypeError(f"expected a text such as {_EXAMPLES.get(unit, '50 ms')!r}, got {shown(text)}")
    return _parse(text, unit)


@lru_cache(maxsize=65536)
def _parse(text: str, unit: str) -> float:
    expected = dimension_of(unit)
    try:
        return _value(text, expected)[0]
    except UnitError as error:
        reason = str(error) + ("" if str(error).endswith("?") else ".")
        raise UnitError(f"cannot read {shown(text)} as {unit}: {reason} {_example(unit)}") from None


def read(text: str) -> tuple[float, str]:
    """Parse a text such as ``"192 GB"`` that states its own unit.

    Parameters
    ----------
    text : str
        As for `parse`. Without a unit it is a number.

    Returns
    -------
    value : float
        In base units.
    unit : str
        Made of base units, as `spell` writes it.

    Raises
    ------
    UnitError
        If the text cannot be read.
    """
    try:
        value, dimension = _value(text, None)
        return value, str(dimension.readable())
    except UnitError as error:
        raise UnitError(f"cannot read {shown(text)}: {error}") from None


def _value(text: str, expected: Dimension | None) -> tuple[float, Dimension]:
    """Parse `text` into a value and its dimension. The message of a UnitError is a clause."""
    check_length(text)
    match = _QUANTITY.fullmatch(text.strip().replace("\N{MINUS SIGN}", "-"))
    if match is None:
        if text.strip().lstrip("+-$ ")[:1].isdigit():
            raise UnitError("the number is not clear; commas group thousands, a point marks decimals")
        raise UnitError("it does not begin with a number")
    digits, unit_text, in_dollars = match["number"], match["rest"], bool(match["dollar"])
    factor = Fraction(1)
    bare = _BARE_PREFIX.fullmatch(unit_text)
    if bare is not None:
        prefix, unit_text = bare["prefix"], bare["rest"]
        factor = Fraction(BARE[prefix])
    if in_dollars:
        if unit_text and not re.match(r"[/*]|per\b", unit_text):
            raise UnitError(f"{unit_text!r} after an amount in dollars is not clear")
        written = read_unit("USD " + unit_text)
    else:
        written = read_unit(unit_text) if unit_text else Unit(Fraction(1), expected or NUMBER)
    if expected is None:
        expected = written.dimension
    if bare is not None and not in_dollars and (prefix in ("bn", "tn") or not _counts(unit_text, expected)):
        raise UnitError(
            f"{prefix!r} by itself is for counts only" if not unit_text else f"{prefix!r} belongs to the unit"
        )
    if written == PERCENT and expected != NUMBER:
        raise UnitError("it is in percent")
    if not written.dimension.fits(expected):
        billions = unit_text[:1] == "B" and any(expected.exponents.get(name, 0) > 0 for name in COUNTED_UNITS)
        raise UnitError(f"it is in {written.dimension}" + ("; B means byte, use G for a billion" if billions else ""))
    value = _exact(digits, factor * written.factor)
    if math.isinf(value) and digits[0] != "i":
        raise UnitError("the number is too large")
    return -value if match["sign"] == "-" else value, written.dimension


def _counts(unit_text: str, expected: Dimension) -> bool:
    """Return True if a "k" before this unit multiplies a count, as in "128k tokens"."""
    uncounted = [exponent for name, exponent in expected.exponents.items() if name not in COUNTED_UNITS]
    if not unit_text:
        return not uncounted
    if re.match(r"/|per\b", unit_text):
        return max(uncounted, default=0) <= 0
    first = re.match(r"[^\W\d_]+", unit_text)
    unit = TABLE.get(first[0]) if first else None
    return unit is not None and unit.factor == 1 and not unit.dimension.exponents.keys().isdisjoint(COUNTED_UNITS)


def _exact(digits: str, factor: Fraction) -> float:
    """Multiply and round once, so that "12.3 ms" is 0.0123."""
    plain = digits.replace(",", "").replace("_", "")
    value = float(plain)
    if value == 0 or not math.isfinite(value):
        return value
    try:
        return float(Fraction(Decimal(plain)) * factor)
    except OverflowError:
        return math.inf


def convert_factor(unit_text: str, unit: str) -> float:
    """Return the number of base units in one unit as written, to divide base values by.

    Parameters
    ----------
    unit_text : str
        The requested unit, such as ``"USD/Mtoken"``, ``"ms"`` or ``"%"``.
    unit : str
        The quantity's own unit, made of base units.

    Returns
    -------
    float
        ``value_in_unit_text = base_value / factor``.

    Raises
    ------
    UnitError
        If the two do not fit.
    """
    return _convert_factor(unit_text, unit)


@lru_cache(maxsize=1024)
def _convert_factor(unit_text: str, unit: str) -> float:
    expected = dimension_of(unit)
    try:
        factor, dimension = read_unit(unit_text)
    except UnitError as error:
        raise UnitError(f"cannot read {shown(unit_text)} as a unit of {unit}: {error}") from None
    if not dimension.fits(expected) or ((factor, dimension) == PERCENT and expected != NUMBER):
        raise UnitError(f"cannot convert {unit} to {shown(unit_text)}, which is {dimension}")
    return float(factor)


def from_pint(quantity: Any, unit: str) -> Any:
    """Convert a ``pint.Quantity`` to the base units of `unit`.

    Parameters
    ----------
    quantity : pint.Quantity
        Units unknown to pint (token, chip, USD, FLOP) are read by their names in the user's registry.
    unit : str
        The expected unit, made of base units.

    Returns
    -------
    float or numpy.ndarray
        In base units.

    Raises
    ------
    UnitError
        If the unit does not fit.
    """
    expected = dimension_of(unit)
    reduced = quantity.to_base_units()
    powers: dict[str, Fraction] = {name: Fraction(power).limit_denominator(2) for name, power in reduced.unit_items()}
    # pint expands an energy to kg m^2 / s^2.
    mass, length = powers.pop("kilogram", Fraction(0)), powers.pop("meter", Fraction(0))
    factor, dimension = Fraction(1), NUMBER
    fits = length == 2 * mass and all(abs(power) <= _MOST_POWER for power in (mass, *powers.values()))
    for name, power in (("J", mass), ("s", 2 * mass), *powers.items()):
        if name == "count":
            continue
        atom = TABLE.get(name) or TABLE.get(name.upper())
        raised = atom.dimension.power(*power.as_integer_ratio()) if atom and fits else None
        if atom is None or raised is None:
            fits = False
            break
        factor *= Fraction(atom.factor**power)
        dimension *= raised
    if not fits or not dimension.fits(expected):
        raise UnitError(f"got a quantity in {quantity.units}, expected {unit}. {_example(unit)}")
    magnitude = reduced.magnitude * float(factor)
    return float(magnitude) if np.ndim(magnitude) == 0 else np.asarray(magnitude, dtype=float)


def is_number(value: object) -> TypeGuard[float]:
    """Return True for a single number, excluding booleans and times."""
    return isinstance(value, (int, float, np.integer, np.floating)) and not isinstance(value, (bool, np.timedelta64))


def to_base(value: object, unit: str) -> float:
    """Convert one number, text or ``pint.Quantity`` to the base units of `unit`.

    Parameters
    ----------
    value : float, str or pint.Quantity
        Plain numbers are already in base units.
    unit : str
        The expected unit, made of base units.

    Returns
    -------
    float
        In base units.
    """
    if isinstance(value, str):
        return parse(value, unit)
    if is_number(value):
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
