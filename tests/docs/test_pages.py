"""README, CONTRIBUTING and docs: code runs, what is shown comes out, links lead somewhere.

A ``text`` block right after a ``python`` block is what the block shows; ``...`` stands for anything. In ``console``
blocks the lines after a command are its output. `python tests/python/test_docs.py` writes what comes out into pages.
"""

import ast
import contextlib
import doctest
import io
import os
import re
import shlex
from pathlib import Path

import pytest
from click.testing import CliRunner
from support import ROOT

PAGES = sorted([*ROOT.glob("*.md"), *(p for p in ROOT.glob("docs/**/*.md") if "_build" not in p.parts)])
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$\n?(?:\n*```text\n(.*?)^```$\n?)?", re.MULTILINE | re.DOTALL)
LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")
CHECK = doctest.OutputChecker()
LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def page_id(path):
    return str(path.relative_to(ROOT))


def executable(path):
    return any(kind in ("python", "console") for kind, *_ in BLOCK.findall(path.read_text(encoding="utf-8")))


def run_python(code, names):
    """Output of a block as at a prompt: what it prints, and its last line where that is a value."""
    tree = ast.parse(code)
    last = tree.body.pop() if tree.body and isinstance(tree.body[-1], ast.Expr) else None
    printed = io.StringIO()
    with contextlib.redirect_stdout(printed):
        exec(compile(tree, "<docs>", "exec"), names)
        if last is not None:
            shown = eval(compile(ast.Expression(last.value), "<docs>", "eval"), names)
            if shown is not None:
                print(shown if hasattr(shown, "_repr_markdown_") else repr(shown))
    return re.sub(r" +$", "", printed.getvalue(), flags=re.MULTILINE)


def commands(text):
    """Commands of a console block, each with the output that the page shows."""
    for part in re.split(r"^\$ ", text, flags=re.MULTILINE)[1:]:
        lines = part.split("\n")
        count = next(k for k, line in enumerate(lines) if not line.endswith("\\"))
        yield "\n".join(lines[: count + 1]), "\n".join(lines[count + 1 :])


def run_command(command):
    """Output of a command line of the package, run within this process."""
    from roofslate.cli import main

    program, *arguments = shlex.split(command.replace("\\\n", " "))
    assert program == "roofslate", f"{command!r} is no command of the package; a block that is not run is marked sh"
    done = CliRunner().invoke(main, arguments)
    assert done.exit_code == 0, done.output
    return done.output


def outputs(path):
    """(what is run, what the page shows or None, what comes out), block after block."""
    names = {"__name__": "__docs__"}
    for kind, code, shown in BLOCK.findall(path.read_text(encoding="utf-8")):
        if kind == "python":
            yield code, shown or None, run_python(code, names)
        elif kind == "console":
            for command, expected in commands(code):
                yield command, expected or None, run_command(command)


@contextlib.contextmanager
def reader(folder):
    """The place of a reader: an empty folder, tables of the usual width, no windows, no definitions but the page's."""
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


@pytest.mark.parametrize("path", [path for path in PAGES if executable(path)], ids=page_id)
def test_code_of_page(path, tmp_path):
    """Every block runs, in the order of the page and in one namespace, and shows what the page shows."""
    with reader(tmp_path):
        for code, shown, came in outputs(path):
            if shown is not None and not CHECK.check_output(shown, came, LOOSE):
                pytest.fail(f"{code}\nshows\n{came}\nand the page says\n{shown}", pytrace=False)


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_tables_have_header_cells(path):
    """Those who hear a page, not see it, are told a column by its header."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for head in re.findall(r"^\|(.*)\|\n\|[\s:|-]+\|$", text, flags=re.MULTILINE):
        assert all(cell.strip() for cell in head.split("|")), f"{page_id(path)}: a column without a name in |{head}|"


def slugs(path):
    """Anchors of a page's headings, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_links_of_page(path):
    """Links inside the project lead to a file that is there, and to a heading of it."""
    text = re.sub(r"^```.*?^```$", "", path.read_text(encoding="utf-8"), flags=re.MULTILINE | re.DOTALL)
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        place, _, anchor = link.partition("#")
        target = (path.parent / place).resolve() if place else path
        assert target.exists(), f"{page_id(path)} links to {link}, which is not there"
        assert not anchor or anchor in slugs(target), f"{page_id(path)} links to {link}; {place} has no such heading"


def test_sources_of_the_registry_are_explained():
    """Each section that a quantity names as its source stands on the page of sources."""
    from roofslate.registry.registry import entries

    told = (ROOT / "docs/reference/sources.md").read_text(encoding="utf-8")
    named = {q.source for q in entries().values() if re.fullmatch(r"[RQ]\d[\d.]*", q.source)}
    assert not {source for source in named if f"| {source} |" not in told}


def test_pages_name_no_machine():
    """The text speaks of the project alone."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(work|tmp|root|home)\b", text), page_id(path)


def rewritten(path):
    """The page with what comes out in the place of what it shows, where that differs."""
    found = iter(list(outputs(path)))

    def block(match):
        kind, code, shown = match.groups()
        if kind == "python":
            _, _, came = next(found)
            if shown and not CHECK.check_output(shown, came, LOOSE):
                return match[0].replace(f"```text\n{shown}```", f"```text\n{came.rstrip()}\n```")
        elif kind == "console":
            parts = []
            for command, expected in commands(code):
                _, _, came = next(found)
                keep = not expected or CHECK.check_output(expected, came, LOOSE)
                parts.append(f"$ {command}\n{expected if keep else came.rstrip() + chr(10)}")
            return f"```console\n{''.join(parts)}```\n" + ("\n" if match[0].endswith("\n\n") else "")
        return match[0]

    return BLOCK.sub(block, path.read_text(encoding="utf-8"))


if __name__ == "__main__":
    import tempfile

    for page in filter(executable, PAGES):
        with tempfile.TemporaryDirectory() as folder, reader(folder):
            new = rewritten(page)
        if new != page.read_text(encoding="utf-8"):
            page.write_text(new, encoding="utf-8")
            print("wrote", page_id(page))
