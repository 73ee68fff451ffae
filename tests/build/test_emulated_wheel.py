"""The wheel for 64-bit ARM, installed by pip's rules and emulated as the oldest ARMv8."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import emulated_python
import pytest
from support import ROOT
from support.wheels import QUESTION, copy_core_of_tests, newest_symbols, wheel_for

pytestmark = [pytest.mark.long, pytest.mark.whole]  # with the wheel, a quarter of an hour

GLIBC = (2, 17)


BUILT = {release: wheel_for(f"cp{release.replace('.', '')}", "aarch64") for release in emulated_python.RELEASES}


@pytest.fixture(scope="module", params=[release for release in BUILT if BUILT[release]] or [None])
def wheel(request: pytest.FixtureRequest) -> Path:
    """Each wheel that `.ci/wheel --arch aarch64` built of this tree."""
    built = BUILT.get(request.param)
    if built is None:
        pytest.skip(f"there is no wheel: .ci/wheel --arch aarch64 python{next(iter(BUILT))}")
    return built


@pytest.fixture(scope="module")
def emulated(wheel: Path) -> Path:
    """An emulated interpreter with the wheel, its requirements, and pytest."""
    if lacking := emulated_python.missing():
        pytest.skip(f"{', '.join(lacking)} is not installed (Debian: qemu-user)")
    return emulated_python.environment(wheel, ROOT / "build" / "arm64-python", ["hypothesis", "pytest"])


def said(*command: str | Path) -> str:
    environment = {"HOME": os.devnull, "PATH": os.environ["PATH"]}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def test_the_extension_is_for_that_processor_and_old_systems(wheel: Path, tmp_path: Path) -> None:
    if shutil.which("readelf") is None:
        pytest.skip("readelf was not found (Debian: binutils)")
    tag = wheel.name.split("-")[2]
    with zipfile.ZipFile(wheel) as archive:
        (name,) = (name for name in archive.namelist() if name.endswith(".so"))
        (about,) = (name for name in archive.namelist() if name.endswith(".dist-info/WHEEL"))
        tags = re.findall(r"^Tag: (.*)$", archive.read(about).decode(), re.MULTILINE)
        extension = Path(archive.extract(name, tmp_path))
    assert name == f"roofslate/_core.cpython-{tag[2:]}-aarch64-linux-gnu.so"
    assert f"{tag}-{tag}-manylinux_2_17_aarch64" in tags
    assert all(of.endswith("_aarch64") for of in tags)
    header = said("readelf", "-h", extension)
    assert re.search(r"Machine:\s+AArch64", header)
    symbols = newest_symbols(extension)
    assert symbols.pop("GLIBC") <= GLIBC
    assert symbols == {}, "libraries missing on some systems"


def test_it_gives_the_bits_of_this_machine(emulated: Path) -> None:
    native = said(sys.executable, "-c", QUESTION).split()
    neon = said(emulated, "-c", QUESTION).split()
    assert neon[0] == "neon"
    assert len(neon[1]) > 2000
    assert neon[1] == native[1]


def test_it_passes_the_core_of_the_tests(emulated: Path, tmp_path: Path) -> None:
    output = said(emulated, *copy_core_of_tests(tmp_path / "tests"))
    assert re.search(r"\d{3,} passed", output)
    assert "failed" not in output
