"""Columns of Arrow as inputs: numbers without a copy, texts by their distinct values."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate._base.threads import reading_threads
from roofslate.errors import InputTypeError
from roofslate.grid.columns import Column
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    import pyarrow as pa

    from roofslate.grid.grid import Positions

__all__ = ["Words", "arrow_numbers", "read_array", "takes_words"]

_TEXTS_PER_THREAD = 1 << 19  # below it a thread costs more than it saves

Words = tuple["Positions", list[Any]]  # positions among the distinct values, -1 where there is none; these values


def takes_words(name: str) -> bool:
    """Return True for a preset or a choice, which has no numbers as values."""
    return name in PRESETS or bool(lookup(name).choices)


def _is_numeric(kind: pa.DataType) -> bool:
    """Return True for a numeric type of Arrow."""
    import pyarrow as pa

    return bool(pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_decimal(kind))


def read_array(name: str, array: Any, where: str = "", missing: Callable[[str], bool] | None = None) -> Column | Words:
    """An input's column: its numbers, or its distinct values, which remain to be read.

    Parameters
    ----------
    name : str
        The input.
    array : pyarrow.Array or pyarrow.ChunkedArray
        A null is a missing value.
    where : str
        The start of messages.
    missing : callable, optional
        Which texts are missing values.

    Returns
    -------
    Column or Words
    """
    import pyarrow as pa

    kind = array.type
    if _is_numeric(kind):
        if takes_words(name):
            raise InputTypeError(f"{where}{name}: expected words, got a column of {kind}")
        return Column(arrow_numbers(array))
    texts = (pa.types.is_string, pa.types.is_large_string, pa.types.is_string_view, pa.types.is_null)
    if not pa.types.is_dictionary(kind) and not any(test(kind) for test in texts):
        raise InputTypeError(f"{where}{name}: expected numbers or texts, got a column of {kind}")
    return _words(array, missing)


def arrow_numbers(array: Any) -> Any:
    """Numbers of a column, without a copy if it has no nulls."""
    import pyarrow as pa
    import pyarrow.compute as pc

    kind = array.type
    plain = pa.types.is_signed_integer(kind) or pa.types.is_unsigned_integer(kind) or pa.types.is_float64(kind)
    if array.null_count or not plain:
        array = pc.cast(array, pa.float64(), safe=False)
    if isinstance(array, pa.ChunkedArray):
        return array.chunk(0).to_numpy(zero_copy_only=False) if array.num_chunks == 1 else array.to_numpy()
    return array.to_numpy(zero_copy_only=False)


def _words(array: Any, missing: Callable[[str], bool] | None) -> Words:
    """The distinct values of a column of texts or of a dictionary, and their positions."""
    import pyarrow as pa
    import pyarrow.compute as pc

    if pa.types.is_null(array.type) or pa.types.is_string_view(array.type):
        array = pc.cast(array, pa.string())
    if not pa.types.is_dictionary(array.type):
        array = _encoded(array)
    if isinstance(array, pa.ChunkedArray):
        array = array.unify_dictionaries().combine_chunks()
        if isinstance(array, pa.ChunkedArray):
            array = array.chunk(0)
    indices = pc.cast(array.indices, pa.int32())
    codes = (pc.fill_null(indices, -1) if indices.null_count else indices).to_numpy(zero_copy_only=False)
    words = array.dictionary.to_pylist()
    absent = [k for k, word in enumerate(words) if word is None or (missing is not None and missing(word))]
    if absent:
        codes = np.where(np.isin(codes, absent), -1, codes)
        for k in absent:
            words[k] = None
    return codes, words


def _encoded(array: Any) -> Any:
    """Encode texts as a dictionary, a part of the rows in each thread of the call."""
    import pyarrow as pa

    threads = max(min(reading_threads(), len(array) // _TEXTS_PER_THREAD), 1)
    bounds = [len(array) * k // threads for k in range(threads + 1)]
    slices = [array.slice(start, end - start) for start, end in itertools.pairwise(bounds)]
    if threads == 1:
        chunks = [_dictionaries(array)]
    else:
        with ThreadPoolExecutor(threads) as pool:
            chunks = list(pool.map(_dictionaries, slices))
    return pa.chunked_array(list(itertools.chain.from_iterable(chunks)), pa.dictionary(pa.int32(), array.type))


def _dictionaries(array: Any) -> list[Any]:
    """Encode each chunk."""
    return [_dictionary(chunk) for chunk in getattr(array, "chunks", [array])]


def _dictionary(texts: Any) -> Any:
    """Encode texts. A few distinct ones take half the time of Arrow's own encoder."""
    import pyarrow as pa

    _, offsets, data = texts.buffers()
    if len(texts) and data is not None and not texts.null_count:
        kind = np.dtype(np.int64 if pa.types.is_large_string(texts.type) else np.int32)
        positions = np.frombuffer(offsets, kind, len(texts) + 1, texts.offset * kind.itemsize)
        encoded = _core.encode_texts(positions, np.frombuffer(data, np.uint8))
        if encoded is not None:
            codes, rows = encoded
            return pa.DictionaryArray.from_arrays(pa.array(codes), texts.take(pa.array(rows)), safe=False)
    return texts.dictionary_encode()
