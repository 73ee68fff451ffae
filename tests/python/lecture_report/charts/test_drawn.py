"""Charts as drawn: texts apart, readable, and true to their tables."""

from __future__ import annotations

import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pytest
import roofslate as rs
from roofslate import charts
from roofslate.display import dark, style
from support import drawn
from support.lazy import Lazy

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from roofslate.plotting.chart import Chart

mpl = Lazy("matplotlib")
pyplot = Lazy("matplotlib.pyplot")

NAMES = [chart.name for chart in charts.all()]


def _assert_apart(chart: Chart, inputs: dict[str, Any]) -> None:
    with drawn.drawn(chart, **inputs) as ax:
        assert drawn.overlaps(ax.figure) == [], inputs
        assert drawn.cut_texts(ax.figure) == [], inputs


@pytest.mark.parametrize("name", NAMES)
def test_texts_stay_apart_with_other_inputs(name: str) -> None:
    chart = charts.find(name)
    for inputs in drawn.random_inputs(chart, 2):
        _assert_apart(chart, inputs)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
def test_texts_stay_apart_with_twenty_other_inputs(name: str) -> None:
    chart = charts.find(name)
    for inputs in drawn.random_inputs(chart, 20, seed=1):
        _assert_apart(chart, inputs)


@pytest.mark.parametrize("name", NAMES)
def test_letters_are_readable_in_a_column(name: str) -> None:
    with drawn.drawn(charts.find(name)) as ax:
        assert drawn.small_texts(ax.figure) == []
        assert ax.figure.get_figwidth() <= drawn.COLUMN


@pytest.mark.parametrize("ground", ["white", "black"])
@pytest.mark.parametrize("name", NAMES)
def test_texts_and_lines_have_contrast(name: str, ground: str) -> None:
    with drawn.drawn(charts.find(name), ground=ground) as ax:
        assert dark.is_dark(ax.figure.get_facecolor()) is (ground == "black")
        assert drawn.faint_texts(ax.figure) == []
        assert drawn.faint_lines(ax.figure) == []


def test_dark_colors_keep_their_contrast_and_hue() -> None:
    for color in (*style.PALETTE, style.NOTE, style.RED, style.KV["color"], style.MEMORY["color"]):
        mapped = dark.darkened(color)
        # white on the dark ground reaches no more
        assert drawn.contrast(mapped, dark.BACKGROUND) >= min(drawn.contrast(color, "white"), 17) * 0.98
    assert mpl.colors.to_hex(dark.darkened("white")) == dark.BACKGROUND.lower()
    red, _, blue = dark.darkened("#0072B2")[:3]
    assert blue > red + 0.3


def test_given_axes_follow_their_own_ground() -> None:
    with pyplot.style.context("dark_background"):
        figure, ax = pyplot.subplots()
    before = ax.spines["left"].get_edgecolor()
    charts.latency_vs_batch(ax)
    figure.canvas.draw()
    assert drawn.faint_texts(figure) == []
    assert ax.spines["left"].get_edgecolor() == before
    pyplot.close(figure)


# A matrix for each kind of color blindness: Machado, Oliveira and Fernandes 2009, severity 1 (unverified).
_SEEN = {
    "all cones": np.eye(3),
    "deuteranopia": [[0.367322, 0.860646, -0.227968], [0.280085, 0.672501, 0.047413], [-0.01182, 0.04294, 0.968881]],
    "protanopia": [[0.152286, 1.052583, -0.204868], [0.114503, 0.786281, 0.099216], [-0.003882, -0.048116, 1.051998]],
    "tritanopia": [[1.255528, -0.076749, -0.178779], [-0.078411, 0.930809, 0.147602], [0.004733, 0.691367, 0.3039]],
}


def _lab(linear: Any) -> Any:
    to_xyz = np.array([[0.4124, 0.3576, 0.1805], [0.2126, 0.7152, 0.0722], [0.0193, 0.1192, 0.9505]])
    x, y, z = np.cbrt(to_xyz @ linear / np.array([0.9505, 1.0, 1.089]))
    return np.array([116 * y - 16, 500 * (x - y), 200 * (y - z)])


@pytest.mark.parametrize("seen", _SEEN)
def test_colors_of_lines_differ_to_all_readers(seen: str) -> None:
    seen_as = [_lab(np.clip(np.array(_SEEN[seen]) @ dark._linear(color), 0, 1)) for color in style.PALETTE]
    distances = [np.linalg.norm(a - b) for k, a in enumerate(seen_as) for b in seen_as[k + 1 :]]
    assert min(distances) > 20  # CIELAB: 2 is just noticeable
    assert all(drawn.contrast(color, "white") >= drawn.LEAST_CONTRAST for color in style.PALETTE)


# -------------------------------------------------------------------------------------------------------------- truth

_PREFIX = {"k": 1e3, "M": 1e6, "G": 1e9, "B": 1e9, "T": 1e12, "P": 1e15, "m": 1e-3, "µ": 1e-6, "n": 1e-9}
_TIMES = {"s": 1.0, "ms": 1e-3, "µs": 1e-6, "ns": 1e-9, "min": 60.0, "h": 3600.0, "d": 86400.0}


def _number(text: str) -> float:
    """Number in a text, such as ``"87.4k"``, ``"1.39 ms"`` or ``"$55.6/Mtok"``."""
    match = re.search(r"(-?\d[\d,]*\.?\d*(?:e[+-]?\d+)?) ?([A-Za-zµ]*)", text)
    assert match is not None, text
    value, unit = float(match[1].replace(",", "")), match[2]
    if "/Mtok" in text:
        return value / 1e6
    return value * _TIMES.get(unit, _PREFIX.get(unit[:1], 1.0) if unit != "min" else 60.0)


def _is_near(text: str, value: float, tolerance: float = 0.006) -> bool:
    return bool(np.isclose(_number(text), value, rtol=tolerance))


def _changes_at(table: Any, text: str, first: str, second: str | float) -> bool:
    """One column is the larger one below a number of the axis, the other above it."""
    at, axis = _number(text), table.index.to_numpy(dtype=float)
    other = table[second].to_numpy() if isinstance(second, str) else second
    gap = table[first].to_numpy() - other
    slack = 1e-9 * table[first].abs().max()
    return bool((gap[axis < 0.995 * at] >= -slack).all() and (gap[axis > 1.005 * at] <= slack).all())


def _at(table: Any, column: str, text: str) -> float:
    """Value of a column at a number of the axis."""
    return float(np.interp(_number(text), table.index.to_numpy(dtype=float), table[column].to_numpy(dtype=float)))


def _crosses(table: Any, column: str, text: str, level: float) -> bool:
    """A rising column reaches a level within 1% of a number of the axis."""
    axis, values = table.index.to_numpy(dtype=float), table[column].to_numpy(dtype=float)
    low, high = np.interp(_number(text) * np.array([0.99, 1.01]), axis, values)
    return bool(low <= level <= high)


def _mark(table: Any, name: str) -> float:
    return float(table.attrs["marks"][name])


def _gains_above(table: Any, batch: float) -> bool:
    """Some draft is faster than none above a batch."""
    return bool((table["speedup"][table.index.get_level_values("batch_size") > batch] >= 1).any())


def _replicas(table: Any) -> Any:
    return table["time_to_first_token_p99_replicas"]


def _waits(percent: str, slots: str) -> float:
    count = float(slots.replace(",", ""))
    return rs.value("waiting_probability", slot_utilization=float(percent) / 100, batch_slots=count)


def _once(table: Any) -> Any:
    return table["retrieve_cost"] + table["hold_cost"]


# Sentences of each chart, with a check of its table.
_CLAIMS: dict[str, list[tuple[str, Any]]] = {
    "latency_vs_batch": [
        (
            r"latency lower bound\n(.+)",
            lambda t, x: _is_near(x, t["pass_time"].min(), 0.01) or _number(x) < t["pass_time"].min(),
        ),
        (
            r"memory-bound below\n(.+) sequences,\ncompute-bound above",
            lambda t, x: _changes_at(t, x, "memory_time", "compute_time"),
        ),
        (
            r"bound by the weight fetch below\n(.+) sequences,\ncompute-bound above",
            lambda t, x: _changes_at(t, x, "weight_fetch_time", "compute_time"),
        ),
        (r"memory-bound at every batch drawn", lambda t: (t["memory_time"] > t["compute_time"]).all()),
        (
            r"bound by the weight fetch at every batch drawn",
            lambda t: (t["weight_fetch_time"] > t["compute_time"]).all(),
        ),
    ],
    "cost_vs_batch": [
        (
            r"one sequence: (.+),\n(.+) × the floor",
            lambda t, x, y: (
                _is_near(x, _mark(t, "lone_cost")) and _is_near(y, _mark(t, "lone_cost") / _mark(t, "floor"), 0.02)
            ),
        ),
        (
            r"(.+) × the crossing's price,\n(.+) × its speed",
            lambda t, x, y: (
                _is_near(x, _mark(t, "fast_cost") / _mark(t, "crossing_cost"), 0.02)
                and _is_near(y, _mark(t, "speed_factor"))
            ),
        ),
    ],
    "cost_vs_pass_length": [
        (r"compute-bound above (.+) tokens", lambda t, x: _changes_at(t, x, "memory_compute_ratio", 1.0)),
    ],
    "retrieve_or_hold": [
        (
            r"held (.+) and read once, (.+) costs least: (.+)",
            lambda t, _, tier, x: _once(t)[tier] == _once(t).min() and _is_near(x, 1e12 * _once(t).min()),
        ),
    ],
    "coverage_vs_batch": [
        (r"(\d+)%: (.+) sequences", lambda t, share, x: abs(_at(t, "expert_coverage", x) - float(share) / 100) < 0.03),
    ],
    "speculation_vs_batch": [
        (
            r"no draft pays above\n(.+) sequences",
            lambda t, x: _is_near(x, _mark(t, "last_gain"), 0.06) and not _gains_above(t, _mark(t, "last_gain")),
        ),
    ],
    "energy_vs_batch": [
        (r"least: (.+?)(?:\n.*)?", lambda t, x: _is_near(x.replace("J", ""), t["energy_per_token"].min()) or "m" in x)
    ],
    "latency_vs_rate": [
        (
            r"knee: p99 twice idle\n(.+) requests/s",
            lambda t, x: _crosses(t, "time_to_first_token_p99", x, 2 * t["time_to_first_token_p99"].iloc[0]),
        ),
        (
            r"promise broken\n(.+) requests/s",
            lambda t, x: _crosses(t, "time_to_first_token_p99", x, _mark(t, "time_to_first_token_target")),
        ),
    ],
    "replicas_vs_promise": [
        (
            r"p99 in (.+) or more\nneeds no more than the load",
            lambda t, x: (
                _is_near(x, _mark(t, "free_promise"), 0.06)
                and (_replicas(t)[_mark(t, "free_promise") :] == _mark(t, "replicas_for_load")).all()
                and (_replicas(t)[: 0.999 * _mark(t, "free_promise")].dropna() > _mark(t, "replicas_for_load")).all()
            ),
        ),
    ],
    "imbalance_vs_tokens": [
        (
            r"fullest of 64 chips: (.+) \N{MULTIPLICATION SIGN} as placed,\n(.+) \N{MULTIPLICATION SIGN} rebalanced",
            lambda t, *two: all(
                _is_near(x, t["expert_imbalance"].loc[f"64 chips, {case}"].iloc[-1], 0.006)
                for x, case in zip(two, ("as placed", "rebalanced"), strict=True)
            ),
        ),
    ],
    "dispatch_vs_rate": [
        (
            r"dispatch when idle: (.+) at the lowest rate,\n(.+) at the highest",
            lambda t, *two: all(
                _is_near(x, t["idle_dispatch_time"].dropna().iloc[k], 0.006) for x, k in zip(two, (0, -1), strict=True)
            ),
        ),
    ],
    "waiting_vs_load": [
        (
            r"10% wait at a load of\n(.+)% of (.+) slots,\n(.+)% of (.+) slots",
            lambda _, *four: all(_waits(four[k], four[k + 1]) == pytest.approx(0.1, abs=0.01) for k in (0, 2)),
        ),
    ],
    "avalanche": [(r"round (\d+): every bit flips\n45% or more", lambda t, x: t.loc[int(x), "least"] > 0.45)],
}
_LABELS = {"hardware_generations"}  # findings that name a point


def _findings(ax: Axes) -> list[str]:
    axes = [ax, *ax.child_axes]
    return [text.get_text() for one in axes for text in one.texts if text.get_gid() == "finding" and text.get_text()]


def _assert_true(chart: Chart, inputs: dict[str, Any]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        table, ax = chart.data(**inputs), chart(**inputs)
    try:
        assert " ".join(ax.get_title(loc="left").split()) == chart.headline(inputs)
        for sentence in _findings(ax):
            matches = [(re.fullmatch(pattern, sentence), check) for pattern, check in _CLAIMS.get(chart.name, [])]
            for match, check in matches:
                if match is not None:
                    assert check(table, *match.groups()), (sentence, inputs)
            if chart.name in _CLAIMS:
                assert any(match is not None for match, _ in matches), f"no check of {sentence!r}"
            elif chart.name not in _LABELS:
                _assert_numbers_are_of_the_table(sentence, table, inputs)
    finally:
        pyplot.close(ax.figure)


def _assert_numbers_are_of_the_table(sentence: str, table: Any, inputs: dict[str, Any]) -> None:
    """Find every number of a sentence among marks, inputs and extremes of columns."""
    columns = table.select_dtypes("number")
    values = [*table.attrs["marks"].values(), *inputs.values()]
    values += [x for name in columns for x in (columns[name].min(), columns[name].max())]
    values += [x for level in range(table.index.nlevels) for x in table.index.get_level_values(level).unique()]
    known = [abs(float(x)) for x in values if isinstance(x, (int, float, np.number)) and np.isfinite(x) and x != 0]
    known += [x / factor for x in known for factor in (60, 3600, 86400)]
    leading = np.array([x / 10 ** np.floor(np.log10(x)) for x in known])
    for written in re.findall(r"\d[\d,]*\.?\d*", sentence):
        x = float(written.rstrip(",").replace(",", ""))
        if x in (0, 1, 2):
            continue
        digit = 0.5 * 10.0 ** -max(len(written.replace(",", "").replace(".", "").lstrip("0")) - 1, 0)
        lead = x / 10 ** np.floor(np.log10(x))
        near = np.minimum(np.abs(leading - lead), np.abs(leading * 10 - lead))
        assert near.min() <= 1.1 * digit, f"{written} of {sentence!r} is not in the table, {inputs}"


@pytest.mark.parametrize("name", NAMES)
def test_subjects_hold_for_all_inputs(name: str) -> None:
    assert not re.search(r"\d", charts.find(name).subject)


@pytest.mark.parametrize("name", NAMES)
def test_sentences_hold_at_five_random_inputs(name: str) -> None:
    chart = charts.find(name)
    for inputs in ({}, *drawn.random_inputs(chart, 5, seed=2)):
        _assert_true(chart, inputs)


@pytest.mark.long
@pytest.mark.parametrize("name", NAMES)
@pytest.mark.whole
def test_sentences_hold_at_two_hundred_random_inputs(name: str) -> None:
    chart = charts.find(name)
    for inputs in drawn.random_inputs(chart, 200, seed=3):
        _assert_true(chart, inputs)


def test_a_wrong_sentence_is_found() -> None:
    table = charts.latency_vs_batch.data()
    claims = dict(_CLAIMS["latency_vs_batch"])
    below = claims[r"memory-bound below\n(.+) sequences,\ncompute-bound above"]
    assert below(table, "4,264")
    assert not below(table, "3,000")
    with pytest.raises(AssertionError, match="is not in the table"):
        _assert_numbers_are_of_the_table("peak 813 GB", charts.activation_memory.data(), {})
