"""Layers of a config: weights and KV cache of each mixer and feed-forward part."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

from roofslate.presets.configs.attention import Attention, Heads, KVCache
from roofslate.presets.configs.details import Place, layer_details, model_details
from roofslate.presets.configs.known import PER_LAYER
from roofslate.presets.configs.pattern import block_part, feed_forward_kinds, mixer_kinds
from roofslate.presets.configs.states import STATES

if TYPE_CHECKING:
    from collections.abc import Iterator

    from roofslate.presets.configs.families import Family
    from roofslate.presets.configs.keys import Keys

__all__ = ["Layer", "Reader"]


_WITHOUT_ATTENTION = {"state", "moe", "mlp", "none", "linear"}


# Keys that may list a number for each layer, and the kind of number.
_LISTED = (
    *((name, name) for name in ("intermediate_size", "moe_intermediate_size", "head_dim")),
    *((name, name) for name in ("num_attention_heads", "num_key_value_heads")),
    ("num_attention_heads", "num_attention_heads_per_layer"),
)


# Keys of attention in an object for windowed layers, and their meaning there.
_OF_WINDOWS = (
    ("num_attention_heads", "attention_heads"),
    ("num_key_value_heads", "kv_heads"),
    ("head_dim", "head_size"),
)


@dataclass(frozen=True)
class Layer:
    """Weights and KV cache of one layer.

    Attributes
    ----------
    parameters : Counter of str
        Weights by part.
    kv_cache : KVCache
    experts : int
        Routed experts.
    visited : float
        Experts that a token activates, on average if some experts are empty.
    """

    parameters: Counter[str]
    kv_cache: KVCache
    experts: int = 0
    visited: float = 0


class Reader:
    """The shape of a language model, read from the keys of its config.

    Attributes
    ----------
    kinds, ffns : list of str
        Mixer and feed-forward part of each layer.
    assumptions : list of str
        Choices of the family that the file leaves open.
    """

    def __init__(self, keys: Keys, name: str, family: Family) -> None:
        self.keys, self.name, self.family = keys, name, family
        self.assumptions: list[str] = []
        self.hidden = keys.count("hidden_size", low=1)
        self.latent = "kv_lora_rank" in keys
        sparse = self.routed(keys)[0] > 0
        kinds = mixer_kinds(keys, name, family, self.assumptions)
        ffns = feed_forward_kinds(keys, name, kinds, family, sparse=sparse)
        self._places = [i for i in range(len(kinds)) for _ in range(family.branches)]
        self.kinds = [kinds[i] for i in self._places]
        self.ffns = self._branched(ffns) if family.branches > 1 else ffns
        self.blocks = keys.entries("block_configs")
        self._at: dict[int, Keys] = {}
        self._lists = [(name, key, keys.entries(key) or ()) for name, key in _LISTED if keys.is_list(key)]
        single = keys.inside("per_layer_config")
        labels = [label for label in single.names() if label.isdecimal() and len(label) < 9]
        self._single = {int(label): (label, single.inside(label).content()) for label in labels}
        self.heads = self.heads_of(next((i for i, kind in enumerate(self.kinds) if kind not in _WITHOUT_ATTENTION), 0))

    def _branched(self, ffns: list[str]) -> list[str]:
        """Each branch of a block has a dense part, the first the experts too."""
        n = self.family.branches
        said = "num_layers" if "num_layers" in self.keys else self.keys.written("layers")
        self.assumptions.append(f"{said}: {len(ffns)} blocks of {n} attentions each, counted as {n * len(ffns)} layers")
        return [f"dense {ffn}" if i % n == 0 and ffn == "moe" else "dense" for i, ffn in enumerate(self._all(ffns))]

    def _all(self, ffns: list[str]) -> list[str]:
        return [ffns[i] for i in self._places]

    def routed(self, keys: Keys) -> tuple[int, float]:
        """Return the routed experts of a layer and the active ones, zeros if fewer than two."""
        experts, enabled = keys.count("experts", 0), keys.flag("enable_moe_block", True)
        if experts < 2 or not enabled:
            return 0, 0
        visited, idle = keys.count("experts_per_token"), keys.count("idle_experts", 0)
        if not 1 <= visited <= experts:
            raise keys.fail("experts_per_token", f"expected 1 to {experts}, got {visited}")
        return experts, visited * experts / (experts + idle) if idle else visited

    def at(self, layer: int) -> Keys:
        """Return the keys of a layer: of the file, with its values for this or windowed layers."""
        if layer not in self._at:
            self._at[layer] = self.keys.replaced(self._over(self._places[layer], self.kinds[layer]))
        return self._at[layer]

    def _over(self, index: int, kind: str) -> Iterator[tuple[str, Any, str]]:
        """Keys that a layer has with other values: the value, and where the file says it."""
        keys = self.keys
        for name, key, values in self._lists:
            if index < len(values):
                yield name, values[index], f"{key}[{index}]"
        if kind == "window":
            yield from self._over_windowed()
        if self.latent and self.name == "mistral_large4" and not self._rotates(index):
            nope = keys.count("qk_nope_head_dim") + keys.count("qk_rope_head_dim")
            yield "qk_nope_head_dim", nope, "qk_nope_head_dim"
            yield "qk_rope_head_dim", 0, "qk_rope_head_dim"
        label, single = self._single.get(index, ("", {}))
        for name, value in single.items():
            yield name, value, f"per_layer_config.{label}.{name}"

    def _over_windowed(self) -> Iterator[tuple[str, Any, str]]:
        """Keys that windowed layers have with other values."""
        keys = self.keys
        for name in PER_LAYER:
            if f"swa_{name}" in keys:
                yield name, keys.count(f"swa_{name}"), f"swa_{name}"
            elif name in self.family.window_sizes:
                yield name, self.family.window_sizes[name], name
        if "num_sliding_attention_heads" in keys:
            heads = keys.count("num_sliding_attention_heads", low=1)
            yield "num_attention_heads", heads, "num_sliding_attention_heads"
        other = keys.inside("attention_other_setting")
        other.text("attention_type")
        for name, meaning in _OF_WINDOWS:
            if meaning in other:
                yield name, other.count(meaning, low=1), other.written(meaning)

    def _rotates(self, index: int) -> bool:
        """Return True if attention in a layer has rotary positions."""
        marks = self.keys.counts("no_rope_layers")
        return bool(marks[index] if marks is not None and index < len(marks) else (index + 1) % 4)

    def layers(self) -> list[Layer]:
        """Every layer, in order."""
        return [self._layer(i) for i in range(len(self.kinds))]

    def _layer(self, i: int) -> Layer:
        kind, ffn, keys = self.kinds[i], self.ffns[i], self.at(i)
        parameters, cache = self._mixer(kind, i)
        experts, visited = 0, 0.0
        if "moe" in ffn:
            experts, visited = self.routed(keys)
            parameters.update(self._experts(keys, experts))
        if "dense" in ffn:
            parameters["dense_ffn"] += self._ffn(keys, self.dense_width(i))
        elif ffn == "linear":
            parameters["dense_ffn"] += self.hidden**2
        parameters["norms"] += self._norms(kind, ffn)
        if self.family.more:
            heads = self.heads_of(i) if kind not in _WITHOUT_ATTENTION else self.heads
            description = Place(keys, self.hidden, kind, ffn, heads, cache.index > 0, i == 0)
            parameters.update(layer_details(self.family.more, description))
        return Layer(parameters, cache, experts, visited)

    # ---------------------------------------------------------------------------------------------------- mixers

    def heads_of(self, layer: int) -> Heads:
        """Heads of attention in a layer, and the elements of its keys and values."""
        kind, keys = self.kinds[layer], self.at(layer)
        queries = keys.count("attention_heads", 1 if kind in _WITHOUT_ATTENTION else None, low=1)
        if self.latent or kind in _WITHOUT_ATTENTION - {"state"}:
            keys.shown("head_size")  # noise
            return Heads(queries, queries, max(1, self.hidden // queries), max(1, self.hidden // queries))
        kv_heads = self._kv_heads(keys, queries)
        if self.blocks is not None:
            group = block_part(self.blocks, "attention", layer).count("n_heads_in_group", low=1)
            kv_heads = max(1, queries // group)
        size = keys.optional("head_size", low=1) or self._even_head_size(keys, kind, queries)
        value_size = keys.optional("v_head_dim", low=1) or size
        if self.name == "gemma4" and kind not in ("window", "state"):
            if size == self.keys.optional("head_size", low=1):  # no separate value
                size = keys.count("global_head_dim", 512, low=1)
            value_size = size
            if keys.flag("attention_k_eq_v", False):
                kv_heads = keys.count("num_global_key_value_heads", kv_heads, low=1)
        return Heads(queries, kv_heads, size, value_size)

    def _even_head_size(self, keys: Keys, kind: str, heads: int) -> int:
        if kind not in _WITHOUT_ATTENTION and self.hidden % heads:
            raise keys.fail("head_size", f"missing, and {heads} heads do not divide {self.hidden} evenly")
        return max(1, self.hidden // heads)

    def _kv_heads(self, keys: Keys, heads: int) -> int:
        if self.name == "falcon":
            grouped = keys.flag("new_decoder_architecture", "kv_heads" in keys and not keys.flag("multi_query", False))
            if not grouped:
                return 1 if keys.flag("multi_query", True) else heads
        elif keys.flag("multi_query", self.name == "gpt_bigcode"):
            return 1
        given = keys.optional("kv_heads", low=1)
        if given is not None and given > heads:
            raise keys.fail("kv_heads", f"{given} are more than the {heads} heads")
        return given or heads

    def _mixer(self, kind: str, layer: int) -> tuple[Counter[str], KVCache]:
        if kind in ("none", "moe", "mlp"):
            return Counter(), KVCache()
        if kind == "linear":
            return Counter(attention=self.hidden**2), KVCache()
        state = KVCache()
        weights: Counter[str] = Counter()
        if kind in ("state", "both", "shared"):
            weights, state = self._state(layer)
        if kind == "state":
            return weights, state
        heads = self.heads_of(layer)
        if kind == "shared":  # its weights are outside of the layers
            keys = self.at(layer)
            size = keys.count("attention_head_dim", 2 * self.hidden // heads.queries, low=1)
            return weights, replace(state, kind="full", elements=2 * heads.queries * size)
        attention = Attention(self.at(layer), self.name, self.family, self.hidden, self._places[layer], len(self.kinds))
        parameters, cache = attention.read("full" if kind == "both" else kind, heads)
        return parameters + weights, replace(cache, state=state.state)

    def _state(self, layer: int) -> tuple[Counter[str], KVCache]:
        if not self.family.state:
            raise self.keys.fail("layer_types", f"layers without attention are not known for {self.name or 'this'!r}")
        word, weights, state = STATES[self.family.state](self.at(layer), self.hidden, self.heads.size)
        return Counter(state_mixer=weights), KVCache(word, state=state)

    # ------------------------------------------------------------------------------------------------- feed-forward

    def _ffn(self, keys: Keys, width: int) -> int:
        """Weights of one feed-forward part."""
        family, d = self.family, self.hidden
        weights = family.matrices * d * width
        if family.ffn_bias == "all" or (family.ffn_bias != "none" and keys.flag(family.ffn_bias, family.ffn_biased)):
            weights += (family.matrices - 1) * width + d
        return weights

    def dense_width(self, layer: int) -> int:
        """Width of a dense feed-forward part."""
        keys, d = self.at(layer), self.hidden
        if self.blocks is not None:
            factor = block_part(self.blocks, "ffn", layer).number("ffn_mult", low=0, high=1000)
            width = int(2 * factor * d / 3)
            return width + -width % 256
        if self.routed(keys)[0] and "dense_intermediate_size" in keys:
            return keys.count("dense_intermediate_size", low=1)
        if self.name == "granitemoehybrid":
            return keys.count("shared_intermediate_size", low=1)
        old = self.name in _FOUR_TIMES
        width = keys.count("intermediate_size", 4 * d if old else None, low=1)
        if self.name == "lfm2" and not self.routed(keys)[0] and keys.flag("block_auto_adjust_ff_dim", True):
            width = int(keys.number("block_ffn_dim_multiplier", 1.0, low=0, high=1000) * int(2 * width / 3))
            width += -width % keys.count("block_multiple_of", 256, low=1)
        shared = keys.count("num_kv_shared_layers", 0)
        if keys.flag("use_double_wide_mlp", False) and shared > 0 and layer >= len(self.kinds) - shared:
            width *= 2
        return width

    def expert_width(self, keys: Keys) -> int:
        """Width of a routed expert."""
        if "expert_intermediate_size" in keys:
            return keys.count("expert_intermediate_size", low=1)
        return keys.count("intermediate_size", low=1)

    def shared_width(self, keys: Keys) -> int:
        """Width of all shared experts together."""
        if self.name == "gemma4":  # a dense part in addition to the experts
            return keys.count("intermediate_size", low=1)
        shared = keys.count("shared_experts", self.family.shared)
        if "shared_intermediate_size" in keys:
            return keys.count("shared_intermediate_size")
        return shared * self.expert_width(keys)

    def _experts(self, keys: Keys, experts: int) -> Counter[str]:
        """Routed and shared experts of a layer, with their router."""
        d, width = self.hidden, self.expert_width(keys)
        latent, shared = keys.optional("latent_expert_size", low=1), self.shared_width(keys)
        expert = self.family.matrices * (latent or d) * width
        if self.family.expert_bias:
            expert += (self.family.matrices - 1) * width + d
        parameters = Counter(routed_experts=experts * expert, router=d * (experts + keys.count("idle_experts", 0)))
        if self.family.router_bias:
            parameters["router"] += experts
        if self.name == "gemma4":
            parameters["router"] += d + experts
        if latent:
            parameters["router"] += 2 * d * latent
        if shared:
            parameters["shared_experts"] += self._ffn(keys, shared) + d * self.family.shared_gate
        return parameters

    # -------------------------------------------------------------------------------------------- norms and the rest

    def _norms(self, kind: str, ffn: str) -> int:
        norms = self.family.layer_norms
        if self.name == "falcon":
            parallel = self.keys.flag("parallel_attn", True)
            grouped = self.keys.flag("new_decoder_architecture", self.heads.keys > 1)
            pair = self.keys.count("num_ln_in_parallel_attn", 2) == 2
            norms = 1 if parallel and not (grouped and pair) else 2
        elif self.name == "gemma4":
            norms += 3 * (ffn == "moe")
        elif self.blocks is not None:
            norms = (kind != "none") + (ffn != "none")
        return norms * self.norm

    @property
    def norm(self) -> int:
        """Return the weights of one norm of the residual stream."""
        return self.family.norm_vectors * self.hidden

    def beside_layers(self) -> Counter[str]:
        """Weights outside of the layers, tables and output head left out."""
        keys, d = self.keys, self.hidden
        parameters = Counter(norms=self.norm)
        if self.family.positions:
            parameters["other"] += keys.count("context_limit", low=1) * d
        parameters.update(model_details(self.family.more, keys, d, len(self.kinds)))
        return parameters


# Families whose feed-forward part is four times as wide as the residual stream where the file says nothing.
_FOUR_TIMES = {"gpt2", "gpt_bigcode", "falcon", "gptj", "codegen", "gpt_neo", "bloom", "mpt"}
