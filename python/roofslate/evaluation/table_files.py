"""Reads and writes Parquet and CSV tables in blocks."""

from __future__ import annotations

import abc
import contextlib
import csv
import io
import itertools
import json
import os
from collections.abc import Generator, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from roofslate.errors import InputTypeError

if TYPE_CHECKING:
    import pyarrow as pa

__all__ = ["MISSING", "CsvReader", "CsvWriter", "ParquetReader", "ParquetWriter", "Reader", "TableReader", "with_units"]

MISSING = {"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None"}  # in a CSV file
_ROWS = 1 << 18  # rows of a block
_MOST_COLUMNS = 10_000  # each is read and written by itself
_BYTES = 1 << 20  # bytes of a CSV file that are read at a time, some thirty times ahead; a line must fit


class Reader(abc.ABC):
    """Table file, open only while its blocks are read.

    Attributes
    ----------
    path : Path
    schema : pyarrow.Schema
    names : list of str
        Columns in the order of the file.
    index : set of str
        Columns that are the index of a DataFrame.
    rows : int or None
        None if only the end of the file gives it.
    """

    is_text = False  # fields are texts
    rows: int | None = None

    def __init__(self, path: Path, schema: pa.Schema, index: set[str]) -> None:
        self.path, self.schema, self.index = path, schema, index
        self.names: list[str] = list(schema.names)
        _check_columns(path, len(self.names))

    def blocks(self) -> Generator[pa.RecordBatch, None, None]:
        """Yield rows in blocks of one size. Closing the iterator closes the file."""
        import pyarrow as pa

        pending: list[pa.RecordBatch] = []
        with contextlib.closing(self._batches()) as batches:
            for batch in batches:
                pending.append(batch)
                if sum(map(len, pending)) >= _ROWS:
                    yield from pa.Table.from_batches(pending).combine_chunks().to_batches()
                    pending = []
        if pending:
            yield from pa.Table.from_batches(pending).combine_chunks().to_batches()

    @abc.abstractmethod
    def _batches(self) -> Generator[pa.RecordBatch, None, None]:
        """Open the file and yield its rows as it has them."""

    def place(self, row: int) -> str:
        """Name a row, counted from 0, for messages."""
        return f"{self.path}, row {row + 1}"


class TableReader(Reader):
    """Table in memory, read as a file is."""

    def __init__(self, table: pa.Table) -> None:
        super().__init__(Path("the table"), table.schema, set())
        self._table, self.rows = table, len(table)

    def _batches(self) -> Generator[pa.RecordBatch, None, None]:
        yield from self._table.to_batches(max_chunksize=_ROWS)


def _check_columns(path: Path, columns: int) -> None:
    if columns > _MOST_COLUMNS:
        raise InputTypeError(f"{path} has {columns:,} columns; a table has at most {_MOST_COLUMNS:,}")


def _native(path: Path) -> pa.NativeFile:
    """Open a file for Arrow's threads, which may outlive the interpreter."""
    import pyarrow as pa

    with path.open("rb"):  # Python's errors name the file
        return pa.OSFile(os.fsencode(path), "rb")


@contextlib.contextmanager
def _readable(path: Path) -> Iterator[None]:
    """Name the file where Arrow finds it broken."""
    import pyarrow as pa

    try:
        yield
    except (pa.ArrowException, OSError, UnicodeDecodeError) as error:
        if isinstance(error, OSError) and error.errno is not None:  # of the disk
            raise
        raise InputTypeError(f"{path} cannot be read: {_sentence(error)}") from None


def _sentence(error: Exception) -> str:
    """Put a message into one line without control characters, as it may quote the file."""
    words = " ".join(str(error).split())
    return "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in words)


class ParquetReader(Reader):
    """Parquet file, read in pieces: a row group may be larger than memory."""

    def __init__(self, path: Path) -> None:
        import pyarrow.parquet as pq

        with _native(path) as stream, _readable(path):
            self._metadata = pq.read_metadata(stream)
            _check_columns(path, self._metadata.num_columns)  # which takes longer to turn into a schema
            schema = pq.ParquetFile(stream, metadata=self._metadata).schema_arrow
            listed = _json(schema.metadata, b"pandas").get("index_columns")
            index = [name for name in listed if isinstance(name, str)] if isinstance(listed, list) else []
            super().__init__(path, schema, set(index))
        self.rows = self._metadata.num_rows

    def _batches(self) -> Generator[pa.RecordBatch, None, None]:
        import pyarrow.parquet as pq

        options = {"pre_buffer": False, "buffer_size": 1 << 20, "page_checksum_verification": True}
        with _native(self.path) as stream, _readable(self.path):
            file = pq.ParquetFile(stream, metadata=self._metadata, **options)
            yield from file.iter_batches(_ROWS)


def _json(metadata: Mapping[bytes, bytes] | None, key: bytes) -> dict[str, Any]:
    """Read an object in the metadata of a file, empty if there is none."""
    try:
        content = json.loads((metadata or {}).get(key, b"{}"))
    except (ValueError, RecursionError):
        return {}
    return content if isinstance(content, dict) else {}


def with_units(schema: pa.Schema, units: Mapping[str, str]) -> pa.Schema:
    """Add units to a schema: of each field, and as ``attrs["units"]`` of a DataFrame."""
    import pyarrow as pa

    fields = [
        field.with_metadata({**(field.metadata or {}), "units": units[field.name]}) if field.name in units else field
        for field in schema
    ]
    metadata = dict(schema.metadata or {})
    attrs = _json(metadata, b"PANDAS_ATTRS")
    known = attrs["units"] if isinstance(attrs.get("units"), dict) else {}
    attrs["units"] = known | dict(units)
    return pa.schema(fields, metadata | {b"PANDAS_ATTRS": json.dumps(attrs).encode()})


class CsvReader(Reader):
    """CSV file in UTF-8 with a header. Fields may span lines. Errors name the line."""

    is_text = True

    def __init__(self, path: Path) -> None:
        import pyarrow as pa

        with path.open(newline="", encoding="utf-8-sig", errors="surrogateescape") as text:
            line, names = next(_csv_rows(path, text), (0, []))
        if not names:
            raise InputTypeError(f"{path} is empty: its first line names the columns")
        if not all(map(_is_utf8, names)):
            raise InputTypeError(f"{path}, line {line}: the names of columns are not UTF-8")
        super().__init__(path, pa.schema([(name, pa.string()) for name in names]), set())

    def _batches(self) -> Generator[pa.RecordBatch, None, None]:
        import pyarrow as pa
        from pyarrow import csv as arrow_csv

        reader = None
        try:
            # texts stay unchanged for the output, and an empty field is null
            reader = arrow_csv.open_csv(
                _native(self.path),
                read_options=arrow_csv.ReadOptions(block_size=_BYTES),
                parse_options=arrow_csv.ParseOptions(newlines_in_values=True),
                convert_options=arrow_csv.ConvertOptions(
                    column_types=self.schema, strings_can_be_null=True, null_values=[""]
                ),
            )
            last = None
            for batch in reader:
                last = batch[-1][-1].as_py() if len(batch) else last
                yield batch
            self._check_end(last or "")
        except pa.ArrowInvalid as error:
            message = _sentence(error)
            if "Empty CSV" in message:  # names of columns, and not even the end of their line
                return
            if "straddl" in message:
                message = f"a row has at most {_BYTES:,} bytes"
            elif "UTF8" in message:
                message = "a field is not UTF-8"
            raise InputTypeError(f"{self.path}{self._fault()}: {message}") from None
        finally:
            del reader  # the last reference, or a traceback keeps the file open; waits until no thread reads

    def _check_end(self, last: str) -> None:
        """Refuse an unclosed quote, after which Arrow reads the file's rest as one field.

        A closed field has its quote at its end, followed only by ends of lines up to the end of the file.
        """
        cell = last.replace('"', '""').encode()
        with self.path.open("rb") as stream:
            size = stream.seek(0, os.SEEK_END)
            stream.seek(max(0, size - len(cell) - 4))
            tail = stream.read()
        opened, before = tail.endswith(b'"' + cell), tail[: len(tail) - len(cell) - 1]
        if cell.strip(b"\r\n"):
            closed = False
        elif cell:  # an end of a line, within quotes or behind them
            closed = before.endswith((b'"\n', b'"\r\n'))
        else:
            closed = before.endswith(b'"')
        if opened and not closed:
            raise InputTypeError(f"{self.path}{self._last_row()}: a quote is not closed")

    def _last_row(self) -> str:
        line = 0
        with self.path.open(newline="", encoding="utf-8-sig", errors="replace") as text:
            for line, _ in _csv_rows(self.path, text):  # noqa: B007
                pass
        return f", line {line}"

    def place(self, row: int) -> str:
        with self.path.open(newline="", encoding="utf-8-sig", errors="replace") as text:
            line, _ = next(itertools.islice(_csv_rows(self.path, text), row + 1, None), (0, []))
        return f"{self.path}, line {line}"

    def _fault(self) -> str:
        """Name the first line that is not UTF-8, is too long, or has a wrong number of fields."""
        with self.path.open("rb") as stream:
            for line, content in enumerate(stream, 1):
                if not _is_utf8(content):
                    return f", line {line}"
        too_long = ""
        with self.path.open(newline="", encoding="utf-8-sig") as text:
            for line, cells in _csv_rows(self.path, text):
                if len(cells) != len(self.names):
                    return f", line {line}"
                if not too_long and sum(map(len, cells)) > _BYTES:
                    too_long = f", line {line}"
        return too_long


def _csv_rows(path: Path, text: IO[str]) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row that is not blank, header included, and its first line."""
    reader = csv.reader(iter(lambda: text.readline(_BYTES), ""))
    line = 1
    while True:
        try:
            cells = next(reader)
        except StopIteration:
            return
        except csv.Error as error:  # a field longer than any in a table
            raise InputTypeError(f"{path}, line {line}: {error}") from None
        if cells:
            yield line, cells
        line = reader.line_num + 1


def _is_utf8(content: bytes | str) -> bool:
    try:
        content.decode() if isinstance(content, bytes) else content.encode()
    except UnicodeError:
        return False
    return True


class ParquetWriter:
    """Parquet file written block by block.

    `repeated` names the number columns with few distinct values. They get a dictionary.
    """

    def __init__(self, stream: IO[bytes], schema: pa.Schema, repeated: Sequence[str] = ()) -> None:
        import pyarrow as pa
        import pyarrow.parquet as pq

        self._schema = schema
        words = [f.name for f in schema if not (pa.types.is_floating(f.type) or pa.types.is_nested(f.type))]
        self._writer = pq.ParquetWriter(stream, schema, use_dictionary=[*words, *repeated])

    def write(self, arrays: Sequence[pa.Array]) -> None:
        import pyarrow as pa

        self._writer.write_batch(pa.RecordBatch.from_arrays(list(arrays), schema=self._schema))

    def __enter__(self) -> ParquetWriter:
        return self

    def __exit__(self, kind: type[BaseException] | None, *_: object) -> None:
        try:
            self._writer.close()
        except Exception:
            if kind is None:
                raise
        finally:
            self._writer.is_open = False  # or it would try again, and complain, when it is collected


class CsvWriter:
    """CSV file written by blocks: UTF-8, shortest texts of numbers, quotes only if needed.

    Not `pyarrow.csv.CSVWriter`, which quotes every text or none.
    """

    def __init__(self, stream: IO[bytes], schema: pa.Schema) -> None:
        self._stream, self._names = stream, schema.names
        for field in schema:
            if _is_nested(field.type):
                raise InputTypeError(f"{field.name!r} holds {field.type}, which has no place in a CSV file")
        header = io.StringIO()
        csv.writer(header, lineterminator="\n").writerow(schema.names)
        stream.write(header.getvalue().encode())

    def write(self, arrays: Sequence[pa.Array]) -> None:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        cells = [_text_cells(name, array) for name, array in zip(self._names, arrays, strict=True)]
        comma, end, nothing = (pa.scalar(text, pa.large_string()) for text in (",", "\n", ""))
        how = {"null_handling": "replace", "null_replacement": ""}
        cells[-1] = pc.binary_join_element_wise(cells[-1], nothing, end, **how)
        lines = pc.binary_join_element_wise(*cells, comma, **how)
        _, ends, text = lines.buffers()
        self._stream.write(memoryview(text)[: np.frombuffer(ends, np.int64)[len(lines)]])

    def __enter__(self) -> CsvWriter:
        return self

    def __exit__(self, *_: object) -> None:
        pass


def _text_cells(name: str, array: pa.Array) -> pa.Array:
    import pyarrow as pa

    try:
        return _cells(array)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):  # bytes that are no text, kinds without one
        raise InputTypeError(f"{name!r} holds {array.type} without a text, which has no place in a CSV file") from None


def _is_nested(kind: pa.DataType) -> bool:
    import pyarrow as pa

    return bool(pa.types.is_nested(kind.value_type if pa.types.is_dictionary(kind) else kind))


def _cells(array: pa.Array) -> pa.Array:
    """Format a column for CSV: the shortest text of each number, quotes only if needed."""
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
