"""`rs.bounds`: guaranteed ranges of outputs."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, MissingInput, ValueRangeError
from roofslate.folds.request import only_value
from roofslate.grid.checks import explain_missing
from roofslate.grid.label import UnitsOfOutputs, conversions
from roofslate.grid.read import changed, read_grid, with_scenario
from roofslate.presets.lookup import PRESETS
from roofslate.registry.values import input_quantity

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["bounds"]


def bounds(
    output: str, scenario: Mapping[str, Any] | None = None, /, *, units: UnitsOfOutputs | None = None, **inputs: Any
) -> tuple[float, float]:
    """Bound a quantity while its inputs stay in ranges, in base units.

    The bounds hold for every value the engine computes, rounding included. They may be wider than necessary if an input
    enters a formula more than once.

    Parameters
    ----------
    output : str
        Name of a quantity.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    units : str or dict of str, optional
        Unit of the result, or units by output.
    **inputs
        As for `evaluate`. A tuple of two is an interval, ends included.

    Returns
    -------
    tuple of float
        The lower and the upper bound. NaN if no bound is known.

    Raises
    ------
    MissingInput, UnknownName, UnitError, ValueRangeError, InputTypeError
        As for `evaluate`.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.bounds("hbm_drain_time", hbm_capacity=("80 GB", "288 GB"), hbm_bandwidth="8 TB/s")
    (0.01, 0.036)
    """
    inputs = with_scenario(scenario, inputs)
    name = only_value(output)
    factor, _ = conversions([name], units).get(name, (1.0, ""))
    ends: dict[str, Any] = {}
    for key, given in inputs.items():
        if isinstance(given, tuple):
            if len(given) != 2:
                raise InputTypeError(f"{key}: expected a range of two ends, got {shown(given)}")
            if key in PRESETS or input_quantity(key).choices:
                raise InputTypeError(f"{key}: got the range {shown(given)}, but choices have no order. Give a list.")
            ends[key] = list(given)
        else:
            ends[key] = given
    grid = read_grid(changed(inputs, ends), [name])
    for key, given in inputs.items():
        if isinstance(given, tuple) and key in grid.inputs and grid.inputs[key].values[0] > grid.inputs[key].values[1]:
            raise ValueRangeError(f"{key}: got the range {shown(given)}, expected the lower end first. Swap the ends.")
    try:
        low, high = grid.core.bounds([("quantity", name)])
    except MissingInput as error:
        raise explain_missing(error, grid) from None
    return low / factor, high / factor
