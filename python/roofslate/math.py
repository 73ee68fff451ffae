"""Functions for formulas of `roofslate.define`. On plain numbers they compute with NumPy.

So you can try a formula before you define it. NumPy's functions of the same names work in formulas too.
"""

from __future__ import annotations

import functools
from typing import Any

import numpy as np

from roofslate import _core, units
from roofslate._base.messages import shown, unknown
from roofslate.errors import InputTypeError
from roofslate.registry.tracing import running, tracer_of

__all__ = [
    "acceptance_curve",
    "ceil",
    "choose",
    "constant",
    "count",
    "erlang_c",
    "exp",
    "floor",
    "largest_normal",
    "log",
    "logical_and",
    "logical_not",
    "logical_or",
    "maximum",
    "minimum",
    "overtraining_optimum",
    "power",
    "sqrt",
    "where",
]


def constant(text: str, /) -> Any:
    """Read a number with a unit, such as ``"50 ms"``.

    Parameters
    ----------
    text : str
        As for inputs. Tokens, sequences, parameters and chips may be left out.

    Returns
    -------
    float
        In base units. In a formula being defined, a value with a unit.

    Raises
    ------
    UnitError
        If the text cannot be read.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.math.constant("50 ms")
    0.05
    """
    if not isinstance(text, str):
        raise InputTypeError(f"constant() expects a text such as '50 ms', got {shown(text)}")
    tracer = running()
    return units.read(text)[0] if tracer is None else tracer.read(text)


def minimum(a: Any, b: Any, *more: Any) -> Any:
    """Return the minimum of two or more values, in their unit. NaN if one of them is NaN."""
    return functools.reduce(np.minimum, (a, b, *more))


def maximum(a: Any, b: Any, *more: Any) -> Any:
    """Return the maximum of two or more values, in their unit. NaN if one of them is NaN."""
    return functools.reduce(np.maximum, (a, b, *more))


def where(condition: Any, a: Any, b: Any) -> Any:
    """Select `a` if a condition is true, otherwise `b`, in their unit.

    Parameters
    ----------
    condition
        A comparison such as ``x > 0``. Combine several by `logical_and`, `logical_or`, `logical_not`.
    a, b
        Values in one unit.

    Examples
    --------
    >>> import roofslate as rs
    >>> float(rs.math.where(3 > 2, 10, 20))
    10.0
    """
    chosen = np.where(condition, a, b)
    return chosen[()] if isinstance(chosen, np.ndarray) else chosen


def choose(choice: Any, /, **alternatives: Any) -> Any:
    """Select the alternative of the current choice, in the alternatives' unit.

    Parameters
    ----------
    choice
        A quantity with named choices. Outside a formula: one of them, or an array.
    **alternatives
        A value per choice.

    Raises
    ------
    UnknownName
        For an unknown choice.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.math.choose("none", board=1, serial_kv=2, none=3)
    3
    """
    tracer = tracer_of(choice, *alternatives.values())
    if tracer is not None:
        return tracer.choose(choice, alternatives)
    words = np.asarray(choice)
    for word in words.reshape(-1).tolist():
        if word not in alternatives:
            raise unknown("alternative", word, alternatives)
    if not words.ndim:
        return alternatives[words.item()]
    chosen: Any = np.nan
    for word, alternative in alternatives.items():
        chosen = np.where(words == word, alternative, chosen)
    return chosen


def count(x: Any, /) -> Any:
    """Convert a number of tokens, sequences, parameters or chips to a plain number.

    Exponents, `exp` and `log` accept only plain numbers.
    """
    tracer = tracer_of(x)
    return x if tracer is None else tracer.count(x)


def sqrt(x: Any, /) -> Any:
    """Compute the square root, in the square root of the unit."""
    return np.sqrt(x)


def exp(x: Any, /) -> Any:
    """Compute the exponential of a plain number."""
    return np.exp(x)


def log(x: Any, /) -> Any:
    """Compute the natural logarithm of a plain number."""
    return np.log(x)


def power(base: Any, exponent: Any, /) -> Any:
    """Raise a plain number to a power. Negative bases allow only the exponent 0."""
    return np.float_power(base, exponent)


def ceil(x: Any, /) -> Any:
    """Round up to a whole number, in the unit of x."""
    return np.ceil(x)


def floor(x: Any, /) -> Any:
    """Round down to a whole number, in the unit of x."""
    return np.floor(x)


def logical_and(a: Any, b: Any, *more: Any) -> Any:
    """Return True if all of two or more comparisons are true."""
    return functools.reduce(np.logical_and, (a, b, *more))


def logical_or(a: Any, b: Any, *more: Any) -> Any:
    """Return True if at least one of two or more comparisons is true."""
    return functools.reduce(np.logical_or, (a, b, *more))


def logical_not(a: Any, /) -> Any:
    """Negate a comparison."""
    return np.logical_not(a)


def acceptance_curve(rate: Any, decay: Any, drafts: Any, /) -> Any:
    """Compute the tokens emitted per pass, if acceptance falls by `decay` per draft.

    The first draft token is accepted at `rate`, each next one `decay` times as often.
    """
    return _routine("acceptance_curve", rate, decay, drafts)


def erlang_c(batch_slots: Any, load: Any, /) -> Any:
    """Compute the probability of waiting for a slot (Erlang C), at utilization `load`."""
    return _routine("erlang_c", batch_slots, load)


def largest_normal(draws: Any, /) -> Any:
    """Compute the typical maximum of `draws` standard normal numbers.

    Each draw exceeds it with probability e^-0.5772/draws.
    """
    return _routine("largest_normal", draws)


def overtraining_optimum(exponent: Any, ratio: Any, /) -> Any:
    """Solve ``x ** exponent == 1 + ratio / x`` for the overtraining ratio x."""
    return _routine("overtraining_optimum", exponent, ratio)


def _routine(name: str, *values: Any) -> Any:
    tracer = tracer_of(*values)
    if tracer is not None:
        return tracer.routine(name, *values)
    results = np.vectorize(lambda *one: _core.call_routine(name, list(one)), otypes=[float])(*values)
    return results[()]
