"""Mixer and feed-forward part of each layer, by keys of the file or by convention."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown
from roofslate.presets.configs.keys import Keys

if TYPE_CHECKING:
    from collections.abc import Sequence

    from roofslate.presets.configs.families import Family

__all__ = ["COMPRESSION", "block_part", "feed_forward_kinds", "fitting", "mixer_kinds"]


# Names of the mixer of a layer in the files.
_MIXERS = {
    "full_attention": "full",
    "attention": "full",
    "*": "full",
    "sliding_attention": "window",
    "chunked_attention": "chunk",
    "linear_attention": "state",
    "mamba": "state",
    "M": "state",
    "conv": "state",
    "short_conv": "state",
    "indexed_attention": "full",
    "deepseek_sparse_attention": "full",
    "minimax_m3_sparse": "sparse",
    "compressed_sparse_attention": "compressed sparse",
    "heavily_compressed_attention": "compressed",
    "moe": "moe",
    "E": "moe",
    "mlp": "mlp",
    "-": "mlp",
}


COMPRESSION = {0: "window", 4: "compressed sparse", 128: "compressed"}


"""Kinds of DeepSeek-V4's layers by tokens per compressed entry."""


# Dense layers in front where the file does not say.
_FIRST_DENSE = {
    "deepseek_v3": 3,
    "deepseek_v32": 3,
    "glm_moe_dsa": 3,
    "glm4_moe": 1,
    "glm4_moe_lite": 1,
    "mimo_v2": 1,
    "ernie4_5_moe": 1,
    "step3p5": 3,
    "step3p7": 3,
}


# Keys that list the mixers by a number a layer, and the meaning of a number that is not 0, and of a 0.
_MARKS = (
    ("attn_type_list", "full", "state"),
    ("hybrid_layer_pattern", "window", "full"),
    ("sparse_attention_freq", "sparse", "full"),
)


def mixer_kinds(keys: Keys, name: str, family: Family, assumptions: list[str]) -> list[str]:
    """Return the mixer of each layer, from ``full`` to ``none``.

    A layer of Nemotron-H that is a feed-forward part and nothing else is moe or mlp.
    """
    stated = keys.layers()
    if name == "longcat_flash" and "num_layers" in keys:  # classes count each attention in the other key
        stated = keys.count("num_layers", low=1, high=10**4)
    listed = _listed(keys, family)
    if listed is not None:
        return fitting(keys, listed[0], listed[1], stated)
    if family.window in ("state", "both") and stated is not None:
        return [family.window] * stated
    if stated is None:
        raise keys.fail("layers", "missing, and nothing lists the layers")
    full = keys.counts("full_attn_idxs")
    if full is None:
        full = keys.counts("attn_layer_indices")
    linear = keys.inside("linear_attn_config")
    counted = linear.counts("full_attn_layers")
    linear.entries("kda_layers")
    if counted is not None:  # from one
        full = [i - 1 for i in counted]
    if full is None and name == "bamba" and "layer_types" not in keys:
        assumptions.append(f"attn_layer_indices: none, as {family.source} does")
        full = []
    if full is not None:
        return ["full" if i in full else "state" for i in range(stated)]
    if "attn_layer_period" in keys:
        period, offset = keys.count("attn_layer_period", low=1), keys.count("attn_layer_offset", 0)
        return ["full" if i % period == offset else "state" for i in range(stated)]
    interval = keys.count("full_attention_interval", family.interval)
    if interval and family.state:
        if "full_attention_interval" not in keys:
            assumptions.append(f"full_attention_interval: {interval}, as {family.source} does")
        return ["state" if (i + 1) % interval else "full" for i in range(stated)]
    if name == "llama4" and keys.count("attention_chunk_size", 8192):
        interval = keys.count("no_rope_layer_interval", 4, low=1)
        marks: Sequence[int] = keys.counts("no_rope_layers") or [(i + 1) % interval for i in range(stated)]
        return fitting(keys, "no_rope_layers", ["chunk" if mark else "full" for mark in marks], stated)
    return _windows(keys, family, stated, assumptions)


def _listed(keys: Keys, family: Family) -> tuple[str, list[str]] | None:
    """Return the key that lists the mixers and its list, or None without one."""
    pattern = keys.text("hybrid_override_pattern")
    key = "hybrid_override_pattern" if pattern else "layer_types"
    words = list(pattern) if pattern else keys.entries("layer_types")
    if words is not None:
        mixers = {**_MIXERS, **family.words}
        unknown = [word for word in words if not isinstance(word, str) or word not in mixers]
        if unknown:
            raise keys.fail(key, f"unknown kind of layer {shown(unknown[0])}")
        kinds = [mixers[word] for word in words]
        if "window" in kinds and not family.window_default:
            keys.count("sliding_window", low=1)
        return key, kinds
    blocks = keys.entries("block_configs")
    if blocks is not None:
        return "block_configs", [block_kind(blocks, "attention", i) for i in range(len(blocks))]
    ratios = keys.counts("compress_ratios")
    if ratios is not None:  # the last ratio is for the multi-token prediction layer
        for i, ratio in enumerate(ratios):
            if ratio not in COMPRESSION:
                raise keys.fail(
                    f"compress_ratios[{i}]", f"expected one of {', '.join(map(str, COMPRESSION))}, got {ratio}"
                )
        return "compress_ratios", [COMPRESSION[ratio] for ratio in ratios]
    for key, yes, no in _MARKS:
        where = keys.inside("sparse_attention_config") if key.startswith("sparse") else keys
        marks = where.counts(key)
        if marks is not None:
            return key, [yes if mark else no for mark in marks]
    return None


def _windows(keys: Keys, family: Family, stated: int, assumptions: list[str]) -> list[str]:
    """Full and windowed layers of a file that does not list them."""
    habit = family.window
    window = keys.count("sliding_window", 0 if keys.is_null("sliding_window") else family.window_default)
    pattern = keys.shown("sliding_window_pattern").strip("'")
    if set(pattern) & set("LG"):
        return ["window" if pattern[i % len(pattern)] == "L" else "full" for i in range(stated)]
    interval = keys.count("sliding_window_pattern", 0)
    alternating = habit.startswith("first of")
    switched = keys.flag("use_sliding_window", habit == "all" or alternating)
    if not (window and switched) or habit == "none":
        return ["full"] * stated
    if habit == "late":
        first = keys.count("max_window_layers", stated)
        return ["full" if i < first else "window" for i in range(stated)]
    if alternating and not interval:
        interval = int(habit.split()[-1])
        assumptions.append(f"sliding_window_pattern: {interval}, as {family.source} does")
    if interval:
        return ["window" if (i + 1) % interval else "full" for i in range(stated)]
    return ["window"] * stated


def feed_forward_kinds(keys: Keys, name: str, mixers: list[str], family: Family, *, sparse: bool) -> list[str]:
    """Return ``"dense"``, ``"moe"`` or ``"none"`` for each layer.

    A model that is not `sparse` has no routed experts.
    """
    n = len(mixers)
    if {"moe", "mlp"} & set(mixers) or "hybrid_override_pattern" in keys:  # one part a block
        return [{"moe": "moe", "mlp": "dense"}.get(kind, "none") for kind in mixers]
    if family.window == "state" or "shared" in mixers:
        return ["none"] * n
    blocks = keys.entries("block_configs")
    if blocks is not None:
        kinds = [block_kind(blocks, "ffn", i) for i in range(n)]
        return [{"full": "dense"}.get(kind, kind) for kind in kinds]
    if not sparse:
        return ["dense"] * n
    words = keys.entries("mlp_layer_types")
    if words is not None:
        return fitting(keys, "mlp_layer_types", ["dense" if word == "dense" else "moe" for word in words], n)
    if keys.is_list("moe_layer_freq"):
        marks = keys.counts("moe_layer_freq") or []
        return fitting(keys, "moe_layer_freq", ["moe" if mark else "dense" for mark in marks], n)
    chosen = _numbered(keys) if "moe_layers_enum" in keys else keys.counts("moe_layers")
    if chosen is not None:
        return ["moe" if i in chosen else "dense" for i in range(n)]
    first = keys.count("first_k_dense_replace", keys.count("num_dense_layers", _FIRST_DENSE.get(name, 0)))
    first = keys.count("moe_layer_start_index", first)
    last = keys.count("moe_layer_end_index", -1, low=-1) % n
    step, offset = 1, 0
    for key, start in _STEPS:
        if key in keys:
            step, offset = keys.count(key, low=1), start
    if "expert_layer_period" in keys:
        step, offset = keys.count("expert_layer_period", low=1), keys.count("expert_layer_offset", 0)
    without = keys.counts("mlp_only_layers") or []
    inside = [first <= i <= last and (i - offset) % step == 0 and i not in without for i in range(n)]
    return ["moe" if experts else "dense" for experts in inside]


def _numbered(keys: Keys) -> list[int]:
    """Layers with experts as Step names them: a text of numbers, or a list."""
    if not keys.is_text("moe_layers_enum"):
        return keys.counts("moe_layers_enum") or []
    words = [word.strip() for word in keys.text("moe_layers_enum").split(",") if word.strip()]
    if not all(word.isdecimal() and len(word) < 6 for word in words):
        raise keys.fail("moe_layers_enum", "expected numbers of layers between commas")
    return [int(word) for word in words]


# Keys that say that every so many layers have experts, and the first of them, counted from the first layer.
_STEPS = (
    ("moe_layer_freq", 0),
    ("decoder_sparse_step", -1),
    ("interleave_moe_layer_step", -1),
    ("moe_layer_interval", -1),
)


def fitting(keys: Keys, key: str, kinds: list[Any], stated: int | None) -> list[Any]:
    """Return a list with an entry a layer, cut to the number of layers as the classes do."""
    if not kinds or (stated is not None and len(kinds) < stated):
        raise keys.fail(key, f"{len(kinds)} entries for {stated} layers")
    return kinds[:stated]


def block_part(blocks: list[Any], part: str, layer: int) -> Keys:
    """The keys of attention or of the feed-forward part in a block of Nemotron-NAS."""
    return Keys({f"block_configs[{layer}]": blocks[layer]}).inside(f"block_configs[{layer}]").inside(part)


def block_kind(blocks: list[Any], part: str, layer: int) -> str:
    """``"full"``, ``"linear"`` for one matrix in its place, or ``"none"``."""
    keys = block_part(blocks, part, layer)
    if keys.flag("no_op", False):
        return "none"
    return "linear" if keys.flag("replace_with_linear", False) else "full"
