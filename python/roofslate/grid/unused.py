"""Reasons for inputs without effect: unrelated, or blocked by an input, preset or default."""

from __future__ import annotations

import difflib
import functools
from typing import TYPE_CHECKING, Any, Literal, NamedTuple
from weakref import WeakKeyDictionary

import numpy as np

from roofslate import _core
from roofslate.errors import MissingInput
from roofslate.grid.basis import chains_of
from roofslate.presets.calibration_files import shipped, shipped_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from roofslate.registry.registry import Quantity, Registry

__all__ = ["Given", "Reason", "listed", "reasons"]

_VARYING = np.array([0.0, 1.0])  # of such an input the engine knows no value
_SIMILAR = 0.5  # of two names, at least
_LISTED = 3  # outputs that a message names


class Given(NamedTuple):
    """An input by its influence on branches: its value, if that is a choice or an ideal."""

    name: str
    origin: str | None  # the preset that supplies it
    value: float | None
    varies: bool


class Reason(NamedTuple):
    """Reason why no output takes an input."""

    name: str
    kind: Literal["unrelated", "explicit", "implicit", "elsewhere", "value"]
    message: str


def listed(names: Iterable[str]) -> str:
    """``a, b or c`` of a few names, and how many more there are."""
    each = list(names)
    shown, more = each[:_LISTED], len(each) - _LISTED
    if more > 0:
        return f"{', '.join(shown)} or {more} others"
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} or {shown[-1]}"


_found: WeakKeyDictionary[Registry, dict[Any, tuple[Reason, ...]]] = WeakKeyDictionary()
_MOST_FOUND = 512


def reasons(
    registry: Registry, outputs: tuple[str, ...], unused: tuple[str, ...], given: tuple[Given, ...]
) -> tuple[Reason, ...]:
    """Explain each unused input.

    Reasons are cached, as they depend only on names, choices, and ideal values.
    """
    cache = _found.setdefault(registry, {})
    key = outputs, unused, given
    if key not in cache:
        if len(cache) >= _MOST_FOUND:
            cache.clear()
        call = _Call(registry, outputs, {g.name: g for g in given})
        cache[key] = tuple(call.reason(name) for name in unused)
    return cache[key]


@functools.cache
def _constants() -> frozenset[str]:
    """Names of the constants of the package's calibrations."""
    return frozenset(name for calibration in shipped_names() for name in shipped(calibration))


def _taken(grid: _core.Grid, output: str) -> list[str]:
    try:
        return grid.used([output])
    except MissingInput:  # of quantities that follow from one another
        return []


class _Call:
    """Outputs and inputs of a call, asked with other values."""

    def __init__(self, registry: Registry, outputs: tuple[str, ...], given: Mapping[str, Given]) -> None:
        self._registry, self._outputs, self._given = registry, outputs, given
        self._known = registry.entries
        self._ancestors = frozenset(outputs).union(*(registry.ancestors(output) for output in outputs))

    def reason(self, name: str) -> Reason:
        """Reason why no output takes an input."""
        if name not in self._ancestors:
            return Reason(name, "unrelated", f"{name!r} does not enter {listed(self._outputs)}{self._hint(name)}")
        if self._takes(name, ()):
            return Reason(name, "value", "")
        rate = next((other for other in ("arrival_rate", "session_rate") if other in self._given), None)
        if name == "concurrency" and rate is not None:
            message = f"{name!r} is of a closed loop, and {rate} is given: give one of the two"
            return Reason(name, "implicit", message)
        head = f"{name!r} has no effect on {listed(self._outputs)}: "
        candidates = list(self._candidates(name))
        for candidate in candidates:
            if self._decides(name, candidate):
                return self._branch(name, head, [candidate])
        if self._takes(name, candidates):
            smallest = list(candidates)
            for candidate in candidates:
                fewer = [other for other in smallest if other != candidate]
                if self._takes(name, fewer):
                    smallest = fewer
            return self._branch(name, head, smallest)
        cuts = list(self._cuts(name))
        if by_caller := [cut for cut in cuts if self._given[cut].origin is None]:
            return Reason(name, "explicit", f"{head}{by_caller[0]} is given")
        if cuts:
            return Reason(name, "implicit", f"{head}{self._given[cuts[0]].origin} supplies {cuts[0]}")
        return Reason(name, "unrelated", f"{name!r} does not enter {listed(self._outputs)} here")

    def _decides(self, name: str, candidate: str) -> bool:
        """Return True if an output takes an input for another word of a choice or another number."""
        if not self._takes(name, [candidate]):
            return False
        return not self._known[candidate].choices or bool(self._alternatives(name, candidate, [candidate]))

    def _branch(self, name: str, head: str, deciding: Sequence[str]) -> Reason:
        stated = " and ".join(map(self._stated, deciding))
        if any(c in self._given and self._given[c].origin is None for c in deciding):
            return Reason(name, "explicit", head + stated)
        kind: Literal["elsewhere", "implicit"] = "elsewhere" if self._acts_elsewhere(name, deciding) else "implicit"
        ways = " and ".join(f"{c}={self._alternatives(name, c, deciding)}" for c in deciding)
        ways += "".join(f" or calibration={c!r}" for c in self._calibrations(name, deciding))
        return Reason(name, kind, f"{head}{stated}; give {ways}")

    def _acts_elsewhere(self, name: str, deciding: Iterable[str]) -> bool:
        """Return True if an unused input acts on downstream quantities or its technique is off.

        A context is part of a scenario whose pass takes it, even if its compute time does not. A technique that is off
        disables inputs that serve other quantities too. A constant of the lower bound is no technique.
        """
        related = frozenset[str]().union(*map(self._registry.descendants, self._outputs))
        if chains := frozenset[str]().union(*(chains_of(self._registry, output) for output in self._outputs)):
            related = frozenset(other for other in related if frozenset() < chains_of(self._registry, other) <= chains)
        if all(c not in self._given and c not in _constants() for c in deciding):
            related |= frozenset(self._registry.users.get(name, ()))
        return _Call(self._registry, tuple(sorted(related)), self._given)._takes(name, ())

    def _calibrations(self, name: str, deciding: Sequence[str]) -> Iterator[str]:
        """Calibrations on the chain of the outputs that let an input act."""
        for calibration in ("serving", "training"):
            fitted = dict(shipped(calibration))
            values = {c: self._encoded(c, fitted[c]) for c in deciding if c in fitted and c not in self._given}
            reached = any(calibration in chains_of(self._registry, output) for output in self._outputs)
            if reached and len(values) == len(deciding) and self._takes(name, (), values):
                yield calibration

    def _stated(self, name: str) -> str:
        """A value that leaves an input out, and where it comes from."""
        given, q, x = self._given.get(name), self._known[name], self._value(name)
        if not q.choices:
            return f"{name} is {x:g}{f' by {given.origin}' if given is not None and given.origin else ''}"
        word = q.choices[int(x)]
        source = given.origin if given is not None else "the floor" if x == q.ideal else "the default"
        return f"{name}={word!r}{f' ({source})' if source else ''} leaves it out"

    def _encoded(self, name: str, value: float | str) -> float:
        return float(self._known[name].choices.index(value)) if isinstance(value, str) else value

    def _alternatives(self, name: str, candidate: str, deciding: Sequence[str]) -> str:
        """List words of a choice that let an input act, for any other values. None for a number."""
        words = self._known[candidate].choices
        remaining = [other for other in deciding if other != candidate]
        acting = [word for k, word in enumerate(words) if self._takes(name, remaining, {candidate: float(k)})]
        return listed(map(repr, acting)) if acting else ""

    def _value(self, name: str) -> float:
        given = self._given.get(name)
        value = given.value if given is not None else self._known[name].default
        return value if value is not None else 0.0

    def _candidates(self, name: str) -> Iterator[str]:
        """Yield inputs that decide between formulas: the caller's, then choices, then constants."""
        ranked = []
        for other in self._ancestors - {name}:
            q, given = self._known[other], self._given.get(other)
            if given is not None:
                if given.value is not None:
                    ranked.append((given.origin is not None, not q.choices, other))
            elif not self._given.keys().isdisjoint(q.implied_by):
                continue  # the caller's input decides
            elif not q.computed and not q.fallback and q.default is not None and (q.choices or q.ideal is not None):
                ranked.append((True, not q.choices, other))
            elif not q.computed and not q.fallback and q.default == 0:
                ranked.append((True, True, other))
        yield from (other for *_, other in sorted(ranked))

    def _cuts(self, name: str) -> Iterator[str]:
        """Given quantities that would follow from an input."""
        seen = set(self._outputs)
        waiting = list(self._outputs)
        while waiting:
            at = waiting.pop(0)
            if at in self._given:
                if at != name and self._registry.reaches(name, at):
                    yield at
                continue
            q = self._known[at]
            new = [need for need in (*q.needs, *filter(None, [q.fallback])) if need not in seen]
            seen.update(new)
            waiting += new

    def _takes(self, name: str, varied: Sequence[str], values: Mapping[str, float] | None = None) -> bool:
        """Return True if an output takes an input after variation of others, with gaps filled."""
        inputs: dict[str, object] = {}
        for need in self._ancestors:
            q = self._known[need]
            if not q.computed and not q.fallback and q.default is None:
                inputs[need] = _VARYING, [0]
        for given in self._given.values():
            inputs[given.name] = (_VARYING, [0]) if given.value is None or given.varies else given.value
        inputs |= {other: (_VARYING, [0]) for other in (*varied, name)}
        inputs |= values or {}
        grid = _core.Grid([len(_VARYING)], inputs)
        return any(name in _taken(grid, output) for output in self._outputs)

    def _hint(self, name: str) -> str:
        """The input of the same unit and of the most similar name that does enter an output."""
        q = self._known[name]

        def similarity(other: Quantity) -> float:
            return difflib.SequenceMatcher(None, name, other.name).ratio()

        near = [
            (similarity(other), other.name)
            for other in map(self._known.__getitem__, self._ancestors)
            if other.unit == q.unit and other.name not in self._given and bool(other.choices) == bool(q.choices)
            and (not other.computed or other.may_be_given)
        ]  # fmt: skip
        ranked = sorted((pair for pair in near if pair[0] >= _SIMILAR), reverse=True)
        best = next((other for _, other in ranked if self._takes(other, ())), None)
        return f"; did you mean {best!r}?" if best else ""
