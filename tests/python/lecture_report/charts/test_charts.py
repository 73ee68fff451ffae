"""Charts: the numbers in the drawings, the shape of diagrams, the pictures as a whole.

After a wanted change draw the baseline images anew, look at them, and commit them with it:
``ROOFSLATE_UPDATE_BASELINES=1 python -m pytest tests/python/lecture_report/charts/test_charts.py``.
"""

from __future__ import annotations

import itertools
import math
import os
import pickle
import re
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts
from roofslate.display.style import _apart
from roofslate.errors import AxisError, IneffectiveInput, InputTypeError, RoofslateError, UnknownName, ValueRangeError
from roofslate.grid.read import Settled
from roofslate.plotting.chart import first_reach
from support.lazy import Lazy
from support.pictures import line, patches, point, points, words

mpl = Lazy("matplotlib")
collections = Lazy("matplotlib.collections")
image = Lazy("matplotlib.image")
pyplot = Lazy("matplotlib.pyplot")
pillow = Lazy("PIL.Image")

BASELINES = Path(__file__).with_name("baselines")
NAMES = [chart.name for chart in charts.all()]
DEEPSEEK: dict[str, Any] = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72"}


# -------------------------------------------------------------------------------------------------------- all charts


def test_all_charts_are_registered_in_order() -> None:
    assert [chart.number for chart in charts.all()] == [f"C{k}" for k in range(1, 54)]
    for chart in charts.all():
        assert getattr(rs.charts, chart.name) is chart is charts.find(chart.number) is charts.find(chart.name)
        assert chart.chapter in {1, 2, 3, 5, 6, 7}
        assert chart.brief.endswith(".")
        assert len(chart.title) < 70
        assert chart.name in repr(chart)
        assert pickle.loads(pickle.dumps(chart)) is chart


@pytest.mark.parametrize("name", NAMES)
def test_paragraphs_tell_computed_numbers(name: str) -> None:
    text = charts.find(name).paragraph
    assert "{" not in text
    assert not re.search(r"\b(inf|nan)\b", text)
    assert re.search(r"\d", text)


@pytest.mark.parametrize("name", NAMES)
def test_a_chart_returns_its_axes_and_leaves_settings_alone(name: str) -> None:
    with mpl.rc_context({"lines.linewidth": 7.0, "axes.spines.top": True}):
        before = dict(mpl.rcParams)
        drawn = charts.find(name)()
        assert dict(mpl.rcParams) == before
        figure, (first, second) = pyplot.subplots(1, 2)
        assert charts.find(name)(first) is first
        assert charts.find(name)(ax=second) is second
        assert figure.axes[:2] == [first, second]
        assert dict(mpl.rcParams) == before
    assert drawn.get_title(loc="left") == charts.find(name).title


@pytest.mark.parametrize("name", NAMES)
def test_data_says_its_units(name: str) -> None:
    table = charts.find(name).data()
    assert len(table) > 0
    units = table.attrs["units"]
    assert set(table.columns) | set(table.attrs["marks"]) <= set(units) | {"train"}
    known = rs.quantities()["unit"]
    quantities = {*units, *table.index.names} & set(known.index)
    assert {quantity: units[quantity] for quantity in quantities} == known[sorted(quantities)].to_dict()


@pytest.mark.parametrize("name", NAMES)
def test_no_text_is_cut_and_no_two_labels_overlap(name: str) -> None:
    figure = charts.find(name)().figure
    figure.canvas.draw()
    frame = figure.bbox
    boxes = []
    for ax in figure.findobj(mpl.axes.Axes):
        ticks = [
            t.label1
            for axis in (ax.xaxis, ax.yaxis)
            if ax.axison and axis.get_visible()
            for t in axis.get_major_ticks()
        ]
        titles = [ax.title, ax._left_title, ax.xaxis.label, ax.yaxis.label] if ax.axison else [ax._left_title]
        shown = [t for t in (*ax.texts, *ticks, *titles) if t.get_visible() and t.get_text().strip()]
        low, high = ax.get_window_extent().get_points()
        for text in shown:
            # the box of the words, without an arrow that belongs to them
            box = mpl.text.Text.get_window_extent(text)
            x, y = (box.x0 + box.x1) / 2, (box.y0 + box.y1) / 2
            seen = low[0] - 1 <= x <= high[0] + 1 if y < low[1] else low[1] - 1 <= y <= high[1] + 1
            if text not in ticks or seen:  # ticks beyond the ends of an axis are not drawn
                boxes.append((text.get_text(), box))
    for text, box in boxes:
        assert frame.x0 - 1 <= box.x0 <= box.x1 <= frame.x1 + 1, text
        assert frame.y0 - 1 <= box.y0 <= box.y1 <= frame.y1 + 1, text
    for k, (text, box) in enumerate(boxes):
        for other, neighbor in boxes[k + 1 :]:
            width = min(box.x1, neighbor.x1) - max(box.x0, neighbor.x0)
            height = min(box.y1, neighbor.y1) - max(box.y0, neighbor.y0)
            assert width < 2 or height < 3, f"{text!r} and {other!r} overlap"


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.each
def test_baseline_images(name: str) -> None:
    with mpl.rc_context({**mpl.rcParamsDefault, "backend": "Agg"}):
        figure = charts.find(name)().figure
        figure.set_dpi(60)
        figure.canvas.draw()
        drawn = np.asarray(figure.canvas.buffer_rgba())[..., :3] / 255
    path = BASELINES / f"{name}.png"
    if os.environ.get("ROOFSLATE_UPDATE_BASELINES"):
        path.parent.mkdir(exist_ok=True)
        image.imsave(path, np.dstack([drawn, np.ones(drawn.shape[:2])]))
    expected = image.imread(path)[..., :3]
    assert path.stat().st_size < 100_000
    assert expected.shape == drawn.shape
    # matplotlib's letters change with its version, and the layout with them
    with pillow.open(path) as stored:
        same = f"version{version('matplotlib')}," in stored.info["Software"]
    assert _difference(drawn, expected) < (0.01 if same else 0.065)


def _difference(a: np.ndarray, b: np.ndarray) -> float:
    """Return the root mean square of the difference of the images, each blurred.

    Blurred, the edges of letters do not count.
    """

    def blurred(x: np.ndarray) -> np.ndarray:
        total = np.cumsum(np.cumsum(np.pad(x.mean(axis=2), ((6, 0), (6, 0)), mode="edge"), axis=0), axis=1)
        return (total[6:, 6:] - total[:-6, 6:] - total[6:, :-6] + total[:-6, :-6]) / 36

    return float(np.sqrt(np.mean((blurred(a) - blurred(b)) ** 2)))


def test_baselines_tell_pictures_apart() -> None:
    one = image.imread(BASELINES / "latency_vs_batch.png")[..., :3]
    other = image.imread(BASELINES / "fast_mode.png")[..., :3]
    assert _difference(one, np.roll(one, 2, axis=1)) > 0.01
    assert _difference(one, other) > 0.08
    assert {path.stem for path in BASELINES.glob("*.png")} == set(NAMES)


def test_importing_the_charts_loads_no_matplotlib(run_python: Any) -> None:
    code = "import sys, roofslate as rs; rs.charts.latency_vs_batch; rs.plot; print('matplotlib' in sys.modules)"
    assert run_python(code) == "False"


# ------------------------------------------------------------------------------------------------------------ errors


def test_bad_names_are_the_packages_errors() -> None:
    with pytest.raises(UnknownName, match="latency_vs_batch"):
        charts.find("latency_vs_bach")
    with pytest.raises(AttributeError, match="latency_vs_batch"):
        _ = rs.charts.latency_vs_bach
    assert not hasattr(rs.charts, "no_such_chart")
    with pytest.raises(UnknownName, match="context_length"):
        charts.latency_vs_batch(context_lenght=1000)
    with pytest.raises(UnknownName, match="H100"):
        charts.roofline(hardware=["H10"])
    with pytest.raises(InputTypeError, match="matplotlib Axes"):
        charts.latency_vs_batch("here")  # type: ignore[arg-type]
    with pytest.raises(AxisError, match=r"one scenario.*context_length"):
        charts.latency_vs_batch.data(context_length=[1000, 2000], batch_size=[1, 2])
    with pytest.raises(ValueRangeError, match="context_length"):
        charts.decode_tensor(context_length=0)
    with pytest.raises(AxisError, match="one length"):
        charts.fast_mode(price_factor=[6, 2], speed_factor=[1, 2, 3])
    with pytest.raises(AxisError, match="2 formats for 1 chips"):
        charts.machine_balance(hardware=["H100"], weight_format=["bf16", "fp8"])
    with pytest.raises(RoofslateError, match="chips"):
        charts.latency_vs_batch(hardware="H100", model="DeepSeek-V3", context_length="8k")
    with pytest.raises(AxisError, match="hardware: expected at least one name"):
        charts.roofline(hardware=[])
    with pytest.raises(AxisError, match=r"chart roofline draws one scenario, but compute_efficiency is an axis"):
        charts.roofline(hardware="H100", compute_format="bf16", compute_efficiency=[0.5, 0.6])
    with pytest.raises(ValueRangeError, match="compute_time would reach memory_time at a batch_size of inf to inf"):
        charts.latency_vs_batch(hbm_bandwidth=1e-300)


@pytest.mark.parametrize(
    ("ends", "crossing"), [((1e-3, 1e3), 1), ((2, 1e3), 2), ((1e-3, 0.9), math.inf), ((0.9, 1.1), 1)]
)
def test_where_one_quantity_first_reaches_another(ends: tuple[float, float], crossing: float) -> None:
    """Without a KV cache, memory time is equal for all batches and compute time grows."""
    inputs: dict[str, Any] = {"model": "lecture", "hardware": "DGX H100", "context_length": 0}
    memory, one = (rs.value(name, inputs, batch_size=1) for name in ("memory_time", "compute_time"))
    ends = (ends[0] * memory / one, ends[1] * memory / one)
    reached = first_reach("compute_time", "memory_time", "batch_size", *ends, **inputs)
    assert reached * one / memory == pytest.approx(crossing, rel=1e-12)  # the last look has steps of 1e-15


# ------------------------------------------------------------------------------------------------- C1, decode tensor


@pytest.mark.parametrize(("context", "rows"), [(8, 4), (5, 3), (12, 8)])
def test_decode_tensor_follows_its_parameters(context: int, rows: int) -> None:
    ax = charts.decode_tensor(context_length=context, hidden_size=rows)
    assert len(patches(ax, "new")) == rows
    assert len(patches(ax, "old")) == rows * context
    assert len(patches(ax, "read")) == context  # an arrow to every past token
    assert len(patches(ax, "weights")) == len(patches(ax, "use")) == 1
    assert f"{context} × 1.67 kB" in words(ax)
    assert "800 GB" in words(ax)


def test_decode_tensor_shows_long_contexts_in_part() -> None:
    ax = charts.decode_tensor(context_length="100k", hidden_size=7168, model="DeepSeek-V3")
    assert len(patches(ax, "read")) == 12
    assert "\N{HORIZONTAL ELLIPSIS}" in words(ax)
    assert "100k × 70.3 kB = 7.03 GB" in words(ax)
    table = charts.decode_tensor.data(context_length="100k")
    assert table.index[-1] == 100_000
    assert table["new"].sum() == 1
    assert table.attrs["marks"]["kv_bytes"] == pytest.approx(166.7e6, rel=5e-3)


# ------------------------------------------------------------------------------------------------ C2, latency vs batch


def test_latency_vs_batch_has_the_lectures_proportions() -> None:
    ax = charts.latency_vs_batch()
    batch, weights = points(ax, "weight_fetch_time")
    fetch = weights[0]
    assert np.ptp(weights) == 0
    assert batch[-1] == pytest.approx(points(ax, "pass_time")[0][-1])  # the weights' line has the full width
    compute, cache, bold = (points(ax, name)[1] for name in ("compute_time", "kv_fetch_time", "pass_time"))
    assert (cache / compute) == pytest.approx(0.437, rel=5e-3)
    at, time = point(ax, "crossing")
    balance = rs.value("balance_batch", active_parameters=100e9, total_parameters=800e9, balance_tokens=300)
    assert balance == pytest.approx(2400)
    assert at / balance == pytest.approx(1.776, rel=5e-3)
    assert time / fetch == pytest.approx(1.776, rel=5e-3)
    # the bold line starts at W, rises with the KV caches, bends at the dot and then follows compute
    assert bold[0] == pytest.approx(fetch, rel=1e-3)
    before, after = batch < at, batch > at
    assert np.diff(bold[before]) / np.diff(batch[before]) == pytest.approx(cache[-1] / batch[-1], rel=1e-6)
    assert bold[before][-1] > bold[0] * 1.5
    assert bold[after] == pytest.approx(compute[after], rel=1e-12)
    assert bold == pytest.approx(np.maximum(points(ax, "memory_time")[1], compute), rel=1e-12)


def test_latency_vs_batch_marks_the_lower_bound() -> None:
    ax = charts.latency_vs_batch()
    x, y = points(ax, "latency_lower_bound")
    assert x[0] == 0
    assert y == pytest.approx(points(ax, "weight_fetch_time")[1][0])
    assert line(ax, "latency_lower_bound").is_dashed()
    assert "latency lower bound\n1.39 ms" in words(ax)
    assert ax.get_xlim()[0] == ax.get_ylim()[0] == 0
    assert "time" in ax.get_ylabel()
    assert "sequences" in ax.get_xlabel()
    ax.figure.canvas.draw()
    assert "2 ms" in [tick.get_text() for tick in ax.get_yticklabels()]
    assert "4k" in [tick.get_text() for tick in ax.get_xticklabels()]


def test_latency_vs_batch_is_its_data() -> None:
    table = charts.latency_vs_batch.data(**DEEPSEEK, context_length="1k", batch_size=[1, 100, 10_000])
    ax = charts.latency_vs_batch(**DEEPSEEK, context_length="1k", batch_size=[1, 100, 10_000])
    for name in table.columns:
        x, y = points(ax, name)
        assert x.tolist() == [1, 100, 10_000]
        assert y.tolist() == table[name].tolist()
        expected = rs.evaluate(
            [name, "batch_size"], Settled(DEEPSEEK, context_length="1k", batch_size=[1, 100, 10_000])
        )[name]
        assert y.tolist() == (expected.to_numpy() + np.zeros(3)).tolist()


def test_the_boards_weights_take_the_format_that_is_asked_for() -> None:
    for word, weight in {"bf16": 2, "fp8": 1}.items():
        given, requested = (
            charts.latency_vs_batch.data(**{name: x})
            for name, x in {"bytes_per_weight": weight, "weight_format": word}.items()
        )
        assert given["pass_time"].to_numpy() == pytest.approx(requested["pass_time"].to_numpy())
        given, requested = (
            charts.cost_vs_batch.data(**{name: x})
            for name, x in {"bytes_per_weight": weight, "weight_format": word}.items()
        )
        assert given.attrs["marks"] == pytest.approx(requested.attrs["marks"])


def test_latency_vs_batch_without_a_crossing() -> None:
    never = charts.latency_vs_batch(**DEEPSEEK, context_length="32k")
    assert not [artist for artist in never.get_lines() if artist.get_label() == "crossing"]
    assert math.isinf(charts.latency_vs_batch.data(overlap="none").attrs["marks"]["crossing_batch"])


def test_the_crossing_follows_the_overlap_and_the_experts() -> None:
    serial = charts.latency_vs_batch.data(overlap="serial_kv").attrs["marks"]
    assert serial["crossing_batch"] == pytest.approx(serial["balance_batch"], rel=1e-9)
    inputs: dict[str, Any] = {**DEEPSEEK, "context_length": "1k"}
    board = charts.latency_vs_batch.data(**inputs, expert_reads="all").attrs["marks"]["crossing_batch"]
    assert board == pytest.approx(rs.value("balance_batch_at_context", inputs), rel=1e-9)
    expected = charts.latency_vs_batch.data(**inputs).attrs["marks"]["crossing_batch"]
    unread = 1 - rs.value("fetched_weight_bytes", inputs, batch_size=1e6) / rs.value("model_bytes", inputs)
    assert expected == pytest.approx(board * (1 - unread), rel=1e-9)
    assert 0 < unread < 2e-3  # the input table


# --------------------------------------------------------------------------------------------------- C3, cost vs batch


def test_cost_vs_batch_is_the_normalised_hyperbola() -> None:
    ax = charts.cost_vs_batch()
    batch, cost = points(ax, "cost_per_token")
    floor = points(ax, "compute_cost")[1]
    assert np.ptp(floor) == pytest.approx(0, abs=1e-12 * floor[0])
    assert cost / floor == pytest.approx(np.maximum(0.437 + 2400 / batch, 1), rel=2e-3)
    assert points(ax, "kv_fetch_cost")[1] / floor == pytest.approx(0.437, rel=5e-3)
    assert points(ax, "weight_fetch_cost")[1] * batch == pytest.approx(2400 * floor[0], rel=1e-9)
    assert point(ax, "crossing")[0] == pytest.approx(point(charts.latency_vs_batch(), "crossing")[0])
    assert points(ax, "floor")[1] == pytest.approx(floor[0], rel=1e-9)


def test_cost_vs_batch_marks_one_sequence_and_the_fast_mode() -> None:
    ax = charts.cost_vs_batch()
    floor = points(ax, "floor")[1][0]
    alone, cost = point(ax, "alone")
    assert alone == 1
    assert cost / floor == pytest.approx(2400, rel=5e-3)
    assert "2,400 × the floor" in words(ax)
    assert "floor $0.0231/Mtok" in words(ax)
    at, price = point(ax, "fast")
    assert at < point(ax, "crossing")[0] / 6
    assert price / floor == pytest.approx(6, rel=1e-6)


def test_cost_vs_batch_of_the_rack_of_the_lecture() -> None:
    rack: dict[str, Any] = {"model": "DeepSeek-V3 (lecture)", "hardware": "BW72 (lecture)", "prices": "lecture"}
    rack |= {"context_length": "10k"}
    marks = charts.cost_vs_batch.data(**rack).attrs["marks"]
    assert marks["lone_cost"] == pytest.approx(24.3e-6, rel=5e-3)
    assert marks["floor"] == pytest.approx(0.004568e-6, rel=5e-3)
    assert marks["crossing_batch"] == pytest.approx(7127, rel=5e-3)
    assert "$24.3/Mtok" in words(charts.cost_vs_batch(**rack))


def test_the_floor_is_the_cost_in_a_batch_without_end() -> None:
    table = charts.cost_vs_batch.data(**DEEPSEEK, chip_price="$3/h", context_length="32k")
    marks = table.attrs["marks"]
    assert marks["floor"] == pytest.approx(table["kv_fetch_cost"].iloc[0], rel=1e-6)
    assert marks["lone_cost"] / marks["floor"] == pytest.approx(marks["batch_of_one_penalty"], rel=1e-6)


# --------------------------------------------------------------------------------------------------- C4, train schedule


def test_train_schedule_is_the_lectures() -> None:
    ax = charts.train_schedule()
    trains = patches(ax, "train")
    assert [box.get_width() for box in trains] == pytest.approx([0.02] * 5)
    starts = [box.get_x() for box in trains]
    assert np.diff(starts) == pytest.approx(0.02)  # back to back
    fills = [text.get_text() for text in ax.texts if str(text.get_gid()).startswith("fill")]
    assert "full" in fills
    assert "half empty" in fills
    assert {"waits 20 ms", "rides 20 ms", "40 ms in all"} <= {text.get_text() for text in ax.texts}
    missed, _ = point(ax, "just missed")
    assert any(abs(missed - start) < 1e-12 for start in starts)
    marks = charts.train_schedule.data().attrs["marks"]
    assert marks["just_missed_time"] == pytest.approx(rs.value("interval_max_latency", batch_interval="20 ms"))


@pytest.mark.parametrize(("batch_slots", "trains", "load"), [(6, 5, 0.7), (4, 3, 0.5), (20, 4, 0.6)])
def test_train_schedule_follows_its_parameters(batch_slots: int, trains: int, load: float) -> None:
    ax = charts.train_schedule(batch_slots=batch_slots, trains=trains, load=load, seed=1)
    runs = rs.schedules.train(batch_slots=batch_slots, trains=trains, load=load, period="20 ms", seed=1)
    assert len(patches(ax, "train")) == trains
    assert len(patches(ax, "taken")) == runs["boarded"].sum()
    assert len(patches(ax, "taken")) + len(patches(ax, "free")) == batch_slots * trains
    boarding = [artist for artist in ax.get_lines() if artist.get_gid() == "boarding"]
    assert len(boarding) == runs["boarded"].sum()
    departures = set(runs["departure"])
    assert {float(artist.get_xdata()[1]) for artist in boarding} <= departures


def test_train_schedule_takes_its_period_from_chips_and_policies() -> None:
    table = charts.train_schedule.data(hardware="H100")
    drain = rs.value("hbm_drain_time", hardware="H100")
    assert table.attrs["marks"]["just_missed_time"] == pytest.approx(2 * drain)
    idle: dict[str, Any] = {"policy": "idle", "arrival_rate": 400, "fixed_pass_time": "14 ms"}
    table = charts.train_schedule.data(**idle, pass_time_per_sequence="0.3 ms", batch_slots=20)
    assert (table["end"] - table["departure"]).min() > 0.014
    crowded = charts.train_schedule(load=3, seed=1)
    assert "just missed" not in [artist.get_label() for artist in crowded.get_lines()]
    assert "in all" not in words(crowded)


@pytest.mark.parametrize(
    ("inputs", "error", "message"),
    [
        ({"perod": 1}, UnknownName, "unknown input of train_schedule 'perod'; did you mean 'period'"),
        ({"period": 1, "hbm_capcity": 1}, UnknownName, "'hbm_capcity'; did you mean 'hbm_capacity'"),
        ({"policy": "threshold", "thresold": 3}, UnknownName, "'thresold'; did you mean 'threshold'"),
        ({"period": 1, "hardware": "H100"}, IneffectiveInput, "'hardware' has no effect: period is given"),
        ({"policy": "idle", "hbm_capacity": 1}, IneffectiveInput, "no effect: policy='idle' has no period"),
    ],
)
def test_train_schedule_refuses_what_it_does_not_take(inputs: dict[str, Any], error: type, message: str) -> None:
    with pytest.raises(error, match=message):
        charts.train_schedule(**inputs)


def test_train_schedule_draws_many_seats_as_bars() -> None:
    ax = charts.train_schedule(batch_slots=2000, load=0.9, seed=2)
    widths = [
        boarded.get_width() / free.get_width()
        for boarded, free in zip(patches(ax, "taken"), patches(ax, "free"), strict=True)
    ]
    runs = rs.schedules.train(batch_slots=2000, trains=5, load=0.9, period="20 ms", seed=2)
    assert widths == pytest.approx((runs["boarded"] / 2000).tolist())


# --------------------------------------------------------------------------------------------------- C5, routed scaling


def test_routed_scaling_meets_the_dense_model_where_the_law_says() -> None:
    ax = charts.routed_scaling()
    sizes = ["15M", "25M", "55M", "130M", "370M", "870M", "1.3B"]
    experts, loss = points(ax, "370M")
    assert (experts[0], experts[-1]) == pytest.approx((1, 512))
    ends = [points(ax, size)[1] for size in sizes]
    assert all((above > below).all() for above, below in itertools.pairwise(ends))
    dense = points(ax, "dense")[1][0]
    assert dense == pytest.approx(2.2374, rel=1e-4)
    assert dense == pytest.approx(points(ax, "1.3B")[1][0], rel=1e-9)
    at, height = point(ax, "match 3.7e+08")
    assert at == pytest.approx(54.5, rel=5e-3)
    assert height == dense
    assert np.interp(math.log(at), np.log(experts), loss) == pytest.approx(dense, rel=1e-4)
    read, low = point(ax, "read")
    assert read == 64
    assert low == pytest.approx(2.2282, rel=1e-4)
    assert "54.5 experts\nthe lecture reads 64" in words(ax)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    ticks = [tick.get_text() for tick in ax.get_xticklabels()]
    assert ticks == [str(2**k) for k in range(10)]


def test_routed_scaling_of_other_sizes_and_coefficients() -> None:
    ax = charts.routed_scaling(active_parameters=[5e6, 55e6], experts=[1, 16, 128, 512])
    assert points(ax, "5M")[0].tolist() == [1, 16, 128, 512]
    assert point(ax, "match 5e+06")[0] == pytest.approx(
        rs.value("matching_experts", active_parameters=5e6, matched_dense_parameters=55e6)
    )
    hashed = charts.routed_scaling.data(active_parameters="37G", routing_intercept=1.157)
    plain = charts.routed_scaling.data(active_parameters="37G")
    assert (hashed["routed_loss"] > plain["routed_loss"]).all()


# ----------------------------------------------------------------------------------------------------------- C31, C32


def test_roofline_has_slope_ridge_and_roof() -> None:
    chips = ["A100-80", "H100", "B200", "TPU v5e", "MI300X"]
    ax = charts.roofline()
    for chip in chips:
        ask: dict[str, Any] = {"hardware": chip, "compute_format": "bf16"}
        x, y = points(ax, chip)
        ridge, roof = point(ax, f"ridge {chip}")
        assert ridge == pytest.approx(rs.value("ridge_point", ask))
        assert roof == pytest.approx(rs.value("peak_flops", ask))
        assert y == pytest.approx(np.minimum(roof, x * rs.value("hbm_bandwidth", ask)), rel=1e-12)
        assert f"{chip}: {ridge:,.0f}" in words(ax)
    assert "FLOP/B" in ax.get_xlabel()


def test_roofline_of_one_chip_of_formats_and_of_numbers() -> None:
    for one in ("H100", ["H100"]):
        table = charts.roofline.data(hardware=one, compute_format="fp8")
        assert table.attrs["marks"]["ridge_point H100"] == pytest.approx(1979e12 / 3.35e12)
    custom = charts.roofline(peak_flops="1 PFLOP/s", hbm_bandwidth="2 TB/s", arithmetic_intensity=[1, 1000])
    assert points(custom, "this chip")[1].tolist() == [2e12, 1e15]
    each = charts.roofline.data(hardware=["H100", "A100-80"], weight_format=["fp8", "bf16"]).attrs["marks"]
    assert each["peak_flops H100"] == 1979e12
    assert each["peak_flops A100-80"] == 312e12
    unpacked = charts.roofline.data(hardware="H100", weight_format="fp8", compute_format="bf16")
    assert unpacked["attainable_flops"].max() == 989e12
    slow = charts.roofline.data(hardware="H100", compute_format="bf16", compute_efficiency=0.5)
    assert slow.attrs["marks"]["ridge_point H100"] == pytest.approx(0.5 * 989 / 3.35)
    assert slow["attainable_flops"].max() == pytest.approx(0.5 * 989e12)


# as the specification of the lecture tabulates them: balance, drain in ms
TABULATED = {
    "A100-40": (201, 25.7),
    "A100-80": (153, 39.2),
    "H100": (295, 23.9),
    "H200": (206, 29.4),
    "B200 (lecture)": (281, 24.0),
    "GB200": (313, 23.2),
    "GB300": (469, 36.0),
    "Rubin (lecture)": (438, 14.4),
    "TPU v5e (lecture)": (240, 19.5),
    "TPU v5p": (166, 34.4),
    "TPU v6e (lecture)": (560, 19.5),
    "TPU 7x": (313, 26.1),
    "MI300X": (247, 36.2),
}


def test_machine_balance_shows_both_constants_per_chip() -> None:
    ax = charts.machine_balance()
    balance_panel, drain_panel = ax.child_axes
    balance, position = points(balance_panel, "balance_tokens")
    drain, _ = points(drain_panel, "hbm_drain_time")
    assert balance == pytest.approx([a for a, _ in TABULATED.values()], rel=5e-3)
    assert 1e3 * drain == pytest.approx([d for _, d in TABULATED.values()], rel=5e-3)
    names = [tick.get_text() for tick in balance_panel.get_yticklabels()]
    assert len(names) == len(position) == len(TABULATED)
    assert names[2] == "H100, FP8"
    assert points(balance_panel, "claimed balance_tokens")[0].tolist() == [300, 300]
    assert points(drain_panel, "claimed hbm_drain_time")[0].tolist() == [0.02, 0.02]
    assert all(isinstance(stems, collections.LineCollection) for stems in balance_panel.collections)


def test_machine_balance_of_other_chips() -> None:
    ax = charts.machine_balance(hardware=["H100", "GB300"], weight_format="fp8")
    assert points(ax.child_axes[0], "balance_tokens")[0] == pytest.approx([295.4, 312.5], rel=1e-3)
    one = charts.machine_balance.data(hardware="H200", weight_format="bf16")
    assert one["balance_tokens"].tolist() == pytest.approx([206], rel=5e-3)


# ------------------------------------------------------------------------------------------------------- C33, fast mode


def test_fast_mode_has_its_limits() -> None:
    ax = charts.fast_mode()
    speed, price = points(ax, "curve 0")
    assert point(ax, "point 0") == (2.5, 6)
    assert point(ax, "default") == (1, 1)
    assert np.interp(2.5, speed, price) == pytest.approx(6, rel=5e-3)
    assert np.interp(1, speed, price) == pytest.approx(1, rel=5e-3)
    assert points(ax, "fastest 0")[0][0] == pytest.approx(2.8)
    assert points(ax, "lowest 0")[1][0] == pytest.approx(0.643, rel=1e-3)
    assert speed.max() < 2.8
    assert price.min() > 0.643
    assert (np.diff(price) > 0).all()
    assert "never beyond 2.8 ×" in words(ax)
    assert "never below 0.643" in words(ax)


@pytest.mark.parametrize(
    ("price", "speed", "fastest", "lowest"), [(2, 2.5, 4, 0.75), (1 / 4.5, 0.5, 8 / 7, 1 / 8), (6, 2.5, 2.8, 1.8 / 2.8)]
)
def test_fast_mode_of_other_tariffs(price: float, speed: float, fastest: float, lowest: float) -> None:
    marks = charts.fast_mode.data(price_factor=price, speed_factor=speed).attrs["marks"]
    assert marks["fastest_speed_factor_0"] == pytest.approx(fastest)
    assert marks["lowest_price_factor_0"] == pytest.approx(lowest)


def test_fast_mode_compares_tariffs() -> None:
    ax = charts.fast_mode(price_factor=[6, 2], speed_factor=2.5)
    assert [points(ax, f"fastest {k}")[0][0] for k in (0, 1)] == pytest.approx([2.8, 4])
    assert line(ax, "curve 0").get_linestyle() != line(ax, "curve 1").get_linestyle()
    table = charts.fast_mode.data(price_factor=[6, 2], speed_factor=2.5, asked_speed_factor=[0.5, 1, 2])
    assert table.loc[("2 × the price, 2.5 × the speed", 1), "price_factor_at_speed"] == pytest.approx(1)


def test_dir_lists_the_charts_and_how_to_find_them() -> None:
    assert dir(charts) == sorted([*(chart.name for chart in charts.all()), "Chart", "all", "find"])
    assert charts.find("C2") is charts.latency_vs_batch


# ----------------------------------------------------------------------------------------------------------- helpers


def test_labels_are_moved_apart_no_more_than_needed() -> None:
    assert _apart([10, 50, 90], 12, 0, 100) == [10, 50, 90]
    assert _apart([50, 50], 10, 0, 100) == [45, 55]
    assert _apart([1, 2, 50], 10, 0, 100) == pytest.approx([0, 10, 50], abs=4)
    crowded = _apart([99, 99, 99], 10, 0, 100)
    assert crowded[-1] <= 100
    assert np.diff(crowded) == pytest.approx(10)


@pytest.mark.parametrize(
    ("name", "inputs", "limit"),
    [
        ("latency_vs_batch", {"context_length": 8000, "batch_size": range(1, 600, 7)}, "memory_limited_batch"),
        (
            "cost_vs_batch",
            {"context_length": 8000, "batch_size": [1, 2, 8, 64, 256, 1500], "chip_price": "$2/hour"},
            "memory_limited_batch",
        ),
        (
            "cost_vs_context",
            {
                "batch_size": 640, "context_length": range(0, 6000, 100), "chip_price": "$2/hour",
                "price_margin": 0.25, "long_context_premium": 1.5,
            },
            "full_memory_context",
        ),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_hatched(name: str, inputs: dict[str, Any], limit: str) -> None:
    draw = getattr(charts, name)
    requested = {"model": "Llama-3.1-70B", "hardware": "HGX H100", **inputs}
    ax = draw(**requested)
    (area,) = [patch for patch in ax.patches if patch.get_label() == "does not fit"]
    axis = "batch_size" if limit == "memory_limited_batch" else "context_length"
    known = {key: x for key, x in requested.items() if key in ("model", "hardware", "context_length", "batch_size")}
    end = rs.value(limit, Settled({key: x for key, x in known.items() if key != axis}))
    points = np.array(requested[axis])
    assert points[points < end].max() <= area.get_x() <= points[points > end].min()
    assert area.get_x() + area.get_width() == pytest.approx(max(requested[axis]))
    assert area.get_hatch() == "////"
    assert "does not fit" in [text.get_text() for text in ax.texts]
    pyplot.close(ax.figure)
    roomy = draw(**{**requested, "hbm_capacity": "2 TB"})
    assert not [patch for patch in roomy.patches if patch.get_label() == "does not fit"]
    pyplot.close(roomy.figure)
