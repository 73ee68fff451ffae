"""Shape of a model from its config.json: weights by part, KV cache by layer, formats."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate.errors import PresetError
from roofslate.presets.configs.conventions import FAMILIES
from roofslate.presets.configs.families import Family, plain_family
from roofslate.presets.configs.formats import Formats, read_formats
from roofslate.presets.configs.keys import Keys
from roofslate.presets.configs.layers import Layer, Reader
from roofslate.presets.configs.names import family_name, strange_class
from roofslate.presets.configs.reading import read
from roofslate.presets.configs.vision import audio_parameters, vision_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roofslate.presets.configs.attention import KVCache

__all__ = ["PARTS", "Shape", "Stored", "read_shape"]


PARTS = (
    "input_table",
    "output_head",
    "attention",
    "state_mixer",
    "dense_ffn",
    "routed_experts",
    "shared_experts",
    "router",
    "norms",
    "layer_tables",
    "other",
    "vision",
    "audio",
)


_INNER = ("text_config", "llm_config", "language_config")


@dataclass(frozen=True)
class Stored:
    """Tensors of one kind in a checkpoint: number, weights, size in bytes."""

    kind: str
    tensors: int
    weights: int
    size: int


@dataclass(frozen=True)
class Shape:
    """Shape of a model, as its config describes it.

    Attributes
    ----------
    name : str
        Of the file or its folder.
    family : str
        Family whose conventions were used; empty where none is known.
    parts : Mapping of str to int
        Weights by the names of `PARTS`. A table that is both input and output is ``input_table``.
    layers : tuple of Layer
    sizes : Mapping of str to float
        Inputs of the registry.
    tied : bool
        Whether one table is both input and output.
    prediction : int or None
        Weights of layers for multi-token prediction, in no other sum; None where there are some of unknown layout.
    context_limit : int or None
    formats : Formats
    unknown : tuple of str
        Keys that were not understood and may have weights behind them.
    not_read : tuple of str
        What was not understood: a key each, and what was assumed.
    assumptions : tuple of str
        What the file leaves open, and what was taken for it.
    stored : tuple of Stored
        Tensors in the headers of its files, by kind. Empty if only a config was read.
    """

    name: str
    family: str
    parts: Mapping[str, int]
    layers: tuple[Layer, ...]
    sizes: Mapping[str, float]
    tied: bool
    prediction: int | None
    context_limit: int | None
    formats: Formats
    unknown: tuple[str, ...]
    not_read: tuple[str, ...]
    assumptions: tuple[str, ...]
    stored: tuple[Stored, ...] = ()


def read_shape(source: Any) -> Shape:
    """Read a config.json, a folder that has one, or its content."""
    config = read(source)
    try:
        return _shape(Keys(config.content), config.name)
    except PresetError as error:
        raise config.located(error) from None


def _shape(config: Keys, name: str) -> Shape:
    outer = next((inner for inner in _INNER if inner in config), None)
    keys = config.inside(outer) if outer else config
    types = [config.text("model_type"), keys.text("model_type")]  # the outer one: inner ones name their base
    listed = [*(keys.entries("architectures") or ()), *(config.entries("architectures") or ())]
    classes = [word for word in listed if isinstance(word, str)]
    family = family_name([word for word in types if word], classes)
    not_read = _strangers(types, classes, family)
    conventions = FAMILIES[family] if family else plain_family(keys, not_read)
    keys.defaults = conventions.sizes
    reader = Reader(keys, family, conventions)
    assumptions = reader.assumptions
    tied = _tied(config, keys, conventions, assumptions)
    rows = keys.count("vocabulary_size", low=1)
    parts = Counter(input_table=rows * reader.hidden)
    if not tied:
        parts["output_head"] = rows * reader.hidden
    if keys.flag("lm_head_bias", conventions.head_bias):
        parts["output_head"] += rows
    layers = reader.layers()
    for layer in layers:
        parts.update(layer.parameters)
    parts.update(reader.beside_layers())
    parts["vision"] = vision_parameters(config, _tower(config, family), reader.hidden) or 0
    parts["audio"] = audio_parameters(config, family, reader.hidden) or 0
    towers = [f"{part}_config" for part in ("vision", "audio") if f"{part}_config" in config and not parts[part]]
    not_read += [f"{tower}: a tower of unknown kind, not counted" for tower in towers]
    assumptions += [f"{key}: {value:,}, as {conventions.source} does" for key, value in keys.defaulted.items()]
    prediction = _prediction(keys, reader, layers, assumptions)
    dense_with_experts = family == "gemma4"
    formats = read_formats(
        config,
        keys,
        parts,
        _modules(reader, layers),
        dense_with_experts=dense_with_experts,
        assumptions=assumptions,
        not_read=not_read,
    )
    limit = keys.optional("context_limit", high=10**12)
    sizes = _sizes(keys, reader, layers)
    unread = dict.fromkeys(config.unread(settled=bool(family)))
    not_read += [f"{key}: not understood, taken as without weights" for key in unread]
    unknown = (*towers, *unread)
    return Shape(
        name,
        family,
        {part: parts[part] for part in PARTS if parts[part]},
        tuple(layers),
        sizes,
        tied,
        prediction,
        limit,
        formats,
        unknown,
        tuple(not_read),
        (*assumptions, *not_read),
    )


def _strangers(types: list[str], classes: list[str], family: str) -> list[str]:
    """Unknown types and classes, and the family that they were read as."""
    types = [word for word in types if word]
    if not family:
        key = "model_type" if types or not classes else "architectures"
        said = next((word for word in (*types, *classes) if word), "missing")
        return [f"{key}: {_short(said)} is not known, read as a plain decoder in the manner of Llama"]
    not_read = []
    strange = strange_class(types, classes, family)
    if strange:
        not_read.append(f"architectures: {_short(strange)} is not known, read as {FAMILIES[family].source}")
    return not_read


def _short(name: str) -> str:
    return name if len(name) <= 60 else f"{name[:57]}..."


def _modules(reader: Reader, layers: list[Layer]) -> dict[str, int]:
    """Matrices by part, as a checkpoint names them, and the number of layers."""
    modules: Counter[str] = Counter(layers=len(layers), output_head=1)
    modules["states in attention"] = reader.family.state in ("kimi_delta", "full_delta")
    matrices = reader.family.matrices
    for layer, ffn in zip(layers, reader.ffns, strict=True):
        modules["attention"] += 4 * (layer.kv_cache.elements > 0)
        modules["state_mixer"] += (3 if layer.kv_cache.kind == "linear" else 2) * (layer.kv_cache.state > 0)
        modules["dense_ffn"] += matrices * ("dense" in ffn)
        modules["routed_experts"] += matrices * layer.experts
        modules["routed_experts fused"] += layer.experts > 0
        modules["shared_experts"] += matrices * (layer.parameters["shared_experts"] > 0)
    return modules


def _tower(config: Keys, family: str) -> str:
    outer = config.text("model_type").casefold()
    return outer if outer in ("kimi_k25", "kimi_k3", "mistral3") else family


def _tied(config: Keys, keys: Keys, family: Family, assumptions: list[str]) -> bool:
    """Return True if one table is both input and output. The outer key takes precedence."""
    for table in (config, keys):
        if "tied_embeddings" in table:
            keys.flag("tied_embeddings", False)
            return table.flag("tied_embeddings", False)
    assumptions.append(f"tie_word_embeddings: {str(family.tied).lower()}, as {family.source} does")
    return family.tied


def _prediction(keys: Keys, reader: Reader, layers: list[Layer], assumptions: list[str]) -> int | None:
    """Return the weights of multi-token prediction: last layers behind a projection."""
    depth = keys.count("multi_token_prediction_layers", 0, high=100)
    if not depth:
        return 0
    attending = [layer for layer in layers if layer.kv_cache.kind in ("full", "latent", "window")]
    if not reader.family.prediction or not attending:
        key = keys.written("multi_token_prediction_layers")
        assumptions.append(f"{key}: {depth}, of a layout that is not known, not counted")
        return None
    d = reader.hidden
    return depth * (sum(attending[-1].parameters.values()) + 2 * d * d + 3 * d)


def _sizes(keys: Keys, reader: Reader, layers: list[Layer]) -> dict[str, float]:
    """Return registry inputs of a model of equal layers, by majority if layers differ."""
    moe = [layer for layer in layers if layer.experts]
    attending = [i for i, layer in enumerate(layers) if layer.kv_cache.elements or layer.kv_cache.compressed]
    sizes: dict[str, float] = {
        "layers": len(layers),
        "dense_layers": len(layers) - len(moe),
        "hidden_size": reader.hidden,
        "vocabulary_size": keys.count("vocabulary_size", low=1),
    }
    if attending:
        growing = [i for i in attending if layers[i].kv_cache.growth] or attending
        sizes |= _attention_sizes(reader, growing[0], layers[growing[0]].kv_cache)
        if len(growing) < len(layers):
            sizes["global_attention_layers"] = len(growing) if layers[growing[0]].kv_cache.growth else 0
        # An index of latent attention serves the layers behind it too; elsewhere each layer that selects has its own.
        selecting = [i for i in growing if layers[i].kv_cache.index and not layers[i].kv_cache.compressed]
        if selecting:
            sizes["selected_tokens"] = _selected(keys)
        if selecting and not reader.latent and len(selecting) < len(growing):
            sizes["windowed_kv_share"] = 1 - len(selecting) / len(growing)  # the others read all: an unlimited window
    dense = [i for i, ffn in enumerate(reader.ffns) if "dense" in ffn]
    if moe:
        first = reader.at(layers.index(moe[0]))
        width = reader.expert_width(first)
        routed = moe[0].parameters["routed_experts"]
        sizes["intermediate_size"] = reader.dense_width(dense[0]) if dense else keys.count("intermediate_size", width)
        experts = moe[0].experts
        sizes["experts"], sizes["experts_per_token"] = experts, moe[0].visited
        sizes["shared_experts"] = reader.shared_width(first) / width
        sizes["expert_intermediate_size"] = width
        if routed != 3 * experts * reader.hidden * width:
            sizes["matrices_per_expert"] = routed / (experts * reader.hidden * width)
    elif dense:
        widths = [reader.dense_width(i) for i in dense]
        width = max(widths, key=widths.count)
        sizes |= {"intermediate_size": width, "experts": 1, "experts_per_token": 1, "shared_experts": 0}
        sizes["expert_intermediate_size"] = width
    return sizes


def _attention_sizes(reader: Reader, layer: int, cache: KVCache) -> dict[str, float]:
    size: float
    heads, keys = reader.heads_of(layer), reader.at(layer)
    queries, kv_heads, rotary = heads.queries, heads.keys, 0
    if reader.latent:
        rotary = keys.count("qk_rope_head_dim")
        size, latent = keys.count("qk_nope_head_dim") + rotary, cache.elements
    elif cache.compressed:
        size, latent = heads.size, cache.elements
    else:
        size, latent = (heads.size + heads.value_size) / 2, 0
    sizes: dict[str, float] = {"attention_heads": queries, "kv_heads": kv_heads, "head_size": size}
    sizes["kv_latent_size"] = latent
    if rotary:
        sizes["latent_rotary_size"] = rotary
    return sizes


def _selected(keys: Keys) -> int:
    """Tokens that the index of a sparse attention selects."""
    where = keys.inside("sparse_attention_config") if "sparse_attention_config" in keys else keys
    if "index_blocks" in where:
        return where.count("index_blocks", low=1) * where.count("index_block_length", 128, low=1)
    return keys.count("index_topk", low=1)
