"""Summaries: the numbers of evaluate, both columns, what is missing, what is said."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import roofslate as rs
from roofslate.errors import AxisError, IneffectiveInput, UnknownName, UnusedInput, ValueRangeError

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


def test_both_columns_are_those_of_evaluate() -> None:
    table = rs.summary(SCENARIO).to_dataframe()
    names = list(table.index)
    assert {"time_per_output_token", "time_to_first_token", "tokens_per_second_per_user"} < set(names)
    assert {"cost_per_token", "cost_per_output_token", "cost_per_request", "blended_cost_per_token"} < set(names)
    both = rs.evaluate(names, SCENARIO, calibration=["floor", "serving"], bands=0.8)
    for k, column in enumerate(("floor", "estimate")):
        expected = [float(both[name].broadcast_like(both["calibration"])[k]) for name in names]
        assert table[column].tolist() == expected
    for end in ("lower", "upper"):
        assert table.loc["time_per_output_token", end] == both[f"time_per_output_token_{end}"][1]
    assert table.loc["cost_per_token", "upper"] != table.loc["cost_per_token", "upper"]  # not calibrated: no band
    assert table["unit"].tolist() == rs.quantities()["unit"][names].tolist()
    assert (table["missing"] == "").all()
    assert table["basis"].unique().tolist() == ["floor", "estimate"]  # memory, and the rest


def test_the_text_names_columns_date_and_memory() -> None:
    text = str(rs.summary(SCENARIO))
    head, *notes = text.split("\n")
    assert head.startswith("Llama-3.1-70B on HGX H100: weight_format fp8, concurrency 64, ")
    date = rs.calibration("serving").date
    assert f"estimate: calibration serving ({date}); where there is no band, none is known" in notes
    assert "memory: fits, 39% of 80 GB per chip" in notes
    (tpot,) = [line for line in notes if "(TPOT)" in line]
    assert tpot.split("  ")[-1] == "27.7 ms to 45.3 ms"
    assert "80% band" in text
    assert "decode cost per token" in text
    assert "cost per output token, prompts included" in text
    html = rs.summary(SCENARIO)._repr_html_()
    assert html.startswith("<table")
    assert "27.7 ms to 45.3 ms" in html
    assert "90% band" in str(rs.summary(SCENARIO, bands=0.9))


def test_outcomes_that_lack_an_input_are_listed() -> None:
    made = rs.summary({name: x for name, x in SCENARIO.items() if name != "chip_price"})
    assert made.missing["cost_per_token"] == "chip_price or chip_capital or server_capital"
    assert "missing chip_price or chip_capital or server_capital: cost_per_token, cost_per_input_token, " in str(made)
    load = rs.summary({name: x for name, x in SCENARIO.items() if name != "output_tokens"})
    assert load.missing["request_latency"] == "context_length or output_tokens"
    table = made.to_dataframe()
    assert np.isnan(table.loc["cost_per_token", "estimate"])
    assert table.loc["cost_per_token", "missing"] == "chip_price or chip_capital or server_capital"
    assert table.loc["hbm_capacity", "estimate"] == 80e9
    nothing = rs.summary()
    assert set(nothing.missing) == set(table.index)
    assert nothing.fits is None


def test_an_unused_input_is_named_and_one_that_missing_outcomes_take_is_not(recwarn: pytest.WarningsRecorder) -> None:
    rs.summary({name: x for name, x in SCENARIO.items() if name != "input_tokens"})
    rs.summary(**{name: x for name, x in SCENARIO.items() if name != "input_tokens"})
    assert not list(recwarn)
    with pytest.warns(UnusedInput, match="served_tokens|model_lifetime"):
        rs.summary(SCENARIO, model_lifetime="60 d")
    with pytest.raises(IneffectiveInput, match="acceptance_rate"):
        rs.summary(SCENARIO, acceptance_rate=0.7)


def test_a_training_run_has_other_outcomes() -> None:
    made = rs.summary(RUN)
    table = made.to_dataframe()
    assert made.calibration.startswith("training (")
    with pytest.warns(rs.errors.DoesNotFit, match="training states and activations"):
        expected = rs.evaluate(["pretraining_cost", "training_memory"], RUN, calibration="training")
    assert table.loc["pretraining_cost", "estimate"] == expected["pretraining_cost"]
    assert table.loc["training_memory", "estimate"] == expected["training_memory"]
    assert made.fits == bool(expected["training_memory"] <= 80e9)
    assert rs.summary(RUN, concurrency=8).calibration.startswith("serving")  # both loads: a deployment
    assert set(rs.summary(hardware="H100", global_batch_size=8).missing) >= {"pretraining_cost"}


def test_what_does_not_fit_is_said() -> None:
    weights = rs.summary(SCENARIO, chips=1, weight_format="bf16")
    assert weights.fits is False
    assert weights.to_dataframe().loc["request_latency", "estimate"] == np.inf
    assert "never" in str(weights)
    batch = {**SCENARIO, "chips": 1, "batch_size": 256, "context_length": "8k"}
    del batch["concurrency"]
    made = rs.summary(batch)
    assert made.fits is False
    assert "memory: does not fit, " in str(made)


def test_a_calibration_of_ones_own_and_the_floor_alone() -> None:
    floor = rs.summary(SCENARIO, calibration="floor")
    assert floor.calibration == ""
    assert "estimate" not in str(floor)
    assert floor.to_dataframe()["estimate"].isna().all()
    own = rs.summary(SCENARIO, calibration=rs.calibration("serving"))
    assert own.to_dataframe()["estimate"].tolist() == rs.summary(SCENARIO).to_dataframe()["estimate"].tolist()
    mixed = rs.summary(SCENARIO, bandwidth_efficiency=0.8)
    assert "mixed: bandwidth_efficiency: " in str(mixed)


def test_bad_inputs_are_the_errors_of_evaluate() -> None:
    with pytest.raises(AxisError, match=r"rs.summary shows one point, but concurrency is an axis"):
        rs.summary(SCENARIO, concurrency=[1, 2])
    with pytest.raises(AxisError, match="give one name"):
        rs.summary(SCENARIO, calibration=["floor", "serving"])
    with pytest.raises(UnknownName, match="concurrency"):
        rs.summary(SCENARIO, concurency=3)
    with pytest.raises(UnknownName, match="serving"):
        rs.summary(SCENARIO, calibration="servin")
    with pytest.raises(ValueRangeError, match="concurrency"):
        rs.summary(SCENARIO, concurrency=-1)


def test_the_layout_of_a_rule_is_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    from roofslate.analysis import summary as module

    original = module.evaluate

    def with_layout(*outputs: Any, **inputs: Any) -> Any:
        result: Any = original(*outputs, **inputs)
        result.attrs["layout"] = "TP 8 (rule)"
        return result

    monkeypatch.setattr(module, "evaluate", with_layout)
    made = rs.summary(SCENARIO)
    assert made.layout == "TP 8 (rule)"
    assert "layout: TP 8 (rule)" in str(made).split("\n")


def test_memory_fits_as_the_quantity_says() -> None:
    """Weights and a running batch below the capacity do not fit where no sequence has room."""
    long = {
        "model": "Llama-3.1-70B", "hardware": "H100", "chips": 2, "concurrency": 1, "input_tokens": 100_000,
        "output_tokens": 1000, "chip_price": "2 USD/h",
    }  # fmt: skip
    summary = rs.summary(long)
    assert rs.value("hbm_used", long, calibration="serving") < 80e9  # type: ignore[operator]
    assert rs.value("memory_fits", long, calibration="serving") == "no"
    assert summary.fits is False
    assert "memory: has no room for a sequence, 88% of 80 GB per chip" in str(summary)
    assert "memory_fits" not in summary.to_dataframe().index


def test_a_run_without_a_layout_shows_that_of_the_rule() -> None:
    summary = rs.summary(
        model="Llama-3.1-405B", hardware="H100", chips=16_384, global_batch_size=2048, sequence_length=8192,
        pipeline_schedule="1f1b", activation_policy="block", chip_price="2 USD/h",
    )  # fmt: skip
    assert summary.layout == "TP 8, PP 16, DP 128, 16 micro-batches, sharded optimizer (rule)"
    assert summary.fits
    assert f"layout: {summary.layout}" in str(summary)
    assert 5e7 < summary.to_dataframe().loc["pretraining_cost", "estimate"] < 2e8
