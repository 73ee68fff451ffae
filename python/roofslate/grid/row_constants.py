"""Quantities that are the same in all rows of a table, and that others which vary take."""

from __future__ import annotations

from typing import TYPE_CHECKING

from roofslate.registry.registry import kept_by_registry

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Mapping

    from roofslate.registry.registry import Registry

__all__ = ["constant_roots", "implying"]


@kept_by_registry
def implying(registry: Registry) -> frozenset[str]:
    """Quantities with which a default becomes another."""
    return frozenset(name for q in registry.entries.values() for name in q.implied_by)


def _downstream(start: Iterable[str], takers: Mapping[str, Iterable[str]], but: Collection[str]) -> set[str]:
    """Collect quantities and their dependents, without those that `but` supplies."""
    reached = set(start)
    waiting = list(reached)
    while waiting:
        for taker in takers.get(waiting.pop(), ()):
            if taker not in reached and taker not in but:
                reached.add(taker)
                waiting.append(taker)
    return reached


@kept_by_registry
def _roots_of(
    registry: Registry, start: tuple[str, ...], varying: frozenset[str], same: frozenset[str], supplied: frozenset[str]
) -> tuple[str, ...]:
    roots: dict[str, None] = {}
    seen = set(varying)
    waiting = list(start)

    def sources(name: str) -> tuple[str, ...]:
        q = registry.entries[name]
        return q.needs if q.computed else (q.fallback,) if q.fallback else ()

    takers: dict[str, list[str]] = {}  # of each quantity, those that are made of it
    reached, pending = {*start}, [*start]
    while pending:
        name = pending.pop()
        for source in sources(name):
            takers.setdefault(source, []).append(name)
            if source not in reached:
                reached.add(source)
                pending.append(source)
    supplying = {
        name for name in reached if name in supplied or not supplied.isdisjoint(registry.entries[name].implied_by)
    }
    turning = implying(registry)  # to give one would turn a default
    varies = _downstream(varying & reached, takers, supplied - varying)
    rests_on_supplied = _downstream(supplying, takers, frozenset())
    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if name in varies or (name in turning and name not in same):
            waiting += sources(name)
        elif name not in same and name in rests_on_supplied:
            roots[name] = None
    return tuple(roots)


def constant_roots(
    registry: Registry, start: tuple[str, ...], varying: frozenset[str], same: Iterable[str], supplied: frozenset[str]
) -> tuple[str, ...]:
    """Row-constant quantities that row-varying ones on the way to the outputs take."""
    return _roots_of(registry, start, varying, frozenset(same), supplied)
