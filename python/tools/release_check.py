"""Check the steps of a release, and print `ok` or the next action for each.

``make release-check`` runs all steps. A subset runs by name, in the order of the checklist::

    python python/tools/release_check.py tree versions changelog

The exit code is 1 if any step fails. No step changes the tree, and none needs a network.
"""

from __future__ import annotations

import argparse
import datetime
import importlib.util
import re
import subprocess
import sys
import zipfile
from collections.abc import Callable
from pathlib import Path
from urllib.parse import urlsplit

ROOT = Path(__file__).resolve().parents[2]
ARCHITECTURES = ("x86_64", "aarch64")
GATE = Path("build/gate")  # .ci/run writes the commit that passed
VERSION = re.compile(r"[0-9]+\.[0-9]+\.[0-9]+")
LINK = re.compile(r"(?<!!)\[[^\]]*\]\(([^)\s]+)\)|!\[[^\]]*\]\(([^)\s]+)\)|<(https?://[^>\s]+)>")
CODE = re.compile(r"^(```|~~~).*?^\1|`[^`\n]+`", re.MULTILINE | re.DOTALL)
HOST = re.compile(r"(?:[a-z0-9](?:[a-z0-9-]*[a-z0-9])?\.)+[a-z]{2,}", re.IGNORECASE)

__all__ = ["STEPS", "failures"]


def failures(root: Path, step: str) -> list[str]:
    """Return the next actions of one step, none if it passes."""
    return STEPS[step](root)


def _git(root: Path, *arguments: str) -> str:
    done = subprocess.run(["git", "-C", root, *arguments], capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"git {' '.join(arguments)}: {done.stderr.strip()}")
    return done.stdout.rstrip("\n")


def _version(root: Path) -> str:
    text = (root / "python/roofslate/_base/version.py").read_text(encoding="utf-8")
    match = re.search(r'^__version__ = "(.+)"$', text, re.MULTILINE)
    return match[1] if match else ""


def _release(root: Path) -> tuple[str, str, str]:
    """First heading of the changelog as version and date, and the text below it."""
    text = (root / "CHANGELOG.md").read_text(encoding="utf-8")
    sections = re.split(r"^## ", text, flags=re.MULTILINE)
    heading, _, body = (sections[1] if len(sections) > 1 else "").partition("\n")
    version, _, date = heading.partition(" ")
    return version, date.strip().strip("()"), body.strip()


def clean_tree(root: Path) -> list[str]:
    changed = _git(root, "status", "--porcelain").splitlines()
    return [f"commit or remove {line[3:]}" for line in changed]


def versions_agree(root: Path) -> list[str]:
    version = _version(root)
    if not VERSION.fullmatch(version):
        return [f"python/roofslate/_base/version.py: __version__ is '{version}', expected three numbers, such as 1.2.3"]
    quoted = {
        "CITATION.cff": r"^version: (.+)$",
        ".ci/conda/meta.yaml": r'^{% set version = "(.+)" %}$',
    }
    actions = []
    for name, pattern in quoted.items():
        match = re.search(pattern, (root / name).read_text(encoding="utf-8"), re.MULTILINE)
        if match is None or match[1] != version:
            actions.append(f"{name}: the version is {match[1] if match else 'missing'}, set it to {version}")
    heading = _release(root)[0]
    if heading != version:
        actions.append(f"CHANGELOG.md: the first section is {heading or 'missing'}, expected {version}")
    return actions


def changelog_dated(root: Path) -> list[str]:
    version, date, body = _release(root)
    actions = []
    try:
        day = datetime.date.fromisoformat(date)
    except ValueError:
        actions.append(
            f"CHANGELOG.md: section {version} has '{date}', expected the date, such as '## 1.2.3 (2026-01-31)'"
        )
    else:
        if day > datetime.datetime.now(tz=datetime.timezone.utc).date():
            actions.append(f"CHANGELOG.md: {date} is in the future")
        cited = re.search(
            r"^date-released: ['\"]?([0-9-]+)", (root / "CITATION.cff").read_text(encoding="utf-8"), re.MULTILINE
        )
        if cited is None or cited[1] != date:
            actions.append(f"CITATION.cff: date-released is {cited[1] if cited else 'missing'}, set it to {date}")
    if not re.search(r"^- ", body, re.MULTILINE):
        actions.append(f"CHANGELOG.md: section {version} lists no change")
    return actions


def gate_passed(root: Path) -> list[str]:
    commit = _git(root, "rev-parse", "HEAD")
    passed = (root / GATE).read_text(encoding="utf-8").strip() if (root / GATE).exists() else "no commit"
    return [] if passed == commit else [f"run .ci/run: it has passed for {passed[:12]}, not for {commit[:12]}"]


def wheels_built(root: Path) -> list[str]:
    """Check that source archive and wheels are of this version and this commit.

    There is one wheel for each Python and architecture.
    """
    version = _version(root)
    done = subprocess.run([root / ".ci/pythons", "all"], capture_output=True, text=True, check=True)
    tags = [_tag(python) for python in done.stdout.split()]
    built = datetime.datetime.fromtimestamp(int(_git(root, "log", "-1", "--format=%ct")), tz=datetime.timezone.utc)
    actions = []
    if not (root / "dist" / f"roofslate-{version}.tar.gz").exists():
        actions.append(f"run make wheels: dist/roofslate-{version}.tar.gz is missing")
    for architecture in ARCHITECTURES:
        for tag in tags:
            wheels = sorted((root / "dist").glob(f"roofslate-{version}-{tag}-*manylinux*_{architecture}.whl"))
            if not wheels:
                actions.append(f"run make wheels: there is no wheel of {version} for {tag} on {architecture}")
            actions += [
                f"run make wheels: {path.name} is of another commit, or damaged"
                for path in wheels
                if not _is_of(path, built)
            ]
    return actions


def _tag(python: str) -> str:
    code = "import sys; print('cp%d%d' % sys.version_info[:2])"
    return subprocess.run([python, "-c", code], capture_output=True, text=True, check=True).stdout.strip()


def _is_of(wheel: Path, commit: datetime.datetime) -> bool:
    """Return True if a wheel is intact and its times equal the commit's, to two seconds."""
    try:
        with zipfile.ZipFile(wheel) as archive:
            times = {entry.date_time for entry in archive.infolist()}
            intact = archive.testzip() is None
    except zipfile.BadZipFile:
        return False
    return intact and times == {(*commit.timetuple()[:5], commit.second // 2 * 2)}


def docs_built(root: Path) -> list[str]:
    if importlib.util.find_spec("sphinx") is None:
        return ["install Sphinx: .ci/setup all dev"]
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto", "docs", "build/docs"]
    done = subprocess.run(command, cwd=root, capture_output=True, text=True, check=False)
    if done.returncode == 0:
        return []
    lines = [line for line in done.stderr.splitlines() if "WARNING" in line or "ERROR" in line]
    return [f"mend the documentation: {line}" for line in lines or done.stderr.splitlines()[-3:]]


def links_valid(root: Path) -> list[str]:
    """Check targets of links between files and the form of addresses, without a network."""
    names = _git(root, "ls-files", "*.md", "*.cff", "*.toml").splitlines()
    actions = []
    for name in names:
        text = (root / name).read_text(encoding="utf-8")
        if name.endswith(".md"):
            links = [next(filter(None, groups)) for groups in LINK.findall(CODE.sub("", text))]
        else:
            links = re.findall(r"https?:[^\s\"'<>,)\]}]*", text)
        actions += [f"{name}: {trouble}" for link in links if (trouble := _trouble(root, root / name, link))]
    return actions


def _trouble(root: Path, page: Path, link: str) -> str:
    if re.match(r"[a-z]+:", link):
        return _trouble_of_address(link)
    page_path, _, anchor = link.partition("#")
    target = (page.parent / page_path).resolve() if page_path else page
    if (root / "docs/reference/quantities") in target.parents:  # written while the site is built
        return ""
    if not target.exists():
        return f"the link {link} has no target"
    if anchor and target.suffix == ".md" and anchor not in _anchors(target.read_text(encoding="utf-8")):
        return f"the link {link} has a page, but no such heading in it"
    return ""


def _trouble_of_address(link: str) -> str:
    parts = urlsplit(link)
    if parts.scheme == "mailto":
        return "" if re.fullmatch(r"[^@\s]+@" + HOST.pattern, parts.path) else f"{link} is no address"
    if parts.scheme not in ("http", "https"):
        return f"{link} has an unknown scheme, expected https"
    return "" if HOST.fullmatch(parts.hostname or "") else f"{link} has no valid host"


def _anchors(text: str) -> set[str]:
    """Names of headings, as GitHub and MyST make them."""
    anchors: set[str] = set(re.findall(r"^\(([\w-]+)\)=$", text, re.MULTILINE))
    for heading in re.findall(
        r"^#+ +(.+?)\s*$", re.sub(r"^```.*?^```", "", text, flags=re.MULTILINE | re.DOTALL), re.MULTILINE
    ):
        words = re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", heading).lower()
        anchors.add(re.sub(r"[^\w\- ]", "", words).replace(" ", "-"))
    return anchors


STEPS: dict[str, Callable[[Path], list[str]]] = {
    "tree": clean_tree,
    "versions": versions_agree,
    "changelog": changelog_dated,
    "gate": gate_passed,
    "wheels": wheels_built,
    "docs": docs_built,
    "links": links_valid,
}
TITLES = {
    "tree": "nothing is uncommitted",
    "versions": "versions agree",
    "changelog": "the changelog has a date and changes",
    "gate": "the gate has passed for this commit",
    "wheels": "the source archive and all wheels are built",
    "docs": "the documentation builds without a warning",
    "links": "links have targets",
}
MOST_LINES = 10


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("steps", nargs="*", metavar="STEP", help=f"of {', '.join(STEPS)}; all by default")
    parser.add_argument("--root", type=Path, default=ROOT, help="tree to check")
    given = parser.parse_args()
    if unknown := [step for step in given.steps if step not in STEPS]:
        parser.error(f"unknown step {', '.join(unknown)}; the steps are {', '.join(STEPS)}")
    failed = 0
    for step in (name for name in STEPS if name in given.steps or not given.steps):
        actions = failures(given.root.resolve(), step)
        failed += bool(actions)
        print(f"{'to do' if actions else 'ok':5}  {step:9}  {TITLES[step]}", flush=True)
        for action in actions[:MOST_LINES]:
            print(f"         {action}")
        if len(actions) > MOST_LINES:
            print(f"         and {len(actions) - MOST_LINES} more")
    if failed:
        print(f"{failed} of {len(given.steps or STEPS)} steps are to do")
    elif not given.steps:
        print(f"ready: git tag v{_version(given.root)}, then publish dist/ and build/docs/")
    return min(1, failed)


if __name__ == "__main__":
    sys.exit(main())
