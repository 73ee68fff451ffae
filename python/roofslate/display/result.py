"""Base classes of results: text, tables in notebooks, and plots."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING

from roofslate.display import style
from roofslate.display.html import html_table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["DrawnResult", "Result", "Table"]

Table = tuple[str, Sequence[str], Iterable[Sequence[str]]]  # caption, head and rows


class Result(ABC):
    """Result with a text, shown by Jupyter as tables."""

    @abstractmethod
    def __str__(self) -> str: ...

    @abstractmethod
    def _tables(self) -> list[Table]:
        """Return the tables, from top to bottom."""

    def __repr__(self) -> str:
        return str(self)

    def _repr_html_(self) -> str:
        return "".join(html_table(*table) for table in self._tables())


class DrawnResult(Result):
    """Result with a plot in the house style."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the result.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw on. By default a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        with style.drawing(ax, self._size()) as ax:
            self._draw(ax)
        return ax

    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Return width and height of a new figure in inches."""

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw on axes."""
