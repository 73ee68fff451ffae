"""Weights that one family has beyond its conventions: in a layer, and outside of the layers."""

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
        Those of the layer.
    hidden : int
        Width of the residual stream.
    kind, ffn : str
        Mixer and feed-forward part.
    heads : Heads
    indexed : bool
        Whether attention has an index of its own.
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


def _hyper(place: Place, mixing: int, scales: int) -> int:
    """Residual streams that are mixed before attention and before the feed-forward part."""
    streams = place.keys.count("hc_mult", 0)
    rows = mixing * streams
    return 2 * (rows * streams * place.hidden + rows + scales) if streams else 0


def _hyper_head(keys: Keys, d: int) -> int:
    streams = keys.count("hc_mult", 0)
    return streams * streams * d + streams + 1 if streams else 0


def _streams(place: Place) -> Counter[str]:
    return Counter(other=_hyper(place, 2 + place.keys.count("hc_mult", 0), 3))


def _glm5_next(place: Place) -> Counter[str]:
    pool = place.keys.count("index_kpool", 0) if place.indexed else 0
    index = place.keys.count("index_head_size", 0)
    return _streams(place) + Counter(attention=(pool + place.hidden) * index * (pool > 0))


def _hy_v4(place: Place) -> Counter[str]:
    return Counter(other=_hyper(place, 2, 2))


def _mistral_large4(place: Place) -> Counter[str]:
    index = 2 * place.hidden + 2 * place.keys.count("index_heads", 0) if place.indexed else 0
    return Counter(attention=2 * place.heads.queries + index)


def _dots3(place: Place) -> Counter[str]:
    return Counter(attention=place.keys.count("qk_rope_head_dim", 0))


def _correction(place: Place) -> Counter[str]:
    """Biases that balance the experts, where the class holds them as weights."""
    experts = place.keys.count("experts", 0) if place.ffn == "moe" else 0
    return Counter(router=experts)


def _muse_spark(place: Place) -> Counter[str]:
    latent = place.keys.count("latent_expert_size", 0) if place.ffn == "moe" else 0
    return Counter(router=2 * latent, other=2 * place.hidden)


def _kimi_k3(place: Place) -> Counter[str]:
    """A norm on what latent experts give, and residuals that attend to those of earlier blocks."""
    keys = place.keys
    normed = place.ffn == "moe" and keys.flag("latent_moe_use_norm", True)
    latent = keys.count("latent_expert_size", 0)
    return Counter(router=latent * normed, other=4 * place.hidden * (keys.count("attn_res_block_size", 0) > 0))


def _inkling(place: Place) -> Counter[str]:
    keys, d, h = place.keys, place.hidden, place.heads
    kernel, relative = keys.count("convolution_kernel", low=1), keys.count("d_rel", low=1)
    extent = keys.count("rel_extent", low=1)
    extent = keys.count("sliding_window", 512, low=1) if place.kind == "window" else extent
    keys_and_values = 2 * h.keys * h.size
    attention = d * h.queries * relative + relative * extent + keys_and_values * kernel
    keys.flag("shared_expert_sink", True)
    routed = d * keys.count("shared_experts", 0) + 1 if place.ffn == "moe" else 0
    return Counter(attention=attention, other=2 * d * kernel, router=routed)


def _inkling2(place: Place) -> Counter[str]:
    keys, d, h = place.keys, place.hidden, place.heads
    kernel, relative = keys.count("convolution_kernel", low=1), keys.count("d_rel", low=1)
    keys.count("n_layers_per_attn_res_block", 0)
    full, keys_and_values = place.kind == "full", 2 * h.keys * h.size
    attention = d * h.queries * (relative + 1) + relative * keys.count("rel_extent", low=1)
    attention += keys_and_values * kernel + h.queries * (h.size + relative)
    attention += full * 2 * d * h.keys * kernel  # convolutions whose weights depend on the token
    queries = d * (2 - place.first + 2 * full)
    return Counter(attention=attention, other=2 * d * kernel + queries, norms=2 * d * full)


def _gemma3n(place: Place) -> Counter[str]:
    keys, d = place.keys, place.hidden
    streams, rank = keys.count("altup_num_inputs", 4, low=1), keys.count("laurel_rank", 64, low=1)
    narrow = keys.count("hidden_size_per_layer_input", 256)
    altup = streams**2 + streams**3 + streams * d + d + d * keys.flag("altup_correct_scale", True)
    return Counter(other=altup + 2 * rank * d + d + 2 * d * narrow + d)


def _gemma3n_model(keys: Keys, d: int, layers: int) -> Counter[str]:
    narrow = keys.count("hidden_size_per_layer_input", 256)
    rows, wide = keys.count("vocab_size_per_layer_input", 262_144, low=1), layers * narrow
    streams = keys.count("altup_num_inputs", 4, low=1)
    return Counter(layer_tables=rows * wide, other=d * wide + narrow + 2 * (streams - 1) * d * d)


def _gemma4(place: Place) -> Counter[str]:
    narrow = place.keys.count("hidden_size_per_layer_input", 0)
    return Counter(other=2 * place.hidden * narrow + place.hidden if narrow else 0)


def _gemma4_model(keys: Keys, d: int, layers: int) -> Counter[str]:
    narrow = keys.count("hidden_size_per_layer_input", 0)
    if not narrow:
        return Counter()
    rows, wide = keys.count("vocab_size_per_layer_input", low=1), layers * narrow
    return Counter(layer_tables=rows * wide, other=d * wide + narrow)


def _zamba_layer(place: Place) -> Counter[str]:
    """What joins a block that several layers share: a matrix, and adapters of low rank."""
    if place.kind != "shared":
        return Counter()
    keys, d, h = place.keys, place.hidden, place.heads
    rank, width = keys.count("adapter_rank", 0), keys.count("intermediate_size", low=1)
    found = Counter(attention=d * d, dense_ffn=rank * (d + 2 * width))
    if keys.flag("use_shared_attention_adapter", False):
        found["attention"] += 3 * rank * (2 * d + h.queries * h.size)
    return found


def _zamba(keys: Keys, d: int, _: int) -> Counter[str]:
    heads = keys.count("attention_heads", low=1)
    keys.count("attention_hidden_size", 2 * d)
    size = keys.count("attention_head_dim", 2 * d // heads, low=1)
    blocks, width = keys.count("num_mem_blocks", 1, low=1), keys.count("intermediate_size", low=1)
    attention = 3 * 2 * d * heads * size + heads * size * d
    return Counter(attention=blocks * attention, dense_ffn=blocks * 3 * d * width, norms=blocks * 3 * d)


def _persimmon(place: Place) -> Counter[str]:
    return Counter(attention=4 * place.heads.size * place.keys.flag("qk_layernorm", True))


def _diffllama(place: Place) -> Counter[str]:
    return Counter(attention=4 * place.heads.size)


def _bitnet(place: Place) -> Counter[str]:
    return Counter(norms=place.hidden + place.keys.count("intermediate_size", low=1))


def _apertus(_: Place) -> Counter[str]:
    return Counter(dense_ffn=2)


def _hyperclovax(place: Place) -> Counter[str]:
    return Counter(norms=2 * place.hidden * place.keys.flag("use_post_norm", True))


def _axk1(place: Place) -> Counter[str]:
    return Counter(norms=place.hidden * (place.ffn == "moe"))


def _lfm3(place: Place) -> Counter[str]:
    return Counter(norms=0 if place.keys.flag("use_sandwich_norm", True) else -2 * place.hidden)


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


def layer_details(more: str, place: Place) -> Counter[str]:
    """Weights of a layer that only this family has, by part."""
    found = _LAYERS.get(more)
    return found(place) if found else Counter()


def model_details(more: str, keys: Keys, hidden: int, layers: int) -> Counter[str]:
    """Weights outside of the layers that only this family has, by part."""
    found = _MODELS.get(more)
    return found(keys, hidden, layers) if found else Counter()
