"""Evaluation of grids, tables and points, relative to machine limits and other tools."""

from __future__ import annotations

import dataclasses
import os
import statistics
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np
from roofslate import _core

from benchmarks.machine import Size, Values, child, fill_memory, fresh_array
from benchmarks.peaks import ENGINE, peak_text
from benchmarks.report import Section, gigabytes, limit_of, line_of, time_text
from benchmarks.rivals import COST, FOUR, RIVALS, Surface
from benchmarks.timing import Contender, ratio, take_turns

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

__all__ = [
    "measure_elasticities",
    "measure_fresh_memory",
    "measure_import",
    "measure_limits",
    "measure_memory",
    "measure_one_operation",
    "measure_points",
    "measure_short_axes",
    "measure_surface",
    "measure_table",
    "scenario_table",
]

_RIVAL_TARGETS = {
    FOUR: {"NumPy": 6.0, "numba, fused": 1.1, "JAX jit": 6.0},
    COST: {"NumPy": 20.0, "numba, fused": 1.3},
}


def measure_limits(how: Size, threads: int) -> Section:
    points = int(np.prod(how.grid))
    used = fresh_array(points)
    used.fill(0)
    contenders = []
    for count in dict.fromkeys((1, threads)):
        for stream, stores in ((False, "plain stores"), (True, "non-temporal stores")):
            name = f"fill of used memory, {stores}, {count} thread{'s' * (count > 1)}"
            contenders.append(Contender(name, partial(fill_memory, [used], count, stream)))
        name = f"first touch of fresh memory, {count} thread{'s' * (count > 1)}"
        contenders.append(Contender(name, partial(_touch, count), lambda: [fresh_array(points)]))
    take_turns(contenders, how.rounds)
    lines = [line_of(contender, gigabytes(used.nbytes, contender)) for contender in contenders]
    section = Section(f"Machine limits, {used.nbytes / 1e6:.0f} MB", lines)
    if threads > 1 and ratio(contenders[1], contenders[4]) < 1.2:
        section.notes.append(
            f"{threads} threads fill no faster than one: others use this machine, or one core saturates its memory"
        )
    return section


def _touch(threads: int, arrays: Iterable[Values]) -> None:
    fill_memory(arrays, threads, False)


# -------------------------------------------------------------------------------------------------------------- grids


def measure_surface(title: str, outputs: tuple[str, ...], how: Size, threads: int) -> Section:
    """Compare the engine, the machine and the rivals on one grid and on used memory."""
    from roofslate.evaluation.evaluate import evaluate

    surface = Surface(how.grid)
    names, inputs = list(outputs), surface.inputs
    ours = evaluate(names, threads=threads, **inputs)
    out = {name: ours[name].to_numpy() for name in names}
    expected = {name: array.copy() for name, array in out.items()}
    unaligned = {name: _off_a_line(array.shape) for name, array in out.items()}
    bytes_ = sum(array.nbytes for array in out.values())

    into = Contender("roofslate, out=", lambda: evaluate(names, threads=threads, out=out, **inputs))
    pool = Contender("roofslate, memory of a freed result", lambda: evaluate(names, threads=threads, **inputs))
    numpys = Contender(
        "roofslate, out= 16 bytes off a cache line", lambda: evaluate(names, threads=threads, out=unaligned, **inputs)
    )
    fill = Contender(f"non-temporal fill, {threads} threads", partial(fill_memory, out.values(), threads, True))
    rivals, notes = [], []
    for name, rival in RIVALS.items():
        try:
            run = rival(surface, outputs, out, threads)
        except ImportError as error:
            notes.append(f"{name}: skipped, {error.name or error} is not installed (pip install 'roofslate[bench]')")
            continue
        _agree(name, expected, run())
        rivals.append(Contender(name, run))
    take_turns([fill, into, pool, numpys, *rivals], how.rounds)

    lines = [line_of(fill, gigabytes(bytes_, fill))]
    for mine, least in ((into, 0.5), (pool, 0.5), (numpys, None)):
        lines.append(line_of(mine, gigabytes(bytes_, mine), ratio(fill, mine), "{:.2f} of the fill", least))
    lines[1] = dataclasses.replace(lines[1], memory=peak_text(ENGINE, how.grid, threads, outputs))
    for rival_run in rivals:
        least = _RIVAL_TARGETS[outputs].get(rival_run.name)
        line = line_of(
            rival_run, gigabytes(bytes_, rival_run), ratio(rival_run, into), "ours is {:.2f} x as fast", least
        )
        lines.append(dataclasses.replace(line, memory=peak_text(rival_run.name, how.grid, threads, outputs)))
    shape = " x ".join(f"{n:,}" for n in how.grid)
    return Section(f"{title}: {', '.join(outputs)}; {shape} points, float64, memory used before", lines, notes)


def _off_a_line(shape: Sequence[int]) -> Values:
    """Return used memory with an offset of 16 bytes, unlike NumPy's large arrays."""
    points = int(np.prod(shape))
    padded = fresh_array(points + 2)
    padded.fill(0)
    return padded[2:].reshape(shape)


def _agree(name: str, expected: Mapping[str, Values], got: Mapping[str, Any]) -> None:
    for output, ours in expected.items():
        worst = float(np.max(np.abs(np.asarray(got[output]) / ours - 1)))
        if not worst <= 1e-12:
            raise RuntimeError(f"{name} and roofslate differ in {output} by {worst:.1e}")


def measure_elasticities(how: Size) -> Section:
    """Compute all elasticities of a cost on one core, into used memory."""
    from roofslate.analysis.derivatives import sensitivity

    models, chips, batches, contexts = how.grid
    shape = (models, chips, batches * 5 // 8, contexts)  # about 10^7 points, as ten elasticities of each take 0.8 GB
    inputs, (output,) = Surface(shape).inputs, COST
    out = sensitivity(output, to=list(inputs), threads=1, **inputs).to_numpy()
    mine = Contender("roofslate, out=", lambda: sensitivity(output, to=list(inputs), threads=1, out=out, **inputs))
    fill = Contender("non-temporal fill, 1 thread", partial(fill_memory, out, 1, True))
    take_turns([fill, mine], how.rounds)
    rate = f"{gigabytes(out.nbytes, mine)}, {ratio(fill, mine):.2f} of the fill"
    lines = [
        line_of(fill, gigabytes(out.nbytes, fill)),
        line_of(mine, rate, out.size / mine.median / 1e9, "{:.2f} G elasticities/s", 0.5),
    ]
    points = " x ".join(f"{n:,}" for n in shape)
    return Section(f"Elasticities: {output} by {len(inputs)} inputs; {points} points, memory used before", lines)


def measure_one_operation(how: Size, threads: int) -> Section:
    from roofslate.evaluation.evaluate import evaluate

    axes: dict[str, Any] = {"batch_size": np.arange(1.0, how.square + 1), "pass_length": np.arange(1.0, how.square + 1)}
    out = evaluate("pass_tokens", threads=threads, **axes).to_numpy()
    mine = Contender("roofslate, out=", lambda: evaluate("pass_tokens", threads=threads, out=out, **axes))
    fill = Contender(f"non-temporal fill, {threads} threads", partial(fill_memory, [out], threads, True))
    take_turns([fill, mine], how.rounds)
    lines = [
        line_of(fill, gigabytes(out.nbytes, fill)),
        line_of(mine, gigabytes(out.nbytes, mine), ratio(fill, mine), "{:.2f} of the fill", 0.8),
    ]
    return Section(
        f"One operation a point: pass_tokens; {how.square:,} x {how.square:,} points, memory used before", lines
    )


def measure_fresh_memory(how: Size, threads: int) -> Section:
    from roofslate.evaluation.evaluate import evaluate

    surface = Surface(how.grid)
    inputs, points = surface.inputs, int(np.prod(how.grid))
    _core.clear_pool()
    mine = Contender(
        "roofslate, no pooled memory", lambda: evaluate(list(FOUR), threads=threads, **inputs), _core.clear_pool
    )
    touch = Contender(
        f"first touch, {threads} threads", partial(_touch, threads), lambda: [fresh_array(points) for _ in FOUR]
    )
    take_turns([touch, mine], how.rounds)
    bytes_ = points * 8 * len(FOUR)
    lines = [
        line_of(touch, gigabytes(bytes_, touch)),
        line_of(mine, gigabytes(bytes_, mine), ratio(touch, mine), "{:.2f} of first touch", 0.8),
    ]
    return Section("Four outputs into fresh memory", lines)


def measure_short_axes(how: Size) -> Section:
    def contender(shape: tuple[int, int, int, int], calls: int) -> Contender:
        surface = Surface(shape)
        inputs, out = surface.core_inputs, [fresh_array(int(np.prod(shape))).reshape(shape)]
        name = " x ".join(f"{n:,}" for n in shape)
        return Contender(name, lambda: _core.repeat_engine(COST[0], list(shape), inputs, out[0], calls))

    questions = ((how.grid, 1), ((16,) * 4, 50), ((8,) * 4, 500))
    long, *short = (contender(shape, calls) for shape, calls in questions)
    take_turns([long, *short], how.rounds)
    points = {c.name: int(np.prod(shape)) * calls for c, (shape, calls) in zip([long, *short], questions, strict=True)}

    def rate(c: Contender) -> str:
        return f"{points[c.name] / c.median / 1e6:.0f} Mpoint/s"

    lines = [line_of(long, rate(long))]
    for c, least, (_, calls) in zip(short, (0.5, 0.12), questions[1:], strict=True):
        share = ratio(long, c) * points[c.name] / points[long.name]
        line = line_of(c, rate(c), share, "{:.2f} of long axes", least)
        lines.append(dataclasses.replace(line, time=time_text(c.median / calls)))
    return Section("Short axes: cost_per_token, one thread, calls in C++, plan included", lines)


# ------------------------------------------------------------------------------------------------------------- tables


def scenario_table(rows: int) -> pd.DataFrame:
    """Generate scenarios in which every input differs between rows."""
    import pandas as pd

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
    return pd.DataFrame({name: x * random.uniform(0.5, 1.5, rows) for name, x in middle.items()})


def measure_table(how: Size, threads: int) -> Section:
    import pandas as pd
    from roofslate.evaluation.frame import frame

    table = scenario_table(how.rows)
    bytes_per_weight, chip_price = 1.0, 3.0 / 3600
    outputs = ["pass_time", "cost_per_token", "compute_utilization"]

    def formulas(x: Any) -> dict[str, Any]:
        bandwidth = x["chips"] * x["hbm_bandwidth"]
        t_c = 2 * x["batch_size"] * x["active_parameters"] / (x["chips"] * x["peak_flops"])
        fetched = (
            x["total_parameters"] * bytes_per_weight + x["batch_size"] * x["context_length"] * x["kv_bytes_per_token"]
        )
        t = np.maximum(t_c, fetched / bandwidth)
        return dict(zip(outputs, (t, t * x["chips"] * chip_price / x["batch_size"], t_c / t), strict=True))

    def with_pandas() -> pd.DataFrame:
        return pd.DataFrame(formulas(table))

    def with_numpy() -> pd.DataFrame:
        return pd.DataFrame(formulas({name: table[name].to_numpy() for name in table}), index=table.index, copy=False)

    def with_roofslate() -> pd.DataFrame:
        result: pd.DataFrame = frame(
            table, outputs, threads=threads, bytes_per_weight=bytes_per_weight, chip_price=chip_price
        )
        return result

    expected = {name: with_roofslate()[name].to_numpy() for name in outputs}
    mine = Contender("rs.frame", with_roofslate)
    rivals = [Contender("pandas", with_pandas), Contender("NumPy on the columns", with_numpy)]
    for rival in rivals:
        _agree(rival.name, expected, rival.run())
    take_turns([mine, *rivals], how.rounds)

    def rate(c: Contender) -> str:
        return f"{how.rows / c.median / 1e6:.1f} Mrow/s"

    lines = [
        line_of(mine, rate(mine)),
        *(line_of(c, rate(c), ratio(c, mine), "ours is {:.2f} x as fast", 4.0) for c in rivals),
    ]
    return Section(f"Table of scenarios: {how.rows:,} rows, 8 columns in, 3 out", lines)


# ------------------------------------------------------------------------------------------------------------- points


def measure_points(how: Size) -> Section:
    import xarray as xr
    from roofslate.evaluation.evaluate import evaluate
    from roofslate.evaluation.value import value

    plain: dict[str, Any] = {
        "total_parameters": 671e9,
        "active_parameters": 37e9,
        "bytes_per_weight": 1.0,
        "kv_bytes_per_token": 70272.0,
        "peak_flops": 5e15,
        "hbm_bandwidth": 8e12,
        "chips": 72,
        "chip_price": 3.0 / 3600,
        "batch_size": 256,
        "context_length": 131072,
    }
    texts: dict[str, Any] = {
        "model": "DeepSeek-V3",
        "hardware": "GB200 NVL72",
        "batch_size": "256",
        "context_length": "128k",
        "chip_price": "3 USD/h",
    }
    calls = 50 * how.rounds
    attrs = {"units": "USD/token", "long_name": "price"}
    numbers = Contender("rs.value, plain numbers", lambda: value("cost_per_token", **plain), calls=20 * calls)
    presets = Contender(
        "rs.value, presets and unit strings", lambda: value("cost_per_token", **texts), calls=10 * calls
    )
    one = Contender("rs.evaluate", lambda: evaluate("cost_per_token", **plain), calls=calls)
    one_array = Contender("one DataArray", lambda: xr.DataArray(np.array(1.0), name="x", attrs=attrs), calls=calls)
    take_turns([numbers, presets, one, one_array], how.rounds)
    overhead = statistics.median(a - b for a, b in zip(one.seconds, one_array.seconds, strict=True))
    lines = [
        limit_of(numbers.name, numbers.median, time_text(numbers.median), 10e-6, "<= 10 µs"),
        limit_of(presets.name, presets.median, time_text(presets.median), 25e-6, "<= 25 µs"),
        limit_of(
            "rs.evaluate of one point, without the time of one DataArray",
            overhead,
            time_text(overhead),
            0.5e-3,
            "<= 500 µs",
        ),
    ]
    return Section("Single points: cost_per_token, warm", lines)


# ---------------------------------------------------------------------------------------------------------- processes


_IMPORT = """
import time, numpy
start = time.perf_counter()
import roofslate
done = time.perf_counter()
roofslate.evaluate
print(done - start, time.perf_counter() - start)
"""


def measure_import(how: Size) -> Section:
    alone, ready = (min(times) for times in zip(*(child(_IMPORT) for _ in range(how.processes)), strict=True))
    lines = [
        limit_of("import roofslate", alone, time_text(alone), 0.06, "<= 60 ms"),
        limit_of("import roofslate and its calls (rs.evaluate loaded)", ready, time_text(ready), 0.06, "<= 60 ms"),
    ]
    return Section(f"Import, after NumPy: best of {how.processes} processes", lines)


_MEMORY = """
import sys
from roofslate import evaluate
from benchmarks.rivals import FOUR, Surface

def status(key):
    with open("/proc/self/status") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))

threads, *shape = map(int, sys.argv[1:])
evaluate(list(FOUR), threads=threads, **Surface((2, 2, 2, 2)).inputs)
before = status("VmRSS")
result = evaluate(list(FOUR), threads=threads, **Surface(tuple(shape)).inputs)
print(status("VmHWM") - before - result.nbytes)
"""


def measure_memory(how: Size, threads: int) -> Section:
    section = Section("Peak memory of an evaluation of four outputs")
    if not os.path.exists("/proc/self/status"):  # noqa: PTH110
        section.notes.append("skipped, this system does not report peak memory")
        return section
    (beyond,) = child(_MEMORY, str(threads), *map(str, how.grid))
    section.lines.append(limit_of("beyond its results", beyond, f"{beyond / 1e6:.1f} MB", 64e6, "<= 64 MB"))
    return section
