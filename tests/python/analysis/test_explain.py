"""Explanations: numbers equal `value`, and steps lead from the output to the inputs."""

from __future__ import annotations

import functools
import math
import re
from html.parser import HTMLParser
from typing import TYPE_CHECKING, Any
from xml.etree import ElementTree

import numpy as np
import pytest
import roofslate as rs
from roofslate import units
from roofslate.analysis.explain import Explanation, Given
from roofslate.display.mathml import mathml
from roofslate.grid.read import Settled
from roofslate.registry.registry import entries, lookup
from support.checks import cases
from support.explanations import BOARD, CELL
from support.lazy import Lazy
from support.reference import rows

if TYPE_CHECKING:
    from collections.abc import Iterator

mathtext = Lazy("matplotlib.mathtext")


# ---------------------------------------------------------------------------------------------- the whole registry


def determined(name: str, inputs: dict[str, Any]) -> bool:
    """Return True if a scenario determines a quantity."""
    try:
        rs.value(name, Settled(inputs))
    except rs.errors.MissingInput:
        return False
    return True


COMPUTED = [name for name, q in entries().items() if q.computed]


@functools.cache
def scenarios() -> dict[str, dict[str, dict[str, Any]]]:
    """Return by quantity all hand-computed scenarios, and the lecture's presets."""
    named: dict[str, dict[str, dict[str, Any]]] = {name: {} for name in COMPUTED}
    for row in rows():
        if row.quantity in named:
            named[row.quantity][f"row {len(named[row.quantity])}"] = row.case["inputs"]
    for name, of_quantity in named.items():
        if determined(name, BOARD):
            of_quantity["board"] = BOARD
    return named


def near(shown: str, value: float, unit: str) -> bool:
    """Return True if a printed number equals this one to the printed digits."""
    read = units.parse(shown, unit)
    return read == value or abs(read - value) <= 0.50001e-3 * abs(value)


def block_of(text: str, name: str) -> list[str]:
    (block,) = [block for block in text.split("\n\n") if block.startswith(f"{name}: ")]
    return block.splitlines()


def test_every_quantity_is_asked_for() -> None:
    assert all(scenarios().values())
    assert sum("board" in of_quantity for of_quantity in scenarios().values()) > 80


@pytest.mark.parametrize("name", COMPUTED)
def test_explanation(name: str, bits: Any) -> None:
    """In every scenario: its numbers, its LaTeX, and its page."""
    with cases() as case:
        for scenario, inputs in scenarios()[name].items():
            explanation = rs.explain(name, Settled(inputs))
            with case(scenario):
                check_numbers(explanation, name, inputs, bits)
            with case(scenario):
                check_latex(explanation)
            with case(scenario):
                check_html(explanation)


def check_numbers(explanation: Explanation, name: str, inputs: dict[str, Any], bits: Any) -> None:
    """Every number equals the result of `value`."""
    text = str(explanation)
    values = {part.quantity.name: rs.value(part.quantity.name, Settled(inputs)) for part in explanation._parts}
    if explanation.steps:  # else it is given
        assert explanation.steps[0].quantity.name == name
    assert explanation.value == values[name]
    graph = explanation.graph()
    assert graph.binding <= set(graph.edges)
    for part in explanation._parts:
        q, value = part.quantity, values[part.quantity.name]
        assert (q.choices[int(part.value)] == value) if q.choices else (bits(part.value) == bits(value))

    def is_shown(shown: str, of: str) -> bool:
        q, value = lookup(of), values[of]
        return shown == repr(value) if isinstance(value, str) else near(shown, value, q.unit)

    for step in explanation.steps:
        head, *sides = block_of(text, step.quantity.name)
        assert head == f"{step.quantity.name}: {step.quantity.brief}  [{step.quantity.source}]"
        *_, last = (side.removeprefix("  = ") for side in sides)
        shown, _, remark = last.partition("    (")
        assert is_shown(shown, step.quantity.name)
        assert remark.removesuffix(")") == step.remark
        for need in step.needs:
            part = next(part for part in explanation._parts if part.quantity.name == need)
            assert is_shown(part.result, need)
            in_formula = re.search(rf"\b{need}\b", step.formula)
            assert part.result in step.substituted if in_formula else need in step.remark
        assert len(set(step.bindings)) == len(step.bindings)  # a local in several places binds once
        for binding in step.bindings:
            one, other = (rs_value(side, values) for side in (binding.winner, binding.loser))
            if None not in (one, other):
                assert (one > other) == binding.maximum
                assert one != other
                factor = max(one, other) / min(one, other) if min(one, other) > 0 else math.inf
                if math.isfinite(factor):
                    side = "smaller" if binding.maximum else "larger"
                    assert f"{binding.loser} is {factor:.3g} times {side}" in step.remark
    table = re.findall(
        r"^  (\w+) +(\S.*?)(?:  +|$)(.*)$", f"\n{text}".partition("\nInputs\n")[2].split("\n\n")[0], re.MULTILINE
    )
    assert [row[0] for row in table] == [given.quantity.name for given in explanation.inputs]
    for given_name, shown, origin in table:
        assert is_shown(shown, given_name)
        assert origin


def rs_value(side: str, values: dict[str, Any]) -> Any:
    """Return the value of one side of a max or min that is a quantity or a number."""
    try:
        return values.get(side) if side in values else float(side)
    except ValueError:
        return None


def typeset(formula: str) -> None:
    parse(re.sub(r"\d+", "1", formula))  # a number takes as long as the rest, and is set like any other


@functools.cache
def parse(formula: str) -> None:
    mathtext.MathTextParser("path").parse(f"${formula}$")


def lines_of(latex: str) -> Iterator[str]:
    """Formulas of a text of LaTeX as matplotlib reads them: line by line, case by case."""
    for block in re.findall(r"\\begin\{aligned\}\n(.*?)\n\\end\{aligned\}", latex, re.DOTALL):
        for line in block.split(" \\\\\n"):
            parts = re.split(r"\\begin\{cases\}(.*?)\\end\{cases\}", line.replace("&=", "=", 1))
            yield "".join(parts[::2])
            yield from (cell for case in parts[1::2] for cell in re.split(r"&|\\\\", case))


KATEX = {
    *("begin", "end", "text", "mathrm", "mathcal", "frac", "sqrt", "left", "right", "bar", "hat", "lceil", "rceil"),
    *("lfloor", "rfloor", "max", "min", "exp", "ln", "leq", "wedge", "vee", "times", "infty", "ell", "downarrow"),
    *("uparrow", "varrho", "alpha", "beta", "gamma", "delta", "epsilon", "eta", "kappa", "lambda", "mu", "phi", "pi"),
    *("rho", "sigma", "tau", "chi", "omega", "Delta", "Lambda", "Phi", "Gamma", "Sigma"),
}


def check_latex(explanation: Explanation) -> None:
    """All formulas can be typeset."""
    for part in explanation._parts:
        typeset(re.sub(r"\\math(\w+) (\w)", r"\\math\1{\2}", part.quantity.symbol))
    for formula in lines_of(explanation.latex):
        if formula.strip():
            typeset(re.sub(r"\\math(\w+) (\w)", r"\\math\1{\2}", formula))
    assert set(re.findall(r"\\([A-Za-z]+)", explanation.latex)) <= KATEX
    for words in re.findall(r"\\text\{((?:\\.|[^\\{}])*)\}", explanation.latex):
        assert not re.search(r"(?<!\\)[$%&_#^~]", words), "a sign that is no text in LaTeX"
    assert explanation.latex.count("\\begin{aligned}") == len(explanation.steps)


class Balance(HTMLParser):
    """Read tags like a browser, and count the headers of tables."""

    def __init__(self) -> None:
        super().__init__()
        self.open: list[str] = []
        self.scopes: list[Any] = []

    def handle_starttag(self, tag: str, attrs: Any) -> None:
        self.open.append(tag)
        if tag == "th":
            self.scopes.append(dict(attrs).get("scope"))

    def handle_startendtag(self, tag: str, attrs: Any) -> None:
        pass

    def handle_endtag(self, tag: str) -> None:
        assert self.open.pop() == tag


def checked(page: str) -> ElementTree.Element:
    """The page is well-formed as HTML and XML, with headers for their columns."""
    balance = Balance()
    balance.feed(page)
    balance.close()
    assert balance.open == []
    assert set(balance.scopes) == {"row", "col"}
    return ElementTree.fromstring(page)


def check_html(explanation: Explanation) -> None:
    """The page is well-formed and has every formula."""
    page = checked(explanation.html)
    formulas = page.findall("p/math")
    assert len(formulas) == len(explanation.steps)
    for step, formula in zip(explanation.steps, formulas, strict=True):
        shown = "".join(formula.itertext())
        assert "\\" not in shown, "LaTeX that was not understood"
        for number in re.findall(r"\\text\{((?:\\.|[^\\{}])*)\}", step.aligned):
            assert re.sub(r"\\(.)", r"\1", number) in shown
    assert len(page.findall("table/tbody/tr")) == len(explanation.inputs)
    assert "mathjax_ignore" in page.get("class", "")


def test_formulas_as_mathml() -> None:
    assert mathml("t_w") == "<math><mrow><msub><mi>t</mi><mrow><mi>w</mi></mrow></msub></mrow></math>"
    fraction = mathml(r"\frac{2 \, N_a}{\text{3 GB/s}}")
    assert "<mfrac>" in fraction
    assert '<mi mathvariant="normal">3 GB/s</mi>' in fraction
    assert "<msubsup><mi>D</mi>" in mathml(r"D_\mathrm{PT}^=")
    assert "′" in mathml("G_u'")
    assert "a &lt; b" in mathml(r"\text{a < b}")
    assert "ℒ" in mathml(r"\mathcal L")
    assert mathml(r"\begin{cases} a & b \\ c & d \end{cases}").count("<mtr>") == 2
    for wrong in (
        r"\frac{1}",
        "{",
        "}",
        r"\left( x",
        r"\unknown",
        "a & b",
        r"\begin{cases} a",
        "<script>" * 3,
        r"\mathrm{",
    ):
        element = ElementTree.fromstring(mathml(wrong))
        assert "".join(element.itertext()) in (wrong, wrong.replace("<", "<"))
    ElementTree.fromstring(mathml("{" * 5000 + "}" * 5000))


# ----------------------------------------------------------------------------------------------------------- display


def test_the_derivation_of_a_cost_as_text() -> None:
    text = str(rs.explain("cost_per_token", BOARD))
    first, *_, last, basis, legend = text.split("\n\n")
    assert basis == "Basis: floor"
    assert first.splitlines() == [
        "cost_per_token: decode cost per generated token  [R1.5]",
        "  = round_time * (replica_price / round_tokens)",
        "  = 677.1 µs * (($144 / h) / 2,400)",
        "  = $0.01128 / Mtok",
    ]
    assert "memory_time binds, compute_time is 2.47 times smaller; overlap = 'board'" in text
    assert re.search(r"^  drafting_factor +1 +computed from defaults$", last, re.MULTILINE)
    assert re.search(r"^  admission +'all' +implied by other inputs$", last, re.MULTILINE)
    assert re.search(r"^  batch_size +2,400 +given$", last, re.MULTILINE)
    assert re.search(r"^  overlap +'board' +default \[R1.1\]$", last, re.MULTILINE)
    bandwidth = r"^  hbm_bandwidth +8 TB/s +hardware BW72 \(lecture\): .+2026-05-03 \(checked in source\)$"
    assert re.search(bandwidth, last, re.MULTILINE)
    assert legend == (
        "Sources: R1.5 is relation 5 of chapter 1 of Reiner Pope's lecture, Q4 is question 4 that the lecture leaves "
        "open; see docs/reference/sources.md"
    )


def test_sources_that_say_it_themselves_have_no_legend() -> None:
    text = str(rs.explain("batch_size", batch_size=64))
    assert "Sources" not in text
    assert "Sources" not in str(rs.explain("bits_per_weight", weight_format="fp8", depth=0))


def test_a_recalled_number_is_told_from_one_that_was_read() -> None:
    origins = {
        given.quantity.name: given.origin for given in rs.explain("ridge_point", hardware="Rubin (lecture)").inputs
    }
    facts = rs.hardware["Rubin (lecture)"].facts
    for name in ("peak_flops", "hbm_bandwidth"):
        fact = facts[name]
        assert origins[name] == f"hardware Rubin (lecture): {fact.source}, {fact.date} ({fact.status})"
    assert {facts[name].read for name in ("peak_flops", "hbm_bandwidth")} == {True, False}


def test_quantities_stand_before_what_they_need() -> None:
    explanation = rs.explain("cost_per_token", CELL)
    order = [step.quantity.name for step in explanation.steps]
    assert order[0] == "cost_per_token"
    assert len(set(order)) == len(order)
    for position, name in enumerate(order):
        for need in lookup(name).needs:
            assert need not in order[:position]


def test_only_what_the_choices_leave_is_shown() -> None:
    read = {**CELL, "expert_reads": "all"}
    board = rs.explain("roofline_time", read)
    serial = rs.explain("roofline_time", read, overlap="serial_kv")
    assert board.steps[0].formula == "max(memory_time, compute_time)"
    assert board.steps[0].needs == ("overlap", "compute_time", "memory_time")
    assert serial.steps[0].formula == "kv_fetch_time + max(weight_fetch_time, compute_time)"
    assert "memory_time" not in {step.quantity.name for step in serial.steps}
    experts = {"experts_per_token", "dense_parameters", "expert_coverage"}
    assert not experts & {part.quantity.name for part in board._parts}
    expected = rs.explain("roofline_time", CELL)
    assert experts <= {part.quantity.name for part in expected._parts}
    assert {"experts", "experts_per_token"} <= {given.quantity.name for given in expected.inputs}


def off(explanation: Explanation) -> dict[str, float]:
    """Values of 0 or 1 from defaults are not derived."""
    return {i.quantity.name: i.value for i in explanation.inputs if i.origin == "computed from defaults"}


def test_what_is_off_is_not_derived() -> None:
    plain = rs.explain("replica_throughput", CELL)
    assert off(plain).items() >= {"pass_overhead": 0, "pass_length": 1, "drafting_factor": 1}.items()
    steps = {step.quantity.name for step in plain.steps}
    assert not steps & {*off(plain), "kernel_overhead", "link_wait_time", "sampled_length"}
    assert "draft_length" not in {given.quantity.name for given in plain.inputs}
    assert off(plain) == {name: rs.value(name) for name in off(plain)}, "nothing is given"
    assert rs.explain("pass_overhead", CELL).steps[0].formula.startswith("kernel_overhead + ")
    slow = rs.explain("pass_time", CELL, collective_step_latency="2 µs")
    assert slow.steps[0].formula == "roofline_time + pass_overhead"
    assert {"pass_overhead", "collective_latency"} <= {step.quantity.name for step in slow.steps}
    drafts = rs.explain("cost_per_token", {**CELL, "draft_length": 0, "acceptance_rate": 0.8, "draft_cost": 0.1})
    assert not {"pass_length", "drafting_factor"} & set(off(drafts)), "given, if as the default"


def test_what_is_not_0_or_1_is_derived_from_defaults_too() -> None:
    explanation = rs.explain("pretraining_flops", active_parameters=1e9, pretraining_tokens=1e12)
    assert "training_flops_per_parameter" in {step.quantity.name for step in explanation.steps}


def test_an_answer_in_words_has_its_cases_in_words() -> None:
    explanation = rs.explain("bottleneck", BOARD)
    assert explanation.value == "weight_fetch"
    first = explanation.steps[0]
    assert "else 'compute' if memory_time <= compute_time else 'weight_fetch' if " in first.formula
    assert r"\text{weight fetch} & t_{kv} \leq t_w" in first.latex


def test_a_supplied_quantity_ends_the_derivation() -> None:
    explanation = rs.explain("replica_throughput", pass_time="20 ms", batch_size=2000)
    assert {given.quantity.name for given in explanation.inputs} >= {"pass_time", "batch_size"}
    assert "pass_time" not in {step.quantity.name for step in explanation.steps}


def test_what_a_preset_states_ends_the_derivation() -> None:
    explanation = rs.explain("balance_batch", model="lecture")
    assert [step.quantity.name for step in explanation.steps] == ["balance_batch", "sparsity"]
    assert off(explanation) == {"pass_length": 1}
    (balance,) = [given for given in explanation.inputs if given.quantity.name == "balance_tokens"]
    source = "R. Pope, lecture with D. Patel, chapters 1 and 6, 2026-04-29"
    assert balance.origin == f"model lecture: {source} (checked in source)"


def test_an_input_that_follows_from_another_quantity_says_so() -> None:
    explanation = rs.explain("bytes_per_weight", weight_format="fp8")
    assert explanation.steps[0].formula == "bits_per_weight * bytes_per_weight_bit"
    assert explanation.inputs[-1].quantity.name in {"weight_format", "bytes_per_weight_bit"}
    assert explanation.value == 1


def test_an_input_explains_itself() -> None:
    explanation = rs.explain("batch_size", batch_size=64)
    assert explanation.steps == ()
    assert explanation.value == 64
    assert str(explanation) == "Inputs\n  batch_size  64  given"
    assert explanation._repr_latex_() is None
    assert str(explanation.graph()).count("label") == 1
    checked(explanation.html)


def test_markdown_and_latex_hold_the_formulas() -> None:
    explanation = rs.explain("roofline_time", BOARD)
    for text in (explanation.markdown, explanation.latex):
        assert r"t_r &= \max\left(t_\mathrm{mem}, t_\mathrm{comp}\right)" in text
        assert text.count(r"\begin{aligned}") == text.count(r"\end{aligned}") == len(explanation.steps)
        assert text.count("{") == text.count("}")
        assert text.count(r"\left") == text.count(r"\right")
    assert "| batch_size | $B$ | 2,400 | given |" in explanation.markdown
    assert explanation._repr_markdown_() == explanation.markdown
    assert explanation._repr_html_() == explanation.html
    assert explanation._repr_latex_() == explanation.latex


def test_numbers_beside_each_other_are_multiplied() -> None:
    (step,) = rs.explain("pass_tokens", batch_size=64, pass_length=512).steps
    assert step.latex_substituted == r"\text{64} \times \text{512}"


def test_prices_do_not_open_formulas() -> None:
    explanation = rs.explain("cost_per_token", BOARD)
    assert r"\$2 / h" in explanation.markdown
    for page in (explanation.html, rs.prices._repr_html_(), rs.prices["lecture"]._repr_html_()):
        assert 'class="tex2jax_ignore mathjax_ignore"' in page


def test_texts_of_presets_are_escaped() -> None:
    chip = rs.hardware.define(
        "<b>& | $", peak_flops="1 PFLOP/s", hbm_bandwidth="1 TB/s", source="<script>alert(1)</script>"
    )
    explanation = rs.explain("ridge_point", hardware=chip)
    assert "<script>" not in explanation.html
    assert "<b>&" not in explanation.html
    assert r"\| \$" in explanation.markdown
    checked(explanation.html)


# ------------------------------------------------------------------------------------------------------------ depth


def levels(explanation: Explanation) -> dict[str, int]:
    """Return the depth of each quantity below the output."""
    takes = {step.quantity.name: step.needs for step in explanation.steps}
    result = {explanation.steps[0].quantity.name: 0}
    at = list(result)
    for name in at:
        for need in takes.get(name, ()):
            if need not in result:
                result[need] = result[name] + 1
                at.append(need)
    return result


@pytest.mark.parametrize("depth", range(9))
@pytest.mark.parametrize("name", ["cost_per_token", "bottleneck", "hbm_used"])
def test_a_depth_ends_the_derivation(name: str, depth: int) -> None:
    full = rs.explain(name, CELL)
    far = levels(full)
    part = rs.explain(name, CELL, depth=depth)
    assert [step for step in full.steps if far[step.quantity.name] <= depth] == list(part.steps)
    derived = {step.quantity.name for step in full.steps}
    for given in part.inputs:
        assert given.value == next(other.value for other in full._parts if other.quantity == given.quantity)
        if given.quantity.name in derived:
            assert given.origin == f"computed; depth={far[given.quantity.name]} derives it"
            deeper = rs.explain(name, CELL, depth=far[given.quantity.name])
            assert given.quantity.name in {step.quantity.name for step in deeper.steps}
        else:
            assert given in full.inputs
    if depth >= max(far.values()):
        assert part == full
    checked(part.html)
    for text in (str(part), part.markdown, part.html):
        assert ("derives it" in text) == (part != full)


def test_depth_zero_is_the_answer_alone() -> None:
    text = str(rs.explain("roofline_time", BOARD, depth=0))
    assert text.split("\n\n")[1].splitlines() == [
        "Inputs",
        "  overlap       'board'   default [R1.1]",
        "  compute_time  274.1 µs  computed; depth=1 derives it",
        "  memory_time   677.1 µs  computed; depth=1 derives it",
    ]
    assert rs.explain("pass_time", BOARD, depth=np.int64(1)) == rs.explain("pass_time", BOARD, depth=1)
    assert rs.explain("pass_time", BOARD, depth=10**30) == rs.explain("pass_time", BOARD)


# ------------------------------------------------------------------------------------------------------------ errors


def test_an_axis_is_refused() -> None:
    with pytest.raises(rs.errors.AxisError, match=r"batch_size is an axis"):
        rs.explain("pass_time", {**CELL, "batch_size": [1, 2]})
    with pytest.raises(rs.errors.AxisError, match=r"hardware is an axis"):
        rs.explain("pass_time", {**CELL, "hardware": ["H100", "H200"]}, chips=8)


def test_a_missing_input_is_named_with_its_chain() -> None:
    with pytest.raises(rs.errors.MissingInput, match=r"'chip_price' .* needed by replica_price <- cost_per_token"):
        rs.explain("cost_per_token", model="DeepSeek-V3", hardware="GB200 NVL72", batch_size=1, context_length=0)
    with pytest.raises(rs.errors.MissingInput, match=r"'chips' .* <- pass_time; 'H100' is one chip: give chips="):
        rs.explain("pass_time", model="DeepSeek-V3", hardware="H100", batch_size=1, context_length=0)
    with pytest.raises(rs.errors.MissingInput, match=r"'total_parameters' .* <- weight_fetch_time .* <- pass_time"):
        rs.explain("pass_time", batch_size=1, bytes_per_weight=1)


@pytest.mark.parametrize(
    ("depth", "error", "message"),
    [
        (-1, rs.errors.ValueRangeError, "depth must be at least 0, got -1"),
        (1.0, rs.errors.InputTypeError, "depth must be a whole number of levels, got 1.0"),
        ("2", rs.errors.InputTypeError, "got '2'"),
        (True, rs.errors.InputTypeError, "got True"),
        (math.nan, rs.errors.InputTypeError, "got nan"),
        ([1], rs.errors.InputTypeError, r"got \[1\]"),
    ],
)
def test_a_depth_is_a_whole_number(depth: Any, error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        rs.explain("pass_time", BOARD, depth=depth)


@pytest.mark.parametrize(
    "output",
    [
        '__import__("os").system("true")',
        "pass_time" * 100_000,
        "(" * 10_000,
        "",
        "\0",
        "pass time",
        "Pass_Time",
        "model",
    ],
)
def test_a_hostile_name_is_unknown(output: str) -> None:
    with pytest.raises(rs.errors.UnknownName) as caught:
        rs.explain(output, BOARD)
    assert len(str(caught.value)) < 500
    with pytest.raises(rs.errors.UnknownName):
        rs.explain("pass_time", {**BOARD, output if output != "model" else "modell": 1})


@pytest.mark.parametrize("output", [None, 3, ["pass_time", "cost_per_token"], object()])
def test_a_name_is_a_text(output: Any) -> None:
    with pytest.raises(rs.RoofslateError):
        rs.explain(output, BOARD)


def test_inputs_are_checked_as_for_value() -> None:
    for inputs, error in (
        ({"batch_size": "3 GB"}, rs.errors.UnitError),
        ({"batch_size": -1}, rs.errors.ValueRangeError),
        ({"batch_size": (1, 2)}, rs.errors.InputTypeError),
        ({"kv_heads": 1}, rs.errors.IneffectiveInput),
        ({"modell": "x"}, rs.errors.UnknownName),
    ):
        with pytest.raises(error):
            rs.explain("pass_time", BOARD, **inputs)


def test_parts_say_what_they_are() -> None:
    explanation = rs.explain("pass_time", BOARD)
    assert all(isinstance(given, Given) for given in explanation.inputs)
    assert explanation.steps[0].result == "677.1 µs"


def test_what_a_choice_leaves_out_needs_no_value():
    result = rs.explain("bottleneck", memory_time=0.02, compute_time=0.02)
    assert result.steps[0].result == "'compute'"
    assert result.steps[0].needs == ("compute_time", "memory_time", "host_fetch_time")
    assert "20 ms <= 20 ms else 'weight_fetch' if kv_fetch_time <= weight_fetch_time" in str(result)
    assert "nan" not in str(result)


def test_reasons_for_a_branch_are_in_words() -> None:
    scenario = {"model": "Llama-3.1-70B", "hardware": "HGX H100", "batch_size": 64, "context_length": "8k"}
    for more in ({}, {"calibration": "serving", "input_tokens": 1000, "output_tokens": 100}):
        name = "time_per_output_token" if more else "pass_time"
        inputs = {**scenario, **more}
        if more:
            inputs = {key: x for key, x in inputs.items() if key not in ("batch_size", "context_length")}
            inputs["concurrency"] = 64
        explanation = rs.explain(name, inputs)
        for text in (str(explanation), explanation.markdown, explanation.html):
            assert "==" not in text
            assert "since (" not in text
        reasons = [choice for step in explanation.steps for choice in step.choices if choice.startswith("since ")]
        assert reasons
        assert all(choice.count("since") == 1 for choice in reasons)
    assert "since expert_imbalance is 1" in str(rs.explain("compute_time", scenario))
