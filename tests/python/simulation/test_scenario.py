"""Simulation by the scenario of the closed forms: presets, sessions, and prefill pools."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate.errors import IneffectiveInput, ValueRangeError
from roofslate.grid.read import Settled

SERVICE: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "H200", "chips": 8, "weight_format": "fp8"}
AGENT: dict[str, Any] = {
    "turns": 6,
    "first_prompt_tokens": "4k",
    "turn_input_tokens": 700,
    "output_tokens": 200,
    "pause_time": "10 s",
    "pause_cv": 2,
}


def mean(scenario: dict[str, Any], what: str, requests: int = 20_000, **more: Any) -> float:
    value, _ = rs.simulate(scenario, requests=requests, seed=1, **more).mean(what)
    return value


def test_a_workload_supplies_the_lengths_and_their_spread() -> None:
    named = rs.simulate(SERVICE, workload="Azure conversation 2023", arrival_rate=5, requests=5000, seed=1)
    spelled = rs.simulate(
        SERVICE, input_tokens=1154.7, output_tokens=211.13, input_cv=0.96, output_cv=0.77, arrival_cv=1.09,
        arrival_rate=5, requests=5000, seed=1,
    )  # fmt: skip
    assert named.requests.equals(spelled.requests)


def test_hits_that_are_given_are_not_read() -> None:
    load = {**SERVICE, "input_tokens": 8000, "output_tokens": 100, "arrival_rate": 3}
    assert mean(load, "time_to_first_token", prefix_hit_rate=0.9) < 0.5 * mean(load, "time_to_first_token")


def test_turns_of_the_scenario_are_the_sessions() -> None:
    scenario = {
        **SERVICE,
        **AGENT,
        "session_rate": 0.2,
        "dram_prefix_cache": "200 GB",
        "dram_cache_bandwidth": "50 GB/s",
    }
    size = rs.value("kv_bytes_per_token", SERVICE)
    by_scenario = rs.simulate(scenario, requests=10_000, seed=1)
    spelled = rs.simulate(
        SERVICE, input_tokens=700, output_tokens=200, arrival_rate=6 * 0.2, requests=10_000, seed=1,
        sessions=rs.Sessions(
            turns=6, pause=10, pause_cv=2, first_prompt=4000, cache_tokens=(200e9 / size,),
            fetch_token_time=(size / 50e9,),
        ),
    )  # fmt: skip
    assert by_scenario.requests.equals(spelled.requests)


def test_forms_and_simulation_agree_on_the_hits_of_one_scenario() -> None:
    # Che's approximation is one for many sessions: this prefix cache holds some 60 of them
    scenario = {
        **SERVICE,
        **AGENT,
        "session_rate": 0.6,
        "dram_prefix_cache": "20 GB",
        "dram_cache_bandwidth": "50 GB/s",
    }
    formed = rs.value("prefix_hit_rate", scenario)
    assert 0.3 < formed < 0.8
    assert mean(scenario, "hit_rate", requests=60_000) == pytest.approx(formed, abs=0.03)


def test_what_is_not_simulated_is_said() -> None:
    with pytest.raises(IneffectiveInput, match="kept_output_share is not simulated"):
        rs.simulate({**SERVICE, **AGENT}, session_rate=1, kept_output_share=0.5, seed=1)


def test_prompts_read_elsewhere_are_apart() -> None:
    load = {**SERVICE, "input_tokens": 1000, "output_tokens": 100, "arrival_rate": 3}
    elsewhere = rs.simulate(load, serving_mode="disaggregated", requests=5000, seed=1)
    assert elsewhere.requests.equals(rs.simulate(load, prompt_policy="apart", requests=5000, seed=1).requests)
    with pytest.raises(IneffectiveInput, match="serving_mode='disaggregated' they are read elsewhere"):
        rs.simulate(load, serving_mode="disaggregated", prompt_policy="first", seed=1)


def test_a_price_in_the_scenario_is_no_mistake() -> None:
    """A scenario serves many calls, so a price without effect raises no warning.

    Pytest makes a warning an error.
    """
    load = {**SERVICE, "chip_price": "2 USD/h", "input_tokens": 1000, "output_tokens": 100, "arrival_rate": 3}
    assert mean(load, "time_to_first_token", requests=1000) > 0
    agent = {**SERVICE, **AGENT, "session_rate": 0.1, "chip_price": "2 USD/h"}
    assert mean(agent, "time_to_first_token", requests=1000) > 0


# ------------------------------------------------------------------------------------- one group, one pool of prompts


@pytest.mark.parametrize("groups", [1, 2, 8])
@pytest.mark.parametrize(("policy", "load"), [("chunked", 0.2), ("chunked", 0.8), ("first", 0.5), ("first", 0.8)])
def test_a_prompt_takes_the_time_of_its_own_group(groups: int, policy: str, load: float) -> None:
    """With attention DP a replica reads several prompts at once, none faster than its group."""
    service = {
        "model": "DeepSeek-V3", "hardware": "HGX H200", "chips": 8, "attention_data_parallel": groups,
        "input_tokens": "2k", "output_tokens": 500, "input_cv": 1, "output_cv": 0.8, "prompt_policy": policy,
        "calibration": "serving",
    }  # fmt: skip
    rate = load * rs.value("max_arrival_rate", service, arrival_rate=1)
    simulated, error = rs.simulate(service, arrival_rate=rate, requests=30_000, seed=2).mean("time_to_first_token")
    assert error < 0.05 * simulated
    assert rs.value("time_to_first_token", service, arrival_rate=rate) == pytest.approx(simulated, rel=0.15)


def test_a_lone_prompt_is_as_quick_as_its_group() -> None:
    alone = {**SERVICE, "input_tokens": 8000, "output_tokens": 1, "arrival_rate": 1e-3, "prompt_policy": "first"}
    layouts: list[dict[str, int]] = [{}, {"attention_data_parallel": 4}, {"tensor_parallel": 2, "pipeline_stages": 4}]
    for layout in layouts:
        names = ("prompt_work_time", "prompt_pass_overhead")
        work, overhead = (float(rs.value(name, Settled({**alone, **layout}))) for name in names)
        result = mean({**alone, **layout}, "time_to_first_token", requests=200)
        assert result == pytest.approx(work + overhead, rel=1e-3)


STAGES: dict[str, Any] = {
    "model": "Llama 3.3 70B", "hardware": "H100 SXM", "chips": 16, "tensor_parallel": 4, "pipeline_stages": 4,
    "input_tokens": 2000, "output_tokens": 100, "calibration": "serving", "kernel_time": "50 us",
}  # fmt: skip


@pytest.mark.parametrize("load", [0.3, 0.7])
@pytest.mark.parametrize(
    "more", [{}, {"prompt_policy": "first"}, {"serving_mode": "disaggregated", "prefill_replicas": 2}], ids=str
)
def test_stages_work_on_different_prompts(more: dict[str, Any], load: float) -> None:
    """A pass keeps each stage for its share of the fixed time: other prompts follow."""
    service = {**STAGES, **more}
    fixed, share = (rs.value(f"{name}_pass_overhead", Settled(service)) for name in ("prompt", "stage"))
    assert share == fixed / 4
    pool = "serving_mode" in more
    most = "max_prefill_rate" if pool else "max_arrival_rate"
    rate = load * rs.value(most, Settled({**service, "arrival_rate": 1}))
    service |= {"arrival_rate": rate, "replicas": 6 if pool else 1}
    simulation = rs.simulate(service, requests=8000, seed=2)
    for name in ("time_to_first_token", "time_per_output_token"):
        simulated, error = simulation.mean(name)
        assert error < 0.05 * simulated
        assert rs.value(name, service) == pytest.approx(simulated, rel=0.15), name


def drawn_pools(number: int) -> dict[str, Any]:
    """A service of two pools that both keep up."""
    random = np.random.default_rng([31, number])
    service = {
        "model": ["DeepSeek-V3", "Llama-3.1-70B"][number % 2], "hardware": "HGX H200", "chips": 8,
        "attention_data_parallel": int(random.choice([1, 4])) if number % 2 == 0 else 1,
        "serving_mode": "disaggregated", "prefill_replicas": int(random.integers(1, 5)),
        "input_tokens": float(random.integers(1000, 8000)), "output_tokens": float(random.integers(100, 600)),
        "input_cv": float(random.choice([0, 0.5, 1])), "output_cv": float(random.choice([0, 1])),
        "arrival_cv": float(random.choice([1, 1.5])), "calibration": "serving",
    }  # fmt: skip
    most = float(rs.value("max_prefill_rate", Settled(service)))
    rate = float(random.uniform(0.3, 0.85)) * most
    load = float(rs.value("slot_load", Settled({**service, "arrival_rate": rate})))
    return {**service, "arrival_rate": rate, "replicas": math.ceil(load / 0.75)}


@pytest.mark.parametrize("number", range(10))
def test_first_tokens_wait_for_the_prefill_pool(number: int) -> None:
    service = drawn_pools(number)
    simulated = rs.simulate(service, requests=200_000, seed=1, progress=False)
    late, error = simulated.percentile("time_to_first_token", 0.99)
    assert error < 0.06 * late
    assert rs.value("time_to_first_token_p99", service) == pytest.approx(late, rel=0.25)
    assert rs.value("time_to_first_token", service) == pytest.approx(simulated.mean("time_to_first_token")[0], rel=0.15)


POOLS = {**SERVICE, "input_tokens": 4000, "output_tokens": 200, "serving_mode": "disaggregated"}


def test_prefill_replicas_are_the_simulated_pool() -> None:
    by_scenario = rs.simulate(POOLS, prefill_replicas=2, arrival_rate=6, requests=5000, seed=1)
    assert by_scenario.requests.equals(
        rs.simulate(POOLS, prefill=rs.PrefillPool(2), arrival_rate=6, requests=5000, seed=1).requests
    )
    with pytest.raises(IneffectiveInput, match="Leave out one"):
        rs.simulate(POOLS, prefill=rs.PrefillPool(2), prefill_replicas=2, arrival_rate=6, seed=1)
    with pytest.raises(IneffectiveInput, match="disaggregated"):
        rs.simulate({**POOLS, "serving_mode": "aggregated"}, prefill_replicas=2, arrival_rate=6, seed=1)
    with pytest.raises(ValueRangeError, match="whole number"):
        rs.simulate(POOLS, prefill_replicas=1.5, arrival_rate=6, seed=1)
    with pytest.raises(ValueRangeError, match="1 prefill replicas"):
        rs.simulate(POOLS, prefill_replicas=1, arrival_rate=200, replicas=100, seed=1)


def test_a_prefill_pool_that_does_not_keep_up_has_no_end() -> None:
    most = float(rs.value("max_prefill_rate", Settled({**POOLS, "prefill_replicas": 2})))
    full = {**POOLS, "prefill_replicas": 2, "replicas": 20, "arrival_rate": 1.01 * most}
    for name in ("time_to_first_token", "time_to_first_token_p99", "request_latency"):
        assert rs.value(name, full) == math.inf
    assert rs.value("load_limit", full) == "prefill_pool"
    assert rs.value("service_load", full) == pytest.approx(1.01, rel=1e-9)
    enough = {**full, "prefill_replicas": 4}
    few = {**enough, "replicas": 1, "max_running_sequences": 8}
    assert rs.value("load_limit", Settled(few)) == "decoding"
    late = [rs.value("time_to_first_token_p99", {**full, "prefill_replicas": n}) for n in (3, 4, 8)]
    assert late[0] > late[1] > late[2]
    together = {**SERVICE, "input_tokens": 4000, "output_tokens": 200, "arrival_rate": 3}
    assert rs.value("time_to_first_token_p99", Settled({**together, "prefill_replicas": 1})) == pytest.approx(
        rs.value("time_to_first_token_p99", together), rel=1e-12
    )


def test_the_bill_has_each_pool_once() -> None:
    service = {**POOLS, "arrival_rate": 6, "replicas": 3, "prefill_replicas": 2, "chip_price": "$3/hour"}
    hour = 3 * 8 / 3600
    assert rs.value("cost_per_output_token", service) == pytest.approx(5 * hour / (6 * 200), rel=1e-12)
    assert rs.value("blended_cost_per_token", service) == pytest.approx(5 * hour / (6 * 4200), rel=1e-12)
    assert rs.value("cost_per_input_token", service) == pytest.approx(2 * hour / (6 * 4000), rel=1e-12)
    dear = {**service, "prefill_replica_price": "$48/hour"}
    assert rs.value("cost_per_input_token", dear) == pytest.approx(2 * 2 * hour / (6 * 4000), rel=1e-12)
    assert rs.value("cost_per_output_token", dear) == pytest.approx(7 * hour / (6 * 200), rel=1e-12)


def test_given_times_of_a_pool_are_taken() -> None:
    alone = {**POOLS, "arrival_rate": 1e-3, "output_tokens": 1}
    given = {"token_time": 1e-5, "fixed_time": 0.2, "transfer_token_time": 0.0}
    first = [
        rs.simulate(alone, prefill=rs.PrefillPool(**given, **more), requests=200, seed=1).mean("time_to_first_token")[0]
        for more in ({}, {"token_lag_time": 2e-5}, {"lag_time": 0.03})
    ]
    assert first[1] - first[0] == pytest.approx(2e-5 * 4000, rel=1e-6)
    assert first[2] - first[0] == pytest.approx(0.03, rel=1e-6)
    step = rs.value("round_time", Settled({**POOLS, "batch_size": 1}))
    assert first[0] == pytest.approx(0.2 + 1e-5 * 4000 + step, rel=0.02)
