"""Cards of outcomes, as text or as HTML without scripts."""

from __future__ import annotations

import functools
import math
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from roofslate.display.html import LITERAL, breakable, columns

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

__all__ = ["Bar", "Block", "Card", "Entry", "Part", "Row", "page"]

_WIDTH = 28  # characters of a bar
_FILLS = "█▓▒░▚▞▖"  # a sign for each part of a bar
_COLORS = 7  # classes of parts in card.css
_MOST_BESIDE = 2  # scenarios side by side on a narrow screen


@dataclass(frozen=True)
class Entry:
    """Text of a table, with its range below it."""

    text: str = ""
    below: str = ""

    def __str__(self) -> str:
        return f"{self.text} ({self.below})" if self.below else self.text


@dataclass(frozen=True)
class Row:
    """A row of the table: label, name of the quantity, and an entry for each column."""

    section: str
    label: str
    name: str
    entries: tuple[Entry, ...]


@dataclass(frozen=True)
class Part:
    """A part of a bar."""

    label: str
    text: str
    size: float
    is_free: bool = False


@dataclass(frozen=True)
class Bar:
    """Parts of a total. Beyond `limit`, the bar is marked."""

    title: str
    total: str
    parts: tuple[Part, ...]
    limit: float = math.inf

    @property
    def scale(self) -> float:
        """Size of the whole bar."""
        return sum(part.size for part in self.parts)

    def __str__(self) -> str:
        signs, filled, reached = "", 0, 0.0
        for k, part in enumerate(self.parts):
            reached += part.size
            end = round(_WIDTH * reached / self.scale)
            signs += ("·" if part.is_free else _FILLS[k % len(_FILLS)]) * (end - filled)
            filled = end
        if self.limit < self.scale:
            at = round(_WIDTH * self.limit / self.scale)
            signs = f"{signs[:at]}|{signs[at:]}"
        return signs

    @property
    def legend(self) -> list[str]:
        """Label and text of each part, in order."""
        return [f"{part.label} {part.text}" for part in self.parts]


@dataclass(frozen=True)
class Block:
    """Bars and sentences of one scenario, each sentence with its heading."""

    heading: str = ""
    bars: tuple[Bar, ...] = ()
    findings: tuple[tuple[str, str], ...] = ()

    @property
    def lines(self) -> list[str]:
        """The block as lines of text."""
        indent = "  " * bool(self.heading)
        lines = [self.heading] * bool(self.heading)
        width = max((len(bar.title) for bar in self.bars), default=0)
        for bar in self.bars:
            lines.append(f"{indent}{bar.title:<{width}}  {bar}  {bar.total}")
            lines.append(f"{indent}{'':<{width}}  {', '.join(bar.legend)}")
        return [*lines, *(f"{indent}{heading}: {sentence}" for heading, sentence in self.findings)]


@dataclass(frozen=True)
class Card:
    """Outcomes of one scenario, or of several side by side.

    Attributes
    ----------
    title : str
    inputs : tuple of (str, str)
        Names and values, of several scenarios those they share.
    head : tuple of (str, tuple of str)
        Rows of the head of the table: label, and a text for each column. Of several scenarios the inputs that differ.
    verdicts : tuple of (str, str)
        Sentence and tone (``"good"``, ``"bad"``, ``""``), one for each scenario.
    rows : tuple of Row
    blocks : tuple of Block
        One for each scenario.
    warnings, notes : tuple of str
    """

    title: str
    inputs: tuple[tuple[str, str], ...] = ()
    head: tuple[tuple[str, tuple[str, ...]], ...] = ()
    verdicts: tuple[tuple[str, str], ...] = ()
    rows: tuple[Row, ...] = ()
    blocks: tuple[Block, ...] = ()
    warnings: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    @property
    def width(self) -> int:
        """Columns of the table, without label and name."""
        return len(self.head[0][1]) if self.head else 0

    def table(self) -> tuple[list[str], list[list[str]]]:
        """Head and rows as texts, without sections."""
        head = [[label, "" if k else "quantity", *texts] for k, (label, texts) in enumerate(self.head)]
        rows = [[row.label, row.name, *map(str, row.entries)] for row in self.rows]
        return head[0], [*head[1:], *rows]

    @property
    def text(self) -> str:
        """The card as lines of text."""
        lines = [f"{self.title}: {', '.join(f'{name} {x}' for name, x in self.inputs)}" if self.inputs else self.title]
        lines += [sentence for sentence, _ in self.verdicts if sentence]
        lines += [f"warning: {warning}" for warning in self.warnings]
        if self.rows:
            head, rows = self.table()
            lines += columns([head, *rows])
        lines += [line for block in self.blocks for line in block.lines]
        return "\n".join([*lines, *self.notes])

    @property
    def html(self) -> str:
        """The card as HTML, light and dark, readable from 320 pixels of width."""
        from markupsafe import Markup, escape

        stacked = " stacked" if self.width > _MOST_BESIDE else ""
        parts = [
            Markup("<style>{}</style>").format(Markup(_css())),
            Markup('<p class="title" role="heading" aria-level="3">{}</p>').format(self.title),
            _inputs(self.inputs),
            *(Markup('<p class="verdict {}">{}</p>').format(tone, text) for text, tone in self.verdicts if text),
            _items("warnings", self.warnings),
            self._table(),
            *map(_figure, self.blocks),
            _items("notes", self.notes),
        ]
        inside = Markup("").join(parts)
        look = LITERAL.replace('class="', f'class="roofslate-card{stacked} ')
        label = escape(self.title)
        return f'<section {look} aria-label="{label}" style="--columns: {max(1, self.width)}">{inside}</section>'

    def _table(self) -> Markup:
        """Table as HTML, with a row for the title of each section."""
        from markupsafe import Markup

        if not self.rows:
            return Markup("")
        tops = (_cells("th scope=col role=columnheader", label, texts) for label, texts in self.head)
        body = [Markup('<thead role="rowgroup">{}</thead>').format(Markup("").join(tops))]
        title = Markup('<tr role="row" class="section"><th scope="rowgroup" role="rowheader" colspan="{}">{}</th></tr>')
        for section in dict.fromkeys(row.section for row in self.rows):
            lines = [title.format(self.width + 1, section)] if section else []
            lines += [_row(row) for row in self.rows if row.section == section]
            body.append(Markup('<tbody role="rowgroup">{}</tbody>').format(Markup("").join(lines)))
        table = Markup('<table class="outcomes" role="table"><caption>Outcomes</caption>{}</table>')
        return Markup('<div class="scroll">{}</div>').format(table.format(Markup("").join(body)))


def page(title: str, content: str) -> str:
    """Wrap HTML into a page."""
    from markupsafe import Markup

    frame = Markup(
        '<!doctype html>\n<html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1"><title>{}</title></head>'
        '<body class="roofslate-page"><main><h1>Roofslate summary</h1>{}</main></body></html>\n'
    )
    return frame.format(title, Markup(content))


@functools.cache
def _css() -> str:
    """Read the style of cards."""
    return Path(__file__).with_name("card.css").read_text(encoding="utf-8")


def _inputs(inputs: Sequence[tuple[str, str]]) -> Markup:
    from markupsafe import Markup

    if not inputs:
        return Markup("")
    items = (Markup("<li><code>{}</code> {}</li>").format(breakable(name), x) for name, x in inputs)
    return Markup('<ul class="inputs" aria-label="inputs">{}</ul>').format(Markup("").join(items))


def _items(kind: str, lines: Iterable[str]) -> Markup:
    from markupsafe import Markup

    items = Markup("").join(Markup("<li>{}</li>").format(line) for line in lines)
    return Markup('<ul class="{}" aria-label="{}">{}</ul>').format(kind, kind, items) if items else items


def _cells(tag: str, label: str, texts: Iterable[str]) -> Markup:
    """Write a row of the head."""
    from markupsafe import Markup

    cell = Markup(f"<{tag}>{{}}</th>")
    return Markup('<tr role="row">{}</tr>').format(Markup("").join(cell.format(text) for text in (label, *texts)))


def _row(row: Row) -> Markup:
    from markupsafe import Markup

    name = Markup("<code>{}</code>").format(breakable(row.name)) if row.name and row.name != row.label else ""
    label = Markup('<th scope="row" role="rowheader">{}{}</th>').format(row.label, name)
    entries = (
        Markup('<td role="cell">{}{}</td>').format(
            entry.text, Markup("<small>{}</small>").format(entry.below) if entry.below else ""
        )
        for entry in row.entries
    )
    return Markup('<tr role="row">{}{}</tr>').format(label, Markup("").join(entries))


def _figure(block: Block) -> Markup:
    from markupsafe import Markup

    title = Markup('<figcaption class="scenario">{}</figcaption>').format(block.heading) if block.heading else ""
    bars = Markup("").join(map(_bar, block.bars))
    findings = Markup("").join(Markup('<p class="finding"><b>{}</b> {}</p>').format(*pair) for pair in block.findings)
    return Markup('<figure class="bars">{}{}{}</figure>').format(title, bars, findings)


def _bar(bar: Bar) -> Markup:
    """Bar as HTML: a row of colored blocks, and a legend with the same colors."""
    from markupsafe import Markup

    looks = ["free" if part.is_free else f"c{k % _COLORS}" for k, part in enumerate(bar.parts)]
    shares = [100 * part.size / bar.scale for part in bar.parts]
    blocks = Markup("").join(
        Markup('<span class="{}" style="width: {}%"></span>').format(look, f"{share:.3f}")
        for look, share in zip(looks, shares, strict=True)
    )
    if bar.limit < bar.scale:
        blocks += Markup('<b class="limit" style="left: {}%"></b>').format(f"{100 * bar.limit / bar.scale:.3f}")
    legend = Markup("").join(
        Markup('<li><i class="{}"></i>{}</li>').format(look, text) for look, text in zip(looks, bar.legend, strict=True)
    )
    words = f"{bar.title}, {bar.total}: {', '.join(bar.legend)}"
    return Markup(
        '<div class="total"><b>{}</b> {}</div><div class="bar" role="img" aria-label="{}">{}</div>'
        '<ul class="legend">{}</ul>'
    ).format(bar.title, bar.total, words, blocks, legend)
