"""The lecture, live: pages by chapter, a search, and graded flashcards."""

from __future__ import annotations

import math
from pathlib import Path
from typing import TYPE_CHECKING, Any

from roofslate import units
from roofslate._base.files import write
from roofslate._base.toml import read_data
from roofslate._base.version import __version__
from roofslate.errors import MissingInput
from roofslate.lecture_report import charts
from roofslate.lecture_report.entries import chapters_of, listed
from roofslate.measured.stored import compute
from roofslate.plotting.pages.calculators import calculator_names, calculator_view
from roofslate.plotting.pages.landing import landing_page
from roofslate.plotting.pages.page import Page, engine_files, write_shared
from roofslate.plotting.pages.traced import chart_view
from roofslate.plotting.pages.view import view_of
from roofslate.presets.lookup import PRESETS
from roofslate.registry.aliases import aliases
from roofslate.registry.registry import entries, lookup

if TYPE_CHECKING:
    import os
    from collections.abc import Iterable, Mapping, Sequence

    from roofslate.plotting.chart import Chart
    from roofslate.plotting.pages.view import View

__all__ = ["live_lecture", "live_view"]

_HOME = ("index.html", "All chapters")
_LIVE = Path(__file__).with_name("data") / "live.toml"


def live_view(chart: Chart) -> View:
    """Make the view of a chart: by its entry in ``live.toml``, otherwise from its evaluations.

    Raises
    ------
    MissingInput
        If the engine computes none of the chart's numbers.
    """
    entry = read_data(_LIVE).get(chart.name)
    if entry is None:
        return chart_view(chart)
    return view_of(
        entry["outputs"],
        entry["inputs"],
        name=chart.name,
        title=chart.subject,
        brief=chart.brief,
        fixed=entry.get("fixed"),
        groups=entry.get("groups"),
        axis=entry.get("axis"),
        estimate=entry.get("estimate", False),
    )


def live_lecture(
    out: str | os.PathLike[str] = "lecture-live", *, shared: bool = False, links: Sequence[tuple[str, str]] = ()
) -> Path:
    """Write the charts with sliders as pages by chapter, calculators, and a landing page.

    Parameters
    ----------
    out : path-like
        Folder, created if missing. Files of the same names are replaced, each in one step.
    shared : bool
        Pages load the engine and scripts from the folder, for a site. Otherwise each page is complete.
    links : list of tuple
        Address and words of more links at the top of each page.

    Returns
    -------
    pathlib.Path
        The landing page, ``index.html``: search over quantities and presets, and flashcards that it grades.

    Raises
    ------
    RoofslateError
        If this build has no engine for browsers.

    Examples
    --------
    >>> import roofslate as rs
    >>> from roofslate.lecture_report.live import live_lecture
    >>> page = live_lecture("build/live")  # doctest: +SKIP
    """
    engine_files()
    folder = Path(out)
    folder.mkdir(parents=True, exist_ok=True)
    if shared:
        write_shared(folder)
    navigation = [*links, _HOME]
    chapters: list[dict[str, Any]] = []
    places: dict[str, list[tuple[str, str]]] = {}
    for content in chapters_of("report", None):
        views = list(_views(content["chapter"]))
        if not views:
            continue
        href = f"chapter-{content['chapter']}.html"
        title = f"{content['chapter']}. {content['title']}"
        page = Page(views, title=title, brief="Move the sliders. Every number is computed here.", links=navigation)
        write(folder / href, page.to_html(shared=shared).encode())
        charts = [(f"{href}#chart={view.name}", view.title) for view in views]
        chapters.append({"href": href, "title": title, "charts": charts})
        for view, (link, words) in zip(views, charts, strict=True):
            for name in view.outputs:
                places.setdefault(name, []).append((link, words))
    calculators = []
    for name, title in calculator_names().items():
        view = calculator_view(name)
        write(folder / f"{name}.html", Page([view], links=navigation).to_html(shared=shared).encode())
        calculators.append((f"{name}.html", title))
        for output in view.outputs:
            places.setdefault(output, []).append((f"{name}.html", title))
    data = {"quantities": _quantities(places), "presets": _presets(), "cards": _cards()}
    write(folder / "index.html", landing_page(chapters, calculators, data, __version__, links).encode())
    return folder / "index.html"


def _views(chapter: int) -> Iterable[View]:
    """Yield the views of a chapter's charts with sliders."""
    for chart in charts.all():
        if chart.chapter == chapter and chart.input_names:
            try:
                yield live_view(chart)
            except MissingInput:  # simulated schedules and ciphers
                continue


def _quantities(places: Mapping[str, list[tuple[str, str]]]) -> list[dict[str, Any]]:
    terms = aliases()
    return [
        {
            "name": name,
            "brief": q.brief,
            "unit": "" if q.unit == "1" else q.unit,
            "aliases": list(terms.get(name, ())),
            "places": places.get(name, []),
        }
        for name, q in entries().items()
    ]


def _presets() -> list[dict[str, Any]]:
    rows = []
    for keyword, catalog in PRESETS.items():
        for name, preset in catalog.items():
            numbers = [
                f"{quantity} {x if isinstance(x, str) else units.format(x, lookup(quantity).unit)}"
                for quantity, x in preset.values.items()
                if quantity in entries()
            ]
            rows.append({"name": name, "keyword": keyword, "date": preset.date or "", "numbers": ", ".join(numbers)})
    return rows


def _cards() -> list[dict[str, Any]]:
    """Return the flashcards with the numbers that a guess is graded by."""
    cards = []
    for card in listed("flashcards.toml", "card"):
        answers = []
        for call in card["computed"]:
            unit = "1" if "." in call["quantity"] else lookup(call["quantity"]).unit
            x = compute(call)
            if not math.isfinite(x):
                continue
            factor = units.convert_factor(call["unit"], unit)
            answers.append({"label": call["label"], "unit": unit, "shown": call["unit"], "factor": factor, "value": x})
        cards.append({"id": card["id"], "question": card["question"], "answer": card["answer"], "answers": answers})
    return cards
