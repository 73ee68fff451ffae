"""The lecture as a report: one page that works offline, the charts as files beside it, the answers as a table.

After the chapters stand registers of the whole lecture: every answer, where sources differ, the flashcards as a quiz,
and what the lecture claims and predicts.
"""

from __future__ import annotations

import calendar
import functools
import json
import re
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofslate._base.files import write
from roofslate._base.progress import Progress
from roofslate._base.version import __version__
from roofslate.display.html import Picture, breakable, formula, marked, plain_number
from roofslate.errors import ValueRangeError
from roofslate.lecture_report import answers as checklist
from roofslate.lecture_report import claims as register
from roofslate.lecture_report import flashcards as cards
from roofslate.lecture_report.chapters import HANDED, Album, Section, Teller
from roofslate.lecture_report.entries import entries_of
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import lookup

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import os
    from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence

    import pandas as pd
    from markupsafe import Markup

__all__ = ["lecture"]

_PAGE = "index.html"


def lecture(
    out: str | os.PathLike[str] = "lecture",
    *,
    chapter: int | None = None,
    progress: bool | Callable[[int, int], None] | None = None,
) -> Path:
    """Compute the lecture and write it as a page, with its charts and its answers as files beside it.

    Parameters
    ----------
    out : path-like
        Folder of the report; made where it is missing. Files of the same names in it are replaced, each as a whole.
    chapter : int, optional
        One chapter alone, with its answers and where its sources differ; without the quiz and the register of claims.
    progress : bool or callable, optional
        A bar from one second on where a person looks on; False for none; or a function of (done, total).

    Returns
    -------
    pathlib.Path
        The page, ``index.html``; beside it ``charts`` with an SVG and a PNG of each picture, and ``answers.csv``.

    Raises
    ------
    ValueRangeError
        If there is no such chapter.

    Examples
    --------
    >>> import roofslate as rs
    >>> page = rs.lecture("build/lecture")  # doctest: +SKIP
    """
    told = _told(chapter)
    folder = Path(out)
    (folder / "charts").mkdir(parents=True, exist_ok=True)
    total = 2 + sum(_steps(content) for content in told)
    with Progress(progress, "block") as bar:
        done = 0

        def advance() -> None:
            nonlocal done
            done += 1
            if bar.callback is not None:
                bar.callback(done, total)

        album = Album(folder / "charts")
        tellers = [Teller(content, album, advance) for content in told]
        chapters = [_chapter(content, teller) for content, teller in zip(told, tellers, strict=True)]
        registers = _Registers.of(chapter)
        advance()
        symbols = sorted({name for teller in tellers for name in teller.symbols}, key=str.casefold)
        presets = dict.fromkeys(preset for teller in tellers for preset in teller.presets)
        page = _rendered(
            chapters=chapters,
            registers=registers,
            alone=chapter is not None,
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
    # a chapter alone names entries of others, which are not on its page
    ids = set(re.findall(r'\bid="([^"]+)"', page))
    return re.sub(r'<a href="#([\w-]+)">(.*?)</a>', lambda link: link[0 if link[1] in ids else 2], page)


@functools.cache
def _chapter_files() -> dict[int, dict[str, Any]]:
    found = {}
    for path in sorted((Path(__file__).with_name("data") / "report").glob("chapter_*.toml")):
        content = tomllib.loads(path.read_text(encoding="utf-8"))
        found[content["chapter"]] = content
    return found


def _told(chapter: int | None) -> list[dict[str, Any]]:
    """What the chapters say, all or one."""
    known = _chapter_files()
    if chapter is None:
        return list(known.values())
    if chapter not in known:
        raise ValueRangeError(f"chapter must be one of {', '.join(map(str, known))}, got {chapter!r}")
    return [known[chapter]]


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


def _chapter(content: Mapping[str, Any], teller: Teller) -> _Chapter:
    lead = teller.prose(content["lead"], content.get("numbers", {}))
    parts = ([teller.section(section) for section in content.get(part, [])] for part in ("section", "left_out"))
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
    """Presets, what a reader should know of them, and which of their numbers come from where."""
    catalogs = PRESETS | HANDED
    order = list(catalogs)
    used = {(order.index(keyword), catalogs[keyword][name].name) for keyword, name in presets}  # aliases are one
    found = []
    for kind, name in sorted(used):
        preset = catalogs[order[kind]][name]
        sources: dict[str, list[str]] = {}
        for quantity, fact in preset.facts.items():
            source = f"{fact.source}, {fact.date}{'' if fact.read else ' (recalled)'}"
            sources.setdefault(source, []).append(f"`{quantity}` {fact}")
        about = {"prices": ", rent", "api_prices": ", list prices"}.get(order[kind], "")
        rows = [(source, ", ".join(told)) for source, told in sources.items()]
        found.append((preset.name + about, preset.note, rows))
    return found


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
        """Most that a number of ours is off the lecture's."""
        off = (self.table["ours"] / self.table["lecture"] - 1).abs().max()
        return plain_number(100 * off, 2) + "\N{NO-BREAK SPACE}%"

    def rows(self) -> list[dict[str, str]]:
        return [
            {
                **{name: str(row[name]) for name in ("system", "question", "verdict", "quantity")},
                **{name: plain_number(row[name]) for name in ("lecture", "ours")},
                "unit": "" if row["unit"] == "1" else row["unit"],
                "tolerance": plain_number(100 * row["tolerance"]) + "\N{NO-BREAK SPACE}%",
            }
            for row in self.table.to_dict("records")
        ]


@dataclass(frozen=True)
class _Registers:
    """What the lecture comes to, beside its chapters."""

    answers: list[_Answers]
    differences: list[dict[Hashable, Any]]
    cards: list[dict[Hashable, Any]]
    claims: dict[str, list[dict[Hashable, Any]]]

    @classmethod
    def of(cls, chapter: int | None) -> _Registers:
        """Compute the registers: of one chapter its answers and differences alone."""
        known = dict.fromkeys(entry["chapter"] for entry in entries_of("answers", chapter))
        answers = [_Answers(number, checklist.answers(number)) for number in known]
        differences = register.inconsistencies(chapter).reset_index(names="id").to_dict("records")
        differences.sort(key=lambda row: int(row["id"][1:]))
        if chapter is not None:
            return cls(answers, differences, [], {})
        claims: dict[str, list[dict[Hashable, Any]]] = {}
        for row in register.claims().to_dict("records"):
            claims.setdefault(row["kind"], []).append(row)
        return cls(answers, differences, cards.flashcards().reset_index().to_dict("records"), claims)

    @property
    def numbers(self) -> int:
        return sum(len(made.table) for made in self.answers)

    @property
    def held(self) -> int:
        return sum(made.held for made in self.answers)

    @property
    def systems(self) -> int:
        return len({system for made in self.answers for system in made.table["system"]})

    @property
    def quoted(self) -> list[str]:
        """Differences of which nothing is computed."""
        return [str(row["id"]) for row in self.differences if not row["computed"]]

    def of_chapter(self, number: int) -> tuple[_Answers | None, list[dict[Hashable, Any]]]:
        answers = next((made for made in self.answers if made.chapter == number), None)
        return answers, [row for row in self.differences if row["chapter"] == number]


def _sentence(words: str) -> str:
    """Words as the beginning of a sentence, with a full stop at its end."""
    return words[:1].upper() + words[1:] + ("" if words.endswith(("?", ".")) else ".")


def _day(date: str) -> str:
    """Date as people write it: ``29 April 2026``, ``May 2026``."""
    year, month, *day = date.split("-")
    return " ".join([*(str(int(number)) for number in day), calendar.month_name[int(month)], year])


def _csv(answers: Sequence[_Answers]) -> bytes:
    import pandas as pd

    table = pd.concat([made.table for made in answers], ignore_index=True)
    table["inputs"] = table["inputs"].map(json.dumps)
    return table.to_csv(index=False).encode()
