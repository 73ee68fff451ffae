"""Folders of the C++ core depend one way, and their lines are short."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CORE = ROOT / "cpp" / "roofslate"
LAYERS = (  # ground first: a file includes files of its folder and of earlier ones
    "language",
    "memory",
    "quantities",
    "graph",
    "simd",
    "bounds",
    "plan",
    "run",
    "folds",
    "derivatives",
    "solve",
    "sampling",
    "simulation",
    "web",
    "python",
)
COLUMNS = 120
SOURCES = sorted(
    path
    for folder in ("cpp", "tests/cpp", "tests/fuzz")
    for path in (ROOT / folder).rglob("*")
    if path.suffix in {".cpp", ".hpp"}
)


def includes(path: Path) -> list[str]:
    return re.findall(r'^ *# *include "([^"]+)"', path.read_text(encoding="utf-8"), re.MULTILINE)


def test_every_folder_is_a_layer() -> None:
    assert sorted(path.name for path in CORE.iterdir() if path.is_dir()) == sorted(LAYERS)


@pytest.mark.parametrize("layer", LAYERS)
def test_includes_run_down(layer: str) -> None:
    allowed = LAYERS[: LAYERS.index(layer) + 1]
    for path in sorted((CORE / layer).iterdir()):
        for header in includes(path):
            root, folder, *_ = header.split("/")
            if root == "roofslate":
                assert folder in allowed, f"{path.relative_to(ROOT)} includes {header}, of a layer above its own"
            else:
                assert (root, layer) == ("benchmarks", "python"), f"{path.relative_to(ROOT)} includes {header}"


@pytest.mark.parametrize("layer", LAYERS)
def test_headers_of_a_layer_include_no_circle(layer: str) -> None:
    below = {
        path.name: {Path(header).name for header in includes(path) if header.startswith(f"roofslate/{layer}/")}
        for path in (CORE / layer).glob("*.hpp")
    }
    while free := [name for name, needed in below.items() if not needed & below.keys()]:
        for name in free:
            del below[name]
    assert not below


def test_headers_are_included_by_their_path_from_the_root() -> None:
    for path in SOURCES:
        assert not re.search(r"#include <roofslate/", path.read_text(encoding="utf-8")), path
        if ROOT / "cpp" in path.parents:
            for header in includes(path):
                assert (ROOT / "cpp" / header).is_file(), f"{path.relative_to(ROOT)} includes {header}"


def test_lines_are_short() -> None:
    long = [
        f"{path.relative_to(ROOT)}:{number}: {len(line)} columns"
        for path in SOURCES
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if len(line) > COLUMNS
    ]
    assert not long, "\n".join(long)


def test_the_module_is_a_table_of_contents() -> None:
    lines = (CORE / "python" / "module.cpp").read_text(encoding="utf-8").splitlines()
    assert len(lines) <= 60
    bound = re.findall(r"^    (bind_\w+)\(m\);$", "\n".join(lines), re.MULTILINE)
    declared = re.findall(r"^    void (bind_\w+)\(", (CORE / "python/binding.hpp").read_text(), re.MULTILINE)
    assert sorted(bound) == sorted(declared)
