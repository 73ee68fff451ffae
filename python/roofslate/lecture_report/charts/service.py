"""Chapter 1: latencies of a service by arrival rate, and the cost of a day."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import AxisError, ValueRangeError
from roofslate.plotting.chart import chart, dataset, filled, number, numbers, tabulated
from roofslate.plotting.findings import finding

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["day_cost", "hit_rate_vs_capacity", "latency_vs_rate", "replicas_vs_promise"]

_SCENARIO = "DeepSeek-V3 on HGX H200"
_SERVICE: dict[str, dict[str, Any]] = {
    "model": {"model": "DeepSeek-V3", "hardware": "HGX H200", "calibration": "serving"},
    "prices": {"chip_price": "3 USD/h"},
    "": {
        "chips": 8, "tensor_parallel": 8, "input_tokens": 2000.0, "output_tokens": 500.0, "input_cv": 1.0,
        "output_cv": 0.8,
    },
}  # fmt: skip
_LINES = {"time_to_first_token_p50": "p50", "time_to_first_token_p90": "p90", "time_to_first_token_p99": "p99"}
_LOADS = (0.02, 0.97)
_POINTS = 120
_HOURS = 24
_KNEE = 2.0  # of the percentile at the least load


def _latency_vs_rate(*, time_to_first_token_target: Any = 2.0, **inputs: Any) -> pd.DataFrame:
    import numpy as np

    if "arrival_rate" in inputs:
        raise AxisError("latency_vs_rate: 'arrival_rate' is its axis, from nothing to the most that replicas bear")
    service = filled(inputs, _SERVICE, scenario=_SCENARIO)
    promise = number("time_to_first_token_target", time_to_first_token_target=time_to_first_token_target)
    most = number("max_arrival_rate", **service, arrival_rate=1e-3)
    rates = np.linspace(*_LOADS, _POINTS) * most
    table = tabulated(
        dataset([*_LINES, "service_load"], **service, arrival_rate=rates), "arrival_rate", "latency_vs_rate"
    )
    tail = table["time_to_first_token_p99"].to_numpy()

    def reaches(level: float) -> float:
        above = np.flatnonzero(tail > level)
        if not len(above) or above[0] == 0:
            return float("inf") if not len(above) else 0.0
        k = int(above[0])
        share = np.log(level / tail[k - 1]) / np.log(tail[k] / tail[k - 1])
        return float(rates[k - 1] + share * (rates[k] - rates[k - 1]))

    table.attrs["marks"] = {
        "max_arrival_rate": most,
        "time_to_first_token_target": promise,
        "knee_rate": reaches(_KNEE * tail[0]),
        "promised_rate": reaches(promise),
    }
    rate = "sequence/s"
    table.attrs["units"] |= {"max_arrival_rate": rate, "time_to_first_token_target": "s"}
    table.attrs["units"] |= {"knee_rate": rate, "promised_rate": rate}
    return table


@chart(
    "C39",
    _latency_vs_rate,
    title="Time to first token by arrival rate, three percentiles",
    subject="Time to first token by arrival rate",
    paragraph=(
        "Half of the requests hardly notice the load. The slowest of a hundred do. Their time to first token has "
        "doubled at {knee_rate:2}, and breaks a promise of {time_to_first_token_target} at {promised_rate:2}. The "
        "limit of a replica is {max_arrival_rate:2}."
    ),
    inputs=("time_to_first_token_target", "input_tokens", "output_tokens", "input_cv", "output_cv"),
    size=(6.5, 4.2),
)
def latency_vs_rate(ax: Axes, table: pd.DataFrame) -> None:
    """Percentiles of the time to first token by arrival rate, with the knee and a promise.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    time_to_first_token_target : float or str, optional
        The promise, in seconds.
    **inputs
        Of `time_to_first_token_p99`, such as `model` and `hardware`. `arrival_rate` is the axis.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy as np

    marks = table.attrs["marks"]
    rates = table.index.to_numpy()
    ax.set(yscale="log", xlim=(0, rates[-1]), xlabel="arrival rate (requests/s)", ylabel="time to first token")
    ends = []
    for (name, label), look in zip(_LINES.items(), style.styles(len(_LINES)), strict=True):
        y = table[name].to_numpy()
        ax.plot(rates, y, label=label, linewidth=1.9, color=look["color"], linestyle=look["linestyle"])
        finite = np.flatnonzero(np.isfinite(y))
        if finite.size:
            ends.append((rates[-1], y[finite[-1]], label, look["color"]))
    tail = table["time_to_first_token_p99"].to_numpy()
    promise = marks["time_to_first_token_target"]
    known = table[list(_LINES)].to_numpy()
    known = known[np.isfinite(known)]
    low, high = (known.min(), known.max()) if known.size else (promise, promise)
    ax.set_ylim(0.7 * min(low, promise), 1.4 * max(high, promise))
    ax.plot(rates[[0, -1]], [promise, promise], color=style.NOTE, linewidth=0.9, linestyle="--", label="promise")
    ax.annotate(
        f"promise: {style.text_of(promise, 's')}",
        (rates[0], promise),
        xytext=(4, 4),
        textcoords="offset points",
        fontsize=9,
        color=style.NOTE,
    )
    for mark, marker, text, to in (
        ("knee_rate", "o", "knee: p99 twice idle", (0.2, 0.55)),
        ("promised_rate", "s", "promise broken", (0.42, 0.9)),
    ):
        x = marks[mark]
        if rates[0] < x < rates[-1]:
            height = float(np.exp(np.interp(x, rates, np.log(tail))))
            ax.plot(x, height, marker, color="white", markeredgecolor=style.INK, markersize=7, zorder=3, label=mark)
            said = f"{text}\n{style.text_of(x, '1')} requests/s"
            style.callout(ax, said, (x, height), to, ha="center", bbox=style.HALO)
    style.label_ends(ax, ends)
    style.end_ticks(ax.xaxis)
    style.scale_ticks(ax.yaxis, "s")


def _check_load(chart: str, name: str, load: float) -> None:
    """Refuse a load that no number of replicas serves."""
    if not math.isfinite(load):
        raise ValueRangeError(
            f"{chart}: {name} is {load}: expected a load that some number of replicas serves. A replica needs memory "
            "for the model and a sequence: try more chips."
        )


def _day_cost(*, peak_to_mean_load: Any = 1.5, target_load: Any = 0.6, **inputs: Any) -> pd.DataFrame:
    import numpy as np

    service = filled({"arrival_rate": 50.0, **inputs}, _SERVICE, scenario=_SCENARIO)
    mean = number("arrival_rate", arrival_rate=service.pop("arrival_rate"))
    day = {"peak_to_mean_load": peak_to_mean_load, "target_load": target_load}
    marks = numbers(["load_rise", "fixed_fleet_cost_factor", "following_fleet_cost_factor"], **day)
    peak = number("peak_to_mean_load", peak_to_mean_load=peak_to_mean_load)
    load = number("target_load", target_load=target_load)
    hours = np.arange(_HOURS)
    swing = np.cos(2 * np.pi * (hours - 15) / _HOURS)
    rates = mean * np.where(swing > 0, 1 + (peak - 1) * swing, 1 + (marks["load_rise"] - peak + 1) * swing)
    table = tabulated(
        dataset(["service_load", "replica_price"], **{**service, "replicas": 1, "arrival_rate": rates}),
        "arrival_rate",
        "day_cost",
    ).reset_index()
    _check_load("day_cost", "service_load", float(table["service_load"].max()))
    table.index.name = "hour"
    table["following_replicas"] = np.ceil(table["service_load"] / load)
    table["fixed_replicas"] = table["following_replicas"].max()
    for fleet in ("following", "fixed"):
        table[f"{fleet}_cost"] = table[f"{fleet}_replicas"] * table["replica_price"]
    answer = number("output_tokens", output_tokens=service["output_tokens"])
    tokens = table["arrival_rate"].sum() * answer
    marks |= {f"{fleet}_token_cost": float(table[f"{fleet}_cost"].sum() / tokens) for fleet in ("following", "fixed")}
    marks["saving"] = 1 - marks["following_token_cost"] / marks["fixed_token_cost"]
    table.attrs["marks"] = marks
    table.attrs["units"] = {
        "arrival_rate": "sequence/s", "service_load": "1", "replica_price": "USD/s",
        **dict.fromkeys(("following_replicas", "fixed_replicas"), "1"),
        **dict.fromkeys(("following_cost", "fixed_cost"), "USD/s"),
        **dict.fromkeys(("following_token_cost", "fixed_token_cost"), "USD/token"),
        **dict.fromkeys(("load_rise", "fixed_fleet_cost_factor", "following_fleet_cost_factor", "saving"), "1"),
    }  # fmt: skip
    return table


@chart(
    "C40",
    _day_cost,
    title="Fleet cost by hour of the day, fixed and following fleet",
    subject="Fleet cost by hour of the day",
    paragraph=(
        "A day of 24 rates. A fleet fixed for the peak costs {fixed_token_cost} for an output token. One that follows "
        "the hours costs {following_token_cost}, a share of {saving:2} less, with starts of replicas excluded."
    ),
    inputs=(
        "peak_to_mean_load",
        "target_load",
        "arrival_rate",
        "chip_price",
        "input_tokens",
        "output_tokens",
        "input_cv",
        "output_cv",
    ),
    size=(6.5, 4.0),
)
def day_cost(ax: Axes, table: pd.DataFrame) -> None:
    """Cost of a fixed and of a following fleet by hour of the day.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    peak_to_mean_load : float, optional
        Peak relative to mean rate.
    target_load : float, optional
        Load that each fleet is kept at.
    **inputs
        Of `service_load` and `replica_price`. `arrival_rate` is the mean of the day.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy as np

    marks = table.attrs["marks"]
    edges = np.arange(_HOURS + 1)
    looks = {"fixed": (style.RED, "-"), "following": ("#0072B2", "-")}
    ends, costs = [], {}
    for fleet, (color, dashes) in looks.items():
        hourly = 3600 * table[f"{fleet}_cost"].to_numpy()
        costs[fleet] = hourly
        ax.stairs(hourly, edges, color=color, linewidth=1.9, linestyle=dashes, label=fleet, baseline=None)
        cost = style.text_of(marks[f"{fleet}_token_cost"], "USD/token")
        ends.append((float(edges[-1]), float(hourly[-1]), f"{fleet}\n{cost}", color))
    ax.fill_between(
        np.repeat(edges, 2)[1:-1],
        np.repeat(costs["following"], 2),
        np.repeat(costs["fixed"], 2),
        color=style.RED,
        alpha=0.1,
        linewidth=0,
    )
    ax.set(xlim=(0, _HOURS), ylim=(0, 1.12 * costs["fixed"].max()), xlabel="hour of the day")
    ax.set_ylabel("fleet cost (USD per hour)")
    ax.set_xticks(range(0, _HOURS + 1, 6))
    ax.text(
        4.5,
        (costs["fixed"][4] + costs["following"][4]) / 2,
        f"{100 * marks['saving']:.0f}% saved",
        ha="center",
        va="center",
        fontsize=9,
    )
    style.label_ends(ax, ends)


_MOST_REPLICAS = 256


def _replicas_vs_promise(**inputs: Any) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    for name in ("replicas", "time_to_first_token_target"):
        if name in inputs:
            raise AxisError(f"replicas_vs_promise: {name!r} is an axis of it")
    service = filled({"arrival_rate": 50.0, **inputs}, _SERVICE, scenario=_SCENARIO)
    least = numbers(["replicas_for_load"], **service)
    _check_load("replicas_vs_promise", "replicas_for_load", least["replicas_for_load"])
    fleets = np.arange(1, _MOST_REPLICAS + 1)
    latencies = tabulated(dataset(list(_LINES), **service, replicas=fleets), "replicas", "replicas_vs_promise")
    promises = np.geomspace(0.05, 10, 160)
    columns = {}
    for name in _LINES:
        meets = latencies[name].to_numpy()[None, :] <= promises[:, None]
        columns[f"{name}_replicas"] = np.where(meets.any(axis=1), fleets[meets.argmax(axis=1)], np.nan)
    table = pd.DataFrame(columns, index=pd.Index(promises, name="time_to_first_token_target"))
    tail = table["time_to_first_token_p99_replicas"]
    finite = tail.dropna()
    enough = promises[tail.to_numpy() == least["replicas_for_load"]]
    table.attrs["marks"] = {
        **least,
        "shortest_promise": float(finite.index[0]) if len(finite) else math.inf,
        "shortest_replicas": float(finite.iloc[0]) if len(finite) else math.inf,
        "free_promise": float(enough[0]) if len(enough) else math.inf,
    }
    table.attrs["units"] = {
        **dict.fromkeys(columns, "1"),
        "replicas_for_load": "1",
        "shortest_replicas": "1",
        "shortest_promise": "s",
        "free_promise": "s",
    }
    table.attrs["units"]["time_to_first_token_target"] = "s"
    return table


@chart(
    "C41",
    _replicas_vs_promise,
    title="Replicas by promised time to first token, 50 requests/s",
    subject="Replicas by promised time to first token",
    paragraph=(
        "For the load, {replicas_for_load} replicas are enough. The shortest promise that can be kept to the first "
        "token of 99 of 100 requests is {shortest_promise:2} and needs {shortest_replicas}, a promise of a second "
        "hardly more than the load."
    ),
    inputs=("input_tokens", "output_tokens", "input_cv", "output_cv", "arrival_rate"),
    size=(6.5, 4.0),
)
def replicas_vs_promise(ax: Axes, table: pd.DataFrame) -> None:
    """Least replicas that keep a promised time to first token, for three percentiles.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `time_to_first_token_p99`, with `arrival_rate` at the whole service. Replicas and promise are the axes.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    promises = table.index.to_numpy()
    ax.set(xscale="log", yscale="log", xlim=(promises[0], promises[-1]))
    ax.set(xlabel="promised time to first token", ylabel="replicas")
    least = marks["replicas_for_load"]
    ax.plot(promises[[0, -1]], [least, least], color=style.NOTE, linewidth=0.9, linestyle="--", label="load")
    ax.annotate(
        f"load: {least:.0f}",
        (promises[0], least),
        xytext=(4, -4),
        textcoords="offset points",
        va="top",
        fontsize=9,
        color=style.NOTE,
    )
    ends = []
    for (name, label), look in zip(_LINES.items(), style.styles(len(_LINES)), strict=True):
        y = table[f"{name}_replicas"]
        line = {"color": look["color"], "linestyle": look["linestyle"]}
        ax.step(promises, y, where="post", label=label, linewidth=1.9, **line)
        known = y.dropna()
        if len(known):
            ends.append((float(known.index[0]), float(known.iloc[0]), label, look["color"]))
    for start, top, label, color in ends:
        ax.annotate(label, (start, top), xytext=(4, 4), textcoords="offset points", fontsize=9, color=color)
    high = float(table.max(numeric_only=True).max())
    ax.set_ylim(0.7 * least, 1.6 * max(high, least))
    free = marks["free_promise"]
    finding(ax, table, "p99 in {free_promise:2} or more\nneeds no more than the load", at=(free, least), to=(0.62, 0.4))
    style.scale_ticks(ax.xaxis, "s")
    style.scale_ticks(ax.yaxis, "1")


_AGENT: dict[str, dict[str, Any]] = {
    "model": {"model": "DeepSeek-V3"},
    "": {
        "turns": 30.0, "first_prompt_tokens": 8000.0, "turn_input_tokens": 700.0, "output_tokens": 400.0,
        "session_rate": 0.5, "pause_time": 60.0, "pause_cv": 2.0,
    },
}  # fmt: skip


def _hit_rate_vs_capacity(**inputs: Any) -> pd.DataFrame:
    import numpy as np

    agent = filled(inputs, _AGENT, scenario="an agent on DeepSeek-V3")
    rooms = agent.pop("prefix_cache_capacity", np.geomspace(1e11, 2e13, 120))
    rates = ["prefix_hit_rate", "request_hit_rate"]
    hits = dataset(rates, **agent, prefix_cache_capacity=rooms)
    ceiling = numbers(["prefix_hit_ceiling"], **agent)
    table = tabulated(hits, "prefix_cache_capacity", "hit_rate_vs_capacity", **ceiling)
    half = ceiling["prefix_hit_ceiling"] / 2
    half_capacity = float(np.interp(half, table["prefix_hit_rate"], np.asarray(table.index, dtype=float)))
    table.attrs["marks"]["half_capacity"] = half_capacity
    table.attrs["units"]["half_capacity"] = "byte"
    return table


@chart(
    "C42",
    _hit_rate_vs_capacity,
    title="Prefix cache hits by capacity, agent sessions",
    subject="Prefix cache hits by capacity",
    paragraph=(
        "An unlimited prefix cache would hold {prefix_hit_ceiling:3} of the prompt tokens. Half of these hits need "
        "{half_capacity:2}. A session must stay through the pauses of its user or tool."
    ),
    inputs=(
        "turns",
        "first_prompt_tokens",
        "turn_input_tokens",
        "output_tokens",
        "session_rate",
        "pause_time",
        "pause_cv",
    ),
    chapter=6,
    size=(6.5, 4.0),
)
def hit_rate_vs_capacity(ax: Axes, table: pd.DataFrame) -> None:
    """Shares of prompt tokens and of requests that a prefix cache serves, by its capacity.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `prefix_hit_rate`: a model, sessions and their pauses. `prefix_cache_capacity` is the axis.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    rooms = table.index.to_numpy(dtype=float)
    ax.set(xscale="log", xlim=(rooms[0], rooms[-1]), ylim=(0, 1.04))
    ax.set(xlabel="capacity of the prefix cache", ylabel="share from the prefix cache")
    ceiling = marks["prefix_hit_ceiling"]
    ax.plot(rooms[[0, -1]], [ceiling, ceiling], color=style.NOTE, linewidth=0.9, linestyle="--", label="ceiling")
    ax.annotate(
        f"unlimited prefix cache: {100 * ceiling:.0f}% of tokens",
        (rooms[0], ceiling),
        xytext=(4, -4),
        textcoords="offset points",
        va="top",
        fontsize=9,
        color=style.NOTE,
    )
    labels = {"prefix_hit_rate": "of tokens", "request_hit_rate": "of requests"}
    for (name, label), look in zip(labels.items(), style.styles(2), strict=True):
        ax.plot(rooms, table[name], label=label, linewidth=1.9, color=look["color"], linestyle=look["linestyle"])
    ax.plot(marks["half_capacity"], ceiling / 2, "o", color="white", markeredgecolor=style.INK, label="half", zorder=3)
    said = f"half of it: {style.text_of(marks['half_capacity'], 'byte')}"
    style.callout(ax, said, (marks["half_capacity"], ceiling / 2), (0.5, 0.25))
    ax.legend(loc="lower right", frameon=False, fontsize=9)
    style.scale_ticks(ax.xaxis, "byte")
