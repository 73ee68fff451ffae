"""Points that exceed memory: one warning with a count, and no such optimum by estimate."""

from __future__ import annotations

import functools
import math
import re
import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate.errors import DoesNotFit
from roofslate.grid import fit

CELL: dict[str, Any] = {
    "model": "Llama-3.1-70B", "hardware": "H100", "input_tokens": 8000, "output_tokens": 1000, "chip_price": "2 USD/h",
}  # fmt: skip
NEVER = "1 of 1 points do not fit: weights and KV cache take 144 GB of 80 GB a chip (chips=1); their times are inf"
ASKED = (
    "weights and KV cache take 152 GB of 80 GB a chip (chips=1); computed as requested; "
    "where='memory_fits' leaves them out"
)


@pytest.mark.parametrize("traffic", [{"concurrency": 4}, {"arrival_rate": 2}, {"session_rate": 1, "turns": 3}])
def test_a_point_without_room_for_a_sequence_takes_forever(traffic: dict[str, float]) -> None:
    for call in (rs.value, rs.evaluate):
        with pytest.warns(DoesNotFit, match=f"^{re.escape(NEVER)}$") as caught:
            result = call("time_per_output_token", CELL, chips=1, **traffic)
        assert float(result) == math.inf
        assert len(caught) == 1
        assert caught[0].filename == __file__


def test_a_batch_is_taken_at_its_word() -> None:
    for call in (rs.value, rs.evaluate):
        with pytest.warns(DoesNotFit, match=f"^1 of 1 points do not fit: {re.escape(ASKED)}$"):
            assert 0.05 < float(call("pass_time", CELL, chips=1, batch_size=4, calibration="serving")) < 0.06


def test_points_with_the_same_names_are_checked_one_by_one() -> None:
    best = functools.partial(rs.best, over="batch_size", batch_size=[8, 4])
    for call in (functools.partial(rs.value, batch_size=4), best):
        for chips, fits in ((8, True), (1, False), (8, True), (1, False)):
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                call("pass_time", CELL, chips=chips)
            assert [str(w.message) for w in caught] == ([] if fits else [f"1 of 1 points do not fit: {ASKED}"])


def test_points_are_counted_and_the_largest_is_named() -> None:
    with pytest.warns(DoesNotFit, match=r"^4 of 12 points .* take up to 144 GB of 80 GB a chip \(chips=1\)") as caught:
        result: Any = rs.evaluate("cost_per_output_token", CELL, chips=[1, 2, 4], concurrency=[1, 2, 3, 4])
    assert len(caught) == 1
    assert np.isinf(result).sum() == 4
    with pytest.warns(DoesNotFit, match=r"^8 of 24 points") as caught:
        rs.evaluate(["pass_time"], CELL, chips=[1, 2, 4], concurrency=[1, 2, 3, 4], calibration=["floor", "serving"])
    assert len(caught) == 1


def test_points_of_a_grid_too_large_for_an_array_of_answers(monkeypatch: pytest.MonkeyPatch) -> None:
    requested: dict[str, Any] = {**CELL, "chips": [2, 4], "batch_size": np.arange(1.0, 301.0)}
    fits = rs.count("memory_fits", requested)
    expected = rf"^{600 - fits} of 600 points .* up to 4\d\d GB of 80 GB a chip \(chips=2\)"
    for most in (1 << 16, 0):
        monkeypatch.setattr(fit, "MOST", most)
        with pytest.warns(DoesNotFit, match=expected):
            rs.evaluate("pass_time", requested)
    buffer = np.empty((2, 300))
    with pytest.warns(DoesNotFit, match=expected):
        rs.evaluate("pass_time", requested, out=buffer)


@pytest.mark.parametrize("in_columns", [[], ["model"], ["hardware"], ["model", "hardware"]])
def test_rows_are_counted(in_columns: list[str]) -> None:
    table = pd.DataFrame(
        {"concurrency": [4, 8, np.nan], "chips": [1, 4, 1], "model": CELL["model"], "hardware": "H100"}
    )
    common = {name: x for name, x in CELL.items() if name not in in_columns}
    rows = table[["concurrency", "chips", *in_columns]]
    with pytest.warns(rs.RoofslateWarning) as caught:
        result = rs.frame(rows, ["time_per_output_token"], common)
    (warning,) = [w for w in caught if w.category is DoesNotFit]
    assert str(warning.message) == NEVER.replace("1 of 1 points", "1 of 3 rows")
    assert result["time_per_output_token"][0] == math.inf
    with pytest.warns(
        DoesNotFit, match=r"^2 of 2 rows .* take 152 GB of 80 GB a chip \(chips=1\) in the first; computed"
    ):
        rs.frame(
            rows[:2].assign(concurrency=4, chips=1).rename(columns={"concurrency": "batch_size"}), ["pass_time"], common
        )


@pytest.mark.parametrize(
    "given",
    [
        {"concurrency": 4, "chips": 2},
        {"batch_size": 4, "chips": 1, "hardware": "H100", "pass_time": "50 ms"},  # the memory has no say
        {"batch_size": 4, "chips": 1, "hbm_capacity": "1 TB"},
    ],
)
def test_what_fits_or_is_given_is_not_warned_of(given: dict[str, Any]) -> None:
    inputs: dict[str, Any] = {"model": "Llama-3.1-70B", "hardware": "H100", "chip_price": "2 USD/h", **given}
    load = {} if "batch_size" in given else {"input_tokens": 8000, "output_tokens": 1000}
    inputs |= load or ({} if "pass_time" in given else {"context_length": 8500})
    with warnings.catch_warnings():
        warnings.simplefilter("error", DoesNotFit)
        warnings.simplefilter("ignore", rs.errors.UnusedInput)
        rs.value("cost_per_token", inputs)
        rs.evaluate(["cost_per_token"], inputs)


def test_who_asks_for_the_memory_is_answered_and_not_warned() -> None:
    requested: dict[str, Any] = {**CELL, "chips": 1, "batch_size": 4}
    assert rs.value("memory_fits", requested) == "no"
    assert rs.value("hbm_used", requested) > rs.value("hbm_capacity", hardware="H100")  # type: ignore[operator]
    result: Any = rs.evaluate(["pass_time", "memory_fits"], requested)
    assert result["memory_fits"].item() == 0


def test_without_a_capacity_nothing_is_said() -> None:
    board = {"total_parameters": 1e12, "active_parameters": 1e11, "hbm_bandwidth": 8e12, "chips": 1, "peak_flops": 5e15}
    rs.value("pass_time", board, batch_size=1, context_length=1, kv_bytes_per_token=1, weight_format="fp8")


def test_searches_by_an_estimate_leave_out_what_cannot_run() -> None:
    requested: dict[str, Any] = {**CELL, "batch_size": np.arange(1.0, 3001.0), "chips": [2, 4]}
    result = rs.best("cost_per_token", requested, over=["batch_size", "chips"], calibration="serving")
    assert result.attrs["where"] == "memory_fits"
    by_hand = rs.best(
        "cost_per_token", requested, over=["batch_size", "chips"], calibration="serving", where="memory_fits"
    )
    assert result.equals(by_hand)
    assert rs.value("memory_fits", CELL, chips=4, batch_size=result["batch_size"].item()) == "yes"
    front = rs.pareto(
        requested, minimize=["pass_time", "cost_per_token"], calibration="serving", where="pass_time < 1 s"
    )
    assert front.attrs["where"] == "pass_time < 1 s and memory_fits"
    assert front["batch_size"].max() == result["batch_size"].item()
    with pytest.warns(DoesNotFit, match=r"^1 of 1 points"):
        floor = rs.best("cost_per_token", requested, over=["batch_size", "chips"])
    assert floor["batch_size"].item() == 3000
    assert "where" not in floor.attrs


def test_a_yes_is_a_condition() -> None:
    requested: dict[str, Any] = {**CELL, "concurrency": 4, "chips": [1, 2, 4]}
    assert rs.count("memory_fits", requested) == rs.count("memory_fits == 'yes'", requested) == 2
    assert rs.count("time_per_output_token <= 20 ms and memory_fits", requested) == 1
    with pytest.raises(rs.errors.ConditionError, match="a comparison is missing"):
        rs.count("overlap", requested)


def test_a_training_layout_beyond_the_memory_is_warned_of() -> None:
    run: dict[str, Any] = {
        "model": "Llama-3.1-405B", "hardware": "H100", "chips": 16_384, "tensor_parallel": 8, "microbatches": 16,
        "global_batch_size": 2048, "sequence_length": 8192, "pipeline_schedule": "1f1b", "calibration": "training",
        "sharded_state": "optimizer", "weight_format": "bf16",
    }  # fmt: skip
    rs.value("training_step_time", run, pipeline_stages=16, activation_policy="block")
    message = (
        r"^1 of 1 points do not fit: training states and activations take .* of 80 GB a chip \(chips=16384\); computed"
    )
    with pytest.warns(DoesNotFit, match=message):
        rs.value("training_step_time", run, pipeline_stages=1, activation_policy="block")
