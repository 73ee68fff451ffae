"""Bands around calibrated outputs: which results get one, and how wide it is for the model and chip of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units
from roofslate.errors import MissingInput, UnknownName
from roofslate.presets.calibration import Bands, FittedConstants
from roofslate.presets.calibration_files import shipped
from roofslate.presets.fits import check_level
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import xarray as xr

    from roofslate.grid.grid import Grid
    from roofslate.presets.preset import Preset

__all__ = ["band_text", "band_variables", "bands_apply", "calibrated_outputs", "requested_bands"]


def requested_bands(
    bands: Any, wanted: Sequence[str], given: Collection[str], calibrations: Iterable[Preset] = ()
) -> Bands | None:
    """What ``bands=`` means for these outputs; the constants that they are calibrated with must be among the inputs.

    Parameters
    ----------
    bands : float, Bands, Calibration or None
        A level means that of the calibration that is given, or of the package's own; a calibration, its band of 80 %.
    wanted : sequence of str
    given : collection of str
        Names of the inputs.
    calibrations : iterable of Preset
        Those of ``calibration=``: a level means the band of the one that is given.

    Returns
    -------
    Bands or None

    Raises
    ------
    UnknownName
        If none of the outputs is calibrated.
    MissingInput
        If a constant is not given: the band is that of the calibrated estimate.
    """
    if bands is None:
        return None
    if isinstance(bands, FittedConstants):
        bands = bands.bands()
    own = [c for preset in calibrations if (c := getattr(preset, "constants", None)) is not None]
    constants = own[0] if len(own) == 1 else shipped()
    found = bands if isinstance(bands, Bands) else Bands(constants, check_level(bands))
    fits = found.calibration.fits
    outputs = calibrated_outputs(found, wanted)
    if not outputs:
        raise UnknownName(f"bands: {', '.join(wanted)} is not calibrated; calibrated are {', '.join(fits)}")
    for output in outputs:
        missing = [name for name in found.calibration if name not in given]
        if missing:
            raise MissingInput(
                f"bands: the band of {output} is that of its calibrated estimate, and {missing[0]!r} is not given; "
                'give calibration="serving", or the constants, **rs.calibration()'
            )
    return found


def bands_apply(bands: Any, preset: Preset) -> bool:
    """Whether bands are those of a calibration; the floor has none."""
    own = getattr(preset, "constants", None)
    if own is None:
        return False
    asked = bands.calibration if isinstance(bands, Bands) else bands
    return not isinstance(asked, FittedConstants) or list(asked) == list(own)


def calibrated_outputs(bands: Bands, wanted: Sequence[str]) -> list[str]:
    """The outputs that get a band."""
    return [name for name in wanted if name in bands.calibration.fits]


def band_variables(bands: Bands, name: str, values: xr.Variable, grid: Grid) -> dict[str, xr.Variable]:
    """Both ends of the band of an output, on its axes and those of models and chips."""
    import xarray as xr

    fit = bands.calibration.fit(name)
    known = {keyword: [p.name for p in grid.presets[keyword]] for keyword in PRESETS if keyword in grid.presets}
    kinds = [column for column in fit.kinds if column in known and len(known[column]) > 1]
    same = {column: known[column][0] for column in fit.kinds if column in known and column not in kinds}
    shape = [len(known[column]) for column in kinds]
    dims = [grid.preset_axes[column] for column in kinds]
    factors = np.empty((*shape, 2))
    for place in np.ndindex(*shape):
        told = dict(zip(kinds, (known[column][k] for column, k in zip(kinds, place, strict=True)), strict=True))
        factors[place] = fit.band(bands.level, {**same, **told})
    found = {}
    for k, end in enumerate(("lower", "upper")):
        variable = values * xr.Variable(dims, factors[..., k])
        variable = variable.transpose(*values.dims, ...).astype(values.dtype)
        long_name = f"{values.attrs['long_name']}, {end} end of the {100 * bands.level:g} % band"
        variable.attrs = {"units": values.attrs["units"], "long_name": long_name}
        variable.attrs |= {key: values.attrs[key] for key in ("basis", "calibration") if key in values.attrs}
        found[f"{name}_{end}"] = variable
    return found


def band_text(bands: Bands, name: str, value: float, grid: Grid) -> str:
    """The band of one value, as a person reads it."""
    kinds = {keyword: presets[0].name for keyword, presets in grid.presets.items()}
    factors = bands.calibration.fit(name).band(bands.level, kinds)
    low, high = (units.format(factor * value, lookup(name).unit) for factor in factors)
    return f"{100 * bands.level:g} % band: {low} to {high}"
