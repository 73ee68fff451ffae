"""`sweep`: results equal `frame`, for all kinds of files. Errors, and the command."""

import csv
import time
import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from click.testing import CliRunner
from roofslate import errors
from roofslate._base.messages import pip_install
from roofslate.cli import main
from roofslate.evaluation import table_files
from roofslate.grid.read import Settled
from support.sweeps import MODELS, doubles, files_of, read, scenarios, written

pa = pytest.importorskip("pyarrow", reason="rs.sweep needs pyarrow")
pa_csv = pytest.importorskip("pyarrow.csv", reason="rs.sweep needs pyarrow")
pq = pytest.importorskip("pyarrow.parquet", reason="rs.sweep needs pyarrow")

OUTPUTS = ["pass_time", "bottleneck", "cost_per_token"]


@pytest.fixture(name="small_chunks", params=[None, 1, 7, 64], ids=lambda n: f"chunks-{n or 'whole'}")
def chunks_of_every_size(request, monkeypatch):
    if request.param is not None:
        monkeypatch.setattr(table_files, "_ROWS", request.param)
        monkeypatch.setattr(table_files, "_BYTES", 300)
    return request.param


# ------------------------------------------------------------------------------------------------------------ results


@pytest.mark.parametrize("target", ["csv", "parquet"])
@pytest.mark.parametrize("source", ["csv", "parquet"])
@pytest.mark.usefixtures("small_chunks")
def test_results_are_those_of_frame(tmp_path, bits, source, target):
    table = scenarios(200)
    expected = rs.frame(table, OUTPUTS, ignore="id")
    path = written(table, tmp_path / f"in.{source}")
    out = tmp_path / f"out.{target}"
    assert rs.sweep(path, OUTPUTS, out, ignore=["id"]) == 200
    result = read(out)
    assert list(result.columns) == [*table.columns, *OUTPUTS]
    assert result["id"].tolist() == table["id"].tolist()
    for name in ("pass_time", "cost_per_token"):
        assert np.array_equal(bits(doubles(result[name])), bits(expected[name]))
    assert result["bottleneck"].tolist() == expected["bottleneck"].tolist()
    for name in ("model", "hardware", "overlap"):
        assert result[name].tolist() == table[name].tolist()
    for name in ("batch_size", "chip_price"):
        assert doubles(result[name]).tolist() == table[name].tolist()
    if source == "csv" and target == "parquet":  # a column of texts with units needs one type
        sizes = {"8k": 8000, "128k": 128_000, "1500": 1500, "0.5k token": 500}
        assert result["context_length"].tolist() == table["context_length"].map(sizes).tolist()
    else:
        assert result["context_length"].tolist() == table["context_length"].tolist()
    assert files_of(tmp_path) == sorted({path.name, out.name})


@pytest.mark.parametrize("model", MODELS)
def test_a_row_does_not_depend_on_the_others(tmp_path, model):
    table = pd.DataFrame(
        {"model": [*MODELS, model], "hardware": ["H200", "B200 (lecture)", "H100", "GB200", "A100-80"]}
    )
    scenario = {"batch_size": 64, "context_length": "8k", "chips": 64}
    outputs = ["pass_time", "balance_tokens", "kv_bytes_per_token"]
    rs.sweep(written(table, tmp_path / "in.parquet"), outputs, tmp_path / "out.parquet", scenario)
    for _, row in read(tmp_path / "out.parquet").iterrows():
        for name in outputs:
            assert row[name] == rs.value(name, scenario, model=row["model"], hardware=row["hardware"])


def test_threads_and_inputs_and_units(tmp_path):
    table = scenarios(50)[["batch_size", "model"]]
    path = written(table, tmp_path / "in.parquet")
    scenario = {"hardware": "GB200 NVL72", "context_length": "8k", "chip_price": "3 USD/h"}
    in_units = {"cost_per_token": "USD/Mtoken"}
    expected = rs.frame(table, "cost_per_token", units=in_units, **scenario)
    for threads in (1, 2):
        rs.sweep(
            path,
            "cost_per_token",
            tmp_path / "out.parquet",
            units=in_units,
            threads=threads,
            overwrite=True,
            **scenario,
        )
        result = read(tmp_path / "out.parquet")
        assert result["cost_per_token"].equals(expected["cost_per_token"])
        assert result.attrs["units"] == in_units
        assert pq.read_schema(tmp_path / "out.parquet").field("cost_per_token").metadata[b"units"] == b"USD/Mtoken"


@pytest.mark.usefixtures("small_chunks")
def test_bad_rows_are_empty_and_counted_once(tmp_path):
    lines = [
        "batch_size,model,pass_length",
        "1,Kimi-K2,1",
        "-2,Kimi-K2,1",
        ",Kimi-K2,1",
        "4,,1",
        "NA,Kimi-K2,1",
        "6,Kimi-K2,1",
    ]
    (tmp_path / "in.csv").write_text("\n".join(lines))
    for target in (tmp_path / "out.csv", tmp_path / "out.parquet"):
        with warnings.catch_warnings(record=True) as warned:
            warnings.simplefilter("always")
            rs.sweep(tmp_path / "in.csv", ["pass_tokens", "overlap"], target, Settled())
        assert [str(w.message) for w in warned] == [
            "4 of 6 rows have no results: an input is missing or outside of its range"
        ]
        assert warned[0].category is rs.RoofslateWarning
        assert warned[0].filename == __file__
    text = (tmp_path / "out.csv").read_text().splitlines()
    assert text == [
        "batch_size,model,pass_length,pass_tokens,overlap",
        "1,Kimi-K2,1,1,board",
        "-2,Kimi-K2,1,,",
        ",Kimi-K2,1,,",
        "4,,1,,",
        "NA,Kimi-K2,1,,",
        "6,Kimi-K2,1,6,board",
    ]
    result = pq.read_table(tmp_path / "out.parquet")
    assert result["pass_tokens"].to_pylist() == [1, None, None, None, None, 6]
    assert result["overlap"].to_pylist() == ["board", None, None, None, None, "board"]
    assert result["batch_size"].to_pylist() == [1, -2, None, 4, None, 6]
    assert result["model"].null_count == 1


def test_never_is_inf_and_undefined_is_empty(tmp_path, decode):
    table = pd.DataFrame({"context_length": [1.0, 1e9]})
    scenario = {name: x for name, x in decode.items() if name not in table}
    rs.sweep(written(table, tmp_path / "in.parquet"), "balance_batch_at_context", tmp_path / "out.csv", scenario)
    expected = rs.frame(table, "balance_batch_at_context", scenario)["balance_batch_at_context"]
    assert doubles(read(tmp_path / "out.csv")["balance_batch_at_context"]).tolist() == expected.tolist()
    assert (tmp_path / "out.csv").read_text().endswith(",inf\n")


# --------------------------------------------------------------------------------------------------------- the files


@pytest.mark.usefixtures("small_chunks")
def test_texts_of_a_csv_file_stay_as_they_are(tmp_path):
    remarks = [
        "plain",
        'with "quotes"',
        "a, comma",
        "two\nlines",
        "return\r\nnewline",
        "",
        "007",
        "NA",
        "ünïcode €",
        " ",
    ]
    remarks *= 20
    with (tmp_path / "in.csv").open("w", newline="", encoding="utf-8-sig") as stream:
        writer = csv.writer(stream)
        writer.writerow(["batch_size", "the, remark", "pass_length"])
        writer.writerows([[f"0{k}.50", remark, "1e0"] for k, remark in enumerate(remarks, 1)])
    rs.sweep(tmp_path / "in.csv", "pass_tokens", tmp_path / "out.csv", ignore=["the, remark"])
    result = read(tmp_path / "out.csv")
    assert result["the, remark"].tolist() == remarks
    assert result["batch_size"].tolist() == [f"0{k}.50" for k in range(1, 201)]
    assert doubles(result["pass_tokens"]).tolist() == [k + 0.5 for k in range(1, 201)]
    rs.sweep(tmp_path / "in.csv", "pass_tokens", tmp_path / "out.parquet", ignore=["the, remark"])
    assert [x or "" for x in pq.read_table(tmp_path / "out.parquet")["the, remark"].to_pylist()] == remarks


def test_quotes_are_only_where_they_are_needed(tmp_path):
    (tmp_path / "in.csv").write_text('note,batch_size\n"plain",1\n"a,b",2\n')
    rs.sweep(tmp_path / "in.csv", "pass_tokens", tmp_path / "out.csv", ignore="note")
    assert (tmp_path / "out.csv").read_bytes() == b'note,batch_size,pass_tokens\nplain,1,1\n"a,b",2,2\n'


def test_numbers_in_a_csv_file_are_read_back_as_they_were(tmp_path, bits):
    rng = np.random.default_rng(8)
    table = pd.DataFrame({"batch_size": 10.0 ** rng.uniform(-300, 300, 5000)})
    rs.sweep(written(table, tmp_path / "in.parquet"), "pass_tokens", tmp_path / "out.csv")
    result = read(tmp_path / "out.csv")
    assert np.array_equal(bits(doubles(result["batch_size"])), bits(table["batch_size"]))
    assert np.array_equal(bits(doubles(result["pass_tokens"])), bits(table["batch_size"]))


@pytest.mark.usefixtures("small_chunks")
def test_columns_of_every_type(tmp_path):
    rows = 30
    numbers = [float(k % 9 + 1) for k in range(rows)]
    numbers[4] = None
    kinds = {
        "int32": pa.array([None if x is None else int(x) for x in numbers], pa.int32()),
        "uint64": pa.array([None if x is None else int(x) for x in numbers], pa.uint64()),
        "float": pa.array(numbers, pa.float32()),
        "decimal": pa.array([None if x is None else int(x) for x in numbers], pa.int64()).cast(pa.decimal128(22, 2)),
        "string": pa.array([None if x is None else f"{x} seq" for x in numbers]),
        "large_string": pa.array([None if x is None else str(x) for x in numbers], pa.large_string()),
        "dictionary": pa.array([None if x is None else f"{x}" for x in numbers]).dictionary_encode(),
        "dictionary of numbers": pa.array(numbers).dictionary_encode(),
    }
    carried = {"day": pa.array(range(rows), pa.date32()), "flag": pa.array([True, False] * 15), "list": [[1]] * rows}
    for kind, column in kinds.items():
        table = pa.table({"batch_size": column, **carried})
        pq.write_table(table, tmp_path / "in.parquet", row_group_size=11)
        with pytest.warns(rs.RoofslateWarning, match="1 of 30 rows"):
            rs.sweep(
                tmp_path / "in.parquet",
                "pass_tokens",
                tmp_path / "out.parquet",
                ignore=list(carried),
                overwrite=True,
            )
        result = pq.read_table(tmp_path / "out.parquet")
        assert result["pass_tokens"].to_pylist() == numbers, kind
        for name in table.column_names:
            assert result[name].to_pylist() == table[name].to_pylist(), kind
        if kind != "dictionary of numbers":
            assert result.schema.field("batch_size").type == table.schema.field("batch_size").type
    pq.write_table(pa.table({"batch_size": pa.nulls(rows)}), tmp_path / "in.parquet")
    with pytest.warns(rs.RoofslateWarning, match="30 of 30 rows"):
        rs.sweep(tmp_path / "in.parquet", "pass_tokens", tmp_path / "out.parquet", overwrite=True)


@pytest.mark.parametrize("index", [pd.RangeIndex(4, 7), pd.Index([5, 3, 3], name="case"), pd.Index(["a", "b", "c"])])
def test_the_index_of_a_dataframe_is_kept(tmp_path, index):
    pd.DataFrame({"batch_size": [1.0, 2.0, 3.0]}, index=index).to_parquet(tmp_path / "in.parquet")
    rs.sweep(tmp_path / "in.parquet", "pass_tokens", tmp_path / "out.parquet")
    result = pd.read_parquet(tmp_path / "out.parquet")
    assert result.index.equals(index)
    assert result["pass_tokens"].tolist() == [1, 2, 3]
    assert list(result.columns) == ["batch_size", "pass_tokens"]


@pytest.mark.parametrize("target", ["out.csv", "out.parquet"])
def test_no_rows(tmp_path, target):
    (tmp_path / "in.csv").write_text("batch_size,model\n")
    pd.DataFrame({"batch_size": [], "model": []}).to_parquet(tmp_path / "in.parquet")
    for source in ("in.csv", "in.parquet"):
        assert rs.sweep(tmp_path / source, "pass_tokens", tmp_path / target, overwrite=True) == 0
        assert list(read(tmp_path / target).columns) == ["batch_size", "model", "pass_tokens"]


def test_nan_of_a_parquet_file_is_an_empty_cell(tmp_path):
    path = written(pd.DataFrame({"x": [1.5, np.nan], "batch_size": [1.0, 2.0]}), tmp_path / "in.parquet")
    pq.write_table(pa.table({"x": pa.array([1.5, np.nan], from_pandas=False), "batch_size": [1.0, 2.0]}), path)
    rs.sweep(path, "pass_tokens", tmp_path / "out.csv", ignore="x")
    assert (tmp_path / "out.csv").read_text() == "x,batch_size,pass_tokens\n1.5,1,1\n,2,2\n"


def test_many_columns_take_no_quadratic_time(tmp_path):
    ignored = [f"column {k}" for k in range(9_999)]
    (tmp_path / "in.csv").write_text(f"batch_size,{','.join(ignored)}\n7{',1' * len(ignored)}\n")
    start = time.perf_counter()
    rs.sweep(tmp_path / "in.csv", "pass_tokens", tmp_path / "out.csv", ignore=ignored)
    assert time.perf_counter() - start < 6  # half a second, and 9 s if names are compared with one another
    assert (tmp_path / "out.csv").read_text().endswith(",1,7\n")


@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_a_table_has_so_many_columns(tmp_path, suffix):
    """Each column is read by itself: a small file should not take minutes."""
    names = ["batch_size", *(f"c{k}" for k in range(10_000))]
    path = tmp_path / f"in.{suffix}"
    if suffix == "csv":
        path.write_text(f"{','.join(names)}\n{','.join('1' for _ in names)}\n")
    else:
        pq.write_table(pa.table([[1.0]] * len(names), names=names), path)
    with pytest.raises(rs.RoofslateError, match=r"has 10,001 columns; a table has at most 10,000"):
        rs.sweep(path, "pass_tokens", tmp_path / "out.csv", ignore=names[1:])


# ----------------------------------------------------------------------------------------------------------- mistakes

GOOD = "1\n2 seq\n3\n"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("batch_size\n" + GOOD + "two\n", "in.csv, line 5: batch_size: cannot read 'two' as sequence"),
        ("batch_size\n" + GOOD + "\n\n4 GB\n", "in.csv, line 7: batch_size: cannot read '4 GB' as sequence"),
        ('batch_size,pass_length\n1,1\n2,"\n\n1"\n3,1 s\n', "in.csv, line 6: pass_length: cannot read '1 s'"),
        ("batch_size\n1\n1e999\n", "in.csv, line 3: batch_size: cannot read '1e999'"),
        ("batch_size\n" + GOOD + "1e999\n", "in.csv, line 5: batch_size: cannot read '1e999'"),
        (
            "batch_size,model\n1,Kimi-K2\n2,Kimi-K9\n3,x\n",
            "in.csv, line 3: unknown model preset 'Kimi-K9'; did you mean",
        ),
        (
            "batch_size,expert_reads\n1,all\n2,al\n",
            "in.csv, line 3: unknown expert_reads 'al'; did you mean 'all'?",
        ),
        ("batch_size,pass_length\n1,2\n1\n", "in.csv, line 3: "),
        ("batch_size,pass_length\n1,2\n1,2,3\n", "in.csv, line 3: "),
        (b"batch_size,pass_length\n1,2\n1,\xff\n", "in.csv, line 3: "),
        ("", "in.csv is empty: its first line names the columns"),
        ("batch_sise\n1\n", "in.csv: unknown input 'batch_sise'; did you mean 'batch_size'?"),
        ("batch_size,batch_size\n1,2\n", "in.csv: two columns are called 'batch_size'"),
        ("batch_size,pass_tokens\n1,2\n", "in.csv: 'pass_tokens' is a column already"),
        ("pass_length\n1\n", "missing input 'batch_size'"),
    ],
)
@pytest.mark.usefixtures("small_chunks")
def test_mistakes_in_a_file(tmp_path, text, message):
    (tmp_path / "in.csv").write_bytes(text if isinstance(text, bytes) else text.encode())
    takes_choice = "expert_reads" in str(text)
    outputs = "weight_fetch_time" if takes_choice else "pass_tokens"
    command = ["sweep", str(tmp_path / "in.csv"), "--outputs", outputs, "-o", str(tmp_path / "out.csv")]
    command += ["model=DeepSeek-V3", "hardware=GB200 NVL72"] if takes_choice else []
    result = CliRunner().invoke(main, command)
    assert result.exit_code == 2
    assert len(result.stderr.splitlines()) == 1
    assert message in result.stderr
    assert files_of(tmp_path) == ["in.csv"]


@pytest.mark.parametrize("row", ["x" * 1000, '"' + "x\n" * 500 + '"'], ids=["one line", "lines in quotes"])
def test_a_row_that_is_too_long_is_named(tmp_path, monkeypatch, row):
    monkeypatch.setattr(table_files, "_BYTES", 300)
    (tmp_path / "in.csv").write_text(f"note,batch_size\nshort,1\n{row},2\n{row},3\n")
    with pytest.raises(errors.InputTypeError, match=r"in\.csv, line 3: a row has at most 300 bytes$"):
        rs.sweep(tmp_path / "in.csv", "pass_tokens", tmp_path / "out.csv", ignore="note")
    assert files_of(tmp_path) == ["in.csv"]


@pytest.mark.parametrize("end", ["", "\n", "\r\n\n"])
def test_a_file_of_a_header_alone_has_no_rows(tmp_path, end):
    (tmp_path / "in.csv").write_text(f"batch_size{end}", newline="")
    assert rs.sweep(tmp_path / "in.csv", "pass_tokens", tmp_path / "out.csv") == 0
    assert (tmp_path / "out.csv").read_text() == "batch_size,pass_tokens\n"


@pytest.mark.usefixtures("small_chunks")
def test_mistakes_name_the_row_of_a_parquet_file(tmp_path):
    path = written(pd.DataFrame({"batch_size": ["1"] * 80 + ["1 GB", "x"]}), tmp_path / "in.parquet")
    with pytest.raises(errors.UnitError, match=r"in\.parquet, row 81: batch_size: cannot read '1 GB' as sequence"):
        rs.sweep(path, "pass_tokens", tmp_path / "out.csv")
    assert files_of(tmp_path) == ["in.parquet"]


@pytest.mark.parametrize(
    ("column", "message"),
    [
        (pa.array([True]), "batch_size: expected numbers or texts, got a column of bool"),
        (pa.array([1], pa.timestamp("s")), "batch_size: expected numbers or texts, got a column of timestamp"),
        (pa.array([[1]]), "batch_size: expected numbers or texts, got a column of list"),
    ],
)
def test_columns_that_hold_other_things(tmp_path, column, message):
    pq.write_table(pa.table({"batch_size": column}), tmp_path / "in.parquet")
    with pytest.raises(errors.InputTypeError) as caught:
        rs.sweep(tmp_path / "in.parquet", "pass_tokens", tmp_path / "out.parquet")
    assert message in str(caught.value)
    pq.write_table(pa.table({"model": [1]}), tmp_path / "in.parquet")
    with pytest.raises(errors.InputTypeError, match="model: expected words, got a column of int64"):
        rs.sweep(tmp_path / "in.parquet", "sparsity", tmp_path / "out.parquet")


def test_mistakes_of_the_call(tmp_path):
    path = written(pd.DataFrame({"batch_size": [1], "note": ["x"]}), tmp_path / "in.csv")
    out = tmp_path / "out.csv"
    pq.write_table(pa.table({"batch_size": [1], "note": [[1]]}), tmp_path / "lists.parquet")
    (tmp_path / "broken.parquet").write_bytes(b"no table")
    for arguments, more, kind, message in [
        ((path, "pass_tokens", out), {}, errors.UnknownName, r"'note'.*named in ignore"),
        ((path, "pass_tokns", out), {}, errors.UnknownName, "did you mean 'pass_tokens'"),
        ((path, "pass_tokens", out), {"ignore": 3}, errors.InputTypeError, "ignore"),
        ((path, "pass_tokens", out), {"batch_size": 2, "ignore": "note"}, errors.InputTypeError, "and a keyword"),
        (
            (path, "pass_tokens", out),
            {"pass_length": [1, 2], "ignore": "note"},
            errors.AxisError,
            "one value for all",
        ),
        ((path, "pass_tokens", out), {"units": {"pass_tokens": "s"}}, errors.UnitError, "pass_tokens"),
        ((path, "pass_tokens", tmp_path / "out.txt"), {}, errors.InputTypeError, r"ends in \.csv or \.parquet"),
        ((tmp_path / "in.tsv", "pass_tokens", out), {}, errors.InputTypeError, r"ends in \.csv or \.parquet"),
        ((tmp_path / "none.csv", "pass_tokens", out), {}, FileNotFoundError, r"none\.csv"),
        ((path, "pass_tokens", tmp_path / "none/out.csv"), {"ignore": "note"}, FileNotFoundError, "no such folder"),
        ((path, "pass_tokens", 3), {}, errors.InputTypeError, "target: expected the name of a file"),
        (
            (tmp_path / "lists.parquet", "pass_tokens", out),
            {"ignore": "note"},
            errors.InputTypeError,
            "'note' holds list",
        ),
        (
            (tmp_path / "broken.parquet", "pass_tokens", out),
            {},
            errors.InputTypeError,
            r"broken\.parquet cannot be read",
        ),
    ]:
        with pytest.raises(kind, match=message):
            rs.sweep(*arguments, **more)
    assert files_of(tmp_path) == ["broken.parquet", "in.csv", "lists.parquet"]


def test_without_pyarrow_it_says_what_to_install(run_python, tmp_path):
    written(pd.DataFrame({"batch_size": [1]}), tmp_path / "in.csv")
    words = ["sweep", str(tmp_path / "in.csv"), "--outputs", "pass_tokens", "-o", str(tmp_path / "out.csv")]
    code = f"""
import sys
sys.modules["pyarrow"] = None
import roofslate
try:
    roofslate.sweep("in.csv", "pass_tokens", "out.csv")
except ModuleNotFoundError as error:
    print(error)
from roofslate.cli import main
main({words!r})
"""
    done = run_python(code, check=False)
    assert done.returncode == 2
    for text in (done.stdout, done.stderr):
        assert pip_install("io") in text
        assert len(text.splitlines()) == 1


# ------------------------------------------------------------------------------------------------------- command line


def test_the_command(tmp_path):
    table = scenarios(20)
    path = written(table, tmp_path / "in.csv")
    command = ["sweep", str(path), "--outputs", "pass_time, cost_per_token", "-o", str(tmp_path / "out.parquet")]
    command += [
        "--ignore",
        "id,chip_price",
        "--units",
        "cost_per_token=USD/Mtoken",
        "chip_price=3 USD/h",
        "--threads",
        "1",
    ]
    done = CliRunner().invoke(main, command)
    assert (done.exit_code, done.stdout, done.stderr) == (0, "", "")
    expected = rs.frame(
        table,
        ["pass_time", "cost_per_token"],
        ignore=["id", "chip_price"],
        units={"cost_per_token": "USD/Mtoken"},
        chip_price="3 USD/h",
    )
    pd.testing.assert_frame_equal(read(tmp_path / "out.parquet")[list(expected.columns)], expected, check_exact=True)
    again = CliRunner().invoke(main, command)
    assert again.exit_code == 2
    assert again.stderr.startswith(f"roofslate: {tmp_path / 'out.parquet'}: exists already")
    assert CliRunner().invoke(main, [*command, "--overwrite"]).exit_code == 0


def test_the_command_tells_of_bad_rows_in_one_line(tmp_path):
    path = written(pd.DataFrame({"batch_size": [1, -1, 3]}), tmp_path / "in.csv")
    done = CliRunner().invoke(main, ["sweep", str(path), "--outputs", "pass_tokens", "-o", str(tmp_path / "out.csv")])
    assert done.exit_code == 0
    assert done.stderr == "roofslate: 1 of 3 rows have no results: an input is missing or outside of its range\n"


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["pass_time"], "'pass_time': an input is written NAME=VALUE, a quantity goes to --outputs"),
        (["pass_length=1,2"], "takes one value for all rows"),
        (["--units", "s"], "--units 's': write NAME=UNIT"),
        (["--outputs", "pass_tokns"], "did you mean 'pass_tokens'"),
        (["--outputs", ","], "no output was asked for"),
        (["--threads", "0"], "threads"),
    ],
)
def test_mistakes_of_the_command(tmp_path, words, message):
    path = written(pd.DataFrame({"batch_size": [1]}), tmp_path / "in.csv")
    command = ["sweep", str(path), "-o", str(tmp_path / "out.csv"), "--outputs", "pass_tokens", *words]
    done = CliRunner().invoke(main, command)
    assert done.exit_code == 2
    assert message in done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert files_of(tmp_path) == ["in.csv"]


def test_the_help_of_the_command():
    text = CliRunner().invoke(main, ["sweep", "--help"]).stdout
    assert "--overwrite" in text
    assert "roofslate sweep scenarios.csv --outputs" in text


# ------------------------------------------------------------------------------------------------------------ memory


MEMORY = """
import re
import roofslate as rs
from pathlib import Path
rows = rs.sweep({source!r}, ["pass_time", "cost_per_token"], {target!r}, batch_size=64, model="DeepSeek-V3",
                hardware="GB200 NVL72", threads=2, overwrite=True)
print(rows, int(re.search(r"VmHWM:\\s*(\\d+) kB", Path("/proc/self/status").read_text())[1]) // 1024)
"""


@pytest.mark.skipif(not Path("/proc/self/status").exists(), reason="peak memory is read from /proc")
@pytest.mark.measured
@pytest.mark.parametrize("suffix", ["csv", "parquet"])
def test_memory_does_not_grow_with_the_file(tmp_path, run_python, suffix):
    used = []
    for rows in (2_000_000, 6_000_000):  # of one row group
        context = np.round(1 + np.random.default_rng(1).random(rows) * 1e5)
        source = tmp_path / f"in.{suffix}"
        table = pa.table({"context_length": context, "chip_price": context * 1e-6})
        if suffix == "csv":
            pa_csv.write_csv(table, source)
        else:
            pq.write_table(table, source, row_group_size=rows)
        code = MEMORY.format(source=str(source), target=str(tmp_path / f"out.{suffix}"))
        done, peak = map(int, run_python(code).split())
        assert done == rows
        used.append(peak)
    assert used[1] < used[0] + 60  # MiB; the rows between are 64 MiB, twice as much with their results
    assert used[1] < 700
