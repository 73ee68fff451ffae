"""Conditions: read as Python would compute them, with units checked."""

import math
import operator
import pickle

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given
from hypothesis import strategies as st
from roofslate import units
from roofslate.errors import ConditionError
from roofslate.grid.read import Settled
from roofslate.registry.conditions import MOST_BRACKETS, Condition, parse_conditions, parse_formula
from roofslate.registry.recorder import Formula
from roofslate.registry.registry import entries
from support.checks import cases

HOUR = 3600.0
OPERATIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "min": np.minimum,
    "max": np.maximum,
    "sqrt": np.sqrt,
    "exp": np.exp,
    "log": np.log,
}
PYTHON = {name: OPERATIONS[name] for name in ("min", "max", "sqrt", "exp", "log")}


def computed(formula, values):
    """Value of a formula, one step after another."""
    done = []
    with np.errstate(all="ignore"):
        for operation, *operands in formula.steps:
            if operation == "quantity":
                done.append(np.float64(values[operands[0]]))
            elif operation == "constant":
                done.append(np.float64(operands[0]))
            else:
                assert all(0 <= k < len(done) for k in operands)
                done.append(OPERATIONS[operation](*(done[k] for k in operands)))
    return float(done[-1])


def one(text, **keywords):
    (condition,) = parse_conditions(text, **keywords)
    return condition


def constant(text, **keywords):
    """The number that a condition ends with."""
    ((kind, value),) = one(text, **keywords).rhs.steps
    assert kind == "constant"
    return value


# ------------------------------------------------------------------------------------- against Python's IEEE arithmetic

NAMES = {
    "s": ["pass_time", "compute_time", "weight_fetch_time", "kv_fetch_time"],
    "1": ["compute_utilization", "compute_efficiency", "overtraining_ratio"],
    "byte/chip": ["hbm_used", "hbm_capacity"],
    "USD/token": ["cost_per_token"],
}
LITERALS = {
    "s": [("50 ms", 0.05), ("50ms", 0.05), ("2 min", 120.0), ("3 µs", 3e-6), (".5 h", 1800.0)],
    "1": [("3", 3.0), ("1.5e-3", 0.0015), ("30 %", 0.3), ("2k", 2000.0), ("1_000", 1000.0)],
    "byte/chip": [("192 GB/chip", 192e9), ("80 GiB/chip", 80 * 2.0**30), ("5 B/GPU", 5.0)],
    "USD/token": [("0.5 USD/Mtoken", 5e-7), ("$2 / Mtok", 2e-6)],
}


@st.composite
def expressions(draw, unit=None, depth=4):
    """An expression as it is written here, the same for Python, and its unit."""
    unit = unit or draw(st.sampled_from(sorted(NAMES)))
    if depth == 0 or draw(st.integers(0, 4)) == 0:
        if draw(st.booleans()):
            name = draw(st.sampled_from(NAMES[unit]))
            return name, name, unit
        ours, value = draw(st.sampled_from(LITERALS[unit]))
        return ours, repr(value), unit

    def part(of=unit):
        return draw(expressions(unit=of, depth=depth - 1))[:2]

    kinds = ["sum", "scaled", "share", "neg", "choose", "brackets", "root"] + ["function"] * (unit == "1") * 2
    kind = draw(st.sampled_from(kinds))
    if kind == "sum":
        joined, parts = draw(st.sampled_from(["+", " - "])), (part(), part())
    elif kind == "scaled":
        joined, parts = "*", draw(st.permutations([part(), part("1")]))
    elif kind == "share":
        other = draw(st.sampled_from(sorted(NAMES)))
        ratio = [f"({a}) / ({b})" for a, b in zip(part(other), part(other), strict=True)]
        joined, parts = "*", (part(), ratio)
    elif kind == "neg":
        a = part()
        return f"-{a[0]}", f"-{a[1]}", unit
    elif kind == "choose":
        name, a, b = draw(st.sampled_from(["min", "max"])), part(), part()
        return f"{name}({a[0]}, {b[0]})", f"{name}({a[1]},{b[1]})", unit
    elif kind == "brackets":
        a = part()
        return f"( {a[0]} )", f"({a[1]})", unit
    elif kind == "root":
        a, b = part(), part()
        return f"sqrt(({a[0]}) * ({b[0]}))", f"sqrt(({a[1]}) * ({b[1]}))", unit
    else:
        name, a = draw(st.sampled_from(["exp", "log"])), part("1")
        return f"{name}({a[0]})", f"{name}({a[1]})", unit
    if kind != "sum":
        # A sum in a product needs its brackets; at random the right side has them too.
        parts = [[f"({x})" for x in p] for p in parts]
    elif draw(st.booleans()):
        parts = (parts[0], [f"({x})" for x in parts[1]])
    return joined.join(p[0] for p in parts), joined.join(p[1] for p in parts), unit


@pytest.fixture(scope="module")
def values(decode):
    chosen = {**decode, "overtraining_ratio": 0.75}
    return {name: np.float64(rs.value(name, Settled(chosen))) for names in NAMES.values() for name in names}


def same(a, b):
    return a == b or (math.isnan(a) and math.isnan(b))


@given(expression=expressions())
def test_a_formula_is_what_python_computes(values, expression):
    ours, python, unit = expression
    formula = parse_formula(ours, unit)
    with np.errstate(all="ignore"):
        expected = float(eval(python, {"__builtins__": {}}, {**PYTHON, **values}))
    assert same(computed(formula, values), expected)
    assert formula.unit == unit
    assert list(formula.quantities) == sorted(set(formula.quantities), key=ours.index)
    assert {step[1] for step in formula.steps if step[0] == "quantity"} == set(formula.quantities)
    assert len(set(formula.steps)) == len(formula.steps)


SIGNS = st.sampled_from(["+", "-", "*", "/", " + ", " - ", " * ", " / ", "*-", "/-", "- -", "+-"])


@given(signs=st.lists(SIGNS, min_size=1, max_size=12), data=st.data())
def test_precedence_without_brackets_is_that_of_python(values, signs, data):
    leaves = [*NAMES["1"], "3", "0.25", "2e1"]
    text = data.draw(st.sampled_from(leaves))
    for sign in signs:
        text += sign + data.draw(st.sampled_from(leaves))
    with np.errstate(all="ignore"):
        expected = float(eval(text, {"__builtins__": {}}, {k: np.float64(v) for k, v in values.items()}))
    assert same(computed(parse_formula(text), values), expected)


@given(
    sides=st.lists(expressions(unit="s", depth=2), min_size=2, max_size=3),
    relations=st.lists(st.sampled_from(["<", "<=", ">", ">=", "==", "!="]), min_size=2, max_size=2),
)
def test_a_comparison_holds_where_it_does_in_python(values, sides, relations):
    ours, python = sides[0][:2]
    for relation, side in zip(relations, sides[1:], strict=False):
        ours, python = f"{ours} {relation} {side[0]}", f"{python} {relation} {side[1]}"
    conditions = parse_conditions(ours, allow_equality=True)
    assert len(conditions) == len(sides) - 1
    compare = {"<": operator.lt, "<=": operator.le, "==": operator.eq, "!=": operator.ne}
    met = all(compare[c.relation](computed(c.lhs, values), computed(c.rhs, values)) for c in conditions)
    with np.errstate(all="ignore"):
        assert met == bool(eval(python, {"__builtins__": {}}, {**PYTHON, **values}))
    assert all(c.lhs.unit == c.rhs.unit == "s" for c in conditions)


# ------------------------------------------------------------------------------------------------------- accepted texts


def test_the_parts_of_a_condition():
    condition = one(" hbm_used <= 0.9*hbm_capacity ")
    assert condition == Condition(
        "hbm_used <= 0.9*hbm_capacity",
        Formula((("quantity", "hbm_used"),), "byte/chip", ("hbm_used",)),
        Formula((("constant", 0.9), ("quantity", "hbm_capacity"), ("mul", 0, 1)), "byte/chip", ("hbm_capacity",)),
        "<=",
    )
    assert pickle.loads(pickle.dumps(condition)) == condition
    assert hash(condition) == hash(one("hbm_used <= 0.9*hbm_capacity"))
    with pytest.raises(AttributeError):
        condition.relation = "<"


@pytest.mark.parametrize(("given", "relation"), [(">", "<"), (">=", "<="), ("<", "<"), ("<=", "<=")])
def test_greater_is_turned_around(given, relation):
    condition = one(f"pass_time {given} 50 ms")
    names = [side.quantities for side in (condition.lhs, condition.rhs)]
    assert (condition.relation, names) == (relation, [(), ("pass_time",)] if given[0] == ">" else [("pass_time",), ()])
    assert condition.text == f"pass_time {given} 50 ms"


def test_a_chain_is_two_conditions():
    first, second = parse_conditions("1 ms <= pass_time < 2 * compute_time")
    assert [c.text for c in (first, second)] == ["1 ms <= pass_time", "pass_time < 2 * compute_time"]
    assert [c.relation for c in (first, second)] == ["<=", "<"]
    assert first.rhs == second.lhs
    down, up = parse_conditions("1 s > pass_time >= 0")
    assert (down.lhs.quantities, down.rhs.steps) == (("pass_time",), (("constant", 1.0),))
    assert (up.lhs.steps, up.lhs.unit, up.rhs.quantities) == ((("constant", 0.0),), "s", ("pass_time",))


def test_a_list_is_a_conjunction_and_so_is_and():
    separate = parse_conditions(["pass_time < 1 s", "1 < compute_time < 2 and overlap != 'none'"])
    together = parse_conditions("pass_time < 1 s and 1 < compute_time < 2\n and overlap != 'none'")
    assert separate == together
    assert len(separate) == 4
    assert parse_conditions([]) == ()
    assert parse_conditions(("pass_time < 1 s",)) == separate[:1]
    assert parse_conditions(np.str_("pass_time < 1 s")) == separate[:1]


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("pass_time <= 50 ms", 0.05),
        ("pass_time <= 50ms", 0.05),
        ("pass_time <= 12.3 ms", 0.0123),
        ("pass_time <= 5 min", 300.0),
        ("pass_time <= 50 µs", 5e-5),
        ("pass_time <= 0.05", 0.05),
        ("pass_time <= (0.05)", 0.05),
        ("pass_time <= inf", math.inf),
        ("cost_per_token < 0.5 USD/Mtoken", 5e-7),
        ("cost_per_token < $0.5/Mtok", 5e-7),
        ("cost_per_token < $0.42 / Mtok", 4.2e-7),
        ("cost_per_token < 0.42 dollars per Mtok", 4.2e-7),
        ("context_length <= 128k", 128e3),
        ("context_length <= 128k tokens", 128e3),
        ("context_length <= 128,000", 128e3),
        ("context_length <= 128Ki", 131072.0),
        ("chips <= 72", 72.0),
        ("max(chips, 2) <= 1,000", 1000.0),
        ("chips <= 72 chips", 72.0),
        ("kv_bytes_per_token < 70 kB", 70e3),
        ("hbm_used <= 192 GB", 192e9),
        ("hbm_used <= 192 GB/chip", 192e9),
        ("hbm_bandwidth > 8 TB/s", None),
        ("replica_throughput < 64k / s", 64e3),
        ("replica_throughput < 64 / s", 64.0),
        ("chip_price < 2 USD/GPU-hour", 2 / HOUR),
        ("chip_price < 2 USD/(chip h)", 2 / HOUR),
        ("chip_price < $2/h", 2 / HOUR),
        ("pass_time * pass_time < 3 ms^2", 3e-6),
        ("1/pass_time < 3 s^-1", 3.0),
        ("1/pass_time < 3 s**-1", 3.0),
        ("sqrt(bytes_per_weight) < 3 (B/param)", None),
        ("compute_utilization < 30  %", 0.3),
        ("compute_utilization < 30%", 0.3),
        ("replica_capital_cost < 3 M$", 3e6),
        ("replica_capital_cost < $600bn", 600e9),
    ],
)
def test_numbers_reach_as_far_as_their_unit(text, value):
    if value is None:
        if "(" in text:
            with pytest.raises(ConditionError, match="an operation is missing"):
                one(text)
        else:
            assert one(text).lhs.steps == (("constant", 8e12),)
        return
    assert constant(text) == value


@pytest.mark.parametrize(
    ("text", "steps"),
    [
        ("8 TB/s * chips", [("constant", 8e12), ("quantity", "chips"), ("mul", 0, 1)]),
        ("8 TB / chips", [("constant", 8e12), ("quantity", "chips"), ("div", 0, 1)]),
        ("8 B/(chips*chips)", [("constant", 8.0), ("quantity", "chips"), ("mul", 1, 1), ("div", 0, 2)]),
        ("50 ms - pass_time", [("constant", 0.05), ("quantity", "pass_time"), ("sub", 0, 1)]),
        ("50 ms-pass_time", [("constant", 0.05), ("quantity", "pass_time"), ("sub", 0, 1)]),
        ("5 s/min(chips, chips)", [("constant", 5.0), ("quantity", "chips"), ("min", 1, 1), ("div", 0, 2)]),
        ("pass_time / 2 ms", [("quantity", "pass_time"), ("constant", 0.002), ("div", 0, 1)]),
        ("$2/Mtok * 3", [("constant", 2e-6), ("constant", 3.0), ("mul", 0, 1)]),
        ("2 s * 3 s", [("constant", 2.0), ("constant", 3.0), ("mul", 0, 1)]),
        ("5 / (GB/s)", [("constant", 5e-9)]),
        ("--pass_time", [("quantity", "pass_time")]),
        ("---2", [("constant", 2.0), ("neg", 0)]),
        ("\N{MINUS SIGN}2", [("constant", 2.0), ("neg", 0)]),
        ("pass_time * pass_time", [("quantity", "pass_time"), ("mul", 0, 0)]),
        ("max(1, 2, 3)", [("constant", 1.0), ("constant", 2.0), ("max", 0, 1), ("constant", 3.0), ("max", 2, 3)]),
        ("min(1, 1000)", [("constant", 1.0), ("constant", 1000.0), ("min", 0, 1)]),
    ],
)  # fmt: skip
def test_steps(text, steps):
    assert list(parse_formula(text).steps) == steps


def test_every_quantity_is_a_formula():
    with cases() as case:
        for q in entries().values():
            with case(q.name):
                check_formula(q)


def check_formula(q):
    if q.choices:
        condition = one(f'{q.name} == "{q.choices[-1]}"')
        assert condition.rhs.steps == (("constant", len(q.choices) - 1.0),)
    else:
        formula = parse_formula(q.name, q.unit)
        assert formula == Formula((("quantity", q.name),), units.spell(q.unit), (q.name,))
        # The printed text is read back.
        printed = units.format(1234.5, q.unit)
        assert constant(f"{q.name} == {printed}", allow_equality=True) == units.parse(printed, q.unit)


@pytest.mark.parametrize(
    ("text", "unit"),
    [
        ("pass_time", "s"),
        ("pass_time / batch_size", "s/sequence"),
        ("hbm_bandwidth * chips", "byte/s"),
        ("hbm_bandwidth / 2", "byte/s/chip"),
        ("hbm_used + 1 GB", "byte/chip"),
        ("1 GB + hbm_used", "byte/chip"),
        ("2 * 1 GB + hbm_used", "byte/chip"),
        ("batch_size + 1", "sequence"),
        ("max(pass_time, 0)", "s"),
        ("min(inf, pass_time)", "s"),
        ("-(-inf) + pass_time", "s"),
        ("sqrt(hbm_bandwidth)", "byte^0.5/s^0.5/chip^0.5"),
        ("sqrt(pass_time * compute_time)", "s"),
        ("exp(pass_time / 1 s)", "1"),
        ("log(pass_time / compute_time)", "1"),
        ("$2 + 3 USD", "USD"),
        ("2", "1"),
    ],
)
def test_units_of_formulas(text, unit):
    assert parse_formula(text).unit == unit


def test_a_formula_in_a_wanted_unit():
    assert parse_formula("cost_per_token * 2", "USD/token").unit == "USD/token"
    assert parse_formula("0.05", "s") == Formula((("constant", 0.05),), "s", ())
    assert parse_formula("2 * 96 GB", "byte/chip").unit == "byte/chip"
    assert parse_formula("hbm_bandwidth", "byte/chip/s").unit == "byte/s/chip"


@pytest.mark.parametrize("text", ["pass_time < 0.05", "0.05 < pass_time", "pass_time + 1 s > -(.05)", "0.05 < 50 ms"])
def test_a_bare_side_is_in_the_base_units_of_the_other(text):
    condition = one(text)
    assert condition.lhs.unit == condition.rhs.unit == "s"


def test_choices():
    words = entries()["overlap"].choices
    for k, word in enumerate(words):
        for text in (f"overlap == '{word}'", f'overlap != "{word}"', f"(overlap)=='{word}'"):
            condition = one(text)
            assert condition.lhs == Formula((("quantity", "overlap"),), "1", ("overlap",))
            assert condition.rhs == Formula((("constant", float(k)),), "1", ())
            assert condition.relation == text.split("overlap")[1].strip(" )")[:2]
    turned = one("'none' == overlap")
    assert (turned.lhs.steps, turned.rhs.quantities) == ((("constant", 2.0),), ("overlap",))
    both = one("weight_format == kv_format")
    assert (both.lhs.quantities, both.rhs.quantities) == (("weight_format",), ("kv_format",))


def test_equality_of_numbers_only_where_it_is_asked_for():
    assert one("kv_fetch_time == compute_time", allow_equality=True).relation == "=="
    assert one("kv_fetch_time != 3 ms", allow_equality=True).relation == "!="


def test_nesting_stays_within_the_stack_of_python():
    inner = "1"
    for _ in range(MOST_BRACKETS // 2):
        inner = f"1 + 2 * -max(1, (1 - {inner}))"
    assert computed(parse_formula(inner), {}) == eval(inner)
