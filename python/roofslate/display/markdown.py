"""Words and formulas in Markdown: what came from elsewhere is text, no tag, link or formula."""

from __future__ import annotations

import re

__all__ = ["escaped", "untagged"]

_SIGNS = re.compile(r"[\\`*|$]|\](?=[(\[:])|[<>]|&(?=#?\w+;)")
_ENTITIES = {"<": "&lt;", ">": "&gt;", "&": "&amp;"}
_TAG = re.compile(r"<(?=[A-Za-z/!?])")


def escaped(text: str) -> str:
    """Text that a renderer shows as it stands, also in a table.

    Parameters
    ----------
    text : str
        A line.

    Returns
    -------
    str
    """
    return _SIGNS.sub(lambda sign: _ENTITIES.get(sign[0], f"\\{sign[0]}"), " ".join(text.split()))


def untagged(latex: str) -> str:
    """Formula without what begins a tag: a space changes no formula.

    Parameters
    ----------
    latex : str

    Returns
    -------
    str
    """
    return _TAG.sub("< ", latex)
