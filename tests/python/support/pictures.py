"""Content of a chart: lines by label, patches by meaning, and words."""

from __future__ import annotations

from typing import Any

import numpy as np


def line(ax: Any, label: str) -> Any:
    (result,) = [line for line in ax.get_lines() if line.get_label() == label]
    return result


def points(ax: Any, label: str) -> tuple[np.ndarray, np.ndarray]:
    drawn = line(ax, label)
    return np.asarray(drawn.get_xdata(), dtype=float), np.asarray(drawn.get_ydata(), dtype=float)


def point(ax: Any, label: str) -> tuple[float, float]:
    x, y = points(ax, label)
    assert x.size == y.size == 1
    return float(x[0]), float(y[0])


def patches(ax: Any, gid: str) -> list[Any]:
    return [patch for patch in ax.patches if patch.get_gid() == gid]


def words(ax: Any) -> str:
    return "\n".join(text.get_text() for text in ax.texts)


def ticks(axis: Any) -> list[str]:
    axis.figure.canvas.draw()
    return [label.get_text() for label in axis.get_ticklabels()]
