"""Tensors as the header of a file lists them, and the checks that every format shares."""

from __future__ import annotations

import math
import stat
from dataclasses import dataclass
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any, NamedTuple

from roofslate._base.messages import shown
from roofslate.errors import PresetError

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping

__all__ = ["MOST_TENSORS", "Header", "Tensor", "checked_layout", "elements_of", "open_file"]


MOST_TENSORS = 500_000  # of one model; the largest published ones have 100,000


_LARGEST = 2**50  # elements of one tensor


class Tensor(NamedTuple):
    """One tensor of a file.

    Attributes
    ----------
    name : str
    shape : tuple of int
    kind : str
        Element type as the format names it: ``"BF16"``, ``"Q4_K"``.
    start, size : int
        Place in the data of its file: byte.
    """

    name: str
    shape: tuple[int, ...]
    kind: str
    start: int
    size: int

    @property
    def elements(self) -> int:
        """Number of elements."""
        return math.prod(self.shape)


@dataclass(frozen=True)
class Header:
    """Tensors and metadata of a checkpoint, all of its files together.

    Attributes
    ----------
    path : Path
        The file that was asked for.
    tensors : tuple of Tensor
    metadata : Mapping
        Of a long list only its length, as ``range``.
    """

    path: Path
    tensors: tuple[Tensor, ...]
    metadata: Mapping[str, Any]


def open_file(path: Path, kind: str) -> tuple[IO[bytes], int]:
    """Open a regular file.

    Returns
    -------
    binary file
    int
        Its size: byte.

    Raises
    ------
    PresetError
        Where it cannot be opened, or is a folder, a pipe or a device, which a reader would wait for.
    """
    try:
        if not stat.S_ISREG(path.stat().st_mode):
            raise PresetError(f"cannot read the {kind} {shown(str(path))}: it is not a file")
        file = path.open("rb")
        return file, path.stat().st_size
    except (OSError, ValueError) as error:
        if isinstance(error, PresetError):
            raise
        reason = getattr(error, "strerror", None) or error
        raise PresetError(f"cannot read the {kind} {shown(str(path))}: {reason}") from None


def elements_of(path: Path, name: str, shape: Iterable[int]) -> int:
    """Elements of a tensor. More than any machine stores are refused."""
    result = 1
    for side in shape:
        result *= side
        if result > _LARGEST:
            raise PresetError(f"{path}: the tensor {shown(name)} has more than {_LARGEST:,} elements")
    return result


def checked_layout(path: Path, tensors: list[Tensor], stored_size: int) -> None:
    """Refuse tensors that repeat, overlap, or exceed the file.

    Parameters
    ----------
    path : Path
    tensors : list of Tensor
    held : int
        Size of the file's data: byte.
    """
    names: set[str] = set()
    for tensor in tensors:
        if tensor.name in names:
            raise PresetError(f"{path}: the tensor {shown(tensor.name)} is listed twice")
        names.add(tensor.name)
    end, before = 0, ""
    for tensor in sorted(tensors, key=lambda tensor: (tensor.start, tensor.size)):
        if tensor.start < end:
            raise PresetError(f"{path}: the tensors {shown(before)} and {shown(tensor.name)} overlap")
        end, before = max(end, tensor.start + tensor.size), tensor.name
    if end > stored_size:
        raise PresetError(
            f"{path}: its header describes {end:,} bytes of tensors, the file has {stored_size:,}: it is incomplete"
        )
