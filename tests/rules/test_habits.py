"""Files around the code: hooks, the workflow, forms."""

from __future__ import annotations

import pytest
import yaml
from support import ROOT

FORMS = sorted((ROOT / ".github" / "ISSUE_TEMPLATE").glob("*.yml"), key=str)


def read(path: str) -> dict:
    return yaml.safe_load((ROOT / path).read_text(encoding="utf-8"))


def test_the_workflow_calls_the_gate_alone():
    (job,) = read(".github/workflows/ci.yml")["jobs"].values()
    checkout, gate = job["steps"]
    assert checkout["uses"].startswith("actions/checkout@")
    assert gate["run"].endswith("bash .ci/run")


def test_hooks_have_versions():
    repositories = read(".pre-commit-config.yaml")["repos"]
    assert all(each["rev"] for each in repositories)
    names = [hook["id"] for each in repositories for hook in each["hooks"]]
    assert {"ruff-check", "ruff-format", "clang-format", "codespell", "nbstripout"} <= set(names)


@pytest.mark.parametrize("form", FORMS, ids=lambda path: path.stem)
def test_forms_ask_for_what_is_needed(form):
    content = yaml.safe_load(form.read_text(encoding="utf-8"))
    assert content["name"]
    assert content["description"]
    assert any(field.get("validations", {}).get("required") for field in content["body"])
    assert len({field["id"] for field in content["body"]}) == len(content["body"])


def test_there_are_forms():
    assert len(FORMS) == 3
