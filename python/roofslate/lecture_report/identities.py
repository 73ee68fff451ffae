r"""Formulas that repeat their symbol: ``G_u h = G_u \, h``, ``X/G = \dfrac{X}{G}``."""

from __future__ import annotations

import re
from collections import Counter

__all__ = ["repeats_symbol"]

_FRACTION = re.compile(r"\\[dt]?frac")
_INDEX = r"(?:[_^](?:\{[^{}]*\}|\\?\w+|\*)|')*"
_ATOM = re.compile(rf"(?:\\(?:bar|hat|tilde)\s*)?(?:\{{[^{{}}]*\}}|\\[A-Za-z]+|\d+(?:\.\d+)?|[A-Za-z]){_INDEX}")


def repeats_symbol(symbol: str, formula: str) -> bool:
    """Return True if a formula says nothing beyond its symbol.

    Parameters
    ----------
    symbol, formula : str
        The two sides of an equation in LaTeX.

    Returns
    -------
    bool
        True for equal texts, and for products and ratios of the same factors.
    """
    sides = [_plain(side) for side in (symbol, formula)]
    if sides[0] == sides[1]:
        return True
    factors = [_factors(side) for side in sides]
    return factors[0] is not None and factors[0] == factors[1]


def _plain(text: str) -> str:
    r"""Write a formula without spaces of LaTeX, and ``\dfrac{a}{b}`` as ``(a)/(b)``."""
    text = re.sub(r"\\left|\\right|\\,|\\;", " ", text)
    while (match := _FRACTION.search(text)) is not None:
        above, remainder = _group(text[match.end() :])
        below, remainder = _group(remainder)
        text = f"{text[: match.start()]}({above})/({below}){remainder}"
    text = re.sub(r"\s+", " ", text).strip()
    return re.sub(r"\s*([()/+-])\s*", r"\1", text)


def _group(text: str) -> tuple[str, str]:
    """Return the content of the first group in braces, and the text after it."""
    start = text.index("{")
    depth = 0
    for end in range(start, len(text)):
        depth += {"{": 1, "}": -1}.get(text[end], 0)
        if depth == 0:
            break
    return text[start + 1 : end], text[end + 1 :]


def _closing(text: str, start: int) -> int:
    """Find the parenthesis that closes the one at `start`, or the end of the text."""
    depth = 0
    for end in range(start, len(text)):
        depth += {"(": 1, ")": -1}.get(text[end], 0)
        if depth == 0:
            return end
    return len(text)


def _factors(text: str) -> Counter[str] | None:
    """Count the factors of a product or ratio, or return None for other formulas."""
    counts: Counter[str] = Counter()
    at, sign = 0, 1
    while at < len(text):
        if text[at] == " ":
            at += 1
            continue
        if text[at] == "/":
            at, sign = at + 1, -1
            continue
        if text[at] == "(":
            end = _closing(text, at)
            inner = _factors(text[at + 1 : end])
            if inner is None:
                return None
            parts, at = inner, end + 1
        elif (match := _ATOM.match(text, at)) is not None:
            parts, at = Counter({match[0].replace(" ", ""): 1}), match.end()
        else:
            return None
        for name, count in parts.items():
            counts[name] += sign * count
        sign = 1
    return Counter({name: count for name, count in counts.items() if count})
