"""Weights specific to one family: in a layer, and outside of the layers."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roofslate.presets.configs.attention import Heads
    from roofslate.presets.configs.keys import Keys

__all__ = ["Place", "layer_details", "model_details"]


@dataclass(frozen=True)
class Place:
    """A layer, as the details of its family need it.

    Attributes
    ----------
    keys : Keys
        Keys of the layer.
    hidden : int
        Width of the residual stream.
    kind, ffn : str
        Mixer and feed-forward part.
    heads : Heads
    indexed : bool
        Whether attention of this layer has an index.
    first : bool
        Whether it is the first layer.
    """

    keys: Keys
    hidden: int
    kind: str
    ffn: str
    heads: Heads
    indexed: bool
    first: bool


def _hyper(layer: Place, mixing: int, scales: int) -> int:
    """Residual streams that are mixed before attention and before the feed-forward part."""
    streams = layer.keys.count("hc_mult", 0)
    rows = mixing * streams
    return 2 * (rows * streams * layer.hidden + rows + scales) if streams else 0


def _hyper_head(keys: Keys, d: int) -> int:
    streams = keys.count("hc_mult", 0)
    return streams * streams * d + streams + 1 if streams else 0


def _streams(layer: Place) -> Counter[str]:
    return Counter(other=_hyper(layer, 2 + layer.keys.count("hc_mult", 0), 3))


def _glm5_next(layer: Place) -> Counter[str]:
    pool = layer.keys.count("index_kpool", 0) if layer.indexed else 0
    index = layer.keys.count("index_head_size", 0)
    return _streams(layer) + Counter(attention=(pool + layer.hidden) * index * (pool > 0))


def _hy_v4(layer: Place) -> Counter[str]:
    return Counter(other=_hyper(layer, 2, 2))


def _mistral_large4(layer: Place) -> Counter[str]:
    index = 2 * layer.hidden + 2 * layer.keys.count("index_heads", 0) if layer.indexed else 0
    return Counter(attention=2 * layer.heads.queries + index)


def _dots3(layer: Place) -> Counter[str]:
    return Counter(attention=layer.keys.count("qk_rope_head_dim", 0))


def _correction(layer: Place) -> Counter[str]:
    """Biases that balance the experts, if the class stores them as weights."""
    experts = layer.keys.count("experts", 0) if layer.ffn == "moe" else 0
    return Counter(router=experts)


def _muse_spark(layer: Place) -> Counter[str]:
    latent = layer.keys.count("latent_expert_size", 0) if layer.ffn == "moe" else 0
    return Counter(router=2 * latent, other=2 * layer.hidden)


def _kimi_k3(layer: Place) -> Counter[str]:
    """Norm on the output of latent experts, and residuals that attend to earlier blocks."""
    keys = layer.keys
    normed = layer.ffn == "moe" and keys.flag("latent_moe_use_norm", True)
    latent = keys.count("latent_expert_size", 0)
    return Counter(router=latent * normed, other=4 * layer.hidden * (keys.count("attn_res_block_size", 0) > 0))


def _inkling(layer: Place) -> Counter[str]:
    keys, d, h = layer.keys, layer.hidden, layer.heads
    kernel, relative = keys.count("convolution_kernel", low=1), keys.count("d_rel", low=1)
    extent = keys.count("rel_extent", low=1)
    extent = keys.count("sliding_window", 512, low=1) if layer.kind == "window" else extent
    keys_and_values = 2 * h.keys * h.size
    attention = d * h.queries * relative + relative * extent + keys_and_values * kernel
    keys.flag("shared_expert_sink", True)
    routed = d * keys.count("shared_experts", 0) + 1 if layer.ffn == "moe" else 0
    return Counter(attention=attention, other=2 * d * kernel, router=routed)


def _inkling2(layer: Place) -> Counter[str]:
    keys, d, h = layer.keys, layer.hidden, layer.heads
    kernel, relative = keys.count("convolution_kernel", low=1), keys.count("d_rel", low=1)
    keys.count("n_layers_per_attn_res_block", 0)
    full, keys_and_values = layer.kind == "full", 2 * h.keys * h.size
    attention = d * h.queries * (relative + 1) + relative * keys.count("rel_extent", low=1)
    attention += keys_and_values * kernel + h.queries * (h.size + relative)
    attention += full * 2 * d * h.keys * kernel  # convolutions whose weights depend on the token
    queries = d * (2 - layer.first + 2 * full)
    return Counter(attention=attention, other=2 * d * kernel + queries, norms=2 * d * full)


def _gemma3n(layer: Place) -> Counter[str]:
    keys, d = layer.keys, layer.hidden
    streams, rank = keys.count("altup_num_inputs", 4, low=1), keys.count("laurel_rank", 64, low=1)
    narrow = keys.count("hidden_size_per_layer_input", 256)
    altup = streams**2 + streams**3 + streams * d + d + d * keys.flag("altup_correct_scale", True)
    return Counter(other=altup + 2 * rank * d + d + 2 * d * narrow + d)


def _gemma3n_model(keys: Keys, d: int, layers: int) -> Counter[str]:
    narrow = keys.count("hidden_size_per_layer_input", 256)
    rows, wide = keys.count("vocab_size_per_layer_input", 262_144, low=1), layers * narrow
    streams = keys.count("altup_num_inputs", 4, low=1)
    return Counter(layer_tables=rows * wide, other=d * wide + narrow + 2 * (streams - 1) * d * d)


def _gemma4(layer: Place) -> Counter[str]:
    narrow = layer.keys.count("hidden_size_per_layer_input", 0)
    return Counter(other=2 * layer.hidden * narrow + layer.hidden if narrow else 0)


def _gemma4_model(keys: Keys, d: int, layers: int) -> Counter[str]:
    narrow = keys.count("hidden_size_per_layer_input", 0)
    if not narrow:
        return Counter()
    rows, wide = keys.count("vocab_size_per_layer_input", low=1), layers * narrow
    return Counter(layer_tables=rows * wide, other=d * wide + narrow)


def _zamba_layer(layer: Place) -> Counter[str]:
    """Matrix and low-rank adapters that join a block shared by several layers."""
    if layer.kind != "shared":
        return Counter()
    keys, d, h = layer.keys, layer.hidden, layer.heads
    rank, width = keys.count("adapter_rank", 0), keys.count("intermediate_size", low=1)
    weights = Counter(attention=d * d, dense_ffn=rank * (d + 2 * width))
    if keys.flag("use_shared_attention_adapter", False):
        weights["attention"] += 3 * rank * (2 * d + h.queries * h.size)
    return weights


def _zamba(keys: Keys, d: int, _: int) -> Counter[str]:
    heads = keys.count("attention_heads", low=1)
    keys.count("attention_hidden_size", 2 * d)
    size = keys.count("attention_head_dim", 2 * d // heads, low=1)
    blocks, width = keys.count("num_mem_blocks", 1, low=1), keys.count("intermediate_size", low=1)
    attention = 3 * 2 * d * heads * size + heads * size * d
    return Counter(attention=blocks * attention, dense_ffn=blocks * 3 * d * width, norms=blocks * 3 * d)


def _persimmon(layer: Place) -> Counter[str]:
    return Counter(attention=4 * layer.heads.size * layer.keys.flag("qk_layernorm", True))


def _diffllama(layer: Place) -> Counter[str]:
    return Counter(attention=4 * layer.heads.size)


def _bitnet(layer: Place) -> Counter[str]:
    return Counter(norms=layer.hidden + layer.keys.count("intermediate_size", low=1))


def _apertus(_: Place) -> Counter[str]:
    return Counter(dense_ffn=2)


def _hyperclovax(layer: Place) -> Counter[str]:
    return Counter(norms=2 * layer.hidden * layer.keys.flag("use_post_norm", True))


def _axk1(layer: Place) -> Counter[str]:
    return Counter(norms=layer.hidden * (layer.ffn == "moe"))


def _lfm3(layer: Place) -> Counter[str]:
    return Counter(norms=0 if layer.keys.flag("use_sandwich_norm", True) else -2 * layer.hidden)


def _opt(keys: Keys, d: int, _: int) -> Counter[str]:
    narrow = keys.count("word_embed_proj_dim", d, low=1)
    for name in ("do_layer_norm_before", "enable_bias", "layer_norm_elementwise_affine"):
        if not keys.flag(name, True):
            raise keys.fail(name, "expected true")
    return Counter(other=2 * d + 2 * d * narrow * (narrow != d))


_LAYERS: dict[str, Callable[[Place], Counter[str]]] = {
    "deepseek_v4": _streams,
    "glm5_next": _glm5_next,
    "hy_v4": _hy_v4,
    "mistral_large4": _mistral_large4,
    "dots3_note": _dots3,
    "laguna": _correction,
    "afmoe": _correction,
    "ernie4_5_moe": _correction,
    "muse_spark": _muse_spark,
    "kimi_k3": _kimi_k3,
    "inkling": _inkling,
    "inkling2": _inkling2,
    "gemma3n": _gemma3n,
    "gemma4": _gemma4,
    "zamba": _zamba_layer,
    "persimmon": _persimmon,
    "diffllama": _diffllama,
    "bitnet": _bitnet,
    "apertus": _apertus,
    "hyperclovax": _hyperclovax,
    "axk1": _axk1,
    "lfm3": _lfm3,
}


_MODELS: dict[str, Callable[[Keys, int, int], Counter[str]]] = {
    "deepseek_v4": lambda keys, d, _: Counter(other=_hyper_head(keys, d)),
    "hy_v4": lambda keys, d, _: Counter(other=_hyper_head(keys, d)),
    "kimi_k3": lambda keys, d, _: Counter(other=2 * d * (keys.count("attn_res_block_size", 0) > 0)),
    "inkling": lambda _, d, __: Counter(norms=d),
    "inkling2": lambda _, d, __: Counter(norms=d, other=d),
    "bloom": lambda _, d, __: Counter(norms=2 * d),
    "gemma3n": _gemma3n_model,
    "gemma4": _gemma4_model,
    "zamba": _zamba,
    "opt": _opt,
}


def layer_details(more: str, layer: Place) -> Counter[str]:
    """Count the weights of a layer specific to this family, by part."""
    count_weights = _LAYERS.get(more)
    return count_weights(layer) if count_weights else Counter()


def model_details(more: str, keys: Keys, hidden: int, layers: int) -> Counter[str]:
    """Count the weights outside of the layers specific to this family, by part."""
    count_weights = _MODELS.get(more)
    return count_weights(keys, hidden, layers) if count_weights else Counter()
