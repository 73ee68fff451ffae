"""Locks that a forked child finds free, whatever other threads did when it was forked."""

from __future__ import annotations

import functools
import os
import threading
import weakref
from collections.abc import Callable
from types import TracebackType
from typing import Any, TypeVar

__all__ = ["Lock", "cached_property"]

T = TypeVar("T")


class Lock:
    """Reentrant lock, to be used in a with statement."""

    def __init__(self) -> None:
        self._lock = threading.RLock()
        _locks.add(self)

    def __enter__(self) -> None:
        self._lock.acquire()

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._lock.release()

    def renew(self) -> None:
        """Forget an owner that is not in this process. The forking thread stays an owner."""
        if self._lock.acquire(blocking=False):
            self._lock.release()
        else:
            self._lock = threading.RLock()


class cached_property(functools.cached_property[T]):  # noqa: N801  # as in functools
    """Property computed once per instance."""

    def __init__(self, compute: Callable[[Any], T]) -> None:
        super().__init__(compute)
        self.lock = Lock()  # shared by all instances, as before Python 3.12


def _renew() -> None:
    for lock in _locks:
        lock.renew()


_locks: weakref.WeakSet[Lock] = weakref.WeakSet()
if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_renew)
