"""Headers of safetensors files, one or many per model, read within limits.

Layout: huggingface/safetensors, README.md, format (checked in source, 2026-11).
"""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

from roofslate._base.json_text import parsed_json
from roofslate._base.messages import shown, unknown
from roofslate.errors import PresetError
from roofslate.presets.checkpoints.tensors import (
    MOST_TENSORS,
    Header,
    Tensor,
    checked_layout,
    elements_of,
    open_file,
)

__all__ = ["BITS", "INDEX", "read_safetensors"]


INDEX = "model.safetensors.index.json"


# Bits of an element, by the word of the format.
BITS = {
    "BOOL": 8,
    "F4": 4,
    "F6_E2M3": 6,
    "F6_E3M2": 6,
    "U8": 8,
    "I8": 8,
    "F8_E5M2": 8,
    "F8_E4M3": 8,
    "F8_E5M2FNUZ": 8,
    "F8_E4M3FNUZ": 8,
    "F8_E8M0": 8,
    "I16": 16,
    "U16": 16,
    "F16": 16,
    "BF16": 16,
    "I32": 32,
    "U32": 32,
    "F32": 32,
    "C64": 64,
    "F64": 64,
    "I64": 64,
    "U64": 64,
}


_LONGEST_HEADER = 32 * 2**20  # bytes; one file with all tensors of the largest published model takes 12 MB
_LONGEST_OF_ALL = 128 * 2**20  # bytes, of the headers of one model
_MOST_MARKS = 2_500_000  # keys and items of one header
_DEEPEST = 4
_MOST_FILES = 4096
_MOST_SIDES = 32  # of a tensor


_SHARD = re.compile(r"(.+)-(\d{5})-of-(\d{5})\.safetensors")


def read_safetensors(path: Path) -> Header:
    """Read the headers of a model.

    Parameters
    ----------
    path : Path
        A file, one of the files ``model-00001-of-00004.safetensors``, their index, or a folder with them.

    Returns
    -------
    Header

    Raises
    ------
    PresetError
        For files that cannot be read, are missing, incomplete, larger than the limits or contradict themselves.
    """
    files, expected = _files(path)
    tensors: list[Tensor] = []
    metadata: dict[str, Any] = {}
    of_name: dict[str, str] = {}
    read = 0
    for file in files:
        result, listed, length = _read_one(file)
        metadata = {**result, **metadata}
        tensors += listed
        read += length
        if len(tensors) > MOST_TENSORS or read > _LONGEST_OF_ALL:
            raise PresetError(
                f"{path}: its headers are larger than {_LONGEST_OF_ALL >> 20} MiB or {MOST_TENSORS:,} tensors"
            )
        for tensor in listed:
            if tensor.name in of_name:
                raise PresetError(
                    f"{path}: the tensor {shown(tensor.name)} is in {of_name[tensor.name]} and in {file.name}"
                )
            of_name[tensor.name] = file.name
    if expected is not None:
        _compare(path, expected, of_name)
    return Header(path, tuple(tensors), metadata)


def _files(path: Path) -> tuple[list[Path], dict[str, str] | None]:
    """Files of a model, and where its index says that each tensor is."""
    if path.is_dir():
        if (path / INDEX).exists():
            return _indexed(path / INDEX)
        result = sorted(path.glob("*.safetensors"))
        if not result:
            raise PresetError(f"{shown(str(path))} has no .safetensors file")
        path = next((file for file in result if file.name == "model.safetensors"), result[0])
        if len(result) > 1 and not _SHARD.fullmatch(path.name) and path.name != "model.safetensors":
            listed = ", ".join(file.name for file in result[:3])
            raise PresetError(f"{shown(str(path.parent))} has {len(result):,} models: name one of {listed}")
    if path.name.endswith(".json"):
        return _indexed(path)
    shard = _SHARD.fullmatch(path.name)
    if shard is None:
        return [path], None
    if shard[1] == "model" and (path.parent / INDEX).exists():
        return _indexed(path.parent / INDEX)
    count = int(shard[3])
    if not 1 <= count <= _MOST_FILES:
        raise PresetError(f"{path}: expected a model in 1 to {_MOST_FILES:,} files, got {count:,}")
    return _present(path, [f"{shard[1]}-{k:05}-of-{count:05}.safetensors" for k in range(1, count + 1)]), None


def _present(path: Path, names: list[str]) -> list[Path]:
    """Files of these names in a path's folder, or an error that names those that are missing."""
    files = [path.with_name(name) for name in names]
    missing = [file.name for file in files if not file.exists()]
    if missing:
        more = f" and {len(missing) - 3:,} more" if len(missing) > 3 else ""
        raise PresetError(f"{path}: {', '.join(missing[:3])}{more} are missing in its folder: the model is incomplete")
    return files


def _indexed(path: Path) -> tuple[list[Path], dict[str, str]]:
    """Files that an index names, and the file of each tensor."""
    file, size = open_file(path, "index of safetensors files")
    with file:
        if size > _LONGEST_HEADER:
            raise PresetError(f"{path}: larger than {_LONGEST_HEADER >> 20} MiB; this is no index")
        data = file.read(_LONGEST_HEADER + 1)
    content = parsed_json(_text(path, data), str(path), deepest=_DEEPEST, most=_MOST_MARKS)
    where = content.get("weight_map")
    if not isinstance(where, dict) or not where:
        raise PresetError(f"{path}: expected an object 'weight_map' of the file of each tensor, got {shown(where)}")
    for name, stored_size in where.items():
        if (
            not isinstance(stored_size, str)
            or Path(stored_size).name != stored_size
            or not stored_size.endswith(".safetensors")
            or "\0" in stored_size
        ):
            raise PresetError(
                f"{path}: {shown(name)} should be in a .safetensors file of its folder, got {shown(stored_size)}"
            )
    names = sorted(set(where.values()))
    if len(names) > _MOST_FILES:
        raise PresetError(f"{path}: names {len(names):,} files, at most {_MOST_FILES:,} are read")
    return _present(path, names), where


def _compare(path: Path, expected: dict[str, str], result: dict[str, str]) -> None:
    """Refuse an index that does not fit its files."""
    for name, file in expected.items():
        if result.get(name) != file:
            location = f"it is in {result[name]}" if name in result else "no file has it"
            raise PresetError(f"{path}: the index says that {shown(name)} is in {file}, {location}")
    if len(result) > len(expected):
        extra = next(name for name in result if name not in expected)
        raise PresetError(f"{path}: {result[extra]} has the tensor {shown(extra)}, which the index does not have")


def _text(path: Path, data: bytes) -> str:
    try:
        return data.decode("utf-8")
    except UnicodeDecodeError as error:
        raise PresetError(f"{path}: its header is no UTF-8: {error.reason}") from None


def _read_one(path: Path) -> tuple[dict[str, Any], list[Tensor], int]:
    """Metadata, tensors and the length of the header."""
    file, size = open_file(path, "safetensors file")
    with file:
        start = file.read(8)
        length = int.from_bytes(start, "little")
        if len(start) < 8 or length < 2:
            raise PresetError(f"{path}: no safetensors file: it begins with {shown(start)}")
        if length > _LONGEST_HEADER:
            raise PresetError(
                f"{path}: says that its header has {length:,} bytes, at most {_LONGEST_HEADER:,} are read; "
                "it is damaged, or no safetensors file"
            )
        if length > size - 8:
            raise PresetError(f"{path}: its header has {length:,} bytes, the file {size:,}: it is incomplete")
        data = file.read(length)
    if not data.startswith(b"{"):
        raise PresetError(f"{path}: no safetensors file: its header begins with {shown(data[:16])}, not with an object")
    content = parsed_json(_text(path, data), str(path), deepest=_DEEPEST, most=_MOST_MARKS)
    metadata = content.pop("__metadata__", {})
    if not isinstance(metadata, dict):
        raise PresetError(f"{path}: __metadata__ should be an object, got {shown(metadata)}")
    tensors = [_tensor(path, name, entry) for name, entry in content.items()]
    stored_size = size - 8 - length
    checked_layout(path, tensors, stored_size)
    stored = sum(tensor.size for tensor in tensors)
    if stored != stored_size:
        raise PresetError(
            f"{path}: its tensors have {stored:,} bytes, the file holds {stored_size:,} behind its header"
        )
    return metadata, tensors, length


def _tensor(path: Path, name: str, entry: Any) -> Tensor:
    if not isinstance(entry, dict) or not {"dtype", "shape", "data_offsets"} <= entry.keys():
        raise PresetError(f"{path}: the tensor {shown(name)} needs dtype, shape and data_offsets, got {shown(entry)}")
    kind, shape, offsets = entry["dtype"], entry["shape"], entry["data_offsets"]
    if not isinstance(kind, str) or kind not in BITS:
        raise PresetError(f"{path}: {unknown(f'dtype of {shown(name)}', kind, BITS)}")
    if not _are_counts(shape) or len(shape) > _MOST_SIDES:
        raise PresetError(f"{path}: the shape of {shown(name)} should list whole numbers, got {shown(shape)}")
    if not _are_counts(offsets) or len(offsets) != 2 or offsets[0] > offsets[1]:
        raise PresetError(f"{path}: data_offsets of {shown(name)} should be a start and an end, got {shown(offsets)}")
    bits = elements_of(path, name, shape) * BITS[kind]
    if bits != 8 * (offsets[1] - offsets[0]):
        raise PresetError(
            f"{path}: {shown(name)} of {kind} and shape {shown(shape)} has {bits // 8:,} bytes, its offsets say "
            f"{offsets[1] - offsets[0]:,}"
        )
    return Tensor(name, tuple(shape), kind, offsets[0], offsets[1] - offsets[0])


def _are_counts(values: Any) -> bool:
    return isinstance(values, list) and all(type(value) is int and value >= 0 for value in values)
