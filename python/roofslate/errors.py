"""Errors of the package: one class per kind of mistake, each also a builtin exception."""

from __future__ import annotations

import difflib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

__all__ = [
    "AxisError",
    "ConditionError",
    "DefinitionError",
    "IneffectiveInput",
    "InputTypeError",
    "MissingInput",
    "NoDerivative",
    "OutOfMemory",
    "PresetError",
    "RoofslateError",
    "RoofslateWarning",
    "UnitError",
    "UnknownName",
    "ValueRangeError",
    "did_you_mean",
    "shown",
    "unknown",
]


class RoofslateError(Exception):
    """Base of every error that the package raises on purpose."""


class UnknownName(RoofslateError, KeyError):  # noqa: N818
    """A quantity, preset, choice or chart that does not exist."""

    def __str__(self) -> str:
        # KeyError prints the repr of its argument, which would quote the sentence.
        return str(self.args[0]) if self.args else ""


class MissingInput(RoofslateError, ValueError):  # noqa: N818
    """A quantity needs an input that was neither given nor has a default."""


class UnitError(RoofslateError, ValueError):
    """A text that cannot be read as a number with a unit, or a unit that does not fit."""


class ValueRangeError(RoofslateError, ValueError):
    """A number outside the range of its quantity: negative, NaN, infinite, too large."""


class AxisError(RoofslateError, ValueError):
    """Axes that are empty, duplicated, of unlike lengths or too many."""


class InputTypeError(RoofslateError, TypeError):
    """A value of a type that the input does not take."""


class IneffectiveInput(RoofslateError, ValueError):  # noqa: N818
    """An input that changes nothing, because something given downstream of it has the say."""


class NoDerivative(RoofslateError, ValueError):  # noqa: N818
    """A derivative by an input that a function has no exact derivative by."""


class OutOfMemory(MemoryError, RoofslateError):  # noqa: N818
    """A result that would not fit into the memory of this machine."""

    # MemoryError comes first: it makes its instances in its own way, which must be that of the class.


class PresetError(RoofslateError, ValueError):
    """A preset file or definition that is not as it should be."""


class ConditionError(RoofslateError, ValueError):
    """A condition or a formula that cannot be read."""


class DefinitionError(RoofslateError, ValueError):
    """A quantity that cannot be defined so: a name that is taken, a formula that cannot be recorded."""


class RoofslateWarning(UserWarning):
    """A result that is usable, with something its reader should know."""


_LONGEST = 100  # characters of what was given that a message repeats


def _nearest(given: str, known: Iterable[str]) -> list[str]:
    names: dict[str, str] = {}
    for name in known:
        names.setdefault(name.casefold(), name)
    wanted = given.casefold()
    scored = [(difflib.SequenceMatcher(None, wanted, name).ratio(), name) for name in names]
    best = max((score for score, _ in scored), default=0.0)
    near = sorted(((s, n) for s, n in scored if s >= 0.6 and s >= best - 0.08), key=lambda pair: (-pair[0], pair[1]))
    found = [name for _, name in near[:3]]
    if len(wanted) >= 2 and best < 0.85:
        found += [name for name in names if wanted in name and name not in found]
    return [names[name] for name in found[:5]]


def shown(given: object) -> str:
    """What was given, short enough for a sentence."""
    cut = isinstance(given, (str, bytes, bytearray)) and len(given) > _LONGEST  # a text may fill the memory
    try:
        text = repr(given[:_LONGEST] if cut else given)  # type: ignore[index]
    except ValueError:  # Python does not write integers of thousands of digits
        text = f"an integer of {int(given).bit_length()} bits" if isinstance(given, int) else object.__repr__(given)
    except RecursionError:  # nor lists in lists in lists
        text = object.__repr__(given)
    length = len(given) + 2 if cut else len(text)  # type: ignore[arg-type]
    return text if length <= _LONGEST else f"{text[: _LONGEST - 20]}... ({length} characters)"


def did_you_mean(given: str, known: Iterable[str]) -> str:
    """End of a message that names what was probably meant; empty where nothing is near."""
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
        What the name should be, such as ``"quantity"`` or ``"hardware preset"``.
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
