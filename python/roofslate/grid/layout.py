"""The layout of a replica whose chips are given without one: by a rule, and legal."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate.errors import ValueRangeError
from roofslate.grid.grid import Input, spread
from roofslate.presets.layouts import SIZES, layouts_by_rule
from roofslate.registry.registry import BUILT_IN, kept_by_registry

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from roofslate.grid.grid import Grid
    from roofslate.registry.registry import Registry

__all__ = [
    "LAYOUT",
    "LAYOUT_INPUTS",
    "complete_layout",
    "is_parallel",
    "layout_of_point",
    "layouts_of_rows",
    "left_to_rule",
    "takes_layout",
]

LAYOUT = "layout"  # the choice, and the origin of what follows from the rule
PARTS = frozenset({"tensor_parallel", "attention_data_parallel", "context_parallel", "expert_tensor_parallel"})
_SUPPLIED = ("pipeline_stages", "attention_data_parallel")  # from which the others follow
_KEPT = ("tensor_parallel", *_SUPPLIED, "expert_parallel")
_DOMAIN = "scale_up_domain"
LAYOUT_INPUTS = (*SIZES, *_KEPT, "chips", _DOMAIN)
_SHORT = {"tensor_parallel": "TP", "pipeline_stages": "PP", "attention_data_parallel": "DP"}
_OF_TRAINING = ("training", "training_run")  # themes
_MOST = 1 << 16  # combinations


@kept_by_registry
def takes_layout(registry: Registry, output: str) -> bool:
    """Whether an output may depend on how chips share the work to serve."""
    upstream = registry.ancestors(output) | {output}
    trains = registry.entries[output].theme in _OF_TRAINING or "tokens_per_step" in upstream
    return not (trains or upstream.isdisjoint(_KEPT))


def is_parallel(inputs: Mapping[str, Any]) -> bool:
    """Whether chips share the work in parallel, and there is something to complete."""
    layout = inputs.get(LAYOUT)
    if layout is None:
        return not PARTS.isdisjoint(inputs)
    if isinstance(layout, (float, str)):
        return layout in (1, "parallel")
    return not layout.dims and layout.number == 1


def layout_of_point(numbers: dict[str, float]) -> str:
    """Complete the layout of one point; return it in words, empty where nothing is left to the rule."""
    added, text = _added(tuple(map(numbers.get, _deciding())))
    numbers.update(added)
    return text


def complete_layout(grid: Grid, wanted: Sequence[str]) -> None:
    """Complete the layout of a grid, once for each model, hardware and number of chips, and check it."""
    inputs = grid.inputs
    if "chips" not in inputs or not is_parallel(inputs) or not any(takes_layout(grid.registry, x) for x in wanted):
        return
    varying = [name for name in LAYOUT_INPUTS if name in inputs and inputs[name].dims]
    if any(name in grid.chunked for name in varying):
        return
    if not varying:
        known = ((name, inputs[name]) for name in _deciding() if name in inputs)
        numbers = {name: float(np.max(i.values)) if i.dims else i.number for name, i in known}
        grid.layout = layout_of_point(numbers)
        for name in numbers.keys() - inputs.keys():
            inputs[name] = Input(grid.registry.entries[name], numbers[name], (), LAYOUT)
        return
    dims = tuple(dim for dim in grid.sizes if any(dim in inputs[name].dims for name in varying))
    shape = tuple(grid.sizes[dim] for dim in dims)
    if np.prod(shape) > _MOST:
        raise ValueRangeError(
            f"the layouts of {int(np.prod(shape)):,} combinations of chips and models are too many for the rule: give "
            "tensor_parallel, pipeline_stages and attention_data_parallel"
        )
    spreads = {name: _along(grid, name, dims, shape) for name in _deciding() if name in inputs}
    columns = {name: np.ones(shape) for name in _SUPPLIED if name not in inputs}
    texts: dict[str, None] = {}
    for place in np.ndindex(shape):
        numbers = {name: float(x[place]) for name, x in spreads.items()}
        texts[layout_of_point(numbers)] = None
        for name, column in columns.items():
            column[place] = numbers.get(name, 1.0)
    for name, column in columns.items():
        if (column != 1).any():
            inputs[name] = Input(grid.registry.entries[name], column, dims, LAYOUT)
    grid.layout = "; ".join(filter(None, texts))


def left_to_rule(
    registry: Registry, wanted: Sequence[str], columns: Collection[str], same: Mapping[str, Input]
) -> list[str]:
    """Columns that a rule adds to a table whose chips or parts of a layout differ from row to row."""
    varying = {"chips", *_KEPT} & set(columns)
    known = {**same, **dict.fromkeys(columns, 1.0)}
    if not varying or "chips" not in known or not any(takes_layout(registry, name) for name in wanted):
        return []
    choice = same.get(LAYOUT)
    if LAYOUT in columns or not (choice.number == 1 if choice else PARTS & known.keys()):
        return []
    return [name for name in _SUPPLIED if name not in known]


def layouts_of_rows(rows: Sequence[Mapping[str, float]], names: Sequence[str], *, checked: bool) -> Any:
    """What the rule adds to distinct rows, an array for each of some columns; illegal rows stay if they are checked."""
    found = np.ones((len(names), len(rows)))
    for k, row in enumerate(rows):
        numbers = dict(row)
        try:
            layout_of_point(numbers)
        except ValueRangeError:
            if not checked:
                raise
        found[:, k] = [numbers.get(name, 1.0) for name in names]
    return found


def _along(grid: Grid, name: str, dims: Sequence[str], shape: tuple[int, ...]) -> Any:
    """An input along some axes, its largest value along all others."""
    i = grid.inputs[name]
    others = tuple(k for k, dim in enumerate(i.dims) if dim not in dims)
    values = np.max(i.values, axis=others) if others else i.values
    return np.broadcast_to(spread(values, [dim for dim in i.dims if dim in dims], dims), shape)


@functools.cache
def _deciding() -> tuple[str, ...]:
    """Inputs that decide upon a layout."""
    return (*LAYOUT_INPUTS, *sorted(BUILT_IN.ancestors("kv_cache_capacity").difference(LAYOUT_INPUTS)))


@functools.lru_cache(maxsize=4096)
def _added(values: tuple[float | None, ...]) -> tuple[Mapping[str, float], str]:
    """What the rule adds to a point, checked, and its layout in words; nothing where the rule has nothing to say."""
    numbers = {name: x for name, x in zip(_deciding(), values, strict=True) if x is not None}
    found = _chosen(numbers)
    if found is None:
        return {}, ""
    added = {name: float(found[name]) for name in _SUPPLIED if name not in numbers and found[name] != 1}
    return added, _text(found, numbers)


def _chosen(numbers: Mapping[str, float]) -> Mapping[str, int] | None:
    """The first layout by the rule whose copies find room; None without one."""
    read = tuple((name, numbers[name]) for name in LAYOUT_INPUTS if name in numbers)
    candidates = _candidates(read)
    if len(candidates) < 2:
        return dict(candidates[0]) if candidates else None
    for layout in candidates:
        (room,) = _core.numbers(["kv_cache_capacity"], {**numbers, **{name: float(layout[name]) for name in _SUPPLIED}})
        if room is None:
            return dict(candidates[0])
        if room > 0:
            return dict(layout)
    return dict(candidates[0])


@functools.lru_cache(maxsize=4096)
def _candidates(read: tuple[tuple[str, float], ...]) -> tuple[dict[str, int], ...]:
    """Layouts by the rule, the first that has room is taken; none without a model or whole parts."""
    numbers = dict(read)
    if "attention_heads" not in numbers or not all(x.is_integer() for name, x in read if name in (*_KEPT, "chips")):
        return ()
    whole = {name: int(x) for name, x in read if float(x).is_integer()}
    sizes = {name: whole[name] for name in SIZES if name in whole}
    given = {name: whole[name] for name in _KEPT if name in whole}
    domain = int(min(numbers.get(_DOMAIN, numbers["chips"]), numbers["chips"]))
    return tuple(layouts_by_rule(whole["chips"], domain, sizes, given))


def _text(layout: Mapping[str, int], given: Mapping[str, float]) -> str:
    """A layout in words, empty where it was given."""
    parts = [given.get(name, 1) for name in _SHORT]
    if "tensor_parallel" in given and np.prod(parts) == given["chips"]:
        return ""
    words = [
        f"{short} {layout[name]}" for name, short in _SHORT.items() if layout[name] > 1 or name == "tensor_parallel"
    ]
    return f"{', '.join(words)} (rule)"
