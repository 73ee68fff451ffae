"""Large fronts: members and order, pruned or not, chunked or not, in subquadratic time."""

import time

import numpy as np
import pytest
import roofslate as rs
import xarray as xr


def _front(inputs, large, **how):
    return rs.pareto(inputs, minimize="memory_time", maximize=large, progress=False, **how)


def test_all_points_of_a_trade_off_stay(decode):
    """Two objectives: seconds where each point was compared with all."""
    batches = np.linspace(1, 8192, 300_000)
    start = time.perf_counter()
    for prune in (True, False):
        front = _front({**decode, "batch_size": batches, "context_length": 1e4}, ["batch_size"], prune=prune)
        assert np.array_equal(front["batch_size"], batches)
    assert time.perf_counter() - start < 5


def test_three_objectives_and_chunks_have_the_same_members(decode):
    da = pytest.importorskip("dask.array")
    batches, contexts = np.linspace(1, 8192, 130), np.linspace(1e3, 1e6, 120)
    inputs = {**decode, "batch_size": batches, "context_length": contexts}
    large = ["batch_size", "context_length"]
    start = time.perf_counter()
    full = _front(inputs, large)
    assert len(full) == batches.size * contexts.size
    assert _front(inputs, large, prune=False).equals(full)
    lazy = xr.DataArray(da.from_array(batches, chunks=50), dims="batch_size", coords={"batch_size": batches})
    assert _front({**inputs, "batch_size": lazy}, large).equals(full)
    assert time.perf_counter() - start < 10
