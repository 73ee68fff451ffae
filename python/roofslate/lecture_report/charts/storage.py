"""Chapter 6: tiers that store a KV cache, and their cost."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate.display import style
from roofslate.display.diagram import decade_ticks
from roofslate.errors import ValueRangeError
from roofslate.lecture_report.charts._tiers import (
    RECOMPUTE,
    TIERS,
    cheapest_ways,
    device_of,
    looks_of,
    named_tiers,
    scenario,
)
from roofslate.plotting.chart import chart, datasets, number, tabulated
from roofslate.presets.catalog import api_prices
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["retrieve_or_hold", "tier_cost"]

_COST_UNIT = "USD/Ttoken"
_WAYS = {"retrieve_cost": "retrieve, once", "hold_cost": "hold for {}"}


def _retrieve_or_hold(*, tiers: Any = None, hold_time: Any = "1 h", **inputs: Any) -> pd.DataFrame:
    import pandas as pd

    named = named_tiers(TIERS if tiers is None else tiers)
    inputs = scenario(inputs)
    rows = {RECOMPUTE: (number("recompute_cost", **inputs), 0.0, "recompute_cost", "")}
    for label, preset in named.items():
        if preset.name == "HBM":  # HBM needs no retrieval
            rows[label] = (0.0, number("hbm_hold_cost", hold_time=hold_time, **inputs), "", "hbm_hold_cost")
        else:
            device = {**inputs, **preset.values}
            retrieve = number("tier_retrieve_cost", **device)
            hold = number("tier_hold_cost", hold_time=hold_time, **device)
            rows[label] = (retrieve, hold, "tier_retrieve_cost", "tier_hold_cost")
    columns = ["retrieve_cost", "hold_cost", "retrieve_quantity", "hold_quantity"]
    table = pd.DataFrame.from_dict(rows, orient="index", columns=columns).rename_axis("way")
    table.attrs["marks"] = {
        "hold_time": units.to_base(hold_time, "s"),
        "recompute_cost": rows[RECOMPUTE][0],
        "kv_bytes_per_token": number("kv_bytes_per_token", **inputs),
    }
    table.attrs["units"] = {
        **dict.fromkeys(["retrieve_cost", "hold_cost"], "USD/token"),
        **dict.fromkeys(["retrieve_quantity", "hold_quantity"], "1"),
        **{name: lookup(name).unit for name in table.attrs["marks"]},
    }
    once = table["retrieve_cost"] + table["hold_cost"]
    table.attrs["cheapest"] = str(once.idxmin()) if len(once) > 1 else ""
    table.attrs["marks"]["cheapest_tier_cost"] = float(once.min())
    table.attrs["units"]["cheapest_tier_cost"] = "USD/token"
    if "HBM" in rows:
        table.attrs["marks"]["hbm_hold_cost"] = rows["HBM"][1]
        table.attrs["units"]["hbm_hold_cost"] = "USD/token"
    return table


@chart(
    "C24",
    _retrieve_or_hold,
    title="KV-cache retrieval and storage cost by tier, held for one hour",
    subject="KV-cache retrieval and storage cost by tier",
    paragraph=(
        "There are three ways to have a token's keys and values once more. Computing them again costs "
        "{recompute_cost} at every use and nothing in between. HBM costs nothing at use and {hbm_hold_cost} an hour. "
        "A slower device costs its price per bandwidth at use, and its price per capacity in between. From DDR to "
        "disk, holding gets cheaper and reading gets more expensive. Both columns contain the price of the device. "
        "Without it a time would be compared with a cost."
    ),
    inputs=(
        "hold_time",
        "model",
        "hardware",
        "prices",
    ),
    chapter=6,
    size=(6.5, 4.2),
)
def retrieve_or_hold(ax: Axes, table: pd.DataFrame) -> None:
    """Cost of retrieving and of holding a token's KV cache, by tier.

    The axes are logarithmic, and a cost of zero has no marker.

    Parameters
    ----------
    ax : Axes, optional
        Divided into two panels; a new figure by default.
    tiers : list or mapping, optional
        Storage presets or their names; the keys of a mapping are what the chart calls them. HBM is the chip's.
    hold_time : float or str
        How long a token is held.
    **inputs
        Of `recompute_cost` and `hbm_hold_cost`: `model`, `hardware` and `prices`, or their numbers.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    ways = table.index.to_list()
    looks = looks_of(ways)
    factor = units.convert_factor(_COST_UNIT, "USD/token")
    costs = table[["retrieve_cost", "hold_cost"]].to_numpy() / factor
    positive = costs[costs > 0]
    least, most = (positive.min(), positive.max()) if positive.size else (1e-3, 1.0)
    most = max(most, 100 * least)
    panels = style.panels(ax, 2, start=0.15, gap=0.07, bottom=0.2, top=0.08)
    for panel, (name, words) in zip(panels, _WAYS.items(), strict=True):
        panel.set(xscale="log", xlim=(least / 3, most * (most / least) ** 0.45), ylim=(len(ways) - 0.5, -0.6))
        panel.set_title(words.format(style.moment(marks["hold_time"])), fontsize=9.5, weight="normal", pad=4)
        panel.hlines(range(len(ways)), *panel.get_xlim(), color="#DDDDDD", linewidth=0.8, zorder=0)
        for y, option in enumerate(ways):
            cost, look = float(table.loc[option, name]) / factor, looks[option]
            note: dict[str, Any] = {
                "textcoords": "offset points",
                "va": "center",
                "fontsize": 9,
                "color": look["color"],
            }
            if cost > 0:
                dot = {"color": look["color"], "marker": look["marker"], "markersize": 8, "linestyle": "none"}
                panel.plot(cost, y, label=f"{name} {option}", **dot)
                panel.annotate(_dollars(cost), (cost, y), xytext=(8, 0), bbox=style.HALO, **note)
            else:
                panel.annotate("nothing", (panel.get_xlim()[0], y), xytext=(6, 0), bbox=style.HALO, **note)
        panel.set_yticks(range(len(ways)), ways if panel is panels[0] else [], fontsize=9.5)
        panel.tick_params(axis="y", length=0)
        panel.spines["left"].set_visible(False)
        decade_ticks(panel.xaxis, "1", 3, _short_dollars)
        panel.set_xlabel("KV cache of a trillion tokens")
    if table.attrs["cheapest"]:
        said = f"held {style.moment(marks['hold_time'])} and read once, {table.attrs['cheapest']} costs least: "
        style.callout(ax, said + _dollars(marks["cheapest_tier_cost"] / factor), None, (0.15, 0.02))


def _dollars(x: float) -> str:
    """Write dollars as people do."""
    return f"${float(f'{x:.3g}'):,.0f}" if x >= 100 else f"${x:.3g}" if x >= 1e-4 else f"${x:.1e}"


def _short_dollars(x: float) -> str:
    return f"${style.text_of(x, '1')}" if x < 1e6 else f"${x / 1e6:,.0f}M"


_SHOWN = (1e-3, 1e6)  # seconds that the axis has at least
_LONGEST = 1e7  # a switch after this is not waited for


def _tier_cost(*, tiers: Any = None, hold_time: Any = None, free_hbm_reads: bool = True, **inputs: Any) -> pd.DataFrame:
    import numpy as np
    import pandas as pd

    named = named_tiers(TIERS if tiers is None else tiers)
    inputs = scenario(inputs)
    devices = {label: device_of(preset, inputs) for label, preset in named.items()}
    for label, preset in named.items():
        if preset.name == "HBM" and free_hbm_reads:
            devices[label]["tier_retrieve_price"] = 0.0
    switches = cheapest_ways(devices, inputs)
    if hold_time is None:
        moments = [t for t, _ in switches.values() if 0 < t < _LONGEST]
        ends = [*_SHOWN, *(t / 10 for t in moments), *(10 * t for t in moments)]
        hold_time = np.union1d(np.geomspace(min(ends), max(ends), 181), moments)
    cases = {label: {**inputs, **device, "hold_time": hold_time} for label, device in devices.items()}
    curves = tabulated(datasets(["tier_cost"], "way", cases), ["way", "hold_time"], "tier_cost")
    again = number("recompute_cost", **inputs)
    by_way = curves["tier_cost"].rename("cost").to_frame().groupby("way", sort=False)
    ways = {str(label): rows.droplevel("way") for label, rows in by_way}
    ways[RECOMPUTE] = next(iter(ways.values())).assign(cost=again)
    ways["least"] = pd.concat(list(ways.values()), axis="columns").min(axis="columns").to_frame("cost")
    table = pd.concat(ways, names=["way"])
    tariff = api_prices["Claude Opus 5"]
    times = {f"switch_to_{option}": t for option, (t, _) in switches.items() if t > 0}
    times |= {name: units.to_base(tariff[name], "s") for name in ("cache_write_time", "long_cache_write_time")}
    table.attrs["marks"] = {**times, "recompute_cost": again}
    costs = dict.fromkeys(["cost", "recompute_cost"], "USD/token")
    table.attrs["units"] = {**curves.attrs["units"], **costs, **dict.fromkeys(times, "s")}
    table.attrs["switches"] = switches
    return table


@chart(
    "C27",
    _tier_cost,
    title="Cost of reusing a KV cache by hold time, the lecture's model",
    subject="Cost of reusing a KV cache by hold time",
    paragraph=(
        "The chart shows the cost of a use of a token by the time since the last one. On each tier it is the rent of "
        "its bytes while it waits, and the device's time to read it. The bold line is the cheapest. DDR takes over "
        "from HBM after {switch_to_DDR}, flash after {switch_to_flash:2}, disk after {switch_to_disk}. The cached "
        "prompts of the price lists, {cache_write_time} and {long_cache_write_time}, are within flash. Computing "
        "again costs {recompute_cost} at any time, far above. Reading HBM is counted as free, since retrieving means "
        "to bring into HBM."
    ),
    inputs=(
        "free_hbm_reads",
        "model",
        "hardware",
        "prices",
    ),
    chapter=6,
    size=(6.5, 4.5),
)
def tier_cost(ax: Axes, table: pd.DataFrame) -> None:
    """Cost of reusing a token's KV cache by hold time, for each tier.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    tiers : list or mapping, optional
        Storage presets or their names; the keys of a mapping are what the chart calls them. HBM is the chip's.
    hold_time : array_like, optional
        The axis.
    free_hbm_reads : bool
        Whether reading HBM costs nothing; otherwise the chip is paid while its HBM is read.
    **inputs
        Of `tier_cost` and `recompute_cost`: `model`, `hardware` and `prices`, or their numbers.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks, switches = table.attrs["marks"], table.attrs["switches"]
    ways = [option for option in table.index.unique("way") if option != "least"]
    looks = looks_of(ways)
    costs: dict[str, pd.Series] = {str(option): rows.droplevel("way") for option, rows in table["cost"].groupby("way")}
    for option in ways:
        if not costs[option].min() > 0:
            raise ValueRangeError(f"the chart tier_cost has logarithmic axes, and {option} costs nothing")
    least = costs["least"]
    waits = least.index.to_numpy()
    shortest, longest = float(waits[0]), float(waits[-1])
    low, high = least.min() / 30, 3 * table["cost"].max()
    ax.set(xscale="log", yscale="log", xlim=(shortest, longest), ylim=(low, high))
    ax.set(xlabel="time from one use to the next", ylabel="cost of a use")
    ax.plot(waits, least, label="least", **{**style.BOLD, "linewidth": 6, "alpha": 0.22, "zorder": 1})
    for option in ways:
        line = {key: looks[option][key] for key in ("color", "linestyle")}
        ax.plot(waits, costs[option], label=option, linewidth=1.7, zorder=2, **line)
    style.label_ends(ax, [(longest, float(costs[option].iloc[-1]), option, looks[option]["color"]) for option in ways])
    note: dict[str, Any] = {"textcoords": "offset points", "fontsize": 9}
    for name in ("cache_write_time", "long_cache_write_time"):
        if shortest <= marks[name] <= longest:
            ax.axvline(marks[name], color=style.NOTE, linestyle=(0, (2, 2)), linewidth=0.9, zorder=1, label=name)
            top: dict[str, Any] = {"xytext": (-3, -2), "ha": "right", "va": "top", "rotation": 90, "color": style.NOTE}
            ax.annotate(style.moment(marks[name]), (marks[name], high), **top, **note)
    for option, (start, stop) in _stretches(switches, shortest, longest).items():
        middle: dict[str, Any] = {
            "xytext": (0, 4),
            "ha": "center",
            "va": "bottom",
            "color": looks[option]["color"],
            "weight": "bold",
        }
        said = ax.annotate(
            option, (math.sqrt(start * stop), low), bbox=style.HALO, gid=f"cheapest {option}", **middle, **note
        )
        if math.log(stop / start) < 0.09 * math.log(longest / shortest):
            said.set_rotation(90)
        if start == shortest:
            continue
        cost = switches[option][1]
        ax.plot([start] * 2, [low, cost], color=style.INK, linewidth=0.8, linestyle="-", zorder=1)
        ax.plot(start, cost, "o", color=style.INK, markersize=5.5, label=f"switch to {option}", zorder=4)
        beyond = ax.transData.transform((start, cost))[0] - ax.transAxes.transform((0, 0))[0]
        near = beyond < 58 * ax.figure.dpi / 72  # no room for words to the left of it
        offset: dict[str, Any] = {"xytext": (7, -4), "va": "top"} if near else {"xytext": (-6, 5), "ha": "right"}
        ax.annotate(
            style.text_of(start, "s"), (start, cost), color=style.INK, bbox=style.HALO, zorder=1.5, **offset, **note
        )
    ax.spines["bottom"].set_bounds(shortest, longest)
    style.time_ticks(ax.xaxis)
    style.scale_ticks(ax.yaxis, "USD/token")
    ax.yaxis.set_major_formatter(lambda y, _: _power(y / units.convert_factor("USD/Mtoken", "USD/token")))


def _stretches(
    switches: Mapping[str, tuple[float, float]], shortest: float, longest: float
) -> dict[str, tuple[float, float]]:
    """Ranges of the axis in which each way is cheapest."""
    ways, starts = list(switches), [*(start for start, _ in switches.values()), math.inf]
    stretches = {option: (max(starts[k], shortest), min(starts[k + 1], longest)) for k, option in enumerate(ways)}
    return {option: (start, stop) for option, (start, stop) in stretches.items() if start < stop}


def _power(dollars: float) -> str:
    """Write a power of ten in dollars for a million tokens."""
    power = round(math.log10(dollars))
    return f"\\${dollars:g}/Mtok" if -3 < power < 4 else rf"\$$10^{{{power}}}$/Mtok"
