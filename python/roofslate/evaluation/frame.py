"""`rs.frame`: quantities for each row of a table."""

from __future__ import annotations

import functools
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, RoofslateWarning
from roofslate.evaluation.bands import band_factors, bands_apply, calibrated_of, requested_bands
from roofslate.grid.columns import Columns, Names, priced_by_day, read_columns
from roofslate.grid.fit import warn_of_misfits
from roofslate.grid.label import conversions
from roofslate.grid.layout import LAYOUT
from roofslate.grid.read import changed, with_scenario
from roofslate.grid.scenarios import Scenarios, choice_codes, preset_names
from roofslate.presets.lookup import PRESETS, find_preset
from roofslate.registry.registry import lookup
from roofslate.registry.values import wanted_names

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    import pandas as pd

    from roofslate._base.progress import ProgressWish
    from roofslate.presets.calibration import Bands, FittedConstants
    from roofslate.presets.preset import Preset

__all__ = ["frame"]


def frame(
    table: pd.DataFrame,
    outputs: str | Sequence[str],
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    ignore: Iterable[str] = (),
    units: Mapping[str, str] | None = None,
    threads: int | None = None,
    progress: ProgressWish = None,
    bands: float | Bands | FittedConstants | None = None,
    **inputs: Any,
) -> pd.DataFrame:
    """Quantities for each row of a table of scenarios, in base units unless `units` says otherwise.

    Parameters
    ----------
    table : pandas.DataFrame
        Columns are inputs: numbers, texts with units, words of choices; in ``model``, ``hardware``, ``prices``,
        ``loss_law``, ``calibration``, ``storage``, ``api_prices``, ``speculator``, ``workload``, ``engine`` and
        ``site`` names of presets, in ``as_of`` the day whose prices count.
    outputs : str or list of str
        Names of quantities.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword wins over its member.
    ignore : iterable of str
        Columns that are no inputs.
    units : dict of str, optional
        Units of outputs: ``{"cost_per_token": "USD/Mtoken"}``.
    threads, progress, bands
        As for `evaluate`.
    **inputs
        Inputs that are the same for all rows.

    Returns
    -------
    pandas.DataFrame
        One column an output, with the index of `table`; a quantity that is a choice is categorical. A row with a
        missing value or a number outside of its range holds NaN, and one warning counts such rows. In ``attrs``, by
        column, the ``basis`` (see `evaluate`) and the ``calibration`` with its date; in ``layout`` those that a rule
        chose; in ``unused`` members of the scenario that no output takes.

    Raises
    ------
    UnknownName, UnitError, InputTypeError, IneffectiveInput, MissingInput
        For columns, texts and names that can't be read, before any work is done.
    ValueRangeError
        For a row whose clients and batch disagree.

    Examples
    --------
    >>> import pandas as pd, roofslate as rs
    >>> table = pd.DataFrame({"batch_size": [1, 64]}, index=["alone", "together"])
    >>> rs.frame(table, "pass_tokens")
              pass_tokens
    alone             1.0
    together         64.0
    """
    inputs = with_scenario(scenario, inputs, day_acts=True)
    if bands is not None:  # which depend on the names of presets
        inputs = changed(inputs, {})
        inputs.exempt |= PRESETS.keys()
    import pandas as pd

    wanted = wanted_names(outputs)
    converted = conversions(wanted, units)
    if not isinstance(table, pd.DataFrame):
        raise InputTypeError(f"table: expected a pandas.DataFrame, got {type(table).__name__}")
    try:
        names = (
            [ignore] if isinstance(ignore, str) else list(ignore)
        )  # a list is refused where a set would go on and on
        ignored = set(names)
    except (TypeError, MemoryError):
        raise InputTypeError(f"ignore: expected names of columns, got {shown(ignore)}") from None
    table = priced_by_day(table, ignored, inputs)
    columns = read_columns(table, ignored, inputs)
    scenarios = Scenarios(columns, wanted, inputs, "rs.frame")
    wide, calibrations, given = None, [], set[str]()
    if bands is not None:
        calibrations = _calibrations(columns, inputs)
        given = {*columns, *inputs, *_supplied(columns, inputs)}
        wide = requested_bands(bands, wanted, given, calibrations)
    results, bad = scenarios.compute(columns, len(table), threads=threads, progress=progress)
    found: dict[str, Any] = {}
    for name, values in zip(wanted, results, strict=True):
        q = lookup(name)
        if name in converted:
            np.divide(values, converted[name][0], out=values)
        if q.choices:
            found[name] = pd.Categorical.from_codes(choice_codes(values), categories=pd.Index(q.choices))
        else:
            found[name] = values
        if wide is not None and (banded := calibrated_of(wide, name, given)):
            kinds = preset_names(columns, inputs, len(table))
            low, high = wide.calibration.band_of_rows(wide.level, banded[0], kinds)
            factors = band_factors(low, high, inverted=banded[1])
            if isinstance(names_of := columns.get("calibration"), Names):
                applies = np.array([*(bands_apply(wide, preset) for preset in calibrations), False])[names_of.codes]
                factors = (np.where(applies, factors[0], np.nan), np.where(applies, factors[1], np.nan))
            found |= {f"{name}_{end}": values * factor for end, factor in zip(("lower", "upper"), factors, strict=True)}
    warn_of_misfits(scenarios.misfits, rows=len(table))
    if len(bad):
        warnings.warn(
            f"{len(bad)} of {len(table)} rows hold NaN: an input is missing or outside of its range",
            RoofslateWarning,
            stacklevel=2,
        )
    if len(found) == 1 and not isinstance(only := next(iter(found.values())), pd.Categorical):
        made = pd.DataFrame(only[:, np.newaxis], index=table.index, columns=_header(*found).view(), copy=False)
    else:
        made = pd.DataFrame(found, index=table.index, copy=False)
    said = scenarios.basis
    for key in ("basis", "calibration"):
        if texts := {name: said[name][key] for name in wanted if key in said.get(name, ())}:
            made.attrs[key] = texts
    if scenarios.layouts:
        made.attrs[LAYOUT] = "; ".join(scenarios.layouts)
    if scenarios.unused:
        made.attrs["unused"] = ", ".join(scenarios.unused)
    return made


def _supplied(columns: Columns, inputs: Mapping[str, Any]) -> set[str]:
    """What the presets of a table supply, each at least in one row."""
    names: set[str] = set()
    for keyword in PRESETS:
        column = columns.get(keyword)
        own = [find_preset(keyword, inputs[keyword])] if keyword in inputs else []
        for preset in column.presets if isinstance(column, Names) else own:
            names |= getattr(preset, "values", {}).keys()
    return names


def _calibrations(columns: Columns, inputs: Mapping[str, Any]) -> list[Preset]:
    """The calibrations of a table, in the order of the codes of its column, or the one of all rows."""
    column = columns.get("calibration")
    if isinstance(column, Names):
        return column.presets
    return [find_preset("calibration", inputs["calibration"])] if "calibration" in inputs else []


@functools.lru_cache(maxsize=64)
def _header(name: str) -> pd.Index:
    """Header of a table of one column; pandas takes longer to make one than the engine for a small table."""
    import pandas as pd

    return pd.Index([name])
