"""Compare two versions of the package by their answers to random questions, bit by bit.

Each version writes its answers, then the two files are compared. The questions use only public names, so one copy of
this script serves versions with different modules::

    PYTHONPATH=before/python python same_bits.py --out before.txt
    PYTHONPATH=after/python  python same_bits.py --out after.txt
    python same_bits.py --compare before.txt after.txt
    PYTHONPATH=after/python  python same_bits.py --show 1234

A line contains the number of a question, its call, digests of the question, of the answer and of the order of unordered
parts (attributes, coordinates), and the kind of the answer. Errors and warnings are answers, by class and text. Times,
versions, addresses and folders are left out.
"""

from __future__ import annotations

import argparse
import collections
import hashlib
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

SEED = 18


class Question(NamedTuple):
    """One question: its number, the call it is about, and its code."""

    number: int
    call: str
    code: str

    @property
    def digest(self) -> str:
        return hashlib.sha256(self.code.encode("utf-8", "surrogatepass")).hexdigest()[:12]


def questions() -> Iterator[Question]:
    """Yield all questions, which depend only on the registry and the presets."""
    from questions import analysis, folds, grids, studies
    from questions.draw import Chance

    number = 0
    for module in (grids, folds, analysis, studies):
        for call, (count, draw) in module.CALLS.items():
            for k in range(count):
                yield Question(number, call, draw(Chance(f"{SEED} {call} {k}")))
                number += 1
    for call, codes in studies.ONCE.items():
        for code in codes:
            yield Question(number, call, code)
            number += 1


def answer_line(question: Question) -> str:
    from questions.answers import ask
    from questions.space import SPACE

    answer, result = ask(question.code, SPACE)
    kind = f"error {type(result).__name__}" if answer.failed else type(result).__name__
    digests = f"{question.digest}\t{answer.digest}\t{answer.order_digest}"
    return f"{question.number}\t{question.call}\t{digests}\t{kind}"


def record(out: Path, only: str | None, jobs: int, part: str | None) -> None:
    begun = time.perf_counter()
    if jobs > 1:
        lines = _in_parallel(only, jobs)
    else:
        first, step = map(int, part.split("/")) if part else (0, 1)
        lines = [answer_line(q) for q in questions() if (only is None or q.call == only) and q.number % step == first]
    lines.sort(key=lambda line: int(line.partition("\t")[0]))
    out.write_text("\n".join([*lines, ""]), encoding="utf-8")
    if part is None:
        _summarize(lines, time.perf_counter() - begun)


def _in_parallel(only: str | None, jobs: int) -> list[str]:
    """Answer questions in several processes, as they are independent of one another."""
    with tempfile.TemporaryDirectory() as folder:
        children = []
        for k in range(jobs):
            command = [sys.executable, __file__, "--out", f"{folder}/{k}", "--part", f"{k}/{jobs}"]
            children.append(subprocess.Popen([*command, *(["--only", only] if only else [])]))
        statuses = [child.wait() for child in children]
        if any(statuses):
            raise SystemExit("a process stopped before its questions were answered")
        return [line for k in range(jobs) for line in Path(folder, str(k)).read_text(encoding="utf-8").splitlines()]


def _summarize(lines: Sequence[str], seconds: float) -> None:
    counts: dict[str, list[int]] = collections.defaultdict(lambda: [0, 0])
    for line in lines:
        _, call, *_, kind = line.split("\t")
        counts[call][0] += 1
        counts[call][1] += kind.startswith("error ")
    for call, (total, errors) in counts.items():
        print(f"{call:<24} {total:5} questions {errors:5} errors")
    total, errors = (sum(pair[k] for pair in counts.values()) for k in (0, 1))
    print(f"{'all':<24} {total:5} questions {errors:5} errors ({errors / max(total, 1):.1%}), {seconds:.0f} s")


def compare(before: Path, after: Path) -> int:
    """Print the differing lines, and return their number."""
    sides = []
    for path in (before, after):
        rows = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines()]
        sides.append({int(row[0]): row[1:] for row in rows})
    one, other = sides
    differing: dict[str, list[str]] = collections.defaultdict(list)
    for number in sorted(one.keys() | other.keys()):
        if number not in one or number not in other:
            differing["in one file only"].append(f"{number}")
            continue
        (call, question, answer, order, kind), after_row = one[number], other[number]
        if [call, question] != after_row[:2]:
            differing["another question"].append(f"{number} {call}")
        elif answer != after_row[2]:
            change = kind if kind == after_row[4] else f"{kind}, then {after_row[4]}"
            differing["another answer"].append(f"{number} {call}: {change}")
        elif order != after_row[3]:
            differing["another order of attributes or coordinates"].append(f"{number} {call}")
    for what, listed in differing.items():
        print(f"{what}: {len(listed)}")
        print("\n".join(f"  {line}" for line in listed))
    count = sum(map(len, differing.values()))
    print(f"{len(one)} and {len(other)} answers, {count or 'none'} differ; --show NUMBER shows one")
    return count


def show(number: int) -> None:
    from questions.answers import ask
    from questions.space import SPACE

    question = next((q for q in questions() if q.number == number), None)
    if question is None:
        raise SystemExit(f"unknown question {number}")
    answer, result = ask(question.code, SPACE)
    print(f"{question.call}\n{question.code}\n\n{result if not answer.failed else repr(result)}\n")
    print("\n".join(answer.lines))
    print("\n".join(f"order of {line}" for line in answer.order))


def ask_here(codes: Sequence[str]) -> None:
    """Answer questions one after another, each with the state left by earlier ones."""
    from questions.answers import ask
    from questions.space import SPACE

    for code in codes:
        print("\n".join(ask(code, SPACE)[0].lines))


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="file for the answers")
    parser.add_argument("--only", help="only questions to one call, by its name in the second column")
    parser.add_argument("--jobs", type=int, default=1, help="processes")
    parser.add_argument("--compare", nargs=2, type=Path, metavar=("BEFORE", "AFTER"), help="two files of answers")
    parser.add_argument("--show", type=int, metavar="NUMBER", help="one question with its answer")
    parser.add_argument("--list", action="store_true", help="all questions")
    parser.add_argument("--ask", action="append", metavar="CODE", help=argparse.SUPPRESS)
    parser.add_argument("--part", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.compare:
        return min(1, compare(*given.compare))
    if given.ask:
        ask_here(given.ask)
    elif given.show is not None:
        show(given.show)
    elif given.list:
        for question in questions():
            print(f"{question.number}\t{question.call}\t{question.code}")
    elif given.out:
        record(given.out, given.only, given.jobs, given.part)
    else:
        parser.error("give --out, --compare, --show or --list")
    return 0


if __name__ == "__main__":
    sys.exit(main())
