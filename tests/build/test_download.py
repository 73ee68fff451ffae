"""Build without installed headers: pinned, hashed archives from a mirror, or an error.

The mirror holds substitutes in the layout of the real archives. Those of xtensor are a marker, since the tests check
the origin of headers.
"""

from __future__ import annotations

import hashlib
import io
import re
import shutil
import subprocess
import sys
import tarfile
from pathlib import Path

import pytest
from support import ROOT

HEADERS = {  # archive -> (top folder, header)
    "xtensor-stack/xtl/archive/refs/tags/0.8.2.tar.gz": ("xtl-0.8.2", "xtl/xtl_config.hpp"),
    "xtensor-stack/xtensor/archive/refs/tags/0.27.1.tar.gz": ("xtensor-0.27.1", "xtensor/containers/xarray.hpp"),
    "xtensor-stack/xsimd/archive/refs/tags/14.3.0.tar.gz": ("xsimd-14.3.0", "xsimd/xsimd.hpp"),
}
PROGRAM = """\
#include <xsimd/xsimd.hpp>
#include <xtensor/containers/xarray.hpp>
#include <xtl/xtl_config.hpp>
static_assert(from_xtl && from_xtensor && from_xsimd);
static_assert(__cplusplus >= 202002L, "xtensor 0.27 needs C++20");
"""


def cmake_program() -> str:
    """The CMake of this environment, otherwise the system's."""
    return shutil.which("cmake", path=str(Path(sys.executable).parent)) or shutil.which("cmake") or "cmake"


@pytest.fixture
def mirror(tmp_path: Path) -> Path:
    """A folder in the layout of GitHub's tag archives."""
    folder = tmp_path / "mirror"
    for archive, (top, header) in HEADERS.items():
        text = f"#pragma once\nconstexpr bool from_{top.split('-')[0]} = true;\n".encode()
        (folder / archive).parent.mkdir(parents=True)
        with tarfile.open(folder / archive, "w:gz") as tar:
            entry = tarfile.TarInfo(f"{top}/include/{header}")
            entry.size = len(text)
            tar.addfile(entry, io.BytesIO(text))
    return folder


@pytest.fixture
def project(tmp_path: Path) -> Path:
    """Make a project that gets both libraries by the modules in `cpp/cmake/` and compiles."""
    folder = tmp_path / "project"
    folder.mkdir()
    (folder / "program.cpp").write_text(PROGRAM)
    (folder / "CMakeLists.txt").write_text(
        "cmake_minimum_required(VERSION 3.24...4.0)\nproject(probe LANGUAGES CXX)\n"
        f'list(APPEND CMAKE_MODULE_PATH "{ROOT / "cpp" / "cmake"}")\ninclude(xtensor)\ninclude(xsimd)\n'
        "add_library(probe OBJECT program.cpp)\n"
        "target_link_libraries(probe PRIVATE roofslate::xtensor roofslate::xsimd)\n"
    )
    return folder


def configure(project: Path, *options: str) -> subprocess.CompletedProcess[str]:
    """Configure as on a machine without either library."""
    command = [cmake_program(), "-S", str(project), "-B", str(project / "build")]
    command += [f"-DCMAKE_DISABLE_FIND_PACKAGE_{name}=ON" for name in ("xtensor", "xsimd")]
    return subprocess.run([*command, *options], capture_output=True, text=True, check=False, timeout=120)


def from_mirror(mirror: Path) -> list[str]:
    """The options that point to the mirror, with the digests of its archives."""
    digests = {
        top.split("-")[0].upper(): hashlib.sha256((mirror / archive).read_bytes()).hexdigest()
        for archive, (top, _) in HEADERS.items()
    }
    options = [f"-DROOFSLATE_{name}_SHA256={digest}" for name, digest in digests.items()]
    return [f"-DROOFSLATE_DOWNLOAD_MIRROR={mirror.as_uri()}", *options]


def sentence(process: subprocess.CompletedProcess[str]) -> str:
    """CMake's error message without its line breaks."""
    assert process.returncode != 0
    errors = re.findall(r"CMake Error at [^\n]*\n(.*?)\n(?:\n|Call Stack)", process.stderr, flags=re.DOTALL)
    assert len(errors) == 1, process.stderr
    return " ".join(errors[0].split())


def test_headers_come_from_the_mirror(mirror: Path, project: Path) -> None:
    options = from_mirror(mirror)
    process = configure(project, *options)
    assert process.returncode == 0, process.stderr
    assert "xtensor 0.27.1" in process.stdout
    assert "xsimd 14.3.0" in process.stdout
    subprocess.run([cmake_program(), "--build", str(project / "build")], check=True, capture_output=True, timeout=120)

    shutil.rmtree(mirror)  # a downloaded archive is not downloaded again
    assert configure(project, *options).returncode == 0


def test_the_mirror_can_come_from_the_environment(mirror: Path, project: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ROOFSLATE_DOWNLOAD_MIRROR", mirror.as_uri())
    process = configure(project, *from_mirror(mirror)[1:])
    assert process.returncode == 0, process.stderr


@pytest.mark.parametrize("archive", HEADERS)
def test_a_tampered_archive_is_refused(mirror: Path, project: Path, archive: str) -> None:
    options = from_mirror(mirror)
    with (mirror / archive).open("ab") as file:
        file.write(b"\0")
    message = sentence(configure(project, *options))
    assert re.search(rf"The SHA256 hash of \S*{re.escape(archive)} does not match", message)
    assert sentence(configure(project, *options)) == message  # and stays refused


def test_the_pinned_digests_refuse_anything_else(mirror: Path, project: Path) -> None:
    message = sentence(configure(project, f"-DROOFSLATE_DOWNLOAD_MIRROR={mirror.as_uri()}"))
    assert "does not match" in message


def test_without_a_network_one_sentence_says_what_to_install(tmp_path: Path, project: Path) -> None:
    message = sentence(configure(project, f"-DROOFSLATE_DOWNLOAD_MIRROR={(tmp_path / 'nothing').as_uri()}"))
    assert "xtl is neither installed nor could it be downloaded" in message
    assert "install libxtensor-dev libxsimd-dev (Debian, Ubuntu)" in message


@pytest.mark.parametrize(("library", "package"), [("xtensor", "libxtensor-dev"), ("xsimd", "libxsimd-dev")])
def test_a_download_that_is_not_allowed_is_named(mirror: Path, project: Path, library: str, package: str) -> None:
    message = sentence(configure(project, *from_mirror(mirror), f"-DROOFSLATE_FETCH_{library.upper()}=OFF"))
    assert message.startswith(f"{library} ")
    assert f"install {package} (Debian, Ubuntu)" in message
    assert message.count(". ") == 0
