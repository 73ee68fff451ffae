"""The report: complete, self-contained, and readable.

Every number in it is the one that the package computes.
"""

import base64
import functools
import io
import itertools
import json
import re
import stat
from html.parser import HTMLParser
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import roofslate as rs
from roofslate import units
from roofslate.display import html as typesetting
from roofslate.lecture_report import chapters, report
from roofslate.lecture_report.entries import chapter_files
from roofslate.lecture_report.identities import repeats_symbol
from support.slices import every_third

pytestmark = pytest.mark.long  # all tests share a written page

CHAPTERS = chapter_files("report")
CHAPTER = 5  # the one that takes least
APART = {"br", "caption", "dd", "dt", "h1", "h2", "h3", "h4", "li", "p", "summary", "td", "th"}
VOID = {"br", "col", "hr", "img", "input", "link", "meta", "wbr"}


class Page(HTMLParser):
    """Tags of a page with their attributes and the text in them.

    Tags that do not match are an error.
    """

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

    @functools.cached_property
    def text(self):
        return re.sub(r"\s+", " ", "".join(self.words))


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """A report of the whole lecture, and the progress that it reported."""
    steps = []
    page = rs.lecture(
        tmp_path_factory.mktemp("report") / "lecture", progress=lambda done, total: steps.append((done, total))
    )
    return page, steps


@pytest.fixture(scope="module")
def page(written):
    return Page(written[0].read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """A report of one chapter."""
    return rs.lecture(tmp_path_factory.mktemp("alone"), chapter=CHAPTER)


def as_printed(words):
    """Words of the data as the page has them."""
    return re.sub(r"\s+", " ", Page(f"<p>{typesetting.marked(words)}</p>").text).strip()


# ---------------------------------------------------------------------------------------------------------- the page


def test_files(written):
    path, steps = written
    assert path.name == "index.html"
    assert path.is_file()
    folder = path.parent
    names = {file.name for file in folder.rglob("*") if file.is_file()}
    assert not [name for name in names if name.startswith(".")], "a temporary file was left"
    assert {path.stem for path in (folder / "charts").glob("*.svg")} == {
        p.stem for p in (folder / "charts").glob("*.png")
    }
    assert all(stat.S_IMODE(file.stat().st_mode) == 0o644 for file in folder.rglob("*.*"))
    assert [done for done, _ in steps] == list(range(1, steps[0][1] + 1))
    assert len({total for _, total in steps}) == 1


def test_every_chart_is_there(written, page):
    """The report has the charts of its chapters.

    The file of chapter 3 covers the fourth as well.
    """
    folder = written[0].parent
    included = set(CHAPTERS)
    included |= {4} if 3 in included else set()
    for chart in rs.charts.all():
        if chart.chapter not in included:
            continue
        assert (folder / "charts" / f"{chart.number}_{chart.name}.svg").stat().st_size > 1000
        assert (folder / "charts" / f"{chart.number}_{chart.name}.png").read_bytes().startswith(b"\x89PNG")
        assert any(image["alt"].startswith(f"{chart.title}.") for image in page.all("img"))
        assert f"rs.charts.{chart.name}()" in page.text


def test_contents_lead_to_every_chapter_and_register(page):
    links = {link["href"].removeprefix("#") for link in page.all("a")}
    for number, content in CHAPTERS.items():
        assert {f"chapter-{number}", f"chapter-{number}-answers"} <= links
        assert {section["id"] for section in content["section"]} <= links
    assert {"differences", "flashcards", "claims", "answers", "symbols", "sources"} <= links


def test_images(written, page):
    """Each is embedded in the page and described for those who do not see it.

    The bytes equal the file next to the page.
    """
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
        path, _, anchor = link["href"].partition("#")
        assert not re.match(r"\w+:", path)
        assert not path or (written[0].parent / path).is_file(), link
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
    assert len(page.all("h2")) == len(CHAPTERS) + 6
    assert all(below <= above + 1 for above, below in itertools.pairwise(levels))
    (html,) = page.all("html")
    assert html["lang"] == "en"


def test_text_is_finished(page):
    """No number is missing or undefined, and no text shows how the page was built."""
    assert not re.search(r"\{\w*\}|\bnan\b|\bNone\b|\binf (?!if)\b", page.text)
    assert not re.search(r"(?<![\w.])/(work|tmp|root|home)\b", page.text)
    assert "`" not in page.text


# ------------------------------------------------------------------------------------------------------- the numbers


def test_answers_are_the_table_of_the_package(written, page):
    answers = rs.answers()
    table = pd.read_csv(written[0].parent / "answers.csv", keep_default_na=False)
    assert list(table.columns) == list(answers.columns)
    assert [json.loads(text) for text in table.pop("inputs")] == answers.pop("inputs").tolist()
    pd.testing.assert_frame_equal(table, answers, check_exact=True)
    assert answers["system"].nunique() == 78
    assert f"{len(answers)} of {len(answers)} hold." in page.text
    for question in answers["question"]:
        assert as_printed(question) in page.text
    classes = [attrs.get("class") for attrs in page.all("td")]
    assert classes.count("holds") == len(answers)
    assert "fails" not in classes


def test_every_inconsistency_is_there_with_its_sides(page):
    register = rs.inconsistencies()
    ids = [attrs["id"] for tag, attrs in page.tags if tag == "h3" and re.fullmatch(r"I\d+", attrs.get("id", ""))]
    assert ids == [f"I{number}" for number in range(1, 46)]
    for row in register.itertuples():
        for words in (*row.claims, *row.computed, row.why):
            assert as_printed(words) in page.text
    quoted = [name for name, texts in register["computed"].items() if not texts]
    assert f"Of 45 entries, {45 - len(quoted)} are computed. {', '.join(quoted)} are only quoted" in page.text
    assert page.text.count(", computed Claims by source") == 45 - len(quoted)
    assert page.text.count(", quoted Claims by source") == len(quoted)


def test_every_flashcard_is_folded_with_its_answer(written):
    deck = rs.flashcards()
    cards = re.findall(r'<details class="card" id="(F\d+)">(.*?)</details>', written[0].read_text(), re.DOTALL)
    assert [name for name, _ in cards] == deck.index.tolist()
    assert len(cards) == 27
    for (_, inside), card in zip(cards, deck.itertuples(), strict=True):
        question, _, answer = inside.partition("</summary>")
        assert as_printed(card.question) in Page(question + "</summary>").text
        folded = Page(answer).text
        for words in (card.answer, *card.computed):
            assert as_printed(words) in folded


def test_every_claim_has_its_date_and_standing(page):
    for row in rs.claims().itertuples():
        for words in (row.claim[1:], row.standing[1:], *row.computed):
            assert as_printed(words) in page.text
    assert page.text.count("Standing, November 2026") == len(rs.claims())
    assert "29 April 2026." in page.text
    assert report._day("2026-05") == "May 2026"
    assert report._day("2026-04-09") == "9 April 2026"


BOARD = CHAPTERS[1]["case"]["board"]["inputs"]
ALL = {"expert_reads": "all"}
DEEPSEEK = {"model": "DeepSeek-V3", "hardware": "GB200 NVL72"}
KIMI = {"model": "Kimi-K2", "hardware": "GB200 NVL72", "prices": "GB200 NVL72 InferenceX TCO", **ALL}
LLAMA = {"model": "Llama-3.1-405B", "hardware": "HGX H200", **ALL}
SMALL = {"batch_size": 64, "context_length": "8k"}


def test_pictures_and_formulas_show_one_board(page):
    """The board of the first chapter's formulas is the one of the charts without inputs."""
    floor = rs.value("latency_floor", BOARD)
    cost = rs.value("cost_per_token", BOARD, batch_size=1, context_length="87.4k")
    latency = rs.charts.latency_vs_batch.data().attrs["marks"]
    assert floor == latency["latency_lower_bound"]
    assert rs.value("balance_batch", BOARD) == latency["balance_batch"]
    assert latency["context_length"] == 87_400
    assert rs.value("balance_batch_at_context", BOARD, context_length="87.4k") == pytest.approx(
        latency["crossing_batch"]
    )
    for value, unit in ((floor, "s"), (cost, "USD/token")):
        text = units.format(value, unit, 3).replace(" / ", "/")
        assert page.text.replace("\N{NO-BREAK SPACE}", " ").count(text) >= 2  # in the words, and in the tables


def test_formulas_say_more_than_their_symbol():
    """No side of an equation is repeated, and no number is its own result."""
    for content in CHAPTERS.values():
        writer = chapters.Writer(content, None, lambda: None)
        for section in [*content["section"], *content["left_out"]]:
            for block in section["block"]:
                for step in writer.make_formulas(block, {}).formulas if "formulas" in block else ():
                    assert step.numbers != step.result, step.name
                    symbol, _, expression = step.sides.partition(" = ")
                    assert not expression or not repeats_symbol(symbol, expression), step.name


def test_the_contents_explain_the_missing_chapter(written):
    contents = re.search(r"<nav.*?</nav>", written[0].read_text(encoding="utf-8"), re.DOTALL)[0]
    assert re.findall(r'href="#chapter-(\d+)">', contents) == ["1", "2", "3", "5", "6", "7"]
    assert "Chapter 3 contains the lecture’s chapters 3 and 4." in contents


@pytest.mark.parametrize(
    ("quantity", "inputs", "digits"),
    [
        ("pass_time", {**BOARD, "batch_size": 2400, "context_length": "87.4k"}, 4),
        ("pass_time", {**LLAMA, **SMALL}, 3),
        ("cost_per_token", {**KIMI, **SMALL}, 3),
        ("balance_batch", DEEPSEEK, 4),
        ("balance_context", LLAMA, 4),
        ("hbm_drain_time", {"hardware": "HGX H100"}, 3),
        ("full_memory_context", {"model": "Qwen3-235B-A22B", "hardware": "HGX H100", "batch_size": 64}, 3),
        ("speed_factor_at_price", {"price_factor": 6, "speed_factor": 2.5, "paid_price_factor": 100}, 3),
        ("fetched_weight_bytes", {**DEEPSEEK, "batch_size": 32}, 3),
        ("dense_equivalent_gain", {"active_parameters": 37e9, "experts": 64}, 3),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_numbers_are_those_of_value(page, quantity, inputs, digits):
    """Spot checks: what the page says is what the package computes, scaled for reading."""
    written = units.format(rs.value(quantity, inputs), rs.quantity(quantity).unit, digits)
    for short, word in {"M": " million", "G": " billion"}.items():
        written = written.replace(short, word) if rs.quantity(quantity).unit == "parameter" else written
    assert f" {written.replace(' / ', '/')} " in f" {page.text} ".replace("\N{NO-BREAK SPACE}", " ")


def test_prose_has_no_number_of_its_own():
    """Numbers in the words of a chapter are places that the report fills in."""
    for content in CHAPTERS.values():
        said = [content["lead"]]
        for section in [*content["section"], *content["left_out"]]:
            for block in section["block"]:
                said += [block.get("text", ""), block.get("caption", ""), block.get("title", "")]
                said += [part["label"] for key in ("columns", "rows") for part in block.get(key, [])]
        for words in said:
            plain = re.sub(r"\{[^}]*\}|\[[^]]*\]\([^)]*\)|`[^`]*`", "", words)
            plain = re.sub(r"\b(19|20)\d\d\b|[Cc]hapters? \d( and \d)?", "", plain)  # years, places in the lecture
            plain = re.sub(r"[A-Za-z][\w.-]*(?<=\w)|1F1B", "", plain)  # DeepSeek-V3, GB200
            assert not {number.rstrip(".,") for number in re.findall(r"\d[\d.,]*", plain)} - {"1"}, words


@pytest.mark.filterwarnings("ignore::roofslate.errors.DoesNotFit")  # the board explores points beyond memory
def test_calls_beneath_pictures_and_formulas_run(page):
    """The line of code that gives a picture or a derivation again is one."""
    calls = re.findall(
        r"rs\.(?:explain|charts\.\w+|plot)\((?:[^()]|\([^()]*\)|\((?:[^()]|\([^()]*\))*\))*\)", page.text
    )
    shown = page.text.count(" · SVG · PNG") + sum(attrs.get("class") == "formulas" for attrs in page.all("div"))
    assert len(calls) == shown
    from matplotlib import pyplot

    for call in calls:
        assert eval(call, {"rs": rs}) is not None
        pyplot.close("all")


# --------------------------------------------------------------------------------------------------------- the call


def test_same_page_again(alone, tmp_path):
    """The report depends on nothing but the package: no date, no random name."""
    again = rs.lecture(tmp_path / "again", chapter=CHAPTER)
    assert again.read_bytes() == alone.read_bytes()


def test_a_chapter_alone(written, alone):
    """It has its text, its answers and its differences, and every link has a target."""
    page, full_text = Page(alone.read_text(encoding="utf-8")), written[0].read_text(encoding="utf-8")
    ids = {attrs["id"] for _, attrs in page.tags if "id" in attrs}
    assert {link["href"][1:] for link in page.all("a") if link["href"].startswith("#")} <= ids
    assert {name for name in ids if re.fullmatch(r"I\d+", name)} == set(rs.inconsistencies(CHAPTER).index)
    assert not page.all("details")[0].get("class")
    assert "flashcards" not in ids
    assert len(pd.read_csv(alone.parent / "answers.csv")) == len(rs.answers(CHAPTER))
    drawn = {file.name: file.read_bytes() for file in (alone.parent / "charts").glob("*.svg")}
    assert drawn
    for image in page.all("img"):
        assert image["src"] in full_text


def test_pictures_of_one_name_do_not_overwrite_each_other(tmp_path):
    album = chapters.Album(tmp_path)
    assert [album.name("a", call) for call in ("f()", "g()", "f()", "h()")] == ["a", "a_2", "a", "a_3"]


def test_replaces_files_as_a_whole(tmp_path, monkeypatch):
    """The old file stays until the new one is complete, and nothing half-written is left."""
    file = tmp_path / "page"
    file.write_bytes(b"old")

    def broken(*_):
        raise OSError("disk full")

    monkeypatch.setattr(Path, "replace", broken)
    with pytest.raises(OSError, match="disk full"):
        chapters.write(file, b"new")
    assert file.read_bytes() == b"old"
    assert list(tmp_path.iterdir()) == [file]


def test_unknown_chapter(tmp_path):
    with pytest.raises(rs.errors.ValueRangeError, match=r"chapter must be one of 1.*, got 9"):
        rs.lecture(tmp_path / "out", chapter=9)
    assert not (tmp_path / "out").exists()


def test_leaves_the_settings_of_matplotlib():
    import matplotlib as mpl
    from matplotlib import pyplot

    before = dict(mpl.rcParams)
    typesetting.formula(r"a = \frac{b}{c}", "a test of settings")
    assert dict(mpl.rcParams) == before
    assert not pyplot.get_fignums()


@pytest.mark.parametrize("part", every_third(range(9)))
def test_every_formula_can_be_typeset(part):
    """Each symbol and each formula of the registry, so that a chapter may show any of them."""
    for name in rs.quantities().index[part::9]:
        q = rs.quantity(name)
        assert typesetting.formula(q.symbol, name).width > 0
        if q.latex and "cases" not in q.latex:
            assert typesetting.formula(q.latex, name).width > 0


def test_numbers_as_people_read_them():
    assert typesetting.scaled(1.1644e-3, "s") == "1.16\N{NO-BREAK SPACE}ms"
    assert typesetting.scaled(4.31e-8, "USD/token") == "$0.0431/Mtok"
    assert typesetting.scaled(671e9, "parameter") == "671\N{NO-BREAK SPACE}billion"
    assert typesetting.scaled(np.inf, "sequence") == "never"
    assert typesetting.plain_number(185_185_185.2) == "185,200,000"
    assert typesetting.plain_number(4.5e15) == "4.5\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10¹⁵"
    assert typesetting.marked('4.5e+15 of `a_b`, it\'s "so"') == (
        "4.5\N{NO-BREAK SPACE}×\N{NO-BREAK SPACE}10¹⁵ of <code>a_b</code>, it’s “so”"
    )
    assert typesetting.marked("a < b, see [I18](#I18)") == 'a &lt; b, see <a href="#I18">I18</a>'


# ------------------------------------------------------------------------------------------------------- the browser


@pytest.mark.slow
@pytest.mark.parametrize(
    ("width", "height"),
    [(1366, 900), (820, 1180), (390, 844), (360, 740), (320, 640)],
    ids=["desktop", "tablet", "phone", "narrow phone", "small phone"],
)
def test_in_a_browser(written, browser, audit, width, height):
    """No error, no network request, no part wider than the screen, and no illegible text."""
    page = browser.new_page(viewport={"width": width, "height": height})
    trouble = []
    page.on("console", lambda message: trouble.append(message.text))
    page.on("pageerror", lambda error: trouble.append(str(error)))
    page.on("request", lambda request: trouble.extend([request.url] * (not request.url.startswith(("file:", "data:")))))
    page.goto(written[0].as_uri())
    assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert audit(page) == []
    page.emulate_media(color_scheme="dark")
    assert audit(page) == []
    page.close()
    assert not trouble


@pytest.mark.slow
def test_cards_open_without_script_and_are_printed_open(written, browser):
    page = browser.new_context(java_script_enabled=False).new_page()
    page.goto(written[0].as_uri())
    answer = page.locator("#F2 .answer")
    assert not answer.is_visible()
    page.locator("#F2 summary").click()
    assert answer.is_visible()
    page.locator("#F2 summary").click()
    page.emulate_media(media="print")
    answers = page.locator(".card .answer")
    assert answers.count() == 27
    assert all(answers.nth(k).is_visible() for k in range(27))
    page.context.close()


@pytest.mark.slow
def test_prints_on_paper(written, browser):
    """A page for each chapter and register at least, and nothing wider than the paper."""
    page = browser.new_page(viewport={"width": 680, "height": 960})  # A4 between its margins
    page.goto(written[0].as_uri())
    page.emulate_media(media="print")
    assert page.evaluate("document.documentElement.scrollWidth") <= 680
    pdf = page.pdf(prefer_css_page_size=True)
    page.close()
    assert pdf.startswith(b"%PDF")
    assert len(re.findall(rb"/Type\s*/Page\b", pdf)) > 6 + 2 * len(CHAPTERS)


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
