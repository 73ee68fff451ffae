"""Check coverage by tests, in C++ and Python. ``make coverage`` calls this.

Lines that no test can or needs to reach are listed in ``uncovered.toml``, each with the reason. The check fails on any
other line, and if less than 95% of the lines of a language are reached.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections import Counter, defaultdict
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

ROOT = Path(__file__).parents[2]
LIST = Path(__file__).with_name("uncovered.toml")
LEAST_REACHED = 0.95

Lines = dict[str, dict[int, int]]  # file: line: executions


def of_python(report: Path) -> Lines:
    """Read ``coverage json``, without copies of the tree made by tests and generated modules."""
    lines: Lines = {}
    for path, file_report in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        file = Path(path).resolve()
        if file.is_relative_to(ROOT) and not file.match("**/roofslate/typing.py") and file.name != "reserved.py":
            reached, missing = file_report["executed_lines"], file_report["missing_lines"]
            lines[str(file.relative_to(ROOT))] = {**dict.fromkeys(reached, 1), **dict.fromkeys(missing, 0)}
    return lines


def of_cpp(report: Path) -> Lines:
    """Read ``gcovr --json``, in which a template's line appears once per type."""
    lines: Lines = defaultdict(dict)
    for file in json.loads(report.read_text(encoding="utf-8"))["files"]:
        of_file = lines[file["file"]]
        for line in file["lines"]:
            number = line["line_number"]
            of_file[number] = max(of_file.get(number, 0), line["count"])
    return lines


def missed(lines: Lines) -> Iterator[tuple[str, int, str]]:
    """Yield file, number and text of each line that was not reached."""
    for file in sorted(lines):
        text = (ROOT / file).read_text(encoding="utf-8").splitlines()
        for number, count in sorted(lines[file].items()):
            if not count:
                yield file, number, text[number - 1].strip()


def accepted(path: Path = LIST) -> Mapping[str, Counter[str]]:
    """Read the texts of lines that may be missed, by file."""
    counters: dict[str, Counter[str]] = defaultdict(Counter)
    for entries in tomllib.loads(path.read_text(encoding="utf-8")).values():
        for entry in entries:
            for file in entry["files"]:
                counters[file].update(entry["lines"])
    return counters


def main() -> None:
    """Print shares and lines, and exit with status 1 if a limit is violated."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("python", type=Path, help="the report of coverage.py")
    parser.add_argument("cpp", type=Path, help="the report of gcovr")
    options = parser.parse_args()
    may_be_missed = accepted()
    fine = True
    for language, lines in (("Python", of_python(options.python)), ("C++", of_cpp(options.cpp))):
        total = sum(len(of_file) for of_file in lines.values())
        missed_lines = list(missed(lines))
        share = 1 - len(missed_lines) / total
        print(
            f"{language}: {total:,} lines in {len(lines)} files, {share:.2%} of them reached, {len(missed_lines)} not"
        )
        fine = fine and share >= LEAST_REACHED
        for file, number, text in missed_lines:
            if may_be_missed.get(file, Counter())[text] > 0:
                may_be_missed[file][text] -= 1
            else:
                print(f"{file}:{number}: {text}")
                fine = False
    for file, texts in may_be_missed.items():
        for text, times in texts.items():
            if times:
                print(f"listed but reached, or removed: {file}: {text}")  # thread timing differs between runs
    sys.exit(not fine)


if __name__ == "__main__":
    main()
