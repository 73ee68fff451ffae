"""Slices of suites that take long."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from collections.abc import Iterable


def first_alone(values: Iterable[Any]) -> list[Any]:
    """Parameters of which `make test` takes the first, and `make test-long` the others."""
    first, *remaining = values
    return [first, *(pytest.param(value, marks=pytest.mark.long) for value in remaining)]


def every_third(values: Iterable[Any]) -> list[Any]:
    """Parameters of which `make test` takes every third, and `make test-long` the others."""
    return [pytest.param(value, marks=pytest.mark.long) if k % 3 else value for k, value in enumerate(values)]
