"""`rs.sweep`: a table file in, a table file with results out, in blocks."""

from __future__ import annotations

import collections
import contextlib
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.files import whole_file
from roofslate._base.messages import pip_install, shown
from roofslate._base.progress import Progress
from roofslate._base.threads import thread_count
from roofslate.errors import AxisError, InputTypeError, RoofslateError, RoofslateWarning, UnknownName
from roofslate.evaluation.frame import results_of_rows
from roofslate.evaluation.table_files import (
    MISSING,
    CsvReader,
    CsvWriter,
    ParquetReader,
    ParquetWriter,
    Reader,
    TableReader,
    with_units,
)
from roofslate.grid.arrow_columns import arrow_numbers, read_array, takes_words
from roofslate.grid.columns import Column, Columns, Names, check_column, column_of, read_word
from roofslate.grid.fit import warn_of_misfits
from roofslate.grid.label import UnitsOfOutputs, conversions
from roofslate.grid.read import with_scenario
from roofslate.grid.scenarios import Scenarios, choice_codes
from roofslate.grid.tables import read_table
from roofslate.presets.catalog import AS_OF
from roofslate.presets.lookup import PRESETS, PRICED, refuse_day
from roofslate.presets.validity import day_of
from roofslate.registry.registry import lookup
from roofslate.registry.values import wanted_names
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["sweep"]


def sweep(
    source: Any,
    outputs: str | Sequence[str],
    target: str | os.PathLike[str] | None = None,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    ignore: Iterable[str] = (),
    units: UnitsOfOutputs | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: bool | Callable[[int, int | None], object] | None = None,
    **inputs: Any,
) -> Any:
    """Compute quantities for each row of a table and append them as columns.

    For files of any size: rows are read, computed and written a chunk at a time, in their order. The results equal
    `frame`'s. The target appears once it is complete. Until then it has another name in the same folder,
    that starts with a dot and ends in ``.partial``.

    Parameters
    ----------
    source : path, pandas.DataFrame or another kind
        A file whose name ends in ``.csv`` or ``.parquet``, or a table of any kind that `frame` takes. Its columns are
        inputs, as for `frame`.
    outputs : str or list of str
        Names of quantities.
    target : path, optional
        The file to write, in the format that its name ends in. A table without a target gives a table.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    ignore : iterable of str
        Columns that are no inputs; they are written with the others.
    units : str or dict of str, optional
        Unit of the results, or units by output: ``"ms"``, ``{"cost_per_token": "USD/Mtoken"}``.
    overwrite : bool
        Replace a target that exists, at the end.
    threads : int, optional
        As for `evaluate`.
    progress : bool or callable, optional
        As for `evaluate`. A function receives the rows done, and all rows or None if unknown.
    **inputs
        Inputs that are the same for all rows.

    Returns
    -------
    int, or the kind of `source`
        The number of rows; without a target, the table with the results as further columns.

    Raises
    ------
    UnknownName, UnitError, InputTypeError, IneffectiveInput, MissingInput
        If a value cannot be read, with the line of a CSV file or the row of a Parquet file, both counted from one.
    OSError
        If a file cannot be read or written, or the target exists without `overwrite`.
    ModuleNotFoundError
        Without pyarrow, which ``pip install 'roofslate[io]'`` brings.

    Notes
    -----
    An empty field of a CSV file is a missing value, as are NA, NaN and null. A column of numbers or of texts with units
    is written to Parquet as numbers in base units. A row with a missing value or a number outside of its range has
    empty fields (null) for results, and one warning counts such rows. Undefined results are empty too.
    """
    inputs = with_scenario(scenario, inputs, day_acts=True)
    output_names = list(dict.fromkeys(wanted_names(outputs)))
    if not isinstance(source, (str, bytes, os.PathLike)):
        if target is None:
            return _beside(source, output_names, inputs, ignore, units, threads, progress)
        source = TableReader(read_table(source, "source").arrow())
    elif target is None:
        raise InputTypeError(f"target: expected the name of a file for the results of {shown(source)}, got None")
    day = inputs.pop(DAY, None)
    try:
        import pandas as pd  # noqa: F401  # otherwise pyarrow would, when Ctrl-C breaks an import
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        message = f"rs.sweep needs pyarrow, which is not installed: {pip_install('io')}"
        raise ModuleNotFoundError(message, name=error.name) from None
    converted = conversions(output_names, units)
    count = thread_count(threads)
    if not isinstance(ignore, Iterable):
        raise InputTypeError(f"ignore: expected names of columns, got {shown(ignore)}")
    target = _path("target", target)
    open_writer = _by_suffix(target, {".csv": CsvWriter, ".parquet": ParquetWriter})
    with contextlib.ExitStack() as stack:
        reader = _reader(source)
        names = _input_columns(reader, {ignore} if isinstance(ignore, str) else set(ignore), output_names, inputs)
        if day is not None and not any(keyword in names or keyword in inputs for keyword in PRICED):
            refuse_day()
        scenarios = Scenarios(names, output_names, inputs, "sweep")
        stream = stack.enter_context(whole_file(target, overwrite=overwrite))
        as_numbers = names if reader.is_text and open_writer is ParquetWriter else []
        fields = _fields(
            reader, as_numbers, {name: converted.get(name, (1.0, lookup(name).unit))[1] for name in output_names}
        )
        writer = stack.enter_context(open_writer(stream, fields))
        tell = stack.enter_context(Progress(progress, "row")).callback or (lambda *_: None)
        rows = bad = 0
        tell(0, reader.rows)
        for block in stack.enter_context(contextlib.closing(reader.blocks())):
            columns = {name: _column(name, block.column(name), reader, rows, day) for name in names}
            results, wrong = scenarios.compute(columns, len(block), first=rows, threads=count, progress=False)
            for name, values in zip(output_names, results, strict=True):
                if name in converted:
                    np.divide(values, converted[name][0], out=values)
            writer.write([*_carried(block, columns, as_numbers), *map(_result, output_names, results)])
            rows, bad = rows + len(block), bad + len(wrong)
            tell(rows, reader.rows)
    warn_of_misfits(scenarios.misfits, rows=rows)
    if bad:
        warnings.warn(
            f"{bad} of {rows} rows have no results: an input is missing or outside of its range",
            RoofslateWarning,
            stacklevel=2,
        )
    return rows


def _beside(
    source: Any,
    output_names: Sequence[str],
    inputs: dict[str, Any],
    ignore: Iterable[str],
    units: UnitsOfOutputs | None,
    threads: int | None,
    progress: Any,
) -> Any:
    """A table in memory with results as further columns."""
    table = read_table(source, "source")
    for name in output_names:
        if name in table.names:
            raise InputTypeError(f"{name!r} is a column already; ask for it without the column")
    options: dict[str, Any] = {"ignore": ignore, "units": units, "threads": threads, "progress": progress}
    results, attrs = results_of_rows(table, output_names, inputs, call="rs.sweep", **options)
    return table.beside(results, attrs)


def _reader(source: Any) -> Reader:
    if isinstance(source, Reader):
        return source
    path = _path("source", source)
    reader: Reader = _by_suffix(path, {".csv": CsvReader, ".parquet": ParquetReader})(path)
    return reader


def _path(name: str, given: Any) -> Path:
    if isinstance(given, (str, os.PathLike)):
        return Path(os.fsdecode(given))
    raise InputTypeError(f"{name}: expected the name of a file, got {shown(given)}")


def _by_suffix(path: Path, known: Mapping[str, Any]) -> Any:
    by_suffix = known.get(path.suffix.lower())
    if by_suffix is None:
        raise InputTypeError(f"{path}: the name of a table ends in {' or '.join(known)}")
    return by_suffix


def _input_columns(reader: Reader, ignored: set[str], outputs: Sequence[str], inputs: Mapping[str, Any]) -> list[str]:
    """The columns of a file that are inputs, checked by name."""
    places = collections.Counter(reader.names)
    for name in reader.names:
        if places[name] > 1:
            raise AxisError(f"{reader.path}: two columns are called {name!r}")
        if name in outputs:
            raise InputTypeError(f"{reader.path}: {name!r} is a column already; ask for it without the column")
        if name == DAY and name not in ignored:
            raise InputTypeError(f"{reader.path}: {DAY!r} is a column; rs.sweep takes one day for all rows, {DAY}=")
    ignored = ignored | reader.index
    names = [name for name in reader.names if name not in ignored]
    try:
        for name in names:
            check_column(name, inputs)
    except UnknownName as error:
        raise UnknownName(f"{reader.path}: {error} (a column that is no input is named in ignore)") from None
    except RoofslateError as error:
        raise type(error)(f"{reader.path}: {error}") from None
    return names


def _column(name: str, array: pa.Array, reader: Reader, start: int, day: Any) -> Column | Names:
    """Return a column for the engine, with presets priced on a day.

    An error names the first bad value of the column.
    """
    import pyarrow as pa

    is_text = pa.types.is_string(array.type) or pa.types.is_large_string(array.type)
    if is_text and not takes_words(name):
        with contextlib.suppress(pa.ArrowInvalid):
            numbers = arrow_numbers(array)
            if not np.isinf(numbers).any():  # perhaps too large a number
                return Column(numbers)
    missing = (lambda word: word.strip() in MISSING) if reader.is_text else None
    read = read_array(name, array, f"{reader.path}: ", missing)
    if isinstance(read, Column):
        return read
    codes, words = read
    if day is not None and name in PRICED:
        words = [None if word is None else f"{word}{AS_OF}{day_of(day)}" for word in words]
    return _column_of_words(name, codes, words, reader, start)


def _column_of_words(name: str, codes: Any, words: list[Any], reader: Reader, start: int) -> Column | Names:
    try:
        return column_of(name, codes, words)
    except RoofslateError:
        distinct, first = np.unique(codes, return_index=True)
        rows = sorted(zip(first.tolist(), distinct.tolist(), strict=True))
        faults = ((row, _fault_of(name, words[k])) for row, k in rows if k >= 0)
        row, fault = next((row, fault) for row, fault in faults if fault is not None)
        raise type(fault)(f"{reader.place(start + row)}: {fault}") from None


def _fault_of(name: str, word: Any) -> RoofslateError | None:
    try:
        read_word(name, None if name in PRESETS else lookup(name), word)
    except RoofslateError as error:
        return error
    return None


def _fields(reader: Reader, as_numbers: Sequence[str], units: Mapping[str, str]) -> pa.Schema:
    """Return the columns of the target: the source's, then the results, with their units."""
    import pyarrow as pa

    numeric = {name: lookup(name).unit for name in as_numbers if name not in PRESETS and not lookup(name).choices}
    measured = numeric | {name: unit for name, unit in units.items() if not lookup(name).choices}
    fields = [field.with_type(pa.float64()) if field.name in numeric else field for field in reader.schema]
    word = pa.dictionary(pa.int8(), pa.string())
    fields += [pa.field(name, pa.float64() if name in measured else word) for name in units]
    return with_units(pa.schema(fields, reader.schema.metadata), measured)


def _carried(block: pa.RecordBatch, columns: Columns, as_numbers: Sequence[str]) -> Iterator[pa.Array]:
    """The columns of the source as they are written."""
    import pyarrow as pa

    for name in block.schema.names:
        column = columns[name] if name in as_numbers else None
        if isinstance(column, Column) and not lookup(name).choices:
            yield pa.array(column.part(slice(None), np.empty(len(block))), from_pandas=True)
        else:
            yield block.column(name)


def _result(name: str, values: Any) -> pa.Array:
    import pyarrow as pa

    choices = lookup(name).choices
    if not choices:
        return pa.array(values, from_pandas=True)  # NaN is null
    codes = choice_codes(values)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(choices))
