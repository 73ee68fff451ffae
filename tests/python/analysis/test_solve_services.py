"""solve and bounds of services under load: the rate and the replicas that keep a promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import roofslate as rs
from roofslate.grid.read import Settled

SERVICE = {
    "model": "DeepSeek-V3",
    "hardware": "HGX H200",
    "chips": 8,
    "tensor_parallel": 8,
    "input_tokens": 2000,
    "output_tokens": 500,
    "input_cv": 1,
    "output_cv": 0.8,
    "calibration": "serving",
}
SATURATED = {
    "model": "DeepSeek-V3",
    "hardware": "HGX H200",
    "chips": 8,
    "input_tokens": 1000,
    "output_tokens": 1000,
    "calibration": "serving",
}
PROMISES = {
    "running_sequences": 30,
    "time_to_first_token": 0.25,
    "time_to_first_token_p99": 1.0,
    "time_per_output_token": 0.03,
    "time_per_output_token_p99": 0.05,
    "inter_token_latency_p99": 0.1,
    "request_latency_p99": 60.0,
}


@pytest.mark.parametrize(("quantity", "limit"), PROMISES.items())
def test_the_rate_of_a_promise_is_found(quantity: str, limit: float) -> None:
    result = rs.solve("arrival_rate", f"{quantity} == {limit!r}", SERVICE)
    assert result["reason"].item() == ""
    assert rs.value(quantity, SERVICE, arrival_rate=result.item()) == pytest.approx(limit, rel=1e-11)
    most = rs.solve("arrival_rate", f"{quantity} <= {limit!r}", SERVICE).item()
    assert most == pytest.approx(result.item(), rel=1e-9)
    assert rs.value(quantity, SERVICE, arrival_rate=most) <= limit
    assert rs.value(quantity, SERVICE, arrival_rate=most * (1 + 1e-9)) > limit


@pytest.mark.parametrize(("quantity", "limit"), PROMISES.items())
def test_the_replicas_of_a_promise_are_found(quantity: str, limit: float) -> None:
    scenario = {**SERVICE, "arrival_rate": 50}
    least = rs.solve("replicas", f"{quantity} <= {limit!r}", scenario).item()
    assert least > 1
    assert (
        rs.value(quantity, scenario, replicas=least)
        <= limit
        < rs.value(quantity, scenario, replicas=least * (1 - 1e-9))
    )
    replicas = rs.solve("replicas", f"{quantity} <= {limit!r}", scenario, integer=True).item()
    assert replicas == math.ceil(least)


def test_what_no_rate_keeps_is_never_and_the_end_of_the_queue_is_no_root() -> None:
    assert rs.solve("arrival_rate", "time_to_first_token_p99 <= 1 ms", SERVICE)["reason"].item() == "never"
    # it jumps to infinity before it takes so long
    endless = rs.solve("arrival_rate", "time_per_output_token_p99 == 1000 s", SERVICE)
    assert math.isnan(endless.item())
    assert endless["reason"].item() == "never"
    most = rs.solve("arrival_rate", "time_per_output_token_p99 <= 1000 s", SERVICE).item()
    assert rs.value("service_load", SERVICE, arrival_rate=most) == pytest.approx(1, rel=1e-9)


def test_a_grid_of_services_is_sized_as_each_of_them() -> None:
    lengths = {"input_tokens": [500, 2000, 6000], "output_tokens": [100, 1000]}
    together = rs.solve("arrival_rate", "time_to_first_token_p99 <= 2 s", {**SERVICE, **lengths})
    for i, tokens in enumerate(lengths["input_tokens"]):
        for j, answer in enumerate(lengths["output_tokens"]):
            alone = {**SERVICE, "input_tokens": tokens, "output_tokens": answer}
            assert together.values[i, j] == rs.solve("arrival_rate", "time_to_first_token_p99 <= 2 s", alone).item()


@pytest.mark.parametrize("quantity", ["slot_wait_probability", *PROMISES])
def test_bounds_hold_what_a_service_does(quantity: str) -> None:
    random = np.random.default_rng(3)
    known = 0
    for width in np.geomspace(1e-11, 0.3, 20):
        low = float(random.uniform(0.5, 5))
        bounds = rs.bounds(quantity, SERVICE, arrival_rate=(low, low * (1 + width)))
        if math.isnan(bounds[0]):
            continue
        known += 1
        rates = low * (1 + width * np.append(random.uniform(0, 1, 20), (0, 1)))
        values = rs.evaluate(quantity, SERVICE, arrival_rate=np.sort(rates)).to_numpy()
        assert bounds[0] <= values.min(), width
        assert values.max() <= bounds[1], width
    assert known >= 3


@pytest.mark.parametrize("name", ["time_to_first_token_p99", "time_per_output_token", "running_sequences"])
def test_what_is_declared_to_rise_with_the_rate_does(name: str) -> None:
    for policy in ("chunked", "first"):
        most = rs.value("max_arrival_rate", SERVICE, arrival_rate=2.0, prompt_policy=policy)
        rates = np.linspace(0.05, 0.85, 400) * most
        values = rs.evaluate(name, SERVICE, arrival_rate=rates, prompt_policy=policy).to_numpy()
        reached = np.maximum.accumulate(values)
        assert (values >= reached * (1 - 0.02)).all(), policy


def test_registers_give_the_bits_of_single_numbers() -> None:
    rates = np.geomspace(0.01, 6, 37)
    for name in PROMISES:
        grid = rs.evaluate(name, SERVICE, arrival_rate=rates).to_numpy()
        assert grid.tolist() == [rs.value(name, SERVICE, arrival_rate=rate) for rate in rates]


@pytest.mark.parametrize("limit", [600, 1200, 1500])
def test_loads_that_fall_where_they_are_taken_to_rise_are_undecided(limit):
    """One of three boundaries was given near saturation."""
    rates = np.linspace(8, 18, 41)
    running = rs.evaluate("loaded_running_sequences", SATURATED, arrival_rate=rates).to_numpy()
    turns = np.count_nonzero(np.diff(running <= limit))
    answer = rs.solve("arrival_rate", f"loaded_running_sequences <= {limit}", SATURATED, at="all")
    roots = answer.to_numpy()
    assert np.count_nonzero((roots > 8) & (roots < 18)) == turns
    assert answer["reason"].item().startswith("undecided") == (turns > 1)
    largest = rs.solve("arrival_rate", f"loaded_running_sequences <= {limit}", SATURATED, at="largest")
    assert math.isnan(largest.item()) == (turns > 1)


def test_a_steep_root_of_unknown_rounding_is_found():
    """It counted as a jump, since a derivative on the way is undefined."""
    cell = {
        "session_rate_from_arrivals": 2, "turn_input_tokens": 50, "output_tokens": 800, "chips": 200, "layers": 2,
        "hbm_capacity": 7e10, "hbm_bandwidth": 3e12, "host_bandwidth": 1e11, "offloaded_weight_fraction": 0.5,
        "peak_flops": 4e16, "peak_flops_bf16": 2e14, "weight_format": "fp8-block", "kv_format": "mxfp4",
        "total_parameters": 4.3e9, "active_parameters": 4e9, "experts": 2, "experts_per_token": 2, "shared_experts": 8,
        "dense_layers": 2, "hidden_size": 20000, "expert_intermediate_size": 3000, "attention_heads": 10,
        "head_size": 400, "kv_latent_size": 600, "vocabulary_size": 60000, "layout": "parallel",
    }  # fmt: skip
    limit = rs.value("max_arrival_rate", Settled(cell), single_sequence=5)
    answer = rs.solve("single_sequence", f"max_arrival_rate == {limit!r}", Settled(cell), at="all")
    first, second = answer.to_numpy()
    assert first == pytest.approx(5)
    sides = rs.evaluate("max_arrival_rate", Settled(cell), single_sequence=second * np.array([1 - 1e-9, 1 + 1e-9]))
    assert sides[1] < limit < sides[0]
