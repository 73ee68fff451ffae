"""A scenario as an engine serves it: checkpoint, layout, formats, drafts, notes."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate._base.messages import shown
from roofslate.deployment.repositories import published_id
from roofslate.errors import AxisError, InputTypeError, MissingInput, ValueRangeError
from roofslate.evaluation.evaluate import evaluate
from roofslate.grid.read import Settled, read_grid
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roofslate.grid.grid import Grid, Input
    from roofslate.presets.preset import Preset

__all__ = ["LAYOUT", "Draft", "Served", "free_memory_share", "read_served"]

LAYOUT = ("chips", "pipeline_stages", "attention_data_parallel", "tensor_parallel", "expert_parallel")
_CARRIED = {
    *LAYOUT,
    *("weight_format", "kv_format", "max_running_sequences", "step_token_budget", "prefill_chunk", "kv_block_size"),
    *("draft_length", "serving_mode", "replicas", "prefill_replicas", "prefill_context_parallel", "receive_interval"),
    *("kv_cache_memory_share", "prefix_hit_rate", "concurrency", "max_graph_batch_size"),
    *("prompt_policy", "prefill_graphs"),
}
_KEPT_PREFIXES = ("prefix_hit_rate", "prefix_length", "shared_prompt_tokens", "hbm_prefix_cache")
# Techniques that change the served model or its schedule: without a flag for them, an engine serves another model.
_TECHNIQUES = frozenset(
    {
        *("kv_compression", "stored_layer_share", "kept_head_share", "kept_token_share", "selected_tokens"),
        *("windowed_kv_share", "attention_window", "index_bytes_per_token", "compute_format", "dense_format"),
        *("bits_per_weight", "bytes_per_weight", "dense_bytes_per_weight", "kv_page_groups", "in_flight_tokens"),
        *("dram_prefix_cache", "ssd_prefix_cache", "lora_adapters", "lora_rank", "redundant_experts"),
    }
)
_CHIPS_OF_A_NODE = 8
_LONG = 1e9  # numbers below are written in full
_OF_SMALL_NODES = {"GB200": 4, "GB300": 4}  # trays of racks: four chips with two processors


@dataclass(frozen=True)
class Draft:
    """Way of drafting tokens.

    Attributes
    ----------
    length : int
        Drafts of a step.
    method : str
        ``mtp``, ``eagle3`` or ``dspark``.
    model : str
        Checkpoint of the draft model, or empty.
    """

    length: int
    method: str
    model: str = ""


@dataclass
class Served:
    """One deployment as an engine serves it.

    Attributes
    ----------
    checkpoint : str
        Repository or folder of the weights.
    model : Preset or None
    inputs : mapping of str to Input
        All inputs, presets included.
    layout : mapping of str to int
        By name of `LAYOUT`.
    chips_per_node : int
    vendor : str
        Maker of the chips, or empty.
    draft : Draft or None
    free_memory_share : float or None
        Share of a chip's memory that the weights leave, if `kv_cache_memory_share` is given and memory is known.
    prefill : Served or None
        A replica that prefills, if it differs.
    notes : list of str
        Inputs that no flag carries.
    """

    checkpoint: str
    model: Preset | None
    inputs: Mapping[str, Input]
    layout: Mapping[str, int]
    chips_per_node: int
    vendor: str
    draft: Draft | None
    free_memory_share: float | None = None
    prefill: Served | None = None
    notes: list[str] = field(default_factory=list)

    def explicit(self, name: str) -> float | None:
        """Number of an input that no preset supplies, or None."""
        value = self.inputs.get(name)
        return None if value is None or value.origin is not None else value.number

    def word(self, name: str) -> str:
        """Word of a choice, its default where it is not given, or empty."""
        value = self.inputs.get(name)
        choices = lookup(name).choices
        return choices[int(value.number)] if value is not None else ""

    def explicit_word(self, name: str) -> str:
        """Word of a choice that no preset supplies, or empty."""
        return "" if self.explicit(name) is None else self.word(name)

    def whole(self, name: str) -> int:
        """Whole number of an input, 1 where it is not given."""
        value = self.inputs.get(name)
        return _whole(name, 1.0 if value is None else value.number)

    @property
    def groups(self) -> int:
        """Groups of chips that each run separate sequences."""
        return self.layout["attention_data_parallel"]

    @property
    def stage(self) -> int:
        """Chips of a stage."""
        return self.layout["chips"] // self.layout["pipeline_stages"]

    @property
    def nodes(self) -> int:
        """Nodes of a replica."""
        return math.ceil(self.layout["chips"] / self.chips_per_node)

    @property
    def routed(self) -> bool:
        """Return True if the model has routed experts."""
        return "experts" in self.inputs and self.inputs["experts"].number > 1

    @property
    def is_latent(self) -> bool:
        """Return True if the model has latent attention."""
        return "kv_latent_size" in self.inputs and self.inputs["kv_latent_size"].number > 0

    @property
    def is_split(self) -> bool:
        """Return True if prompts are read on other chips."""
        return self.word("serving_mode") == "disaggregated"

    @property
    def keeps_prefixes(self) -> bool | None:
        """True if prompts find prefixes in the KV cache, None if nothing says so."""
        given = [x for x in map(self.explicit, _KEPT_PREFIXES) if x is not None]
        return any(x > 0 for x in given) if given else None

    def number_text(self, name: str) -> str:
        """Number of an input with its unit, or its word."""
        value = self.inputs.get(name)
        x = float(self.layout[name]) if name in self.layout else None if value is None else value.number
        if x is None:
            return ""
        q = lookup(name)
        if q.choices:
            return q.choices[int(x)]
        if not x.is_integer() or abs(x) >= _LONG:
            return units.format(x, q.unit)
        return f"{x:,.0f}" + ("" if q.unit == "1" else f" {q.unit}")


def read_served(
    scenario: Mapping[str, Any], *, checkpoint: str | None, draft_model: str | None, chips_per_node: int | None
) -> Served:
    """Read a scenario as one deployment.

    Raises
    ------
    AxisError
        For a scenario with a list of values.
    MissingInput
        Without a model and a checkpoint, or without chips.
    ValueRangeError
        For numbers that are not whole, or drafts without a way to make them.
    """
    grid = read_grid(Settled(scenario))
    for name, i in grid.inputs.items():
        if i.dims:
            raise AxisError(f"{i.origin or name}: a launch command is of one deployment, and this has several values")
    presets = grid.presets.get("model", [])
    model = presets[0] if presets else None
    if checkpoint is not None and not (isinstance(checkpoint, str) and checkpoint.strip()):
        raise InputTypeError(f"checkpoint: expected a repository or folder, got {shown(checkpoint)}")
    if model is None and checkpoint is None:
        raise MissingInput("a launch command needs a model: give model= or checkpoint=")
    served = Served(
        _checkpoint(checkpoint if model is None else checkpoint or published_id(model)),
        model,
        grid.inputs,
        _layout(scenario, grid),
        _chips_per_node(grid, chips_per_node),
        next((str(preset.attributes.get("vendor", "")) for preset in grid.presets.get("hardware", [])), ""),
        None,
    )
    if model is not None and checkpoint is None and "/" not in served.checkpoint:
        served.notes.append(f"{served.checkpoint}: the catalog has no published name of this model; give checkpoint=")
    served.draft = _draft(served, grid, draft_model)
    if served.explicit("kv_cache_memory_share") is not None and "hbm_capacity" in grid.inputs:
        served.free_memory_share = free_memory_share(scenario)
    _note_the_rest(served)
    return served


def free_memory_share(scenario: Mapping[str, Any]) -> float:
    """Share of the memory of a replica that its weights leave."""
    value = evaluate(["kv_cache_capacity", "replica_hbm_capacity"], Settled(scenario))
    return float(value["kv_cache_capacity"]) / float(value["replica_hbm_capacity"])


def _checkpoint(name: str | None) -> str:
    if name is None or name.startswith("-") or any(ord(c) < 32 for c in name) or len(name) > 1000:
        raise ValueRangeError(f"checkpoint: expected a repository or folder, got {shown(name)}")
    return name


def _layout(scenario: Mapping[str, Any], grid: Grid) -> dict[str, int]:
    """The layout as given, completed by the rule."""
    if "chips" not in grid.inputs:
        raise MissingInput("a launch command needs chips, the number of a replica: give chips=")
    value = evaluate(list(LAYOUT), Settled(scenario))
    return {name: _whole(name, float(value[name])) for name in LAYOUT}


def _whole(name: str, x: float) -> int:
    if not math.isfinite(x) or x != int(x) or x < 0:
        raise ValueRangeError(f"{name}: a launch command takes whole numbers, got {x:g}")
    return int(x)


def _chips_per_node(grid: Grid, given: int | None) -> int:
    if given is not None:
        if isinstance(given, bool) or not isinstance(given, int) or given < 1:
            raise ValueRangeError(f"chips_per_node: expected a whole number of at least 1, got {shown(given)}")
        return given
    for preset in grid.presets.get("hardware", []):
        for name in (preset.name, *preset.bases):
            small = next((n for chip, n in _OF_SMALL_NODES.items() if name.startswith(chip)), None)
            if small:
                return small
    domain = grid.inputs.get("scale_up_domain")
    return _CHIPS_OF_A_NODE if domain is None else max(min(int(domain.number), _CHIPS_OF_A_NODE), 1)


def _draft(served: Served, grid: Grid, draft_model: str | None) -> Draft | None:
    value = served.inputs.get("draft_length")
    length = 0 if value is None else _whole("draft_length", value.number)
    if not length:
        if draft_model is not None:
            raise MissingInput(f"draft_model={shown(draft_model)} has no effect: give draft_length=")
        return None
    speculators = [preset.name for preset in grid.presets.get("speculator", [])]
    name = speculators[0].casefold() if speculators else ""
    method = next((method for word, method in _METHODS.items() if word in name), "")
    model = "" if draft_model is None else _checkpoint(draft_model)
    if not method and model:
        method = "eagle3"
    if not method and served.model is not None and "multi_token_prediction_parameters" in served.model.attributes:
        method = "mtp"
    if not method:
        raise MissingInput(
            f"draft_length={length}: {served.checkpoint} is not known to predict several tokens; give draft_model=, "
            "the checkpoint of a draft model, or speculator="
        )
    if method != "mtp" and not model:
        raise MissingInput(f"draft_length={length}: {speculators[0]} is a separate model; give draft_model=")
    return Draft(length, method, model)


_METHODS = {"eagle": "eagle3", "dspark": "dspark", "mtp": "mtp"}


def _note_the_rest(served: Served) -> None:
    """Note inputs that no launch command carries."""
    explicit = [name for name, i in served.inputs.items() if i.origin is None and name not in _CARRIED]
    for name in explicit:
        if name in _TECHNIQUES:
            served.notes.append(f"{name}={served.number_text(name)}: no flag sets it, the engine serves without it")
    remaining = [name for name in explicit if name not in _TECHNIQUES]
    if remaining:
        served.notes.append(f"not part of a launch command: {', '.join(remaining)}")
