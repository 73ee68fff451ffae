"""Recipes for other systems agree with the package's versions, requirements and commands."""

from __future__ import annotations

import re
import sys

import jinja2
import pytest
import yaml
from support import ROOT
from support.wheels import CORE

if sys.version_info >= (3, 11):
    import tomllib
else:
    import tomli as tomllib

METADATA = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
VERSIONS = {f"{major}.{minor}" for major in (3,) for minor in range(10, 14)}


def bounds(requirements: list[str]) -> dict[str, str]:
    """Return requirements by name, without marks for old Pythons and comments."""
    pairs = (re.fullmatch(r"([A-Za-z0-9-]+)\s*(\S*?)\s*(?:[;#].*)?", line) for line in requirements)
    return {pair[1]: pair[2] for pair in pairs if pair}


@pytest.fixture(scope="module")
def conda() -> dict:
    text = (ROOT / ".ci/conda/meta.yaml").read_text(encoding="utf-8")
    names = {"PYTHON": "python", "compiler": "{}_compiler".format, "stdlib": "{}_stdlib".format}
    return yaml.safe_load(jinja2.Template(text, undefined=jinja2.StrictUndefined).render(names))


def test_conda_runs_with_the_same_requirements(conda: dict) -> None:
    assert bounds(conda["requirements"]["run"]) == {"python": "", **bounds(METADATA["project"]["dependencies"])}
    host = bounds(conda["requirements"]["host"])
    assert bounds(METADATA["build-system"]["requires"]).items() <= host.items()
    cmake = (ROOT / "cpp/cmake/xtensor.cmake").read_text(encoding="utf-8")
    assert f"find_package(xtensor {host['xtensor'].removeprefix('>=')} " in cmake


def test_conda_has_the_metadata_of_the_package(conda: dict) -> None:
    project = METADATA["project"]
    (script,) = conda["build"]["entry_points"]
    assert script == f"roofslate = {project['scripts']['roofslate']}"
    assert conda["about"]["summary"] == project["description"]
    assert conda["about"]["license"] == project["license"]


def test_wheels_are_for_every_supported_python() -> None:
    workflow = yaml.safe_load((ROOT / ".github/workflows/wheels.yml").read_text(encoding="utf-8"))
    built = {f"3.{minor}" for minor in re.findall(r"cp3(\d+)-", workflow["env"]["CIBW_BUILD"])}
    named = {line.rpartition(":: ")[2] for line in METADATA["project"]["classifiers"] if re.search(r":: 3\.\d+$", line)}
    assert built == named == VERSIONS
    for path in CORE:
        assert f"{{project}}/tests/{path}" in workflow["env"]["CIBW_TEST_COMMAND"]
    assert set(workflow["jobs"]) == {"linux", "macos", "windows"}
