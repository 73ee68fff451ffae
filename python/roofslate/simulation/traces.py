"""Recorded requests: arrivals and lengths from public traces."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from roofslate._base.messages import shown, unknown
from roofslate.errors import InputTypeError, MissingInput, ValueRangeError

if TYPE_CHECKING:
    from collections.abc import Callable

    import pandas as pd

__all__ = ["check_trace", "read_trace"]

_COLUMNS = ("arrival", "input_tokens", "output_tokens")
_BLOCK = 512  # tokens per block of Mooncake's hash_ids


class _Format(NamedTuple):
    name: str
    columns: tuple[str, ...]  # that identify the format
    read: Callable[[pd.DataFrame], pd.DataFrame]


def read_trace(path: str | os.PathLike[str]) -> pd.DataFrame:
    """Read a request trace, for `simulate(trace=...)`.

    Parameters
    ----------
    path : path
        A file in one of these formats, identified by its columns:

        - Azure LLM inference traces (CSV): ``TIMESTAMP``, ``ContextTokens``, ``GeneratedTokens``.
        - BurstGPT (CSV): ``Timestamp`` (s), ``Request tokens``, ``Response tokens``, optionally ``Session ID``. Failed
          requests (no tokens) are skipped.
        - Mooncake (JSON lines): ``timestamp`` (ms), ``input_length``, ``output_length``, ``hash_ids``. A request whose
          blocks of 512 tokens repeat an earlier request by half or more continues that session.
        - The columns of the result (CSV).

    Returns
    -------
    pandas.DataFrame
        ``arrival`` (s, since the first request), ``input_tokens``, ``output_tokens``. With sessions also ``session`` (a
        whole number, -1 for none) and ``shared_tokens``, the tokens of the prompt that repeat an earlier one.

    Raises
    ------
    MissingInput
        If the columns match no known format.
    ValueRangeError
        If requests are not sorted by arrival, or a length is negative or missing. The message names the row.
    OSError
        If the file cannot be read.

    Notes
    -----
    Sources: Azure/AzurePublicDataset (2023 and 2024), HPMLL/BurstGPT (releases 1.1 and 2.0), kvcache-ai/Mooncake;
    columns checked in November 2026.
    """
    import pandas as pd

    try:
        file = Path(path)
    except TypeError:
        raise InputTypeError(f"read_trace: expected a path, got {shown(path)}") from None
    if file.suffix in {".jsonl", ".json"}:
        table = _json_lines(file)
    else:
        try:
            table = pd.read_csv(file, skipinitialspace=True)
        except (pd.errors.ParserError, pd.errors.EmptyDataError, UnicodeDecodeError) as error:
            raise ValueRangeError(f"{file.name}: expected a table of requests. {str(error).strip()}") from None
    for form in _FORMATS:
        if set(form.columns) <= set(table.columns):
            return check_trace(form.read(table), f"{file.name} ({form.name})")
    known = "; ".join(f"{form.name}: {', '.join(form.columns)}" for form in _FORMATS)
    raise MissingInput(f"{file.name} has the columns {', '.join(map(str, table.columns))}. Expected one of {known}.")


def _json_lines(file: Path) -> pd.DataFrame:
    import pandas as pd

    rows: list[Any] = []
    with file.open(encoding="utf-8") as stream:
        for line_number, line in enumerate(stream, 1):
            if not line.strip():
                continue
            try:
                row = json.loads(line)
            except json.JSONDecodeError:
                row = None
            if not isinstance(row, dict):
                raise ValueRangeError(f"{file.name}, line {line_number}: expected a JSON object, got {shown(line)}")
            rows.append(row)
    return pd.DataFrame(rows)


def _azure(table: pd.DataFrame) -> pd.DataFrame:
    import pandas as pd

    try:
        times = pd.to_datetime(table["TIMESTAMP"], format="ISO8601", utc=True)
    except ValueError as error:
        raise ValueRangeError(f"TIMESTAMP: {error}") from None
    return _renamed((times - times.iloc[:1].min()).dt.total_seconds(), table["ContextTokens"], table["GeneratedTokens"])


def _burst_gpt(table: pd.DataFrame) -> pd.DataFrame:
    arrival = table["Timestamp"]
    result = _renamed(arrival - arrival.iloc[:1].min(), table["Request tokens"], table["Response tokens"])
    if "Session ID" in table.columns:
        codes, _ = table["Session ID"].factorize()
        result["session"] = codes
        result["shared_tokens"] = np.inf
    return result[(table["Request tokens"] > 0) & (table["Response tokens"] > 0)].reset_index(drop=True)


def _mooncake(table: pd.DataFrame) -> pd.DataFrame:
    arrival = table["timestamp"]
    result = _renamed((arrival - arrival.iloc[:1].min()) / 1000, table["input_length"], table["output_length"])
    if "hash_ids" not in table.columns:
        return result
    owner: dict[Any, int] = {}  # last session with a block
    sessions, shared = [], []
    for row, blocks in enumerate(table["hash_ids"]):
        blocks = blocks if isinstance(blocks, list) else []
        repeated = next((k for k, block in enumerate(blocks) if block not in owner), len(blocks))
        continues = repeated > 0 and 2 * repeated >= len(blocks)
        session = owner[blocks[repeated - 1]] if continues else row
        sessions.append(session)
        shared.append(_BLOCK * repeated if continues else 0)
        owner.update(dict.fromkeys(blocks, session))
    result["session"] = sessions
    result["shared_tokens"] = np.minimum(shared, result["input_tokens"])
    return result


def _columns_of_simulate(table: pd.DataFrame) -> pd.DataFrame:
    return table.copy()


def _renamed(arrival: Any, prompt: Any, answer: Any) -> pd.DataFrame:
    import pandas as pd

    return pd.DataFrame(dict(zip(_COLUMNS, (arrival, prompt, answer), strict=True)))


_FORMATS = (
    _Format("Azure", ("TIMESTAMP", "ContextTokens", "GeneratedTokens"), _azure),
    _Format("BurstGPT", ("Timestamp", "Request tokens", "Response tokens"), _burst_gpt),
    _Format("Mooncake", ("timestamp", "input_length", "output_length"), _mooncake),
    _Format("columns of rs.simulate", _COLUMNS, _columns_of_simulate),
)


def check_trace(trace: Any, source: str = "trace") -> pd.DataFrame:
    """Check that the columns of a trace are numbers in range, sorted by arrival."""
    import pandas as pd

    if not isinstance(trace, pd.DataFrame):
        raise InputTypeError(f"{source}: expected a pandas.DataFrame or the path of a file, got {shown(trace)}")
    for name in _COLUMNS:
        if name not in trace.columns:
            error = unknown("column", name, [str(column) for column in trace.columns])
            raise MissingInput(f"{source}: expected a column {name!r} ({error})")
    if trace.empty:
        raise ValueRangeError(f"{source}: expected at least one request, got none")
    result = {}
    for name in (*_COLUMNS, *(name for name in ("session", "shared_tokens") if name in trace.columns)):
        try:
            values = trace[name].to_numpy(dtype=float)
        except (TypeError, ValueError):
            raise InputTypeError(f"{source}: {name} must be numbers, got {shown(trace[name].iloc[0])}") from None
        least = {"arrival": -np.inf, "input_tokens": 1, "output_tokens": 1, "session": -1}.get(name, 0)
        wrong = ~(values >= least) | (np.isinf(values) & (name != "shared_tokens"))
        if wrong.any():
            row = int(np.flatnonzero(wrong)[0])
            raise ValueRangeError(
                f"{source}, row {row}: {name} must be a finite number of at least {least}, got {values[row]:g}"
            )
        result[name] = values
    late = np.flatnonzero(np.diff(result["arrival"]) < 0)
    if late.size:
        row = int(late[0]) + 1
        before, after = result["arrival"][row - 1 : row + 1]
        raise ValueRangeError(
            f"{source}, row {row}: arrival {after:g} s precedes the previous row, {before:g} s. Sort by arrival."
        )
    if result["arrival"][0] < 0:
        raise ValueRangeError(f"{source}, row 0: arrival must be at least 0, got {result['arrival'][0]:g}")
    return pd.DataFrame(result)
