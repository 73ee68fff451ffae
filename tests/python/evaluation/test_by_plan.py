"""Calls by a plan: bits, labels, warnings and errors of the full reading."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import roofslate as rs
from questions.answers import ask
from roofslate import _core, errors
from roofslate.grid import plans
from support.random_questions import asked, slices
from support.slices import first_alone

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

CELL: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "context_length": "8k"}
BATCHES = {**CELL, "batch_size": [1, 64]}
NUMBERS: dict[str, Any] = {
    "total_parameters": 671e9,
    "active_parameters": 37e9,
    "bytes_per_weight": 1,
    "kv_bytes_per_token": 7e4,
    "hbm_bandwidth": 8e12,
    "peak_flops": 5e15,
    "chips": 72,
    "chip_price": "3 USD/h",
    "context_length": 4096,
}
COSTS = {**NUMBERS, "batch_size": np.linspace(1, 3000, 7)}
UNPRICED = {name: x for name, x in COSTS.items() if name != "chip_price"}
PRICED_CHIP = dataclasses.replace(rs.prices["lecture"], kind="hardware")
REPLICA = {"model": "Llama 3.1 70B", "hardware": "H100 SXM", "chips": 8, "context_length": 4096, "batch_size": [1, 8]}
REQUEST = {"input_tokens": 1000, "output_tokens": 100}


class _Roads:
    """A call by its plan, and by the full reading."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self._patch, self.planned = monkeypatch, 0

    def answers(self, outputs: Any, inputs: Mapping[str, Any], *, members: bool = False) -> tuple[Any, Any]:
        space = {"rs": rs, "outputs": outputs, "inputs": inputs}
        call = f"rs.evaluate(outputs, {'' if members else '**'}inputs)"
        with self._patch.context() as patch:
            patch.setattr(plans.Reading, "grid", self._counted(plans.Reading.grid))
            by_plan, _ = ask(call, space)
        with self._patch.context() as patch:
            patch.setattr("roofslate.evaluation.evaluate.read_by_plan", lambda *_, **__: None)
            in_full, _ = ask(call, space)
        return by_plan, in_full

    def _counted(self, build: Callable[..., Any]) -> Callable[..., Any]:
        def counted(reading: plans.Reading) -> Any:
            self.planned += 1
            return build(reading)

        return counted


@pytest.fixture(name="roads")
def both_roads(monkeypatch: pytest.MonkeyPatch) -> _Roads:
    return _Roads(monkeypatch)


@pytest.mark.parametrize("numbers", first_alone(slices(30)), ids=str)
def test_random_calls(roads: _Roads, numbers: range) -> None:
    for question in asked("plan", numbers, most_outputs=2, axes=(0, 1, 1, 2), choices=True):
        outputs: Any = question.outputs if question.number % 3 else question.outputs[0]
        by_plan, in_full = roads.answers(outputs, question.inputs)
        assert by_plan.lines == in_full.lines, question
        assert by_plan.order == in_full.order, question
    assert roads.planned > len(numbers) // 20


@pytest.mark.parametrize(
    ("outputs", "inputs"),
    [
        ("cost_per_token", COSTS),
        ("cost_per_token", {**NUMBERS, "batch_size": 64.0}),
        ("cost_per_token", {"batch_size": rs.geomspace(1, 1000, 4), **NUMBERS}),
        (["pass_time", "cost_per_token"], {**COSTS, "context_length": ["4k", "8k"]}),
        ("pass_time", BATCHES),
        ("bottleneck", BATCHES),
        (["pass_time", "hbm_used"], {**BATCHES, "units": {"pass_time": "ms"}}),
        ("pass_time", {**BATCHES, "units": "ms", "dtype": "float32"}),
        ("pass_time", {**BATCHES, "hbm_bandwidth": np.array([4e12, 8e12], dtype="float32")}),
        ("pass_time", {"batch_size": [64, 1], **CELL, "overlap": "none", "total_parameters": "700G"}),
    ],
    ids=str,
)
def test_calls_that_need_no_full_reading(roads: _Roads, outputs: Any, inputs: Mapping[str, Any]) -> None:
    by_plan, in_full = roads.answers(outputs, inputs)
    assert (by_plan.lines, by_plan.order) == (in_full.lines, in_full.order)
    assert not by_plan.failed
    assert roads.planned == 1


@pytest.mark.parametrize(
    ("outputs", "inputs"),
    [
        ("pass_time", {**BATCHES, "batch_size": [1, 1e7]}),  # does not fit
        ("cost_per_token", {**COSTS, "chip_price": [1e-3, 3.0]}),  # more than any chip costs
        ("cost_per_token", {**COSTS, "active_parameters": [37e9, 1e12]}),  # more than all
        ("cost_per_token", {**COSTS, "layers": 3}),  # has no effect
        ("cost_per_token", {**COSTS, "attention_heads": [1, 2]}),
        ("hbm_drain_time", {"hbm_capacity": [1e9, 2e9], "hbm_bandwidth": [1e12, -1]}),
        ("pass_time", {**BATCHES, "hardware": "A100 80GB SXM", "chips": 16}),  # formats that it does not multiply
        ("pass_time", {**REPLICA, "tensor_parallel": 4}),  # whose layout a rule completes
        (["pass_time", "request_latency"], {**REPLICA, **REQUEST, "concurrency": 3}),  # contradicts the batches
        ("pass_time", {**REPLICA, "overlap": ["none", "board"]}),
        ("pass_time", {**REPLICA, "batch_size": np.array([-1.0, 8.0])}),
        ("cost_per_token", {**UNPRICED, "hardware": PRICED_CHIP, "prices": "lecture"}),  # two prices
        ("pass_time", {**BATCHES, "kernel_time": 1e-6}),  # no lower bound
        ("pass_time", {**BATCHES, "calibration": "serving"}),
        ("pass_time", {**BATCHES, "concurrency": 4}),
        ("pass_time", {**BATCHES, "windowed_attention_layers": 3}),
        ("pass_time", {**BATCHES, "model": ["DeepSeek-V3", "Llama 3.1 70B"]}),
        ("pass_time", {**BATCHES, "batch_size": [[1, 2], [3, 4]]}),
        ("pass_time", {**BATCHES, "batch_size": []}),
        ("pass_time", {**BATCHES, "batch_size": np.array(3.0)}),
        ("pass_tim", BATCHES),
    ],
    ids=str,
)
def test_other_calls(roads: _Roads, outputs: Any, inputs: Mapping[str, Any]) -> None:
    by_plan, in_full = roads.answers(outputs, inputs)
    assert (by_plan.lines, by_plan.order) == (in_full.lines, in_full.order)


@pytest.mark.parametrize(
    "more", [{}, {"layers": 3}, {"attention_heads": 128, "layers": 3}, {"chips": 8, "data_parallel": 2}], ids=str
)
def test_members_of_a_scenario(roads: _Roads, more: Mapping[str, Any]) -> None:
    by_plan, in_full = roads.answers("cost_per_token", {**COSTS, **more}, members=True)
    assert (by_plan.lines, by_plan.order) == (in_full.lines, in_full.order)
    assert not by_plan.failed


def test_an_axis_that_a_number_leaves_without_effect_is_refused() -> None:
    """A plan knows names: the numbers of a call decide which branch a formula takes."""
    heads = {"kv_heads": [4, 8], "head_size": 192}
    assert rs.evaluate("kv_elements_per_layer", kv_latent_size=0, **heads).dims == ("kv_heads",)
    with pytest.raises(errors.IneffectiveInput, match="axis 'kv_heads'"):
        rs.evaluate("kv_elements_per_layer", kv_latent_size=576, **heads)


def test_inputs_take_precedence_on_a_supply() -> None:
    supply = _core.Supply({"batch_size": 3.0, "pass_length": 2.0})
    grid = _core.Grid([], {"batch_size": 5.0}, [], supply)
    ((tokens, axes),) = grid.evaluate(["pass_tokens"], [], 1, None)
    assert (float(tokens), axes) == (10.0, [])
    assert grid.used(["pass_tokens"]) == ["batch_size", "pass_length"]


def test_numbers_among_inputs() -> None:
    numbers, decided, remaining = _core.read_numbers(
        {
            "batch_size": 3,
            "pipeline_stages": 1,
            "chips": 1e999,
            "model": "x",
            "layers": True,
            "overlap": "none",
            "y": 1.0,
        }
    )
    assert numbers == {"batch_size": 3.0, "pipeline_stages": 1.0}
    assert all(type(x) is float for x in numbers.values())
    assert decided == [("pipeline_stages", 1.0)]  # its default
    assert remaining == ["chips", "model", "layers", "overlap", "y"]
    assert _core.read_numbers({"layers": 10**400, "batch_size": 2})[::2] == ({"batch_size": 2.0}, ["layers"])
