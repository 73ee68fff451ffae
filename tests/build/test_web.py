"""The engine of web pages: bits of the native core, size, and refusal of bad input."""

from __future__ import annotations

import json
import shutil
import subprocess
from typing import Any

import pytest
import web_bits
import web_speed
from support import ROOT

MOST_BYTES = 500_000  # gzipped
LEAST_RATIO = 0.5  # of the native base instruction set's speed
CHECK = """
import { readFileSync } from "node:fs";
import { EngineError, loadEngine } from "%s/python/roofslate/web/engine.js";
const engine = await loadEngine(readFileSync("%s"));
const s = engine.scenario();
let result;
try { result = await (%s)(engine, s); } catch (error) {
  if (!(error instanceof EngineError)) throw error;
  result = { kind: error.kind, message: error.message };
}
console.log(JSON.stringify(result ?? null));
"""


@pytest.fixture(autouse=True, scope="module")
def _engine() -> None:
    if lacking := web_bits.missing():
        pytest.skip(f"not there: {', '.join(lacking)} (make wasm)")


def run(function: str) -> Any:
    """Result of a function of an engine and a scenario, or its error."""
    code = CHECK % (ROOT, web_bits.ENGINE, function)
    command = [shutil.which("node") or "node", "--input-type=module", "--eval", code]
    return json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)


@pytest.mark.slow
def test_a_thousand_answers_have_the_same_bits() -> None:
    assert not web_bits.compare(0, 1000)


@pytest.mark.long
@pytest.mark.whole
def test_a_hundred_thousand_answers_have_the_same_bits() -> None:
    assert not web_bits.compare(10_000, 100_000)


def test_questions_of_each_kind_are_answered() -> None:
    questions = [web_bits.question(number) for number in range(200)]
    answered = {one["kind"] for one, answer in questions if not (isinstance(answer, dict) and "error" in answer)}
    assert answered == {*web_bits.KINDS}


def test_another_answer_is_noticed() -> None:
    native = [[["batch_size"], web_bits.digits([1.0, 2.0])]]
    web = json.loads(json.dumps(native))
    assert web_bits.agree("evaluate", native, web)
    web[0][1] = web_bits.digits([1.0, 2.0 + 2**-51])
    assert not web_bits.agree("evaluate", native, web)
    assert not web_bits.agree("evaluate", {"error": "MissingInput"}, web)


@pytest.mark.measured
def test_it_is_small_and_fast() -> None:
    measured = max((web_speed.measure() for _ in range(3)), key=lambda one: one["ratio"])
    assert measured["gzipped"] <= MOST_BYTES
    assert measured["ratio"] >= LEAST_RATIO
    assert measured["points"] == 1_000_000


@pytest.mark.parametrize(
    ("function", "kind", "message"),
    [
        ("(e, s) => s.set('pass_tim', 1)", "UnknownName", "unknown quantity \"pass_tim\", did you mean 'pass_time'?"),
        ("(e, s) => s.set('xyzzyxyzzyxyzzy', 1)", "UnknownName", 'unknown quantity "xyzzyxyzzyxyzzy"'),
        ("(e, s) => s.set(7, 1)", "UnknownName", "unknown quantity 7"),
        ("(e, s) => s.set('batch_size', NaN)", "InputTypeError", "batch_size: expected a number, got NaN"),
        ("(e, s) => s.set('batch_size', '8')", "InputTypeError", 'batch_size: expected a number, got "8"'),
        ("(e, s) => s.set('batch_size', -1)", "ValueRangeError", "batch_size must be > 0 and finite, in sequence, got"),
        ("(e, s) => s.axis('batch_size', [1, 0])", "ValueRangeError", "got 0 among its 2 values"),
        ("(e, s) => s.axis('batch_size', [])", "AxisError", "the axis batch_size has no values"),
        ("(e, s) => s.axis('batch_size', 3)", "InputTypeError", "batch_size: expected an array of numbers, got 3"),
        ("(e, s) => s.set('weight_format', 0.5)", "ValueRangeError", "weight_format must be a position: 0 ("),
        ("(e, s) => s.evaluate([])", "InputTypeError", "expected a list of names"),
        ("(e, s) => s.evaluate(['compute_time'])", "MissingInput", "missing input 'batch_size'"),
        ("(e, s) => s.evaluate(['compute_time'])", "MissingInput", "\nmissing input 'active_parameters'"),
        ("(e, s) => s.best('compute_time', {where: [{quantity: 'chips', operator: '=', value: 1}]})",
         "InputTypeError", 'chips: unknown operator "=", expected <, <=, ==, !=, >=, >'),
        ("(e, s) => s.solve('chips', 'compute_time', '!=', 1)", "InputTypeError", "an inequation has no boundary"),
        ("(e, s) => s.solve('weight_format', 'compute_time', '<', 1)", "InputTypeError", "weight_format is a choice"),
        ("(e, s) => s.set('chips', 8).solve('chips', 'compute_time', '<', 1)", "InputTypeError",
         "chips is the unknown, but was given"),
        ("(e, s) => s.axis('chips', [1, 2]).explain('compute_time')", "AxisError", "chips is an axis"),
        ("(e, s) => { s.free(); s.set('chips', 1); }", "EngineError", "this scenario was freed"),
    ],
)  # fmt: skip
def test_bad_input_is_refused_by_name(function: str, kind: str, message: str) -> None:
    refused = run(function)
    assert refused["kind"] == kind
    assert message in refused["message"]


def test_an_input_above_its_bound_is_refused() -> None:
    refused = run("(e, s) => s.set('input_tokens', 10).set('prefix_length', 11).evaluate(['input_tokens'])")
    assert refused == {
        "kind": "ValueRangeError",
        "message": "prefix_length must not exceed input_tokens, got 11 and 10",
    }


def test_an_axis_becomes_a_number_and_again_an_axis() -> None:
    sizes = run(
        "(e, s) => {"
        "  s.axis('total_parameters', [1e9, 2e9]).axis('bytes_per_weight', [1, 2, 3]);"
        "  const shown = () => {"
        "    const { axes, values } = s.evaluate(['model_bytes']).model_bytes;"
        "    return [...axes, ...values];"
        "  };"
        "  const both = shown();"
        "  s.set('total_parameters', 1e9);"
        "  const one = shown();"
        "  s.axis('total_parameters', [5, 7]);"
        "  return [both, one, shown()];"
        "}"
    )
    assert sizes == [
        ["total_parameters", "bytes_per_weight", 1e9, 2e9, 3e9, 2e9, 4e9, 6e9],
        ["bytes_per_weight", 1e9, 2e9, 3e9],
        ["bytes_per_weight", "total_parameters", 5, 7, 10, 14, 15, 21],
    ]


def test_a_view_is_of_memory_that_the_next_call_takes_again() -> None:
    assert run(
        "(e, s) => {"
        "  s.axis('total_parameters', Array.from({ length: 1e5 }, (_, k) => 1e9 * (k + 1))).set('bytes_per_weight', 2);"
        "  const ends = values => [values[0], values[99999]];"
        "  const copy = s.evaluate(['model_bytes']).model_bytes.values;"
        "  const view = s.evaluate(['model_bytes'], { view: true }).model_bytes.values;"
        "  const seen = ends(view), size = view.buffer.byteLength;"
        "  s.set('bytes_per_weight', 3);"
        "  let again;"
        "  for (let k = 0; k < 300; ++k) again = s.evaluate(['model_bytes'], { view: true }).model_bytes.values;"
        "  const kept = again.buffer.byteLength === size;"
        "  return [...ends(copy), ...seen, ...ends(again), kept, view.buffer === again.buffer,"
        "          copy.buffer === view.buffer];"
        "}"
    ) == [2e9, 2e14, 2e9, 2e14, 3e9, 3e14, True, True, False]


def test_a_derivation_is_that_of_explain() -> None:
    import roofslate as rs

    scenario = {"total_parameters": 1e9, "weight_format": "bf16"}
    explained = rs.explain("model_bytes", **scenario)
    position = rs.quantity("weight_format").choices.index("bf16")
    steps = run(f"(e, s) => s.set('total_parameters', 1e9).set('weight_format', {position}).explain('model_bytes')")
    texts = {step["name"]: step["text"] for step in steps if step["basis"] == "formula"}
    assert steps[0]["name"] == "model_bytes"
    assert steps[0]["value"] == explained.steps[0].value
    assert {step.quantity.name: step.formula for step in explained.steps}.items() <= texts.items()
    assert {step["name"] for step in steps if step["basis"] == "given"} == {*scenario}


def test_a_damaged_module_is_refused() -> None:
    refused = run("() => loadEngine(new Uint8Array([1, 2, 3]))")
    assert refused["message"].startswith("engine.wasm is damaged or this browser cannot run it")
