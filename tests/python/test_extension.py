"""The extension itself refuses mismatched arguments from any caller."""

import functools
import platform
import re
import shutil
import subprocess

import numpy as np
import pytest
from roofslate import _core, errors
from support import ROOT

BATCH = ("batch_size", np.arange(1.0, 5.0), (0,))
WORDS = 8  # of a piece of an inverse distribution
CELLS = 1024


def inverse(pieces=1, cells=CELLS + 1, words=WORDS):
    """An inverse distribution of so many pieces, in the form that the extension takes."""
    starts = np.zeros(cells, np.uint32)
    starts[-1] = pieces
    return _core.InverseDistribution(starts, np.ones(pieces), np.zeros(pieces * words), 0.0, 1.0)


def sampler(inputs=1, directions=32, shifts=1, correlation=()):
    """A sampler of so many inputs."""
    tables = [inverse()] * inputs
    return _core.Sampler(np.zeros((inputs, directions), np.uint32), [0] * shifts, tables, inverse(), correlation)


# By the processor, best first; the last one is part of every machine of its kind.
SETS = {"x86_64": ["avx512", "avx2", "base"], "aarch64": ["neon"]}


def test_names_of_instruction_sets():
    """Other tests iterate the core's list, so that one test has to know it."""
    names, of_processor = _core.instruction_sets(), SETS[platform.machine()]
    assert names == [name for name in of_processor if name in names]
    assert names[-1] == of_processor[-1]
    listed = (ROOT / "cpp" / "cmake" / "instruction_sets.cmake").read_text(encoding="utf-8")
    assert re.findall(r'^  "(\w+) ', listed, re.MULTILINE) == [name for sets in SETS.values() for name in sets]


# Part of each set's name in symbols; instructions of its common operations.
TYPES = {"avx512": "avx512bw", "avx2": "fma3", "base": "sse2"}
OPERATION = re.compile(r"\sv?(?:add|mul|min|max)pd\s(.*)")


@functools.cache
def machine_code() -> str:
    command = ["objdump", "-d", "--no-show-raw-insn", _core.__file__]
    return subprocess.run(command, capture_output=True, text=True, check=True).stdout


@pytest.mark.skipif(platform.machine() != "x86_64", reason="the code of other processors is read differently")
@pytest.mark.skipif(shutil.which("objdump") is None, reason="objdump was not found (Debian: binutils)")
@pytest.mark.parametrize("name", [name for name in _core.instruction_sets() if name in TYPES])
def test_the_running_value_stays_in_registers(name):
    symbol = re.compile(rf"^[0-9a-f]+ <.*Interpreter.*{TYPES[name]}.*3runEPK[^.]*>:$", re.MULTILINE)
    listing = machine_code()
    start = symbol.search(listing)
    if start is None:
        pytest.skip("the extension has no symbols")
    code = listing[start.end() : listing.index("\n\n", start.end())]
    operands = OPERATION.findall(code)
    assert len(operands) >= 8 * 4, "a strip of eight vectors in each kind of operation"
    assert [of for of in operands if re.search(r"\(%r[sb]p\)", of)] == []


def test_what_fits_is_taken():
    assert isinstance(sampler(), _core.Sampler)
    assert isinstance(sampler(2, shifts=2, correlation=[[1.0], [0.5, 0.8]]), _core.Sampler)


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (lambda: inverse(cells=CELLS), "a first piece for each bin"),
        (lambda: inverse(words=WORDS - 1), "for each piece its end and eight words"),
        (lambda: sampler(directions=31), "32 direction numbers"),
        (lambda: sampler(shifts=2), "a shift"),
        (lambda: sampler(2, shifts=2, correlation=[[1.0]]), "a distribution for each input"),
        (lambda: sampler(2, shifts=2, correlation=[[1.0], [0.5]]), "a lower triangle"),
        (lambda: _core.call_routine("sqrt", [4.0]), "the name of a routine"),
        (lambda: _core.call_routine("erlang_c", [4.0]), "as many numbers as it takes"),
        (lambda: _core.formula_text([("add", 0)]), "as many arguments as its operation takes"),
        (lambda: _core.formula_text([("constant", 1.0), ("add", 0, 1)]), "takes steps before it"),
        (lambda: _core.formula_text([]), "a step at least"),
    ],
)
def test_what_does_not_fit_is_refused(call, words):
    with pytest.raises(ValueError, match=words):
        call()


@pytest.mark.parametrize(
    ("call", "words"),
    [
        (
            lambda: _core.repeat_engine("batch_size", [4], [BATCH], np.empty(3), 1),
            "out must have the shape of the grid",
        ),
        (lambda: _core.repeat_engine("batch_size", [4], [BATCH], np.empty((4, 1)), 1), "the shape of the grid"),
        (lambda: _core.Grid([1] * 17, {}), "a grid has at most 16 axes, 17 were"),
        (lambda: _grid().evaluate(["batch_size"], [np.empty(3)], 1, None), "must be a writable float64"),
        (lambda: _grid().at(["batch_size"], [4]), "outside of its grid"),
        (lambda: _grid().at(["batch_size"], []), "one position along each axis"),
        (
            lambda: _core.Grid([2**32], {"batch_size": (np.ones(1), [0])}).bounds([("quantity", "batch_size")]),
            "4294967296",
        ),
    ],
)
def test_axes_that_do_not_fit_are_named(call, words):
    with pytest.raises(errors.AxisError, match=words):
        call()


def _grid():
    name, values, axes = BATCH
    return _core.Grid([4], {name: (values, axes)})


def test_values_at_a_point_are_those_of_the_grid():
    axes = {"batch_size": (np.arange(1.0, 7.0)[::2], [1]), "context_length": (np.array([1e3, 8e3]), [0])}
    grid = _core.Grid([2, 3], {**axes, "kv_bytes_per_token": 7e4})
    names = ["context_length", "batch_size", "pass_time"]
    for i in range(2):
        for k in range(3):
            assert grid.at(names, [i, k]) == [1e3 + 7e3 * i, 1.0 + 2 * k, None]


def test_columns_are_one_contiguous_axis():
    every_second = _core.Grid([4], {"batch_size": (np.arange(1.0, 9.0)[::2], [0])})
    with pytest.raises(errors.AxisError, match="'batch_size' is not one contiguous axis"):
        every_second.evaluate_table(["batch_size"], 1, None, ["batch_size"])
