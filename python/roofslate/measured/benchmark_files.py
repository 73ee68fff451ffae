"""`rs.read_benchmarks`: results of benchmark tools as tables of measured runs."""

from __future__ import annotations

import json
import math
import os
import re
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from roofslate._base.files import read_text
from roofslate._base.messages import did_you_mean, shown, unknown, warn
from roofslate.errors import InputTypeError, MissingInput, PresetError, RoofslateWarning
from roofslate.measured import runs
from roofslate.measured.benchmark_formats import FORMATS_OF_FILES, Format, field_of
from roofslate.measured.benchmark_words import day_of, hardware_name, weight_format_name
from roofslate.presets.preset import Preset
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    import pandas as pd

__all__ = ["read_benchmarks"]

_MOST_BYTES = 256_000_000  # of a file
_MOST_BYTES_OF_FOLDER = 2_000_000_000
_MOST_FILES = 10_000
_MOST_ROWS = 1_000_000
_MOST_LISTED = 200  # unknown fields of a format
_ENDINGS = (".json", ".jsonl")
_LEAST_SHARE = 0.6  # of the fields that recognize a format
_PERCENTILE = re.compile(r"median|p\d{1,3}(\.\d{1,3})?")
_PADDED = {
    "p50": "median",
    "p001": "p0.1",
    "p01": "p1",
    "p05": "p5",
    "p999": "p99.9",
}  # percentiles as GuideLLM writes them
_TEXTS = {"model", "hardware", "framework", "framework_version", "weight_format", "mode", "speculation"}
_NORMAL = {"hardware": hardware_name, "weight_format": weight_format_name}
_FIRST = (
    *("model", "hardware", "framework", "framework_version", "mode", "weight_format", "chips", "tensor_parallel"),
    *("attention_data_parallel", "pipeline_parallel", "expert_parallel", "concurrency", "arrival_rate"),
    *("input_tokens", "output_tokens", "time_to_first_token_s", "time_per_output_token_s", "request_latency_s"),
    *("tokens_per_second_per_chip", "requests_per_second", "output_tokens_per_second", "requests", "failed_requests"),
    *("measured", "speculation"),
)
_LAST = ("file", "file_format")
# Values of rows in a column that only other rows give.
_DEFAULTS = {
    "attention_data_parallel": 1.0,
    "pipeline_parallel": 1.0,
    "expert_parallel": 1.0,
    "mode": "aggregated",
    "speculation": "unknown",
}


class _Result(NamedTuple):
    """One result of a file: its origin, and its fields."""

    origin: str
    entry: dict[str, Any]


def read_benchmarks(path: str | os.PathLike[str], /, **columns: Any) -> pd.DataFrame:
    """Read results of benchmark tools, as a table for `validate` and `calibrate`.

    Parameters
    ----------
    path : path
        A file, or a folder whose ``.json`` and ``.jsonl`` files are read, also from its subfolders. Formats
        are recognized by their fields:

        - vLLM: ``vllm bench serve --save-result`` and folders of ``vllm bench sweep serve``.
        - SGLang: JSON lines of ``bench_serving``.
        - TensorRT-LLM: the report of ``trtllm-bench``.
        - InferenceX: ``agg_*.json``, and lists of them.
        - aiperf and genai-perf: ``profile_export_aiperf.json``, ``profile_export_genai_perf.json``.
        - GuideLLM: ``benchmarks.json``.
    **columns
        Values for all rows of columns that files do not give: ``hardware="H200", chips=8, weight_format="fp8"``. Any
        column that `validate` takes. ``model`` replaces the name under which a model was served.

    Returns
    -------
    pandas.DataFrame
        A row for each result. Times are means in s. Their percentiles are columns such as
        ``time_to_first_token_p99_s``. ``arrival_rate`` (requests/s) is given for open load. ``file`` and
        ``file_format`` name the origin. In ``attrs``: ``versions`` of the writers by format, ``unknown_fields`` by
        format, ``assumptions`` in words, and ``skipped`` files of a folder with the reason.

    Raises
    ------
    MissingInput
        For a field that a format has and the file lacks, naming file, field, column and the nearest field.
    InputTypeError
        For a field of another type than expected, and for a keyword that a file contradicts.
    PresetError
        For a file that cannot be read, is too large (256 MB) or is of no known format.
    UnknownName
        For a keyword that is no column of `validate`.

    Warns
    -----
    RoofslateWarning
        If files of a folder were skipped although they are of a known format, or results without a completed request.

    Notes
    -----
    The mean number of requests in flight, ``concurrency``, is the limit of the client. If none was set, it follows
    from Little's law: completed requests per second times mean request latency. Files are data: nothing in them is
    executed.

    Examples
    --------
    >>> import roofslate as rs
    >>> runs = rs.read_benchmarks("results/", hardware="H200", chips=8, weight_format="fp8")  # doctest: +SKIP
    >>> rs.validate(runs).rows  # doctest: +SKIP
    """
    import pandas as pd

    for name in columns:
        if name not in runs.COLUMNS and name not in entries():
            raise unknown("column", name, [*runs.COLUMNS, *entries()])
    try:
        source = Path(path)
    except TypeError:
        raise InputTypeError(f"read_benchmarks: expected a path, got {shown(path)}") from None
    folder = source.is_dir()
    rows: list[dict[str, Any]] = []
    notes = _Notes()
    for file in _files(source) if folder else [source]:
        label = file.relative_to(source).as_posix() if folder else file.name
        try:
            results = list(_results(file, label))
            recognized = _recognize(results, label)
        except PresetError as error:
            if not folder:
                raise
            notes.skipped[label] = str(error)
            continue
        for result in _expanded(results, recognized):
            row = _row(result, recognized, columns, notes)
            if row is not None:
                rows.append(row)
        if len(rows) > _MOST_ROWS:
            raise PresetError(f"{source} has more than {_MOST_ROWS:,} results")
    if not rows:
        reasons = "; ".join(f"{name}: {why}" for name, why in list(notes.skipped.items())[:3])
        raise PresetError(f"{source} has no result of a benchmark" + (f" ({reasons})" if reasons else ""))
    if notes.failed:
        warn(f"{len(notes.failed)} results have no completed request: {', '.join(notes.failed[:3])}", RoofslateWarning)
    names = dict.fromkeys([*_FIRST, *(name for row in rows for name in row if name not in _LAST), *_LAST])
    table = pd.DataFrame({name: _column([row.get(name) for row in rows], name) for name in names})
    table = table.dropna(axis="columns", how="all")
    table.attrs |= notes.attrs()
    return table


class _Notes:
    """Return the reader's remarks about files besides their rows."""

    def __init__(self) -> None:
        self.versions: dict[str, dict[str, None]] = {}
        self.unknown_fields: dict[str, dict[str, None]] = {}
        self.assumptions: dict[str, None] = {}
        self.skipped: dict[str, str] = {}
        self.failed: list[str] = []

    def attrs(self) -> dict[str, Any]:
        return {
            "versions": {name: list(each) for name, each in self.versions.items()},
            "unknown_fields": {name: list(each) for name, each in self.unknown_fields.items() if each},
            "assumptions": list(self.assumptions),
            "skipped": dict(self.skipped),
        }


# -------------------------------------------------------------------------------------------------------------- files


def _files(folder: Path) -> list[Path]:
    """Files of a folder by name, without linked folders and summaries that repeat runs."""
    files: list[Path] = []
    size = 0
    for parent, folders, names in os.walk(folder):
        folders.sort()
        repeated = any(name.startswith("run=") for name in names)
        for name in sorted(names):
            if name.endswith(_ENDINGS) and not (repeated and name == "summary.json"):
                file = Path(parent, name)
                files.append(file)
                size += file.stat().st_size if file.is_file() else 0
        if len(files) > _MOST_FILES:
            raise PresetError(f"{folder} has more than {_MOST_FILES:,} files; give a folder with fewer")
        if size > _MOST_BYTES_OF_FOLDER:
            raise PresetError(f"{folder} has more than {_MOST_BYTES_OF_FOLDER:,} bytes of files; give a smaller folder")
    return files


def _constant(word: str) -> float:
    return {"NaN": math.nan, "Infinity": math.inf, "-Infinity": -math.inf}[word]


def _parsed(text: str, origin: str) -> Any:
    try:
        return json.loads(text, parse_constant=_constant)
    except RecursionError:
        raise PresetError(f"{origin}: the JSON is nested too deeply") from None
    except ValueError as error:  # also of integers with thousands of digits
        raise PresetError(f"{origin}: no JSON: {error}") from None


def _results(file: Path, label: str) -> Iterator[_Result]:
    """Each object of a file: the only one, the members of a list, or one for each line."""
    text = read_text(file, "benchmark file", _MOST_BYTES)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), 1) if line.strip()]
    if not lines:
        raise PresetError(f"{label} is empty")
    by_line = len(lines) > 1 and all(line.lstrip().startswith("{") and line.rstrip().endswith("}") for _, line in lines)
    if by_line:
        objects = [(f"{label}, line {number}", _parsed(line, f"{label}, line {number}")) for number, line in lines]
    else:
        content = _parsed(text, label)
        members = content if isinstance(content, list) else [content]
        numbered = isinstance(content, list)
        objects = [(f"{label}, result {k}" if numbered else label, x) for k, x in enumerate(members, 1)]
    for origin, entry in objects:
        if not isinstance(entry, dict):
            raise PresetError(f"{origin}: expected a JSON object, got {shown(entry)}")
        yield _Result(origin, entry)


def _recognize(results: list[_Result], label: str) -> Format:
    """The format of which the first result has the largest share of fields."""
    best, share = FORMATS_OF_FILES[0], 0.0
    for form in FORMATS_OF_FILES:
        first = next(_expanded(results[:1], form), None)
        if first is None:
            continue
        present = sum(field_of(first.entry, path) is not None for path in form.recognized_by)
        if present / len(form.recognized_by) > share:
            best, share = form, present / len(form.recognized_by)
    if share < _LEAST_SHARE:
        names = ", ".join(form.name for form in FORMATS_OF_FILES)
        fields = ", ".join(map(shown, list(results[0].entry)[:6])) if results else "none"
        raise PresetError(f"{label} is of no known format; known are {names}. Its first fields: {fields}")
    return best


def _expanded(results: list[_Result], form: Format) -> Iterator[_Result]:
    """Results of a format, from a list inside of a report or as they are."""
    for origin, entry in results:
        if not form.rows:
            yield _Result(origin, entry)
            continue
        members = entry.get(form.rows)
        report = {name: x for name, x in entry.items() if name != form.rows}
        for k, member in enumerate(members if isinstance(members, list) else [], 1):
            if isinstance(member, dict):
                yield _Result(f"{origin}, {form.rows} {k}", {"report": report, **member})


# --------------------------------------------------------------------------------------------------------------- rows


def _row(result: _Result, form: Format, given: Mapping[str, Any], notes: _Notes) -> dict[str, Any] | None:
    """A row of the table, or None for a result without a completed request."""
    origin, entry = result
    _note(result, form, notes)
    if _completed(entry, form) == 0:
        notes.failed.append(origin)
        return None
    row: dict[str, Any] = {}
    for column, paths in form.columns.items():
        row[column] = _value(result, form, column, (paths,) if isinstance(paths, str) else paths)
    for column, statistics in form.measured.items():
        mean = _value(result, form, column, (statistics.mean,))
        row[column] = None if mean is None else mean * statistics.seconds
        row |= _percentiles(entry, column, statistics.percentiles, statistics.seconds)
    present = [column for column in form.together if row[column] is not None]
    for column in form.together:
        if present and row[column] is None:
            raise _missing(result, form, column, form.measured[column].mean)
    if form.finish is not None:
        form.finish(entry, row)
    if row.get("arrival_rate") is not None and not math.isfinite(row["arrival_rate"]):
        row["arrival_rate"] = None
    _fill_concurrency(row, form, notes)
    if row.get("framework") is None and form.framework and "framework" not in given:
        row["framework"] = form.framework
        notes.assumptions[f"{form.name}: the engine is {form.framework}, which the file does not name"] = None
    if form.name == "InferenceX":
        notes.assumptions["InferenceX: lengths of prompts and answers are the nominal ones"] = None
    row["measured"] = day_of(row.get("measured"))
    for column, normal in _NORMAL.items():
        if isinstance(row.get(column), str):
            row[column] = normal(row[column])
    _fill(row, origin, given)
    per_second, chips = row.pop("output_throughput", None), row.get("chips")
    if row.get("tensor_parallel") is None and isinstance(chips, (int, float)):
        groups = (row.get("attention_data_parallel") or 1) * (row.get("pipeline_parallel") or 1)
        row["tensor_parallel"] = chips / groups
        notes.assumptions[f"{form.name}: all chips of a replica share one tensor-parallel group"] = None
    row["requests_per_second"] = row.pop("request_throughput", None)
    row["output_tokens_per_second"] = per_second
    if row.get("tokens_per_second_per_chip") is None and per_second is not None and isinstance(chips, (int, float)):
        row["tokens_per_second_per_chip"] = per_second / chips if chips > 0 else None
    return {**row, "file": origin, "file_format": form.name}


def _completed(entry: Mapping[str, Any], form: Format) -> Any:
    path = form.columns.get("requests")
    return field_of(entry, path) if isinstance(path, str) else None


def _note(result: _Result, form: Format, notes: _Notes) -> None:
    """Remember the version of the writer, and fields that the format does not know."""
    version = next((x for path in form.version if (x := field_of(result.entry, path)) is not None), None)
    versions = notes.versions.setdefault(form.name, {})
    if version is not None:
        versions[str(version)[:80]] = None
    fields = notes.unknown_fields.setdefault(form.name, {})
    paths = [path for each in form.columns.values() for path in ((each,) if isinstance(each, str) else each)]
    read = {part.split(".")[0] for path in paths for part in path.split(" / ")} | {"report"}
    for name in result.entry:
        if name not in read and not re.fullmatch(form.known, name) and len(fields) < _MOST_LISTED:
            fields[name[:80]] = None


def _value(result: _Result, form: Format, column: str, paths: tuple[str, ...]) -> Any:
    """The first field that exists, or an error if the column is required."""
    for path in paths:
        numerator, _, denominator = path.partition(" / ")
        value = field_of(result.entry, numerator)
        if value is None:
            continue
        if column == "measured":
            return value
        if column in _TEXTS:
            if not isinstance(value, str):
                raise _mistyped(result, form, path, "a text", value)
            if value:
                return value
            continue
        if column == "arrival_rate" and isinstance(value, str):  # "inf", or "trace" for recorded arrivals
            return None
        number = _number(result, form, numerator, value)
        if denominator:
            divisor = field_of(result.entry, denominator)
            if divisor is None:
                raise _missing(result, form, column, denominator)
            number /= _number(result, form, denominator, divisor)
        return number
    if column in form.required:
        raise _missing(result, form, column, paths[0].partition(" / ")[0])
    return None


def _number(result: _Result, form: Format, path: str, value: Any) -> float:
    try:
        if not isinstance(value, bool) and isinstance(value, (int, float)):
            return float(value)
    except OverflowError:
        pass
    raise _mistyped(result, form, path, "a number", value)


def _mistyped(result: _Result, form: Format, path: str, expected: str, value: Any) -> InputTypeError:
    return InputTypeError(f"{result.origin} ({form.name}): field {path!r}: expected {expected}, got {shown(value)}")


def _missing(result: _Result, form: Format, column: str, path: str) -> MissingInput:
    """Error for a missing field of a format, with the nearest names at its level."""
    keys = path.split(".")
    depth = next(k for k in range(len(keys)) if field_of(result.entry, ".".join(keys[: k + 1])) is None)
    parent = field_of(result.entry, ".".join(keys[:depth])) if depth else result.entry
    near = did_you_mean(keys[depth], map(str, parent)) if isinstance(parent, dict) else ""
    return MissingInput(
        f"{result.origin} ({form.name}): expected the field {'.'.join(keys[: depth + 1])!r} for the column {column!r}, "
        f"found none{near}. The format was read from {form.source}"
    )


def _percentiles(entry: Mapping[str, Any], column: str, pattern: str, seconds: float) -> dict[str, float]:
    """Columns of the percentiles in a file."""
    parent, _, last = pattern.rpartition(".")
    fields = field_of(entry, parent) if parent else entry
    before, after = last.split("{}")
    columns = {}
    for name, x in fields.items() if isinstance(fields, dict) else ():
        word = name[len(before) : len(name) - len(after)] if name.startswith(before) and name.endswith(after) else ""
        if _PERCENTILE.fullmatch(word) and isinstance(x, (int, float)) and not isinstance(x, bool) and abs(x) < 1e300:
            columns[f"{column.removesuffix('_s')}_{_PADDED.get(word, word)}_s"] = float(x) * seconds
    return columns


def _fill_concurrency(row: dict[str, Any], form: Format, notes: _Notes) -> None:
    """Set the mean number of requests in flight by Little's law, if the client had no limit."""
    if row.get("concurrency") is not None:
        return
    first, each, latency = (row[c] for c in ("time_to_first_token_s", "time_per_output_token_s", "request_latency_s"))
    if latency is None and first is not None and each is not None:
        latency = first + each * max(row["output_tokens"] - 1, 0)
    if latency is not None and row.get("request_throughput") is not None:
        row["concurrency"] = latency * row["request_throughput"]
        notes.assumptions[f"{form.name}: concurrency without a limit follows from Little's law"] = None


def _fill(row: dict[str, Any], origin: str, given: Mapping[str, Any]) -> None:
    """Set columns that a file does not give, and refuse keywords that it contradicts."""
    for column, x in given.items():
        written = row.get(column)
        same = _NORMAL[column](x) if column in _NORMAL and isinstance(x, str) else x
        if written is not None and column != "model" and not isinstance(x, Preset) and written != same:
            raise InputTypeError(
                f"{origin}: {column} is {shown(written)} in the file and {shown(x)} as given. "
                "Leave the keyword out, or change the column of the table"
            )
        row[column] = same


def _column(values: list[Any], name: str) -> Any:
    """A column of the table: numbers with NaN for nothing, or objects."""
    if name in _DEFAULTS and any(x is not None for x in values):
        values = [_DEFAULTS[name] if x is None else x for x in values]
    if all(x is None or (isinstance(x, (int, float)) and not isinstance(x, bool)) for x in values):
        return [math.nan if x is None else float(x) for x in values]
    return values
