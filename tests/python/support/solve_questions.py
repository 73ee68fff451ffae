"""Random questions to `solve`, and a check of the answers by a scan of the condition."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import roofslate as rs
from questions.draw import Chance, Scenario, computed, quantity
from roofslate import errors
from roofslate.grid.read import Settled

from support.evaluator import Evaluator

SCANNED = 2001
EPSILON = 2.0**-52
MANY = 256  # solutions
CLOSE = 1e-12
RESOLUTION = 1e-7  # boundaries that are nearer count as one
REFUSED = (
    errors.MissingInput,
    errors.IneffectiveInput,
    errors.ValueRangeError,
    errors.UnitError,
    errors.PresetError,
    errors.OutOfMemory,
)


@dataclass
class Question:
    name: str
    unknown: str
    relation: str
    limit: float
    start: float  # a value of the unknown in its usual or absurd size
    low: float
    high: float
    inputs: dict[str, Any] = field(default_factory=dict)

    @property
    def condition(self) -> str:
        return f"{self.name} {self.relation} {self.limit!r}"

    def values(self, x: np.ndarray) -> np.ndarray:
        y = rs.evaluate(self.name, Settled(self.inputs), progress=False, **{self.unknown: x})
        return np.broadcast_to(y.to_numpy(), x.shape)

    def rounding(self, x: np.ndarray) -> np.ndarray:
        """Return the distance of values from an independent evaluation in long doubles.

        On x86 these have 64 bits. Routines take doubles.
        """
        doubles = Evaluator({**self.inputs, self.unknown: x}, [self.name])
        evaluator = Evaluator.of_numbers({name: np.asarray(v, np.longdouble) for name, v in doubles.given.items()})
        with np.errstate(all="ignore"):
            off = np.abs(np.reshape(np.broadcast_to(evaluator[self.name], x.shape), x.shape) - self.values(x))
        off[~np.isfinite(off)] = 0
        return off.astype(float)

    def holds(self, v: np.ndarray) -> np.ndarray:
        c = self.limit
        return {"==": v == c, "<": v < c, "<=": v <= c, ">": v > c, ">=": v >= c}[self.relation]

    def ask(self, at: str) -> Any:
        return rs.solve(self.unknown, self.condition, Settled(self.inputs), at=at, progress=False)


def draw(seed: int, *, absurd: bool) -> Question | None:
    """Draw a question whose condition is usually met somewhere, or None for invalid inputs."""
    chance = Chance(seed)
    name = chance.choice([n for n in computed() if not quantity(n).choices])
    scenario = Scenario(chance, [name], presets=0.2, expand=chance.choice([1.0, 0.95, 0.5 if absurd else 0.95]))
    numbers = {n: x for n, x in scenario.inputs.items() if isinstance(x, float) and math.isfinite(x)}
    if absurd:
        for n, x in numbers.items():
            if chance.yes(0.4):
                y = x * 10.0 ** chance.uniform(-6, 6)
                y = -y if quantity(n).computed and chance.yes(0.1) else y
                q = quantity(n)
                scenario.inputs[n] = y if q.computed else min(max(y, q.low), q.high) if x else x
    unknowns = [n for n in numbers if not quantity(n).choices]
    if not unknowns:
        return None
    unknown = chance.choice(unknowns)
    inputs: dict[str, Any] = {**scenario.presets, **scenario.inputs}
    start = inputs.pop(unknown)
    q = quantity(unknown)
    given = {n: x for k, p in scenario.presets.items() for n, x in _catalog(k)[p].values.items()} | scenario.inputs
    bounds = [x for n, x in given.items() if quantity(n).bound == unknown and n != unknown and isinstance(x, float)]
    low = max([q.low if not q.computed else -1e75, *bounds])
    high = min(
        [q.high if not q.computed else 1e75, *([given[q.bound]] if isinstance(given.get(q.bound), float) else [])]
    )
    if not (math.isfinite(start) and low <= start <= high):
        return None
    question = Question(name, unknown, chance.choice(["==", "==", "<=", "<", ">=", ">"]), 0.0, start, low, high, inputs)
    try:
        c = float(question.values(np.array([start]))[0])
    except REFUSED:
        return None
    if not math.isfinite(c) or not _is_own(question, c):
        return None
    if chance.yes(0.2):
        c = c * chance.choice([0.5, 0.9, 1.1, 2.0, 100.0])
    question.limit = c
    return question


def _is_own(question: Question, value: float) -> bool:
    """Return True if neighbors do not change the value, as the rule for layouts may."""
    start = question.start
    neighbors = [start * 1e-6, start * 1e6] if start else [-1e6, -1.0, 1.0, 1e6]
    with_others = np.unique(np.clip([start, *neighbors], question.low, question.high))
    try:
        return float(question.values(with_others)[with_others == start][0]) == value
    except REFUSED:
        return False


def _catalog(keyword: str) -> Any:
    return {"model": rs.models, "hardware": rs.hardware, "prices": rs.prices, "loss_law": rs.loss_laws}[keyword]


class Scan:
    """The condition at 2,001 values of the unknown, and how far rounding shakes it there."""

    def __init__(self, question: Question, *, in_more_digits: bool) -> None:
        self.question = question
        self.in_more_digits = in_more_digits
        self.x = self._places()
        self.v = self.values(self.x)
        self.tolerance = np.full(self.x.shape, CLOSE * abs(question.limit))
        with np.errstate(invalid="ignore", over="ignore"):
            near = math.inf if in_more_digits else 1e-3 * abs(question.limit) + 1e-300
            doubtful = np.abs(self.v - question.limit) <= near
        if doubtful.any():
            self.tolerance[doubtful] += self.noise(self.x[doubtful])

    def _places(self) -> np.ndarray:
        q, n = self.question, SCANNED
        size = abs(q.start) or 1.0
        ends = [x for x in (q.low, q.high) if math.isfinite(x) and x != 0 and abs(x) < 1e75]
        wide, near = (
            size * np.geomspace(1e-9, 1e9, n * 3 // 5),
            size * np.geomspace(0.2, 5, n - n * 3 // 5 - len(ends) - 1),
        )
        sign = -1 if q.start < 0 else 1
        x = np.concatenate([sign * wide, sign * near, ends, [q.start]])
        if q.low < 0 and q.high > 0:
            x[::4] *= -1
            x[-1] = q.start
        x = np.unique(x[(x >= q.low) & (x <= q.high)])
        return x[x != 0] if x.size > 1 else x

    def cut(self, roots: list[float]) -> None:
        """Select points beyond the first and the last of the given solutions."""
        inside = (self.x >= roots[0]) & (self.x <= roots[-1])
        self.x, self.v, self.tolerance = self.x[inside], self.v[inside], self.tolerance[inside]

    def values(self, x: np.ndarray) -> np.ndarray:
        return self.question.values(x)

    def noise(self, x: np.ndarray, *, steady: bool = False) -> np.ndarray:
        """Return the change of a value among neighbors of x, except for one jump.

        Unsteady changes are measured a bit farther, unless only neighbors count. The distance from the formula in more
        digits also counts: terms that cancel may be off by the same on many neighbors.
        """
        moves = self._moves(x, EPSILON, 0)
        if not steady:
            moves = np.maximum(moves, self._moves(x, 2.0**-20, 1))
        return np.maximum(moves, 4 * self.question.rounding(x)) if self.in_more_digits else moves

    def _moves(self, x: np.ndarray, width: float, drift: int) -> np.ndarray:
        steps = x[:, None] * (1 + width * np.arange(-8, 9))
        np.clip(steps, self.question.low, self.question.high, out=steps)
        flat = np.sort(steps.ravel())
        v = self.values(flat)[np.argsort(np.argsort(steps.ravel(), kind="stable"))].reshape(steps.shape)
        with np.errstate(invalid="ignore", over="ignore"):
            moves = np.diff(v, axis=1)
            moves = np.sort(np.abs(moves - drift * np.median(moves, axis=1, keepdims=True)), axis=1)
        moves[~np.isfinite(moves)] = 0
        with np.errstate(over="ignore"):
            return 8 * moves[:, -2]


def roots_of(answer: Any) -> list[float]:
    return [x for x in np.atleast_1d(answer.to_numpy()).tolist() if not math.isnan(x)]


def complaints(q: Question) -> tuple[list[str], bool]:
    """Return all mistakes in the three answers, and True if the search gave up."""
    answers = {at: q.ask(at) for at in ("smallest", "largest", "all")}
    reasons = {at: answer["reason"].item().partition(":")[0] for at, answer in answers.items()}
    roots = roots_of(answers["all"])
    said = _views(answers, reasons, roots)
    wrong: list[str] = []
    for in_more_digits in (False, True):  # which take longer
        scan = Scan(q, in_more_digits=in_more_digits)
        if reasons["all"] == "many":  # of the searched range
            scan.cut(roots)
        against = _equality if q.relation == "==" else _inequality
        wrong = against(q, scan, roots, reasons["all"])
        if not wrong:
            break
    said += wrong
    return said, "undecided" in reasons.values()


def _views(answers: dict[str, Any], reasons: dict[str, str], roots: list[float]) -> list[str]:
    said = []
    for at, k in (("smallest", 0), ("largest", -1)):
        one = answers[at].item()
        if reasons[at] == "undecided":
            continue
        if reasons["all"] == "undecided":
            if at == "smallest" and roots and not math.isnan(one) and one > roots[0]:
                said.append(f"views: {at} {one!r}, all {roots[:5]}")
            elif reasons[at] in ("never", "always", "undefined") and roots:
                said.append(f"views: {at} {reasons[at]}, all {roots[:5]}")
        elif reasons["all"] == "many":
            if len(roots) < MANY:
                said.append(f"many: but {len(roots)} solutions")
            if at == "smallest" and not one <= roots[0]:
                said.append(f"views: {at} {one!r}, all begins at {roots[0]!r}")
            if at == "largest" and not one >= roots[-1]:
                said.append(f"views: {at} {one!r}, all goes on beyond {roots[-1]!r}")
        elif (reasons[at] != reasons["all"]) or (one != roots[k] if roots else not math.isnan(one)):
            said.append(f"views: {at} {one!r} {reasons[at]}, all {roots[:5]} {reasons['all']}")
    said += [f"twice: {a!r} {b!r}" for a, b in itertools.pairwise(roots)
             if b - a <= 1e-8 * max(abs(a), abs(b)) and math.isfinite(b - a)]  # fmt: skip
    return said


def _tolerance(scan: Scan, x: np.ndarray) -> np.ndarray:
    return CLOSE * abs(scan.question.limit) + scan.noise(x)


def _equality(q: Question, scan: Scan, roots: list[float], reason: str) -> list[str]:
    said = []
    c = q.limit
    finite = np.array([x for x in roots if math.isfinite(x) and x != 0])
    if finite.size:
        v = scan.values(finite)
        for x, y, tolerance in zip(finite, v, _tolerance(scan, finite), strict=True):
            if not abs(y - c) <= tolerance:
                said.append(f"false root: {x!r} has {y!r}, not {c!r} (tolerance {tolerance:.1e})")
    if reason == "undecided":
        return said
    agreed = np.abs(scan.v - c) <= scan.tolerance
    if reason == "always":
        if not agreed.all():
            k = int(np.argmin(agreed))
            said.append(f"always: but at {scan.x[k]!r} it is {scan.v[k]!r}")
        return said
    places = list(scan.x[np.abs(scan.v - c) <= CLOSE * abs(c)])
    said += [f"missed: at {x!r} they agree ({reason})" for x in _unexplained(scan, places, roots)]
    with np.errstate(invalid="ignore", over="ignore"):
        d: np.ndarray = np.where(np.isfinite(scan.v), scan.v - c, np.nan)
        sure = np.abs(d) > scan.tolerance
        crossing = np.flatnonzero(sure[:-1] & sure[1:] & (d[:-1] * d[1:] < 0) & (scan.x[:-1] * scan.x[1:] > 0))
    if crossing.size:
        crossed = _bisected(scan, scan.x[crossing], scan.x[crossing + 1], d[crossing])
        said += [f"missed root: {x!r} ({reason})" for x in _unexplained(scan, crossed, roots)]
    return said


def _bisected(scan: Scan, a: np.ndarray, b: np.ndarray, sign: np.ndarray) -> list[float]:
    """Return the points at which the sides cross without a jump."""
    c = scan.question.limit
    a, b = a.copy(), b.copy()
    for _ in range(80):
        m = a / 2 + b / 2
        m = np.where(a * b > 0, np.sign(a) * np.sqrt(np.abs(a)) * np.sqrt(np.abs(b)), m)
        m = np.where((m > a) & (m < b), m, a / 2 + b / 2)
        order = np.argsort(m)
        v = np.empty_like(m)
        v[order] = scan.values(m[order])
        is_before = (v - c) * sign > 0
        a, b = np.where(is_before, m, a), np.where(is_before, b, m)
    both = np.concatenate([a, b])
    order = np.argsort(both)
    v = np.empty_like(both)
    v[order] = scan.values(both[order])
    tolerance = CLOSE * abs(c) + scan.noise(a, steady=True)
    va, vb = v[: a.size], v[a.size :]
    tolerance = np.minimum(tolerance, 0.01 * abs(c) + CLOSE)  # more is a jump or a pole
    smooth = (np.abs(va - c) <= tolerance) & (np.abs(vb - c) <= tolerance)
    return a[smooth].tolist()


def _unexplained(scan: Scan, places: list[float], roots: list[float]) -> list[float]:
    """Values at which the sides agree that are no root, nor on a stretch that ends at one."""
    missing = []
    finite = [x for x in roots if math.isfinite(x)]
    for x in places:
        if any(abs(x - r) <= RESOLUTION * abs(r) for r in finite):
            continue
        if math.inf in roots or -math.inf in roots or 0.0 in roots:
            continue_to = [r for r in roots if not math.isfinite(r) or r == 0]
        else:
            continue_to = []
        near = [*sorted(finite, key=lambda r: abs(r - x))[:2], *continue_to]
        if not any(_stretch(scan, x, r) for r in near):
            missing.append(x)
            break
    return missing


def _stretch(scan: Scan, x: float, r: float) -> bool:
    q = scan.question
    if r == 0 or not math.isfinite(r):
        r = math.copysign(abs(x) * (1e-6 if r == 0 else 1e6), x)
        r = min(max(r, q.low), q.high)
    if x * r <= 0:
        to_zero = np.geomspace(1, 1e-30, 33)
        between = np.concatenate([x * to_zero, r * to_zero])
    else:
        between = math.copysign(1, x) * np.geomspace(min(abs(x), abs(r)), max(abs(x), abs(r)), 33)[1:-1]
    between = np.unique(np.clip(between, q.low, q.high))
    return bool((np.abs(scan.values(between) - q.limit) <= _tolerance(scan, between)).all())


def _is_alone(scan: Scan, x: float, holds: bool) -> bool:
    """A single value is unlike all around it: a pole, or the closed end of a jump."""
    neighbors = x * (1 + 1e-9 * np.array([-3.0, -2.0, -1.0, 1.0, 2.0, 3.0]))
    return bool((scan.question.holds(scan.values(np.sort(neighbors))) != holds).all())


def _touches(scan: Scan, x: float) -> bool:
    """It holds at one value, or below the resolution, and neither below nor above."""
    if not math.isfinite(x):
        return False
    steps = np.array([-2.0, -1.0, 0.0, 1.0, 2.0])
    around = np.sort(x * (1 + RESOLUTION * steps)) if x else 1e-75 * steps
    return scan.question.holds(scan.values(around)).tolist() == [False, False, True, False, False]


def _inequality(q: Question, scan: Scan, roots: list[float], reason: str) -> list[str]:
    said = []
    with np.errstate(invalid="ignore", over="ignore"):
        sure = ~(np.abs(scan.v - q.limit) <= scan.tolerance)  # undefined is sure to be false
    holds = q.holds(scan.v)
    finite = np.array([x for x in roots if math.isfinite(x) and x != 0])
    if finite.size:
        v = scan.values(finite)
        for x, y, tolerance in zip(finite, v, _tolerance(scan, finite), strict=True):
            if not bool(q.holds(np.array([y]))[0]) and not abs(y - q.limit) <= tolerance:
                said.append(f"boundary: at {x!r} it is {y!r}, which violates the condition")
    if reason == "undecided":
        return said
    x, holds = scan.x[sure], holds[sure]
    if not x.size:
        return said
    if reason in ("always", "never", "undefined"):
        wrong = holds != (reason == "always")
        if wrong.any():
            k = int(np.argmax(wrong))
            said.append(f"{reason}: but at {x[k]!r} it is {scan.values(x[k : k + 1])[0]!r}")
        return said
    for k in range(x.size - 1):
        if k > 0 and holds[k - 1] != holds[k] != holds[k + 1] and _is_alone(scan, x[k], holds[k]):
            break
        if k + 2 < x.size and holds[k] != holds[k + 1] != holds[k + 2] and _is_alone(scan, x[k + 1], holds[k + 1]):
            break
        if any(min(abs(x[k] - r), abs(x[k + 1] - r)) <= 1e-9 * abs(r) for r in roots):
            continue
        crossed = sum(x[k] < r < x[k + 1] and not _touches(scan, r) for r in roots)
        if (crossed % 2 == 1) != (holds[k] != holds[k + 1]):
            said.append(
                f"parity: {crossed} boundaries between {x[k]!r} and {x[k + 1]!r}, holds {holds[k]} {holds[k + 1]}"
            )
            break
    return said
