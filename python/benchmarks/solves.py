"""A million solves, compared with SciPy's root finder, and brentq on `rs.value`."""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.folds import CELL
from benchmarks.report import Line, Section, line_of, time_text
from benchmarks.timing import Contender, ratio, take_turns

if TYPE_CHECKING:
    from collections.abc import Callable

    from benchmarks.machine import Size, Values

__all__ = ["measure_solve"]

_FLOPS = 5e15
_LONGEST = 0.5  # per pass [s]
_LEAST, _MOST = 1e-3, 1e9  # limits of SciPy's search
_POINTS = 200  # solved by brentq, with one Python call each


def _axes(count: int) -> dict[str, Values]:
    return {
        "context_length": np.geomspace(1e3, 1e6, count),
        "chips": np.geomspace(8, 1024, count),
        "hbm_bandwidth": np.geomspace(2e12, 2e13, count),
    }


def _pass_time(batch: Values, context: Values, chips: Values, bandwidth: Values) -> Values:
    """Compute the formulas of the quantity, as a user of SciPy would."""
    memory = chips * bandwidth
    weights = CELL["total_parameters"] * (CELL["bytes_per_weight"] / memory)
    cache = batch * CELL["kv_bytes_per_token"] * context / memory
    compute = batch * (2 * CELL["active_parameters"] / (chips * _FLOPS))
    longest: Values = np.maximum(weights + cache, compute)
    return longest


def measure_solve(how: Size, threads: int) -> Section:
    """Solve for the batch with a given pass time, by context, number of chips and bandwidth."""
    from roofslate.analysis.solve import solve
    from roofslate.evaluation.value import value

    axes, solves = _axes(how.solves), how.solves**3
    inputs: dict[str, Any] = {**CELL, "peak_flops": _FLOPS, **axes}

    def ours(count: int) -> Callable[[], Any]:
        question = f"pass_time == {_LONGEST} s"
        return lambda: solve("batch_size", question, inputs, threads=count, progress=False)

    all_threads, alone = Contender("rs.solve", ours(threads)), Contender("rs.solve, 1 thread", ours(1))
    contenders, notes, scale = [all_threads, alone], [], {}
    roots = ours(threads)()
    try:
        optimize = importlib.import_module("scipy.optimize")
        find_root = importlib.import_module("scipy.optimize.elementwise").find_root
    except ImportError as error:
        notes.append(f"SciPy: skipped, {error.name or error} is not installed (pip install 'roofslate[analysis]')")
    else:
        grid = [np.ascontiguousarray(x) for x in np.meshgrid(*axes.values(), indexing="ij")]

        def vectorized() -> Any:
            return find_root(lambda batch, *at: _pass_time(batch, *at) - _LONGEST, (_LEAST, _MOST), args=tuple(grid)).x

        chosen = np.unravel_index(np.linspace(0, solves - 1, min(_POINTS, solves)).astype(int), roots.shape)
        places = [dict(zip(axes, point, strict=True)) for point in zip(*(x[chosen] for x in grid), strict=True)]
        points = [
            {**CELL, "peak_flops": _FLOPS, **{name: float(x) for name, x in indices.items()}} for indices in places
        ]

        def one_by_one() -> Any:
            def missed(batch: float, point: dict[str, Any]) -> float:
                return float(value("pass_time", point, batch_size=batch)) - _LONGEST

            return [float(optimize.brentq(missed, _LEAST, _MOST, args=(point,))) for point in points]

        _same_batches("find_root", vectorized(), roots.to_numpy())
        _same_batches("brentq", np.array(one_by_one()), roots.to_numpy()[chosen])
        elementwise = Contender("scipy.optimize.elementwise.find_root, NumPy", vectorized)
        loop = Contender(f"scipy.optimize.brentq over rs.value, {len(points)} solves", one_by_one)
        contenders += [elementwise, loop]
        scale = {elementwise.name: (1.0, 50.0), loop.name: (solves / len(points), 1000.0)}
    take_turns(contenders, max(3, how.rounds // 3))

    lines = []
    for c in contenders:
        of_solve = f"{time_text(c.median * scale.get(c.name, (1.0, 0.0))[0] / solves)} a solve"
        if c.name not in scale:
            lines.append(line_of(c, of_solve))
            continue
        times, target = scale[c.name]
        lines.append(line_of(c, of_solve, ratio(c, all_threads) * times, "rs.solve is {:,.0f} x as fast", target))
        lines.append(
            Line("", figure=ratio(c, alone) * times, figure_text=f"on one thread {ratio(c, alone) * times:,.0f} x")
        )
    return Section(f"Solving {solves:,} times: the batch whose pass takes {_LONGEST} s", lines, notes)


def _same_batches(name: str, theirs: Values, ours: Values) -> None:
    worst = np.max(np.abs(theirs / ours - 1))
    if not worst <= 1e-9:
        raise RuntimeError(f"{name} and roofslate differ in the batch by {worst:.1e}")
