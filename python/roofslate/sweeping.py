"""`sweep`: scenario files in, result files out, a chunk at a time."""

from __future__ import annotations

import abc
import contextlib
import csv
import itertools
import json
import os
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from roofslate.engine import conversions, thread_count
from roofslate.errors import AxisError, InputTypeError, RoofslateError, RoofslateWarning, UnknownName, shown
from roofslate.files import whole_file
from roofslate.inputs import PRESETS, wanted_names
from roofslate.progress import Progress
from roofslate.registry import lookup
from roofslate.tables import Column, Columns, Names, Scenarios, check_column, choice_codes, column_of, read_word

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["sweep"]

_CHUNK = 1 << 18  # rows that are computed and written at a time
_BLOCK = 1 << 20  # bytes of a CSV file that are read at a time, some thirty times ahead; a line must fit
_MISSING = {"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None"}  # in a CSV file

Tell = Callable[[int, "int | None"], object]


def sweep(
    source: str | os.PathLike[str],
    outputs: str | Sequence[str],
    target: str | os.PathLike[str],
    /,
    *,
    ignore: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
    overwrite: bool = False,
    threads: int | None = None,
    progress: bool | Tell | None = None,
    **inputs: Any,
) -> int:
    """Compute quantities for each row of a scenario file and write them, beside its columns, into another.

    For files of any size: rows are read, computed and written a chunk at a time, in their order. The results are those
    of `frame`. The target appears when it is whole; until then what is written has another name, in the same folder,
    that starts with a dot and ends in ``.partial``.

    Parameters
    ----------
    source : path
        A file whose name ends in ``.csv`` or ``.parquet``. Its columns are inputs, as for `frame`.
    outputs : str or list of str
        Names of quantities.
    target : path
        The file to write, in the format that its name ends in.
    ignore : iterable of str
        Columns that are no inputs; they are written with the others.
    units : dict of str, optional
        Units of outputs: ``{"cost_per_token": "USD/Mtoken"}``.
    overwrite : bool
        Replace a target that exists, at the end.
    threads : int, optional
        As for `evaluate`.
    progress : bool or callable, optional
        As for `evaluate`; a function is told the rows done, and the rows in all or None where they are not known.
    **inputs
        Inputs that are the same for all rows.

    Returns
    -------
    int
        The number of rows.

    Raises
    ------
    UnknownName, UnitError, InputTypeError, IneffectiveInput, MissingInput
        Where a value can't be read, with the line of a CSV file or the row of a Parquet file, both from one on.
    OSError
        Where a file can't be read or written, or the target exists and `overwrite` is not asked for.
    ModuleNotFoundError
        Without pyarrow, which ``pip install 'roofslate[io]'`` brings.

    Notes
    -----
    An empty cell of a CSV file is a missing value, as are NA, NaN and null; a column of numbers or of texts with units
    is written to Parquet as numbers in base units. A row with a missing value or a number outside of its range has
    empty cells (null) for results, and one warning counts such rows. Undefined results are empty too.
    """
    try:
        import pandas as pd  # noqa: F401  # or pyarrow would, in the middle of the work, where Ctrl-C breaks an import
        import pyarrow  # noqa: F401
    except ModuleNotFoundError as error:
        message = "rs.sweep needs pyarrow, which is not installed: pip install 'roofslate[io]'"
        raise ModuleNotFoundError(message, name=error.name) from None
    wanted = list(dict.fromkeys(wanted_names(outputs)))
    converted = conversions(wanted, units)
    count = thread_count(threads)
    if not isinstance(ignore, Iterable):
        raise InputTypeError(f"ignore: expected names of columns, got {shown(ignore)}")
    source, target = _path("source", source), _path("target", target)
    open_writer = _by_suffix(target, {".csv": _CsvWriter, ".parquet": _ParquetWriter})
    with contextlib.ExitStack() as stack:
        reader = _by_suffix(source, {".csv": _CsvReader, ".parquet": _ParquetReader})(source, stack)
        names = _input_columns(reader, {ignore} if isinstance(ignore, str) else set(ignore), wanted, inputs)
        scenarios = Scenarios(names, wanted, inputs, "sweep")
        stream = stack.enter_context(whole_file(target, overwrite=overwrite))
        as_numbers = names if reader.is_text and open_writer is _ParquetWriter else []
        fields = _fields(
            reader, as_numbers, {name: converted.get(name, (1.0, lookup(name).unit))[1] for name in wanted}
        )
        writer = stack.enter_context(open_writer(stream, fields))
        tell = stack.enter_context(Progress(progress, "row")).callback or (lambda *_: None)
        rows = bad = 0
        tell(0, reader.rows)
        for batch in _filled(reader.batches()):
            columns = {name: _column(name, batch.column(name), reader, rows) for name in names}
            results, wrong = scenarios.compute(columns, len(batch), threads=count, progress=False)
            for name, values in zip(wanted, results, strict=True):
                if name in converted:
                    np.divide(values, converted[name][0], out=values)
            writer.write([*_carried(batch, columns, as_numbers), *map(_result, wanted, results)])
            rows, bad = rows + len(batch), bad + len(wrong)
            tell(rows, reader.rows)
    if bad:
        warnings.warn(
            f"{bad} of {rows} rows have no results: an input is missing or outside of its range",
            RoofslateWarning,
            stacklevel=2,
        )
    return rows


def _path(name: str, given: Any) -> Path:
    if isinstance(given, (str, os.PathLike)):
        return Path(os.fsdecode(given))
    raise InputTypeError(f"{name}: expected the name of a file, got {shown(given)}")


def _by_suffix(path: Path, known: Mapping[str, Any]) -> Any:
    found = known.get(path.suffix.lower())
    if found is None:
        raise InputTypeError(f"{path}: the name of a table ends in {' or '.join(known)}")
    return found


def _input_columns(reader: _Reader, ignored: set[str], wanted: Sequence[str], inputs: Mapping[str, Any]) -> list[str]:
    """The columns of a file that are inputs, checked by name."""
    for name in reader.names:
        if reader.names.count(name) > 1:
            raise AxisError(f"{reader.path}: two columns are called {name!r}")
        if name in wanted:
            raise InputTypeError(f"{reader.path}: {name!r} is a column already; ask for it without the column")
    names = [name for name in reader.names if name not in ignored | reader.index]
    try:
        for name in names:
            check_column(name, inputs)
    except UnknownName as error:
        raise UnknownName(f"{reader.path}: {error} (a column that is no input is named in ignore)") from None
    except RoofslateError as error:
        raise type(error)(f"{reader.path}: {error}") from None
    return names


# ----------------------------------------------------------------------------------------------------------- reading


class _Reader(abc.ABC):
    """A file of scenarios."""

    is_text = False  # whether its cells are texts, whatever they mean
    rows: int | None = None

    def __init__(self, path: Path) -> None:
        self.path = path
        self.schema: pa.Schema
        self.index: set[str] = set()

    @property
    def names(self) -> list[str]:
        return list(self.schema.names)

    @abc.abstractmethod
    def batches(self) -> Iterator[pa.RecordBatch]:
        """Its rows, some at a time."""

    def place(self, row: int) -> str:
        """Where a row stands, for messages."""
        return f"{self.path}, row {row + 1}"


class _ParquetReader(_Reader):
    def __init__(self, path: Path, stack: contextlib.ExitStack) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        super().__init__(path)
        stream = stack.enter_context(path.open("rb"))
        try:
            # read in pieces: a row group may be larger than memory
            self._file = pq.ParquetFile(stream, pre_buffer=False, buffer_size=1 << 20)
            self.schema = self._file.schema_arrow
        except pa.ArrowInvalid as error:
            raise InputTypeError(f"{path} cannot be read: {error}") from None
        self.rows = self._file.metadata.num_rows
        listed = _json(self.schema.metadata, b"pandas").get("index_columns")
        self.index = {name for name in listed if isinstance(name, str)} if isinstance(listed, list) else set()

    def batches(self) -> Iterator[pa.RecordBatch]:
        yield from self._file.iter_batches(_CHUNK)


def _json(metadata: Mapping[bytes, bytes] | None, key: bytes) -> dict[str, Any]:
    """What a file says of itself under a key; nothing where that is no object."""
    try:
        found = json.loads((metadata or {}).get(key, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


class _CsvReader(_Reader):
    is_text = True

    def __init__(self, path: Path, stack: contextlib.ExitStack) -> None:
        import pyarrow as pa

        super().__init__(path)
        self._stream = stack.enter_context(path.open("rb"))
        with path.open(newline="", encoding="utf-8-sig", errors="replace") as text:
            _, names = next(self._lines(text), (0, []))
        if not names:
            raise InputTypeError(f"{path} is empty: its first line names the columns")
        self.schema = pa.schema([(name, pa.string()) for name in names])

    def batches(self) -> Iterator[pa.RecordBatch]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        try:
            # texts stay as they are, to be written again; nothing is nothing
            yield from arrow_csv.open_csv(
                self._stream,
                read_options=arrow_csv.ReadOptions(block_size=_BLOCK),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=self.schema, strings_can_be_null=True, null_values=[""]
                ),
            )
        except pa.ArrowInvalid as error:
            if "Empty CSV" in str(error):  # names of columns, and not even the end of their line
                return
            told = f"a row has at most {_BLOCK:,} bytes" if "straddl" in str(error) else error
            raise InputTypeError(f"{self.path}{self._fault()}: {told}") from None

    def _lines(self, text: IO[str]) -> Iterator[tuple[int, list[str]]]:
        """Rows of the file, the first of them its header, and the line on which each begins."""
        reader = csv.reader(iter(lambda: text.readline(_BLOCK), ""))
        line = 1
        while True:
            try:
                cells = next(reader)
            except StopIteration:
                return
            except csv.Error as error:  # a cell longer than any table has
                raise InputTypeError(f"{self.path}, line {line}: {error}") from None
            if cells:
                yield line, cells
            line = reader.line_num + 1

    def place(self, row: int) -> str:
        with self.path.open(newline="", encoding="utf-8-sig", errors="replace") as text:
            line, _ = next(itertools.islice(self._lines(text), row + 1, None), (0, []))
        return f"{self.path}, line {line}"

    def _fault(self) -> str:
        """The first line that is no text or has too few or too many cells, otherwise the first that is too long."""
        with self.path.open("rb") as stream:
            for line, content in enumerate(stream, 1):
                if not _is_utf8(content):
                    return f", line {line}"
        too_long = ""
        with self.path.open(newline="", encoding="utf-8-sig") as text:
            for line, cells in self._lines(text):
                if len(cells) != len(self.names):
                    return f", line {line}"
                if not too_long and sum(map(len, cells)) > _BLOCK:
                    too_long = f", line {line}"
        return too_long


def _is_utf8(content: bytes) -> bool:
    try:
        content.decode()
    except UnicodeDecodeError:
        return False
    return True


def _filled(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """Batches of a good size, whatever the file is made of."""
    import pyarrow as pa

    waiting: list[pa.RecordBatch] = []
    for batch in batches:
        waiting.append(batch)
        if sum(map(len, waiting)) >= _CHUNK:
            yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()
            waiting = []
    if waiting:
        yield from pa.Table.from_batches(waiting).combine_chunks().to_batches()


def _column(name: str, array: pa.Array, reader: _Reader, start: int) -> Column | Names:
    """A column as the engine takes it; an error names the place of the first value that can't be read."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    is_word = name in PRESETS or bool(lookup(name).choices)
    if pa.types.is_null(kind):
        array = pc.cast(array, pa.string())
    elif pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind):
        if is_word:
            raise InputTypeError(f"{reader.path}: {name}: expected words, got a column of {kind}")
        return Column(_numbers(array))
    elif not pa.types.is_dictionary(kind):
        if not any(test(kind) for test in (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view)):
            raise InputTypeError(f"{reader.path}: {name}: expected numbers or texts, got a column of {kind}")
        if not is_word:
            with contextlib.suppress(pa.ArrowInvalid):
                numbers = _numbers(array)
                if not np.isinf(numbers).any():  # perhaps too large a number
                    return Column(numbers)
        array = (pc.cast(array, pa.string()) if pa.types.is_string_view(kind) else array).dictionary_encode()
    array = array if pa.types.is_dictionary(array.type) else array.dictionary_encode()
    codes = pc.fill_null(pc.cast(array.indices, pa.int32()), -1).to_numpy()
    words = array.dictionary.to_pylist()
    missing = [k for k, word in enumerate(words) if word is None or (reader.is_text and word.strip() in _MISSING)]
    if missing:
        codes = np.where(np.isin(codes, missing), -1, codes)
        for k in missing:
            words[k] = None
    return _column_of_words(name, codes, words, reader, start)


def _numbers(array: pa.Array) -> Any:
    import pyarrow as pa
    import pyarrow.compute as pc

    return pc.cast(array, pa.float64(), safe=False).to_numpy(zero_copy_only=False)


def _column_of_words(name: str, codes: Any, words: list[Any], reader: _Reader, start: int) -> Column | Names:
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


# ----------------------------------------------------------------------------------------------------------- writing


def _fields(reader: _Reader, as_numbers: Sequence[str], units: Mapping[str, str]) -> pa.Schema:
    """The columns of the target: those of the source, then the results, with their units."""
    import pyarrow as pa

    numeric = {name: lookup(name).unit for name in as_numbers if name not in PRESETS and not lookup(name).choices}
    measured = numeric | {name: unit for name, unit in units.items() if not lookup(name).choices}
    fields = [field.with_type(pa.float64()) if field.name in numeric else field for field in reader.schema]
    word = pa.dictionary(pa.int8(), pa.string())
    fields += [pa.field(name, pa.float64() if name in measured else word) for name in units]
    for k, field in enumerate(fields):
        if field.name in measured:
            fields[k] = field.with_metadata({**(field.metadata or {}), "units": measured[field.name]})
    metadata = dict(reader.schema.metadata or {})
    attrs = _json(metadata, b"PANDAS_ATTRS")
    known = attrs["units"] if isinstance(attrs.get("units"), dict) else {}
    attrs["units"] = known | measured
    return pa.schema(fields, metadata | {b"PANDAS_ATTRS": json.dumps(attrs).encode()})


def _carried(batch: pa.RecordBatch, columns: Columns, as_numbers: Sequence[str]) -> Iterator[pa.Array]:
    """The columns of the source as they are written."""
    import pyarrow as pa

    for name in batch.schema.names:
        column = columns[name] if name in as_numbers else None
        if isinstance(column, Column) and not lookup(name).choices:
            yield pa.array(column.part(slice(None), np.empty(len(batch))), from_pandas=True)
        else:
            yield batch.column(name)


def _result(name: str, values: Any) -> pa.Array:
    import pyarrow as pa

    choices = lookup(name).choices
    if not choices:
        return pa.array(values, from_pandas=True)  # NaN is null
    codes = choice_codes(values)
    return pa.DictionaryArray.from_arrays(pa.array(codes, mask=codes < 0), pa.array(choices))


class _ParquetWriter:
    def __init__(self, stream: IO[bytes], schema: pa.Schema) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._schema = schema
        words = [f.name for f in schema if not (pa.types.is_floating(f.type) or pa.types.is_nested(f.type))]
        self._writer = pq.ParquetWriter(stream, schema, use_dictionary=words)

    def write(self, arrays: Sequence[pa.Array]) -> None:
        import pyarrow as pa

        self._writer.write_batch(pa.RecordBatch.from_arrays(list(arrays), schema=self._schema))

    def __enter__(self) -> _ParquetWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._writer.close()
        except Exception:
            if kind is None:
                raise
        finally:
            self._writer.is_open = False  # or it would try again, and complain, when it is collected


class _CsvWriter:
    def __init__(self, stream: IO[bytes], schema: pa.Schema) -> None:
        import io

        self._stream = stream
        for field in schema:
            if _is_nested(field.type):
                raise InputTypeError(f"{field.name!r} holds {field.type}, which has no place in a CSV file")
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(schema.names)
        stream.write(header.getvalue().encode())

    def write(self, arrays: Sequence[pa.Array]) -> None:
        import pyarrow as pa
        import pyarrow.compute as pc

        cells = [_cells(array) for array in arrays]
        comma, end, nothing = (pa.scalar(text, pa.large_string()) for text in (",", "\n", ""))
        how = {"null_handling": "replace", "null_replacement": ""}
        cells[-1] = pc.binary_join_element_wise(cells[-1], nothing, end, **how)
        lines = pc.binary_join_element_wise(*cells, comma, **how)
        _, ends, text = lines.buffers()
        self._stream.write(memoryview(text)[: np.frombuffer(ends, np.int64)[len(lines)]])

    def __enter__(self) -> _CsvWriter:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _is_nested(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind.value_type if pa.types.is_dictionary(kind) else kind))


def _cells(array: pa.Array) -> pa.Array:
    """A column as it stands in a CSV file: the shortest text of each number, quotes only where they are needed."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_dictionary(array.type):
        array = pc.cast(array, array.type.value_type)
    if pa.types.is_floating(array.type):
        array = pc.if_else(pc.is_nan(array), None, array)
    is_text = not pa.types.is_primitive(array.type)
    array = pc.cast(array, pa.large_string())
    if is_text and (text := array.buffers()[2]) is not None:
        content = text.to_pybytes()
        if any(mark in content for mark in (b",", b'"', b"\n", b"\r")):
            quote, nothing = pa.scalar('"', pa.large_string()), pa.scalar("", pa.large_string())
            quoted = pc.binary_join_element_wise(quote, pc.replace_substring(array, '"', '""'), quote, nothing)
            array = pc.if_else(pc.match_substring_regex(array, '[,"\r\n]'), quoted, array)
    return array
