"""Tools of the server: calls of the package from JSON to JSON."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from roofslate.analysis.explain import explain
from roofslate.analysis.solve import solve
from roofslate.analysis.summary import summary
from roofslate.cli.answers import LEVEL, Answer, is_banded, of_plan, of_result, of_summary, sources_of, text_column
from roofslate.cli.lists import found_presets
from roofslate.cli.words import read_range, reported_warnings
from roofslate.deployment.search import deploy
from roofslate.errors import UnknownName
from roofslate.evaluation.evaluate import evaluate
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries, matching, unknown_quantity

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

__all__ = ["run_tool"]

_DEPTH = 2  # of a derivation
_ROWS = 10
_HITS = 20
_MOST_ROWS = 100
_MOST_SOURCES = 20  # of a preset
_LONGEST_DERIVATION = 50_000  # characters


def run_tool(name: str, arguments: Mapping[str, Any]) -> dict[str, Any]:
    """Run a tool.

    Parameters
    ----------
    name : str
    arguments : dict
        Checked in type and size.

    Returns
    -------
    dict
        The result as JSON.

    Raises
    ------
    RoofslateError
    """
    inputs = {key: _value(key, given) for key, given in arguments.get("inputs", {}).items()}
    with reported_warnings() as messages:
        document = _TOOLS[name](inputs, arguments, messages)
    sources = {preset: _shortened(origins) for preset, origins in sources_of(inputs).items()}
    return {**document, "sources": sources}


def _value(name: str, given: Any) -> Any:
    """Read an input as the call in Python takes it, a range too."""
    q = entries().get(name)
    if isinstance(given, str) and given.count(":") in (2, 3) and q is not None and not q.choices:
        return read_range(name, given)
    return given


def _shortened(origins: list[str]) -> list[str]:
    more = len(origins) - _MOST_SOURCES
    return [*origins[:_MOST_SOURCES], f"... {more} more"] if more > 0 else origins


def _evaluate(inputs: dict[str, Any], arguments: Mapping[str, Any], messages: list[str]) -> dict[str, Any]:
    outputs = arguments["outputs"]
    banded = {"bands": arguments.get("bands", LEVEL)} if "bands" in arguments or is_banded(outputs, inputs) else {}
    outcome = evaluate(outputs, inputs, units=arguments.get("units"), progress=False, **banded)
    return of_result(outcome).noted(messages).document()


def _deploy(inputs: dict[str, Any], arguments: Mapping[str, Any], messages: list[str]) -> dict[str, Any]:
    keywords = {key: arguments[key] for key in ("objective", "where", "maximize", "also", "units") if key in arguments}
    if "prefill" in arguments:
        keywords["prefill"] = {key: _value(key, given) for key, given in arguments["prefill"].items()}
    plan = deploy(inputs, **keywords, progress=False)
    return of_plan(plan, min(arguments.get("rows", _ROWS), _MOST_ROWS)).noted(messages).document()


def _explain(inputs: dict[str, Any], arguments: Mapping[str, Any], messages: list[str]) -> dict[str, Any]:
    output = arguments["output"]
    derivation = explain(output, inputs, depth=arguments.get("depth", _DEPTH)).markdown
    if len(derivation) > _LONGEST_DERIVATION:
        derivation = derivation[:_LONGEST_DERIVATION]
        messages.append(f"the derivation was cut at {_LONGEST_DERIVATION:,} characters; ask for less depth")
    document = _evaluate(inputs, {"outputs": [output]}, messages)
    return {**document, "derivation": derivation}


def _solve(inputs: dict[str, Any], arguments: Mapping[str, Any], messages: list[str]) -> dict[str, Any]:
    keywords = {key: arguments[key] for key in ("at", "integer", "units") if key in arguments}
    outcome = solve(arguments["unknown"], arguments["condition"], inputs, **keywords, progress=False)
    answer = of_result(outcome).noted(messages)
    if not np.isfinite(outcome.to_numpy()).any():
        answer = answer.noted(["there is no solution; the column reason says why"])
    return answer.document()


def _search(_: dict[str, Any], arguments: Mapping[str, Any], messages: list[str]) -> dict[str, Any]:
    text, kind = arguments["text"], arguments.get("kind")
    kinds = ["quantity", *PRESETS]
    if kind is not None and kind not in kinds:
        raise UnknownName(f"kind: expected one of {', '.join(kinds)}, got {kind!r}")
    rows = [("quantity", q.name, q.brief, q.unit) for q in matching(text)] if kind in (None, "quantity") else []
    if kind != "quantity":
        try:
            outcome = found_presets(text, [kind] if kind is not None else list(PRESETS))
        except UnknownName:
            if kind is not None:
                raise
            outcome = []
        rows += [(preset.kind, preset.name, preset.note, "") for preset in outcome]
    if not rows:
        names = [name for catalog in PRESETS.values() for name in catalog]
        raise unknown_quantity(text, "quantity or preset", names)
    most = min(arguments.get("limit", _HITS), _MOST_ROWS)
    if len(rows) > most:
        messages.append(f"{len(rows) - most:,} more; search for more words, or raise the limit")
    head = ("kind", "name", "meaning", "unit")
    columns = [text_column(word, [row[k] for row in rows[:most]]) for k, word in enumerate(head)]
    return Answer(columns).noted(messages).document()


def _summary(inputs: dict[str, Any], arguments: Mapping[str, Any], messages: list[str]) -> dict[str, Any]:
    banded = {"bands": arguments["bands"]} if "bands" in arguments else {}
    return of_summary(summary(inputs, **banded)).noted(messages).document()


_TOOLS: dict[str, Callable[[dict[str, Any], Mapping[str, Any], list[str]], dict[str, Any]]] = {
    "evaluate": _evaluate,
    "deploy": _deploy,
    "explain": _explain,
    "solve": _solve,
    "search": _search,
    "summary": _summary,
}
