"""Units are proved by the compiler, and its message names the quantity."""

import os
import shutil
import subprocess

import pytest
from support import ROOT

HEADERS = ROOT / "cpp"
COMPILER = next(filter(None, map(shutil.which, (os.environ.get("CXX") or "c++", "g++", "clang++"))), None)
INPUTS = """
    struct some_tokens { static constexpr Spec spec = Spec("n", "token", "tokens", "none"); };
    struct some_time { static constexpr Spec spec = Spec("t", "s", "time", "none"); };
"""


@pytest.fixture
def compile_theme(tmp_path):
    if COMPILER is None:
        pytest.skip("no C++ compiler was found")

    def compiled(structs, names):
        source = tmp_path / "theme.cpp"
        source.write_text(
            '#include "roofslate/language/declare.hpp"\nnamespace roofslate::quantities\n{\n'
            + INPUTS
            + structs
            + f"\n    using theme = list<{names}>;\n}}\nROOFSLATE_DECLARE(theme)\n",
            encoding="utf-8",
        )
        command = [COMPILER, "-std=c++17", "-fsyntax-only", f"-I{HEADERS}", str(source)]
        done = subprocess.run(command, capture_output=True, text=True, check=False)
        return done.returncode == 0, done.stderr

    return compiled


def quantity(name, unit, needs, formula):
    return f"""
    struct {name}
    {{
        static constexpr Spec spec = Spec("x", "{unit}", "brief", "none");
        template <class T> static constexpr T formula({needs}) {{ return {formula}; }}
    }};
"""


NEEDS = "in<some_tokens, T> n, in<some_time, T> t"


def test_a_right_formula_compiles(compile_theme):
    right, message = compile_theme(
        quantity("some_rate", "token/s", NEEDS, "n / t"), "some_tokens, some_time, some_rate"
    )
    assert right, message


def test_a_formula_with_another_unit_names_the_quantity_and_both_units(compile_theme):
    right, message = compile_theme(
        quantity("some_rate", "token/s", NEEDS, "n * t"), "some_tokens, some_time, some_rate"
    )
    assert not right
    assert "the formula has another unit than the quantity declares" in message
    assert "unit_of_formula<roofslate::quantities::some_rate" in message
    declared, found = message.split("unit_of_formula<roofslate::quantities::some_rate, ", 1)[1].split(
        "roofslate::spelled::unit<"
    )[1:3]
    assert "token, 1>" in declared
    assert "s, -1>" in declared
    assert "s, 1>" in found


@pytest.mark.parametrize(
    "formula",
    [
        "n / t + t",
        "max(n, t) / t",
        "n / t * exp(t)",
        "n / t * log(n)",
        "pow(n, 2.0) / t",
        "select(n < t, n / t, n / t)",
        "n / t + 1.0",
        "n / t * count(t)",
    ],
)
def test_unlike_units_inside_a_formula_name_the_quantity(compile_theme, formula):
    right, message = compile_theme(
        quantity("some_rate", "token/s", NEEDS, formula), "some_tokens, some_time, some_rate"
    )
    assert not right
    assert "units_inside_formula<roofslate::quantities::some_rate" in message
    assert "adds, compares or chooses between unlike units" in message


@pytest.mark.parametrize(
    "formula",
    [
        "n / t + 0.0",
        "select(t > 0.0, n / t, T(infinite))",
        "max(n / t, 0.0)",
        "sqrt(n * n) / t",
        "n / t * count(n)",
        "ceil(n) / t",
    ],
)
def test_what_fits_compiles(compile_theme, formula):
    right, message = compile_theme(
        quantity("some_rate", "token/s", NEEDS, formula), "some_tokens, some_time, some_rate"
    )
    assert right, message


@pytest.mark.parametrize(("word", "is_one"), [("first", True), ("last", True), ("second", False), ("", False)])
def test_a_choice_is_compared_with_one_of_its_words(compile_theme, word, is_one):
    choice = (
        'struct some_choice { static constexpr Spec spec = Spec("c", "1", "choice", "none").one_of("first", "last"); };'
    )
    formula = f'select(is<some_choice>(c, "{word}"), n, 2.0 * n)'
    right, message = compile_theme(
        choice + quantity("chosen", "token", "in<some_choice, T> c, in<some_tokens, T> n", formula),
        "some_tokens, some_choice, chosen",
    )
    assert right is is_one, message


def test_a_unit_that_does_not_exist(compile_theme):
    right, message = compile_theme(
        quantity("some_rate", "tokens/s", NEEDS, "n / t"), "some_tokens, some_time, some_rate"
    )
    assert not right
    assert "some_rate" in message
    assert "this unit is not made of FLOP, byte, token" in message


@pytest.mark.parametrize("word", ["over", "where", "out", "model", "log", "range", "n", "units"])
def test_a_reserved_word_is_no_name(compile_theme, word):
    right, message = compile_theme(
        f'struct {word} {{ static constexpr Spec spec = Spec("x", "1", "brief", "none"); }};', word
    )
    assert not right
    assert "this name is a word that calls use as an argument" in message
    assert f"quantities::{word}" in message


def test_a_name_is_no_reserved_word(compile_theme):
    right, message = compile_theme(
        'struct overlay { static constexpr Spec spec = Spec("x", "1", "brief", "none"); };', "overlay"
    )
    assert right, message
