"""The command line: each command a thin face of a call of the package."""

from __future__ import annotations

from roofslate.cli.commands import main

__all__ = ["main"]
