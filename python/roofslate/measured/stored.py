"""Stored calls: calls written as data, and their results."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate.evaluation import scaling
from roofslate.evaluation.value import value
from roofslate.grid.read import Settled
from roofslate.registry.registry import lookup
from roofslate.simulation import ciphers, schedules

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["TOLERANCE", "compute"]

TOLERANCE = 0.005  # relative, the default
_MODULES = {"ciphers": ciphers, "scaling": scaling, "schedules": schedules}


def compute(call: Mapping[str, Any]) -> float:
    """Compute a stored call, in its unit.

    Parameters
    ----------
    call : mapping
        `quantity`, or ``module.function`` of the package; `inputs`; `unit`; of a function that returns a table the
        `statistic`, such as ``"last flipped"``: first, last, min, max, mean or sum, and the column.

    Returns
    -------
    float
    """
    quantity, inputs = call["quantity"], call["inputs"]
    if quantity in _SIMULATED:
        result, unit = _SIMULATED[quantity](call.get("statistic", ""), inputs)
    elif "." in quantity:
        result, unit = _from_function(quantity, call.get("statistic", ""), inputs)
    else:
        result, unit = float(value(quantity, Settled(inputs))), lookup(quantity).unit
    return result / units.convert_factor(call["unit"], unit)


def _from_function(name: str, statistic: str, inputs: Mapping[str, Any]) -> tuple[float, str]:
    module, function = name.split(".")
    result = getattr(_MODULES[module], function)(**inputs)
    if not statistic:
        return float(result), "1"
    how, column = statistic.split()
    values = result[column]
    number = values.iloc[0 if how == "first" else -1] if how in ("first", "last") else getattr(values, how)()
    return float(number), result.attrs.get("units", {}).get(column, "1")


def _train(statistic: str, inputs: Mapping[str, Any]) -> tuple[float, str]:
    table = schedules.train(**inputs)
    if statistic == "worst_time":
        return float(table["worst_time"].max()), "s"
    if statistic == "worst_time_quantile":  # not exceeded by 999 of 1,000 trains
        return float(table["worst_time"].quantile(0.999)), "s"
    return float((table[statistic] * table["boarded"]).sum() / table["boarded"].sum()), "s"


_SIMULATED: dict[str, Callable[[str, Mapping[str, Any]], tuple[float, str]]] = {
    "schedules.train": _train,
    "schedules.left_behind": lambda _, inputs: (schedules.left_behind(**inputs), "sequence"),
}
