"""Coverage: the lines that no test reaches. ``make coverage`` measures them, in C++ and in Python, and calls this.

Lines that no test can reach, or need not, stand in ``uncovered.toml``, each with the reason. This fails where
there is another, and where less than 95 % of all lines of a language are reached.
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

Lines = dict[str, dict[int, int]]  # file: line: how often


def of_python(report: Path) -> Lines:
    """What ``coverage json`` wrote, without copies of the tree that tests make and modules that the build writes."""
    lines: Lines = {}
    for path, found in json.loads(report.read_text(encoding="utf-8"))["files"].items():
        file = Path(path).resolve()
        if file.is_relative_to(ROOT) and not file.match("**/roofslate/typing.py") and file.name != "reserved.py":
            reached, missing = found["executed_lines"], found["missing_lines"]
            lines[str(file.relative_to(ROOT))] = {**dict.fromkeys(reached, 1), **dict.fromkeys(missing, 0)}
    return lines


def of_cpp(report: Path) -> Lines:
    """What ``gcovr --json`` wrote; a line of a template is there once for each type."""
    lines: Lines = defaultdict(dict)
    for file in json.loads(report.read_text(encoding="utf-8"))["files"]:
        of_file = lines[file["file"]]
        for line in file["lines"]:
            number = line["line_number"]
            of_file[number] = max(of_file.get(number, 0), line["count"])
    return lines


def missed(lines: Lines) -> Iterator[tuple[str, int, str]]:
    """File, number and text of each line that was not reached."""
    for file in sorted(lines):
        text = (ROOT / file).read_text(encoding="utf-8").splitlines()
        for number, count in sorted(lines[file].items()):
            if not count:
                yield file, number, text[number - 1].strip()


def accepted(path: Path = LIST) -> Mapping[str, Counter[str]]:
    """The texts of lines that may be missed, by file."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for entries in tomllib.loads(path.read_text(encoding="utf-8")).values():
        for entry in entries:
            for file in entry["files"]:
                found[file].update(entry["lines"])
    return found


def main() -> None:
    """Print shares and lines; the exit status is 1 where they do not hold."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("python", type=Path, help="the report of coverage.py")
    parser.add_argument("cpp", type=Path, help="the report of gcovr")
    asked = parser.parse_args()
    may_be_missed = accepted()
    fine = True
    for language, lines in (("Python", of_python(asked.python)), ("C++", of_cpp(asked.cpp))):
        total = sum(len(of_file) for of_file in lines.values())
        left = list(missed(lines))
        share = 1 - len(left) / total
        print(f"{language}: {total:,} lines in {len(lines)} files, {share:.2%} of them reached, {len(left)} not")
        fine = fine and share >= LEAST_REACHED
        for file, number, text in left:
            if may_be_missed.get(file, Counter())[text] > 0:
                may_be_missed[file][text] -= 1
            else:
                print(f"{file}:{number}: {text}")
                fine = False
    for file, texts in may_be_missed.items():
        for text, times in texts.items():
            if times:
                print(f"reached by now, or gone: {file}: {text}")  # what threads do differs from run to run
    sys.exit(not fine)


if __name__ == "__main__":
    main()
