"""The benchmark: speed relative to this machine's limits and to other tools, in one run."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING

from roofslate._base.messages import unknown

from benchmarks import bars, calculators, evaluations, folds, growth, samples, solves, stores
from benchmarks.machine import SIZES, Size, calmest, machine_facts
from benchmarks.report import Line, Report, Section
from benchmarks.rivals import COST, FOUR

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

__all__ = ["PARTS", "Line", "Report", "Section", "measure"]

PARTS: dict[str, Callable[[Size, int], Section]] = {
    "limits": evaluations.measure_limits,
    "four-outputs": lambda how, threads: evaluations.measure_surface("Four outputs", FOUR, how, threads),
    "one-output": lambda how, threads: evaluations.measure_surface("cost_per_token alone", COST, how, threads),
    "one-operation": evaluations.measure_one_operation,
    "elasticities": lambda how, _: evaluations.measure_elasticities(how),
    "fresh-memory": evaluations.measure_fresh_memory,
    "short-axes": lambda how, _: evaluations.measure_short_axes(how),
    "table": evaluations.measure_table,
    "points": lambda how, _: evaluations.measure_points(how),
    "import": lambda how, _: evaluations.measure_import(how),
    "memory": evaluations.measure_memory,
    "bars": bars.measure_bars,
    "best": folds.measure_best,
    "optimum": folds.measure_optimum,
    "pruning": folds.measure_pruning,
    "deployments": folds.measure_deployments,
    "distributions": lambda how, _: folds.measure_distributions(how),
    "solve": solves.measure_solve,
    "samples": samples.measure_samples,
    "stores": stores.measure_stores,
    "long-table": stores.measure_long_table,
    "point-cost": growth.measure_point_cost,
    "growth": growth.measure_growth,
    "calculators": lambda how, _: calculators.measure_calculators(how),
}


def measure(
    size: str = "full",
    *,
    threads: int | None = None,
    only: Sequence[str] = (),
    say: Callable[[str], None] | None = None,
) -> Report:
    """Measure everything, and compare it with the targets.

    Parameters
    ----------
    size : {"full", "small"}
        "small" takes seconds and tests that everything runs. Its figures are meaningless.
    threads : int, optional
        By default as many as the process may use.
    only : sequence of str
        Names of parts to measure, from `PARTS`. By default all.
    say : callable, optional
        Called with the name of each part.

    Returns
    -------
    Report

    Raises
    ------
    UnknownName
        If `only` names an unknown part.
    """
    from roofslate._base.threads import thread_count

    for name in only:
        if name not in PARTS:
            raise unknown("part", name, PARTS)
    count, how = thread_count(threads), SIZES[size]
    load = os.getloadavg()[0]
    sections = []
    for name, part in PARTS.items():
        if only and name not in only:
            continue
        if say is not None:
            say(f"measuring {name.replace('-', ' ')} ...")
        section = calmest(lambda part=part: part(how, count), how.tries)  # type: ignore[misc]
        if size != "full":  # the overhead dominates
            section.lines = [replace(line, verdict="") for line in section.lines]
        sections.append(section)
    return Report(machine_facts(size, count, load), sections)
