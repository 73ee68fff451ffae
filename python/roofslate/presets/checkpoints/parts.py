"""Parts of a model by the names of its tensors, as Hugging Face and llama.cpp write them."""

from __future__ import annotations

import re

__all__ = ["block_of", "hugging_face_part", "llama_cpp_part"]


_BLOCK = re.compile(r"(?:^|\.)(?:layers|h|blocks?|blk)\.(\d{1,6})\.(.*)")


# Tensors without weights: tables of positions, masks, biases that only balance the experts.
_BUFFERS = re.compile(
    r"(.*\.)?(rotary_emb\..*|inv_freq|position_ids|masked_bias|e_score_correction_bias|expert_bias|rope_freqs\..*"
    r"|rope_factors_(long|short)\..*|attn_rot_embd\..*|exp_probs_b(\..*)?)"
)


# The first pattern that occurs in a name decides. "" is for buffers.
_HUGGING_FACE = (
    (r"vision|visual|multi_modal_projector|mm_projector|image_|patch_embed|(^|\.)vit\.", "vision"),
    (r"audio|speech", "audio"),
    (r"embed_tokens_per_layer", "layer_tables"),
    (r"(^|\.)(wpe|embed_positions|position_embeddings)\.", "other"),
    (r"(^|\.)(embed_tokens|wte|word_embeddings|embed_in|tok_embeddings|embeddings?)\.weight$", "input_table"),
    (r"(^|\.)(lm_head|embed_out)\.|^(output|head)\.weight$", "output_head"),
    (r"shared_expert", "shared_experts"),
    (r"experts?[._]|(^|\.)block_sparse_moe\.w\d", "routed_experts"),
    (r"router|(^|\.)(mlp|moe|block_sparse_moe|feed_forward|ffn|mixer)\.gate\.", "router"),
    (
        r"linear_attn\.|mamba\.|ssm\.|(^|\.)conv\.|mixer\.(A_log|D|conv1d|dt_bias|in_proj|out_proj|norm)\b",
        "state_mixer",
    ),
    (r"(^|\.)(self_)?(attn|attention)\.|(^|\.)mixer\.[qkvo]_proj\.", "attention"),
    (r"norm|(^|\.)ln_", "norms"),
    (r"(^|\.)(mlp|feed_forward|ffn|mixer)\.|fc1|fc2", "dense_ffn"),
)


_LLAMA_CPP = (
    (r"^per_layer_token_embd\.", "layer_tables"),
    (r"^token_embd\.", "input_table"),
    (r"^output\.", "output_head"),
    (r"^(v|mm)\.", "vision"),
    (r"^a\.", "audio"),
    (r"_shexp\.", "shared_experts"),
    (r"ffn_(gate|up|down|gate_up)_exps\.", "routed_experts"),
    (r"ffn_gate_inp\.|ffn_latent_", "router"),
    (r"ssm_|shortconv", "state_mixer"),
    (r"^(blk\.\d+\.)?(attn_(?!norm|post_norm)|indexer)", "attention"),
    (r"norm", "norms"),
    (r"ffn_(gate|up|down)\.", "dense_ffn"),
)


def _part(name: str, patterns: tuple[tuple[str, str], ...]) -> str:
    if _BUFFERS.fullmatch(name):
        return ""
    return next((part for pattern, part in patterns if re.search(pattern, name)), "other")


def block_of(name: str) -> int | None:
    """Place of the layer that a tensor belongs to, or None for a tensor outside of the layers.

    Examples
    --------
    >>> block_of("model.layers.61.mlp.gate.weight"), block_of("blk.3.attn_q.weight"), block_of("lm_head.weight")
    (61, 3, None)
    """
    result = _BLOCK.search(name)
    return int(result[1]) if result else None


def hugging_face_part(name: str) -> str:
    """Part of a tensor of a safetensors file, or empty for one that is no weight.

    Examples
    --------
    >>> hugging_face_part("model.layers.3.mlp.experts.7.down_proj.weight"), hugging_face_part("lm_head.weight")
    ('routed_experts', 'output_head')
    """
    if re.search(r"(^|\.)(attn|attention)\.bias$", name):  # a mask of GPT-2; biases belong to a projection
        return ""
    return _part(name, _HUGGING_FACE)


def llama_cpp_part(name: str) -> str:
    """Part of a tensor of a GGUF file, or empty for one that is no weight.

    Examples
    --------
    >>> llama_cpp_part("blk.3.ffn_down_exps.weight"), llama_cpp_part("rope_freqs.weight")
    ('routed_experts', '')
    """
    return _part(name, _LLAMA_CPP)
