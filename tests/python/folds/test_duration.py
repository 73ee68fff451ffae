"""A message before a fold of days, and none before one that bounds end soon."""

import re
import warnings

import numpy as np
import pytest
import roofslate as rs
from roofslate.errors import RoofslateWarning
from roofslate.folds import duration


class StopError(Exception):
    pass


def stop(*_):
    raise StopError


@pytest.fixture
def endless(decode):
    """2^62 points."""
    axes = {
        "batch_size": np.linspace(1, 4000, 2**12),
        "context_length": np.linspace(1, 1e6, 2**12),
        "chips": np.linspace(8, 512, 2**12),
        "hbm_bandwidth": np.linspace(1e12, 8e12, 2**13),
        "peak_flops": np.linspace(1e15, 9e15, 2**13),
    }
    return {**{name: x for name, x in decode.items() if name not in axes}, **axes}


ALL = {  # of points
    "quantiles": lambda question: rs.quantiles("pass_time", 0.5, question, threads=2, progress=stop),
    "histogram": lambda question: rs.histogram("pass_time", question, threads=2, progress=stop),
    "pareto": lambda question: rs.pareto(
        question, minimize=["cost_per_token", "pass_time"], prune=False, threads=2, progress=stop
    ),
}


@pytest.mark.parametrize("name", list(ALL))
def test_what_looks_at_all_points_says_how_long_that_takes(name, endless):
    text = rf"^{name}.* scans all 4.6e\+18 points: at least \d+ years on 2 threads"
    with pytest.warns(RoofslateWarning, match=text), pytest.raises(StopError):
        ALL[name](endless)


def test_one_that_bounds_may_end_speaks_after_a_while(endless, monkeypatch):
    monkeypatch.setattr(duration, "_PATIENCE", 0.0)
    reports = []

    def progress(*numbers):
        reports.append(numbers)
        if len(reports) > 2:
            raise StopError

    with pytest.warns(RoofslateWarning) as said, pytest.raises(StopError):
        rs.histogram("pass_time", endless, bins=2000, range=(0, 1), threads=1, progress=progress)
    assert len([w for w in said if re.match("histogram is still searching 4.6e", str(w.message))]) == 1
    assert reports


def test_a_search_that_ends_soon_says_nothing(endless):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        rs.best("cost_per_token", endless, over=[n for n, x in endless.items() if np.ndim(x)], progress=False)
