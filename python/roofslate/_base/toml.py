"""TOML files that people write: read within limits, with the line of every key."""

from __future__ import annotations

import re
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from roofslate._base.files import read_text
from roofslate.errors import PresetError

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

__all__ = ["TomlFile", "read_data", "toml_value"]

# A parser of TOML takes time that grows with the square of a dotted key, and makes tables for each of its parts.
_LARGEST = 4_000_000  # bytes of a file
_MOST_MARKS = 200_000  # of those that make a key, a table or an element of a list
_MOST_PARTS = 8  # of a dotted key
_DEEPEST = 32  # lists and tables in one another
_LONGEST_WORD = 200  # characters of a number or of a key without quotes

_TEXTS = re.compile(
    r'"""(?:[^\\]|\\.)*?(?:"""|\Z)|' + r"'''.*?(?:'''|\Z)|" + r'"(?:[^"\\\n]|\\.)*"?|' + r"'[^'\n]*'?|#[^\n]*",
    re.DOTALL,
)

_LIMITS = (
    (re.compile(rf"[\w+-]{{{_LONGEST_WORD + 1},}}"), f"a number or key of more than {_LONGEST_WORD} characters"),
    (re.compile(rf"(?:\.[^.,=\[\]{{}}\n]*){{{_MOST_PARTS}}}"), f"a key of more than {_MOST_PARTS} parts"),
)


def read_data(path: Path) -> dict[str, Any]:
    """Read a TOML file of the package.

    Parameters
    ----------
    path : Path

    Returns
    -------
    dict
    """
    return tomllib.loads(path.read_text(encoding="utf-8"))


@dataclass(frozen=True)
class TomlFile:
    """Content of a TOML file, and the text that it was read from.

    Attributes
    ----------
    content : dict
    text : str
    """

    content: dict[str, Any]
    text: str

    @classmethod
    def read(cls, path: Path, kind: str) -> TomlFile:
        """Read a file whose size and depth a parser can take.

        Parameters
        ----------
        path : Path
        kind : str
            Kind of the file, for messages: ``"preset file"``.

        Returns
        -------
        TomlFile

        Raises
        ------
        PresetError
            With the file, and the line where there is one.
        """
        return cls.parse(path, read_text(path, kind, _LARGEST), kind)

    @classmethod
    def parse(cls, path: Path, text: str, kind: str) -> TomlFile:
        """Read a text as `read` reads its file. Errors name the file.

        Parameters
        ----------
        path : Path
        text, kind : str

        Returns
        -------
        TomlFile
        """
        return cls(_content(path, text, kind), text)

    def line(self, keys: Sequence[str]) -> int:
        """Line of a key, or of the nearest table around it.

        Parameters
        ----------
        keys : sequence of str
            The tables that lead to the key, and the key.

        Returns
        -------
        int
            From 1 on.
        """
        return _line_of(self.text, keys)


def toml_value(x: str | float | Sequence[Any]) -> str:
    """Write a text, a number or a list on one line, from which the same value is read.

    Parameters
    ----------
    x : str, float, or sequence of them

    Returns
    -------
    str
    """
    # not tomli-w: it loses comments between tables and gives each element of a list a line
    if isinstance(x, str):
        escaped = re.sub(r'[\x00-\x1f\x7f"\\]', lambda match: f"\\u{ord(match[0]):04x}", x)
        return f'"{escaped}"'
    if isinstance(x, (tuple, list)):
        return f"[{', '.join(map(toml_value, x))}]"
    return repr(float(x))  # type: ignore[arg-type]


def _content(path: Path, text: str, kind: str) -> dict[str, Any]:
    """Parse a text after a check that the parser cannot exhaust memory or the stack."""
    bare = _TEXTS.sub(_newlines, text)
    for limit, what in _LIMITS:
        if match := limit.search(bare):
            raise PresetError(f"{path}, line {bare.count(chr(10), 0, match.start()) + 1}: {what}")
    depth = 0
    for bracket in re.finditer(r"[\[{\]}]", bare):
        depth = depth + 1 if bracket[0] in "[{" else max(depth - 1, 0)
        if depth > _DEEPEST:
            line = bare.count("\n", 0, bracket.start()) + 1
            raise PresetError(f"{path}, line {line}: lists or tables are nested too deeply")
    marks = sum(map(bare.count, "=[{,."))
    if marks > _MOST_MARKS:
        raise PresetError(f"{path}: a {kind} has at most {_MOST_MARKS:,} keys and elements, this one has {marks:,}")
    try:
        return tomllib.loads(text)
    except RecursionError:  # of a caller that is deep itself
        raise PresetError(f"{path}: lists or tables are nested too deeply") from None
    except tomllib.TOMLDecodeError as error:
        located = re.fullmatch(r"(.*) \(at line (\d+), (column \d+)\)", str(error), re.DOTALL)
        line_number, message = (
            (located[2], f"{located[1]:.200} ({located[3]})") if located else (text.count("\n") + 1, str(error))
        )
        raise PresetError(f"{path}, line {line_number}: {message}") from None


def _newlines(match: re.Match[str]) -> str:
    return "\n" * match[0].count("\n")


def _line_of(text: str, keys: Sequence[str]) -> int:
    """Line of a key, or of the nearest table around it."""
    text = _TEXTS.sub(lambda m: _newlines(m) if m[0].startswith(('"""', "'''", "#")) else m[0], text)
    lines: dict[tuple[str, ...], int] = {}
    table: tuple[str, ...] = ()
    for number, line in enumerate(text.split("\n"), start=1):
        header = re.match(r"\s*\[\[?(.+?)\]\]?\s*$", line)
        if header and (path := _key_path(header[1])):
            table = path
            lines.setdefault(table, number)
        elif "=" in line and (path := _key_path(line.split("=", 1)[0])):
            lines.setdefault(table + path, number)
    keys = tuple(keys)
    for depth in range(len(keys), 0, -1):
        matches = [number for path, number in lines.items() if path[:depth] == keys[:depth]]
        if matches:
            return min(matches)
    return 1


def _key_path(text: str) -> tuple[str, ...]:
    try:
        node = tomllib.loads(f"{text} = 0")
    except tomllib.TOMLDecodeError:
        return ()
    path: tuple[str, ...] = ()
    while isinstance(node, dict) and len(node) == 1:
        (key, node) = next(iter(node.items()))
        path += (key,)
    return path
