"""Tasks of a newcomer, done with the pages, an empty folder, a fresh Python, and a shell.

A page is followed from its top to the end of the section of the task, and its output is the output that it shows.
"""

import os
import re
import subprocess
import sys
from pathlib import Path

import pytest
import roofslate
from support import ROOT
from support.slices import first_alone

CHIP = "docs/how-to/add-a-chip-or-a-model.md"
# task: page, section, words required in the section, files that remain
TASKS = {
    "first evaluation": ("docs/tutorial.md", "Explain the difference", ["rs.explain(", 'calibration="serving"'], []),
    "own scenario": ("docs/tutorial.md", "Your own scenario", ["mine = dict("], []),
    "add a chip": (CHIP, "For a session", ["rs.hardware.define("], []),
    "add a model from config.json": (CHIP, "A model from its config.json", ["Model.from_config(config"], []),
    "keep a chip in a file": (CHIP, "In a file", ["rs.load_presets("], ["ours.toml"]),
    "define a quantity": ("docs/how-to/define-a-quantity.md", None, ["rs.define("], []),
    "sweep a CSV": (
        "docs/how-to/sweep-in-pandas.md",
        "A CSV file, at the shell",
        ["$ roofslate sweep scenarios.csv"],
        ["scenarios.csv", "results.csv"],
    ),
    "decide at the shell": (
        "docs/how-to/work-at-the-shell.md",
        "Look up names",
        ["$ roofslate models gpt-oss", "$ roofslate hardware mi3"],
        ["tpot.svg"],
    ),
    "answer an assistant": ("docs/how-to/answer-an-assistant.md", "Tools", ["| `deploy` |"], []),
    "reproduce C2 and C20": (
        "docs/how-to/draw-a-chart.md",
        "A chart of the lecture with your scenario",
        ["C2,", "C20,", "rs.charts.latency_vs_batch()", "rs.charts.cost_vs_context()", "2,400 sequences"],
        ["latency.pdf"],
    ),
    "calibrate": ("docs/how-to/calibrate-to-your-measurements.md", "Fit constants", ["rs.calibrate("], ["results"]),
    "run on dask": (
        "docs/how-to/use-many-machines.md",
        "On this machine's processors, and on a cluster",
        ["LocalCluster(", "again.identical(cheapest)"],
        [],
    ),
}
FOLLOW = """
import subprocess, sys
from pathlib import Path

sys.path.insert(0, sys.argv[1])
import page_code as docs

def run_command(command):
    done = subprocess.run(command, shell=True, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout

if __name__ == "__main__":
    docs.run_command = run_command
    with docs.reader(Path.cwd()):
        for code, shown, came in docs.outputs(Path("../page.md")):
            if shown is not None and not docs.CHECK.check_output(shown, came, docs.LOOSE):
                sys.exit(f"{code}\\nshows\\n{came}\\nand the page says\\n{shown}")
"""


def read_until(text, section):
    """Return the page up to the end of a section, and the section, by default the first."""
    parts = re.split(r"^(?=## )", text, flags=re.MULTILINE)
    titles = [part.partition("\n")[0].removeprefix("## ") for part in parts]
    assert section is None or section in titles, f"no section {section!r} among {titles}"
    end = 1 if section is None else titles.index(section)
    return "".join(parts[: end + 1]), parts[end] if section else "".join(parts[:2])


@pytest.mark.slow
@pytest.mark.parametrize("task", first_alone(TASKS))
def test_task(task, tmp_path):
    page, section, expected, remaining = TASKS[task]
    text, part = read_until((ROOT / page).read_text(encoding="utf-8"), section)
    for words in expected:
        assert words in part
    (tmp_path / "page.md").write_text(text, encoding="utf-8")
    (tmp_path / "follow.py").write_text(FOLLOW, encoding="utf-8")
    folder, programs = tmp_path / "empty", tmp_path / "programs"
    folder.mkdir()
    programs.mkdir()
    (programs / "roofslate").write_text(f'#!/bin/sh\nexec "{sys.executable}" -m roofslate "$@"\n', encoding="utf-8")
    (programs / "roofslate").chmod(0o755)
    places = [str(Path(roofslate.__file__).parents[1]), *filter(None, [os.environ.get("PYTHONPATH")])]
    environment = {
        **os.environ,
        "PATH": f"{programs}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": os.pathsep.join(places),
        "MPLBACKEND": "Agg",
    }
    command = [sys.executable, str(tmp_path / "follow.py"), str(ROOT / "python" / "tools")]
    done = subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert sorted(path.name for path in folder.iterdir()) == sorted(remaining)


def test_the_pages_say_how_to_install():
    """The block for the shell is a target of the Makefile, which needs nothing before it."""
    _, part = read_until((ROOT / "docs/tutorial.md").read_text(encoding="utf-8"), "Install")
    (block,) = re.findall(r"^```sh\n(.*?)^```", part, flags=re.MULTILINE | re.DOTALL)
    assert block.split() == ["make", "notebook"]
    # As from a user's shell, also if a make runs the tests. It would make this one print its folders.
    environment = {key: text for key, text in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(
        ["make", "-n", "notebook"], cwd=ROOT, env=environment, capture_output=True, text=True, check=True
    )
    setup, opened = done.stdout.splitlines()
    assert setup.startswith(".ci/setup ")
    assert "jupyter" in setup.split()  # which it opens
    program, notebook = opened.split()[-1].partition("notebooks/")[1:]
    assert "jupyter lab" in opened
    assert (ROOT / program / notebook).is_file()


if "ROOFSLATE_TEST_INSTALL" in os.environ:  # needs a network and minutes

    def test_install(tmp_path):
        """In a clone, with nothing built: the tutorial's command, and then its start command."""
        clone = tmp_path / "clone"
        subprocess.run(["git", "clone", "-q", str(ROOT), str(clone)], check=True)
        environment = {key: text for key, text in os.environ.items() if key not in ("PYTHONPATH", "VIRTUAL_ENV")}
        subprocess.run(["make", "lecture"], cwd=clone, env=environment, check=True)
        code = "import roofslate as rs; print(rs.value('hbm_drain_time', hardware='H100'))"
        done = subprocess.run(
            [clone / ".venv/bin/python", "-c", code], env=environment, capture_output=True, text=True, check=True
        )
        assert done.stdout == "0.023880597014925373\n"
