"""Derivatives: exact for every quantity, at points and on grids, one-sided at kinks."""

import itertools
import math
import re
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import given
from hypothesis import strategies as st
from roofslate import _core, errors
from roofslate.grid.read import Settled
from roofslate.registry.registry import ancestors, entries, lookup
from support.lazy import Later, made
from support.reference import rows

CELL = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "chip_price": "3 USD/h"}


# ------------------------------------------------------------------------------------------------------ right numbers


def difference(output, inputs, name, share):
    """Return d ln(output) / d ln(input) by central differences of the eighth order."""
    x, total = inputs[name], 0.0
    for k, weight in zip((1, 2, 3, 4), (4 / 5, -1 / 5, 4 / 105, -1 / 280), strict=True):
        above, below = (rs.value(output, Settled({**inputs, name: x * (1 + sign * k * share)})) for sign in (1, -1))
        total += weight * (above - below)
    return total / (share * rs.value(output, inputs))


def is_isolated(output, inputs, name):
    """Return True if the value jumps at this one point, so that it has no slope."""
    x, step = inputs[name], 1e-6
    near = [rs.value(output, Settled({**inputs, name: x * (1 + sign * step)})) for sign in (1, -1)]
    return not math.isclose(sum(near) / 2, rs.value(output, Settled(inputs)), rel_tol=1e-5)


# Numbers of things: no derivative.
WHOLE = ("batch_slots", "lora_adapters", "prefill_replicas", "length_chips", "width_chips", "height_chips")


def test_against_differences_at_the_values_by_hand():
    """Compare two step sizes: both sides are smooth if they agree within about 1e-12.

    At a kink the difference between both sides is the mean of their derivatives.
    """
    compared = skipped = 0
    for row in rows():
        _, output, case = row
        inputs = case["inputs"]
        if isinstance(case["expected"], str) or not math.isfinite(case["expected"]) or case["expected"] == 0:
            continue
        varied = [n for n, x in inputs.items() if not isinstance(x, str) and x != 0 and n not in WHOLE]
        if output == "acceptance_length" and "acceptance_decay" in inputs:
            varied = [
                n for n in varied if n != "draft_length"
            ]  # each draft has a separate chance: a kink at every whole number
        if not varied or inputs.get("queue_room", 0) > 1e6:  # no step is narrow for so long a queue
            continue
        try:
            result = sum(rs.sensitivity(output, inputs, to=varied, side=side) for side in ("above", "below")) / 2
        except errors.MissingInput:  # a share of nothing spares the value an input, but not its derivative
            skipped += len(varied)
            continue
        for name in varied:
            try:
                wide, narrow = (difference(output, inputs, name, share) for share in (4e-3, 3e-3))
            except (errors.ValueRangeError, errors.MissingInput):  # at the end of its range, or of its formula
                skipped += 1
                continue
            if not abs(wide - narrow) <= 1e-11 * max(1.0, abs(wide)):  # or no number: a jump to infinity
                skipped += 1
                continue
            if is_isolated(output, inputs, name):  # as at a ring of an odd number of chips
                skipped += 1
                continue
            assert result[name] == pytest.approx(narrow, rel=1e-9, abs=1e-11), (output, name, inputs)
            compared += 1
    assert compared > 8 * skipped
    assert compared > 900


def exponents(unit):
    """Exponent of each base unit in a unit as the registry writes it."""
    result = {}
    for sign, word, power in re.findall(r"([*/]|^)([A-Za-z]+)(?:\^(-?[\d.]+))?", unit):
        result[word] = result.get(word, 0.0) + (-1 if sign == "/" else 1) * float(power or 1)
    return result


@pytest.mark.parametrize("shift", [0.37, 0.61])
def test_units_fix_sums_of_elasticities(whole_scenario, shift):
    """In other seconds, bytes, FLOP, joules or dollars every number changes, and no fact.

    So the elasticities, times the exponents of a unit in their inputs, sum up to its exponent in the output. Tokens and
    chips are counted in formulas, and are left out.
    """
    scenario = Settled(whole_scenario)
    for k, (name, x) in enumerate(whole_scenario.items()):  # away from ties
        q = lookup(name)
        if not q.choices and q.high > 1e300 and not any(e.bound == name or q.bound for e in entries().values()):
            low = max(q.low, 0.0)
            scenario[name] = low + (x - low + 0.1) * (1 + shift * math.sin(k))
    checked = kinks = 0
    for output, q in entries().items():
        if not q.computed or q.choices:
            continue
        y = rs.value(output, scenario)
        if not math.isfinite(y) or y == 0:
            continue
        try:
            result = rs.sensitivity(output, scenario)
        except (errors.NoDerivative, errors.InputTypeError):  # by the seats; only of words
            continue
        if "kinks" in result.attrs:  # the two sides of one input and another do not add up
            kinks += 1
            continue
        near = 1e-5 if output == "optimal_lifetime_saving" else 1e-12
        if any(entries()[other].replaced_by for other in (output, *ancestors(output))):
            near = 1e-9  # through a line between two steps that hardly differ
        for unit in ("s", "byte", "FLOP", "J", "USD"):
            terms = [exponents(lookup(name).unit).get(unit, 0.0) * e for name, e in result.items()]
            assert math.fsum(terms) == pytest.approx(
                # of a saving, a difference of two losses, all but five digits may cancel
                exponents(q.unit).get(unit, 0.0),
                abs=near * (1 + sum(map(abs, terms))),
            ), (output, unit)
            checked += 1
    assert checked > 1000
    assert kinks < 10


positive = st.floats(1e-3, 1e3)


@given(positive, positive, positive)
def test_monomials_have_whole_elasticities(B, L, q):
    result = rs.sensitivity(
        "kv_bytes",
        to=["batch_size", "context_length", "kv_bytes_per_token"],
        batch_size=B,
        context_length=L,
        kv_bytes_per_token=q,
    )
    assert result.to_dict() == {"batch_size": 1.0, "context_length": 1.0, "kv_bytes_per_token": 1.0}


@given(positive, positive, positive, st.floats(0, 1e3))
def test_a_sum_shares_out_its_elasticity(w, bandwidth, B, L):
    result = rs.sensitivity(
        "memory_time",
        total_parameters=1e9, bytes_per_weight=w, hbm_bandwidth=bandwidth, chips=8, batch_size=B, context_length=L,
        kv_bytes_per_token=1e6,
    )  # fmt: skip
    assert result["total_parameters"] == result["bytes_per_weight"]
    shares = [result[name] for name in ("batch_size", "context_length", "kv_bytes_per_token")]
    assert shares == pytest.approx([shares[0]] * 3, rel=1e-15)
    assert result["total_parameters"] + result["batch_size"] == pytest.approx(1, rel=1e-15)
    assert result["hbm_bandwidth"] == pytest.approx(-1, rel=1e-15)


@given(st.floats(1, 50), st.floats(0.05, 0.95))
def test_erlang_c_has_an_exact_derivative_by_the_load(batch_slots, load):
    inputs = {"batch_slots": batch_slots, "slot_utilization": load}
    result = rs.sensitivity("waiting_probability", inputs, to="slot_utilization")
    # its own rounding, divided by the step, is some 1e-12 of a function that can be steep
    assert result["slot_utilization"] == pytest.approx(
        difference("waiting_probability", inputs, "slot_utilization", 1e-3), rel=2e-9
    )
    assert rs.gradient("waiting_probability", to="slot_utilization", batch_slots=1, slot_utilization=load)[
        "slot_utilization"
    ] == pytest.approx(1)


@given(st.floats(0.05, 2), st.floats(0, 1e3))
def test_the_optimum_of_a_loss_law_moves_as_its_equation_says(beta, ratio):
    """x with x^beta = 1 + k/x, differentiated directly."""
    result = rs.gradient(
        "optimal_overtraining", loss_data_exponent=beta, balanced_pretraining_tokens=ratio, compute_optimal_tokens=1
    )
    x = rs.value(
        "optimal_overtraining", loss_data_exponent=beta, balanced_pretraining_tokens=ratio, compute_optimal_tokens=1
    )
    slope = beta * x ** (beta - 1) + ratio / x**2
    assert result["balanced_pretraining_tokens"] == pytest.approx(1 / x / slope, rel=1e-9)
    assert result["loss_data_exponent"] == pytest.approx(-(x**beta) * math.log(x) / slope, rel=1e-9, abs=1e-12)


# ------------------------------------------------------------------------------------------------- zeros, undefined


def test_a_zero_has_no_elasticity_but_a_slope(decode):
    at_zero = {**decode, "context_length": 0.0}
    result, slopes = rs.sensitivity("cost_per_token", at_zero), rs.gradient("cost_per_token", at_zero)
    assert result["context_length"] == result["kv_bytes_per_token"] == 0
    assert not result.isna().any()
    per_token = decode["kv_bytes_per_token"] / (decode["chips"] * decode["hbm_bandwidth"])
    memory_binds = rs.value("bottleneck", at_zero) != "compute"
    cost = decode["chips"] * decode["chip_price"]
    assert slopes["context_length"] == pytest.approx(memory_binds * per_token * cost, rel=1e-14)


def test_where_the_output_is_zero_or_undefined_there_is_no_elasticity():
    empty = rs.sensitivity("kv_bytes", batch_size=5, context_length=[0.0, 2.0], kv_bytes_per_token=7)
    assert np.isnan(empty[:, 0]).all()
    assert (empty[:, 1] == 1).all()
    never = {"balance_batch": 100.0, "balance_context": 1000.0, "context_length": [500.0, 2000.0]}
    for result in (rs.sensitivity, rs.gradient):
        assert np.isnan(result("balance_batch_at_context", **never)[:, 1]).all()
        assert np.isfinite(result("balance_batch_at_context", **never)[:, 0]).all()
    given = {"batch_size": 5, "context_length": 0, "kv_bytes_per_token": 7}
    slopes = rs.gradient("kv_bytes", given, to=list(given))
    assert slopes.to_dict() == {"batch_size": 0.0, "context_length": 35.0, "kv_bytes_per_token": 0.0}


def test_an_infinite_input_is_the_limit():
    """A crossover context that is never reached, with an unlimited window."""
    penalty = {
        "lone_weight_fetch": 3.0,
        "context_length": 1000.0,
        "balance_context": [1e5, math.inf],
        "overlap": "none",
    }
    result = rs.sensitivity("batch_of_one_penalty", penalty)[:, 1]
    assert result.to_series().to_dict() == {"lone_weight_fetch": 0.75, "context_length": 0.0, "balance_context": 0.0}
    window = {"context_length": 1000.0, "attention_window": math.inf}
    result = rs.sensitivity("windowed_tokens", window)
    assert result.to_dict() == {"context_length": 1.0, "attention_window": 0.0}


# ------------------------------------------------------------------------------------------------------------- kinks


@pytest.mark.parametrize(("side", "expected"), [("above", 1.0), ("below", 0.0)])
def test_both_sides_of_a_kink(side, expected):
    result = rs.sensitivity("pass_time", side=side, compute_time=2, memory_time=2)
    assert result.to_dict() == {"compute_time": expected, "memory_time": expected}
    assert result.attrs["kinks"] == "roofline_time: memory_time = compute_time"
    assert "binding" not in result.attrs
    grid = rs.sensitivity("pass_time", side=side, compute_time=[1, 2, 3], memory_time=[2, 4])
    assert grid.attrs["kinks"] == "roofline_time: memory_time = compute_time at 1 of 6 points"
    compute, memory = grid.sel(input="compute_time"), grid.sel(input="memory_time")
    assert compute.to_numpy().tolist() == [[0, 0], [expected, 0], [1, 0]]
    assert memory.to_numpy().tolist() == [[1, 1], [expected, 1], [0, 1]]


def test_one_sided_derivatives_are_those_of_small_steps():
    """A kink of several inputs, one of which is on both of its sides."""
    at = {"microbatches": 4.0, "pipeline_stages": 4.0, "pass_time": 1.0, "replica_price": 1.0, "batch_size": 1.0}
    ratio = "microbatches / (pipeline_stages * (1 if layout == 'pool' else stage_balance))"
    for side, step in (("above", 1e-7), ("below", -1e-7)):
        result = rs.gradient("cost_per_token", at, side=side)
        assert result.attrs["kinks"] == f"round_passes: {ratio} = 1"
        for name in at:
            moved = rs.value("cost_per_token", {**at, name: at[name] + step})
            assert result[name] == pytest.approx((moved - rs.value("cost_per_token", at)) / step, abs=1e-6), (
                name,
                side,
            )


def test_what_is_equal_but_has_no_kink_is_not_told(decode):
    """By default there are as many micro-batches as stages: a quotient that is always 1."""
    result = rs.sensitivity("cost_per_token", decode, pipeline_stages=4)
    assert "kinks" not in result.attrs
    assert rs.sensitivity("cost_per_token", decode, pipeline_stages=4, side="below").equals(result)


def test_long_terms_are_not_spelled_out():
    """Reads have a kink at the end of the window."""
    terms = {"hidden_kv_bytes": 24, "kv_bytes_per_token": 3, "kv_read_factor": 2, "attention_window": 4}
    result = rs.sensitivity("balance_context", terms, windowed_kv_share=0.5)
    assert result.attrs["kinks"] == "balance_context: two of its terms are equal"


def test_the_binding_side_is_told():
    result = rs.sensitivity("pass_time", compute_time=2, memory_time=5)
    assert result.attrs["binding"] == "roofline_time: memory_time binds, compute_time is 2.5 times smaller"


# --------------------------------------------------------------------------------------------- grids, points, memory

OUTPUTS = [
    "cost_per_token",
    "compute_utilization",
    "fetched_weight_bytes",
    "hbm_used",
    "routed_loss",
    "mean_queue_wait",
]
AXES = {
    "batch_size": [1.0, 400.0, 3000.0],
    "context_length": [0.0, 2e4, 3e5],
    "pass_length": [1.0, 4.0],
    "chips": [8.0, 72.0],
    "experts": [1.0, 256.0],
    "experts_per_token": [1.0],
    "hbm_capacity": [192e9, 288e9],
    "slot_utilization": [0.0, 0.4, 1.0],
}


def scenario(decode):
    return {
        **decode, "dense_parameters": 17e9, "experts_per_token": 1.0, "experts": 256.0,
        "batch_slots": 40.0, "slot_utilization": 0.4,
        "output_tokens": 700.0, "batch_interval": 0.02, "expert_reads": "expected",
    }  # fmt: skip


def by(output):
    """Every number but the seats, by which there is no derivative."""
    return {"to": ["slot_utilization", "output_tokens", "batch_interval"]} if output == "mean_queue_wait" else {}


@pytest.mark.parametrize("output", OUTPUTS)
@pytest.mark.parametrize("call", [rs.sensitivity, rs.gradient])
def test_a_grid_is_its_points_bit_for_bit(decode, output, call, bits):
    """A grid lists the inputs of any of its points. Points without an input have derivative 0."""
    axes = {name: axis for name, axis in AXES.items() if name in _ancestors(output)}
    point = {name: x for name, x in scenario(decode).items() if name in _ancestors(output)}
    grid = call(output, Settled({**point, **axes}), **by(output))
    dims = [dim for dim in grid.dims if dim != "input"]
    assert dims == list(rs.evaluate(output, Settled({**point, **axes})).dims)
    listed = set()
    for at in itertools.product(*(range(grid.sizes[dim]) for dim in dims)):
        position = dict(zip(dims, at, strict=True))
        scalar = call(
            output,
            Settled({**point, **{name: axis[position.get(name, 0)] for name, axis in axes.items()}}),
            **by(output),
        )
        at_point = grid.isel(position).to_series()
        listed |= set(scalar.index)
        assert np.array_equal(bits(at_point[scalar.index]), bits(scalar)), position
        assert (at_point.drop(scalar.index) == 0).all(), position
    assert sorted(listed) == sorted(grid["input"].to_numpy())


def _ancestors(output):
    from roofslate.registry.registry import ancestors

    return ancestors(output)


def test_instruction_sets_and_threads(decode, instruction_sets, bits):
    question = {**scenario(decode), "batch_size": np.linspace(1, 4000, 700), "context_length": np.linspace(0, 1e5, 501)}
    question["kv_bytes_per_token"] = xr.DataArray([1667.0, 7e4, 1e5], dims="model")
    before, result = _core.instruction_set(), []
    try:
        for name, threads in itertools.product(instruction_sets, (1, 3)):
            _core.use_instruction_set(name)
            result.append(bits(rs.sensitivity("cost_per_token", question, threads=threads)))
    finally:
        _core.use_instruction_set(before)
    assert all(np.array_equal(result[0], other) for other in result[1:])


def test_tables_and_presets(bits):
    rows = pd.DataFrame({"batch_size": [1.0, 60.0, 9000.0], "context_length": [5e3, 2e3, 100.0]}, index=["a", "b", "c"])
    rows.index.name = "case"
    result = rs.sensitivity("cost_per_token", {**{name: rows[name] for name in rows}, **CELL})
    assert result.dims == ("input", "case")
    for case in rows.index:
        alone = rs.sensitivity("cost_per_token", {**rows.loc[case].to_dict(), **CELL})
        assert np.array_equal(bits(result.sel(case=case, input=alone.index)), bits(alone))
    models = rs.sensitivity(
        "pass_time", {**CELL, "model": ["DeepSeek-V3", "Kimi-K2"]}, batch_size=64, context_length=9e3
    )
    assert models.dims == ("input", "model")
    assert list(models.model.to_numpy()) == ["DeepSeek-V3", "Kimi-K2"]


def test_an_axis_of_words_is_no_input(decode):
    result = rs.sensitivity("pass_time", decode, overlap=["board", "none"])
    assert result.dims == ("input", "overlap")
    assert "overlap" not in result["input"]
    alone = rs.sensitivity("pass_time", decode, overlap="none")
    assert np.allclose(result.sel(overlap="none", input=alone.index), alone, rtol=1e-14)


@pytest.mark.parametrize("shape", [(5, 700), (700, 5), (1, 3), (1, 1), (2, 3)])
@pytest.mark.usefixtures("instruction_set")
def test_given_memory_is_filled(decode, shape, bits):
    question = {**decode, "batch_size": np.linspace(1, 4000, shape[0]), "context_length": np.linspace(1, 1e5, shape[1])}
    to = ["chip_price", "batch_size", "context_length", "batch_slots"]  # constant, along one axis or both, not taken
    fresh = rs.sensitivity("cost_per_token", question, to=to)
    assert fresh.shape == (4, *shape)
    assert (fresh.sel(input="chip_price") == 1).all()
    assert (fresh.sel(input="batch_slots") == 0).all()
    wide = np.full((9, shape[0] + 2, shape[1] + 3), -77.0)
    out = wide[::2, 1:-1, 2:-1][:4][::-1]
    result = rs.sensitivity("cost_per_token", question, to=to, out=out)
    assert np.shares_memory(result.to_numpy(), out)
    assert np.array_equal(bits(out), bits(fresh))
    out[...] = -77
    assert (wide == -77).all()


def test_given_memory_may_hold_an_input(bits):
    memory = np.linspace(1, 5, 3000)
    expected = rs.gradient(
        "kv_bytes", to="batch_size", batch_size=memory[:-1].copy(), context_length=3, kv_bytes_per_token=5
    )
    rs.gradient(
        "kv_bytes", to="batch_size", out=memory[np.newaxis, 1:],
        batch_size=memory[:-1], context_length=3, kv_bytes_per_token=5,
    )  # fmt: skip
    assert np.array_equal(bits(memory[1:]), bits(expected[0]))


def test_a_series_into_given_memory():
    out = np.zeros(3)
    result = rs.sensitivity(
        "kv_bytes",
        to=["batch_size", "context_length", "kv_bytes_per_token"],
        out=out,
        batch_size=2,
        context_length=3,
        kv_bytes_per_token=5,
    )
    assert out.tolist() == [1, 1, 1]
    assert result.name == "kv_bytes"
    assert result.index.name == "input"


def test_twelve_axes(decode):
    names = [*decode, "pass_length"]
    question = {**decode, "pass_length": 2.0}
    assert len(names) == 12
    grid = {name: [question[name], question[name] * 1.5] for name in names if name != "hbm_capacity"}
    result = rs.sensitivity("cost_per_token", grid)
    point = rs.sensitivity("cost_per_token", {name: question[name] * 1.5 for name in grid})
    assert result.ndim == 12  # one of them does not matter to a cost, and there is the axis of inputs
    assert np.array_equal(result.isel({dim: -1 for dim in result.dims if dim != "input"}).sel(input=point.index), point)


def test_progress_is_told_and_memory_promised(decode):
    reports = []
    question = {**decode, "batch_size": np.linspace(1, 4000, 1500), "context_length": np.linspace(1, 1e5, 1500)}
    rs.sensitivity("cost_per_token", question, progress=lambda done, total: reports.append((done, total)))
    assert reports
    assert all(0 <= done <= total for done, total in reports)
    huge = {name: np.linspace(1, 2, 40_000) for name in ("batch_size", "context_length", "chips")}
    with pytest.raises(errors.OutOfMemory, match="GB"):
        rs.sensitivity("cost_per_token", {**decode, **huge})


# ------------------------------------------------------------------------------------------------------ varied inputs


def test_all_numbers_are_varied_and_only_numbers():
    question = {"batch_size": 256, "context_length": "8k", **CELL}
    result = rs.sensitivity("cost_per_token", question)
    derivations = [rs.explain("cost_per_token", question)]
    numbers = {}
    for derivation in derivations:  # which grows by inputs from defaults only
        for ending in derivation.inputs:
            name = ending.quantity.name
            if ending.origin == "computed from defaults":
                derivations.append(rs.explain(name))
            elif not ending.quantity.choices:
                numbers[name] = ending.value
    assert set(result.index) == {name for name, x in numbers.items() if 0 < x < math.inf}  # of those that are on
    assert list(result.index[:1]) == ["batch_size"]
    assert list(result.index[-1:]) == ["compute_efficiency"]  # by default


def test_a_computed_quantity_is_varied_where_it_is_given(decode):
    result = rs.sensitivity("cost_per_token", decode, pass_time=0.01)
    assert result["pass_time"] == 1
    assert "hbm_bandwidth" not in result.index
    chosen = rs.sensitivity("cost_per_token", decode, to=["pass_time", "hbm_bandwidth", "batch_slots"], pass_time=0.01)
    assert chosen.to_dict() == {"pass_time": 1.0, "hbm_bandwidth": 0.0, "batch_slots": 0.0}
    assert rs.sensitivity("batch_size", to="batch_size", batch_size=7).to_dict() == {"batch_size": 1.0}


def test_gradients_are_elasticities_times_the_ratio(decode):
    slopes, result = rs.gradient("cost_per_token", decode), rs.sensitivity("cost_per_token", decode)
    cost = rs.value("cost_per_token", decode)
    for name in decode:
        if name in result.index:
            assert slopes[name] * decode[name] / cost == pytest.approx(result[name], rel=1e-13, abs=1e-15)
    assert slopes.attrs["unit"]["batch_size"] == "USD/token/sequence"
    grid = rs.gradient("cost_per_token", {**decode, "batch_size": [1.0, 2.0]})
    assert grid.sel(input="chip_price").unit == slopes.attrs["unit"]["chip_price"]
    assert "units" not in grid.attrs


def test_what_stands_beside_the_numbers(decode):
    result = rs.sensitivity("cost_per_token", {**decode, "batch_size": [1.0, 2.0]})
    assert result.attrs["units"] == "1"
    assert result.attrs["long_name"] == "elasticity of cost_per_token"
    assert result.attrs["chips"] == "72"
    assert result.batch_size.attrs["units"] == "sequence"
    assert all(isinstance(x, str) for x in result.attrs.values())


# --------------------------------------------------------------------------------------------------------- bad input

POINT = {"batch_size": 2, "context_length": 3, "kv_bytes_per_token": 5}
KV = "kv_bytes"
BAD: dict[str, Any] = {
    "output that is a choice": ("bottleneck", {}, errors.InputTypeError, "A choice has no derivative"),
    "output of choices": ("bits_per_weight", {"weight_format": "fp8"}, errors.InputTypeError, "not depend on any"),
    "unknown output": ("kv_byte", {}, errors.UnknownName, "did you mean 'kv_bytes'"),
    "several outputs": (["kv_bytes", "pass_time"], {}, errors.InputTypeError, "the name of one quantity"),
    "preset as output": ("model", {}, errors.UnknownName, "names a preset"),
    "unknown input in to": (KV, {"to": "bach_size"}, errors.UnknownName, "did you mean 'batch_size'"),
    "choice in to": (KV, {"to": ["overlap"]}, errors.InputTypeError, "one of 'board'"),
    "preset in to": (KV, {"to": "model"}, errors.InputTypeError, "names a preset"),
    "twice in to": (KV, {"to": ["batch_size"] * 2}, errors.InputTypeError, "distinct inputs, got batch_size"),
    "nothing in to": (KV, {"to": []}, errors.InputTypeError, "a list of names"),
    "number as to": (KV, {"to": 7}, errors.InputTypeError, "a list of names, got 7"),
    "number in to": (KV, {"to": ["batch_size", 7]}, errors.UnknownName, "unknown input 7"),
    "computed in to": (KV, {"to": "pass_time"}, errors.MissingInput, "Give its value"),
    "fallback in to": (KV, {"to": "microbatches"}, errors.MissingInput, "is computed from pipeline_stages"),
    "wrong side": (KV, {"side": "left"}, errors.UnknownName, "known are 'above', 'below'"),
    "side that is no word": (KV, {"side": np.zeros(2)}, errors.UnknownName, "unknown side"),
    "out of wrong shape": (KV, {"batch_size": [1], "out": np.zeros((2, 1))}, errors.AxisError, r"shape \(7, 1\)"),
    "out of wrong type": (KV, {"out": np.zeros(3, np.float32)}, errors.InputTypeError, "writable float64"),
    "out that is no array": (KV, {"out": [0.0] * 3}, errors.InputTypeError, "got list"),
    "tuple": (KV, {"batch_size": (1, 2)}, errors.InputTypeError, "a tuple means a range"),
    "unknown input": (KV, {"bach_size": 1}, errors.UnknownName, "did you mean 'batch_size'"),
    "missing input": ("kv_fetch_time", {}, errors.MissingInput, "needed by"),
    "axis called input": (
        KV, {"batch_size": Later(lambda: xr.DataArray([1.0], dims="input"))}, errors.AxisError, "Rename the axis",
    ),
    "axis called unit": (
        KV, {"batch_size": Later(lambda: xr.DataArray([1.0], dims="unit"))}, errors.AxisError, "Rename the axis",
    ),
    "no derivative": (
        "waiting_probability", {"batch_slots": 5, "slot_utilization": 0.5},
        errors.NoDerivative, "'batch_slots'.*erlang_c",
    ),
    "threads": (KV, {"threads": 0}, errors.InputTypeError, "threads"),
}  # fmt: skip


@pytest.mark.parametrize("case", BAD)
@pytest.mark.parametrize("call", [rs.sensitivity, rs.gradient])
def test_bad_input(case, call):
    output, inputs, error, words = BAD[case]
    inputs = made(inputs)
    wishes = {name: x for name, x in inputs.items() if name in ("to", "side", "out", "threads")}
    with pytest.raises(error, match=words):
        call(output, {**POINT, **{name: x for name, x in inputs.items() if name not in wishes}}, **wishes)


def test_a_distribution_is_no_number():
    stats = pytest.importorskip("scipy.stats", reason="a distribution needs scipy")
    with pytest.raises(errors.InputTypeError, match="batch_size"):
        rs.sensitivity("kv_bytes", {**POINT, "batch_size": stats.norm(5, 1)})


def test_only_the_inputs_without_derivative_are_named():
    inputs = {
        "batch_slots": 40,
        "slot_utilization": 0.4,
        "output_tokens": 700,
        "batch_interval": 0.02,
        "pass_length": 1,
    }
    with pytest.raises(errors.NoDerivative, match=r"^no derivative by 'batch_slots': "):
        rs.sensitivity("mean_queue_wait", inputs)
    assert rs.sensitivity("mean_queue_wait", inputs, to=["slot_utilization", "output_tokens"])["output_tokens"] == 1


def test_inputs_behind_an_argument_without_derivative_are_named():
    def waiting(batch_slots, chips, slot_utilization):
        return rs.math.erlang_c(batch_slots * chips + 1, slot_utilization)

    with rs.definitions():
        rs.define("pooled_waiting", "1", waiting, brief="share of arrivals that wait for a seat of any chip")
        with pytest.raises(
            errors.NoDerivative, match=r"^no derivative by 'batch_slots', 'chips': .*in its first argument"
        ):
            rs.sensitivity("pooled_waiting", batch_slots=5, chips=2, slot_utilization=0.5)
        assert (
            rs.sensitivity("pooled_waiting", to="slot_utilization", batch_slots=5, chips=2, slot_utilization=0.5)[
                "slot_utilization"
            ]
            > 0
        )


@pytest.mark.parametrize("word", ["to", "side"])
def test_words_of_these_calls_are_no_axes(word):
    with pytest.raises(errors.AxisError, match="as an argument"):
        rs.evaluate("kv_bytes", {**POINT, "batch_size": xr.DataArray([1.0, 2.0], dims=word)})


def test_a_term_that_vanishes_asks_for_nothing_more():
    result = rs.sensitivity("pretraining_flops", active_parameters=37e9, pretraining_tokens=15e12)
    assert result["active_parameters"] == result["pretraining_tokens"] == 1
    assert "multi_token_prediction_layers" not in result
    with pytest.raises(errors.MissingInput, match="vocabulary_size"):
        rs.sensitivity(
            "pretraining_flops", to="multi_token_prediction_layers", active_parameters=37e9, pretraining_tokens=15e12
        )
