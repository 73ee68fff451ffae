"""Examples of docstrings run and have the shown output."""

import doctest
import importlib
import re
import warnings
from pathlib import Path

import pytest
import roofslate
from support.lazy import Lazy

mpl = Lazy("matplotlib")

LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
PACKAGE = Path(roofslate.__file__).parent


def module_name(path: Path) -> str:
    return ".".join(["roofslate", *path.relative_to(PACKAGE).with_suffix("").parts]).removesuffix(".__init__")


WITH_EXAMPLES = sorted(
    module_name(path) for path in PACKAGE.rglob("*.py") if re.search("^ *>>> ", path.read_text("utf-8"), re.MULTILINE)
)


def examples(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    return [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]


def test_examples_are_found():
    assert {"roofslate.analysis.tornado", "roofslate.presets.layouts", "roofslate.presets.model"} <= set(WITH_EXAMPLES)
    assert sum(len(examples(name)) for name in WITH_EXAMPLES) >= 50


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_a_module(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr("matplotlib.rcParams", mpl.rcParams.copy())
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as a person sees examples
        tests = examples(name)
        assert tests
        for test in tests:
            doctest.DocTestRunner(optionflags=LOOSE).run(test, out=said.append)
    assert not said, "".join(said)
