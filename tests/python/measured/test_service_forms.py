"""Open-loop service: worked cases, limits, derivatives, bounds, and simulation."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate.grid.read import Settled
from roofslate.registry.conditions import parse_conditions
from support.lazy import Lazy

special = Lazy("scipy.special")

SERVICE: dict[str, Any] = {
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
NEARLY_SATURATED: dict[str, Any] = {
    "model": "DeepSeek-V3",
    "hardware": "HGX H200",
    "chips": 8,
    "input_tokens": 1000,
    "output_tokens": 1000,
    "calibration": "serving",
}
LATENCIES = ("time_to_first_token", "time_per_output_token", "inter_token_latency", "request_latency")


def stated(policy: str, rate: float, **other: float) -> dict[str, Any]:
    """A service without a model: 12 ms + 0.1 ms B, 40 us per prompt token, 128 slots."""
    s = {"base": 0.012, "slope": 1e-4, "slots": 128, "prompt": 1000, "input_cv": 1, "answer": 200, "output_cv": 1,
         "token": 40e-6, "arrival_cv": 1, "budget": 8192} | other  # fmt: skip
    disaggregated = policy == "apart"
    prompt, decoded = (0.0, s["answer"]) if disaggregated else (s["token"] * s["prompt"], s["answer"] - 1)
    spare = max(1 - rate * (prompt + decoded * s["slope"]), 1e-3)
    running = min((s["base"] + s["slope"]) * rate * decoded / spare, s["slots"])
    return {
        "arrival_rate": rate,
        "arrival_cv": s["arrival_cv"],
        "input_cv": s["input_cv"],
        "output_cv": s["output_cv"],
        "input_tokens": s["prompt"],
        "output_tokens": s["answer"],
        "prompt_policy": "first" if policy == "first" else "chunked",
        "serving_mode": "disaggregated" if disaggregated else "aggregated",
        "step_token_budget": s["budget"],
        "sequence_slots": s["slots"],
        "decode_step_base": s["base"],
        "decode_step_slope": s["slope"],
        "full_decode_token_time": s["base"] + s["slope"] * s["slots"],
        "running_estimate": running,
        "running_token_time": s["base"] + s["slope"] * running,
        "full_prompt_step_time": prompt,
        "loaded_prompt_step_time": prompt,
        "prompt_work_time": prompt,
        "prompt_pass_overhead": 0.0,
        "prompt_lag_time": 0.0,
        "exposed_kv_transfer_time": 0.0,
    }


# Running sequences, mean and p99 milliseconds per token, to the first token likewise: simulated, 2 million
# requests each.
CASES = [
    (stated("apart", 7.742), 22.15, 14.32, 15.48, 21.4, 29.3),
    (stated("apart", 23.226), 104.5, 22.54, 24.80, 56.0, 669),
    (stated("apart", 23.226, arrival_cv=2), 106.2, 22.81, 24.80, 279, 3080),
    (stated("apart", 2.5806, slots=16, slope=8e-4, output_cv=0), 11.10, 21.50, 24.80, 207, 2467),
    (stated("first", 10.184), 63.6, 31.4, 53.3, 86.3, 434),
    (stated("first", 3.3712, prompt=4000, input_cv=0.5, answer=400), 51.9, 38.6, 81.3, 300, 1054),
    (stated("chunked", 10.184, budget=2048), 64.0, 31.6, 52.9, 135, 584),
    (stated("chunked", 8.4486, budget=2048, prompt=4000, input_cv=0, answer=100, token=10e-6, arrival_cv=1.5),
     18.4, 22.1, 35.6, 203, 776),
]  # fmt: skip


@pytest.mark.parametrize("case", range(len(CASES)))
def test_worked_cases_are_those_of_a_simulation(case: int) -> None:
    inputs, running, mean, late, first, late_first = CASES[case]
    names = ("running_sequences", "time_per_output_token", "time_per_output_token_p99", "time_to_first_token",
             "time_to_first_token_p99")  # fmt: skip
    result = [rs.value(name, Settled(inputs)) for name in names]
    expected = [running, mean / 1e3, late / 1e3, first / 1e3, late_first / 1e3]
    assert result == pytest.approx(expected, rel=0.2)
    assert result[:2] == pytest.approx(expected[:2], rel=0.04)
    assert result[2] == pytest.approx(expected[2], rel=0.11)


@pytest.mark.slow
def test_forms_are_near_simulated_services() -> None:
    errors = rs.validate_service(90, requests=100_000, seed=5).summary()
    for name, within, share in (
        ("running_sequences", "within 3%", 0.9),
        ("time_per_output_token", "within 3%", 0.9),
        ("time_per_output_token_p99", "within 15%", 0.9),
        ("inter_token_latency_p99", "within 15%", 0.9),
        ("time_to_first_token", "within 15%", 0.9),
        ("time_to_first_token_p99", "within 15%", 0.85),
        ("time_to_first_token_p99", "within 25%", 0.93),
    ):
        assert errors.loc[name, within] >= share, name


@pytest.mark.parametrize("policy", ["chunked", "first"])
@pytest.mark.parametrize("calibration", ["floor", "serving"])
@pytest.mark.parametrize("model", ["DeepSeek-V3", "Llama 3.3 70B", "gpt-oss-120b"])
def test_more_sequences_run_at_a_higher_rate_up_to_saturation(model: str, calibration: str, policy: str) -> None:
    """Near saturation their estimate fell by a third, and the time per token with it."""
    service = {"model": model, "hardware": "HGX H200", "chips": 8, "calibration": calibration, "prompt_policy": policy}
    for tokens, answer in ((1000, 1000), (4000, 100), (200, 500)):
        service |= {"input_tokens": tokens, "output_tokens": answer, "max_running_sequences": 4096}
        rates = np.geomspace(0.05, 500, 400)
        load = rs.evaluate("service_load", service, arrival_rate=rates).to_numpy()
        running = rs.evaluate("loaded_running_sequences", service, arrival_rate=rates).to_numpy()[load < 0.99]
        assert (np.diff(running) >= -1e-3 * running[1:]).all()


@pytest.mark.parametrize("rate", [4, 12, 15.5])
def test_the_sequences_that_run_are_those_that_arrive_in_their_steps(rate: float) -> None:
    service = NEARLY_SATURATED | {"arrival_rate": rate}
    running, u, decoded = (
        rs.value(name, service) for name in ("running_estimate", "prompt_time_share", "decoded_tokens")
    )
    step = rs.value("running_token_time", service)
    assert running - 1 == pytest.approx(rate * decoded * step / (1 - u), rel=1e-3)


@pytest.mark.parametrize("rate", [12, 15.5])
def test_a_model_close_to_saturation_is_near_its_simulation(rate: float) -> None:
    """The simulation refused the higher rate, and the form was half of it."""
    service = NEARLY_SATURATED | {"arrival_rate": rate}
    result = rs.simulate(service, requests=40_000, seed=1)
    for name in ("time_per_output_token_p50", "time_per_output_token_p99"):
        simulated, _ = result.percentile("time_per_output_token", int(name[-2:]) / 100)
        assert rs.value(name, service) == pytest.approx(simulated, rel=0.1)


def test_no_arrivals_leave_the_step_of_one_sequence() -> None:
    inputs = stated("chunked", 0.0)
    assert rs.value("running_sequences", Settled(inputs)) == 0
    assert rs.value("time_per_output_token", Settled(inputs)) == pytest.approx(0.0121, rel=1e-12)
    assert rs.value("slot_wait_probability", Settled(inputs)) == 0
    assert rs.value("time_to_first_token", Settled(inputs)) == pytest.approx(0.04 + 0.0121 / 2, rel=0.2)


def test_endless_slots_give_the_negative_binomial_mean() -> None:
    rate, a, b = 5.0, 0.012, 1e-4
    inputs = stated("apart", rate, slots=1e6)
    r = rate * 200 * b
    assert rs.value("running_sequences", Settled(inputs)) == pytest.approx((a / b + 1) * r / (1 - r), rel=1e-9)
    assert rs.value("running_variance", Settled(inputs)) == pytest.approx((a / b + 1) * r / (1 - r) ** 2, rel=1e-3)


@pytest.mark.parametrize("rate", [2.0, 5.0, 6.0])
def test_a_level_step_is_erlangs_queue(rate: float) -> None:
    """Within the approximation of the incomplete beta function, 4e-4 of a share."""
    inputs = stated("apart", rate, slope=12e-9, slots=16, output_cv=0.999999)
    load = rate * 200 * 0.012
    waits = rs.value("slot_wait_probability", Settled(inputs))
    of_b = sum(load**k / math.factorial(k) for k in range(16))
    last = load**16 / math.factorial(16) / (1 - load / 16)
    assert waits == pytest.approx(last / (of_b + last), abs=2e-3)


def test_shares_are_those_of_the_distributions() -> None:
    for n, shape, odds in ((30.0, 12.0, 0.7), (100.0, 121.0, 0.4), (16.0, 3.5, 0.8)):
        below = rs.math._routine("negative_binomial_below", n, shape, odds)
        assert below == pytest.approx(special.betainc(shape, n, 1 - odds), abs=5e-4)
        at = rs.math._routine("negative_binomial_share", n, shape, odds)
        exact = special.gammaln(n + shape) - special.gammaln(n + 1) - special.gammaln(shape)
        assert at == pytest.approx(math.exp(exact + n * math.log(odds) + shape * math.log(1 - odds)), rel=1e-4)


def test_latencies_rise_with_the_rate_and_the_quantile() -> None:
    rates = np.linspace(0.2, 5, 14)
    for name in LATENCIES:
        result = [rs.evaluate(f"{name}_p{q}", SERVICE, arrival_rate=rates).values for q in (50, 90, 95, 99)]
        assert (np.diff(result, axis=0) >= 0).all(), name
        assert (np.diff(result[-1]) > 0).all(), name


def test_more_than_a_replica_can_do_takes_forever_and_says_why() -> None:
    for name in ("running_sequences", "time_to_first_token", *(f"{name}_p99" for name in LATENCIES)):
        assert rs.value(name, SERVICE, arrival_rate=100) == math.inf
    assert rs.value("service_load", SERVICE, arrival_rate=100) > 1
    assert rs.value("load_limit", SERVICE, arrival_rate=100) == "decoding"
    assert rs.value("load_limit", SERVICE, arrival_rate=100, output_tokens=20) == "token_budget"
    assert rs.value("load_limit", Settled(stated("apart", 100.0))) == "decoding"
    least = rs.value("replicas_for_load", SERVICE, arrival_rate=100)
    assert rs.value("service_load", SERVICE, arrival_rate=100, replicas=least) < 1
    assert rs.value("service_load", SERVICE, arrival_rate=100, replicas=least - 1) >= 1


def test_a_percentile_is_the_quantile_at_its_share() -> None:
    for name in LATENCIES:
        named = rs.value(f"{name}_p95", SERVICE, arrival_rate=3)
        assert named == rs.value(f"{name}_quantile", SERVICE, arrival_rate=3, latency_quantile=0.95)
    with pytest.raises(rs.errors.ValueRangeError, match="latency_quantile"):
        rs.value("time_to_first_token_quantile", SERVICE, arrival_rate=3, latency_quantile=1.5)


def test_paths_give_the_same_number() -> None:
    rates = [0.5, 3.0, 6.0]
    names = [f"{name}_p99" for name in LATENCIES]
    grid = rs.evaluate(names, SERVICE, arrival_rate=rates)
    table = rs.frame(__import__("pandas").DataFrame({"arrival_rate": rates}), names, SERVICE)
    for name in names:
        each = [rs.value(name, SERVICE, arrival_rate=rate) for rate in rates]
        assert grid[name].values.tolist() == each
        assert table[name].tolist() == each


def test_derivatives_are_those_of_differences() -> None:
    for name in ("time_per_output_token", "time_to_first_token_p99", "time_per_output_token_p99"):
        for by, at in (("arrival_rate", 3.0), ("output_tokens", 500.0), ("input_tokens", 2000.0)):
            scenario = {**SERVICE, "arrival_rate": 3.0, by: at}
            result = float(rs.gradient(name, scenario, to=by)[by])
            step = 1e-5 * at
            up, down = (rs.value(name, {**scenario, by: at + sign * step}) for sign in (1, -1))
            assert result == pytest.approx((up - down) / (2 * step), rel=1e-4), (name, by)


def test_replicas_are_sized_for_a_promise() -> None:
    plan = rs.deploy(
        {name: x for name, x in SERVICE.items() if name not in ("tensor_parallel", "calibration")},
        objective="cost_per_output_token",
        arrival_rate="20/s",
        where=["ttft_p99 <= 1 s", "tpot_p99 <= 40 ms"],
        also=["service_load", "time_to_first_token_p99"],
        chip_price="3 USD/hour",
    )
    best = plan.table.iloc[0]
    assert best["time_to_first_token_p99"] <= 1
    assert best["service_load"] < 1
    fewer = rs.value("time_per_output_token_p99", plan.best | {"replicas": best["replicas"] - 1})
    assert fewer > 0.04
    bill = 8 * 3 / 3600 * best["replicas"] / (20 * 500)
    assert best["cost_per_output_token"] == pytest.approx(bill, rel=1e-12)


def test_conditions_take_short_names() -> None:
    (condition,) = parse_conditions("ttft_p99 <= 2 s")
    assert condition.lhs.quantities == ("time_to_first_token_p99",)
    (condition,) = parse_conditions("tpot <= 50 ms")
    assert condition.lhs.quantities == ("time_per_output_token",)


def test_clients_and_arrivals_are_not_both_taken() -> None:
    with pytest.raises(rs.errors.IneffectiveInput, match=r"closed loop.*arrival_rate.*give one of the two"):
        rs.value("time_to_first_token", SERVICE, arrival_rate=3, concurrency=64)


def test_explanations_derive_a_percentile() -> None:
    text = str(rs.explain("time_to_first_token_p99", SERVICE, arrival_rate=3))
    assert "latency_quantile" in text
    assert "slot_wait_probability" in text
    assert "running_token_time" in text or "current_step_time" in text


def test_the_step_with_all_slots_is_the_step_of_that_batch() -> None:
    loaded = {**SERVICE, "arrival_rate": 3}
    slots = rs.value("sequence_slots", loaded)
    assert rs.value("full_decode_token_time", loaded) == rs.value("decode_token_time", SERVICE, batch_size=slots)
    estimate = rs.value("running_estimate", loaded)
    assert rs.value("running_token_time", loaded) == rs.value("decode_token_time", SERVICE, batch_size=estimate)


def gaps(policy: str, rate: float, **other: float) -> float:
    """99th percentile of gaps relative to step time, for a steady number of sequences."""
    inputs = stated(policy, rate, slope=1e-7, **other)
    return rs.value("inter_token_latency_p99", Settled(inputs)) / rs.value("current_step_time", Settled(inputs))


def test_a_prompt_over_many_steps_is_in_many_gaps() -> None:
    """A prompt arrives in 0.5% of the steps and fills three: the percentile is a full step."""
    rate, token = 0.4, 2e-6
    assert gaps("first", rate, prompt=7000, input_cv=0, token=token) == pytest.approx(1, rel=0.01)
    full = 2048 * token / 0.012
    result = gaps("chunked", rate, prompt=7000, input_cv=0, token=token, budget=2048)
    assert result == pytest.approx(1 + full, rel=0.01)


def test_a_gap_takes_no_more_than_a_full_step() -> None:
    result = [gaps("chunked", rate, budget=512, input_cv=2) for rate in (1.0, 4.0, 8.0)]
    assert max(result) <= 1 + 512 * 40e-6 / 0.012 + 1e-3
    tokens = [
        rs.value("time_per_output_token_p99", Settled(stated("chunked", rate, budget=512, input_cv=2, output_cv=2)))
        for rate in (1.0, 4.0, 6.0)
    ]
    assert max(tokens) <= 0.012 + 1e-4 * 128 + 512 * 40e-6


def test_bursts_make_gaps_with_prompts_fewer_and_longer() -> None:
    share, mean = "prompt_step_share", "prompt_gap_mean"
    calm, burst = (stated("first", 5.0, arrival_cv=c, slope=1e-7) for c in (1, 3))
    assert rs.value(share, Settled(burst)) < 0.7 * rs.value(share, Settled(calm))
    assert rs.value(mean, Settled(burst)) > 1.3 * rs.value(mean, Settled(calm))
    nearly = stated("first", 5.0, arrival_cv=1 + 1e-7, slope=1e-7)
    assert rs.value(share, Settled(nearly)) == pytest.approx(rs.value(share, Settled(calm)), rel=1e-5)


def test_half_the_requests_wait_no_less_under_more_load() -> None:
    rates = np.linspace(0.5, 12, 60)
    for policy in ("first", "chunked"):
        for q in ("p50", "p90"):
            result = [rs.value(f"time_to_first_token_{q}", Settled(stated(policy, rate))) for rate in rates]
            assert (np.diff(result) >= -1e-3 * np.array(result[1:])).all(), (policy, q)
