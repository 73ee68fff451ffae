"""The set-up shows its phases, a line each with the seconds that it took."""

import os
import pty
import re
import subprocess

import pytest
from support import ROOT

SETUP = (ROOT / ".ci" / "setup").read_text(encoding="utf-8")
FRAME = """
set -eu
build=$1/build log=$1/log
say() {{ printf 'roofslate: %s\\n' "$*"; }}
stop() {{ say "$*" >&2; exit 1; }}
{functions}
begin "compiling the core"
quietly "It failed: see above." {command}
finish
"""


def program(command):
    """The functions of the script around one phase."""
    functions = SETUP[SETUP.index("# Runs a command silently") : SETUP.index("system_packages() {")]
    return FRAME.format(functions=functions, command=command)


def test_without_a_terminal_a_phase_is_one_line(tmp_path):
    done = subprocess.run(
        ["sh", "-c", program("sh -c 'echo noise; sleep 2'"), "sh", str(tmp_path)],
        capture_output=True,
        text=True,
        check=True,
    )
    assert re.fullmatch(r"roofslate: compiling the core, [2-9]\d? s\n", done.stdout)
    assert done.stderr == ""


def test_a_terminal_shows_seconds_and_compiled_files(tmp_path):
    (tmp_path / "build").mkdir()
    (tmp_path / "build" / "build.ninja").write_text("build a.o: cc a.c\nbuild b.o: cc b.c\n", encoding="utf-8")
    (tmp_path / "build" / "begun").touch()
    os.utime(tmp_path / "build" / "begun", (0, 0))
    (tmp_path / "build" / "a.o").touch()
    reading, writing = pty.openpty()
    running = subprocess.Popen(["sh", "-c", program("sleep 3"), "sh", str(tmp_path)], stdout=writing, close_fds=True)
    assert running.wait(60) == 0
    os.close(writing)
    shown = os.read(reading, 10_000).decode()
    os.close(reading)
    assert re.search(r"\rroofslate: compiling the core, [1-9]\d? s, 1 of 2 files compiled", shown)
    assert re.search(r"\rroofslate: compiling the core, [3-9]\d? s +\r?\n$", shown)


def test_a_failure_shows_the_log_and_the_sentence(tmp_path):
    done = subprocess.run(
        ["sh", "-c", program("sh -c 'echo the cause; exit 3'"), "sh", str(tmp_path)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1
    assert done.stderr == "the cause\nroofslate: It failed: see above.\n"


@pytest.mark.parametrize("target", ["lecture", "notebook", "test", "quick", "docs"])
def test_targets_set_up_first(target):
    environment = {key: text for key, text in os.environ.items() if key not in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS")}
    done = subprocess.run(["make", "-n", target], cwd=ROOT, env=environment, capture_output=True, text=True, check=True)
    assert done.stdout.startswith(".ci/setup ")


def test_the_lecture_needs_no_packages_of_tests():
    """GoogleTest is installed for tests only, Google Benchmark never."""
    packages = SETUP[SETUP.index("needed=") : SETUP.index("for package in $needed")]
    assert re.search(r'\*" test "\*\) needed="\$needed libgtest-dev"', packages)
    assert "benchmark" not in SETUP
