"""Bands around calibrated outputs: which results get one, and how wide it is for the model and chip of each."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate import units
from roofslate.errors import MissingInput, UnknownName
from roofslate.presets.calibration import Bands, FittedConstants
from roofslate.presets.calibration_files import shipped
from roofslate.presets.catalog import measured_as
from roofslate.presets.fits import check_level
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    import xarray as xr

    from roofslate.grid.grid import Grid
    from roofslate.presets.preset import Preset

__all__ = ["band_factors", "band_text", "band_variables", "bands_apply", "calibrated_of", "requested_bands"]

_PACE = "trained_tokens_per_second_per_chip"
_RUN = ("pretraining_tokens", "pretraining_flops")  # one is given, or the tokens follow from the pace
# Outcomes that are proportional to a calibrated one, or to its inverse, and so have its band: which, whether inverted,
# and what must be given.
_CARRIED: dict[str, tuple[str, bool, tuple[str, ...]]] = {
    "tokens_per_second_per_user": ("time_per_output_token", True, ()),
    "trained_tokens_per_second": (_PACE, False, ()),
    "training_step_time": (_PACE, True, ()),
    "training_utilization": (_PACE, False, ()),
    "hardware_flops_utilization": (_PACE, False, ()),
    "pretraining_chip_time": (_PACE, True, _RUN),
    "pretraining_time": (_PACE, True, _RUN),
    "pretraining_cost": (_PACE, True, _RUN),
}


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
    outputs = [name for name in wanted if calibrated_of(found, name, given)]
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


def calibrated_of(bands: Bands, name: str, given: Collection[str]) -> tuple[str, bool] | None:
    """The calibrated output whose band an output has, and whether it is inverted; None where no band is known."""
    fits = bands.calibration.fits
    if name in fits:
        return name, False
    source, inverted, needed = _CARRIED.get(name, ("", False, ()))
    if source not in fits or (needed and not set(needed) & set(given)):
        return None
    if name in given or not (_rests_on(name, source, given) or _rests_on(source, name, given)):
        return None
    return source, inverted


def _rests_on(name: str, source: str, given: Collection[str]) -> bool:
    """Whether a quantity follows from another one, where nothing upstream of what is given counts."""
    waiting, seen = [name], set()
    while waiting:
        step = waiting.pop()
        if step not in seen and step not in given:
            seen.add(step)
            q = lookup(step)
            waiting += [*q.needs, *filter(None, [q.fallback])]
    return source in seen or source in given


def band_factors(low: Any, high: Any, *, inverted: bool) -> tuple[Any, Any]:
    """Ends of a band over the value, of the inverse too."""
    return (1 / high, 1 / low) if inverted else (low, high)


def band_variables(bands: Bands, name: str, values: xr.Variable, grid: Grid) -> dict[str, xr.Variable]:
    """Both ends of the band of an output, on its axes and those of models and chips."""
    import xarray as xr

    source, inverted = calibrated_of(bands, name, grid.inputs) or (name, False)
    fit = bands.calibration.fit(source)
    known = {keyword: [measured_as(p) for p in grid.presets[keyword]] for keyword in PRESETS if keyword in grid.presets}
    kinds = [column for column in fit.kinds if column in known and len(known[column]) > 1]
    same = {column: known[column][0] for column in fit.kinds if column in known and column not in kinds}
    shape = [len(known[column]) for column in kinds]
    dims = [grid.preset_axes[column] for column in kinds]
    factors = np.empty((*shape, 2))
    for place in np.ndindex(*shape):
        told = dict(zip(kinds, (known[column][k] for column, k in zip(kinds, place, strict=True)), strict=True))
        factors[place] = band_factors(*fit.band(bands.level, {**same, **told}), inverted=inverted)
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
    kinds = {keyword: measured_as(presets[0]) for keyword, presets in grid.presets.items()}
    source, inverted = calibrated_of(bands, name, grid.inputs) or (name, False)
    factors = band_factors(*bands.calibration.fit(source).band(bands.level, kinds), inverted=inverted)
    low, high = (units.format(factor * value, lookup(name).unit) for factor in factors)
    return f"{100 * bands.level:g} % band: {low} to {high}"
