"""`quantiles` are those that NumPy has of the grid that evaluate keeps."""

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate.grid.read import Settled
from support.grids import NUMBERS, Whole, questions, same, ways

QS = [0.0, 0.001, 0.1, 0.25, 1 / 3, 0.5, 0.5, 0.77, 0.999, 1.0]


def quantiles(values, q):
    """Equal NumPy's for numbers. Between two equal values is the value, infinite or not."""
    numbers = np.sort(values[~np.isnan(values)])
    if not numbers.size:
        return np.full(len(q), np.nan)
    with np.errstate(invalid="ignore"):
        linear = np.quantile(numbers, q, method="linear")
    low, high = (np.quantile(numbers, q, method=m) for m in ("lower", "higher"))
    return np.where(low == high, low, linear)


@pytest.mark.filterwarnings("ignore:.*make a grid:roofslate.errors.RoofslateWarning")  # as drawn
@settings(max_examples=60)
@given(data=st.data(), inputs=questions())
def test_quantiles_are_numpys(instruction_sets, bits, data, inputs):
    name = data.draw(st.sampled_from(NUMBERS), label="quantity")
    reference = Whole([name], inputs)
    over = data.draw(st.lists(st.sampled_from(list(reference.sizes)), unique=True), label="over")
    rows = reference.folded(reference.values[name], over)
    expected = np.moveaxis(np.apply_along_axis(quantiles, -1, rows, QS), -1, 0)
    for mode in ways(instruction_sets, prune=(True,)):
        result = rs.quantiles(name, QS, Settled(inputs), over=over, **mode)
        remaining = [dim for dim in reference.sizes if dim in reference.dims[name] and dim not in over]
        assert result.dims == ("quantile", *remaining)
        full = np.stack([reference.full(result.isel(quantile=k, drop=True), over) for k in range(len(QS))])
        same(full, expected, bits)
        one = rs.quantiles(name, 0.77, Settled(inputs), over=over, **mode)
        assert isinstance(one, float) or one.dims == tuple(remaining)
        same(
            reference.full(one, over) if remaining else one,
            expected[7] if remaining else expected[7].reshape(-1)[0],
            bits,
        )


@pytest.mark.parametrize("name", ["pass_time", "cost_per_token", "pass_tokens", "balance_batch_at_context"])
def test_quantiles_of_many_points(name, instruction_sets, decode, bits):
    """More points than are sorted: they are counted in slots first, in one thread or several."""
    axes = {"batch_size": np.linspace(4000, 1, 600), "context_length": np.geomspace(10, 1e6, 500)}
    question = Settled({**decode, **axes, "balance_context": 5e4, "chips": [8, 72]})
    q = np.concatenate([np.linspace(0, 1, 201), [1e-9, 1 - 1e-9, 0.123456789]])
    values = rs.evaluate(name, question)
    repeated = np.repeat(values.to_numpy(), 600_000 // values.size)
    for mode in ways(instruction_sets, prune=(True,)):
        same(rs.quantiles(name, q, question, **mode), quantiles(repeated, q), bits)
    by_chips = rs.quantiles(name, q, question, over=["context_length", "batch_size"])
    for k in range(by_chips.sizes.get("chips", 1)):
        result, expected = (x.isel(chips=k) if "chips" in x.dims else x for x in (by_chips, values))
        same(result, quantiles(np.repeat(expected.to_numpy(), 300_000 // expected.size), q), bits)


def test_quantiles_of_constants_and_infinities(decode, bits):
    wide = {"batch_size": np.full(700, 64.0), "context_length": np.full(600, 1e4)}
    constant = rs.value("pass_time", {**decode, "batch_size": 64.0, "context_length": 1e4})
    assert rs.quantiles("pass_time", QS, {**decode, **wide}).values.tolist() == [constant] * len(QS)
    assert rs.quantiles("pass_time", 0.3, decode) == rs.value("pass_time", decode)
    question = {"balance_batch": np.geomspace(10, 1e4, 700), "balance_context": 1e4}
    question["context_length"] = np.linspace(1e3, 1.5e4, 500)
    values = rs.evaluate("balance_batch_at_context", question).to_numpy()
    assert 0.3 < np.isinf(values).mean() < 0.5
    q = np.linspace(0, 1, 60)
    same(rs.quantiles("balance_batch_at_context", q, question), quantiles(values, q), bits)
    links = {"scale_up_bandwidth": xr.DataArray([np.inf] * 3, dims="up"), "scale_out_bandwidth": np.inf}
    assert np.isnan(rs.quantiles("link_bandwidth_ratio", 0.5, links))
    links["scale_out_bandwidth"] = xr.DataArray([np.inf, 1e11], dims="out_of_rack")
    assert rs.quantiles("link_bandwidth_ratio", 0.5, links) == np.inf


def test_quantiles_in_units(decode):
    question = {**decode, "batch_size": [1, 512, 4096]}
    result = rs.quantiles("pass_time", [0.5], question, units="ms")
    assert result.attrs["units"] == "ms"
    assert float(result[0]) == float(rs.evaluate("pass_time", question, units={"pass_time": "ms"})[1])
    assert result.coords["quantile"].values.tolist() == [0.5]
