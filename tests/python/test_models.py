"""Models read from a config.json: every count of 53 public files, every trap by itself, and what hostile files get."""

import contextlib
import copy
import json
import math
import pickle
import time
from pathlib import Path

import numpy as np
import pytest
import roofslate as rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from roofslate import catalogs, errors
from roofslate.configs import reading
from roofslate.configs.families import FAMILIES

FILES = json.loads((Path(__file__).parents[1] / "reference" / "model_configs.json").read_text())["models"]
CONFIG = {entry["name"]: entry["config"] for entry in FILES}

PLAIN = {
    "model_type": "llama",
    "num_hidden_layers": 4,
    "hidden_size": 64,
    "intermediate_size": 128,
    "num_attention_heads": 8,
    "num_key_value_heads": 2,
    "vocab_size": 1000,
    "tie_word_embeddings": False,
    "torch_dtype": "bfloat16",
}


def read(base=PLAIN, /, **keys):
    """Model of a config with some keys changed; ``...`` takes one away."""
    config = {**copy.deepcopy(base), **keys}
    return rs.Model.from_config({key: value for key, value in config.items() if value is not ...}, name="test")


# ------------------------------------------------------------------------------------------------------- real files


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["name"])
def test_counts_of_public_files(entry):
    model = rs.Model.from_config(entry["config"], name=entry["name"])
    caches = model.cache_table(131_072, kv_format="bf16")
    growth, index, state = (caches[c].sum() for c in ("bytes_per_added_token", "index_bytes", "state_bytes"))
    found = {
        "total_parameters": model.total_parameters,
        "active_parameters": model.active_parameters,
        "cache_bytes_at_4096": model.cache_bytes(4096, kv_format="bf16"),
        "cache_bytes_at_131072": model.cache_bytes(131_072, kv_format="bf16"),
        "bytes_per_added_token": growth,
        "index_bytes_per_token": index / 131_072,
        "layers": model.layers,
        "state_bytes": state,
        **model.attributes,
    }
    for name, expected in entry["expected"].items():
        if expected is not None:
            assert found[name] == expected, name
    assert model.unknown == ()


def test_there_are_all_files():
    assert len(FILES) == 53
    assert all(entry["source"] and entry["method"] for entry in FILES)


# Billions, as counted on the model classes: total; active with both tables, without the input table, with neither.
LARGE = {
    "GLM-4.5": (
        (352.798, 33.632, 32.856, 32.080),
        {
            "model_type": "glm4_moe",
            "hidden_size": 5120,
            "num_hidden_layers": 92,
            "num_attention_heads": 96,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "intermediate_size": 12288,
            "moe_intermediate_size": 1536,
            "n_routed_experts": 160,
            "n_shared_experts": 1,
            "num_experts_per_tok": 8,
            "first_k_dense_replace": 3,
            "attention_bias": True,
            "use_qk_norm": True,
            "vocab_size": 151_552,
            "num_nextn_predict_layers": 1,
        },
    ),
    "GLM-4.5-Air": (
        (106.852, 13.424, 12.803, 12.183),
        {
            "model_type": "glm4_moe",
            "hidden_size": 4096,
            "num_hidden_layers": 46,
            "num_attention_heads": 96,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "intermediate_size": 10944,
            "moe_intermediate_size": 1408,
            "n_routed_experts": 128,
            "n_shared_experts": 1,
            "num_experts_per_tok": 8,
            "first_k_dense_replace": 1,
            "attention_bias": True,
            "use_qk_norm": False,
            "vocab_size": 151_552,
        },
    ),
    "GLM-5": (
        (743.911, 41.785, 40.833, 39.882),
        {
            "model_type": "glm_moe_dsa",
            "hidden_size": 6144,
            "num_hidden_layers": 78,
            "num_attention_heads": 64,
            "head_dim": 64,
            "intermediate_size": 12288,
            "moe_intermediate_size": 2048,
            "n_routed_experts": 256,
            "n_shared_experts": 1,
            "num_experts_per_tok": 8,
            "first_k_dense_replace": 3,
            "q_lora_rank": 2048,
            "kv_lora_rank": 512,
            "qk_nope_head_dim": 192,
            "qk_rope_head_dim": 64,
            "v_head_dim": 256,
            "index_topk": 2048,
            "index_head_dim": 128,
            "index_n_heads": 32,
            "vocab_size": 154_880,
        },
    ),
    "MiniMax-M1": (
        (456.090, 48.403, 47.174, 45.945),
        {
            "model_type": "minimax_m1",
            "hidden_size": 6144,
            "num_hidden_layers": 80,
            "num_attention_heads": 64,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "intermediate_size": 9216,
            "num_local_experts": 32,
            "num_experts_per_tok": 2,
            "shared_intermediate_size": 0,
            "attn_type_list": [0, 0, 0, 0, 0, 0, 0, 1] * 10,
            "vocab_size": 200_064,
        },
    ),
    "MiniMax-M2.5": (
        (228.690, 11.031, 10.416, 9.801),
        {
            "model_type": "minimax_m2",
            "hidden_size": 3072,
            "num_hidden_layers": 62,
            "num_attention_heads": 48,
            "num_key_value_heads": 8,
            "head_dim": 128,
            "intermediate_size": 1536,
            "num_local_experts": 256,
            "num_experts_per_tok": 8,
            "shared_intermediate_size": 0,
            "use_qk_norm": True,
            "attn_type_list": [1] * 62,
            "num_mtp_modules": 3,
            "vocab_size": 200_064,
        },
    ),
    "Llama-4-Maverick": (
        (400.712, 17.185, 16.150, 15.116),
        {
            "model_type": "llama4",
            "text_config": {
                "model_type": "llama4_text",
                "hidden_size": 5120,
                "num_hidden_layers": 48,
                "num_attention_heads": 40,
                "num_key_value_heads": 8,
                "head_dim": 128,
                "intermediate_size": 8192,
                "intermediate_size_mlp": 16384,
                "num_local_experts": 128,
                "num_experts_per_tok": 1,
                "interleave_moe_layer_step": 2,
                "attention_chunk_size": 8192,
                "vocab_size": 202_048,
            },
        },
    ),
    "DeepSeek-V4-Pro": (
        (1572.997, 49.779, 48.852, 47.926),
        {
            "model_type": "deepseek_v4",
            "hidden_size": 7168,
            "num_hidden_layers": 61,
            "num_attention_heads": 128,
            "num_key_value_heads": 1,
            "head_dim": 512,
            "moe_intermediate_size": 3072,
            "n_routed_experts": 384,
            "n_shared_experts": 1,
            "num_experts_per_tok": 6,
            "q_lora_rank": 1536,
            "o_groups": 16,
            "o_lora_rank": 1024,
            "qk_rope_head_dim": 64,
            "index_head_dim": 128,
            "index_n_heads": 64,
            "index_topk": 1024,
            "hc_mult": 4,
            "sliding_window": 128,
            "compress_ratios": [128, 128, *[4, 128] * 29, 4, 0],
            "vocab_size": 129_280,
        },
    ),
}


@pytest.mark.parametrize("name", LARGE)
def test_sums_of_models_without_a_file(name):
    expected, config = LARGE[name]
    model = rs.Model.from_config(config)
    names = ("active_with_input_embedding", "active_parameters", "active_without_tables")
    found = [model.total_parameters, *(getattr(model, name) for name in names)]
    assert [round(count / 1e9, 3) for count in found] == list(expected)
    assert model.unknown == ()


def test_layers_for_further_tokens_are_in_no_other_sum():
    model = rs.Model.from_config(LARGE["GLM-4.5"][1])
    assert round(model.multi_token_prediction_parameters / 1e9, 3) == 3.988
    assert model.total_with_multi_token_prediction == model.total_parameters + model.multi_token_prediction_parameters
    unknown = rs.Model.from_config(LARGE["MiniMax-M2.5"][1])
    assert "multi_token_prediction_parameters" not in unknown.attributes
    assert "num_mtp_modules: 3, of a layout that is not known, not counted" in unknown.assumptions


# ------------------------------------------------------------------------------------------------ one trap at a time


# Those whose layers carry a state, and DeepSeek-V4, need keys of their own.
@pytest.mark.parametrize("family", [n for n, f in FAMILIES.items() if not f.state and n != "deepseek_v4"])
def test_every_family_reads_a_plain_file(family):
    model = read(model_type=family, max_position_embeddings=512, sliding_window=None)
    assert model.family == family
    expert = 4 * FAMILIES[family].matrices * 64 * 128
    assert model.parts["dense_ffn"] >= expert
    assert model.total_parameters == sum(model.parts.values())


@pytest.mark.parametrize("old", [{"n_embd": 64, "n_layer": 4, "n_head": 8, "n_positions": 512}])
def test_old_names_and_widths(old):
    gone = dict.fromkeys(("hidden_size", "num_hidden_layers", "num_attention_heads", "intermediate_size"), ...)
    model = read(model_type="gpt2", num_key_value_heads=..., tie_word_embeddings=..., **gone, **old)
    d, biases = 64, 3 * 64 + 64 + 256 + 64
    assert model.parts["dense_ffn"] + model.parts["attention"] == 4 * (4 * d * d + 2 * d * 4 * d + biases)
    assert model.parts["other"] == 512 * d
    assert "output_head" not in model.parts
    assert any(line.startswith("tie_word_embeddings: true") for line in model.assumptions)


def test_inner_config_of_another_family_and_outer_tie():
    inner = {key: PLAIN[key] for key in PLAIN if key != "tie_word_embeddings"} | {"model_type": "qwen3_vl_text"}
    config = {"model_type": "qwen3_vl", "text_config": inner, "tie_word_embeddings": True}
    model = rs.Model.from_config(config)
    assert (model.family, model.name) == ("qwen3_vl", "qwen3_vl")
    assert "output_head" not in model.parts
    assert "output_head" in rs.Model.from_config({**config, "tie_word_embeddings": False}).parts


@pytest.mark.parametrize(
    ("keys", "layers"),
    [
        ({"n_routed_experts": 8, "num_experts_per_tok": 2, "first_k_dense_replace": 1}, 3),
        ({"num_experts": 8, "num_experts_per_token": 2, "moe_layer_freq": [0, 1, 0, 1]}, 2),
        ({"num_local_experts": 8, "top_k_experts": 2, "interleave_moe_layer_step": 2}, 2),
        ({"num_experts": 8, "moe_topk": [2] * 4, "decoder_sparse_step": 2, "mlp_only_layers": [1]}, 1),
        ({"moe_num_experts": 8, "moe_k": 2, "moe_layer_start_index": 1, "moe_layer_end_index": 2}, 2),
        ({"num_experts": 8, "num_experts_per_tok": 2, "mlp_layer_types": ["dense", "sparse", "sparse", "sparse"]}, 3),
        ({"num_experts": 8, "num_experts_per_tok": 2, "expert_layer_period": 2, "expert_layer_offset": 1}, 2),
        ({"num_experts": 8, "num_experts_per_tok": 2, "num_dense_layers": 2}, 2),
        ({"num_experts": 0}, 0),
        ({"num_experts": None}, 0),
    ],
)
def test_layers_with_experts(keys, layers):
    model = read(moe_intermediate_size=32, n_shared_experts=None, **keys)
    assert model.parts.get("routed_experts", 0) == layers * 8 * 3 * 64 * 32
    assert model.parts.get("dense_ffn", 0) == (4 - layers) * 3 * 64 * 128
    assert model.parts.get("router", 0) == layers * 8 * 64
    assert "shared_experts" not in model.parts
    assert model.dense_layers == 4 - layers


@pytest.mark.parametrize(
    ("keys", "width"),
    [
        ({"n_shared_experts": 2, "moe_intermediate_size": 32}, 64),
        ({"shared_expert_intermediate_size": 48, "moe_intermediate_size": 32}, 48),
        ({"shared_intermediate_size": 0}, 0),
        ({"model_type": "llama4"}, 128),
        ({"n_shared_experts": None}, 0),
    ],
)
def test_shared_experts(keys, width):
    model = read(num_experts=8, num_experts_per_tok=2, **keys)
    assert model.parts.get("shared_experts", 0) == 4 * 3 * 64 * width


def test_experts_on_a_narrower_input():
    model = read(num_experts=8, num_experts_per_tok=2, moe_intermediate_size=32, moe_latent_size=16)
    assert model.parts["routed_experts"] == 4 * 8 * 3 * 16 * 32
    assert model.parts["router"] == 4 * (8 * 64 + 2 * 64 * 16)
    # The registry's formula of routed weights gives them back.
    assert rs.value("dense_parameters", model=model) == pytest.approx(
        model.total_parameters - model.parts["routed_experts"], rel=1e-12
    )


@pytest.mark.parametrize(
    ("keys", "windowed", "window"),
    [
        ({"model_type": "qwen2", "use_sliding_window": False, "sliding_window": 16}, 0, 16),
        ({"model_type": "qwen2", "use_sliding_window": True, "sliding_window": 16, "max_window_layers": 3}, 1, 16),
        ({"model_type": "mistral", "sliding_window": 16}, 4, 16),
        ({"model_type": "mistral"}, 4, 4096),
        ({"model_type": "mistral", "sliding_window": None}, 0, 0),
        ({"model_type": "phi3", "sliding_window": 16}, 4, 16),
        ({"model_type": "gemma2", "sliding_window": 16}, 2, 16),
        ({"model_type": "gemma3", "sliding_window": 16, "sliding_window_pattern": 2}, 2, 16),
        ({"model_type": "gemma3", "sliding_window": 16}, 4, 16),
        ({"model_type": "exaone4", "sliding_window": 16, "sliding_window_pattern": "LLLG"}, 3, 16),
        ({"model_type": "gpt_oss", "sliding_window": 16}, 2, 16),
        ({"sliding_window": 16, "layer_types": ["sliding_attention", *["full_attention"] * 3]}, 1, 16),
        ({"model_type": "mimo_v2", "sliding_window": 16, "hybrid_layer_pattern": [0, 1, 1, 0]}, 2, 16),
        ({"model_type": "llama4", "attention_chunk_size": 16}, 3, 16),
        ({"model_type": "llama4", "attention_chunk_size": 16, "no_rope_layers": [1, 1, 0, 0]}, 2, 16),
        ({"model_type": "llama", "attention_chunk_size": 16, "sliding_window": 16}, 0, 16),
        ({"model_type": "mixtral", "sliding_window": None}, 0, 0),
    ],
)
def test_windows(keys, windowed, window):
    model = read(head_dim=8, **keys)
    a_layer = 2 * 2 * 8 * 2  # two heads, keys and values, two bytes
    tokens = 10_000
    assert model.cache_bytes(tokens) == a_layer * (windowed * min(window, tokens) + (4 - windowed) * tokens)
    assert model.cache_bytes(min(window, 8)) == a_layer * 4 * min(window, 8)
    table = model.cache_table(tokens)
    assert table.loc[table["window"] > 0, "layers"].sum() == windowed


def test_windows_with_heads_and_widths_of_their_own():
    keys = {
        "model_type": "mimo_v2",
        "hybrid_layer_pattern": [0, 1, 1, 1],
        "sliding_window": 16,
        "head_dim": 24,
        "v_head_dim": 16,
        "swa_num_key_value_heads": 4,
        "swa_head_dim": 24,
        "swa_v_head_dim": 16,
        "add_swa_attention_sink_bias": True,
    }
    model = read(**keys)
    assert model.cache_bytes(100) == 2 * (2 * 40 * 100 + 3 * 4 * 40 * 16)
    assert model.parts["attention"] == sum(64 * (8 * 40 + kv * 40) for kv in (2, 4, 4, 4)) + 3 * 8
    assert model.head_size == 20  # of keys and values in the mean: twice it is what a token leaves in a head


def test_full_layers_whose_values_are_their_keys():
    keys = {"model_type": "gemma4", "layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window": 16}
    keys |= {"global_head_dim": 32, "num_global_key_value_heads": 1, "attention_k_eq_v": True, "head_dim": 8}
    model = read(**keys)
    assert model.cache_bytes(100) == 2 * (2 * 2 * 2 * 8 * 16 + 2 * 2 * 32 * 100)  # cached apart all the same
    full, windowed = 64 * (2 * 8 * 32 + 32) + 2 * 32, 64 * (2 * 8 * 8 + 2 * 2 * 8) + 2 * 8
    assert model.parts["attention"] == 2 * (full + windowed)
    shared = read(**keys, num_kv_shared_layers=2)
    assert shared.cache_bytes(100) == model.cache_bytes(100) / 2


def test_one_head_of_keys_where_no_count_is_given():
    one = read(model_type="falcon", multi_query=True, num_key_value_heads=..., num_kv_heads=8)
    assert one.kv_heads == 1
    new = read(model_type="falcon", multi_query=True, new_decoder_architecture=True, num_key_value_heads=4)
    assert new.kv_heads == 4
    assert read(model_type="gpt_bigcode", n_positions=64, num_key_value_heads=...).kv_heads == 1


LATENT = {"kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "head_dim": 72}


def test_latent_attention_ignores_heads_in_its_cache():
    direct = read(model_type="deepseek_v3", q_lora_rank=None, **LATENT)
    assert direct.cache_bytes(10) == 2 * 4 * (32 + 8) * 10
    weights = 64 * 8 * 24 + 64 * 40 + 32 + 32 * 8 * 32 + 8 * 16 * 64
    assert direct.parts["attention"] == 4 * weights
    assert read(model_type="deepseek_v3", q_lora_rank=16, **LATENT).parts["attention"] == 4 * (
        weights - 64 * 8 * 24 + 64 * 16 + 16 + 16 * 8 * 24
    )
    assert (direct.kv_latent_size, direct.latent_rotary_size) == (40, 8)


@pytest.mark.parametrize(
    ("keys", "indexes"),
    [
        ({}, 4),
        ({"indexer_types": ["full", "shared", "full", "shared"]}, 2),
        ({"index_topk_pattern": "FSSS"}, 1),
        ({"index_topk_freq": 2}, 3),
    ],
)
def test_an_index_reads_less_and_stores_more(keys, indexes):
    index = {"index_topk": 64, "index_head_dim": 8, "index_n_heads": 4}
    plain = read(model_type="glm_moe_dsa", q_lora_rank=16, **LATENT)
    model = read(model_type="glm_moe_dsa", q_lora_rank=16, **LATENT, **index, **keys)
    assert model.cache_bytes(100) == plain.cache_bytes(100)
    assert model.cache_table(100)["index_bytes"].sum() == 2 * indexes * 8 * 100
    assert model.index_bytes_per_token == 2 * indexes * 8
    assert model.selected_tokens == 64
    assert model.total_parameters - plain.total_parameters == indexes * (16 * 4 * 8 + 64 * (8 + 4) + 2 * 8)


def test_one_mixer_a_block():
    keys = {
        "model_type": "nemotron_h",
        "hybrid_override_pattern": "M*-E",
        "mamba_num_heads": 4,
        "mamba_head_dim": 8,
        "ssm_state_size": 16,
        "n_groups": 2,
        "conv_kernel": 4,
        "n_routed_experts": 8,
        "num_experts_per_tok": 2,
        "n_shared_experts": 1,
        "moe_intermediate_size": 32,
        "moe_shared_expert_intermediate_size": 48,
        "attention_head_dim": 8,
    }
    model = read(**keys)
    assert model.parts["dense_ffn"] == 2 * 64 * 128  # two matrices
    assert model.parts["routed_experts"] == 8 * 2 * 64 * 32
    assert model.parts["shared_experts"] == 2 * 64 * 48
    assert model.parts["norms"] == 5 * 64
    assert model.state_bytes == 2 * (32 * 16 + (32 + 2 * 2 * 16) * 3)
    assert model.cache_bytes(10) == 2 * 2 * 2 * 8 * 10
    words = ["mamba", "attention", "mlp", "moe"]
    same = read(**{**keys, "hybrid_override_pattern": ..., "num_hidden_layers": ..., "layers_block_type": words})
    assert same.parts == model.parts


@pytest.mark.parametrize(
    ("keys", "states"),
    [
        ({"model_type": "lfm2", "conv_L_cache": 3, "full_attn_idxs": [1]}, 3),
        ({"model_type": "lfm2", "conv_L_cache": 3, "layer_types": ["conv", "full_attention", "conv", "conv"]}, 3),
        ({"model_type": "minimax", "attn_type_list": [0, 1, 0, 1]}, 2),
        ({"model_type": "jamba", "attn_layer_period": 4, "attn_layer_offset": 1}, 3),
    ],
)
def test_layers_with_a_state(keys, states):
    model = read(**keys)
    assert model.cache_bytes(10) == (4 - states) * 2 * 2 * 2 * 8 * 10
    assert model.state_bytes > 0
    assert model.global_attention_layers == 4 - states
    assert model.cache_bytes(0) == 0


def test_state_of_lightning_attention():
    model = read(model_type="minimax", attn_type_list=[0, 1, 0, 1])
    assert model.state_bytes == 2 * 2 * 8 * 8 * 8  # a matrix for each of eight heads
    assert model.parts["state_mixer"] == 2 * (5 * 64 * 64 + 64)


@pytest.mark.parametrize(
    ("family", "norms"),
    [("llama", 2), ("gemma2", 4), ("glm4", 4), ("cohere", 1), ("phi", 2), ("olmo", 0), ("starcoder2", 4)],
)
def test_norms(family, norms):
    model = read(model_type=family, sliding_window=None)
    after = {"phi": 2, "starcoder2": 2, "olmo": 0}.get(family, 1)  # vectors of one norm
    assert model.parts.get("norms", 0) == (4 * norms + after) * 64


def test_layers_of_linear_attention_count_from_one():
    linear = {"full_attn_layers": [4], "kda_layers": [1, 2, 3], "num_heads": 4, "head_dim": 8}
    linear["short_conv_kernel_size"] = 4
    model = read(model_type="kimi_linear", q_lora_rank=None, linear_attn_config=linear, **LATENT)
    assert list(model.cache_table().index) == ["linear", "latent"]
    assert model.state_bytes == 2 * 3 * (4 * 8 * 8 + 3 * 32 * 3)


def test_widths_that_are_rounded_up():
    keys = {"block_ff_dim": 1000, "conv_L_cache": 3, "full_attn_idxs": [0], "block_multiple_of": 256}
    assert read(model_type="lfm2", **keys).parts["dense_ffn"] == 4 * 3 * 64 * 768  # 666 to the next multiple
    attention = {"n_heads_in_group": 4, "no_op": False, "replace_with_linear": False}
    none = {"n_heads_in_group": None, "no_op": True, "replace_with_linear": False}
    blocks = [
        {"attention": attention, "ffn": {"ffn_mult": 5.25, "no_op": False, "replace_with_linear": False}},
        {"attention": none, "ffn": {"ffn_mult": 1.0, "no_op": False, "replace_with_linear": False}},
        {"attention": {**none, "no_op": False, "replace_with_linear": True}, "ffn": {"no_op": True}},
    ]
    model = read(model_type="nemotron-nas", num_hidden_layers=3, num_key_value_heads=None, block_configs=blocks)
    assert model.parts["dense_ffn"] == 3 * 64 * (256 + 256)
    assert model.parts["attention"] == 64 * (2 * 64 + 2 * 16) + 64 * 64
    assert model.parts["norms"] == (2 + 1 + 1 + 1) * 64
    assert model.cache_bytes(10) == 2 * 2 * 16 * 10


@pytest.mark.parametrize(
    ("keys", "more"),
    [
        ({"model_type": "qwen2"}, 64 + 2 * 16),
        ({"attention_bias": True}, 64 + 2 * 16 + 64),
        ({"model_type": "glm4_moe", "attention_bias": True}, 64 + 2 * 16),
        ({"model_type": "glm4_moe", "use_qk_norm": True}, 16),
        ({"model_type": "qwen3"}, 16),
        ({"model_type": "olmo2"}, 64 + 16),
        ({"model_type": "minimax_m2", "use_qk_norm": True}, 64 + 16),
        ({"model_type": "qwen3_5", "full_attention_interval": 1}, 64 * 64 + 16),
    ],
)
def test_what_attention_has_beside_its_matrices(keys, more):
    assert read(head_dim=8, **keys).parts["attention"] == 4 * (64 * (2 * 64 + 2 * 16) + more)


def test_biases_of_experts_and_routers():
    model = read(model_type="gpt_oss", num_local_experts=8, num_experts_per_tok=2, sliding_window=16)
    assert model.parts["router"] == 4 * 8 * (64 + 1)
    assert model.parts["routed_experts"] == 4 * 8 * (3 * 64 * 128 + 2 * 128 + 64)


def test_sizes_that_the_files_of_a_family_leave_out():
    text = {"model_type": "gemma3_text", "hidden_size": 2560, "intermediate_size": 10240, "num_hidden_layers": 34}
    model = rs.Model.from_config({"model_type": "gemma3", "text_config": {**text, "sliding_window": 1024}})
    assert model.total_parameters == 3_880_263_168
    assert "head_dim: 256, as Gemma3ForCausalLM does" in model.assumptions


def test_a_null_leaves_a_size_to_other_keys():
    assert read(model_type="ernie4_5").head_size == 128
    assert read(model_type="ernie4_5", head_dim=None).head_size == 64 / 8


def test_the_outer_type_comes_first():
    sparse = {"sparse_num_index_heads": 2, "sparse_index_dim": 8, "sparse_topk_blocks": 4, "sparse_block_size": 16}
    sparse["sparse_attention_freq"] = [0, 1, 1, 1]
    inner = {**PLAIN, "model_type": "minimax_m2", "head_dim": 8, "sparse_attention_config": sparse}
    model = rs.Model.from_config({"model_type": "minimax_m3_vl", "text_config": inner})
    assert model.family == "minimax_m3"
    assert model.parts["attention"] == 4 * (64 * (2 * 64 + 2 * 16) + 2 * 8) + 3 * (64 * 3 * 8 + 2 * 8)
    assert model.cache_table(100)["index_bytes"].sum() == 2 * 3 * 8 * 100
    assert model.cache_bytes(100) == 2 * 4 * 2 * 16 * 100
    read_bytes = rs.value("kv_read_bytes", model=model, context_length=1000)
    assert read_bytes == model.cache_bytes(1000) / 4 * 1 + model.cache_bytes(64) / 4 * 3 + 2 * 3 * 8 * 1000
    wrapped = rs.Model.from_config({"model_type": "llava", "text_config": {**PLAIN, "model_type": "qwen2"}})
    assert wrapped.family == "qwen2"


def test_an_unknown_family_is_read_as_far_as_its_keys_allow():
    model = read(model_type="brand_new", strange_width=7, attention_chunk_size=64)
    assert model.total_parameters == read().total_parameters
    assert model.unknown == ("strange_width", "attention_chunk_size")
    assert model.family == "unknown"
    assert "model_type: brand_new is not known, read as a plain decoder in the manner of Llama" in model.assumptions
    assert read(model_type="private", architectures=["Qwen3ForCausalLM"]).family == "qwen3"


def test_towers_of_unknown_kind_are_said():
    model = read(vision_config={"hidden_size": 8}, audio_config={"hidden_size": 8})
    assert model.total_parameters == read().total_parameters
    assert [line for line in model.assumptions if "tower" in line] == [
        "vision_config: a tower of unknown kind, not counted",
        "audio_config: a tower of unknown kind, not counted",
    ]


# ---------------------------------------------------------------------------------------------------------- formats


def test_bytes_of_mixed_formats():
    model = rs.Model.from_config(CONFIG["openai/gpt-oss-120b"])
    # Experts in 4 bits with a scale of 8 for 32 of them, the rest in 16; the published checkpoint has 60.8 GiB.
    routed = model.parts["routed_experts"]
    assert model.stored_bytes() == routed * 4.25 / 8 + (model.total_parameters - routed) * 2
    assert model.stored_bytes() / 2**30 == pytest.approx(60.8, abs=0.1)
    assert model.weight_format == "fp4"
    assert model.stored_bytes("bf16") == 2 * model.total_parameters
    assert model.parameter_table()["bytes"].sum() == model.stored_bytes()


@pytest.mark.parametrize(
    ("name", "weight", "kv", "kept"),
    [
        ("deepseek-ai/DeepSeek-V3", "fp8", "bf16", ()),
        ("deepseek-ai/DeepSeek-V4-Flash", "fp4", "bf16", ()),
        ("moonshotai/Kimi-K2.5", "fp4", "bf16", ("attention", "dense_ffn", "shared_experts")),
        ("nvidia/Kimi-K2.5-NVFP4", "fp4", "fp8", ("attention",)),
        ("nvidia/Kimi-K2.6-NVFP4", "fp4", "fp8", ("attention", "shared_experts")),
        ("nvidia/Gemma-4-26B-A4B-NVFP4", "fp4", "fp8", ("attention", "shared_experts")),
        ("Qwen/Qwen3-235B-A22B-FP8", "fp8", "bf16", ()),
        ("Qwen/Qwen3-32B-FP8-Static-PerTensor", "fp8", "fp8", ()),
        ("Qwen/Qwen3-8B", "bf16", "bf16", ("attention", "dense_ffn")),
    ],
)
def test_formats_of_public_files(name, weight, kv, kept):
    model = rs.Model.from_config(CONFIG[name])
    assert (model.weight_format, model.kv_format) == (weight, kv)
    table = model.parameter_table()
    whole = table["bytes"] / table["total"]
    matrices = {"attention", "dense_ffn", "routed_experts", "shared_experts"} & set(table.index)
    assert {part for part in matrices if whole[part] == 2} == set(kept)
    assert whole["input_table"] == 2


@pytest.mark.parametrize(
    ("table", "bits", "word"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4.125, "fp4"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4.25, "fp4"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8.25, "int8"),
        ({"quant_method": "fbgemm_fp8"}, 8, "fp8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8 + 32 / 2**14, "fp8"),
        ({"quant_method": "unheard of"}, 16, "bf16"),
    ],
)
def test_quantization(table, bits, word):
    model = read(quantization_config=table)
    assert model.weight_format == word
    assert model.parameter_table()["bytes"]["dense_ffn"] == model.parts["dense_ffn"] * bits / 8
    assert any("quantization_config" in line for line in model.assumptions) == (bits == 16)


def test_a_part_is_whole_only_if_most_of_its_layers_are():
    table = {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.0.self_attn", "model.layers.1.mlp.gate"]}
    assert read(quantization_config=table).parameter_table()["bytes"]["attention"] == read().parts["attention"]
    table["modules_to_not_convert"] += ["model.layers.3.self_attn"]
    assert read(quantization_config=table).parameter_table()["bytes"]["attention"] == 2 * read().parts["attention"]


def test_formats_of_the_caller_come_first():
    config = CONFIG["Qwen/Qwen3-Next-80B-A3B-Instruct"]
    model = rs.Model.from_config(config, weight_format="fp8", kv_format="fp8")
    plain = rs.Model.from_config(config)
    assert model.kv_bytes_per_token == plain.kv_bytes_per_token / 2
    assert model.cache_bytes(1000) == plain.cache_bytes(1000, kv_format="fp8")
    assert rs.value("weight_bytes", model=model) == 1
    for wrong in ({"weight_format": "fp5"}, {"kv_format": "float"}):
        with pytest.raises(errors.UnknownName, match=r"unknown \w+_format"):
            rs.Model.from_config(config, **wrong)


# ---------------------------------------------------------------------------------------------- as preset and as table


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["name"])
def test_a_model_is_a_preset_everywhere(entry):
    model = rs.Model.from_config(entry["config"], name=entry["name"])
    outputs = ["pass_time", "kv_bytes_per_token", "touched_parameters", "sparsity", "attention_flops_per_token"]
    found = rs.evaluate(outputs, model=model, hardware="GB200 NVL72", batch_size=64, context_length="4k")
    touched = model.parameter_table(64)["touched"].sum()
    assert float(found["touched_parameters"]) == pytest.approx(touched, rel=1e-12)  # other order of sums
    grows = model.cache_table()["bytes_per_added_token"].sum()
    if grows:
        assert float(found["kv_bytes_per_token"]) == grows
    elif model.cache_bytes(1):
        assert float(found["kv_bytes_per_token"]) == model.cache_bytes(1)
        stored = rs.value("kv_stored_bytes", model=model, context_length=131_072)
        assert stored == model.cache_bytes(131_072)
    assert rs.evaluate("pass_time", model=[model, "DeepSeek-V3"], hardware="H100", chips=64, batch_size=1,
                       context_length=0).sizes == {"model": 2}  # fmt: skip


def test_arrays_of_contexts_and_units():
    model = rs.Model.from_config(CONFIG["openai/gpt-oss-120b"])
    lengths = np.array([[0, 1], [128, 131_072]])
    found = model.cache_bytes(lengths)
    assert found.shape == (2, 2)
    assert found[1, 1] == model.cache_bytes("131072") == model.cache_bytes(131_072)
    assert model.cache_bytes("128k") == model.cache_bytes(128_000)
    for wrong in (-1, math.nan, [1, -1], math.inf):
        with pytest.raises(errors.ValueRangeError, match="finite and not negative"):
            model.cache_bytes(wrong)


def test_what_a_person_sees(monkeypatch):
    monkeypatch.setattr(catalogs, "_library", catalogs._Library())
    model = rs.Model.from_config(CONFIG["deepseek-ai/DeepSeek-V4-Flash"], name="V4", source="hub", date="2026-04")
    text, page = repr(model), model._repr_html_()
    for word in ("V4", "(model)", "total_parameters", "routed_experts", "5.536 kB/tok", "see a window", "assumed"):
        assert word in text
        assert word in page
    assert model.to_frame().loc["total_parameters", "source"] == "hub"
    assert model.date == "2026-04"
    assert "hub" in str(rs.explain("flops_per_token", model=model))
    assert pickle.loads(pickle.dumps(model)).cache_bytes(10) == model.cache_bytes(10)
    assert rs.models.define("V4 of a test", base=model)["layers"] == 43


def test_a_file_and_its_folder(tmp_path):
    folder = tmp_path / "My-Model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(PLAIN))
    for path in (folder, folder / "config.json", str(folder)):
        model = rs.Model.from_config(path)
        assert model.name == "My-Model"
        assert model.values == read().values
        assert model.facts["layers"].source == "My-Model, config.json"
    (tmp_path / "Other.json").write_text("\ufeff" + json.dumps(PLAIN))
    assert rs.Model.from_config(tmp_path / "Other.json").name == "Other"


# "DeepSeek-V3.2" is there as a variant of DeepSeek-V3, in another file.
IN_CATALOG = [
    name for name in CONFIG if (short := name.split("/")[1]) in rs.models and "models.toml" in rs.models[short].origin
]


@pytest.mark.parametrize("name", IN_CATALOG)
def test_catalog_agrees_with_the_files(name):
    model, preset = rs.Model.from_config(CONFIG[name]), rs.models[name.split("/")[1]]
    assert {key: model.values[key] for key in preset.values if key in model.values and "format" not in key} == {
        key: value for key, value in preset.values.items() if key in model.values and "format" not in key
    }
    for key in set(preset.attributes) & set(model.attributes):
        assert preset.attributes[key] == model.attributes[key], key


def test_the_catalog_has_the_models_of_the_files():
    assert len(IN_CATALOG) >= 38
    assert len([preset for preset in rs.models.values() if "models.toml" in preset.origin]) >= 50


# ---------------------------------------------------------------------------------------------------- hostile files


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        ({"hidden_size": ...}, "the config has no hidden_size (or n_embd, n_embed, d_model, block_dim)"),
        ({"hidden_size": None}, "which is null"),
        ({"num_hidden_layers": ...}, "num_hidden_layers: missing, and nothing lists the layers"),
        ({"vocab_size": ...}, "the config has no vocab_size"),
        ({"intermediate_size": ...}, "the config has no block_ff_dim (or intermediate_size"),
        ({"num_attention_heads": 7}, "head_dim: missing, and 7 heads do not divide 64 evenly"),
        ({"num_key_value_heads": 9}, "num_key_value_heads: 9 are more than the 8 heads"),
        ({"hidden_size": "64"}, "hidden_size: expected a whole number, got '64'"),
        ({"hidden_size": True}, "hidden_size: expected a whole number, got True"),
        ({"hidden_size": 64.5}, "hidden_size: expected a whole number, got 64.5"),
        ({"hidden_size": math.nan}, "hidden_size: expected a whole number, got nan"),
        ({"hidden_size": math.inf}, "hidden_size: expected a whole number, got inf"),
        ({"hidden_size": 0}, "hidden_size: expected 1 to 10,000,000, got 0"),
        ({"hidden_size": 10**8}, "hidden_size: expected 1 to 10,000,000, got 100000000"),
        ({"num_hidden_layers": 10**5}, "num_hidden_layers: expected 1 to 10,000, got 100000"),
        ({"num_hidden_layers": -1}, "num_hidden_layers: expected 1 to 10,000, got -1"),
        ({"hidden_size": {"a": 1}}, "hidden_size: expected a whole number, got {'a': 1}"),
        ({"tie_word_embeddings": "yes"}, "tie_word_embeddings: expected true or false, got 'yes'"),
        ({"layer_types": ["full_attention"] * 3}, "layer_types: 3 entries for 4 layers"),
        ({"layer_types": []}, "layer_types: 0 entries for 4 layers"),
        ({"layer_types": ["odd"] * 4}, "layer_types: unknown kind of layer 'odd'"),
        ({"layer_types": [[]] * 4}, "layer_types: unknown kind of layer []"),
        ({"layer_types": ["sliding_attention"] * 4}, "the config has no sliding_window"),
        ({"layer_types": ["mamba"] * 4}, "layers without attention are not known for 'llama'"),
        ({"layer_types": "full"}, "layer_types: expected a list, got 'full'"),
        ({"layer_types": ["full_attention"] * 10_001}, "a list of 10,001 entries"),
        ({"num_experts": 8}, "the config has no num_experts_per_tok"),
        ({"num_experts": 8, "num_experts_per_tok": 9}, "num_experts_per_tok: expected 1 to 8, got 9"),
        ({"num_experts": 8, "num_experts_per_tok": 2, "moe_layer_freq": [1]}, "moe_layer_freq: 1 entries for 4 layers"),
        ({"num_experts": 8, "num_experts_per_tok": 2, "moe_layer_freq": 0}, "moe_layer_freq: expected 1 to"),
        ({"num_experts": 8, "num_experts_per_tok": [1, 2]}, "num_experts_per_tok: expected a whole number, got [1, 2]"),
        ({"model_type": 7}, "model_type: expected a text, got 7"),
        ({"model_type": "deepseek_v4", "compress_ratios": [5] * 4}, "compress_ratios[0]: expected one of 0, 4, 128"),
        ({"kv_lora_rank": 8}, "the config has no qk_rope_head_dim"),
        ({"block_configs": [3] * 4}, "block_configs[0]: expected an object, got 3"),
        ({"quantization_config": []}, "quantization_config: expected an object, got []"),
        ({"quantization_config": {"bits": "four"}}, "quantization_config.bits: expected a whole number"),
        ({"vision_config": 3, "model_type": "gemma3"}, "vision_config: expected an object, got 3"),
        ({"text_config": {"hidden_size": 3}}, "text_config"),
        ({"text_config": [1]}, "text_config: expected an object, got [1]"),
    ],
)
def test_what_is_wrong_is_named(keys, message):
    with pytest.raises(errors.PresetError) as caught:
        read(**keys)
    assert message in str(caught.value)


@pytest.mark.parametrize("given", [3, None, [PLAIN], b"{}", ("a",)])
def test_what_is_no_config(given):
    with pytest.raises(errors.InputTypeError, match="from_config takes the path"):
        rs.Model.from_config(given)


TEXT = json.dumps(PLAIN, indent=1)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (TEXT[:-2], "line 10: "),
        (TEXT.replace(",", "", 1), "line 3: Expecting ',' delimiter"),
        ("", "line 1: Expecting value"),
        ("[1, 2]", "expected an object of keys, got [1, 2]"),
        ('{"hidden_size": 1, "hidden_size": 2}', "the key 'hidden_size' stands twice"),
        ('{"a": {"b": 1, "b": 1}}', "line 1: the key 'a.b' stands twice"),
        ('{"a":\n' + "[" * 100 + "]" * 100 + "}", "line 2: nested deeper than 40 levels"),
        ("[" * 1_000_000, "line 1: nested deeper than 40 levels"),
        ('{"hidden_size": ' + "9" * 100_000 + "}", "hidden_size: expected a whole number, got inf"),
        ('{"hidden_size": 1e999}', "hidden_size: expected a whole number, got inf"),
        ('{"a": [{"b": 1}, {"b": 2}],\n"hidden_size": "x", "b": 1}', "line 2: hidden_size: expected a whole number"),
        (TEXT.replace(": 4,", ": -4,"), "line 3: num_hidden_layers: expected 1 to 10,000"),
        ('{"\\u0062": 1,\n "b": 2}', "line 2: the key 'b' stands twice"),
        ('{"hidden_size": NaN}', "hidden_size: expected a whole number, got nan"),
        ('{"a": "' + "x" * (4 << 20) + '"}', "larger than 4 MiB"),
    ],
    ids=range(15),
)
def test_files_that_nobody_vouches_for(tmp_path, text, message):
    path = tmp_path / "config.json"
    path.write_text(text)
    start = time.perf_counter()
    with pytest.raises(errors.PresetError) as caught:
        rs.Model.from_config(path)
    assert message in str(caught.value)
    assert len(str(caught.value)) < 400
    assert time.perf_counter() - start < 5  # seconds, on a machine that does other things: no text takes minutes


def test_files_that_cannot_be_read(tmp_path):
    (tmp_path / "config.json").write_bytes(b"\xff\xfe{}")
    for path in (tmp_path / "config.json", tmp_path / "none.json", "a\0b"):
        with pytest.raises(errors.PresetError, match="cannot read"):
            rs.Model.from_config(path)


def test_infinity_where_nothing_depends_on_it(tmp_path):
    path = tmp_path / "config.json"
    path.write_text(TEXT.replace("{", '{"time_step_limit": [0.0, Infinity],', 1))
    assert rs.Model.from_config(path).values == read().values


def test_a_dict_that_holds_itself():
    config = dict(PLAIN)
    config["again"] = config
    with pytest.raises(errors.PresetError, match="nested deeper than 40 levels, or holds itself"):
        rs.Model.from_config(config)
    wide = [[]]
    for _ in range(60):
        wide = [wide, wide]
    with pytest.raises(errors.PresetError, match="nested deeper"):
        rs.Model.from_config({**PLAIN, "wide": wide})


def test_the_config_that_was_given_stays_as_it_was():
    for config in CONFIG.values():
        before = copy.deepcopy(config)
        rs.Model.from_config(config)
        assert config == before


def test_no_key_that_matters_is_taken_for_one_without_effect():
    names = {name for group in reading._ALIASES.values() for name in group}
    assert not [name for name in names if reading._WITHOUT_EFFECT.fullmatch(name)]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_value_at_any_key_gives_a_model_or_a_named_error(data):
    config = copy.deepcopy(CONFIG[data.draw(st.sampled_from(sorted(CONFIG)))])
    places = [config, *(value for value in config.values() if isinstance(value, dict))]
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.sampled_from(places))
        place[data.draw(st.sampled_from([*place, "num_experts", "layer_types", "kv_lora_rank"]))] = data.draw(JUNK)
    try:
        model = rs.Model.from_config(config)
    except errors.RoofslateError as error:
        message = str(error)
        model = None
    if model is None:
        assert 10 < len(message) < 500
        return
    assert model.total_parameters == sum(model.parts.values()) > 0
    assert 0 <= model.active_parameters <= model.total_parameters
    assert 0 <= model.cache_bytes(1000) <= model.cache_bytes(2000)


@settings(max_examples=100, deadline=None)
@given(cut=st.integers(0, len(TEXT) - 1), junk=st.text(max_size=3))
def test_truncated_and_garbled_text_is_refused_with_its_line(tmp_path_factory, cut, junk):
    path = tmp_path_factory.mktemp("cut") / "config.json"
    path.write_text(TEXT[:cut] + junk, encoding="utf-8")
    with contextlib.suppress(errors.PresetError):  # what was cut away may have no effect
        rs.Model.from_config(path)


@settings(max_examples=200, deadline=None)
@given(
    layers=st.integers(1, 60),
    width=st.integers(1, 64).map(lambda n: 64 * n),
    heads=st.sampled_from([1, 2, 4, 8]),
    tokens=st.integers(0, 10**6),
    experts=st.integers(2, 64),
    visited=st.integers(1, 2),
)
def test_laws_of_counting(layers, width, heads, tokens, experts, visited):
    keys = {"num_hidden_layers": layers, "hidden_size": width, "num_key_value_heads": heads}
    dense = read(**keys)
    sparse = read(**keys, num_experts=experts, num_experts_per_tok=visited)
    one = read(**{**keys, "num_hidden_layers": 1})
    two = read(**{**keys, "num_hidden_layers": 2})
    assert dense.total_parameters - one.total_parameters == (layers - 1) * (two.total_parameters - one.total_parameters)
    assert dense.cache_bytes(tokens) == layers * one.cache_bytes(tokens) == layers * tokens * 2 * 2 * heads * width // 8
    assert read(**keys, tie_word_embeddings=True).total_parameters == dense.total_parameters - 1000 * width
    assert sparse.parts["routed_experts"] == experts * dense.parts["dense_ffn"]
    routed = sparse.parameter_table()["active"]["routed_experts"]
    assert routed == visited * dense.parts["dense_ffn"]
    table = sparse.parameter_table(tokens)
    assert table["touched"].sum() <= sparse.total_parameters * (1 + 1e-12)  # sums of floats
    assert rs.value("dense_parameters", model=dense) == dense.total_parameters
