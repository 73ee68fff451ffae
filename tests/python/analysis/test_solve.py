"""solve: closed forms, solutions put back, every boundary, no solution, stretches."""

import contextlib
import itertools
import math
import re

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import assume, given, settings
from hypothesis import strategies as st
from roofslate import errors
from roofslate.grid.read import Settled
from roofslate.registry.registry import ancestors, entries
from roofslate.registry.values import number
from support.reference import by_quantity, quantities
from support.solving import CELL, CLOSE, near, solve


def logarithmic(low, high):
    return st.floats(math.log(low), math.log(high)).map(math.exp)


def solutions(unknown, condition, /, **more):
    """All solutions of a scalar question, and why there are none."""
    result = solve(unknown, condition, at="all", **more)
    assert result.dims == ("root",)
    values = result.to_numpy()
    return values[~np.isnan(values)].tolist(), result["reason"].item()


# ------------------------------------------------------------------------------------------------------- closed forms


@st.composite
def cells(draw):
    total = draw(logarithmic(1e9, 1e13))
    return {
        "total_parameters": total,
        "active_parameters": total * draw(st.floats(0.01, 1)),
        "bytes_per_weight": draw(st.sampled_from([0.5, 1.0, 2.0])),
        "kv_bytes_per_token": draw(logarithmic(100, 1e6)),
        "peak_flops": draw(logarithmic(1e13, 1e17)),
        "hbm_bandwidth": draw(logarithmic(1e11, 1e14)),
        "hbm_capacity": draw(logarithmic(1e10, 1e12)),
        "compute_efficiency": draw(st.floats(0.1, 1)),
        "bandwidth_efficiency": draw(st.floats(0.1, 1)),
        "chips": float(draw(st.integers(1, 1000))),
        "chip_price": draw(logarithmic(1e-5, 1e-2)),
        "batch_size": draw(logarithmic(1, 1e5)),
        "context_length": draw(logarithmic(1, 1e7)),
        "pass_length": draw(st.sampled_from([1.0, 1.0, 4.0, 512.0])),
        "hold_time": 1.0,
        "overlap": draw(st.sampled_from(["board", "serial_kv", "none"])),
    }


TIERS = {
    "tier_capacity": 7e12,
    "tier_bandwidth": 1.4e10,
    "tier_price": 250 / 3.156e7,
    "slower_tier_capacity": 3e13,
    "slower_tier_bandwidth": 2.8e8,
    "slower_tier_price": 100 / 3.156e7,
}
CLOSED = {
    "balance_batch": ("batch_size", "compute_time == weight_fetch_time"),
    "balance_batch_at_context": ("batch_size", "compute_time == memory_time"),
    "balance_context": ("context_length", "kv_fetch_time == compute_time"),
    "kink_context": ("context_length", "memory_time == compute_time"),
    "kv_overtaking_context": ("context_length", "kv_fetch_time == weight_fetch_time"),
    "memory_limited_batch": ("batch_size", "hbm_used <= hbm_capacity"),
    "full_memory_context": ("context_length", "hbm_used <= hbm_capacity"),
    "interval_batch": ("batch_size", "pass_time <= batch_interval"),
    "balance_pass_length": ("pass_length", "compute_time == memory_time"),
    "break_even_stages": ("pipeline_stages", "kv_bytes_per_chip == weight_bytes_per_chip"),
    "recompute_hold_time": ("hold_time", "hbm_hold_cost == recompute_cost"),
    "tier_recompute_hold_time": ("hold_time", "tier_cost == recompute_cost"),
    "tier_drain_time": ("hold_time", "tier_hold_cost == tier_retrieve_cost"),
    "tier_switch_time": (
        "hold_time",
        "tier_retrieve_price + hold_time * tier_rent == slower_tier_retrieve_price + hold_time * slower_tier_rent",
    ),
}


@pytest.mark.parametrize("closed", CLOSED)
@settings(max_examples=25)
@given(cell=cells())
def test_closed_forms(closed, cell):
    unknown, condition = CLOSED[closed]
    scenario = {**cell, **TIERS}
    expected = rs.value(closed, Settled(scenario))
    low = entries()[unknown].low
    result = solve(unknown, condition, **{n: x for n, x in scenario.items() if n != unknown})
    # near its own pole the closed form says as little as the condition: one digit of L/L0 is a thousand of B*
    assume(not 0.99 < scenario["context_length"] / rs.value("balance_context", cell) < 1.01)
    if math.isinf(expected) or expected < low or expected == 0:
        assert result["reason"] in ("never", "always")
        assert math.isnan(result)
    else:
        assert result["reason"] == ""
        assert result.item() == pytest.approx(expected, rel=CLOSE)


def test_closed_form_on_a_grid():
    cell = {
        "model": "DeepSeek-V3",
        "hardware": "GB200 NVL72",
        "expert_reads": "all",
        "hbm_bandwidth": rs.geomspace("2 TB/s", "20 TB/s", 100),
        "chips": np.geomspace(8, 1024, 20),
        "context_length": np.geomspace(100, 1e4, 100),
    }
    result = solve("batch_size", "compute_time == memory_time", **cell)
    related = {n: x for n, x in cell.items() if n != "chips"}
    closed = rs.evaluate("balance_batch_at_context", {**related, "chips": 64})
    expected = closed.expand_dims(chips=cell["chips"]).transpose(*result.dims).to_numpy()
    assert result.dims == ("hbm_bandwidth", "chips", "context_length")  # chips cancel, but in rounding
    never = np.isinf(expected)
    assert 0.1 < never.mean() < 0.9
    assert np.array_equal(result["reason"], np.where(never, "never", ""))
    machine = {n: x for n, x in related.items() if n != "context_length"}
    balance = rs.evaluate("balance_context", machine).to_numpy()[:, None, None]
    clear = ~never & (cell["context_length"] < 0.99 * balance)
    assert clear.sum() > 1e4
    assert result.to_numpy()[clear] == pytest.approx(expected[clear], rel=CLOSE)


# --------------------------------------------------------------------------------------------- solved, then evaluated


# The quantity is the same for all values of the input, but in rounding; of contexts almost alike, nearly so.
CONSTANT = {
    *(("least_cost_ratio", unknown) for unknown in ("rising_coefficient", "falling_coefficient")),
    *((quantity, "traffic_exponent") for quantity in ("mean_short_context", "mean_long_context")),
    ("lone_weight_fetch", "total_parameters"),  # one token reads the active parameters, of however many
    ("lone_weight_fetch", "active_parameters"),
}


# A secant divides by a difference that vanishes: a few digits of the unknown remain next to its pole.
NEAR_POLES = {"third_batch", "fourth_batch", "third_token_time_guess"}

# One token fetches the active weights, however many there are in all. Several tokens depend on the total.
SEVERAL = {"fetched_weight_bytes": {"batch_size": 4}}


def is_smooth(quantity, inputs):
    return not any(re.search(r"(ceil|floor)\(", step.formula) for step in rs.explain(quantity, Settled(inputs)).steps)


def put_back(quantity, value, unknown, known, start):
    """Solve for an input with a known value, which is among the solutions."""
    result = solve(unknown, f"{quantity} == {value!r}", at="all", **known)
    roots = [x for x in result.to_numpy().ravel().tolist() if not math.isnan(x)]
    for x in roots:
        if not math.isfinite(x) or x == 0:
            continue  # the end of a stretch that the range does not have
        near = [rs.value(quantity, Settled({**known, unknown: x}))]
        width = (8 if quantity in NEAR_POLES else 1) * math.ulp(x)
        for y in (x - width, x + width):
            with contextlib.suppress(errors.ValueRangeError):  # beyond the end of the range
                near.append(rs.value(quantity, Settled({**known, unknown: y})))
        # one step of the input may change more than that: no number between is nearer
        # of two large numbers the difference
        close = CLOSE * (100 if quantity in ("peakedness", "running_variance") else 1)
        tolerance = max(close * abs(value), 4 * max(near) - 4 * min(near))
        assert abs(near[0] - value) <= tolerance, (quantity, unknown, x, near, value)
    if result["reason"].item().startswith(("always", "undecided", "many")):  # some say why
        return
    if 0 < abs(start) < 1e-75:  # below the smallest number that counts as nonzero
        return
    between = any(a <= start <= b for a, b in itertools.pairwise(roots))
    assert between or any(math.isclose(x, start, rel_tol=1e-9) for x in roots), (quantity, unknown, start, roots, known)


@pytest.mark.parametrize("quantity", [name for name in quantities() if not entries()[name].choices])
def test_solutions_put_back(quantity):
    cases = [row.case["inputs"] for row in by_quantity()[quantity]]
    rng = np.random.default_rng(len(quantity))
    more = SEVERAL.get(quantity, {})
    smooth = [{n: more.get(n, x) for n, x in inputs.items()} for inputs in cases if is_smooth(quantity, inputs)]
    for inputs, (unknown, given_value) in ((i, pair) for i in smooth for pair in i.items()):
        if unknown in ("model", "hardware", "prices") or entries()[unknown].choices:
            continue
        known = {n: x for n, x in inputs.items() if n != unknown}
        if (quantity, unknown) in CONSTANT:
            continue
        start = number(given_value, entries()[unknown]) * float(rng.choice([1.0, 0.83, 1.17]))
        try:
            value = rs.value(quantity, Settled({**known, unknown: start}))
        except (errors.ValueRangeError, errors.MissingInput):  # beyond a range or in another branch: stay
            start = number(given_value, entries()[unknown])
            value = rs.value(quantity, Settled(inputs))
        if not math.isfinite(value) or not math.isfinite(start):
            continue
        # the quantity may do without it, and other values of it may take more inputs
        with contextlib.suppress(errors.IneffectiveInput, errors.MissingInput):
            try:
                put_back(quantity, value, unknown, known, start)
            except errors.ValueRangeError as error:  # chips that decide upon the layout are searched by `deploy`
                if "decides upon the layout" not in str(error):
                    raise


LECTURE = {
    "model": "lecture",
    "hardware": "B200 (lecture)",
    "prices": "lecture",
    "chips": 72.0,
    "batch_size": 2400.0,
    "context_length": 1e5,
    "pass_length": 1.0,
    "hold_time": 60.0,
    "pipeline_stages": 1.0,
    "microbatches": 2.0,
    "hop_latency": 1e-5,
    "batch_interval": 0.02,
}
SOUGHT = ("batch_size", "context_length", "chips", "pipeline_stages", "hold_time", "batch_interval", "hop_latency")
SOUGHT += ("peak_flops", "hbm_bandwidth", "hbm_capacity", "chip_price", "total_parameters", "active_parameters")
SOUGHT += ("bytes_per_weight", "kv_bytes_per_token", "compute_efficiency", "bandwidth_efficiency")


@pytest.mark.parametrize("unknown", SOUGHT)
def test_solutions_put_back_for_the_lecture(unknown):
    known = LECTURE[unknown] if unknown in LECTURE else rs.value(unknown, Settled(LECTURE))
    others_known = {n: x for n, x in LECTURE.items() if n != unknown}
    solved = 0
    for quantity in entries():
        if unknown not in ancestors(quantity) or entries()[quantity].choices:
            continue
        try:
            if not is_smooth(quantity, LECTURE):
                continue
            value = rs.value(quantity, Settled({**others_known, unknown: known}))
            if math.isfinite(value):
                put_back(quantity, value, unknown, others_known, known)
                solved += 1
        except (errors.MissingInput, errors.IneffectiveInput):
            continue
    assert solved


# --------------------------------------------------------------------------------------------------------- boundaries

# Conditions, and their truth by the values of their quantities.
BOUNDARIES = [
    ("batch_size", "pass_time <= {x!r} s", lambda v, x: v("pass_time") <= x),
    ("batch_size", "cost_per_token < {x!r} USD/token", lambda v, x: v("cost_per_token") < x),
    ("batch_size", "cost_per_token >= {x!r} USD/token", lambda v, x: v("cost_per_token") >= x),
    ("batch_size", "fetched_weight_bytes > {x!r}", lambda v, x: v("fetched_weight_bytes") > x),
    ("context_length", "kv_fetch_time > weight_fetch_time", lambda v, _: v("kv_fetch_time") > v("weight_fetch_time")),
    ("context_length", "balance_batch_at_context <= {x!r}", lambda v, x: v("balance_batch_at_context") <= x),
    ("chips", "hbm_used < 0.9 * hbm_capacity", lambda v, _: v("hbm_used") < 0.9 * v("hbm_capacity")),
    ("chips", "kv_cache_capacity > kv_bytes", lambda v, _: v("kv_cache_capacity") > v("kv_bytes")),
    ("hbm_bandwidth", "compute_utilization >= 0.5", lambda v, _: v("compute_utilization") >= 0.5),
    (
        "batch_size",
        "batch_size * batch_size + {x!r} seq * {x!r} seq / 2 < 2 * {x!r} seq * batch_size",
        lambda v, x: v("batch_size") ** 2 + x * x / 2 < 2 * x * v("batch_size"),
    ),
    (
        "scale_up_domain",
        "minimum_stages_for_weights <= {x!r}",
        lambda v, x: v("minimum_stages_for_weights") <= x,
    ),
    ("batch_size", "min(batch_size, {x!r} seq * {x!r} seq / batch_size) > 9 seq",
     lambda v, x: min(v("batch_size"), x * x / v("batch_size")) > 9),
]  # fmt: skip
# The change by 10% of the unknown below which rounding hides the solution.
FLAT = {"cost_per_token": 1e-9, "balance_batch_at_context": 1e-7, "fetched_weight_bytes": 1e-6}


@pytest.mark.parametrize(("unknown", "text", "meaning"), BOUNDARIES, ids=[text for _, text, _ in BOUNDARIES])
@settings(max_examples=20)
@given(cell=cells(), data=st.data())
def test_boundaries_divide_where_it_holds(unknown, text, meaning, cell, data):
    more = {"experts": 256.0, "experts_per_token": 8.0, "dense_parameters": cell["total_parameters"] * 0.1}
    known = {n: x for n, x in {**cell, **more, "scale_up_domain": 72.0}.items() if n != unknown}
    at = data.draw(logarithmic(1, 1e6), label="solution")
    name = text.split(" ")[0]
    limit = rs.value(name, Settled({**known, unknown: at})) if name in entries() and name != unknown else at
    assume(math.isfinite(limit) and limit > 0)
    if name in FLAT:  # on its plateau rounding decides point by point
        assume(
            all(abs(rs.value(name, Settled({**known, unknown: at * k})) / limit - 1) > FLAT[name] for k in (0.9, 1.1))
        )
    roots, reason = solutions(unknown, text.format(x=limit), **known)

    def holds(y):
        return meaning(lambda n: y if n == unknown else rs.value(n, Settled({**known, unknown: y})), limit)

    assert roots == sorted(roots)
    assert all(holds(x) for x in roots)
    q = entries()[unknown]
    points = data.draw(st.lists(logarithmic(max(q.low, 1e-3), 1e12), min_size=8, max_size=8), label="points")
    sides = {}
    for y in points:
        if all(abs(y - x) > 1e-9 * x for x in roots):  # nearer, rounding may make two values of a side equal
            sides.setdefault(sum(x < y for x in roots), set()).add(holds(y))
    assert all(len(side) == 1 for side in sides.values())
    for below, above in itertools.pairwise(sorted(sides)):
        assert (sides[below] == sides[above]) == ((above - below) % 2 == 0)
    if not roots:
        assert (reason == "always") == sides[0].pop()
    smallest, largest = (solve(unknown, text.format(x=limit), at=at, **known).item() for at in ("smallest", "largest"))
    assert [smallest, largest] == ([roots[0], roots[-1]] if roots else pytest.approx([math.nan] * 2, nan_ok=True))


def test_the_limit_of_the_unknown_may_vary():
    cell = {"batch_size": 64, "peak_flops": 1e15, "chips": 1}
    result = rs.solve("active_parameters", "compute_time == 10 ms", cell, total_parameters=[1e9, 1e11, 1e12])
    share = 10e-3 * 1e15 / (2 * 64)
    assert result.to_numpy() == pytest.approx([math.nan, share, share], nan_ok=True)
    assert result["reason"].to_numpy().tolist() == ["never", "", ""]
    ends = {"shortest_context": [1e3, 1e4, 5e4], "longest_context": xr.DataArray([3e4, 1e5], dims="longest")}
    result = rs.solve("long_context_threshold", "mean_short_context == 25000", ends, context_distribution="uniform")
    expected = np.array([[math.nan, 49e3], [math.nan, 40e3], [math.nan, math.nan]])  # 2 x 25,000 - shortest
    assert result.transpose("shortest_context", "longest").to_numpy() == pytest.approx(expected, nan_ok=True)


@pytest.mark.parametrize("many", [5, 100_000])
def test_arrays_may_lie_in_memory_in_any_way(many):
    rng = np.random.default_rng(3)
    work, price = rng.random((3, 2 * many, 2)) + 1, rng.random((many, 3)) + 1
    cell = {"peak_flops": xr.DataArray(1e15 * work[:, ::-2, 1].T, dims=("b", "a"))}
    cell["chips"] = xr.DataArray(price[::-1], dims=("b", "a"))
    copied = {name: array.copy(data=np.ascontiguousarray(array)) for name, array in cell.items()}
    question = ("batch_size", "compute_time == 10 ms")
    result, again = (rs.solve(*question, active_parameters=37e9, pass_length=1, **given) for given in (cell, copied))
    assert result.identical(again)
    assert result.to_numpy() == pytest.approx((10e-3 * cell["peak_flops"] * cell["chips"] / (2 * 37e9)).to_numpy())


# ----------------------------------------------------------------------------------- stretches, jumps, ends, reasons


PRICED = {n: x for n, x in {**CELL, "batch_size": 8.0, "chip_price": 0.01}.items() if n != "chips"}
BALANCE = rs.value("balance_batch_at_context", CELL)
ONE = "(1 seq)"


@pytest.mark.parametrize(
    ("unknown", "condition", "inputs", "roots", "reason"),
    [
        # a stretch on which both sides agree: its ends
        ("batch_size", "pass_time == compute_time", CELL, [near(BALANCE), math.inf], ""),
        ("batch_size", "pass_time == memory_time", CELL, [0.0, near(BALANCE)], ""),
        ("batch_size", "replica_throughput == compute_bound_throughput", CELL, [near(BALANCE), math.inf], ""),
        (
        "chips", "kv_cache_capacity == 0",
        {n: x for n, x in CELL.items() if n != "chips"}, [1.0, near(671 / 141)], "",
    ),
        ("slot_utilization", "max(slot_utilization, 0.25) == min(slot_utilization, 0.75)", {}, [0.25, 0.75], ""),
        ("compute_time", "max(compute_time, -3 s) == -3 s", {}, [-math.inf, -3.0], ""),
        # all of the range, or nothing of it
        ("batch_size", "pass_time == pass_time", CELL, [], "always"),
        ("batch_size", "pass_time <= pass_time", CELL, [], "always"),
        ("batch_size", "pass_time < pass_time", CELL, [], "never"),
        ("batch_size", "pass_time > 0", CELL, [], "always"),
        ("batch_size", "pass_time <= 1 us", CELL, [], "never"),
        ("batch_size", "pass_time == 1 us", CELL, [], "never"),
        ("chips", "cost_per_token == 1 USD/Mtoken", PRICED, [], "never"),
        ("batch_size", f"sqrt(-1 - batch_size / {ONE}) == 2", {}, [], "undefined"),
        ("batch_size", f"sqrt(-1 - batch_size / {ONE}) <= 2", {}, [], "undefined"),
        # several
        ("batch_size", f"batch_size * batch_size + 6 * {ONE} * {ONE} == 5 * {ONE} * batch_size", {}, [2, 3], ""),
        ("batch_size", f"batch_size * batch_size + 6 * {ONE} * {ONE} <= 5 * {ONE} * batch_size", {}, [2, 3], ""),
        ("batch_size", f"min(batch_size / {ONE} / 100, 200 * {ONE} / batch_size) == 0.5", {}, [50, 400], ""),
        ("compute_time", "compute_time * compute_time == 4 s * (1 s)", {}, [-2, 2], ""),
        ("compute_time", "compute_time * compute_time * compute_time == 4 s * 1 s * compute_time", {}, [-2, 0, 2], ""),
        ("compute_time", "compute_time * compute_time <= 4 s * (1 s)", {}, [-2, 2], ""),
        # zero
        ("context_length", "kv_bytes == 0", {"batch_size": 3, "kv_bytes_per_token": 9}, [0], ""),
        ("context_length", "kv_bytes > 0", {"batch_size": 3, "kv_bytes_per_token": 9}, [0], ""),
        ("context_length", "kv_bytes >= 0", {"batch_size": 3, "kv_bytes_per_token": 9}, [], "always"),
        ("compute_time", "1 / compute_time >= 4 /s", {}, [0, 0.25], ""),
        # jumps and poles are no roots, but boundaries
        ("batch_size", f"1 / (batch_size / {ONE} - 3) == 0", {}, [], "never"),
        ("batch_size", f"1 / (batch_size / {ONE} - 3) == 2", {}, [3.5], ""),
        ("scale_up_domain", "minimum_stages_for_weights == 2.5", {"model_bytes": 9, "hbm_capacity": 1}, [], "never"),
        ("scale_up_domain", "minimum_stages_for_weights <= 2.5", {"model_bytes": 9, "hbm_capacity": 1}, [4.5], ""),
        ("scale_up_domain", "minimum_stages_for_weights == 3", {"model_bytes": 9, "hbm_capacity": 1}, [3, 4.5], ""),
        # a side is undefined
        ("batch_size", f"sqrt(batch_size / {ONE} - 3) == 0.1", {}, [3.01], ""),
        ("batch_size", f"sqrt(batch_size / {ONE} - 3) <= 2", {}, [3, 7], ""),
        ("batch_size", f"log(batch_size / {ONE}) == 1", {}, [math.e], ""),
        ("batch_size", f"exp(batch_size / {ONE} / 7) == 20", {}, [7 * math.log(20)], ""),
        # ends of the range
        ("compute_efficiency", "ridge_point == 100", {"peak_flops": 1e15, "hbm_bandwidth": 1e13}, [1], ""),
        ("compute_efficiency", "ridge_point == 101", {"peak_flops": 1e15, "hbm_bandwidth": 1e13}, [], "never"),
        ("chips", "replica_hbm_capacity == 1 GB", {"hbm_capacity": 1e9}, [1], ""),
        ("kv_heads", "kv_heads == 9", {"attention_heads": 8}, [], "never"),
        ("kv_heads", "kv_heads >= 3", {"attention_heads": 8}, [3], ""),
        ("total_parameters", "sparsity <= 4", {"active_parameters": 3e9}, [12e9], ""),
        ("total_parameters", "sparsity < 1", {"active_parameters": 3e9}, [], "never"),
        # no closed form
        ("slot_utilization", "waiting_probability == 0.1", {"batch_slots": 1.0}, [0.1], ""),
    ],
)  # fmt: skip
def test_solutions(unknown, condition, inputs, roots, reason):
    expected = [x if not isinstance(x, (int, float)) or math.isinf(x) else near(x) for x in roots]
    result, why = solutions(unknown, condition, **inputs)
    assert result == expected
    assert why == reason
    for at, k in (("smallest", 0), ("largest", -1)):
        one = solve(unknown, condition, at=at, **inputs)
        assert one.dims == ()
        assert one["reason"] == reason
        assert (one.item() == expected[k]) if roots else math.isnan(one)


def test_the_boundary_itself_meets_the_condition():
    for relation in ("<", "<=", ">", ">="):
        limit = solve("batch_size", f"pass_time {relation} 0.5 s", **CELL).item()
        assert rs.count(f"pass_time {relation} 0.5 s", CELL, batch_size=[limit]) == 1
        assert rs.count(f"pass_time {relation} 0.5 s", CELL, batch_size=[limit * (1 - 1e-13), limit * (1 + 1e-13)]) == 1


def test_a_routine_is_searched_on_a_grid():
    batch_slots = np.array([1.0, 4.0, 32.0, 500.5])
    result = solve("slot_utilization", "waiting_probability == 0.1", batch_slots=batch_slots)
    assert rs.evaluate(
        "waiting_probability", batch_slots=batch_slots, slot_utilization=result.drop_vars("reason")
    ).to_numpy() == near(0.1)


def test_an_unknown_between_two_others():
    """Return the quantities that bound or are bounded by another one."""
    known = {
        "shortest_context": 1e3,
        "longest_context": 1e6,
        "traffic_exponent": 1.0,
        "context_distribution": "power_law",
    }
    mean = rs.value("mean_long_context", known, long_context_threshold=2e5)
    assert solve("long_context_threshold", f"mean_long_context == {mean!r}", **known).item() == pytest.approx(2e5)


@pytest.mark.parametrize("limit", [0, 1e-16, -1e-15, 1e-14, 1e-13, -1e-13, 3e-11])
def test_a_root_at_which_rounding_hides_the_sides_is_no_jump(limit: float) -> None:
    """The quantity is 0 at 1 by a difference, and has a pole at 0.25."""
    (root,) = rs.solve("speed_factor", f"lowest_price_factor == {limit}", price_factor=4, at="all", progress=False)
    assert root == pytest.approx(1, abs=1e-10)
