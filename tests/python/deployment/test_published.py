"""Published training layouts: legal, predicted, and never better than the planner's best."""

from __future__ import annotations

import pytest
import roofslate as rs
from roofslate import errors
from roofslate.deployment import published
from roofslate.measured.training_runs import left_out_runs, training_runs
from roofslate.presets.layouts import check_layout
from support.checks import cases

SOME = ["Llama-3.1-405B, 16,384 chips", "DeepSeek-V3", "PaLM-540B"]


@pytest.fixture(scope="module")
def plain() -> rs.LayoutValidation:
    return rs.validate_layouts(search=False)


def test_each_published_layout_is_legal(plain: rs.LayoutValidation) -> None:
    assert len(plain.rows) == len(training_runs()) >= 20
    assert (plain.rows["legal"] == "yes").all()
    assert plain.holds


def test_chips_of_each_layout_are_the_product_of_its_parts() -> None:
    with cases() as case:
        for run in training_runs():
            with case(run.name):
                parts = 1
                for name in ("tensor_parallel", "context_parallel", "pipeline_stages", "data_parallel"):
                    parts *= run.inputs.get(name, 1)
                assert parts == run.inputs["chips"]


def test_predictions_of_published_runs(plain: rs.LayoutValidation) -> None:
    """Mostly recalled, so the bound is no promise."""
    sizes = plain.errors.abs()
    assert len(sizes) >= 15
    assert sizes.median() <= 0.15
    llama = plain.errors[[name for name in sizes.index if name.startswith("Llama-3.1-405B")]]
    assert len(llama) == 3
    assert (llama.abs() <= 0.1).all()


def test_numbers_carry_their_source(plain: rs.LayoutValidation) -> None:
    assert set(plain.rows["checked"]) <= {"unverified", "checked in source"}
    assert (plain.rows["source"].str.len() > 5).all()
    assert (plain.rows["date"].str.len() >= 4).all()
    for run in training_runs():
        assert set(run.assumed) <= {*run.inputs}
    assert "unverified" in str(plain)


def test_the_planner_is_at_least_as_good() -> None:
    validation = rs.validate_layouts(SOME)
    assert validation.holds
    rows = validation.rows
    assert (rows["gain"] >= 0).all()
    assert rows.loc[SOME[0], "best_utilization"] == pytest.approx(rows.loc[SOME[0], "utilization"], rel=0.01)
    text = str(validation)
    assert "TP 8, PP 16, VPP 8, DP 128" in text
    assert "too much" in text  # DeepSeek, by the counted activations
    assert "<table" in validation._repr_html_()


@pytest.mark.long
def test_the_planner_is_at_least_as_good_for_all_runs() -> None:
    validation = rs.validate_layouts()
    assert validation.holds
    assert (validation.rows["best_utilization"] > 0).all()


def test_an_illegal_layout_is_named() -> None:
    (run,) = training_runs(SOME[0])
    broken = {**run.inputs, "data_parallel": 96}
    assert "does not" in published._legality(broken)


def test_context_and_experts_are_shared_together() -> None:
    sizes = rs.models["DeepSeek-V3"].values
    layout = {"chips": 1024, "context_parallel": 4, "pipeline_stages": 16, "data_parallel": 16, "expert_parallel": 64}
    check_layout(layout, {**sizes, "sequence_length": 131072, "global_batch_size": 64, "model_chunks": 1})
    plan = rs.deploy(
        model="DeepSeek-V3", hardware="H800", weight_format="fp8", chips=1024, global_batch_size=64,
        sequence_length=131072, context_parallel=[1, 4, 16], pipeline_stages=16, activation_policy="block",
        pipeline_schedule="1f1b", sharded_state="weights", sequence_parallel="on", objective="training_step_time",
    )  # fmt: skip
    assert (plan.table["context_parallel"] > 1).any()
    assert (plan.table["expert_parallel"] > 1).any()


def test_unknown_runs() -> None:
    with pytest.raises(errors.UnknownName, match="DeepSeek-V3"):
        rs.validate_layouts(["Deepseek V3"])
    for name, why in left_out_runs().items():
        with pytest.raises(errors.UnknownName, match="has no layout to compare") as caught:
            rs.validate_layouts(name)
        assert why in str(caught.value)
