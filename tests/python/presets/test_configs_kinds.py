"""Kinds of models: public files of 2026, defaults of public classes, and small files.

The small files were counted by hand.
"""

import copy
import warnings

import pytest
import roofslate as rs
from roofslate import errors
from support.configs import KINDS, LATE, PLAIN, read

D, V, LAYERS = 64, 1000, 4  # of the plain file: width, vocabulary, layers
NORMS = (2 * LAYERS + 1) * D
FFN = 3 * D * 128
ATTENTION = D * (2 * 64 + 2 * 16)  # eight heads of eight, two of them for keys and values


@pytest.mark.parametrize("entry", LATE, ids=lambda entry: entry["name"])
def test_counts_of_files_of_2026(entry):
    model = rs.Model.from_config(entry["config"], name=entry["name"])
    result = {
        "total_parameters": model.total_parameters - model.parts.get("vision", 0),
        "routed_experts": model.parts.get("routed_experts", 0),
        "active_with_input_embedding": model.active_with_input_embedding,
    }
    assert result == entry["expected"]
    assert model.not_read == ()


def test_there_are_all_files_of_2026():
    assert len(LATE) == 57
    assert all(entry["source"] and entry["date"] and entry["method"] for entry in LATE)


@pytest.mark.parametrize("entry", KINDS, ids=lambda entry: entry["name"])
def test_counts_of_public_classes(entry):
    model = rs.Model.from_config(entry["config"], name=entry["name"])
    assert model.total_parameters == entry["expected"]["total_parameters"]
    assert model.parts.get("routed_experts", 0) == entry["expected"]["routed_experts"]
    assert model.not_read == ()


@pytest.mark.parametrize("entry", KINDS, ids=lambda entry: entry["name"])
def test_the_same_files_under_a_name_that_nobody_knows(entry):
    """Beyond 3% a warning or an error names a key."""
    config = {**entry["config"], "model_type": "new_kind"}
    said = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            rs.Model.from_config(config)
        except errors.PresetError as error:
            said.append(str(error))
    said += [str(w.message) for w in caught]
    keys = (
        "model_type: new_kind",
        "layer_types",
        "layers_block_type",
        "head_dim",
        "intermediate_size",
        "attention_heads",
    )
    assert len(said) == 1
    assert any(key in said[0] for key in (*keys, "attn_"))


# Public files whose classes are private, and the billions of parameters that their cards state.
PRIVATE = {
    "Ling-lite-1.5": (
        16.8,
        {
            "architectures": ["BailingMoeForCausalLM"],
            "model_type": "bailing_moe",
            "first_k_dense_replace": 0,
            "hidden_size": 2048,
            "intermediate_size": 1408,
            "moe_intermediate_size": 1408,
            "num_experts": 64,
            "num_shared_experts": 2,
            "num_attention_heads": 16,
            "num_experts_per_tok": 6,
            "num_hidden_layers": 28,
            "num_key_value_heads": 4,
            "tie_word_embeddings": False,
            "use_bias": False,
            "use_qkv_bias": False,
            "vocab_size": 126_464,
            "embedding_dropout": 0.0,
            "norm_head": False,
            "norm_softmax": False,
            "output_dropout": 0.0,
        },
    ),
    "Ling-mini-2.0": (
        16.26,
        {
            "architectures": ["BailingMoeV2ForCausalLM"],
            "model_type": "bailing_moe",
            "first_k_dense_replace": 1,
            "head_dim": 128,
            "hidden_size": 2048,
            "intermediate_size": 5120,
            "moe_intermediate_size": 512,
            "moe_router_enable_expert_bias": True,
            "moe_shared_expert_intermediate_size": 512,
            "num_attention_heads": 16,
            "num_experts": 256,
            "num_experts_per_tok": 8,
            "num_hidden_layers": 20,
            "num_key_value_heads": 4,
            "num_shared_experts": 1,
            "score_function": "sigmoid",
            "tie_word_embeddings": False,
            "use_qk_norm": True,
            "vocab_size": 157_184,
        },
    ),
    "Step-3.5-Flash": (
        195.8,
        {
            "architectures": ["Step3p5ForCausalLM"],
            "model_type": "step3p5",
            "att_impl_type": "GQA",
            "head_dim": 128,
            "hidden_size": 4096,
            "intermediate_size": 11264,
            "moe_intermediate_size": 1280,
            "moe_layers_enum": ",".join(map(str, range(3, 45))),
            "moe_num_experts": 288,
            "moe_top_k": 8,
            "norm_expert_weight": True,
            "num_attention_groups": 8,
            "num_attention_heads": 64,
            "num_hidden_layers": 45,
            "share_expert_dim": 1280,
            "tie_word_embeddings": False,
            "vocab_size": 128_896,
        },
    ),
}


@pytest.mark.parametrize("name", PRIVATE)
def test_sizes_of_private_classes(name):
    billions, config = PRIVATE[name]
    model = rs.Model.from_config(config, name=name)
    assert model.total_parameters / 1e9 == pytest.approx(billions, rel=0.003)
    assert model.not_read == ()


def test_layers_with_experts_by_their_numbers():
    experts = {"model_type": "step3p5", "num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    for said in ("1, 3", [1, 3]):
        assert read(**experts, moe_layers_enum=said).parts["routed_experts"] == 2 * 8 * 3 * D * 32
    with pytest.raises(errors.PresetError, match="moe_layers_enum: expected numbers of layers"):
        read(**experts, moe_layers_enum="1 to 3")


# -------------------------------------------------------------------------------------------------- gates on the output


@pytest.mark.parametrize(
    ("keys", "more"),
    [
        ({"attn_output_gate": True}, D * 64),
        ({"use_head_wise_attn_gate": True}, D * 8),
        ({"use_attention_gate": True}, D * 8),
        ({"gating": True}, D * 8),
        ({"gating": "per-head"}, D * 8),
        ({"gating": "per-element"}, D * 64),
        ({"gating": False}, 0),
    ],
)
def test_output_gates(keys, more):
    assert read(**keys).parts["attention"] == LAYERS * (ATTENTION + more)


LATENT = {"kv_lora_rank": 32, "qk_rope_head_dim": 8, "qk_nope_head_dim": 16, "v_head_dim": 16, "q_lora_rank": 24}
LATENT_WEIGHTS = 24 * (D + 1 + 8 * 24) + D * 40 + 32 + 32 * 8 * 32 + 8 * 16 * D
LINEAR = {"num_heads": 4, "head_dim": 8, "short_conv_kernel_size": 4, "full_attn_layers": [4]}
DELTA = 4 * D * 32 + 3 * 32 * 4 + 32 + 4 + 4 * D + 8  # without its two gates


@pytest.mark.parametrize(
    ("outer", "inner", "more"),
    [
        ({}, {}, 3 * (D * 8 + 8 * 32)),
        ({}, {"use_full_rank_gate": True}, 3 * D * 32),
        ({"mla_use_output_gate": True}, {}, 3 * (D * 8 + 8 * 32) + D * 8 * 16),
    ],
)
def test_gates_of_kimi(outer, inner, more):
    model = read(model_type="kimi_linear", linear_attn_config={**LINEAR, **inner}, **LATENT, **outer)
    low = 3 * (DELTA + D * 8 + 8 * 32)
    assert model.parts["attention"] + model.parts["state_mixer"] == LATENT_WEIGHTS + low + more


def test_residuals_and_latent_experts_of_kimi_k3():
    keys = {"num_experts": 8, "num_experts_per_token": 2, "moe_intermediate_size": 32, "first_k_dense_replace": 1}
    plain = read(model_type="kimi_linear", linear_attn_config=LINEAR, **LATENT, **keys)
    more = {"routed_expert_hidden_size": 16, "attn_res_block_size": 2}
    model = read(model_type="kimi_k3", linear_attn_config=LINEAR, **LATENT, **keys, **more)
    assert model.parts["routed_experts"] == plain.parts["routed_experts"] / 4 == 3 * 8 * 3 * 16 * 32
    assert model.parts["router"] == plain.parts["router"] + 3 * (2 * D * 16 + 16)
    assert model.parts["other"] == (4 * LAYERS + 2) * D
    bare = read(model_type="kimi_k3", linear_attn_config=LINEAR, **LATENT, **keys, **more, latent_moe_use_norm=False)
    assert bare.total_parameters == model.total_parameters - 3 * 16


# ------------------------------------------------------------------------------------------ experts and branches


LONGCAT = {
    "model_type": "longcat_flash",
    "num_layers": 2,
    "num_hidden_layers": ...,
    "ffn_hidden_size": 128,
    "intermediate_size": ...,
    "expert_ffn_hidden_size": 32,
    "n_routed_experts": 8,
    "zero_expert_num": 4,
    "moe_topk": 3,
}


def test_two_attentions_and_a_dense_part_in_a_block_with_experts_that_do_nothing():
    model = read(**LONGCAT, **LATENT)
    assert model.parts["attention"] == 2 * 2 * LATENT_WEIGHTS
    assert model.parts["dense_ffn"] == 2 * 2 * FFN
    assert model.parts["routed_experts"] == 2 * 8 * 3 * D * 32
    assert model.parts["router"] == 2 * (8 + 4) * D
    assert model.parts["norms"] == (4 * 2 + 1) * D
    assert model.cache_bytes(10) == 2 * 2 * 2 * (32 + 8) * 10
    visited = model.parts["routed_experts"] / 8 * 2  # three of twelve, of which eight do something
    assert model.active_with_input_embedding == model.total_parameters - model.parts["routed_experts"] + visited
    assert (model.layers, model.dense_layers, model.experts_per_token) == (4, 2, 2)
    twice = read(**{**LONGCAT, "num_hidden_layers": 4, "zero_expert_type": "identity"}, **LATENT)  # one an attention
    assert twice.parts == model.parts
    assert twice.not_read == ()
    assert "num_layers: 2 blocks of 2 attentions each, counted as 4 layers" in model.assumptions


def test_latent_experts_between_norms_and_gated_residuals():
    keys = {"num_local_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "moe_hidden_size": 16}
    model = read(model_type="muse_spark", head_dim=8, mlp_layer_types=["sparse"] * 4, **keys)
    assert model.parts["routed_experts"] == LAYERS * 8 * 3 * 16 * 32
    assert model.parts["router"] == LAYERS * (8 * D + 2 * D * 16 + 2 * 16)
    assert model.parts["attention"] == LAYERS * (ATTENTION + D * 64)
    assert model.parts["other"] == LAYERS * 2 * D
    assert model.parts["norms"] == (3 * LAYERS + 1) * D


def test_a_state_beside_attention_in_every_layer():
    keys = {"mamba_n_heads": 4, "mamba_d_head": 8, "mamba_d_ssm": 32, "mamba_d_state": 16, "mamba_n_groups": 1}
    model = read(model_type="falcon_h1", mamba_d_conv=4, mamba_rms_norm=False, **keys)
    mixed = 32 + 2 * 16
    state = D * (32 + mixed + 4) + mixed * 4 + mixed + 3 * 4 + 32 * D
    assert model.parts["state_mixer"] == LAYERS * state
    assert model.parts["attention"] == LAYERS * ATTENTION
    assert model.parts["dense_ffn"] == LAYERS * FFN
    assert model.state_bytes == 2 * LAYERS * (32 * 16 + mixed * 3)
    assert model.cache_bytes(10) == 2 * LAYERS * 2 * 16 * 10
    normed = read(model_type="falcon_h1", mamba_d_conv=4, mamba_rms_norm=True, **keys)
    assert normed.total_parameters == model.total_parameters + LAYERS * 32


def test_a_block_that_several_layers_share():
    keys = {"n_mamba_heads": 4, "mamba_headdim": 32, "mamba_d_state": 16, "mamba_ngroups": 1, "mamba_d_conv": 4}
    keys |= {"layers_block_type": ["mamba", "hybrid", "mamba", "hybrid"], "attention_head_dim": 16, "adapter_rank": 4}
    model = read(model_type="zamba2", tie_word_embeddings=True, num_mem_blocks=2, num_key_value_heads=8, **keys)
    attention = 3 * 2 * D * 8 * 16 + 8 * 16 * D
    assert model.parts["attention"] == 2 * attention + 2 * D * D
    assert model.parts["dense_ffn"] == 2 * FFN + 2 * 4 * (D + 2 * 128)
    assert model.parts["norms"] == LAYERS * D + D + 2 * 3 * D
    assert model.cache_bytes(10) == 2 * 2 * 2 * 8 * 16 * 10
    assert model.state_bytes == 2 * LAYERS * (128 * 16 + (128 + 2 * 16) * 3)


def test_tables_for_the_inputs_of_layers():
    keys = {"hidden_size_per_layer_input": 8, "vocab_size_per_layer_input": 500, "head_dim": 8, "laurel_rank": 4}
    keys |= {"layer_types": ["sliding_attention", "full_attention"] * 2, "sliding_window": 16, "altup_num_inputs": 4}
    model = read(model_type="gemma3n_text", intermediate_size=[128, 128, 256, 256], num_kv_shared_layers=2, **keys)
    assert model.parts["layer_tables"] == 500 * LAYERS * 8
    assert model.parts["dense_ffn"] == 2 * FFN + 2 * 2 * FFN
    borrowed = 2 * (D * 2 * 16 + 8)  # keys, values and a norm
    assert model.parts["attention"] == LAYERS * (ATTENTION + 2 * 8) - borrowed
    altup = 4**2 + 4**3 + 4 * D + D + D
    assert model.parts["other"] == LAYERS * (altup + 2 * 4 * D + D + 2 * D * 8 + D) + D * LAYERS * 8 + 8 + 6 * D * D


# ------------------------------------------------------------------------------------------ sizes that layers differ in


def test_sizes_of_single_layers():
    four = {"num_attention_heads": 4}
    by_layer = read(head_dim=8, per_layer_config={"1": four, "03": four})
    less = 2 * 2 * D * 4 * 8  # queries and output of four heads
    assert by_layer.parts["attention"] == LAYERS * ATTENTION - less
    listed = read(head_dim=8, num_attention_heads_per_layer=[8, 4, 8, 4])
    assert listed.parts == by_layer.parts
    lists = read(head_dim=8, num_attention_heads=[8, 4, 8, 4])
    assert lists.parts == by_layer.parts
    experts = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32}
    pyramid = read(**experts, per_layer_config={"3": {"num_experts": 16}})
    assert pyramid.parts["routed_experts"] == (3 * 8 + 16) * 3 * D * 32


def test_heads_of_windowed_layers():
    words = ["full_attention", *["sliding_attention"] * 3]
    keys = {"model_type": "step3p7", "head_dim": 8, "layer_types": words, "sliding_window": 16}
    plain = read(**keys)
    more = 3 * 2 * D * 8 * 8 + 3 * D * 8  # eight heads more, each with a gate
    for said in (
        {"num_sliding_attention_heads": 16},
        {"swa_num_attention_heads": 16},
        {"attention_other_setting": {"attention_type": "sliding_attention", "num_attention_heads": 16}},
    ):
        model = read(**keys, **said)
        assert model.parts["attention"] == plain.parts["attention"] + more
        assert model.not_read == ()


def test_heads_of_windowed_layers_under_another_name():
    keys = {"layer_types": ["sliding_attention"] * 4, "sliding_window": 16, "num_key_value_heads": ..., "head_dim": 8}
    other = {"attention_other_setting": {"num_attention_groups": 4}}
    model = read(model_type="step3p5", num_attention_groups=2, **keys, **other)
    assert model.cache_bytes(16) == 2 * LAYERS * 2 * 4 * 8 * 16
    assert model.not_read == ()


def test_latents_of_windowed_layers():
    words = ["indexed_attention", *["sliding_attention"] * 3]
    index = {"index_topk": 64, "index_head_dim": 8, "index_n_heads": 4}
    model = read(model_type="dots3_note", layer_types=words, sliding_window=16, swa_kv_lora_rank=64, **LATENT, **index)
    tokens = 100
    windowed = 2 * 3 * (64 + 64) * 16  # a latent and the class's 64 rotary elements
    assert model.cache_bytes(tokens) == 2 * (32 + 8) * tokens + windowed
    assert model.cache_table(tokens)["index_bytes"].sum() == 2 * 8 * tokens


# ------------------------------------------------------------------------------------------------------- quantization


def bits(model):
    table = model.parameter_table()
    return {part: 8 * table["bytes"][part] / table["total"][part] for part in table.index if part != "norms"}


SPARSE = {"num_experts": 8, "num_experts_per_tok": 2, "moe_intermediate_size": 32, "n_shared_experts": 1}
W4 = {"weights": {"num_bits": 4, "type": "int", "group_size": 128}}
W8 = {"weights": {"num_bits": 8, "type": "float"}}


@pytest.mark.parametrize(
    ("table", "expected"),
    [
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {
                    "group_0": {**W4, "targets": ["re:.*mlp.experts.*"]},
                    "group_1": {**W8, "targets": ["re:.*self_attn.*"]},
                },
            },
            {"routed_experts": 4.125, "attention": 8, "shared_experts": 16},
        ),
        (
            {
                "quant_method": "compressed-tensors",
                "config_groups": {"a": {**W8, "targets": ["Linear"]}, "b": {**W4, "targets": ["re:.*experts.*"]}},
                "ignore": ["re:.*self_attn.*", "lm_head"],
            },
            {"routed_experts": 4.125, "attention": 16, "shared_experts": 8},
        ),
        (
            {
                "quant_method": "modelopt",
                "quant_algo": "MIXED_PRECISION",
                "quantized_layers": {
                    "model.layers.0.self_attn.q_proj": {"quant_algo": "FP8"},
                    "model.layers.0.mlp.experts.0.up_proj": {"quant_algo": "NVFP4", "group_size": 16},
                    "model.layers.0.mlp.shared_experts.up_proj": {"quant_algo": "W4A16_NVFP4"},
                },
            },
            {"routed_experts": 4.5, "attention": 8, "shared_experts": 4.5},
        ),
        (
            {"quant_algo": "MIXED_PRECISION", "layers_by_quant_algo": {"MXFP8": 28, "NVFP4": 4 * 8 * 3}},
            {"routed_experts": 4.5, "attention": 8.25, "shared_experts": 8.25},
        ),
        (
            {"quant_method": "gptq", "bits": 4, "group_size": 128, "dynamic": {"-:.*self_attn.*": {}}},
            {"routed_experts": 4.15625, "attention": 16, "shared_experts": 4.15625},
        ),
        (
            {
                "quant_method": "auto-round",
                "bits": 4,
                "group_size": 128,
                "extra_config": {f"model.layers.{i}.self_attn.q_proj": {"bits": 8} for i in range(4)},
            },
            {"routed_experts": 4.125, "attention": 8.125, "shared_experts": 4.125},
        ),
        (
            {"quant_method": "fp8", "modules_to_not_convert": ["model.layers.*.mlp.shared_experts"]},
            {"routed_experts": 8, "attention": 8, "shared_experts": 16},
        ),
        ({"quant_method": "mxfp8"}, {"routed_experts": 8.25, "attention": 8.25, "shared_experts": 8.25}),
    ],
)
def test_formats_of_parts(table, expected):
    model = read(**SPARSE, quantization_config=table)
    result = bits(model)
    assert {part: result[part] for part in expected} == pytest.approx(expected)
    assert model.not_read == ()


def test_formats_as_mlx_writes_them():
    table = {"bits": 4, "group_size": 64, "model.layers.0.mlp.gate": {"bits": 8, "group_size": 64}}
    assert bits(read(**SPARSE, quantization=table))["routed_experts"] == 4.25


@pytest.mark.parametrize(
    ("table", "key"),
    [
        ({"quant_method": "fp8", "sparse_outlier_table": [1, 2]}, "quantization_config.sparse_outlier_table"),
        ({"quant_method": "new method"}, "quantization_config: new method is not known"),
        ({"quant_algo": "MIXED_PRECISION", "layers_by_quant_algo": {"FP8": 5, "NVFP4": 7}}, "layers_by_quant_algo"),
        (
            {"quant_algo": "MIXED_PRECISION", "quantized_layers": {"model.layers.0.mlp.up_proj": {"quant_algo": "?"}}},
            "quantized_layers.model.layers.0.mlp.up_proj",
        ),
        (
            {"config_groups": {"a": {**W8, "targets": ["Linear"]}, "b": {**W4, "targets": ["Linear"]}}},
            "config_groups: several formats",
        ),
    ],
)
def test_formats_that_are_not_understood(table, key):
    with pytest.warns(errors.PartlyRead, match=key):
        read(quantization_config=copy.deepcopy(table))


def test_a_plain_file_is_counted_as_before():
    assert read().total_parameters == 2 * V * D + LAYERS * (ATTENTION + FFN) + NORMS
    assert PLAIN["hidden_size"] == D
