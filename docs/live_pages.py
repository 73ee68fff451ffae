"""The lecture, live, in the site: written while it is built, if the build has the engine for browsers."""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import roofslate

PACKAGE = Path(roofslate.__file__).parent
MARKER = "<!-- live pages -->"  # where a page tells of them
HOME = ("../index.html", "Documentation")
WITHOUT = (
    "This site was built without the engine for browsers, so it has no live pages. To add them, run `make wasm` and "
    "then `make docs`."
)


def can_be_written() -> bool:
    """Return True if the build has the engine, and Bokeh is installed."""
    return (PACKAGE / "web" / "engine.wasm").is_file() and importlib.util.find_spec("bokeh") is not None


def write_pages(site: Path) -> None:
    """Write the lecture, live, into the site, unless nothing of the package is newer."""
    from roofslate.lecture_report.live import live_lecture

    landing = site / "live" / "index.html"
    made = landing.stat().st_mtime if landing.is_file() else 0.0
    parts = (path for path in PACKAGE.rglob("*") if path.is_file() and "__pycache__" not in path.parts)
    if any(path.stat().st_mtime > made for path in parts):
        live_lecture(landing.parent, shared=True, links=[HOME])


def chart_links(site: Path) -> dict[str, str]:
    """Return the addresses of all charts that have a live page, by name, from the root of the site."""
    if not can_be_written():
        return {}
    text = (site / "live" / "index.html").read_text(encoding="utf-8")
    return {name: f"live/{href}" for href, name in re.findall(r'href="(chapter-\d\.html#chart=(\w+))"', text)}


def linked(docname: str, source: str, site: Path) -> str:
    """Return the text of a page with links to the live pages, or with why there are none."""
    if MARKER not in source:
        raise ValueError(f"{docname}: expected {MARKER!r}, the place of the links to the live pages")
    if not can_be_written():
        return source.replace(MARKER, WITHOUT)
    text = (site / "live" / "index.html").read_text(encoding="utf-8")
    folder = "../" * docname.count("/") + "live"
    chapters = re.findall(r'<a href="(chapter-\d\.html)">([^<]+)</a>', text)
    calculators = re.findall(r'<a href="([a-z-]+\.html)">([^<]+)</a>', text)
    lines = [
        f"- {_link(folder, 'index.html', 'The lecture, live')}: search, flashcards that the page grades",
        f"- By chapter: {', '.join(_link(folder, *one) for one in chapters)}",
        f"- Calculators: {', '.join(_link(folder, *one) for one in calculators)}",
    ]
    return source.replace(MARKER, "\n".join(lines))


def _link(folder: str, href: str, words: str) -> str:
    return f'<a href="{folder}/{href}">{words}</a>'
