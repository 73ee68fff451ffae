"""The lecture, live: chapters, search and flashcards in a real browser."""

from __future__ import annotations

import re
import warnings

import pytest
import roofslate as rs
from roofslate.lecture_report import charts
from roofslate.lecture_report.live import live_lecture, live_view
from roofslate.plotting.pages import page as pages

pytestmark = [
    pytest.mark.slow,
    pytest.mark.long,  # all tests share the written pages
    pytest.mark.skipif(
        not (pages._ENGINE / "engine.wasm").is_file(), reason="no engine for browsers in this build: make wasm"
    ),
]

WITHOUT_NUMBERS = {"avalanche", "feistel"}  # ciphers, whose bits no formula gives


@pytest.fixture(scope="module")
def lecture(tmp_path_factory):
    return live_lecture(tmp_path_factory.mktemp("live"))


@pytest.fixture
def tab(tab):
    tab.set_viewport_size({"width": 390, "height": 844})  # a phone
    return tab


def visit(tab, address):
    tab.goto("about:blank")
    tab.goto(address)
    tab.wait_for_selector("html[data-ready]", state="attached", timeout=20_000)


def test_every_chart_with_sliders_has_its_page(lecture):
    text = lecture.read_text(encoding="utf-8")
    linked = set(re.findall(r"chapter-\d\.html#chart=(\w+)\"", text))
    assert linked == {chart.name for chart in charts.all() if chart.input_names} - WITHOUT_NUMBERS


def test_every_chart_computes_what_python_does(tab, lecture):
    """At its start, to the last bit, without a message, as wide as a phone."""
    for chart in charts.all():
        if not chart.input_names or chart.name in WITHOUT_NUMBERS:
            continue
        visit(tab, f"{lecture.parent.as_uri()}/chapter-{chart.chapter}.html#chart={chart.name}")
        view = live_view(chart)
        assert tab.locator("#trouble").inner_text() == "", chart.name
        assert tab.locator(".results > .trouble").inner_text() == "", chart.name
        assert tab.evaluate("document.documentElement.scrollWidth") <= 390, chart.name
        numbers = tab.locator(".numbers td[data-quantity]")
        said = numbers.evaluate_all("all => all.map(c => [c.dataset.quantity, c.dataset.variant, c.dataset.value])")
        inputs = {**tab.evaluate("roofslate.view.values"), **view.presets, **fixed_of(view)}
        for name, variant, text in said:
            calibration = {"bound": "floor", "estimate": "serving"}.get(variant)
            extra = {"calibration": calibration} if calibration and name in view.to_json()["carries"] else {}
            q = rs.quantity(name)
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")  # of inputs that other numbers of the page take
                x = rs.value(name, inputs, **extra)
            assert float(text.replace("Infinity", "inf")) == (q.choices.index(x) if q.choices else x), (
                chart.name,
                name,
            )


def fixed_of(view):
    return {
        name: rs.quantity(name).choices[int(x)] if rs.quantity(name).choices else x for name, x in view.fixed.items()
    }


@pytest.mark.parametrize(("words", "first"), [("tpot", "time_per_output_token"), ("H100", "H100"), ("kv cache", "kv")])
def test_the_search(tab, lecture, words, first):
    visit(tab, lecture.as_uri())
    tab.get_by_label("Quantity, term or preset").fill(words)
    assert first in tab.locator("#search-results li").first.inner_text()
    tab.get_by_label("Quantity, term or preset").fill("nothing of the kind")
    assert "Nothing is called" in tab.locator("#search-count").inner_text()


@pytest.mark.parametrize(
    ("card", "guess"), [("F2", "0.3 ms"), ("F2", "50 ms"), ("F8", "2400"), ("F8", "5440 seq"), ("F20", "50")]
)
def test_flashcards_are_graded_as_in_python(tab, lecture, card, guess):
    visit(tab, lecture.as_uri())
    item = tab.locator(f"#card-{card}")
    item.locator("input").fill(guess)
    item.get_by_role("button", name="Check").click()
    expected = rs.flashcards().grade({card: guess if " " in guess else float(guess)})["verdict"][card]
    assert item.locator(".verdict").get_attribute("data-verdict") == expected
    item.locator("input").fill("no number")
    item.get_by_role("button", name="Check").click()
    assert item.locator(".verdict").get_attribute("data-verdict") == "unread"


def test_everyone_can_read_it(tab, lecture, audit):
    for scheme in ("light", "dark"):
        tab.emulate_media(color_scheme=scheme)
        for page in (lecture, lecture.parent / "chapter-1.html"):
            visit(tab, page.as_uri())
            tab.wait_for_timeout(400)
            assert audit(tab) == []
            assert tab.evaluate("document.documentElement.scrollWidth") <= 390


def test_the_report_links_what_is_written_in_its_folder(tmp_path):
    (tmp_path / "live").mkdir()
    assert "live/index.html" not in rs.lecture(tmp_path, chapter=7, progress=False).read_text(encoding="utf-8")
    (tmp_path / "live" / "index.html").write_text("pages", encoding="utf-8")
    assert 'href="live/index.html"' in rs.lecture(tmp_path, chapter=7, progress=False).read_text(encoding="utf-8")
