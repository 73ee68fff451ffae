"""Bases of results: text in a console, tables in a notebook, a picture."""

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


class DrawnResult(Result):
    """Result with a picture in the house style."""

    def plot(self, ax: Axes | None = None) -> Axes:
        """Draw the result.

        Parameters
        ----------
        ax : matplotlib.axes.Axes, optional
            Axes to draw into; by default those of a new figure.

        Returns
        -------
        matplotlib.axes.Axes
        """
        with style.drawing(ax, self._size()) as ax:
            self._draw(ax)
        return ax

    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw into axes."""
