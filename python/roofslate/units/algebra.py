"""Algebra of base units: agreement, products, ratios and roots, computed by the core."""

from __future__ import annotations

from functools import lru_cache

from roofslate._core import BASE_UNITS, Dimension
from roofslate.errors import UnitError
from roofslate.units.reading import read_unit


@lru_cache(maxsize=1024)
def dimension_of(unit: str) -> Dimension:
    """Return the dimension of a quantity's unit, which consists of base units."""
    factor, dimension = read_unit(unit)
    if factor != 1:
        raise UnitError(f"{unit!r} is not made of base units; these are {', '.join(BASE_UNITS)}")
    return dimension


def fits(given: str, expected: str) -> bool:
    """Return True if a number in one unit can replace one in the other.

    Counted units may be left out.

    Parameters
    ----------
    given, expected : str
        Made of base units. ``"byte"`` fits ``"byte/chip"``, but not vice versa.

    Returns
    -------
    bool
    """
    return dimension_of(given).fits(dimension_of(expected))


def spell(unit: str) -> str:
    """Spell a unit of base units in the one way shared by all its spellings.

    Parameters
    ----------
    unit : str
        Such as ``"FLOP/chip/s"``.

    Returns
    -------
    str
        Such as ``"FLOP/s/chip"``. Units are equal if their spellings are.
    """
    return str(dimension_of(unit))


@lru_cache(maxsize=1024)
def multiply(a: str, b: str) -> str:
    """Return the unit of a product.

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
        If an exponent becomes too large for a unit.
    """
    return str((dimension_of(a) * dimension_of(b)).readable())


@lru_cache(maxsize=1024)
def divide(a: str, b: str) -> str:
    """Return the unit of a ratio.

    Parameters
    ----------
    a, b : str
        Units of the dividend and the divisor, made of base units.

    Returns
    -------
    str
        As `spell` writes it.

    Raises
    ------
    UnitError
        If an exponent becomes too large for a unit.
    """
    return str((dimension_of(a) / dimension_of(b)).readable())


@lru_cache(maxsize=1024)
def root(unit: str) -> str:
    """Return the unit of a square root.

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
        If the root needs other exponents than whole and half ones.
    """
    return str(dimension_of(unit).root())
