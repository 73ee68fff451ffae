"""Units made of base units: whether two agree, and what products, ratios and roots are in."""

from __future__ import annotations

from functools import lru_cache

from roofslate.errors import UnitError
from roofslate.units.reading import GREATEST_EXPONENT, read_unit
from roofslate.units.table import BASE_UNITS, COUNT_POSITIONS, Dimension

# The order in which base units are divided by: FLOP/parameter/token, USD/token/s, byte/s/chip.
_BELOW = ("FLOP", "byte", "parameter", "token", "sequence", "s", "chip", "USD", "J")


def power(name: str, halves: int) -> str:
    """Write the power of a name, given as exponent times two."""
    return name if halves == 2 else f"{name}^{halves / 2:g}"


def spell_dimension(dimension: Dimension) -> str:
    """Spell a dimension in base units, such as ``FLOP/s/chip``."""
    exponents = dict(zip(BASE_UNITS, dimension, strict=True))
    above = [power(name, halves) for name, halves in exponents.items() if halves > 0]
    below = [power(name, -exponents[name]) for name in _BELOW if exponents[name] < 0]
    return "/".join(["*".join(above) or "1", *below])


@lru_cache(maxsize=1024)
def dimension_of(unit: str) -> Dimension:
    """Dimension of a quantity's own unit, which is made of base units alone."""
    factor, dimension = read_unit(unit)
    if factor != 1:
        raise UnitError(f"{unit!r} is not made of base units; these are {', '.join(BASE_UNITS)}")
    return dimension


def dimensions_fit(given: Dimension, expected: Dimension) -> bool:
    """Whether units agree; what is counted (tokens, sequences, parameters, chips) may be left out."""
    return all(
        have == want or (have == 0 and position in COUNT_POSITIONS)
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
    return dimensions_fit(dimension_of(given), dimension_of(expected))


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
    return spell_dimension(dimension_of(unit))


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
    return spelled(tuple(x + y for x, y in zip(dimension_of(a), dimension_of(b), strict=True)))


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
    return spelled(tuple(x - y for x, y in zip(dimension_of(a), dimension_of(b), strict=True)))


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
    dimension = dimension_of(unit)
    if any(halves % 2 for halves in dimension):
        raise UnitError(f"the square root of {spell_dimension(dimension)} has no unit: exponents are multiples of 1/2")
    return spelled(tuple(halves // 2 for halves in dimension))


def spelled(dimension: Dimension) -> str:
    """Spell a unit that came of others, if it can be read again."""
    greatest = max(map(abs, dimension)) / 2
    if greatest > GREATEST_EXPONENT:
        raise UnitError(f"an exponent of {greatest:g}, in {spell_dimension(dimension)}, is not supported")
    return spell_dimension(dimension)
