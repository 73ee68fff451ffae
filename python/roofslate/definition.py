"""`define`: quantities of one's own, next to the built-in ones; `definitions`: where they are local."""

from __future__ import annotations

import contextlib
import functools
import keyword
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

from roofslate import _core, catalogs, units
from roofslate.conditions import WORDS, parse_formula
from roofslate.errors import DefinitionError, InputTypeError, UnitError, shown
from roofslate.expressions import depth, written_out
from roofslate.registry import BUILT_IN, Definition, Quantity, Registry, Scope, current
from roofslate.tracing import MOST_STEPS, record, refuse

__all__ = ["Definitions", "define", "definitions", "within"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")
_LONGEST = 100  # characters of a name; of other texts ten times as many
# Words that calls and their results use beside those that the core reserves.
_RESULT_WORDS = frozenset(
    [
        "above",
        "ax",
        "below",
        "bin",
        "count",
        "index",
        "input",
        "lower",
        "overwrite",
        "point",
        "quantile",
        "row",
        "sample",
        "upper",
    ]
)
_TAKEN = _core.RESERVED_WORDS | _RESULT_WORDS | WORDS | units.UNIT_NAMES | units.PREFIXES_OF_COUNTS
# What the engine and those who print a formula go down through must end.
_MOST_WRITTEN = 5000  # steps of a formula that is written out
_DEEPEST = 1000  # steps, each taking the next, down to built-in quantities
_MOST_LEVELS = 100  # definitions, each resting on the next


def define(
    name: str,
    unit: str,
    formula: Callable[..., Any] | str,
    *,
    brief: str,
    symbol: str | None = None,
    source: str | None = None,
    replace: bool = False,
) -> Quantity:
    """A quantity of one's own, from then on computed, shown and asked for like a built-in one.

    The formula is run once, at once, on values that take down what is done with them; later the engine computes it, as
    fast as its own. Inside of ``with rs.definitions():`` it is known there, elsewhere in the whole process.

    Parameters
    ----------
    name : str
        A name that nothing else has, of letters, digits and underscores.
    unit : str
        Made of base units: ``"USD/token"``, ``"s"``; ``"1"`` for a number. The formula must be in it.
    formula : callable or str
        A function whose arguments are quantities, by their names: ``lambda cost_per_token, response_length: ...``. It
        may use operators, functions of `roofslate.math`, and NumPy's functions of the same names. Numbers are plain
        numbers, zero and infinity fit every unit, `roofslate.math.constant` gives numbers with a unit. Or a text, as
        conditions are written: ``"cost_per_token * response_length"``.
    brief : str
        What it is, in a line.
    symbol : str, optional
        LaTeX; by default the name.
    source : str, optional
        Where it comes from.
    replace : bool
        Whether it may take the place of a definition of this name, for all that rests on that. The same definition once
        more is never an error.

    Returns
    -------
    Quantity

    Raises
    ------
    DefinitionError
        Where the name is taken or cannot be one, or the formula does what cannot be taken down: ``if``, ``max`` of
        Python, a default value, itself.
    UnitError
        Where units do not fit, with both of them.
    UnknownName
        Where an argument is no quantity, with the nearest names.
    InputTypeError
        Where a text is expected.

    Examples
    --------
    >>> import roofslate as rs
    >>> with rs.definitions():
    ...     q = rs.define(
    ...         "answer_cost", "USD/sequence", lambda cost_per_token, response_length: cost_per_token * response_length,
    ...         brief="price of an answer",
    ...     )
    ...     rs.value("answer_cost", cost_per_token="2 USD/Mtoken", response_length=500)
    0.001
    """
    _check_name(name)
    texts = {"unit": unit, "brief": brief, "symbol": symbol, "source": source}
    _check_texts(name, texts)
    spelled = _spelled(name, unit)
    if isinstance(formula, str):
        found = parse_formula(formula, spelled)
    elif callable(formula):
        found = record(name, spelled, formula)
    else:
        raise InputTypeError(
            f"definition of {name!r}: expected a function of quantities or a text, got {shown(formula)}"
        )
    escaped = name.replace("_", r"\_")
    definition = Definition(
        name, symbol or rf"\mathrm{{{escaped}}}", spelled, brief, source or "defined in this session", found.steps
    )
    _install(lambda registry: _with(registry, definition, replace=bool(replace)))
    return current().entries[name]


class Definitions:
    """A scope: definitions that are made in it are known in it alone. It can be entered many times, also by itself."""

    def __init__(self, quantities: Sequence[Quantity]) -> None:
        self._definitions = tuple(dict.fromkeys(d for q in quantities for d in q.definitions))

    def __enter__(self) -> None:
        outside = current()
        scope = Scope(outside if outside.scope else None, frozenset(d.name for d in outside.definitions))
        inside = Registry(outside, (), scope)
        for definition in self._definitions:
            inside = _with(inside, definition, replace=False)
        _core.SCOPE.set(inside)

    def __exit__(self, *_: object) -> None:
        inside: Registry | None = _core.SCOPE.get()
        _core.SCOPE.set(inside.scope.enclosing if inside is not None and inside.scope else None)


def definitions(*quantities: Quantity) -> Definitions:
    """A scope for definitions: what `define` makes in it is known in it alone, and gone at its end.

    Quantities from outside are known in it too. A definition hides one of the same name from outside, and what rests on
    that; with ``replace=True`` it takes its place, and what rests on it follows. Other threads do not see the scope.
    What is lazy, such as results in chunks, takes its definitions along.

    Parameters
    ----------
    *quantities : Quantity
        Made by `define`, here or in another process: they are known in the scope, with all that they rest on.

    Returns
    -------
    Definitions
        A context manager, to be used as often as one likes.

    Raises
    ------
    InputTypeError
        For what is no quantity that was defined.

    Examples
    --------
    >>> import roofslate as rs
    >>> with rs.definitions():
    ...     q = rs.define("spare_memory", "byte/chip", "hbm_capacity - hbm_used", brief="memory that nothing uses")
    >>> "spare_memory" in rs.quantities().index
    False
    >>> with rs.definitions(q):
    ...     rs.value("spare_memory", hbm_capacity="192 GB", hbm_used="150 GB")
    42000000000.0
    """
    for q in quantities:
        if not isinstance(q, Quantity) or not q.definitions:
            raise InputTypeError(f"definitions takes quantities from rs.define, got {shown(q)}")
    return Definitions(quantities)


# -------------------------------------------------------------------------------------------------------- registries


@contextlib.contextmanager
def within(made: tuple[Definition, ...]) -> Iterator[None]:
    """These definitions alone, on top of the built-in quantities: what a task sees in another thread or process."""
    token = _core.SCOPE.set(_registry_of(made))
    try:
        yield
    finally:
        _core.SCOPE.reset(token)


@functools.lru_cache(maxsize=64)
def _registry_of(made: tuple[Definition, ...]) -> Registry:
    return Registry(BUILT_IN, made, Scope(None, frozenset(d.name for d in made)))


def _install(change: Callable[[Registry], Registry]) -> None:
    """Change the registry of the scope, or that of the process."""
    while True:
        before = current()
        after = change(before)
        if after is before:
            return
        if before.scope:
            _core.SCOPE.set(after)
            return
        if _core.exchange_registry(before, after):  # no other thread came in between
            return


def _with(registry: Registry, definition: Definition, *, replace: bool) -> Registry:
    """The registry with a definition; itself, where it has it already."""
    name = definition.name
    known = registry.entries.get(name)
    if known is None:
        _check_size(registry, definition)
        return Registry(registry, [definition], registry.scope)
    if known.definitions[-1] == definition:
        return registry
    dependents = [d.name for d in registry.definitions if name in registry.ancestors(d.name)]
    gone = {name, *dependents}
    scope = registry.scope and Scope(registry.scope.enclosing, registry.scope.inherited - gone)
    kept = Registry(BUILT_IN, [d for d in registry.definitions if d.name not in gone], scope)
    if not replace:
        if registry.scope is None or name not in registry.scope.inherited:
            refuse(name, f"it is defined already, as {known.formula}; replace=True puts this one in its place")
        missing = [need for need in definition.needs if need in gone]
        if missing:
            refuse(name, f"it takes {missing[0]!r}, which rests on the {name!r} from outside that it would hide")
        return _with(kept, definition, replace=False)
    for need in definition.needs:
        if need == name or name in registry.ancestors(need):
            way = " <- ".join(_way(registry, need, name))
            refuse(name, f"it would need itself: {name} <- {way}")
    if dependents and known.unit != definition.unit:
        refuse(
            name,
            f"it was in {known.unit} and would be in {definition.unit}, but {dependents[0]!r} was made with it: "
            "replace that first, or take another name",
            UnitError,
        )
    for d in (definition, *(d for d in registry.definitions if d.name in dependents)):
        kept = _with(kept, d, replace=False)
    return kept


def _way(registry: Registry, start: str, end: str) -> list[str]:
    """Quantities from one down to another, each needing the next."""
    way = [start]
    while way[-1] != end:
        q = registry.entries[way[-1]]
        needs = (*q.needs, *([q.fallback] if q.fallback else []))
        way.append(next(need for need in needs if need == end or end in registry.ancestors(need)))
    return way


# ------------------------------------------------------------------------------------------------------------ checks


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise InputTypeError(f"define: expected the name of a quantity, got {shown(name)}")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise DefinitionError(
            f"define: {shown(name)} is no name for a quantity: letters, digits and underscores of ASCII, "
            f"{_LONGEST} at most, a letter first"
        )
    if name in BUILT_IN.entries:
        refuse(name, "a built-in quantity has this name")
    if keyword.iskeyword(name):
        refuse(name, "this is a word of Python's")
    if name in _TAKEN:
        is_unit = name in units.UNIT_NAMES or name in units.PREFIXES_OF_COUNTS
        refuse(name, "this is a unit" if is_unit else "this is a word that calls, results or conditions use")
    keywords = ("model", catalogs.models), ("hardware", catalogs.hardware), ("prices", catalogs.prices)
    for kind, catalog in (*keywords, ("loss_law", catalogs.loss_laws)):
        if name in catalog:
            refuse(name, f"this is a preset for {kind}=")


def _check_texts(name: str, texts: Mapping[str, Any]) -> None:
    for what, text in texts.items():
        if text is None and what in ("symbol", "source"):
            continue
        if not isinstance(text, str):
            raise InputTypeError(f"definition of {name!r}: {what} is a text, got {shown(text)}")
        if not text.strip() or not text.isprintable() or len(text) > 10 * _LONGEST:
            refuse(name, f"{what} must be one line of text, got {shown(text)}")
    symbol = texts["symbol"]
    if symbol is not None and ("$" in symbol or not _balanced(symbol)):
        refuse(name, f"symbol is LaTeX without dollar signs and with all brackets closed, got {shown(symbol)}")


def _balanced(latex: str) -> bool:
    """Whether each brace closes one that was opened, and nothing ends in a backslash."""
    level = 0
    for brace in re.findall(r"\\.|[{}]|\\$", latex):
        level += {"{": 1, "}": -1}.get(brace, 0)
        if level < 0 or brace == "\\":
            return False
    return level == 0


def _spelled(name: str, unit: str) -> str:
    try:
        return units.spell(units.spell(unit))  # what came of it can be read, too
    except UnitError as error:
        refuse(name, error, UnitError)


def _check_size(registry: Registry, definition: Definition) -> None:
    """Refuse formulas that nobody can read, and that those who go down through them could not end."""
    name = definition.name
    if len(definition.steps) > MOST_STEPS or written_out(definition.steps) > _MOST_WRITTEN:
        refuse(
            name,
            f"its formula has more than {MOST_STEPS} steps, or {_MOST_WRITTEN} written out: define parts of it as "
            "quantities of their own",
        )
    depths: dict[str, int] = {}
    levels: dict[str, int] = {}
    for d in (*registry.definitions_of(definition.needs), definition):
        depths[d.name] = depth(d.steps, depths)
        levels[d.name] = 1 + max((levels.get(need, 0) for need in d.needs), default=0)
    if depths[name] > _DEEPEST or levels[name] > _MOST_LEVELS:
        refuse(
            name,
            f"it rests on more than {_MOST_LEVELS} definitions one upon the other, or on {_DEEPEST} operations: "
            "fewer quantities, or sums in groups, do the same",
        )
