"""The command line: each command a thin face of a call of the package."""

from __future__ import annotations

from roofslate.cli import commands, searches
from roofslate.cli.program import main

__all__ = ["commands", "main", "searches"]
