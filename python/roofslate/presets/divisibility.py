"""Rules of divisibility for layouts, and the nearest legal numbers."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache

import numpy as np
import numpy.typing as npt

from roofslate.errors import ValueRangeError

__all__ = ["Integers", "Rule", "at_most", "divides", "divisors", "whole_numbers"]

Integers = npt.NDArray[np.int64]

_TRIALS = 2**20  # divisors that are tried at once


@dataclass(frozen=True)
class Rule:
    """Rule that layouts must meet, with the words of its complaint."""

    part: str
    parts: Integers
    verb: str
    total: str
    totals: Integers
    holds: npt.NDArray[np.bool_]
    valid: Callable[[int, int], list[int]]  # by part and total: the nearest parts that are legal

    def complaint(self, among: npt.NDArray[np.bool_]) -> str:
        """Explain the refusal of all these layouts."""
        parts, totals = (np.unique(np.broadcast_to(x, among.shape)[among]) for x in (self.parts, self.totals))
        complaint = f"{self.part} {_listed(parts)} does not {self.verb} {self.total} {_listed(totals)}"
        if len(parts) > 1 or len(totals) > 1:
            return complaint
        nearest = " or ".join(map(str, self.valid(int(parts[0]), int(totals[0]))))
        return f"{complaint}; nearest: {nearest}"


def _listed(values: Integers) -> str:
    """Different values in words, the first few."""
    texts = [str(x) for x in np.unique(values).tolist()]
    return ", ".join(texts) if len(texts) <= 6 else ", ".join([*texts[:5], "...", texts[-1]])


def at_most(_: int, total: int) -> list[int]:
    """The largest part."""
    return [total]


def _nearest_divisors(part: int, total: int) -> list[int]:
    """The divisors of a total next to a part, one on each side."""
    every = _divisors_of(total).tolist()
    return [*[n for n in every if n < part][-1:], *[n for n in every if n > part][:1]]


def _nearest_related(part: int, total: int) -> list[int]:
    """The divisors and multiples of a total next to a part, one on each side."""
    if part > total:
        return [part // total * total, -(-part // total) * total]
    return _nearest_divisors(part, total)


def divides(part: str, parts: Integers, total: str, totals: Integers, *, either: bool = False) -> Rule:
    """Require that the part divides the size, or with `either` that the size divides the part."""
    holds = totals % parts == 0
    if either:
        holds |= parts % totals == 0
    if either:
        return Rule(part, parts, "divide, nor is a multiple of,", total, totals, holds, _nearest_related)
    return Rule(part, parts, "divide", total, totals, holds, _nearest_divisors)


def whole_numbers(name: str, values: Sequence[float]) -> Integers:
    numbers = np.atleast_1d(np.asarray(values, dtype=float))
    wrong = numbers[~((numbers >= 1) & (numbers % 1 == 0))]
    if wrong.size:
        raise ValueRangeError(f"{name} must be a whole number of at least 1 in a layout, got {wrong[0]:g}")
    return np.unique(numbers).astype(np.int64)


def divisors(numbers: Integers) -> Integers:
    """All that divide one of the numbers."""
    return np.unique(np.concatenate([_divisors_of(int(number)) for number in numbers]))


@lru_cache(maxsize=256)
def _divisors_of(number: int) -> Integers:
    """By trial up to the square root of the odd part: of a double it has 53 bits at most."""
    powers = number & -number
    odd = number // powers
    root = math.isqrt(odd)
    trials = (np.arange(first, min(first + _TRIALS, root + 1)) for first in range(1, root + 1, _TRIALS))
    small = np.concatenate([trial[odd % trial == 0] for trial in trials])
    odd_divisors = np.concatenate([small, odd // small])
    representable = (odd_divisors[odd_divisors <= 2**62 >> k] << k for k in range(powers.bit_length()))
    return np.unique(np.concatenate(list(representable)))
