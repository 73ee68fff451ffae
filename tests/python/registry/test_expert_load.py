"""Imbalance of routed experts: against random draws, published figures, and effects."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import roofslate as rs
from support.checks import cases

# ------------------------------------------------------------------------------------------------------- simulation


def shares_of_experts(draw: np.random.Generator, experts: int, cv: float, kind: str, most: float) -> Any:
    """Return each expert's probability of a choice, limited by one in every token."""
    if kind == "gamma":
        shares = draw.gamma(1 / cv**2, cv**2, experts)
    else:
        shares = draw.lognormal(0, np.sqrt(np.log(1 + cv**2)), experts)
    return capped(shares / shares.sum(), most)


def capped(shares: Any, most: float) -> Any:
    while shares.max() > most * (1 + 1e-9):
        above = shares >= most
        shares = np.where(above, most, shares * (1 - most * above.sum()) / shares[~above].sum())
    return shares


def rebalanced(shares: Any, chips: int, copies: int) -> tuple[Any, list[list[int]]]:
    """Balance like EPLB: copy the hottest expert, then assign copies to the least loaded chip."""
    of_each = np.ones(len(shares), int)
    for _ in range(copies):
        of_each[np.argmax(shares / of_each)] += 1
    slots = (len(shares) + copies) // chips
    load, chosen = np.zeros(chips), [[] for _ in range(chips)]
    for expert in np.argsort(-shares / of_each, kind="stable"):
        for _ in range(of_each[expert]):
            chip = int(
                np.argmin([np.inf if len(placed) == slots else x for placed, x in zip(chosen, load, strict=True)])
            )
            chosen[chip].append(int(expert))
            load[chip] += shares[expert] / of_each[expert]
    return of_each, chosen


def test_imbalance_is_that_of_drawn_tokens() -> None:
    """Within 6% in 90% of cases as placed, 15% rebalanced, 12% for active experts per chip."""
    draw = np.random.default_rng(20261123)
    errors: list[list[float]] = []
    for case in range(160):
        experts, chips = int(draw.choice([64, 128, 256])), int(draw.choice([4, 8, 16, 32]))
        k, cv, drift = int(draw.choice([2, 4, 8])), draw.uniform(0.1, 1.2), float(draw.choice([0, 0.1, 0.2, 0.3]))
        copies, tokens = chips * int(draw.integers(3)), chips * int(draw.choice([4, 16, 64, 256]))
        drawn = np.empty((24, 3))
        for sample in drawn:
            shares = shares_of_experts(draw, experts, cv, ("gamma", "lognormal")[case % 2], 1 / k)
            chosen = draw.multinomial(tokens * k, shares)
            now = capped(shares * np.maximum(1 + drift * draw.normal(size=experts), 0.01), 1)
            later = draw.multinomial(tokens * k, capped(now / now.sum(), 1 / k))
            of_each, experts_of_chips = rebalanced(shares, chips, copies)
            fullest = max(sum(later[expert] / of_each[expert] for expert in chip) for chip in experts_of_chips)
            of_chips = chosen.reshape(chips, -1)
            sample[:] = of_chips.sum(1).max(), fullest, (of_chips > 0).sum(1).max() * k * tokens / experts
        drawn *= chips / (k * tokens)
        given = {
            "experts": experts, "experts_per_token": k, "expert_parallel": chips, "pass_tokens": tokens,
            "expert_popularity_cv": cv, "expert_copies": 1,
        }  # fmt: skip
        eplb = {"expert_placement": "rebalanced", "expert_statistics_drift": drift, "redundant_experts": copies}
        ours = [rs.value("expert_imbalance", given), rs.value("expert_imbalance", given, **eplb)]
        ours.append(rs.value("expert_coverage", given))
        errors.append([abs(float(x) / y - 1) for x, y in zip(ours, drawn.mean(0), strict=True)])
    placed, moved, touched = np.quantile(errors, 0.9, axis=0)
    assert placed < 0.06
    assert moved < 0.15
    assert touched < 0.12


# ---------------------------------------------------------------------------------------------------------- figures

PUBLISHED = [  # chips, copies, then as placed and rebalanced at 4, 32 and 256 tokens a chip
    (8, 32, (1.31, 1.18, 1.15), (1.27, 1.10, 1.04)),
    (32, 32, (1.66, 1.51, 1.49), (1.42, 1.16, 1.10)),
    (64, 64, (2.01, 1.87, 1.85), (1.49, 1.21, 1.15)),
]
WIDE: dict[str, Any] = {"experts": 256, "experts_per_token": 8, "expert_popularity_cv": 0.6}


@pytest.mark.parametrize(("chips", "copies", "placed", "moved"), PUBLISHED)
def test_imbalance_of_wide_expert_parallelism(chips: int, copies: int, placed: Any, moved: Any) -> None:
    """256 experts, 8 a token, popularity that varies by 0.6, statistics that are off by 0.1."""
    given = {**WIDE, "expert_parallel": chips}
    eplb = {"expert_placement": "rebalanced", "expert_statistics_drift": 0.1, "redundant_experts": copies}
    for tokens, before, after in zip((4, 32, 256), placed, moved, strict=True):
        result = rs.value("expert_imbalance", given, routed_tokens=tokens * chips)
        assert result == pytest.approx(before, abs=0.006)
        assert rs.value("expert_imbalance", given, routed_tokens=tokens * chips, **eplb) == pytest.approx(
            after, abs=0.006
        )


def test_what_rearranging_gained_says_how_uneven_experts_are() -> None:
    """A gain of 16.7% only by placement on 8 chips (ROCm/ATOM#1210) needs a variation of 0.7."""
    given = {"experts": 256, "experts_per_token": 8, "expert_parallel": 8, "routed_tokens": 8192}
    gain = [
        rs.value("expert_imbalance", given, expert_popularity_cv=cv)
        / rs.value("expert_imbalance", given, expert_popularity_cv=cv, expert_placement="rebalanced")
        for cv in (0.6, 0.7, 0.9)
    ]
    assert gain[0] < 1.167 < gain[2]


# -------------------------------------------------------------------------------------------------------------- effects

SERVED: dict[str, Any] = {
    "model": "DeepSeek-V3", "hardware": "H200", "chips": 16, "weight_format": "fp8", "tensor_parallel": 1,
    "attention_data_parallel": 16, "expert_parallel": 16, "concurrency": 256, "input_tokens": 4000,
    "output_tokens": 1000, "chip_price": "2 USD/h", "calibration": "serving",
}  # fmt: skip
TIMES = ["compute_time", "weight_fetch_time", "all_to_all_time", "prompt_expert_time", "pass_time"]
OUTCOMES = [*TIMES, "time_to_first_token", "cost_per_output_token"]


def test_even_experts_change_no_bit() -> None:
    with cases() as case:
        for outcome in [*OUTCOMES, "request_latency"]:
            with case(outcome):
                expected = rs.value(outcome, SERVED)
                assert rs.value(outcome, SERVED, expert_popularity_cv=0) == expected
                if outcome != "prompt_expert_time":
                    assert rs.value(outcome, SERVED, expert_imbalance=1) == expected


def test_uneven_experts_cost_in_every_part() -> None:
    even, uneven, moved = (
        rs.evaluate(OUTCOMES, SERVED, **more)
        for more in (
            {},
            {"expert_popularity_cv": 0.7},
            {"expert_popularity_cv": 0.7, "expert_placement": "rebalanced", "expert_statistics_drift": 0.1},
        )
    )
    for outcome in OUTCOMES:
        assert even[outcome] < moved[outcome] < uneven[outcome], outcome


def test_copies_take_memory_and_spread_the_hottest() -> None:
    given = {**SERVED, "chips": 128, "expert_parallel": 128, "attention_data_parallel": 128, "concurrency": 8192}
    given |= {"expert_popularity_cv": 0.9, "expert_placement": "rebalanced"}
    none, some = (rs.evaluate(["expert_imbalance", "hbm_used"], given, redundant_experts=n) for n in (0, 128))
    assert some["expert_imbalance"] < 0.8 * none["expert_imbalance"]
    assert some["hbm_used"] > none["hbm_used"]


def test_an_imbalance_given_by_hand_stays() -> None:
    assert rs.value("expert_imbalance", expert_imbalance=1.3) == 1.3
    assert rs.value("compute_time", SERVED, expert_imbalance=1.3) > rs.value("compute_time", SERVED)
    twice = rs.value("prompt_expert_time", SERVED, prompt_expert_imbalance=2)
    assert twice == 2 * rs.value("prompt_expert_time", SERVED)


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ({"expert_popularity_cv": -0.1}, rs.errors.ValueRangeError, "expert_popularity_cv must be"),
        ({"expert_placement": "moved"}, rs.errors.RoofslateError, "rebalanced"),
        (
            {"expert_popularity_cv": 0.5, "expert_statistics_drift": 0.1},
            rs.errors.IneffectiveInput,
            "give expert_placement='rebalanced'",
        ),
        ({"expert_placement": "rebalanced"}, rs.errors.IneffectiveInput, "give expert_popularity_cv="),
    ],
)
def test_mistakes(given: dict[str, Any], error: Any, said: str) -> None:
    with pytest.raises(error, match=said):
        rs.value("pass_time", SERVED, **given)


@pytest.mark.parametrize("draws", [1, 1.5, 7.4, 50, 256, 1e12, 1e200])
def test_largest_normal_is_a_quantile(draws: float) -> None:
    from scipy import stats

    assert rs.math.largest_normal(draws) == pytest.approx(stats.norm.isf(np.exp(-np.euler_gamma) / draws), rel=1e-13)
    step = 1e-6 * draws
    rise = rs.gradient("hottest_expert_load", {**WIDE, "experts": draws + 300}, to=["experts"])
    ends = (rs.value("hottest_expert_load", {**WIDE, "experts": draws + 300 + x}) for x in (-step, step))
    low, high = ends
    if draws < 1e6:
        assert float(rise["experts"]) == pytest.approx((high - low) / (2 * step), rel=1e-4)
