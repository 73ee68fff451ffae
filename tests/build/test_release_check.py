"""The checklist of a release: each fault is named with the next action."""

from __future__ import annotations

import datetime
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest
import release_check
from support import ROOT

VERSION = "1.2.3"
DATE = "2026-01-31"
TIME = 1_769_860_801  # of the commit, odd: archives know even seconds
TAGS = ("cp310", "cp311")
PYTHONS = "#!/bin/sh\n" + "".join(f"echo ./{tag}\n" for tag in TAGS)
FILES = {
    "python/roofslate/_base/version.py": f'"""The version."""\n\n__version__ = "{VERSION}"\n',
    "CITATION.cff": f"cff-version: 1.2.0\nversion: {VERSION}\ndate-released: {DATE}\n",
    ".ci/conda/meta.yaml": f'{{% set version = "{VERSION}" %}}\n',
    ".ci/pythons": PYTHONS,
    "CHANGELOG.md": f"# Changelog\n\n## {VERSION} ({DATE})\n\n- Add a thing.\n\n## 1.2.2 (2026-01-01)\n\n- Older.\n",
    "README.md": "# Top\n\nSee [a page](docs/index.md#a-part), [here](#top) and <https://example.org/a_(b)>.\n",
    "docs/conf.py": 'project = "probe"\nextensions = ["myst_parser"]\nmyst_heading_anchors = 3\n',
    "docs/index.md": "# Index\n\n## A part\n\n`[no](link)`\n",
    ".gitignore": "/build/\n/dist/\n/cp3*\n",
}


def git(folder: Path, *arguments: str) -> str:
    names = ("-c", "user.name=a", "-c", "user.email=a@example.org", "-c", "commit.gpgsign=false")
    environment = {"GIT_COMMITTER_DATE": f"{TIME} +0000", "PATH": "/usr/bin:/bin", "HOME": str(folder)}
    command = ["git", *names, *arguments]
    return subprocess.run(command, cwd=folder, env=environment, capture_output=True, text=True, check=True).stdout


def write_wheel(path: Path, time: int = TIME) -> None:
    path.parent.mkdir(exist_ok=True)
    moment = datetime.datetime.fromtimestamp(time, tz=datetime.timezone.utc)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr(zipfile.ZipInfo("roofslate/__init__.py", moment.timetuple()[:6]), "pass\n")


def wheel(folder: Path, tag: str, architecture: str) -> Path:
    name = f"roofslate-{VERSION}-{tag}-{tag}-manylinux2014_{architecture}.manylinux_2_17_{architecture}.whl"
    return folder / "dist" / name


@pytest.fixture
def tree(tmp_path: Path) -> Path:
    """A tree that is ready for a release."""
    for name, text in FILES.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_text(text, encoding="utf-8")
    (tmp_path / ".ci/pythons").chmod(0o755)
    for tag in TAGS:
        start = tmp_path / tag
        start.write_text(f"#!/bin/sh\necho {tag}\n", encoding="utf-8")
        start.chmod(0o755)
        for architecture in release_check.ARCHITECTURES:
            write_wheel(wheel(tmp_path, tag, architecture))
    (tmp_path / "dist" / f"roofslate-{VERSION}.tar.gz").touch()
    git(tmp_path, "init", "-q")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "Release")
    (tmp_path / "build").mkdir()
    (tmp_path / "build/gate").write_text(git(tmp_path, "rev-parse", "HEAD"), encoding="utf-8")
    return tmp_path


@pytest.fixture(autouse=True)
def _inside(tree: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tree)  # the interpreters of the tree have relative names


def walk(tree: Path, *steps: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(ROOT / "python/tools/release_check.py"), "--root", str(tree), *steps]
    return subprocess.run(command, cwd=tree, capture_output=True, text=True, check=False)


def replace(tree: Path, name: str, old: str, new: str) -> None:
    text = (tree / name).read_text(encoding="utf-8")
    assert old in text
    (tree / name).write_text(text.replace(old, new), encoding="utf-8")


def test_a_good_tree_passes_every_step(tree: Path) -> None:
    pytest.importorskip("myst_parser", reason="pip install 'roofslate[dev]'")
    done = walk(tree)
    assert done.returncode == 0, done.stdout + done.stderr
    lines = done.stdout.splitlines()
    assert [line.split()[:2] for line in lines[:-1]] == [["ok", step] for step in release_check.STEPS]
    assert lines[-1].startswith(f"ready: git tag v{VERSION}")


BROKEN = {  # step: file, text, its replacement, message
    "no version": (
        "versions",
        "python/roofslate/_base/version.py",
        VERSION,
        "1.2rc",
        "'1.2rc', expected three numbers",
    ),
    "citation": ("versions", "CITATION.cff", VERSION, "1.2.2", "CITATION.cff: the version is 1.2.2, set it to 1.2.3"),
    "conda": ("versions", ".ci/conda/meta.yaml", VERSION, "1.2", ".ci/conda/meta.yaml: the version is 1.2, set it to"),
    "other section": ("versions", "CHANGELOG.md", VERSION, "1.2.4", "the first section is 1.2.4, expected 1.2.3"),
    "no date": ("changelog", "CHANGELOG.md", DATE, "unreleased", "section 1.2.3 has 'unreleased', expected the date"),
    "future": ("changelog", "CHANGELOG.md", DATE, "9999-01-31", "9999-01-31 is in the future"),
    "cited date": (
        "changelog",
        "CITATION.cff",
        DATE,
        "2026-01-30",
        "date-released is 2026-01-30, set it to 2026-01-31",
    ),
    "no change": ("changelog", "CHANGELOG.md", "- Add a thing.\n", "", "section 1.2.3 lists no change"),
    "no page": (
        "links",
        "README.md",
        "docs/index.md",
        "docs/other.md",
        "README.md: the link docs/other.md#a-part has no",
    ),
    "no heading": ("links", "README.md", "#a-part", "#b-part", "has a page, but no such heading in it"),
    "no host": (
        "links",
        "README.md",
        "https://example.org",
        "https://example",
        "https://example/a_(b) has no valid host",
    ),
    "scheme": (
        "links",
        "README.md",
        "[here](#top)",
        "[here](htp://example.org)",
        "has an unknown scheme, expected https",
    ),
    "page": ("docs", "docs/index.md", "`[no](link)`", "[no](nowhere.md)", "mend the documentation: "),
}


@pytest.mark.parametrize("fault", BROKEN)
def test_a_fault_is_named(tree: Path, fault: str) -> None:
    step, name, old, new, sentence = BROKEN[fault]
    if step == "docs":
        pytest.importorskip("myst_parser", reason="pip install 'roofslate[dev]'")
    else:
        assert release_check.failures(tree, step) == []
    replace(tree, name, old, new)
    done = walk(tree, step)
    assert done.returncode == 1
    assert done.stdout.startswith(f"to do  {step}")
    assert sentence in done.stdout


def test_a_file_that_is_not_committed(tree: Path) -> None:
    assert release_check.failures(tree, "tree") == []
    (tree / "forgotten.txt").touch()
    replace(tree, "README.md", "Top", "Other top")
    assert release_check.failures(tree, "tree") == ["commit or remove README.md", "commit or remove forgotten.txt"]


def test_the_gate_has_passed_for_another_commit(tree: Path) -> None:
    assert release_check.failures(tree, "gate") == []
    git(tree, "commit", "--allow-empty", "-qm", "Later")
    (action,) = release_check.failures(tree, "gate")
    assert action.startswith("run .ci/run: it has passed for ")
    (tree / "build/gate").unlink()
    (action,) = release_check.failures(tree, "gate")
    assert action.startswith("run .ci/run: it has passed for no commit")


def test_wheels_that_are_missing_old_or_damaged(tree: Path) -> None:
    assert release_check.failures(tree, "wheels") == []
    wheel(tree, "cp310", "x86_64").unlink()
    write_wheel(wheel(tree, "cp311", "x86_64"), TIME - 60)
    damaged = wheel(tree, "cp311", "aarch64")
    damaged.write_bytes(damaged.read_bytes().replace(b"pass", b"fail"))
    (tree / "dist" / f"roofslate-{VERSION}.tar.gz").unlink()
    assert release_check.failures(tree, "wheels") == [
        f"run make wheels: dist/roofslate-{VERSION}.tar.gz is missing",
        f"run make wheels: there is no wheel of {VERSION} for cp310 on x86_64",
        f"run make wheels: {wheel(tree, 'cp311', 'x86_64').name} is of another commit, or damaged",
        f"run make wheels: {damaged.name} is of another commit, or damaged",
    ]


def test_every_step_is_named_and_no_other_is_taken(tree: Path) -> None:
    done = walk(tree, "wheel")
    assert done.returncode == 2
    assert "unknown step wheel; the steps are tree, versions," in done.stderr
