"""Peak memory of contenders in separate processes, without imports, with results."""

from __future__ import annotations

import math
import subprocess
import sys
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["ENGINE", "peak_text"]

ENGINE = "roofslate"
_FEWEST = 1 << 22  # points, below which overhead dominates


def peak_text(name: str, shape: Sequence[int], threads: int, outputs: Sequence[str] = ()) -> str:
    """Format the peak memory of a contender: of a surface, or of a search without outputs.

    Empty if the grid is small, or if the system does not report it.
    """
    if math.prod(shape) < _FEWEST or not Path("/proc/self/clear_refs").exists():
        return ""
    arguments = [name, ",".join(outputs), str(threads), *map(str, shape)]
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.peaks", *arguments], check=False, capture_output=True, text=True
    )
    return f"{float(done.stdout) / 1e6:,.0f} MB" if done.returncode == 0 else "too much"


def _call(name: str, outputs: Sequence[str], threads: int, shape: tuple[int, int, int, int]) -> Callable[[], object]:
    from roofslate.evaluation.evaluate import evaluate
    from roofslate.folds.best import best

    from benchmarks.machine import fresh_array
    from benchmarks.rivals import RIVALS, Surface
    from benchmarks.search_rivals import LIMIT, SEARCH_RIVALS, Search

    if not outputs:
        search = Search(shape)
        if name in SEARCH_RIVALS:
            return SEARCH_RIVALS[name][0](search, threads)
        where = [f"pass_time <= {LIMIT * 1e3:g} ms", "hbm_used <= hbm_capacity"]
        return lambda: best("cost_per_token", search.inputs, over="batch_size", where=where, threads=threads)
    surface = Surface(shape)
    memory = {output: fresh_array(int(np.prod(shape))).reshape(shape) for output in outputs}
    if name in RIVALS:
        return RIVALS[name](surface, outputs, memory, threads)
    return lambda: evaluate(list(outputs), surface.inputs, threads=threads, out=memory)


def _bytes(key: str) -> int:
    with open("/proc/self/status", encoding="utf-8") as lines:  # noqa: PTH123
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))


def _measure(name: str, outputs: str, threads: str, *shape: str) -> int:
    output_names = outputs.split(",") if outputs else []
    _call(name, output_names, int(threads), (2, 2, 4, 8))()  # imports and compiles
    Path("/proc/self/clear_refs").write_text("5", encoding="utf-8")  # resets the peak
    before = _bytes("VmRSS")
    models, chips, batches, contexts = map(int, shape)
    result = _call(name, output_names, int(threads), (models, chips, batches, contexts))()
    peak = _bytes("VmHWM") - before
    del result
    return peak


if __name__ == "__main__":
    print(_measure(*sys.argv[1:]))
