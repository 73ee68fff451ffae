"""The command line: each command a thin face of a call of the package."""

from roofslate.cli.commands import main

__all__ = ["main"]
