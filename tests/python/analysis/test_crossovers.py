"""crossovers: closed forms compared with the solver, and reasons without one."""

import math

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import errors
from roofslate.analysis.crossovers import _table
from roofslate.registry.conditions import parse_conditions
from roofslate.registry.registry import entries

CELL = {
    "model": "DeepSeek-V3",
    "hardware": "GB200 NVL72",
    "expert_reads": "all",
    "prices": "lecture",
    "context_length": "1k",
    "batch_size": 1000,
    "inference_tokens": 2e14,
    "decode_inefficiency": 3,
    "rl_flops_per_parameter": 4,
    "pretraining_tokens": 1e14,
}
COLUMNS = ["name", "question", "closed_form", "solved", "unit", "formula", "quantity", "unknown", "condition", "note"]


def table(**inputs):
    result = rs.crossovers(inputs)
    assert list(result.columns) == COLUMNS
    assert result["name"].is_unique
    return result.set_index("name")


def test_the_table_is_sound():
    for entry in _table():
        assert set(entry) <= {"name", "question", "unknown", "condition", "closed_form", "tiers"}
        assert entry["question"].endswith("?")
        assert not entries()[entry["unknown"]].choices
        (condition,) = parse_conditions(entry["condition"], allow_equality=True)
        assert condition.relation in ("==", "<=")
        if "closed_form" in entry:
            assert entries()[entry["closed_form"]].unit == entries()[entry["unknown"]].unit


def test_the_crossings_that_matter_are_there():
    result = table(**CELL)
    assert {
        "balance batch",
        "balance batch at the context",
        "balance context",
        "KV-cache reads overtake weight reads",
        "full memory, batch",
        "latency limit",
        "pipeline depth",
        "HBM or DDR",
        "DDR or NVMe",
        "NVMe or HDD",
        "HBM or recompute",
        "DDR or recompute",
    } <= set(result.index)
    assert all(result["question"].str.endswith("?"))
    for _, row in result.iterrows():
        assert row["unit"] == rs.quantity(row["unknown"]).unit
        assert row["formula"] == (rs.quantity(row["quantity"]).formula if row["quantity"] else "")


def test_closed_forms_and_solver_agree():
    result = table(**CELL)
    assert result.loc["kink of the cost", "note"] == "never"
    remaining = result.drop(index=["kink of the cost", "pipeline hop"])
    assert (remaining["note"] == "").all()
    assert remaining["solved"].to_numpy() == pytest.approx(remaining["closed_form"].to_numpy(), rel=1e-12)
    assert result.loc["pipeline hop", "note"] == ""
    assert math.isnan(result.loc["pipeline hop", "closed_form"])
    assert result.loc["pipeline hop", "solved"] > 1


@settings(max_examples=25)
@given(
    st.sampled_from(["DeepSeek-V3", "Kimi-K2", "gpt-oss-120b"]),
    st.sampled_from(["GB200 NVL72", "H200", "B200"]),
    st.floats(2, 6).map(lambda x: 10**x),
    st.floats(0, 5).map(lambda x: 10**x),
    st.sampled_from(["board", "serial_kv", "none"]),
)
def test_closed_forms_and_solver_agree_for_any_cell(model, hardware, context, batch, overlap):
    chips = {} if "NVL72" in hardware else {"chips": 8}
    result = table(
        model=model,
        hardware=hardware,
        prices="lecture",
        context_length=context,
        batch_size=batch,
        overlap=overlap,
        expert_reads="all",
        dense_format="same",  # the closed forms have one format
        **chips,
    )
    # the closed form of B* divides by 1 - L/L0, which says less the nearer L is to L0
    L_0 = rs.value("balance_context", model=model, hardware=hardware)
    for name, row in result.iterrows():
        closed, solved = row["closed_form"], row["solved"]
        if math.isnan(solved):
            assert row["note"], name
            low = entries()[row["unknown"]].low
            assert math.isnan(closed) or math.isinf(closed) or closed == 0 or closed < low, name
        elif not (math.isnan(closed) or (name == "balance batch at the context" and abs(context / L_0 - 1) < 0.01)):
            assert row["note"] == ""
            assert solved == pytest.approx(closed, rel=1e-12), name


def test_a_closed_form_that_differs_says_for_which_choice_it_holds():
    expected = table(**{name: x for name, x in CELL.items() if name != "expert_reads"})
    everything = table(**CELL)
    for name in ("balance batch", "balance batch at the context"):
        row = expected.loc[name]
        assert row["closed_form"] == everything.loc[name, "closed_form"]
        assert row["solved"] < row["closed_form"]
        assert row["note"] == "the closed form holds for expert_reads='all'"
    differ = ~np.isclose(expected["solved"], expected["closed_form"], rtol=1e-9, equal_nan=True)
    assert (expected[differ & expected["solved"].notna() & expected["closed_form"].notna()]["note"] != "").all()


def test_never_is_told():
    result = table(**{**CELL, "context_length": "1M"})
    row = result.loc["balance batch at the context"]
    assert row["note"] == "never"
    assert math.isinf(row["closed_form"])
    assert math.isnan(row["solved"])


def test_never_is_told_of_the_closed_form_where_the_solver_lacks_an_input():
    result = table(**{name: x for name, x in CELL.items() if name != "prices"}, kv_bytes_per_token=0)
    row = result.loc["HBM or recompute"]  # storage of size zero costs nothing
    assert math.isinf(row["closed_form"])
    assert row["note"].startswith("missing input 'chip_price'")
    assert row["note"].endswith("; never")


def test_always_is_told():
    result = table(**CELL, kv_bytes_per_token=0)  # a KV cache of size 0 fills no memory
    for name in ("full memory, batch", "full memory, context"):
        assert (result.loc[name, "closed_form"], result.loc[name, "note"]) == (math.inf, "always")


@pytest.mark.parametrize("given", [{}, {"context_length": "1k"}])
def test_a_condition_without_its_unknown_is_told_and_stops_no_other(given):
    cell = {name: x for name, x in CELL.items() if name != "context_length"}
    result = table(**cell, memory_time="2 ms", **given)
    assert result.loc["kink of the cost", "note"].endswith("the condition does not depend on 'context_length'")
    assert math.isnan(result.loc["kink of the cost", "solved"])
    row = result.loc["balance pass length"]
    assert row["solved"] == pytest.approx(2e-3 / rs.value("compute_time", CELL), rel=1e-12)  # of one token a pass


def test_what_a_closed_form_takes_as_given_is_told():
    result = table(model="lecture", hardware="BW72 (lecture)", context_length="100k", batch_size=2400)
    assert result.loc["balance batch", "note"] == "the closed form takes balance_tokens as given"
    assert result.loc["balance batch", "closed_form"] == 2400
    assert result.loc["balance batch", "solved"] == pytest.approx(4500, rel=1e-12)
    assert "balance_context and balance_tokens" in result.loc["balance batch at the context", "note"]


def test_missing_inputs_are_named_row_by_row():
    result = table()
    assert result.loc["balance batch", "note"].startswith("missing input '")
    assert "needed by" not in result.loc["balance batch", "note"]
    assert result.loc["DDR or NVMe", "note"] == ""
    assert "'tier_purchase_price'" in result.loc["HBM or DDR", "note"]
    result = table(total_parameters=8e11, active_parameters=1e11, bytes_per_weight=1, kv_bytes_per_token=1e4)
    assert "'batch_size'" in result.loc["KV-cache reads overtake weight reads", "note"]


def test_own_tiers_take_the_place_of_presets():
    tiers = {
        "tier_capacity": "1 TB",
        "tier_bandwidth": "100 GB/s",
        "tier_price": "1 USD/h",
        "slower_tier_capacity": "10 TB",
        "slower_tier_bandwidth": "10 GB/s",
        "slower_tier_price": "0.5 USD/h",
    }
    result = table(**CELL, **tiers)
    assert {"tier or slower tier", "tier or recompute"} <= set(result.index)
    assert "DDR or NVMe" not in result.index
    row = result.loc["tier or slower tier"]
    assert row["solved"] == pytest.approx(rs.value("tier_switch_time", tiers), rel=1e-12)


def test_a_latency_limit_can_be_given():
    slow, fast = (table(**CELL, batch_interval=t).loc["latency limit", "solved"] for t in ("50 ms", "20 ms"))
    assert slow > fast
    assert rs.value("pass_time", {**CELL, "batch_size": fast}) == pytest.approx(0.02, rel=1e-12)


@pytest.mark.parametrize(
    ("error", "words", "inputs"),
    [
        (errors.AxisError, "context_length is an axis", {"context_length": [1, 2]}),
        (errors.AxisError, "model is an axis", {"model": ["DeepSeek-V3", "Kimi-K2"]}),
        (errors.AxisError, "batch_size is an axis", {"batch_size": np.arange(1, 3)}),
        (errors.UnknownName, "did you mean 'batch_size'", {"batchsize": 3}),
        (errors.UnitError, "batch_size", {"batch_size": "3 GB"}),
        (errors.ValueRangeError, "batch_size", {"batch_size": -3}),
        (errors.IneffectiveInput, "'kv_heads' has no effect", {"model": "lecture", "kv_heads": 1}),
        (errors.InputTypeError, "batch_size", {"batch_size": (1, 2)}),
    ],
)
def test_mistakes_are_named(error, words, inputs):
    with pytest.raises(error, match=words):
        rs.crossovers(inputs)


@pytest.mark.usefixtures("fresh_catalogs")
def test_an_input_that_a_preset_overrules_is_named_in_rows_without_a_closed_form(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        '[models.Mine]\nbase = "DeepSeek-V3"\nsources = [{ source = "own", date = "2026", read = true }]\n'
        "[models.Mine.values]\npipeline_traffic_ratio = 2\n"
    )
    rs.load_presets(path)
    words = "'experts_per_token' has no effect: model='Mine' supplies 'pipeline_traffic_ratio'"
    with pytest.raises(errors.IneffectiveInput, match=words):
        rs.crossovers({**CELL, "model": "Mine"}, experts_per_token=8)


def test_the_result_is_a_plain_table():
    result = rs.crossovers(CELL)
    assert type(result) is pd.DataFrame
    assert result["closed_form"].dtype == result["solved"].dtype == np.float64
