"""What is generated from the registry is checked in as it would be generated now."""

import ast
import inspect
import re
from pathlib import Path

import declarations
import generate
import pytest
from click.testing import CliRunner
from roofslate import _core
from roofslate.registry.registry import entries
from support import ROOT

WANTED = generate.generated_files()


@pytest.mark.parametrize("path", WANTED, ids=str)
def test_checked_in_file_is_current(path):
    assert (ROOT / path).read_text(encoding="utf-8") == WANTED[path], "run python python/tools/generate.py"


def test_no_page_of_a_theme_that_is_gone():
    assert [path for path in generate.stale_files(ROOT) if path not in WANTED] == []


def stub():
    return ast.parse((ROOT / "python/roofslate/_core.pyi").read_text(encoding="utf-8"))


def test_stub_lists_the_public_functions_of_the_core():
    listed = [node.name for node in stub().body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    assert listed == [name for name, _ in inspect.getmembers(_core, callable)]


def test_stub_has_the_arguments_of_the_core():
    for node in stub().body:
        if isinstance(node, ast.FunctionDef):
            told = getattr(_core, node.name).__doc__.partition("\n")[0]
            assert [argument.arg for argument in node.args.args] == re.findall(r"(\w+): ", told), node.name


@pytest.mark.parametrize("name", entries())
def test_quantity_is_in_the_reference(name):
    """With its meaning, formula, unit and source, and links from and to the overview."""
    q = entries()[name]
    page = WANTED[Path(f"docs/reference/{q.theme}.md")]
    (entry,) = re.findall(rf"^## {name}\n(.*?)(?=^## |\Z)", page, flags=re.MULTILINE | re.DOTALL)
    assert q.brief[1:] in entry
    assert q.source in entry
    assert q.formula in entry
    assert q.latex in entry
    assert f"${q.symbol}$" in entry
    for other in (*q.needs, *q.used_by, *filter(None, [q.fallback, q.bound])):
        assert f"#{other})" in entry
    assert f"[{name}]({q.theme}.md#{name})" in WANTED[Path("docs/reference/quantities.md")]


def test_a_long_import_is_written_a_name_a_line():
    """In the order that ruff gives them: constants, classes, the rest."""
    names = ["Axis", "OUTER_LIMITS", "evaluate", "sensitivity", "solve", "OutputNames", "quantiles", "InputNames"]
    lines = declarations._import_lines({name: ("roofslate.somewhere_else_in_the_package", name) for name in names})
    ordered = ["OUTER_LIMITS", "Axis", "InputNames", "OutputNames", "evaluate", "quantiles", "sensitivity", "solve"]
    assert lines.splitlines() == [
        "from roofslate.somewhere_else_in_the_package import (",
        *(f"    {name}," for name in ordered),
        ")",
    ]


def test_written_and_compared_in_another_tree(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(generate.main, [*arguments, "--root", str(tmp_path)])

    assert run("--check").exit_code == 1
    assert run().exit_code == 0
    assert run("--check").exit_code == 0
    page = tmp_path / "docs/reference/serving.md"
    page.write_text(page.read_text(encoding="utf-8") + "x", encoding="utf-8")
    gone = page.with_name("gone.md")
    gone.write_text(page.read_text(encoding="utf-8"), encoding="utf-8")
    checked = run("--check")
    assert checked.exit_code == 1
    assert "serving.md" in checked.output
    assert "gone.md" in checked.output
    assert page.read_text(encoding="utf-8").endswith("x")
    assert run().exit_code == 0
    assert not gone.exists()
    assert run("--check").exit_code == 0
