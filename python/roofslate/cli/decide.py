"""`roofslate deploy`, `best`, `solve`: searches, which leave with 1 without a result."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Any

import click
import numpy as np

from roofslate.analysis.solve import solve
from roofslate.cli.answers import of_plan, of_result, write
from roofslate.cli.calls import Question
from roofslate.cli.keywords import KEYWORDS, POSITIONAL
from roofslate.cli.words import reported_warnings, texts_of
from roofslate.deployment.search import deploy
from roofslate.folds.best import best

if TYPE_CHECKING:
    from collections.abc import Sequence

__all__ = ["run_best", "run_deploy", "run_solve"]


def run_deploy(**given: Any) -> None:
    """Write the feasible layouts, best first. Without one, leave with 1."""
    question = Question(**given)
    keywords, inputs = _arguments("deploy", question)
    options: dict[str, Any] = {"units": question.in_units, "threads": question.threads}
    form = question.written_as
    with reported_warnings() as messages:
        plan = deploy(**keywords, **inputs, **options)
    write(of_plan(plan).noted(messages), form, question.output, question.in_units)
    _leave(outcome=bool(len(plan.table)))


def run_best(**given: Any) -> None:
    """Write the best points. Without one, leave with 1."""
    question = Question(**given)
    keywords, inputs = _arguments("best", question)
    options: dict[str, Any] = {"units": question.in_units, "threads": question.threads}
    form = question.written_as
    objective = keywords.pop("objective")
    with reported_warnings() as messages:
        outcome = best(objective, inputs, **keywords, **options)
    write(of_result(outcome).noted(messages), form, question.output, question.in_units)
    _leave(outcome=bool(outcome[objective].notnull().any()))


def run_solve(**given: Any) -> None:
    """Write the solutions. Without one, leave with 1."""
    question = Question(**given)
    keywords, inputs = _arguments("solve", question)
    unknown, condition = keywords.pop("unknown"), keywords.pop("condition")
    form = question.written_as
    unit = _unit_of(unknown, question.units)
    with reported_warnings() as messages:
        outcome = solve(unknown, condition, inputs, **keywords, units=unit, threads=question.threads)
    write(of_result(outcome).noted(messages), form, question.output, [unknown] if unit else [])
    _leave(outcome=bool(np.isfinite(outcome.to_numpy()).any()))


def _arguments(command: str, question: Question) -> tuple[dict[str, Any], dict[str, Any]]:
    """Read the keywords and inputs of a call, whose positional ones are given."""
    stray, keywords, inputs = question.read(command)
    missing = [name for name in POSITIONAL[command] if name not in keywords]
    if missing:
        hint = {"objective": "objective=cost_per_output_token", "unknown": "batch_size"}
        example = hint.get(missing[0], '"pass_time <= 20 ms"')
        raise click.UsageError(f"{command} needs the {missing[0]}, such as {example}")
    if stray:
        known = ", ".join(f"{name}=" for name in KEYWORDS[command])
        raise click.UsageError(f"{stray[0]!r}: an input is written NAME=VALUE; {command} also takes {known}")
    if command == "best" and "over" not in keywords:
        raise click.UsageError("best needs the axes to search, such as over=batch_size")
    return keywords, inputs


def _unit_of(unknown: str, units: Sequence[str]) -> str | None:
    """Unit of a solution, given as UNIT or as NAME=UNIT."""
    if not units:
        return None
    if len(units) > 1:
        raise click.UsageError(f"--units: solve has one result, {unknown}, got {len(units)} units")
    if "=" not in units[0]:
        return units[0]
    _, named = texts_of(units)
    if list(named) != [unknown]:
        raise click.UsageError(f"--units {units[0]!r}: the result of solve is {unknown!r}")
    return named[unknown]


def _leave(*, outcome: bool) -> None:
    if not outcome:
        sys.exit(1)
