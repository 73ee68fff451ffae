"""`calibrate` against a loss and errors that NumPy computes from the formulas."""

from __future__ import annotations

import math
from typing import Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from support.evaluator import Evaluator
from support.slices import first_alone

MACHINE: dict[str, float] = {
    "total_parameters": 671e9, "active_parameters": 37e9, "kv_bytes_per_token": 70272.0, "bytes_per_weight": 1.0,
    "peak_flops": 2e15, "hbm_bandwidth": 4.8e12, "context_length": 4096.0,
}  # fmt: skip
TERMS = {"bandwidth_efficiency": (0.1, 1.0), "compute_efficiency": (0.1, 1.0), "kernel_overhead": (1e-6, 1e-2)}
COLUMNS = ["batch_size", "chips"]


def predicted(table: pd.DataFrame, constants: dict[str, float], overlap: str) -> np.ndarray:
    words = {"overlap": float(rs.quantity("overlap").choices.index(overlap))}
    columns = {name: table[name].to_numpy() for name in COLUMNS}
    return np.asarray(Evaluator.of_numbers({**MACHINE, **words, **columns, **constants})["pass_time"])


def loss(table: pd.DataFrame, constants: dict[str, float], overlap: str, soft: float, relative: bool) -> float:
    """Return the sum of soft losses, with `stack` groups weighted by the root of their size."""
    ratio = predicted(table, constants, overlap) / table["seconds"].to_numpy()
    residual = ratio - 1 if relative else np.log(ratio)
    weights = 1 / np.sqrt(table.groupby("stack")["stack"].transform("size").to_numpy())
    return float(np.sum(weights * soft**2 * 2 * (np.sqrt(1 + (residual / soft) ** 2) - 1)))


@pytest.mark.parametrize("seed", [1, *first_alone([0, *range(2, 12)])])
def test_no_constants_near_by_are_better(seed: int) -> None:
    """The fit is a local minimum of the loss, and its errors belong to its predictions."""
    rng = np.random.default_rng(seed)
    n, overlap = 40, ("board", "serial_kv", "none")[seed % 3]
    table = pd.DataFrame(
        {"batch_size": rng.choice([1.0, 64.0, 4096.0, 65536.0], n), "chips": rng.choice([8.0, 16.0], n)}
    )
    table["stack"] = rng.choice(["one", "two", "three"], n, p=[0.75, 0.2, 0.05])
    true = {name: math.exp(rng.uniform(math.log(2 * low), math.log(high / 2))) for name, (low, high) in TERMS.items()}
    slow = np.where(table["stack"] == "one", 1.0, 1.6)
    table["seconds"] = slow * predicted(table, true, overlap) * np.exp(0.2 * rng.standard_normal(n))
    options: dict[str, Any] = {"soft": float(rng.uniform(0.1, 1)), "residual": ("logarithm", "relative")[seed % 2]}
    result = rs.calibrate(
        table, TERMS, output="pass_time", measured="seconds", hold_out="stack", start=true, overlap=overlap,
        **options, **MACHINE,
    )  # fmt: skip
    loss_options = options["soft"], options["residual"] == "relative"
    fitted = {name: result[name] for name in TERMS}
    least = loss(table, fitted, overlap, *loss_options)
    assert least <= loss(table, true, overlap, *loss_options)
    for _ in range(50):
        moved = {name: float(np.clip(x * math.exp(rng.normal(0, 0.05)), *TERMS[name])) for name, x in fitted.items()}
        assert least <= loss(table, moved, overlap, *loss_options) * (1 + 1e-6), moved  # constants have six digits
    ratio = predicted(table, fitted, overlap) / table["seconds"].to_numpy()
    errors = result.errors.loc[("pass_time", "nothing")]
    assert errors["rows"] == n
    for name, x in {
        "mape": np.abs(ratio - 1).mean(),
        "median": np.median(np.abs(ratio - 1)),
        "rms_log": np.sqrt((np.log(ratio) ** 2).mean()),
        "bias": math.exp(np.log(ratio).mean()) - 1,
        "within_2x": np.mean((ratio <= 2) & (ratio >= 0.5)),
    }.items():
        assert errors[name] == pytest.approx(x, rel=1e-9, abs=1e-12), name
