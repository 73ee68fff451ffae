"""Compare the engine of web pages with the core of this machine, bit by bit.

It asks both the same random questions: values over grids, optima, solutions, derivatives and derivations. It needs
`make wasm` and Node::

    python python/tools/web_bits.py --questions 100000

To ask a differing question by itself, give its number::

    python python/tools/web_bits.py --first 4711 --questions 1

A search that takes the native core more than a second is left out of the comparison and counted. More than 2% of them
count as a difference.
"""

from __future__ import annotations

import argparse
import functools
import json
import math
import random
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from itertools import islice
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import numpy as np
from roofslate import _core
from roofslate.errors import RoofslateError
from roofslate.registry.registry import Quantity, entries, lookup

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

ROOT = Path(__file__).resolve().parents[2]
ENGINE = ROOT / "python" / "roofslate" / "web" / "engine.wasm"
ANSWERS = ROOT / "tests" / "web" / "answers.mjs"
KINDS = {"evaluate": 40, "best": 20, "solve": 15, "derivatives": 15, "explain": 10}
RELATIONS = ("<", "<=", "==", ">=", ">")
REASONS = ("", "never", "always", "undefined", "undecided", "many")
FEW_SHOWN = 10
LONGEST_SEARCH = 1.0  # seconds of the processor
MOST_LEFT_OUT = 0.02  # of the questions


def missing() -> list[str]:
    """List required files and programs that are missing."""
    return [name for name, exists in (("node", shutil.which("node")), (ENGINE.name, ENGINE.exists())) if not exists]


class LongSearchError(Exception):
    """A search of random inputs that takes longer than the comparison waits."""


class Scenario:
    """Random inputs of a random quantity, as arrays by name."""

    def __init__(self, choose: random.Random) -> None:
        self.choose = choose
        computed = [q for q in entries().values() if q.computed]
        self.output = choose.choice(computed).name
        self.inputs: dict[str, list[float]] = {}
        self.axes: list[str] = []
        reached = _reached(self.output)
        self.numbers = [name for name in reached if not lookup(name).choices]
        # All that nothing else gives, and some that has a default or follows from others.
        for name in reached:
            q = lookup(name)
            needed = not q.computed and not q.fallback and q.default is None
            if name == self.output or choose.random() > (0.99 if needed else 0.1 if q.computed else 0.25):
                continue
            self.inputs[name] = [self.value(q)]
            if needed and not q.choices and len(self.axes) < 3 and choose.random() < 0.4:
                self.inputs[name] = [self.value(q) for _ in range(choose.randint(1, 9))]
                self.axes.append(name)
        for name in list(self.inputs):
            bound = self.inputs.get(lookup(name).bound or "")
            if bound and name in self.inputs and max(self.inputs[name]) > min(bound):
                del self.inputs[name]
        self.axes = [name for name in self.axes if name in self.inputs]

    def value(self, q: Quantity) -> float:
        """A number in the quantity's range, or the position of a choice."""
        if q.choices:
            return float(self.choose.randrange(len(q.choices)))
        if q.high <= 1:
            return self.choose.uniform(max(q.low, q.high / 100), q.high)
        least = max(q.low, 0.0)
        x = least + math.floor(2 ** self.choose.uniform(-1, 17)) + 1.0
        if "byte/s" in q.unit or "FLOP" in q.unit:
            x *= 1e9
        elif q.unit == "byte":
            x *= 2.0 ** self.choose.choice((0, 0, 20))
        elif q.unit == "s":
            x *= 1e-3
        elif self.choose.random() < 0.2:
            x += self.choose.random()
        return max(min(x, q.high), least)

    def grid(self, variables: Sequence[str] = (), unknown: str | None = None) -> Any:
        """The core's grid of these inputs, with an unknown as the last axis."""
        given: dict[str, Any] = {}
        for name, values in self.inputs.items():
            is_axis = name in self.axes
            given[name] = (np.array(values), [self.axes.index(name)]) if is_axis else values[0]
        shape = [len(self.inputs[name]) for name in self.axes]
        if unknown is not None:
            q = lookup(unknown)
            given[unknown] = (np.array([1e-75 if q.above_low else q.low]), [len(shape)])
            shape.append(1)
        return _core.Grid(shape, given, list(variables))

    def some_value(self, output: str, **changed: float) -> float:
        """A value of a quantity somewhere in the scenario, or another number where that is none."""
        inputs = {name: self.choose.choice(values) for name, values in self.inputs.items()} | changed
        try:
            value = float(_core.number(output, inputs))
        except RoofslateError:
            return self.choose.uniform(0, 100)
        return value if math.isfinite(value) else self.choose.uniform(0, 100)


@functools.cache
def _reached(output: str) -> list[str]:
    """Quantities that an output may rest on, itself first."""
    names = {output: None}
    waiting = [output]
    while waiting:
        q = lookup(waiting.pop(0))
        new = [need for need in (*q.needs, *filter(None, [q.fallback])) if need not in names]
        names |= dict.fromkeys(new)
        waiting += new
    return list(names)


def question(number: int) -> tuple[dict[str, Any], Any]:
    """The question of a number, with the answer of the native core.

    Raises
    ------
    LongSearchError
        For a search that takes longer than ``LONGEST_SEARCH``.
    """
    choose = random.Random(number)
    kind = choose.choices(list(KINDS), list(KINDS.values()))[0]
    scenario = Scenario(choose)
    content: dict[str, Any] = {"kind": kind}
    if kind == "explain":
        for name in scenario.axes:
            scenario.inputs[name] = scenario.inputs[name][:1]
        scenario.axes = []
    if kind == "solve":  # each point is a search, of seconds if a routine is in it
        for name in scenario.axes:
            scenario.inputs[name] = scenario.inputs[name][:2]
    try:
        answer = globals()[f"_{kind}"](scenario, content)
    except RoofslateError as error:
        answer = {"error": type(error).__name__}
    axes_last = sorted(
        scenario.inputs.items(), key=lambda item: item[0] in scenario.axes and scenario.axes.index(item[0])
    )
    content["inputs"] = [(name, digits(values), name in scenario.axes) for name, values in axes_last]
    return content, answer


def _evaluate(scenario: Scenario, content: dict[str, Any]) -> Any:
    outputs = content["outputs"] = list(
        dict.fromkeys([scenario.output, *scenario.choose.sample(scenario.numbers, min(2, len(scenario.numbers)))])
    )
    results = scenario.grid().evaluate(outputs, [], 1, None, "float64")
    return [[[scenario.axes[k] for k in axes], digits(values)] for values, axes in results]


def _best(scenario: Scenario, content: dict[str, Any]) -> Any:
    choose, output = scenario.choose, scenario.output
    if lookup(output).choices:
        scenario.output = output = "pass_time"
    names = [name for name in scenario.numbers if lookup(name).computed]
    compared = choose.sample(names, min(len(names), choose.choice((0, 1, 1, 2))))
    where = [(name, choose.choice((*RELATIONS, "!=")), scenario.some_value(name)) for name in compared]
    content |= {"output": output, "maximize": choose.random() < 0.5}
    content["where"] = [(name, relation, digits([value])) for name, relation, value in where]
    fold = _core.Best([("quantity", output)], content["maximize"], [_comparison(*one) for one in where])
    values, places, _ = scenario.grid().fold(fold, list(range(len(scenario.axes))), 1, None, True)
    if places[0] < 0:
        return None
    position = np.unravel_index(int(places[0]), tuple(len(scenario.inputs[name]) for name in scenario.axes) or (1,))
    return [digits(values), dict(zip(scenario.axes, map(int, position), strict=False))]


def _solve(scenario: Scenario, content: dict[str, Any]) -> Any:
    choose, output = scenario.choose, scenario.output
    if lookup(output).choices:
        scenario.output = output = "pass_time"
    try:
        names = [name for name in scenario.grid().used([output]) if not lookup(name).choices]
    except RoofslateError:  # an input is missing: both say so
        names = []
    unknown = choose.choice(names or [name for name in scenario.numbers if name != output] or ["batch_size"])
    target = scenario.some_value(output, **{unknown: scenario.value(lookup(unknown))})
    if unknown in scenario.axes:
        scenario.axes.remove(unknown)
    scenario.inputs.pop(unknown, None)
    relation, which = choose.choice(RELATIONS), choose.choice(("smallest", "largest", "all"))
    content |= {"unknown": unknown, "output": output, "operator": relation, "target": digits([target]), "which": which}
    grid = scenario.grid(unknown=unknown)
    last = time.process_time() + LONGEST_SEARCH

    def stop_after_a_while(*_: int) -> None:
        if time.process_time() > last:
            raise LongSearchError

    comparison = _comparison(output, relation, target)
    values, reasons, axes, _ = grid.solve(unknown, comparison, which, False, 1, stop_after_a_while)
    if which == "all" and not axes:
        values = values[~np.isnan(values)]
    return [digits(values), [REASONS[reason] for reason in reasons], [scenario.axes[k] for k in axes]]


def _derivatives(scenario: Scenario, content: dict[str, Any]) -> Any:
    choose, output = scenario.choose, scenario.output
    if lookup(output).choices:
        scenario.output = output = "pass_time"
    bounds = {lookup(name).bound for name in scenario.inputs}  # a default may break them, which Python refuses
    given = [
        name
        for name in scenario.numbers
        if name in scenario.inputs
        or (lookup(name).default is not None and not lookup(name).bound and name not in bounds)
    ]
    inputs = choose.sample(given, min(len(given), 3)) or ["batch_size"]
    content |= {"output": output, "by": inputs}
    for name in inputs:
        if name not in scenario.inputs:
            default = lookup(name).default
            scenario.inputs[name] = [scenario.value(lookup(name)) if default is None else float(default)]
    grid = scenario.grid(inputs)
    for at_limits in (False, True):
        values, _, _, finite = grid.derivatives([("quantity", output)], inputs, False, True, at_limits, None, 1, None)
        if finite or np.isfinite(values).all():
            break
    return [digits(row) for row in values]


def _explain(scenario: Scenario, content: dict[str, Any]) -> Any:
    content["output"] = scenario.output
    inputs = {name: values[0] for name, values in scenario.inputs.items()}
    return inputs | dict(_core.chain(scenario.output, inputs))


def _comparison(name: str, relation: str, value: float) -> Any:
    quantity, constant = [("quantity", name)], [("constant", value)]
    swapped = {">": "<", ">=": "<="}
    return (constant, swapped[relation], quantity) if relation in swapped else (quantity, relation, constant)


def digits(values: Any) -> str:
    """Numbers as bytes in hexadecimal digits, with one NaN for all."""
    array = np.array(values, dtype="<f8", order="C")
    array[np.isnan(array)] = np.nan
    return array.tobytes().hex()


def agree(kind: str, native: Any, web: Any) -> bool:
    """Return True if two answers to a question of a kind are equal."""
    if isinstance(native, dict) and "error" in native:
        return isinstance(web, dict) and web.get("error") == native["error"]
    if kind == "explain":  # of which the page shows a part
        return not isinstance(web, dict) and all(digits([native.get(name, math.nan)]) == value for name, value in web)
    if kind == "solve" and isinstance(web, list):  # without the interval that was not searched
        web = [web[0], [reason.split(":")[0] for reason in web[1]], web[2]]
    return bool(json.loads(json.dumps(native)) == web)


def batches(numbers: range, size: int = 500) -> Iterator[list[int]]:
    iterator = iter(numbers)
    while batch := list(islice(iterator, size)):
        yield batch


def _content(number: int) -> tuple[int, dict[str, Any], Any] | None:
    """The question of a number with the native answer, or None for a long search."""
    try:
        return (number, *question(number))
    except LongSearchError:
        return None


def _answers(node: subprocess.Popen[str], batch_content: Sequence[tuple[int, dict[str, Any], Any]]) -> list[Any]:
    assert node.stdin
    assert node.stdout
    with ThreadPoolExecutor(1) as writer:  # the pipe holds less than a batch
        writing = writer.submit(_write, node.stdin, "".join(f"{json.dumps(one)}\n" for _, one, _ in batch_content))
        answers = []
        for number, one, _ in batch_content:
            line = node.stdout.readline()
            if not line:
                raise SystemExit(f"node ended at question {number}: {one}")
            answers.append(json.loads(line))
        writing.result()
    return answers


def _write(file: IO[str], text: str) -> None:
    file.write(text)
    file.flush()


def compare(first: int, questions: int) -> list[str]:
    """Ask both, print a summary, and return a line for each question with different answers."""
    command = ["node", str(ANSWERS), str(ENGINE)]
    differing: list[str] = []
    counts: dict[str, int] = {}
    errors = compared = 0
    with (
        subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True, encoding="utf-8") as node,
        ThreadPoolExecutor(1) as reader,
    ):
        pending: list[tuple[list[tuple[int, dict[str, Any], Any]], Any]] = []

        def check() -> None:
            nonlocal errors, compared
            batch_content, answering = pending.pop()
            for (number, one, native), web in zip(batch_content, answering.result(), strict=True):
                failed = isinstance(native, dict) and "error" in native
                errors += failed
                compared += 1
                counts[one["kind"]] = counts.get(one["kind"], 0) + (not failed)
                if not agree(one["kind"], native, web):
                    differing.append(f"question {number}: {one}\n  native {native}\n  web    {web}")

        for batch in batches(range(first, first + questions)):  # both at work at a time
            batch_content = [one for one in map(_content, batch) if one is not None]
            if pending:
                check()
            pending.append((batch_content, reader.submit(_answers, node, batch_content)))
        check()
        assert node.stdin
        node.stdin.close()
    summary = ", ".join(f"{count} {kind}" for kind, count in sorted(counts.items()))
    print(
        f"{compared} questions ({summary}, {errors} refused by both, {questions - compared} searches left out): "
        f"{len(differing) or 'none'} differ"
    )
    if questions - compared > max(1, MOST_LEFT_OUT * questions):
        differing.append(f"{questions - compared} of {questions} left out, expected at most {MOST_LEFT_OUT:.0%}")
    print(*differing[:FEW_SHOWN], sep="\n", end="")
    return differing


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000, help="how many")
    parser.add_argument("--first", type=int, default=0, help="number of the first")
    given = parser.parse_args()
    if lacking := missing():
        raise SystemExit(f"not there: {', '.join(lacking)} (make wasm; Debian: nodejs)")
    return min(1, len(compare(given.first, given.questions)))


if __name__ == "__main__":
    sys.exit(main())
