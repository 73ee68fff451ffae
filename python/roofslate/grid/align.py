"""Aligns arrays labeled by presets' names with the axis of these presets."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from roofslate.errors import AxisError
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    from collections.abc import Hashable, Mapping, Sequence

    import xarray as xr

__all__ = ["align_array", "align_series"]

_UNNAMED = ("index", "dim_0")  # names that pandas and xarray give to an axis without one
_LISTED = 5  # labels of a message


class _Match(NamedTuple):
    """An axis of presets, with the positions of its presets among an array's labels."""

    keyword: str
    names: list[str]
    positions: list[int]
    missing: list[str]


def align_series(keywords: Mapping[str, Any], owner: str, series: Any) -> tuple[str, Any, Any]:
    """The axis of a Series, its coordinate and the values along it.

    Labels that are names of presets are aligned with the axis that the presets make: in the order of the axis, without
    further ones.
    """
    name = series.index.name
    match = _match(keywords, owner, name, series.index, '.rename_axis("{}")')
    if match is not None:
        return match.keyword, np.array(match.names), series.iloc[match.positions]
    return ("index" if name is None else str(name)), series.index.to_numpy(), series


def align_array(keywords: Mapping[str, Any], owner: str, array: xr.DataArray) -> xr.DataArray:
    """An array labeled by presets' names, aligned with the axis of these presets."""
    for dim in array.dims:
        if dim in array.indexes:
            match = _match(keywords, owner, dim, array.indexes[dim], f'.rename({{{{"{dim}": "{{}}"}}}})')
            if match is not None:
                array = array.isel({dim: match.positions}).drop_vars(str(dim))
                array = array if dim == match.keyword else array.rename({dim: match.keyword})
    return array


def _match(keywords: Mapping[str, Any], owner: str, name: Hashable, index: Any, advice: str) -> _Match | None:
    """Find the preset axis for some labels, if any. `advice` explains a name for the labels."""
    labels = [label for label in index if isinstance(label, str)]
    unnamed = name is None or name in _UNNAMED
    if not labels or len(labels) < len(index) or (not unnamed and name in keywords and name not in PRESETS):
        return None
    axes = _preset_axes(keywords)
    matches = [match for keyword, names in axes.items() if (match := _of_axis(keyword, names, labels)).positions]
    if name in axes:
        return _checked(_of_axis(str(name), axes[str(name)], labels), owner, labels)
    if not unnamed:
        if matches:
            keyword = matches[0].keyword
            raise AxisError(
                f"{owner}: its labels are names of {keyword}=, but their axis is {name!r}: name it after the axis: "
                f"{advice.format(keyword)}"
            )
        return None
    candidates = [match for match in matches if not match.missing] or matches
    if len(candidates) == 1:
        return _checked(candidates[0], owner, labels)
    keyword = candidates[0].keyword if candidates else _axis_name(keywords, labels)
    raise AxisError(
        f"{owner}: the axis of its labels has no name: name the index after the axis: {advice.format(keyword)}"
    )


def _preset_axes(keywords: Mapping[str, Any]) -> dict[str, list[str]]:
    """Names of the presets of each list."""
    return {
        keyword: [find_preset(keyword, x).name for x in given]
        for keyword in PRESETS
        if isinstance(given := keywords.get(keyword), list) or (isinstance(given, np.ndarray) and given.ndim == 1)
    }


def _of_axis(keyword: str, names: list[str], labels: Sequence[str]) -> _Match:
    at: dict[str, int] = {}
    for k, label in enumerate(labels):
        at.setdefault(label, k)
        at.setdefault(_preset_name(keyword, label), k)
    return _Match(
        keyword, names, [at[name] for name in names if name in at], [name for name in names if name not in at]
    )


def _preset_name(keyword: str, label: str) -> str:
    """Return the name of the preset for a label that is an alias, or the label itself."""
    return PRESETS[keyword][label].name if label in PRESETS[keyword] else label


def _checked(match: _Match, owner: str, labels: Sequence[str]) -> _Match:
    """Refuse labels that lack a preset of the axis, or that have one twice."""
    if match.missing:
        raise AxisError(
            f"{owner}: no value for {_some(match.missing)} of {match.keyword}=; its labels are {_some(labels)}"
        )
    for k in match.positions:
        if labels.count(labels[k]) > 1:
            raise AxisError(f"{owner}: the label {labels[k]!r} occurs twice")
    return match


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _LISTED} more" if len(names) > _LISTED else ""
    return ", ".join(map(repr, names[:_LISTED])) + more


def _axis_name(keywords: Mapping[str, Any], labels: Sequence[str]) -> str:
    """Return the keyword for labels of its presets or words, otherwise a name for rows."""
    for keyword, presets in PRESETS.items():
        if all(label in presets for label in labels):
            return keyword
    for keyword in keywords:
        if keyword in entries() and set(labels) <= set(entries()[keyword].choices):
            return keyword
    return "case"
