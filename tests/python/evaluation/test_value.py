"""`value`: one point, the fast way, with the rules of `evaluate`."""

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from roofslate import _core, errors
from roofslate.grid.fit import memory_ways
from roofslate.grid.read import Settled
from roofslate.registry.registry import current, entries

PRESETS = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "prices": "lecture"}


def test_by_hand():
    assert rs.value("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s") == 0.024
    assert rs.value("hbm_drain_time", hbm_capacity=192e9, hbm_bandwidth=8e12) == 0.024
    assert rs.value("pass_tokens", batch_size=3, pass_length=2) == 6


def test_a_capacity_is_read_fully_only_where_it_may_limit_the_output():
    chip = {"hbm_capacity": 8e10, "hbm_bandwidth": 3e12}
    assert _core.value("hbm_drain_time", chip) == 8e10 / 3e12
    limited = [name for name, q in entries().items() if q.computed and memory_ways(current(), name)]
    assert {"pass_time", "cost_per_request", "pretraining_cost"} <= set(limited)
    assert all(_core.value(name, {**chip, "batch_size": 1.0}) is NotImplemented for name in limited)


def test_is_a_plain_float(decode):
    for question in (
        decode,
        {**decode, "batch_size": 2400},
        {**decode, "batch_size": "2400"},
        {**decode, "overlap": "none"},
    ):
        assert type(rs.value("pass_time", question)) is float
    assert type(rs.value("pass_time", PRESETS, batch_size=1, context_length=1)) is float


def test_a_choice_is_its_word(decode):
    assert rs.value("bottleneck", decode) == "weight_fetch"
    assert rs.value("bottleneck", {**decode, "batch_size": 1e5, "context_length": 1}) == "compute"
    assert rs.value("overlap") == "board"
    assert rs.value("overlap", overlap="none") == "none"


def test_every_way_of_asking_gives_the_same(decode):
    expected = rs.value("cost_per_token", decode)
    as_text = {
        **decode,
        "hbm_bandwidth": "8 TB/s",
        "peak_flops": "4.5 PMAC/s",
        "total_parameters": "671G",
        "chip_price": "$2/h",
    }
    assert rs.value("cost_per_token", as_text) == expected
    assert rs.value("cost_per_token", {name: np.float64(x) for name, x in decode.items()}) == expected
    assert rs.value("cost_per_token", {name: xr.DataArray(x) for name, x in decode.items()}) == expected
    assert float(rs.evaluate("cost_per_token", decode)) == expected


def test_presets_are_their_numbers():
    question = {"batch_size": 64, "context_length": "8k"}
    numbers = {**rs.models["DeepSeek-V3"].values, **rs.hardware["GB200 NVL72"].values, **rs.prices["lecture"].values}
    by_name = rs.value("cost_per_token", {**question, **PRESETS})
    assert by_name == rs.value("cost_per_token", Settled({**numbers, **question}))
    assert by_name == rs.value(
        "cost_per_token",
        question,
        model=rs.models["DeepSeek-V3"],
        hardware="gb200-nvl72",
        prices=rs.prices["lecture"],
    )
    assert by_name == float(rs.evaluate("cost_per_token", {**question, **PRESETS}))
    for _ in range(3):  # stored presets do not change the result
        assert rs.value("cost_per_token", {**question, **PRESETS}) == by_name
        assert rs.value("cost_per_token", {**question, "context_length": "64k", **PRESETS}) > by_name


def test_units_of_the_result(decode):
    assert rs.value("pass_time", decode, units="ms") == pytest.approx(1e3 * rs.value("pass_time", decode), rel=1e-15)
    with pytest.raises(errors.UnitError, match=r"pass_time.*'GB'"):
        rs.value("pass_time", decode, units="GB")


def test_an_axis_is_refused_by_name(decode):
    with pytest.raises(errors.AxisError, match=r"one point, but batch_size is an axis; use rs\.evaluate"):
        rs.value("pass_time", {**decode, "batch_size": [1, 2]})
    with pytest.raises(errors.AxisError, match="model is an axis"):
        rs.value("model_bytes", model=["DeepSeek-V3", "Kimi-K2"])
    with pytest.raises(errors.AxisError, match="batch_size is an axis"):
        rs.value("pass_tokens", batch_size=rs.linspace(1, 2, 3))


def test_never_is_infinity(decode):
    question = {**decode, "context_length": 1e7}
    assert rs.value("balance_batch_at_context", question) == np.inf
    assert rs.value("mean_queue_wait", batch_slots=3, slot_utilization=1, output_tokens=5, batch_interval=1) == np.inf
    assert rs.value("full_memory_utilization", compute_time=0, hbm_drain_time=1) == 0


def test_infinity_where_the_range_has_it():
    assert rs.value("scale_up_bandwidth", scale_up_bandwidth=np.inf) == np.inf
    assert rs.value("scale_up_bandwidth", scale_up_bandwidth="inf") == np.inf
    assert np.isinf(rs.evaluate("scale_up_bandwidth", scale_up_bandwidth=[1e12, np.inf])[1])


@pytest.mark.parametrize(
    ("question", "kind", "message"),
    [
        ({"batch_size": -1}, errors.ValueRangeError, "batch_size must be > 0 and finite, in sequence, got -1"),
        ({"batch_size": np.nan}, errors.ValueRangeError, "batch_size must be > 0"),
        ({"batch_size": np.inf}, errors.ValueRangeError, "batch_size must be > 0"),
        ({"batch_size": "5 GB"}, errors.UnitError, "batch_size: cannot read '5 GB' as sequence"),
        ({"batch_siz": 5}, errors.UnknownName, "unknown input 'batch_siz'; did you mean 'batch_size'"),
        ({"batch_size": None}, errors.InputTypeError, "batch_size"),
        ({"batch_size": True}, errors.InputTypeError, "batch_size"),
        ({"batch_size": 10**400}, errors.ValueRangeError, "batch_size: an integer is too large"),
        ({}, errors.MissingInput, "missing input 'batch_size'"),
        (
            {"batch_size": 1, "experts": 8, "experts_per_token": 9},
            errors.ValueRangeError,
            "experts_per_token must not exceed experts, got 9 and 8",
        ),
        ({"batch_size": 1, "overlap": 1}, errors.InputTypeError, "overlap is one of 'board'"),
        (
            {"batch_size": 1, "model": "DeepSeek V4"},
            errors.UnknownName,
            "may be any of 5 model presets: 'DeepSeek-V4",
        ),
    ],
)
def test_mistakes_are_those_of_evaluate(question, kind, message):
    for call in (rs.value, rs.evaluate):
        with pytest.raises(kind) as caught:
            call("pass_tokens", **question)
        assert message in str(caught.value)
