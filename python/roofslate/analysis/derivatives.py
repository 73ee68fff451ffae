"""Exact derivatives of a quantity by all its inputs, in one pass."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

import numpy as np

from roofslate import _core
from roofslate._base.messages import shown, unknown
from roofslate._base.progress import Progress, ProgressWish
from roofslate._base.threads import thread_count
from roofslate.analysis.explain import bindings_of
from roofslate.errors import AxisError, InputTypeError, MissingInput
from roofslate.grid.basis import basis
from roofslate.grid.checks import explain_missing
from roofslate.grid.grid import Grid, Input
from roofslate.grid.label import data_array, provenance, variable
from roofslate.grid.read import changed, read_grid, with_scenario
from roofslate.grid.run import given_memory, keep_apart
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import Quantity, entries, lookup, unknown_quantity
from roofslate.registry.values import Values, wanted_names
from roofslate.units import divide

if TYPE_CHECKING:
    import pandas as pd
    import xarray as xr

__all__ = ["gradient", "sensitivity"]

INPUT = "input"  # axis of the variables of differentiation
UNIT = "unit"  # coordinate of the derivatives' units
_SIDES = ("above", "below")
_LONGEST_EQUATION = 120  # characters


def sensitivity(
    output: str,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    to: str | Sequence[str] | None = None,
    side: Literal["above", "below"] = "above",
    out: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> pd.Series | xr.DataArray:
    """Compute exact elasticities of a quantity, d ln(output) / d ln(input) (1).

    An elasticity is the percent change of the output per percent change of an input.

    Parameters
    ----------
    output : str
        Name of a quantity.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    to : str or list of str, optional
        Variables of differentiation. By default all numbers the output depends on: given, from presets or by default,
        physical constants included, but without defaults of 0 and inf, which disable a machine feature or a technique.
        A computed quantity can be a variable if it is given. For an input the output does not depend on, the elasticity
        is 0.
    side : {"above", "below"}
        The side of the derivative, toward larger or smaller values of the input, if terms of a max or min are equal.
    out : numpy.ndarray, optional
        Memory for the result: float64, with a first axis for the inputs and then the axes of the output.
    threads, progress
        As for `evaluate`.
    **inputs
        As for `evaluate`. Arrays of dask are loaded.

    Returns
    -------
    pandas.Series or xarray.DataArray
        A Series by input if no input is an axis, otherwise a DataArray with the dims ``input`` and the axes of the
        output. NaN if the output is 0, infinite or undefined. If the two sides differ anywhere, ``attrs["kinks"]``
        names the equal terms and their quantity. ``attrs["binding"]`` of a Series names the selected term of each max
        and min, and its margin. Rounding up or down has derivative 0, and a choice of formulas the derivative of the
        selected one.

    Raises
    ------
    NoDerivative
        If the output depends on an input through a function without an exact derivative by it.
    MissingInput, UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError, IneffectiveInput, OutOfMemory
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.sensitivity("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    input
    hbm_capacity     1.0
    hbm_bandwidth   -1.0
    Name: hbm_drain_time, dtype: float64
    """
    inputs = with_scenario(scenario, inputs)
    question = _Question(output, to, side, inputs)
    values, dims = question.run(out, threads, progress, relative=True)
    return question.labelled(values, dims, {"units": "1", "long_name": f"elasticity of {output}"})


def gradient(
    output: str,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    to: str | Sequence[str] | None = None,
    side: Literal["above", "below"] = "above",
    out: Any = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    **inputs: Any,
) -> pd.Series | xr.DataArray:
    """Compute exact derivatives of a quantity, d output / d input, in base units.

    Each has the unit of the output divided by the unit of the input.

    Parameters
    ----------
    output, scenario, to, side, out, threads, progress, **inputs
        As for `sensitivity`.

    Returns
    -------
    pandas.Series or xarray.DataArray
        As for `sensitivity`. Units differ by input: a DataArray has them as a coordinate ``unit`` along ``input``, a
        Series as a dict by input in ``attrs["unit"]``. NaN if the output is infinite or undefined.

    Raises
    ------
    NoDerivative, MissingInput, UnknownName, UnitError, ValueRangeError, AxisError, InputTypeError, IneffectiveInput
        As for `sensitivity`.

    Examples
    --------
    >>> import roofslate as rs
    >>> slopes = rs.gradient("hbm_drain_time", to="hbm_capacity", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    >>> float(slopes["hbm_capacity"]), slopes.attrs["unit"]["hbm_capacity"]
    (1.25e-13, 'chip*s/byte')
    """
    inputs = with_scenario(scenario, inputs)
    question = _Question(output, to, side, inputs)
    units = {name: divide(question.output.unit, lookup(name).unit) for name in question.to}
    values, dims = question.run(out, threads, progress, relative=False)
    return question.labelled(values, dims, {"long_name": f"derivative of {output}"}, units)


class _Question:
    """An output, its variables of differentiation, the grid, and kinks."""

    def __init__(self, output: str, to: str | Sequence[str] | None, side: str, inputs: Mapping[str, Any]) -> None:
        if not isinstance(output, str):
            raise InputTypeError(f"expected the name of one quantity, got {shown(output)}")
        self.output = lookup(wanted_names(output)[0])
        if self.output.choices:
            raise InputTypeError(f"{output} is one of {self.output.range_text}. A choice has no derivative.")
        if not isinstance(side, str) or side not in _SIDES:
            raise unknown("side", side, _SIDES)
        self.side = side
        variables = None if to is None else _inputs_named(to)
        self.grid = read_grid(
            changed(inputs, {n: inputs[n] for n in variables or () if n in inputs}, exempt=True), [output]
        )
        for dim in (INPUT, UNIT):
            if dim in self.grid.sizes:
                raise AxisError(f"The axis {dim!r} has the name of a variable of the result. Rename the axis.")
        self.formula = [("quantity", output)]
        try:
            self.used_numbers = self.grid.core.numbers_taken(self.formula)
        except MissingInput as error:
            raise explain_missing(error, self.grid) from None
        self.to = [name for name in self.used_numbers if self._matters(name)] if variables is None else variables
        if not self.to:
            raise InputTypeError(f"{output} does not depend on any number to differentiate by")
        for name in self.to:
            if name not in self.used_numbers and name not in self.grid.inputs:
                _refuse_what_follows(lookup(name))
        self.kinks: list[tuple[str, str, str, int]] = []

    def _matters(self, name: str) -> bool:
        """Return True if an input is given, or its default has an effect."""
        default = lookup(name).default
        return name in self.grid.inputs or (default is not None and default != 0 and math.isfinite(default))

    def run(
        self, out: Any, threads: int | None, progress: ProgressWish, *, relative: bool
    ) -> tuple[Values, tuple[str, ...]]:
        """Compute the derivatives, and return them with the axes of the output."""
        given = given_memory(out, [self.output.name], self.output.name, np.dtype(np.float64))
        keep_apart(self.grid, given)
        defaults = {
            name: Input(q, float(q.default or 0.0))
            for name, q in ((name, lookup(name)) for name in self.to if name not in self.grid.inputs)
            if q.default is not None
        }
        grid = Grid({**self.grid.inputs, **defaults}, self.grid.sizes, variables=tuple(self.to))
        values: Any = given[0] if given else None
        with Progress(progress) as bar:
            for at_limits in (False, True):
                values, axes, self.kinks, finite = grid.core.derivatives(
                    self.formula, self.to, relative, self.side == "above", at_limits, values, thread_count(threads),
                    bar.callback,
                )  # fmt: skip
                if finite or _are_finite(values):
                    break
        sizes = list(self.grid.sizes)
        return values, tuple(sizes[k] for k in axes)

    def labelled(
        self, values: Values, dims: tuple[str, ...], attrs: dict[str, Any], units: Mapping[str, str] | None = None
    ) -> pd.Series | xr.DataArray:
        """Label the result for the caller."""
        if self.kinks:
            points = math.prod(self.grid.sizes[dim] for dim in dims)
            equations = [
                _equation(name, first_term, second_term) + (f" at {n:,} of {points:,} points" if points > 1 else "")
                for name, first_term, second_term, n in self.kinks
            ]
            attrs["kinks"] = "; ".join(dict.fromkeys(equations))
        said = {**basis([self.output.name], self.grid), **provenance(self.grid)}
        if self.grid.sizes:
            name = self.output.name
            array = data_array(name, variable(name, values, (INPUT, *dims), "", {}), self.grid)
            array.attrs = attrs | said
            coords: dict[str, Any] = {INPUT: self.to}
            return array.assign_coords(coords if units is None else coords | {UNIT: (INPUT, list(units.values()))})
        import pandas as pd

        series = pd.Series(values, index=pd.Index(self.to, name=INPUT), name=self.output.name, copy=False)
        if units is not None:
            attrs["unit"] = dict(units)
        if bindings := self._bindings():
            attrs["binding"] = "; ".join(bindings)
        series.attrs.update(attrs | said)
        return series

    def _bindings(self) -> list[str]:
        """List the selected term and its margin, for each max and min in the derivation."""
        supplied = self.grid.numbers()
        values = supplied | dict(_core.chain(self.output.name, supplied))
        texts = []
        for name in values:
            q = lookup(name)
            if name in supplied or not q.computed:
                continue
            needs = [values.get(need, math.nan) for need in q.needs]  # inputs of unselected choices have no value
            _, decisions, _ = _core.apply_formula(name, needs, q.needs, False)
            texts += [f"{name}: {binding}" for binding in bindings_of(decisions)]
        return texts


def _equation(name: str, first_term: str, second_term: str) -> str:
    """Format the equation at a kink, or a short form of it."""
    equation = f"{name}: {first_term} = {second_term}"
    return equation if len(equation) <= _LONGEST_EQUATION else f"{name}: two of its terms are equal"


def _inputs_named(to: str | Sequence[str]) -> list[str]:
    """Check the names of the variables of differentiation."""
    names = [to] if isinstance(to, str) else to
    if not isinstance(names, Sequence) or not names:
        raise InputTypeError(f"to: expected the name of an input or a list of names, got {shown(to)}")
    for name in names:
        if isinstance(name, str) and name in PRESETS:
            raise InputTypeError(f"to: {name!r} names a preset. Differentiate by the numbers it supplies.")
        q = entries().get(name) if isinstance(name, str) else None
        if q is None:
            raise unknown_quantity(name, "input")
        if q.choices:
            raise InputTypeError(f"to: {name} is one of {q.range_text}, expected a number")
    if len(set(names)) < len(names):
        raise InputTypeError(f"to: expected distinct inputs, got {', '.join(names)}. Drop the duplicate.")
    return list(names)


def _are_finite(values: Values) -> bool:
    """Return True if the sum is finite, which needs no comparison of elements.

    A sum that overflows does no harm.
    """
    with np.errstate(all="ignore"):
        return bool(np.isfinite(np.add.reduce(values, axis=None)))


def _refuse_what_follows(q: Quantity) -> None:
    """Raise an error for a quantity computed from others, which is no variable."""
    if q.computed or q.fallback:
        sources = ", ".join(q.needs) if q.computed else str(q.fallback)
        raise MissingInput(f"to: {q.name!r} is computed from {sources}. Give its value to differentiate by it.")
