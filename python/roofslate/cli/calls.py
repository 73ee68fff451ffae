"""The words of a command as the arguments of its call in Python."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import click

from roofslate._base.locks import cached_property
from roofslate._base.messages import shown
from roofslate.cli.formats import format_of
from roofslate.cli.keywords import KEYWORDS, POSITIONAL
from roofslate.cli.words import read_inputs, texts_of, units_of

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

__all__ = ["Question", "read_call", "split_outside", "with_calibration"]


_FLAGS = {"yes": True, "true": True, "no": False, "false": False}
_PREFILL = "prefill"


@dataclass(frozen=True)
class Question:
    """Words and options of a command that computes, see `roofslate.cli.program.question`."""

    words: Sequence[str]
    scenario: Path | None
    calibration: str | None
    units: Sequence[str]
    form: str | None
    output: Path | None
    threads: int | None

    def read(self, command: str) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
        """Read the words as arguments of a call, see `read_call`."""
        return read_call(command, self.words, self.scenario, self.calibration)

    @cached_property
    def in_units(self) -> dict[str, str]:
        """Units of outputs, each given as NAME=UNIT."""
        return units_of(self.units)

    @property
    def written_as(self) -> str:
        """The format of the result: the option, or the end of the file's name."""
        return self.form or format_of(self.output)


def read_call(
    command: str, words: Sequence[str], scenario: Path | None, calibration: str | None
) -> tuple[list[str], dict[str, Any], dict[str, Any]]:
    """Read the words of a command as the arguments of its call.

    Parameters
    ----------
    command : str
        Name of the call.
    words : sequence of str
        Words of the command line.
    scenario : Path or None
        File of inputs.
    calibration : str or None
        Argument of ``--calibration``.

    Returns
    -------
    list of str
        Words that are neither inputs nor keywords.
    dict
        Keywords that are no inputs, such as ``where``.
    dict
        Inputs.
    """
    known = KEYWORDS.get(command, {})
    repeated = {name for name, kind in known.items() if kind == "conditions"}
    conditions = [word for word in words if _name(word) in repeated]
    stray, texts = texts_of(word for word in words if _name(word) not in repeated)
    keywords: dict[str, Any] = {}
    for word in conditions:
        keywords.setdefault(_name(word), []).extend(_items(_name(word), word.partition("=")[2]))
    if _PREFILL in known:
        keywords |= _prefill_of(texts)
    for name in [name for name in texts if name in known]:
        keywords[name] = _keyword(name, known[name], texts.pop(name))
    for name in POSITIONAL.get(command, ()):
        if stray and name not in keywords:
            keywords[name] = stray.pop(0)
    return stray, keywords, read_inputs(with_calibration(texts, calibration), scenario)


def with_calibration(texts: dict[str, str], calibration: str | None) -> dict[str, str]:
    """Add the calibration of ``--calibration`` to the inputs of a command."""
    if calibration is None:
        return texts
    if "calibration" in texts:
        raise click.UsageError("calibration is given twice: as an input, and as --calibration")
    return {**texts, "calibration": calibration}


def split_outside(text: str) -> list[str]:
    """Split a text at its commas outside of brackets: ``max(a, b) <= 1 s, c < 2``.

    Parameters
    ----------
    text : str

    Returns
    -------
    list of str
    """
    items, depth = [""], 0
    for sign in text:
        depth += (sign == "(") - (sign == ")")
        if sign == "," and depth <= 0:
            items.append("")
        else:
            items[-1] += sign
    return [item.strip() for item in items]


def _name(word: str) -> str:
    """Give the name of an input or keyword, empty for other words."""
    name, _, value = word.partition("=")
    return name.strip() if value and name.strip().isidentifier() else ""


def _items(name: str, text: str) -> list[str]:
    items = split_outside(text)
    if not all(items):
        raise click.UsageError(f"{name}: the list {shown(text)} has an empty place")
    return items


def _keyword(name: str, kind: str, text: str) -> Any:
    """The value of a keyword, of the type that the call in Python takes."""
    if kind in ("quantities", "axes"):
        return _items(name, text)
    if kind == "flag":
        if text.lower() not in _FLAGS:
            raise click.UsageError(f"{name}: expected yes or no, got {shown(text)}")
        return _FLAGS[text.lower()]
    if kind == "number":
        try:
            return float(text)
        except ValueError:
            raise click.UsageError(f"{name}: expected a number, got {shown(text)}") from None
    if kind == "inputs":
        raise click.UsageError(f"{name}: write {name}.NAME=VALUE for each input that differs, or {name}={{}}")
    return text


def _prefill_of(texts: dict[str, str]) -> dict[str, Any]:
    """Inputs of a prefill pool, ``prefill.NAME=VALUE``, taken out of the texts."""
    begun = f"{_PREFILL}."
    members = {name.removeprefix(begun): texts.pop(name) for name in list(texts) if name.startswith(begun)}
    if texts.get(_PREFILL, "").replace(" ", "") == "{}":
        del texts[_PREFILL]
        return {_PREFILL: read_inputs(members, None)}
    return {_PREFILL: read_inputs(members, None)} if members else {}
