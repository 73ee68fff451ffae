"""Formulas over quantities as steps, each with operands and the unit of its result.

Conditions and definitions are written in different ways, but their operations are the same. Units follow the rules of
the core, which prove the units of built-in formulas.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from roofslate import _core
from roofslate.errors import UnitError
from roofslate.registry.formats import position_of
from roofslate.units import COUNTED_UNITS, NUMBER, dimension_of

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roofslate.registry.registry import Quantity, Step
    from roofslate.units import Dimension

__all__ = ["Formula", "Recorder", "Steps", "Term", "depth", "written_out"]


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
    """A part of a formula: the step that computes it, and its allowed combinations.

    Attributes
    ----------
    position : int
        Of the step.
    unit : roofslate.units.Dimension
        Its text is written by `roofslate.units.spell`. It is `written` for plain numbers: counted units may be left out
        of the unit; `everywhere` for zero and infinity, which fit every unit.
    choices : tuple of str
        Of a choice: its words.
    holds : bool
        A comparison, or several joined.
    """

    position: int
    unit: Dimension = NUMBER
    choices: tuple[str, ...] = ()
    holds: bool = False


def _operands(step: Step) -> tuple[int, ...]:
    """The steps that a step takes, by their positions."""
    return () if step[0] in ("quantity", "constant") else step[1:]  # type: ignore[return-value]


def written_out(steps: Sequence[Step]) -> int:
    """Count the steps of a formula with shared steps repeated at each use, as in a text."""
    sizes: list[int] = []
    for step in steps:
        sizes.append(1 + sum(sizes[k] for k in _operands(step)))
    return sizes[-1]


def depth(steps: Sequence[Step], depth_of: Mapping[str, int]) -> int:
    """Return the longest chain of steps below a value, given the `depth_of` quantities."""
    depths: list[int] = []
    for step in steps:
        below = [depths[k] for k in _operands(step)] or [depth_of.get(str(step[1]), 0) if step[0] == "quantity" else 0]
        depths.append(1 + max(below))
    return depths[-1]


class Steps:
    """Steps of formulas without duplicates."""

    def __init__(self) -> None:
        self.positions: dict[Step, int] = {}

    def add(self, step: Step) -> int:
        return self.positions.setdefault(step, len(self.positions))

    def formula(self, term: Term) -> Formula:
        """Return the steps of a term, operands before operations, the term last."""
        steps = list(self.positions)
        new_positions: dict[int, int] = {}
        used: list[Step] = []
        waiting = [term.position]
        while waiting:
            k = waiting[-1]
            first = [n for n in _operands(steps[k]) if n not in new_positions]
            if first:
                waiting.append(first[0])
                continue
            waiting.pop()
            if k not in new_positions:
                new_positions[k] = len(used)
                operands = _operands(steps[k])
                used.append(
                    cast("Step", (steps[k][0], *(new_positions[n] for n in operands))) if operands else steps[k]
                )
        return Formula(tuple(used), str(term.unit), tuple(str(step[1]) for step in used if step[0] == "quantity"))


class Recorder(Steps, ABC):
    """Takes down a formula, operation by operation, with units checked.

    Readers and tracers of formulas derive from it, to name terms in the words of their writer.
    """

    hint_of_number = ""  # advice if an operation accepts only plain numbers

    @abstractmethod
    def told(self, term: Term) -> str:
        """A term as its writer knows it."""

    @abstractmethod
    def hint(self, a: Term, b: Term) -> str:
        """Advice for two terms of unlike units, empty if there is none."""

    # ------------------------------------------------------------------------------------------------------- terms

    def quantity(self, q: Quantity) -> Term:
        return Term(self.add(("quantity", q.name)), dimension_of(q.unit), choices=q.choices)

    def constant(self, value: float, unit: str = "1", *, written: bool = True, everywhere: bool = False) -> Term:
        return Term(self.add(("constant", value)), dimension_of(unit).literal(everywhere, written))

    def word(self, name: str, word: str, choices: tuple[str, ...]) -> Term:
        """The number of a word of the choice that is called so."""
        return self.constant(float(position_of(name, word, choices)))

    def operation(self, name: str, *terms: Term) -> Term:
        """Record an operation on terms and return its result.

        Raises
        ------
        UnitError
            Where the units do not fit.
        """
        unit, misfits = _core.unit_of(name, [term.unit for term in terms])
        if misfits:
            raise self._misfit(name, *(terms[k] for k in misfits))
        position = self.add((name, *(term.position for term in terms)))  # type: ignore[arg-type]
        holds = name in ("less", "less_equal", "equal", "both", "either")
        return Term(position, unit, holds=holds)

    def counted(self, term: Term) -> Term:
        """Return the number of tokens, sequences, parameters or chips."""
        unit = term.unit.count()
        if unit is not None:
            return Term(term.position, unit)
        listed = f"{', '.join(COUNTED_UNITS[:-1])} or {COUNTED_UNITS[-1]}"
        raise UnitError(f"count takes a counted quantity, in {listed}, but {self._in_unit(term)}")

    # ------------------------------------------------------------------------------------------------------- units

    def common(self, a: Term, b: Term) -> Dimension:
        """The unit that two terms share, or an error that names both."""
        unit = a.unit.shared(b.unit)
        if unit is None:
            raise self._misfit("", a, b)
        return unit

    def _misfit(self, name: str, *terms: Term) -> UnitError:
        """Build the error of an operation on plain numbers, or of two terms of unlike units."""
        if len(terms) == 2:
            return UnitError(f"{self._in_unit(terms[0])}, but {self._in_unit(terms[1])}{self.hint(*terms)}")
        return UnitError(f"{name} takes a number (unit 1), but {self._in_unit(terms[0])}{self.hint_of_number}")

    def _in_unit(self, term: Term) -> str:
        return f"{self.told(term)} is {'a number (unit 1)' if term.unit == NUMBER else f'in {term.unit}'}"
