"""Software of measured runs: its age, and launch options that published scripts set."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import roofslate as rs
from roofslate.measured import software
from roofslate.measured.runs import read
from roofslate.measured.validate import bound_inputs

RUN: dict[str, Any] = {
    "model": "DeepSeek-R1", "hardware": "B200", "framework": "sglang", "weight_format": "fp8", "chips": 8,
    "tensor_parallel": 8, "concurrency": 64, "input_tokens": 1000, "output_tokens": 1000,
    "time_to_first_token_s": 0.4, "time_per_output_token_s": 0.02,
}  # fmt: skip


def inputs_of(**other: Any) -> Any:
    return read(pd.DataFrame([{**RUN, **other}])).inputs.iloc[0]


def test_ages_count_from_one_date() -> None:
    ages = software.release_ages(pd.Series(["2026-03-01", "2025-09-01", "2026-04-15", None, "no day"]))
    assert ages.tolist() == pytest.approx([0, 181 / 30.4, -1, 0, 0])
    old, new = (rs.validate(pd.DataFrame([{**RUN, "measured": day}])).rows for day in ("2025-10-01", "2026-03-01"))
    column = "predicted_time_per_output_token_s"
    assert old[column].iloc[0] > 1.1 * new[column].iloc[0]


@pytest.mark.parametrize(
    ("other", "interval"),
    [
        ({}, 30),
        ({"concurrency": 8}, 10),
        ({"concurrency": 16}, 30),
        ({"attention_data_parallel": 8, "tensor_parallel": 1}, 1),
        ({"hardware": "H200"}, 1),
        ({"framework": "vllm"}, 1),
        ({"framework": "dynamo-sglang"}, 30),
        ({"receive_interval": 5}, 5),
    ],
)
def test_intervals_of_published_scripts(other: dict[str, Any], interval: float) -> None:
    assert inputs_of(**other)["receive_interval"] == interval


@pytest.mark.parametrize(
    ("other", "length"),
    [
        ({"speculation": "yes"}, 2),
        ({"speculation": "yes", "framework": "trtllm"}, 3),
        ({"speculation": "yes", "framework": "trtllm", "attention_data_parallel": 8, "tensor_parallel": 1}, 1),
        ({"speculation": "yes", "framework": "vllm"}, 0),
    ],
)
def test_drafts_of_published_scripts(other: dict[str, Any], length: float) -> None:
    assert inputs_of(**other)["draft_length"] == length
    assert "draft_length" not in inputs_of()


def test_drafts_quicken_a_run() -> None:
    rows = pd.DataFrame([{**RUN, "speculation": word} for word in ("none", "yes")])
    plain, drafted = rs.validate(rows).rows["predicted_time_per_output_token_s"]
    assert drafted < 0.8 * plain
    measured = rs.validate(pd.DataFrame([{**RUN, "speculation": "yes", "draft_length": 2, "acceptance_rate": 0.9,
                                      "draft_cost": 0.04}])).rows  # fmt: skip
    assert measured["predicted_time_per_output_token_s"].iloc[0] < drafted


@pytest.mark.parametrize(
    ("other", "share"),
    [
        ({}, 84 / 130),
        ({"framework": "dynamo-sglang"}, 84 / 130),
        ({"framework": "vllm"}, None),
        ({"input_tokens": 921.6}, None),
        ({"output_tokens": 921.6}, None),
        ({"mode": "disaggregated decode pool"}, None),
        ({"lockstep_share": 1}, 1),
        ({"lockstep_share": 0}, 0),
    ],
)
def test_clients_in_lockstep_by_labels(other: dict[str, Any], share: float | None) -> None:
    runs = read(pd.DataFrame([{**RUN, **other}]))
    assert runs.inputs.get("lockstep_share", pd.Series([None])).iloc[0] == share
    assert ("lockstep_share" in bound_inputs(runs)) == ("lockstep_share" in other)  # bounds take no suggestion


@pytest.mark.parametrize(
    ("name", "value"),
    [("lockstep_share", 1), ("receive_interval", 1), ("prompt_policy", "chunked"), ("prefill_graphs", "piecewise")],
)
def test_an_input_of_the_call_wins_over_labels(name: str, value: Any) -> None:
    column = "predicted_time_to_first_token_s"
    by_labels, given, in_table = (
        rs.validate(pd.DataFrame([row]), **inputs).rows[column].item()
        for row, inputs in ((RUN, {}), (RUN, {name: value}), ({**RUN, name: value}, {}))
    )
    assert given == in_table != by_labels


@pytest.mark.parametrize(
    ("other", "policy", "graphs"),
    [
        ({}, "first", None),
        ({"framework": "dynamo-sglang"}, "first", None),
        ({"framework_version": "0.5.9"}, "first", None),
        ({"framework_version": "0.6"}, "first", None),  # latent attention
        ({"framework_version": "0.5.9", "model": "Qwen3-32B"}, "first", None),
        ({"framework_version": "v0.5.10.post1", "model": "Qwen3-32B"}, "first", "piecewise"),
        ({"framework_version": "0.6", "model": "Qwen3-32B"}, "first", "piecewise"),
        ({"framework_version": "main"}, "first", None),
        ({"framework": "vLLM 0.9"}, None, "piecewise"),
        ({"framework": "trtllm"}, None, None),
        ({"framework": None}, None, None),
        ({"prompt_policy": "chunked"}, "chunked", None),
    ],
)
def test_prefill_by_engine_and_version(other: dict[str, Any], policy: str | None, graphs: str | None) -> None:
    runs = read(pd.DataFrame([{**RUN, **other}]))
    for name, word in (("prompt_policy", policy), ("prefill_graphs", graphs)):
        assert runs.inputs.get(name, pd.Series([None])).iloc[0] == word
        assert (name in bound_inputs(runs)) == (name in other)  # bounds take no suggestion


def test_clients_of_a_service_that_mixes_are_not_in_lockstep() -> None:
    rows = pd.DataFrame([RUN])
    assert "lockstep_share" not in read(rows, fixed={"prompt_policy": "chunked"}).inputs
    assert "lockstep_share" not in read(rows.assign(prompt_policy="chunked")).inputs
    assert "lockstep_share" in read(rows.assign(framework="vllm", prompt_policy="first")).inputs
