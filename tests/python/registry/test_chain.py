"""Laws of the serving chain: bound below estimate, equal loads, no effect if disabled."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate.grid.read import Settled
from support.lazy import Lazy

stats = Lazy("scipy.stats")

DEPLOYMENTS = 10_000
MODELS = [
    "DeepSeek-V3",
    "Llama-3.1-70B",
    "Llama-3.1-8B",
    "Qwen3-235B-A22B",
    "gpt-oss-120b",
    "Mixtral-8x7B",
    "Qwen3-32B",
]
HARDWARE = ["A100", "H100", "H200", "B200", "GB200 NVL72", "MI300X"]
TIMES = ["pass_time", "time_per_output_token", "time_to_first_token", "request_latency", "prefill_time"]
COSTS = ["cost_per_token", "cost_per_output_token", "cost_per_input_token", "energy_per_token"]


def deployments() -> pd.DataFrame:
    """Of any size that is run, and some beyond."""
    rng = np.random.default_rng(20261123)
    tensor = 2.0 ** rng.integers(0, 4, DEPLOYMENTS)
    groups = 2.0 ** rng.integers(0, 5, DEPLOYMENTS)
    return pd.DataFrame(
        {
            "model": rng.choice(MODELS, DEPLOYMENTS),
            "hardware": rng.choice(HARDWARE, DEPLOYMENTS),
            "weight_format": rng.choice(["bf16", "fp8"], DEPLOYMENTS),
            "chips": tensor * groups,
            "tensor_parallel": tensor,
            "attention_data_parallel": groups,
            "concurrency": np.ceil(np.exp(rng.uniform(0, 8, DEPLOYMENTS))),
            "input_tokens": np.ceil(np.exp(rng.uniform(2, 11, DEPLOYMENTS))),
            "output_tokens": np.ceil(np.exp(rng.uniform(1, 9, DEPLOYMENTS))),
            "serving_mode": rng.choice(["aggregated", "disaggregated"], DEPLOYMENTS),
            "chip_price": 2 / 3600,
            "chip_power": 700.0,
        }
    )


@pytest.mark.filterwarnings("ignore::roofslate.errors.DoesNotFit")  # of 10^4 deployments some
def test_the_floor_lies_below_the_estimate() -> None:
    rows = deployments()
    outputs = [*TIMES, *COSTS]
    estimate = rs.frame(rows, [*outputs, "memory_limited_sequences"], calibration="serving")
    fits = (estimate["memory_limited_sequences"] >= rows["concurrency"]).to_numpy()  # a smaller batch is quicker
    assert fits.mean() > 0.3
    of_layout = rs.frame(rows, outputs)
    of_pool = rs.frame(rows.drop(columns=["tensor_parallel", "attention_data_parallel"]), outputs)
    for floor in (of_layout, of_pool):
        for name in outputs:
            above = fits & (floor[name] > estimate[name] * (1 + 1e-12)).to_numpy()
            assert not above.any(), (name, rows[above].iloc[0].to_dict())
    assert (of_pool["pass_time"] <= of_layout["pass_time"] * (1 + 1e-12))[fits].all()


SCENARIO: dict[str, Any] = {
    "hardware": "H200", "chips": 16, "input_tokens": 4000, "output_tokens": 1000, "chip_price": "2 USD/h",
}  # fmt: skip


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("calibration", ["floor", "serving"])
def test_clients_that_fit_are_a_batch(model: str, calibration: str) -> None:
    requested = {**SCENARIO, "model": model, "calibration": calibration, "weight_format": "fp8"}
    for n in (1, 7, 32):
        by_clients = rs.value("pass_time", requested, concurrency=n)
        batches = rs.value("microbatches", Settled(requested))
        assert by_clients == rs.value("pass_time", requested, batch_size=n / batches)  # type: ignore[operator]


OFF: dict[str, dict[str, Any]] = {
    "drafts": {"draft_length": 0},
    "windows": {"windowed_attention_layers": 0},
    "selection": {"selected_tokens": math.inf},
    "compression": {"kv_compression": 1},
    "prefix hits": {"prefix_hit_rate": 0},
    "chunks": {"prefill_chunk": math.inf},
    "imbalance": {"expert_imbalance": 1},
    "redundancy": {"redundant_experts": 0},
    "hops": {"mean_hops": 1},
    "experts over all chips": {"expert_parallel": 16},
    "load": {"load_factor": 1},
}


@pytest.mark.parametrize("technique", OFF)
@pytest.mark.parametrize("calibration", ["floor", "serving"])
def test_what_is_off_changes_no_bit(technique: str, calibration: str) -> None:
    requested = {
        **SCENARIO,
        "model": "DeepSeek-V3",
        "weight_format": "fp8",
        "calibration": calibration,
        "concurrency": 64,
    }
    layout = {"tensor_parallel": 1, "attention_data_parallel": 16}
    for name in ("pass_time", "time_per_output_token", "request_latency", "cost_per_output_token", "hbm_used"):
        for base in (requested, {**requested, **layout}):
            assert rs.value(name, Settled({**base, **OFF[technique]})) == rs.value(name, base), name


def test_clients_and_a_batch_that_disagree_are_refused() -> None:
    requested = {"model": "DeepSeek-V3", "hardware": "H200", "chips": 16, "context_length": 8000}
    with pytest.raises(rs.errors.ValueRangeError, match="128 requests, and 64 sequences in the batches"):
        rs.value("pass_time", requested, batch_size=64, concurrency=128)
    with pytest.raises(rs.errors.ValueRangeError, match="64 requests, and 32 sequences"):
        rs.evaluate("pass_time", requested, batch_size=[64, 32], concurrency=64)
    with pytest.raises(rs.errors.ValueRangeError, match="disagree"):
        rs.value("running_sequences", batch_size=64.0, concurrency=128.0)
    assert rs.value("running_sequences", Settled({"batch_size": 64, "concurrency": 256, "pipeline_stages": 4})) == 256


# ------------------------------------------------------------------------------------------------------- bad input

RACK: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "H200", "chips": 16, "weight_format": "fp8"}
SERVED: dict[str, Any] = {**RACK, "input_tokens": 4000, "output_tokens": 1000, "concurrency": 64}


def test_clients_and_a_batch_that_disagree_are_refused_in_every_call() -> None:
    words = (
        r"concurrency and batch_size disagree: (64|128) requests, and \d+ sequences in the batches in flight \(microb"
    )
    loose = {name: x for name, x in SERVED.items() if name != "concurrency"}
    with pytest.raises(rs.errors.ValueRangeError, match=words):
        rs.value("pass_time", SERVED, microbatches=4, pipeline_stages=4, batch_size=64)
    with pytest.raises(rs.errors.ValueRangeError, match=words):
        rs.evaluate("request_latency", loose, concurrency=[64, 128], batch_size=[64])
    with pytest.raises(rs.errors.ValueRangeError, match=words):
        rs.bounds("pass_time", loose, concurrency=(64, 128), batch_size=64)
    with pytest.raises(rs.errors.ValueRangeError, match=words):
        rs.best("cost_per_token", SERVED, over="batch_size", batch_size=[32, 64], chip_price=1e-3)
    with pytest.raises(rs.errors.ValueRangeError, match=words):
        rs.sample("pass_time", 4, SERVED, batch_size=stats.uniform(10, 10), seed=1)


def test_a_row_whose_clients_and_batch_disagree_is_named() -> None:
    outputs = ["pass_time", "time_to_first_token"]
    loose = {name: x for name, x in SERVED.items() if name not in ("concurrency", "model")}
    table = pd.DataFrame(
        {"model": ["DeepSeek-V3", "Qwen3-32B", "DeepSeek-V3"], "concurrency": [64, 32, 128], "batch_size": [64, 32, 64]}
    )
    with pytest.raises(
        rs.errors.ValueRangeError, match=r"^row 2: concurrency and batch_size disagree: 128 requests, and 64"
    ):
        rs.frame(table, outputs, loose)
    agreeing = rs.frame(table[:2], outputs, loose)
    assert agreeing.equals(rs.frame(table[:2].drop(columns="batch_size"), outputs, loose))
    numbers = table.drop(columns="model")
    with pytest.raises(rs.errors.ValueRangeError, match=r"^row 2: concurrency and"):
        rs.frame(numbers, outputs, Settled({**loose, "model": "DeepSeek-V3"}, prefix_length=0))
    staged = table.assign(microbatches=[1, 2, 2])
    with pytest.raises(
        rs.errors.ValueRangeError, match=r"^row 1: concurrency and batch_size disagree: 32 requests, and 64"
    ):
        rs.frame(staged, outputs, {**loose, "pipeline_stages": 2})
    with pytest.warns(rs.errors.RoofslateWarning, match="1 of 3 rows hold NaN"):  # and nothing disagrees
        missing = rs.frame(table.assign(concurrency=[64, math.nan, 64]), outputs, loose)
    assert missing["pass_time"].isna().tolist() == [False, True, False]


def test_a_row_of_a_file_is_named_too(tmp_path: Any) -> None:
    source = tmp_path / "rows.csv"
    source.write_text("concurrency,batch_size,model\n64,64,DeepSeek-V3\n64,32,DeepSeek-V3\n", encoding="utf-8")
    loose = {name: x for name, x in SERVED.items() if name not in ("concurrency", "model")}
    with pytest.raises(
        rs.errors.ValueRangeError, match="row 1: concurrency and batch_size disagree: 64 requests, and 32"
    ):
        rs.sweep(source, "request_latency", tmp_path / "out.csv", Settled(loose))


@pytest.mark.parametrize(
    ("outputs", "given", "message"),
    [
        ("pass_time", {}, r"'(concurrency|batch_size)' \(.*\) or '(concurrency|batch_size)' \("),
        ("running_sequences", {}, r"'(concurrency|batch_size)' \(.*\) or '(concurrency|batch_size)' \("),
        ("pass_time", {"batch_size": 64, "input_tokens": 4000}, r"'context_length' \(.*\) or 'output_tokens' \("),
        ("pass_time", {"batch_size": 64, "output_tokens": 1000}, r"'context_length' \(.*\) or 'input_tokens' \("),
        ("cost_per_token", {"concurrency": 64, "context_length": 8000}, r"'chip_price' \("),
    ],
)
def test_what_is_missing_names_its_alternatives(outputs: str, given: dict[str, Any], message: str) -> None:
    with pytest.raises(rs.errors.MissingInput, match=message):
        rs.value(outputs, RACK, **given)


@pytest.mark.parametrize(
    ("given", "kind", "message"),
    [
        ({"draft_length": 2, "draft_cost": 0.1}, rs.errors.MissingInput, "'acceptance_rate'"),
        ({"draft_length": 2, "acceptance_rate": 0.8}, rs.errors.MissingInput, "'draft_cost'"),
        ({"acceptance_rate": 0.8}, rs.errors.IneffectiveInput, "draft_length is 0; give draft_length="),
        ({"attention_window": 1024}, rs.errors.IneffectiveInput, "is 0; give windowed_attention_layers="),
        (
            {"windowed_kv_share": 0.5},
            rs.errors.MissingInput,
            "'attention_window' .*: windowed_kv_share is given without",
        ),
        (
            {"windowed_attention_layers": 40},
            rs.errors.MissingInput,
            "'attention_window' .*: windowed_attention_layers is",
        ),
        ({"prefix_length": 5000}, rs.errors.ValueRangeError, "prefix_length must not exceed input_tokens, got 5000"),
        ({"windowed_attention_layers": 70}, rs.errors.ValueRangeError, "must not exceed layers"),
        ({"experts_per_token": 300}, rs.errors.ValueRangeError, "must not exceed experts"),
        ({"prefix_hit_rate": 1.5}, rs.errors.ValueRangeError, "prefix_hit_rate must be"),
        ({"link_efficiency": 0.5}, rs.errors.IneffectiveInput, "communication='free'.*; give communication='exposed'"),
    ],
)
def test_half_of_a_pair_and_contradictions_are_refused(given: dict[str, Any], kind: Any, message: str) -> None:
    with pytest.raises(kind, match=message):
        rs.value("request_latency", SERVED, **given)


def test_of_two_that_state_the_same_the_other_is_reported() -> None:
    with pytest.warns(rs.errors.UnusedInput, match="'prefix_hit_rate' has no effect .*: prefix_length is given"):
        rs.value("time_to_first_token", SERVED, prefix_hit_rate=0.5, prefix_length=1000)
    with pytest.warns(rs.errors.UnusedInput, match="'draft_length' has no effect on pass_time: pass_length is given"):
        rs.value("pass_time", SERVED, pass_length=2, draft_length=2)
    with pytest.warns(rs.errors.UnusedInput, match="'pretraining_tokens' has no effect .*: pretraining_flops is given"):
        rs.value(
            "pretraining_chip_time",
            model="Llama-3.1-8B",
            peak_flops=1e15,
            training_utilization=0.4,
            pretraining_tokens=1e12,
            pretraining_flops=1e24,
        )


@pytest.mark.parametrize("given", [{"global_batch_size": 64}, {"sequence_length": 8192}, {"activation_policy": "all"}])
def test_half_of_a_training_run_names_the_ways_to_a_utilization(given: dict[str, Any]) -> None:
    run = {"model": "Llama-3.1-8B", "hardware": "H100", "pretraining_tokens": 1e12, "chip_price": 1e-3, "chips": 64}
    ways = r"; give training_utilization \(0\.3 to 0\.5 is usual\), or chips, global_batch_size and sequence_length$"
    with pytest.raises(rs.errors.MissingInput, match=ways):
        rs.value("pretraining_cost", run, **given)


@pytest.mark.parametrize("name", ["windowed_attention_layers", "windowed_kv_share"])
def test_rows_with_layers_of_a_window_say_how_wide_it_is(name: str) -> None:
    cell = {"kv_bytes_per_token": 1e5, "context_length": 32_000, "layers": 40}
    table = pd.DataFrame({name: [0.5, 0.0] if name == "windowed_kv_share" else [10, 0]})
    with pytest.raises(rs.errors.MissingInput, match=f"'attention_window' .*: {name} is given without it"):
        rs.frame(table, "kv_read_bytes", cell)
    assert rs.frame(table * 0, "kv_read_bytes", cell)["kv_read_bytes"].tolist() == [3.2e9, 3.2e9]
