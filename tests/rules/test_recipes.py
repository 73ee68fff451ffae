"""Recipes for developers: their examples run in a copy of the tree, word by word."""

from __future__ import annotations

import doctest
import importlib
import os
import platform
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest
from support import ROOT

# The places that a recipe may have at most.
MOST_PLACES = {
    "add-a-quantity": 3,
    "add-an-input": 3,
    "add-a-theme": 2,
    "add-a-fold": 5,
    "add-a-dimension-of-parallelism": 3,
    "add-a-base-unit": 2,
    "add-an-instruction-set": 2,
    "add-a-dtype": 3,
    "add-a-chart": 2,
    "add-a-chip": 1,
}
WITHOUT_THE_CORE = ["add-a-chart", "add-a-chip"]
ELSEWHERE = {"add-an-instruction-set"} if platform.machine() != "x86_64" else set()  # the example is for x86-64
_EDIT = re.compile(
    r"In `(?P<path>[^`]+)`, (?P<how>before|after|instead of|at the end|a new file)(?: `(?P<marker>[^`]+)`)?:\n\n"
    r"```\w+\n(?P<code>.*?)```\n",
    re.DOTALL,
)
_RESULT = re.compile(r"The result:\n\n```python\n(?P<code>.*?)```\n", re.DOTALL)


class Edit(NamedTuple):
    path: str
    how: str
    marker: str | None
    code: str

    def apply(self, text: str | None) -> str:
        """Return the text of the file after the edit, None for no file."""
        if self.how == "a new file":
            assert text is None, f"{self.path} is there already"
            return self.code
        assert text is not None, f"{self.path} is missing"
        if self.how == "at the end":
            return f"{text.rstrip()}\n\n{self.code}"
        assert self.marker is not None
        assert text.count(self.marker) == 1, f"{self.path}: {self.marker!r} occurs {text.count(self.marker)} times"
        start = text.index(self.marker)
        end = start + len(self.marker)
        if self.how == "before":
            return text[:start] + self.code + text[start:]
        if self.how == "after":
            return f"{text[:end]}\n{self.code.rstrip()}{text[end:]}"
        return text[:start] + self.code.rstrip("\n") + text[end:]


def recipe(name: str) -> str:
    return (ROOT / "docs" / "development" / f"{name}.md").read_text(encoding="utf-8")


def edits(name: str) -> list[Edit]:
    return [Edit(*match.group("path", "how", "marker", "code")) for match in _EDIT.finditer(recipe(name))]


def carry_out(folder: Path, names: list[str]) -> None:
    for name in names:
        for edit in edits(name):
            path = folder / edit.path
            text = path.read_text(encoding="utf-8") if path.exists() else None
            path.write_text(edit.apply(text), encoding="utf-8")


@pytest.fixture
def copy(tmp_path):
    """A copy of the files that git knows."""
    listed = subprocess.run(
        ["git", "ls-files", "-z", "CMakeLists.txt", "cpp", "python", "docs", "tests/reference"],
        cwd=ROOT, check=True, capture_output=True, text=True,
    ).stdout  # fmt: skip
    for name in filter(None, listed.split("\0")):
        source = ROOT / name
        if source.exists():
            target = tmp_path / name
            target.parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(source, target)
    return tmp_path


@pytest.mark.parametrize("name", MOST_PLACES)
def test_a_recipe_has_few_places(name):
    head = recipe(name).partition("## ")[0]
    places = re.findall(r"^(?:\d+\.|Place:) ", head, re.MULTILINE)
    places = places or re.findall(r"^## \d+\. ", recipe(name), re.MULTILINE)
    assert 0 < len(places) <= MOST_PLACES[name]


def test_all_recipes_fit_the_tree(copy):
    carry_out(copy, list(MOST_PLACES))


def results(names: list[str]) -> str:
    lines = ["import roofslate as rs"]
    for name in names:
        match = _RESULT.search(recipe(name))
        assert match, f"{name} has no result"
        examples = doctest.DocTestParser().get_examples(match["code"])
        assert any(example.want for example in examples), f"{name} has no result"
        for example in examples:
            source, expected = example.source.rstrip(), " ".join(example.want.splitlines())
            lines.append(f"assert repr(({source})) == {expected!r}, ({name!r}, ({source}))" if expected else source)
    return "\n".join(lines)


@pytest.mark.parametrize("name", WITHOUT_THE_CORE)
def test_a_recipe_without_the_core_works_as_written(name, copy):
    carry_out(copy, [name])
    for built in ("_core", "typing", "registry.reserved"):  # made by the build
        file = Path(importlib.import_module(f"roofslate.{built}").__file__)
        folder = copy.joinpath("python", "roofslate", *built.split(".")[:-1])
        shutil.copy2(file, folder / file.name)
    run(copy, results([name]))


def run(folder: Path, code: str) -> None:
    clean = "import sys\nsys.meta_path[:] = [f for f in sys.meta_path if 'Editable' not in type(f).__name__ and "
    clean += "'ScikitBuild' not in type(f).__name__]\n"
    environment = {**os.environ, "PYTHONPATH": str(folder / "python")}
    done = subprocess.run(
        [sys.executable, "-c", clean + code], cwd=folder, env=environment, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stderr


@pytest.mark.long
def test_recipes_work_as_written(copy):
    """All of them in one copy, compiled once."""
    import pybind11

    names = [name for name in MOST_PLACES if name not in ELSEWHERE]
    carry_out(copy, names)
    options = [f"-Dpybind11_DIR={pybind11.get_cmake_dir()}", f"-DPython_EXECUTABLE={sys.executable}"]
    if shutil.which("ccache"):
        options.append("-DCMAKE_CXX_COMPILER_LAUNCHER=ccache")
    commands = [
        ["cmake", "-S", ".", "-B", "build", "-G", "Ninja", "-DCMAKE_BUILD_TYPE=Release", *options],
        ["cmake", "--build", "build"],
        ["cmake", "--install", "build", "--prefix", str(copy / "python"), "--component", "python"],
    ]
    environment = {**os.environ, "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"}
    for command in commands:
        done = subprocess.run(command, cwd=copy, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stdout[-4000:] + done.stderr[-4000:]
    run(copy, results(names))
