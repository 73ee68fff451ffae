"""Common behavior of folds: errors, small memory, Ctrl-C, and threads."""

import json
import os
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from roofslate import errors
from roofslate.errors import ConditionError
from roofslate.grid.read import Settled
from support.checks import cases
from support.processes import IN_COPIES, INTERRUPTIBLE

# ------------------------------------------------------------------------------------------------------------- errors

LONG = np.linspace(8, 512, 70_000)
MISTAKES = {
    "unknown axis": (lambda q: rs.best("pass_time", q, over="batch"), errors.AxisError, "did you mean 'batch_size'"),
    "an input that is no axis": (lambda q: rs.best("pass_time", q, over="chips"), errors.AxisError, "axis 'chips'"),
    "no axis at all": (
        lambda q: rs.best("pass_time", {**q, "batch_size": 1}, over="batch_size"),
        errors.AxisError,
        "Give a list of values for batch_size",
    ),
    "an axis twice": (
        lambda q: rs.count("pass_time < 1 s", q, over=["batch_size", "batch_size"]),
        errors.AxisError,
        "distinct axes, got batch_size, batch_size",
    ),
    "over is no name": (lambda q: rs.quantiles("pass_time", 0.5, q, over=5), errors.InputTypeError, "over: .* got 5"),
    "objective unknown": (lambda q: rs.best("pass_tim", q, over="batch_size"), errors.UnknownName, "'pass_time'"),
    "two objectives": (
        lambda q: rs.best(["pass_time", "hbm_used"], q, over="batch_size"),
        errors.InputTypeError,
        r"one quantity, got \['pass_time', 'hbm_used'\]",
    ),
    "objective is searched": (
        lambda q: rs.best("batch_size", q, over="batch_size"),
        errors.AxisError,
        "'batch_size' is a searched axis",
    ),
    "also is searched": (
        lambda q: rs.best("pass_time", q, also="batch_size", over="batch_size"),
        errors.AxisError,
        "'batch_size' is a searched axis, and the result has it already",
    ),
    "also is no name": (lambda q: rs.best("pass_time", q, also=5, over="batch_size"), errors.InputTypeError, "got 5"),
    "condition on an unknown quantity": (
        lambda q: rs.best("pass_time", q, over="batch_size", where="pas_time <= 1 s"),
        errors.UnknownName,
        "unknown quantity 'pas_time'; did you mean 'pass_time'",
    ),
    "condition in other units": (
        lambda q: rs.pareto(q, minimize="pass_time", where="pass_time <= 1 GB"),
        errors.UnitError,
        "'pass_time' is in s, but '1 GB' is in byte",
    ),
    "condition without a relation": (lambda q: rs.count("pass_time", q), ConditionError, "< <= > >="),
    "condition by or": (lambda q: rs.count("pass_time < 1 s or chips > 8", q), ConditionError, "'or' is not allowed"),
    "equality of numbers": (lambda q: rs.count("pass_time == 1 s", q), ConditionError, "compares choices"),
    "condition that misses an input": (
        lambda q: rs.count("mean_queue_wait < 1 s", q),
        errors.MissingInput,
        "<- mean_queue_wait",
    ),
    "no condition to count": (
        lambda q: rs.count([], q),
        errors.InputTypeError,
        r"count\(\) expects a condition, got none",
    ),
    "an empty condition": (lambda q: rs.count("", q), ConditionError, "empty"),
    "condition is no text": (lambda q: rs.count(5, q), errors.InputTypeError, "expected a condition such as"),
    "no objectives": (
        lambda q: rs.pareto(q),
        errors.InputTypeError,
        r"pareto\(\) expects objectives, got none. Pass minimize=",
    ),
    "five objectives": (
        lambda q: rs.pareto(q, minimize=["pass_time", "hbm_used", "chips"], maximize=["batch_size", "kv_bytes"]),
        errors.ValueRangeError,
        "one to 4 objectives, 5 were given",
    ),
    "an objective both ways": (
        lambda q: rs.pareto(q, minimize="pass_time", maximize="pass_time"),
        errors.InputTypeError,
        "distinct objectives, got pass_time, pass_time",
    ),
    "no bins": (lambda q: rs.histogram("pass_time", q, bins=0), errors.ValueRangeError, "1 to 10,000,000, got 0"),
    "half a bin": (lambda q: rs.histogram("pass_time", q, bins=2.5), errors.InputTypeError, "bins: .* got 2.5"),
    "bins without an axis": (
        lambda q: rs.histogram("pass_time", q, bins=np.array(5)),
        errors.InputTypeError,
        "bins: expected a number of bins or their edges",
    ),
    "one edge": (lambda q: rs.histogram("pass_time", q, bins=[1]), errors.ValueRangeError, "finite, increasing edges"),
    "edges that fall": (
        lambda q: rs.histogram("pass_time", q, bins=[2, 1]),
        errors.ValueRangeError,
        "increasing edges",
    ),
    "an infinite edge": (lambda q: rs.histogram("pass_time", q, bins=[1, np.inf]), errors.ValueRangeError, "finite"),
    "edges in other units": (
        lambda q: rs.histogram("pass_time", q, bins=["1 GB", "2 GB"]),
        errors.UnitError,
        "pass_time: .* it is in byte",
    ),
    "edges and a range": (
        lambda q: rs.histogram("pass_time", q, bins=[1, 2], range=(0, 1)),
        errors.InputTypeError,
        "bins already gives the edges",
    ),
    "edges and log": (
        lambda q: rs.histogram("pass_time", q, bins=[1, 2], log=True),
        errors.InputTypeError,
        "bins already gives the edges",
    ),
    "range reversed": (
        lambda q: rs.histogram("pass_time", q, range=("2 ms", "1 ms")),
        errors.ValueRangeError,
        "increasing ends, got 0.002 and 0.001",
    ),
    "range of one": (lambda q: rs.histogram("pass_time", q, range=(1,)), errors.InputTypeError, "range: .* got"),
    "range in other units": (lambda q: rs.histogram("pass_time", q, range=("1 B", 2)), errors.UnitError, "byte"),
    "log from zero": (
        lambda q: rs.histogram("pass_time", q, range=(0, 1), log=True),
        errors.ValueRangeError,
        "log=True expects positive values",
    ),
    "nothing finite": (
        lambda q: rs.histogram(
            "balance_batch_at_context", Settled({**q, "balance_context": 10.0, "context_length": [20.0, 30.0]})
        ),
        errors.ValueRangeError,
        "no finite value",
    ),
    "narrower than the bins": (
        lambda q: rs.histogram("batch_size", {**q, "batch_size": [1, 1 + 1e-15]}),
        errors.ValueRangeError,
        "50 bins do not fit between 1.0 and 1.00000000",
    ),
    "an axis called bin": (
        lambda q: rs.histogram("pass_time", {**q, "batch_size": xr.DataArray([1, 2], dims="bin")}, over=[]),
        errors.AxisError,
        "The axis 'bin' has the name of a variable",
    ),
    "an axis called quantile": (
        lambda q: rs.quantiles("pass_time", 0.5, {**q, "batch_size": xr.DataArray([1, 2], dims="quantile")}, over=[]),
        errors.AxisError,
        "The axis 'quantile' has the name of a variable",
    ),
    "q below 0": (lambda q: rs.quantiles("pass_time", -0.1, q), errors.ValueRangeError, "from 0 to 1, got -0.1"),
    "q in percent": (lambda q: rs.quantiles("pass_time", [50, 90], q), errors.ValueRangeError, "from 0 to 1"),
    "q NaN": (lambda q: rs.quantiles("pass_time", np.nan, q), errors.ValueRangeError, "from 0 to 1, got nan"),
    "no q": (lambda q: rs.quantiles("pass_time", [], q), errors.InputTypeError, "a number from 0 to 1 or a list"),
    "q None": (lambda q: rs.quantiles("pass_time", None, q), errors.InputTypeError, "got None"),
    "q a word": (lambda q: rs.quantiles("pass_time", "half", q), errors.InputTypeError, "got 'half'"),
    "q a table": (lambda q: rs.quantiles("pass_time", [[0.5]], q), errors.InputTypeError, "or a list of them"),
    "units of the result": (lambda q: rs.quantiles("pass_time", 0.5, q, units="GB"), errors.UnitError, "byte"),
    "units of something else": (
        lambda q: rs.best("pass_time", q, over="batch_size", units={"hbm_used": "GB"}),
        errors.UnknownName,
        "not among the outputs",
    ),
    "a range in a fold": (
        lambda q: rs.best("pass_time", {**q, "chips": (1, 8)}, over="chips"),
        errors.InputTypeError,
        "a list makes an axis",
    ),
    "range of three": (
        lambda q: rs.bounds("pass_time", {**q, "chips": (1, 2, 3)}),
        errors.InputTypeError,
        "expected a range of two ends",
    ),
    "bounds reversed": (
        lambda q: rs.bounds("pass_time", {**q, "chips": (8, 1)}),
        errors.ValueRangeError,
        "lower end first",
    ),
    "bounds of words": (
        lambda q: rs.bounds("pass_time", q, overlap=("board", "none")),
        errors.InputTypeError,
        "choices have no order. Give a list",
    ),
    "bounds of presets": (
        lambda _: rs.bounds("hbm_bandwidth", hardware=("H100", "H200")),
        errors.InputTypeError,
        "choices have no order. Give a list",
    ),
    "bounds of an unknown name": (lambda q: rs.bounds("pass_tim", q), errors.UnknownName, "'pass_time'"),
    "threads": (lambda q: rs.count("pass_time < 1 s", q, threads=0), errors.InputTypeError, "threads must be"),
    "too many points": (
        lambda q: rs.best(
            "cost_per_token",
            {**q, **dict.fromkeys(["batch_size", "context_length", "chips", "pass_length"], LONG)},
            over=["batch_size", "chips"],
        ),
        errors.AxisError,
        "at most 9e18 points",
    ),
    "an empty axis": (
        lambda q: rs.best("pass_time", {**q, "batch_size": []}, over="batch_size"),
        errors.AxisError,
        "the axis 'batch_size' is empty",
    ),
    "a missing input": (lambda _: rs.best("pass_time", over="batch_size", batch_size=[1]), errors.MissingInput, "<-"),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name, decode):
    call, error, message = MISTAKES[name]
    with pytest.raises(error, match=message):
        call({**decode, "batch_size": [1, 2]})


# ------------------------------------------------------------------------------------------------------------ running

FOLDS = """
import numpy as np, roofslate as rs

decode = dict(
    total_parameters=671e9, active_parameters=37e9, bytes_per_weight=0.5, kv_bytes_per_token=1667.0, peak_flops=9e15,
    hbm_bandwidth=8e12, chips=72.0, chip_price=1e-3,
)


def grid(n):
    axes = dict(batch_size=np.linspace(1, 4000, n), context_length=np.linspace(1, 1e5, n), chips=np.linspace(8, 512, n))
    return {**decode, **axes}


everything = ["batch_size", "context_length", "chips"]
ends = dict(range=("1 USD/Gtok", "100 USD/Mtok"), log=True)
"""
MEMORY = """
import re


def memory(key):
    with open("/proc/self/status") as file:
        return int(re.search(key + r":\\s*(\\d+) kB", file.read())[1]) / 1024


fold = lambda question: {fold}
fold(grid(30))
taken = []
for n in (100, {n}):
    with open("/proc/self/clear_refs", "w") as file:
        file.write("5")  # the high-water mark starts again
    before = memory("VmRSS")
    fold(grid(n))
    taken.append(memory("VmHWM") - before)
print(taken[1] - taken[0])
"""
LIMIT = "where='pass_time <= 20 ms'"
BILLION = {
    "best": (f"rs.best('cost_per_token', over=everything, {LIMIT}, **question)", 1000),
    "best kept": (f"rs.best('cost_per_token', over=['batch_size', 'chips'], {LIMIT}, **question)", 1000),
    "best, all": (f"rs.best('cost_per_token', over=['batch_size', 'chips'], {LIMIT}, prune=False, **question)", 1000),
    "pareto": ("rs.pareto(question, minimize=['cost_per_token', 'pass_time'])", 1000),
    "count": ("rs.count('pass_time <= 20 ms', question)", 1000),
    "count, all": ("rs.count('pass_time <= 20 ms', question, prune=False)", 300),
    "histogram": ("rs.histogram('cost_per_token', question, **ends)", 1000),
    "histogram, all": ("rs.histogram('cost_per_token', question, prune=False, **ends)", 1000),
    "quantiles": ("rs.quantiles('cost_per_token', [0.01, 0.1, 0.5, 0.9, 0.99], question)", 500),
    "bounds": ("rs.bounds('cost_per_token', question)", 1000),
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system has no peak memory")
@pytest.mark.measured
def test_a_billion_points_take_no_more_memory_than_a_million(run_python):
    pieces = {name: MEMORY.format(fold=fold, n=n) for name, (fold, n) in BILLION.items()}
    printed = json.loads(run_python(FOLDS + IMPORTS + IN_COPIES.format(pieces=pieces)))
    assert list(printed) == list(BILLION)
    with cases() as case:
        for name, more in printed.items():
            with case(name):
                assert float(more) <= 10


TRILLION = """
question = {**decode, "hbm_capacity": 192e9, **{name: np.geomspace(x / 8, 4 * x, 250) for name, x in dict(
    batch_size=1e3, context_length=1e4, chips=64, hbm_bandwidth=8e12, peak_flops=4e15).items()}}
axes = list(question)[-2:] + ["chips", "hbm_bandwidth", "peak_flops"]
where = ["pass_time <= 5 ms", "hbm_used <= hbm_capacity"]
found = rs.best("cost_per_token", question, over=axes, where=where)
at = {name: float(found[name]) for name in axes}
assert rs.value("cost_per_token", {**question, **at}) == found.cost_per_token
assert rs.count(where, {**question, **at}) == 1
"""


def test_a_trillion_points_are_searched(run_python):
    """Looking at all of them would take an hour."""
    run_python(FOLDS + TRILLION, timeout=60)


IMPORTS = """
import os, signal, threading, time
import pandas, xarray
"""
INTERRUPT = """
rs.count("pass_tokens >= 5 tok", batch_size=range(1, 9))  # loads what a first call does
sent, ticks = [], []
stop = threading.Event()


def beat():  # what other threads get done meanwhile
    while not stop.wait(0.01):
        ticks.append(time.monotonic())


def interrupt():
    time.sleep(0.3)
    sent.append(time.monotonic())
    os.kill(os.getpid(), signal.SIGINT)


question = grid(2500)
fold = lambda: {fold}
threading.Thread(target=beat, daemon=True).start()
interrupting = threading.Thread(target=interrupt)
start = time.monotonic()
interrupting.start()
try:
    fold()
    print("not interrupted", time.monotonic() - start)
except KeyboardInterrupt:
    end = time.monotonic()
    beats = len([t for t in ticks if start < t < sent[0]])
    assert rs.count("pass_tokens >= 5 tok", batch_size=range(1, 9)) == 4
    print(end - sent[0], beats)
"""
LONG_FOLDS = {
    "best": f"rs.best('cost_per_token', over=['batch_size', 'chips'], {LIMIT}, prune=False, **question)",
    "best, pruned": f"rs.best('cost_per_token', over=['batch_size', 'chips'], {LIMIT}, **question)",
    "best, one": "rs.best('cost_per_token', question, over=everything, prune=False)",
    "best for each": "rs.best('cost_per_token', question | {'chips': np.linspace(8, 9, 10**6)}, over='chips')",
    "pareto": "rs.pareto(question, minimize=['cost_per_token', 'pass_time'], prune=False)",
    "pareto of three": "rs.pareto(question, minimize=['cost_per_token', 'pass_time', 'chips'])",
    "count": "rs.count('pass_time <= 20 ms', question, prune=False)",
    "histogram": "rs.histogram('cost_per_token', question, prune=False, **ends)",
    "histogram, pruned": "rs.histogram('cost_per_token', question, bins=2000, **ends)",
    "histogram's ends": "rs.histogram('cost_per_token', question)",
    "quantiles": "rs.quantiles('cost_per_token', [0.1, 0.9], question)",
    "quantiles kept": "rs.quantiles('cost_per_token', 0.5, question, over=['batch_size', 'chips'])",
    "quantiles sorted": "rs.quantiles('cost_per_token', 0.5, question, over='batch_size')",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no such signals")
@pytest.mark.measured
def test_ctrl_c_stops_a_fold(run_python):
    pieces = {name: INTERRUPT.format(fold=fold) for name, fold in LONG_FOLDS.items()}
    printed = json.loads(run_python(INTERRUPTIBLE + FOLDS + IMPORTS + IN_COPIES.format(pieces=pieces)))
    assert list(printed) == list(LONG_FOLDS)
    with cases() as case:
        for name, figures in printed.items():
            with case(name):
                took, beats = figures.split()
                assert float(took) < 0.2
                assert int(beats) > 2


def test_progress_is_told(decode):
    question = {**decode, "batch_size": np.linspace(1, 4000, 900), "context_length": np.linspace(1, 1e5, 900)}
    question["chips"] = np.linspace(8, 512, 300)
    over = ["batch_size", "chips"]
    folds = {
        "best": lambda **how: rs.best("cost_per_token", question, over=over, prune=False, **how),
        "count": lambda **how: rs.count(
            "pass_time <= 20 ms", question, over=["batch_size", "context_length"], prune=False, **how
        ),
        "histogram": lambda **how: rs.histogram("pass_time", question, range=(0, 1), prune=False, **how),
        "quantiles": lambda **how: rs.quantiles("pass_time", 0.5, question, **how),
    }
    for name, fold in folds.items():
        reports = []
        fold(progress=lambda done, total, reports=reports: reports.append((done, total)))
        assert reports, name
        assert reports == sorted(reports), name
        assert all(0 <= done <= total for done, total in reports), name
        assert len({total for _, total in reports}) == 1, name

        def stop(*_):
            raise ZeroDivisionError("stop here")

        with pytest.raises(ZeroDivisionError, match="stop here"):
            fold(progress=stop)


def test_folds_from_many_threads(decode, bits):
    question = {**decode, "batch_size": np.linspace(1, 4000, 300), "context_length": np.linspace(1, 1e5, 200)}
    expected = bits(rs.best("cost_per_token", question, over="batch_size").batch_size)
    median = rs.quantiles("pass_time", 0.5, question)
    wrong = []

    def ask():
        for _ in range(5):
            result = rs.best("cost_per_token", question, over="batch_size", threads=2)
            if (
                not np.array_equal(bits(result.batch_size), expected)
                or rs.quantiles("pass_time", 0.5, question) != median
            ):
                wrong.append(time.monotonic())

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert wrong == []
