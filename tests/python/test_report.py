"""The report: whole, self-contained, readable, and every number in it the one that the package computes."""

import base64
import importlib.util
import io
import itertools
import json
import re
import shutil
import stat
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate import report, units

APART = {"br", "caption", "dd", "dt", "h1", "h2", "h3", "h4", "li", "p", "td", "th"}
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}


class Page(HTMLParser):
    """Tags of a page with their attributes and the text in them; an error where tags do not match."""

    def __init__(self, text):
        super().__init__(convert_charrefs=True)
        self.open, self.tags, self.words = [], [], []
        self.feed(text)
        self.close()
        assert not self.open

    def handle_starttag(self, tag, attrs):
        assert len(dict(attrs)) == len(attrs), (tag, attrs)
        self.tags.append((tag, dict(attrs)))
        if tag in APART:
            self.words.append(" ")
        if tag not in VOID:
            self.open.append(tag)

    def handle_endtag(self, tag):
        assert self.open, f"</{tag}> closes nothing"
        assert self.open.pop() == tag

    def handle_data(self, data):
        if "style" not in self.open:
            self.words.append(data)

    def all(self, tag):
        return [attrs for name, attrs in self.tags if name == tag]

    @property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A report of the whole lecture, and the progress that it told."""
    told = []
    page = rs.lecture(
        tmp_path_factory.mktemp("report") / "lecture", progress=lambda done, total: told.append((done, total))
    )
    return page, told


@pytest.fixture(scope="module")
def page(written):
    return Page(written[0].read_text(encoding="utf-8"))


# ---------------------------------------------------------------------------------------------------------- the page


def test_files(written):
    path, told = written
    assert path.name == "index.html"
    assert path.is_file()
    folder = path.parent
    names = {file.name for file in folder.rglob("*") if file.is_file()}
    assert not [name for name in names if name.startswith(".")], "a temporary file was left"
    assert {path.stem for path in (folder / "charts").glob("*.svg")} == {
        p.stem for p in (folder / "charts").glob("*.png")
    }
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o644 for file in folder.rglob("*.*"))
    assert [done for done, _ in told] == list(range(1, told[0][1] + 1))
    assert len({total for _, total in told}) == 1


def test_every_chart_is_there(written, page):
    folder = written[0].parent
    for chart in rs.charts.all():
        assert (folder / "charts" / f"{chart.number}_{chart.name}.svg").stat().st_size > 1000
        assert (folder / "charts" / f"{chart.number}_{chart.name}.png").read_bytes().startswith(b"\x89PNG")
        assert any(image["alt"].startswith(f"{chart.title}.") for image in page.all("img"))
        assert f"rs.charts.{chart.name}()" in page.text


def test_images(written, page):
    """Each has its bytes in the page, words for those who do not see it, and is the file beside the page."""
    embedded = set()
    for image in page.all("img"):
        assert image["alt"].strip()
        kind, _, content = image["src"].partition(",")
        assert kind == "data:image/svg+xml;base64"
        svg = base64.b64decode(content, validate=True)
        assert b"<svg" in svg
        assert b"<script" not in svg
        embedded.add(svg)
    for file in (written[0].parent / "charts").glob("*.svg"):
        assert file.read_bytes() in embedded


def test_stands_alone(written, page):
    """No script, nothing fetched from elsewhere, and what it links to is there."""
    names = {tag for tag, _ in page.tags}
    assert not names & {"script", "iframe", "object", "embed", "form"}
    assert not [key for _, attrs in page.tags for key in attrs if key.startswith("on")]
    text = written[0].read_text(encoding="utf-8")
    assert not re.search(r"@import|url\(", text)
    assert all(link["href"] == "data:," for link in page.all("link"))
    ids = [attrs["id"] for _, attrs in page.tags if "id" in attrs]
    assert len(set(ids)) == len(ids)
    for link in page.all("a"):
        place, _, anchor = link["href"].partition("#")
        assert not re.match(r"\w+:", place)
        assert not place or (written[0].parent / place).is_file(), link
        assert not anchor or anchor in ids, link
    for _, attrs in page.tags:
        for name in attrs.get("aria-labelledby", "").split():
            assert name in ids


def test_tables_and_headings(page):
    assert all(cell.get("scope") in ("row", "col") for cell in page.all("th"))
    assert len(page.all("caption")) == len(page.all("table"))
    levels = [int(tag[1]) for tag, _ in page.tags if re.fullmatch(r"h\d", tag)]
    assert levels[0] == 1
    assert levels.count(1) == 1
    assert all(below <= above + 1 for above, below in itertools.pairwise(levels))
    (html,) = page.all("html")
    assert html["lang"] == "en"


def test_text_is_finished(page):
    """No place for a number is left open, no number is undefined, and nothing tells how the page came about."""
    assert not re.search(r"\{\w*\}|\bnan\b|\bNone\b|\binf \b", page.text)
    assert not re.search(r"(?<![\w.])/(work|tmp|root|home)\b", page.text)
    assert "`" not in page.text


# ------------------------------------------------------------------------------------------------------- the numbers


def test_answers_are_the_table_of_the_package(written, page):
    answers = rs.answers(chapter=1)
    table = pd.read_csv(written[0].parent / "answers.csv", keep_default_na=False)
    assert list(table.columns) == list(answers.columns)
    assert [json.loads(text) for text in table.pop("inputs")] == answers.pop("inputs").tolist()
    pd.testing.assert_frame_equal(table, answers, check_exact=True)
    assert f"{len(answers)} of {len(answers)} hold." in page.text
    for question in answers["question"]:
        assert question.replace("'", "\N{RIGHT SINGLE QUOTATION MARK}").split("e9")[0] in page.text


def test_inconsistencies_are_all_there(page):
    ids = {attrs["id"] for tag, attrs in page.tags if tag == "h4" and "id" in attrs}
    register = rs.inconsistencies(chapter=1)
    assert set(register.index) <= ids
    for values in register["values"]:
        assert len(values) > 0


BOARD = {"model": "DeepSeek-V3 (lecture)", "hardware": "BW72 (lecture)"}
DEEPSEEK = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72"}
KIMI = {"model": "Kimi-K2", "hardware": "GB200 NVL72", "prices": "GB200 NVL72 InferenceX TCO"}
LLAMA = {"model": "Llama-3.1-405B", "hardware": "HGX H200"}
SMALL = {"batch_size": 64, "context_length": "8k"}


@pytest.mark.parametrize(
    ("quantity", "inputs", "digits"),
    [
        ("pass_time", {**BOARD, "batch_size": 2400, "context_length": "10k"}, 4),
        ("pass_time", {**LLAMA, **SMALL}, 3),
        ("cost_per_token", {**KIMI, **SMALL}, 3),
        ("balance_batch", DEEPSEEK, 4),
        ("balance_context", LLAMA, 4),
        ("hbm_drain_time", {"hardware": "HGX H100"}, 3),
        ("full_memory_context", {"model": "Qwen3-235B-A22B", "hardware": "HGX H100", "batch_size": 64}, 3),
        ("speed_factor_at_price", {"price_factor": 6, "speed_factor": 2.5, "paid_price_factor": 100}, 3),
        ("touched_parameters", {**DEEPSEEK, "batch_size": 32}, 3),
        ("dense_equivalent_gain", {"active_parameters": 37e9, "experts": 64}, 3),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_numbers_are_those_of_value(page, quantity, inputs, digits):
    """Spot checks: what the page says is what the package computes, scaled for reading."""
    written = units.format(rs.value(quantity, **inputs), rs.quantity(quantity).unit, digits)
    for short, word in {"M": " million", "G": " billion"}.items():
        written = written.replace(short, word) if rs.quantity(quantity).unit == "parameter" else written
    assert f" {written.replace(' / ', '/')} " in f" {page.text} ".replace("\N{NO-BREAK SPACE}", " ")


def test_prose_has_no_number_of_its_own():
    """Numbers in the words of a chapter are places that the report fills in."""
    for content in report._chapter_files().values():
        said = [content["lead"]]
        for section in [*content["section"], *content["left_out"]]:
            for block in section["block"]:
                said += [block.get("text", ""), block.get("caption", ""), block.get("title", "")]
                said += [part["label"] for key in ("columns", "rows") for part in block.get(key, [])]
        for words in said:
            plain = re.sub(r"\{[^}]*\}|\[[^]]*\]\([^)]*\)|`[^`]*`", "", words)
            plain = re.sub(r"[A-Za-z][\w.-]*(?<=\w)", "", plain)  # DeepSeek-V3, GB200
            assert not set(re.findall(r"\d[\d.,]*", plain)) - {"1", "2022", "2022.", "2025", "3.1-405"}, words


def test_calls_beneath_pictures_and_formulas_run(page):
    """The line of code that gives a picture or a derivation again is one."""
    calls = re.findall(
        r"rs\.(?:explain|charts\.\w+|plot)\((?:[^()]|\([^()]*\)|\((?:[^()]|\([^()]*\))*\))*\)", page.text
    )
    assert len(calls) >= len(rs.charts.all()) + 5
    from matplotlib import pyplot

    for call in calls:
        assert eval(call, {"rs": rs}) is not None
        pyplot.close("all")


# --------------------------------------------------------------------------------------------------------- the call


def test_same_page_again(written, tmp_path):
    """The report depends on nothing but the package: no date, no random name."""
    again = rs.lecture(tmp_path / "again", chapter=1)
    assert again.read_bytes() == written[0].read_bytes()


def test_replaces_files_as_a_whole(tmp_path, monkeypatch):
    """What was there stays until the new file is complete, and nothing half-written is left."""
    file = tmp_path / "page"
    file.write_bytes(b"old")

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        report._write(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_unknown_chapter(tmp_path):
    with pytest.raises(rs.errors.ValueRangeError, match="chapter must be one of 1, got 9"):
        rs.lecture(tmp_path / "out", chapter=9)
    assert not (tmp_path / "out").exists()


def test_leaves_the_settings_of_matplotlib():
    import matplotlib as mpl
    from matplotlib import pyplot

    before = dict(mpl.rcParams)
    report._formula(r"a = \frac{b}{c}", "a test of settings")
    assert dict(mpl.rcParams) == before
    assert not pyplot.get_fignums()


def test_every_formula_can_be_typeset():
    """Each symbol and each formula of the registry, so that a chapter may show any of them."""
    for name in rs.quantities().index:
        q = rs.quantity(name)
        assert report._formula(q.symbol, name).width > 0
        if q.latex and "cases" not in q.latex:
            assert report._formula(q.latex, name).width > 0


def test_numbers_as_people_read_them():
    assert report._scaled(1.1644e-3, "s") == "1.16\N{NO-BREAK SPACE}ms"
    assert report._scaled(4.31e-8, "USD/token") == "$0.0431/Mtok"
    assert report._scaled(671e9, "parameter") == "671\N{NO-BREAK SPACE}billion"
    assert report._scaled(np.inf, "sequence") == "never"
    assert report._plain_number(185_185_185.2) == "185,200,000"
    assert report._plain_number(4.5e15) == "4.5\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10¹⁵"
    assert report._marked('4.5e+15 of `a_b`, it\'s "so"') == (
        "4.5\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10¹⁵ of <code>a_b</code>, it’s “so”"
    )
    assert report._marked("a < b, see [I18](#I18)") == 'a &lt; b, see <a href="#I18">I18</a>'


# ------------------------------------------------------------------------------------------------------- the browser


@pytest.fixture(scope="module")
def browser():
    """A real browser without a window."""
    if importlib.util.find_spec("playwright") is None:
        pytest.skip("playwright is not installed: pip install playwright")
    program = shutil.which("chromium") or shutil.which("google-chrome") or shutil.which("chromium-browser")
    if program is None:
        pytest.skip("no Chromium was found: apt-get install chromium")
    from playwright.sync_api import sync_playwright

    with sync_playwright() as driver:
        opened = driver.chromium.launch(executable_path=program, args=["--no-sandbox"])
        yield opened
        opened.close()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "height"),
    [(1366, 900), (820, 1180), (390, 844), (320, 640)],
    ids=["desktop", "tablet", "phone", "small phone"],
)
def test_in_a_browser(written, browser, width, height):
    """No error, no missing picture, nothing asked of the network, and no part wider than the screen."""
    page = browser.new_page(viewport={"width": width, "height": height})
    trouble = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: trouble.extend([request.url] * (not request.url.startswith(("file:", "data:")))))
    page.goto(written[0].as_uri())
    assert page.evaluate("[...document.images].every(image => image.complete && image.naturalWidth > 0)")
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    page.close()
    assert not trouble


@pytest.mark.slow
def test_looks_like_a_page(written, browser):
    """The first screen has ink on it, in the middle too, and text is dark on light."""
    from matplotlib import image

    page = browser.new_page(viewport={"width": 1366, "height": 900})
    page.goto(written[0].as_uri())
    pixels = image.imread(io.BytesIO(page.screenshot()), format="png")[..., :3]
    page.close()
    assert pixels.mean() > 0.8
    assert pixels[:, 500:1200].min() < 0.2
