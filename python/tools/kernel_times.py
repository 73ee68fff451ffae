"""Fit the minimal kernel time of chips without a kernel table, from measured serving rows.

``python python/tools/kernel_times.py`` writes `small_product_time` of AMD's chips into ``presets/data/hardware.toml``.
The time has the smallest mean distance between the logarithms of predicted and measured time per output token.
The first months after a chip's announcement are left out: software of MI355X became twice as fast in them.
"""

from __future__ import annotations

import re
import sys
from pathlib import Path

import numpy as np
import pandas as pd
import roofslate as rs
from scipy.optimize import minimize_scalar

ROOT = Path(__file__).parents[2]
ROWS = ROOT / "tests" / "reference" / "serving_outside_the_fit.csv"
PRESETS = ROOT / "python" / "roofslate" / "presets" / "data" / "hardware.toml"
MARK = "# fitted: written by python/tools/kernel_times.py"
# Chips with the compute dies of another one, of which there are rows.
DIES = {"MI300X": "MI300X", "MI325X": "MI300X", "MI355X": "MI355X", "MI350X": "MI355X"}
YOUNG = 7  # months
SHORTEST, LONGEST = 1.0, 20.0  # us


def first_month(chip: str) -> str:
    """Return the first month whose rows are fitted."""
    return str(pd.Period(str(rs.hardware[chip].attributes["announced"]), "M") + YOUNG)


def rows_of(chip: str) -> pd.DataFrame:
    """Read the rows of a chip without drafts, and without its first months."""
    rows = pd.read_csv(ROWS)
    return rows[(rows["hardware"] == chip) & (rows["measured"] >= first_month(chip)) & (rows["speculation"] == "none")]


def logarithms(rows: pd.DataFrame, chip: str, time: float) -> np.ndarray:
    """Return ln(predicted / measured) by row, with a minimal kernel time in us."""
    slow = rs.hardware.define(f"{chip} with other kernels", base=chip, small_product_time=f"{time} us").name
    scores = rs.validate(rows.assign(hardware=slow), calibration=rs.calibration("serving")).rows
    ratios = scores["predicted_time_per_output_token_s"].to_numpy() / rows["time_per_output_token_s"].to_numpy()
    return np.asarray(np.log(ratios))


def fitted(chip: str, rows: pd.DataFrame) -> float:
    """Return the time in us with the smallest mean distance of logarithms."""
    optimum = minimize_scalar(
        lambda time: float(np.mean(np.abs(logarithms(rows, chip, time)))),
        bounds=(SHORTEST, LONGEST),
        method="bounded",
        options={"xatol": 0.01},
    )
    return float(optimum.x)


def logarithms_left_out(chip: str) -> np.ndarray:
    """Return `logarithms` of the fitted rows, each month with the time of the others."""
    rows = rows_of(chip)
    months = rows["measured"].str.slice(0, 7)
    result = np.empty(len(rows))
    for month in months.unique():
        of_month = months == month
        result[of_month] = logarithms(rows[of_month], chip, fitted(chip, rows[~of_month]))
    return result


def written(text: str, chip: str, time: float, source: str) -> str:
    """Return the file with the time of one chip."""
    begin = text.index(f"[hardware.{chip}]\n")
    end = text.index(f"[hardware.{chip}.attributes]\n")
    block = re.sub(rf"{MARK}\nsmall_product_time = .*\n", "", text[begin:end])
    block = re.sub(r"    \{ of = \[\"small_product_time\"\], .*\n", "", block)
    line = f'    {{ of = ["small_product_time"], source = "{source}", date = "2026-11", read = true }},\n'
    block = re.sub(r"sources = \[(\{.*\})\]\n", r"sources = [\n    \g<1>,\n]\n", block)
    block = re.sub(r"(sources = \[\n(?:    .*\n)*)\]", rf"\g<1>{line}]", block, count=1)
    return text[:begin] + block + f'{MARK}\nsmall_product_time = "{time:.2g} us"\n' + text[end:]


def main() -> None:
    """Fit the chips, and rewrite the preset file."""
    text = PRESETS.read_text(encoding="utf-8")
    times = {die: fitted(die, rows_of(die)) for die in dict.fromkeys(DIES.values())}
    for chip, die in DIES.items():
        how = "fitted to" if chip == die else f"as {die}, fitted to"
        source = f"{how} {len(rows_of(die))} rows of {die}, DeepSeek-R1, data published by the InferenceX project"
        text = written(text, chip, times[die], source)
    PRESETS.write_text(text, encoding="utf-8")
    sys.stdout.write("".join(f"{chip}: {times[die]:.3g} us\n" for chip, die in DIES.items()))


if __name__ == "__main__":
    main()
