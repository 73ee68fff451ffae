"""Tools of the server: their arguments, as JSON Schema and as checks of size and type."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from roofslate._base.messages import shown, unknown
from roofslate.errors import InputTypeError, MissingInput, ValueRangeError

__all__ = ["OUTPUT", "TOOLS", "Argument", "Tool", "check_arguments"]


LONGEST_TEXT = 1000  # characters of a name, a condition or a value
LONGEST_CALL = 500_000  # characters of all arguments together
MOST_MEMBERS = 100  # inputs, conditions, outputs
MOST_ITEMS = 100_000  # of a list; the points of the grid have their own limit

_TEXT = {"type": "string", "maxLength": LONGEST_TEXT}
_SCALAR = {"anyOf": [{"type": "number"}, _TEXT]}
_SCHEMAS: dict[str, dict[str, Any]] = {
    "text": _TEXT,
    "texts": {"type": "array", "items": _TEXT, "minItems": 1, "maxItems": MOST_MEMBERS},
    "conditions": {"type": "array", "items": _TEXT, "maxItems": MOST_MEMBERS},
    "inputs": {
        "type": "object",
        "maxProperties": MOST_MEMBERS,
        "additionalProperties": {"anyOf": [*_SCALAR["anyOf"], {"type": "array", "items": _SCALAR}]},
    },
    "units": {"type": "object", "maxProperties": MOST_MEMBERS, "additionalProperties": _TEXT},
    "flag": {"type": "boolean"},
    "number": {"type": "number"},
    "count": {"type": "integer", "minimum": 0},
}
# Kinds in the words of a message.
_EXPECTED = {
    "text": "a text",
    "texts": "a list of texts",
    "conditions": "a list of texts",
    "inputs": "an object of inputs by name",
    "units": "an object of units by output",
    "flag": "true or false",
    "number": "a number",
    "count": "a whole number of at least 0",
}


@dataclass(frozen=True)
class Argument:
    """One argument of a tool: the kind of its value, and its meaning for an assistant."""

    kind: str
    meaning: str
    required: bool = False


@dataclass(frozen=True)
class Tool:
    """A tool: its description and its arguments."""

    title: str
    meaning: str
    arguments: dict[str, Argument]

    @property
    def schema(self) -> dict[str, Any]:
        """Its arguments as JSON Schema."""
        known = {name: {**_SCHEMAS[a.kind], "description": a.meaning} for name, a in self.arguments.items()}
        required = [name for name, a in self.arguments.items() if a.required]
        return {"type": "object", "properties": known, "required": required, "additionalProperties": False}


_INPUTS = (
    "Inputs by name: a number in base units, a text with a unit such as '128k', '3 USD/h' or '20 ms', a name of a "
    "preset for model, hardware, prices, calibration and others. {axes} calibration='serving' gives an estimate "
    "instead of a lower bound."
)
_AXES = "A list makes an axis of the grid, and a text 'start:stop:points' or 'start:stop:points:log' a range."
_WHERE = "Conditions on the result, such as 'time_per_output_token <= 30 ms' or 'ttft <= 2 s'."
_UNITS = "Units of outputs, such as {'cost_per_token': 'USD/Mtoken'}; base units otherwise."

TOOLS = {
    "evaluate": Tool(
        "Evaluate quantities",
        "Compute quantities of LLM training and serving at a point, or at each point of a grid. The column's basis is "
        "'floor' for a lower bound and 'estimate' for a calibrated estimate, with the ends of its 80% band.",
        {
            "outputs": Argument("texts", "Names of quantities; `search` finds them.", required=True),
            "inputs": Argument("inputs", _INPUTS.format(axes=_AXES), required=True),
            "units": Argument("units", _UNITS),
            "bands": Argument("number", "Level of the band of calibrated outputs, 0.8 by default."),
        },
    ),
    "deploy": Tool(
        "Find the best deployment",
        "Search all layouts of a model on chips for the least (or largest) value of a quantity, under conditions. "
        "Rows are layouts, best first; if none meets the conditions, the rejected ones and the condition they miss.",
        {
            "objective": Argument("text", "Quantity to minimize, such as cost_per_output_token.", required=True),
            "inputs": Argument("inputs", _INPUTS.format(axes="Lists of models, chips and formats are compared."), True),
            "where": Argument("conditions", _WHERE),
            "maximize": Argument("flag", "Search for the largest value instead."),
            "also": Argument("conditions", "Further quantities of the table."),
            "prefill": Argument("inputs", "Inputs in which a separate prefill pool differs; {} for none."),
            "units": Argument("units", _UNITS),
            "rows": Argument("count", "Most rows of the answer, 10 by default and 100 at most."),
        },
    ),
    "explain": Tool(
        "Derive a value",
        "Derive one value: formula, numbers put in, result, the bottleneck, and the source of each input.",
        {
            "output": Argument("text", "Name of a quantity.", required=True),
            "inputs": Argument("inputs", _INPUTS.format(axes="No lists or ranges."), required=True),
            "depth": Argument("count", "Levels below the quantity, 2 by default."),
        },
    ),
    "solve": Tool(
        "Solve for an input",
        "Find the value of one input that makes a condition true, for each point of a grid. Without a solution the "
        "column `reason` says why: never, always, undefined or undecided.",
        {
            "unknown": Argument("text", "Name of the input that is sought.", required=True),
            "condition": Argument("text", "One comparison, such as 'pass_time <= 50 ms'.", required=True),
            "inputs": Argument("inputs", _INPUTS.format(axes=_AXES), required=True),
            "at": Argument("text", "The solution, if there are several: smallest (the default), largest or all."),
            "integer": Argument("flag", "Whole numbers only."),
            "units": Argument("text", "Unit of the result."),
        },
    ),
    "search": Tool(
        "Search names",
        "Find quantities by name, meaning or term of the field (TPOT, TTFT, KV cache), and presets by name.",
        {
            "text": Argument("text", "Words to search for.", required=True),
            "kind": Argument("text", "Only these: quantity, model, hardware, prices, calibration or another preset."),
            "limit": Argument("count", "Most rows of the answer, 20 by default and 100 at most."),
        },
    ),
    "summary": Tool(
        "Summarize a deployment",
        "All outcomes of one deployment, training run or chip: memory, latency, throughput, cost and power, each as "
        "lower bound and estimate with its band, the bottleneck, and the changes that help most.",
        {
            "inputs": Argument("inputs", _INPUTS.format(axes="No lists or ranges."), required=True),
            "bands": Argument("number", "Level of the band, 0.8 by default."),
        },
    ),
}

_WORDS = {"type": "object", "additionalProperties": {"type": "string"}}
# Results of all tools.
OUTPUT: dict[str, Any] = {
    "type": "object",
    "properties": {
        "roofslate_version": {"type": "string"},
        "inputs": {**_WORDS, "description": "Everything given, with the names and dates of presets."},
        "axes": {"type": "array", "items": {"type": "string"}},
        "units": {**_WORDS, "description": "Unit of the numbers of a column."},
        "columns": {
            "type": "object",
            "description": "By column: unit, meaning, basis ('floor' is a lower bound), calibration and support.",
            "additionalProperties": _WORDS,
        },
        "notes": {"type": "array", "items": {"type": "string"}, "description": "Assumptions and warnings."},
        "sources": {
            "type": "object",
            "description": "By preset: the sources of its numbers, with dates.",
            "additionalProperties": {"type": "array", "items": {"type": "string"}},
        },
        "derivation": {"type": "string", "description": "Steps of `explain`, in Markdown."},
        "rows": {
            "type": "array",
            "items": {"type": "object"},
            "description": "Values by column; null is undefined, 'inf' is never; X_lower and X_upper: band of X.",
        },
    },
    "required": ["roofslate_version", "inputs", "columns", "notes", "rows"],
}


def check_arguments(name: str, arguments: dict[str, Any], points: int) -> None:
    """Refuse arguments of a tool that are unknown, missing, of another type or too large.

    Parameters
    ----------
    name : str
        Of the tool.
    arguments : dict
    points : int
        Most points of a grid.

    Raises
    ------
    UnknownName, MissingInput, InputTypeError, ValueRangeError
    """
    if name not in TOOLS:
        raise unknown("tool", name, TOOLS)
    known = TOOLS[name].arguments
    for given, value in arguments.items():
        if given not in known:
            raise unknown(f"argument of {name}", given, known)
        _check(given, value, known[given].kind)
    for expected, argument in known.items():
        if argument.required and expected not in arguments:
            raise MissingInput(f"{name} needs the argument {expected!r}: {argument.meaning}")
    if len(json.dumps(arguments)) > LONGEST_CALL:
        raise ValueRangeError(f"the arguments have more than {LONGEST_CALL:,} characters; take fewer points")
    for kind in ("inputs", "prefill"):
        _check_points(arguments.get(kind, {}), points)


def _check(name: str, value: Any, kind: str) -> None:
    """Check the type and the size of one argument."""
    fits = {
        "text": isinstance(value, str),
        "texts": isinstance(value, list) and bool(value) and all(isinstance(x, str) for x in value),
        "conditions": isinstance(value, list) and all(isinstance(x, str) for x in value),
        "inputs": isinstance(value, dict),
        "units": isinstance(value, dict) and all(isinstance(x, str) for x in value.values()),
        "flag": isinstance(value, bool),
        "number": isinstance(value, (int, float)) and not isinstance(value, bool),
        "count": isinstance(value, int) and not isinstance(value, bool) and value >= 0,
    }
    if not fits[kind]:
        raise InputTypeError(f"{name}: expected {_EXPECTED[kind]}, got {shown(value)}")
    if isinstance(value, (list, dict)) and len(value) > MOST_MEMBERS:
        raise ValueRangeError(f"{name}: at most {MOST_MEMBERS} members, got {len(value):,}")
    if kind == "inputs":
        for each, given in value.items():
            _check_input(each, given)
    texts = value if isinstance(value, list) else [value]
    texts = [*value, *value.values()] if isinstance(value, dict) else texts
    for text in texts:
        _check_text(name, text)


def _check_input(name: str, given: Any) -> None:
    items = given if isinstance(given, list) else [given]
    if len(items) > MOST_ITEMS:
        raise ValueRangeError(f"{name}: a list has at most {MOST_ITEMS:,} items, got {len(items):,}")
    for item in items:
        if not isinstance(item, (int, float, str)) or isinstance(item, bool):
            raise InputTypeError(f"{name}: expected a number, a text or a list of them, got {shown(given)}")
        _check_text(name, item)


def _check_text(name: str, text: Any) -> None:
    if isinstance(text, str) and len(text) > LONGEST_TEXT:
        raise ValueRangeError(f"{name}: a text has at most {LONGEST_TEXT:,} characters, got {len(text):,}")


def _check_points(inputs: dict[str, Any], points: int) -> None:
    """Refuse a grid of too many points before anything is read."""
    total = 1
    for given in inputs.values():
        total *= len(given) if isinstance(given, list) else _range_points(given)
    if total > points:
        raise ValueRangeError(f"the grid has {total:,} points, and a call at most {points:,}; take fewer")


def _range_points(given: Any) -> int:
    """Count the points of a text that is a range, 1 for any other value."""
    parts = given.split(":") if isinstance(given, str) else []
    if len(parts) not in (3, 4) or not parts[2].strip().isdecimal():
        return 1
    return int(parts[2]) if len(parts[2].strip()) < 20 else 10**20
