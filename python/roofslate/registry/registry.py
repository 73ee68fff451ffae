"""The registry of quantities, read from the compiled core.

The caller's registry inside of ``with rs.definitions():`` belongs to the scope, elsewhere to the process. A registry
never changes. A definition makes another one.
"""

from __future__ import annotations

import functools
import html
import math
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Concatenate, ParamSpec, TypeVar

from roofslate import _core
from roofslate._base.locks import cached_property
from roofslate._base.messages import shown, unknown
from roofslate._base.toml import read_data
from roofslate.errors import InputTypeError, UnknownName
from roofslate.registry.aliases import RANKS, aliases, keyword_aliases, named_by, rank

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Iterable, Mapping, Sequence

__all__ = [
    "Definition",
    "Quantity",
    "Registry",
    "Scope",
    "Step",
    "entries",
    "kept_by_registry",
    "lookup",
    "matching",
    "quantity",
]


Step = tuple[str, str] | tuple[str, float] | tuple[str, int] | tuple[str, int, int] | tuple[str, int, int, int]


@dataclass(frozen=True)
class Definition:
    """A quantity made by `define`, with the steps of its formula.

    The steps come from a `roofslate.registry.recorder.Formula`.
    """

    name: str
    symbol: str
    unit: str
    brief: str
    source: str
    steps: tuple[Step, ...]

    @property
    def needs(self) -> tuple[str, ...]:
        """The quantities that it takes."""
        return tuple(str(step[1]) for step in self.steps if step[0] == "quantity")


@dataclass(frozen=True, repr=False)
class Quantity:
    """One quantity: its meaning, and its formula.

    Attributes
    ----------
    name : str
        Its name everywhere: in C++, as input, output and column.
    symbol : str
        LaTeX.
    unit : str
        Made of base units, which `roofslate.units.BASE_UNITS` lists; ``"1"`` for a number.
    brief : str
        Its meaning, in a line.
    source : str
        Section of the specification of the lecture that it comes from.
    theme : str
        The header under ``cpp/roofslate/quantities`` that holds it; ``"defined"`` for one made by `define`.
    computed : bool
        Whether it has a formula; otherwise it is an input.
    formula, latex : str
        The formula as text and as LaTeX; empty for an input.
    needs, used_by : tuple of str
        Quantities of its formula, and those whose formulas take it.
    fallback : str or None
        The quantity that an input comes from when it is not given.
    default : float or None
        What an input is when nothing else is known.
    ideal : float or None
        The value that takes a term of a real machine away: an efficiency of 1, a time of 0.
    implied_by : tuple of str
        Quantities of which the first that is given makes another value the default.
    implied_values : tuple of float
        The default with each of `implied_by`.
    replaced_by : str or None
        The quantity whose value it takes if one of `replaced_where` is given and none of `replaced_unless`.
    replaced_where, replaced_unless : tuple of str
        See `replaced_by`.
    changed : str or None
        Of the value that the first of its `needs` has elsewhere: the quantity that is another there, as the second of
        its `needs` says, or `changed_value`.
    changed_value : float or None
        See `changed`.
    choices : tuple of str
        The words that a choice takes; empty for a number.
    low, high : float
        Valid range. ``above_low``: the lower end itself is excluded.
    bound : str or None
        The input that this one must not exceed.
    definitions : tuple of Definition
        Of a quantity made by `define`: its definition, after those that it rests on. They travel with it, in a pickle
        too; ``with rs.definitions(quantity):`` has them where they are not known.
    """

    name: str
    theme: str
    symbol: str
    unit: str
    brief: str
    source: str
    computed: bool
    low: float
    high: float
    above_low: bool
    default: float | None
    choices: tuple[str, ...]
    needs: tuple[str, ...]
    fallback: str | None
    bound: str | None
    ideal: float | None = None
    implied_by: tuple[str, ...] = ()
    implied_values: tuple[float, ...] = ()
    replaced_by: str | None = None
    replaced_where: tuple[str, ...] = ()
    replaced_unless: tuple[str, ...] = ()
    changed: str | None = None
    changed_value: float | None = None
    definitions: tuple[Definition, ...] = field(default=(), repr=False)

    @cached_property
    def formula(self) -> str:
        """The formula as text, empty for an input."""
        return self._formula(latex=False)

    @cached_property
    def latex(self) -> str:
        """The formula as LaTeX, empty for an input."""
        return self._formula(latex=True)

    def _formula(self, *, latex: bool) -> str:
        if not self.computed:
            return ""
        registry = Registry(None, self.definitions) if self.definitions else BUILT_IN
        return _core.formula_of_quantity(registry, self.name, latex)

    @property
    def used_by(self) -> tuple[str, ...]:
        """Quantities whose formulas take this one."""
        return current().users.get(self.name, ())

    @property
    def range_text(self) -> str:
        """The valid range in words: ``"> 0"``, ``"0 to 1"``."""
        if self.choices:
            return " | ".join(repr(word) for word in self.choices)
        low = "" if self.low < -1e300 else f"{'>' if self.above_low else '>='} {self.low:g}"
        high = "" if self.high > 1e300 else f"<= {self.high:g}"
        return " and ".join(part for part in (low, high) if part) or "any number"

    @property
    def may_be_given(self) -> bool:
        """True for a quantity that is usually given, though a formula exists."""
        declared = self.low > -1e300 or self.high < 1e300
        return self.fallback is not None or (self.computed and declared and not self.choices)

    @property
    def takes_infinity(self) -> bool:
        """True if infinity is a valid value."""
        return math.isinf(self.high)

    def _shown(self, value: float) -> str:
        return self.choices[int(value)] if self.choices else f"{value:g}"

    def _rows(self) -> list[tuple[str, str]]:
        rows = [("unit", self.unit), ("symbol", f"${self.symbol}$"), ("meaning", self.brief), ("source", self.source)]
        if self.computed:
            rows += [("formula", self.formula), ("needs", ", ".join(self.needs))]
        else:
            rows += [("range", self.range_text)]
            if self.default is not None:
                rows += [("default", self._shown(self.default))]
            if self.fallback:
                rows += [("otherwise", self.fallback)]
            for value in dict.fromkeys(self.implied_values):
                with_it = [name for name, x in zip(self.implied_by, self.implied_values, strict=True) if x == value]
                rows += [("default", f"{self._shown(value)} with {' or '.join(with_it)}")]
        if self.replaced_by:
            unless = f" without {' or '.join(self.replaced_unless)}" if self.replaced_unless else ""
            rows += [("replaced by", f"{self.replaced_by} if {' or '.join(self.replaced_where)} is given{unless}")]
        return [*rows, ("used by", ", ".join(self.used_by) or "nothing")]

    def __repr__(self) -> str:
        return f"<Quantity {self.name} [{self.unit}]: {self.brief}>"

    def __str__(self) -> str:
        return "\n".join([self.name, *(f"  {key:<9} {text}" for key, text in self._rows())])

    def _repr_html_(self) -> str:
        rows = "".join(f'<tr><th scope="row">{key}</th><td>{html.escape(text)}</td></tr>' for key, text in self._rows())
        return f"<table><caption>{self.name}</caption>{rows}</table>"


@dataclass(frozen=True)
class Scope:
    """Scope of local definitions."""

    enclosing: Registry | None  # of the context before
    inherited: frozenset[str]  # definitions that come from outside


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
_MOST_KEPT = 4096  # results of a registry


def kept_by_registry(
    function: Callable[Concatenate[Registry, Arguments], Result],
) -> Callable[Concatenate[Registry, Arguments], Result]:
    """Store a function's results in their registry, so that they end with its scope."""

    @functools.wraps(function)
    def call(registry: Registry, /, *args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
        key = (function, args)
        try:
            return registry.kept[key]  # type: ignore[no-any-return]
        except KeyError:
            if len(registry.kept) >= _MOST_KEPT:
                registry.kept.clear()
            result = registry.kept[key] = function(registry, *args, **kwargs)
            return result

    return call


class Registry(_core.Registry):
    """The built-in quantities and definitions on top of them. It never changes.

    Parameters
    ----------
    base : Registry, optional
        Its start; by default the built-in quantities.
    added : sequence of Definition
        Each may need those before it.
    scope : Scope, optional
        Its scope; by default the whole process.
    """

    def __init__(
        self, base: Registry | None = None, added: Sequence[Definition] = (), scope: Scope | None = None
    ) -> None:
        super().__init__(base, [(d.name, d.symbol, d.unit, d.brief, d.source, d.steps) for d in added])
        self.definitions: tuple[Definition, ...] = (*(base.definitions if base else ()), *added)
        self.scope = scope
        self._ancestors: dict[str, frozenset[str]] = {}
        self._descendants: dict[str, frozenset[str]] = {}
        self.kept: dict[Any, Any] = {}  # see `kept_by_registry`
        if base:
            self.__dict__["entries"] = self._described(base.entries)

    @cached_property
    def entries(self) -> dict[str, Quantity]:
        """All quantities by name."""
        return self._described({})

    def _described(self, known: Mapping[str, Quantity]) -> dict[str, Quantity]:
        entries_of = dict(known)
        columns = _core.describe(self, len(known))
        facts = tuple(columns)
        for values in zip(*columns.values(), strict=True):
            built = object.__new__(Quantity)
            described = vars(built)  # frozen, it would set each field by a call
            described.update(zip(facts, values, strict=True), definitions=())
            if self.definitions:
                sources = {built.name}.union(d.name for need in built.needs for d in entries_of[need].definitions)
                described["definitions"] = tuple(d for d in self.definitions if d.name in sources)
            entries_of[built.name] = built
        return entries_of

    def definitions_of(self, names: Iterable[str]) -> tuple[Definition, ...]:
        """The definitions that quantities rest on, in an order in which they can be made."""
        if not self.definitions:
            return ()
        sources = {d.name for name in names for d in self.entries[name].definitions}
        return tuple(d for d in self.definitions if d.name in sources)

    @cached_property
    def users(self) -> dict[str, tuple[str, ...]]:
        """By quantity: those whose formulas take it."""
        users: dict[str, list[str]] = {}
        for entry in self.entries.values():
            for need in entry.needs:
                users.setdefault(need, []).append(entry.name)
        return {name: tuple(names) for name, names in users.items()}

    @cached_property
    def bounded_pairs(self) -> tuple[tuple[str, str], ...]:
        """Quantities that may not exceed another one, each with that one."""
        return tuple((q.name, q.bound) for q in self.entries.values() if q.bound)

    def ancestors(self, name: str) -> frozenset[str]:
        """Return all that a quantity may depend on, fallbacks included, itself in a circle."""
        cached = self._ancestors.get(name)
        if cached is None:
            reached: set[str] = set()
            waiting = [name]
            while waiting:
                entry = self.entries[waiting.pop()]
                new = {*entry.needs, *filter(None, [entry.fallback])} - reached
                reached |= new
                waiting += new
            cached = self._ancestors[name] = frozenset(reached)
        return cached

    def descendants(self, name: str) -> frozenset[str]:
        """Return all that may depend on a quantity, fallbacks included, itself in a circle."""
        cached = self._descendants.get(name)
        if cached is None:
            cached = self._descendants[name] = self.descendants_of([name])
        return cached

    def descendants_of(self, names: Iterable[str]) -> frozenset[str]:
        """Everything that may depend on any of some quantities, in one walk."""
        reached: set[str] = set()
        waiting = list(names)
        while waiting:
            last = waiting.pop()
            new = {*self.users.get(last, ()), *self._fallen_back_on.get(last, ())} - reached
            reached |= new
            waiting += new
        return frozenset(reached)

    @cached_property
    def _fallen_back_on(self) -> dict[str, list[str]]:
        """By quantity: the quantities with it as a fallback."""
        names: dict[str, list[str]] = {}
        for entry in self.entries.values():
            if entry.fallback:
                names.setdefault(entry.fallback, []).append(entry.name)
        return names

    def reaches(self, source: str, name: str) -> bool:
        """Return True if a quantity may depend on another one, for any set of inputs."""
        return source in self.ancestors(name)


BUILT_IN = Registry()


_core.exchange_registry(None, BUILT_IN)


def current() -> Registry:
    """The registry that the caller sees."""
    registry: Registry = _core.current_registry()
    return registry


def entries() -> dict[str, Quantity]:
    """All quantities by name."""
    registry: Registry = _core.current_registry()  # in place: this is called for every name
    return registry.entries


def ancestors(name: str) -> frozenset[str]:
    """Everything that a quantity may depend on, through formulas and fallbacks."""
    return current().ancestors(name)


def bounded_pairs() -> tuple[tuple[str, str], ...]:
    """Quantities that may not exceed another one, each with that one."""
    return current().bounded_pairs


def lookup(name: str) -> Quantity:
    """One quantity by its exact name, or an error that names the nearest ones."""
    entry = entries().get(name) if isinstance(name, str) else None
    if entry is None:
        raise unknown_quantity(name)
    return entry


def renamed() -> Mapping[str, str]:
    """The names of today by those that quantities had once."""
    names: Mapping[str, str] = _names()["quantities"]
    return names


def spellings() -> Mapping[str, str]:
    """The quantities by other headings that measured tables give them."""
    headings: Mapping[str, str] = _names()["columns"]
    return headings


@functools.cache
def _names() -> Mapping[str, Mapping[str, Any]]:
    names: dict[str, dict[str, Any]] = read_data(Path(__file__).with_name("renames.toml"))
    return names


def unknown_quantity(given: object, kind: str = "quantity", more_names: Collection[str] = ()) -> UnknownName:
    """Build the error for an unknown name, with its new name or the nearest names.

    `more_names` can be among the nearest, besides the names of quantities.
    """
    if not isinstance(given, str):
        return UnknownName(f"unknown {kind} {shown(given)}: expected the name of a {kind}")
    if given in _names()["calls"]:
        return UnknownName(f"unknown {kind} {given!r}: {_names()['calls'][given]}")
    if given in _names()["meanings"]:
        meanings = " or ".join(f"{name!r}, {brief}" for name, brief in _names()["meanings"][given].items())
        return UnknownName(f"unknown {kind} {given!r}: give {meanings}")
    keywords = {name: terms for name, terms in keyword_aliases().items() if name in more_names}
    (preset_term, presets), (term, names) = named_by(given, keywords), named_by(given, aliases())
    meant = [f"the preset {name!r}" for name in presets]
    meant += [repr(name) for name in names if name in entries() and name != renamed().get(given)]
    alias = f"{preset_term or term} is {' or '.join(meant)}" if meant else ""
    if given in renamed():
        text = f"unknown {kind} {given!r}: it is called {renamed()[given]!r} now"
        return UnknownName(f"{text}; {alias}" if alias else text)
    if alias:
        return UnknownName(f"unknown {kind} {given!r}; {alias}")
    return unknown(kind, given, [*entries(), *more_names])


def quantity(name: str) -> Quantity:
    """One entry of the registry: formula, unit, source, needs, used by.

    Parameters
    ----------
    name : str
        Its name, such as ``"pass_time"``.

    Returns
    -------
    Quantity

    Raises
    ------
    UnknownName
        With the nearest names.
    """
    return lookup(name)


def matching(search: str | None) -> list[Quantity]:
    """Return the quantities that match a text, best first, or all of them without a text."""
    if not isinstance(search, str | None):
        raise InputTypeError(f"search: expected a text, got {shown(search)}")
    if not (search or "").strip():
        return list(entries().values())
    named = aliases()
    ranked = [(rank(search or "", (q.name, *named.get(q.name, ())), q.brief, q.symbol), q) for q in entries().values()]
    return [q for level in range(RANKS) for k, q in ranked if k == level]
