"""Names of models and chips: published ids, words, search, paths, local hub."""

import json
import os
import pickle
import re

import pandas as pd
import pytest
import roofslate as rs
from roofslate import errors
from roofslate.presets import local_models
from roofslate.presets.checkpoints import locate
from support import checkpoints
from support.configs import PLAIN

COMMIT = "0123456789abcdef" * 2 + "01234567"


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """An empty local Hugging Face hub, and a function that puts a model there."""
    for name in ("HF_HOME", "HUGGINGFACE_HUB_CACHE", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HF_HUB_CACHE", str(tmp_path / "hub"))

    def add(name, config=PLAIN, commit=COMMIT, *, main=True):
        root = tmp_path / "hub" / f"models--{name.replace('/', '--')}"
        folder = root / "snapshots" / commit
        folder.mkdir(parents=True)
        (folder / "config.json").write_text(json.dumps(config))
        if main:
            (root / "refs").mkdir()
            (root / "refs" / "main").write_text(commit)
        return folder

    return add


@pytest.fixture
def plain(tmp_path):
    """A folder with a config.json."""
    folder = tmp_path / "Plain-0.3M"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(PLAIN))
    return folder


# --------------------------------------------------------------------------------------------------- published ids


def test_every_entry_has_its_published_ids_or_says_why_not():
    for name, preset in rs.models.items():
        assert bool(preset.published) != ("unpublished" in preset.attributes), name
        for each, origin in preset.published.items():
            assert rs.models[each] is preset
            assert rs.models[each.upper()] is preset
            assert re.search(r", 20\d\d(-\d\d)* \((checked in source|unverified)\)$", origin), each
            assert rs.value("total_parameters", model=each) == preset["total_parameters"]
    assert not [alias for preset in rs.models.values() for alias in preset.aliases if "/" in alias]
    assert len([each for preset in rs.models.values() for each in preset.published]) > 120


def test_each_published_id_was_read_in_a_source():
    unread = [each for preset in rs.models.values() for each, at in preset.published.items() if "(checked" not in at]
    assert not unread
    sizes = ["MiniMaxAI/MiniMax-M1-40k", "MiniMaxAI/MiniMax-M1-80k"]
    assert {rs.models[each].name for each in sizes} == {"MiniMax-M1"}
    assert "MiniMaxAI/MiniMax-M1" not in rs.models["MiniMax-M1"].published  # no repository has this name


def test_one_spelling_is_canonical():
    chips = {"hardware": "H100", "chips": 32, "batch_size": 4, "context_length": "4k"}
    table = rs.evaluate("pass_time", model=["deepseek-ai/deepseek-r1", "Qwen/Qwen3-8B"], **chips)
    assert table["model"].values.tolist() == ["DeepSeek-V3", "Qwen3-8B"]
    rows = pd.DataFrame({"model": ["deepseek-ai/DeepSeek-V3", "DeepSeek-V3"], "batch_size": [4, 4]})
    result = rs.frame(rows, "pass_time", **{key: x for key, x in chips.items() if key != "batch_size"})
    assert result["pass_time"][0] == result["pass_time"][1]
    assert "deepseek-ai/DeepSeek-V3" in repr(rs.models["DeepSeek-V3"])
    assert pickle.loads(pickle.dumps(rs.models["DeepSeek-V3"])).published == rs.models["DeepSeek-V3"].published


@pytest.mark.usefixtures("fresh_catalogs")
@pytest.mark.parametrize(
    ("section", "ids", "message"),
    [
        ("models", '["no-slash"]', "a published id is 'organisation/name', got 'no-slash'"),
        ("models", "[5]", "a published id is 'organisation/name', got 5"),
        ("models", '["deepseek-ai/DeepSeek-V3"]', "is taken by the model preset 'DeepSeek-V3'"),
        ("hardware", '["a/b"]', "only models have published ids"),
    ],
)
def test_published_ids_of_a_file(tmp_path, section, ids, message):
    values = {"models": "layers = 4", "hardware": 'hbm_bandwidth = "4 TB/s"'}[section]
    source = 'sources = [{ source = "our lab", date = "2026-05", read = true }]'
    text = f"[{section}.Ours]\npublished = {ids}\n{source}\n[{section}.Ours.values]\n{values}\n"
    (tmp_path / "ours.toml").write_text(text)
    with pytest.raises(errors.PresetError, match=message):
        rs.load_presets(tmp_path / "ours.toml")
    if section == "models" and "Deep" in ids:
        (tmp_path / "ours.toml").write_text(text.replace("deepseek-ai/DeepSeek-V3", "our-lab/Ours"))
        rs.load_presets(tmp_path / "ours.toml")
        assert rs.models["our-lab/ours"].published == {"our-lab/Ours": "our lab, 2026-05 (checked in source)"}


# ----------------------------------------------------------------------------------------------- words of the field


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("A100 SXM", "A100-80"),
        ("NVIDIA A100-SXM4-80GB", "A100-80"),
        ("80GB SXM A100", "A100-80"),
        ("A100 40GB", "A100-40"),
        ("H100 80 GB", "H100"),
        ("NVIDIA H100 80GB HBM3", "H100"),
        ("H100x8", "HGX H100"),
        ("8xH100", "HGX H100"),
        ("8 x H100", "HGX H100"),
        ("gb200", "GB200"),
        ("AMD Instinct MI300X", "MI300X"),
        ("HBM3e GH200", "GH200 144GB"),
        ("cerebras", "Cerebras WSE-3"),
    ],
)
def test_words_for_chips(words, name):
    assert rs.hardware[words].name == name
    assert words in rs.hardware
    assert rs.value("hbm_capacity", hardware=words) == rs.hardware[name]["hbm_capacity"]


@pytest.mark.parametrize(
    ("words", "name"),
    [
        ("llama 3.1 8b instruct", "Llama-3.1-8B"),
        ("scout", "Llama-4-Scout-17B-16E-Instruct"),
        ("8x7b mixtral", "Mixtral-8x7B"),
        ("oss-120b gpt", "gpt-oss-120b"),
    ],
)
def test_words_for_models(words, name):
    assert rs.models[words].name == name
    assert rs.value("layers", model=words) == rs.models[name]["layers"]


@pytest.mark.parametrize(
    ("section", "words", "message"),
    [
        (
            "models",
            "llama 70b",
            r"'llama 70b' may be any of 9 model presets: 'Llama-3.1-70B', 'Llama-2-70b-hf', .* 3 more$",
        ),
        ("models", "gpt oss", r"may be any of 2 model presets: 'gpt-oss-120b', 'gpt-oss-20b'$"),
        ("hardware", "tpu", r"may be any of \d+ hardware presets: 'TPU v4'"),
        ("hardware", "nvidia", r"unknown hardware preset 'nvidia'"),
        ("hardware", "", r"unknown hardware preset ''"),
        ("hardware", "x" * 5000, r"unknown hardware preset"),
        ("prices", "B300", r"unknown prices preset 'B300'"),  # a price differs by who asks for it
    ],
)
def test_words_that_may_mean_several(section, words, message):
    catalog = getattr(rs, section)
    assert words not in catalog
    assert catalog.get(words) is None
    with pytest.raises(errors.UnknownName, match=message):
        catalog[words]


@pytest.mark.parametrize(
    ("section", "text", "first"),
    [
        ("hardware", "h100 80gb", ["H100"]),
        ("hardware", "80 GB sxm", ["A100-80", "H100"]),
        ("hardware", "GB200", ["GB200", "GB200 NVL72"]),
        ("hardware", "H100x8", ["HGX H100"]),
        ("hardware", "Groq", ["Groq LPU"]),
        ("models", "llama 70b", ["Llama-3.1-70B", "Llama-2-70b-hf"]),
        ("models", "deepseek-ai/DeepSeek-V3", ["DeepSeek-V3"]),
        ("models", "moe nvfp4", ["DeepSeek-V4-Pro-NVFP4"]),
        ("prices", "lambda h100", ["H100 Lambda list"]),
        ("models", "no such words", []),
    ],
)
def test_search(section, text, first):
    result = getattr(rs, section).search(text)
    assert list(result.index[: len(first)]) == first
    assert len(result) >= len(first)
    assert first or len(result) == 0
    assert {"names", "note"} <= set(result.columns)


def test_search_lists_main_numbers():
    result = rs.hardware.search("h100")
    assert result.loc["H100", "hbm_capacity"] == 80e9
    assert result.attrs["units"]["hbm_bandwidth"] == "byte/s/chip"
    assert rs.models.search("qwen3 8b").loc["Qwen3-8B", "names"] == "Qwen/Qwen3-8B"
    assert list(rs.engines.search("").index) == list(rs.engines)
    with pytest.raises(errors.InputTypeError, match="search: expected a text, got 5"):
        rs.hardware.search(5)
    assert len(rs.hardware.search("h" * 10**6)) == 0


def test_keys_complete_in_notebooks():
    keys = rs.models._ipython_key_completions_()
    assert {"DeepSeek-V3", "deepseek-ai/DeepSeek-V3", "DeepSeek-R1"} <= set(keys)
    assert all(key in rs.models for key in keys)
    assert "layers" in rs.models["DeepSeek-V3"]._ipython_key_completions_()


# -------------------------------------------------------------------------------------------------- paths and ids


def test_a_path_is_a_model_everywhere(plain):
    expected = rs.value("kv_bytes_per_token", model=rs.Model.from_config(PLAIN))
    for location in (plain, str(plain), plain / "config.json"):
        assert rs.value("kv_bytes_per_token", model=location) == expected
    table = rs.evaluate("kv_bytes_per_token", model=["Qwen3-8B", plain])
    assert table["model"].values.tolist() == ["Qwen3-8B", "Plain-0.3M"]
    rows = pd.DataFrame({"model": [str(plain), "Qwen/Qwen3-8B"]})
    assert rs.frame(rows, "kv_bytes_per_token")["kv_bytes_per_token"].tolist() == table.values[::-1].tolist()
    scenario = {"hardware": "HGX H100", "concurrency": 4, "input_tokens": "1k", "output_tokens": "1k"}
    assert "Plain-0.3M" in str(rs.summary(model=plain, **scenario))
    measured = {"hardware": "H100", "weight_format": "bf16", "chips": 1, "concurrency": 4, "input_tokens": 100}
    measured |= {"model": str(plain), "output_tokens": 100, "time_per_output_token_s": 0.01}
    assert len(rs.validate(pd.DataFrame([measured])).rows) == 1


def test_files_of_checkpoints_are_models(tmp_path, plain):
    checkpoints.write_gguf(tmp_path / "own.gguf", PLAIN, name="Own")
    checkpoints.write_safetensors(plain / "model.safetensors", checkpoints.stored(checkpoints.layout(PLAIN)))
    total = rs.Model.from_config(PLAIN).total_parameters
    for location in (tmp_path / "own.gguf", plain / "model.safetensors"):
        assert rs.value("total_parameters", model=location) == total
    only = tmp_path / "only"
    only.mkdir()
    with pytest.raises(errors.PresetError, match=r"only' has no config\.json and no GGUF file"):
        rs.value("total_parameters", model=only)
    checkpoints.write_gguf(only / "a.gguf", PLAIN)
    assert rs.value("total_parameters", model=only) == total
    checkpoints.write_gguf(only / "b.gguf", PLAIN)
    with pytest.raises(errors.PresetError, match=r"only' has 2 GGUF models: name one of a\.gguf, b\.gguf"):
        rs.value("total_parameters", model=only)
    (only / "notes.txt").write_text("x")
    with pytest.raises(
        errors.PresetError, match=r"expected a folder, a config\.json, a \.gguf or a \.safetensors file"
    ):
        rs.value("total_parameters", model=only / "notes.txt")


def test_a_file_is_read_again_after_a_change(plain):
    before = rs.value("layers", model=plain)
    assert local_models.model_named(plain) is local_models.model_named(str(plain))
    (plain / "config.json").write_text(json.dumps({**PLAIN, "num_hidden_layers": 12}))
    assert (before, rs.value("layers", model=plain)) == (4, 12)


def test_what_was_not_fully_read_warns_each_time(plain):
    (plain / "config.json").write_text(json.dumps({**PLAIN, "model_type": "brand_new"}))
    for _ in range(2):
        with pytest.warns(errors.PartlyRead, match="model_type: brand_new is not known") as caught:
            rs.value("layers", model=plain)
        assert caught[0].filename == __file__
    (plain / "config.json").write_text(json.dumps({**PLAIN, "extra_heads": 2}))
    with pytest.raises(errors.PresetError, match=r"extra_heads: not understood.* pass strict=False"):
        rs.value("layers", model=plain)


def test_ids_in_the_local_cache(cache):
    folder = cache("acme/Own-1B")
    model = rs.Model.from_config("acme/Own-1B")
    assert model.name == local_models.model_named("acme/Own-1B").name == "acme/Own-1B"
    assert rs.Model.from_config(folder).name == "acme/Own-1B"  # and not a commit
    assert rs.value("layers", model="acme/Own-1B") == 4
    checkpoints.write_safetensors(folder / "model.safetensors", checkpoints.stored(checkpoints.layout(PLAIN)))
    assert rs.Model.from_safetensors("acme/Own-1B").total_parameters == model.total_parameters
    cache("Qwen/Qwen3-8B")  # the catalog is asked first, with its sources
    assert rs.value("layers", model="Qwen/Qwen3-8B") == 36


def test_commits_in_the_local_cache(cache):
    cache("acme/One", commit="b" * 40, main=False)
    assert rs.value("layers", model="acme/One") == 4
    cache("acme/One", commit="c" * 40, main=False)
    with pytest.raises(errors.PresetError, match="'acme/One' has 2 commits in the local hub and none as main"):
        rs.value("layers", model="acme/One")
    folder = cache("acme/Two", {**PLAIN, "num_hidden_layers": 7}, commit="d" * 40)
    (folder.parents[1] / "refs" / "main").write_text("../../../../etc")
    assert rs.value("layers", model="acme/Two") == 7  # the only one


def test_where_the_cache_is(monkeypatch, tmp_path):
    for name in ("HF_HUB_CACHE", "HUGGINGFACE_HUB_CACHE", "HF_HOME", "XDG_CACHE_HOME"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    assert locate.cache_folder() == tmp_path / ".cache" / "huggingface" / "hub"
    for name, inside in (("XDG_CACHE_HOME", "huggingface/hub"), ("HF_HOME", "hub"), ("HF_HUB_CACHE", "")):
        monkeypatch.setenv(name, str(tmp_path / name))
        assert locate.cache_folder() == tmp_path / name / inside


@pytest.mark.usefixtures("cache")
@pytest.mark.parametrize(
    ("given", "error", "message"),
    [
        (
            "acme/None",
            errors.UnknownName,
            r"unknown model preset 'acme/None'.*; no file has this name, nor is it in the local",
        ),
        ("acme/../../None", errors.UnknownName, r"unknown model preset"),
        ("Nonesuch", errors.UnknownName, r"unknown model preset 'Nonesuch'"),
        ("./none", errors.PresetError, r"cannot read the model './none': there is no such file or folder"),
        ("/DeepSeek-V3", errors.PresetError, r"cannot read the model '/DeepSeek-V3': there is no such file"),
        ("none.gguf", errors.PresetError, r"cannot read the model 'none\.gguf'"),
        ("a\0b", errors.UnknownName, r"unknown model preset"),
        ("x" * 5000, errors.UnknownName, r"unknown model preset"),
        (b"bytes", errors.InputTypeError, r"model: expected the name of a preset"),
        (5, errors.InputTypeError, r"model: expected the name of a preset"),
    ],
)
def test_what_is_no_model(given, error, message):
    with pytest.raises(error, match=message):
        rs.value("layers", model=given)


def test_relative_paths_are_those_of_the_working_folder(plain, monkeypatch):
    monkeypatch.chdir(plain.parent)
    assert rs.value("layers", model="Plain-0.3M") == rs.value("layers", model=f".{os.sep}Plain-0.3M") == 4
    with pytest.raises(
        errors.PresetError, match="cannot read 'acme/None': there is no such file, nor is it in the local"
    ):
        rs.Model.from_config("acme/None")
