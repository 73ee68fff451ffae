"""Completion in IPython: a matcher that loads its rules when it is first used."""

from __future__ import annotations

import contextlib
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable

    from IPython.core.completer import CompletionContext, SimpleMatcherResult
    from IPython.core.interactiveshell import InteractiveShell

__all__ = ["IDENTIFIER", "add_matcher"]

IDENTIFIER = "roofslate"  # for `%config Completer.disable_matchers = ["roofslate"]`


def add_matcher(
    shell: InteractiveShell, matches: Callable[[CompletionContext, InteractiveShell], SimpleMatcherResult]
) -> None:
    """Add completions to a shell, once. IPython before 8.6 has no such matchers."""
    with contextlib.suppress(ImportError, AttributeError):
        from IPython.core.completer import context_matcher

        matchers = shell.Completer.custom_matchers
        if all(getattr(matcher, "matcher_identifier", "") != IDENTIFIER for matcher in matchers):

            @context_matcher(identifier=IDENTIFIER)  # type: ignore[untyped-decorator]
            def matcher(context: CompletionContext) -> SimpleMatcherResult:
                return matches(context, shell)

            matchers.append(matcher)
