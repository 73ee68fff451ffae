"""`bounds` enclose all values of the inputs' intervals, and are tight for single uses."""

import numpy as np
import roofslate as rs
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from roofslate.grid.read import Settled
from support.grids import OBJECTIVES, PRESETS, WORDS, questions, same


@settings(max_examples=100)
@given(data=st.data(), inputs=questions())
def test_bounds_hold_for_all_values(data, inputs):
    name = data.draw(st.sampled_from(OBJECTIVES), label="quantity")
    values = rs.evaluate(name, Settled(inputs)).to_numpy().astype(float)

    def ends(key, given_values):
        if key in WORDS or key in PRESETS or not isinstance(given_values, np.ndarray):
            return given_values
        return (float(given_values.min()), float(given_values.max()))

    for question in (inputs, {key: ends(key, x) for key, x in inputs.items()}):
        if any(isinstance(x, tuple) for x in question.values()) and any(
            isinstance(x, xr.DataArray) and set(x.dims) & set(inputs) for x in question.values()
        ):
            continue  # an array over two axes needs them whole
        low, high = rs.bounds(name, Settled(question))
        if np.isnan(values).any():
            assert np.isnan(low)
            assert np.isnan(high)
        elif not np.isnan(low):
            assert low <= values.min()
            assert values.max() <= high


@settings(max_examples=60)
@given(inputs=questions(), name=st.sampled_from(["pass_tokens", "hbm_drain_time", "hbm_capacity", "chips"]))
def test_bounds_of_what_takes_each_input_once_are_reached(inputs, name):
    if not any(isinstance(x, xr.DataArray) for x in inputs.values()) and not {"model", "hardware", "prices"} & set(
        inputs
    ):
        values = rs.evaluate([name, *inputs], Settled(inputs))[name].to_numpy()
        assert rs.bounds(name, Settled(inputs)) == (values.min(), values.max())


ENDS = st.tuples(st.floats(1e2, 2e5), st.floats(1e2, 2e5)).map(sorted)


@given(
    shortest=ENDS,
    longest=st.tuples(st.floats(2e5, 1e6), st.floats(2e5, 1e6)).map(sorted),
    exponent=st.tuples(st.floats(0, 4), st.floats(0, 4)).map(sorted),
    spread=st.sampled_from(["uniform", "log_uniform", "power_law"]),
)
@example(shortest=[1e3, 2e5], longest=[2e5, 3e5], exponent=[0, 3], spread="power_law")  # all contexts may be alike
@example(shortest=[1e3, 2e5], longest=[2e5, 3e5], exponent=[1, 1], spread="log_uniform")
@example(shortest=[1e3, 1e3], longest=[2e5, 2e5], exponent=[0.9, 1.1], spread="power_law")  # the mean is a limit
def test_bounds_of_mean_contexts_are_numbers_and_hold(shortest, longest, exponent, spread):
    low, high = rs.bounds(
        "mean_short_context",
        Settled(),
        context_distribution=spread,
        shortest_context=tuple(shortest),
        long_context_threshold=tuple(longest),
        traffic_exponent=tuple(exponent),
    )
    assert 0 < low <= high < np.inf
    values = rs.evaluate(
        ["mean_short_context", "traffic_exponent"],
        context_distribution=spread,
        shortest_context=np.linspace(*shortest, 5),
        long_context_threshold=np.linspace(*longest, 5),
        traffic_exponent=np.linspace(*exponent, 9),
    )["mean_short_context"]
    assert low <= float(values.min())
    assert float(values.max()) <= high
    # a mean is between; 1e-9: exponentials lose digits where contexts are almost alike
    assert shortest[0] * (1 - 1e-9) <= float(values.min())
    assert float(values.max()) <= longest[1] * (1 + 1e-9)


def test_bounds_see_which_side_of_a_condition_is_taken():
    """A balance reached on its whole range is bounded without infinity, which means never."""
    known = {"output_input_ratio": (3, 8), "context_length": (1e3, 1e5), "balance_batch": 2400}
    assert rs.bounds("batch_from_prices", balance_context=(1e5, 2e5), **known)[1] == 2400 / (3 - 1)
    assert rs.bounds("batch_from_prices", balance_context=(3e4, 2e5), **known)[1] == np.inf  # may be unreachable
    never = {**known, "context_length": (9e5, 1e6)}
    assert rs.bounds("batch_from_prices", balance_context=1e5, **never) == (np.inf, np.inf)


def test_bounds_of_a_time_are_reached(decode, bits):
    ranges = {"batch_size": (1.0, 4096.0), "context_length": (100.0, 1e5), "chips": (8.0, 72.0)}
    grid = {**decode, **{name: np.linspace(*ends, 9) for name, ends in ranges.items()}}
    for name in ("pass_time", "kv_fetch_time", "weight_fetch_time", "memory_time", "hbm_drain_time"):
        values = rs.evaluate([name, *ranges], grid)[name]
        same(rs.bounds(name, Settled({**decode, **ranges})), (values.min(), values.max()), bits)
    low, high = rs.bounds("pass_time", {**decode, **ranges})
    assert rs.bounds("pass_time", {**decode, **ranges}, units="ms") == (low / 1e-3, high / 1e-3)
    words = rs.bounds("pass_time", decode, overlap=["board", "none"])
    by_overlap = [rs.value("pass_time", decode, overlap=word) for word in ("board", "none")]
    assert words == (min(by_overlap), max(by_overlap))
    assert rs.bounds("batch_size", batch_size=("1", "8k")) == (1, 8000)
    presets = rs.bounds("hbm_bandwidth", hardware=["H200", "B200", "H100"])
    assert presets == (rs.hardware["H100"].values["hbm_bandwidth"], rs.hardware["B200"].values["hbm_bandwidth"])
