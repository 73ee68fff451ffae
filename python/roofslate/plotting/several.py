"""Several quantities of one unit as lines of one plot."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate.display import style
from roofslate.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

__all__ = ["QUANTITY", "together"]

QUANTITY = "quantity"  # axis of output names


def together(result: xr.Dataset, names: Sequence[str]) -> xr.DataArray:
    """Stack variables of one unit along an axis with their names.

    Raises
    ------
    UnknownName
        If there are none, or if their units differ.
    """
    import pandas as pd
    import xarray as xr

    units = {str(result[name].attrs.get("units", "1")): name for name in reversed(names)}
    choices = [name for name in names if "flag_meanings" in result[name].attrs]
    if len(units) != 1 or choices:
        written = ", ".join(f"{name} ({result[name].attrs.get('units', '1')})" for name in names) or "none"
        raise UnknownName(f"plot() expects one variable, or several numbers of one unit, got {written}. Select one.")
    axis: Any = pd.Index([style.words(name) for name in names], name=QUANTITY)
    parts = xr.broadcast(*(result[name] for name in names))
    surface = xr.concat([part.rename(None) for part in parts], axis, combine_attrs="drop_conflicts")
    words = [name.split("_") for name in names]
    last = {word[-1] for word in words}
    surface.attrs["units"] = next(iter(units))
    return surface.rename(last.pop() if len(last) == 1 else "value")
