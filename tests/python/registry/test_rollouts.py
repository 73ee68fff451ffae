"""Rollouts with long tails: against a simulated batch, limits, derivatives and bounds."""

from __future__ import annotations

import heapq
import itertools
import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given
from hypothesis import strategies as st
from roofslate.grid.read import Settled

BATCH: dict[str, Any] = {
    "rollouts_per_batch": 1024,
    "batch_slots": 256,
    "rollout_length": 4000,
    "rollout_length_cv": 1,
    "rollout_length_limit": 64000,
    "fixed_pass_time": "20 ms",
    "pass_time_per_sequence": "0.1 ms",
    "emitted_length": 1,
}


def makespan(lengths: np.ndarray, slots: int, fixed: float, each: float) -> float:
    """Return the time until the last rollout ends.

    A pass takes a + b times the running sequences.
    """
    waiting = list(lengths[::-1])
    running: list[float] = []  # passes at which they end
    passes = time = 0.0
    while waiting or running:
        while waiting and len(running) < slots:
            heapq.heappush(running, passes + waiting.pop())
        end = heapq.heappop(running)
        time += (end - passes) * (fixed + each * (len(running) + 1))
        passes = end
    return time


def test_makespans_are_those_of_simulated_batches() -> None:
    chance = np.random.default_rng(3)
    errors = []
    for _ in range(120):
        slots, ratio = int(np.exp(chance.uniform(2.5, 5.5))), np.exp(chance.uniform(math.log(0.25), math.log(8)))
        count, cv = max(int(slots * ratio), 2), float(chance.uniform(0.3, 2))
        limit, each = float(chance.uniform(4, 30)), float(np.exp(chance.uniform(-2, 1))) / slots
        sigma = math.sqrt(math.log1p(cv**2))
        lengths = np.minimum(np.exp(sigma * chance.standard_normal((40, count)) - sigma**2 / 2), limit)
        simulated = np.mean([makespan(one, slots, 1.0, each) for one in lengths])
        form = rs.value(
            "rollout_time",
            rollouts_per_batch=count, batch_slots=slots, rollout_length=1, rollout_length_cv=cv,
            rollout_length_limit=limit, fixed_pass_time=1, pass_time_per_sequence=each, emitted_length=1,
        )  # fmt: skip
        errors.append(abs(form / simulated - 1))
    assert np.median(errors) < 0.04
    assert np.mean(np.array(errors) < 0.15) >= 0.9


@pytest.mark.parametrize(
    ("cv", "factors"), [(0.5, (2.05, 1.53, 1.27, 1.13)), (1, (3.6, 2.7, 1.9, 1.4)), (2, (6.9, 4.0, 2.5, 1.8))]
)
def test_waiting_costs_less_the_more_batches_share_the_slots(cv: float, factors: tuple[float, ...]) -> None:
    scenario = Settled({**BATCH, "batch_slots": 128, "pass_time_per_sequence": 0.02 / 128, "rollout_length_cv": cv})
    result = [
        float(rs.value("rollout_waiting_factor", Settled({**scenario, "rollouts_per_batch": 128 * k})))
        for k in (1, 2, 4, 8)
    ]
    assert result == pytest.approx(factors, rel=0.1)


def test_equal_lengths_wait_for_nobody() -> None:
    equal = {**BATCH, "rollouts_per_batch": 256, "rollout_length_cv": 0}
    assert rs.value("rollout_waiting_factor", Settled(equal)) == pytest.approx(1, rel=1e-14)
    assert rs.value("rollout_utilization", Settled(equal)) == pytest.approx(1, rel=1e-14)


def test_the_longest_of_one_is_the_mean() -> None:
    for cv in (0.1, 0.7, 2.5):
        scenario = {"rollout_length": 1, "rollout_length_cv": cv, "rollout_length_limit": 3}
        longest = rs.value("longest_rollout_tokens", scenario, rollouts_per_batch=1)
        assert longest == pytest.approx(float(rs.value("mean_rollout_tokens", scenario)), rel=1e-13)


SHAPES = st.fixed_dictionaries(
    {
        "rollouts_per_batch": st.floats(2, 1e5),
        "batch_slots": st.floats(2, 2000),
        "rollout_length_cv": st.floats(0.05, 2.5),
        "rollout_length_limit": st.floats(3000, 3e5),
    }
)


@given(SHAPES)
def test_derivatives_are_those_of_differences(shape: dict[str, float]) -> None:
    scenario = Settled({**BATCH, **shape})
    for name in ("longest_rollout_tokens", "last_rollouts_tokens", "mean_rollout_tokens", "rollout_passes"):
        inputs = [key for key in shape if key in rs.quantity(name).needs or key == "rollout_length_limit"]
        slopes = rs.gradient(name, scenario, to=inputs)
        for key in inputs:
            step = 1e-3 * shape[key]
            at = [float(rs.value(name, Settled(scenario | {key: shape[key] + k * step}))) for k in (-2, -1, 1, 2)]
            difference = (8 * (at[2] - at[1]) - (at[3] - at[0])) / (12 * step)
            scale = abs(at[1] / shape[key])
            if abs(shape["rollouts_per_batch"] / shape["batch_slots"] - 1) > 0.01:  # the formula changes at 1
                assert float(slopes[key]) == pytest.approx(difference, rel=1e-6, abs=1e-7 * scale)


@given(SHAPES, st.sampled_from(["rollouts_per_batch", "batch_slots", "rollout_length_limit"]))
def test_bounds_contain_every_value(shape: dict[str, float], wide: str) -> None:
    ends = (shape[wide], shape[wide] * 1.3)
    for output in ("longest_rollout_tokens", "last_rollouts_tokens", "rollout_time"):
        if wide != "rollout_length_limit" and output != "rollout_time" and wide not in rs.quantity(output).needs:
            continue
        low, high = rs.bounds(output, Settled({**BATCH, **shape, wide: ends}))
        for x in np.linspace(*ends, 5):
            assert low <= rs.value(output, Settled({**BATCH, **shape, wide: float(x)})) <= high


def test_more_rollouts_last_longer() -> None:
    counts = rs.geomspace(1, 1e5, 60)
    times = np.asarray(rs.evaluate("longest_rollout_tokens", Settled({**BATCH, "rollouts_per_batch": counts})))
    assert np.all(np.diff(times) > 0)
    assert times.max() < BATCH["rollout_length_limit"]
    assert list(itertools.accumulate(times, max)) == list(times)


def test_the_rest_of_absurdly_many_rollouts_stays_below_the_limit():
    """A share above 1 by rounding, to a power of 10^20, made it -inf."""
    tokens = rs.evaluate(
        "last_rollouts_tokens", output_tokens=500, rollout_length_limit=0.0055, batch_slots=[10, 1e6, 1e20, 1e60, 1e300]
    ).to_numpy()
    assert (np.diff(tokens) >= 0).all()
    assert tokens[-1] == pytest.approx(0.0055)
