"""`deploy` against an exhaustive search of layouts with numbers computed by NumPy."""

import math

import pytest
import roofslate as rs
import xarray as xr
from hypothesis import example, given, settings
from support.deployments import brute, keywords, own_columns, questions
from support.evaluator import Evaluator, agree


class Data(dict):
    """Compute like `evaluate`, in another way: arrays by name, broadcast to all axes."""

    coords = ()

    def __init__(self, names, inputs):
        evaluator = Evaluator(inputs, names)
        super().__init__({name: xr.DataArray(evaluator.full(name), dims=[*evaluator.sizes]) for name in names})


def check(question):
    name, _ = question["objective"]
    expected = brute(question, Data)
    if not expected:
        return
    plan = rs.deploy(question["more"], **keywords(question), progress=False)
    columns = own_columns(question)
    result = dict(zip(plan.table[columns].itertuples(index=False, name=None), plan.table[name], strict=True))
    met = {key: x for key, x in expected.items() if not math.isnan(x)}
    assert result.keys() == met.keys()
    assert agree([result[key] for key in met], [*met.values()], exact=False)
    if len(plan.table):
        best = plan.best
        assert agree(plan.table[name].iloc[0], Evaluator(best, [name]).number(name), exact=False)


MUCH = {
    "objective": ("cost_per_output_token", False),
    "limits": [("time_to_first_token", "<=", 2.0), ("chips", "<=", 16.0)],
    "model": ["DeepSeek-V3", "gpt-oss-120b"],
    "hardware": ["HGX H200"],
    "chips": [8, 16],
    "concurrency": [8, 300],
    "more": {
        "input_tokens": [1000, 30000],
        "output_tokens": 1000,
        "chip_price": 3 / 3600,
        "expert_reads": "expected",
        "arithmetic": "full",
    },
    "weight_format": ["fp8"],
    "kv_format": ["bf16", "fp8"],
    "calibration": None,
}


@pytest.mark.filterwarnings("ignore::roofslate.errors.DoesNotFit")  # layouts that deploy rejects
@settings(max_examples=5)
@given(questions())
@example(MUCH)
def test_deployments(question):
    check(question)


@pytest.mark.long
@pytest.mark.filterwarnings("ignore::roofslate.errors.DoesNotFit")
@settings(max_examples=500)
@given(questions())
@pytest.mark.whole
def test_many_deployments(question):
    check(question)
