"""Hostile and broken config.json: the error names the mistake and its line, quickly."""

import contextlib
import copy
import json
import math
import time

import pytest
import roofslate as rs
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from roofslate import errors
from roofslate.presets.configs import known
from support.configs import CONFIG, PLAIN, read

WITHOUT_ATTENTION = {"attention": {"no_op": True}}


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
        ({"block_configs": [{}] * 4}, "the config has no block_configs[0].attention.n_heads_in_group"),
        ({"block_configs": [WITHOUT_ATTENTION] * 4}, "the config has no block_configs[0].ffn.ffn_mult"),
        (
            {"block_configs": [{**WITHOUT_ATTENTION, "ffn": {"ffn_mult": 1001}}] * 4},
            "block_configs[0].ffn.ffn_mult: expected 0 to 1,000, got 1001",
        ),
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
        ('{"hidden_size": 1, "hidden_size": 2}', "duplicate key 'hidden_size'"),
        ('{"a": {"b": 1, "b": 1}}', "line 1: duplicate key 'a.b'"),
        ('{"a":\n' + "[" * 100 + "]" * 100 + "}", "line 2: nested deeper than 40 levels"),
        ("[" * 1_000_000, "line 1: nested deeper than 40 levels"),
        ('{"hidden_size": ' + "9" * 100_000 + "}", "hidden_size: expected a whole number, got inf"),
        ('{"hidden_size": 1e999}', "hidden_size: expected a whole number, got inf"),
        ('{"a": [{"b": 1}, {"b": 2}],\n"hidden_size": "x", "b": 1}', "line 2: hidden_size: expected a whole number"),
        (TEXT.replace(": 4,", ": -4,"), "line 3: num_hidden_layers: expected 1 to 10,000"),
        ('{"\\u0062": 1,\n "b": 2}', "line 2: duplicate key 'b'"),
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
    names = {name for group in known.ALIASES.values() for name in group} | set(known.SETTLED)
    assert not [name for name in names if known.is_harmless(name, 8)]


JUNK = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4),
    max_leaves=8,
)


@pytest.mark.filterwarnings("ignore::roofslate.errors.PartlyRead")
@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.too_slow])
@given(data=st.data())
def test_any_value_at_any_key_gives_a_model_or_a_named_error(data):
    config = copy.deepcopy(CONFIG[data.draw(st.sampled_from(sorted(CONFIG)))])
    places = [config, *(value for value in config.values() if isinstance(value, dict))]
    for _ in range(data.draw(st.integers(1, 3))):
        table = data.draw(st.sampled_from(places))
        table[data.draw(st.sampled_from([*table, "num_experts", "layer_types", "kv_lora_rank"]))] = data.draw(JUNK)
    try:
        model = rs.Model.from_config(config, strict=False)
    except errors.RoofslateError as error:
        message = str(error)
        model = None
    if model is None:
        assert 10 < len(message) < 500
        return
    assert model.total_parameters == sum(model.parts.values()) > 0
    assert 0 <= model.active_parameters <= model.total_parameters
    assert 0 <= model.cache_bytes(1000) <= model.cache_bytes(2000)


@pytest.mark.filterwarnings("ignore::roofslate.errors.PartlyRead")
@settings(max_examples=100, deadline=None)
@given(cut=st.integers(0, len(TEXT) - 1), junk=st.text(max_size=3))
def test_truncated_and_garbled_text_is_refused_with_its_line(tmp_path_factory, cut, junk):
    path = tmp_path_factory.mktemp("cut") / "config.json"
    path.write_text(TEXT[:cut] + junk, encoding="utf-8")
    with contextlib.suppress(errors.PresetError):  # the removed part may have no effect
        rs.Model.from_config(path)
