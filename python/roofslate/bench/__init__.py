"""The benchmark: our speed beside this machine's limits and beside other tools, all in one run."""

from __future__ import annotations

import dataclasses
import json
import math
import mmap
import os
import platform
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from functools import partial
from typing import Any

import numpy as np
import numpy.typing as npt

from roofslate import _core
from roofslate.bench.rivals import COST, FOUR, RIVALS, Surface
from roofslate.bench.timing import Contender, ratio, take_turns

__all__ = ["Line", "Report", "Section", "measure"]

Values = npt.NDArray[np.float64]

_HUGE_PAGE = 2 << 20
_CALM = 0.15  # processors that others may keep busy
_DISTURBED = "disturbed"
_RIVAL_TARGETS = {
    FOUR: {"NumPy": 6.0, "numba, fused": 1.1, "JAX jit": 6.0},
    COST: {"NumPy": 20.0, "numba, fused": 1.3},
}


@dataclass(frozen=True)
class Line:
    """One measurement.

    Attributes
    ----------
    what : str
        What was measured.
    time, rate : str
        As a person reads them.
    figure : float or None
        What counts: a ratio to something measured in turns with it, a time, a number of bytes.
    figure_text : str
        The figure with what it means.
    target : str
        What is wanted of the figure; empty where nothing is.
    verdict : str
        "holds", "falls short" or, where other processes were at work, "disturbed"; empty without a target and in a
        trial run.
    """

    what: str
    time: str = ""
    rate: str = ""
    figure: float | None = None
    figure_text: str = ""
    target: str = ""
    verdict: str = ""


@dataclass
class Section:
    """Measurements that belong together, and what to know about them."""

    title: str
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)


@dataclass
class Report:
    """A finished benchmark.

    `str()` gives the tables as text; `markdown` and `json` are texts too.

    Attributes
    ----------
    machine : dict of str
    sections : list of Section
    """

    machine: dict[str, str]
    sections: list[Section]

    def _tables(self) -> Iterable[tuple[Section, list[list[str]]]]:
        for section in self.sections:
            rows = [
                [line.what, line.time, line.rate, line.figure_text, line.target, line.verdict] for line in section.lines
            ]
            yield section, [["", "time", "rate", "figure", "target", "verdict"], *rows]

    @property
    def short(self) -> list[Line]:
        """Lines that miss their target."""
        return [line for section in self.sections for line in section.lines if line.verdict == "falls short"]

    @property
    def _summary(self) -> str:
        verdicts = [line.verdict for section in self.sections for line in section.lines if line.verdict]
        disturbed = verdicts.count(_DISTURBED)
        judged = len(verdicts) - disturbed
        text = f"{judged - len(self.short)} of {judged} targets hold." if judged else "No target was judged."
        return text + (f" {disturbed} were not judged: other processes were at work." if disturbed else "")

    def __str__(self) -> str:
        text = [f"{key}: {value}" for key, value in self.machine.items()]
        for section, rows in self._tables():
            widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
            text += ["", section.title]
            text += ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in rows]
            text += [f"  {note}" for note in section.notes]
        return "\n".join([*text, "", self._summary])

    @property
    def markdown(self) -> str:
        """The tables as Markdown."""
        text = [f"- {key}: {value}" for key, value in self.machine.items()]
        for section, rows in self._tables():
            text += ["", f"## {section.title}", ""]
            text += [f"| {' | '.join(row)} |" for row in [rows[0], ["---"] * len(rows[0]), *rows[1:]]]
            text += [part for note in section.notes for part in ("", note)]
        return "\n".join([*text, "", self._summary])

    @property
    def json(self) -> str:
        """Everything as JSON."""
        return json.dumps({"machine": self.machine, "sections": [asdict(s) for s in self.sections]}, indent=2)


@dataclass(frozen=True)
class _Size:
    """How much is measured."""

    rounds: int
    grid: tuple[int, int, int, int]
    square: int  # both axes of the one-operation grid
    rows: int
    processes: int
    tries: int  # of a part during which other processes are at work


_SIZES = {
    "full": _Size(rounds=11, grid=(4, 8, 512, 1024), square=4096, rows=1 << 20, processes=9, tries=4),
    "small": _Size(rounds=3, grid=(2, 2, 32, 256), square=256, rows=1 << 10, processes=2, tries=1),
}


def measure(size: str = "full", *, threads: int | None = None, say: Callable[[str], None] | None = None) -> Report:
    """Measure everything and compare it with what is wanted.

    Parameters
    ----------
    size : {"full", "small"}
        "small" takes seconds and shows that all of it runs; its figures mean nothing.
    threads : int, optional
        By default as many as the process may use.
    say : callable, optional
        Told what is being measured.

    Returns
    -------
    Report
    """
    from roofslate.evaluation import _threads

    count, how = _threads(threads), _SIZES[size]
    load = os.getloadavg()[0]
    sections = []
    parts: Mapping[str, Callable[[], Section]] = {
        "machine limits": lambda: _limits(how, count),
        "four outputs": lambda: _surface("Four outputs", FOUR, how, count),
        "one output": lambda: _surface("cost_per_token alone", COST, how, count),
        "one operation a point": lambda: _one_operation(how, count),
        "fresh memory": lambda: _fresh(how, count),
        "short axes": lambda: _short_axes(how),
        "a table of scenarios": lambda: _table(how, count),
        "single points": lambda: _points(how),
        "import": lambda: _import(how),
        "memory": lambda: _memory(how, count),
    }
    for name, part in parts.items():
        if say is not None:
            say(f"measuring {name} ...")
        section = _calmest(part, how.tries)
        if size != "full":  # so little work is all overhead
            section.lines = [replace(line, verdict="") for line in section.lines]
        sections.append(section)
    return Report(_machine(size, count, load), sections)


def _calmest(part: Callable[[], Section], tries: int) -> Section:
    """Measure a part again while other processes are at work; the calmest try counts."""
    calmest, least = None, math.inf
    for _ in range(tries):
        start, busy = time.perf_counter(), _busy_elsewhere()
        section = part()
        _core.clear_pool()
        others = (_busy_elsewhere() - busy) / (time.perf_counter() - start)
        if calmest is None or others < least:
            calmest, least = section, others
        if others < _CALM:
            break
    assert calmest is not None
    if least >= _CALM:  # a limit that was shared is no limit
        calmest.lines = [replace(line, verdict=_DISTURBED if line.verdict else "") for line in calmest.lines]
        calmest.notes.append(f"not judged: other processes kept {least:.1f} processors busy meanwhile")
    return calmest


def _busy_elsewhere() -> float:
    """Processor seconds that other processes have used; a constant where the system does not tell."""
    try:
        with open("/proc/stat", encoding="utf-8") as lines:  # noqa: PTH123
            user, nice, system, _, _, irq, soft_irq, *_ = map(int, lines.readline().split()[1:])
    except (OSError, ValueError):
        return 0.0
    return (user + nice + system + irq + soft_irq) / os.sysconf("SC_CLK_TCK") - sum(os.times()[:4])


def _machine(size: str, threads: int, load: float) -> dict[str, str]:
    from roofslate import __version__

    model = platform.processor() or platform.machine()
    try:
        with open("/proc/cpuinfo", encoding="utf-8") as lines:  # noqa: PTH123
            model = next((line.split(":")[1].strip() for line in lines if line.startswith("model name")), model)
    except OSError:
        pass
    return {
        "roofslate": f"{__version__}, instructions {_core.instruction_set()}",
        "processor": f"{model}, {os.cpu_count()} cores, {threads} threads used",
        "load average": f"{load:.2f} before, {os.getloadavg()[0]:.2f} after (the benchmark itself among it)",
        "size": size if size == "full" else f"{size}, a trial run: its figures mean nothing",
        "method": "medians of measurements taken in turns; ratios are medians of the ratios of each turn; "
        "a part is measured again while others are at work",
    }


# ----------------------------------------------------------------------------------------------------------- wording


def _time(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _gigabytes(bytes_: float, contender: Contender) -> str:
    return f"{bytes_ / contender.median / 1e9:.1f} GB/s"


def _line(
    contender: Contender, rate: str, figure: float | None = None, meaning: str = "", least: float | None = None
) -> Line:
    """A line whose figure is wanted to be large."""
    figure_text = "" if figure is None else meaning.format(figure)
    if figure is None or least is None:
        return Line(contender.name, _time(contender.median), rate, figure, figure_text)
    verdict = "holds" if figure >= least else "falls short"
    return Line(contender.name, _time(contender.median), rate, figure, figure_text, f">= {least:g}", verdict)


def _limit(what: str, figure: float, text: str, most: float, target: str) -> Line:
    """A line whose figure is wanted to be small."""
    return Line(
        what, figure=figure, figure_text=text, target=target, verdict="holds" if figure <= most else "falls short"
    )


# ------------------------------------------------------------------------------------------------------------ memory


def _fresh_array(points: int) -> Values:
    """Memory that nobody has touched, in huge pages where the system has them."""
    private = {"flags": mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS} if hasattr(mmap, "MAP_ANONYMOUS") else {}
    block = mmap.mmap(-1, points * 8 + _HUGE_PAGE, **private)  # shared memory would come in small pages
    if hasattr(mmap, "MADV_HUGEPAGE"):
        block.madvise(mmap.MADV_HUGEPAGE)
    whole = np.frombuffer(block, dtype=np.float64)
    skipped = -whole.ctypes.data % _HUGE_PAGE // 8
    return whole[skipped : skipped + points]


def _fill(arrays: Iterable[Values], threads: int, stream: bool) -> None:
    for array in arrays:
        _core.fill_seconds(array.reshape(-1), threads, stream)


def _limits(how: _Size, threads: int) -> Section:
    points = int(np.prod(how.grid))
    used = _fresh_array(points)
    used.fill(0)
    contenders = []
    for count in dict.fromkeys((1, threads)):
        for stream, stores in ((False, "plain stores"), (True, "non-temporal stores")):
            name = f"fill of used memory, {stores}, {count} thread{'s' * (count > 1)}"
            contenders.append(Contender(name, partial(_fill, [used], count, stream)))
        name = f"first touch of fresh memory, {count} thread{'s' * (count > 1)}"
        contenders.append(Contender(name, partial(_touch, count), lambda: [_fresh_array(points)]))
    take_turns(contenders, how.rounds)
    lines = [_line(contender, _gigabytes(used.nbytes, contender)) for contender in contenders]
    section = Section(f"Machine limits, {used.nbytes / 1e6:.0f} MB", lines)
    if threads > 1 and ratio(contenders[1], contenders[4]) < 1.2:
        section.notes.append(
            f"{threads} threads fill no faster than one: others use this machine, or one core saturates its memory"
        )
    return section


def _touch(threads: int, arrays: Iterable[Values]) -> None:
    _fill(arrays, threads, False)


# -------------------------------------------------------------------------------------------------------------- grids


def _surface(title: str, outputs: tuple[str, ...], how: _Size, threads: int) -> Section:
    """Our engine, the machine and the rivals on one grid, all into the same memory that was used before."""
    from roofslate.evaluation import evaluate

    surface = Surface(how.grid)
    wanted, inputs = list(outputs), surface.inputs
    ours = evaluate(wanted, threads=threads, **inputs)
    out = {name: ours[name].to_numpy() for name in wanted}
    expected = {name: array.copy() for name, array in out.items()}
    unaligned = {name: _off_a_line(array.shape) for name, array in out.items()}
    bytes_ = sum(array.nbytes for array in out.values())

    into = Contender("roofslate, out=", lambda: evaluate(wanted, threads=threads, out=out, **inputs))
    pool = Contender("roofslate, memory of a freed result", lambda: evaluate(wanted, threads=threads, **inputs))
    numpys = Contender(
        "roofslate, out= 16 bytes off a cache line", lambda: evaluate(wanted, threads=threads, out=unaligned, **inputs)
    )
    fill = Contender(f"non-temporal fill, {threads} threads", partial(_fill, out.values(), threads, True))
    rivals, notes = [], []
    for name, rival in RIVALS.items():
        try:
            run = rival(surface, outputs, out, threads)
        except ImportError as error:
            notes.append(f"{name}: left out, {error.name or error} is not installed (pip install 'roofslate[bench]')")
            continue
        _agree(name, expected, run())
        rivals.append(Contender(name, run))
    take_turns([fill, into, pool, numpys, *rivals], how.rounds)

    lines = [_line(fill, _gigabytes(bytes_, fill))]
    for mine, least in ((into, 0.5), (pool, 0.5), (numpys, None)):
        lines.append(_line(mine, _gigabytes(bytes_, mine), ratio(fill, mine), "{:.2f} of the fill", least))
    for rival_run in rivals:
        least = _RIVAL_TARGETS[outputs].get(rival_run.name)
        lines.append(
            _line(rival_run, _gigabytes(bytes_, rival_run), ratio(rival_run, into), "ours is {:.2f} x as fast", least)
        )
    shape = " x ".join(f"{n:,}" for n in how.grid)
    return Section(f"{title}: {', '.join(outputs)}; {shape} points, float64, memory used before", lines, notes)


def _off_a_line(shape: Sequence[int]) -> Values:
    """Used memory that starts 16 bytes after a cache line, where NumPy starts large arrays."""
    points = int(np.prod(shape))
    whole = _fresh_array(points + 2)
    whole.fill(0)
    return whole[2:].reshape(shape)


def _agree(name: str, expected: Mapping[str, Values], got: Mapping[str, Any]) -> None:
    for output, ours in expected.items():
        worst = float(np.max(np.abs(np.asarray(got[output]) / ours - 1)))
        if not worst <= 1e-12:
            raise RuntimeError(f"{name} and roofslate differ in {output} by {worst:.1e}")


def _one_operation(how: _Size, threads: int) -> Section:
    from roofslate.evaluation import evaluate

    axes: dict[str, Any] = {"batch_size": np.arange(1.0, how.square + 1), "pass_length": np.arange(1.0, how.square + 1)}
    out = evaluate("pass_tokens", threads=threads, **axes).to_numpy()
    mine = Contender("roofslate, out=", lambda: evaluate("pass_tokens", threads=threads, out=out, **axes))
    fill = Contender(f"non-temporal fill, {threads} threads", partial(_fill, [out], threads, True))
    take_turns([fill, mine], how.rounds)
    lines = [
        _line(fill, _gigabytes(out.nbytes, fill)),
        _line(mine, _gigabytes(out.nbytes, mine), ratio(fill, mine), "{:.2f} of the fill", 0.8),
    ]
    return Section(
        f"One operation a point: pass_tokens; {how.square:,} x {how.square:,} points, memory used before", lines
    )


def _fresh(how: _Size, threads: int) -> Section:
    from roofslate.evaluation import evaluate

    surface = Surface(how.grid)
    inputs, points = surface.inputs, int(np.prod(how.grid))
    _core.clear_pool()
    mine = Contender(
        "roofslate, no memory kept", lambda: evaluate(list(FOUR), threads=threads, **inputs), _core.clear_pool
    )
    touch = Contender(
        f"first touch, {threads} threads", partial(_touch, threads), lambda: [_fresh_array(points) for _ in FOUR]
    )
    take_turns([touch, mine], how.rounds)
    bytes_ = points * 8 * len(FOUR)
    lines = [
        _line(touch, _gigabytes(bytes_, touch)),
        _line(mine, _gigabytes(bytes_, mine), ratio(touch, mine), "{:.2f} of first touch", 0.8),
    ]
    return Section("Four outputs into fresh memory", lines)


def _short_axes(how: _Size) -> Section:
    def contender(shape: tuple[int, int, int, int], calls: int) -> Contender:
        surface = Surface(shape)
        inputs, out = surface.core_inputs, [_fresh_array(int(np.prod(shape))).reshape(shape)]
        name = " x ".join(f"{n:,}" for n in shape)
        return Contender(name, lambda: _core.repeat_engine(COST[0], list(shape), inputs, out[0], calls))

    questions = ((how.grid, 1), ((16,) * 4, 50), ((8,) * 4, 500))
    long, *short = (contender(shape, calls) for shape, calls in questions)
    take_turns([long, *short], how.rounds)
    points = {c.name: int(np.prod(shape)) * calls for c, (shape, calls) in zip([long, *short], questions, strict=True)}

    def rate(c: Contender) -> str:
        return f"{points[c.name] / c.median / 1e6:.0f} Mpoint/s"

    lines = [_line(long, rate(long))]
    for c, least, (_, calls) in zip(short, (0.5, 0.12), questions[1:], strict=True):
        share = ratio(long, c) * points[c.name] / points[long.name]
        line = _line(c, rate(c), share, "{:.2f} of long axes", least)
        lines.append(dataclasses.replace(line, time=_time(c.median / calls)))
    return Section("Short axes: cost_per_token, one thread, calls in C++, plan included", lines)


# ------------------------------------------------------------------------------------------------------------- tables


def _table(how: _Size, threads: int) -> Section:
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
    table = pd.DataFrame({name: x * random.uniform(0.5, 1.5, how.rows) for name, x in middle.items()})
    weight_bytes, chip_price = 1.0, 3.0 / 3600
    outputs = ["pass_time", "cost_per_token", "compute_utilization"]

    def formulas(x: Any) -> dict[str, Any]:
        bandwidth = x["chips"] * x["hbm_bandwidth"]
        t_c = 2 * x["batch_size"] * x["active_parameters"] / (x["chips"] * x["peak_flops"])
        fetched = x["total_parameters"] * weight_bytes + x["batch_size"] * x["context_length"] * x["kv_bytes_per_token"]
        t = np.maximum(t_c, fetched / bandwidth)
        return dict(zip(outputs, (t, t * x["chips"] * chip_price / x["batch_size"], t_c / t), strict=True))

    def with_pandas() -> pd.DataFrame:
        return pd.DataFrame(formulas(table))

    def with_numpy() -> pd.DataFrame:
        return pd.DataFrame(formulas({name: table[name].to_numpy() for name in table}), index=table.index, copy=False)

    def with_roofslate() -> pd.DataFrame:
        return frame(table, outputs, threads=threads, weight_bytes=weight_bytes, chip_price=chip_price)

    expected = {name: with_roofslate()[name].to_numpy() for name in outputs}
    mine = Contender("rs.frame", with_roofslate)
    others = [Contender("pandas", with_pandas), Contender("NumPy on the columns", with_numpy)]
    for other in others:
        _agree(other.name, expected, other.run())
    take_turns([mine, *others], how.rounds)

    def rate(c: Contender) -> str:
        return f"{how.rows / c.median / 1e6:.1f} Mrow/s"

    lines = [
        _line(mine, rate(mine)),
        *(_line(c, rate(c), ratio(c, mine), "ours is {:.2f} x as fast", 4.0) for c in others),
    ]
    return Section(f"Table of scenarios: {how.rows:,} rows, 8 columns in, 3 out", lines)


# ------------------------------------------------------------------------------------------------------------- points


def _points(how: _Size) -> Section:
    import xarray as xr

    from roofslate.evaluation import evaluate, value

    plain: dict[str, Any] = {
        "total_parameters": 671e9,
        "active_parameters": 37e9,
        "weight_bytes": 1.0,
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
    rest = statistics.median(a - b for a, b in zip(one.seconds, one_array.seconds, strict=True))
    lines = [
        _limit(numbers.name, numbers.median, _time(numbers.median), 10e-6, "<= 10 µs"),
        _limit(presets.name, presets.median, _time(presets.median), 25e-6, "<= 25 µs"),
        _limit("rs.evaluate of one point, without the time of one DataArray", rest, _time(rest), 0.5e-3, "<= 500 µs"),
    ]
    return Section("Single points: cost_per_token, warm", lines)


# ---------------------------------------------------------------------------------------------------------- processes


def _child(program: str, *arguments: str) -> list[float]:
    """Numbers that a Python program prints in a process of its own."""
    done = subprocess.run([sys.executable, "-c", program, *arguments], check=True, capture_output=True, text=True)
    return [float(word) for word in done.stdout.split()]


_IMPORT = """
import time, numpy
start = time.perf_counter()
import roofslate
done = time.perf_counter()
roofslate.evaluate
print(done - start, time.perf_counter() - start)
"""


def _import(how: _Size) -> Section:
    alone, ready = (min(times) for times in zip(*(_child(_IMPORT) for _ in range(how.processes)), strict=True))
    lines = [
        _limit("import roofslate", alone, _time(alone), 0.06, "<= 60 ms"),
        _limit("import roofslate and its calls (rs.evaluate loaded)", ready, _time(ready), 0.06, "<= 60 ms"),
    ]
    return Section(f"Import, after NumPy: best of {how.processes} processes", lines)


_MEMORY = """
import sys
from roofslate import evaluate
from roofslate.bench.rivals import FOUR, Surface

def status(key):
    with open("/proc/self/status") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith(key))

threads, *shape = map(int, sys.argv[1:])
evaluate(list(FOUR), threads=threads, **Surface((2, 2, 2, 2)).inputs)
before = status("VmRSS")
result = evaluate(list(FOUR), threads=threads, **Surface(tuple(shape)).inputs)
print(status("VmHWM") - before - result.nbytes)
"""


def _memory(how: _Size, threads: int) -> Section:
    section = Section("Peak memory of an evaluation of four outputs")
    if not os.path.exists("/proc/self/status"):  # noqa: PTH110
        section.notes.append("left out: this system does not tell a process's peak memory")
        return section
    (beyond,) = _child(_MEMORY, str(threads), *map(str, how.grid))
    section.lines.append(_limit("beyond its results", beyond, f"{beyond / 1e6:.1f} MB", 64e6, "<= 64 MB"))
    return section
