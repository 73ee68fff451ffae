"""Numbers from the shape of a model: sums of weights, registry inputs, formats, a note."""

from __future__ import annotations

from collections import Counter

from roofslate import units
from roofslate.presets.configs import Shape, bits_of

__all__ = ["sums_of", "values_of", "visited_weights", "window_note"]


def visited_weights(shape: Shape) -> int:
    """Weights of the routed experts that a token is multiplied with."""
    return sum(
        round(layer.parameters["routed_experts"] // layer.experts * layer.visited)
        for layer in shape.layers
        if layer.experts
    )


def sums_of(shape: Shape) -> dict[str, float]:
    """The sums of weights that model cards use, each under its name."""
    parts = Counter(shape.parts)
    total = sum(parts.values())
    language = total - parts["vision"] - parts["audio"]
    active = language - parts["routed_experts"] + visited_weights(shape)
    tables = parts["input_table"] + parts["output_head"]
    sums = {
        "active_with_input_embedding": active,
        "active_without_tables": active - tables,
        "language_parameters": language,
        "vision_parameters": parts["vision"],
        "audio_parameters": parts["audio"],
        "input_embedding_parameters": parts["input_table"],
        "total_if_untied": total + parts["input_table"] * shape.tied,
    }
    if shape.prediction is not None:
        sums["multi_token_prediction_parameters"] = shape.prediction
        sums["total_with_multi_token_prediction"] = total + shape.prediction
    if shape.context_limit is not None:
        sums["context_limit"] = shape.context_limit
    sums["state_bytes"] = 2 * sum(layer.kv_cache.state for layer in shape.layers)
    return {name: float(count) for name, count in sums.items()}


def values_of(shape: Shape) -> dict[str, float | str]:
    """Return the values that the preset supplies."""
    sums, caches = sums_of(shape), [layer.kv_cache for layer in shape.layers]
    active = sums["active_with_input_embedding"] - (0 if shape.tied else shape.parts["input_table"])
    values: dict[str, float | str] = {
        "total_parameters": float(sum(shape.parts.values())),
        "active_parameters": active,
        **{name: float(size) for name, size in shape.sizes.items()},
    }
    size = bits_of(shape.formats.kv) / 8
    growth = sum(cache.growth for cache in caches)
    sizes = shape.sizes
    plain = sizes.get("kv_latent_size") or 2 * sizes.get("kv_heads", 0) * sizes.get("head_size", 0)
    windowed = [cache for cache in caches if cache.window]
    windows = {cache.window for cache in windowed}
    if not growth or len(windows) == 1:  # windows of several lengths are ignored if another KV cache grows
        inside = sum(cache.elements for cache in windowed)
        if inside:
            values["windowed_kv_share"] = inside / (inside + growth)
            values["attention_window"] = float(max(windows))
        growth += inside
    if growth != plain * len(caches) or not growth:
        values["kv_bytes_per_token"] = size * growth
    index = sum(cache.index for cache in caches)
    if index:
        values["index_bytes_per_token"] = size * index
    values |= _stored_formats(shape)
    values["kv_format"] = shape.formats.kv
    states = [cache for cache in caches if cache.state]
    if states:
        values["recurrent_layers"] = float(len(states))
        values["layer_state_bytes"] = 2.0 * max(cache.state for cache in states)
    holding = sum(1 for cache in caches if cache.elements)
    if holding not in (0, len(caches) - len(states)):
        values["kv_layers"] = float(holding)
    return values


def _stored_formats(shape: Shape) -> dict[str, float | str]:
    """Formats and bytes of the routed experts and of the other weights."""
    parts, formats = shape.parts, shape.formats
    routed = parts.get("routed_experts", 0)
    values: dict[str, float | str] = {"weight_format": formats.weight}
    plain = bits_of("bf16")
    dense = sum(n * formats.bits.get(part, plain) for part, n in parts.items() if part != "routed_experts")
    mean = dense / (sum(parts.values()) - routed)
    bits = formats.bits.get("routed_experts", plain) if routed else mean
    if routed and bits != bits_of(formats.weight):
        values["bits_per_weight"] = bits
    if mean != bits or (not routed and bits != bits_of(formats.weight)):
        values["dense_format"] = formats.dense
        if mean != bits_of(formats.dense):
            values["dense_bytes_per_weight"] = mean / 8
    return values


def window_note(shape: Shape) -> str:
    """Write a note for readers of the KV-cache size."""
    size = bits_of(shape.formats.kv) / 8
    windowed = [layer.kv_cache for layer in shape.layers if layer.kv_cache.window]
    if not windowed:
        return ""
    size_text = units.format(size * sum(cache.elements * cache.window for cache in windowed), "byte")
    if not any(layer.kv_cache.growth for layer in shape.layers):
        return f"every layer with attention sees a window: a sequence holds {size_text} at most"
    return f"{len(windowed)} layers see a window, and the windows hold {size_text} a sequence"
