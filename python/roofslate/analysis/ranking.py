"""The base of results that rank the inputs of a quantity by influence."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Mapping
from typing import Any, ClassVar

from roofslate._base.messages import shown
from roofslate.display.html import columns
from roofslate.display.result import DrawnResult, Table
from roofslate.errors import InputTypeError
from roofslate.grid.basis import carries_constants
from roofslate.registry.registry import Quantity, current, lookup
from roofslate.registry.values import wanted_names

__all__ = ["InputRanking", "basis_attrs", "number_output"]


class InputRanking(DrawnResult):
    """Inputs of a quantity, the most influential first: as text, in Jupyter and as a plot."""

    quantity: Quantity
    _head: ClassVar[tuple[str, ...]]

    @abstractmethod
    def _summary(self) -> str:
        """Return the end of the caption."""

    def _basis(self) -> str:
        """Return "lower bound" or "estimate", if constants of a real machine matter."""
        attrs = getattr(getattr(self, "table", None), "attrs", {})
        return ", calibration ".join(attrs[key] for key in ("basis", "calibration") if key in attrs)

    @abstractmethod
    def _lines(self) -> list[tuple[str, ...]]:
        """Format the lines, one per input."""

    @property
    def _caption(self) -> str:
        caption = f"{self.quantity.name}: {self.quantity.brief}, {self._summary()}"
        return f"{caption} [{said}]" if (said := self._basis()) else caption

    def __str__(self) -> str:
        return "\n".join([self._caption, *columns([self._head, *self._lines()])])

    def _tables(self) -> list[Table]:
        return [(self._caption, self._head, self._lines())]


def basis_attrs(output: str, attrs: Mapping[Any, Any]) -> dict[str, str]:
    """Select the attributes "basis" and "calibration", if constants of a real machine matter."""
    carries = carries_constants(output, current())
    return {key: attrs[key] for key in ("basis", "calibration") if carries and key in attrs}


def number_output(output: Any) -> Quantity:
    """Look up an output that must be a number."""
    if not isinstance(output, str):
        raise InputTypeError(f"expected the name of one quantity, got {shown(output)}")
    q = lookup(wanted_names(output)[0])
    if q.choices:
        raise InputTypeError(f"{q.name} is one of {q.range_text}. Only numbers can be compared.")
    return q
