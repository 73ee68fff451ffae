"""Chapter 5: lifetime cost of a model by size and pretraining tokens."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import IneffectiveInput
from roofslate.lecture_report.charts.training import trained
from roofslate.plotting.chart import chart, dataset, filled, numbers, tabulated
from roofslate.presets.lookup import find_preset

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["lifetime_surface"]

# The lecture's machine and rent; a share of the peak that pretraining reaches.
_MACHINE: dict[str, dict[str, Any]] = {"hardware": {"peak_flops": 4.5e15}, "prices": {"chip_price": "2 USD/h"}}
_UTILIZATION = 0.4
_SIZES, _TOKENS = (1 / 5, 5.6), (1 / 4, 4.0)  # of the picture, relative to the model's and to its lines'
_POINTS = 97
_SURFACES = ["lifetime_cost", "pretraining_loss"]
_LINES = ["balanced_pretraining_tokens", "optimal_pretraining_tokens", "compute_optimal_tokens"]
_BEST = ("optimal_loss", "optimal_lifetime_saving", "training_optimal_parameters", "least_training_tokens")


def _lifetime_surface(*, loss_law: Any = "Hoffmann", **inputs: Any) -> pd.DataFrame:
    import numpy as np

    if "rl_tokens" in inputs:
        raise IneffectiveInput("lifetime_surface: 'rl_tokens' has no effect, a loss law covers only pretraining")
    law = find_preset("loss_law", loss_law)
    inputs = filled(trained(inputs, rounded=True), {**_MACHINE, "": {"training_utilization": _UTILIZATION}})
    inputs |= {"loss_law": law, "rl_tokens": 0}
    # money is asked for each time, so that chips and prices have a say in each question
    marks = numbers(["active_parameters", *_LINES, *_BEST, "inference_cost"], **inputs)
    size = marks["active_parameters"]
    least, most = (end(marks[name] for name in _LINES) for end in (min, max))
    sizes = np.geomspace(_SIZES[0] * size, _SIZES[1] * size, _POINTS)
    tokens = np.geomspace(_TOKENS[0] * least, _TOKENS[1] * most, _POINTS)
    surface = dataset(_SURFACES, **{**inputs, "active_parameters": sizes, "pretraining_tokens": tokens})
    lines = dataset([*_LINES, "inference_cost"], **{**inputs, "active_parameters": sizes})
    best = {**inputs, "pretraining_tokens": marks["optimal_pretraining_tokens"]}
    marks |= numbers(["lifetime_cost", "inference_tokens", "overtraining_ratio"], **best)
    dims = ["pretraining_tokens", "active_parameters"]
    table = tabulated(surface.merge(lines), dims, "lifetime_surface", **marks)
    table.attrs["loss_law"] = law.name
    return table


@chart(
    "C37",
    _lifetime_surface,
    title="Lifetime cost by size and pretraining tokens, 200T served tokens",
    subject="Lifetime cost by size and pretraining tokens",
    paragraph=(
        "The map shows the cost of pretraining and serving {inference_tokens:2} tokens together, for every size and "
        "every number of pretraining tokens. It excludes reinforcement learning. Along the black line the loss is the "
        "same by the law of Hoffmann et al. The compute-optimal model on it has {training_optimal_parameters} "
        "weights. The least cost is {lifetime_cost:3}, at {active_parameters:3} weights and "
        "{optimal_pretraining_tokens:4} tokens, {overtraining_ratio:2} times the 20 a weight. It is near the line of "
        "equal pretraining and serving cost, and saves a share of {optimal_lifetime_saving:2} of the larger model's "
        "cost."
    ),
    inputs=(
        "loss_law",
        "peak_flops",
        "chip_price",
        "training_utilization",
        "inference_tokens",
        "active_parameters",
        "decode_inefficiency",
    ),
    chapter=5,
    size=(6.5, 4.6),
)
def lifetime_surface(ax: Axes, table: pd.DataFrame) -> None:
    """Cost of training and serving by size and tokens, with the optimum of a loss law.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    loss_law : str or Preset
        One of `rs.loss_laws`.
    **inputs
        Of `lifetime_cost`: a model, served tokens, `decode_inefficiency`, `hardware` and `prices`; without `model` and
        `hardware` the lecture's. The law gives the best tokens for the model's size, and the larger model that they
        make needless.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy as np
    from matplotlib.colors import LogNorm
    from matplotlib.ticker import LogLocator

    marks, law = table.attrs["marks"], table.attrs["loss_law"]
    cells = table[_SURFACES].to_xarray()
    tokens, sizes = (cells[dim].to_numpy() for dim in cells.dims)
    cost, loss = (cells[name].to_numpy() for name in _SURFACES)
    ax.set(xscale="log", yscale="log", xlim=(sizes[0], sizes[-1]), ylim=(tokens[0], tokens[-1]))
    ax.set(xlabel="active parameters", ylabel="pretraining tokens")
    ax.pcolormesh(sizes, tokens, cost, norm=LogNorm(vmax=12 * cost.max()), cmap="Blues", rasterized=True)
    levels = [float(x) for x in LogLocator(subs=(1, 3)).tick_values(cost.min(), cost.max())]
    levels = [x for x in levels if cost.min() < x < cost.max()]
    ax.contour(sizes, tokens, cost, levels=levels, colors="white", linewidths=1.0)
    ax.contour(sizes, tokens, loss, levels=[marks["optimal_loss"]], colors=style.INK, linewidths=2.2)
    row = table.xs(tokens[0], level="pretraining_tokens")
    looks: dict[str, tuple[dict[str, Any], str]] = {
        "compute_optimal_tokens": ({"color": style.NOTE, "linestyle": "--"}, f"training alone\n({law})"),
        "optimal_pretraining_tokens": ({"color": style.RED, "linestyle": "-"}, "least cost\nfor its loss"),
        "balanced_pretraining_tokens": ({"color": style.KV["color"], "linestyle": "-."}, "equal costs"),
    }
    ends = []
    for name, (look, text) in looks.items():
        ax.plot(sizes, row[name], linewidth=1.9, label=name, **look)
        ends.append((sizes[-1], row[name].iloc[-1], text, look["color"]))
    at = (marks["active_parameters"], marks["optimal_pretraining_tokens"])
    replaced = (marks["training_optimal_parameters"], marks["least_training_tokens"])
    ax.plot(*at, "o", color=style.RED, markersize=8, label="optimum", zorder=4)
    ax.plot(*replaced, "s", color=style.NOTE, markersize=7, label="replaced", zorder=4)
    for level in levels:  # along the bottom, away from the lines
        if cost[4].min() < level < cost[4].max():
            x = float(np.interp(level, cost[4], sizes))
            ax.text(x, tokens[4], style.text_of(level, "USD"), ha="center", va="center", fontsize=8, color=style.INK)
    optimum = f"{style.counted(at[0], 'parameter')}, {style.counted(at[1], 'token')}"
    said = f"{optimum}:\n{style.text_of(marks['lifetime_cost'], 'USD')}"
    words: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9, "bbox": style.HALO}
    ax.annotate(said, at, xytext=(-12, 14), ha="right", va="bottom", **words)
    top = float(np.interp(-marks["optimal_loss"], -loss[-6], sizes))
    ax.annotate("one loss", (top, tokens[-6]), xytext=(6, 0), ha="left", va="center", **words)
    dearer = 1 / (1 - marks["optimal_lifetime_saving"]) - 1
    what = f"{style.counted(replaced[0], 'parameter')}, {style.counted(replaced[1], 'token')}"
    remark = f"{what}:\nthe same loss,\n{100 * dearer:.0f}% more expensive"
    ax.annotate(remark, replaced, xytext=(14, -27), ha="center", va="top", **words)
    style.label_ends(ax, ends)
    steps = [x for x in LogLocator(subs=(1, 2, 5)).tick_values(sizes[0], sizes[-1]) if sizes[0] <= x <= sizes[-1]]
    ax.set_xticks(steps, [style.counted(x, "parameter") for x in steps])
    ax.set_xticks([], minor=True)
    style.scale_ticks(ax.yaxis, "token")
