"""The documentation site: builds, works offline from a folder, and is accessible."""

import html
import importlib.util
import re
import subprocess
import sys
import urllib.parse

import pytest
from roofslate.plotting.pages.calculators import calculator_names
from roofslate.registry.registry import entries
from support import ROOT

sys.path.append(str(ROOT / "docs"))
import live_pages

pytestmark = [pytest.mark.slow, pytest.mark.long]  # all tests share the built pages

SIZES = {"desktop": (1366, 900), "phone": (360, 740)}


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Build the site by `make docs` with warnings as errors, all references and charts."""
    missing = [name for name in ("sphinx", "myst_parser", "furo") if importlib.util.find_spec(name) is None]
    if missing:
        pytest.skip(f"{', '.join(missing)} not installed: pip install 'roofslate[dev]'")
    folder = tmp_path_factory.mktemp("site")
    command = [sys.executable, "-m", "sphinx", "-W", "--keep-going", "-q", "-j", "auto", "-d", str(folder / "trees")]
    command += [str(ROOT / "docs"), str(folder / "pages")]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    return folder / "pages"


@pytest.fixture
def page(watched_page):
    return watched_page


def test_the_audit_finds_what_is_wrong(page, audit):
    """One page without a fault, and one with each."""
    frame = "<!doctype html><html{}><head><title>{}</title></head><body>{}</body></html>"
    good = "<h1>a</h1><h2>b</h2><p>c</p><table><tr><th>d</th></tr></table><a href='#'>e</a>"
    page.set_content(frame.format(" lang=en", "f", good))
    assert audit(page) == []
    faults = {
        "contrast": "<p style='color: #777; background: #eee'>c</p>",
        "contrast of 1": "<p style='opacity: 0.1'>c</p>",
        "no alternative text": "<img src='data:,'>",
        "no header cells": "<table><tr><td>d</td></tr></table>",
        "a header cell without words": "<table><tr><th> </th></tr></table>",
        "an element has no name": "<button></button>",
        "not one heading": "<h1>g</h1>",
        "a level of headings": "<h4>g</h4>",
    }
    for complaint, part in faults.items():
        page.set_content(frame.format(" lang=en", "f", good + part))
        assert any(line.startswith(complaint) for line in audit(page)), complaint
    page.set_content(frame.format("", "", good))
    assert audit(page) == ["the language is missing", "the page has no title"]


def test_each_page_is_built(site):
    """No page of `docs/` is left out."""
    pages = {path.relative_to(ROOT / "docs").with_suffix(".html") for path in ROOT.glob("docs/**/*.md")}
    assert {path for path in pages if not (site / path).is_file()} == set()


def test_links_lead_to_a_page_and_a_place_in_it(site):
    """Those that Sphinx makes too: menus, needs of quantities, pictures, styles."""
    texts = {path: path.read_text(encoding="utf-8") for path in site.rglob("*.html")}
    ids = {path: set(map(html.unescape, re.findall(r'\bid="([^"]+)"', text))) for path, text in texts.items()}
    for path, text in texts.items():  # a live page opens a chart by its name
        ids[path] |= {f"chart={name}" for name in re.findall(r'\bdata-chart="(\w+)"', text)}
    lost = set()
    for path, text in texts.items():
        for link in re.findall(r'\b(?:href|src)="([^"]*)"', text):
            if re.match(r"\w+:", link):
                continue
            page, anchor = urllib.parse.urldefrag(urllib.parse.unquote(html.unescape(link)))
            target = (path.parent / page.partition("?")[0]).resolve() if page else path
            if not target.is_file() or (anchor and anchor not in ids.get(target, {anchor})):
                lost.add((str(path.relative_to(site)), link))
    assert not lost


def test_the_live_lecture_is_a_part(site, page):
    """Live pages are linked, start silently and share scripts and engine.

    A site built without the engine has a sentence in their place.
    """
    live = site / "live"
    readers = [(site / name).read_text(encoding="utf-8") for name in ("index.html", "readers/teach.html")]
    if not live_pages.can_be_written():
        assert all("built without the engine for browsers" in text for text in readers)
        assert not live.exists()
        return
    files = sorted(live.glob("*.html"))
    assert {path.stem for path in files} > {"index", *calculator_names()}
    for path in files:
        assert all(f'live/{path.name}"' in text for text in readers), path.name
        page.goto(path.as_uri())
        page.wait_for_selector("html[data-ready=true]", state="attached", timeout=20_000)
        assert not page.trouble, path.name
        navigation = page.get_by_role("navigation", name="Pages").get_by_role("link").all_inner_texts()
        assert navigation == ["Documentation", *(["All chapters"] if path.stem != "index" else [])]
    assert sum(path.stat().st_size for path in live.iterdir()) < 8e6
    charts = (site / "reference" / "charts.html").read_text(encoding="utf-8")
    assert 'href="../live/chapter-1.html#chart=latency_vs_batch"' in charts


def test_a_build_without_the_engine_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(live_pages, "PACKAGE", tmp_path)
    text = live_pages.linked("index", (ROOT / "docs" / "index.md").read_text(encoding="utf-8"), tmp_path)
    assert "built without the engine for browsers" in text
    assert live_pages.MARKER not in text
    assert live_pages.chart_links(tmp_path) == {}
    with pytest.raises(ValueError, match="expected '<!-- live pages -->'"):
        live_pages.linked("index", "no place", tmp_path)


def test_formulas_are_drawn_by_the_browser_itself(site):
    """Each formula of the reference as MathML, none as the LaTeX that it was written in."""
    text = (site / "reference" / "quantities" / "serving.html").read_text(encoding="utf-8")
    assert text.count('<math display="block">') > 10
    for path in site.rglob("*.html"):
        assert not re.search(r"<mtext>[^<]*\\|<script[^>]*mathjax", path.read_text(encoding="utf-8")), path


def test_the_reference_has_an_example_of_each_quantity(site):
    """Every computed quantity has a page, with a plot unless it is a choice or fixed."""
    texts = [path.read_text(encoding="utf-8") for path in (site / "reference" / "quantities").glob("*.html")]
    computed = sum(q.computed for q in entries().values())
    assert sum(text.count("<p>By hand: ") for text in texts) == computed
    assert sum(text.count('<figure class="plot">') for text in texts) > 0.95 * computed


@pytest.mark.long
def test_pages_in_a_browser(site, page, audit):
    """On desktop and phone, light and dark: no error, no overflow, all of it readable."""
    wrong = []
    for path in sorted(site.rglob("*.html")):
        name = path.relative_to(site)
        for scheme in ("light", "dark"):
            for screen, (width, height) in SIZES.items():
                page.emulate_media(color_scheme=scheme)
                page.set_viewport_size({"width": width, "height": height})
                if (scheme, screen) == ("light", "desktop"):
                    page.goto(path.as_uri())
                if page.evaluate("document.documentElement.scrollWidth") > width:
                    wrong.append(f"{name}, {screen}: wider than the screen")
                if (scheme, screen) != ("dark", "desktop"):  # which has no colour that the others have not
                    wrong += [f"{name}, {scheme}, {screen}: {complaint}" for complaint in audit(page)]
        wrong += [f"{name}: {text}" for text in page.trouble]
        page.trouble.clear()
    wrong = [line for line in wrong if not re.match(r"search.html.*not one heading", line)]  # made when one searches
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize(
    ("words", "address"),
    [
        ("hbm_drain_time", "reference/quantities/hardware.html"),
        ("time to drain the memory", "reference/sources.html"),
        ("config.json", "how-to/add-a-chip-or-a-model.html"),
        ("calibrate measurements", "how-to/calibrate-to-your-measurements.html"),
        ("distributed cluster", "how-to/use-many-machines.html"),
        ("overtraining", "reference/charts.html"),
    ],
)
def test_search_works_without_a_server(site, page, words, address):
    """Typed into the field of a page that was opened as a file."""
    page.goto((site / "index.html").as_uri())
    page.get_by_role("textbox", name="Search").first.fill(words)
    page.keyboard.press("Enter")
    page.locator("#search-results li a").first.wait_for()
    page.locator(".search-summary", has_text="finished").or_(
        page.locator("#search-results p", has_text="found")
    ).wait_for()
    hits = page.locator("#search-results li a").evaluate_all("links => links.map(link => link.href)")
    assert any(address in hit for hit in hits), hits
    page.goto(hits[0])
    assert page.locator("h1").count() == 1
    assert not page.trouble
