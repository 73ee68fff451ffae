"""Search by terms of the field: aliases with any separators, and errors that name them."""

from __future__ import annotations

from typing import Any

import pytest
import roofslate as rs
from roofslate.deployment.launch_options import ENGINES, engine_options
from roofslate.errors import UnknownName
from roofslate.registry.aliases import aliases, keyword_aliases, named_by
from roofslate.registry.registry import entries, matching
from roofslate.registry.words import PRESET_KEYWORDS

TERMS = [(term, name) for name, terms in aliases().items() for term in terms]


def hits(text: str) -> list[str]:
    return [q.name for q in matching(text)]


@pytest.mark.parametrize(("term", "name"), TERMS)
def test_each_alias_finds_its_quantity_in_the_first_three_hits(term: str, name: str) -> None:
    assert name in hits(term)[:3]


def test_aliases_are_of_quantities_and_listed_once() -> None:
    assert aliases().keys() <= entries().keys()
    assert len(set(TERMS)) == len(TERMS) > 100
    assert keyword_aliases().keys() <= set(PRESET_KEYWORDS)


def test_options_of_engines_that_set_a_number_are_aliases_of_its_quantity() -> None:
    set_by = ("number", "per group", "tokens per group", "device share", "word")
    settings = [option for engine in ENGINES for option in engine_options(engine).settings.values()]
    numbers = [
        (setting.flag.removeprefix("--").replace("-", "_"), setting.quantity)
        for setting in settings
        if setting.how in set_by and setting.flag.startswith("--")
    ]
    assert len(numbers) > 20
    assert {flag: name for flag, name in numbers if name not in named_by(flag, aliases())[1]} == {}


@pytest.mark.parametrize("text", ["KV cache", "kv-cache", "cache kv", "KV_CACHE", "kvcache", " kv\tcache"])
def test_case_separators_and_order_do_not_matter(text: str) -> None:
    assert hits(text)[0] == "kv_bytes"


@pytest.mark.parametrize(
    ("text", "name"),
    [
        ("time per output token", "time_per_output_token"),
        ("tokens per second", "tokens_per_second_per_user"),
        ("inter-token latency", "time_per_output_token"),
        ("energy per token", "energy_per_token"),
        ("price per token", "cost_per_token"),
        ("over-train", "overtraining_ratio"),
        ("gpus", "chips"),
        ("pass time", "pass_time"),
    ],
)
def test_ordinary_words_find_what_they_mean(text: str, name: str) -> None:
    assert name in hits(text)[:3]


def test_the_table_has_the_order_of_the_hits() -> None:
    assert list(rs.quantities("mfu").index) == hits("mfu")
    assert list(rs.quantities().index) == list(rs.quantities("").index) == list(entries())
    assert hits("no such words") == []


def test_parts_of_words_symbols_and_meanings_are_found_after_names() -> None:
    assert "price_margin" in hits("\\mu_p")
    result = hits("chip")
    assert result[:2] == ["chips", "chip_price"]
    assert result.index("training_memory") > max(k for k, name in enumerate(result) if "chip" in name.split("_"))


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: rs.value("tpot"), "unknown quantity 'tpot'; TPOT is 'time_per_output_token'"),
        (lambda: rs.evaluate(["ttft"]), "unknown quantity 'ttft'; TTFT is 'time_to_first_token'"),
        (lambda: rs.value("pass_time", gpus=8), "unknown input 'gpus'; GPUs is 'chips'"),
        (lambda: rs.frame(rs.quantities(), "TP"), "TP is 'tensor_parallel'"),
        (lambda: rs.quantity("inter-token latency"), "inter-token latency is 'time_per_output_token'"),
        (lambda: rs.value("mfu"), "MFU is 'model_flops_utilization' or 'training_utilization'"),
        (lambda: rs.value("pass_time", gpu="H100"), "GPU is the preset 'hardware' or 'chips'"),
        (lambda: rs.value("pass_time", accelerator="H100"), "accelerator is the preset 'hardware'"),
        (lambda: rs.value("pass_time", chip=8), "chip is the preset 'hardware' or 'chips'"),
        (lambda: rs.value("gpu"), "GPU is 'chips'"),
        (lambda: rs.value("pass_time", qps=3), "QPS is 'arrival_rate' or 'request_throughput'"),
        (lambda: rs.value("pass_time", quantization="fp8"), "quantization is 'weight_format' or 'bits_per_weight'"),
    ],
)
def test_the_error_for_an_alias_names_the_quantity(call: Any, message: str) -> None:
    with pytest.raises(UnknownName) as error:
        call()
    assert message in str(error.value)
