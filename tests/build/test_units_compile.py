"""Units, calls of formulas and themes are checked by the compiler, with readable errors."""

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


@pytest.fixture(scope="module")
def compiled_headers(tmp_path_factory):
    """Precompile the common header for GCC. Other compilers read the header."""
    if COMPILER is None:
        pytest.skip("no C++ compiler was found")
    folder = tmp_path_factory.mktemp("headers")
    header = "roofslate/language/declare.hpp"
    (folder / header).parent.mkdir(parents=True)
    command = [COMPILER, "-std=c++17", f"-I{HEADERS}", "-x", "c++-header", str(HEADERS / header)]
    subprocess.run([*command, "-o", str(folder / f"{header}.gch")], check=True)
    return folder


@pytest.fixture
def compile_theme(tmp_path, compiled_headers):

    def compiled(structs, names, checks="", headers=compiled_headers):
        source = tmp_path / "theme.cpp"
        source.write_text(
            '#include "roofslate/language/declare.hpp"\nnamespace roofslate::quantities\n{\n'
            + INPUTS
            + structs
            + f"\n    using theme = list<{names}>;\n}}\nROOFSLATE_DECLARE(theme)\n{checks}\n",
            encoding="utf-8",
        )
        command = [COMPILER, "-std=c++17", "-fsyntax-only", f"-I{headers}", f"-I{HEADERS}", str(source)]
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
    declared, result = message.split("unit_of_formula<roofslate::quantities::some_rate, ", 1)[1].split(
        "roofslate::spelled::unit<"
    )[1:3]
    assert "token, 1>" in declared
    assert "s, -1>" in declared
    assert "s, 1>" in result


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
    assert "this unit is not made of base units" in message


# --------------------------------------------------------------------------------------------- formulas call formulas

TIMES = """
    struct reading { static constexpr Spec spec = Spec("r", "s", "time", "none"); };
    struct computing { static constexpr Spec spec = Spec("c", "s", "time", "none"); };
""" + quantity("busy", "s", "in<reading, T> r, in<computing, T> c", "r + c / 2.0")


@pytest.mark.parametrize(
    ("call", "is_right"),
    [
        ("busy::formula<T>(r, c)", True),
        ("busy::formula<T>(as<reading>(r + t), c)", True),
        ("busy::formula<T>(as<reading>(t), as<computing>(r))", True),
        ("busy::formula<T>(r, as<computing>(T(0.0)))", True),
        ("busy::formula<T>(c, r)", False),
        ("busy::formula<T>(as<computing>(r), as<reading>(c))", False),
        ("busy::formula<T>(r + t, c)", False),
        ("busy::formula<T>(t, c)", False),
        ("busy::formula<T>(r, 2.0)", False),
    ],
)
def test_an_argument_of_a_formula_is_the_quantity_that_it_needs(compile_theme, call, is_right):
    needs = "in<reading, T> r, in<computing, T> c, in<some_time, T> t"
    right, message = compile_theme(
        TIMES + quantity("caller", "s", needs, call), "some_tokens, some_time, reading, computing, busy, caller"
    )
    assert right is is_right, message
    assert is_right or "Argument<roofslate::quantities::" in message


def test_a_computed_argument_has_the_unit_of_its_quantity(compile_theme):
    caller = quantity("caller", "s", "in<reading, T> r, " + NEEDS, "busy::formula<T>(r, as<computing>(n / t))")
    right, message = compile_theme(TIMES + caller, "some_tokens, some_time, reading, computing, busy, caller")
    assert not right
    assert "units_inside_formula<roofslate::quantities::caller" in message
    assert "gives another formula a value of another unit" in message


# -------------------------------------------------------------------------------------------------------------- lists


def test_a_quantity_that_its_theme_does_not_list(compile_theme):
    structs = """
    struct listed { static constexpr Spec spec = Spec("x", "1", "brief", "none"); };
    struct forgotten { static constexpr Spec spec = Spec("x", "1", "brief", "none"); };
    struct no_quantity { static constexpr int size = 3; };
"""
    names = ("listed", "forgotten", "no_quantity")
    checks = {name: f"ROOFSLATE_LISTED(theme, {name})" for name in names}
    right, message = compile_theme(structs, "listed", checks["listed"] + checks["no_quantity"])
    assert right, message
    right, message = compile_theme(structs, "listed", checks["forgotten"])
    assert not right
    assert "the quantity forgotten is missing from the list at the end of quantities/theme.hpp" in message


def test_a_base_unit_more(compile_theme, tmp_path):
    header = "roofslate/language/unit.hpp"
    text = (HEADERS / header).read_text(encoding="utf-8")
    last = "    UNIT(gCO2, measured, 11)\n"
    assert last in text
    copy = tmp_path / header
    copy.parent.mkdir(parents=True)
    line = last.rstrip() + " \\\n    UNIT(liter, measured, 12)\n"
    copy.write_text(text.replace(last, line), encoding="utf-8")
    evaporated = 'struct evaporated { static constexpr Spec spec = Spec("m", "liter", "water", "none"); };'
    names = "some_tokens, some_time, evaporated, rate"
    needs = "in<evaporated, T> m, in<some_time, T> t"
    right, message = compile_theme(evaporated + quantity("rate", "liter/s", needs, "m / t"), names, headers=tmp_path)
    assert right, message
    right, message = compile_theme(evaporated + quantity("rate", "liter/s", needs, "m * t"), names, headers=tmp_path)
    assert not right
    assert "spelled::liter, 1>" in message
    right, message = compile_theme(evaporated, "evaporated")
    assert not right
