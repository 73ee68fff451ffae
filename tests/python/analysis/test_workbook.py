"""Workbooks: formulas of names, which give our numbers when they are computed anew."""

from __future__ import annotations

import math
import os
import re
import zipfile
from pathlib import Path

import pytest
import roofslate as rs
from roofslate import errors
from roofslate._base.messages import pip_install
from roofslate.analysis.excel_formulas import cell_name
from support import workbooks
from support.workbook_scenarios import CHANGES, SCENARIOS
from support.workbooks import CellError, Sheet

NEAR = 1e-9
DRAIN = {"hbm_capacity": "192 GB", "hbm_bandwidth": "8 TB/s"}
LISTED = list(SCENARIOS)

pytestmark = pytest.mark.filterwarnings("ignore::roofslate.RoofslateWarning")


@pytest.fixture(name="path")
def path_of_workbook(tmp_path: Path) -> Path:
    return tmp_path / "book.xlsx"


def written(path: Path, name: str) -> dict[str, object]:
    """Write a scenario's workbook and return its numbers."""
    outputs, inputs = SCENARIOS[name]
    rs.to_excel(path, outputs, inputs)
    return {output: rs.value(output, inputs) for output in outputs}


def equal(outcome: object, expected: object) -> bool:
    if isinstance(expected, str) or isinstance(outcome, str):
        return outcome == expected
    return math.isclose(outcome, expected, rel_tol=NEAR, abs_tol=0)  # type: ignore[arg-type]


def differences(outcome: dict, expected: dict) -> dict:
    return {name: (outcome.get(name), x) for name, x in expected.items() if not equal(outcome.get(name), x)}


def test_there_are_twenty_scenarios():
    assert len(SCENARIOS) == 20


@pytest.mark.parametrize("name", LISTED)
def test_formulas_give_our_numbers(path, name):
    expected = written(path, name)
    assert differences(Sheet(path).results(), expected) == {}


@pytest.mark.parametrize("name", list(CHANGES))
def test_formulas_follow_their_inputs(path, name):
    """A changed input gives the number of the engine."""
    before = written(path, name)
    outputs, inputs = SCENARIOS[name]
    changed = {output: rs.value(output, {**inputs, **CHANGES[name]}) for output in outputs}
    assert differences(Sheet(path, CHANGES[name]).results(), changed) == {}
    assert differences(before, changed), "the change is seen"


@pytest.mark.parametrize("name", LISTED)
def test_cells_of_quantities_are_formulas(path, name):
    """Values in their place are few, and those that count are named on the first sheet."""
    written(path, name)
    book = workbooks.opened(path)
    rows = [[cell.value for cell in row] for row in book["Derivation"].iter_rows(min_row=2)]
    assert all(str(row[1]).startswith("=") for row in rows)
    values = [row[0] for row in rows if row[6].startswith("value") and not row[6].endswith("not used here")]
    notes = " ".join(str(row[0].value) for row in book["Results"].iter_rows())
    assert all(value in notes for value in values)
    if name not in ("arrivals", "adapters", "optimum", "speculation"):
        assert [x for x in values if x not in ("pass_adapters", "adapter_hit_rate", "expert_load_variance")] == []
    assert len(values) <= 0.03 * len(rows) + 1


@pytest.mark.long
@pytest.mark.skipif(workbooks.office() is None and "ROOFSLATE_NO_SKIPS" not in os.environ, reason="no LibreOffice")
def test_libreoffice_computes_our_numbers(tmp_path):
    """All scenarios, every name and every result."""
    paths, expected = [], []
    for name in LISTED:
        paths.append(tmp_path / f"{name}.xlsx")
        expected.append(written(paths[-1], name))
    control = tmp_path / "control.xlsx"  # a formula with a wrong number
    rs.to_excel(control, "hbm_drain_time", DRAIN)
    _replace(control, "xl/worksheets/sheet3.xml", b"<v>0.024</v>", b"<v>7</v>")
    *outcome, computed = workbooks.recalculated([*paths, control], tmp_path)
    assert math.isclose(computed["hbm_drain_time"], 0.024, rel_tol=NEAR), "LibreOffice computes anew"
    for name, path, cells, results in zip(LISTED, paths, outcome, expected, strict=True):
        assert differences(cells, {f"result:{output}": x for output, x in results.items()}) == {}, name
        ours = {key: cell.value for key, cell in workbooks.named(workbooks.opened(path, values=True)).items()}
        assert differences(cells, ours) == {}, name


def _replace(path: Path, member: str, old: bytes, new: bytes) -> None:
    with zipfile.ZipFile(path) as archive:
        parts = {name: archive.read(name) for name in archive.namelist()}
    assert old in parts[member]
    parts[member] = parts[member].replace(old, new)
    with zipfile.ZipFile(path, "w") as archive:
        for name, content in parts.items():
            archive.writestr(name, content)


def test_a_value_without_a_formula_is_never_stale(path):
    """A value without a formula is an error as soon as its arguments change."""
    rs.to_excel(path, "optimal_overtraining", *_optimum())
    assert equal(Sheet(path).results()["optimal_overtraining"], rs.value("optimal_overtraining", *_optimum()))
    for change in ({"inference_tokens": 3e12}, {"active_parameters": 25e9}):
        with pytest.raises(CellError, match="#N/A"):
            Sheet(path, change).results()


def _optimum() -> list[dict]:
    return [SCENARIOS["optimum"][1]]


def test_cells_have_their_values_beside_formulas(path):
    """A program that computes nothing shows our numbers."""
    expected = written(path, "decode")
    book = workbooks.opened(path, values=True)
    shown = {row[0].value: row[1].value for row in book["Results"].iter_rows(min_row=2)}
    assert differences(shown, expected) == {}


def test_the_first_sheet_says_what_it_shows(path):
    outputs, inputs = SCENARIOS["calibrated"]
    rs.to_excel(path, outputs, inputs, units={"time_per_output_token": "ms"})
    rows = {row[0].value: [cell.value for cell in row] for row in workbooks.opened(path)["Results"].iter_rows()}
    said = rs.evaluate(outputs, inputs)
    for output in outputs:
        _name, formula, unit, meaning, *texts = rows[output]
        assert formula.startswith("=")
        assert unit == {"time_per_output_token": "ms"}.get(output, said[output].attrs["units"])
        assert meaning == rs.quantity(output).brief
        assert texts == [said[output].attrs[key] for key in ("basis", "calibration", "support")]
    assert equal(Sheet(path).results()["time_per_output_token"], 1e3 * rs.value("time_per_output_token", inputs))


def test_inputs_say_where_they_come_from(path):
    rs.to_excel(path, "pass_time", SCENARIOS["decode"][1])
    rows = {row[0].value: [cell.value for cell in row] for row in workbooks.opened(path)["Inputs"].iter_rows()}
    assert rows["batch_size"][1:3] == [1024, "sequence"]
    assert rows["batch_size"][5] == "given"
    assert rows["hbm_bandwidth"][5].startswith("hardware GB200 NVL72")
    assert rows["overlap"][1] == "board"
    assert rows["overlap"][5].startswith("default")


def test_choices_have_a_list(path):
    written(path, "decode")
    (validated,) = [
        check
        for check in workbooks.opened(path)["Inputs"].data_validations.dataValidation
        if str(check.sqref) == workbooks.named(workbooks.opened(path))["overlap"].coordinate
    ]
    assert validated.formula1 == f'"{",".join(rs.quantity("overlap").choices)}"'


def test_a_choice_changes_the_formula(path):
    inputs = SCENARIOS["decode"][1]
    rs.to_excel(path, "pass_time", inputs)
    for word in rs.quantity("overlap").choices:
        expected = rs.value("pass_time", {**inputs, "overlap": word})
        assert equal(Sheet(path, {"overlap": word}).results()["pass_time"], expected)


def test_infinity_is_a_number_that_shows_as_such(path):
    inputs = {"hbm_capacity": "192 GB", "hbm_bandwidth": "8 TB/s"}
    with rs.definitions():
        rs.define("slack", "1", lambda hbm_drain_time: hbm_drain_time / (hbm_drain_time - hbm_drain_time), brief="pole")
        rs.define("bounded", "1", lambda slack: rs.math.minimum(slack, 3.0), brief="the lesser")
        assert rs.value("slack", inputs) == math.inf
        rs.to_excel(path, ["slack", "bounded"], inputs)
    outcome = Sheet(path).results()
    assert outcome["slack"] == 1e250
    assert outcome["bounded"] == 3


def test_definitions_are_formulas_too(path):
    with rs.definitions():
        rs.define("tp8", "1", lambda hbm_drain_time: (hbm_drain_time / hbm_drain_time + 0.5) ** 3, brief="a power")
        rs.to_excel(path, "tp8", DRAIN)
        expected = rs.value("tp8", DRAIN)
    assert equal(Sheet(path).results()["tp8"], expected)


def test_each_rounding_follows_its_input(path):
    """Up and down, of a number between two whole ones."""
    with rs.definitions():
        rs.define("up", "1", lambda batch_size: rs.math.ceil(rs.math.count(batch_size) / 7), brief="rounded up")
        rs.define("down", "1", lambda batch_size: rs.math.floor(rs.math.count(batch_size) / 7), brief="rounded down")
        rs.to_excel(path, ["up", "down"], batch_size=64)
    assert Sheet(path).results() == {"up": 10, "down": 9}
    assert Sheet(path, {"batch_size": 15.0}).results() == {"up": 3, "down": 2}


@pytest.mark.parametrize("brief", ["=cmd|' /C calc'!A0", "+1+1", "-1+1", "@SUM(A1)", '=HYPERLINK("http://x","y")'])
def test_texts_are_never_formulas(path, brief):
    """Texts of a caller stay texts, edited or saved as CSV."""
    with rs.definitions():
        rs.define("mine", "s", lambda hbm_drain_time: 2 * hbm_drain_time, brief=brief, source="=2+2")
        rs.to_excel(path, "mine", DRAIN)
    book = workbooks.opened(path)
    cells = [cell for sheet in book for row in sheet.iter_rows() for cell in row if cell.value == brief]
    assert cells
    assert all(cell.data_type == "s" or cell.quotePrefix for cell in cells)
    assert all(cell.quotePrefix for cell in cells)
    with zipfile.ZipFile(path) as archive:
        for name in archive.namelist():
            text = archive.read(name).decode("utf-8", "replace")
            assert "<f>cmd" not in text
            assert "HYPERLINK(" not in text.split("<f>", 1)[-1] if "worksheets" in name else True


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("pass_time", "pass_time"),
        ("tp8", "tp8_"),
        ("A1", "A1_"),
        ("r", "r_"),
        ("R1C1", "R1C1_"),
        ("true", "true_"),
        ("xfd1048576", "xfd1048576_"),
        ("time_to_first_token_p99", "time_to_first_token_p99"),
    ],
)
def test_names_are_no_cells(name, expected):
    assert cell_name(name) == expected


def test_a_derivation_writes_itself(path):
    inputs = SCENARIOS["dense"][1]
    rs.explain("cost_per_output_token", inputs).to_excel(path)
    outcome = Sheet(path).results()
    assert list(outcome) == ["cost_per_output_token"]
    assert equal(outcome["cost_per_output_token"], rs.value("cost_per_output_token", inputs))


def test_mistakes(tmp_path):
    path = tmp_path / "book.xlsx"
    with pytest.raises(errors.InputTypeError, match=r"the name of a workbook ends in \.xlsx"):
        rs.to_excel(tmp_path / "book.xls", "hbm_drain_time", DRAIN)
    with pytest.raises(errors.InputTypeError, match="path: expected the name of a file, got 3"):
        rs.to_excel(3, "hbm_drain_time", DRAIN)
    with pytest.raises(errors.AxisError, match=r"rs\.to_excel writes one scenario, but batch_size is an axis"):
        rs.to_excel(path, "pass_time", SCENARIOS["decode"][1], batch_size=[1, 2])
    with pytest.raises(errors.MissingInput, match="hbm_bandwidth"):
        rs.to_excel(path, "hbm_drain_time", hbm_capacity="192 GB")
    with pytest.raises(errors.UnknownName, match="hbm_drain_time"):
        rs.to_excel(path, "hbm_drain_tim", DRAIN)
    with pytest.raises(errors.UnitError):
        rs.to_excel(path, "hbm_drain_time", DRAIN, units={"hbm_drain_time": "GB"})
    assert not list(tmp_path.iterdir()), "nothing is written before a mistake is seen"
    rs.to_excel(path, "hbm_drain_time", DRAIN)
    before = path.read_bytes()
    with pytest.raises(FileExistsError, match="overwrite was not asked for"):
        rs.to_excel(path, "hbm_drain_time", DRAIN)
    assert path.read_bytes() == before
    rs.to_excel(path, "hbm_drain_time", DRAIN, overwrite=True)
    with pytest.raises(FileNotFoundError, match="there is no such folder"):
        rs.to_excel(tmp_path / "nowhere" / "book.xlsx", "hbm_drain_time", DRAIN)


def test_without_the_extra(path, monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "xlsxwriter", None)
    with pytest.raises(ModuleNotFoundError, match=re.escape(pip_install("excel"))):
        rs.to_excel(path, "hbm_drain_time", DRAIN)
    assert not path.exists()
