"""Shipped presets: numbers with sources, consistent with the registry and each other."""

import math
from pathlib import Path

import pytest
import roofslate as rs
from roofslate.presets import catalog as catalogs

pytestmark = pytest.mark.usefixtures("fresh_catalogs")
UNITS = {
    **dict.fromkeys(["small_product_time", "small_all_reduce_time"], "s"),
    "all_reduce_exponent": "1",
    **dict.fromkeys(["peak_flops", *(f"peak_flops_{f}" for f in ("bf16", "fp8", "int8", "fp4"))], "FLOP/s/chip"),
    **dict.fromkeys(["hbm_bandwidth", "scale_up_bandwidth", "scale_out_bandwidth"], "byte/s/chip"),
    **dict.fromkeys(["scale_up_domain", "chips"], "chip"),
    **dict.fromkeys(["dies_per_chip", "cables_per_chip"], "1/chip"),
    **dict.fromkeys(["scale_up_topology", "torus_dimensions", "torus_wiring"], "1"),
    **dict.fromkeys(["torus_length", "torus_width", "torus_height", "group_links", "global_links"], "1"),
    **dict.fromkeys(["dragonfly_group", "dragonfly_board", "chips_per_tray"], "chip"),
    **dict.fromkeys(["rack_power", "rack_fixed_power", "liquid_cooling", "air_cooling"], "J/s"),
    "rack_power_per_chip": "J/s/chip",
    **dict.fromkeys(["tray_weight", "rack_fixed_weight"], "kg"),
    **dict.fromkeys(
        ["total_parameters", "active_parameters", "active_dense_parameters", "matrices_per_expert"], "parameter"
    ),
    **dict.fromkeys(["layers", "dense_layers", "hidden_size", "intermediate_size", "vocabulary_size"], "1"),
    **dict.fromkeys(["attention_heads", "kv_heads", "head_size", "kv_latent_size"], "1"),
    **dict.fromkeys(["experts", "experts_per_token", "shared_experts", "expert_intermediate_size"], "1"),
    **dict.fromkeys(["weight_format", "dense_format", "kv_format", "expert_reads"], "1"),
    "dense_bytes_per_weight": "byte/parameter",
    **dict.fromkeys(["recurrent_layers", "kv_layers"], "1"),
    "layer_state_bytes": "byte/sequence",
    **dict.fromkeys(["latent_rotary_size", "global_attention_layers", "windowed_kv_share"], "1"),
    **dict.fromkeys(["kv_compression", "kept_token_share", "kept_head_share", "stored_layer_share"], "1"),
    **dict.fromkeys(["attention_window", "selected_tokens"], "token/sequence"),
    "index_bytes_per_token": "byte/token",
    "recurrent_state_bytes": "byte/sequence",
    **dict.fromkeys(["dispatch_bytes_per_element", "combine_bytes_per_element"], "byte/token"),
    "expert_parallel": "chip",
    "link_bandwidth_ratio": "1",
    **dict.fromkeys(["decode_inefficiency", "price_factor", "speed_factor"], "1"),
    **dict.fromkeys(["input_price", "output_price", "long_input_price", "long_output_price"], "USD/token"),
    **dict.fromkeys(["cache_read_price", "long_cache_read_price"], "USD/token"),
    **dict.fromkeys(["cache_write_price", "long_cache_write_price"], "USD/token"),
    **dict.fromkeys(["model_lifetime", "cache_write_time", "long_cache_write_time"], "s"),
    "rl_flops_per_parameter": "FLOP/parameter/token",
    "model_token_rate": "token/s",
    "pretraining_tokens": "token",
    **dict.fromkeys(["input_tokens", "turn_input_tokens", "output_tokens"], "token/sequence"),
    **dict.fromkeys(["turns", "prefix_hit_rate"], "1"),
    "long_context_threshold": "token/sequence",
    "cache_storage_price": "USD/token/s",
    "tier_capacity": "byte",
    "tier_bandwidth": "byte/s",
    "tier_price": "USD/s",
    "tier_purchase_price": "USD",
    "tier_rent": "USD/byte/s",
    "hbm_capacity": "byte/chip",
    "chip_power": "J/s/chip",
    "chip_price": "USD/s/chip",
    **dict.fromkeys(["server_capital", "network_capital"], "USD/chip"),
    "hbm_price": "USD/byte",
    "hbm_markup": "1",
    "depreciation_time": "s",
    "interest_rate": "1/s",
    "system_power": "J/s/chip",
    "carbon_intensity": "gCO2/J",
    "power_usage_effectiveness": "1",
    **dict.fromkeys(["electricity_price", "colocation_price"], "USD/J"),
    "bytes_per_weight": "byte/parameter",
    "kv_bytes_per_token": "byte/token",
    "balance_tokens": "token",
    "balance_context": "token/sequence",
    "batch_interval": "s",
}
FORMATS = {"bf16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5}


def test_shipped_presets_fit_the_registry():
    sections = ("hardware", "models", "prices", "storage", "api_prices", "sites")
    for catalog in (getattr(catalogs, section) for section in sections):
        for preset in catalog.values():
            for name, fact in preset.facts.items():
                assert fact.unit == ("1" if "_share" in name else UNITS[name])


@pytest.mark.parametrize("section", ["hardware", "models", "prices", "storage", "api_prices", "sites"])
def test_every_number_has_source_and_date(section):
    for preset in getattr(catalogs, section).values():
        assert preset.facts
        for name, fact in preset.facts.items():
            assert len(fact.source) > 10, (preset.name, name)
            assert fact.date[:2] == "20", (preset.name, name)
            assert isinstance(fact.read, bool)
            if not isinstance(fact.value, str):
                assert math.isfinite(fact.value)
                assert fact.value >= 0


def test_models_carry_the_tokens_that_they_were_pretrained_on_where_published():
    tokens = {name: preset.values.get("pretraining_tokens") for name, preset in catalogs.models.items()}
    assert sum(each is not None for each in tokens.values()) >= 37
    assert (tokens["DeepSeek-V3"], tokens["Llama-3.1-405B"], tokens["GPT-3 175B"]) == (14.8e12, 15.6e12, 300e9)
    assert tokens["DeepSeek-V3.2"] == 16.6e12  # not its base's
    assert catalogs.models["Qwen3-8B"].facts["pretraining_tokens"].read
    assert "model card" in catalogs.models["Qwen3-8B"].facts["pretraining_tokens"].source
    for name in ("gpt-oss-120b", "Mixtral-8x7B", "gpt2", "Mistral-7B-v0.1", "MiniMax-M2.5", "lecture"):
        assert tokens[name] is None  # not disclosed


def test_overtraining_is_of_published_tokens_alone():
    assert rs.value("overtraining_ratio", model="Llama-3.1-8B") == pytest.approx(15e12 / (20 * 7504924672), rel=1e-12)
    for name in ("gpt-oss-120b", "Mixtral-8x7B", "PaLM-62B"):
        with pytest.raises(rs.errors.MissingInput, match="missing input 'pretraining_tokens'"):
            rs.value("overtraining_ratio", model=name)


def test_files_say_nothing_of_where_they_were_made():
    for path in (Path(catalogs.__file__).parent / "data").rglob("*.toml"):
        text = path.read_text(encoding="utf-8")
        assert not any(word in text for word in ("shared/", "/work", "/root", "from_memory", "TODO"))


def test_no_hardware_preset_has_a_price():
    assert not any("chip_price" in preset.values for preset in catalogs.hardware.values())


# Machine balance in multiply-adds a weight, and time to read all memory: dense data-sheet figures.
@pytest.mark.parametrize(
    ("name", "number_format", "balance", "drain"),
    [
        ("A100-40", "bf16", 201, 25.7),
        ("A100-80", "bf16", 153, 39.2),
        ("H100", "bf16", 295, 23.9),
        ("H100", "fp8", 295, 23.9),
        ("H200", "bf16", 206, 29.4),
        ("B200 (lecture)", None, 281, 24.0),
        ("BW72 (lecture)", None, 281, 24.0),
        ("B200", "fp4", 292, 23.4),
        ("GB200", "fp4", 313, 23.2),
        ("GB200 NVL72", "bf16", 313, 23.2),
        ("GB300", "fp8", 313, 36.0),
        ("GB300", "fp4", 469, 36.0),
        ("Rubin (lecture)", None, 438, 14.4),
        ("Rubin training", "fp4", 398, 13.1),
        ("Rubin inference (lecture)", None, 625, 14.4),
        ("Rubin", "fp4", 568, 13.1),
        ("TPU v5e (lecture)", "bf16", 240, 19.5),
        ("TPU v5e", "bf16", 243, 19.8),
        ("TPU v5p", "bf16", 166, 34.4),
        ("TPU v6e (lecture)", "bf16", 560, 19.5),
        ("TPU v6e", "bf16", 574, 20.0),
        ("TPU 7x", "bf16", 313, 26.1),
        ("MI300X", "bf16", 247, 36.2),
    ],
)
def test_machine_balance_and_drain_time(name, number_format, balance, drain):
    chip = catalogs.hardware[name]
    peak = chip["peak_flops" if number_format is None else f"peak_flops_{number_format}"]
    bytes_per_weight = FORMATS[number_format or "fp4"]
    assert peak / 2 * bytes_per_weight / chip["hbm_bandwidth"] == pytest.approx(balance, rel=5e-3)
    assert 1e3 * chip["hbm_capacity"] / chip["hbm_bandwidth"] == pytest.approx(drain, rel=5e-3)


@pytest.mark.parametrize(
    ("name", "chips", "domain"),
    [
        ("HGX H100", 8, 8),
        ("HGX B200", 8, 8),
        ("GB200 NVL72", 72, 72),
        ("GB300 NVL72", 72, 72),
        ("Vera Rubin NVL72", 72, 72),
        ("BW72", 72, 72),
    ],
)
def test_systems(name, chips, domain):
    system = catalogs.hardware[name]
    assert (system["chips"], system["scale_up_domain"]) == (chips, domain)


@pytest.mark.parametrize(
    ("name", "dies"), [("HGX A100", 1), ("H200", 1), ("GB200 NVL72", 2), ("Rubin Ultra NVL576", 4)]
)
def test_dies_of_a_package_and_network(name, dies):
    system = catalogs.hardware[name]
    assert system["dies_per_chip"] == dies
    assert not system.facts["dies_per_chip"].read
    assert system.network == "NVLink, NVSwitch"


def test_every_system_names_the_network_inside():
    networks = {preset.attributes.get("network") for preset in catalogs.hardware.values()}
    switched = {"NVLink, NVSwitch", "PCIe", "Infinity Fabric", "UALink", "NeuronLink", "Ethernet", "Unified Bus"}
    other = {"NVLink bridge", "ICI, a torus", "ICI, Boardfly", "links of chips, a dragonfly", "SwarmX"}
    assert networks == switched | other


def test_cables_of_a_blackwell_rack():
    assert catalogs.hardware["GB200 NVL72"]["cables_per_chip"] == 18
    assert "cables_per_chip" not in catalogs.hardware["HGX B200"].values


def test_a_chip_alone_supplies_no_chips():
    assert "chips" not in catalogs.hardware["GB200"].values
    assert catalogs.hardware["B200"]["scale_up_domain"] == 8


def test_the_boards_chip():
    chip = catalogs.hardware["B200 (lecture)"]
    assert dict(chip.values) == {"peak_flops": 9e15, "hbm_bandwidth": 8e12, "hbm_capacity": 192e9}


REAL_MODELS = {
    # total, active without the input table: counted on the published model classes
    "DeepSeek-V3": (671026404352, 36625603584),
    "Kimi-K2": (1026408209408, 31687072768),
    "Qwen3-235B-A22B": (235093634560, 21568433664),
    "gpt-oss-120b": (116829156672, 5132849472),
    "GLM-4.5": (352797814784, 32856305664),
    "Mixtral-8x7B": (46702792704, 12748853248),
    "Llama-3.1-8B": (8030261248, 7504924672),
    "Llama-3.1-70B": (70553706496, 69503033344),
    "Llama-3.1-405B": (405853388800, 403752042496),
    "Qwen3-8B": (8190735360, 7568405504),
    "Qwen3-32B": (32762123264, 31984210944),
}


@pytest.mark.parametrize("name", REAL_MODELS)
def test_parameter_counts(name):
    model = catalogs.models[name]
    assert (model["total_parameters"], model["active_parameters"]) == REAL_MODELS[name]
    table = model["vocabulary_size"] * model["hidden_size"]
    assert model.input_embedding_parameters == table
    assert model.active_with_input_embedding == model["active_parameters"] + table
    assert model.active_without_tables == model["active_parameters"] - table


def _attention(model):
    """Weights of the attention of a layer, norms and biases left out."""
    d, heads, size = model["hidden_size"], model["attention_heads"], model["head_size"]
    if model["kv_latent_size"]:
        query_rank, rope, nope, value = 1536, 64, 128, 128
        latent = model["kv_latent_size"] - rope
        queries = query_rank * (d + heads * size)
        return queries + d * (latent + rope) + heads * (latent * (nope + value) + value * d)
    return 2 * d * heads * size + 2 * d * model["kv_heads"] * size


@pytest.mark.parametrize("name", REAL_MODELS)
def test_architecture_adds_up_to_the_parameters(name):
    model = catalogs.models[name]
    d, layers, dense = model["hidden_size"], model["layers"], model["dense_layers"]
    expert = 3 * d * model["expert_intermediate_size"]
    shared = 2 * model["vocabulary_size"] * d + layers * _attention(model) + dense * 3 * d * model["intermediate_size"]
    shared += (layers - dense) * (model["shared_experts"] * expert + model["experts"] * d)
    routed = (layers - dense) * expert
    assert shared + model["experts"] * routed == pytest.approx(model["total_parameters"], rel=2e-3)
    active = shared + model["experts_per_token"] * routed - model["vocabulary_size"] * d
    assert active == pytest.approx(model["active_parameters"], rel=2e-3)


@pytest.mark.parametrize(
    ("name", "kv_bytes"),
    [
        ("DeepSeek-V3", 70272),
        ("Kimi-K2", 70272),
        ("Qwen3-235B-A22B", 192512),
        ("GLM-4.5", 376832),
        ("Mixtral-8x7B", 131072),
        ("Llama-3.1-8B", 131072),
        ("Llama-3.1-70B", 327680),
        ("Llama-3.1-405B", 516096),
        ("Qwen3-8B", 147456),
        ("Qwen3-32B", 262144),
    ],
)
def test_cache_follows_from_the_architecture(name, kv_bytes):
    model = catalogs.models[name]
    assert "kv_bytes_per_token" not in model.values
    assert "bytes_per_weight" not in model.values
    elements = model["kv_latent_size"] or 2 * model["kv_heads"] * model["head_size"]
    assert model["layers"] * elements * FORMATS[model["kv_format"]] == kv_bytes


def test_windows_of_gpt_oss():
    model = catalogs.models["gpt-oss-120b"]
    assert model["windowed_kv_share"] == 0.5
    cache = rs.value("kv_bytes_per_token", model=model)  # as if all layers saw everything
    assert cache == model["layers"] * 2 * model["kv_heads"] * model["head_size"] * 2
    assert "window of 128 tokens" in model.note


@pytest.mark.parametrize("name", REAL_MODELS)
def test_shapes_are_possible(name):
    model = catalogs.models[name]
    assert 1 <= model["experts_per_token"] <= model["experts"]
    assert 0 <= model["dense_layers"] <= model["layers"]
    assert 1 <= model["kv_heads"] <= model["attention_heads"]
    assert model["intermediate_size"] >= 1
    assert model["expert_intermediate_size"] >= 1
    assert (model["experts"] == 1) == (model["dense_layers"] == model["layers"])
    assert model["weight_format"] in rs.number_formats().index


def test_the_lectures_round_model():
    model = catalogs.models["lecture"]
    assert dict(model.values) == {
        "active_parameters": 100e9,
        "total_parameters": 800e9,
        "bytes_per_weight": 1.0,
        "weight_format": "fp8",
        "kv_bytes_per_token": 1667.0,
        "balance_tokens": 300.0,
        "balance_context": 200e3,
        "batch_interval": 0.020,
    }
    assert model["total_parameters"] / model["active_parameters"] * model["balance_tokens"] == 2400


def test_the_lectures_deepseek():
    model = catalogs.models["DeepSeek-V3 (lecture)"]
    assert (model["total_parameters"], model["active_parameters"], model["bytes_per_weight"]) == (700e9, 37e9, 0.5)
    routed = (model["layers"] - model["dense_layers"]) * model["experts"] * 3 * model["hidden_size"]
    assert routed * model["expert_intermediate_size"] == pytest.approx(653.9e9, rel=1e-3)


@pytest.mark.parametrize(
    ("name", "dollars"),
    [("lecture", 2), ("H100 Google Cloud list", 10.8), ("H100 InferenceX TCO", 1.31), ("B200 AWS list", 14.24)],
)
def test_prices(name, dollars):
    assert catalogs.prices[name]["chip_price"] == pytest.approx(dollars / 3600, rel=1e-15)


def test_a_price_is_found_with_its_date():
    assert catalogs.prices["H100 Google Cloud list 2025-02"] is catalogs.prices["H100 Google Cloud list"]
    with pytest.raises(KeyError, match="did you mean"):
        catalogs.prices["H100 Google Cloud list 2024-02"]
