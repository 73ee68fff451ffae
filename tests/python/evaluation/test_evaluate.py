"""`evaluate`: inputs, results, and attributes of the results."""

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from roofslate import errors, units
from roofslate.registry.registry import entries
from support.lazy import Later, made

PRESETS = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "prices": "lecture"}


# --------------------------------------------------------------------------------------------------------------- result


def test_results_carry_their_own_dims_units_and_meaning(decode):
    question = {**decode, "batch_size": [1, 2, 4], "context_length": [1000, 2000], "chips": [72, 144]}
    result = rs.evaluate(["pass_time", "compute_time", "weight_fetch_time", "hbm_drain_time", "kv_bytes"], question)
    assert result.pass_time.dims == ("batch_size", "context_length", "chips")
    assert result.compute_time.dims == ("batch_size", "chips")
    assert result.weight_fetch_time.dims == ("chips",)
    assert result.hbm_drain_time.dims == ()
    assert result.kv_bytes.dims == ("batch_size", "context_length")
    for name, array in result.items():
        assert array.attrs == {"units": entries()[name].unit, "long_name": entries()[name].brief, "basis": "floor"}
        assert array.dtype == np.float64
        assert array.name == name
    assert result.batch_size.attrs["units"] == "sequence"
    assert result.batch_size.attrs["long_name"] == entries()["batch_size"].brief
    assert result.batch_size.to_numpy().tolist() == [1, 2, 4]


def test_a_name_gives_an_array_and_a_list_a_dataset(decode):
    single = rs.evaluate("pass_time", decode)
    assert isinstance(single, xr.DataArray)
    assert single.shape == ()
    many = rs.evaluate(["pass_time"], decode)
    assert isinstance(many, xr.Dataset)
    assert float(many.pass_time) == float(single)


def test_an_axis_of_one_value_stays(decode):
    assert rs.evaluate("pass_tokens", batch_size=[64]).dims == ("batch_size",)
    assert rs.evaluate("pass_time", {**decode, "batch_size": [64], "chips": [8, 72]}).shape == (1, 2)
    assert rs.evaluate("model_bytes", model=["DeepSeek-V3"]).dims == ("model",)
    assert rs.evaluate("pass_tokens", batch_size=pd.Series([5], index=[2026])).dims == ("index",)
    out = np.zeros((1, 1))
    rs.evaluate("pass_tokens", batch_size=[3], pass_length=[2], out=out)
    assert out[0, 0] == 6


def test_a_supplied_quantity_cuts_the_graph():
    cut = rs.evaluate("cost_per_token", pass_time=["10 ms", "20 ms"], batch_size=100, chips=72, chip_price="$2/h")
    assert cut.dims == ("pass_time",)
    assert float(cut[1]) == pytest.approx(0.02 * 72 * 2 / 3600 / 100, rel=1e-14)


def test_a_supplied_quantity_changes_nothing_when_it_has_its_own_value(decode):
    question = {**decode, "batch_size": np.linspace(1, 5000, 100)}
    times = rs.evaluate("pass_time", question)
    assert rs.evaluate("cost_per_token", question, pass_time=times).equals(rs.evaluate("cost_per_token", question))
    cut = rs.evaluate("cost_per_token", question, pass_time=times)
    assert cut.attrs.pop("basis") == "floor; given: pass_time"
    plain = rs.evaluate("cost_per_token", question)
    assert plain.attrs.pop("basis") == "floor"
    assert cut.identical(plain)


def test_an_input_that_is_an_axis_comes_back_as_a_coordinate(decode):
    result = rs.evaluate(["batch_size", "pass_tokens"], {**decode, "batch_size": [2, 8]})
    assert result.batch_size.to_numpy().tolist() == [2, 8]
    assert rs.evaluate("batch_size", batch_size=[2, 8]).dims == ("batch_size",)


def test_attributes_survive_netcdf():
    """NetCDF-compatible texts and arrays, on variables, coordinates and the dataset."""
    result = rs.evaluate(
        ["pass_time", "bottleneck"], batch_size=[1, 2], context_length="8k", overlap=["board", "none"], **PRESETS
    )
    places = [result.attrs, *(result[name].attrs for name in result.variables)]
    for attrs in places:
        for key, value in attrs.items():
            assert isinstance(key, str)
            assert isinstance(value, str) or (isinstance(value, np.ndarray) and value.dtype.kind in "iuf"), (key, value)
    pytest.importorskip("scipy", reason="saving to NetCDF needs scipy")
    back = xr.load_dataset(result.to_netcdf(), decode_times=False)
    assert back.attrs == result.attrs
    assert np.array_equal(back.pass_time, result.pass_time)


def test_a_dataset_says_where_it_comes_from():
    result = rs.evaluate(["pass_time"], batch_size=[1, 2], context_length="8k", overlap="none", **PRESETS)
    assert result.attrs["roofslate_version"] == rs.__version__
    assert result.attrs["model"].startswith("DeepSeek-V3")
    assert result.attrs["hardware"].startswith("GB200 NVL72")
    assert rs.models["DeepSeek-V3"].date in result.attrs["model"]
    assert result.attrs["overlap"] == "none"
    assert units.parse(result.attrs["context_length"], "token/sequence") == 8000
    assert "batch_size" not in result.attrs


def test_choices_come_out_as_flags(decode):
    term = rs.evaluate("bottleneck", {**decode, "batch_size": [1, 100_000], "context_length": [1, 500_000]})
    assert term.attrs["flag_meanings"] == "compute weight_fetch kv_fetch host_link"
    assert term.attrs["flag_values"].tolist() == [0, 1, 2, 3]
    assert term.dtype == np.int8
    assert term.to_numpy().tolist() == [[1, 1], [0, 2]]
    assert rs.value("bottleneck", decode) in term.attrs["flag_meanings"].split()


def test_units_of_the_result(decode):
    question = {**decode, "batch_size": [100, 1000]}
    plain = rs.evaluate(["cost_per_token", "pass_time"], question)
    result = rs.evaluate(
        ["cost_per_token", "pass_time"], question, units={"cost_per_token": "USD/Mtoken", "pass_time": "ms"}
    )
    assert result.cost_per_token.attrs["units"] == "USD/Mtoken"
    assert result.pass_time.attrs["units"] == "ms"
    assert np.allclose(result.cost_per_token, plain.cost_per_token * 1e6, rtol=1e-15, atol=0)
    assert np.allclose(result.pass_time, plain.pass_time * 1e3, rtol=1e-15, atol=0)
    later = rs.to_units(plain, {"cost_per_token": "USD/Mtoken", "pass_time": "ms"})
    assert later.identical(result)
    assert rs.to_units(plain.pass_time, "ms").identical(result.pass_time)
    assert rs.to_units(result.pass_time, "s").attrs["units"] == "s"
    with pytest.raises(errors.UnitError, match=r"cannot convert .*'GB'"):
        rs.to_units(plain.pass_time, "GB")
    with pytest.raises(errors.UnknownName, match="no variable 'pas_time'; it holds cost_per_token, pass_time"):
        rs.to_units(plain, {"pas_time": "ms"})


def test_float32_goes_between_other_numbers():
    axes = {"batch_size": np.arange(1.0, 700) / 3, "pass_length": np.arange(1.0, 6)}
    memory = np.full((699, 10), -1, np.float32)
    result = rs.evaluate("pass_tokens", out=memory[:, ::2], dtype="float32", **axes)
    assert np.shares_memory(result, memory)
    assert np.array_equal(memory[:, ::2], rs.evaluate("pass_tokens", **axes).astype("float32"))
    assert (memory[:, 1::2] == -1).all()


def test_float32_into_given_memory_is_rounded_once(decode):
    question = {**decode, "batch_size": np.geomspace(1, 1e4, 5000)}
    wishes = {"units": {"pass_time": "us"}, "dtype": "float32"}
    out = np.empty(5000, dtype=np.float32)
    given = rs.evaluate("pass_time", question, out=out, **wishes)
    assert np.shares_memory(given.values, out)
    assert np.array_equal(out, rs.evaluate("pass_time", question, **wishes).values)
    with pytest.raises(errors.AxisError, match=r"'pass_time' must be a writable float32 array of shape \(5000,\)"):
        rs.evaluate("pass_time", question, out=out[1:], **wishes)


@pytest.mark.usefixtures("instruction_set")
@pytest.mark.parametrize("first", [0, 1])  # on a cache line and next to one
def test_float32_with_every_instruction_set(decode, first):
    question = {**decode, "batch_size": np.geomspace(1, 1e4, 100_003)}
    memory = np.empty(100_004, np.float32)
    result = rs.evaluate("pass_time", question, dtype="float32", out=memory[first : first + 100_003])
    assert np.array_equal(result, rs.evaluate("pass_time", question).astype("float32"))


def test_float32_is_a_storage_format(decode):
    question = {**decode, "batch_size": np.linspace(1, 1000, 77)}
    small, exact = (rs.evaluate(["pass_time", "bottleneck"], question, dtype=d) for d in ("float32", "float64"))
    assert small.pass_time.dtype == np.float32
    assert small.bottleneck.dtype == np.int8
    assert np.array_equal(small.pass_time, exact.pass_time.astype(np.float32))
    assert small.pass_time.attrs == exact.pass_time.attrs


def test_given_memory_is_filled(decode):
    question = {**decode, "batch_size": [1, 2, 3], "chips": [8, 72]}
    out = np.full((3, 2), -1.0)
    result = rs.evaluate("pass_time", question, out=out)
    assert np.shares_memory(result.to_numpy(), out)
    assert np.array_equal(out, rs.evaluate("pass_time", question))
    both = {"pass_time": np.zeros((3, 2)), "weight_fetch_time": np.zeros(2)}
    rs.evaluate(list(both), question, out=both)
    assert np.array_equal(both["pass_time"], out)
    del question["batch_size"]
    assert np.array_equal(both["weight_fetch_time"], rs.evaluate("weight_fetch_time", question))
    scaled = np.zeros((3, 2))
    rs.evaluate("pass_time", {"batch_size": [1, 2, 3], **question}, out=scaled, units={"pass_time": "ms"})
    assert np.allclose(scaled, out * 1e3, rtol=1e-15, atol=0)


def test_a_missing_input_is_named_with_the_chain_that_needs_it(decode):
    del decode["chips"]
    with pytest.raises(errors.MissingInput) as caught:
        rs.evaluate("compute_utilization", **decode)
    assert str(caught.value) == (
        "missing input 'chips' (chips of a replica, all pipeline stages, in chip); "
        "needed by chips_per_stage <- stage_flops <- compute_time <- compute_utilization"
    )


@pytest.fixture(name="decode")
def copy_of_decode(decode):
    return dict(decode)


# --------------------------------------------------------------------------------------------------------------- inputs


@pytest.mark.parametrize(
    "values",
    [
        [1, 2, 4],
        np.array([1, 2, 4]),
        np.array([1.0, 2.0, 4.0], dtype=">f8"),
        np.array([1.0, 2.0, 4.0], dtype=np.float32),
        np.array([1, 2, 4], dtype=np.uint8),
        np.array([1, 2, 4], dtype=object),
        np.array([1.0, 0, 2, 0, 4])[::2],
        np.array([4.0, 2.0, 1.0])[::-1],
        np.frombuffer(b"\0" + np.array([1.0, 2.0, 4.0]).tobytes(), dtype=np.uint8)[1:].view(np.float64),
        ["1", "2 seq", 4],
        pd.Index([1, 2, 4]),
        pd.array([1, 2, 4], dtype="Int64"),
    ],
    ids=lambda v: f"{type(v).__name__}-{getattr(v, 'dtype', '')}",
)
def test_axes_in_every_form(values):
    result = rs.evaluate("pass_tokens", batch_size=values, pass_length=3)
    assert result.dims == ("batch_size",)
    assert result.to_numpy().tolist() == [3, 6, 12]
    assert result.batch_size.to_numpy().tolist() == [1, 2, 4]


@pytest.mark.parametrize(
    "value",
    [
        64,
        64.0,
        "64",
        "0.064k",
        "64 seq",
        np.float32(64),
        np.int16(64),
        np.array(64),
        np.array(64.0),
        Later(lambda: xr.DataArray(64.0)),
    ],
)
def test_single_numbers_in_every_form(value):
    assert float(rs.evaluate("pass_tokens", batch_size=made(value))) == 64
    assert rs.value("pass_tokens", batch_size=made(value)) == 64


def test_range_makes_an_axis():
    assert rs.evaluate("pass_tokens", batch_size=range(1, 4)).to_numpy().tolist() == [1, 2, 3]


def test_inputs_are_left_as_they_are():
    batch = np.array([3.0, 1.0, 2.0])
    batch.setflags(write=False)
    result = rs.evaluate("pass_tokens", batch_size=batch)
    assert result.to_numpy().tolist() == [3, 1, 2]
    assert result.batch_size.to_numpy().tolist() == [3, 1, 2]
    assert not np.shares_memory(result.to_numpy(), batch)


def test_a_series_brings_its_index():
    batch = pd.Series([1.0, 2.0], index=pd.Index(["small", "large"], name="deployment"), name="whatever")
    result = rs.evaluate("pass_tokens", batch_size=batch)
    assert result.dims == ("deployment",)
    assert result.sel(deployment="large") == 2
    days = pd.Series(["1 seq", "2 seq"], index=pd.date_range("2026-01-01", periods=2))
    assert rs.evaluate("pass_tokens", batch_size=days).sel(index="2026-01-02") == 2
    assert rs.evaluate("pass_tokens", batch_size=pd.Series(pd.array([1, 2], dtype="Int64"))).to_numpy().tolist() == [
        1,
        2,
    ]


def test_a_data_array_brings_its_dims_and_units():
    batch = xr.DataArray(
        [[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]],
        dims=("site", "hour"),
        coords={"site": ["a", "b"]},
        attrs={"units": "ksequence"},
    )
    result = rs.evaluate("pass_tokens", batch_size=batch, pass_length=[1, 2])
    assert result.dims == ("site", "hour", "pass_length")
    assert result.sel(site="b", pass_length=2).to_numpy().tolist() == [8000, 10000, 12000]
    assert "hour" not in result.coords
    turned = rs.evaluate("pass_tokens", batch_size=batch.transpose("hour", "site"), pass_length=[1, 2])
    assert turned.transpose(*result.dims).identical(result)
    with pytest.raises(errors.UnitError, match=r"batch_size: cannot convert sequence to 'GB'"):
        rs.evaluate("pass_tokens", batch_size=batch.assign_attrs(units="GB"))


def test_inputs_on_the_same_dim_zip():
    result = rs.evaluate(
        ["pass_tokens", "model_bytes"],
        batch_size=xr.DataArray([1, 2], dims="case"),
        pass_length=xr.DataArray([10, 20], dims="case"),
        model=xr.DataArray(["DeepSeek-V3", "Kimi-K2"], dims="case"),
    )
    assert result.pass_tokens.to_numpy().tolist() == [10, 40]
    assert result.model_bytes.dims == ("case",)
    assert float(result.model_bytes[1]) == rs.value("model_bytes", model="Kimi-K2")
    series = pd.Series(["DeepSeek-V3", "Kimi-K2"], index=pd.Index(["x", "y"], name="case"))
    assert rs.evaluate("model_bytes", model=series).sel(case="y") == result.model_bytes[1]


def test_arrays_without_coordinates_zip_with_arrays_that_have_some():
    named = xr.DataArray([1, 2], dims="case", coords={"case": ["x", "y"]})
    bare = xr.DataArray([10, 20], dims="case")
    for question in ({"batch_size": named, "pass_length": bare}, {"batch_size": bare, "pass_length": named}):
        result = rs.evaluate("pass_tokens", **question)
        assert result.case.to_numpy().tolist() == ["x", "y"]
        assert result.to_numpy().tolist() == [10, 40]
    gaps = xr.DataArray([1, 2], dims="case", coords={"case": [0.5, np.nan]})
    assert rs.evaluate("pass_tokens", batch_size=gaps, pass_length=gaps).to_numpy().tolist() == [1, 4]


def test_axes_with_units():
    even = rs.evaluate("replica_throughput", pass_time=rs.linspace("10 ms", "30 ms", 3), batch_size=6)
    assert np.allclose(even.pass_time, [0.01, 0.02, 0.03], rtol=1e-15)
    assert np.allclose(even, [600, 300, 200], rtol=1e-14)
    ratios = rs.evaluate("pass_tokens", batch_size=rs.geomspace(1, 1024, 11))
    assert np.allclose(ratios, 2.0 ** np.arange(11), rtol=1e-13)


def test_quantities_of_pint():
    pint = pytest.importorskip("pint", reason="needs pint")
    unit = pint.UnitRegistry()
    capacity, bandwidth = unit.Quantity(192, "gigabyte"), unit.Quantity(8, "terabyte / second")
    assert rs.value("hbm_drain_time", hbm_capacity=capacity, hbm_bandwidth=bandwidth) == 0.024
    several = rs.evaluate(
        "hbm_drain_time", hbm_capacity=unit.Quantity([96.0, 192.0], "gigabyte"), hbm_bandwidth="8 TB/s"
    )
    assert several.dims == ("hbm_capacity",)
    assert several.to_numpy().tolist() == [0.012, 0.024]
    with pytest.raises(errors.UnitError, match=r"hbm_capacity: got a quantity in .*second, expected byte/chip"):
        rs.evaluate("hbm_drain_time", hbm_capacity=unit.Quantity(1, "second"), hbm_bandwidth="8 TB/s")


def test_choices_go_in_as_words(decode):
    result = rs.evaluate("pass_time", decode, overlap=["board", "serial_kv", "none"])
    assert result.dims == ("overlap",)
    assert result.overlap.to_numpy().tolist() == ["board", "serial_kv", "none"]
    for word in result.overlap.to_numpy():
        assert float(result.sel(overlap=word)) == rs.value("pass_time", decode, overlap=str(word))
    modes = xr.DataArray(["none", "board"], dims="mode")
    assert rs.evaluate("pass_time", decode, overlap=modes).dims == ("mode",)
    assert rs.evaluate("overlap", overlap=["none", "board"]).to_numpy().tolist() == [2, 0]


def test_choices_that_came_out_go_in_again(decode):
    term = rs.evaluate("overlap", overlap=xr.DataArray(["none", "board"], dims="mode"))
    assert rs.evaluate("pass_time", decode, overlap=term).identical(
        rs.evaluate("pass_time", decode, overlap=xr.DataArray(["none", "board"], dims="mode"))
    )
    other = xr.DataArray(
        np.array([5, 4], dtype=np.int8),
        dims="mode",
        attrs={"flag_values": np.array([4, 5]), "flag_meanings": "board none"},
    )
    assert rs.evaluate("overlap", overlap=other).to_numpy().tolist() == [2, 0]
    with pytest.raises(errors.RoofslateError, match="overlap"):
        rs.evaluate("overlap", overlap=other + 1)
    with pytest.raises(errors.RoofslateError, match="overlap"):
        rs.evaluate("overlap", overlap=term.copy(data=np.array([0, -1], dtype=np.int8)))


def test_presets_make_an_axis():
    result = rs.evaluate(
        "pass_time",
        model=["DeepSeek-V3", "Kimi-K2"],
        hardware=["HGX H200", "GB200 NVL72"],
        batch_size=64,
        context_length="8k",
    )
    assert result.dims == ("model", "hardware")
    assert result.model.to_numpy().tolist() == ["DeepSeek-V3", "Kimi-K2"]
    for model in result.model.to_numpy():
        for hardware in result.hardware.to_numpy():
            one = rs.value("pass_time", model=str(model), hardware=str(hardware), batch_size=64, context_length="8k")
            assert float(result.sel(model=model, hardware=hardware)) == one
    mixed = rs.evaluate("model_bytes", model=[rs.models["Kimi-K2"], "deepseek v3"])
    assert mixed.model.to_numpy().tolist() == ["Kimi-K2", "DeepSeek-V3"]


def test_an_explicit_input_beats_a_preset_and_a_preset_a_default():
    question = {"batch_size": 64, "context_length": "8k"}
    by_preset = rs.value("model_bytes", model="DeepSeek-V3")
    assert rs.value("model_bytes", model="DeepSeek-V3", total_parameters=1e12, bytes_per_weight=2) == 2e12
    assert rs.value("model_bytes", bytes_per_weight=2, total_parameters=1e12, model="DeepSeek-V3") == 2e12
    assert by_preset == rs.models["DeepSeek-V3"]["total_parameters"] * rs.value("bytes_per_weight", model="DeepSeek-V3")
    fewer = rs.evaluate("pass_time", model="DeepSeek-V3", hardware="GB200 NVL72", chips=[36, 72], **question)
    assert float(fewer[1]) == rs.value("pass_time", model="DeepSeek-V3", hardware="GB200 NVL72", **question)
    assert fewer[0] > fewer[1]
    assert rs.value("compute_efficiency") == 1
    assert rs.value("compute_efficiency", compute_efficiency=0.5) == 0.5


def test_an_input_without_effect_is_refused():
    """kv_heads with a preset that supplies a dependent of it."""
    for call in (rs.evaluate, rs.value):
        with pytest.raises(errors.IneffectiveInput) as caught:
            call("kv_bytes_per_token", model="lecture", kv_heads=1)
        assert "'kv_heads' has no effect" in str(caught.value)
        assert "model='lecture'" in str(caught.value)
        assert "'kv_bytes_per_token'" in str(caught.value)
    with pytest.raises(errors.IneffectiveInput, match="'weight_format' has no effect"):
        rs.evaluate("model_bytes", model="lecture", weight_format=["fp4", "fp8"])


def test_known_inputs_that_are_not_needed_are_accepted(decode):
    assert rs.value("pass_time", {**decode, "batch_slots": 40}) == rs.value("pass_time", decode)
    assert rs.value("pass_tokens", model="DeepSeek-V3", batch_size=3) == 3


# --------------------------------------------------------------------------------------------------------- many axes

AXES = {
    "batch_size": [1, 2],
    "context_length": [1000, 2000],
    "pass_length": [1, 2],
    "chips": [64, 72],
    "pipeline_stages": [1, 2],
    "total_parameters": [671e9, 700e9],
    "active_parameters": [37e9, 40e9],
    "bytes_per_weight": [0.5, 1],
    "kv_bytes_per_token": [1667, 7e4],
    "peak_flops": [9e15, 1e16],
    "hbm_bandwidth": [8e12, 2e13],
    "compute_efficiency": [0.5, 1],
    "bandwidth_efficiency": [0.7, 1],
    "chip_price": [1e-4, 2e-4],
    "microbatches": [4, 8],
    "overlap": ["board", "none"],
    "monthly_tokens": [1e13, 2e13],
}


@pytest.mark.parametrize("count", [12, 16])
def test_many_axes(count):
    axes = dict(list(AXES.items())[:count])
    scalars = {name: values[0] for name, values in AXES.items() if name not in axes}
    result = rs.evaluate("cost_per_token", {**axes, **scalars})
    assert result.dims == tuple(axes)[:15] + (("overlap",) if count == 16 else ())
    rng = np.random.default_rng(3)
    for _ in range(20):
        point = {name: values[rng.integers(0, 2)] for name, values in axes.items()}
        assert float(result.sel(point)) == rs.value("cost_per_token", {**point, **scalars})


def test_too_many_axes_are_refused():
    with pytest.raises(errors.AxisError, match=r"at most 16 axes, 17 were given"):
        rs.evaluate("replicas_for_market", **AXES)


@pytest.mark.parametrize("outputs", ["pass_time", ["pass_time", "batch_size", "latency_floor"], "kv_bytes"])
@pytest.mark.parametrize(
    "axis", [[1.0, 2.0], np.array([1, 2]), pd.Series([1.0, 2.0], index=pd.Index(["x", "y"], name="case"))]
)
def test_results_are_what_xarray_would_have_made(decode, outputs, axis):
    """They are put together by parts, without its search for conflicts."""
    result = rs.evaluate(outputs, {**decode, "batch_size": axis, "context_length": [1000, 2000]})
    if isinstance(outputs, str):
        plain = xr.DataArray(result.variable, coords={n: (c.dims, c.values, c.attrs) for n, c in result.coords.items()})
        plain.name = result.name
    else:
        plain = xr.Dataset(
            {n: (v.dims, v.values, v.attrs) for n, v in result.data_vars.items()},
            coords={n: (c.dims, c.values, c.attrs) for n, c in result.coords.items()},
            attrs=result.attrs,
        )
    xr.testing.assert_identical(result, plain)
    assert set(result.xindexes) == set(plain.xindexes)
    for dim in result.xindexes:
        assert result.indexes[dim].equals(plain.indexes[dim])
    chosen = result.isel(batch_size=0) if "batch_size" in result.dims else result.isel(case=0)
    assert "units" in (chosen if isinstance(outputs, str) else chosen["pass_time"]).attrs


def test_an_axis_of_a_result_that_comes_back_keeps_its_unit():
    cell = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "batch_size": 64, "chip_price": "3 USD/h"}
    times = rs.evaluate("memory_time", cell, context_length=[1000.0, 2000.0])
    for more in ({}, {"context_length": [1000.0, 2000.0]}):
        cost = rs.evaluate("cost_per_token", {**cell, **more}, pass_time=times)
        assert cost["context_length"].attrs == times["context_length"].attrs
    bare = times.assign_coords(context_length=("context_length", [1000.0, 2000.0]))
    cost = rs.evaluate("cost_per_token", cell, pass_time=bare)
    assert cost["context_length"].attrs == {}  # it may be in other units
