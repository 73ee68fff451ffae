"""Results that tables of the same question share: reductions and groups of presets."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import TYPE_CHECKING, Any, TypeVar

from roofslate.registry.registry import current, kept_by_registry

if TYPE_CHECKING:
    from roofslate.presets.preset import Preset
    from roofslate.registry.registry import Registry

__all__ = ["Question", "identity"]

Result = TypeVar("Result")
_MOST = 1024  # results of all questions


class Question:
    """Names, constants and presets of a table, without its rows.

    Parameters
    ----------
    key : tuple
        All that the results depend on, except for the registry.
    """

    def __init__(self, key: tuple[Any, ...]) -> None:
        self._key = key

    def once(self, about: tuple[Any, ...], compute: Callable[[], Result]) -> Result:
        """Return a result, from an earlier table of the same question if there was one."""
        results, key = _results(current()), (self._key, about)
        result: Result | None = results.get(key)
        if result is None:
            result = compute()
            if len(results) >= _MOST:
                results.clear()
            results[key] = result
        return result


@kept_by_registry
def _results(registry: Registry) -> dict[Any, Any]:  # noqa: ARG001  # they end with it
    """Results of all questions so far."""
    return {}


def identity(presets: Iterable[Preset]) -> tuple[Any, ...]:
    """Presets as a key. Calibrations of equal constants may have other fits."""
    return tuple((preset, id(preset)) if preset.kind == "calibration" else preset for preset in presets)
