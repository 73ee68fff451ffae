"""Checks of many cases in one test."""

from __future__ import annotations

import contextlib
import traceback
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


@contextlib.contextmanager
def cases() -> Iterator[Callable[[str], contextlib.AbstractContextManager[None]]]:
    """Collect failures of several cases and raise them together.

    Use ``with cases() as case:`` and in it, for each, ``with case(name): assert ...``.
    """
    failed = []

    @contextlib.contextmanager
    def case(name: str) -> Iterator[None]:
        try:
            yield
        except AssertionError as error:
            line = traceback.extract_tb(error.__traceback__)[-1]
            failed.append(f"{name}, {line.name}, line {line.lineno}: {error}")

    yield case
    if failed:
        pytest.fail("\n".join([f"{len(failed)} fail", *failed]), pytrace=False)
