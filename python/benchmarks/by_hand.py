"""The search for the best batch as a C++ loop specific to this question and machine."""

from __future__ import annotations

import ctypes
import functools
import os
import shutil
import subprocess
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from benchmarks.search_rivals import LIMIT

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.search_rivals import Found, Search

__all__ = ["FLAGS", "by_hand"]

_SOURCE = Path(__file__).parents[2] / "cpp" / "benchmarks" / "best_batches.cpp"

# by instruction set of the engine
FLAGS = {"avx512": ("-march=native",), "avx2": ("-march=native", "-mno-avx512f"), "neon": ("-march=native",)}


@functools.cache
def _compiled(flags: tuple[str, ...]) -> ctypes.CDLL:
    compiler = os.environ.get("CXX") or shutil.which("c++")
    if not compiler or not _SOURCE.exists():
        raise ImportError("a C++ compiler", name="a C++ compiler")
    with tempfile.TemporaryDirectory() as folder:
        library = str(Path(folder, "best_batches.so"))
        options = ["-std=c++17", "-O3", *flags, "-shared", "-fPIC", "-pthread"]
        subprocess.run([compiler, *options, str(_SOURCE), "-o", library], check=True)
        return ctypes.CDLL(library)


def by_hand(search: Search, threads: int, instruction_set: str) -> Callable[[], Found]:
    """Return the loop on so many threads, which finds the least cost and its batch, or -1."""
    loop = _compiled(FLAGS[instruction_set]).best_batches
    arrays = search.plain
    axes = (ctypes.c_void_p * len(arrays))(*[array.ctypes.data for array in arrays])
    axes.arrays = arrays  # type: ignore[attr-defined]  # referenced by it
    lengths = (ctypes.c_int64 * 4)(*search.shape)
    models, chips, _, contexts = search.shape
    least, positions = np.empty((models, chips, contexts)), np.empty((models, chips, contexts))

    def run() -> Found:
        loop(
            axes,
            lengths,
            ctypes.c_double(search.chips),
            ctypes.c_double(LIMIT),
            threads,
            ctypes.c_void_p(least.ctypes.data),
            ctypes.c_void_p(positions.ctypes.data),
        )
        return np.where(positions < 0, np.inf, least), positions.astype(np.int64)

    return run
