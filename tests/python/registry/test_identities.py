"""Laws for all numbers: order, scale, limits, round trips, and cuts of the graph."""

import functools
import math

import numpy as np
import pytest
import roofslate as rs
from hypothesis import assume, given
from hypothesis import strategies as st
from roofslate import units
from roofslate.grid.read import Settled
from roofslate.registry.registry import ancestors, entries
from support.checks import cases

# Laws hold for machines of any memory, and for layouts that nobody would run.
pytestmark = pytest.mark.filterwarnings("ignore::roofslate.errors.DoesNotFit")


def logarithmic(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


@st.composite
def scenarios(draw, expert_reads=("all",)):
    total = draw(logarithmic(1e9, 1e13))
    experts = draw(st.integers(2, 512))
    chosen = draw(st.integers(1, experts))
    dense = total * draw(st.floats(0.01, 1))
    return {
        "batch_size": draw(logarithmic(1, 1e5)),
        "context_length": draw(logarithmic(1, 1e7)),
        "pass_length": draw(st.sampled_from([1.0, 1.0, 2.0, 512.0])),
        "total_parameters": total,
        "active_parameters": dense * draw(st.floats(0.1, 1)) + (total - dense) * (chosen / experts),
        "dense_parameters": dense,
        "experts": float(experts),
        "experts_per_token": float(chosen),
        "expert_reads": draw(st.sampled_from(expert_reads)),
        "bytes_per_weight": draw(st.sampled_from([0.5, 1.0, 2.0])),
        "kv_bytes_per_token": draw(logarithmic(100, 1e6)),
        "peak_flops": draw(logarithmic(1e13, 1e17)),
        "hbm_bandwidth": draw(logarithmic(1e11, 1e14)),
        "hbm_capacity": draw(logarithmic(1e10, 1e12)),
        "compute_efficiency": draw(st.floats(0.1, 1)),
        "bandwidth_efficiency": draw(st.floats(0.1, 1)),
        "chips": float(draw(st.integers(1, 1000))),
        "pipeline_stages": float(draw(st.integers(1, 16))),
        "chip_price": draw(logarithmic(1e-5, 1e-2)),
        "overlap": draw(st.sampled_from(["board", "serial_kv", "none"])),
    }


ANY = scenarios(("all", "expected"))
TIMES = ["compute_time", "weight_fetch_time", "kv_fetch_time", "memory_time", "pass_time"]


# ------------------------------------------------------------------------------------------------------------ order


@given(scenarios(), st.sampled_from(["batch_size", "context_length", "kv_bytes_per_token", "bytes_per_weight"]))
def test_times_grow_with_the_work(scenario, name):
    axis = scenario[name] * np.linspace(0.1, 10, 300)
    result = rs.evaluate(TIMES, {**scenario, name: np.maximum(axis, 1e-3)})
    for time in TIMES:
        if result[time].dims:
            assert (np.diff(result[time]) >= 0).all(), time


@given(
    scenarios(), st.sampled_from(["hbm_bandwidth", "peak_flops", "chips", "compute_efficiency", "bandwidth_efficiency"])
)
def test_times_shrink_with_the_machine(scenario, name):
    axis = (
        np.linspace(0.1, 1, 300)
        if name.endswith("efficiency")
        else np.linspace(1, 1000, 300)
        if name == "chips"
        else scenario[name] * np.linspace(0.1, 10, 300)
    )
    result = rs.evaluate(TIMES, {**scenario, name: axis})
    for time in TIMES:
        if result[time].dims:
            assert (np.diff(result[time]) <= 0).all(), time


@given(ANY)
def test_a_pass_takes_as_long_as_each_part(scenario):
    t = {name: rs.value(name, scenario) for name in TIMES}
    assert t["pass_time"] >= max(t["compute_time"], t["memory_time"])
    assert t["memory_time"] >= max(t["weight_fetch_time"], t["kv_fetch_time"])
    board, serial, none = (
        rs.value("pass_time", {**scenario, "overlap": word}) for word in ("board", "serial_kv", "none")
    )
    assert board <= serial
    assert serial <= none * (1 + 1e-15)
    assert none <= 2 * board * (1 + 1e-15)
    assert rs.value("pass_time", {**scenario, "expert_reads": "all"}) >= rs.value("latency_floor", scenario) * (
        1 - 1e-15
    )


@given(ANY)
def test_the_term_that_binds_is_the_longest(scenario):
    parts = {name: rs.value(f"{name}_time", scenario) for name in ("compute", "weight_fetch", "kv_fetch")}
    term = rs.value("bottleneck", scenario)
    if term == "compute":
        assert parts["compute"] >= rs.value("memory_time", scenario)
    else:
        assert parts[term] == max(parts["weight_fetch"], parts["kv_fetch"])


# ------------------------------------------------------------------------------------------------------------ scale


@given(ANY, st.sampled_from([2.0, 4.0, 0.5]))
def test_a_machine_twice_as_fast_takes_half_the_time(scenario, factor):
    """Powers of two change no digit, so these laws are exact."""
    faster = {
        **scenario,
        "peak_flops": scenario["peak_flops"] * factor,
        "hbm_bandwidth": scenario["hbm_bandwidth"] * factor,
    }
    for time in TIMES:
        assert rs.value(time, faster) * factor == rs.value(time, scenario)
    assert rs.value("cost_per_token", faster) * factor == rs.value("cost_per_token", scenario)
    assert rs.value("bottleneck", faster) == rs.value("bottleneck", scenario)
    dearer = {**scenario, "chip_price": scenario["chip_price"] * factor}
    assert rs.value("cost_per_token", dearer) == rs.value("cost_per_token", scenario) * factor


@given(scenarios(), st.sampled_from([2.0, 8.0]))
def test_twice_the_batch_of_half_the_context_is_the_same_cache(scenario, factor):
    other = {
        **scenario,
        "batch_size": scenario["batch_size"] * factor,
        "context_length": scenario["context_length"] / factor,
    }
    assert rs.value("kv_fetch_time", other) == rs.value("kv_fetch_time", scenario)
    assert rs.value("compute_time", other) == rs.value("compute_time", scenario) * factor


@given(scenarios())
def test_more_chips_cost_nothing_and_save_time(scenario):
    """In the ideal replica price and speed grow alike."""
    double = {**scenario, "chips": scenario["chips"] * 2}
    assert rs.value("pass_time", double) * 2 == rs.value("pass_time", scenario)
    assert rs.value("cost_per_token", double) == pytest.approx(rs.value("cost_per_token", scenario), rel=1e-14)


# --------------------------------------------------------------------------------------------------------- identities


@given(ANY)
def test_cost_times_throughput_is_the_price(scenario):
    assert rs.value("cost_per_token", scenario) * rs.value("replica_throughput", scenario) == pytest.approx(
        rs.value("replica_price", scenario), rel=1e-14
    )


@given(ANY)
def test_shares_are_shares(scenario):
    for name in ("compute_utilization", "model_flops_utilization", "expert_coverage", "large_batch_utilization"):
        assert 0 <= rs.value(name, scenario) <= 1 + 1e-14, name
    busy, useful = rs.value("compute_utilization", scenario), rs.value("model_flops_utilization", scenario)
    assert useful == pytest.approx(busy * scenario["compute_efficiency"], rel=1e-13)


@given(ANY)
def test_fetched_weights_lie_between_those_of_a_token_and_all(scenario):
    fetched = rs.value("fetched_weight_bytes", scenario) / scenario["bytes_per_weight"]
    assert scenario["active_parameters"] <= fetched * (1 + 1e-12)
    assert fetched <= scenario["total_parameters"] * (1 + 1e-12)
    one = {**scenario, "batch_size": 1.0, "pass_length": 1.0}
    assert rs.value("expert_coverage", one) == pytest.approx(
        scenario["experts_per_token"] / scenario["experts"], rel=1e-12
    )


@given(scenarios())
def test_at_the_balance_batch_the_two_clocks_agree(scenario):
    balanced = {**scenario, "batch_size": rs.value("balance_batch", scenario)}
    assert rs.value("compute_time", balanced) == pytest.approx(rs.value("weight_fetch_time", balanced), rel=1e-12)
    with_cache = rs.value("balance_batch_at_context", scenario)
    if scenario["context_length"] < rs.value("balance_context", scenario) * 0.999:
        balanced["batch_size"] = with_cache
        assert rs.value("compute_time", balanced) == pytest.approx(rs.value("memory_time", balanced), rel=1e-9)
    elif scenario["context_length"] >= rs.value("balance_context", scenario):
        assert with_cache == math.inf


@given(scenarios())
def test_at_the_balance_context_a_sequence_takes_both_alike(scenario):
    balanced = {**scenario, "context_length": rs.value("balance_context", scenario)}
    assert rs.value("kv_fetch_time", balanced) == pytest.approx(rs.value("compute_time", balanced), rel=1e-12)


@given(scenarios())
def test_fetching_all_memory_takes_the_drain_time(scenario):
    full = {**scenario, "pipeline_stages": 1.0, "context_length": 0.0, "bandwidth_efficiency": 1.0, "overlap": "board"}
    full["total_parameters"] = scenario["hbm_capacity"] * scenario["chips"] / scenario["bytes_per_weight"]
    full["active_parameters"] = full["dense_parameters"] = full["total_parameters"]
    assert rs.value("weight_fetch_time", full) == pytest.approx(rs.value("hbm_drain_time", full), rel=1e-13)


# ------------------------------------------------------------------------------------------------------------ limits


@given(scenarios())
def test_without_context_there_is_no_cache(scenario):
    none = {**scenario, "context_length": 0.0}
    assert rs.value("kv_fetch_time", none) == 0
    assert rs.value("memory_time", none) == rs.value("weight_fetch_time", none)
    assert rs.value("bottleneck", none) in ("compute", "weight_fetch")


@given(scenarios())
def test_large_batches_cost_what_their_parts_cost(scenario):
    """At unlimited batch size a token costs the larger of its compute and its KV reads."""
    large = {**scenario, "batch_size": 1e15, "overlap": "board"}
    per_token = max(rs.value("compute_time", large), rs.value("kv_fetch_time", large)) / (
        1e15 * scenario["pass_length"]
    )
    price = rs.value("replica_price", large) * rs.value("round_passes", large) / rs.value("microbatches", large)
    assert rs.value("cost_per_token", large) == pytest.approx(per_token * price, rel=1e-3)
    assert rs.value("compute_utilization", large) == pytest.approx(rs.value("large_batch_utilization", large), rel=1e-3)
    assert rs.value("expert_coverage", large) == 1


@given(logarithmic(1, 300), st.floats(0, 0.999))
def test_erlang_c_lies_between_its_bounds(batch_slots, load):
    waiting = rs.value("waiting_probability", batch_slots=batch_slots, slot_utilization=load)
    assert 0 <= waiting <= 1
    assert (
        waiting <= load * (1 + 1e-9) or batch_slots < 1 + 1e-9
    )  # a single seat waits with probability load; more seats less
    more = rs.value("waiting_probability", batch_slots=batch_slots, slot_utilization=min(load * 1.01, 0.9999))
    assert more >= waiting * (1 - 1e-12)


@given(st.floats(1.01, 50), st.floats(1.01, 20))
def test_the_tariff_comes_back(price, speed):
    assume(price > 1.05)
    ratio = rs.value("batch_time_ratio", price_factor=price, speed_factor=speed)
    assert rs.value("speed_factor_at_price", batch_time_ratio=ratio, paid_price_factor=price) == pytest.approx(
        speed, rel=1e-9
    )
    assert rs.value("price_factor_at_speed", batch_time_ratio=ratio, asked_speed_factor=speed) == pytest.approx(
        price, rel=1e-6
    )
    assert (
        rs.value("price_factor_at_speed", batch_time_ratio=ratio, asked_speed_factor=(1 + ratio) * (1 + 1e-12))
        == math.inf
    )


# -------------------------------------------------------------------------------------------------------- round trips


def test_a_number_written_with_its_unit_is_read_back():
    """Every quantity as an input: its unit, as the package writes it, is accepted again."""
    with cases() as case:
        for name, q in entries().items():
            if not q.choices:
                with case(name):
                    check_read_back(name, q)


def check_read_back(name, q):
    low = max(q.low, 1e-12)
    high = min(q.high, low * 1e30)
    for share in (0.1, 0.35, 0.6, 0.95):
        x = low ** (1 - share) * high**share
        read = rs.value(name, Settled({name: units.format(x, q.unit, 12)}))
        assert read == pytest.approx(x, rel=1e-11)
        assert rs.value(name, Settled({name: f"{x!r} {q.unit}" if q.unit != "1" else repr(x)})) == x


@given(
    ANY,
    st.sampled_from(
        [
            ("pass_time", "ms"),
            ("cost_per_token", "USD/Mtoken"),
            ("replica_throughput", "ktok/s"),
            ("hbm_used", "GiB"),
            ("ridge_point", "FLOP/B"),
        ]
    ),
)
def test_units_of_a_result_come_back(scenario, converted):
    name, unit = converted
    x = rs.value(name, scenario)
    assert rs.value(name, scenario, units=unit) * units.convert_factor(unit, entries()[name].unit) == pytest.approx(
        x, rel=1e-15
    )


# ------------------------------------------------------------------------------------------------------- cut anywhere


def _supply(q, x):
    """Return True for a valid value of a quantity: finite, or infinity if in its range."""
    return isinstance(x, str) or (
        q.low <= x <= q.high and not (q.above_low and x == q.low) and (math.isfinite(x) or q.takes_infinity)
    )


# Which make a pool of chips a layout with copies.
LAYOUT = {"layout", "tensor_parallel", "attention_data_parallel", "context_parallel", "expert_tensor_parallel"}


@given(
    ANY,
    st.sampled_from(
        [
            "cost_per_token",
            "pass_time",
            "replica_throughput",
            "bottleneck",
            "hbm_used",
            "balance_batch_at_context",
            "full_memory_context",
        ]
    ),
)
def test_a_quantity_given_its_own_value_changes_nothing(scenario, output):
    expected = rs.value(output, scenario)
    for name in sorted(ancestors(output) - set(scenario) - LAYOUT):
        try:
            computed = rs.value(name, scenario)
        except rs.errors.MissingInput:
            continue
        if _supply(entries()[name], computed):
            assert rs.value(output, Settled({**scenario, name: computed})) == expected, name


@functools.cache
def _ever_above(name):
    """All that a quantity may depend on, also where requests arrive."""
    reached, waiting = set(), [name]
    while waiting:
        q = entries()[waiting.pop()]
        new = {*q.needs, *filter(None, [q.fallback, q.replaced_by])} - reached
        reached |= new
        waiting += new
    return reached


def _is_changed_elsewhere(name, output):
    """Return True if an output depends on a quantity, by a change of its ancestors."""
    for other in {output, *_ever_above(output)}:
        q = entries()[other]
        if q.changed and name in {q.needs[0], *_ever_above(q.needs[0])} and q.changed in _ever_above(name):
            return True
    return False


def _decides(name, output):
    """Return True if a given quantity, such as a batch, changes the formulas of others."""
    above = [entries()[other] for other in {output, *_ever_above(output)}]
    return any(name in {*q.implied_by, *q.replaced_where, *q.replaced_unless} for q in above)


@pytest.mark.long
@pytest.mark.whole
def test_every_quantity_of_the_registry_may_be_cut(whole_scenario, bits):
    expected = {output: rs.value(output, whole_scenario) for output, q in entries().items() if q.computed}
    above = {output: set(ancestors(output)) for output in expected}
    for name, computed in expected.items():
        if not _supply(entries()[name], computed):
            continue
        outputs = [
            o for o in expected if name in above[o] and not _is_changed_elsewhere(name, o) and not _decides(name, o)
        ]
        if not outputs:
            continue
        cut = rs.evaluate(outputs, Settled({**whole_scenario, name: computed}))
        for output in outputs:
            result, value = cut[output].item(), expected[output]
            choices = entries()[output].choices
            result = choices[int(result)] if choices and not isinstance(result, str) else result
            assert result == value or bits(result) == bits(value), (output, name)


LOAD = {"batch_size", "concurrency", "admitted_batch", "running_sequences", "sequences_in_flight"}
ARRIVALS = {"arrival_rate", "turn_rate", "session_rate", "session_rate_from_arrivals"}


def test_nothing_depends_on_itself_but_the_batch_the_clients_and_arrivals():
    """Of which one is given."""
    for name in entries():
        assert (name in ancestors(name)) == (name in LOAD | ARRIVALS), name
