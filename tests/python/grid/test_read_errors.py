"""Bad input by kind: messages name thing, given and expected value, and nearest name."""

import builtins
import decimal
import fractions

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from roofslate import errors
from roofslate.grid.read import Settled
from support.lazy import Later, made

E = errors
CALLS = [rs.evaluate, rs.value]


def refused(kind, *parts, outputs="pass_tokens", calls=CALLS, **inputs):
    """Check that every call raises this error with all parts, and return the last message."""
    message = ""
    for call in calls:
        with pytest.raises(kind) as caught:
            call(outputs, **{"batch_size": 64, **inputs})
        message = str(caught.value)
        for part in parts:
            assert part in message, (part, message)
        assert "\n" not in message
        assert len(message) < 500, message
    return message


# ------------------------------------------------------------------------------------------------------------- names


@pytest.mark.parametrize(
    ("given", "nearest"),
    [
        ("batch_sise", "batch_size"),
        ("batchsize", "batch_size"),
        ("Batch_Size", "batch_size"),
        ("expert_per_token", "experts_per_token"),
        ("context", "context_length"),
        ("hbm_bandwith", "hbm_bandwidth"),
        ("modle", "model"),
        ("hardwear", "hardware"),
    ],
)
def test_a_misspelled_input(given, nearest):
    refused(E.UnknownName, f"unknown input {given!r}", f"'{nearest}'", "did you mean", **{given: 1})


@pytest.mark.parametrize(
    ("given", "nearest"), [("pass_tme", "pass_time"), ("PASS_TIME", "pass_time"), ("cost", "cost_per_token")]
)
def test_a_misspelled_output(given, nearest):
    refused(E.UnknownName, f"unknown quantity {given!r}", f"'{nearest}'", outputs=given)
    refused(
        E.UnknownName,
        f"unknown quantity {given!r}",
        f"'{nearest}'",
        outputs=["pass_tokens", given],
        calls=[rs.evaluate],
    )


def test_a_name_like_no_other():
    assert "did you mean" not in refused(E.UnknownName, "unknown input 'zzzzzzzz'", zzzzzzzz=1)
    assert "did you mean" not in refused(E.UnknownName, "unknown quantity 'zzzzzzzz'", outputs="zzzzzzzz")


@pytest.mark.parametrize("given", [None, 3, 1.5, object(), b"pass_tokens", [["pass_tokens"]], [None], [3], {"a": 1}])
def test_outputs_that_are_no_names(given):
    with pytest.raises(E.RoofslateError, match=r"quantity|output"):
        rs.evaluate(given, batch_size=1)
    with pytest.raises(E.RoofslateError, match=r"quantity|output"):
        rs.value(given, batch_size=1)
    with pytest.raises(E.RoofslateError, match=r"quantity|output"):
        rs.frame(pd.DataFrame({"batch_size": [1]}), given)


def test_no_output():
    with pytest.raises(E.InputTypeError, match="no output was asked for"):
        rs.evaluate([], batch_size=1)


def test_a_preset_keyword_is_no_output():
    refused(E.UnknownName, "'model' is an input that names a preset", outputs="model")


def test_a_misspelled_preset_and_choice():
    refused(E.UnknownName, "unknown model preset 'DeepSek-V3'", "'DeepSeek-V3'", model="DeepSek-V3")
    refused(E.UnknownName, "unknown hardware preset 'B2000'", "'B200'", hardware="B2000")
    refused(E.UnknownName, "'Kimi-K9'", "'Kimi-K2'", model=["DeepSeek-V3", "Kimi-K9"])
    refused(E.UnknownName, "unknown overlap 'bord'", "'board'", overlap="bord")
    refused(E.UnknownName, "unknown overlap 'x'", "'board', 'serial_kv', 'none'", overlap=["board", "x"])
    refused(E.PresetError, "hardware: 'DeepSeek-V3' is a preset for model=", hardware=rs.models["DeepSeek-V3"])


@pytest.mark.parametrize(
    "given", [3, None, True, 1.5, ("a", "b"), {"a": 1}, [1], [None], np.array([1.0]), rs.linspace(1, 2, 2), rs.models]
)
def test_a_preset_that_is_no_name(given):
    refused(E.InputTypeError, "model: expected the name of a preset", model=given)


# ----------------------------------------------------------------------------------------------------- units and texts


@pytest.mark.parametrize(
    ("name", "given", "parts"),
    [
        ("hbm_bandwidth", "8 TB", ["cannot read '8 TB' as byte/s/chip", "it is in byte", "'8 TB/s'"]),
        ("chip_price", "2 USD", ["cannot read '2 USD' as USD/s/chip", "'$2/h'"]),
        ("batch_size", "64 tok", ["cannot read '64 tok' as sequence", "it is in token"]),
        ("hbm_capacity", "192 gb", ["unknown unit 'gb'", "'GB'"]),
        ("hbm_capacity", "192 Gb", []),
        ("total_parameters", "671B", ["B means byte, use G for a billion"]),
        ("compute_efficiency", "0.5 s", ["cannot read '0.5 s' as 1"]),
        ("batch_size", "sixty", ["cannot read 'sixty'", "does not begin with a number"]),
        ("batch_size", "", ["cannot read ''"]),
        ("batch_size", "1.2.3", ["cannot read '1.2.3'"]),
        ("batch_size", "1e400", ["cannot read '1e400'", "too large"]),
        ("batch_size", "64 +", ["cannot read '64 +'"]),
        ("batch_size", "64 seq seq", ["cannot read '64 seq seq'"]),
    ],
)
def test_texts_that_do_not_fit(name, given, parts):
    if not parts:  # bits are bytes over eight: a unit that fits
        assert rs.value(name, {name: given}) == 24e9
        return
    refused(E.UnitError, f"{name}: ", *parts, **{name: given})
    refused(E.UnitError, f"{name}: ", *parts, **{name: [given]})


def test_a_very_long_text_is_not_repeated_whole():
    refused(E.UnitError, "batch_size: cannot read 'xxx", batch_size="x" * 100_000)
    refused(E.UnknownName, "unknown quantity 'xxx", outputs="x" * 100_000)


def test_units_of_outputs():
    with pytest.raises(E.UnitError, match=r"units\['pass_tokens'\]: cannot convert token to 's'"):
        rs.evaluate("pass_tokens", batch_size=1, units={"pass_tokens": "s"})
    with pytest.raises(E.UnknownName, match="units names 'pass_time', which is not among the outputs pass_tokens"):
        rs.evaluate("pass_tokens", batch_size=1, units={"pass_time": "s"})
    for wrong in (3, "ms", ["ktok"]):
        with pytest.raises(E.RoofslateError, match="units"):
            rs.evaluate("pass_tokens", batch_size=1, units=wrong)
    with pytest.raises(E.UnitError, match=r"units='ktok' .* Give a dict, such as {'pass_tokens': 'token', 'overlap': "):
        rs.evaluate(["pass_tokens", "overlap"], batch_size=1, units="ktok")
    for wrong in (3, None, ["ktok"]):
        with pytest.raises(E.RoofslateError, match="units"):
            rs.evaluate("pass_tokens", batch_size=1, units={"pass_tokens": wrong})


# ------------------------------------------------------------------------------------------------------------- ranges


@pytest.mark.parametrize(
    ("name", "given", "expected"),
    [
        ("batch_size", -1, "> 0 and finite"),
        ("batch_size", 0, "> 0 and finite"),
        ("chips", 0, ">= 1 and finite"),
        ("chips", "0 GPU", ">= 1 and finite"),
        ("chips", -72, ">= 1"),
        ("context_length", -1, ">= 0 and finite"),
        ("hbm_bandwidth", "-8 TB/s", "> 0"),
        ("compute_efficiency", 1.5, "> 0 and <= 1"),
        ("compute_efficiency", "150 %", "<= 1"),
        ("batch_size", np.nan, "> 0 and finite"),
        ("batch_size", "nan", "> 0 and finite"),
        ("context_length", np.nan, ">= 0"),
        ("compute_time", np.nan, "any number"),
        ("batch_size", np.inf, "and finite"),
        ("batch_size", -np.inf, "and finite"),
        ("batch_size", "inf", "and finite"),
        ("hbm_capacity", np.inf, "and finite"),
        ("scale_up_bandwidth", -np.inf, "> 0"),
    ],
)
def test_numbers_out_of_range(name, given, expected):
    inputs = {"batch_size": 1} | {name: given}
    refused(E.ValueRangeError, f"{name} must be ", expected, f"got {given!r}", **inputs)
    if not isinstance(given, str):
        message = refused(
            E.ValueRangeError,
            f"{name} must be ",
            expected,
            "among its 2 values",
            **({"batch_size": 1} | {name: [given, given]}),
        )
        assert f"got {float(given)!r} among" in message
        series = pd.Series([given], index=[2026])
        refused(E.ValueRangeError, f"{name} must be ", **({"batch_size": 1} | {name: series}))
        refused(
            E.ValueRangeError, f"{name} must be ", **({"batch_size": 1} | {name: xr.DataArray([1.0, given], dims="x")})
        )
        refused(E.ValueRangeError, f"{name} must be ", **({"batch_size": 1} | {name: xr.DataArray(given)}))


def test_one_bad_value_among_many():
    values = np.linspace(1, 2, 10_000)
    values[7777] = -3
    refused(
        E.ValueRangeError,
        "batch_size must be > 0 and finite, in sequence, got -3.0 among its 10000 values",
        batch_size=values,
    )


def test_more_experts_per_token_than_experts():
    refused(E.ValueRangeError, "experts_per_token must not exceed experts, got 9 and 8", experts=8, experts_per_token=9)
    refused(
        E.ValueRangeError,
        "experts_per_token must not exceed experts, got 9 and 8",
        experts=[16, 8],
        experts_per_token=9,
    )
    refused(E.ValueRangeError, "experts_per_token must not exceed experts", experts=8, experts_per_token=[8, 9])
    zipped = {"experts": xr.DataArray([8, 16], dims="x"), "experts_per_token": xr.DataArray([9, 9], dims="x")}
    refused(E.ValueRangeError, "experts_per_token must not exceed experts", **zipped)
    fine = {"experts": xr.DataArray([8, 16], dims="x"), "experts_per_token": xr.DataArray([8, 16], dims="x")}
    assert rs.evaluate("pass_tokens", Settled(fine), batch_size=1) == 1
    several = {
        "experts": xr.DataArray([[8], [16]], dims=("x", "y")),
        "experts_per_token": xr.DataArray([8, 16], dims="x"),
    }
    assert rs.evaluate("pass_tokens", Settled(several), batch_size=1) == 1
    turned = {
        "experts": xr.DataArray([[8.0, 8, 8], [16, 16, 16]], dims=("x", "y")),
        "experts_per_token": xr.DataArray([[8.0, 16], [8, 16], [8, 16]], dims=("y", "x")),
    }
    assert rs.evaluate("pass_tokens", Settled(turned), batch_size=1) == 1
    refused(
        E.ValueRangeError,
        "active_parameters must not exceed total_parameters",
        total_parameters=1e9,
        active_parameters=2e9,
    )
    refused(E.ValueRangeError, "experts_per_token must not exceed experts", model="DeepSeek-V3", experts_per_token=300)


@pytest.mark.parametrize("digits", [309, 400, 5000])
def test_huge_integers(digits):
    for huge in (10**digits, -(10**digits)):
        refused(E.ValueRangeError, "batch_size: an integer is too large", batch_size=huge)
        refused(E.ValueRangeError, "batch_size: an integer is too large", batch_size=[1, huge])
        refused(E.RoofslateError, "overlap", overlap=huge)
        refused(E.RoofslateError, "overlap", overlap=[huge])
        refused(E.RoofslateError, "model", model=huge)
        with pytest.raises(E.RoofslateError, match="threads"):
            rs.evaluate("pass_tokens", batch_size=[1, 2], threads=huge)
    assert rs.value("batch_size", batch_size=2**62) == 2.0**62


# -------------------------------------------------------------------------------------------------------------- types


class Strange:
    def __repr__(self):
        return "Strange()"


@pytest.mark.parametrize(
    "given",
    [
        None,
        True,
        False,
        np.True_,
        1j,
        {"a": 1},
        {1, 2},
        b"64",
        bytearray(b"64"),
        memoryview(b"64"),
        Strange(),
        Strange,
        len,
        decimal.Decimal(64),
        fractions.Fraction(64),
        np.datetime64("2026-01-01"),
        np.timedelta64(1, "s"),
        pd.Timestamp("2026-01-01"),
        pd.NA,
        pd.NaT,
        iter([1, 2]),
        (x for x in [1, 2]),
        ...,
        NotImplemented,
        Exception("64"),
    ],
    ids=lambda x: type(x).__name__,
)
def test_things_that_are_no_numbers(given):
    message = refused(E.InputTypeError, "batch_size: expected ", "got ", batch_size=given)
    assert "> 0" in message or "a number or a text such as '2400'" in message
    if isinstance(given, Strange):
        assert "Strange()" in message
    refused(E.InputTypeError, "batch_size: expected ", batch_size=[1, given])


def test_a_tuple_is_a_range():
    refused(E.InputTypeError, "batch_size: a tuple means a range", "a list makes an axis", batch_size=(1, 2))
    refused(E.InputTypeError, "overlap: a tuple means a range", overlap=("board", "none"))


def test_tables_and_datasets_are_sent_elsewhere():
    refused(
        E.InputTypeError,
        "batch_size: a DataFrame of scenario rows goes to rs.frame",
        batch_size=pd.DataFrame({"a": [1]}),
    )
    refused(E.InputTypeError, "batch_size: expected one array, got a Dataset", batch_size=xr.Dataset({"a": 1}))
    levels = pd.Series([1, 2], index=pd.MultiIndex.from_tuples([(1, 2), (3, 4)]))
    refused(E.InputTypeError, "batch_size: a Series with a MultiIndex", batch_size=levels)


@pytest.mark.parametrize(
    "given",
    [
        np.array([1 + 2j, 3]),
        np.array([True, False]),
        np.array(["2026-01-01"], dtype="datetime64[D]"),
        np.array([1, 2], dtype="timedelta64[s]"),
        np.array([b"1", b"2"]),
        np.array([(1, 2)], dtype=[("a", "f8"), ("b", "f8")]),
        np.array([Strange(), Strange()]),
        np.array([1, None]),
        np.array([1, {}], dtype=object),
        np.void(b"abc"),
        pytest.param(Later(lambda: xr.DataArray([True, False], dims="x")), id="DataArray-bool"),
        pytest.param(Later(lambda: xr.DataArray(np.array([1j]), dims="x")), id="DataArray-complex128"),
        pd.Series([True, False]),
        pd.Series([Strange()]),
        pd.Series(pd.date_range("2026-01-01", periods=2)),
        np.ma.array([1.0, 2.0], mask=[False, True]),
        [1, True],
        [1.5, None],
        [Strange()],
    ],
    ids=lambda x: f"{type(x).__name__}-{getattr(x, 'dtype', '')}",
)
def test_arrays_of_other_things(given):
    refused(E.RoofslateError, "batch_size", batch_size=made(given))


def test_numbers_for_words_and_words_for_numbers():
    refused(E.InputTypeError, "overlap is one of 'board' | 'serial_kv' | 'none', got 1", overlap=1)
    refused(E.InputTypeError, "overlap", overlap=1.0)
    refused(E.InputTypeError, "overlap", overlap=[0, 1])
    refused(E.InputTypeError, "overlap", overlap=np.array([0.0, 1.0]))
    refused(E.InputTypeError, "overlap", overlap=None)
    refused(E.InputTypeError, "overlap", overlap=True)
    refused(E.InputTypeError, "overlap", overlap=rs.linspace(0, 1, 2))
    refused(E.UnitError, "batch_size: cannot read 'board'", batch_size="board")


# --------------------------------------------------------------------------------------------------------------- axes


def test_empty_axes():
    for empty in ([], np.zeros(0), range(0), np.array([], dtype=object)):
        refused(E.AxisError, "batch_size: the axis 'batch_size' is empty", batch_size=empty)
    refused(E.AxisError, "batch_size: the axis 'index' is empty", batch_size=pd.Series([], dtype=float))
    refused(
        E.AxisError, "batch_size: the axis 'x' is empty", batch_size=xr.DataArray(np.zeros((2, 0)), dims=("y", "x"))
    )
    refused(E.AxisError, "model: the axis 'model' is empty", model=[])
    refused(E.AxisError, "overlap: the axis 'overlap' is empty", overlap=[])


def test_mismatched_axes():
    two, three = (xr.DataArray(np.ones(n), dims="row") for n in (2, 3))
    refused(
        E.AxisError,
        "pass_length: the axis 'row' has 3 values here and 2 in another input",
        batch_size=two,
        pass_length=three,
    )
    refused(
        E.AxisError,
        "model: the axis 'row' has 3 values here and 2",
        batch_size=two,
        model=xr.DataArray(["Kimi-K2"] * 3, dims="row"),
    )
    refused(
        E.AxisError,
        "model: expected an array of names along one axis, got 2 axes",
        model=xr.DataArray([["Kimi-K2", "lecture"]], dims=("row", "column")),
    )
    batches, lengths = (xr.DataArray([1.0, 2.0], dims="row", coords={"row": c}) for c in (["a", "b"], ["a", "c"]))
    refused(
        E.AxisError, "pass_length: the axis 'row' has other coordinates here", batch_size=batches, pass_length=lengths
    )
    refused(
        E.AxisError,
        "pass_length: the axis 'pass_length' has 3 values here and 2",
        batch_size=two.rename(row="pass_length"),
        pass_length=[1, 2, 3],
    )
    series = pd.Series([1, 2], index=[1, 2])
    refused(
        E.AxisError,
        "pass_length: the axis 'index' has other coordinates",
        batch_size=series,
        pass_length=pd.Series([1, 2], index=[2, 1]),
    )


def test_nested_and_ragged_lists():
    refused(
        E.AxisError,
        "batch_size: an array with 2 axes needs their names: give an xarray.DataArray",
        batch_size=[[1, 2], [3, 4]],
    )
    refused(E.AxisError, "batch_size: an array with 3 axes", batch_size=np.ones((2, 2, 2)))
    refused(E.RoofslateError, "batch_size", batch_size=[[1, 2], [3]])
    refused(E.RoofslateError, "batch_size", batch_size=[1, [2, 3]])
    refused(E.RoofslateError, "batch_size", batch_size=[[["1"], 2]])
    refused(E.RoofslateError, "model", model=[["DeepSeek-V3"], "Kimi-K2"])
    endless = [1.0]
    endless.append(endless)
    refused(E.RoofslateError, "batch_size", batch_size=endless)


@pytest.mark.filterwarnings("ignore:Duplicate dimension names:UserWarning")
def test_an_array_that_names_an_axis_twice():
    refused(
        E.AxisError,
        "batch_size: the array names an axis twice: ('x', 'x')",
        batch_size=xr.DataArray(np.ones((2, 2)), dims=("x", "x")),
    )


@pytest.mark.parametrize("word", ["over", "where", "out", "threads", "log", "n", "range", "units"])
def test_reserved_words_are_no_axes(word):
    refused(E.AxisError, f"{word!r}", batch_size=xr.DataArray([1.0, 2.0], dims=word))
    refused(E.AxisError, f"{word!r}", batch_size=pd.Series([1.0, 2.0], index=pd.Index([1, 2], name=word)))


def test_axis_objects():
    with pytest.raises(E.AxisError, match="at least one point, got 0"):
        rs.linspace(1, 2, 0)
    refused(E.ValueRangeError, "batch_size", "must be positive", batch_size=rs.geomspace(0, 1, 3))
    refused(E.UnitError, "batch_size: cannot read '1 s' as sequence", batch_size=rs.linspace("1 s", 2, 3))
    refused(E.ValueRangeError, "batch_size must be > 0", batch_size=rs.linspace(-1, 1, 3))
    refused(E.ValueRangeError, "batch_size", "finite", batch_size=rs.linspace(1, np.inf, 3))


def test_the_coordinate_of_a_result_is_not_lost():
    """An axis that bears the name of an output would take its place."""
    clash = xr.DataArray([1.0, 2.0], dims="pass_tokens")
    refused(E.AxisError, "'pass_tokens'", batch_size=clash, calls=[rs.evaluate])
    refused(E.AxisError, "'pass_tokens'", batch_size=clash, outputs=["pass_tokens"], calls=[rs.evaluate])


# --------------------------------------------------------------------------------------------------------- attributes


def test_attributes_of_an_array_that_are_no_units():
    array = xr.DataArray([1.0, 2.0], dims="x")
    refused(E.UnitError, "batch_size", batch_size=array.assign_attrs(units="GB"))
    refused(E.UnitError, "batch_size", batch_size=array.assign_attrs(units="nonsense"))
    refused(E.RoofslateError, "batch_size", "units", batch_size=array.assign_attrs(units=3))


# --------------------------------------------------------------------------------------------------- keywords of a call


@pytest.mark.parametrize("given", [0, -1, 2.5, "two", True, "", [], 1 + 2j, float("nan"), 10**30])
def test_threads(given):
    with pytest.raises(E.InputTypeError, match="threads must be a whole number of at least 1, got"):
        rs.evaluate("pass_tokens", batch_size=[1, 2], threads=given)
    with pytest.raises(E.InputTypeError, match="threads must be a whole number of at least 1, got"):
        rs.frame(pd.DataFrame({"batch_size": [1, 2]}), "pass_tokens", threads=given)


@pytest.mark.parametrize("given", ["int", "float16", "complex128", "junk", 3, object(), "U5"])
def test_dtype(given):
    with pytest.raises(E.InputTypeError, match="dtype must be 'float64' or 'float32', got"):
        rs.evaluate("pass_tokens", batch_size=[1, 2], dtype=given)


@pytest.mark.parametrize(
    ("out", "kind", "message"),
    [
        (3, E.InputTypeError, "writable float64 array, got int"),
        (np.zeros(2, np.float32), E.InputTypeError, "got ndarray of float32"),
        (np.zeros(2, np.int64), E.InputTypeError, "got ndarray of int64"),
        (np.zeros(2).astype(">f8"), E.InputTypeError, "got ndarray of >f8"),
        ([0.0, 0.0], E.InputTypeError, "got list"),
        (np.broadcast_to(0.0, 2), E.InputTypeError, "writable"),
        (np.zeros(17, np.uint8)[1:].view(np.float64), E.InputTypeError, "aligned"),
        (np.zeros(3), E.AxisError, "of shape (2,)"),
        (np.zeros((2, 1)), E.AxisError, "of shape (2,)"),
        (np.zeros(()), E.AxisError, "of shape (2,)"),
        ({"pass_time": np.zeros(2)}, E.InputTypeError, "one array for each output pass_tokens, got pass_time"),
        ({}, E.InputTypeError, "one array for each output pass_tokens"),
    ],
)
def test_out(out, kind, message):
    with pytest.raises(kind) as caught:
        rs.evaluate("pass_tokens", batch_size=[1, 2], out=out)
    assert "out" in str(caught.value)
    assert message in str(caught.value)


def test_out_for_a_list_of_outputs_is_a_dict():
    with pytest.raises(E.InputTypeError, match="a dict of arrays by name"):
        rs.evaluate(["pass_tokens"], batch_size=[1, 2], out=np.zeros(2))


# ------------------------------------------------------------------------------------------------------- the classes


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [
        ("UnknownName", "KeyError"),
        ("MissingInput", "ValueError"),
        ("UnitError", "ValueError"),
        ("ValueRangeError", "ValueError"),
        ("AxisError", "ValueError"),
        ("InputTypeError", "TypeError"),
        ("IneffectiveInput", "ValueError"),
        ("OutOfMemory", "MemoryError"),
        ("PresetError", "ValueError"),
    ],
)
def test_each_kind_is_a_builtin_too(kind, builtin):
    cls = getattr(errors, kind)
    assert issubclass(cls, rs.RoofslateError)
    assert issubclass(cls, getattr(builtins, builtin))
    assert str(cls("a sentence, 'quoted'")) == "a sentence, 'quoted'"


def test_nothing_was_done_before_an_error():
    out = np.full(2, -1.0)
    with pytest.raises(E.MissingInput):
        rs.evaluate("kv_bytes", batch_size=[1, 2], out=out)
    with pytest.raises(E.ValueRangeError):
        rs.evaluate("pass_tokens", batch_size=[1, -2], out=out)
    assert out.tolist() == [-1, -1]
