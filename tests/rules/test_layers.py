"""Packages form layers: a module imports only from its package and from those above.

The order is one list. Imports are at the top level of a module.
"""

from __future__ import annotations

import ast
import graphlib
import re
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import pytest
import roofslate
from support import ROOT

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

PACKAGE = ROOT / "python" / "roofslate"
# From the ground up: a package may import those before it. Modules of one file are layers too.
LAYERS = (
    *("_core", "errors", "_base", "units", "registry", "math", "display", "presets", "typing", "grid", "evaluation"),
    *("folds", "analysis", "simulation", "measured", "deployment", "price_lists", "plotting", "lecture_report", "cli"),
)
MOST_PACKAGES = 16
MOST_LINES = 500
LONGER = {"typing"}  # generated: the names and inputs of all quantities
ROOTS = {"", "__main__"}  # the names of the package and their homes; the program
LAZY = {*ROOTS, "cli.program"}  # a command is loaded when it runs


class Import(NamedTuple):
    """An import within the package, with module names without `roofslate`, and its position."""

    module: str
    imported: str
    line: int
    nested: bool  # in a function

    def __str__(self) -> str:
        return f"{self.module}:{self.line} imports {self.imported}"


def layer(module: str) -> str:
    return module.partition(".")[0]


def read_modules(folder: Path) -> dict[str, str]:
    """By name without the package's, the source of each module."""
    modules = {}
    for path in sorted(folder.rglob("*.py")):
        parts = path.relative_to(folder).with_suffix("").parts
        modules[".".join(part for part in parts if part != "__init__")] = path.read_text(encoding="utf-8")
    return modules


def imports(module: str, source: str, modules: Iterable[str]) -> Iterator[Import]:
    """All imports of the package in a module, whether in functions or for type checkers."""
    known = {*modules, "_core"}
    tree = ast.parse(source)
    functions = [node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)]
    inner = {id(child) for function in functions for child in ast.walk(function)}
    for node in ast.walk(tree):
        names: list[str] = []
        line = getattr(node, "lineno", 0)
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            assert not node.level, f"{module}:{node.lineno}: imports are absolute"
            of = f"{node.module}.".removeprefix("roofslate.").removesuffix(".")
            if node.module == "roofslate" or (node.module or "").startswith("roofslate."):
                of = (node.module or "").removeprefix("roofslate").removeprefix(".")
                joined = [f"{of}.{alias.name}".removeprefix(".") for alias in node.names]
                names = [f"roofslate.{name if name in known else of}".rstrip(".") for name in joined]
        for name in dict.fromkeys(names):
            if name == "roofslate" or name.startswith("roofslate."):
                imported = name.removeprefix("roofslate").removeprefix(".")
                yield Import(module, imported, line, id(node) in inner)


def all_imports(modules: Mapping[str, str]) -> list[Import]:
    return [each for module, source in modules.items() for each in imports(module, source, modules)]


def upward(imports: Iterable[Import]) -> list[str]:
    """Imports from a later layer, or of the public names, which belong to all layers."""
    height = {name: k for k, name in enumerate(LAYERS)}  # of others: of the package itself, of missing ones
    return [
        str(each)
        for each in imports
        if layer(each.module) not in ROOTS
        and layer(each.module) != layer(each.imported)
        and height.get(layer(each.imported), len(LAYERS)) >= height[layer(each.module)]
    ]


def circle(imports: Iterable[Import]) -> list[str]:
    """Modules that import one another in a circle, or none."""
    graph: dict[str, set[str]] = {}
    for each in imports:
        if each.imported != each.module and each.module not in ROOTS:
            graph.setdefault(each.module, set()).add(each.imported)
    try:
        graphlib.TopologicalSorter(graph).prepare()
    except graphlib.CycleError as error:
        return list(error.args[1])
    return []


MODULES = read_modules(PACKAGE)


@pytest.fixture(name="imports", scope="module")
def imports_of_the_package() -> list[Import]:
    return all_imports(MODULES)


def test_every_package_has_its_place() -> None:
    assert {layer(module) for module in MODULES} - ROOTS == {*LAYERS} - {"_core"}
    assert len(LAYERS) == len({*LAYERS})


def test_there_are_few_packages() -> None:
    packages = [path.parent.name for path in PACKAGE.glob("*/__init__.py")]
    assert len(packages) <= MOST_PACKAGES


def test_every_package_states_its_purpose() -> None:
    """One line, which help() shows."""
    for path in PACKAGE.glob("*/__init__.py"):
        purpose = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
        assert purpose, path.parent.name
        assert "\n" not in purpose.partition("\n\n")[0], path.parent.name


def test_no_package_has_the_name_of_a_callable() -> None:
    """The import of such a package would put a module in the place of the function."""
    callables = {name for name in roofslate.__all__ if callable(getattr(roofslate, name))}
    assert callables & {layer(module) for module in MODULES} == set()


def test_no_import_runs_up(imports: list[Import]) -> None:
    assert upward(imports) == []


def test_no_imports_run_in_a_circle(imports: list[Import]) -> None:
    assert circle(imports) == []


def test_imports_of_the_package_are_at_the_top(imports: list[Import]) -> None:
    """Other packages may be imported where they are needed: many are optional, all take time."""
    assert [str(each) for each in imports if each.nested] == []


def test_modules_are_imported_by_name() -> None:
    """An import by text would escape the rules above.

    The lazy names of the package and of its commands are the exception.
    """
    for module, source in MODULES.items():
        if module not in LAZY:
            assert not re.search(r"\b_?import_module\b|\b__import__\b", source), module


def test_no_module_is_long() -> None:
    long = {module for module, source in MODULES.items() if len(source.splitlines()) > MOST_LINES}
    assert long == LONGER


@pytest.mark.parametrize(
    ("module", "source", "faults"),
    [
        ("units.reading", "from roofslate.grid.read import read_grid", ["upward"]),
        ("units.reading", "def f():\n    import roofslate.grid.read", ["upward", "nested"]),
        ("units.reading", "if TYPE_CHECKING:\n    from roofslate.grid import read", ["upward"]),
        ("units.reading", "import roofslate as rs", ["upward"]),
        ("units.reading", "from roofslate import charts", ["upward"]),
        ("units.reading", "from roofslate import _core\nimport roofslated", []),
        ("units.table", "from roofslate.units.reading import read", ["circle"]),
        ("grid.read", "def f():\n    from roofslate import units", ["nested"]),
    ],
)
def test_a_fault_would_be_seen(module: str, source: str, faults: list[str]) -> None:
    """In a package of three modules, of which one imports another."""
    modules = {"units": "", "grid": "", "units.table": "", "grid.read": "from roofslate.units import table"}
    modules["units.reading"] = "from roofslate.units.table import UNITS"
    result = all_imports({**modules, module: textwrap.dedent(source)})
    if module == "units.table":
        result += list(imports("units.reading", modules["units.reading"], modules))
    assert faults == [
        name
        for name, seen in (
            ("upward", upward(result)),
            ("nested", any(each.nested for each in result)),
            ("circle", circle(result)),
        )
        if seen
    ]
