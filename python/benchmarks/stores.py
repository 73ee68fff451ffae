"""Storage of results: a million to half a billion values, in both formats, and tables."""

from __future__ import annotations

from functools import partial
from typing import Any

import numpy as np
from roofslate import _core

from benchmarks.evaluations import scenario_table
from benchmarks.machine import Size, fill_memory, fresh_array
from benchmarks.report import Section, gigabytes, line_of
from benchmarks.rivals import FOUR, Surface
from benchmarks.timing import Contender, ratio, take_turns

__all__ = ["measure_long_table", "measure_stores"]

_IN_CACHE = 5 * 10**7  # values that fit in CPU caches
_LONG = 10**7  # values above which calls are long, so few rounds suffice


def _surface(points: int) -> Surface:
    """Return a grid with as many batches as the number of points requires."""
    models, chips, contexts = (1, 5, 1000) if points >= 10**5 else (1, 5, 10)
    return Surface((models, chips, points // (models * chips * contexts), contexts))


def measure_stores(how: Size, threads: int) -> Section:
    """Store four outputs into given memory, on grids of growing size."""
    from roofslate.evaluation.evaluate import evaluate

    lines, notes = [], []
    for values in how.stored:
        if _core.available_memory() < 3 * 8 * values:
            notes.append(f"{values:,} values: skipped for lack of memory")
            continue
        points = values // len(FOUR)
        surface = _surface(points)
        inputs = surface.inputs
        out = {name: fresh_array(points).reshape(surface.shape) for name in FOUR}
        half = {name: fresh_array((points + 1) // 2).view(np.float32)[:points].reshape(surface.shape) for name in FOUR}

        def store(count: int, memory: dict[str, Any], dtype: str, given: dict[str, Any] = inputs) -> None:
            evaluate(FOUR, threads=count, out=memory, dtype=dtype, progress=False, **given)

        fill = Contender(f"{values:,} values, non-temporal fill", partial(fill_memory, out.values(), threads, True))
        double = Contender(f"{values:,} values, float64", partial(store, threads, out, "float64"))
        alone = Contender(f"{values:,} values, float64, 1 thread", partial(store, 1, out, "float64"))
        single = Contender(f"{values:,} values, float32", partial(store, threads, half, "float32"))
        single_alone = Contender(f"{values:,} values, float32, 1 thread", partial(store, 1, half, "float32"))
        rounds = how.rounds if values <= _LONG else max(3, how.rounds // 3)
        take_turns([fill, double, alone, single, single_alone], rounds)

        lines.append(line_of(fill, gigabytes(8 * values, fill)))
        lines.append(line_of(double, gigabytes(8 * values, double), ratio(fill, double), "{:.2f} of the fill"))
        if threads > 1:
            meaning = f"{threads} threads are {{:.2f}} x as fast"
            lines.append(line_of(alone, gigabytes(8 * values, alone), ratio(alone, double), meaning))
        least = 1.5 if values > _IN_CACHE else None  # if memory is the limit
        for wide, narrow in [(double, single), (alone, single_alone)][: min(threads, 2)]:
            rate = gigabytes(4 * values, narrow)
            lines.append(line_of(narrow, rate, ratio(wide, narrow), "{:.2f} x the values/s of float64", least))
        del out, half, store, fill, double, alone, single, single_alone
    return Section("Four outputs through out=, memory used before", lines, notes)


def measure_long_table(how: Size, threads: int) -> Section:
    """Compute three outputs for millions of scenarios."""
    from roofslate.evaluation.frame import frame

    table = scenario_table(how.long_table)
    outputs = ["pass_time", "cost_per_token", "compute_utilization"]
    given: dict[str, Any] = {"bytes_per_weight": 1.0, "chip_price": 3.0 / 3600}
    mine = Contender("rs.frame", lambda: frame(table, outputs, threads=threads, progress=False, **given))
    contenders = [mine]
    if threads > 1:
        alone = Contender("rs.frame, 1 thread", lambda: frame(table, outputs, threads=1, progress=False, **given))
        contenders.append(alone)
    take_turns(contenders, how.rounds)
    values = how.long_table * len(outputs)
    lines = [
        line_of(c, f"{how.long_table / c.median / 1e6:.1f} Mrow/s", values / c.median / 1e6, "{:.0f} M values/s", least)
        for c, least in zip(contenders, (200, None), strict=False)
    ]
    return Section(f"Long table of scenarios: {how.long_table:,} rows, 8 columns in, 3 out", lines)
