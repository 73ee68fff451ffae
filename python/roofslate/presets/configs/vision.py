"""Weights of the towers that turn images or sound into vectors of a language model."""

from __future__ import annotations

from collections.abc import Callable

from roofslate.presets.configs.keys import Keys

__all__ = ["audio_parameters", "vision_parameters"]


def vision_parameters(config: Keys, family: str, hidden: int) -> int | None:
    """Return the weights of vision tower and projector, 0 without one, None if unknown."""
    if "vision_config" not in config:
        return 0
    tower = _TOWERS.get(family)
    return tower(config.inside("vision_config"), config, hidden) if tower else None


def audio_parameters(config: Keys, family: str, hidden: int) -> int | None:
    """Return the weights of audio tower and projector, 0 without one, None if unknown."""
    if "audio_config" not in config:
        return 0
    return _gemma4_audio(config.inside("audio_config"), hidden) if family == "gemma4" else None


def _gemma4_audio(keys: Keys, hidden: int) -> int:
    """Conformer of Gemma-4: two subsampling convolutions, layers with two feed-forward parts."""
    d, heads = keys.count("hidden_size", 1024, low=1), keys.count("num_attention_heads", 8, low=1)
    first, second = (keys.counts("subsampling_conv_channels") or [128, 32])[:2]
    front = 9 * first + first + 9 * first * second + second + first // 4 * second * d
    feed_forward, attention = 8 * d * d + 2 * d, 5 * d * d + d // heads
    convolution = 3 * d * d + keys.count("conv_kernel_size", 5, low=1) * d + 2 * d
    layers = keys.count("num_hidden_layers", 12, high=10**4)
    out = keys.count("output_proj_dims", 1536, low=1)
    return front + layers * (2 * feed_forward + attention + convolution + 3 * d) + _linear(d, out) + out * hidden


def _linear(into: int, out: int) -> int:
    return into * out + out


def _encoder(layers: int, d: int, width: int) -> int:
    """Layers of a transformer with biases everywhere, and two norms with biases."""
    return layers * (4 * d + 4 * _linear(d, d) + _linear(d, width) + _linear(width, d))


def _qwen(keys: Keys, _: Keys, hidden: int) -> int:
    d, width = keys.count("hidden_size", low=1), keys.count("intermediate_size", low=1)
    patch = keys.count("patch_size", 16, low=1) ** 2 * keys.count("temporal_patch_size", 2, low=1)
    layers, heads = keys.count("depth", low=1, high=10**4), keys.count("num_heads", low=1)
    if d % heads:
        raise keys.fail("num_heads", f"{heads} heads do not divide {d} evenly")
    merged = d * keys.count("spatial_merge_size", 2, low=1) ** 2
    out = keys.count("out_hidden_size", hidden, low=1)
    merger = _linear(merged, merged) + _linear(merged, out)
    more = len(keys.entries("deepstack_visual_indexes") or ()) * (2 * merged + merger)
    table = keys.count("num_position_embeddings", 2304) * d
    return _linear(keys.count("in_channels", 3) * patch, d) + table + _encoder(layers, d, width) + 2 * d + merger + more


def _siglip(keys: Keys, _: Keys, hidden: int) -> int:
    d, width = keys.count("hidden_size", 768, low=1), keys.count("intermediate_size", 3072, low=1)
    patch, image = keys.count("patch_size", 16, low=1), keys.count("image_size", 224, low=1)
    layers = keys.count("num_hidden_layers", 12, high=10**4)
    keys.count("num_attention_heads", 12)
    weights = _linear(keys.count("num_channels", 3) * patch**2, d) + (image // patch) ** 2 * d + 2 * d
    weights += _encoder(layers, d, width)
    if keys.flag("vision_use_head", True):
        weights += d + 4 * _linear(d, d) + 2 * d + _linear(d, width) + _linear(width, d)
    return weights + d * hidden + d


def _gemma4(keys: Keys, _: Keys, hidden: int) -> int:
    d, width = keys.count("hidden_size", 768, low=1), keys.count("intermediate_size", 3072, low=1)
    heads, size = keys.count("num_attention_heads", 12, low=1), keys.count("head_dim", 64, low=1)
    kv_heads = keys.count("num_key_value_heads", 12, low=1)
    layer = 2 * d * (heads + kv_heads) * size + 2 * size + 3 * d * width + 4 * d
    layers = keys.count("num_hidden_layers", 16, high=10**4)
    table = 2 * keys.count("position_embedding_size", 10_240) * d
    return 3 * keys.count("patch_size", 16, low=1) ** 2 * d + table + layers * layer + d * hidden


def _kimi(keys: Keys, _: Keys, hidden: int) -> int:
    d, width = keys.count("vt_hidden_size", low=1), keys.count("vt_intermediate_size", low=1)
    layers = keys.count("vt_num_hidden_layers", low=1, high=10**4)
    keys.count("vt_num_attention_heads", 16)
    table = keys.count("init_pos_emb_height", 64) * keys.count("init_pos_emb_width", 64) * d
    patches = keys.counts("merge_kernel_size") or [2, 2]
    merged = d * patches[0] * patches[-1]
    projector = 2 * keys.count("mm_hidden_size", d) + _linear(merged, merged)
    projector += _linear(merged, keys.count("text_hidden_size", hidden))
    patch = 3 * keys.count("patch_size", 14, low=1) ** 2
    return table + _linear(patch, d) + _encoder(layers, d, width) + 2 * d + projector


def _llama4(keys: Keys, _: Keys, hidden: int) -> int:
    d, width = keys.count("hidden_size", 768, low=1), keys.count("intermediate_size", 5632, low=1)
    patch, image = keys.count("patch_size", 14, low=1), keys.count("image_size", 448, low=1)
    layers = keys.count("num_hidden_layers", 34, high=10**4)
    into, out = keys.count("projector_input_dim", 4096), keys.count("projector_output_dim", 4096)
    tables = ((image // patch) ** 2 + 2) * d
    weights = keys.count("num_channels", 3) * patch**2 * d + tables + 4 * d + _encoder(layers, d, width)
    return weights + width * into + out * out + keys.count("vision_output_dim", 7680) * hidden


def _minimax(keys: Keys, config: Keys, hidden: int) -> int:
    d, width = keys.count("hidden_size", 1280, low=1), keys.count("intermediate_size", 5120, low=1)
    layers = keys.count("num_hidden_layers", 32, high=10**4)
    patch = keys.count("patch_size", 14, low=1) ** 2 * keys.count("temporal_patch_size", 2, low=1)
    merged = hidden * keys.count("spatial_merge_size", 2, low=1) ** 2
    between = config.count("projector_hidden_size", 6144, low=1)
    config.count("merged_hidden_size", 0)
    projector = _linear(d, between) + _linear(merged, between) + 2 * _linear(between, hidden)
    return keys.count("num_channels", 3) * patch * d + 2 * d + _encoder(layers, d, width) + projector


def _pixtral(keys: Keys, config: Keys, hidden: int) -> int:
    d, width = keys.count("hidden_size", 1024, low=1), keys.count("intermediate_size", 4096, low=1)
    layers = keys.count("num_hidden_layers", 24, high=10**4)
    merged = d * config.count("spatial_merge_size", 2, low=1) ** 2
    bias = 2 * hidden * config.flag("multimodal_projector_bias", False)
    tower = keys.count("num_channels", 3) * keys.count("patch_size", 16, low=1) ** 2 * d + d
    return tower + layers * (4 * d * d + 3 * d * width + 2 * d) + d + merged * d + d * hidden + hidden**2 + bias


_Tower = Callable[[Keys, Keys, int], int]


_TOWERS: dict[str, _Tower] = {
    "qwen3_vl": _qwen,
    "qwen3_vl_moe": _qwen,
    "qwen3_5": _qwen,
    "qwen3_5_moe": _qwen,
    "gemma3": _siglip,
    "gemma4": _gemma4,
    "kimi_k25": _kimi,
    "kimi_k3": _kimi,
    "llama4": _llama4,
    "minimax_m3": _minimax,
    "minimax_m3_vl": _minimax,
    "mistral3": _pixtral,
}
