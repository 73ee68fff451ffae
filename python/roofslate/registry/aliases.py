"""Search by terms of the field: aliases of quantities, and how well a text matches one."""

from __future__ import annotations

import functools
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType

from roofslate._base.toml import read_data

__all__ = ["RANKS", "aliases", "begun_aliases", "keyword_aliases", "named_by", "rank"]

RANKS = 7  # of matches


def aliases() -> Mapping[str, tuple[str, ...]]:
    """Terms of the field by quantity."""
    return _terms()["quantities"]


def keyword_aliases() -> Mapping[str, tuple[str, ...]]:
    """Terms of the field by keyword of a preset."""
    return _terms()["keywords"]


@functools.cache
def _terms() -> Mapping[str, Mapping[str, tuple[str, ...]]]:
    sections: dict[str, dict[str, list[str]]] = read_data(Path(__file__).with_name("aliases.toml"))
    return {
        section: MappingProxyType({name: tuple(listed) for name, listed in terms.items()})
        for section, terms in sections.items()
    }


@functools.lru_cache(maxsize=8192)
def _words(text: str) -> tuple[str, ...]:
    """Words of a text, whatever separates them."""
    return tuple(re.split(r"[\s_\-]+", text.casefold().strip(" \t\n_-")))


def _same(text: str, term: str) -> bool:
    """Return True if two texts have the same words, in any order."""
    return sorted(_words(text)) == sorted(_words(term)) or "".join(_words(text)) == "".join(_words(term))


def named_by(text: str, terms_by_name: Mapping[str, Sequence[str]]) -> tuple[str, list[str]]:
    """Return the alias that equals a text, as it is written, and the names that it means."""
    matches = [(term, name) for name, terms in terms_by_name.items() for term in terms if _same(text, term)]
    return (matches[0][0] if matches else "", [name for _, name in matches])


def begun_aliases(text: str) -> list[str]:
    """Quantities of which an alias begins with a text, whatever separates its words."""
    joined = "".join(_words(text))
    return [name for name, terms in aliases().items() if any("".join(_words(t)).startswith(joined) for t in terms)]


@functools.lru_cache(maxsize=8192)
def _whole_words(text: str) -> frozenset[str]:
    return frozenset(re.findall(r"\w+", " ".join(_words(text))))


def rank(text: str, terms: Sequence[str], *more: str) -> int | None:
    """Rank how well a text matches a thing, 0 is best, None for no match.

    Case, word order and the separators ``_``, ``-`` and blank do not matter. Whole words come before parts of words.

    Parameters
    ----------
    text : str
    terms : sequence of str
        Name and aliases of the thing.
    *more : str
        Other texts about it, with a smaller weight.
    """
    if any(_same(text, term) for term in terms):
        return 0
    words, joined = _words(text), "".join(_words(text))
    if any(_whole_words(term).issuperset(words) for term in terms):
        return 1
    if any(joined in "".join(_words(term)) for term in terms):
        return 2
    if any(all(word in " ".join(_words(term)) for word in words) for term in terms):
        return 3
    everything = " ".join((*terms, *more))
    if " ".join(words) in " ".join(_words(everything)) or text.casefold() in everything.casefold():
        return 4
    all_words = _whole_words(everything)
    if all_words.issuperset(words):
        return 5
    return 6 if all(any(part.startswith(word) for part in all_words) for word in words) else None
