"""Timetables of training steps in which a stage has several parts of the model."""

from __future__ import annotations

import itertools
import math
from collections import deque
from typing import NamedTuple

from roofslate.errors import ValueRangeError

__all__ = ["dualpipe", "interleaved", "zero_bubble_v"]


class _Pass(NamedTuple):
    kind: str
    chunk: int
    microbatch: int


Row = tuple[int, int, int, str, float, float]  # stage, micro-batch, chunk, kind, start, end
_Orders = list[list[tuple[_Pass, ...]]]  # of each stage: passes, or pairs that overlap


def interleaved(stages: int, batches: int, chunks: int, backward: float) -> list[Row]:
    """Order passes by rounds of micro-batches, each through all chunks in turn.

    The schedule of Narayanan et al., arXiv:2104.04473.
    """
    if batches > stages and batches % stages:
        raise ValueRangeError(
            f"microbatches: the interleaved schedule has at most {stages}, or a multiple of {stages}, one per stage in "
            f"each round, got {batches}. Give {stages * round(batches / stages)}."
        )
    rounds = [range(first, min(first + stages, batches)) for first in range(0, batches, stages)]
    forwards = [_Pass("forward", c, m) for some in rounds for c in range(chunks) for m in some]
    backwards = [_Pass("backward", c, m) for some in rounds for c in reversed(range(chunks)) for m in some]
    orders: _Orders = []
    for stage in range(stages):
        # a round ahead for each further chunk, as counted by live_microbatches also with one chunk
        ahead = min(2 * (stages - stage - 1) + (chunks - 1) * stages, len(forwards))
        order = forwards[:ahead]
        for pair in itertools.zip_longest(forwards[ahead:], backwards):
            order += [one for one in pair if one is not None]
        orders.append([(one,) for one in order])
    times = {"forward": 1 / chunks, "backward": backward / chunks}
    ring = [(stage, chunk) for chunk in range(chunks) for stage in range(stages)]
    return _timed(orders, times, [ring] * batches)


def dualpipe(stages: int, batches: int, backward: float, weight: float) -> list[Row]:
    """Order passes as DeepSeek-V3, arXiv:2412.19437, half of the micro-batches from each end."""
    if stages % 2:
        raise ValueRangeError(f"pipeline_stages must be even for dualpipe, got {stages}. Give {stages + 1}.")
    if batches % 2 or batches < 2 * stages:
        least = max(2 * stages, batches + batches % 2)
        raise ValueRangeError(
            f"microbatches must be even for dualpipe, and at least 2 per stage, got {batches}. Give {least}."
        )
    orders: _Orders = [_two_way_order(stage, stages, batches // 2) for stage in range(stages)]
    down = [(stage, 0) for stage in range(stages)]
    up = [(stage, 1) for stage in reversed(range(stages))]
    times = {"forward": 1.0, "backward": backward - weight, "weight": weight}
    return _timed(orders, times, [down] * (batches // 2) + [up] * (batches // 2))


def _two_way_order(stage: int, stages: int, batches: int) -> list[tuple[_Pass, ...]]:
    """Order the passes of a stage in the eight phases of the published code.

    The second half of the stages is mirrored.
    """
    half, mirrored = stages // 2, stage >= stages // 2
    near = min(stage, stages - 1 - stage)  # distance from the nearer end
    inner = half - near - 1
    counts = {(kind, chunk): itertools.count(batches * chunk) for kind in ("forward", "backward") for chunk in (0, 1)}
    order: list[tuple[_Pass, ...]] = []
    postponed: deque[_Pass] = deque()

    def step(kind: str, side: int) -> _Pass:
        chunk = side ^ mirrored
        return _Pass(kind, chunk, next(counts[kind, chunk]))

    def forward(*sides: int) -> None:
        order.extend((step("forward", side),) for side in sides)

    def backward(side: int, *, split: bool = False) -> None:
        one = step("backward", side)
        order.append((one,))
        postponed.append(one._replace(kind="weight"))
        if not split:
            order.append((postponed.pop(),))

    def weight() -> None:
        if postponed:
            order.append((postponed.popleft(),))

    def overlap(side: int) -> None:
        order.append((step("forward", side), step("backward", 1 - side)))

    forward(*[0] * (2 * inner))
    forward(*[0, 1] * (near + 1))
    for _ in range(inner):
        backward(1, split=True)
        weight()
        forward(1)
    for k in range(batches - stages + near + 1):
        if k == 0 and inner == 0:
            forward(0)
            backward(1)
        else:
            overlap(0)
        overlap(1)
    for _ in range(inner):
        backward(1)
        overlap(1)
    for k in range(2 * (near + 1)):
        backward(1 - k % 2, split=k > near)
    for _ in range(inner):
        weight()
        backward(0, split=True)
    order.extend((one,) for one in postponed)
    return order


def _timed(orders: _Orders, times: dict[str, float], paths: list[list[tuple[int, int]]]) -> list[Row]:
    """Start each pass of fixed orders when its stage is free and its input has arrived.

    `paths` lists stage and chunk of each micro-batch's forward passes. Passes that overlap take the sum of their times,
    both end at its end, and the rows list one after the other.
    """
    before = [dict(zip(path, [None, *path[:-1]], strict=True)) for path in paths]
    after = [dict(zip(path, [*path[1:], None], strict=True)) for path in paths]

    def source(stage: int, one: _Pass) -> tuple[str, int, int, int] | None:
        kind, chunk, batch = one
        if kind == "weight":
            return "backward", stage, chunk, batch
        neighbor = (before if kind == "forward" else after)[batch][stage, chunk]
        if neighbor is None:
            return None if kind == "forward" else ("forward", stage, chunk, batch)
        return kind, *neighbor, batch

    whole_backward = times["backward"] + times.get("weight", 0.0)
    ends: dict[tuple[str, int, int, int] | None, float] = {None: 0.0}
    free = [0.0] * len(orders)
    queues = [deque(order) for order in orders]
    rows: list[Row] = []
    while any(queues):
        for stage, queue in enumerate(queues):
            while queue and all(source(stage, one) in ends for one in queue[0]):
                group = queue.popleft()
                now = max(free[stage], *(ends[source(stage, one)] for one in group))
                for one in group:
                    length = whole_backward if len(group) > 1 and one.kind == "backward" else times[one.kind]
                    rows.append((stage, one.microbatch, one.chunk, one.kind, now, now + length))
                    now += length
                free[stage] = now
                ends.update(((one.kind, stage, one.chunk, one.microbatch), now) for one in group)
    return rows


_PREFERENCE = {
    ("backward", 1): 0,
    ("backward", 0): 1,
    ("forward", 1): 2,
    ("forward", 0): 3,
    ("weight", 0): 4,
    ("weight", 1): 5,
}


def zero_bubble_v(stages: int, batches: int, backward: float, weight: float) -> list[Row]:
    """Send each micro-batch down the stages and up again, as ZB-V.

    The schedule of Qi et al., arXiv:2401.10241.
    A stage prefers a backward to a forward, computes weight gradients in idle time, and holds at most the activations
    of a micro-batch per stage.
    """
    times = {"forward": 0.5, "backward": (backward - weight) / 2, "weight": weight / 2}
    arrived: list[dict[tuple[str, int], deque[tuple[int, float]]]] = [
        {key: deque() for key in _PREFERENCE} for _ in range(stages)
    ]
    arrived[0]["forward", 0].extend((batch, 0.0) for batch in range(batches))
    free, live = [0.0] * stages, [0] * stages
    rows: list[Row] = []

    def planned(stage: int) -> tuple[float, int, tuple[str, int]]:
        first = {key: queue[0][1] for key, queue in arrived[stage].items() if queue}
        if live[stage] >= 2 * stages:
            first = {key: time for key, time in first.items() if key[0] != "forward"}
        if not first:
            return math.inf, stage, ("", 0)
        start = max(free[stage], min(first.values()))
        at_hand = start + 1e-9 * (1 + start)
        return start, stage, min((key for key, time in first.items() if time <= at_hand), key=_PREFERENCE.__getitem__)

    while (start := min(plan := [planned(stage) for stage in range(stages)])[0]) < math.inf:
        _, stage, (kind, chunk) = min(plan)
        batch, _ = arrived[stage][kind, chunk].popleft()
        end = free[stage] = start + times[kind]
        rows.append((stage, batch, chunk, kind, start, end))
        if kind == "weight":
            continue
        live[stage] += 1 if kind == "forward" else -1
        down = (kind == "forward") == (chunk == 0)
        neighbor = stage + (1 if down else -1)
        if 0 <= neighbor < stages:
            arrived[neighbor][kind, chunk].append((batch, end))
        elif down:  # the turn at the last stage, to its other chunk
            arrived[stage][kind, 1 - chunk].append((batch, end))
        elif kind == "forward":
            arrived[stage]["backward", 1].append((batch, end))
        if kind == "backward" and weight > 0:
            arrived[stage]["weight", chunk].append((batch, end))
    return rows
