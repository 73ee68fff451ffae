"""clang-tidy sees every source of the core once, with the headers that the build finds."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest
import tidy

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def files(tmp_path: Path) -> list[Path]:
    def command(file: str, flags: str) -> dict[str, str]:
        return {"directory": "/b", "file": file, "command": f"c++ {flags} -O3 -Wall -std=c++17 -o x.o -c {file}"}

    commands = [
        command("/r/cpp/roofslate/plan/plan.cpp", "-DROOFSLATE_HAS_AVX2 -I/r/cpp"),
        command("/b/CMakeFiles/_core.dir/Unity/unity_0_cxx.cxx", "-I/r/cpp -isystem /p/pybind11 -isystem '/p q'"),
        command("/r/tests/cpp/test_plan.cpp", "-I/r/tests"),
    ]
    (tmp_path / "compile_commands.json").write_text(json.dumps(commands), encoding="utf-8")
    return tidy.write_sources(tmp_path, tmp_path / "lint")


def test_every_source_is_in_one_file(files: list[Path]) -> None:
    included = [line.split('"')[1] for file in files for line in file.read_text(encoding="utf-8").splitlines()]
    assert len(included) == len({*included})
    sources = {str(path.relative_to(tidy.ROOT / "cpp")) for path in tidy.CORE.rglob("*.cpp")}
    assert sources - {*included} == {f"roofslate/simd/{name}.cpp" for name in tidy.OTHER_FLAGS}
    headers = {name for name in included if name.endswith(".hpp")}
    assert headers == {f"roofslate/quantities/{path.name}" for path in (tidy.CORE / "quantities").iterdir()}
    assert files[0].stem == tidy.SLOWEST


def test_flags_are_those_of_the_build(files: list[Path]) -> None:
    entries = json.loads((files[0].parent / "compile_commands.json").read_text(encoding="utf-8"))
    assert [entry["file"] for entry in entries] == sorted(map(str, files))
    flags = ["-DROOFSLATE_HAS_AVX2", "-I/r/cpp", "-std=c++17", "-isystem", "/p/pybind11", "-isystem", "/p q"]
    for entry in entries:
        assert entry["arguments"] == ["c++", *flags, "-c", entry["file"]]


def test_says_when_clang_tidy_is_missing(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.setattr("shutil.which", lambda _: None)
    assert tidy.main([]) == 1
    assert "clang-tidy is missing. Install it" in capsys.readouterr().err
