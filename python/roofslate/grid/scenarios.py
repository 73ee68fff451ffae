"""Rows of scenarios: columns without copies, presets reduced to numbers, results by block."""

from __future__ import annotations

import contextlib
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from roofslate import _core
from roofslate._base.messages import warn
from roofslate._base.progress import Progress, ProgressWish
from roofslate.errors import AxisError, MissingInput, RoofslateWarning
from roofslate.grid.basis import FLOOR_BASIS, basis, is_floor, joined
from roofslate.grid.checks import LOADS, check_effect, check_load, used
from roofslate.grid.columns import FEW, Column, Columns, Names, distinct
from roofslate.grid.fit import CAPACITY, Misfit, conditions_of, misfit_of_row
from roofslate.grid.grid import Grid, Input, Positions
from roofslate.grid.layout import LAYOUT, complete_layout, layouts_of_rows, left_to_rule
from roofslate.grid.layout_rules import TRAINING, refuse_both
from roofslate.grid.plausible import PRICE, priced_chip_trouble
from roofslate.grid.questions import Question, identity
from roofslate.grid.read import add_preset, read_grid
from roofslate.grid.row_checks import (
    bad_rows,
    check_preset_columns,
    check_prices,
    check_windows,
    refuse_column,
    told_of_part,
    unrelated_inputs,
)
from roofslate.grid.row_constants import constant_roots, implying
from roofslate.grid.run import ROW, run
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import bounded_pairs, current, kept_by_registry, lookup
from roofslate.registry.values import Values

if TYPE_CHECKING:
    from roofslate.presets.preset import Preset
    from roofslate.registry.registry import Registry

__all__ = [
    "Scenarios",
    "choice_codes",
]

_BLOCK = 1 << 18  # rows that are converted or gathered at a time
_NO_VALUE = np.full(1, np.nan)  # of a column in a check


@dataclass
class _Plan:
    """Plan for rows with the same kinds of inputs."""

    grid: Grid  # inputs common to all of them
    columns: dict[str, Column]  # the rest


_Result = tuple[Values, tuple[str, ...]]


class _Reduced(NamedTuple):
    """A combination of presets, reduced to its relevant numbers, and the notes on it."""

    numbers: dict[str, float]
    needed: frozenset[str]  # of these, by its own values
    columns: frozenset[str]  # of rows with them
    basis: list[Mapping[str, str]]  # of each output
    origins: frozenset[str | None]  # kinds of presets that supply something that the outputs take
    layout: str  # by a rule, in words
    mispriced: str  # that its price is of another chip


# Positions of combinations, the numbers that they share, those that differ, and names of all that matter.
_Group = tuple[list[int], dict[str, float], dict[str, list[float]], list[str]]
_MOST_GROUPED = 16  # combinations of a table whose groups are kept


@kept_by_registry
def _related(registry: Registry, outputs: tuple[str, ...]) -> frozenset[str]:
    """Return outputs, and all that they may depend on."""
    return frozenset(outputs).union(*map(registry.ancestors, outputs))


class Scenarios:
    """A question that is put to tables of the same columns.

    Parameters
    ----------
    columns : collection of str
        Names of inputs and of presets.
    outputs : sequence of str
        The outputs.
    inputs : mapping
        Inputs common to all rows, as a caller writes them.
    call : str
        The caller, for messages.
    """

    def __init__(self, columns: Collection[str], outputs: Sequence[str], inputs: Mapping[str, Any], call: str) -> None:
        common = read_grid(inputs)
        for name, i in common.inputs.items():
            if i.dims:
                raise AxisError(f"{i.origin or name}: {call} takes one value for all rows, or a column of the table")
        self._outputs = outputs
        self._warned_of_price = False
        self._mispriced: list[str] = []  # prices of other chips, by the presets of rows
        self._warned_of_chip = False
        self._members, self._quiet, self._exempt = common.members, common.quiet, common.exempt
        self._related = _related(current(), tuple(outputs))
        given = [name for name in columns if name not in PRESETS]
        self._keywords = [name for name in PRESETS if name in columns]
        self._rule, self._ruled = left_to_rule(current(), outputs, given, common.inputs, presets=bool(self._keywords))
        self._given, self._numbers = frozenset(given), frozenset([*given, *self._ruled])
        self.layouts: tuple[str, ...] = ()  # chosen by a rule, in words
        self._chosen: Any = None  # by column of the rule and row, whether it chose the number
        self._presets = common.presets
        self._same = {name: i for name, i in common.inputs.items() if name not in self._numbers}
        constants = {name: i.number for name, i in self._same.items() if i.origin is None}
        self._explicit = self._numbers | constants.keys()
        of_all_rows = identity(preset for presets in self._presets.values() for preset in presets)
        names = tuple(outputs), tuple(columns), frozenset(self._members), frozenset(self._exempt)
        self._question = Question((*names, tuple(constants.items()), of_all_rows, self._quiet))
        self._reduced: dict[tuple[Preset, ...], _Reduced] = {}
        self._bases: dict[tuple[Preset, ...], list[Mapping[str, str]]] = {}
        self._origins: set[str | None] = set()  # of all combinations so far
        self.unused: tuple[str, ...] = ()  # members of a scenario that no output takes
        self.misfits: list[Misfit] = []  # of the rows computed so far
        known = CAPACITY in self._explicit | self._same.keys() or "hardware" in self._keywords
        self._checks = conditions_of(current(), outputs, self._explicit) if known and not self._quiet else []
        if not self._keywords:
            full_grid = Grid(self._same, presets=self._presets)
            if not self._ruled:
                complete_layout(full_grid, outputs)
                self._note_layouts([full_grid.layout])
            full_grid, _ = self._checked(full_grid, self._varying(full_grid.inputs.keys(), full_grid.numbers()))
            self.unused = full_grid.unused
            self._bases[()] = self._basis_of(full_grid)
        elif not self._quiet:
            self.unused = unrelated_inputs(common, self._explicit, self._related, outputs)

    def compute(
        self, columns: Columns, rows: int, *, first: int = 0, threads: int | None = None, progress: ProgressWish = None
    ) -> tuple[list[Values], Positions]:
        """Compute the outputs of each row, and list rows with a value missing or out of range.

        A row's result depends only on that row. All except ranges is checked before any work is done. In messages the
        `first` row has this number.
        """
        if self._rule is not None and (self._ruled or not self._quiet):
            columns = self._with_layouts(columns, rows)
        plans, plan_of = self._plans(columns, rows)
        at_once = plan_of is None and all(column.is_ready for column in plans[0].columns.values())
        step = max(rows, 1) if at_once else _BLOCK
        buffers = {} if at_once else {name: np.empty(min(step, rows)) for plan in plans for name in plan.columns}
        results: list[Values] = []
        wrong = []
        if not self._quiet and "model" not in self._keywords:
            check_windows(columns, {*columns, *self._same})
        price = columns.get(PRICE)
        if isinstance(price, Column) and not self._quiet and not self._warned_of_price:
            numbers = price.data if price.values is None else price.values
            self._warned_of_price = check_prices(numbers, texts=price.values is not None)
        with Progress(progress) as bar:
            for start in range(0, rows, step):
                for plan, picked in _split(plans, plan_of, slice(start, min(start + step, rows))):
                    if plan is None:
                        wrong.append(picked)
                        continue
                    size = picked.stop - start if isinstance(picked, slice) else len(picked)
                    part = {
                        name: Input(lookup(name), column.part(picked, buffers.get(name)), (ROW,))
                        for name, column in plan.columns.items()
                    }
                    grid = Grid(plan.grid.inputs | part, {ROW: size}, presets=plan.grid.presets)
                    if grid.inputs.keys() >= {*LOADS}:
                        numbers = np.arange(start, start + size) if isinstance(picked, slice) else picked
                        check_load(grid, rows=numbers + first)
                    given = [name for name in part if name in self._numbers]
                    callback = told_of_part(bar.callback, start, size, rows)
                    results_of_part, fits, outside = self._run(grid, given, threads, callback)
                    self._note_misfits(columns, picked, fits, results_of_part[0][0])
                    if at_once:
                        results = [values if dims else np.full(rows, values) for values, dims in results_of_part]
                    else:
                        results = results or [np.empty(rows) for _ in self._outputs]
                        for result, (values, _) in zip(results, results_of_part, strict=True):
                            result[picked] = values
                    of_rule = None if self._chosen is None else self._chosen[:, picked]
                    bad = bad_rows(grid, size, given, outside, self._ruled, of_rule)
                    wrong.append(bad + start if isinstance(picked, slice) else picked[bad])
        results = results or [np.empty(rows) for _ in self._outputs]
        nowhere = np.concatenate(wrong) if wrong else np.empty(0, dtype=np.intp)
        for result in results:
            result[nowhere] = np.nan
        return results, nowhere

    def _with_layouts(self, columns: Columns, rows: int) -> Columns:
        """Add the columns of a rule's layouts, one choice for each model, hardware and layout."""
        if self._rule is None:
            return columns
        deciding = {LAYOUT, *self._rule.by}
        chosen_by = {name: column for name, column in columns.items() if isinstance(column, Names) or name in deciding}
        codes, first = distinct(
            [x.codes if isinstance(x, Names) else x.part(slice(None), np.empty(rows)) for x in chosen_by.values()], rows
        )
        points = [self._point(chosen_by, row).numbers() for row in first]
        columns_added, texts, chosen = layouts_of_rows(self._rule, points, self._ruled, checked=self._quiet)
        self._chosen = chosen[:, codes]
        self._note_layouts(texts)
        return {
            **columns,
            **{name: Column(codes, x) for name, x in zip(self._ruled, columns_added, strict=True)},
        }

    def _note_layouts(self, texts: Sequence[str]) -> None:
        """Note layouts by a rule, each once."""
        self.layouts = tuple(dict.fromkeys([*self.layouts, *filter(None, texts)]))
        if self._rule is TRAINING and self.layouts:
            refuse_both(current(), self._outputs, self._given | self._same.keys())

    def _varying(self, supplied: Collection[str], numbers: Mapping[str, float]) -> frozenset[str]:
        """Return the columns of rows with some presets, with the rule's only if it applies."""
        if self._rule is None or LAYOUT in self._given:
            return self._numbers
        applies = self._rule.applies({**dict.fromkeys([*self._given, *supplied], 1.0), **numbers})
        return self._numbers if applies else self._given

    def _point(self, columns: Columns, row: int) -> Grid:
        """One row as a grid."""
        grid = Grid(dict(self._same), presets=dict(self._presets))
        for name, column in columns.items():
            if not isinstance(column, Names):
                grid.inputs[name] = Input(lookup(name), column.part(slice(row, row + 1), np.empty(1))[0])
            elif column.codes[row] >= 0:
                add_preset(grid, column.presets[column.codes[row]], self._explicit)
        return grid

    def _run(
        self, grid: Grid, given: Sequence[str], threads: int | None, progress: ProgressWish
    ) -> tuple[list[_Result], list[Values], int]:
        """Run some rows: outputs, memory checks, and counts of values out of range."""
        options: dict[str, Any] = {"threads": threads, "progress": progress, "columns": given}
        if self._checks:
            with contextlib.suppress(MissingInput):  # of a check, as outputs were checked before
                results, outside = run(grid, [*self._outputs, *self._checks], **options)
                return results[: len(self._outputs)], [fits for fits, _ in results[len(self._outputs) :]], outside
        computed, outside = run(grid, self._outputs, **options)
        return computed, [], outside

    def _note_misfits(self, columns: Columns, picked: Any, fits: Sequence[Values], values: Values) -> None:
        """Note which rows do not fit into memory, those left out in which a value is missing."""
        for check, fit in zip(self._checks, fits, strict=False):  # none if they are unknown
            if fit.all():
                continue
            numbers = np.arange(picked.start, picked.stop) if isinstance(picked, slice) else picked
            unfit = numbers[np.broadcast_to((fit == 0) & ~np.isnan(values), numbers.shape)]
            if len(unfit):
                numbers = self._point(columns, int(unfit[0])).numbers()
                self.misfits.append(misfit_of_row(check, numbers, len(unfit)))

    def _taken(self, scalars: Mapping[str, float], arrays: Collection[str]) -> set[str]:
        """The inputs that outputs take, and checks of the memory where they can be computed."""
        with contextlib.suppress(MissingInput):
            return set(used([*self._outputs, *self._checks], scalars, arrays))
        names = set(used(self._outputs, scalars, arrays))
        for check in self._checks:
            with contextlib.suppress(MissingInput):
                names |= set(used([check], scalars, arrays))
        return names

    def _plans(self, columns: Columns, rows: int) -> tuple[list[_Plan], Positions | None]:
        """Return a table's plans and each row's plan, without a plan for a missing preset."""
        numbers = {name: column for name, column in columns.items() if isinstance(column, Column)}
        if not self._keywords:
            return [_Plan(Grid(self._same, presets=self._presets), numbers)], None
        names = {name: column for name in self._keywords if isinstance(column := columns[name], Names)}
        codes, combinations = _combinations(list(names.values()), rows)
        reduced = [self._reduce(presets) for presets in combinations]
        if self._mispriced and not self._warned_of_chip:
            more = f" (the first of {len(self._mispriced)} such pairs)" if len(self._mispriced) > 1 else ""
            warn(f"{self._mispriced[0]}{more}", RoofslateWarning)
            self._warned_of_chip = True
        if not self._quiet and combinations:
            check_preset_columns(self._keywords, self._origins | self._exempt, self._outputs)
        known = current().entries
        plans, groups = [], []
        for members, constants, varying, needed in self._grouped(combinations, reduced):
            first = dict(zip(names, combinations[members[0]], strict=True))
            presets = self._presets | {keyword: [preset] for keyword, preset in first.items()}
            needed_columns = reduced[members[0]].columns
            plan = _Plan(
                Grid(dict(self._same), presets=presets), {n: x for n, x in numbers.items() if n in needed_columns}
            )
            for name in needed:
                if name in constants:
                    plan.grid.inputs[name] = Input(known[name], constants[name])
                elif name in varying:
                    values = np.full(len(combinations) + 1, np.nan)
                    values[members] = varying[name]
                    plan.columns[name] = Column(codes, values)
            plans.append(plan)
            groups.append(members)
        if len(plans) == 1 and codes.min() >= 0:
            return plans, None
        plan_of = np.full(len(combinations) + 1, len(plans), dtype=np.min_scalar_type(len(plans)))
        for p, members in enumerate(groups):
            plan_of[members] = p
        return plans, plan_of[codes]

    def _grouped(self, combinations: Sequence[tuple[Preset, ...]], reduced: Sequence[_Reduced]) -> Iterable[_Group]:
        """Group the combinations of a table, once for all tables of the same few."""
        if len(combinations) > _MOST_GROUPED:
            return self._groups(reduced)
        return self._question.once(tuple(map(identity, combinations)), lambda: tuple(self._groups(reduced)))

    def _groups(self, reduced: Sequence[_Reduced]) -> Iterator[_Group]:
        """Group combinations for one plan. Differences among them may decide branches."""
        known = current().entries
        similar: dict[Any, list[int]] = {}
        for k, reduction in enumerate(reduced):
            chosen = frozenset((name, reduction.numbers[name]) for name in reduction.needed if known[name].choices)
            similar.setdefault((reduction.needed, chosen, reduction.columns), []).append(k)
        alike = list(similar.values())
        while alike:
            members = alike.pop(0)
            shared = set[str].intersection(*(set(reduced[m].numbers) for m in members))
            each = {name: [reduced[m].numbers[name] for m in members] for name in sorted(shared)}
            constants = {name: xs[0] for name, xs in each.items() if xs.count(xs[0]) == len(xs)}
            varying = {name: xs for name, xs in each.items() if name not in constants}
            needed = reduced[members[0]].needed
            if varying:
                given = {name: i.number for name, i in self._same.items()} | constants
                try:
                    used = self._taken(given, reduced[members[0]].columns | varying.keys())
                except MissingInput:  # of a branch that none of them takes
                    alike[:0] = [[m] for m in members]
                    continue
                needed = needed.union(used)
            yield members, constants, varying, sorted(needed)

    def _reduce(self, presets: tuple[Preset, ...]) -> _Reduced:
        """Return the reduction of presets, with its notes for results and warnings."""
        known = self._reduced.get(presets)
        if known is None:
            known = self._question.once(identity(presets), lambda: self._reduction(presets))
            self._reduced[presets] = known
            self._bases[presets] = known.basis
            self._origins |= known.origins
            self._note_layouts([known.layout])
            if known.mispriced:
                self._mispriced.append(known.mispriced)
        return known

    def _reduction(self, presets: tuple[Preset, ...]) -> _Reduced:
        """Reduce presets to numbers: every relevant quantity independent of the rows, checked."""
        grid = Grid(dict(self._same), presets=self._presets | {preset.kind: [preset] for preset in presets})
        for preset in presets:
            add_preset(grid, preset, self._explicit)
        mispriced = "" if self._quiet else priced_chip_trouble(grid)
        if not self._ruled:
            complete_layout(grid, self._outputs)
            self._note_layouts([grid.layout])
        constants = grid.numbers()
        supplied = frozenset(constants)
        columns = self._varying(supplied, constants)
        try:
            full_grid, used = self._checked(grid, columns)
        except MissingInput as error:
            named = ", ".join(f"{preset.kind}={preset.name!r}" for preset in presets)
            raise MissingInput(f"{error}; that is in the rows with {named}") from None
        bounding = self._bounding(supplied)
        outputs = (*self._outputs, *self._checks, *bounding)
        roots = constant_roots(grid.registry, outputs, columns, self._same.keys(), supplied)
        # A default may turn with a quantity that the rows give, whatever its values.
        stand_ins = dict.fromkeys(implying(grid.registry) & columns, 1.0)
        computed = zip(roots, _core.numbers(list(roots), constants | stand_ins), strict=True)
        numbers = {name: x for name, x in computed if x is not None}  # None: of a branch that they do not take
        scalars = {name: x for name, x in constants.items() if name in self._same} | numbers
        needed = frozenset((self._taken(scalars, columns) | bounding) & numbers.keys())
        origins = frozenset(full_grid.inputs[name].origin for name in used)
        return _Reduced(numbers, needed, columns, self._basis_of(full_grid), origins, grid.layout, mispriced)

    def _checked(self, grid: Grid, columns: Collection[str]) -> tuple[Grid, set[str]]:
        """Add columns to a grid, refuse inputs missing or without effect, and return the others."""
        varying = {name: Input(lookup(name), _NO_VALUE, (ROW,)) for name in columns}  # of which none is ideal
        full_grid = Grid(grid.inputs | varying, {ROW: 1}, presets=grid.presets, explicit=self._explicit)
        full_grid.members, full_grid.exempt = self._members, self._numbers | self._exempt | {ROW}
        full_grid.quiet = self._quiet or bool(self._keywords)  # one preset may supply a value that another leaves open
        used = check_effect(full_grid, self._outputs)
        relevant = {*self._ruled, *(self._related if self._keywords else used)}
        if self._ruled and self._rule is not None:
            relevant.update(self._rule.reads)
        unused = [name for name in varying if name not in relevant]
        if unused and not self._quiet:
            refuse_column(full_grid, self._outputs, unused[0])
        return full_grid, used

    def _basis_of(self, full_grid: Grid) -> list[Mapping[str, str]]:
        """Return attributes with the basis of each output."""
        if is_floor(self._outputs, full_grid, self._numbers):
            return [FLOOR_BASIS] * len(self._outputs)
        return [basis([name], full_grid) for name in self._outputs]

    @property
    def basis(self) -> dict[str, Mapping[str, str]]:
        """Return attributes with the basis of each output over all computed rows."""
        if len(self._bases) == 1:
            return dict(zip(self._outputs, next(iter(self._bases.values())), strict=True))
        each = dict(zip(self._outputs, zip(*self._bases.values(), strict=True), strict=False))
        return {name: joined(parts) for name, parts in each.items()}

    def _bounding(self, supplied: frozenset[str]) -> set[str]:
        """Return the quantities of presets that bound an input of the caller, or the reverse."""
        pairs = (pair for pair in bounded_pairs() if not self._explicit.isdisjoint(pair))
        return {name for pair in pairs for name in pair if name in supplied and supplied | self._numbers >= set(pair)}


def _few_combinations(columns: Sequence[Names]) -> tuple[Positions, list[tuple[Preset, ...]]]:
    """The same of few rows, in Python."""
    rows = list(zip(*(column.codes.tolist() for column in columns), strict=True))
    places = {row: k for k, row in enumerate(sorted({row for row in rows if min(row) >= 0}))}
    codes = np.array([places.get(row, -1) for row in rows], dtype=np.intp)
    return codes, [tuple(c.presets[k] for c, k in zip(columns, row, strict=True)) for row in places]


def _combinations(columns: Sequence[Names], rows: int) -> tuple[Positions, list[tuple[Preset, ...]]]:
    """Return the combinations of presets, and each row's position, -1 if a preset is missing."""
    if 0 < rows <= FEW:
        return _few_combinations(columns)
    sizes = [max(len(column.presets), 1) for column in columns]
    size = int(np.prod(sizes, dtype=object))
    codes: Positions = np.zeros(rows, dtype=np.min_scalar_type(-1 - size))
    missing = None
    for column, length in zip(columns, sizes, strict=True):
        codes *= length
        codes += column.codes.astype(codes.dtype, copy=False)
        if rows and column.codes.min() < 0:
            missing = column.codes < 0 if missing is None else missing | (column.codes < 0)
    if missing is not None:
        codes[missing] = -1
    if size <= max(rows, _BLOCK):
        count = np.zeros(size + 1, dtype=np.intp)
        for start in range(0, rows, _BLOCK):
            count += np.bincount(codes[start : start + _BLOCK].astype(np.intp) + 1, minlength=size + 1)
        present = np.flatnonzero(count[1:])
        if len(present) < size:
            position = np.full(size + 1, -1, dtype=codes.dtype)
            position[present] = np.arange(len(present))
            codes = position[codes]
    else:
        present, codes = np.unique(codes, return_inverse=True)
        if present[0] < 0:
            present, codes = present[1:], codes - 1
    parts = np.array(np.unravel_index(present, sizes)).T.tolist()
    return codes, [tuple(c.presets[k] for c, k in zip(columns, part, strict=True)) for part in parts]


def _split(plans: Sequence[_Plan], plan_of: Positions | None, block: slice) -> Iterator[tuple[_Plan | None, Any]]:
    """Group the rows of a block by plan, None for rows without one."""
    if plan_of is None:
        yield plans[0], block
        return
    kinds = plan_of[block]
    order = np.argsort(kinds, kind="stable") + block.start
    ends = np.cumsum(np.bincount(kinds, minlength=len(plans) + 1))
    for plan, part in zip([*plans, None], np.split(order, ends[:-1]), strict=True):
        if len(part):
            yield plan, part


def choice_codes(values: Values) -> npt.NDArray[np.int8]:
    """Positions of a choice as small integers, -1 for NaN."""
    codes = np.empty(len(values), dtype=np.int8)
    for start in range(0, len(values), _BLOCK):
        block = values[start : start + _BLOCK]
        np.copyto(codes[start : start + _BLOCK], np.where(np.isnan(block), -1.0, block), casting="unsafe")
    return codes
