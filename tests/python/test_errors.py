"""Errors: subclasses of Python's kinds, with the nearest of the known names."""

import pickle

import pytest
from roofslate import errors
from roofslate._base.messages import unknown


@pytest.mark.parametrize(
    ("error", "builtin"),
    [
        (errors.UnknownName, KeyError),
        (errors.MissingInput, ValueError),
        (errors.UnitError, ValueError),
        (errors.ValueRangeError, ValueError),
        (errors.AxisError, ValueError),
        (errors.InputTypeError, TypeError),
        (errors.IneffectiveInput, ValueError),
        (errors.OutOfMemory, MemoryError),
        (errors.PresetError, ValueError),
    ],
)
def test_errors_are_builtin_too_and_print_plainly(error, builtin):
    caught = error("this is 'wrong'")
    assert isinstance(caught, builtin)
    assert isinstance(caught, errors.RoofslateError)
    assert str(caught) == "this is 'wrong'"
    assert str(pickle.loads(pickle.dumps(caught))) == "this is 'wrong'"


def test_unknown_names_the_nearest():
    known = ["pass_time", "pass_length", "compute_time", "hbm_capacity", "hbm_bandwidth"]
    assert str(unknown("quantity", "pass_tme", known)) == "unknown quantity 'pass_tme'; did you mean 'pass_time'?"
    assert "'hbm_capacity' or 'hbm_bandwidth'" in str(unknown("quantity", "hbm", known))
    assert str(unknown("word", "x", ["yes", "no"])) == "unknown word 'x'; known are 'yes', 'no'"
    assert str(unknown("word", "x", [])) == "unknown word 'x'"
    assert str(unknown("word", 7, ["b"] * 20)) == "unknown word 7"
