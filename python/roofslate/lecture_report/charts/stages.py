"""Chapters 3 and 4: memory of a pipeline's rack, and latency of a hop."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.display.diagram import arrow, box, inside, letters, whole
from roofslate.errors import AxisError
from roofslate.lecture_report.charts.pipeline import paced, records
from roofslate.plotting.chart import chart, datasets, filled, number, tabulated
from roofslate.simulation import schedules

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["hop_path", "memory_vs_stages", "stage_imbalance"]

_MOST_STAGES, _MOST_SWITCHES = 8, 4
_DARK: dict[str, Any] = {"facecolor": "#0072B2", "edgecolor": "white"}
_PALE: dict[str, Any] = {"facecolor": "#DDE6EE", "edgecolor": "#44586B"}
_PARTS = ("weight_bytes_per_chip", "kv_bytes_per_chip")


def _memory_vs_stages(*, pipeline_stages: Any = (1, 2, 4, 8), **inputs: Any) -> pd.DataFrame:
    import numpy as np

    lecture: dict[str, dict[str, Any]] = {
        "": {
            "model": "lecture",
            "total_parameters": 1e12,
            "hardware": "BW64 (lecture)",
            "batch_size": 2400,
            "context_length": "200k",
        },
    }
    inputs = filled(inputs, lecture)
    # given chips belong to one rack
    rack = number("chips", **inputs) if "chips" in inputs else number("scale_up_domain", **inputs)
    counts = np.asarray([number("pipeline_stages", pipeline_stages=x) for x in np.ravel(pipeline_stages)])
    if not counts.size or not (np.diff(counts) > 0).all():
        raise AxisError(f"pipeline_stages: expected one number or several that rise, got {pipeline_stages!r}")
    cases = {float(count): {**inputs, "pipeline_stages": count, "chips": rack * count} for count in counts}
    outputs = [*_PARTS, "hbm_used"]
    table = tabulated(datasets(outputs, "pipeline_stages", cases), "pipeline_stages", "memory_vs_stages")
    first = next(iter(cases.values()))
    marks = {name: number(name, **first) for name in ("break_even_stages", "hbm_capacity", "batch_size")}
    marks["context_length"] = number("context_length", **first)
    for word, count in (("first", counts[0]), ("last", counts[-1])):
        marks |= {f"{word}_stages": float(count)} | {
            f"{word}_{name}": float(table.loc[count, name]) for name in outputs
        }
        table.attrs["units"] |= {f"{word}_stages": "1"} | {f"{word}_{name}": "byte/chip" for name in outputs}
    table.attrs["marks"] = marks
    units = {"break_even_stages": "1", "hbm_capacity": "byte/chip", "batch_size": "sequence"}
    table.attrs["units"] |= {**units, "context_length": "token/sequence"}
    return table


@chart(
    "C15",
    _memory_vs_stages,
    title="Memory per chip by pipeline stages, 1T weights, 200k context",
    subject="Memory per chip by pipeline stages",
    paragraph=(
        "A chip of a pipeline holds the weights of its stage, {first_weight_bytes_per_chip} with {first_stages} "
        "stage, {last_weight_bytes_per_chip} with {last_stages}. It holds the KV cache of its layers too, but of as "
        "many batches as there are stages. The two cancel. Each chip holds {last_kv_bytes_per_chip} with "
        "{batch_size:4} sequences of {context_length} tokens in a batch, at any length of the pipeline. Above "
        "{break_even_stages} stages there is more KV cache than weights."
    ),
    inputs=(
        "total_parameters",
        "batch_size",
        "context_length",
        "chips",
    ),
    chapter=3,
)
def memory_vs_stages(ax: Axes, table: pd.DataFrame) -> None:
    """Memory of a chip by pipeline stages, weights and KV cache.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        Of `hbm_used`: `model`, `hardware`, `batch_size` of a stage's batch, `context_length`. `pipeline_stages` are the
        bars, each a rack: a scale-up domain, or `chips`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    import numpy as np

    marks = table.attrs["marks"]
    weights, caches, used = (table[name].to_numpy().tolist() for name in (*_PARTS, "hbm_used"))
    stages, positions = table.index.to_list(), [float(x) for x in range(len(table))]
    points = max(6.5, letters(ax, 9, memory_vs_stages.size))
    below: dict[str, Any] = {"color": "#F6DDAE", "edgecolor": "#8A5A00", "hatch": "....", "label": _PARTS[1]}
    above: dict[str, Any] = {"color": "#A8764A", "edgecolor": "white", "label": _PARTS[0]}
    ax.bar(positions, caches, 0.52, **{**below, "facecolor": below.pop("color")})
    ax.bar(positions, weights, 0.52, bottom=caches, **{**above, "facecolor": above.pop("color")})
    capacity = marks["hbm_capacity"]
    top = max(used)
    limited = capacity < 1.6 * top
    high = 1.2 * max(top, capacity if limited else 0.0)
    ax.set(xlim=(-0.5, 1.16 * len(table) - 0.19), ylim=(0, high), xlabel="pipeline stages, a rack each")
    ax.set_ylabel("memory of a chip that is taken")
    ax.set_xticks(positions, [style.text_of(count, "1") for count in stages])
    ax.spines["bottom"].set_bounds(-0.5, len(table) - 0.5)
    ax.xaxis.label.set_x(0.5 * len(table) / (1.16 * len(table) + 0.31))
    style.scale_ticks(ax.yaxis, "byte/chip")
    halo = {**style.HALO, "pad": 0.8}
    for x, cache, weight, both in zip(positions, caches, weights, used, strict=True):
        for low, part in ((0, cache), (cache, weight)):
            text = style.text_of(part, "byte/chip")
            inside(ax, (x - 0.26, low, 0.52, part), text, points, bbox=halo)
        ax.text(x, both + 0.015 * high, style.text_of(both, "byte/chip"), ha="center", va="bottom", fontsize=points)
    note: dict[str, Any] = {"textcoords": "offset points", "va": "center", "fontsize": points}
    note["annotation_clip"] = False
    y = max(caches[-1] / 2, 0.06 * high)
    edge = len(table) - 0.74
    word = "KV cache:\nthe same" if np.allclose(caches, caches[0]) else "KV cache"
    ax.annotate(word, (edge, y), xytext=(6, 0), **note)
    y = max(used[-1] - weights[-1] / 2, y + 0.14 * high)
    ax.annotate("weights:\ndivided", (edge, y), xytext=(6, 0), **note)
    limit = style.text_of(capacity, "byte/chip")
    if limited:
        ax.plot(
            [-0.5, len(table) - 0.5], [capacity] * 2, color=style.RED, linestyle="--", linewidth=1.4, label="capacity"
        )
        ax.axhspan(capacity, high, label="does not fit", zorder=0.5, **style.UNFIT)
        ax.annotate(f"memory of a chip\n{limit}", (len(table) - 0.5, capacity), xytext=(4, 0), color=style.RED, **note)
    else:
        ax.text(0.99, 0.97, f"memory of a chip {limit}", transform=ax.transAxes, ha="right", va="top", fontsize=points)
    alike = marks["break_even_stages"]
    if stages[0] < alike < stages[-1]:
        x = float(np.interp(math.log(alike), np.log(stages), positions))
        ax.plot([x, x], [0, 0.93 * high], color=style.RED, linestyle=":", linewidth=1.4, label="break-even", zorder=0.5)
        on_left = x < len(table) / 2
        text = f"KV cache and weights are equal at {style.text_of(alike, '1')}"
        ax.annotate(
            text,
            (x, 0.965 * high),
            xytext=(-7 if on_left else 7, 0),
            ha="left" if on_left else "right",
            color=style.RED,
            **note,
        )


# Rounded and assumed latencies of such parts, without software.
_PATH = {"network_card_latency": "2 us", "switch_latency": "0.5 us", "switches_per_hop": 2}


def _hop_path(**inputs: Any) -> pd.DataFrame:
    import pandas as pd

    measured = {"network_card_latency", "switch_latency", "switches_per_hop"} & set(inputs)
    inputs = filled(paced(inputs), {"": _PATH})
    names = ("network_card_latency", "switch_latency", "path_latency")
    marks = {name: number(name, **inputs) for name in names}
    # the lecture's guess; of parts that are given, their sum
    inputs = filled(inputs, {"": {"hop_latency": marks["path_latency"] if measured else "2.5 ms"}})
    switches, stages = (whole(name, number(name, **inputs)) for name in ("switches_per_hop", "pipeline_stages"))
    marks |= {"switches_per_hop": switches, "pipeline_stages": stages}
    marks |= {name: number(name, **inputs) for name in ("stage_time", "hop_latency", "pipeline_latency")}
    marks["latency_without_hops"] = number("pipeline_latency", **{**inputs, "hop_latency": 0})
    drawn = min(switches, _MOST_SWITCHES)
    kinds = ["chip", "network card", *["switch"] * drawn, "network card", "chip"]
    takes = {"network card": marks["network_card_latency"], "switch": marks["switch_latency"]}
    table = pd.DataFrame({"part": kinds, "latency": [takes.get(kind, 0.0) for kind in kinds]})
    table.attrs["marks"] = {name: float(x) for name, x in marks.items()}
    table.attrs["units"] = dict.fromkeys([*table.columns, *marks], "s")
    table.attrs["units"] |= dict.fromkeys(("part", "switches_per_hop", "pipeline_stages"), "1")
    line: dict[str, Any] = {
        "pipeline_stages": min(stages, _MOST_STAGES),
        "stage_time": marks["stage_time"],
        "microbatches": 1,
    }
    table.attrs["token"] = [
        schedules.pipeline_inference(**line, tokens=1, hop_latency=hop) for hop in (marks["hop_latency"], 0.0)
    ]
    return table


@chart(
    "C16",
    _hop_path,
    title="Latency of a hop between racks, two network cards",
    subject="Latency of a hop between racks",
    paragraph=(
        "The path from a chip in one rack to a chip in the next has several parts. It has a network card, a switch at "
        "the top of the rack, perhaps another in the data center, and a network card. With {network_card_latency} for "
        "a card and an assumed {switch_latency} for a switch, the parts add up to {path_latency}. The lecture guesses "
        "milliseconds, with an uncertainty of an order of magnitude. A decoded token pays the hop at every stage. "
        "With {hop_latency} a hop {latency_without_hops} become {pipeline_latency}."
    ),
    inputs=(
        "stage_time",
        "pipeline_stages",
        "hop_latency",
    ),
    chapter=3,
    size=(6.5, 4.0),
)
def hop_path(ax: Axes, table: pd.DataFrame) -> None:
    """Latency of a hop between racks by part, and its effect on a token.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        `switches_per_hop`, `network_card_latency`, `switch_latency`, and for the token below `pipeline_stages`,
        `stage_time` and `hop_latency`. The hop defaults to the sum of given parts, otherwise to the lecture's guess.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    switches, stages = int(marks["switches_per_hop"]), int(marks["pipeline_stages"])
    points = letters(ax, 9, hop_path.size)
    step = 1.45
    end = step * (len(table) - 1) + 1
    ax.set(xlim=(-0.05, 1.16 * end), ylim=(-1.4, 3.5))
    ax.set_axis_off()
    looks = {
        "chip": _DARK,
        "network card": {"facecolor": "#F3C98B", "edgecolor": "#8A5A00"},
        "switch": _PALE,
    }
    # switches at the tops of racks always exist, data-center switches may not
    between = [k for k, part in enumerate(table["part"]) if part == "switch"]
    racks = {*between[:1], *(between[-1:] if switches > 2 else [])}
    for k, (part, latency) in enumerate(table.itertuples(index=False)):
        x = step * k
        look = {**looks[part], **({"linestyle": (0, (3, 2))} if part == "switch" and k not in racks else {})}
        box(ax, (x, 1.7), (1, 0.8), part, **look)
        name = {"chip": "chip", "network card": "network\ncard"}.get(part, "data\ncenter\nswitch")
        name = "top-of-\nrack\nswitch" if k in racks else name
        if switches > len(between) and k == between[-2]:
            name = f"{style.ELLIPSIS}\nof {switches:,}"
        inside(ax, (x, 1.7, 1, 0.8), name, points, color="white" if part == "chip" else style.INK)
        if part != "chip":
            ax.text(x + 0.5, 1.6, f"+ {style.text_of(latency, 's')}", ha="center", va="top", fontsize=points)
        if k:
            arrow(ax, (x - step + 1, 2.1), (x, 2.1), "path", linewidth=1.4, mutation_scale=9)
    words = f"parts of a hop: {style.text_of(marks['path_latency'], 's')}"
    for x, word in ((0.5, "in a rack"), (end - 0.5, "in the next rack")):
        ax.text(x, 2.62, word, ha="center", va="bottom", fontsize=points, color=style.NOTE)
    style.bracket(ax, step, end - step, 3.0, words, below=False)
    ax.texts[-1].set_fontsize(points)
    hop, pipelined, alone = (
        style.text_of(marks[name], "s") for name in ("hop_latency", "pipeline_latency", "latency_without_hops")
    )
    ax.text(0, 0.72, f"a token through {stages:,} stages, with {hop} a hop", va="bottom", fontsize=points)
    times, shown = table.attrs["token"], len(table.attrs["token"][0])
    scale = end / (float(times[0]["end"].max()) + marks["hop_latency"])
    for boxes, y, gid, total in zip(times, (-0.05, -1.3), ("stage", "alone"), (pipelined, alone), strict=True):
        for work in records(boxes):
            start, stop = (scale * time for time in (work.start, work.end))
            bounds = (start, y, stop - start, 0.66)
            box(ax, bounds[:2], bounds[2:], gid, **_DARK)
            cut = shown < stages and work.stage == shown - 1
            text = f"{style.ELLIPSIS} of {stages:,}" if cut else style.text_of(marks["stage_time"], "s")
            inside(ax, bounds, text, points, color="white")
            if gid == "stage" and marks["hop_latency"] > 0:
                gap = (stop, y, scale * marks["hop_latency"], 0.66)
                box(ax, gap[:2], gap[2:], "hop", facecolor="#F9DDD0", edgecolor=style.RED)
                inside(ax, gap, style.text_of(marks["hop_latency"], "s"), points, color=style.RED)
        reach = scale * float(boxes["end"].max()) if gid == "alone" else end
        ax.annotate(
            total,
            (reach, y + 0.33),
            xytext=(6, 0),
            textcoords="offset points",
            va="center",
            fontsize=points,
            weight="bold",
        )
    ax.text(0, -0.53, "without hops", va="bottom", fontsize=points)


_PATTERN = {"layers": 8.0, "global_layer_period": 4.0, "global_layer_cost": 4.0}


def _stage_imbalance(**inputs: Any) -> pd.DataFrame:
    inputs = {"pipeline_stages": 4.0, **filled(inputs, {"": _PATTERN}, scenario="eight layers, every fourth global")}
    names = ("layers", "pipeline_stages", "global_layer_period", "global_layer_cost")
    marks = {name: number(name, **inputs) for name in names}
    layers, stages, period = (whole(name, marks[name]) for name in names[:3])
    marks["stage_balance"] = number("stage_balance", **inputs)
    times = [marks["global_layer_cost"] if k % period == 0 else 1.0 for k in range(1, layers + 1)]
    table = schedules.stage_times(times, pipeline_stages=stages)
    marks["mean_time"] = float(table["time"].mean())
    table.attrs["marks"] = marks
    table.attrs["layer_times"] = times
    table.attrs["units"] = dict.fromkeys([*table.columns, *marks, "stage"], "1")
    return table


@chart(
    "C51",
    _stage_imbalance,
    title="Time by pipeline stage, every fourth of eight layers global",
    subject="Time by pipeline stage",
    paragraph=(
        "A global layer takes {global_layer_cost} times as long as a local one. Divided into {pipeline_stages} "
        "stages, {layers} layers give stages of unequal length. All wait for the slowest, so the pipeline works at "
        "{stage_balance} of its speed."
    ),
    inputs=("global_layer_period", "global_layer_cost"),
    chapter=3,
    size=(6.4, 3.8),
)
def stage_imbalance(ax: Axes, table: pd.DataFrame) -> None:
    """Time of each stage of a pipeline with local and global layers, and their mean.

    Parameters
    ----------
    ax : Axes, optional
        Axes to draw into, in a new figure by default.
    **inputs
        Of `stage_balance`: `layers`, `pipeline_stages`, `global_layer_period`, `global_layer_cost`.

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks, times = table.attrs["marks"], table.attrs["layer_times"]
    slow, size = max(times), len(times) // len(table)
    for stage in range(len(table)):
        base = 0.0
        for time in times[stage * size : (stage + 1) * size]:
            look = _DARK if time == slow else _PALE
            ax.bar(stage, time, bottom=base, width=0.72, label="layer", **look)
            base += time
    mean, most = marks["mean_time"], float(table["time"].max())
    ax.axhline(mean, color=style.RED, linewidth=1.2, linestyle="--")
    ax.set(xlim=(-0.6, len(table) - 0.4), ylim=(0, 1.3 * most), xlabel="stage", ylabel="time (of a local layer)")
    ax.set_xticks(range(0, len(table), max(1, len(table) // 16)))
    ax.annotate(
        f"mean {mean:.3g} of {most:.3g}: balance {100 * marks['stage_balance']:.0f}%",
        (0.99, 0.97),
        xycoords="axes fraction",
        ha="right",
        va="top",
        fontsize=9,
        color=style.RED,
    )
    from matplotlib.patches import Patch

    keys = [Patch(**_DARK, label="global layer"), Patch(**_PALE, label="local layer")]
    ax.legend(handles=keys, loc="upper left", frameon=False, fontsize=9, ncols=2)
