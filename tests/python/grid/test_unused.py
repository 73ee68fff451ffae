"""Inputs that no output takes: errors, warnings and silence, each with the way out."""

import warnings

import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from click.testing import CliRunner
from roofslate.cli import main
from roofslate.errors import IneffectiveInput, UnusedInput
from roofslate.grid.read import Settled
from support.lazy import Lazy

stats = Lazy("scipy.stats")

RUN = {
    "pretraining_flops": "1e27",
    "hardware": "GB200",
    "weight_format": "fp8",
    "chip_price": "3 USD/h",
    "training_utilization": 0.4,
}
CELL = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72", "context_length": "8k", "batch_size": 64}
DRAIN = {"hbm_capacity": 192e9, "hbm_bandwidth": 8e12}


@pytest.fixture(autouse=True)
def _unused_inputs_are_errors():
    with warnings.catch_warnings():
        warnings.simplefilter("error", UnusedInput)
        yield


def test_an_unrelated_keyword_is_a_warning_that_names_the_nearest_input():
    """T1: a utilization that the cost of a run does not take."""
    words = "^'prefill_utilization' does not enter pretraining_cost$"
    with pytest.warns(UnusedInput, match=words):
        cost = rs.value("pretraining_cost", prefill_utilization=0.3, **RUN)
    assert cost == rs.value("pretraining_cost", **RUN)
    with pytest.warns(UnusedInput, match="^'prefill_utilization' does not enter pass_time"):
        rs.value("pass_time", prefill_utilization=0.3, **CELL)
    with pytest.warns(UnusedInput, match=r"^'bandwidth_efficiency' does .*; did you mean 'compute_efficiency'\?$"):
        rs.value("compute_time", model="DeepSeek-V3", hardware="B200", chips=8, batch_size=64, bandwidth_efficiency=0.9)
    with pytest.warns(UnusedInput, match="^'chips' does not enter hbm_drain_time$") as caught:
        rs.value("hbm_drain_time", chips=2, **DRAIN)
    assert caught[0].filename == __file__
    for call in (rs.value, rs.evaluate, rs.sensitivity, rs.explain):
        with pytest.warns(UnusedInput, match="'chip_price' does not enter pass_time"):
            call("pass_time", chip_price=1e-3, **CELL)


def test_an_axis_without_effect_is_an_error():
    for utilization in (
        [0.3, 0.4],
        pd.Series([0.3, 0.4]),
        xr.DataArray([0.3, 0.4], dims="case"),
        rs.linspace(0.1, 1, 3),
    ):
        for scenario in (None, {"prefill_utilization": utilization}):
            keywords = {} if scenario else {"prefill_utilization": utilization}
            with pytest.raises(IneffectiveInput, match="no output depends on the axis"):
                rs.evaluate("pretraining_cost", scenario, **RUN, **keywords)
    with pytest.raises(IneffectiveInput, match="pretraining_cost does not depend on the axis 'model' of model="):
        rs.evaluate("pretraining_cost", model=["DeepSeek-V3", "Kimi-K2"], **RUN)
    with pytest.raises(IneffectiveInput, match="the axis 'chips': 'chips' does not enter hbm_drain_time"):
        rs.count("hbm_drain_time <= 1 s", chips=[1, 2], **DRAIN)
    both = rs.evaluate(["hbm_drain_time", "pass_tokens"], batch_size=[1, 2], **DRAIN)
    assert both["hbm_drain_time"].dims == ()


def test_columns_without_effect_are_errors_unless_ignored():
    table = pd.DataFrame({"hbm_bandwidth": [8e12, 9e12], "chips": [1, 2]})
    with pytest.raises(IneffectiveInput, match="column 'chips' does not enter hbm_drain_time; leave it out"):
        rs.frame(table, "hbm_drain_time", hbm_capacity=192e9)
    assert len(rs.frame(table, "hbm_drain_time", ignore="chips", hbm_capacity=192e9)) == 2
    named = table.drop(columns="hbm_bandwidth").assign(hardware=["B200", "H200"])
    with pytest.raises(IneffectiveInput, match="column 'chips' does not enter hbm_drain_time"):
        rs.frame(named, "hbm_drain_time")


def test_what_a_preset_blocks_is_an_error_and_in_a_scenario_a_warning():
    with pytest.raises(IneffectiveInput, match="'kv_heads' has no effect: model='lecture' supplies"):
        rs.value("kv_bytes_per_token", model="lecture", kv_heads=4)
    with pytest.warns(UnusedInput, match="'kv_heads' has no effect: model='lecture' supplies"):
        rs.value("kv_bytes_per_token", {"model": "lecture", "kv_heads": 4})
    words = "kv_latent_size is 576 by model='DeepSeek-V3'; give kv_latent_size="
    with pytest.raises(IneffectiveInput, match=words):
        rs.value("pass_time", kv_heads=1, **CELL)
    with pytest.warns(UnusedInput, match=words):
        rs.value("pass_time", {**CELL, "kv_heads": 1})


def test_what_a_default_blocks_names_the_way_out():
    words = (
        r"^'link_efficiency' has no effect on pass_time: communication='free' \(the default\) leaves it out; "
        r"give communication='exposed' or 'overlapped' or calibration='serving'$"
    )
    for call in (rs.value, rs.evaluate, rs.sensitivity, rs.explain):
        with pytest.raises(IneffectiveInput, match=words):
            call("pass_time", CELL, link_efficiency=0.5)
    with pytest.warns(UnusedInput, match=words):
        rs.value("pass_time", {**CELL, "link_efficiency": 0.5})
    with pytest.warns(UnusedInput, match="'link_efficiency' has no effect on pass_time: communication='free' leaves"):
        rs.value("pass_time", CELL, link_efficiency=0.5, communication="free")
    rs.value("pass_time", CELL, link_efficiency=0.5, communication="exposed", chips=72, tensor_parallel=8)


def test_the_calibration_that_is_named_is_that_of_the_chain():
    with pytest.raises(IneffectiveInput, match=r"arithmetic='full' or calibration='training'$"):
        rs.value("training_flops_per_token", model="Llama-3.1-8B", sequence_length=8192)


def test_what_another_keyword_blocks_is_a_warning_and_in_a_scenario_silent():
    price = {"chip_price": "2 USD/h", "pass_time": "5 ms"}
    with pytest.warns(UnusedInput, match="'context_length' has no effect on cost_per_token: pass_time is given"):
        cost = rs.value("cost_per_token", **CELL, **price)
    assert rs.value("cost_per_token", CELL, **price) == cost


def test_members_of_a_scenario_are_silent_and_listed():
    base = {**CELL, "chip_price": "2 USD/h"}
    assert rs.value("pass_time", base) == rs.value("pass_time", **CELL)
    assert rs.evaluate(["pass_time"], base).attrs["unused"] == "chip_price"
    assert rs.evaluate("pass_time", base).attrs["unused"] == "chip_price"
    assert "unused" not in rs.evaluate(["pass_time", "cost_per_token"], base).attrs


def test_members_that_act_elsewhere_are_silent_and_listed():
    """Dependents of an output, or quantities that need no disabled technique."""
    assert rs.evaluate("compute_time", CELL).attrs["unused"] == "context_length"
    with pytest.raises(
        IneffectiveInput, match=r"arithmetic='weights' \(the default\) leaves it out; give arithmetic='full'"
    ):
        rs.value("compute_time", **CELL)
    stored = {"kv_bytes_per_token": 1e5, "context_length": "8k"}
    assert rs.evaluate("stored_kv_bytes_per_token", stored).attrs["unused"] == "context_length"
    with pytest.warns(UnusedInput, match="'draft_cost' has no effect on cost_per_token: draft_length is 0; give"):
        rs.value("cost_per_token", {**CELL, "chip_price": "2 USD/h", "draft_cost": 0.1})


def test_a_batch_that_is_given_is_why_memory_does_not_matter():
    """And not the way in which sequences are admitted, which a batch implies."""
    with pytest.warns(UnusedInput, match="^'hbm_capacity' has no effect on pass_time: batch_size is given$"):
        rs.value("pass_time", CELL, hbm_capacity="80 GB")
    rs.value("pass_time", {**CELL, "hbm_capacity": "80 GB"})


def test_members_of_presets_and_calibrations_are_silent():
    rs.value("hbm_drain_time", hardware="GB200 NVL72")
    cell = {"model": "Llama-3.1-70B", "weight_format": "fp8", "hardware": "HGX H100", "concurrency": 64}
    rs.value("time_per_output_token", input_tokens="8k", output_tokens="1k", **cell, **rs.calibration())
    rs.value("hbm_drain_time", rs.calibration(), **DRAIN)


def test_bounds_of_other_inputs_and_added_inputs_count_as_used():
    rs.solve(
        "active_parameters", "compute_time == 10 ms", batch_size=64, peak_flops=1e15, chips=1, total_parameters=1e9
    )
    rs.sensitivity("hbm_drain_time", to=["chips", "hbm_capacity"], chips=2, **DRAIN)
    rs.value("hbm_drain_time", Settled({**DRAIN, "chips": 2}))


def test_calls_do_not_warn_of_their_own_evaluations():
    rs.compare({"hardware": "B200"}, {"hardware": "H200", "chips": 8}, "hbm_drain_time")
    rs.infer("GPT-5")
    rs.tornado("hbm_drain_time", hbm_capacity=192e9, hbm_bandwidth=(6e12, 8e12))
    rs.sample("hbm_drain_time", 4, seed=1, hbm_capacity=192e9, hbm_bandwidth=stats.uniform(6e12, 4e12))
    rs.charts.cost_vs_batch.data()
    rs.charts.cost_vs_context.data()


def test_rows_and_ranges_and_draws_are_inputs_like_any_other():
    named = pd.DataFrame({"hardware": ["B200", "H200"]})
    with pytest.warns(UnusedInput, match="^'chips' does not enter hbm_drain_time$"):
        rs.frame(named, "hbm_drain_time", chips=8)
    assert rs.frame(named, "hbm_drain_time", {"chips": 8}).attrs["unused"] == "chips"
    assert rs.frame(named.iloc[:0], "hbm_drain_time", {"chips": 8}).empty
    with pytest.raises(IneffectiveInput, match="column 'model': hbm_drain_time takes nothing that its presets supply"):
        rs.frame(named.assign(model="Kimi-K2"), "hbm_drain_time")
    with pytest.raises(IneffectiveInput, match="no output depends on the axis 'chips'"):
        rs.bounds("hbm_drain_time", chips=(1, 8), **DRAIN)
    with pytest.raises(IneffectiveInput, match="no output depends on the axis 'sample'"):
        rs.sample("hbm_drain_time", 4, seed=1, chips=stats.uniform(1, 8), **DRAIN)
    with pytest.warns(UnusedInput, match="^'chips' does not enter hbm_drain_time$"):
        rs.tornado("hbm_drain_time", chips=(1, 4), hbm_capacity=(1e11, 2e11), hbm_bandwidth=8e12)
    with pytest.warns(UnusedInput, match="^'chips' does not enter hbm_drain_time$"):
        rs.solve("hbm_capacity", "hbm_drain_time == 1 ms", chips=8, hbm_bandwidth=8e12)
    service = {"model": "Llama-3.1-8B", "hardware": "HGX H200", "concurrency": 8, "chip_price": "2 USD/h"}
    service |= {"input_tokens": "2k", "output_tokens": 500}
    with pytest.warns(UnusedInput, match="^'batch_slots' does not enter cost_per_output_token"):
        rs.deploy(objective="cost_per_output_token", batch_slots=5, **service)


def test_the_command_line_writes_what_is_unused(tmp_path):
    scenario = tmp_path / "cell.toml"
    scenario.write_text('model = "lecture"\nhardware = "H200"\nkv_heads = 4\nchip_price = "2 USD/h"\n')
    for command in ("evaluate", "explain"):
        result = CliRunner().invoke(main, [command, "kv_bytes_per_token", "--scenario", str(scenario), "chips=8"])
        assert result.exit_code == 0
        lines = result.stderr.splitlines()
        assert len(lines) == 1
        assert lines[0].startswith("roofslate: 'kv_heads' has no effect: model='lecture' supplies")
        assert "'chips' does not enter kv_bytes_per_token" in lines[0]
        assert "chip_price" not in lines[0]
