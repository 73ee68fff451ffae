"""Ctrl-C while a program loads its modules: an import that is broken off may end in any error."""

from __future__ import annotations

import os
import signal
import threading
from types import FrameType
from typing import NoReturn

__all__ = ["INTERRUPTED", "leave_on_interrupt", "raise_on_interrupt", "was_interrupted"]

INTERRUPTED = 130  # exit code of a program that Ctrl-C ends

_seen: list[int] = []  # signals since `raise_on_interrupt`


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(INTERRUPTED)


def leave_on_interrupt() -> None:
    """Leave at once on Ctrl-C, while there is nothing to clean up; a program that ignores it still does."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    _seen.append(number)
    signal.default_int_handler(number, frame)
    raise KeyboardInterrupt  # it did


def raise_on_interrupt() -> None:
    """Raise KeyboardInterrupt on Ctrl-C from here on, and remember it; a handler of the caller's stays."""
    _seen.clear()
    own = (_leave, _raise, signal.default_int_handler)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) in own:
        signal.signal(signal.SIGINT, _raise)


def was_interrupted() -> bool:
    """Whether Ctrl-C was pressed since `raise_on_interrupt`, in whatever error it ended."""
    return bool(_seen)
