"""What a shell may complete on a command line: quantities, inputs, and what stands after their ``=``."""

from __future__ import annotations

from roofslate.inputs import PRESETS
from roofslate.registry import entries

__all__ = ["names", "presets", "words"]


def words(begun: str) -> list[str]:
    """Words of a question: names of quantities, inputs with ``=``, presets and choices behind it."""
    name, given, value = begun.partition("=")
    if not given:
        return [*(f"{kind}=" for kind in PRESETS if kind.startswith(begun)), *names(begun)]
    known = list(PRESETS[name]) if name in PRESETS else entries()[name].choices if name in entries() else ()
    return [f"{name}={x}" for x in known if x.lower().startswith(value.lower())]


def names(begun: str) -> list[str]:
    """Names of quantities."""
    return [name for name in entries() if name.startswith(begun)]


def presets(begun: str) -> list[str]:
    """Kinds of presets and their names."""
    known = [*PRESETS, *(name for catalog in PRESETS.values() for name in catalog)]
    return [name for name in known if name.lower().startswith(begun.lower())]
