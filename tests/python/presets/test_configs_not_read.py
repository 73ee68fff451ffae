"""Unclear keys of a config.json: a warning, an error if strict, and a line on each card.

A model with unclear keys takes no part in a validation.
"""

import copy
import json
import pickle
import warnings

import pandas as pd
import pytest
import roofslate as rs
from roofslate import errors
from roofslate.presets.configs import known
from support.configs import CONFIG, LATE, PLAIN, read

SOME = (
    "meta-llama/Meta-Llama-3.1-70B",
    "Qwen/Qwen3-235B-A22B",
    "Qwen/Qwen3-Next-80B-A3B-Instruct",
    "deepseek-ai/DeepSeek-V3.2",
    "deepseek-ai/DeepSeek-V4-Flash",
    "google/gemma-4-26B-A4B",
    "moonshotai/Kimi-Linear-48B-A3B-Instruct",
    "openai/gpt-oss-120b",
    "nvidia/Nemotron-H-56B-Base-8K",
    "LiquidAI/LFM2-1.2B",
)
FILES = {name: CONFIG[name] for name in SOME} | {
    entry["name"]: entry["config"]
    for entry in LATE
    if any(
        word in entry["name"] for word in ("Kimi-K3", "LongCat", "Inkling", "Muse-Spark", "MiniMax-M3-N", "GLM-5.3-Fl")
    )
}


def told(config):
    """Return the warnings about a config, or the error that names a key."""
    try:
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            model = rs.Model.from_config(config, strict=False)
    except errors.PresetError as error:
        return f"refused: {error}"
    assert len(caught) == bool(model.not_read)
    return "; ".join(model.not_read)


def inner(config):
    """The object that describes the language model."""
    return config.get("text_config", config)


# --------------------------------------------------------------------------------------------------------- mutations


@pytest.mark.parametrize("name", FILES)
def test_no_key_can_be_renamed_silently(name):
    config = FILES[name]
    for key, value in inner(config).items():
        if value is None or known.is_harmless(key, value) or key == "quantization_config":
            continue
        changed = copy.deepcopy(config)
        table = inner(changed)
        table[f"{key}_new"] = table.pop(key)
        said = told(changed)
        assert said.startswith("refused") or f"{key}_new" in said, key


NEW = {
    "use_output_gate": True,
    "with_second_attention": True,
    "has_value_residual": True,
    "apply_ffn_branch": True,
    "use_mamba_branch": True,
    "gate_rank": 64,
    "rope_head_dim": 64,
    "encoder_layers": 6,
    "init_proj_dim": 64,
    "output_gate_dim": 128,
    "num_memory_tokens": 128,
    "n_dense_branches": 2,
    "block_hidden_size": 77,
    "layernorm_mlp_size": 12,
    "engram_vocab_size": 100_000,
    "mlp_expansion_ratio": 2.5,
    "attention_gate_type": "elementwise",
    "branch_config": {"dim": 64},
    "expert_widths": [32, 64],
}


@pytest.mark.parametrize("key", NEW)
def test_no_key_can_be_added_silently(key):
    for config in FILES.values():
        changed = copy.deepcopy(config)
        inner(changed)[key] = NEW[key]
        assert key in told(changed)


@pytest.mark.parametrize("name", FILES)
def test_no_object_can_be_added_to_silently(name):
    config = copy.deepcopy(FILES[name])
    tables = {
        key: value
        for key, value in inner(config).items()
        if isinstance(value, dict) and not known.is_harmless(key, value)
    }
    for table in tables.values():
        table["new_rank"] = 8
    assert told(config).count("new_rank") == len(tables)


def test_no_key_of_a_known_tower_is_lost():
    for config in (CONFIG["moonshotai/Kimi-K2.5"], CONFIG["google/gemma-4-26B-A4B"]):
        config = copy.deepcopy(config)
        config["vision_config"]["resampler_layers"] = 6
        assert told(config) == "vision_config.resampler_layers: not understood, taken as without weights"


@pytest.mark.parametrize("name", FILES)
def test_no_class_or_type_can_be_renamed_silently(name):
    config = {**copy.deepcopy(FILES[name]), "architectures": ["NobodyKnowsForCausalLM"]}
    assert told(config).startswith("architectures: NobodyKnowsForCausalLM is not known, read as ")
    inner(config)["architectures"] = ["NobodyKnowsForCausalLM"]
    config = {**config, "model_type": "nobody_knows"}
    if "text_config" in config:
        config["text_config"] = {**config["text_config"], "model_type": "nobody_knows_text"}
    said = told(config)
    assert said.startswith("refused") or "model_type: nobody_knows" in said


def test_a_known_class_names_the_family_of_a_private_type():
    config = {**CONFIG["deepseek-ai/DeepSeek-V4-Flash"], "model_type": "private"}
    assert told(config) == ""
    # the class of another family whose name begins alike is not that family
    assert "architectures: FalconH9ForCausalLM" in told({**PLAIN, "architectures": ["FalconH9ForCausalLM"]})
    assert "model_type" in told({**PLAIN, "model_type": "private", "architectures": ["LlamaNewForCausalLM"]})


@pytest.mark.parametrize(
    ("keys", "said"),
    [
        ({"num_attention_heads": 8, "n_head": 4}, "n_head"),
        ({"num_experts": 8, "num_local_experts": 16, "num_experts_per_tok": 2}, "num_experts"),
        ({"moe_shared_expert_intermediate_size": 8, "shared_expert_intermediate_size": 16, "num_experts": 8,
          "num_experts_per_tok": 2}, "shared_expert_intermediate_size"),
        ({"model_type": "mistral", "sliding_window": None, "attention_bias": True}, "attention_bias"),
        ({"per_layer_config": {"1": {"unheard_of_width": 8}}}, "per_layer_config.1.unheard_of_width"),
        ({"index_topk": 64, "index_n_heads": 4, "index_head_dim": 8}, "index_topk: not understood"),
        ({"hidden_size_per_layer_input": 8}, "hidden_size_per_layer_input: not understood"),
        ({"hc_mult": 4}, "hc_mult: not understood"),
        ({"moe_latent_size": 16}, "moe_latent_size: not understood"),
        ({"mamba_d_ssm": 64, "mamba_d_state": 16}, "mamba_d_ssm: not understood"),
        ({"attn_res_block_size": 2}, "attn_res_block_size: not understood"),
        ({"model_type": "kimi_new", "hidden_act": "relu2"}, "hidden_act: relu2, taken as a feed-forward part without"),
    ],
)  # fmt: skip
def test_what_contradicts_is_told(keys, said):
    assert said in told({**PLAIN, **keys})


@pytest.mark.parametrize(
    "keys",
    [
        {"num_experts": 8, "n_routed_experts": 8, "num_experts_per_tok": 2},
        {"use_new_thing": False, "num_new_things": 0, "new_things_layers": [], "mtp_new": None},
        {"new_dropout": 0.1, "new_rope_theta": 1e6, "new_token_id": 7, "embedding_dropout": 0.5, "new_scale": 0.125},
        {"rope_scaling": {"factor": 8.0, "rope_type": "llama3"}, "rope_parameters": {"full_attention": {"dim": 3}}},
    ],
)
def test_what_bears_no_weights_is_silent(keys):
    assert told({**PLAIN, **keys}) == ""


def test_activations_without_a_gate_in_files_of_unknown_families():
    with pytest.warns(errors.PartlyRead):
        ungated = read(model_type="new", hidden_act="relu2")
    with pytest.warns(errors.PartlyRead):
        gated = read(model_type="new", hidden_act="silu")
    assert ungated.parts["dense_ffn"] / gated.parts["dense_ffn"] == 2 / 3
    assert read(hidden_act="relu2").parts == read().parts  # whose class has a gate all the same


def test_states_in_files_of_unknown_families():
    linear = {"linear_num_key_heads": 2, "linear_num_value_heads": 4, "linear_conv_kernel_dim": 4}
    linear |= {"linear_key_head_dim": 8, "linear_value_head_dim": 8, "use_qk_norm": True}
    words = [*["linear_attention"] * 3, "full_attention"]
    with pytest.warns(errors.PartlyRead, match="linear_num_value_heads: layers without attention taken as delta"):
        model = read(model_type="new", layer_types=words, **linear)
    assert model.parts["state_mixer"] == read(model_type="qwen3_next", head_dim=8, **linear).parts["state_mixer"]


# ------------------------------------------------------------------------------------------------------ whom it reaches


UNREAD = {**PLAIN, "model_type": "brand_new", "strange_width": 7}


def unread(name="Brand-New"):
    with pytest.warns(errors.PartlyRead):
        return rs.Model.from_config(UNREAD, name=name, strict=False)


def test_three_degrees_of_strictness():
    message = r"^Brand-New was not fully read: model_type: brand_new is not known, .*; strange_width: not understood"
    with pytest.raises(errors.PresetError, match=message):
        rs.Model.from_config(UNREAD, name="Brand-New", strict=True)
    with pytest.raises(errors.PresetError, match=message + r", .* pass strict=False to read the model so$"):
        rs.Model.from_config(UNREAD, name="Brand-New")
    with pytest.warns(
        errors.PartlyRead, match=message + r", .* Compare its parameters with the model's card$"
    ) as caught:
        rs.Model.from_config(UNREAD, name="Brand-New", strict=False)
    assert caught[0].filename == __file__
    known_keys = {**PLAIN, "model_type": "brand_new"}  # a type without a key that may have weights
    with pytest.warns(errors.PartlyRead, match="model_type: brand_new is not known, read as a plain decoder"):
        assert rs.Model.from_config(known_keys).total_parameters == read().total_parameters
    with pytest.raises(errors.PresetError, match="model_type: brand_new"):
        rs.Model.from_config(known_keys, strict=True)
    assert rs.Model.from_config(PLAIN, strict=True).total_parameters == read().total_parameters


@pytest.mark.parametrize("batch_size", [[1, 2], [1, 1e9]], ids=["fits", "does not fit"])
def test_a_call_with_a_file_warns_once(tmp_path, batch_size):
    file = tmp_path / "config.json"
    file.write_text(json.dumps({**PLAIN, "model_type": "brand_new"}), encoding="utf-8")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        rs.evaluate("pass_time", model=str(file), hardware="H100", chips=1, batch_size=batch_size, context_length=4000)
    assert [w.category for w in caught].count(errors.PartlyRead) == 1


def test_many_doubts_are_counted():
    with pytest.warns(errors.PartlyRead, match=r"new_7: .*; and 12 more\. ") as caught:
        model = read(**{f"new_{i}": 8 for i in range(20)})
    assert len(str(caught[0].message)) < 2000
    assert len(model.not_read) == len(model.unknown) == 20


def test_what_a_person_sees():
    model = unread()
    for line in ("strange_width: not understood, taken as without weights", "model_type: brand_new is not known"):
        assert line in repr(model)
        assert line in model._repr_html_()
        assert any(entry.startswith(line) for entry in pickle.loads(pickle.dumps(model)).not_read)
    assert repr(model).count("strange_width") == 1
    summary = rs.summary(model=model, hardware="H100", concurrency=4, input_tokens="1k", output_tokens="1k")
    assert any(line.startswith("model not fully read: model_type: brand_new") for line in summary.assumed)
    assert "strange_width" in str(summary)
    assert "strange_width" in summary._repr_html_()


def test_a_summary_says_what_the_family_decides():
    model = read(tie_word_embeddings=...)
    summary = rs.summary(model=model, hardware="H100", concurrency=4, input_tokens="1k", output_tokens="1k")
    assert summary.assumed == ("model, assumed: tie_word_embeddings: false, as LlamaForCausalLM does",)
    assert rs.summary(model="Llama-3.1-8B", hardware="H100", concurrency=4).assumed == ()
    assert rs.summary(hardware="H100", total_parameters="8 G", concurrency=4).assumed == ()


def runs(model):
    row = {"model": model, "hardware": "H100", "weight_format": "bf16", "chips": 1, "concurrency": 4}
    return pd.DataFrame([{**row, "input_tokens": 100, "output_tokens": 100, "time_per_output_token_s": 0.01}])


@pytest.mark.usefixtures("fresh_catalogs")
def test_what_was_not_fully_read_is_not_validated():
    model = unread()
    defined = rs.models.define("Brand-New of a test", base=model)
    for given, models in (("Brand-New", {"Brand-New": model}), (defined.name, None), (model, None)):
        with pytest.raises(errors.PresetError, match=r"'Brand-New.*' was not fully read \(model_type: brand_new"):
            rs.validate(runs(given), models=models)
    card = rs.models.define("Brand-New by its card", **{**model, "total_parameters": 1e6})
    assert len(rs.validate(runs(card.name)).rows) == 1
    assert len(rs.validate(runs("Plain"), models={"Plain": read()}).rows) == 1
