"""Words, numbers, formulas and tables as HTML, for the report and for notebooks."""

from __future__ import annotations

import base64
import functools
import html
import io
import math
import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from roofslate import units

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from markupsafe import Markup

__all__ = [
    "LITERAL",
    "Picture",
    "breakable",
    "columns",
    "embedded",
    "formula",
    "html_table",
    "marked",
    "plain_number",
    "scaled",
    "word",
]

LITERAL = 'class="tex2jax_ignore mathjax_ignore"'  # otherwise a notebook renders text between two prices as a formula
_NEVER = "never"
_LARGE = {"M": "million", "G": "billion", "T": "trillion"}  # of parameters


@dataclass(frozen=True)
class Picture:
    """A picture embedded in the page."""

    source: str
    alt: str
    width: float
    height: float
    depth: float = 0.0  # of a formula below its baseline


def scaled(x: float, unit: str, digits: int = 3) -> str:
    """Format a number in base units for a sentence."""
    if math.isinf(x):
        return _NEVER
    text = units.format(x, unit, digits).replace(" / ", "/")
    if unit == "parameter":
        text = re.sub(r"[MGT]$", lambda match: f" {_LARGE[match[0]]}", text)
    return _superscript(text).replace(" ", "\N{NO-BREAK SPACE}")


def plain_number(x: float, digits: int = 4) -> str:
    """Format a number without its unit."""
    if math.isinf(x):
        return _NEVER
    if 1e6 <= abs(x) < 1e9:
        text = f"{float(f'{x:.{digits}g}'):,.0f}"
    else:
        text = _superscript(units.Scale(1.0, "").text(x, digits))
    return re.sub("^-", "\N{MINUS SIGN}", text)


def _superscript(text: str) -> str:
    """Typeset powers of ten."""
    raised = str.maketrans("-0123456789", "⁻⁰¹²³⁴⁵⁶⁷⁸⁹")
    times = "\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10"
    return re.sub(r"(?<=\d)e\+?(-?)0*(\d+)\b", lambda match: times + (match[1] + match[2]).translate(raised), text)


def marked(words: str) -> Markup:
    """Convert text with backticks, stars, links ``[words](#anchor)`` and quotes to HTML."""
    from markupsafe import Markup

    def plain(text: str) -> str:
        text = re.sub(r"(?<=[\w.,])'", "\N{RIGHT SINGLE QUOTATION MARK}", text)
        text = re.sub(r"(\$[\d.,]+\w*) / ", r"\1/", text)
        text = re.sub(r'"([^"]*)"', "\N{LEFT DOUBLE QUOTATION MARK}\\1\N{RIGHT DOUBLE QUOTATION MARK}", text)
        text = html.escape(_superscript(text), quote=False)
        text = re.sub(r"\*([^*]+)\*", r"<em>\1</em>", text)
        return re.sub(r"\[([^\]]+)\]\((#[\w-]+)\)", r'<a href="\2">\1</a>', text)

    parts = words.split("`")
    return Markup(
        "".join(f"<code>{html.escape(part)}</code>" if k % 2 else plain(part) for k, part in enumerate(parts))
    )


def breakable(name: str) -> Markup:
    """Allow line breaks after the underscores of a name."""
    from markupsafe import Markup

    return Markup(html.escape(name).replace("_", "_<wbr>"))


def word(choice: str) -> str:
    return choice.replace("_", " ").replace("kv", "KV")


@functools.lru_cache(maxsize=512)
def formula(latex: str, alt: str) -> Picture:
    """Typeset a formula, with sides in em."""
    from matplotlib import rc_context
    from matplotlib.figure import Figure
    from matplotlib.font_manager import FontProperties
    from matplotlib.mathtext import MathTextParser

    points = 10.0
    # mathtext needs braces around a letter after the name of a font
    text = "$" + re.sub(r"\\math(\w+) (\w)", r"\\math\1{\2}", latex).replace(r"\frac", r"\dfrac") + "$"
    with rc_context({"mathtext.fontset": "stix", "svg.hashsalt": latex, "svg.fonttype": "path"}):
        font = FontProperties(size=points)
        width, height, depth, *_ = MathTextParser("path").parse(text, dpi=72, prop=font)
        width, height, depth = width + 1, height + 2, depth + 1  # for overhanging glyphs
        figure = Figure(figsize=(width / 72, height / 72))
        figure.text(0.5 / width, depth / height, text, fontproperties=font, color="#1a1a1a")
        vector = io.BytesIO()
        figure.savefig(vector, format="svg", transparent=True, metadata={"Date": None})
    em = tuple(round(side / points, 3) for side in (width, height, depth))
    return Picture(embedded(vector.getvalue()), alt, *em)


def embedded(svg: bytes) -> str:
    return "data:image/svg+xml;base64," + base64.b64encode(svg).decode()


def columns(lines: Iterable[Sequence[str]], indent: str = "  ") -> list[str]:
    """Align texts in columns."""
    lines = list(lines)
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return [indent + "  ".join(f"{w:<{k}}" for w, k in zip(line, widths, strict=True)).rstrip() for line in lines]


def html_table(caption: str | Markup, head: Iterable[str], rows: Iterable[Iterable[str | Markup]]) -> str:
    """Make a table whose rows begin with a header, and escape all but Markup."""
    from markupsafe import Markup, escape

    top = Markup("").join(Markup('<th scope="col">{}</th>').format(name) for name in head)
    body = Markup("").join(
        Markup('<tr><th scope="row">{}</th>{}</tr>').format(
            first, Markup("").join(Markup("<td>{}</td>").format(cell) for cell in remaining)
        )
        for first, *remaining in rows
    )
    inside = f"<caption>{escape(caption)}</caption><thead><tr>{top}</tr></thead><tbody>{body}</tbody>"
    return f"<table {LITERAL}>{inside}</table>"
