"""Run clang-tidy on the C++ core, with the flags of its build.

Most of a source's work is in shared includes, so the sources of a folder are checked as one: for each folder a file in
build/lint includes them. `.clang-tidy` selects the checks.
"""

from __future__ import annotations

import argparse
import json
import shlex
import shutil
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

ROOT = Path(__file__).parents[2]
CORE = ROOT / "cpp" / "roofslate"
OTHER_FLAGS = {"avx2", "avx512", "neon"}  # the code of base with other instructions
SLOWEST = "python"


def flags_of(command: str) -> list[tuple[str, ...]]:
    """Select the flags of a command for include paths and language, each with its argument."""
    words = iter(shlex.split(command))
    flags: list[tuple[str, ...]] = []
    for word in words:
        if word == "-isystem":
            flags.append((word, next(words)))
        elif word.startswith(("-I", "-D", "-std=")):
            flags.append((word,))
    return flags


def write_sources(build: Path, into: Path) -> list[Path]:
    """Write a file for each folder of the core, and the commands to compile them."""
    flags: dict[tuple[str, ...], None] = {}  # of all commands, in order
    for command in json.loads((build / "compile_commands.json").read_text(encoding="utf-8")):
        if "/cpp/roofslate/" in command["file"] or "_core.dir" in command["file"]:
            flags.update(dict.fromkeys(flags_of(command["command"])))
    words = [word for flag in flags for word in flag]
    into.mkdir(parents=True, exist_ok=True)
    files = []
    for folder in sorted(path for path in CORE.iterdir() if path.is_dir()):
        sources = [path for path in sorted(folder.glob("*.cpp")) if path.stem not in OTHER_FLAGS]
        lines = [f'#include "{path.relative_to(ROOT / "cpp")}"\n' for path in sources or sorted(folder.glob("*.hpp"))]
        file = into / f"{folder.name}.cpp"
        file.write_text("".join(lines), encoding="utf-8")
        files.append(file)
    entries = [
        {"directory": str(build), "file": str(file), "arguments": ["c++", *words, "-c", str(file)]} for file in files
    ]
    (into / "compile_commands.json").write_text(json.dumps(entries), encoding="utf-8")
    return sorted(files, key=lambda file: file.stem != SLOWEST)


def check(program: str, file: Path) -> bool:
    """Check one file, and print findings."""
    done = subprocess.run(
        [program, "--quiet", "-p", str(file.parent), str(file)], capture_output=True, text=True, check=False
    )
    if done.returncode:
        print(done.stdout + done.stderr, end="", flush=True)
    return done.returncode == 0


def main(arguments: list[str] | None = None) -> int:
    """Return 0 if there are no findings."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--build", type=Path, default=ROOT / "build" / "editable", help="a configured build")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("folders", nargs="*", help="folders of cpp/roofslate, by default all")
    given = parser.parse_args(arguments)
    program = shutil.which("clang-tidy")
    if program is None:
        print("clang-tidy is missing. Install it (Debian, Ubuntu: apt-get install clang-tidy)", file=sys.stderr)
        return 1
    files = write_sources(given.build.resolve(), ROOT / "build" / "lint")
    selected = [file for file in files if not given.folders or file.stem in given.folders]
    with ThreadPoolExecutor(given.jobs) as pool:
        return 0 if all(list(pool.map(lambda file: check(program, file), selected))) else 1


if __name__ == "__main__":
    sys.exit(main())
