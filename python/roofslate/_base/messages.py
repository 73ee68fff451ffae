"""Messages: a value as text, and the nearest known names."""

from __future__ import annotations

import difflib
import sys
import warnings
from pathlib import Path
from typing import TYPE_CHECKING

from roofslate.errors import UnknownName

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = ["did_you_mean", "is_text", "pip_install", "shown", "unknown", "warn"]


_LONGEST = 100  # characters of a given value that a message repeats
_PACKAGE = str(Path(__file__).parents[1])


def pip_install(extra: str, package: str = _PACKAGE) -> str:
    """Command that installs an extra of the package, in a clone from its folder.

    Parameters
    ----------
    extra : str
        Such as ``"jupyter"``.
    package : str
        Folder of the package.

    Returns
    -------
    str
        Such as ``pip install 'roofslate[jupyter]'``.
    """
    is_cloned = (Path(package).parents[1] / "pyproject.toml").is_file()
    return f"pip install '{'.' if is_cloned else 'roofslate'}[{extra}]'"


def warn(message: str, category: type[Warning]) -> None:
    """Warn at the line outside of the package that made the call."""
    level = 2
    frame = sys._getframe(1)
    while frame.f_back is not None and frame.f_code.co_filename.startswith(_PACKAGE):
        frame = frame.f_back
        level += 1
    warnings.warn(message, category, stacklevel=level)


def _nearest(given: str, known: Iterable[str]) -> list[str]:
    names: dict[str, str] = {}
    for name in known:
        names.setdefault(name.casefold(), name)
    folded = given.casefold()
    scored = [(difflib.SequenceMatcher(None, folded, name).ratio(), name) for name in names]
    best = max((score for score, _ in scored), default=0.0)
    near = sorted(((s, n) for s, n in scored if s >= 0.6 and s >= best - 0.08), key=lambda pair: (-pair[0], pair[1]))
    nearest = [name for _, name in near[:3]]
    if len(folded) >= 2 and best < 0.85:
        parts = [name for name in names if folded in name and name not in nearest]
        nearest += sorted(parts, key=lambda name: not name.startswith(folded))
    return [names[name] for name in nearest[:5]]


def shown(given: object) -> str:
    """Represent a given value, short enough for a sentence."""
    cut = isinstance(given, (str, bytes, bytearray)) and len(given) > _LONGEST  # a text may fill the memory
    try:
        text = repr(given[:_LONGEST] if cut else given)  # type: ignore[index]
    except ValueError:  # Python does not write integers of thousands of digits
        text = f"an integer of {int(given).bit_length()} bits" if isinstance(given, int) else object.__repr__(given)
    except RecursionError:  # nor lists in lists in lists
        text = object.__repr__(given)
    length = len(given) + 2 if cut else len(text)  # type: ignore[arg-type]
    return text if length <= _LONGEST else f"{text[: _LONGEST - 20]}... ({length} characters)"


def is_text(word: str) -> bool:
    """Return True if a text can be encoded, i.e. has no halves of surrogate pairs."""
    if word.isascii():
        return True
    try:
        word.encode()
    except UnicodeEncodeError:
        return False
    return True


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """Return the end of a message that suggests the nearest names, or an empty text."""
    near = [repr(name) for name in _nearest(given, known)]
    if not near:
        return ""
    listed = near[0] if len(near) == 1 else f"{', '.join(near[:-1])} or {near[-1]}"
    return f"; did you mean {listed}?"


def unknown(kind: str, given: object, known: Iterable[str]) -> UnknownName:
    """Error for a name that does not exist, with the nearest names that do.

    Parameters
    ----------
    kind : str
        Expected kind of the name, such as ``"quantity"`` or ``"hardware preset"``.
    given : object
        The name as it was given.
    known : iterable of str
        The names that exist.

    Returns
    -------
    UnknownName
        To be raised by the caller.
    """
    names = list(known)
    hint = did_you_mean(given[:_LONGEST] if isinstance(given, str) else shown(given), names)
    if not hint and 0 < len(names) <= 12:
        hint = f"; known are {', '.join(repr(name) for name in names)}"
    return UnknownName(f"unknown {kind} {shown(given)}{hint}")
