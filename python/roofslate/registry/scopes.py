"""`rs.definitions` and the registry of a scope: which definitions hold where."""

from __future__ import annotations

import contextlib
import functools
from typing import TYPE_CHECKING

from roofslate import _core
from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, UnitError
from roofslate.registry.recorder import depth, written_out
from roofslate.registry.registry import BUILT_IN, Definition, Quantity, Registry, Scope, current
from roofslate.registry.tracing import MOST_STEPS, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

__all__ = ["Definitions", "add_definition", "definitions", "within"]

# The formulas that the engine and printers of a formula descend must end.
_MOST_WRITTEN = 10_000  # steps of a formula that is written out

_DEEPEST = 1000  # steps, each taking the next, down to built-in quantities

_MOST_LEVELS = 100  # definitions, each resting on the next


class Definitions:
    """Scope of definitions, which end with it.

    It can be entered many times, also nested in itself.
    """

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
    """Open a scope for definitions, which are visible and valid only in it.

    Quantities from outside are known in it too. A definition hides an outer one of the same name and its dependents.
    With ``replace=True`` it replaces the outer one, and the dependents follow. Other threads do not see the scope. Lazy
    results, such as chunked ones, keep their definitions.

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
        For a quantity that `define` did not make.

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


@contextlib.contextmanager
def within(defined: tuple[Definition, ...]) -> Iterator[None]:
    """Use only these definitions and the built-in quantities, in a task of another thread."""
    token = _core.SCOPE.set(_registry_of(defined))
    try:
        yield
    finally:
        _core.SCOPE.reset(token)


@functools.lru_cache(maxsize=64)
def _registry_of(defined: tuple[Definition, ...]) -> Registry:
    return Registry(BUILT_IN, defined, Scope(None, frozenset(d.name for d in defined)))


def add_definition(definition: Definition, *, replace: bool) -> None:
    """Add a definition to the registry of the scope, or of the process."""
    _install(lambda registry: _with(registry, definition, replace=replace))


def _install(change: Callable[[Registry], Registry]) -> None:
    """Change the registry of the scope, or of the process."""
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
    """Return the registry with a definition, or itself if it already has the definition."""
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
    result = Registry(BUILT_IN, [d for d in registry.definitions if d.name not in gone], scope)
    if not replace:
        if registry.scope is None or name not in registry.scope.inherited:
            refuse(name, f"it is defined already, as {known.formula}; replace=True puts this one in its place")
        missing = [need for need in definition.needs if need in gone]
        if missing:
            refuse(name, f"it takes {missing[0]!r}, which rests on the {name!r} from outside that it would hide")
        return _with(result, definition, replace=False)
    for need in definition.needs:
        if need == name or name in registry.ancestors(need):
            circle = " <- ".join(_way(registry, need, name))
            refuse(name, f"it would need itself: {name} <- {circle}")
    if dependents and known.unit != definition.unit:
        refuse(
            name,
            f"it was in {known.unit} and would be in {definition.unit}, but {dependents[0]!r} was made with it: "
            "replace that first, or take another name",
            UnitError,
        )
    for d in (definition, *(d for d in registry.definitions if d.name in dependents)):
        result = _with(result, d, replace=False)
    return result


def _way(registry: Registry, start: str, end: str) -> list[str]:
    """Quantities from one down to another, each needing the next."""
    path = [start]
    while path[-1] != end:
        q = registry.entries[path[-1]]
        needs = (*q.needs, *([q.fallback] if q.fallback else []))
        path.append(next(need for need in needs if need == end or end in registry.ancestors(need)))
    return path


def _check_size(registry: Registry, definition: Definition) -> None:
    """Refuse formulas too large to read or too deep for recursive readers."""
    name = definition.name
    if len(definition.steps) > MOST_STEPS or written_out(definition.steps) > _MOST_WRITTEN:
        refuse(
            name,
            f"its formula has more than {MOST_STEPS} steps, or {_MOST_WRITTEN} written out: define parts as separate "
            "quantities",
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
