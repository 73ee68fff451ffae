"""The measuring machine: its memory and load, and the amount of work."""

from __future__ import annotations

import math
import mmap
import os
import platform
import subprocess
import sys
import time
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np
import numpy.typing as npt
from roofslate import _core

from benchmarks.report import DISTURBED, Section

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

__all__ = [
    "SIZES",
    "Size",
    "Values",
    "busy_elsewhere",
    "calmest",
    "child",
    "fill_memory",
    "fresh_array",
    "machine_facts",
]

Values = npt.NDArray[np.float64]

_HUGE_PAGE = 2 << 20
_CALM = 0.15  # tolerated load of other processes, in processors


@dataclass(frozen=True)
class Size:
    """The amount of work."""

    rounds: int
    grid: tuple[int, int, int, int]
    square: int  # both axes of the one-operation grid
    rows: int
    processes: int
    tries: int  # per part, while other processes are busy
    search: tuple[int, int, int, int]  # models, chips, batches, contexts. The batches are searched.
    deep: int  # per axis, five axes
    wide: int  # per axis, four axes
    cube: int  # per axis, three axes
    stored: tuple[int, ...]  # values per result
    long_table: int  # rows
    slope: int  # points per grid for the cost of a point
    decades: int  # of the largest grid
    solves: int  # per axis, three axes
    draws: int
    axis: int  # points of the single axis
    fronts: tuple[int, int]  # nondominated points, with two and with three objectives


SIZES = {
    "full": Size(
        rounds=11,
        grid=(4, 8, 512, 1024),
        square=4096,
        rows=1 << 20,
        processes=9,
        tries=4,
        search=(16, 8, 512, 1024),
        deep=250,
        wide=178,
        cube=1000,
        stored=(10**6, 10**7, 10**8, 5 * 10**8),
        long_table=5_000_000,
        slope=1 << 24,
        decades=12,
        solves=100,
        draws=10**8,
        axis=10**8,
        fronts=(3_000_000, 100_000),
    ),
    "small": Size(
        rounds=3,
        grid=(2, 2, 32, 256),
        square=256,
        rows=1 << 10,
        processes=2,
        tries=1,
        search=(2, 2, 16, 64),
        deep=6,
        wide=8,
        cube=12,
        stored=(10**4,),
        long_table=1000,
        slope=1 << 12,
        decades=4,
        solves=6,
        draws=1 << 10,
        axis=1 << 12,
        fronts=(1000, 100),
    ),
}


def calmest(part: Callable[[], Section], tries: int) -> Section:
    """Repeat a part while other processes are busy, and return the run with the least load."""
    calmest, least = None, math.inf
    for _ in range(tries):
        start, busy = time.perf_counter(), busy_elsewhere()
        section = part()
        _core.clear_pool()
        other_load = (busy_elsewhere() - busy) / (time.perf_counter() - start)
        if calmest is None or other_load < least:
            calmest, least = section, other_load
        if other_load < _CALM:
            break
    assert calmest is not None
    if least >= _CALM:  # a shared machine has no valid limits
        calmest.lines = [replace(line, verdict=DISTURBED if line.verdict else "") for line in calmest.lines]
        calmest.notes.append(f"not judged, other processes used {least:.1f} processors meanwhile")
    return calmest


def busy_elsewhere() -> float:
    """Return processor seconds of other processes, or a constant if they are not reported."""
    try:
        with open("/proc/stat", encoding="utf-8") as lines:  # noqa: PTH123
            user, nice, system, _, _, irq, soft_irq, *_ = map(int, lines.readline().split()[1:])
    except (OSError, ValueError):
        return 0.0
    return (user + nice + system + irq + soft_irq) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def machine_facts(size: str, threads: int, load: float) -> dict[str, str]:
    from roofslate import __version__

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return {
        "date": time.strftime("%Y-%m-%d"),
        "roofslate": f"{__version__}, instructions {_core.instruction_set()}",
        "processor": f"{model}, {os.cpu_count()} cores, {threads} threads used",
        "load average": f"{load:.2f} before, {os.getloadavg()[0]:.2f} after (the benchmark included)",
        "size": size if size == "full" else f"{size}, a trial run without meaningful figures",
        "method": "medians of measurements in turns. Ratios are medians of the ratios per turn. "
        "A part is repeated while other processes are busy",
    }


def fresh_array(points: int) -> Values:
    """Return untouched memory, in huge pages if the system has them."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
    block = mmap.mmap(-1, points * 8 + _HUGE_PAGE, **private)  # shared memory would have small pages
    if hasattr(mmap, "MADV_HUGEPAGE"):
        block.madvise(mmap.MADV_HUGEPAGE)
    unaligned = np.frombuffer(block, dtype=np.float64)
    skipped = -unaligned.ctypes.data % _HUGE_PAGE // 8
    return unaligned[skipped : skipped + points]


def fill_memory(arrays: Iterable[Values], threads: int, stream: bool) -> None:
    for array in arrays:
        _core.fill_seconds(array.reshape(-1), threads, stream)


def child(program: str, *arguments: str) -> list[float]:
    """Return the numbers printed by a Python program in a separate process."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]
