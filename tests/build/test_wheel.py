"""Source archive and wheels: content, and use without a compiler on old processors."""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support import ROOT
from support.wheels import QUESTION, copy_core_of_tests, newest_symbols, wheel_for

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

MOST_BYTES = 3 << 20
OLD = {"Nehalem": "base", "Haswell": "avx2"}  # processors without AVX and without AVX-512
NEEDS = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
EXTRAS = ("analysis", "charts")
OLDEST = [  # releases of required packages
    f"{name}=={release}.*"
    for need in [*NEEDS["dependencies"], *(need for extra in EXTRAS for need in NEEDS["optional-dependencies"][extra])]
    for name, release in re.findall(r"^([a-z0-9-]+)>=([0-9.]+)", need)
]

ENGINE = "python/roofslate/web/engine.wasm"  # git ignores it


def tag_of(python: str) -> str:
    """Return an interpreter's tag in the name of a wheel."""
    code = "import sys; print('cp%d%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


@pytest.fixture(scope="module", params=["oldest", "newest"])
def python(request: pytest.FixtureRequest) -> str:
    """The oldest supported Python of this machine and the newest, one after the other."""
    done = subprocess.run([ROOT / ".ci" / "pythons"], capture_output=True, text=True, check=True)
    return done.stdout.split()[0 if request.param == "oldest" else -1]


@pytest.fixture(scope="module")
def wheel(python: str) -> Path:
    """The wheel that `.ci/wheel` built of this tree."""
    newest = wheel_for(tag_of(python), "x86_64")
    if newest is None:
        pytest.skip(f"there is no wheel for {python}: .ci/wheel {python}")
    return newest


@pytest.fixture(scope="module")
def installed(python: str, wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The Python of an environment with the wheel, its requirements, and pytest.

    On the oldest Python that is supported everything is as old as pyproject.toml allows.
    """
    folder = tmp_path_factory.mktemp("wheel") / "venv"
    subprocess.run([python, "-m", "venv", folder], check=True)
    inside = folder / "bin" / "python"
    expected = [f"{wheel}[{','.join(EXTRAS)}]", "hypothesis", "pytest", *(OLDEST if tag_of(python) == "cp310" else ())]
    subprocess.run([inside, "-m", "pip", "install", "-q", "--only-binary=:all:", *expected], check=True, cwd=folder)
    return inside


def asked(
    python: Path, *before: str, arguments: tuple[str, ...] = ("-c", QUESTION)
) -> subprocess.CompletedProcess[str]:
    """Return the output of an environment's Python, isolated from this one and its path."""
    # NumPy's OpenBLAS chooses its kernels by the model of the processor, and would take those that qemu refuses to run.
    environment = {"HOME": os.devnull, "OPENBLAS_CORETYPE": "Nehalem"}
    return subprocess.run(
        [*before, str(python), *arguments], capture_output=True, text=True, check=False, env=environment
    )


def test_the_sources_are_all_that_is_tracked(tmp_path: Path) -> None:
    """Return the files that git does not ignore, and metadata of the archive."""
    backend = pytest.importorskip("scikit_build_core.build", reason="pip install scikit-build-core").__name__
    code = f"import sys; from {backend} import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, tmp_path], cwd=ROOT, check=True, capture_output=True)
    with tarfile.open(*tmp_path.iterdir()) as archive:
        names = {name.partition("/")[2] for name in archive.getnames()}
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard"]
    tracked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.split("\n")
    generated = {path.relative_to(ROOT).as_posix() for path in (ROOT / "python/roofslate/web").glob("*")}
    assert names == {name for name in tracked if name and (ROOT / name).exists()} | generated | {"PKG-INFO"}


@pytest.mark.long
def test_it_is_small_and_for_old_systems(wheel: Path, tmp_path: Path) -> None:
    with zipfile.ZipFile(wheel) as archive:  # the engine of pages has a separate limit
        engine = sum(file.compress_size for file in archive.infolist() if file.filename.endswith("engine.wasm"))
    assert wheel.stat().st_size - engine <= MOST_BYTES
    assert re.search(r"manylinux(2014|_2_17|_2_28)_x86_64\.whl$", wheel.name)
    with zipfile.ZipFile(wheel) as archive:
        names = archive.namelist()
        (extension,) = (name for name in names if name.endswith(".so"))
        copy = archive.extract(extension, tmp_path)
    symbols = newest_symbols(Path(copy))
    assert symbols.pop("GLIBC") <= (2, 17)
    assert symbols == {}, "libraries missing on some systems"
    assert not [name for name in names if name.endswith((".hpp", ".cpp", ".pyc")) or name.startswith("test")]
    assert {"roofslate/py.typed", "roofslate/_core.pyi"} <= {*names}
    for generated in ("__init__.pyi", "typing.py", "registry/reserved.py"):
        assert names.count(f"roofslate/{generated}") == 1
    assert {name.partition("/")[0] for name in names if ".dist-info/" not in name} == {"roofslate"}
    assert "roofslate/presets/data/models.toml" in names
    assert "roofslate/web/engine.js" in names
    assert (ENGINE.removeprefix("python/") in names) == (ROOT / ENGINE).exists()


@pytest.mark.long
def test_it_passes_the_core_of_the_tests_without_a_compiler(installed: Path, tmp_path: Path) -> None:
    done = asked(installed, arguments=tuple(copy_core_of_tests(tmp_path / "tests")))
    assert done.returncode == 0, done.stdout + done.stderr
    assert re.search(r"\d{3,} passed", done.stdout)
    assert "failed" not in done.stdout


@pytest.mark.long
def test_old_processors_give_the_same_bits(installed: Path) -> None:
    emulator = shutil.which("qemu-x86_64")
    if emulator is None:
        pytest.skip("qemu-x86_64 not found: apt-get install qemu-user")
    native = asked(installed)
    assert native.returncode == 0, native.stderr
    answer = native.stdout.split()[1]
    for processor, instruction_set in OLD.items():
        done = asked(installed, emulator, "-cpu", processor)
        assert done.returncode == 0, done.stderr
        assert done.stdout.split() == [instruction_set, answer]
