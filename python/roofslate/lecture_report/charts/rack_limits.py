"""Chapter 2: binding limit of a rack by the chips in it."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.plotting.chart import chart, dataset, filled, number, tabulated
from roofslate.presets.catalog import hardware

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["rack_limits"]

_BLACKWELL = "GB200 NVL72"
_FLOOR = 1600.0  # kg, an example
_OF_RACK = (
    "scale_up_domain", "cables_per_chip", "rack_power", "rack_fixed_power", "rack_power_per_chip",
    "liquid_cooled_share", "liquid_cooling", "air_cooling", "chips_per_tray", "tray_weight", "rack_fixed_weight",
)  # fmt: skip
# Use of each limit, and the chips allowed by it.
_LIMITS = {
    "cables": ("cable_density", "cable_limited_domain"),
    "power": ("rack_power_utilization", "power_limited_domain"),
    "cooling": ("rack_cooling_utilization", "cooling_limited_domain"),
    "weight": ("rack_weight_utilization", "weight_limited_domain"),
}


def _rack_limits(**inputs: Any) -> pd.DataFrame:
    import numpy as np

    blackwell = hardware[_BLACKWELL]
    rack = {name: blackwell[name] for name in _OF_RACK}
    inputs = filled(inputs, {"": {**rack, "rack_weight_limit": _FLOOR}}, scenario=f"{_BLACKWELL}, a floor for 1.6 t")
    chips = number("scale_up_domain", **inputs)
    if "cable_limit" not in inputs and "cable_channel_width" not in inputs:
        inputs["cable_limit"] = 2 * number("rack_cables", **inputs)  # room for as many
    marks = {domain: number(domain, **inputs) for _, domain in _LIMITS.values()}
    marks["largest_scale_up_domain"] = number("largest_scale_up_domain", **inputs)
    axis = np.arange(1, 2 * chips + 1)
    uses = dataset([use for use, _ in _LIMITS.values()], **{**inputs, "scale_up_domain": axis})
    table = tabulated(uses.broadcast_like(uses["cable_density"]), "scale_up_domain", "rack_limits", **marks)
    table.attrs["marks"]["rack"] = float(chips)
    table.attrs["units"]["rack"] = "chip"
    return table


@chart(
    "C53",
    _rack_limits,
    title="Limits of a rack by scale-up domain, 132 kW supply",
    subject="Limits of a rack by scale-up domain",
    paragraph=(
        "Cables are one limit of a rack among four. Its supply feeds {power_limited_domain} chips, and its cooling "
        "keeps up with {cooling_limited_domain}. The floor bears {weight_limited_domain}, and there is room for the "
        "cables of {cable_limited_domain}. The least of them, {largest_scale_up_domain} chips, is the largest "
        "scale-up domain."
    ),
    inputs=(*_OF_RACK, "rack_weight_limit", "cable_limit"),
    chapter=2,
    size=(6.5, 4.0),
)
def rack_limits(ax: Axes, table: pd.DataFrame) -> None:
    """Use of a rack's room for cables, power supply, cooling and floor, by the chips in it.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw. By default a new figure.
    **inputs
        `hardware`, or its numbers; `rack_weight_limit`; `cable_limit`, by default twice the cables of the rack. The
        axis reaches from one chip to twice the `scale_up_domain`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    chips = table.index.to_numpy(dtype=float)
    right, most = float(chips[-1]), marks["largest_scale_up_domain"]
    ends = []
    for (word, (use, _)), look in zip(_LIMITS.items(), style.styles(len(_LIMITS)), strict=True):
        share = table[use].to_numpy(dtype=float)
        if not share.any() or share[0] == math.inf:
            continue  # without limit, or nothing at all is allowed
        plain = {name: x for name, x in look.items() if name not in ("marker", "markersize")}
        ax.plot(chips, share, label=use, drawstyle="steps-post" if word == "weight" else "default", **plain)
        ends.append((right, float(share[-1]), word, look["color"]))
    dashed: dict[str, Any] = {"color": style.INK, "linewidth": 1, "linestyle": (0, (5, 2))}
    ax.plot([0, right], [1, 1], label="limit", **dashed)
    if 0 < marks["rack"] < right:
        ax.axvline(marks["rack"], label="rack", color=style.NOTE, linewidth=1, linestyle=(0, (1, 2)))
        ax.annotate(
            f"{marks['rack']:,.0f} chips",
            (marks["rack"], 0),
            xytext=(-4, 6),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=8,
            color=style.NOTE,
            bbox=style.HALO,
        )
    ax.set(xlim=(0, right), ylim=(0, None), xlabel="chips of the rack", ylabel="use of the limit")
    if most < right:
        binding = next(word for word, (_, domain) in _LIMITS.items() if marks[domain] == most)
        ax.axvspan(
            most, right, facecolor="none", edgecolor="#C9C9C9", hatch="///", linewidth=0, gid="no room", zorder=0
        )
        ax.plot(most, 1, "o", color=style.INK, markersize=7, label="largest_scale_up_domain", zorder=4)
        ax.annotate(
            f"{binding} {'binds' if most else 'binds at once'}: {most:,.0f} chips",
            (most, 1),
            xytext=(-8, 6),
            textcoords="offset points",
            ha="right",
            va="bottom",
            fontsize=9,
            color=style.INK,
            bbox=style.HALO,
        )
    style.label_ends(ax, ends)
    style.scale_ticks(ax.xaxis, "chip")
