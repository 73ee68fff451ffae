"""Simulated trains against the lecture's numbers and the closed forms."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import schedules

LECTURE: dict[str, Any] = {"period": "20 ms", "batch_slots": 2000}
IDLE: dict[str, Any] = {
    "policy": "idle",
    "batch_slots": 10**6,
    "fixed_pass_time": "14 ms",
    "pass_time_per_sequence": "3 us",
}


def test_mean_and_worst_time_below_saturation() -> None:
    table = schedules.train(load=0.8, trains=5000, seed=1, **LECTURE)
    weight = table["boarded"] / table["boarded"].sum()
    assert (table["mean_wait"] * weight).sum() == pytest.approx(0.010, rel=1e-3)
    assert (table["mean_time"] * weight).sum() == pytest.approx(0.030, rel=1e-3)
    assert 0.0399 < table["worst_time"].max() <= 0.040
    assert table["left_behind"].sum() == 0
    assert (table["mean_time"] * weight).sum() == pytest.approx(
        rs.value("interval_mean_latency", batch_interval="20 ms"), rel=1e-3
    )


@pytest.mark.parametrize(("load", "mean", "quantile"), [(0.95, 0.179, 0.0404), (0.98, 7.30, 0.0415)])
def test_near_saturation_some_are_left_behind(load: float, mean: float, quantile: float) -> None:
    table = schedules.train(load=load, trains=40_000, seed=7, **LECTURE)
    batches = table["left_behind"].to_numpy().reshape(50, -1).mean(axis=1)
    error = batches.std(ddof=1) / math.sqrt(batches.size)
    assert schedules.left_behind(2000, load) == pytest.approx(mean, rel=5e-3)
    assert batches.mean() == pytest.approx(schedules.left_behind(2000, load), abs=4 * error)
    assert error < 0.1 * mean
    assert table["worst_time"].quantile(0.999) == pytest.approx(quantile, abs=2e-4)


@pytest.mark.parametrize(("batch_slots", "load"), [(1, 0.5), (3, 0.8), (10, 0.95)])
def test_left_behind_is_the_mean_of_the_stationary_queue(batch_slots: int, load: float) -> None:
    size = 600
    mean = batch_slots * load
    arrivals = np.exp(np.arange(size) * math.log(mean) - mean - np.array([math.lgamma(k + 1) for k in range(size)]))
    queue = np.zeros(size)
    queue[0] = 1
    for _ in range(4000):
        waiting = np.convolve(queue, arrivals)
        queue = waiting[batch_slots : batch_slots + size].copy()
        queue[0] += waiting[:batch_slots].sum()
    assert schedules.left_behind(batch_slots, load) == pytest.approx(float(np.arange(size) @ queue), rel=1e-6)


@pytest.mark.parametrize("rate", [1e3, 1e4, 5e4, 1e5])
def test_depart_when_idle_settles_where_the_closed_form_says(rate: float) -> None:
    table = schedules.train(arrival_rate=rate, trains=1500, seed=3, **IDLE)[200:]
    inputs = {"arrival_rate": rate, "fixed_pass_time": "14 ms", "pass_time_per_sequence": "3 us"}
    time = (table["mean_time"] * table["boarded"]).sum() / table["boarded"].sum()
    assert table["boarded"].mean() == pytest.approx(rs.value("idle_dispatch_batch", **inputs), rel=0.01)
    assert time == pytest.approx(rs.value("idle_dispatch_time", **inputs), rel=0.04 if rate < 1e4 else 0.01)


def test_threshold_of_one_without_patience_is_idle() -> None:
    idle = schedules.train(arrival_rate=1e4, trains=50, seed=5, **IDLE)
    eager = schedules.train(
        arrival_rate=1e4, trains=50, seed=5, **{**IDLE, "policy": "threshold"}, threshold=1, timeout=0
    )
    assert idle.equals(eager)


def test_threshold_waits_for_company_but_not_for_ever() -> None:
    inputs = {**IDLE, "policy": "threshold", "threshold": 300, "arrival_rate": 1e4, "trains": 200, "seed": 5}
    patient = schedules.train(timeout="1 s", **inputs)
    assert patient["boarded"].min() >= 300
    hasty = schedules.train(timeout="1 ms", **inputs)
    assert hasty["boarded"].mean() < 200
    assert (hasty["departure"] - hasty["end"].shift(fill_value=0)).max() <= 0.001 + 20 / 1e4


def test_policies_agree_with_their_timetable() -> None:
    for inputs in ({"load": 1.2, **LECTURE}, {"arrival_rate": 1e4, **IDLE}):
        trains = schedules.train(trains=6, seed=11, **inputs)
        requests = schedules.train_timetable(trains=6, seed=11, **inputs)
        grouped = requests.groupby("train")
        assert (grouped.size() == trains["boarded"]).all()
        assert np.allclose(grouped["wait"].mean(), trains["mean_wait"])
        assert np.allclose(grouped["time"].max(), trains["worst_time"])
        assert requests["arrival"].is_monotonic_increasing
        assert (requests["wait"] >= 0).all()


def test_overload_leaves_more_and_more_behind() -> None:
    table = schedules.train(load=1.1, trains=100, seed=2, **LECTURE)
    assert (table["boarded"] == 2000).sum() >= 98
    assert table["left_behind"].iloc[-1] == pytest.approx(100 * 200, rel=0.1)


def test_same_seed_same_table() -> None:
    one, two, other = (schedules.train(load=0.9, trains=20, seed=seed, **LECTURE) for seed in (1, 1, 2))
    assert one.equals(two)
    assert not one.equals(other)
    assert one.attrs["units"]["departure"] == "s"


def test_an_empty_train_runs_all_the_same() -> None:
    table = schedules.train(arrival_rate=1.0, period=0.1, batch_slots=5, trains=50, seed=1)
    empty = table[table["boarded"] == 0]
    assert len(empty) > 20
    assert empty[["mean_wait", "mean_time", "worst_time"]].isna().all(axis=None)


@pytest.mark.parametrize(
    ("change", "kind", "message"),
    [
        ({"policy": "express"}, rs.errors.UnknownName, "policy"),
        ({"load": None}, rs.errors.MissingInput, "arrival_rate or load"),
        ({"arrival_rate": 5}, rs.errors.MissingInput, "Give exactly one"),
        ({"period": None}, rs.errors.MissingInput, "period"),
        ({"period": "20 GB"}, rs.errors.UnitError, "GB"),
        ({"period": 0}, rs.errors.ValueRangeError, "period"),
        ({"timeout": 1}, rs.errors.InputTypeError, "timeout"),
        ({"batch_slots": 0.5}, rs.errors.ValueRangeError, "batch_slots"),
        ({"batch_slots": "many"}, rs.errors.InputTypeError, "batch_slots"),
        ({"trains": 0}, rs.errors.ValueRangeError, "trains"),
        ({"seed": -1}, rs.errors.ValueRangeError, "seed"),
        ({"seed": 0.5}, rs.errors.ValueRangeError, "seed"),
        ({"load": math.nan}, rs.errors.ValueRangeError, "load"),
    ],
)
def test_mistakes_are_named(change: dict[str, Any], kind: type[Exception], message: str) -> None:
    with pytest.raises(kind, match=message):
        schedules.train(**{"load": 0.9, "seed": 1, "trains": 10, **LECTURE, **change})


def test_threshold_beyond_the_seats_and_unknown_inputs_are_refused() -> None:
    inputs = {"fixed_pass_time": 1, "pass_time_per_sequence": 0, "arrival_rate": 1, "batch_slots": 5, "seed": 1}
    with pytest.raises(rs.errors.ValueRangeError, match="threshold"):
        schedules.train(policy="threshold", threshold=6, timeout=1, **inputs)
    with pytest.raises(rs.errors.UnknownName, match="perod"):
        schedules.train_timetable(batch_slots=5, seed=1, perod=1)


def test_left_behind_refuses_loads_without_an_answer() -> None:
    assert schedules.left_behind(5, 0) == 0
    for load in (-0.1, 1.0, 1 - 1e-9, math.nan):
        with pytest.raises(rs.errors.ValueRangeError, match="load"):
            schedules.left_behind(5, load)


def erlang_c(batch_slots: int, load: float) -> float:
    """By the textbook's recursion of the blocking probability."""
    blocked = 1.0
    for n in range(1, batch_slots + 1):
        blocked = batch_slots * load * blocked / (n + batch_slots * load * blocked)
    return blocked / (1 - load * (1 - blocked))


@pytest.mark.parametrize("batch_slots", [1, 2, 7, 11, 12, 13, 100, 999, 20_000])
def test_waiting_probability_is_the_recursion(batch_slots: int) -> None:
    loads = np.array([0.05, 0.3, 0.5, 0.8, 0.899, 0.9, 0.901, 0.99, 0.9999, 1 - 1e-9])
    ours = rs.evaluate("waiting_probability", batch_slots=batch_slots, slot_utilization=loads).to_numpy()
    recursion = np.array([erlang_c(batch_slots, load) for load in loads])
    assert ours == pytest.approx(recursion, rel=1e-10, abs=1e-250)


def test_waiting_probability_stays_a_probability() -> None:
    batch_slots = [1, 1 + 1e-12, 1.5, 1e6, 1e12, 1e100, 1e308]
    loads = [0, 1e-300, 1e-9, 0.5, 1 - 1e-6, 1 - 2**-53, 1]
    surface = rs.evaluate("waiting_probability", batch_slots=batch_slots, slot_utilization=loads)
    assert ((surface >= 0) & (surface <= 1)).all()
    assert (surface.diff("slot_utilization") >= 0).all()
    assert (surface.diff("batch_slots") <= 1e-12).all()
    assert (surface.sel(slot_utilization=1) == 1).all()
    assert (surface.sel(slot_utilization=0) == 0).all()
