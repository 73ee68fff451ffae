"""Values checked against their quantity: numbers in base units, positions of choices."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import _core, units
from roofslate._base.messages import shown
from roofslate._base.threads import reading_threads
from roofslate.errors import InputTypeError, UnitError, UnknownName, ValueRangeError
from roofslate.registry.formats import position_of
from roofslate.registry.registry import Quantity, entries, lookup, unknown_quantity
from roofslate.registry.words import PRESET_KEYWORDS

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

Values = npt.NDArray[np.float64]


def number(value: Any, q: Quantity) -> float:
    """Return one number in base units, checked against the range, or the position of a word."""
    x = parsed(value, q)
    if not (q.low <= x <= q.high) or (q.above_low and x == q.low):
        raise ValueRangeError(f"{q.name} must be {expected_of(q)}, got {shown(value)}")
    return x


def parsed(value: Any, q: Quantity) -> float:
    """Return one number in base units of any size, or the position of a word."""
    if q.choices:
        return _position(value, q)
    try:
        return units.to_base(value, q.unit)
    except (UnitError, InputTypeError, ValueRangeError) as error:
        raise type(error)(f"{q.name}: {error}") from None


def _position(value: Any, q: Quantity) -> float:
    if not isinstance(value, str):
        raise InputTypeError(f"{q.name} is one of {q.range_text}, got {shown(value)}")
    return float(position_of(q.name, value, q.choices))


def expected_of(q: Quantity) -> str:
    """Write the range and the unit of a quantity for an error."""
    unit = "" if q.unit == "1" else f", in {q.unit}"
    finite = "" if q.takes_infinity or "<=" in q.range_text else " and finite"
    return f"{q.range_text}{finite}{unit}"


def check_range(values: Values, q: Quantity) -> None:
    if values.flags.c_contiguous and not _core.count_outside(
        values.reshape(-1), q.low, q.high, q.above_low, reading_threads()
    ):
        return
    size = values.size
    values = values[tuple(slice(None if stride else 1) for stride in values.strides)]  # without repeated elements
    if size and not _within(values, q):
        with np.errstate(invalid="ignore"):
            wrong = ~((values >= q.low) & (values <= q.high)) | (q.above_low & (values == q.low))
        first = float(values[wrong].flat[0])
        raise ValueRangeError(f"{q.name} must be {expected_of(q)}, got {first!r} among its {size} values")


def _within(values: Values, q: Quantity) -> bool:
    """Return True if all values are in the quantity's range. No copy is made."""
    least, most = values.min(), values.max()  # NaN where one is
    return bool(least >= q.low and most <= q.high and not (q.above_low and least == q.low))


def numbers(values: Any, q: Quantity) -> Values:
    """Return numbers in base units, in their shape. Each distinct text is parsed once."""
    if np.ma.isMaskedArray(values):
        raise InputTypeError(f"{q.name}: a masked array has values missing: fill it, or leave them out")
    try:
        array = values if isinstance(values, np.ndarray) else _array_of(values)
    except TypeError:
        raise InputTypeError(f"{q.name}: expected numbers, got {type(values).__name__}") from None
    if array.dtype.kind in "OUST":
        read = functools.lru_cache(maxsize=None)(lambda text: number(text, q))  # each text once
        flat = [read(item) if isinstance(item, str) else number(item, q) for item in array.reshape(-1).tolist()]
        return np.array(flat, dtype=float).reshape(array.shape)
    if not array.size:
        return np.empty(array.shape)
    check_type(array.dtype, q)
    result: Values = array.astype(np.float64, copy=False)
    if (result.ndim and any(stride % result.itemsize for stride in result.strides)) or not result.flags.aligned:
        result = result.copy()
    check_range(result, q)
    return result


def check_type(dtype: Any, q: Quantity) -> None:
    if q.choices or dtype.kind not in "iuf":
        expected = f"words of {q.range_text}" if q.choices else "numbers"
        raise InputTypeError(f"{q.name}: expected {expected}, got an array of {dtype}")


def _array_of(values: Any) -> npt.NDArray[Any]:
    """Convert a list to an array. Elements that are no numbers stay, so that errors name them."""
    try:
        array = np.asarray(values)
    except (ValueError, OverflowError, RecursionError):
        array = np.empty(len(values), dtype=object)
        array[:] = values
    plain = array.dtype.kind in "iuf" and not (isinstance(values, list) and any(map(is_bool, values)))
    return array if plain or array.ndim != 1 or not isinstance(values, list) else np.array(values, dtype=object)


def is_bool(value: Any) -> bool:
    """Return True for True and False, which Python also counts as numbers."""
    return isinstance(value, (bool, np.bool_))


def is_whole(value: Any) -> bool:
    """Return True for an integer, False for a span of time, which NumPy counts as one."""
    return isinstance(value, (int, np.integer)) and not isinstance(value, (bool, np.timedelta64))


def input_quantity(name: str) -> Quantity:
    """The quantity of an input, or an error that names the nearest inputs."""
    entry = entries().get(name)
    if entry is None:
        raise unknown_quantity(name, "input", PRESET_KEYWORDS)
    return entry


_DISTRIBUTIONS = ("rv_frozen", "rv_generic", "multi_rv_frozen", "multi_rv_generic", "UnivariateDistribution")


def is_scipy(value: Any, cls: str) -> bool:
    """Return True for a value of a SciPy class, without an import of SciPy."""
    return is_of("scipy", cls, value)


def is_distribution(value: Any) -> bool:
    """Return True for a distribution of `scipy.stats`, frozen or not."""
    return any(is_scipy(value, cls) for cls in _DISTRIBUTIONS)


def is_of(module: str, cls: str, value: Any) -> bool:
    """Return True for a value of a library's class, without an import of the library."""
    return any(base.__name__ == cls and base.__module__.split(".")[0] == module for base in type(value).__mro__)


def _words_of_flags(attrs: Mapping[str, Any], values: Any, q: Quantity) -> Any:
    meanings = attrs["flag_meanings"].split()
    flags = np.asarray(attrs.get("flag_values", range(len(meanings)))).tolist()
    word_of = dict(zip(flags, meanings, strict=False))
    try:
        return np.array([word_of[v] for v in values.reshape(-1).tolist()]).reshape(values.shape)
    except KeyError as error:
        raise ValueRangeError(f"{q.name}: {error.args[0]} is none of the flag_values {flags}") from None


def encoded_numbers(values: Any, attrs: Mapping[str, Any], q: Quantity) -> Values:
    """Decode numbers of an array by its attributes: a unit, or the words of flags."""
    given = attrs.get("units")
    if given is not None and not q.choices and given != q.unit and values.dtype.kind in "iuf":
        try:
            values = values * units.convert_factor(given, q.unit)
        except UnitError as error:
            raise UnitError(f"{q.name}: {error}") from None
    if q.choices and isinstance(attrs.get("flag_meanings"), str) and values.dtype.kind in "iuf":
        values = _words_of_flags(attrs, values, q)
    return numbers(values, q)


def wanted_names(outputs: str | Sequence[str]) -> list[str]:
    """Names of outputs, checked."""
    try:
        names = [outputs] if isinstance(outputs, str) else list(outputs)
    except (TypeError, MemoryError):
        given = shown(outputs)
        raise InputTypeError(f"outputs: expected the name of a quantity or a list of names, got {given}") from None
    for name in names:
        if isinstance(name, str) and name in PRESET_KEYWORDS:
            raise UnknownName(f"{name!r} is an input that names a preset, not a quantity")
        lookup(name)
    if not names:
        raise InputTypeError("no output was asked for: give a quantity's name or a list of names")
    return names
