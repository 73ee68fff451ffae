"""Reading a config.json that nobody vouches for, within limits."""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, PresetError
from roofslate.presets.configs.keys import ConfigError

__all__ = ["Config", "read"]


_LARGEST_FILE = 4 * 2**20  # bytes; the longest published files have 14 kB


_DEEPEST = 40


_LONGEST_INTEGER = 40  # digits; Python's own conversion takes quadratic time


_TOKEN = re.compile(r'"(?:[^"\\]|\\.)*"|[\[{]|[\]}]', re.DOTALL)


_COLON = re.compile(r"\s*:")


@dataclass(frozen=True)
class Config:
    """What a config.json holds.

    Attributes
    ----------
    content : dict
    name : str
        Name of the file or of its folder; empty for a mapping.
    path : str
    text : str
        What the file says; empty for a mapping.
    """

    content: dict[str, Any]
    name: str = ""
    path: str = ""
    text: str = ""

    def located(self, error: PresetError) -> PresetError:
        """An error with the file, and the line of its key."""
        if not self.path:
            return error
        wanted = error.key.partition("[")[0] if isinstance(error, ConfigError) else None
        line = next((f", line {line}" for key, line, _ in _lines(self.text) if key == wanted), "")
        return PresetError(f"{self.path}{line}: {error}")


def _lines(text: str) -> Iterator[tuple[str, int, bool]]:
    """The keys of a text that is JSON, by their path, each with its line and whether its object has it already."""
    path: list[str] = []
    inside: list[set[str]] = []  # the keys of each object, or list, that is open
    key, line, at = "", 1, 0
    for token in _TOKEN.finditer(text):
        if token[0] in "[{":
            path.append(key)
            inside.append(set())
        elif token[0] in "]}":
            path.pop()
            inside.pop()
        elif _COLON.match(text, token.end()):
            key = json.loads(token[0])
            line, at = line + text.count("\n", at, token.start()), token.start()
            yield ".".join([*filter(None, path), key]), line, key in inside[-1]
            inside[-1].add(key)
            continue
        key = ""


def read(source: Any) -> Config:
    """Read a config.json within limits.

    Parameters
    ----------
    source : path-like or Mapping
        A file, a folder that has a config.json, or what such a file holds.

    Returns
    -------
    Config

    Raises
    ------
    InputTypeError
        Where `source` is neither.
    PresetError
        Where a file cannot be read, is too large, too deep or no JSON, or has a key twice.
    """
    if isinstance(source, Mapping):
        content = dict(source)
        _check_depth(content)
        return Config(content)
    if not isinstance(source, (str, os.PathLike)):
        raise InputTypeError(f"from_config takes the path of a config.json or a dict, got {shown(source)}")
    path = Path(source)
    try:
        if path.is_dir():
            path /= "config.json"
        with path.open("rb") as file:
            data = file.read(_LARGEST_FILE + 1)
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError, ValueError) as error:
        raise PresetError(f"cannot read {shown(str(path))}: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > _LARGEST_FILE:
        raise PresetError(f"{path}: larger than {_LARGEST_FILE >> 20} MiB; this is no config.json")
    content = _parse(text, str(path))
    _check_depth(content)
    return Config(content, path.parent.name if path.stem == "config" else path.stem, str(path), text)


def _parse(text: str, path: str) -> dict[str, Any]:
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > _DEEPEST:
            line = text.count("\n", 0, token.start()) + 1
            raise PresetError(f"{path}, line {line}: nested deeper than {_DEEPEST} levels")
    try:
        content = json.loads(text, parse_int=_integer)
    except json.JSONDecodeError as error:
        raise PresetError(f"{path}, line {error.lineno}: {error.msg}") from None
    for key, line, again in _lines(text):
        if again:
            raise PresetError(f"{path}, line {line}: the key {shown(key)} stands twice in one object")
    if not isinstance(content, dict):
        raise PresetError(f"{path}: expected an object of keys, got {shown(content)}")
    return content


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else math.inf


def _check_depth(content: Any) -> None:
    """Refuse what is too deep or holds itself, without recursion."""
    level = [content]
    for _ in range(_DEEPEST + 1):
        level = [
            item
            for held in level
            if isinstance(held, (Mapping, list, tuple))
            for item in (held.values() if isinstance(held, Mapping) else held)
            if isinstance(item, (Mapping, list, tuple))
        ]
        if not level:
            return
        if len(level) > 10**6:
            break
    raise PresetError(f"the config is nested deeper than {_DEEPEST} levels, or holds itself")
