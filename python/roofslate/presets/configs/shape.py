"""From a config.json to the shape of its model: weights in parts, caches by layer, formats, and what it leaves open."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate.errors import PresetError
from roofslate.presets.configs.families import FAMILIES, Family, family_name
from roofslate.presets.configs.formats import Formats, read_formats
from roofslate.presets.configs.layers import Cache, Layer, Reader
from roofslate.presets.configs.reading import Keys, read
from roofslate.presets.configs.vision import audio_parameters, vision_parameters

if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["PARTS", "Shape", "read_shape"]


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
    "other",
    "vision",
    "audio",
)


_PLAIN = Family(source="LlamaForCausalLM")


_INNER = ("text_config", "llm_config", "language_config")


@dataclass(frozen=True)
class Shape:
    """What a config says of its model.

    Attributes
    ----------
    name : str
        Of the file or its folder.
    family : str
        Family whose conventions were used; empty where none is known.
    parts : Mapping of str to int
        Weights by the names of `PARTS`; a table that is both input and output stands under ``input_table``.
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
        Keys that were not understood.
    assumptions : tuple of str
        What the file leaves open, and what was taken for it.
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
    assumptions: tuple[str, ...]


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
    types = [config.text("model_type"), keys.text("model_type")]  # the outer one: inner ones name what they build on
    classes = [str(word) for word in (keys.entries("architectures") or []) + (config.entries("architectures") or [])]
    family = family_name([word for word in types if word], classes)
    conventions = FAMILIES.get(family, _PLAIN)
    keys.defaults = conventions.sizes
    reader = Reader(keys, family, conventions)
    assumptions = reader.assumptions
    if not family:
        said = next((word for word in (*types, *classes) if word), "missing")
        assumptions.append(f"model_type: {said} is not known, read as a plain decoder in the manner of Llama")
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
    for part in ("vision", "audio"):
        if f"{part}_config" in config and not parts[part]:
            assumptions.append(f"{part}_config: a tower of unknown kind, not counted")
    assumptions += [f"{key}: {value:,}, as {conventions.source} does" for key, value in keys.defaulted.items()]
    prediction = _prediction(keys, reader, layers, assumptions)
    beside = family == "gemma4"
    formats = read_formats(config, keys, len(layers), beside=beside, assumptions=assumptions)
    limit = keys.optional("context_limit", high=10**12)
    unread = config.unread(settled=bool(family))
    return Shape(
        name,
        family,
        {part: parts[part] for part in PARTS if parts[part]},
        tuple(layers),
        _sizes(keys, reader, layers),
        tied,
        prediction,
        limit,
        formats,
        tuple(dict.fromkeys(unread)),
        tuple(assumptions),
    )


def _tower(config: Keys, family: str) -> str:
    outer = config.text("model_type").casefold()
    return outer if outer in ("kimi_k25", "kimi_k3", "mistral3") else family


def _tied(config: Keys, keys: Keys, family: Family, assumptions: list[str]) -> bool:
    """Whether one table is both input and output: the outer key decides, where a file has two."""
    for table in (config, keys):
        if "tied_embeddings" in table:
            keys.flag("tied_embeddings", False)
            return table.flag("tied_embeddings", False)
    assumptions.append(f"tie_word_embeddings: {str(family.tied).lower()}, as {family.source} does")
    return family.tied


def _prediction(keys: Keys, reader: Reader, layers: list[Layer], assumptions: list[str]) -> int | None:
    """Weights of the layers that predict further tokens: each a last layer behind a projection of state and token."""
    depth = keys.count("multi_token_prediction_layers", 0, high=100)
    if not depth:
        return 0
    attending = [layer for layer in layers if layer.cache.kind in ("full", "latent", "window")]
    if not reader.family.prediction or not attending:
        key = keys.written("multi_token_prediction_layers")
        assumptions.append(f"{key}: {depth}, of a layout that is not known, not counted")
        return None
    d = reader.hidden
    return depth * (sum(attending[-1].parameters.values()) + 2 * d * d + 3 * d)


def _sizes(keys: Keys, reader: Reader, layers: list[Layer]) -> dict[str, float]:
    """The inputs of the registry that describe a model of like layers; where they differ, those of most."""
    moe = [layer for layer in layers if layer.experts]
    attending = [i for i, layer in enumerate(layers) if layer.cache.elements or layer.cache.compressed]
    sizes: dict[str, float] = {
        "layers": len(layers),
        "dense_layers": len(layers) - len(moe),
        "hidden_size": reader.hidden,
        "vocabulary_size": keys.count("vocabulary_size", low=1),
    }
    if attending:
        growing = [i for i in attending if layers[i].cache.growth] or attending
        sizes |= _attention_sizes(keys, reader, growing[0], layers[growing[0]].cache)
        if len(growing) < len(layers):
            sizes["global_attention_layers"] = len(growing) if layers[growing[0]].cache.growth else 0
        # An index of latent attention serves the layers behind it too; elsewhere each layer that selects has its own.
        selecting = [i for i in growing if layers[i].cache.index and not layers[i].cache.compressed]
        if selecting:
            sizes["selected_tokens"] = _selected(keys)
        if selecting and not reader.latent and len(selecting) < len(growing):
            sizes["windowed_kv_share"] = 1 - len(selecting) / len(growing)  # the others read all: a window without end
    dense = [i for i, ffn in enumerate(reader.ffns) if ffn == "dense"]
    if moe:
        width = reader.expert_width
        routed = moe[0].parameters["routed_experts"]
        sizes["intermediate_size"] = reader.dense_width(dense[0]) if dense else keys.count("intermediate_size", width)
        sizes["experts"], sizes["experts_per_token"] = reader.experts, reader.experts_per_token
        sizes["shared_experts"] = reader.shared_width / width
        sizes["expert_intermediate_size"] = width
        if routed != 3 * reader.experts * reader.hidden * width:
            sizes["matrices_per_expert"] = routed / (reader.experts * reader.hidden * width)
    elif dense:
        widths = [reader.dense_width(i) for i in dense]
        width = max(widths, key=widths.count)
        sizes |= {"intermediate_size": width, "experts": 1, "experts_per_token": 1, "shared_experts": 0}
        sizes["expert_intermediate_size"] = width
    return sizes


def _attention_sizes(keys: Keys, reader: Reader, layer: int, cache: Cache) -> dict[str, float]:
    size: float
    if reader.latent:
        rope = keys.count("qk_rope_head_dim")
        size = keys.count("qk_nope_head_dim") + rope
        heads = kv_heads = reader.heads
        latent, rotary = cache.elements, rope
    elif cache.compressed:
        heads, kv_heads, size, latent, rotary = reader.heads, reader.kv_heads, reader.head_size, cache.elements, 0
    else:
        heads, kv_heads, key, value = reader.dimensions(reader.kinds[layer], layer)
        size, latent, rotary = (key + value) / 2, 0, 0
    found: dict[str, float] = {"attention_heads": heads, "kv_heads": kv_heads, "head_size": size}
    found["kv_latent_size"] = latent
    if rotary:
        found["latent_rotary_size"] = rotary
    return found


def _selected(keys: Keys) -> int:
    """Tokens that the index of a sparse attention selects."""
    where = keys.inside("sparse_attention_config") if "sparse_attention_config" in keys else keys
    if "index_blocks" in where:
        return where.count("index_blocks", low=1) * where.count("index_block_length", 128, low=1)
    return keys.count("index_topk", low=1)
