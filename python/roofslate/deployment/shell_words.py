"""Words of a shell script: commands apart, quotes resolved, nothing carried out."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError, ValueRangeError

__all__ = ["Script", "read_script"]

_LONGEST = 100_000  # characters of a script
_MOST_WORDS = 5_000
_HERE = re.compile(r"[ \t]*cat[ \t]*>[ \t]*(?P<file>\S+)[ \t]*<<-?[ \t]*(?P<quote>['\"]?)(?P<end>\w+)(?P=quote)[ \t]*")
_SEPARATORS = ";&|\n"
_BRACKETS = "()<>"


@dataclass
class Script:
    """Commands of a script, each as its words, and the files that it writes.

    Attributes
    ----------
    commands : list of list of str
    files : dict of str to str
        By name, the text of each here-document.
    """

    commands: list[list[str]] = field(default_factory=list)
    files: dict[str, str] = field(default_factory=dict)


def read_script(text: str) -> Script:
    """Split a script into commands and words, and carry nothing out.

    Variables stay as they are written, and redirections are left out.

    Parameters
    ----------
    text : str
        Commands with quotes, comments, line continuations and here-documents.

    Returns
    -------
    Script

    Raises
    ------
    InputTypeError
        For anything but a text.
    ValueRangeError
        For a text that is too long or empty, an open quote, or a substitution.
    """
    if not isinstance(text, str):
        raise InputTypeError(f"command: expected a text such as 'vllm serve ...', got {shown(text)}")
    if len(text) > _LONGEST:
        raise ValueRangeError(f"command: at most {_LONGEST:,} characters, got {len(text):,}")
    script = Script()

    script.commands = [command for command in _split(_without_files(text, script.files)) if command]
    if not script.commands:
        raise ValueRangeError("command: no command in the text")
    return script


def _without_files(text: str, files: dict[str, str]) -> str:
    """Move here-documents from a script to the files that they make."""
    kept_lines: list[str] = []
    lines = iter(text.replace("\r\n", "\n").split("\n"))
    for line in lines:
        match = _HERE.fullmatch(line) if "<<" in line else None
        if match is None:
            kept_lines.append(line)
            continue
        content: list[str] = []
        for part in lines:
            if part.strip(" \t") == match["end"]:
                break
            content.append(part)
        else:
            raise ValueRangeError(f"command: the text of {shown(match['file'])} has no end {shown(match['end'])}")
        files[match["file"].strip("'\"")] = "\n".join(content)
    return "\n".join(kept_lines)


def _split(text: str) -> list[list[str]]:
    """Words of each command."""
    commands: list[list[str]] = [[]]
    word: str | None = None  # None between words: a quoted text may be empty
    is_file = False  # whether the word is where output goes
    count = k = 0
    while k < len(text):
        c = text[k]
        if c in "'\"":
            part, k = _quoted(text, k)
            word = (word or "") + part
            continue
        if c == "\\" and k + 1 < len(text):
            word = word if text[k + 1] == "\n" else (word or "") + text[k + 1]
            k += 2
            continue
        if c in " \t" or c in _SEPARATORS or (c == "#" and word is None):
            if word is not None:
                commands[-1] += [] if is_file else [word]
                word, is_file, count = None, False, count + 1
            if c in _SEPARATORS:
                commands.append([])
            k = text.find("\n", k) if c == "#" else k + 1
            if k < 0:
                break
        elif c in "<>" and text[k : k + 2] != "<<":
            if word is not None and not word.isdigit():
                commands[-1].append(word)
            word, is_file = None, True
            k += len(text[k:]) - len(text[k:].lstrip("<>& \t"))
        elif c in _BRACKETS or c == "`":
            raise ValueRangeError(f"command: {c!r} is not carried out; give the commands with their values")
        else:
            word, k = (word or "") + c, k + 1
        if count > _MOST_WORDS:
            raise ValueRangeError(f"command: at most {_MOST_WORDS:,} words")
    if word is not None and not is_file:
        commands[-1].append(word)
    return commands


def _quoted(text: str, start: int) -> tuple[str, int]:
    """Read a text in quotes, and return the position behind it."""
    quote, k = text[start], start + 1
    part: list[str] = []  # a backslash escapes four characters in double quotes
    while k < len(text):
        c = text[k]
        if c == quote:
            return "".join(part), k + 1
        if c == "\\" and quote == '"' and k + 1 < len(text) and text[k + 1] in '"\\$`\n':
            part.append("" if text[k + 1] == "\n" else text[k + 1])
            k += 2
        else:
            part.append(c)
            k += 1
    raise ValueRangeError(f"command: a quote is open: {shown(text[start : start + 40])}")
