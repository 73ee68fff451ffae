"""Charts of pipelines: timetables, bars and hops.

Boxes, gaps and arrows of the timetables, the stacks of the bars, and the parts of a hop.
"""

from __future__ import annotations

import itertools
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts
from roofslate.errors import AxisError, RoofslateError, UnitError, UnknownName, ValueRangeError
from support.lazy import Lazy
from support.pictures import patches

colors = Lazy("matplotlib.colors")

Box = tuple[float, float, float]  # row, start, end


def boxes(ax: Any, *gids: str) -> list[Box]:
    """Return rows, starts and ends of boxes, in that order.

    They are rounded, for sums differ in their last bits.
    """
    result = [patch for gid in gids for patch in patches(ax, gid)]
    return sorted((p.get_y(), round(p.get_x(), 9), round(p.get_x() + p.get_width(), 9)) for p in result)


def words(ax: Any) -> list[str]:
    return [text.get_text() for text in ax.texts]


def covers(ax: Any, work: tuple[str, ...], idle: tuple[str, ...], end: float) -> None:
    """Each row is filled from 0 to the end, without overlap."""
    rows: dict[float, list[Box]] = {}
    for box in boxes(ax, *work, *idle):
        rows.setdefault(box[0], []).append(box)
    for row in rows.values():
        assert row[0][1] == 0
        assert row[-1][2] == pytest.approx(end)
        for before, after in itertools.pairwise(row):
            assert before[2] == pytest.approx(after[1], abs=2e-9 * max(end, 1))


# ----------------------------------------------------------------------------------------- C12, inference on a pipeline


def test_pipeline_inference_is_the_lectures() -> None:
    ax = charts.pipeline_inference()
    lone, filled, hops = ax.child_axes
    slot = 0.005
    # one batch: a diagonal, then the next one; 0 is at the bottom
    diagonal = [(rack, rack * slot, (rack + 1) * slot) for rack in range(4)]
    for box in diagonal:
        assert box in boxes(lone, "work")
        assert (box[0], box[1] + 4 * slot, box[2] + 4 * slot) in boxes(lone, "work")
    assert "25%" in words(lone)[0]
    assert [tick.get_text() for tick in lone.get_yticklabels()] == ["rack 0", "rack 1", "rack 2", "rack 3"]
    # four: nothing white after the fill
    fill = [(rack, 0, rack * slot) for rack in (1, 2, 3)]
    assert boxes(filled, "idle") == fill
    assert "100%" in words(filled)[0]
    row = [text.get_text() for text in filled.texts[1:] if text.get_position()[1] < 1]
    assert row[:9] == ["0", "1", "2", "3", "0", "1", "2", "3", "0"]
    assert len(patches(filled, "wrap")) == 2
    assert len(patches(filled, "hop")) == 0
    # hops: six in flight, and still nothing white after the fill
    assert boxes(hops, "idle") == [(rack, 0, pytest.approx(rack * 0.0075)) for rack in (1, 2, 3)]
    row = [text.get_text() for text in hops.texts[1:] if text.get_position()[1] < 1]
    assert row[:8] == ["0", "1", "2", "3", "4", "5", "0", "1"]
    assert "6 batches" in words(hops)[0]
    assert "66.7%" in words(hops)[0]
    assert len(patches(hops, "hop")) == 4  # three, and the first after the return
    assert len(patches(hops, "wrap")) == 1
    for panel in (lone, filled, hops):
        covers(panel, ("work",), ("idle",), panel.get_xlim()[1])


def test_proof_by_visual_frames_as_many_racks_as_batches() -> None:
    _, filled, _ = charts.pipeline_inference().child_axes
    across, up = patches(filled, "proof")
    assert (across.get_x(), across.get_width()) == (0, pytest.approx(0.02))
    assert (up.get_x(), up.get_width()) == (pytest.approx(0.015), pytest.approx(0.005))
    assert up.get_height() > 3.5
    assert "4 across, 4 up" in words(filled)[0]
    inside = [box for box in boxes(filled, "work") if box[1] == 0.015]
    assert len(inside) == 4


@pytest.mark.parametrize(("stages", "batches", "share"), [(3, 2, "66.7%"), (5, 5, "100%"), (2, 4, "100%")])
def test_pipeline_inference_follows_its_parameters(stages: int, batches: int, share: str) -> None:
    ax = charts.pipeline_inference(pipeline_stages=stages, microbatches=batches, stage_time="1 ms", hop_latency=0)
    lone, filled = ax.child_axes
    assert f"{batches} batches in flight: {share}" in words(filled)[0]
    end = filled.get_xlim()[1]
    assert end == pytest.approx(2e-3 * stages)
    table = rs.schedules.pipeline_inference(pipeline_stages=stages, microbatches=batches, stage_time="1 ms", tokens=6)
    expected = table[table["start"] < end * (1 - 1e-9)]
    assert len(patches(filled, "work")) == len(expected)
    assert len(patches(lone, "work")) == 2 * stages
    assert len(patches(filled, "proof")) == (2 if stages == batches else 0)
    covers(filled, ("work",), ("idle",), end)


def test_pipeline_inference_draws_many_racks_and_long_hops_in_part() -> None:
    ax = charts.pipeline_inference(pipeline_stages=64, stage_time="50 us", hop_latency="2.5 ms")
    *_, hops = ax.child_axes
    assert len(hops.get_yticks()) == 8
    assert hops.get_yticklabels()[-1].get_text() == "\N{HORIZONTAL ELLIPSIS} of 64"
    assert "3,264 batches" in words(hops)[0]
    assert hops.get_xlabel() == "time; drawn are 8 of 64 racks and hops of 100 µs"
    assert sum(len(panel.patches) for panel in ax.child_axes) < 1000
    charts.pipeline_inference(pipeline_stages=1e9, microbatches=3e9)


def test_the_pace_follows_from_a_model() -> None:
    inputs: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "batch_size": 256}
    inputs |= {"context_length": "8k", "pipeline_stages": 2, "hop_latency": "20 us"}
    marks = charts.pipeline_inference.data(**inputs).attrs["marks"]
    assert marks["stage_time"] == pytest.approx(rs.value("stage_time", inputs))
    assert marks["full_pipeline_microbatches"] == rs.value("full_pipeline_microbatches", inputs) == 3


# ------------------------------------------------------------------------------------------- C13, one rack against many


@pytest.mark.parametrize(("stages", "hop"), [(4, 0), (3, 0), (6, 0.0025)])
def test_pipeline_latency_slides_the_boxes_onto_one_row(stages: int, hop: float) -> None:
    ax = charts.pipeline_latency(pipeline_stages=stages, hop_latency=hop)
    stairs, one = boxes(ax, "stage"), boxes(ax, "one")
    assert len(stairs) == len(one) == len(patches(ax, "slide")) == stages
    assert len(patches(ax, "hop")) == (stages if hop else 0)
    assert [row for row, *_ in stairs] == list(range(stages))
    assert len({row for row, *_ in one}) == 1
    assert one[0][0] < 0
    # without hops the lengths are the same
    assert [(start, end) for _, start, end in one] == [
        pytest.approx((0.005 * k, 0.005 * (k + 1))) for k in range(stages)
    ]
    assert [(start, end) for _, start, end in stairs] == [
        pytest.approx(((0.005 + hop) * k, (0.005 + hop) * k + 0.005)) for k in range(stages)
    ]
    latency = rs.value("pipeline_latency", pipeline_stages=stages, stage_time="5 ms", hop_latency=hop)
    assert f"{stages} racks in a row: {1e3 * latency:g} ms" in words(ax)
    assert f"one rack with all layers: {5 * stages} ms" in words(ax)
    for slide, (_, start, end), (_, first, last) in zip(patches(ax, "slide"), stairs, one, strict=True):
        (x0, y0), (x1, y1) = slide._posA_posB
        assert (x0, x1) == pytest.approx(((start + end) / 2, (first + last) / 2))
        assert y1 < y0


def test_pipeline_latency_shows_many_racks_in_part() -> None:
    ax = charts.pipeline_latency(pipeline_stages=61, hop_latency="2 ms")
    assert len(patches(ax, "stage")) == 8
    assert words(ax).count("\N{HORIZONTAL ELLIPSIS}") == 2
    assert "61 racks in a row: 427 ms" in words(ax)
    assert "60" in words(ax)


# --------------------------------------------------------------------------------------------- C14, bubble of training


def order(panel: Any, row: int) -> str:
    """Return the letters of a row in the order of time, without words on hatched parts."""
    pairs = [text for text in panel.texts[1:] if int(text.get_position()[1]) == row and len(text.get_text()) == 2]
    return " ".join(text.get_text() for text in sorted(pairs, key=lambda text: text.get_position()[0]))


def test_training_bubble_is_the_lectures() -> None:
    ax = charts.training_bubble()
    board, wide, turns, zero = ax.child_axes
    for rack in range(4):
        assert order(board, rack) == order(wide, rack) == "F0 F1 F2 F3 B3 B2 B1 B0"
    assert boxes(board, "forward") == [(r, r + k, r + k + 1) for r in range(4) for k in range(4)]
    assert boxes(board, "backward") == [(r, 10 - r + k, 11 - r + k) for r in range(4) for k in range(4)]
    assert boxes(wide, "backward") == [(r, 13 - 2 * r + 2 * k, 15 - 2 * r + 2 * k) for r in range(4) for k in range(4)]
    # hatched: before F0, between F3 and B3, after B0, six slots on each rack
    assert boxes(board, "fill") == [(1, 0, 1), (2, 0, 2), (3, 0, 3)]
    assert boxes(board, "drain") == [(0, 4, 10), (1, 5, 9), (2, 6, 8)]
    assert boxes(board, "end") == [(1, 13, 14), (2, 12, 14), (3, 11, 14)]
    idle = boxes(board, "fill", "drain", "end")
    assert [sum(end - start for row, start, end in idle if row == rack) for rack in range(4)] == [6] * 4
    assert all(patch.get_hatch() for gid in ("fill", "drain", "end") for patch in patches(board, gid))
    (drain,) = [text for text in board.texts if text.get_text() == "drain"]
    assert drain.get_position() == (7, 0.45)
    for panel in (board, wide):
        (stop,) = [line for line in panel.get_lines() if line.get_label() == "hard stop"]
        assert set(stop.get_xdata()) == {7}
        assert min(stop.get_ydata()) < 0.01
        assert max(stop.get_ydata()) >= 4
    assert not [line for line in turns.get_lines() if line.get_label() == "hard stop"]
    for panel, slots, share in ((board, 14, 42.9), (wide, 21, 42.9), (turns, 21, 42.9), (zero, 15, 20)):
        assert f"{slots} slots, rack 0 idles for {share:g}%" in words(panel)[0]
        covers(panel, ("forward", "backward", "weight"), ("fill", "drain", "gap", "end"), slots)
        assert panel.get_xlim() == (0, 21)
    assert len(patches(zero, "weight")) == 16
    legend = [text.get_text() for text in ax.get_legend().get_texts()]
    assert legend == ["forward", "backward", "gradients of weights", "bubble", "hard stop"]


def test_training_bubble_tells_forward_from_backward_without_colour() -> None:
    (board, *_) = charts.training_bubble().child_axes
    grey = [
        np.dot(colors.to_rgb(patches(board, gid)[0].get_facecolor()), (0.299, 0.587, 0.114))
        for gid in ("forward", "backward")
    ]
    assert abs(grey[0] - grey[1]) > 0.3


@pytest.mark.parametrize(("stages", "batches", "ratio"), [(3, 5, 2), (2, 2, 1.5), (5, 8, 1)])
def test_training_bubble_follows_its_parameters(stages: int, batches: int, ratio: float) -> None:
    inputs: dict[str, Any] = {
        "pipeline_stages": stages,
        "microbatches": batches,
        "backward_forward_ratio": ratio,
    }
    ax = charts.training_bubble(**inputs, pipeline_schedule="1f1b")
    panels = ax.child_axes
    assert len(panels) == (2 if ratio == 1 else 3)
    for panel in panels:
        assert len(patches(panel, "forward")) == len(patches(panel, "backward")) == stages * batches
    for panel, schedule in zip(panels[-2:], ("gpipe", "1f1b"), strict=True):
        table = rs.schedules.pipeline_training(**inputs, pipeline_schedule=schedule)
        assert boxes(panel, "forward", "backward") == sorted(
            (box.stage, round(box.start, 9), round(box.end, 9)) for box in table.itertuples()
        )
        share = 100 * rs.value("training_bubble", inputs, pipeline_schedule=schedule)
        assert f"{share:.3g}%" in words(panel)[0]


def test_training_bubble_draws_many_in_part() -> None:
    ax = charts.training_bubble(pipeline_stages=64, microbatches=512)
    assert len(patches(ax.child_axes[0], "forward")) == 8 * 16
    share = 100 * rs.value("training_bubble", pipeline_stages=64, microbatches=512)
    assert f"1,150 slots, rack 0 idles for {share:.3g}%" in words(ax.child_axes[0])[0]
    assert "8 of 64 racks and 16 of 512 micro-batches" in ax.child_axes[-1].get_xlabel()
    filled = charts.training_bubble(microbatches=8, pipeline_schedule="zb_h2")
    assert "rack 0 idles for 0%" in words(filled.child_axes[-1])[0]


def test_training_bubble_draws_every_schedule() -> None:
    every = rs.quantity("pipeline_schedule").choices
    inputs: dict[str, Any] = {"pipeline_stages": 4, "microbatches": 8}
    ax = charts.training_bubble(**inputs, model_chunks=2, pipeline_schedule=[name for name in every if name != "gpipe"])
    panels = ax.child_axes
    assert len(panels) == len(every) + 1  # all forwards first, with backwards of both lengths
    for panel, schedule in zip(panels[1:], every, strict=True):
        given = {**inputs, "pipeline_schedule": schedule}
        if schedule == "interleaved":
            given["model_chunks"] = 2
        step, bubble, live = (
            rs.value(name, given) for name in ("pipeline_step_time", "training_bubble", "live_microbatches")
        )
        heading = f"{step:g} slots, rack 0 idles for {100 * bubble:.3g}%, activations of {live:g}"
        assert words(panel)[0].endswith(heading)
        chunks = 2 if schedule in ("interleaved", "zb_v") else 1
        assert len(patches(panel, "forward")) == 4 * 8 * chunks
        first_rack = [end for rack, _, end in boxes(panel, "forward", "backward", "weight") if rack == 0]
        assert max(first_rack) == pytest.approx(step)
        looks = {patch.get_facecolor() for patch in patches(panel, "forward")}
        assert len(looks) == (2 if schedule in ("interleaved", "zb_v", "dualpipe") else 1)
    assert "darker: later chunks" in panels[-1].get_xlabel()


def test_training_bubble_writes_both_step_times_if_they_differ() -> None:
    ax = charts.training_bubble(pipeline_schedule="zb_v")
    assert words(ax.child_axes[-1])[0].endswith("15 slots, rack 0 idles for 20%, activations of 4 (drawn: 13.5 slots)")
    with pytest.raises(ValueRangeError, match=r"at least 2 per stage.*Give 8\."):
        charts.training_bubble(pipeline_schedule="dualpipe")


# ------------------------------------------------------------------------------------------------ C15, memory of a chip


def bars(ax: Any, label: str) -> list[tuple[float, float]]:
    (result,) = [container for container in ax.containers if container.get_label() == label]
    return [(bar.get_y(), bar.get_height()) for bar in result]


def test_memory_vs_stages_is_the_lectures() -> None:
    ax = charts.memory_vs_stages()
    caches, weights = bars(ax, "kv_bytes_per_chip"), bars(ax, "weight_bytes_per_chip")
    assert [height for _, height in caches] == pytest.approx([12.5e9] * 4, rel=5e-3)
    assert [height for _, height in weights] == pytest.approx([15.625e9 / p for p in (1, 2, 4, 8)], rel=1e-9)
    for (low, cache), (bottom, _) in zip(caches, weights, strict=True):
        assert low == 0
        assert bottom == cache  # the weights are on top of the KV caches
    assert {"15.6 GB", "3.91 GB", "12.5 GB", "16.4 GB", "memory of a chip 192 GB"} <= set(words(ax))
    assert words(ax).count("12.5 GB") == 4
    (even,) = [line for line in ax.get_lines() if line.get_label() == "break-even"]
    assert even.get_xdata()[0] == pytest.approx(np.log2(1.25), rel=1e-3)
    assert [tick.get_text() for tick in ax.get_xticklabels()] == ["1", "2", "4", "8"]
    assert "GB" in ax.get_yticklabels()[1].get_text()


def test_memory_vs_stages_of_a_model_that_does_not_fit() -> None:
    inputs: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "context_length": "100k"}
    inputs["batch_size"] = 2400
    ax = charts.memory_vs_stages(**inputs, pipeline_stages=[1, 2])
    lines = {line.get_label(): line for line in ax.get_lines()}
    assert lines["capacity"].get_ydata()[0] == 186e9
    assert "break-even" not in lines  # more KV cache than weights even with one stage
    for count, (_, height) in zip((1, 2), bars(ax, "kv_bytes_per_chip"), strict=True):
        expected: dict[str, Any] = {**inputs, "pipeline_stages": count, "chips": 72 * count}
        assert height == pytest.approx(rs.value("kv_bytes_per_chip", expected))
        assert height > 186e9
    table = charts.memory_vs_stages.data(total_parameters=5e12, context_length="100k")
    assert table.attrs["marks"]["break_even_stages"] == pytest.approx(12.5, rel=1e-3)


def test_memory_vs_stages_with_a_rack_and_batches_of_ones_own() -> None:
    table = charts.memory_vs_stages.data(chips=8, microbatches=1, pipeline_stages=4)
    assert table.loc[4, "weight_bytes_per_chip"] == pytest.approx(1e12 / 32)
    ax = charts.memory_vs_stages(microbatches=2, pipeline_stages=[2, 4])
    caches = [height for _, height in bars(ax, "kv_bytes_per_chip")]
    assert caches[0] == pytest.approx(2 * caches[1])
    assert "KV cache" in words(ax)  # which are not the same then


# ------------------------------------------------------------------------------------------------------- C16, the hop


@pytest.mark.parametrize(("switches", "stages"), [(2, 4), (1, 3), (3, 6), (0, 2)])
def test_hop_path_follows_its_parameters(switches: int, stages: int) -> None:
    ax = charts.hop_path(switches_per_hop=switches, pipeline_stages=stages, hop_latency="2.5 ms")
    assert len(patches(ax, "chip")) == len(patches(ax, "network card")) == 2
    assert len(patches(ax, "switch")) == switches
    assert len(patches(ax, "path")) == switches + 3  # arrows
    assert words(ax).count("+ 2 µs") == 2
    assert words(ax).count("+ 500 ns") == switches
    assert f"parts of a hop: {4 + switches / 2:g} µs" in words(ax)
    assert len(patches(ax, "stage")) == len(patches(ax, "alone")) == len(patches(ax, "hop")) == stages
    assert {f"{5 * stages} ms", f"{7.5 * stages:g} ms"} <= set(words(ax))
    places = [sorted(p.get_x() for p in patches(ax, gid)) for gid in ("network card", "switch")]
    assert all(places[0][0] < x < places[0][1] for x in places[1])


def test_hop_path_is_the_lectures() -> None:
    ax = charts.hop_path()
    texts = {" ".join(text.split()) for text in words(ax)}
    assert {"chip", "network card", "top-of- rack switch", "data center switch", "30 ms", "20 ms"} <= texts
    assert "a token through 4 stages, with 2.5 ms a hop" in texts
    top, centre = patches(ax, "switch")
    assert top.get_linestyle() in ("solid", "-")
    assert centre.get_linestyle() not in ("solid", "-")  # the one that may be left out
    widths = [patches(ax, gid)[0].get_width() for gid in ("stage", "hop")]
    assert widths[0] == pytest.approx(2 * widths[1])


def test_the_hop_is_what_its_parts_add_up_to_where_they_are_given() -> None:
    marks = charts.hop_path.data(network_card_latency="1 us", switches_per_hop=1).attrs["marks"]
    assert marks["hop_latency"] == marks["path_latency"] == pytest.approx(2.5e-6)
    assert marks["pipeline_latency"] == pytest.approx(4 * (0.005 + 2.5e-6))
    many = charts.hop_path(switches_per_hop=17, pipeline_stages=61)
    assert len(patches(many, "switch")) == 4
    assert "\N{HORIZONTAL ELLIPSIS}\nof 17" in words(many)
    assert words(many).count("\N{HORIZONTAL ELLIPSIS} of 61") == 2


# --------------------------------------------------------------------------------------------------------------- errors


def test_errors_name_what_was_given() -> None:
    with pytest.raises(ValueRangeError, match=r"pipeline_stages: a drawing has a whole number of them, got 2\.5"):
        charts.pipeline_inference(pipeline_stages=2.5)
    with pytest.raises(ValueRangeError, match="microbatches"):
        charts.training_bubble(microbatches=0)
    with pytest.raises(ValueRangeError, match="model_chunks acts only with 'interleaved', got 1f1b, zb_h1"):
        charts.training_bubble(model_chunks=2)
    with pytest.raises(UnknownName, match="zb_h1"):
        charts.training_bubble(pipeline_schedule="zb_h3")
    with pytest.raises(UnknownName, match="hop_latency"):
        charts.pipeline_latency(hop_latencies=1)
    with pytest.raises(UnitError, match="GB"):
        charts.pipeline_inference(hop_latency="2 GB")
    with pytest.raises(RoofslateError, match="hop_latency"):
        charts.pipeline_inference(hop_latency=-1)
    with pytest.raises(AxisError, match=r"pipeline_stages.*rise.*\[4, 2\]"):
        charts.memory_vs_stages(pipeline_stages=[4, 2])
    with pytest.raises(AxisError, match=r"pipeline_stages.*\[\]"):
        charts.memory_vs_stages(pipeline_stages=[])
    with pytest.raises(AxisError, match=r"one scenario.*batch_size"):
        charts.memory_vs_stages(batch_size=[1, 2])
    with pytest.raises(AxisError, match=r"one scenario.*pipeline_stages"):
        charts.training_bubble(pipeline_stages=[2, 4])
