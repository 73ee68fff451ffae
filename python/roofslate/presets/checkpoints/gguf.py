"""Headers of GGUF files, versions 2 and 3: metadata and tensors, read within limits.

Layout: ggml-org/ggml, docs/gguf.md (checked in source, 2026-11). Sizes of blocks: gguf 0.19.0, GGML_QUANT_SIZES.
"""

from __future__ import annotations

import re
import struct
from typing import IO, TYPE_CHECKING, Any

from roofslate._base.messages import shown
from roofslate.errors import PresetError
from roofslate.presets.checkpoints.tensors import (
    MOST_TENSORS,
    Header,
    Tensor,
    checked_layout,
    elements_of,
    open_file,
)

if TYPE_CHECKING:
    from pathlib import Path

__all__ = ["BLOCKS", "read_gguf"]


# Kinds of tensors by their number: name, elements of a block, bytes of a block.
BLOCKS = {
    0: ("F32", 1, 4),
    1: ("F16", 1, 2),
    2: ("Q4_0", 32, 18),
    3: ("Q4_1", 32, 20),
    6: ("Q5_0", 32, 22),
    7: ("Q5_1", 32, 24),
    8: ("Q8_0", 32, 34),
    9: ("Q8_1", 32, 40),
    10: ("Q2_K", 256, 84),
    11: ("Q3_K", 256, 110),
    12: ("Q4_K", 256, 144),
    13: ("Q5_K", 256, 176),
    14: ("Q6_K", 256, 210),
    15: ("Q8_K", 256, 292),
    16: ("IQ2_XXS", 256, 66),
    17: ("IQ2_XS", 256, 74),
    18: ("IQ3_XXS", 256, 98),
    19: ("IQ1_S", 256, 50),
    20: ("IQ4_NL", 32, 18),
    21: ("IQ3_S", 256, 110),
    22: ("IQ2_S", 256, 82),
    23: ("IQ4_XS", 256, 136),
    24: ("I8", 1, 1),
    25: ("I16", 1, 2),
    26: ("I32", 1, 4),
    27: ("I64", 1, 8),
    28: ("F64", 1, 8),
    29: ("IQ1_M", 256, 56),
    30: ("BF16", 1, 2),
    34: ("TQ1_0", 256, 54),
    35: ("TQ2_0", 256, 66),
    39: ("MXFP4", 32, 17),
    40: ("NVFP4", 64, 36),
    41: ("Q1_0", 128, 18),
}


_LONGEST_HEADER = 64 * 2**20  # bytes; a vocabulary of 256,000 tokens takes 10 MB
_MOST_KEYS = 10_000
_LONGEST_KEY = 65_535  # bytes, as the format says
_LONGEST_NAME = 1024  # of a tensor; llama.cpp takes 64
_LONGEST_TEXT = 4 * 2**20  # bytes; chat templates have some 10 kB
_MOST_ITEMS = 16 * 2**20  # of a list
_MOST_TEXTS = 2 * 2**20  # of a list: tokens or merges of a vocabulary
_KEPT_ITEMS = 4096  # of a list whose content is kept: one for each layer
_DEEPEST = 4  # lists in lists
_MOST_SIDES = 4  # of a tensor
_MOST_FILES = 4096  # that a model is split into


_NUMBERS = {0: "B", 1: "b", 2: "H", 3: "h", 4: "I", 5: "i", 6: "f", 7: "?", 10: "Q", 11: "q", 12: "d"}
_TEXT, _LIST = 8, 9


_SPLIT = re.compile(r"(.*)-(\d{5})-of-(\d{5})\.gguf")


def read_gguf(path: Path) -> Header:
    """Read the header of a GGUF file, or the headers of a split one.

    Parameters
    ----------
    path : Path
        Any of the files ``name-00001-of-00004.gguf`` of a split model.

    Returns
    -------
    Header

    Raises
    ------
    PresetError
        For a file that cannot be read, is incomplete, larger than the limits or contradicts itself.
    """
    split = _SPLIT.fullmatch(path.name)
    if split is None:
        metadata, tensors = _read_one(path)
        if int(_whole(metadata, "split.count", 1)) > 1:
            raise PresetError(
                f"{path}: one of {metadata['split.count']} files, named otherwise than 'x-00001-of-n.gguf'"
            )
        return Header(path, tuple(tensors), metadata)
    stem, count = split[1], int(split[3])
    if not 1 <= count <= _MOST_FILES:
        raise PresetError(f"{path}: expected a model split into 1 to {_MOST_FILES:,} files, got {count:,}")
    files = [path.with_name(f"{stem}-{k:05}-of-{count:05}.gguf") for k in range(1, count + 1)]
    missing = [file.name for file in files if not file.exists()]
    if missing:
        more = f" and {len(missing) - 3} more" if len(missing) > 3 else ""
        raise PresetError(f"{path}: its model is split, and {', '.join(missing[:3])}{more} are missing in its folder")
    metadata, tensors = {}, []
    for file in files:
        result, listed = _read_one(file)
        metadata = metadata or result
        tensors += listed
        if len(tensors) > MOST_TENSORS:
            raise PresetError(f"{path}: more than {MOST_TENSORS:,} tensors")
    expected = _whole(metadata, "split.tensors.count", len(tensors))
    names = {tensor.name for tensor in tensors}
    if expected != len(tensors) or len(names) < len(tensors):
        raise PresetError(f"{path}: split.tensors.count is {expected:,}, its files list {len(names):,} tensors")
    return Header(path, tuple(tensors), metadata)


def _whole(metadata: dict[str, Any], key: str, default: int) -> int:
    result = metadata.get(key, default)
    return result if isinstance(result, int) else default


def _read_one(path: Path) -> tuple[dict[str, Any], list[Tensor]]:
    file, size = open_file(path, "GGUF file")
    with file:
        reader = _Reader(file, path, size)
        metadata, count = reader.start()
        tensors = [reader.tensor() for _ in range(count)]
        alignment = _whole(metadata, "general.alignment", 32)
        if not 1 <= alignment <= 2**16 or alignment & (alignment - 1):
            raise PresetError(f"{path}: general.alignment is {alignment:,}, expected a power of two up to 65,536")
        start = reader.at + -reader.at % alignment
    checked_layout(path, tensors, size - start)
    return metadata, tensors


class _Reader:
    """Reader of one value after the other, within the file and the limits."""

    def __init__(self, file: IO[bytes], path: Path, size: int) -> None:
        self.file, self.path, self.size = file, path, size
        self.data = bytearray()
        self.at = 0
        self.order = "<"

    def start(self) -> tuple[dict[str, Any], int]:
        """Metadata, and the number of tensors."""
        if self.size < 24 or self.take(4) != b"GGUF":
            raise PresetError(f"{self.path}: no GGUF file: it begins with {shown(bytes(self.data[:4]))}, not b'GGUF'")
        version = self.number("I")
        if version >= 2**16:  # written on a machine of the other byte order
            self.order = ">"
            version = int(struct.unpack(">I", struct.pack("<I", version))[0])
        if version not in (2, 3):
            raise PresetError(f"{self.path}: GGUF version {version:,}, this reads versions 2 and 3")
        tensors, keys = self.number("Q"), self.number("Q")
        if tensors > MOST_TENSORS:
            raise PresetError(f"{self.path}: says that it has {tensors:,} tensors, at most {MOST_TENSORS:,} are read")
        if keys > _MOST_KEYS:
            raise PresetError(f"{self.path}: says that it has {keys:,} keys, at most {_MOST_KEYS:,} are read")
        metadata: dict[str, Any] = {}
        for _ in range(keys):
            key = self.text(_LONGEST_KEY, "a key")
            if key in metadata:
                raise PresetError(f"{self.path}: the key {shown(key)} is listed twice")
            metadata[key] = self.value(self.number("I"), key)
        return metadata, tensors

    def take(self, count: int) -> bytes:
        """The next bytes."""
        end = self.at + count
        if end > len(self.data):
            self.fill(end)
        result = bytes(self.data[self.at : end])
        self.at = end
        return result

    def fill(self, end: int) -> None:
        """Have the file in memory up to there, and some more."""
        if end > self.size:
            raise PresetError(f"{self.path}: ends within its header, at byte {self.size:,}: it is incomplete")
        if end > _LONGEST_HEADER:
            raise PresetError(f"{self.path}: its header is longer than {_LONGEST_HEADER >> 20} MiB")
        requested = max(end - len(self.data), min(len(self.data) or 2**16, 2**24))
        self.data += self.file.read(requested)
        if len(self.data) < end:
            raise PresetError(f"{self.path}: ends within its header, at byte {len(self.data):,}: it is incomplete")

    def number(self, code: str) -> Any:
        """The next number, of a code of `struct`."""
        form = self.order + code
        return struct.unpack(form, self.take(struct.calcsize(form)))[0]

    def text(self, most: int, what: str) -> str:
        """The next text."""
        length = self.number("Q")
        if length > most:
            raise PresetError(f"{self.path}: {what} of {length:,} bytes at byte {self.at:,}, at most {most:,} are read")
        return self.take(length).decode("utf-8", "replace")

    def value(self, kind: int, key: str, depth: int = 0) -> Any:
        """The next value, of a long list only its length, as ``range``."""
        if kind in _NUMBERS:
            return self.number(_NUMBERS[kind])
        if kind == _TEXT:
            return self.text(_LONGEST_TEXT, f"a text of {shown(key)}")
        if kind != _LIST:
            raise PresetError(
                f"{self.path}: the key {shown(key)} has a value of kind {kind:,}, which GGUF does not have"
            )
        inner, count = self.number("I"), self.number("Q")
        if depth >= _DEEPEST:
            raise PresetError(f"{self.path}: {shown(key)} has lists nested deeper than {_DEEPEST} levels")
        most = _MOST_TEXTS if inner == _TEXT else _MOST_ITEMS
        if count > most:
            raise PresetError(f"{self.path}: {shown(key)} says that it has {count:,} items, at most {most:,} are read")
        if inner in _NUMBERS:
            return self.numbers(_NUMBERS[inner], count)
        if inner == _TEXT and count > _KEPT_ITEMS:
            self.skip_texts(count, key)
            return range(count)
        if count > _KEPT_ITEMS:
            raise PresetError(f"{self.path}: {shown(key)} has {count:,} lists, at most {_KEPT_ITEMS:,} are read")
        return [self.value(inner, key, depth + 1) for _ in range(count)]

    def numbers(self, code: str, count: int) -> list[Any] | range:
        """A list of numbers."""
        size = struct.calcsize(f"={code}")
        data = self.take(count * size)
        return list(struct.unpack(f"{self.order}{count}{code}", data)) if count <= _KEPT_ITEMS else range(count)

    def skip_texts(self, count: int, key: str) -> None:
        """Step over a list of texts: the tokens of a vocabulary."""
        unpack, at, have = struct.Struct(f"{self.order}Q").unpack_from, self.at, len(self.data)
        for _ in range(count):
            if at + 8 > have:
                self.fill(at + 8)
                have = len(self.data)
            length = unpack(self.data, at)[0]
            if length > _LONGEST_TEXT:
                raise PresetError(f"{self.path}: a text of {length:,} bytes in {shown(key)}, at byte {at:,}")
            at += 8 + length
            if at > have:
                self.fill(at)
                have = len(self.data)
        self.at = at

    def tensor(self) -> Tensor:
        """The next tensor."""
        name = self.text(_LONGEST_NAME, "the name of a tensor")
        sides = self.number("I")
        if sides > _MOST_SIDES:
            raise PresetError(
                f"{self.path}: the tensor {shown(name)} has {sides:,} dimensions, at most {_MOST_SIDES} are read"
            )
        shape = tuple(self.number("Q") for _ in range(sides))
        elements = elements_of(self.path, name, shape)
        number, start = self.number("I"), self.number("Q")
        if number not in BLOCKS:
            raise PresetError(f"{self.path}: the tensor {shown(name)} is of kind {number:,}, which is not known")
        kind, block, size = BLOCKS[number]
        if (shape[0] if shape else 1) % block:
            raise PresetError(
                f"{self.path}: rows of {shown(name)} have {shape[0]:,} elements, and {kind} blocks {block}"
            )
        return Tensor(name, shape, kind, start, elements // block * size)
