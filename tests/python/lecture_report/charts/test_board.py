"""Numbers of the lecture complete a call of a chart as one bundle or not at all."""

from __future__ import annotations

import itertools
from typing import Any

import pytest
import roofslate as rs
from roofslate import charts
from roofslate.errors import MissingInput
from support.lazy import Lazy

pyplot = Lazy("matplotlib.pyplot")

RACK: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72"}


def under_title(ax: Any) -> list[str]:
    """Texts between the title and the picture."""
    return [text.get_text() for text in ax.texts if text.get_gid() == "under title"]


@pytest.mark.parametrize(
    ("name", "inputs", "missing"),
    [
        ("overtraining", {"model": "gpt-oss-120b"}, "pretraining_tokens"),
        ("overtraining_tornado", {"model": "gpt-oss-120b", "model_lifetime": ("30 d", "60 d")}, "pretraining_tokens"),
        ("latency_vs_batch", RACK, "context_length"),
        ("latency_vs_batch", {"hardware": "GB200 NVL72", "context_length": "8k"}, "weight_format"),
        ("cost_vs_batch", {**RACK, "context_length": "8k"}, "chip_price"),
        ("cost_vs_context", {**RACK, "chip_price": "$3/h"}, "price_margin"),
        ("cost_vs_pass_length", {**RACK, "output_input_ratio": 5}, "context_length"),
        ("roofline", {"hardware": "H100"}, "peak_flops"),
        ("machine_balance", {"hardware": "H100"}, "weight_format"),
        ("hardware_generations", {"hardware": ["H100", "B200"]}, "weight_format"),
        ("memory_vs_stages", RACK, "batch_size"),
        ("pipeline_inference", {**RACK, "batch_size": 64, "context_length": "8k"}, "hop_latency"),
        ("hop_path", {**RACK, "batch_size": 64, "context_length": "8k"}, "network_card_latency"),
        ("lifetime_surface", {"hardware": "H100", "chip_price": "$2/h"}, "active_parameters"),
        ("compute_buckets", {"model": "DeepSeek-V3", "pretraining_tokens": 14.8e12}, "rl_tokens"),
        ("retrieve_or_hold", {"model": "DeepSeek-V3"}, "peak_flops"),
        ("tier_cost", {"model": "DeepSeek-V3", "hardware": "H100"}, "chip_price"),
        ("moe_layer", {"model": "DeepSeek-V3"}, "chips"),
        ("two_racks", {"hardware": "GB200 NVL72", "expert_racks": 2}, "experts_per_token"),
        ("activation_memory", {"model": "Llama-3.1-70B", "activation_policy": "block"}, "global_batch_size"),
        ("latency_vs_batch", {"calibration": "serving"}, "weight_format"),
    ],
)
def test_what_a_chart_of_another_machine_lacks_is_an_error(name: str, inputs: dict[str, Any], missing: str) -> None:
    with pytest.raises(MissingInput, match=missing):
        charts.find(name).data(**inputs)


def test_over_training_of_a_model_is_not_the_lectures() -> None:
    table = charts.overtraining.data(model="Llama-3.1-8B", pretraining_tokens="15T")
    expected = rs.value("overtraining_ratio", model="Llama-3.1-8B", pretraining_tokens="15T")
    assert table["overtraining_ratio"].tolist() == [expected]


def test_other_inputs_leave_the_board_and_the_line_below_the_title_says_so() -> None:
    assert under_title(charts.latency_vs_batch()) == ["lower bound", "the lecture's board"]
    ax = charts.latency_vs_batch(context_length="8k")
    assert "the lecture's board, context length given" in under_title(ax)
    many = charts.latency_vs_batch(context_length="8k", chips=8, active_parameters=50e9)
    assert "the lecture's board, 3 inputs given" in under_title(many)
    named = charts.latency_vs_batch(**RACK, context_length="8k")
    assert under_title(named) == ["lower bound", "DeepSeek-V3, GB200 NVL72"]
    alone = charts.latency_vs_batch.data(context_length="8k").attrs["marks"]
    assert alone["crossing_batch"] > 0


def test_the_map_of_prices_names_its_assumptions() -> None:
    text = "assumptions of rs.infer: the lecture's model and machine"
    one = {"lists": ["Gemini 3.1 Pro"], "architectures": ["DeepSeek-V3"]}
    assert text in under_title(charts.price_map())
    assert f"{text}, 3 inputs given" in under_title(charts.price_map(**one, hardware="H100"))


def test_the_batches_of_another_machine_end_where_memory_does() -> None:
    short = {**RACK, "context_length": "64k"}
    for name, more in {"latency_vs_batch": {}, "cost_vs_batch": {"chip_price": "$3/h"}}.items():
        batches = charts.find(name).data(**short, **more).index
        assert batches[-1] == pytest.approx(rs.value("memory_limited_batch", short))


def test_the_corner_says_bound_or_estimate() -> None:
    ax = charts.latency_vs_batch(**RACK, context_length="8k", calibration="serving")
    date = rs.calibration("serving").date
    assert f"estimate (serving, {date}), extrapolated" in under_title(ax)
    mixed = charts.latency_vs_batch(bandwidth_efficiency=0.8)
    assert "lower bound | mixed: bandwidth_efficiency" in under_title(mixed)
    assert under_title(charts.roofline()) == ["upper bound"]  # of what a chip computes
    for name in ("feistel", "equal_cost"):  # no machine, no board
        assert under_title(charts.find(name)()) == []


@pytest.mark.parametrize("name", [chart.name for chart in charts.all()])
def test_the_title_adds_conditions_to_the_subject_of_the_lectures_picture_only(name: str) -> None:
    """Other inputs could make the conditions untrue."""
    chart = charts.find(name)
    assert chart.title.startswith(f"{chart.subject}, ")
    assert len(chart.subject) < 70
    start = dict(list(chart.inputs.items())[:1])
    if start:
        assert chart(**start).get_title(loc="left").replace("\n", " ") == chart.subject


def test_long_conditions_take_lines_of_their_own() -> None:
    figure, axes = pyplot.subplots(1, 3, figsize=(7, 2.5), layout="constrained")
    ax = charts.latency_vs_batch(axes[0], **RACK, context_length="8k", calibration="serving")
    figure.canvas.draw()
    boxes = [t.get_window_extent() for t in ax.texts if t.get_gid() == "under title"] + [
        ax._left_title.get_window_extent()
    ]
    for below, above in itertools.pairwise(boxes):
        assert below.y1 <= above.y0 + 1
    assert all(box.x1 <= ax.get_window_extent().x1 * 1.15 for box in boxes)
