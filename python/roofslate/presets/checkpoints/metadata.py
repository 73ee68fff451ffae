"""Metadata of a GGUF file in the keys of a config.json, as far as llama.cpp writes them.

Names of keys and architectures: gguf 0.19.0, constants.py (checked in source, 2026-11).
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from roofslate._base.messages import shown
from roofslate.errors import PresetError
from roofslate.presets.configs.conventions import FAMILIES

if TYPE_CHECKING:
    from collections.abc import Mapping

    from roofslate.presets.checkpoints.tensors import Header, Tensor

__all__ = ["ARCHITECTURES", "FILE_TYPES", "config_of"]


# Architectures by their word in llama.cpp, and the model_type of their config.json.
ARCHITECTURES = {
    "apertus": "apertus",
    "bailingmoe2": "bailing_moe",
    "bloom": "bloom",
    "command-r": "cohere",
    "cohere2": "cohere2",
    "deepseek": "deepseek_v2",
    "deepseek2": "deepseek_v3",
    "dots1": "dots1",
    "ernie4_5": "ernie4_5",
    "ernie4_5-moe": "ernie4_5_moe",
    "exaone4": "exaone4",
    "falcon": "falcon",
    "gemma": "gemma",
    "gemma2": "gemma2",
    "gemma3": "gemma3",
    "glm-dsa": "glm_moe_dsa",
    "glm4": "glm4",
    "glm4moe": "glm4_moe",
    "gpt-oss": "gpt_oss",
    "gpt2": "gpt2",
    "gptneox": "gpt_neox",
    "granite": "granite",
    "granitemoe": "granitemoe",
    "hunyuan-dense": "hunyuan_v1",
    "hunyuan-moe": "hunyuan_v1_moe",
    "lfm2": "lfm2",
    "lfm2moe": "lfm2",
    "llama": "llama",
    "llama4": "llama4",
    "minimax-m2": "minimax_m2",
    "mistral3": "ministral3",
    "mistral4": "mistral4",
    "nemotron": "nemotron",
    "nemotron_h": "nemotron_h",
    "nemotron_h_moe": "nemotron_h",
    "olmo": "olmo",
    "olmo2": "olmo2",
    "olmoe": "olmoe",
    "phi2": "phi",
    "phi3": "phi3",
    "phimoe": "phimoe",
    "qwen2": "qwen2",
    "qwen2moe": "qwen2_moe",
    "qwen2vl": "qwen2",
    "qwen3": "qwen3",
    "qwen35": "qwen3_5",
    "qwen35moe": "qwen3_5_moe",
    "qwen3moe": "qwen3_moe",
    "qwen3next": "qwen3_next",
    "qwen3vl": "qwen3",
    "qwen3vlmoe": "qwen3_moe",
    "seed_oss": "seed_oss",
    "smollm3": "smollm3",
    "stablelm": "stablelm",
    "starcoder": "gpt_bigcode",
    "starcoder2": "starcoder2",
}


# general.file_type: the mixture of kinds that llama.cpp was asked for.
FILE_TYPES = {
    0: "F32",
    1: "F16",
    2: "Q4_0",
    3: "Q4_1",
    7: "Q8_0",
    8: "Q5_0",
    9: "Q5_1",
    10: "Q2_K",
    11: "Q3_K_S",
    12: "Q3_K_M",
    13: "Q3_K_L",
    14: "Q4_K_S",
    15: "Q4_K_M",
    16: "Q5_K_S",
    17: "Q5_K_M",
    18: "Q6_K",
    19: "IQ2_XXS",
    20: "IQ2_XS",
    21: "Q2_K_S",
    22: "IQ3_XS",
    23: "IQ3_XXS",
    24: "IQ1_S",
    25: "IQ4_NL",
    26: "IQ3_S",
    27: "IQ3_M",
    28: "IQ2_S",
    29: "IQ2_M",
    30: "IQ4_XS",
    31: "IQ1_M",
    32: "BF16",
    36: "TQ1_0",
    37: "TQ2_0",
    38: "MXFP4",
    39: "NVFP4",
    40: "Q1_0",
}


# Keys of an architecture and their names in a config.json.
_PLAIN = {
    "embedding_length": "hidden_size",
    "context_length": "max_position_embeddings",
    "attention.head_count": "num_attention_heads",
    "attention.head_count_kv": "num_key_value_heads",
    "attention.key_length": "head_dim",
    "attention.q_lora_rank": "q_lora_rank",
    "attention.kv_lora_rank": "kv_lora_rank",
    "attention.indexer.head_count": "index_n_heads",
    "attention.indexer.key_length": "index_head_dim",
    "attention.indexer.top_k": "index_topk",
    "attention.sliding_window": "sliding_window",
    "full_attention_interval": "full_attention_interval",
    "feed_forward_length": "intermediate_size",
    "nextn_predict_layers": "num_nextn_predict_layers",
    "shortconv.l_cache": "conv_L_cache",
}


_EXPERTS = {
    "expert_count": "num_experts",
    "expert_used_count": "num_experts_per_tok",
    "expert_feed_forward_length": "moe_intermediate_size",
    "expert_shared_count": "n_shared_experts",
    "expert_shared_feed_forward_length": "shared_expert_intermediate_size",
    "leading_dense_block_count": "first_k_dense_replace",
}


# Families whose windowed layers are known by their class; elsewhere a window counts only if its layers are listed.
_WINDOWED = {"gemma2", "gemma3", "gpt_oss", "cohere2", "exaone4", "phi3", "olmo2"}


_HARMLESS = re.compile(
    r"rope\..*|attention\.(layer_norm.*|group_norm.*|scale|output_scale|temperature_.*|max_alibi_bias|clamp_kqv|causal"
    r"|key_length_mla|value_length.*|key_length_swa|sliding_window_pattern|indexer\.types)|expert_(weights|gating|group).*"
    r"|.*softcapping|.*_scale|vocab_size|use_parallel_residual|tensor_data_layout|block_count|pooling_type|swiglu_clamp.*"
    r"|decoder_start_token_id|interleave_moe_layer_step|moe_every_n_layers|ssm\..*|experts_per_group|n_deepstack_layers"
    r"|embedding_length_out|.*feed_forward_length"
)


def config_of(header: Header) -> tuple[dict[str, Any], list[str]]:
    """Read the metadata of a GGUF file as a config.json.

    Parameters
    ----------
    header : Header

    Returns
    -------
    dict
        Keys of a config.json. Missing keys, such as biases and tied tables, is taken from the tensors.
    list of str
        Keys of the file that were not understood.

    Raises
    ------
    PresetError
        For a file without an architecture, or one that holds no language model.
    """
    metadata, path = header.metadata, header.path
    word = metadata.get("general.architecture")
    if not isinstance(word, str) or not word:
        raise PresetError(f"{path}: has no key general.architecture")
    kind = metadata.get("general.type", "model")
    if word == "clip" or kind not in ("model", ""):
        raise PresetError(f"{path}: holds no language model, but {shown(word if word == 'clip' else kind)}")
    keys = _Keys({key.removeprefix(f"{word}."): x for key, x in metadata.items() if key.startswith(f"{word}.")})
    tensors = {tensor.name: tensor for tensor in header.tensors}
    table = tensors.get("token_embd.weight")
    if table is None or len(table.shape) != 2:
        raise PresetError(f"{path}: has no table token_embd.weight of two dimensions; it is no whole language model")
    family = ARCHITECTURES.get(word, word)
    if word == "llama" and "expert_count" in keys.result:
        family = "mixtral"
    config: dict[str, Any] = {"model_type": family, "torch_dtype": "bfloat16", "vocab_size": table.shape[1]}
    config |= {name: keys.take(key) for key, name in _PLAIN.items() if key in keys.result}
    predicted = config.get("num_nextn_predict_layers", 0)
    blocks = keys.take("block_count")
    if not isinstance(blocks, int) or not isinstance(predicted, int) or blocks <= predicted:
        raise PresetError(f"{path}: {word}.block_count should be a number of layers, got {shown(blocks)}")
    config["num_hidden_layers"] = blocks - predicted
    config |= _flags(family, tensors)
    _windows(config, family, keys)
    if "kv_lora_rank" in config:
        _latent(config, keys)
    else:
        _value_width(config, keys)
    if keys.result.get("expert_count"):
        _experts(config, keys, tensors)
    if "ssm.state_size" in keys.result:
        _states(config, family, keys)
    _per_layer(config, family)
    return config, [f"{word}.{key}" for key in keys.remaining()]


class _Keys:
    """Keys of an architecture, with a record of use."""

    def __init__(self, result: Mapping[str, Any]) -> None:
        self.result, self._taken = result, set[str]()

    def take(self, key: str) -> Any:
        self._taken.add(key)
        return self.result.get(key)

    def remaining(self) -> list[str]:
        return [key for key in self.result if key not in self._taken and not _HARMLESS.fullmatch(key)]


def _flags(family: str, tensors: Mapping[str, Tensor]) -> dict[str, Any]:
    """Switches of a config.json that show in the tensors."""
    names = {re.sub(r"^blk\.\d+\.", "", name) for name in tensors}
    flags: dict[str, Any] = {"tie_word_embeddings": "output.weight" not in tensors}
    conventions = FAMILIES.get(family)
    if conventions is None or (conventions.bias.startswith("key") and conventions.bias_key == "attention_bias"):
        flags["attention_bias"] = not names.isdisjoint({"attn_q.bias", "attn_qkv.bias"})
    if conventions is None or conventions.key_norm.startswith("key"):
        flags["use_qk_norm"] = "attn_q_norm.weight" in names
    return flags


def _windows(config: dict[str, Any], family: str, keys: _Keys) -> None:
    """Return the layers with a window, as the file lists them or as in its family."""
    pattern = keys.take("attention.sliding_window_pattern")
    if isinstance(pattern, list):
        config["layer_types"] = ["sliding_attention" if word else "full_attention" for word in pattern]
    elif family not in _WINDOWED or not config.get("sliding_window"):
        config.pop("sliding_window", None)


def _latent(config: dict[str, Any], keys: _Keys) -> None:
    """Widths of latent attention, in files of today and in older ones."""
    rotary = keys.take("rope.dimension_count")
    width = keys.take("attention.key_length_mla") or config.pop("head_dim", None)
    config.pop("head_dim", None)
    config["v_head_dim"] = keys.take("attention.value_length_mla") or keys.take("attention.value_length")
    config["qk_rope_head_dim"] = rotary
    if isinstance(width, int) and isinstance(rotary, int):
        config["qk_nope_head_dim"] = width - rotary
    config["num_key_value_heads"] = config.get("num_attention_heads")


def _value_width(config: dict[str, Any], keys: _Keys) -> None:
    width = keys.take("attention.value_length")
    if width is not None and width != config.get("head_dim"):
        config["v_head_dim"] = width


def _experts(config: dict[str, Any], keys: _Keys, tensors: Mapping[str, Tensor]) -> None:
    """Experts. Widths that the metadata leave out follow from the tensors."""
    config |= {name: keys.take(key) for key, name in _EXPERTS.items() if key in keys.result}
    wide = next((t for name, t in tensors.items() if name.endswith("ffn_down_exps.weight")), None)
    if wide is not None:
        config.setdefault("moe_intermediate_size", wide.shape[0])
    shared = next((t for name, t in tensors.items() if name.endswith("ffn_down_shexp.weight")), None)
    if shared is None:
        config.pop("n_shared_experts", None)
    elif config["model_type"] not in ("deepseek_v3", "deepseek_v2", "glm4_moe", "glm_moe_dsa"):
        config.pop("n_shared_experts", None)
        config["shared_expert_intermediate_size"] = shared.shape[0]
    dense = sum(re.fullmatch(r"blk\.\d+\.ffn_up\.weight", name) is not None for name in tensors)
    if not dense:
        config.pop("first_k_dense_replace", None)
    elif config["model_type"] == "llama4":
        config["interleave_moe_layer_step"] = keys.take("interleave_moe_layer_step")


def _states(config: dict[str, Any], family: str, keys: _Keys) -> None:
    """Layers that carry a state: gated delta rule of Qwen, state space of Nemotron-H."""
    heads, inner, size = (keys.take(f"ssm.{key}") for key in ("time_step_rank", "inner_size", "state_size"))
    groups, kernel = keys.take("ssm.group_count"), keys.take("ssm.conv_kernel")
    if not isinstance(heads, int) or not isinstance(inner, int) or heads < 1:
        return
    if family.startswith("qwen3"):
        config |= {"linear_num_key_heads": groups, "linear_key_head_dim": size, "linear_num_value_heads": heads}
        config |= {"linear_value_head_dim": inner // heads, "linear_conv_kernel_dim": kernel}
    else:
        config |= {"mamba_num_heads": heads, "mamba_head_dim": inner // heads, "ssm_state_size": size}
        config |= {"n_groups": groups, "conv_kernel": kernel}


def _per_layer(config: dict[str, Any], family: str) -> None:
    """Read lists of one number a layer. 0 is for missing parts."""
    listed = config.get("num_key_value_heads")
    widths = config.get("intermediate_size")
    if isinstance(listed, list) and 0 in listed:
        config["num_key_value_heads"] = max(listed)
        if family == "nemotron_h":
            wide = widths if isinstance(widths, list) else [0] * len(listed)
            routed = "moe" if config.get("num_experts") else "mlp"
            words = ["attention" if kv else routed if w else "mamba" for kv, w in zip(listed, wide, strict=False)]
            config["layers_block_type"] = words
        else:
            config["layer_types"] = ["full_attention" if kv else "conv" for kv in listed]
    for name in ("num_attention_heads", "intermediate_size"):
        if isinstance(config.get(name), list) and 0 in config[name]:
            config[name] = max(config[name])
    for name in ("num_attention_heads", "num_key_value_heads", "intermediate_size"):
        if isinstance(config.get(name), list) and len(set(config[name])) == 1:
            config[name] = config[name][0]
    if family == "lfm2":
        config["block_auto_adjust_ff_dim"] = False
