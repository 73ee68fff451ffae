"""Folds: best, pareto, count, histogram, quantiles and bounds say what NumPy says of the grid that evaluate keeps."""

import itertools
import os
import threading
import time
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from roofslate import _core, errors
from roofslate.errors import ConditionError
from roofslate.inputs import read_grid

# ---------------------------------------------------------------------------------------------------------- reference


class Whole:
    """A grid with the values of some quantities at all of its points, in the order of its axes."""

    def __init__(self, names, inputs):
        self.grid = read_grid(inputs)
        self.sizes = self.grid.sizes
        self.shape = tuple(self.sizes.values())
        found = {name: rs.evaluate(name, **inputs) for name in dict.fromkeys(names)}
        self.dims = {name: set(array.dims) for name, array in found.items()}
        self.values = {name: self.full(array) for name, array in found.items()}

    def full(self, array, over=()):
        """Values at all points of the axes but `over`."""
        sizes = {dim: n for dim, n in self.sizes.items() if dim not in over}
        missing = {dim: n for dim, n in sizes.items() if dim not in array.dims}
        return array.expand_dims(missing).transpose(*sizes).to_numpy()

    def coordinate(self, dim):
        return np.asarray(self.grid.coords[dim][0]) if dim in self.grid.coords else np.arange(self.sizes[dim])

    def folded(self, values, over):
        """Axes that are kept, and one more with the points of the folded ones."""
        order = [*(d for d in self.sizes if d not in over), *(d for d in self.sizes if d in over)]
        turned = np.transpose(values, [list(self.sizes).index(d) for d in order])
        return turned.reshape(*(n for d, n in self.sizes.items() if d not in over), -1)


def same(found, expected, bits):
    assert np.array_equal(bits(found), bits(expected)), (np.asarray(found), np.asarray(expected))


def check_best(found, whole, objective, also, over, met, needed, maximize, bits):
    """The dataset holds the first of the best points of the grid, for each point of the axes that are kept."""
    kept = [dim for dim in whole.sizes if dim not in over]
    values = whole.folded(whole.values[objective], over).astype(float)
    ok = whole.folded(met, over) & ~np.isnan(values)
    key = np.where(ok, -values if maximize else values, np.inf)
    at = np.where(np.isposinf(key.min(axis=-1)), ok.argmax(axis=-1), key.argmin(axis=-1))
    somewhere = ok.any(axis=-1)
    varies = set().union(whole.dims[objective], *(whole.dims[name] for name in needed)) - set(over)
    assert list(found[objective].dims) == [dim for dim in kept if dim in varies]
    for name in [objective, *also]:
        if name in kept:
            same(found[name], whole.coordinate(name), bits)
            continue
        taken = np.take_along_axis(whole.folded(whole.values[name], over), at[..., None], -1)[..., 0]
        same(whole.full(found[name], over), np.where(somewhere, taken, np.nan), bits)
    folded = [dim for dim in whole.sizes if dim in over]
    places = np.unravel_index(at, [whole.sizes[dim] for dim in folded]) if folded else ()
    for dim, place in zip(folded, places, strict=True):
        expected, came = whole.coordinate(dim)[place], whole.full(found[dim], over)
        if expected.dtype.kind == "U":
            assert np.array_equal(came, np.where(somewhere, expected.astype(object), ""))
        else:
            same(came, np.where(somewhere, expected, np.nan), bits)


def front(vectors):
    """Positions of vectors that no other one beats, of equals the first; in the order of their values."""
    kinds, first = np.unique(vectors + 0.0, axis=0, return_index=True)
    beaten = [bool((np.all(kinds <= v, axis=1) & np.any(kinds < v, axis=1)).any()) for v in kinds]
    return first[~np.array(beaten, dtype=bool)]


# ---------------------------------------------------------------------------------------------------------- questions

CENTRES = {
    "batch_size": 600.0,
    "context_length": 2e4,
    "chips": 40.0,
    "pass_length": 4.0,
    "weight_bytes": 0.5,
    "kv_bytes_per_token": 4e4,
    "peak_flops": 3e15,
    "hbm_bandwidth": 8e12,
    "chip_price": 5e-4,
    "total_parameters": 671e9,
    "active_parameters": 10e9,
}
FACTORS = np.array([0.25, 0.5, 1.0, 1.0, 1.25, 2.0, 3.7, 9.0])
LENGTHS = [1, 2, 3, 4, 7, 16, 33, 64, 65, 130, 600]
WORDS = {"overlap": ["board", "serial_kv", "none"], "expert_reads": ["all", "expected"]}
PRESETS = {
    "model": ["DeepSeek-V3", "Kimi-K2", "gpt-oss-120b", "DeepSeek-V3"],
    "hardware": ["H200", "B200", "H200", "H100"],
}
OF_MODEL = {"total_parameters", "active_parameters", "weight_bytes", "kv_bytes_per_token", "experts"}
OF_MODEL |= {"experts_per_token", "dense_parameters"}
OF_HARDWARE = {"peak_flops", "hbm_bandwidth", "hbm_capacity"}
OBJECTIVES = ["pass_time", "cost_per_token", "hbm_used", "kv_fetch_time", "binding_term", "compute_utilization"]
OBJECTIVES += ["cell_throughput", "balance_batch_at_context", "pass_tokens", "touched_parameters", "batch_size"]


def numbers(rng, name, shape):
    """Values around a centre: unsorted, with repeats, or sorted either way."""
    factors = rng.choice(FACTORS, shape) if rng.random() < 0.6 else 0.25 + 4 * rng.random(shape)
    values = CENTRES[name] * factors
    order = rng.integers(3)
    if values.ndim == 1 and order:
        values = np.sort(values)[:: 1 if order == 1 else -1]
    return values


@st.composite
def questions(draw, most_points=5000):
    """Inputs with one to five axes: lists, words, presets, axes of their own, arrays over two axes."""
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    names = draw(st.lists(st.sampled_from([*CENTRES, *WORDS, *PRESETS]), min_size=1, max_size=5, unique=True))
    inputs, points = {}, 1
    for name in names:
        if name in WORDS or name in PRESETS:
            words = (WORDS | PRESETS)[name]
            fits = [n for n in (1, 2, 3, 4) if n * points <= most_points]
            inputs[name] = [words[int(rng.integers(len(words)))] for _ in range(draw(st.sampled_from(fits)))]
        else:
            fits = [n for n in LENGTHS if n * points <= most_points]
            inputs[name] = numbers(rng, name, draw(st.sampled_from(fits)))
        points *= len(inputs[name])
    constants = {**CENTRES, "hbm_capacity": 192e9, "balance_context": 3e4, "experts": 256.0, "experts_per_token": 8.0}
    constants["dense_parameters"] = 1e9
    if "hardware" in inputs and "model" not in inputs:
        constants["weight_format"] = "fp8"
    supplied = (OF_MODEL if "model" in inputs else set()) | (OF_HARDWARE if "hardware" in inputs else set())
    constants = {name: x for name, x in constants.items() if name not in supplied and name not in inputs}
    if draw(st.booleans()):  # two arrays along an axis of its own
        n = draw(st.sampled_from([n for n in (1, 2, 5, 40) if n * points <= most_points]))
        points *= n
        for name in [name for name in ("batch_size", "chip_price", "kv_bytes_per_token") if name in constants][:2]:
            inputs[name] = xr.DataArray(numbers(rng, name, n), dims="site")
    plain = [name for name in names if name not in PRESETS]
    free = [name for name in constants if name in CENTRES and name not in inputs]
    if len(plain) >= 2 and free and draw(st.booleans()):  # an array over two axes that others make
        dims = [plain[int(k)] for k in rng.permutation(len(plain))[:2]]
        inputs[free[0]] = xr.DataArray(numbers(rng, free[0], [len(inputs[dim]) for dim in dims]), dims=dims)
    if draw(st.booleans()):  # infinity is a value here
        n = draw(st.sampled_from([n for n in (1, 3) if n * points <= most_points]))
        inputs["balance_context"] = np.array([np.inf, 1e4, 3e4])[:n]
    return {**inputs, **{name: x for name, x in constants.items() if name not in inputs}}


def is_word(name, word):
    return lambda v: v[name] == rs.quantity(name).choices.index(word)


# What is asked, what it needs, and what it means; x and y are numbers that some points have exactly.
CONDITIONS = [
    ("pass_time <= {x!r} s", ["pass_time"], lambda v, x, _: v["pass_time"] <= x),
    ("pass_time < {x!r}", ["pass_time"], lambda v, x, _: v["pass_time"] < x),
    ("pass_time >= {x!r} s", ["pass_time"], lambda v, x, _: v["pass_time"] >= x),
    ("{x!r} s < pass_time", ["pass_time"], lambda v, x, _: x < v["pass_time"]),
    ("{x!r} <= pass_time < {y!r} s", ["pass_time"], lambda v, x, y: (x <= v["pass_time"]) & (v["pass_time"] < y)),
    (
        "kv_fetch_time < weight_fetch_time",
        ["kv_fetch_time", "weight_fetch_time"],
        lambda v, *_: v["kv_fetch_time"] < v["weight_fetch_time"],
    ),
    (
        "compute_time >= memory_time / 2 and pass_time <= 1 s",
        ["compute_time", "memory_time", "pass_time"],
        lambda v, *_: (v["compute_time"] >= v["memory_time"] / 2) & (v["pass_time"] <= 1),
    ),
    (
        "hbm_used <= 0.9 * hbm_capacity",
        ["hbm_used", "hbm_capacity"],
        lambda v, *_: v["hbm_used"] <= 0.9 * v["hbm_capacity"],
    ),
    (
        "max(kv_fetch_time, weight_fetch_time) + compute_time > pass_time - {x!r} s",
        ["kv_fetch_time", "weight_fetch_time", "compute_time", "pass_time"],
        lambda v, x, _: np.maximum(v["kv_fetch_time"], v["weight_fetch_time"]) + v["compute_time"] > v["pass_time"] - x,
    ),
    (
        "binding_term != 'kv_fetch'",
        ["binding_term"],
        lambda v, *_: ~is_word("binding_term", "kv_fetch")(v),
    ),
    ("overlap == 'board'", ["overlap"], lambda v, *_: is_word("overlap", "board")(v)),
    ("overlap != 'none'", ["overlap"], lambda v, *_: ~is_word("overlap", "none")(v)),
    (
        "balance_batch_at_context > batch_size",
        ["balance_batch_at_context", "batch_size"],
        lambda v, *_: v["balance_batch_at_context"] > v["batch_size"],
    ),
    ("pass_time < 0", ["pass_time"], lambda v, *_: v["pass_time"] < 0),
]
NEEDED = list(dict.fromkeys(["pass_time", *OBJECTIVES, *(name for _, names, _ in CONDITIONS for name in names)]))


@st.composite
def asked(draw, most_points=5000, least_conditions=0):
    """A grid with all its values, conditions, which points meet them, and axes to fold."""
    inputs = draw(questions(most_points))
    whole = Whole(NEEDED, inputs)
    chosen = draw(st.lists(st.integers(0, len(CONDITIONS) - 1), min_size=least_conditions, max_size=3, unique=True))
    times = np.sort(whole.values["pass_time"], axis=None)
    x, y = (float(times[int(draw(st.floats(0, 1)) * (times.size - 1))]) for _ in range(2))
    where, needed, met = [], [], np.ones(whole.shape, dtype=bool)
    for k in chosen:
        text, names, meaning = CONDITIONS[k]
        where.append(text.format(x=x, y=y))
        needed += names
        met &= meaning(whole.values, x, y)
    over = draw(st.lists(st.sampled_from(list(whole.sizes)), unique=True)) if whole.sizes else []
    return inputs, whole, where, needed, met, over


def ways(instruction_sets, prune=(True, False)):
    """Each instruction set in use, one thread and three, with boxes skipped or not."""
    before = _core.instruction_set()
    try:
        for name, threads, skipping in itertools.product(instruction_sets, (1, 3), prune):
            _core.use_instruction_set(name)
            yield {"threads": threads, "progress": False} | ({"prune": skipping} if len(prune) > 1 else {})
    finally:
        _core.use_instruction_set(before)


# --------------------------------------------------------------------------------------------------------------- best


@settings(max_examples=100)
@given(data=st.data(), question=asked(), maximize=st.booleans())
def test_best_is_that_of_the_whole_grid(instruction_sets, bits, data, question, maximize):
    inputs, whole, where, needed, met, over = question
    free = [name for name in OBJECTIVES if name not in over]
    objective = data.draw(st.sampled_from(free), label="objective")
    also = data.draw(st.lists(st.sampled_from([n for n in free if n != objective]), max_size=2, unique=True))
    for way in ways(instruction_sets):
        found = rs.best(objective, over=over, where=where, maximize=maximize, also=also, **way, **inputs)
        check_best(found, whole, objective, also, over, met, needed, maximize, bits)


LARGE = {
    # axes of the grid, those that are searched, conditions
    "one optimum": ({"batch_size": 90, "context_length": 110, "chips": 70}, None, []),
    "long row kept": ({"batch_size": 300, "context_length": 700, "chips": 3}, ["batch_size", "chips"], [0]),
    "short row kept": ({"context_length": 5, "batch_size": 40_000, "chips": 3}, ["batch_size"], [0, 7]),
    "many kept": ({"chips": 40, "batch_size": 130, "context_length": 50}, ["batch_size"], [0]),
    "searched for each": (
        {"chips": 3, "batch_size": 600, "context_length": 500},
        ["batch_size", "context_length"],
        [7],
    ),
    "last axis kept": (
        {"batch_size": 129, "overlap": 3, "hbm_bandwidth": 8, "context_length": 513},
        ["batch_size", "overlap"],
        [4, 5],
    ),
    "first axis kept": ({"context_length": 513, "batch_size": 700}, ["batch_size"], [2]),
    "with a power": ({"batch_size": 513, "expert_reads": 2, "context_length": 600}, ["batch_size"], [0]),
    "sides that vary": ({"context_length": 600, "batch_size": 400}, ["batch_size"], [8, 12]),
}


@pytest.mark.parametrize("order", ["rising", "falling", "mixed", "tied"])
@pytest.mark.parametrize("name", LARGE)
def test_best_of_large_grids(name, order, instruction_sets, bits):
    """Rows longer than a block, several threads, searches for each point that is kept."""
    lengths, over, chosen = LARGE[name]
    rng = np.random.default_rng(sum(map(ord, name + order)))
    inputs = {**CENTRES, "hbm_capacity": 192e9, "balance_context": 3e4}
    inputs |= {"experts": 256.0, "experts_per_token": 8.0, "dense_parameters": 1e9}
    axes = {}
    for axis, n in lengths.items():
        if axis in WORDS:
            axes[axis] = WORDS[axis][:n]
        else:
            values = CENTRES[axis] * (rng.choice(FACTORS, n) if order == "tied" else 0.05 + 6 * rng.random(n))
            axes[axis] = {"rising": np.sort, "falling": lambda v: np.sort(v)[::-1]}.get(order, lambda v: v)(values)
    inputs = {**axes, **{key: value for key, value in inputs.items() if key not in axes}}
    over = list(axes) if over is None else over
    needed = [n for k in chosen for n in CONDITIONS[k][1]]
    whole = Whole(["cost_per_token", "pass_time", "binding_term", *needed], inputs)
    x, y = np.quantile(whole.values["pass_time"], [0.3, 0.8], method="nearest").tolist()
    met = np.ones(whole.shape, dtype=bool)
    for k in chosen:
        met &= CONDITIONS[k][2](whole.values, x, y)
    where = [CONDITIONS[k][0].format(x=x, y=y) for k in chosen]
    for objective, maximize in (("cost_per_token", False), ("pass_time", True)):
        for way in ways(instruction_sets):
            found = rs.best(objective, over=over, where=where, maximize=maximize, also="binding_term", **way, **inputs)
            check_best(found, whole, objective, ["binding_term"], over, met, needed, maximize, bits)


def test_best_of_one_point(decode):
    found = rs.best("pass_time", over=[], where="pass_time <= 1 s", **decode)
    assert dict(found.sizes) == {}
    assert float(found.pass_time) == rs.value("pass_time", **decode)
    none = rs.best("pass_time", over=[], where="pass_time <= 1 ns", also="cost_per_token", **decode)
    assert np.isnan(none.pass_time)
    assert np.isnan(none.cost_per_token)


def test_best_skips_nan_and_keeps_infinity(instruction_sets):
    """An ideal link beside an ideal link has no ratio; beside a real one its ratio is infinite."""
    up = xr.DataArray([np.inf, np.inf, 9e11], dims="up")
    out = xr.DataArray([np.inf, 1e11], dims="out_of_rack")
    links = {"scale_up_bandwidth": up, "scale_out_bandwidth": out}
    ratio = rs.evaluate("link_bandwidth_ratio", **links).to_numpy()
    assert np.array_equal(ratio, [[np.nan, np.inf], [np.nan, np.inf], [0, 9]], equal_nan=True)
    for way in ways(instruction_sets):
        for over in ("up", ["up", "out_of_rack"]):
            found = rs.best("link_bandwidth_ratio", over=over, maximize=True, **way, **links)
            assert found.link_bandwidth_ratio.values.reshape(-1)[-1] == np.inf
            assert found.up.values.reshape(-1)[-1] == 0
        found = rs.best("link_bandwidth_ratio", over="out_of_rack", **way, **links)
        assert found.link_bandwidth_ratio.values.tolist() == [np.inf, np.inf, 0]
        assert found.out_of_rack.values.tolist() == [1, 1, 0]
        nan = rs.best("link_bandwidth_ratio", over="up", where="link_bandwidth_ratio >= 0", **way, **links)
        assert nan.up.values.tolist() == [2, 2]
        assert rs.count("link_bandwidth_ratio >= 0", **way, **links) == 4
        only = rs.best("link_bandwidth_ratio", over="up", **way, scale_up_bandwidth=up[:2], scale_out_bandwidth=np.inf)
        assert np.isnan(only.link_bandwidth_ratio)
        assert np.isnan(only.up)


def test_infinity_is_larger_than_the_largest_number(instruction_sets):
    for values in ([np.inf, 1.7976931348623157e308], [1.7976931348623157e308, np.inf]):
        axis = xr.DataArray(values, dims="x")
        for way in ways(instruction_sets):
            found = rs.best("balance_context", over="x", balance_context=axis, **way)
            assert np.isfinite(found.balance_context)
            kept = rs.best("balance_context", over="x", balance_context=axis.expand_dims(y=3), **way)
            assert np.isfinite(kept.balance_context).all()


def test_what_stands_on_the_axes(decode):
    """Names of presets, words, dates, units; what is nowhere is empty."""
    days = np.array(["2025-01-01", "2025-06-01", "2026-01-01"], dtype="M8[ns]")
    price = xr.DataArray([5e-4, 3e-4, 4e-4], dims="day", coords={"day": days})
    question = {"model": ["DeepSeek-V3", "Kimi-K2"], "hardware": "GB200 NVL72", "batch_size": [64, 512, 4096]}
    question |= {"context_length": "8k", "chip_price": price, "overlap": ["none", "board"]}
    over = ["model", "day", "overlap"]
    where = "batch_size <= 1000"
    found = rs.best("cost_per_token", over=over, where=where, units={"cost_per_token": "USD/Mtok"}, **question)
    assert found.cost_per_token.attrs["units"] == "USD/Mtok"
    assert found.cost_per_token.dims == ("batch_size",)
    assert found.model.values.tolist() == ["DeepSeek-V3", "DeepSeek-V3", ""]
    assert found.overlap.values.tolist() == ["board", "board", ""]
    assert found.day.values[0] == days[1]
    assert np.isnat(found.day.values[2])
    at = {**question, "model": "DeepSeek-V3", "chip_price": 3e-4, "overlap": "board", "batch_size": 512}
    assert float(found.cost_per_token[1]) == rs.value("cost_per_token", units="USD/Mtok", **at)
    assert "DeepSeek-V3 (" in found.attrs["model"]
    assert "chip_price" not in found.attrs
    searched = rs.best("cost_per_token", over="batch_size", **{**decode, "batch_size": [1, 2]})
    assert searched.batch_size.attrs["units"] == "sequence"
    assert "batch_size" not in searched.attrs
    assert "chips" in searched.attrs


def test_dims_of_best_do_not_depend_on_what_is_found(decode):
    question = {**decode, "chips": [8, 72], "batch_size": [1, 512, 4096], "context_length": [1e3, 1e5]}
    dims = set()
    for limit in ("1 s", "20 ms", "1 ns"):
        also = ["kv_fetch_time", "context_length", "binding_term", "hbm_capacity"]
        found = rs.best("weight_fetch_time", over="batch_size", where=f"pass_time <= {limit}", also=also, **question)
        assert found.context_length.values.tolist() == [1e3, 1e5]
        assert found.binding_term.attrs["flag_meanings"]
        dims.add(tuple((name, array.dims) for name, array in found.items()))
    assert len(dims) == 1
    assert found.weight_fetch_time.dims == found.hbm_capacity.dims == ("context_length", "chips")


def test_a_kept_axis_has_no_gaps(decode):
    """Asked for, it is a coordinate, also where nothing is feasible."""
    question = {**decode, "batch_size": [1, 512], "context_length": [1e3, 1e7], "where": "pass_time <= 0.6 ms"}
    for objective, also in (("pass_time", "context_length"), ("context_length", [])):
        found = rs.best(objective, over="batch_size", also=also, **question)
        assert np.isnan(found.batch_size).values.tolist() == [False, True]
        assert found.context_length.values.tolist() == [1e3, 1e7]
        assert "context_length" in found.indexes
        assert found.context_length.attrs["units"] == "token/sequence"


def test_kept_axes_that_do_not_matter(instruction_sets):
    for way in ways(instruction_sets):
        found = rs.best("pass_tokens", over="batch_size", batch_size=[3, 1, 1], chips=[8, 16], **way)
        assert found.pass_tokens.dims == ()
        assert (float(found.pass_tokens), float(found.batch_size)) == (1, 1)
        none = rs.best("pass_tokens", over="chips", batch_size=[3, 1], chips=[16, 8], **way)
        assert none.pass_tokens.values.tolist() == [3, 1]
        assert none.chips.values.tolist() == [16, 16]
        there = rs.best("pass_tokens", over="chips", where="chips < 16", batch_size=[3, 1], chips=[16, 8, 4], **way)
        assert there.chips.values.tolist() == [8, 8]


# ------------------------------------------------------------------------------------------------------ count, pareto


@settings(max_examples=60)
@given(question=asked(least_conditions=1))
def test_count_is_that_of_the_whole_grid(instruction_sets, question):
    inputs, whole, where, needed, met, over = question
    varies = set().union(*(whole.dims[name] for name in needed))
    expected = whole.folded(met, over).sum(axis=-1)
    for way in ways(instruction_sets):
        assert rs.count(where, **way, **inputs) == int(met.sum())
        found = rs.count(where, over=over, **way, **inputs)
        if varies - set(over):
            assert list(found.dims) == [dim for dim in whole.sizes if dim in varies and dim not in over]
            assert np.array_equal(whole.full(found, over), expected)
            assert found.dtype == np.int64
        else:
            assert isinstance(found, int)
            assert (expected == found).all()


def test_count_counts_points_that_differ_in_nothing_it_needs(instruction_sets):
    for way in ways(instruction_sets):
        assert rs.count("pass_tokens >= 5 tok", batch_size=range(1, 9), context_length=[1, 2, 3], **way) == 12
        assert rs.count("pass_tokens >= 5 tok", batch_size=7, context_length=[1, 2, 3], **way) == 3
        each = rs.count(
            "pass_tokens >= 5", over="chips", batch_size=[1, 7], context_length=[1, 2, 3], chips=[8, 16], **way
        )
        assert each.to_dict()["data"] == [0, 2]


@settings(max_examples=50)
@given(data=st.data(), question=asked(most_points=1200))
def test_pareto_is_that_of_the_whole_grid(instruction_sets, bits, data, question):
    inputs, whole, where, _, met, _ = question
    names = data.draw(st.lists(st.sampled_from(OBJECTIVES), min_size=1, max_size=4, unique=True), label="objectives")
    split = data.draw(st.integers(0, len(names)), label="minimized")
    small, large = names[:split], names[split:]
    vectors = np.stack(
        [*(whole.values[n].reshape(-1) for n in small), *(-whole.values[n].reshape(-1).astype(float) for n in large)], 1
    )
    ok = met.reshape(-1) & ~np.isnan(vectors).any(axis=1)
    expected = np.flatnonzero(ok)[front(vectors[ok])] if ok.any() else np.empty(0, dtype=int)
    also = [] if "memory_time" in names else ["memory_time"]
    for way in ways(instruction_sets):
        found = rs.pareto(minimize=small, maximize=large, where=where, also=also, **way, **inputs)
        assert len(found) == len(expected)
        places = np.unravel_index(expected, whole.shape) if whole.shape else ()
        for dim, place in zip(whole.sizes, places, strict=True):
            assert np.array_equal(found[dim].to_numpy(), whole.coordinate(dim)[place])
        for name in [*names, *also]:
            column = found[name].cat.codes if isinstance(found[name].dtype, pd.CategoricalDtype) else found[name]
            same(column, whole.values[name].reshape(-1)[expected], bits)


def test_pareto_of_one_point_and_of_none(decode):
    found = rs.pareto(minimize="pass_time", maximize="cell_throughput", **decode)
    assert found.shape == (1, 2)
    assert found.loc[0, "pass_time"] == rs.value("pass_time", **decode)
    question = {**decode, "batch_size": [1, 2], "overlap": ["board", "none"]}
    none = rs.pareto(minimize="pass_time", where="pass_time <= 1 ns", also="binding_term", **question)
    assert list(none.columns) == ["batch_size", "overlap", "pass_time", "binding_term"]
    assert len(none) == 0
    assert isinstance(none["binding_term"].dtype, pd.CategoricalDtype)


def test_pareto_units_and_order(decode):
    question = {**decode, "batch_size": rs.geomspace(1, 8192, 60), "chips": [8, 72]}
    found = rs.pareto(minimize="cost_per_token", maximize="chips", units={"cost_per_token": "USD/Mtok"}, **question)
    plain = rs.pareto(minimize="cost_per_token", maximize="chips", **question)
    assert found["cost_per_token"].is_monotonic_increasing
    assert np.allclose(found["cost_per_token"], plain["cost_per_token"] * 1e6, rtol=1e-15)
    largest = rs.pareto(maximize="cell_throughput", **question)
    assert len(largest) == 1
    assert largest["cell_throughput"][0] == rs.evaluate("cell_throughput", **question).max()


# ---------------------------------------------------------------------------------------------------------- histogram

NUMBERS = [name for name in OBJECTIVES if name not in ("binding_term", "batch_size")]


@settings(max_examples=60)
@given(data=st.data(), inputs=questions(), bins=st.sampled_from([1, 2, 7, 50, 400]), log=st.booleans())
def test_histogram_is_numpys(instruction_sets, bits, data, inputs, bins, log):
    name = data.draw(st.sampled_from(NUMBERS), label="quantity")
    whole = Whole([name], inputs)
    over = data.draw(st.lists(st.sampled_from(list(whole.sizes)), unique=True), label="over")
    values = whole.values[name]
    finite = values[np.isfinite(values)]
    if not finite.size or (log and finite.min() <= 0):
        return
    low, high = finite.min(), finite.max()
    if log:
        edges = np.geomspace(*((low, high) if low < high else (low / 2, high * 2)), bins + 1)
    else:
        edges = np.histogram_bin_edges(finite, bins)
    given_range = data.draw(st.booleans(), label="range")
    if given_range:
        ends = (float(np.quantile(finite, 0.2)), float(np.quantile(finite, 0.7, method="higher")))
        if ends[0] < ends[1]:
            edges = (np.geomspace if log else np.linspace)(*ends, bins + 1)
        else:
            given_range = False
    if not np.all(np.diff(edges) > 0):
        with pytest.raises(errors.ValueRangeError, match=r"bins don't fit between .* ask for fewer"):
            rs.histogram(name, bins=bins, log=log, **({"range": ends} if given_range else {}), **inputs)
        return
    asked_bins = {"bins": edges} if data.draw(st.booleans(), label="edges") else {"bins": bins, "log": log}
    if given_range and "log" in asked_bins:
        asked_bins["range"] = ends
    rows = whole.folded(values, over)
    expected = np.apply_along_axis(lambda row: np.histogram(row[np.isfinite(row)], edges)[0], -1, rows)
    for way in ways(instruction_sets):
        found = rs.histogram(name, over=over, **asked_bins, **way, **inputs)
        same(found.lower, edges[:-1], bits)
        same(found.upper, edges[1:], bits)
        kept = [dim for dim in whole.sizes if dim in whole.dims[name] and dim not in over]
        assert found["count"].dims == (*kept, "bin")
        count = found["count"].expand_dims({d: n for d, n in whole.sizes.items() if d not in (*kept, *over)})
        order = [dim for dim in whole.sizes if dim not in over]
        assert np.array_equal(count.transpose(*order, "bin"), expected)
        assert np.array_equal(whole.full(found.below, over), (rows < edges[0]).sum(-1))
        assert np.array_equal(whole.full(found.above, over), (rows > edges[-1]).sum(-1))
        assert np.array_equal(whole.full(found.nan, over), np.isnan(rows).sum(-1))


def test_histogram_of_even_bins_is_that_of_numpy(decode):
    question = {**decode, "batch_size": np.linspace(1, 4000, 700), "context_length": np.linspace(1, 1e5, 300)}
    values = rs.evaluate("pass_time", **question).to_numpy()
    for bins in (1, 10, 333, 100_000):
        counts, edges = np.histogram(values, bins)
        found = rs.histogram("pass_time", bins=bins, **question)
        assert np.array_equal(found["count"], counts)
        assert np.array_equal([*found.lower.values, found.upper.values[-1]], edges)
    counts, edges = np.histogram(values, 20, range=(0.002, 0.02))
    found = rs.histogram("pass_time", bins=20, range=("2 ms", "20 ms"), **question)
    assert np.array_equal(found["count"], counts)
    assert int(found["count"].sum() + found.below + found.above) == values.size
    spaced = rs.histogram("pass_time", bins=rs.geomspace("2 ms", "20 ms", 21), **question)
    assert np.array_equal(spaced["count"], np.histogram(values, np.geomspace(0.002, 0.02, 21))[0])
    assert found["count"].attrs["units"] == found.below.attrs["units"] == found.nan.attrs["units"] == "1"
    assert found.lower.attrs["units"] == "s"


def test_histogram_that_skips_boxes(decode):
    """More points than are counted one by one."""
    context = xr.DataArray(np.geomspace(100, 1e5, 330)[::-1], dims="length")
    question = {**decode, "batch_size": np.linspace(1, 4000, 320), "context_length": context}
    question["chips"] = np.geomspace(8, 512, 310)
    edges = np.geomspace(1e-5, 0.3, 60)
    expected = np.zeros(59, dtype=int)
    below = above = 0
    for chips in question["chips"]:
        values = np.sort(rs.evaluate("pass_time", **{**question, "chips": chips}).to_numpy(), axis=None)
        at = np.searchsorted(values, [*edges[:-1], np.nextafter(edges[-1], 1)])
        expected += np.diff(at)
        below += at[0]
        above += values.size - at[-1]
    assert below + above + expected.sum() > 3e7
    for way in ({"prune": True, "threads": 1}, {"prune": True, "threads": 3}, {"prune": False, "threads": 2}):
        found = rs.histogram("pass_time", bins=edges, **way, **question)
        assert np.array_equal(found["count"], expected)
        assert (int(found.below), int(found.above), int(found.nan)) == (below, above, 0)


def test_histogram_counts_what_is_no_number_apart(instruction_sets):
    links = {"scale_up_bandwidth": xr.DataArray([np.inf, 9e11, 4.5e11], dims="up")}
    links["scale_out_bandwidth"] = xr.DataArray([np.inf, 1e11, 2e11, 5e10], dims="out_of_rack")
    for way in ways(instruction_sets):
        found = rs.histogram("link_bandwidth_ratio", bins=3, **way, **links)
        assert (float(found.lower[0]), float(found.upper[-1])) == (0, 18)
        assert (int(found.below), int(found.above), int(found.nan)) == (0, 3, 1)
        assert found["count"].values.tolist() == [5, 2, 1]
        kept = rs.histogram("link_bandwidth_ratio", bins=[-1, 0, 18], over="out_of_rack", **way, **links)
        assert kept["count"].values.tolist() == [[0, 0], [0, 4], [0, 4]]
        assert kept.above.values.tolist() == [3, 0, 0]
        assert kept.nan.values.tolist() == [1, 0, 0]


def test_histogram_repeats_along_axes_that_do_not_matter(decode):
    found = rs.histogram("pass_tokens", bins=[1, 3, 9], batch_size=range(1, 9), chips=[8, 16, 32])
    assert found["count"].values.tolist() == [6, 18]
    scalar = rs.histogram("pass_time", bins=3, **decode)
    value = rs.value("pass_time", **decode)
    assert scalar["count"].values.tolist() == np.histogram([value], 3)[0].tolist()
    positive = rs.histogram("pass_time", bins=2, log=True, **decode)
    assert int(positive["count"].sum()) == 1
    assert (float(positive.lower[0]), float(positive.upper[-1])) == (value / 2, value * 2)


# ---------------------------------------------------------------------------------------------------------- quantiles

QS = [0.0, 0.001, 0.1, 0.25, 1 / 3, 0.5, 0.5, 0.77, 0.999, 1.0]


def quantiles(values, q):
    """NumPy's, of what is a number; a value between two equal ones is that value, infinite or not."""
    numbers = np.sort(values[~np.isnan(values)])
    if not numbers.size:
        return np.full(len(q), np.nan)
    with np.errstate(invalid="ignore"):
        linear = np.quantile(numbers, q, method="linear")
    low, high = (np.quantile(numbers, q, method=m) for m in ("lower", "higher"))
    return np.where(low == high, low, linear)


@settings(max_examples=60)
@given(data=st.data(), inputs=questions())
def test_quantiles_are_numpys(instruction_sets, bits, data, inputs):
    name = data.draw(st.sampled_from(NUMBERS), label="quantity")
    whole = Whole([name], inputs)
    over = data.draw(st.lists(st.sampled_from(list(whole.sizes)), unique=True), label="over")
    rows = whole.folded(whole.values[name], over)
    expected = np.moveaxis(np.apply_along_axis(quantiles, -1, rows, QS), -1, 0)
    for way in ways(instruction_sets, prune=(True,)):
        found = rs.quantiles(name, QS, over=over, **way, **inputs)
        kept = [dim for dim in whole.sizes if dim in whole.dims[name] and dim not in over]
        assert found.dims == ("quantile", *kept)
        full = np.stack([whole.full(found.isel(quantile=k, drop=True), over) for k in range(len(QS))])
        same(full, expected, bits)
        one = rs.quantiles(name, 0.77, over=over, **way, **inputs)
        assert isinstance(one, float) or one.dims == tuple(kept)
        same(whole.full(one, over) if kept else one, expected[7] if kept else expected[7].reshape(-1)[0], bits)


@pytest.mark.parametrize("name", ["pass_time", "cost_per_token", "pass_tokens", "balance_batch_at_context"])
def test_quantiles_of_many_points(name, instruction_sets, decode, bits):
    """More points than are sorted: they are counted in slots first, in one thread or several."""
    axes = {"batch_size": np.linspace(4000, 1, 600), "context_length": np.geomspace(10, 1e6, 500)}
    question = {**decode, **axes, "balance_context": 5e4, "chips": [8, 72]}
    q = np.concatenate([np.linspace(0, 1, 201), [1e-9, 1 - 1e-9, 0.123456789]])
    values = rs.evaluate(name, **question)
    repeated = np.repeat(values.to_numpy(), 600_000 // values.size)
    for way in ways(instruction_sets, prune=(True,)):
        same(rs.quantiles(name, q, **way, **question), quantiles(repeated, q), bits)
    kept = rs.quantiles(name, q, over=["context_length", "batch_size"], **question)
    for k in range(kept.sizes.get("chips", 1)):
        found, expected = (x.isel(chips=k) if "chips" in x.dims else x for x in (kept, values))
        same(found, quantiles(np.repeat(expected.to_numpy(), 300_000 // expected.size), q), bits)


def test_quantiles_of_constants_and_infinities(decode, bits):
    wide = {"batch_size": np.full(700, 64.0), "context_length": np.full(600, 1e4)}
    constant = rs.value("pass_time", **{**decode, "batch_size": 64.0, "context_length": 1e4})
    assert rs.quantiles("pass_time", QS, **{**decode, **wide}).values.tolist() == [constant] * len(QS)
    assert rs.quantiles("pass_time", 0.3, **decode) == rs.value("pass_time", **decode)
    question = {"balance_batch": np.geomspace(10, 1e4, 700), "balance_context": 1e4}
    question["context_length"] = np.linspace(1e3, 1.5e4, 500)
    values = rs.evaluate("balance_batch_at_context", **question).to_numpy()
    assert 0.3 < np.isinf(values).mean() < 0.5
    q = np.linspace(0, 1, 60)
    same(rs.quantiles("balance_batch_at_context", q, **question), quantiles(values, q), bits)
    links = {"scale_up_bandwidth": xr.DataArray([np.inf] * 3, dims="up"), "scale_out_bandwidth": np.inf}
    assert np.isnan(rs.quantiles("link_bandwidth_ratio", 0.5, **links))
    links["scale_out_bandwidth"] = xr.DataArray([np.inf, 1e11], dims="out_of_rack")
    assert rs.quantiles("link_bandwidth_ratio", 0.5, **links) == np.inf


def test_quantiles_in_units(decode):
    question = {**decode, "batch_size": [1, 512, 4096]}
    found = rs.quantiles("pass_time", [0.5], units="ms", **question)
    assert found.attrs["units"] == "ms"
    assert float(found[0]) == float(rs.evaluate("pass_time", units={"pass_time": "ms"}, **question)[1])
    assert found.coords["quantile"].values.tolist() == [0.5]


# ------------------------------------------------------------------------------------------------------------- bounds


@settings(max_examples=100)
@given(data=st.data(), inputs=questions())
def test_bounds_hold_for_all_values(data, inputs):
    name = data.draw(st.sampled_from(OBJECTIVES), label="quantity")
    values = rs.evaluate(name, **inputs).to_numpy().astype(float)

    def ends(key, given_values):
        if key in WORDS or key in PRESETS or not isinstance(given_values, np.ndarray):
            return given_values
        return (float(given_values.min()), float(given_values.max()))

    for question in (inputs, {key: ends(key, x) for key, x in inputs.items()}):
        if any(isinstance(x, tuple) for x in question.values()) and any(
            isinstance(x, xr.DataArray) and set(x.dims) & set(inputs) for x in question.values()
        ):
            continue  # an array over two axes needs them whole
        low, high = rs.bounds(name, **question)
        if np.isnan(values).any():
            assert np.isnan(low)
            assert np.isnan(high)
        elif not np.isnan(low):
            assert low <= values.min()
            assert values.max() <= high


@settings(max_examples=60)
@given(inputs=questions(), name=st.sampled_from(["pass_tokens", "hbm_drain_time", "hbm_capacity", "chips"]))
def test_bounds_of_what_takes_each_input_once_are_reached(inputs, name):
    values = rs.evaluate(name, **inputs).to_numpy()
    if not any(isinstance(x, xr.DataArray) for x in inputs.values()) and not {"model", "hardware"} & set(inputs):
        assert rs.bounds(name, **inputs) == (values.min(), values.max())


ENDS = st.tuples(st.floats(1e2, 2e5), st.floats(1e2, 2e5)).map(sorted)


@given(
    shortest=ENDS,
    longest=st.tuples(st.floats(2e5, 1e6), st.floats(2e5, 1e6)).map(sorted),
    exponent=st.tuples(st.floats(0, 4), st.floats(0, 4)).map(sorted),
    spread=st.sampled_from(["uniform", "log_uniform", "power_law"]),
)
@example(shortest=[1e3, 2e5], longest=[2e5, 3e5], exponent=[0, 3], spread="power_law")  # all contexts may be alike
@example(shortest=[1e3, 2e5], longest=[2e5, 3e5], exponent=[1, 1], spread="log_uniform")
@example(shortest=[1e3, 1e3], longest=[2e5, 2e5], exponent=[0.9, 1.1], spread="power_law")  # where the mean is a limit
def test_bounds_of_mean_contexts_are_numbers_and_hold(shortest, longest, exponent, spread):
    low, high = rs.bounds(
        "mean_short_context",
        context_distribution=spread,
        shortest_context=tuple(shortest),
        long_context_threshold=tuple(longest),
        traffic_exponent=tuple(exponent),
    )
    assert 0 < low <= high < np.inf
    values = rs.evaluate(
        "mean_short_context",
        context_distribution=spread,
        shortest_context=np.linspace(*shortest, 5),
        long_context_threshold=np.linspace(*longest, 5),
        traffic_exponent=np.linspace(*exponent, 9),
    )
    assert low <= float(values.min())
    assert float(values.max()) <= high
    # a mean lies between; 1e-9: exponentials lose digits where contexts are almost alike
    assert shortest[0] * (1 - 1e-9) <= float(values.min())
    assert float(values.max()) <= longest[1] * (1 + 1e-9)


def test_bounds_see_which_side_of_a_condition_is_taken():
    """A balance that is reached all over its range is bounded without the infinity that stands for never."""
    known = {"output_input_ratio": (3, 8), "context_length": (1e3, 1e5), "balance_batch": 2400}
    assert rs.bounds("batch_from_prices", balance_context=(1e5, 2e5), **known)[1] == 2400 / (3 - 1)
    assert rs.bounds("batch_from_prices", balance_context=(3e4, 2e5), **known)[1] == np.inf  # where it may not be
    never = {**known, "context_length": (9e5, 1e6)}
    assert rs.bounds("batch_from_prices", balance_context=1e5, **never) == (np.inf, np.inf)


def test_bounds_of_a_time_are_reached(decode, bits):
    ranges = {"batch_size": (1.0, 4096.0), "context_length": (100.0, 1e5), "chips": (8.0, 72.0)}
    grid = {**decode, **{name: np.linspace(*ends, 9) for name, ends in ranges.items()}}
    for name in ("pass_time", "kv_fetch_time", "weight_fetch_time", "memory_time", "hbm_drain_time"):
        values = rs.evaluate(name, **grid)
        same(rs.bounds(name, **{**decode, **ranges}), (values.min(), values.max()), bits)
    low, high = rs.bounds("pass_time", **{**decode, **ranges})
    assert rs.bounds("pass_time", units="ms", **{**decode, **ranges}) == (low / 1e-3, high / 1e-3)
    words = rs.bounds("pass_time", overlap=["board", "none"], **decode)
    apart = [rs.value("pass_time", overlap=word, **decode) for word in ("board", "none")]
    assert words == (min(apart), max(apart))
    assert rs.bounds("batch_size", batch_size=("1", "8k")) == (1, 8000)
    presets = rs.bounds("hbm_bandwidth", hardware=["H200", "B200", "H100"])
    assert presets == (rs.hardware["H100"].values["hbm_bandwidth"], rs.hardware["B200"].values["hbm_bandwidth"])


# ------------------------------------------------------------------------------------------------------------- errors

LONG = np.linspace(8, 512, 70_000)
MISTAKES = {
    "unknown axis": (lambda q: rs.best("pass_time", over="batch", **q), errors.AxisError, "did you mean 'batch_size'"),
    "an input that is no axis": (lambda q: rs.best("pass_time", over="chips", **q), errors.AxisError, "axis 'chips'"),
    "no axis at all": (
        lambda q: rs.best("pass_time", over="batch_size", **{**q, "batch_size": 1}),
        errors.AxisError,
        "give a list of values for batch_size",
    ),
    "an axis twice": (
        lambda q: rs.count("pass_time < 1 s", over=["batch_size", "batch_size"], **q),
        errors.AxisError,
        "twice: batch_size",
    ),
    "over is no name": (lambda q: rs.quantiles("pass_time", 0.5, over=5, **q), errors.InputTypeError, "over: .* got 5"),
    "objective unknown": (lambda q: rs.best("pass_tim", over="batch_size", **q), errors.UnknownName, "'pass_time'"),
    "two objectives": (
        lambda q: rs.best(["pass_time", "hbm_used"], over="batch_size", **q),
        errors.InputTypeError,
        r"one quantity, got \['pass_time', 'hbm_used'\]",
    ),
    "objective is searched": (
        lambda q: rs.best("batch_size", over="batch_size", **q),
        errors.AxisError,
        "'batch_size' is an axis that is searched",
    ),
    "also is searched": (
        lambda q: rs.best("pass_time", also="batch_size", over="batch_size", **q),
        errors.AxisError,
        "is among the results anyway",
    ),
    "also is no name": (lambda q: rs.best("pass_time", also=5, over="batch_size", **q), errors.InputTypeError, "got 5"),
    "condition on an unknown quantity": (
        lambda q: rs.best("pass_time", over="batch_size", where="pas_time <= 1 s", **q),
        errors.UnknownName,
        "unknown quantity 'pas_time'; did you mean 'pass_time'",
    ),
    "condition in other units": (
        lambda q: rs.pareto(minimize="pass_time", where="pass_time <= 1 GB", **q),
        errors.UnitError,
        "'pass_time' is in s, but '1 GB' is in byte",
    ),
    "condition without a relation": (lambda q: rs.count("pass_time", **q), ConditionError, "< <= > >="),
    "condition by or": (lambda q: rs.count("pass_time < 1 s or chips > 8", **q), ConditionError, "'or' is not allowed"),
    "equality of numbers": (lambda q: rs.count("pass_time == 1 s", **q), ConditionError, "compares choices"),
    "condition that misses an input": (
        lambda q: rs.count("seat_mean_wait < 1 s", **q),
        errors.MissingInput,
        "<- seat_mean_wait",
    ),
    "no condition to count": (lambda q: rs.count([], **q), errors.InputTypeError, "count needs a condition"),
    "an empty condition": (lambda q: rs.count("", **q), ConditionError, "empty"),
    "condition is no text": (lambda q: rs.count(5, **q), errors.InputTypeError, "expected a condition such as"),
    "no objectives": (lambda q: rs.pareto(**q), errors.InputTypeError, "pareto needs objectives: minimize="),
    "five objectives": (
        lambda q: rs.pareto(minimize=["pass_time", "hbm_used", "chips"], maximize=["batch_size", "kv_bytes"], **q),
        errors.ValueRangeError,
        "one to 4 objectives, 5 were given",
    ),
    "an objective both ways": (
        lambda q: rs.pareto(minimize="pass_time", maximize="pass_time", **q),
        errors.InputTypeError,
        "named twice: pass_time",
    ),
    "no bins": (lambda q: rs.histogram("pass_time", bins=0, **q), errors.ValueRangeError, "1 to 10,000,000, got 0"),
    "half a bin": (lambda q: rs.histogram("pass_time", bins=2.5, **q), errors.InputTypeError, "bins: .* got 2.5"),
    "bins without an axis": (
        lambda q: rs.histogram("pass_time", bins=np.array(5), **q),
        errors.InputTypeError,
        "bins: expected a number of bins or their edges",
    ),
    "one edge": (lambda q: rs.histogram("pass_time", bins=[1], **q), errors.ValueRangeError, "finite and rise"),
    "edges that fall": (lambda q: rs.histogram("pass_time", bins=[2, 1], **q), errors.ValueRangeError, "rise"),
    "an infinite edge": (lambda q: rs.histogram("pass_time", bins=[1, np.inf], **q), errors.ValueRangeError, "finite"),
    "edges in other units": (
        lambda q: rs.histogram("pass_time", bins=["1 GB", "2 GB"], **q),
        errors.UnitError,
        "pass_time: .* it is in byte",
    ),
    "edges and a range": (
        lambda q: rs.histogram("pass_time", bins=[1, 2], range=(0, 1), **q),
        errors.InputTypeError,
        "bins gives the edges",
    ),
    "edges and log": (
        lambda q: rs.histogram("pass_time", bins=[1, 2], log=True, **q),
        errors.InputTypeError,
        "bins gives the edges",
    ),
    "range reversed": (
        lambda q: rs.histogram("pass_time", range=("2 ms", "1 ms"), **q),
        errors.ValueRangeError,
        "rise, got 0.002 and 0.001",
    ),
    "range of one": (lambda q: rs.histogram("pass_time", range=(1,), **q), errors.InputTypeError, "range: .* got"),
    "range in other units": (lambda q: rs.histogram("pass_time", range=("1 B", 2), **q), errors.UnitError, "byte"),
    "log from zero": (
        lambda q: rs.histogram("pass_time", range=(0, 1), log=True, **q),
        errors.ValueRangeError,
        "log=True needs positive values",
    ),
    "nothing finite": (
        lambda q: rs.histogram(
            "balance_batch_at_context", **{**q, "balance_context": 10.0, "context_length": [20.0, 30.0]}
        ),
        errors.ValueRangeError,
        "no finite value",
    ),
    "narrower than the bins": (
        lambda q: rs.histogram("batch_size", **{**q, "batch_size": [1, 1 + 1e-15]}),
        errors.ValueRangeError,
        "50 bins don't fit between 1.0 and 1.00000000",
    ),
    "an axis called bin": (
        lambda q: rs.histogram("pass_time", over=[], **{**q, "batch_size": xr.DataArray([1, 2], dims="bin")}),
        errors.AxisError,
        "both called 'bin'",
    ),
    "an axis called quantile": (
        lambda q: rs.quantiles("pass_time", 0.5, over=[], **{**q, "batch_size": xr.DataArray([1, 2], dims="quantile")}),
        errors.AxisError,
        "both called 'quantile'",
    ),
    "q below 0": (lambda q: rs.quantiles("pass_time", -0.1, **q), errors.ValueRangeError, "from 0 to 1, got -0.1"),
    "q in percent": (lambda q: rs.quantiles("pass_time", [50, 90], **q), errors.ValueRangeError, "from 0 to 1"),
    "q NaN": (lambda q: rs.quantiles("pass_time", np.nan, **q), errors.ValueRangeError, "from 0 to 1, got nan"),
    "no q": (lambda q: rs.quantiles("pass_time", [], **q), errors.InputTypeError, "a number from 0 to 1 or a list"),
    "q None": (lambda q: rs.quantiles("pass_time", None, **q), errors.InputTypeError, "got None"),
    "q a word": (lambda q: rs.quantiles("pass_time", "half", **q), errors.InputTypeError, "got 'half'"),
    "q a table": (lambda q: rs.quantiles("pass_time", [[0.5]], **q), errors.InputTypeError, "or a list of them"),
    "units of the result": (lambda q: rs.quantiles("pass_time", 0.5, units="GB", **q), errors.UnitError, "byte"),
    "units of something else": (
        lambda q: rs.best("pass_time", over="batch_size", units={"hbm_used": "GB"}, **q),
        errors.UnknownName,
        "not among the outputs",
    ),
    "a range in a fold": (
        lambda q: rs.best("pass_time", over="chips", **{**q, "chips": (1, 8)}),
        errors.InputTypeError,
        "a list makes an axis",
    ),
    "range of three": (
        lambda q: rs.bounds("pass_time", **{**q, "chips": (1, 2, 3)}),
        errors.InputTypeError,
        "a range is a tuple of two",
    ),
    "bounds reversed": (lambda q: rs.bounds("pass_time", **{**q, "chips": (8, 1)}), errors.ValueRangeError, "reversed"),
    "bounds of words": (
        lambda q: rs.bounds("pass_time", overlap=("board", "none"), **q),
        errors.InputTypeError,
        "words have no range, give a list",
    ),
    "bounds of presets": (
        lambda _: rs.bounds("hbm_bandwidth", hardware=("H100", "H200")),
        errors.InputTypeError,
        "words have no range, give a list",
    ),
    "bounds of what is unknown": (lambda q: rs.bounds("pass_tim", **q), errors.UnknownName, "'pass_time'"),
    "threads": (lambda q: rs.count("pass_time < 1 s", threads=0, **q), errors.InputTypeError, "threads must be"),
    "too many points": (
        lambda q: rs.best(
            "cost_per_token",
            over=["batch_size", "chips"],
            **{**q, **dict.fromkeys(["batch_size", "context_length", "chips", "pass_length"], LONG)},
        ),
        errors.AxisError,
        "at most 9e18 points",
    ),
    "an empty axis": (
        lambda q: rs.best("pass_time", over="batch_size", **{**q, "batch_size": []}),
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
    total_parameters=671e9, active_parameters=37e9, weight_bytes=0.5, kv_bytes_per_token=1667.0, peak_flops=9e15,
    hbm_bandwidth=8e12, hbm_capacity=192e9, chips=72.0, chip_price=1e-3,
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
    "pareto": ("rs.pareto(minimize=['cost_per_token', 'pass_time'], **question)", 1000),
    "count": ("rs.count('pass_time <= 20 ms', **question)", 1000),
    "count, all": ("rs.count('pass_time <= 20 ms', prune=False, **question)", 300),
    "histogram": ("rs.histogram('cost_per_token', **ends, **question)", 1000),
    "histogram, all": ("rs.histogram('cost_per_token', prune=False, **ends, **question)", 1000),
    "quantiles": ("rs.quantiles('cost_per_token', [0.01, 0.1, 0.5, 0.9, 0.99], **question)", 500),
    "bounds": ("rs.bounds('cost_per_token', **question)", 1000),
}


@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system does not tell peaks of memory")
@pytest.mark.memory
@pytest.mark.parametrize("name", BILLION)
def test_a_billion_points_take_no_more_memory_than_a_million(name, run_python):
    fold, n = BILLION[name]
    assert float(run_python(FOLDS + MEMORY.format(fold=fold, n=n))) <= 10


TRILLION = """
question = {**decode, **{name: np.geomspace(x / 8, 4 * x, 250) for name, x in dict(
    batch_size=1e3, context_length=1e4, chips=64, hbm_bandwidth=8e12, peak_flops=4e15).items()}}
axes = list(question)[-2:] + ["chips", "hbm_bandwidth", "peak_flops"]
where = ["pass_time <= 5 ms", "hbm_used <= hbm_capacity"]
found = rs.best("cost_per_token", over=axes, where=where, **question)
at = {name: float(found[name]) for name in axes}
assert rs.value("cost_per_token", **{**question, **at}) == found.cost_per_token
assert rs.count(where, **{**question, **at}) == 1
"""


def test_a_trillion_points_are_searched(run_python):
    """Looking at all of them would take an hour."""
    run_python(FOLDS + TRILLION, timeout=60)


INTERRUPT = """
import os, signal, threading, time
import pandas, xarray  # what a first call loads

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
    "best, one": "rs.best('cost_per_token', over=everything, prune=False, **question)",
    "best for each": "rs.best('cost_per_token', over='chips', **question | {'chips': np.linspace(8, 9, 10**6)})",
    "pareto": "rs.pareto(minimize=['cost_per_token', 'pass_time'], prune=False, **question)",
    "pareto of three": "rs.pareto(minimize=['cost_per_token', 'pass_time', 'chips'], **question)",
    "count": "rs.count('pass_time <= 20 ms', prune=False, **question)",
    "histogram": "rs.histogram('cost_per_token', **ends, prune=False, **question)",
    "histogram, pruned": "rs.histogram('cost_per_token', **ends, bins=2000, **question)",
    "histogram's ends": "rs.histogram('cost_per_token', **question)",
    "quantiles": "rs.quantiles('cost_per_token', [0.1, 0.9], **question)",
    "quantiles kept": "rs.quantiles('cost_per_token', 0.5, over=['batch_size', 'chips'], **question)",
    "quantiles sorted": "rs.quantiles('cost_per_token', 0.5, over='batch_size', **question)",
}


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system has no such signals")
@pytest.mark.parametrize("name", LONG_FOLDS)
def test_ctrl_c_stops_a_fold(name, run_python):
    took, beats = run_python(FOLDS + INTERRUPT.format(fold=LONG_FOLDS[name]), timeout=30).split()
    assert float(took) < 0.2
    assert int(beats) > 2


def test_progress_is_told(decode):
    question = {**decode, "batch_size": np.linspace(1, 4000, 900), "context_length": np.linspace(1, 1e5, 900)}
    question["chips"] = np.linspace(8, 512, 300)
    over = ["batch_size", "chips"]
    folds = {
        "best": lambda **how: rs.best("cost_per_token", over=over, prune=False, **how),
        "count": lambda **how: rs.count(
            "pass_time <= 20 ms", over=["batch_size", "context_length"], prune=False, **how
        ),
        "histogram": lambda **how: rs.histogram("pass_time", range=(0, 1), prune=False, **how),
        "quantiles": lambda **how: rs.quantiles("pass_time", 0.5, **how),
    }
    for name, fold in folds.items():
        told = []
        fold(progress=lambda done, total, told=told: told.append((done, total)), **question)
        assert told, name
        assert told == sorted(told), name
        assert all(0 <= done <= total for done, total in told), name
        assert len({total for _, total in told}) == 1, name

        def stop(*_):
            raise ZeroDivisionError("stop here")

        with pytest.raises(ZeroDivisionError, match="stop here"):
            fold(progress=stop, **question)


def test_folds_from_many_threads(decode, bits):
    question = {**decode, "batch_size": np.linspace(1, 4000, 300), "context_length": np.linspace(1, 1e5, 200)}
    expected = bits(rs.best("cost_per_token", over="batch_size", **question).batch_size)
    median = rs.quantiles("pass_time", 0.5, **question)
    wrong = []

    def ask():
        for _ in range(5):
            found = rs.best("cost_per_token", over="batch_size", threads=2, **question)
            if (
                not np.array_equal(bits(found.batch_size), expected)
                or rs.quantiles("pass_time", 0.5, **question) != median
            ):
                wrong.append(time.monotonic())

    asking = [threading.Thread(target=ask) for _ in range(4)]
    for thread in asking:
        thread.start()
    for thread in asking:
        thread.join()
    assert wrong == []


@pytest.mark.parametrize("shape", [(70, 4), (700, 300)], ids=["copied", "gathered"])
@pytest.mark.parametrize("objective", ["batch_size", "context_length", "pass_time"])
@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
def test_arrays_of_two_axes(shape, objective, order, bits):
    """However one lies in memory, and whichever of its axes is folded, no bound is taken from beside it."""
    rng = np.random.default_rng(7)
    wide = rng.choice([8.0, 64.0, 512.0], size=(2 * shape[0], 3 * shape[1]))
    turned = rng.uniform(1.0, 4096.0, size=shape[::-1])

    def best(prune, arrange):
        given = {"batch_size": arrange(wide[::2, ::3]), "context_length": arrange(turned.T)}
        inputs = {name: xr.DataArray(array, dims=("a", "b")) for name, array in given.items()}
        beside = {"chips": [9.0, 2.0, 7.0, 5.0, 3.0, 8.0, 1.0]}
        over = (order[1], "chips")
        return rs.best(objective, over=over, where="chips <= 5", prune=prune, **CENTRES | inputs | beside)

    expected = best(False, np.ascontiguousarray)
    for arrange in (np.asarray, np.ascontiguousarray):
        found = best(True, arrange)
        for name in expected.variables:
            assert np.array_equal(bits(found[name]), bits(expected[name])), name
