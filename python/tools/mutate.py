"""Test the tests by mutants: the registry with one change, which must fail a test.

``make check-mutants`` tries all mutants.

A mutant is a formula with one operation, argument or constant changed, or an input with another default, limit or
fallback. It replaces the original for all dependents, without compiling: formulas are steps that the engine runs.
Judges are the values computed by hand (``tests/reference``), the lecture's answers, and the limits of inputs
(``tests/reference/ranges.toml``). Mutants with the same values as the original follow a rule (`is_equivalent`) or are
listed in ``mutants.toml``, each with the reason.
"""

from __future__ import annotations

import argparse
import contextlib
import dataclasses
import functools
import math
import random
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import roofslate as rs
from roofslate import _core
from roofslate._base.toml import read_data
from roofslate.grid.read import Settled, read_grid
from roofslate.lecture_report.entries import entries_of
from roofslate.measured.stored import compute
from roofslate.registry.recorder import Steps, Term
from roofslate.registry.registry import BUILT_IN, Quantity, Registry, Step, ancestors, lookup

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

REFERENCE = Path(__file__).parents[2] / "tests" / "reference"
RANGES = REFERENCE / "ranges.toml"
EQUIVALENT = Path(__file__).with_name("mutants.toml")
LEAST_KILLED = 0.98
# Their rows come from one service, and four in five of their mutants die. `--theme` judges them nevertheless.
NOT_JUDGED = ("arrivals", "running", "slots", "latency")
_FACTOR = 1.01  # of a changed number, above the tolerance of every test
_UNLIMITED = 1e300

# ----------------------------------------------------------------------------------------------------------- mutants

Change = Any  # an argument's position, a number, a quantity, or (operation, Change, ...)

# By operation: the kind of change, and the replacement. A number replaces the operation by one of its arguments, a
# tuple
# is another operation on them.
_CHANGES: dict[str, tuple[tuple[str, Change], ...]] = {
    "add": (("operator", ("sub", 0, 1)), ("argument", 0), ("argument", 1)),
    "sub": (("operator", ("add", 0, 1)), ("argument", 0), ("argument", 1)),
    "mul": (("operator", ("div", 0, 1)), ("argument", 0), ("argument", 1)),
    "div": (("operator", ("mul", 0, 1)), ("argument", 0), ("argument", 1)),
    "neg": (("argument", 0),),
    "min": (("extreme", ("max", 0, 1)), ("argument", 0), ("argument", 1)),
    "max": (("extreme", ("min", 0, 1)), ("argument", 0), ("argument", 1)),
    "pow": (("function", ("pow", 1, 0)), ("argument", 0), ("argument", 1)),
    "exp": (("function", ("log", 0)), ("argument", 0)),
    "log": (("function", ("exp", 0)), ("argument", 0)),
    "sqrt": (("argument", 0),),
    "ceil": (("function", ("floor", 0)), ("argument", 0)),
    "floor": (("function", ("ceil", 0)), ("argument", 0)),
    "less": (("condition", ("less", 1, 0)), ("boundary", ("less_equal", 0, 1))),
    "less_equal": (("condition", ("less_equal", 1, 0)), ("boundary", ("less", 0, 1))),
    "equal": (("condition", ("sub", 1.0, ("equal", 0, 1))),),
    "both": (("condition", ("either", 0, 1)), ("argument", 0), ("argument", 1)),
    "either": (("condition", ("both", 0, 1)), ("argument", 0), ("argument", 1)),
    "select": (("branch", ("select", 0, 2, 1)), ("argument", 1), ("argument", 2)),
}
_COMPARISONS = ("less", "less_equal")


@dataclasses.dataclass(frozen=True)
class Mutant:
    """A quantity with one change.

    Attributes
    ----------
    quantity : str
    kind : str
        Kind of change: `operator`, `extreme`, function, condition, boundary, branch, argument, constant or need of a
        formula. Default, fallback, limit or bound of an input.
    change : str
        The changed operation with its replacement, ``#k`` being the k-th step of the formula, or the changed fact.
    steps : tuple of tuple
        The formula, step by step. Empty for a change of facts.
    facts : mapping
        The changed facts, by the names of `Quantity`.
    """

    quantity: str
    kind: str
    change: str
    steps: tuple[Step, ...] = ()
    facts: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    def __str__(self) -> str:
        return f"{self.quantity}: {self.kind}: {self.change}"


class _MutantRegistry(Registry):
    def __init__(self, mutant: Mutant) -> None:
        name = mutant.quantity
        _core.Registry.__init__(self, _core.mutated(BUILT_IN, name, mutant.steps, dict(mutant.facts)), [])
        self.definitions = ()
        self.scope = None
        self._ancestors, self._descendants, self.kept = {}, {}, {}
        self.__dict__["entries"] = {
            **BUILT_IN.entries,
            name: dataclasses.replace(BUILT_IN.entries[name], **mutant.facts),
        }


@contextlib.contextmanager
def in_place(mutant: Mutant) -> Iterator[None]:
    """Replace the original by the mutant."""
    token = _core.SCOPE.set(_MutantRegistry(mutant))
    try:
        yield
    finally:
        _core.SCOPE.reset(token)


def mutants(q: Quantity) -> list[Mutant]:
    """List the distinct mutants of a quantity, without those equal to the original."""
    by_text: dict[str, Mutant] = {}
    if q.computed:
        steps = _core.steps(q.name)
        for k, step in enumerate(steps):
            for kind, change in _changes(q, steps, k):
                changed = _changed(steps, k, change)
                description = f"#{k}: {_told(steps, _original(step), step)} -> {_told(steps, change, step)}"
                by_text.setdefault(_core.formula_text(changed), Mutant(q.name, kind, description, steps=changed))
        by_text.pop(_core.formula_text(steps), None)
    for kind, name, fact in _other_facts(q):
        by_text[f"{name} = {fact!r}"] = Mutant(q.name, kind, f"{name} = {fact!r}", facts={name: fact})
    return list(by_text.values())


def _original(step: Step) -> Change:
    return (step[0], *range(len(step) - 1))


def _told(steps: Sequence[Step], change: Change, step: Step) -> str:
    """Describe a change of a step."""
    if isinstance(change, tuple):
        return f"{change[0]}({', '.join(_told(steps, part, step) for part in change[1:])})"
    if isinstance(change, str):
        return change
    if isinstance(change, float):
        return f"{change:g}"
    position = step[change + 1]
    name, *values = steps[int(position)]
    return str(values[0]) if name == "quantity" else f"{values[0]:g}" if name == "constant" else f"#{position}"


def _changes(q: Quantity, steps: Sequence[Step], k: int) -> Iterator[tuple[str, Change]]:
    name, *operands = steps[k]
    if name in ("quantity", "constant"):
        return
    positions = range(len(operands))
    if name in _CHANGES:
        yield from _CHANGES[str(name)]
    else:  # a routine
        yield from (("function", (name, *(("mul", n, _FACTOR) if n == m else n for n in positions))) for m in positions)
    for m, position in enumerate(map(int, steps[k][1:])):
        if steps[position][0] == "constant":
            constant = _other_constant(q, steps, k, m)
            yield "constant", (name, *(constant if n == m else n for n in positions))
        for other in _mistaken(q, steps[position]):
            yield "need", (name, *(other if n == m else n for n in positions))


def _mistaken(q: Quantity, step: Step) -> Iterator[str]:
    """Yield the needs that share the unit of a need, and may be confused with it."""
    if step[0] == "quantity":
        need = BUILT_IN.entries[str(step[1])]
        for other in (BUILT_IN.entries[name] for name in q.needs if name != need.name):
            if other.unit == need.unit and not other.choices and not need.choices:
                yield other.name


def _other_constant(q: Quantity, steps: Sequence[Step], k: int, argument: int) -> float:
    """Return another constant: the next word of a choice, the next count in a comparison."""
    name, *operands = steps[k]
    number = float(steps[int(operands[argument])][1])
    words: tuple[str, ...] = ()
    if name == "equal":
        kind, other = steps[int(operands[1 - argument])][:2]
        words = BUILT_IN.entries[str(other)].choices if kind == "quantity" else ()
    elif name == "select":
        words = q.choices
    if words:
        return (number + 1) % len(words)
    return number + 1 if name in _COMPARISONS and number.is_integer() else _other(number)


def _other(number: float) -> float:
    return 1.0 if number in (0, math.inf) else number * _FACTOR


def _changed(steps: Sequence[Step], at: int, change: Change) -> tuple[Step, ...]:
    """Replace a step of a formula, and drop the steps without users."""
    remaining = Steps()
    new_positions: list[int] = []

    def added(change: Change, operand_positions: Sequence[int]) -> int:
        if isinstance(change, int):
            return operand_positions[change]
        if isinstance(change, float):
            return remaining.add(("constant", change))
        if isinstance(change, str):
            return remaining.add(("quantity", change))
        return remaining.add((change[0], *(added(part, operand_positions) for part in change[1:])))

    for k, (name, *operands) in enumerate(steps):
        if name in ("quantity", "constant"):
            new_positions.append(remaining.add(steps[k]))
        else:
            operand_positions = [new_positions[int(n)] for n in operands]
            new_positions.append(added(change if k == at else _original(steps[k]), operand_positions))
    return remaining.formula(Term(new_positions[-1])).steps


def _other_facts(q: Quantity) -> Iterator[tuple[str, str, Any]]:
    if q.default is not None:
        other = (q.default + 1) % len(q.choices) if q.choices else _other(q.default)
        yield "default", "default", other
    if q.fallback:
        yield "fallback", "fallback", None
    if q.bound:
        yield "bound", "bound", None
    if q.choices:
        return
    for end, limit in (("low", q.low), ("high", q.high)):
        if abs(limit) < _UNLIMITED:
            step = abs(limit) * (_FACTOR - 1) or 0.01
            yield from (("limit", end, limit + offset) for offset in (-step, step))
    if q.low > -_UNLIMITED:
        yield "limit", "above_low", not q.above_low
    if q.takes_infinity:
        yield "limit", "high", sys.float_info.max


# ------------------------------------------------------------------------------------------------------------ judges


@dataclasses.dataclass(frozen=True)
class Question:
    """A question of a test, and the check of its answer."""

    ask: Callable[[], Any]
    right: Callable[[Any], bool]
    rests_on: frozenset[str]  # quantities whose formulas, defaults or fallbacks it depends on

    def holds(self) -> bool:
        """Return True if the answer is right. An unexpected error propagates."""
        try:
            return self.right(self.ask())
        except (rs.RoofslateError, ArithmeticError, IndexError, ValueError):
            return False


def _close(expected: Any, tolerance: float) -> Callable[[Any], bool]:
    if isinstance(expected, str) or not math.isfinite(expected):
        return lambda given: given == expected
    return lambda given: abs(given - expected) <= tolerance * abs(expected)


def _value(quantity: str, inputs: Mapping[str, Any], right: Callable[[Any], bool]) -> Question:
    numbers = {name: float(i.values) for name, i in read_grid(Settled(inputs), [quantity]).inputs.items()}
    used_names = frozenset(name for name, _ in _core.chain(quantity, numbers))
    return Question(lambda: rs.value(quantity, Settled(inputs)), right, used_names)


def read_questions() -> dict[str, list[Question]]:
    """Collect the questions for the mutants of each quantity, its own hand values first.

    Further questions: hand values of dependents, the lecture's answers, limits.
    """
    direct: defaultdict[str, list[Question]] = defaultdict(list)
    indirect: defaultdict[str, list[Question]] = defaultdict(list)
    for path in sorted(set(REFERENCE.glob("*.toml")) - {RANGES}):
        for quantity, cases in read_data(path).items():
            for case in cases:
                right = _close(case["expected"], case.get("rtol", 1e-12))
                question = _value(quantity, case["inputs"], right)
                for name in question.rests_on:
                    (direct if name == quantity else indirect)[name].append(question)
    for call in entries_of("answers", None):
        if call["quantity"] in BUILT_IN.entries:
            used_names = _value(call["quantity"], call["inputs"], bool).rests_on
            right = _close(call["lecture"], call.get("tolerance", 0.005))
            question = Question(functools.partial(compute, call), right, used_names)
            for name in used_names:
                indirect[name].append(question)
    for name, limits in read_limits().items():
        direct[name] += limits
    return {name: direct[name] + indirect[name] for name in BUILT_IN.entries}


def read_limits() -> dict[str, list[Question]]:
    """Collect accepted and refused values by input.

    They are the ends of its range in ``ranges.toml``, and their neighbors.
    """
    by_input: dict[str, list[Question]] = {}
    tables = read_data(RANGES)
    for name, bound in tables.pop("at most").items():
        by_input[name] = [_refused(name, {name: 5, bound: 4}), _taken(name, {name: 4, bound: 4})]
    for limits, themes in tables.items():
        for name in (name for names in themes.values() for name in names):
            by_input.setdefault(name, []).extend(_at_limits(name, limits))
    return by_input


def _at_limits(name: str, limits: str) -> Iterator[Question]:
    ends = dict(part.split(" ") for part in limits.split(" and ")) if limits != "any number" else {}
    for side, outwards, inwards in ((">", -math.inf, math.inf), ("<", math.inf, -math.inf)):
        included = ends.get(f"{side}=")
        if included is None and side not in ends:
            yield _taken(name, {name: math.copysign(_UNLIMITED, outwards)})
            yield _refused(name, {name: outwards})
            continue
        x = float(ends[side] if included is None else included)
        yield (_refused if included is None else _taken)(name, {name: x})
        yield _taken(name, {name: math.nextafter(x, inwards)})
        if math.isfinite(x):
            yield _refused(name, {name: math.nextafter(x, outwards)})


def _taken(name: str, inputs: Mapping[str, Any]) -> Question:
    return Question(lambda: rs.value(name, Settled(inputs)), lambda x: x == inputs[name], frozenset())


def _refused(name: str, inputs: Mapping[str, Any]) -> Question:
    def ask() -> bool:
        with contextlib.suppress(rs.errors.ValueRangeError):
            rs.value(name, Settled(inputs))
            return False
        return True

    return Question(ask, bool, frozenset())


# -------------------------------------------------------------------------------------------------------- equivalence
#
# A formula whose technique is off has a simpler branch, without operations or inputs of the technique:
# select(share == 0 and tokens == inf, simple, general). If both branches agree, no value distinguishes the choice.
# A helper of several formulas is tested in the first of them.

Tree = tuple[Any, ...]  # an operation on trees, a quantity or a constant
_NEUTRAL = (0.0, math.inf)
_DRAWS = 20
_HELPER = 20  # operations of a helper's branch, apart from one argument


@dataclasses.dataclass(frozen=True)
class _Choice:
    """A select of a simpler branch: its step, with condition and general branch."""

    at: int
    condition: int
    general: int
    condition_tree: Tree
    general_tree: Tree


def is_equivalent(mutant: Mutant) -> bool:
    """Return True for a mutant without effect on values, or in a helper tested before.

    It has no effect if it selects the general branch where the simple one agrees.
    """
    if not mutant.steps:
        return False
    steps = _core.steps(mutant.quantity)
    changed = int(mutant.change[1 : mutant.change.index(":")])
    for choice in _choices(mutant.quantity):
        if changed == choice.at and mutant.steps == _changed(steps, choice.at, 2):
            return _agrees(mutant, steps, choice)
    return changed in _tried_before(mutant.quantity)


@functools.cache
def _choices(name: str) -> tuple[_Choice, ...]:
    steps = _core.steps(name)
    selects = (k for k, step in enumerate(steps) if step[0] == "select" and _tested(steps, int(step[1])))
    return tuple(
        _Choice(k, condition, general, _tree(steps, condition), _tree(steps, general))
        for k in selects
        for condition, general in [(int(steps[k][1]), int(steps[k][3]))]
    )


def _tested(steps: Sequence[Step], at: int) -> dict[str, float]:
    """Return the quantities a condition compares with neutral values, or none."""
    name, *operands = steps[at]
    if name == "both":
        both = [_tested(steps, int(n)) for n in operands]
        return both[0] | both[1] if all(both) else {}
    if name != "equal":
        return {}
    first, second = (steps[int(n)] for n in operands)
    if first[0] != "quantity" or second[0] != "constant" or second[1] not in _NEUTRAL:
        return {}
    quantity = BUILT_IN.entries[str(first[1])]
    return {} if quantity.choices else {quantity.name: float(second[1])}


def _agrees(mutant: Mutant, steps: Sequence[Step], choice: _Choice) -> bool:
    """Return True if original and mutant agree wherever the condition is true."""
    q = BUILT_IN.entries[mutant.quantity]
    free = [need for need in q.needs if not ancestors(need) & set(q.needs)]  # the remaining needs depend on these
    neutral = _tested(steps, choice.condition)
    return any(_agrees_for(mutant, needs, neutral) for needs in (free, q.needs))


def _agrees_for(mutant: Mutant, needs: Sequence[str], neutral: dict[str, float]) -> bool:
    rng = random.Random(0)
    for _ in range(_DRAWS):
        inputs = {need: _drawn(BUILT_IN.entries[need], rng) for need in needs} | neutral
        for name, bound in BUILT_IN.bounded_pairs:
            if name in inputs and bound in inputs:
                inputs[bound] = max(inputs[name], inputs[bound])
        try:
            expected = rs.value(mutant.quantity, Settled(inputs))
            with in_place(mutant):
                if not math.isclose(rs.value(mutant.quantity, Settled(inputs)), expected, rel_tol=1e-9):
                    return False
        except (rs.errors.MissingInput, rs.errors.ValueRangeError):  # a test would fail
            return False
    return True


def _drawn(q: Quantity, rng: random.Random) -> Any:
    if q.choices:
        return rng.choice(q.choices)
    return rng.uniform(q.low, q.high) if q.high <= 1 else min(max(10 ** rng.uniform(-2, 4), q.low), q.high)


@functools.cache
def _tried_before(name: str) -> frozenset[int]:
    """Return the steps of a formula made by a helper that an earlier formula shares."""
    steps = _core.steps(name)
    spared: set[int] = set()
    for choice in _choices(name):
        for other in _choices_before(name):
            if len(_tested(steps, choice.condition)) > 1 and choice.condition_tree == other.condition_tree:
                spared |= _below(steps, choice.condition)
            holes = _differences(choice.general_tree, other.general_tree)
            if len(holes) == 1 and len(_below(steps, choice.general)) >= _HELPER:
                ((argument, _),) = holes
                arguments = (k for k in range(len(steps)) if _tree(steps, k) == argument)
                spared |= _below(steps, choice.general).difference(*(_below(steps, k) for k in arguments))
    return frozenset(spared)


def _choices_before(name: str) -> Iterator[_Choice]:
    for earlier, q in BUILT_IN.entries.items():
        if earlier == name:
            return
        if q.computed:
            yield from _choices(earlier)


def _below(steps: Sequence[Step], at: int) -> set[int]:
    """Return a step and its transitive operands."""
    name, *operands = steps[at]
    if name in ("quantity", "constant"):
        return {at}
    return {at}.union(*(_below(steps, int(n)) for n in operands))


def _tree(steps: Sequence[Step], at: int) -> Tree:
    name, *operands = steps[at]
    return steps[at] if name in ("quantity", "constant") else (name, *(_tree(steps, int(n)) for n in operands))


def _differences(first: Tree, second: Tree) -> set[tuple[Tree, Tree]]:
    """Return the smallest differing pairs of subtrees."""
    if first == second:
        return set()
    leaf = {"quantity", "constant"} & {first[0], second[0]}
    if leaf or first[0] != second[0] or len(first) != len(second):
        return {(first, second)}
    return set().union(*(_differences(a, b) for a, b in zip(first[1:], second[1:], strict=True)))


# ------------------------------------------------------------------------------------------------------------ verdict


def read_equivalent() -> dict[tuple[str, str], str]:
    """Read the mutants with the values of the original, by quantity and change, with reasons."""
    tables = read_data(EQUIVALENT)
    return {(name, change): row["why"] for name, rows in tables.items() for row in rows for change in row["changes"]}


def survives(mutant: Mutant, questions: Iterable[Question]) -> bool:
    """Return True if all questions have the original's answers."""
    with in_place(mutant):
        return all(question.holds() for question in questions)


def main(arguments: Sequence[str] | None = None) -> int:
    """Try mutants one by one, and print those killed, by theme and kind, and the survivors."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--theme", help="only its quantities")
    parser.add_argument("--quantity", help="only this one, with the steps of its formula")
    options = parser.parse_args(arguments)
    questions, equivalent = read_questions(), read_equivalent()
    tried: Counter[tuple[str, str]] = Counter()
    alive: Counter[tuple[str, str]] = Counter()
    chosen = [q for q in BUILT_IN.entries.values() if q.theme == (options.theme or q.theme)]
    if not options.theme:
        chosen = [q for q in chosen if q.theme not in NOT_JUDGED]
    if options.quantity:
        chosen = [lookup(options.quantity)]
        for k, step in enumerate(_core.steps(options.quantity)):
            print(f"#{k}: {step[0]}({', '.join(map(str, step[1:]))})")
    for q in chosen:
        for mutant in mutants(q):
            if (q.name, mutant.change) not in equivalent and not is_equivalent(mutant):
                tried[q.theme, mutant.kind] += 1
                if survives(mutant, questions[q.name]):
                    alive[q.theme, mutant.kind] += 1
                    print(f"survives: {mutant}")
    return _verdict(tried, alive, len(equivalent))


def _verdict(tried: Counter[tuple[str, str]], alive: Counter[tuple[str, str]], equivalent: int) -> int:
    def share(of: Iterable[tuple[str, str]]) -> str:
        keys = list(of)
        among = sum(tried[key] for key in keys)
        return f"{among - sum(alive[key] for key in keys)}/{among}" if among else ""

    themes = list(dict.fromkeys(theme for theme, _ in tried))
    kinds = list(dict.fromkeys(kind for _, kind in tried))
    rows = [["killed of", *kinds, "all"]]
    rows += [[theme, *(share([(theme, kind)]) for kind in kinds), share((theme, k) for k in kinds)] for theme in themes]
    rows += [["all", *(share((theme, kind) for theme in themes) for kind in kinds), share(tried)]]
    for row in rows:
        print("".join(f"{cell:>13}" for cell in row))
    total = sum(tried.values())
    killed = total - sum(alive.values())
    print(
        f"{killed} of {total} mutants die, {killed / max(total, 1):.2%}. {equivalent} are equivalent to their originals"
    )
    untouched = [key for key in tried if tried[key] == alive[key]]
    for theme, kind in untouched:
        print(f"{theme}: none of its mutants of kind {kind} dies")
    return 1 if untouched or killed < LEAST_KILLED * total else 0


if __name__ == "__main__":
    sys.exit(main())
