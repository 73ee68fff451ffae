"""Sources: one place for a new quantity, and no code of an instruction set in another."""

from __future__ import annotations

import ast
import platform
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from support import ROOT

pytestmark = pytest.mark.long
ADDED = """
    struct answer_cost
    {
        static constexpr Spec spec = Spec("c_a", "USD/sequence", "price of an answer", "none");
        template <class T> static constexpr T formula(in<cost_per_token, T> c, in<output_tokens, T> L)
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

print(rs.quantities("price of an answer").index[0])
print(rs.quantity("answer_cost").formula)
print(rs.value("answer_cost", cost_per_token=2e-6, output_tokens=1000))
print(rs.evaluate("answer_cost", cost_per_token=2e-6, output_tokens=[1000, 2000]).to_numpy().tolist())
print("answer_cost" in rs.quantity("cost_per_token").used_by)
"""
ANSWERED = ["answer_cost", "answer_cost = cost_per_token * output_tokens", "0.002", "[0.002, 0.004]", "True"]
PAGES = """
sys.path.insert(0, sys.argv[2] + "/docs")
import quantity_pages

print(repr(quantity_pages.quantity_pages()))
"""


def copy_sources(folder: Path) -> None:
    """Copy tracked files that the build reads."""
    for part in ("cpp", "python"):
        ignored = shutil.ignore_patterns("*.so", "__pycache__", "__init__.pyi", "typing.py", "reserved.py")
        shutil.copytree(ROOT / part, folder / part, ignore=ignored)
    for file in ("CMakeLists.txt", "pyproject.toml", "README.md"):
        shutil.copy(ROOT / file, folder / file)


def configure(folder: Path, *options: str) -> list[str | Path]:
    """Command of CMake that configures a build of a folder in its folder `build`."""
    cmake = shutil.which("cmake") or pytest.skip("building the extension needs CMake")
    pybind11 = pytest.importorskip("pybind11", reason="building the extension needs pybind11")
    generator = ["-G", "Ninja"] if shutil.which("ninja") else []
    places = [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}", f"-DPython_EXECUTABLE={sys.executable}"]
    return [cmake, "-S", folder, "-B", folder / "build", *generator, "-DCMAKE_BUILD_TYPE=Release", *places, *options]


def run(*command: str | Path) -> None:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the sources with one more quantity, `answer_cost`, built in a minute at most."""
    folder = tmp_path_factory.mktemp("sources")
    copy_sources(folder)
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "docs/quantity_pages.py", folder / "docs")
    header = folder / "cpp/roofslate/quantities/scheduling.hpp"
    text = header.read_text(encoding="utf-8")
    assert text.count("    using scheduling = list<") == 1
    header.write_text(text.replace("    using scheduling = list<", ADDED), encoding="utf-8")
    command = configure(folder)
    run(*command)
    run(command[0], "--build", folder / "build", "--parallel", "2", "--target", "_core", "roofslate_stubs")
    run(command[0], "--install", folder / "build", "--prefix", folder / "python", "--component", "python")
    return folder


def said(folder: Path, code: str) -> list[str]:
    """Lines that code prints with the package in the folder."""
    command = [sys.executable, "-c", IMPORTED + code, str(folder / "python"), str(folder)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


@pytest.mark.whole
def test_a_quantity_is_added_in_one_place(built: Path) -> None:
    assert said(built, ASKED) == ANSWERED


def test_the_stub_and_the_reference_page_follow(built: Path) -> None:
    names = (built / "python/roofslate/typing.py").read_text(encoding="utf-8")
    assert '    "answer_cost",\n' in names
    (line,) = said(built, PAGES)
    pages = ast.literal_eval(line)
    assert "## answer_cost" in pages["scheduling.md"]
    assert "answer_cost = cost_per_token * output_tokens" in pages["scheduling.md"]
    assert "[answer_cost](scheduling.md#answer_cost)" in pages["economics.md"]


def test_stubs_of_a_build_whose_programs_do_not_run_here(tmp_path: Path) -> None:
    """Without the generator, quantities come from a file. CMake explains how to make it."""
    copy_sources(tmp_path)
    other = ("-DCMAKE_SYSTEM_NAME=Linux", f"-DCMAKE_SYSTEM_PROCESSOR={platform.machine()}")
    done = subprocess.run(configure(tmp_path, *other), capture_output=True, text=True, check=False)
    assert done.returncode != 0
    assert "give what it prints as -DROOFSLATE_QUANTITIES=<file>" in " ".join(done.stderr.split())
    listed = tmp_path / "quantities.txt"
    listed.write_text("first_quantity\noverlap\tboard\tnone\n", encoding="utf-8")
    command = configure(tmp_path, *other, f"-DROOFSLATE_QUANTITIES={listed}", "-DROOFSLATE_STUBS_IN_SOURCE=ON")
    run(*command)
    run(command[0], "--build", tmp_path / "build", "--target", "roofslate_stubs")
    names = (tmp_path / "python/roofslate/typing.py").read_text(encoding="utf-8")
    assert 'QuantityName: TypeAlias = Literal["first_quantity", "overlap"]' in names
    assert 'Overlap: TypeAlias = Literal["board", "none"]' in names
    assert not [*(tmp_path / "build").rglob("*.o")], "nothing but Python runs"


@pytest.mark.skipif(
    platform.machine() not in ("x86_64", "AMD64"), reason="other processors have one instruction set only"
)
def test_no_code_leaks_between_instruction_sets(built: Path) -> None:
    """Weak symbols are merged over all files, so each needs the architecture in its name."""
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
