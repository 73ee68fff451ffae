"""Files: read within a limit, written whole or not at all."""

from __future__ import annotations

import contextlib
import errno
import os
import re
from pathlib import Path
from typing import IO, TYPE_CHECKING

from roofslate._base.messages import shown
from roofslate._base.unfinished import Unfinished
from roofslate.errors import PresetError

if TYPE_CHECKING:
    from collections.abc import Iterator

__all__ = ["read_text", "whole_file", "write"]

_FULL = {errno.ENOSPC, errno.EFBIG, errno.EDQUOT}  # Python does not say which file it was


def read_text(path: Path, kind: str, most: int) -> str:
    """Text of a file that a person wrote.

    Parameters
    ----------
    path : Path
    kind : str
        Kind of the file, for messages: ``"preset file"``.
    most : int
        Bytes that such a file has at most; no more are read.

    Returns
    -------
    str

    Raises
    ------
    PresetError
        Where the file cannot be read, is no file, is too large or is not UTF-8, with the line.
    """
    try:
        if path.exists() and not path.is_file():  # a pipe would be waited for
            raise PresetError(f"cannot read the {kind} {shown(str(path))}: it is not a file")
        with path.open("rb") as file:
            raw = file.read(most + 1)
    except (OSError, ValueError) as error:
        if isinstance(error, PresetError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise PresetError(f"cannot read the {kind} {shown(str(path))}: {reason}") from None
    if len(raw) > most:
        raise PresetError(f"{path}: a {kind} has at most {most:,} bytes, this one has more")
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise PresetError(f"{path}, line {line}: cannot read the {kind} as utf-8: {error.reason}") from None


@contextlib.contextmanager
def whole_file(target: str | os.PathLike[str], *, overwrite: bool = True) -> Iterator[IO[bytes]]:
    """A file that gets its name when all of it is on the disk, or never.

    Until then it has another name in the same folder, which starts with a dot and ends in ``.partial``. Leftovers of
    killed processes are removed. A link stays a link, and a file that is replaced hands its permissions on. A device,
    a pipe or an open file (``/dev/stdout``) is written to directly.

    Parameters
    ----------
    target : path-like
    overwrite : bool, optional
        Whether a file of that name is replaced.

    Yields
    ------
    binary file

    Raises
    ------
    OSError
        Where there is no such folder, the target is no file, or exists and should not be replaced.
    """
    named = Path(target)
    if (descriptor := _descriptor(named)) is not None:
        with os.fdopen(os.dup(descriptor), "wb") as stream:
            yield stream
        return
    real = Path(os.path.realpath(named))
    if not real.parent.is_dir():
        raise FileNotFoundError(errno.ENOENT, "there is no such folder", str(named))
    if named.exists() and not named.is_file():
        if named.is_dir():
            raise IsADirectoryError(errno.EISDIR, "is a folder, no file that could be replaced", str(named))
        with named.open("wb") as stream:
            yield stream
        return
    _refuse_existing(real, named, overwrite)
    try:
        with Unfinished(real) as unfinished:
            yield unfinished.stream
            unfinished.stream.flush()
            os.fsync(unfinished.stream.fileno())
            _refuse_existing(real, named, overwrite)
            unfinished.finish()
    except OSError as error:
        if error.errno in _FULL:
            error.filename = str(named)
        raise
    with contextlib.suppress(OSError):  # not every system opens folders
        folder = os.open(real.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)


def _descriptor(path: Path) -> int | None:
    """Return the number of the open file that a path such as ``/dev/stdout`` refers to."""
    streams = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}
    match = re.fullmatch(r"/(?:dev|proc/self)/fd/(\d{1,9})", str(path))
    return int(match[1]) if match else streams.get(str(path))


def write(target: str | os.PathLike[str], content: str | bytes) -> None:
    """Write a file as a whole: a reader sees the old one or the new one.

    Parameters
    ----------
    target : path-like
    content : str or bytes
        A text is written in UTF-8, with its line ends as they are.
    """
    with whole_file(target) as stream:
        stream.write(content.encode() if isinstance(content, str) else content)


def _refuse_existing(real: Path, target: Path, overwrite: bool) -> None:
    if not overwrite and real.exists():
        raise FileExistsError(errno.EEXIST, "exists already, and overwrite was not asked for", str(target))
