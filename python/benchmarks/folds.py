"""Reductions of grids too large to store: best points, frontiers, histograms, quantiles."""

from __future__ import annotations

import dataclasses
import os
from typing import TYPE_CHECKING, Any

import numpy as np
from roofslate import _core

from benchmarks.machine import Size, child
from benchmarks.peaks import ENGINE, peak_text
from benchmarks.report import Line, Section, limit_of, line_of, rate_text, time_text
from benchmarks.search_rivals import LIMIT, SEARCH_RIVALS, Search
from benchmarks.timing import Contender, ratio, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = [
    "CELL",
    "WHERE",
    "deep_axes",
    "measure_best",
    "measure_deployments",
    "measure_distributions",
    "measure_optimum",
    "measure_pruning",
]

CELL: dict[str, float] = {
    "total_parameters": 671e9,
    "active_parameters": 37e9,
    "kv_bytes_per_token": 70272.0,
    "bytes_per_weight": 1.0,
    "chip_price": 3.0 / 3600,
}
WHERE = ["pass_time <= 50 ms", "hbm_used <= 192 GB"]

_WHOLE_GRIDS = 10  # arrays of all points stored by NumPy and JAX at once
_BRUTE = {"numba, slow factors hoisted": 1.0, "NumPy": 40.0, "JAX jit": 8.0}
_PRUNED = {"numba, slow factors hoisted": 2.0}


def measure_best(how: Size, threads: int) -> Section:
    """Find the best batch for each model, chip and context."""
    from roofslate.folds.best import best

    search = Search(how.search)
    points = int(np.prod(how.search))
    where = [f"pass_time <= {LIMIT * 1e3:g} ms", "hbm_used <= hbm_capacity"]

    def ours(question: Search, prune: bool) -> Callable[[], Any]:
        inputs = question.inputs
        return lambda: best(
            "cost_per_token", inputs, over="batch_size", where=where, threads=threads, prune=prune, progress=False
        )

    brute = Contender("rs.best, prune=False", ours(search, False))
    pruned = Contender("rs.best", ours(search, True))
    _same_result(brute.run(), pruned.run())
    rivals, notes, share = [], [], {}
    for name, (rival, stores_grids) in SEARCH_RIVALS.items():
        question = search
        if stores_grids and _core.available_memory() < 8 * points * _WHOLE_GRIDS:
            question = Search((max(1, how.search[0] // 4), *how.search[1:]))
            notes.append(f"{name} ran on a quarter of the grid, for lack of memory")
        try:
            run = rival(question, threads)
        except ImportError as error:
            notes.append(f"{name}: skipped, {error.name or error} is not installed (pip install 'roofslate[bench]')")
            continue
        _same_places(name, question, ours(question, False)(), *run())
        rivals.append(Contender(name, run))
        share[name] = int(np.prod(question.shape)) / points
    take_turns([brute, pruned, *rivals], max(3, how.rounds // 2))

    lines = [line_of(brute, rate_text(points, brute.median)), line_of(pruned, rate_text(points, pruned.median))]
    lines[1] = dataclasses.replace(lines[1], memory=peak_text(ENGINE, how.search, threads))
    for c in rivals:
        rate, scale = rate_text(points * share[c.name], c.median), 1 / share[c.name]
        figure = ratio(c, brute) * scale
        line = line_of(c, rate, figure, "prune=False is {:.2f} x as fast", _BRUTE.get(c.name))
        shape = tuple(n if k else round(n * share[c.name]) for k, n in enumerate(how.search))
        lines.append(dataclasses.replace(line, memory=peak_text(c.name, shape, threads)))
        figure = ratio(c, pruned) * scale
        lines.append(line_of(c, rate, figure, "pruned is {:.2f} x as fast", _PRUNED.get(c.name)))
    text = " x ".join(f"{n:,}" for n in how.search)
    return Section(f"Best of the batches: {text} models, chips, batches, contexts; two conditions", lines, notes)


def _same_result(a: Any, b: Any) -> None:
    if not a.equals(b):
        raise RuntimeError("the best points with and without pruning differ")


def _same_places(name: str, search: Search, ours: Any, least: Any, positions: Any) -> None:
    """Compare a rival's result: equal values, also at its positions.

    If decoding is compute-bound, the cost per token is constant in the batch, and rounding selects a position.
    """
    import xarray as xr
    from roofslate.evaluation.evaluate import evaluate
    from roofslate.grid.read import Settled

    expected = ours["cost_per_token"].to_numpy()
    is_found = positions >= 0
    if not np.array_equal(is_found, ~np.isnan(expected)):
        raise RuntimeError(f"{name} and roofslate differ in feasible points")
    worst = np.max(np.abs(least[is_found] / expected[is_found] - 1), initial=0.0)
    inputs = search.inputs
    batches = inputs["batch_size"].to_numpy()
    inputs["batch_size"] = xr.DataArray(batches[positions], dims=("model_number", "chip_number", "context_length"))
    at_its = evaluate("cost_per_token", Settled(inputs)).to_numpy()  # also at infeasible points
    worst = max(worst, np.max(np.abs(at_its[is_found] / expected[is_found] - 1), initial=0.0))
    if not worst <= 1e-12:
        raise RuntimeError(f"{name} and roofslate differ in the least cost by {worst:.1e}")


# ----------------------------------------------------------------------------------------------------------- one best


def deep_axes(count: int) -> dict[str, Any]:
    """Return five axes of a serving replica."""
    return {
        "batch_size": np.geomspace(1, 8192, count),
        "context_length": np.geomspace(1e5, 1e6, count),
        "chips": np.geomspace(8, 576, count),
        "hbm_bandwidth": np.geomspace(2e12, 20e12, count),
        "peak_flops": np.geomspace(1e15, 2e16, count),
    }


def _wide_axes(count: int) -> dict[str, Any]:
    return {name: values for name, values in deep_axes(count).items() if name != "chips"}


_PEAK = """
import sys
from roofslate import best
from benchmarks.folds import CELL, WHERE, deep_axes

def status(key):
    with open("/proc/self/status") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))

threads, count = map(int, sys.argv[1:])
def ask(n):
    axes = deep_axes(n)
    best("cost_per_token", over=list(axes), where=WHERE, threads=threads, progress=False, **CELL, **axes)
ask(2)
before = status("VmRSS")
ask(count)
print(status("VmHWM") - before)
"""


def measure_optimum(how: Size, threads: int) -> Section:
    """Find one optimum on more points than can be scanned."""
    from roofslate.folds.best import best

    axes = deep_axes(how.deep)
    inputs: dict[str, Any] = {**CELL, **axes}
    pruned = Contender(
        "rs.best",
        lambda: best("cost_per_token", inputs, over=list(axes), where=WHERE, threads=threads, progress=False),
    )
    take_turns([pruned], how.rounds)
    seconds = pruned.median
    lines = [limit_of(f"rs.best, {threads} threads", seconds, time_text(seconds), 0.1, "<= 100 ms")]
    notes = []
    if os.path.exists("/proc/self/status"):  # noqa: PTH110
        (beyond,) = child(_PEAK, str(threads), str(how.deep))
        lines.append(limit_of("peak memory that the call adds", beyond, f"{beyond / 1e6:.1f} MB", 20e6, "<= 20 MB"))
    else:
        notes.append("peak memory is skipped, this system does not report it")
    return Section(
        f"One optimum over {float(how.deep**5):.2g} points: five axes of {how.deep}, two conditions", lines, notes
    )


def measure_pruning(how: Size, threads: int) -> Section:
    """Find the same optimum with and without pruning, and a frontier."""
    from roofslate.folds.best import best
    from roofslate.folds.pareto import pareto

    axes, points = _wide_axes(how.wide), how.wide**4
    inputs: dict[str, Any] = {**CELL, **axes, "chips": 72.0}

    def ask(prune: bool) -> Any:
        return best(
            "cost_per_token", inputs, over=list(axes), where=WHERE, threads=threads, prune=prune, progress=False
        )

    _same_result(ask(True), ask(False))
    brute = Contender("rs.best, prune=False", lambda: ask(False))
    pruned = Contender("rs.best", lambda: ask(True))
    front = Contender(
        "rs.pareto",
        lambda: pareto(
            inputs, minimize=["cost_per_token", "pass_time"], where=WHERE[1:], threads=threads, progress=False
        ),
    )
    take_turns([brute, pruned, front], max(3, how.rounds // 3))
    lines = [
        line_of(brute, rate_text(points, brute.median)),
        line_of(pruned, rate_text(points, pruned.median), ratio(brute, pruned), "{:.0f} x as fast as brute force", 500),
        limit_of("rs.pareto: cost_per_token, pass_time", front.median, time_text(front.median), 0.2, "<= 200 ms"),
    ]
    return Section(f"One optimum and a frontier over {float(points):.2g} points: four axes of {how.wide}", lines)


def measure_deployments(how: Size, threads: int) -> Section:
    """Find the best deployment by layout, concurrency and prompt, feasible and infeasible."""
    from roofslate.deployment.search import deploy

    count = 4 * how.cube
    inputs: dict[str, Any] = {
        "model": "DeepSeek-V3",
        "hardware": ["H200", "GB200"],
        "concurrency": np.geomspace(1, 65536, count),
        "input_tokens": np.geomspace(1e3, 1e5, count),
        "output_tokens": 500,
        "expert_reads": "expected",
        "chip_price": 3.0 / 3600,
        "calibration": "floor",
    }

    def ask(objective: str, limit: str) -> Contender:
        where = [f"time_per_output_token <= {limit}", "time_to_first_token <= 2 s"]
        name = f"rs.deploy: {objective}, {where[0]}"
        return Contender(
            name, lambda: deploy(objective=objective, where=where, threads=threads, progress=False, **inputs)
        )

    contenders = [
        ask("cost_per_output_token", "30 ms"),
        ask("cost_per_output_token", "30 us"),  # infeasible, so the search returns the nearest
        ask("cost_per_token", "30 ms"),
    ]
    layouts = sum(len(part) for part in (contenders[0].run().table, contenders[0].run().rejected))
    take_turns(contenders, max(3, how.rounds // 3))
    lines = [limit_of(c.name, c.median, time_text(c.median), 5.0, "<= 5 s") for c in contenders]
    points = float(layouts * count**2)
    return Section(
        f"Deployments: {points:.2g} points, {layouts} layouts x {count:,} clients x {count:,} prompts", lines
    )


# ------------------------------------------------------------------------------------------------------ distributions


def measure_distributions(how: Size) -> Section:
    """Compute a histogram and quantiles of all values of two grids, on one thread."""
    from roofslate.folds.histogram import histogram
    from roofslate.folds.quantiles import quantiles

    cell = {"chips": 72.0, "hbm_bandwidth": 8e12, "peak_flops": 5e15}
    cube = {
        "batch_size": np.linspace(1, 8192, how.cube),
        "context_length": np.linspace(128, 1e6, how.cube),
        "bytes_per_weight": np.linspace(0.5, 2, how.cube),
    }
    grids: dict[str, tuple[dict[str, Any], int]] = {
        f"four axes of {how.wide}": ({**CELL, **cell, **_wide_axes(how.wide)}, how.wide**4),
        f"batches, contexts and weight bytes, {how.cube:,} each": ({**CELL, **cell, **cube}, how.cube**3),
    }

    def counting(prune: bool, inputs: dict[str, Any]) -> Callable[[], Any]:
        return lambda: histogram(
            "pass_time", inputs, bins=100, range=(1e-4, 1e2), log=True, threads=1, prune=prune, progress=False
        )

    def ranking(inputs: dict[str, Any]) -> Callable[[], Any]:
        return lambda: quantiles("pass_time", [0.01, 0.5, 0.99], inputs, threads=1, progress=False)

    lines: list[Line] = []
    fastest = 0.0
    for name, (inputs, points) in grids.items():
        _same_result(counting(True, inputs)(), counting(False, inputs)())
        brute = Contender(f"histogram, prune=False: {name}", counting(False, inputs))
        pruned = Contender(f"histogram: {name}", counting(True, inputs))
        ranks = Contender(f"quantiles: {name}", ranking(inputs))
        take_turns([brute, pruned, ranks], max(3, how.rounds // 3))
        rates = {c.name: points / c.median / 1e9 for c in (brute, pruned, ranks)}
        fastest = max(fastest, rates[pruned.name])
        lines += [
            line_of(brute, "", rates[brute.name], "{:.2f} Gpoint/s", 1.0),
            line_of(pruned, "", rates[pruned.name], "{:.2f} Gpoint/s"),
            line_of(ranks, "", 2 * rates[ranks.name], "{:.2f} Gpoint/s in each of two passes", 0.4),
        ]
    verdict = "holds" if fastest >= 2 else "falls short"
    lines.append(
        Line("histogram, the better of both grids", "", "", fastest, f"{fastest:.2f} Gpoint/s", ">= 2", verdict)
    )
    return Section("Histogram of pass_time in 100 bins of equal ratio, and three quantiles; one thread", lines)
