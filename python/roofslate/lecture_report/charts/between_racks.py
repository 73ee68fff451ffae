"""Chapter 2: traffic between racks, of a layer of experts and of a stack of layers."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.display.diagram import arrow, box, left_out, letters, whole
from roofslate.lecture_report.charts.rack_diagrams import CHIP, CROSSING, FRAME, INSIDE, OUTSIDE, SWITCH
from roofslate.plotting.chart import chart, dataset, filled, number, tabulated
from roofslate.presets.catalog import hardware, models

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["moe_stack", "two_racks"]


def _places(shown: Sequence[int | None], gap: float = 1.0) -> list[float]:
    """Positions of the drawn items, one apart, with gaps for omitted ones."""
    at, places = 0.0, []
    for k in shown:
        places.append(at if k is not None else at + (gap - 1) / 2)
        at += 1.0 if k is not None else gap
    return places


_MOST_RACKS, _MOST_COPIES = 3, 12


def _two_racks(**inputs: Any) -> pd.DataFrame:
    import numpy as np
    import xarray as xr

    board, deepseek = hardware["BW64 (lecture)"], models["DeepSeek-V3 (lecture)"]
    lecture = {name: board[name] for name in ("scale_up_bandwidth", "link_bandwidth_ratio")}
    inputs = filled(
        inputs,
        {
            "model": {"experts_per_token": deepseek["experts_per_token"]},
            "hardware": {"scale_up_domain": 4, **lecture},
        },
    )
    if not {"expert_racks", "expert_parallel"} & set(inputs):
        inputs = filled(inputs, {"": {"expert_racks": 2}})
    named = (
        "expert_racks",
        "experts_per_token",
        "scale_up_domain",
        "scale_up_bandwidth",
        "link_bandwidth_ratio",
        "leaving_copies",
        "hierarchical_leaving_copies",
        "direct_all_to_all_slowdown",
        "hierarchical_all_to_all_slowdown",
    )
    marks = {name: number(name, **inputs) for name in named}
    racks, copies, chips = (whole(n, marks[n]) for n in ("expert_racks", "experts_per_token", "scale_up_domain"))
    # copies are dealt to the racks in turn, in each to the chips that are drawn, from the left
    drawn = np.arange(min(copies, _MOST_COPIES))
    order = [r for r in left_out(racks, _MOST_RACKS) if r is not None]  # those that are drawn have theirs first
    order += [r for r in range(min(racks, copies)) if r not in order]
    rack_of = np.array(order)[drawn % len(order)]
    seen = [c for c in left_out(chips, 4) if c is not None]
    dealt = drawn // len(order)
    data = xr.Dataset(
        {
            "rack": ("copy", rack_of),
            "chip": ("copy", np.array([seen[int(d) % len(seen)] for d in dealt])),
            "leaves": ("copy", rack_of > 0),
        },
        coords={"copy": drawn},
    )
    return tabulated(data, "copy", "two_racks", **marks)


@chart(
    "C8",
    _two_racks,
    title="All-to-all between racks, copies and slowdown for two racks",
    subject="All-to-all between racks",
    paragraph=(
        "Let the experts of a layer take {expert_racks} racks. Of the {experts_per_token} copies of a token "
        "{leaving_copies} then leave its rack, through links that are {link_bandwidth_ratio} times slower. The "
        "all-to-all takes {direct_all_to_all_slowdown} times as long as in one rack. One copy for each rack, spread "
        "there, would be enough. Then {hierarchical_leaving_copies} of a copy leaves on average, and the factor is "
        "{hierarchical_all_to_all_slowdown:2}. The lecture leaves that out."
    ),
    inputs=(
        "expert_racks",
        "experts_per_token",
        "scale_up_domain",
        "scale_up_bandwidth",
        "link_bandwidth_ratio",
    ),
    chapter=2,
    size=(6.5, 4.2),
)
def two_racks(ax: Axes, table: pd.DataFrame) -> None:
    """Experts across several racks, with crossing copies and all-to-all slowdown.

    Parameters
    ----------
    ax : Axes, optional
        Divided into a drawing and bars; a new figure by default.
    **inputs
        `expert_racks` (2 unless `expert_parallel` is given), `scale_up_domain` chips in each, `experts_per_token`,
        `scale_up_bandwidth`, `link_bandwidth_ratio`, `racks_per_token`; or `model` and `hardware`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax.set_axis_off()
    copies_panel, bars_panel = ax.inset_axes((0, 0, 0.62, 1)), ax.inset_axes((0.67, 0.17, 0.33, 0.715))
    size = letters(ax, 9, (7.7, 3.85))
    _crossing_copies(copies_panel, table, size)
    _exchange_bars(bars_panel, table.attrs["marks"], size)


def _crossing_copies(ax: Axes, table: pd.DataFrame, size: float) -> None:
    marks = table.attrs["marks"]
    racks, chips = left_out(int(marks["expert_racks"]), _MOST_RACKS), left_out(int(marks["scale_up_domain"]), 4)
    steps = _places(chips)
    wide = steps[-1] + 1.4
    starts = _places(racks, 0.3)
    token = (wide / 2 - 0.2, 1.15)
    total = style.text_of(marks["scale_up_domain"], "1")
    for r, start in zip(racks, starts, strict=True):
        x0 = start * (wide + 0.5)
        if r is None:
            ax.text(
                (start + 0.5) * (wide + 0.5) - 0.45, 3, style.ELLIPSIS, ha="center", va="center", fontsize=1.6 * size
            )
            continue
        box(ax, (x0 - 0.2, 0.2), (wide, 6.1), "rack", **FRAME)
        ax.text(x0, 6.1, f"rack {r}, {total} chips", va="top", fontsize=size)
        for c, step in zip(chips, steps, strict=True):
            if c is None:
                ax.text(x0 + step + 0.5, 4.75, style.ELLIPSIS, ha="center", va="center", fontsize=1.3 * size)
                continue
            box(ax, (x0 + step + 0.1, 4.3), (0.8, 0.9), "chip", **CHIP)
        for index, (copy, row) in enumerate(table[table["rack"] == r].iterrows()):  # noqa: B007
            step = steps[chips.index(int(row["chip"]))]
            # several copies for one chip do not hide one another
            end = (x0 + step + 0.5 + 0.16 * (index // max(len([c for c in chips if c is not None]), 1)), 4.27)
            look = {**CROSSING, "linewidth": 1.4} if row["leaves"] else {"color": INSIDE, "linewidth": 1.6}
            arrow(ax, token, end, "crossing" if row["leaves"] else "staying", **look)
    ax.plot(*token, "o", color=style.INK, markersize=0.9 * size, label="token", zorder=4)
    ax.text(token[0], token[1] - 0.25, "a token", ha="center", va="top", fontsize=size)
    last = starts[-1] * (wide + 0.5) + wide - 0.2
    copies, leave = marks["experts_per_token"], marks["leaving_copies"]
    speed = style.text_of(marks["scale_up_bandwidth"], "byte/s/chip").replace("/chip", "")
    stay = f"inside a rack: {speed} a chip"
    ax.text(-0.2, 6.85, stay, fontsize=size, color=INSIDE, va="center")
    out = f"{leave:.3g} of {copies:,.0f}\ncopies leave,\n{marks['link_bandwidth_ratio']:.3g} {style.TIMES} slower"
    if leave > 0:
        ax.text(
            last - 0.15, 1.15, out, fontsize=size, color=OUTSIDE, va="center", ha="right", bbox=style.HALO, zorder=5
        )
    ax.set(xlim=(-0.3, last + 0.1), ylim=(-0.1, 7.2))
    ax.set_axis_off()


def _exchange_bars(ax: Axes, marks: dict[str, float], size: float) -> None:
    racks = f"{marks['expert_racks']:,.0f} racks"
    direct, hierarchical = (marks[f"{routing}_all_to_all_slowdown"] for routing in ("direct", "hierarchical"))
    bars: tuple[tuple[float, str, dict[str, Any]], ...] = (
        (1.0, "one rack", {"facecolor": INSIDE}),
        (direct, f"{racks},\na copy to\neach expert", {"facecolor": OUTSIDE}),
        (hierarchical, f"{racks},\na copy to\neach rack", {"facecolor": "white", "hatch": "////"}),
    )
    for k, (height, _, look) in enumerate(bars):
        ax.bar(k, height, width=0.62, gid="slowdown", edgecolor=OUTSIDE if k else INSIDE, **look)
        ax.text(k, height, f"{height:.2g} {style.TIMES}", ha="center", va="bottom", fontsize=size, weight="bold")
    ax.set(xlim=(-0.5, 2.5), ylim=(0, 1.15 * max(height for height, _, _ in bars)), yticks=[])
    ax.set_xticks(range(3), [name for _, name, _ in bars], fontsize=size)
    ax.tick_params(axis="x", length=0)
    for side in ("top", "right", "left"):
        ax.spines[side].set_visible(False)
    ax.text(0, 1.1, "time of the all-to-all", transform=ax.transAxes, ha="left", fontsize=size, va="center")


_MOST_K, _MOST_LAYERS, _MOST_STAGES = 8, 3, 3


def _moe_stack(**inputs: Any) -> pd.DataFrame:
    import numpy as np

    board, deepseek = hardware["BW64 (lecture)"], models["DeepSeek-V3 (lecture)"]
    inputs = filled(
        inputs,
        {
            "model": {"experts_per_token": deepseek["experts_per_token"], "layers_per_stage": 2},
            "hardware": {"link_bandwidth_ratio": board["link_bandwidth_ratio"]},
            "": {"pipeline_stages": 2},
        },
    )
    if not {"all_to_all_hop_ratio", "activation_bytes_per_element"} & set(inputs):
        inputs = filled(inputs, {"": {"all_to_all_hop_ratio": 2}})  # up and down
    stages = whole("pipeline_stages", number("pipeline_stages", **inputs))
    named = (
        "pipeline_stages",
        "layers_per_stage",
        "experts_per_token",
        "all_to_all_hop_ratio",
        "link_bandwidth_ratio",
        "pipeline_traffic_ratio",
        "pipeline_traffic_threshold",
    )
    marks = {name: number(name, **inputs) for name in named}
    whole("experts_per_token", marks["experts_per_token"])
    layers_per_stage = inputs.pop("layers_per_stage", None)
    points = (
        np.union1d(np.arange(1, 9), [marks["layers_per_stage"]])
        if layers_per_stage is None or np.ndim(layers_per_stage) == 0
        else layers_per_stage
    )
    ratios = dataset(["pipeline_traffic_ratio"], **inputs, layers_per_stage=points)
    table = tabulated(ratios, "layers_per_stage", "moe_stack", **marks)
    table.attrs["marks"]["stages"] = float(stages)
    table.attrs["units"]["stages"] = "1"
    return table


@chart(
    "C11",
    _moe_stack,
    title="Traffic inside and between racks by layers per stage, two racks",
    subject="Traffic inside and between racks by layers per stage",
    paragraph=(
        "Give each rack {layers_per_stage} layers. In every layer {experts_per_token} copies of a token go out to "
        "experts and come back, through the fast links. From rack to rack one residual goes, through links "
        "{link_bandwidth_ratio} times slower. The traffic inside takes {pipeline_traffic_ratio:2} times as long as "
        "the hop. If experts times layers reach {pipeline_traffic_threshold:2}, the slow link is not the bottleneck. "
        "Cutting a model by its layers suits racks."
    ),
    inputs=(
        "all_to_all_hop_ratio",
        "experts_per_token",
        "layers_per_stage",
        "link_bandwidth_ratio",
        "pipeline_stages",
    ),
    chapter=2,
    size=(6.5, 4.3),
)
def moe_stack(ax: Axes, table: pd.DataFrame) -> None:
    """Layers of experts across racks, with arrows inside and between racks.

    Large numbers are drawn in part.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        `pipeline_stages` racks with `layers_per_stage` layers each, `experts_per_token`, `link_bandwidth_ratio` and
        `all_to_all_hop_ratio` (2 unless given); or `model` and `hardware`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    layers, chosen = marks["layers_per_stage"], int(marks["experts_per_token"])
    stages = left_out(int(marks["stages"]), _MOST_STAGES)
    shown = left_out(max(math.ceil(layers), 1), _MOST_LAYERS)
    experts = left_out(chosen, _MOST_K)
    size = letters(ax, 9, (7.7, 3.85))
    half = (len(experts) - 1) / 2
    heights = [None if e is None else 3.3 * (half - k) / max(half, 0.5) for k, e in enumerate(experts)]
    wide = sum(1.0 if k is None else 2.0 for k in shown)
    x, ends = 0.0, []
    for stage in stages:
        if stage is None:
            ax.text(x + 0.1, 0, style.ELLIPSIS, ha="center", va="center", fontsize=1.6 * size)
            ends.append((x - 0.25, x + 0.45))
            x += 1.6
            continue
        box(ax, (x - 0.45, -4.4), (wide + 0.9, 9.3), "rack", **FRAME)
        ax.text(x - 0.3, 4.6, f"rack {stage}", fontsize=size, va="top")
        at, nodes = x, [x]
        for layer in shown:
            if layer is None:
                ax.text(at + 0.5, 0, style.ELLIPSIS, ha="center", va="center", fontsize=1.6 * size)
                at += 1.0
                nodes.append(at)
                continue
            _layer(ax, at, heights)
            # numbered through where all are drawn
            first = stage * len(shown) if layers == len(shown) and None not in shown else 0
            ax.text(
                at + 1,
                -3.95,
                f"layer {first + layer}",
                ha="center",
                va="center",
                fontsize=size,
                color=style.NOTE,
            )
            at += 2.0
            nodes.append(at)
        for node in nodes:
            ax.plot(node, 0, "o", color=style.INK, markersize=0.7 * size, gid="node", zorder=4)
        ends.append((x, at))
        x = at + 1.6
    for (_, start), (end, _) in itertools.pairwise(ends):
        arrow(ax, (start + 0.12, 0), (end - 0.12, 0), "residual", color=OUTSIDE, linewidth=2.4, mutation_scale=12)
    _stack_words(ax, marks, ends, size)
    ax.set(xlim=(-0.6, ends[-1][1] + 0.6), ylim=(-7.2, 6.4))
    ax.set_axis_off()


def _layer(ax: Axes, at: float, heights: list[float | None]) -> None:
    """Draw the copies of a token out to experts and back."""
    thin: dict[str, Any] = {"color": INSIDE, "linewidth": 1.1, "mutation_scale": 6}
    for k, y in enumerate(heights):
        if y is None:
            ax.text(at + 1, (_between(heights, k)), "\N{VERTICAL ELLIPSIS}", ha="center", va="center", color=style.NOTE)
            continue
        box(ax, (at + 0.8, y - 0.3), (0.4, 0.6), "expert", **SWITCH)
        arrow(ax, (at + 0.05, 0), (at + 0.78, y), "out", **thin)
        arrow(ax, (at + 1.22, y), (at + 1.95, 0), "back", **thin)


def _between(heights: list[float | None], k: int) -> float:
    """Height between the neighbors of omitted items."""
    above, below = heights[k - 1], heights[k + 1]
    return ((above or 0.0) + (below or 0.0)) / 2


def _stack_words(ax: Axes, marks: dict[str, float], ends: list[tuple[float, float]], size: float) -> None:
    k, n, beta, up_down, ratio = (
        style.text_of(marks[name], "1")
        for name in (
            "experts_per_token",
            "layers_per_stage",
            "link_bandwidth_ratio",
            "all_to_all_hop_ratio",
            "pipeline_traffic_ratio",
        )
    )
    middle = (ends[0][0] + ends[-1][1]) / 2
    inside = f"inside a rack {k} out and {k} back in each layer"
    ax.text(-0.45, 5.75, inside, color=INSIDE, fontsize=size, va="center", ha="left")
    if len(ends) > 1:
        between = f"between racks one residual, {beta} {style.TIMES} slower"
        ax.text(ends[-1][1] + 0.45, 5.75, between, color=OUTSIDE, fontsize=size, va="center", ha="right")
    ratios = rf"\dfrac{{t_\mathrm{{up}}}}{{t_\mathrm{{out}}}} = \dfrac{{1}}{{{beta}}}"
    formula = rf"${ratios} \cdot {k} \cdot {n} \cdot {up_down} = {ratio}$"
    ax.text(middle, -5.6, formula, fontsize=1.6 * size, ha="center", va="center", gid="formula")
    said = "links, experts, layers, out and back"
    ax.text(middle, -6.95, said, fontsize=size, ha="center", va="center", color=style.NOTE)
