"""Run the code of README, CONTRIBUTING and docs, and compare its output with the page.

A ``text`` block after a ``python`` block is the output of that block, in which ``...`` matches anything. In a
``console`` block the lines after a command are its output. ``python python/tools/page_code.py`` writes the output into
the pages.
"""

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from click.testing import CliRunner

ROOT = Path(__file__).parents[2]
GENERATED = ROOT / "docs" / "reference" / "quantities"  # written while the site is built
PAGES = sorted([*ROOT.glob("*.md"), *(p for p in ROOT.glob("docs/**/*.md") if GENERATED not in p.parents)])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$\n?(?:\n*```text\n(.*?)^```$\n?)?", re.MULTILINE | re.DOTALL)
CHECK = doctest.OutputChecker()
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def page_id(path: Path) -> str:
    return str(path.relative_to(ROOT))


def executable(path: Path) -> bool:
    """Return True for a page with code, except recipes, which run in a copy of the tree."""
    return path.parent.name != "development" and any(
        kind in ("python", "console") for kind, *_ in BLOCK.findall(path.read_text(encoding="utf-8"))
    )


def run_python(code: str, names: dict[str, Any]) -> str:
    """Return the output of a block as at a prompt: its prints, and the value of its last line."""
    tree = ast.parse(code)
    last = tree.body[-1] if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    del tree.body[len(tree.body) - (last is not None) :]
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<docs>", "exec"), names)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), "<docs>", "eval"), names)
            if shown is not None:
                print(shown if hasattr(shown, "_repr_markdown_") else repr(shown))
    return re.sub(r" +$", "", printed.getvalue(), flags=re.MULTILINE)


def commands(text: str) -> Iterator[tuple[str, str]]:
    """Yield the commands of a console block, each with its output on the page."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        count = next(k for k, line in enumerate(lines) if not line.endswith("\\"))
        yield "\n".join(lines[: count + 1]), "\n".join(lines[count + 1 :])


def run_command(command: str) -> str:
    """Return the output of a command line of the package, run in this process.

    ``; echo $?`` adds the exit code.
    """
    from roofslate.cli import main

    words, adds_code, _ = command.partition("; echo $?")
    program, *arguments = shlex.split(words.replace("\\\n", " "))
    assert program == "roofslate", f"{command!r} is no command of the package. Mark a block that is not run as sh."
    done = CliRunner().invoke(main, arguments)
    if adds_code:
        return f"{done.output}{done.exit_code}\n"
    assert done.exit_code == 0, done.output
    return done.output


def outputs(path: Path) -> Iterator[tuple[str, str | None, str]]:
    """Yield code, output on the page or None, and actual output, by block."""
    names: dict[str, Any] = {"__name__": "__docs__"}
    for kind, code, shown in BLOCK.findall(path.read_text(encoding="utf-8")):
        if kind == "python":
            yield code, shown or None, run_python(code, names)
        elif kind == "console":
            for command, expected in commands(code):
                yield command, expected or None, run_command(command)


@contextlib.contextmanager
def reader(folder: Path | str) -> Iterator[None]:
    """Set up a reader's environment: an empty folder, default table widths, no windows.

    Only the page's definitions exist.
    """
    import matplotlib as mpl
    import pandas as pd
    import roofslate as rs
    from matplotlib import pyplot as plt

    mpl.use("Agg")
    before = Path.cwd()
    os.chdir(folder)
    try:
        with rs.definitions(), pd.option_context("display.width", 110, "display.max_columns", 20):
            yield
    finally:
        os.chdir(before)
        plt.close("all")


def rewritten(path: Path) -> str:
    """Return the page with outdated output replaced."""
    runs = iter(list(outputs(path)))

    def block(match: re.Match[str]) -> str:
        kind, code, shown = match.groups()
        if kind == "python":
            _, _, output = next(runs)
            if shown and not CHECK.check_output(shown, output, LOOSE):
                return match[0].replace(f"```text\n{shown}```", f"```text\n{output.rstrip()}\n```")
        elif kind == "console":
            parts = []
            for command, expected in commands(code):
                _, _, output = next(runs)
                keep = not expected or CHECK.check_output(expected, output, LOOSE)
                parts.append(f"$ {command}\n{expected if keep else output.rstrip() + chr(10)}")
            return f"```console\n{''.join(parts)}```\n" + ("\n" if match[0].endswith("\n\n") else "")
        return match[0]

    return BLOCK.sub(block, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    for page in filter(executable, PAGES):
        with tempfile.TemporaryDirectory() as folder, reader(folder):
            new = rewritten(page)
        if new != page.read_text(encoding="utf-8"):
            page.write_text(new, encoding="utf-8")
            sys.stdout.write(f"wrote {page_id(page)}\n")
