"""What is compiled: a quantity more takes one place of the sources, and no code of one instruction set reaches another."""

from __future__ import annotations

import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

pytestmark = pytest.mark.slow
ADDED = """
    struct answer_cost
    {
        static constexpr Spec spec = Spec("c_a", "USD/sequence", "price of an answer", "none");
        template <class T> static constexpr T formula(in<cost_per_token, T> c, in<response_length, T> L)
        { return c * L; }
    };

    using scheduling = list<answer_cost, """
IMPORTED = """
import sys
# without the finder of an editable install
sys.meta_path[:] = [finder for finder in sys.meta_path if "scikit" not in f"{type(finder)}".casefold()]
sys.path.insert(0, sys.argv[1])
"""
ASKED = """
import roofslate as rs

print(rs.quantities("price of an answer").index.tolist())
print(rs.quantity("answer_cost").formula)
print(rs.value("answer_cost", cost_per_token=2e-6, response_length=1000))
print(rs.evaluate("answer_cost", cost_per_token=2e-6, response_length=[1000, 2000]).to_numpy().tolist())
print("answer_cost" in rs.quantity("cost_per_token").used_by)
"""
ANSWERED = ["['answer_cost']", "answer_cost = cost_per_token * response_length", "0.002", "[0.002, 0.004]", "True"]
GENERATED = """
import runpy

sys.argv[1:] = ["--root", sys.argv[2]]
runpy.run_module("roofslate._generate", run_name="__main__")
"""


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with one more quantity, `answer_cost`, built in a minute at most."""
    cmake = shutil.which("cmake") or pytest.skip("building the extension needs CMake")
    pybind11 = pytest.importorskip("pybind11", reason="building the extension needs pybind11")
    folder = tmp_path_factory.mktemp("sources")
    for part in ("cpp", "python"):
        shutil.copytree(ROOT / part, folder / part, ignore=shutil.ignore_patterns("*.so", "__pycache__"))
    for file in ("CMakeLists.txt", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, folder / file)
    header = folder / "cpp/roofslate/quantities/scheduling.hpp"
    text = header.read_text(encoding="utf-8")
    assert text.count("    using scheduling = list<") == 1
    header.write_text(text.replace("    using scheduling = list<", ADDED), encoding="utf-8")
    build = folder / "build"
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    places = [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}", f"-DPython_EXECUTABLE={sys.executable}"]
    for command in (
        [cmake, "-S", folder, "-B", build, *generator, "-DCMAKE_BUILD_TYPE=Release", *places],
        [cmake, "--build", build, "--parallel", "2", "--target", "_core"],
    ):
        done = subprocess.run(list(map(str, command)), capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    (module,) = build.glob("_core*.so")
    shutil.copy(module, folder / "python/roofslate")
    return folder


def said(folder: Path, code: str) -> list[str]:
    """Lines that code prints with the package in the folder."""
    command = [sys.executable, "-c", IMPORTED + code, str(folder / "python"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_a_quantity_is_added_in_one_place(built: Path) -> None:
    assert said(built, ASKED) == ANSWERED


def test_the_stub_and_the_reference_page_follow(built: Path) -> None:
    said(built, GENERATED)
    names = (built / "python/roofslate/typing.py").read_text(encoding="utf-8")
    assert '    "answer_cost",\n' in names
    page = (built / "docs/reference/scheduling.md").read_text(encoding="utf-8")
    assert "## answer_cost" in page
    assert "answer_cost = cost_per_token * response_length" in page
    economics = (built / "docs/reference/economics.md").read_text(encoding="utf-8")
    assert "[answer_cost](scheduling.md#answer_cost)" in economics


@pytest.mark.skipif(platform.machine() not in ("x86_64", "AMD64"), reason="other processors have one instruction set only")
def test_no_code_leaks_between_instruction_sets(built: Path) -> None:
    """Weak symbols are merged over all files: one without the architecture in its name may run anywhere."""
    nm = shutil.which("nm") or pytest.skip("nm was not found")
    architectures = {"base": "sse2", "avx2": "avx2", "avx512": "avx512"}
    for name, architecture in architectures.items():
        (path,) = (built / "build").rglob(f"simd/{name}.*.o")
        lines = subprocess.run(
            [nm, "-C", "--defined-only", path], capture_output=True, text=True, check=True
        ).stdout.splitlines()
        weak = [line.split(maxsplit=2)[2] for line in lines if line.split(maxsplit=2)[1] in "VWuvw"]
        leaking = [symbol for symbol in weak if architecture not in symbol and not symbol.startswith("DW.ref.")]
        assert leaking == []
        outside = [line.split(maxsplit=2)[2] for line in lines if line.split(maxsplit=2)[1] in "TDBR"]
        assert [symbol for symbol in outside if f"roofslate::{name}::" not in symbol] == []
