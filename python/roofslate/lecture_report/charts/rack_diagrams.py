"""Chapter 2: drawings of a layer of experts and of its rack."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.display.diagram import arrow, box, left_out, letters, whole
from roofslate.errors import ValueRangeError
from roofslate.plotting.chart import chart, filled, number, tabulated
from roofslate.presets.catalog import hardware, models
from roofslate.presets.lookup import PRESETS, find_preset

if TYPE_CHECKING:
    from collections.abc import Sequence

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["CHIP", "CROSSING", "FRAME", "INSIDE", "OUTSIDE", "SWITCH", "WORD", "moe_layer", "rack", "supplied"]

INSIDE = "#0072B2"  # the network of the rack
OUTSIDE = style.RED  # the one between racks
WORD, OUTSIDE_WORD = "#00588F", "#9A3D00"  # words in boxes of these networks
CHIP: dict[str, Any] = {"facecolor": "#F4F6F8", "edgecolor": "#5F7385"}
SWITCH: dict[str, Any] = {"facecolor": "#DCE9F3", "edgecolor": INSIDE}
_BUSY: dict[str, Any] = {"facecolor": INSIDE, "edgecolor": INSIDE}
_IDLE: dict[str, Any] = {"facecolor": "white", "edgecolor": "#66757F"}
FRAME: dict[str, Any] = {"facecolor": "none", "edgecolor": "#222222", "linewidth": 1.3}
CROSSING: dict[str, Any] = {"color": OUTSIDE, "linestyle": (0, (4, 2))}


def supplied(inputs: dict[str, Any]) -> set[str]:
    """Names that a call gives, by keyword or by preset."""
    presets = [
        find_preset(keyword, inputs[keyword])
        for keyword in PRESETS
        if keyword in inputs and not isinstance(inputs[keyword], (list, tuple))
    ]
    return {*inputs, *(name for preset in presets for name in preset.facts)}


def _sign(ax: Axes, at: tuple[float, float], text: str, gid: str, size: float) -> None:
    ax.plot(*at, "o", markersize=1.6 * size, markerfacecolor="white", markeredgecolor=style.INK, gid=gid, zorder=4)
    ax.text(*at, text, ha="center", va="center_baseline", fontsize=size, zorder=5)


_MOST_CHIPS, _MOST_EXPERTS, _MOST_ACTIVE = 8, 4, 3
_LAYER = ("hidden_size",)


def _moe_layer(**inputs: Any) -> pd.DataFrame:
    import numpy as np
    import xarray as xr

    deepseek = models["DeepSeek-V3 (lecture)"]
    inputs = filled(
        inputs,
        {
            "model": {"experts": 8, "experts_per_token": 3, **{name: deepseek[name] for name in _LAYER}},
            "hardware": {"expert_parallel": 4},
        },
    )
    inputs = filled(inputs, {"": {"dispatch_bytes_per_element": 1, "combine_bytes_per_element": 1}})
    named = (
        "experts",
        "experts_per_token",
        "expert_parallel",
        "experts_per_chip",
        "leftover_experts",
        "chips_contacted",
        "dispatch_bytes_per_layer",
        "combine_bytes_per_layer",
        "all_to_all_bytes_per_layer",
    )
    marks = {name: number(name, **inputs) for name in named}
    experts, chosen, chips, leftover = (
        whole(name, marks[name]) for name in ("experts", "experts_per_token", "expert_parallel", "leftover_experts")
    )
    each = int(marks["experts_per_chip"])
    rows = []
    for chip in (c for c in left_out(chips, _MOST_CHIPS, 5) if c is not None):
        first, count = chip * each + min(chip, leftover), each + (chip < leftover)
        rows += [(first + e, chip) for e in left_out(count, _MOST_EXPERTS) if e is not None]
    drawn = chosen if len(rows) == experts else min(chosen, _MOST_ACTIVE, len(rows))
    active = {int((j + 0.5) * len(rows) / drawn) for j in range(drawn)}
    data = xr.Dataset(
        {
            "chip": ("expert", np.array([chip for _, chip in rows], dtype=np.int64)),
            "active": ("expert", np.isin(np.arange(len(rows)), list(active))),
        },
        coords={"expert": np.array([expert for expert, _ in rows], dtype=np.int64)},
    )
    return tabulated(data, "expert", "moe_layer", **marks)


@chart(
    "C6",
    _moe_layer,
    title="Experts of a layer by chip, eight experts on four chips",
    subject="Experts of a layer by chip",
    paragraph=(
        "A router picks {experts_per_token} of {experts} experts for each token. The experts are spread across "
        "{expert_parallel} chips, {experts_per_chip:2} on each. A copy of the token goes to each chosen expert on its "
        "chip, and a result comes back. That is {dispatch_bytes_per_layer} out and {combine_bytes_per_layer} back in "
        "every layer. Results are summed and added to the token. Every chip sends to every other, an all-to-all."
    ),
    inputs=(
        "dispatch_bytes_per_element",
        "combine_bytes_per_element",
        "experts",
        "experts_per_token",
        "hidden_size",
        "expert_parallel",
    ),
    chapter=2,
    size=(6.5, 4.6),
)
def moe_layer(ax: Axes, table: pd.DataFrame) -> None:
    """One layer of experts, with router, experts by chip, sum and residual.

    Many chips and experts are drawn in part.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        `experts`, `experts_per_token` and `expert_parallel` (the scale-up domain of `hardware` unless given) make the
        drawing; `hidden_size`, `dispatch_bytes_per_element` and `combine_bytes_per_element` (1 unless given) make the
        volumes.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    chips = int(marks["expert_parallel"])
    shown = left_out(chips, _MOST_CHIPS, 5)
    width = {None: 0.7}
    experts = {chip: table.index[table["chip"] == chip].to_numpy() for chip in shown if chip is not None}
    widest = max(1, *(len(of_chip) + _gaps(of_chip) for of_chip in experts.values()))
    x, starts, top = 0.0, [], (5.9, 4.0)
    for chip in shown:
        starts.append(x)
        x += width[None] * widest if chip is None else widest + 0.7
    right = x - 0.3
    middle, unit = (right - 0.4) / 2, right / 12
    size = letters(ax, 9, (7.2, 3.6))
    router = (middle, 8.0)
    for chip, start in zip(shown, starts, strict=True):
        if chip is None:
            at = (start + width[None] * widest / 2 - 0.2, sum(top) / 2)
            ax.text(*at, style.ELLIPSIS, ha="center", va="center", fontsize=1.6 * size)
            continue
        low, high = top[1] - 0.3, top[0] + 0.75
        box(ax, (start, low), (widest + 0.4, high - low), "chip", **CHIP)
        behind = {"facecolor": CHIP["facecolor"], "edgecolor": "none", "pad": 0.8}
        named: dict[str, Any] = {"fontsize": size, "bbox": behind, "zorder": 4}
        ax.text(start + 0.2 + widest / 2, high - 0.12, f"chip {chip}", ha="center", va="top", **named)
        _experts(ax, table, experts[chip], start + 0.2, top, router, middle)
    _sign(ax, (middle, 1.9), "\N{GREEK CAPITAL LETTER SIGMA}", "sum", size)
    _sign(ax, (middle, 0.55), "+", "add", 1.15 * size)
    box(ax, (middle - 1.5 * unit, 8.0), (3 * unit, 0.8), "router", facecolor="#FBEBC8", edgecolor="#8A5A00")
    ax.text(middle, 8.4, "router", ha="center", va="center", fontsize=size, zorder=4)
    arrow(ax, (middle, 9.75), (middle, 8.82), "token", linewidth=1.6)
    arrow(ax, (middle, 1.66), (middle, 0.82), "summed", linewidth=1.6)
    arrow(ax, (middle, 0.3), (middle, -0.55), "out", linewidth=1.6)
    aside = -0.7 * unit
    ax.plot([middle, aside, aside], [9.3, 9.3, 0.55], color=style.INK, linewidth=1.6, linestyle="-", gid="residual")
    arrow(ax, (aside, 0.55), (middle - 0.4 * unit, 0.55), "residual", linewidth=1.6)
    _layer_words(ax, marks, int(table["active"].sum()), (middle, right, unit), size)
    _expert_parts(ax, right + 0.5 * unit, unit, top, size)
    ax.set(xlim=(aside - 0.9 * unit, right + 4.4 * unit), ylim=(-0.6, 10.0))
    ax.set_axis_off()


def _gaps(experts: Any) -> float:
    """Room for an ellipsis where the experts of a chip are drawn in part."""
    return 0.8 if len(experts) > 1 and experts[-1] - experts[0] >= len(experts) else 0.0


def _glyph(ax: Axes, x: float, wide: float, rows: tuple[float, float], look: dict[str, Any], gid: str) -> None:
    """Draw an expert: a matrix that widens, a nonlinearity, a matrix that narrows."""
    from matplotlib.patches import Polygon

    high, low = rows
    third = (high - low) / 3
    narrow = 0.24 * wide
    up = [(x + narrow, high), (x + wide - narrow, high), (x + wide, high - third), (x, high - third)]
    down = [(x, low + third), (x + wide, low + third), (x + wide - narrow, low), (x + narrow, low)]
    ax.add_patch(Polygon(up, closed=True, gid=f"{gid} up", linewidth=0.8, zorder=2.5, **look))
    ax.add_patch(Polygon(down, closed=True, gid=f"{gid} down", linewidth=0.8, zorder=2.5, **look))
    box(ax, (x, low + third), (wide, third), gid, **{**look, "facecolor": "white", "zorder": 2.5})
    bend = ((0.15, 0.5, 0.85), (1.3, 1.3, 1.75))
    ax.plot(
        [x + wide * a for a in bend[0]],
        [low + third * b for b in bend[1]],
        color=look["edgecolor"],
        linewidth=1.0,
        linestyle="-",
        zorder=2.6,
    )


def _experts(
    ax: Axes,
    table: pd.DataFrame,
    experts: Any,
    start: float,
    rows: tuple[float, float],
    router: tuple[float, float],
    middle: float,
) -> None:
    """Draw the experts of a chip, and the arrows to and from those that the token uses."""
    gap = _gaps(experts)
    for index, expert in enumerate(experts):
        x = start + index + (gap if gap and index == len(experts) - 1 else 0)
        active = bool(table.loc[expert, "active"])
        _glyph(ax, x + 0.1, 0.8, rows, _BUSY if active else _IDLE, "active" if active else "idle")
        if active:
            arrow(ax, router, (x + 0.5, rows[0] + 0.03), "dispatch", color=INSIDE, linewidth=1.5)
            arrow(ax, (x + 0.5, rows[1] - 0.03), (middle, 2.16), "combine", color=INSIDE, linewidth=1.5)
    if gap:
        at = start + len(experts) - 1 + gap / 2
        ax.text(at, sum(rows) / 2, style.ELLIPSIS, ha="center", va="center", color=style.NOTE)


def _layer_words(ax: Axes, marks: dict[str, float], drawn: int, at: tuple[float, float, float], size: float) -> None:
    middle, right, unit = at
    chosen = marks["experts_per_token"]
    out, back = (style.text_of(marks[f"{phase}_bytes_per_layer"], "byte") for phase in ("dispatch", "combine"))
    part = f" ({drawn} drawn)" if drawn < chosen else ""
    picks = f"picks {chosen:,.0f} of {marks['experts']:,.0f}{part},\na copy of it stands on every chip"
    small: dict[str, Any] = {"fontsize": size, "va": "center", "color": style.NOTE}
    ax.text(middle + 1.8 * unit, 8.4, picks, **small)
    ax.text(middle + 0.4 * unit, 9.72, "a token", fontsize=size, va="center")
    ax.text(middle + 0.55 * unit, 1.9, "sum", fontsize=size, va="center")
    ax.text(middle + 0.55 * unit, 0.55, "add to the residual", fontsize=size, va="center")
    ax.text(-1.0 * unit, 4.95, "residual", rotation=90, ha="right", va="center", fontsize=size)
    blue: dict[str, Any] = {"fontsize": size, "va": "center", "color": INSIDE}
    same = "the same, " if out == back else ""
    ax.text(right + 0.1 * unit, 7.35, f"all-to-all out:\n{chosen:,.0f} copies, {out}", gid="volume", **blue)
    ax.text(right + 0.1 * unit, 3.0, f"all-to-all back:\n{chosen:,.0f} results, {same}{back}", gid="volume", **blue)


def _expert_parts(ax: Axes, x: float, unit: float, rows: tuple[float, float], size: float) -> None:
    """Name the parts of an expert drawn separately."""
    _glyph(ax, x, 1.1 * unit, rows, _BUSY, "part")
    third = (rows[0] - rows[1]) / 3
    for k, word in enumerate(("up-projection", "nonlinearity", "down-projection")):
        ax.text(x + 1.35 * unit, rows[0] - (k + 0.5) * third, word, fontsize=size, va="center", color=style.NOTE)


_MOST_IN_ROW, _MOST_SWITCHES = 6, 6


def _rack(**inputs: Any) -> pd.DataFrame:
    import numpy as np
    import xarray as xr

    board = hardware["BW64 (lecture)"]
    lecture = {name: board[name] for name in ("scale_up_bandwidth", "link_bandwidth_ratio")}
    inputs = filled(inputs, {"hardware": {"scale_up_domain": 8, "cables_per_chip": 4, **lecture}})
    named = ("scale_up_domain", "cables_per_chip", "rack_cables", "scale_up_bandwidth", "link_bandwidth_ratio")
    marks = {name: number(name, **inputs) for name in named}
    chips, switches = (whole(name, marks[name]) for name in ("scale_up_domain", "cables_per_chip"))
    if chips < 2:
        raise ValueRangeError(f"scale_up_domain: the drawing needs at least 2 chips, got {chips}")
    upper = chips - chips // 2
    outer = [c for c in left_out(upper, _MOST_IN_ROW) if c is not None]
    outer += [upper + c for c in left_out(chips - upper, _MOST_IN_ROW) if c is not None]
    inner = [s for s in left_out(switches, _MOST_SWITCHES) if s is not None]
    path = {(outer[0], inner[len(inner) // 2]), (outer[-1], inner[len(inner) // 2])}  # there, and on from there
    data = xr.Dataset(
        {"on_path": (("chip", "switch"), np.array([[(c, s) in path for s in inner] for c in outer]))},
        coords={"chip": outer, "switch": inner},
    )
    table = tabulated(data, ["chip", "switch"], "rack", **marks)
    table.attrs["marks"]["hops"] = float(len(path))
    table.attrs["units"]["hops"] = "1"
    return table


@chart(
    "C7",
    _rack,
    title="Links inside a rack, eight chips and four switches",
    subject="Links inside a rack",
    paragraph=(
        "The chips of a rack are on the outside and the switches in the middle. A cable runs from each chip to each "
        "switch, {rack_cables} cables in this drawing. So any chip reaches any other in {hops:1} hops, at "
        "{scale_up_bandwidth}. The all-to-all of a layer of experts needs exactly that. Network cards and the "
        "switches of the data center lead out of the rack. They are a second network, {link_bandwidth_ratio} times "
        "slower."
    ),
    inputs=(
        "scale_up_domain",
        "cables_per_chip",
        "scale_up_bandwidth",
        "link_bandwidth_ratio",
    ),
    chapter=2,
    size=(6.5, 4.5),
)
def rack(ax: Axes, table: pd.DataFrame) -> None:
    """A rack of chips and switches, with its cables and the scale-out network.

    Large racks are drawn in part.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        `scale_up_domain` chips, each with `cables_per_chip` cables, one to each switch; `scale_up_bandwidth` and
        `link_bandwidth_ratio`, or `hardware`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    chips, switches = int(marks["scale_up_domain"]), int(marks["cables_per_chip"])
    upper = chips - chips // 2
    rows = [
        (7.2, 8.4, 1, 0, left_out(upper, _MOST_IN_ROW)),
        (1.6, 2.8, -1, upper, left_out(chips - upper, _MOST_IN_ROW)),
    ]
    size = letters(ax, 9, (7.2, 3.6))
    width = 12.0
    where = {}
    for low, high, direction, first, shown in rows:
        for k, at in zip(shown, _spread(shown, width), strict=True):
            if k is None:
                ax.text(at, (low + high) / 2, style.ELLIPSIS, ha="center", va="center", fontsize=1.6 * size)
                continue
            where[first + k] = (at, low if direction > 0 else high)
            _chip(ax, at, (low, high), direction, f"chip {first + k}", size)
    inner = left_out(switches, _MOST_SWITCHES)
    stands = {}
    for s, at in zip(inner, _spread(inner, width), strict=True):
        if s is None:
            ax.text(at, 5.0, style.ELLIPSIS, ha="center", va="center", fontsize=1.6 * size)
            continue
        stands[s] = at
        box(ax, (at - 0.7, 4.65), (1.4, 0.7), "switch", **SWITCH)
        ax.text(at, 5.0, "switch", ha="center", va="center", fontsize=size, color=WORD, zorder=4)
    for row in table.reset_index().to_dict("records"):
        (x, y), at = where[row["chip"]], stands[row["switch"]]
        _cable(ax, (x, y), (at, 5.35 if y > 5 else 4.65), bool(row["on_path"]), size)
    box(ax, (-0.4, 1.05), (width + 0.8, 7.9), "rack", **FRAME)
    starts = [min(at for at, y in where.values() if (y > 5) is above) for above in (True, False)]
    _second_network(ax, marks, width, starts, size)
    ax.set(xlim=(-0.6, width + 5.4), ylim=(-0.4, 10.4))
    ax.set_axis_off()


def _spread(shown: Sequence[int | None], width: float) -> list[float]:
    """Middles of boxes in a row of so many."""
    return [width * (k + 0.5) / len(shown) for k in range(len(shown))]


def _chip(ax: Axes, at: float, rows: tuple[float, float], direction: int, name: str, size: float) -> None:
    """Draw a chip with its network card at the outside, and the line that leads from there."""
    low, high = rows
    box(ax, (at - 0.75, low), (1.5, high - low), "chip", **CHIP)
    ax.text(at, (low + high) / 2, name, ha="center", va="center", fontsize=size, zorder=4)
    edge = high if direction > 0 else low
    card: dict[str, Any] = {"facecolor": "#F6DFD0", "edgecolor": OUTSIDE}
    box(ax, (at - 0.3, edge if direction > 0 else edge - 0.3), (0.6, 0.3), "card", **card)
    out = 9.45 if direction > 0 else 0.55
    ax.plot([at, at], [edge + 0.3 * direction, out], linewidth=1.1, gid="out", zorder=2.2, **CROSSING)


def _cable(ax: Axes, chip: tuple[float, float], switch: tuple[float, float], on_path: bool, size: float) -> None:
    """Draw a cable, bold and counted if it is on the shown path."""
    ends = [chip[0], switch[0]], [chip[1], switch[1]]
    if not on_path:
        ax.plot(*ends, linestyle="-", color=INSIDE, linewidth=0.8, gid="cable", zorder=1.7)
        return
    ax.plot(*ends, linestyle="-", color=style.INK, linewidth=2.6, gid="hop", zorder=1.9)
    x, y = (0.6 * a + 0.4 * b for a, b in ends)
    said = "hop 1" if chip[1] > switch[1] else "hop 2"
    look: dict[str, Any] = {"fontsize": size, "weight": "bold", "bbox": style.HALO, "zorder": 4}
    ax.text(x, y, said, ha="center", va="center", **look)


def _second_network(ax: Axes, marks: dict[str, float], width: float, starts: list[float], size: float) -> None:
    x = width + 2.4
    for first, (y, end) in zip(starts, ((9.45, 5.85), (0.55, 4.15)), strict=False):
        ax.plot([first, x, x], [y, y, end], linewidth=1.6, gid="trunk", **CROSSING)
    box(ax, (x - 1.3, 4.15), (2.6, 1.7), "data-center switch", facecolor="#F6DFD0", edgecolor=OUTSIDE)
    orange: dict[str, Any] = {"fontsize": size, "color": OUTSIDE}
    ax.text(x, 5.0, "switch of the\ndata center", ha="center", va="center", zorder=4, fontsize=size, color=OUTSIDE_WORD)
    slower = f"{style.text_of(marks['link_bandwidth_ratio'], '1')} {style.TIMES} slower"
    ax.text(x + 0.25, 7.4, slower, ha="left", va="center", weight="bold", **orange)
    speed = style.text_of(marks["scale_up_bandwidth"], "byte/s/chip").replace("/chip", "")
    cables = style.text_of(marks["rack_cables"], "1", 5)
    inside = f"inside the rack: {cables} cables, {speed} from each chip to any other"
    ax.text(0, 10.15, inside, fontsize=size, color=INSIDE, va="center")
    out = "out of the rack: network cards, then the switches of the data center"
    ax.text(0, -0.15, out, fontsize=size, color=OUTSIDE, va="center")
