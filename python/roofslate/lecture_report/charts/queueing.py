"""Chapter 1: departures of passes, and waits for a slot."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled
from roofslate.plotting.chart import chart, dataset, datasets, filled, number, record, tabulated
from roofslate.plotting.findings import finding
from roofslate.simulation import schedules

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["dispatch_vs_rate", "waiting_vs_load"]

_TRAINS = 300
_THRESHOLD = 300
_SIMULATED_POINTS = 19
_POLICIES = {
    "interval_mean_latency": "every interval",
    "idle_dispatch_time": "when idle",
    "threshold_time": "threshold or timeout",
}


def _dispatch_vs_rate(
    *,
    batch_interval: Any = 0.02,
    fixed_pass_time: Any = 0.014,
    pass_time_per_sequence: Any = 3e-6,
    batch_slots: float = 2000.0,
    threshold: int | None = None,
    timeout: float = 0.03,
    seed: int = 1,
) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    slots = number("batch_slots", batch_slots=batch_slots)
    if threshold is None:
        threshold = int(min(_THRESHOLD, slots))
        record({"threshold": threshold})
    period = number("batch_interval", batch_interval=batch_interval)
    passes = {
        name: number(name, **{name: x})
        for name, x in (("fixed_pass_time", fixed_pass_time), ("pass_time_per_sequence", pass_time_per_sequence))
    }
    most = float(evaluate("slot_rate", Settled({"batch_slots": slots, "slot_time": period})))
    rates = np.geomspace(most / 1000, most, 4 * (_SIMULATED_POINTS - 1) + 1)
    idle = dataset(["idle_dispatch_time"], arrival_rate=rates, **passes)
    batch: Any = evaluate("idle_dispatch_batch", Settled(passes), arrival_rate=rates)
    fits = batch.to_numpy() <= slots * (1 + 1e-9)
    table = pd.DataFrame(index=pd.Index(rates, name="arrival_rate"))
    table["interval_mean_latency"] = number("interval_mean_latency", batch_interval=period)
    table["idle_dispatch_time"] = np.where(fits, idle["idle_dispatch_time"].to_numpy(), np.nan)
    table["threshold_time"] = np.nan
    for rate in rates[fits][::4]:
        # at full load the queue is unlimited
        runs = schedules.train(
            batch_slots=slots,
            seed=seed,
            trains=_TRAINS,
            policy="threshold",
            arrival_rate=min(rate, 0.97 * rates[fits][-1]),
            threshold=threshold,
            timeout=timeout,
            **passes,
        )
        table.loc[rate, "threshold_time"] = (runs["mean_time"] * runs["boarded"]).sum() / runs["boarded"].sum()
    busiest = table["idle_dispatch_time"].dropna()
    if busiest.empty:
        raise ValueRangeError(
            f"fixed_pass_time={fixed_pass_time!r} and pass_time_per_sequence={pass_time_per_sequence!r} keep up with "
            f"no rate from {rates[0]:.3g} to {rates[-1]:.3g} requests per second: expected shorter passes or more slots"
        )
    marks = {
        "batch_slots": slots,
        "quiet_idle_time": float(table["idle_dispatch_time"].iloc[0]),
        "busy_idle_time": float(busiest.iloc[-1]),
        "interval_time": float(table["interval_mean_latency"].iloc[0]),
        "quiet_threshold_time": float(table["threshold_time"].iloc[0]),
    }
    table.attrs["marks"] = marks
    table.attrs["units"] = {
        "arrival_rate": "sequence/s",
        "batch_slots": "sequence",
        **dict.fromkeys(table.columns, "s"),
        **{name: "s" for name in marks if name.endswith("time")},
    }
    return table


@chart(
    "C47",
    _dispatch_vs_rate,
    title="Mean time to a token by arrival rate, three dispatch policies",
    subject="Mean time to a token by arrival rate",
    paragraph=(
        "By the clock a token takes {interval_time:3} on average at any rate that fits the {batch_slots:4} slots. A "
        "pass that departs as soon as the one before is done takes {quiet_idle_time:3} at a low rate, and only under "
        "full load {busy_idle_time:3}. Waiting for a threshold saves passes, not time. It takes "
        "{quiet_threshold_time:3} while few requests come."
    ),
    inputs=(
        "batch_interval",
        "fixed_pass_time",
        "pass_time_per_sequence",
        "batch_slots",
        "threshold",
        "timeout",
        "seed",
    ),
    size=(6.5, 4.0),
)
def dispatch_vs_rate(ax: Axes, table: pd.DataFrame) -> None:
    """Mean time from a request to its token by arrival rate, for three policies.

    Parameters
    ----------
    ax : Axes, optional
        Axes to draw into, in a new figure by default.
    batch_interval : float or str, optional
        Of the fixed interval, in seconds.
    fixed_pass_time, pass_time_per_sequence : float or str, optional
        A pass with B sequences takes the first plus B times the second, for the other two policies.
    batch_slots : float, optional
        Sequences that a pass has room for.
    threshold, timeout : int and float, optional
        A pass departs when so many wait, or the first of them for so long in seconds; simulated. The threshold is 300
        unless given, or the slots if they are fewer.
    seed : int, optional
        Of the simulated arrivals.

    Returns
    -------
    matplotlib.axes.Axes
    """
    rates = table.index.to_numpy(dtype=float)
    ax.set(xscale="log", xlim=(rates[0], rates[-1]), xlabel="arrival rate (requests/s)", ylabel="mean time to a token")
    ends = []
    for (name, label), look in zip(_POLICIES.items(), style.styles(len(_POLICIES)), strict=True):
        row = table[name].dropna()
        marker = "o" if name == "threshold_time" else None
        line = {"color": look["color"], "linestyle": look["linestyle"], "marker": marker, "markersize": 4}
        ax.plot(row.index.to_numpy(dtype=float), row.to_numpy(), label=name, linewidth=1.9, **line)
        ends.append((float(row.index[-1]), float(row.iloc[-1]), label, look["color"]))
    ax.set_ylim(0, 1.1 * float(table.max().max()))
    style.label_ends(ax, ends)
    words = "dispatch when idle: {quiet_idle_time:3} at the lowest rate,\n{busy_idle_time:3} at the highest"
    finding(ax, table, words, to=(0.05, 0.4))
    style.scale_ticks(ax.xaxis, "1")
    style.scale_ticks(ax.yaxis, "s")


_WAITING = 0.1  # share of requests that a finding is about
_SLOTS = (10.0, 100.0, 500.0, 2000.0)


def _waiting_vs_load(*, batch_slots: Any = _SLOTS, **inputs: Any) -> pd.DataFrame:
    import numpy as np

    inputs = filled(inputs, {})
    loads = inputs.pop("slot_utilization", None)
    loads = np.append(np.linspace(0.5, 0.98, 97), np.linspace(0.981, 0.999, 19)) if loads is None else loads
    counts = [number("batch_slots", batch_slots=float(count)) for count in np.ravel(batch_slots)]
    cases = {count: {**inputs, "batch_slots": count, "slot_utilization": loads} for count in counts}
    table = tabulated(
        datasets(["waiting_probability"], "batch_slots", cases), ["batch_slots", "slot_utilization"], "waiting_vs_load"
    )
    marks = {"marked_load": 0.95, "fewest_slots": counts[0], "most_slots": counts[-1]}
    for name in ("fewest", "most"):
        case = {"batch_slots": marks[f"{name}_slots"], "slot_utilization": marks["marked_load"]}
        marks[f"{name}_waiting"] = number("waiting_probability", **case)
        row = table.xs(marks[f"{name}_slots"], level="batch_slots")["waiting_probability"].to_numpy()
        starts = row[0] < _WAITING <= row[-1]
        marks[f"{name}_load"] = float(np.interp(_WAITING, row, np.ravel(loads))) if starts else math.inf
    table.attrs["marks"] = marks
    table.attrs["units"] |= {name: "sequence" if name.endswith("slots") else "1" for name in marks}
    return table


@chart(
    "C48",
    _waiting_vs_load,
    title="Waiting requests by load, four numbers of slots",
    subject="Waiting requests by load",
    paragraph=(
        "A sequence keeps its slot for its whole answer. With {fewest_slots} slots, a share of {fewest_waiting:2} of "
        "the requests waits at a load of {marked_load:2}, with {most_slots:4} slots {most_waiting:2}. Large replicas "
        "can run at a higher load."
    ),
    size=(6.5, 4.0),
)
def waiting_vs_load(ax: Axes, table: pd.DataFrame) -> None:
    """Share of waiting requests (Erlang C) by load, for several numbers of slots.

    Parameters
    ----------
    ax : Axes, optional
        Axes to draw into, in a new figure by default.
    batch_slots : array_like, optional
        A line each.
    slot_utilization : array_like, optional
        The axis.

    Returns
    -------
    matplotlib.axes.Axes
    """
    loads = table.index.unique("slot_utilization").to_numpy(dtype=float)
    counts = table.index.unique("batch_slots").to_numpy(dtype=float)
    ax.set(xlim=(loads[0], loads[-1]), ylim=(0, 1), xlabel="load (share of slots taken)", ylabel="requests that wait")
    for count, look in zip(counts, style.styles(len(counts)), strict=True):
        y = table.xs(count, level="batch_slots")["waiting_probability"].to_numpy()
        line = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 1.9}
        ax.plot(loads, y, label=f"{count:,.0f} slots", **line)
    ax.legend(loc="upper left", frameon=False, fontsize=9, handlelength=3.2)
    marks = table.attrs["marks"]
    ends = {f"{marks[f'{name}_slots']:,.0f} slots": marks[f"{name}_load"] for name in ("fewest", "most")}
    if all(map(math.isfinite, ends.values())):
        words = ",\n".join(f"{load:.1%} of {slots}" for slots, load in ends.items())
        finding(ax, table, f"{_WAITING:.0%} wait at a load of\n{words}", to=(0.05, 0.45))
    for axis in (ax.xaxis, ax.yaxis):
        axis.set_major_formatter(lambda share, _: f"{100 * share:.0f}%")
