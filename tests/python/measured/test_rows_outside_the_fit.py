"""Rows outside the calibration: errors of the accuracy page, and kernels of AMD's chips.

The rows are runs of DeepSeek-R1, data published by the InferenceX project.
"""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from support.lazy import Lazy

kernel_times = Lazy("kernel_times")

PAGE = Path(__file__).parents[3] / "docs" / "explanation" / "accuracy.md"
ENGINES = {"SGLang": "sglang", "TensorRT-LLM": "trtllm", "ATOM": "atom"}
FITTED = ("MI300X", "MI355X")  # as kernel_times.DIES has them


@pytest.fixture(scope="module")
def rows() -> pd.DataFrame:
    """Read the rows, with the ratio of predicted to measured time per output token."""
    table = pd.read_csv(kernel_times.ROWS)
    scores = rs.validate(table, calibration=rs.calibration("serving")).rows
    table["ratio"] = scores["predicted_time_per_output_token_s"].to_numpy() / table["time_per_output_token_s"]
    return table


@pytest.fixture(scope="module")
def plain(rows: pd.DataFrame) -> pd.DataFrame:
    return rows[rows["speculation"] == "none"]


@pytest.fixture(scope="module")
def section() -> str:
    text = PAGE.read_text(encoding="utf-8")
    return re.sub(r"\s+", " ", text[text.index("## Rows outside the fit") : text.index("## Training runs")])


def errors(rows: pd.DataFrame) -> tuple[float, float]:
    """Return mean and median of the relative errors."""
    off = (rows["ratio"] - 1).abs()
    return float(off.mean()), float(off.median())


def written(rows: pd.DataFrame) -> str:
    mean, median = errors(rows)
    return f"{100 * mean:.0f} / {100 * median:.0f}%"


def test_errors_of_all_rows(plain: pd.DataFrame, section: str) -> None:
    mean, median = errors(plain)
    assert f"On {len(plain)} further InferenceX runs without drafts, the TPOT error is {written(plain)}" in section
    nvidia = plain[~plain["hardware"].str.startswith("MI")]
    assert f"On the {len(nvidia)} runs of NVIDIA's chips it is {written(nvidia)}." in section
    assert mean < 0.16
    assert median < 0.14


def test_errors_of_rows_with_drafts(rows: pd.DataFrame, section: str) -> None:
    drafts = rows[rows["speculation"] == "yes"]
    assert f"{len(drafts)} further rows ran with drafts." in section
    assert f"their error is {written(drafts)}." in section


def test_errors_by_stack(plain: pd.DataFrame) -> None:
    pools = plain["mode"].eq("disaggregated decode pool")
    listed = re.findall(
        r"^\| ([\w ]+), ([\w-]+), ([\w ]+) \| (\d+) \| ([\d.]+) \| (\d+ / \d+%) \|$",
        PAGE.read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    assert len(listed) == 10
    for chip, engine, formats, count, middle, error in listed:
        chosen = plain[
            ~pools
            & plain["hardware"].str.startswith(chip)
            & plain["framework"].eq(ENGINES[engine])
            & plain["weight_format"].isin(formats.split(" and "))
        ]
        assert (str(len(chosen)), f"{chosen['ratio'].median():.2f}", written(chosen)) == (count, middle, error)
    of_pools = plain[pools]
    line = f"| decode pools, all chips | {len(of_pools)} | {of_pools['ratio'].median():.2f} | {written(of_pools)} |"
    assert line in PAGE.read_text(encoding="utf-8")


def test_errors_by_age_of_software(plain: pd.DataFrame, section: str) -> None:
    chip = plain[plain["hardware"] == "MI355X"]
    young = chip["measured"] < kernel_times.first_month("MI355X")
    assert f"the error of these {young.sum()} rows is {written(chip[young])}" in section
    assert f"of the {(~young).sum()} later ones {written(chip[~young])}." in section


@pytest.mark.usefixtures("fresh_catalogs")
@pytest.mark.parametrize("die", FITTED)
def test_kernel_times_are_those_fitted(die: str, section: str) -> None:
    assert set(kernel_times.DIES.values()) == set(FITTED)
    time = kernel_times.fitted(die, kernel_times.rows_of(die))
    assert f"{time:.2g} µs on {die}" in section
    for chip in (chip for chip, of in kernel_times.DIES.items() if of == die):
        fact = rs.hardware[chip].facts["small_product_time"]
        assert fact.written == f"{time:.2g} us"
        assert f"fitted to {len(kernel_times.rows_of(die))} rows of {die}" in fact.source


@pytest.mark.usefixtures("fresh_catalogs")
def test_errors_without_a_time_of_their_own(plain: pd.DataFrame, section: str) -> None:
    chips = {chip: plain[plain["hardware"] == chip] for chip in ("MI300X", "MI355X")}
    middle = 1e6 * rs.value("small_product_time", calibration="serving")
    before = [
        written(rows.assign(ratio=np.exp(kernel_times.logarithms(rows.drop(columns="ratio"), chip, middle))))
        for chip, rows in chips.items()
    ]
    assert f"With those {middle:.3g} µs, the error was {before[0]} on MI300X and {before[1]} on MI355X." in section


@pytest.mark.usefixtures("fresh_catalogs")
def test_errors_with_months_left_out(plain: pd.DataFrame, section: str) -> None:
    """Months that set a kernel time are predicted by the other months of the chip."""
    left_out = plain.copy()
    for die in FITTED:
        fitted = kernel_times.rows_of(die).index
        left_out.loc[fitted, "ratio"] = np.exp(kernel_times.logarithms_left_out(die))
        assert f"{written(left_out.loc[fitted])} on {die}" in section
    assert f"all {len(plain)} runs {written(left_out)}." in section


@pytest.mark.usefixtures("fresh_catalogs")
def test_times_do_not_replace_each_other(section: str) -> None:
    times = {die: float(f"{kernel_times.fitted(die, kernel_times.rows_of(die)):.2g}") for die in FITTED}
    low, high = (
        np.median(np.exp(kernel_times.logarithms(kernel_times.rows_of(chip), chip, times[other])))
        for chip, other in (("MI300X", "MI355X"), ("MI355X", "MI300X"))
    )
    assert f"MI300X is predicted {100 * (1 - low):.0f}% too low" in section
    assert f"MI355X with {times['MI300X']:g} µs {100 * (high - 1):.0f}% too high" in section
