"""Errors for inputs by position, which write the call with keywords."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, ParamSpec, TypeVar

from roofslate._base.messages import shown
from roofslate.errors import InputTypeError
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import entries

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

__all__ = ["by_keyword", "keyword_hint"]

Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")


def _keyword_of(text: str) -> str | None:
    """Return the keyword of the presets with this name, otherwise of those that it may mean."""
    catalogs = PRESETS.items()
    named = (keyword for keyword, presets in catalogs if getattr(presets, "named", presets.__contains__)(text))
    return next(named, None) or next((keyword for keyword, presets in catalogs if text in presets), None)


def _is_named(given: object) -> bool:
    """Return True for the name of a quantity or a preset."""
    return isinstance(given, str) and (given in entries() or _keyword_of(given) is not None)


def keyword_hint(given: object) -> str:
    """End of an error for an object in place of a scenario, empty if its meaning is unclear."""
    if isinstance(given, list) and all(isinstance(item, Mapping) for item in given):
        return ". Give a list of scenarios to rs.frame(scenarios, outputs)"
    if not isinstance(given, str):
        return ""
    if given in entries():
        return f". Several outputs are one list, such as ['pass_time', {given!r}]"
    keyword = _keyword_of(given)
    return f". Give {keyword}={given!r}" if keyword else ""


def by_keyword(
    quantities: str = "", **needed: str
) -> Callable[[Callable[Arguments, Result]], Callable[Arguments, Result]]:
    """Refuse texts in place of the scenario of a call, and more arguments than it takes.

    The error writes the call with keywords.

    Parameters
    ----------
    quantities : str
        Keyword of a text that is the name of a quantity; without one it joins the outputs.
    **needed : str
        Further keywords of an example, with their values as code.
    """

    def decorate(call: Callable[Arguments, Result]) -> Callable[Arguments, Result]:
        kinds = [parameter.kind for parameter in inspect.signature(call).parameters.values()]
        outputs = kinds.count(inspect.Parameter.POSITIONAL_ONLY) - 1  # the last one is the scenario

        @functools.wraps(call)
        def checked(*args: Arguments.args, **kwargs: Arguments.kwargs) -> Result:
            if len(args) > outputs + 1 or (len(args) > outputs and _is_named(args[outputs])):
                written = ", ".join(_arguments(args[:outputs], args[outputs:], quantities, {**needed}, kwargs))
                texts = ", ".join(map(shown, args[outputs:]))
                name = call.__name__
                large = ", with maximize= for those that should be large" if quantities == "minimize" else ""
                raise InputTypeError(
                    f"{name}() takes inputs by keyword, got {texts}. Write rs.{name}({written}){large}"
                )
            return call(*args, **kwargs)

        return checked

    return decorate


def _arguments(
    outputs: Sequence[object],
    texts: Sequence[object],
    quantities: str,
    needed: Mapping[str, str],
    keywords: Mapping[str, object],
) -> Iterator[str]:
    """Yield the arguments of a call as code."""
    names = [text for text in texts if isinstance(text, str) and text in entries()]
    presets = {_keyword_of(text): text for text in texts if isinstance(text, str) and text not in names}
    if outputs:
        yield shown([outputs[0], *names]) if names and not quantities else shown(outputs[0])
    if names and quantities:
        yield f"{quantities}={shown(names[0] if quantities == 'objective' else names)}"
    yield from (f"{keyword}={shown(text)}" for keyword, text in presets.items() if keyword)
    given = {quantities if names else "", *presets, *keywords}
    yield from (f"{name}={shown(value)}" for name, value in keywords.items())
    yield from (f"{name}={code}" for name, code in needed.items() if name not in given)
