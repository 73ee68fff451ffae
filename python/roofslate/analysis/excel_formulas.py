"""Formulas of quantities as a spreadsheet writes them, with the value that it finds."""

from __future__ import annotations

import dataclasses
import math
import re
import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["ENDLESS", "Cell", "cell_name", "choice_word", "constant", "frozen", "number_text", "translated"]

# The number of a spreadsheet that has no infinity. It is shown as infinity above `_BEYOND`.
ENDLESS = 1e250
_BEYOND = 1e200
_LONGEST = 3000  # characters of a formula; Excel takes 8,192
_NEAR = 1e-9  # relative difference at which two numbers are the same one

_COMPARISON, _SUM, _PRODUCT, _POWER, _ATOM = range(5)  # how tightly an expression binds


@dataclass(frozen=True)
class Cell:
    """An expression of a spreadsheet.

    Attributes
    ----------
    text : str
    value : float, str, bool or None
        Its value, None for an error.
    level : int
        How tightly it binds.
    words : tuple of str
        Of a choice: its words in their order.
    is_frozen : bool
        Whether it is a value, valid for some arguments: see `frozen`.
    """

    text: str
    value: float | str | bool | None
    level: int = _ATOM
    words: tuple[str, ...] = ()
    is_frozen: bool = False

    @property
    def is_name(self) -> bool:
        """True for a name or a constant, which costs nothing to repeat."""
        return re.fullmatch(r"[\w.]+", self.text) is not None


def cell_name(name: str) -> str:
    """Name for a spreadsheet, which reads ``tp8`` as an address."""
    text = re.sub(r"[^A-Za-z0-9_.]", "_", name)
    like_cell = re.fullmatch(r"[A-Za-z]{1,3}\d+|[RrCc]\d*|[Rr]\d*[Cc]\d*", text)
    return f"{text}_" if like_cell or text.upper() in ("TRUE", "FALSE") else text


def number_text(x: float) -> str:
    """A number as a text of a formula, infinity by `ENDLESS`."""
    x = _stand_in(x)
    if x == int(x) and abs(x) < 1e15:
        return str(int(x))
    return repr(x).upper()


def constant(x: float) -> Cell:
    """A number."""
    if math.isnan(x):
        return Cell("NA()", None)
    return Cell(number_text(x), _stand_in(x), _ATOM if x >= 0 else _SUM)


def choice_word(text: str) -> str:
    """A word as a text of a formula."""
    return '"' + text.replace('"', '""') + '"'


def _stand_in(x: float) -> float:
    return math.copysign(ENDLESS, x) if math.isinf(x) else x


def same(outcome: Any, expected: Any) -> bool:
    """Compare the value of a spreadsheet with the engine's."""
    if expected is None or (isinstance(expected, float) and math.isnan(expected)):
        return outcome is None
    if outcome is None or isinstance(expected, str) or isinstance(outcome, (str, bool)):
        return bool(outcome == expected)
    if abs(expected) >= _BEYOND:
        return bool(abs(outcome) >= _BEYOND and (outcome > 0) == (expected > 0))
    return math.isclose(outcome, expected, rel_tol=_NEAR, abs_tol=0.0)


def frozen(value: float | str, arguments: Sequence[Cell]) -> Cell:
    """A value without a formula: #N/A as soon as its arguments change."""
    if isinstance(value, float) and math.isnan(value):
        return Cell("NA()", None, is_frozen=True)
    conditions = [_unchanged(argument) for argument in arguments if argument.value is not None]
    text = choice_word(value) if isinstance(value, str) else number_text(value)
    shown = value if isinstance(value, str) else _stand_in(value)
    if not conditions:
        return Cell(text, shown)
    return Cell(f"IF(AND({','.join(dict.fromkeys(conditions))}),{text},NA())", shown, is_frozen=True)


def _unchanged(argument: Cell) -> str:
    x = argument.value
    if isinstance(x, str):
        return f"{_inside(argument, _SUM)}={choice_word(x)}"
    if isinstance(x, bool) or x is None:
        return argument.text if x else f"NOT({argument.text})"
    if abs(x) >= _BEYOND:
        return f"{_inside(argument, _SUM)}{'>=' if x > 0 else '<='}{number_text(math.copysign(_BEYOND, x))}"
    if x == 0:
        return f"{_inside(argument, _SUM)}=0"
    return f"ABS({_inside(argument, _PRODUCT)}/{_inside(constant(x), _POWER)}-1)<{_NEAR:.0E}"


# ------------------------------------------------------------------------------------------------------- expressions


def _inside(cell: Cell, least: int) -> str:
    """The text of an operand, in brackets where it binds less tightly."""
    return cell.text if cell.level >= least else f"({cell.text})"


def _number(cell: Cell) -> Cell:
    """An expression as a number: of a choice its position, of a condition 0 or 1."""
    if cell.words:
        listed = ",".join(map(choice_word, cell.words))
        code = None if cell.value is None else float(cell.words.index(str(cell.value)))
        return Cell(f"MATCH({cell.text},{{{listed}}},0)-1", code, _SUM)
    if isinstance(cell.value, bool) or cell.level == _COMPARISON:
        return Cell(f"IF({cell.text},1,0)", None if cell.value is None else float(cell.value))
    return cell


def _condition(cell: Cell) -> Cell:
    if isinstance(cell.value, bool) or cell.level == _COMPARISON:
        return cell
    cell = _number(cell)
    return Cell(f"{_inside(cell, _SUM)}<>0", None if cell.value is None else cell.value != 0, _COMPARISON)


def _word(cell: Cell, words: tuple[str, ...]) -> Cell:
    """An expression as one of some words."""
    if cell.words == words:
        return cell
    cell = _number(cell)
    if isinstance(cell.value, float) and cell.text == number_text(cell.value) and 0 <= cell.value < len(words):
        word = words[int(cell.value)]
        return Cell(choice_word(word), word, words=words)
    listed = ",".join(map(choice_word, words))
    value = words[int(cell.value)] if isinstance(cell.value, float) and 0 <= cell.value < len(words) else None
    return Cell(f"CHOOSE({_inside(cell, _SUM)}+1,{listed})", value, words=words)


def _computed(function: Callable[..., float], *operands: Cell) -> float | None:
    """The value of an operation, None where a spreadsheet shows an error."""
    values = [x.value for x in operands]
    if any(x is None for x in values):
        return None
    try:
        outcome = function(*values)
    except (ValueError, ZeroDivisionError, OverflowError):
        return None
    return None if isinstance(outcome, complex) or not math.isfinite(outcome) else float(outcome)


def _infix(a: Cell, sign: str, b: Cell, function: Callable[..., float], levels: tuple[int, int, int]) -> Cell:
    mine, first, right = levels
    a, b = _number(a), _number(b)
    return Cell(f"{_inside(a, first)}{sign}{_inside(b, right)}", _computed(function, a, b), mine)


def _add(a: Cell, b: Cell) -> Cell:
    return _infix(a, "+", b, lambda x, y: x + y, (_SUM, _SUM, _PRODUCT))


def _subtract(a: Cell, b: Cell) -> Cell:
    return _infix(a, "-", b, lambda x, y: x - y, (_SUM, _SUM, _PRODUCT))


def _multiply(a: Cell, b: Cell) -> Cell:
    return _infix(a, "*", b, lambda x, y: x * y, (_PRODUCT, _PRODUCT, _POWER))


def _divide(a: Cell, b: Cell) -> Cell:
    a, b = _number(a), _number(b)
    quotient = f"{_inside(a, _PRODUCT)}/{_inside(b, _POWER)}"
    if b.value == 0 and a.value:  # infinity, which is an error here
        return Cell(
            f"IF({_inside(b, _SUM)}=0,SIGN({a.text})*{number_text(ENDLESS)},{quotient})",
            math.copysign(ENDLESS, float(a.value)),
        )
    return Cell(quotient, _computed(lambda x, y: x / y, a, b), _PRODUCT)


def _power(a: Cell, b: Cell) -> Cell:
    a, b = _number(a), _number(b)
    raised = f"{_inside(a, _ATOM)}^{_inside(b, _ATOM)}"
    if a.value == 0 and b.value == 0:  # 1, which is an error here
        return Cell(f"IF({_inside(b, _SUM)}=0,1,{raised})", 1.0)
    return Cell(raised, _computed(lambda x, y: x**y, a, b), _POWER)


def _negative(a: Cell) -> Cell:
    a = _number(a)
    return Cell(f"-{_inside(a, _ATOM)}", _computed(lambda x: -x, a), _SUM)


def _called(name: str, function: Callable[..., float]) -> Callable[..., Cell]:
    def call(*operands: Cell) -> Cell:
        numbers = [_number(x) for x in operands]
        return Cell(f"{name}({','.join(x.text for x in numbers)})", _computed(function, *numbers))

    return call


def _ceiling(a: Cell) -> Cell:
    a = _number(a)
    return Cell(f"-INT(-{_inside(a, _ATOM)})", _computed(math.ceil, a), _SUM)


def _compared(sign: str, function: Callable[..., bool]) -> Callable[[Cell, Cell], Cell]:
    def compare(a: Cell, b: Cell) -> Cell:
        if a.words and not b.words and sign == "=":
            b = _word(b, a.words)
        elif b.words and not a.words and sign == "=":
            a = _word(a, b.words)
        elif a.words != b.words or sign != "=":
            a, b = _number(a), _number(b)
        known = a.value is not None and b.value is not None
        return Cell(
            f"{_inside(a, _SUM)}{sign}{_inside(b, _SUM)}",
            bool(function(a.value, b.value)) if known else None,
            _COMPARISON,
        )

    return compare


def _joined(name: str, function: Callable[..., bool]) -> Callable[[Cell, Cell], Cell]:
    def join(a: Cell, b: Cell) -> Cell:
        a, b = _condition(a), _condition(b)
        known = a.value is not None and b.value is not None
        value = bool(function(a.value, b.value)) if known else None
        return Cell(f"{name}({a.text},{b.text})", value, _COMPARISON)

    return join


_EULER = 0.5772156649015329
_NORMAL = statistics.NormalDist()
_absolute = _called("ABS", abs)
_exponential = _called("EXP", math.exp)
_logarithm = _called("LN", math.log)
_root = _called("SQRT", math.sqrt)
_sign = _called("SIGN", lambda x: float((x > 0) - (x < 0)))
_larger = _called("MAX", max)
_smaller = _called("MIN", min)
_normal_quantile = _called("NORMSINV", _NORMAL.inv_cdf)
_normal_share = _called("NORMSDIST", lambda x: math.erfc(-x / math.sqrt(2)) / 2)


def _gamma_spread(mean: Cell, variance: Cell) -> Cell:
    """A ninth of the squared coefficient of variation (Wilson and Hilferty)."""
    square = _power(mean, constant(2))
    return _divide(_larger(_divide(variance, square), constant(1e-12)), constant(9))


def _gamma_share(x: Cell, mean: Cell, variance: Cell) -> Cell:
    v = _gamma_spread(mean, variance)
    third = _power(_larger(_divide(x, mean), constant(1e-12)), _divide(constant(1), constant(3)))
    return _normal_share(_divide(_add(_subtract(third, constant(1)), v), _root(v)))


def _gamma_quantile(share: Cell, mean: Cell, variance: Cell) -> Cell:
    v = _gamma_spread(mean, variance)
    third = _add(_subtract(constant(1), v), _multiply(_normal_quantile(share), _root(v)))
    return _multiply(mean, _power(_larger(third, constant(0)), constant(3)))


def _largest_normal(draws: Cell) -> Cell:
    return _normal_quantile(_subtract(constant(1), _divide(constant(math.exp(-_EULER)), draws)))


def _wait_quantile(share: Cell, q: Cell) -> Cell:
    return _logarithm(_larger(_divide(share, _subtract(constant(1), q)), constant(1)))


def _wait_below(share: Cell, q: Cell) -> Cell:
    early = _subtract(constant(1), q)
    late = _subtract(share, _multiply(early, _add(_wait_quantile(share, q), constant(1))))
    return _selected(_OPERATIONS["less"](early, share), late, constant(0), ())


# Routines of the engine by functions of a spreadsheet. A different value is frozen.
_ROUTINES: dict[str, Callable[..., Cell]] = {
    "normal_share": _normal_share,
    "normal_quantile": _normal_quantile,
    "largest_normal": _largest_normal,
    "gamma_share": _gamma_share,
    "gamma_quantile": _gamma_quantile,
    "wait_quantile": _wait_quantile,
    "wait_below": _wait_below,
    "signed_square": lambda x: _multiply(x, _absolute(x)),
    "signed_root": lambda x: _multiply(_sign(x), _root(_absolute(x))),
}


_OPERATIONS: dict[str, Callable[..., Cell]] = {
    "add": _add,
    "sub": _subtract,
    "mul": _multiply,
    "div": _divide,
    "neg": _negative,
    "pow": _power,
    "min": _smaller,
    "max": _larger,
    "exp": _exponential,
    "log": _logarithm,
    "sqrt": _root,
    "floor": _called("INT", math.floor),
    "ceil": _ceiling,
    "less": _compared("<", lambda x, y: x < y),
    "less_equal": _compared("<=", lambda x, y: x <= y),
    "equal": _compared("=", lambda x, y: x == y),
    "both": _joined("AND", lambda x, y: x and y),
    "either": _joined("OR", lambda x, y: x or y),
}


# ---------------------------------------------------------------------------------------------------------- formulas


def _selected(condition: Cell, a: Cell, b: Cell, words: tuple[str, ...]) -> Cell:
    condition = _condition(condition)
    words = words or a.words or b.words
    a, b = (_word(a, words), _word(b, words)) if words else (_number(a), _number(b))
    value = None if condition.value is None else (a if condition.value else b).value
    return Cell(f"IF({condition.text},{a.text},{b.text})", value, words=words)


def translated(
    steps: Sequence[tuple[Any, ...]],
    known: Mapping[str, Cell],
    words: tuple[str, ...],
    routine: Callable[[str, Sequence[float]], float],
    part: Callable[[Cell], Cell],
) -> Cell:
    """A formula as an expression.

    Parameters
    ----------
    steps : sequence of tuple
        Those of `_core.steps`: the name of an operation, and the positions of its operands.
    known : mapping
        The expression of each quantity that it takes.
    words : tuple of str
        Those of the result, if it is a choice.
    routine : callable
        The value of a routine, of its name and its arguments.
    part : callable
        Names a part of the formula, and returns its name.

    Returns
    -------
    Cell
        With `is_frozen` where a part of it is.
    """
    uses = [0] * len(steps)
    chosen: dict[int, tuple[str, ...]] = {len(steps) - 1: words} if words else {}
    for k in reversed(range(len(steps))):
        operation, *operands = steps[k]
        if operation in ("quantity", "constant"):
            continue
        for position in operands:
            uses[position] += 1
        if operation == "select" and k in chosen:
            chosen |= dict.fromkeys(operands[1:], chosen[k])
    outcome: list[Cell] = []
    for k, (operation, *operands) in enumerate(steps):
        if operation == "quantity":
            cell = known[operands[0]]
        elif operation == "constant":
            cell = constant(operands[0])
        else:
            cell = _step(operation, [outcome[position] for position in operands], chosen.get(k, ()), routine)
        is_shared = uses[k] > 1 and len(cell.text) > 24
        if not cell.is_name and cell.value is not None and (is_shared or len(cell.text) > _LONGEST):
            cell = part(_number(cell) if isinstance(cell.value, bool) else cell)  # a condition is 0 or 1
        outcome.append(cell)
    built = _word(outcome[-1], words) if words else _number(outcome[-1])
    return dataclasses.replace(built, is_frozen=any(cell.is_frozen for cell in outcome))


def _step(
    operation: str,
    operands: Sequence[Cell],
    words: tuple[str, ...],
    routine: Callable[[str, Sequence[float]], float],
) -> Cell:
    if operation == "select":
        return _selected(operands[0], operands[1], operands[2], words)
    if operation in _OPERATIONS:
        return _OPERATIONS[operation](*operands)
    numbers = [_number(x) for x in operands]
    if any(x.value is None for x in numbers):
        return Cell("NA()", None)
    arguments = [float(x.value) for x in numbers if x.value is not None]
    value = routine(operation, [math.copysign(math.inf, x) if abs(x) >= _BEYOND else x for x in arguments])
    if operation in _ROUTINES and same((live := _ROUTINES[operation](*numbers)).value, value):
        return live
    return Cell("NA()", None) if math.isnan(value) else frozen(value, numbers)
