"""Wheels in `dist`, and the core of the tests for each in a separate environment."""

import shutil
import subprocess
from pathlib import Path

from support import ROOT

# The core of the tests, with the files that it needs.
CORE = [
    f"python/{path}.py" for path in ("evaluation/test_value", "evaluation/test_evaluate", "registry/test_reference")
]
NEEDED = ("conftest.py", "python/support", "reference")
# One line: the instruction set, then bytes of a grid, of folds, of a solution and of a derivative.
QUESTION = """
import warnings
import numpy as np, roofslate as rs
from roofslate import _core
warnings.simplefilter("ignore")
cell = dict(model="DeepSeek-V3", hardware="GB200 NVL72", chip_price="3 USD/h")
axes = dict(batch_size=np.linspace(1, 8192, 37), context_length=np.linspace(0, 1e6, 5))
at = dict(batch_size=100, context_length=8000)
best = rs.best("cost_per_token", over=["batch_size"], **axes, **cell)
parts = [
    rs.evaluate("cost_per_token", **axes, **cell).values,
    rs.evaluate("pass_time", dtype="float32", **axes, **cell).values,
    best.cost_per_token.values,
    best.batch_size.values,
    rs.quantiles("pass_time", [0.1, 0.5], **axes, **cell).values,
    rs.solve("batch_size", "pass_time == 20 ms", context_length=[1000, 8000], **cell).values,
    rs.gradient("cost_per_token", **at, **cell).to_numpy(),
]
print(_core.instruction_set(), b"".join(np.asarray(part, order="C").tobytes() for part in parts).hex())
"""


def wheel_for(tag: str, architecture: str) -> Path | None:
    """Return the wheel in `dist` for a Python (`cp311`) and a processor, if there is one."""
    return next(
        iter(sorted((ROOT / "dist").glob(f"roofslate-*-{tag}-*manylinux*_{architecture}.whl"), reverse=True)), None
    )


def copy_core_of_tests(folder: Path) -> list[str]:
    """Copy the core of the tests and return pytest's arguments that run the copy."""
    for name in (*CORE, *NEEDED):
        copy = folder / name
        copy.parent.mkdir(parents=True, exist_ok=True)
        (shutil.copytree if (ROOT / "tests" / name).is_dir() else shutil.copy)(ROOT / "tests" / name, copy)
    options = ["-q", "-p", "no:cacheprovider", "--import-mode=importlib", "-o", f"pythonpath={folder / 'python'}"]
    return ["-m", "pytest", *options, str(folder)]


def newest_symbols(extension: Path) -> dict[str, tuple[int, ...]]:
    """Return the newest version of each library's symbols that an extension needs."""
    listed = subprocess.run(["readelf", "-V", "-W", extension], capture_output=True, text=True, check=True).stdout
    newest: dict[str, tuple[int, ...]] = {}
    for name in (word for word in listed.split() if "_" in word and word.rpartition("_")[2].replace(".", "").isdigit()):
        library, _, version = name.rpartition("_")
        newest[library] = max(newest.get(library, ()), tuple(int(part) for part in version.split(".")))
    return newest
