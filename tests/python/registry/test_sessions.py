"""Sessions and their prefix caches against a simulated LRU prefix cache.

Limits, derivatives, bounds, and the inputs that have an effect.
"""

from __future__ import annotations

import itertools
import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given
from hypothesis import strategies as st
from roofslate.grid.read import Settled
from support.session_caches import Sessions, simulate

AGENT: dict[str, Any] = {"turns": 30, "first_prompt_tokens": 8000, "turn_input_tokens": 500, "output_tokens": 400}
CACHED: dict[str, Any] = {
    **AGENT,
    "pause_time": 20,
    "pause_cv": 2,
    "session_rate": 0.2,
    "prefix_cache_capacity": 1e12,
    "kv_bytes_per_token": 327680,
}
SERVED: dict[str, Any] = {
    "model": "Llama-3.1-70B",
    "hardware": "H100",
    "chips": 8,
    "weight_format": "fp8",
    "concurrency": 16,
    "chip_price": "2 USD/h",
}

# ------------------------------------------------------------------------------------------------ against a simulation


def drawn(number: int) -> tuple[Sessions, float]:
    """Sessions of 2 to 50 turns, and a prefix cache for 3% to 300% of the pausing ones."""
    chance = np.random.default_rng([7, number])
    turns = float(np.round(np.exp(chance.uniform(math.log(2), math.log(50)))))
    paused = chance.uniform(50, 200)
    sessions = Sessions(
        turns=turns,
        is_fixed=bool(chance.random() < 0.5),
        first_prompt=chance.uniform(0, 4000),
        turn_input=chance.uniform(100, 1000),
        turn_output=chance.uniform(50, 800),
        pause_cv=float(np.exp(chance.uniform(math.log(0.5), math.log(4)))),
        rate=paused / (turns - 1),
    )
    return sessions, paused * float(np.exp(chance.uniform(math.log(0.03), math.log(3))))


def test_hit_rates_are_those_of_a_simulated_cache() -> None:
    errors = []
    for number in range(64):
        sessions, slots = drawn(number)
        scenario = {
            "turns": sessions.turns,
            "turns_distribution": "fixed" if sessions.is_fixed else "geometric",
            "first_prompt_tokens": sessions.first_prompt,
            "turn_input_tokens": sessions.turn_input,
            "output_tokens": sessions.turn_output,
            "pause_time": 1,
            "pause_cv": sessions.pause_cv,
            "session_rate": sessions.rate,
        }
        after_a_turn = float(rs.value("input_tokens", Settled(scenario))) + sessions.turn_output
        cache = {"session_kv_bytes": after_a_turn, "prefix_cache_capacity": slots * after_a_turn}
        names = ["prefix_hit_rate", "request_hit_rate", "fresh_input_cv"]
        by_tokens, by_requests, fresh = (float(rs.value(name, Settled({**scenario, **cache}))) for name in names)
        paused = sessions.rate * (sessions.turns - 1)
        turns = int(np.clip(15 * sessions.turns * paused, 20_000, 120_000))
        simulated = simulate(sessions, slots * after_a_turn, turns, seed=number)
        errors.append(
            (by_tokens - simulated.by_tokens, by_requests - simulated.by_requests, fresh / simulated.fresh_cv - 1)
        )
    tokens, requests, fresh_cv = np.abs(np.array(errors)).T
    assert np.median(tokens) < 0.008
    assert np.quantile(tokens, 0.9) < 0.03
    assert np.quantile(requests, 0.9) < 0.03
    assert np.median(fresh_cv) < 0.03


# --------------------------------------------------------------------------------------------------------------- limits


def test_without_a_session_nothing_changes() -> None:
    request = {**SERVED, "input_tokens": 5000, "output_tokens": 400}
    assert rs.value("prefix_hit_rate", Settled(request)) == 0
    for name in ("time_to_first_token", "cost_per_request", "memory_limited_sequences", "hbm_used"):
        explicit = {**request, "prefix_hit_rate": 0, "prefix_load_time": 0}
        assert rs.value(name, Settled(request)) == rs.value(name, Settled(explicit))
    assert rs.value("cost_per_session", Settled(request)) == rs.value("cost_per_request", Settled(request))


def test_a_turn_reads_all_that_came_before() -> None:
    prompts = [8000 + 500 + earlier * 900 for earlier in range(30)]
    fixed = {**AGENT, "turns_distribution": "fixed"}
    assert rs.value("input_tokens", fixed) == pytest.approx(np.mean(prompts), rel=1e-14)
    assert rs.value("turn_prompt_cv", fixed) == pytest.approx(np.std(prompts) / np.mean(prompts), rel=1e-13)
    assert rs.value("session_prompt_tokens", fixed) == pytest.approx(sum(prompts), rel=1e-14)
    new = (8500 + 29 * 500) / sum(prompts)
    assert rs.value("prefix_hit_ceiling", fixed) == pytest.approx(1 - new, rel=1e-13)


def test_an_endless_cache_reaches_the_ceiling() -> None:
    ceiling = rs.value("prefix_hit_ceiling", AGENT)
    assert rs.value("prefix_hit_rate", AGENT, prefix_cache_capacity=math.inf) == ceiling
    assert rs.value("prefix_hit_rate", AGENT, dram_prefix_cache=math.inf) == ceiling
    assert rs.value("prefix_hit_rate", CACHED | {"prefix_cache_capacity": 1e17}) == pytest.approx(ceiling, rel=1e-9)
    assert rs.value("prefix_hit_rate", AGENT) == 0  # no prefix cache, no hits
    assert rs.value("prefix_hit_rate", Settled(CACHED | {"prefix_cache_capacity": 0})) == 0


def test_a_hit_rate_that_is_given_holds() -> None:
    assert rs.value("fresh_input_tokens", AGENT, prefix_hit_rate=0.9) == pytest.approx(3460)


def test_a_blind_router_divides_hits_by_the_replicas() -> None:
    one = rs.value("prefix_hit_rate", CACHED)
    assert rs.value("prefix_hit_rate", CACHED, session_affinity=1 / 8) == pytest.approx(one / 8, rel=1e-14)
    fleet = CACHED | {"replicas": 8, "session_rate": 8 * CACHED["session_rate"]}  # a prefix cache in each
    assert rs.value("prefix_hit_rate", fleet) == pytest.approx(one / 8, rel=1e-14)
    assert rs.value("prefix_hit_rate", fleet, router="session") == pytest.approx(one, rel=1e-14)


def test_hits_of_tokens_and_of_requests_differ() -> None:
    endless = {**AGENT, "turns": 2, "prefix_cache_capacity": math.inf}
    assert rs.value("request_hit_rate", Settled(endless)) == 0.5
    assert rs.value("prefix_hit_rate", endless) == pytest.approx(1 - (8500 / 2 + 500 / 2) / 9400)


def test_dropped_thinking_breaks_the_prefix() -> None:
    all_kept = rs.value("new_prompt_tokens", AGENT)
    assert rs.value("new_prompt_tokens", AGENT, kept_output_share=0.99) > all_kept + 300


def test_prefixes_in_hbm_take_room_from_running_sequences() -> None:
    request = {**SERVED, "context_length": 30_000}
    with_room = rs.value("memory_limited_sequences", Settled(request))
    less = rs.value("memory_limited_sequences", Settled(request | {"hbm_prefix_cache": "100 GB"}))
    sequence = rs.value("kv_stored_bytes", Settled(request))
    assert (with_room - less) * sequence == pytest.approx(100e9, rel=1e-12)


def test_tiers_share_the_hits() -> None:
    tiers = {"hbm_prefix_cache": 1e11, "dram_prefix_cache": 3e11, "ssd_prefix_cache": 2e12}
    scenario = Settled({**CACHED, **tiers, "prefix_cache_capacity": 2.4e12})
    shares = [float(rs.value(f"{tier}_hit_rate", scenario)) for tier in ("hbm", "dram", "ssd")]
    assert all(0.02 < share < 0.98 for share in shares)
    assert sum(shares) == pytest.approx(float(rs.value("turn_hit_rate", scenario)), rel=1e-14)


def test_a_slow_tier_delays_the_first_token() -> None:
    scenario = {**AGENT, **SERVED, "pause_time": 20, "session_rate": 0.2, "dram_prefix_cache": "5 TB"}
    times = [
        rs.value("prefix_load_time", Settled(scenario | {"dram_cache_bandwidth": bandwidth}))
        for bandwidth in ("1 TB/s", "100 GB/s", "20 GB/s")
    ]
    no_hits = rs.value("time_to_first_token", Settled({**AGENT, **SERVED}))
    assert times[0] < times[1] < times[2]
    loaded = rs.value("time_to_first_token", Settled({**AGENT, **SERVED, "prefix_load_time": times[1]}))
    assert loaded == pytest.approx(no_hits + times[1], rel=1e-12)
    served = {name: x for name, x in SERVED.items() if name != "concurrency"} | {"replicas": 8, "session_rate": 0.2}
    first, later = (
        rs.value("time_to_first_token_p99", Settled({**AGENT, **served, "prefix_load_time": x})) for x in (0, times[1])
    )
    assert later == pytest.approx(first + times[1], rel=1e-12)
    least = rs.value("break_even_fetch_bandwidth", Settled(scenario))
    assert 1e9 < least < 100e9


def test_sessions_and_arrivals_follow_from_each_other() -> None:
    assert rs.value("arrival_rate", turns=30, session_rate="0.2/s") == 6
    assert rs.value("session_rate", turns=30, arrival_rate="6/s") == pytest.approx(0.2)
    with pytest.raises(rs.errors.MissingInput, match=r"'session_rate' .* or 'arrival_rate'"):
        rs.value("turn_rate", turns=30)


def test_what_a_missing_cache_leaves_out_is_said() -> None:
    with pytest.warns(rs.RoofslateWarning, match="pause_time"):
        rs.value("prefix_hit_rate", AGENT, pause_time=20)


def test_a_missing_prompt_is_named_before_its_turns() -> None:
    with pytest.raises(rs.errors.MissingInput, match=r"'context_length' .* or 'input_tokens' .* or 'turn_in"):
        rs.value("kv_stored_bytes", kv_bytes_per_token=1)


@pytest.mark.parametrize(
    ("name", "value", "said"),
    [
        ("turns", 0.5, ">= 1"),
        ("pause_time", 0, "> 0"),
        ("pause_cv", -1, ">= 0"),
        ("shared_prompt_tokens", 9000, "first_prompt_tokens"),
        ("turns_distribution", "uniform", "geometric"),
    ],
)
def test_values_out_of_range_are_refused(name: str, value: Any, said: str) -> None:
    with pytest.raises(rs.RoofslateError, match=said):
        rs.value("prefix_hit_rate", CACHED | {name: value})


# --------------------------------------------------------------------------------------------- derivatives and bounds

BOXES = {
    "turns": (1.5, 60.0),
    "pause_time": (1.0, 300.0),
    "pause_cv": (0.1, 4.0),
    "session_rate": (0.01, 2.0),
    "prefix_cache_capacity": (1e10, 5e12),
    "first_prompt_tokens": (0.0, 2e4),
    "turn_input_tokens": (50.0, 3000.0),
    "output_tokens": (20.0, 2000.0),
}
POINT = st.fixed_dictionaries({name: st.floats(*box) for name, box in BOXES.items()})


@given(POINT)
def test_derivatives_are_those_of_differences(point: dict[str, float]) -> None:
    scenario = {**CACHED, **point}
    names = [*BOXES]
    slopes = rs.gradient("prefix_hit_rate", scenario, to=names)
    for name in [name for name in names if point[name] > 1]:
        step = 5e-4 * point[name]
        near = [rs.value("prefix_hit_rate", scenario | {name: point[name] + k * step}) for k in (-2, -1, 1, 2)]
        difference = (8 * (near[2] - near[1]) - (near[3] - near[0])) / (12 * step)
        assert float(slopes[name]) == pytest.approx(difference, rel=1e-6, abs=1e-8 / point[name])


@given(POINT, st.lists(st.sampled_from([*BOXES]), min_size=1, max_size=3, unique=True), st.floats(0.01, 0.5))
def test_bounds_contain_every_value(point: dict[str, float], wide: list[str], width: float) -> None:
    scenario = {**CACHED, **point}
    ends = {name: (point[name], min(point[name] * (1 + width), BOXES[name][1])) for name in wide}
    # the share below a time does not go one way with the spread
    for output in ("cache_residence_time", *(["prefix_hit_rate"] if "pause_cv" not in wide else [])):
        low, high = rs.bounds(output, Settled(scenario | ends))
        for corner in itertools.product(*ends.values()):
            x = rs.value(output, Settled(scenario | dict(zip(ends, corner, strict=True))))
            assert low <= x <= high


@given(POINT)
def test_more_room_never_hits_less(point: dict[str, float]) -> None:
    scenario = Settled({**CACHED, **point, "prefix_cache_capacity": rs.geomspace(1e9, 1e14, 40)})
    hits = np.asarray(rs.evaluate("prefix_hit_rate", scenario))
    assert np.all(np.diff(hits) >= -1e-15)
    assert hits.max() <= rs.value("prefix_hit_ceiling", Settled({**CACHED, **point})) * (1 + 1e-12)


def test_pauses_without_spread_are_a_step() -> None:
    steady = {**CACHED, "pause_cv": 0, "session_kv_bytes": 1e9}
    living = 30 * 0.2 * 20 * 1e9  # a prefix cache that keeps a turn for just one pause
    assert rs.value("cache_survival_rate", Settled(steady | {"prefix_cache_capacity": 0.99 * living})) == 0
    assert rs.value("cache_survival_rate", Settled(steady | {"prefix_cache_capacity": 1.01 * living})) == 1
