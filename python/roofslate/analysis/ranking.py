"""Base of results that rank the inputs of a quantity by influence."""

from __future__ import annotations

from abc import abstractmethod
from typing import Any, ClassVar

from roofslate._base.messages import shown
from roofslate.display.html import columns
from roofslate.display.result import DrawnResult, Table
from roofslate.errors import InputTypeError
from roofslate.registry.registry import Quantity, lookup
from roofslate.registry.values import wanted_names

__all__ = ["InputRanking", "number_output"]


class InputRanking(DrawnResult):
    """Inputs of a quantity, the most influential first: as text, in Jupyter and as a picture."""

    quantity: Quantity
    _head: ClassVar[tuple[str, ...]]

    @abstractmethod
    def _summary(self) -> str:
        """End of the caption."""

    @abstractmethod
    def _lines(self) -> list[tuple[str, ...]]:
        """Words of each line, an input each."""

    @property
    def _caption(self) -> str:
        return f"{self.quantity.name}: {self.quantity.brief}, {self._summary()}"

    def __str__(self) -> str:
        return "\n".join([self._caption, *columns([self._head, *self._lines()])])

    def _tables(self) -> list[Table]:
        return [(self._caption, self._head, self._lines())]


def number_output(output: Any) -> Quantity:
    """Look up an output that must be a number."""
    if not isinstance(output, str):
        raise InputTypeError(f"expected the name of one quantity, got {shown(output)}")
    q = lookup(wanted_names(output)[0])
    if q.choices:
        raise InputTypeError(f"{q.name} is one of {q.range_text}: only numbers can be compared")
    return q
