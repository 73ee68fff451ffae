"""The benchmark runs and reports. No time is asserted, as the machine is shared."""

from __future__ import annotations

import json
import math
import os
import re
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
import xarray as xr
from benchmarks import PARTS, Line, Report, Section, measure
from benchmarks.machine import SIZES
from benchmarks.rivals import COST, FOUR, RIVALS, Surface
from benchmarks.search_rivals import SEARCH_RIVALS, Search, grid_loop
from benchmarks.timing import Contender, ratio, take_turns
from support import ROOT


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """Run the command at its small size in a separate process, which sets up JAX and numba."""
    folder = tmp_path_factory.mktemp("bench")
    files = ["--json", str(folder / "bench.json"), "--markdown", str(folder / "bench.md")]
    files += ["--chart", str(folder / "bench.svg")]
    command = [sys.executable, "-m", "benchmarks", "--size", "small", "--threads", "2", *files]
    folders = [str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, folders))}
    done = subprocess.run(command, capture_output=True, text=True, check=False, env=environment)
    assert done.returncode == 0, done.stderr
    assert (folder / "bench.svg").read_text().startswith("<?xml")
    return done.stdout, json.loads((folder / "bench.json").read_text()), (folder / "bench.md").read_text()


@pytest.mark.long
@pytest.mark.whole
def test_every_section_is_measured(trial):
    text, data, markdown = trial
    titles = [section["title"] for section in data["sections"]]
    begin = ["Machine", "Four", "cost_per_token", "One operation", "Elasticities", "Four", "Short", "Table", "Single"]
    begin += [
        "Import",
        "Peak",
        "Bars",
        "Best",
        "One optimum",
        "One optimum and a frontier",
        "Deployments",
        "Histogram",
        "Solving",
        "Quantiles",
        "Four",
    ]
    begin += ["Long table", "Cost of a point", "Time by points", "Public calculators"]
    assert [title.startswith(word) for title, word in zip(titles, begin, strict=True)] == [True] * len(begin)
    assert len(PARTS) == len(titles)
    assert all(section["lines"] or section["growth"] for section in data["sections"])
    for title in titles:
        assert title in text
        assert f"## {title}" in markdown


@pytest.mark.long
def test_figures_are_numbers_and_a_trial_judges_none(trial):
    text, data, _ = trial
    lines = [line for section in data["sections"] for line in section["lines"]]
    assert all(line["figure"] is None or math.isfinite(line["figure"]) for line in lines)
    assert {line["verdict"] for line in lines} == {""}
    assert "trial run" in text


@pytest.mark.long
def test_every_rival_is_measured_or_named_as_missing(trial):
    _, data, _ = trial
    section = data["sections"][1]
    measured = {line["what"] for line in section["lines"]}
    missing = {note.split(":")[0] for note in section["notes"]}
    assert set(RIVALS) <= measured | missing


@pytest.mark.parametrize("outputs", [FOUR, COST], ids=["four", "cost"])
@pytest.mark.parametrize("name", ["NumPy", "NumPy, out="])
def test_numpy_rivals_agree_with_the_engine(name, outputs):
    import roofslate as rs

    surface = Surface((2, 3, 4, 5))
    ours = rs.evaluate(list(outputs), surface.inputs)
    out = {output: np.zeros(surface.shape) for output in outputs}
    got = RIVALS[name](surface, outputs, out, 1)()
    for output in outputs:
        assert ours[output].shape == surface.shape
        np.testing.assert_allclose(got[output], ours[output].to_numpy(), rtol=1e-12)


@pytest.mark.rival
@pytest.mark.parametrize("outputs", [FOUR, COST], ids=["four", "cost"])
@pytest.mark.parametrize("name", ["polars", "DuckDB", "Blosc2"])
def test_rivals_of_tables_agree_with_numpy(name, outputs):
    pytest.importorskip(name.lower())
    surface = Surface((2, 3, 4, 5))
    expected = RIVALS["NumPy"](surface, outputs, {}, 1)()
    got = RIVALS[name](surface, outputs, {}, 1)()
    for output in outputs:
        np.testing.assert_allclose(got[output], expected[output], rtol=1e-12)


@pytest.mark.rival
def test_the_loop_by_hand_agrees_with_the_engine():
    from benchmarks.by_hand import by_hand
    from roofslate import _core

    try:
        loops = [by_hand(_search_case()[0], threads, _core.instruction_set()) for threads in (1, 2)]
    except ImportError as error:
        pytest.skip(str(error))
    from benchmarks.folds import _same_places

    search, result = _search_case()
    for loop in loops:
        _same_places("the loop by hand", search, result, *loop())


@pytest.mark.rival
@pytest.mark.skipif(not Path("/proc/self/clear_refs").exists(), reason="this system has no peak memory")
def test_peak_memory_is_that_of_the_results_and_little_more(monkeypatch):
    from benchmarks import peaks

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(ROOT / "python"), os.environ.get("PYTHONPATH", "")]))
    monkeypatch.setattr(peaks, "_FEWEST", 1)
    megabytes, unit = peaks.peak_text(peaks.ENGINE, (4, 8, 128, 256), 1, COST).split()
    assert unit == "MB"
    assert 7 <= float(megabytes) <= 40  # results of 8 MB
    monkeypatch.setattr(peaks, "_FEWEST", 1 << 30)
    assert peaks.peak_text(peaks.ENGINE, (4, 8, 128, 256), 1, COST) == ""


def test_the_surface_is_the_same_for_the_engine_itself():
    import roofslate as rs
    from roofslate import _core

    surface = Surface((2, 3, 4, 5))
    array = np.zeros(surface.shape)
    inputs = {name: (values, axes) for name, values, axes in surface.core_inputs}
    _core.Grid(list(surface.shape), inputs).evaluate(list(COST), [array], 1, None)
    assert np.array_equal(array, rs.evaluate("cost_per_token", surface.inputs).to_numpy())


@pytest.mark.parametrize("stream", [False, True])
@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("points", [0, 1, 7, 8, 9, 100, 1001])
def test_fill_reaches_every_point_and_no_other(points, threads, stream):
    from roofslate import _core

    memory = np.zeros(points + 3)
    assert _core.fill_seconds(memory[1 : points + 1], threads, stream) >= 0
    assert memory[0] == 0
    assert np.all(memory[1 : points + 1] == 1.5)
    assert np.all(memory[points + 1 :] == 0)


def test_fill_takes_no_copy():
    from roofslate import _core

    with pytest.raises(TypeError):
        _core.fill_seconds(np.zeros(4, dtype=np.float32), 1, False)
    with pytest.raises(TypeError):
        _core.fill_seconds(np.zeros(8)[::2], 1, False)


@pytest.mark.parametrize(("short", "repeated"), [(math.inf, 2), (0, 1)])
def test_contenders_take_turns(short, repeated, monkeypatch):
    """Short runs are repeated, long ones are not."""
    from benchmarks import timing

    monkeypatch.setattr(timing, "_SHORT", short)
    order = []
    a = Contender("a", lambda: order.append("a"))
    b = Contender("b", lambda x: order.append(x), before=lambda: "b", calls=2)
    take_turns([a, b], 2)
    assert order == (["a"] * repeated + ["b", "b"] * repeated) * 3
    assert len(a.seconds) == len(b.seconds) == 2
    a.seconds, b.seconds = [1.0, 4.0, 9.0], [1.0, 2.0, 3.0]
    assert ratio(a, b) == 2.0


def test_what_others_disturb_is_measured_again_and_not_judged(monkeypatch):
    from benchmarks import machine

    busy = iter([0.0, 1e6, 2e6, 2e6])  # busy in the first try, not in the second
    monkeypatch.setattr(machine, "busy_elsewhere", lambda: next(busy))
    sections = [Section("a", [Line("x", verdict="holds")]), Section("b", [Line("y", verdict="holds"), Line("z")])]
    parts = iter(sections)
    assert machine.calmest(lambda: next(parts), 3) is sections[1]
    assert sections[1].lines[0].verdict == "holds"
    busy = iter([0.0, 1e6])
    section = machine.calmest(lambda: sections[1], 1)
    assert [line.verdict for line in section.lines] == ["disturbed", ""]
    assert "not judged" in section.notes[0]
    assert "No target was judged. 1 were not judged" in str(Report({}, [section]))


def test_a_report_counts_what_falls_short():
    met = Line("x", figure=2.0, figure_text="2", target=">= 1", verdict="holds")
    missed = Line("y", figure=0.5, figure_text="0.5", target=">= 1", verdict="falls short")
    report = Report({"processor": "some"}, [Section("part", [met, missed, Line("z")], ["a note"])])
    assert report.short == [missed]
    for text in (str(report), report.markdown):
        assert "1 of 2 targets met." in text
        assert "a note" in text
    assert json.loads(report.json)["sections"][0]["lines"][1]["verdict"] == "falls short"


def _search_case():
    """A search in which conditions leave out batches, and some contexts have no feasible one."""
    import roofslate as rs

    search = Search((3, 2, 12, 20), chips=5)
    where = ["pass_time <= 50 ms", "hbm_used <= hbm_capacity"]
    result = rs.best("cost_per_token", search.inputs, over="batch_size", where=where, prune=False)
    nowhere = np.isnan(result["cost_per_token"].to_numpy())
    assert 0 < nowhere.sum() < nowhere.size
    assert len(np.unique(result["batch_size"].to_numpy()[~nowhere])) > 3
    return search, result


@pytest.mark.parametrize("name", [name for name in SEARCH_RIVALS if name.startswith("NumPy")])
def test_numpy_searches_agree_with_the_engine(name):
    _check_search(name, *_search_case())


@pytest.mark.rival
@pytest.mark.parametrize("name", [name for name in SEARCH_RIVALS if not name.startswith("NumPy")])
def test_rivals_of_the_search_agree_with_the_engine(name):
    pytest.importorskip("jax" if name.startswith("JAX") else "numba")
    _check_search(name, *_search_case())


def _check_search(name, search, result):
    from benchmarks.folds import _same_places

    least, position = SEARCH_RIVALS[name][0](search, 1)()
    _same_places(name, search, result, least, position)
    at = np.argwhere(position >= 0)[0]
    for changed in (1.001, 0.999):  # the comparison itself
        off = least.copy()
        off[tuple(at)] *= changed
        with pytest.raises(RuntimeError, match="least cost"):
            _same_places(name, search, result, off, position)
    off = position.copy()
    off[tuple(at)] = -1
    with pytest.raises(RuntimeError, match="feasible points"):
        _same_places(name, search, result, least, off)
    off[tuple(at)] = (position[tuple(at)] + 5) % search.shape[2]
    with pytest.raises(RuntimeError, match="least cost"):
        _same_places(name, search, result, least, off)


@pytest.mark.rival
def test_the_loop_over_five_axes_agrees_with_the_engine():
    pytest.importorskip("numba")
    from benchmarks.folds import CELL, deep_axes
    from benchmarks.growth import _HBM_CAPACITY, _best, _numpy

    axes = deep_axes(5)
    ours = _best(1, False)(axes)
    assert math.isfinite(ours)
    assert _best(1, True)(axes) == ours
    assert grid_loop(1)(axes=axes, hbm_capacity=_HBM_CAPACITY, **CELL) == pytest.approx(ours, rel=1e-12)
    assert _numpy(axes) == pytest.approx(ours, rel=1e-12)


def test_outputs_of_the_cost_of_a_point_vary_along_all_axes():
    import roofslate as rs
    from benchmarks.growth import _OUTPUTS, _split

    surface = Surface((2, 2, 2, 2))
    result = rs.evaluate(list(_OUTPUTS), surface.inputs)
    assert {array.size for array in result.values()} == {16}
    for axes in range(2, 7):
        split = _split(1 << 24, axes)
        assert len(split) == axes
        assert np.prod([float(len(values)) for values in split.values()]) == pytest.approx(1 << 24, rel=0.03)


def test_only_some_parts_are_measured():
    from roofslate.errors import UnknownName

    said = []
    report = measure("small", threads=1, only=["optimum", "short-axes"], say=said.append)
    assert said == ["measuring short axes ...", "measuring optimum ..."]
    assert [section.title.split()[0] for section in report.sections] == ["Short", "One"]
    with pytest.raises(UnknownName, match="did you mean 'growth'"):
        measure("small", only=["grwoth"])


@pytest.mark.parametrize(
    ("part", "missing", "extra"),
    [
        ("four-outputs", ["numexpr", "numba", "jax", "polars", "duckdb", "blosc2"], "bench"),
        ("best", ["numba", "jax"], "bench"),
        ("growth", ["numba"], "bench"),
        ("solve", ["scipy.optimize"], "analysis"),
        ("samples", ["scipy.stats"], "analysis"),
    ],
)
def test_what_is_not_installed_is_left_out_and_named(part, missing, extra, monkeypatch):
    for name in missing:
        monkeypatch.setitem(sys.modules, name, None)
    (section,) = measure("small", threads=1, only=[part]).sections
    notes = "\n".join(section.notes)
    for name in missing:
        assert re.search(rf"\b{re.escape(name)}\b.* not installed \(pip install 'roofslate\[{extra}\]'\)", notes)
    assert not any(name in str([*section.lines, *section.growth]) for name in ("numexpr", "numba", "JAX", "scipy"))


def test_what_finds_no_memory_is_made_smaller_or_left_out(monkeypatch):
    from benchmarks import folds, stores
    from roofslate import _core

    rival, _ = SEARCH_RIVALS["NumPy"]
    requested = []

    def watched(search, threads):
        requested.append(search.shape)
        return rival(search, threads)

    monkeypatch.setattr(folds, "SEARCH_RIVALS", {"NumPy": (watched, True)})
    monkeypatch.setattr(_core, "available_memory", lambda: 0)
    search = folds.measure_best(SIZES["small"], 1)
    assert requested == [(1, *SIZES["small"].search[1:])]  # of two models
    assert search.notes == ["NumPy ran on a quarter of the grid, for lack of memory"]
    results = stores.measure_stores(SIZES["small"], 1)
    assert results.notes == ["10,000 values: skipped for lack of memory"]
    assert results.lines == []


def test_threads_that_fill_no_faster_are_told(monkeypatch):
    from benchmarks import evaluations

    for gained, notes in ((1.19, 1), (1.2, 0)):
        monkeypatch.setattr(evaluations, "ratio", lambda *_, gained=gained: gained)
        section = evaluations.measure_limits(SIZES["small"], 2)
        assert len(section.notes) == notes
        assert all(note.startswith("2 threads fill no faster than one") for note in section.notes)


def test_calculators_that_are_installed_are_measured(monkeypatch):
    from benchmarks import calculators

    def missing():
        raise ModuleNotFoundError(name="elsewhere")

    monkeypatch.setattr(calculators, "_CALCULATORS", {"patient": lambda: lambda: time.sleep(1e-3), "lost": missing})
    section = calculators.measure_calculators(SIZES["small"])
    ours, other = section.lines
    assert other.what == "patient"
    assert other.figure > 5  # a value takes some 10 microseconds
    assert re.fullmatch(r"takes [\d,]+ x as long", other.figure_text)
    assert ours.figure is None
    assert section.notes[0] == "lost: skipped, elsewhere is not installed"
    assert "compute each operation" in section.notes[1]


def test_results_that_differ_stop_the_benchmark():
    from benchmarks.evaluations import _agree
    from benchmarks.folds import _same_result
    from benchmarks.solves import _same_batches

    ours = np.array([1.0, 2.0])
    for factor in (1.001, np.nan):
        theirs = ours * [1, factor]
        with pytest.raises(RuntimeError, match="NumPy and roofslate differ in pass_time by"):
            _agree("NumPy", {"pass_time": ours}, {"pass_time": theirs})
        with pytest.raises(RuntimeError, match="brentq and roofslate differ in the batch by"):
            _same_batches("brentq", theirs, ours)
        with pytest.raises(RuntimeError, match="with and without pruning differ"):
            _same_result(xr.DataArray(theirs), xr.DataArray(ours))
    _agree("NumPy", {"pass_time": ours}, {"pass_time": ours * (1 + 1e-13)})
    _same_batches("brentq", ours * (1 + 1e-10), ours)


@pytest.mark.parametrize(
    ("seconds", "text"), [(2, "2 s"), (1.5e-3, "1.5 ms"), (1e-6, "1 µs"), (9.99e-7, "999 ns"), (5e-10, "0.5 ns")]
)
def test_times_are_told_in_units_of_their_size(seconds, text):
    from benchmarks.report import time_text

    assert time_text(seconds) == text


def test_the_command_tells_the_parts():
    from benchmarks.__main__ import bench
    from click.testing import CliRunner

    text = "".join(CliRunner().invoke(bench, ["--help"]).output.split())
    assert f"Parts:{','.join(PARTS)}." in text


def test_growth_is_a_table_and_a_chart(tmp_path):
    from benchmarks.chart import draw, save
    from roofslate.errors import InputTypeError

    growth = {"rs.best": {1000: 1e-3, 10**6: 2e-3}, "NumPy": {1000: 5e-5}}
    report = Report({}, [Section("Growth", notes=["a note"], growth=growth)])
    assert "| 1,000 | 1 ms | 50 µs |" in report.markdown
    assert "| 1,000,000 | 2 ms |  |" in report.markdown
    assert "1,000,000  2 ms" in str(report)
    assert json.loads(report.json)["sections"][0]["growth"]["rs.best"]["1000000"] == 2e-3
    ax = draw(growth)
    assert [list(line.get_ydata()) for line in ax.lines] == [[1e-3, 2e-3], [5e-5]]
    assert {text.get_text() for text in ax.texts} >= set(growth)
    save(report, tmp_path / "growth.svg")
    assert (tmp_path / "growth.svg").stat().st_size > 1000
    with pytest.raises(InputTypeError, match="growth"):
        save(Report({}, []), tmp_path / "none.svg")


def test_the_full_size_is_what_is_promised():
    full = SIZES["full"]
    assert np.prod(full.search) == 16 * 8 * 512 * 1024
    assert full.deep**5 == 976_562_500_000
    assert full.wide**4 > 1e9
    assert full.cube**3 == 10**9
    assert full.long_table == 5_000_000
    assert (full.stored[0], full.stored[-1]) == (10**6, 5 * 10**8)
