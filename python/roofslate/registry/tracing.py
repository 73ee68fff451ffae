"""Formulas from Python functions, run once on values that record operations."""

from __future__ import annotations

import inspect
import math
import numbers
from collections.abc import Callable, Mapping, Sequence
from contextvars import ContextVar
from typing import Any, NoReturn

import numpy as np

from roofslate import _core, units
from roofslate._base.messages import shown, unknown
from roofslate.errors import DefinitionError, RoofslateError, UnitError, UnknownName
from roofslate.registry.formats import same_words
from roofslate.registry.recorder import Formula, Recorder, Term, written_out
from roofslate.registry.registry import entries, unknown_quantity
from roofslate.registry.values import is_bool
from roofslate.registry.words import PRESET_KEYWORDS

__all__ = ["MOST_STEPS", "Traced", "Tracer", "record", "refuse", "tracer_of"]


MOST_STEPS = 1000


_LONGEST_TOLD = 12  # operations of a value that a message writes out


def refuse(name: str, problem: object, error: type[RoofslateError] = DefinitionError) -> NoReturn:
    """Raise an error about the definition of a quantity."""
    raise error(f"definition of {name!r}: {problem}") from None


class Tracer(Recorder):
    """Takes down one formula while its function runs."""

    hint_of_number = "; rs.math.count(x) is the number of tokens, sequences, ... in x"

    def __init__(self, name: str) -> None:
        super().__init__()
        self.name = name

    def fail(self, problem: object, error: type[RoofslateError] = DefinitionError) -> NoReturn:
        refuse(self.name, problem, error)

    def add(self, step: Any) -> int:
        if len(self.positions) >= MOST_STEPS and step not in self.positions:
            self.fail(f"its formula has more than {MOST_STEPS} steps: define parts of it as separate quantities")
        return super().add(step)

    def told(self, term: Term) -> str:
        steps = self.formula(term).steps
        return repr(_core.formula_text(steps)) if written_out(steps) <= _LONGEST_TOLD else "a part of the formula"

    def hint(self, a: Term, b: Term) -> str:
        plain = any(term.unit.written and term.unit == units.NUMBER for term in (a, b))
        return "; a number with a unit is rs.math.constant('50 ms')" if plain else ""

    # ------------------------------------------------------------------------------------------------------- terms

    def term(self, value: Any) -> Term:
        """Return the term of a traced value or of a number."""
        if isinstance(value, Traced):
            if value.tracer is not self:
                self.fail(f"{value!r} belongs to the formula of {value.tracer.name!r}")
            return value.term
        if isinstance(value, np.ndarray) and value.ndim == 0:
            value = value.item()
        if isinstance(value, numbers.Real) and not is_bool(value):
            return self.plain(value)
        if isinstance(value, str):
            self.fail(f"{shown(value)} is a text; a number with a unit is rs.math.constant('50 ms')")
        if isinstance(value, (Sequence, np.ndarray)):
            self.fail(f"{shown(value)} has several values, but a formula is of one point: lists are given as inputs")
        return self.fail(f"{shown(value)} is no number")

    def plain(self, value: Any) -> Term:
        """A number of Python's, as a constant."""
        try:
            x = float(value)
        except OverflowError:
            self.fail(f"{shown(value)} is too large for a number")
        except TypeError:  # a span of time, to NumPy an integer
            self.fail(f"{shown(value)} is no number")
        if math.isnan(x):
            self.fail("a formula accepts no NaN")
        if x == 0 and math.copysign(1, x) < 0:  # equal to 0, but another number
            return self.operation("neg", self.constant(0.0, everywhere=True))
        return self.constant(x, everywhere=x == 0 or math.isinf(x))

    def read(self, text: str) -> Traced:
        """A number with a unit."""
        try:
            value, unit = units.read(text)
        except UnitError as error:
            self.fail(error, UnitError)
        everywhere = unit == "1" and (value == 0 or math.isinf(value))
        return Traced(self, self.constant(value, unit, written=not text.endswith("%"), everywhere=everywhere))

    def measured(self, value: Any) -> Term:
        """A term that is a number with some unit."""
        term = self.term(value)
        if term.holds:
            self.fail(f"{self.told(term)} is a comparison: rs.math.where(c, 1, 0) makes a number of it")
        if term.choices:
            listed = " | ".join(map(repr, term.choices))
            self.fail(f"{self.told(term)} is a choice, one of {listed}: compare it by == or !=, or use rs.math.choose")
        return term

    def decision(self, value: Any) -> Term:
        """A term that holds or does not."""
        term = self.term(value)
        if not term.holds:
            self.fail(f"{self.told(term)} does not hold or fail: a comparison is needed here, such as x > 0")
        return term

    # -------------------------------------------------------------------------------------------------- operations

    def combined(self, operation: str, *terms: Term) -> Traced:
        try:
            return Traced(self, self.operation(operation, *terms))
        except UnitError as error:
            self.fail(error, UnitError)

    def apply(self, operation: str, *values: Any) -> Traced:
        """An operation on numbers."""
        return self.combined(operation, *map(self.measured, values))

    def decide(self, operation: str, *values: Any) -> Traced:
        """Comparisons, joined."""
        return self.combined(operation, *map(self.decision, values))

    def opposite(self, value: Any) -> Traced:
        """Negate a comparison."""
        return self.combined("equal", self.decision(value), self.constant(0.0))

    def equal(self, a: Any, b: Any) -> Traced:
        """Compare two numbers, two choices, or a choice and a word."""
        if _choices(b) and not _choices(a):
            a, b = b, a
        words = _choices(a)
        if not words:
            return self.apply("equal", a, b)
        choice = self.term(a)
        if isinstance(b, str):
            try:
                return self.combined("equal", choice, self.word(_name(a), b, words))
            except UnknownName as error:
                self.fail(error, UnknownName)
        if not _choices(b) or not same_words(_choices(b), words):
            listed = " | ".join(map(repr, words))
            self.fail(f"{self.told(choice)} is one of {listed}: compare it with one of these words, not with {b!r}")
        return self.combined("equal", choice, self.term(b))

    def where(self, condition: Any, a: Any, b: Any) -> Any:
        """Select one value under a condition, another one otherwise."""
        if is_bool(condition):  # known already
            return a if condition else b
        return self.combined("select", self.decision(condition), self.measured(a), self.measured(b))

    def choose(self, choice: Any, alternatives: Mapping[str, Any]) -> Any:
        """Select the alternative for the word of a choice."""
        words = _choices(choice)
        if not words:
            self.fail(f"choose takes a quantity that is a choice, got {shown(choice)}")
        for word in alternatives:
            if word not in words:
                self.fail(unknown(_name(choice), word, words), UnknownName)
        for word in words:
            if word not in alternatives:
                self.fail(f"choose takes an alternative for each word of {choice!r}, but none for {word!r}")
        chosen = alternatives[words[-1]]
        for word in reversed(words[:-1]):
            chosen = self.where(self.equal(choice, word), alternatives[word], chosen)
        return chosen

    def count(self, value: Any) -> Traced:
        """Return the number of tokens, sequences, parameters or chips."""
        try:
            return Traced(self, self.counted(self.measured(value)))
        except UnitError as error:
            self.fail(error, UnitError)

    def routine(self, name: str, *values: Any) -> Traced:
        return self.combined(name, *(self.count(value).term for value in values))


def _applying(operation: str) -> Callable[..., Any]:
    return lambda tracer, *values: tracer.apply(operation, *values)


def _deciding(operation: str) -> Callable[..., Any]:
    return lambda tracer, *values: tracer.decide(operation, *values)


# Operations of NumPy's functions, by their names.
_FUNCTIONS: dict[str, Callable[..., Any]] = {
    **{name: _applying(name) for name in ("add", "exp", "log", "sqrt", "ceil", "floor", "less", "less_equal")},
    "subtract": _applying("sub"),
    "multiply": _applying("mul"),
    "divide": _applying("div"),
    "true_divide": _applying("div"),
    "negative": _applying("neg"),
    "minimum": _applying("min"),
    "maximum": _applying("max"),
    "power": _applying("pow"),
    "float_power": _applying("pow"),
    "square": lambda tracer, x: tracer.apply("mul", x, x),
    "positive": lambda tracer, x: Traced(tracer, tracer.measured(x)),
    "absolute": lambda tracer, x: tracer.apply("max", tracer.apply("neg", x), x),
    "greater": lambda tracer, a, b: tracer.apply("less", b, a),
    "greater_equal": lambda tracer, a, b: tracer.apply("less_equal", b, a),
    "equal": Tracer.equal,
    "not_equal": lambda tracer, a, b: tracer.opposite(tracer.equal(a, b)),
    "logical_and": _deciding("both"),
    "logical_or": _deciding("either"),
    "logical_not": Tracer.opposite,
    "bitwise_and": _deciding("both"),
    "bitwise_or": _deciding("either"),
    "invert": Tracer.opposite,
    "where": Tracer.where,
}


_OTHER_NAMES = ("bitwise_and", "bitwise_or", "float_power", "invert", "positive", "true_divide")


_POWERS: dict[float, Callable[[Any], Any]] = {2: lambda x: x * x, 3: lambda x: x * x * x, 0.5: np.sqrt}


_BRANCH = (
    "is only recorded, so Python cannot decide by it: instead of if and 'a if c else b' write "
    "rs.math.where(c, a, b); of max and min rs.math.maximum and rs.math.minimum; of and, or, not and a < b < c "
    "rs.math.logical_and, rs.math.logical_or and rs.math.logical_not"
)


_NO_NUMBER = (
    "is only recorded and has no number yet: instead of float(), int(), round() and functions of the module "
    "math use rs.math, which has sqrt, exp, log, ceil, floor"
)


_REST = "has no % and //: write rs.math.floor(a / b) for a // b, and a - b * rs.math.floor(a / b) for a % b"


class Traced:
    """A value of a formula under record: a quantity, or a result of operations on quantities."""

    __slots__ = ("term", "tracer")
    __hash__ = None  # type: ignore[assignment]

    def __init__(self, tracer: Tracer, term: Term) -> None:
        self.tracer = tracer
        self.term = term

    def __repr__(self) -> str:
        return self.tracer.told(self.term)

    def __array_ufunc__(self, ufunc: Any, method: str, *values: Any, **options: Any) -> Any:
        name = ufunc.__name__
        if method != "__call__" or options or name not in _FUNCTIONS or ufunc is not getattr(np, name, None):
            self._refuse(f"np.{name}{'' if method == '__call__' else '.' + method}")
        return _FUNCTIONS[name](self.tracer, *values)

    def __array_function__(self, function: Any, types: Any, values: Any, options: Any) -> Any:
        if function is not np.where or options or len(values) != 3:
            self._refuse(f"np.{function.__name__}")
        return self.tracer.where(*values)

    def _refuse(self, function: str) -> NoReturn:
        known = ", ".join(f"np.{name}" for name in sorted(_FUNCTIONS) if name not in _OTHER_NAMES)
        self.tracer.fail(f"{function} is not among the functions that a formula may use; these are {known}")

    def __array__(self, *_: Any, **__: Any) -> Any:
        self.tracer.fail(f"{self!r} is one value of a formula, not an array")

    def __pow__(self, exponent: Any) -> Any:
        if isinstance(exponent, (int, float)) and exponent in _POWERS:
            return _POWERS[exponent](self)
        return np.power(self, exponent)

    def __bool__(self) -> bool:
        self.tracer.fail(f"{self!r} {_BRANCH}")

    def _no_number(self, *_: Any) -> Any:
        self.tracer.fail(f"{self!r} {_NO_NUMBER}")

    def _no_rest(self, _: Any) -> Any:
        self.tracer.fail(f"{self!r} {_REST}")

    def _no_sequence(self, *_: Any) -> Any:
        self.tracer.fail(f"{self!r} is one value of a formula, not a sequence of them")

    __float__ = __int__ = __index__ = __complex__ = __round__ = __trunc__ = _no_number
    __mod__ = __rmod__ = __floordiv__ = __rfloordiv__ = __divmod__ = __rdivmod__ = _no_rest
    __iter__ = __len__ = __getitem__ = __contains__ = _no_sequence


def _operator(name: str) -> Callable[..., Any]:
    return lambda self, *operands: _FUNCTIONS[name](self.tracer, self, *operands)


def _turned(name: str) -> Callable[..., Any]:
    return lambda self, other: _FUNCTIONS[name](self.tracer, other, self)


for _python, _numpy in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "and": "logical_and", "or": "logical_or",
    "neg": "negative", "pos": "positive", "abs": "absolute", "invert": "logical_not", "ceil": "ceil", "floor": "floor",
    "lt": "less", "le": "less_equal", "gt": "greater", "ge": "greater_equal", "eq": "equal", "ne": "not_equal",
}.items():  # fmt: skip
    setattr(Traced, f"__{_python}__", _operator(_numpy))


for _python, _numpy in {
    "add": "add", "sub": "subtract", "mul": "multiply", "truediv": "divide", "pow": "power", "and": "logical_and",
    "or": "logical_or",
}.items():  # fmt: skip
    setattr(Traced, f"__r{_python}__", _turned(_numpy))


_running: ContextVar[Tracer | None] = ContextVar("roofslate_tracer", default=None)


def running() -> Tracer | None:
    """Return the tracer of the running formula, None outside of one."""
    return _running.get()


def tracer_of(*values: Any) -> Tracer | None:
    """Return the tracer of the first traced value, None without one."""
    return next((value.tracer for value in values if isinstance(value, Traced)), None)


def record(name: str, unit: str, function: Callable[..., Any]) -> Formula:
    """The formula that a function of quantities computes.

    Parameters
    ----------
    name : str
        Of the quantity that is being defined.
    unit : str
        As `roofslate.units.spell` writes it.
    function : callable
        Its arguments are quantities, by their names.

    Returns
    -------
    Formula

    Raises
    ------
    DefinitionError
        If the function does something that cannot be recorded.
    UnitError
        If units do not fit.
    UnknownName
        If an argument is no quantity.
    """
    tracer = Tracer(name)
    places, keywords = [], {}
    for argument in _arguments(name, function):
        value = Traced(tracer, tracer.quantity(entries()[argument.name]))
        if argument.kind is argument.POSITIONAL_ONLY:
            places.append(value)
        else:
            keywords[argument.name] = value
    token = _running.set(tracer)
    try:
        result = function(*places, **keywords)
    except Exception as error:
        if isinstance(error, RoofslateError) and str(error).startswith(f"definition of {name!r}: "):
            raise
        raise DefinitionError(f"definition of {name!r}: its formula raised {type(error).__name__}: {error}") from error
    finally:
        _running.reset(token)
    if inspect.iscoroutine(result):
        result.close()
    if isinstance(result, Traced):
        term = tracer.measured(result)
        if term.unit.shared(units.dimension_of(unit)) is None:
            tracer.fail(f"it is declared in {unit}, but {tracer.told(term)} is in {term.unit}", UnitError)
    elif isinstance(result, numbers.Real) and not is_bool(result):
        term = tracer.plain(result)
    else:
        tracer.fail(f"its formula gives {shown(result)}, which is no number")
    return tracer.formula(term)


def _arguments(name: str, function: Callable[..., Any]) -> list[inspect.Parameter]:
    """The arguments of a formula, each the name of a quantity."""
    try:
        arguments = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):
        refuse(name, f"the arguments of {shown(function)} cannot be read: give a function of quantities")
    for argument in arguments:
        if argument.kind in (argument.VAR_POSITIONAL, argument.VAR_KEYWORD):
            refuse(name, f"its formula takes {argument}, but each argument is one quantity, by its name")
        if argument.default is not argument.empty:
            refuse(
                name,
                f"the argument {argument.name!r} has a default value, but arguments are quantities; "
                "other values are taken from around the formula",
            )
        if argument.name == name:
            refuse(name, "its formula takes the quantity itself")
        if argument.name in PRESET_KEYWORDS:
            refuse(name, f"{argument.name!r} is an input that names a preset, not a quantity", UnknownName)
        if argument.name not in entries():
            refuse(name, unknown_quantity(argument.name), UnknownName)
    return arguments


def _name(choice: Traced) -> str:
    """The name of a choice, which is always a quantity as it is."""
    (name,) = choice.tracer.formula(choice.term).quantities
    return name


def _choices(value: Any) -> tuple[str, ...]:
    """The words that a value takes which is a choice."""
    return value.term.choices if isinstance(value, Traced) else ()
