"""Releases of training software: names, effects of recipes, errors on unseen releases."""

from __future__ import annotations

import math
from typing import Any

import pandas as pd
import pytest
import roofslate as rs
from roofslate.measured import releases
from roofslate.measured import runs as measurements

RUN: dict[str, Any] = {
    "model": "Qwen3-30B-A3B", "hardware": "GB200", "framework": "Megatron Bridge", "framework_version": "26.06",
    "weight_format": "mxfp8", "chips": 8, "expert_parallel": 8, "sharded_state": "optimizer",
    "activation_policy": "all", "global_batch_size": 512, "microbatches": 16, "sequence_length": 4096,
    "trained_tokens_per_second_per_chip": 40706.0,
}  # fmt: skip


def table_of(**changes: Any) -> pd.DataFrame:
    return pd.DataFrame([{**RUN, **changes}])


def predicted(**changes: Any) -> float:
    rows = rs.validate(table_of(**changes), calibration=rs.calibration("training")).rows
    return float(rows["predicted_trained_tokens_per_second_per_chip"].iloc[0])


@pytest.mark.parametrize(
    ("framework", "version", "name"),
    [
        ("Megatron Bridge", "26.04.01", "Megatron Bridge 26.04"),
        ("megatron-bridge", "26.4", "Megatron Bridge 26.04"),
        ("Megatron Bridge", 26.1, "Megatron Bridge 26.10"),
        ("LLM Foundry", math.nan, "LLM Foundry"),
        ("LLM Foundry", "", "LLM Foundry"),
        (math.nan, "26.04", None),
    ],
)
def test_a_release_is_a_framework_and_two_parts_of_its_version(framework: Any, version: Any, name: str | None) -> None:
    assert releases.release_name(framework, version) == name


@pytest.mark.parametrize(
    ("changes", "captured"),
    [
        ({}, 1),
        ({"framework_version": "26.08"}, 1),
        ({"framework_version": "26.04.01"}, 0),
        ({"framework_version": math.nan}, 0),
        ({"weight_format": "bf16"}, 0),
        ({"framework": "LLM Foundry"}, 0),
        ({"model": "Llama-3.1-70B"}, 0),
        ({"model": "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16"}, 0),
    ],
    ids=["as given", "later", "earlier", "unknown", "other recipe", "other framework", "dense", "hybrid"],
)
def test_recipes_say_which_kernels_recorded_graphs_start(changes: dict[str, Any], captured: float) -> None:
    assert measurements.read(table_of(**changes)).inputs["captured_kernels"].tolist() == [captured]


def test_what_a_table_says_of_its_kernels_is_taken() -> None:
    assert measurements.read(table_of(captured_kernels=0.5)).inputs["captured_kernels"].tolist() == [0.5]
    assert "captured_kernels" not in measurements.read(table_of(), fixed={"captured_kernels": 0.5}).inputs
    rows = table_of().drop(columns="framework_version")
    assert "captured_kernels" not in measurements.read(rows).inputs


def test_the_later_release_is_predicted_to_be_faster() -> None:
    """26.06 ran 1.56 times as fast as 26.04.01, in the same layout."""
    assert 1.2 < predicted() / predicted(framework_version="26.04.01") < 1.9
    assert predicted(model="Llama-3.1-70B") == predicted(model="Llama-3.1-70B", framework_version="26.04.01")


def test_rows_are_told_apart_by_release_and_recipe() -> None:
    runs = measurements.read(table_of())
    assert runs.kinds("release") == ["Megatron Bridge 26.06"]
    assert runs.kinds("recipe") == ["mxfp8"]
    assert measurements.read(table_of().drop(columns="framework")).kinds("release") == [None]
    assert measurements.read(table_of(release="mine")).kinds("release") == ["Megatron Bridge 26.06"]
    labeled = table_of(release="mine", recipe="block-wise").drop(columns="framework")
    assert measurements.read(labeled).kinds("release") == ["mine"]
    assert measurements.read(labeled).kinds("recipe") == ["block-wise"]


def test_errors_are_given_by_release_and_recipe() -> None:
    table = next(table for table in measurements.shipped() if table.name == "training")
    result = rs.validate(table.runs.rows, calibration=rs.calibration("training"))
    by_release = result.summary.loc["", "trained_tokens_per_second_per_chip", "release"]
    assert by_release["rows"].sum() == len(table.runs.rows)
    assert by_release.loc["Megatron Bridge 26.04", "rows"] == 44
    assert set(result.summary.loc["", "trained_tokens_per_second_per_chip", "recipe"].index) == {
        "bf16", "fp8", "mxfp8", "nvfp4",
    }  # fmt: skip


def test_an_unknown_release_or_recipe_has_a_band_no_narrower() -> None:
    cal = rs.calibration("training")
    known = {"model": "Qwen3-30B-A3B", "hardware": "GB200", "release": "Megatron Bridge 26.06", "recipe": "mxfp8"}
    assert set(cal.fit().kinds) == set(known)
    low, high = cal.band(0.8, **known)
    for column in known:
        wide = cal.band(0.8, **{**known, column: "another"})
        assert wide[0] <= low
        assert high <= wide[1]
    later = cal.band(0.8, **{**known, "release": "Megatron Bridge 27.02"})
    assert later[1] / later[0] > high / low


def test_the_training_calibration_holds_what_is_left_out() -> None:
    """The bar is 14 / 11% on other models and chips, with 75 to 88% inside the 80% band."""
    errors = rs.calibration("training").errors.loc["trained_tokens_per_second_per_chip"]
    left_out = errors.drop("nothing")
    assert set(left_out.index) >= {"model", "hardware", "release", "recipe"}
    assert (left_out["mape"] <= 0.12).all()
    assert (left_out["median"] <= 0.09).all()
    assert left_out["coverage"].between(0.75, 0.88).all()
    assert (abs(left_out["bias"]) <= 0.02).all()


def test_no_training_constant_is_at_the_end_of_its_range_or_unknown() -> None:
    for constant in rs.calibration("training").constants:
        assert 1.05 * constant.low < constant.value < constant.high / 1.05
        assert constant.deviation < 0.15
