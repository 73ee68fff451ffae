"""Catalog models of 2026 against their config.json, published sizes, and omissions."""

from __future__ import annotations

import json
import warnings
from pathlib import Path
from typing import Any

import pytest
import roofslate as rs
from roofslate._base.toml import read_data
from roofslate.presets import catalog as catalogs
from support import REFERENCE
from support.configs import LATE

pytestmark = pytest.mark.usefixtures("fresh_catalogs")
LEFT_OUT = read_data(Path(catalogs.__file__).parent / "data" / "left_out.toml")["models"]
READ = json.loads((REFERENCE / "models_2026.json").read_text(encoding="utf-8"))
CONFIG = {entry["name"]: entry["config"] for entry in LATE}


def in_catalog(name: str) -> rs.Preset | None:
    """Preset of a published id, or of its part after the slash."""
    return rs.models.get(name) or rs.models.get(name.split("/")[-1])


def config_of(name: str) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return rs.Model.from_config(CONFIG[name], name=name)


@pytest.mark.parametrize(
    "name", ["DeepSeek-V4-Pro", "Kimi-K3", "MiniMax-M3", "GLM-5.2", "Qwen3.5-397B", "Qwen3.8"], ids=str
)
def test_models_that_benchmarks_serve_have_a_name(name: str) -> None:
    requested = (
        {}
        if "kv_latent_size" in rs.models[name].values or "kv_heads" in rs.models[name].values
        else {"kv_bytes_per_token": "50 kB/tok"}
    )
    result = rs.value("pass_time", model=name, hardware="GB300 NVL72", batch_size=256, context_length="8k", **requested)
    assert 1e-3 < result < 0.1


@pytest.mark.parametrize("name", READ)
def test_every_model_that_was_read_is_there_or_explained(name: str) -> None:
    preset = in_catalog(name)
    reasons = [reason for reason, names in LEFT_OUT.items() if name in names]
    assert (preset is None) == (len(reasons) == 1)
    if preset is None:
        return
    for quantity, figure in READ[name]:
        rivals = [rival.fact.value for rival in preset.conflicts if rival.quantity == quantity and rival.decision]
        if figure in rivals:
            continue
        counted = {preset.values.get(quantity)}
        if quantity == "active_parameters":  # the published figure may count the input table, or neither table
            counted |= {preset.attributes.get(f"active_{key}") for key in ("with_input_embedding", "without_tables")}
        # published figures have one or two digits; tokens have all of theirs
        near = {"total_parameters": 0.06, "active_parameters": 0.1, "pretraining_tokens": 1e-9}[quantity]
        assert any(value == pytest.approx(figure, rel=near) for value in counted), (quantity, figure, counted)


@pytest.mark.parametrize("name", CONFIG)
def test_entries_are_those_of_their_config(name: str) -> None:
    preset = in_catalog(name)
    if preset is None:
        assert any(name in names for names in LEFT_OUT.values())
        return
    model = config_of(name)
    free = {"kv_format", "index_bytes_per_token", "kv_bytes_per_token"} if preset.name == "gpt-oss-20b" else set()
    if "models_2026" not in preset.origin:  # the older catalog takes its formats from elsewhere
        free |= {"weight_format", "kv_format"}
    for quantity, value in preset.values.items():
        counted = model.values.get(quantity)
        if counted is not None and quantity not in free:
            assert value == (counted if isinstance(counted, str) else pytest.approx(counted, rel=1e-12)), quantity
    stated = preset.attributes.get("checkpoint_bytes")
    if stated is not None:
        assert stated == pytest.approx(model.stored_bytes(), rel=1e-9)


def test_sizes_of_shipped_files_follow_the_formats_that_they_name() -> None:
    sizes = rs.models["Qwen3.8"].attributes
    count = float(rs.models["Qwen3.8"]["total_parameters"])
    per_weight = {key: float(sizes[f"checkpoint_bytes_{key}"]) / count for key in ("fp8", "mxfp4", "nvfp4")}
    assert per_weight == pytest.approx({"fp8": 1.0204, "mxfp4": 0.6529, "nvfp4": 0.5916}, rel=1e-3)


def test_published_ids_are_aliases_of_the_checkpoint_in_its_format() -> None:
    assert rs.models["zai-org/GLM-5.3-FP8"].name == "GLM-5.2-FP8"
    assert rs.models["nvidia/GLM-5.2-NVFP4"]["weight_format"] == "nvfp4"
    assert rs.models["nvidia/GLM-5.2-NVFP4"].attributes["experts_format"] == "nvfp4"
    assert rs.models["moonshotai/Kimi-K3"].attributes["experts_format"] == "mxfp4"
    assert rs.models["NVIDIA-Nemotron-3-Super-120B-A12B-BF16"].values["kv_bytes_per_token"] == 8192


NOT_DISCLOSED = (
    *("mistralai/Mistral-7B-v0.1", "mistralai/Mixtral-8x7B-v0.1", "mistralai/Mixtral-8x22B-v0.1", "gpt2"),
    *("Qwen/Qwen3.5-397B-A17B", "moonshotai/Kimi-K3", "MiniMaxAI/MiniMax-M3", "MiniMaxAI/MiniMax-M2.5"),
    *("zai-org/GLM-5.1", "zai-org/GLM-5.2", "openai/gpt-oss-120b", "openai/gpt-oss-20b", "gemma-4-26B-A4B"),
)


@pytest.mark.parametrize("name", NOT_DISCLOSED)
def test_tokens_that_nobody_disclosed_are_left_empty(name: str) -> None:
    preset = in_catalog(name)
    assert preset is None or "pretraining_tokens" not in preset.values


def test_every_published_number_of_tokens_has_its_source() -> None:
    known = [
        preset.facts["pretraining_tokens"] for preset in rs.models.values() if "pretraining_tokens" in preset.values
    ]
    assert len(known) >= 59
    assert sum(fact.read for fact in known) >= 30
    assert all(len(fact.source) > 10 and fact.date for fact in known)


def test_tokens_of_further_trained_models_are_not_those_of_their_base() -> None:
    assert rs.models["GLM-5"]["pretraining_tokens"] == 28.5e12
    for name in ("GLM-5.1", "GLM-5.2", "GLM-5.3", "Kimi-K3", "MiniMax-M3", "Qwen3.5-397B"):
        assert "pretraining_tokens" not in rs.models[name].values
    for name, tokens in {"DeepSeek-V4-Pro": 33e12, "Nemotron-3-Ultra": 20e12, "MiMo-V2-Flash": 27e12}.items():
        assert rs.models[name]["pretraining_tokens"] == tokens
