"""Weights and state of layers with a state of constant size instead of a KV cache."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from roofslate.presets.configs.keys import Keys

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
    heads, size, kernel = _linear_sizes(keys, inner)
    p, low = heads * size, d * size + size * heads * size
    gate = d * p if inner.flag("use_full_rank_gate", False) else low
    weights = 4 * d * p + 3 * p * kernel + low + gate + p + heads + d * heads + size
    return "linear", weights, heads * size * size + 3 * p * (kernel - 1)


def _full_delta(keys: Keys, d: int, _: int) -> tuple[str, int, int]:
    """The same with gates of full rank."""
    heads, size, kernel = _linear_sizes(keys, keys.inside("linear_attn_config"))
    p = heads * size
    weights = 6 * d * p + 3 * p * kernel + p + heads + d * heads + size
    return "linear", weights, heads * size * size + 3 * p * (kernel - 1)


def _linear_sizes(keys: Keys, inner: Keys) -> tuple[int, int, int]:
    """Return heads, head width, and convolution kernel, from the inner object or the keys."""
    if any(name in keys for name in ("linear_num_heads", "linear_head_dim")):
        inner.content()  # the same, as older files say it
        heads, size = keys.count("linear_num_heads", low=1), keys.count("linear_head_dim", low=1)
        return heads, size, keys.count("linear_kernel", 4, low=1)
    return inner.count("num_heads", low=1), inner.count("head_dim", low=1), inner.count("short_conv_kernel_size", low=1)


def _lightning(keys: Keys, d: int, size: int) -> tuple[str, int, int]:
    """Linear attention of MiniMax, with a gate on its output."""
    p = keys.count("attention_heads", low=1) * size
    return "linear", 5 * d * p + p, p * size


def _mamba2(keys: Keys, d: int, _: int) -> tuple[str, int, int]:
    plain = "state_heads" not in keys and keys.text("model_type") == "mamba2"  # no attention takes the usual names
    names = ("attention_heads", "head_size") if plain else ("state_heads", "state_head_size")
    heads, inner = keys.count(names[0], low=1), keys.count("state_expansion", 2, low=1) * d
    if keys.shown(names[1]) not in ("", "'auto'"):
        inner = heads * keys.count(names[1], low=1)
    if keys.count("mamba_d_ssm", inner) != inner:
        raise keys.fail("mamba_d_ssm", f"expected {inner}, heads times their width")
    if not keys.flag("mamba_use_mlp", True):
        raise keys.fail("mamba_use_mlp", "expected true")
    groups, states = keys.count("state_groups", 1, low=1), keys.count("state_size", low=1)
    kernel = keys.count("state_kernel", 4, low=1)
    mixed = inner + 2 * groups * states
    into = inner + mixed + heads
    weights = d * into + mixed * kernel + 3 * heads + inner * keys.flag("mamba_rms_norm", True) + inner * d
    weights += mixed * keys.flag("state_convolution_bias", True)
    if keys.flag("use_bias", keys.flag("state_projection_bias", False)):
        weights += into + d
    return "state space", weights, inner * states + mixed * (kernel - 1)


def _mamba(keys: Keys, d: int, size: int) -> tuple[str, int, int]:
    """Mamba with norms on step, inputs and outputs of the state, as Jamba has it."""
    word, weights, state = _mamba1(keys, d, size)
    return word, weights + _step_rank(keys, d) + 2 * keys.count("state_size", 16, low=1), state


def _mamba1(keys: Keys, d: int, _: int) -> tuple[str, int, int]:
    inner, states = keys.count("state_expansion", 2, low=1) * d, keys.count("state_size", 16, low=1)
    kernel, rank = keys.count("state_kernel", 4, low=1), _step_rank(keys, d)
    keys.count("n_mamba_heads", 1, low=1)
    keys.count("mamba_intermediate_size", 0)
    weights = 3 * d * inner + inner * (kernel + 2 * rank + 3 * states + 2)
    weights += inner * keys.flag("state_convolution_bias", True)
    if keys.flag("state_projection_bias", keys.flag("use_bias", False)):
        weights += 2 * inner + d
    return "state space", weights, inner * (states + kernel - 1)


def _step_rank(keys: Keys, d: int) -> int:
    name = next((name for name in ("mamba_dt_rank", "time_step_rank") if name in keys), "mamba_dt_rank")
    automatic = keys.shown(name) in ("", "'auto'")
    return math.ceil(d / 16) if automatic else keys.count(name, low=1)


def _convolution(keys: Keys, d: int, _: int) -> tuple[str, int, int]:
    """Gated short convolution of LFM2."""
    kernel = keys.count("conv_L_cache", low=1)
    return "convolution", 4 * d * d + d * kernel + 5 * d * keys.flag("conv_bias", False), d * (kernel - 1)


STATES: dict[str, Callable[[Keys, int, int], tuple[str, int, int]]] = {
    "delta": _delta,
    "kimi_delta": _kimi_delta,
    "full_delta": _full_delta,
    "lightning": _lightning,
    "mamba2": _mamba2,
    "mamba": _mamba,
    "mamba1": _mamba1,
    "convolution": _convolution,
}


"""State word, weights, and state elements of a layer, by the family's word for its mixer.

Each function takes the keys of the file, the width of the residual stream, and the width of a head.
"""
