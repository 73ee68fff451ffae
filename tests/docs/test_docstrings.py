"""Examples of docstrings run and have the shown output."""

import doctest
import importlib
import pkgutil
import warnings

import matplotlib as mpl
import pytest
import roofslate

LOOSE = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
MODULES = sorted(
    module.name
    for module in pkgutil.walk_packages(roofslate.__path__, "roofslate.")
    if not module.name.endswith(("__main__", "_core"))
)


def examples(name: str) -> list[doctest.DocTest]:
    module = importlib.import_module(name)
    return [test for test in doctest.DocTestFinder(exclude_empty=True).find(module) if test.examples]


WITH_EXAMPLES = [name for name in MODULES if examples(name)]


def test_examples_are_found():
    assert {"roofslate.analysis.tornado", "roofslate.presets.layouts", "roofslate.presets.model"} <= set(WITH_EXAMPLES)
    assert sum(len(examples(name)) for name in WITH_EXAMPLES) >= 50


@pytest.mark.parametrize("name", WITH_EXAMPLES)
def test_examples_of_a_module(name, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(mpl, "rcParams", mpl.rcParams.copy())
    said: list[str] = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # as a person sees examples
        for test in examples(name):
            doctest.DocTestRunner(optionflags=LOOSE).run(test, out=said.append)
    assert not said, "".join(said)
