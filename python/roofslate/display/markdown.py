"""Text, tables and formulas in Markdown, escaped."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

__all__ = ["escaped", "markdown_table", "untagged"]

_SIGNS = re.compile(r"[\\`*|$]|\](?=[(\[:])|[<>]|&(?=#?\w+;)")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def escaped(text: str) -> str:
    """Escape a line so that a renderer shows it unchanged, also in a table.

    Parameters
    ----------
    text : str
        A line.

    Returns
    -------
    str
    """
    return _SIGNS.sub(lambda sign: _ENTITIES.get(sign[0], f"\\{sign[0]}"), " ".join(text.split()))


def markdown_table(head: Sequence[str], rows: Iterable[Sequence[str]], right: Sequence[bool] = ()) -> str:
    """Make a table of texts, escaped.

    Parameters
    ----------
    head : sequence of str
    rows : iterable of sequence of str
    right : sequence of bool, optional
        Which columns are aligned to the right.

    Returns
    -------
    str
    """
    ends = ["-:" if k < len(right) and right[k] else "-" for k in range(len(head))]
    lines = [" | ".join(map(escaped, row)) for row in (head, *rows)]
    return "".join(f"{line}\n" for line in [f"| {lines[0]} |", f"|{'|'.join(ends)}|", *(f"| {x} |" for x in lines[1:])])


def untagged(latex: str) -> str:
    """Separate ``<`` from letters, so that a formula contains no tag.

    Parameters
    ----------
    latex : str

    Returns
    -------
    str
    """
    return _TAG.sub("< ", latex)
