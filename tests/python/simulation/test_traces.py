"""Readers of public traces, on rows in their formats."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import roofslate as rs

AZURE = """TIMESTAMP,ContextTokens,GeneratedTokens
2023-11-16 18:17:03.9799600,374,44
2023-11-16 18:17:04.0319600,396,109
2023-11-16 18:17:04.0781490,879,55
"""
BURST = """Timestamp,Session ID,Elapsed time,Model,Request tokens,Response tokens,Total tokens,Log Type
5,a,1,ChatGPT,472,18,490,Conversation log
45,b,2,ChatGPT,1087,230,1317,Conversation log
118,,3,GPT-4,0,0,0,API log
119,a,3,GPT-4,600,276,876,Conversation log
120,,3,GPT-4,60,27,87,API log
"""
MOONCAKE = """{"timestamp": 1000, "input_length": 1500, "output_length": 500, "hash_ids": [0, 1, 2]}
{"timestamp": 1000, "input_length": 2000, "output_length": 490, "hash_ids": [0, 3, 4, 5]}

{"timestamp": 4052, "input_length": 2300, "output_length": 794, "hash_ids": [0, 1, 2, 6, 7]}
"""


def written(folder: Path, name: str, text: str) -> Path:
    file = folder / name
    file.write_text(text, encoding="utf-8")
    return file


def test_azure(tmp_path: Path) -> None:
    trace = rs.read_trace(written(tmp_path, "azure.csv", AZURE))
    assert trace["arrival"].tolist() == pytest.approx([0, 0.052, 0.098189])
    assert trace[["input_tokens", "output_tokens"]].to_numpy().tolist() == [[374, 44], [396, 109], [879, 55]]
    later = AZURE.replace("2023-11-16 18:17:03.9799600", "2024-05-10 00:00:00.009930+00:00")
    later = later.replace("2023-11-16 18:17:04", "2024-05-10 00:00:01+00:00"[:19])
    assert rs.read_trace(written(tmp_path, "later.csv", later))["arrival"].iloc[0] == 0


def test_burst_gpt(tmp_path: Path) -> None:
    trace = rs.read_trace(written(tmp_path, "burst.csv", BURST))
    assert trace["arrival"].tolist() == [0, 40, 114, 115]
    assert trace["session"].tolist() == [0, 1, 0, -1]
    first = "\n".join(
        line.replace(",a,1", "").replace(",Session ID,Elapsed time", "") for line in BURST.split("\n")[:2]
    )
    trace = rs.read_trace(written(tmp_path, "first.csv", first))
    assert list(trace.columns) == ["arrival", "input_tokens", "output_tokens"]


def test_mooncake(tmp_path: Path) -> None:
    trace = rs.read_trace(written(tmp_path, "mooncake.jsonl", MOONCAKE))
    assert trace["arrival"].tolist() == [0, 0, 3.052]
    assert trace["session"].tolist() == [0, 1, 0]
    assert trace["shared_tokens"].tolist() == [0, 0, 3 * 512]
    sessions = rs.Sessions(turns=1, cache_tokens=(1e6,))
    steps = rs.StepTimes(base=1e-4, slope=0)
    result = rs.simulate(steps=steps, trace=tmp_path / "mooncake.jsonl", sessions=sessions, seed=1)
    assert result.requests["hit_tokens"].tolist() == [0, 0, 1536]
    bare = MOONCAKE.replace(', "hash_ids"', ', "blocks"')
    assert "session" not in rs.read_trace(written(tmp_path, "bare.jsonl", bare))


def test_columns_of_its_own(tmp_path: Path) -> None:
    trace = pd.DataFrame({"arrival": [0.5, 2], "input_tokens": [10, 20], "output_tokens": [1, 2], "note": ["a", "b"]})
    trace.to_csv(tmp_path / "own.csv", index=False)
    read = rs.read_trace(str(tmp_path / "own.csv"))
    assert read.to_numpy().tolist() == [[0.5, 10, 1], [2, 20, 2]]


@pytest.mark.parametrize(
    ("name", "text", "error", "words"),
    [
        ("a.csv", AZURE.replace("18:17:04.0319600", "18:17:01"), rs.errors.ValueRangeError, r"row 1: arrival -2.9"),
        ("a.csv", AZURE.replace("396", "-396"), rs.errors.ValueRangeError, "row 1: input_tokens must be .*, got -396"),
        ("a.csv", AZURE.replace(",109", ","), rs.errors.ValueRangeError, "row 1: output_tokens must be .*, got nan"),
        ("a.csv", AZURE.replace("ContextTokens", "Tokens"), rs.errors.MissingInput, "the columns TIMESTAMP, Tokens"),
        ("a.csv", AZURE.replace("2023-11-16 18:17:04.03", "noon"), rs.errors.ValueRangeError, "TIMESTAMP"),
        ("a.csv", AZURE.replace("396", "many"), rs.errors.InputTypeError, "input_tokens must be numbers"),
        ("a.csv", AZURE.split("\n", maxsplit=1)[0], rs.errors.ValueRangeError, "expected at least one request"),
        ("a.csv", "", rs.errors.ValueRangeError, "expected a table of requests"),
        ("m.jsonl", MOONCAKE + "x", rs.errors.ValueRangeError, "line 5: expected a JSON object, got 'x'"),
        ("m.jsonl", MOONCAKE + "[1]", rs.errors.ValueRangeError, "line 5: expected a JSON object"),
    ],
)  # fmt: skip
def test_a_faulty_trace_is_told(tmp_path: Path, name: str, text: str, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        rs.read_trace(written(tmp_path, name, text))


@pytest.mark.parametrize(
    ("trace", "error", "words"),
    [
        (3, rs.errors.InputTypeError, "expected a pandas.DataFrame or the path of a file"),
        (
            pd.DataFrame({"arrivals": [1]}),
            rs.errors.MissingInput,
            "expected a column 'arrival' .* did you mean 'arrivals'",
        ),
        (
            pd.DataFrame({"arrival": [3.0, 2.0], "input_tokens": 1, "output_tokens": 1}),
            rs.errors.ValueRangeError,
            "row 1: arrival 2 s precedes the previous row, 3 s",
        ),
        (
            pd.DataFrame({"arrival": [-3.0, 2.0], "input_tokens": 1, "output_tokens": 1}),
            rs.errors.ValueRangeError,
            "row 0: arrival must be at least 0, got -3",
        ),
    ],
)
def test_a_faulty_table_is_told(trace: Any, error: type[Exception], words: str) -> None:
    with pytest.raises(error, match=words):
        rs.simulate(steps=rs.StepTimes(1, 1), trace=trace, seed=1)


def test_a_path_is_expected() -> None:
    with pytest.raises(rs.errors.InputTypeError, match="expected a path, got 3"):
        rs.read_trace(3)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="no_such"):
        rs.read_trace("no_such.csv")
