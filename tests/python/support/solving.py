"""A replica to solve for, the calls, and the accuracy of the answers."""

import pytest
import roofslate as rs
from roofslate.grid.read import Settled

CLOSE = 1e-12  # promised accuracy; formulas of ten operations round to 1e-15
CELL = {
    "total_parameters": 671e9,
    "active_parameters": 37e9,
    "kv_bytes_per_token": 70272.0,
    "bytes_per_weight": 1.0,
    "peak_flops": 2e15,
    "hbm_bandwidth": 4.8e12,
    "hbm_capacity": 141e9,
    "chips": 8.0,
    "context_length": 100.0,
}


def solve(unknown, condition, /, **more):
    wishes = {name: more.pop(name) for name in ("at", "integer", "out", "threads", "units") if name in more}
    return rs.solve(unknown, condition, Settled(more), progress=False, **wishes)


def near(x):
    return pytest.approx(x, rel=CLOSE)
