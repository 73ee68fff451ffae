"""Shipped calibrations, mistakes in their files and requests, and bands along axes."""

import dataclasses
import re

import calibrate
import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from roofslate import errors
from roofslate.measured.runs import shipped
from roofslate.presets.catalog import measured_as
from support.lazy import Later, made

SERVING = rs.calibration("serving")
BY_FRAMEWORK = dataclasses.replace(
    SERVING,
    constants=(dataclasses.replace(SERVING.constants[0], by="framework", values={"vllm": 2.0, "sglang": 1.6}),),
)


# -------------------------------------------------------------------------------------------------------------- files


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            lambda t: t.replace('constants = ["kernel_time_factor"', 'constants = ["kernel_time"', 1),
            "output.time_per_output_token.constants: there is no constant 'kernel_time'",
        ),
        (
            lambda t: re.sub(r"\[constant\..*?(?=\[output)", "", t, flags=re.DOTALL),
            "constant: expected a table for each",
        ),
        (lambda t: re.sub(r"\[output\..*", "", t, flags=re.DOTALL), "output: expected a table for each output"),
        (
            lambda t: re.sub(r"\[output\..*", "[output]\ntime_per_output_token = 3", t, flags=re.DOTALL),
            "output: expected a table for each output",
        ),
        (
            lambda t: re.sub(r'"hardware" = \["B200".*', '"hardware" = "B200"', t, count=1),
            "output.time_per_output_token.kinds.hardware: expected a list of texts",
        ),
        (
            lambda t: t.replace('by = ""', 'by = ""\nvalues = 3', 1),
            "constant.kernel_time_factor.values: expected a table",
        ),
        (
            lambda t: t.replace('"time_per_output_token_factor"', '"time_per_output_token_factor"\nkinds = 3').replace(
                "token.kinds", "token.x"
            ),
            "output.time_per_output_token.kinds: expected a table",
        ),
    ],
    ids=range(7),
)
def test_files_that_are_not_as_they_should_be(tmp_path, change, said):
    path = tmp_path / "mine.toml"
    SERVING.to_toml(path)
    path.write_text(change(path.read_text(encoding="utf-8")), encoding="utf-8")
    with pytest.raises(errors.PresetError, match=r"mine\.toml, line \d+: ") as caught:
        rs.Calibration.from_toml(path)
    assert said in str(caught.value)


def test_the_command_writes_what_is_there(tmp_path, monkeypatch, capsys):
    """`python python/tools/calibrate.py FasterTransformer`, of a package elsewhere."""
    monkeypatch.setattr(calibrate, "FOLDER", tmp_path)
    with pytest.warns(rs.RoofslateWarning, match="rows are left out"):
        calibrate.main(["FasterTransformer"])
    (path,) = tmp_path.iterdir()
    assert path.name == "FasterTransformer.toml"
    result, shipped = rs.Calibration.from_toml(path), rs.calibration("FasterTransformer")
    assert re.fullmatch(r"\d{4}-\d\d-\d\d", result.date)
    assert result.data == shipped.data
    assert [(c.name, c.low, c.high) for c in result.constants] == [(c.name, c.low, c.high) for c in shipped.constants]
    assert [c.value for c in result.constants] == pytest.approx([c.value for c in shipped.constants], rel=1e-4)
    assert capsys.readouterr().out == f"{result}\n\n"


# ---------------------------------------------------------------------------------------------------------- questions


@pytest.mark.parametrize(
    ("ask", "error", "said"),
    [
        (
            lambda: BY_FRAMEWORK.at(frame="vllm"),
            errors.UnknownName,
            "constants differ 'frame'; did you mean 'framework'",
        ),
        (lambda: BY_FRAMEWORK.at(framework="vlm"), errors.UnknownName, "unknown framework 'vlm'; did you mean 'vllm'"),
        (
            lambda: SERVING.fit("time_per_token"),
            errors.UnknownName,
            "unknown calibrated output 'time_per_token'; did",
        ),
        (lambda: SERVING.band(0.8, "pass_time"), errors.UnknownName, "unknown calibrated output 'pass_time'"),
        (lambda: SERVING.compare(dict(SERVING)), errors.InputTypeError, "compare takes another calibration, got {"),
        (lambda: SERVING | {"overlap": "none"}, TypeError, "unsupported operand type.*'Calibration' and 'dict'"),
    ],
    ids=range(6),
)
def test_mistakes(ask, error, said):
    with pytest.raises(error, match=said):
        ask()


def test_what_all_rows_have_in_common_need_not_be_a_column():
    rows = next(table for table in shipped() if table.name == "serving").runs.rows
    runs = rows[(rows["model"] == "Qwen3-32B") & (rows["hardware"] == "H100")].iloc[::20]
    requested = {
        "terms": {"kernel_time_factor": (0.5, 10)},
        "measured": "time_per_output_token_s",
        "settings": {name: x for name, x in SERVING.items() if name != "kernel_time_factor"},
    }
    same = rs.calibrate(runs.drop(columns=["model", "hardware"]), model="Qwen3-32B", hardware="H100", **requested)
    assert dict(same) == dict(rs.calibrate(runs, **requested))


# -------------------------------------------------------------------------------------------------------------- bands


MODELS = ["Llama-3.1-8B", "Mixtral-8x7B"]  # measured, and never measured


@pytest.mark.parametrize(
    ("given", "axis"),
    [
        (MODELS, "model"),
        (pd.Series(MODELS, index=pd.Index(["a", "b"], name="case")), "case"),
        (Later(lambda: xr.DataArray(MODELS, dims="row")), "row"),
    ],
    ids=["list", "Series", "DataArray"],
)
@pytest.mark.parametrize("overruled", [False, True])
def test_a_band_varies_along_the_axis_of_its_presets(given, axis, overruled):
    """Even where every number of theirs is given, so that nothing else varies along it."""
    numbers = {**rs.models[MODELS[1]].values, **rs.models[MODELS[0]].values} if overruled else {}
    inputs = {"hardware": "H100", "chips": 8, "concurrency": 4, "input_tokens": 1000, "output_tokens": 500, **numbers}
    result = rs.evaluate("time_per_output_token", {**inputs, **SERVING}, model=made(given), bands=SERVING.bands(0.7))
    assert result["time_per_output_token"].dims == (() if overruled else (axis,))
    for end, which in ((0, "lower"), (1, "upper")):
        ratio = result[f"time_per_output_token_{which}"] / result["time_per_output_token"]
        assert ratio.dims == (axis,)
        expected = [SERVING.band(0.7, "time_per_output_token", model=model, hardware="H100")[end] for model in MODELS]
        np.testing.assert_allclose(ratio, expected, rtol=1e-15)
        assert which == "upper" or expected[1] <= expected[0]  # less sure, or as sure


def test_a_system_is_its_chip_and_a_variant_of_a_model_is_not_the_model():
    """Bands and support go by the same names."""
    tpot = "time_per_output_token"
    requested = {"model": "DeepSeek-V3", "chips": 8, "concurrency": 4, "input_tokens": 1000, "output_tokens": 500}
    requested |= {"weight_format": "fp8", "kv_format": "fp8", "calibration": "serving"}
    systems = {"H200": "measured", "HGX H200": "measured", "GB200 NVL72": "extrapolated: hardware=GB200"}
    for system, support in systems.items():
        result = rs.evaluate(tpot, {**requested, "hardware": system}, bands=0.8)
        assert result[tpot].attrs["support"] == support
        assert SERVING.support(tpot, model="DeepSeek-V3", hardware=system) == support
        ends = [float(result[f"{tpot}_{end}"] / result[tpot]) for end in ("lower", "upper")]
        assert ends == pytest.approx(SERVING.band(0.8, tpot, model="DeepSeek-V3", hardware=system))
        row = rs.frame(pd.DataFrame({"hardware": [system]}), tpot, requested, bands=0.8)
        assert row[f"{tpot}_upper"].iloc[0] / row[tpot].iloc[0] == pytest.approx(ends[1])
    assert SERVING.band(0.8, tpot, hardware="H200") == SERVING.band(0.8, tpot, hardware="HGX H200")
    other = rs.evaluate(tpot, {**requested, "model": "DeepSeek-V3.2", "hardware": "H200"})
    assert other.attrs["support"] == "extrapolated: model=DeepSeek-V3.2"


@pytest.mark.usefixtures("fresh_catalogs")
def test_a_chip_that_was_changed_was_not_measured():
    rs.hardware.define("H200 with slow links", base="H200", scale_up_bandwidth="100 GB/s")
    assert SERVING.support("time_per_output_token", hardware="H200 with slow links").startswith("extrapolated")


@pytest.mark.usefixtures("fresh_catalogs")
def test_a_system_of_a_system_was_measured_as_its_chip():
    rented = rs.hardware.define("HGX H200 at a price", base="HGX H200", chip_price="3 USD/h")
    assert SERVING.support("time_per_output_token", hardware="HGX H200 at a price") == "measured"
    assert measured_as(rented) == measured_as(rs.hardware.define("Two of them", base=rented, chips=16)) == "H200"
