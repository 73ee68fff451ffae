"""Models read from a config.json: counts of 53 public files, formats, presets, and tables."""

import contextlib
import json
import math
import pickle

import numpy as np
import pytest
import roofslate as rs
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import errors
from support.configs import CONFIG, FILES, PLAIN, read

# ------------------------------------------------------------------------------------------------------- real files


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["name"])
def test_counts_of_public_files(entry):
    model = rs.Model.from_config(entry["config"], name=entry["name"])
    caches = model.cache_table(131_072, kv_format="bf16")
    growth, index, state = (caches[c].sum() for c in ("bytes_per_added_token", "index_bytes", "state_bytes"))
    result = {
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
            assert result[name] == expected, name
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
    result = [model.total_parameters, *(getattr(model, name) for name in names)]
    assert [round(count / 1e9, 3) for count in result] == list(expected)
    assert model.unknown == ()


def test_layers_for_further_tokens_are_in_no_other_sum():
    model = rs.Model.from_config(LARGE["GLM-4.5"][1])
    assert round(model.multi_token_prediction_parameters / 1e9, 3) == 3.988
    assert model.total_with_multi_token_prediction == model.total_parameters + model.multi_token_prediction_parameters
    unknown = rs.Model.from_config(LARGE["MiniMax-M2.5"][1])
    assert "multi_token_prediction_parameters" not in unknown.attributes
    assert "num_mtp_modules: 3, of a layout that is not known, not counted" in unknown.assumptions


# ---------------------------------------------------------------------------------------------------------- formats


def test_bytes_of_mixed_formats():
    model = rs.Model.from_config(CONFIG["openai/gpt-oss-120b"])
    # Experts in 4 bits with a scale of 8 for 32 of them, the rest in 16; the published checkpoint has 60.8 GiB.
    routed = model.parts["routed_experts"]
    assert model.stored_bytes() == routed * 4.25 / 8 + (model.total_parameters - routed) * 2
    assert model.stored_bytes() / 2**30 == pytest.approx(60.8, abs=0.1)
    assert model.weight_format == "mxfp4"
    assert model.stored_bytes("bf16") == 2 * model.total_parameters
    assert model.parameter_table()["bytes"].sum() == model.stored_bytes()


@pytest.mark.parametrize(
    ("name", "weight", "kv", "unquantized"),
    [
        ("deepseek-ai/DeepSeek-V3", "fp8-block", "bf16", ()),
        ("deepseek-ai/DeepSeek-V4-Flash", "mxfp4", "bf16", ()),
        ("moonshotai/Kimi-K2.5", "int4-g32", "bf16", ("attention", "dense_ffn", "shared_experts")),
        ("nvidia/Kimi-K2.5-NVFP4", "nvfp4", "fp8", ("attention",)),
        ("nvidia/Kimi-K2.6-NVFP4", "nvfp4", "fp8", ("attention", "shared_experts")),
        ("nvidia/Gemma-4-26B-A4B-NVFP4", "nvfp4", "fp8", ("attention", "shared_experts")),
        ("Qwen/Qwen3-235B-A22B-FP8", "fp8-block", "bf16", ()),
        ("Qwen/Qwen3-32B-FP8-Static-PerTensor", "fp8", "fp8", ()),
        ("Qwen/Qwen3-8B", "bf16", "bf16", ("attention", "dense_ffn")),
    ],
)
def test_formats_of_public_files(name, weight, kv, unquantized):
    model = rs.Model.from_config(CONFIG[name])
    assert (model.weight_format, model.kv_format) == (weight, kv)
    table = model.parameter_table()
    bytes_per_weight = table["bytes"] / table["total"]
    matrices = {"attention", "dense_ffn", "routed_experts", "shared_experts"} & set(table.index)
    assert {part for part in matrices if bytes_per_weight[part] == 2} == set(unquantized)
    assert bytes_per_weight["input_table"] == 2


@pytest.mark.parametrize(
    ("table", "bits", "word"),
    [
        ({"quant_method": "gptq", "bits": 4, "group_size": 128}, 4.15625, "int4-g128-zp"),
        ({"quant_method": "awq", "bits": 4, "group_size": 64}, 4.3125, "int4-g64-zp"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, 8.25, "int8"),
        ({"quant_method": "fbgemm_fp8"}, 8, "fp8"),
        ({"quant_method": "fp8", "weight_block_size": [128, 128]}, 8 + 32 / 2**14, "fp8-block"),
        ({"quant_method": "unheard of"}, 16, "bf16"),
        ({"config_groups": {"group_0": {"weights": {"num_bits": 16, "type": "float"}}}}, 16, "bf16"),
    ],
)
def test_quantization(table, bits, word):
    known = table.get("quant_method") != "unheard of"
    with contextlib.nullcontext() if known else pytest.warns(errors.PartlyRead, match="quantization_config: unheard"):
        model = read(quantization_config=table)
    assert model.weight_format == word
    assert model.parameter_table()["bytes"]["dense_ffn"] == model.parts["dense_ffn"] * bits / 8
    guessed = [line for line in model.assumptions if "quantization_config" in line]
    assert len(guessed) == (not known)


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
    assert rs.value("bytes_per_weight", model=model) == 1
    # 4 bits and a scale of 8 bits for 16 of them; a model with experts keeps everything else in 16 bits
    sparse = rs.Model.from_config(config, weight_format="fp4")
    dense = rs.Model.from_config(PLAIN, weight_format="fp4")
    for model, parts in ((sparse, {"routed_experts"}), (dense, {"attention", "dense_ffn"})):
        table = model.parameter_table()
        bits = 8 * table["bytes"] / table["total"]
        assert {part: bits[part] for part in bits.index if bits[part] != 16} == dict.fromkeys(parts, 4.5)
    for word, width in (("int4", 4.125), ("nvfp4", 4.5), ("mxfp4", 4.25)):
        model = rs.Model.from_config(PLAIN, weight_format=word, kv_format=word)
        assert model.weight_format == word
        assert model.parameter_table()["bytes"]["dense_ffn"] == model.parts["dense_ffn"] * width / 8
        assert model.cache_bytes(10) == rs.Model.from_config(PLAIN).cache_bytes(10) * width / 16
        assert model.stored_bytes() == rs.Model.from_config(PLAIN).stored_bytes(word)
    for wrong in ({"weight_format": "fp5"}, {"kv_format": "float"}):
        with pytest.raises(errors.UnknownName, match=r"unknown \w+_format"):
            rs.Model.from_config(config, **wrong)


# ---------------------------------------------------------------------------------------------- as preset and as table


@pytest.mark.parametrize("entry", FILES, ids=lambda entry: entry["name"])
def test_a_model_is_a_preset_everywhere(entry):
    model = rs.Model.from_config(entry["config"], name=entry["name"])
    outputs = ["pass_time", "kv_bytes_per_token", "sparsity", "attention_flops_per_token"]
    result = rs.evaluate(outputs, model=model, hardware="GB200 NVL72", batch_size=64, context_length="4k")
    touched = model.parameter_table(64)["touched"].sum()
    bytes_of_one = {"bytes_per_weight": 1, "dense_format": "same"}
    fetched = rs.value("fetched_weight_bytes", {"batch_size": 64, **bytes_of_one}, model=model)
    assert fetched == pytest.approx(touched, rel=1e-12)  # other order of sums
    if model.cache_bytes(1):
        tokens = 128  # tokens: entries for several tokens are complete, and no window is left
        assert float(result["kv_bytes_per_token"]) == model.cache_bytes(tokens) / tokens
        if model.values.get("windowed_kv_share"):
            without = {"index_bytes_per_token": 0, "recurrent_state_bytes": 0}
            stored = rs.value("kv_stored_bytes", model=model, context_length=131_072, **without)
            assert stored == pytest.approx(model.cache_bytes(131_072), rel=1e-12)
    assert rs.evaluate("pass_time", model=[model, "DeepSeek-V3"], hardware="H100", chips=64, batch_size=1,
                       context_length=0).sizes == {"model": 2}  # fmt: skip


def test_arrays_of_contexts_and_units():
    model = rs.Model.from_config(CONFIG["openai/gpt-oss-120b"])
    lengths = np.array([[0, 1], [128, 131_072]])
    result = model.cache_bytes(lengths)
    assert result.shape == (2, 2)
    assert result[1, 1] == model.cache_bytes("131072") == model.cache_bytes(131_072)
    assert model.cache_bytes("128k") == model.cache_bytes(128_000)
    for wrong in (-1, math.nan, [1, -1], math.inf):
        with pytest.raises(errors.ValueRangeError, match="finite and not negative"):
            model.cache_bytes(wrong)


@pytest.mark.usefixtures("fresh_catalogs")
def test_what_a_person_sees():
    model = rs.Model.from_config(CONFIG["deepseek-ai/DeepSeek-V4-Flash"], name="V4", source="hub", date="2026-04")
    text, page = repr(model), model._repr_html_()
    for word in ("V4", "(model)", "total_parameters", "routed_experts", "49.57 kB/tok", "see a window", "assumed"):
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


# ------------------------------------------------------------------------------------------------------------- laws


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
