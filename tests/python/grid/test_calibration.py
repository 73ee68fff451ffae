"""``calibration=`` as a keyword of presets."""

import pickle
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate.errors import UnknownName
from roofslate.grid.read import Settled

SERVER = {
    "model": "Llama-3.1-70B",
    "hardware": "HGX H100",
    "weight_format": "fp8",
    "tensor_parallel": 8,
    "concurrency": 64,
    "input_tokens": "8k",
    "output_tokens": "1k",
}
LATENCY = ["time_per_output_token", "time_to_first_token"]


def test_a_name_and_a_calibration_are_its_constants() -> None:
    written_out = rs.value("time_per_output_token", **rs.calibration(), **SERVER)
    for given in ("serving", rs.calibration("serving")):
        assert rs.value("time_per_output_token", SERVER, calibration=given) == written_out
        assert rs.evaluate("time_per_output_token", SERVER, calibration=given) == written_out


def test_the_floor_is_the_declared_default() -> None:
    for output in LATENCY:
        assert rs.value(output, SERVER, calibration="floor") == rs.value(output, SERVER)


def test_an_input_beats_a_member_of_a_calibration() -> None:
    constants = {**rs.calibration(), "bandwidth_efficiency": 0.5}
    given = rs.value("time_per_output_token", SERVER, calibration="serving", bandwidth_efficiency=0.5)
    assert given == rs.value("time_per_output_token", {**constants, **SERVER})
    both = rs.value("time_per_output_token", calibration="floor", **rs.calibration(), **SERVER)
    assert both == rs.value("time_per_output_token", **rs.calibration(), **SERVER)


@pytest.mark.parametrize("given", [["floor", "serving"], np.array(["floor", "serving"]), ["floor", rs.calibration()]])
def test_a_list_makes_an_axis(given) -> None:
    result = rs.evaluate(LATENCY, SERVER, calibration=given)
    assert result.calibration.values.tolist() == ["floor", "serving"]
    for name in ("floor", "serving"):
        for output in LATENCY:
            expected = rs.value(output, SERVER, calibration=name)
            assert result[output].sel(calibration=name) == pytest.approx(expected, rel=1e-14)


def test_a_fold_compares_calibrations() -> None:
    result = rs.best("time_per_output_token", SERVER, over="calibration", calibration=["serving", "floor"])
    assert result.calibration.item() == "floor"


def test_a_column_names_calibrations() -> None:
    table = pd.DataFrame({"calibration": ["serving", "floor", "serving"], "concurrency": [64, 64, 8]})
    same = {name: x for name, x in SERVER.items() if name != "concurrency"}
    result = rs.frame(table, "time_per_output_token", same)["time_per_output_token"]
    rows = zip(table["calibration"], table["concurrency"], strict=True)
    assert result.tolist() == [
        rs.value("time_per_output_token", {**SERVER, "concurrency": int(n)}, calibration=name) for name, n in rows
    ]


def test_unknown_calibrations_are_named() -> None:
    with pytest.raises(rs.errors.UnknownName, match="serving"):
        rs.value("time_per_output_token", SERVER, calibration="servin")
    with pytest.raises(rs.errors.InputTypeError, match="a Calibration or a list of them"):
        rs.evaluate("time_per_output_token", SERVER, calibration=3)
    with pytest.raises(rs.errors.PresetError, match="is a preset for model="):
        rs.evaluate("time_per_output_token", SERVER, calibration=rs.models["DeepSeek-V3"])


def test_a_calibration_of_the_other_chain_is_refused() -> None:
    run = {"model": "DeepSeek-V3", "hardware": "HGX H100", "chip_price": "2 USD/h", "pretraining_tokens": "10T"}
    with pytest.raises(rs.errors.IneffectiveInput, match="give calibration='training'"):
        rs.value("pretraining_cost", run, calibration="serving")
    with pytest.raises(rs.errors.IneffectiveInput, match="give calibration='training'"):
        rs.evaluate(["pretraining_cost"], run, calibration=["floor", "serving"])
    with pytest.raises(rs.errors.IneffectiveInput, match="give calibration='serving'"):
        rs.evaluate("time_per_output_token", SERVER, calibration="training")
    with pytest.raises(rs.errors.IneffectiveInput, match="give calibration='serving'"):
        rs.frame(pd.DataFrame({"calibration": ["training"]}), "time_per_output_token", SERVER)
    assert rs.value("active_parameters", calibration="training", model="DeepSeek-V3") > 0
    run["training_utilization"] = 0.4
    assert rs.value("pretraining_cost", run, calibration="floor") == rs.value("pretraining_cost", run)


def test_a_preset_of_a_calibration_travels() -> None:
    given = rs.calibration("serving")
    result = rs.evaluate(LATENCY, SERVER, calibration=pickle.loads(pickle.dumps(given)))
    assert result.attrs["calibration"] == f"serving ({given.date})"


# ------------------------------------------------------------------------------------------------------------ basis


def basis_of(output: str, **inputs) -> str:
    return rs.evaluate(output, Settled({**SERVER, **inputs})).attrs["basis"]


def test_the_basis_of_an_output() -> None:
    tpot = "time_per_output_token"
    assert basis_of(tpot) == "floor"
    assert basis_of(tpot, calibration="floor") == "floor"
    assert basis_of(tpot, calibration="serving") == "estimate"
    assert basis_of(tpot, calibration="serving", kernel_time_factor=rs.calibration()["kernel_time_factor"]) == (
        "estimate"
    )
    assert basis_of(tpot, calibration="serving", bandwidth_efficiency=0.5) == "mixed: bandwidth_efficiency"
    assert basis_of(tpot, calibration="serving", expert_reads="all") == "estimate"
    assert basis_of(tpot, bandwidth_efficiency=[0.5, 1.0]) == "mixed: bandwidth_efficiency"
    assert basis_of(tpot, bandwidth_efficiency=1) == "floor"
    assert basis_of("model_bytes", bandwidth_efficiency=0.5) == "floor"
    assert basis_of(tpot, calibration="serving", pass_time="20 ms").endswith("; given: pass_time")


def test_the_calibration_of_an_output_is_named() -> None:
    result = rs.evaluate([*LATENCY, "model_bytes"], SERVER, calibration="serving")
    date = rs.calibration().date
    assert result.time_per_output_token.attrs["calibration"] == f"serving ({date})"
    assert result.model_bytes.attrs["basis"] == "floor"
    assert "calibration" not in result.model_bytes.attrs


def test_the_basis_of_rows() -> None:
    table = pd.DataFrame({"calibration": ["serving", "floor"]})
    result = rs.frame(table, LATENCY, SERVER)
    assert result.attrs["basis"] == dict.fromkeys(LATENCY, "estimate | floor")
    assert rs.frame(table[["calibration"]][:1], LATENCY, SERVER).attrs["calibration"].keys() == set(LATENCY)
    constants = pd.DataFrame({"bandwidth_efficiency": [0.5, 1.0]})
    assert rs.frame(constants, LATENCY[0], SERVER).attrs["basis"] == {LATENCY[0]: "mixed: bandwidth_efficiency"}
    assert rs.frame(constants, "model_bytes", Settled(SERVER)).attrs["basis"] == {"model_bytes": "floor"}


def test_the_basis_of_a_fold_and_of_a_solution() -> None:
    server = {name: x for name, x in SERVER.items() if name != "concurrency"}
    result = rs.best(
        "time_per_output_token",
        server,
        over="concurrency",
        also="request_latency",
        calibration="serving",
        concurrency=[8, 64],
    )
    assert result.time_per_output_token.attrs["basis"] == result.request_latency.attrs["basis"] == "estimate"
    solved = rs.solve("concurrency", "time_per_output_token <= 50 ms", server, calibration="serving")
    assert solved.attrs["basis"] == "estimate"
    slope = rs.gradient("time_per_output_token", SERVER, to=["concurrency"])
    assert slope.attrs["basis"] == "floor"


# ------------------------------------------------------------------------------------------------------ side by side


def test_each_calibration_has_its_own_plan() -> None:
    scenario = {**SERVER, "concurrency": [1, 8, 64], "calibration": ["floor", "serving"]}
    result = rs.evaluate([*LATENCY, "model_bytes"], scenario)
    assert result.model_bytes.dims == ()
    assert result.time_per_output_token.dims == ("concurrency", "calibration")
    for k, name in enumerate(scenario["calibration"]):
        single = rs.evaluate(LATENCY, {**scenario, "calibration": name})
        for output in LATENCY:
            assert result[output].values[:, k].tobytes() == single[output].values.tobytes()
    assert result.time_per_output_token.attrs["basis"] == "floor | estimate"
    assert result.attrs["calibration"] == f"floor, serving ({rs.calibration().date})"
    turned = rs.evaluate(LATENCY[0], {"calibration": ["serving", "floor"], **SERVER, "concurrency": [1, 8, 64]})
    assert turned.dims == ("calibration", "concurrency")


def test_memory_of_the_caller_takes_both() -> None:
    out = np.empty(2)
    result = rs.evaluate("time_per_output_token", SERVER, out=out, calibration=["floor", "serving"])
    assert result.values.tolist() == out.tolist()
    expected = [rs.value("time_per_output_token", SERVER, calibration=name) for name in ("floor", "serving")]
    assert out == pytest.approx(expected, rel=1e-14)


def test_bands_of_a_named_calibration() -> None:
    unpacked = rs.evaluate(LATENCY, bands=0.8, **rs.calibration(), **SERVER)
    named = rs.evaluate(LATENCY, SERVER, bands=0.8, calibration="serving")
    both = rs.evaluate(LATENCY, SERVER, bands=0.8, calibration=["floor", "serving"])
    for name in unpacked.data_vars:
        assert named[name].item() == unpacked[name].item() == both[name].sel(calibration="serving").item()
    assert np.isnan(both.time_per_output_token_lower.sel(calibration="floor"))
    assert both.time_per_output_token_lower.attrs["basis"] == "estimate"
    table = pd.DataFrame({"concurrency": [64]})
    same = {name: x for name, x in SERVER.items() if name != "concurrency"}
    rows = rs.frame(table, LATENCY, same, bands=0.8, calibration="serving")
    assert rows["time_per_output_token_upper"][0] == pytest.approx(named.time_per_output_token_upper.item())
    mixed = rs.frame(pd.DataFrame({"calibration": ["floor", "serving"]}), LATENCY, SERVER, bands=0.8)
    upper = mixed["time_per_output_token_upper"]
    assert np.isnan(upper[0])
    assert upper[1] == rows["time_per_output_token_upper"][0]
    assert "80% band" in str(rs.explain("time_per_output_token", SERVER, bands=0.8, calibration="serving"))
    with pytest.raises(rs.errors.MissingInput, match='give calibration="serving"'):
        rs.evaluate(LATENCY, SERVER, bands=0.8, calibration="floor")


def test_bands_need_an_estimate_in_a_list() -> None:
    with pytest.raises(rs.errors.MissingInput, match='give calibration="serving"'):
        rs.evaluate(LATENCY, SERVER, bands=0.8, calibration=["floor"])


def test_a_derivation_says_its_basis() -> None:
    floor = rs.explain("time_per_output_token", SERVER)
    estimate = rs.explain("time_per_output_token", SERVER, calibration="serving")
    assert floor.basis == "floor"
    for text in (str(floor), floor.markdown, floor.html):
        assert "Basis: floor" in text
    assert f"Basis: estimate, calibration serving ({rs.calibration().date})" in str(estimate)
    assert "Basis" not in str(rs.explain("hbm_drain_time", hardware="H100"))


# ------------------------------------------------------------------------------------ bands of dependents of an outcome

RUN: dict[str, Any] = {
    "model": "Llama-3.1-70B", "hardware": "H100", "chips": 1024, "global_batch_size": 1024, "sequence_length": 8192,
    "tensor_parallel": 8, "pipeline_stages": 4, "microbatches": 32, "pipeline_schedule": "1f1b",
    "activation_policy": "block", "sharded_state": "optimizer", "chip_price": "2 USD/h",
}  # fmt: skip
INVERSE = ("training_step_time", "pretraining_chip_time", "pretraining_time", "pretraining_cost")
ALIKE = ("trained_tokens_per_second", "training_utilization", "hardware_flops_utilization")


def _ends(result: Any, name: str) -> list[float]:
    return [float(result[f"{name}_{end}"] / result[name]) for end in ("lower", "upper")]


def test_a_proportional_outcome_has_the_band_of_the_calibrated_one() -> None:
    served: Any = rs.evaluate(["time_per_output_token", "tokens_per_second_per_user"], SERVER, bands=0.8,
                              calibration="serving")  # fmt: skip
    low, high = _ends(served, "time_per_output_token")
    assert _ends(served, "tokens_per_second_per_user") == pytest.approx([1 / high, 1 / low], rel=1e-12)
    pace = "trained_tokens_per_second_per_chip"
    trained: Any = rs.evaluate([pace, *INVERSE, *ALIKE], RUN, bands=0.8, calibration="training")
    low, high = _ends(trained, pace)
    for name in INVERSE:
        assert _ends(trained, name) == pytest.approx([1 / high, 1 / low], rel=1e-12)
    for name in ALIKE:
        assert _ends(trained, name) == pytest.approx([low, high], rel=1e-12)
    run = {name: x for name, x in RUN.items() if name != "model"}
    table = pd.DataFrame({"model": ["Llama-3.1-70B", "Llama-3.1-8B"]})
    rows = rs.frame(table, "pretraining_cost", run, bands=0.8, calibration="training")
    for end in ("lower", "upper"):
        assert rows[f"pretraining_cost_{end}"][0] == pytest.approx(float(trained[f"pretraining_cost_{end}"]), rel=1e-12)
    assert "80% band" in str(rs.explain("pretraining_cost", RUN, bands=0.8, calibration="training"))


def test_an_outcome_of_two_calibrated_ones_or_of_given_ones_has_no_band() -> None:
    both: Any = rs.evaluate(["time_per_output_token", "request_latency"], SERVER, bands=0.8, calibration="serving")
    assert "request_latency_lower" not in both
    with pytest.raises(UnknownName, match="bands: pretraining_cost is not calibrated"):
        rs.evaluate("pretraining_cost", RUN, training_utilization=0.4, bands=0.8, calibration="training")
    balanced = {**RUN, "inference_tokens": 1e14, "decode_utilization": 0.1}
    without = {**_llama_without_tokens(), **{name: x for name, x in balanced.items() if name != "model"}}
    names = ["pretraining_cost", "training_step_time"]
    follows = rs.evaluate(names, bands=0.8, calibration="training", **without)
    assert "pretraining_cost_lower" not in follows
    assert "training_step_time_lower" in follows


def _llama_without_tokens() -> dict[str, Any]:
    values = rs.models["Llama-3.1-70B"].values
    return {
        name: x for name, x in values.items() if name not in ("pretraining_tokens", "intermediate_size", "kv_format")
    }


def test_rows_of_models_that_are_trained_end_their_circles() -> None:
    """Concurrency and batch follow from each other, without unlimited recursion in tables."""
    run = {name: x for name, x in RUN.items() if name != "model"}
    table = pd.DataFrame({"model": ["Llama-3.1-70B", "Llama-3.1-8B"]})
    result = rs.frame(table, "pretraining_cost", run)["pretraining_cost"]
    assert result.tolist() == [rs.value("pretraining_cost", {**run, "model": name}) for name in table["model"]]
