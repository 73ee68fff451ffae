"""Quantities that are the same in all rows of a table, and that others which vary take."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from roofslate.registry.registry import kept_by_registry

if TYPE_CHECKING:
    from collections.abc import Iterable

    from roofslate.registry.registry import Registry

__all__ = ["constant_roots", "implying"]


@kept_by_registry
def implying(registry: Registry) -> frozenset[str]:
    """Quantities with which a default becomes another."""
    return frozenset(name for q in registry.entries.values() for name in q.implied_by)


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

    @functools.cache
    def varies(name: str) -> bool:
        return name in varying or (name not in supplied and any(map(varies, sources(name))))

    @functools.cache
    def rests_on_supplied(name: str) -> bool:
        if name in supplied or not supplied.isdisjoint(registry.entries[name].implied_by):
            return True
        return any(map(rests_on_supplied, sources(name)))

    while waiting:
        name = waiting.pop()
        if name in seen:
            continue
        seen.add(name)
        if varies(name):
            waiting += sources(name)
        elif name not in same and rests_on_supplied(name):
            roots[name] = None
    return tuple(roots)


def constant_roots(
    registry: Registry, start: tuple[str, ...], varying: frozenset[str], same: Iterable[str], supplied: frozenset[str]
) -> tuple[str, ...]:
    """Row-constant quantities that row-varying ones on the way to the outputs take."""
    return _roots_of(registry, start, varying, frozenset(same), supplied)
