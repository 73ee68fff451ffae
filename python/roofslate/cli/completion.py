"""Completion in a shell and in IPython: quantities, inputs, and values after ``=``."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Any

from roofslate._base.ipython import add_matcher
from roofslate.cli.keywords import KEYWORDS
from roofslate.presets.lookup import PRESETS
from roofslate.registry.aliases import begun_aliases
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    from collections.abc import Mapping

    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

__all__ = [
    "begun_words",
    "calibrations",
    "hardware",
    "ipython_matches",
    "load_ipython_extension",
    "models",
    "names",
    "presets",
    "words",
]


def words(begun: str, command: str = "") -> list[str]:
    """Complete a word: quantities, keywords, inputs and the values after ``=``."""
    name, given, value = begun.partition("=")
    keywords = KEYWORDS.get(command, {})
    if not given:
        return [*(f"{kind}=" for kind in (*keywords, *PRESETS) if kind.startswith(begun)), *names(begun)]
    if name in keywords:
        before, comma, last = value.rpartition(",")
        offered = [word for word in _CHOICES.get(keywords[name], entries()) if word.startswith(last)]
        return [f"{name}={before}{comma}{word}" for word in offered]
    known = list(PRESETS[name]) if name in PRESETS else entries()[name].choices if name in entries() else ()
    return [f"{name}={x}" for x in known if x.lower().startswith(value.lower())]


def names(begun: str) -> list[str]:
    """Complete the beginning of a name, or of an alias, to names of quantities."""
    beginnings = [name for name in entries() if name.startswith(begun)]
    if len(begun) < _SHORTEST_ALIAS:
        return beginnings
    return list(dict.fromkeys([*beginnings, *(name for name in begun_aliases(begun) if name in entries())]))


def presets(begun: str) -> list[str]:
    """Kinds of presets and their names."""
    known = [*PRESETS, *(name for catalog in PRESETS.values() for name in catalog)]
    return [name for name in known if name.lower().startswith(begun.lower())]


def models(begun: str) -> list[str]:
    """Names of models."""
    return [name for name in PRESETS["model"] if name.lower().startswith(begun.lower())]


def hardware(begun: str) -> list[str]:
    """Names of chips and systems."""
    return [name for name in PRESETS["hardware"] if name.lower().startswith(begun.lower())]


def calibrations(begun: str) -> list[str]:
    """Names of calibrations."""
    return [name for name in PRESETS["calibration"] if name.lower().startswith(begun.lower())]


def load_ipython_extension(shell: InteractiveShell) -> None:
    """Complete names in calls: quantities, inputs, presets and choices.

    `import roofslate` in IPython does the same.
    """
    add_matcher(shell, ipython_matches)


def ipython_matches(context: CompletionContext, shell: InteractiveShell) -> SimpleMatcherResult:
    """Completions at the cursor of IPython."""
    from IPython.core.completer import SimpleCompletion

    lines = context.full_text.split("\n")[: context.cursor_line + 1]
    before = "\n".join([*lines[:-1], lines[-1][: context.cursor_position]])
    candidates, begun = begun_words(before, shell.user_ns)
    typed = begun.removesuffix(context.token)  # complete for IPython, such as "GB200 " of "GB200 NV"
    offered = [SimpleCompletion(word[len(typed) :]) for word in candidates if word.startswith(typed)]
    return {"completions": offered, "suppress": bool(offered) and not candidates[0].endswith("=")}  # no files in a text


def begun_words(before: str, known: Mapping[str, Any]) -> tuple[list[str], str]:
    """Return possible words at the end of some code, and the typed part.

    Parameters
    ----------
    before : str
        Code up to the cursor.
    known : dict
        The variables.

    Returns
    -------
    list of str
        Empty outside of calls of the package and of `dict`.
    str
        The beginning that they share.
    """
    code = _ENDED.sub(_blank, before)
    while (inner := _CLOSED.sub(_blank, code)) != code:
        code = inner
    opened = re.search(r"[\"'].*$", code)
    head, begun = (code[: opened.start()], before[opened.start() + 1 :]) if opened else (code, "")
    call = re.search(r"([\w.]+)\(([^(]*)$", head)
    if call is None or not _takes_inputs(call[1], known):
        return [], ""
    keyword = re.search(r"(\w+)\s*=\s*(?:[\[{][^\[{]*)?$", call[2])
    if not opened:
        word = re.search(r"(?:^|,)\s*(\w+)$", call[2])
        return ([f"{each.rstrip('=')}=" for each in words(word[1])], word[1]) if word else ([], "")
    if keyword and (keyword[1] in PRESETS or keyword[1] in entries()):
        return [each.partition("=")[2] for each in words(f"{keyword[1]}={begun}")], begun
    return names(begun), begun


_SHORTEST_ALIAS = 3  # characters from which terms of the field complete


_CHOICES: dict[str, tuple[str, ...]] = {"flag": ("yes", "no"), "number": (), "word": ("smallest", "largest", "all")}


_ENDED = re.compile(r"#[^\n]*|(\"|')(?:\\.|(?!\1)[^\\\n])*\1")


_CLOSED = re.compile(r"\([^()\[\]{}]*\)|\[[^()\[\]{}]*\]|\{[^()\[\]{}]*\}")


def _blank(match: re.Match[str]) -> str:
    return " " * len(match[0])


def _takes_inputs(callee: str, known: Mapping[str, Any]) -> bool:
    root, *path = callee.split(".")
    called = known.get(root, dict if root == "dict" else None)
    for name in path:
        called = getattr(called, name, None)
    return called is dict or str(getattr(called, "__module__", "")).partition(".")[0] == "roofslate"
