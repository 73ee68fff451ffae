"""Simulation of an LRU prefix cache of sessions, to compare closed forms with."""

from __future__ import annotations

import heapq
import math
from collections import OrderedDict
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator


class Sessions(NamedTuple):
    """Sessions of one kind, with tokens in place of bytes."""

    turns: float
    is_fixed: bool
    first_prompt: float
    turn_input: float
    turn_output: float
    pause_cv: float  # of lognormal pauses of mean 1
    rate: float


class Hits(NamedTuple):
    """Hit rates of the later half of a simulation."""

    by_tokens: float
    by_requests: float
    fresh_cv: float


def turns_in_order(sessions: Sessions, count: int, chance: np.random.Generator) -> Iterator[tuple[int, int]]:
    """Session and number of earlier turns of each turn, in order of time."""
    sigma = math.sqrt(math.log1p(sessions.pause_cv**2))
    starting = chance.exponential(1 / sessions.rate, count).cumsum()
    waiting = [(start, k, 0) for k, start in enumerate(starting)]
    lengths = (
        np.full(count, round(sessions.turns)) if sessions.is_fixed else chance.geometric(1 / sessions.turns, count)
    )
    heapq.heapify(waiting)
    while waiting:
        now, k, earlier = heapq.heappop(waiting)
        if now > starting[-1]:
            return
        yield k, earlier
        if earlier + 1 < lengths[k]:
            pause = math.exp(sigma * chance.standard_normal() - sigma**2 / 2)
            heapq.heappush(waiting, (now + pause, k, earlier + 1))


def simulate(sessions: Sessions, capacity: float, turns: int, seed: int) -> Hits:
    """Serve sessions from a prefix cache that evicts the least recently used ones entirely."""
    chance = np.random.default_rng(seed)
    count = max(int(turns / sessions.turns), 200)
    cache: OrderedDict[int, float] = OrderedDict()
    used = 0.0
    prompts, hits, fresh = [], [], []
    for k, earlier in turns_in_order(sessions, count, chance):
        grown = sessions.turn_input + sessions.turn_output
        prompt = sessions.first_prompt + sessions.turn_input + earlier * grown
        size = cache.pop(k, 0.0)
        prompts.append(prompt)
        hits.append(size)
        fresh.append(prompt - size)
        cache[k] = prompt + sessions.turn_output
        used += cache[k] - size
        while used > capacity:
            used -= cache.popitem(last=False)[1]
    later = len(prompts) // 2
    p, h, f = (np.array(x[later:]) for x in (prompts, hits, fresh))
    return Hits(float(h.sum() / p.sum()), float((h > 0).mean()), float(f.std() / f.mean()))
