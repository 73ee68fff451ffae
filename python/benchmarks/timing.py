"""Measuring on a noisy machine: what is compared takes turns, and medians are compared."""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Contender", "ratio", "take_turns"]

_SHORT = 0.2  # of a call [s]: beyond it, what the others left in the caches does not show


@dataclass
class Contender:
    """Something that is timed beside others.

    Attributes
    ----------
    name : str
    run : callable
        What is timed.
    before : callable or None
        What is done before each measurement, not timed; `run` gets its result where there is one.
    calls : int
        Calls of one measurement, for what is short.
    seconds : list of float
        One measurement a round, of a single call.
    """

    name: str
    run: Callable[..., Any]
    before: Callable[[], Any] | None = None
    calls: int = 1
    seconds: list[float] = field(default_factory=list)

    @property
    def median(self) -> float:
        """The median [s]."""
        return statistics.median(self.seconds)

    def measure(self) -> None:
        """Take one measurement; what is short runs twice, and the second counts: others have just filled the caches."""
        first = self._timed()
        self.seconds.append(self._timed() if first < _SHORT else first)

    def _timed(self) -> float:
        """Time a call; what `run` returns is given back outside of it."""
        prepared = () if self.before is None else tuple(x for x in [self.before()] if x is not None)
        result = None
        start = time.perf_counter()
        for _ in range(self.calls):
            result = self.run(*prepared)
        seconds = (time.perf_counter() - start) / self.calls
        del result
        return seconds


def take_turns(contenders: Sequence[Contender], rounds: int) -> None:
    """Measure all contenders in turns: once to warm up, then `rounds` times."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        for _ in range(rounds + 1):
            for contender in contenders:
                contender.measure()
                time.sleep(0.002)  # threads of the one before stop spinning
    finally:
        if collecting:
            gc.enable()
    for contender in contenders:
        del contender.seconds[0]


def ratio(slow: Contender, fast: Contender) -> float:
    """Tell how many times as long `slow` takes: the median over the rounds, in which both ran side by side."""
    return statistics.median(a / b for a, b in zip(slow.seconds, fast.seconds, strict=True))
