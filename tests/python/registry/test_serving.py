"""A deployment with ideal constants, its response to real ones, and measured runs."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate.grid.read import Settled

# As on the board, a latent vector is cached once.
IDEAL = {
    "serving_mode": "disaggregated",
    "kv_cache_copies": 1,
}
MACHINES = ("A100", "H100", "H200", "B200", "GB200 NVL72")
MODELS = ("DeepSeek-V3", "Llama-3.1-70B", "Qwen3-32B", "gpt-oss-120b", "Mixtral-8x7B")
# Of the size that measured runs ask for.
CONSTANTS = {
    "bandwidth_efficiency": 0.85,
    "compute_efficiency": 0.7,
    "link_efficiency": 0.45,
    "reference_kernel_time": 5e-6,
    "kernel_time_exponent": 1 / 3,
    "collective_step_latency": 4e-6,
    "activation_transfers": 40,
    "kv_cache_memory_share": 0.9,
    "admission_steps": 5,
    "eager_kernel_factor": 4,
    "arrival_burst": 0.3,
    "arrival_exponent": 0.6,
    "expert_reads": "expected",
    "communication": "exposed",
    "layout": "parallel",
    "arithmetic": "full",
}
SCENARIO = {"model": "DeepSeek-V3", "hardware": "B200", "chips": 8, "input_tokens": 4000, "output_tokens": 1000}
OUTPUTS = [
    "time_per_output_token",
    "time_to_first_token",
    "tokens_per_second_per_chip",
    "cost_per_input_token",
    "cost_per_output_token",
]


# ------------------------------------------------------------------------------------------------- the ideal machine


@pytest.mark.parametrize("model", MODELS)
@pytest.mark.parametrize("hardware", MACHINES)
@pytest.mark.parametrize("overlap", ["board", "serial_kv", "none"])
def test_a_step_of_the_ideal_machine_is_the_pass_of_the_lecture(model: str, hardware: str, overlap: str) -> None:
    cell: dict[str, Any] = {
        "model": model,
        "hardware": hardware,
        "overlap": overlap,
        "chips": 72,
        "weight_format": "fp8",
    }
    concurrency = np.array([1.0, 7, 64, 500])
    names = ["pass_time", "replica_throughput", "cost_per_token"]
    load: dict[str, Any] = {"input_tokens": 3000, "output_tokens": 2000, "chip_price": "2 USD/h"}
    result = rs.evaluate([*names, "running_sequences"], {**load, **cell, **IDEAL}, concurrency=concurrency)
    between = rs.value("time_per_output_token", {**load, **cell, **IDEAL}, concurrency=64)
    board = rs.evaluate(names, cell, batch_size=concurrency, context_length=4000, chip_price="2 USD/h")
    assert result["running_sequences"].values.tolist() == concurrency.tolist()  # memory holds them
    assert between == result["pass_time"][2]
    for name in names:
        # The same sums in another order: a few roundings apart.
        np.testing.assert_allclose(result[name].values, board[name].values, rtol=1e-12, atol=0)


def test_stages_of_a_pipeline_are_those_of_the_lecture() -> None:
    cell: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "chips": 288, "pipeline_stages": 4}
    names = ["pass_time", "replica_throughput"]
    load = {"concurrency": 4 * 256, "input_tokens": 3000, "output_tokens": 2000}
    result = rs.evaluate(names, {**load, **cell, **IDEAL})
    board = rs.evaluate(names, cell, batch_size=256, context_length=4000)
    for name in names:
        assert float(result[name]) == pytest.approx(float(board[name]), rel=1e-12)


def test_drafts_divide_the_time_of_a_step_by_the_tokens_they_bring() -> None:
    drafts = {"pass_length": 4, "acceptance_rate": 0.7}
    emitted = rs.value("emitted_length", drafts)
    scenario = {**SCENARIO, **CONSTANTS, "concurrency": 32, "serving_mode": "disaggregated", "pass_length": 4}
    one, several = (rs.value("time_per_output_token", scenario, emitted_length=e) for e in (1, emitted))
    assert one / several == pytest.approx(float(emitted), rel=1e-12)


def test_requests_pay_for_the_chips() -> None:
    scenario = {**SCENARIO, **CONSTANTS, "concurrency": 64, "chip_price": "3 USD/h"}
    names = [
        "cost_per_request",
        "cost_per_output_token",
        "blended_cost_per_token",
        "request_throughput",
        "replica_price",
    ]
    x = {name: float(rs.value(name, scenario)) for name in names}
    assert x["request_throughput"] * x["cost_per_request"] == pytest.approx(x["replica_price"], rel=1e-12)
    assert x["cost_per_request"] == pytest.approx(1000 * x["cost_per_output_token"], rel=1e-12)
    assert x["cost_per_request"] == pytest.approx(5000 * x["blended_cost_per_token"], rel=1e-12)
    half = float(rs.value("cost_per_request", scenario, load_factor=0.5))
    assert half == pytest.approx(2 * x["cost_per_request"], rel=1e-12)


def test_memory_that_holds_fewer_sequences_makes_the_others_wait() -> None:
    scenario = {**SCENARIO, **CONSTANTS, "hardware": "H200", "input_tokens": 60_000}
    capacity = float(rs.value("memory_limited_sequences", scenario))
    names = [*OUTPUTS[:3], "queue_time", "service_time", "request_latency"]
    some, more = (rs.evaluate(names, scenario, concurrency=capacity * k) for k in (1, 3))
    assert float(some["queue_time"]) == 0
    assert float(more["queue_time"]) == pytest.approx(2 * float(more["service_time"]), rel=1e-12)
    assert float(more["request_latency"]) == pytest.approx(3 * float(some["request_latency"]), rel=1e-12)
    assert float(more["time_per_output_token"]) == float(some["time_per_output_token"])
    with pytest.warns(
        rs.errors.DoesNotFit, match=r"^1 of 1 points do not fit: weights and KV cache take 34\d GB of 141 "
    ):
        nothing = rs.evaluate(OUTPUTS[:3], {**scenario, "chips": 2}, concurrency=4)
    assert float(nothing["time_to_first_token"]) == math.inf
    assert float(nothing["tokens_per_second_per_chip"]) == 0


# -------------------------------------------------------------------------------------------------------------- laws

SCENARIOS = st.fixed_dictionaries(
    {
        "model": st.sampled_from(MODELS),
        "hardware": st.sampled_from(MACHINES),
        "chips": st.sampled_from([8, 16, 64, 72, 144]),
        "attention_data_parallel": st.sampled_from([1, 2, 8]),
        "concurrency": st.floats(1, 4096),
        "input_tokens": st.floats(1, 1e5),
        "output_tokens": st.floats(1, 1e4),
        "serving_mode": st.sampled_from(["aggregated", "disaggregated"]),
    }
)


def time_of(scenario: dict[str, Any], output: str = "time_per_output_token", **changed: Any) -> float:
    return float(rs.value(output, Settled({**CONSTANTS, **scenario, **changed})))


@settings(max_examples=150, deadline=None)
@given(SCENARIOS, st.floats(0, 0.9), st.floats(0, 4))
def test_requests_are_conserved(scenario: dict[str, Any], hits: float, drafts: float) -> None:
    """Little's law, and the bill of aggregated serving by its parts."""
    given_too = {
        "prefix_hit_rate": hits,
        "draft_length": drafts,
        "acceptance_rate": 0.7,
        "draft_cost": 0.05,
        "chip_price": "2 USD/h",
    }
    together = {**scenario, **given_too, "serving_mode": "aggregated"}
    names = [
        "request_throughput", "request_latency", "running_sequences", "time_to_first_token",
        "queue_time", "emitted_length",
        "time_per_output_token", "cost_per_request", "cost_per_token", "cost_per_input_token", "replica_price",
        "fresh_input_tokens",
    ]  # fmt: skip
    x = dict(zip(names, (time_of(together, name) for name in names), strict=True))
    if x["running_sequences"] == 0 or scenario["output_tokens"] < x["emitted_length"]:
        return
    assert x["request_throughput"] * x["request_latency"] == pytest.approx(scenario["concurrency"], rel=1e-12)
    waiting = x["time_to_first_token"] - x["queue_time"] - x["emitted_length"] * x["time_per_output_token"]
    parts = scenario["output_tokens"] * x["cost_per_token"] + x["fresh_input_tokens"] * x["cost_per_input_token"]
    parts += x["replica_price"] / x["running_sequences"] * waiting
    # The wait for the first token may be far less than the terms of the difference.
    assert x["cost_per_request"] == pytest.approx(parts, rel=1e-9)


@settings(max_examples=150, deadline=None)
@given(SCENARIOS, st.floats(1, 8))
def test_a_better_part_makes_no_token_slower(scenario: dict[str, Any], gain: float) -> None:
    before = time_of(scenario)
    preset = rs.hardware[scenario["hardware"]].values
    # A sum of the same terms, each no larger; near ties the last bits may turn.
    most = before * (1 + 1e-12)
    for part in ("hbm_bandwidth", "scale_up_bandwidth", "scale_out_bandwidth"):
        assert time_of(scenario, **{part: preset[part] * gain}) <= most
    for time in ("reference_kernel_time", "collective_step_latency", "activation_transfers"):
        assert time_of(scenario, **{time: CONSTANTS[time] / gain}) <= most
    for share in ("bandwidth_efficiency", "link_efficiency", "compute_efficiency"):
        assert time_of(scenario, **{share: min(CONSTANTS[share] * gain, 1.0)}) <= most


@settings(max_examples=150, deadline=None)
@given(SCENARIOS, st.floats(1, 8))
def test_more_work_makes_no_token_faster(scenario: dict[str, Any], growth: float) -> None:
    least = time_of(scenario, memory_limited_sequences=1e9) * (1 - 1e-12)
    assert time_of(scenario, memory_limited_sequences=1e9, concurrency=scenario["concurrency"] * growth) >= least
    disaggregated = {**scenario, "serving_mode": "disaggregated"}
    least = time_of(disaggregated, memory_limited_sequences=1e9) * (1 - 1e-12)
    assert time_of(disaggregated, memory_limited_sequences=1e9, input_tokens=scenario["input_tokens"] * growth) >= least


@settings(max_examples=150, deadline=None)
@given(SCENARIOS)
def test_terms_add_up_and_never_undercut_the_floor(scenario: dict[str, Any]) -> None:
    together = {**scenario, "serving_mode": "aggregated"}
    disaggregated = {**scenario, "serving_mode": "disaggregated"}
    assert time_of(disaggregated) <= time_of(together)
    names = ["roofline_time", "kernel_overhead", "collective_latency"]
    assert sum(time_of(disaggregated, name) for name in names) <= time_of(disaggregated) * (1 + 1e-12)
    ideal = rs.value(
        "pass_time",
        Settled({k: v for k, v in scenario.items() if k in ("model", "hardware", "chips")}),
        batch_size=max(time_of(scenario, "running_sequences"), 1e-9),
        context_length=scenario["input_tokens"] + scenario["output_tokens"] / 2,
        expert_reads="expected",
    )
    # The floor also reads the input table: its share of the weights may exceed all other terms.
    assert time_of(disaggregated) >= 0.85 * float(ideal)


@settings(max_examples=100, deadline=None)
@given(SCENARIOS)
def test_prompts_beside_decoding_cost_no_more_than_apart(scenario: dict[str, Any]) -> None:
    # But for the kernels of the step, which are not replayed.
    if time_of(scenario, "running_sequences") == 0:
        assert time_of(scenario, "concurrent_prefill_time") == math.inf
        return
    most = time_of(scenario, "prefill_time")
    assert time_of(scenario, "concurrent_prefill_time", eager_kernel_factor=1) <= most * (1 + 1e-9)  # a difference
    assert time_of(scenario, "prompt_passes", prefill_chunk=2048) == max(math.ceil(scenario["input_tokens"] / 2048), 1)


@settings(max_examples=100, deadline=None)
@given(SCENARIOS)
def test_separate_prefill_steps_delay_decode_by_their_fixed_time(scenario: dict[str, Any]) -> None:
    if time_of(scenario, "running_sequences") == 0:
        return
    mixed, first = (time_of(scenario, "prefill_delay_time", prompt_policy=p) for p in ("chunked", "first"))
    assert mixed == time_of(scenario, "concurrent_prefill_time")
    fixed = time_of(scenario, "stage_pass_overhead") / time_of(scenario, "prompts_per_pass")
    assert first == pytest.approx(time_of(scenario, "prefill_time") + fixed, rel=1e-12)
    assert first >= mixed * (1 - 1e-9)
    tokens = [time_of(scenario, prompt_policy=p) for p in ("chunked", "first")]
    assert tokens[1] >= tokens[0] * (1 - 1e-9)


@settings(max_examples=100, deadline=None)
@given(SCENARIOS, st.floats(1, 20))
def test_recorded_prompts_launch_attention_alone(scenario: dict[str, Any], factor: float) -> None:
    none, piecewise = (
        time_of(scenario, "prefill_latency", prefill_graphs=graphs, eager_kernel_factor=factor)
        for graphs in ("none", "piecewise")
    )
    replayed = time_of(scenario, "prefill_latency", eager_kernel_factor=1)
    assert replayed * (1 - 1e-12) <= piecewise <= none * (1 + 1e-12)
    launches = 2 * time_of(scenario, "layers") * time_of(scenario, "kernel_time")
    passes = time_of(scenario, "prompt_passes")
    assert piecewise - replayed == pytest.approx(passes * (factor - 1) * launches, rel=1e-6, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(SCENARIOS)
def test_overlapped_passes_take_as_long_as_the_longer_of_work_and_links(scenario: dict[str, Any]) -> None:
    disaggregated = {**scenario, "serving_mode": "disaggregated"}
    fixed = time_of(disaggregated, "kernel_overhead") + time_of(disaggregated, "collective_latency")
    work = time_of(disaggregated, "pass_time", communication="free") - fixed
    links = time_of(disaggregated, "link_wait_time")
    both = time_of(disaggregated, "pass_time", communication="overlapped") - fixed
    assert both == pytest.approx(max(work, links), rel=1e-9)  # differences of sums
    assert time_of(disaggregated, "pass_time") - fixed == pytest.approx(work + links, rel=1e-9)
    long, short = (time_of(scenario, "prefill_time", communication=o) for o in ("exposed", "overlapped"))
    assert long / 2 * (1 - 1e-12) <= short <= long * (1 + 1e-12)  # at best halved


@settings(max_examples=50, deadline=None)
@given(SCENARIOS, st.floats(0.5, 30), st.floats(1, 10))
def test_first_tokens_wait_for_steps(scenario: dict[str, Any], steps: float, factor: float) -> None:
    waits = {name: time_of(scenario, "time_to_first_token", admission_steps=x) for name, x in (("no", 0), ("n", steps))}
    if math.isfinite(waits["no"]):
        # Who queues waits for the steps of others, too. The rest may be far larger than the wait.
        rounds = scenario["concurrency"] / time_of(scenario, "running_sequences")
        assert waits["n"] == pytest.approx(waits["no"] + rounds * steps * time_of(scenario), rel=1e-9)
    slow, replayed = (time_of(scenario, "prefill_latency", eager_kernel_factor=f) for f in (factor, 1))
    assert slow - replayed == pytest.approx((factor - 1) * time_of(scenario, "kernel_overhead"), rel=1e-6, abs=1e-12)


@settings(max_examples=100, deadline=None)
@given(SCENARIOS, st.floats(1, 50))
def test_eager_passes_take_as_long_as_their_launches(scenario: dict[str, Any], factor: float) -> None:
    decode = {**scenario, "serving_mode": "disaggregated", "eager_kernel_factor": factor}
    if not time_of(decode, "running_sequences"):
        return
    recorded, eager = (time_of(decode, "pass_time", max_graph_batch_size=n) for n in (math.inf, 0))
    launches = factor * time_of(decode, "kernel_overhead")
    assert eager == pytest.approx(max(recorded, launches), rel=1e-12)
    group = time_of(decode, "batch_size") / time_of(decode, "attention_data_parallel")
    assert time_of(decode, "pass_time", max_graph_batch_size=group * (1 + 1e-9)) == recorded
    assert time_of(decode, "pass_time", max_graph_batch_size=group * (1 - 1e-9)) == eager
    mixed = [time_of({**decode, "serving_mode": "aggregated"}, max_graph_batch_size=n) for n in (math.inf, 0)]
    assert mixed[1] == mixed[0] if eager == recorded else mixed[1] >= mixed[0] * (1 - 1e-12)


@pytest.mark.parametrize("rate", [2, 10, 20])
def test_eager_services_are_no_faster(rate: float) -> None:
    service = {"model": "Llama-3.1-70B", "hardware": "H100", "chips": 8, "input_tokens": 500, "output_tokens": 200}
    service |= {"calibration": "serving", "max_running_sequences": 256, "arrival_rate": f"{rate}/s"}
    for name in (
        "time_per_output_token",
        "time_per_output_token_p99",
        "time_to_first_token",
        "time_to_first_token_p99",
    ):
        recorded, eager = (rs.value(name, service, max_graph_batch_size=n) for n in (math.inf, 0))
        assert recorded < eager or (recorded == eager and rate == 20)  # passes longer than their launches
        assert eager < 2 * recorded or rate == 20  # nearer to saturation


@pytest.mark.parametrize("communication", ["free", "exposed", "overlapped"])
def test_passes_of_an_overloaded_service_never_end(communication: str) -> None:
    load = {"arrival_rate": "10000/s", "input_tokens": 1000, "output_tokens": 100, "communication": communication}
    assert rs.value("pass_time", model="DeepSeek-V3", hardware="HGX H200", **load) == math.inf


def test_windows_hold_no_more_than_they_see() -> None:
    windowed = {"model": "Llama-4-Scout", "output_tokens": 2}
    read = [float(rs.value("kv_read_bytes", windowed, input_tokens=n)) for n in (4095, 8191, 99_999)]
    assert read == [4096 * 196_608, 8192 * 196_608, 8192 * 147_456 + 100_000 * 49_152]


def test_coverage_of_the_running_batch_is_that_of_its_tokens() -> None:
    long_prompts = {**SCENARIO, "input_tokens": 60_000}
    for concurrency in (1, 16, 4096):
        running = rs.value("running_sequences", long_prompts, concurrency=concurrency)
        expected = rs.value("expert_coverage", batch_size=running, experts=256, experts_per_token=8)
        assert rs.value("expert_coverage", long_prompts, concurrency=concurrency) == pytest.approx(expected, rel=1e-14)


# ----------------------------------------------------------------------------------------------------- measured runs


def serving_runs() -> pd.DataFrame:
    """Return measured rows as inputs.

    Quantized weights come with an fp8 KV cache, except for vLLM on chips without fp4, whose KV cache is bf16.
    """
    table = pd.read_csv(Path(rs.__file__).parent / "measured" / "data" / "serving.csv")
    table = table[table["speculation"] != "yes"].reset_index(drop=True)  # drafts of unknown length
    shape = table["model"].replace({"DeepSeek-R1": "DeepSeek-V3", "Llama-3.1-8B-Instruct-FP8": "Llama-3.1-8B"})
    rows = pd.DataFrame({"model": shape.str.replace("-Instruct", ""), "hardware": table["hardware"]})
    for name in ("chips", "tensor_parallel", "attention_data_parallel", "concurrency", "input_tokens", "output_tokens"):
        rows[name] = table[name]
    rows["serving_mode"] = table["mode"].map({"aggregated": "aggregated", "disaggregated decode pool": "disaggregated"})
    rows["weight_format"] = table["weight_format"].replace({"nvfp4": "fp4"})
    rows["dense_format"] = np.where(table["weight_format"] == "nvfp4", "bf16", "same")
    wide = (table["weight_format"] == "bf16") | ((table["framework"] == "vllm") & (table["hardware"] != "B200"))
    stored = {name: rs.value("kv_bytes_per_token", model=name) for name in rows["model"].unique()}
    rows["kv_bytes_per_token"] = rows["model"].map(stored) * np.where(wide, 1.0, 0.5)
    return rows.assign(measured=table["time_per_output_token_s"], first=table["time_to_first_token_s"])


RUNS = serving_runs()
INPUTS = RUNS.drop(columns=["measured", "first"])


def test_every_measured_run_is_answered() -> None:
    result = rs.frame(INPUTS, OUTPUTS[:3], CONSTANTS)
    assert np.isfinite(result.to_numpy()).all()
    assert (result.to_numpy() > 0).all()


def test_constants_of_plausible_size_meet_the_measured_times() -> None:
    result = rs.frame(INPUTS, OUTPUTS[:2], CONSTANTS)
    off = (result["time_per_output_token"] / RUNS["measured"] - 1).abs()
    assert off.median() < 0.15
    assert off.mean() < 0.24
    first = (result["time_to_first_token"] / RUNS["first"] - 1).abs()
    assert first.median() < 0.45  # one wait for all frameworks


@pytest.mark.parametrize(
    "term", ["reference_kernel_time", "collective_step_latency", "activation_transfers", "kernel_time_exponent"]
)
def test_each_term_brings_the_prediction_closer(term: str) -> None:
    def error(**changed: Any) -> float:
        result = rs.frame(INPUTS, ["time_per_output_token"], {**CONSTANTS, **changed})["time_per_output_token"]
        return float(np.sqrt(np.mean(np.log(result / RUNS["measured"]) ** 2)))

    assert error() < error(**{term: 0})


# -------------------------------------------------------------------------------------------------------- beyond memory

TIMES = ["pass_time", "time_per_output_token", "time_to_first_token", "request_latency", "service_time", "queue_time"]
COSTS = [
    "cost_per_token", "cost_per_input_token", "cost_per_output_token", "cost_per_request", "blended_cost_per_token",
    "energy_per_token",
]  # fmt: skip
RATES = ["replica_throughput", "request_throughput", "tokens_per_second_per_user", "tokens_per_second_per_chip"]


@pytest.mark.parametrize("overlap", ["board", "serial_kv", "none"])
@pytest.mark.parametrize("communication", ["free", "exposed", "overlapped"])
@pytest.mark.parametrize("drafts", [{}, {"draft_length": 2, "acceptance_rate": 0.5, "draft_cost": 0.1}])
def test_clients_of_whom_none_fits_wait_forever(overlap: str, communication: str, drafts: dict[str, Any]) -> None:
    scenario = Settled(
        {
            **SCENARIO, **CONSTANTS, **drafts, "hardware": "H100", "chips": 2, "chip_price": "2 USD/h",
            "chip_power": 700, "concurrency": 4, "overlap": overlap, "communication": communication,
        }
    )  # fmt: skip
    assert rs.value("memory_fits", scenario) == "no"
    assert rs.value("running_sequences", scenario) == 0
    assert {name: rs.value(name, scenario) for name in (*TIMES, *COSTS)} == dict.fromkeys((*TIMES, *COSTS), math.inf)
    assert {name: rs.value(name, scenario) for name in RATES} == dict.fromkeys(RATES, 0.0)
    taken_at_its_word = Settled({**scenario, "batch_size": 4})
    del taken_at_its_word["concurrency"]
    assert math.isfinite(rs.value("cost_per_output_token", taken_at_its_word))  # type: ignore[arg-type]


def test_memory_holds_whole_sequences() -> None:
    scenario = Settled({**SCENARIO, "memory_limited_sequences": 0.999, "concurrency": 0.5})
    assert rs.value("running_sequences", scenario) == 0
    scenario["memory_limited_sequences"] = 1
    assert rs.value("running_sequences", scenario) == 0.5
    assert rs.value("memory_fits", scenario) == "yes"


def test_lockstep_moves_waiting_from_later_tokens_to_the_first() -> None:
    """The work is the same, but separate prefill steps hide behind no decode step."""
    given = {
        "model": "Qwen3-32B", "weight_format": "bf16", "hardware": "H100", "chips": 4, "tensor_parallel": 4,
        "concurrency": 64, "input_tokens": 1024, "output_tokens": 128, "calibration": "floor",
    }  # fmt: skip
    outputs = ["time_to_first_token", "time_per_output_token", "request_latency"]
    alone, half, together = (rs.evaluate(outputs, given, lockstep_share=share) for share in (0, 0.5, 1))
    assert together["time_to_first_token"] > 10 * alone["time_to_first_token"]
    assert together["time_per_output_token"] < 0.9 * alone["time_per_output_token"]
    assert alone["time_to_first_token"] < half["time_to_first_token"] < together["time_to_first_token"]
    assert 1 < together["request_latency"] / alone["request_latency"] < 1.25
