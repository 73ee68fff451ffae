"""Chunked grids: equal bits, on one machine or many, without the grid in memory."""

import pickle

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from roofslate import _core, errors
from roofslate.grid.read import Settled
from roofslate.registry.registry import entries
from support.lazy import Lazy, needs

dask = Lazy("dask")
da = Lazy("dask.array")
pytestmark = needs("dask", reason="dask is not installed: pip install 'roofslate[dask]'")

BATCHES = np.geomspace(1, 200, 61)
CONTEXTS = np.linspace(1000, 200_000, 23)
FIXED = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "chip_price": "$3/hour", "pipeline_stages": [1, 2, 4]}
CUTS = {
    "one axis": {"batch_size": 20},
    "two axes": {"batch_size": 17, "context_length": 10},
    "unequal": {"batch_size": (1, 40, 20), "context_length": (22, 1)},
}
LIMITS = ["pass_time <= 30 ms", "hbm_used <= hbm_capacity"]
OVERS = [
    [],
    "batch_size",
    ["context_length", "batch_size"],
    ["pipeline_stages"],
    ["batch_size", "context_length", "pipeline_stages"],
]


def grid(cut=None):
    """A grid of batches, contexts with coordinates, and stages, in chunks if cut."""
    batches = xr.DataArray(BATCHES, dims="batch_size")
    contexts = xr.DataArray(CONTEXTS, dims="context_length", coords={"context_length": CONTEXTS})
    if cut:
        batches = batches.chunk({"batch_size": cut["batch_size"]})
        if "context_length" in cut:
            contexts = contexts.chunk({"context_length": cut["context_length"]})
    return {"batch_size": batches, "context_length": contexts, **FIXED}


@pytest.fixture(params=CUTS.values(), ids=CUTS)
def cut(request):
    return request.param


@pytest.fixture(scope="module")
def cluster():
    distributed = pytest.importorskip(
        "distributed", reason="distributed is not installed: pip install 'roofslate[dask]'"
    )
    options = {"n_workers": 2, "threads_per_worker": 1, "processes": True, "dashboard_address": ":0"}
    with (
        distributed.LocalCluster(**options) as processes,
        distributed.Client(processes, set_as_default=False) as client,  # not for the other tests
    ):
        yield client


@pytest.fixture
def in_cluster(cluster):
    """Tasks of dask are run by processes in this test."""
    with cluster.as_current():
        assert dask.base.get_scheduler() == cluster.get
        yield


@pytest.fixture
def identical(bits):
    """Two results are the same, to the last bit of their values."""

    def check(result, expected):
        if not isinstance(expected, (xr.Dataset, xr.DataArray)):
            assert type(result) is type(expected)
            result, expected = xr.DataArray(result), xr.DataArray(expected)
        loaded = result.compute()
        xr.testing.assert_identical(loaded, expected)
        pairs = (
            [(loaded, expected)]
            if isinstance(expected, xr.DataArray)
            else [(loaded[name], expected[name]) for name in expected.variables]
        )
        for one, other in pairs:
            assert one.dtype == other.dtype
            if one.dtype.kind == "f":
                np.testing.assert_array_equal(bits(one), bits(other))

    return check


# ------------------------------------------------------------------------------------------------------------ evaluate

OUTPUTS = ["pass_time", "cost_per_token", "bottleneck", "kv_bytes", "hbm_drain_time", "batch_size"]


@pytest.mark.parametrize(
    "options", [{}, {"dtype": "float32"}, {"units": {"pass_time": "ms", "cost_per_token": "USD/Mtoken"}}]
)
def test_results_in_chunks_have_the_same_bits(cut, options, identical):
    result = rs.evaluate(OUTPUTS, grid(cut), **options)
    identical(result, rs.evaluate(OUTPUTS, grid(), **options))
    sizes = {"batch_size": grid(cut)["batch_size"].chunks[0], "context_length": grid(cut)["context_length"].chunks}
    assert result.pass_time.chunks == (sizes["batch_size"], (sizes["context_length"] or ((23,),))[0], (3,))
    assert result.kv_bytes.chunks == result.pass_time.chunks[:2]
    assert result.hbm_drain_time.chunks is None
    stored = np.dtype(options.get("dtype", "float64"))
    assert {name: a.dtype for name, a in result.items() if name != "bottleneck"} == dict.fromkeys(
        [n for n in OUTPUTS if n not in ("bottleneck", "batch_size")], stored
    )
    assert result.pass_time.data._meta.dtype == stored
    assert result.bottleneck.data._meta.dtype == np.int8
    identical(rs.evaluate("pass_time", grid(cut)), rs.evaluate("pass_time", grid()))


@pytest.mark.parametrize("words", ["texts", "flags"])
@pytest.mark.parametrize("loaded", [False, True], ids=["in chunks", "in part"])
def test_chunks_of_many_axes(words, loaded, identical):
    """Arrays with shared axes and unequal chunks, with units and words."""
    rng = np.random.default_rng(5)
    batches = xr.DataArray(rng.uniform(1, 600, (12, 9)), dims=["day", "site"], coords={"day": np.arange(12.0) * 2})
    contexts = xr.DataArray(rng.uniform(1, 200, 12), dims=["day"], attrs={"units": "ktoken"})
    overlap = xr.DataArray(np.array(["board", "none", "board"] * 3), dims=["site"])
    if words == "flags":
        flags = rs.evaluate("overlap", overlap="none").attrs
        overlap = xr.DataArray(rng.integers(0, 2, 9), dims=["site"], attrs=flags)
    systems = xr.DataArray(np.array(["H200", "GB200 NVL72", "B200"] * 3), dims=["site"])
    eager = {"batch_size": batches, "context_length": contexts, "overlap": overlap}
    lazy = {
        "batch_size": batches.chunk({"day": 5, "site": 4}),
        "context_length": contexts if loaded else contexts.chunk({"day": 4}),
        "overlap": overlap if loaded else overlap.chunk({"site": 3}),
    }
    common = {"model": "DeepSeek-V3", "hardware": systems, "chips": 72, "kv_bits": [8, 16]}
    result = rs.evaluate(["pass_time", "kv_bytes"], {**lazy, **common})
    identical(result, rs.evaluate(["pass_time", "kv_bytes"], {**eager, **common}))
    assert result.pass_time.chunksizes["day"] == ((5, 5, 2) if loaded else (4, 1, 3, 2, 2))
    question = {"over": ["site", "day"], "also": "kv_bytes"}
    identical(
        rs.best("pass_time", {**lazy, **common}, **question), rs.best("pass_time", {**eager, **common}, **question)
    )


def test_an_axis_of_text_and_a_scalar_in_dask(identical):
    texts = xr.DataArray(np.array(["10 ms", "20 ms", "0.1 s"], dtype=object), dims="pass_time")
    common = {"batch_size": xr.DataArray(da.from_array(np.array(64.0))), "chips": 8, "chip_price": "$2/h"}
    expected = rs.evaluate("cost_per_token", {**common, "batch_size": 64}, pass_time=texts)
    identical(rs.evaluate("cost_per_token", common, pass_time=texts.chunk(2)), expected)


def test_names_units_and_missing_inputs_are_refused_at_once():
    lazy = grid(CUTS["two axes"])
    broken = xr.DataArray(da.map_blocks(_explode, da.ones(4, chunks=2), dtype=float), dims="batch_size")
    unknown = xr.DataArray(da.ones(4, chunks=2)[da.ones(4, chunks=2) > 0], dims="batch_size")
    cases = [
        (errors.UnknownName, ("pass_tme",), lazy),
        (errors.UnknownName, ("pass_time",), {**lazy, "batch": 3}),
        (errors.MissingInput, ("pass_time",), {"batch_size": broken}),
        (errors.UnitError, ("pass_time",), {**lazy, "batch_size": broken.assign_attrs(units="byte")}),
        (errors.UnitError, ("pass_time",), {**lazy, "units": {"pass_time": "byte"}}),
        (errors.InputTypeError, ("pass_time",), {**lazy, "batch_size": broken.astype(bool)}),
        (errors.InputTypeError, ("pass_time",), {**lazy, "overlap": broken.rename(batch_size="x")}),
        (errors.InputTypeError, ("pass_time",), {**lazy, "out": np.empty((61, 23, 3))}),
        (errors.InputTypeError, ("pass_time",), {**lazy, "threads": 0}),
        (errors.AxisError, ("pass_time",), {**lazy, "kv_bits": xr.DataArray(np.ones(3), dims="batch_size")}),
        (errors.AxisError, ("pass_time",), {**lazy, "batch_size": unknown}),
    ]
    for error, outputs, inputs in cases:
        with pytest.raises(error):
            rs.evaluate(*outputs, Settled(), **inputs)
    with pytest.raises(errors.MissingInput):
        rs.best("pass_time", over="batch_size", batch_size=broken)
    with pytest.raises(ValueError, match="pass_time <="):
        rs.count("pass_time <=", lazy)
    rs.evaluate("pass_time", {**lazy, "batch_size": broken})  # not computed yet


def _explode(block):
    raise AssertionError(f"{block} was computed")


@pytest.mark.parametrize("wrong", [-1.0, np.nan, np.inf])
def test_numbers_out_of_range_are_refused_when_they_are_computed(wrong):
    values = BATCHES.copy()
    values[45] = wrong
    inputs = {**grid(CUTS["one axis"]), "batch_size": xr.DataArray(values, dims="batch_size").chunk(20)}
    result = rs.evaluate("pass_time", inputs)
    assert np.isfinite(result[:40].compute()).all()
    with pytest.raises(errors.ValueRangeError, match="batch_size must be"):
        result.compute()
    with pytest.raises(errors.ValueRangeError, match="batch_size must be"):
        rs.quantiles("pass_time", 0.5, inputs)


def test_an_input_above_its_bound_is_refused_when_it_is_computed():
    name, bound = next((q.name, q.bound) for q in entries().values() if q.name == "active_parameters")
    inputs = {name: xr.DataArray(np.array([1e9, 2e9, 5e9]), dims="size").chunk(1), bound: 3e9}
    result = rs.evaluate("sparsity", inputs)
    assert result[:2].compute().shape == (2,)
    with pytest.raises(errors.ValueRangeError, match=f"{name} must not exceed {bound}"):
        result.compute()


# --------------------------------------------------------------------------------------------------------------- folds


@pytest.mark.parametrize("over", OVERS, ids=str)
def test_folds_give_the_same_bits(cut, over, identical):
    lazy, eager = grid(cut), grid()
    also = ["pass_time", "kv_bytes", "bottleneck", "hbm_drain_time"]
    for options in (
        {},
        {"where": LIMITS},
        {"where": LIMITS, "maximize": True, "also": also},
        {"where": "pass_time <= 1 us"},
    ):
        result = rs.best("cost_per_token", lazy, **options, over=over)
        identical(result, rs.best("cost_per_token", eager, **options, over=over))
    identical(rs.count(LIMITS, lazy, over=over), rs.count(LIMITS, eager, over=over))
    for options in ({}, {"bins": 7, "log": True}, {"bins": ["1 ms", "5 ms", "8 ms"]}, {"range": ("1 ms", "9 ms")}):
        identical(
            rs.histogram("pass_time", lazy, **options, over=over),
            rs.histogram("pass_time", eager, **options, over=over),
        )
    for q in (0.3, [0, 0.123, 0.5, 1]):
        identical(rs.quantiles("pass_time", q, lazy, over=over), rs.quantiles("pass_time", q, eager, over=over))


def test_folds_of_everything_give_numbers(cut):
    lazy, eager = grid(cut), grid()
    assert rs.count(LIMITS, lazy) == rs.count(LIMITS, eager)
    assert isinstance(rs.count(LIMITS, lazy), int)
    result = rs.quantiles("pass_time", 0.9, lazy, units="ms")
    assert isinstance(result, float)
    assert result == rs.quantiles("pass_time", 0.9, eager, units="ms")


@pytest.mark.parametrize(
    "objectives",
    [
        {"minimize": "pass_time"},
        {"minimize": ["cost_per_token", "pass_time"], "where": LIMITS, "also": ["bottleneck", "kv_bytes"]},
        {"minimize": ["pass_time"], "maximize": ["batch_size", "context_length"]},
        {"minimize": ["pass_time"], "where": "pass_time <= 1 us"},
        {"maximize": ["hbm_drain_time"]},
    ],
    ids=str,
)
def test_fronts_are_the_same(cut, objectives):
    result, expected = rs.pareto(Settled(grid(cut)), **objectives), rs.pareto(Settled(grid()), **objectives)
    assert result.equals(expected)
    assert list(result.dtypes) == list(expected.dtypes)


def test_of_equal_points_the_first_of_the_grid_is_taken():
    """Ties across chunks, in the order of the given axes, with irrelevant folded axes."""
    rng = np.random.default_rng(3)
    batches = xr.DataArray(rng.integers(1, 4, (7, 11)).astype(float), dims=["a", "b"])
    lengths = xr.DataArray(rng.integers(1, 3, 11).astype(float), dims=["b"])
    eager = Settled({"chips": [1.0, 2.0], "batch_size": batches, "pass_length": lengths})
    lazy = Settled({**eager, "batch_size": batches.chunk({"a": 2, "b": 3}), "pass_length": lengths.chunk({"b": 4})})
    for over in (["a"], ["b"], ["b", "a"], ["chips", "a", "b"]):
        for maximize in (False, True):
            question = {"over": over, "maximize": maximize}
            result = rs.best("pass_tokens", lazy, **question)
            assert result.identical(rs.best("pass_tokens", eager, **question))
    for q in (0.5, [0.1, 0.77]):
        for over in (["a"], ["b"], ["chips", "a", "b"]):
            result, expected = (rs.quantiles("pass_tokens", q, inputs, over=over) for inputs in (lazy, eager))
            assert result == expected if isinstance(expected, float) else result.identical(expected)
    assert rs.count("pass_tokens >= 4 tok", lazy) == rs.count("pass_tokens >= 4 tok", eager)
    front = {"minimize": ["pass_tokens"], "maximize": ["pass_length"]}
    assert rs.pareto(lazy, **front).equals(rs.pareto(eager, **front))


def test_a_question_that_does_not_vary_along_chunks(identical):
    lazy, eager = Settled(grid(CUTS["two axes"])), Settled(grid())
    over = ["batch_size", "pipeline_stages"]
    identical(rs.best("weight_fetch_time", lazy, over=over), rs.best("weight_fetch_time", eager, over=over))
    identical(rs.histogram("weight_fetch_time", lazy), rs.histogram("weight_fetch_time", eager))
    assert rs.count("weight_fetch_time <= 3 ms", lazy) == rs.count("weight_fetch_time <= 3 ms", eager)


HALF = [0.5, np.nextafter(0.5, 1), np.nextafter(0.5, 0)]
FAR = [*HALF, 1.0, -1.0, 1e-300, 5e-324, -5e-324, 1e300, -1e300, 0.0, np.finfo(float).max]


@pytest.mark.parametrize("over", [None, "a", ["b"], ["copy", "a"], "copy"], ids=str)
def test_quantiles_tell_neighbouring_doubles_apart(over, bits):
    """Of values of all sizes, with or without space for a kept point in a chunk."""
    array = xr.DataArray(np.random.default_rng(1).choice(FAR, (24, 12)), dims=["a", "b"])
    speed = xr.DataArray([1.0, 1.0, 1.0], dims=["copy"])
    q = np.linspace(0, 1, 37).tolist()
    for cut in ({"a": 2, "b": 3}, {"a": 24, "b": 1}, {"a": 1, "b": 12}):
        result, expected = (
            rs.quantiles("shipment_change", q, Settled(shipment_change=x, chips=speed), over=over)
            for x in (array.chunk(cut), array)
        )
        assert result.dims == expected.dims
        np.testing.assert_array_equal(bits(result), bits(expected))


def test_infinity_is_the_largest_value_and_nan_is_none(bits):
    rng = np.random.default_rng(2)
    pairs = [xr.DataArray(rng.choice([1.0, 2.0, np.inf], (12, 8)), dims=["a", "b"]) for _ in range(2)]
    names = entries()["link_bandwidth_ratio"].needs
    eager = dict(zip(names, pairs, strict=True))
    lazy = {name: x.chunk({"a": 1, "b": 3}) for name, x in eager.items()}
    values = rs.evaluate("link_bandwidth_ratio", eager)
    assert np.isnan(values).any()
    assert np.isinf(values).any()
    for over in (None, "a", "b"):
        result, expected = (
            rs.quantiles("link_bandwidth_ratio", [0, 0.4, 0.95, 1], x, over=over) for x in (lazy, eager)
        )
        np.testing.assert_array_equal(bits(result), bits(expected))
        for options in ({"bins": 5}, {"range": (0, 1), "bins": 2}):
            result, expected = (rs.histogram("link_bandwidth_ratio", x, **options, over=over) for x in (lazy, eager))
            assert result.identical(expected)
        for maximize in (False, True):
            result, expected = (
                rs.best("link_bandwidth_ratio", x, over=over or ["a", "b"], maximize=maximize) for x in (lazy, eager)
            )
            assert result.identical(expected)
    nothing = {name: xr.full_like(x, np.inf) for name, x in eager.items()}
    lazy = {name: x.chunk(2) for name, x in nothing.items()}
    assert np.isnan(rs.quantiles("link_bandwidth_ratio", 0.5, lazy))
    assert np.isnan(rs.best("link_bandwidth_ratio", lazy, over=["a", "b"])["a"])
    with pytest.raises(errors.ValueRangeError, match="no finite value"):
        rs.histogram("link_bandwidth_ratio", lazy)


# ------------------------------------------------------------------------------------------------- nothing is gathered


class Seen:
    """The size of a task's largest result, and the number of tasks."""

    def __init__(self):
        self.largest = self.tasks = 0

    def finished(self, key, result, dsk, state, worker_id):  # noqa: ARG002
        stored = [result]
        for front in np.ravel(result):
            stored += vars(front).values() if hasattr(front, "where") else []
        self.largest = max(self.largest, sum(getattr(part, "nbytes", 0) for part in stored))
        self.tasks += 1


def wide(n=400, cut=50):
    return {
        "batch_size": xr.DataArray(np.geomspace(1, 8192, n), dims="batch_size").chunk(cut),
        "context_length": xr.DataArray(np.linspace(1000, 2e5, n), dims="context_length").chunk(cut),
        "model": "DeepSeek-V3",
        "hardware": "GB200 NVL72",
        "chip_price": "$3/hour",
    }


@pytest.mark.parametrize(
    ("ask", "most"),
    [
        (lambda x: rs.best("cost_per_token", x, over=["batch_size", "context_length"], where=LIMITS), 400),
        (lambda x: rs.best("cost_per_token", x, over="batch_size", where=LIMITS, also="kv_bytes"), 2 * 400),
        (lambda x: rs.count(LIMITS, x), 400),
        (lambda x: rs.count(LIMITS, x, over="batch_size"), 400),
        (lambda x: rs.histogram("pass_time", x), 400),
        (lambda x: rs.quantiles("pass_time", [0.1, 0.5], x, over="context_length"), 2 * 3 * 400),
        (lambda x: rs.quantiles("pass_time", [0.1, 0.5], x), 2**14 + 8),
        (lambda x: rs.pareto(x, minimize=["cost_per_token", "pass_time"]), 3 * 400 + 1),
        (lambda x: rs.evaluate("pass_time", x).max().compute(), 2500),
    ],
    ids=["best", "best kept", "count", "count kept", "histogram", "quantiles kept", "quantiles", "pareto", "evaluate"],
)
def test_no_task_holds_the_grid(ask, most):
    """Tasks of 160,000 points in 64 chunks return at most a chunk, and folds the result."""
    seen = Seen()
    with dask.callbacks.Callback(posttask=seen.finished), dask.config.set(scheduler="threads"):
        ask(wide())
    assert seen.tasks >= 64
    assert seen.largest <= 8 * most


def test_the_graph_takes_each_chunk_where_it_lies():
    result = rs.evaluate("pass_time", wide())
    layers = result.data.__dask_graph__().layers
    assert {name.partition("-")[0] for name in layers} <= {"roofslate", "xarray", "array"}
    graph = dict(result.data.__dask_graph__())
    tasks = [key for key in graph if key[0].startswith("roofslate-pass_time")]
    assert len(tasks) == 64
    assert len(graph) == 64 + 16
    (array,) = dask.optimize(result.data)
    assert not [key for key in array.__dask_graph__() if "concatenate" in str(key) or "finalize" in str(key)]


def test_what_travels_with_a_task_is_small():
    """Constants travel with a task, arrays do not, in chunks or not."""
    table = xr.DataArray(np.linspace(1e-4, 2e-4, 100_000), dims="price")
    inputs = {**wide(), "chip_price": table}
    result = rs.evaluate("cost_per_token", inputs)
    graph = result.data.__dask_graph__()
    (layer,) = [layer for name, layer in graph.layers.items() if name.startswith("roofslate-")]
    assert len(pickle.dumps(layer)) < 20_000
    again = rs.evaluate("cost_per_token", inputs)
    assert again.data.name == result.data.name
    assert rs.evaluate("cost_per_token", {**inputs, "pipeline_stages": 2}).data.name != result.data.name


def test_a_chunk_is_computed_by_one_thread(monkeypatch):
    """dask runs many tasks at once, unless `threads` is given."""
    seen = []

    class Spy(_core.Grid):
        def evaluate(self, quantities, out, threads, *options):
            seen.append(threads)
            return super().evaluate(quantities, out, threads, *options)

    result = {threads: rs.evaluate("pass_time", wide(100), threads=threads) for threads in (None, 3)}
    monkeypatch.setattr(_core, "Grid", Spy)
    for threads, expected in ((None, 1), (3, 3)):
        seen.clear()
        result[threads].compute(scheduler="threads")  # not by a cluster of other tests
        assert seen == [expected] * 4


def test_without_dask_nothing_is_missed(run_python):
    code = """
import sys
sys.modules["dask"] = None  # not to be imported
import numpy as np, roofslate as rs, xarray as xr
batches = xr.DataArray(np.ones(4), dims="batch_size")
rs.evaluate("pass_tokens", batch_size=batches)
rs.best("pass_tokens", over="batch_size", batch_size=batches)
print(rs.count("pass_tokens >= 1 tok", batch_size=batches), rs.quantiles("pass_tokens", 0.5, batch_size=batches))
"""
    assert run_python(code) == "4 1.0"


# ----------------------------------------------------------------------------------------------------------- a cluster


@pytest.mark.dask
@pytest.mark.slow
@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.usefixtures("in_cluster")
def test_processes_give_the_same_bits(cut, identical):
    lazy, eager = grid(cut), grid()
    identical(rs.evaluate(OUTPUTS, lazy), rs.evaluate(OUTPUTS, eager))
    over = ["context_length", "batch_size"]
    question = {"over": over, "where": LIMITS, "also": ["pass_time", "bottleneck"]}
    identical(rs.best("cost_per_token", lazy, **question), rs.best("cost_per_token", eager, **question))
    identical(rs.count(LIMITS, lazy, over=over), rs.count(LIMITS, eager, over=over))
    identical(rs.histogram("pass_time", lazy, over=over), rs.histogram("pass_time", eager, over=over))
    identical(rs.quantiles("pass_time", [0.1, 0.5], lazy), rs.quantiles("pass_time", [0.1, 0.5], eager))
    front = {"minimize": ["cost_per_token", "pass_time"], "where": LIMITS, "also": "bottleneck"}
    assert rs.pareto(lazy, **front).equals(rs.pareto(eager, **front))
    wrong = xr.DataArray(np.array([1.0, 2.0, -3.0]), dims="batch_size").chunk(1)
    with pytest.raises(errors.ValueRangeError, match="batch_size must be"):
        rs.evaluate("pass_time", {**lazy, "batch_size": wrong}).compute()


@pytest.mark.dask
@pytest.mark.slow
def test_an_engine_in_a_worker_takes_one_thread(cluster):
    from roofslate._base.threads import thread_count

    assert cluster.submit(thread_count, None).result() == 1
