"""The machine that measures: its memory, what else runs on it, and how much is measured."""

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
_CALM = 0.15  # processors that others may keep busy


@dataclass(frozen=True)
class Size:
    """How much is measured."""

    rounds: int
    grid: tuple[int, int, int, int]
    square: int  # both axes of the one-operation grid
    rows: int
    processes: int
    tries: int  # of a part during which other processes are at work
    search: tuple[int, int, int, int]  # models, chips, batches, contexts, of which the batches are searched
    deep: int  # each of five axes
    wide: int  # each of four axes
    cube: int  # each of three axes
    stored: tuple[int, ...]  # values of results
    long_table: int  # rows
    slope: int  # points of the grids on which the cost of a point is told
    decades: int  # of the largest grid
    solves: int  # each of three axes
    draws: int
    axis: int  # points of the only one
    fronts: tuple[int, int]  # points that all stay, of two objectives and of three


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
    """Measure a part again while other processes are at work; the calmest try counts."""
    calmest, least = None, math.inf
    for _ in range(tries):
        start, busy = time.perf_counter(), busy_elsewhere()
        section = part()
        _core.clear_pool()
        others = (busy_elsewhere() - busy) / (time.perf_counter() - start)
        if calmest is None or others < least:
            calmest, least = section, others
        if others < _CALM:
            break
    assert calmest is not None
    if least >= _CALM:  # a limit that was shared is no limit
        calmest.lines = [replace(line, verdict=DISTURBED if line.verdict else "") for line in calmest.lines]
        calmest.notes.append(f"not judged: other processes kept {least:.1f} processors busy meanwhile")
    return calmest


def busy_elsewhere() -> float:
    """Processor seconds that other processes have used; a constant where the system does not tell."""
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
        "load average": f"{load:.2f} before, {os.getloadavg()[0]:.2f} after (the benchmark itself among it)",
        "size": size if size == "full" else f"{size}, a trial run: its figures mean nothing",
        "method": "medians of measurements taken in turns; ratios are medians of the ratios of each turn; "
        "a part is measured again while others are at work",
    }


def fresh_array(points: int) -> Values:
    """Memory that nobody has touched, in huge pages where the system has them."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
    block = mmap.mmap(-1, points * 8 + _HUGE_PAGE, **private)  # shared memory would come in small pages
    if hasattr(mmap, "MADV_HUGEPAGE"):
        block.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(block, dtype=np.float64)
    skipped = -whole.ctypes.data % _HUGE_PAGE // 8
    return whole[skipped : skipped + points]


def fill_memory(arrays: Iterable[Values], threads: int, stream: bool) -> None:
    for array in arrays:
        _core.fill_seconds(array.reshape(-1), threads, stream)


def child(program: str, *arguments: str) -> list[float]:
    """Numbers that a Python program prints in a process of its own."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]
