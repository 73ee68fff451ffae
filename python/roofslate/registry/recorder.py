"""Formulas over quantities, step by step: what each operation takes, and the unit of what it gives.

Conditions and definitions are written in different ways; their arithmetic is this one: the rules of `unit.hpp`, at run
time.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from roofslate import units
from roofslate._base.messages import unknown
from roofslate.errors import UnitError

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roofslate.registry.registry import Quantity, Step

__all__ = ["Formula", "Recorder", "Steps", "Term", "depth", "written_out"]


_COUNTED = ("token", "sequence", "parameter", "chip")


@dataclass(frozen=True)
class Formula:
    """A value computed from quantities, step by step.

    Attributes
    ----------
    steps : tuple of tuple
        In order of computation, each step once; the last is the value. A step is ``("quantity", name)``,
        ``("constant", value)`` in base units, or an operation with the positions of the steps that it takes:
        ``("neg", i)``, ``sqrt exp log ceil floor``; ``("add", i, j)``, ``sub mul div min max pow``, and those that are
        1 where they hold and 0 elsewhere, ``less less_equal equal both either``; ``("select", i, j, k)``, j where i is
        not 0, k elsewhere; or the name of a routine, ``("erlang_c", i, j)``.
    unit : str
        Unit of the value, made of base units, as `roofslate.units.spell` writes it.
    quantities : tuple of str
        The quantities that it needs, in the order in which they are first named.
    """

    steps: tuple[Step, ...]
    unit: str
    quantities: tuple[str, ...]


@dataclass(frozen=True)
class Term:
    """A part of a formula: the step that computes it, and what it may be combined with.

    Attributes
    ----------
    position : int
        Of the step.
    unit : str
        As `roofslate.units.spell` writes it.
    written : bool
        Numbers alone: what they count may be left out of the unit.
    everywhere : bool
        Zero and infinity, which fit every unit.
    choices : tuple of str
        Of a choice: its words.
    holds : bool
        A comparison, or several joined.
    """

    position: int
    unit: str = "1"
    written: bool = False
    everywhere: bool = False
    choices: tuple[str, ...] = ()
    holds: bool = False


def _operands(step: Step) -> tuple[int, ...]:
    """The steps that a step takes, by their positions."""
    return () if step[0] in ("quantity", "constant") else step[1:]  # type: ignore[return-value]


def written_out(steps: Sequence[Step]) -> int:
    """How many steps a formula has if each is repeated wherever it is taken, as in a text."""
    sizes: list[int] = []
    for step in steps:
        sizes.append(1 + sum(sizes[k] for k in _operands(step)))
    return sizes[-1]


def depth(steps: Sequence[Step], depth_of: Mapping[str, int]) -> int:
    """How many steps, each taking the next, lead down from the value; `depth_of` some quantities."""
    depths: list[int] = []
    for step in steps:
        below = [depths[k] for k in _operands(step)] or [depth_of.get(str(step[1]), 0) if step[0] == "quantity" else 0]
        depths.append(1 + max(below))
    return depths[-1]


class Steps:
    """The steps of formulas; an equal step is kept once."""

    def __init__(self) -> None:
        self.positions: dict[Step, int] = {}

    def add(self, step: Step) -> int:
        return self.positions.setdefault(step, len(self.positions))

    def formula(self, term: Term) -> Formula:
        """What the term is made of, each operation right after what it takes; the term is the last step."""
        steps = list(self.positions)
        place: dict[int, int] = {}
        kept: list[Step] = []
        waiting = [term.position]
        while waiting:
            k = waiting[-1]
            first = [n for n in _operands(steps[k]) if n not in place]
            if first:
                waiting.append(first[0])
                continue
            waiting.pop()
            if k not in place:
                place[k] = len(kept)
                taken = _operands(steps[k])
                kept.append(cast("Step", (steps[k][0], *(place[n] for n in taken))) if taken else steps[k])
        return Formula(tuple(kept), term.unit, tuple(str(step[1]) for step in kept if step[0] == "quantity"))


class Recorder(Steps, ABC):
    """Takes down a formula, operation by operation, with units checked.

    Who reads or runs what somebody has written derives from it, to tell terms in the writer's words.
    """

    @abstractmethod
    def told(self, term: Term) -> str:
        """A term as its writer knows it."""

    @abstractmethod
    def hint(self, a: Term, b: Term) -> str:
        """What may help where two terms have unlike units; nothing where that is unclear."""

    # ------------------------------------------------------------------------------------------------------- terms

    def quantity(self, q: Quantity) -> Term:
        return Term(self.add(("quantity", q.name)), units.spell(q.unit), choices=q.choices)

    def constant(self, value: float, unit: str = "1", *, written: bool = True, everywhere: bool = False) -> Term:
        return Term(self.add(("constant", value)), unit, written, everywhere)

    def word(self, name: str, word: str, choices: tuple[str, ...]) -> Term:
        """The number of a word of the choice that is called so."""
        if word not in choices:
            raise unknown(name, word, choices)
        return self.constant(float(choices.index(word)))

    def operation(self, name: str, *terms: Term) -> Term:
        """What an operation gives of terms that it takes.

        Raises
        ------
        UnitError
            Where the units do not fit.
        """
        unit, everywhere = self._unit_of(name, terms)
        position = self.add((name, *(term.position for term in terms)))  # type: ignore[arg-type]
        holds = name in ("less", "less_equal", "equal", "both", "either")
        return Term(position, unit, all(term.written for term in terms), everywhere, holds=holds)

    def counted(self, term: Term) -> Term:
        """How many tokens, sequences, parameters or chips: a number."""
        names = [part.partition("^")[0] for part in term.unit.replace("*", "/").split("/")]
        if term.everywhere or all(name in (*_COUNTED, "1") for name in names):
            return Term(term.position, "1", term.written, term.everywhere)
        listed = f"{', '.join(_COUNTED[:-1])} or {_COUNTED[-1]}"
        raise UnitError(f"count takes what is counted, in {listed}, but {self._in_unit(term)}")

    # ------------------------------------------------------------------------------------------------------- units

    def _unit_of(self, name: str, terms: tuple[Term, ...]) -> tuple[str, bool]:
        """The unit of what an operation gives, and whether it fits every unit."""
        if name in ("mul", "div"):
            a, b = terms
            unit_of = units.multiply if name == "mul" else units.divide
            return unit_of(a.unit, b.unit), a.everywhere or b.everywhere
        if name in ("neg", "ceil", "floor"):
            return terms[0].unit, terms[0].everywhere
        if name == "sqrt":
            return units.root(terms[0].unit), terms[0].everywhere
        if name in ("add", "sub", "min", "max"):
            return self.common(*terms), all(term.everywhere for term in terms)
        if name == "select":
            return self.common(*terms[1:]), all(term.everywhere for term in terms[1:])
        if name in ("less", "less_equal", "equal"):
            self.common(*terms)
        elif name not in ("both", "either"):  # exp, log, pow and routines
            for term in terms:
                self.number(name, term)
        return "1", False

    def shared(self, a: Term, b: Term) -> str | None:
        """The unit that two terms share; None where they share none."""
        if a.unit == b.unit or b.everywhere or (b.written and units.fits(b.unit, a.unit)):
            return a.unit
        if a.everywhere or (a.written and units.fits(a.unit, b.unit)):
            return b.unit
        return None

    def common(self, a: Term, b: Term) -> str:
        """The unit that two terms share, or an error that tells both."""
        unit = self.shared(a, b)
        if unit is None:
            raise UnitError(f"{self._in_unit(a)}, but {self._in_unit(b)}{self.hint(a, b)}")
        return unit

    def number(self, name: str, term: Term) -> None:
        """Refuse what is no number where an operation takes nothing else."""
        if term.unit != "1" and not term.everywhere:
            raise UnitError(f"{name} takes a number (unit 1), but {self._in_unit(term)}")

    def _in_unit(self, term: Term) -> str:
        return f"{self.told(term)} is {'a number (unit 1)' if term.unit == '1' else f'in {term.unit}'}"
