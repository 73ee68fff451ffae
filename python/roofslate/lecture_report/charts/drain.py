"""Chapter 6: drain time of devices, and their occupancy by a stored KV cache."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate.display import style
from roofslate.errors import ValueRangeError
from roofslate.lecture_report.charts._tiers import device_of, find_tier, looks_of, named_tiers, scenario
from roofslate.plotting.chart import chart, datasets, number, tabulated

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from roofslate.presets.preset import Preset

__all__ = ["device_occupancy", "drain_times"]

_KINDS = {
    "HBM": ["HBM"],
    "DDR": ["LPDDR", "DDR"],
    "flash": ["NVMe 1 TB", "NVMe", "QLC", "QLC 122 TB"],
    "disk": ["HDD 18 TB", "HDD", "HDD 24 TB"],
}


_DRAIN = ("tier_capacity", "tier_bandwidth")


def _drain_times(*, tiers: Any = None, **inputs: Any) -> pd.DataFrame:
    inputs = scenario(inputs)
    groups = _KINDS if tiers is None else tiers
    if not isinstance(groups, Mapping):
        groups = {label: [preset] for label, preset in named_tiers(groups).items()}
    cases, kinds, claims = {}, [], {}
    for kind, members in groups.items():
        for preset in named_tiers(members).values():
            device = device_of(preset, inputs, _DRAIN)
            name = f"{kind}: {preset.name}"
            cases[name] = {key: device[key] for key in _DRAIN}
            kinds.append(str(kind))
            for key, mark in (("claimed_drain_time", "claimed"), ("most_claimed_drain_time", "most_claimed")):
                if key in preset.attributes:
                    claims[f"{mark}_{kind}"] = units.to_base(preset.attributes[key], "s")
    if not cases:
        raise ValueRangeError("tiers: a chart of tiers needs one at least, got none")
    devices = datasets(["tier_drain_time", "tier_capacity"], "device", cases)
    devices["kind"] = ("device", kinds)
    table = tabulated(devices, "device", "drain_times")
    by_kind = table.groupby("kind", sort=False)["tier_drain_time"]
    ends = {"least": by_kind.min(), "most": by_kind.max()}
    marks = {f"{end}_{kind}": float(x) for end, column in ends.items() for kind, x in column.items()}
    table.attrs["marks"] = marks | claims
    table.attrs["units"] |= dict.fromkeys(table.attrs["marks"], "s")
    return table


@chart(
    "C25",
    _drain_times,
    title="Drain time by storage device, ten devices",
    subject="Drain time by storage device",
    paragraph=(
        "The time to read a device once is the ratio of its capacity to its bandwidth. A token that waits that long "
        "costs as much to hold as to read back, so a memory suits this time. HBM takes {least_HBM}, DDR {least_DDR} "
        "to {most_DDR}, flash {least_flash} to {most_flash} by its density, a disk {least_disk} to {most_disk}. The "
        "hollow marks are the lecture's times, {claimed_HBM}, {claimed_DDR} to {most_claimed_DDR}, {claimed_flash} "
        "and {claimed_disk}. The last is not a disk's time, but fits dense flash."
    ),
    inputs=("hardware",),
    chapter=6,
    size=(6.5, 3.9),
)
def drain_times(ax: Axes, table: pd.DataFrame) -> None:
    """Table of drain times by kind of memory, computed and claimed by the lecture.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    tiers : mapping or list, optional
        Storage presets by kind, or a list, each a separate kind. HBM is the chip's.
    **inputs
        `hardware`, or `hbm_capacity` and `hbm_bandwidth`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    kinds = table["kind"].drop_duplicates().to_list()
    looks = looks_of(kinds)
    shown = [*table["tier_drain_time"], *(x for name, x in marks.items() if "claimed" in name)]
    low, high = 10 ** math.floor(math.log10(min(shown)) - 0.2), 1.15 * max(shown)
    texts, sizes = (
        {kind: _reach(table.loc[table["kind"] == kind, name], unit) for kind in kinds}
        for name, unit in (("tier_drain_time", "s"), ("tier_capacity", "byte"))
    )
    text_share = _room(ax, texts.values())
    ax.set(xscale="log", xlim=(low, low * (high / low) ** (1 / (1 - text_share))), ylim=(len(kinds) - 0.4, -0.5))
    ax.set_xlabel("time to read all of it once", x=(1 - text_share) / 2)
    for y, kind in enumerate(kinds):
        color = looks[kind]["color"]
        least, most = marks[f"least_{kind}"], marks[f"most_{kind}"]
        ax.barh(y, least - low, left=low, height=0.34, color=color, alpha=0.22, gid=f"reach {kind}")
        ax.barh(y, most - least, left=least, height=0.34, color=color, alpha=0.8, gid=f"range {kind}")
        times = table.loc[table["kind"] == kind, "tier_drain_time"].to_numpy()
        ticks: dict[str, Any] = {"color": style.INK, "linestyle": "none", "markersize": 12, "markeredgewidth": 1.6}
        ax.plot(times, [y] * times.size, "|", label=f"devices {kind}", zorder=3, **ticks)
        note: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9, "va": "center", "ha": "left"}
        ax.annotate(texts[kind], (most, y), xytext=(8, 0), color=style.INK, **note)
        if f"claimed_{kind}" in marks:
            claim = marks[f"claimed_{kind}"]
            ends = list(dict.fromkeys([claim, marks.get(f"most_claimed_{kind}", claim)]))
            hollow: dict[str, Any] = {
                "color": style.INK,
                "linestyle": ":",
                "linewidth": 1.2,
                "markerfacecolor": "white",
            }
            ax.plot(ends, [y + 0.36] * len(ends), "D", label=f"claimed {kind}", markersize=6.5, zorder=3, **hollow)
            said = " to ".join(map(style.moment, ends))
            ax.annotate(f"lecture: {said}", (ends[-1], y + 0.36), xytext=(8, 0), color=style.NOTE, **note)
    ax.spines["bottom"].set_bounds(low, high)
    style.time_ticks(ax.xaxis)
    ax.set_yticks(range(len(kinds)), [f"{kind}\n{sizes[kind]}" for kind in kinds], fontsize=9, linespacing=1.25)
    ax.tick_params(axis="y", length=0)
    ax.spines["left"].set_color("#B0B0B0")


def _reach(values: pd.Series, unit: str) -> str:
    """Write the range of the devices of a kind."""
    return " to ".join(dict.fromkeys(style.text_of(float(x), unit) for x in (values.min(), values.max())))


def _room(ax: Axes, texts: Iterable[str]) -> float:
    """Share of the axes that the widest of the texts takes."""
    measured = [ax.text(0, 0, text, fontsize=9) for text in texts]
    widest = max(m.get_window_extent().width for m in measured)
    for m in measured:
        m.remove()
    return float(min((widest + 14 * ax.figure.dpi / 72) / (0.86 * max(ax.get_window_extent().width, 1.0)), 0.5))


def _device_occupancy(
    *, tier: str | Preset = "NVMe", held_share: Any = 0.1, hold_time: Any = None, **inputs: Any
) -> pd.DataFrame:
    import pandas as pd

    preset = find_tier(tier)
    inputs = scenario(inputs)
    device = {**inputs, **device_of(preset, inputs, _DRAIN), "held_share": held_share}
    drain = number("tier_drain_time", **device)
    device["hold_time"] = drain if hold_time is None else hold_time
    share = number("held_share", **device)
    if share <= 0:
        raise ValueRangeError(f"held_share: the drawing needs more than nothing held, got {share:g}")
    hold, read = number("hold_time", **device), number("tier_retrieval_time", **device)
    busy = number("held_capacity_time", **device)
    rows = {"hold": (0.0, hold, share, busy), "retrieve": (hold, read, 1.0, read)}
    table = pd.DataFrame.from_dict(rows, orient="index", columns=["start", "duration", "share", "device_time"])
    table.index.name = "use"
    table.attrs["marks"] = {"tier_drain_time": drain, "hold_time": hold, "held_share": share, "device_time": busy}
    table.attrs["units"] = {
        **dict.fromkeys(["start", "duration", "device_time", "tier_drain_time", "hold_time"], "s"),
        **dict.fromkeys(["share", "held_share"], "1"),
    }
    table.attrs["tier"] = preset.name
    return table


@chart(
    "C26",
    _device_occupancy,
    title="Device time to hold and to retrieve a KV cache, flash, 10% held",
    subject="Device time to hold and to retrieve a KV cache",
    paragraph=(
        "A KV cache that fills {held_share:2} of a flash drive's capacity blocks that share for as long as it waits. "
        "To retrieve it takes the whole bandwidth of the drive, for that share of the time in which the drive is "
        "read. After {hold_time} both areas are equal, {device_time} of the whole device each. A shorter wait leaves "
        "capacity idle on a drive that is busy reading, a longer one the reverse."
    ),
    inputs=(
        "held_share",
        "hold_time",
    ),
    chapter=6,
    size=(6.5, 3.4),
)
def device_occupancy(ax: Axes, table: pd.DataFrame) -> None:
    """Device time that holding and reading a KV cache take.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    tier : str or Preset
        The device.
    held_share : float
        Share of its capacity that is held.
    hold_time : float or str, optional
        How long; the time to read the device once otherwise, at which both areas are equal.
    **inputs
        `hardware`, for HBM.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.patches import Rectangle

    uses: dict[str, dict[str, float]] = table.to_dict("index")  # type: ignore[assignment]
    hold, read = uses["hold"], uses["retrieve"]
    end = read["start"] + read["duration"]
    faces = {"hold": ("#CFE3F1", style.COMPUTE["color"], ""), "retrieve": ("#F6D9C4", "#A84A00", "//")}
    for use, row in uses.items():
        face, edge, hatch = faces[use]
        look = {"facecolor": face, "edgecolor": edge, "hatch": hatch, "linewidth": 1.2}
        ax.add_patch(Rectangle((row["start"], 0), row["duration"], row["share"], gid=use, **look))
    ax.set(xlim=(0, 1.02 * end), ylim=(0, 1.3), xlabel="time", ylabel="share of the device")
    said = {use: style.text_of(row["device_time"], "s") for use, row in uses.items()}
    long = style.moment(hold["duration"])
    above = hold["share"] + 0.03
    ax.text(
        0.02 * end,
        min(above, 1.03),
        f"hold: {_percent(hold['share'])} of the capacity for {long}\n= {said['hold']} of the whole",
        fontsize=9,
        color=faces["hold"][1],
        va="bottom",
        bbox=style.HALO if above < 0.8 else None,
        zorder=3,
    )
    middle = read["start"] + read["duration"] / 2
    right = middle > 0.5 * end
    low = above > 0.8
    ax.annotate(
        f"retrieve: all of the bandwidth\nfor {said['retrieve']}",
        (middle, 0.5 if low else 1.0),
        xytext=(-26 if right else 26, -14 if low else 10),
        textcoords="offset points",
        ha="right" if right else "left",
        va="center" if low else "bottom",
        fontsize=9,
        color=faces["retrieve"][1],
        bbox=style.HALO,
        arrowprops={"arrowstyle": "-", "color": faces["retrieve"][1], "linewidth": 0.8, "shrinkB": 0},
        zorder=4,
    )
    ax.set_yticks([0, hold["share"], 1])
    ax.yaxis.set_major_formatter(lambda y, _: _percent(y))
    ax.set_xticks([0, hold["duration"]], ["0", long])


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"
