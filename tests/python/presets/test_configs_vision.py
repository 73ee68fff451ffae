"""Towers of a language model for images and sound.

Totals of published checkpoints, tensor by tensor, and defaults.
"""

from typing import Any

import pytest
import roofslate as rs
from roofslate import errors
from support.configs import CONFIG, PLAIN

LLAMA_4 = {
    "hidden_size": 1408,
    "intermediate_size": 5632,
    "num_hidden_layers": 34,
    "num_attention_heads": 16,
    "num_channels": 3,
    "patch_size": 14,
    "image_size": 336,
    "projector_input_dim": 4096,
    "projector_output_dim": 4096,
    "vision_output_dim": 4096,
}
MISTRAL_SMALL = {
    "model_type": "mistral",
    "hidden_size": 5120,
    "intermediate_size": 32768,
    "num_hidden_layers": 40,
    "num_attention_heads": 32,
    "num_key_value_heads": 8,
    "head_dim": 128,
    "vocab_size": 131_072,
    "sliding_window": None,
}
PIXTRAL = {"hidden_size": 1024, "intermediate_size": 4096, "num_hidden_layers": 24, "num_channels": 3, "patch_size": 14}
GEMMA_4 = {
    "model_type": "gemma4_text",
    "hidden_size": 1536,
    "intermediate_size": 6144,
    "num_hidden_layers": 35,
    "layer_types": (["sliding_attention"] * 4 + ["full_attention"]) * 7,
    "sliding_window": 512,
    "num_attention_heads": 8,
    "num_key_value_heads": 1,
    "num_global_key_value_heads": None,
    "num_kv_shared_layers": 20,
    "head_dim": 256,
    "global_head_dim": 512,
    "attention_k_eq_v": False,
    "use_double_wide_mlp": True,
    "enable_moe_block": False,
    "num_experts": None,
    "vocab_size": 262_144,
    "vocab_size_per_layer_input": 262_144,
    "hidden_size_per_layer_input": 256,
}
GEMMA_4_LARGER = {
    **GEMMA_4,
    "hidden_size": 2560,
    "intermediate_size": 10240,
    "num_hidden_layers": 42,
    "layer_types": (["sliding_attention"] * 5 + ["full_attention"]) * 7,
    "num_key_value_heads": 2,
    "num_kv_shared_layers": 18,
    "use_double_wide_mlp": False,
}
GEMMA_4_TOWERS: dict[str, Any] = {
    "tie_word_embeddings": True,
    "vision_config": {"hidden_size": 768, "intermediate_size": 3072, "num_hidden_layers": 16, "head_dim": 64},
    "audio_config": {
        "hidden_size": 1024,
        "num_hidden_layers": 12,
        "num_attention_heads": 8,
        "subsampling_conv_channels": [128, 32],
        "conv_kernel_size": 5,
        "output_proj_dims": 1536,
    },
}


# Elements in the safetensors files of the public checkpoints, as huggingface.co/api/models/<name> states them; read in
# lists of public repositories, 2026-11. Those of Gemma-4 have more than its classes use: a scale for each layer, and
# keys and values, with a norm of the keys, of the layers that borrow them: 16 windowed ones and 4 with heads of 512 in
# the smaller, 15 and 3, two heads each, in the larger.
@pytest.mark.parametrize(
    ("config", "published", "unused"),
    [
        (
            {**CONFIG["meta-llama/Llama-4-Scout-17B-16E-Instruct"], "vision_config": LLAMA_4},
            108_641_793_536,
            0,
        ),
        (
            {
                "model_type": "mistral3",
                "text_config": MISTRAL_SMALL,
                "vision_config": PIXTRAL,
                "vision_feature_layer": -1,
                "projector_hidden_act": "gelu",
                "multimodal_projector_bias": False,
                "spatial_merge_size": 2,
            },
            24_011_361_280,
            0,
        ),
        (
            {"model_type": "gemma4", "text_config": GEMMA_4, **GEMMA_4_TOWERS},
            5_123_178_051,
            35 + 16 * (2 * 1536 * 256 + 256) + 4 * (2 * 1536 * 512 + 512),
        ),
        (
            {"model_type": "gemma4", "text_config": GEMMA_4_LARGER, **GEMMA_4_TOWERS},
            7_996_156_490,
            42 + 15 * (2 * 2560 * 512 + 256) + 3 * (2 * 2560 * 1024 + 512),
        ),
    ],
    ids=["Llama-4-Scout", "Mistral-Small-3.1", "gemma-4-E2B", "gemma-4-E4B"],
)
def test_totals_of_published_checkpoints(config, published, unused):
    model = rs.Model.from_config(config)
    assert model.total_parameters == published - unused
    assert model.unknown == ()


def towers(family, outer=(), **configs):
    """Weights by part of a plain model of width 64 with towers."""
    return rs.Model.from_config({**PLAIN, "model_type": family, "head_dim": 8, **dict(outer), **configs}).parts


def linear(into, out):
    return into * out + out


def test_vision_of_minimax_tensor_by_tensor():
    # MiniMaxM3VLVisionModel and MiniMaxM3VLMultiModalProjector of transformers
    vision = {"hidden_size": 32, "intermediate_size": 96, "num_hidden_layers": 2, "num_channels": 3}
    vision |= {"patch_size": 4, "temporal_patch_size": 5, "spatial_merge_size": 3}
    patches = 3 * 5 * 4 * 4 * 32
    layer = 4 * linear(32, 32) + linear(32, 96) + linear(96, 32) + 2 * 2 * 32
    projector = linear(32, 40) + linear(40, 64) + linear(9 * 64, 40) + linear(40, 64)
    result = towers("minimax_m3_vl", {"projector_hidden_size": 40}, vision_config=vision)
    assert result["vision"] == patches + 2 * 32 + 2 * layer + projector


def test_a_head_that_pools_the_patches_of_gemma_3():
    # SiglipMultiheadAttentionPoolingHead of transformers, which a tower has unless the file says otherwise
    vision = {"hidden_size": 32, "intermediate_size": 96, "num_hidden_layers": 2}
    head = 32 + linear(32, 3 * 32) + linear(32, 32) + 2 * 32 + linear(32, 96) + linear(96, 32)
    without = towers("gemma3", vision_config={**vision, "vision_use_head": False})
    assert towers("gemma3", vision_config=vision)["vision"] == without["vision"] + head


def test_biases_of_the_projector_of_mistral():
    plain = towers("mistral3", vision_config=PIXTRAL)["vision"]
    assert towers("mistral3", {"multimodal_projector_bias": True}, vision_config=PIXTRAL)["vision"] == plain + 2 * 64
    # of 2 x 2 patches, unless the file says otherwise
    wider = towers("mistral3", {"spatial_merge_size": 3}, vision_config=PIXTRAL)["vision"]
    assert wider == plain + (3**2 - 2**2) * 1024**2


# Defaults of the configuration classes of transformers for missing keys.
DEFAULTS = {
    "llama4": {
        "hidden_size": 768,
        "intermediate_size": 5632,
        "num_hidden_layers": 34,
        "num_channels": 3,
        "patch_size": 14,
        "image_size": 448,
        "projector_input_dim": 4096,
        "projector_output_dim": 4096,
        "vision_output_dim": 7680,
    },
    "mistral3": {**PIXTRAL, "patch_size": 16},
    "minimax_m3": {
        "hidden_size": 1280,
        "intermediate_size": 5120,
        "num_hidden_layers": 32,
        "num_channels": 3,
        "patch_size": 14,
        "temporal_patch_size": 2,
        "spatial_merge_size": 2,
    },
}


@pytest.mark.parametrize("family", DEFAULTS)
def test_sizes_that_a_file_leaves_out(family):
    assert towers(family, vision_config={}) == towers(family, vision_config=DEFAULTS[family])
    for size, default in DEFAULTS[family].items():
        assert towers(family, vision_config={size: 2 * default}) != towers(family, vision_config={})


def test_sizes_of_sound_that_a_file_leaves_out():
    known = GEMMA_4_TOWERS["audio_config"]
    assert towers("gemma4", audio_config={}) == towers("gemma4", audio_config=known)
    for size, default in known.items():
        assert towers("gemma4", audio_config={size: 2 * default if isinstance(default, int) else [64, 16]}) != towers(
            "gemma4", audio_config=known
        )


def test_heads_of_a_tower_that_do_not_divide_its_width():
    vision = {"hidden_size": 32, "intermediate_size": 96, "depth": 2, "num_heads": 5}
    with pytest.raises(errors.PresetError, match=r"^vision_config.num_heads: 5 heads do not divide 32 evenly$"):
        towers("qwen3_vl", vision_config=vision)


def test_towers_of_unknown_kind_are_said():
    towered = {**PLAIN, "vision_config": {"hidden_size": 8}, "audio_config": {"hidden_size": 8}}
    with pytest.raises(errors.PresetError, match=r"vision_config: a tower of unknown kind.*; audio_config: a tower"):
        rs.Model.from_config(towered)
    with pytest.warns(errors.PartlyRead, match=r"vision_config: a tower of unknown kind.*; audio_config: a tower"):
        model = rs.Model.from_config(towered, strict=False)
    assert model.total_parameters == rs.Model.from_config(PLAIN).total_parameters
    assert [line for line in model.assumptions if "tower" in line] == [
        "vision_config: a tower of unknown kind, not counted",
        "audio_config: a tower of unknown kind, not counted",
    ]
