"""Rows of scenarios: columns as they lie, presets by name, and their results block by block."""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from roofslate import _core
from roofslate.errors import AxisError, InputTypeError, MissingInput, PresetError
from roofslate.evaluation import _ROW, ProgressWish, _bounds, _run
from roofslate.inputs import (
    PRESETS,
    Grid,
    Input,
    Values,
    check_effect,
    find_preset,
    input_quantity,
    is_bool,
    parsed,
    preset_numbers,
    read_grid,
)
from roofslate.progress import Progress
from roofslate.registry import Quantity, lookup

if TYPE_CHECKING:
    import pandas as pd

    from roofslate.catalogs import Preset

__all__ = [
    "Column",
    "Columns",
    "Names",
    "check_column",
    "choice_codes",
    "compute",
    "constants",
    "of_words",
    "read_columns",
]

_BLOCK = 1 << 16  # rows that are converted or gathered at a time: their columns stay in the cache
_CHECKED = 1 << 14  # rows that are searched for values out of range at a time

Positions = npt.NDArray[Any]


@dataclass(frozen=True)
class Column:
    """An input of each row: numbers, or positions in a list of numbers that ends with NaN, for -1."""

    data: npt.NDArray[Any]
    values: Values | None = None

    @property
    def is_ready(self) -> bool:
        """Whether the engine can read the numbers where they lie."""
        return self.values is None and self.data.dtype == np.float64 and _is_plain(self.data)

    def part(self, rows: Any, room: Values) -> Values:
        """The numbers of some rows: where they lie, or in `room`."""
        picked = self.data[rows]
        if self.values is not None:
            return np.take(self.values, picked, out=room[: len(picked)], mode="wrap")
        if picked.dtype == np.float64 and _is_plain(picked):
            return picked
        np.copyto(room[: len(picked)], picked, casting="unsafe")
        return room[: len(picked)]


def _is_plain(array: npt.NDArray[Any]) -> bool:
    return array.flags.c_contiguous and array.flags.aligned and array.dtype.isnative


@dataclass(frozen=True)
class Names:
    """A column that names presets: the position of each row's name, -1 where there is none."""

    codes: Positions
    names: list[Any]


Columns = Mapping[str, Column | Names]

# ----------------------------------------------------------------------------------------------------------- reading


def of_words(codes: Positions, words: Sequence[Any], q: Quantity) -> Column:
    """A column by the positions of its values among the distinct ones, each of which is parsed once."""
    for word in words:
        if is_bool(word):  # which would pass for 0 and 1
            raise InputTypeError(f"{q.name}: expected a number or a text, got {word}")
    return Column(codes, np.array([*(parsed(word, q) for word in words), np.nan]))


def check_column(name: Any, inputs: Collection[str]) -> None:
    """Refuse a column that is no input, or that is given for all rows as well."""
    if name not in PRESETS:
        input_quantity(name)
    if name in inputs:
        raise InputTypeError(f"{name!r} is a column of the table and a keyword: leave one out")


def read_columns(table: pd.DataFrame, ignore: Collection[str], inputs: Collection[str]) -> dict[str, Column | Names]:
    """The columns of a table. Their ranges are checked when they are computed."""
    if not table.columns.is_unique:
        raise AxisError("the table has two columns of the same name")
    names = [name for name in table.columns if name not in ignore]
    for name in names:
        check_column(name, inputs)
    found: dict[str, Column | Names] = {}
    for name in sorted(names, key=lambda name: name not in PRESETS):
        if name in PRESETS:
            codes, words = _distinct(table[name], name)
            found[name] = Names(codes, [find_preset(name, word) for word in words])
        else:
            found[name] = _of_series(table[name], lookup(name))
    return found


def _of_series(column: pd.Series, q: Quantity) -> Column:
    import pandas as pd

    dtype = column.dtype
    plain = pd.api.types.is_numeric_dtype(dtype) and not isinstance(dtype, pd.CategoricalDtype)
    if pd.api.types.is_timedelta64_dtype(dtype) or pd.api.types.is_datetime64_any_dtype(dtype):
        raise InputTypeError(f"{q.name}: expected a number, got a column of {dtype}")
    if plain and (q.choices or pd.api.types.is_bool_dtype(dtype) or pd.api.types.is_complex_dtype(dtype)):
        expected = f"words of {q.range_text}" if q.choices else "a number"
        raise InputTypeError(f"{q.name}: expected {expected}, got a column of {dtype}")
    if plain and isinstance(dtype, np.dtype):
        return Column(column.to_numpy())
    if plain:
        return Column(column.to_numpy(dtype=np.float64, na_value=np.nan))
    if pd.api.types.is_object_dtype(dtype):
        kind = pd.api.types.infer_dtype(column, skipna=True)
        if kind in ("integer", "floating", "mixed-integer-float") and not q.choices:
            try:
                return Column(column.to_numpy(dtype=np.float64, na_value=np.nan))
            except OverflowError:
                pass  # the distinct values name the one that is too large
        if kind.startswith(("mixed", "boolean")) and any(map(is_bool, column.array)):  # 1 and True are not distinct
            raise InputTypeError(f"{q.name}: expected a number or a text, got True or False in a column of {dtype}")
    return of_words(*_distinct(column, q.name), q)


def _distinct(column: pd.Series, name: str) -> tuple[Positions, list[Any]]:
    """The position of each value among the distinct ones, -1 where it is missing."""
    import pandas as pd

    if isinstance(column.dtype, pd.CategoricalDtype):
        codes, words = column.cat.codes.to_numpy(), column.cat.categories.tolist()
        used = np.bincount(codes.astype(np.intp) + 1, minlength=len(words) + 1)[1:] > 0
        if used.all():
            return codes, words
        position = np.append(np.where(used, np.cumsum(used) - 1, -1), -1)
        return position[codes], [word for word, is_used in zip(words, used, strict=True) if is_used]
    try:
        codes, found = pd.factorize(column)
    except (TypeError, ValueError):
        raise InputTypeError(f"{name}: expected a number or a text, got a column of other objects") from None
    return codes, list(found)


# --------------------------------------------------------------------------------------------------- presets by name


@dataclass
class _Group:
    """Rows whose presets supply the same quantities and choose alike: one plan computes them."""

    grid: Grid  # what is the same for all of them
    columns: dict[str, Column]
    origins: dict[str, str]  # the keyword of the preset that supplies a column
    rows: Positions | None = None  # None: all


@functools.lru_cache(maxsize=1 << 14)
def _supplied(presets: tuple[Preset, ...], explicit: frozenset[str]) -> tuple[Any, dict[str, tuple[float, str]]]:
    """What presets supply together, each number with its keyword; and what makes rows alike."""
    found: dict[str, tuple[float, str]] = {}
    for preset in presets:
        for name, x in preset_numbers(preset).items():
            if name in explicit:
                continue
            if name in found:
                raise PresetError(f"{preset.kind}={preset.name!r} and {found[name][1]}= both supply {name!r}")
            found[name] = x, preset.kind
    chosen = frozenset((name, x) for name, (x, _) in found.items() if lookup(name).choices)
    return (frozenset(found), chosen), found


def _combinations(columns: Mapping[str, Names], rows: int) -> tuple[Positions, list[tuple[Preset, ...]]]:
    """The combinations of presets that occur, and the position of each row's among them, -1 where a name is missing."""
    codes = np.zeros(rows, dtype=np.intp)
    missing = np.zeros(rows, dtype=bool)
    size = 1
    for column in columns.values():
        codes *= len(column.names)
        codes += column.codes
        missing |= column.codes < 0
        size *= len(column.names)
    codes[missing] = -1
    if size <= max(rows, _BLOCK):
        present = np.flatnonzero(np.bincount(codes + 1, minlength=size + 1)[1:])
        position = np.full(size + 1, -1, dtype=np.intp)
        position[present] = np.arange(len(present))
        if len(present) < size:
            codes = position[codes]
    else:
        present, codes = np.unique(codes, return_inverse=True)
        if len(present) and present[0] < 0:
            present, codes = present[1:], codes - 1
    shape = [len(column.names) for column in columns.values()]
    parts = zip(*np.unravel_index(present, shape), strict=True) if len(present) else ()
    found = [tuple(c.names[k] for c, k in zip(columns.values(), part, strict=True)) for part in parts]
    return codes, found


def _grouped(common: Grid, columns: Columns, rows: int) -> tuple[list[_Group], Positions]:
    """The rows of a table by what their presets supply, and the rows that miss the name of a preset."""
    numbers = {name: column for name, column in columns.items() if isinstance(column, Column)}
    names = {name: column for name, column in columns.items() if isinstance(column, Names)}
    explicit = frozenset(numbers) | {name for name, i in common.inputs.items() if i.origin is None}
    same = {name: i for name, i in common.inputs.items() if name not in numbers}
    if not names:
        return [_Group(Grid(same, presets=common.presets), numbers, {})], np.empty(0, dtype=np.intp)
    codes, combinations = _combinations(names, rows)
    alike: dict[Any, list[int]] = {}
    supplied = []
    for k, presets in enumerate(combinations):
        key, found = _supplied(presets, explicit)
        twice = next((name for name in found if name in same), None)
        if twice is not None:
            preset = next(p for p in presets if p.kind == found[twice][1])
            raise PresetError(f"{preset.kind}={preset.name!r} and {same[twice].origin}= both supply {twice!r}")
        alike.setdefault(key, []).append(k)
        supplied.append(found)
    groups = []
    for members in alike.values():
        listed = {kind: list({combinations[m][k]: None for m in members}) for k, kind in enumerate(names)}
        group = _Group(Grid(dict(same), presets=common.presets | listed), dict(numbers), {})
        for name, (_, keyword) in supplied[members[0]].items():
            values = np.full(len(combinations) + 1, np.nan)
            values[members] = [supplied[m][name][0] for m in members]
            q = lookup(name)
            if q.choices or (values[members] == values[members[0]]).all():
                group.grid.inputs[name] = Input(q, values[members[0]], (), keyword)
            else:
                group.columns[name] = Column(codes, values)
                group.origins[name] = keyword
        groups.append(group)
    if len(groups) == 1 and codes.min() >= 0:
        return groups, np.empty(0, dtype=np.intp)
    group_of = np.full(len(combinations) + 1, len(groups), dtype=np.min_scalar_type(len(groups)))
    for g, members in enumerate(alike.values()):
        group_of[members] = g
    kinds = group_of[codes]
    order = np.argsort(kinds, kind="stable")
    *parts, missing = np.split(order, np.cumsum(np.bincount(kinds, minlength=len(groups) + 1))[:-1])
    for group, part in zip(groups, parts, strict=True):
        group.rows = part
    return groups, missing


def _keep_needed(group: _Group, wanted: Sequence[str]) -> None:
    """Check that the group can be computed, and leave out what its presets supply in vain."""
    stand_in = np.zeros(1)
    varying = {name: Input(lookup(name), stand_in, (_ROW,), group.origins.get(name)) for name in group.columns}
    outline = Grid(group.grid.inputs | varying, {_ROW: 1}, presets=group.grid.presets)
    try:
        needed = check_effect(outline, wanted)
    except MissingInput as error:
        first = ", ".join(f"{keyword}={presets[0].name!r}" for keyword, presets in outline.presets.items())
        raise MissingInput(f"{error}; so it is with {first}" if first else str(error)) from None
    for pair in _bounds():
        if outline.inputs.keys() >= set(pair):
            needed |= set(pair)
    for name in group.origins.keys() - needed:
        del group.columns[name]


# ----------------------------------------------------------------------------------------------------------- results


def constants(inputs: Mapping[str, Any], call: str) -> Grid:
    """The inputs that are the same for all rows."""
    common = read_grid(inputs)
    for name, i in common.inputs.items():
        if i.dims:
            raise AxisError(f"{i.origin or name}: {call} takes one value for all rows, or a column of the table")
    return common


def compute(
    columns: Columns,
    rows: int,
    wanted: Sequence[str],
    common: Grid,
    *,
    threads: int | None = None,
    progress: ProgressWish = None,
) -> tuple[list[Values], Positions]:
    """The wanted quantities of each row, and the rows that hold NaN: a value is missing or out of its range.

    The results of a row depend on that row alone. All but the ranges is checked before any work is done.
    """
    groups, missing = _grouped(common, columns, rows)
    for group in groups:
        _keep_needed(group, wanted)
    results: list[Values] = []
    wrong = [missing]
    done = 0
    with Progress(progress) as bar:
        for group in groups:
            size = rows if group.rows is None else len(group.rows)
            at_once = group.rows is None and all(column.is_ready for column in group.columns.values())
            step = max(size, 1) if at_once else _BLOCK
            room = {} if at_once else {name: np.empty(min(step, size)) for name in group.columns}
            for start in range(0, size, step):
                stop = min(start + step, size)
                picked = slice(start, stop) if group.rows is None else group.rows[start:stop]
                part = {
                    name: Input(lookup(name), column.part(picked, room.get(name)), (_ROW,))
                    for name, column in group.columns.items()
                }
                grid = Grid(group.grid.inputs | part, {_ROW: stop - start}, presets=group.grid.presets)
                found, outside = _run(
                    grid,
                    wanted,
                    threads=threads,
                    progress=_of_part(bar.callback, done, stop - start, rows),
                    columns=list(part),
                )
                if at_once:
                    results = [values if dims else np.full(rows, values) for values, dims in found]
                else:
                    results = results or [np.empty(rows) for _ in wanted]
                    for result, (values, _) in zip(results, found, strict=True):
                        result[picked] = values
                bad = _bad_rows(grid, stop - start, outside)
                wrong.append(bad + start if group.rows is None else group.rows[start:stop][bad])
                done += stop - start
    results = results or [np.empty(rows) for _ in wanted]
    bad = np.concatenate(wrong)
    for result in results:
        result[bad] = np.nan
    return results, bad


def _of_part(tell: Callable[[int, int], None] | None, done: int, part: int, rows: int) -> ProgressWish:
    """What the engine tells of a part, as rows of the table."""
    if tell is None:
        return False
    return lambda points, total: tell(done + points * part // max(total, 1), rows)


def _bad_rows(grid: Grid, rows: int, outside: int) -> Positions:
    """Rows with a value that is missing, out of range or above its bound."""
    bad = np.zeros(rows, dtype=bool)
    varying = [i for i in grid.inputs.values() if i.dims]
    for start in range(0, rows if outside else 0, _CHECKED):
        at = slice(start, start + _CHECKED)
        for i in varying:
            values, q = i.values[at], i.quantity
            if _core.count_outside(values, q.low, q.high, q.above_low):
                bad[at] |= ~((values >= q.low) & (values <= q.high)) | (q.above_low & (values == q.low))
    for name, bound in _bounds():
        one, most = grid.inputs.get(name), grid.inputs.get(bound)
        if one is not None and most is not None and (one.dims or most.dims):
            bad |= one.values > most.values
    return np.flatnonzero(bad)


def choice_codes(values: Values) -> npt.NDArray[np.int8]:
    """Positions of a choice as small integers, -1 for NaN."""
    codes = np.empty(len(values), dtype=np.int8)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        codes[start : start + _BLOCK] = np.where(np.isnan(block), -1.0, block)
    return codes
