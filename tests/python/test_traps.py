"""Traps of a careful reader and frictions of a first hour, before and after.

Before is commit c08bf5c. Tests are named by the trap (T) or the friction (F). T4 is with the charts, T6 to T8 are with
exchanges and layouts, F3 with memory that does not suffice, F8 with the summary.
"""

from __future__ import annotations

import math
import re
import warnings
from pathlib import Path
from typing import Any

import pandas as pd
import pytest
import roofslate as rs
from roofslate.errors import IneffectiveInput, MissingInput, RoofslateWarning, UnusedInput

ROOT = Path(__file__).resolve().parents[2]

RUN: dict[str, Any] = {
    "pretraining_flops": "1e27", "hardware": "GB200", "weight_format": "fp8", "chip_price": "3 USD/h",
}  # fmt: skip
SERVER: dict[str, Any] = {
    "model": "Llama-3.1-70B", "weight_format": "fp8", "hardware": "HGX H100", "input_tokens": "8k",
    "output_tokens": "1k", "chip_price": "2 USD/h",
}  # fmt: skip
EXPERTS: dict[str, Any] = {
    "model": "DeepSeek-V3", "hardware": "HGX H200", "chips": 16, "input_tokens": 4000, "output_tokens": 1000,
    "chip_price": "2 USD/h",
}  # fmt: skip


# ----------------------------------------------------------------------------------------------------------- traps


def test_t1_a_utilization_acts_or_is_asked_for() -> None:
    """It was $166.7M with or without 40%, and an axis of utilizations vanished."""
    with pytest.raises(MissingInput, match=r"give training_utilization \(0\.3 to 0\.5 is usual\), or chips, global_b"):
        rs.value("pretraining_cost", RUN)
    cost = rs.value("pretraining_cost", RUN, training_utilization=0.4)
    assert cost == pytest.approx(166.7e6 / 0.4, rel=1e-3)
    axis = rs.evaluate("pretraining_cost", RUN, training_utilization=[0.3, 0.4])
    assert axis.dims == ("training_utilization",)
    assert float(axis[1]) == cost
    with pytest.raises(IneffectiveInput, match="no output depends on the axis 'prefill_utilization'"):
        rs.evaluate("pretraining_cost", RUN, training_utilization=0.4, prefill_utilization=[0.3, 0.4])
    with pytest.warns(UnusedInput, match="'prefill_utilization' does not enter pretraining_cost"):
        rs.value("pretraining_cost", RUN, training_utilization=0.4, prefill_utilization=0.3)
    assert "training" not in rs.quantity("prefill_utilization").brief


def test_t2_drafts_gain_and_are_planned() -> None:
    """Accepted drafts shorten the time per output token, and a search chooses them.

    Before, a pass of two tokens made a token half as slow again, so that no deployment drafted.
    """
    layout = {**EXPERTS, "attention_data_parallel": 16, "tensor_parallel": 1, "expert_parallel": 16, "concurrency": 512}
    layout["calibration"] = "serving"
    plain = rs.value("time_per_output_token", layout)
    drafted = {name: rs.value("time_per_output_token", {**layout, **drafts}) for name, drafts in DRAFTS.items()}
    assert drafted["accepted"] < 0.9 * plain
    assert drafted["accepted"] < drafted["refused"]
    assert drafted["refused"] > plain  # they cost a pass of twice the tokens
    best = rs.deploy(
        {**EXPERTS, **DRAFTS["accepted"], "draft_length": [0, 1, 2]}, objective="cost_per_output_token"
    ).table
    assert best["draft_length"].iloc[0] > 0


DRAFTS: dict[str, dict[str, Any]] = {
    "accepted": {"draft_length": 1, "acceptance_rate": 0.85, "draft_cost": 0.05},
    "refused": {"draft_length": 1, "acceptance_rate": 0.0, "draft_cost": 0.05},
}


def test_t3_a_series_by_names_of_presets_needs_no_name() -> None:
    """It made a new axis "index", and rented GB200 at the price of H200."""
    prices = pd.Series({"GB200 NVL72": 4 / 3600, "HGX H200": 2 / 3600})
    cell = rs.evaluate("replica_price", hardware=["HGX H200", "GB200 NVL72"], chip_price=prices)
    assert cell.dims == ("hardware",)
    assert cell.values.tolist() == pytest.approx([8 * 2 / 3600, 72 * 4 / 3600])


def test_t5_a_technique_reaches_what_a_token_costs() -> None:
    """Sparse attention and windows lower the cost per token.

    Before, sparse attention cost as much as full attention, and a window of 4,096 tokens held all 32,000.
    """
    long = {"hardware": "H200", "chips": 16, "batch_size": 8, "context_length": "1M", "chip_price": "2 USD/h"}
    full, sparse = (rs.value("cost_per_token", long, model=m) for m in ("DeepSeek-V3", "DeepSeek-V3.2"))
    assert sparse < 0.6 * full
    for name in ("kv_read_bytes", "kv_stored_bytes"):
        assert rs.value(name, model="Mistral-7B", context_length="32k") == pytest.approx(0.537e9, rel=1e-3)
    named_after_effects = {n for n in rs.quantities().index if n.startswith(("reduced_", "speculative_", "step_"))}
    assert named_after_effects <= {"step_token_budget", "step_time_spread"}


@pytest.mark.parametrize(
    "catalog", ["hardware", "models", "prices", "loss_laws", "storage", "api_prices", "workloads", "engines"]
)
def test_t9_presets_are_arguments(catalog: str) -> None:
    """Presets of ``rs.api_prices[...]``, price lists, and tiers are arguments.

    Before, ``**rs.api_prices[...]`` was Python's error, and price lists and tiers had no keyword.
    """
    for preset in getattr(rs, catalog).values():
        assert dict(**preset) == dict(preset.values)
    listed = rs.value("output_input_ratio", api_prices="Claude Opus 4.5")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UnusedInput)  # the other prices of the list
        assert rs.value("output_input_ratio", **rs.api_prices["Claude Opus 4.5"]) == listed
    assert rs.value("tier_drain_time", storage="HDD") > 0


def test_t9_a_price_that_names_its_chips_belongs_to_them() -> None:
    requested: dict[str, Any] = {"model": "Llama-3.1-70B", "batch_size": 64, "context_length": 8000, "chips": 8}
    words = "prices='H100 rental, low' is a price of H100 and not of hardware='(HGX )?H200'; it counts as given"
    for hardware in ("H200", "HGX H200", ["H100", "H200"]):
        with pytest.warns(RoofslateWarning, match=words):
            priced = rs.evaluate("cost_per_token", requested, hardware=hardware, prices="H100 rental, low")
        stated = rs.evaluate("cost_per_token", requested, hardware=hardware, chip_price="2 USD/h")
        assert priced.to_numpy().tolist() == pytest.approx(stated.to_numpy().tolist(), rel=1e-15)
    for _ in range(2):  # again where the point is the same
        with pytest.warns(RoofslateWarning, match=words):
            rs.value("cost_per_token", requested, hardware="HGX H200", prices="H100 rental, low")
    rows = pd.DataFrame({"hardware": ["H100", "H200", "B200"], "prices": "H100 rental, low"})
    with pytest.warns(RoofslateWarning, match=f"{words}.* \\(the first of 2 such pairs\\)$") as warned:
        rs.frame(rows, "cost_per_token", requested)
    assert len(warned) == 1
    with pytest.warns(RoofslateWarning, match=words):
        rs.deploy(PRICED, objective="cost_per_token")
    sides = [{"hardware": "H200", "prices": "H200 NVIDIA TCO"}, {"hardware": "H100", "prices": "H100 rental, low"}]
    parts = rs.compare(*sides, "cost_per_token", **requested).factors
    assert {"hardware", "prices"} <= set(parts.index)  # each has its factor, though they are mixed for it
    with pytest.warns(RoofslateWarning, match="scenario b: " + words):
        rs.compare(sides[0], {**sides[1], "hardware": "H200"}, "cost_per_token", **requested)
    chip = rs.hardware.define("H100 of a trap", base="HGX H100", hbm_bandwidth="3 TB/s")
    cost = rs.value("cost_per_token", requested, hardware="HGX H100", prices="H100 rental, low")
    assert rs.value("cost_per_token", requested, hardware=chip, prices="H100 rental, low") > cost
    assert rs.value("cost_per_token", requested, hardware="H200", prices="H100 rental, low", chip_price="3 USD/h") > 0
    assert rs.value("cost_per_token", requested, hardware="H200", prices="lecture") > 0  # of no chip in particular


PRICED = {
    **{n: x for n, x in SERVER.items() if n != "chip_price"},
    "hardware": "HGX H200",
    "prices": "H100 rental, low",
}


def test_t10_errors_are_the_package_s() -> None:
    """A calibration accepts further inputs, and a point converts to a Series or a row.

    Before, an input given with a calibration was Python's "multiple values".
    """
    assert rs.deploy(EXPERTS, objective="cost_per_token", calibration="serving", expert_reads="all").table.size
    assert rs.deploy({**EXPERTS, **rs.calibration()}, objective="cost_per_token", expert_reads="all").table.size
    point = rs.evaluate(["pass_time", "cost_per_token"], SERVER, concurrency=64)
    series = point.to_pandas()
    assert point.expand_dims("point").to_dataframe().loc[0].tolist() == series.tolist()
    row = rs.frame(pd.DataFrame(index=[0]), list(series.index), SERVER, concurrency=64)
    assert row.iloc[0].tolist() == series.tolist()


def test_t11_briefs_say_what_formulas_do() -> None:
    assert rs.value("kv_stored_factor", kept_token_share=0.5) == 0.5  # of all tokens, and not of one that stays
    assert "that stays" not in rs.quantity("kv_stored_factor").brief
    write = {"cache_write_price": 6.25, "input_price": 5.0, "cache_write_time": 300.0, "implied_storage_price": 0.0}
    assert rs.value("implied_write_price", write) == 1.25  # beyond the fresh price
    assert "surcharge" in rs.quantity("implied_write_price").brief


# ------------------------------------------------------------------------------------------------------- frictions


def test_f1_a_result_says_whether_it_is_a_bound_and_both_stand_in_one_table() -> None:
    """A result says whether it is a lower bound or an estimate.

    Before, a lower bound was shown as the answer, 3.8 times below the estimate, and nothing in it said so.
    """
    outputs = ["time_per_output_token", "time_to_first_token", "cost_per_output_token"]
    units = {"time_per_output_token": "ms", "cost_per_output_token": "USD/Mtoken"}
    both = rs.evaluate(outputs, SERVER, concurrency=64, calibration=["floor", "serving"], units=units)
    assert all(both[name].attrs["basis"] == "floor | estimate" for name in outputs)
    table = both.to_dataframe()
    assert table.loc["floor"].tolist() == pytest.approx([13.2, 0.079, 0.92], rel=0.01)
    assert table.loc["serving"].tolist() == pytest.approx([35.9, 2.05, 2.64], rel=0.1)  # whatever is fitted next
    assert rs.evaluate("pass_time", SERVER, concurrency=64).attrs["basis"] == "floor"
    assert "estimate" in repr(rs.deploy(EXPERTS, objective="cost_per_token"))


@pytest.mark.parametrize("output", ["pass_time", "cost_per_token", "pretraining_cost"])
def test_f2_a_calibration_calibrates_every_output_of_its_chain_or_is_refused(output: str) -> None:
    """11 of its 14 constants were dropped in silence, and the number looked calibrated."""
    if output == "pretraining_cost":
        run = {**RUN, "training_utilization": 0.4}
        with pytest.raises(IneffectiveInput, match="no effect on pretraining_cost: give calibration='training'"):
            rs.value(output, run, calibration="serving")
        return
    layout = {**SERVER, "concurrency": 64, "tensor_parallel": 8, "calibration": "serving"}
    assert rs.evaluate(output, layout).attrs["basis"] == "estimate"
    plain = rs.value(output, layout)
    ideal = {name: rs.quantity(name).ideal for name in rs.calibration() if rs.quantity(name).ideal is not None}
    acting = [name for name, x in ideal.items() if name in PASS and rs.value(output, {**layout, name: x}) != plain]
    assert set(acting) == PASS & set(ideal)


# Constants of a pass that waits for memory; others are of its compute, of prompts, requests and experts.
PASS = {"bandwidth_efficiency", "link_efficiency", "reference_kernel_time", "sequence_time"}


def test_f4_the_bill_counts_prompts() -> None:
    """Five costs of a million tokens, and none of them was the bill's: $2.43."""
    served = {**SERVER, "concurrency": 64, "calibration": "serving"}
    token, request = (rs.value(name, served) for name in ("cost_per_output_token", "cost_per_request"))
    assert request == pytest.approx(1000 * token, rel=1e-12)
    assert request == pytest.approx(
        rs.value("replica_price", SERVER) / rs.value("request_throughput", served), rel=1e-12
    )
    assert rs.value("cost_per_token", served) < 0.6 * token


def test_f5_one_load_serves_passes_and_requests() -> None:
    """Passes and requests accept the same load.

    Before, passes took only `batch_size` and requests only `concurrency`, so that the two could not be compared.
    """
    for name in ("pass_time", "cost_per_token", "time_per_output_token", "time_to_first_token"):
        by_clients = rs.value(name, SERVER, concurrency=64)
        assert by_clients == rs.value(name, SERVER, batch_size=64)
        assert math.isfinite(by_clients)
    with pytest.raises(MissingInput, match=r"missing input 'batch_size' .* or 'concurrency' "):
        rs.value("pass_time", SERVER)


def test_f9_the_whole_installation_has_jupyter_and_calls_are_few() -> None:
    project = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert re.search(r"^jupyter = .*jupyterlab", project, re.MULTILINE)
    assert re.search(r"^all = .*\bjupyter\b", project, re.MULTILINE)
    assert 'pip install ".[all]"' in (ROOT / "README.md").read_text(encoding="utf-8")
    calls = [name for name in dir(rs) if name.islower() and callable(getattr(rs, name))]
    assert len(calls) < 60
