"""Helpers called by questions: files, plots, definitions, and calls in other interpreters."""

from __future__ import annotations

import math
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import roofslate as rs
import xarray as xr
from scipy import stats

from questions.answers import Answer

__all__ = ["SPACE"]


def swept(table: pd.DataFrame, outputs: Any, source: str, target: str, **inputs: Any) -> Any:
    """Return the rows and content of the file written by `sweep`."""
    with tempfile.TemporaryDirectory() as folder:
        read, write = Path(folder, f"rows.{source}"), Path(folder, f"results.{target}")
        table = table.astype(str) if table.map(lambda x: isinstance(x, str)).any(axis=None) else table
        if source == "csv":
            table.to_csv(read, index=False)
        else:
            table.to_parquet(read, index=False)
        rows = rs.sweep(read, outputs, write, **inputs)
        return rows, write.read_text(encoding="utf-8") if target == "csv" else pd.read_parquet(write)


def defined(name: str, formula: Any, options: dict[str, Any], call: str, **inputs: Any) -> Any:
    """Define a quantity in a scope, and return it with the result of a call in that scope."""
    with rs.definitions():
        quantity = rs.define(name, options.pop("unit"), formula, **options)
        if call == "quantity":
            return quantity, rs.quantity(name)
        if call == "quantities":
            return rs.quantities(name)
        if call == "best":
            return rs.best(name, over=[n for n, x in inputs.items() if isinstance(x, (list, range))], **inputs)
        answer = Answer()  # recorded in the scope
        answer.add(call, getattr(rs, call)(name, **inputs))
        return answer.lines


def measured_runs(n: int, seed: int, noise: float) -> pd.DataFrame:
    """Simulate runs of a machine with known constants."""
    chance = np.random.default_rng(seed)
    table = pd.DataFrame(
        {
            "batch_size": chance.choice([1.0, 16.0, 256.0, 4096.0], n),
            "context_length": chance.choice([1e3, 8e3], n),
            "model": chance.choice(["Llama-3.1-8B", "Qwen3-32B", "DeepSeek-V3", "gpt-oss-120b"], n),
            "hardware": chance.choice(["H100", "H200", "B200"], n),
            "chips": chance.choice([4.0, 8.0], n),
            "framework": chance.choice(["one", "other"], n),
        }
    )
    constants: dict[str, Any] = {"bandwidth_efficiency": 0.62, "compute_efficiency": 0.48}
    exact = rs.frame(table, "pass_time", ignore=["framework"], **constants)["pass_time"]
    return table.assign(seconds=exact * np.exp(noise * chance.standard_normal(n)))


def rewritten(calibration: Any) -> Any:
    """Write a calibration to a file, and read it back."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "calibration.toml")
        calibration.to_toml(path)
        return path.read_text(encoding="utf-8"), type(calibration).from_toml(path)


def loaded_presets(text: str) -> Any:
    """Load presets from a file."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "presets.toml")
        path.write_text(text, encoding="utf-8")
        return rs.load_presets(path)


def in_child(*codes: str) -> list[str]:
    """Answer questions in another interpreter, which confines their definitions."""
    return run([Path(__file__).parents[1] / "same_bits.py", *(f"--ask={code}" for code in codes)]).splitlines()


def command(arguments: list[str]) -> str:
    """Run a command line, and return its output, errors and exit status."""
    return run(["-m", "roofslate", *arguments])


def run(arguments: list[Any]) -> str:
    environment = {**os.environ, "COLUMNS": "100", "NO_COLOR": "1"}
    done = subprocess.run([sys.executable, *arguments], capture_output=True, text=True, check=False, env=environment)
    return f"{done.stdout}{done.stderr}exit status {done.returncode}"


def picture(draw: Callable[[], Any]) -> Any:
    """Return the lines and words of a plot, and close it."""
    import matplotlib as mpl

    mpl.use("Agg")
    from matplotlib import pyplot

    try:
        axes = draw()
        answer = Answer()
        answer.add("picture", axes)
        return answer.lines
    finally:
        pyplot.close("all")


def pages_of_lecture(chapter: int) -> Any:
    """Return the report on a chapter, without plots."""
    with tempfile.TemporaryDirectory() as folder:
        page = rs.lecture(folder, chapter=chapter, progress=False)
        answers = page.with_name("answers.csv").read_text(encoding="utf-8")
        return page.read_text(encoding="utf-8"), answers


def every_quantity(part: int, parts: int) -> list[Any]:
    """Return the registry's content on a part of the quantities."""
    return [rs.quantity(name) for name in rs.quantities().index[part::parts]]


def frame_of(catalog: Any) -> Any:
    """Return a catalog as a table."""
    return catalog.to_frame()


SPACE: dict[str, Any] = {
    "rs": rs,
    "np": np,
    "pd": pd,
    "xr": xr,
    "stats": stats,
    "inf": math.inf,
    "nan": math.nan,
    **{
        helper.__name__: helper
        for helper in (
            swept, defined, measured_runs, rewritten, loaded_presets, in_child, command, picture, pages_of_lecture,
            every_quantity, frame_of,
        )
    },
}  # fmt: skip
