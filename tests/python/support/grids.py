"""Grids to fold, with values at all points, and conditions with their meaning."""

import itertools

import numpy as np
import roofslate as rs
import xarray as xr
from hypothesis import strategies as st
from roofslate import _core
from roofslate.grid.read import Settled, read_grid

# ----------------------------------------------------------------------------------------------- values at all points


class Whole:
    """A grid with the values of some quantities at all points, in the order of its axes."""

    def __init__(self, names, inputs):
        self.grid = read_grid(inputs)
        self.sizes = self.grid.sizes
        self.shape = tuple(self.sizes.values())
        result = {name: rs.evaluate(name, Settled(inputs)) for name in dict.fromkeys(names)}
        self.dims = {name: set(array.dims) for name, array in result.items()}
        self.values = {name: self.full(array) for name, array in result.items()}

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


def same(result, expected, bits):
    assert np.array_equal(bits(result), bits(expected)), (np.asarray(result), np.asarray(expected))


# ---------------------------------------------------------------------------------------------------------- questions

CENTRES = {
    "batch_size": 600.0,
    "context_length": 2e4,
    "chips": 40.0,
    "pass_length": 4.0,
    "bytes_per_weight": 0.5,
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
OF_MODEL = {"total_parameters", "active_parameters", "bytes_per_weight", "kv_bytes_per_token", "experts"}
OF_MODEL |= {"experts_per_token", "dense_parameters"}
OF_HARDWARE = {"peak_flops", "hbm_bandwidth", "hbm_capacity"}
OBJECTIVES = ["pass_time", "cost_per_token", "hbm_used", "kv_fetch_time", "bottleneck", "compute_utilization"]
OBJECTIVES += ["replica_throughput", "balance_batch_at_context", "pass_tokens", "fetched_weight_bytes", "batch_size"]
NUMBERS = [name for name in OBJECTIVES if name not in ("bottleneck", "batch_size")]


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
    """Draw inputs with one to five axes: lists, words, presets, and arrays.

    An array has a separate axis or two axes.
    """
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
    if draw(st.booleans()):  # two arrays along a separate axis
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


# Conditions, their quantities, and their meaning. x and y are numbers that some points have exactly.
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
        "bottleneck != 'kv_fetch'",
        ["bottleneck"],
        lambda v, *_: ~is_word("bottleneck", "kv_fetch")(v),
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
    reference = Whole(NEEDED, inputs)
    chosen = draw(st.lists(st.integers(0, len(CONDITIONS) - 1), min_size=least_conditions, max_size=3, unique=True))
    times = np.sort(reference.values["pass_time"], axis=None)
    x, y = (float(times[int(draw(st.floats(0, 1)) * (times.size - 1))]) for _ in range(2))
    where, needed, met = [], [], np.ones(reference.shape, dtype=bool)
    for k in chosen:
        text, names, meaning = CONDITIONS[k]
        where.append(text.format(x=x, y=y))
        needed += names
        met &= meaning(reference.values, x, y)
    over = draw(st.lists(st.sampled_from(list(reference.sizes)), unique=True)) if reference.sizes else []
    return inputs, reference, where, needed, met, over


def ways(instruction_sets, prune=(True, False)):
    """Each instruction set in use, one thread and three, with boxes skipped or not."""
    before = _core.instruction_set()
    try:
        for name, threads, skipping in itertools.product(instruction_sets, (1, 3), prune):
            _core.use_instruction_set(name)
            yield {"threads": threads, "progress": False} | ({"prune": skipping} if len(prune) > 1 else {})
    finally:
        _core.use_instruction_set(before)
