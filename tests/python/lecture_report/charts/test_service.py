"""Charts of a service under load: marks on their lines, with values of the quantities."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts
from roofslate.errors import AxisError, ValueRangeError
from support.pictures import point, points

SERVICE: dict[str, Any] = {
    "model": "DeepSeek-V3", "hardware": "HGX H200", "calibration": "serving", "chips": 8, "tensor_parallel": 8,
    "input_tokens": 2000, "output_tokens": 500, "input_cv": 1, "output_cv": 0.8,
}  # fmt: skip


def test_latency_breaks_its_promise_where_the_mark_is() -> None:
    ax = charts.latency_vs_rate()
    rate, latency = point(ax, "promised_rate")
    assert latency == pytest.approx(2, rel=1e-6)
    assert rs.value("time_to_first_token_p99", SERVICE, arrival_rate=rate) == pytest.approx(2, rel=0.1)
    knee, twice = point(ax, "knee_rate")
    assert twice == pytest.approx(2 * points(ax, "p99")[1][0])
    assert knee < rate
    with pytest.raises(AxisError, match="'arrival_rate' is its axis"):
        charts.latency_vs_rate(arrival_rate=3)


def test_least_replicas_keep_the_promise_and_one_fewer_does_not() -> None:
    table = charts.replicas_vs_promise.data()
    column = table["time_to_first_token_p99_replicas"].dropna()
    assert (np.diff(column) <= 0).all()
    promise, replicas = float(column.index[20]), int(column.iloc[20])
    for fleet, expected in ((replicas, True), (replicas - 1, False)):
        latency = rs.value("time_to_first_token_p99", SERVICE, arrival_rate=50, replicas=fleet)
        assert (latency <= promise) == expected
    least, promise = (table.attrs["marks"][name] for name in ("replicas_for_load", "free_promise"))
    assert column.iloc[-1] == least
    assert column[promise] == least < column[: 0.999 * promise].iloc[-1]
    shortest, replicas = (table.attrs["marks"][name] for name in ("shortest_promise", "shortest_replicas"))
    assert 0 < shortest <= promise
    assert column[shortest] == replicas == column.max()
    assert rs.value("time_to_first_token_p99", SERVICE, arrival_rate=50, replicas=256) > 0.96 * shortest


def test_a_model_that_does_not_fit_has_no_replicas() -> None:
    with pytest.raises(ValueRangeError, match=r"replicas_for_load is inf.*: try more chips"):
        charts.replicas_vs_promise(model="DeepSeek-V3", hardware="HGX H100", output_tokens=400, input_tokens=2000)
    with pytest.raises(ValueRangeError, match=r"service_load is inf.*: try more chips"):
        charts.day_cost(
            model="DeepSeek-V3", hardware="HGX H100", output_tokens=400, input_tokens=2000, chip_price=0.001
        )


def test_a_day_has_its_mean_its_peak_and_a_fleet_for_each_hour() -> None:
    table = charts.day_cost.data(arrival_rate=40, peak_to_mean_load=1.4, target_load=0.5)
    rates = table["arrival_rate"]
    assert len(table) == 24
    assert rates.mean() == pytest.approx(40)
    assert rates.max() == pytest.approx(1.4 * 40)
    assert (table["service_load"] <= 0.5 * table["following_replicas"]).all()
    marks = table.attrs["marks"]
    assert marks["fixed_token_cost"] / marks["following_token_cost"] == pytest.approx(1.4, abs=0.1)


def test_a_tenth_waits_at_the_loads_of_the_finding() -> None:
    marks = charts.waiting_vs_load.data().attrs["marks"]
    for name in ("fewest", "most"):
        load, slots = marks[f"{name}_load"], marks[f"{name}_slots"]
        waiting = rs.value("waiting_probability", slot_utilization=load, batch_slots=slots)
        assert waiting == pytest.approx(0.1, rel=0.03)
    words = " ".join(
        text.get_text() for text in charts.waiting_vs_load(batch_slots=4, slot_utilization=[0.9, 0.95]).texts
    )
    assert "wait" not in words


def test_half_of_the_hits_of_an_endless_cache() -> None:
    marks = charts.hit_rate_vs_capacity.data().attrs["marks"]
    agent = {
        "model": "DeepSeek-V3", "turns": 30, "first_prompt_tokens": 8000, "turn_input_tokens": 700,
        "output_tokens": 400, "session_rate": 0.5, "pause_time": 60, "pause_cv": 2,
    }  # fmt: skip
    half = rs.value("prefix_hit_rate", agent, prefix_cache_capacity=marks["half_capacity"])
    assert half == pytest.approx(marks["prefix_hit_ceiling"] / 2, rel=0.01)


def test_imbalance_falls_with_tokens_and_by_rebalancing() -> None:
    table = charts.imbalance_vs_tokens.data()["expert_imbalance"]
    for chips in (8, 64):
        placed, rebalanced = (table[f"{chips} chips, {placement}"] for placement in ("as placed", "rebalanced"))
        assert (np.diff(placed) <= 0).all()
        assert (rebalanced < placed).all()
    # Monte Carlo of 256 experts, 8 a token, cv 0.6, drift 0.1, 256 tokens a chip, 64 copies
    for placement, expected in (("as placed", 1.85), ("rebalanced", 1.15)):
        row = table[f"64 chips, {placement}"]
        assert np.interp(16384, row.index, row) == pytest.approx(expected, rel=0.02)
