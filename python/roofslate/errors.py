"""Errors of the package: one class per kind of mistake, each also a builtin exception."""

from __future__ import annotations

__all__ = [
    "AxisError",
    "ConditionError",
    "DefinitionError",
    "DoesNotFit",
    "IneffectiveInput",
    "InputTypeError",
    "MissingInput",
    "NoDerivative",
    "OutOfMemory",
    "PartlyRead",
    "PresetError",
    "RoofslateError",
    "RoofslateWarning",
    "UnitError",
    "UnknownName",
    "UnusedInput",
    "ValueRangeError",
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


class PresetError(RoofslateError, ValueError):
    """A preset file or definition that is not as it should be."""


class ConditionError(RoofslateError, ValueError):
    """A condition or a formula that cannot be read."""


class DefinitionError(RoofslateError, ValueError):
    """A quantity that cannot be defined: its name is in use or its formula cannot be recorded."""


class RoofslateWarning(UserWarning):
    """A result that is usable, with something its reader should know."""


class UnusedInput(RoofslateWarning):
    """An input that the outputs of a call do not take."""


class DoesNotFit(RoofslateWarning):
    """Points at which weights and KV cache, or the training state, exceed HBM capacity."""


class PartlyRead(RoofslateWarning):
    """A model whose config.json has an architecture or keys that were not understood."""
