"""Unit conversion of results, and the pool of their memory."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from roofslate import _core
from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, UnknownName
from roofslate.registry.registry import entries
from roofslate.units import convert_factor

__all__ = ["clear_pool", "to_units"]


def clear_pool() -> None:
    """Give the memory that is kept for the next results back to the system."""
    _core.clear_pool()


def to_units(result: Any, units: str | Mapping[str, str]) -> Any:
    """A result in other units.

    Parameters
    ----------
    result : xarray.DataArray or xarray.Dataset
        From `evaluate`, with ``units`` among its attributes.
    units : str or dict of str
        The unit of an array; by name for a Dataset: ``{"cost_per_token": "USD/Mtoken"}``.

    Returns
    -------
    xarray.DataArray or xarray.Dataset
        A new one.

    Raises
    ------
    UnitError
        If a unit measures something else.

    Examples
    --------
    >>> import roofslate as rs
    >>> t = rs.evaluate("hbm_drain_time", hbm_capacity="192 GB", hbm_bandwidth="8 TB/s")
    >>> float(rs.to_units(t, "ms"))
    24.0
    """
    if isinstance(units, Mapping):
        if not hasattr(result, "data_vars"):
            raise InputTypeError("units: a dict of texts is for a Dataset; of one array the unit is a text")
        missing = [name for name in units if name not in result.data_vars]
        if missing:
            raise UnknownName(
                f"the dataset has no variable {missing[0]!r}; it holds {', '.join(map(str, result.data_vars))}"
            )
        return result.assign({name: to_units(result[name], text) for name, text in units.items()})
    if not isinstance(units, str):
        raise InputTypeError(f"units: expected a text or a dict of texts by variable, got {shown(units)}")
    base = entries()[result.name].unit if result.name in entries() else result.attrs["units"]
    factor = convert_factor(units, base) / convert_factor(result.attrs["units"], base)
    return (result / factor).rename(result.name).assign_attrs({**result.attrs, "units": units})
