"""Deployments: all legal layouts, optima equal to exhaustive search, and misses."""

import dataclasses
import itertools
import math
import re

import numpy as np
import pytest
import roofslate as rs
import xarray as xr
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate.errors import InputTypeError, MissingInput, ValueRangeError
from roofslate.grid.read import Settled
from roofslate.presets.layouts import check_layout, legal_layouts
from support import workbooks
from support.deployments import PARTS, brute, every_layout, keywords, own_columns, questions
from support.lazy import Lazy

pyplot = Lazy("matplotlib.pyplot")


SERVER = {"input_tokens": "2k", "output_tokens": 500, "chip_price": "$3/h", "expert_reads": "expected"}
GOALS = ["time_per_output_token <= 30 ms", "time_to_first_token <= 2 s"]
RACKS = ["H200", "GB200"]


# ------------------------------------------------------------------------------------------------------ brute force


def test_layouts_are_those_found_one_by_one():
    chips = [1, 2, 6, 8, 16, 48, 64, 72, 96]
    for name in ("DeepSeek-V3", "Llama-3.1-70B", "Mixtral-8x7B", "gpt-oss-120b", "Kimi-K2", "Qwen3-32B"):
        model = rs.models[name].values
        free = dict.fromkeys(("pipeline_stages", "attention_data_parallel", "expert_parallel"))
        result = legal_layouts({"chips": chips, **free}, model)
        assert set(zip(*(result[part].tolist() for part in PARTS), strict=True)) == set(every_layout(chips, model)), (
            name
        )


@pytest.mark.filterwarnings("ignore::roofslate.errors.DoesNotFit")  # layouts that deploy rejects
@settings(max_examples=200, deadline=None)
@given(questions())
def test_as_looking_at_every_layout(question):
    name, maximize = question["objective"]
    requested = keywords(question)
    expected = brute(question)
    if not expected:
        with pytest.raises(ValueRangeError, match=r"divide|make up"):
            rs.deploy(question["more"], **requested)
        return
    plan = rs.deploy(question["more"], **requested, progress=False)
    columns = own_columns(question)
    met = {key: x for key, x in expected.items() if not math.isnan(x)}
    assert dict(zip(plan.table[columns].itertuples(index=False, name=None), plan.table[name], strict=True)) == met
    values = plan.table[name].to_numpy()
    assert np.array_equal(values, np.sort(values)[:: -1 if maximize else 1])
    if met:
        assert rs.value(name, plan.at(len(values))) == values[-1]
    rejected = plan.rejected.dropna(subset="margin")
    refused = set(rejected[columns].itertuples(index=False, name=None)) if len(rejected) else set()
    assert refused == set(expected) - set(met)
    assert (rejected["margin"] <= 0).all()


# --------------------------------------------------------------------------------------------------------- training

RUN = {
    "model": "Llama-3.1-8B",
    "hardware": "H100",
    "chip_price": "$2/h",
    "pretraining_tokens": "15T",
    "global_batch_size": 96,
    "sequence_length": 8192,
    "weight_format": "bf16",
    "activation_policy": "selective",
    "activation_bytes_per_element": 2,
    "sharded_state": "optimizer",
}


def test_training_is_as_looking_at_every_layout():
    """Enumerate stages, tensor and data parallelism, and the best micro-batches."""
    sizes = rs.models["Llama-3.1-8B"].values
    expected = {}
    for chips, stages, tensor, count in itertools.product([8, 48, 64, 96], range(1, 33), range(1, 33), range(1, 97)):
        copies = chips / stages / tensor
        if copies % 1 or sizes["layers"] < stages or RUN["global_batch_size"] % (copies * count) or any(
            sizes[name] % tensor for name in ("attention_heads", "intermediate_size")
        ) or (sizes["kv_heads"] % tensor and tensor % sizes["kv_heads"]):  # fmt: skip
            continue
        layout = {"chips": chips, "pipeline_stages": stages, "tensor_parallel": tensor, "microbatches": count}
        inputs = {**RUN, **layout, "expert_parallel": 1, "calibration": "training"}
        fits = rs.value("training_memory", inputs) <= rs.value("hbm_capacity", hardware="H100")
        if fits and rs.value("pretraining_time", inputs) <= 1000 * 86400:
            key = (chips, stages, copies, tensor)
            expected[key] = min(expected.get(key, math.inf), rs.value("pretraining_cost", inputs))
    plan = rs.deploy(objective="pretraining_cost", where="pretraining_time <= 1000 day", chips=[8, 48, 64, 96], **RUN)
    columns = ["chips", "pipeline_stages", "data_parallel", "tensor_parallel"]
    assert (
        dict(zip(plan.table[columns].itertuples(index=False, name=None), plan.table["pretraining_cost"], strict=True))
        == expected
    )
    assert len(expected) > 3
    assert not set(plan.rejected[columns].itertuples(index=False, name=None)) & set(expected)
    assert rs.value("pretraining_cost", plan.best) == plan.table["pretraining_cost"].iloc[0]


def test_a_recipe_is_searched_if_none_is_given():
    """The best of all recipes, one by one."""
    run = {name: x for name, x in RUN.items() if name not in ("activation_policy", "sharded_state")}
    run |= {"model": "Llama-3.1-70B", "chips": 64}
    plan = rs.deploy(objective="pretraining_cost", **run)
    recipes = ["activation_policy", "sharded_state", "pipeline_schedule", "model_chunks"]
    assert {*recipes} <= {*plan.table.columns}
    assert plan.best["sequence_parallel"] == "on"
    interleaved = plan.table["pipeline_schedule"] == "interleaved"
    assert (plan.table.loc[~interleaved, "model_chunks"] == 1).all()
    for policy, state in itertools.product(("all", "selective", "block"), ("optimizer", "gradients", "weights")):
        for schedule, chunks in (("1f1b", 1), ("interleaved", 2), ("interleaved", 5)):
            recipe = {"activation_policy": policy, "sharded_state": state, "pipeline_schedule": schedule}
            recipe |= {"model_chunks": chunks} if schedule == "interleaved" else {}
            one = rs.deploy(objective="pretraining_cost", sequence_parallel="on", **run, **recipe)
            rows = (
                plan.table[recipes]
                .isin({name: [x] for name, x in recipe.items()} | {"model_chunks": [chunks]})
                .all(axis=1)
            )
            assert rows.sum() == len(one.table)
            if len(one.table):
                assert plan.table.loc[rows, "pretraining_cost"].min() == one.table["pretraining_cost"].min()
    given_recipe = rs.deploy(objective="pretraining_cost", pipeline_schedule="1f1b", **run)
    assert "model_chunks" not in given_recipe.table


def test_training_searches_no_crowd():
    plan = rs.deploy(objective="pretraining_cost", chips=64, **RUN)
    assert "concurrency" not in plan.table
    assert not any("concurrency" in text for text in plan.always)


# ------------------------------------------------------------------------------------------------------- the lecture


def test_chooser_of_the_lecture():
    """DeepSeek takes one stage of 64 of the 72 chips, 5T on 640-GB boards four stages or more."""
    rack = rs.deploy(
        model="DeepSeek-V3", hardware="GB200", objective="pass_time", where="chips_per_stage <= scale_up_domain",
        batch_size=2400, context_length="10k", attention_data_parallel=1, layout="pool",
    )  # fmt: skip
    assert (rack.best["pipeline_stages"], rack.best["chips"]) == (1, 64)
    board = {"total_parameters": 5e12, "active_parameters": 100e9, "weight_format": "fp4", "hardware": "HGX H100"}
    board |= {"layout": "pool", "calibration": "floor"}
    for caches in ("1 B", "60 GB", "15 GB"):
        question = {"objective": "chips", "where": "chips_per_stage <= scale_up_domain", "chips": range(8, 129, 8)}
        batch = {"batch_size": 1, "kv_bytes": caches, "context_length": 0}
        plan = rs.deploy({**board, **batch}, **question, also="pipeline_stages")
        stages = rs.value("minimum_pipeline_stages", board, kv_bytes=caches)
        assert plan.best["pipeline_stages"] >= 4
        assert plan.best["chips"] >= 32
        assert caches == "60 GB" or (plan.best["chips"], plan.best["pipeline_stages"]) == (8 * stages, stages)


# ------------------------------------------------------------------------------------------------ tables and margins


@pytest.fixture(scope="module")
def plan():
    return rs.deploy(model="DeepSeek-V3", hardware=RACKS, objective="cost_per_output_token", where=GOALS, **SERVER)


def test_a_system_keeps_its_chips():
    for system, chips in {"HGX H200": 8, "GB200 NVL72": 72, "H200": None}.items():
        table = rs.deploy(model="Qwen3-235B-A22B", hardware=system, objective="cost_per_output_token", **SERVER).table
        result = set(table["chips"]) if "chips" in table else {8}
        assert result == {chips} if chips else len(result) > 8
    few = rs.deploy(
        model="Qwen3-235B-A22B", hardware="HGX H200", objective="cost_per_output_token", chips=[4, 8], **SERVER
    )
    assert set(few.table["chips"]) == {4, 8}


def test_margins_and_ranks(plan):
    table = plan.table
    assert list(table.index) == list(range(1, len(table) + 1))
    assert table["cost_per_output_token"].is_monotonic_increasing
    assert np.allclose(table[GOALS[0]], 1 - table["time_per_output_token"] / 0.03, rtol=1e-12)
    assert np.allclose(table[GOALS[1]], 1 - table["time_to_first_token"] / 2, rtol=1e-12)
    assert (table["margin"] == table[[c for c in table if "=" in c]].min(axis=1)).all()
    assert (table["margin"] >= 0).all()
    assert (plan.rejected["margin"] < 0).all()
    memory = "min_deployed_bytes <= replica_hbm_capacity"
    full = plan.rejected["condition"] == memory
    assert set(plan.rejected["condition"][~full]) <= {*GOALS}
    assert full.to_numpy().nonzero()[0].min() == (~full).sum()  # those that could run come first
    first = plan.rejected[full].iloc[0]  # weights that do not fit miss by the lacking memory
    used = rs.value(
        "min_deployed_bytes",
        {"model": "DeepSeek-V3", **SERVER},
        calibration="serving",
        **first[list(PARTS)].to_dict(),
    )
    assert first["margin"] == pytest.approx(
        1 - used / rs.value("replica_hbm_capacity", hardware=first["hardware"], chips=first["chips"])
    )


def test_every_row_is_a_scenario(plan):
    for rank in (1, 2, len(plan.table)):
        for name in ("cost_per_output_token", "time_per_output_token", "time_to_first_token"):
            assert rs.value(name, plan.at(rank)) == plan.table.loc[rank, name]
    with pytest.raises(ValueRangeError, match=r"rank: the table has \d+ rows, got 0$"):
        plan.at(0)


def test_units_scale_results_only(plan):
    units = {"cost_per_output_token": "USD/Mtoken", "time_per_output_token": "ms*sequence/token"}
    scaled = rs.deploy(
        model="DeepSeek-V3", hardware=RACKS, objective="cost_per_output_token", where=GOALS, units=units, **SERVER
    )
    assert np.allclose(scaled.table["cost_per_output_token"], plan.table["cost_per_output_token"] * 1e6, rtol=1e-15)
    assert scaled.best == plan.best
    assert "USD/Mtoken" in str(scaled)


def test_impossible_goals():
    never = rs.deploy(
        SERVER, model="DeepSeek-V3", hardware=RACKS, objective="cost_per_output_token",
        where="time_per_output_token <= 10 us",
    )  # fmt: skip
    assert never.table.empty
    nearest = never.rejected.iloc[0]
    assert nearest["condition"] == "time_per_output_token <= 10 us"
    assert nearest["margin"] == pytest.approx(1 - nearest["time_per_output_token"] / 10e-6, rel=1e-12)
    fastest = rs.deploy(SERVER, model="DeepSeek-V3", hardware=RACKS, objective="time_per_output_token")
    assert nearest["time_per_output_token"] == fastest.table["time_per_output_token"].iloc[0]
    with pytest.raises(ValueRangeError, match=r"misses time_per_output_token <= 10 us by \d+%"):
        assert never.best
    assert "  H200, " in str(never)
    assert "0 layouts feasible" in str(never)
    with pytest.raises(ValueRangeError, match="misses"):
        rs.deploy(
            model="DeepSeek-V3", hardware="HGX H200", objective="cost_per_output_token", chips=1,
            where="time_per_output_token <= 30 ms", **SERVER,
        ).plot()  # fmt: skip


def test_all_hold_but_none_holds_together():
    """Of two goals that exclude each other, the larger of two near-equal misses counts."""
    both = ["time_per_output_token <= 1 ms", "cost_per_output_token <= 0.1 USD/Mtoken"]
    requested = {
        "calibration": "floor",
        "model": "DeepSeek-V3",
        "hardware": "GB200 NVL72",
        "objective": "cost_per_output_token",
        **SERVER,
    }
    assert not rs.deploy(where=both[0], **requested).table.empty
    assert not rs.deploy(where=both[1], **requested).table.empty
    result = rs.deploy(where=both, **requested)
    assert result.table.empty
    nearest = result.rejected.iloc[0]
    assert nearest["margin"] == min(nearest[both])
    assert nearest["condition"] == both[int(np.argmin(nearest[both]))]


def test_choices_zero_and_infinity_in_conditions():
    requested = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "objective": "cost_per_output_token", **SERVER}
    result = rs.deploy(where=["weight_format == 'fp8'", "queue_time <= 0", "time_to_first_token < inf"], **requested)
    assert len(result.table)
    assert (result.table["queue_time <= 0"] == 0).all()
    never = rs.deploy(where="weight_format == 'bf16'", **requested)
    assert never.table.empty
    assert (never.rejected["condition"].iloc[0], never.rejected["margin"].isna().iloc[0]) == (
        "weight_format == 'bf16'",
        True,
    )


ONE = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "objective": "cost_per_output_token", **SERVER}


def test_support_of_each_row():
    """Both tables give it by model and chip. A floor gives none."""
    plan = rs.deploy(**{**ONE, "model": ["DeepSeek-V3", "Kimi-K2"]}, chips=8)
    calibration = rs.calibration()
    for table in (plan.table, plan.rejected):
        expected = [
            calibration.support("time_per_output_token", model=m, hardware=ONE["hardware"]) for m in table["model"]
        ]
        assert table["support"].tolist() == expected
    assert plan.table["support"].nunique() == 2
    assert "support" not in rs.deploy(**{**ONE, "calibration": "floor"}, chips=8).table


def test_a_deployment_becomes_a_workbook(tmp_path):
    plan = rs.deploy(chips=8, where="time_per_output_token <= 50 ms", **ONE)
    plan.to_excel(tmp_path / "plan.xlsx", rank=2)
    results = workbooks.Sheet(tmp_path / "plan.xlsx").results()
    names = [name for name in plan.table.columns if name in results]
    assert "time_per_output_token" in names
    for name in names:
        assert results[name] == pytest.approx(plan.table[name].iloc[1], rel=1e-9)
    rows = list(workbooks.opened(tmp_path / "plan.xlsx")["Deployments"].iter_rows(values_only=True))
    assert len(rows) == 1 + len(plan.table)
    with pytest.raises(ValueRangeError, match=r"rank: the table has \d+ rows, got 10000$"):
        plan.to_excel(tmp_path / "none.xlsx", rank=10_000)


def test_one_machine_in_words():
    """Without systems to compare, the error names the nearest layout if none is feasible."""
    some = rs.deploy(chips=[8, 64], where="time_per_output_token <= 10 ms", also="weight_format", **ONE)
    assert len(some.table)
    assert len(some.rejected)
    assert "nearest" not in str(some)
    lines = str(some).splitlines()
    assert lines[0].endswith(f"{len(some.table)} layouts feasible, {len(some.rejected)} rejected")
    assert lines[1].split()[-3:] == ["weight_format", "support", "margin"]
    assert all(
        {"fp8", some.table["support"].iloc[0].split()[0]} <= {*line.split()[-4:]}
        for line in lines[2 : 2 + min(10, len(some.table))]
    )
    every = rs.deploy(chips=64, **ONE)
    assert str(every).splitlines()[0].endswith("no condition: 135 layouts feasible, 4 rejected")
    assert "nearest" not in str(every)
    requested = {**ONE, "calibration": "floor"}
    never = rs.deploy(chips=[8, 64], where="time_per_output_token <= 10 us", **requested)
    head, nearest = str(never).splitlines()[1:]
    assert head == "nearest, for kinds without a feasible layout:"
    assert re.fullmatch(r"  64 chips, tensor over 64 misses time_per_output_token <= 10 us by \d+%", nearest)


def test_a_condition_without_a_margin_is_told_as_it_is():
    never = rs.deploy(chips=64, where="weight_format == 'bf16'", **ONE)
    assert re.fullmatch(r"  64 chips, .*: weight_format == 'bf16'", str(never).splitlines()[-1])
    with pytest.raises(ValueRangeError, match=r"^64 chips, .*: weight_format == 'bf16'$"):
        assert never.best


def test_margin_of_sums():
    """Sums on both sides: the room is a share of the limit, the right side."""
    rule = "time_to_first_token + 5 * queue_time <= 2 * time_to_first_token + 100 ms"
    result = rs.deploy(chips=[8, 64], where=rule, also=["time_to_first_token", "queue_time"], **ONE).table
    total = result["time_to_first_token"] + 5 * result["queue_time"]
    limit = 2 * result["time_to_first_token"] + 0.1
    assert (total <= limit).all()
    assert np.allclose(result[rule], (limit - total) / limit, rtol=1e-12)


# ------------------------------------------------------------------------------------------------------------ inputs


def test_a_series_differs_by_hardware():
    import pandas as pd

    price = pd.Series(["$2/h", "$9/h"], index=pd.Index(RACKS, name="hardware"))
    result = rs.deploy(
        model="DeepSeek-V3",
        hardware=RACKS,
        objective="cost_per_output_token",
        where=GOALS,
        **SERVER | {"chip_price": price},
    )
    for rank in (1, len(result.table)):
        point = result.at(rank)
        assert point["chip_price"] == {"H200": 2, "GB200": 9}[point["hardware"]] / 3600


def test_the_batch_is_what_of_the_clients_is_in_flight():
    result = rs.deploy(
        model="Llama-3.1-70B", hardware="HGX H200", objective="cost_per_token", where=GOALS, chips=[8, 16], **SERVER
    )
    for rank in range(1, len(result.table) + 1):
        point = result.at(rank)
        running = rs.value("running_sequences", point)
        assert rs.value("batch_size", point) == running / point["pipeline_stages"]
        assert running <= point["concurrency"]
        assert rs.value("context_length", point) == 2250
        assert rs.value("cost_per_token", point) == result.table.loc[rank, "cost_per_token"]
    assert (result.table["pipeline_stages"] > 1).any()


def test_layouts_that_do_not_divide():
    requested = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "objective": "cost_per_output_token", **SERVER}
    for layout, complaint in (
        ({"chips": 64, "pipeline_stages": 64}, "pipeline_stages 64 does not leave a layer to each stage of layers 61"),
        (
            {"chips": 72, "attention_data_parallel": 1, "pipeline_stages": 1},
            "tensor_parallel 72 does not divide attention_heads 128",
        ),
        ({"chips": 64, "tensor_parallel": 24}, "tensor_parallel 24 does not divide the chips of a stage: 2, 4"),
        ({"chips": 72, "expert_parallel": 16}, "expert_parallel 16 does not divide the chips of a stage: 2, 3"),
        ({"chips": 12.5}, "chips must be a whole number"),
    ):
        with pytest.raises(ValueRangeError, match=complaint):
            rs.deploy(**requested, **layout)
    with pytest.raises(ValueRangeError, match="tensor_parallel 3 does not divide attention_heads 64"):
        check_layout({"chips": 3}, rs.models["Llama-3.1-70B"].values)
    with pytest.raises(ValueRangeError, match="data_parallel 7 does not divide global_batch_size 1024"):
        check_layout({"chips": 7, "data_parallel": 7}, {"global_batch_size": 1024})
    check_layout({"chips": 64, "attention_data_parallel": 8, "tensor_parallel": 8}, rs.models["DeepSeek-V3"].values)


@pytest.mark.parametrize(
    ("layout", "sizes", "complaint"),
    [
        ({"chips": 48, "expert_parallel": 48}, {"experts": 256}, None),
        ({"chips": 48, "expert_parallel": 32}, {"experts": 256}, "expert_parallel 32 does not divide the chips of a"),
        ({"chips": 16, "pipeline_stages": 16}, {"layers": 126}, None),
        ({"chips": 16, "pipeline_stages": 16}, {"layers": 15}, "16 does not leave a layer to each stage of layers 15"),
        ({"chips": 6}, {"kv_heads": 4}, "tensor_parallel 6 does not divide, nor is a multiple of, kv_heads 4"),
        ({"chips": 6}, {"kv_heads": 4, "kv_latent_size": 512}, None),
        ({"chips": 8}, {"kv_heads": 4}, None),
        ({"chips": 8}, {"intermediate_size": 100}, "tensor_parallel 8 does not divide intermediate_size 100"),
        ({"chips": 8}, {"intermediate_size": 100, "experts": 8}, None),
        ({"chips": 8}, {"intermediate_size": 100, "experts": 8, "dense_layers": 1}, "intermediate_size 100"),
        ({"chips": 64, "attention_data_parallel": 4, "tensor_parallel": 8}, {}, "32 does not make up"),
        ({"chips": 12, "pipeline_stages": 4}, {"layers": 24, "model_chunks": 4}, None),
        ({"chips": 16, "pipeline_stages": 16}, {"layers": 126, "model_chunks": 8}, None),
        (
            {"chips": 16, "pipeline_stages": 16}, {"layers": 126, "model_chunks": 9},
            "144 does not leave a unit to each chunk of layers, embedding and output head 128; nearest: 128$",
        ),
        ({"chips": 16, "expert_parallel": 16}, {"experts": 8}, None),
        (
            {"chips": 16, "data_parallel": 16, "expert_parallel": 16}, {"experts": 8, "global_batch_size": 16},
            "expert_parallel 16 does not leave an expert to each part of experts 8; nearest: 8$",
        ),
        ({"chips": 24}, {"attention_heads": 16}, "tensor_parallel 24 does not divide attention_heads 16; nearest: 16$"),
        ({"chips": 6}, {"attention_heads": 16}, "nearest: 4 or 8$"),
        ({"chips": 6}, {"kv_heads": 4}, "kv_heads 4; nearest: 4 or 8$"),
        ({"chips": 3}, {"kv_heads": 4}, "kv_heads 4; nearest: 2 or 4$"),
        ({"chips": 6, "context_parallel": 3}, {"sequence_length": 8192}, "does not divide sequence_length"),
    ],
)  # fmt: skip
def test_each_rule(layout, sizes, complaint):
    if complaint is None:
        check_layout(layout, sizes)
    else:
        with pytest.raises(ValueRangeError, match=complaint):
            check_layout(layout, sizes)


def test_chips_that_are_more_than_the_heads_attend_in_groups():
    """256 chips cannot cut 128 heads: they are two groups at least."""
    result = rs.deploy(
        objective="pass_time",
        model="DeepSeek-V3",
        hardware="GB200 NVL72",
        chips=256,
        batch_size=64,
        context_length="8k",
    )
    assert result.best["chips"] == 256
    assert result.best["attention_data_parallel"] >= 2


def test_what_no_layout_changes_is_compared_all_the_same():
    result = rs.deploy(objective="hbm_drain_time", hardware=["H100", "B200"], where="hbm_drain_time <= 23.5 ms")
    assert result.best == {"hardware": "B200", "calibration": "serving"}
    assert result.table["hbm_drain_time"].tolist() == [rs.value("hbm_drain_time", hardware="B200")]
    last = str(result).splitlines()[-1]
    assert last == "  H100 misses hbm_drain_time <= 23.5 ms by 1.62%"  # 80 GB at 3.35 TB/s take 23.88 ms


def test_margin_of_a_floor():
    """The margin is a fraction of the limit also for a lower limit."""
    floor = "tokens_per_second_per_user >= 40"
    result = rs.deploy(
        model="DeepSeek-V3", hardware="GB200 NVL72", objective="cost_per_output_token", where=floor, **SERVER
    )
    assert np.allclose(result.table[floor], result.table["tokens_per_second_per_user"] / 40 - 1, rtol=1e-12)


def test_a_kind_without_a_legal_layout_is_rejected():
    result = rs.deploy(
        model=["DeepSeek-V3", "Llama-3.1-70B"], hardware="GB200 NVL72", objective="cost_per_output_token",
        chips=[64], pipeline_stages=64, **SERVER,
    )  # fmt: skip
    assert set(result.table["model"]) == {"Llama-3.1-70B"}
    (row,) = result.rejected[result.rejected["model"] == "DeepSeek-V3"].to_dict("records")
    assert row["condition"] == "pipeline_stages 64 does not leave a layer to each stage of layers 61; nearest: 61"
    assert math.isnan(row["margin"])


def test_what_cannot_be_asked():
    with pytest.raises(InputTypeError, match="objective: expected the name of one quantity"):
        rs.deploy(objective=["cost_per_token"])
    with pytest.raises(MissingInput, match="give chips="):
        rs.deploy(
            objective="pass_time", calibration="floor", model="DeepSeek-V3", batch_size=1, context_length=0,
            hbm_bandwidth=1, peak_flops=1,
        )  # fmt: skip
    with pytest.raises(MissingInput, match="input_tokens"):
        rs.deploy(objective="time_per_output_token", model="DeepSeek-V3", hardware="HGX H200")


# ---------------------------------------------------------------------------------------------------------- frontier


def test_frontier_and_picture(plan):
    front = plan.pareto(minimize=["cost_per_output_token", "time_per_output_token"])
    assert front["cost_per_output_token"].iloc[0] == plan.table["cost_per_output_token"].iloc[0]
    assert (front["time_per_output_token"] <= 0.03).all()
    assert front["time_per_output_token"].is_monotonic_decreasing
    assert {"hardware", "chips", "concurrency"} <= set(front)
    ax = plan.plot()
    x, y = ax.get_lines()[0].get_data()
    assert (np.diff(x) > 0).all()
    assert (np.diff(y) < 0).all()
    assert max(x) > 0.03  # the condition is drawn, and not asked for
    star = next(line for line in ax.get_lines() if line.get_marker() == "*")
    assert star.get_ydata()[0] == plan.table["cost_per_output_token"].iloc[0]
    assert any("16 chips" in text.get_text() for text in ax.get_legend().get_texts())
    pyplot.close(ax.figure)
    assert "<table" in plan._repr_html_()


def test_pictures_need_a_number_to_draw_against():
    for where in ([], "weight_format == 'fp8'"):
        result = rs.deploy(chips=64, where=where, **ONE)
        with pytest.raises(InputTypeError, match=r"against: name the quantity .* no condition limits one"):
            result.plot()
        with pytest.raises(InputTypeError, match=r"against: weight_format is one of 'bf16'.*only numbers"):
            result.plot(against="weight_format")
        assert result.plot(against="time_per_output_token").get_xlabel() == "time per output token"


@settings(max_examples=40, deadline=None)
@given(
    st.lists(st.integers(-3, 3), min_size=3, max_size=3),
    st.integers(1, 3),
    st.booleans(),
)
def test_inputs_along_two_axes_are_searched_alike(slopes, seed, rough):
    """Monotone axes or not, the optimum equals an exhaustive search."""
    rng = np.random.default_rng(seed)
    rows, columns = np.arange(30.0), np.arange(40.0)
    values = 200 + slopes[0] * rows[:, np.newaxis] + slopes[1] * columns
    if rough:
        values = values + rng.integers(0, 50, 30)[:, np.newaxis]
    inputs = {
        "compute_time": xr.DataArray(values, dims=["a", "b"]),
        "memory_time": xr.DataArray(300 + slopes[2] * np.arange(700.0), dims="c"),
        "weight_fetch_time": 1,
        "kv_fetch_time": xr.DataArray(rng.random(40) * 100, dims="b"),
        "overlap": "none",
    }
    inputs = Settled(inputs)
    for over in (["a", "b", "c"], ["b", "c"]):
        for where in ("pass_time >= 190", "compute_time + kv_fetch_time <= 260 s"):
            requested = {"over": over, "where": where}
            result, brute = (rs.best("pass_time", inputs, prune=prune, **requested) for prune in (True, False))
            assert result.identical(brute)


def test_the_search_as_inputs_of_other_calls(plan):
    over = ["candidate", "concurrency"]
    result = rs.best("cost_per_output_token", plan.inputs, over=over, where=[*GOALS, *plan.always])
    assert result["cost_per_output_token"].item() == plan.table["cost_per_output_token"].iloc[0]
    assert result["concurrency"].item() == plan.best["concurrency"]


def test_a_search_that_nothing_tells_apart():
    result = rs.deploy(objective="hbm_drain_time", hardware="H100")
    assert result.table["hbm_drain_time"].tolist() == [rs.value("hbm_drain_time", hardware="H100")]
    assert result.rejected.empty


# ------------------------------------------------------------------------------------------------- bound or estimate


def test_a_decision_is_an_estimate_unless_the_floor_is_asked_for():
    """The lower bound's best costs less, the basis is shown, and the best is a valid input."""
    estimate = rs.deploy(chips=[8, 64], **ONE)
    floor = rs.deploy(chips=[8, 64], calibration="floor", **ONE)
    name = "cost_per_output_token"
    assert estimate.table[name].iloc[0] > floor.table[name].iloc[0]
    assert estimate.basis["basis"] == estimate.table.attrs["basis"][name] == "estimate"
    assert f"[estimate by serving ({rs.calibration().date})]" in str(estimate)
    assert (floor.basis["basis"], floor.best["calibration"]) == ("floor", "floor")
    assert "least cost_per_output_token [floor]" in str(floor)
    assert rs.value(name, estimate.best) == estimate.table[name].iloc[0]
    assert rs.deploy(chips=[8, 64], calibration="serving", **ONE).table.equals(estimate.table)
    run = rs.deploy(objective="pretraining_cost", chips=[8, 64], **RUN)
    assert run.best["calibration"] == "training"
    assert run.basis["basis"] == "estimate"


def test_calibrations_of_ones_own_and_lists_of_them():
    renamed = dataclasses.replace(rs.calibration(), name="ours")
    plan = rs.deploy(chips=64, calibration=renamed, **ONE)
    assert rs.value("cost_per_output_token", plan.best) == plan.table["cost_per_output_token"].iloc[0]
    both = rs.deploy(chips=64, calibration=["floor", "serving"], **ONE)
    assert set(both.table["calibration"]) == {"floor", "serving"}
    assert both.basis["basis"] == "floor | estimate"
    mixed = rs.deploy(chips=64, bandwidth_efficiency=0.5, **ONE)
    assert mixed.basis["basis"] == "mixed: bandwidth_efficiency"
