"""Writing results: of a million points to half a billion, in both formats, and long tables."""

from __future__ import annotations

import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from roofslate import _core
from roofslate.bench.machine import Size, fill_memory, fresh_array
from roofslate.bench.report import Section, gigabytes, line_of
from roofslate.bench.rivals import COST, Surface
from roofslate.bench.timing import Contender, ratio, take_turns
from roofslate.errors import InputTypeError

__all__ = ["measure_long_table", "measure_stores"]

_LONG = 10**7  # points from which a call is so long that few rounds must do


def _surface(points: int) -> Surface:
    """Ten times as many batches for ten times the points."""
    models, chips, contexts = (2, 5, 1000) if points >= 10**6 else (2, 5, 10)
    return Surface((models, chips, points // (models * chips * contexts), contexts))


def measure_stores(how: Size, threads: int) -> Section:
    """One output into given memory, grids of growing size."""
    from roofslate.evaluation import evaluate

    lines, notes = [], []
    for points in how.stored:
        if _core.available_memory() < 3 * 8 * points:
            notes.append(f"{points:,} points: left out, there is no memory for them")
            continue
        surface = _surface(points)
        inputs = surface.inputs
        out = fresh_array(points).reshape(surface.shape)

        def store(count: int, memory: Any = out, given: dict[str, Any] = inputs) -> None:
            evaluate(COST[0], threads=count, out=memory, progress=False, **given)

        rounds = how.rounds if points <= _LONG else max(3, how.rounds // 3)
        mine = Contender(f"{points:,} points, float64", partial(store, threads))
        fill = Contender(f"{points:,} points, non-temporal fill", partial(fill_memory, [out], threads, True))
        contenders = [fill, mine]
        alone = Contender(f"{points:,} points, float64, 1 thread", partial(store, 1))
        if threads > 1:
            contenders.append(alone)
        half, why = _float32(surface, inputs, threads)
        if half is not None:
            contenders.append(half)
        if why and why not in notes:
            notes.append(why)
        take_turns(contenders, rounds)

        lines.append(line_of(fill, gigabytes(out.nbytes, fill)))
        lines.append(line_of(mine, gigabytes(out.nbytes, mine), ratio(fill, mine), "{:.2f} of the fill"))
        if threads > 1:
            meaning = f"{threads} threads are {{:.2f}} x as fast"
            lines.append(line_of(alone, gigabytes(out.nbytes, alone), ratio(alone, mine), meaning))
        if half is not None:
            rate = gigabytes(out.nbytes / 2, half)
            lines.append(line_of(half, rate, ratio(mine, half), "{:.2f} x the values/s of float64", 1.5))
        del out, store, mine, fill, alone, half, contenders
    return Section("cost_per_token through out=, memory used before", lines, notes)


def _float32(surface: Surface, inputs: dict[str, Any], threads: int) -> tuple[Contender | None, str]:
    """Results in float32 into given memory; without it where the engine takes none."""
    from roofslate.evaluation import evaluate

    points = math.prod(surface.shape)
    out: npt.NDArray[np.float32] = fresh_array((points + 1) // 2).view(np.float32)[:points].reshape(surface.shape)
    given: dict[str, Any] = {"dtype": "float32", "threads": threads, "progress": False, **inputs}
    name, why = f"{points:,} points, float32", ""
    run: Callable[[], Any] = lambda: evaluate(COST[0], out=out, **given)  # noqa: E731
    try:
        run()
    except InputTypeError:
        name, why = f"{name}, own memory", "float32 is stored without out=, which takes float64 alone"
        run = lambda: evaluate(COST[0], **given)  # noqa: E731
        run()
    return Contender(name, run), why


def measure_long_table(how: Size, threads: int) -> Section:
    """Three outputs for each of millions of scenarios."""
    import pandas as pd

    from roofslate.evaluation import frame

    random = np.random.default_rng(1)
    middle = {
        "total_parameters": 671e9,
        "active_parameters": 37e9,
        "kv_bytes_per_token": 70e3,
        "peak_flops": 4.5e15,
        "hbm_bandwidth": 8e12,
        "chips": 72.0,
        "batch_size": 2000.0,
        "context_length": 8000.0,
    }
    table = pd.DataFrame({name: x * random.uniform(0.5, 1.5, how.long_table) for name, x in middle.items()})
    outputs = ["pass_time", "cost_per_token", "compute_utilization"]
    given: dict[str, Any] = {"weight_bytes": 1.0, "chip_price": 3.0 / 3600}
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
