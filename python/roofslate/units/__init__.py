"""Numbers with units: texts to base units and back.

Inside the package every number is in base units, which are listed in `BASE_UNITS`.
"""

from __future__ import annotations

from roofslate._core import BASE_UNITS, COUNTED_UNITS, Dimension
from roofslate.units.algebra import dimension_of, divide, fits, multiply, root, spell
from roofslate.units.axes import Axis, geomspace, linspace
from roofslate.units.numbers import convert_factor, from_pint, parse, read, to_base
from roofslate.units.table import NUMBER, PREFIXES_OF_COUNTS, UNIT_NAMES
from roofslate.units.writing import Scale, format, ladder, scale  # noqa: A004

__all__ = [
    "BASE_UNITS",
    "COUNTED_UNITS",
    "NUMBER",
    "PREFIXES_OF_COUNTS",
    "UNIT_NAMES",
    "Axis",
    "Dimension",
    "Scale",
    "convert_factor",
    "dimension_of",
    "divide",
    "fits",
    "format",
    "from_pint",
    "geomspace",
    "ladder",
    "linspace",
    "multiply",
    "parse",
    "read",
    "root",
    "scale",
    "spell",
    "to_base",
]
