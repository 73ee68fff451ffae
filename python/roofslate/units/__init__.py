"""Numbers with units: texts to base units and back.

Inside the package every number is in the base units FLOP, byte, token, sequence, parameter, chip, s, USD, J.
"""

from __future__ import annotations

from roofslate.units.algebra import divide, fits, multiply, root, spell
from roofslate.units.axes import Axis, geomspace, linspace
from roofslate.units.numbers import convert_factor, from_pint, parse, read, to_base
from roofslate.units.table import BASE_UNITS, PREFIXES_OF_COUNTS, UNIT_NAMES
from roofslate.units.writing import Scale, format, scale  # noqa: A004

__all__ = [
    "BASE_UNITS",
    "PREFIXES_OF_COUNTS",
    "UNIT_NAMES",
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
