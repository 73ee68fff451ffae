"""The map of prefill and decode together or apart."""

from typing import Any

import pytest
import roofslate as rs
from roofslate import charts
from roofslate.errors import ValueRangeError

# Ratios of rates for promises of 1.3, 2 and 4 times an unloaded answer, computed apart from this package.
EXPECTED = {
    (500, 500): (1.64, 1.30, 0.96),
    (2000, 200): (8.3, 2.2, 1.03),
    (2000, 1000): (2.0, 1.27, 0.79),
    (8000, 1000): (4.0, 1.24, 0.76),
    (32000, 500): (23, 3.2, 0.89),
}


def ratios(prompt: float, answer: float, **inputs: Any) -> list[float]:
    table = charts.together_or_apart.data(
        prompts=(prompt, 2 * prompt), promises=(1.3, 4.0), output_tokens=answer, **inputs
    )
    cells = table["ratio"].to_xarray()
    return [float(cells.isel(input_tokens=0).sel(promise=x, method="nearest")) for x in (1.3, 2.0, 4.0)]


@pytest.mark.parametrize(("prompt", "answer"), EXPECTED)
def test_apart_pays_where_the_promise_is_tight(prompt: int, answer: int) -> None:
    tight, middle, loose = ratios(prompt, answer, input_cv=0, output_cv=0)
    assert tight > middle > loose
    assert tight > 1.2
    assert loose < 1.3
    for result, expected in zip((tight, middle, loose), EXPECTED[prompt, answer], strict=True):
        assert 0.5 < result / expected < 2


def test_apart_pays_more_with_long_prompts_and_together_where_the_promise_is_loose() -> None:
    tight = [ratios(prompt, 500)[0] for prompt in (500, 2000, 8000)]
    assert tight == sorted(tight)
    assert min(ratios(prompt, 1000)[2] for prompt in (4000, 8000)) < 0.95


def test_rates_are_those_of_the_quantities() -> None:
    """At a point of the map together keeps its promise at that rate and breaks it beyond."""
    table = charts.together_or_apart.data(prompts=(2000, 4000), promises=(1.5, 3.0))
    (prompt, promise), row = next(iter(table.iterrows()))
    work_time = 40e-6 * prompt
    service = {
        "input_tokens": prompt, "output_tokens": 500, "input_cv": 0.5, "output_cv": 0.5, "sequence_slots": 128,
        "decode_step_base": 0.012, "decode_step_slope": 1e-4, "full_decode_token_time": 0.012 + 128e-4,
        "full_prompt_step_time": work_time, "loaded_prompt_step_time": work_time, "prompt_work_time": work_time,
        "prompt_pass_overhead": 0.0, "prompt_lag_time": 0.0, "exposed_kv_transfer_time": 0.0,
    }  # fmt: skip
    met = []
    for policy, budget in (("first", 8192), ("chunked", 2048)):
        for factor in (0.98, 1.03):
            rate = factor * row["together"]
            running = 0.0121 * rate * 499 / (1 - rate * (work_time + 499e-4))
            inputs = service | {"arrival_rate": rate, "running_estimate": running, "prompt_policy": policy}
            inputs |= {"running_token_time": 0.012 + 1e-4 * running, "step_token_budget": budget}
            slow = rs.value("time_per_output_token_p99", inputs) <= promise * 0.0121
            met.append(slow and rs.value("time_to_first_token_p99", inputs) <= 3 * work_time + 1)
    assert met[0] or met[2]
    assert not met[1]
    assert not met[3]


def test_wrong_ends_are_refused() -> None:
    with pytest.raises(ValueRangeError, match="prompts: expected the shortest"):
        charts.together_or_apart.data(prompts=(4000, 400))
    with pytest.raises(ValueRangeError, match="promises: expected two factors"):
        charts.together_or_apart.data(promises=(0.9, 4))
