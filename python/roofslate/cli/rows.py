"""Results as rows: tables for reading, CSV, JSON and Parquet."""

from __future__ import annotations

import codecs
import contextlib
import json
import math
from typing import IO, TYPE_CHECKING, Any

import click
import numpy as np

from roofslate._base.files import whole_file
from roofslate.display.markdown import markdown_table
from roofslate.evaluation.table_files import ParquetWriter, with_units
from roofslate.grid.grid import spread
from roofslate.registry.registry import entries
from roofslate.units import Scale, scale

if TYPE_CHECKING:
    from collections.abc import Callable, Container, Iterator, Mapping, Sequence
    from pathlib import Path

    from roofslate.grid.grid import Grid
    from roofslate.registry.values import Values


_MOST_TABLE_ROWS = 100_000
_ROWS = 1 << 16  # of a block: a grid may have more points than Python objects have room


@contextlib.contextmanager
def text_stream(output: Path | None) -> Iterator[IO[str]]:
    """Target of a table: standard output, or a file that appears once it is complete."""
    if output is None or str(output) == "-":
        with click.open_file("-", "w") as stream:
            yield stream
        return

    with whole_file(output) as binary:
        text: Any = codecs.getwriter("utf-8")(binary)
        yield text


class Column:
    """A column of a result, axis or output, a row for each point of the grid."""

    def __init__(
        self,
        name: str,
        values: Any,
        dims: Sequence[str],
        sizes: Mapping[str, int],
        unit: str = "",
        *,
        undefined: str = "nan",
    ) -> None:
        self.name, self.unit = name, unit
        self.undefined = undefined  # in a table for reading
        self.is_axis = name in sizes
        self.is_number = values.dtype.kind == "f"
        self.points = np.broadcast_to(spread(values, dims, list(sizes)), tuple(sizes.values()))

    def cells(self, start: int, stop: int) -> list[Any]:
        cells: list[Any] = self.points.flat[start:stop].tolist()
        return cells


def long_form(
    grid: Grid, results: Mapping[str, tuple[Values, tuple[str, ...]]], units: Mapping[str, str]
) -> list[Column]:
    """A column for each axis that a result depends on, and for each result.

    Parameters
    ----------
    grid : Grid
    results : dict of tuple
        By output: its values and their axes.
    units : dict of str
        Units of outputs that are not in base units.
    """
    sizes = {dim: size for values, dims in results.values() for dim, size in zip(dims, values.shape, strict=True)}
    columns = []
    for name in dict.fromkeys((*sizes, *results)):
        q = entries().get(name)  # none of an axis of presets
        if name in results:
            values, dims = results[name]
            unit = units.get(name, q.unit) if q else ""
            values = np.array(q.choices)[values.astype(np.int8)] if q and q.choices else values
        else:
            values, dims = grid.coords[name][0], (name,)
            unit = q.unit if q and not q.choices else ""
        columns.append(Column(name, values, dims, sizes, unit))
    return columns


def _rows(columns: Sequence[Column], shown: Callable[[Any], Any]) -> Iterator[tuple[Any, ...]]:
    """Rows of a result, a block at a time."""
    for start in range(0, columns[0].points.size, _ROWS):
        blocks = [map(shown, column.cells(start, start + _ROWS)) for column in columns]
        yield from zip(*blocks, strict=True)


def write_table(columns: Sequence[Column], stream: IO[str], as_asked: Container[str]) -> None:
    """Write for reading: scaled numbers with the unit in the header, except units `as_asked`."""
    printed = []
    for column, header, cells in _readable(columns, as_asked):
        width = max(len(header), *map(len, cells)) if cells else len(header)
        align = str.rjust if column.is_number else str.ljust
        printed.append([align(text, width) for text in [header, *cells]])
    stream.writelines("  ".join(row).rstrip() + "\n" for row in zip(*printed, strict=True))


def write_markdown(columns: Sequence[Column], stream: IO[str], as_asked: Container[str]) -> None:
    """Write as a table of Markdown, with the numbers of `write_table`."""
    readable = list(_readable(columns, as_asked))
    heads = [header for _, header, _ in readable]
    rows = zip(*(cells for _, _, cells in readable), strict=True)
    stream.write(markdown_table(heads, rows, [column.is_number for column, _, _ in readable]))


def _readable(columns: Sequence[Column], as_asked: Container[str]) -> Iterator[tuple[Column, str, list[str]]]:
    """Give each column with its header and its texts, for reading."""
    points = columns[0].points.size
    if points > _MOST_TABLE_ROWS:
        raise click.UsageError(f"a table of {points:,} rows is not for reading; choose --format csv, json or parquet")
    for column in columns:
        label, cells = column.unit, column.cells(0, points)
        if column.is_number:
            factor = 1.0
            if column.name not in as_asked and column.unit:
                factor, label = scale(column.points, column.unit)
            cells = [_number(x / factor) if x == x else column.undefined for x in cells]
        header = f"{column.name} [{label}]" if label not in ("", "1") else column.name
        yield column, header, [str(cell) for cell in cells]


def _number(x: float) -> str:

    return f"{x:,.0f}" if x.is_integer() and 1e4 <= abs(x) < 1e9 else Scale(1.0, "").text(x)


def write_csv(columns: Sequence[Column], stream: IO[str]) -> None:
    """Write full precision, and nothing for "undefined"."""
    import csv

    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(column.name for column in columns)
    writer.writerows(_rows(columns, lambda x: "" if x != x else x))


def write_json(columns: Sequence[Column], stream: IO[str], head: Mapping[str, Any]) -> None:
    """Write full precision below a `head`, null for "undefined"."""
    stream.write(json.dumps(head, indent=2, ensure_ascii=False).removesuffix("\n}") + ',\n  "rows": [')
    before = "\n    "
    for row in json_rows(columns):
        stream.write(before + json.dumps(row, allow_nan=False, ensure_ascii=False))
        before = ",\n    "
    stream.write("\n  ]\n}\n")


def json_head(
    columns: Sequence[Column], attrs: Mapping[str, str], said: Mapping[str, Mapping[str, str]], notes: Sequence[str]
) -> dict[str, Any]:
    """Describe the rows of a result in JSON.

    Parameters
    ----------
    columns : sequence of Column
    attrs : dict of str
        The version, and the inputs.
    said : dict of dict
        By column: basis, calibration, support.
    notes : sequence of str
        Assumptions and warnings.

    Returns
    -------
    dict
    """
    described = {c.name: {**({"unit": c.unit} if c.unit else {}), **said.get(c.name, {})} for c in columns}
    return {
        "roofslate_version": attrs["roofslate_version"],
        "inputs": {name: text for name, text in attrs.items() if name != "roofslate_version"},
        "axes": [column.name for column in columns if column.is_axis],
        "units": {column.name: column.unit for column in columns if column.unit},
        "columns": described,
        "notes": list(notes),
    }


def json_rows(columns: Sequence[Column]) -> Iterator[dict[str, Any]]:
    """Rows as JSON has them: null for "undefined", "inf" for "never"."""

    def plain(x: Any) -> Any:
        if not isinstance(x, float) or math.isfinite(x):
            return x
        return None if math.isnan(x) else str(x)

    names = [column.name for column in columns]
    return (dict(zip(names, row, strict=True)) for row in _rows(columns, plain))


def write_parquet(columns: Sequence[Column], path: Path) -> None:
    """Write full precision and units by blocks of rows, null for "undefined"."""
    import pyarrow as pa

    kinds = [column.points.dtype for column in columns]
    types = [pa.string() if kind.kind in "OU" else pa.from_numpy_dtype(kind) for kind in kinds]
    names = [column.name for column in columns]
    schema = with_units(
        pa.schema(list(zip(names, types, strict=True))), {column.name: column.unit for column in columns if column.unit}
    )
    axes = [column.name for column in columns if column.is_axis]
    with whole_file(path) as stream, ParquetWriter(stream, schema, axes) as writer:
        for start in range(0, columns[0].points.size, _ROWS):
            blocks = [column.points.flat[start : start + _ROWS] for column in columns]
            writer.write([pa.array(x, kind, from_pandas=True) for x, kind in zip(blocks, types, strict=True)])
