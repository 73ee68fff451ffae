"""Folds and threads in one run: brute folds, two threads, large Pareto frontiers.

Brute folds are compared with a handwritten loop, and two threads with one.

``python -m benchmarks --only bars`` prints them all.
"""

from __future__ import annotations

from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from roofslate import _core

from benchmarks.by_hand import FLAGS, by_hand
from benchmarks.folds import CELL
from benchmarks.machine import fresh_array
from benchmarks.report import Line, Section, limit_of, line_of, rate_text, time_text
from benchmarks.rivals import COST, Surface
from benchmarks.search_rivals import LIMIT, SEARCH_RIVALS, Search
from benchmarks.timing import Contender, ratio, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from benchmarks.machine import Size

__all__ = ["measure_bars"]

_WHERE = [f"pass_time <= {LIMIT * 1e3:g} ms", "hbm_used <= hbm_capacity"]


def measure_bars(how: Size, threads: int) -> Section:
    """Measure all of them on one instruction set after the other, with up to two threads."""
    section = Section("Bars: brute folds and a loop by hand, two threads and one, fronts")
    counts = (1, 2) if threads > 1 else (1,)
    used = _core.instruction_set()
    try:
        for name in _core.instruction_sets():
            if name in FLAGS:
                _core.use_instruction_set(name)
                section.lines += _beside_a_loop(how, counts, name, section.notes)
    finally:
        _core.use_instruction_set(used)
    section.lines += _beside_numba(how, threads, section.notes)
    if len(counts) > 1:
        section.lines += [*_small_grids(how), *_one_axis(how)]
    section.lines += _fronts(how, threads)
    return section


def _search(search: Search, threads: int, *, prune: bool) -> Callable[[], Any]:
    from roofslate.folds.best import best

    inputs = search.inputs
    return lambda: best(
        "cost_per_token", inputs, over="batch_size", where=_WHERE, threads=threads, prune=prune, progress=False
    )


def _beside_a_loop(how: Size, counts: Iterable[int], name: str, notes: list[str]) -> list[Line]:
    from benchmarks.folds import _same_places

    search, points = Search(how.search), int(np.prod(how.search))
    try:
        loops = {n: by_hand(search, n, name) for n in counts}
    except ImportError as error:
        notes.append(f"loop by hand: skipped, {error.name} is missing")
        return []
    _same_places("the loop by hand", search, _search(search, 1, prune=False)(), *loops[1]())
    ours = {n: Contender(f"brute fold, {name}, {n} threads", _search(search, n, prune=False)) for n in counts}
    hand = {n: Contender(f"loop by hand, {name}, {n} threads", loop) for n, loop in loops.items()}
    take_turns([c for n in counts for c in (hand[n], ours[n])], how.rounds)
    lines = []
    for n in counts:
        share = ratio(hand[n], ours[n])
        lines.append(line_of(hand[n], rate_text(points, hand[n].median)))
        rate = rate_text(points, ours[n].median)
        lines.append(line_of(ours[n], rate, share, "{:.2f} of the loop by hand", 0.75))
    if 2 in ours:
        lines.append(_gain(f"brute fold, {name}", ours[1], ours[2], 1.8))
    return lines


def _gain(what: str, one: Contender, two: Contender, least: float) -> Line:
    figure = ratio(one, two)
    verdict = "holds" if figure >= least else "falls short"
    return Line(what, time_text(two.median), "", figure, f"two threads {figure:.2f} x one", f">= {least:g}", verdict)


def _beside_numba(how: Size, threads: int, notes: list[str]) -> list[Line]:
    search = Search(how.search)
    name = "numba, slow factors hoisted"
    try:
        run = SEARCH_RIVALS[name][0](search, threads)
    except ImportError as error:
        notes.append(f"numba: skipped, {error.name} is not installed (pip install 'roofslate[bench]')")
        return []
    run()
    rival, pruned = Contender(name, run), Contender("pruned fold", _search(search, threads, prune=True))
    take_turns([rival, pruned], how.rounds)
    return [line_of(pruned, "", ratio(rival, pruned), "{:.2f} x as fast as numba", 2.0)]


def _small_grids(how: Size) -> Iterable[Line]:
    """Call them in a loop in C++, as a call from Python takes longer than these grids."""
    for batches, least in ((2, 1.0), (4, 1.5)):
        surface = Surface((4, 8, batches, 800 if how.rounds > 3 else 80))
        points = int(np.prod(surface.shape))
        memory = fresh_array(points).reshape(surface.shape)
        memory.fill(0)
        one, two = (
            Contender(
                f"{points:,} points, {n} threads",
                partial(_core.repeat_engine, COST[0], list(surface.shape), surface.core_inputs, memory, 200, n),
            )
            for n in (1, 2)
        )
        take_turns([one, two], how.rounds)
        yield _gain(f"200 calls of {points:,} points", one, two, least)


def _one_axis(how: Size) -> Iterable[Line]:
    from roofslate.folds.histogram import histogram
    from roofslate.folds.quantiles import quantiles

    inputs: dict[str, Any] = {**CELL, "chips": 72.0, "hbm_bandwidth": 8e12, "peak_flops": 5e15, "context_length": 8e3}
    inputs["batch_size"] = np.linspace(1, 8192, how.axis)

    def counting(n: int) -> Any:
        return histogram("pass_time", inputs, bins=100, range=(1e-4, 1e2), log=True, threads=n, progress=False)

    def ranking(n: int) -> Any:
        return quantiles("pass_time", [0.01, 0.5, 0.99], inputs, threads=n, progress=False)

    for name, fold in (("histogram", counting), ("quantiles", ranking)):
        one, two = (Contender(f"{name}, {n} threads", partial(fold, n)) for n in (1, 2))
        take_turns([one, two], max(3, how.rounds // 3))
        yield _gain(f"{name} along one axis of {how.axis:,} points", one, two, 1.8)


def _fronts(how: Size, threads: int) -> Iterable[Line]:
    from roofslate.folds.pareto import pareto

    two, three = how.fronts
    side = round(three**0.5)
    cell: dict[str, Any] = {**CELL, "chips": 72.0, "hbm_bandwidth": 8e12, "peak_flops": 5e15}
    grids: dict[str, tuple[list[str], dict[str, Any]]] = {
        "two objectives": (["batch_size"], {"batch_size": np.linspace(1, 8192, two), "context_length": 8e3}),
        "three objectives": (
            ["batch_size", "context_length"],
            {"batch_size": np.linspace(1, 8192, side), "context_length": np.linspace(1e3, 1e6, side)},
        ),
    }
    for name, (large, axes) in grids.items():
        points = int(np.prod([np.size(x) for x in axes.values()]))
        for prune in (True, False):
            ask = partial(
                pareto, {**cell, **axes}, minimize="memory_time", maximize=large, threads=threads, prune=prune,
                progress=False,
            )  # fmt: skip
            if len(ask()) != points:
                raise RuntimeError(f"the front of {name} lost points")
            contender = Contender(name, ask)
            take_turns([contender], 3)
            what = f"front of {points:,} nondominated points, {name}{'' if prune else ', prune=False'}"
            yield limit_of(what, contender.median, time_text(contender.median), 3.0, "<= 3 s")
