"""Timetables of scheduled passes: departures, and the requests of each."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

import numpy as np
import numpy.typing as npt

from roofslate import units
from roofslate._base.messages import unknown
from roofslate.errors import InputTypeError, MissingInput, ValueRangeError
from roofslate.simulation.checks import natural

if TYPE_CHECKING:
    from collections.abc import Iterator

    import pandas as pd

__all__ = ["Policy", "left_behind", "train", "train_timetable"]

Policy = Literal["interval", "idle", "threshold"]
_POLICIES = ("interval", "idle", "threshold")
_MAY_BE_ZERO = ("pass_time_per_sequence", "timeout")
_BLOCK = 1 << 16  # arrivals drawn at a time


class _Departure(NamedTuple):
    departure: float
    end: float
    waiting: int
    boarded: npt.NDArray[np.float64]  # arrival times


def train(
    *,
    batch_slots: float,
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
    """Simulate scheduled passes with Poisson arrivals, one row per departure.

    Parameters
    ----------
    batch_slots : float
        Most sequences per pass.
    seed : int
        Of the random numbers. The same seed gives the same table.
    trains : int
        Departures to simulate, starting with an empty queue.
    policy : {"interval", "idle", "threshold"}
        Schedule of departures. ``"interval"``: every `period`, even if empty. ``"idle"``: once the previous pass has
        ended and a request waits. ``"threshold"``: once, in addition, `threshold` sequences wait, or the first has
        waited for `timeout`.
    arrival_rate : float or str, optional
        Arriving sequences per second.
    load : float, optional
        The same relative to the batch slots per period. For ``policy="interval"``.
    period : float or str, optional
        Time between departures, which is also the time of a pass. For ``policy="interval"``.
    fixed_pass_time, pass_time_per_sequence : float or str, optional
        A pass with B sequences takes fixed_pass_time + B pass_time_per_sequence. For the other policies.
    threshold : int, optional
    timeout : float or str, optional
        For ``policy="threshold"``.

    Returns
    -------
    pandas.DataFrame
        Index `train`. Columns `departure`, `end`, `waiting` (at the departure), `boarded`, `left_behind`, `mean_wait`,
        `mean_time`, `worst_time`. Times are in seconds, from arrival. They are NaN for an empty pass.

    Examples
    --------
    >>> import roofslate as rs
    >>> table = rs.schedules.train(period="20 ms", batch_slots=2000, load=0.9, trains=100, seed=1)
    >>> bool(table["worst_time"].max() <= 0.04)
    True
    """
    import pandas as pd

    rows = []
    given = _Station(
        batch_slots, policy, arrival_rate, load, period, fixed_pass_time, pass_time_per_sequence, threshold, timeout
    )
    for run in given.departures(natural(trains, "trains"), seed):
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


def train_timetable(*, batch_slots: float, seed: int, trains: int = 5, **inputs: Any) -> pd.DataFrame:
    """Simulate scheduled passes, one row per sequence that boarded.

    Parameters
    ----------
    batch_slots, seed, trains
        As in `train`.
    **inputs
        Further inputs of `train`.

    Returns
    -------
    pandas.DataFrame
        Columns `arrival`, `train`, `departure`, `end`, `wait` and `time`, the last two since the arrival. In seconds.
    """
    import pandas as pd

    names = ("arrival_rate", "load", "period", "fixed_pass_time", "pass_time_per_sequence", "threshold", "timeout")
    for name in inputs:
        if name not in ("policy", *names):
            raise unknown("input of train_timetable", name, ("policy", *names))
    given = _Station(batch_slots, inputs.get("policy", "interval"), *(inputs.get(name) for name in names))
    runs = list(given.departures(natural(trains, "trains"), seed))
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


def left_behind(batch_slots: int, load: float) -> float:
    """Compute the mean number of sequences left behind per departure, interval policy.

    Holds in steady state.

    Spitzer's formula: the sum over n of E[(Poisson(n load batch_slots) - n batch_slots)+] / n.

    Parameters
    ----------
    batch_slots : int
        Most sequences per pass.
    load : float
        Mean arrivals per period relative to the batch slots, from 0 to below 1.

    Returns
    -------
    float

    Examples
    --------
    >>> import roofslate as rs
    >>> round(rs.schedules.left_behind(2000, 0.98), 2)
    7.3
    """
    batch_slots = natural(batch_slots, "batch_slots")
    if not 0 <= load < 1:
        raise ValueRangeError(f"load must be from 0 to below 1, got {load!r}")
    if load == 0:
        return 0.0
    decay = batch_slots * (load - 1 - math.log(load))  # the n-th term falls as e^(-n decay)
    if decay < 1e-3:
        raise ValueRangeError(
            f"load is too close to 1 for {batch_slots} slots, the sum does not converge: got {load!r}"
        )
    total = 0.0
    for n in range(1, math.ceil(40 / decay) + 2):
        slots = n * batch_slots
        mean = slots * load
        steps = np.arange(1, 60 + int(12 * math.sqrt(slots)))
        at_room = math.exp(slots * math.log(mean) - mean - math.lgamma(slots + 1))
        total += at_room * float(np.sum(steps * np.cumprod(mean / (slots + steps)))) / n
    return total


class _Station:
    """The inputs of a simulated schedule, checked, in base units."""

    def __init__(
        self,
        batch_slots: float,
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
            raise MissingInput(f"policy={policy!r} expects {' or '.join(rate)}. Give exactly one.")
        values: dict[str, float] = {}
        for name, (value, unit) in given.items():
            if value is None:
                if name in takes:
                    raise MissingInput(f"policy={policy!r} expects {name}. Give it.")
                continue
            if name not in takes + rate:
                raise InputTypeError(f"policy={policy!r} does not accept {name}. Leave it out.")
            values[name] = units.to_base(value, unit)
            if not 0 <= values[name] < math.inf or (values[name] == 0 and name not in _MAY_BE_ZERO):
                raise ValueRangeError(f"{name} must be positive and finite, got {value!r}")
        self.policy = policy
        self.batch_slots = natural(batch_slots, "batch_slots")
        self.period = values.get("period", 0.0)
        self.rate = (
            values["arrival_rate"] if "arrival_rate" in values else values["load"] * self.batch_slots / self.period
        )
        self.fixed = values.get("fixed_pass_time", self.period)
        self.each = values.get("pass_time_per_sequence", 0.0)
        self.threshold = natural(values["threshold"], "threshold") if "threshold" in values else 1
        self.timeout = values.get("timeout", 0.0)
        if self.threshold > self.batch_slots:
            raise ValueRangeError(f"threshold must be at most the {self.batch_slots} slots, got {threshold!r}")

    def departures(self, trains: int, seed: int) -> Iterator[_Departure]:
        draw = np.random.default_rng(natural(seed, "seed", least=0))
        line = np.empty(0)  # arrivals that have not boarded, future ones included
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
            boarded = min(waiting, self.batch_slots)
            end = leave + self.fixed + self.each * boarded
            yield _Departure(leave, end, waiting, line[:boarded])
            line = line[boarded:]

    def _leave(self, number: int, free: float, line: npt.NDArray[np.float64]) -> float | None:
        """Return the time of the next departure, or None if it depends on arrivals not yet drawn."""
        if self.policy == "interval":
            return number * self.period
        if line.size < self.threshold:
            return None
        if self.policy == "idle":
            return max(free, float(line[0]))
        return max(free, min(float(line[self.threshold - 1]), float(line[0]) + self.timeout))
