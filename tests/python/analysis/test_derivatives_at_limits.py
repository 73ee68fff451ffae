"""Derivatives where numbers leave their range: a finite value has slopes that are numbers."""

import math
from typing import Any

import pytest
import roofslate as rs
from roofslate import math as rm
from support.definitions import scope

ATTENTION = {
    "context_length": 20.0,
    "flops_per_token": 1e10,
    "layers": 30,
    "attention_heads": 20,
    "head_size": 64,
    "windowed_attention_layers": 30,
}
LIMITS: dict[str, tuple[str, dict[str, Any]]] = {
    "an overflow that divides": (
        "attention_to_weight_flops",
        {
            "context_length": 20.0,
            "flops_per_parameter_token": 1e300,
            "active_parameters": 4e9,
            "layers": 50,
            "attention_heads": 19,
            "head_size": 42,
        },
    ),
    "an overflow to the power of 0": ("kernel_time", {"reference_kernel_time": 8e-6, "peak_flops_bf16": 1e-300}),
    "an infinite cost that divides": (
        "input_price_factor",
        {"input_price": 2.5e-6, "active_parameters": 2e10, "peak_flops_in_format": 1e-300, "chip_price": 7e-4},
    ),
    "a power that underflows": (
        "budget_optimal_parameters",
        {
            "compute_budget": 1e6,
            "training_flops_per_parameter": 1e19,
            "loss_unit_size": 6e-6,
            "loss_unit_tokens": 7.0,
            "loss_size_coefficient": 1e-300,
            "loss_data_coefficient": 2.0,
            "loss_size_exponent": 0.02,
            "loss_data_exponent": 39.0,
        },
    ),
    "layers without attention to the whole context": ("attention_to_weight_flops", ATTENTION),
    "beyond memory": (
        "tokens_per_second_per_user",
        {
            "model": "DeepSeek-V3",
            "hardware": "H100",
            "chips": 1,
            "concurrency": 64,
            "input_tokens": 1000,
            "output_tokens": 100,
            "admission": "by_memory",
        },
    ),
}


def slope(output, inputs, name, value):
    """Return the central difference, None outside of the input's range."""
    step = 1e-6 * (abs(value) or 1.0)
    try:
        sides = [rs.value(output, inputs | {name: value + side * step}) for side in (1, -1)]
    except rs.RoofslateError:
        return None
    return (sides[0] - sides[1]) / (2 * step)


@pytest.mark.filterwarnings("ignore::roofslate.RoofslateWarning")
@pytest.mark.parametrize("case", LIMITS)
def test_slopes_are_numbers_where_the_value_is(case):
    output, inputs = LIMITS[case]
    assert math.isfinite(rs.value(output, inputs))
    slopes = rs.gradient(output, inputs).to_dict()
    by_difference = {name: slope(output, inputs, name, inputs[name]) for name in slopes if _is_number(inputs.get(name))}
    compared = {name: x for name, x in by_difference.items() if x is not None}
    assert compared
    assert {name: slopes[name] for name in compared} == pytest.approx(compared, rel=1e-4, abs=1e-300)


def _is_number(given):
    return isinstance(given, int | float)


def test_a_slope_that_only_a_limit_has_is_none():
    """Attention is context / (flops / layers): zero layers lose only that slope."""
    slopes = rs.gradient("attention_to_weight_flops", ATTENTION)
    assert math.isnan(slopes["windowed_attention_layers"])
    assert slopes[["attention_heads", "head_size", "context_length", "flops_per_token"]].tolist() == [0, 0, 0, 0]


# ------------------------------------------------------------------------------------------------------- roots at zero

_scope = pytest.fixture(scope, autouse=True)
# A formula of input_cv, its place, and its slopes above and below, by hand.
ROOTS: dict[str, tuple[Any, float, float, float]] = {
    "a square": (lambda x: rm.sqrt((x - 3) * (x - 3)), 3.0, 1.0, -1.0),
    "a norm": (lambda x: rm.sqrt((4 * x) * (4 * x) + (3 * x) * (3 * x)), 0.0, 5.0, -5.0),
    "a square by a factor": (lambda x: rm.sqrt(x * (x * (x + 4))), 0.0, 2.0, -2.0),
    "a ratio of squares": (lambda x: rm.sqrt(x * x / (9 + x)), 0.0, 1 / 3, -1 / 3),
    "a square of an exponential": (lambda x: rm.sqrt((rm.exp(2 * x) - 1) * (rm.exp(2 * x) - 1)), 0.0, 2.0, -2.0),
    "a square of a logarithm": (lambda x: rm.sqrt(rm.log(1 + 3 * x) * rm.log(1 + 3 * x)), 0.0, 3.0, -3.0),
    "an exponential without its tangent": (lambda x: rm.sqrt(2 * (rm.exp(x) - 1 - x)), 0.0, 1.0, -1.0),
    "a logarithm without its tangent": (lambda x: rm.sqrt(2 * (x - rm.log(1 + x))), 0.0, 1.0, -1.0),
    "a selected square": (lambda x: rm.sqrt(rm.where(x < 1, x * x, 4 * x * x)), 0.0, 1.0, -1.0),
    "a larger square": (lambda x: rm.sqrt(rm.maximum(x * x, x * x * x - 1)), 0.0, 1.0, -1.0),
    "a cube": (lambda x: rm.sqrt(x * x * x), 0.0, 0.0, 0.0),
    "a line": (lambda x: rm.sqrt(x), 0.0, math.inf, math.inf),
}


@pytest.mark.parametrize("name", ROOTS)
def test_a_root_at_zero_has_the_slope_of_each_side(name: str) -> None:
    formula, at, above, below = ROOTS[name]
    rs.define("tested_root", "1", lambda input_cv: formula(input_cv), brief="a root")
    for side, slope in (("above", above), ("below", below)):
        assert rs.gradient("tested_root", input_cv=at, side=side)["input_cv"] == pytest.approx(slope)
    on_grid = rs.gradient("tested_root", input_cv=[at, at + 1e-6, at])[0]
    assert on_grid[0] == on_grid[2] == pytest.approx(above)
    if math.isfinite(above):
        assert on_grid[1] == pytest.approx(above, rel=1e-4, abs=0.01)


def test_a_spread_of_zero_has_a_slope_by_each_input() -> None:
    """Of equal prompts: lengths do not matter, and a spread in their input adds to it."""
    inputs = {"turns": 1, "turn_input_tokens": 100.0, "first_prompt_tokens": 100.0, "shared_prompt_tokens": 0.0,
              "output_tokens": 50.0, "input_cv": 0.0, "output_cv": 0.0}  # fmt: skip
    slopes = rs.gradient("fresh_input_cv", inputs, to=["output_tokens", "input_cv", "turn_input_tokens"])
    assert slopes.to_dict() == {"output_tokens": 0, "input_cv": pytest.approx(0.5), "turn_input_tokens": 0}
    near = rs.value("fresh_input_cv", {**inputs, "input_cv": 1e-6})
    assert slopes["input_cv"] == pytest.approx(near / 1e-6)
    assert "session_fresh_input_cv" in slopes.attrs["kinks"]
