"""Functions that formulas of `roofslate.define` may use. On plain numbers and arrays they compute, as NumPy does.

So a formula can be tried by hand before it is defined. NumPy's own functions of these names work in formulas too.
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
    """A number with a unit, such as ``"50 ms"``.

    Parameters
    ----------
    text : str
        As inputs are written. Tokens, sequences, parameters and chips may be left out.

    Returns
    -------
    float
        In base units; in a formula that is being defined, a value that knows its unit.

    Raises
    ------
    UnitError
        Where the text cannot be read.

    Examples
    --------
    >>> import roofslate as rs
    >>> rs.math.constant("50 ms")
    0.05
    """
    if not isinstance(text, str):
        raise InputTypeError(f"constant takes a text such as '50 ms', got {shown(text)}")
    tracer = running()
    return units.read(text)[0] if tracer is None else tracer.read(text)


def minimum(a: Any, b: Any, *more: Any) -> Any:
    """The least of two or more values, in their unit; NaN where one is."""
    return functools.reduce(np.minimum, (a, b, *more))


def maximum(a: Any, b: Any, *more: Any) -> Any:
    """The greatest of two or more values, in their unit; NaN where one is."""
    return functools.reduce(np.maximum, (a, b, *more))


def where(condition: Any, a: Any, b: Any) -> Any:
    """`a` where a condition holds and `b` elsewhere, in their unit.

    Parameters
    ----------
    condition
        A comparison such as ``x > 0``; several are joined by `logical_and`, `logical_or`, `logical_not`.
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
    """The alternative of the word that a choice holds, in their unit.

    Parameters
    ----------
    choice
        A quantity that is a choice; by hand its word, or an array of words.
    **alternatives
        A value for each of its words.

    Raises
    ------
    UnknownName
        For a word that the choice does not take.

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
    """How many tokens, sequences, parameters or chips, a number: exponents, `exp` and `log` take nothing else."""
    tracer = tracer_of(x)
    return x if tracer is None else tracer.count(x)


def sqrt(x: Any, /) -> Any:
    """The square root, in the square root of the unit."""
    return np.sqrt(x)


def exp(x: Any, /) -> Any:
    """The exponential of a number."""
    return np.exp(x)


def log(x: Any, /) -> Any:
    """The natural logarithm of a number."""
    return np.log(x)


def power(base: Any, exponent: Any, /) -> Any:
    """The power of a number; not negative, unless the exponent is 0."""
    return np.float_power(base, exponent)


def ceil(x: Any, /) -> Any:
    """The least whole number that is not below x, in its unit."""
    return np.ceil(x)


def floor(x: Any, /) -> Any:
    """The greatest whole number that is not above x, in its unit."""
    return np.floor(x)


def logical_and(a: Any, b: Any, *more: Any) -> Any:
    """Where all of two or more comparisons hold."""
    return functools.reduce(np.logical_and, (a, b, *more))


def logical_or(a: Any, b: Any, *more: Any) -> Any:
    """Where one or more of two or more comparisons hold."""
    return functools.reduce(np.logical_or, (a, b, *more))


def logical_not(a: Any, /) -> Any:
    """Where a comparison does not hold."""
    return np.logical_not(a)


def acceptance_curve(rate: Any, decay: Any, drafts: Any, /) -> Any:
    """The tokens of a pass, a number: the first draft is accepted at `rate`, each next one `decay` times as often."""
    return _routine("acceptance_curve", rate, decay, drafts)


def erlang_c(batch_slots: Any, load: Any, /) -> Any:
    """The probability that an arrival waits where `batch_slots` serve and `load` is their mean use, a number."""
    return _routine("erlang_c", batch_slots, load)


def largest_normal(draws: Any, /) -> Any:
    """The value, a number, that each of `draws` standard normal numbers exceeds with probability e^-0.5772/draws."""
    return _routine("largest_normal", draws)


def overtraining_optimum(exponent: Any, ratio: Any, /) -> Any:
    """The x with ``x ** exponent == 1 + ratio / x``, a number: by how much to train beyond what training alone asks."""
    return _routine("overtraining_optimum", exponent, ratio)


def _routine(name: str, *values: Any) -> Any:
    tracer = tracer_of(*values)
    if tracer is not None:
        return tracer.routine(name, *values)
    found = np.vectorize(lambda *one: _core.call_routine(name, list(one)), otypes=[float])(*values)
    return found[()]
