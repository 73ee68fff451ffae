"""Legal default layouts of chips given without one, in grids, tables, and points."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import _core
from roofslate.errors import ValueRangeError
from roofslate.grid.checks import check_bounds
from roofslate.grid.grid import Input, spread
from roofslate.grid.layout_rules import LAYOUT, PARTS, SERVING, TRAINING, Rule, is_parallel, refuse_both, rule_of

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping, Sequence

    from roofslate.grid.grid import Grid
    from roofslate.registry.registry import Registry

__all__ = [
    "LAYOUT",
    "PARTS",
    "complete_layout",
    "is_parallel",
    "layout_of_point",
    "layouts_of_rows",
    "left_to_rule",
]

_MOST = {SERVING: 1 << 16, TRAINING: 1 << 12}  # combinations


def layout_of_point(registry: Registry, output: str, numbers: dict[str, float]) -> str:
    """Complete the layout of one point and return its text, empty without a completion."""
    rule = rule_of(registry, (output,), numbers.keys())
    return rule.complete(numbers) if rule and rule.applies(numbers) else ""


def complete_layout(grid: Grid, outputs: Sequence[str], sought: str | None = None) -> None:
    """Complete a grid's layout, once for each combination of deciding inputs, and check it.

    None follows from a value that is `sought`.
    """
    inputs = grid.inputs
    rule = rule_of(grid.registry, outputs, inputs.keys()) if "chips" in inputs else None
    if rule is None or not rule.applies(inputs):
        return
    if sought in rule.by:
        if not rule.is_whole(inputs):
            raise ValueRangeError(
                f"{sought} is sought and decides upon the layout: give tensor_parallel, pipeline_stages and "
                "attention_data_parallel, or search with rs.deploy"
            )
        return
    given = frozenset(inputs)
    _complete_by(rule, grid, sought)
    if grid.layout and rule is TRAINING:
        refuse_both(grid.registry, outputs, given)
    if grid.layout:
        check_bounds(grid, sought)
        grid.exempt |= given.intersection(rule.reads)  # upon which these have an effect


def _complete_by(rule: Rule, grid: Grid, sought: str | None) -> None:
    """Complete the layout of a grid by a rule."""
    inputs = grid.inputs
    read = [name for name in rule.reads if name in inputs and name != sought]
    varying = [name for name in rule.by if name in inputs and inputs[name].dims]
    for name in grid.chunked:
        if name in varying:
            raise ValueRangeError(
                f"{name}: an array in chunks leaves no layout to the rule: load it, or give tensor_parallel, "
                "pipeline_stages and attention_data_parallel"
            )
    if not varying:
        known = ((name, inputs[name]) for name in read)
        numbers = {name: float(np.max(i.values)) if i.dims else i.number for name, i in known}
        grid.layout = rule.complete(numbers)
        for name in numbers.keys() - inputs.keys():
            inputs[name] = Input(grid.registry.entries[name], numbers[name], (), LAYOUT)
        return
    dims = tuple(dim for dim in grid.sizes if any(dim in inputs[name].dims for name in varying))
    shape = tuple(grid.sizes[dim] for dim in dims)
    if np.prod(shape) > _MOST[rule]:
        raise ValueRangeError(
            f"the layouts of {int(np.prod(shape)):,} combinations of chips and models are too many for the rule: give "
            "tensor_parallel, pipeline_stages and attention_data_parallel"
        )
    spreads = {name: _along(grid, name, dims, shape) for name in read}
    columns: dict[str, Any] = {}
    texts: dict[str, None] = {}
    for position in np.ndindex(shape):
        numbers = {name: float(x[position]) for name, x in spreads.items()}
        texts[rule.complete(numbers)] = None
        for name in numbers.keys() - spreads.keys():
            columns.setdefault(name, np.ones(shape))[position] = numbers[name]
    for name, column in columns.items():
        inputs[name] = Input(grid.registry.entries[name], column, dims, LAYOUT)
    grid.layout = "; ".join(filter(None, texts))


def left_to_rule(
    registry: Registry, outputs: Sequence[str], columns: Collection[str], same: Mapping[str, Input], *, presets: bool
) -> tuple[Rule | None, list[str]]:
    """Return a table's rule if deciding inputs vary by row, and the columns that it adds.

    With columns of `presets`, whether it applies depends on their values.
    """
    rule = rule_of(registry, outputs, {*same, *columns})
    if rule is None or {*rule.by, *PARTS, LAYOUT}.isdisjoint(columns):
        return None, []
    if not presets and LAYOUT not in columns and not rule.applies({**dict.fromkeys(columns), **same}):
        return None, []
    return rule, [name for name in rule.supplied if name not in same and name not in columns]


def layouts_of_rows(
    rule: Rule, rows: Sequence[Mapping[str, float]], names: Sequence[str], *, checked: bool
) -> tuple[Any, list[str], Any]:
    """Complete distinct rows by the rule: some columns, layouts as text, choices.

    Choices are True by column and row. The columns end with an entry of no row, as in a `Column`. Illegal rows
    stay if they are checked.
    """
    columns = np.ones((len(names), len(rows) + 1))
    chosen = np.zeros((len(names), len(rows)), dtype=bool)
    texts: dict[str, None] = {}
    for k, row in enumerate(rows):
        numbers = dict(row)
        if not rule.applies(numbers):
            continue
        try:
            text = rule.complete(numbers)
            texts[text], chosen[:, k] = None, [bool(text) and name in numbers for name in names]
        except ValueRangeError:
            if not checked:
                raise
        followed = _core.numbers(list(names), numbers)  # inputs outside of the rule are as in any other call
        columns[:, k] = [1.0 if x is None else x for x in followed]
    return columns, list(filter(None, texts)), chosen


def _along(grid: Grid, name: str, dims: Sequence[str], shape: tuple[int, ...]) -> Any:
    """Return an input along some axes, its maximum along the others."""
    i = grid.inputs[name]
    other_axes = tuple(k for k, dim in enumerate(i.dims) if dim not in dims)
    values = np.max(i.values, axis=other_axes) if other_axes else i.values
    return np.broadcast_to(spread(values, [dim for dim in i.dims if dim in dims], dims), shape)
