"""Outcomes of each kind of summary, and the choice of the kind by the inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from roofslate.display.conditions import listed
from roofslate.errors import InputTypeError, MissingInput
from roofslate.presets.lookup import PRESETS, find_preset, preset_numbers
from roofslate.registry.registry import ancestors, entries
from roofslate.registry.values import input_quantity
from roofslate.registry.words import DAY

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["CHIP", "DEPLOYMENT", "FITS", "TRAINING", "Outcome", "kind_of", "outcomes_of"]

DEPLOYMENT, TRAINING, CHIP = "deployment", "training run", "chip"

# By kind: the quantity that says whether everything fits in memory.
FITS = {DEPLOYMENT: "memory_fits", TRAINING: "training_memory_fits"}


class Outcome(NamedTuple):
    """A row of a summary: a quantity, and inputs besides the scenario."""

    section: str
    quantity: str
    words: str
    unit: str  # for display, with the size of the base unit
    inputs: Mapping[str, Any] = {}

    @property
    def key(self) -> str:
        """The name of the row."""
        return f"{self.quantity} ({', '.join(map(str, self.inputs.values()))})" if self.inputs else self.quantity


_OUTCOMES = {
    DEPLOYMENT: (
        Outcome("Latency", "time_per_output_token", "time per output token (TPOT)", "s"),
        Outcome("Latency", "time_to_first_token", "time to first token (TTFT)", "s"),
        Outcome("Latency", "request_latency", "end-to-end request latency", "s"),
        Outcome("Latency", "pass_time", "forward-pass time", "s"),
        Outcome("Throughput", "request_throughput", "request throughput", "1/s"),
        Outcome("Throughput", "tokens_per_second_per_user", "tokens per second per user", "token/s"),
        Outcome("Throughput", "tokens_per_second_per_chip", "tokens per second per chip", "token/s"),
        Outcome("Throughput", "running_sequences", "running sequences", "1"),
        Outcome("Throughput", "model_flops_utilization", "model FLOPs utilization (MFU)", "%"),
        Outcome("Cost", "cost_per_request", "cost per request, all included", "USD"),
        Outcome("Cost", "cost_per_output_token", "cost per output token, prompts included", "USD/token"),
        Outcome("Cost", "blended_cost_per_token", "blended cost per token", "USD/token"),
        Outcome("Cost", "cost_per_input_token", "cost per input token", "USD/token"),
        Outcome("Cost", "cost_per_token", "decode cost per token", "USD/token"),
        Outcome("Cost", "replica_price", "price of the replica", "USD/s"),
        Outcome("Memory", "hbm_used", "memory used per chip", "byte"),
        Outcome("Memory", "hbm_capacity", "memory of a chip", "byte"),
        Outcome("Memory", "memory_limited_sequences", "sequences that fit", "1"),
        Outcome("Power", "site_power", "site power", "J/s"),
        Outcome("Power", "energy_per_request", "energy per request", "J"),
        Outcome("Power", "energy_per_token", "energy per generated token", "J/token"),
    ),
    TRAINING: (
        Outcome("Run", "pretraining_time", "training time", "s"),
        Outcome("Run", "pretraining_cost", "training cost", "USD"),
        Outcome("Run", "pretraining_chip_time", "chip time", "chip*s"),
        Outcome("Run", "pretraining_flops", "training compute", "FLOP"),
        Outcome("Step", "training_step_time", "time per step", "s"),
        Outcome("Step", "trained_tokens_per_second", "tokens per second", "token/s"),
        Outcome("Step", "trained_tokens_per_second_per_chip", "tokens per second per chip", "token/s"),
        Outcome("Step", "training_utilization", "model FLOPs utilization (MFU)", "%"),
        Outcome("Step", "training_bubble", "pipeline bubble", "%"),
        Outcome("Memory", "training_memory", "memory used per chip", "byte"),
        Outcome("Memory", "hbm_capacity", "memory of a chip", "byte"),
        Outcome("Power", "site_power", "site power", "J/s"),
    ),
    CHIP: (
        Outcome("Memory", "hbm_capacity", "HBM capacity", "byte"),
        Outcome("Memory", "hbm_bandwidth", "HBM bandwidth", "byte/s"),
        Outcome("Memory", "hbm_drain_time", "drain time, capacity / bandwidth", "s"),
        Outcome("Links", "scale_up_bandwidth", "scale-up bandwidth, each direction", "byte/s"),
        Outcome("Links", "scale_out_bandwidth", "scale-out bandwidth, each direction", "byte/s"),
        Outcome("Links", "scale_up_domain", "scale-up domain, chips", "1"),
        Outcome("Power", "chip_power", "chip power", "J/s"),
        Outcome("Power", "system_power", "system power per chip", "J/s"),
        Outcome("Price", "chip_price", "price per chip", "USD/s"),
    ),
}
_FORMATS = ("bf16", "fp8", "int8", "fp4")
_PEAK, _FORMAT, _PEAKS = "peak_flops", "compute_format", "Compute"
_OPTIONAL = {"scale_up_bandwidth", "scale_out_bandwidth", "scale_up_domain"}  # left out if a chip lacks them

# Inputs of only one kind of summary.
_LOADS = {
    DEPLOYMENT: (
        *("concurrency", "batch_size", "pass_tokens", "context_length", "input_tokens", "output_tokens"),
        *("arrival_rate", "session_rate", "sessions", "turns", "turn_input_tokens", "turn_output_tokens"),
    ),
    TRAINING: (
        *("pretraining_tokens", "pretraining_flops", "global_batch_size", "tokens_per_step", "sequence_length"),
        *("training_utilization", "training_step_time", "training_goodput"),
    ),
}
_LOAD_PRESETS = {"workload": DEPLOYMENT}
_ASK = (
    "give concurrency=, input_tokens= and output_tokens= for a deployment, pretraining_tokens= with global_batch_size= "
    "and sequence_length= for a training run, or hardware= without a model for a chip"
)


def kind_of(inputs: Mapping[str, Any]) -> str:
    """Choose the kind of a summary by the names of its inputs.

    Parameters
    ----------
    inputs : mapping
        Inputs by name, presets included.

    Returns
    -------
    str
        A deployment if there is a load of serving, a training run if there is one of training, a chip if there is no
        model and every input is about a chip.

    Raises
    ------
    UnknownName
        For a name that is no input.
    InputTypeError
        If loads of both kinds are given.
    MissingInput
        If the inputs leave the kind open.
    """
    names = [name for name in inputs if name not in PRESETS and name != DAY]
    for name in names:
        if name not in entries():
            input_quantity(name)  # raises with the nearest name
    for keyword in [keyword for keyword in PRESETS if keyword in inputs]:
        if not isinstance(inputs[keyword], (list, tuple)):
            find_preset(keyword, inputs[keyword])  # likewise
    loads = {kind: [name for name in inputs if name in names_of] for kind, names_of in _LOADS.items()}
    for keyword, kind in _LOAD_PRESETS.items():
        loads[kind] += [keyword] if keyword in inputs else []
    kinds = [kind for kind, members in loads.items() if members]
    if len(kinds) > 1:
        each = [
            f"{listed(members)} {'is' if len(members) == 1 else 'are'} of a {kind}" for kind, members in loads.items()
        ]
        raise InputTypeError(f"a summary shows one kind of scenario: {', but '.join(each)}. Leave out one kind.")
    if kinds:
        return kinds[0]
    known = {name for outcome in _chip_outcomes(inputs) for name in (outcome.quantity, *ancestors(outcome.quantity))}
    if "model" not in inputs and (names or "hardware" in inputs) and known.issuperset({*names} - {"chips"}):
        return CHIP
    given = (
        f"{listed(inputs)} {'leaves' if len(inputs) == 1 else 'leave'} the kind of summary open"
        if inputs
        else "no input"
    )
    raise MissingInput(f"{given}: {_ASK}")


def outcomes_of(kind: str, inputs: Mapping[str, Any]) -> tuple[Outcome, ...]:
    """Return the outcomes of a kind of summary, of a chip those it has numbers for."""
    return tuple(_chip_outcomes(inputs)) if kind == CHIP else _OUTCOMES[kind]


def _chip_outcomes(inputs: Mapping[str, Any]) -> Iterable[Outcome]:
    """Yield the outcomes of a chip, some of them for each number format."""
    hardware = inputs.get("hardware")
    is_one = hardware is None or not isinstance(hardware, (list, tuple))
    supplied = {
        *inputs,
        *(preset_numbers(find_preset("hardware", hardware)) if hardware is not None and is_one else ()),
    }
    formats: Sequence[str] = [word for word in _FORMATS if f"{_PEAK}_{word}" in supplied]
    if formats and supplied.isdisjoint((_FORMAT, "weight_format")) and _PEAK not in supplied:
        each: list[tuple[str, Mapping[str, Any]]] = [(f", {word.upper()}", {_FORMAT: word}) for word in formats]
    else:
        each = [("", {})]
    for words, given in each:
        yield Outcome(_PEAKS, _PEAK, f"peak compute{words}", "FLOP/s", given)
    for words, given in each:
        yield Outcome(_PEAKS, "ridge_point", f"ridge point{words}", "FLOP/byte", given)
    for outcome in _OUTCOMES[CHIP]:
        if outcome.quantity in supplied or outcome.quantity not in _OPTIONAL:
            yield outcome
    for words, given in each:
        yield Outcome("Price", "price_per_flop", f"cost per FLOP at peak{words}", "USD/FLOP", given)
