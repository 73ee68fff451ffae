"""Layouts by rule for chips given without one, legality, and cost of uneven division."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate.errors import ValueRangeError
from roofslate.grid.read import Settled

LOAD: dict[str, Any] = {"input_tokens": 8000, "output_tokens": 1000, "concurrency": 64, "chip_price": "2 USD/h"}
SERVED: dict[str, Any] = {**LOAD, "calibration": "serving"}
PARTS = ("tensor_parallel", "pipeline_stages", "attention_data_parallel")
RULES: list[tuple[str, str, int, tuple[int, int, int], str]] = [
    ("Llama-3.1-70B", "H100", 8, (8, 1, 1), "TP 8 (rule)"),
    ("Llama-3.1-70B", "H100", 16, (8, 2, 1), "TP 8, PP 2 (rule)"),
    ("Llama-3.1-70B", "H100", 12, (4, 3, 1), "TP 4, PP 3 (rule)"),
    ("Llama-3.1-405B", "H100", 32, (8, 4, 1), "TP 8, PP 4 (rule)"),
    ("DeepSeek-V3", "H200", 16, (1, 1, 16), "TP 1, DP 16 (rule)"),
    ("DeepSeek-V3", "GB200 NVL72", 72, (1, 1, 72), "TP 1, DP 72 (rule)"),
    ("Qwen3-235B-A22B", "H100", 16, (4, 1, 4), "TP 4, DP 4 (rule)"),
    ("gpt-oss-120b", "H100", 8, (8, 1, 1), "TP 8 (rule)"),
]


@pytest.mark.parametrize(("model", "hardware", "chips", "parts", "text"), RULES)
def test_chips_without_a_layout_take_that_of_the_rule(
    model: str, hardware: str, chips: int, parts: tuple[int, int, int], text: str
) -> None:
    requested = Settled({**SERVED, "model": model, "hardware": hardware, "chips": chips})
    named = dict(zip(PARTS, parts, strict=True))
    assert {name: rs.value(name, requested) for name in PARTS} == named
    for name in ("time_per_output_token", "time_to_first_token", "cost_per_output_token", "hbm_used"):
        by_hand = rs.value(name, Settled({**requested, **named}))
        assert rs.value(name, requested) == by_hand
        result = rs.evaluate(name, requested)
        assert float(result) == by_hand
        assert result.attrs["layout"] == text
        assert "layout" not in rs.evaluate(name, Settled({**requested, **named})).attrs
    assert rs.evaluate(["pass_time"], requested).attrs["layout"] == text
    assert f"layout {text}" in str(rs.explain("pass_time", requested))


def test_a_table_takes_the_layouts_of_its_rows() -> None:
    table = pd.DataFrame([row[:3] for row in RULES], columns=["model", "hardware", "chips"])
    name = "time_per_output_token"
    one_by_one = [rs.value(name, Settled({**SERVED, **row})) for row in table.to_dict("records")]
    assert rs.frame(table, name, Settled(SERVED))[name].tolist() == one_by_one
    same = [rs.value(name, Settled({**SERVED, **row, "chips": 16})) for row in table.to_dict("records")]
    assert rs.frame(table.drop(columns="chips"), name, Settled({**SERVED, "chips": 16}))[name].tolist() == same
    given = table.assign(tensor_parallel=[row[3][0] for row in RULES])
    assert rs.frame(given, name, Settled(SERVED))[name].tolist() == one_by_one


def test_axes_of_models_and_chips_take_a_layout_each() -> None:
    requested = Settled({**SERVED, "hardware": "H200"})
    models, chips = ["DeepSeek-V3", "Llama-3.1-70B", "Qwen3-235B-A22B"], [8, 12, 16]
    result: Any = rs.evaluate("pass_time", requested, model=models, chips=chips)
    for m, model in enumerate(models):
        for c, n in enumerate(chips):
            assert result[m, c] == rs.value("pass_time", requested, model=model, chips=n), (model, n)


def test_a_pool_stays_a_pool() -> None:
    requested: dict[str, Any] = {**LOAD, "model": "DeepSeek-V3", "hardware": "H200", "chips": 16}
    assert "layout" not in rs.evaluate("pass_time", requested).attrs
    assert rs.value("pass_time", requested) == rs.value("pass_time", requested, layout="pool")
    assert rs.value("pass_time", requested) < rs.value("pass_time", requested, layout="parallel")  # type: ignore[operator]
    pool = rs.value("time_per_output_token", requested, calibration="serving", layout="pool")
    assert pool != rs.value("time_per_output_token", requested, calibration="serving")


@pytest.mark.parametrize(
    ("model", "chips", "given", "completed"),
    [
        ("Llama-3.1-70B", 16, {"tensor_parallel": 4}, (4, 4, 1)),
        ("Llama-3.1-70B", 16, {"attention_data_parallel": 4}, (4, 1, 4)),
        ("Llama-3.1-70B", 16, {"pipeline_stages": 4, "layout": "parallel"}, (4, 4, 1)),
        ("Llama-3.1-70B", 16, {"tensor_parallel": 2, "pipeline_stages": 4}, (2, 4, 2)),
        ("DeepSeek-V3", 16, {"tensor_parallel": 4}, (4, 1, 4)),
        ("DeepSeek-V3", 16, {"pipeline_stages": 2, "layout": "parallel"}, (1, 2, 8)),
        ("DeepSeek-V3", 16, {"attention_data_parallel": 2}, (8, 1, 2)),
    ],
)
def test_given_parts_are_kept(model: str, chips: int, given: dict[str, Any], completed: tuple[int, int, int]) -> None:
    requested = Settled({**LOAD, "model": model, "hardware": "H200", "chips": chips, **given})
    assert tuple(rs.value(name, requested) for name in PARTS) == completed


def test_copies_that_do_not_fit_share_matrices() -> None:
    requested = Settled({**SERVED, "model": "DeepSeek-V3", "hardware": "H100", "chips": 12, "hbm_capacity": "70 GB"})
    assert rs.value("tensor_parallel", requested) == 2
    assert rs.value("kv_cache_capacity", requested) > 0  # type: ignore[operator]
    assert (
        rs.value("kv_cache_capacity", Settled({**requested, "tensor_parallel": 1, "attention_data_parallel": 12})) == 0
    )


@pytest.mark.parametrize(
    ("layout", "complaint"),
    [
        ({"chips": 16, "tensor_parallel": 16, "attention_data_parallel": 2}, "does not make up the chips of a stage"),
        ({"chips": 24, "tensor_parallel": 24, "attention_data_parallel": 1}, "tensor_parallel 24 does not divide att"),
        (
            {"chips": 128, "tensor_parallel": 1, "pipeline_stages": 128},
            "128 does not leave a layer to each stage of la",
        ),
    ],
)
def test_what_is_illegal_is_an_error_everywhere(layout: dict[str, Any], complaint: str) -> None:
    requested: dict[str, Any] = {**SERVED, "model": "Llama-3.1-70B", "hardware": "H100", **layout}
    for call in (rs.value, rs.evaluate):
        with pytest.raises(ValueRangeError, match=complaint):
            call("time_per_output_token", requested)
    with pytest.raises(ValueRangeError, match=complaint):
        rs.deploy(requested, objective="time_per_output_token")
    common = {name: x for name, x in requested.items() if name != "chips"}
    with pytest.raises(ValueRangeError, match=complaint):
        rs.frame(pd.DataFrame({"chips": [requested["chips"]]}), "time_per_output_token", common)


def test_more_stages_than_layers_are_an_error_that_names_the_way_out() -> None:
    requested: dict[str, Any] = {**SERVED, "model": "Llama-3.1-8B", "hardware": "H100", "chips": 512}
    with pytest.raises(ValueRangeError, match="512 chips of one replica make 64 stages of 32 layers: give fewer chips"):
        rs.value("time_per_output_token", requested)


# ----------------------------------------------------------------------------------------------------------- the traps


def test_exchanges_of_any_expert_parallelism() -> None:
    """T6: traffic of a chip does not shrink with the chips that experts are spread over."""
    requested = Settled(
        {
            "batch_size": 64, "model": "DeepSeek-V3", "hardware": "H200", "chips": 16, "tensor_parallel": 1,
            "attention_data_parallel": 16, "communication": "exposed",
        }
    )  # fmt: skip
    sent = {
        n: rs.value("all_to_all_bytes_per_chip", Settled({**requested, "expert_parallel": n})) for n in (1, 2, 8, 16)
    }
    assert sent[1] == 0
    shares = {n: float(x) / (1 - 1 / n) for n, x in sent.items() if n > 1}
    assert list(shares.values()) == pytest.approx([shares[16]] * 3, rel=1e-12)


def test_hops_of_a_torus() -> None:
    """T7: the mean path is 3 links in a torus of 4 x 4 x 4, and 6 in one of 8 x 8 x 8."""
    requested = Settled(
        {
            **LOAD, "model": "DeepSeek-V3", "hardware": "H200", "chips": 64, "tensor_parallel": 1,
            "attention_data_parallel": 64, "scale_up_domain": 64,
        }
    )  # fmt: skip
    switched = rs.value("all_to_all_time", requested)
    torus = rs.value("all_to_all_time", Settled({**requested, "torus_dimensions": 3}))
    assert torus == pytest.approx(3 * float(switched) / (1 - 1 / 64), rel=1e-12)  # its own part, at no hop
    assert rs.value("mean_hops", torus_dimensions=3, chips=512, scale_up_domain=512) == pytest.approx(6)
    for system, hops in (("TPU 7x cube", 3), ("TPU v4 pod", 12)):
        assert rs.value("mean_hops", hardware=system) == pytest.approx(hops, rel=1e-12)


def test_uneven_stages_and_experts_cost_what_the_fullest_takes() -> None:
    """T8: 126 layers on 16 stages, and 256 experts on 72 chips."""
    run = Settled({"model": "Llama-3.1-405B", "hardware": "H100", "chips": 128, "pipeline_stages": 16})
    assert rs.value("stage_balance", run) == pytest.approx(7.875 / 8, rel=1e-12)
    served = Settled({**LOAD, "model": "Llama-3.1-405B", "hardware": "H100", "chips": 128, "tensor_parallel": 8})
    assert rs.value("pipeline_stages", served) == 16
    even = rs.value("hbm_used", Settled({**served, "stage_balance": 1}))
    assert rs.value("hbm_used", served) == pytest.approx(float(even) / (7.875 / 8), rel=1e-12)
    spread = {"experts": 256, "expert_parallel": 72}
    assert rs.value("placement_balance", spread) == pytest.approx((256 / 72) / 4, rel=1e-12)
    plan = rs.deploy(
        model="Llama-3.1-405B", hardware="H100", chips=128, pipeline_stages=16, objective="time_per_output_token",
        **{name: x for name, x in LOAD.items() if name != "chip_price"},
    )  # fmt: skip
    assert plan.best["pipeline_stages"] == 16
    assert math.isfinite(plan.table["time_per_output_token"].iloc[0])


def test_estimates_of_the_first_example() -> None:
    """README: a lower bound and an estimate, without a layout."""
    result = rs.evaluate(
        ["time_per_output_token", "time_to_first_token", "cost_per_output_token"], {**LOAD, "chip_price": "2 USD/h"},
        calibration=["floor", "serving"], model="Llama-3.1-70B", weight_format="fp8", hardware="HGX H100",
    )  # fmt: skip
    assert np.allclose(result["time_per_output_token"], [0.0132, 0.0359], atol=5e-5)
    assert np.allclose(result["time_to_first_token"], [0.079, 2.048], atol=5e-3)
    assert np.allclose(result["cost_per_output_token"], [0.92e-6, 2.64e-6], atol=5e-9)
    assert result.attrs["layout"] == "TP 8 (rule)"


def test_folds_say_the_layout_that_the_rule_chose() -> None:
    requested: dict[str, Any] = {**SERVED, "model": "Llama-3.1-70B", "hardware": "H100", "chips": 16}
    load = {**requested, "concurrency": [1, 4, 16]}
    goals = ["cost_per_output_token", "time_per_output_token"]
    results: list[Any] = [
        rs.best(goals[0], Settled(load), over="concurrency"),
        rs.pareto(Settled(load), minimize=goals),
        rs.quantiles(goals[1], [0.5], Settled(load)),
        rs.count("time_per_output_token < 20 ms", Settled({**load, "chips": [8, 16]}), over="concurrency"),
    ]
    assert [result.attrs.get("layout") for result in results[:3]] == ["TP 8, PP 2 (rule)"] * 3
    assert results[3].attrs["layout"] == "TP 8 (rule); TP 8, PP 2 (rule)"


def test_what_is_sought_leaves_nothing_to_the_rule() -> None:
    """Chips that are sought took the layout of one chip, and said so."""
    requested: dict[str, Any] = {**LOAD, "model": "Llama-3.1-70B", "hardware": "H100"}
    condition = "time_per_output_token <= 20 ms"
    with pytest.raises(ValueRangeError, match="chips is sought and decides upon the layout: give tensor_parallel"):
        rs.solve("chips", condition, requested, calibration="serving")
    assert rs.solve("chips", condition, requested).item() > 1  # of a pool
    load = {name: x for name, x in requested.items() if name != "concurrency"}
    complete = {"tensor_parallel": 8, "pipeline_stages": 1, "attention_data_parallel": 1}
    by_rule, by_hand = (
        rs.solve("concurrency", condition, load, chips=8, calibration="serving", **layout).item()
        for layout in ({}, complete)
    )
    assert by_rule == by_hand


def test_a_placeholder_of_what_is_sought_leaves_the_layout() -> None:
    """The least expert memory fits on one chip, which changed the layout of the search."""
    cell: dict[str, Any] = {
        "model": "GLM-5.1",
        "moe_layers": 6,
        "hardware": "B200",
        "chips": 9784,
        "layout": "parallel",
    }
    floor = rs.evaluate("latency_floor", cell)
    half = rs.solve("expert_bytes", f"latency_floor >= {0.5 * floor.item()!r}", cell)
    assert half.attrs["layout"] == floor.attrs["layout"] != "TP 1, DP 9784 (rule)"
    at_half = rs.evaluate("latency_floor", cell, expert_bytes=half.item())
    assert at_half.item() == pytest.approx(0.5 * floor.item(), rel=1e-9)
