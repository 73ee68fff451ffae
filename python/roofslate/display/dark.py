"""Dark pictures: every color is mapped so that its contrast to the background stays."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterable

    from matplotlib.axes import Axes
    from numpy.typing import NDArray

__all__ = ["BACKGROUND", "darken", "darkened", "is_dark", "recolor"]

BACKGROUND = "#181818"

# OKLab of Björn Ottosson, https://bottosson.github.io/posts/oklab/ (checked in source)
_TO_CONES = np.array(
    [
        [0.4122214708, 0.5363325363, 0.0514459929],
        [0.2119034982, 0.6806995451, 0.1073969566],
        [0.0883024619, 0.2817188376, 0.6299787005],
    ]
)
_TO_LAB = np.array(
    [
        [0.2104542553, 0.7936177850, -0.0040720468],
        [1.9779984951, -2.4285922050, 0.4505937099],
        [0.0259040371, 0.7827717662, -0.8086757660],
    ]
)
_WEIGHTS = np.array([0.2126, 0.7152, 0.0722])  # of relative luminance, WCAG 2.2


def _linear(color: Any) -> NDArray[np.float64]:
    from matplotlib.colors import to_rgb

    c = np.asarray(to_rgb(color))
    return np.where(c <= 0.04045, c / 12.92, ((c + 0.055) / 1.055) ** 2.4)


def is_dark(color: Any) -> bool:
    """Return True if a background is dark: its luminance is below a fifth of white's."""
    from matplotlib.colors import to_rgba

    return bool(to_rgba(color)[3] > 0 and _linear(color) @ _WEIGHTS < 0.2)


@functools.lru_cache(maxsize=1024)
def _rgb(red: float, green: float, blue: float) -> tuple[float, float, float]:
    """Color of the same hue, with the contrast to the dark background that it had to white."""
    linear = _linear((red, green, blue))
    ground = float(_linear(BACKGROUND) @ _WEIGHTS)
    level = min(1.05 * (ground + 0.05) / (float(linear @ _WEIGHTS) + 0.05) - 0.05, 1.0)
    lab = _TO_LAB @ np.cbrt(_TO_CONES @ linear)
    neutral = 1.0
    for chroma in (1.0, 0.85, 0.7, 0.55, 0.4, 0.25, 0.1, 0.0):
        low, high = 0.0, 1.0
        for _ in range(40):
            neutral = (low + high) / 2
            mapped = _of_lab(np.array([neutral, *(chroma * lab[1:])]))
            low, high = (neutral, high) if mapped @ _WEIGHTS < level else (low, neutral)
        if mapped.min() > -1e-3 and mapped.max() < 1 + 1e-3:
            break
    mapped = np.clip(mapped, 0, 1)
    encoded = np.where(mapped <= 0.0031308, 12.92 * mapped, 1.055 * mapped ** (1 / 2.4) - 0.055)
    return tuple(float(x) for x in encoded)  # type: ignore[return-value]


def _of_lab(lab: NDArray[np.float64]) -> NDArray[np.float64]:
    result: NDArray[np.float64] = np.linalg.solve(_TO_CONES, np.linalg.solve(_TO_LAB, lab) ** 3)
    return result


def darkened(color: Any) -> Any:
    """Map a color, its opacity kept."""
    from matplotlib.colors import to_rgba

    red, green, blue, alpha = to_rgba(color)
    return (*_rgb(red, green, blue), alpha)


def recolor(artists: Iterable[Any]) -> None:
    """Map the colors of artists, except numbers of a map."""
    from matplotlib.collections import Collection
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch
    from matplotlib.text import Text

    for artist in artists:
        if isinstance(artist, Text):
            artist.set_color(darkened(artist.get_color()))
            parts = (artist.get_bbox_patch(), getattr(artist, "arrow_patch", None))
            recolor(part for part in parts if part is not None)
        elif isinstance(artist, Line2D):
            _recolor_line(artist)
        elif isinstance(artist, Patch):
            face, edge = artist.get_facecolor(), artist.get_edgecolor()
            artist.set(facecolor=darkened(face), edgecolor=darkened(edge))
        elif isinstance(artist, Collection) and artist.get_array() is None:
            faces, edges = artist.get_facecolor(), artist.get_edgecolor()
            artist.set_facecolor([darkened(color) for color in faces])
            artist.set_edgecolor([darkened(color) for color in edges])


def _recolor_line(line: Any) -> None:
    face, edge = line.get_markerfacecolor(), line.get_markeredgecolor()
    line.set_color(darkened(line.get_color()))
    line.set_markeredgecolor(darkened(edge))
    if face not in ("none", "None"):
        line.set_markerfacecolor(darkened(face))


def darken(ax: Axes, earlier: set[Any], ink: str) -> None:
    """Map the colors of new artists of a figure, ticks included."""
    from matplotlib.axes import Axes as AnyAxes

    recolor(artist for artist in ax.figure.findobj() if artist not in earlier)
    for one in ax.figure.findobj(AnyAxes):
        if one not in earlier:
            one.tick_params(which="both", color=darkened("#444444"), labelcolor=darkened(ink))
