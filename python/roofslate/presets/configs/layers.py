"""The layers that a config describes: weights and cache of the mixer and of the feed-forward part of each."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roofslate.presets.configs.pattern import COMPRESSION, block_part, feed_forward_kinds, fitting, mixer_kinds
from roofslate.presets.configs.states import STATES

if TYPE_CHECKING:
    import numpy.typing as npt

    from roofslate.presets.configs.families import Family
    from roofslate.presets.configs.reading import Keys

__all__ = ["Cache", "Layer", "Reader"]


@dataclass(frozen=True)
class Cache:
    """What a sequence leaves in the cache of a layer, in elements.

    Attributes
    ----------
    kind : str
        Word for the layer's mixer.
    elements : int
        Of each token that is kept.
    window : int
        Last tokens that are kept; 0: all.
    compressed : int
        Of each entry that stands for `ratio` tokens.
    ratio : int
    index : float
        Keys of the index of a sparse attention, of each token.
    state : int
        What does not grow.
    """

    kind: str = "none"
    elements: int = 0
    window: int = 0
    compressed: int = 0
    ratio: int = 1
    index: float = 0
    state: int = 0

    def at(self, tokens: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
        """Elements of keys and values after so many tokens, index and state left out."""
        kept = np.minimum(tokens, self.window) if self.window else tokens
        return self.elements * kept + self.compressed * (tokens // self.ratio)

    @property
    def growth(self) -> float:
        """Elements of keys and values that a further token adds, far beyond every window."""
        return (0 if self.window else self.elements) + self.compressed / self.ratio


@dataclass(frozen=True)
class Layer:
    """Weights and cache of one layer.

    Attributes
    ----------
    parameters : Counter of str
        Weights by part.
    cache : Cache
    experts, visited : int
        Routed experts, and those that a token visits.
    """

    parameters: Counter[str]
    cache: Cache
    experts: int = 0
    visited: int = 0


class Reader:
    """The shape of a language model, read from the keys of its config.

    Attributes
    ----------
    kinds, ffns : list of str
        Mixer and feed-forward part of each layer.
    assumptions : list of str
        What the file leaves open and its family decides.
    """

    def __init__(self, keys: Keys, name: str, family: Family) -> None:
        self.keys, self.name, self.family = keys, name, family
        self.assumptions: list[str] = []
        self.hidden = keys.count("hidden_size", low=1)
        self.latent = "kv_lora_rank" in keys
        self.experts, self.experts_per_token = self._routed()
        self.kinds = mixer_kinds(keys, name, family, self.assumptions)
        self.ffns = feed_forward_kinds(keys, name, self.kinds, sparse=self.experts > 0)
        self.blocks = keys.entries("block_configs")
        attends = not set(self.kinds) <= {"state", "moe", "mlp", "none"}
        self.heads = keys.count("attention_heads", None if attends else 1, low=1)
        self.kv_heads = self._kv_heads()
        self.head_size = keys.optional("head_size", low=1) or self._even_head_size(attends)
        self.value_size = (not self.latent and keys.optional("v_head_dim", low=1)) or self.head_size

    def _routed(self) -> tuple[int, int]:
        """Routed experts of a layer and those that a token visits; none where there are fewer than two."""
        keys = self.keys
        experts, enabled = keys.count("experts", 0), keys.flag("enable_moe_block", True)
        if experts < 2 or not enabled:
            return 0, 0
        visited = keys.count("experts_per_token")
        if not 1 <= visited <= experts:
            raise keys.fail("experts_per_token", f"expected 1 to {experts}, got {visited}")
        return experts, visited

    def _even_head_size(self, attends: bool) -> int:
        if attends and not self.latent and self.hidden % self.heads:
            raise self.keys.fail("head_size", f"missing, and {self.heads} heads do not divide {self.hidden} evenly")
        return max(1, self.hidden // self.heads)

    def layers(self) -> list[Layer]:
        """Every layer, in order."""
        found = []
        for i, (kind, ffn) in enumerate(zip(self.kinds, self.ffns, strict=True)):
            parameters, cache = self._mixer(kind, i)
            experts = visited = 0
            if ffn == "moe":
                experts, visited = self.experts, self.experts_per_token
                parameters.update(self._experts())
            elif ffn == "dense":
                parameters["dense_ffn"] += self._ffn(self.dense_width(i))
            elif ffn == "linear":
                parameters["dense_ffn"] += self.hidden**2
            parameters["norms"] += self._norms(kind, ffn)
            parameters["other"] += self._extras()
            found.append(Layer(parameters, cache, experts, visited))
        return found

    # ---------------------------------------------------------------------------------------------------- attention

    def _kv_heads(self) -> int:
        keys = self.keys
        if self.name == "falcon":
            grouped = keys.flag("new_decoder_architecture", "kv_heads" in keys and not keys.flag("multi_query", False))
            if not grouped:
                return 1 if keys.flag("multi_query", True) else self.heads
        elif keys.flag("multi_query", self.name == "gpt_bigcode"):
            return 1
        given = keys.optional("kv_heads", low=1)
        if given is not None and given > self.heads and not self.latent:
            raise keys.fail("kv_heads", f"{given} are more than the {self.heads} heads")
        return given or self.heads

    def _mixer(self, kind: str, layer: int) -> tuple[Counter[str], Cache]:
        if kind in ("none", "moe", "mlp"):
            return Counter(), Cache()
        if kind == "linear":
            return Counter(attention=self.hidden**2), Cache()
        if kind == "state":
            if not self.family.state:
                raise self.keys.fail(
                    "layer_types", f"layers without attention are not known for {self.name or 'this'!r}"
                )
            word, weights, state = STATES[self.family.state](self.keys, self.hidden, self.head_size)
            return Counter(state_mixer=weights), Cache(word, state=state)
        if self.latent:
            return self._latent_attention(layer)
        if "compress" in kind or self.name == "deepseek_v4":
            return self._compressed_attention(kind)
        return self._attention(kind, layer)

    def _attention(self, kind: str, layer: int) -> tuple[Counter[str], Cache]:
        keys, family, d = self.keys, self.family, self.hidden
        heads, kv_heads, size, value_size = self.dimensions(kind, layer)
        gate = keys.flag("attn_output_gate", family.gated_query)
        q, k, v = heads * size * (1 + gate), kv_heads * size, kv_heads * value_size
        borrowed = layer >= len(self.kinds) - keys.count("num_kv_shared_layers", 0)  # the cache of a layer before
        values_are_keys = self.name == "gemma4" and kind == "full" and keys.flag("attention_k_eq_v", False)
        projected = q + (0 if borrowed else k + (0 if values_are_keys else v))
        weights = d * (projected + heads * value_size) + projected * self._biased("qkv") + d * self._biased("all")
        norm = self._key_norm()
        if norm:
            weights += heads * size if norm == "projection" else size
            weights += 0 if borrowed else k if norm == "projection" else size
        weights += heads * self._has_sink(kind)
        index = 0
        if kind == "sparse":
            where = keys.inside("sparse_attention_config") if "sparse_attention_config" in keys else keys
            index_heads, index = where.count("index_heads", low=1), where.count("index_head_size", low=1)
            weights += d * (index_heads + 1) * index + 2 * index
        kept = 0
        if kind == "window":
            kept = keys.count("sliding_window", family.window_default or None, low=1)
        elif kind == "chunk":
            kept = keys.count("attention_chunk_size", 8192, low=1)
        return Counter(attention=weights), Cache(kind, 0 if borrowed else k + v, kept, index=index)

    def _biased(self, projections: str) -> bool:
        """Whether queries, keys and values (``"qkv"``) or the output too (``"all"``) have a bias."""
        keys, family = self.keys, self.family
        habit = family.bias
        if projections == "all" and keys.flag("attention_out_bias", False):
            return True
        if projections == "qkv" and keys.flag("qkv_bias", False):
            return True
        if habit.startswith("key "):
            habit = habit[4:] if keys.flag(family.bias_key, family.bias_default) else "none"
        return habit == "all" or habit == projections

    def _key_norm(self) -> str:
        """``"head"`` or ``"projection"`` for norms on queries and keys; empty where there are none."""
        habit = self.family.key_norm
        if habit.startswith("key "):
            return habit[4:] if self.keys.flag("use_qk_norm", False) else ""
        return "" if habit == "none" else habit

    def _has_sink(self, kind: str) -> bool:
        where = {"window": "add_swa_attention_sink_bias", "full": "add_full_attention_sink_bias"}.get(kind, "")
        return self.keys.flag(where, self.family.sinks in ("all", kind))

    def dimensions(self, kind: str, layer: int) -> tuple[int, int, int, int]:
        """Query heads, key-value heads, and elements of a key and of a value, of attention in a layer."""
        keys = self.keys
        heads, kv_heads, size, value_size = self.heads, self.kv_heads, self.head_size, self.value_size
        if self.blocks is not None:
            group = block_part(self.blocks, "attention", layer).count("n_heads_in_group", low=1)
            kv_heads = max(1, heads // group)
        if kind == "window":
            heads = keys.count("swa_num_attention_heads", heads, low=1)
            kv_heads = keys.count("swa_num_key_value_heads", kv_heads, low=1)
            size = keys.count("swa_head_dim", size, low=1)
            value_size = keys.count("swa_v_head_dim", value_size, low=1)
        elif self.name == "gemma4":
            size = value_size = keys.count("global_head_dim", 512, low=1)
            if keys.flag("attention_k_eq_v", False):
                kv_heads = keys.count("num_global_key_value_heads", kv_heads, low=1)
        return heads, kv_heads, size, value_size

    def _latent_attention(self, layer: int) -> tuple[Counter[str], Cache]:
        keys, d, heads = self.keys, self.hidden, self.heads
        rank, rope = keys.count("kv_lora_rank", low=1), keys.count("qk_rope_head_dim", low=0)
        nope, value = keys.count("qk_nope_head_dim", low=0), keys.count("v_head_dim", low=1)
        query_rank = keys.optional("q_lora_rank", low=1)
        query = heads * (nope + rope)
        weights = d * query if query_rank is None else query_rank * (d + 1 + query)
        weights += d * (rank + rope) + rank + rank * heads * (nope + value) + heads * value * d
        if keys.flag("attention_bias", False):
            weights += (query_rank or 0) + rank + rope + d
        index = 0
        if "index_topk" in keys and self._indexes(layer):
            index, index_heads = keys.count("index_head_size", low=1), keys.count("index_heads", low=1)
            weights += (query_rank or d) * index_heads * index + d * (index + index_heads) + 2 * index
        return Counter(attention=weights), Cache("latent", rank + rope, index=index)

    def _indexes(self, layer: int) -> bool:
        """Whether a layer has an index of its own; the others take the choice of the one before."""
        keys = self.keys
        words = keys.entries("indexer_types")
        if words is None and (pattern := keys.text("index_topk_pattern")):
            words = ["full" if letter == "F" else "shared" for letter in pattern]
        if words is not None:
            return bool(fitting(keys, "indexer_types", words, len(self.kinds))[layer] != "shared")
        step, offset = keys.count("index_topk_freq", 1, low=1), keys.count("index_skip_topk_offset", 2)
        return max(layer - offset + 1, 0) % step == 0

    def _compressed_attention(self, kind: str) -> tuple[Counter[str], Cache]:
        """Attention of DeepSeek-V4: a window, and behind it one entry for several tokens; keys are values."""
        keys, d, heads, size = self.keys, self.hidden, self.heads, self.head_size
        rank, groups, output_rank = (keys.count(name, low=1) for name in ("q_lora_rank", "o_groups", "o_lora_rank"))
        weights = d * rank + rank + rank * heads * size + d * size + size
        weights += heads * size * output_rank + groups * output_rank * d + heads
        window = keys.count("sliding_window", low=1)
        if kind == "window":
            return Counter(attention=weights), Cache("window", size, window)
        ratio = next(ratio for ratio, word in COMPRESSION.items() if word == kind)
        width = 2 * size if kind == "compressed sparse" else size  # two overlapping rows of entries
        weights += 2 * d * width + ratio * width + size
        index = 0
        if kind == "compressed sparse":
            index, index_heads = keys.count("index_head_size", low=1), keys.count("index_heads", low=1)
            weights += 2 * d * 2 * index + ratio * 2 * index + index + rank * index_heads * index + d * index_heads
        return Counter(attention=weights), Cache(kind, size, window, size, ratio, index / ratio)

    # ------------------------------------------------------------------------------------------------- feed-forward

    def _ffn(self, width: int) -> int:
        """Weights of one feed-forward part."""
        family, d = self.family, self.hidden
        weights = family.matrices * d * width
        if family.ffn_bias == "all" or (
            family.ffn_bias != "none" and self.keys.flag(family.ffn_bias, family.ffn_biased)
        ):
            weights += (family.matrices - 1) * width + d
        return weights

    def dense_width(self, layer: int) -> int:
        keys, d = self.keys, self.hidden
        if self.blocks is not None:
            factor = block_part(self.blocks, "ffn", layer).number("ffn_mult", low=0, high=1000)
            width = int(2 * factor * d / 3)
            return width + -width % 256
        if self.experts and "dense_intermediate_size" in keys:
            return keys.count("dense_intermediate_size", low=1)
        if self.name == "granitemoehybrid":
            return keys.count("shared_intermediate_size", low=1)
        old = self.name in ("gpt2", "gpt_bigcode", "falcon")
        width = keys.count("intermediate_size", 4 * d if old else None, low=1)
        if self.name == "lfm2" and not self.experts and keys.flag("block_auto_adjust_ff_dim", True):
            width = int(keys.number("block_ffn_dim_multiplier", 1.0, low=0, high=1000) * int(2 * width / 3))
            width += -width % keys.count("block_multiple_of", 256, low=1)
        shared = keys.count("num_kv_shared_layers", 0)
        if keys.flag("use_double_wide_mlp", False) and shared > 0 and layer >= len(self.kinds) - shared:
            width *= 2
        return width

    @property
    def expert_width(self) -> int:
        """Width of a routed expert."""
        if "expert_intermediate_size" in self.keys:
            return self.keys.count("expert_intermediate_size", low=1)
        return self.keys.count("intermediate_size", low=1)

    @property
    def shared_width(self) -> int:
        """Width of all shared experts together."""
        keys = self.keys
        if self.name == "gemma4":  # a dense part beside the experts
            return keys.count("intermediate_size", low=1)
        shared = keys.count("shared_experts", self.family.shared)
        if "shared_intermediate_size" in keys:
            return keys.count("shared_intermediate_size")
        return shared * self.expert_width

    def _experts(self) -> Counter[str]:
        """Routed and shared experts of a layer, with their router."""
        keys, d, width = self.keys, self.hidden, self.expert_width
        latent = keys.optional("latent_expert_size", low=1)
        expert = self.family.matrices * (latent or d) * width
        if self.family.expert_bias:
            expert += (self.family.matrices - 1) * width + d
        parameters = Counter(routed_experts=self.experts * expert, router=d * self.experts)
        if self.family.router_bias:
            parameters["router"] += self.experts
        if self.name == "gemma4":
            parameters["router"] += d + self.experts
        if latent:
            parameters["router"] += 2 * d * latent
        if self.shared_width:
            parameters["shared_experts"] += self._ffn(self.shared_width) + d * self.family.shared_gate
        return parameters

    # -------------------------------------------------------------------------------------------- norms and the rest

    def _norms(self, kind: str, ffn: str) -> int:
        norms = self.family.layer_norms
        if self.name == "falcon":
            parallel = self.keys.flag("parallel_attn", True)
            grouped = self.keys.flag("new_decoder_architecture", self.kv_heads > 1)
            pair = self.keys.count("num_ln_in_parallel_attn", 2) == 2
            norms = 1 if parallel and not (grouped and pair) else 2
        elif self.name == "gemma4":
            norms += 3 * (ffn == "moe")
        elif self.blocks is not None:
            norms = (kind != "none") + (ffn != "none")
        return norms * self.norm

    @property
    def norm(self) -> int:
        """Weights of one norm over the residual stream."""
        return self.family.norm_vectors * self.hidden

    def _extras(self) -> int:
        """Weights of a layer beside its mixer, its feed-forward part and their norms."""
        d, streams = self.hidden, self.keys.count("hc_mult", 0)
        narrow = self.keys.count("hidden_size_per_layer_input", 0) if self.name == "gemma4" else 0
        mixing = (2 + streams) * streams
        hyper = 2 * (mixing * streams * d + mixing + 3) if streams else 0
        return hyper + (2 * d * narrow + d if narrow else 0)

    def beside_layers(self) -> Counter[str]:
        """Weights outside of the layers, tables and output head left out."""
        keys, d = self.keys, self.hidden
        parameters = Counter(norms=self.norm)
        if self.family.positions:
            parameters["other"] += keys.count("context_limit", low=1) * d
        if streams := keys.count("hc_mult", 0):
            parameters["other"] += streams * streams * d + streams + 1
        narrow = keys.count("hidden_size_per_layer_input", 0) if self.name == "gemma4" else 0
        if narrow:
            rows, wide = keys.count("vocab_size_per_layer_input", low=1), len(self.kinds) * narrow
            parameters["other"] += rows * wide + d * wide + narrow
        return parameters
