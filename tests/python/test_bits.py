"""The same question gives the same bits, however it is asked and on whatever it runs."""

import itertools

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from roofslate import _core
from roofslate.grid.read import Settled

OUTPUTS = [
    "pass_time",
    "cost_per_token",
    "compute_utilization",
    "fetched_weight_bytes",
    "mean_queue_wait",
    "routed_loss",
    "hbm_used",
    "bottleneck",
    "weight_fetch_time",
    "batch_size",
    "compute_efficiency",
]
# Centre of each input; kept away from its ends.
CENTRES = {
    "batch_size": 500.0,
    "context_length": 2e4,
    "pass_length": 4.0,
    "total_parameters": 671e9,
    "active_parameters": 37e9,
    "dense_parameters": 17e9,
    "bytes_per_weight": 0.5,
    "kv_bytes_per_token": 7e4,
    "peak_flops": 9e15,
    "hbm_bandwidth": 8e12,
    "hbm_capacity": 192e9,
    "chips": 72.0,
    "chip_price": 5e-4,
    "experts": 256.0,
    "experts_per_token": 8.0,
    "batch_slots": 40.0,
    "slot_utilization": 0.4,
    "output_tokens": 700.0,
    "batch_interval": 0.02,
}


def random_values(rng, shape, centre):
    """Return numbers around a center in memory of any kind.

    Kinds: strided, reversed, transposed, read-only, or not aligned.
    """
    if not shape:
        return np.array(centre * (0.5 + rng.random()))
    steps = rng.integers(1, 3, len(shape))
    large = centre * (0.5 + rng.random([int(n * s) for n, s in zip(shape, steps, strict=True)]))
    kind = rng.integers(0, 6)
    values = large[tuple(slice(None, None, int(s)) for s in steps)]
    if kind == 1:
        values = values[tuple(slice(None, None, -1) for _ in shape)]
    elif kind == 2:
        values = np.asfortranarray(values)
    elif kind == 3:
        values = values.copy()
        values.setflags(write=False)
    elif kind == 4:
        packed = np.zeros(values.shape, dtype=[("pad", "i1"), ("x", "f8")])
        packed["x"] = values
        values = packed["x"]
    elif kind == 5:
        values = values.astype(">f8")
    return values


def random_question(rng, most_points):
    lengths = [2, 3, 5, 8, 13, 31, 64, 129, 513, 1025]
    shape = []
    for _ in range(rng.integers(1, 5)):
        n = int(rng.choice(lengths))
        shape.append(n if np.prod([*shape, n]) <= most_points else 2)
    dims = [f"axis{k}" for k in range(len(shape))]
    inputs = {}
    for name, centre in CENTRES.items():
        count = min(int(rng.choice([0, 0, 1, 1, 2])), len(dims))
        axes = rng.permutation(len(dims))[:count]
        values = random_values(rng, [shape[k] for k in axes], centre)
        inputs[name] = xr.DataArray(values, dims=[dims[k] for k in axes])
    inputs["overlap"] = str(rng.choice(["board", "serial_kv", "none"]))
    inputs["expert_reads"] = str(rng.choice(["all", "expected"]))
    return inputs


def at_point(inputs, point):
    def one(value):
        return float(value.isel({d: k for d, k in point.items() if d in value.dims}))

    return {name: value if isinstance(value, str) else one(value) for name, value in inputs.items()}


@pytest.mark.parametrize("seed", range(25))
def test_instruction_sets_threads_and_points(seed, instruction_sets, bits):
    rng = np.random.default_rng(seed)
    inputs = random_question(rng, 40_000 if seed % 5 else 600_000)
    before = _core.instruction_set()
    result = {}
    try:
        for name, threads in itertools.product(instruction_sets, (1, 3)):
            _core.use_instruction_set(name)
            result[name, threads] = rs.evaluate(OUTPUTS, Settled(inputs), threads=threads)
    finally:
        _core.use_instruction_set(before)
    first = result[instruction_sets[0], 1]
    for key, other in result.items():
        for output in OUTPUTS:
            assert other[output].dims == first[output].dims
            assert np.array_equal(bits(other[output]), bits(first[output])), (key, output)
    for _ in range(4):
        point = {d: int(rng.integers(0, n)) for d, n in first.sizes.items()}
        numbers = at_point(inputs, point)
        for output in OUTPUTS:
            of_grid = first[output].isel({d: k for d, k in point.items() if d in first[output].dims})
            scalar = rs.value(output, Settled(numbers))
            if isinstance(scalar, str):
                assert of_grid.attrs["flag_meanings"].split()[int(of_grid)] == scalar
            else:
                assert bits(float(of_grid)) == bits(scalar), (point, output)


@pytest.mark.parametrize("n", [1, 2, 3, 7, 8, 9, 15, 16, 17, 63, 64, 65, 127, 128, 129, 255, 256, 257, 511, 513, 1000])
@pytest.mark.usefixtures("instruction_set")
def test_remainders_of_a_tile(n, decode, bits):
    batch = 1.0 + 3.7 * np.arange(n)
    batches = 1.0 + 3.7 * np.arange(2048)
    short = rs.evaluate(
        [*OUTPUTS[:3], "bottleneck"], {**CENTRES, **decode, "batch_size": batch, "expert_reads": "expected"}
    )
    long = rs.evaluate(
        [*OUTPUTS[:3], "bottleneck"], {**CENTRES, **decode, "batch_size": batches, "expert_reads": "expected"}
    )
    for name in short:
        assert short[name].shape == (n,)
        assert np.array_equal(bits(short[name]), bits(long[name][:n])), name


def test_axis_orders(decode, bits):
    rng = np.random.default_rng(1)
    axes = {
        "batch_size": 1 + 999 * rng.random(7),
        "context_length": 1 + 1e5 * rng.random(300),
        "chips": 8 + 64 * rng.random(5),
        "bytes_per_weight": 0.5 + rng.random(3),
    }
    plain = {name: x for name, x in decode.items() if name not in axes}
    first = rs.evaluate(["cost_per_token", "memory_time"], {**axes, **plain})
    for order in itertools.permutations(axes):
        other = rs.evaluate(["cost_per_token", "memory_time"], {**{name: axes[name] for name in order}, **plain})
        assert other.cost_per_token.dims == tuple(order)
        for name in first:
            assert np.array_equal(bits(other[name].transpose(*first[name].dims)), bits(first[name]))


@pytest.mark.parametrize("shape", [(40, 50), (3, 1000), (1000, 3), (300, 700)])
def test_call_styles(shape, decode, bits):
    rng = np.random.default_rng(2)
    batch, context = 1 + 999 * rng.random(shape[0]), 1 + 1e5 * rng.random(shape[1])
    question = {**decode, "batch_size": batch, "context_length": context}
    names = ["pass_time", "cost_per_token"]
    grid = rs.evaluate(names, question)
    single = rs.evaluate("cost_per_token", question)
    assert np.array_equal(bits(single), bits(grid.cost_per_token))
    out = {name: np.full(shape, -1.0) for name in names}
    given = rs.evaluate(names, question, out=out)
    turned = np.full(shape[::-1], -1.0).T[::-1, ::-1]
    rs.evaluate("cost_per_token", question, out=turned)
    halves = [rs.evaluate(names, {**question, "batch_size": part}) for part in np.array_split(batch, 3)]
    chunked = xr.concat(halves, "batch_size")
    table = pd.DataFrame({"batch_size": np.repeat(batch, shape[1]), "context_length": np.tile(context, shape[0])})
    rows = rs.frame(table, names, {k: v for k, v in decode.items() if k not in table})
    zipped = rs.evaluate(
        names,
        {
            **decode,
            "batch_size": xr.DataArray(table["batch_size"].to_numpy(), dims="row"),
            "context_length": xr.DataArray(table["context_length"].to_numpy(), dims="row"),
        },
    )
    for name in names:
        expected = bits(grid[name])
        assert np.array_equal(bits(out[name]), expected)
        assert np.shares_memory(given[name].to_numpy(), out[name])
        assert np.array_equal(bits(chunked[name]), expected)
        assert np.array_equal(bits(rows[name]).reshape(shape), expected)
        assert np.array_equal(bits(zipped[name]).reshape(shape), expected)
    assert np.array_equal(bits(turned), bits(grid.cost_per_token))
    for i, j in [(0, 0), (shape[0] - 1, shape[1] - 1), (shape[0] // 2, shape[1] // 3)]:
        point = {**decode, "batch_size": float(batch[i]), "context_length": float(context[j])}
        assert bits(rs.value("cost_per_token", point)) == bits(grid.cost_per_token[i, j])
        assert bits(rs.evaluate("cost_per_token", point)) == bits(grid.cost_per_token[i, j])


@pytest.mark.parametrize("offset", range(8))
@pytest.mark.usefixtures("instruction_set")
def test_rows_that_are_not_aligned(offset, decode, bits):
    context = np.linspace(1, 1e5, 1003)
    memory = np.full((9, 1003 + 8), -77.0)
    out = memory[:, offset : offset + 1003]
    question = {**decode, "batch_size": np.arange(1.0, 10), "context_length": context}
    rs.evaluate("pass_time", question, out=out)
    assert np.array_equal(bits(out), bits(rs.evaluate("pass_time", question)))
    assert (memory[:, :offset] == -77).all()
    assert (memory[:, offset + 1003 :] == -77).all()


def test_streamed_results(instruction_sets, decode, bits):
    """Results larger than the CPU cache have the same bits when streamed into used memory.

    Nothing is written outside of the results.
    """
    question = {**decode, "batch_size": np.linspace(1, 4000, 1500), "context_length": np.linspace(1, 1e5, 1701)}
    fresh = bits(rs.evaluate("cost_per_token", question, threads=1))
    before = _core.instruction_set()
    try:
        for name, threads in itertools.product(instruction_sets, (1, 2)):
            _core.use_instruction_set(name)
            memory = np.full(1500 * 1701 + 6, -77.0)
            out = memory[3:-3].reshape(1500, 1701)
            rs.evaluate("cost_per_token", question, out=out, threads=threads)
            assert np.array_equal(bits(out), fresh)
            assert (memory[:3] == -77).all()
            assert (memory[-3:] == -77).all()
    finally:
        _core.use_instruction_set(before)


def test_constants_inputs_and_the_same_quantity_twice(decode, bits):
    batch = np.array([3.0, 5.0, 7.0])
    names = ["batch_size", "chips", "hbm_drain_time", "pass_tokens", "round_tokens", "microbatches"]
    result = rs.evaluate(names, {**decode, "batch_size": batch})
    assert np.array_equal(bits(result.batch_size), bits(batch))
    assert float(result.chips) == 72
    assert result.chips.dims == ()
    assert float(result.hbm_drain_time) == 0.024
    assert np.array_equal(
        bits(result.pass_tokens), bits(batch)
    )  # one node with round_tokens and the input itself: times one
    assert np.array_equal(bits(result.round_tokens), bits(batch))
    assert float(result.microbatches) == 1
    twice = rs.frame(pd.DataFrame({"batch_size": batch}), ["pass_tokens", "batch_size"])
    assert np.array_equal(bits(twice["pass_tokens"]), bits(batch))


def test_results_may_overwrite_their_inputs(bits):
    """Memory given as out= that overlaps an input is computed as if it did not."""
    for n in (5, 100_000):
        memory = np.arange(1.0, n + 2)
        expected = bits(3 * memory[:-1])
        rs.evaluate("pass_tokens", batch_size=memory[:-1], pass_length=3, out=memory[1:])
        assert np.array_equal(bits(memory[1:]), expected)


@pytest.mark.parametrize("step", [50, pytest.param(1, marks=[pytest.mark.long, pytest.mark.whole])])
@pytest.mark.long
@pytest.mark.whole
def test_every_quantity_on_an_axis_of_every_input(whole_scenario, bits, step):
    """Each quantity along an axis of each input equals its value at each point.

    Every `step`-th one is also compared with `value`.
    """
    from roofslate.registry.registry import ancestors, entries

    above = {output: set(ancestors(output)) for output, q in entries().items() if q.computed}
    numbers = itertools.count()
    for name, entry in entries().items():
        outputs = [output for output in above if name in above[output]]
        if name not in whole_scenario or not outputs:
            continue
        if entry.choices:
            axis = list(entry.choices)
        else:
            value = float(whole_scenario[name])
            below = max(value * 0.75, entry.low) if not entry.above_low or value * 0.75 > entry.low else value
            axis = [below, value]
        if entry.bound or any(e.bound == name for e in entries().values()):
            axis = [a for a in axis if _in_bounds({**whole_scenario, name: a})]
        grids = rs.evaluate(outputs, Settled({**whole_scenario, name: axis}))
        for k, x in enumerate(axis):
            point = Settled({**whole_scenario, name: x})
            results = rs.evaluate(outputs, point)
            for output in outputs:
                on_axis = grids[output].to_numpy()[k] if grids[output].ndim else grids[output].item()
                assert bits(float(on_axis)) == bits(float(results[output])), (output, name, x)
                if next(numbers) % step:
                    continue
                scalar = rs.value(output, point)
                if isinstance(scalar, str):
                    assert entries()[output].choices[int(on_axis)] == scalar, (output, name, x)
                else:
                    assert bits(float(on_axis)) == bits(scalar), (output, name, x)
    assert next(numbers) > 100 * step


def _in_bounds(scenario):
    from roofslate.registry.registry import entries

    pairs = [(n, q.bound) for n, q in entries().items() if q.bound and n in scenario and q.bound in scenario]
    return all(scenario[name] <= scenario[bound] for name, bound in pairs)
