"""A progress bar for calls that last longer than a second."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Progress", "ProgressWish", "is_unwatched"]


_DELAY = 1.0  # seconds before a bar appears


class Progress:
    """Progress callback of the engine: points done and points in all.

    Parameters
    ----------
    requested : None, bool or callable
        None: a bar in a terminal or a notebook. False: none. A function of (done, total).
    unit : str
        Unit of the count.
    """

    __slots__ = ("_bar", "_start", "_unit", "_wanted")

    def __init__(self, requested: bool | Callable[[int, Any], Any] | None, unit: str = "point") -> None:
        self._wanted, self._unit = requested, unit
        self._start = time.monotonic()
        self._bar: Any = None

    def __enter__(self) -> Progress:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        if self._bar is not None:
            self._bar.close()

    @property
    def callback(self) -> Callable[[int, Any], Any] | None:
        """Callback of the engine, None without an observer."""
        if callable(self._wanted):
            return self._wanted
        return None if is_unwatched(self._wanted) else self._show

    def _show(self, done: int, total: int | None) -> None:
        if self._bar is None:
            if time.monotonic() - self._start < _DELAY:
                return
            from tqdm.auto import tqdm

            self._bar = tqdm(initial=done, total=total, unit=self._unit, unit_scale=True, leave=False)
        self._bar.update(done - self._bar.n)


def is_unwatched(requested: object) -> bool:
    """Return True if nobody asked for a bar or looks on in a terminal or a notebook."""
    if requested is not None:
        return requested is False
    return "ipykernel" not in sys.modules and not (sys.stderr is not None and sys.stderr.isatty())


ProgressWish = bool | Callable[[int, int], None] | None
