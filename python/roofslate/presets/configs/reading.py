"""Reading a config.json that nobody vouches for: limits first, then keys by name, type and range."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, PresetError

__all__ = ["Config", "ConfigError", "Keys", "read"]


_LARGEST_FILE = 4 * 2**20  # bytes; the longest published files have 14 kB


_DEEPEST = 40


_LONGEST_INTEGER = 40  # digits; Python's own conversion takes quadratic time


_WIDEST = 10**7  # widths, heads, vocabulary


_MOST_LAYERS = 10**4


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


_COLON = re.compile(r"\s*:")


# The names that families give to one thing, the usual one first.
_ALIASES = {
    "hidden_size": ("hidden_size", "n_embd", "n_embed", "d_model", "block_dim"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "attention_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "kv_heads": ("num_key_value_heads", "num_kv_heads", "n_head_kv", "num_attention_groups"),
    "head_size": ("head_dim", "attention_head_dim", "kv_channels"),
    "vocabulary_size": ("vocab_size", "padded_vocab_size"),
    "intermediate_size": ("block_ff_dim", "intermediate_size", "n_inner", "ffn_hidden_size", "d_ff"),
    "context_limit": ("max_position_embeddings", "n_positions", "model_max_length", "max_sequence_length", "n_ctx"),
    "experts": ("n_routed_experts", "num_local_experts", "num_experts", "moe_num_experts", "num_moe_experts"),
    "experts_per_token": (
        "num_experts_per_tok",
        "num_experts_per_token",
        "top_k_experts",
        "moe_topk",
        "moe_k",
        "moe_top_k",
        "experts_per_token",
        "num_selected_experts",
    ),
    "expert_intermediate_size": ("moe_intermediate_size", "expert_ffn_hidden_size", "moe_ffn_hidden_size"),
    "dense_intermediate_size": ("dense_intermediate_size", "intermediate_size_mlp"),
    "shared_experts": (
        "n_shared_experts",
        "num_shared_experts",
        "moe_num_shared_experts",
        "num_shared_expert",
    ),
    "shared_intermediate_size": (
        "moe_shared_expert_intermediate_size",
        "shared_expert_intermediate_size",
        "shared_intermediate_size",
    ),
    "latent_expert_size": ("moe_latent_size", "routed_expert_hidden_size"),
    "tied_embeddings": ("tie_word_embeddings", "tie_embedding"),
    "multi_token_prediction_layers": (
        "num_nextn_predict_layers",
        "mtp_num_hidden_layers",
        "num_mtp_modules",
        "num_mtp_layers",
    ),
    "state_heads": ("mamba_num_heads", "mamba_n_heads"),
    "state_head_size": ("mamba_head_dim", "mamba_d_head"),
    "state_size": ("ssm_state_size", "mamba_d_state"),
    "state_groups": ("n_groups", "mamba_n_groups"),
    "state_kernel": ("conv_kernel", "mamba_d_conv"),
    "state_expansion": ("expand", "mamba_expand"),
    "state_convolution_bias": ("use_conv_bias", "mamba_conv_bias"),
    "state_projection_bias": ("mamba_proj_bias",),
    "layer_types": ("layer_types", "layers_block_type"),
    "index_heads": ("index_n_heads", "sparse_num_index_heads"),
    "index_head_size": ("index_head_dim", "sparse_index_dim"),
    "index_blocks": ("index_topk_blocks", "sparse_topk_blocks"),
    "index_block_length": ("index_block_size", "sparse_block_size"),
}


# What has no part in counting weights and cache: training, sampling, rotary positions, tokens, book-keeping.
_WITHOUT_EFFECT = re.compile(
    r"_?(.*_token_(id|index|ids)|.*dropout|.*pdrop|.*_eps(ilon)?|.*initializer.*|init_.*|.*_init|.*_init_(out_)?scale"
    r"|rope_.*|.*rope.*theta|.*_theta|rotary_.*|partial_rotary_factor|original_max_position_embeddings|yarn_.*"
    r"|router_(aux|z|jitter).*|output_.*|aux_loss.*|seq_aux|norm_topk_prob|moe_renormalize|topk_(group|method)"
    r"|n_group|num_expert_group|use_grouped_topk|scoring_func|moe_router_.*|routed_scaling_factor|ep_size"
    r"|router_.*bias.*|use_routing_bias|moe_(norm_min|use_aux_free|aux_loss.*)|use_expert_bias|num_hash_layers"
    r"|name_or_path|architectures|auto_map|transformers_version|torch_dtype|dtype|attn_implementation.*"
    r"|use_cache|cache_implementation|pretraining_tp|base_model_.*|unsloth_.*|transformers\..*"
    r"|(projector_)?hidden_(act|activation)|vision_feature_(layer|select_strategy)|activation_function|activation|swiglu_.*|mlp_hidden_act|mamba_hidden_act|act_fn"
    r"|.*softcapping|query_pre_attn_scalar|(embedding|residual|attention|key|lm_head|mlp|ssm)_(in_|out_)?multipliers?|logit_scale|logits_scaling|scale_.*|attn_(scale|temp.*)"
    r"|floor_scale|attention_(softmax_in_fp32|value_scale)|embedding_scale|summary_.*|task_specific_params"
    r"|add_cross_attention|bad_words_ids|begin_suppress_tokens|suppress_tokens|chunk_size_feed_forward"
    r"|cross_attention_hidden_size|diversity_penalty|do_sample|early_stopping|encoder_.*|exponential_decay.*"
    r"|finetuning_task|forced_.*|id2label|label2id|is_(decoder|encoder_decoder)|length_penalty|max_length|min_length"
    r"|no_repeat_ngram_size|num_(beams|beam_groups|return_sequences|logits_to_keep)|prefix|problem_type|pruned_heads"
    r"|remove_invalid_values|repetition_penalty|return_dict.*|temperature|tf_legacy_loss|tie_encoder_decoder"
    r"|tokenizer_class|top_[kp]|torchscript|typical_p|use_bfloat16|ignore_index|.*placeholder.*|mm_tokens_per_image"
    r"|vision_soft_tokens_per_image|use_unified_vision_chunk|use_bidirectional_attention|use_mrope|mrope_.*"
    r"|time_step_.*|mamba_(dt_(min|max|limit|init_floor)|chunk_size|ssm_.*)|chunk_size|use_mamba.*|rescale_prenorm_residual"
    r"|residual_in_fp32|moe_shared_expert_overlap|is_moe_model|block_use_.*|block_mlp_.*|block_out_.*|block_norm.*"
    r"|conv_use_.*|conv_dim(_out)?|use_pos_enc|theta|hc_(eps|sinkhorn_iters)|compress_rope_theta|alibi|apply_.*"
    r"|inference_runner|max_batch_size|pad_key_length|pre_allocate_kv_cache|validate_runner_input|layernorm_.*"
    r"|.*_alpha_factor|.*_beta_factor|block_size|mtp_(use_|transformer_).*|hybrid_block_size"
    r"|mla_use_nope|initial_context_length|postnorm|shared_moe_mode|qk_norm_type"
    r"|model_type)"
)


# What matters to some families and is settled by the others' classes, or by another key.
_SETTLED = frozenset(
    {
        "attention_bias",
        "attention_chunk_size",
        "dense_intermediate_size",
        "full_attention_interval",
        "head_dim",
        "index_topk",
        "intermediate_size",
        "intermediate_size_mlp",
        "max_window_layers",
        "mlp_bias",
        "mlp_only_layers",
        "no_rope_layer_interval",
        "no_rope_layers",
        "num_key_value_heads",
        "qk_rope_head_dim",
        "qkv_bias",
        "shared_expert_intermediate_size",
        "sliding_window",
        "sliding_window_size",
        "use_bias",
        "use_double_wide_mlp",
        "use_qk_norm",
        "use_sliding_window",
        "vocab_size_per_layer_input",
    }
)


# Objects that their own readers understand or call unknown as a whole.
_OWN = ("quantization_config", "vision_config", "audio_config")


class ConfigError(PresetError):
    """What is wrong at a key of a config, named by its path."""

    def __init__(self, key: str, problem: str) -> None:
        super().__init__(f"{key}: {problem}")
        self.key = key


@dataclass(frozen=True)
class Config:
    """What a config.json holds.

    Attributes
    ----------
    content : dict
    name : str
        Name of the file or of its folder; empty for a mapping.
    path : str
    text : str
        What the file says; empty for a mapping.
    """

    content: dict[str, Any]
    name: str = ""
    path: str = ""
    text: str = ""

    def located(self, error: PresetError) -> PresetError:
        """An error with the file, and the line of its key."""
        if not self.path:
            return error
        wanted = error.key.partition("[")[0] if isinstance(error, ConfigError) else None
        line = next((f", line {line}" for key, line, _ in _lines(self.text) if key == wanted), "")
        return PresetError(f"{self.path}{line}: {error}")


def _lines(text: str) -> Iterator[tuple[str, int, bool]]:
    """The keys of a text that is JSON, by their path, each with its line and whether its object has it already."""
    path: list[str] = []
    inside: list[set[str]] = []  # the keys of each object, or list, that is open
    key, line, at = "", 1, 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            path.append(key)
            inside.append(set())
        elif token[0] in "]}":
            path.pop()
            inside.pop()
        elif _COLON.match(text, token.end()):
            key = json.loads(token[0])
            line, at = line + text.count("\n", at, token.start()), token.start()
            yield ".".join([*filter(None, path), key]), line, key in inside[-1]
            inside[-1].add(key)
            continue
        key = ""


def read(source: Any) -> Config:
    """Read a config.json within limits.

    Parameters
    ----------
    source : path-like or Mapping
        A file, a folder that has a config.json, or what such a file holds.

    Returns
    -------
    Config

    Raises
    ------
    InputTypeError
        Where `source` is neither.
    PresetError
        Where a file cannot be read, is too large, too deep or no JSON, or has a key twice.
    """
    if isinstance(source, Mapping):
        content = dict(source)
        _check_depth(content)
        return Config(content)
    if not isinstance(source, (str, os.PathLike)):
        raise InputTypeError(f"from_config takes the path of a config.json or a dict, got {shown(source)}")
    path = Path(source)
    try:
        if path.is_dir():
            path /= "config.json"
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise PresetError(f"cannot read {shown(str(path))}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _LARGEST_FILE:
        raise PresetError(f"{path}: larger than {_LARGEST_FILE >> 20} MiB; this is no config.json")
    content = _parse(text, str(path))
    _check_depth(content)
    return Config(content, path.parent.name if path.stem == "config" else path.stem, str(path), text)


def _parse(text: str, path: str) -> dict[str, Any]:
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > _DEEPEST:
            line = text.count("\n", 0, token.start()) + 1
            raise PresetError(f"{path}, line {line}: nested deeper than {_DEEPEST} levels")
    try:
        content = json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise PresetError(f"{path}, line {error.lineno}: {error.msg}") from None
    for key, line, again in _lines(text):
        if again:
            raise PresetError(f"{path}, line {line}: the key {shown(key)} stands twice in one object")
    if not isinstance(content, dict):
        raise PresetError(f"{path}: expected an object of keys, got {shown(content)}")
    return content


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else math.inf


def _check_depth(content: Any) -> None:
    """Refuse what is too deep or holds itself, without recursion."""
    level = [content]
    for _ in range(_DEEPEST + 1):
        level = [
            item
            for held in level
            if isinstance(held, (Mapping, list, tuple))
            for item in (held.values() if isinstance(held, Mapping) else held)
            if isinstance(item, (Mapping, list, tuple))
        ]
        if not level:
            return
        if len(level) > 10**6:
            break
    raise PresetError(f"the config is nested deeper than {_DEEPEST} levels, or holds itself")


class Keys:
    """The keys of one object of a config, looked up by what they mean, with a record of those looked up.

    A null counts as a key that is not there.
    """

    def __init__(self, table: Mapping[Any, Any], path: str = "") -> None:
        self._table = {str(name): value for name, value in table.items() if value is not None}
        self._nulls = {str(name) for name, value in table.items() if value is None}
        self._path = path
        self._seen: set[str] = set()
        self._inner: dict[str, Keys] = {}
        self.defaults: Mapping[str, int] = {}  # sizes that the family's files leave out
        self.defaulted: dict[str, int] = {}  # those that were needed

    def __contains__(self, name: str) -> bool:
        return self._find(name) is not None

    def _find(self, name: str) -> str | None:
        """The key in the file that has this meaning."""
        names = _ALIASES.get(name, (name,))
        self._seen.update(names)
        return next((key for key in names if key in self._table), None)

    def names(self) -> Iterator[str]:
        """Keys of this object as the file writes them."""
        return iter(self._table)

    def inside(self, name: str) -> Keys:
        """The keys of an object in this one; none where it is missing."""
        if name not in self._inner:
            value = self._value(name, {}, lambda value: isinstance(value, Mapping), "an object")
            self._inner[name] = Keys(value, f"{self._path}{name}.")
        return self._inner[name]

    def count(self, name: str, default: int | None = None, *, low: int = 0, high: int = _WIDEST) -> int:
        """A whole number; a list of equal ones, one a layer, counts as one. Without default the key must be there."""
        found = self._find(name)
        if found is None:
            if self._defaults(name):
                return self.defaulted.setdefault(_ALIASES[name][0], self.defaults[name])
            if default is None:
                raise PresetError(self._missing(name))
            return default
        value = self._table[found]
        if isinstance(value, list) and value and all(item == value[0] for item in value):
            value = value[0]
        return self._checked(found, value, low, high)

    def optional(self, name: str, *, low: int = 0, high: int = _WIDEST) -> int | None:
        """A whole number, or None where the key is missing."""
        return self.count(name, low=low, high=high) if name in self or self._defaults(name) else None

    def _defaults(self, name: str) -> bool:
        """Whether the family has a size for a key that is not there; a null leaves it to other keys."""
        return name in self.defaults and not self._nulls.intersection(_ALIASES[name])

    def is_null(self, name: str) -> bool:
        """Whether a key is there and null."""
        return name in self._nulls

    def counts(self, name: str, *, high: int = _WIDEST) -> list[int] | None:
        """A list of whole numbers, or None where the key is missing."""
        found = self._find(name)
        if found is None:
            return None
        return [self._checked(f"{found}[{i}]", value, 0, high) for i, value in enumerate(self.entries(name) or ())]

    def number(self, name: str, default: float | None = None, *, low: float, high: float) -> float:
        """A finite number in a range. Without default the key must be there."""
        if default is None and name not in self:
            raise PresetError(self._missing(name))
        value = self._value(name, default, _is_finite, "a finite number")
        if not low <= value <= high:
            raise ConfigError(f"{self._path}{name}", f"expected {low:,} to {high:,}, got {shown(value)}")
        return float(value)

    def flag(self, name: str, default: bool) -> bool:
        """True or false."""
        return bool(self._value(name, default, lambda value: isinstance(value, bool), "true or false"))

    def text(self, name: str, default: str = "") -> str:
        """A text."""
        return str(self._value(name, default, lambda value: isinstance(value, str), "a text"))

    def shown(self, name: str) -> str:
        """Whatever a key holds, as text; empty where it is missing."""
        found = self._find(name)
        return "" if found is None else shown(self._table[found])

    def entries(self, name: str) -> list[Any] | None:
        """A list, or None where the key is missing; one entry a layer at most, but for lists of tokens."""
        value = self._value(name, None, lambda value: isinstance(value, (list, tuple)), "a list")
        if value is not None and len(value) > _MOST_LAYERS:
            raise ConfigError(self.written(name), f"a list of {len(value):,} entries, more than {_MOST_LAYERS:,}")
        return None if value is None else list(value)

    def is_list(self, name: str) -> bool:
        """Whether a key is there and holds a list."""
        found = self._find(name)
        return found is not None and isinstance(self._table[found], (list, tuple))

    def layers(self) -> int | None:
        """Number of layers, where the file says it."""
        return self.optional("layers", low=1, high=_MOST_LAYERS)

    def written(self, name: str) -> str:
        """A key as the file writes it, or as most files do, with its path."""
        return self._path + (self._find(name) or _ALIASES.get(name, (name,))[0])

    def fail(self, name: str, problem: str) -> PresetError:
        """Error that names a key."""
        return ConfigError(self.written(name), problem)

    def unread(self, settled: bool) -> list[str]:
        """Keys that may matter and were not looked up, by their path; `settled`: the family is known."""
        left = [name for name in self._table if name not in self._seen and not _WITHOUT_EFFECT.fullmatch(name)]
        found = [self._path + name for name in left if not (settled and name in _SETTLED)]
        return found + [key for name, inner in self._inner.items() if name not in _OWN for key in inner.unread(settled)]

    def _value(self, name: str, default: Any, fits: Callable[[Any], bool], expected: str) -> Any:
        found = self._find(name)
        if found is None:
            return default
        value = self._table[found]
        if not fits(value):
            raise ConfigError(self._path + found, f"expected {expected}, got {shown(value)}")
        return value

    def _checked(self, key: str, value: Any, low: int, high: int) -> int:
        if not _is_finite(value) or value != int(value):
            raise ConfigError(self._path + key, f"expected a whole number, got {shown(value)}")
        if not low <= value <= high:
            raise ConfigError(self._path + key, f"expected {low:,} to {high:,}, got {shown(value)}")
        return int(value)

    def _missing(self, name: str) -> str:
        names = _ALIASES.get(name, (name,))
        others = f" (or {', '.join(names[1:])})" if names[1:] else ""
        null = ", which is null" if self._nulls.intersection(names) else ""
        return f"the config has no {self._path}{names[0]}{others}{null}"


def _is_finite(value: Any) -> bool:
    return (
        isinstance(value, (int, float)) and not isinstance(value, bool) and -1e300 < value < 1e300
    )  # what no integer is too large for
