"""`frame`: rows of scenarios in, rows of results out."""

import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate import errors


@pytest.fixture(name="table")
def three_rows():
    return pd.DataFrame(
        {"batch_size": [1.0, 64.0, 4096.0], "context_length": [1e3, 8e3, 1e5]}, index=["small", "middle", "large"]
    )


@pytest.fixture(name="rest")
def what_is_the_same_for_all(decode):
    return {name: x for name, x in decode.items() if name not in ("batch_size", "context_length")}


def test_rows_are_points(table, rest):
    found = rs.frame(table, ["pass_time", "binding_term"], **rest)
    for label, row in table.iterrows():
        point = {**rest, **row.to_dict()}
        assert found.loc[label, "pass_time"] == rs.value("pass_time", **point)
        assert found.loc[label, "binding_term"] == rs.value("binding_term", **point)
    assert list(found.columns) == ["pass_time", "binding_term"]
    assert isinstance(found["binding_term"].dtype, pd.CategoricalDtype)
    assert list(found["binding_term"].cat.categories) == ["compute", "weight_fetch", "kv_fetch"]


@pytest.mark.parametrize(
    "index",
    [
        pd.RangeIndex(5, 8),
        pd.Index(["c", "a", "a"]),
        pd.MultiIndex.from_tuples([("x", 1), ("x", 2), ("y", 1)], names=["site", "hour"]),
        pd.date_range("2026-01-01", periods=3),
    ],
    ids=["range", "repeated", "multi", "dates"],
)
def test_the_index_is_kept(table, rest, index):
    table.index = index
    found = rs.frame(table, "pass_time", **rest)
    assert found.index.equals(index)
    assert found.index.names == index.names
    assert table.join(found).shape == (3, 3) if index.is_unique else True


def test_the_table_is_left_as_it_is(table, rest):
    before = table.copy(deep=True)
    rs.frame(table, "pass_time", **rest)
    pd.testing.assert_frame_equal(table, before)


def test_no_rows_and_no_columns(rest):
    empty = rs.frame(pd.DataFrame({"batch_size": [], "context_length": []}), ["pass_time", "binding_term"], **rest)
    assert list(empty.columns) == ["pass_time", "binding_term"]
    assert len(empty) == 0
    same = rs.frame(pd.DataFrame(index=[1, 2]), "pass_tokens", batch_size=3)
    assert same["pass_tokens"].tolist() == [3, 3]
    one = rs.frame(pd.DataFrame({"batch_size": [7]}), "pass_tokens")
    assert one["pass_tokens"].tolist() == [7]


def test_a_result_that_is_the_same_for_all_rows(table, rest):
    assert rs.frame(table, "hbm_drain_time", **rest)["hbm_drain_time"].tolist() == [0.024] * 3


@pytest.mark.parametrize(
    "column",
    [
        pd.Series([1, 2, 4], dtype="int8"),
        pd.Series([1, 2, 4], dtype="uint64"),
        pd.Series([1, 2, 4], dtype="float32"),
        pd.Series([1, 2, 4], dtype="float16"),
        pd.Series([1, 2, 4], dtype=object),
        pd.Series([1, "2 seq", 4.0], dtype=object),
        pd.Series(["1", "2 seq", "0.004k"]),
        pd.Series(["1", "2 seq", "0.004k"], dtype="string"),
        pd.Series(pd.Categorical(["1", "2 seq", "0.004k"])),
        pd.Series(pd.Categorical([1, 2, 4], categories=[4, 1, 2, -5])),
        pd.Series([1, 2, 4], dtype="Int64"),
        pd.Series([1, 2, 4], dtype="Float32"),
        pd.Series(pd.arrays.SparseArray([1.0, 2.0, 4.0])),
    ],
    ids=lambda c: str(c.dtype),
)
def test_columns_of_every_type(column):
    found = rs.frame(pd.DataFrame({"batch_size": column, "pass_length": [3, 3, 3]}), "pass_tokens")
    assert found["pass_tokens"].tolist() == [3, 6, 12]


@pytest.mark.parametrize(
    "kind",
    ["int64[pyarrow]", "double[pyarrow]", "float[pyarrow]", "string[pyarrow]", "decimal", "dictionary", "chunked"],
)
def test_arrow_columns(kind):
    pa = pytest.importorskip("pyarrow", reason="Arrow-backed columns need pyarrow")
    if kind == "decimal":
        column = pd.Series([decimal.Decimal(1), decimal.Decimal(2), None], dtype=pd.ArrowDtype(pa.decimal128(5, 2)))
    elif kind == "dictionary":
        column = pd.Series(["1", "2 seq", None], dtype=pd.ArrowDtype(pa.dictionary(pa.int32(), pa.string())))
    elif kind == "chunked":
        column = pd.Series(pd.arrays.ArrowExtensionArray(pa.chunked_array([[1.0], [2.0, None]])))
    else:
        column = pd.Series(["1", "2 seq", None] if "string" in kind else [1, 2, None], dtype=kind)
    with pytest.warns(errors.RoofslateWarning, match="1 of 3 rows hold NaN"):
        found = rs.frame(pd.DataFrame({"batch_size": column}), "pass_tokens")
    assert found["pass_tokens"].tolist()[:2] == [1, 2]
    assert np.isnan(found["pass_tokens"].iloc[2])


def test_columns_that_share_one_block():
    block = np.arange(1.0, 9).reshape(4, 2)
    table = pd.DataFrame(block, columns=["batch_size", "pass_length"])
    assert rs.frame(table, "pass_tokens")["pass_tokens"].tolist() == [2, 12, 30, 56]
    assert rs.frame(table[::-1], "pass_tokens")["pass_tokens"].tolist() == [56, 30, 12, 2]
    assert rs.frame(table[::2], "pass_tokens")["pass_tokens"].tolist() == [2, 30]


def test_choices_in_columns(decode):
    words = ["board", "none", "serial_kv", "none"]
    for column in (words, pd.Categorical(words), pd.Series(words, dtype="string"), pd.Series(words, dtype=object)):
        found = rs.frame(pd.DataFrame({"overlap": column}), ["pass_time", "overlap"], **decode)
        assert found["overlap"].tolist() == words
        assert found["pass_time"].tolist() == [rs.value("pass_time", overlap=w, **decode) for w in words]


def test_presets_in_columns():
    names = ["DeepSeek-V3", "kimi k2", "DeepSeek-V3"]
    hardware = ["GB200 NVL72", "HGX H200", "HGX H200"]
    for kind in (object, "string", "category"):
        table = pd.DataFrame({"model": pd.Series(names, dtype=kind), "hardware": hardware, "batch_size": [1, 2, 3]})
        found = rs.frame(table, "pass_time", context_length="8k")
        for k in range(3):
            assert found["pass_time"][k] == rs.value(
                "pass_time", model=names[k], hardware=hardware[k], batch_size=k + 1, context_length="8k"
            )
    over = rs.frame(table.assign(chips=[8, 16, 32]), "chips", context_length="8k")
    assert over["chips"].tolist() == [8, 16, 32]
    with pytest.warns(errors.RoofslateWarning, match="1 of 2 rows"):
        found = rs.frame(pd.DataFrame({"model": ["Kimi-K2", None]}), "sparsity")
    assert found["sparsity"][0] == rs.value("sparsity", model="Kimi-K2")
    assert np.isnan(found["sparsity"][1])


def test_a_million_rows_over_few_texts():
    sizes = np.array(["1", "2 seq", "64", "1k"])
    column = sizes[np.arange(1_000_000) % 4]
    found = rs.frame(pd.DataFrame({"batch_size": column}), "pass_tokens")
    assert found["pass_tokens"][:4].tolist() == [1, 2, 64, 1000]
    assert found["pass_tokens"].sum() == 1067 * 250_000


def test_bad_rows_are_nan_and_counted_once():
    table = pd.DataFrame({"batch_size": [1, -2, np.nan, np.inf, 0, 5], "pass_length": [1, 1, 1, 1, 1, np.nan]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = rs.frame(table, ["pass_tokens", "pass_length", "overlap"])
    assert [str(w.message) for w in caught] == ["5 of 6 rows hold NaN: an input is missing or outside of its range"]
    assert issubclass(caught[0].category, rs.RoofslateWarning)
    assert caught[0].filename == __file__
    assert found["pass_tokens"].isna().tolist() == [
        False,
        True,
        True,
        True,
        True,
        True,
    ]  # NaN where a default exists too
    assert found["overlap"].isna().tolist() == [False, True, True, True, True, True]
    assert found["pass_tokens"][0] == 1


def test_rows_that_break_a_bound_are_bad():
    for table, more in (
        ({"experts": [8, 16], "experts_per_token": [9, 9]}, {}),
        ({"experts": [8, 16]}, {"experts_per_token": 9}),
    ):
        with pytest.warns(errors.RoofslateWarning, match="1 of 2 rows"):
            found = rs.frame(pd.DataFrame(table), "expert_coverage", batch_size=1, **more)
        assert found["expert_coverage"].isna().tolist() == [True, False]


def test_units(table, rest):
    plain = rs.frame(table, ["cost_per_token", "pass_time"], **rest)
    found = rs.frame(table, ["cost_per_token", "pass_time"], units={"cost_per_token": "USD/Mtoken"}, **rest)
    assert np.allclose(found["cost_per_token"], plain["cost_per_token"] * 1e6, rtol=1e-15, atol=0)
    assert found["pass_time"].equals(plain["pass_time"])


def test_columns_cut_the_graph():
    table = pd.DataFrame({"pass_time": ["10 ms", "20 ms"], "batch_size": [1, 2]})
    assert rs.frame(table, "cell_throughput")["cell_throughput"].tolist() == [100, 100]


def test_threads_change_nothing(decode):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {"batch_size": 1 + 4000 * rng.random(300_001), "context_length": 1 + 1e5 * rng.random(300_001)}
    )
    rest = {name: x for name, x in decode.items() if name not in table}
    one, three = (rs.frame(table, ["cost_per_token", "binding_term"], threads=n, **rest) for n in (1, 3))
    pd.testing.assert_frame_equal(one, three, check_exact=True)


def test_columns_that_are_no_inputs(table, rest):
    table = table.assign(note="x", remark=1)
    assert list(rs.frame(table, "pass_time", ignore=["note", "remark", "not there"], **rest).columns) == ["pass_time"]
    assert list(rs.frame(table.drop(columns="remark"), "pass_time", ignore="note", **rest).columns) == ["pass_time"]
    with pytest.raises(errors.UnknownName, match="'note'"):
        rs.frame(table, "pass_time", **rest)


@pytest.mark.parametrize(
    ("columns", "more", "kind", "message"),
    [
        ({"batch_sise": [1]}, {}, errors.UnknownName, "unknown input 'batch_sise'; did you mean 'batch_size'?"),
        ({3: [1]}, {}, errors.UnknownName, "unknown input 3"),
        (
            {"batch_size": [1]},
            {"batch_size": 2},
            errors.InputTypeError,
            "'batch_size' is a column of the table and a keyword",
        ),
        (
            {"batch_size": [1]},
            {"pass_length": [1, 2]},
            errors.AxisError,
            "pass_length: rs.frame takes one value for all rows",
        ),
        (
            {"batch_size": ["1", "2 GB"]},
            {},
            errors.UnitError,
            "batch_size: cannot read '2 GB' as sequence: it is in byte",
        ),
        ({"batch_size": ["1", "two"]}, {}, errors.UnitError, "batch_size: cannot read 'two' as sequence"),
        ({"batch_size": [True, False]}, {}, errors.InputTypeError, "batch_size: expected a number"),
        (
            {"batch_size": pd.Series([1, True], dtype=object)},
            {},
            errors.InputTypeError,
            "batch_size: expected a number",
        ),
        ({"batch_size": [1j, 2]}, {}, errors.InputTypeError, "batch_size: expected a number"),
        ({"batch_size": [datetime.datetime(2026, 1, 1)]}, {}, errors.InputTypeError, "batch_size: expected a number"),
        ({"batch_size": pd.to_timedelta([1], unit="s")}, {}, errors.InputTypeError, "batch_size: expected a number"),
        (
            {"batch_size": pd.Series([1, {"a": 1}], dtype=object)},
            {},
            errors.InputTypeError,
            "batch_size: expected a number",
        ),
        ({"batch_size": pd.Series([1, [1]], dtype=object)}, {}, errors.InputTypeError, "batch_size: expected a number"),
        (
            {"batch_size": pd.Series([1, 10**400], dtype=object)},
            {},
            errors.ValueRangeError,
            "batch_size: an integer is too large",
        ),
        ({"overlap": ["board", "bord"]}, {}, errors.UnknownName, "unknown overlap 'bord'; did you mean 'board'?"),
        ({"overlap": [0, 1]}, {}, errors.InputTypeError, "overlap: expected words of 'board'"),
        (
            {"model": ["Kimi-K2", "Kimi-K3"]},
            {},
            errors.UnknownName,
            "unknown model preset 'Kimi-K3'; did you mean 'Kimi-K2'?",
        ),
        ({"model": [1]}, {}, errors.InputTypeError, "model: expected the name of a preset"),
        ({"pass_length": [1]}, {}, errors.MissingInput, "missing input 'batch_size'"),
    ],
)
def test_mistakes(columns, more, kind, message):
    with pytest.raises(kind) as caught:
        rs.frame(pd.DataFrame(columns), ["pass_tokens", "overlap"], **more)
    assert message in str(caught.value)


def test_mistakes_of_the_call(table):
    with pytest.raises(errors.InputTypeError, match=r"table: expected a pandas\.DataFrame, got dict"):
        rs.frame({"batch_size": [1]}, "pass_tokens")
    with pytest.raises(errors.UnknownName, match="unknown quantity 'pass_tokns'; did you mean 'pass_tokens'"):
        rs.frame(table, "pass_tokns")
    with pytest.raises(errors.AxisError, match="two columns of the same name"):
        rs.frame(pd.DataFrame([[1, 2]], columns=["batch_size", "batch_size"]), "pass_tokens")
    with pytest.raises(
        errors.IneffectiveInput, match="'kv_heads' has no effect: model='lecture' supplies 'kv_bytes_per_token'"
    ):
        rs.frame(pd.DataFrame({"kv_heads": [1, 2]}), "kv_bytes_per_token", model="lecture")
    with pytest.raises(errors.InputTypeError, match="ignore"):
        rs.frame(table, "pass_tokens", ignore=3)
