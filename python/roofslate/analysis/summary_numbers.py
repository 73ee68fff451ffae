"""Numbers of a summary, and missing inputs."""

from __future__ import annotations

import math
import re
import warnings
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from roofslate.analysis.summary_kinds import FITS, Outcome
from roofslate.errors import AxisError, DoesNotFit, MissingInput, RoofslateWarning
from roofslate.evaluation.bands import bands_apply
from roofslate.evaluation.evaluate import evaluate
from roofslate.evaluation.value import value
from roofslate.grid.basis import carriers_of
from roofslate.grid.read import Settled, changed
from roofslate.registry.registry import ancestors, current

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    import xarray as xr

    from roofslate.presets.preset import Preset

__all__ = ["Evaluated", "evaluated"]


@dataclass(frozen=True)
class Evaluated:
    """Numbers of the outcomes by key: value, ends of the band, basis and support."""

    numbers: dict[str, tuple[float, float, float]]
    basis: dict[str, str]
    support: dict[str, str]
    missing: dict[str, str]
    attrs: dict[str, str]
    fits: bool | None


def evaluated(
    outcomes: Sequence[Outcome], kind: str, inputs: Mapping[str, Any], preset: Preset, level: float | None = None
) -> Evaluated:
    """Evaluate the outcomes, once for each set of further inputs."""
    result = Evaluated({}, {}, {}, {}, {}, None)
    groups: dict[tuple[Any, ...], list[Outcome]] = {}
    for outcome in outcomes:
        groups.setdefault(tuple(outcome.inputs.items()), []).append(outcome)
    for given, group in sorted(groups.items(), key=lambda item: bool(item[0])):  # the scenario's own inputs first
        names = [outcome.quantity for outcome in group]
        fits = FITS.get(kind)
        specific = Settled(changed(inputs, dict(given))) if given else inputs
        later = [outcome.quantity for outcome in outcomes if outcome.inputs] if not given else []
        data, lacks = _evaluated_group([*names, *filter(None, [fits])], specific, preset, level, later)
        for outcome in group:
            name, key = outcome.quantity, outcome.key
            low, high = (_number(data, f"{name}_{end}") for end in ("lower", "upper"))
            result.numbers[key] = (_number(data, name), low, high)
            attrs = data[name].attrs if name in data else {}
            result.basis[key], result.support[key] = (str(attrs.get(part, "")) for part in ("basis", "support"))
            if name in lacks:
                result.missing[key] = lacks[name]
        if not given or not result.attrs:
            result.attrs.update(_attrs(data))
        if fits and fits in data:
            result = replace(result, fits=bool(data[fits]))
    return result


def _attrs(data: xr.Dataset) -> dict[str, str]:
    attrs = {str(name): str(x) for name, x in data.attrs.items()}
    layouts = (str(v.attrs["layout"]) for v in data.values() if "layout" in v.attrs)
    return {"layout": next(layouts, ""), **attrs}


def _evaluated_group(
    names: Sequence[str], inputs: Mapping[str, Any], preset: Preset, level: float | None, later: Sequence[str]
) -> tuple[xr.Dataset, dict[str, str]]:
    """Evaluate the quantities whose inputs are complete, and return the missing inputs.

    Inputs of missing quantities, or of `later` ones, count as used.
    """
    plain = {name: x for name, x in inputs.items() if name != "calibration"}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", RoofslateWarning)  # the evaluation below warns
        lacks = {name: _lack(name, Settled({**preset.values, **plain})) for name in names}
    known = [name for name, lack in lacks.items() if not lack]
    missing = {name: lack for name, lack in lacks.items() if lack}
    if not known:
        import xarray as xr

        return xr.Dataset(), missing
    waiting = frozenset().union(later, *map(ancestors, (*missing, *later)))
    exempt = {name: x for name, x in plain.items() if name in waiting}
    carriers = carriers_of(current())
    constants = {"calibration": preset} if any(name in carriers for name in known) else {}
    complete = changed(changed(inputs, constants), {**exempt, **constants}, exempt=True)
    if not constants:
        complete.pop("calibration", None)
    fitted: Any = getattr(preset, "constants", None)
    banded = bands_apply(level, preset) and any(name in fitted.fits for name in known)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DoesNotFit)  # the verdict says so
        result: Any = evaluate(known, complete, bands=level if banded else None)
    return result, missing


def _lack(name: str, inputs: Mapping[str, Any]) -> str:
    """Return the missing inputs of an outcome in words, empty if there are none."""
    try:
        value(name, inputs)
    except MissingInput as error:
        return _need(str(error))
    except AxisError as error:
        raise AxisError(str(error).replace("rs.value computes one point", "rs.summary shows one point")) from None
    return ""


def _need(message: str) -> str:
    """Return the inputs that an error names: ``"concurrency or batch_size"``."""
    sentence = message.partition("; needed by")[0]
    return " or ".join(re.findall(r"'(\w+)' \(", sentence)) or sentence


def _number(data: xr.Dataset, name: str) -> float:
    return float(data[name]) if name in data else math.nan
