"""Bands around calibrated outputs: applicability, and width by model and chip."""

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
# and the inputs that they require.
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
    bands: Any, names: Sequence[str], given: Collection[str], calibrations: Iterable[Preset] = ()
) -> Bands | None:
    """Resolve ``bands=`` for these outputs, with a check of the calibrated constants.

    Parameters
    ----------
    bands : float, Bands, Calibration or None
        A level refers to the given calibration, by default the package's. A calibration means its band of 80%.
    names : sequence of str
    given : collection of str
        Names of the inputs.
    calibrations : iterable of Preset
        Presets of ``calibration=``, whose band a level refers to.

    Returns
    -------
    Bands or None

    Raises
    ------
    UnknownName
        If none of the outputs is calibrated.
    MissingInput
        If a constant is missing: the band belongs to the calibrated estimate.
    """
    if bands is None:
        return None
    if isinstance(bands, FittedConstants):
        bands = bands.bands()
    given_constants = [c for preset in calibrations if (c := getattr(preset, "constants", None)) is not None]
    constants = given_constants[0] if len(given_constants) == 1 else shipped()
    requested = bands if isinstance(bands, Bands) else Bands(constants, check_level(bands))
    fits = requested.calibration.fits
    outputs = [name for name in names if calibrated_of(requested, name, given)]
    if not outputs:
        raise UnknownName(f"bands: {', '.join(names)} is not calibrated; calibrated are {', '.join(fits)}")
    for output in outputs:
        missing = [name for name in requested.calibration if name not in given]
        if missing:
            raise MissingInput(
                f"bands: the band of {output} belongs to its calibrated estimate, but {missing[0]!r} is not given; "
                'give calibration="serving", or the constants, **rs.calibration()'
            )
    return requested


def bands_apply(bands: Any, preset: Preset) -> bool:
    """Return True if bands come from a calibration. The lower bound has none."""
    constants = getattr(preset, "constants", None)
    if constants is None:
        return False
    requested = bands.calibration if isinstance(bands, Bands) else bands
    return not isinstance(requested, FittedConstants) or list(requested) == list(constants)


def calibrated_of(bands: Bands, name: str, given: Collection[str]) -> tuple[str, bool] | None:
    """Return the calibrated output of an output's band, and True if inverted, or None."""
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
    """Return True if a quantity follows from another one without ancestors of given inputs."""
    waiting, seen = [name], set()
    while waiting:
        step = waiting.pop()
        if step not in seen and step not in given:
            seen.add(step)
            q = lookup(step)
            waiting += [*q.needs, *filter(None, [q.fallback])]
    return source in seen or source in given


def band_factors(low: Any, high: Any, *, inverted: bool) -> tuple[Any, Any]:
    """Return the ends of a band relative to the value, or to its inverse."""
    return (1 / high, 1 / low) if inverted else (low, high)


def band_variables(bands: Bands, name: str, values: xr.Variable, grid: Grid) -> dict[str, xr.Variable]:
    """Return both ends of an output's band, on its axes and the axes of models and chips."""
    import xarray as xr

    source, inverted = calibrated_of(bands, name, grid.inputs) or (name, False)
    fit = bands.calibration.fit(source)
    known = {keyword: [measured_as(p) for p in grid.presets[keyword]] for keyword in PRESETS if keyword in grid.presets}
    kinds = [column for column in fit.kinds if column in known and len(known[column]) > 1]
    same = {column: known[column][0] for column in fit.kinds if column in known and column not in kinds}
    shape = [len(known[column]) for column in kinds]
    dims = [grid.preset_axes[column] for column in kinds]
    factors = np.empty((*shape, 2))
    for position in np.ndindex(*shape):
        names = dict(zip(kinds, (known[column][k] for column, k in zip(kinds, position, strict=True)), strict=True))
        factors[position] = band_factors(*fit.band(bands.level, {**same, **names}), inverted=inverted)
    variables = {}
    for k, end in enumerate(("lower", "upper")):
        variable = values * xr.Variable(dims, factors[..., k])
        variable = variable.transpose(*values.dims, ...).astype(values.dtype)
        long_name = f"{values.attrs['long_name']}, {end} end of the {100 * bands.level:g}% band"
        variable.attrs = {"units": values.attrs["units"], "long_name": long_name}
        variable.attrs |= {key: values.attrs[key] for key in ("basis", "calibration") if key in values.attrs}
        variables[f"{name}_{end}"] = variable
    return variables


def band_text(bands: Bands, name: str, value: float, grid: Grid) -> str:
    """The band of one value, as a person reads it."""
    kinds = {keyword: measured_as(presets[0]) for keyword, presets in grid.presets.items()}
    source, inverted = calibrated_of(bands, name, grid.inputs) or (name, False)
    factors = band_factors(*bands.calibration.fit(source).band(bands.level, kinds), inverted=inverted)
    low, high = (units.format(factor * value, lookup(name).unit) for factor in factors)
    return f"{100 * bands.level:g}% band: {low} to {high}"
