"""`read_benchmarks`: formats, errors that name file and field, keywords, folders."""

import json
import math
import shutil

import pandas as pd
import pytest
import roofslate as rs
from click.testing import CliRunner
from roofslate import errors
from roofslate.cli import main
from roofslate.measured.benchmark_formats import FORMATS_OF_FILES
from roofslate.measured.benchmark_words import day_of, hardware_name, weight_format_name
from support import ROOT

FOLDER = ROOT / "tests" / "reference" / "benchmark_files"
FILES = {
    "vllm bench serve": "vllm_serve.json",
    "sglang bench_serving": "sglang.jsonl",
    "InferenceX": "agg_dsr1_h200.json",
    "trtllm-bench": "trtllm.json",
    "aiperf": "profile_export_aiperf.json",
    "genai-perf": "profile_export_genai_perf.json",
    "GuideLLM": "guidellm.json",
}
ROWS = {
    "vllm bench serve": {
        "model": "meta-llama/Llama-3.1-8B-Instruct",
        "framework": "vllm",
        "concurrency": 16,
        "input_tokens": 1024,
        "output_tokens": 256,
        "time_to_first_token_s": 0.1805,
        "time_to_first_token_p99_s": 0.31,
        "time_per_output_token_s": 0.00925,
        "time_per_output_token_median_s": 0.009,
        "request_latency_s": 2.53925,
        "request_latency_p99.9_s": 3.0,
        "requests": 160,
        "failed_requests": 0,
        "measured": "2026-01-14",
    },
    "sglang bench_serving": {
        "model": "deepseek-ai/DeepSeek-V3",
        "framework": "sglang",
        "framework_version": "0.5.6",
        "weight_format": "fp8",
        "chips": 8,
        "tensor_parallel": 1,
        "attention_data_parallel": 8,
        "expert_parallel": 8,
        "concurrency": 8,
        "input_tokens": 2048,
        "output_tokens": 512,
        "time_to_first_token_s": 0.41,
        "time_per_output_token_s": 0.0215,
        "time_per_output_token_p99_s": 0.0255,
        "speculation": "none",
    },
    "InferenceX": {
        "model": "deepseek-ai/DeepSeek-R1-0528",
        "hardware": "H200",
        "framework": "sglang",
        "mode": "aggregated",
        "weight_format": "fp8",
        "chips": 8,
        "tensor_parallel": 1,
        "attention_data_parallel": 8,
        "expert_parallel": 8,
        "concurrency": 64,
        "input_tokens": 1024,
        "output_tokens": 1024,
        "time_to_first_token_s": 0.6,
        "time_per_output_token_s": 0.0242,
        "request_latency_s": 25.4,
        "tokens_per_second_per_chip": 340,
        "speculation": "none",
    },
    "trtllm-bench": {
        "model": "meta-llama/Llama-3.3-70B-Instruct",
        "hardware": "H100",
        "framework": "trtllm",
        "framework_version": "1.1.0",
        "weight_format": "fp8",
        "chips": 4,
        "tensor_parallel": 4,
        "concurrency": 31.5,
        "input_tokens": 1000,
        "output_tokens": 400,
        "time_to_first_token_s": 0.3,
        "time_to_first_token_p99_s": 0.42,
        "time_per_output_token_s": 0.018,
        "request_latency_s": 7.5,
        "tokens_per_second_per_chip": 420,
    },
    "aiperf": {
        "model": "Qwen/Qwen3-32B",
        "concurrency": 16,
        "input_tokens": 1500,
        "output_tokens": 256,
        "time_to_first_token_s": 0.24,
        "time_per_output_token_s": 0.0186,
        "time_per_output_token_p99_s": 0.0186 * 1.4,
        "request_latency_s": 4.98,
        "failed_requests": 1,
        "measured": "2026-11-02",
    },
    "genai-perf": {
        "model": "Qwen/Qwen3-32B",
        "concurrency": 4.98 * 3.2,  # Little's law
        "arrival_rate": 3.25,
        "time_to_first_token_s": 0.24,
        "time_per_output_token_s": 0.0186,
    },
    "GuideLLM": {
        "model": "Qwen/Qwen3-32B-FP8",
        "concurrency": 8,
        "input_tokens": 1000,
        "output_tokens": 128,
        "time_to_first_token_s": 0.21,
        "time_per_output_token_s": 0.015,
        "request_latency_s": 2.115,
    },
}


def content(form):
    text = (FOLDER / FILES[form]).read_text()
    return json.loads(text.partition("\n")[0] if FILES[form].endswith("l") else text)


def read(entry, tmp_path, **columns):
    path = tmp_path / "a.json"
    path.write_text(entry if isinstance(entry, str) else json.dumps(entry))
    return rs.read_benchmarks(path, **columns)


def assert_row(row, expected):
    for column, x in expected.items():
        assert row[column] == (x if isinstance(x, str) else pytest.approx(x)), column


# -------------------------------------------------------------------------------------------------------------- formats


@pytest.mark.parametrize("form", FILES)
def test_each_format_is_read(form):
    table = rs.read_benchmarks(FOLDER / FILES[form])
    assert set(table["file_format"]) == {form}
    assert table["file"][0].startswith(FILES[form])
    assert_row(table.iloc[0], ROWS[form])
    assert table.attrs["unknown_fields"] == {}


@pytest.mark.parametrize(
    ("form", "version"),
    [("sglang bench_serving", "0.5.6"), ("trtllm-bench", "1.1.0"), ("aiperf", "0.13.0"), ("GuideLLM", "0.8.1")],
)
def test_versions_are_noted(form, version):
    assert rs.read_benchmarks(FOLDER / FILES[form]).attrs["versions"] == {form: [version]}


def test_a_sweep_of_vllm_counts_each_run_once():
    table = rs.read_benchmarks(FOLDER / "vllm_sweep")
    assert table["time_per_output_token_s"].tolist() == pytest.approx([0.006, 0.0061])
    assert set(table["chips"]) == set(table["tensor_parallel"]) == {2.0}
    summary = next((FOLDER / "vllm_sweep").glob("*/summary.json"))
    assert rs.read_benchmarks(summary)["time_per_output_token_s"].tolist() == pytest.approx([0.006, 0.0061])


def test_pools_of_inferencex():
    row = rs.read_benchmarks(FOLDER / "agg_dsr1_pools.json").iloc[0]
    expected = {"mode": "disaggregated decode pool", "hardware": "GB200", "chips": 8, "concurrency": 128}
    assert_row(row, {**expected, "tensor_parallel": 8, "attention_data_parallel": 1, "speculation": "yes"})
    assert "tokens_per_second_per_chip" not in row  # of which chips is not said


def test_open_load_and_its_concurrency(tmp_path):
    """Little's law, with the latency of the file or the sum of its parts."""
    entry = {**content("vllm bench serve"), "max_concurrency": None, "request_rate": 4.0}
    row = read(entry, tmp_path).iloc[0]
    assert row["arrival_rate"] == 4.0
    assert row["concurrency"] == pytest.approx(entry["request_throughput"] * 2.53925)
    short = {name: x for name, x in entry.items() if "e2el" not in name}
    assert read(short, tmp_path)["concurrency"][0] == pytest.approx(entry["request_throughput"] * 2.53925)
    assert "arrival_rate" not in read({**entry, "request_rate": "inf"}, tmp_path)


def test_replicas_behind_one_address_are_left_to_the_caller(tmp_path):
    entry = {**content("vllm bench serve"), "tensor_parallel_size": 2, "data_parallel_size": 4}
    assert "chips" not in read(entry, tmp_path)


def test_lines_lists_and_objects_are_the_same(tmp_path):
    entry = content("vllm bench serve")
    lines = "\n".join([json.dumps(entry)] * 2)
    pd.testing.assert_frame_equal(
        read(lines, tmp_path).drop(columns="file"), read([entry] * 2, tmp_path).drop(columns="file")
    )


def test_a_non_streaming_run_has_no_token_times(tmp_path):
    entry = content("trtllm-bench")
    del entry["streaming_metrics"]
    row = read(entry, tmp_path).iloc[0]
    assert row["request_latency_s"] == 7.5
    assert "time_per_output_token_s" not in row


def test_unknown_fields_are_listed(tmp_path):
    table = read({**content("vllm bench serve"), "new_measure": 3, "mean_ttft_ms": 1}, tmp_path)
    assert table.attrs["unknown_fields"] == {"vllm bench serve": ["new_measure"]}


def test_words_of_the_files():
    assert [hardware_name(x) for x in ("NVIDIA A100-SXM4-80GB", "b200-trt", "AMD MI300X", "x")] == [
        "A100-80",
        "B200",
        "MI300X",
        "x",
    ]
    assert [weight_format_name(x) for x in ("FP8", "bfloat16", "W4A16_AWQ", "odd")] == ["fp8", "bf16", "int4", "odd"]
    assert [day_of(x) for x in ("20260114-101500", "2026-11-02T09:30:00", 0, "soon", 1e300, None)] == [
        "2026-01-14",
        "2026-11-02",
        "1970-01-01",
        None,
        None,
        None,
    ]


# --------------------------------------------------------------------------------------------------------------- errors


def paths_of(form):
    """Fields that a format needs for its required columns, at their places in the file."""
    for column in form.required:
        measured = form.measured.get(column)
        paths = measured.mean if measured else form.columns.get(column)
        if isinstance(paths, str):
            yield column, paths.partition(" / ")[0]


@pytest.mark.parametrize(("form", "column", "path"), [(f, *each) for f in FORMATS_OF_FILES for each in paths_of(f)])
def test_a_renamed_field_is_an_error_that_says_so(form, column, path, tmp_path):
    entry = content(form.name)
    result = entry[form.rows][0] if form.rows else entry
    if form.name == "InferenceX" and path in ("isl", "osl"):
        pytest.skip("files of 2025 do not have it")
    *parents, last = path.split(".")
    for name in parents:
        result = result[name]
    result[f"{last}_x"] = result.pop(last)
    with pytest.raises(errors.MissingInput) as caught:
        read(entry, tmp_path)
    message = str(caught.value)
    assert message.startswith("a.json")
    assert form.name in message
    assert repr(column) in message
    assert last in message


@pytest.mark.parametrize("metric", ["time_to_first_token", "inter_token_latency"])
def test_times_of_tokens_are_both_there_or_neither(metric, tmp_path):
    """A run without streaming has neither, so one of them is a changed name."""
    entry = content("aiperf")
    entry[f"{metric}s"] = entry.pop(metric)
    with pytest.raises(errors.MissingInput, match=f"expected the field '{metric}'.*did you mean '{metric}s'"):
        read(entry, tmp_path)


def test_the_nearest_field_is_named(tmp_path):
    entry = content("vllm bench serve")
    entry["mean_ttft_msec"] = entry.pop("mean_ttft_ms")
    with pytest.raises(errors.MissingInput, match=r"expected the field 'mean_ttft_ms'.*did you mean 'mean_ttft_msec'"):
        read(entry, tmp_path)


@pytest.mark.parametrize("value", ["9", True, [1], {"a": 1}, 10**400])
def test_a_field_of_another_type(value, tmp_path):
    with pytest.raises(errors.InputTypeError, match=r"a\.json \(vllm.*'mean_tpot_ms': expected a number"):
        read({**content("vllm bench serve"), "mean_tpot_ms": value}, tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "is empty"),
        ("{", "no JSON"),
        ("[" * 200_000, "nested too deeply|no JSON"),
        ("[1]", "expected a JSON object"),
        ('{"a": 1}', "no known format.*vllm bench serve"),
        ("9" * 5000, "no JSON|expected a JSON object"),
        ("\xff", "no JSON"),
        ("[]", "no known format"),
    ],
)
def test_files_that_are_no_benchmark(text, message, tmp_path):
    with pytest.raises(errors.PresetError, match=message):
        read(text, tmp_path)


def test_sizes_are_limited(tmp_path, monkeypatch):
    monkeypatch.setattr("roofslate.measured.benchmark_files._MOST_BYTES", 100)
    with pytest.raises(errors.PresetError, match="at most 100 bytes"):
        read(content("vllm bench serve"), tmp_path)
    monkeypatch.setattr("roofslate.measured.benchmark_files._MOST_FILES", 0)
    with pytest.raises(errors.PresetError, match="more than 0 files"):
        rs.read_benchmarks(tmp_path)


# --------------------------------------------------------------------------------------------------- keywords, folders


def test_keywords_fill_and_do_not_contradict():
    path = FOLDER / FILES["trtllm-bench"]
    same = rs.read_benchmarks(path, hardware="NVIDIA H100", chips=4, model="Llama-3.1-70B")
    assert same.loc[0, ["hardware", "model"]].tolist() == ["H100", "Llama-3.1-70B"]
    with pytest.raises(errors.InputTypeError, match=r"trtllm\.json: chips is 4\.0 in the file and 8 as given"):
        rs.read_benchmarks(path, chips=8)
    with pytest.raises(errors.UnknownName, match=r"'chip'.*'chips'"):
        rs.read_benchmarks(path, chip=8)
    with pytest.raises(errors.InputTypeError, match="expected a path"):
        rs.read_benchmarks(3)


def test_a_folder_skips_what_is_no_benchmark(tmp_path):
    shutil.copy(FOLDER / FILES["GuideLLM"], tmp_path)
    (tmp_path / "config.json").write_text('{"a": 1}')
    (tmp_path / "notes.txt").write_text("no")
    table = rs.read_benchmarks(tmp_path)
    assert len(table) == 2
    assert list(table.attrs["skipped"]) == ["config.json"]
    (tmp_path / FILES["GuideLLM"]).unlink()
    with pytest.raises(errors.PresetError, match="no result of a benchmark"):
        rs.read_benchmarks(tmp_path)


def test_results_without_a_completed_request_are_named(tmp_path):
    entry = content("vllm bench serve")
    with pytest.warns(errors.RoofslateWarning, match="1 results have no completed request: a.json, result 2"):
        table = read([entry, {**entry, "completed": 0}], tmp_path)
    assert len(table) == 1


def test_formats_mix_in_one_table_that_is_validated():
    table = rs.read_benchmarks(FOLDER)
    assert len(table) == 13
    assert set(table["file_format"]) == set(FILES)
    complete = table[table[["hardware", "chips", "weight_format", "input_tokens"]].notna().all(axis=1)]
    rows = rs.validate(complete).rows
    assert (rows["predicted_time_per_output_token_s"] > 0).all()
    assert rows["bottleneck"].isin(["weight_fetch", "kv_fetch", "compute"]).all()


# ------------------------------------------------------------------------------------------------------------- validate


def test_floor_share_and_bottleneck_of_a_table():
    table = rs.read_benchmarks(FOLDER / FILES["trtllm-bench"])
    row = rs.validate(table).rows.iloc[0]
    point = {"model": "Llama-3.3-70B", "hardware": "H100", "weight_format": "fp8", "compute_format": "fp8", "chips": 4}
    point |= {"tensor_parallel": 4, "concurrency": 31.5, "input_tokens": 1000, "output_tokens": 400, "kv_format": "fp8"}
    for column, output in (
        ("time_per_output_token_s", "time_per_output_token"),
        ("tokens_per_second_per_chip", "tokens_per_second_per_chip"),
    ):
        assert row[f"floor_{column}"] == pytest.approx(rs.value(output, point), rel=1e-9)
    times, rates = "time_per_output_token_s", "tokens_per_second_per_chip"
    assert row[f"share_of_floor_{times}"] == pytest.approx(row[f"floor_{times}"] / 0.018, rel=1e-12)
    assert row[f"share_of_floor_{rates}"] == pytest.approx(420 / row[f"floor_{rates}"], rel=1e-12)
    assert row["bottleneck"] == rs.value("bottleneck", point)
    assert math.isfinite(row["predicted_time_per_output_token_s_upper"])


def command(*words):
    return CliRunner().invoke(main, ["validate", *map(str, words)])


def test_the_command_reads_benchmarks(tmp_path):
    target = tmp_path / "rows.csv"
    result = command(FOLDER / "vllm_serve.json", "hardware=H100", "chips=1", "weight_format=bf16", "--rows", target)
    assert result.exit_code == 0, result.output
    assert "binds" in result.output
    assert "9.25 ms" in result.output
    assert "assumed: vllm bench serve: the engine is vllm" in result.output
    assert pd.read_csv(target)["share_of_floor_time_per_output_token_s"].between(0, 1).all()


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (("hardware=H100", "chips=1"), "no column 'weight_format'; give it as NAME=VALUE"),
        (("hardware",), "'hardware': write NAME=VALUE"),
        (("hardwar=H100",), "unknown column 'hardwar'"),
    ],
)
def test_mistakes_of_the_command(words, message):
    result = command(FOLDER / "vllm_serve.json", *words)
    assert result.exit_code == 2
    assert message in result.output
