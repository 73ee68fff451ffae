"""Notebooks: valid, without stored output, and they run, the folded solutions of their exercises included."""

import os
import re
from pathlib import Path

import pytest
import roofslate
from support import ROOT

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
    """The format is 4.5 with ids, the kernel any Python 3, and nothing that a run leaves behind is stored."""
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


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_runs(nbformat, path, tmp_path, monkeypatch):
    """Every cell runs, and after them the solutions, without a warning shown to the reader."""
    nbclient = pytest.importorskip("nbclient", reason="notebooks run with nbclient: pip install 'roofslate[test]'")
    pytest.importorskip("ipykernel", reason="notebooks run in ipykernel: pip install 'roofslate[test]'")
    place = str(Path(roofslate.__file__).resolve().parents[1])  # the kernel takes the package that is tested
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([place, *filter(None, [os.environ.get("PYTHONPATH")])]))
    notebook = read(nbformat, path)
    words = "\n".join(cell.source for cell in notebook.cells if cell.cell_type == "markdown")
    solutions = [code for solution in SOLUTION.findall(words) for code in CODE.findall(solution)]
    notebook.cells += [nbformat.v4.new_code_cell(code) for code in solutions]
    client = nbclient.NotebookClient(
        notebook, timeout=300, kernel_name="python3", resources={"metadata": {"path": str(tmp_path)}}
    )
    client.execute()
    for cell in notebook.cells:
        drawn = cell.cell_type == "code" and re.search(r"rs\.(charts\.\w+|plot)\(", cell.source)
        assert not drawn or any("image/png" in o.get("data", {}) for o in cell.outputs), cell.source
    printed = [o.text for cell in notebook.cells for o in cell.get("outputs", []) if o.get("name") == "stderr"]
    assert not printed
    assert not list(tmp_path.iterdir())
