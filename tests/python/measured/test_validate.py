"""`validate`: predictions and bands by row, grouped errors, bounds, the command."""

import contextlib
import dataclasses
import math
import re
import time
import warnings

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from click.testing import CliRunner
from hypothesis import given, settings
from hypothesis import strategies as st
from roofslate import errors
from roofslate.cli import main
from roofslate.measured import runs as measurements
from roofslate.presets.frameworks import framework_name
from roofslate.registry.registry import spellings


def run(model="Qwen3-32B", **changes):
    """One measured run."""
    row = {
        "model": model,
        "hardware": "H100",
        "framework": "vllm",
        "mode": "aggregated",
        "weight_format": "fp8",
        "chips": 2,
        "concurrency": 16,
        "input_tokens": 1000,
        "output_tokens": 500,
        "time_per_output_token_s": 0.02,
        "time_to_first_token_s": 0.3,
    }
    return row | changes


def table(*rows):
    return pd.DataFrame(list(rows) or [run()])


# ----------------------------------------------------------------------------------------------------------------- rows


def test_rows_are_predicted_by_the_shipped_constants():
    """As a separate call with the same constants."""
    given = table(run(), run(concurrency=64, framework="sglang"))
    rows = rs.validate(given).rows
    cal = rs.calibration()
    for label, row in rows.iterrows():
        point = {"model": "Qwen3-32B", "hardware": "H100", "weight_format": "fp8", "chips": 2, "input_tokens": 1000}
        point |= {"concurrency": row["concurrency"], "output_tokens": 500, "bytes_per_weight": 1}
        point["kv_format"] = "bf16" if row["framework"] == "vllm" else "fp8"  # vLLM on Hopper: bf16
        for column, output in (
            ("time_per_output_token_s", "time_per_output_token"),
            ("time_to_first_token_s", "time_to_first_token"),
        ):
            share = 84 / 130 if row["framework"] == "sglang" else 0  # of clients in lockstep, by whole lengths
            policy, graphs = ("first", "none") if row["framework"] == "sglang" else ("chunked", "piecewise")
            schedule = {"prompt_policy": policy, "prefill_graphs": graphs}
            constants = cal.at(framework=row["framework"])
            predicted = rs.value(output, {**constants, **point, **schedule}, lockstep_share=share)
            assert rows.loc[label, f"predicted_{column}"] == pytest.approx(
                predicted, rel=1e-12
            )  # another order of sums
            low, high = cal.band(0.8, output, model="Qwen3-32B", hardware="H100", framework=row["framework"])
            assert rows.loc[label, f"predicted_{column}_lower"] == pytest.approx(low * predicted)
            assert rows.loc[label, f"predicted_{column}_upper"] == pytest.approx(high * predicted)
    assert list(rows.columns[: given.shape[1]]) == list(given.columns)
    pd.testing.assert_frame_equal(rows[given.columns], given)


def test_the_index_stays():
    given = table(run(), run(concurrency=1)).set_index(pd.Index(["a", "b"]))
    result = rs.validate(given)
    assert result.rows.index.tolist() == ["a", "b"]
    explanation = result.explain("b")
    assert explanation.value == result.rows.loc["b", "predicted_time_per_output_token_s"]
    assert result.explain("a", "time_to_first_token_s").value == result.rows.loc["a", "predicted_time_to_first_token_s"]
    with pytest.raises(errors.UnknownName, match="'c'"):
        result.explain("c")
    with pytest.raises(errors.UnknownName, match="time_to_first_token_s"):
        result.explain("a", "time_to_first_token")
    twice = rs.validate(given.set_index(pd.Index(["a", "a"])))
    with pytest.raises(errors.AxisError, match="several rows"):
        twice.explain("a")


def test_explain_of_each_shipped_table():
    result = rs.validate()
    first = result.rows.groupby("table", sort=False).head(1)
    for label, row in first.iterrows():
        column = next(c for c in measurements.TARGETS if row.get(c) == row.get(c))
        assert result.explain(label, column).value == pytest.approx(row[f"predicted_{column}"], rel=1e-12)


def test_bands_of_what_was_never_measured_are_wider():
    mine = rs.hardware["H100"]
    chips = {"H100 of ours": rs.Preset("H100 of ours", "hardware", dict(mine.facts))}
    rows = rs.validate(table(run(), run(hardware="H100 of ours")), hardware=chips).rows
    width = rows["predicted_time_per_output_token_s_upper"] / rows["predicted_time_per_output_token_s_lower"]
    assert rows["predicted_time_per_output_token_s"][0] == rows["predicted_time_per_output_token_s"][1]
    assert width[1] > width[0]
    wide = rs.validate(table(), bands=0.95).rows
    assert (wide["predicted_time_per_output_token_s_upper"] > rows["predicted_time_per_output_token_s_upper"][0]).all()


def test_names_outside_of_the_catalogs():
    mine = rs.models["Qwen3-32B"]
    models = {"secret": rs.Preset("secret", "model", dict(mine.facts))}
    rows = rs.validate(table(run(), run("secret")), models=models).rows
    assert rows["predicted_time_per_output_token_s"][0] == rows["predicted_time_per_output_token_s"][1]
    with pytest.raises(errors.UnknownName, match=r"'secret'.*models=\{name: preset\}"):
        rs.validate(table(run("secret")))
    with pytest.raises(errors.PresetError, match="no preset for model="):
        rs.validate(table(run("secret")), models={"secret": 3})


@pytest.mark.parametrize(
    "name",
    ["Qwen/Qwen3-32B", "qwen3_32b", "Qwen3-32B-FP8", "nvidia/Llama-3.1-8B-Instruct-FP8", "deepseek-ai/DeepSeek-R1"],
)
def test_names_as_published(name):
    assert rs.validate(table(run(name))).rows["predicted_time_per_output_token_s"].gt(0).all()


ALIASES = {
    "trtllm": [
        "TensorRT-LLM",
        "tensorrt_llm",
        "TRT-LLM",
        "trt",
        "dynamo-trt",
        "dynamo-trtllm",
        "TensorRT-LLM 1.0.0rc3",
    ],
    "sglang": ["SGLang", "dynamo-sglang", "sgl", "sglang v0.5.9"],
    "vllm": ["vLLM", "dynamo-vllm", "Dynamo vLLM", "vllm 0.12"],
}


def test_presets_stand_for_their_names():
    named = table(run(), run("Llama-3.1-8B", hardware="B200"))
    presets = named.assign(
        model=[rs.models[name] for name in named["model"]], hardware=[rs.hardware[name] for name in named["hardware"]]
    )
    result = rs.validate(presets)
    columns = [column for column in result.rows if column.startswith("predicted")]
    assert len(columns) == 8
    pd.testing.assert_frame_equal(result.rows[columns], rs.validate(named).rows[columns])


@pytest.mark.parametrize(
    ("framework", "alias"), [(framework, alias) for framework, every in ALIASES.items() for alias in every]
)
def test_frameworks_by_other_names(framework, alias):
    assert framework_name(alias) == framework
    rows = [table(run(framework=name, weight_format="fp8")) for name in (framework, alias)]
    result, other = (rs.validate(row) for row in rows)
    assert other.rows["framework"].tolist() == [alias]
    numbers = [column for column in result.rows if column.startswith("predicted")]
    pd.testing.assert_frame_equal(result.rows[numbers], other.rows[numbers])
    assert ("framework", framework) in other.summary.reset_index()[["by", "value"]].itertuples(index=False, name=None)
    cal = rs.calibration()
    known = {"model": "Qwen3-32B", "hardware": "H200"}
    band = cal.band(0.8, "time_per_output_token", framework=alias, **known)
    assert band == cal.band(0.8, "time_per_output_token", framework=framework, **known)
    assert band != cal.band(0.8, "time_per_output_token", framework="mine", **known)


@pytest.mark.parametrize("name", ["mine", "", "trtx", "vllmish", "dynamo"])
def test_frameworks_of_no_known_name_stay_as_they_are(name):
    assert framework_name(name) == name


def test_formats_as_engines_store_them():
    rows = [run("gpt-oss-120b", weight_format=f, hardware=h) for f in ("nvfp4", "int4") for h in ("H100", "B200")]
    result = measurements.read(table(*rows, run("Qwen3-32B", weight_format="nvfp4"))).inputs
    # gpt-oss has one checkpoint in four bits, mxfp4, whatever a table calls it
    assert result["bytes_per_weight"].tolist() == [0.53125] * 4 + [0.5625]
    assert result["weight_format"].tolist() == ["mxfp4", "mxfp4", "int4", "int4", "nvfp4"]
    assert result["compute_format"].tolist() == ["mxfp4", "mxfp4", "bf16", "bf16", "nvfp4"]
    assert result["dense_format"].tolist() == ["bf16"] * 4 + ["same"]
    # fp8 KV caches with nvfp4, but not with vLLM on Hopper, and not with int4
    assert (result["kv_bytes_per_token"] / 73728).tolist()[:4] == [1, 0.5, 1, 1]


@pytest.mark.parametrize(
    ("column", "narrow", "wide", "measured"),
    [
        ("compute_format", "fp8", "bf16", "time_to_first_token_s"),
        ("bytes_per_weight", 1.0, 2.0, "time_per_output_token_s"),
        ("kv_format", "fp8", "bf16", "time_per_output_token_s"),
    ],
)
def test_formats_in_columns_of_their_own_win(column, narrow, wide, measured):
    """The formats by the name of the weights replaced them."""
    runs = table(run(concurrency=256)).drop(columns="framework")
    first, second = (rs.validate(runs.assign(**{column: x})).rows for x in (narrow, wide))
    assert second[f"floor_{measured}"].item() > 1.1 * first[f"floor_{measured}"].item()
    same = rs.validate(runs, **{column: wide}).rows
    pd.testing.assert_frame_equal(same, second.drop(columns=column))


def test_any_input_may_be_a_column_or_the_same_for_all():
    fast = rs.validate(table(), time_per_output_token_factor=0.5).rows
    slow = rs.validate(table(run(time_per_output_token_factor=1.0))).rows
    ratio = fast["predicted_time_per_output_token_s"] / slow["predicted_time_per_output_token_s"]
    np.testing.assert_allclose(ratio, 0.5)


def test_every_shipped_row_is_answered():
    rows = rs.validate().rows
    for column in measurements.TARGETS:
        if column in rows:
            measured = rows[column].notna() & (rows[column] > 0)
            predicted = rows.loc[measured, f"predicted_{column}"]
            assert predicted.gt(0).all()
            assert np.isfinite(predicted).all()


# -------------------------------------------------------------------------------------------------------------- summary


def test_summary_by_hand():
    base = rs.validate(table()).rows["predicted_time_per_output_token_s"][0]
    rows = [run(time_per_output_token_s=base * f) for f in (1.0, 0.8, 0.25)]
    rows[1]["framework"] = "trtllm"
    result = rs.validate(table(*rows))
    predicted = result.rows["predicted_time_per_output_token_s"].to_numpy()
    measured = result.rows["time_per_output_token_s"].to_numpy()
    ratio = predicted / measured
    line = result.summary.loc[("", "time_per_output_token_s", "all", "")]
    assert line["rows"] == 3
    assert line["mape"] == pytest.approx(np.abs(ratio - 1).mean())
    assert line["median"] == pytest.approx(np.median(np.abs(ratio - 1)))
    assert line["rms_log"] == pytest.approx(np.sqrt(np.mean(np.log(ratio) ** 2)))
    assert line["bias"] == pytest.approx(np.exp(np.log(ratio).mean()) - 1)
    assert line["within_2x"] == pytest.approx(2 / 3)
    lower, upper = (result.rows[f"predicted_time_per_output_token_s_{end}"] for end in ("lower", "upper"))
    assert line["coverage"] == pytest.approx(np.mean((measured >= lower) & (measured <= upper)))
    assert result.summary.loc[("", "time_per_output_token_s", "framework", "vllm"), "rows"] == 2
    assert result.summary.loc[("", "time_per_output_token_s", "hardware", "H100"), "rows"] == 3


def test_doubtful_labels_are_told_apart():
    result = rs.validate(table(run(doubtful_label=0), run(doubtful_label=1, time_per_output_token_s=9.0)))
    assert result.summary.loc[("", "time_per_output_token_s", "all", ""), "rows"] == 1
    assert result.summary.loc[("", "time_per_output_token_s", "doubtful label", ""), "rows"] == 1
    assert result.summary.loc[("", "time_per_output_token_s", "all", ""), "mape"] < 5


DRAFTS = run(speculation="yes", speculation_basis="exact", id="b", time_per_output_token_s=9.0)
PLAIN = [run(speculation=word, speculation_basis="exact", id="a") for word in ("none", "unknown")]


def test_drafts_of_unknown_length_are_told_apart():
    result = rs.validate(table(*PLAIN, DRAFTS)).summary.loc[("", "time_per_output_token_s")]
    assert result.loc[("all", ""), "rows"] == result.loc[("model", "Qwen3-32B"), "rows"] == 2
    assert result.loc[("drafts", ""), "rows"] == 1
    assert result.loc[("all", ""), "mape"] < 5
    known = rs.validate(table(*PLAIN, DRAFTS).assign(draft_length=2.0, acceptance_rate=0.7, draft_cost=0.05))
    for other in (known, rs.validate(table(*PLAIN, DRAFTS), ignore="speculation")):
        assert other.summary.loc[("", "time_per_output_token_s", "all", ""), "rows"] == 3
    with pytest.raises(errors.UnknownName, match="speculation 'mtp'"):
        rs.validate(table(run(speculation="mtp")))


def test_the_shipped_rows_say_which_ran_with_drafts():
    """Runs with drafts are separate: labels lack the acceptance, scripts give the length."""
    runs = next(t.runs for t in measurements.shipped() if t.name == "serving")
    assert runs.drafts.sum() == 171
    assert runs.doubtful.sum() == 9
    assert runs.plain.sum() == 1630
    assert runs.rows["id"].is_unique
    errors_of = rs.validate().summary.loc[("serving", "time_per_output_token_s")]
    assert errors_of.loc[("all", ""), "rows"] == 1630
    assert errors_of.loc[("drafts", ""), "mape"] < 0.25
    assert errors_of.loc[("doubtful label", ""), "rows"] == 9
    assert runs.inputs["draft_length"][runs.drafts].isin([1, 2, 3]).all()
    assert (runs.inputs["draft_length"][~runs.drafts] == 0).all()
    assert rs.calibration().errors.loc[("time_per_output_token", "nothing"), "rows"] == 1630


def test_rows_that_were_not_measured_are_predicted_and_not_scored():
    result = rs.validate(table(run(), run(time_per_output_token_s=math.nan)))
    assert result.summary.loc[("", "time_per_output_token_s", "all", ""), "rows"] == 1
    assert result.rows["predicted_time_per_output_token_s"].gt(0).all()
    nothing = rs.validate(table().drop(columns=["time_per_output_token_s", "time_to_first_token_s"]))
    assert nothing.summary.empty
    with pytest.raises(errors.AxisError, match="nothing was measured"):
        nothing.plot()


def test_plot():
    result = rs.validate(table(run(), run(hardware="B200"), run(hardware="B200", concurrency=1)))
    ax = result.plot()
    shown = {line.get_label(): line.get_xydata() for line in ax.get_lines() if not line.get_label().startswith("_")}
    assert set(shown) == {"H100", "B200"}
    np.testing.assert_allclose(shown["B200"][:, 0], [0.02, 0.02])
    np.testing.assert_allclose(shown["B200"][:, 1], result.rows["predicted_time_per_output_token_s"][1:])
    assert ax.get_xscale() == ax.get_yscale() == "log"
    assert "measured" in ax.get_xlabel()
    assert result.plot("time_to_first_token_s") is not ax
    with pytest.raises(errors.UnknownName, match="time_to_first_token_s"):
        result.plot("time_to_first")


def test_looks():
    result = rs.validate()
    lines = str(result).splitlines()
    assert "Qwen3-32B" in result._repr_html_()
    errors_of = {text.split(": mean")[0]: lines[at + 1 :] for at, text in enumerate(lines) if ": mean" in text}
    decode, prefill = (errors_of[f"serving, time_{column}_s"] for column in ("per_output_token", "to_first_token"))
    figures = r"\d+\.\d / \d+\.\d%"
    for part in (decode, prefill):
        assert re.fullmatch(rf"  left out by model {figures}, by [^()]+ {figures} \(mean / median\)", part[0])
    # Split rows enter the score of decoding, not of prompts.
    assert re.fullmatch(rf"  split, among them: {figures} of [\d,]+ rows", decode[1])
    assert re.fullmatch(rf"  split, apart: {figures} of [\d,]+ rows", prefill[1])


def test_figures_left_out_are_those_of_the_fit():
    row = rs.calibration().errors.loc[("time_per_output_token", "model")]
    assert f"left out by model {100 * row['mape']:.1f} / {100 * row['median']:.1f}%" in str(rs.validate())


# ------------------------------------------------------------------------------------------------- the package's tables


def test_what_the_package_promises_holds():
    start = time.perf_counter()
    result = rs.validate()
    assert time.perf_counter() - start < 20
    assert result.holds
    assert set(result.bounds["verdict"]) == {"holds"}
    assert len(result.bounds) >= 8
    assert set(result.published["table"]) == {
        "PaLM", "DeepSeek", "scaling book", "training runs", "Chinchilla", "Sardana",
    }  # fmt: skip


PUBLISHED = [entry["question"] for entry in measurements._published_entries()]


@pytest.fixture(name="published", scope="module")
def published_and_ours():
    return measurements.published().to_dict("records")


@pytest.mark.parametrize("k", range(len(PUBLISHED)), ids=PUBLISHED)
def test_published_numbers(published, k):
    entry = published[k]
    assert entry["question"] == PUBLISHED[k]
    assert entry["ours"] == pytest.approx(entry["published"], rel=entry["tolerance"])
    assert entry["source"]


def test_one_anchor_a_stack_brings_the_others_nearer():
    """The first row of each stack shifts the rest of it."""
    (serving,) = [t for t in measurements.shipped() if t.name == "serving"]
    fit = rs.calibration().fits["time_per_output_token"]
    rows = rs.validate(serving.runs.rows).rows
    stacks = rows.groupby(list(serving.stack), dropna=False).ngroup()
    misses = np.log(rows["time_per_output_token_s"] / rows["predicted_time_per_output_token_s"])
    first = ~stacks.duplicated()
    share = fit.between**2 / (fit.between**2 + fit.within**2)
    remaining = (misses - share * stacks.map(misses[first].set_axis(stacks[first])))[~first]
    errors_left = np.abs(np.expm1(-remaining))
    assert errors_left.mean() <= 0.13
    assert errors_left.median() <= 0.09
    of_stack = rows[stacks == stacks.iloc[0]]
    anchored = rs.calibration().anchored(of_stack[serving.runs.rows.columns].iloc[:1])
    assert anchored["time_per_output_token_factor"] == pytest.approx(math.exp(share * misses[of_stack.index[0]]))


def test_a_broken_bound_is_seen(monkeypatch):
    tables = measurements.shipped()
    promise = {"measured": "request_latency_s", "left_out": "nothing", "measure": "rms_log", "at_most": 0.01}
    worse = [dataclasses.replace(t, bounds=(promise,)) if t.name == "FasterTransformer" else t for t in tables]
    monkeypatch.setattr(measurements, "shipped", lambda: tuple(worse))
    result = rs.validate()
    assert not result.holds
    assert "broken: FasterTransformer, request_latency_s, rms_log with nothing left out <= 0.01" in str(result)
    done = CliRunner().invoke(main, ["validate"])
    assert done.exit_code == 1
    assert "broken" in done.output


def test_published_numbers_have_to_be_met(monkeypatch):
    monkeypatch.setattr(measurements, "compute", lambda entry: 1.01 * entry["published"])
    result = measurements.published()
    assert ((result["verdict"] == "fails") == (result["tolerance"] < 0.01)).all()
    assert set(result["verdict"]) == {"holds", "fails"}


def test_a_number_that_is_not_met_is_seen(monkeypatch):
    worse = measurements.published()
    worse.loc[3, ["ours", "verdict"]] = [1.0, "fails"]
    monkeypatch.setattr(measurements, "published", lambda: worse)
    result = rs.validate()
    assert not result.holds
    assert f"not met: {worse.loc[3, 'question']}" in str(result)


# ------------------------------------------------------------------------------------------------------------ mistakes


@pytest.mark.parametrize(
    ("given", "error", "said"),
    [
        ([1], errors.InputTypeError, "table: row 0: expected a dict, got 1"),
        (table().drop(columns="concurrency"), errors.MissingInput, "'concurrency'"),
        (table(run(concurency=3)), errors.UnknownName, "'concurrency'"),
        (table(run("Qwen3-33B")), errors.UnknownName, "'Qwen3-32B'"),
        (table(run(hardware="H1000")), errors.UnknownName, "'H100'"),
        (table(run(hardware=3)), errors.InputTypeError, "name of a preset"),
        (table(run(rs.hardware["H100"])), errors.PresetError, "model: 'H100' is a preset for hardware="),
        (table(run(weight_format="fp9")), errors.UnknownName, "'fp8'"),
        (table(run(weight_format=8)), errors.InputTypeError, "weight_format"),
        (table(run(mode="agregated")), errors.UnknownName, "'aggregated'"),
        (table(run(concurrency="many")), errors.InputTypeError, "concurrency: expected numbers"),
        (table(run(concurrency=True)), errors.InputTypeError, "concurrency: expected numbers"),
        (table(run(time_per_output_token_s="fast")), errors.InputTypeError, "time_per_output_token_s"),
        (pd.concat([table(), table()[["concurrency"]]], axis=1), errors.InputTypeError, "two columns"),
        (table(run(serving_mode="aggregated")), errors.InputTypeError, "two columns .*'serving_mode': leave one out"),
        (table(run(pipeline_parallel=1, pipeline_stages=2)), errors.InputTypeError, "two columns .*'pipeline_stages'"),
        (table().iloc[:0], errors.InputTypeError, "the table has no rows"),
    ],
    ids=range(17),
)
def test_mistakes(given, error, said):
    with pytest.raises(error, match=said):
        rs.validate(given)


def test_more_mistakes():
    with pytest.raises(errors.InputTypeError, match="models goes with a table"):
        rs.validate(models={"a": rs.models["Qwen3-32B"]})
    with pytest.raises(errors.InputTypeError, match="expected a Calibration"):
        rs.validate(table(), calibration={"a": 1})
    with pytest.raises(errors.ValueRangeError, match="level"):
        rs.validate(table(), bands=2)
    with pytest.raises(errors.InputTypeError, match="expected a dict"):
        rs.validate(table(), models=["Qwen3-32B"])
    for twice, column in (("chips", "chips"), ("serving_mode", "mode"), ("kv_format", "kv_format")):
        given = table(run(**{column: "fp8"} if column == "kv_format" else {}))
        with pytest.raises(
            errors.InputTypeError, match=f"'{twice}' is a column of the table and a keyword: leave one out"
        ):
            rs.validate(given, **{twice: 4})
    with pytest.raises(errors.InputTypeError, match="kv_format is one of 'bf16'"):
        rs.validate(table(run(), run()), kv_format=4)


def test_ignored_columns_may_be_given_as_keywords():
    given = table(run(kv_format="bf16", serving_mode="disaggregated"))
    ignored = rs.validate(given, ignore=iter(["kv_format", "serving_mode"]), kv_format="fp8").rows
    plain = rs.validate(table(), kv_format="fp8").rows
    pd.testing.assert_frame_equal(ignored[plain.columns], plain)


@pytest.mark.parametrize("bad", [math.nan, -1.0, 0.0, 1e300, math.inf])
def test_numbers_out_of_range_spoil_their_row_alone(bad):
    good = rs.validate(table()).rows["predicted_time_per_output_token_s"][0]
    with pytest.warns(rs.RoofslateWarning, match="1 of 2 rows") if not 0 < bad < 1e301 else contextlib.nullcontext():
        rows = rs.validate(table(run(concurrency=bad), run())).rows
    assert rows["predicted_time_per_output_token_s"][1] == good


words = st.one_of(
    st.text(max_size=20), st.integers(), st.floats(), st.none(), st.booleans(), st.lists(st.integers(), max_size=2)
)


@settings(max_examples=60)
@given(st.sampled_from(sorted(run())), words)
def test_any_cell_gives_a_prediction_or_an_error_of_the_package(column, word):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", rs.RoofslateWarning)
        with contextlib.suppress(rs.RoofslateError):
            rs.validate(table(run(**{column: word})))


# --------------------------------------------------------------------------------------------------------- the command


def test_the_command_without_a_table():
    done = CliRunner().invoke(main, ["validate"])
    assert done.exit_code == 0
    assert done.output == f"{rs.validate()}\n"


def test_the_command_with_a_table(tmp_path):
    path, out = tmp_path / "runs.csv", tmp_path / "rows.csv"
    table(run(), run(concurrency=1)).assign(note="x").to_csv(path, index=False)
    done = CliRunner().invoke(main, ["validate", str(path), "--ignore", "note", "--rows", str(out)])
    assert done.exit_code == 0, done.output
    assert "time_per_output_token_s" in done.output
    assert pd.read_csv(out)["predicted_time_per_output_token_s_upper"].gt(0).all()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", "runs.csv"),
        ("model\nQwen3-32B\n", "no column 'hardware'"),
        (b"\xff\xfe\x00", "runs.csv"),
        ("a,b\n1\n2,3,4\n", "runs.csv"),
        (None, "No such file"),
    ],
    ids=range(5),
)
def test_the_command_names_mistakes(tmp_path, content, said):
    path = tmp_path / "runs.csv"
    if content is not None:
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    done = CliRunner().invoke(main, ["validate", str(path)])
    assert done.exit_code == 2
    assert said in done.output
    assert len(done.output.splitlines()) == 1


def test_headings_of_published_tables_are_read():
    given = table(run(concurrency=64), run(concurrency=8))
    other = given.rename(columns={name: heading for heading, name in spellings().items()})
    predicted = "predicted_time_per_output_token_s"
    assert rs.validate(other).rows[predicted].tolist() == rs.validate(given).rows[predicted].tolist()
    with pytest.raises(errors.InputTypeError, match="two columns"):
        rs.validate(given.assign(**dict.fromkeys(spellings(), 3)))
