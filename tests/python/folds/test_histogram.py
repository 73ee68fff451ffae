"""`count` and `histogram` equal NumPy's counts on the grid of evaluate."""

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import errors
from roofslate.grid.read import Settled
from support.grids import NUMBERS, Whole, asked, questions, same, ways

# -------------------------------------------------------------------------------------------------------------- count


@settings(max_examples=60)
@given(question=asked(least_conditions=1))
def test_count_is_that_of_the_whole_grid(instruction_sets, question):
    inputs, reference, where, needed, met, over = question
    varies = set().union(*(reference.dims[name] for name in needed))
    expected = reference.folded(met, over).sum(axis=-1)
    for mode in ways(instruction_sets):
        assert rs.count(where, Settled(inputs), **mode) == int(met.sum())
        result = rs.count(where, Settled(inputs), over=over, **mode)
        if varies - set(over):
            assert list(result.dims) == [dim for dim in reference.sizes if dim in varies and dim not in over]
            assert np.array_equal(reference.full(result, over), expected)
            assert result.dtype == np.int64
        else:
            assert isinstance(result, int)
            assert (expected == result).all()


def test_count_counts_points_that_differ_in_nothing_it_needs(instruction_sets):
    for mode in ways(instruction_sets):
        assert rs.count("pass_tokens >= 5 tok", Settled(context_length=[1, 2, 3]), batch_size=range(1, 9), **mode) == 12
        assert rs.count("pass_tokens >= 5 tok", Settled(context_length=[1, 2, 3]), batch_size=7, **mode) == 3
        each = rs.count(
            "pass_tokens >= 5",
            Settled(batch_size=[1, 7], context_length=[1, 2, 3], chips=[8, 16]),
            over="chips",
            **mode,
        )
        assert each.to_dict()["data"] == [0, 2]


# ---------------------------------------------------------------------------------------------------------- histogram


@pytest.mark.filterwarnings("ignore:.*make a grid:roofslate.errors.RoofslateWarning")  # as drawn
@settings(max_examples=60)
@given(data=st.data(), inputs=questions(), bins=st.sampled_from([1, 2, 7, 50, 400]), log=st.booleans())
def test_histogram_is_numpys(instruction_sets, bits, data, inputs, bins, log):
    name = data.draw(st.sampled_from(NUMBERS), label="quantity")
    reference = Whole([name], inputs)
    over = data.draw(st.lists(st.sampled_from(list(reference.sizes)), unique=True), label="over")
    values = reference.values[name]
    finite = values[np.isfinite(values)]
    if not finite.size or (log and finite.min() <= 0):
        return
    low, high = finite.min(), finite.max()
    if log:
        edges = np.geomspace(*((low, high) if low < high else (low / 2, high * 2)), bins + 1)
    else:
        try:
            edges = np.histogram_bin_edges(finite, bins)
        except ValueError:  # all values equal up to rounding
            return
    given_range = data.draw(st.booleans(), label="range")
    if given_range:
        ends = (float(np.quantile(finite, 0.2)), float(np.quantile(finite, 0.7, method="higher")))
        if ends[0] < ends[1]:
            edges = (np.geomspace if log else np.linspace)(*ends, bins + 1)
        else:
            given_range = False
    if not np.all(np.diff(edges) > 0):
        with pytest.raises(errors.ValueRangeError, match=r"bins do not fit between .* Ask for fewer"):
            rs.histogram(name, Settled(inputs), bins=bins, log=log, **({"range": ends} if given_range else {}))
        return
    asked_bins = {"bins": edges} if data.draw(st.booleans(), label="edges") else {"bins": bins, "log": log}
    if given_range and "log" in asked_bins:
        asked_bins["range"] = ends
    rows = reference.folded(values, over)
    expected = np.apply_along_axis(lambda row: np.histogram(row[np.isfinite(row)], edges)[0], -1, rows)
    for mode in ways(instruction_sets):
        result = rs.histogram(name, Settled(inputs), over=over, **asked_bins, **mode)
        same(result.lower, edges[:-1], bits)
        same(result.upper, edges[1:], bits)
        remaining = [dim for dim in reference.sizes if dim in reference.dims[name] and dim not in over]
        assert result["count"].dims == (*remaining, "bin")
        count = result["count"].expand_dims({d: n for d, n in reference.sizes.items() if d not in (*remaining, *over)})
        order = [dim for dim in reference.sizes if dim not in over]
        assert np.array_equal(count.transpose(*order, "bin"), expected)
        assert np.array_equal(reference.full(result.below, over), (rows < edges[0]).sum(-1))
        assert np.array_equal(reference.full(result.above, over), (rows > edges[-1]).sum(-1))
        assert np.array_equal(reference.full(result.nan, over), np.isnan(rows).sum(-1))


def test_histogram_of_even_bins_is_that_of_numpy(decode):
    question = {**decode, "batch_size": np.linspace(1, 4000, 700), "context_length": np.linspace(1, 1e5, 300)}
    values = rs.evaluate("pass_time", question).to_numpy()
    for bins in (1, 10, 333, 100_000):
        counts, edges = np.histogram(values, bins)
        result = rs.histogram("pass_time", question, bins=bins)
        assert np.array_equal(result["count"], counts)
        assert np.array_equal([*result.lower.values, result.upper.values[-1]], edges)
    counts, edges = np.histogram(values, 20, range=(0.002, 0.02))
    result = rs.histogram("pass_time", question, bins=20, range=("2 ms", "20 ms"))
    assert np.array_equal(result["count"], counts)
    assert int(result["count"].sum() + result.below + result.above) == values.size
    spaced = rs.histogram("pass_time", question, bins=rs.geomspace("2 ms", "20 ms", 21))
    assert np.array_equal(spaced["count"], np.histogram(values, np.geomspace(0.002, 0.02, 21))[0])
    assert result["count"].attrs["units"] == result.below.attrs["units"] == result.nan.attrs["units"] == "1"
    assert result.lower.attrs["units"] == "s"


def test_histogram_that_skips_boxes(decode):
    """More points than are counted one by one."""
    context = xr.DataArray(np.geomspace(100, 1e5, 330)[::-1], dims="length")
    question = {**decode, "batch_size": np.linspace(1, 4000, 320), "context_length": context}
    question["chips"] = np.geomspace(8, 512, 310)
    edges = np.geomspace(1e-5, 0.3, 60)
    expected = np.zeros(59, dtype=int)
    below = above = 0
    for chips in question["chips"]:
        values = np.sort(rs.evaluate("pass_time", {**question, "chips": chips}).to_numpy(), axis=None)
        at = np.searchsorted(values, [*edges[:-1], np.nextafter(edges[-1], 1)])
        expected += np.diff(at)
        below += at[0]
        above += values.size - at[-1]
    assert below + above + expected.sum() > 3e7
    for mode in ({"prune": True, "threads": 1}, {"prune": True, "threads": 3}, {"prune": False, "threads": 2}):
        result = rs.histogram("pass_time", question, bins=edges, **mode)
        assert np.array_equal(result["count"], expected)
        assert (int(result.below), int(result.above), int(result.nan)) == (below, above, 0)


def test_histogram_counts_what_is_no_number_apart(instruction_sets):
    links = {"scale_up_bandwidth": xr.DataArray([np.inf, 9e11, 4.5e11], dims="up")}
    links["scale_out_bandwidth"] = xr.DataArray([np.inf, 1e11, 2e11, 5e10], dims="out_of_rack")
    for mode in ways(instruction_sets):
        result = rs.histogram("link_bandwidth_ratio", bins=3, **mode, **links)
        assert (float(result.lower[0]), float(result.upper[-1])) == (0, 18)
        assert (int(result.below), int(result.above), int(result.nan)) == (0, 3, 1)
        assert result["count"].values.tolist() == [5, 2, 1]
        by_bandwidth = rs.histogram("link_bandwidth_ratio", bins=[-1, 0, 18], over="out_of_rack", **mode, **links)
        assert by_bandwidth["count"].values.tolist() == [[0, 0], [0, 4], [0, 4]]
        assert by_bandwidth.above.values.tolist() == [3, 0, 0]
        assert by_bandwidth.nan.values.tolist() == [1, 0, 0]


def test_histogram_repeats_along_axes_that_do_not_matter(decode):
    result = rs.histogram("pass_tokens", Settled(batch_size=range(1, 9), chips=[8, 16, 32]), bins=[1, 3, 9])
    assert result["count"].values.tolist() == [6, 18]
    scalar = rs.histogram("pass_time", decode, bins=3)
    value = rs.value("pass_time", decode)
    assert scalar["count"].values.tolist() == np.histogram([value], 3)[0].tolist()
    positive = rs.histogram("pass_time", decode, bins=2, log=True)
    assert int(positive["count"].sum()) == 1
    assert (float(positive.lower[0]), float(positive.upper[-1])) == (value / 2, value * 2)
