"""The wheel: what is in it, and that it runs where no compiler is, on old processors too."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
MOST_BYTES = 3 << 20
CORE = ("test_value.py", "test_evaluate.py", "test_reference.py")  # the core of the tests
OLD = {"Nehalem": "base", "Haswell": "avx2"}  # processors without AVX and without AVX-512
QUESTION = """
import numpy as np, roofslate as rs
from roofslate import _core
cell = dict(model="DeepSeek-V3", hardware="GB200 NVL72", chip_price="3 USD/h")
axes = dict(batch_size=np.linspace(1, 8192, 37), context_length=np.linspace(0, 1e6, 5))
print(_core.instruction_set(), rs.evaluate("cost_per_token", **axes, **cell).values.tobytes().hex())
"""


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel that `make wheel` built of this tree."""
    tag = f"cp{sys.version_info.major}{sys.version_info.minor}"
    found = sorted((ROOT / "dist").glob(f"roofslate-*-{tag}-*manylinux*.whl"))
    if not found:
        pytest.skip("there is no wheel for this Python: make wheel")
    return found[-1]


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment that holds the wheel, what it needs, and pytest."""
    folder = tmp_path_factory.mktemp("wheel") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    python = folder / "bin" / "python"
    wanted = [f"{wheel}[analysis,charts]", "hypothesis", "pandas", "pytest"]
    subprocess.run([python, "-m", "pip", "install", "-q", "--only-binary=:all:", *wanted], check=True, cwd=folder)
    return python


def asked(python: Path, *before: str, arguments: tuple[str, ...] = ("-c", QUESTION)) -> subprocess.CompletedProcess[str]:
    """What a Python of that environment says, with nothing of this one and nothing on the path."""
    return subprocess.run(
        [*before, str(python), *arguments], capture_output=True, text=True, check=False, env={"HOME": os.devnull}
    )


def test_it_is_small_and_for_old_systems(wheel: Path) -> None:
    assert wheel.stat().st_size <= MOST_BYTES
    assert re.search(r"manylinux(2014|_2_17|_2_28)_x86_64\.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
    assert len([name for name in names if name.endswith(".so")]) == 1
    assert not [name for name in names if name.endswith((".hpp", ".cpp", ".pyc")) or name.startswith("test")]
    assert {"roofslate/py.typed", "roofslate/_core.pyi", "roofslate/__init__.pyi"} <= {*names}
    assert "roofslate/presets/models.toml" in names


def test_it_passes_the_core_of_the_tests_without_a_compiler(installed: Path, tmp_path: Path) -> None:
    shutil.copytree(ROOT / "tests" / "reference", tmp_path / "reference")
    (tmp_path / "python").mkdir()
    for name in (*CORE, "conftest.py"):
        shutil.copy(ROOT / "tests" / "python" / name, tmp_path / "python")
    done = asked(installed, arguments=("-m", "pytest", "-q", "-p", "no:cacheprovider", str(tmp_path / "python")))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d{3,} passed", done.stdout)
    assert "failed" not in done.stdout


def test_old_processors_give_the_same_bits(installed: Path) -> None:
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("qemu-x86_64 not found: apt-get install qemu-user")
    here = asked(installed)
    assert here.returncode == 0, here.stderr
    answer = here.stdout.split()[1]
    for processor, instruction_set in OLD.items():
        done = asked(installed, emulator, "-cpu", processor)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [instruction_set, answer]
