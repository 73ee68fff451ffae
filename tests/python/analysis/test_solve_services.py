"""solve and bounds of services under load: the rate and the replicas that keep a promise."""

from __future__ import annotations

import math

import numpy as np
import pytest
import roofslate as rs

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
FALLING = {
    "model": "gpt-oss-120b",
    "hardware": "HGX B200",
    "chips": 8,
    "input_tokens": 4000,
    "output_tokens": 100,
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
    for width in np.geomspace(1e-14, 0.3, 28):
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


@pytest.mark.parametrize("load", [0.5, 0.9, 0.97])
def test_the_rate_of_a_load_is_found_close_to_saturation(load):
    """Estimates of running sequences fell near saturation: one of three boundaries was given."""
    rate = rs.solve("arrival_rate", f"service_load == {load}", SATURATED).item()
    assert rs.value("service_load", SATURATED, arrival_rate=rate) == pytest.approx(load)
    running = rs.value("loaded_running_sequences", SATURATED, arrival_rate=rate)
    answer = rs.solve("arrival_rate", f"loaded_running_sequences <= {running}", SATURATED, at="all")
    assert answer.to_numpy() == pytest.approx([rate])
    assert not answer["reason"].item()


@pytest.mark.parametrize("share", [0.95, 0.99])
def test_loads_that_fall_where_they_are_taken_to_rise_are_undecided(share):
    """Of more prompts that share a step each takes less, so that a percentile falls by 18%."""
    most = rs.solve("arrival_rate", "service_load == 1", FALLING).item()
    rates = most * np.linspace(0.5, 0.99, 200)
    late = rs.evaluate("time_per_output_token_p99", FALLING, arrival_rate=rates).to_numpy()
    limit = share * late.max()
    answer = rs.solve("arrival_rate", f"time_per_output_token_p99 <= {limit}", FALLING, at="all")
    roots = answer.to_numpy()
    assert np.count_nonzero(np.diff(late <= limit)) == np.count_nonzero(roots < 0.99 * most) == 2
    assert answer["reason"].item().startswith("undecided")
    largest = rs.solve("arrival_rate", f"time_per_output_token_p99 <= {limit}", FALLING, at="largest")
    assert math.isnan(largest.item())


@pytest.mark.parametrize("steep", ["exp((5 - replicas) * 1e10)", "min(1, max(0, (5 - replicas) * 1e12 + 0.5))"])
def test_a_steep_root_of_unknown_rounding_is_found(steep):
    """It counted as a jump, since a derivative on the way is undefined."""
    with rs.definitions():
        rs.define("steep", "1", f"{steep} + sqrt(max(0, 1 - replicas))", brief="a steep slope")
        answer = rs.solve("replicas", "steep == 0.75", at="all")
    assert answer.to_numpy() == pytest.approx([5])
    assert not answer["reason"].item()
