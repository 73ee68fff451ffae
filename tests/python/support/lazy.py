"""Libraries that a test loads when it first uses them, not when it is collected.

To load all takes longer than to collect all tests, and most runs need few of them.
"""

from __future__ import annotations

import dataclasses
import importlib
import importlib.util
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable

__all__ = ["Later", "Lazy", "made", "needs"]


class Lazy:
    """A module, loaded when it is first asked for a name.

    It takes no attributes: to patch a module, give its name to monkeypatch.
    """

    __slots__ = ("_module",)

    def __init__(self, module: str) -> None:
        self._module = module

    def __repr__(self) -> str:
        return f"Lazy({self._module!r})"

    def __getattr__(self, name: str) -> Any:
        if name.startswith("_"):  # pytest asks all globals of a test module for __test__ and _mock_name
            raise AttributeError(name)
        return getattr(importlib.import_module(self._module), name)


def needs(package: str, reason: str) -> pytest.MarkDecorator:
    """Mark tests that are skipped without a package, which is looked for and not loaded."""
    return pytest.mark.skipif(importlib.util.find_spec(package) is None, reason=reason)


@dataclasses.dataclass(frozen=True)
class Later:
    """An argument of a test that a library makes, once the test runs."""

    make: Callable[[], Any]


def made(given: Any) -> Any:
    """Make an argument, or the arguments of a dict."""
    if isinstance(given, dict):
        return {name: x.make() if isinstance(x, Later) else x for name, x in given.items()}
    return given.make() if isinstance(given, Later) else given
