"""Make an emulated Python for 64-bit ARM, with a wheel and its requirements.

Interpreter and libraries come from Debian's packages for arm64, which are unpacked into a folder: nothing of the
system changes, and no container is needed. Packages of Python come from PyPI as wheels for aarch64. It needs
qemu-user and Debian's apt-get and dpkg-deb::

    python python/tools/emulated_python.py dist/roofslate-0.1.0-cp311-cp311-manylinux_2_17_aarch64.whl

prints the path of an interpreter, to be called like any other. It runs on the oldest 64-bit ARM processor, without
instructions of later ones.
"""

from __future__ import annotations

import argparse
import re
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
EMULATOR = "qemu-aarch64"
PROCESSOR = "cortex-a57"  # ARMv8.0
PROGRAMS = (EMULATOR, "apt-get", "dpkg-deb")
RELEASES = {"3.13": "trixie", "3.11": "bookworm"}  # Python -> the release of Debian that has it
KEYRING = Path("/usr/share/keyrings/debian-archive-keyring.gpg")
PLATFORMS = [f"manylinux{glibc}_aarch64" for glibc in ("2014", "_2_17", "_2_24", "_2_26", "_2_27", "_2_28")]
CONFIGURATION = """\
Dir::State "{folder}/state";
Dir::State::status "{folder}/status";
Dir::Cache "{folder}/cache";
Dir::Etc::SourceList "{folder}/sources.list";
Dir::Etc::SourceParts "{folder}/parts";
APT::Architecture "arm64";
APT::Architectures {{ "arm64"; }};
APT::Install-Recommends "false";
APT::Sandbox::User "root";
"""
START = """\
#!/bin/sh
export PYTHONPATH="{site}" PYTHONDONTWRITEBYTECODE=1 OPENBLAS_CORETYPE=ARMV8
exec {emulator} -cpu {processor} -L "{system}" "{system}/usr/bin/python{python}" "$@"
"""
CUSTOM = """\
import sys

sys.executable = {start!r}  # a processor that is not emulated cannot start the program itself
"""

__all__ = ["RELEASES", "environment", "missing"]


def missing() -> list[str]:
    """List required programs that are not installed."""
    return [program for program in PROGRAMS if shutil.which(program) is None] + (
        [] if KEYRING.exists() else [str(KEYRING)]
    )


def environment(wheel: Path, folder: Path, also: Sequence[str] = ()) -> Path:
    """Install a wheel with its requirements into a folder, and return the interpreter.

    Packages in `also` are installed besides.

    Raises
    ------
    ValueError
        If the wheel is for another processor or for a Python without a known release of Debian.
    """
    match = re.search(r"-cp3(\d+)-[^-]+-manylinux[^-]*_aarch64\.whl$", wheel.name)
    if match is None or f"3.{match[1]}" not in RELEASES:
        raise ValueError(f"{wheel.name} is no wheel for aarch64 and one of the Pythons {', '.join(RELEASES)}")
    python = f"3.{match[1]}"
    system = _system(python, folder / f"debian-{RELEASES[python]}")
    site = folder / f"site-{python}"
    shutil.rmtree(site, ignore_errors=True)
    options = ["--only-binary=:all:", "--implementation=cp", f"--python-version={python}", f"--target={site}"]
    options += [f"--platform={platform}" for platform in PLATFORMS]
    _run(sys.executable, "-m", "pip", "install", "-q", *options, str(wheel), *also)
    start = folder / f"python{python}"
    start.write_text(
        START.format(site=site, emulator=EMULATOR, processor=PROCESSOR, system=system, python=python), encoding="utf-8"
    )
    start.chmod(0o755)
    (site / "sitecustomize.py").write_text(CUSTOM.format(start=str(start)), encoding="utf-8")
    return start


def _system(python: str, folder: Path) -> Path:
    """Unpack Debian's packages once: the interpreter, its library, and their requirements."""
    system = folder / "system"
    if system.is_dir():
        return system
    for part in ("state/lists/partial", "cache/archives/partial", "parts"):
        (folder / part).mkdir(parents=True, exist_ok=True)
    (folder / "status").touch()
    source = f"deb [signed-by={KEYRING}] {_archive()} {RELEASES[python]} main\n"
    (folder / "sources.list").write_text(source, encoding="utf-8")
    configuration = folder / "apt.conf"
    configuration.write_text(CONFIGURATION.format(folder=folder), encoding="utf-8")
    apt = ["env", f"APT_CONFIG={configuration}", "apt-get", "-qq"]
    _run(*apt, "update")
    _run(*apt, "install", "--yes", "--download-only", f"python{python}", "libstdc++6")
    unpacked = folder / "unpacked"
    shutil.rmtree(unpacked, ignore_errors=True)
    for package in sorted((folder / "cache" / "archives").glob("*.deb")):
        _run("dpkg-deb", "--extract", str(package), str(unpacked))
        package.unlink()
    if not (unpacked / "lib").exists():  # later releases rely on a link of the installed system
        (unpacked / "lib").symlink_to("usr/lib")
    unpacked.rename(system)
    return system


def _archive() -> str:
    """Address of the archive of Debian from which this machine gets its own packages."""
    listed = _run("apt-get", "indextargets", "--format", "$(REPO_URI)", "Origin: Debian", "Component: main")
    addresses = [line for line in listed.splitlines() if line.rstrip("/").endswith("/debian")]
    if not addresses:
        raise SystemExit("apt-get knows no archive of Debian here: run it on Debian, after apt-get update")
    return addresses[0]


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("wheel", type=Path, help="a wheel for aarch64")
    parser.add_argument("also", nargs="*", help="further packages, such as pytest")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "arm64-python", help="folder to install into")
    given = parser.parse_args()
    if lacking := missing():
        raise SystemExit(f"not installed: {', '.join(lacking)} (Debian: qemu-user)")
    try:
        print(environment(given.wheel, given.build, given.also))
    except ValueError as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
