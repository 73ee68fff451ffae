"""Notebooks in marimo: each is converted, and runs as a program."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import roofslate
from support import ROOT
from support.lazy import needs
from support.slices import first_alone

pytestmark = needs("marimo", reason="notebooks run in marimo: pip install 'roofslate[marimo]'")

NOTEBOOKS = sorted((ROOT / "notebooks").glob("*.ipynb"))


def run(folder, *words):
    source = str(Path(roofslate.__file__).resolve().parents[1])
    environment = {**os.environ, "MPLBACKEND": "Agg"}
    environment["PYTHONPATH"] = os.pathsep.join([source, *filter(None, [os.environ.get("PYTHONPATH")])])
    command = [sys.executable, *words]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)


@pytest.mark.slow
@pytest.mark.parametrize("path", first_alone(NOTEBOOKS), ids=lambda path: path.stem)
def test_a_converted_notebook_runs(path, tmp_path):
    """With the assertions of its numbers, and with every name defined once."""
    done = run(tmp_path, "-m", "marimo", "convert", str(path), "-o", "converted.py")
    assert done.returncode == 0, done.stderr
    code = (tmp_path / "converted.py").read_text(encoding="utf-8")
    assert "assert " in code
    assert code.count("@app.cell") > 5
    done = run(tmp_path, "converted.py")
    assert done.returncode == 0, done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.slow
def test_a_wrong_number_would_be_seen(tmp_path):
    """An assertion that fails ends the program."""
    source = NOTEBOOKS[0].read_text(encoding="utf-8")
    (tmp_path / "wrong.ipynb").write_text(source.replace('"assert ', '"assert not '), encoding="utf-8")
    assert run(tmp_path, "-m", "marimo", "convert", "wrong.ipynb", "-o", "wrong.py").returncode == 0
    done = run(tmp_path, "wrong.py")
    assert done.returncode != 0
    assert "AssertionError" in done.stderr
