"""Achieved peak of kernels: the catalog, chip presets that adopt it, and estimates."""

from __future__ import annotations

import kernel_shares
import numpy as np
import pytest
import roofslate as rs
from roofslate.errors import UnknownName

pytestmark = pytest.mark.usefixtures("fresh_catalogs")
LOAD = {"model": "DeepSeek-V3", "weight_format": "fp8", "kv_format": "fp8", "chips": 8, "concurrency": 64,
        "input_tokens": 1000, "output_tokens": 1000, "calibration": "serving"}  # fmt: skip


def test_facts_have_sources() -> None:
    facts = rs.kernel_facts()
    assert len(facts) == 756
    assert facts[["fact", "chip", "engine", "value", "unit", "source", "date"]].notna().all(axis=None)
    assert facts["source"].str.contains("aiconfigurator-core 0.12.0").all()
    h100 = rs.kernel_facts("H100", "gemm_fixed_time")
    assert set(h100["format"]) >= {"bfloat16", "fp8"}
    assert (h100["value"] > 0).all()


def test_what_the_catalog_lacks_is_named() -> None:
    with pytest.raises(UnknownName, match=r"unknown chip of the kernel catalog 'H10O'.*H100"):
        rs.kernel_facts("H10O")
    with pytest.raises(UnknownName, match="gemm_fixed_time"):
        rs.kernel_facts("H100", "gemm_fixed_tme")


@pytest.mark.parametrize("chip", ["A100-80", "H100", "H200", "B200", "B300", "GB200", "L40S"])
def test_presets_have_the_facts(chip: str) -> None:
    """The tool writes the same block of a preset from the catalog."""
    values = rs.hardware[chip].values
    for name, text in kernel_shares.values_of(chip, kernel_shares.facts()).items():
        expected = 1e-6 * float(text.strip('" us')) if text.startswith('"') else float(text)
        assert values[name] == pytest.approx(expected)


def test_shares_never_exceed_the_data_sheet() -> None:
    """Two facts of grouped GEMMs exceed the data sheet, but no preset's share.

    Caching explains the two. No estimate may fall below the floor.
    """
    grouped = rs.kernel_facts(fact="grouped_gemm_bandwidth_share")
    assert (grouped["value"] > 1).sum() == 2
    table = rs.hardware.to_frame()
    shares = table.filter(regex="_share")
    assert shares.shape[1] > 15
    assert ((shares <= 1) | shares.isna()).all(axis=None)


def test_a_chip_without_a_table_is_estimated_by_the_rule() -> None:
    known = rs.value("time_per_output_token", {**LOAD, "hardware": "H200"})
    rule = rs.hardware.define("H200 without a table", **{
        name: rs.hardware["H200"].values[name]
        for name in ("peak_flops_bf16", "peak_flops_fp8", "hbm_bandwidth", "hbm_capacity", "scale_up_domain",
                     "scale_up_bandwidth", "scale_out_bandwidth")
    })  # fmt: skip
    estimated = rs.evaluate("time_per_output_token", {**LOAD, "hardware": rule})
    assert float(estimated) == pytest.approx(known, rel=0.15)
    assert "H200 without a table" in estimated.attrs["support"]


def test_facts_of_ones_own_act() -> None:
    slow = rs.hardware.define("H200 with slow kernels", base="H200", small_product_time="6 us")
    times = [rs.value("time_per_output_token", {**LOAD, "hardware": chip}) for chip in ("H200", slow)]
    assert times[1] > 1.1 * times[0]
    narrow = rs.value("time_per_output_token", {**LOAD, "hardware": "H200", "expert_bandwidth_share_fp8": 0.4})
    assert narrow > times[0]


@pytest.mark.parametrize("chip", ["A100", "H100", "H200", "B200", "B300", "MI300X", "TPU v5p"])
@pytest.mark.parametrize("weight_format", ["bf16", "fp8", "nvfp4", "mxfp4", "int4"])
def test_an_estimate_is_above_the_floor(chip: str, weight_format: str) -> None:
    requested = {**LOAD, "hardware": chip, "chips": 64, "weight_format": weight_format, "concurrency": [1, 16, 256]}
    floor = rs.evaluate("time_per_output_token", {**requested, "calibration": "floor"})
    estimate = rs.evaluate("time_per_output_token", requested)
    assert np.all((estimate > floor) | ~np.isfinite(floor))


def test_older_software_takes_longer() -> None:
    ages = rs.evaluate("time_per_output_token", {**LOAD, "hardware": "H200", "release_age": [-1, 0, 6]})
    assert (np.diff(ages) > 0).all()
    floor = rs.evaluate("time_per_output_token", {**LOAD, "calibration": "floor", "hardware": "H200"})
    assert float(ages[0]) > float(floor)
