"""Quantiles of a hundred million draws, and a Monte Carlo in NumPy for comparison."""

from __future__ import annotations

import importlib
import os
from typing import TYPE_CHECKING, Any

import numpy as np

from benchmarks.machine import Size, child
from benchmarks.report import Line, Section, limit_of, line_of, rate_text
from benchmarks.timing import Contender, ratio, take_turns

if TYPE_CHECKING:
    from benchmarks.machine import Values

__all__ = ["SEED", "Q", "guesses", "measure_samples"]

Q = (0.05, 0.5, 0.95)
SEED = 1
_MOST_KEPT = 4_000_000  # draws of NumPy at once


def guesses() -> dict[str, Any]:
    """Return five inputs of the overtraining formula, each with a distribution."""
    stats = importlib.import_module("scipy.stats")
    return {
        "model_token_rate": stats.lognorm(0.9, scale=50e6),
        "model_lifetime": stats.lognorm(0.5, scale=60 * 86400),
        "decode_inefficiency": stats.uniform(1, 4),
        "active_parameters": stats.loguniform(30e9, 300e9),
        "optimal_tokens_per_parameter": stats.loguniform(10, 118),
    }


def _monte_carlo(draws: int) -> Values:
    """Compute the formula on plain draws, as a user of NumPy would."""
    rng = np.random.default_rng(SEED)
    rate = 50e6 * np.exp(0.9 * rng.standard_normal(draws))
    life = 60 * 86400 * np.exp(0.5 * rng.standard_normal(draws))
    inefficiency = rng.uniform(1, 5, draws)
    weights = 30e9 * np.exp(rng.uniform(0, np.log(10), draws))
    optimal = 10 * np.exp(rng.uniform(0, np.log(11.8), draws))
    result: Values = np.quantile(rate * life * (2 * inefficiency / 6) / (optimal * weights), Q)
    return result


_PEAK = """
import sys
from roofslate import quantiles
from benchmarks.samples import Q, SEED, guesses

def peak():
    with open("/proc/self/status") as lines:
        return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))

threads, draws = map(int, sys.argv[1:])
quantiles("overtraining_ratio", Q, n=draws, seed=SEED, threads=threads, progress=False, **guesses())
print(peak())
"""


def measure_samples(how: Size, threads: int) -> Section:
    """Compute three quantiles of a formula with five uncertain inputs."""
    from roofslate.folds.quantiles import quantiles

    title = f"Quantiles of {how.draws:,} draws: over-training with five uncertain inputs, three quantiles"
    try:
        inputs = guesses()
    except ImportError as error:
        return Section(title, [], [f"skipped, {error.name} is not installed (pip install 'roofslate[analysis]')"])

    def asking(count: int) -> Any:
        return lambda: np.asarray(
            quantiles("overtraining_ratio", Q, n=how.draws, seed=SEED, threads=count, progress=False, **inputs)
        )

    plain_draws = min(how.draws, _MOST_KEPT)
    ours, alone = Contender(f"rs.quantiles, {threads} threads", asking(threads)), Contender("rs.quantiles", asking(1))
    plain = Contender(f"NumPy, {plain_draws:,} plain draws", lambda: _monte_carlo(plain_draws))
    if not np.array_equal(ours.run(), alone.run()):
        raise RuntimeError("quantiles differ with the number of threads")
    worst = np.max(np.abs(plain.run() / ours.run() - 1))
    if not worst <= 30 / np.sqrt(plain_draws):  # standard errors of the plain draws are 1.5 to 3 divided by this root
        raise RuntimeError(f"NumPy and roofslate differ in a quantile by {worst:.1e}")
    take_turns([ours, alone, plain], max(3, how.rounds // 3))
    rate = how.draws / ours.median / 1e9
    scale = how.draws / plain_draws
    lines: list[Line] = [
        line_of(ours, rate_text(how.draws, ours.median), rate, "{:.2f} Gsample/s", 0.1),
        line_of(alone, rate_text(how.draws, alone.median)),
        line_of(
            plain, rate_text(plain_draws, plain.median), ratio(plain, ours) * scale, "rs.quantiles is {:.1f} x as fast"
        ),
        Line("", figure=ratio(plain, alone) * scale, figure_text=f"on one thread {ratio(plain, alone) * scale:.1f} x"),
    ]
    notes = []
    if os.path.exists("/proc/self/status"):  # noqa: PTH110
        (peak,) = child(_PEAK, str(threads), str(how.draws))
        lines.append(limit_of("peak memory of the whole process", peak, f"{peak / 1e6:.0f} MB", 300e6, "<= 300 MB"))
    else:
        notes.append("peak memory is skipped, this system does not report it")
    return Section(title, lines, notes)
