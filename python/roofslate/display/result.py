"""Base of results: text in a console, tables in a notebook."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence

from roofslate.display.html import html_table

__all__ = ["Result", "Table"]

Table = tuple[str, Sequence[str], Iterable[Sequence[str]]]  # caption, head and rows


class Result(ABC):
    """Result with a text of its own, which Jupyter shows as tables."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def _tables(self) -> list[Table]:
        """Tables to show one below the other."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(html_table(*table) for table in self._tables())
