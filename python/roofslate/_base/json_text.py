"""JSON that nobody vouches for: read within limits of size, depth and number of values."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from typing import Any

from roofslate._base.messages import shown
from roofslate.errors import PresetError

__all__ = ["keys_of", "parsed_json"]


_LONGEST_INTEGER = 40  # digits; Python's own conversion takes quadratic time


_MOST_ESCAPES = 100_000  # each of which keeps a state of the pattern in memory


_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[\[{]|[\]}]', re.DOTALL)


_COLON = re.compile(r"\s*:")


def keys_of(text: str) -> Iterator[tuple[str, int, bool]]:
    """Yield the keys of a JSON text: path, line, and whether they are repeated."""
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


def parsed_json(text: str, path: str, *, deepest: int, most: int) -> dict[str, Any]:
    """Parse an object.

    Parameters
    ----------
    text : str
    path : str
        The file, for messages.
    deepest : int
        Levels of objects and lists.
    most : int
        Keys and items of lists.

    Returns
    -------
    dict

    Raises
    ------
    PresetError
        For a text that is no JSON object, has a key twice in one object, or exceeds a limit, with the line.
    """
    marks = text.count(",") + text.count(":")
    if marks > most:
        raise PresetError(f"{path}: at most {most:,} keys and items are read, this has some {marks:,}")
    if text.count("\\") > _MOST_ESCAPES:
        raise PresetError(f"{path}: its texts have more than {_MOST_ESCAPES:,} escapes")
    depth = 0
    for token in _TOKEN.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(token[0], 0)
        if depth > deepest:
            line = text.count("\n", 0, token.start()) + 1
            raise PresetError(f"{path}, line {line}: nested deeper than {deepest} levels")
    try:
        content = json.loads(text, parse_int=_integer, object_pairs_hook=_distinct)
    except json.JSONDecodeError as error:
        raise PresetError(f"{path}, line {error.lineno}: {error.msg}") from None
    except RecursionError:  # of a caller that is deep itself
        raise PresetError(f"{path}: nested too deeply") from None
    except _TwiceError:
        key, line = next((key, line) for key, line, again in keys_of(text) if again)
        raise PresetError(f"{path}, line {line}: duplicate key {shown(key)} in one object") from None
    if not isinstance(content, dict):
        raise PresetError(f"{path}: expected an object of keys, got {shown(content)}")
    return content


class _TwiceError(Exception):
    """A key that an object has twice."""


def _distinct(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) < len(pairs):
        raise _TwiceError
    return result


def _integer(digits: str) -> int | float:
    return int(digits) if len(digits) <= _LONGEST_INTEGER else math.inf
