"""Inputs that mean harm: whatever is handed over, a result or an error of the package comes back, and no memory stays."""

import datetime
import json
import math
import string

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import example, given, settings
from hypothesis import strategies as st
from roofslate import _core, units

SCENARIO = {
    "batch_size": 2400.0,
    "context_length": 8192.0,
    "total_parameters": 671e9,
    "active_parameters": 37e9,
    "weight_bytes": 0.5,
    "kv_bytes_per_token": 1667.0,
    "peak_flops": 9e15,
    "hbm_bandwidth": 8e12,
    "hbm_capacity": 192e9,
    "chips": 72.0,
    "chip_price": 2 / 3600,
}
GRID = SCENARIO | {"batch_size": [1.0, 200.0, 3000.0]}


def nested(depth, kind):
    """A list or dict that holds another one, and so on."""
    found = 1.0
    for _ in range(depth):
        found = [found] if kind is list else {"a": found}
    return found


# Values that are no answer to any question, by what they are called in a test's name.
VALUES = {
    "none": None,
    "true": True,
    "complex": 1j,
    "bytes": b"pass_time",
    "text": "x",
    "empty text": "",
    "null character": "a\0",
    "half a character": "\ud800",
    "digits": "9" * 100_000,
    "brackets": "(" * 50_000,
    "condition": "pass_time <= 50 ms",
    "name": "pass_time",
    "names and a number": ["pass_time", 3],
    "name in lists": [["pass_time"]],
    "set": {"pass_time"},
    "negative": -1,
    "zero": 0,
    "fraction": 2.5,
    "nan": math.nan,
    "inf": math.inf,
    "large": 10**400,
    "date": datetime.date(2026, 1, 1),
    "timestamp": pd.Timestamp("2026-01-01"),
    "timedelta": np.timedelta64(1, "s"),
    "not a time": pd.NaT,
    "missing": pd.NA,
    "empty list": [],
    "list of none": [None],
    "deep list": nested(100_000, list),
    "deep dict": nested(5_000, dict),
    "dict": {"a": 1},
    "dict of numbers": {1: None},
    "array": np.ones(3),
    "number in an array": np.array(3.0),
    "swapped bytes": np.ones(3).astype(">f8"),
    "read-only": np.broadcast_to(1.0, 3),
    "objects": np.array([1, "a"], dtype=object),
    "records": np.zeros(2, dtype=[("a", "f8")]),
    "empty array": np.zeros((0, 3)),
    "huge array": np.broadcast_to(1.0, 10**13),
    "huge range": range(10**18),
    "table": pd.DataFrame({"batch_size": [1.0, 2]}),
    "series": pd.Series([1.0, 2]),
    "labelled": xr.DataArray([1.0, 2], dims="x"),
    "dataset": xr.Dataset({"a": 1}),
    "range": (1, 2),
    "range downwards": (2, 1),
    "triple": (1, 2, 3),
    "function": lambda *_: 1,
    "class": int,
    "object": object(),
    "ellipsis": ...,
}
