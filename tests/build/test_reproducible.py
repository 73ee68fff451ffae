"""Equal bytes of two builds of a commit, and builds without a network."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest
from support import ROOT

TOOLS = ROOT / "build" / "wheel-tools"
EPOCH = "1769860802"


def run(*command: str | Path, umask: int = 0o022, **options) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False, umask=umask, **options)
    assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    return done.stdout


def unpack(archive: Path, folder: Path) -> Path:
    """Unpack an archive of the sources and return the folder inside."""
    with tarfile.open(archive) as sources:
        sources.extractall(folder, **({"filter": "data"} if hasattr(tarfile, "data_filter") else {}))
    (inside,) = folder.iterdir()
    return inside


def archive_of(tree: Path, folder: Path, umask: int = 0o022) -> Path:
    """Build the archive of a tree by its build backend."""
    pytest.importorskip("scikit_build_core", reason="pip install scikit-build-core")
    code = "import sys; from scikit_build_core.build import build_sdist; build_sdist(sys.argv[1])"
    environment = {**os.environ, "SOURCE_DATE_EPOCH": EPOCH}
    run(sys.executable, "-c", code, folder, cwd=tree, env=environment, umask=umask)
    (archive,) = folder.iterdir()
    return archive


def differing(one: Path, other: Path) -> list[str]:
    """List the files that differ between two wheels, and other bytes as one entry."""
    if one.read_bytes() == other.read_bytes():
        return []
    with zipfile.ZipFile(one) as first, zipfile.ZipFile(other) as second:
        entries = [
            [(entry.filename, entry.date_time, entry.external_attr, entry.CRC) for entry in archive.infolist()]
            for archive in (first, second)
        ]
    return sorted({entry[0] for entry in {*entries[0]} ^ {*entries[1]}}) or ["order or compression"]


def test_two_archives_have_equal_bytes(tmp_path: Path) -> None:
    """The second is made from the first, unpacked for one user only."""
    (tmp_path / "first").mkdir()
    first = archive_of(ROOT, tmp_path / "first")
    (tmp_path / "second").mkdir()
    tree = unpack(first, tmp_path / "unpacked")
    for path in tree.rglob("*"):
        if path.is_file():
            path.chmod(path.stat().st_mode & 0o700)
    second = archive_of(tree, tmp_path / "second", umask=0o077)
    assert first.name == second.name
    assert first.read_bytes() == second.read_bytes()


def test_what_was_built_for_pages_is_carried(tmp_path: Path) -> None:
    """Git ignores the core for browsers, but archive and wheel include it once it is built."""
    (tmp_path / "first").mkdir()
    tree = unpack(archive_of(ROOT, tmp_path / "first"), tmp_path / "unpacked")
    with (tree / ".gitignore").open("a", encoding="utf-8") as ignored:
        ignored.write("/python/roofslate/web/\n")
    web = tree / "python/roofslate/web"
    web.mkdir(exist_ok=True)
    (web / "probe.wasm").write_bytes(b"\0asm")
    (tmp_path / "second").mkdir()
    with tarfile.open(archive_of(tree, tmp_path / "second")) as archive:
        assert any(name.endswith("/python/roofslate/web/probe.wasm") for name in archive.getnames())


@pytest.mark.long
@pytest.mark.whole
@pytest.mark.parametrize("architecture", ["x86_64", "aarch64"])
def test_two_builds_of_a_wheel_have_equal_bytes(architecture: str, tmp_path: Path) -> None:
    """Compare this tree's wheel with one built from its archive elsewhere, without ccache."""
    wheels = sorted((ROOT / "dist").glob(f"roofslate-*_{architecture}.whl"))
    archives = sorted((ROOT / "dist").glob("roofslate-*.tar.gz"))
    if not wheels or not archives:
        pytest.skip(f"there is no wheel: .ci/wheel --arch {architecture}")
    minor = wheels[-1].name.split("-")[2].removeprefix("cp3")
    interpreter = TOOLS / f"cp3{minor}" / "bin" / "python"
    python = run(interpreter, "-c", "import sys; print(sys._base_executable)").strip()
    tree = unpack(archives[-1], tmp_path / "another-folder")
    environment = {key: value for key, value in os.environ.items() if key not in ("SOURCE_DATE_EPOCH", "LC_ALL")}
    environment |= {"CCACHE_DISABLE": "1", "TZ": "Asia/Tokyo", "LANG": "C"}
    command = [tree / ".ci/wheel", "--arch", architecture, "--tools", TOOLS, "--out", tmp_path / "wheels", python]
    run(*command, cwd=tree, env=environment, umask=0o077)
    assert differing(archives[-1], tmp_path / "wheels" / archives[-1].name) == []
    assert differing(wheels[-1], tmp_path / "wheels" / wheels[-1].name) == []


def test_a_difference_is_found(tmp_path: Path) -> None:
    contents = {"one": "pass", "same": "pass", "other": "fail"}
    for name, content in contents.items():
        with zipfile.ZipFile(tmp_path / name, "w") as archive:
            archive.writestr(zipfile.ZipInfo("a.py"), "0")
            archive.writestr(zipfile.ZipInfo("b.py"), content)
    assert differing(tmp_path / "one", tmp_path / "same") == []
    assert differing(tmp_path / "one", tmp_path / "other") == ["b.py"]


@pytest.mark.long
@pytest.mark.whole
def test_the_archive_builds_without_a_network(tmp_path: Path) -> None:
    """Use the installed headers, without a network if the system can separate one."""
    headers = [name for name in ("xtensor", "xsimd") if not Path("/usr/include", name).is_dir()]
    if headers:
        pytest.skip(f"the headers of {', '.join(headers)} are not installed")
    (tmp_path / "sources").mkdir()
    archive = archive_of(ROOT, tmp_path / "sources")
    isolated = ["unshare", "-n"]
    if shutil.which("unshare") is None or subprocess.run([*isolated, "true"], check=False).returncode:
        isolated = []
    options = ["--no-index", "--no-build-isolation", "--no-deps", "-w", str(tmp_path / "wheels")]
    nowhere = {"http_proxy": "http://127.0.0.1:9", "https_proxy": "http://127.0.0.1:9"}
    environment = {**os.environ, **nowhere, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    run(*isolated, sys.executable, "-m", "pip", "wheel", *options, archive, env=environment, cwd=tmp_path)
    (wheel,) = (tmp_path / "wheels").iterdir()
    with zipfile.ZipFile(wheel) as built:
        assert [name for name in built.namelist() if name.startswith("roofslate/_core.") and name.endswith(".so")]
