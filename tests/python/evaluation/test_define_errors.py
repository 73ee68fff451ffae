"""Mistakes in definitions: errors at once, with kind and place."""

import functools
import inspect
import math
import time

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from roofslate import errors
from roofslate.errors import ConditionError
from roofslate.registry.registry import entries
from support.definitions import refused, scope

_scope = pytest.fixture(scope, autouse=True)


def outside():
    """A value of another formula, long over."""
    leaked = []
    rs.define("leaking", "s", lambda pass_time: leaked.append(pass_time) or pass_time, brief="x")
    return leaked[0]


MISTAKES = [
    # units: both of them, and their owners
    (lambda pass_time, kv_bytes: pass_time + kv_bytes, "'pass_time' is in s, but 'kv_bytes' is in byte"),
    (lambda pass_time: pass_time - 1, "'pass_time' is in s, but '1' is a number (unit 1); a number with a unit is"),
    (lambda pass_time: rs.math.constant("1 GB") < pass_time, "'1e+09' is in byte, but 'pass_time' is in s"),
    (lambda pass_time: pass_time * pass_time, "it is declared in s, but 'pass_time * pass_time' is in s^2"),
    (lambda pass_time: rs.math.where(pass_time > 0, pass_time, 5), "'pass_time' is in s, but '5' is a number"),
    (lambda pass_time: np.exp(pass_time), "exp takes a number (unit 1), but 'pass_time' is in s"),
    (lambda batch_size: 2**batch_size, "but 'batch_size' is in sequence; rs.math.count(x) is the number of"),
    (lambda pass_time: pass_time**4, "pow takes a number (unit 1), but 'pass_time' is in s"),
    (lambda pass_time: rs.math.count(pass_time), "count takes a counted quantity, in token, sequence, parameter or"),
    (lambda pass_time: rs.math.sqrt(np.sqrt(pass_time)), "the square root of s^0.5 has no unit"),
    (lambda pass_time: pass_time**3 * pass_time**3, "an exponent of 6, in s^6, is not supported"),
    (lambda batch_size: rs.math.constant("30 %") + batch_size, "'0.3' is a number (unit 1), but 'batch_size' is in"),
    (lambda pass_time: rs.math.constant("3 furlong") + pass_time, "unknown unit 'furlong'"),
    ("pass_time * 2 s", "'pass_time * 2 s' is in s^2, but s was expected"),
    # decisions of Python
    (lambda pass_time: max(0, pass_time), "'0 < pass_time' is only recorded"),
    (lambda pass_time: max(pass_time, 0), "of max and min rs.math.maximum and rs.math.minimum"),
    (lambda pass_time, compute_time: min(pass_time, compute_time), "rs.math.maximum and rs.math.minimum"),
    (lambda pass_time: (0 < pass_time < 1) * 1, "a < b < c rs.math.logical_and"),
    (lambda pass_time, compute_time: rs.math.where(not pass_time > compute_time, pass_time, 0), "rs.math.logical_not"),
    (lambda pass_time, compute_time: (pass_time and compute_time), "of and, or, not"),
    (lambda pass_time: float(pass_time), "is only recorded and has no number yet: instead of float()"),
    (lambda pass_time: math.sqrt(pass_time), "functions of the module math use rs.math, which has sqrt"),
    (lambda pass_time: int(pass_time), "has no number yet"),
    (lambda pass_time: round(pass_time, 2), "has no number yet"),
    (lambda pass_time: [1, 2][pass_time], "has no number yet"),
    (lambda pass_time: pass_time % 2, "write rs.math.floor(a / b) for a // b"),
    (lambda pass_time: 7 // pass_time, "write rs.math.floor(a / b) for a // b"),
    (lambda pass_time: sum(pass_time), "is one value of a formula, not a sequence"),
    (lambda pass_time: len(pass_time), "is one value of a formula, not a sequence"),
    (lambda pass_time: pass_time[0], "is one value of a formula, not a sequence"),
    (lambda pass_time: np.asarray(pass_time), "is one value of a formula, not an array"),
    # functions and values that a formula does not take
    (lambda pass_time: np.sin(pass_time), "np.sin is not among the functions that a formula may use; these are np.abs"),
    (lambda pass_time: np.clip(pass_time, 0, 1), "np.clip is not among the functions"),
    (lambda pass_time: np.add.outer(pass_time, 1), "np.add.outer is not among the functions"),
    (lambda pass_time: np.maximum(pass_time, 0, dtype="float32"), "np.maximum is not among the functions"),
    (lambda pass_time: pass_time * [1, 2], "[1, 2] has several values, but a formula is of one point"),
    (lambda pass_time: np.arange(3) * pass_time, "array([0, 1, 2]) has several values"),
    (lambda pass_time: pass_time + "1 s", "'1 s' is a text; a number with a unit is rs.math.constant('50 ms')"),
    (lambda pass_time: pass_time * True, "True is no number"),
    (lambda pass_time: pass_time * None, "None is no number"),
    (lambda pass_time: pass_time * 2j, "2j is no number"),
    (lambda pass_time: pass_time * math.nan, "a formula accepts no NaN"),
    (lambda pass_time: pass_time * 10**400, "(401 characters) is too large for a number"),
    (lambda pass_time: {pass_time: 1}[pass_time], "its formula raised TypeError: unhashable type: 'Traced'"),
    (lambda pass_time: pass_time + outside(), "'pass_time' belongs to the formula of 'leaking'"),
    (lambda pass_time: pass_time << 2, "its formula raised TypeError: unsupported operand"),
    (lambda pass_time: pass_time.mean(), "its formula raised AttributeError"),
    (lambda pass_time: pass_time / 0 * 1 / 0 + (1 / 0), "its formula raised ZeroDivisionError: division by zero"),
    (lambda pass_time: rs.value("pass_time", pass_time=pass_time), "is one value of a formula, not a"),
    (lambda pass_time: rs.math.erlang_c(pass_time, 1), "count takes a counted quantity"),
    # choices and comparisons
    (lambda overlap: overlap * 1, "'overlap' is a choice, one of 'board' | 'serial_kv' | 'none': compare it by =="),
    (lambda overlap: overlap, "'overlap' is a choice"),
    (lambda overlap: rs.math.where(overlap < "none", 1, 2), "'overlap' is a choice"),
    (lambda overlap: rs.math.where(overlap == "nne", 1, 2), "unknown overlap 'nne'; did you mean 'none'?"),
    (lambda overlap: rs.math.where(overlap == 1, 1, 2), "compare it with one of these words, not with 1"),
    (lambda overlap, kv_format: rs.math.where(overlap == kv_format, 1, 2), "one of these words, not with 'kv_format'"),
    (lambda overlap, chips: rs.math.where(chips == overlap, 1, 2), "one of these words, not with 'chips'"),
    (lambda pass_time: rs.math.where(pass_time == "none", 1, 2), "'none' is a text"),
    (lambda overlap: rs.math.choose(overlap, board=1, none=2), "none for 'serial_kv'"),
    (lambda overlap: rs.math.choose(overlap, board=1, none=2, serial=3, serial_kv=4), "unknown overlap 'serial'; did"),
    (lambda pass_time: rs.math.choose(pass_time, board=1), "choose takes a quantity that is a choice, got 'pass_time'"),
    (lambda pass_time: pass_time > 0, "'0 < pass_time' is a comparison: rs.math.where(c, 1, 0) makes a number of it"),
    (lambda pass_time: (pass_time > 0) * 1, "'0 < pass_time' is a comparison"),
    (lambda pass_time: rs.math.where(pass_time, 1, 2), "'pass_time' does not hold or fail: a comparison is needed"),
    (lambda pass_time: rs.math.where(rs.math.logical_not(pass_time), 1, 2), "a comparison is needed here"),
    (lambda pass_time: rs.math.where((pass_time > 0) & 3, 1, 2), "'3' does not hold or fail"),
    # results
    (lambda: None, "its formula gives None, which is no number"),
    (lambda pass_time: (pass_time, pass_time), "its formula gives ('pass_time', 'pass_time'), which is no number"),
    (lambda: True, "its formula gives True, which is no number"),
    (lambda: "3 s", "its formula gives '3 s', which is no number"),
    (lambda: math.nan, "a formula accepts no NaN"),
    (lambda: rs.math.constant("3 GB"), "it is declared in s, but '3e+09' is in byte"),
    # arguments
    (lambda pass_tme: pass_tme, "unknown quantity 'pass_tme'; did you mean 'pass_time'?"),
    (lambda wrong: wrong, "its formula takes the quantity itself"),
    (lambda model: model, "'model' is an input that names a preset, not a quantity"),
    (lambda *pass_time: pass_time, "its formula takes *pass_time, but each argument is one quantity"),
    (lambda **pass_time: pass_time, "its formula takes **pass_time, but each argument is one quantity"),
    (lambda pass_time, factor=2: pass_time * factor, "the argument 'factor' has a default value, but arguments are"),
    (functools.partial(lambda pass_time, k: pass_time * k, k=2), "the argument 'k' has a default value"),
    (max, "the arguments of <built-in function max> cannot be read"),
    # texts
    ("wrong * 2", "unknown quantity 'wrong'"),
    ("pass_time < 2 s", "a formula holds no comparison"),
    ("pass_time if 1 else 2", "an operation is missing before this"),
]  # fmt: skip


@pytest.mark.parametrize(("formula", "message"), MISTAKES, ids=[message[:40] for _, message in MISTAKES])
def test_a_mistake_is_told_at_once(formula, message):
    with pytest.raises(errors.RoofslateError) as caught:
        rs.define("wrong", "s", formula, brief="x")
    text = str(caught.value)
    assert message in text
    assert text.startswith("formula " if isinstance(formula, str) else "definition of 'wrong': ")
    assert "wrong" not in entries()
    units_differ = isinstance(caught.value, errors.UnitError)
    assert units_differ == any(
        word in message
        for word in ("is in", "takes a number", "count takes", "no unit", "unit '", "exponent", "is a number")
    )


def test_the_kind_and_the_place_of_a_mistake():
    assert isinstance(refused("x1", "s", lambda pass_tme: pass_tme), errors.UnknownName)
    assert isinstance(refused("x1", "s", lambda pass_time: pass_time * 2 * pass_time), errors.UnitError)
    assert isinstance(refused("x1", "s", lambda pass_time: bool(pass_time)), ValueError)
    assert isinstance(refused("x1", "s", 3), errors.InputTypeError)
    assert isinstance(refused("x1", "s", "pass_time <"), ConditionError)

    def long_formula(pass_time, kv_bytes):
        first = pass_time * 2
        return first + kv_bytes  # here

    with pytest.raises(errors.UnitError) as caught:
        rs.define("x1", "s", long_formula, brief="x")
    assert "return first + kv_bytes  # here" in [str(entry.statement) for entry in caught.traceback][-6:] or any(
        "first + kv_bytes" in str(entry.statement) for entry in caught.traceback
    )

    def broken(pass_time):
        return pass_time * missing  # type: ignore[name-defined]  # noqa: F821

    error = refused("x1", "s", broken)
    assert "its formula raised NameError: name 'missing' is not defined" in str(error)
    assert isinstance(error.__cause__, NameError)


async def later(pass_time):
    return pass_time


def test_what_is_no_function_of_numbers():
    assert "gives <coroutine" in str(refused("x1", "s", later))
    assert "gives <generator" in str(refused("x1", "s", lambda pass_time: (pass_time for _ in range(2))))
    assert "lists are given as inputs" in str(refused("x1", "s", lambda pass_time: pass_time * (1, 2)))
    assert refused("x1", "s", lambda pass_time: pass_time * xr.DataArray([1, 2]))
    assert refused("x1", "s", lambda pass_time: pd.Series([1, 2]) * pass_time)


@pytest.mark.parametrize(
    ("name", "kind", "message"),
    [
        ("pass_time", errors.DefinitionError, "a built-in quantity has this name"),
        ("1st", errors.DefinitionError, "'1st' is no name for a quantity: letters, digits and underscores"),
        ("a b", errors.DefinitionError, "no name for a quantity"),
        ("a-b", errors.DefinitionError, "no name for a quantity"),
        ("_a", errors.DefinitionError, "a letter first"),
        ("__class__", errors.DefinitionError, "no name for a quantity"),
        ("", errors.DefinitionError, "no name for a quantity"),
        ("a\n", errors.DefinitionError, "no name for a quantity"),
        ("a\0", errors.DefinitionError, "no name for a quantity"),
        ("prix_réel", errors.DefinitionError, "no name for a quantity"),
        ("\ufb01x", errors.DefinitionError, "no name for a quantity"),
        ("x" * 101, errors.DefinitionError, "100 at most"),
        ("x" * 1_000_000, errors.DefinitionError, "100 at most"),
        ('__import__("os").system("true")', errors.DefinitionError, "no name for a quantity"),
        ("lambda", errors.DefinitionError, "this is a word of Python's"),
        ("None", errors.DefinitionError, "this is a word of Python's"),
        ("model", errors.DefinitionError, "a word that calls, results or conditions use"),
        ("depth", errors.DefinitionError, "a word that calls, results or conditions use"),
        ("sample", errors.DefinitionError, "a word that calls, results or conditions use"),
        ("sqrt", errors.DefinitionError, "a word that calls, results or conditions use"),
        ("infinity", errors.DefinitionError, "a word that calls, results or conditions use"),
        ("ms", errors.DefinitionError, "this is a unit"),
        ("tokens", errors.DefinitionError, "this is a unit"),
        ("k", errors.DefinitionError, "this is a unit"),
        ("H100", errors.DefinitionError, "this is a preset for hardware="),
        ("lecture", errors.DefinitionError, "this is a preset for model="),
        (None, errors.InputTypeError, "expected the name of a quantity, got None"),
        (b"a", errors.InputTypeError, "expected the name of a quantity, got b'a'"),
        (lambda: 1, errors.InputTypeError, "expected the name of a quantity"),
    ],
    ids=range(29),
)
def test_names_that_are_refused(name, kind, message):
    with pytest.raises(kind) as caught:
        rs.define(name, "s", lambda pass_time: pass_time, brief="x")
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400
    assert str(caught.value).isprintable()


@pytest.mark.usefixtures("fresh_catalogs")
def test_a_word_of_a_preset_name_is_free():
    """A definition may take a word by which a search finds a preset."""
    rs.hardware.define("made up chip", hbm_bandwidth="1 TB/s")
    assert "up" in rs.hardware
    with rs.definitions():
        rs.define("up", "1", "batch_size / batch_size", brief="one")
        assert rs.value("up", batch_size=3) == 1


def test_names_that_calls_use_are_refused():
    """Each keyword of a call that takes inputs by their names."""
    calls = [getattr(rs, name) for name in rs.__all__ if inspect.isfunction(getattr(rs, name))]
    arguments = [inspect.signature(call).parameters.values() for call in calls]
    keywords = {
        p.name
        for parameters in arguments
        if any(p.kind is p.VAR_KEYWORD and p.name == "inputs" for p in parameters)
        for p in parameters
        if p.kind in (p.KEYWORD_ONLY, p.POSITIONAL_OR_KEYWORD)
    }
    assert len(keywords) > 10
    for name in keywords | {"ax"}:
        assert "a word that calls" in str(refused(name, "s", lambda pass_time: pass_time)), name


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        ({"unit": "ms"}, "'ms' is not made of base units; these are FLOP"),
        ({"unit": "USD/Mtoken"}, "not made of base units"),
        ({"unit": "furlong"}, "unknown unit 'furlong'"),
        ({"unit": "s +"}, "'+' is not a unit"),
        ({"unit": "s" + "/s" * 10_000}, "unit must be one line of text"),
        ({"unit": "s" + "/s" * 400}, "an exponent of 399 is not supported"),
        ({"unit": "((((((((s))))))))"}, "more than 4 brackets"),
        ({"unit": '__import__("os")'}, "is not a unit"),
        ({"unit": ""}, "unit must be one line of text"),
        ({"unit": None}, "unit is a text, got None"),
        ({"brief": ""}, "brief must be one line of text"),
        ({"brief": "a\nb"}, "brief must be one line of text"),
        ({"brief": "a\0b"}, "brief must be one line of text"),
        ({"brief": "\ud800"}, "brief must be one line of text"),
        ({"brief": "x" * 1001}, "brief must be one line of text"),
        ({"brief": 3}, "brief is a text, got 3"),
        ({"source": 3}, "source is a text, got 3"),
        ({"symbol": ""}, "symbol must be one line of text"),
        ({"symbol": "$x$"}, "symbol is LaTeX without dollar signs"),
        ({"symbol": "{x"}, "with all brackets closed"),
        ({"symbol": "}x{"}, "with all brackets closed"),
        ({"symbol": "x\\"}, "with all brackets closed"),
    ],
)
def test_texts_that_are_refused(keywords, message):
    text = str(refused("x1", keywords.pop("unit", "s"), lambda pass_time: pass_time, **keywords))
    assert message in text
    assert len(text) < 500


def test_texts_that_are_taken():
    q = rs.define("x1", "chip*s/chip", lambda pass_time: pass_time, brief="a | b <i>", symbol=r"\{x_\mathrm{a b}\}")
    assert (q.unit, q.symbol) == ("s", r"\{x_\mathrm{a b}\}")
    assert "a | b &lt;i&gt;" in q._repr_html_()


def test_no_work_without_end():
    begun = time.process_time()

    def doubled(pass_time):
        for _ in range(600):
            pass_time = pass_time + pass_time
        return pass_time

    def endless(pass_time):
        k = 0
        while True:
            pass_time = pass_time + rs.math.constant(f"{k} s")
            k += 1

    def nested(pass_time):
        return nested(pass_time)

    assert "1000 steps, or 10000 written out" in str(refused("x1", "s", doubled))
    assert "more than 1000 steps" in str(refused("x1", "s", endless))
    assert "RecursionError" in str(refused("x1", "s", nested))
    assert "1000 steps, or 10000 written out" in str(refused("x1", "1", "+".join("1" * 4000)))

    def wrong(pass_time, kv_bytes):
        return doubled(pass_time) + kv_bytes

    assert "a part of the formula is in s, but 'kv_bytes' is in byte" in str(refused("x1", "s", wrong))
    longest = rs.define("longest", "s", lambda pass_time: sum([pass_time] * 998, pass_time), brief="x")
    assert rs.value("longest", pass_time=1) == 999
    assert len(str(rs.explain("longest", pass_time=1))) > 900
    assert len(longest.latex) > 1000
    assert "1000 operations" in str(refused("x1", "s", lambda longest: longest + 1 * longest))
    below = "pass_time"
    for k in range(100):
        rs.define(f"level_{k}", "s", f"{below} + {below}", brief="x")
        below = f"level_{k}"
    assert "more than 100 definitions one upon the other" in str(refused("x1", "s", f"2 * {below}"))
    assert rs.value(below, pass_time=1) == 2.0**100
    assert len(rs.explain(below, pass_time=1).steps) == 100
    assert time.process_time() - begun < 10


def test_a_formula_is_run_once():
    runs = []
    rs.define("noted", "s", lambda pass_time: runs.append(1) or pass_time * 2, brief="x")
    rs.evaluate("noted", pass_time=np.ones(1000))
    rs.value("noted", pass_time=1)
    assert runs == [1]
