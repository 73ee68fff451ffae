"""Plots of any evaluated result: lines, heat maps with contours, regions by bottleneck."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Literal, overload

from roofslate._base.messages import unknown
from roofslate.display import style
from roofslate.errors import AxisError, InputTypeError
from roofslate.grid.basis import carries_constants
from roofslate.grid.draws import SAMPLE
from roofslate.plotting.contours import heart, levels_of
from roofslate.plotting.pages.results import result_page
from roofslate.plotting.several import QUANTITY, together
from roofslate.plotting.spacing import FEW, edges_of, grows_by_factors, is_wide
from roofslate.registry.registry import current

if TYPE_CHECKING:
    import numpy.typing as npt
    import xarray as xr
    from matplotlib.axes import Axes

    from roofslate.plotting.pages.page import Page

__all__ = ["plot"]

_BINDING = "bottleneck"
_FITS = ("memory_fits", "training_memory_fits")
_SIZE = (6.4, 4.0)
_MOST_LABELS = 12
_REGIONS = ("#CFE0EE", "#F3DFC4", "#D5EAD9", "#EBD3E2", "#E8E8E8", "#F5F0C8", "#D8D8F0")
_HATCHES = ("", "///", "...", "xxx", "\\\\\\", "+++", "ooo")


@overload
def plot(
    result: xr.DataArray | xr.Dataset,
    x: str | None = None,
    y: str | None = None,
    hue: str | None = None,
    *,
    ax: Axes | None = None,
    interactive: Literal[False] = False,
) -> Axes: ...
@overload
def plot(result: xr.DataArray | xr.Dataset, x: str | None = None, *, interactive: Literal[True]) -> Page: ...
def plot(
    result: xr.DataArray | xr.Dataset,
    x: str | None = None,
    y: str | None = None,
    hue: str | None = None,
    *,
    ax: Axes | None = None,
    interactive: bool = False,
) -> Axes | Page:
    """Draw an evaluated result as lines, bars, a heat map with contours, or a fan of draws.

    One axis makes a line, two make lines or a heat map. Axes of presets and short axes become lines. Ticks are scaled
    (``200k``, ``20 ms``), and geometric axes are logarithmic. Several variables of one unit become lines of one plot.
    If a Dataset contains `bottleneck`, its regions are outlined, or filled if it is the only variable. Points whose
    `memory_fits` is no are hatched. A result of `sample` becomes a fan along its other axis: the median, with bands of
    half and of nine tenths of the draws. Without another axis it becomes a histogram, marked at 5, 50 and 95%.

    Parameters
    ----------
    result : xarray.DataArray or xarray.Dataset
        From `evaluate` or `sample`. From a Dataset: one variable, or several of one unit, optionally with `bottleneck`
        and `memory_fits`.
    x : str, optional
        The horizontal axis.
    y : str, optional
        The vertical axis of a heat map.
    hue : str, optional
        The axis whose values become lines.
    ax : matplotlib.axes.Axes, optional
        Axes to draw on. By default a new figure.
    interactive : bool
        Return a page that computes in the browser, with a slider for each input of a Dataset.

    Returns
    -------
    matplotlib.axes.Axes or Page

    Raises
    ------
    AxisError
        If the result has no axis or more than two. The message says which ones to select.
    UnknownName
        If `x`, `y` or `hue` is no axis of the result, or if units differ.
    InputTypeError
        If the result is no xarray object.
    """
    if interactive:
        return result_page(result, x, unused=(y, hue, ax))
    result, fits = _without_fits(result)
    surface, binding, band = _chosen(result)
    lone = [dim for dim in surface.dims if surface.sizes[dim] == 1 and dim not in (x, y, hue)]
    surface = surface.squeeze(lone)
    dims = [str(dim) for dim in surface.dims]
    for role in (x, y, hue):
        if role is not None and role not in dims:
            raise unknown(f"axis of {surface.name}", role, dims)
    if len({role for role in (x, y, hue) if role}) < sum(role is not None for role in (x, y, hue)) or (y and hue):
        raise AxisError("x, y and hue must name different axes. Give either y or hue.")
    if SAMPLE in dims:
        ax = _of_draws(surface, [dim for dim in dims if dim != SAMPLE], ax)
        style.corner(ax, _basis(surface))
        return ax
    if len(dims) not in (1, 2):
        raise AxisError(_too_many(surface, dims))
    if binding is not None:
        binding = binding.squeeze(lone)
    with style.drawing(ax, _SIZE) as ax:
        if len(dims) == 1:
            _one_axis(ax, surface, dims[0], binding, [end.squeeze() for end in band])
            across, other, as_lines = dims[0], None, False
        else:
            across, other, as_lines = _roles(surface, dims, x, y, hue)
            if as_lines and surface.name != _BINDING:
                _lines(ax, surface, across, other)
                if other == QUANTITY and binding is not None and binding.dims == (across,):
                    _spans(ax, binding, _points(surface, across))
            else:
                _map(ax, surface, across, other, binding)
        if fits is not None and not _is_named(surface, across):
            _hatch(ax, fits.squeeze(lone, drop=True) if lone else fits, surface, across, other)
        lines = other if other is not None and as_lines and not _is_named(surface, other) else None
        style.corner(ax, _basis(surface), below=f"lines: {style.words(lines, _unit(surface, lines))}" if lines else "")
    return ax


def _basis(surface: xr.DataArray) -> str:
    """Return "lower bound" or "estimate", if constants of a real machine matter."""
    known, name = current(), str(surface.name)
    return style.basis_of(surface.attrs, known.entries[name].unit) if carries_constants(name, known) else ""


def _without_fits(result: Any) -> tuple[Any, xr.DataArray | None]:
    """Split `memory_fits` from the variables to draw."""
    names = [name for name in _FITS if name in getattr(result, "data_vars", ())]
    if not names or len(result.data_vars) == 1:
        return result, None
    return result.drop_vars(names), result[names[0]]


def _hatch(ax: Axes, fits: xr.DataArray, surface: xr.DataArray, across: str, other: str | None) -> None:
    """Hatch points that do not fit in memory."""
    import numpy as np

    x = _points(surface, across)
    if set(fits.dims) <= {across}:
        unfit = np.broadcast_to(fits.to_numpy() == 0, x.shape)
        if unfit.any():
            full_height = ax.get_xaxis_transform()
            ax.fill_between(
                x, 0, 1, where=unfit, step="mid", transform=full_height, label="does not fit", **style.UNFIT
            )
    elif other is not None and not ax.get_lines():
        up = _points(surface, other)
        unfit = np.asarray(fits.broadcast_like(surface).transpose(other, across) == 0)
        if unfit.any():
            ax.contourf(x, up, unfit.astype(float), levels=[0.5, 1.5], colors="none", hatches=["////"])
            row, column = heart(unfit)
            ax.text(x[column], up[row], "does not fit", ha="center", va="center", fontsize=9.5, bbox=style.HALO)


def _chosen(result: Any) -> tuple[xr.DataArray, xr.DataArray | None, list[xr.DataArray]]:
    """Return the variable to draw, the bottlenecks to outline, and the ends of its band."""
    import xarray as xr

    if isinstance(result, xr.DataArray):
        return result if result.name is not None else result.rename("value"), None, []
    if not isinstance(result, xr.Dataset):
        kind = type(result).__name__
        raise InputTypeError(f"plot() expects an xarray.DataArray or xarray.Dataset from rs.evaluate, got {kind}")
    names = [str(name) for name in result.data_vars]
    if names == [_BINDING]:
        return result[_BINDING], None, []
    ends = [f"{name}_{end}" for name in names for end in ("lower", "upper")]
    variables = [name for name in names if name != _BINDING and name not in ends]
    if len(variables) != 1:
        return together(result, variables), result[_BINDING] if _BINDING in names else None, []
    band = [result[f"{variables[0]}_{end}"] for end in ("lower", "upper") if f"{variables[0]}_{end}" in names]
    if _BINDING not in names:
        return result[variables[0]], None, band
    surface, binding = xr.broadcast(result[variables[0]], result[_BINDING])
    return surface, binding, band


def _too_many(surface: xr.DataArray, dims: list[str]) -> str:
    if not dims:
        return f"{surface.name} is a single number. Give a list of values for an input."
    last = dims[-1]
    return (
        f"{surface.name} has {len(dims)} axes ({', '.join(dims)}), plot() draws at most two. "
        f"Select along the others, for example result.isel({last}=0)."
    )


def _roles(
    surface: xr.DataArray, dims: list[str], x: str | None, y: str | None, hue: str | None
) -> tuple[str, str, bool]:
    """Assign the horizontal and the other axis, and return whether that becomes lines."""
    if hue is None and y is None:
        names = [dim for dim in dims if _is_named(surface, dim)]
        few = [dim for dim in dims if surface.sizes[dim] <= FEW]
        free = [dim for dim in names + sorted(few, key=lambda dim: surface.sizes[dim]) if dim != x]
        hue = free[0] if free else None
    other = hue or y or next(dim for dim in dims if dim != (x or dims[0]))
    across = x or next(dim for dim in dims if dim != other)
    return across, other, hue is not None


_MARKS = (0.05, 0.25, 0.5, 0.75, 0.95)
_BARS = 60


def _of_draws(surface: xr.DataArray, dims: list[str], ax: Axes | None) -> Axes:
    """Draw a fan along the axis other than the draws, or a histogram without one."""
    if len(dims) > 1:
        raise AxisError(
            f"{surface.name} has {len(dims)} axes ({', '.join(dims)}) in addition to the draws, a fan has one. "
            f"Select along the others, for example result.isel({dims[-1]}=0)."
        )
    if _words_of(surface):
        raise InputTypeError(f"{surface.name} is a choice and has no quantiles. Count its values by rs.count().")
    with style.drawing(ax, _SIZE) as ax:
        if dims:
            _fan(ax, surface, dims[0])
        else:
            _histogram(ax, surface)
    return ax


def _fan(ax: Axes, surface: xr.DataArray, dim: str) -> None:
    lines = surface.quantile(_MARKS, dim=SAMPLE, keep_attrs=True)
    named = _is_named(surface, dim)
    points = range(surface.sizes[dim]) if named else _points(surface, dim)
    outer_low, low, middle, high, outer_high = lines.transpose("quantile", dim).to_numpy()
    color = style.PALETTE[0]
    ax.fill_between(points, outer_low, outer_high, color=color, alpha=0.18, linewidth=0, label="5 to 95%")
    ax.fill_between(points, low, high, color=color, alpha=0.32, linewidth=0, label="25 to 75%")
    ax.plot(points, middle, color=color, linewidth=2, label="median")
    _value_axis(ax, lines)
    if named:
        ax.set_xticks(points, [str(name) for name in _points(surface, dim)])
    else:
        _across(ax, surface, dim, _points(surface, dim))
    ax.legend(loc="best", frameon=False)


def _histogram(ax: Axes, surface: xr.DataArray) -> None:
    import numpy as np

    values = surface.to_numpy()
    values = values[np.isfinite(values)]
    if not values.size:
        raise AxisError(f"{surface.name} is infinite or undefined for all draws. Check the ranges of the inputs.")
    marks = dict(zip(("5%", "50%", "95%"), np.quantile(values, (0.05, 0.5, 0.95)).tolist(), strict=True))
    log = is_wide(values)
    low, high = values.min(), values.max()
    if log:
        ax.set_xscale("log")
    edges = np.geomspace(low, high, _BARS + 1) if log else np.histogram_bin_edges(values, _BARS)
    shares = np.histogram(values, edges)[0] / values.size
    ax.stairs(shares, edges, fill=True, color=style.PALETTE[0], alpha=0.5, label=str(surface.name))
    unit = _unit(surface)
    for name, at in marks.items():
        ax.axvline(at, color=style.INK, linewidth=1.1, linestyle="-" if name == "50%" else "--", label=name)
        text = f"{name}\n{_text(at, unit)}"
        ax.text(at, 1.01, text, transform=ax.get_xaxis_transform(), ha="center", va="bottom", fontsize=9)
    ax.set_xlabel(style.words(str(surface.name), unit))
    ax.set_ylim(bottom=0)
    ax.yaxis.set_visible(False)
    ax.spines["left"].set_visible(False)
    style.scale_ticks(ax.xaxis, unit)


def _is_named(surface: xr.DataArray, dim: str) -> bool:
    return dim in surface.coords and surface.coords[dim].dtype.kind not in "iuf"


def _points(surface: xr.DataArray, dim: str) -> npt.NDArray[Any]:
    import numpy as np

    return surface.coords[dim].to_numpy() if dim in surface.coords else np.arange(surface.sizes[dim])


def _unit(array: xr.DataArray, dim: str | None = None) -> str:
    """Return the unit of an array or of one of its axes, as written in its attributes."""
    if dim is not None:
        return str(array.coords[dim].attrs.get("units", "1")) if dim in array.coords else "1"
    return str(array.attrs.get("units", "1"))


def _words_of(surface: xr.DataArray) -> list[str]:
    """Return the words of a choice, none for numbers."""
    return [style.words(word) for word in str(surface.attrs.get("flag_meanings", "")).split()]


def _text(value: Any, unit: str) -> str:
    return value if isinstance(value, str) else style.text_of(float(value), unit)


def _one_axis(
    ax: Axes, surface: xr.DataArray, dim: str, binding: xr.DataArray | None, band: list[xr.DataArray]
) -> None:
    if _is_named(surface, dim):
        _bars(ax, surface, dim, binding)
        return
    points = _points(surface, dim)
    words = _words_of(surface)
    if words:
        binding = surface
        ax.yaxis.set_visible(False)
        ax.spines["left"].set_visible(False)
    else:
        ax.plot(points, surface.to_numpy(), color=style.PALETTE[0], linewidth=2, label=str(surface.name))
        if band:
            low, high = (end.to_numpy() for end in band)
            ax.fill_between(points, low, high, color=style.PALETTE[0], alpha=0.15, linewidth=0, label="band")
        _value_axis(ax, surface)
    _across(ax, surface, dim, points)
    if binding is not None:
        _spans(ax, binding, points)


def _bars(ax: Axes, surface: xr.DataArray, dim: str, binding: xr.DataArray | None) -> None:
    """Draw named values side by side: a bar per number, a word per choice."""
    import numpy as np

    names = [str(name) for name in _points(surface, dim)]
    values, unit = surface.to_numpy(), _unit(surface)
    words = _words_of(surface)
    rows = range(len(names))
    if words:
        said = [words[int(value)] for value in values]
        ax.xaxis.set_visible(False)
        ax.spines["bottom"].set_visible(False)
        values = values * 0.0
    else:
        said = [_text(value, unit) for value in values]
        ax.set_xlabel(style.words(str(surface.name), unit))
        values = np.where(np.isfinite(values), values, 0.0)  # infinite values have only a text
        ax.barh(rows, values, height=0.6, color=style.PALETTE[0], label=str(surface.name))
    if binding is not None:
        terms = _words_of(binding)
        said = [f"{text}, {terms[int(code)]}" for text, code in zip(said, binding.to_numpy(), strict=True)]
    for y, value, text in zip(rows, values, said, strict=True):
        ax.annotate(text, (value, y), xytext=(5, 0), textcoords="offset points", va="center", fontsize=9)
    ax.set_yticks(list(rows), names)
    ax.invert_yaxis()
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.35)
    if not words:
        ax.set_xlim(left=min(0.0, *values))
        style.scale_ticks(ax.xaxis, unit)


def _spans(ax: Axes, binding: xr.DataArray, points: npt.NDArray[Any]) -> None:
    """Shade the intervals of an axis with one bottleneck, and label them."""
    import numpy as np

    codes, words = binding.to_numpy(), _words_of(binding)
    edges = edges_of(points, log=ax.get_xscale() == "log").clip(points[0], points[-1])
    starts = np.flatnonzero(np.r_[True, codes[1:] != codes[:-1]])
    for first, last in zip(starts, [*starts[1:], codes.size], strict=True):
        code, start, end = int(codes[first]), edges[first], edges[last]
        ax.axvspan(start, end, color=_REGIONS[code % len(_REGIONS)], zorder=0, linewidth=0, label=words[code])
        middle = np.sqrt(start * end) if ax.get_xscale() == "log" else (start + end) / 2
        across = ax.get_xaxis_transform()
        ax.text(middle, 0.97, words[code], transform=across, ha="center", va="top", fontsize=9, color=style.NOTE)


def _across(ax: Axes, surface: xr.DataArray, dim: str, points: npt.NDArray[Any]) -> None:
    unit = _unit(surface, dim)
    if grows_by_factors(points):
        ax.set_xscale("log")
    ax.set(xlim=(points.min(), points.max()), xlabel=style.words(dim, unit))
    style.scale_ticks(ax.xaxis, unit)


def _value_axis(ax: Axes, surface: xr.DataArray) -> None:
    unit = _unit(surface)
    values = surface.to_numpy()
    ax.set_ylabel(style.words(str(surface.name), unit))
    if is_wide(values):
        ax.set_yscale("log")
    elif (values >= 0).any() and not (values < 0).any():
        ax.set_ylim(bottom=0)
    style.scale_ticks(ax.yaxis, unit)


def _lines(ax: Axes, surface: xr.DataArray, across: str, hue: str) -> None:
    """Draw a line for each value of an axis, labeled at its end."""
    import numpy as np

    values = surface.transpose(hue, across).to_numpy()
    labels, unit = _points(surface, hue), _unit(surface, hue)
    named = _is_named(surface, across)
    points = np.arange(surface.sizes[across]) if named else _points(surface, across)
    ends = []
    every = -(-len(labels) // _MOST_LABELS)
    for k, (line, look) in enumerate(zip(values, style.styles(len(labels)), strict=True)):
        text = _text(labels[k], unit)
        marker = {"marker": look["marker"]} if named else {}
        ax.plot(points, line, color=look["color"], linestyle=look["linestyle"], linewidth=1.8, label=text, **marker)
        finite = np.flatnonzero(np.isfinite(line))
        if finite.size and k % every == 0:
            ends.append((points[-1], line[finite[-1]], text, look["color"]))
    _value_axis(ax, surface)
    if named:
        ax.set_xlim(-0.3, points[-1])
    else:
        _across(ax, surface, across, points)
    style.label_ends(ax, ends)
    if named:
        ax.set_xticks(points, [str(name) for name in _points(surface, across)])
    else:
        style.scale_ticks(ax.xaxis, _unit(surface, across))


def _map(ax: Axes, surface: xr.DataArray, across: str, up: str, binding: xr.DataArray | None) -> None:
    """Draw a heat map with contours, or the regions of a choice."""
    import numpy as np
    from matplotlib.colors import LogNorm

    for dim in (across, up):
        if _is_named(surface, dim):
            raise AxisError(f"{dim} has names, not numbers. Give it as hue, or select one.")
    surface = surface.transpose(up, across)
    x, y = _points(surface, across), _points(surface, up)
    _across(ax, surface, across, x)
    log = grows_by_factors(y)
    if log:
        ax.set_yscale("log")
    unit = _unit(surface, up)
    ax.set(ylim=(y.min(), y.max()), ylabel=style.words(up, unit))
    style.scale_ticks(ax.yaxis, unit)
    words = _words_of(surface)
    if words:
        _regions(ax, surface, x, y, fill=True)
        return
    values = np.ma.masked_invalid(surface.to_numpy())
    cells = (edges_of(x, log=ax.get_xscale() == "log"), edges_of(y, log=log))
    wide = is_wide(surface.to_numpy())
    mesh = ax.pcolormesh(*cells, values, norm=LogNorm() if wide else None, rasterized=True)
    unit = _unit(surface)
    bar = ax.figure.colorbar(mesh, ax=ax, pad=0.02)
    bar.set_label(style.words(str(surface.name), unit))
    style.scale_ticks(bar.ax.yaxis, unit)
    bar.outline.set_visible(False)
    levels = levels_of(values, log=wide)
    if levels:
        lines = ax.contour(x, y, values, levels=levels, colors="white", linewidths=0.9)
        ax.clabel(lines, fmt=lambda level: _text(level, unit), fontsize=8)
    if binding is not None:
        _regions(ax, binding.transpose(up, across), x, y, fill=False)


def _regions(ax: Axes, binding: xr.DataArray, x: npt.NDArray[Any], y: npt.NDArray[Any], *, fill: bool) -> None:
    """Fill or outline the region of each bottleneck, and label it."""
    import numpy as np

    codes, words = binding.to_numpy(), _words_of(binding)
    for code in np.unique(codes):
        inside = codes == code
        name = words[int(code)]
        look = int(code) % len(_REGIONS)
        if fill:
            borders = (edges_of(x, log=ax.get_xscale() == "log"), edges_of(y, log=ax.get_yscale() == "log"))
            shown = np.ma.masked_where(~inside, np.zeros(codes.shape))
            ax.pcolormesh(*borders, shown, cmap=_one_color(_REGIONS[look]), label=name, rasterized=True)
            if _HATCHES[look] and min(codes.shape) > 1:
                ax.contourf(x, y, inside.astype(float), levels=[0.5, 1.5], colors="none", hatches=[_HATCHES[look]])
        if not inside.all():
            ax.contour(x, y, inside.astype(float), levels=[0.5], colors="#111111", linewidths=1.8)
        row, column = heart(inside)
        ax.text(x[column], y[row], name, ha="center", va="center", fontsize=9.5, weight="bold", bbox=style.HALO)


def _one_color(color: str) -> Any:
    from matplotlib.colors import ListedColormap

    return ListedColormap([color])
