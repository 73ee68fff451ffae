"""Results in NetCDF, Zarr and Parquet come back with all attributes."""

from __future__ import annotations

import json
import re
import shutil
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import roofslate as rs
import xarray as xr
from roofslate import errors
from roofslate._base.messages import pip_install
from support.lazy import Lazy

pl = Lazy("polars")

pytestmark = pytest.mark.filterwarnings("ignore::roofslate.RoofslateWarning")

ENDINGS = [".nc", ".zarr", ".parquet"]
SERVED: dict[str, Any] = {
    "hardware": "H200",
    "chips": 8,
    "input_tokens": 1000,
    "output_tokens": 500,
    "calibration": "serving",
    "chip_price": "3 USD/h",
    "weight_format": "fp8",
}
CELL = {"hardware": "H200", "chips": 16, "context_length": "8k"}


def results() -> dict[str, Any]:
    models, nan = ["DeepSeek-V3", "Kimi-K2"], np.nan
    return {
        "calibrated": rs.evaluate(
            ["time_per_output_token", "bottleneck", "cost_per_output_token"],
            {**SERVED, "model": models, "concurrency": [8, 64, 256]},
            bands=0.8,
        ),
        "array": rs.evaluate("pass_time", CELL, model=models, batch_size=[1, 64]),
        "choice": rs.evaluate("bottleneck", CELL, model="DeepSeek-V3", batch_size=[1, 1e5]),
        "point": rs.evaluate(["pass_time", "bottleneck"], CELL, model="DeepSeek-V3", batch_size=8),
        "number": rs.evaluate("pass_time", CELL, model="DeepSeek-V3", batch_size=8),
        "fewer dims": rs.evaluate(
            ["hbm_drain_time", "pass_time"], CELL | {"hardware": ["H100", "H200"]}, model="Kimi-K2", batch_size=[1, 2]
        ),
        "float32": rs.evaluate("pass_time", CELL, model="Kimi-K2", batch_size=[1, 2], dtype="float32"),
        "nan and inf": rs.evaluate(["pass_time"], CELL, model="Kimi-K2", batch_size=[1, 2]) * np.array([nan, np.inf]),
        "units": rs.evaluate(["pass_time"], CELL, model="Kimi-K2", batch_size=[1, 2], units={"pass_time": "ms"}),
        "best": rs.best("pass_time", {**CELL, "model": models, "chips": [16, 32]}, over=["chips"], batch_size=[1, 2]),
        "days": rs.evaluate("chip_price", prices="H100 RunPod secure", as_of=["2026-09-01", "2026-10-01"]),
        "sample": rs.sample("pass_time", 5, CELL, seed=1, model="Kimi-K2", batch_size=rs_uniform()),
    }


def rs_uniform() -> Any:
    stats = pytest.importorskip("scipy.stats")
    return stats.uniform(1, 100)


NAMES = ["calibrated", "array", "choice", "point", "number", "fewer dims", "float32", "nan and inf", "units", "best"]
NAMES += ["days", "sample"]


@pytest.fixture(name="built", scope="module")
def all_results() -> dict[str, Any]:
    return results()


@pytest.mark.parametrize("ending", ENDINGS)
@pytest.mark.parametrize("name", NAMES)
def test_results_come_back_as_they_were(built, tmp_path, name, ending):
    result = built[name]
    rs.save(result, tmp_path / f"result{ending}")
    back = rs.load(tmp_path / f"result{ending}")
    assert type(back) is type(result)
    assert back.identical(result)
    specific, outcome = (x.to_dataset(name="x") if isinstance(x, xr.DataArray) else x for x in (result, back))
    assert {n: v.dtype for n, v in outcome.variables.items()} == {n: v.dtype for n, v in specific.variables.items()}
    for n, v in specific.variables.items():
        assert {key: type(x) for key, x in outcome[n].attrs.items()} == {key: type(x) for key, x in v.attrs.items()}
    assert outcome.attrs == specific.attrs


@pytest.mark.parametrize("ending", ENDINGS)
def test_what_is_said_of_results_comes_back(built, tmp_path, ending):
    rs.save(built["calibrated"], tmp_path / f"result{ending}")
    back = rs.load(tmp_path / f"result{ending}")
    attrs = back["time_per_output_token"].attrs
    assert attrs["units"] == "s*sequence/token"
    assert attrs["basis"] == "estimate"
    assert attrs["calibration"] == f"serving ({rs.calibration().date})"
    assert attrs["support"] == "measured | extrapolated: model=Kimi-K2"
    assert back.attrs["hardware"].startswith("H200 (")
    assert back.attrs["roofslate_version"] == rs.__version__
    rs.to_units(back, {"cost_per_output_token": "USD/Mtoken"})


def test_a_parquet_file_is_a_table_for_everybody(built, tmp_path):
    rs.save(built["calibrated"], tmp_path / "result.parquet")
    table = pl.read_parquet(tmp_path / "result.parquet")
    expected = built["calibrated"].to_dataframe().reset_index()
    assert table["cost_per_output_token"].to_list() == expected["cost_per_output_token"].tolist()
    assert table["model"].to_list() == expected["model"].tolist()
    words = rs.quantity("bottleneck").choices
    assert table["bottleneck"].to_list() == [words[k] for k in expected["bottleneck"]]
    assert pd.read_parquet(tmp_path / "result.parquet").attrs["units"]["cost_per_output_token"] == "USD/token"
    field = pq.read_schema(tmp_path / "result.parquet").field("time_per_output_token")
    assert field.metadata[b"support"] == b"measured | extrapolated: model=Kimi-K2"


def test_dask_results_are_written_too(tmp_path):
    pytest.importorskip("dask")
    chunked = xr.DataArray(np.arange(1.0, 9), dims="batch_size").chunk({"batch_size": 4})
    result = rs.evaluate(["pass_time"], CELL, model="Kimi-K2", batch_size=chunked)
    for ending in ENDINGS:
        rs.save(result, tmp_path / f"result{ending}")
        xr.testing.assert_identical(rs.load(tmp_path / f"result{ending}"), result.compute())


@pytest.mark.parametrize("ending", ENDINGS)
def test_files_are_replaced_only_where_asked(built, tmp_path, ending):
    path = tmp_path / f"result{ending}"
    rs.save(built["array"], path)
    with pytest.raises(FileExistsError, match="overwrite was not asked for"):
        rs.save(built["choice"], path)
    assert rs.load(path).identical(built["array"])
    rs.save(built["choice"], path, overwrite=True)
    assert rs.load(path).identical(built["choice"])
    assert [each.name for each in tmp_path.iterdir()] == [path.name], "nothing else is left"


@pytest.mark.parametrize("ending", ENDINGS)
def test_broken_files(built, tmp_path, ending):
    path = tmp_path / f"result{ending}"
    with pytest.raises(FileNotFoundError, match="there is no such file"):
        rs.load(path)
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        rs.save(built["array"], tmp_path / "nowhere" / path.name)
    path.write_bytes(b"nothing of the kind" * 100)
    with pytest.raises(errors.InputTypeError, match=f"result{ending} cannot be read"):
        rs.load(path)
    path.unlink()
    rs.save(built["calibrated"], path)
    _shorten(path)
    with pytest.raises(errors.InputTypeError, match=rf"result{ending}.* cannot be read"):
        rs.load(path)


def _shorten(path: Path) -> None:
    """Cut off half of a file, of a folder the header of an array."""
    file = next(path.glob("*/zarr.json")) if path.is_dir() else path
    content = file.read_bytes()
    file.write_bytes(content[: len(content) // 2])


def test_mistakes(built, tmp_path):
    with pytest.raises(errors.InputTypeError, match=r"ends in \.nc, \.zarr, \.parquet"):
        rs.save(built["array"], tmp_path / "result.csv")
    with pytest.raises(errors.InputTypeError, match=r"ends in \.nc, \.zarr, \.parquet"):
        rs.load(tmp_path / "result.h5")
    with pytest.raises(errors.InputTypeError, match="takes a DataArray or a Dataset, got 3"):
        rs.save(3, tmp_path / "result.nc")
    with pytest.raises(errors.InputTypeError, match="path: expected the name of a file, got 3"):
        rs.load(3)
    odd = built["array"].assign_attrs(mine={"a": 1})
    with pytest.raises(errors.InputTypeError, match="attribute 'mine' of 'pass_time': expected a text or a number"):
        rs.save(odd, tmp_path / "result.parquet")
    with pytest.raises(errors.InputTypeError, match="z: a file holds numbers and texts, got complex128"):
        rs.save(xr.Dataset({"z": ("x", np.array([1j]))}), tmp_path / "result.parquet")
    pd.DataFrame({"a": [1]}).to_parquet(tmp_path / "other.parquet")
    with pytest.raises(errors.InputTypeError, match=r"holds no result that rs\.save wrote"):
        rs.load(tmp_path / "other.parquet")
    assert [each.name for each in tmp_path.iterdir()] == ["other.parquet"]


@pytest.mark.parametrize(
    "about",
    [
        [],
        {},
        {"dims": 3, "variables": {}},
        {"dims": {"x": 10**15}, "variables": {"a": {"dims": ["x"], "dtype": "float64", "attrs": {}}}},
        {"dims": {"x": -1}, "variables": {"a": {"dims": ["x"], "dtype": "float64", "attrs": {}}}},
        {"dims": {"x": 1}, "variables": {"b": {"dims": ["x"], "dtype": "float64", "attrs": {}}}},
        {"dims": {"x": 1}, "variables": {"a": {"dims": ["y"], "dtype": "float64", "attrs": {}}}},
        {"dims": {"x": 1}, "variables": {"a": {"dims": ["x"], "dtype": "os.system", "attrs": {}}}},
        {"dims": {"x": 1}, "variables": {"a": {"dims": ["x"], "dtype": "float64", "attrs": 3}}},
        {"dims": {"x": 1}, "variables": {"a": {"dims": ["x"], "dtype": "float64"}}},
    ],
    ids=range(10),
)
def test_hostile_metadata(tmp_path, about):
    path = tmp_path / "hostile.parquet"
    schema = pa.schema([("a", pa.float64())], {b"roofslate": json.dumps(about).encode()})
    pq.write_table(pa.table({"a": [1.0]}).cast(schema), path)
    with pytest.raises(errors.InputTypeError, match=r"hostile\.parquet"):
        rs.load(path)


def test_no_code_of_a_folder_is_run(built, tmp_path):
    """An array that is stored as pickles is refused before anything is read."""
    path = tmp_path / "result.zarr"
    rs.save(built["array"], path)
    header = path / "pass_time" / "zarr.json"
    content = json.loads(header.read_text())
    content["codecs"] = [{"name": "numcodecs.pickle", "configuration": {}}]
    header.write_text(json.dumps(content))
    with pytest.raises(errors.UnknownName, match=r"unknown codec in .*: 'numcodecs.pickle'|'numcodecs.pickle'"):
        rs.load(path)
    shutil.rmtree(path)
    xr.Dataset({"a": ("x", [1.0])}).to_zarr(path, zarr_format=2, consolidated=False)
    with pytest.raises(errors.InputTypeError, match=r"it has no zarr\.json of format 3"):
        rs.load(path)


def test_a_small_file_that_says_it_is_large(tmp_path):
    h5py = pytest.importorskip("h5py")
    with h5py.File(tmp_path / "large.nc", "w") as file:
        file.create_dataset("a", shape=(10**13,), dtype="f8", chunks=(10**6,))
    with pytest.raises(MemoryError, match="more than there is memory"):
        rs.load(tmp_path / "large.nc")


@pytest.mark.parametrize(
    ("ending", "missing"), [(".nc", "h5netcdf"), (".zarr", "zarr"), (".parquet", "pyarrow.parquet")]
)
def test_without_the_extra(built, tmp_path, monkeypatch, ending, missing):
    monkeypatch.setitem(__import__("sys").modules, missing, None)
    with pytest.raises(ModuleNotFoundError, match=re.escape(pip_install("files"))):
        rs.save(built["array"], tmp_path / f"result{ending}")
    assert not list(tmp_path.iterdir())
