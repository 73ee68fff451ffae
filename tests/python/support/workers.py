"""Distribution of tests to processes, for ``--dist loadscope``."""

from __future__ import annotations

import functools

from xdist.scheduler import LoadScopeScheduling

from support import ROOT


@functools.cache
def shares_fixtures(path: str) -> bool:
    """Return True for a file whose tests share fixtures or results, and so stay together."""
    text = (ROOT / path).read_text(encoding="utf-8")
    return 'scope="module"' in text or "@functools.cache" in text


class ByFunction(LoadScopeScheduling):
    """Schedule of one function after the other, with all its parameters.

    No process idles. A few files are scheduled as one.
    """

    def _split_scope(self, nodeid: str) -> str:
        path = nodeid.partition("::")[0]
        return path if shares_fixtures(path) else nodeid.partition("[")[0]
