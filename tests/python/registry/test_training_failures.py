"""Failures, checkpoints and the critical batch against published numbers."""

from __future__ import annotations

import math

import numpy as np
import pytest
import roofslate as rs
from roofslate import errors

DAY = 86400


def test_goodput_is_one_without_failures_and_asks_for_nothing() -> None:
    assert rs.value("training_goodput") == 1
    assert rs.value("training_goodput", training_goodput=0.9) == 0.9
    with pytest.raises(errors.MissingInput, match="checkpoint_bandwidth"):
        rs.value("training_goodput", chip_time_between_failures=1e10, chips=1000, model="Llama-3.1-405B")


def test_goodput_of_llama() -> None:
    """419 interruptions in 54 days on 16,384 chips, and over 90% effective time."""
    run = {"model": "Llama-3.1-405B", "chips": 16384, "chip_time_between_failures": 54 * DAY * 16384 / 419}
    goodput = rs.value("training_goodput", run, checkpoint_bandwidth="2 TB/s", restart_time="10 min")
    assert 0.9 < goodput < 0.95


def test_checkpoints_of_published_runs() -> None:
    """GPT-1T, 13.8 TB (Narayanan et al. 2021), and BLOOM, 2.3 TiB."""
    assert rs.value("checkpoint_bytes", total_parameters=1.008e12) == pytest.approx(13.8e12, rel=0.03)
    assert rs.value("checkpoint_bytes", total_parameters=176e9) == pytest.approx(2.3 * 2**40, rel=0.03)


def test_goodput_is_the_share_of_a_simulated_run() -> None:
    """Random failures also hit writes and restarts, and repeat work since then."""
    between, interval, writing, restart = 5000.0, 600.0, 60.0, 300.0
    random = np.random.default_rng(7)
    spans = 20000
    clock = 0.0
    for _ in range(spans):
        needed = interval + writing
        while (failure := random.exponential(between)) < needed:
            clock += failure
            needed = restart + interval + writing
        clock += needed
    scenario = {"time_between_failures": between, "checkpoint_interval": interval, "checkpoint_time": writing}
    predicted = rs.value("training_goodput", scenario, restart_time=restart)
    assert predicted == pytest.approx(spans * interval / clock, rel=0.01)


def test_youngs_interval_is_nearly_the_best() -> None:
    scenario = {"time_between_failures": 10000.0, "checkpoint_time": 20.0, "restart_time": 100.0}
    best = rs.value("training_goodput", scenario)
    intervals = rs.evaluate("training_goodput", scenario, checkpoint_interval=np.geomspace(10, 10000, 400))
    assert best == pytest.approx(float(intervals.max()), rel=1e-3)
    assert best > float(intervals[0])
    assert rs.value("training_goodput", scenario, checkpoint_interval=math.inf) == 0  # it never ends


def test_steps_and_tokens_trade_as_mccandlish_et_al_say() -> None:
    """(S / S_min - 1)(E / E_min - 1) = 1 at any batch."""
    run = {"pretraining_tokens": 1e12, "critical_batch_tokens": 4e6}
    for batch in (1e5, 4e6, 1e8):
        steps = rs.value("pretraining_steps", run, tokens_per_step=batch) / rs.value("fewest_pretraining_steps", run)
        tokens = rs.value("large_batch_factor", run, tokens_per_step=batch)
        assert (steps - 1) * (tokens - 1) == pytest.approx(1, rel=1e-9)


def test_the_critical_batch_of_zhang_et_al() -> None:
    """20% more tokens at the critical batch, which grows as the tokens to 0.47."""
    law = {"critical_batch_coefficient": 22.91, "critical_batch_overhead": 0.2}
    batch, longer = (
        rs.value("critical_batch_tokens", pretraining_tokens=tokens, critical_batch_coefficient=22.91)
        for tokens in (1e12, 1e13)
    )
    assert longer / batch == pytest.approx(10**0.47, rel=1e-12)
    assert rs.value("large_batch_factor", pretraining_tokens=1e12, tokens_per_step=batch, **law) == pytest.approx(1.2)


def test_the_critical_batch_acts_on_time_and_cost_and_is_neutral_by_default() -> None:
    run = {"active_parameters": 1e11, "pretraining_tokens": 1e13, "peak_flops": 1e15, "training_utilization": 0.4}
    run |= {"chips": 1000, "chip_price": "2 USD/h"}
    large = {"critical_batch_tokens": 8e6, "tokens_per_step": 16e6}
    for name in ("pretraining_time", "pretraining_cost", "pretraining_flops"):
        assert rs.value(name, run, **large) == pytest.approx(3 * rs.value(name, run), rel=1e-12)
    with pytest.warns(errors.UnusedInput, match="tokens_per_step"):
        rs.value("pretraining_time", run, tokens_per_step=16e6)
