"""The derivation of a value, as on the board: formula, numbers put in, result, and which term binds."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate import _core, units
from roofslate.errors import AxisError, MissingInput
from roofslate.inputs import Grid, explain_missing, read_grid, wanted_names
from roofslate.registry import Quantity, lookup

if TYPE_CHECKING:
    from roofslate.catalogs import Fact

__all__ = ["Explanation", "Given", "Step", "explain"]


@dataclass(frozen=True)
class Binding:
    """What a max or min in a formula chose, and by how much."""

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


@dataclass(frozen=True)
class Step:
    """One quantity of the derivation.

    Attributes
    ----------
    quantity : Quantity
    value : float
        In base units; of a choice, its position.
    formula, substituted : str
        What choices leave of the formula, in names and with the numbers put in.
    latex, latex_substituted : str
        The same as LaTeX.
    bindings : tuple of Binding
        What max and min chose.
    choices : tuple of str
        Decided choices, as ``overlap = 'board'``, and conditions that led to this formula.
    """

    quantity: Quantity
    value: float
    formula: str
    substituted: str
    latex: str
    latex_substituted: str
    bindings: tuple[Binding, ...]
    choices: tuple[str, ...]


@dataclass(frozen=True)
class Given:
    """One input of the derivation and where its number comes from."""

    quantity: Quantity
    value: float
    origin: str  # "given", "default", or the preset with its source


@dataclass(frozen=True)
class Explanation:
    """The derivation of one value, top-down, with the inputs at its end.

    `str()` gives text; `markdown` and `latex` are texts too, and Jupyter shows the first.

    Attributes
    ----------
    steps : tuple of Step
        The quantity that was asked for first; each one before those that it needs.
    inputs : tuple of Given
    """

    steps: tuple[Step, ...]
    inputs: tuple[Given, ...]

    @property
    def value(self) -> float | str:
        """The explained value, in base units; of a choice, its word."""
        if not self.steps:
            return _plain(self.inputs[0].quantity, self.inputs[0].value)
        return _plain(self.steps[0].quantity, self.steps[0].value)

    def __str__(self) -> str:
        blocks = []
        for step in self.steps:
            q = step.quantity
            notes = [*map(str, step.bindings), *step.choices]
            sides = list(dict.fromkeys([step.formula, step.substituted, _human(q, step.value)]))
            lines = [f"{q.name}: {q.brief}  [{q.source}]", *(f"  = {side}" for side in sides)]
            if notes:
                lines[-1] += f"    ({'; '.join(notes)})"
            blocks.append("\n".join(lines))
        width = max((len(given.quantity.name) for given in self.inputs), default=0)
        texts = [_human(given.quantity, given.value) for given in self.inputs]
        column = max(map(len, texts), default=0)
        rows = [
            f"  {given.quantity.name:<{width}}  {text:<{column}}  {given.origin}".rstrip()
            for given, text in zip(self.inputs, texts, strict=True)
        ]
        return "\n\n".join([*blocks, "\n".join(["Inputs", *rows])])

    @property
    def markdown(self) -> str:
        """The derivation as Markdown, formulas as LaTeX."""
        blocks = []
        for step in self.steps:
            q = step.quantity
            notes = [*map(str, step.bindings), *step.choices]
            blocks.append(f"**{q.name}**: {q.brief} [{q.source}]")
            blocks.append(f"$$\n{_aligned(step)}\n$$")
            if notes:
                blocks.append(f"*{'; '.join(notes)}*")
        rows = ["| input | symbol | value | from |", "|---|---|---|---|"]
        for given in self.inputs:
            q = given.quantity
            rows.append(f"| {q.name} | ${q.symbol}$ | {_cell(_human(q, given.value))} | {_cell(given.origin)} |")
        return "\n\n".join([*blocks, "\n".join(rows)])

    @property
    def latex(self) -> str:
        """The derivation as LaTeX, one aligned block a quantity."""
        return "\n\n".join(f"\\[\n{_aligned(step)}\n\\]" for step in self.steps)

    def _repr_markdown_(self) -> str:
        return self.markdown


def _cell(text: str) -> str:
    return text.replace("|", "\\|").replace("$", "\\$")


def _aligned(step: Step) -> str:
    q = step.quantity
    sides = dict.fromkeys([step.latex, step.latex_substituted, _latex_number(q, step.value)])
    rows = [f"{q.symbol if k == 0 else ''} &= {side}" for k, side in enumerate(sides)]
    return "\\begin{aligned}\n" + " \\\\\n".join(rows) + "\n\\end{aligned}"


def _plain(q: Quantity, x: float) -> float | str:
    return q.choices[int(x)] if q.choices else x


def _human(q: Quantity, x: float) -> str:
    return repr(q.choices[int(x)]) if q.choices else units.format(x, q.unit)


def _latex_number(q: Quantity, x: float) -> str:
    if q.choices:
        return f"\\text{{{q.choices[int(x)].replace('_', ' ')}}}"
    if math.isinf(x):
        return "\\infty" if x > 0 else "-\\infty"
    text = units.format(x, q.unit)
    for character in "$%&_#":
        text = text.replace(character, f"\\{character}")
    return f"\\text{{{text}}}"


def explain(output: str, /, **inputs: Any) -> Explanation:
    """The derivation of one value, as on the board.

    Parameters
    ----------
    output : str
        Name of a quantity.
    **inputs
        As for `evaluate`, but none of them may be an axis.

    Returns
    -------
    Explanation
        Text with `str()`, Markdown and LaTeX; every number in it is that of `value`.

    Raises
    ------
    MissingInput, UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError, IneffectiveInput
        As for `evaluate`.

    Examples
    --------
    >>> import roofslate as rs
    >>> print(rs.explain("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s"))
    hbm_drain_time: time to read the whole memory once  [R1.12]
      = hbm_capacity / hbm_bandwidth
      = 192 GB / 8 TB/s
      = 24 ms
    <BLANKLINE>
    Inputs
      hbm_capacity   192 GB  given
      hbm_bandwidth  8 TB/s  given
    """
    (name,) = wanted_names([output])
    grid = read_grid(inputs, [name])
    for input_name, i in grid.inputs.items():
        if i.dims:
            raise AxisError(
                f"rs.explain derives one value, but {i.origin or input_name} is an axis; choose a point of it"
            )
    supplied = {input_name: float(i.values) for input_name, i in grid.inputs.items()}
    try:
        computed = dict(_core.chain(name, supplied))
    except MissingInput as error:
        raise explain_missing(error, grid) from None
    used = set(_core.used([name], supplied, []))
    values = {given: x for given, x in supplied.items() if given in used} | computed
    steps: list[Step] = []
    givens: list[Given] = []
    for step_name in _top_down(name, values, supplied):
        q = lookup(step_name)
        if step_name in supplied or not (q.computed or _falls_back(q, values)):
            givens.append(Given(q, values[step_name], _origin(q, grid)))
        else:
            steps.append(_step(q, values))
    return Explanation(tuple(steps), tuple(givens))


def _falls_back(q: Quantity, values: dict[str, float]) -> bool:
    return q.fallback is not None and q.fallback in values


def _top_down(name: str, values: dict[str, float], supplied: dict[str, float]) -> list[str]:
    """Names in an order in which each stands before what it needs, the deepest inputs last."""
    order: list[str] = []

    def visit(current: str) -> None:
        if current in order:
            return
        q = lookup(current)
        if current not in supplied:
            needs = q.needs if q.computed else (q.fallback,) if _falls_back(q, values) else ()
            for need in reversed(needs):
                if need in values:
                    visit(str(need))
        order.append(current)

    visit(name)
    return order[::-1]


def _step(q: Quantity, values: dict[str, float]) -> Step:
    if not q.computed:
        source = lookup(str(q.fallback))
        return Step(
            q,
            values[q.name],
            source.name,
            _human(source, values[source.name]),
            source.symbol,
            _latex_number(source, values[source.name]),
            (),
            (),
        )
    needs = [lookup(need) for need in q.needs]
    numbers = [values.get(need.name, math.nan) for need in needs]  # what a choice leaves out has no value

    def applied(symbols: Sequence[str], *, latex: bool) -> Any:
        return _core.apply_formula(q.name, numbers, list(symbols), latex)

    formula, decisions, conditions = applied([need.name for need in needs], latex=False)
    return Step(
        q,
        values[q.name],
        formula,
        _substituted(q, needs, numbers),
        applied([need.symbol for need in needs], latex=True)[0],
        applied([_latex_number(need, x) for need, x in zip(needs, numbers, strict=True)], latex=True)[0],
        tuple(
            Binding(winner, loser, winner_value, loser_value, maximum)
            for maximum, winner, winner_value, loser, loser_value in decisions
            if winner_value != loser_value
        ),
        (
            *(f"{need.name} = {_human(need, x)}" for need, x in zip(needs, numbers, strict=True) if need.choices),
            *(f"since {condition}" for condition in conditions),
        ),
    )


def _substituted(q: Quantity, needs: Sequence[Quantity], numbers: Sequence[float]) -> str:
    texts = [_human(need, x) for need, x in zip(needs, numbers, strict=True)]
    # a unit that is divided by something stands in parentheses, unless nothing stands beside it
    formula: str = _core.apply_formula(q.name, list(numbers), [f"({t})" if "/" in t else t for t in texts], False)[0]
    return formula[1:-1] if formula[1:-1] in texts else formula


def _origin(q: Quantity, grid: Grid) -> str:
    i = grid.inputs.get(q.name)
    if i is None:
        return f"default [{q.source}]"
    if i.origin is None:
        return "given"
    preset = grid.presets[i.origin][0]
    fact: Fact | None = preset.facts.get(q.name)
    if fact is None:
        return f"{i.origin} {preset.name}"
    return f"{i.origin} {preset.name}: {fact.source}, {fact.date}{'' if fact.read else ', recalled'}"
