"""Placement of texts when a figure is drawn, apart from each other and from lines."""

from __future__ import annotations

import functools
import weakref
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Iterator

    from matplotlib.axes import Axes
    from matplotlib.lines import Line2D
    from matplotlib.text import Text
    from matplotlib.transforms import Bbox
    from numpy.typing import NDArray

__all__ = ["FINDING", "UNDER", "attach"]

FINDING = "finding"  # gid of a text about the plotted data: it moves until it is clear of lines
UNDER = "under title"  # gid of a text between title and axes, which stays
_GAP = 1.5  # pixels between texts at 100 dpi
_FAR = 2.2  # heights of a text beyond which a line leads back to its point
_TILE = 6.0  # pixels of a tile in the map of lines
_LEADER = 0.7  # points


def attach(ax: Axes) -> None:
    """Separate the texts of axes and of their insets whenever the figure is drawn."""
    if not any(isinstance(artist, _separator_type()) for artist in ax.artists):
        ax.add_artist(_separator())


def _separator() -> Any:
    return _separator_type()()


@functools.cache
def _separator_type() -> Any:
    """Make the class at the first drawing, since charts load matplotlib no earlier."""
    from matplotlib.artist import Artist
    from matplotlib.text import Annotation

    class Separator(Artist):
        """Draws nothing itself: moves texts of its axes apart, before any of them is drawn."""

        def __init__(self) -> None:
            super().__init__()
            self.set_zorder(-1e6)
            self.set_in_layout(False)
            # positions before the first draw, to which each draw returns first
            self._positions: weakref.WeakKeyDictionary[Text, tuple[float, float]] = weakref.WeakKeyDictionary()

        def __reduce__(self) -> tuple[Any, ...]:
            state: Any = super().__getstate__()
            return _separator, (), {**state, "_positions": dict(self._positions)}

        def __setstate__(self, state: dict[str, Any]) -> None:
            self.__dict__ = {**state, "_positions": weakref.WeakKeyDictionary(state["_positions"])}

        def draw(self, renderer: Any) -> None:
            ax: Any = self.axes
            family = list(_family(ax))
            texts = [text for one in family for text in one.texts if text.get_visible() and text.get_text().strip()]
            for text in texts:
                if text in self._positions:
                    _position(text, self._positions[text])
            boxes = {text: _box(text, renderer) for text in texts}
            occupied = list(_fixed(family, renderer))
            moving: list[Text] = []
            for text in sorted(texts, key=_priority):
                box = boxes[text]
                if _stays(text) or (text.get_gid() != FINDING and not _hits(box, occupied)):
                    occupied.append(box)
                else:
                    moving.append(text)
            if not moving:
                return
            page = ax.figure.bbox.frozen().padded(-2)
            lines = _Lines(family, renderer)
            points = [_point(text, renderer) for text in texts if isinstance(text, Annotation)]
            for text in moving:
                box = boxes[text]
                shift = _best_shift(text, box, occupied, lines, page, points)
                if shift.any():
                    self._positions.setdefault(text, text.get_position())
                    _move(text, shift)
                    box = box.translated(*shift)
                    if _may_have_leader(text):
                        _draw_leader(text, box, _point(text, renderer), renderer)
                occupied.append(box)

    return Separator


def _family(ax: Any) -> Iterator[Any]:
    """Axes and their insets."""
    yield ax
    for inset in ax.child_axes:
        yield from _family(inset)


def _priority(text: Text) -> int:
    """Order of placement: fixed texts, plain ones, labels of points, findings."""
    from matplotlib.text import Annotation

    if _stays(text):
        return 0
    if text.get_gid() == FINDING:
        return 3
    return 2 if isinstance(text, Annotation) else 1


def _stays(text: Text) -> bool:
    return text.get_gid() == UNDER


def _box(text: Text, renderer: Any) -> Bbox:
    """Box of the words, without an arrow."""
    from matplotlib.text import Annotation, Text

    if isinstance(text, Annotation):
        text.update_positions(renderer)
    return Text.get_window_extent(text, renderer)


def _fixed(family: list[Any], renderer: Any) -> Iterator[Bbox]:
    """Boxes of ticks, labels, titles and legends."""
    for ax in family:
        axes = [axis for axis in (ax.xaxis, ax.yaxis) if ax.axison and axis.get_visible()]
        for axis in axes:
            low, high = sorted(axis.get_view_interval())
            ticks = axis.get_major_ticks()
            labels = [t.label1 for t in ticks if low <= t.get_loc() <= high] + [axis.label]
            yield from (_box(label, renderer) for label in labels if label.get_visible() and label.get_text().strip())
        for title in (ax.title, ax._left_title):
            if title.get_text():
                yield _box(title, renderer)
        legend = ax.get_legend()
        if legend is not None and legend.get_visible():
            yield legend.get_window_extent(renderer)


def _hits(box: Bbox, occupied: list[Bbox]) -> bool:
    return any(
        box.x0 < other.x1 + _GAP and other.x0 < box.x1 + _GAP and box.y0 < other.y1 + _GAP and other.y0 < box.y1 + _GAP
        for other in occupied
    )


def _point(text: Any, renderer: Any) -> NDArray[np.float64]:
    """Point that an annotation is about, in pixels."""
    return np.asarray(text._get_xy(renderer, text.xy, text.xycoords), dtype=float)


class _Lines:
    """Map of the tiles that lines, markers and edges of patches cross."""

    def __init__(self, family: list[Any], renderer: Any) -> None:
        from matplotlib.transforms import Bbox

        frame = Bbox.union([ax.get_window_extent(renderer) for ax in family]).padded(60)
        self.origin = np.array([frame.x0, frame.y0])
        shape = np.ceil(np.array([frame.width, frame.height]) / _TILE).astype(int) + 1
        tiles = np.zeros(shape)
        for ax in family:
            for line in ax.get_lines():
                if line.get_visible():
                    self._mark(tiles, line.get_transform().transform(line.get_xydata()), _is_drawn(line))
            for patch in ax.patches:
                if patch.get_visible():
                    corners = patch.get_transform().transform_path(patch.get_path()).vertices
                    self._mark(tiles, np.vstack([corners, corners[:1]]), joined=True, weight=0.5)
        self.total = np.pad(tiles.cumsum(0).cumsum(1), ((1, 0), (1, 0)))

    def _mark(self, tiles: Any, points: Any, joined: bool, weight: float = 1.0) -> None:
        points = np.asarray(points, dtype=float)[:4000]
        points = points[np.isfinite(points).all(axis=1)]
        if not len(points):
            return
        if joined and len(points) > 1:
            steps = np.diff(points, axis=0)
            counts = np.clip(np.hypot(*steps.T) / _TILE, 1, 400).astype(int)
            shares = np.concatenate([np.arange(n) / n for n in counts])
            points = np.repeat(points[:-1], counts, axis=0) + shares[:, None] * np.repeat(steps, counts, axis=0)
        index = np.floor((points - self.origin) / _TILE).astype(int)
        inside = ((index >= 0) & (index < tiles.shape)).all(axis=1)
        np.maximum.at(tiles, tuple(index[inside].T), weight)

    def crossed(self, lows: Any, highs: Any) -> Any:
        """Number of crossed tiles in boxes with these corners."""
        shape = np.array(self.total.shape) - 1
        a = np.clip(np.floor((lows - self.origin) / _TILE).astype(int), 0, shape)
        b = np.clip(np.ceil((highs - self.origin) / _TILE).astype(int), 0, shape)
        t = self.total
        return t[b[:, 0], b[:, 1]] - t[a[:, 0], b[:, 1]] - t[b[:, 0], a[:, 1]] + t[a[:, 0], a[:, 1]]


def _is_drawn(line: Line2D) -> bool:
    return line.get_linestyle() not in ("None", "none", " ", "")


def _best_shift(
    text: Text, box: Bbox, occupied: list[Bbox], lines: _Lines, page: Bbox, points: list[Any]
) -> NDArray[np.float64]:
    """Find the shift of a text, in pixels, to the nearest spot clear of texts and lines."""
    if not np.isfinite([*box.min, *box.max]).all():
        return np.zeros(2)
    if not _hits(box, occupied) and not lines.crossed(np.array([box.min]), np.array([box.max])).any():
        return np.zeros(2)
    step = box.height / max(1, text.get_text().count("\n") + 1) / 3
    frame = text.axes.get_window_extent() if text.axes is not None else page
    reach_x, reach_y = (min(max(side, 60.0), 1500.0) for side in (frame.width, frame.height))
    step = max(step, reach_x / 120, reach_y / 100)
    across = np.unique(np.concatenate([[0.0], np.arange(-reach_x, reach_x, 2 * step)]))
    up = np.unique(np.concatenate([[0.0], np.arange(-reach_y, reach_y, step)]))
    shifts = np.stack(np.meshgrid(across, up, indexing="ij"), axis=-1).reshape(-1, 2)
    lows, highs = box.min + shifts, box.max + shifts
    free = (lows >= page.min).all(axis=1) & (highs <= page.max).all(axis=1)
    for other in occupied:
        free &= (
            (lows[:, 0] >= other.x1 + _GAP)
            | (highs[:, 0] <= other.x0 - _GAP)
            | (lows[:, 1] >= other.y1 + _GAP)
            | (highs[:, 1] <= other.y0 - _GAP)
        )
    if not free.any():
        return np.zeros(2)
    shifts, lows, highs = shifts[free], lows[free], highs[free]
    # labels prefer to move up or down, near their point
    cost = np.hypot(1.3 * shifts[:, 0], shifts[:, 1]) / box.height
    cost += (4.0 if text.get_gid() == FINDING else 0.6) * lines.crossed(lows, highs)
    outside = (lows < frame.min).any(axis=1) | (highs > frame.max).any(axis=1)
    cost += np.where(outside & (shifts != 0).any(axis=1), 6.0, 0.0)
    for point in points:
        cost += 3.0 * ((lows <= point).all(axis=1) & (point <= highs).all(axis=1))
    best: NDArray[np.float64] = shifts[int(cost.argmin())]
    return best


def _position(text: Any, position: tuple[float, float]) -> None:
    text.set_position(position)


def _move(text: Any, shift: NDArray[np.float64]) -> None:
    """Move a text by pixels, in its own coordinates."""
    from matplotlib.text import Annotation

    if isinstance(text, Annotation) and text.anncoords == "offset points":
        x, y = np.asarray(text.get_position()) + shift * 72 / text.figure.dpi
        text.set_position((float(x), float(y)))
        return
    transform = text.get_transform()
    pixels = transform.transform(text.get_unitless_position()) + shift
    text.set_position(transform.inverted().transform(pixels))


def _may_have_leader(text: Any) -> bool:
    from matplotlib.text import Annotation

    return isinstance(text, Annotation) and text.arrow_patch is None and text.anncoords == "offset points"


def _draw_leader(text: Any, box: Bbox, point: NDArray[np.float64], renderer: Any) -> None:
    """Draw a thin line from a text that was moved far to its point."""
    from matplotlib.lines import Line2D

    near = np.clip(point, box.min, box.max)
    if np.hypot(*(near - point)) < _FAR * box.height / (text.get_text().count("\n") + 1):
        return
    line = Line2D(*np.stack([near, point], axis=1), color=text.get_color(), linewidth=_LEADER, linestyle="-")
    line.set_figure(text.figure)
    line.draw(renderer)
