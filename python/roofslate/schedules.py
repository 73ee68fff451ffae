"""Timetables: which pass departs when and who boards it, and which stage of a pipeline works on what.

Simulated request by request and box by box; the registry has the closed forms.
"""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from roofslate import units
from roofslate.errors import InputTypeError, MissingInput, ValueRangeError, unknown

if TYPE_CHECKING:
    import pandas as pd

__all__ = [
    "PipelineSchedule",
    "Policy",
    "left_behind",
    "pipeline_inference",
    "pipeline_training",
    "stage_times",
    "stage_use",
    "train",
    "train_timetable",
]

Policy = Literal["interval", "idle", "threshold"]
PipelineSchedule = Literal["gpipe", "1f1b", "zb_h1", "zb_h2"]
_POLICIES = ("interval", "idle", "threshold")
_SCHEDULES = ("gpipe", "1f1b", "zb_h1", "zb_h2")
_BLOCK = 1 << 16  # arrivals drawn at a time


class _Departure(NamedTuple):
    departure: float
    end: float
    waiting: int
    boarded: npt.NDArray[np.float64]  # when each of those on board arrived


def train(
    *,
    seats: float,
    seed: int,
    trains: int = 10_000,
    policy: Policy = "interval",
    arrival_rate: float | str | None = None,
    load: float | None = None,
    period: float | str | None = None,
    fixed_pass_time: float | str | None = None,
    pass_time_per_sequence: float | str | None = None,
    threshold: int | None = None,
    timeout: float | str | None = None,
) -> pd.DataFrame:
    """Simulated passes that depart like trains, with Poisson arrivals: one row a departure.

    Parameters
    ----------
    seats : float
        Sequences that a pass has room for.
    seed : int
        Of the random numbers; the same seed gives the same table.
    trains : int
        Departures to simulate, from an empty station on.
    policy : {"interval", "idle", "threshold"}
        When a pass departs: each `period`, whoever is there; as soon as the one before it is over and anyone waits; or,
        once that is so, when `threshold` sequences wait or the first of them has waited for `timeout`.
    arrival_rate : float or str, optional
        Sequences that arrive in a second.
    load : float, optional
        The same as a share of the seats of a period; for ``policy="interval"``.
    period : float or str, optional
        Time between departures, which is also the time of a pass; for ``policy="interval"``.
    fixed_pass_time, pass_time_per_sequence : float or str, optional
        A pass with B sequences takes fixed_pass_time + B pass_time_per_sequence; for the other policies.
    threshold : int, optional
    timeout : float or str, optional
        For ``policy="threshold"``.

    Returns
    -------
    pandas.DataFrame
        Index `train`; columns `departure`, `end`, `waiting` (at the departure), `boarded`, `left_behind`, `mean_wait`,
        `mean_time`, `worst_time`. Times are in seconds, from arrival; those of an empty train are NaN.

    Examples
    --------
    >>> import roofslate as rs
    >>> table = rs.schedules.train(period="20 ms", seats=2000, load=0.9, trains=100, seed=1)
    >>> bool(table["worst_time"].max() <= 0.04)
    True
    """
    import pandas as pd

    rows = []
    given = _Station(
        seats, policy, arrival_rate, load, period, fixed_pass_time, pass_time_per_sequence, threshold, timeout
    )
    for run in given.departures(_natural(trains, "trains"), seed):
        size = run.boarded.size
        wait = run.departure - run.boarded.mean() if size else math.nan
        first = run.boarded[0] if size else math.nan
        ride = run.end - run.departure
        rows.append((run.departure, run.end, run.waiting, size, run.waiting - size, wait, wait + ride, run.end - first))
    columns = ["departure", "end", "waiting", "boarded", "left_behind", "mean_wait", "mean_time", "worst_time"]
    table = pd.DataFrame(rows, columns=columns, index=pd.RangeIndex(len(rows), name="train"))
    counts = ("waiting", "boarded", "left_behind")
    table.attrs["units"] = {name: "sequence" if name in counts else "s" for name in columns}
    return table


def train_timetable(*, seats: float, seed: int, trains: int = 5, **inputs: Any) -> pd.DataFrame:
    """Timetable of the requests of simulated trains: one row a sequence that boarded.

    Parameters
    ----------
    seats, seed, trains
        As in `train`.
    **inputs
        The other inputs of `train`.

    Returns
    -------
    pandas.DataFrame
        Columns `arrival`, `train`, `departure`, `end`, `wait` and `time`, the last two from the arrival on. In seconds.
    """
    import pandas as pd

    names = ("arrival_rate", "load", "period", "fixed_pass_time", "pass_time_per_sequence", "threshold", "timeout")
    for name in inputs:
        if name not in ("policy", *names):
            raise unknown("input of train_timetable", name, ("policy", *names))
    given = _Station(seats, inputs.get("policy", "interval"), *(inputs.get(name) for name in names))
    runs = list(given.departures(_natural(trains, "trains"), seed))
    sizes = [run.boarded.size for run in runs]
    arrival = np.concatenate([run.boarded for run in runs])
    departure = np.repeat([run.departure for run in runs], sizes)
    end = np.repeat([run.end for run in runs], sizes)
    table = pd.DataFrame(
        {
            "arrival": arrival,
            "train": np.repeat(np.arange(len(runs)), sizes),
            "departure": departure,
            "end": end,
            "wait": departure - arrival,
            "time": end - arrival,
        }
    )
    table.attrs["units"] = {name: "s" for name in table.columns if name != "train"}
    return table


def left_behind(seats: int, load: float) -> float:
    """Mean number that a train of the interval policy leaves behind in the long run, in sequences.

    Spitzer's formula: the sum over n of E[(Poisson(n load seats) - n seats)+] / n.

    Parameters
    ----------
    seats : int
        Sequences that a pass has room for.
    load : float
        Mean arrivals of a period over the seats, from 0 to below 1.

    Returns
    -------
    float

    Examples
    --------
    >>> import roofslate as rs
    >>> round(rs.schedules.left_behind(2000, 0.98), 2)
    7.3
    """
    seats = _natural(seats, "seats")
    if not 0 <= load < 1:
        raise ValueRangeError(f"load must be from 0 to below 1, got {load!r}")
    if load == 0:
        return 0.0
    decay = seats * (load - 1 - math.log(load))  # the n-th term falls as e^(-n decay)
    if decay < 1e-3:
        raise ValueRangeError(f"load is too close to 1 for {seats} seats: the sum would not end; got {load!r}")
    total = 0.0
    for n in range(1, math.ceil(40 / decay) + 2):
        room = n * seats
        mean = room * load
        steps = np.arange(1, 60 + int(12 * math.sqrt(room)))
        at_room = math.exp(room * math.log(mean) - mean - math.lgamma(room + 1))
        total += at_room * float(np.sum(steps * np.cumprod(mean / (room + steps)))) / n
    return total


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
    stages = _natural(pipeline_stages, "pipeline_stages")
    batches = stages if microbatches is None else _natural(microbatches, "microbatches")
    work = _duration(stage_time, "stage_time")
    hop = _duration(hop_latency, "hop_latency", least=0.0)
    free = [0.0] * stages
    ready = [0.0] * batches
    rows = []
    for token in range(_natural(tokens, "tokens")):
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
    stages = _natural(pipeline_stages, "pipeline_stages")
    batches = stages if microbatches is None else _natural(microbatches, "microbatches")
    backward = _duration(backward_forward_ratio, "backward_forward_ratio", unit="1")
    weight = 0.0
    if pipeline_schedule in ("zb_h1", "zb_h2"):
        weight = backward * _duration(weight_gradient_share, "weight_gradient_share", unit="1", least=0.0)
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

    stages = _natural(pipeline_stages, "pipeline_stages")
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


# ------------------------------------------------------------------------------------------------------ the station


class _Station:
    """Inputs of a simulation, checked, in base units."""

    def __init__(
        self,
        seats: float,
        policy: str,
        arrival_rate: Any,
        load: Any,
        period: Any,
        fixed_pass_time: Any,
        pass_time_per_sequence: Any,
        threshold: Any,
        timeout: Any,
    ) -> None:
        if policy not in _POLICIES:
            raise unknown("policy", policy, _POLICIES)
        given = {
            "arrival_rate": (arrival_rate, "sequence/s"),
            "load": (load, "1"),
            "period": (period, "s"),
            "fixed_pass_time": (fixed_pass_time, "s"),
            "pass_time_per_sequence": (pass_time_per_sequence, "s/sequence"),
            "threshold": (threshold, "sequence"),
            "timeout": (timeout, "s"),
        }
        takes = {
            "interval": ("period",),
            "idle": ("fixed_pass_time", "pass_time_per_sequence"),
            "threshold": ("fixed_pass_time", "pass_time_per_sequence", "threshold", "timeout"),
        }[policy]
        rate = ("arrival_rate", "load") if policy == "interval" else ("arrival_rate",)
        if sum(given[name][0] is not None for name in rate) != 1:
            raise MissingInput(f"policy={policy!r} takes {' or '.join(rate)}, one of them")
        values: dict[str, float] = {}
        for name, (value, unit) in given.items():
            if value is None:
                if name in takes:
                    raise MissingInput(f"policy={policy!r} needs {name}")
                continue
            if name not in takes + rate:
                raise InputTypeError(f"policy={policy!r} does not take {name}")
            values[name] = units.to_base(value, unit)
            if not 0 <= values[name] < math.inf or (values[name] == 0 and name not in _MAY_BE_ZERO):
                raise ValueRangeError(f"{name} must be positive and finite, got {value!r}")
        self.policy = policy
        self.seats = _natural(seats, "seats")
        self.period = values.get("period", 0.0)
        self.rate = values["arrival_rate"] if "arrival_rate" in values else values["load"] * self.seats / self.period
        self.fixed = values.get("fixed_pass_time", self.period)
        self.each = values.get("pass_time_per_sequence", 0.0)
        self.threshold = _natural(values["threshold"], "threshold") if "threshold" in values else 1
        self.timeout = values.get("timeout", 0.0)
        if self.threshold > self.seats:
            raise ValueRangeError(f"threshold must be at most the {self.seats} seats, got {threshold!r}")

    def departures(self, trains: int, seed: int) -> Iterator[_Departure]:
        draw = np.random.default_rng(_natural(seed, "seed", least=0))
        line = np.empty(0)  # arrivals that have not boarded, and some that are still to come
        last = end = 0.0
        for number in range(1, trains + 1):
            while True:
                leave = self._leave(number, end, line)
                if leave is not None and line.size and line[-1] > leave:
                    break
                more = last + np.cumsum(draw.exponential(1 / self.rate, _BLOCK))
                last = more[-1]
                line = np.concatenate([line, more])
            waiting = int(np.searchsorted(line, leave, side="right"))
            boarded = min(waiting, self.seats)
            end = leave + self.fixed + self.each * boarded
            yield _Departure(leave, end, waiting, line[:boarded])
            line = line[boarded:]

    def _leave(self, number: int, free: float, line: npt.NDArray[np.float64]) -> float | None:
        """When the next train leaves; None if that needs arrivals not yet drawn."""
        if self.policy == "interval":
            return number * self.period
        if line.size < self.threshold:
            return None
        if self.policy == "idle":
            return max(free, float(line[0]))
        return max(free, min(float(line[self.threshold - 1]), float(line[0]) + self.timeout))


_MAY_BE_ZERO = ("pass_time_per_sequence", "timeout")


# -------------------------------------------------------------------------------------------------------- the stages


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


def _duration(value: float | str, name: str, unit: str = "s", least: float | None = None) -> float:
    """A finite time that is positive, or at least `least`."""
    number = units.to_base(value, unit)
    if not (math.isfinite(number) and (number > 0 if least is None else number >= least)):
        raise ValueRangeError(
            f"{name} must be finite and {'positive' if least is None else 'not negative'}, got {value!r}"
        )
    return number


def _natural(value: float, name: str, least: int = 1) -> int:
    if isinstance(value, bool) or not isinstance(value, (int, float, np.integer, np.floating)):
        raise InputTypeError(f"{name}: expected a whole number, got {value!r}")
    if not (least <= value < 2**53) or value != int(value):
        raise ValueRangeError(f"{name} must be a whole number of at least {least}, got {value!r}")
    return int(value)
