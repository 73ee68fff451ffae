"""Full disks: the error is a sentence that names the file, and the target is unchanged.

No partial file remains.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import roofslate as rs

ROOMS = (0, 8192, 65_536)  # bytes
COMMANDS: dict[str, list[str]] = {
    "out.csv": ["evaluate", "pass_tokens", "batch_size=1:1000:9000", "-o"],
    "out.json": ["evaluate", "pass_tokens", "batch_size=1:1000:9000", "-o"],
    "out.parquet": ["evaluate", "pass_tokens", "batch_size=1:1000:30000", "-o"],
    "swept.csv": ["sweep", "SOURCE", "--outputs", "pass_tokens", "--overwrite", "-o"],
    "swept.parquet": ["sweep", "SOURCE", "--outputs", "pass_tokens", "--overwrite", "-o"],
    "rows.csv": ["validate", "--rows"],
}
# On a small disk, which ends with the process, or with files of limited size if no disk can be mounted.
PROGRAM = """
import json, os, pathlib, resource, signal, sys
from click.testing import CliRunner
from roofslate.cli import main

folder, source, mounted, commands, rooms = json.loads(sys.argv[1])
folder = pathlib.Path(folder)
results = []
for name, words in commands.items():
    for room in rooms:
        for path in folder.iterdir():
            path.unlink()
        target = folder / name
        target.write_bytes(b"precious" * 100)
        if mounted:
            disk = os.statvfs(folder)
            with (folder / "filler").open("wb") as filler:
                filler.write(bytes(max(0, disk.f_bavail * disk.f_frsize - room)))
        else:
            signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
            resource.setrlimit(resource.RLIMIT_FSIZE, (room, resource.RLIM_INFINITY))
        done = CliRunner().invoke(main, [source if word == "SOURCE" else word for word in words] + [str(target)])
        if not mounted:
            resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))
        left = sorted(path.name for path in folder.iterdir() if path.name != "filler")
        results.append([name, room, done.exit_code, done.stderr, done.stdout, target.read_bytes().decode()[:8], left])
        if name == "rows.csv":
            break
print(json.dumps(results))
"""


def can_mount(folder: Path) -> bool:
    words = ["unshare", "-rm", "mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(folder)]
    try:
        return subprocess.run(words, capture_output=True, check=False).returncode == 0
    except FileNotFoundError:
        return False


def test_no_room(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow", reason="rs.sweep needs pyarrow")
    disk, source = tmp_path / "disk", tmp_path / "in.csv"
    disk.mkdir()
    source.write_text("\n".join(["batch_size", *map(str, range(1, 20_001))]), encoding="utf-8")
    mounted = can_mount(disk)
    task = json.dumps([str(disk), str(source), mounted, COMMANDS, ROOMS])
    command = [sys.executable, "-c", PROGRAM, task]
    if mounted:
        mount = f"mount -t tmpfs -o size=256k tmpfs '{disk}' && exec \"$@\""
        command = ["unshare", "-rm", "sh", "-c", mount, "sh", *command]
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment())
    assert done.returncode == 0, done.stderr
    results: list[Any] = json.loads(done.stdout)
    assert len(results) == 3 * len(COMMANDS) - 2
    for name, free, status, said, shown, content, remaining in results:
        case = name, free, said
        assert status == 2, case
        assert len(said.splitlines()) == 1, case
        assert f"{name}: {'No space left' if mounted else 'File too large'}" in said, case
        assert shown == "", case
        assert (content, remaining) == ("precious", [name]), case
    assert [*disk.iterdir()] == [] or not mounted


def environment() -> dict[str, str]:
    paths = [str(Path(rs.__file__).parents[1]), os.environ.get("PYTHONPATH", "")]
    return {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, paths))}
