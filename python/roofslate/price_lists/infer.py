"""`infer`: the model, the batch and the memory behind a price list."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown
from roofslate.errors import AxisError, InputTypeError, MissingInput, PresetError, ValueRangeError
from roofslate.evaluation.value import value
from roofslate.folds.bounds import bounds
from roofslate.grid.read import Settled, read_grid, with_scenario
from roofslate.presets.catalog import storage
from roofslate.presets.lookup import PRESETS
from roofslate.presets.preset import Preset
from roofslate.price_lists.intervals import Interval, exact, ranged
from roofslate.price_lists.reading import Tariff, read_tariff
from roofslate.price_lists.relations import ROUNDING, Findings
from roofslate.price_lists.result import Assumption, Inference
from roofslate.price_lists.verdicts import conclude
from roofslate.registry.registry import ancestors, lookup
from roofslate.registry.values import input_quantity
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from roofslate.grid.grid import Grid

__all__ = ["infer"]

_LECTURE = "R. Pope, lecture with D. Patel, 2026-04-29"

# Inputs taken from the presets `lecture` unless a preset of the keyword is given, with the source of each.
_OF_LECTURE = {
    "model": {
        "active_parameters": f"{_LECTURE}, chapter 6: the model behind the prices",
        "total_parameters": f"{_LECTURE}, chapter 1: 8 times the active parameters",
        "bytes_per_weight": f"{_LECTURE}: the board adds weights to bytes",
        "weight_format": "follows from one byte per weight",
    },
    "hardware": {
        "peak_flops": f"{_LECTURE}, chapter 1: peak compute for a balance of 300",
        "hbm_bandwidth": "the board's B200",
        "hbm_capacity": "the board's B200",
    },
    "prices": {"chip_price": f"{_LECTURE}, chapter 1"},
}

# Values or ranges assumed by default, with sources.
_ASSUMED: dict[str, tuple[Any, str]] = {
    "compute_efficiency": (1.0, "the lecture's ideal machine"),
    "bandwidth_efficiency": (1.0, "the lecture's ideal machine"),
    "relative_markup": ((2 / 3, 1.5), "markups of output and held tokens are within a factor 1.5 of prompts"),
    "threshold_alignment": ((0.8, 1.25), f"{_LECTURE}, chapter 6: the step may be off the kink"),
    "traffic_exponent": ((0.0, 2.0), "context frequency is constant, or falls by up to the square of the length"),
    "shortest_context": (1e3, "a short prompt"),
    "longest_context": (1e6, "windows of a million tokens are available since 2024"),
    "weight_fetch_ratio": ((0.0, math.inf), "any batch; the lecture's reading neglects the weights"),
}

_DEVICE = frozenset({"tier_capacity", "tier_bandwidth", "tier_price"})

_MACHINE = (
    "active_parameters",
    "total_parameters",
    "bytes_per_weight",
    "balance_tokens",
    "peak_flops",
    "hbm_bandwidth",
    "hbm_capacity",
    "chip_price",
)

_OPTIONAL = ("total_parameters",)  # only for results in sequences
_TOLD = (*_MACHINE, "weight_format", "peak_flops_bf16", "peak_flops_fp8", "peak_flops_fp4", "peak_flops_int8")
_TELLS = {"bytes_per_weight": "weight_format"}  # the second implies the first
_STATED = ("balance_context", "balance_tokens", "batch_interval")  # stated by a model preset for its own machine
_SOUGHT = ("kv_bytes_per_token", "balance_context", "batch_size", "context_length", "output_input_ratio")


def infer(
    prices: Any,
    scenario: Mapping[str, Any] | None = None,
    /,
    *,
    rounding: float = ROUNDING,
    tiers: Iterable[str | Preset] | str | None = None,
    **inputs: Any,
) -> Inference:
    """Infer the model, the batch and the memory behind a price list, as intervals.

    Parameters
    ----------
    prices : str, Preset, dict or pandas.Series
        A preset of `rs.api_prices`, its name, or prices by name: ``input``, ``output``, ``cache_read``,
        ``cache_write_5m``, ``cache_write_1h``, ``cache_storage``, ``long_context_threshold``, ``long_input``,
        ``long_output``, ``long_cache_read``, or quantity names. Texts carry units (``"$5/Mtok"``). Numbers are in
        dollars per token.
    scenario : mapping, optional
        Inputs by name, as for `inputs`. A keyword takes precedence.
    rounding : float
        Largest relative rounding error of a list price.
    tiers : str, Preset or list of them, optional
        Names in `rs.storage`: the memory tiers to consider for held tokens. By default all that supply a capacity, a
        bandwidth and a price.
    **inputs
        Known properties of the model and the machine: a number, a text with a unit, or a range ``(low, high)``, and
        ``model=``, ``hardware=``, ``prices=``. ``as_of=`` selects the day of the price list and the chip price. Inputs
        that are not given are assumed, and listed in the result with their sources.

    Returns
    -------
    Inference
        Its `verdicts`, `relations`, `tiers`, `architectures`, `contradictions` and `assumptions` are tables. A verdict
        is an interval (which holds the true value if the assumptions do), a contradiction, or not determined. In base
        units.

    Raises
    ------
    UnknownName, UnitError, ValueRangeError, InputTypeError, MissingInput, AxisError, PresetError, IneffectiveInput
        Before any work is done.

    Examples
    --------
    >>> import roofslate as rs
    >>> found = rs.infer({"input": "$5/Mtok", "output": "$25/Mtok"})
    >>> found.verdicts.loc["decode_cost_ratio", ["low", "nominal", "high"]].astype(float).round(2).tolist()
    [3.2, 5.0, 7.8]
    >>> found.verdicts.loc["kv_bytes_per_token", "verdict"]
    'not determined'
    """
    listed = isinstance(prices, (str, Preset))
    inputs = with_scenario(scenario, inputs, day_acts=listed)
    tariff = read_tariff(prices, inputs.pop(DAY, None))
    if isinstance(rounding, bool) or not isinstance(rounding, (int, float)) or not 0 <= rounding < 0.5:
        raise ValueRangeError(f"rounding must be a fraction from 0 to below 0.5, got {shown(rounding)}")
    devices = _devices(tiers)
    intervals, assumptions = _read_scenario(tariff, inputs)
    return conclude(Findings.start(tariff, float(rounding), intervals, assumptions), devices)


def _devices(tiers: Any) -> dict[str, Preset]:
    if tiers is None:
        return {name: tier for name, tier in storage.items() if tier.values.keys() >= _DEVICE}
    listed = [tiers] if isinstance(tiers, (str, Preset)) else list(tiers)
    if not listed:
        raise AxisError("tiers: expected names of rs.storage, got an empty list. Give at least one, such as 'HBM'.")
    devices = {}
    for one in listed:
        if not isinstance(one, (str, Preset)) or (isinstance(one, Preset) and one.kind != "storage"):
            raise InputTypeError(f"tiers: expected names of rs.storage, got {shown(one)}")
        preset = storage[one] if isinstance(one, str) else one
        if lacking := sorted(_DEVICE - preset.values.keys()):
            raise PresetError(f"tiers: {preset.name!r} has no {lacking[0]}, expected {', '.join(sorted(_DEVICE))}")
        devices[preset.name] = preset
    return devices


def _read_scenario(tariff: Tariff, inputs: Mapping[str, Any]) -> tuple[dict[str, Interval], list[Assumption]]:
    """Read the given inputs, add the assumed ones as intervals, and describe both."""
    for name in inputs:
        if name in _SOUGHT or name in tariff.values:
            role = "a price of the list" if name in tariff.values else "inferred from the prices"
            raise InputTypeError(f"{name} is {role}, got {shown(inputs[name])}. Leave it out.")
    grid = read_grid({name: list(_two(name, x)) if isinstance(x, tuple) else x for name, x in inputs.items()})
    for name, i in grid.inputs.items():
        if i.dims and not isinstance(inputs.get(name), tuple):
            raise AxisError(
                f"rs.infer reads one list in one scenario, but {i.origin or name} is an axis. Call it for each value."
            )
    if "overlap" in grid.inputs and float(grid.inputs["overlap"].values) != 0:
        raise ValueRangeError("overlap: prices imply overlap='board'. Leave it out.")
    completed, assumptions = _completed(grid, inputs)
    scenario = {name: x for name in (*_MACHINE, *_ASSUMED) if (x := _resolved(name, completed)) is not None}
    if "long_context_threshold" in tariff.values:
        threshold, longest = tariff.values["long_context_threshold"], scenario["longest_context"]
        if threshold >= longest.high:
            raise ValueRangeError(
                f"long_context_threshold must be below longest_context, got {threshold:g} and {longest.high:g}. "
                "Swap them?"
            )
        if threshold <= scenario["shortest_context"].low:
            raise ValueRangeError(
                f"long_context_threshold must be above shortest_context, got {threshold:g} and "
                f"{scenario['shortest_context'].low:g}. Swap them?"
            )
    return scenario, assumptions


def _two(name: str, given: tuple[Any, ...]) -> tuple[Any, Any]:
    if len(given) != 2:
        raise InputTypeError(f"{name}: expected a range of two ends, got {shown(given)}")
    if name in PRESETS or input_quantity(name).choices:
        raise InputTypeError(f"{name}: got the range {shown(given)}, but choices have no order. Give one choice.")
    return given[0], given[1]


def _completed(grid: Grid, inputs: Mapping[str, Any]) -> tuple[dict[str, Any], list[Assumption]]:
    """Return the inputs without results stated by the model, and with assumed defaults."""
    completed: dict[str, Any] = {}
    assumptions = []
    for name, i in grid.inputs.items():
        if i.origin == "model" and name in (*_STATED, *_SOUGHT):
            continue
        if i.origin and name not in grid.presets[i.origin][0].facts:
            continue
        ends = tuple(map(float, i.values)) if i.dims else (float(i.values),) * 2
        if ends[0] > ends[1]:
            raise ValueRangeError(
                f"{name}: got the range {shown(inputs[name])}, expected the lower end first. Swap the ends."
            )
        origin = f"{(preset := grid.presets[i.origin][0]).name}: {preset.facts[name].origin}" if i.origin else "given"
        if i.quantity.choices:
            completed[name] = i.quantity.choices[int(ends[0])]
        else:
            completed[name] = ends if ends[0] < ends[1] else ends[0]
        if i.origin is None or name in _TOLD:
            assumptions.append(_assumption(name, completed[name], origin, given=True))
    for name, x, source in _defaults(inputs):
        known = name in completed or _TELLS.get(name) in completed
        if known or (name == "total_parameters" and "active_parameters" in inputs):
            continue
        completed[name] = x
        assumptions.append(_assumption(name, x, source, given=False))
    return completed, assumptions


def _defaults(inputs: Mapping[str, Any]) -> Iterator[tuple[str, Any, str]]:
    """Yield name, value and source of each input that may be assumed."""
    for keyword, sources in _OF_LECTURE.items():
        if keyword not in inputs:
            facts = PRESETS[keyword]["lecture"]
            yield from ((name, facts[name], source) for name, source in sources.items())
    yield from ((name, x, source) for name, (x, source) in _ASSUMED.items())


def _assumption(name: str, x: Any, source: str, *, given: bool) -> Assumption:
    ends = x if isinstance(x, tuple) else (x, x)
    nominal = x if isinstance(x, str) else ranged(*ends).nominal
    return Assumption(name, ends[0], nominal, ends[1], lookup(name).unit, source, given)


def _resolved(name: str, completed: Mapping[str, Any]) -> Interval | None:
    """Return a number of the scenario, given or computed, or None if unknown."""
    given = completed.get(name)
    if given is not None:
        return ranged(*given) if isinstance(given, tuple) else exact(given)
    needed = {n: x for n, x in completed.items() if n in ancestors(name)}
    try:
        low, high = bounds(name, Settled(needed))
    except MissingInput:
        if name in _OPTIONAL:
            return None
        raise
    middle: Any = {n: ranged(*x).nominal if isinstance(x, tuple) else x for n, x in needed.items()}
    return Interval(low, float(value(name, Settled(middle))), high)
