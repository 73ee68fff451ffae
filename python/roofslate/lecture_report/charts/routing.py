"""Chapters 1 and 2: benefit of sparsity, and load of the experts."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.plotting.chart import chart, datasets, filled, number, tabulated
from roofslate.plotting.findings import finding

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["imbalance_vs_tokens", "routed_scaling"]

_SIZES = (15e6, 25e6, 55e6, 130e6, 370e6, 870e6, 1.3e9)  # of Clark et al. 2022, figure 1
_READ = (370e6, 64.0)  # point of the lecture's reading


def _routed_scaling(*, matched_dense_parameters: Any = None, **inputs: Any) -> pd.DataFrame:
    import numpy as np

    sizes = inputs.pop("active_parameters", list(_SIZES))
    sizes = [number("active_parameters", active_parameters=size) for size in np.atleast_1d(sizes).tolist()]
    inputs = {"experts": np.geomspace(1, 512, 91), **inputs}
    cases = {size: {"active_parameters": size, **inputs} for size in sizes}
    losses = datasets(["routed_loss"], "active_parameters", cases)
    dense = max(sizes) if matched_dense_parameters is None else matched_dense_parameters
    dense = number("matched_dense_parameters", matched_dense_parameters=dense)
    law = {name: x for name, x in inputs.items() if name != "experts"}
    table = tabulated(losses, ["active_parameters", "experts"], "routed_scaling")
    marks = {
        "matched_dense_parameters": dense,
        "dense_loss": number("routed_loss", active_parameters=dense, experts=1, **law),
    }
    for size in sizes:
        match = number("matching_experts", active_parameters=size, matched_dense_parameters=dense, **law)
        marks[f"matching_experts_{size:g}"] = match
    marks["matching_experts"] = marks.get(f"matching_experts_{_READ[0]:g}", math.inf)
    if _READ[0] in sizes:
        marks["read_parameters"], marks["read_experts"] = _READ
        marks["read_loss"] = number("routed_loss", active_parameters=_READ[0], experts=_READ[1], **law)
    table.attrs["marks"] = marks
    sized = ("matched_dense_parameters", "read_parameters")
    table.attrs["units"] |= {mark: "parameter" if mark in sized else "1" for mark in marks}
    return table


@chart(
    "C5",
    _routed_scaling,
    title="Loss by number of experts, seven active sizes",
    subject="Loss by number of experts",
    paragraph=(
        "Each curve keeps the active weights and adds experts (the routed scaling law of Clark et al. 2022 for S-BASE "
        "routing). The lecture reads off that {read_parameters} active weights with {read_experts} experts equal "
        "{matched_dense_parameters:2} dense ones. By the law they meet at {matching_experts} experts. Active weights "
        "are thus saved, and memory is paid for it."
    ),
    inputs=("matched_dense_parameters",),
    size=(6.5, 4.4),
)
def routed_scaling(ax: Axes, table: pd.DataFrame) -> None:
    """Validation loss by number of experts and active weights.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    matched_dense_parameters : float or str, optional
        The dense model whose loss is to be matched; the largest of the curves otherwise.
    **inputs
        Of `routed_loss`: `active_parameters` (a list), `experts` (the axis), the coefficients of the law.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.ticker import FixedLocator, NullFormatter

    marks = table.attrs["marks"]
    sizes = table.index.unique("active_parameters")
    experts = table.index.unique("experts").to_numpy()
    ax.set(xscale="log", yscale="log", xlabel="experts", ylabel="validation loss (nats a token)")
    ax.set_xscale("log", base=2)
    ends = []
    for size, look in zip(sizes, style.styles(len(sizes)), strict=True):
        loss = table.loc[size, "routed_loss"].to_numpy()
        line = {"color": look["color"], "linestyle": look["linestyle"]}
        name = style.text_of(size, "parameter").replace("G", "B")
        ax.plot(experts, loss, label=name, linewidth=1.8, **line)
        ends.append((experts[-1], loss[-1], name, style.INK))
    dense = marks["dense_loss"]
    values = table["routed_loss"]
    low, high = min(values.min(), dense), max(values.max(), dense)
    ax.set(xlim=(experts[0], experts[-1]), ylim=(low / 1.03, high * 1.03))
    ax.plot([experts[0], experts[-1]], [dense, dense], color=style.NOTE, linewidth=0.9, label="dense")
    for size in sizes:
        at = marks[f"matching_experts_{size:g}"]
        if experts[0] < at <= experts[-1]:
            ax.plot(
                at,
                dense,
                "o",
                color="white",
                markeredgecolor=style.INK,
                markersize=7,
                zorder=3,
                label=f"match {size:g}",
            )
    target = style.text_of(marks["matched_dense_parameters"], "parameter").replace("G", "B")
    if "read_loss" in marks:
        ax.plot(marks["read_experts"], marks["read_loss"], "X", color=style.RED, markersize=7, zorder=3, label="read")
    ends.append((experts[-1], dense, f"{target} dense", style.NOTE))
    style.label_ends(ax, ends)
    ticks = [2.0**k for k in range(math.floor(math.log2(experts[0])), math.floor(math.log2(experts[-1])) + 1)]
    ax.xaxis.set_major_locator(FixedLocator(ticks))
    ax.xaxis.set_major_formatter(lambda x, _: f"{x:g}")
    ax.xaxis.set_minor_formatter(NullFormatter())
    for step in (0.02, 0.05, 0.1, 0.25, 0.5, 1.0):
        losses = [step * k for k in range(math.ceil(low / 1.03 / step), math.floor(high * 1.03 / step) + 1)]
        if len(losses) <= 8:
            break
    ax.yaxis.set_major_locator(FixedLocator(losses))
    ax.yaxis.set_major_formatter(lambda y, _: f"{y:.2f}")
    ax.yaxis.minorticks_off()
    matched = [(size, marks[f"matching_experts_{size:g}"]) for size in sizes]
    reached = [(size, at) for size, at in matched if experts[0] < at <= experts[-1]]
    if reached:
        size, at = reached[0]
        name = style.text_of(size, "parameter").replace("G", "B")
        also = f"\nthe lecture reads {marks['read_experts']:g}" if marks.get("read_parameters") == size else ""
        style.callout(
            ax, f"{name} active match\n{target} dense at {at:.3g} experts{also}", (at, dense), (0.06, 0.1), va="center"
        )


_CASES = {
    "8 chips, as placed": (8, "as_placed"),
    "8 chips, rebalanced": (8, "rebalanced"),
    "64 chips, as placed": (64, "as_placed"),
    "64 chips, rebalanced": (64, "rebalanced"),
}
_COPIES = 64.0
_ROUTED: dict[str, dict[str, Any]] = {
    "model": {"experts": 256.0, "experts_per_token": 8.0},
    "": {"expert_popularity_cv": 0.6, "expert_statistics_drift": 0.1},
}


def _imbalance_vs_tokens(**inputs: Any) -> pd.DataFrame:
    import numpy as np

    routed = filled(inputs, _ROUTED, scenario="DeepSeek-V3's experts")
    tokens = np.geomspace(64, 65536, 91)
    cases = {}
    for name, (chips, placement) in _CASES.items():
        copies = {"redundant_experts": _COPIES} if placement == "rebalanced" else {}
        layout = {"expert_parallel": chips, "expert_placement": placement, "routed_tokens": tokens}
        drift = {"expert_statistics_drift"} if placement == "as_placed" else set()
        cases[name] = {**{name: x for name, x in routed.items() if name not in drift}, **copies, **layout}
    table = tabulated(datasets(["expert_imbalance"], "case", cases), ["case", "routed_tokens"], "imbalance_vs_tokens")
    last = table["expert_imbalance"].groupby("case").last()
    marks = {
        "placed_imbalance": float(last["64 chips, as placed"]),
        "rebalanced_imbalance": float(last["64 chips, rebalanced"]),
    }
    table.attrs["marks"] = marks
    table.attrs["units"] |= dict.fromkeys(marks, "1")
    return table


@chart(
    "C43",
    _imbalance_vs_tokens,
    title="Expert imbalance by tokens of a pass, 256 experts",
    subject="Expert imbalance by tokens of a pass",
    paragraph=(
        "The fullest of 64 chips has {placed_imbalance:3} times the mean load at any number of tokens in a pass. "
        "Placed by measured load, with 64 copies of the hottest experts, it has {rebalanced_imbalance:3} times."
    ),
    inputs=("experts", "experts_per_token", "expert_popularity_cv", "expert_statistics_drift"),
    chapter=2,
    size=(6.5, 4.0),
)
def imbalance_vs_tokens(ax: Axes, table: pd.DataFrame) -> None:
    """Load of the fullest chip relative to the mean by tokens of a pass.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `expert_imbalance`, such as `model` and `expert_popularity_cv`. `routed_tokens` is the axis.

    Returns
    -------
    matplotlib.axes.Axes
    """
    tokens = table.index.unique("routed_tokens").to_numpy(dtype=float)
    ax.set(xscale="log", xlabel="tokens of a pass", ylabel="fullest chip relative to the mean")
    ends = []
    for k, (name, (_, placement)) in enumerate(_CASES.items()):
        row = table.xs(name, level="case")["expert_imbalance"]
        color, dashes = style.PALETTE[k // 2], "-" if placement == "as_placed" else "--"
        ax.plot(tokens, row.to_numpy(), label=name, linewidth=1.9, color=color, linestyle=dashes)
        ends.append((float(tokens[-1]), float(row.iloc[-1]), name, color))
    ax.set(xlim=(tokens[0], tokens[-1]), ylim=(1, 1.04 * float(table["expert_imbalance"].max())))
    style.label_ends(ax, ends)
    words = "fullest of 64 chips: {placed_imbalance:3} × as placed,\n{rebalanced_imbalance:3} × rebalanced"
    finding(ax, table, words, to=(0.45, 0.8))
    style.scale_ticks(ax.xaxis, "token")
