"""One long axis is shared by threads: the same bits for any number of them, pruned or not."""

import numpy as np
import pytest
import roofslate as rs
from roofslate.errors import ValueRangeError


@pytest.fixture
def long(decode):
    return {**decode, "batch_size": np.linspace(1, 4000, 300_001), "context_length": 1e4}


@pytest.mark.parametrize("threads", [2, 5])
def test_folds_are_those_of_one_thread(threads, long, bits):
    for ask in (
        lambda **how: rs.histogram("pass_time", long, bins=333, progress=False, **how)["count"].to_numpy(),
        lambda **how: rs.histogram("pass_time", long, bins=9, prune=False, progress=False, **how)["count"].to_numpy(),
        lambda **how: rs.quantiles("pass_time", [0, 0.1, 0.5, 1], long, progress=False, **how).to_numpy(),
        lambda **how: rs.quantiles("pass_time", 0.5, long, over=[], progress=False, **how).to_numpy(),
        lambda **how: np.asarray(rs.count("pass_time <= 20 ms", long, progress=False, **how)),
        lambda **how: np.asarray(rs.count("pass_time <= 20 ms", long, prune=False, progress=False, **how)),
    ):
        assert np.array_equal(bits(ask(threads=threads)), bits(ask(threads=1)))


def test_a_histogram_and_quantiles_are_those_of_numpy(long):
    values = rs.evaluate("pass_time", long).to_numpy()
    counts = np.histogram(values, 50)[0]
    ours = rs.histogram("pass_time", long, bins=50, threads=2, progress=False)
    assert np.array_equal(ours["count"].to_numpy(), counts)
    ours = rs.quantiles("pass_time", [0.01, 0.5, 0.77], long, threads=2, progress=False)
    assert np.array_equal(ours.to_numpy(), np.quantile(values, [0.01, 0.5, 0.77]))


def test_more_than_a_million_points_of_two_axes_are_shared_too(long):
    grid = {**long, "batch_size": long["batch_size"][:2000], "context_length": np.linspace(1, 1e5, 1000)}
    for how in ({"prune": True}, {"prune": False}):
        counts = [int(rs.count("pass_time <= 0.584 ms", grid, threads=n, progress=False, **how)) for n in (1, 2, 7)]
        assert len(set(counts)) == 1
        assert 0 < counts[0] < 2_000_000


def test_a_value_out_of_range_is_found_by_whichever_thread(long):
    values = np.linspace(1, 4000, 2_000_000)
    values[1_700_000] = -1
    with pytest.raises(ValueRangeError, match=r"batch_size .* got -1.0 among its 2000000 values"):
        rs.histogram("pass_time", {**long, "batch_size": values}, threads=2)
