"""Compare the emulated NEON kernels with the kernels of this machine, bit by bit.

It compiles `roofslate_bits` twice, for this machine and for 64-bit ARM, asks both the same random questions and
compares their digests. It needs g++-aarch64-linux-gnu and qemu-user (Debian). The first run takes a minute or two::

    python python/tools/emulated_bits.py --questions 5000

To ask a differing question by itself, run ``roofslate_bits NUMBER NUMBER+1``.
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
HEADERS = ("xtl", "xtensor", "xsimd")  # of this machine, header-only


def missing() -> list[str]:
    """List required programs that are not installed."""
    programs = [program for program in (COMPILER, EMULATOR, "cmake", "ninja") if shutil.which(program) is None]
    return programs or ([] if LIBRARIES.is_dir() else [str(LIBRARIES)])


def built(folder: Path, options: Sequence[str]) -> Path:
    """Compile the core and the question program incrementally."""
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
        if (path := next(places, None)) is not None:  # otherwise it is downloaded
            options.append(f"-D{package}_DIR={path.parent}")
    return options


def _run(*command: str) -> str:
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{' '.join(command)}\n{done.stdout[-3000:]}{done.stderr[-3000:]}")
    return done.stdout


def compare(native: Path, emulated: Path, questions: int) -> int:
    """Print questions with different answers, and return their number."""
    numbers = ["0", str(questions)]
    native_lines = _run(str(native), *numbers).splitlines()
    emulated_lines = _run(EMULATOR, "-L", str(LIBRARIES), str(emulated), *numbers).splitlines()
    differing = [one.split()[0] for one, other in zip(native_lines, emulated_lines, strict=True) if one != other]
    print(
        f"{len(native_lines)} questions to the kernels of this machine and to NEON: {len(differing) or 'none'} differ"
    )
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
