"""Base of results that draw themselves."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from roofslate.display import style

if TYPE_CHECKING:
    from matplotlib.axes import Axes

__all__ = ["Drawable"]


class Drawable(ABC):
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
        with style.house_style():
            ax = style.axes(ax, self._size())
            self._draw(ax)
        return ax

    @abstractmethod
    def _size(self) -> tuple[float, float]:
        """Width and height of a new figure, in inches."""

    @abstractmethod
    def _draw(self, ax: Axes) -> None:
        """Draw into axes."""
