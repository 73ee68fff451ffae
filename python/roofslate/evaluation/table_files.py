"""Reads and writes Parquet and CSV tables in blocks."""

from __future__ import annotations

import abc
import csv
import itertools
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import IO, TYPE_CHECKING, Any

import numpy as np

from roofslate.errors import InputTypeError

if TYPE_CHECKING:
    import contextlib
    from pathlib import Path

    import pyarrow as pa


_CHUNK = 1 << 18  # rows that are computed and written at a time


_BLOCK = 1 << 20  # bytes of a CSV file that are read at a time, some thirty times ahead; a line must fit


_MISSING = {"", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "-nan", "-NaN", "NULL", "null", "None"}  # in a CSV file


Tell = Callable[[int, "int | None"], object]


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
