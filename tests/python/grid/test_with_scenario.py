"""Scenarios as positional mappings of every call, with keywords that win over members."""

import types
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate import errors
from support.lazy import Later, Lazy, made

stats = Lazy("scipy.stats")

MACHINE = {"hbm_capacity": "192 GB", "hbm_bandwidth": "8 TB/s"}
SPREAD = {"hbm_capacity": 192e9, "hbm_bandwidth": Later(lambda: stats.uniform(6e12, 4e12))}
RANGE = {"hbm_capacity": "192 GB", "hbm_bandwidth": ("6 TB/s", "8 TB/s")}
GRID = {"hbm_capacity": ["80 GB", "192 GB"], "hbm_bandwidth": "8 TB/s"}
TIME = "hbm_drain_time"
CALLS: dict[str, Any] = {  # by position, the same by keywords
    "value": (lambda *a, **k: rs.value(TIME, *a, **k), MACHINE),
    "evaluate": (lambda *a, **k: rs.evaluate([TIME], *a, **k), GRID),
    "frame": (lambda *a, **k: rs.frame(pd.DataFrame(index=[0, 1]), TIME, *a, **k), MACHINE),
    "best": (lambda *a, **k: rs.best(TIME, *a, over="hbm_capacity", **k), GRID),
    "pareto": (lambda *a, **k: rs.pareto(*a, minimize=TIME, maximize="hbm_capacity", **k), GRID),
    "count": (lambda *a, **k: rs.count("hbm_drain_time <= 20 ms", *a, **k), GRID),
    "bounds": (lambda *a, **k: rs.bounds(TIME, *a, **k), RANGE),
    "histogram": (lambda *a, **k: rs.histogram(TIME, *a, **k), GRID),
    "quantiles": (lambda *a, **k: rs.quantiles(TIME, 0.5, *a, **k), GRID),
    "sample": (lambda *a, **k: rs.sample(TIME, 4, *a, seed=1, **k), SPREAD),
    "sobol": (lambda *a, **k: rs.sobol(TIME, 4, *a, seed=1, **k).table, SPREAD),
    "solve": (lambda *a, **k: rs.solve("hbm_bandwidth", "hbm_drain_time == 20 ms", *a, **k), {"hbm_capacity": 1e11}),
    "sensitivity": (lambda *a, **k: rs.sensitivity(TIME, *a, **k), MACHINE),
    "gradient": (lambda *a, **k: rs.gradient(TIME, *a, **k), MACHINE),
    "explain": (lambda *a, **k: str(rs.explain(TIME, *a, **k)), MACHINE),
    "tornado": (lambda *a, **k: rs.tornado(TIME, *a, **k).table, RANGE),
    "crossovers": (lambda *a, **k: rs.crossovers(*a, **k), MACHINE),
}


def same(a, b):
    if isinstance(a, (pd.DataFrame, pd.Series)):
        return a.equals(b)
    return a.identical(b) if hasattr(a, "identical") else a == b


@pytest.mark.parametrize("call", CALLS)
def test_a_scenario_is_the_same_as_its_keywords(call):
    ask, inputs = CALLS[call]
    inputs = made(inputs)
    by_keywords = ask(**inputs)
    assert same(ask(inputs), by_keywords)
    assert same(ask(types.MappingProxyType(inputs)), by_keywords)
    first = next(iter(inputs))
    assert same(ask({first: inputs[first]}, **{name: x for name, x in inputs.items() if name != first}), by_keywords)


def test_a_keyword_wins_over_a_member():
    assert rs.value(TIME, MACHINE, hbm_bandwidth="16 TB/s") == 0.012
    assert rs.value(TIME, {"hardware": "H100 SXM", "hbm_capacity": 80e9}, hardware="B200") == 80e9 / 7.7e12
    assert rs.evaluate(TIME, MACHINE, hbm_bandwidth=[8e12, 16e12]).values.tolist() == [0.024, 0.012]
    assert MACHINE["hbm_bandwidth"] == "8 TB/s"


def test_deployments_and_inference_take_a_scenario():
    base = {
        "model": "DeepSeek-V3", "hardware": "HGX H200", "expert_reads": "expected", "chips": 16,
        "input_tokens": "2k", "output_tokens": "500", "chip_price": "$3/hour", "concurrency": 64,
    }  # fmt: skip
    plan = rs.deploy(base, objective="cost_per_output_token")
    assert plan.table.equals(rs.deploy(objective="cost_per_output_token", **base).table)
    guess = {"hardware": "B200"}
    assert str(rs.infer("GPT-5", guess)) == str(rs.infer("GPT-5", **guess))


@pytest.mark.parametrize("call", CALLS)
@pytest.mark.parametrize("wrong", [3, "8 TB/s", ["hbm_capacity"], np.ones(2)])
def test_other_types_are_refused(call, wrong):
    ask, _ = CALLS[call]
    with pytest.raises(errors.InputTypeError, match="scenario: expected a mapping of inputs by name, got"):
        ask(wrong)


def test_keys_are_names():
    with pytest.raises(errors.InputTypeError, match="scenario: expected names of inputs as keys, got 3"):
        rs.value(TIME, {3: 4})
    with pytest.raises(errors.UnknownName, match="hbm_bandwith"):
        rs.value(TIME, {"hbm_bandwith": 4})
    with pytest.raises(errors.UnknownName, match="units"):
        rs.value(TIME, {"units": "ms"})
