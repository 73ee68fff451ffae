"""Measurement on a noisy machine: contenders take turns, and medians are compared."""

from __future__ import annotations

import gc
import statistics
import time
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["Contender", "ratio", "take_turns"]

_SHORT = 0.2  # per call [s], above which the state of CPU caches does not matter


@dataclass
class Contender:
    """A timed callable among others.

    Attributes
    ----------
    name : str
    run : callable
        The timed callable.
    before : callable or None
        Untimed preparation of each measurement. `run` gets its result, if any.
    calls : int
        Calls per measurement, for short ones.
    seconds : list of float
        One measurement per round, per call.
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
        """Measure once. Short calls run twice, and the second counts, on warm memory."""
        first = self._timed()
        self.seconds.append(self._timed() if first < _SHORT else first)

    def _timed(self) -> float:
        """Time a call, without the release of its result."""
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
                time.sleep(0.002)  # threads of the previous contender stop spinning
    finally:
        if collecting:
            gc.enable()
    for contender in contenders:
        del contender.seconds[0]


def ratio(slow: Contender, fast: Contender) -> float:
    """Return the median ratio by round of the times of `slow` and `fast`."""
    return statistics.median(a / b for a, b in zip(slow.seconds, fast.seconds, strict=True))
