"""Keys of a config.json by meaning: their names, and those without weights."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

__all__ = ["ALIASES", "PER_LAYER", "SETTLED", "TOWER", "disagree", "is_harmless"]


ALIASES = {
    "hidden_size": ("hidden_size", "n_embd", "n_embed", "d_model", "block_dim"),
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "attention_heads": ("num_attention_heads", "n_head", "n_heads", "num_heads"),
    "kv_heads": (
        "num_key_value_heads",
        "num_kv_heads",
        "n_head_kv",
        "num_attention_groups",
        "num_query_groups",
        "multi_query_group_num",
    ),
    "head_size": ("head_dim", "attention_head_dim", "kv_channels"),
    "vocabulary_size": ("vocab_size", "padded_vocab_size"),
    "intermediate_size": ("block_ff_dim", "intermediate_size", "n_inner", "ffn_hidden_size", "d_ff", "ffn_dim"),
    "context_limit": (
        "max_position_embeddings",
        "n_positions",
        "model_max_length",
        "max_sequence_length",
        "max_seq_len",
        "n_ctx",
    ),
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
        "shared_experts_intermediate_size",
        "shared_intermediate_size",
        "share_expert_dim",
    ),
    "latent_expert_size": ("moe_latent_size", "routed_expert_hidden_size", "moe_hidden_size"),
    "idle_experts": ("zero_expert_num", "num_zero_experts"),
    "tied_embeddings": ("tie_word_embeddings", "tie_embedding"),
    "multi_token_prediction_layers": (
        "num_nextn_predict_layers",
        "mtp_num_hidden_layers",
        "num_mtp_modules",
        "num_mtp_layers",
    ),
    "state_heads": ("mamba_num_heads", "mamba_n_heads", "n_mamba_heads"),
    "state_head_size": ("mamba_head_dim", "mamba_d_head", "mamba_headdim"),
    "state_size": ("ssm_state_size", "mamba_d_state", "state_size"),
    "state_groups": ("n_groups", "mamba_n_groups", "mamba_ngroups"),
    "state_kernel": ("conv_kernel", "mamba_d_conv"),
    "state_expansion": ("expand", "mamba_expand"),
    "state_convolution_bias": ("use_conv_bias", "mamba_conv_bias"),
    "state_projection_bias": ("mamba_proj_bias", "add_bias_linear"),
    "linear_kernel": ("linear_conv_kernel_dim", "short_conv_kernel_size"),
    "layer_types": ("layer_types", "layers_block_type"),
    "sliding_window": ("sliding_window", "sliding_window_size", "attention_window_size"),
    "full_attention_interval": ("full_attention_interval", "layer_group_size"),
    "index_heads": ("index_n_heads", "sparse_num_index_heads"),
    "index_head_size": ("index_head_dim", "sparse_index_dim"),
    "index_blocks": ("index_topk_blocks", "sparse_topk_blocks"),
    "index_block_length": ("index_block_size", "sparse_block_size"),
    "convolution_kernel": ("conv_kernel_size", "sconv_kernel_size"),
}


"""Names that families give to one key, the usual one first. The first in a file counts."""


# Names of one group that may differ in a file: the first, and names with a second meaning.
_APART = (
    ("block_ff_dim", {"intermediate_size"}),
    ("head_dim", {"kv_channels", "attention_head_dim"}),
    ("num_nextn_predict_layers", {"num_mtp_modules"}),
    ("num_hidden_layers", {"num_layers"}),
    ("attention_head_dim", {"kv_channels"}),
    ("max_position_embeddings", {"n_positions", "model_max_length", "max_sequence_length", "max_seq_len", "n_ctx"}),
    ("model_max_length", {"max_sequence_length", "max_seq_len", "n_ctx"}),
    ("n_positions", {"n_ctx"}),
    ("vocab_size", {"padded_vocab_size"}),
)


PER_LAYER = (
    "num_attention_heads",
    "num_key_value_heads",
    "head_dim",
    "v_head_dim",
    "q_lora_rank",
    "kv_lora_rank",
    "qk_nope_head_dim",
    "qk_rope_head_dim",
)


"""Keys of attention that a file may state for windowed layers apart, behind ``swa_``."""


def _words(text: str) -> frozenset[str]:
    return frozenset(text.split())


# Without weights and KV cache: training, sampling, positions, tokens, scales, numerics, book-keeping.
_HARMLESS = _words(
    """
    activation activation_function activation_situ_beta activation_situ_linear_beta activation_sparsity_pattern
    alibi altup_active_idx altup_coef_clip apply_query_key_layer_scaling apply_residual_connection_post_layernorm
    apply_spec_augment architectures attention_in_multiplier attention_multiplier attention_out_multiplier
    attention_softmax_in_fp32 attention_value_scale _attn_implementation _attn_implementation_autoset attn_scale
    attn_temperature_tuning auto_map bad_words_ids base_model_pp_plan base_model_tp_plan begin_suppress_tokens bf16
    bias_dropout_fusion block_mlp_init_scale block_out_init_scale block_size block_use_swiglu block_use_xavier_init
    bos_token cache_implementation chunk_size chunk_size_feed_forward clip_qkv conv_dim conv_dim_out
    conv_use_xavier_init default_theta dim_model_base diversity_penalty do_sample dtype early_stopping
    embedding_multiplier embedding_scale enable_moe_fp32_combine encoder_no_repeat_ngram_size eos_token ep_size
    expert_selection_fn exponential_decay_length_penalty final_logit_softcapping finetuning_task
    _flash_attn_2_enabled floor_scale fp16 fp32 fp32_residual_connection freeze_lm_head full_attn_alpha_factor
    full_attn_beta_factor gate_lower_bound gate_soft_cap gradient_checkpointing group_norm_size hc_magnitude
    hc_sinkhorn_iters hidden_act hidden_activation hidden_mamba_act hybrid_block_size id2label ignore_index
    image_grid_pinpoints image_seq_length index_kpool_always_select_tail index_local_blocks
    index_share_for_mtp_iteration inference_runner initial_context_length input_jitter_noise interpolation_factor
    is_composition is_moe_model kda_lower_bound kda_safe_gate key_multiplier keys_to_ignore_at_inference label2id
    lambda_std_dev layer_rope_theta length_penalty linear_allow_neg_eigval linear_attn_alpha_factor
    linear_attn_beta_factor linear_lower_bound lm_head_multiplier log_scaling_alpha log_scaling_n_floor logit_scale
    logits_mup_width_multiplier logits_scaling logits_soft_cap logn_attn mamba_chunk_size mamba_hidden_act
    mamba_norm_before_gate mamba_rescale_prenorm_residual mamba_ssm_cache_dtype mamba_ssm_dtype mask_token
    max_length min_length mla_scale_kv_lora mla_scale_q_lora mla_use_nope mlp_activation mlp_alpha_factor
    mlp_beta_factor mlp_gate_softcap mlp_hidden_act mlp_multipliers mlp_up_softcap mm_tokens_per_image model_type
    moe_apply_router_weight_on_input moe_norm_min moe_renormalize moe_routed_scaling_factor moe_router_activation
    moe_router_activation_func moe_router_enable_expert_bias moe_router_load_balancing_type
    moe_router_logit_softcapping moe_router_scaling_factor moe_router_use_sigmoid moe_shared_expert_overlap
    mtp_hidden_states_first mtp_hybrid_override_pattern mtp_layer_types mtp_layers_block_type
    mtp_loss_scaling_factor mtp_mlp_layer_types mtp_per_layer_config mtp_share_params mtp_transformer_layers
    mtp_use_dedicated_embeddings mup_enabled n_group _name_or_path need_fp32_gate no_bias no_repeat_ngram_size
    no_rope_layer_interval no_rope_layers norm_expert_weight norm_head norm_softmax norm_topk_prob num_beam_groups
    num_beams num_ctx num_expert_group num_hash_layers num_logits_to_keep num_return_sequences number_of_conv_states
    original_max_position_embeddings output_attentions output_hidden_states output_logit_soft_cap output_multiplier
    output_past output_router_logits output_scores pad_key_length pad_token partial_rotary_factor
    partial_rotary_factors postnorm pre_allocate_kv_cache prefix prefix_lm pretraining_tp problem_type
    projector_hidden_act qk_head_dim qk_l2_clip_threshold qk_norm_type qk_scale_factor query_pre_attn_scalar
    rel_l2_clip_threshold remove_invalid_values reorder_and_upcast_attn repetition_penalty rescale_prenorm_residual
    residual_gate_temperature residual_in_fp32 residual_multiplier return_dict return_dict_in_generate rms_norm
    rmsnorm rope_interleave rope_interleaved rope_local_base_freq rope_parameters rope_ratio rope_scaling
    rope_scaling_layers rope_theta rotary_base rotary_dim rotary_emb_base rotary_pct rotary_percent rotary_value
    route_scale routed_scaling_factor router_aux_loss_coef router_dtype router_jitter_noise router_scale
    router_scaling_factor router_z_loss_coef scale_attention_softmax_in_fp32 scale_attn_by_inverse_layer_idx
    scale_attn_weights scale_depth scale_emb scale_embedding scale_factor score_function scoring_func sep_token
    seq_aux seq_length shared_expert_combination_strategy shared_moe_mode slow_but_exact softmax_in_fp32
    sparse_disable_index_value sparse_init_block sparse_local_block sparse_score_type ssm_in_multiplier
    ssm_multipliers ssm_out_multiplier summary_activation summary_first_dropout summary_last_dropout
    summary_proj_to_labels summary_type summary_use_proj suppress_tokens swiglu_alpha swiglu_limit swiglu_limits
    swiglu_limits_shared task_specific_params temperature tf_legacy_loss time_step_floor time_step_init_scheme
    time_step_limit time_step_max time_step_min time_step_scale tokenizer_class tokenizer_type top_k top_p
    topk_group topk_method torch_dtype torchscript transformers_version typical_p use_associative_scan use_bfloat16
    use_bidirectional_attention use_cache use_cache_quantization use_dynamic_ntk use_flash_attention use_flash_attn
    use_grouped_topk use_logn_attn use_mamba_kernels use_mambapy use_mem_eff_path use_mrope use_parallel_residual
    use_pos_enc use_rmsnorm use_rope_layers use_routing_bias use_unified_vision_chunk validate_runner_input
    video_placeholder video_seq_length vision_feature_layer vision_feature_select_strategy
    vision_soft_tokens_per_image yarn_factor yarn_only_types z_loss_coefficient zero_centered
    """
)


# Words that bear no weights at keys that bear some with others.
_HARMLESS_WORDS = {
    "position_embedding_type": {"rope", "nope", "rotary", "alibi"},
    "attention_method": {"mla"},
    "att_impl_type": {"gqa", "mqa", "mha"},
    "zero_expert_type": {"identity"},
    "norm_type": {"rmsnorm", "rms_norm"},
    "normalization_function": {"rmsnorm", "rms_norm"},
}


# Forms of names without weights, whatever else they say.
_NEVER = re.compile(
    r".*token_(id|index|ids)|.*dropout.*|.*pdrop|.*layerdrop|.*_eps(ilon)?|.*initializer_(range|factor|std)"
)


# Forms of names without weights. A name that also has a word of `_WEIGHTS` must be among `_HARMLESS`.
_FORMS = re.compile(
    r"_?(.*initializer.*|init_.*|.*_init|.*init_std|.*rope.*(theta|base)|rope_.*|rotary_.*|yarn_.*|router_(aux|z|jitter).*|aux_loss.*|.*softcap(ping)?|.*_theta"
    r"|transformers\..*|unsloth_.*|base_model_.*|forced_.*|.*placeholder.*|mrope_.*|summary_.*|.*_loss_(coef|weight|alpha)"
    r"|.*_(alpha|beta)_factor|mamba_dt_(min|max|limit|init_floor)|linear_(dt|a_log)_(min|max|init_floor)|time_step_.*"
    r"|max_(batch_size|new_tokens)|.*_activation_fn|.*_act(_fn)?|.*_dtype|w_init_.*|final_w_init_.*|.*_(bos|eos)_.*)"
)


_WEIGHTS = re.compile(
    r".*(_dims?|sizes?|_ranks?|width|_heads?|layers?|experts?|channels|units|proj.*|gat(e|ing)[a-z]*|adapter.*|expert.*"
    r"|lora.*|bias|mlp.*|ffn.*|conv.*|embed.*|glu|encoder.*|matri.*|block.*|latent.*|memory.*|hash.*)(_.*)?"
    r"|(num|n|use|has|with|add|enable)_.*"
)


# Parts that a file has only if it says so: false, 0 and nothing mean that they are not there.
_SWITCHES = re.compile(
    r"(use|has|with|add|enable|is|num|n|apply|normalize|scale|tie|freeze)_.*|.*(bias|_layers|_experts|_norms?|layernorm)"
    r"|.*_(layer|attention|embeddings?|encoder|decoder|config|num|streaming|overlap|fp32)|pruned_heads|causal|mup_.*"
    r"|double_.*|qk_.*|attn_.*|attention_.*|moe_.*|mtp_.*|layer_norm.*|clip_.*|learned_.*|return_.*|zero_.*|parallel_.*"
)


SETTLED = _words(
    """
    attention_bias attention_chunk_size attn_layer_indices attn_layer_offset attn_layer_period compress_rates
    decoder_sparse_step dense_intermediate_size first_k_dense_replace full_attention_interval full_attn_idxs
    global_attn_every_n_layers head_dim hybrid_layer_ids hybrid_layer_pattern index_skip_topk_offset index_topk_freq
    interleave_moe_layer_step intermediate_size intermediate_size_mlp layer_group_size max_window_layers mlp_bias
    mlp_only_layers moe_layer_freq moe_shared_expert_intermediate_size multi_query n_shared_experts norm_type
    num_dense_layers num_key_value_heads num_sliding_attention_heads qk_layernorm qkv_bias
    shared_expert_intermediate_size sliding_window _sliding_window_pattern sliding_window_pattern
    sliding_window_size time_step_rank unpadded_vocab_size use_bias use_double_wide_mlp use_qk_norm
    use_sliding_window vocab_size_per_layer_input
    """
)


"""Keys relevant to some families, settled by the classes of others or by another key."""


TOWER = _words(
    """
    default_output_length global_head_dim image_size max_position_embeddings merge_type mm_projector_type
    num_attention_heads num_key_value_heads pooling_kernel_size pos_emb_type standardize video_attn_type vocab_size
    """
)


"""Keys settled by the classes of known towers."""


def is_harmless(name: str, value: Any) -> bool:
    """Return True if an unread key means no weights, by its name or its value."""
    if isinstance(value, str) and value.casefold() in _HARMLESS_WORDS.get(name, ()):
        return True
    if name in _HARMLESS or _NEVER.fullmatch(name) or (_FORMS.fullmatch(name) and not _WEIGHTS.fullmatch(name)):
        return True
    if isinstance(value, (bool, int, float, str, list, tuple, Mapping)) and not value:
        return _SWITCHES.fullmatch(name) is not None or not isinstance(value, (bool, int, float))
    if isinstance(value, float) and value != int(value):
        return not re.search(r"mult|ratio|factor|expan|mlp|ffn", name)
    return False


def disagree(first: str, other: str, values: Mapping[str, Any]) -> bool:
    """Return True if two names of one key disagree in a file without an exception for them."""
    one, two = values[first], values[other]
    numbers = isinstance(one, (int, float)) and isinstance(two, (int, float))
    if one == two if numbers else repr(one) == repr(two):
        return False
    return not any(first == name and other in excepted for name, excepted in _APART)
