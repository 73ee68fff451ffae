"""Chapter 1: cost of a token, and price of speed."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import AxisError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled
from roofslate.lecture_report.charts.serving import (
    board,
    curves,
    fitting,
    hatched,
    memory_end,
    most_batches,
    overtaking_batch,
    rented,
    terms,
)
from roofslate.plotting.chart import chart, completed, dataset, datasets, note, number, tabulated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["cost_vs_batch", "fast_mode"]

_TERMS = ("compute", "kv_fetch", "weight_fetch", "memory")


def _cost_vs_batch(*, price_factor: float | None = None, **inputs: Any) -> pd.DataFrame:
    import numpy as np

    inputs = board(rented(inputs))
    if price_factor is None:
        price_factor = 6 if completed(inputs) else math.nan
    given = inputs.pop("batch_size", None)
    crossing = overtaking_batch(inputs)
    most = most_batches(inputs, crossing)
    if given is None:
        right = fitting(2.4 * most, inputs)
        points = np.union1d(np.geomspace(min(1.0, most / 1e3), right, 160), np.linspace(most / 100, most, 100))
        points = points[points <= right]
        given = np.union1d(points, [crossing]) if crossing < right else points
    times = dataset([*(f"{term}_time" for term in _TERMS), "cost_per_token"], batch_size=given, **inputs)
    # the cost of a pass that takes no longer than one of its terms
    for term in _TERMS:
        term_alone = {**inputs, "pass_time": times[f"{term}_time"], "batch_size": given}
        note(["cost_per_token"])
        times[f"{term}_cost"] = evaluate("cost_per_token", Settled(term_alone))
    costs = times[["cost_per_token", *(f"{term}_cost" for term in _TERMS)]]
    default = crossing if math.isfinite(crossing) else most
    at_default = {**inputs, "batch_size": default}
    marks = {
        "crossing_batch": crossing,
        "crossing_cost": number("cost_per_token", **at_default),
        "floor": number("cost_per_token", **{**inputs, "batch_size": 1e18}),
        "lone_cost": number("cost_per_token", **{**inputs, "batch_size": 1}),
        "batch_of_one_penalty": number("batch_of_one_penalty", **inputs),
        "price_factor": float(price_factor),
        "context_length": number("context_length", **inputs),
        "memory_end": memory_end("batch_size", given, inputs),
    }
    # speed for the same price factor when the default mode runs at the crossing
    ratio = number("batch_time_ratio_from_model", **at_default)
    marks["speed_factor"] = marks["fast_batch"] = marks["fast_cost"] = math.nan
    speed = 0.0
    if not math.isnan(price_factor):
        speed = number("speed_factor_at_price", paid_price_factor=price_factor, batch_time_ratio=ratio)
        marks["speed_factor"] = speed
    if price_factor > 1 and speed > 0:
        fast = default * number("batch_factor", price_factor=price_factor, speed_factor=speed)
        marks |= {"fast_batch": fast, "fast_cost": number("cost_per_token", **{**inputs, "batch_size": fast})}
    table = tabulated(costs, "batch_size", "cost_vs_batch", **marks)
    cost = dict.fromkeys(("crossing_cost", "floor", "lone_cost", "fast_cost"), "USD/token")
    table.attrs["units"] |= dict.fromkeys(("crossing_batch", "fast_batch", "memory_end"), "sequence") | cost
    return table


@chart(
    "C3",
    _cost_vs_batch,
    title="Decode cost per token by batch size, the board's rack",
    subject="Decode cost per token by batch size",
    paragraph=(
        "Cost per token is the rent for one pass divided by its generated tokens. Compute and KV-cache reads cost "
        "each token the same. The batch shares the weight read, a hyperbola. A lone sequence pays {lone_cost}, "
        "{batch_of_one_penalty:4} times the floor of {floor}, much, but not infinite. Above {crossing_batch:4} "
        "sequences a token gets no cheaper, so a slow mode has nothing left to sell. A fast mode is far to the left."
    ),
    inputs=(
        "price_factor",
        "active_parameters",
        "total_parameters",
        "bytes_per_weight",
        "kv_bytes_per_token",
        "peak_flops",
        "hbm_bandwidth",
        "chips",
        "context_length",
        "prices",
    ),
    size=(6.4, 4.3),
)
def cost_vs_batch(ax: Axes, table: pd.DataFrame) -> None:
    """Cost of a token by batch size, with shared terms and the floor.

    Both axes are logarithmic, so that a single sequence and a full replica fit into one picture. The inset has the
    linear axes of the board.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    price_factor : float, optional
        Price of a fast mode relative to the default mode, which runs at the crossing; 6 on the lecture's board,
        otherwise no fast mode is drawn unless it is given.
    **inputs
        Of `cost_per_token`. `batch_size` is the axis.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    batch = table.index.to_numpy()
    lines = terms("cost", marks["context_length"])
    floor, crossing = marks["floor"], marks["crossing_batch"]
    ax.set(xscale="log", yscale="log", xlabel=style.BATCH, ylabel="cost of a token")
    curves(ax, table, lines, "cost_per_token")
    top = 5 * table["cost_per_token"].max()
    ax.set(xlim=(batch[0], batch[-1]), ylim=(0.07 * floor, top))
    hatched(ax, marks["memory_end"], 0.47)
    shown = [(batch[-1], table[name].iloc[-1], text, style.INK) for name, (text, _) in lines.items()]
    style.label_ends(ax, [end for end in shown if 0.07 * floor < end[1] < top])
    style.scale_ticks(ax.xaxis, "sequence")
    style.scale_ticks(ax.yaxis, "USD/token")
    if batch[0] <= 1:
        lone, penalty = style.text_of(marks["lone_cost"], "USD/token"), marks["batch_of_one_penalty"]
        ax.plot(1, marks["lone_cost"], "o", color=style.INK, markersize=6, label="alone", clip_on=False)
        style.callout(
            ax,
            f"one sequence: {lone},\n{style.text_of(penalty, '1', 4)} × the floor",
            (1, marks["lone_cost"]),
            (0.09, 0.965),
            va="top",
        )
    if marks["fast_batch"] >= batch[0]:
        ax.plot(marks["fast_batch"], marks["fast_cost"], "D", color=style.RED, markersize=7, label="fast", zorder=3)
        text = f"{marks['price_factor']:g} × the crossing's price,\n{marks['speed_factor']:.3g} × its speed"
        point = (marks["fast_batch"], marks["fast_cost"])
        x, y = ax.transAxes.inverted().transform(ax.transData.transform(point))
        style.callout(ax, text, point, (min(x + 0.07, 0.66), min(y + 0.09, 0.44 if x > 0.2 else 0.9)), color=style.RED)
    if crossing <= batch[-1]:
        ax.plot(
            crossing, marks["crossing_cost"], "o", color=style.BOLD["color"], markersize=8, label="crossing", zorder=3
        )
    ax.plot(
        [batch[0], batch[-1]],
        [floor, floor],
        color=style.NOTE,
        linestyle=(0, (2, 2)),
        linewidth=0.9,
        zorder=1,
        label="floor",
    )
    ax.annotate(
        f"floor {style.text_of(floor, 'USD/token')}",
        (batch[0], floor),
        xytext=(5, -4),
        textcoords="offset points",
        va="top",
        fontsize=9,
        color=style.NOTE,
    )
    inset = ax.inset_axes((0.56, 0.55, 0.42, 0.36))
    curves(inset, table, lines, "cost_per_token", 0.7)
    right = 1.8 * crossing if math.isfinite(crossing) else batch[-1] / 3
    inset.set(xlim=(0, right), ylim=(0, 4.2 * floor), xticks=[0], yticks=[floor])
    hatched(inset, marks["memory_end"])
    inset.set_yticklabels(["floor"], fontsize=8)
    inset.set_title("the same on linear axes", fontsize=8, weight="normal", loc="center", pad=3)
    for side in ("top", "right"):
        inset.spines[side].set_visible(False)
    if crossing <= right:
        inset.plot(crossing, marks["crossing_cost"], "o", color=style.BOLD["color"], markersize=5)


def _fast_mode(*, price_factor: Any = 6, speed_factor: Any = 2.5, asked_speed_factor: Any = None) -> pd.DataFrame:
    import numpy as np

    prices, speeds = np.atleast_1d(price_factor), np.atleast_1d(speed_factor)
    if prices.ndim > 1 or speeds.ndim > 1 or (prices.size != speeds.size and 1 not in (prices.size, speeds.size)):
        sizes = f"got {prices.size} and {speeds.size} values"
        raise AxisError(f"price_factor and speed_factor must be one value each or lists of one length, {sizes}")
    prices, speeds = np.broadcast_arrays(prices, speeds)
    names = [f"{p:.3g} × the price, {v:.3g} × the speed" for p, v in zip(prices, speeds, strict=True)]
    cases = {name: {"price_factor": p, "speed_factor": v} for name, p, v in zip(names, prices, speeds, strict=True)}
    outputs = ["price_factor", "speed_factor", "batch_time_ratio", "fastest_speed_factor", "lowest_price_factor"]
    limits = datasets(outputs, "tariff", cases)
    if asked_speed_factor is None:
        fastest = float(limits["fastest_speed_factor"].max())
        near = 1 - np.geomspace(1e-3, 0.95, 60)  # the price climbs steeply near the end of each curve
        points = [end * near for end in limits["fastest_speed_factor"].to_numpy()]
        asked_speed_factor = np.unique(np.concatenate([np.linspace(0.02 * fastest, fastest, 120), *points]))
    along_curve = {name: {"asked_speed_factor": asked_speed_factor, **case} for name, case in cases.items()}
    curves = datasets(["price_factor_at_speed"], "tariff", along_curve)
    table = tabulated(curves, ["tariff", "asked_speed_factor"], "fast_mode")
    marks = {f"{name}_{k}": float(array[k]) for name, array in limits.data_vars.items() for k in range(len(names))}
    table.attrs["marks"] = marks
    table.attrs["units"] |= dict.fromkeys(marks, "1")
    return table


@chart(
    "C33",
    _fast_mode,
    title="Relative price by relative speed, 6 × the price, 2.5 × the speed",
    subject="Relative price by relative speed",
    paragraph=(
        "A published fast mode has {price_factor_0} times the price for {speed_factor_0} times the speed. It reveals "
        "the batch of the default mode, whose KV-cache reads take {batch_time_ratio_0} times as long as the weight "
        "reads. So no price buys more than {fastest_speed_factor_0} times the speed, and no patience a price below "
        "{lowest_price_factor_0} of the default's."
    ),
    inputs=(
        "price_factor",
        "speed_factor",
    ),
    size=(6.4, 4.0),
)
def fast_mode(ax: Axes, table: pd.DataFrame) -> None:
    """Price by speed of the modes implied by a published fast mode, relative to the default.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    price_factor, speed_factor : float or list of float
        The published mode; lists draw a curve for each.
    asked_speed_factor : array_like, optional
        The axis.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy as np

    marks = table.attrs["marks"]
    tariffs = table.index.unique("tariff")
    curves = [table.loc[name, "price_factor_at_speed"] for name in tariffs]
    speeds = table.index.unique("asked_speed_factor").to_numpy()
    most = max(20.0, *(2 * marks[f"price_factor_{k}"] for k in range(len(tariffs))))
    # a tariff below the line through the origin implies no lowest price
    lowest_prices = [marks[f"lowest_price_factor_{k}"] for k in range(len(tariffs))]
    least = 0.7 * min([x for x in lowest_prices if x > 0], default=0.3)
    ax.set(yscale="log", xlabel="speed relative to default", ylabel="price relative to default")
    right = 1.12 * float(np.max(speeds))
    alone = len(tariffs) == 1
    bottom = min(marks[f"lowest_price_factor_{k}"] for k in range(len(tariffs)))
    ax.set(xlim=(0, right), ylim=(least, most))
    ax.plot(1, 1, "o", color=style.INK, markersize=7, zorder=3, label="default")
    style.callout(ax, "default", (1, 1), (1 / right + 0.03, np.log(1 / least) / np.log(most / least) - 0.07))
    for k, (curve, look) in enumerate(zip(curves, style.styles(len(tariffs)), strict=True)):
        finite = np.isfinite(curve.to_numpy())
        line = {"color": look["color"], "linestyle": look["linestyle"], "linewidth": 2.2}
        ax.plot(curve.index.to_numpy()[finite], curve.to_numpy()[finite], label=f"curve {k}", **line)
        price, speed = marks[f"price_factor_{k}"], marks[f"speed_factor_{k}"]
        fastest, lowest = marks[f"fastest_speed_factor_{k}"], marks[f"lowest_price_factor_{k}"]
        ax.plot(speed, price, look["marker"], color=look["color"], markersize=8, label=f"point {k}", zorder=3)
        on_left = k == 0 and speed > 1
        ax.annotate(
            f"{price:.3g} × the price\n{speed:.3g} × the speed",
            (speed, price),
            textcoords="offset points",
            fontsize=9,
            color=look["color"],
            xytext=(-8, 0) if on_left else (8, -4),
            ha="right" if on_left else "left",
            va="center" if on_left else "top",
            bbox=None if on_left else style.HALO,
        )
        ax.axvline(fastest, color=look["color"], linestyle=(0, (2, 2)), linewidth=0.9, label=f"fastest {k}")
        ax.annotate(
            f"never beyond {fastest:.3g} ×",
            (fastest, most),
            xytext=(4, -2),
            textcoords="offset points",
            rotation=90,
            va="top",
            fontsize=9,
            color=look["color"],
        )
        if lowest <= 0:
            continue
        ax.axhline(lowest, color=look["color"], linestyle=(0, (2, 2)), linewidth=0.9, label=f"lowest {k}")
        ax.annotate(
            f"never below {lowest:.3f}",
            (0 if alone else right, lowest),
            xytext=(5 if alone else -4, -3 if lowest == bottom else 3),
            textcoords="offset points",
            ha="left" if alone else "right",
            va="top" if lowest == bottom else "bottom",
            fontsize=9,
            color=look["color"],
        )
    ax.set_yticks([y for y in (0.1, 0.2, 0.5, 1, 2, 5, 10, 20, 50, 100) if least <= y <= most])
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:g} ×")
    ax.yaxis.minorticks_off()
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g} ×" if x else "0")
