"""Broken or hostile tables in `roofslate sweep`, `sweep` and `frame`: one-line errors."""

from __future__ import annotations

import csv
import decimal
import gzip
import io
import random
import time
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from click.testing import CliRunner
from roofslate.cli import main
from support.lazy import Later, made
from support.sweeps import doubles, files_of, read

pa = pytest.importorskip("pyarrow", reason="rs.sweep needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="rs.sweep needs pyarrow")

pytestmark = pytest.mark.filterwarnings("ignore::roofslate.errors.RoofslateWarning")

# A table, and its results: a list of numbers, None for an empty one; or part of the error.
CSV: dict[str, tuple[Any, list[float | None] | str]] = {
    "empty": (b"", "is empty"),
    "only a mark of byte order": (b"\xef\xbb\xbf", "is empty"),
    "only ends of lines": (b"\n\n\n", "is empty"),
    "a blank": (b"   \n", "unknown input"),
    "header alone": (b"batch_size\n", []),
    "header without an end": (b"batch_size", []),
    "a mark of byte order": (b"\xef\xbb\xbfbatch_size\n1\n", [1]),
    "UTF-16": ("batch_size\n1\n".encode("utf-16"), "line 1: the names of columns are not UTF-8"),
    "UTF-16 without a mark": ("batch_size\n1\n".encode("utf-16-le"), "unknown input 'b\\x00a"),
    "UTF-32": ("batch_size\n1\n".encode("utf-32"), "line 1: the names of columns are not UTF-8"),
    "Latin-1 in the header": ("größe,batch_size\n1,1\n".encode("latin-1"), "line 1: the names of columns are not"),
    "Latin-1 in a field": ("batch_size,note\n1,a\n2,é\n".encode("latin-1"), "line 3: a field is not UTF-8"),
    "half a character": (b"batch_size\n\xed\xa0\x80\n", "line 2: a field is not UTF-8"),
    "NUL in a field": (b"batch_size\n1\x002\n", "line 2: batch_size: cannot read '1\\x002'"),
    "NUL in a name": (b"batch\x00_size\n1\n", "unknown input 'batch\\x00_size'"),
    "NUL alone": (bytes(100), "unknown input"),
    "a line of NUL": (b"batch_size\n1\n\0\n", "line 3: batch_size: cannot read '\\x00'"),
    "returns": (b"batch_size\r1\r2\r", [1, 2]),
    "returns and newlines": (b"batch_size\r\n1\r\n2\r\n", [1, 2]),
    "all ends of lines": (b"batch_size\n1\r\n2\r3\n", [1, 2, 3]),
    "blank lines between": (b"batch_size\n\n1\n\n\n2\n\n", [1, 2]),
    "a lone quote": (b'batch_size\n1\n"\n', "line 3: a quote is not closed"),
    "a lone quote and returns": (b'batch_size\r\n1\r\n"\r\n', "line 3: a quote is not closed"),
    "a lone quote without an end": (b'batch_size\n1\n"', "line 3: a quote is not closed"),
    "a quote that swallows rows": (b'batch_size,note\n1,"a\n2,b\n3,c\n', "line 2: a quote is not closed"),
    "the same without an end": (b'batch_size,note\n1,"a\n2,b\n3,c', "line 2: a quote is not closed"),
    "a swallowed quoted row": (b'batch_size,note\n1,"a\n2,""b""\n', "line 2: a quote is not closed"),
    "a quote in the header": (b'"batch_size\n1\n', "unknown input 'batch_size\\n1\\n'"),
    "a quote in the middle": (b'batch_size\n1"2\n', "line 2: batch_size: cannot read"),
    "quotes around a number": (b'batch_size\n"1"\n"2"', [1, 2]),
    "quotes around nothing": (b'batch_size,note\n1,""\n2,"a"\n', [1, 2]),
    "nothing in quotes at the end": (b'batch_size,note\n1,""', [1]),
    "doubled quotes": (b'batch_size,note\n1,"a ""b"""\n2,""""\n', [1, 2]),
    "a line in quotes": (b'batch_size,note\n1,"a\nb"\n2,"\n"\n', [1, 2]),
    "a number and a newline": (b'batch_size\n"1\n"\n', [1]),
    "a short row": (b"batch_size,note\n1\n", "line 2: "),
    "a long row": (b"batch_size\n1,2\n", "line 2: "),
    "a long row with an escape": (b"batch_size\n1,\x1b[31m\n", "got 2: 1,\\x1b[31m"),
    "a long row of two lines": (b'batch_size\n"1\n2",3\n', 'got 2: "1 2",3'),
    "a comma at the end": (b"batch_size,\n1,\n", "unknown input ''"),
    "commas": (b",,,\n,,,\n", "two columns are called ''"),
    "a nameless column": (b",batch_size\n1,1\n", "unknown input ''"),
    "blanks around a name": (b" batch_size \n1\n", "did you mean 'batch_size'"),
    "a name twice": (b"batch_size,batch_size\n1,1\n", "two columns are called 'batch_size'"),
    "a name in two cases": (b"batch_size,Batch_size\n1,1\n", "unknown input 'Batch_size'"),
    "semicolons": (b"batch_size;note\n1;2\n", "unknown input 'batch_size;note'"),
    "tabs": (b"batch_size\tnote\n1\t2\n", "unknown input 'batch_size\\tnote'"),
    "a decimal comma": (b'batch_size\n"1,5"\n', "the number is not clear"),
    "no such input": (b"batch_sise\n1\n", "did you mean 'batch_size'"),
    "numbers for names": (b"1,2,3\n4,5,6\n", "unknown input '1'"),
    "an output as a column": (b"batch_size,pass_tokens\n1,1\n", "'pass_tokens' is a column already"),
    "a formula": (b"batch_size\n=1+1\n", "cannot read '=1+1'"),
    "no finite numbers": (b"batch_size\ninf\n-inf\nnan\n", [None, None, None]),
    "a number beyond doubles": (b"batch_size\n1e400\n", "the number is too large"),
    "thousands of digits": (b"batch_size\n" + b"9" * 100_000 + b"\n", "(100002 characters)"),
    "hexadecimal": (b"batch_size\n0x10\n", "cannot read '0x10'"),
    "minus zero": (b"batch_size\n-0\n5\n", [None, 5]),
    "empty rows": (b"batch_size,note\n,\n1,1\n,\n", [None, 1, None]),
    "words for nothing": (b"batch_size\nNA\nnull\nNone\n2\n", [None, None, None, 2]),
    "truth": (b"batch_size\ntrue\n", "cannot read 'true'"),
    "a date": (b"batch_size\n2026-01-01\n", "cannot read '2026-01-01'"),
    "a field of megabytes": (b"batch_size,note\n1," + b"x" * 3_000_000 + b"\n", "line 2: "),
    "a name of megabytes": (b"x" * 3_000_000 + b",batch_size\n1,1\n", "line 1: field larger than"),
    "an escape": (b"batch_size\n\x1b[31m\n", "cannot read '\\x1b[31m'"),
    "an escape for a name": (b"\x1b]0;title\x07,batch_size\n1,1\n", "unknown input '\\x1b]0;title\\x07'"),
    "a Parquet file": (b"PAR1\x15\x04\x15\x00\x00PAR1", "unknown input 'PAR1"),
    "a compressed file": (gzip.compress(b"batch_size\n1\n", mtime=0), "the names of columns are not UTF-8"),
    "noise": (random.Random(1).randbytes(5000), "the names of columns are not UTF-8"),
    "a comment": (b"# note\nbatch_size\n1\n", "unknown input '# note'"),
    "a wrong word far below": (b"batch_size\n" + b"1\n" * 300_000 + b"x\n", "line 300002: batch_size: cannot read 'x'"),
    "a hundred thousand columns": (
        Later(lambda: b",".join(b"c%d" % k for k in range(100_000)) + b"\n"),
        "a table has at most 10,000",
    ),
}


def swept(folder: Any, source: str, target: str, *words: str) -> tuple[str, list[float | None] | None]:
    """Return the command's error or results, and check for one line and no leftovers."""
    command = ["sweep", str(folder / source), "--outputs", "pass_tokens", "-o", str(folder / target), *words]
    done = CliRunner().invoke(main, command, color=True)  # or escapes would be taken out
    assert done.stdout == ""
    assert len(done.stderr.splitlines()) <= 1
    assert done.stderr.rstrip("\n").isprintable()
    assert len(done.stderr) < 1000
    if done.exit_code == 0:
        assert files_of(folder) == sorted([source, target])
        results = [None if np.isnan(x) else x for x in doubles(read(folder / target)["pass_tokens"])]
        (folder / target).unlink()
        return done.stderr, results
    assert done.exit_code == 2, done.exception
    assert files_of(folder) == [source]
    return done.stderr, None


@pytest.mark.parametrize("kind", CSV)
def test_tables_of_text(kind: str, tmp_path: Any) -> None:
    content, expected = CSV[kind]
    content = made(content)
    (tmp_path / "in.csv").write_bytes(content)
    words = ["--ignore", "note"] if b"note" in content.partition(b"\n")[0].split(b",") else []
    for target in ("out.csv", "out.parquet"):
        begin = time.perf_counter()
        said, results = swept(tmp_path, "in.csv", target, *words)
        assert time.perf_counter() - begin < 5
        if isinstance(expected, str):
            assert expected in said
        else:
            assert results == expected


def rows_of(text: str) -> list[list[str]]:
    """Rows below the header as Python reads them."""
    return [row for row in csv.reader(io.StringIO(text, newline="")) if row][1:]


@pytest.mark.parametrize("seed", range(3))
def test_quotes_and_ends_of_lines_anywhere(seed: int, tmp_path: Any) -> None:
    """No row is lost, joined or invented: fields equal Python's reading, or there is an error."""
    chance = random.Random(seed)
    alphabet = ['"', ",", "\n", "1", "a", '""', "\r\n"][: 5 + seed]
    answered = 0
    for _ in range(100):
        text = "batch_size,note\n1,x\n" + "".join(chance.choices(alphabet, k=chance.randint(0, 12)))
        (tmp_path / "in.csv").write_bytes(text.encode())
        try:
            rs.sweep(tmp_path / "in.csv", "pass_tokens", tmp_path / "out.csv", ignore="note", overwrite=True)
        except rs.RoofslateError:
            continue
        expected = rows_of(text)
        assert rows_of(f"{text}\n7,7\n") == [*expected, ["7", "7"]], f"a quote of {text!r} is not closed"
        result = rows_of((tmp_path / "out.csv").read_bytes().decode())
        assert [row[:2] for row in result] == expected, text
        answered += 1
    assert answered > 5


# ------------------------------------------------------------------------------------------------------------- Parquet

DATES = pa.array([1, 2, 3], pa.date32())
# A column of three values: the results where it is `batch_size`, or None where that is an error
COLUMNS: dict[str, tuple[Any, list[float | None] | None]] = {
    "truth": (pa.array([True, False, None]), None),
    "dates": (DATES, None),
    "moments": (pa.array([1, 2, 3], pa.timestamp("us", "Europe/Berlin")), None),
    "durations": (pa.array([1, 2, 3], pa.duration("s")), None),
    "times": (pa.array([1, 2, 3], pa.time32("s")), None),
    "lists": (pa.array([[1], [2], None]), None),
    "large lists": (pa.array([[1], [2], None], pa.large_list(pa.int8())), None),
    "lists of lists": (pa.array([[[[[1]]]], [], None]), None),
    "records": (pa.array([{"a": 1}, {"a": 2}, None]), None),
    "maps": (pa.array([[("a", 1)], [], None], pa.map_(pa.string(), pa.int64())), None),
    "bytes": (pa.array([b"1", b"\xff", None]), None),
    "pairs of bytes": (pa.array([b"ab", b"\xff\xff", None], pa.binary(2)), None),
    "nothing": (pa.nulls(3), [None, None, None]),
    "decimals": (pa.array([decimal.Decimal(1), None, decimal.Decimal("1e30")], pa.decimal256(60, 2)), [1, None, 1e30]),
    "half precision": (pa.array(np.array([1, 2, np.nan], np.float16)), [1, 2, None]),
    "large integers": (pa.array([2**64 - 1, 1, None], pa.uint64()), [2.0**64, 1, None]),
    "no finite numbers": (pa.array([np.nan, np.inf, -np.inf]), [None, None, None]),
    "texts": (pa.array(["1", "2 seq", None]), [1, 2, None]),
    "a wrong text": (pa.array(["1", "x", None]), None),
    "empty texts": (pa.array(["", "", ""]), None),
    "NUL in a text": (pa.array(["1\0", "2", "3"]), None),
    "an escape": (pa.array(["\x1b[31m", "2", "3"]), None),
    "views of texts": (pa.array(["1", "2", None], pa.string_view()), [1, 2, None]),
    "a dictionary of texts": (pa.array(["1", "2", None]).dictionary_encode(), [1, 2, None]),
    "a dictionary with a wrong text": (pa.array(["1", "x", None]).dictionary_encode(), None),
    "a dictionary of numbers": (pa.array([1, 2, None]).dictionary_encode(), [1, 2, None]),
    "a dictionary of dates": (DATES.dictionary_encode(), None),
    "a dictionary of truth": (pa.array([True, False, True]).dictionary_encode(), None),
    "a dictionary of bytes": (pa.array([b"1", b"\xff", b"3"]).dictionary_encode(), None),
}


UNKNOWN_TO_PANDAS = [("decimals", None), ("views of texts", pd.ArrowDtype)]


@pytest.mark.parametrize("kind", COLUMNS)
def test_columns_of_any_kind(kind: str, tmp_path: Any) -> None:
    """As an input, a preset or a carried column, in a file and in both kinds of DataFrames."""
    column, expected = COLUMNS[kind]
    table = pa.table({"batch_size": column})
    pq.write_table(table, tmp_path / "in.parquet")
    for target in ("out.csv", "out.parquet"):
        assert swept(tmp_path, "in.parquet", target)[1] == expected
    for types in (None, pd.ArrowDtype):
        frame = table.to_pandas(types_mapper=types)
        try:
            results = rs.frame(frame, "pass_tokens")["pass_tokens"].tolist()
        except rs.RoofslateError:
            assert expected is None or (kind, types) in UNKNOWN_TO_PANDAS
        else:
            assert [None if np.isnan(x) else x for x in results] == expected
    pq.write_table(pa.table({"model": column, "batch_size": [1.0, 2, 3]}), tmp_path / "in.parquet")
    swept(tmp_path, "in.parquet", "out.parquet")
    pq.write_table(pa.table({"note": column, "batch_size": [1.0, 2, 3]}), tmp_path / "in.parquet")
    assert swept(tmp_path, "in.parquet", "out.parquet", "--ignore", "note")[1] == [1, 2, 3]
    said, results = swept(tmp_path, "in.parquet", "out.csv", "--ignore", "note")
    assert results == [1, 2, 3] or "'note' holds" in said


GOOD = pa.table({"batch_size": [1.0, 2.0]})
# A table and the start of the error, or its number of rows
PARQUET: dict[str, tuple[Any, str | int]] = {
    "no rows": (GOOD.slice(0, 0), 0),
    "no columns": (pa.table({}), "missing input 'batch_size'"),
    "a name twice": (pa.Table.from_arrays([pa.array([1.0])] * 2, names=["batch_size"] * 2), "two columns are called"),
    "a name of nothing": (pa.Table.from_arrays([pa.array([1.0])], names=[""]), "unknown input ''"),
    "NUL in a name": (pa.Table.from_arrays([pa.array([1.0])], names=["\0batch"]), "unknown input '\\x00batch'"),
    "an escape in a name": (pa.Table.from_arrays([pa.array([1.0])], names=["\x1b[3m"]), "unknown input '\\x1b[3m'"),
    "many columns": (pa.table({f"c{k}": [1] for k in range(5000)}), "unknown input 'c0'"),
    "much metadata": (GOOD.replace_schema_metadata({b"x": b"y" * 5_000_000}), 2),
    "brackets": (GOOD.replace_schema_metadata({b"pandas": b"[" * 10**5, b"PANDAS_ATTRS": b"{" * 10**5}), 2),
    "metadata of a wrong kind": (
        GOOD.replace_schema_metadata({b"pandas": b'{"index_columns": 3}', b"PANDAS_ATTRS": b'{"units": 4}'}),
        2,
    ),
    "metadata that is no text": (GOOD.replace_schema_metadata({b"\xff": b"\xff", b"pandas": b"\xff\xfe"}), 2),
    "all columns an index": (
        GOOD.replace_schema_metadata({b"pandas": b'{"index_columns": ["batch_size"]}'}),
        "missing input 'batch_size'",
    ),
}


@pytest.mark.parametrize("kind", PARQUET)
def test_tables_of_parquet(kind: str, tmp_path: Any) -> None:
    table, expected = PARQUET[kind]
    pq.write_table(table, tmp_path / "in.parquet")
    said, results = swept(tmp_path, "in.parquet", "out.csv")
    if isinstance(expected, str):
        assert expected in said
    else:
        assert results is not None
        assert len(results) == expected
    if results is not None:  # pandas does not read all that is written here
        assert rs.sweep(tmp_path / "in.parquet", "pass_tokens", tmp_path / "out.parquet") == expected
        assert pq.read_table(tmp_path / "out.parquet")["pass_tokens"].to_pylist() == results


def broken(chance: random.Random, content: bytes) -> bytes:
    """A file cut short, or with some of its bytes changed."""
    if chance.random() < 0.2:
        return content[: chance.randrange(len(content))]
    changed = bytearray(content)
    for _ in range(chance.randint(1, 8)):
        changed[chance.randrange(len(changed))] = chance.randrange(256)
    return bytes(changed)


@pytest.mark.parametrize("compression", ["none", "snappy", "zstd"])
def test_broken_files(compression: str, tmp_path: Any) -> None:
    """With checksums no changed number passes for one that was written."""
    values = np.arange(1.0, 200.0)
    pq.write_table(
        pa.table({"batch_size": values, "note": values.astype(str)}),
        tmp_path / "good.parquet",
        compression=compression,
        write_page_checksum=True,
        write_statistics=False,
    )
    content = (tmp_path / "good.parquet").read_bytes()
    (tmp_path / "good.parquet").unlink()
    chance = random.Random(compression)
    refused = 0
    for _ in range(150):
        changed = broken(chance, content)
        (tmp_path / "in.parquet").write_bytes(changed)
        said, results = swept(tmp_path, "in.parquet", "out.csv", "--ignore", "note")
        refused += results is None
        if results is None:
            assert "in.parquet" in said or "note" in said or "missing input" in said, said
    assert refused > 75


def test_a_disk_that_fails_is_no_broken_file(tmp_path: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise OSError(5, "the disk fails")

    pq.write_table(GOOD, tmp_path / "in.parquet")
    monkeypatch.setattr(pq, "ParquetFile", fail)
    with pytest.raises(OSError, match="the disk fails"):
        rs.sweep(tmp_path / "in.parquet", "pass_tokens", tmp_path / "out.csv")
