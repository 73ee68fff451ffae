"""Models from headers of checkpoints: counts, bytes, formats, disagreements."""

import json
import pickle

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import safetensors
import safetensors.numpy
from roofslate import errors
from roofslate.presets.checkpoints.gguf import BLOCKS
from roofslate.presets.checkpoints.metadata import ARCHITECTURES, FILE_TYPES
from roofslate.presets.checkpoints.safetensors import BITS
from roofslate.presets.configs.conventions import FAMILIES
from support import checkpoints
from support.configs import CONFIG, PLAIN
from support.lazy import Lazy

gguf = Lazy("gguf")

GPTQ = {"quantization_config": {"quant_method": "gptq", "bits": 4, "group_size": 128}}
NVFP4 = {
    "quantization_config": {
        "quant_method": "modelopt",
        "quant_algo": "NVFP4",
        "ignore": ["lm_head", "*self_attn*", "*mlp.gate"],
    }
}


# Published ids, the format of the checkpoint and its config.json.
SAFETENSORS = [
    ("meta-llama/Meta-Llama-3.1-8B", "bf16", {}),
    ("Qwen/Qwen2.5-7B", "gptq", GPTQ),
    ("Qwen/Qwen3-0.6B", "bf16", {}),
    ("Qwen/Qwen3-235B-A22B", "nvfp4", NVFP4),
    ("mistralai/Mixtral-8x7B-v0.1", "bf16", {}),
    ("deepseek-ai/DeepSeek-V3", "fp8", {}),
    ("openai/gpt-oss-120b", "mxfp4", {}),
    ("google/gemma-2-9b-it", "bf16", {}),
]
GGUF = [
    ("meta-llama/Meta-Llama-3.1-8B", "Q4_K"),
    ("meta-llama/Meta-Llama-3.1-70B", "Q4_K"),
    ("Qwen/Qwen2.5-7B", "Q8_0"),
    ("Qwen/Qwen3-0.6B", "BF16"),
    ("Qwen/Qwen3-235B-A22B", "Q4_K"),
    ("mistralai/Mixtral-8x7B-v0.1", "Q4_K"),
    ("deepseek-ai/DeepSeek-V3", "Q4_K"),
    ("openai/gpt-oss-120b", "MXFP4"),
    ("google/gemma-2-9b-it", "BF16"),
]


def folder_of(tmp_path, config, tensors, shards=0):
    """A folder as a published model has it."""
    folder = tmp_path / "model"
    folder.mkdir()
    (folder / "config.json").write_text(json.dumps(config))
    if shards:
        checkpoints.write_shards(folder, tensors, shards)
    else:
        checkpoints.write_safetensors(folder / "model.safetensors", tensors)
    return folder


def tiny(tmp_path, **keys):
    """A small model and its folder. The tensors follow from the config without the keys."""
    tensors = checkpoints.stored(checkpoints.layout(PLAIN))
    return folder_of(tmp_path, {**PLAIN, **keys}, tensors), tensors


# ------------------------------------------------------------------------------------------------------------ counts


@pytest.mark.parametrize(("name", "form", "keys"), SAFETENSORS, ids=[row[0] for row in SAFETENSORS])
def test_safetensors_of_published_models_count_exactly(tmp_path, name, form, keys):
    config = {**CONFIG[name], **keys}
    tensors = checkpoints.stored(checkpoints.layout(config), form)
    folder = folder_of(tmp_path, config, tensors)
    with safetensors.safe_open(folder / "model.safetensors", "np") as opened:  # the package takes it for a whole file
        assert set(opened.keys()) == set(tensors)
    model, entry = rs.Model.from_safetensors(folder), rs.models[name]
    assert model.total_parameters == entry["total_parameters"]
    assert model["active_parameters"] == entry["active_parameters"]
    assert model.parts == rs.Model.from_config(config).parts
    assert model.not_read == ()
    assert model.checkpoint_bytes == sum(checkpoints.bytes_of(*stored_size) for stored_size in tensors.values())
    assert model.stored_table()["tensors"].sum() == len(tensors)
    if name == "deepseek-ai/DeepSeek-V3":  # its layer for multi-token prediction is counted apart
        assert model.multi_token_prediction_parameters == entry.multi_token_prediction_parameters
    else:
        assert model.stored_bytes() == pytest.approx(model.checkpoint_bytes, rel=1e-12)


@pytest.mark.parametrize(("name", "kind"), GGUF, ids=[row[0] for row in GGUF])
def test_gguf_of_published_models_count_exactly(tmp_path, name, kind):
    config, path = CONFIG[name], tmp_path / "model.gguf"
    _, sizes = checkpoints.write_gguf(path, config, kind, tokens=1000)
    model, entry = rs.Model.from_gguf(path), rs.models[name]
    described = rs.Model.from_config(config)
    assert model.total_parameters == entry["total_parameters"]
    assert model["active_parameters"] == entry["active_parameters"]
    assert model.parts == described.parts
    assert model.not_read == ()
    assert model.checkpoint_bytes == sum(sizes.values())
    assert model.cache_bytes([100, 100_000]).tolist() == described.cache_bytes([100, 100_000]).tolist()
    formats = {name for name in {**described.values, **model.values} if "format" in name or "per_weight" in name}
    assert {name: x for name, x in model.values.items() if name not in formats} == {
        name: x for name, x in described.values.items() if name not in formats
    }


def test_formats_of_a_mixture(tmp_path):
    path = tmp_path / "model.gguf"
    kinds, sizes = checkpoints.write_gguf(path, CONFIG["mistralai/Mixtral-8x7B-v0.1"], "Q4_K")
    model = rs.Model.from_gguf(path)
    assert model["weight_format"] == model["dense_format"] == "Q4_K_M"
    assert model["bits_per_weight"] == 4.5  # of the experts, each of them in Q4_K
    other_names = sum(size for name, size in sizes.items() if "_exps" not in name)
    weights = model.total_parameters - model.parts["routed_experts"]
    assert model["dense_bytes_per_weight"] == pytest.approx(other_names / weights, rel=1e-12)
    table = model.stored_table()
    assert table.loc["Q4_K", "bytes"] == sum(s for n, s in sizes.items() if kinds[n].name == "Q4_K")
    assert table["weights"].sum() == model.total_parameters
    assert rs.value("deployed_weight_bytes", model=model, hardware="HGX H100") == pytest.approx(sum(sizes.values()))


def test_kinds_are_those_of_the_package():
    """Blocks of every kind, and the words of mixtures."""
    known = {kind.value: (kind.name, *gguf.GGML_QUANT_SIZES[kind]) for kind in gguf.GGML_QUANT_SIZES}
    assert known == BLOCKS
    mixtures = {
        t.value: t.name.removeprefix("MOSTLY_").removeprefix("ALL_").removesuffix("_MOE") for t in gguf.LlamaFileType
    }
    assert {number: name for number, name in mixtures.items() if name != "GUESSED"} == FILE_TYPES


def test_architectures_are_known_on_both_sides():
    assert set(ARCHITECTURES) <= set(gguf.MODEL_ARCH_NAMES.values())
    assert set(ARCHITECTURES.values()) <= set(FAMILIES)


def test_dtypes_are_those_of_the_package(tmp_path):
    for dtype, word in (("float32", "F32"), ("float16", "F16"), ("uint8", "U8"), ("int32", "I32"), ("bool", "BOOL")):
        safetensors.numpy.save_file({"x": np.zeros((2, 3), dtype=dtype)}, tmp_path / "x.safetensors")
        with safetensors.safe_open(tmp_path / "x.safetensors", "np") as opened:
            assert opened.get_slice("x").get_dtype() == word
        assert BITS[word] == 8 * np.dtype(dtype).itemsize


def test_files_with_weights_by_the_packages(tmp_path):
    """Real files, written whole by their packages."""
    shapes = checkpoints.layout(PLAIN)
    safetensors.numpy.save_file(
        {name: np.zeros(shape, dtype="float16") for name, shape in shapes.items()}, tmp_path / "model.safetensors"
    )
    (tmp_path / "config.json").write_text(json.dumps(PLAIN))
    model = rs.Model.from_safetensors(tmp_path)
    assert model.parts == rs.Model.from_config(PLAIN).parts
    assert model.stored_table().loc["F16"].tolist() == [len(shapes), model.total_parameters, 2 * model.total_parameters]
    writer = gguf.GGUFWriter(tmp_path / "model.gguf", "llama")
    checkpoints._add_sizes(writer, PLAIN)
    for name, shape in checkpoints.ggml_tensors(PLAIN).items():
        writer.add_tensor(name, np.zeros(shape, dtype="float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    assert rs.Model.from_gguf(tmp_path / "model.gguf").parts == model.parts


# ------------------------------------------------------------------------------------------------------------- files


def test_a_model_in_many_files(tmp_path):
    folder = folder_of(tmp_path, PLAIN, checkpoints.stored(checkpoints.layout(PLAIN)), shards=5)
    complete = rs.Model.from_config(PLAIN)
    places = (folder, folder / "model.safetensors.index.json", folder / "model-00003-of-00005.safetensors")
    assert {rs.Model.from_safetensors(location).total_parameters for location in places} == {complete.total_parameters}
    (folder / "model.safetensors.index.json").unlink()  # the numbers of the files are enough
    assert rs.Model.from_safetensors(folder).total_parameters == complete.total_parameters
    (folder / "model-00004-of-00005.safetensors").unlink()
    with pytest.raises(errors.PresetError, match=r"model-00004-of-00005\.safetensors are missing in its folder"):
        rs.Model.from_safetensors(folder)


def test_a_gguf_model_in_many_files(tmp_path):
    checkpoints.write_gguf(tmp_path / "big.gguf", PLAIN, split=10)
    files = sorted(tmp_path.glob("*.gguf"))
    assert len(files) > 2
    complete = rs.Model.from_config(PLAIN)
    assert {rs.Model.from_gguf(file).total_parameters for file in (files[0], files[-1])} == {complete.total_parameters}
    assert rs.Model.from_gguf(files[0]).name == "test"
    files[1].unlink()
    with pytest.raises(errors.PresetError, match=f"is split, and {files[1].name} are missing in its folder"):
        rs.Model.from_gguf(files[0])


def test_names_sources_and_pickles(tmp_path):
    folder, _ = tiny(tmp_path)
    model = rs.Model.from_safetensors(folder, name="Ours", source="our lab", date="2026-10")
    assert (model.name, model.origin) == ("Ours", "safetensors headers")
    assert model.facts["layers"].origin == "our lab, 2026-10 (checked in source)"
    assert pickle.loads(pickle.dumps(model)).stored_table().equals(model.stored_table())
    assert rs.Model.from_safetensors(folder).name == "model"
    with pytest.raises(errors.PresetError, match=r"was read from a config\.json: Model\.from_safetensors"):
        rs.Model.from_config(folder).stored_table()


def test_a_config_is_needed_and_may_be_given(tmp_path):
    folder, _ = tiny(tmp_path)
    (folder / "config.json").unlink()
    with pytest.raises(errors.PresetError, match=r"has no config\.json: give config=, tensors do not count heads"):
        rs.Model.from_safetensors(folder)
    assert rs.Model.from_safetensors(folder, PLAIN).total_parameters == rs.Model.from_config(PLAIN).total_parameters


# --------------------------------------------------------------------------------------------- files that disagree


def test_a_difference_below_a_percent_is_a_warning(tmp_path):
    folder, tensors = tiny(tmp_path)
    checkpoints.write_safetensors(folder / "model.safetensors", {**tensors, "model.extra": ("BF16", (64,))})
    with pytest.warns(
        errors.PartlyRead, match=r"hold 267,904 weights, its config.json describes 267,840 .*most in other: 64 and 0"
    ):
        model = rs.Model.from_safetensors(folder)
    assert model.total_parameters == rs.Model.from_config(PLAIN).total_parameters + 64
    with pytest.raises(errors.PresetError, match="267,904 weights"):
        rs.Model.from_safetensors(folder, strict=True)
    row = {"model": model, "hardware": "H100", "weight_format": "bf16", "chips": 1, "concurrency": 4}
    row |= {"input_tokens": 100, "output_tokens": 100, "time_per_output_token_s": 0.01}
    with pytest.raises(errors.PresetError, match="was not fully read"):
        rs.validate(pd.DataFrame([row]))


def test_a_larger_difference_is_an_error(tmp_path):
    folder, _ = tiny(tmp_path, num_hidden_layers=5)
    with pytest.raises(
        errors.PresetError, match=r"describes .*\(-\d\d\.\d\d%; most in .* With strict=False the file's count"
    ):
        rs.Model.from_safetensors(folder)
    with pytest.warns(errors.PartlyRead, match="the file's count is taken"):
        model = rs.Model.from_safetensors(folder, strict=False)
    assert model.total_parameters == rs.Model.from_config(PLAIN).total_parameters


def test_packed_weights_without_a_word_in_the_config(tmp_path):
    """NVFP4 exports that keep their formats elsewhere: the caller names the format."""
    name = "Qwen/Qwen3-235B-A22B"
    config = {key: x for key, x in CONFIG[name].items() if key != "quantization_config"}
    folder = folder_of(tmp_path, config, checkpoints.stored(checkpoints.layout(config), "nvfp4"))
    with pytest.raises(errors.PresetError, match="or the format is not as the config says"):
        rs.Model.from_safetensors(folder)
    model = rs.Model.from_safetensors(folder, weight_format="nvfp4")
    assert model.total_parameters == rs.models[name]["total_parameters"]


def test_unknown_architectures_are_read_as_far_as_tensors_agree(tmp_path, monkeypatch):
    path = tmp_path / "new.gguf"
    monkeypatch.setitem(gguf.MODEL_ARCH_NAMES, gguf.MODEL_ARCH.LLAMA, "brandnew")
    monkeypatch.setitem(checkpoints.ARCH, "llama", "brandnew")
    checkpoints.write_gguf(path, PLAIN, extra_rank=8)
    with pytest.warns(errors.PartlyRead, match="model_type: brandnew is not known, read as a plain decoder"):
        model = rs.Model.from_gguf(path)
    assert model.total_parameters == rs.Model.from_config(PLAIN).total_parameters
    assert "brandnew.extra_rank: not understood, the weights follow from the tensors" in model.assumptions


def test_what_is_no_language_model(tmp_path):
    writer = gguf.GGUFWriter(tmp_path / "mmproj.gguf", "clip")
    writer.add_tensor("v.patch_embd.weight", np.zeros((4, 4), dtype="float32"))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()
    with pytest.raises(errors.PresetError, match="holds no language model, but 'clip'"):
        rs.Model.from_gguf(tmp_path / "mmproj.gguf")
