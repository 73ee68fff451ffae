"""Temporary names of unfinished files: long names, killed and live writers, planted links."""

import os
import subprocess
import sys

import pytest
from roofslate._base import files

pytestmark = pytest.mark.skipif(os.name != "posix", reason="locks of POSIX")


def names(folder):
    return sorted(path.name for path in folder.iterdir())


@pytest.mark.parametrize("name", ["a" * 255, "ö" * 127, "a" * 238, "x"])
def test_a_name_may_be_as_long_as_names_are(tmp_path, name):
    with files.whole_file(tmp_path / name) as stream:
        stream.write(b"new")
        (unfinished,) = names(tmp_path)
        assert unfinished.startswith(".")
        assert unfinished.endswith(".partial")
    assert (tmp_path / name).read_bytes() == b"new"
    assert names(tmp_path) == [name]


def test_what_a_killed_process_left_is_removed(tmp_path, run_python):
    target = tmp_path / "out"
    killed = run_python(
        "import os, signal\n"
        "from roofslate._base import files\n"
        f"with files.whole_file({str(target)!r}) as stream:\n"
        "    os.kill(os.getpid(), signal.SIGKILL)\n",
        check=False,
    )
    assert killed.returncode == -9
    assert names(tmp_path) == [".out.0.partial"]
    files.write(target, "new")
    assert names(tmp_path) == ["out"]
    assert target.read_text() == "new"


def test_two_write_one_target(tmp_path):
    target = tmp_path / "out"
    with files.whole_file(target) as first:
        first.write(b"first")
        files.write(target, "second")
        assert target.read_text() == "second"
        assert names(tmp_path) == [".out.0.partial", "out"]
    assert target.read_text() == "first"
    assert names(tmp_path) == ["out"]


def test_what_others_planted_stays(tmp_path):
    precious = tmp_path / "precious"
    precious.write_text("mine")
    (tmp_path / ".out.0.partial").symlink_to(precious)
    os.mkfifo(tmp_path / ".out.1.partial")
    (tmp_path / ".out.2.partial").mkdir()
    files.write(tmp_path / "out", "new")
    assert precious.read_text() == "mine"
    assert names(tmp_path) == [".out.0.partial", ".out.1.partial", ".out.2.partial", "out", "precious"]


def test_a_file_of_another_process_stays(tmp_path):
    """A lock is held as long as the process lives."""
    target = tmp_path / "out"
    program = (
        "import sys\n"
        "from roofslate._base import files\n"
        f"with files.whole_file({str(target)!r}) as stream:\n"
        "    print('writes', flush=True)\n"
        "    sys.stdin.read()\n"
        "    stream.write(b'theirs')\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}
    with subprocess.Popen(
        [sys.executable, "-c", program], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=environment
    ) as other:
        assert other.stdout.readline() == b"writes\n"
        files.write(target, "mine")
        assert names(tmp_path) == [".out.0.partial", "out"]
        other.stdin.close()
        assert other.wait(20) == 0
    assert target.read_text() == "theirs"
    assert names(tmp_path) == ["out"]
