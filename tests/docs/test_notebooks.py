"""Notebooks: valid, without stored output, and executable, solutions included."""

import json
import os
import re
from pathlib import Path

import pytest
import roofslate
from support import ROOT
from support.checks import cases
from support.processes import IN_COPIES
from support.slices import first_alone

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))
SOLUTION = re.compile(r"<details>.*?</details>", re.DOTALL)
CODE = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)


@pytest.fixture(name="nbformat", scope="module")
def library_of_notebooks():
    """It takes seconds to be imported."""
    return pytest.importorskip("nbformat", reason="notebooks are read with nbformat: pip install 'roofslate[test]'")


def read(nbformat, path):
    return nbformat.read(path, as_version=nbformat.NO_CONVERT)


def test_there_are_notebooks():
    assert NOTEBOOKS


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_form(nbformat, path):
    """The format is 4.5 with ids, the kernel any Python 3, without traces of a run."""
    notebook = read(nbformat, path)
    nbformat.validate(notebook)
    assert (notebook.nbformat, notebook.nbformat_minor) == (4, 5)
    assert notebook.metadata.kernelspec.name == "python3"
    assert set(notebook.metadata) <= {"kernelspec", "language_info"}
    ids = [cell.id for cell in notebook.cells]
    assert len(set(ids)) == len(ids)
    for cell in notebook.cells:
        assert cell.source.strip(), cell.id
        assert not cell.metadata, cell.id
        if cell.cell_type == "code":
            assert not cell.outputs, cell.id
            assert cell.execution_count is None, cell.id


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_tutorial(nbformat, path):
    """It asserts its own numbers, and has an exercise whose solution is folded."""
    notebook = read(nbformat, path)
    code = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "code")
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    assert "assert " in code
    assert any(CODE.search(solution) for solution in SOLUTION.findall(words))
    assert not re.search(r"(?<![\w.])/(work|tmp|root|home)\b", code + words)


SHELL = """
import warnings

from IPython.core.interactiveshell import InteractiveShell
from IPython.utils.capture import capture_output
from matplotlib import pyplot
import numpy, pandas, roofslate, traitlets.config, xarray


class Shell(InteractiveShell):
    def enable_gui(self, gui=None):
        pass


def run_cells(sources, folder):
    '\''Run cells as a kernel does; print for each whether it drew a picture, and what it said on stderr.'\''
    warnings.resetwarnings()
    for category in (DeprecationWarning, PendingDeprecationWarning, ImportWarning, ResourceWarning):
        warnings.simplefilter("ignore", category)
    warnings.filterwarnings("default", category=DeprecationWarning, module="__main__")
    os.chdir(folder)
    settings = traitlets.config.Config()
    settings.HistoryManager.enabled = False
    shell = Shell.instance(config=settings)
    shell.enable_matplotlib("inline")
    shown = []
    for source in sources:
        with capture_output() as output:
            result = shell.run_cell(source)
        result.raise_error()
        shown.append([any("image/png" in o.data for o in output.outputs), output.stderr])
    print(json.dumps(shown))
"""


def sources_of(notebook):
    """All code of a notebook, and after it the solutions."""
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    cells = [cell.source for cell in notebook.cells if cell.cell_type == "code"]
    return cells + [code for solution in SOLUTION.findall(words) for code in CODE.findall(solution)]


def check_shown(sources, shown):
    """Pictures are drawn where they are asked for, and no warning is shown to the reader."""
    for source, (picture, said) in zip(sources, shown, strict=True):
        assert picture or not re.search(r"rs\.(charts\.\w+|plot)\(", source), source
        assert not said, source


@pytest.mark.slow
@pytest.mark.parametrize("part", first_alone(range(3)))
def test_cells_run(nbformat, tmp_path, run_python, part):
    """Run every third notebook with its solutions in forks of one process, not in kernels."""
    pytest.importorskip("IPython")
    sources = {path.stem: sources_of(read(nbformat, path)) for path in NOTEBOOKS[part::3]}
    pieces = {name: f"run_cells({cells!r}, {str(tmp_path)!r})" for name, cells in sources.items()}
    printed = json.loads(run_python(SHELL + IN_COPIES.format(pieces=pieces)))
    with cases() as case:
        for name, cells in sources.items():
            with case(name):
                check_shown(cells, json.loads(printed[name]))
    assert not list(tmp_path.iterdir())


@pytest.mark.slow
@pytest.mark.parametrize("path", first_alone(NOTEBOOKS), ids=lambda path: path.stem)
def test_runs(nbformat, path, tmp_path, monkeypatch):
    """Every piece of code runs in a kernel, and after it the solutions."""
    nbclient = pytest.importorskip("nbclient", reason="notebooks run with nbclient: pip install 'roofslate[test]'")
    pytest.importorskip("ipykernel", reason="notebooks run in ipykernel: pip install 'roofslate[test]'")
    page = str(Path(roofslate.__file__).resolve().parents[1])  # the kernel takes the package that is tested
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([page, *filter(None, [os.environ.get("PYTHONPATH")])]))
    notebook = read(nbformat, path)
    notebook.cells = [nbformat.v4.new_code_cell(source) for source in sources_of(notebook)]
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    shown = [
        (
            any("image/png" in o.get("data", {}) for o in cell.outputs),
            "".join(o.text for o in cell.outputs if o.get("name") == "stderr"),
        )
        for cell in notebook.cells
    ]
    check_shown([cell.source for cell in notebook.cells], shown)
    assert not list(tmp_path.iterdir())
