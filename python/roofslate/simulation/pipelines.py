"""Timetables of pipelines: the work of each stage, in inference and in training."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, NamedTuple, get_args

import numpy as np
import numpy.typing as npt

from roofslate._base.messages import unknown
from roofslate.errors import ValueRangeError
from roofslate.simulation import chunked
from roofslate.simulation.checks import duration, natural

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PipelineSchedule", "pipeline_inference", "pipeline_training", "stage_times", "stage_use"]

PipelineSchedule = Literal["gpipe", "1f1b", "zb_h1", "zb_h2", "interleaved", "zb_v", "dualpipe"]
_SCHEDULES = get_args(PipelineSchedule)
_SPLIT = ("zb_h1", "zb_h2", "zb_v", "dualpipe")  # weight gradients are separate passes


def pipeline_inference(
    *,
    pipeline_stages: int,
    microbatches: int | None = None,
    tokens: int = 3,
    stage_time: float | str = 1.0,
    hop_latency: float | str = 0.0,
) -> pd.DataFrame:
    """Simulate decoding on a pipeline of stages, one row per stage and token of a batch.

    A batch returns to the first stage for its next token, so the batches in flight circulate.

    Parameters
    ----------
    pipeline_stages : int
    microbatches : int, optional
        Batches in flight, by default one per stage. With 1, one stage works and the others idle.
    tokens : int
        Tokens to generate per sequence.
    stage_time : float or str
        Time of a stage per batch.
    hop_latency : float or str
        Time from the end of one stage to the start of the next, and from the last back to the first.

    Returns
    -------
    pandas.DataFrame
        Columns `stage`, `microbatch`, `token`, `kind` ("forward"), `start` and `end`, the last two in seconds. Sorted
        by `start`.

    Examples
    --------
    >>> import roofslate as rs
    >>> table = rs.schedules.pipeline_inference(pipeline_stages=4, stage_time="5 ms", tokens=1)
    >>> float(table[table["microbatch"] == 0]["end"].max())
    0.02
    """
    stages = natural(pipeline_stages, "pipeline_stages")
    batches = stages if microbatches is None else natural(microbatches, "microbatches")
    work = duration(stage_time, "stage_time")
    hop = duration(hop_latency, "hop_latency", least=0.0)
    free = [0.0] * stages
    ready = [0.0] * batches
    rows = []
    for token in range(natural(tokens, "tokens")):
        for batch in range(batches):
            for stage in range(stages):
                start = max(free[stage], ready[batch])
                free[stage] = start + work
                ready[batch] = free[stage] + hop
                rows.append((stage, batch, token, "forward", start, free[stage]))
    return _boxes(rows, ["stage", "microbatch", "token", "kind", "start", "end"], "s")


def pipeline_training(
    *,
    pipeline_stages: int,
    microbatches: int | None = None,
    pipeline_schedule: PipelineSchedule = "gpipe",
    backward_forward_ratio: float = 2.0,
    weight_gradient_share: float = 0.5,
    model_chunks: int | None = None,
) -> pd.DataFrame:
    """Simulate a training step on a pipeline, one row per stage and pass of a micro-batch.

    A stage starts work that has arrived. "gpipe" does all forwards first and then the backwards, last in, first out.
    "1f1b", "zb_h1" and "zb_h2" prefer a backward to a forward, and limit how far forwards run ahead of backwards: P - s
    on stage s of P, "zb_h2" 2 (P - s) - 1. The schedules from "zb_h1" split the weight gradients, which no other stage
    waits for, from the backward, and compute them in idle time. "interleaved" gives each stage `model_chunks` parts of
    the model. "zb_v" gives it two, which a micro-batch visits on its way down and up. "dualpipe" sends half of the
    micro-batches from each end. It overlaps a forward with a backward. The table lists such a pair one after the other,
    and both results are passed on at the end of the pair.

    Parameters
    ----------
    pipeline_stages : int
    microbatches : int, optional
        By default one per stage.
    pipeline_schedule : {"gpipe", "1f1b", "zb_h1", "zb_h2", "interleaved", "zb_v", "dualpipe"}
    backward_forward_ratio : float
        Time of a backward relative to a forward: 2 by FLOPs, 1 in the lecture's drawing.
    weight_gradient_share : float
        Fraction of a backward spent on weight gradients, for schedules that split them.
    model_chunks : int, optional
        Parts of the model on each stage, only for "interleaved". By default 1.

    Returns
    -------
    pandas.DataFrame
        Columns `stage`, `microbatch`, `chunk` (0 if a stage has one part), `kind` ("forward", "backward" or "weight"),
        `start` and `end`, the last two in forward times of a stage. Sorted by `start`. `stage_use` gives the
        utilization of each stage.

    Examples
    --------
    >>> import roofslate as rs
    >>> float(rs.schedules.pipeline_training(pipeline_stages=4, backward_forward_ratio=1)["end"].max())
    14.0
    """
    if pipeline_schedule not in _SCHEDULES:
        raise unknown("pipeline_schedule", pipeline_schedule, _SCHEDULES)
    if model_chunks is not None and pipeline_schedule != "interleaved":
        raise ValueRangeError(
            f"model_chunks acts only with pipeline_schedule='interleaved', got {pipeline_schedule!r}. Leave it out."
        )
    stages = natural(pipeline_stages, "pipeline_stages")
    batches = stages if microbatches is None else natural(microbatches, "microbatches")
    backward = duration(backward_forward_ratio, "backward_forward_ratio", unit="1")
    weight = 0.0
    if pipeline_schedule in _SPLIT:
        weight = backward * duration(weight_gradient_share, "weight_gradient_share", unit="1", least=0.0)
        if not weight < backward:
            raise ValueRangeError(f"weight_gradient_share must be below 1, got {weight_gradient_share!r}")
    columns = ["stage", "microbatch", "chunk", "kind", "start", "end"]
    if pipeline_schedule == "interleaved":
        chunks = natural(1 if model_chunks is None else model_chunks, "model_chunks")
        return _boxes(chunked.interleaved(stages, batches, chunks, backward), columns, "1")
    if pipeline_schedule == "zb_v":
        return _boxes(chunked.zero_bubble_v(stages, batches, backward, weight), columns, "1")
    if pipeline_schedule == "dualpipe":
        return _boxes(chunked.dualpipe(stages, batches, backward, weight), columns, "1")
    gpipe = pipeline_schedule == "gpipe"
    times = {"forward": 1.0, "backward": backward - weight, "weight": weight}
    line = []
    for number in range(stages):
        below = stages - number
        ahead = batches if gpipe else 2 * below - 1 if pipeline_schedule == "zb_h2" else below
        line.append(_Stage(batches, ahead, gpipe, below == 1, times))
    line[0].arrived["forward"].extend((batch, 0.0) for batch in range(batches))
    planned = [stage.next_box() for stage in line]
    rows = []
    while (box := min(planned)).start < math.inf:
        number = planned.index(box)
        line[number].do(box)
        rows.append((number, box.microbatch, 0, box.kind, box.start, box.end))
        if box.kind == "forward":
            other, then = (number + 1, "forward") if number + 1 < stages else (number, "backward")
            line[other].arrived[then].append((box.microbatch, box.end))
            planned[other] = line[other].next_box()
        if box.kind == "backward" and number > 0:
            line[number - 1].arrived["backward"].append((box.microbatch, box.end))
            planned[number - 1] = line[number - 1].next_box()
        if box.kind == "backward" and weight > 0:
            line[number].arrived["weight"].append((box.microbatch, box.end))
        planned[number] = line[number].next_box()
    return _boxes(rows, columns, "1")


def stage_use(table: pd.DataFrame) -> pd.DataFrame:
    """Sum the busy and idle time of each stage of a pipeline's timetable.

    Parameters
    ----------
    table : pandas.DataFrame
        From `pipeline_inference` or `pipeline_training`.

    Returns
    -------
    pandas.DataFrame
        Index `stage`. Columns `start` of its first work, `end` of its last, `busy`, `idle` (between the two) and
        `idle_share`. The largest `idle_share` is the pipeline bubble of a training step.

    Examples
    --------
    >>> import roofslate as rs
    >>> use = rs.schedules.stage_use(rs.schedules.pipeline_training(pipeline_stages=4, pipeline_schedule="zb_h1"))
    >>> round(float(use["idle_share"].max()), 3)
    0.2
    """
    stages = table.assign(busy=table["end"] - table["start"]).groupby("stage")
    use = stages.agg(start=("start", "min"), end=("end", "max"), busy=("busy", "sum"))
    use["idle"] = use["end"] - use["start"] - use["busy"]
    use["idle_share"] = use["idle"] / (use["end"] - use["start"])
    time = table.attrs.get("units", {}).get("end", "1")
    use.attrs["units"] = {
        **dict.fromkeys(["start", "end", "busy", "idle"], time),
        "idle_share": "1",
    }
    return use


def stage_times(layer_times: npt.ArrayLike, *, pipeline_stages: int) -> pd.DataFrame:
    """Sum the time of each pipeline stage if layers differ, as local and global attention do.

    Parameters
    ----------
    layer_times : array_like
        Time per layer, in the order of the model.
    pipeline_stages : int
        Number of stages, each with equally many consecutive layers.

    Returns
    -------
    pandas.DataFrame
        Index `stage`. Columns `layers`, `time` and `utilization`, the stage time relative to the slowest stage. The
        mean of `utilization` is the balance of the pipeline.

    Examples
    --------
    >>> import roofslate as rs
    >>> float(rs.schedules.stage_times([1, 1, 1, 4] * 2, pipeline_stages=4)["utilization"].mean())
    0.7
    """
    import pandas as pd

    stages = natural(pipeline_stages, "pipeline_stages")
    times = np.asarray(layer_times, dtype=float)
    if times.ndim != 1 or times.size == 0 or times.size % stages:
        raise ValueRangeError(
            f"layer_times must be one row of a length divisible by {stages} stages, got shape {times.shape}"
        )
    if not (np.isfinite(times).all() and (times > 0).all()):
        raise ValueRangeError("layer_times must be positive and finite")
    time = times.reshape(stages, -1).sum(axis=1)
    return pd.DataFrame(
        {"layers": times.size // stages, "time": time, "utilization": time / time.max()},
        index=pd.RangeIndex(stages, name="stage"),
    )


class _Box(NamedTuple):
    start: float
    end: float
    microbatch: int
    kind: str


class _Stage:
    """The state of a stage in a training step: arrived micro-batches, done work, free time."""

    def __init__(self, batches: int, ahead: int, forwards_first: bool, last: bool, times: dict[str, float]) -> None:
        self.batches = batches
        self.ahead = ahead
        self.forwards_first = forwards_first
        self.last_in_first_out = forwards_first and last
        self.times = times
        self.free = 0.0
        self.done = dict.fromkeys(times, 0)
        # Micro-batches with arrival times, in that order: all of a kind come from one stage.
        self.arrived: dict[str, deque[tuple[int, float]]] = {kind: deque() for kind in times}

    def next_box(self) -> _Box:
        """Return the next box of the stage, or one that starts at infinity without arrivals."""
        first = {kind: self.arrived[kind][self._position(kind)] for kind in self._by_preference() if self.arrived[kind]}
        if not first:
            return _Box(math.inf, math.inf, 0, "")
        start = max(self.free, min(time for _, time in first.values()))
        at_hand = start + 1e-9 * (1 + start)  # the same times summed in another order differ in their last bits
        kind = next(kind for kind, (_, time) in first.items() if time <= at_hand)
        return _Box(start, start + self.times[kind], first[kind][0], kind)

    def do(self, box: _Box) -> None:
        self.free = box.end
        self.done[box.kind] += 1
        del self.arrived[box.kind][self._position(box.kind)]

    def _position(self, kind: str) -> int:
        return -1 if self.last_in_first_out and kind == "backward" else 0

    def _by_preference(self) -> tuple[str, ...]:
        if self.forwards_first:
            return ("forward",) if self.done["forward"] < self.batches else ("backward",)
        if self.done["forward"] - self.done["backward"] < self.ahead:
            return ("backward", "forward", "weight")
        return ("backward", "weight")


def _boxes(rows: list[Any], columns: list[str], unit: str) -> pd.DataFrame:
    import pandas as pd

    table = pd.DataFrame(rows, columns=columns).sort_values(["start", "stage"], ignore_index=True)
    table.attrs["units"] = {"start": unit, "end": unit}
    return table
