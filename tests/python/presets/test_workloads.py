"""Requests of published traces: figures printed by the sources, and use in a scenario."""

from __future__ import annotations

import pytest
import roofslate as rs

SERVICE = {
    "model": "DeepSeek-V3",
    "hardware": "H200",
    "chips": 8,
    "weight_format": "fp8",
    "chip_price": "2 USD/h",
    "concurrency": 16,
}


@pytest.mark.parametrize(
    ("name", "input_tokens", "output_tokens", "hit_rate"),
    [
        ("Azure conversation 2023", 1154.7, 211.13, 0),
        ("Azure code 2023", 2047.85, 27.88, 0),
        ("Mooncake tool and agent", 8596, 182, 0.59),
        ("TraceLab coding agent", 5.49e10 / 357_161, 1.869e8 / 357_161, 5.26e10 / 5.49e10),
    ],
)
def test_traces_are_those_that_were_published(
    name: str, input_tokens: float, output_tokens: float, hit_rate: float
) -> None:
    assert rs.value("input_tokens", workload=name) == pytest.approx(input_tokens, rel=1e-3)
    assert rs.value("output_tokens", workload=name) == pytest.approx(output_tokens, rel=1e-3)
    assert rs.value("prefix_hit_rate", workload=name) == pytest.approx(hit_rate, rel=1e-3)


def test_the_spreads_of_a_trace_are_inputs() -> None:
    spreads = {name: rs.value(name, workload="Azure conversation 2023") for name in ("input_cv", "output_cv")}
    assert spreads == {"input_cv": 0.96, "output_cv": 0.77}
    level = rs.value("context_length", workload="Azure conversation 2023", output_cv=0)
    assert rs.value("context_length", workload="Azure conversation 2023") > level  # long answers run longer
    assert rs.workloads["Azure conversation 2023"].peak_minute == 1.5


def test_every_trace_says_where_it_is_from() -> None:
    for name, preset in rs.workloads.items():
        assert preset.date, name
        assert all(fact.source for fact in preset.facts.values()), name
        assert 0 <= preset.values.get("prefix_hit_rate", 0) < 1


def test_a_trace_is_a_workload() -> None:
    total = rs.value("cost_per_session", SERVICE, workload="TraceLab coding agent")
    assert total == pytest.approx(83.742321 * rs.value("cost_per_request", SERVICE, workload="TraceLab coding agent"))
    assert rs.value("prefix_hit_rate", workload="TraceLab", prefix_hit_rate=0.5) == 0.5
    ratios = rs.evaluate("cost_per_request", SERVICE, workload=["Azure code 2023", "Azure conversation 2023"])
    assert ratios.workload.values.tolist() == ["Azure code 2023", "Azure conversation 2023"]
    assert float(ratios[0]) < float(ratios[1])


def test_sessions_leave_hits_to_the_cache() -> None:
    given = rs.value("prefix_hit_rate", workload="TraceLab coding agent")
    ceiling = rs.value("prefix_hit_rate", workload="TraceLab coding agent sessions", prefix_cache_capacity="inf")
    assert ceiling == pytest.approx(given, rel=2e-3)
    small = rs.value(
        "prefix_hit_rate",
        workload="TraceLab coding agent sessions", model="DeepSeek-V3", prefix_cache_capacity="1 TB",
        session_rate="0.05/s", pause_time="30 s", pause_cv=3,
    )  # fmt: skip
    assert 0.1 < small < ceiling


def test_an_unknown_trace_is_refused_with_its_neighbour() -> None:
    with pytest.raises(rs.errors.UnknownName, match="Azure conversation 2023"):
        rs.value("input_tokens", workload="Azure conversations 2023")
