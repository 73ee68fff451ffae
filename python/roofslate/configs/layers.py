"""The layers that a config describes: which mixer and which feed-forward part each has, their weights and their cache."""

from __future__ import annotations

import math
from collections import Counter
from dataclasses import dataclass

from roofslate.configs.families import Family
from roofslate.configs.reading import Keys

__all__ = ["Cache", "Layer", "Reader"]

# What the files call the mixer of a layer.
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
    "minimax_m3_sparse": "sparse",
    "compressed_sparse_attention": "compressed sparse",
    "heavily_compressed_attention": "compressed",
    "moe": "moe",
    "E": "moe",
    "mlp": "mlp",
    "-": "mlp",
}
_FULL = ("full", "sparse")
_COMPRESSION = {0: "window", 4: "compressed sparse", 128: "compressed"}


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

    def at(self, tokens: float) -> float:
        """Elements of keys and values after so many tokens, index and state left out."""
        kept = min(tokens, self.window) if self.window else tokens
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
        self.blocks = keys.list("block_configs")
        self.kinds, self.ffns = self._mixers(), []
        self.ffns = self._feed_forward_parts()
        self.heads = keys.count("attention_heads", low=1) if self._attends else keys.count("attention_heads", 1)
        self.kv_heads = self._kv_heads()
        size = keys.optional("head_size", low=1)
        if size is None and self._attends:
            if self.hidden % self.heads and not self.latent:
                raise keys.fail("head_size", f"missing, and {self.heads} heads do not divide {self.hidden} evenly")
            size = max(1, self.hidden // self.heads)
        self.head_size = size or 0
        self.value_size = (not self.latent and keys.optional("v_head_dim", low=1)) or self.head_size

    @property
    def _attends(self) -> bool:
        return any(kind not in ("state", "moe", "mlp", "none") for kind in self.kinds)

    @property
    def latent(self) -> bool:
        """Whether attention caches a latent vector."""
        return "kv_lora_rank" in self.keys

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
                parameters["dense_ffn"] += self._ffn(self._dense_width(i), bias=True)
            parameters["norms"] += self._norms(kind, ffn)
            parameters["other"] += self._extras()
            found.append(Layer(parameters, cache, experts, visited))
        return found

    # ------------------------------------------------------------------------------------------------- which layers

    def _mixers(self) -> list[str]:
        """Mixer of each layer, from whichever key lists them, or from the family's habit."""
        keys, stated = self.keys, self.keys.layers()
        pattern = keys.text("hybrid_override_pattern")
        words = list(pattern) if pattern else keys.list("layer_types")
        if words is not None:
            unknown = next((word for word in words if word not in _MIXERS), None)
            if unknown is not None:
                raise keys.fail("hybrid_override_pattern" if pattern else "layer_types", f"unknown kind {unknown!r}")
            kinds = [_MIXERS[word] for word in words]
            if "sliding_window" not in keys and "window" in kinds and not self.family.window_default:
                raise keys.fail("sliding_window", "missing, but layer_types has sliding_attention")
            return self._fitting(kinds, stated, "layer_types")
        if self.blocks is not None:
            return self._fitting([_of_block(block, "attention") for block in self.blocks], stated, "block_configs")
        if stated is None:
            raise keys.fail("num_hidden_layers", "missing, and nothing lists the layers")
        ratios = keys.counts("compress_ratios")
        if ratios is not None:  # one more than layers: that of the layer for multi-token prediction
            kinds = [_COMPRESSION.get(ratio, "compressed") for ratio in ratios]
            return self._fitting(kinds[:stated], stated, "compress_ratios")
        linear = keys.inside("linear_attn_config")
        full = keys.counts("full_attn_idxs") or keys.counts("attn_layer_indices")
        counted = linear.counts("full_attn_layers")
        linear.list("kda_layers")
        if counted is not None:  # from one
            full = [i - 1 for i in counted]
        if full is not None:
            return ["full" if i in full else "state" for i in range(stated)]
        marks = keys.counts("attn_type_list")
        if marks is not None:
            return self._fitting(["full" if mark else "state" for mark in marks], stated, "attn_type_list")
        marks = keys.counts("hybrid_layer_pattern")
        if marks is not None:
            return self._fitting(["window" if mark else "full" for mark in marks], stated, "hybrid_layer_pattern")
        marks = keys.inside("sparse_attention_config").counts("sparse_attention_freq")
        if marks is not None:
            return self._fitting(["sparse" if mark else "full" for mark in marks], stated, "sparse_attention_freq")
        if "attn_layer_period" in keys:
            period, offset = keys.count("attn_layer_period", low=1), keys.count("attn_layer_offset", 0)
            return ["full" if i % period == offset else "state" for i in range(stated)]
        interval = keys.count("full_attention_interval", self.family.interval, low=0)
        if interval and self.family.state:
            self._assume("full_attention_interval", f"every {interval}th layer attends")
            return ["state" if (i + 1) % interval else "full" for i in range(stated)]
        if "attention_chunk_size" in keys and self.name == "llama4":
            marks = keys.counts("no_rope_layers") or [(i + 1) % 4 for i in range(stated)]
            return self._fitting(["chunk" if mark else "full" for mark in marks], stated, "no_rope_layers")
        return self._windows(stated)

    def _windows(self, stated: int) -> list[str]:
        """Full and windowed layers of a file that does not list them."""
        keys, habit = self.keys, self.family.window
        window = keys.optional("sliding_window", low=0)
        keys.optional("sliding_window_size")
        pattern = keys.shown("sliding_window_pattern").strip("'")
        if set(pattern) & set("LG"):
            return ["window" if pattern[i % len(pattern)] == "L" else "full" for i in range(stated)]
        interval = keys.count("sliding_window_pattern", 0, low=0)
        if habit.startswith("first of"):
            interval = interval or int(habit.split()[-1])
        switched = keys.flag("use_sliding_window", habit in ("all", "first of 2", "first of 4", "first of 6"))
        if not switched or habit == "none" or not (window or self.family.window_default):
            return ["full"] * stated
        if habit == "late":
            first = keys.count("max_window_layers", stated)
            return ["full" if i < first else "window" for i in range(stated)]
        if interval:
            self._assume("sliding_window_pattern", f"all but every {interval}th layer have the window")
            return ["window" if (i + 1) % interval else "full" for i in range(stated)]
        return ["window"] * stated

    def _feed_forward_parts(self) -> list[str]:
        """``"dense"``, ``"moe"`` or ``"none"`` for each layer."""
        keys, n = self.keys, len(self.kinds)
        self.experts = keys.count("experts", 0)
        self.experts_per_token = keys.count("experts_per_token", 0) if self.experts else 0
        if {"moe", "mlp"} & set(self.kinds) or "hybrid_override_pattern" in keys:  # one part a block
            return [{"moe": "moe", "mlp": "dense"}.get(kind, "none") for kind in self.kinds]
        if self.blocks is not None:
            return ["dense" if _of_block(block, "ffn") == "full" else "none" for block in self.blocks]
        if self.experts <= 1 or not keys.flag("enable_moe_block", True):
            self.experts = self.experts_per_token = 0
            return ["dense"] * n
        if not 1 <= self.experts_per_token <= self.experts:
            raise keys.fail("experts_per_token", f"expected 1 to {self.experts}, got {self.experts_per_token}")
        words = keys.list("mlp_layer_types")
        if words is not None:
            return self._fitting(["dense" if word == "dense" else "moe" for word in words], n, "mlp_layer_types")
        if keys.is_list("moe_layer_freq"):
            marks = keys.counts("moe_layer_freq") or []
            return self._fitting(["moe" if mark else "dense" for mark in marks], n, "moe_layer_freq")
        chosen = keys.counts("moe_layers")
        if chosen is not None:
            return ["moe" if i in chosen else "dense" for i in range(n)]
        first = keys.count("first_k_dense_replace", keys.count("num_dense_layers", _FIRST_DENSE.get(self.name, 0)))
        first = keys.count("moe_layer_start_index", first)
        last = keys.optional("moe_layer_end_index", low=-1)
        last = n - 1 if last in (None, -1) else last
        step, offset = 1, 0
        for key, start in (("moe_layer_freq", 0), ("decoder_sparse_step", -1), ("interleave_moe_layer_step", -1)):
            if key in keys:
                step = keys.count(key, low=1)
                offset = start % step
        if "moe_layer_interval" in keys:
            step, offset = keys.count("moe_layer_interval", low=1), -1
        if "expert_layer_period" in keys:
            step, offset = keys.count("expert_layer_period", low=1), keys.count("expert_layer_offset", 0)
        without = keys.counts("mlp_only_layers") or []
        return [
            "moe" if first <= i <= last and i % step == offset % step and i not in without else "dense"
            for i in range(n)
        ]

    def _fitting(self, kinds: list[str], stated: int | None, key: str) -> list[str]:
        """The list, which must have an entry a layer; longer ones are cut as the classes do."""
        if not kinds or (stated is not None and len(kinds) < stated):
            raise self.keys.fail(key, f"{len(kinds)} entries for {stated} layers")
        return kinds[:stated]

    def _assume(self, key: str, what: str) -> None:
        if key not in self.keys:
            self.assumptions.append(f"{key}: {what}, as {self.family.source} does")

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
        if kind == "none" or kind in ("moe", "mlp"):
            return Counter(), Cache()
        if kind == "linear":
            return Counter(attention=self.hidden**2), Cache()
        if kind == "state":
            return _STATES[self.family.state](self) if self.family.state else self._unknown_state()
        if self.latent:
            return self._latent_attention(layer)
        if self.name == "deepseek_v4":
            return self._compressed_attention(kind)
        return self._attention(kind, layer)

    def _unknown_state(self) -> tuple[Counter[str], Cache]:
        raise self.keys.fail("layer_types", f"layers of a state are not known for the family {self.name or 'given'!r}")

    def _attention(self, kind: str, layer: int) -> tuple[Counter[str], Cache]:
        keys, family, d = self.keys, self.family, self.hidden
        heads, kv_heads, size, value_size = self.dimensions(kind, layer)
        q = heads * size * (1 + (keys.flag("attn_output_gate", family.gated_query)))
        k, v, o = kv_heads * size, kv_heads * value_size, heads * value_size
        shared = layer >= len(self.kinds) - keys.count("num_kv_shared_layers", 0)
        one_for_both = self.name == "gemma4" and kind == "full" and keys.flag("attention_k_eq_v", False)
        projected = q if shared else q + k + (0 if one_for_both else v)
        weights = d * (projected + o)
        wanted = family.bias
        if wanted.startswith("key"):
            default = family.bias_default
            given = keys.flag(family.bias_key, default) or keys.flag("qkv_bias", False)
            wanted = wanted[4:] if given else "none"
        if wanted in ("qkv", "all"):
            weights += projected
        if wanted == "all" or keys.flag("attention_out_bias", False):
            weights += d
        norm = family.key_norm
        if norm == "key head" or (norm == "none" and self.name in ("cohere", "")):
            norm = {"cohere": "projection"}.get(self.name, "head") if keys.flag("use_qk_norm", False) else "none"
        keys.flag("use_qk_norm", False)
        if norm != "none":
            weights += (heads * size if norm == "projection" else size) if shared else 0
            weights += 0 if shared else (heads * size + k if norm == "projection" else 2 * size)
        if self._has_sink(kind):
            weights += heads
        elements, index = (0, 0) if shared else (k + v, 0)
        if kind == "sparse":
            inner = Keys({}) if "sparse_attention_config" not in keys else keys.inside("sparse_attention_config")
            where = inner if "index_heads" in inner else keys
            index_heads, index = where.count("index_heads", low=1), where.count("index_head_size", low=1)
            weights += d * (index_heads + 1) * index + 2 * index
        window = {"window": "sliding_window", "chunk": "attention_chunk_size"}.get(kind)
        kept = keys.count(window, family.window_default or None, low=1) if window else 0
        return Counter(attention=weights), Cache(kind, elements, kept, index=index)

    def _has_sink(self, kind: str) -> bool:
        where = {"window": "add_swa_attention_sink_bias", "full": "add_full_attention_sink_bias"}.get(kind, "")
        return self.keys.flag(where, self.family.sinks in ("all", kind))

    def dimensions(self, kind: str, layer: int) -> tuple[int, int, int, int]:
        """Query heads, key-value heads, and elements of a key and of a value, of attention in a layer."""
        keys = self.keys
        heads, kv_heads, size, value_size = self.heads, self.kv_heads, self.head_size, self.value_size
        if self.blocks is not None:
            group = keys_of_block(self.blocks[layer], "attention", layer).count("n_heads_in_group", low=1)
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
        words = keys.list("indexer_types")
        if words is None and (pattern := keys.text("index_topk_pattern")):
            words = ["full" if letter == "F" else "shared" for letter in pattern]
        if words is not None:
            return self._fitting(words, len(self.kinds), "indexer_types")[layer] != "shared"
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
        ratio = next(ratio for ratio, word in _COMPRESSION.items() if word == kind)
        width = 2 * size if kind == "compressed sparse" else size  # two overlapping rows of entries
        weights += 2 * d * width + ratio * width + size
        index = 0
        if kind == "compressed sparse":
            index, index_heads = keys.count("index_head_size", low=1), keys.count("index_heads", low=1)
            weights += 2 * d * 2 * index + ratio * 2 * index + index + rank * index_heads * index + d * index_heads
        return Counter(attention=weights), Cache(kind, size, window, size, ratio, index / ratio)

    # ------------------------------------------------------------------------------------------- mixers with a state

    def _delta(self) -> tuple[Counter[str], Cache]:
        """Gated delta rule of Qwen3-Next."""
        keys, d = self.keys, self.hidden
        key_heads, value_heads = keys.count("linear_num_key_heads"), keys.count("linear_num_value_heads")
        key_size, value_size = keys.count("linear_key_head_dim"), keys.count("linear_value_head_dim")
        kernel = keys.count("linear_conv_kernel_dim", low=1)
        k, v = key_heads * key_size, value_heads * value_size
        mixed = 2 * k + v
        weights = d * (mixed + v + 2 * value_heads) + mixed * kernel + 2 * value_heads + value_size + v * d
        state = value_heads * key_size * value_size + mixed * (kernel - 1)
        return Counter(state_mixer=weights), Cache("linear", state=state)

    def _kimi_delta(self) -> tuple[Counter[str], Cache]:
        """Delta rule of Kimi Linear, with a gate for each channel."""
        keys, d = self.keys.inside("linear_attn_config"), self.hidden
        heads, size = keys.count("num_heads", low=1), keys.count("head_dim", low=1)
        kernel = keys.count("short_conv_kernel_size", low=1)
        p = heads * size
        weights = 3 * d * p + 3 * p * kernel + 2 * (d * size + size * p) + p + heads + d * heads + size + p * d
        return Counter(state_mixer=weights), Cache("linear", state=heads * size * size + 3 * p * (kernel - 1))

    def _lightning(self) -> tuple[Counter[str], Cache]:
        """Linear attention of MiniMax, with a gate on its output."""
        p = self.heads * self.head_size
        return Counter(state_mixer=5 * self.hidden * p + p), Cache("linear", state=p * self.head_size)

    def _mamba2(self) -> tuple[Counter[str], Cache]:
        keys, d = self.keys, self.hidden
        heads = keys.count("state_heads", low=1)
        expansion = keys.count("state_expansion", 2, low=1)
        automatic = keys.shown("state_head_size") == "'auto'"
        size = expansion * d // heads if automatic else keys.count("state_head_size", expansion * d // heads, low=1)
        groups, states = keys.count("state_groups", 1, low=1), keys.count("state_size", low=1)
        kernel, inner = keys.count("state_kernel", 4, low=1), heads * size
        mixed = inner + 2 * groups * states
        into = inner + mixed + heads
        weights = d * into + mixed * kernel + 3 * heads + inner + inner * d
        weights += mixed * keys.flag("state_convolution_bias", True)
        if keys.flag("use_bias", keys.flag("state_projection_bias", False)):
            weights += into + d
        return Counter(state_mixer=weights), Cache("state space", state=inner * states + mixed * (kernel - 1))

    def _mamba(self) -> tuple[Counter[str], Cache]:
        keys, d = self.keys, self.hidden
        inner, states = keys.count("state_expansion", 2, low=1) * d, keys.count("state_size", 16, low=1)
        kernel = keys.count("state_kernel", 4, low=1)
        automatic = keys.shown("mamba_dt_rank") in ("'auto'", "")
        rank = math.ceil(d / 16) if automatic else keys.count("mamba_dt_rank", low=1)
        weights = 2 * d * inner + inner * kernel + inner * (rank + 2 * states) + rank * inner + inner
        weights += inner * states + inner + inner * d + rank + 2 * states
        weights += inner * keys.flag("state_convolution_bias", True)
        if keys.flag("state_projection_bias", False):
            weights += 2 * inner + d
        return Counter(state_mixer=weights), Cache("state space", state=inner * (states + kernel - 1))

    def _convolution(self) -> tuple[Counter[str], Cache]:
        """Gated short convolution of LFM2."""
        d, kernel = self.hidden, self.keys.count("conv_L_cache", low=1)
        weights = 4 * d * d + d * kernel + 5 * d * self.keys.flag("conv_bias", False)
        return Counter(state_mixer=weights), Cache("convolution", state=d * (kernel - 1))

    # ------------------------------------------------------------------------------------------------- feed-forward

    def _ffn(self, width: int, *, bias: bool, inner: int = 0) -> int:
        """Weights of one feed-forward part, from the residual stream or a narrower one."""
        d, family = inner or self.hidden, self.family
        weights = family.matrices * d * width
        named = family.ffn_bias not in ("none", "all") and self.keys.flag(
            family.ffn_bias, family.bias_default and family.ffn_bias == family.bias_key
        )
        if bias and (family.ffn_bias == "all" or named):
            weights += (family.matrices - 1) * width + d
        return weights

    def _dense_width(self, layer: int) -> int:
        keys, d = self.keys, self.hidden
        if self.blocks is not None:
            factor = keys_of_block(self.blocks[layer], "ffn", layer).number("ffn_mult", 0)
            width = int(2 * factor * d / 3)
            return width + -width % 256
        if self.experts and "dense_intermediate_size" in keys:
            return keys.count("dense_intermediate_size", low=1)
        old = self.name in ("gpt2", "gpt_bigcode", "falcon")
        width = keys.count("intermediate_size", 4 * d if old else None, low=1)
        if self.name == "lfm2" and not self.experts and keys.flag("block_auto_adjust_ff_dim", True):
            width = int(keys.number("block_ffn_dim_multiplier", 1.0) * int(2 * width / 3))
            width += -width % keys.count("block_multiple_of", 256, low=1)
        shared = keys.count("num_kv_shared_layers", 0)
        if keys.flag("use_double_wide_mlp", False) and 0 < shared and layer >= len(self.kinds) - shared:
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
        expert = self._ffn(width, bias=False, inner=latent or 0)
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
            parameters["shared_experts"] += self._ffn(self.shared_width, bias=True) + d * self.family.shared_gate
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


_FIRST_DENSE = {"deepseek_v3": 3, "deepseek_v32": 3, "glm_moe_dsa": 3, "glm4_moe": 1, "glm4_moe_lite": 1, "mimo_v2": 1}
_STATES = {
    "delta": Reader._delta,
    "kimi_delta": Reader._kimi_delta,
    "lightning": Reader._lightning,
    "mamba2": Reader._mamba2,
    "mamba": Reader._mamba,
    "convolution": Reader._convolution,
}


def keys_of_block(block: object, part: str, layer: int) -> Keys:
    """The keys of one part of a block of Nemotron-NAS."""
    return (
        Keys({str(layer): block} if isinstance(block, dict) else {}, "block_configs.").inside(str(layer)).inside(part)
    )


def _of_block(block: object, part: str) -> str:
    keys = keys_of_block(block, part, 0)
    if keys.flag("no_op", False):
        return "none"
    return "linear" if keys.flag("replace_with_linear", False) else "full"
