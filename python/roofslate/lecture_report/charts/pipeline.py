"""Chapter 3: layers divided among racks, and timetables of the racks."""

from __future__ import annotations

import itertools
import math
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import unknown
from roofslate.display import style
from roofslate.display.diagram import arrow, box, inside, letters, whole
from roofslate.errors import ValueRangeError
from roofslate.plotting.chart import chart, filled, number
from roofslate.simulation import schedules

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    import pandas as pd
    from matplotlib.axes import Axes

__all__ = ["paced", "pipeline_inference", "pipeline_latency", "records", "training_bubble"]

_MOST_STAGES, _MOST_BATCHES = 8, 16
_MOST_ROWS = 32  # of all timetables of a picture
_MOST_HOP = 2  # stage times that a hop is drawn long
_DARK: dict[str, Any] = {"facecolor": "#0072B2", "edgecolor": "white"}
_PALE: dict[str, Any] = {"facecolor": "#DDE6EE", "edgecolor": "#7F93A6"}
_IDLE: dict[str, Any] = {"facecolor": "white", "edgecolor": "#B0B0B0", "hatch": "/////", "linewidth": 0.4}


def paced(inputs: dict[str, Any]) -> dict[str, Any]:
    """Complete inputs by four racks of 5 ms each, or by the pace of a model on chips."""
    pace = {} if {"stage_time", "pass_time"} & set(inputs) else {"stage_time": "5 ms"}
    return filled(inputs, {"": {**pace, "pipeline_stages": 4}})


def _percent(share: float) -> str:
    return f"{100 * share:.3g}%"


def _rows(ax: Axes, count: int, points: float, *, bottom: float, gap: float) -> list[Axes]:
    """Divide axes into panels, one above the other, with margins in lines of letters."""
    ax.set_axis_off()
    point = ax.figure.dpi / 72 / style.pixels(ax)[1]
    line = 1.25 * points * point
    height = (1 - 11 * point - line * (bottom + gap * count)) / count  # the points hold ticks and their padding
    step = height + gap * line
    panels = [ax.inset_axes((0.1, 1 - (k + 1) * step, 0.9, height)) for k in range(count)]
    for panel in panels:
        for side in ("top", "right", "left"):
            panel.spines[side].set_visible(False)
        if panel is not panels[-1]:
            panel.xaxis.set_visible(False)
            panel.spines["bottom"].set_visible(False)
    return panels


def records(table: pd.DataFrame) -> Any:
    """Rows of a table, with its columns as attributes."""
    return table.itertuples()


def _gaps(boxes: pd.DataFrame, end: float) -> Iterator[tuple[float, float]]:
    """Stretches of a stage's time from 0 to `end` without work."""
    free = 0.0
    for start, stop in boxes.sort_values("start")[["start", "end"]].to_numpy():
        if min(start, end) > free + 1e-9 * end:
            yield free, min(start, end)
        free = max(free, stop)
    if free < end * (1 - 1e-9):
        yield free, end


def _racks(panel: Axes, end: float, stages: int, shown: int, points: float) -> None:
    """Number the rows of a timetable, rack 0 at the bottom."""
    names = [f"rack {rack}" for rack in range(shown)]
    if shown < stages:
        names[-1] = f"{style.ELLIPSIS} of {stages:,}"
    panel.set(xlim=(0, end), ylim=(-0.06, shown))
    panel.set_yticks([rack + 0.45 for rack in range(shown)], names, fontsize=points)
    panel.tick_params(axis="y", length=0, pad=2)


def _heading(panel: Axes, text: str, points: float) -> None:
    look: dict[str, Any] = {"xycoords": "axes fraction", "textcoords": "offset points", "va": "bottom"}
    panel.annotate(text, (0, 1), xytext=(0, 2), fontsize=points, **look)


def _pipeline_inference(**inputs: Any) -> pd.DataFrame:
    import pandas as pd

    inputs = filled(paced(inputs), {"": {"hop_latency": "2.5 ms"}})
    hop_latency = number("hop_latency", **inputs)
    inputs.pop("hop_latency", None)
    stages, batches = (whole(name, number(name, **inputs)) for name in ("pipeline_stages", "microbatches"))
    pace = {name: x for name, x in inputs.items() if name != "microbatches"}
    marks = {
        "pipeline_stages": stages,
        "lone_utilization": number("pipeline_utilization", **pace, microbatches=1),
        "filled_microbatches": batches,
        "filled_utilization": number("pipeline_utilization", **inputs),
        "stage_time": number("stage_time", **inputs),
        "pipeline_latency": number("pipeline_latency", **inputs, hop_latency=0),
        "hop_latency": hop_latency,
    }
    for name in ("full_pipeline_microbatches", "hop_cache_growth"):
        marks[name] = number(name, **pace, hop_latency=hop_latency)
    marks["hops_latency"] = number("pipeline_latency", **pace, hop_latency=hop_latency)
    marks["hops_utilization"] = number("pipeline_utilization_with_hops", **inputs, hop_latency=hop_latency)
    # draw fewer stages and shorter hops of many or long ones
    shown = min(stages, _MOST_STAGES)
    pace = {"pipeline_stages": shown, "stage_time": marks["stage_time"]}
    hop = min(marks["hop_latency"], _MOST_HOP * marks["stage_time"])
    drawn = {"lone": 1, "filled": max(1, min(round(batches * shown / stages), 4 * _MOST_BATCHES))}
    if hop > 0:
        drawn["hops"] = int(number("full_pipeline_microbatches", **pace, hop_latency=hop))
    tables = []
    for case, count in drawn.items():
        late = hop if case == "hops" else 0.0
        tables.append(schedules.pipeline_inference(**pace, microbatches=count, hop_latency=late, tokens=5))
        tables[-1].insert(0, "case", case)
    table = pd.concat(tables, ignore_index=True).drop(columns="kind")
    table.attrs["marks"] = {name: float(x) for name, x in marks.items()}
    table.attrs["units"] = dict.fromkeys([*table.columns, *marks], "1")
    times = ("start", "end", "stage_time", "hop_latency", "pipeline_latency", "hops_latency")
    table.attrs["units"] |= dict.fromkeys(times, "s")
    # one batch twice through all racks; with hops, until the first has come back
    ends = table[table["token"] == 1].set_index(["case", "microbatch", "stage"])["end"]
    until = [ends["lone", 0, shown - 1], *([ends["hops", 0, min(1, shown - 1)]] if hop > 0 else [])]
    table.attrs |= {"until": float(max(until)), "hop": hop}
    return table


@chart(
    "C12",
    _pipeline_inference,
    title="Timetable of decoding through a pipeline, four racks",
    subject="Timetable of decoding through a pipeline",
    paragraph=(
        "Each of {pipeline_stages} racks holds a part of the layers, works on a batch for {stage_time} and hands it "
        "on. With one batch in flight a rack works for {lone_utilization} of the time. With {filled_microbatches} all "
        "racks always work. When the last batch is in, the first one is back for its next token. A token is no faster "
        "and still takes {pipeline_latency}. If the way from rack to rack takes {hop_latency}, only "
        "{full_pipeline_microbatches} batches keep all racks busy, with {hop_cache_growth} times the KV cache."
    ),
    inputs=(
        "hop_latency",
        "stage_time",
        "pipeline_stages",
    ),
    chapter=3,
    size=(6.5, 6.0),
)
def pipeline_inference(ax: Axes, table: pd.DataFrame) -> None:
    """Timetable of decoding on racks in a row, for three numbers of batches in flight.

    Batches bear their numbers, the first one is dark, and idle time is hatched. Many racks are drawn in part, long hops
    shorter.

    Parameters
    ----------
    ax : Axes, optional
        Divided into three panels; a new figure by default.
    **inputs
        `pipeline_stages`, `microbatches` in flight (of the second panel), `stage_time`, or what it follows from, and
        `hop_latency` (of the third panel; without it there are two).

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks, end = table.attrs["marks"], table.attrs["until"]
    stages, batches = int(marks["pipeline_stages"]), int(marks["filled_microbatches"])
    shown = int(table["stage"].max()) + 1
    hop = style.text_of(marks["hop_latency"], "s")
    headings = {
        "lone": f"one batch after the other: a rack works {_percent(marks['lone_utilization'])} of the time",
        "filled": f"{batches:,} batches in flight: {_percent(marks['filled_utilization'])}"
        + (f". Proof by visual: {stages:,} across, {stages:,} up" if batches == stages else ""),
        "hops": f"with {hop} from rack to rack: {marks['full_pipeline_microbatches']:,.0f} batches fill it"
        + (f", with {batches:,} it is {_percent(marks['hops_utilization'])}" if marks["hops_utilization"] < 1 else ""),
    }
    points = letters(ax, 9, pipeline_inference.size)
    cases = list(table["case"].unique())
    for panel, case in zip(_rows(ax, len(cases), points, bottom=2.2, gap=1.7), cases, strict=True):
        boxes = table[table["case"] == case]
        _racks(panel, end, stages, shown, points)
        _heading(panel, headings[case], points)
        for work in records(boxes[boxes["start"] < end * (1 - 1e-9)]):
            # with one batch in flight the next is let in when it is through
            batch = work.token if case == "lone" else work.microbatch
            bounds = (work.start, work.stage, min(work.end, end) - work.start, 0.9)
            box(panel, bounds[:2], bounds[2:], "work", **(_PALE if batch else _DARK))
            inside(panel, bounds, str(batch), points, color=style.INK if batch else "white")
        for stage in range(shown):
            for start, stop in _gaps(boxes[boxes["stage"] == stage], end):
                box(panel, (start, stage), (stop - start, 0.9), "idle", **_IDLE)
        if case != "lone":
            _follow(panel, boxes[boxes["microbatch"] == 0], end)
        if case == "filled" and batches == stages:
            last = boxes[(boxes["token"] == 0) & (boxes["stage"] == 0)].iloc[-1]
            frame: dict[str, Any] = {"facecolor": "none", "edgecolor": style.RED, "linewidth": 2, "zorder": 3}
            box(panel, (0, 0), (last["end"], 0.9), "proof", **frame)
            box(panel, (last["start"], 0), (last["end"] - last["start"], shown - 0.1), "proof", **frame)
    drawn = [f"{shown} of {stages:,} racks"] if shown < stages else []
    if marks["hop_latency"] > table.attrs["hop"]:
        drawn.append(f"hops of {style.text_of(table.attrs['hop'], 's')}")
    panel.set_xlabel("; ".join(["time", *_only(drawn)]), fontsize=points)
    panel.tick_params(axis="x", labelsize=points)
    style.scale_ticks(panel.xaxis, "s")


def _only(drawn: list[str]) -> list[str]:
    """Write the drawn share of many things, for a label."""
    return [f"drawn are {' and '.join(drawn)}"] if drawn else []


def _follow(panel: Axes, first: pd.DataFrame, end: float) -> None:
    """Draw the way of the first batch from rack to rack, and back for its next token."""
    visits = first.sort_values("start")[["stage", "start", "end"]].to_numpy()
    for (stage, _, out), (to, start, _) in itertools.pairwise(visits):
        if start >= end:
            break
        if to < stage:
            arrow(panel, (out, stage), (start, 0.9), "wrap", color=style.RED, linewidth=1.3)
        elif start > out:
            arrow(panel, (out, stage + 0.45), (start, to + 0.45), "hop", color=style.RED)


def _pipeline_latency(**inputs: Any) -> pd.DataFrame:
    inputs = filled(paced(inputs), {"": {"hop_latency": 0}})
    stages = whole("pipeline_stages", number("pipeline_stages", **inputs))
    names = ("stage_time", "hop_latency", "pipeline_latency")
    marks = {"pipeline_stages": float(stages)} | {name: number(name, **inputs) for name in names}
    marks["one_rack_latency"] = number("pipeline_latency", **{**inputs, "hop_latency": 0})
    shown = min(stages, _MOST_STAGES)
    pace: dict[str, Any] = {"pipeline_stages": shown, "stage_time": marks["stage_time"], "microbatches": 1, "tokens": 1}
    table = schedules.pipeline_inference(**pace, hop_latency=marks["hop_latency"]).set_index("stage")
    slid = schedules.pipeline_inference(**pace).set_index("stage")
    table = table[["start", "end"]].join(slid[["start", "end"]].add_prefix("one_rack_"))
    table.attrs["marks"] = marks
    table.attrs["units"] = dict.fromkeys([*table.columns, *marks], "s") | {"pipeline_stages": "1"}
    return table


@chart(
    "C13",
    _pipeline_latency,
    title="Time per token through a pipeline, four racks and one",
    subject="Time per token through a pipeline",
    paragraph=(
        "Slide the boxes of one token down onto one row. {pipeline_stages} racks that each work for {stage_time} take "
        "{pipeline_latency}, and one rack with all the layers takes {one_rack_latency}. Racks in a row share the "
        "weights, not the work on a token. Hops add to the time."
    ),
    inputs=(
        "hop_latency",
        "stage_time",
        "pipeline_stages",
    ),
    chapter=3,
    size=(6.4, 3.9),
)
def pipeline_latency(ax: Axes, table: pd.DataFrame) -> None:
    """Time of a token through racks in a row, and through one rack with all layers.

    Parameters
    ----------
    ax : Axes, optional
        Where to draw; a new figure by default.
    **inputs
        `pipeline_stages`, `stage_time` or what it follows from, `hop_latency` (0 unless given).

    Returns
    -------
    matplotlib.axes.Axes
    """
    marks = table.attrs["marks"]
    stages, shown, hop = int(marks["pipeline_stages"]), len(table), marks["hop_latency"]
    points = letters(ax, 9, pipeline_latency.size)
    one = -1.9  # height of the row of one rack
    end = float(table["end"].iloc[-1]) + hop
    ax.set(xlim=(-0.004 * end, 1.004 * end), ylim=(one - 0.9, shown + 0.75))
    numbers = [*range(shown - 1), stages - 1]
    for row, (stage, at) in enumerate(zip(numbers, records(table), strict=True)):
        look = _DARK if row % 2 == 0 else {**_DARK, "facecolor": "#35566B"}
        for start, stop, y, gid in ((at.start, at.end, row, "stage"), (at.one_rack_start, at.one_rack_end, one, "one")):
            bounds = (start, y, stop - start, 0.9)
            box(ax, bounds[:2], bounds[2:], gid, **look)
            # the last box that is drawn is the last one there is
            inside(ax, bounds, f"layers of rack {stage:,}" if shown <= 4 else str(stage), points, color="white")
        middle, below = (at.start + at.end) / 2, (at.one_rack_start + at.one_rack_end) / 2
        arrow(ax, (middle, row), (below, one + 0.92), "slide", color=style.NOTE, linestyle=(0, (3, 2)))
        if hop > 0:
            last = row == shown - 1
            to = (at.end + hop, row + 0.45) if last else (at.end + hop, row + 1.45)
            arrow(ax, (at.end, row + 0.45), to, "hop", color=style.RED)
    if shown < stages:
        for y in (shown - 1, one):
            x = float(table["start" if y != one else "one_rack_start"].iloc[-1])
            halo = {**style.HALO, "pad": 0.5}
            ax.text(x, y + 0.45, style.ELLIPSIS, ha="center", va="center", fontsize=points, bbox=halo, zorder=4)
    pipelined, alone = (style.text_of(marks[name], "s") for name in ("pipeline_latency", "one_rack_latency"))
    _span(ax, end, shown + 0.15, f"{stages:,} racks in a row: {pipelined}", points, below=False)
    _span(ax, float(table["one_rack_end"].iloc[-1]), one - 0.25, f"one rack with all layers: {alone}", points)
    names = [f"rack {stage:,}" for stage in numbers]
    ax.set_yticks([*(row + 0.45 for row in range(shown)), one + 0.45], [*names, "one rack"], fontsize=points)
    ax.tick_params(axis="y", length=0)
    ax.xaxis.set_visible(False)
    for side in ("left", "bottom"):
        ax.spines[side].set_visible(False)


def _span(ax: Axes, end: float, y: float, text: str, points: float, *, below: bool = True) -> None:
    style.bracket(ax, 0, end, y, text, below=below)
    ax.texts[-1].set_fontsize(points)


_KINDS: dict[str, tuple[str, dict[str, Any], str]] = {
    "forward": ("F", {"facecolor": "#0072B2", "edgecolor": "white"}, "white"),
    "backward": ("B", {"facecolor": "#F3C98B", "edgecolor": "#8A5A00"}, style.INK),
    "weight": ("W", {"facecolor": "#8CCBB3", "edgecolor": "#00553F"}, style.INK),
}

_LATER = {"forward": "#35566B", "backward": "#DDA75A", "weight": "#5FAE92"}  # passes of chunks after the first

_NAMES = {
    "gpipe": "GPipe",
    "1f1b": "1F1B",
    "zb_h1": "ZB-H1",
    "zb_h2": "ZB-H2",
    "interleaved": "Interleaved",
    "zb_v": "ZB-V",
    "dualpipe": "DualPipe",
}


def _training_bubble(*, pipeline_schedule: str | Sequence[str] = ("1f1b", "zb_h1"), **inputs: Any) -> pd.DataFrame:
    import pandas as pd

    inputs = filled(inputs, {"": {"pipeline_stages": 4}})
    stages, batches = (whole(name, number(name, **inputs)) for name in ("pipeline_stages", "microbatches"))
    orders = [pipeline_schedule] if isinstance(pipeline_schedule, str) else list(pipeline_schedule)
    for schedule in orders:
        if schedule not in _NAMES:
            raise unknown("pipeline_schedule", schedule, _NAMES)
    if "model_chunks" in inputs and "interleaved" not in orders:
        raise ValueRangeError(f"training_bubble: model_chunks acts only with 'interleaved', got {', '.join(orders)}")
    ratio = number("backward_forward_ratio", **inputs)
    share = number("weight_gradient_share", **{**inputs, "backward_forward_ratio": ratio})
    panels = [("gpipe", 1.0), *(("gpipe", ratio) for _ in range(ratio != 1)), *((name, ratio) for name in orders)]
    panels = list(dict.fromkeys(panels))
    # draw a smaller case of many, and write the true numbers
    shown, drawn = min(stages, _MOST_STAGES, _MOST_ROWS // len(panels)), min(batches, _MOST_BATCHES)
    if shown < stages and "dualpipe" in orders:
        shown -= shown % 2
    if batches > drawn and "interleaved" in orders:
        drawn -= drawn % shown
    marks: dict[str, float] = {"pipeline_stages": stages, "microbatches": batches}
    chunks = whole("model_chunks", number("model_chunks", **inputs)) if "interleaved" in orders else 1
    tables = []
    for k, (schedule, wide) in enumerate(panels):
        table = schedules.pipeline_training(
            pipeline_stages=shown,
            microbatches=drawn,
            pipeline_schedule=schedule,  # type: ignore[arg-type]
            backward_forward_ratio=wide,
            weight_gradient_share=share,
            model_chunks=chunks if schedule == "interleaved" else None,
        )
        panel = {**inputs, "backward_forward_ratio": wide, "pipeline_schedule": schedule}
        marks[f"bubble_{k}"] = number("training_bubble", **panel)
        marks[f"step_{k}"] = number("pipeline_step_time", **panel)
        marks[f"overhead_{k}"] = number("training_bubble_overhead", **panel)
        marks[f"live_{k}"] = number("live_microbatches", **panel)
        # a stage of a few micro-batches may idle less than the closed form, its last pass ends earlier
        end = schedules.stage_use(table)["end"].iloc[0]
        is_drawn = (shown, drawn) == (stages, batches)
        marks[f"drawn_{k}"] = float(end if is_drawn else marks[f"step_{k}"])
        table.insert(0, "panel", k)
        tables.append(table)
    boxes = pd.concat(tables, ignore_index=True)
    boxes.attrs["marks"] = {name: float(x) for name, x in marks.items()}
    boxes.attrs["units"] = dict.fromkeys([*boxes.columns, *marks], "1")
    boxes.attrs |= {"panels": panels, "chunks": chunks}
    return boxes


@chart(
    "C14",
    _training_bubble,
    title="Timetable of a training step by pipeline schedule, four racks",
    subject="Timetable of a training step by pipeline schedule",
    paragraph=(
        "Weights are not updated before the last backward pass, and the next step does not start before the update. "
        "So each step fills the pipeline and drains it. With {microbatches} micro-batches on {pipeline_stages} racks "
        "the step as drawn in the lecture has {step_0} slots. A rack idles for {bubble_0} of them, or {overhead_0} of "
        "its time at work. Backward passes take twice as long as forward passes, which makes {step_1}, and the same "
        "share. Alternating forward and backward passes saves memory but no time. No rack waits for the gradients of "
        "weights. Postponing them to idle times leaves {bubble_3}."
    ),
    inputs=(
        "pipeline_stages",
        "backward_forward_ratio",
    ),
    chapter=3,
    size=(6.5, 7.4),
)
def training_bubble(ax: Axes, table: pd.DataFrame) -> None:
    """Timetables of a training step on racks in a row, with the idle time of a rack.

    The first timetable has all forwards before all backwards, both equally wide as in the lecture, then at their true
    length. The next ones are schedules that idle less or hold less. Each heading has the step time in slots, the idle
    share of rack 0, and the number of micro-batches whose activations are on it. A timetable shorter than the closed
    form has both times in its heading. Many racks and micro-batches are drawn in part.

    Parameters
    ----------
    ax : Axes, optional
        Divided into panels, one above the other; a new figure by default.
    **inputs
        `pipeline_stages`, `microbatches`, `backward_forward_ratio` (2 by FLOPs), `weight_gradient_share`, and
        `pipeline_schedule`, one or a list: the orders of the last panels. `model_chunks` are for ``"interleaved"``.

    Returns
    -------
    matplotlib.axes.Axes
    """
    from matplotlib.patches import Patch
    from matplotlib.ticker import MaxNLocator

    marks, panels = table.attrs["marks"], table.attrs["panels"]
    stages, batches = int(marks["pipeline_stages"]), int(marks["microbatches"])
    shown, drawn = int(table["stage"].max()) + 1, int(table["microbatch"].max()) + 1
    points = letters(ax, 9, training_bubble.size)
    end = float(table["end"].max())
    parts = ((shown, stages, "racks"), (drawn, batches, "micro-batches"))
    notes = ["darker: later chunks of a rack"] if table["chunk"].any() else []
    notes += _only([f"{few} of {many:,} {word}" for few, many, word in parts if few < many])
    label = ["time, in forward passes of a micro-batch", *(["; ".join(notes)] if notes else [])]
    for k, panel in enumerate(_rows(ax, len(panels), points, bottom=2.3 + 1.1 * len(label), gap=1.7)):
        schedule, ratio = panels[k]
        boxes = table[table["panel"] == k]
        step = float(boxes["end"].max())
        _racks(panel, end, stages, shown, points)
        name = _NAMES[schedule]
        if schedule == "interleaved":
            name += f", {table.attrs['chunks']:,} {'chunk' if table.attrs['chunks'] == 1 else 'chunks'}"
        wide = f", backward {ratio:g} {style.TIMES} forward"
        slots, most = (style.text_of(marks[f"{mark}_{k}"], "1") for mark in ("step", "live"))
        numbers = f"{slots} slots, rack 0 idles for {_percent(marks[f'bubble_{k}'])}, activations of {most}"
        if not math.isclose(marks[f"drawn_{k}"], marks[f"step_{k}"]):
            numbers += f" (drawn: {style.text_of(marks[f'drawn_{k}'], '1')} slots)"
        _heading(panel, f"{name}{wide if schedule == 'gpipe' else ''}: {numbers}", points)
        for work in records(boxes):
            word, look, ink = _KINDS[work.kind]
            look = {**look, "facecolor": _LATER[work.kind]} if work.chunk else look
            bounds = (work.start, work.stage, work.end - work.start, 0.9)
            box(panel, bounds[:2], bounds[2:], work.kind, **look)
            inside(panel, bounds, f"{word}{work.microbatch}", points, color=ink)
        for stage in range(shown):
            for start, stop in _gaps(boxes[boxes["stage"] == stage], step):
                between = "drain" if schedule == "gpipe" else "gap"
                kind = "fill" if start == 0 else "end" if math.isclose(stop, step) else between
                box(panel, (start, stage), (stop - start, 0.9), kind, **_IDLE)
                if (kind, stage) in (("drain", 0), ("fill", shown - 1)):
                    halo = {**style.HALO, "pad": 0.6}
                    inside(panel, (start, stage, stop - start, 0.9), kind, points, bbox=halo)
        if schedule == "gpipe":
            turn = float(boxes[boxes["kind"] == "forward"]["end"].max())
            panel.plot(
                [turn, turn], [-0.06, shown + 0.02], color=style.RED, linewidth=2, linestyle="-", label="hard stop"
            )
    panel.set_xlabel("\n".join(label), fontsize=points)
    panel.tick_params(axis="x", labelsize=points)
    panel.xaxis.set_major_locator(MaxNLocator(integer=True))
    kinds = [(kind, _KINDS[kind][1]) for kind in _KINDS if (table["kind"] == kind).any()]
    names = {"weight": "gradients of weights"}
    handles: list[Any] = [Patch(label=names.get(kind, kind), **look) for kind, look in [*kinds, ("bubble", _IDLE)]]
    handles.append(panel.plot([], [], color=style.RED, linewidth=2, linestyle="-", label="hard stop")[0])
    ax.legend(handles=handles, loc="lower center", ncols=len(handles), fontsize=points, borderaxespad=0)
