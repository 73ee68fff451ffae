"""Chapter 1: passes depart like trains."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate._base.messages import unknown
from roofslate.display import style
from roofslate.errors import IneffectiveInput
from roofslate.evaluation.value import value
from roofslate.grid.read import Settled
from roofslate.plotting.chart import chart, filled, note
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries
from roofslate.simulation import schedules

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["train_schedule"]

_MOST_SEATS, _MOST_LINES = 24, 80

_SIMULATED = (
    "load",
    "arrival_rate",
    "period",
    "policy",
    "fixed_pass_time",
    "pass_time_per_sequence",
    "threshold",
    "timeout",
)


def _train_schedule(*, batch_slots: float = 6, trains: int = 5, seed: int = 309, **inputs: Any) -> pd.DataFrame:
    simulated = {name: inputs.pop(name) for name in _SIMULATED if name in inputs}
    _check_names(inputs, simulated)
    if "arrival_rate" not in simulated:
        simulated.setdefault("load", 0.7)
    if simulated.get("policy", "interval") == "interval" and "period" not in simulated:
        if "batch_interval" not in inputs:
            inputs = filled(inputs, {"": {"model": "lecture"}})
        note(["batch_interval"])
        simulated["period"] = value("batch_interval", Settled(inputs))
    # one train more than is drawn, for a request that misses the last but one
    table = schedules.train_timetable(batch_slots=batch_slots, trains=trains + 1, seed=seed, **simulated)
    runs = schedules.train(batch_slots=batch_slots, trains=trains + 1, seed=seed, **simulated)
    free = ((runs["left_behind"] == 0) & (runs["boarded"].shift(-1) < batch_slots)).to_numpy()
    marks = {"batch_slots": float(batch_slots)}
    if free[:-2].any():  # a train that leaves nobody behind, and room on the next
        missed = int(free[:-2].argmax())
        start, board, out = runs["departure"][missed], runs["departure"][missed + 1], runs["end"][missed + 1]
        times = {"": start, "_wait": board - start, "_ride": out - board, "_time": out - start}
        marks |= {f"just_missed{name}": float(x) for name, x in times.items()}
    table.attrs["marks"] = marks
    table.attrs["units"] |= {"batch_slots": "sequence", **{name: "s" for name in marks if name.startswith("just")}}
    table.attrs["trains"] = runs.iloc[:trains].reset_index().to_dict("records")
    return table


def _check_names(inputs: Mapping[str, Any], simulated: Mapping[str, Any]) -> None:
    """Reject unknown inputs, and inputs that only an overridden period uses."""
    known = [*PRESETS, *entries()]
    for name in inputs:
        if name not in known:
            raise unknown("input of train_schedule", name, ["batch_slots", "trains", "seed", *_SIMULATED, *known])
        if "period" in simulated:
            raise IneffectiveInput(f"{name!r} has no effect: period is given, which would follow from it")
        if simulated.get("policy", "interval") != "interval":
            raise IneffectiveInput(f"{name!r} has no effect: policy={simulated['policy']!r} has no period")


@chart(
    "C4",
    _train_schedule,
    title="Requests and departures at a fixed interval, five passes",
    subject="Requests and departures at a fixed interval",
    paragraph=(
        "Passes leave like trains, one as the other ends, with whoever is on the platform. The capacity of a pass is "
        "its seats. A train that is not full still leaves. A request that has just missed one waits "
        "{just_missed_wait} for the next and rides {just_missed_ride}. Its total is at worst {just_missed_time}, as "
        "long as no train is overfull."
    ),
    inputs=(
        "batch_slots",
        "trains",
        "seed",
    ),
    size=(6.5, 3.7),
)
def train_schedule(ax: Axes, table: pd.DataFrame) -> None:
    """Timetable of passes, with the wait of a request that has just missed one.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    batch_slots : int
        Sequences that a pass has room for.
    trains : int
        Passes to draw.
    seed : int
        Of the arrivals.
    **inputs
        Of `rs.schedules.train`: `load` or `arrival_rate`, `period`, `policy`; the period also follows from
        `batch_interval` or from a preset, as the time to read the whole memory.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.patches import Rectangle

    marks, trains = table.attrs["marks"], table.attrs["trains"]
    batch_slots = int(marks["batch_slots"])
    blue, paper = style.COMPUTE["color"], "#EAF1F7"
    low, high = 1.0, 2.0
    for k, train in enumerate(trains):
        start, end, boarded = train["departure"], train["end"], int(train["boarded"])
        width = end - start
        ax.add_patch(
            Rectangle((start, low), width, high - low, facecolor=paper, edgecolor=style.INK, linewidth=1.2, gid="train")
        )
        if batch_slots <= _MOST_SEATS:
            rows = 1 if batch_slots <= 4 else 2 if batch_slots <= 12 else 3
            columns = -(-batch_slots // rows)
            for seat in range(batch_slots):
                x = start + width * (0.08 + 0.84 * (seat // rows) / columns)
                y = low + 0.36 + 0.56 * (seat % rows) / rows
                occupied = seat < boarded
                ax.add_patch(
                    Rectangle(
                        (x, y),
                        0.74 * width / columns,
                        0.46 / rows,
                        facecolor=blue if occupied else "white",
                        edgecolor=blue,
                        linewidth=0.8,
                        gid="taken" if occupied else "free",
                    )
                )
        else:
            for share, look, gid in ((1.0, "white", "free"), (boarded / batch_slots, blue, "taken")):
                box = Rectangle(
                    (start + 0.08 * width, low + 0.42),
                    0.84 * width * share,
                    0.42,
                    facecolor=look,
                    edgecolor=blue,
                    gid=gid,
                )
                ax.add_patch(box)
        fill = f"{boarded:,} of {batch_slots:,}"
        word = {batch_slots: "full", 0: "empty", batch_slots / 2: "half empty"}.get(boarded, fill)
        ax.text(start + width / 2, low + 0.17, word, ha="center", va="center", fontsize=8.5, gid=f"fill {k}")
    drawn = table[table["train"] < len(trains)]
    arrivals = drawn["arrival"].to_numpy()
    platform = [2.75] * arrivals.size
    if len(drawn) <= _MOST_LINES:
        thin: dict[str, Any] = {"color": style.NOTE, "linewidth": 0.7, "linestyle": "-", "zorder": 1}
        for arrival, departure in zip(arrivals, drawn["departure"].to_numpy(), strict=True):
            ax.plot([arrival, departure], [2.75, high], gid="boarding", **thin)
        ax.plot(
            arrivals,
            platform,
            "o",
            color=blue,
            markersize=4,
            label="arrivals",
            clip_on=False,
        )
    else:
        ax.plot(arrivals, platform, "|", color=blue, markersize=6, label="arrivals")
    origin = min(float(drawn["arrival"].min()) if len(drawn) else 0.0, 0.0)
    ax.text(origin, 2.95, "requests arrive", fontsize=9, color=blue, va="bottom")
    if "just_missed" in marks:
        _just_missed(ax, marks)
    last = trains[-1]["end"]
    ax.set(xlim=(origin, last + 0.01 * (last - origin)), ylim=(0, 3.3), xlabel="time")
    if len(trains) <= 12:
        ax.set_xticks([*(float(train["departure"]) for train in trains), float(last)])
    style.scale_ticks(ax.xaxis, "s")
    ax.yaxis.set_visible(False)
    ax.spines["left"].set_visible(False)


def _just_missed(ax: Axes, marks: dict[str, float]) -> None:
    red, y = style.RED, 0.55
    total, wait, ride = (style.text_of(marks[f"just_missed_{name}"], "s") for name in ("time", "wait", "ride"))
    start = marks["just_missed"]
    board, out = start + marks["just_missed_wait"], start + marks["just_missed_time"]
    note: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": 9, "color": red}
    ax.plot(start, y, "X", color=red, markersize=8, label="just missed", clip_on=False)
    ax.annotate("just\nmissed", (start, y), xytext=(-8, 0), ha="right", **note)
    style.bracket(ax, start, board, y, f"waits {wait}", color=red)
    style.bracket(ax, board, out, y, f"rides {ride}", color=red)
    ax.plot([out, out], [y - 0.13, y + 0.13], color=red, linewidth=1, linestyle="-")
    ax.annotate(f"{total} in all", (out, y), xytext=(8, 0), weight="bold", **note)
