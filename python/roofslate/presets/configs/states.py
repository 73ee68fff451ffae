"""Mixers that carry a state of constant size in the place of a cache: weights and state of one layer."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from roofslate.presets.configs.reading import Keys

__all__ = ["STATES"]


def _delta(keys: Keys, d: int, _: int) -> tuple[str, int, int]:
    """Gated delta rule of Qwen3-Next."""
    key_heads, value_heads = keys.count("linear_num_key_heads"), keys.count("linear_num_value_heads")
    key_size, value_size = keys.count("linear_key_head_dim"), keys.count("linear_value_head_dim")
    kernel = keys.count("linear_conv_kernel_dim", low=1)
    k, v = key_heads * key_size, value_heads * value_size
    mixed = 2 * k + v
    weights = d * (mixed + v + 2 * value_heads) + mixed * kernel + 2 * value_heads + value_size + v * d
    return "linear", weights, value_heads * key_size * value_size + mixed * (kernel - 1)


def _kimi_delta(keys: Keys, d: int, _: int) -> tuple[str, int, int]:
    """Delta rule of Kimi Linear, with a gate for each channel."""
    inner = keys.inside("linear_attn_config")
    heads, size = inner.count("num_heads", low=1), inner.count("head_dim", low=1)
    kernel = inner.count("short_conv_kernel_size", low=1)
    p = heads * size
    gates = 2 * (d * size + size * p) + p + heads + d * heads + size
    return "linear", 4 * d * p + 3 * p * kernel + gates, heads * size * size + 3 * p * (kernel - 1)


def _lightning(keys: Keys, d: int, size: int) -> tuple[str, int, int]:
    """Linear attention of MiniMax, with a gate on its output."""
    p = keys.count("attention_heads", low=1) * size
    return "linear", 5 * d * p + p, p * size


def _mamba2(keys: Keys, d: int, _: int) -> tuple[str, int, int]:
    heads, inner = keys.count("state_heads", low=1), keys.count("state_expansion", 2, low=1) * d
    if keys.shown("state_head_size") not in ("", "'auto'"):
        inner = heads * keys.count("state_head_size", low=1)
    groups, states = keys.count("state_groups", 1, low=1), keys.count("state_size", low=1)
    kernel = keys.count("state_kernel", 4, low=1)
    mixed = inner + 2 * groups * states
    into = inner + mixed + heads
    weights = d * into + mixed * kernel + 3 * heads + inner + inner * d
    weights += mixed * keys.flag("state_convolution_bias", True)
    if keys.flag("use_bias", keys.flag("state_projection_bias", False)):
        weights += into + d
    return "state space", weights, inner * states + mixed * (kernel - 1)


def _mamba(keys: Keys, d: int, _: int) -> tuple[str, int, int]:
    inner, states = keys.count("state_expansion", 2, low=1) * d, keys.count("state_size", 16, low=1)
    kernel = keys.count("state_kernel", 4, low=1)
    automatic = keys.shown("mamba_dt_rank") in ("", "'auto'")
    rank = math.ceil(d / 16) if automatic else keys.count("mamba_dt_rank", low=1)
    weights = 3 * d * inner + inner * (kernel + 2 * rank + 3 * states + 2) + rank + 2 * states
    weights += inner * keys.flag("state_convolution_bias", True)
    if keys.flag("state_projection_bias", False):
        weights += 2 * inner + d
    return "state space", weights, inner * (states + kernel - 1)


def _convolution(keys: Keys, d: int, _: int) -> tuple[str, int, int]:
    """Gated short convolution of LFM2."""
    kernel = keys.count("conv_L_cache", low=1)
    return "convolution", 4 * d * d + d * kernel + 5 * d * keys.flag("conv_bias", False), d * (kernel - 1)


STATES: dict[str, Callable[[Keys, int, int], tuple[str, int, int]]] = {
    "delta": _delta,
    "kimi_delta": _kimi_delta,
    "lightning": _lightning,
    "mamba2": _mamba2,
    "mamba": _mamba,
    "convolution": _convolution,
}


"""By the word of the family: a word for the cache, weights, and elements of the state, from the keys, the width of the
residual stream and that of a head."""
