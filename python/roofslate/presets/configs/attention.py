"""Attention of one layer: weights and KV cache per sequence."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from roofslate.presets.configs.pattern import COMPRESSION, fitting

if TYPE_CHECKING:
    import numpy.typing as npt

    from roofslate.presets.configs.families import Family
    from roofslate.presets.configs.keys import Keys

__all__ = ["Attention", "Heads", "KVCache"]


@dataclass(frozen=True)
class KVCache:
    """KV cache of a sequence in one layer, in elements.

    Attributes
    ----------
    kind : str
        Word for the layer's mixer.
    elements : int
        Of each stored token.
    window : int
        Stored tokens, the last ones. 0: all.
    compressed : int
        Of each entry that represents `ratio` tokens.
    ratio : int
    index : float
        Keys of the index of a sparse attention, of each token.
    state : int
        Constant part.
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
        attended = np.minimum(tokens, self.window) if self.window else tokens
        return self.elements * attended + self.compressed * (tokens // self.ratio)

    @property
    def growth(self) -> float:
        """Elements of keys and values that a further token adds, far beyond every window."""
        return (0 if self.window else self.elements) + self.compressed / self.ratio


@dataclass(frozen=True)
class Heads:
    """Heads of an attention: queries, keys and values, and elements of a key and of a value."""

    queries: int
    keys: int
    size: int
    value_size: int


# Keys that say whether attention has a gate on its output, and which where they say so and the family does not.
_GATES = {
    "attn_output_gate": "query",
    "mla_use_output_gate": "matrix",
    "use_attention_gate": "heads",
    "use_head_wise_attn_gate": "heads",
    "gating": "heads",
}


class Attention:
    """Attention of one layer, read from its keys.

    Parameters
    ----------
    keys : Keys
        Those of the layer.
    name : str
        Of the family.
    family : Family
    hidden : int
        Width of the residual stream.
    layer, layers : int
        Place among the layers that the file lists, and their number.
    """

    def __init__(self, keys: Keys, name: str, family: Family, hidden: int, layer: int, layers: int) -> None:
        self.keys, self.name, self.family, self.hidden = keys, name, family, hidden
        self.layer, self.layers = layer, layers

    def read(self, kind: str, heads: Heads) -> tuple[Counter[str], KVCache]:
        """Return weights and KV cache of attention of this kind."""
        if "kv_lora_rank" in self.keys:
            return self._latent(kind, heads.queries)
        if "compress" in kind or self.name == "deepseek_v4":
            return self._compressed(kind, heads)
        return self._plain(kind, heads)

    def _window(self, kind: str) -> int:
        if kind == "window":
            return self.keys.count("sliding_window", self.family.window_default or None, low=1)
        return self.keys.count("attention_chunk_size", 8192, low=1) if kind == "chunk" else 0

    def _plain(self, kind: str, h: Heads) -> tuple[Counter[str], KVCache]:
        keys, d = self.keys, self.hidden
        q, k, v = h.queries * h.size, h.keys * h.size, h.keys * h.value_size
        # shares the KV cache of an earlier layer
        borrowed = self.layer >= self.layers - keys.count("num_kv_shared_layers", 0)
        values_are_keys = self.name == "gemma4" and kind == "full" and keys.flag("attention_k_eq_v", False)
        gate, extra = self._gate(h.queries, h.value_size)
        projected = q * (1 + (gate == "query")) + (0 if borrowed else k + (0 if values_are_keys else v))
        weights = d * (projected + h.queries * h.value_size) + extra
        weights += projected * self._biased("qkv") + d * self._biased("all")
        norm = self._key_norm()
        if norm:
            weights += q if norm == "projection" else h.size
            weights += 0 if borrowed else k if norm == "projection" else h.size
        weights += h.queries * self._has_sink(kind)
        index = 0
        for name in ("index_heads", "index_head_size", "index_blocks", "index_block_length"):
            if self.name == "minimax_m3":
                keys.shown(name)  # the same as in the object, or without effect where no layer selects
        if kind == "sparse":
            where = keys.inside("sparse_attention_config") if "sparse_attention_config" in keys else keys
            where.flag("use_sparse_attention", True)
            index_heads, index = where.count("index_heads", low=1), where.count("index_head_size", low=1)
            weights += d * (index_heads + 1) * index + 2 * index
        window = self._window(kind)
        return Counter(attention=weights), KVCache(kind, 0 if borrowed else k + v, window, index=index)

    def _gate(self, heads: int, value_size: int) -> tuple[str, int]:
        """Return the output gate, and its weights if it is not a part of the query projection."""
        keys, gate = self.keys, self.family.gate
        for key, usual in _GATES.items():
            if key not in keys:
                continue
            if key == "gating" and keys.is_text(key):
                gate = "heads" if keys.text(key) == "per-head" else "matrix"
            else:
                gate = (usual if gate == "none" else gate) if keys.flag(key, True) else "none"
        sizes = {"matrix": heads * value_size, "heads": heads}
        return gate, self.hidden * sizes.get(gate, 0)

    def _biased(self, projections: str) -> bool:
        """Return True if projections have biases: ``"qkv"``, or ``"all"`` with the output."""
        keys, family = self.keys, self.family
        habit = family.bias
        if projections == "all" and keys.flag("attention_out_bias", False):
            return True
        if projections == "qkv" and keys.flag("qkv_bias", False):
            return True
        if habit.startswith("key "):
            habit = habit[4:] if keys.flag(family.bias_key, family.bias_default) else "none"
        return habit == "all" or habit == projections or (habit == "out" and projections == "all")

    def _key_norm(self) -> str:
        """Return ``"head"`` or ``"projection"`` for norms on queries and keys, or an empty text."""
        habit = self.family.key_norm
        if habit.startswith("key "):
            return habit[4:] if self.keys.flag("use_qk_norm", False) else ""
        if habit != "none" or self.name == "llama4":  # whose norms have no weights
            self.keys.flag("use_qk_norm", True)
        return "" if habit == "none" else habit

    def _has_sink(self, kind: str) -> bool:
        where = {"window": "add_swa_attention_sink_bias", "full": "add_full_attention_sink_bias"}.get(kind, "")
        return self.keys.flag(where, self.family.sinks in ("all", kind))

    def _latent(self, kind: str, heads: int) -> tuple[Counter[str], KVCache]:
        keys, d = self.keys, self.hidden
        rank, rope = keys.count("kv_lora_rank", low=1), keys.count("qk_rope_head_dim", low=0)
        nope = keys.count("qk_nope_head_dim", low=0)
        value = keys.count("v_head_dim", keys.count("hidden_size") // heads if self.name == "minicpm3" else None, low=1)
        query_rank = keys.optional("q_lora_rank", low=1)
        query = heads * (nope + rope)
        weights = d * query if query_rank is None else query_rank * (d + 1 + query)
        weights += d * (rank + rope) + rank + rank * heads * (nope + value) + heads * value * d
        if keys.flag("attention_bias", False):
            weights += (query_rank or 0) + rank + rope + d
        weights += self._gate(heads, value)[1] + heads * self._has_sink(kind)
        index = 0
        if "index_topk" in keys and kind != "window" and self._indexes():
            index, index_heads = keys.count("index_head_size", low=1), keys.count("index_heads", low=1)
            weights += (query_rank or d) * index_heads * index + d * (index + index_heads) + 2 * index
        return Counter(attention=weights), KVCache("latent", rank + rope, self._window(kind), index=index)

    def _indexes(self) -> bool:
        """Return True if a layer has an index. Other layers reuse the choice of the one before."""
        keys = self.keys
        words = keys.entries("indexer_types")
        if words is None and (pattern := keys.text("index_topk_pattern")):
            words = ["full" if letter == "F" else "shared" for letter in pattern]
        if words is not None:
            return bool(fitting(keys, "indexer_types", words, self.layers)[self.layer] != "shared")
        step, offset = keys.count("index_topk_freq", 1, low=1), keys.count("index_skip_topk_offset", 2)
        return max(self.layer - offset + 1, 0) % step == 0

    def _compressed(self, kind: str, h: Heads) -> tuple[Counter[str], KVCache]:
        """Attention of DeepSeek-V4: a window, then compressed entries, with keys used as values."""
        keys, d, heads, size = self.keys, self.hidden, h.queries, h.size
        rank, groups, output_rank = (keys.count(name, low=1) for name in ("q_lora_rank", "o_groups", "o_lora_rank"))
        weights = d * rank + rank + rank * heads * size + d * size + size
        weights += heads * size * output_rank + groups * output_rank * d + heads
        window = keys.count("sliding_window", low=1)
        for name in ("qk_rope_head_dim", "index_topk"):
            keys.count(name, 0)  # a part of each head, and of the KV reads
        if kind == "window":
            return Counter(attention=weights), KVCache("window", size, window)
        ratio = next((ratio for ratio, word in COMPRESSION.items() if word == kind), 0)
        if not ratio:
            raise keys.fail("compress_ratios", f"missing, and a layer is {kind}, which this attention is not")
        width = 2 * size if kind == "compressed sparse" else size  # two overlapping rows of entries
        weights += 2 * d * width + ratio * width + size
        index = 0
        if kind == "compressed sparse":
            index, index_heads = keys.count("index_head_size", low=1), keys.count("index_heads", low=1)
            weights += 2 * d * 2 * index + ratio * 2 * index + index + rank * index_heads * index + d * index_heads
        return Counter(attention=weights), KVCache(kind, size, window, size, ratio, index / ratio)
