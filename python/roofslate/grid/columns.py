"""Columns of tables without copies: numbers, texts read once each, names of presets."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate._base.messages import shown
from roofslate.errors import AxisError, InputTypeError, RoofslateError, UnknownName
from roofslate.presets.catalog import measured_as
from roofslate.presets.lookup import PRESETS, PRICED, find_preset, on_day, refuse_day
from roofslate.registry.registry import Quantity, lookup
from roofslate.registry.values import Values, input_quantity, is_bool, parsed
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    import pandas as pd

    from roofslate.grid.grid import Positions
    from roofslate.presets.preset import Preset

__all__ = [
    "FEW",
    "Column",
    "Columns",
    "Names",
    "check_column",
    "column_of",
    "distinct",
    "preset_names",
    "priced_by_day",
    "read_columns",
    "read_word",
    "refuse_twice",
]

FEW = 256  # rows that are quicker to number in Python


@dataclass(frozen=True)
class Column:
    """An input of each row: numbers, or positions in a list of numbers ending with NaN for -1."""

    data: npt.NDArray[Any]
    values: Values | None = None

    @property
    def is_ready(self) -> bool:
        """Return True if the engine can read the numbers without a copy."""
        return self.values is None and _is_plain(self.data)

    def part(self, rows: Any, buffer: Values | None) -> Values:
        """Return the numbers of some rows, as a view or in `buffer`."""
        picked: Values = self.data[rows]
        if buffer is None or (self.values is None and _is_plain(picked)):
            return picked
        result = buffer[: len(picked)]
        if self.values is not None:
            np.take(self.values, picked, out=result, mode="wrap")  # type: ignore[call-overload]
        else:
            np.copyto(result, picked, casting="unsafe")
        return result


def _is_plain(array: npt.NDArray[Any]) -> bool:
    flags, dtype = array.flags, array.dtype
    return dtype == np.float64 and flags.c_contiguous and flags.aligned and dtype.isnative


@dataclass(frozen=True)
class Names:
    """A column that names presets: the position of each row's preset, -1 where it names none."""

    codes: Positions
    presets: list[Preset]


Columns = Mapping[str, Column | Names]


def refuse_twice(names: Iterable[Any], inputs: Collection[str]) -> None:
    """Refuse columns that are given for all rows as well."""
    for name in names:
        if name in inputs:
            raise InputTypeError(f"{name!r} is a column of the table and a keyword: leave one out")


def check_column(name: Any, inputs: Collection[str]) -> None:
    """Refuse a column that is no input, or that is given for all rows as well."""
    if name not in PRESETS and name != DAY:
        try:
            input_quantity(name)
        except UnknownName as error:
            joined = "" if str(error).endswith("?") else "."
            raise UnknownName(f"{error}{joined} For a column that is no input, give ignore=[{shown(name)}]") from None
    refuse_twice([name], inputs)


def column_of(name: str, codes: Positions, words: Sequence[Any]) -> Column | Names:
    """Read a column by positions among its distinct values, each of which is read once."""
    q = None if name in PRESETS else lookup(name)
    try:
        values = [read_word(name, q, word) for word in words]
    except RoofslateError:  # maybe of a category without rows
        occurring = np.isin(np.arange(len(words)), codes)
        values = [read_word(name, q, word) if occurs else np.nan for word, occurs in zip(words, occurring, strict=True)]
    return Names(codes, values) if q is None else Column(codes, np.array([*values, np.nan]))


def read_word(name: str, q: Quantity | None, word: Any) -> Any:
    """Read a word of a column: a number, or a preset for columns that are no quantity."""
    if q is None:
        return find_preset(name, word)
    if is_bool(word):  # which would pass for 0 and 1
        raise InputTypeError(f"{name}: expected a number or a text, got {word}")
    return parsed(word, q)


def priced_by_day(table: pd.DataFrame, ignore: Collection[str], inputs: dict[str, Any]) -> pd.DataFrame:
    """Name in each row the entry of a price that was in force on its day.

    The day is a column ``as_of`` or the one of the inputs, out of which it goes; with a column of days, a price of all
    rows becomes a column too.
    """
    import pandas as pd

    day = inputs.pop(DAY, None)
    names = [name for name in table.columns if name not in ignore]
    if DAY not in names and day is None:
        return table
    if DAY in names and day is not None:
        check_column(DAY, (DAY,))
    priced = [keyword for keyword in PRICED if keyword in names]
    if DAY not in names:
        days = [day] * len(table)
        if not priced and not any(keyword in inputs for keyword in PRICED):
            refuse_day()
    else:
        days = table[DAY].tolist()
        table = table.drop(columns=DAY)
        common = [keyword for keyword in PRICED if keyword in inputs]
        if not priced and not common:
            refuse_day()
        table = table.assign(**{keyword: [inputs.pop(keyword)] * len(table) for keyword in common})
        priced += common
    for keyword in priced:
        pairs = [(given, one) for given, one in zip(table[keyword].tolist(), days, strict=True)]
        known = {pair: on_day(keyword, *pair).name for pair in set(pairs) if not any(map(pd.isna, pair))}
        table = table.assign(**{keyword: pd.Series([known.get(pair) for pair in pairs], table.index, dtype=object)})
    return table


def read_columns(table: pd.DataFrame, ignore: Collection[str], inputs: Collection[str]) -> dict[str, Column | Names]:
    """The columns of a table. Their ranges are checked when they are computed."""
    names = table.columns.tolist()
    if len(set(names)) < len(names):
        raise AxisError("the table has two columns of the same name")
    for name in names:
        if name not in ignore:
            check_column(name, inputs)
    return {str(name): _of_series(str(name), column) for name, column in table.items() if name not in ignore}


def _of_series(name: str, column: pd.Series) -> Column | Names:
    try:
        return _read_series(name, column)
    except NotImplementedError:  # kinds of Arrow that pandas stores and knows nothing of
        raise InputTypeError(f"{name}: expected a number or a text, got a column of {column.dtype}") from None


def _read_series(name: str, column: pd.Series) -> Column | Names:
    import pandas as pd

    dtype = column.dtype
    if name not in PRESETS:
        choices = lookup(name).choices
        if isinstance(dtype, np.dtype) and dtype.kind in "iuf" and not choices:
            return Column(column.to_numpy())
        plain = pd.api.types.is_numeric_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype)
        if pd.api.types.is_timedelta64_dtype(dtype) or pd.api.types.is_datetime64_any_dtype(dtype):
            raise InputTypeError(f"{name}: expected a number, got a column of {dtype}")
        if plain and (choices or pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_complex_dtype(dtype)):
            expected = f"words of {lookup(name).range_text}" if choices else "a number"
            raise InputTypeError(f"{name}: expected {expected}, got a column of {dtype}")
        if plain:
            return Column(column.to_numpy(dtype=np.float64, na_value=np.nan))
        if pd.api.types.is_object_dtype(dtype):
            kind = pd.api.types.infer_dtype(column, skipna=True)
            if not choices and kind in ("integer", "floating", "mixed-integer-float"):
                try:
                    return Column(column.to_numpy(dtype=np.float64, na_value=np.nan))
                except OverflowError:
                    pass  # the distinct values name the one that is too large
            if not kind.startswith("string") and any(map(is_bool, column.array)):  # True and 1 are not distinct
                raise InputTypeError(f"{name}: expected a number or a text, got True or False in a column of {dtype}")
    if isinstance(dtype, pd.CategoricalDtype):
        return column_of(name, column.cat.codes.to_numpy(), column.cat.categories.tolist())
    if len(column) <= FEW and isinstance(dtype, pd.StringDtype):
        texts = column.tolist()
        position = {text: k for k, text in enumerate(dict.fromkeys(text for text in texts if isinstance(text, str)))}
        return column_of(name, np.array([position.get(text, -1) for text in texts], dtype=np.intp), list(position))
    try:
        codes, words = pd.factorize(column)
    except (TypeError, ValueError):
        raise InputTypeError(f"{name}: expected a number or a text, got a column of other objects") from None
    return column_of(name, codes, list(words))


def distinct(columns: Sequence[npt.NDArray[Any]], rows: int) -> tuple[Positions, list[int]]:
    """Number the distinct rows of columns in their order, and return the first row of each."""
    if columns and rows <= FEW:
        values = list(zip(*(column.tolist() for column in columns), strict=True))
        if all(x == x for row in values for x in row):
            first = {row: k for k, row in reversed([*enumerate(values)])}
            places = {row: k for k, row in enumerate(sorted(first))}
            return np.array([places[row] for row in values], dtype=np.intp), [first[row] for row in places]
    codes = np.zeros(rows, dtype=np.intp)
    for column in columns:
        _, each = np.unique(column, return_inverse=True)
        _, codes = np.unique(codes * (each.max(initial=0) + 1) + each, return_inverse=True)
    _, starts = np.unique(codes, return_index=True)
    return codes, starts.tolist()


def preset_names(columns: Columns, inputs: Mapping[str, Any], rows: int) -> dict[str, list[str | None]]:
    """Return each row's presets by keyword with their measured names, None without a preset."""
    names_by_keyword: dict[str, list[str | None]] = {}
    for keyword in PRESETS:
        column = columns.get(keyword)
        if isinstance(column, Names):
            names = [*(measured_as(preset) if preset == preset else None for preset in column.presets), None]
            names_by_keyword[keyword] = [names[code] for code in column.codes.tolist()]
        else:
            names_by_keyword[keyword] = [
                measured_as(find_preset(keyword, inputs[keyword])) if keyword in inputs else None
            ] * rows
    return names_by_keyword
