"""Measurements as text, Markdown and JSON."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from benchmarks.timing import Contender

__all__ = ["DISTURBED", "Line", "Report", "Section", "gigabytes", "limit_of", "line_of", "rate_text", "time_text"]

DISTURBED = "disturbed"


@dataclass(frozen=True)
class Line:
    """One measurement.

    Attributes
    ----------
    what : str
        The measured call or tool.
    time, rate : str
        Formatted values.
    figure : float or None
        The judged value: a ratio to a contender measured in turns, a time, a number of bytes.
    figure_text : str
        The formatted figure.
    target : str
        Target of the figure, empty if there is none.
    verdict : str
        "holds", "falls short" or, with other processes busy, "disturbed". Empty without a target, and in a trial run.
    memory : str
        Peak memory of a separate process, without imports.
    """

    what: str
    time: str = ""
    rate: str = ""
    figure: float | None = None
    figure_text: str = ""
    target: str = ""
    verdict: str = ""
    memory: str = ""


@dataclass
class Section:
    """Related measurements, with notes.

    Attributes
    ----------
    title : str
    lines : list of Line
    notes : list of str
    growth : dict
        Seconds by number of points, for each method.
    """

    title: str
    lines: list[Line] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    growth: dict[str, dict[int, float]] = field(default_factory=dict)

    @property
    def growth_rows(self) -> list[list[str]]:
        """Tabulate times, with a row per number of points."""
        if not self.growth:
            return []
        counts = sorted({points for seconds in self.growth.values() for points in seconds})
        rows = [
            [
                f"{points:,}",
                *(time_text(seconds[points]) if points in seconds else "" for seconds in self.growth.values()),
            ]
            for points in counts
        ]
        return [["points", *self.growth], *rows]


@dataclass
class Report:
    """A finished benchmark.

    `str()` returns the tables as text. `markdown` and `json` are texts too.

    Attributes
    ----------
    machine : dict of str
    sections : list of Section
    """

    machine: dict[str, str]
    sections: list[Section]

    def _tables(self) -> Iterable[tuple[Section, list[list[str]]]]:
        for section in self.sections:
            rows = [
                [line.what, line.time, line.rate, line.memory, line.figure_text, line.target, line.verdict]
                for line in section.lines
            ]
            head = ["what", "time", "rate", "peak memory", "figure", "target", "verdict"]
            table = [head, *rows] if rows else []
            if not any(line.memory for line in section.lines):
                table = [row[:3] + row[4:] for row in table]
            yield section, table

    @property
    def short(self) -> list[Line]:
        """The lines that miss their targets."""
        return [line for section in self.sections for line in section.lines if line.verdict == "falls short"]

    @property
    def _summary(self) -> str:
        verdicts = [line.verdict for section in self.sections for line in section.lines if line.verdict]
        disturbed = verdicts.count(DISTURBED)
        judged = len(verdicts) - disturbed
        text = f"{judged - len(self.short)} of {judged} targets met." if judged else "No target was judged."
        return text + (f" {disturbed} were not judged, as other processes were busy." if disturbed else "")

    def __str__(self) -> str:
        text = [f"{key}: {value}" for key, value in self.machine.items()]
        for section, rows in self._tables():
            text += ["", section.title]
            for table in filter(None, (rows, section.growth_rows)):
                widths = [max(map(len, column)) for column in zip(*table, strict=True)]
                text += ["  " + "  ".join(map(str.ljust, row, widths)).rstrip() for row in table]
            text += [f"  {note}" for note in section.notes]
        return "\n".join([*text, "", self._summary])

    @property
    def markdown(self) -> str:
        """Format the tables as Markdown."""
        text = [f"- {key}: {value}" for key, value in self.machine.items()]
        for section, rows in self._tables():
            text += ["", f"## {section.title}"]
            for table in filter(None, (rows, section.growth_rows)):
                marks = [table[0], ["---"] * len(table[0]), *table[1:]]
                text += ["", *(f"| {' | '.join(row)} |" for row in marks)]
            text += [part for note in section.notes for part in ("", note)]
        return "\n".join([*text, "", self._summary])

    @property
    def json(self) -> str:
        """Format everything as JSON."""
        return json.dumps({"machine": self.machine, "sections": [asdict(s) for s in self.sections]}, indent=2)


def time_text(seconds: float) -> str:
    for factor, unit in ((1.0, "s"), (1e-3, "ms"), (1e-6, "µs")):
        if seconds >= factor:
            return f"{seconds / factor:.3g} {unit}"
    return f"{seconds * 1e9:.3g} ns"


def gigabytes(bytes_: float, contender: Contender) -> str:
    return f"{bytes_ / contender.median / 1e9:.1f} GB/s"


def rate_text(points: float, seconds: float) -> str:
    return f"{points / seconds / 1e9:.3g} Gpoint/s"


def line_of(
    contender: Contender, rate: str, figure: float | None = None, meaning: str = "", least: float | None = None
) -> Line:
    """Make a line with a figure to maximize."""
    figure_text = "" if figure is None else meaning.format(figure)
    if figure is None or least is None:
        return Line(contender.name, time_text(contender.median), rate, figure, figure_text)
    verdict = "holds" if figure >= least else "falls short"
    return Line(contender.name, time_text(contender.median), rate, figure, figure_text, f">= {least:g}", verdict)


def limit_of(what: str, figure: float, text: str, most: float, target: str) -> Line:
    """Make a line with a figure to minimize."""
    return Line(
        what, figure=figure, figure_text=text, target=target, verdict="holds" if figure <= most else "falls short"
    )
