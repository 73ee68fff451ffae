"""Number formats: the table of the core by name, and the names that users write."""

from __future__ import annotations

import functools
import re
from dataclasses import dataclass
from types import MappingProxyType
from typing import TYPE_CHECKING

from roofslate import _core
from roofslate._base.messages import unknown
from roofslate.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

__all__ = ["NumberFormat", "formats", "position_of", "same_words", "word_in"]


@dataclass(frozen=True)
class NumberFormat:
    """One number format.

    Attributes
    ----------
    name : str
        Its word in `weight_format` and other choices.
    aliases : tuple of str
        Other names.
    bits : float
        Bits per weight, scales and zero points included.
    element_bits : float
        Bits of an element; of a mixture the mean over a whole model, with scales.
    group_size : float
        Weights that share a scale; 0 if a scale serves a whole tensor or channel, which is not counted.
    scale_bits, zero_point_bits : float
        Bits of a group.
    peak : str
        Format whose peak the chip reaches; bf16 where weights are dequantized first.
    source, date : str
        Where the sizes were published and when.
    read : bool
        Whether they were read there; otherwise they are unverified.
    """

    name: str
    aliases: tuple[str, ...]
    bits: float
    element_bits: float
    group_size: float
    scale_bits: float
    zero_point_bits: float
    peak: str
    source: str
    date: str
    read: bool


@functools.cache
def formats() -> Mapping[str, NumberFormat]:
    """All number formats by name, in the order of their words."""
    table = [NumberFormat(**{**entry, "aliases": tuple(entry["aliases"].split())}) for entry in _core.number_formats()]
    return MappingProxyType({entry.name: entry for entry in table})


def _plain(text: str) -> str:
    return re.sub(r"[\s_.]+", "-", text.strip().casefold())


@functools.cache
def _names() -> Mapping[str, str]:
    """Names and aliases, without regard to case and separators."""
    return {_plain(word): name for name, entry in formats().items() for word in (name, *entry.aliases)}


def word_in(word: str, choices: Sequence[str]) -> str:
    """Read a word of a choice, or another name of a number format."""
    if word in choices or "nvfp4" not in choices:
        return word
    name = _names().get(_plain(word), word)
    return name if name in choices else word


def same_words(one: Sequence[str], other: Sequence[str]) -> bool:
    """Compare the words of two choices, of which one may have more."""
    return all(a == b for a, b in zip(one, other, strict=False))


def position_of(quantity: str, word: str, choices: Sequence[str]) -> int:
    """The position of a word, or of another name of a number format, in a choice.

    Raises
    ------
    UnknownName
        For a word that is none; the message names the nearest.
    """
    name = word_in(word, choices)
    if name in choices:
        return choices.index(name)
    entry = formats().get(_names().get(_plain(word), "")) if "nvfp4" in choices else None
    if entry is None:
        error = unknown(quantity, word, choices)
        raise UnknownName(f"{error}; rs.number_formats() lists them") if "nvfp4" in choices else error
    alike = [other for other in formats().values() if other.name in choices and other.peak == entry.peak]
    nearest = min(alike, key=lambda other: abs(other.bits - entry.bits))
    listed = ", ".join(choices)
    raise UnknownName(f"{quantity}: {word!r} is a format of weights; the nearest is {nearest.name!r} (of {listed})")
