"""`rs.simulate` by the scenario of the closed forms: presets, sessions, prompts that are read elsewhere."""

from __future__ import annotations

from typing import Any

import pytest
import roofslate as rs
from roofslate.errors import IneffectiveInput

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
    told = rs.simulate(scenario, requests=10_000, seed=1)
    spelled = rs.simulate(
        SERVICE, input_tokens=700, output_tokens=200, arrival_rate=6 * 0.2, requests=10_000, seed=1,
        sessions=rs.Sessions(
            turns=6, pause=10, pause_cv=2, first_prompt=4000, cache_tokens=(200e9 / size,),
            fetch_token_time=(size / 50e9,),
        ),
    )  # fmt: skip
    assert told.requests.equals(spelled.requests)


def test_forms_and_simulation_agree_on_the_hits_of_one_scenario() -> None:
    # Che's approximation is one for many sessions: this cache holds some 60 of them
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
    """A scenario serves many calls; pytest makes the warning of an input without effect an error."""
    load = {**SERVICE, "chip_price": "2 USD/h", "input_tokens": 1000, "output_tokens": 100, "arrival_rate": 3}
    assert mean(load, "time_to_first_token", requests=1000) > 0
    agent = {**SERVICE, **AGENT, "session_rate": 0.1, "chip_price": "2 USD/h"}
    assert mean(agent, "time_to_first_token", requests=1000) > 0
