"""Timetables of pipelines against the lecture's figures and the closed forms."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import roofslate as rs
from roofslate import schedules


def slots(table: Any, stage: int, kind: str) -> list[tuple[int, float]]:
    """Micro-batch and start of each box of a kind on a stage, in the order of the starts."""
    boxes = table[(table["stage"] == stage) & (table["kind"] == kind)]
    return list(zip(boxes["microbatch"], boxes["start"], strict=True))


def check(table: Any) -> None:
    """No stage does two things at once, and nothing starts before what it waits for has ended."""
    for _, boxes in table.groupby("stage"):
        assert (boxes["start"].to_numpy()[1:] >= boxes["end"].to_numpy()[:-1] - 1e-9).all()
    end = {(row.kind, row.stage, row.microbatch): row.end for row in table.itertuples()}
    start = {(row.kind, row.stage, row.microbatch): row.start for row in table.itertuples()}
    assert len(end) == len(table)
    last = table["stage"].max()
    steps = {"forward": -1, "backward": 1}
    for (kind, stage, microbatch), time in start.items():
        before = [("backward", stage)] if kind == "weight" else [(kind, stage + steps[kind])]
        if kind == "backward" and stage == last:
            before = [("forward", stage)]
        for other, where in before:
            if (other, where, microbatch) in end:
                assert time >= end[other, where, microbatch] - 1e-9
            else:
                assert (kind, stage) == ("forward", 0)


# ---------------------------------------------------------------------------------------------------------- decoding


def test_one_batch_leaves_three_of_four_stages_idle() -> None:
    table = schedules.pipeline_inference(pipeline_stages=4, microbatches=1, stage_time="5 ms", tokens=3)
    assert len(table) == 12
    assert table["end"].max() == pytest.approx(0.060)
    busy = (table["end"] - table["start"]).sum() / (4 * table["end"].max())
    assert busy == pytest.approx(rs.value("pipeline_utilization", pipeline_stages=4, microbatches=1))


def test_as_many_batches_as_stages_leave_no_gap() -> None:
    table = schedules.pipeline_inference(pipeline_stages=4, stage_time="5 ms", tokens=3)
    assert schedules.stage_use(table)["idle"].to_numpy() == pytest.approx(0, abs=1e-12)
    assert list(schedules.stage_use(table)["start"]) == pytest.approx([0, 0.005, 0.010, 0.015])
    for _, boxes in table.groupby(["microbatch", "token"]):
        assert boxes["end"].max() - boxes["start"].min() == pytest.approx(0.020)
    assert table.attrs["units"] == {"start": "s", "end": "s"}


@pytest.mark.parametrize(
    ("microbatches", "hop"), [(4, 0.5), (5, 0.5), (6, 0.5), (9, 0.5), (2, 3.0), (16, 3.0), (3, 0.0)]
)
def test_hops_ask_for_more_batches(microbatches: int, hop: float) -> None:
    inputs: dict[str, Any] = {"pipeline_stages": 4, "microbatches": microbatches, "stage_time": 1, "hop_latency": hop}
    table = schedules.pipeline_inference(tokens=5, **inputs)
    first = table[(table["stage"] == 0) & (table["microbatch"] == 0)]["start"].diff().dropna()
    assert first.to_numpy() == pytest.approx(rs.value("pipeline_round_time", inputs))
    one = table[(table["microbatch"] == 0) & (table["token"] == 0)]
    assert one["end"].max() + hop == pytest.approx(rs.value("pipeline_latency", inputs))
    share = microbatches / first.iloc[0]
    assert share == pytest.approx(rs.value("pipeline_utilization_with_hops", inputs))
    assert (share == pytest.approx(1)) == (microbatches >= rs.value("full_pipeline_microbatches", inputs))


# ---------------------------------------------------------------------------------------------------------- training


def test_the_lectures_figure() -> None:
    table = schedules.pipeline_training(pipeline_stages=4, backward_forward_ratio=1)
    for stage in range(4):
        assert slots(table, stage, "forward") == [(batch, stage + batch) for batch in range(4)]
        assert slots(table, stage, "backward") == [(3 - position, 10 - stage + position) for position in range(4)]
    assert table["end"].max() == 14
    assert table.groupby("stage").size().to_list() == [8] * 4
    assert table.attrs["units"]["end"] == "1"


def test_backward_twice_as_long() -> None:
    table = schedules.pipeline_training(pipeline_stages=4)
    assert table["end"].max() == 21
    assert schedules.stage_use(table)["idle_share"].max() == pytest.approx(3 / 7)


@pytest.mark.parametrize(
    ("schedule", "microbatches", "bubble"),
    [
        ("gpipe", 4, 3 / 7),
        ("gpipe", 8, 3 / 11),
        ("gpipe", 16, 3 / 19),
        ("1f1b", 4, 3 / 7),
        ("zb_h1", 4, 0.2),
        ("zb_h2", 4, 0.2),
        ("zb_h2", 7, 0.0),
    ],
)
def test_bubble(schedule: Any, microbatches: int, bubble: float) -> None:
    inputs: dict[str, Any] = {"pipeline_stages": 4, "microbatches": microbatches, "pipeline_schedule": schedule}
    use = schedules.stage_use(schedules.pipeline_training(**inputs))
    assert use["idle_share"].max() == pytest.approx(bubble, abs=1e-12)
    assert rs.value("training_bubble", inputs) == pytest.approx(bubble, abs=1e-12)


@pytest.mark.parametrize("schedule", ["gpipe", "1f1b", "zb_h1", "zb_h2"])
def test_closed_forms_agree_with_the_timetable(schedule: Any) -> None:
    ratios = [2.0] if schedule.startswith("zb") else [2.0, 1.0, 2.7]
    for stages, batches, ratio in itertools.product([1, 2, 3, 4, 6], [1, 2, 3, 4, 6, 7, 11, 20], ratios):
        inputs: dict[str, Any] = {
            "pipeline_stages": stages,
            "microbatches": batches,
            "pipeline_schedule": schedule,
            "backward_forward_ratio": ratio,
        }
        table = schedules.pipeline_training(**inputs)
        check(table)
        use = schedules.stage_use(table)
        assert use["idle_share"].max() == pytest.approx(rs.value("training_bubble", inputs), abs=1e-12)
        assert use["end"][0] == pytest.approx(rs.value("pipeline_step_time", inputs))
        moves = sorted(
            [(time, 1) for _, time in slots(table, 0, "forward")]
            + [(row.end, -1) for row in table[(table["stage"] == 0) & (table["kind"] == "backward")].itertuples()]
        )
        live = max(itertools.accumulate(step for _, step in moves))
        assert live == rs.value("live_microbatches", inputs)


def check_chunks(table: Any, batches: int, chunks: int) -> None:
    """Each stage does every pass once, one at a time, after the passes that feed it."""
    stages = int(table["stage"].max()) + 1
    for _, boxes in table.sort_values(["stage", "start", "end"]).groupby("stage"):
        assert (boxes["start"].to_numpy()[1:] >= boxes["end"].to_numpy()[:-1] - 1e-9).all()
    keys = ["kind", "stage", "chunk", "microbatch"]
    assert not table.duplicated(keys).any()
    counts = table[table["kind"] != "weight"].groupby(["stage", "kind"]).size()
    assert set(counts) == {batches * chunks}
    rows = table.set_index(keys)
    passes = table[table["kind"] != "weight"]
    for (kind, microbatch), boxes in passes.groupby(["kind", "microbatch"]):
        visited = boxes.sort_values("start")
        assert len(visited) == stages * chunks
        assert (visited["start"].to_numpy()[1:] >= visited["end"].to_numpy()[:-1] - 1e-9).all()
        if kind == "forward":  # the backward pass goes the same stages in reverse
            back = passes[(passes["kind"] == "backward") & (passes["microbatch"] == microbatch)].sort_values("start")
            steps = [list(zip(direction["stage"], direction["chunk"], strict=True)) for direction in (visited, back)]
            assert steps[0] == steps[1][::-1]
            assert back["start"].min() >= visited["end"].max() - 1e-9
    for one in table[table["kind"] == "weight"].itertuples():
        assert one.start >= rows.loc[("backward", one.stage, one.chunk, one.microbatch), "end"] - 1e-9


def live_microbatches(table: Any, chunks: int) -> float:
    """Greatest number of micro-batches with activations on a stage, the first or any."""
    most = 0.0
    for _, boxes in table.groupby("stage"):
        moves = [(row.start, 1) for row in boxes[boxes["kind"] == "forward"].itertuples()]
        moves += [(row.end, -1) for row in boxes[boxes["kind"] == "backward"].itertuples()]
        most = max(most, *itertools.accumulate(step for _, step in sorted(moves)))
    return most / chunks


_CHUNKED = [
    *(("interleaved", stages, n * stages, v) for stages in (1, 2, 4, 5) for n in (1, 2, 4) for v in (1, 2, 3)),
    *(("interleaved", 4, batches, 3) for batches in (1, 2, 3)),
    *(("zb_v", stages, 2 * stages - 1 + more, 2) for stages in (1, 2, 3, 4, 6) for more in (0, 1, 5)),
    *(("dualpipe", stages, 2 * stages + more, 1) for stages in (2, 4, 6, 8) for more in (0, 2, 10)),
]


@pytest.mark.parametrize(("schedule", "stages", "batches", "chunks"), _CHUNKED)
def test_stages_with_chunks_agree_with_the_closed_forms(schedule: Any, stages: int, batches: int, chunks: int) -> None:
    inputs: dict[str, Any] = {
        "pipeline_stages": stages,
        "microbatches": batches,
        "pipeline_schedule": schedule,
    }
    if schedule == "interleaved":
        inputs["model_chunks"] = chunks
    table = schedules.pipeline_training(**inputs)
    check_chunks(table, batches, chunks)
    use = schedules.stage_use(table)
    assert use["idle_share"].max() == pytest.approx(rs.value("training_bubble", inputs), abs=1e-12)
    step_times = use["end"] - use["start"]  # a stage starts the next step as soon as it has finished
    assert step_times.max() == pytest.approx(rs.value("pipeline_step_time", inputs))
    assert live_microbatches(table, chunks) == pytest.approx(rs.value("live_microbatches", inputs))


def test_few_micro_batches_idle_less_in_a_v_than_its_closed_form() -> None:
    for stages, batches in itertools.product([3, 4, 6], [2, 3, 4]):
        inputs: dict[str, Any] = {"pipeline_stages": stages, "microbatches": batches, "pipeline_schedule": "zb_v"}
        table = schedules.pipeline_training(**inputs)
        check_chunks(table, batches, 2)
        assert table["end"].max() <= rs.value("pipeline_step_time", inputs) + 1e-9


@pytest.mark.parametrize("share", [0.0, 0.2, 0.5, 0.8])
@pytest.mark.parametrize("schedule", ["zb_h1", "zb_h2"])
def test_any_times_give_a_possible_timetable(schedule: Any, share: float) -> None:
    for stages, batches, ratio in itertools.product([1, 3, 5], [1, 4, 9], [0.7, 2.0, 3.3]):
        table = schedules.pipeline_training(
            pipeline_stages=stages,
            microbatches=batches,
            pipeline_schedule=schedule,
            backward_forward_ratio=ratio,
            weight_gradient_share=share,
        )
        check(table)
        work = (table["end"] - table["start"]).sum()
        assert work == pytest.approx(stages * batches * (1 + ratio))
        plain = schedules.pipeline_training(pipeline_stages=stages, microbatches=batches, backward_forward_ratio=ratio)
        assert table["end"].max() <= plain["end"].max() + 1e-9


# ------------------------------------------------------------------------------------------------- stages that differ


def test_a_global_layer_in_every_other_stage() -> None:
    table = schedules.stage_times([1, 1, 1, 4] * 2, pipeline_stages=4)
    assert list(table["time"]) == [2, 5, 2, 5]
    assert table["utilization"].mean() == pytest.approx(0.7)


@pytest.mark.parametrize(
    ("layers", "period", "cost"), [(8, 4, 4.0), (24, 4, 3.0), (24, 6, 2.5), (12, 1, 5.0), (36, 4, 1.0)]
)
@pytest.mark.parametrize("stages", [1, 2, 4])
def test_balance_closed_form(layers: int, period: int, cost: float, stages: int) -> None:
    times = [cost if number % period == period - 1 else 1.0 for number in range(layers)]
    table = schedules.stage_times(times, pipeline_stages=stages)
    inputs = {"layers": layers, "pipeline_stages": stages, "global_layer_period": period, "global_layer_cost": cost}
    assert table["utilization"].mean() == pytest.approx(rs.value("stage_balance", inputs))


# ------------------------------------------------------------------------------------------------------ wrong questions


@pytest.mark.parametrize(
    ("function", "inputs", "match"),
    [
        ("pipeline_inference", {"pipeline_stages": 0}, "pipeline_stages"),
        ("pipeline_inference", {"pipeline_stages": 4, "stage_time": 0}, "stage_time"),
        ("pipeline_inference", {"pipeline_stages": 4, "hop_latency": "-1 ms"}, "hop_latency"),
        ("pipeline_inference", {"pipeline_stages": 4, "microbatches": 2.5}, "microbatches"),
        ("pipeline_inference", {"pipeline_stages": 4, "tokens": 0}, "tokens"),
        ("pipeline_training", {"pipeline_stages": 4, "pipeline_schedule": "1b1f"}, "1f1b"),
        ("pipeline_training", {"pipeline_stages": 4, "backward_forward_ratio": float("inf")}, "backward_forward_ratio"),
        ("pipeline_training", {"pipeline_stages": 4, "microbatches": 6, "pipeline_schedule": "interleaved"}, "Give 8"),
        ("pipeline_training", {"pipeline_stages": 4, "pipeline_schedule": "dualpipe"}, r"microbatches.*Give 8\."),
        ("pipeline_training", {"pipeline_stages": 3, "pipeline_schedule": "dualpipe"}, r"pipeline_stages.*Give 4\."),
        (
            "pipeline_training",
            {"pipeline_stages": 4, "pipeline_schedule": "zb_h1", "weight_gradient_share": 1},
            "below 1",
        ),
        ("pipeline_training", {"pipeline_stages": 4, "model_chunks": 2}, "only with pipeline_schedule='interleaved'"),
        ("stage_times", {"layer_times": [1, 2, 3], "pipeline_stages": 2}, "layer_times"),
        ("stage_times", {"layer_times": [1, 0], "pipeline_stages": 2}, "positive"),
    ],
)
def test_wrong_inputs(function: str, inputs: dict[str, Any], match: str) -> None:
    with pytest.raises(rs.RoofslateError, match=match):
        getattr(schedules, function)(**inputs)


# ------------------------------------------------------------------------------------------------------------- racks


def test_racks_limits() -> None:
    one = {"expert_racks": 1, "experts_per_token": 8, "link_bandwidth_ratio": 18}
    for routing in ("direct", "hierarchical"):
        assert rs.value("all_to_all_slowdown", one, all_to_all_routing=routing) == 1
    many = {"expert_racks": 1e6, "experts_per_token": 8, "link_bandwidth_ratio": 8}
    for routing in ("direct", "hierarchical"):
        assert rs.value("all_to_all_slowdown", many, all_to_all_routing=routing) == pytest.approx(8, rel=1e-4)


def test_one_copy_a_rack_never_leaves_more_often() -> None:
    for racks, k in itertools.product([1, 2, 3, 8, 18], [1, 2, 8, 64]):
        inputs = {"expert_racks": racks, "experts_per_token": k, "experts": 256}
        fewer, more = rs.value("hierarchical_leaving_copies", inputs), rs.value("leaving_copies", inputs)
        assert fewer <= more * (1 + 1e-12)


def test_what_keeps_a_rack_small() -> None:
    limits = {"cables_per_chip": 18, "cable_limit": 2592}
    assert rs.value("scale_up_limit", limits) == "cables"
    assert rs.value("scale_up_limit", limits, power_limited_domain=100) == "power"
    assert rs.value("largest_scale_up_domain", limits, power_limited_domain=100) == 100


def test_parts_of_the_memory_add_up() -> None:
    inputs: dict[str, Any] = {"model": "lecture", "hardware": "BW64", "batch_size": 2400, "context_length": "200k"}
    for stages in (1, 2, 4):
        parts = [
            rs.value(name, {**inputs, "pipeline_stages": stages}, chips=64 * stages)
            for name in ("weight_bytes_per_chip", "kv_bytes_per_chip", "hbm_used")
        ]
        assert parts[0] + parts[1] == pytest.approx(parts[2])
