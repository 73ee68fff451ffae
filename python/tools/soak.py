"""Soak test: mixed questions in several threads, checking answers and memory growth.

It asks the questions of same_bits.py, and some over large grids. Each is first answered by itself. Then eight threads
answer all of them repeatedly, in random order. Every answer must equal the first one, and memory must not grow::

    python python/tools/soak.py --minutes 60

The exit status is 1 if an answer differs, or if the final memory exceeds the memory at half time by more than 5 MB. A
crash ends it as usual.
"""

from __future__ import annotations

import argparse
import contextlib
import ctypes
import dataclasses
import faulthandler
import gc
import os
import random
import statistics
import sys
import threading
import time
import warnings
from collections.abc import Callable, Sequence
from pathlib import Path

MOST_GROWTH = 5.0  # MB
# Otherwise each thread has a heap with random growth, and Arrow keeps freed memory.
_ALLOCATORS = {"MALLOC_ARENA_MAX": "1", "ARROW_DEFAULT_MEMORY_POOL": "system"}
CALLS = (
    "evaluate", "evaluate, shared axes", "evaluate, out", "value", "frame", "best", "pareto", "count", "histogram",
    "quantiles", "bounds", "sample", "folds of a sample", "sobol", "solve", "gradient", "sensitivity", "tornado",
    "explain", "compare", "define", "deploy", "infer",
)  # fmt: skip
_CELL = "model='DeepSeek-V3', hardware='GB200 NVL72', chip_price='$3/h', progress=False"
_BATCHES = "batch_size=np.linspace(1, 4000, 700)"
LARGE = (
    f"rs.evaluate('cost_per_token', {_BATCHES}, context_length=rs.linspace(1, 1e5, 900), {_CELL})",
    f"rs.evaluate('pass_time', batch_size=np.linspace(1, 4000, 300_000), context_length='8k', threads=2, {_CELL})",
    f"rs.best('cost_per_token', over='batch_size', where='pass_time <= 20 ms', batch_size=np.linspace(1, 4000, 3000),"
    f" context_length=rs.geomspace(1000, 1e5, 300), {_CELL})",
    f"rs.quantiles('pass_time', [0.1, 0.5], {_BATCHES}, context_length=rs.linspace(1, 1e5, 300), {_CELL})",
    f"rs.histogram('pass_time', bins=30, batch_size=np.linspace(1, 4000, 200_000), context_length='8k', {_CELL})",
)
Ask = Callable[[str], str]


def ask(code: str) -> str:
    """Answer a question, and return a digest. Errors are answers, warnings are ignored."""
    from questions.answers import Answer, neutral
    from questions.space import SPACE

    answer = Answer()
    try:
        answer.add("answer", eval(code, dict(SPACE)))
    except Exception as error:  # every error is an answer
        return f"{type(error).__name__}: {neutral(str(error))}"
    return answer.digest


def drawn(count: int) -> list[str]:
    """Draw questions to each call, and add the large ones, without files and plots."""
    from questions import analysis, folds, grids, studies
    from questions.draw import Chance

    known = {name: draw for module in (grids, folds, analysis, studies) for name, (_, draw) in module.CALLS.items()}
    codes = [known[name](Chance(f"soak {name} {k}")) for name in CALLS for k in range(count)]
    return [code for code in codes if "swept" not in code and "picture" not in code] + [*LARGE] * max(1, count // 20)


def resident() -> float:
    """Measure this process in MB, without garbage, stored results and allocator reserves."""
    from roofslate import _core

    gc.collect()
    _core.clear_pool()
    with contextlib.suppress(OSError, AttributeError):  # glibc only
        ctypes.CDLL(None).malloc_trim(0)
    pages = int(Path("/proc/self/statm").read_text(encoding="ascii").split()[1])
    return pages * os.sysconf("SC_PAGESIZE") / 1e6


@dataclasses.dataclass
class Soak:
    """The record of a run."""

    counts: list[int] = dataclasses.field(default_factory=list)  # of answers, by thread
    differences: list[str] = dataclasses.field(default_factory=list)
    memory: list[float] = dataclasses.field(default_factory=list)

    @property
    def answers(self) -> int:
        return sum(self.counts)

    @property
    def growth(self) -> float:
        """Growth of memory from the third to the last fifth, in MB, after all pools filled."""
        fifth = max(1, len(self.memory) // 5)
        middle, end = self.memory[2 * fifth : 3 * fifth], self.memory[-fifth:]
        return statistics.median(end) - statistics.median(middle or end)


def soak(codes: Sequence[str], seconds: float, threads: int = 8, ask: Ask = ask, every: float = 10.0) -> Soak:
    """Ask all questions singly, then from several threads, reading memory while all pause."""
    reference = [ask(code) for code in codes]
    run, over, working = Soak(), threading.Event(), threading.Event()
    locks = [threading.Lock() for _ in range(threads)]  # each acquired while its thread asks

    def work(number: int) -> None:
        chance = random.Random(number)
        while not over.is_set():
            working.wait()
            with locks[number]:
                k = chance.randrange(len(codes))
                answer = ask(codes[k])
                run.counts[number] += 1
                if answer != reference[k]:
                    run.differences.append(f"{codes[k]}\n  first: {reference[k]}\n  here:  {answer}")

    run.counts = [0] * threads
    workers = [threading.Thread(target=work, args=(number,)) for number in range(threads)]
    for worker in workers:
        worker.start()
    begin = time.monotonic()
    minutes_printed = 0
    try:
        while (passed := time.monotonic() - begin) < seconds and len(run.differences) < 20:
            working.set()
            over.wait(min(every, seconds))
            working.clear()
            with contextlib.ExitStack() as stack:
                for lock in locks:
                    stack.enter_context(lock)
                run.memory.append(resident())
            if passed >= 60 * minutes_printed:
                minutes_printed += 1
                print(f"{passed / 60:5.1f} min {run.answers:9,} answers {run.memory[-1]:8.1f} MB", flush=True)
    finally:
        over.set()
        working.set()
        for worker in workers:
            worker.join()
    return run


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--minutes", type=float, default=60, help="how long")
    parser.add_argument("--threads", type=int, default=8, help="how many ask at once")
    parser.add_argument("--questions", type=int, default=40, help="per call")
    given = parser.parse_args()
    if not _ALLOCATORS.keys() <= os.environ.keys():
        os.execve(sys.executable, [sys.executable, *sys.argv], {**os.environ, **_ALLOCATORS})
    faulthandler.enable()
    warnings.simplefilter("ignore")
    codes = drawn(given.questions)
    run = soak(codes, 60 * given.minutes, given.threads)
    for text in run.differences:
        print(text)
    print(f"{run.answers:,} answers to {len(codes)} questions in {given.threads} threads: ", end="")
    print(f"{len(run.differences) or 'none'} differ, memory grew by {run.growth:.1f} MB")
    return int(bool(run.differences) or run.growth > MOST_GROWTH)


if __name__ == "__main__":
    sys.exit(main())
