"""Layouts by rule: of training runs, and of tables with rows that determine the rule."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate.errors import ValueRangeError
from roofslate.grid.read import Settled

PARTS = ("tensor_parallel", "pipeline_stages", "data_parallel", "expert_parallel", "microbatches", "sharded_state")
LLAMA: dict[str, Any] = {
    "model": "Llama-3.1-405B", "hardware": "H100", "chips": 16_384, "global_batch_size": 2048,
    "sequence_length": 8192, "pipeline_schedule": "1f1b", "sequence_parallel": "on", "activation_policy": "selective",
    "chip_price": "2 USD/h",
}  # fmt: skip
REAL: dict[str, Any] = {**LLAMA, "calibration": "training"}
DEEPSEEK = {
    **LLAMA, "model": "DeepSeek-V3", "hardware": "H800", "chips": 2048, "global_batch_size": 15_360,
    "sequence_length": 4096,
}  # fmt: skip
SMALL = {**LLAMA, "model": "Llama-3.1-8B", "chips": 64, "global_batch_size": 512}
RULES = [
    (SMALL, {}, (1, 1, 64, None, 8, "optimizer"), "TP 1, DP 64, 8 micro-batches, sharded optimizer (rule)"),
    (LLAMA, {}, (8, 8, 256, None, 8, "optimizer"), "TP 8, PP 8, DP 256, 8 micro-batches, sharded optimizer (rule)"),
    (
        DEEPSEEK,
        {},
        (8, 16, 16, 8, 960, "optimizer"),
        "TP 8, PP 16, DP 16, EP 8, 960 micro-batches, sharded optimizer (rule)",
    ),
    (LLAMA, {"sharded_state": "none"}, (8, 32, 64, None, 32, "none"), "TP 8, PP 32, DP 64, 32 micro-batches (rule)"),
    (
        LLAMA,
        {"pipeline_stages": 16},
        (4, 16, 256, None, 8, "optimizer"),
        "TP 4, PP 16, DP 256, 8 micro-batches, sharded optimizer (rule)",
    ),
    (
        LLAMA,
        {"tensor_parallel": 8, "data_parallel": 128},
        (8, 16, 128, None, 16, "optimizer"),
        "TP 8, PP 16, DP 128, 16 micro-batches, sharded optimizer (rule)",
    ),
]


@pytest.mark.parametrize(("run", "given", "parts", "text"), RULES)
def test_a_training_run_without_a_layout_takes_that_of_the_rule(
    run: dict[str, Any], given: dict[str, Any], parts: tuple[Any, ...], text: str
) -> None:
    named = {name: x for name, x in zip(PARTS, parts, strict=True) if x is not None}
    by_hand = Settled({**run, **named})
    requested = Settled({**run, **given})
    for calibration in ({"layout": "parallel"}, {"calibration": "training"}):
        for name in ("training_step_time", "training_memory", "training_utilization", "pretraining_cost"):
            expected = rs.value(name, by_hand, **calibration)
            assert rs.value(name, requested, **calibration) == expected, name
            result = rs.evaluate(name, requested, **calibration)
            assert float(result) == expected
            assert result.attrs["layout"] == text
    assert f"layout {text}" in str(rs.explain("training_step_time", requested, calibration="training"))


def test_the_rule_takes_the_least_tensor_and_pipeline_parallelism_with_room() -> None:
    stages = rs.value("pipeline_stages", Settled(REAL)), rs.value("training_memory", Settled(REAL))
    fewer = Settled({**LLAMA, "tensor_parallel": 8, "pipeline_stages": 4, "microbatches": 4})
    assert stages[1] <= 0.9 * 80e9 < rs.value("training_memory", {**fewer, "sharded_state": "optimizer"})  # type: ignore[operator]


def test_chips_alone_make_no_run_of_billions() -> None:
    """16,384 chips per matrix raise the run's cost from $6.4 billion to $11.7 billion."""
    assert 4e7 < rs.value("pretraining_cost", Settled(REAL)) < 2e8  # type: ignore[operator]
    pool: Any = rs.evaluate(["pretraining_cost", "training_utilization", "stage_communication_time"], Settled(LLAMA))
    assert float(pool["training_utilization"]) == pytest.approx(1)
    assert float(pool["stage_communication_time"]) == 0
    assert float(pool["pretraining_cost"]) == pytest.approx(6 * 405e9 * 15.6e12 / 989.5e12 * 2 / 3600, rel=0.02)
    assert "layout" not in pool.attrs


def test_what_is_given_of_a_whole_layout_stays() -> None:
    given = Settled({**SMALL, "tensor_parallel": 4, "calibration": "training"})
    result = rs.evaluate(["pipeline_stages", "microbatches", "sharded_state", "training_memory"], given)
    assert "layout" not in result.attrs
    assert [float(result[name]) for name in ("pipeline_stages", "microbatches")] == [1, 1]
    assert float(result["sharded_state"]) == 0
    assert "layout" not in rs.evaluate("pretraining_cost", Settled({**REAL, "training_utilization": 0.4})).attrs


def test_no_room_names_the_least_memory_and_ways_out() -> None:
    few = {**REAL, "chips": 64, "pipeline_schedule": "gpipe"}
    message = (
        r"no layout of 64 chips has room for this training run: it takes at least [\d.]+ TB a chip \(TP 8, PP \d+\) of "
        r"72 GB, nine tenths of the memory; give more chips, pipeline_schedule='1f1b', activation_policy='block', or a "
    )
    for call in (rs.value, rs.evaluate):
        with pytest.raises(ValueRangeError, match=message):
            call("training_step_time", Settled(few))
    with pytest.raises(ValueRangeError, match=message):
        rs.frame(
            pd.DataFrame({"chips": [16_384, 64]}), "training_step_time", {n: x for n, x in few.items() if n != "chips"}
        )


@pytest.mark.parametrize(
    ("given", "complaint"),
    [
        (
            {"tensor_parallel": 24, "pipeline_stages": 1},
            "tensor_parallel 24 does not divide the chips of a stage: 16384",
        ),
        ({"tensor_parallel": 8, "pipeline_stages": 16, "data_parallel": 256}, "does not make up the chips of a stage"),
        ({"tensor_parallel": 8, "pipeline_stages": 128}, "128 does not leave a layer to each stage of layers 126"),
        ({"tensor_parallel": 256}, "tensor_parallel 256 does not divide attention_heads 128"),
    ],
)
def test_illegal_layouts_of_a_run_are_errors(given: dict[str, Any], complaint: str) -> None:
    for call in (rs.value, rs.evaluate):
        with pytest.raises(ValueRangeError, match=complaint):
            call("training_step_time", {**LLAMA, **given})
    with pytest.raises(ValueRangeError, match=complaint):
        rs.deploy({**LLAMA, **given}, objective="pretraining_cost")


def test_axes_and_tables_of_runs_take_a_layout_each() -> None:
    chips = [4096, 8192, 16_384]
    one_by_one = [rs.value("training_step_time", Settled({**REAL, "chips": n})) for n in chips]
    assert rs.evaluate("training_step_time", Settled({**REAL, "chips": chips})).values.tolist() == one_by_one
    run = {name: x for name, x in REAL.items() if name != "chips"}
    result = rs.frame(pd.DataFrame({"chips": chips}), "training_step_time", Settled(run))
    assert result["training_step_time"].tolist() == one_by_one
    assert result.attrs["layout"].count("(rule)") == len(set(result.attrs["layout"].split("; "))) > 1
    runs = pd.DataFrame([SMALL, LLAMA, DEEPSEEK])
    each = [rs.value("training_step_time", run, calibration="training") for run in (SMALL, LLAMA, DEEPSEEK)]
    trained = {"calibration": "training"}
    assert (
        rs.frame(runs.drop(columns=["chip_price"]), "training_step_time", trained)["training_step_time"].tolist()
        == each
    )


def test_what_decides_upon_a_layout_has_an_effect() -> None:
    """Sequence parallelism takes no time, but makes room for fewer stages."""
    run = {name: x for name, x in REAL.items() if name not in ("sequence_parallel", "chip_price")}
    result = rs.evaluate("training_step_time", run, sequence_parallel="on")
    assert "unused" not in result.attrs
    assert rs.value("training_step_time", run, sequence_parallel="on") == float(result)
    with pytest.warns(rs.errors.UnusedInput, match="'sequence_parallel' does not enter training_step_time"):
        rs.evaluate(
            "training_step_time",
            run,
            sequence_parallel="on",
            tensor_parallel=8,
            pipeline_stages=32,
            microbatches=32,
            sharded_state="optimizer",
        )


def test_a_replica_and_a_run_are_asked_for_apart() -> None:
    both = {**LLAMA, "batch_size": 8, "context_length": 8192}
    separate = [rs.value(name, Settled(both)) for name in ("pass_time", "training_step_time")]
    together: Any = rs.evaluate(["pass_time", "training_step_time"], Settled(both))  # a pool serves both
    assert [float(x) for x in together.values()] == separate
    both["layout"] = "parallel"
    with pytest.raises(ValueRangeError, match="pass_time and training_step_time ask for different layouts"):
        rs.evaluate(["pass_time", "training_step_time"], Settled(both))


# ---------------------------------------------------------------------------------------------- tables of calibrations

LOAD: dict[str, Any] = {"input_tokens": 8000, "output_tokens": 1000, "concurrency": 64, "model": "DeepSeek-V3"}
TABLES: list[dict[str, list[Any]]] = [
    {"calibration": ["serving", "floor", "serving", "floor"], "chips": [8, 8, 16, 16]},
    {"calibration": ["serving", "floor", "serving"], "hardware": ["H200", "H200", "B200"], "chips": [16, 16, 8]},
    {"calibration": ["floor", "serving"], "hardware": ["HGX H200", "HGX B200"]},
    {"hardware": ["HGX H200", "HGX B200"], "tensor_parallel": [2, 4]},
    {"calibration": ["serving", "floor"], "hardware": ["HGX H200", "HGX H200"], "tensor_parallel": [2, 4]},
    {"layout": ["parallel", "pool", "parallel"], "chips": [8, 8, 16]},
    {"calibration": ["serving", "floor"], "model": ["Llama-3.1-70B", "Llama-3.1-70B"], "pipeline_stages": [2, 2]},
]


@pytest.mark.parametrize("columns", TABLES, ids=lambda columns: "-".join(columns))
def test_a_row_takes_the_layout_that_it_takes_alone(columns: dict[str, list[Any]]) -> None:
    scenario = {**LOAD, **({} if {"hardware", "chips"} & columns.keys() else {"chips": 16}), "hardware": "H200"}
    scenario = Settled({name: x for name, x in scenario.items() if name not in columns})
    table = pd.DataFrame(columns)
    outputs = ["pass_time", "time_per_output_token", "hbm_used"]
    result = rs.frame(table, outputs, scenario)
    texts = []
    for k, row in enumerate(table.to_dict("records")):
        alone: Any = rs.evaluate(outputs, scenario, **row)
        assert result.iloc[k].tolist() == [float(alone[name]) for name in outputs], row
        texts += [text] if "(rule)" in (text := alone.attrs.get("layout", "")) else []
    assert set(result.attrs.get("layout", "").split("; ")) == set(texts or [""])


def test_illegal_rows_are_refused_even_where_they_are_whole() -> None:
    scenario = Settled({**LOAD, "hardware": "H200"}).copy()
    table = pd.DataFrame(
        {"chips": [16], "tensor_parallel": [3], "pipeline_stages": [1], "attention_data_parallel": [4]}
    )
    with pytest.raises(ValueRangeError, match="tensor_parallel 3 does not divide the chips of a stage"):
        rs.frame(table, "pass_time", scenario)


def test_chips_in_chunks_leave_nothing_to_the_rule() -> None:
    import dask.array as da
    import xarray as xr

    chips = xr.DataArray(da.from_array(np.array([8.0, 16.0]), chunks=1), dims="chips")
    requested = {**LOAD, "hardware": "H200", "calibration": "serving", "chips": chips}
    with pytest.raises(ValueRangeError, match="chips: an array in chunks leaves no layout to the rule: load it"):
        rs.evaluate("pass_time", requested)
    alike = rs.evaluate("pass_time", {**requested, "calibration": "floor"})
    assert alike.compute().values.tolist() == [
        rs.value("pass_time", {**requested, "calibration": "floor", "chips": n}) for n in (8, 16)
    ]


@pytest.mark.filterwarnings("ignore::roofslate.errors.RoofslateWarning")
@pytest.mark.parametrize(("chips", "stages"), [(4, 4), (8, 4)])
def test_a_default_that_the_rule_leaves_binds_no_row(chips, stages):
    """The attention group of a dense model is a default, in rows as in a point."""
    service = {"model": "Llama-3.1-70B", "hardware": "H100", "pipeline_stages": stages, "layout": "parallel"}
    service |= {"concurrency": 4, "input_tokens": 1000, "output_tokens": 100, "prefill_context_parallel": 2}
    rows = rs.frame(pd.DataFrame({"chips": [chips] * 2}), "time_to_first_token", service)["time_to_first_token"]
    assert rows.tolist() == [rs.value("time_to_first_token", service, chips=chips)] * 2


@pytest.mark.filterwarnings("ignore::roofslate.errors.RoofslateWarning")
def test_what_the_rule_chooses_binds_rows():
    service = {"model": "DeepSeek-V3", "hardware": "H100", "layout": "parallel", "concurrency": 4, "input_tokens": 1000}
    parallel = pd.DataFrame({"chips": [16, 16], "prefill_context_parallel": [2.0, 64.0]})
    rows = rs.frame(parallel, "time_to_first_token", service, output_tokens=100)["time_to_first_token"]
    assert np.isnan(rows[1])
    assert rows[0] > 0
