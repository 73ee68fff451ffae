"""Chapter 6: cost of a context, and cost of decode relative to prefill."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled
from roofslate.lecture_report.charts.serving import board, hatched, memory_end, rented
from roofslate.plotting.chart import chart, completed, dataset, filled, first_reach, note, number, tabulated
from roofslate.presets.catalog import api_prices, models
from roofslate.presets.preset import Preset

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["cost_vs_context", "cost_vs_pass_length", "scenario"]

_PRICE: dict[str, Any] = {"color": "#00734F", "linestyle": (0, (5, 2)), "linewidth": 1.9}
_UNDER: dict[str, Any] = {"linestyle": "-", "linewidth": 1.4, "zorder": 1.8}  # gray except under the bold line
_OF_DECODE = (
    "balance_tokens",
    "balance_context",
    "batch_interval",
)  # results, which a preset states for its own machine


def scenario(inputs: dict[str, Any]) -> dict[str, Any]:
    """Complete inputs by the board's scenario, without stated results of a model."""
    given = inputs.get("model")
    if isinstance(given, str) and given in models:
        given = models[given]
    if isinstance(given, Preset) and "balance_context" in given.values:
        causes = {name: x for name, x in given.values.items() if name not in _OF_DECODE}
        inputs = {**causes, **{name: x for name, x in inputs.items() if name != "model"}}
    return board(inputs)


_FIGURE_PREMIUM = 1.54  # of the second tier in the lecture's figure; the price lists say 1.5


def _kink_cache() -> float:
    """KV cache per token that puts the board's crossover at the price threshold."""
    inputs = scenario({"long_context_threshold": api_prices["lecture"]["long_context_threshold"]})
    del inputs["kv_bytes_per_token"]
    batch = number("practical_batch", practical_margin=2, **inputs)
    return number("kv_bytes_from_kink", batch_size=batch, **inputs)


def _overtaking_context(rising: str, level: str, inputs: dict[str, Any]) -> float:
    """Least context at which one quantity reaches another, 0 if always, inf if never."""
    start = dataset([rising, level], context_length=0, **inputs)
    if float(start[rising]) >= float(start[level]):
        return 0.0
    if number("kv_bytes_per_token", **inputs) == 0:
        return math.inf
    balance = number("balance_context", **inputs)
    return first_reach(rising, level, "context_length", balance / 1e6, balance * 1e4, **inputs)


def _cost_vs_context(**inputs: Any) -> pd.DataFrame:
    import numpy as np

    given = inputs.pop("context_length", None)
    if completed(inputs):
        figure: dict[str, Any] = {"price_margin": 0.25}
        if "kv_bytes_per_token" not in inputs:
            figure["kv_bytes_per_token"] = _kink_cache()
        if not {"long_context_premium", "long_output_price"} & set(inputs):
            figure["long_context_premium"] = _FIGURE_PREMIUM
        inputs = filled(inputs, {"": figure})
    inputs = scenario(rented(inputs))
    inputs.pop("context_length", None)  # the axis
    if "batch_size" not in inputs:
        inputs["batch_size"] = number("practical_batch", **{"practical_margin": 2, **inputs})
    crossover = _overtaking_context("memory_time", "compute_time", inputs)
    break_even = _overtaking_context("cost_per_token", "long_cost_plus_price", inputs)
    threshold = crossover if 0 < crossover < math.inf else math.nan
    if "long_context_threshold" in inputs:
        threshold = number("long_context_threshold", **inputs)
    shown = [x for x in (crossover, threshold, break_even) if 0 < x < math.inf]
    if given is None:
        balance = number("balance_context", **inputs)
        right = max(1.2 * x for x in shown) if shown else 3 * balance if balance < math.inf else 1e6
        right = max(right, 3 * crossover) if crossover < math.inf else right
        given = np.union1d(np.linspace(0, right, 201), shown)
    times = dataset(["compute_time", "memory_time", "cost_per_token"], context_length=given, **inputs)
    # the cost of a pass that takes no longer than one of its terms
    for term in ("compute", "memory"):
        term_alone = {**inputs, "pass_time": times[f"{term}_time"], "context_length": given}
        note(["cost_per_token"])
        times[f"{term}_cost"] = evaluate("cost_per_token", Settled(term_alone))
    free = {"context_length": 0, **inputs}
    marks = {
        "crossover_context": crossover,
        "long_context_threshold": threshold,
        "break_even": break_even,
        "compute_cost": number("recompute_cost", **free),
        "intercept_cost": number("cost_per_token", **{**free, "pass_time": number("memory_time", **free)}),
        "weight_fetch_ratio": number("memory_compute_ratio", **free),
        "price_margin": number("price_margin", **inputs),
        "long_context_premium": number("long_context_premium", **inputs),
        "cost_plus_price": number("cost_plus_price", **free),
        "long_cost_plus_price": number("long_cost_plus_price", **free),
        "kv_bytes_per_token": number("kv_bytes_per_token", **inputs),
        "batch_size": number("batch_size", **inputs),
        "memory_end": memory_end("context_length", given, inputs),
    }
    table = tabulated(times, "context_length", "cost_vs_context", **marks)
    first, second = marks["cost_plus_price"], marks["long_cost_plus_price"]
    table["price"] = np.where(table.index.to_numpy() > threshold, second, first)
    table.attrs["units"] |= dict.fromkeys(("compute_cost", "intercept_cost", "price"), "USD/token")
    table.attrs["units"] |= dict.fromkeys(("crossover_context", "break_even", "memory_end"), "token/sequence")
    return table


@chart(
    "C20",
    _cost_vs_context,
    title="Decode cost per token by context length, two price tiers",
    subject="Decode cost per token by context length",
    paragraph=(
        "Compute costs a token the same at any context. Memory starts with its share of the weights, "
        "{weight_fetch_ratio} of that, and grows with the KV cache of {kv_bytes_per_token}. Above "
        "{crossover_context:4} tokens memory is the slower clock. A provider has two prices, the second "
        "{long_context_premium} times the first and starting there. It earns on both tiers up to {break_even:3} "
        "tokens, and loses on every token beyond."
    ),
    inputs=(
        "active_parameters",
        "total_parameters",
        "bytes_per_weight",
        "peak_flops",
        "hbm_bandwidth",
        "chips",
        "batch_size",
        "kv_bytes_per_token",
        "prices",
        "price_margin",
        "long_context_premium",
    ),
    chapter=6,
    size=(6.5, 4.2),
)
def cost_vs_context(ax: Axes, table: pd.DataFrame) -> None:
    """Cost of a token by context length, with a two-tier price.

    Without inputs the picture has the lecture's proportions. The weights take half of the compute time, and the KV
    cache takes the other half at 200k.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    price_margin : float
        Of the first tier relative to the compute cost.
    **inputs
        Of `cost_per_token`; `context_length` is the axis, `batch_size` twice the balance batch unless given.
        `long_context_threshold` is where the second tier starts, at the crossover unless given;
        `long_context_premium`, or `output_price` and `long_output_price`, what it asks.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    context = table.index.to_numpy()
    right, cost = float(context[-1]), table["cost_per_token"]
    first, second = marks["cost_plus_price"], marks["long_cost_plus_price"]
    threshold = marks["long_context_threshold"]
    top = 1.18 * max(cost.max(), second if threshold < right else first)
    memory = {**style.MEMORY, **_UNDER}
    ax.fill_between(
        context,
        table["price"],
        cost,
        where=(cost > table["price"]).to_numpy(),
        facecolor="none",
        edgecolor="#C9A38C",
        hatch="////",
        linewidth=0,
        label="loss",
    )
    ax.plot(context, table["compute_cost"], label="compute_cost", **style.COMPUTE)
    ax.plot(context, table["memory_cost"], label="memory_cost", **memory)
    ax.plot(context, cost, label="cost_per_token", **{**style.BOLD, "zorder": 1.9})
    if threshold < right:
        ax.plot([0, threshold, threshold, right], [first, first, second, second], label="price", **_PRICE)
    else:
        ax.plot([0, right], [first, first], label="price", **_PRICE)
    ax.set(xlim=(0, right), ylim=(0, top), xlabel="context (tokens)", ylabel="cost of a token: its time × the rent")
    hatched(ax, marks["memory_end"], 0.93)
    at_end = float(cost.iloc[-1])
    bold = "cost = memory" if math.isclose(at_end, float(table["memory_cost"].iloc[-1]), rel_tol=1e-9) else "cost"
    bold = "cost = compute" if math.isclose(at_end, float(table["compute_cost"].iloc[-1]), rel_tol=1e-9) else bold
    ends = [(right, at_end, bold, style.INK)]
    if bold != "cost = compute":
        ends.append((right, float(table["compute_cost"].iloc[-1]), "compute", style.COMPUTE["color"]))
    if bold != "cost = memory":
        ends.append((right, float(table["memory_cost"].iloc[-1]), "memory", style.NOTE))
    ends.append((right, second if threshold < right else first, "price", _PRICE["color"]))
    style.label_ends(ax, ends)
    style.scale_ticks(ax.xaxis, "token/sequence")
    style.scale_ticks(ax.yaxis, "USD/token")
    _annotate_costs(ax, table, right, top)


def _points(ax: Axes, stretch: float) -> float:
    """Length of a stretch of the horizontal axis, in points."""
    return stretch / ax.get_xlim()[1] * ax.get_window_extent().width / ax.figure.dpi * 72


def _annotate_costs(ax: Axes, table: pd.DataFrame, right: float, top: float) -> None:
    marks = table.attrs["marks"]
    first, second = marks["cost_plus_price"], marks["long_cost_plus_price"]
    threshold, crossover, break_even = (
        marks[name] for name in ("long_context_threshold", "crossover_context", "break_even")
    )
    x_limit = ax.get_xlim()[1]
    note: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9}
    tier: dict[str, Any] = {**note, "xytext": (4, 5), "va": "bottom", "color": _PRICE["color"]}
    roomy = not threshold < right or _points(ax, threshold) > 78
    ax.annotate(f"{1 + marks['price_margin']:.3g} ×{' compute' if roomy else ''}", (0, first), **tier)
    if threshold < right:
        roomy = _points(ax, min(break_even, right) - threshold) > 125
        text = f"{marks['long_context_premium']:.3g} ×{' the first tier' if roomy else ''}"
        ax.annotate(text, (threshold, second), **tier)
    weights, level = marks["weight_fetch_ratio"], marks["intercept_cost"]
    tight = 0 < crossover < x_limit and _points(ax, crossover) < 78
    if 0.03 * top < level < 0.9 * top:
        below = weights <= 1
        ax.annotate(
            f"weights alone:{' ' if tight else chr(10)}{weights:.3g} × compute",
            (crossover if tight else 0, level),
            xytext=(7, 0 if tight else -6 if below else 8),
            va="center" if tight else "top" if below else "bottom",
            color=style.NOTE,
            **note,
        )
        ax.plot(0, level, "s", color=style.NOTE, markersize=5, label="intercept", clip_on=False, zorder=3)
    if 0 < crossover <= right:
        y = marks["compute_cost"]
        ax.plot([crossover, crossover], [0, y], color=style.INK, linestyle=(0, (2, 2)), linewidth=1, label="drop")
        ax.plot(crossover, y, "o", color=style.BOLD["color"], markersize=8, label="crossover", zorder=3)
        where = style.text_of(crossover, "token/sequence")
        text = f"crossover {where}" if tight else f"crossover\n{where}"
        ax.annotate(text, (crossover, 0), xytext=(5, 5), va="bottom", **note)
    if 0 < break_even <= right and break_even > (threshold if threshold < right else 0):
        ax.plot(break_even, second, "D", color=style.RED, markersize=7, label="break_even", zorder=3)
        text = f"at a loss beyond {style.text_of(break_even, 'token/sequence')}"
        if 0 < crossover < math.inf:
            text += f",\n{break_even / crossover:.3g} × the crossover"
        arrow = {"arrowstyle": "-|>", "color": "#9A3D00", "linewidth": 0.8, "shrinkB": 5, "mutation_scale": 8}
        ax.annotate(
            text,
            (break_even, second),
            xytext=(break_even / x_limit + 0.04, 0.985),
            textcoords="axes fraction",
            ha="right",
            va="top",
            fontsize=9,
            color="#9A3D00",
            arrowprops={**arrow, "relpos": (0.86, 0)},
        )


def _priced_batch(inputs: dict[str, Any]) -> dict[str, Any]:
    """Complete inputs by the batch implied by the ratio of output to input price."""
    inputs = scenario(filled(inputs, {"": {"context_length": 0}}))
    if {"batch_size", "weight_fetch_ratio"} & set(inputs):
        return inputs
    if not {"output_input_ratio", "output_price"} & set(inputs):
        listed = api_prices["lecture"]
        inputs = filled(inputs, {"": {name: listed[name] for name in ("output_price", "input_price")}})
    batch = number("batch_from_prices", **inputs)
    # if the KV cache costs more than the price implies, the largest batch comes nearest
    return {**inputs, **({"batch_size": batch} if math.isfinite(batch) else {"weight_fetch_ratio": 0})}


def _cost_vs_pass_length(**inputs: Any) -> pd.DataFrame:
    import numpy as np

    given = inputs.pop("pass_length", None)
    inputs = _priced_batch(inputs)
    crossing = number("balance_pass_length", pass_length=1, **inputs)
    if given is None:
        right = max(2.6 * crossing, 8.0)
        points = np.union1d(np.linspace(1, right, 160), np.geomspace(1, right, 120))
        given = np.union1d(points, [crossing]) if crossing > 1 else points
    ratios = dataset(["memory_compute_ratio", "compute_floor_ratio"], pass_length=given, **inputs)
    marks = {
        "balance_pass_length": crossing,
        "decode_cost": number("compute_floor_ratio", pass_length=1, **inputs),
        "context_length": number("context_length", **inputs),
    }
    if "batch_size" in inputs:
        marks["batch_size"] = number("batch_size", **inputs)
    table = tabulated(ratios, "pass_length", "cost_vs_pass_length", **marks)
    table.attrs["units"] |= {"decode_cost": "1"}
    return table


@chart(
    "C22",
    _cost_vs_pass_length,
    title="Memory relative to compute time by pass length, batch 480",
    subject="Memory relative to compute time by pass length",
    paragraph=(
        "A decode pass takes each sequence one token further. A prefill pass takes it many further with the same "
        "weights and the same KV cache. Suppose that the price of output equals its extra cost. Then memory takes "
        "{decode_cost} times as long as compute at a pass length of one, which implies a batch of {batch_size}. Above "
        "a pass length of {balance_pass_length} compute is the slower clock."
    ),
    inputs=(
        "active_parameters",
        "total_parameters",
        "bytes_per_weight",
        "peak_flops",
        "hbm_bandwidth",
        "context_length",
        "batch_size",
    ),
    chapter=6,
    size=(6.4, 3.9),
)
def cost_vs_pass_length(ax: Axes, table: pd.DataFrame) -> None:
    """Cost of a token by length of the pass, from decode to prefill.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `compute_floor_ratio`; `pass_length` is the axis. Without `batch_size` the batch is the one that explains
        the ratio of prices: `output_input_ratio`, or `output_price` and `input_price`; without `model` and `hardware`
        the lecture's 5.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.ticker import FixedLocator, MaxNLocator

    marks = table.attrs["marks"]
    length = table.index.to_numpy()
    right, decode, crossing = float(length[-1]), marks["decode_cost"], marks["balance_pass_length"]
    memory, bold = table["memory_compute_ratio"], table["compute_floor_ratio"]
    ax.plot(length, [1.0] * len(length), label="compute", **style.COMPUTE)
    ax.plot(length, memory, label="memory_compute_ratio", **{**style.MEMORY, **_UNDER})
    ax.plot(length, bold, label="compute_floor_ratio", **{**style.BOLD, "zorder": 1.9})
    top = 1.16 * max(decode, float(bold.max()), 1.2)
    ax.set(xlim=(0, right), ylim=(0, top))
    ax.set(xlabel="pass length (new tokens of a sequence)", ylabel="cost of a token relative to its compute")
    together = math.isclose(float(bold.iloc[-1]), 1.0, rel_tol=1e-9)
    ends = [(right, float(bold.iloc[-1]), "cost = compute" if together else "cost", style.INK)]
    if not together:
        ends.append((right, 1.0, "compute", style.COMPUTE["color"]))
    if not math.isclose(float(memory.iloc[-1]), float(bold.iloc[-1]), rel_tol=1e-9):
        ends.append((right, float(memory.iloc[-1]), "memory", style.NOTE))
    style.label_ends(ax, ends)
    ax.xaxis.set_major_locator(MaxNLocator(8, integer=True, steps=[1, 2, 5, 10]))
    ticks = {1.0, *(t for t in ax.get_xticks() if 0 < t <= right)}
    ticks = {t for t in ticks if t == 1 or t > 0.06 * right}
    if 1 < crossing <= right:  # the crossing has a separate tick, which replaces touching ones
        ticks = {t for t in ticks | {1.0} if abs(t - crossing) > 0.07 * right} | {crossing}
    ax.xaxis.set_major_locator(FixedLocator(sorted(ticks)))
    ax.xaxis.set_major_formatter(lambda x, _: style.text_of(x, "token/sequence"))
    levels = [1.0] if abs(decode - 1) < 0.08 * top else [1.0, decode]
    ax.yaxis.set_major_locator(FixedLocator(levels))
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:.3g} ×")
    ax.plot(1, decode, "o", color=style.INK, markersize=7, label="decode", zorder=3)
    if 1 < crossing <= right:
        ax.plot([crossing, crossing], [0, 1], color=style.INK, linestyle=(0, (2, 2)), linewidth=1, label="drop")
        ax.plot(crossing, 1, "o", color=style.BOLD["color"], markersize=8, label="crossing", zorder=3)
        text = f"compute-bound above {style.text_of(crossing, 'token/sequence')} tokens"
        style.callout(ax, text, (crossing, 1), (0.36, (1 + 0.42 * (top - 1)) / top))
    if decode > 1 + 0.08 * top:
        arrow = {"arrowstyle": "<|-|>", "color": "#9A3D00", "linewidth": 1.2, "shrinkA": 0, "shrinkB": 4}
        ax.annotate("", (1, decode), xytext=(1, 1), arrowprops={**arrow, "mutation_scale": 9}).set_gid("gap")
        batch = f", at a batch of {style.text_of(marks['batch_size'], 'sequence')}" if "batch_size" in marks else ""
        ax.annotate(
            f"decode: {decode:.3g} × compute{batch}",
            (1, decode),
            xytext=(9, 1),
            textcoords="offset points",
            va="center",
            fontsize=9,
            color="#9A3D00",
        )
    ax.annotate(
        "prefill \N{RIGHTWARDS ARROW}",
        (right, float(bold.iloc[-1])),
        xytext=(0, 6),
        textcoords="offset points",
        ha="right",
        va="bottom",
        fontsize=9,
        color=style.NOTE,
    )
