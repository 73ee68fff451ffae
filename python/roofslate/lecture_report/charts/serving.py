"""Chapter 1: one forward pass, and its bottleneck."""

from __future__ import annotations

import contextlib
import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import MissingInput, ValueRangeError
from roofslate.plotting.chart import chart, completed, dataset, filled, first_reach, number, tabulated
from roofslate.plotting.findings import finding
from roofslate.presets.catalog import hardware, models

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = [
    "board",
    "curves",
    "decode_tensor",
    "fitting",
    "hatched",
    "latency_vs_batch",
    "memory_end",
    "most_batches",
    "overtaking_batch",
    "rented",
    "terms",
]


def board(inputs: dict[str, Any]) -> dict[str, Any]:
    """Complete inputs by the board: ``model="lecture board"`` on ``hardware="lecture"``."""
    return filled(
        inputs,
        {
            "model": _board_model(inputs),
            "hardware": hardware["lecture"].values,
            "": {"context_length": "87.4k"},  # the KV-cache slope is 0.437 of compute's, as in the lecture's figure
        },
    )


def _board_model(inputs: Mapping[str, Any]) -> dict[str, Any]:
    implied = {"bytes_per_weight"} if "weight_format" in inputs else set()  # it follows from the format
    return {name: x for name, x in models["lecture board"].values.items() if name not in implied}


def rented(inputs: dict[str, Any]) -> dict[str, Any]:
    """Complete inputs by the lecture's rental price."""
    return filled(inputs, {"": {} if {"prices", "chip_price"} & set(inputs) else {"prices": "lecture"}})


def overtaking_batch(inputs: dict[str, Any]) -> float:
    """Least batch at which compute takes longer than overlapping memory reads, or inf."""
    overlap = inputs.get("overlap", "board")
    if overlap == "none":
        return math.inf  # no overlap
    memory = "memory_time" if overlap == "board" else "weight_fetch_time"
    at_least = number("balance_batch", **inputs)
    return first_reach("compute_time", memory, "batch_size", at_least / 1e4, at_least * 1e4, **inputs)


def most_batches(inputs: dict[str, Any], crossing: float) -> float:
    """Right end of a batch axis with the point of interest near the middle."""
    return 1.8 * crossing if math.isfinite(crossing) else 4 * number("balance_batch", **inputs)


def fitting(most: float, inputs: dict[str, Any]) -> float:
    """Right end of a batch axis within memory, at least one sequence."""
    if completed(inputs):
        return most
    with contextlib.suppress(MissingInput):
        return min(most, max(number("memory_limited_batch", **inputs), 1.0))
    return most


def memory_end(axis: str, points: Any, inputs: dict[str, Any]) -> float:
    """Least batch or context without memory, halfway between two points, or inf."""
    with contextlib.suppress(MissingInput):
        fits = dataset(["memory_fits"], **{**inputs, axis: points})["memory_fits"]
        if axis in fits.dims:
            coordinates, unfit = fits[axis].to_numpy(), fits.to_numpy() == 0
            first = int(unfit.argmax())
            return float(coordinates[max(first - 1, 0) : first + 1].mean()) if unfit.any() else math.inf
    return math.inf


def hatched(ax: Axes, end: float, height: float | None = None) -> None:
    """Hatch the range without memory, labeled, in the look of `rs.plot`."""
    x_min, x_max = ax.get_xlim()
    if end >= x_max:
        return
    start = max(end, x_min)
    ax.axvspan(start, x_max, label="does not fit", zorder=0.5, **style.UNFIT)
    if height is not None:
        middle = math.sqrt(start * x_max) if ax.get_xscale() == "log" else (start + x_max) / 2
        words: dict[str, Any] = {"fontsize": 9, "color": style.NOTE, "bbox": style.HALO, "zorder": 4}
        at = ax.get_xaxis_transform()
        ax.text(middle, height, "does not fit", transform=at, ha="center", va="center", **words)


def terms(of: str, context: float) -> dict[str, tuple[str, dict[str, Any]]]:
    """Words and look of each term of a pass by its column: of the times, or of the costs."""
    return {
        f"memory_{of}": ("memory: the sum", style.MEMORY),
        f"weight_fetch_{of}": ("weights", style.WEIGHTS),
        f"kv_fetch_{of}": (f"KV cache, {style.text_of(context, 'token/sequence')} tokens", style.KV),
        f"compute_{of}": ("compute", style.COMPUTE),
    }


def curves(
    ax: Axes, table: pd.DataFrame, lines: Mapping[str, tuple[str, dict[str, Any]]], total: str, width: float = 1
) -> None:
    """Draw terms of a pass by batch size, and the bold line of the whole pass."""
    for name, (_, look) in lines.items():
        ax.plot(table.index, table[name], label=name, **{**look, "linewidth": width * look["linewidth"]})
    bold = {**style.BOLD, "zorder": 1.9, "linewidth": width * style.BOLD["linewidth"]}
    ax.plot(table.index, table[total], label=total, **bold)


_MOST_TOKENS, _MOST_ROWS = 12, 8


def _decode_tensor(**inputs: Any) -> pd.DataFrame:
    import numpy as np
    import xarray as xr

    inputs = filled(inputs, {"model": {**_board_model(inputs), "hidden_size": 4}, "": {"context_length": 8}})
    context = number("context_length", **inputs)
    if context < 1:
        raise ValueRangeError(f"context_length: the drawing needs a past of at least one token, got {context:g}")
    past = int(context)
    shown = np.arange(past) if past <= _MOST_TOKENS else np.r_[: _MOST_TOKENS // 2, past - _MOST_TOKENS // 2 : past]
    read = number("kv_bytes_per_token", **inputs)
    token = np.append(shown, past)
    data = xr.Dataset(
        {
            "new": ("token", token == past),
            "cache_read": ("token", np.where(token == past, 0.0, read), {"units": "byte"}),
        },
        coords={"token": token},
    )
    named = ("context_length", "hidden_size", "model_bytes", "kv_bytes_per_token")
    marks = {name: number(name, **inputs) for name in named}
    marks["kv_bytes"] = number("kv_bytes", **{"batch_size": 1, **inputs})
    return tabulated(data, "token", "decode_tensor", **marks)


@chart(
    "C1",
    _decode_tensor,
    title="Weights and KV cache read by one new token, the board",
    subject="Weights and KV cache read by one new token",
    paragraph=(
        "A decode step makes one new column of the tensor of tokens. For it each weight is read once, {model_bytes} "
        "in all. It also reads the keys and values of every earlier token, {kv_bytes_per_token} for each, growing "
        "with the context. A batch shares the weight read. It cannot share the KV caches of its sequences."
    ),
    inputs=(
        "total_parameters",
        "bytes_per_weight",
        "kv_bytes_per_token",
        "hidden_size",
        "context_length",
        "batch_size",
    ),
    size=(6.4, 3.9),
)
def decode_tensor(ax: Axes, table: pd.DataFrame) -> None:
    """Decode as a tensor of tokens and embedding, with one new column.

    Tokens are on the horizontal axis, the embedding on the vertical one. Arrows run from the new token to
    all old ones, whose keys and values it reads. Long contexts and wide embeddings are drawn in part.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        `context_length` and `hidden_size` give the numbers of columns and rows, `model` or its numbers the labels.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.patches import FancyArrowPatch, FancyBboxPatch, Rectangle

    marks = table.attrs["marks"]
    rows = min(int(marks["hidden_size"]), _MOST_ROWS)
    token = table.index.to_numpy()
    columns = token.searchsorted(token)  # columns start at 0
    skipped = len(token) <= token[-1]
    half = _MOST_TOKENS // 2
    at = [float(k + (1.2 if skipped and k >= half else 0)) for k in columns]
    new = at[-1]
    for k, x in enumerate(at):
        fresh = k == len(at) - 1
        for y in range(rows):
            face, edge, gid = ("#0072B2", "white", "new") if fresh else ("#DDE6EE", "#7F93A6", "old")
            ax.add_patch(Rectangle((x + 0.06, y + 0.06), 0.88, 0.88, facecolor=face, edgecolor=edge, gid=gid))
    for x in at[:-1]:
        ax.add_patch(
            FancyArrowPatch(
                (new + 0.5, rows + 0.08),
                (x + 0.5, rows + 0.08),
                connectionstyle=f"arc3,rad={0.28 + 0.1 / (new - x):.3f}",
                arrowstyle="-|>",
                mutation_scale=8,
                linewidth=1.1,
                color=style.KV["color"],
                gid="read",
            )
        )
    if skipped:
        ax.text(half + 0.6, rows / 2, style.ELLIPSIS, ha="center", va="center", fontsize=14)
    width = new + 1
    rise = 0.5 * (0.28 * new + 0.1) + 0.15  # of the longest arrow
    each, total = (style.text_of(marks[name], "byte") for name in ("kv_bytes_per_token", "kv_bytes"))
    past = style.text_of(marks["context_length"], "token/sequence", 4)
    ax.text(
        new / 2 + 0.5,
        rows + rise + 0.2,
        f"KV cache: read for every past token,\n{past} × {each} = {total}",
        color="#8A5A00",
        ha="center",
        va="bottom",
        fontsize=9.5,
    )
    ax.add_patch(
        FancyBboxPatch(
            (new + 2.1, rows / 2 - 0.75),
            3.4,
            1.5,
            boxstyle="round,pad=0.12",
            facecolor="#EFE3D6",
            edgecolor=style.WEIGHTS["color"],
            gid="weights",
        )
    )
    ax.text(
        new + 3.8,
        rows / 2,
        f"weights\n{style.text_of(marks['model_bytes'], 'byte')}",
        ha="center",
        va="center",
        fontsize=9.5,
        color=style.WEIGHTS["color"],
    )
    ax.add_patch(
        FancyArrowPatch(
            (new + 2.0, rows / 2),
            (new + 1.02, rows / 2),
            arrowstyle="-|>",
            mutation_scale=12,
            linewidth=2,
            color=style.WEIGHTS["color"],
            gid="use",
        )
    )
    once = "each used once\nfor the new token"
    ax.text(new + 3.8, rows / 2 - 1.05, once, ha="center", va="top", fontsize=9, color=style.NOTE)
    ax.text(new + 0.5, -0.2, "new\ntoken", ha="center", va="top", fontsize=9, color="#0072B2", weight="bold")
    ax.annotate("", (new - 0.1, -0.35), xytext=(0, -0.35), arrowprops={"arrowstyle": "-|>", "color": style.NOTE})
    ax.text(new / 2, -0.5, "tokens", ha="center", va="top", fontsize=9, color=style.NOTE)
    ax.text(-0.25, rows / 2, "embedding", ha="right", va="center", rotation=90, fontsize=9, color=style.NOTE)
    ax.set(xlim=(-0.9, new + 5.8), ylim=(min(-1.3, rows / 2 - 2.3), rows + rise + 1.4 + 0.05 * width), aspect="equal")
    ax.set_axis_off()


def _latency_vs_batch(**inputs: Any) -> pd.DataFrame:
    import numpy as np

    inputs = board(inputs)
    given = inputs.pop("batch_size", None)
    crossing = overtaking_batch(inputs)
    if given is None:
        most = fitting(most_batches(inputs, crossing), inputs)
        least = min(1.0, most / 1e3)
        points = np.union1d(np.geomspace(least, most, 61), np.linspace(0, most, 201)[1:])
        given = np.union1d(points, [crossing]) if crossing < most else points
    outputs = ["compute_time", "kv_fetch_time", "weight_fetch_time", "memory_time", "pass_time"]
    times = dataset(outputs, batch_size=given, **inputs)
    marks = {
        "balance_batch": number("balance_batch", **inputs),
        "context_length": number("context_length", **inputs),
        "latency_lower_bound": float(times["weight_fetch_time"].min()),
        "crossing_batch": crossing,
        "crossing_time": number("pass_time", batch_size=crossing, **inputs) if math.isfinite(crossing) else math.inf,
        "memory_end": memory_end("batch_size", given, inputs),
    }
    table = tabulated(times, "batch_size", "latency_vs_batch", **marks)
    table.attrs["finding"] = _bound_side(table, crossing, str(inputs.get("overlap", "board")))
    table.attrs["units"] |= {"latency_lower_bound": "s", "crossing_time": "s"}
    table.attrs["units"] |= dict.fromkeys(("crossing_batch", "memory_end"), "sequence")
    return table


def _bound_side(table: pd.DataFrame, crossing: float, overlap: str) -> str:
    """Describe the side of the crossing on which memory or compute binds.

    Without overlap the text is empty.
    """
    if overlap == "none":
        return ""
    memory = table["memory_time" if overlap == "board" else "weight_fetch_time"]
    word = "memory-bound" if overlap == "board" else "bound by the weight fetch"
    if crossing <= table.index[-1]:
        return f"{word} below\n{{crossing_batch:4}} sequences,\ncompute-bound above"
    return f"{word} at every batch drawn" if (memory > table["compute_time"]).all() else ""


@chart(
    "C2",
    _latency_vs_batch,
    title="Forward-pass time by batch size, the board's rack",
    subject="Forward-pass time by batch size",
    paragraph=(
        "The time of one pass is the larger of two clocks. Memory reads all weights, at any batch size, and a KV "
        "cache for each sequence. Compute grows with the batch and starts at zero. No pass is faster than "
        "{latency_lower_bound}. Above {crossing_batch:4} sequences compute is the slower clock. KV-cache reads move "
        "this crossing above the balance batch of {balance_batch:4}."
    ),
    inputs=(
        "active_parameters",
        "total_parameters",
        "bytes_per_weight",
        "kv_bytes_per_token",
        "peak_flops",
        "hbm_bandwidth",
        "chips",
        "context_length",
    ),
)
def latency_vs_batch(ax: Axes, table: pd.DataFrame) -> None:
    """Time of one pass by batch size, with its terms.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `pass_time`. `batch_size` is the axis; without it the crossing is near the middle.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    batch = table.index.to_numpy()
    lines = terms("time", marks["context_length"])
    curves(ax, table, lines, "pass_time")
    top = 1.06 * table["pass_time"].iloc[-1]
    ax.set(xlim=(0, batch[-1]), ylim=(0, top), xlabel=style.BATCH, ylabel="time of a pass")
    bound = marks["latency_lower_bound"]
    hatched(ax, marks["memory_end"], 0.93)
    dashed: dict[str, Any] = {"color": style.INK, "linestyle": (0, (2, 2)), "linewidth": 1.4, "zorder": 3}
    ax.plot([0, 0.24 * batch[-1]], [bound, bound], label="latency_lower_bound", **dashed)
    crossing = marks["crossing_batch"]
    if crossing <= batch[-1]:
        time = marks["crossing_time"]
        ax.plot(crossing, time, "o", color=style.BOLD["color"], markersize=8, label="crossing", zorder=3)
    ends = [(batch[-1], table[name].iloc[-1], text, style.INK) for name, (text, _) in lines.items()]
    slowest = max(lines, key=lambda name: table[name].iloc[-1])
    if math.isclose(table[slowest].iloc[-1], table["pass_time"].iloc[-1]):  # one label for both lines
        ends = [(x, y, f"pass = {text}" if text == lines[slowest][0] else text, c) for x, y, text, c in ends]
    else:
        ends.append((batch[-1], table["pass_time"].iloc[-1], "pass", style.INK))
    style.label_ends(ax, ends)
    style.scale_ticks(ax.xaxis, "sequence")
    style.scale_ticks(ax.yaxis, "s")
    if bound < 0.6 * top:
        # above the bold line where the words end
        level = table["pass_time"].to_numpy()[batch.searchsorted(0.5 * batch[-1])] / top
        height = min(max(bound / top + 0.24, level + 0.09), 0.9)
        style.callout(ax, f"latency lower bound\n{style.text_of(bound, 's')}", (0, bound), (0.04, height))
    if crossing <= batch[-1]:
        height = min(time / top + 0.3, 0.93)
        finding(ax, table, table.attrs["finding"], at=(crossing, time), to=(0.12, height))
    elif table.attrs["finding"]:
        finding(ax, table, table.attrs["finding"], to=(0.3, 0.9))
