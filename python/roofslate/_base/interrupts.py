"""Ctrl-C during the import of modules: an interrupted import may end in any error."""

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
    """Leave at once on Ctrl-C as long as there is nothing to clean up."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def _raise(number: int, frame: FrameType | None) -> NoReturn:
    _seen.append(number)
    signal.default_int_handler(number, frame)
    raise KeyboardInterrupt  # it did


def raise_on_interrupt() -> None:
    """Raise and record KeyboardInterrupt on Ctrl-C, unless the caller has a handler."""
    _seen.clear()
    replaceable = (_leave, _raise, signal.default_int_handler)
    if threading.current_thread() is threading.main_thread() and signal.getsignal(signal.SIGINT) in replaceable:
        signal.signal(signal.SIGINT, _raise)


def was_interrupted() -> bool:
    """Return True if Ctrl-C was pressed since `raise_on_interrupt`.

    The press counts even if code turned its KeyboardInterrupt into another error.
    """
    return bool(_seen)
