"""The first hour: the first call solves a task, or its error names the second one.

The tasks and first guesses come from a reader who knows NumPy, pandas and the terms of LLM serving. A first call that
is refused has a message with the words in which the second call differs.
"""

from __future__ import annotations

import pickle
import re
import warnings
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from click.testing import CliRunner
from roofslate.cli.commands import main
from roofslate.errors import RoofslateError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

loosely: Any = rs  # for calls that a type checker refuses too

SYSTEM = {"model": "Llama-3.1-70B", "hardware": "HGX H100", "weight_format": "fp8"}
PASS = {**SYSTEM, "batch_size": 64, "context_length": "8k"}
SERVICE = {**SYSTEM, "concurrency": 64, "input_tokens": "8k", "output_tokens": "1k"}
PRICE = {"chip_price": "2 USD/h"}
DRAIN = {"hbm_capacity": "80 GB", "hbm_bandwidth": "3.35 TB/s"}


def refused(call: Callable[[], object], *words: str) -> str:
    """Return the message of an error that has these words."""
    with pytest.raises((RoofslateError, AttributeError)) as error:
        call()
    message = str(error.value)
    for word in words:
        assert word in message, message
    return message


def warned(call: Callable[[], Any], *words: str) -> Any:
    """Return the result of a call with one warning that has these words."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        result = call()
    (message,) = [str(warning.message) for warning in caught]
    for word in words:
        assert word in message, message
    return result


def written_call(message: str) -> Any:
    """Return the result of the call that a message writes out."""
    written = re.search(r"Write (rs\.\w+\(.*?\))(?=$|, with )", message)
    assert written is not None, message
    return eval(written[1], {"rs": rs})


# ----------------------------------------------------------------------------------------- 1 to 4: names, catalogs


def test_task_1_tab_shows_public_names_only() -> None:
    names = [name for name in dir(rs) if not name.startswith("_")]
    assert {"value", "evaluate", "deploy", "summary"} <= {*names}
    assert not {"Any", "TYPE_CHECKING", "annotations", "importlib", "logging"} & {*names}
    assert not {"Any", "NoReturn", "TYPE_CHECKING", "annotations"} & {*dir(rs.charts)}


def test_task_2_help_shows_a_unit() -> None:
    text = str(rs.evaluate.__doc__)
    assert "units : str or dict of str" in text
    assert 'units="ms"' in text


@pytest.mark.parametrize("name", ["llama-3.1-70b", "Llama 3.1 70B", "llama 70b 3.1"])
def test_task_3_models_are_found_in_any_case(name: str) -> None:
    assert rs.models[name] is rs.models["Llama-3.1-70B"]
    assert rs.hardware["h100 sxm"] is rs.hardware["H100"]
    assert rs.hardware["H100x8"] is rs.hardware["HGX H100"]


@pytest.mark.parametrize("method", ["filter", "find", "frame", "table", "list"])
def test_task_4_a_catalog_names_its_search(method: str) -> None:
    message = refused(lambda: getattr(rs.models, method), "rs.models.search('words')", "rs.models.to_frame()")
    assert repr(method) in message
    assert rs.models.search("llama 70b").index[0] == "Llama-3.1-70B"
    assert dict(rs.models["Llama-3.1-70B"])["layers"] == 80


# ------------------------------------------------------------------------------------- 5, 6: the words of the trade

WORDS = {
    "tpot": "time_per_output_token",
    "ITL": "time_per_output_token",
    "inter-token latency": "time_per_output_token",
    "time per output token": "time_per_output_token",
    "ttft": "time_to_first_token",
    "TPS": "tokens_per_second_per_user",
    "tokens per second": "replica_throughput",
    "throughput": "replica_throughput",
    "latency": "request_latency",
    "gpu": "chips",
    "num_gpus": "chips",
    "tp": "tensor_parallel",
    "dtype": "weight_format",
    "KV cache": "kv_bytes",
    "price per token": "cost_per_token",
    "cost per million tokens": "cost_per_output_token",
    "energy per token": "energy_per_token",
    "over-train": "overtraining_ratio",
    "training cost": "pretraining_cost",
    "MFU": "model_flops_utilization",
    "max_model_len": "context_length",
    "memory bandwidth": "hbm_bandwidth",
    "GPU hours": "pretraining_chip_time",
    "OOM": "memory_fits",
}


@pytest.mark.parametrize(("word", "name"), WORDS.items())
def test_words_of_the_trade_are_found_named_and_completed(word: str, name: str) -> None:
    from roofslate.cli.completion import names

    assert name in list(rs.quantities(word).index[:3])
    refused(lambda: rs.value(word), word, repr(name))
    refused(lambda: rs.value("pass_time", **{word: 1}), word, repr(name))
    if len(word) > 2:
        assert name in names(word.lower())


def test_the_result_of_a_search_shows_whole_briefs_best_first() -> None:
    table = rs.quantities("KV cache")
    lines = repr(table).splitlines()
    assert lines[1].split()[0] == "kv_bytes"
    assert all(brief in lines[k + 1] for k, brief in enumerate(table["brief"].iloc[:25]))
    assert max(map(len, table["brief"])) > 50  # at which pandas cuts
    assert "..." not in repr(table)
    assert "\\mathrm" not in repr(table)
    assert lines[-1].startswith(f"{len(table) - 25} more rows")
    html = table._repr_html_()
    assert html is not None
    assert html.index("kv_bytes") < html.index("kv_format")
    assert table["brief"].iloc[0] in html
    assert "..." in repr(table[["brief"]])  # a table of pandas in all else
    assert repr(pickle.loads(pickle.dumps(table))) == repr(table)


def test_task_5_tpot_ttft_and_price_in_two_calls() -> None:
    names = ["time_per_output_token", "time_to_first_token", "cost_per_output_token"]
    message = refused(lambda: rs.evaluate(["tpot", "ttft", "cost_per_output_token"], **SERVICE), "TPOT is", names[0])
    assert "time_per_output_token" in message
    result = rs.evaluate(names, **SERVICE, **PRICE, calibration="serving")
    assert [result[name].attrs["basis"] for name in names] == ["estimate"] * 3
    assert 20e-3 < result["time_per_output_token"] < 50e-3
    assert 1e-6 < result["cost_per_output_token"] < 5e-6


def test_an_error_lists_all_that_is_missing() -> None:
    question = {"model": "Llama-3.1-70B", "hardware": "H100"}
    message = refused(lambda: rs.value("cost_per_output_token", question), "'chips'", "Also missing", "'chip_price'")
    named = [name for name in ("concurrency", "input_tokens", "output_tokens") if f"'{name}'" in message]
    complete = {"chips": 8, "concurrency": 64, "input_tokens": "8k", "output_tokens": "1k", **PRICE}
    assert {*named, "chips", "chip_price"} == {*complete}
    assert rs.value("cost_per_output_token", **question, weight_format="fp8", **complete) > 0


def test_an_error_groups_what_presets_supply() -> None:
    message = refused(lambda: rs.value("cost_per_token", batch_size=1, chip_price=1e-4, chips=8), "Also missing")
    assert "hardware=" in message
    assert "model=" in message
    assert "'layers'" not in message.partition("Also missing")[2]


def test_task_6_a_whole_batch_under_a_limit() -> None:
    batch = rs.solve("batch_size", "pass_time < 20 ms", **SYSTEM, context_length="8k", at="largest", integer=True)
    assert batch == np.floor(batch)
    assert rs.value("pass_time", **SYSTEM, context_length="8k", batch_size=float(batch)) < 20e-3


# ---------------------------------------------------------------------------------------- 7, 8: chips and their prices

CHIPS, PRICES = ["HGX H100", "HGX H200"], ["2 USD/h", "3 USD/h"]


def test_task_7_lists_of_chips_and_prices_say_that_they_make_a_grid() -> None:
    question = {**PASS, "hardware": CHIPS}
    grid = warned(
        lambda: rs.evaluate("cost_per_token", **{**question, "chip_price": PRICES}),
        "make a grid of 2 x 2",
        "chip_price=pd.Series(",
        "name='hardware'",
    )
    paired = rs.evaluate(
        "cost_per_token", **{**question, "chip_price": pd.Series(PRICES, index=pd.Index(CHIPS, name="hardware"))}
    )
    assert grid.shape == (2, 2)
    assert paired.shape == (2,)
    assert np.array_equal(paired, np.diagonal(grid))
    assert rs.plot(paired) is not None


def test_lists_of_other_lengths_are_a_grid_without_a_word() -> None:
    result = rs.evaluate("cost_per_token", **{**PASS, "hardware": CHIPS, "chip_price": [*PRICES, "4 USD/h"]})
    assert result.shape == (2, 3)


def test_task_8_a_price_of_another_chip_warns() -> None:
    name = next(name for name in rs.prices if name.startswith("H100"))
    warned(
        lambda: rs.value("cost_per_token", **{**PASS, "hardware": "HGX B200"}, prices=name),
        name,
        "State a price by chip_price=",
    )


# --------------------------------------------------------------------------------------------- 9 to 13: tables, axes


def test_task_9_missing_rows_are_named() -> None:
    table = pd.DataFrame({"batch_size": range(1, 11), "context_length": [1000.0] * 4 + [np.nan] + [1000.0] * 5})
    result = warned(
        lambda: rs.frame(table, "pass_time", SYSTEM), "1 of 10 rows hold NaN: context_length is missing in row 4"
    )
    assert result["pass_time"].isna().sum() == 1


def test_task_10_a_misnamed_column_is_corrected() -> None:
    refused(lambda: rs.frame(pd.DataFrame({"batch_sizes": [1]}), "pass_tokens"), "did you mean 'batch_size'")


def test_task_11_an_extra_column_names_ignore() -> None:
    table = pd.DataFrame({"batch_size": [1, 2], "note": ["a", "b"]})
    refused(lambda: rs.frame(table, "pass_tokens"), "'note'", "ignore=['note']")
    assert rs.frame(table, "pass_tokens", ignore=["note"])["pass_tokens"].tolist() == [1, 2]


def test_task_12_a_column_mixes_forms_of_numbers() -> None:
    table = pd.DataFrame({"context_length": ["8k", 8000, 1e4]})
    pass_time = rs.frame(table, "pass_time", SYSTEM, batch_size=1)["pass_time"]
    assert pass_time[0] == pass_time[1] < pass_time[2]


@pytest.mark.parametrize("axis", [pd.Series([1, 2]), pd.Index([1, 2]), range(1, 3), np.array([1, 2]), [1, 2]])
def test_task_13_axes_of_any_kind(axis: Any) -> None:
    assert rs.evaluate("pass_tokens", batch_size=axis).to_numpy().tolist() == [1, 2]


def test_task_13_a_tuple_names_the_calls_that_take_it() -> None:
    refused(lambda: rs.evaluate("pass_tokens", batch_size=(1, 2)), "a list makes an axis", "rs.bounds", "rs.sample")
    assert rs.bounds("pass_tokens", batch_size=(1, 2)) == (1, 2)
    assert rs.frame([{"batch_size": 1}, {"batch_size": 2}], "pass_tokens")[0]["pass_tokens"] == 1


# -------------------------------------------------------------------------------------- 14 to 17: outputs and units


def test_task_14_several_outputs() -> None:
    outputs = ["pass_time", "cost_per_token"]
    refused(lambda: loosely.value(outputs, **PASS, **PRICE), f"use rs.evaluate({outputs}, ...)")
    result = rs.evaluate(outputs, **PASS, **PRICE)
    assert list(result.data_vars) == outputs
    message = refused(lambda: loosely.evaluate(*outputs, **PASS, **PRICE), "by keyword")
    assert written_call(message).identical(result)


def test_a_model_by_position_is_written_as_a_keyword() -> None:
    given = {"batch_size": 1, "context_length": "8k"}
    message = refused(lambda: loosely.evaluate("pass_time", "Llama-3.1-70B", "HGX H100", **given))
    expected = rs.evaluate("pass_time", model="Llama-3.1-70B", hardware="HGX H100", **given)
    assert written_call(message).identical(expected)
    refused(lambda: loosely.value("pass_time", "H100"), "Give hardware='H100'")
    refused(lambda: loosely.value("pass_time", "ridge_point"), "one list")
    refused(lambda: loosely.evaluate("pass_tokens", [{"batch_size": 1}]), "rs.frame")


@pytest.mark.parametrize("units", ["ms", {"pass_time": "ms"}])
def test_task_15_units_are_given_alike_everywhere(units: Any) -> None:
    inputs = {**SYSTEM, "context_length": "8k"}
    expected = 1e3 * rs.value("pass_time", **inputs, batch_size=64)
    assert rs.value("pass_time", **inputs, batch_size=64, units=units) == pytest.approx(expected, rel=1e-14)
    assert float(rs.evaluate("pass_time", **inputs, batch_size=64, units=units)) == pytest.approx(expected, rel=1e-14)
    assert rs.bounds("pass_time", **inputs, batch_size=(1, 64), units=units)[1] == pytest.approx(expected, rel=1e-12)
    rows = rs.frame(pd.DataFrame({"batch_size": [64]}), "pass_time", inputs, units=units)
    assert rows["pass_time"][0] == pytest.approx(expected, rel=1e-14)
    point = rs.best("pass_time", **inputs, over="batch_size", batch_size=[64], units=units)
    assert float(point["pass_time"]) == pytest.approx(expected, rel=1e-14)
    assert rs.quantiles("pass_time", 0.5, **inputs, batch_size=[64], units=units) == pytest.approx(expected, rel=1e-14)


def test_one_unit_for_outputs_of_two_dimensions_is_refused_with_a_dict() -> None:
    outputs = ["pass_time", "cost_per_token"]
    message = refused(lambda: rs.evaluate(outputs, **PASS, **PRICE, units="ms"), "Give a dict, such as {")
    units = eval(message.partition("such as ")[2])
    assert rs.evaluate(outputs, **PASS, **PRICE, units=units).equals(rs.evaluate(outputs, **PASS, **PRICE))
    both = rs.evaluate(["pass_time", "memory_time"], **PASS, units="ms")
    assert both["memory_time"].attrs["units"] == "ms"


def test_tasks_16_and_17_one_output_keeps_its_scenario(tmp_path: Path) -> None:
    grid = {**PASS, "batch_size": [1, 64], "context_length": [1000, 8000]}
    result = rs.evaluate("pass_time", **grid)
    assert result.plot.pcolormesh() is not None
    assert result.attrs["hardware"].startswith("HGX H100")
    assert result.attrs["weight_format"] == "fp8"
    assert result.attrs["long_name"] == "forward-pass time"
    result.to_netcdf(tmp_path / "pass_time.nc", engine="scipy")
    assert xr.load_dataarray(tmp_path / "pass_time.nc").attrs["model"].startswith("Llama-3.1-70B")
    assert {**rs.evaluate(["pass_time"], **grid).attrs} == {name: result.attrs[name] for name in result.attrs.keys() - {
        "units", "long_name", "basis"
    }}  # fmt: skip
    drawn = rs.sample("cost_per_token", **PASS, chip_price=("1 USD/h", "2 USD/h"))
    assert drawn.attrs["hardware"].startswith("HGX H100")


# ------------------------------------------------------------------------------------ 18 to 21: spellings and numbers


def test_task_18_spellings_of_formats_and_counts() -> None:
    assert rs.value("pass_time", **{**PASS, "weight_format": "FP8"}) == rs.value("pass_time", **PASS)
    refused(lambda: rs.value("pass_time", **{**PASS, "context_length": "8K"}), "k for 1,000 or Ki for 1,024")
    assert rs.value("pass_time", **{**PASS, "context_length": "8Ki"}) > rs.value("pass_time", **PASS)


@pytest.mark.parametrize(
    ("name", "given", "hint", "right"),
    [
        ("hbm_bandwidth", "3.35 TBps", "did you mean 'TB/s'?", "3.35 TB/s"),
        ("hbm_capacity", "80 gb", "did you mean 'GB'", "80 GB"),
    ],
)
def test_task_19_units_are_corrected(name: str, given: str, hint: str, right: str) -> None:
    message = refused(lambda: rs.value("hbm_drain_time", **{**DRAIN, name: given}), hint)
    assert "Tbps" not in message
    assert rs.value("hbm_drain_time", **{**DRAIN, name: right}) == rs.value("hbm_drain_time", **DRAIN)


@pytest.mark.parametrize("given", ["2 EUR/h", "$2"])
def test_task_19_prices_are_corrected_with_an_example(given: str) -> None:
    refused(lambda: rs.value("cost_per_token", **PASS, chip_price=given), "Write for example '$2/h'")


def test_task_20_a_bare_price_is_per_second_and_warns() -> None:
    warned(lambda: rs.value("cost_per_token", **PASS, chip_price=2), "7,200 USD/h", 'chip_price="2 USD/h"')


@pytest.mark.parametrize("given", [-1, 0, float("nan"), float("inf")])
def test_task_21_impossible_numbers_are_refused(given: float) -> None:
    refused(lambda: rs.value("pass_time", **{**PASS, "batch_size": given}), "batch_size must be > 0")


# --------------------------------------------------------------------------------------- 22 to 24: one's own things


def test_tasks_22_and_23_own_models_and_chips() -> None:
    config = {
        "architectures": ["LlamaForCausalLM"],
        "hidden_size": 4096,
        "intermediate_size": 14336,
        "num_attention_heads": 32,
        "num_hidden_layers": 32,
        "num_key_value_heads": 8,
        "vocab_size": 128256,
        "model_type": "llama",
    }
    model = rs.Model.from_config(config)
    with rs.definitions():
        chip = rs.hardware.define("first-hour chip", base="H100", hbm_bandwidth="6.7 TB/s")
    assert rs.value("pass_time", model=model, hardware=chip, chips=1, batch_size=1, context_length="1k") > 0


def test_task_24_a_definition_names_what_it_lacks() -> None:
    with rs.definitions():
        with pytest.raises(TypeError, match="'brief'"):
            loosely.define("doubled_time", "s", "2 * pass_time")
        rs.define("doubled_time", "s", "2 * pass_time", brief="twice the forward-pass time")
        assert rs.value("doubled_time", **PASS) == 2 * rs.value("pass_time", **PASS)


# ------------------------------------------------------------------------------------- 25 to 27: whole deployments


@pytest.mark.parametrize("word", ["all", "everything", "summary"])
def test_task_25_everything_about_a_deployment(word: str) -> None:
    refused(lambda: rs.evaluate(word, **SERVICE), "rs.summary(")
    card = rs.summary(**SERVICE, **PRICE)
    assert card.fits is True


def test_task_26_the_uncertainty_of_a_price_in_one_call() -> None:
    drawn = rs.sample("cost_per_token", **PASS, chip_price=("1.5 USD/h", "3 USD/h"))
    low, high = rs.bounds("cost_per_token", **PASS, chip_price=("1.5 USD/h", "3 USD/h"))
    assert drawn.sizes == {"sample": 1024}
    assert low <= float(drawn.min()) < float(drawn.max()) <= high
    assert float(drawn.mean()) == pytest.approx((low + high) / 2, rel=1e-3)  # of a uniform price
    assert drawn.identical(rs.sample("cost_per_token", 1024, PASS, seed=0, chip_price=("1.5 USD/h", "3 USD/h")))
    assert rs.sample("cost_per_token", PASS, n=16, chip_price=("1 USD/h", "2 USD/h")).sizes["sample"] == 16
    middle = rs.quantiles("cost_per_token", 0.5, **PASS, chip_price=("1.5 USD/h", "3 USD/h"))
    assert middle == pytest.approx((low + high) / 2, rel=1e-2)
    assert rs.count("cost_per_token > 0", PASS, chip_price=("1.5 USD/h", "3 USD/h")) == 1024
    shares = rs.sobol("cost_per_token", PASS, chip_price=("1 USD/h", "3 USD/h"), bandwidth_efficiency=(0.5, 0.9))
    assert shares.table["total"].sum() > 0.9


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"chip_price": ("3 USD/h", "1 USD/h")}, ("chip_price", "lower end first")),
        ({"chip_price": ("1 USD/h",)}, ("chip_price", "two ends")),
        ({"weight_format": ("fp8", "fp4"), **PRICE}, ("weight_format", "Give a list")),
        ({"hardware": ("H100", "H200"), **PRICE}, ("hardware", "Give a list")),
        ({"bandwidth_efficiency": (0.5, 1.5), **PRICE}, ("bandwidth_efficiency must be",)),
        (PRICE, ("no input is drawn", "chip_price=('1.5 USD/h', '3 USD/h')")),
    ],
)
def test_ranges_that_cannot_be_drawn_are_refused(given: dict[str, Any], words: tuple[str, ...]) -> None:
    refused(lambda: rs.sample("cost_per_token", {**PASS, **given}), *words)


def test_task_27_a_pareto_frontier() -> None:
    outputs = ["time_per_output_token", "tokens_per_second_per_chip"]
    inputs = {**SERVICE, "concurrency": [1, 4, 16]}
    message = refused(lambda: loosely.pareto(*outputs, **inputs), "minimize=", "maximize=")
    assert len(written_call(message)) == 1  # both small
    front = rs.pareto(minimize=outputs[0], maximize=outputs[1], **inputs)
    assert front["concurrency"].tolist() == [1, 4, 16]
    refused(lambda: rs.pareto(**inputs), "minimize=[")
    message = refused(lambda: loosely.best("cost_per_token", "batch_size", **{**PASS, **PRICE, "batch_size": [1, 64]}))
    assert written_call(message)["batch_size"] == 64


# ----------------------------------------------------------------------------------------------- 28, 29: training

RUN = {"model": "Llama-3.1-70B", "hardware": "H100", "chips": 16384, "pretraining_tokens": "15T", **PRICE}


def test_task_28_the_cost_of_a_training_run() -> None:
    refused(lambda: rs.value("training_cost", **RUN), "'pretraining_cost'")
    refused(lambda: rs.value("pretraining_cost", **RUN), "give training_utilization (0.3 to 0.5 is usual)")
    cost = warned(lambda: rs.value("pretraining_cost", **RUN, training_utilization=0.4), "'chips' has no effect")
    chip_hours = cost / 2
    assert 4e6 < chip_hours < 8e6  # the model card says 7.0 million


def test_task_29_over_training() -> None:
    ratio = rs.value("overtraining_ratio", model="Llama-3.1-70B", pretraining_tokens="15T")
    assert ratio == pytest.approx(10.8, abs=0.05)  # 15T tokens, 20 a parameter


# --------------------------------------------------------------------------------- 30 to 34: sliders, shell, results


def test_task_30_a_dashboard_says_a_thing_once() -> None:
    pytest.importorskip("ipywidgets", reason="ipywidgets is not installed (pip install 'roofslate[jupyter]')")
    text = re.sub(r"<[^>]*>", " ", rs.explore("hbm_drain_time", **DRAIN)._canvas.value)
    assert text.lower().count("hbm drain time") == 1, text


@pytest.mark.parametrize(
    "words",
    [
        ["models"],
        ["evaluate", "pass_time", "model=Llama-3.1-70B", "hardware=HGX H100", "batch_size=1", "context_length=8k"],
        ["solve", "batch_size", "pass_time <= 20 ms", "model=Llama-3.1-70B", "hardware=HGX H100", "context_length=8k"],
    ],
)
def test_task_31_the_shell(words: list[str]) -> None:
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 0, result.output


def test_task_31_a_wrong_command_is_corrected() -> None:
    result = CliRunner().invoke(main, ["eval", "pass_time"])
    assert result.exit_code == 2
    assert "did you mean 'evaluate'" in result.output


def test_task_32_deploy_by_position_writes_the_call() -> None:
    message = refused(lambda: loosely.deploy("Llama-3.1-70B", "HGX H100"), "model=", "hardware=", "objective=")
    plan = written_call(message)
    assert plan.table["cost_per_output_token"].iloc[0] > 0
    refused(lambda: loosely.deploy("Llama-3.1-70B"), "model='Llama-3.1-70B'")
    refused(lambda: rs.deploy(model="Llama-3.1-70B", hardware="H100"), "objective='cost_per_output_token'")


def test_task_33_compare_takes_the_output_first_or_last() -> None:
    a, b = {"hardware": "H100"}, {"hardware": "H200"}
    assert rs.compare("hbm_drain_time", a, b) == rs.compare(a, b, "hbm_drain_time")
    assert "pass_time" in str(rs.explain("pass_time", **PASS))


def test_task_34_several_times_in_one_picture() -> None:
    curves = rs.evaluate(
        ["compute_time", "memory_time", "pass_time"], **{**PASS, "batch_size": rs.geomspace(1, 64, 9)}, units="ms"
    )
    assert len(rs.plot(curves).lines) >= 3
    both = rs.evaluate(["pass_time", "cost_per_token"], **{**PASS, **PRICE, "batch_size": [1, 64]})
    refused(lambda: rs.plot(both), "Select one")


# ------------------------------------------------------------------------------------------------ surprises in numbers


def test_a_model_that_does_not_fit_is_reported() -> None:
    question = {"model": "Llama-3.1-70B", "hardware": "H100", "chips": 1, "batch_size": 1, "context_length": "8k"}
    warned(lambda: rs.value("pass_time", **question), "do not fit", "144 GB of 80 GB", "memory_fits")


def test_inputs_without_effect_are_reported() -> None:
    with pytest.raises(RoofslateError, match="give communication="):
        rs.value("pass_time", **PASS, link_efficiency=0.1)
    warned(lambda: rs.value("pass_time", **PASS, input_tokens="8k"), "'input_tokens'")


def test_one_cost_per_output_token_and_it_is_the_bill() -> None:
    cost = rs.value("cost_per_output_token", **SERVICE, **PRICE, calibration="serving")
    requests = rs.value("request_throughput", **SERVICE, calibration="serving")
    bill = rs.value("replica_price", SYSTEM, **PRICE) / requests
    assert cost == pytest.approx(bill / 1000, rel=1e-9)  # chips x price / (requests per second x 1,000 tokens)
    assert rs.value("cost_per_output_token", **SERVICE, **PRICE) < cost


def test_bounds_and_estimate_say_which_they_are() -> None:
    floor = rs.evaluate("time_per_output_token", **SERVICE)
    estimate = rs.evaluate("time_per_output_token", **SERVICE, calibration="serving")
    assert (floor.attrs["basis"], estimate.attrs["basis"]) == ("floor", "estimate")
    assert 2 < float(estimate / floor) < 4
