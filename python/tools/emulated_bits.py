"""Compares the NEON kernels, emulated, with the kernels of this machine: the same questions, the same bits.

Compiles `roofslate_bits` twice, for this machine and for 64-bit ARM, asks both the same random questions and compares
their digests. It needs g++-aarch64-linux-gnu and qemu-user (Debian), and takes a minute or two the first time::

    python python/tools/emulated_bits.py --questions 5000

A question that differs is asked alone by ``roofslate_bits NUMBER NUMBER+1``.
"""

from __future__ import annotations

import argparse
import itertools
import shutil
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
COMPILER = "aarch64-linux-gnu-g++"
EMULATOR = "qemu-aarch64"
LIBRARIES = Path("/usr/aarch64-linux-gnu")
HEADERS = ("xtl", "xtensor", "xsimd")  # of this machine: they have no code of their own


def missing() -> list[str]:
    """Programs that the comparison needs and that are not installed."""
    programs = [program for program in (COMPILER, EMULATOR, "cmake", "ninja") if shutil.which(program) is None]
    return programs or ([] if LIBRARIES.is_dir() else [str(LIBRARIES)])


def built(folder: Path, options: Sequence[str]) -> Path:
    """Compile the core and the program that asks; what did not change is not compiled again."""
    needed = ["-DROOFSLATE_BUILD_MODULE=OFF", "-DROOFSLATE_BUILD_BITS=ON", "-DCMAKE_BUILD_TYPE=Release"]
    _run("cmake", "-S", str(ROOT), "-B", str(folder), "-G", "Ninja", *needed, *options)
    _run("cmake", "--build", str(folder), "--target", "roofslate_bits")
    return folder / "roofslate_bits"


def cross_options() -> list[str]:
    options = ["-DCMAKE_SYSTEM_NAME=Linux", "-DCMAKE_SYSTEM_PROCESSOR=aarch64", f"-DCMAKE_CXX_COMPILER={COMPILER}"]
    for package in HEADERS:
        places = itertools.chain.from_iterable(
            Path(folder).glob(f"**/{package}Config.cmake") for folder in ("/usr/lib", "/usr/share", "/usr/local")
        )
        if (place := next(places, None)) is not None:  # otherwise it is downloaded
            options.append(f"-D{package}_DIR={place.parent}")
    return options


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def compare(native: Path, emulated: Path, questions: int) -> int:
    """Number of questions with unlike answers, each of which is printed."""
    numbers = ["0", str(questions)]
    here = _run(str(native), *numbers).splitlines()
    there = _run(EMULATOR, "-L", str(LIBRARIES), str(emulated), *numbers).splitlines()
    differing = [one.split()[0] for one, other in zip(here, there, strict=True) if one != other]
    print(f"{len(here)} questions to the kernels of this machine and to NEON: {len(differing) or 'none'} differ")
    if differing:
        print(f"questions {', '.join(differing[:20])}")
    return len(differing)


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--questions", type=int, default=1000, help="how many")
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "bits", help="folder of the two builds")
    given = parser.parse_args()
    if lacking := missing():
        raise SystemExit(f"not installed: {', '.join(lacking)} (Debian: g++-aarch64-linux-gnu, qemu-user)")
    native = built(given.build / "native", [])
    emulated = built(given.build / "arm64", cross_options())
    return min(1, compare(native, emulated, given.questions))


if __name__ == "__main__":
    sys.exit(main())
