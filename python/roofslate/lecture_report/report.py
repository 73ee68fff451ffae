"""Report of the lecture, one offline page with charts and answers as files.

Registers of the whole lecture follow the chapters: all answers, differences between sources, the flashcards as a quiz,
claims and predictions.
"""

from __future__ import annotations

import calendar
import json
import re
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate._base.files import write
from roofslate._base.progress import Progress
from roofslate._base.version import __version__
from roofslate.display.html import Picture, breakable, formula, marked, plain_number
from roofslate.lecture_report.answers import answers
from roofslate.lecture_report.chapters import HANDED, Album, Section, Writer
from roofslate.lecture_report.claims import claims, inconsistencies
from roofslate.lecture_report.entries import chapters_of
from roofslate.lecture_report.flashcards import flashcards
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import lookup

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    import pandas as pd
    from markupsafe import Markup

__all__ = ["lecture"]

_PAGE = "index.html"
_LIVE = f"live/{_PAGE}"  # linked where `roofslate page lecture --out FOLDER/live` has written it


def lecture(
    out: str | os.PathLike[str] = "lecture",
    *,
    chapter: int | None = None,
    progress: bool | Callable[[int, int], None] | None = None,
) -> Path:
    """Compute the lecture and write it as a page, with charts and answers as files.

    Parameters
    ----------
    out : path-like
        Folder of the report, created if missing. Files of the same names are replaced, each in one step.
    chapter : int, optional
        A single chapter, with its answers and differences, without the flashcards and claims.
    progress : bool or callable, optional
        A bar after one second in a terminal or notebook, False for none, or a function of (done, total).

    Returns
    -------
    pathlib.Path
        The page, ``index.html``. Its folder also contains ``charts`` with an SVG and a PNG of each picture, and
        ``answers.csv``.

    Raises
    ------
    ValueRangeError
        If there is no such chapter.

    Examples
    --------
    >>> import roofslate as rs
    >>> page = rs.lecture("build/lecture")  # doctest: +SKIP
    """
    contents = chapters_of("report", chapter)
    folder = Path(out)
    (folder / "charts").mkdir(parents=True, exist_ok=True)
    total = 2 + sum(_steps(content) for content in contents)
    with Progress(progress, "block") as bar:
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            if bar.callback is not None:
                bar.callback(done, total)

        album = Album(folder / "charts")
        writers = [Writer(content, album, advance) for content in contents]
        chapters = [_chapter(content, writer) for content, writer in zip(contents, writers, strict=True)]
        registers = _Registers.of(chapter)
        advance()
        symbols = sorted({name for writer in writers for name in writer.symbols}, key=str.casefold)
        presets = dict.fromkeys(preset for writer in writers for preset in writer.presets)
        page = _rendered(
            chapters=chapters,
            registers=registers,
            alone=chapter is not None,
            live=_LIVE if (folder / _LIVE).is_file() else "",
            symbols=[_symbol(name) for name in symbols],
            facts=_facts(presets),
        )
        write(folder / "answers.csv", _csv(registers.answers))
        write(folder / _PAGE, page.encode())
        advance()
    return folder / _PAGE


def _rendered(**content: Any) -> str:
    import jinja2

    loader = jinja2.FileSystemLoader(Path(__file__).with_name("templates"))
    environment = jinja2.Environment(
        loader=loader, autoescape=True, trim_blocks=True, lstrip_blocks=True, undefined=jinja2.StrictUndefined
    )
    environment.filters |= {"marked": marked, "breakable": breakable, "sentence": _sentence, "day": _day}
    page = environment.get_template("report.html.jinja").render(version=__version__, **content)
    # a single chapter names entries of other chapters, which are not on its page
    ids = set(re.findall(r'\bid="([^"]+)"', page))
    return re.sub(r'<a href="#([\w-]+)">(.*?)</a>', lambda link: link[0 if link[1] in ids else 2], page)


def _steps(content: Mapping[str, Any]) -> int:
    return sum(len(section["block"]) for part in ("section", "left_out") for section in content.get(part, []))


@dataclass(frozen=True)
class _Chapter:
    number: int
    title: str
    time: str
    lead: list[Markup]
    sections: list[Section]
    left_out: list[Section]


def _chapter(content: Mapping[str, Any], writer: Writer) -> _Chapter:
    lead = writer.prose(content["lead"], content.get("numbers", {}))
    parts = ([writer.section(section) for section in content.get(part, [])] for part in ("section", "left_out"))
    return _Chapter(content["chapter"], content["title"], content["time"], lead, *parts)


@dataclass(frozen=True)
class _Symbol:
    unit: str
    brief: str
    name: str
    picture: Picture


def _symbol(name: str) -> _Symbol:
    q = lookup(name)
    return _Symbol(q.unit, q.brief, name, formula(q.symbol, name))


def _facts(presets: Iterable[tuple[str, str]]) -> list[tuple[str, str, list[tuple[str, str]]]]:
    """List presets with their notes, and the sources of their numbers."""
    catalogs = PRESETS | HANDED
    order = list(catalogs)
    used = {(order.index(keyword), catalogs[keyword][name].name) for keyword, name in presets}  # aliases are one
    facts = []
    for kind, name in sorted(used):
        preset = catalogs[order[kind]][name]
        sources: dict[str, list[str]] = {}
        for quantity, fact in preset.facts.items():
            source = f"{fact.source}, {fact.date}{'' if fact.read else ' (unverified)'}"
            sources.setdefault(source, []).append(f"`{quantity}` {fact}")
        about = {"prices": ", rent", "api_prices": ", list prices"}.get(order[kind], "")
        rows = [(source, ", ".join(numbers)) for source, numbers in sources.items()]
        facts.append((preset.name + about, preset.note, rows))
    return facts


@dataclass(frozen=True)
class _Answers:
    """Answers of a chapter as the page writes them."""

    chapter: int
    table: pd.DataFrame

    @property
    def held(self) -> int:
        return int((self.table["verdict"] == "holds").sum())

    @property
    def systems(self) -> int:
        return int(self.table["system"].nunique())

    @property
    def farthest(self) -> str:
        """Largest relative difference between a computed number and the lecture's."""
        off = (self.table["ours"] / self.table["lecture"] - 1).abs().max()
        return plain_number(100 * off, 2) + "%"

    def rows(self) -> list[dict[str, str]]:
        return [
            {
                **{name: str(row[name]) for name in ("system", "question", "verdict", "quantity")},
                **{name: plain_number(row[name]) for name in ("lecture", "ours")},
                "unit": "" if row["unit"] == "1" else row["unit"],
                "tolerance": plain_number(100 * row["tolerance"]) + "%",
            }
            for row in self.table.to_dict("records")
        ]


@dataclass(frozen=True)
class _Registers:
    """Registers of the lecture: answers, differences, flashcards and claims."""

    answers: list[_Answers]
    differences: list[dict[Hashable, Any]]
    cards: list[dict[Hashable, Any]]
    claims: dict[str, list[dict[Hashable, Any]]]

    @classmethod
    def of(cls, chapter: int | None) -> _Registers:
        """Compute the registers, of one chapter only answers and differences."""
        numbers = [content["chapter"] for content in chapters_of("answers", chapter)]
        checked = [_Answers(number, answers(number)) for number in numbers]
        differences = inconsistencies(chapter).reset_index(names="id").to_dict("records")
        differences.sort(key=lambda row: int(row["id"][1:]))
        if chapter is not None:
            return cls(checked, differences, [], {})
        by_kind: dict[str, list[dict[Hashable, Any]]] = {}
        for row in claims().to_dict("records"):
            by_kind.setdefault(row["kind"], []).append(row)
        return cls(checked, differences, flashcards().reset_index().to_dict("records"), by_kind)

    @property
    def numbers(self) -> int:
        return sum(len(chapter.table) for chapter in self.answers)

    @property
    def held(self) -> int:
        return sum(chapter.held for chapter in self.answers)

    @property
    def systems(self) -> int:
        return len({system for chapter in self.answers for system in chapter.table["system"]})

    @property
    def quoted(self) -> list[str]:
        """Differences without a computed number."""
        return [str(row["id"]) for row in self.differences if not row["computed"]]

    def of_chapter(self, number: int) -> tuple[_Answers | None, list[dict[Hashable, Any]]]:
        answers = next((chapter for chapter in self.answers if chapter.chapter == number), None)
        return answers, [row for row in self.differences if row["chapter"] == number]


def _sentence(words: str) -> str:
    """Write words as a sentence, with a capital and a full stop."""
    return words[:1].upper() + words[1:] + ("" if words.endswith(("?", ".")) else ".")


def _day(date: str) -> str:
    """Date as people write it: ``29 April 2026``, ``May 2026``."""
    year, month, *day = date.split("-")
    return " ".join([*(str(int(number)) for number in day), calendar.month_name[int(month)], year])


def _csv(answers: Sequence[_Answers]) -> bytes:
    import pandas as pd

    table = pd.concat([chapter.table for chapter in answers], ignore_index=True)
    table["inputs"] = table["inputs"].map(json.dumps)
    return table.to_csv(index=False).encode()
