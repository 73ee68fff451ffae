"""`as_of`: the prices of a day, in every call that takes presets."""

from __future__ import annotations

import datetime
from typing import TYPE_CHECKING, Any

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
import xarray as xr
from click.testing import CliRunner
from roofslate import charts, errors
from roofslate.cli.commands import main
from support.lazy import Lazy

stats = Lazy("scipy.stats")

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

RENT = "H100 RunPod secure"
CELL: dict[str, Any] = {
    "model": "Llama-3.1-8B",
    "hardware": "H100",
    "batch_size": 64,
    "context_length": "2k",
    "chips": 1,
}
BEFORE, AFTER = "2026-09-01", "2026-11-22"  # $3.29 and $3.99 an hour


def hourly(x: Any) -> Any:
    return np.round(np.asarray(x) * 3600, 9).tolist()


@pytest.mark.parametrize(
    "day", [BEFORE, datetime.date(2026, 9, 1), datetime.datetime(2026, 9, 1, 12), pd.Timestamp("2026-09-01")], ids=str
)
def test_a_scenario_asks_for_a_day(day: Any) -> None:
    assert hourly(rs.value("chip_price", prices=RENT, as_of=day)) == 3.29
    assert hourly(rs.value("chip_price", {"prices": RENT, "as_of": day})) == 3.29
    assert hourly(rs.value("chip_price", {"prices": RENT}, as_of=day)) == 3.29
    assert hourly(rs.value("chip_price", {"as_of": "2026-10-01"}, prices=RENT, as_of=day)) == 3.29
    assert hourly(rs.value("chip_price", prices=rs.prices[RENT], as_of=day)) == 3.29
    assert hourly(rs.value("chip_price", prices=RENT)) == 3.99
    ratio = rs.value("output_input_ratio", api_prices="GPT-5.6 Sol", as_of="2026-08-20")
    assert [ratio, rs.value("output_input_ratio", api_prices="GPT-5.6 Sol")] == pytest.approx([6, 5])


SHARED = {name: x for name, x in CELL.items() if name != "batch_size"}
CALLS: dict[str, Callable[[dict[str, Any]], Any]] = {
    "value": lambda priced: rs.value("cost_per_token", priced, batch_size=64),
    "evaluate": lambda priced: rs.evaluate("cost_per_token", batch_size=[1, 64], **priced).to_numpy().tolist(),
    "frame": lambda priced: rs.frame(pd.DataFrame({"batch_size": [64]}), "cost_per_token", priced).to_numpy().tolist(),
    "explain": lambda priced: str(rs.explain("cost_per_token", priced, batch_size=64)),
    "bounds": lambda priced: rs.bounds("cost_per_token", priced, batch_size=(1, 64)),
    "best": lambda priced: str(rs.best("cost_per_token", priced, over="batch_size", batch_size=[32, 64])),
    "pareto": lambda priced: str(rs.pareto(priced, minimize=["pass_time", "cost_per_token"], batch_size=[32, 64])),
    "count": lambda priced: str(rs.count("cost_per_token <= 1.5e-7", priced, batch_size=[32, 64])),
    "gradient": lambda priced: rs.gradient("cost_per_token", priced, batch_size=64).to_numpy().tolist(),
    "solve": lambda priced: float(rs.solve("batch_size", "cost_per_token == 2e-7", priced)),
    "sample": lambda priced: str(rs.sample("cost_per_token", 4, priced, seed=1, batch_size=stats.uniform(1, 63))),
    "tornado": lambda priced: str(rs.tornado("cost_per_token", priced, batch_size=(32, 64))),
    "chart": lambda priced: charts.cost_vs_batch.data(**priced)["cost_per_token"].tolist(),
    "deploy": lambda priced: str(rs.deploy({**priced, "chips": 2, "batch_size": 64}, objective="cost_per_token")),
}


@pytest.mark.parametrize("call", CALLS)
def test_calls_take_the_price_of_the_day(call: str) -> None:
    named = CALLS[call]({**SHARED, "prices": f"{RENT} as of {BEFORE}"})
    assert CALLS[call]({**SHARED, "prices": RENT, "as_of": BEFORE}) == named
    assert CALLS[call]({**SHARED, "prices": RENT}) != named


def test_comparisons_take_a_day_each() -> None:
    priced = {**CELL, "prices": RENT}
    for sides, shared in (
        (({"as_of": BEFORE}, {"as_of": AFTER}), priced),
        (({**priced, "as_of": BEFORE}, priced), {}),
        (({**CELL, "prices": f"{RENT} as of {BEFORE}"}, priced), {}),
    ):
        result = rs.compare(*sides, "cost_per_token", **shared)
        assert result.ratio == pytest.approx(3.99 / 3.29, rel=1e-12)
        assert result.factors.index.tolist() == ["prices"]
    alike = rs.compare({"batch_size": 64}, {"batch_size": 32}, "cost_per_token", as_of=BEFORE, prices=RENT, **SHARED)
    assert alike.factors.index.tolist() == ["batch_size"]
    with pytest.raises(errors.PresetError, match=f"scenario b: '{RENT}' has no entry for 2026-01-01"):
        rs.compare(priced, {**priced, "as_of": "2026-01-01"}, "cost_per_token")
    with pytest.raises(errors.InputTypeError, match="scenario a: 'as_of' is also a shared input"):
        rs.compare({**priced, "as_of": AFTER}, priced, "cost_per_token", as_of=BEFORE)


def test_days_are_an_axis() -> None:
    days = [BEFORE, datetime.date(2026, 10, 1), AFTER]
    result = rs.evaluate(["chip_price", "output_input_ratio"], prices=RENT, api_prices="DeepSeek-V4 Pro", as_of=days)
    assert result["as_of"].to_numpy().tolist() == [BEFORE, "2026-10-01", AFTER]
    assert hourly(result["chip_price"]) == [3.29, 3.49, 3.99]
    with pytest.raises(errors.AxisError, match="as_of: a list of days goes with one price, got "):
        rs.evaluate("chip_price", prices=[RENT, "lecture"], as_of=days)
    with pytest.raises(errors.AxisError, match="as_of: an empty list"):
        rs.evaluate("chip_price", prices=RENT, as_of=[])
    with pytest.raises(errors.AxisError, match="is an axis"):
        rs.value("chip_price", prices=RENT, as_of=days)


def test_lists_of_prices_are_all_of_the_day() -> None:
    names = [RENT, "B200 SemiAnalysis neocloud TCO"]
    series = pd.Series(names, index=pd.Index(["a", "b"], name="offer"))
    array = xr.DataArray(np.array(names, dtype=object), dims="offer")
    for given in (names, np.array(names, dtype=object), series, array):
        result = rs.evaluate("chip_price", prices=given, as_of=BEFORE)
        assert hourly(result) == [3.29, 2.07]


def test_rows_have_days() -> None:
    table = pd.DataFrame({"prices": [RENT, None, "H100 one-year index", RENT]}, index=list("abcd"))
    result = rs.frame(table.iloc[[0, 2]], "chip_price", as_of=BEFORE)
    assert hourly(result["chip_price"]) == [3.29, 2.35]
    days = table.assign(as_of=[BEFORE, BEFORE, "2025-11-01", AFTER])
    with pytest.warns(errors.RoofslateWarning, match="1 of 4 rows hold NaN"):
        result = rs.frame(days, "chip_price")
    assert hourly(result["chip_price"])[::2] == [3.29, 1.7]
    assert hourly(result["chip_price"])[3] == 3.99
    result = rs.frame(days[["as_of"]].iloc[[0, 3]], "chip_price", prices=RENT)
    assert hourly(result["chip_price"]) == [3.29, 3.99]
    for arguments, words in (
        ({"table": days, "as_of": AFTER}, "'as_of' is a column of the table and a keyword"),
        ({"table": days[["as_of"]]}, "as_of has no effect: it selects the entry of a price, give prices= or api_pri"),
        ({"table": pd.DataFrame({"batch_size": [1.0]}), "as_of": AFTER}, "as_of has no effect"),
        ({"table": table.iloc[:1], "as_of": "2026-01-01"}, "the nearest is 'H100 RunPod secure until 2026-09-24'"),
    ):
        with pytest.raises(errors.RoofslateError, match=words):
            rs.frame(arguments.pop("table"), "chip_price", **arguments)


def test_files_are_priced_by_one_day(tmp_path: Path) -> None:
    source, target = tmp_path / "in.csv", tmp_path / "out.csv"
    source.write_text(f"prices\n{RENT}\n,\n{RENT}\n".replace(",\n", "\n"), encoding="utf-8")
    rs.sweep(source, "chip_price", target, as_of=BEFORE)
    assert hourly(pd.read_csv(target)["chip_price"].dropna()) == [3.29, 3.29]
    with pytest.raises(errors.PresetError, match="has no entry for 2026-01-01; the nearest is"):
        rs.sweep(source, "chip_price", target, as_of="2026-01-01", overwrite=True)
    source.write_text("batch_size\n1\n", encoding="utf-8")
    rs.sweep(source, ["pass_tokens", "chip_price"], target, prices=RENT, as_of=BEFORE, overwrite=True)
    assert hourly(pd.read_csv(target)["chip_price"]) == [3.29]
    with pytest.raises(errors.IneffectiveInput, match="as_of has no effect"):
        rs.sweep(source, "pass_tokens", target, as_of=BEFORE, overwrite=True)
    source.write_text(f"prices,as_of\n{RENT},{BEFORE}\n", encoding="utf-8")
    with pytest.raises(errors.InputTypeError, match=r"in\.csv: 'as_of' is a column; rs\.sweep takes one day"):
        rs.sweep(source, "chip_price", target, overwrite=True)


def test_lists_of_tokens_are_read_of_a_day() -> None:
    assert rs.infer("GPT-5.6 Sol", as_of="2026-08-20").tariff.name == "GPT-5.6 Sol until 2026-08-20"
    assert rs.infer(rs.api_prices["GPT-5.6 Sol"], {"as_of": "2026-08-20"}).tariff.values["output_price"] == 30e-6
    result = rs.infer("GPT-5.6 Sol", hardware="H100", prices=RENT, as_of=BEFORE).assumptions
    assert hourly(result.loc["chip_price", "nominal"]) == 3.29
    with pytest.raises(errors.PresetError, match=r"'GPT-5\.6 Sol' has no entry for 2026-07-08; the nearest is 'GPT"):
        rs.infer("GPT-5.6 Sol", as_of="2026-07-08")
    with pytest.raises(errors.IneffectiveInput, match="as_of has no effect"):
        rs.infer({"input": "$1/Mtok", "output": "$5/Mtok"}, as_of=BEFORE)


@pytest.mark.parametrize(
    ("inputs", "error", "words"),
    [
        ({"prices": RENT, "as_of": "2026-01-01"}, errors.PresetError, "until 2026-09-24', 2026-08-19 to 2026-09-24"),
        ({"prices": "lecture", "as_of": "2025-01-01"}, errors.PresetError, "'lecture', 2026-04-29 or later"),
        ({"prices": RENT, "as_of": "2026-09"}, errors.PresetError, "as_of: expected a day such as '2026-03-01', got"),
        ({"prices": RENT, "as_of": 20260901}, errors.PresetError, "as_of: expected a day such as"),
        ({"prices": RENT, "as_of": None}, errors.PresetError, "as_of: expected a day such as"),
        ({"prices": 5, "as_of": BEFORE}, errors.InputTypeError, "prices: expected the name of a preset"),
        ({"prices": rs.models["Llama-3.1-8B"], "as_of": BEFORE}, errors.PresetError, "is a preset for model="),
        ({"prices": "H100 RunPond", "as_of": BEFORE}, errors.UnknownName, "did you mean 'H100 RunPod"),
        ({"chip_price": 1, "as_of": BEFORE}, errors.IneffectiveInput, "as_of has no effect: it selects the entry of"),
        (
            {"prices": f"{RENT} as of {BEFORE}", "as_of": AFTER},
            errors.PresetError,
            "names a day, and as_of='2026-11-22'",
        ),
    ],
    ids=str,
)
def test_days_that_find_no_price(inputs: dict[str, Any], error: type, words: str) -> None:
    for call in (rs.value, rs.evaluate):
        with pytest.raises(error, match=words):
            call("chip_price", **inputs)


def test_a_price_of_ones_own_holds_on_its_days() -> None:
    mine = rs.Preset("mine", "prices", rs.prices[RENT].facts, attributes={"valid_from": "2026-09-15"})
    assert hourly(rs.value("chip_price", prices=mine, as_of=AFTER)) == 3.99
    with pytest.raises(errors.PresetError, match="no entry for 2026-09-14; the nearest is 'mine', 2026-09-15 or later"):
        rs.value("chip_price", prices=mine, as_of="2026-09-14")
    assert hourly(rs.value("chip_price", prices=f"{RENT} as of {BEFORE}", as_of=BEFORE)) == 3.29


def test_no_quantity_is_called_as_the_day() -> None:
    with pytest.raises(errors.RoofslateError, match="as_of"):
        rs.define("as_of", "1", lambda layers: 2 * layers, brief="a day")


def test_the_command_line_takes_a_day(tmp_path: Path) -> None:
    run = CliRunner().invoke(main, ["evaluate", "chip_price", f"prices={RENT}", f"as_of={BEFORE}"])
    assert run.exit_code == 0, run.output
    assert "3.29" in run.output
    scenario = tmp_path / "ours.toml"
    scenario.write_text(f'prices = "{RENT}"\nas_of = {BEFORE}\n', encoding="utf-8")
    run = CliRunner().invoke(main, ["evaluate", "chip_price", "--scenario", str(scenario)])
    assert "3.29" in run.output
