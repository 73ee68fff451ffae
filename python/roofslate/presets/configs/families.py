"""Conventions of a family of models, which a config.json leaves to its classes."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from roofslate.presets.configs.keys import Keys

__all__ = ["Family", "plain_family"]


@dataclass(frozen=True)
class Family:
    """Conventions of the classes behind a ``model_type``.

    Attributes
    ----------
    tied : bool
        Whether one table is both input embedding and output head by default.
    bias : str
        Projections of attention that have a bias: ``"none"``, ``"qkv"``, ``"out"``, ``"all"``, or ``"qkv"`` or
        all if a key of the file says so: ``"key qkv"``, ``"key all"``.
    bias_key : str
        That key.
    bias_default : bool
        Its value where it is missing.
    key_norm : str
        Norms on queries and keys: ``"none"``, ``"head"``, ``"projection"``, ``"key head"`` if ``use_qk_norm`` says so.
    gate : str
        Gate on the output of attention: ``"none"``, ``"query"`` for a query projection twice as wide, ``"matrix"`` for
        a separate matrix, ``"heads"`` for a number a head.
    layer_norms : int
        Norms of a layer.
    norm_vectors : int
        Vectors of a norm: 1, 2 with a bias, 0 without weights.
    matrices : int
        Matrices of a feed-forward layer: 3 with a gate.
    ffn_bias : str
        ``"none"``, ``"all"``, or a key of the file.
    ffn_biased : bool
        Its value where it is missing.
    window : str
        Layers with the file's ``sliding_window`` unless it lists them: ``"all"``, ``"first of 2"`` and the like
        for all but the last of so many, ``"late"`` for layers at ``max_window_layers`` and above, ``"switched"`` for
        all, both only if ``use_sliding_window`` says so, ``"none"``.
    window_default : int
        The window where the file has no such key; 0: no window. A null says that there is none.
    window_sizes : Mapping of str to int
        Keys of attention that windowed layers have with other values where the file leaves them out.
    interval : int
        Every so many layers attend fully where the file does not say which, in models with layers of a state.
    state : str
        Mixer of the layers without attention.
    words : Mapping of str to str
        The family's words for the mixers of its layers, as far as they are unusual.
    sinks : str
        Layers with one more score a head: ``"none"``, ``"all"``, ``"window"``.
    shared : int
        Shared experts where the file says nothing.
    shared_gate : bool
        Whether a gate weighs the shared experts.
    router_bias, expert_bias : bool
        Whether router and experts have biases.
    positions : bool
        Whether positions have a table.
    head_bias : bool
        Whether the output head has a bias.
    prediction : bool
        Whether a layer for multi-token prediction is one more layer behind a projection of state and token.
    branches : int
        Pairs of attention and feed-forward part in a block; experts go with the first.
    more : str
        Weights of only this family, by its name in `details`.
    sizes : Mapping of str to int
        Sizes that its published files leave out.
    source : str
        Class that the conventions were read from.
    """

    tied: bool = False
    bias: str = "key all"
    bias_key: str = "attention_bias"
    bias_default: bool = False
    key_norm: str = "none"
    gate: str = "none"
    layer_norms: int = 2
    norm_vectors: int = 1
    matrices: int = 3
    ffn_bias: str = "mlp_bias"
    ffn_biased: bool = False
    window: str = "all"
    window_default: int = 0
    window_sizes: Mapping[str, int] = field(default_factory=dict)
    interval: int = 0
    state: str = ""
    words: Mapping[str, str] = field(default_factory=dict)
    sinks: str = "none"
    shared: int = 0
    shared_gate: bool = False
    router_bias: bool = False
    expert_bias: bool = False
    positions: bool = False
    head_bias: bool = False
    prediction: bool = False
    branches: int = 1
    more: str = ""
    sizes: Mapping[str, int] = field(default_factory=dict)
    source: str = ""


# Activations of feed-forward parts that most families use without a gate.
_UNGATED = {"relu", "relu2", "squared_relu", "gelu", "gelu_new", "gelu_fast", "quick_gelu", "xielu"}


_ACTIVATIONS = ("hidden_act", "activation_function", "mlp_hidden_act", "hidden_activation", "activation")


# Layers without attention, by a key that only they have.
_STATES = (
    ("linear_num_value_heads", "delta"),
    ("linear_attn_config", "kimi_delta"),
    ("linear_num_heads", "kimi_delta"),
    ("state_heads", "mamba2"),
    ("state_size", "mamba1"),
    ("conv_L_cache", "convolution"),
)


def plain_family(keys: Keys, not_read: list[str]) -> Family:
    """Derive conventions for a file of an unknown family from its keys.

    Parameters
    ----------
    keys : Keys
    not_read : list of str
        Collects assumptions.
    """
    family = Family(key_norm="key head", source="LlamaForCausalLM")
    name = next((name for name in _ACTIVATIONS if keys.is_text(name)), "")
    if name and keys.text(name).casefold() in _UNGATED:
        not_read.append(f"{keys.written(name)}: {keys.text(name)}, taken as a feed-forward part without a gate")
        family = replace(family, matrices=2)
    state = next(((name, state) for name, state in _STATES if name in keys), None)
    if state is not None and "layer_types" in keys:
        not_read.append(f"{keys.written(state[0])}: layers without attention taken as {state[1].replace('_', ' ')}")
        family = replace(family, state=state[1])
    return family
