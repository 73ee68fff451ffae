"""Hostile inputs return a result or an error of the package, and leave no memory."""

import contextlib
import datetime
import json
import math
import os
import string
import warnings

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from roofslate import _core, units
from support.lazy import Later, made
from support.scenarios import DECODE

DEEP = "ROOFSLATE_DEEP" in os.environ  # all of it, as in make check-deep
TIMES = 20 if DEEP else 1
GRID = DECODE | {"batch_size": [1.0, 200.0, 3000.0]}


def nested(depth, kind):
    """A list or dict that holds another one, and so on."""
    result = 1.0
    for _ in range(depth):
        result = [result] if kind is list else {"a": result}
    return result


# Values that are no answer to any question, by their name in a test's id.
VALUES = {
    "none": None,
    "true": True,
    "complex": 1j,
    "bytes": b"pass_time",
    "text": "x",
    "empty text": "",
    "null character": "a\0",
    "half a character": "\ud800",
    "digits": "9" * 100_000,
    "brackets": "(" * 50_000,
    "condition": "pass_time <= 50 ms",
    "name": "pass_time",
    "names and a number": ["pass_time", 3],
    "name in lists": [["pass_time"]],
    "set": {"pass_time"},
    "negative": -1,
    "zero": 0,
    "fraction": 2.5,
    "nan": math.nan,
    "inf": math.inf,
    "large": 10**400,
    "date": datetime.date(2026, 1, 1),
    "timestamp": pd.Timestamp("2026-01-01"),
    "timedelta": np.timedelta64(1, "s"),
    "not a time": pd.NaT,
    "missing": pd.NA,
    "empty list": [],
    "list of none": [None],
    "deep list": nested(100_000, list),
    "deep dict": nested(5_000, dict),
    "dict": {"a": 1},
    "dict of numbers": {1: None},
    "array": np.ones(3),
    "number in an array": np.array(3.0),
    "swapped bytes": np.ones(3).astype(">f8"),
    "read-only": np.broadcast_to(1.0, 3),
    "objects": np.array([1, "a"], dtype=object),
    "records": np.zeros(2, dtype=[("a", "f8")]),
    "empty array": np.zeros((0, 3)),
    "huge array": np.broadcast_to(1.0, 10**13),
    "huge range": range(10**18),
    "table": pd.DataFrame({"batch_size": [1.0, 2]}),
    "series": pd.Series([1.0, 2]),
    "labelled": Later(lambda: xr.DataArray([1.0, 2], dims="x")),
    "dataset": Later(lambda: xr.Dataset({"a": 1})),
    "range": (1, 2),
    "range downwards": (2, 1),
    "triple": (1, 2, 3),
    "function": lambda *_: 1,
    "class": int,
    "object": object(),
    "ellipsis": ...,
}


CONFIG = {
    "model_type": "qwen3",
    "num_hidden_layers": 28,
    "hidden_size": 1024,
    "intermediate_size": 3072,
    "num_attention_heads": 16,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 151936,
    "tie_word_embeddings": True,
}


def complaint(call, *arguments):
    """Describe a bad end of a call. A result or a short package error gives None."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", rs.errors.PartlyRead)  # a config of an unknown family is read all the same
            call(*arguments)
    except rs.RoofslateError as error:
        return None if len(str(error)) < 2000 else f"a message of {len(str(error))} characters"
    except Exception as error:
        return f"{type(error).__name__}: {str(error)[:100]!a}"
    return None


def without(name):
    return {key: value for key, value in DECODE.items() if key != name}


def defined(name="made_up", unit="s", formula=lambda pass_time: pass_time, **keywords):
    with rs.definitions():
        rs.define(name, unit, formula, **{"brief": "made up", **keywords})


# Each argument of the calls that compute, with one of these values in its place.
CALLS = {
    "evaluate outputs": lambda x: rs.evaluate(x, **DECODE),
    "evaluate out": lambda x: rs.evaluate("pass_time", out=x, **GRID),
    "evaluate units": lambda x: rs.evaluate("pass_time", units=x, **GRID),
    "evaluate bands": lambda x: rs.evaluate("pass_time", bands=x, **GRID),
    "evaluate number": lambda x: rs.evaluate("pass_time", **DECODE | {"chips": x}),
    "evaluate choice": lambda x: rs.evaluate("pass_time", overlap=x, **DECODE),
    "evaluate hardware": lambda x: rs.evaluate("pass_time", hardware=x, **DECODE),
    "evaluate prices": lambda x: rs.evaluate("pass_time", prices=x, **DECODE),
    "value output": lambda x: rs.value(x, **DECODE),
    "value units": lambda x: rs.value("pass_time", units=x, **DECODE),
    "value number": lambda x: rs.value("pass_time", **DECODE | {"chips": x}),
    "frame table": lambda x: rs.frame(x, "pass_tokens"),
    "frame outputs": lambda x: rs.frame(pd.DataFrame({"batch_size": [1.0]}), x),
    "frame ignore": lambda x: rs.frame(pd.DataFrame({"batch_size": [1.0], "a": 1}), "pass_tokens", ignore=x),
    "best objective": lambda x: rs.best(x, over="batch_size", **GRID),
    "best over": lambda x: rs.best("pass_time", over=x, **GRID),
    "best where": lambda x: rs.best("pass_time", over="batch_size", where=x, **GRID),
    "best also": lambda x: rs.best("pass_time", over="batch_size", also=x, **GRID),
    "best number": lambda x: rs.best("pass_time", over="batch_size", **GRID | {"chips": x}),
    "pareto minimize": lambda x: rs.pareto(minimize=x, **GRID),
    "pareto where": lambda x: rs.pareto(minimize="pass_time", where=x, **GRID),
    "count where": lambda x: rs.count(x, **GRID),
    "count over": lambda x: rs.count("pass_time <= 50 ms", over=x, **GRID),
    "histogram bins": lambda x: rs.histogram("pass_time", bins=x, **GRID),
    "histogram range": lambda x: rs.histogram("pass_time", bins=3, range=x, **GRID),
    "quantiles q": lambda x: rs.quantiles("pass_time", x, **GRID),
    "sample n": lambda x: rs.sample("pass_time", x, seed=1, **DECODE),
    "sample seed": lambda x: rs.sample("pass_time", 4, seed=x, **DECODE),
    "solve unknown": lambda x: rs.solve(x, "kv_fetch_time == compute_time", **DECODE),
    "solve condition": lambda x: rs.solve("context_length", x, **without("context_length")),
    "solve number": lambda x: rs.solve(
        "context_length", "kv_fetch_time == compute_time", **without("context_length") | {"batch_size": x}
    ),
    "sensitivity output": lambda x: rs.sensitivity(x, **DECODE),
    "sensitivity to": lambda x: rs.sensitivity("pass_time", to=x, **DECODE),
    "gradient number": lambda x: rs.gradient("pass_time", **DECODE | {"batch_size": x}),
    "tornado number": lambda x: rs.tornado("pass_time", **DECODE | {"chips": x}),
    "tornado base": lambda x: rs.tornado("pass_time", base=x, **DECODE | {"chips": (1, 2)}),
    "sobol n": lambda x: rs.sobol("pass_time", x, seed=1, **DECODE),
    "bounds number": lambda x: rs.bounds("pass_time", **DECODE | {"chips": x}),
    "bounds end": lambda x: rs.bounds("pass_time", **DECODE | {"chips": (1, x)}),
    "compare side": lambda x: rs.compare(x, DECODE, "pass_time"),
    "compare output": lambda x: rs.compare(DECODE, DECODE | {"chips": 3}, x),
    "infer prices": lambda x: rs.infer(x),
    "infer price": lambda x: rs.infer({"input": x, "output": 1}),
    "explain output": lambda x: rs.explain(x, **DECODE),
    "explain number": lambda x: rs.explain("pass_time", **DECODE | {"chips": x}),
    "explain depth": lambda x: rs.explain("pass_time", depth=x, **DECODE),
    "define name": lambda x: defined(name=x),
    "define unit": lambda x: defined(unit=x),
    "define formula": lambda x: defined(formula=x),
    "define result": lambda x: defined(formula=lambda pass_time: x),  # noqa: ARG005
    "define factor": lambda x: defined(formula=lambda pass_time: pass_time * x),
    "define condition": lambda x: defined(formula=lambda pass_time: rs.math.where(x, pass_time, pass_time)),
    "define brief": lambda x: defined(brief=x),
    "define symbol": lambda x: defined(symbol=x),
    "quantities": rs.quantities,
    "quantity": rs.quantity,
    "preset name": lambda x: rs.hardware[x],
    "preset number": lambda x: rs.hardware.define("made up chip", peak_flops=x),
    "preset file": rs.load_presets,
    "to_units units": lambda x: rs.to_units(rs.evaluate("pass_time", **GRID), x),
    "linspace start": lambda x: rs.linspace(x, 2, 3),
    "linspace num": lambda x: rs.linspace(1, 2, x),
    "config": rs.Model.from_config,
    "config layers": lambda x: rs.Model.from_config(CONFIG | {"num_hidden_layers": x}),
    "config family": lambda x: rs.Model.from_config(CONFIG | {"model_type": x}),
    "config format": lambda x: rs.Model.from_config(CONFIG | {"quantization_config": x}),
    "config text": lambda x: rs.Model.from_config({"text_config": x}),
    "config experts": lambda x: rs.Model.from_config(CONFIG | {"num_experts": x, "num_experts_per_tok": x}),
    "config layer types": lambda x: rs.Model.from_config(CONFIG | {"layer_types": x}),
    "config weight format": lambda x: rs.Model.from_config(CONFIG, weight_format=x),
}


@pytest.mark.filterwarnings("ignore::UserWarning")  # bad rows raise a warning
@pytest.mark.parametrize("call", CALLS)
def test_any_argument_may_be_anything(call):
    values = made(VALUES) | {"array": np.ones(3)}  # one call writes into it
    ends = {kind: complaint(CALLS[call], value) for kind, value in values.items()}
    assert {kind: end for kind, end in ends.items() if end} == {}


# -------------------------------------------------------------------------------------------------------------- layouts

LAYOUTS = {
    "swapped bytes": lambda x: x.astype(">f8"),
    "backwards": lambda x: x[::-1].copy()[::-1],
    "every third": lambda x: np.repeat(x, 3)[::3],
    "read-only": lambda x: np.frombuffer(x.tobytes()),
    "not aligned": lambda x: np.frombuffer(b"-" + x.tobytes(), np.uint8)[1:].view("f8"),
    "field of records": lambda x: np.rec.fromarrays([x, x.astype("i1")], names="a,b")["a"],
    "single": lambda x: x.astype("f4"),
    "half": lambda x: x.astype("f2"),
    "long": lambda x: x.astype(np.longdouble),
    "bytes": lambda x: x.astype("u1"),
    "swapped integers": lambda x: x.astype(">i8"),
    "objects": lambda x: x.astype(object),
    "texts": lambda x: x.astype(str),
    "list": lambda x: x.tolist(),
    "series": lambda x: pd.Series(x, index=pd.Index(x, name="batch_size")),
    "labelled": lambda x: xr.DataArray(x, dims="batch_size"),
}


@pytest.mark.parametrize("layout", LAYOUTS)
@given(values=st.lists(st.integers(1, 200), min_size=1, max_size=20))
@settings(max_examples=25 * TIMES)
def test_layouts_do_not_matter(layout, values, bits):
    """The results equal those for plain doubles, bit for bit, for any memory layout."""
    array = np.array(values, dtype=float)
    question = DECODE | {"batch_size": array}
    laid_out = question | {"batch_size": LAYOUTS[layout](array)}
    expected = rs.evaluate("cost_per_token", question)
    assert np.array_equal(bits(rs.evaluate("cost_per_token", laid_out)), bits(expected))
    where = "cost_per_token <= 1 USD/Mtoken"
    assert rs.count(where, laid_out) == rs.count(where, question)


# ---------------------------------------------------------------------------------------------------------------- texts

WORDS = st.sampled_from(
    [
        *(
            "pass_time",
            "batch_size",
            "overlap",
            "cost_per_token",
            "'board'",
            '"none"',
            "unheard_of",
            "min",
            "max",
            "sqrt",
        ),
        *(
            "exp",
            "log",
            "and",
            "or",
            "not",
            "if",
            "lambda",
            "__import__",
            "nan",
            "inf",
            "1",
            "50",
            "1e400",
            "0x1",
            "1_000",
        ),
        *(
            "128k",
            "50 ms",
            "0.5 USD/Mtoken",
            "30 %",
            "$2",
            "USD/(chip h)",
            "s",
            "ms",
            "GB",
            "GiB",
            "per",
            "k",
            "²",
            "µs",
        ),
        *(
            "<",
            "<=",
            ">",
            ">=",
            "==",
            "!=",
            "=",
            "+",
            "-",
            "*",
            "/",
            "**",
            "^",
            "(",
            ")",
            ",",
            ";",
            ".",
            "\0",
            "\ud800",
            "٣",
        ),
    ]
)
TEXTS = st.one_of(
    st.lists(WORDS, max_size=14).map(" ".join),
    st.lists(WORDS, max_size=10).map("".join),
    st.text(max_size=30),
    st.text(string.printable, max_size=30),
)


@given(text=TEXTS)
@example("(" * 41 + "1" + ")" * 41 + " < 2")
@example("-" * 9000 + "1 < 2")
@example("1" + " + 1" * 2000 + " < pass_time")
@example("1 s^" + "9" * 400 + " < pass_time")
@settings(max_examples=400 * TIMES)
def test_any_text_as_a_condition(text):
    assert complaint(lambda: rs.count(text, **GRID)) is None
    assert complaint(lambda: rs.solve("context_length", text, **without("context_length"))) is None


@given(text=TEXTS)
@example("1 " + "(" * 5000 + "s" + ")" * 5000)
@example("1e999999999 s")
@settings(max_examples=400 * TIMES)
def test_any_text_as_a_number(text):
    for unit in ("s", "USD/token", "1"):
        assert complaint(units.parse, text, unit) is None


@pytest.mark.slow
def test_a_text_of_a_gigabyte():
    text = "9" * (2**30 if DEEP else 2**26)
    for call in (
        lambda: rs.value("pass_tokens", batch_size=text),
        lambda: rs.value(text, batch_size=1),
        lambda: rs.evaluate("pass_time", DECODE, overlap=text),
        lambda: rs.evaluate("pass_time", hardware=text, batch_size=1),
        lambda: rs.count(text, GRID),
        lambda: rs.best("pass_time", GRID, over=text),
        lambda: rs.frame(pd.DataFrame({"batch_size": [text]}), "pass_tokens"),
        lambda: defined(name=text),
        lambda: defined(unit=text),
        lambda: rs.Model.from_config(CONFIG | {"model_type": text}),
        lambda: rs.load_presets(text),
    ):
        assert complaint(call) is None


# --------------------------------------------------------------------------------------------------------------- files

JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(10**20), 10**20)
    | st.floats()
    | st.sampled_from(["full_attention", "sliding_attention", "qwen3", "bfloat16", "fp8", "mxfp4", ""])
    | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.sampled_from(sorted(CONFIG)), inner, max_size=4),
    max_leaves=8,
)
KEYS = [
    *CONFIG,
    *("num_experts", "n_routed_experts", "num_local_experts", "num_experts_per_tok", "moe_intermediate_size"),
    *("n_shared_experts", "first_k_dense_replace", "kv_lora_rank", "q_lora_rank", "qk_rope_head_dim", "v_head_dim"),
    *("layer_types", "sliding_window", "quantization_config", "torch_dtype", "text_config", "vision_config"),
    *("architectures", "attention_bias", "decoder_sparse_step", "mlp_only_layers", "num_nextn_predict_layers"),
]


@given(changes=st.dictionaries(st.sampled_from(KEYS), JSON, max_size=5))
@settings(max_examples=300 * TIMES)
def test_any_config(changes):
    assert complaint(rs.Model.from_config, CONFIG | changes) is None


@pytest.mark.parametrize(
    "text",
    [
        '{"a": ' * 100_000 + "1" + "}" * 100_000,
        "[" * 100_000,
        '{"num_hidden_layers": ' + "9" * 5000 + "}",
        '{"num_hidden_layers": 1e999}',
        '{"num_hidden_layers": NaN, "hidden_size": -Infinity}',
        '{"a": 1, "a": 2}',
        '{"a": "\\ud800"}',
        "\ufeff{}",
        "",
        "null",
        '"' + "x" * 5_000_000 + '"',
        json.dumps(CONFIG)[:-3],
        "\0",
    ],
    ids=lambda text: f"{text[:12]!a}",
)
def test_config_files_that_are_none(tmp_path, text):
    path = tmp_path / "config.json"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(rs.RoofslateError) as caught:
        rs.Model.from_config(path)
    assert len(str(caught.value)) < 2000


def test_a_config_that_holds_itself():
    endless = dict(CONFIG)
    endless["text_config"] = endless
    with pytest.raises(rs.RoofslateError):
        rs.Model.from_config(endless)
    for key in ("layer_types", "quantization_config", "architectures"):
        round_and_round = []
        round_and_round.append(round_and_round)
        with pytest.raises(rs.RoofslateError):
            rs.Model.from_config(CONFIG | {key: round_and_round})


# --------------------------------------------------------------------------------------------------------------- steps

NUMBERS = st.integers(-3, 12) | st.sampled_from([10**30, 1.5, None, "x", math.nan])
STEPS = st.lists(
    st.one_of(
        st.tuples(st.just("quantity"), st.sampled_from(["pass_time", "batch_size", "overlap", "unheard_of", ""])),
        st.tuples(st.just("constant"), st.floats() | NUMBERS),
        st.tuples(st.sampled_from(["add", "mul", "min", "pow", "less", "both", "erlang_c"]), NUMBERS, NUMBERS),
        st.tuples(st.sampled_from(["neg", "exp", "sqrt", "unheard_of", "input", "routine"]), NUMBERS),
        st.tuples(st.just("select"), NUMBERS, NUMBERS, NUMBERS),
        st.tuples(),
    ),
    max_size=10,
)


@given(steps=STEPS)
@settings(max_examples=400 * TIMES)
def test_the_core_reads_any_steps(steps):
    """The binding refuses invalid steps with an error, and follows none of them out of bounds."""
    expected = (rs.RoofslateError, ValueError, TypeError, RuntimeError)  # the package never hands over such steps
    with contextlib.suppress(*expected):
        _core.formula_text(steps)
    with contextlib.suppress(*expected):
        _core.describe(_core.Registry(None, [("made_up", "z", "1", "", "", steps)]), 0)


# -------------------------------------------------------------------------------------------------------------- memory

LOOP = """
import gc, resource, warnings
import numpy as np, pandas as pd, roofslate as rs

warnings.simplefilter("ignore")
scenario = {scenario!r}
batch = np.linspace(1, 100, 50)
short = {{name: x for name, x in scenario.items() if name != "context_length"}}
table = pd.DataFrame({{"batch_size": batch}})
wrong = {{"batch_size": -1.0}}, {{"batch_size": "x"}}, {{"batch_size": [1, None]}}, {{"unheard_of": 1}}, {{}}


def refused(call, *args, **kwargs):
    try:
        call(*args, **kwargs)
    except rs.RoofslateError:
        return
    raise AssertionError("this was taken")


def turn(k):
    rs.value("pass_time", **{{**scenario, "chips": 1.0 + k % 90}})
    rs.value("cost_per_token", **{{**scenario, "chips": 1.0 + k}})
    refused(rs.value, "pass_tokens", **wrong[k % 5])
    if k % 20 == 0:
        rs.evaluate("cost_per_token", **{{**scenario, "batch_size": batch}})
        rs.best("cost_per_token", over="batch_size", where="pass_time <= 50 ms", **{{**scenario, "batch_size": batch}})
        refused(rs.evaluate, "pass_time", **{{**scenario, "chips": [1.0, np.nan]}})
    if k % 200 == 0:
        rs.frame(table, "pass_tokens")
        rs.histogram("pass_time", bins=4, **{{**scenario, "batch_size": batch}})
        rs.solve("context_length", "kv_fetch_time == compute_time", **short)
        rs.gradient("pass_time", **scenario)
        with rs.definitions():
            rs.define("made_up", "s", lambda pass_time: pass_time * (1 + k), brief="made up")
            rs.value("made_up", **scenario)


def resident():
    gc.collect()
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * resource.getpagesize()


for k in range(3000):
    turn(k)
before = resident()
for k in range({turns}):  # 3 calls each, and some
    turn(k)
print((resident() - before) / 2**20)
"""


@pytest.mark.long
@pytest.mark.measured
@pytest.mark.whole
def test_calls_leave_nothing(run_python):
    """Memory grows by less than a megabyte in a hundred thousand calls, or an eighth of that."""
    turns = 32_000 if DEEP else 4000
    grown = float(run_python(LOOP.format(scenario=DECODE, turns=turns), timeout=600))
    assert grown <= 1
