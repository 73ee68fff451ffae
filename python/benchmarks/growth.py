"""Growth of time with outputs, axes, quantities and points."""

from __future__ import annotations

import time
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from roofslate import _core

from benchmarks.folds import CELL, WHERE, deep_axes
from benchmarks.report import Section, line_of, rate_text
from benchmarks.rivals import Surface
from benchmarks.search_rivals import LIMIT, grid_loop
from benchmarks.timing import Contender, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.machine import Size

__all__ = ["measure_growth", "measure_point_cost"]

# Each depends on all axes of a surface.
_OUTPUTS = (
    "pass_time",
    "cost_per_token",
    "compute_utilization",
    "memory_time",
    "kv_fetch_time",
    "replica_throughput",
    "model_flops_utilization",
    "memory_compute_ratio",
)
_CHAIN = ("kv_fetch_time", "memory_time", "pass_time", "cost_per_token")
_AXES = ("context_length", "batch_size", "hbm_bandwidth", "peak_flops", "chips", "kv_bytes_per_token")
_HBM_CAPACITY = 192e9  # per chip, as in WHERE


def measure_point_cost(how: Size, threads: int) -> Section:
    """Measure time per point by outputs, quantities and axes, on equal grids and used memory."""
    from roofslate.evaluation.evaluate import evaluate
    from roofslate.grid.checks import used

    surface = Surface((4, 8, how.slope >> 11, 64))
    inputs, points = surface.inputs, int(np.prod(surface.shape))
    cases: dict[str, tuple[list[str], dict[str, Any]]] = {}
    for count in (1, 2, 4, 8):
        cases[f"{count} output{'s' * (count > 1)}"] = (list(_OUTPUTS[:count]), inputs)
    for name in _CHAIN:
        supplied = {k: float(v) for k, v in inputs.items() if not np.ndim(v)}
        arrays = [k for k, v in inputs.items() if np.ndim(v)]
        needed = len(used([name], supplied, arrays))
        cases[f"{name}, from {needed} inputs"] = ([name], inputs)
    for count in range(1, len(_AXES) + 1):
        fixed = {**CELL, "chips": 72.0, "hbm_bandwidth": 8e12, "peak_flops": 5e15, "batch_size": 256.0}
        name = f"cost_per_token on {count} ax{'e' if count > 1 else 'i'}s"
        cases[name] = (["cost_per_token"], {**fixed, **_split(how.slope, count)})

    lines = []
    for name, (outputs, given) in cases.items():
        memory = {o: a.to_numpy() for o, a in evaluate(outputs, given, threads=threads).items()}
        size = max(array.size for array in memory.values())
        run = partial(evaluate, outputs, threads=threads, out=memory, progress=False, **given)
        contender = Contender(name, run)
        take_turns([contender], max(3, how.rounds // 2))
        cost = contender.median / size * 1e9
        lines.append(line_of(contender, rate_text(size, contender.median), cost, "{:.3f} ns a point"))
        _core.clear_pool()
    return Section(f"Cost of a point: {points:,} points, results stored in memory used before", lines)


def _split(points: int, axes: int) -> dict[str, Any]:
    """Distribute the points to axes of equal length."""
    count = round(points ** (1 / axes))
    ends = {
        "context_length": (128, 1e6),
        "batch_size": (1, 8192),
        "hbm_bandwidth": (2e12, 20e12),
        "peak_flops": (1e15, 2e16),
        "chips": (8, 576),
        "kv_bytes_per_token": (3e4, 3e5),
    }
    return {name: np.geomspace(*ends[name], count) for name in reversed(_AXES[:axes])}


# ------------------------------------------------------------------------------------------------------------- points


def measure_growth(how: Size, threads: int) -> Section:
    """Measure time by points, for the least cost per token on five axes."""
    section = Section("Time by points: the least cost_per_token, five axes, two conditions")
    ways: dict[str, tuple[Callable[[dict[str, Any]], Any], float]] = {
        "rs.best": (_best(threads, True), 1e13),
        "rs.best, prune=False": (_best(threads, False), 2e9),
        "rs.evaluate": (_evaluate(threads), 2e8),
    }
    try:
        loop = grid_loop(threads)
        ways["numba, fused"] = (lambda axes: loop(axes=axes, hbm_capacity=_HBM_CAPACITY, **CELL), 2e9)
    except ImportError:
        section.notes.append("numba: skipped, it is not installed (pip install 'roofslate[bench]')")
    ways["NumPy"] = (_numpy, 2e7)
    costs: dict[int, dict[str, float]] = {}
    for decade in range(3, how.decades + 1):
        axes = deep_axes(round(10 ** (decade / 5)))
        points = int(np.prod([len(values) for values in axes.values()]))
        for name, (ask, most) in ways.items():
            if points > most:
                continue
            costs.setdefault(points, {})[name] = float(ask(axes))  # the first call compiles
            section.growth.setdefault(name, {})[points] = _median(ask, axes, how.rounds)
    for points, least in costs.items():
        searched = [x for name, x in least.items() if name != "rs.evaluate"]
        if not np.allclose(searched, searched[0], rtol=1e-12, atol=0):
            raise RuntimeError(f"the least costs of {points:,} points differ: {least}")
    section.notes.append("rs.evaluate stores the costs of all points, without a search")
    return section


def _median(ask: Callable[[dict[str, Any]], Any], axes: dict[str, Any], rounds: int) -> float:
    """Return the median of several calls, or of two long ones."""
    seconds: list[float] = []
    while len(seconds) < rounds and (len(seconds) < 2 or sum(seconds) < 2):
        start = time.perf_counter()
        ask(axes)
        seconds.append(time.perf_counter() - start)
    return float(np.median(seconds))


def _best(threads: int, prune: bool) -> Callable[[dict[str, Any]], Any]:
    from roofslate.folds.best import best

    def ask(axes: dict[str, Any]) -> float:
        given: dict[str, Any] = {**CELL, **axes}
        optimum = best(
            "cost_per_token", given, over=list(axes), where=WHERE, threads=threads, prune=prune, progress=False
        )
        return float(optimum["cost_per_token"])

    return ask


def _evaluate(threads: int) -> Callable[[dict[str, Any]], Any]:
    from roofslate.evaluation.evaluate import evaluate

    def ask(axes: dict[str, Any]) -> float:
        given: dict[str, Any] = {**CELL, **axes}
        return float(evaluate("cost_per_token", given, threads=threads, progress=False).to_numpy().flat[0])

    return ask


def _numpy(axes: dict[str, Any]) -> float:
    B, L, n, m, F = np.ix_(*axes.values())
    bytes_ = CELL["total_parameters"] * CELL["bytes_per_weight"] + B * L * CELL["kv_bytes_per_token"]
    t = np.maximum(2 * CELL["active_parameters"] * B / n / F, bytes_ / (n * m))
    costs = np.where((t <= LIMIT) & (bytes_ / n <= _HBM_CAPACITY), t * (n * CELL["chip_price"] / B), np.inf)
    return float(costs.min())
