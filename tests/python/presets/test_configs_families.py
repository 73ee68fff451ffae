"""Models read from a config.json: special cases of model families, one trap at a time."""

import pytest
import roofslate as rs
from roofslate import errors
from roofslate.presets.configs.conventions import FAMILIES
from support.configs import PLAIN, read


# Families with state layers, and DeepSeek-V4, need separate keys.
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
        ({"num_local_experts": 8, "num_experts_per_tok": 2, "moe_layers": [0, 1, 3]}, 3),
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
    assert model.head_size == 20  # mean of keys and values: a token stores twice as much per head


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


@pytest.mark.parametrize(("rank", "more"), [(None, 40 + 64), (16, 16 + 40 + 64)])
def test_biases_of_latent_attention(rank, more):
    """Down-projections to the latents and the output have biases.

    Up-projections and a direct query have none.
    """
    plain = read(model_type="deepseek_v3", q_lora_rank=rank, **LATENT)
    biased = read(model_type="deepseek_v3", q_lora_rank=rank, attention_bias=True, **LATENT)
    assert biased.parts["attention"] == plain.parts["attention"] + 4 * more


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


def test_an_interval_of_full_layers_that_the_file_leaves_out():
    linear = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_conv_kernel_dim": 4}
    linear |= {"linear_key_head_dim": 8, "linear_value_head_dim": 8}
    model = read(model_type="qwen3_next", **linear)
    assert list(model.cache_table().loc[["linear", "full"], "layers"]) == [3, 1]
    assert "full_attention_interval: 4, as Qwen3NextForCausalLM does" in model.assumptions
    said = read(model_type="qwen3_next", full_attention_interval=2, **linear)
    assert said.cache_bytes(100) == 2 * model.cache_bytes(100)
    assert not [line for line in said.assumptions if line.startswith("full_attention_interval")]


@pytest.mark.parametrize(
    ("keys", "projections"),
    [
        # into: gate, values, state inputs and outputs of two groups of 16, a step for each of four heads; and out
        (
            {"model_type": "bamba", "mamba_n_heads": 4, "mamba_d_head": 32, "mamba_n_groups": 2, "mamba_d_state": 16},
            128 + (128 + 2 * 2 * 16) + 4 + 64,
        ),
        ({"model_type": "jamba"}, 2 * 128 + 64),  # into: gate and values; and out
    ],
)
def test_biases_of_the_projections_of_a_state(keys, projections):
    keys = {**keys, "attn_layer_indices": [3]}
    plain, biased = read(**keys), read(**keys, mamba_proj_bias=True)
    assert biased.parts["state_mixer"] == plain.parts["state_mixer"] + 3 * projections
    assert biased.state_bytes == plain.state_bytes


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


def test_dense_layers_as_wide_as_shared_experts():
    keys = {"model_type": "granitemoehybrid", "attn_layer_indices": [0, 1, 2, 3], "shared_intermediate_size": 96}
    assert read(**keys).parts["dense_ffn"] == 4 * 3 * 64 * 96  # the width of experts is another
    with pytest.raises(errors.PresetError, match="the config has no moe_shared_expert_intermediate_size"):
        read(model_type="granitemoehybrid", attn_layer_indices=[0, 1, 2, 3])


def test_layers_that_borrow_a_cache_may_be_twice_as_wide():
    keys = {"model_type": "gemma4", "num_kv_shared_layers": 3, "sliding_window": 16}
    assert read(**keys).parts["dense_ffn"] == 4 * 3 * 64 * 128
    assert read(**keys, use_double_wide_mlp=True).parts["dense_ffn"] == (1 + 3 * 2) * 3 * 64 * 128


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
    keys = {"model_type": "nemotron-nas", "num_key_value_heads": None}
    model = read(num_hidden_layers=3, block_configs=blocks, **keys)
    assert model.parts["dense_ffn"] == 3 * 64 * (256 + 256)
    assert model.parts["attention"] == 64 * (2 * 64 + 2 * 16) + 64 * 64
    assert model.parts["norms"] == (2 + 1 + 1 + 1) * 64
    assert model.cache_bytes(10) == 2 * 2 * 16 * 10
    blocks.append({"attention": none, "ffn": {"ffn_mult": None, "replace_with_linear": True}})
    linear = read(num_hidden_layers=4, block_configs=blocks, **keys)  # one matrix in the place of three
    assert linear.parts["dense_ffn"] == model.parts["dense_ffn"] + 64 * 64
    assert linear.parts["norms"] == model.parts["norms"] + 64


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
        ({"qkv_bias": True}, 64 + 2 * 16),
        ({"model_type": "seed_oss"}, 64 + 2 * 16),
        ({"model_type": "seed_oss", "attention_out_bias": True}, 64 + 2 * 16 + 64),
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
    with pytest.warns(errors.PartlyRead, match=r"model_type: brand_new .*; strange_width: .*; attention_chunk_size: "):
        model = read(model_type="brand_new", strange_width=7, attention_chunk_size=64)
    assert model.total_parameters == read().total_parameters
    assert model.unknown == ("strange_width", "attention_chunk_size")
    assert model.family == "unknown"
    assert "model_type: brand_new is not known, read as a plain decoder in the manner of Llama" in model.assumptions
    assert read(model_type="private", architectures=["Qwen3ForCausalLM"]).family == "qwen3"
