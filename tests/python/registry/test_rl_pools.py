"""Reinforcement learning on two pools: limits, identities and a simulation."""

from __future__ import annotations

import numpy as np
import pytest
import roofslate as rs
from roofslate import errors

POOLS = {
    "model": "Qwen3-32B", "hardware": "H100", "chips": 8, "tensor_parallel": 8, "rollout_replicas": 4, "batch_size": 32,
    "batch_slots": 32, "input_tokens": 500, "output_tokens": 2000, "context_length": 1500, "rollouts_per_batch": 64,
    "trainer_chips": 32, "training_utilization": 0.4, "sequence_length": 2500, "arithmetic": "full",
    "chip_price": "2 USD/h",
}  # fmt: skip


def test_modes_order_the_parts() -> None:
    parts = ["rollout_pool_time", "trainer_time", "weight_sync_time"]
    rollout, trainer, sync = (rs.value(name, POOLS) for name in parts)
    assert rs.value("rl_step_time", POOLS) == pytest.approx(rollout + trainer + sync, rel=1e-12)
    both = rs.value("rl_step_time", POOLS, rl_mode="asynchronous")
    assert both == pytest.approx(max(rollout, trainer) + sync, rel=1e-12)
    shared = rs.value("rl_step_cost", POOLS, rl_mode="colocated")
    assert shared == pytest.approx(rs.value("rl_step_cost", POOLS) / 2, rel=1e-12)  # 32 chips, or 32 and 32


def test_the_trainer_of_balanced_chips_takes_as_long_as_the_rollouts() -> None:
    chips = rs.value("balanced_trainer_chips", POOLS)
    balanced = {**POOLS, "trainer_chips": chips}
    assert rs.value("trainer_time", balanced) == pytest.approx(rs.value("rollout_pool_time", POOLS), rel=1e-12)
    used = rs.evaluate(["trainer_pool_utilization", "rollout_pool_utilization"], balanced, rl_mode="asynchronous")
    assert float(used["trainer_pool_utilization"]) == pytest.approx(float(used["rollout_pool_utilization"]), rel=1e-12)


def test_the_update_is_its_flops_over_the_trainer() -> None:
    tokens = 4 * 64 * (500 + rs.value("mean_rollout_tokens", output_tokens=2000))
    flops = rs.value("training_flops_per_token", model="Qwen3-32B", sequence_length=2500, arithmetic="full")
    peak = rs.value("peak_flops_bf16", hardware="H100")
    assert rs.value("trainer_time", POOLS) == pytest.approx(tokens * flops / (32 * peak * 0.4), rel=1e-12)
    scored = rs.value("trainer_time", POOLS, scoring_passes=2, update_epochs=3)
    active = rs.models["Qwen3-32B"].values["active_parameters"]
    assert scored == pytest.approx(tokens * (3 * flops + 2 * 2 * active) / (32 * peak * 0.4), rel=1e-12)
    with pytest.warns(errors.UnusedInput, match="weight_format"):  # it trains in bf16
        rs.value("trainer_time", POOLS, weight_format="fp8")


def test_staleness_of_a_simulated_pool() -> None:
    """Rollouts end evenly, and the step after that trains on them."""
    scenario = {**POOLS, "rl_mode": "asynchronous", "rollout_refill": "refilled", "rollout_length_cv": 0.0}
    lasts = rs.value("refilled_rollout_time", scenario) * 32 / 64
    step = rs.value("rl_step_time", scenario)
    ends = np.random.default_rng(3).uniform(100 * step, 5000 * step, 100_000)
    trained = np.floor(ends / step) + 1  # number of the update that uses it
    seen = trained - np.floor((ends - lasts) / step)  # updates since it began
    assert rs.value("rl_staleness", scenario) == pytest.approx(float(seen.mean()), rel=0.01)
    assert rs.value("rl_staleness", POOLS) == 0


def test_weights_are_sent_or_relayed() -> None:
    scenario = {**POOLS, "rollout_replicas": [1, 4, 64]}
    times = rs.evaluate("weight_sync_time", scenario, weight_sync_path=["relayed", "direct"])
    relayed, direct = (times.sel(weight_sync_path=path) for path in ("relayed", "direct"))
    assert (relayed == relayed[0]).all()
    assert float(direct[-1]) == pytest.approx(float(direct[0]) * 64 / 4, rel=1e-12)  # a replica receives with 8 of 32


def test_a_run_is_its_steps() -> None:
    steps = rs.value("rl_steps", POOLS, rl_tokens=1e9)
    assert steps == pytest.approx(1e9 / rs.value("rl_step_tokens", POOLS), rel=1e-12)
    cost = rs.value("rl_pools_cost", POOLS, rl_tokens=1e9)
    assert cost == pytest.approx(steps * rs.value("rl_step_cost", POOLS), rel=1e-12)
    assert cost == pytest.approx(1e9 * rs.value("rl_cost_per_token", POOLS), rel=1e-12)


def test_what_is_missing_or_wrong_is_named() -> None:
    without = {name: x for name, x in POOLS.items() if name != "rollouts_per_batch"}
    with pytest.raises(errors.MissingInput, match="rollouts_per_batch"):
        rs.value("rl_step_time", without)
    with pytest.raises(errors.UnknownName, match="asynchronous"):
        rs.value("rl_step_time", POOLS, rl_mode="async")
    with pytest.raises(errors.ValueRangeError, match="trainer_chips"):
        rs.value("rl_step_time", POOLS, trainer_chips=0)
