"""Series and DataArrays labeled by presets' names are aligned with the axis, or refused."""

import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from roofslate.errors import AxisError
from support.lazy import Later, made

HOURLY = {"H200": 2 / 3600, "B200": 5 / 3600}
LISTED = ["B200", "H200"]


def prices(hardware=LISTED, **inputs):
    return rs.evaluate(["replica_price", "hbm_drain_time"], hardware=hardware, chips=8, **inputs)["replica_price"]


@pytest.mark.parametrize(
    "labeled",
    [
        pd.Series(HOURLY),
        pd.Series(HOURLY).rename_axis("index"),
        pd.Series(HOURLY).rename_axis("hardware"),
        pd.Series({**HOURLY, "TPU v6e": 1 / 3600}),
        Later(lambda: xr.DataArray([*HOURLY.values()], coords={"index": [*HOURLY]})),
        Later(lambda: xr.DataArray([*HOURLY.values()], coords={"dim_0": [*HOURLY]}, dims="dim_0")),
        Later(lambda: xr.DataArray([*HOURLY.values()], coords={"hardware": [*HOURLY]})),
    ],
    ids=["unnamed", "index", "named", "more labels", "array", "unnamed array", "named array"],
)
def test_labels_are_aligned_with_the_presets(labeled):
    """T3: the prices of two systems, for any order of systems and keywords."""
    labeled = made(labeled)
    by_name = prices(chip_price=labeled)
    assert by_name.dims == ("hardware",)
    assert by_name.to_series().to_dict() == {name: 8 * HOURLY[name] for name in LISTED}
    before = rs.evaluate("replica_price", chip_price=labeled, hardware=LISTED, chips=8)
    assert before.to_series().to_dict() == by_name.to_series().to_dict()


def test_other_axes_of_an_array_stay():
    table = xr.DataArray(
        [[1 / 3600, 2 / 3600], [3 / 3600, 4 / 3600], [5 / 3600, 6 / 3600]],
        coords={"offer": ["spot", "on demand", "reserved"], "hardware": ["H200", "B200"]},
    )
    assert prices(chip_price=table).transpose("offer", "hardware").values[0].tolist() == [16 / 3600, 8 / 3600]
    assert prices("B200", chip_price=pd.Series({"spot": 1.5 / 3600}).rename_axis("offer")).dims == ("offer",)


def test_prices_of_a_deployment_belong_to_their_systems():
    question = {
        "objective": "cost_per_output_token", "model": "Llama-3.1-8B", "concurrency": 64, "input_tokens": "2k",
        "output_tokens": 500, "hardware": ["HGX H200", "HGX H100"],
    }  # fmt: skip
    series = pd.Series({"HGX H100": 1 / 3600, "HGX H200": 4 / 3600})
    named = rs.deploy(chip_price=series.rename_axis("hardware")[["HGX H200", "HGX H100"]], **question)
    assert rs.deploy(chip_price=series, **question).best == named.best
    assert named.best["hardware"] == "HGX H100"


@pytest.mark.parametrize(
    ("labeled", "hardware", "message"),
    [
        (
            pd.Series({"H200": 2 / 3600}),
            LISTED,
            "^chip_price: no value for 'B200' of hardware=; its labels are 'H200'$",
        ),
        (pd.Series({"H200": 2 / 3600}).rename_axis("hardware"), LISTED, "^chip_price: no value for 'B200'"),
        (pd.Series(HOURLY), "B200", r'no name: name the index after the axis: \.rename_axis\("hardware"\)$'),
        (pd.Series({"spot": 1, "reserved": 2}), "B200", r'\.rename_axis\("case"\)$'),
        (
            pd.Series(HOURLY).rename_axis("system"),
            LISTED,
            r"but their axis is 'system'.*\.rename_axis\(\"hardware\"\)$",
        ),
        (
            Later(lambda: xr.DataArray([*HOURLY.values()], coords={"system": [*HOURLY]})),
            LISTED,
            r"but their axis is 'system'.*\.rename\(\{\"system\": \"hardware\"\}\)$",
        ),
        (pd.Series([1.0, 2.0, 3.0], index=["B200", "H200", "B200"]) / 3600, LISTED, "the label 'B200' occurs twice"),
    ],
    ids=["missing", "missing of a named one", "one preset", "other labels", "other name", "array", "twice"],
)
def test_labels_that_cannot_be_aligned_are_refused(labeled, hardware, message):
    with pytest.raises(AxisError, match=message):
        prices(hardware, chip_price=made(labeled))


def test_words_of_a_choice_name_their_axis():
    sizes = pd.Series({"all": 64, "expected": 128})
    with pytest.raises(AxisError, match=r'\.rename_axis\("expert_reads"\)$'):
        rs.evaluate("pass_tokens", batch_size=sizes, expert_reads=["all", "expected"])


def test_presets_by_label():
    """A Series of presets has a separate axis, with a name."""
    with pytest.raises(AxisError, match=r"^hardware: the axis of its labels has no name"):
        prices(pd.Series({"old": "H200", "new": "B200"}), chip_price=1 / 3600)
    named = pd.Series({"old": "H200", "new": "B200"}).rename_axis("fleet")
    assert rs.evaluate("hbm_drain_time", hardware=named).dims == ("fleet",)
    aliases = pd.Series({"nvidia b200": 1.0})
    with pytest.raises(AxisError, match="no value for 'H200'"):
        prices(chip_price=aliases)
