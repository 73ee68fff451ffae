"""Inputs in base units: numbers and texts, Pint's quantities, evenly spaced axes.

Also factors between units.
"""

import math
import pickle

import numpy as np
import pytest
import roofslate as rs
from roofslate import _core, errors, units


@pytest.mark.parametrize(
    ("target", "unit", "factor"),
    [
        ("USD/Mtoken", "USD/token", 1e-6),
        ("$/Mtok", "USD/token", 1e-6),
        ("ms", "s", 1e-3),
        ("USD/h", "USD/s/chip", 1 / 3600),
        ("%", "1", 0.01),
        ("GiB", "byte/chip", 2.0**30),
        ("Gbit/s", "byte/s/chip", 1.25e8),
    ],
)
def test_converts(target, unit, factor):
    assert units.convert_factor(target, unit) == factor


@pytest.mark.parametrize(
    ("target", "unit", "message"),
    [
        ("ms", "USD/token", "cannot convert USD/token to 'ms', which is s"),
        ("%", "token", "cannot convert token to '%'"),
        ("Mtokn", "token", "cannot read 'Mtokn' as a unit of token: unknown unit 'Mtokn'; did you mean"),
        ("", "s", "it ends where a unit should follow"),
    ],
)
def test_refuses_to_convert(target, unit, message):
    with pytest.raises(errors.UnitError) as caught:
        units.convert_factor(target, unit)
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "number"),
    [(3, 3.0), (0.5, 0.5), (np.float32(0.5), 0.5), (np.int64(7), 7.0), ("50 ms", 0.05), (math.inf, math.inf)],
)
def test_to_base(value, number):
    result = units.to_base(value, "s")
    assert type(result) is float
    assert result == number


@pytest.mark.parametrize("value", [True, np.True_, None, [1], 1j, object(), b"5 s", np.array([1.0])])
def test_to_base_refuses_other_types(value):
    with pytest.raises(errors.InputTypeError, match="expected a number or a text such as '50 ms'"):
        units.to_base(value, "s")


def test_to_base_refuses_huge_integers():
    with pytest.raises(errors.ValueRangeError, match="too large"):
        units.to_base(10**400, "s")


class Reduced:
    """Result of pint's to_base_units, as far as it is used."""

    def __init__(self, magnitude, *powers):
        self.magnitude, self.powers = magnitude, powers

    @property
    def units(self):
        return " * ".join(f"{name}**{power}" for name, power in self.powers)

    def to_base_units(self):
        return self

    def unit_items(self):
        return self.powers


@pytest.mark.parametrize(
    ("quantity", "unit", "value"),
    [
        (Reduced(8e9, ("bit", 1)), "byte/chip", 1e9),
        (Reduced(4e11, ("bit", 1), ("second", -1)), "byte/s/chip", 5e10),
        (Reduced(700.0, ("kilogram", 1), ("meter", 2), ("second", -3)), "J/s/chip", 700.0),
        (Reduced(0.05, ("second", 1)), "s", 0.05),
        (Reduced(2e-6, ("USD", 1), ("token", -1)), "USD/token", 2e-6),
        (Reduced(1e15, ("flop", 1), ("second", -1)), "FLOP/s", 1e15),
        (Reduced(5), "1", 5.0),
        (Reduced(5, ("count", 1)), "sequence", 5.0),
    ],
)
def test_pint(quantity, unit, value):
    assert units.from_pint(quantity, unit) == value
    assert units.to_base(quantity, unit) == value


def test_pint_arrays():
    points = units.from_pint(Reduced(np.array([8.0, 16.0]), ("bit", 1)), "byte")
    np.testing.assert_array_equal(points, [1.0, 2.0])


@pytest.mark.parametrize("powers", [[("meter", 1)], [("kilogram", 1)], [("candela", 1)], [("bit", 1)]])
def test_pint_refuses_another_unit(powers):
    with pytest.raises(errors.UnitError, match=r"expected s\. Write for example '50 ms'"):
        units.from_pint(Reduced(1.0, *powers), "s")


def test_pint_itself():
    pint = pytest.importorskip("pint")
    registry = pint.UnitRegistry()
    assert units.to_base(registry("192 GB"), "byte/chip") == 192e9
    assert units.to_base(registry("3 kWh"), "J") == pytest.approx(1.08e7, rel=1e-15)
    assert units.to_base(registry("700 W"), "J/s/chip") == pytest.approx(700, rel=1e-15)


def test_linspace():
    axis = units.linspace("1 ms", "50 ms", 50)
    points = axis.resolve("s")
    assert len(axis) == 50
    assert (points[0], points[-1], points.size) == (0.001, 0.05, 50)
    np.testing.assert_allclose(np.diff(points), 0.001, rtol=1e-12)


def test_geomspace():
    points = units.geomspace("1 ms", "1 s", 4).resolve("s")
    np.testing.assert_allclose(points, [1e-3, 1e-2, 1e-1, 1], rtol=1e-14)


def test_axis_of_plain_numbers():
    np.testing.assert_array_equal(units.linspace(1, 3, 3).resolve("token"), [1, 2, 3])
    np.testing.assert_allclose(units.linspace(1, 3, 3, "ms").resolve("s"), [0.001, 0.002, 0.003], rtol=1e-15)
    np.testing.assert_array_equal(units.geomspace("1", "128k", 1).resolve("token"), [1])


def test_axis_keeps_its_ends():
    axis = units.geomspace("1 ms", "1 s", 100)
    assert (axis.start, axis.stop, axis.num, axis.spacing) == ("1 ms", "1 s", 100, "geometric")
    assert pickle.loads(pickle.dumps(axis)) == axis


@pytest.mark.parametrize(
    ("make", "error", "message"),
    [
        (lambda: units.linspace(0, 1, 0), errors.AxisError, "at least one point, got 0"),
        (lambda: units.linspace(0, 1, -(10**400)), errors.AxisError, "at least one point, got -1000"),
        (lambda: units.linspace(0, 1, 2**32), errors.AxisError, "at most 4,294,967,295 points, got 4294967296"),
        (lambda: units.linspace(1, 2, 2**63), errors.AxisError, "at most 4,294,967,295 points"),
        (lambda: units.geomspace(1, 2, 10**12), errors.AxisError, "at most 4,294,967,295 points"),
        (lambda: units.linspace(1, 2, 10**400), errors.AxisError, "at most 4,294,967,295 points"),
        (lambda: units.linspace(1, 2, 10**5000), errors.AxisError, "got an integer of 16610 bits"),
        (lambda: units.linspace(0, 1, 2.5), errors.InputTypeError, "expected a whole number of points, got 2.5"),
        (lambda: units.linspace(0, 1, True), errors.InputTypeError, "expected a whole number of points, got True"),
        (lambda: units.geomspace("0 ms", "1 s", 3).resolve("s"), errors.ValueRangeError, "must be positive"),
        (lambda: units.geomspace(-1, 1, 3).resolve("s"), errors.ValueRangeError, "must be positive"),
        (lambda: units.linspace(0, "inf", 3).resolve("s"), errors.ValueRangeError, "must be finite"),
        (lambda: units.linspace("1 GB", "2 GB", 3).resolve("s"), errors.UnitError, "'1 GB' as s: it is in byte"),
        (lambda: units.linspace(1, 2, 3, "GB").resolve("s"), errors.UnitError, "cannot convert s to 'GB'"),
        (lambda: units.Axis(1, 2, 3, "cubic"), errors.AxisError, "expected 'linear' or 'geometric'"),
    ],
)
def test_axis_mistakes(make, error, message):
    with pytest.raises(error) as caught:
        make()
    assert message in str(caught.value)


@pytest.mark.parametrize(
    ("value", "unit", "text"),
    [
        (0.0337, "s*sequence/token", "33.7 ms/tok"),
        (28.0, "token/s/sequence", "28 tok/s"),
        (13.3, "s/sequence", "13.3 s"),
        (3.0, "sequence/s", "3 seq/s"),
        (70_272.0, "byte/sequence", "70.27 kB/seq"),
    ],
)
def test_times_of_one_user_leave_the_sequence_out(value: float, unit: str, text: str) -> None:
    assert units.format(value, unit) == text
    assert units.parse(text, unit) == pytest.approx(value, rel=1e-3)
    assert units.scale([value], unit).label == text.partition(" ")[2]


def test_an_axis_beyond_memory(monkeypatch):
    monkeypatch.setattr(_core, "available_memory", lambda: 2**30)
    with pytest.raises(errors.OutOfMemory, match="an axis of 100,000,000 points exceeds the available memory"):
        units.linspace(1, 2, 10**8).resolve("s")


def test_numbers_near_the_end_of_the_range_are_written():
    assert units.format(1e300, "USD/byte") == "1e+300"  # dollars per gigabyte are beyond it
    assert rs.gradient("hbm_cost", hbm_capacity=2.0, hbm_price=1e300)["hbm_price"] == 2.0
