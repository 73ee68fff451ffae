"""Parts of memory, power and time of a scenario, and the changes that lower its time most."""

from __future__ import annotations

import contextlib
import math
import warnings
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate.analysis.summary_kinds import CHIP, DEPLOYMENT, FITS, TRAINING
from roofslate.errors import RoofslateError, RoofslateWarning
from roofslate.evaluation.value import value
from roofslate.grid.read import Settled
from roofslate.presets.lookup import find_preset, preset_numbers

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

__all__ = ["Change", "Split", "changes_of", "fitting_chips", "splits_of"]

_ROUNDING = 1e-9  # relative, of parts that add up to their total
_MOST_CHIPS = 4096
_STEP = 0.1  # relative, of a change of a number
# Numbers to change together, by their words, and whether more of them helps.
_LEVERS: dict[str, tuple[tuple[str, ...], bool]] = {
    "peak compute": (
        ("peak_flops", "peak_flops_bf16", "peak_flops_fp8", "peak_flops_int8", "peak_flops_fp4"),
        True,
    ),
    "hbm_bandwidth": (("hbm_bandwidth",), True),
    "scale_up_bandwidth": (("scale_up_bandwidth",), True),
    "scale_out_bandwidth": (("scale_out_bandwidth",), True),
    "concurrency": (("concurrency",), False),
    "batch_size": (("batch_size",), False),
    "arrival_rate": (("arrival_rate",), False),
    "context_length": (("context_length",), False),
    "input_tokens": (("input_tokens",), False),
    "sequence_length": (("sequence_length",), False),
    "pretraining_tokens": (("pretraining_tokens",), False),
}
_NARROWER = {"bf16": "fp8", "fp8": "fp4"}  # formats to try, by the present one
_LAYOUT = ("tensor_parallel", "pipeline_stages", "attention_data_parallel", "expert_parallel", "context_parallel")
# Times that a change is to lower, the first that is known.
_TIMES = {
    DEPLOYMENT: ("time_per_output_token", "pass_time"),
    TRAINING: ("pretraining_time", "training_step_time"),
}
_BOTTLENECKS = {
    "compute": "compute",
    "weight_fetch": "weight reads",
    "kv_fetch": "KV-cache reads",
    "host_link": "host reads",
}


@dataclass(frozen=True)
class Split:
    """A total and its parts.

    Attributes
    ----------
    name : str
        ``"memory"``, ``"power"`` or ``"time"``.
    quantity, unit : str
        The total.
    total : float
        In base units.
    parts : dict of float
        They add up to the total.
    limit : float
        Capacity, inf without one.
    """

    name: str
    quantity: str
    unit: str
    total: float
    parts: Mapping[str, float]
    limit: float = math.inf

    @property
    def largest(self) -> str:
        """The largest part."""
        return max(self.parts, key=lambda part: self.parts[part])


@dataclass(frozen=True)
class Change:
    """A changed input and its effect on a time.

    Attributes
    ----------
    words : str
        ``"hbm_bandwidth 10% higher"``.
    inputs : dict
        The changed inputs, as for `value`.
    quantity : str
        The time.
    value : float
        After the change, in base units.
    relative : float
        Difference relative to the time before.
    """

    words: str
    inputs: Mapping[str, Any]
    quantity: str
    value: float
    relative: float


class _Numbers:
    """Values of quantities of one scenario, NaN without their inputs."""

    def __init__(self, inputs: Mapping[str, Any]) -> None:
        self.inputs = Settled(inputs)

    def get(self, name: str, **more: Any) -> Any:
        """Evaluate a quantity, with further inputs."""
        with contextlib.suppress(RoofslateError), warnings.catch_warnings():
            warnings.simplefilter("ignore", RoofslateWarning)
            return value(name, Settled({**self.inputs, **more}))
        return math.nan

    def numbers(self, *names: str) -> list[float]:
        """Evaluate several quantities."""
        return [float(self.get(name)) for name in names]


def splits_of(kind: str, inputs: Mapping[str, Any]) -> tuple[Split, ...]:
    """Split memory, time and power of a scenario into parts, as far as its inputs go.

    Parameters
    ----------
    kind : str
        Kind of the summary.
    inputs : mapping
        Inputs of the estimate, or of the lower bound.

    Returns
    -------
    tuple of Split
        Only those whose parts add up to the total.
    """
    known = _Numbers(inputs)
    splitters = {
        DEPLOYMENT: (_serving_memory, _pass_and_prompts, _site_power),
        TRAINING: (_training_memory, _step, _site_power),
        CHIP: (_chip_power,),
    }
    splits = (split(known) for split in splitters[kind])
    return tuple(split for split in splits if split is not None)


def _split(
    name: str, quantity: str, unit: str, total: float, parts: Mapping[str, float], limit: float = math.inf
) -> Split | None:
    """Return a split without its empty parts, None if it is incomplete."""
    scale = abs(total) * _ROUNDING
    if not 0 < total < math.inf or not abs(math.fsum(parts.values()) - total) <= scale:
        return None
    present = {part: x for part, x in parts.items() if x > scale}
    return Split(name, quantity, unit, total, present, limit if limit > 0 else math.inf)


def _serving_memory(known: _Numbers) -> Split | None:
    total, capacity = known.numbers("hbm_used", "hbm_capacity")
    weights = float(known.get("hbm_used", kv_bytes=0, hbm_prefix_cache=0))
    prefixes = float(known.get("hbm_used", kv_bytes=0)) - weights
    parts = {"weights": weights, "KV cache": total - weights - prefixes, "cached prefixes": prefixes}
    return _split("memory", "hbm_used", "byte", total, parts, capacity)


def _training_memory(known: _Numbers) -> Split | None:
    total, state, optimizer, activations, capacity = known.numbers(
        *("training_memory", "training_state_bytes", "optimizer_state_bytes", "training_activation_bytes"),
        "hbm_capacity",
    )
    parts = {"weights and gradients": state - optimizer, "optimizer": optimizer, "activations": activations}
    return _split("memory", "training_memory", "byte", total, parts, capacity)


def _pass_and_prompts(known: _Numbers) -> Split | None:
    """Split a time per output token, or without one a pass."""
    roofline, overhead, of_pass = known.numbers("roofline_time", "pass_overhead", "pass_time")
    reason = _BOTTLENECKS.get(known.get("bottleneck"), "roofline")
    terms = {reason: roofline / of_pass, "kernels and links": overhead / of_pass}
    total, steps, emitted, prompts, factor = known.numbers(
        *("time_per_output_token", "round_time", "emitted_length", "prefill_interference"),
        "time_per_output_token_factor",
    )
    decode = steps / emitted * factor
    parts = {part: share * decode for part, share in terms.items()}
    parts["prompts of other requests"] = prompts * factor
    # A mean over a varying load is no sum of these parts.
    return _split("time", "time_per_output_token", "s", total, parts) or _split(
        "time", "pass_time", "s", of_pass, {part: share * of_pass for part, share in terms.items()}
    )


def _step(known: _Numbers) -> Split | None:
    total, busy, compute, activations, links, bubble, optimizer = known.numbers(
        *("training_step_time", "stage_busy_time", "training_compute_time", "training_activation_time"),
        *("stage_communication_time", "training_bubble_overhead", "optimizer_time"),
    )
    parts = {
        "compute": compute,
        "activation transfers": activations,
        "links": links,
        "kernels and uneven stages": busy - compute - activations - links,
        "pipeline bubble": busy * bubble,
        "gradients": total - busy * (1 + bubble) - optimizer,
        "optimizer": optimizer,
    }
    return _split("time", "training_step_time", "s", total, parts)


def _site_power(known: _Numbers) -> Split | None:
    total, replica, chips, of_chip, pue = known.numbers(
        "site_power", "replica_power", "chips", "chip_power", "power_usage_effectiveness"
    )
    drawn = total / pue  # without cooling and losses
    chip_share = chips * of_chip / replica if not math.isnan(of_chip) else 1.0
    parts = {"chips": drawn * chip_share, "hosts": drawn * (1 - chip_share), "cooling and losses": total - drawn}
    return _split("power", "site_power", "J/s", total, parts)


def _chip_power(known: _Numbers) -> Split | None:
    total, of_chip, of_host = known.numbers("system_power", "chip_power", "host_power")
    return _split("power", "system_power", "J/s", total, {"chip": of_chip, "host": of_host})


# ------------------------------------------------------------------------------------------------------------ changes


def changes_of(kind: str, inputs: Mapping[str, Any], most: int = 4) -> tuple[Change, ...]:
    """Return the changes of one input each that lower the time of a scenario most.

    Numbers of the chip and of the load change by 10%. Narrower number formats and twice the chips are changes too, the
    latter if the layout follows from a rule.

    Parameters
    ----------
    kind : str
        Kind of the summary.
    inputs : mapping
        Inputs of the estimate, or of the lower bound.
    most : int
        Changes to return.

    Returns
    -------
    tuple of Change
        The largest first, each with the time that `value` gives for the changed inputs.
    """
    known = _Numbers(inputs)
    for quantity in _TIMES.get(kind, ()):
        before = float(known.get(quantity))
        if 0 < before < math.inf:
            break
    else:
        return ()
    changes = []
    for words, new in _candidates(known):
        after = float(known.get(quantity, **new))
        if after < before * (1 - _ROUNDING):
            changes.append(Change(words, new, quantity, after, after / before - 1))
    return tuple(sorted(changes, key=lambda change: change.relative)[:most])


def _candidates(known: _Numbers) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield changes, in words and as inputs."""
    inputs = known.inputs
    supplied = {**_supplied(inputs), **inputs}
    for words, (names, upward) in _LEVERS.items():
        factor = 1 + _STEP if upward else 1 - _STEP
        present = [name for name in names if name in supplied]
        if present:
            new = {name: factor * float(known.get(name)) for name in present}
            yield f"{words} {_STEP:.0%} {'higher' if upward else 'lower'}", new
    for name in ("weight_format", "kv_format"):
        narrower = _NARROWER.get(str(known.get(name)))
        if narrower is not None and (narrower != "fp4" or "peak_flops_fp4" in supplied):
            yield f"{name} {narrower}", {name: narrower}
    chips = float(known.get("chips"))
    if chips > 0 and not any(name in supplied for name in _LAYOUT):
        yield f"{2 * chips:,.0f} chips", {"chips": 2 * chips}


def _supplied(inputs: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the numbers of the chip."""
    return preset_numbers(find_preset("hardware", inputs["hardware"])) if "hardware" in inputs else {}


def fitting_chips(kind: str, inputs: Mapping[str, Any]) -> int | None:
    """Return the fewest chips, in doublings of those given, that a scenario fits on.

    Parameters
    ----------
    kind : str
        Kind of the summary.
    inputs : mapping
        Inputs of a scenario that does not fit.

    Returns
    -------
    int or None
        None if the layout is given, or if nothing up to 4,096 chips, or 64 times those given, fits.
    """
    known = _Numbers(inputs)
    chips = float(known.get("chips"))
    if not chips > 0 or any(name in inputs for name in _LAYOUT):
        return None
    for count in _doublings(int(chips)):
        if known.get(FITS[kind], chips=count) == "yes":
            return count
    return None


def _doublings(chips: int) -> Iterable[int]:
    count = 2 * chips
    while count <= min(_MOST_CHIPS, 64 * chips) or count == 2 * chips:
        yield count
        count *= 2
