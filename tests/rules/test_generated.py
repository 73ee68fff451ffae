"""Stubs, reserved words, and reference pages follow from the sources.

A change of the interface shows in a diff.
"""

from __future__ import annotations

import ast
import inspect
import re
import shutil
import sys
from pathlib import Path

import pytest
import roofslate as rs
import stubs
from interface import PACKAGE, Package, takes_inputs
from roofslate import _core
from roofslate.presets.lookup import PRESETS
from roofslate.registry.registry import BUILT_IN
from roofslate.registry.reserved import RESERVED_WORDS
from roofslate.registry.words import DAY
from support import ROOT

sys.path.append(str(ROOT / "docs"))
import quantity_pages

ENTRIES = BUILT_IN.entries
QUANTITIES = {name: q.choices for name, q in ENTRIES.items()}


# -------------------------------------------------------------------------------------------------- stubs and words


@pytest.mark.parametrize(
    ("path", "built"),
    [
        ("__init__.pyi", None),
        ("typing.py", rs.typing.__file__),
        ("registry/reserved.py", sys.modules["roofslate.registry.reserved"].__file__),
    ],
)
def test_the_build_wrote_what_the_sources_say(path, built):
    """The stub is in the tree, or where the other files are."""
    file = (
        Path(built)
        if built
        else next(p for p in (PACKAGE / path, Path(rs.typing.__file__).parent / path) if p.is_file())
    )
    assert file.read_text(encoding="utf-8") == stubs.generated_files(Package(), QUANTITIES)[path], "build the package"


def test_the_public_interface_is_recorded():
    """One line a public name: a change of a signature shows in the diff of `interface.sha256`."""
    message = "the public interface changed: run python python/tools/stubs.py --digest"
    assert stubs.DIGEST.read_text(encoding="utf-8").splitlines() == Package().digest().splitlines(), message


def test_reserved_words_are_the_arguments_of_calls_at_run_time():
    words = {*PRESETS, DAY}
    for name in rs.__all__:
        value = getattr(rs, name)
        members = vars(value).items() if inspect.isclass(value) else ()
        for call in (value, *(member for key, member in members if not key.startswith("_"))):
            parameters = inspect.signature(call).parameters.values() if inspect.isfunction(call) else ()
            if any(p.kind is p.VAR_KEYWORD and p.annotation == "Any" for p in parameters):
                words |= {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
    assert words - {"self"} == RESERVED_WORDS


def test_no_quantity_has_a_reserved_name():
    assert RESERVED_WORDS.isdisjoint(ENTRIES)
    with pytest.raises(ValueError, match=r"'depth' is an argument of explain. Rename the quantity"):
        stubs.generated_files(Package(), {**QUANTITIES, "depth": ()})


@pytest.fixture
def sources(tmp_path):
    """A copy of the modules, to be edited."""
    for file in PACKAGE.rglob("*.py"):
        copy = tmp_path / file.relative_to(PACKAGE)
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(file, copy)
    shutil.copytree(PACKAGE / "presets" / "data", tmp_path / "presets" / "data", dirs_exist_ok=True)
    return tmp_path


def test_a_new_keyword_is_written_in_one_place(sources):
    """Its signature: reserved words, the stub and the line of its call in the record follow."""
    file = sources / "analysis" / "explain.py"
    text = file.read_text(encoding="utf-8")
    signature = re.search(r"^def explain\((.|\n)*?\) -> Explanation:", text, re.MULTILINE)[0]
    changed = signature.replace("**inputs: Any", "language: str = 'en', **inputs: Any")
    file.write_text(text.replace(signature, changed), encoding="utf-8")
    package = Package(sources)
    files = stubs.generated_files(package, QUANTITIES)
    assert '        "language",\n' in files["registry/reserved.py"]
    assert 'language: str = "en"' in files["__init__.pyi"]
    with pytest.raises(ValueError, match="'language' is an argument of explain"):
        stubs.generated_files(package, {**QUANTITIES, "language": ()})
    lines = zip(Package().digest().splitlines(), package.digest().splitlines(), strict=True)
    assert [new.split()[1] for old, new in lines if old != new] == ["explain"]


def test_names_of_another_package_and_constants_are_public_too(sources):
    """The record has the origin of such names, which have no signature."""
    with (sources / "__init__.py").open("a", encoding="utf-8") as file:
        file.write("_HOMES = {'units': ('Fraction', 'BASE_UNITS'), 'units.numbers': ('parse',)}\n_MODULES = {}\n")
    with (sources / "units" / "__init__.py").open("a", encoding="utf-8") as file:
        file.write("from fractions import Fraction\n")
    package = Package(sources)
    assert [line.split()[1] for line in package.digest().splitlines()] == ["BASE_UNITS", "Fraction", "parse"]
    assert "from roofslate.units import BASE_UNITS, Fraction\n" in stubs.package_stub(package, ())
    with pytest.raises(TypeError, match="parse: expected a literal constant"):
        package.source("roofslate.units.numbers").constant("parse")


def test_a_function_takes_inputs_by_name():
    calls = ast.parse("def f(a, **inputs: Any): ...\ndef g(**kinds: str): ...\ndef h(a): ...\nx = 1").body
    assert [takes_inputs(call) for call in calls] == [True, False, False, False]


def test_a_long_import_is_written_a_name_a_line():
    """In the order of ruff: constants, classes, functions."""
    names = ["Axis", "OUTER_LIMITS", "evaluate", "sensitivity", "solve", "OutputNames", "quantiles", "InputNames"]
    lines = stubs._import_lines({name: ("roofslate.somewhere_else_in_the_package", name) for name in names})
    ordered = ["OUTER_LIMITS", "Axis", "InputNames", "OutputNames", "evaluate", "quantiles", "sensitivity", "solve"]
    assert lines.splitlines() == [
        "from roofslate.somewhere_else_in_the_package import (",
        *(f"    {name}," for name in ordered),
        ")",
    ]


def test_the_command_writes_files_their_sources_and_the_record(tmp_path, monkeypatch):
    listed = tmp_path / "quantities.txt"
    listed.write_text("".join("\t".join([name, *words]) + "\n" for name, words in QUANTITIES.items()), encoding="utf-8")
    monkeypatch.setattr(stubs, "DIGEST", tmp_path / "record")
    arguments = [
        "--digest",
        "--quantities",
        str(listed),
        "--into",
        str(tmp_path / "out"),
        "--depfile",
        str(tmp_path / "d"),
    ]
    monkeypatch.setattr(sys, "argv", ["stubs.py", *arguments])
    stubs.main()
    for path, text in stubs.generated_files(Package(), QUANTITIES).items():
        assert (tmp_path / "out" / path).read_text(encoding="utf-8") == text
    assert (tmp_path / "record").read_text(encoding="utf-8") == Package().digest()
    target, files = (tmp_path / "d").read_text(encoding="utf-8").strip().split(": ")
    assert target.endswith("__init__.pyi")
    assert {str(PACKAGE / "analysis/explain.py"), str(PACKAGE / "presets/data/models.toml")} <= set(files.split())
    listed.write_text("depth\n", encoding="utf-8")
    with pytest.raises(SystemExit, match="stubs: 'depth' is an argument of explain"):
        stubs.main()


# ------------------------------------------------------------------------------------------------- stub of the core


def core_stub():
    return ast.parse((PACKAGE / "_core.pyi").read_text(encoding="utf-8")).body


def signature(function):
    return re.findall(r"(\w+): ", (function.__doc__ or "").partition("\n")[0])


def test_the_stub_of_the_core_lists_its_classes_and_functions():
    listed = {node.name for node in core_stub() if isinstance(node, (ast.ClassDef, ast.FunctionDef))}
    assert listed == {name for name, _ in inspect.getmembers(_core, callable)}


def test_the_stub_of_the_core_has_its_arguments():
    for node in core_stub():
        if isinstance(node, ast.FunctionDef):
            assert [a.arg for a in node.args.args] == signature(getattr(_core, node.name)), node.name
        if isinstance(node, ast.ClassDef):
            functions = (inner for inner in node.body if isinstance(inner, ast.FunctionDef))
            for method in (function for function in functions if not function.decorator_list):  # no properties
                result = signature(getattr(getattr(_core, node.name), method.name))
                assert [a.arg for a in method.args.args] == result, f"{node.name}.{method.name}"


# -------------------------------------------------------------------------------------------------- reference pages


def test_each_quantity_is_on_its_page_and_in_the_overview():
    """With its meaning, formula, unit and source, and links to the quantities around it."""
    pages = quantity_pages.quantity_pages()
    assert set(pages) == {"index.md", *(f"{q.theme}.md" for q in ENTRIES.values())}
    entries = {
        (file.removesuffix(".md"), *part.split("\n", 1))
        for file, page in pages.items()
        for part in re.split(r"^## ", page, flags=re.MULTILINE)[1:]
    }
    texts = {name: text for theme, name, text in entries if name in ENTRIES and ENTRIES[name].theme == theme}
    assert set(texts) == set(ENTRIES)
    for name, q in ENTRIES.items():
        links = [f"#{other})" for other in (*q.needs, *q.used_by, *filter(None, [q.fallback, q.bound]))]
        for part in (q.brief[1:], q.source, q.formula, q.latex, f"${q.symbol}$", *links):
            assert part in texts[name], f"{name}: {part!r} is missing"
        assert f"[{name}]({q.theme}.md#{name})" in pages["index.md"]


def test_pages_are_written_where_they_differ(tmp_path, monkeypatch):
    """Sphinx reads changed pages only, and the page of a removed theme is removed."""
    monkeypatch.setattr(quantity_pages, "FOLDER", tmp_path / "quantities")
    quantity_pages.write_pages()
    serving, pricing, gone = (tmp_path / "quantities" / f"{name}.md" for name in ("serving", "pricing", "gone"))
    before = pricing.stat().st_mtime_ns
    serving.write_text("changed", encoding="utf-8")
    gone.write_text("# Gone\n", encoding="utf-8")
    quantity_pages.write_pages()
    assert serving.read_text(encoding="utf-8").startswith("# Serving\n")
    assert pricing.stat().st_mtime_ns == before
    assert not gone.exists()
