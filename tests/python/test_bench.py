"""The benchmark runs, and says what it measured. No time is asserted: the machine is not ours alone."""

from __future__ import annotations

import json
import math
import subprocess
import sys

import numpy as np
import pytest
from roofslate.bench import Line, Report, Section
from roofslate.bench.rivals import COST, FOUR, RIVALS, Surface
from roofslate.bench.timing import Contender, ratio, take_turns


@pytest.fixture(scope="module")
def trial(tmp_path_factory):
    """The command at its small size, in a process of its own: it sets up JAX and numba as it wants them."""
    folder = tmp_path_factory.mktemp("bench")
    files = ["--json", str(folder / "bench.json"), "--markdown", str(folder / "bench.md")]
    command = [sys.executable, "-m", "roofslate", "bench", "--size", "small", "--threads", "2", *files]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout, json.loads((folder / "bench.json").read_text()), (folder / "bench.md").read_text()


def test_every_section_is_measured(trial):
    text, data, markdown = trial
    titles = [section["title"] for section in data["sections"]]
    begin = ["Machine", "Four", "cost_per_token", "One operation", "Four", "Short", "Table", "Single", "Import", "Peak"]
    assert [title.startswith(word) for title, word in zip(titles, begin, strict=True)] == [True] * len(begin)
    assert all(section["lines"] for section in data["sections"])
    for title in titles:
        assert title in text
        assert f"## {title}" in markdown


def test_figures_are_numbers_and_a_trial_judges_none(trial):
    text, data, _ = trial
    lines = [line for section in data["sections"] for line in section["lines"]]
    assert all(line["figure"] is None or math.isfinite(line["figure"]) for line in lines)
    assert {line["verdict"] for line in lines} == {""}
    assert "trial run" in text


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
    ours = rs.evaluate(list(outputs), **surface.inputs)
    out = {output: np.zeros(surface.shape) for output in outputs}
    got = RIVALS[name](surface, outputs, out, 1)()
    for output in outputs:
        assert ours[output].shape == surface.shape
        np.testing.assert_allclose(got[output], ours[output].to_numpy(), rtol=1e-12)


def test_the_surface_is_the_same_for_the_engine_itself():
    import roofslate as rs
    from roofslate import _core

    surface = Surface((2, 3, 4, 5))
    array = np.zeros(surface.shape)
    _core.evaluate(list(COST), list(surface.shape), surface.core_inputs, [array], 1, None)
    assert np.array_equal(array, rs.evaluate("cost_per_token", **surface.inputs).to_numpy())


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


def test_contenders_take_turns():
    order = []
    a = Contender("a", lambda: order.append("a"))
    b = Contender("b", lambda x: order.append(x), before=lambda: "b", calls=2)
    take_turns([a, b], 2)
    assert order == ["a", "b", "b"] * 3
    assert len(a.seconds) == len(b.seconds) == 2
    a.seconds, b.seconds = [1.0, 4.0, 9.0], [1.0, 2.0, 3.0]
    assert ratio(a, b) == 2.0


def test_what_others_disturb_is_measured_again_and_not_judged(monkeypatch):
    import roofslate.bench as bench

    others = iter([0.0, 1e6, 2e6, 2e6])  # busy in the first try, not in the second
    monkeypatch.setattr(bench, "_busy_elsewhere", lambda: next(others))
    sections = [Section("a", [Line("x", verdict="holds")]), Section("b", [Line("y", verdict="holds"), Line("z")])]
    parts = iter(sections)
    assert bench._calmest(lambda: next(parts), 3) is sections[1]
    assert sections[1].lines[0].verdict == "holds"
    others = iter([0.0, 1e6])
    section = bench._calmest(lambda: sections[1], 1)
    assert [line.verdict for line in section.lines] == ["disturbed", ""]
    assert "not judged" in section.notes[0]
    assert "No target was judged. 1 were not judged" in str(Report({}, [section]))


def test_a_report_counts_what_falls_short():
    held = Line("x", figure=2.0, figure_text="2", target=">= 1", verdict="holds")
    missed = Line("y", figure=0.5, figure_text="0.5", target=">= 1", verdict="falls short")
    report = Report({"processor": "some"}, [Section("part", [held, missed, Line("z")], ["a note"])])
    assert report.short == [missed]
    for text in (str(report), report.markdown):
        assert "1 of 2 targets hold." in text
        assert "a note" in text
    assert json.loads(report.json)["sections"][0]["lines"][1]["verdict"] == "falls short"
