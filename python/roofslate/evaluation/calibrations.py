"""Results of several calibrations side by side."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from roofslate.grid.basis import joined

if TYPE_CHECKING:
    from collections.abc import Sequence

    import xarray as xr

    from roofslate.grid.grid import Grid

__all__ = ["side_by_side", "varies_alone"]


def varies_alone(keyword: str, grid: Grid) -> bool:
    """Return True if presets make a new axis."""
    dim = grid.preset_axes[keyword]
    return dim == keyword and all(i.origin == keyword for i in grid.inputs.values() if dim in i.dims)


def side_by_side(each: Sequence[xr.Dataset], dim: str, order: Sequence[str]) -> dict[str, xr.Variable]:
    """Join datasets along a new axis. Variables independent of calibrations keep their axes.

    Each dataset has a separate plan, so that constants at ideal values are folded. A variable that some of them lack
    is NaN there.
    """
    import xarray as xr

    variables: dict[str, xr.Variable] = {}
    named = [{str(name): array.variable for name, array in part.data_vars.items()} for part in each]
    for name in dict.fromkeys(name for part in named for name in part):
        parts = [part.get(name) for part in named]
        present = [v for v in parts if v is not None]
        if len(present) == len(parts) and not any("calibration" in v.attrs for v in present):
            variables[name] = present[0]
            continue
        sizes = {str(d): n for v in present for d, n in v.sizes.items()}
        dims = {d: sizes[d] for d in order if d in sizes}
        missing = xr.Variable((), np.array(np.nan, dtype=float))
        spread = [(missing if v is None else v).set_dims(dims) for v in parts]  # type: ignore[no-untyped-call]
        joined_parts: xr.Variable = xr.Variable.concat(spread, dim).astype(present[0].dtype)  # type: ignore[no-untyped-call]
        joined_parts = joined_parts.transpose(*(d for d in order if d in (*dims, dim)))
        joined_parts.attrs = {**present[-1].attrs, **joined([v.attrs for v in present])}
        variables[name] = joined_parts
    return variables
