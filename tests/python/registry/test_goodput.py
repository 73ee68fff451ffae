"""Goodput under load against simulated requests, and DeepSeek's daily cost."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate.errors import MissingInput, ValueRangeError
from roofslate.measured.service_forms import _draw, _inputs
from roofslate.simulation.service import run_steps

SERVICE: dict[str, Any] = {
    "model": "DeepSeek-V3", "hardware": "HGX H200", "chips": 8, "input_tokens": "2k", "output_tokens": 500,
    "input_cv": 1, "output_cv": 0.8, **rs.calibration(),
}  # fmt: skip
FIRST, EACH = "time_to_first_token", "time_per_output_token"


def line(
    rate: float, *, slots: float = 128, step: tuple[float, float] = (0.012, 1e-4), tokens: float = 200, **more: Any
) -> dict[str, Any]:
    """A service whose steps take base + slope B, prompts read elsewhere."""
    base, slope = step
    spare = 1 - rate * tokens * slope
    running = min((base + slope) * rate * tokens / spare, slots) if spare > 0 else slots
    return {
        "arrival_rate": rate, "output_tokens": tokens, "input_tokens": 1000, "sequence_slots": slots,
        "serving_mode": "disaggregated", "decode_step_base": base, "decode_step_slope": slope,
        "full_decode_token_time": base + slope * slots, "running_estimate": running,
        "running_token_time": base + slope * running, "full_prompt_step_time": 0, "loaded_prompt_step_time": 0,
        "prompt_work_time": 0, "prompt_pass_overhead": 0, "exposed_kv_transfer_time": 0, **more,
    }  # fmt: skip


@pytest.mark.parametrize("rate", [4, 10, 15])
@pytest.mark.parametrize(("percentile", "share"), [("p50", 0.5), ("p90", 0.9), ("p95", 0.95), ("p99", 0.99)])
def test_attainment_undoes_percentiles(rate: float, percentile: str, share: float) -> None:
    service = SERVICE | {"arrival_rate": rate}
    for name in (FIRST, EACH):
        target = rs.value(f"{name}_{percentile}", service)
        below, result = (rs.value(f"{name}_attainment", service, **{f"{name}_target": x * target}) for x in (0.9999, 1))
        assert below - 0.01 <= share <= result + 0.01  # many requests may take the longest time


def test_attainment_rises_with_the_target_and_falls_with_the_rate() -> None:
    targets = np.geomspace(0.01, 30, 60)
    shares = rs.evaluate(f"{FIRST}_attainment", SERVICE, arrival_rate=[4, 13], time_to_first_token_target=targets)
    by_rate = np.asarray(shares.transpose("arrival_rate", ...))
    assert (np.diff(by_rate, axis=1) >= -1e-12).all()
    assert (by_rate[0] >= by_rate[1] - 1e-3).all()
    assert by_rate[0, 0] < 0.01
    assert by_rate[0, -1] > 0.9999


def test_goodput_of_a_service_without_end_is_nothing() -> None:
    promise = {"time_to_first_token_target": 2, "time_per_output_token_target": 0.05}
    assert rs.value("request_goodput", SERVICE, arrival_rate=60, **promise) == 0
    light = rs.value("request_goodput", SERVICE, arrival_rate=2, **promise)
    assert light == pytest.approx(2, rel=1e-3)
    attainment = rs.value("request_attainment", SERVICE, arrival_rate=14, **promise)
    assert rs.value("request_goodput", SERVICE, arrival_rate=14, **promise) == pytest.approx(14 * attainment)


def test_goodput_against_simulated_requests() -> None:
    random = np.random.default_rng(5)
    drawn = [s for s in (_draw(random) for _ in range(40)) if s.policy != "apart"][:12]
    errors = []
    for s in drawn:
        simulated = rs.simulate(
            steps=rs.StepTimes(base=s.base, slope=s.slope, prompt_token_time=s.token_time, seats=s.slots),
            arrival_rate=s.rate, arrival_cv=s.arrival_cv, input_tokens=s.input_tokens, input_cv=s.input_cv,
            output_tokens=s.output_tokens, output_cv=s.output_cv, prompt_policy=s.policy, step_token_budget=s.budget,
            requests=20_000, seed=3,
        ).requests  # fmt: skip
        promise = {f"{name}_target": float(simulated[name].quantile(0.95)) for name in (FIRST, EACH)}
        attained = ~((simulated[FIRST] > promise[f"{FIRST}_target"]) | (simulated[EACH] > promise[f"{EACH}_target"]))
        form = float(rs.evaluate("request_goodput", {**_inputs([s]), **promise}).values[0])
        errors.append(abs(form / s.rate - attained.mean()))
    assert np.mean(np.array(errors) <= 0.05) >= 0.5
    assert np.mean(np.array(errors) <= 0.1) >= 0.8
    assert max(errors) < 0.2


@pytest.mark.parametrize(
    ("load", "slots", "queue", "tolerance"),
    [(0.9, 128, 0, 0.003), (0.9, 16, 0, 0.01), (0.9, 16, 8, 0.005), (1.5, 16, 4, 0.015), (1.5, 128, 0, 0.015)],
)
def test_refused_share_is_that_of_simulated_requests(load: float, slots: int, queue: int, tolerance: float) -> None:
    full = 0.012 + 1e-4 * slots
    rate = load * slots / (200 * full)
    simulated = run_steps(
        base=0.012, slope=1e-4, arrival_rate=rate, output_tokens=200, output_cv=1, seats=slots, queue_room=queue,
        prompt_policy="apart", requests=60_000, seed=1,
    )  # fmt: skip
    form = rs.value("refused_share", line(rate, slots=slots, output_cv=1, queue_room=queue))
    assert form == pytest.approx(simulated["refused_share_mean"], abs=tolerance)


def test_refusals_without_a_slope_are_erlangs() -> None:
    offered, slots = 20.0, 24
    loss = 1.0
    for k in range(1, slots + 1):  # Erlang's B
        loss = offered * loss / (k + offered * loss)
    steps = (0.012, 1e-10)
    rate = offered / (200 * 0.012)
    form = rs.value("refused_share", line(rate, slots=slots, step=steps, queue_room=0, output_cv=1))
    assert form == pytest.approx(loss, rel=1e-4)


def test_batch_loss_is_a_share_of_a_cut_negative_binomial() -> None:
    for n, shape, odds in ((30.0, 12.0, 0.7), (16.0, 3.5, 0.8), (20.0, 5.0, 1.7)):
        shares = np.cumprod([1.0, *(odds * (k + shape - 1) / k for k in range(1, int(n) + 1))])
        result = rs.math._routine("batch_loss", n, shape, odds)
        assert result == pytest.approx(shares[-1] / shares.sum(), rel=1e-12)


def test_all_that_is_too_much_is_refused_and_none_without_a_limit() -> None:
    rooms = rs.evaluate("refused_share", line(60, queue_room=[0, 10, 1e4, math.inf]))
    shares = np.asarray(rooms)
    assert (np.diff(shares) < 0).all()
    assert shares[2] == pytest.approx(1 - 1 / rs.value("service_load", line(60)), rel=1e-6)
    assert shares[3] == 0
    assert rs.value("refused_share", line(10, queue_room=1e4)) == 0


def test_a_days_fleet_of_deepseek() -> None:
    # DeepSeek, Open Infra Index, day 6, 2025-03: 278 nodes of eight H800 at the peak, 226.75 on average in a day, at
    # 2 USD a chip-hour 87,072 USD a day (read 2026-11-23 in this package's table of published numbers).
    day = {"peak_to_mean_load": 278 / 226.75}
    following = rs.value("serving_cost", chips=1814, chip_price="2 USD/h", served_time="24 h")
    fixed = rs.value("serving_cost", chips=278 * 8, chip_price="2 USD/h", served_time="24 h")
    assert following == pytest.approx(87_072)
    assert rs.value("autoscaling_saving_factor", day) == pytest.approx(fixed / following)
    assert rs.value("autoscaling_saving_factor", day) == pytest.approx(1.23, abs=0.005)
    slow = rs.value("autoscaling_saving_factor", day, replica_start_time="10 min")
    assert slow == pytest.approx(1.2260 / (1 + 2 * 0.2260 * 600 / 86400), rel=1e-4)


def test_cost_over_a_day_grows_as_the_sized_load_falls() -> None:
    service = SERVICE | {"arrival_rate": 8, "chip_price": "$3/h", "peak_to_mean_load": 1.5}
    costs = rs.evaluate(
        ["fixed_fleet_cost_per_output_token", "following_fleet_cost_per_output_token"], service, target_load=[0.5, 1]
    )
    fixed, following = (np.asarray(array) for array in costs.data_vars.values())
    assert fixed[0] == pytest.approx(2 * fixed[1])
    assert fixed == pytest.approx(1.5 * following)
    full = rs.value("cost_per_output_token", SERVICE, chip_price="$3/h", arrival_rate=8) * rs.value(
        "service_load", SERVICE, arrival_rate=8
    )
    assert following[1] == pytest.approx(full)


def test_errors_name_the_input() -> None:
    with pytest.raises(ValueRangeError, match="time_to_first_token_target must be > 0"):
        rs.value("request_goodput", SERVICE, arrival_rate=1, time_to_first_token_target=0)
    with pytest.raises(MissingInput, match="time_to_first_token_target"):
        rs.value("request_goodput", SERVICE, arrival_rate=1, time_per_output_token_target=1)
    with pytest.raises(ValueRangeError, match="peak_to_mean_load"):
        rs.value("fixed_fleet_cost_factor", peak_to_mean_load=0.5)
