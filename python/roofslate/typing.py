"""Types for annotations: names that calls take, and the inputs of a scenario.

A scenario that is annotated with `Inputs` has its keys, and the words of its choices, checked by a type checker:
``cell: rs.typing.Inputs = {"overlap": "none", "batch_size": 256}``. Nothing of this is needed to compute.
"""

# Written by python -m roofslate._generate.
from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, TypedDict, TypeVar

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import pandas as pd
    import xarray as xr

    from roofslate.catalogs import Preset
    from roofslate.units import Axis

__all__ = [
    "ActivationPolicy",
    "AnyName",
    "AnyNames",
    "AttentionArithmetic",
    "AttentionMask",
    "BindingTerm",
    "ChoiceName",
    "CommunicationOverlap",
    "ComputeFormat",
    "ContextDistribution",
    "DenseFormat",
    "Distribution",
    "ExchangeRouting",
    "ExpertReads",
    "HardwareName",
    "Inputs",
    "Keywords",
    "KvFormat",
    "LossLawName",
    "Many",
    "ModelName",
    "Number",
    "Overlap",
    "PipelineSchedule",
    "PricesName",
    "QuantityName",
    "ScaleUpLimit",
    "SequenceParallel",
    "ServingMode",
    "ShardedState",
    "SharedLayerReads",
    "WeightFormat",
    "WithUnit",
]

QuantityName: TypeAlias = Literal[
    "acceptance_rate",
    "accepted_length",
    "activation_bytes",
    "activation_bytes_per_element",
    "activation_policy",
    "activation_time_per_token",
    "activation_transfers",
    "activations_of_a_layer",
    "active_parameters",
    "admission_steps",
    "anchor_parameters",
    "anchor_tokens",
    "arithmetic_intensity",
    "arrival_burst",
    "arrival_exponent",
    "arrival_rate",
    "asked_speed_factor",
    "attainable_flops",
    "attended_tokens",
    "attention_arithmetic",
    "attention_balance_context",
    "attention_balance_context_from_width",
    "attention_balance_from_premium",
    "attention_collective_time",
    "attention_compute_efficiency",
    "attention_compute_to_fetch",
    "attention_data_parallel",
    "attention_flops_per_context_token",
    "attention_flops_per_token",
    "attention_heads",
    "attention_intensity",
    "attention_mask",
    "attention_time",
    "attention_to_weight_flops",
    "attention_training_flops",
    "attention_window",
    "backward_flops_per_parameter",
    "backward_forward_ratio",
    "backward_forward_ratio_from_flops",
    "balance_batch",
    "balance_batch_at_context",
    "balance_context",
    "balance_context_from_model",
    "balance_context_from_premium",
    "balance_context_from_step",
    "balance_context_per_width",
    "balance_pass_length",
    "balanced_pretraining_tokens",
    "balanced_rl_tokens",
    "balancing_prefill_share",
    "bandwidth_efficiency",
    "batch_factor",
    "batch_from_prices",
    "batch_of_one_penalty",
    "batch_size",
    "batch_time_ratio",
    "batch_time_ratio_from_model",
    "batch_time_ratio_from_tariff",
    "best_block_length",
    "bill_of_materials",
    "binding_term",
    "block_attended_tokens",
    "block_length",
    "break_even_context",
    "break_even_inference_tokens",
    "break_even_stages",
    "budget_optimal_parameters",
    "budget_optimal_tokens",
    "bytes_per_kv_bit",
    "bytes_per_weight_bit",
    "cable_density",
    "cable_limit",
    "cable_limited_domain",
    "cables_per_chip",
    "cache_copies",
    "cache_memory_share",
    "cache_read_factor",
    "cache_read_price",
    "cache_storage_price",
    "cache_write_factor",
    "cache_write_price",
    "cache_write_read_ratio",
    "cache_write_time",
    "cached_input_tokens",
    "capacity_batch",
    "capital_cost_rate",
    "capital_spending",
    "cell_bandwidth",
    "cell_capacity",
    "cell_capital",
    "cell_flops",
    "cell_market_share",
    "cell_power",
    "cell_price",
    "cell_sequences",
    "cell_throughput",
    "cells_for_market",
    "chinchilla_tokens",
    "chip_capital",
    "chip_power",
    "chip_price",
    "chips",
    "chips_contacted",
    "chips_per_stage",
    "clients",
    "collective_bytes_per_element",
    "collective_latency",
    "collective_step_latency",
    "collective_time_per_token",
    "combine_bytes_per_element",
    "combine_bytes_per_layer",
    "common_copies",
    "common_parameters",
    "common_parameters_per_chip",
    "communication_overlap",
    "compute_bound_batch",
    "compute_bound_throughput",
    "compute_efficiency",
    "compute_floor_ratio",
    "compute_format",
    "compute_time",
    "compute_time_per_sequence",
    "compute_time_with_attention",
    "compute_utilization",
    "context_distribution",
    "context_from_prices",
    "context_length",
    "context_parallel",
    "cooling_limited_domain",
    "cost_per_input_token",
    "cost_per_output_token",
    "cost_per_token",
    "cost_plus_price",
    "counted_training_flops",
    "data_parallel",
    "decode_cost_ratio",
    "decode_cost_step",
    "decode_inefficiency",
    "decode_inefficiency_from_utilization",
    "decode_prefill_utilization",
    "decode_token_rate",
    "decode_utilization",
    "decode_utilization_from_rate",
    "dense_equivalent_gain",
    "dense_format",
    "dense_layers",
    "dense_parameters",
    "dense_parameters_from_architecture",
    "dense_peak_flops",
    "dense_size_exponent",
    "dense_weight_bytes",
    "deployed_bytes",
    "deployment_probability",
    "depreciation_time",
    "dies_per_chip",
    "direct_exchange_slowdown",
    "dispatch_bytes_per_element",
    "dispatch_bytes_per_layer",
    "domain_bandwidth_growth",
    "domain_capacity",
    "draft_cost",
    "draft_length",
    "drafting_factor",
    "earlier_dies_per_chip",
    "earlier_hbm_bandwidth",
    "earlier_scale_up_domain",
    "earlier_shipments",
    "effective_dense_parameters",
    "effort",
    "effort_cost",
    "electricity_cost_per_token",
    "electricity_cost_rate",
    "electricity_price",
    "electricity_share",
    "emitted_length",
    "energy_per_response",
    "energy_per_token",
    "equal_cost_effort",
    "equal_cost_overtraining",
    "equal_cost_penalty",
    "equal_loss_parameters",
    "equal_loss_tokens",
    "exchange_bytes_per_chip",
    "exchange_bytes_per_layer",
    "exchange_bytes_per_token",
    "exchange_hop_ratio",
    "exchange_hop_ratio_from_bytes",
    "exchange_racks",
    "exchange_racks_from_domain",
    "exchange_routing",
    "exchange_slowdown",
    "exchange_time",
    "executed_attention_flops",
    "executed_matrix_flops",
    "executed_training_flops",
    "expected_inference_tokens",
    "expert_activation_transfers",
    "expert_collective_time",
    "expert_coverage",
    "expert_intermediate_size",
    "expert_parallel",
    "expert_reads",
    "experts",
    "experts_per_chip",
    "experts_per_token",
    "fair_long_context_premium",
    "falling_coefficient",
    "falling_cost",
    "falling_exponent",
    "fastest_speed_factor",
    "fetched_parameters",
    "first_token_time_factor",
    "fixed_cache_bytes",
    "fixed_pass_time",
    "flops_per_head_element",
    "flops_per_parameter_token",
    "flops_per_token",
    "free_prefill_tokens",
    "free_sparsity",
    "frontier_size_exponent",
    "frontier_size_exponent_from_law",
    "frontier_tokens",
    "full_memory_context",
    "full_memory_kv_bytes",
    "full_memory_utilization",
    "full_pipeline_microbatches",
    "gain_per_cost",
    "generated_length",
    "global_attention_layers",
    "global_batch",
    "global_layer_cost",
    "global_layer_period",
    "global_layer_share",
    "goodput",
    "gradient_bytes",
    "gradient_collective_time",
    "gradient_overlap",
    "hardware_flops_utilization",
    "hbm_bandwidth",
    "hbm_bandwidth_growth",
    "hbm_capacity",
    "hbm_cost",
    "hbm_cost_from_price",
    "hbm_drain_time",
    "hbm_hold_cost",
    "hbm_hold_rate",
    "hbm_markup",
    "hbm_price",
    "hbm_rent",
    "hbm_share",
    "hbm_share_from_cost",
    "hbm_share_of_materials",
    "hbm_spending",
    "hbm_used",
    "head_elements",
    "head_parameters",
    "head_size",
    "held_capacity_time",
    "held_share",
    "hidden_kv_bytes",
    "hidden_size",
    "hidden_size_from_premium",
    "hierarchical_exchange_slowdown",
    "hierarchical_leaving_copies",
    "hierarchical_outside_time",
    "hold_cost_from_prices",
    "hold_time",
    "hop_cache_growth",
    "hop_latency",
    "idle_dispatch_batch",
    "idle_dispatch_period",
    "idle_dispatch_time",
    "implied_storage_price",
    "implied_write_price",
    "index_bytes_per_token",
    "inference_chip_time",
    "inference_cost",
    "inference_flops",
    "inference_flops_share",
    "inference_tokens",
    "input_price",
    "input_price_factor",
    "input_token_share",
    "input_tokens",
    "intermediate_size",
    "kept_activations",
    "kept_head_share",
    "kept_score_bytes",
    "kept_token_share",
    "kernel_overhead",
    "kernel_time",
    "kernel_time_exponent",
    "kernels_per_step",
    "kink_context",
    "kink_from_threshold",
    "kv_bits",
    "kv_bytes",
    "kv_bytes_from_architecture",
    "kv_bytes_from_balance_context",
    "kv_bytes_from_hold_price",
    "kv_bytes_from_kink",
    "kv_bytes_from_read_price",
    "kv_bytes_from_storage_price",
    "kv_bytes_per_chip",
    "kv_bytes_per_emitted_token",
    "kv_bytes_per_token",
    "kv_compression",
    "kv_element_bytes",
    "kv_elements_per_layer",
    "kv_fetch_time",
    "kv_fetch_time_per_sequence",
    "kv_format",
    "kv_heads",
    "kv_latent_size",
    "kv_overtaking_context",
    "kv_read_bytes",
    "kv_read_factor",
    "kv_read_gain",
    "kv_room",
    "kv_stored_bytes",
    "kv_stored_factor",
    "kv_stored_gain",
    "large_batch_utilization",
    "largest_scale_up_domain",
    "largest_total_parameters",
    "latency_floor",
    "latent_rotary_size",
    "later_shipments",
    "law_overtraining",
    "layer_activation_bytes",
    "layers",
    "layers_per_stage",
    "least_clients",
    "least_cost",
    "least_cost_effort",
    "least_cost_ratio",
    "least_deployed_bytes",
    "least_falling_cost",
    "least_group_batch",
    "least_rising_cost",
    "least_training_tokens",
    "leaving_copies",
    "leftover_experts",
    "lifetime_chip_time",
    "lifetime_cost",
    "lifetime_flops",
    "lifetime_tokens",
    "link_bandwidth_ratio",
    "link_bandwidth_ratio_from_chip",
    "link_efficiency",
    "link_overlap",
    "live_microbatches",
    "lone_fetched_parameters",
    "lone_weight_fetch",
    "long_cache_read_price",
    "long_cache_write_factor",
    "long_cache_write_price",
    "long_cache_write_time",
    "long_context_premium",
    "long_context_premium_from_prices",
    "long_context_threshold",
    "long_cost_plus_price",
    "long_decode_cost_ratio",
    "long_input_premium",
    "long_input_premium_from_prices",
    "long_input_price",
    "long_output_price",
    "longest_context",
    "loss_data_coefficient",
    "loss_data_exponent",
    "loss_floor",
    "loss_from_size",
    "loss_size_coefficient",
    "loss_size_exponent",
    "loss_unit_size",
    "loss_unit_tokens",
    "lowest_price_factor",
    "market_token_rate",
    "matched_dense_parameters",
    "matching_experts",
    "matching_saturated_experts",
    "matrices_per_expert",
    "matrix_activations_of_a_layer",
    "matrix_training_flops",
    "mean_long_context",
    "mean_short_context",
    "mean_stage_cost",
    "memory_compute_ratio",
    "memory_time",
    "microbatch_size",
    "microbatches",
    "minimum_pipeline_stages",
    "minimum_stages_for_weights",
    "mixed_compute_time",
    "mixed_compute_utilization",
    "mixed_floor_ratio",
    "mixed_pass_time",
    "model_bytes",
    "model_chunks",
    "model_flops_utilization",
    "model_lifetime",
    "model_token_rate",
    "moe_layers",
    "month",
    "monthly_tokens",
    "most_experts_per_chip",
    "network_card_latency",
    "optimal_inference_training_ratio",
    "optimal_lifetime_saving",
    "optimal_loss",
    "optimal_overtraining",
    "optimal_pretraining_tokens",
    "optimal_token_ratio",
    "optimal_tokens_per_parameter",
    "optimizer_bytes",
    "optimizer_state_bytes",
    "optimizer_time",
    "optimizer_transfers",
    "output_input_ratio",
    "output_input_ratio_from_prices",
    "output_price",
    "output_tokens",
    "overlap",
    "overtraining_ratio",
    "paid_price_factor",
    "pass_length",
    "pass_time",
    "pass_time_per_sequence",
    "pass_time_per_sequence_from_model",
    "pass_tokens",
    "path_latency",
    "paying_hold_time",
    "peak_flops",
    "peak_flops_bf16",
    "peak_flops_fp4",
    "peak_flops_fp8",
    "peak_flops_in_format",
    "peak_flops_int8",
    "pipeline_busy_time",
    "pipeline_idle_time",
    "pipeline_latency",
    "pipeline_round_time",
    "pipeline_schedule",
    "pipeline_stages",
    "pipeline_step_time",
    "pipeline_traffic_ratio",
    "pipeline_traffic_threshold",
    "pipeline_utilization",
    "pipeline_utilization_with_hops",
    "placement_balance",
    "power_limited_domain",
    "power_usage_effectiveness",
    "practical_batch",
    "practical_margin",
    "prediction_layers",
    "prediction_parameters",
    "prefill_attention_factor",
    "prefill_chunk",
    "prefill_compute_efficiency",
    "prefill_decode_replicas",
    "prefill_inefficiency",
    "prefill_interference",
    "prefill_load",
    "prefill_share",
    "prefill_time",
    "prefill_token_rate",
    "prefill_utilization",
    "prefill_utilization_from_rate",
    "prefilled_sequences",
    "prefix_bytes",
    "prefix_fetch_time",
    "prefix_length",
    "pretraining_chip_time",
    "pretraining_chips",
    "pretraining_cost",
    "pretraining_flops",
    "pretraining_inference_token_ratio",
    "pretraining_loss",
    "pretraining_rl_token_ratio",
    "pretraining_time",
    "pretraining_tokens",
    "price_factor",
    "price_factor_at_speed",
    "price_margin",
    "prompt_batch",
    "prompt_common_time",
    "prompt_compute_time",
    "prompt_expert_time",
    "prompt_kernel_factor",
    "prompt_steps",
    "prompt_time",
    "prompt_transfer_time",
    "prompts_ahead",
    "prompts_per_step",
    "queue_time",
    "rack_cables",
    "racks_per_token",
    "read_cost_from_prices",
    "read_kv_bytes_per_token",
    "recomputation_factor",
    "recomputation_overhead",
    "recompute_chip_time",
    "recompute_cost",
    "recompute_hold_time",
    "recomputed_training_flops",
    "reduced_balance_batch",
    "reduced_balance_context",
    "reduced_cost_per_token",
    "reduced_kv_fetch_time",
    "reduced_pass_time",
    "reference_kernel_time",
    "reference_peak_flops",
    "relative_markup",
    "repeated_attention",
    "repeated_forward",
    "request_overhead",
    "request_rate",
    "request_time",
    "response_length",
    "reversible_streams",
    "ridge_point",
    "riding_prefill_time",
    "rising_coefficient",
    "rising_cost",
    "rising_exponent",
    "rl_chip_time",
    "rl_chips",
    "rl_cost",
    "rl_flops",
    "rl_flops_per_parameter",
    "rl_time",
    "rl_tokens",
    "round_passes",
    "round_tokens",
    "routed_copies",
    "routed_loss",
    "routed_parameters",
    "routed_parameters_per_chip",
    "routed_size_exponent",
    "routing_cutoff_parameters",
    "routing_experts_exponent",
    "routing_first_experts",
    "routing_interaction",
    "routing_intercept",
    "routing_most_experts",
    "routing_size_exponent",
    "routing_unit_size",
    "run_chip_time",
    "run_cost",
    "run_steps",
    "run_time",
    "running_sequences",
    "saturated_experts",
    "scale_out_bandwidth",
    "scale_out_latency",
    "scale_up_bandwidth",
    "scale_up_die_growth",
    "scale_up_dies",
    "scale_up_domain",
    "scale_up_domain_growth",
    "scale_up_latency",
    "scale_up_limit",
    "seat_load",
    "seat_load_from_arrivals",
    "seat_mean_wait",
    "seat_rate",
    "seat_time",
    "seats",
    "selected_blocks",
    "selected_tokens",
    "sequence_length",
    "sequence_parallel",
    "sequence_read_bytes",
    "sequence_stored_bytes",
    "sequence_time",
    "served_input_tokens",
    "served_output_tokens",
    "served_time",
    "serving_chips",
    "serving_cost",
    "serving_inefficiency",
    "serving_inefficiency_from_mix",
    "serving_margin",
    "serving_mode",
    "serving_price_ratio",
    "sharded_state",
    "shared_experts",
    "shared_layer_reads",
    "shipment_change",
    "shortest_context",
    "site_power",
    "slower_tier_bandwidth",
    "slower_tier_capacity",
    "slower_tier_price",
    "slower_tier_price_from_purchase",
    "slower_tier_purchase_price",
    "slower_tier_rent",
    "slower_tier_retrieve_price",
    "slowest_stage_cost",
    "sparsity",
    "sparsity_for_memory",
    "sparsity_for_users",
    "speculation_compute_factor",
    "speculation_speedup",
    "speculative_cost_per_token",
    "speculative_throughput",
    "speculative_token_time",
    "speed_factor",
    "speed_factor_at_price",
    "spent_chip_time",
    "stage_balance",
    "stage_busy_time",
    "stage_communication_time",
    "stage_hop_time",
    "stage_hops",
    "stage_time",
    "step_batch",
    "step_collective_time",
    "step_compute_time",
    "step_context_length",
    "step_coverage",
    "step_kv_fetch_time",
    "step_roofline_time",
    "step_time",
    "step_tokens",
    "step_weight_bytes",
    "step_weight_fetch_time",
    "storage_price_factor",
    "storage_price_per_byte",
    "stored_kv_bytes_per_token",
    "stored_layer_share",
    "summary_length",
    "switch_latency",
    "switches_per_hop",
    "tensor_collective_time",
    "tensor_parallel",
    "tensor_parallel_from_layout",
    "threshold_alignment",
    "tier_bandwidth",
    "tier_capacity",
    "tier_cost",
    "tier_drain_time",
    "tier_hold_cost",
    "tier_price",
    "tier_price_from_purchase",
    "tier_purchase_price",
    "tier_recompute_hold_time",
    "tier_rent",
    "tier_retrieval_time",
    "tier_retrieve_cost",
    "tier_retrieve_price",
    "tier_switch_time",
    "time_per_output_token",
    "time_to_first_token",
    "token_revenue",
    "token_time_factor",
    "tokens_per_second_per_chip",
    "tokens_per_second_per_user",
    "total_parameters",
    "touched_parameters",
    "traffic_exponent",
    "train_batch",
    "train_load",
    "train_mean_time",
    "train_mean_wait",
    "train_period",
    "train_worst_time",
    "trained_tokens",
    "trained_tokens_from_batch",
    "trained_tokens_per_second",
    "trained_tokens_per_second_per_chip",
    "trained_weight_bytes",
    "training_activation_bytes",
    "training_activation_time",
    "training_bubble",
    "training_bubble_overhead",
    "training_budget",
    "training_compute_time",
    "training_exchange_time",
    "training_flops_per_parameter",
    "training_flops_per_token",
    "training_flops_utilization",
    "training_flops_with_attention",
    "training_kernel_time",
    "training_memory",
    "training_optimal_parameters",
    "training_optimal_token_ratio",
    "training_optimal_tokens",
    "training_passes",
    "training_state_bytes",
    "training_step_time",
    "training_utilization",
    "two_way_idle_time",
    "visited_parameters",
    "vocabulary_size",
    "waiting_probability",
    "weight_balance",
    "weight_bits",
    "weight_bytes",
    "weight_bytes_from_format",
    "weight_bytes_per_chip",
    "weight_copies",
    "weight_cost_factor",
    "weight_fetch_ratio",
    "weight_fetch_ratio_from_batch",
    "weight_fetch_time",
    "weight_format",
    "weight_gradient_share",
    "weight_limited_domain",
    "weights_per_table_element",
    "whole_activations_of_a_layer",
    "windowed_attention_layers",
    "windowed_bytes_per_token",
    "windowed_cache_bytes",
    "windowed_tokens",
    "zero_bubble_idle_time",
]
ChoiceName: TypeAlias = Literal[
    "activation_policy",
    "attention_arithmetic",
    "attention_mask",
    "binding_term",
    "communication_overlap",
    "compute_format",
    "context_distribution",
    "dense_format",
    "exchange_routing",
    "expert_reads",
    "kv_format",
    "overlap",
    "pipeline_schedule",
    "scale_up_limit",
    "sequence_parallel",
    "serving_mode",
    "sharded_state",
    "shared_layer_reads",
    "weight_format",
]
ActivationPolicy: TypeAlias = Literal["all", "selective", "block", "reversible"]
AttentionArithmetic: TypeAlias = Literal["left_out", "counted"]
AttentionMask: TypeAlias = Literal["causal", "full"]
BindingTerm: TypeAlias = Literal["compute", "weight_fetch", "kv_fetch"]
CommunicationOverlap: TypeAlias = Literal["none", "two_batch"]
ComputeFormat: TypeAlias = Literal["bf16", "fp8", "int8", "fp4"]
ContextDistribution: TypeAlias = Literal["uniform", "log_uniform", "power_law"]
DenseFormat: TypeAlias = Literal["same", "bf16", "fp8", "int8", "fp4"]
ExchangeRouting: TypeAlias = Literal["direct", "hierarchical"]
ExpertReads: TypeAlias = Literal["all", "expected"]
KvFormat: TypeAlias = Literal["bf16", "fp8", "int8", "fp4"]
Overlap: TypeAlias = Literal["board", "serial_kv", "none"]
PipelineSchedule: TypeAlias = Literal["gpipe", "1f1b", "zb_h1", "zb_h2", "interleaved", "zb_v", "dualpipe"]
ScaleUpLimit: TypeAlias = Literal["cables", "power", "cooling", "weight"]
SequenceParallel: TypeAlias = Literal["off", "on"]
ServingMode: TypeAlias = Literal["aggregated", "disaggregated"]
ShardedState: TypeAlias = Literal["none", "optimizer", "gradients", "weights"]
SharedLayerReads: TypeAlias = Literal["each", "once"]
WeightFormat: TypeAlias = Literal["bf16", "fp8", "int8", "fp4"]
ModelName: TypeAlias = Literal[
    "DeepSeek-V3",
    "Kimi-K2",
    "Qwen3-235B-A22B",
    "gpt-oss-120b",
    "GLM-4.5",
    "Mixtral-8x7B",
    "Llama-3.1-8B",
    "Llama-3.1-70B",
    "Llama-3.1-405B",
    "Qwen3-8B",
    "Qwen3-32B",
    "gpt2",
    "starcoderbase",
    "Llama-2-7b-hf",
    "Llama-2-13b-hf",
    "Llama-2-70b-hf",
    "Mistral-7B-v0.1",
    "Meta-Llama-3-8B",
    "gemma-2-9b-it",
    "Qwen2.5-1.5B",
    "Qwen2.5-7B",
    "Qwen2.5-32B",
    "gemma-3-4b-it",
    "Nemotron-H-56B-Base-8K",
    "Llama-4-Scout-17B-16E-Instruct",
    "Qwen3-0.6B",
    "LFM2-1.2B",
    "Qwen3-Coder-480B-A35B-Instruct",
    "Qwen3-Next-80B-A3B-Instruct",
    "Qwen3-VL-235B-A22B-Instruct",
    "Qwen3-VL-2B-Instruct",
    "Qwen3-VL-8B-Instruct",
    "Qwen3-VL-32B-Instruct",
    "Kimi-Linear-48B-A3B-Instruct",
    "NVIDIA-Nemotron-3-Nano-30B-A3B-BF16",
    "Kimi-K2.5",
    "Qwen3.5-27B",
    "Qwen3.5-35B-A3B",
    "gemma-4-26B-A4B",
    "DeepSeek-V4-Flash",
    "GLM-4.5-Air",
    "GLM-5",
    "MiniMax-M1",
    "MiniMax-M2.5",
    "Llama-4-Maverick",
    "Qwen3-30B-A3B",
    "gpt-oss-20b",
    "Gemma-3-27B",
    "GPT-3 175B",
    "MT-NLG 530B",
    "PaLM-62B",
    "PaLM-540B",
    "GPT-1.3B",
    "MPT-1B",
    "MPT-3B",
    "MPT-7B",
    "MPT-13B",
    "MPT-70B",
    "GPT-22B",
    "GPT-1T",
    "GPT-6.7B",
    "GPT-20B",
    "lecture",
    "DeepSeek-V3 (lecture)",
    "lecture training",
    "DeepSeek-V3 FP8 cache",
    "DeepSeek-V3.2",
    "Llama-3.1-70B FP8 cache",
    "Llama-3.1-70B KIVI",
    "Llama-3.1-70B CLA2",
    "Llama-3.1-70B MQA",
    "Llama-3.1-70B H2O",
    "Llama-3.1-70B NSA",
    "Llama-3.1-70B Character.AI",
]
HardwareName: TypeAlias = Literal[
    "A100-40",
    "A100-80",
    "H100",
    "H200",
    "H800",
    "H20",
    "B100",
    "B200",
    "B300",
    "GB200",
    "GB300",
    "Rubin",
    "Rubin training",
    "Rubin Ultra",
    "MI300X",
    "MI325X",
    "MI355X",
    "MI455X",
    "TPU v4",
    "TPU v5e",
    "TPU v5p",
    "TPU v6e",
    "TPU 7x",
    "Trainium2",
    "Trainium3",
    "HGX A100",
    "HGX H100",
    "HGX H200",
    "HGX B200",
    "HGX B300",
    "GB200 NVL72",
    "GB300 NVL72",
    "Vera Rubin NVL72",
    "Rubin Ultra NVL576",
    "HGX B100",
    "HGX H800",
    "HGX H20",
    "MI300X x8",
    "MI325X x8",
    "MI355X x8",
    "Helios",
    "TPU v4 cube",
    "TPU v4 pod",
    "TPU v5e pod",
    "TPU v5p cube",
    "TPU v5p pod",
    "TPU v6e pod",
    "TPU 7x cube",
    "TPU 7x pod",
    "Trainium2 UltraServer",
    "Trainium3 UltraServer",
    "B200 (lecture)",
    "BW72 (lecture)",
    "BW64 (lecture)",
    "Rubin (lecture)",
    "Rubin inference (lecture)",
    "TPU v5e (lecture)",
    "TPU v6e (lecture)",
]
PricesName: TypeAlias = Literal[
    "H800 DeepSeek lease",
    "H100 Google Cloud list",
    "TPU v5p Google Cloud list",
    "TPU v5e Google Cloud list",
    "H200 NVIDIA TCO",
    "GB300 NVL72 NVIDIA TCO",
    "H100 InferenceX TCO",
    "B200 InferenceX TCO",
    "GB200 NVL72 InferenceX TCO",
    "MI300X InferenceX TCO",
    "MI325X InferenceX TCO",
    "B200 AWS list",
    "B300 AWS list",
    "H100 rental, low",
    "H100 rental, high",
    "A100-80 rental, low",
    "A100-80 rental, high",
    "lecture",
]
LossLawName: TypeAlias = Literal[
    "Hoffmann",
    "Hoffmann unrounded",
    "Hoffmann by Sardana",
    "Besiroglu",
    "Hoffmann approach 1",
    "Hoffmann approach 2",
    "Kaplan",
]

T = TypeVar("T")


class WithUnit(Protocol):
    """A number of `pint`."""

    def to_base_units(self) -> Any: ...


class Distribution(Protocol):
    """A frozen distribution of `scipy.stats`."""

    def rvs(self, *args: Any, **kwds: Any) -> Any: ...


Many: TypeAlias = "T | Sequence[T] | npt.NDArray[Any] | pd.Series[Any] | xr.DataArray"
Number: TypeAlias = "Many[float | str] | np.number[Any] | Axis | range | WithUnit | Distribution"


class Inputs(TypedDict, total=False):
    """All inputs, by their keywords."""

    acceptance_rate: Number
    accepted_length: Number
    activation_bytes: Number
    activation_bytes_per_element: Number
    activation_policy: Many[ActivationPolicy]
    activation_time_per_token: Number
    activation_transfers: Number
    activations_of_a_layer: Number
    active_parameters: Number
    admission_steps: Number
    anchor_parameters: Number
    anchor_tokens: Number
    arithmetic_intensity: Number
    arrival_burst: Number
    arrival_exponent: Number
    arrival_rate: Number
    asked_speed_factor: Number
    attainable_flops: Number
    attended_tokens: Number
    attention_arithmetic: Many[AttentionArithmetic]
    attention_balance_context: Number
    attention_balance_context_from_width: Number
    attention_balance_from_premium: Number
    attention_collective_time: Number
    attention_compute_efficiency: Number
    attention_compute_to_fetch: Number
    attention_data_parallel: Number
    attention_flops_per_context_token: Number
    attention_flops_per_token: Number
    attention_heads: Number
    attention_intensity: Number
    attention_mask: Many[AttentionMask]
    attention_time: Number
    attention_to_weight_flops: Number
    attention_training_flops: Number
    attention_window: Number
    backward_flops_per_parameter: Number
    backward_forward_ratio: Number
    backward_forward_ratio_from_flops: Number
    balance_batch: Number
    balance_batch_at_context: Number
    balance_context: Number
    balance_context_from_model: Number
    balance_context_from_premium: Number
    balance_context_from_step: Number
    balance_context_per_width: Number
    balance_pass_length: Number
    balanced_pretraining_tokens: Number
    balanced_rl_tokens: Number
    balancing_prefill_share: Number
    bandwidth_efficiency: Number
    batch_factor: Number
    batch_from_prices: Number
    batch_of_one_penalty: Number
    batch_size: Number
    batch_time_ratio: Number
    batch_time_ratio_from_model: Number
    batch_time_ratio_from_tariff: Number
    best_block_length: Number
    bill_of_materials: Number
    binding_term: Many[BindingTerm]
    block_attended_tokens: Number
    block_length: Number
    break_even_context: Number
    break_even_inference_tokens: Number
    break_even_stages: Number
    budget_optimal_parameters: Number
    budget_optimal_tokens: Number
    bytes_per_kv_bit: Number
    bytes_per_weight_bit: Number
    cable_density: Number
    cable_limit: Number
    cable_limited_domain: Number
    cables_per_chip: Number
    cache_copies: Number
    cache_memory_share: Number
    cache_read_factor: Number
    cache_read_price: Number
    cache_storage_price: Number
    cache_write_factor: Number
    cache_write_price: Number
    cache_write_read_ratio: Number
    cache_write_time: Number
    cached_input_tokens: Number
    capacity_batch: Number
    capital_cost_rate: Number
    capital_spending: Number
    cell_bandwidth: Number
    cell_capacity: Number
    cell_capital: Number
    cell_flops: Number
    cell_market_share: Number
    cell_power: Number
    cell_price: Number
    cell_sequences: Number
    cell_throughput: Number
    cells_for_market: Number
    chinchilla_tokens: Number
    chip_capital: Number
    chip_power: Number
    chip_price: Number
    chips: Number
    chips_contacted: Number
    chips_per_stage: Number
    clients: Number
    collective_bytes_per_element: Number
    collective_latency: Number
    collective_step_latency: Number
    collective_time_per_token: Number
    combine_bytes_per_element: Number
    combine_bytes_per_layer: Number
    common_copies: Number
    common_parameters: Number
    common_parameters_per_chip: Number
    communication_overlap: Many[CommunicationOverlap]
    compute_bound_batch: Number
    compute_bound_throughput: Number
    compute_efficiency: Number
    compute_floor_ratio: Number
    compute_format: Many[ComputeFormat]
    compute_time: Number
    compute_time_per_sequence: Number
    compute_time_with_attention: Number
    compute_utilization: Number
    context_distribution: Many[ContextDistribution]
    context_from_prices: Number
    context_length: Number
    context_parallel: Number
    cooling_limited_domain: Number
    cost_per_input_token: Number
    cost_per_output_token: Number
    cost_per_token: Number
    cost_plus_price: Number
    counted_training_flops: Number
    data_parallel: Number
    decode_cost_ratio: Number
    decode_cost_step: Number
    decode_inefficiency: Number
    decode_inefficiency_from_utilization: Number
    decode_prefill_utilization: Number
    decode_token_rate: Number
    decode_utilization: Number
    decode_utilization_from_rate: Number
    dense_equivalent_gain: Number
    dense_format: Many[DenseFormat]
    dense_layers: Number
    dense_parameters: Number
    dense_parameters_from_architecture: Number
    dense_peak_flops: Number
    dense_size_exponent: Number
    dense_weight_bytes: Number
    deployed_bytes: Number
    deployment_probability: Number
    depreciation_time: Number
    dies_per_chip: Number
    direct_exchange_slowdown: Number
    dispatch_bytes_per_element: Number
    dispatch_bytes_per_layer: Number
    domain_bandwidth_growth: Number
    domain_capacity: Number
    draft_cost: Number
    draft_length: Number
    drafting_factor: Number
    earlier_dies_per_chip: Number
    earlier_hbm_bandwidth: Number
    earlier_scale_up_domain: Number
    earlier_shipments: Number
    effective_dense_parameters: Number
    effort: Number
    effort_cost: Number
    electricity_cost_per_token: Number
    electricity_cost_rate: Number
    electricity_price: Number
    electricity_share: Number
    emitted_length: Number
    energy_per_response: Number
    energy_per_token: Number
    equal_cost_effort: Number
    equal_cost_overtraining: Number
    equal_cost_penalty: Number
    equal_loss_parameters: Number
    equal_loss_tokens: Number
    exchange_bytes_per_chip: Number
    exchange_bytes_per_layer: Number
    exchange_bytes_per_token: Number
    exchange_hop_ratio: Number
    exchange_hop_ratio_from_bytes: Number
    exchange_racks: Number
    exchange_racks_from_domain: Number
    exchange_routing: Many[ExchangeRouting]
    exchange_slowdown: Number
    exchange_time: Number
    executed_attention_flops: Number
    executed_matrix_flops: Number
    executed_training_flops: Number
    expected_inference_tokens: Number
    expert_activation_transfers: Number
    expert_collective_time: Number
    expert_coverage: Number
    expert_intermediate_size: Number
    expert_parallel: Number
    expert_reads: Many[ExpertReads]
    experts: Number
    experts_per_chip: Number
    experts_per_token: Number
    fair_long_context_premium: Number
    falling_coefficient: Number
    falling_cost: Number
    falling_exponent: Number
    fastest_speed_factor: Number
    fetched_parameters: Number
    first_token_time_factor: Number
    fixed_cache_bytes: Number
    fixed_pass_time: Number
    flops_per_head_element: Number
    flops_per_parameter_token: Number
    flops_per_token: Number
    free_prefill_tokens: Number
    free_sparsity: Number
    frontier_size_exponent: Number
    frontier_size_exponent_from_law: Number
    frontier_tokens: Number
    full_memory_context: Number
    full_memory_kv_bytes: Number
    full_memory_utilization: Number
    full_pipeline_microbatches: Number
    gain_per_cost: Number
    generated_length: Number
    global_attention_layers: Number
    global_batch: Number
    global_layer_cost: Number
    global_layer_period: Number
    global_layer_share: Number
    goodput: Number
    gradient_bytes: Number
    gradient_collective_time: Number
    gradient_overlap: Number
    hardware_flops_utilization: Number
    hbm_bandwidth: Number
    hbm_bandwidth_growth: Number
    hbm_capacity: Number
    hbm_cost: Number
    hbm_cost_from_price: Number
    hbm_drain_time: Number
    hbm_hold_cost: Number
    hbm_hold_rate: Number
    hbm_markup: Number
    hbm_price: Number
    hbm_rent: Number
    hbm_share: Number
    hbm_share_from_cost: Number
    hbm_share_of_materials: Number
    hbm_spending: Number
    hbm_used: Number
    head_elements: Number
    head_parameters: Number
    head_size: Number
    held_capacity_time: Number
    held_share: Number
    hidden_kv_bytes: Number
    hidden_size: Number
    hidden_size_from_premium: Number
    hierarchical_exchange_slowdown: Number
    hierarchical_leaving_copies: Number
    hierarchical_outside_time: Number
    hold_cost_from_prices: Number
    hold_time: Number
    hop_cache_growth: Number
    hop_latency: Number
    idle_dispatch_batch: Number
    idle_dispatch_period: Number
    idle_dispatch_time: Number
    implied_storage_price: Number
    implied_write_price: Number
    index_bytes_per_token: Number
    inference_chip_time: Number
    inference_cost: Number
    inference_flops: Number
    inference_flops_share: Number
    inference_tokens: Number
    input_price: Number
    input_price_factor: Number
    input_token_share: Number
    input_tokens: Number
    intermediate_size: Number
    kept_activations: Number
    kept_head_share: Number
    kept_score_bytes: Number
    kept_token_share: Number
    kernel_overhead: Number
    kernel_time: Number
    kernel_time_exponent: Number
    kernels_per_step: Number
    kink_context: Number
    kink_from_threshold: Number
    kv_bits: Number
    kv_bytes: Number
    kv_bytes_from_architecture: Number
    kv_bytes_from_balance_context: Number
    kv_bytes_from_hold_price: Number
    kv_bytes_from_kink: Number
    kv_bytes_from_read_price: Number
    kv_bytes_from_storage_price: Number
    kv_bytes_per_chip: Number
    kv_bytes_per_emitted_token: Number
    kv_bytes_per_token: Number
    kv_compression: Number
    kv_element_bytes: Number
    kv_elements_per_layer: Number
    kv_fetch_time: Number
    kv_fetch_time_per_sequence: Number
    kv_format: Many[KvFormat]
    kv_heads: Number
    kv_latent_size: Number
    kv_overtaking_context: Number
    kv_read_bytes: Number
    kv_read_factor: Number
    kv_read_gain: Number
    kv_room: Number
    kv_stored_bytes: Number
    kv_stored_factor: Number
    kv_stored_gain: Number
    large_batch_utilization: Number
    largest_scale_up_domain: Number
    largest_total_parameters: Number
    latency_floor: Number
    latent_rotary_size: Number
    later_shipments: Number
    law_overtraining: Number
    layer_activation_bytes: Number
    layers: Number
    layers_per_stage: Number
    least_clients: Number
    least_cost: Number
    least_cost_effort: Number
    least_cost_ratio: Number
    least_deployed_bytes: Number
    least_falling_cost: Number
    least_group_batch: Number
    least_rising_cost: Number
    least_training_tokens: Number
    leaving_copies: Number
    leftover_experts: Number
    lifetime_chip_time: Number
    lifetime_cost: Number
    lifetime_flops: Number
    lifetime_tokens: Number
    link_bandwidth_ratio: Number
    link_bandwidth_ratio_from_chip: Number
    link_efficiency: Number
    link_overlap: Number
    live_microbatches: Number
    lone_fetched_parameters: Number
    lone_weight_fetch: Number
    long_cache_read_price: Number
    long_cache_write_factor: Number
    long_cache_write_price: Number
    long_cache_write_time: Number
    long_context_premium: Number
    long_context_premium_from_prices: Number
    long_context_threshold: Number
    long_cost_plus_price: Number
    long_decode_cost_ratio: Number
    long_input_premium: Number
    long_input_premium_from_prices: Number
    long_input_price: Number
    long_output_price: Number
    longest_context: Number
    loss_data_coefficient: Number
    loss_data_exponent: Number
    loss_floor: Number
    loss_from_size: Number
    loss_size_coefficient: Number
    loss_size_exponent: Number
    loss_unit_size: Number
    loss_unit_tokens: Number
    lowest_price_factor: Number
    market_token_rate: Number
    matched_dense_parameters: Number
    matching_experts: Number
    matching_saturated_experts: Number
    matrices_per_expert: Number
    matrix_activations_of_a_layer: Number
    matrix_training_flops: Number
    mean_long_context: Number
    mean_short_context: Number
    mean_stage_cost: Number
    memory_compute_ratio: Number
    memory_time: Number
    microbatch_size: Number
    microbatches: Number
    minimum_pipeline_stages: Number
    minimum_stages_for_weights: Number
    mixed_compute_time: Number
    mixed_compute_utilization: Number
    mixed_floor_ratio: Number
    mixed_pass_time: Number
    model_bytes: Number
    model_chunks: Number
    model_flops_utilization: Number
    model_lifetime: Number
    model_token_rate: Number
    moe_layers: Number
    month: Number
    monthly_tokens: Number
    most_experts_per_chip: Number
    network_card_latency: Number
    optimal_inference_training_ratio: Number
    optimal_lifetime_saving: Number
    optimal_loss: Number
    optimal_overtraining: Number
    optimal_pretraining_tokens: Number
    optimal_token_ratio: Number
    optimal_tokens_per_parameter: Number
    optimizer_bytes: Number
    optimizer_state_bytes: Number
    optimizer_time: Number
    optimizer_transfers: Number
    output_input_ratio: Number
    output_input_ratio_from_prices: Number
    output_price: Number
    output_tokens: Number
    overlap: Many[Overlap]
    overtraining_ratio: Number
    paid_price_factor: Number
    pass_length: Number
    pass_time: Number
    pass_time_per_sequence: Number
    pass_time_per_sequence_from_model: Number
    pass_tokens: Number
    path_latency: Number
    paying_hold_time: Number
    peak_flops: Number
    peak_flops_bf16: Number
    peak_flops_fp4: Number
    peak_flops_fp8: Number
    peak_flops_in_format: Number
    peak_flops_int8: Number
    pipeline_busy_time: Number
    pipeline_idle_time: Number
    pipeline_latency: Number
    pipeline_round_time: Number
    pipeline_schedule: Many[PipelineSchedule]
    pipeline_stages: Number
    pipeline_step_time: Number
    pipeline_traffic_ratio: Number
    pipeline_traffic_threshold: Number
    pipeline_utilization: Number
    pipeline_utilization_with_hops: Number
    placement_balance: Number
    power_limited_domain: Number
    power_usage_effectiveness: Number
    practical_batch: Number
    practical_margin: Number
    prediction_layers: Number
    prediction_parameters: Number
    prefill_attention_factor: Number
    prefill_chunk: Number
    prefill_compute_efficiency: Number
    prefill_decode_replicas: Number
    prefill_inefficiency: Number
    prefill_interference: Number
    prefill_load: Number
    prefill_share: Number
    prefill_time: Number
    prefill_token_rate: Number
    prefill_utilization: Number
    prefill_utilization_from_rate: Number
    prefilled_sequences: Number
    prefix_bytes: Number
    prefix_fetch_time: Number
    prefix_length: Number
    pretraining_chip_time: Number
    pretraining_chips: Number
    pretraining_cost: Number
    pretraining_flops: Number
    pretraining_inference_token_ratio: Number
    pretraining_loss: Number
    pretraining_rl_token_ratio: Number
    pretraining_time: Number
    pretraining_tokens: Number
    price_factor: Number
    price_factor_at_speed: Number
    price_margin: Number
    prompt_batch: Number
    prompt_common_time: Number
    prompt_compute_time: Number
    prompt_expert_time: Number
    prompt_kernel_factor: Number
    prompt_steps: Number
    prompt_time: Number
    prompt_transfer_time: Number
    prompts_ahead: Number
    prompts_per_step: Number
    queue_time: Number
    rack_cables: Number
    racks_per_token: Number
    read_cost_from_prices: Number
    read_kv_bytes_per_token: Number
    recomputation_factor: Number
    recomputation_overhead: Number
    recompute_chip_time: Number
    recompute_cost: Number
    recompute_hold_time: Number
    recomputed_training_flops: Number
    reduced_balance_batch: Number
    reduced_balance_context: Number
    reduced_cost_per_token: Number
    reduced_kv_fetch_time: Number
    reduced_pass_time: Number
    reference_kernel_time: Number
    reference_peak_flops: Number
    relative_markup: Number
    repeated_attention: Number
    repeated_forward: Number
    request_overhead: Number
    request_rate: Number
    request_time: Number
    response_length: Number
    reversible_streams: Number
    ridge_point: Number
    riding_prefill_time: Number
    rising_coefficient: Number
    rising_cost: Number
    rising_exponent: Number
    rl_chip_time: Number
    rl_chips: Number
    rl_cost: Number
    rl_flops: Number
    rl_flops_per_parameter: Number
    rl_time: Number
    rl_tokens: Number
    round_passes: Number
    round_tokens: Number
    routed_copies: Number
    routed_loss: Number
    routed_parameters: Number
    routed_parameters_per_chip: Number
    routed_size_exponent: Number
    routing_cutoff_parameters: Number
    routing_experts_exponent: Number
    routing_first_experts: Number
    routing_interaction: Number
    routing_intercept: Number
    routing_most_experts: Number
    routing_size_exponent: Number
    routing_unit_size: Number
    run_chip_time: Number
    run_cost: Number
    run_steps: Number
    run_time: Number
    running_sequences: Number
    saturated_experts: Number
    scale_out_bandwidth: Number
    scale_out_latency: Number
    scale_up_bandwidth: Number
    scale_up_die_growth: Number
    scale_up_dies: Number
    scale_up_domain: Number
    scale_up_domain_growth: Number
    scale_up_latency: Number
    scale_up_limit: Many[ScaleUpLimit]
    seat_load: Number
    seat_load_from_arrivals: Number
    seat_mean_wait: Number
    seat_rate: Number
    seat_time: Number
    seats: Number
    selected_blocks: Number
    selected_tokens: Number
    sequence_length: Number
    sequence_parallel: Many[SequenceParallel]
    sequence_read_bytes: Number
    sequence_stored_bytes: Number
    sequence_time: Number
    served_input_tokens: Number
    served_output_tokens: Number
    served_time: Number
    serving_chips: Number
    serving_cost: Number
    serving_inefficiency: Number
    serving_inefficiency_from_mix: Number
    serving_margin: Number
    serving_mode: Many[ServingMode]
    serving_price_ratio: Number
    sharded_state: Many[ShardedState]
    shared_experts: Number
    shared_layer_reads: Many[SharedLayerReads]
    shipment_change: Number
    shortest_context: Number
    site_power: Number
    slower_tier_bandwidth: Number
    slower_tier_capacity: Number
    slower_tier_price: Number
    slower_tier_price_from_purchase: Number
    slower_tier_purchase_price: Number
    slower_tier_rent: Number
    slower_tier_retrieve_price: Number
    slowest_stage_cost: Number
    sparsity: Number
    sparsity_for_memory: Number
    sparsity_for_users: Number
    speculation_compute_factor: Number
    speculation_speedup: Number
    speculative_cost_per_token: Number
    speculative_throughput: Number
    speculative_token_time: Number
    speed_factor: Number
    speed_factor_at_price: Number
    spent_chip_time: Number
    stage_balance: Number
    stage_busy_time: Number
    stage_communication_time: Number
    stage_hop_time: Number
    stage_hops: Number
    stage_time: Number
    step_batch: Number
    step_collective_time: Number
    step_compute_time: Number
    step_context_length: Number
    step_coverage: Number
    step_kv_fetch_time: Number
    step_roofline_time: Number
    step_time: Number
    step_tokens: Number
    step_weight_bytes: Number
    step_weight_fetch_time: Number
    storage_price_factor: Number
    storage_price_per_byte: Number
    stored_kv_bytes_per_token: Number
    stored_layer_share: Number
    summary_length: Number
    switch_latency: Number
    switches_per_hop: Number
    tensor_collective_time: Number
    tensor_parallel: Number
    tensor_parallel_from_layout: Number
    threshold_alignment: Number
    tier_bandwidth: Number
    tier_capacity: Number
    tier_cost: Number
    tier_drain_time: Number
    tier_hold_cost: Number
    tier_price: Number
    tier_price_from_purchase: Number
    tier_purchase_price: Number
    tier_recompute_hold_time: Number
    tier_rent: Number
    tier_retrieval_time: Number
    tier_retrieve_cost: Number
    tier_retrieve_price: Number
    tier_switch_time: Number
    time_per_output_token: Number
    time_to_first_token: Number
    token_revenue: Number
    token_time_factor: Number
    tokens_per_second_per_chip: Number
    tokens_per_second_per_user: Number
    total_parameters: Number
    touched_parameters: Number
    traffic_exponent: Number
    train_batch: Number
    train_load: Number
    train_mean_time: Number
    train_mean_wait: Number
    train_period: Number
    train_worst_time: Number
    trained_tokens: Number
    trained_tokens_from_batch: Number
    trained_tokens_per_second: Number
    trained_tokens_per_second_per_chip: Number
    trained_weight_bytes: Number
    training_activation_bytes: Number
    training_activation_time: Number
    training_bubble: Number
    training_bubble_overhead: Number
    training_budget: Number
    training_compute_time: Number
    training_exchange_time: Number
    training_flops_per_parameter: Number
    training_flops_per_token: Number
    training_flops_utilization: Number
    training_flops_with_attention: Number
    training_kernel_time: Number
    training_memory: Number
    training_optimal_parameters: Number
    training_optimal_token_ratio: Number
    training_optimal_tokens: Number
    training_passes: Number
    training_state_bytes: Number
    training_step_time: Number
    training_utilization: Number
    two_way_idle_time: Number
    visited_parameters: Number
    vocabulary_size: Number
    waiting_probability: Number
    weight_balance: Number
    weight_bits: Number
    weight_bytes: Number
    weight_bytes_from_format: Number
    weight_bytes_per_chip: Number
    weight_copies: Number
    weight_cost_factor: Number
    weight_fetch_ratio: Number
    weight_fetch_ratio_from_batch: Number
    weight_fetch_time: Number
    weight_format: Many[WeightFormat]
    weight_gradient_share: Number
    weight_limited_domain: Number
    weights_per_table_element: Number
    whole_activations_of_a_layer: Number
    windowed_attention_layers: Number
    windowed_bytes_per_token: Number
    windowed_cache_bytes: Number
    windowed_tokens: Number
    zero_bubble_idle_time: Number
    model: Many[ModelName | str | Preset]
    hardware: Many[HardwareName | str | Preset]
    prices: Many[PricesName | str | Preset]
    loss_law: Many[LossLawName | str | Preset]


MYPY = False  # True to mypy alone
if MYPY:
    AnyName: TypeAlias = str

    class Keywords(TypedDict, total=False):
        """What a call completes."""

else:
    AnyName: TypeAlias = QuantityName | str
    Keywords: TypeAlias = Inputs
AnyNames: TypeAlias = AnyName | Sequence[AnyName]
