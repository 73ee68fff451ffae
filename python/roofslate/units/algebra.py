"""Units made of base units: whether two agree, and units of products, ratios and roots, by the core's algebra."""

from __future__ import annotations

from functools import lru_cache

from roofslate._core import BASE_UNITS, Dimension
from roofslate.errors import UnitError
from roofslate.units.reading import read_unit


@lru_cache(maxsize=1024)
def dimension_of(unit: str) -> Dimension:
    """Dimension of a quantity's own unit, which is made of base units alone."""
    factor, dimension = read_unit(unit)
    if factor != 1:
        raise UnitError(f"{unit!r} is not made of base units; these are {', '.join(BASE_UNITS)}")
    return dimension


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
    return dimension_of(given).fits(dimension_of(expected))


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
    return str(dimension_of(unit))


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
    return str((dimension_of(a) * dimension_of(b)).readable())


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
    return str((dimension_of(a) / dimension_of(b)).readable())


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
    return str(dimension_of(unit).root())
