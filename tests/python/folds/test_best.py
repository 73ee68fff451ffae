"""`best` and `pareto` find the points that NumPy finds in the grid that evaluate keeps."""

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import errors
from roofslate.grid.read import Settled
from support.grids import CENTRES, CONDITIONS, FACTORS, OBJECTIVES, WORDS, Whole, asked, same, ways

# --------------------------------------------------------------------------------------------------------------- best


def check_best(result, reference, objective, also, over, met, needed, maximize, bits):
    """The dataset is the first of the grid's best points, for each point of the kept axes."""
    remaining = [dim for dim in reference.sizes if dim not in over]
    values = reference.folded(reference.values[objective], over).astype(float)
    ok = reference.folded(met, over) & ~np.isnan(values)
    key = np.where(ok, -values if maximize else values, np.inf)
    at = np.where(np.isposinf(key.min(axis=-1)), ok.argmax(axis=-1), key.argmin(axis=-1))
    somewhere = ok.any(axis=-1)
    varies = set().union(reference.dims[objective], *(reference.dims[name] for name in needed)) - set(over)
    assert list(result[objective].dims) == [dim for dim in remaining if dim in varies]
    for name in [objective, *also]:
        if name in remaining:
            same(result[name], reference.coordinate(name), bits)
            continue
        selected = np.take_along_axis(reference.folded(reference.values[name], over), at[..., None], -1)[..., 0]
        same(reference.full(result[name], over), np.where(somewhere, selected, np.nan), bits)
    folded = [dim for dim in reference.sizes if dim in over]
    places = np.unravel_index(at, [reference.sizes[dim] for dim in folded]) if folded else ()
    for dim, position in zip(folded, places, strict=True):
        expected, came = reference.coordinate(dim)[position], reference.full(result[dim], over)
        if expected.dtype.kind == "U":
            assert np.array_equal(came, np.where(somewhere, expected.astype(object), ""))
        else:
            same(came, np.where(somewhere, expected, np.nan), bits)


@settings(max_examples=100)
@given(data=st.data(), question=asked(), maximize=st.booleans())
def test_best_is_that_of_the_whole_grid(instruction_sets, bits, data, question, maximize):
    inputs, reference, where, needed, met, over = question
    free = [name for name in OBJECTIVES if name not in over]
    objective = data.draw(st.sampled_from(free), label="objective")
    also = data.draw(st.lists(st.sampled_from([n for n in free if n != objective]), max_size=2, unique=True))
    for mode in ways(instruction_sets):
        result = rs.best(objective, Settled(inputs), over=over, where=where, maximize=maximize, also=also, **mode)
        check_best(result, reference, objective, also, over, met, needed, maximize, bits)


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
    reference = Whole(["cost_per_token", "pass_time", "bottleneck", *needed], inputs)
    x, y = np.quantile(reference.values["pass_time"], [0.3, 0.8], method="nearest").tolist()
    met = np.ones(reference.shape, dtype=bool)
    for k in chosen:
        met &= CONDITIONS[k][2](reference.values, x, y)
    where = [CONDITIONS[k][0].format(x=x, y=y) for k in chosen]
    for objective, maximize in (("cost_per_token", False), ("pass_time", True)):
        for mode in ways(instruction_sets):
            result = rs.best(
                objective, Settled(inputs), over=over, where=where, maximize=maximize, also="bottleneck", **mode
            )
            check_best(result, reference, objective, ["bottleneck"], over, met, needed, maximize, bits)


def test_best_of_one_point(decode):
    result = rs.best("pass_time", decode, over=[], where="pass_time <= 1 s")
    assert dict(result.sizes) == {}
    assert float(result.pass_time) == rs.value("pass_time", decode)
    none = rs.best("pass_time", decode, over=[], where="pass_time <= 1 ns", also="cost_per_token")
    assert np.isnan(none.pass_time)
    assert np.isnan(none.cost_per_token)


def test_best_of_what_is_no_closed_form(instruction_sets):
    axes = {
        "batch_slots": np.arange(1.0, 81),
        "slot_utilization": np.linspace(0.01, 0.99, 40),
        "batch_interval": [0.02, 0.01],
    }
    question = {**axes, "output_tokens": 700, "pass_length": 1}
    waits = (
        rs.evaluate("mean_queue_wait", **question)
        .transpose("batch_slots", "slot_utilization", "batch_interval")
        .to_numpy()
    )
    at = waits.reshape(80, -1).argmin(axis=1)
    for mode in ways(instruction_sets):
        result = rs.best("mean_queue_wait", over=["slot_utilization", "batch_interval"], **mode, **question)
        assert np.array_equal(result.mean_queue_wait, waits.reshape(80, -1).min(axis=1))
        assert np.array_equal(result.slot_utilization, axes["slot_utilization"][at // 2])
        assert np.array_equal(result.batch_interval, np.array(axes["batch_interval"])[at % 2])
        result = rs.best(
            "waiting_probability",
            over="slot_utilization",
            batch_slots=axes["batch_slots"],
            slot_utilization=axes["slot_utilization"][::-1],
            **mode,
        )
        assert (result.slot_utilization == 0.01).all()


def test_best_skips_nan_and_keeps_infinity(instruction_sets):
    """Two ideal links have no ratio, an ideal and a real one an infinite ratio."""
    up = xr.DataArray([np.inf, np.inf, 9e11], dims="up")
    out = xr.DataArray([np.inf, 1e11], dims="out_of_rack")
    links = {"scale_up_bandwidth": up, "scale_out_bandwidth": out}
    ratio = rs.evaluate("link_bandwidth_ratio", **links).to_numpy()
    assert np.array_equal(ratio, [[np.nan, np.inf], [np.nan, np.inf], [0, 9]], equal_nan=True)
    for mode in ways(instruction_sets):
        for over in ("up", ["up", "out_of_rack"]):
            result = rs.best("link_bandwidth_ratio", over=over, maximize=True, **mode, **links)
            assert result.link_bandwidth_ratio.values.reshape(-1)[-1] == np.inf
            assert result.up.values.reshape(-1)[-1] == 0
        result = rs.best("link_bandwidth_ratio", over="out_of_rack", **mode, **links)
        assert result.link_bandwidth_ratio.values.tolist() == [np.inf, np.inf, 0]
        assert result.out_of_rack.values.tolist() == [1, 1, 0]
        nan = rs.best("link_bandwidth_ratio", over="up", where="link_bandwidth_ratio >= 0", **mode, **links)
        assert nan.up.values.tolist() == [2, 2]
        assert rs.count("link_bandwidth_ratio >= 0", **mode, **links) == 4
        only = rs.best("link_bandwidth_ratio", over="up", **mode, scale_up_bandwidth=up[:2], scale_out_bandwidth=np.inf)
        assert np.isnan(only.link_bandwidth_ratio)
        assert np.isnan(only.up)


def test_infinity_is_larger_than_the_largest_number(instruction_sets):
    for values in ([np.inf, 1.7976931348623157e308], [1.7976931348623157e308, np.inf]):
        axis = xr.DataArray(values, dims="x")
        for mode in ways(instruction_sets):
            result = rs.best("balance_context", over="x", balance_context=axis, **mode)
            assert np.isfinite(result.balance_context)
            by_row = rs.best("balance_context", over="x", balance_context=axis.expand_dims(y=3), **mode)
            assert np.isfinite(by_row.balance_context).all()


def test_what_stands_on_the_axes(decode):
    """Names of presets, words, dates and units, with empty labels for missing points."""
    days = np.array(["2025-01-01", "2025-06-01", "2026-01-01"], dtype="M8[ns]")
    price = xr.DataArray([5e-4, 3e-4, 4e-4], dims="day", coords={"day": days})
    question = {"model": ["DeepSeek-V3", "Kimi-K2"], "hardware": "GB200 NVL72", "batch_size": [64, 512, 4096]}
    question |= {"context_length": "8k", "chip_price": price, "overlap": ["none", "board"]}
    over = ["model", "day", "overlap"]
    where = "batch_size <= 1000"
    result = rs.best("cost_per_token", question, over=over, where=where, units={"cost_per_token": "USD/Mtok"})
    assert result.cost_per_token.attrs["units"] == "USD/Mtok"
    assert result.cost_per_token.dims == ("batch_size",)
    assert result.model.values.tolist() == ["DeepSeek-V3", "DeepSeek-V3", ""]
    assert result.overlap.values.tolist() == ["board", "board", ""]
    assert result.day.values[0] == days[1]
    assert np.isnat(result.day.values[2])
    at = {**question, "model": "DeepSeek-V3", "chip_price": 3e-4, "overlap": "board", "batch_size": 512}
    assert float(result.cost_per_token[1]) == rs.value("cost_per_token", at, units="USD/Mtok")
    assert "DeepSeek-V3 (" in result.attrs["model"]
    assert "chip_price" not in result.attrs
    searched = rs.best("cost_per_token", {**decode, "batch_size": [1, 2]}, over="batch_size")
    assert searched.batch_size.attrs["units"] == "sequence"
    assert "batch_size" not in searched.attrs
    assert "chips" in searched.attrs


@pytest.mark.parametrize("dtype", ["object", "string", "category", None])
def test_labels_of_a_series_where_all_axes_are_searched(dtype, decode):
    """A text is no array. The result of a single point has labels too."""
    setups = pd.Series([8, 64, 512], index=pd.Index(["few", "some", "many"], name="setup", dtype=dtype))
    question = {**decode, "batch_size": setups}
    result = rs.best("cost_per_token", question, over="setup")
    assert dict(result.sizes) == {}
    assert result.setup.item() == "many"
    assert rs.best("pass_time", question, over="setup", also="cost_per_token").setup.item() == "few"
    assert rs.best("pass_time", question, over="setup", where="pass_time <= 1 ns").setup.item() == ""
    assert rs.pareto(question, minimize="pass_time").setup.tolist() == ["few"]


@pytest.mark.parametrize("chunked", [False, True], ids=["whole", "in chunks"])
def test_labels_of_arrays_and_presets_where_all_axes_are_searched(chunked, decode):
    labels = np.array(["few", "some", "many"], dtype=object)
    setups = xr.DataArray([8.0, 64.0, 512.0], dims="setup", coords={"setup": labels})
    if chunked:
        pytest.importorskip("dask", reason="dask is not installed: pip install 'roofslate[dask]'")
        setups = setups.chunk(2)
    models = pd.Series(["DeepSeek-V3", "Kimi-K2"], index=pd.Index(["first", "second"], name="which"))
    question = {**decode, "batch_size": setups, "model": models}
    for name in ("total_parameters", "active_parameters", "kv_bytes_per_token"):
        del question[name]
    result = rs.best("cost_per_token", question, over=["which", "setup"])
    assert (result.setup.item(), result.which.item()) == ("many", "first")


def test_dims_of_best_do_not_depend_on_what_is_found(decode):
    question = {**decode, "chips": [8, 72], "batch_size": [1, 512, 4096], "context_length": [1e3, 1e5]}
    dims = set()
    for limit in ("1 s", "20 ms", "1 ns"):
        also = ["kv_fetch_time", "context_length", "bottleneck", "hbm_capacity"]
        result = rs.best("weight_fetch_time", question, over="batch_size", where=f"pass_time <= {limit}", also=also)
        assert result.context_length.values.tolist() == [1e3, 1e5]
        assert result.bottleneck.attrs["flag_meanings"]
        dims.add(tuple((name, array.dims) for name, array in result.items()))
    assert len(dims) == 1
    assert result.weight_fetch_time.dims == result.hbm_capacity.dims == ("context_length", "chips")


def test_a_kept_axis_has_no_gaps(decode):
    """Asked for, it is a coordinate, also where nothing is feasible."""
    question = {**decode, "batch_size": [1, 512], "context_length": [1e3, 1e7]}
    for objective, also in (("pass_time", "context_length"), ("context_length", [])):
        result = rs.best(objective, question, over="batch_size", also=also, where="pass_time <= 0.6 ms")
        assert np.isnan(result.batch_size).values.tolist() == [False, True]
        assert result.context_length.values.tolist() == [1e3, 1e7]
        assert "context_length" in result.indexes
        assert result.context_length.attrs["units"] == "token/sequence"


def test_kept_axes_that_do_not_matter(instruction_sets):
    for mode in ways(instruction_sets):
        with pytest.raises(
            errors.IneffectiveInput, match="the axis 'chips': 'chips' has no effect on pass_tokens: batch_size"
        ):
            rs.best("pass_tokens", over="batch_size", batch_size=[3, 1, 1], chips=[8, 16], **mode)
        question = Settled({"batch_size": [3, 1, 1], "chips": [8, 16]})
        result = rs.best("pass_tokens", question, over="batch_size", **mode)
        assert result.pass_tokens.dims == ()
        assert (float(result.pass_tokens), float(result.batch_size)) == (1, 1)
        question = Settled({"batch_size": [3, 1], "chips": [16, 8]})
        none = rs.best("pass_tokens", question, over="chips", **mode)
        assert none.pass_tokens.values.tolist() == [3, 1]
        assert none.chips.values.tolist() == [16, 16]
        limited = rs.best("pass_tokens", over="chips", where="chips < 16", batch_size=[3, 1], chips=[16, 8, 4], **mode)
        assert limited.chips.values.tolist() == [8, 8]


@pytest.mark.parametrize("shape", [(70, 4), (700, 300)], ids=["copied", "gathered"])
@pytest.mark.parametrize("objective", ["batch_size", "context_length", "pass_time"])
@pytest.mark.parametrize("order", [["a", "b"], ["b", "a"]])
def test_arrays_of_two_axes(shape, objective, order, bits):
    """Bounds never read outside of an array, in any memory layout and for any folded axis."""
    rng = np.random.default_rng(7)
    wide = rng.choice([8.0, 64.0, 512.0], size=(2 * shape[0], 3 * shape[1]))
    turned = rng.uniform(1.0, 4096.0, size=shape[::-1])

    def best(prune, arrange):
        given = {"batch_size": arrange(wide[::2, ::3]), "context_length": arrange(turned.T)}
        inputs = {name: xr.DataArray(array, dims=("a", "b")) for name, array in given.items()}
        chips = {"chips": [9.0, 2.0, 7.0, 5.0, 3.0, 8.0, 1.0]}
        over = (order[1], "chips")
        return rs.best(objective, CENTRES | inputs | chips, over=over, where="chips <= 5", prune=prune)

    expected = best(False, np.ascontiguousarray)
    for arrange in (np.asarray, np.ascontiguousarray):
        result = best(True, arrange)
        for name in expected.variables:
            assert np.array_equal(bits(result[name]), bits(expected[name])), name


# ------------------------------------------------------------------------------------------------------------- pareto


def front(vectors):
    """Return positions of non-dominated vectors, of equals the first, sorted by value."""
    kinds, first = np.unique(vectors + 0.0, axis=0, return_index=True)
    beaten = [bool((np.all(kinds <= v, axis=1) & np.any(kinds < v, axis=1)).any()) for v in kinds]
    return first[~np.array(beaten, dtype=bool)]


@settings(max_examples=50)
@given(data=st.data(), question=asked(most_points=1200))
def test_pareto_is_that_of_the_whole_grid(instruction_sets, bits, data, question):
    inputs, reference, where, _, met, _ = question
    names = data.draw(st.lists(st.sampled_from(OBJECTIVES), min_size=1, max_size=4, unique=True), label="objectives")
    split = data.draw(st.integers(0, len(names)), label="minimized")
    small, large = names[:split], names[split:]
    vectors = np.stack(
        [
            *(reference.values[n].reshape(-1) for n in small),
            *(-reference.values[n].reshape(-1).astype(float) for n in large),
        ],
        1,
    )
    ok = met.reshape(-1) & ~np.isnan(vectors).any(axis=1)
    expected = np.flatnonzero(ok)[front(vectors[ok])] if ok.any() else np.empty(0, dtype=int)
    also = [] if "memory_time" in names else ["memory_time"]
    for mode in ways(instruction_sets):
        result = rs.pareto(Settled(inputs), minimize=small, maximize=large, where=where, also=also, **mode)
        assert len(result) == len(expected)
        places = np.unravel_index(expected, reference.shape) if reference.shape else ()
        for dim, position in zip(reference.sizes, places, strict=True):
            assert np.array_equal(result[dim].to_numpy(), reference.coordinate(dim)[position])
        for name in [*names, *also]:
            column = result[name].cat.codes if isinstance(result[name].dtype, pd.CategoricalDtype) else result[name]
            same(column, reference.values[name].reshape(-1)[expected], bits)


def test_pareto_of_one_point_and_of_none(decode):
    result = rs.pareto(decode, minimize="pass_time", maximize="replica_throughput")
    assert result.shape == (1, 2)
    assert result.loc[0, "pass_time"] == rs.value("pass_time", decode)
    question = {**decode, "batch_size": [1, 2], "overlap": ["board", "none"]}
    none = rs.pareto(question, minimize="pass_time", where="pass_time <= 1 ns", also="bottleneck")
    assert list(none.columns) == ["batch_size", "overlap", "pass_time", "bottleneck"]
    assert len(none) == 0
    assert isinstance(none["bottleneck"].dtype, pd.CategoricalDtype)


def test_pareto_units_and_order(decode):
    question = {**decode, "batch_size": rs.geomspace(1, 8192, 60), "chips": [8, 72]}
    result = rs.pareto(question, minimize="cost_per_token", maximize="chips", units={"cost_per_token": "USD/Mtok"})
    plain = rs.pareto(question, minimize="cost_per_token", maximize="chips")
    assert result["cost_per_token"].is_monotonic_increasing
    assert np.allclose(result["cost_per_token"], plain["cost_per_token"] * 1e6, rtol=1e-15)
    largest = rs.pareto(question, maximize="replica_throughput")
    assert len(largest) == 1
    assert largest["replica_throughput"][0] == rs.evaluate("replica_throughput", question).max()
