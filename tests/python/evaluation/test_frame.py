"""`frame`: rows of scenarios in, rows of results out."""

import dataclasses
import datetime
import decimal
import warnings

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate import errors
from roofslate.grid import columns as columns_module
from roofslate.grid import row_checks
from roofslate.grid import scenarios as tables


@pytest.fixture(name="table")
def three_rows():
    return pd.DataFrame(
        {"batch_size": [1.0, 64.0, 4096.0], "context_length": [1e3, 8e3, 1e5]}, index=["small", "middle", "large"]
    )


@pytest.fixture(name="scenario")
def scenario_of_all_rows(decode):
    return {name: x for name, x in decode.items() if name not in ("batch_size", "context_length")}


def test_rows_are_points(table, scenario):
    result = rs.frame(table, ["pass_time", "bottleneck"], scenario)
    for label, row in table.iterrows():
        point = {**scenario, **row.to_dict()}
        assert result.loc[label, "pass_time"] == rs.value("pass_time", point)
        assert result.loc[label, "bottleneck"] == rs.value("bottleneck", point)
    assert list(result.columns) == ["pass_time", "bottleneck"]
    assert isinstance(result["bottleneck"].dtype, pd.CategoricalDtype)
    assert list(result["bottleneck"].cat.categories) == ["compute", "weight_fetch", "kv_fetch", "host_link"]


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
def test_the_index_is_kept(table, scenario, index):
    table.index = index
    result = rs.frame(table, "pass_time", scenario)
    assert result.index.equals(index)
    assert result.index.names == index.names
    assert table.join(result).shape == (3, 3) if index.is_unique else True


def test_the_table_is_left_as_it_is(table, scenario):
    before = table.copy(deep=True)
    rs.frame(table, "pass_time", scenario)
    pd.testing.assert_frame_equal(table, before)


def test_no_rows_and_no_columns(scenario):
    empty = rs.frame(pd.DataFrame({"batch_size": [], "context_length": []}), ["pass_time", "bottleneck"], scenario)
    assert list(empty.columns) == ["pass_time", "bottleneck"]
    assert len(empty) == 0
    same = rs.frame(pd.DataFrame(index=[1, 2]), "pass_tokens", batch_size=3)
    assert same["pass_tokens"].tolist() == [3, 3]
    one = rs.frame(pd.DataFrame({"batch_size": [7]}), "pass_tokens")
    assert one["pass_tokens"].tolist() == [7]


def test_a_result_that_is_the_same_for_all_rows(table, scenario):
    assert rs.frame(table, "hbm_drain_time", scenario, ignore=list(table))["hbm_drain_time"].tolist() == [0.024] * 3


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
    result = rs.frame(pd.DataFrame({"batch_size": column, "pass_length": [3, 3, 3]}), "pass_tokens")
    assert result["pass_tokens"].tolist() == [3, 6, 12]


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
        result = rs.frame(pd.DataFrame({"batch_size": column}), "pass_tokens")
    assert result["pass_tokens"].tolist()[:2] == [1, 2]
    assert np.isnan(result["pass_tokens"].iloc[2])


def test_columns_that_share_one_block():
    block = np.arange(1.0, 9).reshape(4, 2)
    table = pd.DataFrame(block, columns=["batch_size", "pass_length"])
    assert rs.frame(table, "pass_tokens")["pass_tokens"].tolist() == [2, 12, 30, 56]
    assert rs.frame(table[::-1], "pass_tokens")["pass_tokens"].tolist() == [56, 30, 12, 2]
    assert rs.frame(table[::2], "pass_tokens")["pass_tokens"].tolist() == [2, 30]


def test_choices_in_columns(decode):
    words = ["board", "none", "serial_kv", "none"]
    for column in (words, pd.Categorical(words), pd.Series(words, dtype="string"), pd.Series(words, dtype=object)):
        result = rs.frame(pd.DataFrame({"overlap": column}), ["pass_time", "overlap"], decode)
        assert result["overlap"].tolist() == words
        assert result["pass_time"].tolist() == [rs.value("pass_time", decode, overlap=w) for w in words]


def test_presets_in_columns():
    names = ["DeepSeek-V3", "kimi k2", "DeepSeek-V3"]
    hardware = ["GB200 NVL72", "HGX H200", "HGX H200"]
    for kind in (object, "string", "category"):
        table = pd.DataFrame({"model": pd.Series(names, dtype=kind), "hardware": hardware, "batch_size": [1, 2, 3]})
        result = rs.frame(table, "pass_time", context_length="8k")
        for k in range(3):
            assert result["pass_time"][k] == rs.value(
                "pass_time", model=names[k], hardware=hardware[k], batch_size=k + 1, context_length="8k"
            )
    outputs = ["chips", "hbm_drain_time"]
    over = rs.frame(table.assign(chips=[8, 16, 32]), outputs, ignore=["batch_size", "model"])
    assert over["chips"].tolist() == [8, 16, 32]
    with pytest.warns(errors.RoofslateWarning, match="1 of 2 rows"):
        result = rs.frame(pd.DataFrame({"model": ["Kimi-K2", None]}), "sparsity")
    assert result["sparsity"][0] == rs.value("sparsity", model="Kimi-K2")
    assert np.isnan(result["sparsity"][1])


def test_a_million_rows_over_few_texts():
    sizes = np.array(["1", "2 seq", "64", "1k"])
    column = sizes[np.arange(1_000_000) % 4]
    result = rs.frame(pd.DataFrame({"batch_size": column}), "pass_tokens")
    assert result["pass_tokens"][:4].tolist() == [1, 2, 64, 1000]
    assert result["pass_tokens"].sum() == 1067 * 250_000


def test_bad_rows_are_nan_and_counted_once():
    table = pd.DataFrame({"batch_size": [1, -2, np.nan, np.inf, 0, 5], "pass_length": [1, 1, 1, 1, 1, np.nan]})
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = rs.frame(table, ["pass_tokens", "pass_length", "overlap"])
    assert [str(w.message) for w in caught] == [
        "5 of 6 rows hold NaN: batch_size is missing in row 2, batch_size is out of range (> 0 and finite, in "
        "sequence) in rows 1, 3, 4, pass_length is missing in row 5"
    ]
    assert issubclass(caught[0].category, rs.RoofslateWarning)
    assert caught[0].filename == __file__
    assert result["pass_tokens"].isna().tolist() == [
        False,
        True,
        True,
        True,
        True,
        True,
    ]  # NaN where a default exists too
    assert result["overlap"].isna().tolist() == [False, True, True, True, True, True]
    assert result["pass_tokens"][0] == 1


def test_rows_that_break_a_bound_are_bad():
    for table, more in (
        ({"experts": [8, 16], "experts_per_token": [9, 9]}, {}),
        ({"experts": [8, 16]}, {"experts_per_token": 9}),
    ):
        with pytest.warns(errors.RoofslateWarning, match="1 of 2 rows"):
            result = rs.frame(pd.DataFrame(table), "expert_coverage", batch_size=1, **more)
        assert result["expert_coverage"].isna().tolist() == [True, False]


def test_units(table, scenario):
    plain = rs.frame(table, ["cost_per_token", "pass_time"], scenario)
    result = rs.frame(table, ["cost_per_token", "pass_time"], scenario, units={"cost_per_token": "USD/Mtoken"})
    assert np.allclose(result["cost_per_token"], plain["cost_per_token"] * 1e6, rtol=1e-15, atol=0)
    assert result["pass_time"].equals(plain["pass_time"])


def test_columns_cut_the_graph():
    table = pd.DataFrame({"pass_time": ["10 ms", "20 ms"], "batch_size": [1, 2]})
    assert rs.frame(table, "replica_throughput")["replica_throughput"].tolist() == [100, 100]


def test_threads_change_nothing(decode):
    rng = np.random.default_rng(4)
    table = pd.DataFrame(
        {"batch_size": 1 + 4000 * rng.random(300_001), "context_length": 1 + 1e5 * rng.random(300_001)}
    )
    scenario = {name: x for name, x in decode.items() if name not in table}
    one, three = (rs.frame(table, ["cost_per_token", "bottleneck"], scenario, threads=n) for n in (1, 3))
    pd.testing.assert_frame_equal(one, three, check_exact=True)


def test_columns_that_are_no_inputs(table, scenario):
    table = table.assign(note="x", remark=1)
    assert list(rs.frame(table, "pass_time", scenario, ignore=["note", "remark", "not there"]).columns) == ["pass_time"]
    assert list(rs.frame(table.drop(columns="remark"), "pass_time", scenario, ignore="note").columns) == ["pass_time"]
    with pytest.raises(errors.UnknownName, match="'note'"):
        rs.frame(table, "pass_time", scenario)


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
            {"batch_size": pd.Categorical([2, True], categories=[2, True])},
            {},
            errors.InputTypeError,
            "batch_size: expected a number or a text, got True",
        ),
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
            {"model": ["Kimi-K2", "Kimi-K9"]},
            {},
            errors.UnknownName,
            "unknown model preset 'Kimi-K9'; did you mean 'Kimi-K2' or 'Kimi-K3'?",
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
    with pytest.raises(errors.InputTypeError, match=r"table: expected a pandas\.DataFrame, .* got 'batch_size'"):
        rs.frame("batch_size", "pass_tokens")
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


# ------------------------------------------------------------------------------------------------- presets in columns

MODELS = ["DeepSeek-V3", "lecture", "gpt-oss-120b", "lecture training", "Mixtral-8x7B", "DeepSeek-V3 (lecture)"]
SYSTEMS = ["GB200 NVL72", "H200", "BW72 (lecture)", "A100-80", "TPU v5p"]
ASKED = ["pass_time", "balance_tokens", "kv_bytes_per_token", "bottleneck", "cost_per_token"]
SAME = {"context_length": "8k", "chip_price": 5e-4, "chips": 64}


def table_of_presets(rows, seed=7):
    rng = np.random.default_rng(seed)
    return pd.DataFrame(
        {
            "model": rng.choice(MODELS, rows),
            "hardware": rng.choice(SYSTEMS, rows),
            "batch_size": np.round(1 + 3000 * rng.random(rows)),
        }
    )


@pytest.fixture(name="blocks", params=[1 << 18, 1, 5], ids=["one-block", "single-rows", "blocks-of-5"])
def blocks_of_rows(request, monkeypatch):
    monkeypatch.setattr(tables, "_BLOCK", request.param)
    monkeypatch.setattr(row_checks, "_CHECKED", 3)


@pytest.mark.usefixtures("blocks")
def test_a_row_does_not_depend_on_the_others():
    table = table_of_presets(90)
    result = rs.frame(table, ASKED, SAME)
    for k, row in table.iterrows():
        for name in ASKED:
            assert result.loc[k, name] == rs.value(name, {**row.to_dict(), **SAME})
    shuffled = table.sample(frac=1, random_state=1)
    pd.testing.assert_frame_equal(rs.frame(shuffled, ASKED, SAME), result.loc[shuffled.index], check_exact=True)
    halves = [rs.frame(part, ASKED, SAME) for part in (table[:31], table[31:])]
    pd.testing.assert_frame_equal(pd.concat(halves), result, check_exact=True)


@pytest.mark.parametrize("choice", ["expected", "all"])
def test_presets_and_choices(choice):
    table = table_of_presets(60).assign(expert_reads=choice)
    table = table[~table["model"].isin(["lecture", "lecture training"])]  # their experts are unknown
    table.loc[table.index[::3], "expert_reads"] = "all"
    result = rs.frame(table, ASKED, SAME)
    for k, row in table.iterrows():
        assert result.loc[k, "pass_time"] == rs.value("pass_time", {**row.to_dict(), **SAME})


@pytest.mark.parametrize("kind", [object, "string", "category", "string[pyarrow]"])
@pytest.mark.usefixtures("blocks")
def test_names_that_are_missing(kind):
    if "pyarrow" in str(kind):
        pytest.importorskip("pyarrow", reason="Arrow-backed columns need pyarrow")
    table = table_of_presets(40)
    table["model"] = table["model"].where(np.arange(40) % 4 > 0, None).astype(kind)
    table["hardware"] = table["hardware"].where(np.arange(40) % 7 > 0, None).astype(kind)
    complete = table["model"].notna() & table["hardware"].notna()
    with pytest.warns(errors.RoofslateWarning, match=f"{(~complete).sum()} of 40 rows"):
        result = rs.frame(table, ASKED, **SAME)
    assert result.notna().all(axis=1).tolist() == complete.tolist()
    assert result.isna().all(axis=1).tolist() == (~complete).tolist()
    expected = rs.frame(table[complete], ASKED, **SAME)
    pd.testing.assert_frame_equal(result[complete], expected, check_exact=True)


def test_no_row_names_a_preset():
    table = pd.DataFrame({"model": pd.Series([None, None], dtype=object), "batch_size": [1, 2]})
    with pytest.warns(errors.RoofslateWarning, match="2 of 2 rows"):
        result = rs.frame(table, ["sparsity", "pass_tokens"])
    assert result.isna().all().all()
    assert rs.frame(table[:0], "sparsity").empty


def test_categories_that_no_row_has_need_not_be_readable():
    names = pd.Categorical(["Kimi-K2", "Kimi-K2"], categories=["no model", "Kimi-K2"])
    sizes = pd.Categorical(["2", "3"], categories=["1 GB", "3", "2"])
    result = rs.frame(pd.DataFrame({"model": names, "batch_size": sizes}), ["sparsity", "pass_tokens"])
    assert result["sparsity"].tolist() == [rs.value("sparsity", model="Kimi-K2")] * 2
    assert result["pass_tokens"].tolist() == [2, 3]
    with pytest.raises(errors.UnknownName, match="'no model'"):
        rs.frame(pd.DataFrame({"model": pd.Categorical(["Kimi-K2", "no model"])}), "sparsity")


def test_what_bounds_a_preset():
    table = pd.DataFrame(
        {"model": ["DeepSeek-V3", "gpt-oss-120b"], "experts_per_token": [200, 200], "batch_size": [9, 9]}
    )
    with pytest.warns(errors.RoofslateWarning, match="1 of 2 rows"):
        result = rs.frame(table, "expert_coverage")
    assert result["expert_coverage"].isna().tolist() == [False, True]
    with pytest.warns(errors.RoofslateWarning, match="1 of 2 rows"):
        same = rs.frame(table.drop(columns="experts_per_token"), "expert_coverage", experts_per_token=200)
    assert same.equals(result)
    with pytest.warns(errors.RoofslateWarning, match="1 of 2 rows"):  # nothing is said of a row without a machine
        both = rs.frame(table, ["pass_tokens", "expert_coverage"])
    assert both["pass_tokens"].isna().tolist() == [False, True]


def test_mistakes_with_presets():
    table = pd.DataFrame(
        {"model": ["DeepSeek-V3", "lecture"], "hardware": ["H200", "GB200 NVL72"], "batch_size": [1, 1]}
    )
    with pytest.raises(errors.MissingInput, match=r"missing input 'chips'.*hardware='H200'"):
        rs.frame(table, "pass_time", context_length=1)
    assert rs.frame(table[1:], "pass_time", context_length=1).notna().all().all()
    with pytest.raises(errors.IneffectiveInput, match="'kv_heads' has no effect: model='lecture'"):
        rs.frame(table.assign(kv_heads=4), "kv_bytes_per_token", ignore="batch_size")
    with pytest.raises(errors.AxisError, match=r"model: rs\.frame takes one value for all rows"):
        rs.frame(table[["batch_size"]], "pass_tokens", model=["Kimi-K2", "lecture"])


@pytest.mark.parametrize(
    "kind", ["float64", "float32", "int64", "uint8", "Int32", "Float64", "object", "strided", "swapped"]
)
@pytest.mark.usefixtures("blocks")
def test_columns_are_converted_in_blocks(kind, bits):
    sizes, lengths = np.arange(1.0, 41), np.arange(40, 0, -1.0)
    if kind == "strided":
        table = pd.DataFrame(np.stack([sizes, lengths], axis=1), columns=["batch_size", "pass_length"])
    else:
        table = pd.DataFrame({"batch_size": sizes, "pass_length": lengths})
        table["batch_size"] = sizes.astype(">f8") if kind == "swapped" else table["batch_size"].astype(kind)
    result = rs.frame(table, ["pass_tokens", "batch_size"])
    assert np.array_equal(bits(result["pass_tokens"]), bits(sizes * lengths))
    assert np.array_equal(bits(result["batch_size"]), bits(sizes))


@pytest.mark.usefixtures("blocks")
def test_bad_rows_are_found_wherever_they_are():
    rng = np.random.default_rng(2)
    values = rng.choice([1.0, 2.0, -1.0, np.nan, np.inf, 0.0], (97, 2), p=[0.4, 0.4, 0.05, 0.05, 0.05, 0.05])
    table = pd.DataFrame({"batch_size": values[:, 0].astype("float32"), "pass_length": values[:, 1].copy()})
    good = np.isfinite(values).all(axis=1) & (values[:, 0] > 0) & (values[:, 1] > 0)
    with pytest.warns(errors.RoofslateWarning, match=f"{(~good).sum()} of 97 rows"):
        result = rs.frame(table, "pass_tokens")
    assert result["pass_tokens"].notna().tolist() == good.tolist()
    assert result["pass_tokens"][good].tolist() == values[good].prod(axis=1).tolist()


def test_progress_counts_rows():
    reports = []
    tell = row_checks.told_of_part(lambda *rows: reports.append(rows), 20, 10, 60)
    assert callable(tell)
    for points in (0, 150, 300):
        tell(points, 300)
    assert reports == [(20, 60), (25, 60), (30, 60)]
    assert row_checks.told_of_part(None, 20, 10, 60) is False


def test_many_combinations_of_presets(monkeypatch):
    table = table_of_presets(300)
    expected = rs.frame(table, ASKED, **SAME)
    monkeypatch.setattr(tables, "_BLOCK", 2)  # fewer rows than combinations: they are sorted, not counted
    part = table[:10]
    pd.testing.assert_frame_equal(rs.frame(part, ASKED, **SAME), expected[:10], check_exact=True)
    part = part.assign(model=part["model"].where(np.arange(10) % 3 > 0, None))
    with pytest.warns(errors.RoofslateWarning, match="4 of 10 rows"):
        result = rs.frame(part, ASKED, **SAME)
    pd.testing.assert_frame_equal(result[part["model"].notna()], expected[:10][part["model"].notna()], check_exact=True)


@pytest.mark.usefixtures("blocks")
def test_presets_that_choose_otherwise():
    models = ["DeepSeek-V3", "Qwen3-8B", "gpt-oss-120b", "Qwen3-8B", None, "DeepSeek-V3"]
    table = pd.DataFrame({"model": models, "batch_size": np.arange(1, 7)})
    with pytest.warns(errors.RoofslateWarning, match="1 of 6 rows"):
        result = rs.frame(table, ["weight_format", "pass_tokens", "bytes_per_weight"])
    for k, model in enumerate(models):
        if model is not None:
            assert result["weight_format"][k] == rs.value("weight_format", model=model)
            assert result["bytes_per_weight"][k] == rs.value("bytes_per_weight", model=model)
            assert result["pass_tokens"][k] == k + 1
    assert result.loc[4].isna().all()


def test_reductions_end_with_a_constant_a_preset_and_a_definition():
    """Later tables of the same question reuse reductions of presets until one changes."""
    given = {"model": "Qwen3-8B", "batch_size": 8.0, "context_length": 4096.0}

    def agrees(output, chips, **inputs):
        table = pd.DataFrame({"hardware": chips, "chips": [1.0, 2.0]})
        expected = [
            rs.value(output, inputs, hardware=chip, chips=n) for chip, n in zip(chips, table["chips"], strict=True)
        ]
        for _ in range(2):
            assert rs.frame(table, output, inputs)[output].tolist() == expected

    for heads in (8.0, 4.0):  # of which the KV cache follows, with the layers of the model
        agrees("pass_time", ["H100", "H200"], **given | {"kv_heads": heads})
    for bandwidth in ("1 TB/s", "2 TB/s"):
        rs.hardware.define("Chip of this test", base="H100", hbm_bandwidth=bandwidth)
        agrees("pass_time", ["Chip of this test", "H200"], **given)
    for formula in (lambda pass_time: 2 * pass_time, lambda pass_time: 3 * pass_time):
        with rs.definitions():
            rs.define("times_of_test", "s", formula, brief="x")
            agrees("times_of_test", ["H100", "H200"], **given)


def test_equal_constants_with_other_fits_are_other_calibrations():
    """Their support differs, which the attributes of a table name."""
    serving = rs.calibration()
    fit = serving.fits["time_per_output_token"]
    narrow = dataclasses.replace(fit, kinds={**fit.kinds, "hardware": ("H200",)})
    other = dataclasses.replace(serving, fits={**serving.fits, "time_per_output_token": narrow})
    table = pd.DataFrame({"hardware": ["H100"], "concurrency": [8.0]})
    question = {"model": "Qwen3-8B", "chips": 1, "input_tokens": 1000, "output_tokens": 500}

    def support(calibration):
        return rs.frame(table, "time_per_output_token", question, calibration=calibration).attrs["support"]

    assert support(serving)["time_per_output_token"] != support(other)["time_per_output_token"]
    assert "hardware=H100" in support(other)["time_per_output_token"]


def test_few_rows_are_numbered_as_many_are(monkeypatch):
    rng = np.random.default_rng(3)
    for rows in (1, 7, 40):
        columns = [rng.integers(-1, 3, rows), rng.choice([1.0, 2.5, np.inf], rows), rng.choice([0.0, np.nan], rows)]
        for chosen in (columns[:2], columns, []):
            few = columns_module.distinct(chosen, rows)
            with monkeypatch.context() as patch:
                patch.setattr(columns_module, "FEW", 0)
                many = columns_module.distinct(chosen, rows)
            assert few[0].tolist() == many[0].tolist()
            assert few[1] == many[1]
