"""Chapter 2: size of a rack, and its limits."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.display.diagram import box, decade_ticks, letters, whole
from roofslate.errors import AxisError, MissingInput, ValueRangeError
from roofslate.lecture_report.charts.rack_diagrams import INSIDE, OUTSIDE, WORD
from roofslate.plotting.chart import chart, dataset, filled, number, tabulated
from roofslate.presets.catalog import hardware
from roofslate.presets.lookup import find_preset
from roofslate.presets.preset import Preset
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["cable_density", "scale_up_domains"]

_DASH = "\N{EN DASH}"
_MOST_TRAYS = 8
_CABLES_OF_A_TRAY = 2  # in the drawing
_BLACKWELL = "GB200 NVL72"

_LIMITED = {
    "cable_limited_domain": "cables",
    "power_limited_domain": "power",
    "cooling_limited_domain": "cooling",
    "weight_limited_domain": "weight",
}


def _cable_density(*, trays_per_side: float = 2, **inputs: Any) -> pd.DataFrame:
    import numpy as np

    trays = whole("trays_per_side", float(trays_per_side))
    if trays < 1:
        raise ValueRangeError(f"trays_per_side: a rack needs at least 1, got {trays}")
    blackwell = hardware[_BLACKWELL]
    inputs = filled(
        inputs, {"": {name: blackwell[name] for name in ("cables_per_chip", "scale_up_domain")}}, scenario=_BLACKWELL
    )
    inputs.setdefault("cable_limit", number("rack_cables", **inputs))  # the rack is full
    chips = number("scale_up_domain", **inputs)
    racks = {"": chips, "doubled_": 2 * chips}
    named = ("cables_per_chip", "cable_limit", "largest_scale_up_domain", *_LIMITED)
    marks = {name: number(name, **inputs) for name in named}
    marks["trays_per_side"] = float(trays)
    units = {"trays_per_side": "1"}
    for size, domain in racks.items():
        for name in ("scale_up_domain", "rack_cables", "cable_density"):
            marks[f"{size}{name}"] = number(name, **{**inputs, "scale_up_domain": domain})
            units[f"{size}{name}"] = "chip" if name == "scale_up_domain" else "1"
    axis = np.union1d(np.linspace(1, 2.3 * chips, 24), [*racks.values()])
    cables = dataset(["rack_cables", "cable_density"], **{**inputs, "scale_up_domain": axis})
    table = tabulated(cables, "scale_up_domain", "cable_density", **marks)
    table.attrs["units"] |= units
    return table


@chart(
    "C9",
    _cable_density,
    title="Cables of a rack by scale-up domain, up to twice 72 chips",
    subject="Cables of a rack by scale-up domain",
    paragraph=(
        "Every chip brings its cables, and all of them run through the rack to the switches in its middle. "
        "{scale_up_domain:2} chips with {cables_per_chip:2} each make {rack_cables:4} cables, and "
        "{doubled_scale_up_domain:3} chips make {doubled_rack_cables:4}. If a current rack is full, that is "
        "{doubled_cable_density:2} times the room for connectors and bends. Power, cooling and weight set separate "
        "limits."
    ),
    inputs=(
        "trays_per_side",
        "cables_per_chip",
        "scale_up_domain",
        "cable_limit",
    ),
    chapter=2,
    size=(6.5, 4.0),
)
def cable_density(ax: Axes, table: pd.DataFrame) -> None:
    """Cables of a rack by its chips, for two densities of trays.

    Parameters
    ----------
    ax : Axes, optional
        Divided into a drawing and a plot; a new figure by default.
    trays_per_side : int
        Trays above the switches, and below, of the first rack in the drawing; the second has twice as many.
    **inputs
        `scale_up_domain` chips (or `hardware`) with `cables_per_chip` each; `cable_limit`, by default what this rack
        needs; `power_limited_domain`, `cooling_limited_domain` and `weight_limited_domain`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    ax.set_axis_off()
    size = letters(ax, 9, (7.7, 3.85))
    drawing, plot = ax.inset_axes((0, 0, 0.36, 1)), ax.inset_axes((0.47, 0.12, 0.53, 0.85))
    trays = int(marks["trays_per_side"])
    for k, (count, word) in enumerate(((trays, ""), (2 * trays, "doubled_"))):
        _tray_rack(drawing, 1.35 * k, count, size)
        chips = style.text_of(marks[f"{word}scale_up_domain"], "1", 4)
        drawing.text(1.35 * k + 0.5, -0.05, f"{chips} chips", ha="center", va="top", fontsize=size)
    drawing.set(xlim=(-0.05, 2.4), ylim=(-0.16, 1.08))
    drawing.set_axis_off()
    _cables_against_chips(plot, table, size)


def _tray_rack(ax: Axes, x: float, trays: int, size: float) -> None:
    """Draw a rack of switches, trays and cables.

    Switches are in the middle, with trays above and below. Cables run from each tray along the rack.
    """
    drawn = min(trays, _MOST_TRAYS)
    box(ax, (x, 0), (1, 1.05), "rack", facecolor="none", edgecolor=style.INK, linewidth=1.3)
    box(ax, (x + 0.06, 0.465), (0.88, 0.12), "switch", facecolor="#DCE9F3", edgecolor=INSIDE, zorder=3)
    ax.text(x + 0.5, 0.525, "switches", ha="center", va="center", fontsize=size, color=WORD, zorder=4)
    step = 0.42 / drawn
    lanes = drawn * _CABLES_OF_A_TRAY
    for direction in (1, -1):
        for k in range(drawn):  # from the switches outwards
            middle = 0.525 + direction * (0.1 + (k + 0.5) * step)
            box(
                ax,
                (x + 0.06, middle - 0.36 * step),
                (0.88, 0.72 * step),
                "tray",
                facecolor="#F4F6F8",
                edgecolor="#5F7385",
                zorder=2,
            )
            for c in range(_CABLES_OF_A_TRAY):
                lane = x + 0.5 + 0.76 * ((k + c * drawn + 0.5) / lanes - 0.5)
                ax.plot(
                    [lane, lane],
                    [middle, 0.525 + 0.06 * direction],
                    color=INSIDE,
                    linewidth=1.4 if drawn <= 4 else 0.8,
                    linestyle="-",
                    marker="o",
                    markevery=[0],
                    markersize=2.2,
                    gid="cable",
                    zorder=2.5,
                )
    if drawn < trays:
        note = f"{trays:,} trays a side"
        ax.text(x + 0.5, 1.07, note, ha="center", va="bottom", fontsize=size, color=style.NOTE)


def _cables_against_chips(ax: Axes, table: pd.DataFrame, size: float) -> None:
    marks = table.attrs["marks"]
    chips, cables = table.index.to_numpy(), table["rack_cables"].to_numpy()
    most, limit = marks["largest_scale_up_domain"], marks["cable_limit"]
    top = 1.08 * max(cables[-1], limit if limit < 2 * cables[-1] else 0)
    ax.plot(chips, cables, color=INSIDE, linewidth=2, linestyle="-", label="rack_cables")
    ax.set(
        xlim=(0, 1.03 * chips[-1]), ylim=(0, top), xlabel="chips of the rack", ylabel="cables of the rack"
    )  # room for the last tick
    ax.tick_params(labelsize=size)
    for label in (ax.xaxis.label, ax.yaxis.label):
        label.set_fontsize(1.05 * size)
    if limit < top:
        dashed: dict[str, Any] = {"color": OUTSIDE, "linestyle": (0, (5, 2)), "linewidth": 1.4}
        ax.axhline(limit, label="cable_limit", **dashed)
        note = f"room for {style.text_of(limit, '1', 4)} cables"
        low = limit - 0.02 * top
        ax.text(chips[-1], low, note, ha="right", va="top", fontsize=size, color=OUTSIDE, bbox=style.HALO)
    if most < chips[-1]:
        ax.axvspan(
            most,
            ax.get_xlim()[1],
            facecolor="none",
            edgecolor="#C9C9C9",
            hatch="///",
            linewidth=0,
            gid="no room",
            zorder=0,
        )
    further = [name for name in _LIMITED if name != "cable_limited_domain" and marks[name] < chips[-1]]
    for k, name in enumerate(further):
        ax.axvline(marks[name], color=style.NOTE, linestyle=(0, (1, 1)), linewidth=1.4, label=name)
        at = (marks[name], top * (0.04 + 0.09 * k))
        ax.text(*at, f" {_LIMITED[name]}", fontsize=size, color=style.INK, va="bottom", bbox=style.HALO, zorder=3)
    for word, direction in (("", 1), ("doubled_", -1)):
        x, y = marks[f"{word}scale_up_domain"], marks[f"{word}rack_cables"]
        ax.plot(x, y, "o", color=style.INK, markersize=6, label=f"{word}rack", zorder=4)
        count, full = style.text_of(y, "1", 4), style.text_of(marks[f"{word}cable_density"], "1")
        text = f"{count} cables" + (f",\n{full} {style.TIMES} the room" if marks[f"{word}cable_density"] > 1 else "")
        ax.annotate(
            text,
            (x, y),
            xytext=(-8, 4),
            textcoords="offset points",
            ha="right",
            va="bottom" if direction > 0 else "center",
            fontsize=size,
            bbox=style.HALO,
            zorder=3.5,
        )
    style.scale_ticks(ax.xaxis, "1")
    style.scale_ticks(ax.yaxis, "1")


_SYSTEMS = (
    "HGX H100",
    "GB200 NVL72",
    "Vera Rubin NVL72",
    "Rubin Ultra NVL576",
    "MI300X",
    "Trainium2",
    "TPU v5p",
    "TPU 7x",
)

_TOLD = ("scale_up_dies", "domain_capacity", "scale_up_bandwidth", "scale_out_bandwidth", "link_bandwidth_ratio")
_GROWTH = ("scale_up_domain_growth", "scale_up_die_growth")


def _known(output: str, inputs: Mapping[str, Any]) -> float:
    """Evaluate a quantity, NaN for a system with missing inputs."""
    try:
        return number(output, **inputs)
    except MissingInput:
        return math.nan


def _by_system(inputs: dict[str, Any]) -> dict[str, dict[str, Any]]:
    if not inputs:
        return {name: {"hardware": name} for name in _SYSTEMS}
    if "hardware" not in inputs:
        return {"this system": inputs}
    given = inputs["hardware"]
    systems = [given] if isinstance(given, (str, Preset)) else list(given)
    if not systems:
        raise AxisError("hardware: expected at least one name")
    return {str(getattr(system, "name", system)): {**inputs, "hardware": system} for system in systems}


def _scale_up_domains(**inputs: Any) -> pd.DataFrame:
    import pandas as pd

    rows: dict[str, dict[str, Any]] = {}
    earlier: dict[str, Any] = {}
    for name, case in _by_system(inputs).items():
        preset = find_preset("hardware", case["hardware"]) if "hardware" in case else None
        row: dict[str, Any] = {"network": preset.attributes.get("network", "") if preset else ""}
        row["scale_up_domain"] = number("scale_up_domain", **case)
        row |= {output: _known(output, case) for output in _TOLD}
        before = earlier.get(row["network"], {})
        row |= {output: _known(output, {**before, **case}) for output in _GROWTH}
        rows[name] = row
        if row["network"]:
            generation = {word: _known(word, case) for word in ("scale_up_domain", "dies_per_chip")}
            earlier[row["network"]] = {f"earlier_{word}": x for word, x in generation.items() if not math.isnan(x)}
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("hardware")
    units = {name: entries()[name].unit for name in table.columns if name in entries()}
    table.attrs["units"] = {"network": "1", **units}
    table.attrs["marks"] = {}
    for (name, output), mark in {
        ("HGX H100", "scale_up_domain"): "hopper_domain",
        ("GB200 NVL72", "scale_up_domain"): "blackwell_domain",
        ("GB200 NVL72", "scale_up_domain_growth"): "blackwell_growth",
        ("GB200 NVL72", "scale_up_dies"): "blackwell_dies",
        ("Rubin Ultra NVL576", "scale_up_dies"): "rubin_dies",
        ("Rubin Ultra NVL576", "scale_up_die_growth"): "rubin_die_growth",
        ("Rubin Ultra NVL576", "scale_up_domain_growth"): "rubin_growth",
    }.items():
        if name in table.index:
            table.attrs["marks"][mark] = float(rows[name][output])
            table.attrs["units"][mark] = units[output]
    return table


@chart(
    "C10",
    _scale_up_domains,
    title="Scale-up domain by system, eight systems",
    subject="Scale-up domain by system",
    paragraph=(
        "From Hopper to Blackwell the domain grew from {hopper_domain} to {blackwell_domain} chips, "
        "{blackwell_growth} times. The lecture's 500 and something for Rubin are dies. {rubin_dies} of them are "
        "{rubin_die_growth} times Blackwell's {blackwell_dies}, and {rubin_growth} times its packages. Other systems "
        "join thousands of chips in a torus. Each chip has fast links only to its neighbors, and more distant traffic "
        "takes more hops."
    ),
    chapter=2,
    size=(6.5, 4.9),
)
def scale_up_domains(ax: Axes, table: pd.DataFrame) -> None:
    """Scale-up domains of several systems, with dies, links and memory.

    Parameters
    ----------
    ax : Axes, optional
        Divided into three plots; a new figure by default.
    **inputs
        `hardware`: a name or a list; or `scale_up_domain`, `dies_per_chip`, `hbm_capacity`, `scale_up_bandwidth`,
        `scale_out_bandwidth` of one system. Growth is relative to the previous system with the same links.

    Returns
    -------
    matplotlib.axes.Axes
    """
    ax.set_axis_off()
    size = letters(ax, 8.5, scale_up_domains.size)
    places = ((0.19, 0.27), (0.5, 0.27), (0.81, 0.19))  # left and width of the panels, in shares
    panels = [ax.inset_axes((x0, 0.09, width, 0.79)) for x0, width in places]
    for panel, (heading, _) in zip(panels, _HEADINGS, strict=True):
        panel.set(xscale="log", ylim=(len(table) - 0.5, -0.6))
        panel.text(0, 1.06, heading, transform=panel.transAxes, fontsize=size, va="bottom", weight="bold")
        panel.set_yticks(range(len(table)), [])
        panel.patch.set_visible(False)  # words of its neighbor may reach into it
        panel.tick_params(axis="y", length=0)
        panel.tick_params(axis="x", labelsize=size)
        for side in ("top", "right", "left"):
            panel.spines[side].set_visible(False)
    names = [f"{name}\n{row['network']}" if row["network"] else str(name) for name, row in table.iterrows()]
    panels[0].set_yticks(range(len(table)), names, fontsize=size)
    _domains(panels[0], table, size)
    _links(panels[1], table, size)
    _dots(panels[2], table["domain_capacity"], "domain_capacity", "byte", INSIDE, "o", size)
    for panel, (_, unit) in zip(panels, _HEADINGS, strict=True):
        decade_ticks(panel.xaxis, unit, 3 if unit == "1" else 2)


_HEADINGS = (("size of a domain", "1"), ("links of a chip, each way", "byte/s"), ("memory of a domain", "byte"))


def _dots(panel: Axes, values: Any, label: str, unit: str, color: str, marker: str, size: float) -> None:
    """Draw one marker a row, with its number, and a dash where it is unknown."""
    known = values.dropna()
    if not len(known):
        panel.set_axis_off()
        return
    panel.set_xlim(known.min() / 2, known.max() * (known.max() / known.min()) ** 1.1 * 20)
    panel.plot(values.to_numpy(), range(len(values)), marker, color=color, markersize=6, label=label, linestyle="none")
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": size}
    for y, x in enumerate(values):
        if math.isfinite(x):
            panel.annotate(style.text_of(x, unit), (x, y), xytext=(6, 0), gid=f"cell {y}", **look)
        else:
            panel.text(0.02, y, _DASH, transform=panel.get_yaxis_transform(), va="center", fontsize=size)


def _domains(panel: Axes, table: pd.DataFrame, size: float) -> None:
    """Draw chips and dies of each domain, with their growth since the system before."""
    chips, dies = table["scale_up_domain"].to_numpy(), table["scale_up_dies"].to_numpy()
    several = dies > 1.001 * chips
    rows = range(len(table))
    panel.hlines([y for y in rows if several[y]], chips[several], dies[several], color=OUTSIDE, linewidth=1)
    panel.plot(chips, rows, "o", color=INSIDE, markersize=6, label="scale_up_domain", linestyle="none")
    panel.plot(
        dies[several],
        [y for y in rows if several[y]],
        "D",
        markerfacecolor="white",
        markeredgecolor=OUTSIDE,
        markersize=5.5,
        label="scale_up_dies",
        linestyle="none",
    )
    panel.set_xlim(min(chips.min(), 8) / 2, max(chips.max(), dies[several].max(initial=1), 100) ** 2)
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": size}
    for y, (count, inner) in enumerate(zip(chips, dies, strict=True)):
        by_chips, by_dies = (float(table[name].iloc[y]) for name in _GROWTH)
        text = f"{style.text_of(count, '1', 4)} chips{_growth(by_chips)}"
        if several[y]:
            panel.annotate(text, (count, y), **{**look, "xytext": (0, 6), "va": "bottom", "color": INSIDE})
            text = f"{style.text_of(inner, '1', 4)} dies{_growth(by_dies)}"
        color = OUTSIDE if several[y] else INSIDE
        panel.annotate(text, (inner if several[y] else count, y), xytext=(6, 0), color=color, gid=f"cell {y}", **look)


def _growth(factor: float) -> str:
    return "" if math.isnan(factor) else f", {style.text_of(factor, '1')} {style.TIMES}"


def _links(panel: Axes, table: pd.DataFrame, size: float) -> None:
    """Draw the speed of a chip's links inside of the domain and out of it, with their ratio."""
    inside, out = (table[name].to_numpy() for name in ("scale_up_bandwidth", "scale_out_bandwidth"))
    known = [x for x in (*inside, *out) if math.isfinite(x)]
    if not known:
        panel.set_axis_off()
        return
    panel.set_xlim(min(known) / 2, max(known) * (max(known) / min(known)) ** 0.55 * 4)
    rows = range(len(table))
    panel.hlines(rows, out, inside, color=style.NOTE, linewidth=1, linestyle=(0, (2, 2)))
    panel.plot(inside, rows, "o", color=INSIDE, markersize=6, label="scale_up_bandwidth", linestyle="none")
    square: dict[str, Any] = {"markerfacecolor": "white", "markeredgecolor": OUTSIDE, "markersize": 5.5}
    panel.plot(out, rows, "s", label="scale_out_bandwidth", linestyle="none", **square)
    look: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": size}
    for y, (speed, ratio) in enumerate(zip(inside, table["link_bandwidth_ratio"], strict=True)):
        if math.isfinite(ratio) and math.isfinite(speed):
            panel.annotate(f"{ratio:.3g} {style.TIMES}", (speed, y), xytext=(6, 0), gid=f"cell {y}", **look)
    for k, (word, color) in enumerate((("in", INSIDE), ("out", OUTSIDE))):
        panel.text(0.5 * k, 1.01, f"{'●□'[k]} {word}", transform=panel.transAxes, fontsize=size, color=color)
