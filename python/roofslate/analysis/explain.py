"""`rs.explain`: the derivation of a value, with formulas, numbers and bottlenecks."""

from __future__ import annotations

import math
import os
import re
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofslate import _core, units
from roofslate._base.messages import shown
from roofslate.analysis.dependencies import Dependencies
from roofslate.analysis.origins import origin
from roofslate.analysis.workbook import Scenario, write_workbook
from roofslate.display.conditions import reason_of
from roofslate.display.html import LITERAL, html_table
from roofslate.display.markdown import escaped, untagged
from roofslate.display.mathml import mathml
from roofslate.errors import AxisError, InputTypeError, ValueRangeError
from roofslate.evaluation.bands import band_text, requested_bands
from roofslate.grid.basis import basis, carries_constants
from roofslate.grid.read import read_grid, with_scenario
from roofslate.registry.registry import Quantity, lookup
from roofslate.registry.values import is_whole, wanted_names

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from roofslate.grid.grid import Grid
    from roofslate.presets.calibration import Bands, FittedConstants

__all__ = ["Explanation", "Given", "Step", "explain"]

_FROM_DEFAULTS = "computed from defaults"


@dataclass(frozen=True)
class Binding:
    """The selected term of a max or min, and its margin."""

    winner: str
    loser: str
    winner_value: float
    loser_value: float
    maximum: bool

    def __str__(self) -> str:
        larger, smaller = max(self.winner_value, self.loser_value), min(self.winner_value, self.loser_value)
        verb = "binds" if self.maximum else "limits"
        if smaller <= 0 or not math.isfinite(larger):
            return f"{self.winner} {verb}"
        side = "smaller" if self.maximum else "larger"
        return f"{self.winner} {verb}, {self.loser} is {larger / smaller:.3g} times {side}"


def bindings_of(decisions: Sequence[tuple[bool, str, float, str, float]]) -> tuple[Binding, ...]:
    """Return the selected terms of each max and min once, without limits that are infinite."""
    bindings = (
        Binding(winner, loser, winner_value, loser_value, maximum)
        for maximum, winner, winner_value, loser, loser_value in decisions
        if winner_value != loser_value and math.isfinite(loser_value)
    )
    return tuple(dict.fromkeys(bindings))


@dataclass(frozen=True)
class Part:
    """A quantity of the derivation, and its value in base units or the index of its choice."""

    quantity: Quantity
    value: float

    @property
    def result(self) -> str:
        """The formatted value."""
        q = self.quantity
        return repr(q.choices[int(self.value)]) if q.choices else units.format(self.value, q.unit)


@dataclass(frozen=True)
class Step(Part):
    """One quantity of the derivation, with its formula.

    Attributes
    ----------
    quantity : Quantity
    value : float
        In base units, or the index of the choice.
    needs : tuple of str
        Quantities that determine the value, in the order of the formula.
    formula, substituted : str
        The selected branch of the formula, with names and with numbers.
    latex, latex_substituted : str
        Both as LaTeX.
    bindings : tuple of Binding
        Selected terms of max and min.
    choices : tuple of str
        Choices, such as ``overlap = 'board'``, and the reason for the branch in words: ``since experts is 0``.
    """

    needs: tuple[str, ...]
    formula: str
    substituted: str
    latex: str
    latex_substituted: str
    bindings: tuple[Binding, ...] = ()
    choices: tuple[str, ...] = ()

    @property
    def remark(self) -> str:
        """Selected terms, choices, and the reason for the branch."""
        return "; ".join([*map(str, self.bindings), *self.choices])

    @property
    def aligned(self) -> str:
        """Formula, numbers and result as LaTeX, one below the other."""
        sides = dict.fromkeys([self.latex, self.latex_substituted, _latex_number(self.quantity, self.value)])
        rows = [f"{'' if k else self.quantity.symbol} &= {side}" for k, side in enumerate(sides)]
        return "\\begin{aligned}\n" + untagged(" \\\\\n".join(rows)) + "\n\\end{aligned}"


@dataclass(frozen=True)
class Given(Part):
    """A quantity at which the derivation ends, and the origin of its number."""

    origin: str  # "given", "default", "computed from defaults", the preset and its source, or the depth to derive it


@dataclass(frozen=True, repr=False)
class Explanation:
    """The derivation of one value, top-down, with the inputs at its end.

    `str()` returns text, `markdown`, `latex` and `html` other formats. Jupyter shows the HTML, with formulas as MathML.
    Converters of notebooks to PDF use the LaTeX.

    Attributes
    ----------
    steps : tuple of Step
        The requested quantity first, each quantity before its needs.
    inputs : tuple of Given
        Inputs, and with a `depth` the quantities below it.
    band : str
        The prediction interval of the value, if requested.
    basis : str
        Lower bound (``floor``) or ``estimate``, as in `evaluate`. Empty without constants.
    support : str
        Support of an estimate: ``measured``, ``interpolated`` or ``extrapolated`` with a reason.
    """

    steps: tuple[Step, ...]
    inputs: tuple[Given, ...]
    band: str = ""
    basis: str = ""
    support: str = ""
    _scenario: Scenario | None = field(default=None, compare=False)

    @property
    def value(self) -> float | str:
        """The explained value in base units, or the word of a choice."""
        first = self._parts[0]
        q = first.quantity
        return q.choices[int(first.value)] if q.choices else first.value

    @property
    def _parts(self) -> list[Part]:
        return [*self.steps, *self.inputs]

    def graph(self) -> Dependencies:
        """Return the dependency graph, for Graphviz or matplotlib.

        Returns
        -------
        Dependencies
        """
        binding = {
            (b.winner, step.quantity.name) for step in self.steps for b in step.bindings if b.winner in step.needs
        }
        return Dependencies(
            {part.quantity.name: part.result for part in self._parts},
            tuple((need, step.quantity.name) for step in self.steps for need in step.needs),
            frozenset(given.quantity.name for given in self.inputs),
            frozenset(binding),
        )

    def to_excel(self, path: str | os.PathLike[str], *, overwrite: bool = False) -> None:
        """Write the derivation as a workbook with live formulas, see `roofslate.to_excel`.

        Parameters
        ----------
        path : path
            A file whose name ends in ``.xlsx``.
        overwrite : bool
            Replace an existing file.
        """
        if self._scenario is None:
            raise InputTypeError("this derivation has no scenario to write; make it with rs.explain")
        write_workbook(path, [self._parts[0].quantity.name], self._scenario, overwrite=overwrite)

    def __str__(self) -> str:
        blocks = []
        for step in self.steps:
            q = step.quantity
            sides = dict.fromkeys([step.formula, step.substituted, step.result])
            lines = [f"{q.name}: {q.brief}  [{q.source}]", *(f"  = {side}" for side in sides)]
            if step.remark:
                lines[-1] += f"    ({step.remark})"
            blocks.append("\n".join(lines))
        width = max((len(given.quantity.name) for given in self.inputs), default=0)
        column = max((len(given.result) for given in self.inputs), default=0)
        rows = [
            f"  {given.quantity.name:<{width}}  {given.result:<{column}}  {given.origin}".rstrip()
            for given in self.inputs
        ]
        return "\n\n".join([*blocks, "\n".join(["Inputs", *rows]), *self._legend])

    __repr__ = __str__

    @property
    def markdown(self) -> str:
        """The derivation as Markdown, formulas as LaTeX."""
        blocks = []
        for step in self.steps:
            q = step.quantity
            blocks += [f"**{q.name}**: {escaped(q.brief)} [{escaped(q.source)}]", f"$$\n{step.aligned}\n$$"]
            if step.remark:
                blocks.append(f"*{escaped(step.remark)}*")
        rows = ["| input | symbol | value | from |", "|---|---|---|---|"]
        for given in self.inputs:
            q = given.quantity
            symbol = re.sub(r"(?<!\\)\|", r"\\vert ", untagged(q.symbol))
            rows.append(f"| {q.name} | ${symbol}$ | {escaped(given.result)} | {escaped(given.origin)} |")
        return "\n\n".join([*blocks, "\n".join(rows), *map(escaped, self._legend)])

    @property
    def latex(self) -> str:
        """The derivation as LaTeX, one aligned block per quantity."""
        return "\n\n".join(f"\\[\n{step.aligned}\n\\]" for step in self.steps)

    @property
    def html(self) -> str:
        """The derivation as HTML, formulas as MathML."""
        from markupsafe import Markup

        blocks = []
        for step in self.steps:
            q = step.quantity
            words = Markup("<p><b>{}</b>: {} [{}]</p>").format(q.name, q.brief, q.source)
            remark = Markup("<p><i>{}</i></p>").format(step.remark) if step.remark else ""
            blocks.append(f"{words}<p>{mathml(step.aligned)}</p>{remark}")
        rows = [
            (given.quantity.name, mathml(given.quantity.symbol), given.result, given.origin) for given in self.inputs
        ]
        blocks.append(html_table("Inputs", ("input", "symbol", "value", "from"), rows))
        blocks += [Markup("<p>{}</p>").format(line) for line in self._legend]
        return f"<div {LITERAL}>{''.join(blocks)}</div>"

    def _repr_html_(self) -> str:
        return self.html

    def _repr_markdown_(self) -> str:
        return self.markdown

    def _repr_latex_(self) -> str | None:
        return self.latex or None

    @property
    def _legend(self) -> list[str]:
        """Lines for basis, support, interval, and the letters of sources."""
        meanings: dict[str, str] = {}
        for part in self._parts:
            if isinstance(part, Given) and not part.origin.startswith("default"):
                continue
            source = part.quantity.source
            if label := re.fullmatch(r"R(\d+)\.(\d+)", source):
                meanings.setdefault(
                    "R", f"{source} is relation {label[2]} of chapter {label[1]} of Reiner Pope's lecture"
                )
            elif label := re.fullmatch(r"Q(\d+)", source):
                meanings.setdefault("Q", f"{source} is question {label[1]} that the lecture leaves open")
        sources = [f"Sources: {', '.join(meanings.values())}; see docs/reference/sources.md"] if meanings else []
        basis = [f"Basis: {self.basis}"] * bool(self.basis) + [f"Support: {self.support}"] * bool(self.support)
        return [*basis, *[self.band] * bool(self.band), *sources]


def _latex_number(q: Quantity, x: float) -> str:
    if q.choices and not math.isnan(x):  # of a branch that is not selected
        return f"\\text{{{q.choices[int(x)].replace('_', ' ')}}}"
    if math.isinf(x):
        return "\\infty" if x > 0 else "-\\infty"
    text = units.format(x, q.unit)
    for character in "$%&_#":
        text = text.replace(character, f"\\{character}")
    # LaTeX has no powers in text mode
    return re.sub(r"\^([\d.]+)", r"}^{\1}\\text{", f"\\text{{{text}}}").removesuffix("\\text{}")


def explain(
    output: str,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    depth: int | None = None,
    bands: float | Bands | FittedConstants | None = None,
    **inputs: Any,
) -> Explanation:
    """Derive one value step by step: formula, numbers, result, bottleneck.

    Parameters
    ----------
    output : str
        Name of a quantity.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    depth : int, optional
        Levels below the output to derive. Deeper quantities are listed among the inputs, with their value and the depth
        to derive them. By default everything is derived, except disabled features: a quantity that is 0 or 1 by its
        defaults is listed among the inputs as ``computed from defaults``.
    bands : float, Bands or Calibration, optional
        Prediction interval, as for `evaluate`.
    **inputs
        As for `evaluate`, but no axes.

    Returns
    -------
    Explanation
        As text, HTML, Markdown, LaTeX and a graph. Every number equals the result of `value`.

    Raises
    ------
    MissingInput, UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError, IneffectiveInput
        As for `evaluate`, and for a `depth` that is negative or no integer.

    Examples
    --------
    >>> import roofslate as rs
    >>> print(rs.explain("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s"))
    hbm_drain_time: HBM drain time, capacity / bandwidth  [R1.12]
      = hbm_capacity / hbm_bandwidth
      = 192 GB / (8 TB/s)
      = 24 ms
    <BLANKLINE>
    Inputs
      hbm_capacity   192 GB  given
      hbm_bandwidth  8 TB/s  given
    <BLANKLINE>
    Sources: R1.12 is relation 12 of chapter 1 of Reiner Pope's lecture; see docs/reference/sources.md
    """
    inputs = with_scenario(scenario, inputs)
    (name,) = wanted_names([output])
    # A percentile by name is the quantile at its share.
    while (elsewhere := lookup(name)).changed_value is not None and elsewhere.needs[0] not in inputs:
        inputs = {**inputs, str(elsewhere.changed): elsewhere.changed_value}
        name = elsewhere.needs[0]
    levels = math.inf if depth is None else _whole(depth)
    grid = read_grid(inputs, [name])
    wide = requested_bands(bands, [name], grid.inputs, grid.presets.get("calibration", ()))
    for input_name, i in grid.inputs.items():
        if i.dims:
            raise AxisError(
                f"rs.explain derives one value, but {i.origin or input_name} is an axis; choose a point of it"
            )
    supplied = grid.numbers()
    computed = dict(_core.chain(name, supplied))
    values = {given: supplied[given] for given in sorted(grid.core.used([name]))} | computed
    by_default = _DefaultsAlone(grid, values)
    steps: dict[str, Step] = {}
    level = {name: 0}
    queue = [name]
    for current in queue:  # breadth first, so the first path to a quantity is the shortest
        q = lookup(current)
        if current in supplied or not (q.computed or q.fallback in values):
            continue
        if current != name and by_default.is_off(current):
            continue
        steps[current] = _step(q, values)
        for need in steps[current].needs:
            if need not in level:
                level[need] = level[current] + 1
                queue.append(need)
    order = _top_down(name, steps)  # of all levels, so that the order does not depend on the depth
    steps = {n: step for n, step in steps.items() if level[n] <= levels}
    shown_names = {name, *(need for step in steps.values() for need in step.needs)}
    order = [n for n in order if n in shown_names]
    origins = {
        n: _FROM_DEFAULTS if by_default.is_off(n) else origin(lookup(n), grid, values, level[n])
        for n in order
        if n not in steps
    }
    givens = [Given(lookup(n), values[n], origin) for n, origin in origins.items()]
    band = band_text(wide, name, values[name], grid) if wide else ""
    labels = basis([name], grid) if carries_constants(name, grid.registry) else {}
    text = ", calibration ".join(labels[key] for key in ("basis", "calibration") if key in labels)
    if grid.layout:
        text = f"{text}; layout {grid.layout}" if text else f"layout {grid.layout}"
    if grid.dequantized:
        text = f"{text}; {grid.dequantized}" if text else grid.dequantized
    scenario_numbers = Scenario(supplied, {n: origin(lookup(n), grid, values) for n in supplied}, {name: labels})
    shown_steps = tuple(steps[n] for n in order if n in steps)
    return Explanation(shown_steps, tuple(givens), band, text, labels.get("support", ""), scenario_numbers)


class _DefaultsAlone:
    """Quantities that depend on defaults only, in every scenario."""

    def __init__(self, grid: Grid, values: Mapping[str, float]) -> None:
        self._grid = grid
        self._values = values
        self._known: dict[str, bool] = {}

    def is_off(self, name: str) -> bool:
        """Return True if a computed quantity is 0 or 1 by default, so its feature is disabled."""
        q = lookup(name)
        return self._values[name] in (0, 1) and not q.choices and self._is_computed(q) and self._holds(name)

    def _is_computed(self, q: Quantity) -> bool:
        return q.name not in self._grid.inputs and (q.computed or q.fallback in self._values)

    def _holds(self, name: str) -> bool:
        known = self._known.get(name)
        if known is None:
            q = lookup(name)
            needs = _step(q, self._values).needs if self._is_computed(q) else ()
            known = self._known[name] = name not in self._grid.inputs and all(map(self._holds, needs))
        return known


def _whole(depth: Any) -> int:
    if not is_whole(depth):
        raise InputTypeError(f"depth must be a whole number of levels, got {shown(depth)}")
    if depth < 0:
        raise ValueRangeError(f"depth must be at least 0, got {shown(depth)}")
    return int(depth)


def _top_down(name: str, steps: Mapping[str, Step]) -> list[str]:
    """Sort names so that each precedes its needs, the deepest inputs last."""
    order: dict[str, None] = {}

    def visit(current: str) -> None:
        if current not in order:
            for need in reversed(steps[current].needs if current in steps else ()):
                visit(need)
            order[current] = None

    visit(name)
    return list(order)[::-1]


def _step(q: Quantity, values: Mapping[str, float]) -> Step:
    if not q.computed or q.replaced_by in values:
        source = lookup(str(q.replaced_by if q.replaced_by in values else q.fallback))
        x = values[source.name]
        sides = (source.name, Part(source, x).result, source.symbol, _latex_number(source, x))
        return Step(q, values[q.name], (source.name,), *sides)
    needs = [lookup(need) for need in q.needs]
    numbers = [values.get(need.name, math.nan) for need in needs]  # a branch that is not selected has no values

    def applied(symbols: Sequence[str], *, latex: bool) -> Any:
        return _core.apply_formula(q.name, numbers, list(symbols), latex)

    formula, decisions, conditions = applied([need.name for need in needs], latex=False)
    named = re.findall(r"\w+", " ".join([formula, *conditions]))
    decided = {
        need.name: f"{need.name} = {Part(need, x).result}"
        for need, x in zip(needs, numbers, strict=True)
        if need.choices and need.name in values
    }
    return Step(
        q,
        values[q.name],
        tuple(need.name for need in needs if need.name in values and need.name in (*named, *decided)),
        formula,
        _substituted(q, needs, numbers),
        applied([need.symbol for need in needs], latex=True)[0],
        applied([_latex_number(need, x) for need, x in zip(needs, numbers, strict=True)], latex=True)[0].replace(
            r" \, ",
            r" \times ",  # a blank between numbers would group digits
        ),
        bindings_of(decisions),
        (*decided.values(), *filter(None, [reason_of(conditions, decided)])),
    )


def _substituted(q: Quantity, needs: Sequence[Quantity], numbers: Sequence[float]) -> str:
    parts = zip(needs, numbers, strict=True)
    texts = [need.name if math.isnan(x) else Part(need, x).result for need, x in parts]  # without a value
    # A divided unit is in parentheses, unless it is the whole formula.
    formula: str = _core.apply_formula(q.name, list(numbers), [f"({t})" if "/" in t else t for t in texts], False)[0]
    return formula[1:-1] if formula[1:-1] in texts else formula
