"""Edges of the command line: pipes, closed streams, Ctrl-C during imports, long words."""

import os
import signal
import subprocess
import sys
import time

import pytest
from click.testing import CliRunner
from roofslate.cli import main
from support.processes import INTERRUPTIBLE

NINES = "9" * 5000
posix = pytest.mark.skipif(os.name != "posix", reason="pipes and signals of POSIX")


def shell(command, cwd):
    """Run `roofslate` in a shell."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    line = command.replace("roofslate", f"'{sys.executable}' -m roofslate")
    return subprocess.run(
        ["/bin/sh", "-c", line], capture_output=True, text=True, cwd=cwd, env=environment, check=False
    )


@posix
def test_a_pipe_is_written_as_it_stands(tmp_path):
    done = shell("roofslate evaluate pass_tokens batch_size=1,2 -f csv -o /dev/stdout | cat", tmp_path)
    assert (done.stdout, done.stderr) == ("batch_size,pass_tokens\n1.0,1.0\n2.0,2.0\n", "")


@posix
def test_what_is_appended_to_keeps_its_beginning(tmp_path):
    (tmp_path / "log").write_text("before\n")
    done = shell("roofslate evaluate pass_tokens batch_size=1 -f csv -o /dev/stdout >> log", tmp_path)
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "log").read_text() == "before\npass_tokens\n1.0\n"


@posix
@pytest.mark.parametrize("words", ["-f csv", "", "-f json"])
def test_a_closed_output_is_an_error_in_one_line(tmp_path, words):
    done = shell(f"roofslate evaluate pass_tokens batch_size=1 {words} >&-", tmp_path)
    assert (done.returncode, done.stderr) == (2, "roofslate: standard output is closed\n")


@posix
def test_streams_that_are_not_needed_may_be_closed(tmp_path):
    done = shell("roofslate evaluate pass_tokens batch_size=1 -o out.csv >&- 2>&-", tmp_path)
    assert done.returncode == 0
    assert (tmp_path / "out.csv").read_text() == "pass_tokens\n1.0\n"


@posix
def test_ctrl_c_while_modules_load():
    """Whenever it comes, once the package is entered: 130, and not a word."""
    program = (
        f"{INTERRUPTIBLE}\nimport sys\nimport roofslate.__main__ as entry\nload = entry.import_module\n"
        "def announced(name):\n    print(flush=True)\n    return load(name)\n"
        "entry.import_module = announced\nsys.argv[0] = 'roofslate'\nentry.start()"
    )
    command = [sys.executable, "-c", program, "evaluate", "pass_tokens", "batch_size=1:9:20000000", "-f", "csv"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    for after in (0.01, 0.04, 0.08, 0.15):
        with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=environment) as running:
            running.stdout.readline()
            time.sleep(after)
            running.send_signal(signal.SIGINT)
            _, said = running.communicate(timeout=20)
        assert (running.returncode, said.strip()) == (130, b""), after


@pytest.mark.parametrize(
    "words",
    [
        ["evaluate", "pass_tokens", "batch_size=1", "--threads", NINES],
        ["evaluate", "pass_tokens", "batch_size=1", "--threads", " ".join(NINES)],
        ["evaluate", "pass_tokens", "batch_size=1", "--format", NINES],
        ["evaluate", "pass_tokens", "batch_size=1", f"--{NINES}"],
        ["evaluate", "pass_tokens", f"batch_size=1:2:{NINES}"],
        ["evaluate", "pass_tokens", f"batch_size=1:2:x{NINES}"],
        ["evaluate", "pass_tokens", "batch_size=1:2:99999999999999999999"],
        ["evaluate", "pass_tokens", "batch_size=1:2:1000000000000:log"],
        ["explain", "hbm_drain_time", "hardware=H100", "--depth", NINES],
        ["lecture", "--chapter", NINES],
    ],
    ids=lambda words: " ".join(words)[:60],
)
def test_long_words_are_not_repeated(words):
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 2
    assert len(done.output) < 1200
    assert done.output.count("\n") == 1
