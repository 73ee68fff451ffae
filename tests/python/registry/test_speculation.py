"""Drafts: published acceptance curves and their fits, the best length at each batch."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from support.checks import cases

# Acceptance lengths of 1 to 8 drafts, SPEED-Bench coding, from InferenceX (golden_al_distribution), August 2026.
CURVES: dict[str, list[float]] = {
    "DeepSeek-V4-Pro-0813 DSpark": [1.84, 2.51, 3.01, 3.36, 3.61, 3.77, 3.73, 3.47],
    "DeepSeek-V4-Pro-0813 DSpark, thinking off": [1.94, 2.81, 3.58, 4.17, 4.74, 5.12, 5.24, 4.95],
    "DeepSeek-V4-Pro MTP": [1.79, 2.27, 2.49, 2.54, 2.55, 2.55, 2.54, 2.58],
    "DeepSeek-V4-Pro MTP, thinking off": [1.92, 2.61, 2.97, 3.0, 3.1, 3.16, 3.0, 3.11],
    "GLM-5.2 MTP": [1.84, 2.5, 2.99, 3.33, 3.61, 3.78, 3.91, 4.06],
    "Kimi-K2.5 EAGLE-3": [1.83, 2.43, 2.88, 3.24, 3.46, 3.62, 3.71, 3.77],
    "Kimi-K2.5 EAGLE-3, thinking off": [1.8, 2.33, 2.75, 3.06, 3.25, 3.43, 3.46, 3.51],
    "Kimi-K3 DSpark": [1.84, 2.45, 2.87, 3.22, 3.44, 3.54, 3.78, 3.88],
    "Kimi-K3 DSpark, block rejection": [1.85, 2.51, 3.0, 3.36, 3.62, 3.75, 3.84, 4.0],
    "MiniMax-M3 EAGLE-3": [1.78, 2.38, 2.83, 3.11, 3.35, 3.45, 3.53, 3.74],
    "MiniMax-M3 EAGLE-3, thinking off": [1.84, 2.52, 2.93, 3.41, 3.59, 3.57, 3.85, 4.06],
    "MiniMax-M3 EAGLE-3, GQA head": [1.79, 2.39, 2.78, 3.02, 3.21, 3.3, 3.52, 3.51],
    "MiniMax-M3 EAGLE-3, GQA head, thinking off": [1.83, 2.46, 2.97, 3.29, 3.72, 3.76, 3.75, 3.93],
    "Qwen3.5-397B-A17B MTP": [1.93, 2.73, 3.39, 3.97, 4.41, 4.8, 5.04, 5.21],
    "Qwen3.5-397B-A17B MTP, thinking off": [1.92, 2.7, 3.33, 3.83, 4.2, 4.48, 4.73, 4.71],
}


def test_every_speculator_fits_its_curve() -> None:
    """Two numbers: 2.4% off on average at most, 6.2% at a single length."""
    assert set(rs.speculators) == set(CURVES)
    worst = []
    with cases() as case:
        for name, curve in CURVES.items():
            with case(name):
                fitted = rs.evaluate("acceptance_length", speculator=name, draft_length=range(1, 9)).to_numpy()
                off = np.abs(fitted / curve - 1)
                assert off.mean() < 0.0245
                assert off.max() < 0.062
                note = rs.speculators[name].note
                assert f"off by {100 * off.mean():.1f} % on average" in note
                assert f"by {100 * off.max():.1f} % at most" in note
                worst.append(off.max())
    assert max(worst) > 0.06


def test_the_first_rate_alone_overstates_long_drafts() -> None:
    """By 9 to 44% at eight drafts."""
    names = [f"{model}{mode}" for model in ("MiniMax-M3 EAGLE-3", "DeepSeek-V4-Pro-0813 DSpark")
             for mode in ("", ", thinking off")]  # fmt: skip
    over = [
        rs.value("acceptance_length", acceptance_rate=CURVES[name][0] - 1, draft_length=8) / CURVES[name][7] - 1
        for name in names
    ]
    assert min(over) == pytest.approx(0.086, abs=0.001)
    assert max(over) == pytest.approx(0.438, abs=0.001)


# --------------------------------------------------------------------------------------------- best length by batch

# 8 of 256 experts; 22 ms of weights, 3% of them outside of the routed experts; 17 us of compute a token; KV caches are
# read in 21 us a sequence; 0.6 ms a draft.
ACTIVE = 0.66e9 + 21.34e9 * 8 / 256
WORKED: dict[str, Any] = {
    "experts": 256, "experts_per_token": 8, "total_parameters": 22e9, "dense_parameters": 0.66e9,
    "active_parameters": ACTIVE, "weight_format": "fp8", "hbm_bandwidth": "1 TB/s", "chips": 1,
    "peak_flops": 2 * ACTIVE / 17e-6, "kv_bytes_per_token": 1000, "context_length": 21_000,
    "serving_mode": "disaggregated",
}  # fmt: skip
BATCHES = [1, 2, 4, 16, 32, 64, 128, 256, 512, 1024]
LENGTHS = range(9)


def draft_costs() -> Any:
    passes = rs.evaluate("pass_time", WORKED, batch_size=BATCHES, draft_length=LENGTHS)
    return (0.6e-3 / passes).assign_attrs(units="1")


def test_best_length_at_each_batch_by_a_measured_curve() -> None:
    measured = xr.DataArray([1.0, *CURVES["MiniMax-M3 EAGLE-3"]], {"draft_length": list(LENGTHS)}, "draft_length")
    requested = {**WORKED, "batch_size": BATCHES, "acceptance_length": measured, "draft_cost": draft_costs()}
    best = rs.best("time_per_output_token", requested, over="draft_length", draft_length=LENGTHS)
    assert best["draft_length"].values.tolist() == [0, 0, 0, 8, 8, 8, 8, 5, 3, 2]
    times = rs.evaluate("time_per_output_token", requested, draft_length=LENGTHS)
    speedup = times.sel(draft_length=0) / times
    gained = (times.sel(draft_length=0) / best["time_per_output_token"]).to_series()
    for batch, gain in ((16, 1.3), (128, 3.1), (512, 2.5), (1024, 1.9)):
        assert gained[batch] == pytest.approx(gain, abs=0.05)
    assert speedup.sel(draft_length=3, batch_size=[1, 2, 4]).values.tolist() == pytest.approx(
        [0.75, 0.8, 0.85], abs=0.03
    )


def test_best_length_by_the_fit_is_as_good() -> None:
    """The fitted draft length is at most 4% slower than the measured best.

    It is within two drafts of that best where the map is flat.
    """
    measured = xr.DataArray([1.0, *CURVES["MiniMax-M3 EAGLE-3"]], {"draft_length": list(LENGTHS)}, "draft_length")
    requested = {**WORKED, "batch_size": BATCHES, "draft_cost": draft_costs()}
    fitted = rs.best(
        "time_per_output_token", requested, over="draft_length", draft_length=LENGTHS, speculator="MiniMax-M3 EAGLE-3"
    )["draft_length"]
    assert fitted.values.tolist() == [0, 0, 0, 6, 7, 7, 7, 5, 3, 2]
    times = rs.evaluate("time_per_output_token", requested, draft_length=LENGTHS, acceptance_length=measured)
    assert (times.sel(draft_length=fitted) / times.min("draft_length") < 1.04).all()


# ------------------------------------------------------------------------------------------------------------- limits


def test_without_decay_no_bit_changes() -> None:
    served = {
        "model": "DeepSeek-V3", "hardware": "H200", "chips": 16, "concurrency": 64, "input_tokens": 4000,
        "output_tokens": 1000, "calibration": "serving", "draft_length": 3, "acceptance_rate": 0.8, "draft_cost": 0.05,
    }  # fmt: skip
    for outcome in ("time_per_output_token", "request_latency", "acceptance_length"):
        given = served if outcome != "acceptance_length" else {"acceptance_rate": 0.8, "draft_length": 3}
        assert rs.value(outcome, given, acceptance_decay=1) == rs.value(outcome, given)
        falling, slower = (rs.value(outcome, given, acceptance_decay=x) for x in (0.95, 0.9))
        assert (slower > falling) == (outcome != "acceptance_length")
    assert rs.value("acceptance_length", acceptance_rate=0.8, draft_length=3) == (1 - 0.8**4) / (1 - 0.8)


def test_decay_near_one_is_the_power_law() -> None:
    for drafts in (1, 2, 7, 16, 400):
        near = rs.math.acceptance_curve(0.8, 1 - 1e-13, drafts)
        assert near == pytest.approx((1 - 0.8 ** (drafts + 1)) / 0.2, rel=1e-9)
    assert rs.math.acceptance_curve(1, 0.999999, 1e300) == rs.math.acceptance_curve(1, 0.999999, 4096)


@pytest.mark.parametrize("given", [(math.nan, 0.9, 3), (-0.1, 0.9, 3), (0.8, -0.1, 3), (0.8, 0.9, -1)])
def test_no_curve_of_impossible_numbers(given: tuple[float, float, float]) -> None:
    assert math.isnan(rs.math.acceptance_curve(*given))


@pytest.mark.parametrize("point", [(0.8, 0.9, 2.5), (0.5, 0.99, 7.25), (0.05, 0.3, 0.5), (1.0, 0.9, 15.75)])
def test_derivatives_of_the_curve(point: tuple[float, float, float]) -> None:
    inputs = dict(zip(("acceptance_rate", "acceptance_decay", "draft_length"), point, strict=True))
    slopes = rs.gradient("acceptance_length", inputs, to=list(inputs), side="below")
    for name, x in inputs.items():
        ends = (rs.value("acceptance_length", {**inputs, name: x * (1 - step)}) for step in (2e-6, 1e-6))
        low, high = map(float, ends)
        assert float(slopes[name]) == pytest.approx((high - low) / (1e-6 * x), rel=5e-5)


def test_bounds_contain_the_curve() -> None:
    requested = {"acceptance_rate": (0.7, 0.9), "acceptance_decay": (0.8, 0.97), "draft_length": (1, 8)}
    low, high = (float(x) for x in rs.bounds("acceptance_length", requested))
    draw = np.random.default_rng(5)
    values = [
        rs.value("acceptance_length", {name: float(draw.uniform(*ends)) for name, ends in requested.items()})
        for _ in range(100)
    ]
    assert low <= min(values)
    assert max(values) <= high
    ends = rs.bounds("waiting_probability", batch_slots=(2, 5), slot_utilization=(0.5, 0.6))
    for end, slots, load in zip(ends, (5, 2), (0.5, 0.6), strict=True):
        assert end == pytest.approx(rs.value("waiting_probability", batch_slots=slots, slot_utilization=load))
