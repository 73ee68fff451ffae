"""Disaggregated serving: against all combinations of pools, and simulated pools."""

import itertools
import math

import numpy as np
import pytest
import roofslate as rs
from roofslate.errors import InputTypeError, MissingInput, UnknownName, ValueRangeError
from roofslate.grid.read import Settled
from support.checks import cases
from support.lazy import Lazy

pyplot = Lazy("matplotlib.pyplot")


SERVICE = {
    "model": "DeepSeek-V3", "input_tokens": "4k", "output_tokens": 500, "input_cv": 1, "output_cv": 0.8,
    "chip_price": "$3/hour", "arrival_rate": "50/s", "calibration": "serving",
}  # fmt: skip
GOALS = ["ttft_p99 <= 2 s", "tpot_p99 <= 50 ms"]
ONE = {"hardware": "HGX H200", "attention_data_parallel": 1, "pipeline_stages": 1, "expert_parallel": 1}
HANDED = {
    "prompts_ahead_share": "prefill_wait_probability",
    "prompts_ahead_time": "prefill_wait_time",
    "prompt_work_time": "prompt_work_time",
    "prompt_pass_overhead": "prompt_pass_overhead",
    "exposed_kv_transfer_time": "exposed_kv_transfer_time",
}


@pytest.fixture(scope="module")
def plan():
    return rs.deploy(
        SERVICE, hardware="HGX H200", prefill={}, objective="cost_per_output_token", where=GOALS, also="service_load",
        units={"cost_per_output_token": "USD/Mtoken"}, progress=False,
    )  # fmt: skip


# ----------------------------------------------------------------------------------------------------- the best of all


def apart(decode_replicas, prefill_replicas, hours):
    """Cost per token and the percentiles of two pools, each evaluated by itself."""
    pool = {**SERVICE, **ONE, "serving_mode": "disaggregated", "prefill_replicas": prefill_replicas}
    if rs.value("prefill_pool_load", Settled(pool)) >= 1:
        return math.inf, math.inf, math.inf
    handed = {name: float(rs.value(quantity, Settled(pool))) for name, quantity in HANDED.items()}
    decode = Settled({**SERVICE, **ONE, "serving_mode": "disaggregated", "replicas": decode_replicas, **handed})
    late, slow = (float(rs.value(name, decode)) for name in ("time_to_first_token_p99", "time_per_output_token_p99"))
    return hours * 8 * (prefill_replicas + decode_replicas) / 3600 / (50 * 500), late, slow


def test_pools_apart_are_as_looking_at_every_pair():
    numbers = range(1, 13)
    expected = math.inf
    for decode, prefill in itertools.product(numbers, numbers):
        cost, late, slow = apart(decode, prefill, 3)
        if late <= 2 and slow <= 0.05:
            expected = min(expected, cost)
    result = rs.deploy(
        SERVICE, **ONE, serving_mode="disaggregated", replicas=list(numbers), prefill={"replicas": list(numbers)},
        objective="cost_per_output_token", where=GOALS, progress=False,
    )  # fmt: skip
    assert math.isfinite(expected)
    assert result.table["cost_per_output_token"].iloc[0] == pytest.approx(expected, rel=1e-12)
    assert result.table["serving_mode"].tolist() == ["disaggregated"]
    decode, prefill = result.table[["replicas", "prefill_replicas"]].iloc[0].astype(int)
    assert apart(decode, prefill, 3)[1] == pytest.approx(result.table["time_to_first_token_p99"].iloc[0], rel=1e-12)


def test_both_modes_stand_in_one_table(plan):
    table = plan.table
    assert set(table["serving_mode"]) == {"aggregated", "disaggregated"}
    assert (np.diff(table["cost_per_output_token"]) >= 0).all()
    assert list(table.index) == list(range(1, len(table) + 1))
    together = rs.deploy(
        SERVICE, hardware="HGX H200", objective="cost_per_output_token", where=GOALS, progress=False,
        units={"cost_per_output_token": "USD/Mtoken"},
    )  # fmt: skip
    aggregated = table[table["serving_mode"] == "aggregated"]
    assert aggregated["cost_per_output_token"].tolist() == together.table["cost_per_output_token"].tolist()
    assert aggregated["prefill_replicas"].isna().all()
    split = table[table["serving_mode"] == "disaggregated"]
    assert (split["prefill_pool_load"] < 1).all()
    spent = (split["chips"] * split["replicas"] + split["prefill_chips"] * split["prefill_replicas"]) * 3 / 3600
    assert split["cost_per_output_token"].to_numpy() == pytest.approx((spent / 25000 * 1e6).to_numpy(), rel=1e-12)


def test_rows_are_inputs_of_any_call(plan):
    for rank in (1, 5, len(plan.table)):
        row, inputs = plan.table.loc[rank], plan.at(rank)
        for name in ("time_to_first_token_p99", "time_per_output_token_p99", "service_load"):
            assert rs.value(name, inputs) == row[name]
        assert rs.value("cost_per_output_token", inputs, units="USD/Mtoken") == pytest.approx(
            row["cost_per_output_token"], rel=1e-12
        )
    assert plan.best == plan.at(1)
    rank = int(plan.table.index[plan.table["serving_mode"] == "disaggregated"][0])
    row, pool = plan.table.loc[rank], Settled(plan.prefill_at(rank))
    for name in ("prefill_pool_load", "mean_prefill_wait", "kv_link_demand"):
        assert rs.value(name, pool) == row[name]
    assert pool["chips"] == row["prefill_chips"]
    assert plan.at(rank)["prompts_ahead_share"] == rs.value("prefill_wait_probability", pool)
    with pytest.raises(ValueRangeError, match="rows"):
        plan.at(0)
    together = int(plan.table.index[plan.table["serving_mode"] == "aggregated"][0])
    with pytest.raises(ValueRangeError, match="no prefill pool"):
        plan.prefill_at(together)


def test_a_pool_has_hardware_and_prices_of_its_own():
    mixed = rs.deploy(
        {**SERVICE, "chip_price": "$4/hour"}, hardware="GB200", chips=[8, 16], serving_mode="disaggregated",
        prefill={"hardware": ["H100", "H200"], "chips": [8, 16], "chip_price": "$1/hour"},
        objective="cost_per_output_token", where=["ttft_p99 <= 4 s", "tpot_p99 <= 50 ms"], progress=False,
    )  # fmt: skip
    assert set(mixed.table["prefill_hardware"]) <= {"H100", "H200"}
    row = mixed.table.iloc[0]
    hours = 4 * row["chips"] * row["replicas"] + row["prefill_chips"] * row["prefill_replicas"]
    assert row["cost_per_output_token"] == pytest.approx(hours / 3600 / 25000, rel=1e-12)
    assert isinstance(mixed, rs.PoolDeployments)
    assert mixed.prefill_at(1)["hardware"] == row["prefill_hardware"]
    assert mixed.at(1)["hardware"] == "GB200"
    assert f"prefill {int(row['prefill_replicas'])} x {row['prefill_hardware']}" in str(mixed)


def test_prompts_are_read_together_where_no_pool_can():
    result = rs.deploy(
        SERVICE, **ONE, prefill={"replicas": 1}, objective="cost_per_output_token", where=GOALS, progress=False
    )
    assert isinstance(result, rs.PoolDeployments)
    assert set(result.by_mode) == {"aggregated"}
    assert set(result.table["serving_mode"]) == {"aggregated"}


# -------------------------------------------------------------------------------------------------------- which is best


@pytest.mark.parametrize(("prompt", "promise", "mode"), [
    ("8k", "24 ms", "disaggregated"),
    ("500", "100 ms", "aggregated"),
])  # fmt: skip
def test_pools_apart_win_where_the_promise_is_tight_and_prompts_are_long(prompt, promise, mode):
    result = rs.deploy(
        {**SERVICE, "input_tokens": prompt, "arrival_rate": "200/s"}, hardware="HGX H200", prefill={},
        objective="cost_per_output_token", where=["ttft_p99 <= 5 s", f"tpot_p99 <= {promise}"], progress=False,
    )  # fmt: skip
    assert result.table["serving_mode"].iloc[0] == mode
    assert isinstance(result, rs.PoolDeployments)
    least = {mode: plan.table["cost_per_output_token"].min() for mode, plan in result.by_mode.items()}
    assert (least["disaggregated"] < least["aggregated"]) == (mode == "disaggregated")


# -------------------------------------------------------------------------------------------------------------- display


def test_pools_are_named_in_words(plan):
    text = str(plan)
    assert "together" in text.splitlines()[0]
    assert "apart: 8 chips" in text
    assert "; prefill " in text
    assert "<table" in plan._repr_html_()
    front = plan.pareto(minimize=["cost_per_output_token", "time_to_first_token_p99"])
    assert (np.diff(front["cost_per_output_token"]) > 0).all()
    assert (np.diff(front["time_to_first_token_p99"]) < 0).all()
    assert set(front["serving_mode"]) <= {"aggregated", "disaggregated"}
    labels = [text.get_text() for text in plan.plot("time_to_first_token_p99").get_legend().get_texts()]
    assert any(label.startswith(("apart: ", "together: ")) for label in labels)
    pyplot.close("all")
    with pytest.raises(InputTypeError, match="by_mode"):
        plan.inputs  # noqa: B018
    assert {"serving_mode", "condition"} <= set(plan.rejected)
    assert plan.by_mode["disaggregated"].basis["basis"] == "estimate"


def test_bad_questions_are_refused_before_any_work():
    ask = {"objective": "cost_per_output_token", "hardware": "HGX H200"}
    closed = {name: x for name, x in SERVICE.items() if name != "arrival_rate"}
    with pytest.raises(MissingInput, match="prefill= needs arrival_rate"):
        rs.deploy(closed, prefill={}, **ask)
    with pytest.raises(InputTypeError, match="expected a mapping"):
        rs.deploy(SERVICE, prefill=3, **ask)
    with pytest.raises(InputTypeError, match="leave out one"):
        rs.deploy(SERVICE, prefill={}, serving_mode="aggregated", **ask)
    with pytest.raises(UnknownName, match="disaggregated"):
        rs.deploy(SERVICE, serving_mode=["disagregated"], **ask)
    with pytest.raises(InputTypeError, match="expected one or both"):
        rs.deploy(SERVICE, serving_mode=[], **ask)
    with pytest.raises(InputTypeError, match="give one weight_format"):
        rs.deploy(SERVICE, prefill={}, weight_format=["fp8", "bf16"], **ask)
    with pytest.raises(UnknownName, match="chips"):
        rs.deploy(SERVICE, prefill={"chip": 8}, **ask)
    with pytest.raises(ValueRangeError, match="no prefill pool keeps up"):
        rs.deploy(SERVICE, prefill={"replicas": 1}, serving_mode="disaggregated", **ask)
    assert isinstance(rs.deploy(SERVICE, serving_mode="aggregated", progress=False, **ask), rs.Deployments)


def test_a_limit_on_cost_moves_with_the_replicas():
    """A quantity that another one replaces at a rate depends on the inputs of that one."""
    limit = rs.deploy(
        SERVICE, hardware="HGX H200", objective="time_to_first_token_p99", progress=False,
        where="cost_per_output_token <= 6 USD/Mtoken",
    )  # fmt: skip
    assert len(limit.table)
    assert limit.table["replicas"].max() > 1


# --------------------------------------------------------------------------------------------------- against simulation


def drawn(number):
    """A service with both pools, its closed forms and its simulation."""
    random = np.random.default_rng([4, number])
    slots = float(np.round(np.exp(random.uniform(np.log(16), np.log(256)))))
    answer = float(np.round(np.exp(random.uniform(np.log(64), np.log(512)))))
    prompt = float(np.round(np.exp(random.uniform(np.log(500), np.log(8000)))))
    base, input_cv, output_cv = 0.012, float(random.choice([0, 0.5, 1])), float(random.choice([0, 0.5, 1]))
    slope = base * float(np.exp(random.uniform(np.log(0.1), np.log(4)))) / slots
    arrival_cv = float(random.choice([1, 1, 1.5]))
    replicas, pool = int(random.integers(1, 5)), int(random.integers(1, 5))
    rate = float(random.uniform(0.3, 0.8)) * replicas * slots / (answer * (base + slope * slots))
    service_time = float(random.uniform(0.3, 0.8)) * pool / rate
    token_time, fixed, transfer = 0.9 * service_time / prompt, 0.1 * service_time, 0.02 * service_time
    lengths = {
        "arrival_rate": rate, "arrival_cv": arrival_cv, "input_tokens": prompt, "input_cv": input_cv,
        "output_tokens": answer, "output_cv": output_cv,
    }  # fmt: skip
    simulated = rs.simulate(
        lengths, steps=rs.StepTimes(base, slope, token_time, fixed, seats=slots), replicas=replicas, seed=1,
        prefill=rs.PrefillPool(pool, transfer_time=transfer), requests=200_000, progress=False,
    )  # fmt: skip
    work = token_time * prompt
    prompts = {"prefill_time": work, "prompt_pass_overhead": fixed, "prompt_work_time": work, "prefill_replicas": pool}
    handed = {
        name: float(rs.value(quantity, Settled(lengths | prompts)))
        for name, quantity in HANDED.items()
        if name != "exposed_kv_transfer_time"
    }
    alone = rate / replicas
    running = min((base + slope) * alone * answer / max(1 - alone * answer * slope, 1e-3), slots)
    forms = Settled(lengths | handed | {
        "replicas": replicas, "serving_mode": "disaggregated", "sequence_slots": slots, "decode_step_base": base,
        "decode_step_slope": slope, "full_decode_token_time": base + slope * slots, "running_estimate": running,
        "running_token_time": base + slope * running, "full_prompt_step_time": 0.0, "loaded_prompt_step_time": 0.0,
        "exposed_kv_transfer_time": transfer,
    })  # fmt: skip
    return forms, simulated


def test_first_tokens_are_those_of_simulated_pools():
    with cases() as case:
        for number in range(10):
            forms, simulated = drawn(number)
            with case(f"service {number}"):
                late, error = simulated.percentile("time_to_first_token", 0.99)
                assert error < 0.05 * late
                assert rs.value("time_to_first_token_p99", forms) == pytest.approx(late, rel=0.25)
                assert rs.value("time_to_first_token", forms) == pytest.approx(
                    simulated.mean("time_to_first_token")[0], rel=0.15
                )


def test_what_a_transfer_adds_is_that_of_layers_sent_one_by_one():
    random = np.random.default_rng(8)
    for _ in range(50):
        layers = int(random.integers(1, 40))
        prefill, transfer = (float(x) for x in np.exp(random.uniform(-5, 2, 2)))
        sent = 0.0
        for layer in range(layers):
            sent = max((layer + 1) * prefill / layers, sent) + transfer / layers
        given = {"kv_transfer_time": transfer, "prefill_latency": prefill, "layers": layers}
        assert rs.value("exposed_kv_transfer_time", given) == pytest.approx(sent - prefill, rel=1e-9, abs=1e-12)
        assert rs.value("exposed_kv_transfer_time", given, kv_transfer_policy="after_prefill") == transfer
