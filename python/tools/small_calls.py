"""Time small calls of two versions of the package in turns, and print their ratios.

Each version is a Python executable, or a folder for PYTHONPATH, or both. A fair comparison uses one executable for
both, since an editable installation slows each start of Python::

    python small_calls.py --old-path before/python --new-path after/python
    python small_calls.py --old before/.venv/bin/python --new after/.venv/bin/python --only evaluate

Both versions run in separate processes that answer in turns. A time is the minimum of its rounds. Small calls use
processor time, since other load on the machine disturbs wall clocks more than versions differ. The break-even size is
the axis length at which `rs.evaluate` takes as long as the formula in NumPy.
"""

from __future__ import annotations

import argparse
import dataclasses
import math
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from typing import IO

_SETUP = """
import warnings
import numpy as np
import pandas as pd
import xarray as xr
import roofslate as rs

presets = dict(model="DeepSeek-V3", hardware="GB200 NVL72", context_length="8k", chip_price="$3/hour")
plain = dict(
    total_parameters=671e9, active_parameters=37e9, kv_bytes_per_token=70272.0, peak_flops=5e15, hbm_bandwidth=8e12,
    chips=72.0, chip_price=3 / 3600, context_length=8192.0,
)
# the input has another name before the names of the field
plain["bytes_per_weight" if "bytes_per_weight" in rs.quantities().index else "weight_bytes"] = 1.0
table = pd.DataFrame({"batch_size": [1.0, 64.0], "hardware": ["GB200 NVL72", "H200"], "chips": [72.0, 8.0]})
server = dict(
    input_tokens="2k", output_tokens=500, chip_price="$3/h", expert_reads="expected",
    where=["time_per_output_token <= 30 ms", "time_to_first_token <= 2 s"],
)
three = np.array([1.0, 64.0, 1024.0])
batches = {"units": "sequence", "long_name": "sequences that get new tokens in one pass of the cell"}
price = {"units": "USD/token", "long_name": "price of the cell over the tokens that it makes"}

def by_hand(B):
    compute = 2 * plain["active_parameters"] * B / (plain["chips"] * plain["peak_flops"])
    caches = B * plain["context_length"] * plain["kv_bytes_per_token"]
    memory = (plain["total_parameters"] + caches) / (plain["chips"] * plain["hbm_bandwidth"])
    return np.maximum(compute, memory) * plain["chips"] * plain["chip_price"] / B
"""
# Answers lines of "clock calls statement" with seconds.
_SERVER = """
import sys, time
space = {}
exec(sys.argv[1], space)
for line in sys.stdin:
    name, calls, statement = line.rstrip("\\n").split(" ", 2)
    clock = getattr(time, name)
    loop = {}
    exec(compile(f"def run(n):\\n    for _ in range(n):\\n        {statement}", "case", "exec"), space, loop)
    begun = clock()
    loop["run"](int(calls))
    print(clock() - begun, flush=True)
"""
_FRESH = """
import time
import pandas, xarray
begun = time.perf_counter()
import roofslate as rs
rs.evaluate("cost_per_token", model="DeepSeek-V3", hardware="GB200 NVL72", context_length="8k", chip_price="$3/hour",
            batch_size=[1, 64, 1024])
print(time.perf_counter() - begun)
"""
_COMMAND = ["-m", "roofslate", "evaluate", "pass_time", "model=DeepSeek-V3", "hardware=GB200 NVL72",
            "batch_size=1:4096:13:log", "context_length=8k"]  # fmt: skip

_EVALUATE = 'rs.evaluate("cost_per_token", batch_size=three, **presets)'
_CONSTRUCTOR = (
    'xr.DataArray(three * 2, dims=("batch_size",), coords={"batch_size": ("batch_size", three, batches)}, '
    'name="cost_per_token", attrs=price)'
)
_AXIS = "globals().update(B=np.geomspace(1, 8192, {}))"
_LARGE, _BY_HAND = 'rs.evaluate("cost_per_token", batch_size=B, **plain)', "by_hand(B)"
# Name, statement, target ratio to the old version.
_CASES = (
    ("best of 100 points", 'rs.best("cost_per_token", over="batch_size", batch_size=range(1, 101), **presets)', 0.5),
    (
        "frame of 2 rows",
        'rs.frame(table, "cost_per_token", model="DeepSeek-V3", context_length="8k", chip_price="$3/hour")',
        0.5,
    ),
    (
        "deploy of two systems",
        'rs.deploy(model="DeepSeek-V3", hardware=["HGX H200", "GB200 NVL72"], objective="cost_per_output_token", '
        "**server)",
        0.4,
    ),
    ("validate()", "rs.validate()", 0.5),
    ("value, plain numbers", 'rs.value("cost_per_token", batch_size=256, **plain)', 1.0),
    ("value, presets and units", 'rs.value("cost_per_token", batch_size=256, **presets)', 1.0),
)
_NOISE = 1.03  # a target of 1 tolerates this ratio
_ROUND = 0.01  # minimum seconds per round of a case
_SIZES = [round(4000 * 2 ** (k / 4)) for k in range(25)]  # 4,000 to 256,000


@dataclasses.dataclass(frozen=True)
class Version:
    """A version of the package: an executable, and the import folder."""

    python: str
    path: str | None

    @property
    def environment(self) -> dict[str, str]:
        environment = {name: x for name, x in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
        if self.path is not None:
            environment["PYTHONPATH"] = os.path.abspath(self.path)  # noqa: PTH100
        return environment


class Server:
    """A process that times statements with one version."""

    def __init__(self, version: Version) -> None:
        self._process = subprocess.Popen(
            [version.python, "-c", _SERVER, _SETUP],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            env=version.environment,
            cwd="/",
        )

    def seconds(self, statement: str, calls: int = 1, *, clock: str = "process_time") -> float:
        """Time so many calls, by a clock of `time`, in seconds."""
        send, receive = self._process.stdin, self._process.stdout
        assert send is not None
        assert receive is not None
        print(f"{clock} {calls} {statement}", file=send, flush=True)
        return float(self._line(receive))

    def close(self) -> None:
        self._process.communicate()

    def _line(self, stream: IO[str]) -> str:
        line = stream.readline()
        if not line:
            raise SystemExit(f"a version stopped with status {self._process.wait()}")
        return line


@dataclasses.dataclass(frozen=True)
class Timing:
    """Seconds of two versions for the same work."""

    old: float
    new: float

    @property
    def ratio(self) -> float:
        return self.new / self.old


def in_turns(sides: Sequence[Callable[[], float]], rounds: int) -> list[list[float]]:
    """Measure each side once per round, with alternating order."""
    figures: list[list[float]] = [[] for _ in sides]
    for k in range(rounds):
        order = range(len(sides)) if k % 2 else reversed(range(len(sides)))
        for side in order:
            figures[side].append(sides[side]())
    return figures


def low(seconds: Sequence[float]) -> float:
    """Return the minimum, since other load only adds, on shared machines up to half."""
    return min(seconds)


def timing(old: Sequence[float], new: Sequence[float]) -> Timing:
    return Timing(low(old), low(new))


def per_call(server: Server, statement: str, calls: int) -> float:
    return server.seconds(statement, calls) / calls


class Comparison:
    """Two versions with calls timed in turns, which prints rows of the table as they finish."""

    def __init__(self, old: Version, new: Version, rounds: int, processes: int) -> None:
        self.versions = (old, new)
        self.rounds = rounds
        self.processes = processes

    def statements(self, *statements: str) -> list[list[list[float]]]:
        """Time statements by statement, version and round, with fresh processes every few rounds."""
        figures: list[list[list[float]]] = [[[], []] for _ in statements]
        for _ in range(self.processes):
            servers = [Server(version) for version in self.versions]
            for k, statement in enumerate(statements):
                calls = _calls(servers[0], statement)
                for server in servers:
                    server.seconds(statement, calls)
                sides = [partial(per_call, server, statement, calls) for server in servers]
                for side, seconds in enumerate(in_turns(sides, self.rounds)):
                    figures[k][side] += seconds
            for server in servers:
                server.close()
        return figures

    def case(self, name: str, statement: str, target: float) -> None:
        ((old, new),) = self.statements(statement)
        result = timing(old, new)
        _row(name, _time(result.old), _time(result.new), result.ratio, f"{target:g}", result.ratio <= target * _NOISE)

    def evaluate(self) -> None:
        calls, constructors = self.statements(_EVALUATE, _CONSTRUCTOR)
        result = timing(*calls)
        _row("evaluate of 3 points", _time(result.old), _time(result.new), result.ratio, "0.5", result.ratio <= 0.5)
        constructor = timing(*constructors)
        old, new = result.old / constructor.old, result.new / constructor.new
        name = f"  relative to a DataArray ({_time(constructor.old)})"
        _row(name, f"{old:.2f} x", f"{new:.2f} x", None, "1.25 x", new <= 1.25)

    def break_even(self) -> None:
        """Print the axis sizes above which the engine is faster than NumPy."""
        figures: list[list[list[tuple[float, ...]]]] = [[[] for _ in _SIZES] for _ in self.versions]
        for _ in range(self.processes):
            servers = [Server(version) for version in self.versions]
            for k, n in enumerate(_SIZES):
                for server in servers:
                    server.seconds(_AXIS.format(n))
                calls = _calls(servers[0], _LARGE)
                for _ in range(self.rounds):
                    for side, server in enumerate(servers):
                        pair = tuple(server.seconds(x, calls, clock="perf_counter") for x in (_LARGE, _BY_HAND))
                        figures[side][k].append(pair)
            for server in servers:
                server.close()
        old, new = (_crossing([_ratio(rounds) for rounds in side]) for side in figures)
        _row("break-even with NumPy, points", f"{old:,.0f}", f"{new:,.0f}", None, "25,000", new <= 25_000)

    def cold(self, runs: int) -> None:
        """Time starts of the command line, and of an interpreter that evaluates."""
        commands = (_COMMAND, ["-c", "import numpy"])
        sides = [partial(_run, version, command) for version in self.versions for command in commands]
        for side in sides:  # writes bytecode, and loads files into memory
            side()
        old, old_numpy, new, new_numpy = in_turns(sides, runs)
        result, numpy = timing(old, new), timing(old_numpy, new_numpy)
        _row("cold `roofslate evaluate`", _time(result.old), _time(result.new), result.ratio, "", None)
        shares = result.old / numpy.old, result.new / numpy.new
        name = f"  relative to `import numpy` ({_time(numpy.old)})"
        _row(name, f"{shares[0]:.1f} x", f"{shares[1]:.1f} x", None, "3 x", shares[1] <= 3)
        fresh = timing(*in_turns([partial(_fresh, version) for version in self.versions], runs))
        name = "fresh rs.evaluate, after xarray and pandas"
        _row(name, _time(fresh.old), _time(fresh.new), fresh.ratio, "0.15 s", fresh.new <= 0.15)


def _calls(server: Server, statement: str) -> int:
    """Return the number of calls that fills a round."""
    server.seconds(statement)
    one = min(server.seconds(statement) for _ in range(3))
    return max(1, math.ceil(_ROUND / one))


def _ratio(rounds: Sequence[tuple[float, ...]]) -> float:
    """Return the ratio of the engine's time to NumPy's, both undisturbed."""
    engine, hand = zip(*rounds, strict=True)
    return low(engine) / low(hand)


def _crossing(ratios: Sequence[float]) -> float:
    """Return the size at which ratios fall to 1, by logarithmic interpolation, or infinity.

    A ratio is replaced by the median with its neighbors, since other load disturbs single sizes.
    """
    smooth = [statistics.median(ratios[max(0, k - 1) : k + 2]) for k in range(len(ratios))]
    above = [k for k, ratio in enumerate(smooth) if ratio > 1]
    if not above:
        return _SIZES[0]
    k = above[-1]
    if k + 1 == len(smooth):
        return math.inf
    share = math.log(smooth[k]) / math.log(smooth[k] / smooth[k + 1])
    return float(_SIZES[k] * (_SIZES[k + 1] / _SIZES[k]) ** share)


def _run(version: Version, arguments: Sequence[str]) -> float:
    begun = time.perf_counter()
    _output(version, arguments)
    return time.perf_counter() - begun


def _fresh(version: Version) -> float:
    return float(_output(version, ["-c", _FRESH]))


def _output(version: Version, arguments: Sequence[str]) -> str:
    command = [version.python, *arguments]
    return subprocess.run(command, env=version.environment, capture_output=True, text=True, check=True, cwd="/").stdout


def _time(seconds: float) -> str:
    for factor, unit in ((1, "s"), (1e3, "ms"), (1e6, "us")):
        if seconds * factor >= 1:
            return f"{seconds * factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def _row(name: str, old: str, new: str, ratio: float | None, target: str, holds: bool | None) -> None:
    verdict = "" if holds is None else "holds" if holds else "misses"
    shown = "" if ratio is None else f"{ratio:.3f}"
    print(f"{name:<44} {old:>10} {new:>10} {shown:>7} {target:>8}  {verdict}".rstrip(), flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for side in ("old", "new"):
        parser.add_argument(f"--{side}", default=sys.executable, metavar="PYTHON", help="its executable")
        parser.add_argument(f"--{side}-path", metavar="FOLDER", help="its PYTHONPATH")
    parser.add_argument("--only", choices=("evaluate", "cases", "break-even", "cold"), help="some of the rows")
    parser.add_argument("--rounds", type=int, default=15, help="rounds of each pair of processes")
    parser.add_argument("--processes", type=int, default=3, help="pairs of processes of each case")
    parser.add_argument("--runs", type=int, default=9, help="starts per command")
    given = parser.parse_args()
    versions = (Version(given.old, given.old_path), Version(given.new, given.new_path))
    comparison = Comparison(*versions, given.rounds, given.processes)
    print(f"{'':<44} {'old':>10} {'new':>10} {'ratio':>7} {'target':>8}")
    if given.only in (None, "evaluate"):
        comparison.evaluate()
    if given.only in (None, "cases"):
        for case in _CASES:
            comparison.case(*case)
    if given.only in (None, "break-even"):
        comparison.break_even()
    if given.only in (None, "cold"):
        comparison.cold(given.runs)


if __name__ == "__main__":
    main()
