"""Number of threads of a call."""

from __future__ import annotations

import os
import sys
from contextvars import ContextVar

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError

__all__ = ["reading_by", "reading_threads", "thread_count"]


_MOST_THREADS = 4096


def thread_count(requested: int | None) -> int:
    """Return the threads of a call: as requested, set by the environment or available."""
    name = "threads"
    given: object = requested
    if requested is None:
        name = "ROOFSLATE_THREADS"
        given = os.environ.get(name)
        if not given:
            if "distributed" in sys.modules and _in_dask_worker():
                return 1
            affinity = getattr(os, "sched_getaffinity", None)
            return len(affinity(0)) if affinity else os.cpu_count() or 1
    try:
        count = int(given)  # type: ignore[call-overload]
    except (TypeError, ValueError, OverflowError):
        count = 0
    if not 1 <= count <= _MOST_THREADS or isinstance(given, (bool, float)):
        raise InputTypeError(f"{name} must be a whole number of at least 1, got {shown(given)}")
    return int(count)


def _in_dask_worker() -> bool:
    from distributed import get_worker

    try:
        get_worker()
    except ValueError:
        return False
    return True


_reading = ContextVar("roofslate_reading_threads", default=1)


class reading_by:  # noqa: N801  # like a function, and faster than a generator
    """Let the threads of a call read its inputs too, and return their number."""

    __slots__ = ("_count", "_token")

    def __init__(self, requested: int | None) -> None:
        self._count = thread_count(requested)

    def __enter__(self) -> int:
        self._token = _reading.set(self._count)
        return self._count

    def __exit__(self, *_: object) -> None:
        _reading.reset(self._token)


def reading_threads() -> int:
    """Threads by which long inputs are checked."""
    return _reading.get()
