"""Summaries: numbers of `value`, kinds, missing inputs, warnings, comparisons."""

from __future__ import annotations

import itertools
import json
import math
import warnings
from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate.analysis import summary_notes
from roofslate.errors import (
    AxisError,
    IneffectiveInput,
    InputTypeError,
    MissingInput,
    UnitError,
    UnknownName,
    UnusedInput,
    ValueRangeError,
)

SCENARIO: dict[str, Any] = {"model": "Llama-3.1-70B", "weight_format": "fp8", "hardware": "HGX H100"}
SCENARIO |= {"concurrency": 64, "input_tokens": "8k", "output_tokens": "1k", "chip_price": "2 USD/h"}
RUN: dict[str, Any] = {"model": "Llama-3.1-405B", "weight_format": "bf16", "hardware": "H100", "chip_price": "2 USD/h"}
RUN |= {
    "chips": 16_384,
    "tensor_parallel": 8,
    "pipeline_stages": 16,
    "global_batch_size": 2048,
    "sequence_length": 8192,
}
RUN |= {"microbatches": 16, "pretraining_tokens": "15.6T", "activation_policy": "selective"}
OWN = {"peak_flops": "1 PFLOP/s", "hbm_bandwidth": "4 TB/s", "hbm_capacity": "96 GB", "chip_power": "650 W"}


def scenarios() -> dict[str, dict[str, Any]]:
    """Return 50 scenarios of all kinds, among them some that do not fit."""
    each: dict[str, dict[str, Any]] = {}
    models = ("Llama-3.1-8B", "Llama-3.1-70B", "DeepSeek-V3", "gpt-oss-120b", "Qwen3-32B")
    for model, hardware, chips in itertools.product(models, ("H100", "B200", "MI300X"), (1, 8)):
        concurrency = {1: 4, 8: 300}[chips]
        each[f"{model}, {chips} {hardware}"] = {
            "model": model, "hardware": hardware, "chips": chips, "concurrency": concurrency, "input_tokens": 4000,
            "output_tokens": 700, "chip_price": "2.5 USD/h",
        }  # fmt: skip
    served = {**SCENARIO, "concurrency": 16}
    batch = {name: x for name, x in SCENARIO.items() if name not in ("concurrency", "input_tokens", "output_tokens")}
    each |= {
        "no price": {name: x for name, x in served.items() if name != "chip_price"},
        "given batch": {**batch, "batch_size": 32, "context_length": "16k"},
        "given batch too large": {**batch, "batch_size": 4096, "context_length": "16k"},
        "arrivals": {**batch, "arrival_rate": "0.5 / s", "input_tokens": 2000, "output_tokens": 300},
        "own constant": {**served, "bandwidth_efficiency": 0.8},
        "lower bound": {**served, "calibration": "floor"},
        "power": {**served, "host_power": "200 W", "power_usage_effectiveness": 1.3},
        "prefixes": {**served, "prefix_hit_rate": 0.5},
        "two pools": {**served, "serving_mode": "disaggregated"},
    }
    for model, chips in (("Llama-3.1-8B", 256), ("Llama-3.1-70B", 2048), ("Llama-3.1-405B", 16_384)):
        each[f"train {model}"] = {
            "model": model, "hardware": "H100", "chips": chips, "global_batch_size": 1024, "sequence_length": 8192,
            "prices": "H100 rental, low", "activation_policy": "block", "pretraining_tokens": "15T",
        }  # fmt: skip
    each |= {
        "train with a layout": RUN,
        "train at a utilization": {
            "model": "Llama-3.1-70B", "hardware": "H100", "chips": 4096, "training_utilization": 0.4,
            "pretraining_tokens": "2T", "chip_price": "2 USD/h",
        },
        "train without tokens": {name: x for name, x in RUN.items() if name != "pretraining_tokens"},
    }  # fmt: skip
    each |= {name: {"hardware": name} for name in ("H100", "MI300X", "TPU v5e")}
    each |= {
        "chip at a price": {"hardware": "B200", "chip_price": "3 USD/h"},
        "custom chip": {**OWN, "chip_price": "1 USD/h"},
    }
    return each


def kept(scenario: dict[str, Any]) -> rs.Summary:
    """Summarize a scenario without its warnings."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.RoofslateWarning)
        return rs.summary(scenario)


def number(name: str, scenario: dict[str, Any], **more: Any) -> float:
    """Evaluate a quantity without the warning of a misfit."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.RoofslateWarning)
        return float(rs.value(name, {**scenario, **more}))


@pytest.mark.parametrize("name", scenarios())
def test_every_number_is_that_of_value(name: str) -> None:
    scenario = scenarios()[name]
    summary = kept(scenario)
    constants = {"deployment": "serving", "training run": "training", "chip": "floor"}[summary.kind]
    constants = scenario.get("calibration", constants)
    assert summary.shown
    table = summary.to_dataframe()
    carrying = rs.quantities()  # all names
    for outcome in summary.shown:
        row = table.loc[outcome.key]
        more = dict(outcome.inputs)
        for column, calibration in (("floor", "floor"), ("estimate", constants)):
            if column == "estimate" and (not summary.calibration or outcome.key in summary.missing):
                assert math.isnan(row[column])
                continue
            expected = number(outcome.quantity, {**scenario, "calibration": calibration}, **more)
            assert row[column] == expected, (name, outcome.key, column)
        assert row["unit"] == carrying.loc[outcome.quantity, "unit"]
    for outcome in summary._outcomes:
        if outcome.key in summary.missing:
            with pytest.raises(MissingInput):
                number(outcome.quantity, {**scenario, "calibration": constants}, **outcome.inputs)
    base = {**scenario, "calibration": constants}
    for split in summary.splits:
        assert split.total == number(split.quantity, base)
        assert math.fsum(split.parts.values()) == pytest.approx(split.total, rel=1e-9)
    for change in summary.changes:
        after, before = number(change.quantity, base, **change.inputs), number(change.quantity, base)
        assert change.value == after < before
        assert change.relative == after / before - 1
    document = json.loads(json.dumps(summary.to_dict(), allow_nan=False))
    for key, row in document["outcomes"].items():
        for name in ("floor", "estimate"):
            x = table.loc[key, name]
            assert row[name] == (None if math.isnan(x) else "inf" if math.isinf(x) else x)
    for text in (str(summary), summary._repr_html_()):
        assert all(outcome.words in text for outcome in summary.shown)


def test_the_scenarios_are_fifty_of_all_kinds() -> None:
    each = [kept(scenario) for scenario in scenarios().values()]
    assert len(each) >= 50
    kinds = [summary.kind for summary in each]
    assert {kinds.count(kind) for kind in ("deployment", "training run", "chip")} == {39, 6, 5}
    assert sum(summary.fits is False for summary in each) >= 8
    assert sum(summary.fits is True for summary in each) >= 20


def test_bands_are_those_of_evaluate() -> None:
    table = rs.summary(SCENARIO).to_dataframe()
    names = ["time_per_output_token", "time_to_first_token", "tokens_per_second_per_user"]
    both = rs.evaluate(names, SCENARIO, calibration="serving", bands=0.8)
    for name, end in itertools.product(names, ("lower", "upper")):
        assert table.loc[name, end] == both[f"{name}_{end}"]
    assert math.isnan(table.loc["cost_per_token", "upper"])  # not calibrated: no band
    assert set(table["basis"]) == {"floor", "estimate"}
    assert table.loc["time_per_output_token", "support"] == "extrapolated: model=Llama-3.1-70B"
    assert "90% band" in str(rs.summary(SCENARIO, bands=0.9))


def test_the_text_says_all() -> None:
    text = str(rs.summary(SCENARIO))
    lines = text.split("\n")
    assert lines[0].startswith("Deployment of Llama-3.1-70B on HGX H100: weight_format fp8, concurrency 64, ")
    assert "Fits: 31.1 GB of 80 GB per chip, 48.9 GB free." in lines
    (tpot,) = [line for line in lines if "(TPOT)" in line]
    assert tpot.split("  ")[-1].strip() == "35.9 ms (28.7 to 47.3 ms)"
    assert "\N{GREATER-THAN OR EQUAL TO} 13.2 ms" in tpot
    (rate,) = [line for line in lines if "request_throughput" in line]
    assert "\N{LESS-THAN OR EQUAL TO} 4.83 / s" in rate
    date = rs.calibration("serving").date
    assert (
        f"estimate: calibration serving ({date}), extrapolated: model=Llama-3.1-70B. Without a band, none is known."
        in lines
    )
    assert any(line.startswith("Bottleneck: prompts of other requests 47%, KV-cache reads 31%") for line in lines)
    assert any(line.startswith("Lower TPOT: 16 chips ") for line in lines)
    assert "weights 8.82 GB, KV cache 22.3 GB, free 48.9 GB" in text
    html = rs.summary(SCENARIO)._repr_html_()
    assert "28.7 to 47.3 ms" in html


def test_outcomes_that_lack_an_input_are_listed() -> None:
    summary = rs.summary({name: x for name, x in SCENARIO.items() if name != "chip_price"})
    assert summary.missing["cost_per_token"] == "chip_price or chip_capital or server_capital"
    assert "missing chip_price or chip_capital or server_capital: cost_per_request, cost_per_output_token" in str(
        summary
    )
    load = rs.summary({name: x for name, x in SCENARIO.items() if name != "output_tokens"})
    assert load.missing["request_latency"] == "context_length or output_tokens"
    table = summary.to_dataframe()
    assert np.isnan(table.loc["cost_per_token", "estimate"])
    assert table.loc["cost_per_token", "missing"] == "chip_price or chip_capital or server_capital"
    assert table.loc["hbm_capacity", "estimate"] == 80e9
    assert "cost_per_token" not in summary.to_dict()["outcomes"]


def test_an_unused_input_is_named_and_one_that_missing_outcomes_take_is_not(recwarn: pytest.WarningsRecorder) -> None:
    without = {name: x for name, x in SCENARIO.items() if name != "input_tokens"}
    assert rs.summary(without).warnings == rs.summary(**without).warnings
    rs.summary(hardware="H100", chip_price="2 USD/h")
    assert not list(recwarn)
    with pytest.warns(UnusedInput, match="model_lifetime"):
        summary = rs.summary(SCENARIO, model_lifetime="60 d")
    assert any("model_lifetime" in line for line in summary.warnings)
    assert "Without effect: model_lifetime." in rs.summary({**SCENARIO, "model_lifetime": "60 d"}).warnings
    with pytest.raises(IneffectiveInput, match="acceptance_rate"):
        rs.summary(SCENARIO, acceptance_rate=0.7)


def test_inputs_choose_the_kind() -> None:
    assert rs.summary(SCENARIO).kind == "deployment"
    assert (
        rs.summary(model="Llama-3.1-8B", hardware="H100", chips=1, workload="Azure conversation 2023").kind
        == "deployment"
    )
    assert kept(RUN).kind == "training run"
    assert rs.summary(model="Llama-3.1-8B", hardware="H100", pretraining_tokens="1T").kind == "training run"
    assert rs.summary(hardware="HGX H100").kind == "chip"
    assert rs.summary(**OWN).kind == "chip"
    with pytest.raises(
        InputTypeError, match=r"concurrency is of a deployment, but global_batch_size, sequence_length, and pretrain"
    ):
        rs.summary(RUN, concurrency=8)
    for inputs in ({}, {"model": "Llama-3.1-8B", "hardware": "H100"}, {"active_parameters": "8G", "hardware": "H100"}):
        with pytest.raises(MissingInput, match=r"give concurrency=, .* pretraining_tokens= .* hardware="):
            rs.summary(**inputs)  # type: ignore[arg-type]
    with pytest.raises(InputTypeError, match=r"scenario 1 is a deployment and scenario 2 a chip"):
        rs.summary([SCENARIO, {"hardware": "H100"}])


def test_a_chip_has_its_formats() -> None:
    summary = rs.summary(hardware="H100", chip_price="2 USD/h")
    table = summary.to_dataframe()
    assert table.loc["peak_flops (fp8)", "floor"] == rs.hardware["H100"].values["peak_flops_fp8"]
    assert "peak_flops (fp4)" not in table.index  # the chip has none
    assert "\N{GREATER-THAN OR EQUAL TO}" not in str(summary)
    assert (
        rs.summary(hardware="H100", compute_format="fp8").to_dataframe().loc["ridge_point", "floor"]
        == (table.loc["ridge_point (fp8)", "floor"])
    )
    assert "missing chip_price" in str(rs.summary(hardware="H100"))


def test_misfits_are_stated_with_the_gap_and_a_way_out() -> None:
    weights = rs.summary(SCENARIO, chips=1, weight_format="bf16")
    assert weights.fits is False
    assert weights.to_dataframe().loc["request_latency", "estimate"] == np.inf
    assert "Does not fit: 141 GB of 80 GB per chip, 61.1 GB too much. It fits on 2 chips." in str(weights)
    assert weights.fitting_chips == 2
    assert rs.value("memory_fits", {**SCENARIO, "chips": 2, "weight_format": "bf16"}, calibration="serving") == "yes"
    assert (
        rs.summary(SCENARIO, chips=2, tensor_parallel=1, pipeline_stages=1, weight_format="bf16").fitting_chips is None
    )
    assert weights.to_dict()["outcomes"]["request_latency"]["estimate"] == "inf"
    assert weights.to_dict()["free_memory"]["value"] == pytest.approx(-61.1e9, rel=1e-3)
    batch = {**SCENARIO, "chips": 1, "batch_size": 256, "context_length": "8k"}
    del batch["concurrency"]
    assert rs.summary(batch).fits is False
    queueing = rs.summary(SCENARIO, concurrency=512)
    assert queueing.fits
    assert "Memory holds 184 of 512 concurrent requests. The others queue." in queueing.warnings


def test_a_sequence_without_memory_does_not_fit() -> None:
    """Weights and a running batch below the capacity do not fit if no sequence has memory."""
    long = {
        "model": "Llama-3.1-70B", "hardware": "H100", "chips": 2, "concurrency": 1, "input_tokens": 100_000,
        "output_tokens": 1000, "chip_price": "2 USD/h",
    }  # fmt: skip
    summary = rs.summary(long)
    assert rs.value("hbm_used", long, calibration="serving") < 80e9  # type: ignore[operator]
    assert rs.value("memory_fits", long, calibration="serving") == "no"
    assert summary.fits is False
    assert "Does not fit: no memory for a sequence, 70.6 GB of 80 GB per chip are in use. It fits on 4 chips." in str(
        summary
    )


def test_a_calibration_of_ones_own_and_the_floor_by_itself() -> None:
    floor = rs.summary(SCENARIO, calibration="floor")
    assert floor.calibration == ""
    assert "estimate" not in str(floor)
    assert floor.to_dataframe()["estimate"].isna().all()
    custom = rs.summary(SCENARIO, calibration=rs.calibration("serving"))
    assert custom.to_dataframe()["estimate"].tolist() == rs.summary(SCENARIO).to_dataframe()["estimate"].tolist()
    mixed = rs.summary(SCENARIO, bandwidth_efficiency=0.8)
    assert "basis mixed: bandwidth_efficiency" in str(mixed)


def test_stale_prices_cause_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(summary_notes, "_today", lambda: "2026-11-26")
    chip = {"hardware": "H100", "prices": "H100 RunPod secure"}
    preset = rs.prices["H100 RunPod secure"]
    seen = max(preset.date, str(preset.attributes.get("last_seen", "")))
    days = int((np.datetime64("2026-11-26") - np.datetime64(seen)).astype(int))
    assert rs.summary(chip).warnings == ()
    (line,) = rs.summary(chip, stale_after=f"{days - 1} d").warnings
    assert line.startswith(
        f"Stale price: prices='H100 RunPod secure' was last seen on {seen}, {days} days before 2026-11-26"
    )
    assert rs.summary(chip, stale_after=f"{days} d").warnings == ()
    assert rs.summary(chip, as_of=seen, stale_after="1 d").warnings == ()  # the age counts to the day of prices
    monkeypatch.setattr(summary_notes, "_today", lambda: "2030-01-01")
    assert "Stale price" in str(rs.summary(chip))
    ended = next(p for p in rs.api_prices.values() if p.attributes.get("valid_until"))
    end = ended.attributes["valid_until"]
    assert any(
        f"ended on {end}, before 2030-01-01" in line for line in kept({**SCENARIO, "api_prices": ended}).warnings
    )
    for bad in ("9 m", "soon", -1, 0, [3]):
        with pytest.raises(UnitError, match="stale_after"):
            rs.summary(chip, stale_after=bad)


def test_scenarios_side_by_side() -> None:
    each = [{**SCENARIO, "hardware": name, "chips": 8} for name in ("H100", "H200", "B200")]
    summaries = rs.summary(each, chip_price="3 USD/h")
    assert summaries.labels == ["H100", "H200", "B200"]
    table = summaries.to_dataframe()
    for scenario, label in zip(each, summaries.labels, strict=True):
        single = rs.summary(scenario, chip_price="3 USD/h").to_dataframe()
        assert table.loc[label]["estimate"].tolist() == single["estimate"].tolist()
    head, rows = summaries.cells
    assert head == ["hardware", "quantity", "H100", "H200", "B200"]
    (tpot,) = [row for row in rows if row[1] == "time_per_output_token"]
    assert tpot[2:] == [rs.summary(s, chip_price="3 USD/h").cells[1][0][-1] for s in each]
    document = json.loads(json.dumps(summaries.to_dict(), allow_nan=False))
    assert document["differing_inputs"] == ["hardware"]
    assert list(document["scenarios"]) == summaries.labels
    assert "3 deployments of Llama-3.1-70B" in str(summaries)
    assert rs.summary(tuple(each)).labels == summaries.labels
    assert len(summaries) == 3
    assert summaries[1].kind == "deployment"
    assert summaries.fits is True
    assert rs.summary([*each, {**each[0], "chips": 1, "weight_format": "bf16"}]).fits is False


def test_labels_are_unique() -> None:
    assert rs.summary([SCENARIO, SCENARIO]).labels == ["scenario 1", "scenario 2"]
    one, two = {**SCENARIO, "concurrency": 8}, {**SCENARIO, "hardware": "HGX H200"}
    assert rs.summary([SCENARIO, one, two]).labels == ["HGX H100, 64", "HGX H100, 8", "HGX H200, 64"]
    more = {name: x for name, x in SCENARIO.items() if name != "chip_price"}
    assert rs.summary([SCENARIO, more]).labels == ["$2 / h", "no chip_price"]


def test_bad_inputs_are_the_errors_of_evaluate() -> None:
    with pytest.raises(AxisError, match=r"rs.summary shows one point, but concurrency is an axis"):
        rs.summary(SCENARIO, concurrency=[1, 2])
    with pytest.raises(AxisError, match="Give one name"):
        rs.summary(SCENARIO, calibration=["floor", "serving"])
    with pytest.raises(UnknownName, match="concurrency"):
        rs.summary(SCENARIO, concurency=3)
    with pytest.raises(UnknownName, match="serving"):
        rs.summary(SCENARIO, calibration="servin")
    with pytest.raises(ValueRangeError, match="concurrency"):
        rs.summary(SCENARIO, concurrency=-1)
    for wrong in (3, "H100", [], [3], [SCENARIO, "H100"]):
        with pytest.raises(InputTypeError, match="summary: expected"):
            rs.summary(wrong)


def test_a_run_without_a_layout_shows_that_of_the_rule() -> None:
    summary = rs.summary(
        model="Llama-3.1-405B", hardware="H100", chips=16_384, global_batch_size=2048, sequence_length=8192,
        pipeline_schedule="1f1b", activation_policy="block", chip_price="2 USD/h",
    )  # fmt: skip
    assert summary.layout == "TP 8, PP 16, DP 128, 16 micro-batches, sharded optimizer (rule)"
    assert summary.fits
    assert f"layout: {summary.layout}" in str(summary)
    assert 5e7 < summary.to_dataframe().loc["pretraining_cost", "estimate"] < 2e8
    parts = {split.name: split for split in summary.splits}
    assert parts["time"].largest == "pipeline bubble"
    assert set(parts["memory"].parts) == {"weights and gradients", "optimizer", "activations"}


def test_a_bound_without_an_estimate_is_shown() -> None:
    """The estimate counts the FLOPs of attention, which needs the length of the sequences."""
    run = {"model": "Llama-3.1-70B", "hardware": "H100", "chips": 4096, "training_utilization": 0.4}
    run |= {"pretraining_tokens": "2T", "chip_price": "2 USD/h"}
    summary = rs.summary(run)
    cost = summary.to_dict()["outcomes"]["pretraining_cost"]
    assert cost["floor"] == rs.value("pretraining_cost", run)
    assert cost["estimate"] is None
    assert "missing sequence_length for the estimate: pretraining_time, pretraining_cost" in str(summary)
    pair = rs.summary([run, {**run, "chips": 2048}])
    assert pair.cells[1][1][2].startswith("\N{GREATER-THAN OR EQUAL TO} ")


def test_a_varying_load_has_the_parts_of_a_pass() -> None:
    load = {name: x for name, x in SCENARIO.items() if name != "concurrency"}
    (time,) = [split for split in rs.summary(load, arrival_rate="0.5 / s").splits if split.name == "time"]
    assert time.quantity == "pass_time"
