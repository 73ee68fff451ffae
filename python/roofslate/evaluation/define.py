"""`rs.define`: quantities of the user, next to the built-in ones."""

from __future__ import annotations

import keyword
import re
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate._base.messages import shown
from roofslate.errors import DefinitionError, InputTypeError, UnitError
from roofslate.presets.lookup import PRESETS
from roofslate.registry.conditions import WORDS, parse_formula
from roofslate.registry.registry import BUILT_IN, Definition, Quantity, current
from roofslate.registry.reserved import RESERVED_WORDS
from roofslate.registry.scopes import add_definition
from roofslate.registry.tracing import record, refuse

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["define"]

_NAME = re.compile(r"[A-Za-z][A-Za-z0-9_]*")

_LONGEST = 100  # characters of a name; of other texts ten times as many

# Words of results and pictures: names of their axes, columns and arguments.
_RESULT_WORDS = frozenset(
    ["above", "ax", "below", "bin", "count", "index", "input", "lower", "point", "quantile", "row", "sample", "upper"]
)

_TAKEN = RESERVED_WORDS | _RESULT_WORDS | WORDS | units.UNIT_NAMES | units.PREFIXES_OF_COUNTS


def define(
    name: str,
    unit: str,
    formula: Callable[..., Any] | str,
    *,
    brief: str,
    symbol: str | None = None,
    source: str | None = None,
    replace: bool = False,
) -> Quantity:
    """Define a quantity by a formula, to be computed and shown like a built-in one.

    The formula is run once, at once, on values that record its operations. Later the engine computes it at its usual
    speed. Inside of ``with rs.definitions():`` it is known there, elsewhere in the whole process.

    Parameters
    ----------
    name : str
        An unused name of letters, digits and underscores.
    unit : str
        Made of base units: ``"USD/token"``, ``"s"``; ``"1"`` for a number. The formula must be in it.
    formula : callable or str
        A function whose arguments are quantities, by their names: ``lambda cost_per_token, output_tokens: ...``. It
        may use operators, functions of `roofslate.math`, and NumPy's functions of the same names. Numbers are plain
        numbers, zero and infinity fit every unit, `roofslate.math.constant` gives numbers with a unit. Or a text, as
        conditions are written: ``"cost_per_token * output_tokens"``.
    brief : str
        Its meaning, in a line.
    symbol : str, optional
        LaTeX; by default the name.
    source : str, optional
        Origin of the formula.
    replace : bool
        Whether it may replace a definition of this name, for all its dependents. The same definition once
        more is never an error.

    Returns
    -------
    Quantity

    Raises
    ------
    DefinitionError
        If the name is in use or invalid, or the formula does something that cannot be recorded: ``if``, ``max`` of
        Python, a default value, itself.
    UnitError
        If units do not fit, with both of them.
    UnknownName
        If an argument is no quantity, with the nearest names.
    InputTypeError
        If a text is expected.

    Examples
    --------
    >>> import roofslate as rs
    >>> with rs.definitions():
    ...     q = rs.define(
    ...         "answer_cost", "USD/sequence", lambda cost_per_token, output_tokens: cost_per_token * output_tokens,
    ...         brief="price of an answer",
    ...     )
    ...     rs.value("answer_cost", cost_per_token="2 USD/Mtoken", output_tokens=500)
    0.001
    """
    _check_name(name)
    texts = {"unit": unit, "brief": brief, "symbol": symbol, "source": source}
    _check_texts(name, texts)
    spelled = _spelled(name, unit)
    if isinstance(formula, str):
        recorded = parse_formula(formula, spelled)
    elif callable(formula):
        recorded = record(name, spelled, formula)
    else:
        raise InputTypeError(
            f"definition of {name!r}: expected a function of quantities or a text, got {shown(formula)}"
        )
    escaped = name.replace("_", r"\_")
    definition = Definition(
        name, symbol or rf"\mathrm{{{escaped}}}", spelled, brief, source or "defined in this session", recorded.steps
    )
    add_definition(definition, replace=bool(replace))
    return current().entries[name]


def _check_name(name: Any) -> None:
    if not isinstance(name, str):
        raise InputTypeError(f"define: expected the name of a quantity, got {shown(name)}")
    if not _NAME.fullmatch(name) or len(name) > _LONGEST:
        raise DefinitionError(
            f"define: {shown(name)} is no name for a quantity: letters, digits and underscores of ASCII, "
            f"{_LONGEST} at most, a letter first"
        )
    if name in BUILT_IN.entries:
        refuse(name, "a built-in quantity has this name")
    if keyword.iskeyword(name):
        refuse(name, "this is a word of Python's")
    if name in _TAKEN:
        is_unit = name in units.UNIT_NAMES or name in units.PREFIXES_OF_COUNTS
        refuse(name, "this is a unit" if is_unit else "this is a word that calls, results or conditions use")
    for keyword_of_preset, catalog in PRESETS.items():
        named = getattr(catalog, "named", catalog.__contains__)  # whole names: "up" is part of many
        if named(name):
            refuse(name, f"this is a preset for {keyword_of_preset}=")


def _check_texts(name: str, texts: Mapping[str, Any]) -> None:
    for what, text in texts.items():
        if text is None and what in ("symbol", "source"):
            continue
        if not isinstance(text, str):
            raise InputTypeError(f"definition of {name!r}: {what} is a text, got {shown(text)}")
        if not text.strip() or not text.isprintable() or len(text) > 10 * _LONGEST:
            refuse(name, f"{what} must be one line of text, got {shown(text)}")
    symbol = texts["symbol"]
    if symbol is not None and ("$" in symbol or not _balanced(symbol)):
        refuse(name, f"symbol is LaTeX without dollar signs and with all brackets closed, got {shown(symbol)}")


def _balanced(latex: str) -> bool:
    """Return True if braces are balanced, and nothing ends in a backslash."""
    level = 0
    for brace in re.findall(r"\\.|[{}]|\\$", latex):
        level += {"{": 1, "}": -1}.get(brace, 0)
        if level < 0 or brace == "\\":
            return False
    return level == 0


def _spelled(name: str, unit: str) -> str:
    try:
        return units.spell(units.spell(unit))  # the result can be read, too
    except UnitError as error:
        refuse(name, error, UnitError)
