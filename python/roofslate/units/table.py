"""Known units: names, prefixes and factors to base units."""

from __future__ import annotations

from fractions import Fraction
from typing import Any, NamedTuple

from roofslate._core import BASE_UNITS, Dimension

NUMBER = Dimension({})


class Unit(NamedTuple):
    """A factor and powers of base units."""

    factor: Fraction
    dimension: Dimension


def base_unit(factor: int | Fraction = 1, **exponents: int) -> Unit:
    """Make a unit from powers of base units."""
    return Unit(Fraction(factor), Dimension(exponents))


LARGE = {"k": 10**3, "M": 10**6, "G": 10**9, "T": 10**12, "P": 10**15, "E": 10**18}


_HUGE = {"Z": 10**21, "Y": 10**24}


_SMALL = {
    "m": Fraction(1, 10**3),
    **{micro: Fraction(1, 10**6) for micro in "uµμ"},
    "n": Fraction(1, 10**9),
    "p": Fraction(1, 10**12),
}


_BINARY = {"Ki": 2**10, "Mi": 2**20, "Gi": 2**30, "Ti": 2**40, "Pi": 2**50, "Ei": 2**60}


BARE = {**{name: LARGE[name] for name in "kMGT"}, **_BINARY, "bn": 10**9, "tn": 10**12}


_HOUR = 3600


YEAR = 365 * 24 * _HOUR


# Names of a unit, its definition, and its allowed prefixes.
_NAMED: tuple[tuple[str, Unit, dict[str, Any]], ...] = (
    ("FLOP FLOPs OP OPs", base_unit(FLOP=1), {**LARGE, **_HUGE}),
    ("MAC MACs", base_unit(2, FLOP=1), {**LARGE, **_HUGE}),
    ("FLOPS OPS", base_unit(FLOP=1, s=-1), {**LARGE, **_HUGE}),
    ("B byte bytes", base_unit(byte=1), {**LARGE, **_BINARY}),
    ("b bit bits", base_unit(Fraction(1, 8), byte=1), {**LARGE, **_BINARY}),
    ("bps", base_unit(Fraction(1, 8), byte=1, s=-1), LARGE),
    ("tok toks token tokens", base_unit(token=1), LARGE),
    ("seq seqs sequence sequences", base_unit(sequence=1), LARGE),
    ("param params parameter parameters", base_unit(parameter=1), LARGE),
    ("chip chips GPU GPUs TPU TPUs", base_unit(chip=1), LARGE),
    ("s", base_unit(s=1), _SMALL),
    ("sec second seconds", base_unit(s=1), {}),
    ("min minute minutes", base_unit(60, s=1), {}),
    ("h hr hour hours", base_unit(_HOUR, s=1), {}),
    ("d day days", base_unit(24 * _HOUR, s=1), {}),
    ("week weeks", base_unit(7 * 24 * _HOUR, s=1), {}),
    ("yr year years", base_unit(YEAR, s=1), {}),
    ("USD $", base_unit(USD=1), {"m": _SMALL["m"], **LARGE, "bn": 10**9, "tn": 10**12}),
    ("dollar dollars", base_unit(USD=1), {}),
    ("J", base_unit(J=1), {**_SMALL, **LARGE}),
    ("W", base_unit(J=1, s=-1), {**_SMALL, **LARGE}),
    ("Wh", base_unit(_HOUR, J=1), {**_SMALL, **LARGE}),
    ("kg", base_unit(kg=1), {}),
    ("tonne tonnes", base_unit(1000, kg=1), {}),
    ("m", base_unit(m=1), {"m": _SMALL["m"], "c": Fraction(1, 100)}),
    ("gCO2", base_unit(gCO2=1), {**_SMALL, **LARGE}),
    ("%", base_unit(Fraction(1, 100)), {}),
    ("1", base_unit(), {}),
)


def _unit_table() -> dict[str, Unit]:
    table: dict[str, Unit] = {}
    for names, unit, prefixes in _NAMED:
        for name in names.split():
            for prefix, factor in {"": 1, **prefixes}.items():
                if table.setdefault(prefix + name, scaled := Unit(unit.factor * factor, unit.dimension)) != scaled:
                    raise AssertionError(f"two units are written {prefix + name}")
    return table


TABLE = _unit_table()


# Base units are displayed by the first of their names.
SYMBOLS = {
    base: names.split()[0]
    for base in BASE_UNITS
    for names, unit, _ in reversed(_NAMED)
    if unit == base_unit(**{base: 1})
}


PERCENT = TABLE["%"]


UNIT_NAMES = frozenset(TABLE) - {"1"}


PREFIXES_OF_COUNTS = frozenset(BARE)
