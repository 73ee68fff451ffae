"""README, CONTRIBUTING and docs: code shows the page's output, and links have targets."""

import re
import sys

import pytest
from page_code import CHECK, LOOSE, PAGES, executable, outputs, page_id, reader
from support import ROOT
from support.checks import cases

sys.path.append(str(ROOT / "docs"))
import quantity_pages

LINK = re.compile(r"\[[^\]\n]*\]\(([^)\s]+)\)")


# Examples of recipes work in a copy of the tree: tests/rules/test_recipes.py carries them out.
@pytest.mark.parametrize("path", [path for path in PAGES if executable(path)], ids=page_id)
@pytest.mark.each
def test_code_of_page(path, tmp_path):
    """Every block runs in page order in one namespace and shows the page's output."""
    with reader(tmp_path):
        for code, shown, came in outputs(path):
            if shown is not None and not CHECK.check_output(shown, came, LOOSE):
                pytest.fail(f"{code}\nshows\n{came}\nand the page says\n{shown}", pytrace=False)


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_tables_have_header_cells(path):
    """Screen readers name a column by its header."""
    check_tables(path, path.read_text(encoding="utf-8"))


def check_tables(path, text):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for head in re.findall(r"^\|(.*)\|\n\|[\s:|-]+\|$", text, flags=re.MULTILINE):
        assert all(cell.strip() for cell in head.split("|")), f"{page_id(path)}: a column without a name in |{head}|"


@pytest.fixture(scope="module")
def generated():
    """Pages that are written while the site is built, by their path."""
    return {quantity_pages.FOLDER / name: text for name, text in quantity_pages.quantity_pages().items()}


def slugs(text):
    """Anchors of a page's headings, as GitHub and MyST make them."""
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    headings = re.findall(r"^#+ (.+)$", text, flags=re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("path", PAGES, ids=page_id)
def test_links_of_page(path, generated):
    """Links inside the project lead to a file that is there, and to a heading of it."""
    check_links(path, path.read_text(encoding="utf-8"), generated)


def test_generated_pages(generated):
    """Their tables and links are like a written page's."""
    anchors = {path: slugs(text) for path, text in generated.items()}
    with cases() as case:
        for path, text in generated.items():
            with case(page_id(path)):
                check_tables(path, text)
                check_links(path, text, generated, anchors)


def check_links(path, text, generated, anchors=None):
    text = re.sub(r"^```.*?^```$", "", text, flags=re.MULTILINE | re.DOTALL)
    for link in LINK.findall(text):
        if re.match(r"[a-z]+:", link):
            continue
        page, _, anchor = link.partition("#")
        target = (path.parent / page).resolve() if page else path
        assert target in generated or target.exists(), f"{page_id(path)} links to {link}, which is not there"
        if anchor:
            known = (anchors or {}).get(target)
            headings = known or slugs(generated.get(target) or target.read_text(encoding="utf-8"))
            assert anchor in headings, f"{page_id(path)} links to {link}; {page} has no such heading"


def test_pages_on_github_link_to_what_is_checked_in(generated):
    """README and CONTRIBUTING are read where no site is built."""
    for path in ROOT.glob("*.md"):
        links = LINK.findall(path.read_text(encoding="utf-8"))
        assert not [link for link in links if (ROOT / link.partition("#")[0]).resolve() in generated]


def test_sources_of_the_registry_are_explained():
    """The page of sources has each section that a quantity names as its source."""
    from roofslate.registry.registry import entries

    page = (ROOT / "docs/reference/sources.md").read_text(encoding="utf-8")
    named = {q.source for q in entries().values() if re.fullmatch(r"[RQ]\d[\d.]*", q.source)}
    assert not {source for source in named if f"| {source} |" not in page}


def test_pages_name_no_machine():
    """The text speaks only of the project."""
    for path in PAGES:
        text = path.read_text(encoding="utf-8")
        assert not re.search(r"(?<![\w.])/(work|tmp|root|home)\b", text), page_id(path)


@pytest.mark.parametrize("page", PAGES, ids=page_id)
def test_no_output_is_empty(page):
    """A block that shows nothing is compared with nothing."""
    assert "```text\n```" not in page.read_text(encoding="utf-8")
