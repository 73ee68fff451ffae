"""What is generated from the registry is checked in as it would be generated now."""

import ast
import importlib.util
import inspect
import re
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner
from roofslate import _core, _generate
from roofslate.registry import entries

ROOT = Path(__file__).parents[2]
WANTED = _generate.generated_files()


@pytest.mark.parametrize("path", WANTED, ids=str)
def test_checked_in_file_is_current(path):
    assert (ROOT / path).read_text(encoding="utf-8") == WANTED[path], "run python -m roofslate._generate"


def test_no_page_of_a_theme_that_is_gone():
    assert _generate.stale_files(ROOT) == []


def stub():
    return ast.parse((ROOT / "python/roofslate/_core.pyi").read_text(encoding="utf-8"))


def test_stub_lists_the_public_functions_of_the_core():
    listed = [node.name for node in stub().body if isinstance(node, (ast.ClassDef, ast.FunctionDef))]
    assert listed == [name for name, _ in inspect.getmembers(_core, callable) if not name.startswith("_")]


def test_stub_has_the_arguments_of_the_core():
    for node in stub().body:
        if isinstance(node, ast.FunctionDef):
            told = getattr(_core, node.name).__doc__.partition("\n")[0]
            assert [argument.arg for argument in node.args.args] == re.findall(r"(\w+): ", told), node.name


def test_stub_lists_every_quantity():
    annotated = {ast.unparse(node.target): node for node in stub().body if isinstance(node, ast.AnnAssign)}
    assert set(annotated) == {"QuantityName", "RESERVED_WORDS", "SCOPE"}
    names = annotated["QuantityName"]
    assert {word.value for word in ast.walk(names.value) if isinstance(word, ast.Constant)} == set(entries())


@pytest.mark.slow
def test_stub_agrees_with_the_core(tmp_path):
    """Stubtest of mypy, which imports the module and compares."""
    if importlib.util.find_spec("mypy") is None:
        pytest.skip("mypy not installed: pip install 'roofslate[dev]'")
    allowed = tmp_path / "allowed"
    allowed.write_text(
        "roofslate._core.QuantityName  # a type alone: nothing at run time\n"
        "roofslate._core.Registry  # made by the metaclass of pybind11\n"
        "roofslate._core.InverseDistribution\n"
        "roofslate._core.Sampler\n",
        encoding="utf-8",
    )
    done = subprocess.run(
        [
            *(sys.executable, "-m", "mypy.stubtest", "roofslate._core", "--allowlist", str(allowed)),
            *("--mypy-config-file", str(ROOT / "pyproject.toml")),
        ],
        capture_output=True,
        text=True,
        check=False,
        cwd=ROOT / "python",
    )
    assert done.returncode == 0, done.stdout + done.stderr


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


def test_written_and_compared_in_another_tree(tmp_path):
    def run(*arguments):
        return CliRunner().invoke(_generate.main, [*arguments, "--root", str(tmp_path)])

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
