"""User-defined formulas: the same bits as built-in ones and NumPy's, also on grids."""

import functools
import inspect
import itertools
import math
import operator

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from roofslate import _core, errors
from roofslate.grid.read import Settled
from roofslate.math import _routine
from roofslate.registry.conditions import parse_formula
from roofslate.registry.registry import BUILT_IN
from support.definitions import scope
from support.evaluator import ROUTINES
from support.reference import rows

BUILT = BUILT_IN.entries
_scope = pytest.fixture(scope, autouse=True)


# -------------------------------------------------------------------------------------------------------- the same bits


def counted(function):
    return lambda *values: function(*map(rs.math.count, values))


OPERATIONS = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "neg": operator.neg,
    "min": rs.math.minimum,
    "max": rs.math.maximum,
    "sqrt": rs.math.sqrt,
    "exp": counted(rs.math.exp),
    "log": counted(rs.math.log),
    "pow": counted(rs.math.power),
    "ceil": rs.math.ceil,
    "floor": rs.math.floor,
    "less": operator.lt,
    "less_equal": operator.le,
    "equal": operator.eq,
    "both": rs.math.logical_and,
    "either": rs.math.logical_or,
    "select": rs.math.where,
    "acceptance_curve": rs.math.acceptance_curve,
    "erlang_c": rs.math.erlang_c,
    "largest_normal": rs.math.largest_normal,
    "overtraining_optimum": rs.math.overtraining_optimum,
} | {name: functools.partial(_routine, name) for name in ROUTINES if not hasattr(rs.math, name)}


def copy_of(name, to_count, renamed):
    """The formula of a quantity as a function of its needs, some of which are counted first."""
    steps = _core.steps(name)

    def formula(**needs):
        done = []
        for operation, *operands in steps:
            if operation == "quantity":
                need = needs[renamed.get(operands[0], operands[0])]
                done.append(rs.math.count(need) if operands[0] in to_count else need)
            elif operation == "constant":
                done.append(operands[0])
            elif operation == "equal" and steps[operands[0]][0] == "quantity" and BUILT[steps[operands[0]][1]].choices:
                word = BUILT[steps[operands[0]][1]].choices[int(steps[operands[1]][1])]
                done.append(done[operands[0]] == word)
            else:
                done.append(OPERATIONS[operation](*(done[k] for k in operands)))
        return done[-1]

    kind = inspect.Parameter.POSITIONAL_OR_KEYWORD
    needs = [inspect.Parameter(renamed.get(need, need), kind) for need in BUILT[name].needs]
    formula.__signature__ = inspect.Signature(needs)  # type: ignore[attr-defined]
    return formula


def define_copy(name, renamed=None):
    """Define a copy. Counted units are not recorded in steps and found by trial."""
    q = BUILT[name]
    numbers = {"1", "token", "sequence", "parameter", "chip"}
    may_count = [need for need in q.needs if set(BUILT[need].unit.split("/")) <= numbers and not BUILT[need].choices]
    for count in range(len(may_count) + 1):
        for to_count in itertools.combinations(may_count, count):
            formula = copy_of(name, to_count, renamed or {})
            try:
                return rs.define(f"copy_of_{name}", q.unit, formula, brief=q.brief, symbol=q.symbol, source=q.source)
            except errors.UnitError as error:
                last = error
    raise last


def is_copied(name):
    """Return True for a formula that can be written in Python, without special routines."""
    with_units = {"signed_square", "signed_root", "gamma_share", "gamma_quantile"}
    q = BUILT[name]
    return q.computed and not q.changed and with_units.isdisjoint(step[0] for step in _core.steps(name))


ARITIES = {
    step[0]: len(step) - 1
    for name, q in BUILT.items()
    if q.computed and not q.changed and not q.replaced_by
    for step in _core.steps(name)
    if step[0] in ROUTINES
}


@pytest.mark.parametrize("routine", sorted(ARITIES))
def test_a_routine_of_an_undefined_argument_is_undefined(routine):
    arguments = range(ARITIES[routine])
    for undefined, other in itertools.product(arguments, (0.5, 2.0)):

        def formula(chips):
            chips = rs.math.count(chips)
            given = [rs.math.log(-chips) if k == undefined else chips * other for k in arguments]  # noqa: B023
            return OPERATIONS[routine](*given)

        rs.define("tried", "1", formula, brief="a routine", replace=True)
        assert math.isnan(rs.value("tried", chips=1)), (undefined, other)
        assert np.isnan(rs.evaluate("tried", chips=[1, 1, 1])).all(), (undefined, other)


@pytest.fixture(scope="module")
def copies():
    """Copies of every formula on its quantities, and of all of them on one another."""
    computed = [name for name in BUILT if is_copied(name)]
    with rs.definitions():
        single = [define_copy(name) for name in computed]
    renamed, chained = {}, {}

    def make(name):
        if is_copied(name) and name not in chained:
            for need in BUILT[name].needs:
                make(need)
            chained[name] = define_copy(name, renamed)
            if not BUILT[name].choices:  # only a choice compares with words
                renamed[name] = f"copy_of_{name}"

    with rs.definitions():
        for name in computed:
            make(name)
    return {"single": rs.definitions(*single), "chained": rs.definitions(*chained.values())}


IMPLYING = {"copy_of_tensor_parallel", "attention_data_parallel", "context_parallel", "copy_of_expert_tensor_parallel"}


@pytest.mark.parametrize("kind", ["single", "chained"])
def test_a_copy_of_every_formula_gives_the_same_bits(copies, kind, bits):
    requested = [(row.quantity, row.case["inputs"]) for row in rows()]
    assert {name for name, _ in requested} >= {name for name, q in BUILT.items() if q.computed}
    with copies[kind]:
        for name, inputs in requested:
            if not is_copied(name) or (kind == "chained" and math.inf in inputs.values()):
                continue  # a definition takes finite numbers
            if not inputs.keys().isdisjoint(BUILT[name].replaced_where):
                continue  # the registry takes another formula there, which has its own copy
            if kind == "chained":  # a supplied quantity is the copy's
                inputs = {
                    f"copy_of_{n}" if n in BUILT and is_copied(n) and not BUILT[n].choices else n: x
                    for n, x in inputs.items()
                }
                if not inputs.keys().isdisjoint(IMPLYING):
                    inputs.setdefault("layout", "parallel")  # which the quantity itself implies, its copy does not
            try:
                result = rs.value(f"copy_of_{name}", Settled(inputs))
            except errors.MissingInput:
                assert kind == "chained"  # an input that falls back on a formula takes the registry's
                continue
            expected = rs.value(name, Settled({n.removeprefix("copy_of_"): x for n, x in inputs.items()}))
            if isinstance(expected, str):
                expected = BUILT[name].choices.index(expected)
            assert bits(result) == bits(expected), name


def axes_of(needs, scenario, rng):
    """Values in range for quantities, all along one axis."""
    axes = {}
    for need in needs:
        q = BUILT[need]
        if q.choices:
            axes[need] = [q.choices[k % len(q.choices)] for k in range(67)]
            continue
        x = abs(rs.value(need, Settled(scenario)))
        values = (x if 0 < x < math.inf else 1.0) * rng.uniform(0.5, 2, 67)
        axes[need] = np.clip(values, max(q.low, -1e300), min(q.high, 1e300))
    for name in axes:
        if BUILT[name].bound in axes:
            axes[name] = np.minimum(axes[name], axes[BUILT[name].bound])
    return {name: xr.DataArray(values, dims="point") for name, values in axes.items()}


def test_copies_on_grids(copies, whole_scenario, bits):
    rng = np.random.default_rng(7)
    with copies["single"]:
        for name in filter(is_copied, BUILT):
            windowed = {"windowed_attention_layers", "windowed_kv_share"}.intersection(BUILT[name].needs)
            halves = ["attention_window"] if windowed else []
            axes = axes_of([*BUILT[name].needs, *halves], whole_scenario, rng)
            result = rs.evaluate([name, f"copy_of_{name}"], Settled(axes))
            assert result.sizes == {"point": 67}
            np.testing.assert_array_equal(
                bits(result[f"copy_of_{name}"]), bits(result[name].astype(float)), err_msg=name
            )


# ----------------------------------------------------------------------------------------------- formulas tried by hand

TIMES = ("pass_time", "compute_time", "kv_fetch_time")


@st.composite
def trees(draw, depth=4):
    """A formula in seconds, as nested tuples."""
    if depth == 0 or draw(st.integers(0, 3)) == 0:
        return draw(st.sampled_from(TIMES))

    def part():
        return draw(trees(depth=depth - 1))

    kind = draw(
        st.sampled_from(["add", "sub", "scaled", "shared", "min", "max", "neg", "abs", "where", "root", "whole"])
    )
    if kind == "scaled":
        return kind, draw(st.floats(-3, 3)), part()
    if kind == "where":
        relation = draw(st.sampled_from(["lt", "le", "gt", "ge", "eq", "ne"]))
        return kind, relation, part(), part(), part(), part(), draw(st.booleans())
    return (kind, *(part() for _ in range({"neg": 1, "abs": 1, "shared": 3, "whole": 3}.get(kind, 2))))


def computed(tree, values):
    if isinstance(tree, str):
        return values[tree]
    kind, *parts = tree
    if kind == "scaled":
        return parts[0] * computed(parts[1], values)
    if kind == "where":
        relation, *operands, turned = parts
        a, b, yes, no = (computed(part, values) for part in operands)
        holds = getattr(operator, relation)(a, b)
        both = rs.math.logical_and(rs.math.logical_or(holds, a < b), rs.math.logical_not(b > a * 2))
        return rs.math.where(both if turned else holds, yes, no)
    values = [computed(part, values) for part in parts]
    return {
        "add": operator.add,
        "sub": operator.sub,
        "min": rs.math.minimum,
        "max": np.maximum,
        "neg": operator.neg,
        "abs": abs,
        "root": lambda a, b: rs.math.sqrt(a * b),
        "shared": lambda a, b, c: a * (b / c),
        "whole": lambda a, b, c: a * rs.math.floor(b / c) - rs.math.ceil(c / b) * a,
    }[kind](*values)


@given(tree=trees(), seed=st.integers(0, 2**32 - 1))
def test_what_is_defined_is_what_numpy_computes(tree, seed):
    rng = np.random.default_rng(seed)
    values = {name: np.concatenate([rng.uniform(0.25, 4, 30), rng.integers(1, 5, 30) / 2]) for name in TIMES}
    with np.errstate(all="ignore"):
        expected = computed(tree, values)

    def formula(pass_time, compute_time, kv_fetch_time):
        return computed(tree, {"pass_time": pass_time, "compute_time": compute_time, "kv_fetch_time": kv_fetch_time})

    points = Settled({name: xr.DataArray(x, dims="point") for name, x in values.items()})
    with rs.definitions():
        rs.define("tried", "s", formula, brief="x")
        result = rs.evaluate("tried", points)
        counts = [rs.count("tried <= 1 s", points, prune=prune) for prune in (False, True)]
        low, high = rs.bounds("tried", Settled({name: (x.min(), x.max()) for name, x in values.items()}))
    np.testing.assert_array_equal(result, np.broadcast_to(expected, 60))
    assert counts == [(result <= 1).sum()] * 2
    assert np.isnan(low) or (low <= result.min() and result.max() <= high)


def test_functions_by_hand():
    m = rs.math
    assert (m.minimum(3, 1, 2), m.maximum(3, 1, 2), m.sqrt(9), m.ceil(1.2), m.floor(1.8)) == (1, 3, 3, 2, 1)
    assert (m.where(2 > 1, 5, 6), m.count(7), m.power(2, -1), m.exp(0), m.log(1)) == (5, 7, 0.5, 1, 0)
    assert m.where(np.array([True, False]), 5, [1, 2]).tolist() == [5, 2]
    assert m.choose("none", board=1, serial_kv=2, none=3) == 3
    assert m.choose(np.array(["none", "board"]), board=[10, 20], serial_kv=2, none=3).tolist() == [3, 20]
    with pytest.raises(errors.UnknownName, match="unknown alternative 'nne'; did you mean 'none'"):
        m.choose("nne", board=1, none=3)
    assert m.logical_and(True, True, False) == m.logical_not(True) == m.logical_or(False, False)
    assert m.constant("50 ms") == 0.05
    assert m.erlang_c(3, 0.5) == rs.value("waiting_probability", batch_slots=3, slot_utilization=0.5)
    assert m.erlang_c([3, 3], [0.5, 1.0])[1] == 1
    assert m.overtraining_optimum(0.5, 0) == 1
    assert m.acceptance_curve(0.5, 0.5, 2) == 1 + 0.5 + 0.125
    assert m.largest_normal(2 * np.exp(-np.euler_gamma)) == pytest.approx(0, abs=1e-15)
    for wrong in (5, None, b"5 ms"):
        with pytest.raises(errors.InputTypeError, match=r"constant\(\) expects a text such as '50 ms'"):
            m.constant(wrong)
    with pytest.raises(errors.UnitError, match="unknown unit 'furlong'"):
        m.constant("3 furlong")


def test_functions_in_a_formula():
    m = rs.math
    inputs = {"pass_time": 0.04, "batch_size": 3.0, "chips": 2.0, "weight_format": "fp8", "kv_format": "bf16"}

    def value(formula, unit="1"):
        with rs.definitions():
            rs.define("tried", unit, formula, brief="x")
            return rs.value("tried", inputs)

    assert value(lambda pass_time: m.exp(pass_time / m.constant("1 s"))) == pytest.approx(math.exp(0.04), rel=1e-15)
    assert value(lambda pass_time: np.log(pass_time / m.constant("1 s"))) == pytest.approx(math.log(0.04), rel=1e-15)
    assert value(lambda batch_size: m.power(0.5, m.count(batch_size))) == 0.125
    assert value(lambda batch_size: 0.5 ** m.count(batch_size)) == 0.125
    assert value(lambda batch_size, chips: m.count(batch_size) ** m.count(chips)) == pytest.approx(9, rel=1e-15)
    assert value(lambda pass_time: pass_time**2, "s^2") == 0.04 * 0.04
    assert value(lambda pass_time: pass_time**3, "s^3") == 0.04 * 0.04 * 0.04
    assert value(lambda pass_time: pass_time**0.5, "s^0.5") == 0.2
    assert value(lambda pass_time: np.square(pass_time), "s^2") == 0.04 * 0.04
    assert value(lambda pass_time: math.ceil(pass_time / m.constant("15 ms"))) == 3
    assert value(lambda pass_time: math.floor(pass_time / m.constant("15 ms"))) == 2
    assert value(lambda pass_time: m.minimum(pass_time, np.inf, 5 * pass_time), "s") == 0.04
    assert value(lambda pass_time: np.float64(3) * pass_time + np.array(2.0) * +pass_time, "s") == 3 * 0.04 + 2 * 0.04
    assert value(lambda pass_time: m.where((pass_time > 0) & ~(pass_time == 1 * pass_time), 1, 2)) == 2
    assert value(lambda pass_time: np.where((pass_time < 0) | (pass_time != 0), 1, 2)) == 1
    assert value(lambda pass_time: m.where(True, pass_time, 2), "s") == 0.04
    assert value(lambda overlap: m.choose(overlap, none=3, serial_kv=2, board=1)) == 1
    assert value(lambda overlap: m.where(overlap != "board", 1, 2)) == 2
    assert value(lambda weight_format, kv_format: m.where(weight_format == kv_format, 1, 2)) == 2
    assert value(lambda batch_size: batch_size + 1, "sequence") == 4  # a counting unit may be left out of a number
    assert value(lambda overlap: m.where("board" == overlap, 1, 2)) == 1  # noqa: SIM300
    assert value(lambda pass_time, chips: pass_time + 0 * chips, "s") == 0.04  # zero fits every unit
    assert value(lambda chips: m.erlang_c(chips, 0.5)) == m.erlang_c(2, 0.5)


def test_the_chosen_alternative_alone_is_needed():
    rs.define(
        "running",
        "sequence",
        lambda admission, concurrency, memory_limited_sequences: rs.math.choose(
            admission,
            by_memory=rs.math.minimum(
                concurrency,
                rs.math.where(rs.math.count(memory_limited_sequences) < 1, 0, memory_limited_sequences),
            ),
            all=concurrency,
        ),
        brief="x",
    )
    assert rs.value("running", admission="all", concurrency=7) == 7
    with pytest.raises(errors.MissingInput, match="chips"):
        rs.value("running", concurrency=7)
    rs.define(
        "whole_time",
        "s",
        lambda overlap, compute_time, weight_fetch_time, kv_fetch_time, memory_time: rs.math.choose(
            overlap,
            serial_kv=kv_fetch_time + rs.math.maximum(weight_fetch_time, compute_time),
            none=memory_time + compute_time,
            board=rs.math.maximum(memory_time, compute_time),
        ),
        brief="x",
    )
    assert rs.quantity("whole_time").formula == rs.quantity("roofline_time").formula.replace(
        "roofline_time", "whole_time"
    )
    assert rs.quantity("running").formula == rs.quantity("running_sequences").formula.replace(
        "running_sequences", "running"
    )


def test_a_text_is_the_same_formula():
    by_text = rs.define("spare", "byte/chip", "max(0, hbm_capacity - 2 * hbm_used)", brief="x")
    again = rs.define(
        "spare", "byte/chip", lambda hbm_capacity, hbm_used: rs.math.maximum(0, hbm_capacity - 2 * hbm_used), brief="x"
    )
    assert again == by_text
    assert by_text.definitions[0].steps == parse_formula("max(0, hbm_capacity - 2 * hbm_used)").steps
