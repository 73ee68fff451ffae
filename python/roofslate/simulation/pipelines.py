"""Timetables of pipelines: which stage works on which batch, in inference and in training."""

from __future__ import annotations

import math
from collections import deque
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from roofslate._base.messages import unknown
from roofslate.errors import ValueRangeError
from roofslate.simulation.checks import duration, natural

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["PipelineSchedule", "pipeline_inference", "pipeline_training", "stage_times", "stage_use"]

PipelineSchedule = Literal["gpipe", "1f1b", "zb_h1", "zb_h2"]
_SCHEDULES = ("gpipe", "1f1b", "zb_h1", "zb_h2")


def pipeline_inference(
    *,
    pipeline_stages: int,
    microbatches: int | None = None,
    tokens: int = 3,
    stage_time: float | str = 1.0,
    hop_latency: float | str = 0.0,
) -> pd.DataFrame:
    """Timetable of decoding on a pipeline of stages: one row a box, a stage at work on a token of a batch.

    A batch returns to the first stage for its next token, so the batches in flight go round and round.

    Parameters
    ----------
    pipeline_stages : int
    microbatches : int, optional
        Batches in flight; as many as stages unless given. With 1, one stage works and the others idle.
    tokens : int
        Tokens that each sequence gets.
    stage_time : float or str
        Time that a stage works on a batch.
    hop_latency : float or str
        Time from the end of one stage to the start of the next, and from the last back to the first.

    Returns
    -------
    pandas.DataFrame
        Columns `stage`, `microbatch`, `token`, `kind` ("forward"), `start` and `end`, the last two in seconds; in the
        order of the starts.

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
) -> pd.DataFrame:
    """Timetable of a training step on a pipeline of stages: one row a box, a stage at work on a micro-batch.

    A stage takes up work that has arrived. "gpipe" does all forwards first and then the backwards, last in, first out.
    The others prefer a backward to a forward and run ahead of the backwards by so many forwards: P - s on stage s of P,
    "zb_h2" by 2 (P - s) - 1. "zb_h1" and "zb_h2" take the gradients of the weights, which no other stage waits for,
    out of the backward and compute them when there is nothing else to do.

    Parameters
    ----------
    pipeline_stages : int
    microbatches : int, optional
        As many as stages unless given.
    pipeline_schedule : {"gpipe", "1f1b", "zb_h1", "zb_h2"}
    backward_forward_ratio : float
        Time of a backward over that of a forward: 2 by its arithmetic, 1 as the lecture draws it.
    weight_gradient_share : float
        Share of a backward that gives the gradients of weights; for the last two schedules.

    Returns
    -------
    pandas.DataFrame
        Columns `stage`, `microbatch`, `kind` ("forward", "backward" or "weight"), `start` and `end`, the last two in
        times of a forward; in the order of the starts. `stage_use` says how busy each stage is.

    Examples
    --------
    >>> import roofslate as rs
    >>> float(rs.schedules.pipeline_training(pipeline_stages=4, backward_forward_ratio=1)["end"].max())
    14.0
    """
    if pipeline_schedule not in _SCHEDULES:
        raise unknown("pipeline_schedule", pipeline_schedule, _SCHEDULES)
    stages = natural(pipeline_stages, "pipeline_stages")
    batches = stages if microbatches is None else natural(microbatches, "microbatches")
    backward = duration(backward_forward_ratio, "backward_forward_ratio", unit="1")
    weight = 0.0
    if pipeline_schedule in ("zb_h1", "zb_h2"):
        weight = backward * duration(weight_gradient_share, "weight_gradient_share", unit="1", least=0.0)
        if not weight < backward:
            raise ValueRangeError(f"weight_gradient_share must be below 1, got {weight_gradient_share!r}")
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
        rows.append((number, box.microbatch, box.kind, box.start, box.end))
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
    return _boxes(rows, ["stage", "microbatch", "kind", "start", "end"], "1")


def stage_use(table: pd.DataFrame) -> pd.DataFrame:
    """Busy and idle time of each stage of a pipeline's timetable.

    Parameters
    ----------
    table : pandas.DataFrame
        Of `pipeline_inference` or `pipeline_training`.

    Returns
    -------
    pandas.DataFrame
        Index `stage`; columns `start` of its first work, `end` of its last, `busy`, `idle` (between the two) and
        `idle_share`. The largest of these is the bubble of a training step.

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
    """Time of each stage of a pipeline whose layers differ, such as those with local and with global attention.

    Parameters
    ----------
    layer_times : array_like
        Time of each layer, in the order of the model.
    pipeline_stages : int
        Stages of equally many layers, one after the other.

    Returns
    -------
    pandas.DataFrame
        Index `stage`; columns `layers`, `time` and `utilization`, the stage's time over that of the slowest. The mean
        of `utilization` is the balance of the pipeline.

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
        raise ValueRangeError(f"layer_times must be one row that {stages} stages divide, got shape {times.shape}")
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
    """A stage in a training step: what has arrived, what it is allowed to do, and when it is free."""

    def __init__(self, batches: int, ahead: int, forwards_first: bool, last: bool, times: dict[str, float]) -> None:
        self.batches = batches
        self.ahead = ahead
        self.forwards_first = forwards_first
        self.last_in_first_out = forwards_first and last
        self.times = times
        self.free = 0.0
        self.done = dict.fromkeys(times, 0)
        # Micro-batches with the time of their arrival, in that order: all of a kind come from one stage.
        self.arrived: dict[str, deque[tuple[int, float]]] = {kind: deque() for kind in times}

    def next_box(self) -> _Box:
        """What the stage does next, given what has arrived so far; starts at infinity if there is nothing."""
        first = {kind: self.arrived[kind][self._position(kind)] for kind in self._by_preference() if self.arrived[kind]}
        if not first:
            return _Box(math.inf, math.inf, 0, "")
        start = max(self.free, min(time for _, time in first.values()))
        at_hand = start + 1e-9 * (1 + start)  # sums of the same times in another order differ in their last bits
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
