"""Files under another name until they are finished."""

from __future__ import annotations

import os
import stat
import sys
from pathlib import Path
from typing import IO, TYPE_CHECKING

if sys.platform != "win32":  # which removes no file that somebody has open
    import fcntl

if TYPE_CHECKING:
    from types import TracebackType

__all__ = ["Unfinished"]

_LONGEST = 255  # bytes of a name, in most file systems
_NAMES = 100  # that are tried before one is drawn: as many processes may write the same target


class Unfinished:
    """File that gets the name of its target when it is finished, or is removed.

    Who writes it holds a lock on it. Without a lock, a killed process left it, and the next to write the target removes
    it.

    Parameters
    ----------
    target : Path

    Attributes
    ----------
    stream : binary file
    """

    stream: IO[bytes]

    def __init__(self, target: Path) -> None:
        self._target = target
        self._lock: int | None = None

    def __enter__(self) -> Unfinished:
        names = (_name(self._target, str(k)) for k in range(_NAMES))
        opened = next((candidate for name in names if (candidate := _opened(name)) is not None), None)
        while opened is None:
            opened = _opened(_name(self._target, os.urandom(4).hex()))
        self._path, handle = opened
        self._lock = None if sys.platform == "win32" else os.dup(handle)
        self.stream = os.fdopen(handle, "wb")
        return self

    def finish(self) -> None:
        """Close the file, and give it the name and the permissions of its target."""
        self.stream.close()
        if self._target.exists():
            self._path.chmod(stat.S_IMODE(self._target.stat().st_mode))
        self._path.replace(self._target)

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if kind is not None:
                try:
                    self.stream.close()
                finally:
                    self._path.unlink(missing_ok=True)
        finally:
            if self._lock is not None:
                os.close(self._lock)


def _name(target: Path, mark: str) -> Path:
    """Name in the folder of the target, as long as names may be."""
    longest = _LONGEST - len(f"..{mark}.partial")
    return target.with_name(f".{os.fsdecode(os.fsencode(target.name)[:longest])}.{mark}.partial")


def _opened(path: Path) -> tuple[Path, int] | None:
    """Open the new file and lock it, or return None if another process is writing it."""
    flags = os.O_CREAT | os.O_EXCL | os.O_WRONLY | getattr(os, "O_BINARY", 0)
    for _ in range(2):
        try:
            handle = os.open(path, flags, 0o666)
        except FileExistsError:
            if not _removed(path):
                return None
            continue
        if _is_locked(handle):
            return path, handle
        os.close(handle)
    return None


def _is_locked(handle: int) -> bool:
    """Return True if the new file is ours. Another process may remove it before it is locked."""
    if sys.platform == "win32":
        return True
    try:
        fcntl.flock(handle, fcntl.LOCK_EX)
    except OSError:  # a file system without locks
        return True
    return os.fstat(handle).st_nlink > 0


def _removed(path: Path) -> bool:
    """Remove a file without a writer and return True if it is gone."""
    if sys.platform == "win32":
        try:
            path.unlink(missing_ok=True)
        except OSError:
            return False
        return True
    try:
        handle = os.open(path, os.O_WRONLY | os.O_NOFOLLOW | os.O_NONBLOCK)
    except FileNotFoundError:
        return True
    except OSError:  # a link, or a file of somebody else
        return False
    try:
        if not stat.S_ISREG(os.fstat(handle).st_mode):
            return False
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if os.path.samestat(
            os.fstat(handle), os.lstat(path)
        ):  # or another process removed it, and a third has the name
            path.unlink()
    except OSError:
        return False
    finally:
        os.close(handle)
    return True
