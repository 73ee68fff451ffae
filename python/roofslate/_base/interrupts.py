"""Ctrl-C while a program loads its modules: an import that is broken off may end in any error."""

from __future__ import annotations

import os
import signal
from types import FrameType
from typing import NoReturn

__all__ = ["INTERRUPTED", "leave_on_interrupt", "raise_on_interrupt"]

INTERRUPTED = 130  # exit code of a program that Ctrl-C ends


def _leave(_number: int, _frame: FrameType | None) -> NoReturn:
    os._exit(INTERRUPTED)


def leave_on_interrupt() -> None:
    """Leave at once on Ctrl-C, while there is nothing to clean up; a program that ignores it still does."""
    if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
        signal.signal(signal.SIGINT, _leave)


def raise_on_interrupt() -> None:
    """Raise KeyboardInterrupt on Ctrl-C again."""
    if signal.getsignal(signal.SIGINT) is _leave:
        signal.signal(signal.SIGINT, signal.default_int_handler)
