"""`rs.to_excel`: a derivation as a workbook of formulas with named inputs."""

from __future__ import annotations

import math
import os
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate import _core
from roofslate._base.files import whole_file
from roofslate._base.messages import pip_install, shown
from roofslate._base.version import __version__
from roofslate.analysis.excel_formulas import Cell, cell_name, choice_word, constant, frozen, same, translated
from roofslate.analysis.origins import IMPLIED, origin
from roofslate.errors import AxisError, InputTypeError
from roofslate.grid.basis import basis, carries_constants
from roofslate.grid.label import UnitsOfOutputs, conversions
from roofslate.grid.read import read_grid, with_scenario
from roofslate.registry.registry import Quantity, current, lookup
from roofslate.registry.values import wanted_names

if TYPE_CHECKING:
    from roofslate.grid.grid import Grid

__all__ = ["Scenario", "to_excel", "write_workbook"]

_MOST_OUTPUTS = 1000
_MISSING = "not given, and not needed here"
_LIVE, _PART, _FROZEN = "formula", "part of a formula", "value, valid for these inputs"
_UNUSED = ", not used here"
_TEXT_LIMIT = 32_767  # characters of a text
_LISTED = 255  # characters of a list of choices
_NUMBER_FORMAT = '[>=1E+200]"∞";[<=-1E+200]"-∞";General'


@dataclass(frozen=True)
class Scenario:
    """Scenario of a workbook: numbers by name, their origins and their basis.

    Attributes
    ----------
    numbers : mapping
        The inputs that are given, in base units.
    origins : mapping
        By input: its origin.
    said : mapping
        By output: ``basis``, ``calibration``, ``support``.
    """

    numbers: Mapping[str, float]
    origins: Mapping[str, str]
    said: Mapping[str, Mapping[str, str]]

    @classmethod
    def of_grid(cls, grid: Grid, outputs: Sequence[str]) -> Scenario:
        """The scenario of a grid without axes."""
        numbers = grid.numbers()
        origins = {name: origin(lookup(name), grid, numbers) for name in grid.inputs}
        said = {name: basis([name], grid) for name in outputs if carries_constants(name, grid.registry)}
        return cls(numbers, origins, said)


def to_excel(
    path: str | os.PathLike[str],
    outputs: str | Sequence[str],
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    units: UnitsOfOutputs | None = None,
    overwrite: bool = False,
    **inputs: Any,
) -> None:
    """Write quantities of one scenario into a workbook of Excel, with live formulas.

    Sheets ``Results``, ``Inputs`` and ``Derivation``. Each input and each quantity of the derivation has a name in the
    workbook, and formulas refer to names. Change an input, and the workbook computes anew.

    Parameters
    ----------
    path : path
        A file whose name ends in ``.xlsx``.
    outputs : str or list of str
        Names of quantities.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. Keywords beat its members.
    units : str or dict of str, optional
        Unit on the sheet of results, or units by output: ``{"cost_per_token": "USD/Mtoken"}``.
    overwrite : bool
        Replace a file that exists.
    **inputs
        As for `evaluate`, but none of them may be an axis.

    Raises
    ------
    MissingInput, UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError, IneffectiveInput
        As for `explain`, before anything is written.
    OSError
        Where the file can't be written, or exists and `overwrite` is not asked for.
    ModuleNotFoundError
        Without XlsxWriter, which ``pip install 'roofslate[excel]'`` brings.

    Notes
    -----
    Numbers are in base units, and infinity is shown as such and computed as 1e250. Some quantities have no formula in
    a spreadsheet: waiting probabilities, integrals, roots. They are values, and become ``#N/A`` as soon as their
    arguments change. Presets are numbers here: another model means its numbers, or another workbook.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.to_excel("drain.xlsx", "hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s", overwrite=True)
    """
    inputs = with_scenario(scenario, inputs)
    requested = list(dict.fromkeys(wanted_names(outputs)))
    grid = read_grid(inputs, requested)
    for name, i in grid.inputs.items():
        if i.dims:
            raise AxisError(f"rs.to_excel writes one scenario, but {i.origin or name} is an axis; choose a point of it")
    converted = conversions(requested, units)
    write_workbook(path, requested, Scenario.of_grid(grid, requested), converted, overwrite=overwrite)


@dataclass
class _Row:
    """A name of the workbook and its formula."""

    name: str
    quantity: Quantity
    cell: Cell
    origin: str = ""  # of an input
    part: bool = False  # of the quantity's formula
    elsewhere: bool = False  # of a derivation with another input


@dataclass
class _Book:
    """Rows of a workbook, as they come up."""

    inputs: dict[str, _Row] = field(default_factory=dict)
    derived: dict[str, _Row] = field(default_factory=dict)
    names: set[str] = field(default_factory=set)  # without case, as spreadsheets compare them

    def named(self, name: str) -> str:
        """A name that is not used yet."""
        built = wish = cell_name(name)
        number = 2
        while built.upper() in self.names:
            built, number = f"{wish}_{number}_", number + 1
        self.names.add(built.upper())
        return built


class _Derivation:
    """Formulas of quantities for some numbers.

    For another scenario, all dependents of the changed input have further formulas.
    """

    def __init__(self, book: _Book, scenario: Scenario, base: _Derivation | None = None, changed: str = "") -> None:
        self.book, self.scenario, self.base, self.changed = book, scenario, base, changed
        self._numbers = dict(scenario.numbers)
        self._known: dict[str, Cell] = {}
        self._under_way: set[str] = set()
        self._elsewhere: dict[tuple[str, str], _Derivation] = {}

    def cell(self, name: str) -> Cell:
        """The name of a quantity, or NA() without a value."""
        if name not in self._known:
            if name in self._under_way:  # a circle, which no value goes around
                return Cell("NA()", None)
            if self.base is not None and not self._differs(name):
                self._known[name] = self.base.cell(name)
            else:
                self._under_way.add(name)
                self._known[name] = self._made(lookup(name))
                self._under_way.discard(name)
        return self._known[name]

    def _differs(self, name: str) -> bool:
        """Return True if a quantity may follow from the changed input."""
        if name == self.changed:
            return True
        upstream = [lookup(x) for x in (name, *current().ancestors(name))]
        return any(self.changed in (q.name, *q.replaced_where, *q.replaced_unless, *q.implied_by) for q in upstream)

    def value(self, name: str) -> float:
        (outcome,) = _core.numbers([name], self._numbers)
        return math.nan if outcome is None else float(outcome)

    def _made(self, q: Quantity) -> Cell:
        value = self.value(q.name)
        if q.name in self._numbers:
            return self._input(q, value, self.scenario.origins.get(q.name, "given"))
        if set(q.replaced_where) & self._numbers.keys() and not set(q.replaced_unless) & self._numbers.keys():
            return self._derived(q, value, self.cell(str(q.replaced_by)), [str(q.replaced_by)])
        if q.changed:
            return self._derived(q, value, self._there(q).cell(q.needs[0]), q.needs[1:2])
        if q.computed:
            return self._computed(q, value)
        if q.fallback:
            return self._derived(q, value, self.cell(q.fallback), [q.fallback])
        if math.isnan(value):
            return self._input(q, value, _MISSING)
        is_default = q.default is not None and value == q.default
        return self._input(q, value, f"default [{q.source}]" if is_default else IMPLIED)

    def _there(self, q: Quantity) -> _Derivation:
        """The derivation where another quantity has another value."""
        source = q.needs[1] if len(q.needs) > 1 else ""
        key = (str(q.changed), source or repr(q.changed_value))
        if key not in self._elsewhere:
            value = self.value(source) if source else float(q.changed_value or 0)
            numbers = {**self._numbers, str(q.changed): value}
            scenario = Scenario(numbers, self.scenario.origins, self.scenario.said)
            other_scenario = self._elsewhere[key] = _Derivation(self.book, scenario, self, str(q.changed))
            other_scenario._known[str(q.changed)] = self.cell(source) if source else constant(value)
        return self._elsewhere[key]

    def _computed(self, q: Quantity, value: float) -> Cell:
        cells = {need: self.cell(need) for need in q.needs}
        parts: list[Cell] = []

        def part(cell: Cell) -> Cell:
            known = next((x for x in parts if x.text == cell.text), None)
            if known is None:
                name = self.book.named(f"{q.name}.part{len(parts) + 1}")
                self.book.derived[name] = _Row(name, q, cell, part=True, elsewhere=self.base is not None)
                parts.append(cell)
                names[cell.text] = name
            return Cell(names[cell.text], cell.value, words=cell.words)

        names: dict[str, str] = {}
        built = translated(_core.steps(q.name), cells, q.choices, _core.call_routine, part)
        return self._derived(q, value, built, q.needs)

    def _derived(self, q: Quantity, value: float, built: Cell, needs: Sequence[str]) -> Cell:
        expected: float | str = q.choices[int(value)] if q.choices and not math.isnan(value) else value
        if not same(built.value, expected):  # no formula of a spreadsheet gives it
            built = frozen(expected, [self.cell(need) for need in needs])
        name = self.book.named(q.name if self.base is None else f"{q.name}.at")
        self.book.derived[name] = _Row(name, q, built, elsewhere=self.base is not None)
        return Cell(name, built.value, words=q.choices)

    def _input(self, q: Quantity, value: float, origin_text: str) -> Cell:
        if math.isnan(value):
            cell = Cell("NA()", None, words=q.choices)
        elif q.choices:
            word = q.choices[int(value)]
            cell = Cell(choice_word(word), word, words=q.choices)
        else:
            cell = constant(value)
        name = self.book.named(q.name)
        self.book.inputs[name] = _Row(name, q, cell, origin_text)
        return Cell(name, cell.value, words=q.choices)


def write_workbook(
    path: str | os.PathLike[str],
    outputs: Sequence[str],
    scenario: Scenario,
    converted: Mapping[str, tuple[float, str]] | None = None,
    tables: Mapping[str, Any] | None = None,
    *,
    overwrite: bool = False,
) -> None:
    """Write the workbook of a scenario.

    Parameters
    ----------
    path : path
    outputs : sequence of str
    scenario : Scenario
    converted : mapping, optional
        By output: a factor and the unit that it leads to.
    tables : mapping, optional
        By the name of a further sheet: a pandas.DataFrame of values.
    overwrite : bool
        Replace a file that exists.
    """
    xlsxwriter = _library()
    if not isinstance(path, (str, os.PathLike)):
        raise InputTypeError(f"path: expected the name of a file, got {shown(path)}")
    target = Path(os.fsdecode(path))
    if target.suffix.lower() != ".xlsx":
        raise InputTypeError(f"{target}: the name of a workbook ends in .xlsx")
    if len(outputs) > _MOST_OUTPUTS:
        raise InputTypeError(f"outputs: a workbook has at most {_MOST_OUTPUTS:,}, got {len(outputs):,}")
    book = _Book()
    derivation = _Derivation(book, scenario)
    results = [(lookup(name), derivation.cell(name)) for name in outputs]
    used = {name for output in outputs for name, _ in _core.chain(output, dict(scenario.numbers))}.union(outputs)
    rows = list(book.derived.values())[::-1]  # each before those that it takes
    rows.sort(key=lambda row: row.elsewhere or row.quantity.name not in used)
    with whole_file(target, overwrite=overwrite) as stream:
        file = xlsxwriter.Workbook(stream, {"in_memory": True, "strings_to_formulas": False, "strings_to_urls": False})
        sheets = _Sheets(file)
        frozen_names = [row.name for row in rows if row.cell.is_frozen and row.quantity.name in used]
        sheets.results(results, scenario, converted or {}, frozen_names)
        sheets.inputs(sorted(book.inputs.values(), key=lambda row: _rank(row.origin)))
        sheets.derivation(rows, used)
        for title, table in (tables or {}).items():
            sheets.table(title, table)
        file.close()


def _rank(origin_text: str) -> int:
    """Sort inputs of the caller first, defaults last."""
    if origin_text == "given":
        return 0
    return 2 if origin_text.startswith("default") else 3 if origin_text == _MISSING else 1


def _library() -> Any:
    try:
        import xlsxwriter
    except ModuleNotFoundError as error:
        message = f"a workbook needs XlsxWriter, which is not installed: {pip_install('excel')}"
        raise ModuleNotFoundError(message, name=error.name) from None
    return xlsxwriter


class _Sheets:
    """The sheets of a workbook. Each text is written as a text, whatever it begins with."""

    def __init__(self, file: Any) -> None:
        self._file = file
        self._head = file.add_format({"bold": True, "bottom": 1})
        self._number = file.add_format({"num_format": _NUMBER_FORMAT})
        self._given = file.add_format({"num_format": _NUMBER_FORMAT, "font_color": "#0000FF"})
        self._frozen = file.add_format({"num_format": _NUMBER_FORMAT, "bg_color": "#FFE9B0"})
        self._quoted = file.add_format({"quote_prefix": True})

    def _sheet(self, title: str, head: Sequence[str], widths: Sequence[float]) -> Any:
        sheet = self._file.add_worksheet(title)
        for column, (text, width) in enumerate(zip(head, widths, strict=True)):
            sheet.write_string(0, column, text, self._head)
            sheet.set_column(column, column, width)
        sheet.freeze_panes(1, 1)
        return sheet

    def _text(self, sheet: Any, row: int, column: int, text: str) -> None:
        """Write a text that stays a text when it is edited or saved as CSV."""
        text = text[:_TEXT_LIMIT]
        if text.startswith(("=", "+", "-", "@", "\t", "\r")):
            sheet.write_string(row, column, text, self._quoted)
        else:
            sheet.write_string(row, column, text)

    def _texts(self, sheet: Any, row: int, column: int, texts: Sequence[str]) -> None:
        for k, text in enumerate(texts):
            self._text(sheet, row, column + k, text)

    def _formula(self, sheet: Any, row: int, column: int, cell: Cell, looks: Any) -> None:
        """Write a formula and its value, for programs without formulas."""
        cached = cell.value if cell.value is not None else "#N/A"
        if cached is True or cached is False:
            cached = "TRUE" if cached else "FALSE"
        sheet.write_formula(row, column, f"={cell.text}", looks, cached)

    def results(
        self,
        results: Sequence[tuple[Quantity, Cell]],
        scenario: Scenario,
        converted: Mapping[str, tuple[float, str]],
        frozen_names: Sequence[str],
    ) -> None:
        """The outputs, and how to read the workbook."""
        sheet = self._sheet(
            "Results",
            ("quantity", "value", "unit", "meaning", "basis", "calibration", "support"),
            (32, 22, 18, 60, 24, 34, 30),
        )
        for row, (q, cell) in enumerate(results, 1):
            factor, unit = converted.get(q.name, (1.0, q.unit))
            value = cell.value
            if factor != 1 and not q.choices and isinstance(value, float):
                cell = Cell(f"{cell.text}/{constant(factor).text}", value / factor)
            said = scenario.said.get(q.name, {})
            self._text(sheet, row, 0, q.name)
            self._formula(sheet, row, 1, cell, self._number)
            texts = (said.get(key, "") for key in ("basis", "calibration", "support"))
            self._texts(sheet, row, 2, ["" if q.choices else unit, q.brief, *texts])
        notes = [
            f"Roofslate {__version__}",
            "Inputs are on the sheet Inputs (blue). Change one, and all results change.",
            "Each row of the sheet Derivation is a formula of these names, in base units.",
        ]
        if frozen_names:
            notes.append(
                f"Values that a spreadsheet cannot compute ({len(frozen_names)}, marked): {', '.join(frozen_names)}. "
                "They become #N/A when an input above them changes."
            )
        for k, note in enumerate(notes):
            self._text(sheet, len(results) + 2 + k, 0, note)

    def inputs(self, rows: Sequence[_Row]) -> None:
        """Write the numbers at which the derivation ends."""
        head = ("input", "value", "unit", "meaning", "range", "source")
        sheet = self._sheet("Inputs", head, (32, 22, 18, 60, 24, 60))
        for position, row in enumerate(rows, 1):
            q = row.quantity
            self._text(sheet, position, 0, row.name)
            if q.choices:
                if row.cell.value is not None:
                    sheet.write_string(position, 1, str(row.cell.value), self._given)
                if sum(map(len, q.choices)) + len(q.choices) <= _LISTED:
                    sheet.data_validation(position, 1, position, 1, {"validate": "list", "source": list(q.choices)})
            elif row.cell.value is not None:
                sheet.write_number(position, 1, float(row.cell.value), self._given)
            if row.cell.value is None:
                sheet.write_formula(position, 1, "=NA()", self._given, "#N/A")
            self._texts(sheet, position, 2, ["" if q.choices else q.unit, q.brief, q.range_text, row.origin])
            self._file.define_name(row.name, f"=Inputs!$B${position + 1}")

    def derivation(self, rows: Sequence[_Row], used: Collection[str]) -> None:
        """Write the formulas, the outputs first."""
        head = ("quantity", "value", "unit", "meaning", "formula", "source", "kind")
        sheet = self._sheet("Derivation", head, (32, 22, 18, 60, 60, 14, 28))
        for position, row in enumerate(rows, 1):
            q = row.quantity
            self._text(sheet, position, 0, row.name)
            self._formula(sheet, position, 1, row.cell, self._frozen if row.cell.is_frozen else self._number)
            kind = _FROZEN if row.cell.is_frozen else _PART if row.part else _LIVE
            kind += "" if q.name in used else _UNUSED
            if row.part:
                texts = ["", f"part of {q.name}", "", q.source, kind]
            else:
                texts = ["" if q.choices else q.unit, q.brief, q.formula, q.source, kind]
            self._texts(sheet, position, 2, texts)
            self._file.define_name(row.name, f"=Derivation!$B${position + 1}")

    def table(self, title: str, table: Any) -> None:
        """A table of values."""
        names = [*map(str, table.index.names if table.index.names != [None] else ["row"]), *map(str, table.columns)]
        sheet = self._sheet(title, names, [22.0] * len(names))
        for position, (label, *values) in enumerate(table.itertuples(), 1):
            labels = label if isinstance(label, tuple) else (label,)
            for column, x in enumerate([*labels, *values]):
                if isinstance(x, (int, float)) and not isinstance(x, bool) and math.isfinite(x):
                    sheet.write_number(position, column, float(x), self._number)
                elif not (isinstance(x, float) and math.isnan(x)):
                    self._text(sheet, position, column, str(x))
