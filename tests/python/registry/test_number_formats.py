"""Number formats: one table, names, peaks of chips, formats that a chip lacks."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import roofslate as rs
from roofslate import presets
from roofslate._base.toml import read_data
from support import REFERENCE

FORMATS = rs.number_formats()
LEFT_OUT = read_data(Path(presets.__file__).parent / "data" / "left_out.toml")["number_formats"]


@pytest.mark.parametrize(
    ("written", "word"),
    [
        ("Q4_K_M", "Q4_K_M"),
        ("q4_k_m", "Q4_K_M"),
        ("gguf-q4_k_m", "Q4_K_M"),
        ("FP8 block", "fp8-block"),
        ("int4-g128", "int4"),
        ("AWQ", "int4-g128-zp"),
        ("gptq", "int4-g128-zp"),
        ("MXFP8", "mxfp8"),
        ("bfloat16", "bf16"),
        ("nf4", "nf4"),
    ],
)
def test_formats_have_the_names_of_the_field(written: str, word: str) -> None:
    assert rs.value("bits_per_weight", weight_format=written) == FORMATS.bits_per_weight[word]
    assert rs.value("dense_bytes_per_weight", dense_format=written) == FORMATS.bytes_per_weight[word]
    rows = rs.evaluate("bits_per_weight", weight_format=["fp8", written])
    assert rows["weight_format"].to_numpy().tolist() == ["fp8", word]


def test_an_alias_works_in_a_condition() -> None:
    counted = rs.count("weight_format == 'awq'", weight_format=["bf16", "gptq"])
    assert int(counted) == 1


def test_bits_follow_from_groups_scales_and_zero_points() -> None:
    grouped = FORMATS[FORMATS.group_size > 0]
    overhead = (grouped.scale_bits + grouped.zero_point_bits) / grouped.group_size
    assert (grouped.bits_per_weight == grouped.element_bits + overhead).all()
    assert len(grouped) > 10
    for name, x in FORMATS.bits_per_weight.items():
        assert rs.value("bits_per_weight", weight_format=str(name)) == x


def test_a_name_means_one_format() -> None:
    words = [
        re.sub(r"[\s_.]+", "-", word.casefold())
        for name, row in FORMATS.iterrows()
        for word in (str(name), *filter(None, row.aliases.split(", ")))
    ]
    assert len(set(words)) == len(words)


def test_each_format_says_where_its_size_is_from() -> None:
    assert FORMATS.source.str.len().min() > 0
    assert not FORMATS.loc[FORMATS.source.str.contains("not verified") & ~FORMATS.verified].size


@pytest.mark.parametrize("name", FORMATS.index)
@pytest.mark.parametrize("chip", ["A100-80", "H100", "B200", "MI355X"])
def test_a_product_runs_at_the_peak_of_the_table(name: str, chip: str) -> None:
    table = rs.number_formats(chip)
    assert rs.value("peak_flops", weight_format=name, hardware=chip) == table.peak_flops[name]
    assert rs.value("dense_peak_flops", dense_format=name, hardware=chip) == table.peak_flops[name]


def test_a_chip_without_a_format_multiplies_in_bf16_and_says_so() -> None:
    def result(**inputs: str) -> str:
        result_of = rs.evaluate("compute_time", model="Llama-3.1-8B", batch_size=8, chips=1, **inputs)
        return str(result_of.attrs.get("dequantized", ""))

    assert result(weight_format="nvfp4", hardware="H100") == "nvfp4 is dequantized to bf16 on H100"
    assert result(weight_format="nvfp4", hardware="B200") == ""
    assert result(weight_format="Q4_K_M", hardware="B200") == "Q4_K_M is dequantized to bf16 on B200"
    assert result(weight_format="fp8", hardware="H100") == ""
    assert "fp8 is dequantized to bf16 on A100-80" in result(weight_format="fp8", hardware="A100-80")
    read = rs.evaluate("model_bytes", model="Llama-3.1-8B", weight_format="nvfp4", hardware="H100")
    assert "dequantized" not in read.attrs
    explained = rs.explain(
        "compute_time", model="Llama-3.1-8B", weight_format="nvfp4", hardware="H100", batch_size=8, chips=1
    )
    assert "nvfp4 is dequantized to bf16 on H100" in str(explained)


@pytest.mark.parametrize(
    ("chip", "word", "nearest"), [("H100", "nvfp4", "fp8"), ("A100-80", "fp8", "bf16"), ("Trainium3", "int8", "bf16")]
)
def test_products_that_a_chip_lacks_are_refused(chip: str, word: str, nearest: str) -> None:
    with pytest.raises(rs.errors.PresetError, match=f"does not multiply '{word}'; the nearest is '{nearest}'"):
        rs.value("peak_flops", compute_format=word, hardware=chip)
    with pytest.raises(rs.errors.PresetError, match=f"does not multiply '{word}'; the nearest is '{nearest}'"):
        rs.evaluate("peak_flops", compute_format=["bf16", word], hardware=chip)


def test_products_of_a_chip_of_ones_own_are_taken() -> None:
    assert rs.value("peak_flops", compute_format="fp4", hardware="H100", peak_flops_fp4=4e15) == 4e15


def test_formats_of_weights_alone_name_the_nearest_of_caches() -> None:
    with pytest.raises(
        rs.errors.UnknownName, match="kv_format: 'fp8-block' is a format of weights; the nearest is 'fp8'"
    ):
        rs.value("kv_bits", kv_format="fp8-block")
    with pytest.raises(rs.errors.UnknownName, match=r"unknown weight_format 'nvfp5'; did you mean .*'nvfp4'"):
        rs.value("bits_per_weight", weight_format="nvfp5")


def test_a_format_of_the_caller_replaces_the_mixture_of_a_model() -> None:
    shipped = rs.value("model_bytes", model="gpt-oss-120b")
    count = rs.value("total_parameters", model="gpt-oss-120b")
    assert shipped == pytest.approx(65.25e9, rel=0.002)
    assert rs.value("model_bytes", model="gpt-oss-120b", weight_format="bf16") == 2 * count
    assert rs.value("model_bytes", model="gpt-oss-120b", bytes_per_weight=1) == count
    assert rs.value("model_bytes", model="gpt-oss-120b", dense_format="mxfp4") == pytest.approx(count * 0.53125)
    both = rs.evaluate("model_bytes", model=["gpt-oss-120b", "Llama-3.1-8B"])
    each = [rs.value("model_bytes", model=name) for name in ("gpt-oss-120b", "Llama-3.1-8B")]
    assert both.to_numpy().tolist() == each
    table = rs.frame(pd.DataFrame({"model": ["gpt-oss-120b", "Llama-3.1-8B"]}), "model_bytes")
    assert table["model_bytes"].tolist() == each
    wide = rs.evaluate("model_bytes", model=["gpt-oss-120b", "Llama-3.1-8B"], weight_format=["bf16", "fp8"])
    assert wide.sel(model="gpt-oss-120b").to_numpy().tolist() == [2 * count, count]


PUBLISHED = json.loads((REFERENCE / "number_formats_2026.json").read_text(encoding="utf-8"))["format"]
WORDS = {
    "fp8 block 128x128, fp32 scale": "fp8-block",
    "fp8 block 128x128, e8m0 scale": "fp8-block-e8m0",
    "int4 g32 symmetric (Kimi K2.5, Gemma 4 QAT)": "int4-g32",
    "F16": "bf16",
}


@pytest.mark.parametrize("row", PUBLISHED, ids=lambda row: row["name"])
def test_every_published_format_is_there_or_its_absence_explained(row: dict[str, Any]) -> None:
    name = row["name"]
    if name in LEFT_OUT:
        return
    if name.endswith(" in the KV cache"):
        word = name.removesuffix(" in the KV cache")
        size, plain = (rs.value("kv_bytes_per_token", model="Llama-3.1-8B", kv_format=x) for x in (word, "bf16"))
        assert size / plain == row["bytes"] / 2
        return
    known = rs.value("bits_per_weight", weight_format=WORDS.get(name, name)) / 8
    assert known == pytest.approx(row["bytes"], rel=1e-4)
    assert FORMATS.verified[WORDS.get(name, name)]
