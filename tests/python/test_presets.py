"""Catalogs: what the files supply, how presets are found, added and refused."""

import math
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import pytest
import roofslate as rs
from roofslate import catalogs, errors

UNITS = {
    **dict.fromkeys(["peak_flops", *(f"peak_flops_{f}" for f in ("bf16", "fp8", "int8", "fp4"))], "FLOP/s/chip"),
    **dict.fromkeys(["hbm_bandwidth", "scale_up_bandwidth", "scale_out_bandwidth"], "byte/s/chip"),
    **dict.fromkeys(["scale_up_domain", "chips"], "chip"),
    **dict.fromkeys(["dies_per_chip", "cables_per_chip"], "1/chip"),
    **dict.fromkeys(["total_parameters", "active_parameters", "matrices_per_expert"], "parameter"),
    **dict.fromkeys(["layers", "dense_layers", "hidden_size", "intermediate_size", "vocabulary_size"], "1"),
    **dict.fromkeys(["attention_heads", "kv_heads", "head_size", "kv_latent_size"], "1"),
    **dict.fromkeys(["experts", "experts_per_token", "shared_experts", "expert_intermediate_size"], "1"),
    **dict.fromkeys(["weight_format", "kv_format"], "1"),
    **dict.fromkeys(["latent_rotary_size", "global_attention_layers", "global_layer_share"], "1"),
    **dict.fromkeys(["kv_compression", "kept_token_share", "kept_head_share", "stored_layer_share"], "1"),
    **dict.fromkeys(["attention_window", "selected_tokens"], "token/sequence"),
    "index_bytes_per_token": "byte/token",
    "fixed_cache_bytes": "byte/sequence",
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
    "weight_bytes": "byte/parameter",
    "kv_bytes_per_token": "byte/token",
    "windowed_bytes_per_token": "byte/token",
    "weight_balance": "token",
    "balance_context": "token/sequence",
    "train_period": "s",
}
FORMATS = {"bf16": 2.0, "fp8": 1.0, "int8": 1.0, "fp4": 0.5}


@pytest.fixture(autouse=True)
def fresh(monkeypatch):
    """Catalogs that are not loaded yet."""
    monkeypatch.setattr(catalogs, "_library", catalogs._Library())
    monkeypatch.delenv("ROOFSLATE_PRESETS", raising=False)


@pytest.fixture
def write(tmp_path):
    def file(text, name="mine.toml"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return path

    return file


VALUES = '[hardware."My chip".values]\nhbm_bandwidth = "4 TB/s"\n'
SOURCE = 'sources = [{ source = "our lab", date = "2026-05", read = true }]\n'
CHIP = '[hardware."My chip"]\n' + SOURCE + VALUES


# ------------------------------------------------------------------------------------------------------- the files


def test_shipped_presets_fit_the_registry():
    for catalog in (catalogs.hardware, catalogs.models, catalogs.prices, catalogs.storage, catalogs.api_prices):
        for preset in catalog.values():
            for name, fact in preset.facts.items():
                assert fact.unit == UNITS[name]


@pytest.mark.parametrize("section", ["hardware", "models", "prices", "storage", "api_prices"])
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


def test_files_say_nothing_of_where_they_were_made():
    for path in (Path(catalogs.__file__).parent / "presets").glob("*.toml"):
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
    weight_bytes = FORMATS[number_format or "fp4"]
    assert peak / 2 * weight_bytes / chip["hbm_bandwidth"] == pytest.approx(balance, rel=5e-3)
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
    assert networks == {"NVLink, NVSwitch", "Infinity Fabric", "UALink", "ICI, a torus", "NeuronLink"}


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
    assert "weight_bytes" not in model.values
    elements = model["kv_latent_size"] or 2 * model["kv_heads"] * model["head_size"]
    assert model["layers"] * elements * FORMATS[model["kv_format"]] == kv_bytes


def test_windows_of_gpt_oss():
    model = catalogs.models["gpt-oss-120b"]
    full_layers = model["layers"] / 2
    assert model["kv_bytes_per_token"] == full_layers * 2 * model["kv_heads"] * model["head_size"] * 2
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
    assert model["weight_format"] in FORMATS


def test_the_lectures_round_model():
    model = catalogs.models["lecture"]
    assert dict(model.values) == {
        "active_parameters": 100e9,
        "total_parameters": 800e9,
        "weight_bytes": 1.0,
        "weight_format": "fp8",
        "kv_bytes_per_token": 1667.0,
        "weight_balance": 300.0,
        "balance_context": 200e3,
        "train_period": 0.020,
    }
    assert model["total_parameters"] / model["active_parameters"] * model["weight_balance"] == 2400


def test_the_lectures_deepseek():
    model = catalogs.models["DeepSeek-V3 (lecture)"]
    assert (model["total_parameters"], model["active_parameters"], model["weight_bytes"]) == (700e9, 37e9, 0.5)
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


# ---------------------------------------------------------------------------------------------------- finding them


@pytest.mark.parametrize("name", ["GB200 NVL72", "gb200 nvl72", "GB200-NVL72", "gb200nvl72", " GB200_NVL72 "])
def test_spelling_does_not_matter(name):
    assert catalogs.hardware[name].name == "GB200 NVL72"
    assert name in catalogs.hardware


@pytest.mark.parametrize(
    ("alias", "name"),
    [("A100", "A100-80"), ("H100 SXM 80GB", "H100"), ("Ironwood", "TPU 7x"), ("bw72", "BW72 (lecture)")],
)
def test_aliases(alias, name):
    assert catalogs.hardware[alias] is catalogs.hardware[name]


@pytest.mark.parametrize(
    ("section", "name", "message"),
    [
        ("hardware", "H10O", "unknown hardware preset 'H10O'; did you mean 'H100'?"),
        ("hardware", "GB200 NVL7", "did you mean 'GB200 NVL72'"),
        ("models", "deepseek", "'DeepSeek-V3'"),
        ("models", "Llama 3.1 70", "'Llama-3.1-70B'"),
        ("prices", "H100", "'H100 Google Cloud list'"),
        ("models", "zzz", "unknown model preset 'zzz'"),
    ],
)
def test_unknown_names(section, name, message):
    catalog = getattr(catalogs, section)
    assert name not in catalog
    with pytest.raises(errors.UnknownName) as caught:
        catalog[name]
    assert message in str(caught.value)


def test_names_are_texts():
    assert 5 not in catalogs.hardware
    with pytest.raises(errors.InputTypeError, match="by its name, got 5"):
        catalogs.hardware[5]


def test_a_catalog_is_a_mapping():
    names = list(catalogs.hardware)
    assert len(catalogs.hardware) == len(names) == len(set(names)) > 30
    assert names[0] == "A100-40"
    assert catalogs.hardware.get("no such chip") is None
    assert [preset.name for preset in catalogs.hardware.values()] == names


def test_tables():
    frame = catalogs.hardware.to_frame()
    assert list(frame.index) == list(catalogs.hardware)
    assert frame.index.name == "hardware"
    assert frame.loc["H100", "hbm_bandwidth"] == 3.35e12
    assert math.isnan(frame.loc["H100", "peak_flops_fp4"])
    assert frame.attrs["units"]["hbm_bandwidth"] == "byte/s/chip"
    assert catalogs.models.to_frame().loc["DeepSeek-V3", "weight_format"] == "fp8"


def test_a_preset_as_table():
    frame = catalogs.hardware["H100"].to_frame()
    row = frame.loc["hbm_bandwidth"]
    assert (row["value"], row["unit"], row["written"], row["read"]) == (3.35e12, "byte/s/chip", "3.35 TB/s", True)
    assert row["source"]
    assert row["date"]


def test_showing():
    assert repr(catalogs.hardware).startswith(f"{len(catalogs.hardware)} hardware presets: A100-40, ")
    text = repr(catalogs.hardware["H100"])
    assert text.splitlines()[0] == "H100 (hardware)"
    assert "hbm_bandwidth        3.35 TB/s" in text
    assert "(recalled)" in text
    page = catalogs.hardware._repr_html_()
    assert '<th scope="row">GB200 NVL72</th>' in page
    assert "<td>8 TB/s</td>" in page
    page = catalogs.models["DeepSeek-V3"]._repr_html_()
    assert '<th scope="row">active_without_tables</th><td>35,698,924,544</td>' in page


def test_html_is_escaped():
    preset = catalogs.hardware.define("a <b> chip", note="<script>", hbm_bandwidth="1 TB/s")
    assert "<script>" not in preset._repr_html_()
    assert "a &lt;b&gt; chip" in catalogs.hardware._repr_html_()


# ------------------------------------------------------------------------------------------------------- presets


def test_a_preset_does_not_change():
    preset = catalogs.hardware["H100"]
    for change in (
        lambda: setattr(preset, "name", "x"),
        lambda: preset.values.update(chips=8),
        lambda: preset.facts.clear(),
        lambda: preset.attributes.clear(),
    ):
        with pytest.raises(AttributeError):
            change()


def test_a_preset_travels():
    preset = catalogs.models["DeepSeek-V3"]
    other = pickle.loads(pickle.dumps(preset))
    assert other == preset
    assert hash(other) == hash(preset)
    assert other.values == preset.values
    assert other != catalogs.models["Kimi-K2"]


def test_attributes():
    preset = catalogs.models["DeepSeek-V3"]
    assert preset.multi_token_prediction_parameters == 11610067968
    assert preset.layers == preset["layers"] == 61
    assert {"layers", "active_without_tables"} <= set(dir(preset))
    with pytest.raises(AttributeError, match="preset 'DeepSeek-V3' has no 'wheels'"):
        _ = preset.wheels
    with pytest.raises(errors.UnknownName, match="unknown quantity of 'DeepSeek-V3' 'layer'; did you mean 'layers'"):
        preset["layer"]


def test_date_is_the_newest():
    assert catalogs.prices["H100 Google Cloud list"].date == "2025-02"
    assert catalogs.hardware["H800"].date == "2025-09"


# -------------------------------------------------------------------------------------------------------- define


def test_define():
    preset = catalogs.hardware.define(
        "Ours", "H100", aliases=["our chip"], source="measured", date="2026-05", hbm_bandwidth="4 TB/s", chips=16
    )
    assert catalogs.hardware["our chip"] is preset
    assert (preset["hbm_bandwidth"], preset["chips"], preset["peak_flops_bf16"]) == (4e12, 16.0, 989e12)
    assert preset.facts["chips"].source == "measured"
    assert preset.facts["peak_flops_bf16"].source == catalogs.hardware["H100"].facts["peak_flops_bf16"].source
    assert "chips" not in catalogs.hardware["H100"].values


def test_define_from_a_preset_and_again():
    catalogs.prices.define("Ours", chip_price="$1.7/h")
    again = catalogs.prices.define("Ours", catalogs.prices["lecture"], aliases=["us"])
    assert catalogs.prices["us"] is catalogs.prices["ours"] is again
    third = catalogs.prices.define("Ours", chip_price=1e-3)
    assert catalogs.prices["Ours"] is third
    assert "us" not in catalogs.prices


def test_define_a_choice():
    assert catalogs.models.define("Ours", "Llama-3.1-8B", weight_format="fp4")["weight_format"] == "fp4"


@pytest.mark.parametrize(
    ("arguments", "values", "error", "message"),
    [
        (("Ours",), {}, errors.PresetError, "'Ours' supplies nothing"),
        (("Ours",), {"hbm_bandwith": 1}, errors.UnknownName, "'hbm_bandwith'; did you mean 'hbm_bandwidth'?"),
        (("Ours",), {"hbm_bandwidth": "4 TB"}, errors.UnitError, "hbm_bandwidth: cannot read '4 TB' as byte/s/chip"),
        (("Ours",), {"chips": math.nan}, errors.ValueRangeError, "chips must be >= 1 and finite, in chip, got nan"),
        (("Ours",), {"hbm_bandwidth": "-4 TB/s"}, errors.ValueRangeError, "hbm_bandwidth must be > 0 and finite"),
        (("Ours",), {"chips": [1, 2]}, errors.InputTypeError, "chips: expected a number"),
        (("Ours",), {"weight_format": "fp5"}, errors.UnknownName, "unknown weight_format 'fp5'"),
        (("Ours", "H1000"), {"chips": 8}, errors.UnknownName, "did you mean 'H100'"),
        (("H100",), {"chips": 8}, errors.PresetError, "'H100' is taken by the hardware preset 'H100'"),
        (("hgx-h100",), {"chips": 8}, errors.PresetError, "'hgx-h100' is taken by the hardware preset 'HGX H100'"),
        (("Ironwood",), {"chips": 8}, errors.PresetError, "'Ironwood' is taken by the hardware preset 'TPU 7x'"),
        (("  ",), {"chips": 8}, errors.PresetError, "is not a name"),
    ],
)
def test_define_mistakes(arguments, values, error, message):
    before = list(catalogs.hardware)
    with pytest.raises(error) as caught:
        catalogs.hardware.define(*arguments, **values)
    assert message in str(caught.value)
    assert list(catalogs.hardware) == before


def test_define_needs_a_base_of_its_kind():
    with pytest.raises(errors.InputTypeError, match="'DeepSeek-V3' is no hardware preset, but a model preset"):
        catalogs.hardware.define("Ours", catalogs.models["DeepSeek-V3"], chips=8)


# -------------------------------------------------------------------------------------------------- files of users


def test_load_presets(write):
    path = write(
        """
        [hardware."My chip"]
        aliases = ["mine"]
        note = "a note"
        sources = [{ source = "our lab", date = 2026-05-01, read = true }]
        [hardware."My chip".values]
        hbm_bandwidth = "4 TB/s"
        chips = 4
        [hardware."My chip".attributes]
        socket = "SXM"

        [hardware."My rack"]
        base = "my-chip"
        sources = [{ of = "chips", source = "floor plan", date = "2026", read = false }]
        [hardware."My rack".values]
        chips = 32

        [prices."My rent"]
        sources = [{ source = "contract", date = "2026", read = true }]
        [prices."My rent".values]
        chip_price = "$1.5/h"
        """
    )
    loaded = catalogs.load_presets(path)
    assert [preset.name for preset in loaded] == ["My chip", "My rack", "My rent"]
    chip = catalogs.hardware["mine"]
    assert dict(chip.values) == {"hbm_bandwidth": 4e12, "chips": 4.0}
    assert (chip.note, chip.socket, chip.facts["chips"].date) == ("a note", "SXM", "2026-05-01")
    rack = catalogs.hardware["My rack"]
    assert dict(rack.values) == {"hbm_bandwidth": 4e12, "chips": 32.0}
    assert rack.facts["chips"].source == "floor plan"
    assert rack.facts["hbm_bandwidth"].source == "our lab"
    assert not rack.facts["chips"].read
    assert catalogs.prices["My rent 2026"] is catalogs.prices["my rent"]


def test_a_file_may_be_loaded_again(write):
    catalogs.load_presets(write(CHIP))
    catalogs.load_presets(write(CHIP.replace("4 TB/s", "5 TB/s")))
    assert catalogs.hardware["My chip"]["hbm_bandwidth"] == 5e12


def test_two_files_cannot_share_a_name(write):
    catalogs.load_presets(write(CHIP))
    with pytest.raises(errors.PresetError, match=r"other\.toml, line 1: 'My chip' is taken"):
        catalogs.load_presets(write(CHIP, "other.toml"))


def test_environment(write, monkeypatch):
    paths = [write(CHIP), write(CHIP.replace("My chip", "Your chip"), "yours.toml")]
    monkeypatch.setenv("ROOFSLATE_PRESETS", catalogs.os.pathsep.join(map(str, paths)))
    assert catalogs.hardware["My chip"]["hbm_bandwidth"] == 4e12
    assert "Your chip" in catalogs.hardware


def test_a_bad_environment_is_told_each_time_and_can_be_mended(tmp_path, monkeypatch):
    monkeypatch.setenv("ROOFSLATE_PRESETS", str(tmp_path / "none.toml"))
    for _ in range(2):
        with pytest.raises(errors.PresetError, match=r"cannot read the preset file .*none\.toml"):
            catalogs.hardware["H100"]
    monkeypatch.delenv("ROOFSLATE_PRESETS")
    assert "H100" in catalogs.hardware


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        ("[hardwear.x.values]\nchips = 1", 1, "unknown section 'hardwear'; did you mean 'hardware'?"),
        ("title = 'x'\n", 1, "unknown section 'title'; known are 'hardware', 'models'"),
        ("\nhardware = 'x'\n", 2, "'hardware' should hold presets, each a table [hardware.<name>]"),
        ("\n[[hardware]]\nx = 1\n", 2, "'hardware' should hold presets"),
        ("\n[hardware.x]\nnote = 'n'\n", 2, "'x' supplies no values"),
        ("[hardware]\nx = 5\n", 2, "'x' should be a table"),
        ("[hardware.x]\n\nvalue = 3\n", 3, "unknown key of 'x' 'value'; did you mean 'values'?"),
        ("[hardware.x]\naliases = 'y'\n", 2, "'aliases' of 'x' should be a list"),
        ("[hardware.x]\naliases = [3]\n" + SOURCE + "[hardware.x.values]\nchips = 1", 2, "aliases are texts"),
        ("[hardware.x]\nbase = 'y'\n[hardware.x.values]\nchips = 1", 2, "the base 'y' of 'x' is not defined before it"),
        (CHIP + "\nhbm_bandwith = 3\n", 6, "unknown quantity 'hbm_bandwith'; did you mean 'hbm_bandwidth'?"),
        (CHIP + "hbm_capacity = '3 TB/s'\n", 5, "hbm_capacity: cannot read '3 TB/s' as byte/chip: it is in byte/s"),
        (CHIP + "chips = true\n", 5, "chips: expected a number"),
        (CHIP + "chips = nan\n", 5, "chips must be >= 1 and finite, in chip, got nan"),
        (CHIP + "chips = 0\n", 5, "chips must be >= 1 and finite, in chip, got 0"),
        (CHIP + "chips = 2026-05-01\n", 5, "chips: expected a number"),
        (
            CHIP.replace(SOURCE, ""),
            1,
            "'My chip' says nothing of where its values come from: sources = [{ source = '...'",
        ),
        (CHIP.replace("2026-05", "May"), 2, "a source needs a name and a date such as '2026-05', got 'our lab', 'May'"),
        (CHIP.replace("2026-05", "2026-13"), 2, "a date such as '2026-05', got 'our lab', '2026-13'"),
        (CHIP.replace("our lab", " "), 2, "a source needs a name"),
        (
            CHIP.replace("My chip", "My\\nchip"),
            1,
            "is not a name for a preset: expected up to 100 printable characters",
        ),
        (CHIP.replace("My chip", "x" * 150), 1, "(152 characters) is not a name for a preset"),
        (CHIP.replace("My chip", "H100"), 1, "'H100' is taken by the hardware preset 'H100'"),
        (CHIP + CHIP.replace("My chip", "my-CHIP"), 5, "'my-CHIP' is taken by the hardware preset 'My chip'"),
        (CHIP + '[hardware."My chip".attributes]\nannounced = "soon"\n', 6, "'announced' should be a date such as"),
        (CHIP + '[hardware."My chip".attributes]\nx = inf\n', 6, "the attribute 'x' should be a number or a text"),
        (CHIP + '[hardware."My chip".attributes]\nx = "a\\u001bb"\n', 6, "the attribute 'x': expected one line"),
        (CHIP.replace(SOURCE, SOURCE + "note = '''\n[hardware.x]\n'''\n"), 3, "note: expected one line"),
        ("# c\n[models.x]\n" + SOURCE + "[models.x.values]\nweight_format = 'fp5'\n", 5, "unknown weight_format 'fp5'"),
        ("[models.x]\n" + SOURCE + "values.layers = 'many'\n", 3, "layers: cannot read 'many' as 1"),
        (CHIP + '[hardware."My chip".attributes]\na = [1]\n', 6, "the attribute 'a' should be a number or a text"),
        ('[hardware."My chip"]\nsources = [3]\n' + VALUES, 2, "a source has the keys of, source, date, read"),
        ('[hardware."My chip"]\nsources = [{ from = "x" }]\n' + VALUES, 2, "a source has the keys"),
        (
            '[hardware."My chip"]\nsources = [{ of = [["x"]], source = "x", date = "2026", read = true }]\n' + VALUES,
            2,
            "given for",
        ),
        ('[hardware."My chip"]\nsources = [{ source = "x" }]\n' + VALUES, 2, "a source needs source = '...', date ="),
        (
            '[hardware."My chip"]\nsources = [{ of = ["chips"], source = "x", date = "2026", read = true }]\n' + VALUES,
            2,
            "a source is given for 'chips', which has no value here",
        ),
        (
            '[hardware."My chip"]\nsources = [{ of = "hbm_bandwidth", source = "x", date = "2026", read = true }]\n'
            + VALUES
            + "chips = 8\n",
            5,
            "'chips' has no source",
        ),
        (
            '[hardware."My chip"]\nsources = [\n{ source = "x", date = "2026", read = true },\n'
            '{ source = "y", date = "2026", read = true },\n]\n' + VALUES,
            2,
            "only one can have the rest",
        ),
        (
            '[hardware."My chip"]\nsources = [\n{ of = "hbm_bandwidth", source = "x", date = "2026", read = true },\n'
            '{ of = "hbm_bandwidth", source = "y", date = "2026", read = true },\n]\n' + VALUES,
            2,
            "'hbm_bandwidth' has two sources",
        ),
    ],
)
def test_mistakes_in_a_file_are_named_with_their_line(write, text, line, message):
    before = list(catalogs.hardware)
    with pytest.raises(errors.PresetError) as caught:
        catalogs.load_presets(write(text))
    assert f"mine.toml, line {line}: " in str(caught.value)
    assert message in str(caught.value)
    assert list(catalogs.hardware) == before


def test_what_is_no_toml(write):
    with pytest.raises(errors.PresetError, match=r"mine\.toml, line 2: Invalid value \(column 8\)"):
        catalogs.load_presets(write("[hardware.x]\nchips == 3\n"))


def test_what_is_no_text(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_bytes(b"\xff\xfe\x00")
    with pytest.raises(errors.PresetError, match=r"mine\.toml, line 1: cannot read the preset file as utf-8"):
        catalogs.load_presets(path)


def test_threads_load_once(monkeypatch):
    read, calls = catalogs._read, []
    monkeypatch.setattr(catalogs, "_read", lambda *arguments: calls.append(1) or read(*arguments))
    found = []
    threads = [threading.Thread(target=lambda: found.append(catalogs.hardware["H100"])) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(calls) == len(catalogs._SHIPPED)
    assert all(preset is found[0] for preset in found)
    assert len(found) == 8


def test_import_reads_no_file_and_no_heavy_library():
    code = (
        "import sys; from roofslate import catalogs; "
        "assert catalogs._library._shelves is None; "
        "assert not {'pandas', 'xarray', 'matplotlib', 'scipy', 'pint'} & set(sys.modules)"
    )
    subprocess.run([sys.executable, "-c", code], check=True)


def test_a_preset_in_a_list_gives_what_it_gives_alone():
    """What one preset states itself and another leaves to the formulas is kept for the one, computed for the other."""
    models = ["lecture", "DeepSeek-V3"]
    together = rs.evaluate("weight_balance", model=models, hardware="GB200 NVL72")
    alone = [rs.value("weight_balance", model=model, hardware="GB200 NVL72") for model in models]
    assert together.values.tolist() == alone
    assert alone[0] != alone[1]
    with pytest.raises(errors.PresetError, match=r"'DeepSeek-V3' supplies no weight_balance.*evaluate 'lecture' apart"):
        rs.evaluate("weight_balance", model=models, hardware=["GB200 NVL72", "HGX H100"])


def test_an_input_that_would_not_have_told_what_a_preset_states_is_accepted():
    """The preset states the inefficiency; chips alone tell none, and the money does not depend on them."""
    known = {"model": "lecture training", "hardware": "H100", "chip_price": "2 USD/h"}
    known |= {"pretraining_tokens": 1e14, "rl_tokens": 1e14, "inference_tokens": 1e14}
    alone = rs.value("lifetime_cost", **known)
    assert rs.value("lifetime_cost", chips=100, **known) == alone
    assert rs.evaluate("lifetime_cost", chips=[100, 200], **known).item() == alone
    # with a rate they would tell a share of it, and neither has a say
    with pytest.raises(errors.IneffectiveInput, match=r"'(chips|decode_token_rate)' has no effect"):
        rs.value("lifetime_cost", chips=100, decode_token_rate=1e4, **known)
    # one step away, or several that follow of themselves
    for given in ({"hbm_bandwidth": "3 TB/s"}, {"weight_format": "fp8"}):
        with pytest.raises(errors.IneffectiveInput, match="'lecture' supplies"):
            rs.value("balance_batch", model="lecture", **given)


def test_a_list_does_not_hide_that_one_preset_states_what_follows_for_others():
    """Alone the first preset refuses the utilization, since it states what would follow from it."""
    given = {"decode_utilization": 0.1, "prefill_utilization": 0.4}
    for model in ("lecture training", ["lecture training", "DeepSeek-V3"]):
        with pytest.raises(errors.IneffectiveInput, match="'lecture training' supplies 'decode_inefficiency'"):
            rs.evaluate("decode_inefficiency", model=model, **given)
    assert rs.value("decode_inefficiency", model="DeepSeek-V3", **given) == pytest.approx(4)
